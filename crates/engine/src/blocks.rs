//! Work on blocks: reads, writes, trims and flushes at offsets of files and devices.

use crate::block_request::BlockRequest;
use crate::cache::Cached;
use crate::discard;
use crate::group_spec::GroupSpec;
use crate::io_buffers::IoBuffers;
use crate::issue::Issue;
use crate::priorities::Chooser;
use crate::uring_queue::Entry;
use crate::validating::{AtSlot, Checked, Checks, LaneChecks, NextStep};
use crate::work::{Hold, Lanes, Outcome, RingWork, Timing, Work};
use mapping::Mapping;
use plan::OpenFlags;
use plan::generate::{ContentGenerator, HeldKinds, Operation, OperationKind, Operations};
use rustix::fs::{fdatasync, fsync};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Operations on blocks, by lane.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// What its places name by number; descriptors are open for as long as this is there.
    pub(crate) files: Vec<FileSlot>,
    /// By lane.
    pub(crate) places: Vec<BlockPlace>,
    /// By lane; empty when no request has a priority of its own.
    priorities: Vec<Option<Chooser>>,
    /// By slot, which priority was chosen last; empty when no request has one of its own.
    chosen: Vec<Option<u16>>,
    /// Where data is proved.
    pub(crate) checks: Option<Box<Checks>>,
}

/// A file or device that a group uses.
#[derive(Debug)]
pub(crate) struct FileSlot {
    /// The target's index in the plan.
    pub(crate) plan_index: usize,
    /// How it is opened.
    pub(crate) flags: OpenFlags,
    pub(crate) fd: Option<Arc<OwnedFd>>,
    /// Of a device: by which threads discard.
    pub(crate) holder: Option<Arc<OwnedFd>>,
}

/// Where a lane's operations go.
#[derive(Debug, Default)]
pub(crate) struct BlockPlace {
    /// Index into [`Blocks::files`].
    pub(crate) file: u32,
    pub(crate) datasync: bool,
    /// Trims are discards of a device, not holes in a file.
    pub(crate) discards: bool,
    /// On `/dev/null`: nothing is done.
    pub(crate) nothing: bool,
    /// As in `ioprio_set(2)`; 0: the thread's own.
    pub(crate) io_priority: u16,
    /// The target as memory.
    pub(crate) mapping: Option<Arc<Mapping>>,
}

/// What a lane does: which operations come, and what they write.
#[derive(Debug)]
pub(crate) struct BlockLane {
    pub(crate) operations: Operations,
    pub(crate) content: Option<ContentGenerator>,
    /// What is dropped when it begins anew with its target.
    pub(crate) cached: Option<Cached>,
    /// Where its data is proved.
    pub(crate) checks: Option<Box<LaneChecks>>,
}

impl BlockLane {
    /// The next one; where data is proved, one whose blocks are no other operation's.
    #[inline(never)]
    fn choose_free(&mut self, held: HeldKinds) -> Option<Operation> {
        let Self { operations, cached, checks, .. } = self;
        let mut next = || {
            let operation = operations.next_but(held);
            if operations.has_rewound() {
                cached.iter().for_each(Cached::rewind);
            }
            operation
        };
        match checks {
            Some(checks) => checks.choose(held, next),
            None => next(),
        }
    }
}

impl Lanes for Vec<BlockLane> {
    #[inline]
    fn choose(&mut self, lane: usize) -> Option<Operation> {
        let lane = &mut self[lane];
        if lane.checks.is_none() { lane.operations.next() } else { lane.choose_free(HeldKinds::default()) }
    }

    #[inline]
    fn choose_for_job(&mut self, lane: usize, held: HeldKinds, anew: bool) -> Option<Operation> {
        let lane = self.get_mut(lane)?;
        if anew {
            lane.operations.begin_anew();
            lane.cached.iter().for_each(Cached::begin_pass);
        }
        if lane.checks.is_some() {
            return lane.choose_free(held);
        }
        let operation = lane.operations.next_but(held);
        if lane.operations.has_rewound() {
            lane.cached.iter().for_each(Cached::rewind);
        }
        operation
    }

    #[cold]
    fn refused(&mut self, lane: usize) {
        if let Some(checks) = self.get_mut(lane).and_then(|lane| lane.checks.as_mut()) {
            checks.give_back();
        }
    }

    #[inline]
    fn holds(&mut self, issue: &Issue) -> bool {
        match &mut self[issue.lane as usize].checks {
            None => true,
            Some(checks) => checks.holds(&issue.operation),
        }
    }

