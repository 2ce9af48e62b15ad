//! Workloads that keep to themselves: their slots, starts, limits, pauses and proportions on real files.

use crate::support::{Bench, filled, run, scratch, workload};
use engine::{EngineChoice, LaneInterval};
use plan::generate::OperationKind;
use plan::{Job, JobFlow, JobPlacement, LatencyGoal, OpMix, TargetOrder, ThinkTime, TransferSize, Workload};
use std::time::Duration;

const BOTH: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Sync];
const MS: u64 = 1_000_000;

fn job(name: &str, targets: &[usize], job: Job) -> Workload {
    Workload { job: Some(job), ..workload(name, targets, 1.0) }
}

fn ops(lanes: &[LaneInterval], workload: usize) -> u64 {
    lanes.iter().filter(|lane| lane.workload == workload).map(|lane| lane.ops).sum()
}

#[test]
fn each_job_ends_with_its_own_bytes_and_operations() {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 8 << 20, 8);
    for choice in BOTH {
        let bytes = job("bytes", &[0], Job { bytes: Some(1 << 20), ..Job::new(4) });
        let count = job("count", &[0], Job { operations: Some(777), ..Job::new(2) });
        let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![bytes, count])) };
        let lanes = bench.go(None);
        assert_eq!((ops(&lanes, 0), ops(&lanes, 1)), (256, 777), "{choice:?}");
    }
}

#[test]
fn the_depth_of_a_job_holds_over_all_its_targets() {
    let folder = scratch();
    let specs: Vec<_> = ["a", "b", "c"].iter().map(|name| filled(folder.path(), name, 8 << 20, 16)).collect();
    for choice in BOTH {
        let one = job("one", &[0, 1, 2], Job { elapsed_ns: Some(400 * MS), ..Job::new(4) });
        let bench = Bench { choice, workers: Some(1), ..Bench::new(specs.clone(), run(vec![one])) };
        let busy_ns = || {
            let begin = quantity::clock::now_ns();
            let lanes = bench.go(None);
            // On a busy machine the last ones end later: never more than four of them at once all that time.
            let took_ns = quantity::clock::now_ns() - begin;
            let by_target: Vec<u64> =
                (0..3).map(|at| lanes.iter().filter(|lane| lane.target == at).map(|lane| lane.ops).sum()).collect();
            assert!(by_target.iter().max().unwrap() - by_target.iter().min().unwrap() <= 1, "in turn: {by_target:?}");
            let busy = |lane: &LaneInterval| lane.response.mean().unwrap_or(0.0) * lane.ops as f64;
            let busy_ns: f64 = lanes.iter().map(busy).sum();
            assert!(busy_ns <= 4.0 * took_ns as f64, "{choice:?}: {busy_ns} of {took_ns} ns");
            busy_ns
        };
        // There may be no processor to begin with.
        testkit::until_enough(busy_ns, |busy_ns| *busy_ns >= 3.4 * (400 * MS) as f64);
    }
}

#[test]
fn starts_and_ends_are_the_jobs_own() {
    start_and_end_jobs(false);
}

#[test]
#[ignore = "times: make exam"]
fn starts_and_ends_are_the_jobs_own_to_the_operation() {
    testkit::while_cpus_are_ours(|| start_and_end_jobs(true));
}

