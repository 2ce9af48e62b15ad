//! What jobs issue, and when.

use super::overlap::OverlapSerializer;
use super::search::Search;
use super::*;
use crate::blocks::BlockLane;
use plan::LatencyGoal;
use plan::generate::{BLOCK_KINDS, GeneratorPart, Operation, OperationKind, Operations, TargetGeometry, TargetTurns};

/// Jobs with a lane each; everything that can be issued at a time, as (lane, due).
struct Bench(JobScheduler, Vec<BlockLane>);

impl Bench {
    fn new(jobs: Vec<plan::Job>) -> Self {
        let geometry = TargetGeometry { size_bytes: 1 << 30, block_bytes: 512 };
        let (workload, target) = (crate::engine_overhead::workload(), crate::engine_overhead::target());
        let operations = || Operations::new(&workload, &target, geometry, 1, GeneratorPart::WHOLE).unwrap();
        let lane = || BlockLane { operations: operations(), content: None, cached: None, checks: None };
        let lanes: Vec<BlockLane> = jobs.iter().map(|_| lane()).collect();
        let statuses = Arc::new(JobStatuses::plain(jobs.len()));
        let spec = |(at, job): (usize, plan::Job)| {
            let turns = TargetTurns::new(&job, vec![1 << 30], 1);
            JobSpec {
                workload: at,
                lanes: at..at + 1,
                job,
                schedule: None,
                turns,
                paced: [const { None }; BLOCK_KINDS],
                span: Arc::default(),
                targets: vec![0],
                warm_ns: 0,
                statuses: Arc::clone(&statuses),
            }
        };
        Self(JobScheduler::new(jobs.into_iter().enumerate().map(spec).collect(), lanes.len()), lanes)
    }

    fn issues(&mut self, now_ns: u64) -> Vec<(u32, u64)> {
        let next = || match self.0.next(now_ns, &mut self.1, &Budget::default()) {
            Next::Issue(issue) => Some((issue.lane, issue.due_ns)),
            _ => None,
        };
        std::iter::from_fn(next).collect()
    }
}

#[test]
fn slots_that_a_search_does_not_use_do_not_age() {
    let goal = LatencyGoal { target_ns: 1_000, window_ns: 100, fraction: 0.9, run_on: true };
    let mut bench = Bench::new(vec![plan::Job { latency: Some(goal), ..plan::Job::new(64) }]);
    assert_eq!(bench.issues(5), [(0, 0)], "it begins with one");
    // The first 100 ns are a window at depth 1, the next at 2, and so on.
    let (mut now_ns, mut most) = (0, 1);
    while most < 16 {
        now_ns += 200;
        bench.0.returned(0, now_ns, 10);
        let issued = bench.issues(now_ns + 3);
        most = most.max(issued.len());
        assert!(issued.iter().all(|(_, due_ns)| *due_ns == now_ns), "at {now_ns}: {issued:?}");
        for _ in 1..issued.len() {
            bench.0.returned(0, now_ns, 10);
        }
        let rest = bench.issues(now_ns);
        assert!(rest.iter().all(|(_, due_ns)| *due_ns == now_ns), "at {now_ns}: {rest:?}");
    }
}

#[test]
fn an_operation_waits_while_one_in_flight_overlaps_it() {
    let mut apart = OverlapSerializer::default();
    let issue = |lane, offset, bytes| {
        let operation = Operation { op: OperationKind::Write, offset, bytes };
        Issue { lane, operation, due_ns: 1 }
    };
    assert!(apart.pass(issue(0, 4096, 8192)).is_some());
    assert!(apart.pass(issue(0, 12_288, 4096)).is_some(), "beside it");
    assert!(apart.pass(issue(1, 4096, 4096)).is_some(), "another file");
    assert!(apart.pass(issue(0, 8192, 8192)).is_none() && apart.is_held());
    apart.came_back(0, 12_288, 5);
    assert!(apart.is_held(), "the first still overlaps it");
    apart.came_back(0, 4096, 7);
    assert!(!apart.is_held() && apart.freed_ns == 7);
    let held = apart.held.take().unwrap();
    assert!(apart.pass(held).is_some());
    assert!(apart.pass(issue(0, 12_288, 512)).is_none());
}

#[test]
fn a_job_that_waits_for_another_of_its_flow_is_not_late() {
    let job = || plan::Job { flow: Some(JobFlow { id: 1, weight: 1.0 }), ..plan::Job::new(1) };
    let mut bench = Bench::new(vec![job(), job()]);
    let mut first = bench.issues(0);
    first.sort_unstable();
    assert_eq!(first, [(0, 0), (1, 0)]);
    bench.0.returned(0, 1_000, 1_000);
    assert_eq!(bench.issues(1_100), [(0, 1_000)], "both have had one");
    bench.0.returned(0, 2_000, 1_000);
    assert_eq!(bench.issues(2_100), [], "the other is behind");
    bench.0.returned(1, 9_000, 9_000);
    assert_eq!(bench.issues(9_100), [(1, 9_000), (0, 9_000)]);
}

#[test]
fn a_low_water_mark_refills_all_slots_at_once() {
    let geometry = TargetGeometry { size_bytes: 1 << 30, block_bytes: 512 };
    let (workload, target) = (crate::engine_overhead::workload(), crate::engine_overhead::target());
    let operations = Operations::new(&workload, &target, geometry, 1, GeneratorPart::WHOLE).unwrap();
    let mut lanes = vec![BlockLane { operations, content: None, cached: None, checks: None }];
    let job = plan::Job { depth_low: 1, ..plan::Job::new(4) };
    let statuses = Arc::new(JobStatuses::plain(1));
    let turns = TargetTurns::new(&job, vec![1 << 30], 1);
    let spec = JobSpec {
        workload: 0,
        lanes: 0..1,
        job,
        schedule: None,
        turns,
        paced: [const { None }; BLOCK_KINDS],
        span: Arc::default(),
        targets: vec![0],
        warm_ns: 0,
        statuses,
    };
    let mut jobs = JobScheduler::new(vec![spec], 1);
    let mut issued = |jobs: &mut JobScheduler, now_ns| {
        std::iter::from_fn(|| match jobs.next(now_ns, &mut lanes, &Budget::default()) {
            Next::Issue(issue) => Some(issue.due_ns),
            _ => None,
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(issued(&mut jobs, 5), [0; 4]);
    for (now_ns, due_ns) in [(10, vec![]), (20, vec![]), (30, vec![31; 3])] {
        jobs.returned(0, now_ns, 1);
        assert_eq!(issued(&mut jobs, now_ns + 1), due_ns);
    }
}

#[test]
fn the_search_finds_the_greatest_depth_that_keeps_the_goal() {
    let goal = LatencyGoal { target_ns: 1000, window_ns: 100, fraction: 0.9, run_on: false };
    for (limit, depth_max) in [(1, 64), (7, 64), (8, 64), (37, 64), (64, 64), (90, 64), (3, 3), (2, 3)] {
        let mut search = Search::new(goal, depth_max);
        let mut now_ns = 0;
        for _ in 0..10_000 {
            now_ns += 7;
            // A device whose service time grows with the depth.
            search.completed(now_ns, 1000 * u64::from(search.depth) / limit);
        }
        assert!(search.is_over(), "{limit} of {depth_max}");
        assert_eq!(u64::from(search.depth), limit.min(u64::from(depth_max)), "of {depth_max}");
    }
}