    #[inline]
    fn prepare(&mut self, issue: &Issue, buffer: &mut [u8]) {
        if issue.operation.op == OperationKind::Write
            && let Some(content) = &mut self[issue.lane as usize].content
        {
            content.fill(buffer, issue.operation.offset);
        }
    }
}

impl Work for Blocks {
    type Lanes = Vec<BlockLane>;

    const KINDS: &'static [OperationKind] = &OperationKind::BLOCKS;

    #[inline]
    fn has_steps(&self, issue: &Issue) -> bool {
        self.checks.as_ref().is_some_and(|checks| checks.lane(issue.lane).is_some())
    }

    #[inline]
    fn ready(&self, issue: &Issue, buffer: &mut [u8], is_held: bool) -> Result<Hold, i32> {
        match self.checked(issue) {
            Some((checks, checked, file)) => checks.ready(checked, (file, &issue.operation), buffer, is_held),
            None => Ok(Hold::Nothing),
        }
    }

    #[inline]
    fn settle(&self, issue: &Issue, buffer: &mut [u8], hold: Hold, outcome: Outcome) -> (Outcome, bool) {
        match self.checked(issue) {
            Some((checks, checked, file)) => checks.settle(checked, (file, &issue.operation), (buffer, hold), outcome),
            None => (outcome, false),
        }
    }

    #[inline]
    fn call(&self, issue: &Issue, buffer: &mut [u8]) -> Outcome {
        let Operation { op, offset, bytes } = issue.operation;
        let place = &self.places[issue.lane as usize];
        let slot = &self.files[place.file as usize];
        let holder = slot.holder.as_ref().filter(|_| op == OperationKind::Trim && place.discards);
        let result = match holder.or(slot.fd.as_ref()) {
            Some(file) => match (&place.mapping, op) {
                (Some(mapping), OperationKind::Read) => mapping.read(offset, buffer),
                (Some(mapping), OperationKind::Write) => mapping.write(offset, buffer),
                (Some(mapping), OperationKind::Flush) => mapping.sync(),
                _ => perform(file.as_fd(), issue.operation, buffer, (place.datasync, place.discards)),
            },
            None => i32::try_from(bytes).unwrap_or(i32::MAX),
        };
        self.outcome(issue, result)
    }
}

impl RingWork for Blocks {
    fn files(&mut self, group: &GroupSpec) -> Vec<RawFd> {
        self.priorities = Chooser::of_lanes(group);
        if !self.priorities.is_empty() {
            self.chosen = vec![None; group.depth().max(1) as usize];
        }
        self.files.iter().map(|file| file.fd.as_ref().map_or(-1, |file| file.as_raw_fd())).collect()
    }

    #[inline]
    fn begin(&mut self, lanes: &mut Self::Lanes, slot: u32, issue: &Issue, memory: &mut IoBuffers) -> Entry {
        let operation = issue.operation;
        if !self.chosen.is_empty() {
            let chooser = self.priorities.get_mut(issue.lane as usize).and_then(Option::as_mut);
            self.chosen[slot as usize] = chooser.and_then(|chooser| chooser.next(operation.op, operation.bytes));
        }
        if self.checks.is_some() && self.has_steps(issue) {
            return self.begin_checked(lanes, slot, issue, memory);
        }
        let address = match operation.op {
            OperationKind::Write => {
                let place = memory.write_place(slot as usize, operation.bytes as usize);
                lanes.prepare(issue, place);
                place.as_mut_ptr()
            }
            _ => memory.read_place(slot as usize),
        };
        self.entry((slot, issue.lane), operation, (address, memory.is_registered()))
    }

    #[inline]
    fn completed(
        &mut self,
        slot: u32,
        issue: &Issue,
        result: i32,
        memory: &mut IoBuffers,
    ) -> ControlFlow<Outcome, Entry> {
        if self.checks.is_some() && self.has_steps(issue) {
            return self.completed_checked(slot, issue, result, memory);
        }
        ControlFlow::Break(self.outcome(issue, result))
    }

    #[cold]
    fn timing(&self, slot: u32) -> Timing {
        self.checks.as_ref().map_or(Timing::Unchanged, |checks| checks.timing(slot))
    }

    #[inline]
    fn priority(&self, slot: u32) -> Option<u16> {
        self.chosen.get(slot as usize).copied().flatten()
    }
}

