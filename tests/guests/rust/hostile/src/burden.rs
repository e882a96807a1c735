//! What the plugin does to whoever runs it: floods, panics, memory, time.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use wasip2::http::types::{Fields, Method, OutgoingRequest, Scheme};

use crate::bindings::exports::hostile::probes::burden::Guest;
use crate::{Probes, preopen, stopped};

const LINE: &[u8; 64] =
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[\x1b[31m\"owned\"]}}   \n";
const PAGE_BYTES: usize = 64 * 1024;

impl Guest for Probes {
    fn print(bytes: u64) -> Result<String, String> {
        for _ in 0..bytes.div_ceil(LINE.len() as u64) {
            io::stdout().write_all(LINE).map_err(stopped)?;
            io::stderr().write_all(LINE).map_err(stopped)?;
        }
        Ok(format!("{bytes} bytes printed twice"))
    }

    #[expect(clippy::panic, reason = "the panic is the probe")]
    fn panic(message: String) -> Result<String, String> {
        panic!("{message}")
    }

    fn allocate(bytes: u64) -> Result<String, String> {
        let bytes = usize::try_from(bytes).map_err(stopped)?;
        let mut memory = vec![0_u8; bytes];
        for byte in memory.iter_mut().step_by(PAGE_BYTES) {
            *byte = 1;
        }
        Ok(format!("{} bytes taken", std::hint::black_box(&memory).len()))
    }

    fn open_files(path: String, count: u32) -> Result<String, String> {
        let mut open = Vec::new();
        for number in 0..count {
            let file = std::fs::File::open(&path).map_err(|error| format!("{number}: {error}"))?;
            open.push(file);
        }
        Ok(format!("{} files open", open.len()))
    }

    fn hold_listings(path: String, count: u32) -> Result<String, String> {
        let folder = preopen::find(&path)?.folder;
        let mut held = Vec::new();
        for number in 0..count {
            held.push(folder.read_directory().map_err(|error| format!("{number}: {error:?}"))?);
        }
        Ok(format!("{} listings held", held.len()))
    }

    fn build_header() -> Result<String, String> {
        let fields = Fields::new();
        fields.append("x", &[b'x'; 64 * 1024]).map_err(|error| format!("{error:?}"))?;
        Ok("a header of 64 KiB was taken".to_owned())
    }

    fn build_request() -> Result<String, String> {
        let long = "x".repeat(1 << 20);
        let request = OutgoingRequest::new(Fields::new());
        let body = request.body().and_then(|body| {
            let room = body.write().and_then(|stream| stream.check_write().map_err(drop));
            room.map(|room| room > 64 * 1024)
        });
        let path = format!("/{long}");
        let taken: Vec<&str> = [
            ("body", body.unwrap_or_default()),
            ("method", request.set_method(&Method::Other(long.clone())).is_ok()),
            ("scheme", request.set_scheme(Some(&Scheme::Other(long.clone()))).is_ok()),
            ("authority", request.set_authority(Some(&long)).is_ok()),
            ("path", request.set_path_with_query(Some(&path)).is_ok()),
        ]
        .into_iter()
        .filter_map(|(word, taken)| taken.then_some(word))
        .collect();
        let short = request.set_method(&Method::Other("PURGE".into())).is_ok()
            && request.set_path_with_query(Some("/a?b")).is_ok()
            && request.set_authority(Some("example.test")).is_ok();
        match (taken.as_slice(), short) {
            ([], true) => Err("every long word was refused".to_owned()),
            ([], false) => Ok("short words were refused too".to_owned()),
            (taken, _) => Ok(format!("taken: {}", taken.join(", "))),
        }
    }

    fn sleep(milliseconds: u64) -> Result<String, String> {
        thread::sleep(Duration::from_millis(milliseconds));
        Ok("slept".to_owned())
    }
}
