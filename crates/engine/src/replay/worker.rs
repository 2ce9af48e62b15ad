//! The thread that plays: sleeps, looks at the clock, submits, reaps.

use super::checked::PlayedChecks;
use super::discards::{Discards, Ended};
use super::sequence::{Played, ReplayStep, Sequence};
use super::share::Share;
use super::{ReplayFeed, ReplayHindrances, Stage};
use crate::EngineError;
use crate::block_request::BlockRequest;
use crate::failure::RawFailure;
use crate::io_buffers::IoBuffers;
use crate::job_status::Failed;
use crate::pending::PendingOp;
use crate::placement::real_time;
use crate::replay_progress::ReplayChunk;
use crate::shared::{Control, Status};
use crate::stats::{Alike, Buffer, Slot};
use crate::uring_queue::{Entry, Ring};
use crate::validating::{AtSlot, NextStep};
use plan::generate::{Operation, OperationKind};
use plan::replay::{ReplayIo, ReplayPacing};
use quantity::clock;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::sync::{Arc, MutexGuard};

/// The last so many nanoseconds before a due time are spent looking at the clock: a thread with real-time priority is
/// woken less late than that 99 times in 100 on a busy machine.
const SPIN_NS: u64 = 120_000;
/// Operations due within so many nanoseconds are handed over together.
const TOGETHER_NS: u64 = 1_000;
/// So close to a due time, completions wait.
const QUIET_NS: u64 = 4_000;
/// Longest sleep: how late the end is noticed.
const NAP_NS: u64 = 20_000_000;
/// How often it is looked whether discards of other threads came back.
const LOOK_NS: u64 = 200_000;
/// Requests handed over with one system call.
const BATCH: usize = 64;
/// A thread with real-time priority that never sleeps starves the kernel's own threads on its CPU: after so long without
/// sleep it sleeps as soon as nothing is due for [`GAP_NS`]. Completions cut it short, so [`Share`] looks that enough of
/// the CPU is left.
const AWAKE_NS: u64 = 500_000;
/// A sleep and being woken late hardly ever take longer than this.
const GAP_NS: u64 = 60_000;
/// After so long it sleeps even where something is due: a burst is better late for once than all that follows it, for
/// loop devices, whose workers may be waiting for this very CPU, fall behind.
const AWAKE_MAX_NS: u64 = 3_000_000;
/// How long it sleeps then.
const REST_NS: u64 = 20_000;
/// While operations are late, completions wait so long at most: that much longer a response then seems to take.
const DEFER_NS: u64 = 50_000;
/// Bytes of a buffer: more than a replay ever asks for at once. Only what is used takes memory.
const PLACE_BYTES: usize = 4 << 20;
/// Operations up to this size use memory that the kernel knows already, which makes handing them over cheaper. It is
/// pinned, so there is not more of it.
const SMALL_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, Debug)]
struct InFlight {
    lane: usize,
    io: ReplayIo,
    due_ns: u64,
    submitted_ns: u64,
    number: u64,
}

/// Statistics, control, status, hindrances.
type Shared = (Arc<Slot>, Arc<Control>, Arc<Status>, Arc<ReplayHindrances>);

/// What the thread owns.
pub(super) struct Player {
    ring: Ring,
    /// Registered, for operations up to [`SMALL_BYTES`].
    small: IoBuffers,
    memory: IoBuffers,
    stages: Vec<Stage>,
    /// Where discards are not for io_uring.
    discards: Option<Discards>,
    /// Where data is proved.
    checks: Option<Box<PlayedChecks>>,
    /// Plan's number of a target → place in `stages`.
    lanes: Vec<usize>,
    sequence: Sequence,
    slots: Vec<InFlight>,
    free: Vec<u32>,
    batch: Vec<u32>,
    stats: Arc<Slot>,
    control: Arc<Control>,
    status: Arc<Status>,
    hindrances: Arc<ReplayHindrances>,
    is_real_time: bool,
    share: Share,
    /// Times count from the trace's clock, so that being late can be made up for.
    is_on_time: bool,
    started_ns: u64,
    in_flight: u32,
    slept_ns: u64,
    reaped_ns: u64,
    /// Was the next operation counted as held up by the cap?
    capped: bool,
}

