//! A workload in one tree: what its threads share.

use super::checks::TreeChecks;
use super::flow_kinds::FlowMemory;
use super::need::Need;
use super::phases::Phases;
use super::tickets::{Kinds, Ticket, Tickets, Turns, below, chance, unit};
use crate::run::TreeRun;
use plan::generate::OperationKind;
use plan::{FileOrder, FileSelect, TreeLoad, TreeTask};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tree::Tree;

/// Files of a tree that several threads have open at a time, and how many (`fileio=(random,shared)`).
pub(crate) type SharedFiles = Arc<Mutex<HashMap<u32, u32>>>;

/// A workload in one tree.
#[derive(Debug)]
pub struct TreeLane {
    pub(crate) workload: usize,
    /// Number of the tree among targets and trees.
    pub(crate) place: usize,
    /// Its number among the run's lanes in trees.
    pub(crate) number: usize,
    pub(crate) tree: Arc<Tree>,
    /// Where copied and moved files go.
    pub(crate) destination: Option<Arc<Tree>>,
    pub(crate) load: TreeLoad,
    pub(crate) need: Need,
    pub(crate) kinds: Kinds,
    /// Due times; `None` at full speed.
    pub(crate) tickets: Option<Mutex<Tickets>>,
    pub(crate) turns: Option<Arc<Turns>>,
    /// Seed of its choices.
    pub(crate) seed: u64,
    /// Files or directories that were looked at.
    pub(crate) looked: AtomicU64,
    /// Operations at full speed.
    pub(crate) begun: AtomicU64,
    /// Threads that have not ended.
    pub(crate) left: AtomicU32,
    /// Threads that find nothing that they could use.
    pub(crate) stuck: AtomicU32,
    /// Its threads make or remove what others of them need: a flow that goes from file to file.
    pub(crate) helps_itself: bool,
    pub(crate) is_over: AtomicBool,
    /// Nothing is left that it could begin with; a thread may still be at something.
    pub(crate) is_used_up: AtomicBool,
    /// Nothing is due from here on, time of the run, ns.
    pub(crate) ends_ns: AtomicU64,
    /// The count of changes at which one of its threads found nothing that it could use, + 1.
    pub(crate) stuck_at: AtomicU64,
    /// Lanes that may give it something to use.
    pub(crate) helpers: Vec<usize>,
    /// Where each file was left (`stopafter=` of sequential access).
    pub(crate) left_at: Option<Box<[AtomicU64]>>,
    /// What flows remember of each file.
    pub(crate) flow: FlowMemory,
    pub(crate) shared: Option<SharedFiles>,
    /// Its data is proved.
    pub(crate) checks: Option<TreeChecks>,
    /// Directories may be removed meanwhile: they are taken where something is made in them.
    pub(crate) guards: [bool; 2],
    /// Only one thread works in its tree.
    pub(crate) is_alone: bool,
    pub(crate) phases: Phases,
    /// Address of a file's data among all of the tree: this times its number.
    pub(crate) file_stride: u64,
    /// A transfer that was to go past the page cache went through it.
    pub(crate) is_buffered: AtomicBool,
    pub(crate) notes: Mutex<Vec<String>>,
}

impl TreeLane {
    /// Number of its workload in the run, and of its tree among targets and trees.
    #[must_use]
    pub fn place(&self) -> (usize, usize) {
        (self.workload, self.place)
    }

    /// The tree in which it works.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What it does.
    #[must_use]
    pub fn load(&self) -> &TreeLoad {
        &self.load
    }

    /// Does it write data of ours (a copy writes what it read)?
    #[must_use]
    pub fn writes_data(&self) -> bool {
        match &self.load.task {
            TreeTask::Format(_) => true,
            TreeTask::Mixed { read } => *read < 1.0,
            TreeTask::One(kind) => *kind == OperationKind::Write,
            TreeTask::Flow(steps) => steps.iter().any(|step| step.op.moves_data() && step.op.changes_data()),
        }
    }

