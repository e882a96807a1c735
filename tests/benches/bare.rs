//! Bare wasmtime: the same component under the same engine settings, a fresh store a call, and
//! nothing else: no lookup, no JSON, no gate, no permit, no deadline, no events.

use std::sync::Arc;

use belljar::sandbox::Sandbox;
use wasmtime::component::{
    Component, ComponentExportIndex, InstancePre, Linker, ResourceTable, Val,
};
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// crc32 of `abc`.
pub(crate) const EXPECTED: &str = "352441c2";
const FUEL: u64 = 50_000_000_000;

struct Bare {
    table: ResourceTable,
    wasi: WasiCtx,
}

impl WasiView for Bare {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

struct Prepared {
    engine: Engine,
    pre: InstancePre<Bare>,
    function: ComponentExportIndex,
}

/// A component that is ready to be called.
#[derive(Clone)]
pub(crate) struct BareLane(Arc<Prepared>);

impl BareLane {
    /// Compiles and links the codec.
    pub(crate) fn new(wasm: &[u8]) -> Self {
        let engine = Engine::new(&Sandbox::engine_config()).expect("an engine");
        let component = Component::from_binary(&engine, wasm).expect("the component compiles");
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).expect("WASI links");
        let interface = component
            .component_type()
            .exports(&engine)
            .map(|(name, _)| name.to_owned())
            .find(|name| name.starts_with("belljar:codec/"))
            .expect("the codec's interface");
        let interface = component.get_export_index(None, interface.as_str());
        let function = component.get_export_index(interface.as_ref(), "hash").expect("hash");
        let pre = linker.instantiate_pre(&component).expect("it links");
        Self(Arc::new(Prepared { engine, pre, function }))
    }

    /// One call.
    pub(crate) async fn call(&self) {
        let Prepared { engine, pre, function } = self.0.as_ref();
        let state = Bare { table: ResourceTable::new(), wasi: WasiCtx::builder().build() };
        let mut store = Store::new(engine, state);
        store.set_fuel(FUEL).expect("fuel is on");
        store.set_epoch_deadline(u64::MAX / 2);
        let instance = pre.instantiate_async(&mut store).await.expect("an instance");
        let function = instance.get_func(&mut store, *function).expect("the function");
        let mut results = [Val::Bool(false)];
        function.call_async(&mut store, &arguments(), &mut results).await.expect("an answer");
        assert!(format!("{results:?}").contains(EXPECTED), "{results:?}");
    }
}

fn arguments() -> Vec<Val> {
    let text = Val::Option(Some(Box::new(Val::String("abc".into()))));
    vec![Val::Record(vec![
        ("algorithm".into(), Val::Enum("crc32".into())),
        ("text".into(), text),
        ("base64".into(), Val::Option(None)),
    ])]
}