impl Player {
    pub(super) fn new(
        (stages, discards, checks): (Vec<Stage>, Option<Discards>, Option<Box<PlayedChecks>>),
        feed: ReplayFeed,
        tell: Sender<ReplayChunk>,
        (stats, control, status, hindrances): Shared,
    ) -> Result<Self, EngineError> {
        let depth = feed.depth;
        let mut ring = Ring::new(depth).map_err(EngineError::system("set up io_uring"))?;
        let mut small = IoBuffers::new(depth as usize, SMALL_BYTES)?;
        let memory = IoBuffers::new(depth as usize, PLACE_BYTES)?;
        let raw: Vec<i32> = stages.iter().map(|stage| stage.fd.as_ref().map_or(-1, |file| file.as_raw_fd())).collect();
        ring.register(&raw, &mut small)?;
        ring.register_self();
        if discards.is_none() && stages.iter().any(|stage| stage.discards) {
            // A thread of the kernel waits for each discard, and others are not to wait for a thread; what the kernel refuses is done
            // without.
            let _ = ring.widen(depth);
        }
        let is_real_time = real_time();
        hindrances.ordinary.store(u64::from(!is_real_time), Ordering::Relaxed);
        let mut lanes = vec![0; stages.iter().map(|stage| stage.plan_index + 1).max().unwrap_or(0)];
        stages.iter().enumerate().for_each(|(lane, stage)| lanes[stage.plan_index] = lane);
        let nothing = ReplayIo {
            due_ns: 0,
            offset: 0,
            bytes: 0,
            target: 0,
            op: OperationKind::Read,
            durable: false,
            zeroes: false,
            after: 0,
            think_ns: 0,
        };
        let idle = InFlight { lane: 0, io: nothing, due_ns: 0, submitted_ns: 0, number: 0 };
        Ok(Self {
            ring,
            small,
            memory,
            stages,
            discards,
            checks,
            lanes,
            is_on_time: feed.pacing == ReplayPacing::OnTime,
            sequence: Sequence::new(feed.chunks, tell, feed.pacing),
            slots: vec![idle; depth as usize],
            free: (0..depth).rev().collect(),
            batch: Vec::with_capacity(BATCH),
            stats,
            control,
            status,
            hindrances,
            is_real_time,
            share: Share::new(is_real_time),
            started_ns: 0,
            in_flight: 0,
            slept_ns: 0,
            reaped_ns: 0,
            capped: false,
        })
    }

    pub(super) fn is_real_time(&self) -> bool {
        self.is_real_time
    }

