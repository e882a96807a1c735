//! Plugins that are compiled while the host answers for the others already.
//!
//! Their names are kept free for them from the start. One that can't be loaded is left out and told
//! of, also where it was named by itself: the host runs by then.

use std::sync::Arc;

use super::given::Given;
use super::loading::loaded;
use crate::contract::ids::PluginName;
use crate::events::{EventBus, EventKind};
use crate::registry::{Loader, PluginFile};
use crate::runners::Tools;

/// One of them.
#[derive(Debug)]
pub(super) struct LaterFile {
    /// The name that it will have.
    pub(super) name: PluginName,
    pub(super) file: PluginFile,
    /// Where it comes from, escaped.
    pub(super) path: String,
}

/// The plugins that are still to come. Dropped, they never do.
#[derive(Debug)]
pub struct Later {
    pub(super) files: Vec<LaterFile>,
    pub(super) loader: Loader,
    pub(super) given: Arc<Given>,
    pub(super) tools: Arc<Tools>,
    pub(super) bus: EventBus,
}

impl Later {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// Loads them on a thread of its own, which ends with the process.
    ///
    /// # Errors
    /// The machine has no thread; then none is loaded.
    pub fn start(self) -> std::io::Result<()> {
        // The processes that compile end with the thread that asked for them, so it asks itself.
        std::thread::Builder::new().name("compile".to_owned()).spawn(|| self.load_all())?;
        Ok(())
    }

    /// Loads them, one after another. Each is there for callers, and announced, as soon as it is
    /// loaded.
    pub fn load_all(self) {
        for later in &self.files {
            if let Err(reason) = self.load(later) {
                self.left_out(later, reason);
            }
            self.tools.no_longer_expect(&later.name);
        }
    }

    fn left_out(&self, later: &LaterFile, reason: String) {
        let path = &later.path;
        tracing::warn!("left out the plugin `{path}`: {reason}");
        self.bus.publish(None, || EventKind::PluginFailed { source: path.clone(), reason });
    }

    fn load(&self, later: &LaterFile) -> Result<(), String> {
        let loaded_anew = self.loader.load_anew(&later.file, |name| self.given.of(name));
        let plugin = loaded_anew.map_err(|error| error.to_string())?;
        // Its name was kept free for it, and others were told of it; that of another wasn't. The rule
        // for both is one, so the file was changed meanwhile.
        if plugin.identity.name != later.name {
            let found = &plugin.identity.name;
            return Err(format!("it was taken for `{}` and is `{found}`; start anew", later.name));
        }
        let told = loaded(&plugin);
        self.tools.put_plugin(plugin).map_err(|error| error.to_string())?;
        self.bus.publish(None, || told);
        Ok(())
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        self.tools.expect([]);
    }
}

#[cfg(test)]
mod tests;
