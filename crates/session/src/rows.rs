//! From the engine's harvest to rows of the recording, and the exact totals of a run.

use engine::{FailedOperation, FinishedRun, FirstError, IntervalHarvest, LaneInterval, WorkerInterval};
use monitor::signed;
use plan::{Plan, Run, generate::OperationKind};
use quantity::histogram::Histogram;
use recording::rows::{EngineInterval, Event, JobInterval, OpInterval, RunEnd, RunTotal, StepInterval, StepTotal};
use recording::{EventKind, EventSeverity, LoadPhase, SizeHistogram};
use std::collections::{BTreeMap, BTreeSet};

/// Sub-buckets per octave, as a power of two, of histograms stored per interval (error ≤ 3.1 %).
const STORED_SUB_BITS: u32 = 5;

/// What every row of one stretch of a run has in common.
#[derive(Clone, Debug)]
pub(crate) struct RowSpan<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a Run,
    /// Title of the run, with the number of the repetition when there are several.
    pub(crate) title: &'a str,
    /// Position of the run in the order of execution.
    pub(crate) run_index: i32,
    /// Phase of the run.
    pub(crate) phase: LoadPhase,
    /// `CLOCK_MONOTONIC` at the recording's start, ns.
    pub(crate) origin_ns: u64,
}

