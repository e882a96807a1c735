//! What the gate would say of a call, stage by stage. Runs, asks and records nothing.

use super::dispatch::Engine;
use super::prepare::prepare_to_look;
use super::refused::Refused;
use super::resolve::{Resolved, not_connected, not_found, resolve};
use crate::contract::invocation::ToolInvocation;
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;
use crate::gate::{Explanation, GateView, explain};

impl Engine {
    /// Explains a call.
    ///
    /// # Errors
    /// The result it would end with before the gate is asked: an unknown tool, bad arguments,
    /// grants that can't be made for this caller.
    pub async fn explain(&self, call: &ToolInvocation) -> Result<Explanation<'_>, Box<ToolResult>> {
        let ended = |refused: Refused| Box::new(refused.into_result(call.call_id.clone()));
        let shared = self.shared();
        let mut call = call.clone();
        call.permission_level = shared.level_of(&call);
        let call = &call;
        let tool = match resolve(shared.lookup.as_ref(), call) {
            Resolved::Loaded(tool) => tool,
            Resolved::Session(named) => {
                return Err(ended(Refused::new(Outcome::Unavailable, not_connected(&named))));
            }
            Resolved::Unknown(named) => {
                let why = not_found(shared.lookup.as_ref(), &named);
                return Err(ended(Refused::new(Outcome::NotFound, why)));
            }
        };
        let prepared = prepare_to_look(shared, tool, call).await.map_err(ended)?;
        let asking = super::admit::asking(shared, call, &prepared);
        let remembered = shared
            .approvals
            .remembered()
            .await
            .map_err(|error| ended(Refused::new(Outcome::HostFault, error.without_path())))?;
        let remembered = remembered.find(&asking.asked(), (shared.clock)());
        let view = GateView::new(&prepared.tool.descriptor, call, Some(&prepared.arguments));
        Ok(explain(&shared.policy, &view, remembered))
    }
}