impl Blocks {
    /// The entry of an operation of a slot and lane, whose memory begins there and is registered, or is not.
    #[inline]
    fn entry(
        &self,
        (slot, lane): (u32, u32),
        operation: Operation,
        (address, is_registered): (*mut u8, bool),
    ) -> Entry {
        let BlockPlace { file, datasync, discards, nothing, mut io_priority, .. } = self.places[lane as usize];
        if !self.chosen.is_empty() {
            io_priority = self.chosen[slot as usize].unwrap_or(io_priority);
        }
        let (durable, zeroes) = (false, false);
        let request = BlockRequest {
            operation,
            file,
            address,
            is_registered,
            datasync,
            durable,
            discards,
            zeroes,
            nothing,
            io_priority,
        };
        request.entry()
    }

    /// How an operation is checked, and its file.
    #[inline]
    fn checked(&self, issue: &Issue) -> Option<(&Checks, &Checked, BorrowedFd<'_>)> {
        let checks = self.checks.as_deref()?;
        let file = self.files[self.places[issue.lane as usize].file as usize].fd.as_ref()?;
        Some((checks, checks.lane(issue.lane)?, file.as_fd()))
    }

    /// The first entry of an operation whose data is proved.
    #[inline(never)]
    fn begin_checked(&mut self, lanes: &mut Vec<BlockLane>, slot: u32, issue: &Issue, memory: &mut IoBuffers) -> Entry {
        let is_held = lanes.holds(issue);
        let next = self.step(slot, issue, memory, |checks, at| checks.begin(at, is_held));
        self.next_entry(slot, issue, memory, next).unwrap_or_else(Entry::pause)
    }

    /// An entry of an operation whose data is proved came back.
    #[inline(never)]
    fn completed_checked(
        &mut self,
        slot: u32,
        issue: &Issue,
        result: i32,
        memory: &mut IoBuffers,
    ) -> ControlFlow<Outcome, Entry> {
        let next = self.step(slot, issue, memory, |checks, at| checks.completed(at, result));
        match next {
            NextStep::End(outcome) => ControlFlow::Break(outcome),
            _ => ControlFlow::Continue(self.next_entry(slot, issue, memory, next).unwrap_or_else(Entry::pause)),
        }
    }

    /// A step of an operation in its slot.
    #[inline]
    fn step(
        &mut self,
        slot: u32,
        issue: &Issue,
        memory: &mut IoBuffers,
        step: impl FnOnce(&mut Checks, &mut AtSlot<'_>) -> NextStep,
    ) -> NextStep {
        let Self { files, places, checks, .. } = self;
        let file = files[places[issue.lane as usize].file as usize].fd.as_ref();
        let (Some(checks), Some(file)) = (checks.as_deref_mut(), file) else { return NextStep::Own };
        let Issue { lane, operation, .. } = issue;
        let buffer = memory.write_place(slot as usize, operation.bytes as usize);
        step(checks, &mut AtSlot { slot, lane: *lane, operation, file: file.as_fd(), buffer })
    }

    /// The entry of a step; `None`: a moment is waited.
    #[inline(never)]
    fn next_entry(&self, slot: u32, issue: &Issue, memory: &mut IoBuffers, next: NextStep) -> Option<Entry> {
        let operation = match next {
            NextStep::Own => issue.operation,
            NextStep::Read => Operation { op: OperationKind::Read, ..issue.operation },
            NextStep::Wait | NextStep::End(_) => return None,
        };
        let memory = (memory.read_place(slot as usize), memory.is_registered());
        Some(self.entry((slot, issue.lane), operation, memory))
    }

    /// Of a result: bytes moved, or a negative errno.
    #[inline]
    fn outcome(&self, issue: &Issue, result: i32) -> Outcome {
        let Operation { op, bytes, .. } = issue.operation;
        let moves = || op.moves_data() && !self.places[issue.lane as usize].nothing;
        if result < 0 || (result.unsigned_abs() != bytes && moves()) {
            Outcome::Failed(result)
        } else {
            Outcome::Done(u64::from(bytes))
        }
    }
}

/// The system call; as io_uring has it: bytes moved, or a negative errno.
#[inline]
fn perform(file: BorrowedFd<'_>, operation: Operation, buffer: &mut [u8], (datasync, discards): (bool, bool)) -> i32 {
    let Operation { op, offset, .. } = operation;
    let moved = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let result = match op {
        OperationKind::Read => rustix::io::pread(file, buffer, offset).map(moved),
        OperationKind::Write => rustix::io::pwrite(file, buffer, offset).map(moved),
        OperationKind::Trim => discard::wait(file, discards, operation).map(|()| 0),
        OperationKind::Flush if datasync => fdatasync(file).map(|()| 0),
        OperationKind::Flush => fsync(file).map(|()| 0),
        // No operation on blocks.
        _ => Err(rustix::io::Errno::OPNOTSUPP),
    };
    result.unwrap_or_else(|error| -error.raw_os_error())
}
