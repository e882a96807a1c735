//! The plan of one function: made once at load, used by every call.
//!
//! Joins types, words, schemas, checks and conversions. Must not run anything: `invoke` does.

use serde_json::{Map, Value};
use wasmtime::component::{Val, types};

use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::attempt::{ReturnCase, Returned};
use crate::contract::ids::CallId;

use super::check::Checker;
use super::from_val::{Collector, FromValError};
use super::reflect::Reflection;
use super::rich;
use super::route::Route;
use super::schema::Writer;
use super::shape::{Record, Shape};
use super::to_val::{self, ToValError};
use super::words::Words;

/// Why a function can't be a tool. It concerns that function alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A kind of function that isn't called here.
    #[error("the function is {what}, expected a synchronous one with at most one result")]
    Function {
        /// The kind, with its article.
        what: &'static str,
    },
    /// A type that tools can't take or return.
    #[error("`{path}` is {what}, expected a type with plain values")]
    Unsupported {
        /// Where, as words are keyed.
        path: String,
        /// The kind of type, with its article.
        what: &'static str,
    },
    /// Types inside each other, too many.
    #[error("`{path}` is nested too deep, expected at most {most} types inside each other")]
    Depth {
        /// Where the cap was met.
        path: String,
        /// The cap.
        most: usize,
    },
    /// Too many types, fields, cases and names.
    #[error("the function has too many types, expected at most {most} with their fields and cases")]
    Nodes {
        /// The cap.
        most: usize,
    },
    /// A schema that no model has room for.
    #[error("the {which} schema is too long, expected at most {most} bytes of JSON")]
    Schema {
        /// `input` or `output`.
        which: &'static str,
        /// The cap, in bytes.
        most: usize,
    },
}

/// What a function or one case of its result gives back.
#[derive(Debug, PartialEq)]
pub(super) enum Payload {
    Unit,
    Value(Shape),
    Rich,
}

#[derive(Debug, PartialEq)]
pub(super) enum Returns {
    Nothing,
    Plain(Payload),
    Result(Payload, Payload),
}

/// All that is known of a function's types, ready for use.
#[derive(Debug)]
pub struct FunctionPlan {
    /// The arguments by name: the parameters, or the fields of the one record parameter.
    arguments: Record,
    /// Whether `arguments` are the fields of one record parameter.
    flattened: bool,
    returns: Returns,
    route: Route,
    input_schema: Value,
    output_schema: Option<Value>,
    findings: Vec<String>,
}

impl FunctionPlan {
    /// Plans a function. `rich` says whether its component imports `belljar:tool/types`
    /// ([`rich::is_imported`]), so that a return of that interface's `output` is rich output.
    ///
    /// # Errors
    /// A type that tools can't take or return, or one that breaks a cap.
    pub fn new(ty: &types::ComponentFunc, words: &Words, rich: bool) -> Result<Self, PlanError> {
        if ty.async_() {
            return Err(PlanError::Function { what: "an async function" });
        }
        if ty.results().len() > 1 {
            return Err(PlanError::Function { what: "a function with several results" });
        }
        let mut reflection = Reflection::new(words);
        let parameters = reflection.parameters(ty)?;
        let returns = returns(&mut reflection, ty, rich)?;
        let findings = reflection.findings;
        let (arguments, path) = match flattened(parameters) {
            Ok((name, record)) => (record, Some(format!("param/{name}"))),
            Err(parameters) => (parameters, None),
        };
        Ok(Self {
            input_schema: Writer::input(words, path.as_deref().unwrap_or("param"), &arguments)?,
            output_schema: output_schema(words, &returns)?,
            route: Route::of(&arguments, path.is_some(), &returns),
            flattened: path.is_some(),
            arguments,
            returns,
            findings,
        })
    }

    /// JSON Schema of the arguments: a closed object without combinators at its root.
    pub fn input_schema(&self) -> &Value {
        &self.input_schema
    }

    /// JSON Schema of the structured result, always an object; `None` where there is none: the
    /// function returns nothing, or rich output.
    pub fn output_schema(&self) -> Option<&Value> {
        self.output_schema.as_ref()
    }

    /// What the plugin's words say that doesn't fit its types, and so was left out.
    pub fn findings(&self) -> &[String] {
        &self.findings
    }

    /// Component values for arguments that `check` let through.
    ///
    /// # Errors
    /// The arguments weren't checked by this plan.
    pub fn to_vals(&self, arguments: &Map<String, Value>) -> Result<Vec<Val>, ToValError> {
        if self.flattened {
            Ok(vec![to_val::named(&self.arguments, arguments)?])
        } else {
            to_val::fields(&self.arguments, arguments)
        }
    }

