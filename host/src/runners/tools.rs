//! All tools that can be called now: the catalog's, and those that come and go with whoever runs
//! them.
//!
//! Runs nothing. A call that found its tool keeps it, whatever goes meanwhile; its runner says
//! whether it can still be run.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use crate::contract::arguments::ArgumentCheck;
use crate::contract::ids::{PluginName, ToolId};
use crate::engine::ports::{FoundTool, ToolListing, ToolRunner};
use crate::events::{EventBus, EventKind};
use crate::registry::{Catalog, LoadedPlugin, LoadedTool, NameError, Names};

/// Tools of one source outside the catalog, in one piece: they come and go together.
#[derive(Clone)]
pub struct OutsideTools {
    /// The tools. Their ids all begin with the source's name.
    pub tools: Vec<FoundTool>,
    /// What runs them.
    pub runner: Arc<dyn ToolRunner>,
}

impl std::fmt::Debug for OutsideTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutsideTools").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// A plugin that is still being loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedPlugin {
    /// The name that it will have.
    pub name: PluginName,
    /// The wire names that the operator gives its tools.
    pub wire_names: Vec<String>,
}

/// Who runs a tool.
#[derive(Clone)]
pub(super) enum Place {
    /// The sandbox.
    Sandbox(Arc<LoadedTool>),
    /// The runner of its source.
    Outside(Arc<dyn ToolRunner>),
}

/// The tools. Read on every call without a lock; a change replaces the whole.
#[derive(Debug)]
pub struct Tools {
    catalog: ArcSwap<Catalog>,
    now: ArcSwap<Now>,
    /// The sources, and the right to change them.
    outside: Mutex<BTreeMap<PluginName, OutsideTools>>,
    /// Plugins that are still being loaded. Locked after `outside`, where both are.
    expected: Mutex<Vec<ExpectedPlugin>>,
    /// Told when one of them is there, or will not be.
    came: Notify,
    revision: watch::Sender<u64>,
    bus: EventBus,
}

/// What can be called at one time.
#[derive(Default)]
struct Now {
    list: Arc<[FoundTool]>,
    places: Vec<Place>,
    by_name: HashMap<String, usize>,
    by_id: HashMap<ToolId, usize>,
}

impl std::fmt::Debug for Now {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Now").field("tools", &self.list.len()).finish_non_exhaustive()
    }
}

impl Tools {
    /// The tools of a catalog, to begin with.
    pub fn new(catalog: Arc<Catalog>, bus: EventBus) -> Self {
        let now = Now::new(&catalog, &BTreeMap::new());
        Self {
            catalog: ArcSwap::new(catalog),
            now: ArcSwap::from_pointee(now),
            outside: Mutex::default(),
            expected: Mutex::default(),
            came: Notify::new(),
            revision: watch::Sender::new(0),
            bus,
        }
    }

    /// Adds a source's tools, or puts them in the place of those it had. The names of plugins that are
    /// still being loaded are theirs, and so are those on the wire that their tools may have.
    ///
    /// # Errors
    /// A name that is reserved, taken or confusable; then what it had stays.
    pub fn put(&self, source: &PluginName, tools: OutsideTools) -> Result<(), NameError> {
        let mut outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = self.catalog.load().names().clone();
        take_all(&mut names, outside.iter().filter(|(name, _)| *name != source))?;
        self.keep_expected(&mut names);
        take(&mut names, source, &tools)?;
        outside.insert(source.clone(), tools);
        self.renew(source, &outside);
        Ok(())
    }

    /// Adds the tools of a source that isn't there, and whose name is none of `reserved` nor looks
    /// like one. What is kept from [`Self::put`] is kept from it too.
    ///
    /// # Errors
    /// A name that is reserved, taken or confusable; then nothing has changed.
    pub fn put_new(
        &self,
        source: &PluginName,
        tools: OutsideTools,
        reserved: &[PluginName],
    ) -> Result<(), NameError> {
        let mut outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = self.catalog.load().names().clone();
        take_all(&mut names, outside.iter())?;
        for name in reserved {
            // One that is in use, or looks like one, holds its place already.
            _ = names.take_plugin(name);
        }
        self.keep_expected(&mut names);
        take(&mut names, source, &tools)?;
        outside.insert(source.clone(), tools);
        self.renew(source, &outside);
        Ok(())
    }

    /// Takes away what a source has from this very runner; whether it had anything.
    pub fn take_back(&self, source: &PluginName, runner: &Arc<dyn ToolRunner>) -> bool {
        let mut outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        let its_own =
            |it: &OutsideTools| std::ptr::addr_eq(&raw const *it.runner, &raw const **runner);
        let had = outside.get(source).is_some_and(its_own);
        if had {
            outside.remove(source);
            self.renew(source, &outside);
        }
        had
    }

    /// Adds the tools of the host itself, under one of its own names, which others can't take.
    ///
    /// # Errors
    /// A wire name that a tool has; then none of them is added.
    pub fn put_own(&self, source: &PluginName, tools: OutsideTools) -> Result<(), NameError> {
        let mut outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = self.catalog.load().names().clone();
        for tool in outside.values().flat_map(|it| &it.tools).chain(&tools.tools) {
            names.take_wire(&tool.descriptor.wire_name, &tool.descriptor.id)?;
        }
        outside.insert(source.clone(), tools);
        self.renew(source, &outside);
        Ok(())
    }

    /// Says which plugins are still being loaded.
    pub fn expect(&self, plugins: impl IntoIterator<Item = ExpectedPlugin>) {
        *self.expected() = plugins.into_iter().collect();
    }

    /// Says that one of them isn't any more, however that ended.
    pub fn no_longer_expect(&self, plugin: &PluginName) {
        self.expected().retain(|it| it.name != *plugin);
        self.came.notify_waiters();
    }

