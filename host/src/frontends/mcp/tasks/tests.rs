//! The store of tasks alone: its bounds, and tasks whose call is lost.

use std::path::Path;
use std::time::Duration;

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};

use super::*;
use crate::config::{Sources, Surroundings, from_text};

fn access(caller: &str) -> Arc<Access> {
    let sources =
        Sources { option: None, surroundings: Surroundings::read(|_| None), builtins: &[] };
    let text = "[callers.eve]\nlevel = \"FULL\"\n";
    let config = from_text(text, Path::new("/etc/belljar/belljar.toml"), &sources).unwrap();
    Arc::new(Access::new(&config, caller).unwrap())
}

fn tasks(change: impl FnOnce(&mut McpBounds)) -> Arc<Tasks> {
    let mut bounds = McpBounds::default();
    change(&mut bounds);
    Arc::new(Tasks::new(&bounds))
}

fn lane() -> Lane {
    let (leaving, running) = (CancellationToken::new(), TaskTracker::new());
    Lane { leaving, stop: CancellationToken::new(), running, drain: Duration::from_secs(1) }
}

fn text(bytes: usize) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text("x".repeat(bytes))]).into()
}

/// A task that ended with so many bytes.
fn ended(tasks: &Arc<Tasks>, owner: &Arc<Access>, bytes: usize) -> String {
    let running = tasks.begin(owner).unwrap();
    let id = running.show().task_id;
    let result = CallToolResult::success(vec![ContentBlock::text("x".repeat(bytes))]);
    running.end(TaskPayload::Completed { result: entry::object(&result) });
    id
}

fn is_there(tasks: &Tasks, owner: &Arc<Access>, id: &str) -> bool {
    tasks.get(owner, id).is_ok()
}

#[test]
fn ids_are_long_and_differ_and_a_call_that_isnt_shown_isnt_there() {
    let (tasks, ann) = (tasks(|_| {}), access("mcp"));
    let (first, second) = (tasks.begin(&ann).unwrap(), tasks.begin(&ann).unwrap());
    assert_ne!(first.named.id, second.named.id);
    assert_eq!(first.named.id.len(), "mcp-task-".len() + 2 * ID_LEN);
    assert!(!is_there(&tasks, &ann, &first.named.id));
    let id = first.show().task_id;
    assert!(is_there(&tasks, &ann, &id));
    assert!(!is_there(&tasks, &access("mcp"), &id), "another token of the same caller");
}

#[test]
fn one_call_more_than_may_run_finds_no_place_of_its_caller_or_of_all() {
    let (tasks, ann, eve) =
        (tasks(|it| (it.tasks_of_one, it.tasks) = (2, 3)), access("mcp"), access("eve"));
    let kept = [tasks.begin(&ann).unwrap(), tasks.begin(&access("mcp")).unwrap()];
    assert!(tasks.begin(&ann).is_none(), "a caller's tokens count together");
    let third = tasks.begin(&eve).unwrap();
    assert!(tasks.begin(&eve).is_none(), "of all");
    drop(third);
    assert!(tasks.begin(&eve).is_some(), "a place that was given back is free");
    drop(kept);
    assert_eq!(tasks.len(), 0);
}

#[test]
fn of_ended_tasks_a_callers_oldest_makes_room_and_nobody_pushes_out_anothers() {
    let (tasks, ann, eve) =
        (tasks(|it| (it.tasks_of_one, it.tasks) = (3, 4)), access("mcp"), access("eve"));
    let eves = ended(&tasks, &eve, 1);
    let all: Vec<_> = (0..5).map(|_| ended(&tasks, &ann, 1)).collect();
    let left: Vec<_> = all.iter().map(|id| is_there(&tasks, &ann, id)).collect();
    assert_eq!(left, [false, false, true, true, true]);
    assert!(is_there(&tasks, &eve, &eves));
    let second = ended(&tasks, &eve, 1);
    let both = [&eves, &second].map(|id| is_there(&tasks, &eve, id));
    assert_eq!(both, [true, true], "who has less keeps all");
    assert_eq!(tasks.len(), 4);
}

#[test]
fn of_more_bytes_than_are_kept_the_oldest_of_who_has_most_go() {
    let (tasks, ann, eve) = (tasks(|it| it.task_bytes = 1_000), access("mcp"), access("eve"));
    let eves = ended(&tasks, &eve, 100);
    let all: Vec<_> = (0..3).map(|_| ended(&tasks, &ann, 300)).collect();
    let left: Vec<_> = all.iter().map(|id| is_there(&tasks, &ann, id)).collect();
    assert_eq!((left, is_there(&tasks, &eve, &eves)), (vec![false, true, true], true));
    let whole = ended(&tasks, &ann, 2_000);
    let told = tasks.get(&ann, &whole).unwrap();
    assert!(
        matches!(&told.payload, TaskPayload::Failed { error } if error["message"].as_str().unwrap().contains("at most 1000")),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_call_is_lost_is_failed_and_never_works_for_ever() {
    let (tasks, ann, lane) = (tasks(|_| {}), access("mcp"), lane());
    let gone = CancellationToken::new();
    let made = run(tasks.begin(&ann).unwrap(), &lane, &gone, |_| async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        panic!("on purpose")
    });
    let CallToolResponse::Task(made) = made.await.unwrap() else { panic!("no task") };
    lane.idle().await;
    let told = tasks.get(&ann, &made.task.task_id).unwrap();
    assert_eq!(told.status(), TaskStatus::Failed, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_protocol_is_a_failed_task() {
    let (tasks, ann, lane) = (tasks(|_| {}), access("mcp"), lane());
    let gone = CancellationToken::new();
    let made = run(tasks.begin(&ann).unwrap(), &lane, &gone, |_| async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        Err(ErrorData::internal_error("no", None))
    });
    let CallToolResponse::Task(made) = made.await.unwrap() else { panic!("no task") };
    lane.idle().await;
    let told = tasks.get(&ann, &made.task.task_id).unwrap();
    assert!(matches!(&told.payload, TaskPayload::Failed { error } if error["code"] == -32603));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_within_the_grace_ends_its_call_and_leaves_no_task() {
    let (tasks, ann, lane, gone) = (tasks(|_| {}), access("mcp"), lane(), CancellationToken::new());
    gone.cancel();
    let made = run(tasks.begin(&ann).unwrap(), &lane, &gone, |made| async move {
        made.cancel.cancelled().await;
        Ok(text(1))
    });
    assert!(matches!(made.await.unwrap(), CallToolResponse::Complete(_)));
    assert_eq!(tasks.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_becomes_a_task_where_all_is_leaving() {
    let (tasks, ann, lane) = (tasks(|_| {}), access("mcp"), lane());
    let gone = CancellationToken::new();
    let running = tasks.begin(&ann).unwrap();
    lane.leaving.cancel();
    assert!(lane.begin(&tasks, &ann).is_none());
    let made = run(running, &lane, &gone, |_| async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        Ok(text(1))
    });
    assert!(matches!(made.await.unwrap(), CallToolResponse::Complete(_)));
}

#[test]
fn who_is_gone_is_forgotten() {
    let (tasks, ann, eve) = (tasks(|_| {}), access("mcp"), access("eve"));
    ended(&tasks, &ann, 1);
    let eves = ended(&tasks, &eve, 1);
    tasks.forget(&ann);
    assert!(tasks.len() == 1 && is_there(&tasks, &eve, &eves));
}
