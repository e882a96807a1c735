//! Memory and tables of one store, summed, with the peak and a flag for a refusal.
//!
//! wasmtime's own `StoreLimits` bounds each memory by itself: eight of them took 2 GiB under a
//! 256 MiB limit. The flag is how `out_of_memory` is told from a crash, since a guest that is
//! refused memory usually aborts by `unreachable`.

use wasmtime::ResourceLimiter;

use crate::contract::limits::{LimitKind, Limits};

/// A table element is a pointer.
const ELEMENT_BYTES: u64 = 8;

/// Counts what a store holds.
#[derive(Debug)]
pub(crate) struct Meter {
    memory_max: u64,
    elements_max: u64,
    instances_max: usize,
    memory: u64,
    elements: u64,
    peak: u64,
    refused: Option<(LimitKind, String)>,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory_max: limits.get(LimitKind::Memory).value,
            elements_max: limits.get(LimitKind::TableElements).value,
            instances_max: limits.size(LimitKind::Instances),
            memory: 0,
            elements: 0,
            peak: 0,
            refused: None,
        }
    }

    /// Whether these are the limits it counts under.
    pub(crate) fn is_under(&self, limits: &Limits) -> bool {
        self.memory_max == limits.get(LimitKind::Memory).value
            && self.elements_max == limits.get(LimitKind::TableElements).value
            && self.instances_max == limits.size(LimitKind::Instances)
    }

    /// Goes on from what another held.
    pub(crate) fn take_over(&mut self, before: &Self) {
        (self.memory, self.elements, self.peak) = (before.memory, before.elements, before.peak);
    }

    /// The most that memories and tables held together, in bytes.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak
    }

    /// The first refusal: what was met, and what was asked for.
    pub(crate) fn refused(&self) -> Option<&(LimitKind, String)> {
        self.refused.as_ref()
    }

    fn held(&self) -> u64 {
        self.memory.saturating_add(self.elements.saturating_mul(ELEMENT_BYTES))
    }

    fn refuse(&mut self, kind: LimitKind, asked: u64) -> bool {
        if self.refused.is_none() {
            self.refused = Some((kind, format!("the plugin asked for {}", kind.show(asked))));
        }
        false
    }

    fn settle(&mut self) -> bool {
        self.peak = self.peak.max(self.held());
        true
    }
}

fn growth(current: usize, desired: usize) -> u64 {
    u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX)
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let grown = growth(current, desired);
        let asked = self.held().saturating_add(grown);
        if asked > self.memory_max {
            return Ok(self.refuse(LimitKind::Memory, asked));
        }
        // The module's own maximum refuses it; that is no limit of ours, and takes nothing.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(true);
        }
        self.memory = self.memory.saturating_add(grown);
        Ok(self.settle())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let grown = growth(current, desired);
        let elements = self.elements.saturating_add(grown);
        if elements > self.elements_max {
            return Ok(self.refuse(LimitKind::TableElements, elements));
        }
        let asked = self.held().saturating_add(grown.saturating_mul(ELEMENT_BYTES));
        if asked > self.memory_max {
            return Ok(self.refuse(LimitKind::Memory, asked));
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(true);
        }
        self.elements = elements;
        Ok(self.settle())
    }

    fn instances(&self) -> usize {
        self.instances_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn memories_are_summed() {
        let mut meter = Meter::new(&Limits::default());
        for _ in 0..2 {
            assert!(meter.memory_growing(0, 100 * MIB, None).unwrap());
        }
        assert!(!meter.memory_growing(0, 100 * MIB, None).unwrap());
        assert_eq!(
            meter.refused(),
            Some(&(LimitKind::Memory, "the plugin asked for 300 MiB".to_owned()))
        );
        assert_eq!(meter.peak_bytes(), 200 << 20);
    }

    #[test]
    fn tables_count_as_memory_too() {
        let mut limits = Limits::default();
        limits.set(LimitKind::Memory, 1 << 20).unwrap();
        let mut meter = Meter::new(&limits);
        assert!(meter.memory_growing(0, MIB - 65_536, None).unwrap());
        assert!(!meter.table_growing(0, 10_000, None).unwrap());
        assert_eq!(meter.refused().map(|refused| refused.0), Some(LimitKind::Memory));
    }

    #[test]
    fn a_modules_own_maximum_is_not_our_refusal() {
        let mut meter = Meter::new(&Limits::default());
        assert!(meter.memory_growing(0, 2 * MIB, Some(MIB)).unwrap());
        assert_eq!((meter.peak_bytes(), meter.refused()), (0, None));
    }
}