impl RowSpan<'_> {
    /// Seconds since the recording's start.
    pub(crate) fn seconds(&self, t_ns: u64) -> f64 {
        t_ns.saturating_sub(self.origin_ns) as f64 / 1e9
    }

    pub(crate) fn workload(&self, index: usize) -> String {
        self.run.workloads[index].name.clone()
    }

    /// Name of the target or tree with this number.
    pub(crate) fn target(&self, place: usize) -> String {
        self.plan.place_name(place).to_string()
    }

    /// One row per lane that did anything.
    pub(crate) fn op_intervals(&self, harvest: &IntervalHarvest) -> Vec<OpInterval> {
        harvest.lanes.iter().filter(|lane| is_worth_a_row(lane)).map(|lane| self.op_interval(harvest, lane)).collect()
    }

    fn op_interval(&self, harvest: &IntervalHarvest, lane: &LaneInterval) -> OpInterval {
        OpInterval {
            t_ns: signed(harvest.t_ns),
            t_s: self.seconds(harvest.t_ns),
            interval_ns: signed(harvest.interval_ns),
            run: self.title.to_string(),
            run_index: self.run_index,
            phase: self.phase.clone(),
            workload: self.workload(lane.workload),
            target: self.target(lane.target),
            op: lane.op.name().to_string(),
            arrivals: Some(signed(lane.arrivals)),
            ops: signed(lane.ops),
            bytes: signed(lane.bytes),
            errors: Some(signed(lane.errors)),
            response: lane.response.collapse(STORED_SUB_BITS),
            service: lane.service.collapse(STORED_SUB_BITS),
            wait: Some(lane.wait.collapse(STORED_SUB_BITS)),
            in_flight_mean: Some(lane.in_flight_mean),
            backlog: Some(signed(lane.backlog)),
        }
    }

    /// One row per kind of steps of which there were any.
    pub(crate) fn step_intervals(&self, harvest: &IntervalHarvest) -> Vec<StepInterval> {
        let row = |step: &engine::StepInterval| StepInterval {
            t_ns: signed(harvest.t_ns),
            t_s: self.seconds(harvest.t_ns),
            interval_ns: signed(harvest.interval_ns),
            run: self.title.to_string(),
            run_index: self.run_index,
            phase: self.phase.clone(),
            workload: self.workload(step.workload),
            target: self.target(step.target),
            op: step.op.name().to_string(),
            ops: signed(step.ops),
            bytes: signed(step.bytes),
            errors: signed(step.errors),
            service: step.service.collapse(STORED_SUB_BITS),
        };
        harvest.steps.iter().filter(|step| was_taken(step)).map(row).collect()
    }

    /// One row per worker of the engine.
    pub(crate) fn engine_intervals(&self, harvest: &IntervalHarvest) -> Vec<EngineInterval> {
        harvest.workers.iter().map(|worker| self.engine_interval(harvest, worker)).collect()
    }

    fn engine_interval(&self, harvest: &IntervalHarvest, worker: &WorkerInterval) -> EngineInterval {
        EngineInterval {
            t_ns: signed(harvest.t_ns),
            t_s: self.seconds(harvest.t_ns),
            interval_ns: signed(harvest.interval_ns),
            run: self.title.to_string(),
            run_index: self.run_index,
            worker: i32::try_from(worker.worker).unwrap_or(i32::MAX),
            engine: worker.engine.to_string(),
            cpu_user_ns: signed(worker.cpu_user_ns),
            cpu_sys_ns: signed(worker.cpu_sys_ns),
            context_switches: worker.context_switches.map(signed),
            minor_faults: Some(signed(worker.minor_faults)),
            major_faults: Some(signed(worker.major_faults)),
            wait: worker.wait.collapse(STORED_SUB_BITS),
            timestamp_age_ns_max: signed(worker.timestamp_age_ns_max),
            submit_calls: signed(worker.submit_calls),
            wakeups: signed(worker.wakeups),
            limited: worker.limited,
        }
    }

    /// One row per job that has something to say.
    pub(crate) fn job_intervals(&self, harvest: &IntervalHarvest) -> Vec<JobInterval> {
        let row = |job: &engine::JobInterval| JobInterval {
            t_ns: signed(harvest.t_ns),
            t_s: self.seconds(harvest.t_ns),
            interval_ns: signed(harvest.interval_ns),
            run: self.title.to_string(),
            run_index: self.run_index,
            phase: self.phase.clone(),
            workload: self.workload(job.workload),
            began_t_ns: job.began_ns.map(signed),
            ended_t_ns: job.ended_ns.map(signed),
            depth: SizeHistogram(job.depth.clone()),
            submitted: SizeHistogram(job.submitted.clone()),
            completed: SizeHistogram(job.completed.clone()),
        };
        harvest.jobs.iter().map(row).collect()
    }

    /// One row per failed operation that the engine kept.
    pub(crate) fn failures(&self, harvest: &IntervalHarvest) -> Vec<Event> {
        harvest
            .failures
            .iter()
            .map(|failure| Event {
                t_ns: signed(failure.t_ns),
                t_s: self.seconds(failure.t_ns),
                severity: EventSeverity::Error,
                kind: EventKind::IoError,
                class: None,
                run: Some(self.title.to_string()),
                target: Some(self.target(failure.target)),
                message: self.failure_words(failure),
                count: 1,
            })
            .collect()
    }

    /// `mkdir of /a/vdb.1_1.dir failed: …`; an operation on data says where in it.
    fn failure_words(&self, failure: &FailedOperation) -> String {
        let place = || self.plan.place_path(failure.target).display().to_string();
        let path = failure.path.clone().unwrap_or_else(place);
        let (op, bytes, offset, kind) = (failure.op.name(), failure.bytes, failure.offset, &failure.kind);
        // A step before it failed, so nothing was transferred.
        if failure.op.works_on_names() || (failure.path.is_some() && bytes == 0) {
            return format!("{op} of {path} failed: {kind}");
        }
        format!("{op} of {bytes} bytes at offset {offset} of {path} failed: {kind}")
    }
}

/// A kind of steps that did not occur has no row.
fn was_taken(step: &engine::StepInterval) -> bool {
    step.ops > 0 || step.errors > 0
}

/// A lane without arrivals, completions, errors or anything in flight has nothing to say.
fn is_worth_a_row(lane: &LaneInterval) -> bool {
    lane.ops > 0 || lane.arrivals > 0 || lane.errors > 0 || lane.backlog > 0 || lane.in_flight_mean > 0.0
}

/// What a run did, exactly, at full resolution, by phase × workload × target × operation.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    lanes: BTreeMap<(LoadPhase, usize, usize, usize), LaneTotal>,
    /// What the operations of the lanes needed besides, by the same key.
    steps: BTreeMap<(LoadPhase, usize, usize, usize), StepSum>,
}

#[derive(Debug, Default)]
struct StepSum {
    start_ns: u64,
    end_ns: u64,
    ops: u64,
    bytes: u64,
    errors: u64,
    service: Histogram,
}

