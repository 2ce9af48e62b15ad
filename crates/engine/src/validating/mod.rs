//! Runs whose data is proved: what is written carries stamps, and what is read is checked (`validation`).
//!
//! A lane chooses an operation of which all blocks are free, and takes them ([`LaneChecks`]); an operation whose blocks another one
//! has is put aside, and the lane's next one comes before it. What it does with its blocks, [`Checked`] knows: it is asked by the
//! crew's threads, which do one step behind the other (`crew`), and by the ring, in which a step is an entry (`ring`).
//! Lanes without validation have none of this.

mod crew;
mod lane;
mod refusals;
mod ring;
mod sweep;

pub(crate) use lane::LaneChecks;
pub(crate) use refusals::{refuse, refuse_replay};
pub(crate) use ring::{AtSlot, NextStep, Timing};

use crate::RunInput;
use crate::blocks::Blocks;
use crate::shared::Control;
use crate::work::Group;
use plan::generate::{Operation, OperationKind};
use ring::SlotChecks;
use std::collections::BTreeMap;
use std::sync::Arc;
use sweep::Sweep;
use validation::{FoundBy, TargetValidation, WriteHold};

/// What an operation under way has of its target's validation, beside its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Nothing.
    #[default]
    Nothing,
    /// Its data is stamped.
    Write(WriteHold),
    /// The epoch that ended with it.
    Flush(u32),
}

/// How the operations of a lane are checked.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) target: Arc<TargetValidation>,
    writer: u16,
    /// The lane's own reads are these.
    reads: FoundBy,
    /// Blocks of which something is known are read before they are written.
    before: bool,
    /// … and right behind it.
    after: bool,
    /// Reads may come from the page cache.
    is_buffered: bool,
}

/// How a group's operations are checked.
#[derive(Debug)]
pub(crate) struct Checks {
    /// By lane.
    lanes: Vec<Option<Checked>>,
    slots: SlotChecks,
    control: Arc<Control>,
}

impl Checks {
    /// A lane's.
    #[inline]
    pub(crate) fn lane(&self, lane: u32) -> Option<&Checked> {
        self.lanes.get(lane as usize)?.as_ref()
    }

    /// So many blocks were damaged: a run ends with the first error behind so many, and these are some.
    #[cold]
    fn damaged(&self, blocks: u64) {
        self.control.damaged(blocks);
    }
}

impl Checked {
    /// Takes the blocks of an operation; false: another one has some of them.
    #[inline]
    fn take(&self, operation: &Operation) -> bool {
        takes(operation.op) == 0 || self.target.take(operation.offset, u64::from(operation.bytes))
    }

    /// Gives the blocks of an operation that changed nothing back.
    #[inline]
    fn release(&self, operation: &Operation) {
        if takes(operation.op) != 0 {
            self.target.release(operation.offset, u64::from(operation.bytes));
        }
    }

    /// A flush is about to be submitted.
    fn on_flush_submitted(&self) -> Hold {
        Hold::Flush(self.target.flushing())
    }

    /// A flush came back.
    fn on_flush_done(&self, _hold: Hold, _is_done: bool) {}

    /// Stamps what a write of taken blocks carries.
    #[inline]
    fn stamp(&self, operation: &Operation, buffer: &mut [u8]) -> Hold {
        Hold::Write(self.target.stamp(operation.offset, buffer, self.writer))
    }

    /// A write or a trim of taken blocks came back.
    #[inline]
    fn changed(&self, operation: &Operation, hold: Hold, is_done: bool) {
        let Operation { op, offset, bytes } = *operation;
        match hold {
            Hold::Write(hold) => self.target.written(offset, u64::from(bytes), hold, is_done),
            _ if op == OperationKind::Trim => self.target.trimmed(offset, u64::from(bytes), is_done),
            _ => self.release(operation),
        }
    }

    /// Is a write's range to be read before?
    #[inline]
    fn reads_before(&self, operation: &Operation) -> bool {
        self.before && self.target.knows(operation.offset, u64::from(operation.bytes))
    }

    /// A write came back that did what it should; its blocks stay taken.
    #[inline]
    fn wrote(&self, operation: &Operation, hold: Hold) {
        if let Hold::Write(hold) = hold {
            self.target.wrote(operation.offset, u64::from(operation.bytes), hold, true);
        }
    }

    /// Blocks of the sweep were read.
    #[inline]
    fn note_swept(&self, operation: &Operation) {
        if self.reads == FoundBy::Sweep {
            self.target.note_swept(operation.offset, u64::from(operation.bytes));
        }
    }
}

/// 1 of operations that take blocks.
#[inline]
fn takes(op: OperationKind) -> u8 {
    u8::from(matches!(op, OperationKind::Read | OperationKind::Write | OperationKind::Trim))
}

/// Has the lanes of these groups checked whose targets are; gives those targets.
pub(crate) fn attach(
    input: &RunInput<'_>,
    groups: &mut [Group<Blocks>],
    control: &Arc<Control>,
) -> Vec<Arc<TargetValidation>> {
    let Some(validation) = input.validation else { return Vec::new() };
    let mut sweeps: BTreeMap<usize, Arc<Sweep>> = BTreeMap::new();
    let mut targets: BTreeMap<usize, Arc<TargetValidation>> = BTreeMap::new();
    for Group { spec, lanes, work } in groups {
        let mut checked: Vec<Option<Checked>> = Vec::with_capacity(lanes.len());
        for ((spec, lane), place) in spec.lanes.iter().zip(lanes.iter_mut()).zip(&work.places) {
            let Some(target) = validation.target(spec.target) else {
                checked.push(None);
                continue;
            };
            targets.insert(spec.target, Arc::clone(target));
            let transfer = input.run.workloads[spec.workload].transfer_max_bytes();
            let sweep =
                || Arc::clone(sweeps.entry(spec.target).or_insert_with(|| Arc::new(Sweep::new(target, transfer))));
            let sweep = input.sweeps.then(sweep);
            let is_direct = work.files.get(place.file as usize).is_some_and(|file| file.flags.direct);
            let one = Checked {
                target: Arc::clone(target),
                writer: u16::try_from(spec.workload).unwrap_or(u16::MAX),
                reads: if sweep.is_some() { FoundBy::Sweep } else { FoundBy::Read },
                before: validation.settings.reads_before_write,
                after: validation.settings.reads_after_write,
                is_buffered: !is_direct,
            };
            lane.content = None;
            lane.checks = Some(Box::new(LaneChecks::new(one.clone(), sweep)));
            checked.push(Some(one));
        }
        if checked.iter().any(Option::is_some) {
            // Blocks have one operation at a time anyhow.
            spec.jobs.iter_mut().for_each(|job| job.job.keeps_apart &= !is_whole(&checked, &job.lanes));
            let (slots, control) = (SlotChecks::new(spec.depth()), Arc::clone(control));
            work.checks = Some(Box::new(Checks { lanes: checked, slots, control }));
        }
    }
    targets.into_values().collect()
}

/// Are all of these lanes checked?
fn is_whole(checked: &[Option<Checked>], lanes: &std::ops::Range<usize>) -> bool {
    checked.get(lanes.clone()).is_some_and(|lanes| lanes.iter().all(Option::is_some))
}
