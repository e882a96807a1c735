//! From samples to the Firefox Profiler's processed format.
//!
//! Each attempt is a process of its own with one thread, so that the viewer keeps them apart. Reads
//! what was kept and samples nothing.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use fxprof_processed_profile::debugid::DebugId;
use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, LibraryHandle, LibraryInfo,
    MarkerTiming, Profile, ReferenceTimestamp, SamplingInterval, StackHandle, StaticSchemaMarker,
    StaticSchemaMarkerField, StringHandle, Symbol, SymbolTable, ThreadHandle, Timestamp,
};

use super::Attempted;
use super::names::NAME_MAX_LEN;
use super::samples::{self, Samples};
use crate::contract::escape::cut;
use crate::sandbox::ticker::TICK;

/// Ticks without a sample from which on the guest is taken not to have run.
const GAP_TICKS: u32 = 4;

/// A profile on its way out.
pub(super) struct Written {
    profile: Profile,
    name: String,
}

impl Written {
    pub(super) fn new(name: &str, started_since_1970: Duration) -> Self {
        let name = cut(name, NAME_MAX_LEN).to_owned();
        let started = ReferenceTimestamp::from_duration_since_unix_epoch(started_since_1970);
        let mut profile = Profile::new(&name, started, SamplingInterval::from(TICK));
        // Else the viewer would ask a server for the names of these "libraries".
        profile.set_symbolicated(true);
        Self { profile, name }
    }

    /// Adds an attempt, which goes on until `now` where it hasn't ended.
    pub(super) fn add(&mut self, attempted: &Attempted, now: Duration) {
        let number = attempted.number;
        let name = match number {
            0 | 1 => self.name.clone(),
            _ => format!("{}, attempt {number}", self.name),
        };
        let (began, ended) = (time(attempted.began), attempted.ended.unwrap_or(now));
        let process = self.profile.add_process(&name, number, began);
        let thread = self.profile.add_thread(process, number, began, true);
        self.profile.set_process_end_time(process, time(ended));
        self.profile.set_thread_end_time(thread, time(ended));
        self.profile.add_initial_visible_thread(thread);
        self.profile.set_thread_show_markers_in_timeline(thread, true);
        self.add_phase(thread, "instantiating", attempted.began, attempted.called.unwrap_or(ended));
        if let Some(called) = attempted.called {
            self.add_phase(thread, "calling", called, ended);
        }
        let paths = self.add_paths(thread, attempted);
        self.add_samples(thread, &attempted.samples, &paths, (attempted.began, ended));
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Those of `to`.
    pub(super) fn write(&self, to: impl Write) -> io::Result<()> {
        serde_json::to_writer(to, &self.profile).map_err(io::Error::from)
    }

    fn add_phase(&mut self, thread: ThreadHandle, name: &str, from: Duration, to: Duration) {
        let name = self.profile.intern_string(name);
        let timing = MarkerTiming::Interval(time(from), time(to));
        self.profile.add_marker(thread, timing, Phase(name));
    }

    /// Adds the tree of calls. Gives the viewer's place of each node.
    fn add_paths(&mut self, thread: ThreadHandle, attempted: &Attempted) -> Vec<StackHandle> {
        let modules = self.add_modules(attempted);
        let mut paths: Vec<StackHandle> = Vec::new();
        for node in attempted.samples.nodes() {
            let frame = match node.frame {
                samples::Frame::Function(module, function) => modules
                    .get(&module)
                    .map(|it| Frame::RelativeAddressFromInstructionPointer(*it, function)),
                _ => None,
            };
            let frame = frame.unwrap_or_else(|| {
                Frame::Label(self.profile.intern_string(match node.frame {
                    samples::Frame::OuterFrames => "(outer frames)",
                    samples::Frame::OtherPath => "(other paths of calls)",
                    _ => "(other functions)",
                }))
            });
            let category_pair = CategoryHandle::OTHER.into();
            let frame = FrameInfo { frame, category_pair, flags: FrameFlags::empty() };
            let frame = self.profile.intern_frame(thread, frame);
            let caller = node.caller.and_then(|it| paths.get(it as usize)).copied();
            paths.push(self.profile.intern_stack(thread, caller, frame));
        }
        paths
    }

    /// Adds the modules that samples are in. Addresses in one are the numbers of its functions.
    fn add_modules(&mut self, attempted: &Attempted) -> HashMap<u32, LibraryHandle> {
        let mut symbols: HashMap<u32, Vec<Symbol>> = HashMap::new();
        for (module, function, name) in attempted.samples.functions() {
            let symbol = Symbol { address: function, size: Some(1), name: name.to_owned() };
            symbols.entry(module).or_default().push(symbol);
        }
        let named = |module: u32| attempted.modules.get(module as usize).and_then(|it| it.name());
        let added = symbols.into_iter().map(|(module, symbols)| {
            let name = cut(named(module).unwrap_or("a module without a name"), NAME_MAX_LEN);
            let library = LibraryInfo {
                name: name.to_owned(),
                debug_name: name.to_owned(),
                path: String::new(),
                debug_path: String::new(),
                debug_id: DebugId::nil(),
                code_id: None,
                arch: None,
                symbol_table: Some(Arc::new(SymbolTable::new(symbols))),
            };
            (module, self.profile.add_lib(library))
        });
        added.collect()
    }

    fn add_samples(
        &mut self,
        thread: ThreadHandle,
        samples: &Samples,
        paths: &[StackHandle],
        (began, ended): (Duration, Duration),
    ) {
        let stride = samples.stride();
        let (most, weight) = (TICK * stride, i32::try_from(stride).unwrap_or(i32::MAX));
        let mut before = began;
        let mut add = |at: Duration, stack, used: Duration, weight| {
            self.profile.add_sample(thread, time(at), stack, CpuDelta::from(used), weight);
        };
        for sample in samples.taken() {
            let since = sample.at.saturating_sub(before);
            // Without it the viewer would draw the last stack until here.
            if since > most * GAP_TICKS {
                add(before + most, None, Duration::ZERO, 0);
            }
            let stack = sample.path.and_then(|it| paths.get(it as usize)).copied();
            add(sample.at, stack, since.min(most), weight);
            before = sample.at;
        }
        if ended.saturating_sub(before) > most * GAP_TICKS {
            add(before + most, None, Duration::ZERO, 0);
        }
    }
}

fn time(since_start: Duration) -> Timestamp {
    let nanos = u64::try_from(since_start.as_nanos()).unwrap_or(u64::MAX);
    Timestamp::from_nanos_since_reference(nanos)
}

/// A part of an attempt, by its name.
struct Phase(StringHandle);

impl StaticSchemaMarker for Phase {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "phase";
    const FIELDS: &'static [StaticSchemaMarkerField] = &[];
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");

    fn name(&self, _profile: &mut Profile) -> StringHandle {
        self.0
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _field_index: u32) -> StringHandle {
        self.0
    }

    fn number_field_value(&self, _field_index: u32) -> f64 {
        0.0
    }
}
