//! Why a component that may be a good one isn't compiled.

use super::child::MEMORY_BYTES;

/// What stopped the compiler.
#[derive(Debug, thiserror::Error)]
pub enum CompilingError {
    /// No compiler.
    #[error("no compiler can be started: {0}")]
    Start(String),
    /// Another build of belljar.
    #[error(
        "the compile program is another build: its code is for engine `{found}`, and this belljar \
         needs `{wanted}`"
    )]
    OtherEngine {
        /// What this process runs.
        wanted: String,
        /// What the program would compile for.
        found: String,
    },
    /// The wall clock.
    #[error("compiling it took longer than {0} s; its compiler was ended")]
    Wall(u64),
    /// The processor.
    #[error("compiling it took more than {0} s of processor time; its compiler was ended")]
    Cpu(u64),
    /// It gave up itself. Nothing tells a failed allocation from a fault that aborts.
    #[error(
        "its compiler aborted: it wanted more than the {0} MiB of memory that it may use, or met a \
         fault of its own"
    )]
    Aborted(u64),
    /// It gave up in words of its own.
    #[error("its compiler panicked: {0}")]
    Panicked(String),
    /// More code than is taken.
    #[error("it compiles to more than {0} MiB of code")]
    Code(u64),
    /// Ended in a way that nobody planned.
    #[error("its compiler ended without an answer: {0}")]
    Lost(String),
}

impl CompilingError {
    /// Whether the compiler is known to be at fault and not the component: another part of belljar is
    /// missing, or failed in a way that no component may bring about.
    pub(crate) fn is_the_compilers(&self) -> bool {
        match self {
            Self::Start(_) | Self::OtherEngine { .. } | Self::Panicked(_) => true,
            // Less than what it may have by belljar is the machine's bound.
            Self::Aborted(mebibytes) => *mebibytes < MEMORY_BYTES >> 20,
            Self::Wall(_) | Self::Cpu(_) | Self::Code(_) | Self::Lost(_) => false,
        }
    }
}
