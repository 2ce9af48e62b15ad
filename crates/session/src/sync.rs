//! `fsync` at the end of a run, and what the page cache holds between runs.

use crate::StopFlag;
use engine::{Failure, FirstError, Harvest, LaneEnd, LaneInterval};
use plan::generate::Op;
use plan::{OpenFlags, Plan, Run, TargetSpec, Workload};
use quantity::clock;
use quantity::histogram::Histogram;
use rustix::fs::{fdatasync, fsync};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use target::{Kind, Opened};

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

/// One `fsync` that a run ends with.
pub(crate) struct Wish {
    workload: usize,
    target: usize,
    /// `fdatasync`: only the data.
    only_data: bool,
    fd: OwnedFd,
}

/// What a run ends with: an `fsync` of each target that `openflags=fsync` was said of and that was written to, of each job
/// of its own; after a fill, `fdatasync` of what went through the page cache, or the first run would write it.
pub(crate) fn wishes(plan: &Plan, run: &Run, targets: &[Option<Opened>]) -> std::io::Result<Vec<Wish>> {
    let mut wishes: Vec<Wish> = Vec::new();
    for (at, workload) in run.workloads.iter().enumerate().filter(|(_, workload)| workload.mix.write > 0.0) {
        for index in &workload.targets {
            let (Some(spec), Some(Some(opened))) = (plan.targets.get(*index), targets.get(*index)) else { continue };
            let flags = flags_of(spec, workload);
            let view = opened.view(flags);
            let is_wanted = if run.format { !view.direct } else { flags.fsync_at_end };
            // Several workloads of Vdbench's share a target that is opened once.
            let is_there = workload.job.is_none() && wishes.iter().any(|wish| wish.target == *index);
            if is_wanted && !is_there && opened.writable && opened.kind != Kind::Nothing {
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
    pub(crate) harvest: Harvest,
    /// Those that did not, with their ages.
    pub(crate) open: Vec<LaneEnd>,
}

/// Carries the wishes out, all at the same time, and waits for them no longer than `patience`.
pub(crate) fn carry_out(wishes: Vec<Wish>, patience: Duration, stop: &StopFlag) -> Synced {
    let began_ns = clock::now_ns();
    let until_ns = began_ns.saturating_add(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
    let mut waited: BTreeSet<(usize, usize)> = BTreeSet::new();
    let (tell, told) = channel();
    let mut harvest = Harvest {
        t_ns: began_ns,
        interval_ns: 0,
        lanes: Vec::new(),
        workers: Vec::new(),
        jobs: Vec::new(),
        failures: Vec::new(),
    };
    for Wish { workload, target, only_data, fd } in wishes {
        waited.insert((workload, target));
        let tell = tell.clone();
        let work = move || {
            let result = if only_data { fdatasync(&fd) } else { fsync(&fd) };
            let _ = tell.send((workload, target, clock::now_ns(), result.map_err(std::io::Error::from)));
        };
        if let Err(error) = std::thread::Builder::new().name("iodyno-fsync".to_string()).spawn(work) {
            waited.remove(&(workload, target));
            add(&mut harvest, (workload, target), began_ns, Err(error));
        }
    }
    drop(tell);
    while !waited.is_empty() && clock::now_ns() < until_ns && !stop.is_urgent() {
        match told.recv_timeout(NAP) {
            Ok((workload, target, t_ns, result)) => {
                waited.remove(&(workload, target));
                add(&mut harvest, (workload, target), t_ns, result);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    harvest.t_ns = clock::now_ns();
    harvest.interval_ns = harvest.t_ns.saturating_sub(began_ns).max(1);
    for lane in &mut harvest.lanes {
        lane.in_flight_mean = lane.service.sum() as f64 / harvest.interval_ns as f64;
    }
    let age_ns = harvest.interval_ns;
    let open = waited.into_iter().map(|(workload, target)| {
        let mut age = Histogram::default();
        age.record(age_ns);
        LaneEnd {
            workload,
            target,
            op: Op::Flush,
            in_flight_age: age.clone(),
            in_flight_service_age: age,
            waiting_age: Histogram::default(),
        }
    });
    Synced { open: open.collect(), harvest }
}

/// Counts one that came back at `t_ns`; it was due, and submitted, when the waiting began.
fn add(harvest: &mut Harvest, (workload, target): (usize, usize), t_ns: u64, result: std::io::Result<()>) {
    let mut service = Histogram::default();
    service.record(t_ns.saturating_sub(harvest.t_ns));
    let is_fine = result.is_ok();
    // A file system says why; where it does not, it is an error of I/O.
    let errno = |error: &std::io::Error| error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error());
    let first_error = result.as_ref().err().map(|error| FirstError { t_ns, errno: errno(error) });
    let mut at_once = Histogram::default();
    at_once.record(0);
    harvest.lanes.push(LaneInterval {
        workload,
        target,
        op: Op::Flush,
        arrivals: 1,
        ops: u64::from(is_fine),
        bytes: 0,
        errors: u64::from(!is_fine),
        short: 0,
        first_error,
        response: if is_fine { service.clone() } else { Histogram::default() },
        service: if is_fine { service } else { Histogram::default() },
        wait: at_once,
        in_flight_mean: 0.0,
        backlog: 0,
    });
    if let Err(error) = result {
        let kind = error.to_string();
        harvest.failures.push(Failure { t_ns, workload, target, op: Op::Flush, offset: 0, bytes: 0, kind });
    }
}
