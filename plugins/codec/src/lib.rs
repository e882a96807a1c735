//! The builtin plugin `codec`: hashes, and bytes to text encodings and back.
//!
//! Only joins the exported functions to the modules; they run natively too, under `cargo test`.

mod decode;
mod digest;
mod encode;
mod error;
mod file;
mod input;
mod radix;

use crate::bindings::exports::belljar::codec::codec as wit;

/// What wit-bindgen makes of `wit/`; nothing here is written by hand.
mod bindings {
    wit_bindgen::generate!({
        world: "codec-plugin",
        path: "wit",
        additional_derives: [PartialEq],
    });
}

/// The component's exports.
#[derive(Debug)]
struct Component;

impl wit::Guest for Component {
    fn hash(request: wit::HashRequest) -> Result<wit::Digest, wit::CodecError> {
        let bytes = input::read_bytes(request.text, request.base64)?;
        Ok(digest::hash_bytes(request.algorithm, &bytes))
    }

    fn hash_file(request: wit::HashFileRequest) -> Result<wit::Digest, wit::CodecError> {
        Ok(file::hash_file(request.algorithm, &request.path)?)
    }

    fn encode(request: wit::EncodeRequest) -> Result<wit::Encoded, wit::CodecError> {
        let bytes = input::read_bytes(request.text, request.base64)?;
        Ok(encode::encode_bytes(request.encoding, &bytes))
    }

    fn decode(request: wit::DecodeRequest) -> Result<wit::Decoded, wit::CodecError> {
        Ok(decode::decode_text(request.encoding, &request.text)?)
    }
}

#[cfg(target_family = "wasm")]
bindings::export!(Component with_types_in bindings);
