//! What is called when a tool is called: a function by its plan, or a command.

use serde_json::{Map, Value};

use super::codec::{FunctionPlan, PlanError, Words};
use super::command;
use super::compiled::ExportedFunction;
use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};

/// How a tool's arguments and results are carried over: made once at load.
#[derive(Debug)]
pub enum Entry {
    /// A function of the component model.
    Function(Box<FunctionPlan>),
    /// A program.
    Command {
        /// argv and stdin.
        input_schema: Value,
        /// stdout.
        output_schema: Value,
    },
}

impl Entry {
    /// Plans an exported function. `rich`: its component imports the types of rich output.
    ///
    /// # Errors
    /// A type that tools can't take or return, or one that breaks a cap.
    pub fn plan(function: &ExportedFunction, words: &Words, rich: bool) -> Result<Self, PlanError> {
        if command::is_command(function.interface.as_deref(), &function.name) {
            let (input_schema, output_schema) = (command::input_schema(), command::output_schema());
            return Ok(Self::Command { input_schema, output_schema });
        }
        let plan = FunctionPlan::new(&function.ty, words, rich)?;
        Ok(Self::Function(Box::new(plan)))
    }

    /// JSON Schema of the arguments.
    pub fn input_schema(&self) -> &Value {
        match self {
            Self::Function(plan) => plan.input_schema(),
            Self::Command { input_schema, .. } => input_schema,
        }
    }

    /// JSON Schema of the structured result, where there is one.
    pub fn output_schema(&self) -> Option<&Value> {
        match self {
            Self::Function(plan) => plan.output_schema(),
            Self::Command { output_schema, .. } => Some(output_schema),
        }
    }

    /// What the plugin's words say that doesn't fit its types, and so was left out.
    pub fn findings(&self) -> &[String] {
        match self {
            Self::Function(plan) => plan.findings(),
            Self::Command { .. } => &[],
        }
    }
}

impl ArgumentCheck for Entry {
    fn check(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        match self {
            Self::Function(plan) => plan.check(arguments),
            Self::Command { .. } => command::check(arguments),
        }
    }
}
