//! A thread that works in a tree: when it does the next operation, and what is noted of it.

use super::below::{Kept, in_directory};
use super::flow_kinds::{self, Recent};
use super::lane::{TreeLane, TreeLanes};
use super::need::Need;
use super::tickets::{Ticket, chance};
use crate::log::ThreadLog;
use crate::run::{Begun, Failed, TreeStats};
use plan::TreeTask;
use plan::generate::{ContentGenerator, Operation, OperationKind};
use quantity::clock;
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tree::Tree;
use validation::WriteHold;

/// Longest sleep before a due time: how late a thread may notice that it is to stop.
pub(crate) const NAP_NS: u64 = 20_000_000;

/// Pause where there is nothing to use, and where everything fails.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// So many failures one behind the other, and it pauses.
pub(crate) const FAILURES_IN_A_ROW: u32 = 64;

/// Why a call, or what an operation is made of, failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// Negative errno, or how few bytes it moved.
    pub(crate) result: i32,
    /// The step that it was, where it was not the operation itself.
    pub(crate) step: Option<OperationKind>,
    /// In the tree where copied and moved files go.
    pub(crate) is_elsewhere: bool,
}

impl Failure {
    pub(crate) fn of_step(self, step: OperationKind) -> Self {
        Self { step: Some(step), ..self }
    }

    pub(crate) fn elsewhere(self) -> Self {
        Self { is_elsewhere: true, ..self }
    }

    pub(crate) fn is(self, errno: Errno) -> bool {
        self.result == -errno.raw_os_error()
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self { result: -errno.raw_os_error(), step: None, is_elsewhere: false }
    }
}

/// What became of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Performed {
    /// It moved so many bytes.
    Done(u64),
    Failed(Failure),
    /// The run has no room for it: the thread ends.
    Refused,
}

/// Direct transfers are aligned to this in memory.
const MEMORY_ALIGN: usize = 4096;

/// Where a thread stands in its run.
#[derive(Clone, Copy)]
pub struct ThreadPlace<'a> {
    /// Where it writes down what it does.
    pub log: &'a ThreadLog,
    /// To which that is added.
    pub stats: &'a dyn TreeStats,
    /// Its place among those that note there.
    pub slot: usize,
    /// When the run began, ns of the clock.
    pub started_ns: u64,
    /// Its number in the run.
    pub thread: u64,
    /// Its working directory is that of no other thread.
    pub has_own_directory: bool,
}

impl std::fmt::Debug for ThreadPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadPlace").field("slot", &self.slot).field("thread", &self.thread).finish_non_exhaustive()
    }
}

/// One thread.
pub(crate) struct TreeThread<'a> {
    pub(crate) all: &'a TreeLanes,
    pub(crate) lane: &'a TreeLane,
    /// Where it writes down what it does, and the statistics to which that is added.
    pub(crate) log: &'a ThreadLog,
    pub(crate) stats: &'a dyn TreeStats,
    /// Its place among the operations under way of its statistics.
    pub(crate) slot: usize,
    pub(crate) started_ns: u64,
    /// A stamped write that is prepared or under way.
    pub(crate) hold: Option<WriteHold>,
    /// When it became free, time of the run, ns.
    pub(crate) free_ns: u64,
    /// Aligned memory for the largest transfer.
    pub(crate) memory: Vec<u8>,
    pub(crate) shift: usize,
    pub(crate) content: Option<ContentGenerator>,
    /// Of what it uses now, relative to the anchor.
    pub(crate) path: Vec<u8>,
    pub(crate) failures_in_a_row: u32,
    /// Transfers so far: their sizes are chosen by it.
    pub(crate) transfers: u64,
    pub(crate) seed: u64,
    /// The directory in which it worked last.
    pub(crate) kept: Kept,
    /// What it looks for.
    pub(crate) need: Need,
    /// Another name in the same directory.
    pub(crate) second: Vec<u8>,
    pub(crate) recent: Recent,
    /// A reading of the clock since when nothing was done that takes time.
    pub(crate) stamp_ns: Option<u64>,
    /// The run is to end.
    ending: &'a AtomicBool,
    /// What is asked for before this belongs to the run, whatever it is; 0 where more than time limits it.
    granted_ns: u64,
    /// Where in the path the last name begins, and the directory whose path is before that.
    pub(crate) name_at: usize,
    above: Option<u32>,
}

