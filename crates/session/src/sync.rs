//! `fsync` at the end of a run or job, and what the page cache holds between runs.

use engine::{FailedOperation, FirstError, IntervalHarvest, LaneEnd, LaneInterval};
use monitor::StopFlag;
use plan::generate::OperationKind;
use plan::{OpenFlags, Plan, Run, TargetSpec, Workload};
use quantity::clock;
use quantity::histogram::Histogram;
use rustix::fs::{fdatasync, fsync};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use target::{OpenTarget, TargetAccess, TargetKind};

/// How often it is looked whether the user gives up.
const NAP: Duration = Duration::from_millis(20);

/// How a workload opens a target.
pub(crate) fn flags_of(spec: &TargetSpec, workload: &Workload) -> OpenFlags {
    workload.open.unwrap_or(spec.open)
}

/// All ways in which the plan's runs open a target, in their order.
pub(crate) fn all_flags_of(plan: &Plan, index: usize) -> Vec<OpenFlags> {
    let Some(spec) = plan.targets.get(index) else { return Vec::new() };
    let workloads = plan.runs.iter().flat_map(|run| &run.workloads);
    let mut all: Vec<OpenFlags> = Vec::new();
    for workload in workloads.filter(|workload| workload.targets.contains(&index)) {
        let flags = OpenFlags { fsync_at_end: false, ..flags_of(spec, workload) };
        if !all.contains(&flags) {
            all.push(flags);
        }
    }
    all
}

/// Do the plan's runs change what the target with this index holds?
pub(crate) fn changes(plan: &Plan, index: usize) -> bool {
    plan.settings.format == Some(true)
        || plan
            .runs
            .iter()
            .flat_map(|run| run.workloads.iter().map(move |workload| (run, workload)))
            .any(|(run, workload)| workload.targets.contains(&index) && (run.format || workload.mix.changes_data()))
}

/// Must the target with this index be opened for writing? Not where only a journal's promises are read: what is to be proved may be
/// on a device that nobody may write any more.
pub(crate) fn access_of(plan: &Plan, index: usize) -> TargetAccess {
    let writes = changes(plan, index) && !crate::recovering::only_recovers(plan);
    if writes { TargetAccess::Write } else { TargetAccess::Read }
}

/// One `fsync` that a run ends with.
pub(crate) struct Wish {
    workload: usize,
    target: usize,
    /// `fdatasync`: only the data.
    only_data: bool,
    fd: OwnedFd,
}

impl Wish {
    /// Whose it is.
    pub(crate) fn workload(&self) -> usize {
        self.workload
    }
}

/// What a run ends with: an `fsync` of each target that `openflags=fsync` was said of and that was written to, of each job
/// of its own that `is_meant`; after a fill, `fdatasync` of what went through the page cache, or the first run would write
/// it.
pub(crate) fn wishes(
    plan: &Plan,
    run: &Run,
    targets: &[Option<OpenTarget>],
    is_meant: impl Fn(usize) -> bool,
) -> std::io::Result<Vec<Wish>> {
    let mut wishes: Vec<Wish> = Vec::new();
    let writes = |(at, workload): &(usize, &Workload)| {
        workload.mix.write > 0.0 && (workload.job.is_none() || run.format || is_meant(*at))
    };
    for (at, workload) in run.workloads.iter().enumerate().filter(writes) {
        for index in &workload.targets {
            let (Some(spec), Some(Some(opened))) = (plan.targets.get(*index), targets.get(*index)) else { continue };
            let flags = flags_of(spec, workload);
            let view = opened.view(flags);
            let is_wanted = if run.format { !view.direct } else { flags.fsync_at_end };
            // Several workloads of Vdbench's share a target that is opened once.
            let is_there = workload.job.is_none() && wishes.iter().any(|wish| wish.target == *index);
            if is_wanted && !is_there && opened.writable && opened.kind != TargetKind::Nothing {
                let fd = view.fd.try_clone_to_owned()?;
                wishes.push(Wish { workload: at, target: *index, only_data: run.format, fd });
            }
        }
    }
    Ok(wishes)
}

/// What came of the wishes.
pub(crate) struct Synced {
    /// Those that came back, as flushes.
    pub(crate) harvest: IntervalHarvest,
    /// Those that did not, with their ages.
    pub(crate) open: Vec<LaneEnd>,
}

/// One that came back.
struct Done {
    workload: usize,
    target: usize,
    began_ns: u64,
    t_ns: u64,
    result: std::io::Result<()>,
}

/// Wishes under way, all at the same time.
pub(crate) struct Syncing {
    tell: Sender<Done>,
    results: Receiver<Done>,
    /// When each that is under way began.
    waited: BTreeMap<(usize, usize), u64>,
    done: Vec<Done>,
    /// Workloads whose wishes were begun, whatever has become of them.
    begun: BTreeSet<usize>,
}

impl Syncing {
    pub(crate) fn new() -> Self {
        let (tell, results) = channel();
        Self { tell, results, waited: BTreeMap::new(), done: Vec::new(), begun: BTreeSet::new() }
    }

    /// Were the wishes of this workload begun?
    pub(crate) fn has(&self, workload: usize) -> bool {
        self.begun.contains(&workload)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waited.is_empty() && self.done.is_empty()
    }