    /// Adds a plugin that came to be loaded after the others. What was kept for it is kept until it
    /// is there, so that nobody comes between.
    ///
    /// # Errors
    /// A name that is reserved, taken or confusable; then nothing has changed.
    pub fn put_plugin(&self, plugin: LoadedPlugin) -> Result<(), NameError> {
        let outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        let source = plugin.identity.name.clone();
        let mut catalog = Catalog::clone(&self.catalog.load());
        catalog.add(plugin)?;
        take_all(&mut catalog.names().clone(), outside.iter())?;
        self.catalog.store(Arc::new(catalog));
        self.renew(&source, &outside);
        self.no_longer_expect(&source);
        Ok(())
    }

    /// Waits until no plugin is still being loaded.
    pub async fn all_came(&self) {
        loop {
            let came = self.came.notified();
            tokio::pin!(came);
            // Before the look, so that nothing is missed between the two.
            came.as_mut().enable();
            if self.expected().is_empty() {
                return;
            }
            came.await;
        }
    }

    fn expected(&self) -> MutexGuard<'_, Vec<ExpectedPlugin>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_expected(&self, names: &mut Names) {
        for plugin in self.expected().iter() {
            // One that is in use, or looks like one, holds its place already.
            _ = names.take_plugin(&plugin.name);
            names.keep_wires(&plugin.name, &plugin.wire_names);
        }
    }

    /// Takes a source's tools away; whether it had any.
    pub fn remove(&self, source: &PluginName) -> bool {
        let mut outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        let had = outside.remove(source).is_some();
        if had {
            self.renew(source, &outside);
        }
        had
    }

    fn renew(&self, source: &PluginName, outside: &BTreeMap<PluginName, OutsideTools>) {
        self.now.store(Arc::new(Now::new(&self.catalog.load(), outside)));
        self.revision.send_modify(|revision| *revision += 1);
        self.bus.publish(None, || EventKind::ToolsChanged {
            source: source.clone(),
            tools: match outside.get(source) {
                Some(it) => its_ids(it),
                None => self.now.load().ids_of(source),
            },
        });
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Who runs the tool of exactly this id.
    pub(super) fn place(&self, id: &ToolId) -> Option<Place> {
        let now = self.now.load();
        now.by_id.get(id).and_then(|index| now.places.get(*index)).cloned()
    }
}

/// Everybody may watch; what exists for one caller is that caller's to know.
fn its_ids(source: &OutsideTools) -> Vec<ToolId> {
    let everybodys = source.tools.iter().filter(|tool| tool.owner.is_none());
    everybodys.map(|tool| tool.descriptor.id.clone()).collect()
}

/// Takes the names of sources that are there. The host's own have theirs from elsewhere.
fn take_all<'a>(
    names: &mut Names,
    sources: impl Iterator<Item = (&'a PluginName, &'a OutsideTools)>,
) -> Result<(), NameError> {
    for (name, tools) in sources {
        match take(names, name, tools) {
            Ok(()) => {}
            Err(NameError::Reserved(_)) => take_wires(names, tools)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn take(names: &mut Names, source: &PluginName, tools: &OutsideTools) -> Result<(), NameError> {
    names.take_plugin(source)?;
    take_wires(names, tools)
}

fn take_wires(names: &mut Names, tools: &OutsideTools) -> Result<(), NameError> {
    let mut tools = tools.tools.iter();
    tools.try_for_each(|tool| names.take_wire(&tool.descriptor.wire_name, &tool.descriptor.id))
}

impl ToolListing for Tools {
    fn list(&self) -> Arc<[FoundTool]> {
        Arc::clone(&self.now.load().list)
    }

    fn named(&self, name: &str) -> Option<FoundTool> {
        let now = self.now.load();
        now.by_name.get(name).and_then(|index| now.list.get(*index)).cloned()
    }

    fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    fn expects(&self, plugin: &str) -> bool {
        self.expected().iter().any(|it| it.name.as_str() == plugin)
    }
}

impl Now {
    /// The tools of one plugin, none where it has gone.
    fn ids_of(&self, plugin: &PluginName) -> Vec<ToolId> {
        let ids = self.list.iter().map(|tool| &tool.descriptor.id);
        ids.filter(|id| id.plugin == *plugin).cloned().collect()
    }

    fn new(catalog: &Catalog, outside: &BTreeMap<PluginName, OutsideTools>) -> Self {
        let loaded = catalog.tools().map(|tool| {
            let found = FoundTool {
                descriptor: Arc::clone(&tool.descriptor),
                check: Arc::clone(tool.sandboxed.entry()) as Arc<dyn ArgumentCheck>,
                grants: tool.grants.clone(),
                owner: None,
            };
            (found, Place::Sandbox(Arc::new(tool.clone())))
        });
        let outside = outside.values().flat_map(|source| {
            let place = || Place::Outside(Arc::clone(&source.runner));
            source.tools.iter().map(move |tool| (tool.clone(), place()))
        });
        let mut all: Vec<_> = loaded.chain(outside).collect();
        all.sort_by_cached_key(|(tool, _)| tool.descriptor.id.to_string());
        let mut by_name = HashMap::with_capacity(2 * all.len());
        let mut by_id = HashMap::with_capacity(all.len());
        for (index, (tool, _)) in all.iter().enumerate() {
            by_id.insert(tool.descriptor.id.clone(), index);
            by_name.insert(tool.descriptor.id.to_string(), index);
            by_name.insert(tool.descriptor.wire_name.clone(), index);
        }
        let (list, places): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        Self { list: list.into(), places, by_name, by_id }
    }
}

#[cfg(test)]
mod tests;