#[derive(Debug, Default)]
struct LaneTotal {
    start_ns: u64,
    end_ns: u64,
    arrivals: u64,
    ops: u64,
    bytes: u64,
    errors: u64,
    short: u64,
    first_error: Option<FirstError>,
    response: Histogram,
    service: Histogram,
    wait: Histogram,
}

/// Sums over the lanes of some phases.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) arrivals: u64,
    pub(crate) ops: u64,
    pub(crate) errors: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) response_sum_ns: u128,
    pub(crate) service_sum_ns: u128,
}

impl Sum {
    /// Mean response time in ns.
    pub(crate) fn response_mean_ns(&self) -> Option<f64> {
        (self.ops > 0).then(|| self.response_sum_ns as f64 / self.ops as f64)
    }
}

impl Totals {
    /// Adds one interval.
    pub(crate) fn add(&mut self, phase: &LoadPhase, harvest: &IntervalHarvest) {
        let start_ns = harvest.t_ns.saturating_sub(harvest.interval_ns);
        for lane in harvest.lanes.iter().filter(|lane| is_worth_a_row(lane)) {
            let total = self
                .lanes
                .entry((phase.clone(), lane.workload, lane.target, lane.op.index()))
                .or_insert_with(|| LaneTotal { start_ns, ..LaneTotal::default() });
            total.end_ns = harvest.t_ns;
            total.arrivals += lane.arrivals;
            total.ops += lane.ops;
            total.bytes += lane.bytes;
            total.errors += lane.errors;
            total.short += lane.short;
            total.first_error = total.first_error.into_iter().chain(lane.first_error).min();
            total.response.merge(&lane.response);
            total.service.merge(&lane.service);
            total.wait.merge(&lane.wait);
        }
        for step in harvest.steps.iter().filter(|step| was_taken(step)) {
            let key = (phase.clone(), step.workload, step.target, step.op.index());
            let sum = self.steps.entry(key).or_insert_with(|| StepSum { start_ns, ..StepSum::default() });
            sum.end_ns = harvest.t_ns;
            sum.ops += step.ops;
            sum.bytes += step.bytes;
            sum.errors += step.errors;
            sum.service.merge(&step.service);
        }
    }

    /// Sums over `phases`.
    pub(crate) fn sum(&self, phases: &[LoadPhase]) -> Sum {
        let mut sum = Sum::default();
        for ((phase, _, _, op), total) in &self.lanes {
            if !phases.contains(phase) {
                continue;
            }
            sum.arrivals += total.arrivals;
            sum.ops += total.ops;
            sum.errors += total.errors;
            sum.response_sum_ns += total.response.sum();
            sum.service_sum_ns += total.service.sum();
            // A copy reads as much as it writes.
            let kind = OperationKind::ALL.get(*op).copied();
            if matches!(kind, Some(OperationKind::Read | OperationKind::Copy)) {
                sum.bytes_read += total.bytes;
            }
            if matches!(kind, Some(OperationKind::Write | OperationKind::Copy)) {
                sum.bytes_written += total.bytes;
            }
        }
        sum
    }

    /// Operations of each workload in `phase`, by index.
    pub(crate) fn ops_by_workload(&self, phase: &LoadPhase, workloads: usize) -> Vec<u64> {
        let mut ops = vec![0; workloads];
        for ((at, workload, _, _), total) in &self.lanes {
            if at == phase {
                ops[*workload] += total.ops;
            }
        }
        ops
    }

