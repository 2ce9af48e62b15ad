//! The engine on real files: what is asked is what is done.

use crate::support::{Bench, filled, once, run, scratch, workload};
use engine::{EngineChoice, LaneInterval, ResolvedRate};
use plan::generate::OperationKind;
use plan::{OpMix, TransferSize};
use std::time::Duration;

const BOTH: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Sync];

fn ops(lanes: &[LaneInterval], pass: impl Fn(&LaneInterval) -> bool) -> u64 {
    lanes.iter().filter(|lane| pass(lane)).map(|lane| lane.ops).sum()
}

#[test]
fn n_asked_are_n_done_in_every_mix() {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 8 << 20, 8);
    for choice in BOTH {
        for (read, write, trim, flush) in [(1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.4, 0.4, 0.1, 0.1)] {
            let mut mixed = workload("w", &[0], read);
            mixed.mix = OpMix { write, trim, flush, ..OpMix::read_write(read) };
            let mut run = run(vec![mixed]);
            run.stop.operations = Some(2345);
            let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run) };
            let lanes = bench.go(None);
            assert_eq!(ops(&lanes, |_| true), 2345, "{choice:?} {read} {write} {trim} {flush}");
            for lane in &lanes {
                assert_eq!(
                    (lane.response.count(), lane.service.count(), lane.arrivals),
                    (lane.ops, lane.ops, lane.ops)
                );
                let bytes = if lane.op == OperationKind::Flush { 0 } else { lane.ops * 4096 };
                assert_eq!(lane.bytes, bytes, "{lane:?}");
            }
            let reads = ops(&lanes, |lane| lane.op == OperationKind::Read) as f64;
            assert!((reads - 2345.0 * read).abs() < 4.5 * (2345.0 * read * (1.0 - read)).sqrt() + 0.1);
        }
    }
}

#[test]
fn a_pass_writes_every_byte_once() {
    let folder = scratch();
    for choice in BOTH {
        let name = format!("{choice:?}");
        let spec = crate::support::target(&name, &folder.path().join(&name), 4 << 20, 16);
        let mut pass = workload("w", &[0], 0.0);
        pass.address = once();
        pass.transfer = TransferSize::Fixed(8192);
        let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![pass])) };
        let lanes = bench.go(None);
        assert_eq!((ops(&lanes, |_| true), lanes[0].bytes), (512, 4 << 20));
        let bytes = std::fs::read(&spec.path).unwrap();
        assert_eq!(bytes.len(), 4 << 20);
        assert!(bytes.chunks(512).all(|sector| sector.starts_with(b"iodyno\0\x01")), "every sector carries the mark");
    }
}

#[test]
#[ignore = "times: make exam"]
fn an_open_loop_keeps_its_rate() {
    testkit::while_cpus_are_ours(once_an_open_loop_keeps_its_rate);
}

fn once_an_open_loop_keeps_its_rate() {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 16 << 20, 32);
    for choice in BOTH {
        let bench = Bench {
            choice,
            pace: ResolvedRate::PerSecond(5000.0),
            ..Bench::new(vec![spec.clone()], run(vec![workload("w", &[0], 1.0)]))
        };
        let lanes = bench.go(Some(Duration::from_secs(2)));
        let arrivals: u64 = lanes.iter().map(|lane| lane.arrivals).sum();
        assert!((9_990..10_250).contains(&arrivals), "{choice:?}: {arrivals} arrivals");
        let done = ops(&lanes, |_| true);
        assert!(done.abs_diff(arrivals) <= 40, "{choice:?}: {done} of {arrivals}");
    }
}

#[test]
#[ignore = "times: make exam"]
fn the_depth_is_what_was_asked() {
    testkit::while_cpus_are_ours(once_the_depth_is_what_was_asked);
}

