//! The items of rich output that the tools return. Small and fixed; nothing is read or computed.

use crate::bindings::belljar::tool::types::{
    Content, EmbeddedResource, MediaContent, ResourceContents, TextContent,
};

/// A PNG of one red pixel.
const RED_PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\
    \0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\
    \0\0\0\x0cIDATx\xdac\xf8\xcf\xc0\0\0\x03\x01\x01\0\xf7\x03AC\
    \0\0\0\0IEND\xaeB`\x82";

/// A WAV of one sample of silence: 16 bit, mono, 8 kHz.
const SILENCE: &[u8] = b"RIFF&\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\
    @\x1f\0\0\x80>\0\0\x02\0\x10\0data\x02\0\0\0\0\0";

pub(crate) fn text(text: &str) -> Content {
    Content::Text(TextContent { text: text.to_owned(), annotations: None })
}

pub(crate) fn picture() -> Content {
    Content::Image(media("image/png", RED_PIXEL))
}

pub(crate) fn sound() -> Content {
    Content::Audio(media("audio/wav", SILENCE))
}

fn media(mime_type: &str, bytes: &[u8]) -> MediaContent {
    MediaContent { mime_type: mime_type.to_owned(), bytes: bytes.to_vec(), annotations: None }
}

pub(crate) fn resource(uri: &str, mime_type: &str, text: &str) -> Content {
    Content::EmbeddedResource(EmbeddedResource {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        contents: ResourceContents::Text(text.to_owned()),
        annotations: None,
    })
}
