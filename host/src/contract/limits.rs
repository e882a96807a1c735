//! The bounds of a call: what each is, its default, its ceiling and where a value came from.
//!
//! There is no unlimited: every kind always has a value, and no value passes its ceiling. Says
//! nothing of how a bound is enforced.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What a number counts, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Wasm fuel: about one unit an instruction, one a byte for bulk operations.
    Fuel,
    /// Milliseconds of wall-clock time.
    Milliseconds,
    /// Bytes.
    Bytes,
    /// A plain count.
    Count,
}

/// One kind of bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    /// Work an attempt may do, deterministic. Attack: an endless loop.
    Fuel,
    /// Wall-clock time of one attempt. Attack: a sleep, a blocked read.
    AttemptDeadline,
    /// Wall-clock time of the whole call, retries included.
    CallDeadline,
    /// Linear memories and tables of a store, summed. Attack: eight memories of 256 MiB each.
    Memory,
    /// Elements of all tables of a store, summed.
    TableElements,
    /// Core and component instances of a store.
    Instances,
    /// Raw bytes of a call's arguments.
    ArgumentBytes,
    /// Nesting of a call's arguments.
    ArgumentDepth,
    /// Bytes of output that the model is shown.
    OutputShown,
    /// Bytes of output that are accepted and kept.
    OutputKept,
    /// Bytes of guest stdout and stderr that are kept.
    Stdio,
    /// Bytes a guest may make the host lift in one host call, or in its result.
    Lifted,
    /// Component handles and WASI resources alive at once.
    Handles,
    /// Bytes of one `wasi:random` request. Attack: random bytes of 4 GiB.
    RandomBytes,
}

/// The fixed facts of a kind.
#[derive(Debug, Clone, Copy)]
pub struct LimitFacts {
    /// Its name in descriptors and messages.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// The value where nobody says another.
    pub default: u64,
    /// The highest value the operator can set.
    pub ceiling: u64,
    /// The setting that raises it, as an operator writes it; `None`: the default is the ceiling.
    pub setting: Option<&'static str>,
}

impl LimitKind {
    /// Every kind, in the order that tables show them.
    pub const ALL: [Self; 14] = [
        Self::Fuel,
        Self::AttemptDeadline,
        Self::CallDeadline,
        Self::Memory,
        Self::TableElements,
        Self::Instances,
        Self::ArgumentBytes,
        Self::ArgumentDepth,
        Self::OutputShown,
        Self::OutputKept,
        Self::Stdio,
        Self::Lifted,
        Self::Handles,
        Self::RandomBytes,
    ];

    /// Name, unit, default, ceiling and setting.
    pub fn facts(self) -> LimitFacts {
        let facts = |name, unit, default, ceiling, setting| LimitFacts {
            name,
            unit,
            default,
            ceiling,
            setting,
        };
        use Unit::{Bytes, Count, Fuel, Milliseconds};
        match self {
            Self::Fuel => facts("fuel", Fuel, 50_000_000_000, 1_000_000_000_000, Some("--fuel")),
            Self::AttemptDeadline => {
                facts("attempt-deadline", Milliseconds, 30_000, 900_000, Some("--timeout"))
            }
            Self::CallDeadline => {
                facts("call-deadline", Milliseconds, 120_000, 900_000, Some("--timeout"))
            }
            Self::Memory => facts("memory", Bytes, 256 * MIB, 4 * GIB, Some("--memory")),
            Self::TableElements => facts("table-elements", Count, 100_000, 100_000, None),
            Self::Instances => facts("instances", Count, 64, 64, None),
            Self::ArgumentBytes => {
                let setting = Some("`argument_bytes` under [limits] in belljar.toml");
                facts("argument-bytes", Bytes, MIB, 16 * MIB, setting)
            }
            Self::ArgumentDepth => {
                let setting = Some("`argument_depth` under [limits] in belljar.toml");
                facts("argument-depth", Count, 64, 128, setting)
            }
            Self::OutputShown => {
                facts("output-shown", Bytes, 256 * KIB, 64 * MIB, Some("--output"))
            }
            Self::OutputKept => {
                let setting = Some("`output_kept` under [limits] in belljar.toml");
                facts("output-kept", Bytes, 16 * MIB, 64 * MIB, setting)
            }
            Self::Stdio => {
                let setting = Some("`stdio` under [limits] in belljar.toml");
                facts("stdio", Bytes, 64 * KIB, MIB, setting)
            }
            Self::Lifted => facts("lifted", Bytes, 16 * MIB, 16 * MIB, None),
            Self::Handles => facts("handles", Count, 4096, 4096, None),
            Self::RandomBytes => {
                let setting = Some("`random_bytes` under [limits] in belljar.toml");
                facts("random-bytes", Bytes, 64 * KIB, MIB, setting)
            }
        }
    }

    /// `value` of this kind as a person reads it: `200 ms`, `256 MiB`, `2000000 fuel`.
    pub fn show(self, value: u64) -> String {
        match self.facts().unit {
            Unit::Fuel => format!("{value} fuel"),
            Unit::Milliseconds if value.is_multiple_of(1000) => format!("{} s", value / 1000),
            Unit::Milliseconds => format!("{value} ms"),
            Unit::Bytes => show_bytes(value),
            Unit::Count => value.to_string(),
        }
    }
}

impl Serialize for LimitKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.facts().name)
    }
}

fn show_bytes(bytes: u64) -> String {
    for (unit, size) in [("GiB", GIB), ("MiB", MIB), ("KiB", KIB)] {
        if bytes >= size && bytes.is_multiple_of(size) {
            return format!("{} {unit}", bytes / size);
        }
    }
    format!("{bytes} bytes")
}