fn once_the_depth_is_what_was_asked() {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 64 << 20, 16);
    for choice in BOTH {
        let mut spec = spec.clone();
        spec.open.direct = true;
        let bench = Bench { choice, workers: Some(1), ..Bench::new(vec![spec], run(vec![workload("w", &[0], 1.0)])) };
        let begin = quantity::clock::now_ns();
        let lanes = bench.go(Some(Duration::from_secs(1)));
        let seconds = (quantity::clock::now_ns() - begin) as f64 / 1e9;
        let little = lanes[0].ops as f64 / seconds * lanes[0].response.mean().unwrap() / 1e9;
        assert!((12.0..17.5).contains(&little), "{choice:?}: IOPS × mean response is {little}, the depth 16");
    }
}

#[test]
fn the_engine_is_chosen_by_what_is_really_in_flight() {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 8 << 20, 8);
    let chosen = |choice, read, is_durable, depth: u32| {
        let mut spec = spec.clone();
        (spec.open.dsync, spec.depth) = (is_durable, depth);
        let bench = Bench { choice, workers: Some(2), ..Bench::new(vec![spec], run(vec![workload("w", &[0], read)])) };
        bench.description()
    };
    let of_itself = chosen(EngineChoice::Auto, 0.5, true, 8);
    assert!(of_itself.starts_with("sync") && of_itself.contains("io_uring would have 2 of 8 in flight"), "{of_itself}");
    let asked = chosen(EngineChoice::Uring, 0.5, true, 8);
    assert!(asked.starts_with("io_uring") && asked.contains("one at a time only"), "{asked}");
    // Two workers have two in flight.
    for (read, is_durable, depth) in [(0.5, true, 2), (1.0, true, 8), (1.0, false, 8)] {
        let other = chosen(EngineChoice::Auto, read, is_durable, depth);
        assert!(!other.contains("would have"), "{other}");
    }
}

#[test]
fn shares_hold_at_full_speed() {
    let folder = scratch();
    let (fast, slow) = (filled(folder.path(), "a", 8 << 20, 8), filled(folder.path(), "b", 8 << 20, 4));
    let mut most = workload("most", &[0], 1.0);
    let mut few = workload("few", &[1], 1.0);
    (most.share, most.share_fixed) = (0.9, true);
    (few.share, few.share_fixed) = (0.1, true);
    few.transfer = TransferSize::Fixed(64 << 10);
    let bench = Bench::new(vec![fast, slow], run(vec![most, few]));
    let done = || {
        let lanes = bench.go(Some(Duration::from_millis(500)));
        [ops(&lanes, |lane| lane.workload == 0), ops(&lanes, |_| true)]
    };
    // Of fewer, what is in flight at the end would show.
    let [most, all] = testkit::until_enough(done, |[_, all]| *all > 4000);
    let share = most as f64 / all as f64;
    assert!((share - 0.9).abs() < 0.005, "{share}");
}

#[test]
#[ignore = "times: make exam"]
fn think_time_is_outside_response_time() {
    testkit::while_cpus_are_ours(once_think_time_is_outside_response_time);
}

fn once_think_time_is_outside_response_time() {
    let folder = scratch();
    let spec = filled(folder.path(), "a", 8 << 20, 4);
    for choice in BOTH {
        let mut thoughtful = workload("w", &[0], 1.0);
        thoughtful.think_ns = 10_000_000;
        let bench = Bench { choice, workers: Some(1), ..Bench::new(vec![spec.clone()], run(vec![thoughtful])) };
        let lanes = bench.go(Some(Duration::from_secs(1)));
        let done = ops(&lanes, |_| true);
        assert!((200..=404).contains(&done), "{choice:?}: 4 slots, 10 ms each, 1 s: {done}");
        assert!(lanes[0].response.percentile(0.5).unwrap() < 2_000_000);
    }
}

#[test]
fn many_targets_are_just_more_targets() {
    let folder = scratch();
    let specs: Vec<_> = (0..1024)
        .map(|n| crate::support::target(&format!("sd{n}"), &folder.path().join(format!("{n}")), 64 << 10, 2))
        .collect();
    let all: Vec<usize> = (0..1024).collect();
    let mut pass = workload("w", &all, 0.0);
    pass.address = once();
    let bench = Bench::new(specs, run(vec![pass]));
    let lanes = bench.go(None);
    assert_eq!((lanes.len(), ops(&lanes, |_| true)), (1024, 1024 * 16));
}
