//! Says which calls may run beside others, and cuts a batch into runs.
//!
//! Runs nothing, and looks nothing up: it judges a descriptor that somebody else found.

use std::ops::Range;

use globset::GlobSet;

use super::settings::{EngineSettings, SettingsError, tool_globs};
use crate::contract::descriptor::{ToolDescriptor, ToolSource};

/// Whether a call may run beside others of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Safety {
    /// It may.
    Parallel,
    /// It runs alone.
    Sequential,
}

/// Calls of a batch that follow each other and are of one safety.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// Theirs.
    pub(crate) safety: Safety,
    /// Their places.
    pub(crate) places: Range<usize>,
}

/// Cuts a batch into maximal runs, in its own order (B10).
pub(crate) fn cut(batch: &[Safety]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (place, &safety) in batch.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.safety == safety => run.places.end = place + 1,
            _ => runs.push(Run { safety, places: place..place + 1 }),
        }
    }
    runs
}

/// The operator's word on which tools may run beside others.
#[derive(Debug, Clone)]
pub(crate) struct ParallelRules {
    unsafe_tools: GlobSet,
    parallel_tools: GlobSet,
}

impl ParallelRules {
    /// Compiles the settings' two lists of tools.
    ///
    /// # Errors
    /// A list that is too long, or a pattern that is no glob.
    pub(crate) fn new(settings: &EngineSettings) -> Result<Self, SettingsError> {
        Ok(Self {
            unsafe_tools: tool_globs("unsafe_tools", &settings.unsafe_tools)?,
            parallel_tools: tool_globs("parallel_tools", &settings.parallel_tools)?,
        })
    }

    /// Whether a call of `tool` may run beside others; `None` is a call that runs nothing, because
    /// its tool is not known.
    ///
    /// A tool that the operator called unsafe never may, nor one that says so itself. Others may
    /// where they are proven read-only, where the operator names them, and where a builtin keeps
    /// equal keys apart by `@locks`: belljar vouches for its own tools, while another plugin's tag
    /// is a claim. Unsafe tools are also known by their wire names, since a list that is read too
    /// narrowly would let two of them run at once.
    pub(crate) fn safety(&self, tool: Option<&ToolDescriptor>) -> Safety {
        let Some(tool) = tool else { return Safety::Parallel };
        let id = tool.id.to_string();
        let named_unsafe =
            self.unsafe_tools.is_match(&id) || self.unsafe_tools.is_match(&tool.wire_name);
        if named_unsafe || tool.parallel.sequential {
            return Safety::Sequential;
        }
        let keeps_apart = tool.source == ToolSource::Builtin && !tool.parallel.locks.is_empty();
        let safe =
            tool.effects.read_only.is_proven() || keeps_apart || self.parallel_tools.is_match(&id);
        if safe { Safety::Parallel } else { Safety::Sequential }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Safety::{Parallel, Sequential};
    use super::*;
    use crate::contract::descriptor::example;
    use crate::contract::effects::Effect;

    fn rules(unsafe_tools: &[&str], parallel_tools: &[&str]) -> ParallelRules {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        ParallelRules::new(&EngineSettings {
            unsafe_tools: owned(unsafe_tools),
            parallel_tools: owned(parallel_tools),
            ..EngineSettings::default()
        })
        .unwrap()
    }

    fn writer() -> ToolDescriptor {
        example("files.write", Effect::assumed(false))
    }

    fn reader() -> ToolDescriptor {
        example("files.read", Effect::proven(true))
    }

    #[test]
    fn b10_a_batch_is_cut_into_maximal_runs_in_order() {
        let batch = [Parallel, Parallel, Sequential, Parallel, Sequential, Sequential];
        let runs = cut(&batch).into_iter().map(|it| (it.safety, it.places));
        let wanted = [(Parallel, 0..2), (Sequential, 2..3), (Parallel, 3..4), (Sequential, 4..6)];
        assert_eq!(runs.collect::<Vec<_>>(), wanted);
        assert!(cut(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn b10_runs_cover_a_batch_once_and_neighbours_differ(
            batch in proptest::collection::vec(
                prop_oneof![Just(Parallel), Just(Sequential)], 0..40,
            ),
        ) {
            let runs = cut(&batch);
            let places: Vec<usize> = runs.iter().flat_map(|run| run.places.clone()).collect();
            prop_assert_eq!(places, (0..batch.len()).collect::<Vec<_>>());
            for run in &runs {
                prop_assert!(batch[run.places.clone()].iter().all(|it| *it == run.safety));
            }
            prop_assert!(runs.windows(2).all(|pair| pair[0].safety != pair[1].safety));
        }
    }

    #[test]
    fn t24_only_what_is_proven_read_only_runs_beside_others_by_itself() {
        let rules = rules(&[], &[]);
        assert_eq!(rules.safety(Some(&reader())), Parallel);
        assert_eq!(rules.safety(Some(&writer())), Sequential);
        let claims = example("files.read", Effect::claimed(true));
        assert_eq!(rules.safety(Some(&claims)), Sequential);
    }

    #[test]
    fn b3_unsafe_tools_win_over_everything() {
        let mut builtin = reader();
        builtin.source = ToolSource::Builtin;
        builtin.parallel.locks = vec!["path".to_owned()];
        for list in ["files.read", "files.*", "files_read", "*"] {
            assert_eq!(rules(&[list], &["*"]).safety(Some(&builtin)), Sequential, "{list}");
        }
        assert_eq!(rules(&["other.*"], &[]).safety(Some(&builtin)), Parallel);
    }

    #[test]
    fn a_tool_tagged_sequential_runs_alone_whoever_names_it() {
        let mut tool = reader();
        tool.parallel.sequential = true;
        assert_eq!(rules(&[], &["*"]).safety(Some(&tool)), Sequential);
    }

    #[test]
    fn an_operator_may_name_tools_that_run_beside_others() {
        assert_eq!(rules(&[], &["files.*"]).safety(Some(&writer())), Parallel);
        assert_eq!(rules(&[], &["files.r*"]).safety(Some(&writer())), Sequential);
    }

    #[test]
    fn locks_are_believed_of_builtins_alone() {
        let mut tool = writer();
        tool.parallel.locks = vec!["path".to_owned()];
        assert_eq!(rules(&[], &[]).safety(Some(&tool)), Sequential);
        tool.source = ToolSource::Builtin;
        assert_eq!(rules(&[], &[]).safety(Some(&tool)), Parallel);
    }

    #[test]
    fn a_call_that_runs_nothing_is_parallel_safe() {
        assert_eq!(rules(&["*"], &[]).safety(None), Parallel);
    }
}
