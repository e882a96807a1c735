//! The tools that the MCP conformance suite calls, as one component. What a tool can't do from
//! within the sandbox, such as asking the client, is not imitated here: the calls that need a
//! person are asked for by the host.

mod bindings {
    wit_bindgen::generate!({ path: "wit", generate_all });
}

mod contents;

use std::thread::sleep;
use std::time::Duration;

use bindings::belljar::tool::log::{Level, write};
use bindings::belljar::tool::progress::report;
use bindings::exports::belljar_tests::conformance::conformance::{Guest, Output};

/// The host passes on ten reports a second and keeps the last of those between.
const BETWEEN_REPORTS: Duration = Duration::from_millis(150);

const LET_THROUGH: &str = "state-ok: a person let this call through.";

struct Conformance;

impl Guest for Conformance {
    fn test_simple_text() -> String {
        "This is a simple text response for testing.".to_owned()
    }

    fn test_image_content() -> Output {
        Output { content: vec![contents::picture()] }
    }

    fn test_audio_content() -> Output {
        Output { content: vec![contents::sound()] }
    }

    fn test_embedded_resource() -> Output {
        let text = "This is an embedded resource content.";
        Output { content: vec![contents::resource("test://embedded-resource", "text/plain", text)] }
    }

    fn test_multiple_content_types() -> Output {
        let json = r#"{"test":"data","value":123}"#;
        let address = "test://mixed-content-resource";
        Output {
            content: vec![
                contents::text("Multiple content types test:"),
                contents::picture(),
                contents::resource(address, "application/json", json),
            ],
        }
    }

    fn test_error_handling() -> Result<String, String> {
        Err("This tool intentionally returns an error for testing".to_owned())
    }

    fn test_tool_with_progress() -> String {
        for done in [0, 50, 100] {
            if done > 0 {
                sleep(BETWEEN_REPORTS);
            }
            report(done, Some(100), None);
        }
        "Reported 0, 50 and 100 of 100.".to_owned()
    }

    fn test_logging_tool() -> String {
        for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            write(Level::Info, line);
        }
        "Wrote three lines.".to_owned()
    }

    fn test_streaming_elicitation() -> String {
        LET_THROUGH.to_owned()
    }

    fn test_elicitation(message: String) -> String {
        message
    }

    fn test_input_required_result_elicitation() -> String {
        LET_THROUGH.to_owned()
    }

    fn test_input_required_result_request_state() -> String {
        LET_THROUGH.to_owned()
    }

    fn test_input_required_result_multi_round() -> String {
        LET_THROUGH.to_owned()
    }

    fn test_input_required_result_tampered_state() -> String {
        LET_THROUGH.to_owned()
    }

    fn spin() {
        loop {
            std::hint::black_box(());
        }
    }
}

#[cfg(target_family = "wasm")]
bindings::export!(Conformance with_types_in bindings);
