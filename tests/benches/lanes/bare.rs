//! Bare wasmtime under the sandbox's engine settings: a typed call on a prepared instance (lane A),
//! and a fresh store for each call with dynamic values and cached export indices (lane C′).
//!
//! Nothing else: no lookup, no JSON, no gate, no permit, no deadline, no events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{
    Component, ComponentExportIndex, Instance, InstancePre, Linker, TypedFunc, Val,
};
use wasmtime::{Engine, Store};

use super::wasi::State;

/// The sandbox's defaults.
const FUEL: u64 = 50_000_000_000;
const LIFTED: usize = 16 << 20;
const HANDLES: usize = 4096;

/// A component that is ready to be called.
#[derive(Clone)]
pub(crate) struct Bare(Arc<Linked>);

struct Linked {
    engine: Engine,
    pre: InstancePre<State>,
    function: ComponentExportIndex,
    results: usize,
}

impl Bare {
    /// Compiles and links; `function` is of an interface of the component's own.
    pub(crate) fn new(engine: &Engine, wasm: &[u8], function: &str) -> Self {
        let component = Component::from_binary(engine, wasm).expect("the component compiles");
        let mut linker = Linker::new(engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).expect("WASI links");
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker).expect("http links");
        let (index, results) = find(&component, function);
        let pre = linker.instantiate_pre(&component).expect("it links");
        component.initialize_copy_on_write_image().expect("an image of its memory");
        Self(Arc::new(Linked { engine: engine.clone(), pre, function: index, results }))
    }

    fn store(&self) -> Store<State> {
        let mut store = Store::new(&self.0.engine, State::new());
        store.limiter(|state| &mut state.limits);
        store.set_fuel(FUEL).expect("fuel is on");
        store.set_hostcall_fuel(LIFTED);
        store.set_max_component_handles(HANDLES);
        store.set_epoch_deadline(u64::MAX / 2);
        store
    }

    /// One call in a store of its own; `is_right` looks at what it gave.
    pub(crate) async fn call(
        &self,
        arguments: &[Val],
        is_right: impl FnOnce(&[Val]) -> bool,
    ) -> Duration {
        let began = Instant::now();
        let results = self.results_of(arguments).await;
        let took = began.elapsed();
        assert!(is_right(&results), "{results:?}");
        took
    }

    /// What one call gives, in a store of its own that is gone by then.
    pub(crate) async fn results_of(&self, arguments: &[Val]) -> Vec<Val> {
        let mut store = self.store();
        let instance = self.0.pre.instantiate_async(&mut store).await.expect("an instance");
        let function = instance.get_func(&mut store, self.0.function).expect("the function");
        let mut results = vec![Val::Bool(false); self.0.results];
        function.call_async(&mut store, arguments, &mut results).await.expect("an answer");
        results
    }

    /// An instance that stays, with a function that takes and gives nothing.
    pub(crate) async fn prepared(&self) -> Prepared {
        let mut store = self.store();
        let instance: Instance =
            self.0.pre.instantiate_async(&mut store).await.expect("an instance");
        let function = instance.get_typed_func(&mut store, self.0.function).expect("its type");
        Prepared { store, function }
    }
}

/// An instance that stays.
pub(crate) struct Prepared {
    store: Store<State>,
    function: TypedFunc<(), ()>,
}

impl Prepared {
    /// So many calls; the time of one on average, since one alone is as short as reading the clock.
    pub(crate) async fn call(&mut self, count: u32) -> Duration {
        let began = Instant::now();
        for _ in 0..count {
            self.function.call_async(&mut self.store, ()).await.expect("an answer");
        }
        began.elapsed() / count
    }
}

/// Where the function is, and how many values it gives.
fn find(component: &Component, function: &str) -> (ComponentExportIndex, usize) {
    let engine = component.engine();
    let ty = component.component_type();
    for (interface, item) in ty.exports(engine) {
        let ComponentItem::ComponentInstance(instance) = item.ty else { continue };
        let found = instance.exports(engine).find(|(name, _)| *name == function);
        let Some(ComponentItem::ComponentFunc(ty)) = found.map(|(_, item)| item.ty) else {
            continue;
        };
        let outer = component.get_export_index(None, interface).expect("the interface");
        let index = component.get_export_index(Some(&outer), function).expect("the function");
        return (index, ty.results().len());
    }
    unreachable!("the component exports `{function}`");
}
