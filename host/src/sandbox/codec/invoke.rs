//! Calls a function with checked arguments and hands back what it returned.
//!
//! Sets no limit and reads no clock: the store comes armed. Must not tell a trap from a fault of the
//! host; errors go up as the engine made them, with [`ToValError`] and [`FromValError`] among them.

use serde_json::{Map, Value};
use wasmtime::component::{ComponentNamedList, Func, Lift, Lower, Val};
use wasmtime::{AsContextMut, StoreContextMut};

use crate::contract::attempt::{ReturnCase, Returned};
use crate::contract::ids::CallId;

use super::from_val::{Collector, FromValError};
use super::plan::FunctionPlan;
use super::rich;
use super::route::{Gives, Route, Takes};
use super::to_val::{self, ToValError};

/// Calls `func`, which has the type that `plan` was made from, with arguments that `plan` checked.
///
/// Functions with bare bytes and few other types go by Rust types (see `route`), the rest by
/// dynamic values.
///
/// # Errors
/// What the engine says of the call; [`ToValError`] for arguments that weren't checked;
/// [`FromValError`] for a result that isn't handed on.
pub async fn invoke(
    func: Func,
    mut store: impl AsContextMut<Data: Send>,
    plan: &FunctionPlan,
    arguments: &Map<String, Value>,
    call_id: &CallId,
) -> wasmtime::Result<Returned> {
    let mut store = store.as_context_mut();
    let call = Call { func, plan, call_id };
    let (first, second) = (plan.argument(0, arguments), plan.argument(1, arguments));
    match plan.route() {
        Route::Dynamic => {
            let parameters = plan.to_vals(arguments).map_err(wasmtime::Error::new)?;
            let count = func.ty(&store).results().len();
            let mut results = vec![Val::Bool(false); count];
            func.call_async(&mut store, &parameters, &mut results).await?;
            plan.from_val(results.pop(), call_id).map_err(wasmtime::Error::new)
        }
        Route::Typed(Takes::Nothing, gives) => call.typed(store, (), gives).await,
        Route::Typed(Takes::Text, gives) => call.typed(store, (text(first)?,), gives).await,
        Route::Typed(Takes::Bytes, gives) => call.typed(store, (bytes(first)?,), gives).await,
        Route::Typed(Takes::TextBytes, gives) => {
            call.typed(store, (text(first)?, bytes(second)?), gives).await
        }
    }
}

fn text(value: &Value) -> wasmtime::Result<&str> {
    value.as_str().ok_or_else(|| wasmtime::Error::new(ToValError))
}

fn bytes(value: &Value) -> wasmtime::Result<Vec<u8>> {
    to_val::bytes(value).map_err(wasmtime::Error::new)
}

struct Call<'a> {
    func: Func,
    plan: &'a FunctionPlan,
    call_id: &'a CallId,
}

impl Call<'_> {
    async fn typed<T: Send, P>(
        &self,
        store: StoreContextMut<'_, T>,
        parameters: P,
        gives: Gives,
    ) -> wasmtime::Result<Returned>
    where
        P: ComponentNamedList + Lower + Send + Sync,
    {
        match gives {
            Gives::Nothing => self.giving::<T, P, ()>(store, parameters).await,
            Gives::Text => self.giving::<T, P, (String,)>(store, parameters).await,
            Gives::Bytes => self.giving::<T, P, (Vec<u8>,)>(store, parameters).await,
            Gives::Rich => self.giving::<T, P, (rich::Output,)>(store, parameters).await,
            Gives::UnitOrText => self.giving::<T, P, Fallible<()>>(store, parameters).await,
            Gives::TextOrText => self.giving::<T, P, Fallible<String>>(store, parameters).await,
            Gives::BytesOrText => self.giving::<T, P, Fallible<Vec<u8>>>(store, parameters).await,
            Gives::RichOrText => {
                self.giving::<T, P, Fallible<rich::Output>>(store, parameters).await
            }
        }
    }

    async fn giving<T: Send, P, R>(
        &self,
        mut store: StoreContextMut<'_, T>,
        parameters: P,
    ) -> wasmtime::Result<Returned>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Give + Send + Sync + 'static,
    {
        let func = self.func.typed::<P, R>(&store)?;
        let result = func.call_async(&mut store, parameters).await?;
        let mut collector = Collector::new(self.call_id);
        let (case, value) = result.give(&mut collector).map_err(wasmtime::Error::new)?;
        Ok(self.plan.returned(case, value, collector))
    }
}

type Fallible<T> = (Result<T, String>,);

/// What a typed return is as JSON.
trait Give {
    fn give(
        self,
        collector: &mut Collector<'_>,
    ) -> Result<(ReturnCase, Option<Value>), FromValError>;
}

impl Give for () {
    fn give(self, _: &mut Collector<'_>) -> Result<(ReturnCase, Option<Value>), FromValError> {
        Ok((ReturnCase::Plain, None))
    }
}

impl<T: GiveOne> Give for (T,) {
    fn give(
        self,
        collector: &mut Collector<'_>,
    ) -> Result<(ReturnCase, Option<Value>), FromValError> {
        Ok((ReturnCase::Plain, Some(self.0.give_one(collector)?)))
    }
}

impl<T: GiveOne> Give for Fallible<T> {
    fn give(
        self,
        collector: &mut Collector<'_>,
    ) -> Result<(ReturnCase, Option<Value>), FromValError> {
        Ok(match self.0 {
            Ok(value) => (ReturnCase::Ok, Some(value.give_one(collector)?)),
            Err(message) => (ReturnCase::Err, Some(message.into())),
        })
    }
}

trait GiveOne {
    fn give_one(self, collector: &mut Collector<'_>) -> Result<Value, FromValError>;
}

impl GiveOne for () {
    fn give_one(self, _: &mut Collector<'_>) -> Result<Value, FromValError> {
        Ok(Value::Null)
    }
}

impl GiveOne for String {
    fn give_one(self, _: &mut Collector<'_>) -> Result<Value, FromValError> {
        Ok(self.into())
    }
}

impl GiveOne for Vec<u8> {
    fn give_one(self, collector: &mut Collector<'_>) -> Result<Value, FromValError> {
        collector.blob(self)
    }
}

impl GiveOne for rich::Output {
    fn give_one(self, collector: &mut Collector<'_>) -> Result<Value, FromValError> {
        rich::collect(collector, self.items())
    }
}
