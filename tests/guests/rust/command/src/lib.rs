//! A command component: its first argument says what it does.

use std::io::{Read as _, Write as _};

struct Command;

#[cfg(target_family = "wasm")]
wasip2::cli::command::export!(Command);

impl wasip2::exports::cli::run::Guest for Command {
    fn run() -> Result<(), ()> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        match words.first().map(String::as_str) {
            Some("fail") => {
                println!("half of it");
                eprintln!("no such luck");
                return Err(());
            }
            Some("quit") => std::process::exit(1),
            Some("leave") => std::process::exit(0),
            Some("flood") => {
                let line = [b'x'; 4096];
                let mut out = std::io::stdout().lock();
                (0..64 * 1024).for_each(|_| drop(out.write_all(&line)));
            }
            Some("bytes") => drop(std::io::stdout().write_all(&[0xff, 0, 0xfe, b'\n'])),
            _ => {
                let mut typed = String::new();
                drop(std::io::stdin().read_to_string(&mut typed));
                println!("{}|{}", words.join(","), typed.to_uppercase());
            }
        }
        Ok(())
    }
}
