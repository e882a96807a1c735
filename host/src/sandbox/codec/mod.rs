//! JSON to component values and back, by a plan made once for each function at load.
//!
//! Types decide what schemas say, what arguments pass and what a result looks like; words only
//! describe and narrow. Must not load, link or limit anything.

mod check;
mod choice;
mod decode;
mod expect;
mod failures;
mod from_val;
mod invoke;
pub mod limits;
mod narrow;
mod near;
mod number;
mod plan;
mod reflect;
mod rich;
mod route;
mod schema;
mod shape;
mod to_val;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use decode::read as read_text;
pub use from_val::FromValError;
pub use invoke::invoke;
pub use plan::{FunctionPlan, PlanError};
pub use rich::is_imported as imports_rich_output;
pub use to_val::ToValError;
pub use words::{Word, Words};