impl<'a> TreeThread<'a> {
    /// A thread of a lane that begins now.
    pub(crate) fn new(
        all: &'a TreeLanes,
        lane: &'a TreeLane,
        place: ThreadPlace<'a>,
        content: Option<ContentGenerator>,
    ) -> Self {
        let most = match &lane.load.task {
            TreeTask::Flow(steps) => flow_kinds::memory(steps, &lane.load.transfer),
            _ if lane.moves_data() => usize::try_from(lane.load.transfer.max_bytes()).unwrap_or(0),
            _ => 0,
        };
        let memory = if most > 0 { vec![0; most + MEMORY_ALIGN] } else { Vec::new() };
        let shift = if most > 0 { memory.as_ptr().align_offset(MEMORY_ALIGN) } else { 0 };
        let (path, seed) = (Vec::with_capacity(256), chance(lane.seed ^ 0x7468_7264, place.thread));
        let ThreadPlace { log, stats, slot, started_ns, .. } = place;
        let granted_ns = if all.run.is_limited() { 0 } else { all.run.end_ns().unwrap_or(u64::MAX) };
        let (free_ns, failures_in_a_row, transfers) = (0, 0, 0);
        let kept = Kept { directory: None, may_enter: place.has_own_directory };
        Self {
            all,
            lane,
            log,
            stats,
            slot,
            started_ns,
            hold: None,
            free_ns,
            memory,
            shift,
            content,
            path,
            failures_in_a_row,
            transfers,
            seed,
            kept,
            need: lane.need,
            second: Vec::with_capacity(256),
            recent: Recent::default(),
            stamp_ns: None,
            ending: all.run.is_ending(),
            granted_ns,
            name_at: 0,
            above: None,
        }
    }
}

