//! What is held, and for how long.

use super::*;
use crate::contract::outcome::Outcome;

fn key(caller: &str, id: usize) -> Key {
    (Some(caller.to_owned()), format!("c{id}").parse().unwrap())
}

fn call() -> (watch::Sender<Option<Arc<ToolResult>>>, Held) {
    let (told, result) = watch::channel(None);
    (told, Held { result, cancel: CancellationToken::new(), ended: None })
}

fn end(background: &Background, key: &Key, bytes: usize) {
    ended(&background.held, key, bytes);
}

fn is_held(background: &Background, key: &Key) -> bool {
    background.find(key.0.as_deref(), &key.1).is_some()
}

#[tokio::test(start_paused = true)]
async fn a_result_is_held_for_its_time_and_no_longer() {
    let (background, key) = (Background::default(), key("a", 0));
    background.hold(&key, call().1).unwrap();
    tokio::time::advance(2 * HELD_FOR).await;
    assert!(is_held(&background, &key), "it is running");
    end(&background, &key, 1);
    tokio::time::advance(HELD_FOR - Duration::from_millis(1)).await;
    assert!(is_held(&background, &key));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(!is_held(&background, &key));
    background.hold(&key, call().1).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_oldest_result_of_a_caller_makes_room() {
    let background = Background::default();
    for id in 0..HELD_MAX_OF_ONE {
        background.hold(&key("a", id), call().1).unwrap();
        end(&background, &key("a", id), 1);
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    background.hold(&key("b", 0), call().1).unwrap();
    background.hold(&key("a", HELD_MAX_OF_ONE), call().1).unwrap();
    assert!(!is_held(&background, &key("a", 0)));
    assert!(is_held(&background, &key("a", 1)) && is_held(&background, &key("b", 0)));
}

#[test]
fn what_runs_is_never_dropped_for_another() {
    let background = Background::default();
    for number in 0..HELD_MAX {
        let caller = format!("caller-{}", number / RUNNING_MAX_OF_ONE);
        background.hold(&key(&caller, number), call().1).unwrap();
    }
    let refused = background.hold(&key("another", 0), call().1).unwrap_err();
    assert_eq!(refused.document()["status"], 429);
    end(&background, &key("caller-0", 0), 1);
    background.hold(&key("another", 0), call().1).unwrap();
    assert!(!is_held(&background, &key("caller-0", 0)));
}

#[tokio::test(start_paused = true)]
async fn results_are_bounded_in_bytes() {
    let background = Background::default();
    for id in 0..3 {
        background.hold(&key("a", id), call().1).unwrap();
    }
    end(&background, &key("a", 0), BYTES_MAX / 2);
    tokio::time::advance(Duration::from_millis(1)).await;
    end(&background, &key("a", 1), BYTES_MAX / 2);
    assert!(is_held(&background, &key("a", 0)));
    end(&background, &key("a", 2), 1);
    assert!(!is_held(&background, &key("a", 0)));
    assert!(is_held(&background, &key("a", 1)) && is_held(&background, &key("a", 2)));
    // One that is longer than all may be is held alone: it was promised.
    background.hold(&key("a", 3), call().1).unwrap();
    end(&background, &key("a", 3), BYTES_MAX + 1);
    assert!(is_held(&background, &key("a", 3)) && !is_held(&background, &key("a", 2)));
}

#[test]
fn what_a_result_holds_is_about_twice_its_text() {
    let result = ToolResult::new("c".parse().unwrap(), Outcome::Success, "12345");
    assert_eq!(size(&result), 10);
}

#[tokio::test]
async fn a_call_whose_task_panics_has_ended_by_the_hosts_fault() {
    let (background, key) = (Background::default(), key("a", 0));
    let call = async { panic!("a fault of the host's own") };
    background.run(key.clone(), CancellationToken::new(), call).unwrap();
    let mut found = background.find(Some("a"), &key.1).unwrap();
    let result = found.result.wait_for(Option::is_some).await.unwrap().clone().unwrap();
    assert_eq!(result.outcome, Outcome::HostFault);
    assert_eq!(result.executed, Executed::Maybe);
    background.idle().await;
    assert!(lock(&background.held)[&key].ended.is_some(), "it takes no place of those that run");
}
