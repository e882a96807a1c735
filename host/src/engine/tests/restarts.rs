//! What outlives a host: what was remembered, what was asked, and what has run.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use tokio_util::sync::CancellationToken;

use super::kit::*;
use crate::contract::approval::{ApprovalDecision, ApprovalState, RememberScope};
use crate::contract::grants::Grants;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::engine::ports::ToolLookup as _;
use crate::engine::repeat::key_hash;
use crate::storage::{CutOff, ResultKey, ResultStore as _, SqliteStore};

fn host_in(folder: &tempfile::TempDir) -> Host {
    let store = Arc::new(SqliteStore::at(folder.path().join("state.db")));
    Setup { store, ..Setup::default() }.host()
}

type Work = Pin<Box<dyn Future<Output = Vec<ToolResult>> + Send>>;

/// Goes as a killed process does: nothing that would tidy up is run.
fn kill(work: Work) {
    std::mem::forget(work);
}

/// Works until a person is asked about a call, and says by which request.
async fn work_until_asked(host: &mut Host, work: &mut Work) -> crate::contract::ids::ApprovalId {
    tokio::select! {
        biased;
        ended = &mut *work => panic!("it ended: {ended:?}"),
        (_, id) = host.asked() => id,
    }
}

#[tokio::test(start_paused = true)]
async fn t34_what_was_remembered_lasts_is_listed_and_can_be_revoked() {
    let folder = private_folder();
    let mut host = host_in(&folder);
    let waiting = host.start(asking("c1", "{}"));
    let (_, id) = host.asked().await;
    host.decide(&id, always(RememberScope::Arguments));
    assert_eq!(waiting.await.unwrap().outcome, Outcome::Success);
    drop(host);

    let mut host = host_in(&folder);
    let again = host.call(asking("c2", "{}")).await;
    assert_eq!((again.outcome, host.runner.runs()), (Outcome::Success, 1));
    assert_eq!(again.approval.unwrap().approval.as_ref(), Some(&id));
    assert!(host.told_of("ToolApprovalRequest").is_empty());
    let listed = host.queue.remembered_list().unwrap();
    assert_eq!((listed.len(), &listed[0].id), (1, &id));

    assert!(host.queue.revoke(&id, &ann()).unwrap());
    let revoked = host.call(handing_back("c3", "{}")).await;
    assert_eq!((revoked.outcome, host.runner.runs()), (Outcome::ApprovalPending, 1));
}

#[tokio::test(start_paused = true)]
async fn t38_a_host_that_dies_while_the_second_call_waits_does_not_run_the_first_again() {
    let folder = private_folder();
    let calls = || {
        let mut calls = vec![
            keyed(call("c1", "fake.pay", r#"{"n":1}"#), "one"),
            handing_back("c2", r#"{"n":2}"#),
            keyed(call("c3", "fake.pay", r#"{"n":3}"#), "three"),
        ];
        calls[1].session_id = None;
        calls
    };
    let mut host = host_in(&folder);
    let engine = host.engine.clone();
    let mut work: Work =
        Box::pin(async move { engine.batch(calls(), CancellationToken::new(), |_, _| {}).await });
    let id = work_until_asked(&mut host, &mut work).await;
    kill(work);
    assert_eq!(host.runner.runs(), 1);

    let mut host = host_in(&folder);
    let still: Vec<_> = host.pending().into_iter().map(|it| it.id).collect();
    assert_eq!(still, std::slice::from_ref(&id), "the request is still there");
    host.decide(&id, ApprovalDecision::Once);
    let results = host.batch(calls()).await;
    let outcomes: Vec<_> = results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [Outcome::Success; 3], "{results:?}");
    assert_eq!(host.runner.runs_of("c1"), 0, "its result was kept");
    assert_eq!((host.runner.runs_of("c2"), host.runner.runs_of("c3")), (1, 1));
    assert!(host.told_of("ToolApprovalRequest").is_empty(), "nobody is asked again");
}

#[tokio::test(start_paused = true)]
async fn t38_a_request_whose_host_died_while_it_waited_can_still_be_ended() {
    let folder = private_folder();
    let mut host = host_in(&folder);
    let engine = host.engine.clone();
    let mut work: Work =
        Box::pin(
            async move { vec![engine.call(asking("c1", "{}"), CancellationToken::new()).await] },
        );
    let id = work_until_asked(&mut host, &mut work).await;
    kill(work);

    let host = host_in(&folder);
    assert_eq!(host.queue.show(&id).unwrap().state, ApprovalState::Pending);
    host.decide(&id, ApprovalDecision::Once);
    let other = host.call(handing_back("c2", "{}")).await;
    assert_eq!(other.outcome, Outcome::ApprovalPending, "it was the dead call's alone");
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn t26_a_call_that_a_crash_cut_off_is_not_run_again() {
    let folder = private_folder();
    let host = host_in(&folder);
    host.runner.behave(|_| fine_after(20_000));
    let (engine, pay) = (host.engine.clone(), keyed(call("c1", "fake.pay", "{}"), "k"));
    let again = pay.clone();
    let mut work: Work =
        Box::pin(async move { vec![engine.call(pay, CancellationToken::new()).await] });
    while host.runner.runs() == 0 {
        assert!(work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        tokio::task::yield_now().await;
    }
    kill(work);

    let host = host_in(&folder);
    let early = host.call(again.clone()).await;
    assert_eq!((early.outcome, early.executed), (Outcome::Unavailable, Executed::No));
    // What a host does with the calls that the audit log's recovery names.
    let tool = host.tools.find("fake.pay").unwrap().descriptor;
    let key = ResultKey {
        caller: again.caller.clone(),
        tool: tool.id.clone(),
        plugin_digest: tool.plugin.digest,
        key_hash: key_hash(&again, &Grants::default()).unwrap(),
    };
    let cut_off = CutOff { key, call_id: again.call_id.clone() };
    assert_eq!(host.store.interrupt(&[cut_off]).unwrap(), 1);
    let mut later = again;
    later.call_id = "c2".parse().unwrap();
    let result = host.call(later).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Interrupted, Executed::Maybe));
    assert_eq!((result.call_id.as_str(), host.runner.runs()), ("c2", 0));
}

#[tokio::test(start_paused = true)]
async fn t38_a_host_that_dies_while_a_call_with_a_key_waits_leaves_its_key_free() {
    let folder = private_folder();
    let paying = |id| keyed(handing_back(id, "{}"), "k");
    let mut host = host_in(&folder);
    let (engine, first) = (host.engine.clone(), paying("c1"));
    let mut work: Work =
        Box::pin(async move { vec![engine.call(first, CancellationToken::new()).await] });
    let id = work_until_asked(&mut host, &mut work).await;
    kill(work);

    let host = host_in(&folder);
    host.decide(&id, ApprovalDecision::Once);
    let again = host.call(paying("c2")).await;
    assert_eq!((again.outcome, host.runner.runs()), (Outcome::Success, 1), "{again:?}");
    let third = host.call(paying("c3")).await;
    assert_eq!((third.outcome, host.runner.runs()), (Outcome::Success, 1));
}