    /// What has no end, a row per lane that did anything; the load ended at `end_ns`, in the stretch's phase.
    pub(crate) fn ends(&self, stretch: &RowSpan<'_>, finished: &FinishedRun, end_ns: u64) -> Vec<RunEnd> {
        let t_ns = finished.harvest.t_ns;
        let active = self.lanes.keys().map(|(_, workload, target, op)| (*workload, *target, *op));
        let open = finished.open.iter().map(|end| (end.workload, end.target, end.op.index()));
        let lanes: BTreeSet<(usize, usize, usize)> = active.chain(open).collect();
        let row = |(workload, target, op): (usize, usize, usize)| {
            let known = |end: &&engine::LaneEnd| (end.workload, end.target, end.op.index()) == (workload, target, op);
            let ages = |of: fn(&engine::LaneEnd) -> &Histogram| {
                let mut ages = Histogram::default();
                finished.open.iter().filter(known).for_each(|end| ages.merge(of(end)));
                ages
            };
            let (in_flight_age, waiting_age) = (ages(|end| &end.in_flight_age), ages(|end| &end.waiting_age));
            RunEnd {
                t_ns: signed(t_ns),
                t_s: stretch.seconds(t_ns),
                end_t_ns: signed(end_ns),
                run: stretch.title.to_string(),
                run_index: stretch.run_index,
                phase: stretch.phase.clone(),
                workload: stretch.workload(workload),
                target: stretch.target(target),
                op: OperationKind::ALL[op].name().to_string(),
                in_flight: signed(in_flight_age.count()),
                waiting: signed(waiting_age.count()),
                in_flight_age,
                in_flight_service_age: ages(|end| &end.in_flight_service_age),
                waiting_age,
            }
        };
        lanes.into_iter().map(row).collect()
    }

    /// Steps for the recording.
    pub(crate) fn step_rows(&self, stretch: &RowSpan<'_>) -> Vec<StepTotal> {
        self.steps
            .iter()
            .map(|((phase, workload, target, op), sum)| StepTotal {
                t_ns: signed(sum.end_ns),
                t_s: stretch.seconds(sum.end_ns),
                start_t_ns: signed(sum.start_ns),
                run: stretch.title.to_string(),
                run_index: stretch.run_index,
                phase: phase.clone(),
                workload: stretch.workload(*workload),
                target: stretch.target(*target),
                op: OperationKind::ALL[*op].name().to_string(),
                ops: signed(sum.ops),
                bytes: signed(sum.bytes),
                errors: signed(sum.errors),
                service: sum.service.clone(),
            })
            .collect()
    }

