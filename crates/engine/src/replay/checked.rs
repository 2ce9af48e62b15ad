//! Replays whose data is proved: a block has one operation at a time, and an operation that finds one of its blocks in use
//! waits for it, whatever its trace did.

use crate::shared::Control;
use crate::validating::{AtSlot, Checked, Checks, NextStep, overlap};
use crate::work::{Outcome, Timing};
use plan::generate::Operation;
use std::sync::Arc;

/// An operation that waits for its blocks.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    slot: u32,
    lane: usize,
    operation: Operation,
    due_ns: u64,
    /// It was looked at when it was due, and is counted.
    is_counted: bool,
}

/// How the operations of a replay are checked, and which of them wait.
pub(super) struct PlayedChecks {
    checks: Checks,
    /// In the order in which they come.
    waiting: Vec<Waiting>,
    /// Of those, how many are not counted yet.
    uncounted: usize,
    /// Lanes and places of operations that ended since those that wait were looked at.
    freed: Vec<(usize, Operation)>,
    /// Slots whose operations go on, with what comes next, and whether their own time begins with it.
    going_on: Vec<(u32, NextStep, bool)>,
    /// By slot, when the operation's own time was over, of one that goes on behind it; 0: it does not.
    over_ns: Vec<u64>,
}

impl PlayedChecks {
    /// Of these lanes, in a ring of so many slots; `None`: nothing is checked.
    pub(super) fn of(lanes: Vec<Option<Checked>>, depth: u32, control: &Arc<Control>) -> Option<Box<Self>> {
        lanes.iter().any(Option::is_some).then(|| {
            Box::new(Self {
                checks: Checks::new(lanes, depth, Arc::clone(control)),
                waiting: Vec::new(),
                uncounted: 0,
                freed: Vec::new(),
                going_on: Vec::new(),
                over_ns: vec![0; depth.max(1) as usize],
            })
        })
    }

    fn lane(&self, lane: usize) -> Option<&Checked> {
        self.checks.lane(u32::try_from(lane).ok()?)
    }

    /// Are the operations of this lane checked?
    #[inline]
    pub(super) fn has(&self, lane: usize) -> bool {
        self.lane(lane).is_some()
    }

    /// Takes the blocks of an operation that comes next; false: it waits for them.
    pub(super) fn admits(&mut self, (slot, lane): (u32, usize), due_ns: u64, operation: Operation) -> bool {
        let is_behind = self.waiting.iter().any(|before| before.lane == lane && overlap(&before.operation, &operation));
        let is_taken = !is_behind && self.lane(lane).is_none_or(|checked| checked.take(&operation));
        if !is_taken {
            self.waiting.push(Waiting { slot, lane, operation, due_ns, is_counted: false });
            self.uncounted += 1;
        }
        is_taken
    }

    /// Is there something to go on with, or to look at again, at this time of the run?
    #[inline]
    pub(super) fn has_more(&self, now_ns: u64) -> bool {
        let is_due = |one: &Waiting| one.due_ns <= now_ns && (!self.freed.is_empty() || !one.is_counted);
        let may_be = !self.freed.is_empty() || self.uncounted > 0;
        !self.going_on.is_empty() || (may_be && self.waiting.iter().any(is_due))
    }

    /// Does any operation wait for its blocks?
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What goes on: slots, what comes next, and whether their own time begins with it.
    pub(super) fn take_going_on(&mut self) -> Vec<(u32, NextStep, bool)> {
        std::mem::take(&mut self.going_on)
    }

    /// The slots of operations that have waited for their blocks, are due, and have them now; and how many are due and have to wait
    /// from now on.
    pub(super) fn take_ready(&mut self, now_ns: u64) -> (Vec<u32>, u64) {
        let freed = std::mem::take(&mut self.freed);
        let (mut ready, mut deferred, mut at) = (Vec::new(), 0, 0);
        while let Some(one) = self.waiting.get(at).copied() {
            let is_free =
                |(lane, operation): &(usize, Operation)| *lane == one.lane && overlap(operation, &one.operation);
            let is_looked_at = one.due_ns <= now_ns && (!one.is_counted || freed.iter().any(is_free));
            let before = |before: &Waiting| before.lane == one.lane && overlap(&before.operation, &one.operation);
            let checked = self.lane(one.lane).filter(|_| is_looked_at);
            // Those of the same blocks keep their order.
            if checked.is_some_and(|checked| !self.waiting.iter().take(at).any(before) && checked.take(&one.operation))
            {
                self.waiting.remove(at);
                self.uncounted -= usize::from(!one.is_counted);
                ready.push(one.slot);
                continue;
            }
            if let Some(checked) = checked.filter(|_| !one.is_counted) {
                checked.target.note_deferred();
                deferred += 1;
                self.uncounted -= 1;
                self.waiting[at].is_counted = true;
            }
            at += 1;
        }
        (ready, deferred)
    }

    /// Gives up all that waits: their slots.
    #[cold]
    pub(super) fn give_up_waiting(&mut self) -> Vec<u32> {
        self.uncounted = 0;
        self.waiting.drain(..).map(|one| one.slot).collect()
    }

    /// The first step of an operation that has its blocks.
    pub(super) fn begin(&mut self, at: &mut AtSlot<'_>) -> NextStep {
        self.checks.begin(at, true)
    }

    /// An entry came back at this time of the run. The operation's own result and the time of its end, where it has ended.
    pub(super) fn completed(&mut self, at: &mut AtSlot<'_>, result: i32, now_ns: u64) -> Option<(i32, u64)> {
        let next = self.checks.completed(at, result);
        let slot = at.slot as usize;
        let NextStep::End(outcome) = next else {
            let timing = self.checks.timing(at.slot);
            if timing == Timing::IsOver && self.over_ns[slot] == 0 {
                self.over_ns[slot] = now_ns;
            }
            self.going_on.push((at.slot, next, timing == Timing::Begins));
            return None;
        };
        if !self.waiting.is_empty() {
            self.freed.push((at.lane as usize, *at.operation));
        }
        let ended_ns = match std::mem::take(&mut self.over_ns[slot]) {
            0 => now_ns,
            over_ns => over_ns,
        };
        let result = match outcome {
            Outcome::Failed(result) => result,
            Outcome::Done(_) if !at.operation.op.moves_data() => 0,
            Outcome::Done(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
        };
        Some((result, ended_ns))
    }
}
