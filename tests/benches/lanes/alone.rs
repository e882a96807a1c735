//! Figures of a process of its own, which is this program again: memory that other lanes touched
//! would be in them.
//!
//! The child prints its figures in one line; what they mean is `memory`'s to know.

use std::process::{Command, Stdio};

use super::memory;

/// How the child is told what it is.
pub(crate) const OPTION: &str = "--alone";

/// Has a process of its own measure this, and gives its numbers.
pub(crate) fn ask(name: &str) -> Vec<f64> {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let output = command.args([OPTION, name]).stderr(Stdio::inherit()).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "`{OPTION} {name}`: {}", output.status);
    let line = String::from_utf8(output.stdout).expect("text");
    line.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

/// The child's side.
#[expect(clippy::print_stdout, reason = "its parent reads it")]
pub(crate) fn answer(name: &str) {
    let numbers = match name {
        memory::SLEEPING => memory::sleeping(),
        memory::GROWING => memory::growing(),
        _ => unreachable!("nothing is called `{name}`"),
    };
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    println!("{}", numbers.join(" "));
}

/// Bytes of this process that are in memory now.
pub(crate) fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages = statm.split_whitespace().nth(1).expect("its second number");
    pages.parse::<f64>().expect("pages") * rustix::param::page_size() as f64
}
