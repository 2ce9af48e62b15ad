//! Plans for tests and examples of the engine: files of a scratch folder, one run.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "each test uses a part of it"
)]

use engine::{EngineChoice, EngineOptions, IntervalHarvest, LaneInterval, ResolvedRate, RunInput, start};
use plan::{
    AddressOrder, AddressPattern, OpMix, Plan, Run, TargetSpec, TextSpan, TransferSize, Workload, WriteContent,
};
use std::path::{Path, PathBuf};
use std::time::Duration;
use target::{OpenTarget, TargetAccess, WritePolicy};

/// A target of a size and depth.
pub fn target(name: &str, path: &Path, size_bytes: u64, depth: u32) -> TargetSpec {
    TargetSpec {
        size_bytes: Some(size_bytes),
        depth,
        hit_area_bytes: 1 << 20,
        ..TargetSpec::whole(name.to_string(), path.to_path_buf())
    }
}

/// Random 4 KiB on the targets with these indices.
pub fn workload(name: &str, targets: &[usize], read: f64) -> Workload {
    Workload {
        name: name.to_string(),
        targets: targets.to_vec(),
        share: 1.0,
        share_fixed: false,
        rate: None,
        priority: None,
        depth: None,
        mix: OpMix::read_write(read),
        transfer: TransferSize::Fixed(4096),
        write_transfer: None,
        trim_transfer: None,
        address: AddressPattern::default(),
        content: WriteContent::default(),
        think_ns: 0,
        open: None,
        job: None,
        replay: None,
        load: plan::Load::Blocks,
        span: TextSpan::default(),
    }
}

/// One pass from the beginning to the end.
pub fn once() -> AddressPattern {
    AddressPattern { order: AddressOrder::Sequential { once: true, backward: false }, ..AddressPattern::default() }
}

/// A run of these workloads.
pub fn run(workloads: Vec<Workload>) -> Run {
    Run::new("rd1", workloads, 1_000_000_000)
}

/// A plan of one run, its targets opened.
pub struct Bench {
    pub plan: Plan,
    pub targets: Vec<Option<OpenTarget>>,
    pub choice: EngineChoice,
    pub workers: Option<usize>,
    pub pace: ResolvedRate,
}

impl Bench {
    pub fn new(targets: Vec<TargetSpec>, run: Run) -> Self {
        let destroy = targets.iter().map(|spec| spec.path.clone()).collect();
        let policy = WritePolicy { destroy, ..WritePolicy::default() };
        let opened = targets
            .iter()
            .map(|spec| Some(target::open(spec, spec.open, TargetAccess::Write, &policy).unwrap()))
            .collect();
        let plan = Plan { targets, runs: vec![run], ..Plan::default() };
        Self { plan, targets: opened, choice: EngineChoice::Auto, workers: None, pace: ResolvedRate::Max }
    }

    /// The run, with seeds 7, and nothing that proves its data.
    pub fn input(&self) -> RunInput<'_> {
        RunInput {
            plan: &self.plan,
            run: &self.plan.runs[0],
            rate: self.pace,
            targets: &self.targets,
            trees: &[],
            seed: 7,
            varying_seed: 7,
            data_seed: 7,
            validation: None,
            sweeps: false,
        }
    }

    /// What the engine says when it refuses to start.
    pub fn refusal(&self) -> String {
        let input = self.input();
        start(input, &EngineOptions { choice: self.choice, workers: self.workers, errors_max: None, damage_max: None })
            .err()
            .unwrap()
            .to_string()
    }

    /// What the engine says of how it issues I/O, and why.
    pub fn description(&self) -> String {
        let input = self.input();
        let running = start(
            input,
            &EngineOptions { choice: self.choice, workers: self.workers, errors_max: None, damage_max: None },
        )
        .unwrap();
        let description = running.describe();
        assert_eq!(running.finish(Duration::from_secs(5)).unwrap().unfinished(), 0);
        description
    }

    /// Runs for `time`, or until it ends by itself when `None`; gives the sums of all intervals.
    pub fn go(&self, time: Option<Duration>) -> Vec<LaneInterval> {
        let input = self.input();
        let mut running = start(
            input,
            &EngineOptions { choice: self.choice, workers: self.workers, errors_max: None, damage_max: None },
        )
        .unwrap();
        let mut sums: Vec<LaneInterval> = Vec::new();
        let begin = running.started_ns();
        let mut last = 0;
        while !running.finished() {
            let now = quantity::clock::now_ns();
            if time.is_some_and(|time| u128::from(now.saturating_sub(begin)) >= time.as_nanos()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
            if now - last > 100_000_000 {
                add(&mut sums, running.harvest());
                last = now;
            }
        }
        running.stop();
        while !running.finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        add(&mut sums, running.harvest());
        assert_eq!(running.finish(Duration::from_secs(5)).unwrap().unfinished(), 0);
        sums
    }
}

fn add(sums: &mut Vec<LaneInterval>, harvest: IntervalHarvest) {
    assert!(harvest.failures.is_empty(), "{:?}", harvest.failures);
    for lane in harvest.lanes {
        match sums.iter_mut().find(|sum| (sum.workload, sum.target, sum.op) == (lane.workload, lane.target, lane.op)) {
            Some(sum) => {
                sum.arrivals += lane.arrivals;
                sum.ops += lane.ops;
                sum.bytes += lane.bytes;
                sum.errors += lane.errors;
                sum.response.merge(&lane.response);
                sum.service.merge(&lane.service);
                sum.backlog = lane.backlog;
            }
            None => sums.push(lane),
        }
    }
}

/// A scratch folder on a real file system.
pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("iodyno-engine-").tempdir_in("/var/tmp").unwrap()
}

/// A file of this size that was written once, and its target.
pub fn filled(folder: &Path, name: &str, size_bytes: u64, depth: u32) -> TargetSpec {
    let path: PathBuf = folder.join(name);
    let spec = target(name, &path, size_bytes, 8);
    let mut fill = workload("fill", &[0], 0.0);
    fill.address = once();
    fill.transfer = TransferSize::Fixed(128 << 10);
    Bench::new(vec![spec.clone()], run(vec![fill])).go(None);
    TargetSpec { depth, ..spec }
}