/// Three jobs, one of which begins later and one after the first. On a machine that is `quiet` nothing is still to be issued at their ends.
fn start_and_end_jobs(quiet: bool) {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 8 << 20, 8);
    for choice in BOTH {
        let paced = |name: &str, add: Job| Workload { rate: Some(1000.0), ..job(name, &[0], add) };
        let early = paced("early", Job { elapsed_ns: Some(200 * MS), ..Job::new(4) });
        let late = paced("late", Job { start_ns: 300 * MS, elapsed_ns: Some(100 * MS), ..Job::new(4) });
        let after = paced("after", Job { after: vec![0], operations: Some(50), ..Job::new(4) });
        let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![early, late, after])) };
        let done = || {
            let begin = quantity::clock::now_ns();
            let lanes = bench.go(None);
            let took_ms = (quantity::clock::now_ns() - begin) / MS;
            assert!(took_ms >= 399 && (!quiet || took_ms < 900), "{took_ms} ms");
            let done = [ops(&lanes, 0), ops(&lanes, 1), ops(&lanes, 2)];
            assert!(done[0] <= 200 && done[1] <= 100 && done[2] == 50, "{choice:?}: {done:?}");
            assert!(!quiet || done == [200, 100, 50], "{choice:?}: {done:?}");
            let arrivals: u64 = lanes.iter().map(|lane| lane.arrivals).sum();
            assert_eq!(arrivals, 350, "{choice:?}");
            done
        };
        // A job of 100 ms that has no processor meanwhile does nothing at all.
        testkit::until_enough(done, |done| done[0] > 0 && done[1] > 0);
    }
}

#[test]
fn a_pause_comes_after_so_many_operations() {
    pause_after_ten(false);
}

#[test]
#[ignore = "times: make exam"]
fn a_pause_takes_its_time_and_no_more() {
    testkit::while_cpus_are_ours(|| pause_after_ten(true));
}

/// 50 ms of thinking after ten operations. On a machine that is `quiet` hardly anything else takes time.
fn pause_after_ten(quiet: bool) {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 8 << 20, 8);
    for choice in BOTH {
        let think = Some(ThinkTime { every: Some(10), ns: 50 * MS, busy_ns: None });
        let one = job("one", &[0], Job { think, elapsed_ns: Some(500 * MS), ..Job::new(4) });
        let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![one])) };
        let done_and_most = || {
            let lanes = bench.go(None);
            let done = ops(&lanes, 0);
            assert!(done <= 100 && (!quiet || done >= 80), "{choice:?}: 10 per 50 ms: {done}");
            // Four of ten wait for a pause: were it part of response time, four of ten would be as long as it.
            let mut all = quantity::histogram::Histogram::default();
            lanes.iter().for_each(|lane| all.merge(&lane.response));
            let longest = all.max().unwrap_or(0);
            assert!(!quiet || longest < 40 * MS, "{choice:?}: the pause is outside of response time: {longest} ns");
            (done, all.percentile(0.7).unwrap_or(0))
        };
        // That a run ends in the middle of ten, or they are interrupted, is rare: so rare that it tells more than chance.
        let tries = [(); 4].map(|()| done_and_most());
        let is_right = |(done, most): &&(u64, u64)| *done >= 10 && done.is_multiple_of(10) && *most < 40 * MS;
        assert!(tries.iter().filter(is_right).count() >= if quiet { 4 } else { 2 }, "{choice:?}: {tries:?}");
    }
}

#[test]
fn a_flow_keeps_jobs_in_proportion() {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 8 << 20, 16);
    for choice in BOTH {
        let part = |name: &str, weight| job(name, &[0], Job { flow: Some(JobFlow { id: 1, weight }), ..Job::new(4) });
        let free = job("free", &[0], Job::new(4));
        let bench =
            Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![part("eight", 8.0), part("one", 1.0), free])) };
        let done = || {
            let lanes = bench.go(Some(Duration::from_millis(300)));
            [0, 1, 2].map(|at| ops(&lanes, at))
        };
        let done = testkit::until_enough(done, |done| done[0] > 800 && done[1] > 0 && done[2] > 100);
        let ratio = done[0] as f64 / done[1] as f64;
        assert!((7.8..8.2).contains(&ratio), "{choice:?}: {ratio}");
    }
}

#[test]
fn a_depth_is_found_that_keeps_a_service_time() {
    find_a_depth(false);
}

#[test]
#[ignore = "times: make exam"]
fn a_depth_is_found_soon() {
    testkit::while_cpus_are_ours(|| find_a_depth(true));
}

