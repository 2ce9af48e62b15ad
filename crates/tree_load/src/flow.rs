//! Flows: several operations on a file, one behind the other.
//!
//! A flow falls into parts, each of which works on a file of its own; the file is the thread's until the part ends. What an operation
//! needs and the part does not have, as an open file, is made before it as a step, and at the end of the part everything is again as it was
//! but for what the operations say: open files are closed, second and temporary names are removed, each as a step.

use super::flow_file::FlowFile;
use super::flow_kinds::{Part, RECENT, copies, needs_open, parts};
use super::thread::{Failure, Performed, TreeThread};
use super::tickets::{Ticket, below, chance};
use plan::FlowStep;
use plan::generate::OperationKind;

/// When the operations of a flow are due.
struct FlowTime {
    /// When the flow was; the run's limits are those of this moment. At full speed, when its operation is.
    asked_ns: u64,
    /// When the next operation is.
    due_ns: u64,
}

impl TreeThread<'_> {
    /// Does one flow after the other until the lane or the run is over.
    pub(crate) fn run_flow(&mut self, steps: &[FlowStep]) {
        let parts = parts(steps);
        self.recent.made.reserve_exact(RECENT);
        self.recent.removed.reserve_exact(RECENT);
        while self.goes_on() {
            let Some(Ticket { due_ns, .. }) = self.ticket() else { return };
            if !self.wait_until(due_ns) {
                return;
            }
            let mut time = FlowTime { asked_ns: due_ns, due_ns };
            if !parts.iter().all(|part| self.run_part(part, &mut time)) {
                return;
            }
        }
    }

    /// False: the thread is to end.
    #[inline(always)]
    fn run_part(&mut self, part: &Part<'_>, time: &mut FlowTime) -> bool {
        let Some(mut file) = self.begin_part(part, time) else { return false };
        let goes_on = part.steps.iter().all(|step| self.flow_step(part, step, &mut file, time));
        self.end_part(file);
        goes_on
    }

    /// Takes a file for the operations of a part.
    fn begin_part(&mut self, part: &Part<'_>, time: &FlowTime) -> Option<FlowFile> {
        let Some(need) = part.need else {
            self.set_path(b"");
            return Some(FlowFile::none());
        };
        self.need = need;
        // Where there is none any more, those that are left of this flow still wait.
        let due_ns = (!self.lane.is_closed()).then(|| time.asked_ns.saturating_add(1));
        let found = self.find(due_ns)?;
        self.tree_path(found.at);
        Some(FlowFile::new(self.lane, found, self.path.len()))
    }

    /// May the next operation of a flow be done? At a rate all are that were asked for with the first.
    fn flow_goes_on(&self) -> bool {
        if !self.lane.is_closed() {
            return !self.all.run.is_aborted();
        }
        self.goes_on() && self.all.run.goes_on() && self.free_ns <= self.all.last_ns
    }

    /// Does one operation of a flow, with the steps that it needs. False: the thread is to end.
    #[inline(always)]
    fn flow_step(&mut self, part: &Part<'_>, step: &FlowStep, file: &mut FlowFile, time: &mut FlowTime) -> bool {
        if !self.flow_goes_on() {
            return false;
        }
        let prepared = match file.failed {
            Some(failure) => Err(failure),
            None => self.prepare(part, step, file),
        };
        let prepared = prepared.map(|()| self.flow_place(step, file));
        if self.lane.is_closed() {
            // A step before it, or a file to wait for, is none of its own time.
            time.due_ns = self.free_ns;
            time.asked_ns = self.free_ns;
        }
        let place = prepared.map_or((0, 0), |place| (place.offset, u32::try_from(place.bytes).unwrap_or(u32::MAX)));
        if !self.grant(step.op, place, time.asked_ns) {
            return false;
        }
        let ticket = Ticket { kind: step.op, due_ns: time.due_ns };
        let done = prepared.unwrap_or(super::flow_data::Place::new(0, 0));
        let performed = self.perform_granted(ticket, place, |this| this.flow_call(part, step.op, file, prepared?));
        time.due_ns = self.free_ns;
        match performed {
            Performed::Failed(failure) if file.failed.is_none() => {
                // Those that are left on this file fail with it.
                file.failed = Some(failure.step.map_or(failure.of_step(step.op), |_| failure));
            }
            Performed::Done(_) => self.after_write(step.op, file, done),
            _ => {}
        }
        true
    }

    /// How many bytes an operation is about.
    pub(crate) fn step_bytes(&mut self, bytes: Option<(u64, u64)>) -> u64 {
        self.transfers += 1;
        match bytes {
            Some((from, to)) if to > from => {
                from + below(chance(self.seed ^ 0x7374_6570, self.transfers), (to - from).saturating_add(1))
            }
            Some((from, _)) => from,
            None => self.transfer_size(),
        }
    }

    #[inline(always)]
    fn flow_call(
        &mut self,
        part: &Part<'_>,
        op: OperationKind,
        file: &mut FlowFile,
        place: super::flow_data::Place,
    ) -> Result<u64, Failure> {
        if op.moves_data() || op == OperationKind::Tail {
            return self.move_data(op, file, place);
        }
        match op {
            OperationKind::Open => self.open_current(part, file)?,
            OperationKind::Close => self.close_now(file)?,
            _ if needs_open(op) || copies(op) => self.change_data(op, file, place)?,
            _ => self.change_names(part, op, file, place)?,
        }
        Ok(0)
    }
}