    /// Rows for the recording; called once, when the run has ended.
    pub(crate) fn rows(self, stretch: &RowSpan<'_>) -> Vec<RunTotal> {
        self.lanes
            .into_iter()
            .map(|((phase, workload, target, op), total)| RunTotal {
                t_ns: signed(total.end_ns),
                t_s: stretch.seconds(total.end_ns),
                start_t_ns: signed(total.start_ns),
                run: stretch.title.to_string(),
                run_index: stretch.run_index,
                phase,
                workload: stretch.workload(workload),
                target: stretch.target(target),
                op: OperationKind::ALL[op].name().to_string(),
                arrivals: Some(signed(total.arrivals)),
                ops: signed(total.ops),
                bytes: signed(total.bytes),
                errors: Some(signed(total.errors)),
                response: total.response,
                service: total.service,
                short: Some(signed(total.short)),
                first_error: total.first_error.map(|first| first.errno),
                first_error_t_ns: total.first_error.map(|first| signed(first.t_ns)),
                wait: Some(total.wait),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::commands::{CommandRequest, command_plan};
    use plan::{TextSpan, TreeSpec};

    /// A plan with a tree and no target.
    fn tree_plan() -> Plan {
        let request = CommandRequest {
            name: None,
            words: vec!["fwd1".to_string()],
            setup: None,
            prepare: None,
            ignores_failure: false,
            times: 1,
            warmups: 0,
            variables: Vec::new(),
            elapsed_ns: None,
            interval_ns: 1_000_000_000,
        };
        let mut plan = command_plan(&request).unwrap();
        let span = TextSpan::default();
        plan.trees.push(TreeSpec { name: "fsd1".into(), anchor: "/mnt/t".into(), makes_parents: false, span });
        plan
    }

    fn step(op: OperationKind, times: &[u64]) -> engine::StepInterval {
        let mut service = Histogram::default();
        times.iter().for_each(|ns| service.record(*ns));
        let ops = u64::try_from(times.len()).unwrap();
        engine::StepInterval { workload: 0, target: 0, op, ops, bytes: 0, errors: u64::from(ops == 2), service }
    }

    fn lane(op: OperationKind, bytes: u64) -> LaneInterval {
        let mut response = Histogram::default();
        response.record(1000);
        LaneInterval {
            workload: 0,
            target: 0,
            op,
            arrivals: 1,
            ops: 1,
            bytes,
            errors: 0,
            short: 0,
            first_error: None,
            service: response.clone(),
            wait: response.clone(),
            response,
            in_flight_mean: 0.1,
            backlog: 0,
        }
    }

    fn harvest(t_ns: u64, lanes: Vec<LaneInterval>, steps: Vec<engine::StepInterval>) -> IntervalHarvest {
        IntervalHarvest {
            t_ns,
            interval_ns: 1_000_000_000,
            lanes,
            workers: Vec::new(),
            jobs: Vec::new(),
            failures: Vec::new(),
            ios: Vec::new(),
            ios_lost: 0,
            executions: Vec::new(),
            steps,
            notes: Vec::new(),
        }
    }

    #[test]
    fn steps_are_in_tables_of_their_own_and_in_no_sum() {
        let plan = tree_plan();
        let span = RowSpan {
            plan: &plan,
            run: &plan.runs[0],
            title: "rd1",
            run_index: 3,
            phase: LoadPhase::Measure,
            origin_ns: 0,
        };
        let second = 1_000_000_000;
        let harvests = [
            harvest(second, vec![lane(OperationKind::Copy, 4096)], vec![step(OperationKind::Open, &[5000, 7000])]),
            harvest(2 * second, vec![lane(OperationKind::Create, 0)], vec![step(OperationKind::Open, &[9000])]),
            // Of what did not occur there is no row.
            harvest(3 * second, vec![lane(OperationKind::Read, 512)], vec![step(OperationKind::Close, &[])]),
        ];
        let mut totals = Totals::default();
        harvests.iter().for_each(|harvest| totals.add(&LoadPhase::Measure, harvest));
        let rows: Vec<StepInterval> = harvests.iter().flat_map(|harvest| span.step_intervals(harvest)).collect();
        let known: Vec<(&str, &str, i64, i64)> =
            rows.iter().map(|row| (&*row.target, &*row.op, row.ops, row.errors)).collect();
        assert_eq!(known, [("fsd1", "open", 2, 1), ("fsd1", "open", 1, 0)]);
        let [total] = &totals.step_rows(&span)[..] else { panic!("{:?}", totals.step_rows(&span)) };
        assert_eq!((total.ops, total.errors, total.start_t_ns, total.t_ns), (3, 1, 0, 2_000_000_000));
        assert_eq!((total.service.sum(), total.run_index, &*total.workload), (21_000, 3, "fwd1"));
        // A copy is read and written.
        let sum = totals.sum(&[LoadPhase::Measure]);
        assert_eq!((sum.ops, sum.errors, sum.bytes_read, sum.bytes_written), (3, 0, 4608, 4096));
        let ops: Vec<String> = totals.rows(&span).into_iter().map(|row| row.op).collect();
        assert_eq!(ops, ["read", "create", "copy"]);
    }

    #[test]
    fn a_failure_in_a_tree_names_its_file() {
        let plan = tree_plan();
        let span = RowSpan {
            plan: &plan,
            run: &plan.runs[0],
            title: "rd1",
            run_index: 0,
            phase: LoadPhase::Measure,
            origin_ns: 0,
        };
        let failure = |op, path: Option<&str>| FailedOperation {
            t_ns: 1,
            workload: 0,
            target: 0,
            op,
            offset: 8192,
            bytes: 4096,
            path: path.map(String::from),
            kind: "No space left on device (ENOSPC)".to_string(),
        };
        let file = Some("/mnt/t/vdb.1_1.dir/vdb_f0001.file");
        assert_eq!(
            span.failure_words(&failure(OperationKind::Create, file)),
            "create of /mnt/t/vdb.1_1.dir/vdb_f0001.file failed: No space left on device (ENOSPC)"
        );
        assert_eq!(
            span.failure_words(&failure(OperationKind::Write, file)),
            "write of 4096 bytes at offset 8192 of /mnt/t/vdb.1_1.dir/vdb_f0001.file failed: No space left on device (ENOSPC)"
        );
        assert!(span.failure_words(&failure(OperationKind::Mkdir, None)).starts_with("mkdir of /mnt/t failed: "));
        let harvest =
            IntervalHarvest { failures: vec![failure(OperationKind::Create, file)], ..harvest(1, vec![], vec![]) };
        assert_eq!(span.failures(&harvest)[0].target.as_deref(), Some("fsd1"));
    }
}
