//! Tools that may change while calls are made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};

use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::descriptor::{ToolDescriptor, example};
use crate::contract::effects::Effect;
use crate::contract::grants::{Grants, ToolGrants};
use crate::engine::ports::{FoundTool, ToolLookup};

/// Tools by id, which may change while calls are made.
#[derive(Default)]
pub(in crate::engine::tests) struct Tools(Mutex<BTreeMap<String, FoundTool>>);

impl Tools {
    pub(in crate::engine::tests) fn put(&self, descriptor: ToolDescriptor, grants: ToolGrants) {
        let check = Arc::new(RefuseBad) as Arc<dyn ArgumentCheck>;
        let id = descriptor.id.to_string();
        let found = FoundTool { descriptor: Arc::new(descriptor), check, grants, owner: None };
        self.0.lock().unwrap().insert(id, found);
    }

    pub(in crate::engine::tests) fn remove(&self, id: &str) {
        self.0.lock().unwrap().remove(id);
    }

    /// Loads the same tool again, otherwise.
    pub(in crate::engine::tests) fn change(
        &self,
        id: &str,
        change: impl FnOnce(&mut ToolDescriptor),
    ) {
        let found = self.find(id).unwrap();
        let mut descriptor = found.descriptor.as_ref().clone();
        change(&mut descriptor);
        self.put(descriptor, found.grants);
    }
}

impl ToolLookup for Tools {
    fn find(&self, name: &str) -> Option<FoundTool> {
        assert_ne!(name, "panics.here", "a lookup that panics");
        let tools = self.0.lock().unwrap();
        let known = |tool: &&FoundTool| tool.descriptor.wire_name == name;
        tools.get(name).or_else(|| tools.values().find(known)).cloned()
    }

    fn near(&self, _name: &str) -> Vec<String> {
        vec!["fake.tool".into()]
    }
}

/// Refuses an argument `bad`, and panics at one `panic`.
struct RefuseBad;

impl ArgumentCheck for RefuseBad {
    fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        assert!(!args.contains_key("panic"), "a check that panics");
        match args.get("bad") {
            None => Ok(args),
            Some(_) => Err(vec![ArgumentFailure::new("/bad", "isn't wanted")]),
        }
    }
}

/// A tool of which everything is proven, so that every level lets it through.
pub(in crate::engine::tests) fn reader(id: &str) -> ToolDescriptor {
    example(id, Effect::proven(true))
}

/// A tool of which nothing is known.
pub(in crate::engine::tests) fn writer(id: &str) -> ToolDescriptor {
    example(id, Effect::assumed(false))
}

pub(in crate::engine::tests) fn no_grants() -> ToolGrants {
    ToolGrants::Fixed(Arc::new(Grants::default()))
}