impl TreeThread<'_> {
    pub(crate) fn now_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.started_ns)
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.lane.tree
    }

    /// Is there something left to do in the run?
    pub(crate) fn goes_on(&self) -> bool {
        if self.lane.is_over.load(Ordering::Relaxed) {
            return false;
        }
        !self.ending.load(Ordering::Relaxed) || self.may_finish()
    }

    /// The run was told to end.
    #[cold]
    fn may_finish(&self) -> bool {
        if self.all.run.is_aborted() {
            return false;
        }
        let Some(stopped_ns) = self.all.run.stopped_at_ns().filter(|_| self.all.run.is_stopped()) else {
            return true;
        };
        // What was due before the end may still be done.
        !self.lane.is_closed() && self.now_ns() <= stopped_ns + self.all.run.last_call_ns()
    }

    /// Sleeps for a moment in which something may become free. False: the run is over.
    pub(crate) fn pause(&mut self) -> bool {
        std::thread::sleep(PAUSE);
        self.goes_on_after_pause()
    }

    /// A pause is over; is the run?
    pub(crate) fn goes_on_after_pause(&mut self) -> bool {
        self.free_ns = self.now_ns();
        let is_late = self.free_ns > self.all.last_ns;
        (!is_late || self.lane.has_tickets(self.all.last_ns)) && self.goes_on()
    }

    /// The next operation; `None`: there is none any more.
    pub(crate) fn ticket(&mut self) -> Option<Ticket> {
        let ticket = self.ticket_now();
        if ticket.is_none() && !self.lane.is_closed() {
            self.wait_for_the_end();
        }
        ticket
    }

    /// The same, and does not wait for the end of the run where nothing more is due in its time.
    #[inline]
    pub(crate) fn ticket_now(&mut self) -> Option<Ticket> {
        if !self.lane.is_closed() {
            let stopped_ns = self.all.run.stopped_at_ns().unwrap_or(u64::MAX);
            return self.lane.ticket(self.all.last_ns.min(stopped_ns));
        }
        if let Some(turns) = &self.lane.turns
            && turns.take(self.lane.number, || !self.all.run.goes_on())?
        {
            // It was the others' turn until now.
            self.free_ns = self.now_ns();
        }
        let due_ns = self.free_ns;
        let number = match self.lane.kinds {
            super::tickets::Kinds::One(_) | super::tickets::Kinds::Flow(_) => 0,
            super::tickets::Kinds::Mixed { .. } => self.lane.begun.fetch_add(1, Ordering::Relaxed),
        };
        (due_ns <= self.all.last_ns).then(|| Ticket { kind: self.lane.kinds.of(number), due_ns })
    }

    /// Nothing more is due in the time of the run, which lasts until its end all the same.
    fn wait_for_the_end(&self) {
        while let Some(left_ns) = self.left_of_the_run_ns() {
            std::thread::sleep(Duration::from_nanos(left_ns.min(NAP_NS)));
        }
    }

    /// How long a run lasts in which nothing more is due; `None`: it is over, or ends by itself.
    pub(crate) fn left_of_the_run_ns(&self) -> Option<u64> {
        let lasts = self.all.last_ns < u64::MAX && self.goes_on() && !self.all.run.is_stopped();
        let left_ns = self.all.last_ns.saturating_sub(self.now_ns());
        (lasts && left_ns > 0).then_some(left_ns)
    }

    /// Sleeps until an operation is due. False: the run was over before.
    pub(crate) fn wait_until(&self, due_ns: u64) -> bool {
        if self.lane.is_closed() {
            return true;
        }
        let mut now_ns = self.now_ns();
        loop {
            match self.until_due_ns(due_ns, now_ns) {
                None => return false,
                Some(0) => return true,
                Some(left_ns) => {
                    let until_ns = now_ns.saturating_add(left_ns.min(NAP_NS));
                    // To a moment and not for a time: what it takes to begin to sleep does not make it late, and that it is due is known
                    // afterwards.
                    now_ns = match clock::sleep_until(self.started_ns.saturating_add(until_ns)) {
                        true => until_ns,
                        false => self.now_ns(),
                    };
                }
            }
        }
    }

    /// How long it is from now until an operation is due; `None`: the run is over before.
    pub(crate) fn until_due_ns(&self, due_ns: u64, now_ns: u64) -> Option<u64> {
        let is_stopped = || self.all.run.stopped_at_ns().is_some_and(|stopped_ns| due_ns > stopped_ns);
        let is_over = self.ending.load(Ordering::Relaxed) && is_stopped();
        (!is_over && self.goes_on()).then_some(due_ns.saturating_sub(now_ns))
    }

    /// Does an operation that is due, and notes how it went.
    // Returning from the function that made a system call costs the processor its prediction of all callers: the call stands in the loop itself.
    #[inline(always)]
    pub(crate) fn perform(
        &mut self,
        ticket: Ticket,
        (offset, bytes): (u64, u32),
        call: impl FnOnce(&mut Self) -> Result<u64, Failure>,
    ) -> Performed {
        if !self.grant(ticket.kind, (offset, bytes), ticket.due_ns) {
            return Performed::Refused;
        }
        self.perform_granted(ticket, (offset, bytes), call)
    }

    /// Is there room in the run for an operation that was asked for at this time? If not, its lane ends.
    #[inline]
    pub(crate) fn grant(&self, op: OperationKind, (offset, bytes): (u64, u32), asked_ns: u64) -> bool {
        if asked_ns < self.granted_ns {
            return true;
        }
        let is_granted = self.all.run.take(&Operation { op, offset, bytes }, asked_ns);
        if !is_granted {
            self.lane.end(asked_ns);
        }
        is_granted
    }

    /// Does an operation for which there is room, and notes how it went.
    #[inline(always)]
    pub(crate) fn perform_granted(
        &mut self,
        ticket: Ticket,
        (offset, bytes): (u64, u32),
        call: impl FnOnce(&mut Self) -> Result<u64, Failure>,
    ) -> Performed {
        if self.failures_in_a_row > FAILURES_IN_A_ROW {
            std::thread::sleep(PAUSE);
        }
        self.make_room();
        let submitted_ns = self.now_ns();
        let begun = self.begin(ticket, (offset, bytes), submitted_ns);
        self.stamp_ns = Some(submitted_ns);
        let outcome = call(self);
        let t_ns = match self.stamp_ns.take() {
            // It ended with a step.
            Some(stamp_ns) if stamp_ns != submitted_ns => stamp_ns,
            _ => self.now_ns(),
        };
        self.ended(begun, (offset, bytes), t_ns, outcome)
    }

    /// Sees to it that the log has room for an operation: before its time begins.
    #[inline(always)]
    pub(crate) fn make_room(&self) {
        if self.log.is_full() {
            self.stats.take(self.slot);
        }
    }

    /// Notes that an operation begins, for which there is room in the log.
    #[inline(always)]
    pub(crate) fn begin(&self, ticket: Ticket, place: (u64, u32), submitted_ns: u64) -> Begun {
        let Ticket { kind: op, due_ns } = ticket;
        let begun = Begun { lane: self.lane.number, op, due_ns, submitted_ns };
        self.log.begin(begun, place);
        begun
    }

    /// Notes what became of an operation.
    #[inline(always)]
    pub(crate) fn ended(
        &mut self,
        begun: Begun,
        (offset, bytes): (u64, u32),
        t_ns: u64,
        outcome: Result<u64, Failure>,
    ) -> Performed {
        self.free_ns = t_ns;
        match outcome {
            Ok(moved) => {
                self.log.done(t_ns, moved);
                self.failures_in_a_row = 0;
                Performed::Done(moved)
            }
            Err(failure) => {
                self.note_failed((begun, t_ns), (offset, bytes), failure);
                Performed::Failed(failure)
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn note_failed(&mut self, (begun, t_ns): (Begun, u64), (offset, asked): (u64, u32), failure: Failure) {
        let Failure { result, step, .. } = failure;
        let path = self.path_of(failure);
        if failure.is(Errno::EXIST) && tree::SUFFIXES.iter().any(|suffix| path.ends_with(suffix)) {
            let anchor = self.tree().path().display();
            self.lane.note(format!(
                "names that a killed run left in {anchor} are in the way, as {path}: format=restart removes them"
            ));
        }
        self.stats.failed(self.slot, Failed { begun, t_ns, offset, asked, result, path, step });
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
    }

    /// Does what an operation needs besides, and notes it apart.
    #[inline(always)]
    pub(crate) fn step<T>(
        &mut self,
        op: OperationKind,
        call: impl FnOnce(&mut Self) -> Result<(T, u64), Failure>,
    ) -> Result<T, Failure> {
        let kept_ns = self.stamp_ns.take();
        let outcome = self.step_at_once(op, call);
        self.stamp_ns = kept_ns;
        outcome
    }

    /// As [`TreeThread::step`], of one that follows its operation's beginning or another such step, or that is its end, with nothing between
    /// them that takes time: they have one reading of the clock in common.
    #[inline(always)]
    pub(crate) fn step_at_once<T>(
        &mut self,
        op: OperationKind,
        call: impl FnOnce(&mut Self) -> Result<(T, u64), Failure>,
    ) -> Result<T, Failure> {
        if self.log.steps_left() == 0 {
            self.stats.take(self.slot);
            self.stamp_ns = None;
        }
        let begun_ns = self.stamp_ns.unwrap_or_else(|| self.now_ns());
        let outcome = call(self);
        self.free_ns = self.now_ns();
        self.stamp_ns = Some(self.free_ns);
        self.log_step(op, outcome.as_ref().map(|(_, bytes)| *bytes).map_err(|_| ()), begun_ns);
        outcome.map(|(value, _)| value).map_err(|failure| failure.of_step(op))
    }

    /// Writes down a step that was begun then and has ended.
    #[inline(always)]
    pub(crate) fn log_step(&self, op: OperationKind, moved: Result<u64, ()>, begun_ns: u64) {
        self.log.step((self.lane.number, op), moved, self.free_ns.saturating_sub(begun_ns));
    }

    /// Where something failed.
    fn path_of(&self, failure: Failure) -> String {
        let elsewhere = self.lane.destination.as_deref().filter(|_| failure.is_elsewhere);
        let anchor = elsewhere.unwrap_or(self.tree()).path();
        format!("{}/{}", anchor.display(), String::from_utf8_lossy(&self.path))
    }

    /// A step failed on which no operation depends.
    pub(crate) fn note_failure(&self, failure: Failure) {
        let step = failure.step.map_or("", OperationKind::name);
        self.lane.note(format!(
            "{step} of {} failed: {}",
            self.path_of(failure),
            crate::error::describe(failure.result)
        ));
    }

    /// Calls with the directory that holds what `self.path` names, and with its name there.
    #[inline(always)]
    pub(crate) fn in_directory<T>(
        &mut self,
        tree: &Tree,
        call: impl Fn(BorrowedFd<'_>, &CStr) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        in_directory(&mut self.kept, (tree, &mut self.path, self.name_at), call)
    }

    /// Puts the path of a file into `self.path`.
    #[inline]
    pub(crate) fn tree_path(&mut self, file: u32) {
        let layout = self.lane.tree.layout();
        let directory = layout.directory_of(file);
        if self.above == Some(directory) && self.path.len() > self.name_at {
            // Most files are in the same directory as the one before.
            self.path.truncate(self.name_at);
            return layout.push_file_name(file, &mut self.path);
        }
        layout.file_path(file, &mut self.path);
        self.find_name();
        // Numbered names have no directory of the tree.
        self.above = (layout.directories() > 0).then_some(directory);
    }

    /// The same of a directory.
    pub(crate) fn path_of_directory(&mut self, directory: u32) {
        self.lane.tree.layout().directory_path(directory, &mut self.path);
        self.find_name();
        self.above = None;
    }

    /// The same of anything; empty where nothing is worked on.
    pub(crate) fn set_path(&mut self, path: &[u8]) {
        self.path.clear();
        self.path.extend_from_slice(path);
        self.find_name();
        self.above = None;
    }

    fn find_name(&mut self) {
        self.name_at = self.path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    }

    /// Something came into being or went.
    pub(crate) fn changed(&self) {
        self.all.changes.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_knows_its_errno() {
        assert!(Failure::from(Errno::NOENT).of_step(OperationKind::Open).is(Errno::NOENT));
    }
}
