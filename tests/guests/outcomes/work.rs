//! Rows on time and work: what must not outlive its deadline or its fuel.

use belljar::contract::limits::LimitKind::{AttemptDeadline, Fuel};
use belljar::contract::outcome::Outcome::{OutOfFuel, TimedOut};

use super::End::Call;
use super::Guest::{Rust, Wat};
use super::{Folders, Row};

const QUICK_MS: u64 = 200;
const LITTLE_FUEL: u64 = 1_000_000;

const fn late(guest: super::Guest, tool: &'static str, says: &'static str) -> Row {
    Row::new(guest, tool, Call(TimedOut), says).meets_at(AttemptDeadline, QUICK_MS)
}

const fn spent(guest: super::Guest, tool: &'static str, says: &'static str) -> Row {
    Row::new(guest, tool, Call(OutOfFuel), says).meets_at(Fuel, LITTLE_FUEL)
}

pub(super) const ROWS: &[Row] = &[
    late(Wat("loops"), "spin", "an endless loop in an export"),
    spent(Wat("loops"), "spin", "the same, with little fuel"),
    late(Wat("loops"), "fill", "an endless loop of 60 MiB memory fills"),
    spent(Wat("loops"), "fill", "the same, with little fuel"),
    late(Wat("loops"), "spin-after-return", "an endless loop after the result was handed over"),
    spent(Wat("loops"), "spin-after-return", "the same, with little fuel"),
    late(Wat("loop-at-start"), "run", "an endless loop in a start function"),
    spent(Wat("loop-at-start"), "run", "the same, with little fuel"),
    late(Wat("loop-in-realloc"), "take", "an endless loop where the arguments are to be put")
        .with(r#"{"text":"x"}"#),
    spent(Wat("loop-in-realloc"), "take", "the same, with little fuel").with(r#"{"text":"x"}"#),
    late(Wat("loop-in-destructor"), "run", "an endless loop in the destructor of a resource"),
    spent(Wat("loop-in-destructor"), "run", "the same, with little fuel"),
    late(Wat("sleeps"), "naps", "an endless loop of short sleeps"),
    late(Wat("sleeps"), "hour", "a sleep of an hour"),
    late(Wat("sleeps"), "for-ever", "a sleep of 2^64-1 nanoseconds"),
    late(Wat("flood-stdout"), "endless", "an endless flood of standard output"),
    late(Rust("hostile"), "sleep", "a sleep of an hour by Rust's own `thread::sleep`")
        .with(r#"{"milliseconds":3600000}"#),
    late(Rust("hostile"), "sleep", "the same in a tool that holds a granted folder")
        .with(r#"{"milliseconds":3600000}"#)
        .granted(Folders::ReadWrite),
];
