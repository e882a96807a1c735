//! Turns a request into a call that can be judged: its tool, bounds, canonical arguments, grants.
//!
//! Decides nothing but what is no call at all; the caller's set of tools comes before everything.

use std::sync::Arc;

use super::attempt::limits_of;
use super::dispatch::{Shared, Within};
use super::ports::FoundTool;
use super::refused::Refused;
use super::report::OpenCall;
use super::resolve::{Resolved, not_connected, not_found, resolve};
use super::timely::in_time;
use crate::contract::arguments::{ArgumentBounds, CheckedArguments, joined, parse};
use crate::contract::grants::{Grants, ToolGrants};
use crate::contract::invocation::ToolInvocation;
use crate::contract::limits::Limits;
use crate::contract::outcome::Outcome;
use crate::gate;

/// A call that can be judged and run. What is in it is what gate, approver and runner all see.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) tool: FoundTool,
    pub(super) limits: Arc<Limits>,
    pub(super) arguments: Arc<CheckedArguments>,
    pub(super) grants: Arc<Grants>,
}

/// Looks the tool up. A14 comes before anything else, since a caller with a set isn't told of what
/// is beside it, neither that it exists nor what arguments it takes.
pub(super) fn look_up(shared: &Shared, call: &ToolInvocation) -> Result<FoundTool, Refused> {
    let resolved = resolve(shared.lookup.as_ref(), call);
    if let Some(allowed) = call.allowed_tools.as_deref()
        && let Some(refusal) = gate::refuse_unlisted(&resolved.names(call), Some(allowed))
    {
        return Err(refusal.into());
    }
    match resolved {
        Resolved::Loaded(tool) => Ok(tool),
        Resolved::Session(named) => Err(Refused::new(Outcome::Unavailable, not_connected(&named))),
        Resolved::Unknown(named) => {
            Err(Refused::new(Outcome::NotFound, not_found(shared.lookup.as_ref(), &named)))
        }
    }
}

/// Checks the arguments of a call of `tool` and fetches what it may use.
pub(super) async fn prepare(
    shared: &Shared,
    tool: FoundTool,
    within: &Within<'_>,
    open: &OpenCall,
    arguments_json: &str,
) -> Result<Prepared, Refused> {
    let limits = Arc::new(limits_of(&tool.descriptor, within.call));
    let arguments = Arc::new(check(&tool, arguments_json, &limits)?);
    let grants = in_time(open, &limits, within, grants_of(shared, &tool, within.call)).await?;
    Ok(Prepared { tool, limits, arguments, grants })
}

/// The same for whoever only looks, and so has no time of its own.
pub(super) async fn prepare_to_look(
    shared: &Shared,
    tool: FoundTool,
    call: &ToolInvocation,
) -> Result<Prepared, Refused> {
    let limits = Arc::new(limits_of(&tool.descriptor, call));
    let arguments = Arc::new(check(&tool, &call.arguments_json, &limits)?);
    let grants = grants_of(shared, &tool, call).await?;
    Ok(Prepared { tool, limits, arguments, grants })
}

/// Parses once, checks against the schema, and makes the form that everybody sees from here on.
fn check(tool: &FoundTool, json: &str, limits: &Limits) -> Result<CheckedArguments, Refused> {
    let invalid = |why| Refused::new(Outcome::InvalidArguments, why);
    let parsed =
        parse(json, ArgumentBounds::of(limits)).map_err(|error| invalid(error.sentence(limits)))?;
    let checked = tool.check.check(parsed).map_err(|failures| invalid(joined(&failures)))?;
    Ok(CheckedArguments::new(checked))
}

/// What this caller's calls of the tool may use. A template looks at the disk, so another thread
/// fills it in; a few at a time, since a disk that hangs holds its thread for good.
pub(super) async fn grants_of(
    shared: &Shared,
    tool: &FoundTool,
    call: &ToolInvocation,
) -> Result<Arc<Grants>, Refused> {
    let refused = |why: String| Refused::new(Outcome::Denied, why);
    match &tool.grants {
        ToolGrants::Fixed(grants) => Ok(Arc::clone(grants)),
        template @ ToolGrants::PerCall { .. } => {
            let place = Arc::clone(&shared.resolving).acquire_owned().await;
            let (template, context) = (template.clone(), call.context());
            let resolved = tokio::task::spawn_blocking(move || {
                let resolved = template.resolve(&context);
                drop(place);
                resolved
            });
            let lost = "what the tool may use could not be made out; belljar's log says why";
            resolved.await.map_err(|_lost| refused(lost.to_owned()))?.map_err(refused)
        }
    }
}
