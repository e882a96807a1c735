//! A program that holds nothing but the host.

use super::*;
use crate::host::Host;

fn builder(folder: &Path) -> crate::app::HostBuilder {
    let config = setup(folder, "plain", "").config;
    Host::builder().without_builtins().config(config)
}

fn pid(folder: &Path) -> PathBuf {
    let notes = std::fs::read_to_string(folder.join("notes")).unwrap();
    let pid = notes.lines().rev().find_map(|line| line.strip_prefix("pid ")).unwrap();
    Path::new("/proc").join(pid)
}

#[tokio::test]
async fn a_library_host_has_the_tools_of_its_servers_until_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let host = builder(folder.path()).start().unwrap();
    host.ready().await;
    let result = host.call(call("up.echo", &json!({"text": "x"}))).await;
    assert_eq!((result.outcome, result.content.as_str()), (Outcome::Success, "x"));
    let process = pid(folder.path());
    assert!(process.exists());
    host.close().await.unwrap();
    assert!(!process.exists());
    // Nothing is started again, and nobody waits for it.
    host.ready().await;
    let result = host.call(call("up.echo", &json!({"text": "x"}))).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Unavailable, Executed::No));
}

#[tokio::test]
async fn the_servers_of_a_library_host_live_as_long_as_its_last_clone() {
    let folder = tempfile::tempdir().unwrap();
    let host = builder(folder.path()).start().unwrap();
    host.ready().await;
    let clone = host.clone();
    drop(host);
    let result = clone.call(call("up.echo", &json!({"text": "x"}))).await;
    assert_eq!(result.content, "x");
    let process = pid(folder.path());
    drop(clone);
    // Gone, or ended and not yet looked after.
    let gone = |process: &Path| {
        std::fs::read_to_string(process.join("stat")).map_or(true, |stat| stat.contains(") Z "))
    };
    while !gone(&process) {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_library_host_that_is_built_outside_a_runtime_starts_its_servers_when_it_is_awaited() {
    let folder = tempfile::tempdir().unwrap();
    let host = builder(folder.path()).start().unwrap();
    assert!(!folder.path().join("notes").exists());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let result = runtime.block_on(async {
        host.ready().await;
        let result = host.call(call("up.echo", &json!({"text": "x"}))).await;
        host.close().await.unwrap();
        result
    });
    assert_eq!(result.content, "x");
}
