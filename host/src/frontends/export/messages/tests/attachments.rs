//! What doesn't fit into text: sent where the provider carries it, else a notice (T23).

use serde_json::{Value, json};

use super::super::results;
use super::{message, read, success};
use crate::contract::outcome::Outcome;
use crate::contract::result::{Attachment, AttachmentKind, ToolResult};
use crate::frontends::export::Format;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";
const PNG_BASE64: &str = "iVBORw0KGgpyZXN0";
const PDF: &[u8] = b"%PDF-1.7";
const PDF_BASE64: &str = "JVBERi0xLjc=";

fn attached(kind: AttachmentKind, mime_type: &str, bytes: &[u8]) -> Attachment {
    Attachment {
        uri: "belljar://result/c1/0".to_owned(),
        kind,
        mime_type: Some(mime_type.to_owned()),
        size: bytes.len() as u64,
        bytes: bytes.to_vec(),
    }
}

fn with(content: &str, attachments: Vec<Attachment>) -> ToolResult {
    ToolResult { attachments, ..success("c1", content) }
}

fn made(format: Format, result: ToolResult) -> Value {
    let calls = read(format, &message(format, &[(Some("c1"), "files_read", "{}")]));
    results(format, &calls.calls, &[result]).unwrap().remove(0)
}

fn both() -> Vec<Attachment> {
    vec![
        attached(AttachmentKind::Image, "image/png", PNG),
        attached(AttachmentKind::Blob, "application/pdf", PDF),
    ]
}

#[test]
fn t23_images_and_documents_go_where_the_provider_carries_them() {
    assert_eq!(
        made(Format::Anthropic, with("see", both()))["content"][0]["content"],
        json!([
            {"type": "text", "text": "see"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_BASE64}},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF_BASE64}},
        ])
    );
    assert_eq!(
        made(Format::OpenaiResponses, with("see", both()))["output"],
        json!([
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": format!("data:image/png;base64,{PNG_BASE64}")},
            {
                "type": "input_file",
                "filename": "attachment-2.pdf",
                "file_data": format!("data:application/pdf;base64,{PDF_BASE64}"),
            },
        ])
    );
    let gemini = made(Format::Gemini, with("see", both()));
    let response = &gemini["parts"][0]["functionResponse"];
    assert_eq!(response["response"], json!({"output": "see"}));
    assert_eq!(
        response["parts"],
        json!([
            {"inlineData": {"mimeType": "image/png", "data": PNG_BASE64}},
            {"inlineData": {"mimeType": "application/pdf", "data": PDF_BASE64}},
        ])
    );
    assert_eq!(
        made(Format::OpenaiChat, with("see", both()))["content"],
        "see\n[attachment belljar://result/c1/0: an image, image/png, 12 bytes, not shown here]\n\
         [attachment belljar://result/c1/0: bytes, application/pdf, 8 bytes, not shown here]"
    );
}

#[test]
fn t23_every_other_kind_leaves_a_notice_with_every_provider() {
    let target = "https://x.example/\u{1b}a".to_owned();
    let others = [
        (AttachmentKind::Audio, "audio"),
        (AttachmentKind::Blob, "bytes"),
        (
            AttachmentKind::Resource { target: target.clone() },
            "a copy of https://x.example/<U+001B>a",
        ),
        (
            AttachmentKind::ResourceLink { target, name: "x\ny".to_owned() },
            "[link: x<U+000A>y, https://x.example/<U+001B>a]",
        ),
    ];
    for format in Format::ALL {
        for (kind, notice) in &others {
            for content in ["", "text"] {
                let result = with(content, vec![attached(kind.clone(), "audio/wav", b"RIFF")]);
                let said = made(format, result).to_string();
                assert!(said.contains(notice) && said.contains(content), "{format:?}: {said}");
            }
        }
    }
}

#[test]
fn an_image_that_is_none_or_too_large_is_a_notice_and_never_sent() {
    let large: Vec<u8> = PNG.iter().copied().chain(std::iter::repeat_n(0, 3_750_000)).collect();
    for format in Format::ALL {
        for bytes in [&b"not an image"[..], &large, PDF, b""] {
            let result = with("see", vec![attached(AttachmentKind::Image, "image/png", bytes)]);
            let said = made(format, result).to_string();
            assert!(said.contains("not shown here") && said.len() < 1_000, "{format:?}");
        }
    }
}

#[test]
fn attachments_of_one_result_are_bounded() {
    let many = |kind: AttachmentKind, bytes: &[u8]| {
        with("see", vec![attached(kind, "image/png", bytes); 50])
    };
    for format in Format::ALL {
        let said = made(format, many(AttachmentKind::Audio, b"x")).to_string();
        assert_eq!(said.matches("not shown here").count(), 20);
        assert!(said.contains("[30 more attachments]"));
        let said = made(format, many(AttachmentKind::Image, PNG)).to_string();
        let sent = if format == Format::OpenaiChat { 0 } else { 20 };
        assert_eq!(said.matches(PNG_BASE64).count(), sent);
    }
}

#[test]
fn an_error_of_anthropic_holds_text_alone() {
    let mut failed = ToolResult::refused("c1".parse().unwrap(), Outcome::ToolError, "no");
    failed.attachments = both();
    let block = &made(Format::Anthropic, failed)["content"][0];
    assert_eq!(block["is_error"], json!(true));
    assert!(block["content"].as_str().unwrap().starts_with("no\n[attachment"), "{block}");
}

#[test]
fn js15_nothing_is_left_out_rather_than_null_or_an_empty_block() {
    let block = &made(Format::Anthropic, with("", Vec::new()))["content"][0];
    assert_eq!(block, &json!({"type": "tool_result", "tool_use_id": "c1"}));
    let image = made(Format::Anthropic, with(" ", vec![both().remove(0)]));
    assert_eq!(image["content"][0]["content"].as_array().unwrap().len(), 1);
    assert_eq!(made(Format::OpenaiChat, with("", Vec::new()))["content"], "");
}

#[test]
fn the_whole_of_a_cut_output_is_named_once_where_it_was_cut() {
    for format in Format::ALL {
        let whole = attached(AttachmentKind::FullOutput, "text/plain", b"all of it");
        let said =
            made(format, with("a[the whole is belljar://result/c1/0]b", vec![whole])).to_string();
        assert_eq!(said.matches("belljar://result/c1/0").count(), 1, "{said}");
    }
}
