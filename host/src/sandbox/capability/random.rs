//! Randomness with a bounded request, whose refusal is a typed end.

use wasmtime::component::HasData;
use wasmtime_wasi::p2::bindings::random::{insecure, random};
use wasmtime_wasi::random::WasiRandomCtx;

use crate::contract::limits::LimitKind;
use crate::sandbox::fault::HostEnd;

/// Names this view to the linker.
pub(crate) struct BoundedRandom;

impl HasData for BoundedRandom {
    type Data<'a> = BoundedRandomView<'a>;
}

/// Checks the size of a request, then asks WASI's own generators.
pub(crate) struct BoundedRandomView<'a> {
    pub(crate) inner: &'a mut WasiRandomCtx,
    pub(crate) max: u64,
}

impl BoundedRandomView<'_> {
    fn check(&self, len: u64) -> wasmtime::Result<()> {
        if len > self.max {
            let asked = format!("the plugin asked for {len} random bytes at once");
            return Err(HostEnd::Limit(LimitKind::RandomBytes, asked).into());
        }
        Ok(())
    }
}

impl random::Host for BoundedRandomView<'_> {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.check(len)?;
        random::Host::get_random_bytes(self.inner, len)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        random::Host::get_random_u64(self.inner)
    }
}

impl insecure::Host for BoundedRandomView<'_> {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.check(len)?;
        insecure::Host::get_insecure_random_bytes(self.inner, len)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        insecure::Host::get_insecure_random_u64(self.inner)
    }
}