    /// Does what it writes carry stamps?
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.checks.is_some()
    }

    /// Does it make the tree?
    #[must_use]
    pub fn is_format(&self) -> bool {
        matches!(self.load.task, TreeTask::Format(_))
    }

    /// Does it move bytes between memory and files?
    #[must_use]
    pub fn moves_data(&self) -> bool {
        match &self.load.task {
            TreeTask::One(kind) => kind.moves_data(),
            TreeTask::Mixed { .. } | TreeTask::Format(_) => true,
            TreeTask::Flow(steps) => steps.iter().any(|step| step.op.moves_data()),
        }
    }

    /// Is all read that must be there, in place of its task?
    pub(crate) fn sweep(&self) -> Option<&TreeChecks> {
        self.checks.as_ref().filter(|checks| checks.sweeps)
    }

    /// What it has to say to its user, once.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does one operation after the other, as fast as it goes?
    pub(crate) fn is_closed(&self) -> bool {
        self.tickets.is_none()
    }

    /// Each file or directory once, and no more?
    pub(crate) fn is_once(&self) -> bool {
        let is_copy = matches!(self.load.task, TreeTask::One(OperationKind::Copy));
        self.load.select == FileSelect::Once || (is_copy && self.load.select == FileSelect::Sequential)
    }

    /// Which of `count` is next; `None`: each was.
    pub(crate) fn pick(&self, count: u32) -> Option<u32> {
        let looked = if self.is_alone {
            let looked = self.looked.load(Ordering::Relaxed);
            self.looked.store(looked.wrapping_add(1), Ordering::Relaxed);
            looked
        } else {
            self.looked.fetch_add(1, Ordering::Relaxed)
        };
        let count = u64::from(count).max(1);
        let at = match self.load.select {
            _ if self.is_once() => Some(looked).filter(|at| *at < count)?,
            FileSelect::Random => below(chance(self.seed, looked), count),
            FileSelect::Poisson { midpoint } | FileSelect::Skewed { midpoint } => {
                skewed(unit(chance(self.seed, looked)), count, midpoint)
            }
            _ => looked % count,
        };
        u32::try_from(at).ok()
    }

    /// By chance, so that not all need be looked at before it is known that there is none?
    pub(crate) fn is_random(&self) -> bool {
        !matches!(self.load.select, FileSelect::Sequential | FileSelect::Once)
    }

    /// The transfers of a file follow each other?
    pub(crate) fn is_sequential(&self) -> bool {
        matches!(self.load.access, FileOrder::Sequential | FileOrder::SequentialDelete)
    }

    /// Takes a file for the calling thread, or for one more of the threads that share it.
    pub(crate) fn take_file(&self, file: u32) -> bool {
        if self.is_alone {
            return self.tree.state().take_file_alone(file);
        }
        let Some(shared) = &self.shared else { return self.tree.state().take_file(file) };
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        match shared.get_mut(&file) {
            Some(count) => *count += 1,
            None if self.tree.state().take_file(file) => drop(shared.insert(file, 1)),
            None => return false,
        }
        true
    }

    /// Gives it back.
    pub(crate) fn release_file(&self, file: u32) {
        if self.is_alone {
            return self.tree.state().release_file_alone(file);
        }
        let Some(shared) = &self.shared else { return self.tree.state().release_file(file) };
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let count = shared.get_mut(&file).map_or(0, |count| {
            *count -= 1;
            *count
        });
        if count == 0 {
            shared.remove(&file);
            self.tree.state().release_file(file);
        }
    }

    /// When the next operation at a rate is due.
    fn next_ns(&self) -> Option<u64> {
        self.tickets.as_ref().map(|tickets| tickets.lock().unwrap_or_else(PoisonError::into_inner).next_ns())
    }

    /// At a rate, is something left that is due at `last_ns` or before?
    pub(crate) fn has_tickets(&self, last_ns: u64) -> bool {
        self.next_ns().is_some_and(|next_ns| next_ns <= last_ns)
    }

    /// The next operation at a rate.
    pub(crate) fn ticket(&self, last_ns: u64) -> Option<Ticket> {
        self.tickets.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).take(&self.kinds, last_ns)
    }

    /// It ends: what was due from `due_ns` on is not done.
    pub(crate) fn end(&self, due_ns: u64) {
        self.ends_ns.fetch_min(due_ns, Ordering::AcqRel);
        self.is_over.store(true, Ordering::Release);
        self.turns.iter().for_each(|turns| turns.leave(self.number));
    }

    /// Nothing is left that it could begin with: what is due at `due_ns` (at a rate, where that is known) is not done.
    pub(crate) fn used_up(&self, due_ns: Option<u64>) {
        self.is_used_up.store(true, Ordering::Release);
        self.ends_ns.fetch_min(due_ns.unwrap_or(u64::MAX), Ordering::AcqRel);
    }

    /// A thread has ended; says whether it was the last one.
    pub(crate) fn leave(&self) -> bool {
        let is_last = self.left.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            self.turns.iter().for_each(|turns| turns.leave(self.number));
            if let Some(next_ns) = self.next_ns().filter(|_| self.is_used_up.load(Ordering::Acquire)) {
                self.ends_ns.fetch_min(next_ns, Ordering::AcqRel);
            }
        }
        is_last
    }

    /// Something that its user is to know, once.
    pub fn note(&self, text: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&text) {
            notes.push(text);
        }
    }
}

/// Vdbench's choice: a third of the files are the mean of an exponential distribution, and what is behind the last one begins
/// at the first again.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
fn skewed(chance: f64, count: u64, midpoint: Option<f64>) -> u64 {
    let mean = count as f64 / midpoint.filter(|midpoint| *midpoint > 0.0).unwrap_or(3.0);
    (-chance.ln() * mean) as u64 % count
}

/// All lanes of a run in trees.
#[derive(Debug)]
pub struct TreeLanes {
    pub(crate) lanes: Vec<TreeLane>,
    pub(crate) run: Arc<dyn TreeRun>,
    /// What is due later than this, ns of the run, is not done.
    pub(crate) last_ns: u64,
    /// Files and directories that came or went.
    pub(crate) changes: AtomicU64,
}

impl TreeLanes {
    /// A thread of this lane found nothing that it could use, and nothing that another one has, when so many changes were
    /// counted: will there ever be something?
    pub(crate) fn is_hopeless(&self, lane: &TreeLane, changes: u64) -> bool {
        lane.stuck_at.store(changes + 1, Ordering::Release);
        let cannot_help = |other: &TreeLane| {
            other.left.load(Ordering::Acquire) == 0
                || other.is_over.load(Ordering::Acquire)
                || other.stuck_at.load(Ordering::Acquire) == changes + 1
        };
        lane.helpers.iter().all(|at| cannot_help(&self.lanes[*at])) && self.changes.load(Ordering::Acquire) == changes
    }
}