    /// Plays until no operation is left or the run stops it.
    pub(super) fn run(mut self, started_ns: u64) -> Result<(), EngineError> {
        self.started_ns = started_ns;
        self.status.begin();
        let result = self.turns();
        self.status.done.store(true, Ordering::Release);
        if self.in_flight > 0 {
            // The kernel may still write into it.
            let Self { ring, small, memory, .. } = self;
            small.leak();
            memory.leak();
            drop(ring);
        }
        result
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.started_ns)
    }

    fn turns(&mut self) -> Result<(), EngineError> {
        while !self.control.is_aborted() {
            let now_ns = self.now_ns();
            self.share.keep(now_ns, clock::thread_cpu_ns);
            if self.checks.is_some() && self.goes_on(now_ns)? {
                continue;
            }
            let next = if self.control.is_stopped() { ReplayStep::Ended } else { self.sequence.next(now_ns) };
            match next {
                ReplayStep::At(due_ns) if self.free.is_empty() => {
                    if due_ns <= now_ns && !std::mem::replace(&mut self.capped, true) {
                        self.hindrances.capped.fetch_add(1, Ordering::Relaxed);
                    }
                    self.sleep(NAP_NS)?;
                }
                ReplayStep::At(due_ns) if due_ns <= now_ns + SPIN_NS => {
                    if rests(now_ns.saturating_sub(self.slept_ns), due_ns.saturating_sub(now_ns)) {
                        self.sleep(REST_NS)?;
                        continue;
                    }
                    self.play(due_ns)?;
                }
                ReplayStep::At(due_ns) => self.sleep((due_ns - now_ns - SPIN_NS).min(NAP_NS))?,
                ReplayStep::Starved => {
                    self.hindrances.starved.fetch_add(1, Ordering::Relaxed);
                    self.sleep(REST_NS)?;
                }
                ReplayStep::Ended if self.in_flight == 0 => return Ok(()),
                ReplayStep::Blocked | ReplayStep::Ended => self.sleep(NAP_NS)?,
            }
        }
        Ok(())
    }

    /// Waits in the kernel until something has been completed, at most `longest_ns`.
    fn sleep(&mut self, longest_ns: u64) -> Result<(), EngineError> {
        // The end of another thread's discard wakes no thread.
        let is_awaited = self.discards.as_ref().is_some_and(Discards::is_busy);
        let longest_ns = if is_awaited { longest_ns.min(LOOK_NS) } else { longest_ns };
        self.ring.enter(1, Some(longest_ns)).map_err(EngineError::system("wait for io_uring"))?;
        self.slept_ns = self.now_ns();
        self.reap(self.slept_ns);
        Ok(())
    }

    /// Prepares the next operation, waits for its time with open eyes, and hands it over with those due with it.
    fn play(&mut self, due_ns: u64) -> Result<(), EngineError> {
        self.batch.clear();
        let prepared_ns = self.now_ns();
        self.prepare(prepared_ns);
        let mut now_ns = prepared_ns;
        while now_ns < due_ns {
            if due_ns - now_ns > QUIET_NS && self.ring.has_deferred() {
                self.ring.run_deferred().map_err(EngineError::system("reap from io_uring"))?;
                self.reap(now_ns);
            }
            std::hint::spin_loop();
            now_ns = self.now_ns();
        }
        if self.checks.is_some() {
            self.go_on(now_ns)?;
        }
        while self.batch.len() < BATCH && !self.free.is_empty() {
            match self.sequence.next(now_ns) {
                ReplayStep::At(due_ns) if due_ns <= now_ns + TOGETHER_NS && !self.would_merge() => self.prepare(now_ns),
                _ => break,
            }
        }
        self.stamp();
        if self.may_defer(now_ns) {
            return self.ring.submit_nowait().map_err(EngineError::system("submit to io_uring"));
        }
        self.hand_over()
    }

    /// Hands over what is queued, and takes what came back.
    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.ring.enter(0, None).map_err(EngineError::system("submit to io_uring"))?;
        self.reap(self.now_ns());
        Ok(())
    }

    /// May completions wait, because the next operation is late already?
    fn may_defer(&mut self, now_ns: u64) -> bool {
        let may = self.is_on_time && now_ns < self.reaped_ns + DEFER_NS && self.free.len() > BATCH;
        may && matches!(self.sequence.next(now_ns), ReplayStep::At(due_ns) if due_ns <= now_ns)
    }

    /// Would the block layer make one request of the next operation and one of the batch, because they are neighbours
    /// and come in one system call?
    fn would_merge(&self) -> bool {
        self.sequence.upcoming().is_some_and(|next| self.is_neighbour(next))
    }

    /// Is it a neighbour of one of the batch?
    #[inline]
    fn is_neighbour(&self, next: &ReplayIo) -> bool {
        let end = |io: &ReplayIo| io.offset + u64::from(io.bytes);
        self.batch.iter().map(|slot| &self.slots[*slot as usize].io).any(|io| {
            io.target == next.target && io.op == next.op && (end(io) == next.offset || end(next) == io.offset)
        })
    }

    /// Queues the operation that is next.
    fn prepare(&mut self, now_ns: u64) {
        let Some(slot) = self.free.pop() else { return };
        let Some(Played { io, due_ns, number }) = self.sequence.take(now_ns) else {
            self.free.push(slot);
            return;
        };
        self.capped = false;
        let lane = self.lanes.get(io.target as usize).copied().unwrap_or(0);
        self.slots[slot as usize] = InFlight { lane, io, due_ns, submitted_ns: 0, number };
        self.in_flight += 1;
        if self.checks.is_some() {
            return self.prepare_checked(slot);
        }
        self.queue(slot, lane, &io);
    }

    /// Queues the operation of a slot.
    #[inline]
    fn queue(&mut self, slot: u32, lane: usize, io: &ReplayIo) {
        let stage = &mut self.stages[lane];
        self.batch.push(slot);
        if self.discards.is_some() && goes_aside(stage, io) {
            // Handed over when its time has come.
            return;
        }
        let is_small = io.bytes as usize <= SMALL_BYTES;
        let memory = if is_small { &mut self.small } else { &mut self.memory };
        let address = match (io.op, &mut stage.content) {
            (OperationKind::Write, Some(content)) => {
                let place = memory.write_place(slot as usize, io.bytes as usize);
                content.fill(place, io.offset);
                place.as_mut_ptr()
            }
            _ => memory.read_place(slot as usize),
        };
        let entry = entry((lane, stage), io, (address, memory.is_registered()));
        self.ring.push(u64::from(slot), &entry);
    }

    /// Queues the operation of a slot whose data is proved, or has it wait for its blocks.
    #[inline(never)]
    fn prepare_checked(&mut self, slot: u32) {
        let InFlight { lane, io, due_ns, .. } = self.slots[slot as usize];
        match self.checks.as_deref_mut().filter(|checks| checks.has(lane)) {
            None => self.queue(slot, lane, &io),
            Some(checks) => {
                if checks.admits((slot, lane), due_ns, operation_of(&io)) {
                    self.begin_checked(slot);
                }
            }
        }
    }

    /// Queues the first step of the operation of a slot, which has its blocks.
    fn begin_checked(&mut self, slot: u32) {
        let next = self.step(slot, PlayedChecks::begin).unwrap_or(NextStep::Own);
        self.batch.push(slot);
        let InFlight { lane, io, .. } = self.slots[slot as usize];
        if self.discards.is_none() || !goes_aside(&self.stages[lane], &io) {
            self.queue_step(slot, next);
        }
    }

    /// Queues a step of the operation of a slot.
    fn queue_step(&mut self, slot: u32, next: NextStep) {
        let InFlight { lane, io, .. } = self.slots[slot as usize];
        let io = match next {
            NextStep::Read => ReplayIo { op: OperationKind::Read, durable: false, ..io },
            _ => io,
        };
        let memory = if io.bytes as usize <= SMALL_BYTES { &mut self.small } else { &mut self.memory };
        let address = (memory.read_place(slot as usize), memory.is_registered());
        self.ring.push(u64::from(slot), &entry((lane, &self.stages[lane]), &io, address));
    }

    /// A step of the operation of a slot whose data is proved.
    fn step<T>(&mut self, slot: u32, step: impl FnOnce(&mut PlayedChecks, &mut AtSlot<'_>) -> T) -> Option<T> {
        let InFlight { lane, io, .. } = self.slots[slot as usize];
        let (checks, file) = (self.checks.as_deref_mut()?, self.stages[lane].fd.as_ref()?);
        // A trim has no data, and may be longer than a place.
        let bytes = if io.op.moves_data() { io.bytes as usize } else { 0 };
        let memory = if io.bytes as usize <= SMALL_BYTES { &mut self.small } else { &mut self.memory };
        let buffer = memory.write_place(slot as usize, bytes);
        let (operation, lane) = (operation_of(&io), u32::try_from(lane).unwrap_or(0));
        Some(step(checks, &mut AtSlot { slot, lane, operation: &operation, file: file.as_fd(), buffer }))
    }

    /// Hands over, where data is proved, what goes on and what had waited for its blocks; false: there was none.
    #[inline(never)]
    fn goes_on(&mut self, now_ns: u64) -> Result<bool, EngineError> {
        let Some(checks) = &mut self.checks else { return Ok(false) };
        if self.control.is_stopped() {
            for slot in checks.give_up_waiting() {
                self.free.push(slot);
                self.in_flight -= 1;
            }
        }
        if !checks.has_more(now_ns) {
            return Ok(false);
        }
        self.batch.clear();
        self.go_on(now_ns)?;
        self.stamp();
        self.hand_over()?;
        Ok(true)
    }

    /// Queues, where data is proved, what goes on and what had waited for its blocks.
    #[inline(never)]
    fn go_on(&mut self, now_ns: u64) -> Result<(), EngineError> {
        let is_awaited = self.checks.as_ref().is_some_and(|checks| checks.has_waiting());
        if is_awaited && self.ring.has_deferred() {
            // The operation that has the blocks may have come back.
            self.ring.run_deferred().map_err(EngineError::system("reap from io_uring"))?;
            self.reap(now_ns);
        }
        let Some(checks) = &mut self.checks else { return Ok(()) };
        let going_on = checks.take_going_on();
        let (ready, deferred) = checks.take_ready(now_ns);
        self.hindrances.deferred.fetch_add(deferred, Ordering::Relaxed);
        for (slot, next, begins) in going_on {
            if begins {
                self.slots[slot as usize].submitted_ns = now_ns;
            }
            self.queue_step(slot, next);
        }
        for slot in ready {
            if self.is_neighbour(&self.slots[slot as usize].io) {
                self.stamp();
                self.ring.enter(0, None).map_err(EngineError::system("submit to io_uring"))?;
                self.batch.clear();
            }
            self.begin_checked(slot);
        }
        Ok(())
    }

    /// Notes the moment at which the batch is handed over.
    fn stamp(&mut self) {
        let stamp_ns = self.now_ns();
        let mut buffer = self.stats.lock();
        buffer.submit_calls += 1;
        self.hindrances.handed_over.fetch_add(self.batch.len() as u64, Ordering::Relaxed);
        for slot in &self.batch {
            let one = &mut self.slots[*slot as usize];
            one.submitted_ns = stamp_ns;
            buffer.submitted(one.lane, one.io.op, one.due_ns, stamp_ns);
            let InFlight { lane, due_ns, .. } = *one;
            buffer.pending.begin(*slot as usize, PendingOp { lane, op: one.io.op, due_ns, submitted_ns: stamp_ns });
        }
        drop(buffer);
        let Self { batch, slots, stages, discards: Some(discards), .. } = self else { return };
        for slot in batch.iter() {
            let InFlight { lane, io, .. } = slots[*slot as usize];
            let Stage { holder, fd, .. } = &stages[lane];
            if let (true, Some(fd)) = (goes_aside(&stages[lane], &io), holder.as_ref().or(fd.as_ref())) {
                discards.push(*slot, fd, operation_of(&io));
            }
        }
    }

    /// Records everything that came back.
    fn reap(&mut self, now_ns: u64) {
        self.reaped_ns = now_ns;
        if self.checks.is_some() {
            return self.reap_checked(now_ns);
        }
        let Self { ring, discards, sequence, slots, free, stats, in_flight, stages, started_ns, .. } = self;
        let ended: &[Ended] = discards.as_mut().map_or(&[], Discards::take);
        if ring.is_quiet() && ended.is_empty() {
            return;
        }
        let mut settling = Settling { buffer: stats.lock(), slots, stages, sequence, in_flight, free };
        for one in ended {
            settling.settle(one.slot, one.result, one.t_ns.saturating_sub(*started_ns));
        }
        #[expect(clippy::cast_possible_truncation, reason = "tags are slot numbers")]
        ring.reap(|tag, result| settling.settle(tag as u32, result, now_ns));
    }

    /// The same where data is proved: what was read is checked, and an operation may go on.
    #[inline(never)]
    fn reap_checked(&mut self, now_ns: u64) {
        if self.control.is_aborted() {
            // What it had was given up, and may be another one's.
            return;
        }
        let started_ns = self.started_ns;
        let ended: &[Ended] = self.discards.as_mut().map_or(&[], Discards::take);
        let of_threads = ended.iter().map(|one| (one.slot, one.result, one.t_ns.saturating_sub(started_ns)));
        let mut back: Vec<(u32, i32, u64)> = of_threads.collect();
        #[expect(clippy::cast_possible_truncation, reason = "tags are slot numbers")]
        self.ring.reap(|tag, result| back.push((tag as u32, result, now_ns)));
        if back.is_empty() {
            return;
        }
        back.retain_mut(|(slot, result, t_ns)| {
            let lane = self.slots[*slot as usize].lane;
            if !self.checks.as_ref().is_some_and(|checks| checks.has(lane)) {
                return true;
            }
            let (raw, raw_ns) = (*result, *t_ns);
            let ended = self.step(*slot, |checks, at| checks.completed(at, raw, raw_ns)).flatten();
            ended.map(|end| (*result, *t_ns) = end).is_some()
        });
        let Self { sequence, slots, free, stats, in_flight, stages, .. } = self;
        let mut settling = Settling { buffer: stats.lock(), slots, stages, sequence, in_flight, free };
        back.into_iter().for_each(|(slot, result, t_ns)| settling.settle(slot, result, t_ns));
    }
}

