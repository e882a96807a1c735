//! From a component's bytes to tools with descriptors: loaded once, never changed while loaded.
//!
//! Loading runs no code of the plugin. Knows no protocol and decides no policy.

mod catalog;
mod code_making;
mod code_store;
mod content;
mod descriptor;
mod discover;
mod effects;
mod load;
mod names;
mod tools;
mod words;

/// Largest component that is looked at, in bytes.
pub use crate::sandbox::COMPONENT_MAX_LEN;
pub use catalog::{Catalog, CatalogError};
pub use code_making::OnCompile;
pub use code_store::{CodeStore, CodeStoreError, KeptCode};
pub use content::PluginContent;
pub use discover::{DiscoverError, PLUGINS_MAX, find_plugins};
pub use load::{
    LoadError, LoadedPlugin, LoadedTool, Loader, PluginFile, PluginGiven, ToolSettings,
    Unsupported, name_to_be,
};
pub use names::{NameError, Names, RESERVED_PLUGINS, wire_name};
