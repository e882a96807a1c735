//! Plugins that are compiled while the host answers for the others already.
//!
//! Their names are kept free for them from the start. One that can't be loaded is left out and told
//! of, also where it was named by itself: the host runs by then.

use std::sync::Arc;

use super::PluginError;
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
        for LaterFile { file, path, .. } in &self.files {
            if let Err(error) = self.load(file) {
                tracing::warn!("left out the plugin `{path}`: {error}");
                self.bus.publish(None, || EventKind::PluginFailed {
                    source: path.clone(),
                    reason: error.to_string(),
                });
            }
        }
        self.tools.expect([]);
    }

    fn load(&self, file: &PluginFile) -> Result<(), PluginError> {
        let plugin = self.loader.load_anew(file, |name| self.given.of(name))?;
        let told = loaded(&plugin);
        self.tools.put_plugin(plugin)?;
        self.bus.publish(None, || told);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
