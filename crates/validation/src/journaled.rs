//! The journal of an execution, with all its targets.

use crate::Validation;
use crate::journal::TargetJournal;
use crate::target::TargetValidation;
use crate::tree::{TreeSource, TreeValidation};
use data_journal::{FileSource, Journal, JournalError, JournalTarget, StateSource};
use std::sync::Arc;

impl TargetValidation {
    /// What the header of a journal says of it. `name`: as the user knows it.
    #[must_use]
    pub fn journal_target(&self, name: &str, is_synchronous: bool, is_trimmed: bool) -> JournalTarget {
        let rules = self.rules();
        JournalTarget {
            name: name.to_string(),
            device: rules.device,
            size_bytes: rules.size_bytes,
            block_bytes: rules.block_bytes,
            runs: rules.runs.iter().skip(1).copied().collect(),
            is_synchronous,
            is_trimmed,
            tree: None,
        }
    }
}

/// A target's blocks, for a checkpoint.
struct Source<'a> {
    target: u16,
    validation: &'a TargetValidation,
}

impl StateSource for Source<'_> {
    fn target(&self) -> u16 {
        self.target
    }

    fn sequence(&self) -> u64 {
        self.validation.next_sequence()
    }

    fn blocks(&self) -> u64 {
        self.validation.states().blocks()
    }

    fn states(&self, first: u64, count: usize, states: &mut Vec<u16>) {
        self.validation.states().codes(first, count, states);
        // What a session before has left can only be said by its own records, unless it is a write.
        for (state, block) in states.iter_mut().zip(first..) {
            let floor = self.validation.floor(block);
            if floor.is_some_and(|floor| floor.allows_zeroes()) {
                *state = 0;
            }
        }
    }
}

impl Validation {
    fn journals(&self) -> impl Iterator<Item = (&TargetJournal, &Arc<TargetValidation>)> {
        self.each().filter_map(|target| Some((target.journal()?, target)))
    }

    /// Of trees.
    fn tree_journals(&self) -> impl Iterator<Item = (&TargetJournal, &Arc<TreeValidation>)> {
        self.trees.iter().flatten().filter_map(|tree| Some((tree.journal()?, tree)))
    }

    /// The journal, where there is one.
    #[must_use]
    pub fn journal(&self) -> Option<&Arc<Journal>> {
        let of_targets = self.journals().map(|(journal, _)| &journal.journal);
        of_targets.chain(self.tree_journals().map(|(journal, _)| &journal.journal)).next()
    }

    /// Why the journal stopped; `None`: it did not, or there is none.
    #[must_use]
    pub fn journal_failure(&self) -> Option<Arc<JournalError>> {
        self.journal()?.failure()
    }

    /// Makes a checkpoint of the journal where it has grown enough, or where `is_due`. Gives the targets and trees (by number among both)
    /// that have to be flushed now, so that what came before it can be removed: of each target, [`TargetValidation::flushing`], the flush,
    /// [`TargetValidation::flushed`], of each tree [`TreeValidation::flush_all`].
    ///
    /// # Errors
    /// Its new segment cannot be made.
    pub fn checkpoint(&self, is_due: bool) -> Result<Vec<usize>, JournalError> {
        let Some(journal) = self.journal() else { return Ok(Vec::new()) };
        if is_due || journal.wants_checkpoint() {
            let sources: Vec<Source<'_>> =
                self.journals().map(|(of, validation)| Source { target: of.target, validation }).collect();
            let sources: Vec<&dyn StateSource> = sources.iter().map(|source| source as &dyn StateSource).collect();
            let trees = self.tree_journals().map(|(of, tree)| TreeSource { target: of.target, tree });
            let trees: Vec<TreeSource<'_>> = trees.collect();
            let trees: Vec<&dyn FileSource> = trees.iter().map(|source| source as &dyn FileSource).collect();
            journal.checkpoint_of(&sources, &trees)?;
        }
        let is_waiting = journal.awaits_flush();
        Ok(self.all_cells().filter(|_| is_waiting).map(|target| target.rules().target).collect())
    }

    /// The execution is over, and nothing is under way. Where operations were given up, the journal says that it just stops.
    ///
    /// # Errors
    /// The journal's disk failed, now or before.
    pub fn end_journal(&self) -> Result<(), Arc<JournalError>> {
        let Some(journal) = self.journal() else { return Ok(()) };
        for (of, target) in self.journals() {
            target.states().each_unsure(|block| journal.failed(of.target, (block, 1)));
        }
        self.tree_journals().for_each(|(_, tree)| tree.tell_unsure());
        if self.all_cells().any(TargetValidation::gave_up) { journal.sync() } else { journal.end() }
    }
}
