//! What the plugin tries to see: the environment, files outside its grants, the network.

use std::fmt::Debug;
use std::io::Read;
use std::net::{TcpStream, ToSocketAddrs};
use std::{env, fs, io};

use crate::bindings::exports::hostile::probes::look::Guest;
use crate::{Probes, change, stopped};

/// The most of a file that a probe brings back as its spoil.
const SPOIL_BYTES: u64 = 256;

impl Guest for Probes {
    fn environment() -> Result<String, String> {
        spoil(env::vars().collect())
    }

    fn arguments() -> Result<String, String> {
        spoil(env::args().collect())
    }

    fn standard_input() -> Result<String, String> {
        let mut bytes = Vec::new();
        io::stdin().take(SPOIL_BYTES).read_to_end(&mut bytes).map_err(stopped)?;
        spoil(bytes)
    }

    fn read_file(path: String) -> Result<String, String> {
        read(&path)
    }

    fn read_folder(path: String) -> Result<String, String> {
        let names: io::Result<Vec<_>> = fs::read_dir(path).and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.file_name())).collect()
        });
        names.map(|names| format!("{names:?}")).map_err(stopped)
    }

    fn read_through_link(link: String, target: String) -> Result<String, String> {
        change::link(&link, &target)?;
        let gained = read(&link);
        fs::remove_file(&link).map_err(stopped)?;
        gained
    }

    fn connect(address: String) -> Result<String, String> {
        TcpStream::connect(address).map(|stream| format!("{stream:?}")).map_err(stopped)
    }

    fn resolve(name: String) -> Result<String, String> {
        (name.as_str(), 80).to_socket_addrs().map_err(stopped).and_then(|all| spoil(all.collect()))
    }
}

fn read(path: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(stopped)?;
    file.take(SPOIL_BYTES).read_to_end(&mut bytes).map_err(stopped)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn spoil<T: Debug>(found: Vec<T>) -> Result<String, String> {
    if found.is_empty() { Err("nothing there".to_owned()) } else { Ok(format!("{found:?}")) }
}
