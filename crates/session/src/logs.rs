//! What fio's logs are made of: intervals as short as they ask for, and a row of each I/O, of the jobs that ask for it.
//!
//! The engine is harvested more often then; everything else sees the parts of an interval put together.

use crate::rows::RowSpan;
use engine::IntervalHarvest;
use monitor::signed;
use plan::generate::OperationKind;
use plan::{JobTexts, Run};
use recording::rows::{LogInterval, LogIo};
use recording::{Label, LoadPhase};

/// How often operations that are kept one by one are fetched: there is room for five million a second of each worker.
const EACH_NS: u64 = 50_000_000;
/// Sub-buckets per octave, as a power of two, of the histograms: fio's.
const SUB_BITS: u32 = 6;

/// What a workload asks for.
#[derive(Clone, Debug, Default)]
struct Wish {
    /// When its intervals begin, ns of the measured time.
    start_ns: u64,
    /// How long they are, ns.
    periods_ns: Vec<u64>,
    each: bool,
}

/// The logs of one run.
#[derive(Debug)]
pub(crate) struct Logs {
    /// By workload.
    wishes: Vec<Option<Wish>>,
    /// The parts of the interval under way.
    pending: Option<IntervalHarvest>,
}

impl Logs {
    /// Those that the run's jobs ask for; `status_ns`: all of its workloads, in intervals of this length. `None`: there are none.
    pub(crate) fn of(jobs: &JobTexts, status_ns: Option<u64>, run: &Run) -> Option<Self> {
        if run.format {
            return None;
        }
        let wish = |workload: &plan::Workload| {
            let text = jobs.jobs.iter().find(|text| text.run == run.title && text.workload == workload.name);
            let logs = text.and_then(|text| jobs.logs(text).ok()).filter(plan::JobLogs::is_any);
            let starts_ns = workload.job.as_ref().map_or(0, |job| job.start_ns);
            let periods = logs.iter().flat_map(plan::JobLogs::periods_ms).map(|ms| ms.saturating_mul(1_000_000));
            let wish = Wish {
                start_ns: starts_ns.saturating_sub(run.warmup_ns),
                periods_ns: periods.chain(status_ns.filter(|period_ns| *period_ns > 0)).collect(),
                each: logs.as_ref().is_some_and(plan::JobLogs::needs_each),
            };
            (wish.each || !wish.periods_ns.is_empty()).then_some(wish)
        };
        let wishes: Vec<Option<Wish>> = run.workloads.iter().map(wish).collect();
        wishes.iter().any(Option::is_some).then_some(Self { wishes, pending: None })
    }

    /// By workload: is a row of each of its I/Os asked for?
    pub(crate) fn each(&self) -> Vec<bool> {
        self.wishes.iter().map(|wish| wish.as_ref().is_some_and(|wish| wish.each)).collect()
    }

    /// When the next of all intervals ends, after `now_ns` of the measured time.
    pub(crate) fn next_ns(&self, now_ns: u64) -> u64 {
        let ends = self.wishes.iter().flatten().flat_map(|wish| {
            let of_each = wish.each.then_some(EACH_NS);
            let end = move |period_ns: u64| match now_ns.checked_sub(wish.start_ns) {
                Some(since_ns) => wish.start_ns + (since_ns / period_ns + 1) * period_ns,
                None => wish.start_ns,
            };
            wish.periods_ns.iter().copied().chain(of_each).map(end)
        });
        ends.min().unwrap_or(u64::MAX)
    }

    /// What goes into the recording of this harvest.
    pub(crate) fn rows(&self, stretch: &RowSpan<'_>, harvest: &mut IntervalHarvest) -> (Vec<LogInterval>, Vec<LogIo>) {
        let ios = std::mem::take(&mut harvest.ios);
        if !matches!(stretch.phase, LoadPhase::Measure | LoadPhase::Drain) {
            return (Vec::new(), Vec::new());
        }
        let has_intervals =
            |workload: usize| self.wishes[workload].as_ref().is_some_and(|wish| !wish.periods_ns.is_empty());
        let did = |lane: &&engine::LaneInterval| {
            has_intervals(lane.workload) && (lane.ops > 0 || lane.errors > 0 || lane.wait.count() > 0)
        };
        let intervals = harvest.lanes.iter().filter(did).map(|lane| LogInterval {
            t_ns: signed(harvest.t_ns),
            t_s: stretch.seconds(harvest.t_ns),
            interval_ns: signed(harvest.interval_ns),
            run: stretch.title.to_string(),
            run_index: stretch.run_index,
            workload: stretch.workload(lane.workload),
            target: stretch.target(lane.target),
            op: lane.op.name().to_string(),
            ops: signed(lane.ops),
            bytes: signed(lane.bytes),
            errors: signed(lane.errors),
            response: lane.response.collapse(SUB_BITS),
            service: lane.service.collapse(SUB_BITS),
            wait: lane.wait.collapse(SUB_BITS),
        });
        let workloads: Vec<Label> =
            stretch.run.workloads.iter().map(|workload| Label::from(workload.name.as_str())).collect();
        let targets: Vec<Label> = stretch.plan.targets.iter().map(|target| Label::from(target.name.as_str())).collect();
        let ops = OperationKind::BLOCKS.map(|op| Label::from(op.name()));
        let each = ios.iter().map(|io| LogIo {
            t_ns: signed(io.t_ns),
            t_s: stretch.seconds(io.t_ns),
            run_index: stretch.run_index,
            workload: workloads[io.workload].clone(),
            target: targets[io.target].clone(),
            op: ops[io.op.index()].clone(),
            offset: signed(io.offset),
            bytes: i64::from(io.bytes),
            response_ns: signed(io.response_ns),
            service_ns: signed(io.service_ns),
            priority: io.priority.map(i32::from),
        });
        (intervals.collect(), each.collect())
    }

    /// What was put aside and this one together.
    pub(crate) fn whole(&mut self, harvest: IntervalHarvest) -> IntervalHarvest {
        match self.pending.take() {
            Some(before) => before.followed_by(harvest),
            None => harvest,
        }
    }

    /// Puts a part of an interval aside.
    pub(crate) fn put_aside(&mut self, harvest: IntervalHarvest) {
        self.pending = Some(harvest);
    }
}