/// What changes with an operation that has ended.
struct Settling<'a> {
    buffer: MutexGuard<'a, Buffer>,
    slots: &'a [InFlight],
    stages: &'a [Stage],
    sequence: &'a mut Sequence,
    in_flight: &'a mut u32,
    free: &'a mut Vec<u32>,
}

impl Settling<'_> {
    #[inline]
    fn settle(&mut self, slot: u32, result: i32, now_ns: u64) {
        let InFlight { lane, io, due_ns, submitted_ns, number } = self.slots[slot as usize];
        self.buffer.pending.end(slot as usize);
        let ReplayIo { op, offset, bytes, .. } = io;
        let moves = op.moves_data() && !self.stages[lane].nothing;
        if result < 0 || (moves && result.unsigned_abs() != bytes) {
            let failure = RawFailure { t_ns: now_ns, lane, op, offset, bytes, result, at: None };
            self.buffer.returned_failed(failure, Failed::GoesOn);
        } else {
            let bytes = u64::from(bytes);
            self.buffer.completed_alike(&Alike { lane, op, due_ns, submitted_ns, count: 1, bytes }, now_ns);
        }
        self.sequence.completed(number, now_ns);
        *self.in_flight -= 1;
        self.free.push(slot);
    }
}

/// What an I/O of a replay does.
fn operation_of(io: &ReplayIo) -> Operation {
    Operation { op: io.op, offset: io.offset, bytes: io.bytes }
}

