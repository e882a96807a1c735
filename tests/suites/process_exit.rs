//! The process ends when its work has, whatever a guest did to its threads.

use std::process::Command;

use super::harness::settled;
use crate::guests::built;
use crate::guests::fixture::Fixture;

/// Longer than any call may take here; `timeout` then ends with 124.
const PATIENCE_SECONDS: &str = "600";

fn read_pipe(mode: &str) -> std::process::Output {
    let fixture = Fixture::new();
    let plugin = fixture.path("hostile.wasm");
    std::fs::write(&plugin, built::rust("hostile")).unwrap();
    let mut command = Command::new("timeout");
    settled(&mut command);
    command
        .args([PATIENCE_SECONDS, env!("CARGO_BIN_EXE_belljar"), "call", "hostile.read-file"])
        .arg(r#"{"path":"pipe"}"#)
        .arg("--plugin")
        .arg(format!("hostile={}", plugin.display()))
        .arg("--dir")
        .arg(format!("{}:{mode}", fixture.path("granted").display()))
        .output()
        .unwrap()
}

#[test]
fn a_pipe_nobody_writes_to_does_not_keep_the_process() {
    for mode in ["ro", "rw"] {
        let output = read_pipe(mode);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{mode}: {stderr}");
        assert!(output.stdout.is_empty(), "{mode}: {stderr}");
    }
}
