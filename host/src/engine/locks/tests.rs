//! Keys that are equal, turns in order, and nothing left behind.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::sleep;

use super::*;
use crate::contract::descriptor::example;
use crate::contract::effects::Effect;

fn key(value: &str) -> LockKey {
    LockKey::new("files".parse().unwrap(), "path", &json!(value))
}

fn keys<const N: usize>(values: [&str; N]) -> BTreeSet<LockKey> {
    values.into_iter().map(key).collect()
}

#[test]
fn t24_a_path_has_one_key_however_it_is_written() {
    for same in ["./a/b", "a//b", "a/./b", "a/b/", ".//a/b/."] {
        assert_eq!(key(same), key("a/b"), "{same}");
    }
    assert_eq!(key("."), key(""));
    for other in ["/a/b", "a", "a/b/c", "A/b", "a/../a/b", "a/.b"] {
        assert_ne!(key(other), key("a/b"), "{other}");
    }
}

#[test]
fn keys_are_apart_by_plugin_argument_and_value() {
    let plugin = |name: &str| name.parse::<PluginName>().unwrap();
    let one = LockKey::new(plugin("a"), "x", &json!({"p": 1, "q": [2]}));
    assert_eq!(one, LockKey::new(plugin("a"), "x", &json!({"q": [2], "p": 1})));
    assert_ne!(one, LockKey::new(plugin("b"), "x", &json!({"p": 1, "q": [2]})));
    assert_ne!(one, LockKey::new(plugin("a"), "y", &json!({"p": 1, "q": [2]})));
    assert_ne!(
        LockKey::new(plugin("a"), "x", &json!(1)),
        LockKey::new(plugin("a"), "x", &json!("1"))
    );
}

#[test]
fn a_call_has_a_key_for_each_lock_of_its_tool() {
    let mut tool = example("files.copy", Effect::assumed(false));
    let arguments = json!({"from_path": "a", "to": "b"});
    let arguments = arguments.as_object().unwrap();
    assert!(keys_of(&tool, arguments).is_empty());
    tool.parallel.locks = vec!["from-path".to_owned(), "to".to_owned(), "gone".to_owned()];
    let plugin = || tool.plugin.name.clone();
    let wanted = [
        LockKey::new(plugin(), "from_path", &json!("./a")),
        LockKey::new(plugin(), "to", &json!("b")),
        LockKey::new(plugin(), "gone", &Value::Null),
    ];
    assert_eq!(keys_of(&tool, arguments), BTreeSet::from(wanted));
}

#[tokio::test(start_paused = true)]
async fn t24_calls_of_one_key_run_one_after_another_and_others_beside_them() {
    let (locks, log) = (Locks::default(), Mutex::new(Vec::new()));
    let call = |name: &'static str, value: &'static str| {
        let (locks, log) = (&locks, &log);
        async move {
            let _held = locks.hold(keys([value])).await;
            log.lock().unwrap().push(format!("{name} begins"));
            sleep(Duration::from_secs(1)).await;
            log.lock().unwrap().push(format!("{name} ends"));
        }
    };
    join_all([call("one", "a"), call("two", "./a"), call("other", "b")]).await;
    let log = log.into_inner().unwrap();
    let at = |entry: &str| log.iter().position(|it| it == entry).unwrap();
    assert_eq!((at("one begins"), at("other begins")), (0, 1));
    assert!(at("one ends") < at("two begins"), "{log:?}");
    assert!(locks.is_empty());
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_first_is_first() {
    let (locks, log) = (Locks::default(), Mutex::new(Vec::new()));
    let first = locks.hold(keys(["a"])).await;
    let waiting = (0..20).map(|number| {
        let (locks, log) = (&locks, &log);
        async move {
            let _held = locks.hold(keys(["a"])).await;
            log.lock().unwrap().push(number);
            tokio::task::yield_now().await;
        }
    });
    let free = async {
        tokio::task::yield_now().await;
        drop(first);
    };
    tokio::join!(join_all(waiting), free);
    assert_eq!(log.into_inner().unwrap(), (0..20).collect::<Vec<_>>());
    assert!(locks.is_empty());
}

#[tokio::test(start_paused = true)]
async fn calls_that_want_the_same_keys_never_wait_for_each_other() {
    let locks = Locks::default();
    let sets = [["a", "b"], ["b", "c"], ["c", "a"]];
    let calls = (0..60).map(|number: usize| {
        let locks = locks.clone();
        tokio::spawn(async move {
            let _held = locks.hold(keys(sets[number % 3])).await;
            sleep(Duration::from_millis(1)).await;
        })
    });
    let all = tokio::time::timeout(Duration::from_secs(60), join_all(calls)).await.unwrap();
    assert!(all.into_iter().all(|ended| ended.is_ok()));
    assert!(locks.is_empty());
}

#[tokio::test]
async fn a_call_dropped_while_it_waits_leaves_nothing_held() {
    let locks = Locks::default();
    let held = locks.hold(keys(["b"])).await;
    {
        // Holds `a` already and waits for `b`.
        let mut waiting = Box::pin(locks.hold(keys(["a", "b"])));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(locks.hold(keys(["a"])).now_or_never().is_none());
    }
    assert!(locks.hold(keys(["a"])).now_or_never().is_some());
    assert!(locks.hold(keys(["b"])).now_or_never().is_none());
    drop(held);
    assert!(locks.hold(keys(["a", "b"])).now_or_never().is_some());
    assert!(locks.is_empty());
}

#[tokio::test]
async fn no_keys_are_held_at_once_and_cost_nothing() {
    let locks = Locks::default();
    let _held = locks.hold(BTreeSet::new()).await;
    assert!(locks.is_empty());
}