    /// What the function returned; `None` for one without a result.
    ///
    /// A byte list stands in the value as the address of its attachment. A unit is null. The value
    /// of rich output is its text, and it isn't `wrapped`: no other value that is a string is so.
    ///
    /// # Errors
    /// Too many attachments, or a value that isn't of the function's type.
    pub fn from_val(&self, value: Option<Val>, call_id: &CallId) -> Result<Returned, FromValError> {
        let mut collector = Collector::new(call_id);
        let (case, payload, value) = match (&self.returns, value) {
            (Returns::Nothing, None) => {
                return Ok(self.returned(ReturnCase::Plain, None, collector));
            }
            (Returns::Plain(payload), Some(value)) => (ReturnCase::Plain, payload, Some(value)),
            (Returns::Result(ok, _), Some(Val::Result(Ok(value)))) => {
                (ReturnCase::Ok, ok, value.map(|value| *value))
            }
            (Returns::Result(_, err), Some(Val::Result(Err(value)))) => {
                (ReturnCase::Err, err, value.map(|value| *value))
            }
            _ => return Err(FromValError::Mismatch { expected: "the case that the type has" }),
        };
        let value = match (payload, value) {
            (Payload::Unit, None) => Value::Null,
            (Payload::Value(shape), Some(value)) => collector.value(shape, value)?,
            (Payload::Rich, Some(value)) => {
                let items = rich::items(value)?;
                rich::collect(&mut collector, items.into_iter())?
            }
            _ => return Err(FromValError::Mismatch { expected: "a value where the type has one" }),
        };
        Ok(self.returned(case, Some(value), collector))
    }

    /// A returned value with what the type says of it.
    pub(super) fn returned(
        &self,
        case: ReturnCase,
        value: Option<Value>,
        collector: Collector<'_>,
    ) -> Returned {
        let payload = match (&self.returns, case) {
            (Returns::Plain(payload), ReturnCase::Plain)
            | (Returns::Result(payload, _), ReturnCase::Ok) => Some(payload),
            // An error has no output schema that could wrap it.
            _ => None,
        };
        let wrapped = match payload {
            Some(Payload::Value(shape)) => !shape.is_object(),
            Some(Payload::Unit) => true,
            Some(Payload::Rich) | None => false,
        };
        Returned { case, value, wrapped, attachments: collector.attachments }
    }

    /// How the function is called.
    pub(super) fn route(&self) -> Route {
        self.route
    }

    /// The argument at a position of the schema, null where it is absent.
    pub(super) fn argument<'a>(&self, at: usize, arguments: &'a Map<String, Value>) -> &'a Value {
        let field = self.arguments.fields.get(at);
        field.and_then(|field| arguments.get(&field.json)).unwrap_or(&Value::Null)
    }
}

impl ArgumentCheck for FunctionPlan {
    fn check(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        Checker::check(&self.arguments, arguments, self.route == Route::Dynamic)
    }
}

/// The fields of the one record parameter and its name, or the parameters as they are.
fn flattened(mut parameters: Record) -> Result<(String, Record), Record> {
    match parameters.fields.pop() {
        Some(field) if parameters.fields.is_empty() => match field.shape {
            Shape::Record(record) => Ok((field.wit, record)),
            shape => Err(Record::new(vec![super::shape::Field { shape, ..field }])),
        },
        last => {
            parameters.fields.extend(last);
            Err(parameters)
        }
    }
}

fn returns(
    reflection: &mut Reflection<'_>,
    ty: &types::ComponentFunc,
    rich: bool,
) -> Result<Returns, PlanError> {
    let payload = |shape: Option<Shape>| match shape {
        None => Payload::Unit,
        Some(shape) if rich && shape == rich::output_shape() => Payload::Rich,
        Some(shape) => Payload::Value(shape),
    };
    let Some(ty) = ty.results().next() else { return Ok(Returns::Nothing) };
    Ok(match reflection.returned("result", &ty)? {
        Shape::Result(ok, err) => {
            let err = err.map_or(Payload::Unit, |shape| Payload::Value(*shape));
            Returns::Result(payload(ok.map(|shape| *shape)), err)
        }
        shape => Returns::Plain(payload(Some(shape))),
    })
}

fn output_schema(words: &Words, returns: &Returns) -> Result<Option<Value>, PlanError> {
    let (path, payload) = match returns {
        Returns::Nothing => return Ok(None),
        Returns::Plain(payload) => ("result", payload),
        Returns::Result(payload, _) => ("result/ok", payload),
    };
    let shape = match payload {
        Payload::Rich => return Ok(None),
        Payload::Unit => None,
        Payload::Value(shape) => Some(shape),
    };
    Writer::output(words, path, shape).map(Some)
}
