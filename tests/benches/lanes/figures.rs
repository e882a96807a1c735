//! What was measured: each figure by its name, one value a round.
//!
//! Knows no lane and prints nothing.

use std::time::Duration;

/// One figure.
#[derive(Debug)]
pub(crate) struct Figure {
    /// The part of the run that it belongs to.
    pub(crate) part: &'static str,
    /// What it is, by which goals find it.
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// In the order of the rounds.
    pub(crate) rounds: Vec<f64>,
}

impl Figure {
    /// The middle of the rounds.
    pub(crate) fn median(&self) -> f64 {
        let sorted = self.sorted();
        let half = sorted.len() / 2;
        let upper = sorted.get(half).copied().unwrap_or(f64::NAN);
        if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[half - 1], upper) }
    }

    /// The least and the greatest of the rounds.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let sorted = self.sorted();
        let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
        (end(sorted.first()), end(sorted.last()))
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

/// All of a run.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    all: Vec<Figure>,
    missing: Vec<(String, String)>,
}

impl Figures {
    /// Takes the value of one round.
    pub(crate) fn add(
        &mut self,
        part: &'static str,
        name: impl Into<String>,
        unit: &'static str,
        value: f64,
    ) {
        let name = name.into();
        match self.all.iter_mut().find(|figure| figure.name == name) {
            Some(figure) => figure.rounds.push(value),
            None => self.all.push(Figure { part, name, unit, rounds: vec![value] }),
        }
    }

    /// Says why a figure isn't there.
    pub(crate) fn miss(&mut self, name: impl Into<String>, why: impl Into<String>) {
        self.missing.push((name.into(), why.into()));
    }

    /// Takes back what was measured of a part that then failed.
    pub(crate) fn fail(&mut self, part: &str) {
        self.all.retain(|figure| figure.part != part);
    }

    /// A figure by its name.
    pub(crate) fn get(&self, name: &str) -> Option<&Figure> {
        self.all.iter().find(|figure| figure.name == name)
    }

    /// Makes a figure of two others, round by round: what drifts within a run drifts in both.
    pub(crate) fn combine(
        &mut self,
        part: &'static str,
        name: impl Into<String>,
        unit: &'static str,
        (left, right): (&str, &str),
        with: fn(f64, f64) -> f64,
    ) {
        let (Some(left), Some(right)) = (self.get(left), self.get(right)) else { return };
        let pairs = left.rounds.iter().zip(&right.rounds);
        let values: Vec<f64> = pairs.map(|(left, right)| with(*left, *right)).collect();
        let name = name.into();
        for value in values {
            self.add(part, name.clone(), unit, value);
        }
    }

    /// All figures, part by part.
    pub(crate) fn all(&self) -> &[Figure] {
        &self.all
    }

    /// What isn't there, each with its reason.
    pub(crate) fn missing(&self) -> &[(String, String)] {
        &self.missing
    }
}

/// How long the calls of one round took, sorted.
#[derive(Debug)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// In microseconds; `per_mille` as in 990 for p99.
    pub(crate) fn us(&self, per_mille: usize) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get(last * per_mille / 1000).copied().unwrap_or_default().as_secs_f64() * 1e6
    }
}

/// What is left of the first without the second.
pub(crate) fn less(left: f64, right: f64) -> f64 {
    left - right
}

/// How often the second goes into the first.
pub(crate) fn over(left: f64, right: f64) -> f64 {
    left / right
}