/// The entry of an I/O on a stage, whose memory begins there and is registered, or is not.
#[inline]
fn entry((lane, stage): (usize, &Stage), io: &ReplayIo, (address, is_registered): (*mut u8, bool)) -> Entry {
    let request = BlockRequest {
        operation: operation_of(io),
        file: u32::try_from(lane).unwrap_or(0),
        address,
        is_registered,
        datasync: false,
        durable: io.durable,
        discards: stage.discards,
        zeroes: io.zeroes,
        nothing: stage.nothing,
        io_priority: 0,
    };
    request.entry()
}

/// Is this operation for the threads that discard, where there are any?
fn goes_aside(stage: &Stage, io: &ReplayIo) -> bool {
    io.op == OperationKind::Trim && stage.discards && !io.zeroes && stage.fd.is_some()
}

/// Does a thread that has been awake for `awake_ns` sleep, when the next operation is due in `gap_ns`?
fn rests(awake_ns: u64, gap_ns: u64) -> bool {
    awake_ns > AWAKE_MAX_NS || (awake_ns > AWAKE_NS && gap_ns >= GAP_NS)
}

#[cfg(test)]
mod tests {
    use super::{AWAKE_MAX_NS, AWAKE_NS, GAP_NS, REST_NS, SPIN_NS, rests};

    #[test]
    fn it_sleeps_in_gaps_and_in_bursts_only_in_the_end() {
        assert!(!rests(AWAKE_NS, SPIN_NS), "awake for a short time");
        assert!(rests(AWAKE_NS + 1, GAP_NS), "a gap");
        assert!(!rests(AWAKE_NS + 1, GAP_NS - 1) && !rests(AWAKE_MAX_NS, 0), "a burst");
        assert!(rests(AWAKE_MAX_NS + 1, 0), "a burst that does not end");
        const { assert!(REST_NS < GAP_NS && GAP_NS < SPIN_NS) };
    }
}
