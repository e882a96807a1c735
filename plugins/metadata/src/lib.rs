//! What a plugin says of itself: words from its WIT package, carried in one custom section.
//!
//! Words are claims. Nothing here decides what a plugin may do, runs a plugin, or joins the words
//! with the types that the component really has: whoever loads the plugin does.
//!
//! | feature | adds |
//! |---|---|
//! | (none) | [`section::read`], the model and the tag parser |
//! | `pack` (default) | [`pack()`], which writes the sections |
//! | `wit` (default) | [`wit::read_folder`], which collects the words |

pub mod component;
mod decode;
pub mod finding;
pub mod limits;
pub mod model;
pub mod section;
pub mod tags;

mod review;

#[cfg(feature = "pack")]
pub mod pack;
#[cfg(feature = "pack")]
mod standard;
#[cfg(feature = "wit")]
pub mod wit;

pub use component::ComponentError;
pub use finding::Finding;
pub use model::{DirMode, FunctionMetadata, ItemMetadata, Narrowing, Need, PluginMetadata, Tags};
#[cfg(feature = "pack")]
pub use pack::{PackError, pack};
pub use section::Reading;
