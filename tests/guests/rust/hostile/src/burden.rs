//! What the plugin does to whoever runs it: floods, panics, memory, time.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use crate::bindings::exports::hostile::probes::burden::Guest;
use crate::{Probes, stopped};

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

    fn sleep(milliseconds: u64) -> Result<String, String> {
        thread::sleep(Duration::from_millis(milliseconds));
        Ok("slept".to_owned())
    }
}