    /// Begins to carry the wishes out.
    pub(crate) fn begin(&mut self, wishes: Vec<Wish>) {
        for Wish { workload, target, only_data, fd } in wishes {
            let began_ns = clock::now_ns();
            self.begun.insert(workload);
            self.waited.insert((workload, target), began_ns);
            let tell = self.tell.clone();
            let done = move |result| Done { workload, target, began_ns, t_ns: clock::now_ns(), result };
            let work = move || {
                let result = if only_data { fdatasync(&fd) } else { fsync(&fd) };
                let _ = tell.send(done(result.map_err(std::io::Error::from)));
            };
            if let Err(error) = std::thread::Builder::new().name("iodyno-fsync".to_string()).spawn(work) {
                self.take_in(Done { workload, target, began_ns, t_ns: clock::now_ns(), result: Err(error) });
            }
        }
    }

    fn take_in(&mut self, done: Done) {
        self.waited.remove(&(done.workload, done.target));
        self.done.push(done);
    }

    /// The workloads whose wishes have all come back since the last look, with them.
    pub(crate) fn take(&mut self) -> Vec<(usize, IntervalHarvest)> {
        while let Ok(done) = self.results.try_recv() {
            self.take_in(done);
        }
        let is_waited = |workload: usize| self.waited.keys().any(|(other, _)| *other == workload);
        let (later, whole): (Vec<Done>, Vec<Done>) =
            std::mem::take(&mut self.done).into_iter().partition(|done| is_waited(done.workload));
        self.done = later;
        let mut by_workload: BTreeMap<usize, Vec<Done>> = BTreeMap::new();
        whole.into_iter().for_each(|done| by_workload.entry(done.workload).or_default().push(done));
        by_workload.into_iter().map(|(workload, done)| (workload, harvest(done))).collect()
    }

    /// Waits for all of them, no longer than `patience`.
    pub(crate) fn finish(mut self, patience: Duration, stop: &StopFlag) -> Synced {
        let until_ns = clock::now_ns().saturating_add(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
        while let Ok(done) = self.results.try_recv() {
            self.take_in(done);
        }
        while !self.waited.is_empty() && clock::now_ns() < until_ns && !stop.is_urgent() {
            match self.results.recv_timeout(NAP) {
                Ok(done) => self.take_in(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let now_ns = clock::now_ns();
        let open = self.waited.into_iter().map(|((workload, target), began_ns)| {
            let mut age = Histogram::default();
            age.record(now_ns.saturating_sub(began_ns));
            LaneEnd {
                workload,
                target,
                op: OperationKind::Flush,
                in_flight_age: age.clone(),
                in_flight_service_age: age,
                waiting_age: Histogram::default(),
            }
        });
        let open: Vec<LaneEnd> = open.collect();
        let mut harvest = harvest(self.done);
        if harvest.lanes.is_empty() {
            let longest = open.iter().map(|end| end.in_flight_age.max().unwrap_or(0)).max();
            (harvest.t_ns, harvest.interval_ns) = (now_ns, longest.unwrap_or(0).max(1));
        }
        Synced { harvest, open }
    }
}

/// What came back, from the first beginning to the last end; each was due, and submitted, when the waiting for it began.
fn harvest(done: Vec<Done>) -> IntervalHarvest {
    let began_ns = done.iter().map(|done| done.began_ns).min().unwrap_or(0);
    let t_ns = done.iter().map(|done| done.t_ns).max().unwrap_or(0);
    let interval_ns = t_ns.saturating_sub(began_ns).max(1);
    let mut harvest = IntervalHarvest {
        t_ns,
        interval_ns,
        lanes: Vec::new(),
        workers: Vec::new(),
        jobs: Vec::new(),
        failures: Vec::new(),
        ios: Vec::new(),
        ios_lost: 0,
        executions: Vec::new(),
        steps: Vec::new(),
        notes: Vec::new(),
    };
    for done in done {
        add(&mut harvest, done);
    }
    harvest
}

/// Counts one that came back.
fn add(harvest: &mut IntervalHarvest, done: Done) {
    let Done { workload, target, began_ns, t_ns, result } = done;
    let mut service = Histogram::default();
    service.record(t_ns.saturating_sub(began_ns));
    let is_fine = result.is_ok();
    // A file system says why; where it does not, it is an error of I/O.
    let errno = |error: &std::io::Error| error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error());
    let first_error = result.as_ref().err().map(|error| FirstError { t_ns, errno: errno(error) });
    let mut at_once = Histogram::default();
    at_once.record(0);
    let in_flight_mean = service.sum() as f64 / harvest.interval_ns as f64;
    harvest.lanes.push(LaneInterval {
        workload,
        target,
        op: OperationKind::Flush,
        arrivals: 1,
        ops: u64::from(is_fine),
        bytes: 0,
        errors: u64::from(!is_fine),
        short: 0,
        first_error,
        response: if is_fine { service.clone() } else { Histogram::default() },
        service: if is_fine { service } else { Histogram::default() },
        wait: at_once,
        in_flight_mean,
        backlog: 0,
    });
    if let Err(error) = result {
        let kind = error.to_string();
        harvest.failures.push(FailedOperation {
            t_ns,
            workload,
            target,
            op: OperationKind::Flush,
            offset: 0,
            bytes: 0,
            path: None,
            kind,
        });
    }
}
