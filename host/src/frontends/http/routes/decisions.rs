//! Answers to requests, in the name of the token that gives them.
//!
//! Whether an answer may be given, and which comes first, is the queue's to say; here is only added
//! that a token doesn't answer for the caller whose calls it makes, nor takes back what refuses them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::approvals::{aside, id_of, shown};
use super::{APPROVERS, route};
use crate::contract::approval::{
    ApprovalDecision, ApprovalEntry, Approver, Channel, RememberedVerdict,
};
use crate::contract::ids::{ApprovalId, ToolId};
use crate::contract::unfit::unfit;
use crate::frontends::http::Shared;
use crate::frontends::http::admit::Route;
use crate::frontends::http::body::{Named, Strict, json as answer, present};
use crate::frontends::http::problem::Problem;
use crate::frontends::http::tokens::Speaker;
use crate::gate::approval::{ApprovalError, ApprovalQueue, Selection};
use crate::storage::{ListFilter, StorageError};

/// Requests that one request answers.
const IDS_MAX: usize = 1_000;

pub(super) fn routes() -> [Route; 2] {
    [
        route(Method::POST, "/v1/approvals/{id}/decision", APPROVERS, post(decide)),
        route(Method::POST, "/v1/approvals/decisions", APPROVERS, post(decide_all)),
    ]
}

/// An answer in which every member is known.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
struct Decision(ApprovalDecision);

impl TryFrom<Map<String, Value>> for Decision {
    type Error = String;

    fn try_from(said: Map<String, Value>) -> Result<Self, String> {
        let known: &[&str] = match said.get("decision").and_then(Value::as_str) {
            Some("always") => &["scope", "expiresUnixMs"],
            Some("deny") => &["reason"],
            Some("deny-always") => &["scope", "reason"],
            Some("edit") => &["argumentsJson"],
            Some("answer") => &["content"],
            _ => &[],
        };
        let mut members = said.iter().filter(|(name, _)| *name != "decision");
        if let Some((name, _)) = members.clone().find(|(name, _)| !known.contains(&name.as_str())) {
            return Err(format!("unknown member `{name}` of that decision"));
        }
        // Absent and null are not the same where a request can be described.
        if let Some((name, _)) = members.find(|(_, value)| value.is_null()) {
            return Err(format!("`{name}` is null: leave it out"));
        }
        let decision = ApprovalDecision::deserialize(Value::Object(said));
        decision.map(Self).map_err(|error| unfit("", &error.to_string()))
    }
}

/// Who answers, and for whom it may not.
#[derive(Debug, Clone)]
pub(super) struct Answering {
    pub(super) approver: Approver,
    own_caller: Option<String>,
    /// The operator says that it may.
    approves_itself: bool,
}

impl Answering {
    pub(super) fn new(shared: &Shared, speaker: &Speaker) -> Self {
        Self {
            approver: Approver { name: speaker.name.clone(), channel: Channel::Http },
            own_caller: speaker.caller().map(str::to_owned),
            approves_itself: shared.config.approvals.self_approval,
        }
    }

    /// The queue knows approvers by name; that this one makes calls in another name only we know.
    /// Whose call it is never changes, so that it can be looked at before.
    fn check(
        &self,
        queue: &ApprovalQueue,
        id: &ApprovalId,
        decision: &ApprovalDecision,
    ) -> Result<(), ApprovalError> {
        let gives = decision.admits() || matches!(decision, ApprovalDecision::Answer { .. });
        let own = self.own_caller.as_ref().filter(|_| gives && !self.approves_itself);
        let Some(own) = own else { return Ok(()) };
        match queue.show(id)?.request.caller.caller {
            Some(caller) if caller == *own => Err(ApprovalError::SelfApproval(caller)),
            _ => Ok(()),
        }
    }

    /// Taking back a no lets calls through that it held up, so that it takes who could approve
    /// them. Taking back a yes only narrows.
    pub(super) fn check_forgetting(
        &self,
        queue: &ApprovalQueue,
        id: &ApprovalId,
    ) -> Result<(), ApprovalError> {
        if self.approves_itself {
            return Ok(());
        }
        let remembered = queue.remembered_list()?;
        let its = remembered.into_iter().find(|it| it.id == *id);
        let refuses = its.filter(|it| it.verdict == RememberedVerdict::Deny);
        // As where requests are answered, a caller is also who has its name.
        let is_own =
            |it: &String| self.own_caller.as_ref() == Some(it) || self.approver.name == *it;
        match refuses.and_then(|it| it.caller).filter(is_own) {
            Some(caller) => Err(ApprovalError::SelfApproval(caller)),
            None => Ok(()),
        }
    }
}