/// A search that ends by itself, on a machine that is `quiet` within three seconds.
fn find_a_depth(quiet: bool) {
    let folder = scratch();
    let mut spec = filled(folder.path(), "a", 64 << 20, 64);
    spec.open.direct = true;
    let goal = LatencyGoal { target_ns: 50_000_000, window_ns: 10 * MS, fraction: 0.9, run_on: false };
    let one = job("one", &[0], Job { latency: Some(goal), ..Job::new(32) });
    let bench = Bench::new(vec![spec], run(vec![one]));
    let done = || {
        let begin = quantity::clock::now_ns();
        let lanes = bench.go(None);
        // That it is over is that it ended by itself; how much was done meanwhile, and how soon, hangs on the machine.
        let (done, took_ms) = (ops(&lanes, 0), (quantity::clock::now_ns() - begin) / MS);
        assert!(!quiet || (done > 100 && took_ms < 3000), "{done} operations, {took_ms} ms");
        done
    };
    testkit::until_enough(done, |done| *done > 0);
}

#[test]
fn writes_have_sizes_of_their_own_and_trims_precede_writes() {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 8 << 20, 8);
    for choice in BOTH {
        let mut mixed = job("mixed", &[0], Job { operations: Some(500), ..Job::new(4) });
        mixed.mix = OpMix::read_write(0.5);
        mixed.write_transfer = Some(TransferSize::Fixed(64 << 10));
        let mut pairs = job("pairs", &[0], Job { operations: Some(400), ..Job::new(1) });
        pairs.mix = OpMix { read: 0.0, write: 0.5, trim: 0.5, trim_then_write: true, ..OpMix::read_write(0.0) };
        pairs.address = plan::AddressPattern { per_op: true, ..crate::support::once() };
        let lanes = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![mixed, pairs])) }.go(None);
        for lane in &lanes {
            let bytes = if lane.op == OperationKind::Write && lane.workload == 0 { 64 << 10 } else { 4096 };
            assert_eq!(lane.bytes, lane.ops * bytes, "{choice:?} {lane:?}");
        }
        let of = |op| lanes.iter().filter(|lane| lane.workload == 1 && lane.op == op).map(|lane| lane.ops).sum::<u64>();
        assert_eq!((of(OperationKind::Trim), of(OperationKind::Write)), (200, 200));
    }
}

#[test]
fn a_job_runs_where_it_is_placed() {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 8 << 20, 8);
    for choice in BOTH {
        let placement = JobPlacement { cpus: vec![1], nodes: vec![0], nice: 5, io_priority: 2 << 13 | 3 };
        let one = job(
            "one",
            &[0],
            Job { placement, operations: Some(2000), turn: TargetOrder::Random { each: 1 }, ..Job::new(4) },
        );
        let two = job("two", &[0], Job { operations: Some(2000), ..Job::new(1) });
        let lanes = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![one, two])) }.go(None);
        assert_eq!((ops(&lanes, 0), ops(&lanes, 1)), (2000, 2000), "{choice:?}");
    }
    // A CPU that does not exist is refused.
    let placement = JobPlacement { cpus: vec![900], ..JobPlacement::default() };
    let bad = job("bad", &[0], Job { placement, ..Job::new(1) });
    let bench = Bench::new(vec![spec], run(vec![bad]));
    let refusal = bench.refusal();
    assert!(refusal.contains("cpus_allowed"), "{refusal}");
}

#[test]
fn files_in_sequence_are_done_one_after_the_other() {
    let folder = scratch();
    let specs: Vec<_> = ["a", "b"].iter().map(|name| filled(folder.path(), name, 1 << 20, 8)).collect();
    let mut one = job("one", &[0, 1], Job { turn: TargetOrder::Sequential, bytes: Some(1 << 20), ..Job::new(2) });
    one.address = crate::support::once();
    let lanes = Bench::new(specs, run(vec![one])).go(None);
    assert!(lanes.iter().all(|lane| lane.target == 0), "the second file's turn never came");
    assert_eq!(ops(&lanes, 0), 256);
}
