//! What is kept of one attempt: its functions, the tree of calls, and where in it each sample was.
//!
//! All three are bounded, whatever a guest does. Knows neither wasm nor a file format.

use std::collections::HashMap;
use std::time::Duration;

use super::shown;

/// How much is kept of one attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Samples. Where there would be more, each second one goes, and from then on each second tick
    /// is sampled.
    pub(super) samples: usize,
    /// Nodes of the tree of calls.
    pub(super) paths: usize,
    /// Functions with a name of their own.
    pub(super) functions: usize,
}

/// A frame as it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Called<'a> {
    /// Which module of the plugin.
    pub(super) module: u32,
    /// Its number in there.
    pub(super) function: u32,
    /// The plugin's name for it.
    pub(super) name: Option<&'a str>,
}

/// What a frame is told as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Frame {
    /// A function of the plugin: its module, and its number in there.
    Function(u32, u32),
    /// All frames outside of those that are kept of one sample.
    OuterFrames,
    /// One of the functions beyond those that are kept.
    OtherFunction,
    /// A path of calls beyond those that are kept.
    OtherPath,
}

/// A frame under the one that called it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Node {
    /// By its place; `None`: a root.
    pub(super) caller: Option<u32>,
    /// What was called.
    pub(super) frame: Frame,
}

/// Where a guest was, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    /// Since the profile's start.
    pub(super) at: Duration,
    /// Its innermost frame; `None`: in none of the plugin.
    pub(super) path: Option<u32>,
}

/// The samples of one attempt.
#[derive(Debug)]
pub(super) struct Samples {
    bounds: Bounds,
    names: HashMap<(u32, u32), String>,
    nodes: Vec<Node>,
    places: HashMap<Node, u32>,
    taken: Vec<Sample>,
    ticks: u32,
    /// A power of two, so that samples stay as far from each other when each second one goes.
    stride: u32,
}

impl Samples {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            names: HashMap::new(),
            nodes: Vec::new(),
            places: HashMap::new(),
            taken: Vec::new(),
            ticks: 0,
            stride: 1,
        }
    }

    /// Counts a tick, and says whether it is sampled.
    pub(super) fn is_due(&mut self) -> bool {
        let due = self.ticks.is_multiple_of(self.stride);
        self.ticks = self.ticks.wrapping_add(1);
        due
    }

    /// Keeps a sample: its frames from the innermost on, and whether these are all.
    pub(super) fn add(&mut self, at: Duration, frames: &[Called<'_>], whole: bool) {
        let path = self.path(frames, whole);
        self.taken.push(Sample { at, path });
        if self.taken.len() >= self.bounds.samples {
            let mut stays = false;
            self.taken.retain(|_| {
                stays = !stays;
                stays
            });
            self.stride = self.stride.saturating_mul(2);
        }
    }

    /// The samples, by their time.
    pub(super) fn taken(&self) -> &[Sample] {
        &self.taken
    }

    /// Ticks that each sample stands for.
    pub(super) fn stride(&self) -> u32 {
        self.stride
    }

    /// The tree: a node's caller comes before it.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The functions that are kept: module, number, name.
    pub(super) fn functions(&self) -> impl Iterator<Item = (u32, u32, &str)> {
        self.names.iter().map(|((module, function), name)| (*module, *function, name.as_str()))
    }

    fn path(&mut self, frames: &[Called<'_>], whole: bool) -> Option<u32> {
        let outer = (!whole).then_some(Frame::OuterFrames);
        let mut path = None;
        for step in outer.into_iter().map(Ok).chain(frames.iter().rev().map(Err)) {
            let frame = step.unwrap_or_else(|called| self.frame(called));
            let node = Node { caller: path, frame };
            path = Some(match self.places.get(&node) {
                Some(place) => *place,
                None if self.nodes.len() < self.bounds.paths => self.insert(node),
                None => return Some(self.other_path()),
            });
        }
        path
    }

    fn frame(&mut self, called: &Called<'_>) -> Frame {
        let key = (called.module, called.function);
        if !self.names.contains_key(&key) {
            if self.names.len() >= self.bounds.functions {
                return Frame::OtherFunction;
            }
            self.names.insert(key, shown(called.name, called.function));
        }
        Frame::Function(called.module, called.function)
    }

    /// The one node that may be one too many.
    fn other_path(&mut self) -> u32 {
        let node = Node { caller: None, frame: Frame::OtherPath };
        self.places.get(&node).copied().unwrap_or_else(|| self.insert(node))
    }

    fn insert(&mut self, node: Node) -> u32 {
        let place = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(node);
        self.places.insert(node, place);
        place
    }
}