async fn decide(
    State(shared): State<Arc<Shared>>,
    Extension(speaker): Extension<Arc<Speaker>>,
    Named(id): Named<String>,
    Strict(Decision(decision)): Strict<Decision>,
) -> Result<Response, Problem> {
    let (id, by) = (id_of(&id)?, Answering::new(&shared, &speaker));
    let decided = aside(&shared, move |queue| {
        by.check(queue, &id, &decision)?;
        queue.decide(&id, decision, by.approver)
    });
    let entry = decided.await??;
    Ok(answer(StatusCode::OK, &shown(&shared.redactor, &entry)?))
}

/// Which requests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Many {
    /// These; absent: all that are pending.
    #[serde(default, deserialize_with = "present")]
    ids: Option<Vec<ApprovalId>>,
    /// Of those that are pending, the ones of this tool.
    #[serde(default, deserialize_with = "present")]
    tool: Option<ToolId>,
    /// The answer to each that has none of its own.
    decision: Decision,
    #[serde(default)]
    overrides: BTreeMap<ApprovalId, Decision>,
}

async fn decide_all(
    State(shared): State<Arc<Shared>>,
    Extension(speaker): Extension<Arc<Speaker>>,
    Strict(many): Strict<Many>,
) -> Result<Response, Problem> {
    let named = many.ids.as_ref().map_or(0, Vec::len);
    let apart: BTreeSet<_> = many.ids.iter().flatten().collect();
    if apart.len() < named {
        return Err(Problem::bad_request("`ids` names a request twice: expected each once"));
    }
    if named > IDS_MAX || many.overrides.len() > IDS_MAX {
        return Err(Problem::bad_request(format!("one request answers at most {IDS_MAX}")));
    }
    if many.ids.is_some() && many.tool.is_some() {
        return Err(Problem::bad_request("`ids` and `tool` are there: expected one of them"));
    }
    let by = Answering::new(&shared, &speaker);
    let decided = aside(&shared, move |queue| each(queue, many, &by)).await??;
    let mut results = Vec::with_capacity(decided.len());
    for (id, outcome) in decided {
        results.push(match outcome {
            Ok(entry) => json!({"id": id, "entry": shown(&shared.redactor, &entry)?}),
            Err(error) => json!({"id": id, "problem": Problem::from(error).document()}),
        });
    }
    Ok(answer(StatusCode::OK, &json!({"results": results})))
}

type Decided = Vec<(ApprovalId, Result<ApprovalEntry, ApprovalError>)>;

/// Answers those that may be answered, and tells of each in the order of the selection.
fn each(queue: &ApprovalQueue, many: Many, by: &Answering) -> Result<Decided, StorageError> {
    let ids = match many.ids {
        Some(ids) => ids,
        None => {
            let limit = u32::try_from(IDS_MAX).unwrap_or(u32::MAX);
            let filter = ListFilter { tool: many.tool, limit, ..ListFilter::pending() };
            queue.list(&filter)?.into_iter().map(|summary| summary.id).collect()
        }
    };
    let overrides: BTreeMap<_, _> = many.overrides.into_iter().map(|(id, it)| (id, it.0)).collect();
    let decision = many.decision.0;
    let mut refused = BTreeMap::new();
    let mut allowed = Vec::new();
    for id in &ids {
        match by.check(queue, id, overrides.get(id).unwrap_or(&decision)) {
            Ok(()) => allowed.push(id.clone()),
            Err(error) => drop(refused.insert(id.clone(), error)),
        }
    }
    let decided = queue.decide_all(Selection::Ids(allowed), &decision, &overrides, &by.approver)?;
    let mut decided = decided.into_iter();
    let told = ids.into_iter().filter_map(|id| match refused.remove(&id) {
        Some(error) => Some((id, Err(error))),
        None => decided.next(),
    });
    Ok(told.collect())
}