/// Who set a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitOrigin {
    /// Nobody: it is belljar's own.
    Default,
    /// The operator, for this run or this tool.
    Operator,
    /// A tag of the plugin, which can only lower.
    Tag,
    /// The caller's request, which can only lower.
    Caller,
}

impl fmt::Display for LimitOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "belljar's default",
            Self::Operator => "the operator's setting",
            Self::Tag => "the plugin's own tag",
            Self::Caller => "the caller's request",
        })
    }
}

/// One bound in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// In the unit of its kind.
    pub value: u64,
    /// Who set it.
    pub origin: LimitOrigin,
}

/// A value above what may be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {name} limit can't be {asked}: its ceiling is {ceiling}")]
pub struct LimitError {
    name: &'static str,
    asked: String,
    ceiling: String,
}

/// Every bound of a call, each with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits([Limit; LimitKind::ALL.len()]);

impl Default for Limits {
    fn default() -> Self {
        Self(
            LimitKind::ALL
                .map(|kind| Limit { value: kind.facts().default, origin: LimitOrigin::Default }),
        )
    }
}

impl Limits {
    /// The bound of one kind.
    pub fn get(&self, kind: LimitKind) -> Limit {
        self.0
            .get(kind as usize)
            .copied()
            .unwrap_or(Limit { value: kind.facts().default, origin: LimitOrigin::Default })
    }

    fn put(&mut self, kind: LimitKind, limit: Limit) {
        if let Some(slot) = self.0.get_mut(kind as usize) {
            *slot = limit;
        }
    }

    /// Sets the operator's value, higher or lower.
    ///
    /// # Errors
    /// Above the kind's ceiling.
    pub fn set(&mut self, kind: LimitKind, value: u64) -> Result<(), LimitError> {
        let facts = kind.facts();
        if value > facts.ceiling {
            return Err(LimitError {
                name: facts.name,
                asked: kind.show(value),
                ceiling: kind.show(facts.ceiling),
            });
        }
        self.put(kind, Limit { value, origin: LimitOrigin::Operator });
        Ok(())
    }

    /// Sets another default, for tools of which belljar's own says too little; what the operator set
    /// stays. No default passes the kind's ceiling.
    pub fn default_to(&mut self, kind: LimitKind, value: u64) {
        if self.get(kind).origin == LimitOrigin::Default {
            let value = value.min(kind.facts().ceiling);
            self.put(kind, Limit { value, origin: LimitOrigin::Default });
        }
    }

    /// Lowers a bound on behalf of a tag or a caller; a higher wish changes nothing.
    pub fn lower(&mut self, kind: LimitKind, value: u64, origin: LimitOrigin) {
        if value < self.get(kind).value {
            self.put(kind, Limit { value, origin });
        }
    }

    /// The value of a kind that counts bytes or things, as this machine's size type.
    pub fn size(&self, kind: LimitKind) -> usize {
        usize::try_from(self.get(kind).value).unwrap_or(usize::MAX)
    }

    /// The value of a kind that counts milliseconds.
    pub fn duration(&self, kind: LimitKind) -> Duration {
        Duration::from_millis(self.get(kind).value)
    }

    /// One sentence for a limit that was met: what was allowed, who set it, what raises it.
    pub fn sentence(&self, kind: LimitKind, used: &str) -> String {
        let facts = kind.facts();
        let limit = self.get(kind);
        let raise = match facts.setting {
            Some(_) if limit.origin == LimitOrigin::Tag => {
                "; the plugin itself asked for no more".to_owned()
            }
            Some(setting) => format!("; raise it with {setting}"),
            None => String::new(),
        };
        format!(
            "{used}: the {} limit is {}, {}{raise}",
            facts.name,
            kind.show(limit.value),
            limit.origin
        )
    }
}

impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(LimitKind::ALL.map(|kind| (kind.facts().name, self.get(kind))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_sit_at_their_own_index() {
        for (index, kind) in LimitKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert!(kind.facts().default <= kind.facts().ceiling, "{kind:?}");
        }
    }

    #[test]
    fn a_tag_only_lowers() {
        let mut limits = Limits::default();
        limits.lower(LimitKind::Fuel, u64::MAX, LimitOrigin::Tag);
        assert_eq!(limits.get(LimitKind::Fuel).origin, LimitOrigin::Default);
        limits.lower(LimitKind::Fuel, 10, LimitOrigin::Tag);
        assert_eq!(limits.get(LimitKind::Fuel), Limit { value: 10, origin: LimitOrigin::Tag });
    }

    #[test]
    fn another_default_neither_passes_a_ceiling_nor_undoes_what_was_set() {
        let mut limits = Limits::default();
        limits.set(LimitKind::CallDeadline, 5_000).unwrap();
        for kind in [LimitKind::AttemptDeadline, LimitKind::CallDeadline] {
            limits.default_to(kind, u64::MAX);
        }
        let default = Limit { value: 900_000, origin: LimitOrigin::Default };
        assert_eq!(limits.get(LimitKind::AttemptDeadline), default);
        assert_eq!(limits.get(LimitKind::CallDeadline).value, 5_000);
    }

    #[test]
    fn nothing_passes_a_ceiling() {
        let mut limits = Limits::default();
        let error = limits.set(LimitKind::Memory, 5 * GIB).unwrap_err();
        assert_eq!(error.to_string(), "the memory limit can't be 5 GiB: its ceiling is 4 GiB");
        assert_eq!(limits, Limits::default());
    }

    #[test]
    fn a_met_limit_says_what_raises_it() {
        let sentence = Limits::default().sentence(LimitKind::Memory, "asked for 300 MiB");
        assert_eq!(
            sentence,
            "asked for 300 MiB: the memory limit is 256 MiB, belljar's default; raise it with \
             --memory"
        );
    }
}
