//! What ends a run by amount: exact to one transfer, whichever thread issues it.

use crate::support::{Bench, filled, run, scratch, workload};
use engine::{EngineChoice, ResolvedRate};
use plan::generate::OperationKind;
use plan::{Arrivals, DataLimit, GapDistribution, Job, StopCondition, TargetOrder, TransferSize, Workload};

const MIB: u64 = 1 << 20;

/// Bytes of an operation (all when `None`) after a run of `workloads` with these limits.
fn bytes(
    bench: &mut Bench,
    workloads: &[Workload],
    stop: StopCondition,
    pace: ResolvedRate,
) -> impl Fn(Option<OperationKind>) -> u64 + use<> {
    bench.plan.runs = vec![plan::Run { stop, ..run(workloads.to_vec()) }];
    bench.pace = pace;
    let sums = bench.go(None);
    let arrivals: u64 = sums.iter().map(|lane| lane.arrivals).sum();
    let ops: u64 = sums.iter().map(|lane| lane.ops).sum();
    // Which operations reach the limit depends on the order where sizes and kinds differ: workers have their own.
    if workloads.len() == 1 {
        assert_eq!(arrivals, ops, "what was due before the limit was done, nothing else was due");
    }
    move |op| sums.iter().filter(|lane| op.is_none_or(|op| lane.op == op)).map(|lane| lane.bytes).sum()
}

#[test]
fn bytes_end_a_run_within_one_transfer() {
    let folder = scratch();
    let mut bench =
        Bench::new(vec![filled(folder.path(), "a", 8 * MIB, 8), filled(folder.path(), "b", 8 * MIB, 8)], run(vec![]));
    let both = workload("both", &[0, 1], 0.5);
    let mut sizes = workload("sizes", &[1], 0.3);
    sizes.transfer = TransferSize::Mix(vec![(4096, 0.5), (65536, 0.5)]);
    sizes.share = 0.5;
    let two = [Workload { share: 0.5, ..both.clone() }, sizes];
    let job = Workload { job: Some(Job { turn: TargetOrder::Joined, ..Job::new(6) }), ..both.clone() };
    for choice in [EngineChoice::Uring, EngineChoice::Sync] {
        bench.choice = choice;
        for pace in [ResolvedRate::Max, ResolvedRate::PerSecond(20_000.0)] {
            let limit = Some(DataLimit::Bytes(3_000_000));
            let total = bytes(
                &mut bench,
                std::slice::from_ref(&both),
                StopCondition { total: limit, ..StopCondition::default() },
                pace,
            );
            assert_eq!(total(None), 3_000_000_u64.next_multiple_of(4096), "{choice:?} {pace:?}");
            let written = bytes(&mut bench, &two, StopCondition { written: limit, ..StopCondition::default() }, pace)(
                Some(OperationKind::Write),
            );
            assert!((3_000_000..3_000_000 + 65536).contains(&written), "{choice:?} {pace:?}: {written}");
            let read = bytes(&mut bench, &two, StopCondition { read: limit, ..StopCondition::default() }, pace)(Some(
                OperationKind::Read,
            ));
            assert!((3_000_000..3_000_000 + 65536).contains(&read), "{choice:?} {pace:?}: {read}");
            let jobs = bytes(
                &mut bench,
                std::slice::from_ref(&job),
                StopCondition { total: limit, ..StopCondition::default() },
                pace,
            );
            assert_eq!(jobs(None), 3_000_000_u64.next_multiple_of(4096), "{choice:?} {pace:?}");
        }
    }
}

#[test]
fn multiples_of_sizes_are_those_of_the_targets_of_the_run() {
    let folder = scratch();
    let targets = vec![filled(folder.path(), "a", MIB, 4), filled(folder.path(), "b", 8 * MIB, 4)];
    let mut bench = Bench::new(targets, run(vec![]));
    let stop = StopCondition { total: Some(DataLimit::TargetSizes(2.0)), ..StopCondition::default() };
    let total = bytes(&mut bench, &[workload("small", &[0], 1.0)], stop, ResolvedRate::Max);
    assert_eq!(total(None), 2 * MIB);
}

#[test]
fn a_number_of_operations_is_counted_from_the_end_of_the_warm_up_on() {
    let folder = scratch();
    let mut bench = Bench::new(vec![filled(folder.path(), "a", 8 * MIB, 8)], run(vec![]));
    let arrivals = Arrivals { gaps: GapDistribution::Deterministic, burst: None };
    let stop = StopCondition { operations: Some(300), ..StopCondition::default() };
    let run = run(vec![workload("one", &[0], 0.5)]);
    bench.plan.runs = vec![plan::Run { stop, arrivals, warmup_ns: 200_000_000, ..run }];
    bench.pace = ResolvedRate::PerSecond(2000.0);
    for choice in [EngineChoice::Uring, EngineChoice::Sync] {
        bench.choice = choice;
        // The first 200 ms, and 300 more.
        let ops: u64 = bench.go(None).iter().map(|lane| lane.ops).sum();
        assert!((699..=701).contains(&ops), "{choice:?}: {ops}");
    }
}
