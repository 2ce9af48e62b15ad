//! What is issued when, and on which lane.

use super::*;
use crate::engine_overhead;
use plan::generate::{GeneratorPart, OperationKind};

/// Lanes that have so many operations left.
struct Left(Vec<u64>);

impl Lanes for Left {
    fn choose(&mut self, lane: usize) -> Option<Operation> {
        self.0[lane] = self.0[lane].checked_sub(1)?;
        Some(Operation { op: OperationKind::Read, offset: 0, bytes: 4096 })
    }

    fn prepare(&mut self, _: &Issue, _: &mut [u8]) {}
}

/// A scheduler with its lanes.
struct Bench(Scheduler, Left);

impl Bench {
    fn next(&mut self, now_ns: u64) -> Next {
        self.0.next(now_ns, &mut self.1)
    }

    fn returned(&mut self, lane: u32, now_ns: u64, service_ns: u64) {
        self.0.returned(lane, now_ns, service_ns);
    }
}

/// Lanes that use pools of these depths.
fn pooled(lanes: Vec<LaneSpec>, pools: &[u32], shares_fixed: bool) -> Bench {
    let left = Left(vec![u64::MAX; lanes.len()]);
    let mut group = GroupSpec { lanes, pools: pools.to_vec(), shares_fixed, ..GroupSpec::empty() };
    Bench(Scheduler::new(&mut group, Arc::default()), left)
}

/// Lanes that share one pool.
fn scheduler(lanes: Vec<LaneSpec>, depth: u32, shares_fixed: bool) -> Bench {
    pooled(lanes, &[depth], shares_fixed)
}

fn lane(share: f64) -> LaneSpec {
    LaneSpec { share, ..engine_overhead::lane() }
}

/// A lane with an operation every `period_ns`.
fn paced(period_ns: f64) -> LaneSpec {
    let arrivals = plan::Arrivals { gaps: plan::GapDistribution::Deterministic, ..plan::Arrivals::default() };
    LaneSpec {
        schedule: Some(ArrivalSchedule::new(1e9 / period_ns, &arrivals, 1, GeneratorPart::WHOLE).unwrap()),
        ..lane(0.0)
    }
}

/// Everything that can be issued now: lanes and due times.
fn issues(scheduler: &mut Bench, now_ns: u64) -> Vec<(u32, u64)> {
    let next = || match scheduler.next(now_ns) {
        Next::Issue(issue) => Some((issue.lane, issue.due_ns)),
        _ => None,
    };
    std::iter::from_fn(next).collect()
}

fn issue(scheduler: &mut Bench, now_ns: u64) -> Option<u32> {
    match scheduler.next(now_ns) {
        Next::Issue(issue) => Some(issue.lane),
        _ => None,
    }
}

#[test]
fn fixed_shares_leave_the_depth_to_the_target() {
    let mut paced = lane(0.0);
    paced.schedule = Some(ArrivalSchedule::new(1e6, &plan::Arrivals::default(), 1, GeneratorPart::WHOLE).unwrap());
    let mut scheduler = scheduler(vec![paced, lane(0.5), lane(0.5)], 6, true);
    let mut in_flight: VecDeque<u32> = std::iter::from_fn(|| issue(&mut scheduler, 3000)).collect();
    for now_ns in 3001..5000 {
        assert_eq!(in_flight.len(), 6, "the target's depth");
        scheduler.returned(in_flight.pop_front().unwrap(), now_ns, 1);
        in_flight.extend(std::iter::from_fn(|| issue(&mut scheduler, now_ns)));
    }
}

#[test]
fn at_the_end_what_was_due_is_still_issued_and_nothing_else() {
    let mut scheduler = scheduler(vec![paced(1_000.0), lane(1.0)], 8, false);
    let began: Vec<u32> = std::iter::from_fn(|| issue(&mut scheduler, 10)).collect();
    assert_eq!(began.len(), 8, "full");
    began.iter().for_each(|lane| scheduler.returned(*lane, 5_000, 1));
    scheduler.0.end_at(5_000);
    let last: Vec<u32> = std::iter::from_fn(|| issue(&mut scheduler, 9_000)).collect();
    assert!(last.iter().all(|lane| *lane == 0) && (4..=6).contains(&last.len()), "{last:?}");
    assert_eq!(scheduler.next(9_000), Next::Blocked);
    last.iter().for_each(|lane| scheduler.returned(*lane, 9_500, 1));
    assert_eq!(scheduler.next(9_500), Next::Ended);
}

#[test]
fn shares_are_exact_at_any_moment() {
    for shares_fixed in [false, true] {
        let shares = [0.5, 0.3, 0.15, 0.05];
        let mut scheduler = scheduler(shares.map(lane).into(), 4, shares_fixed);
        let mut counts = [0.0; 4];
        for n in 1..20_000 {
            let lane = issue(&mut scheduler, n).unwrap();
            counts[lane as usize] += 1.0;
            scheduler.returned(lane, n, 1);
            for (count, share) in counts.iter().zip(shares) {
                assert!((count - n as f64 * share).abs() < 2.0, "{counts:?} after {n}");
            }
        }
    }
}

#[test]
fn a_workload_of_one_thread_has_one_in_flight_whose_time_counts_from_the_one_before() {
    // Its own slot beside eight that another workload uses.
    let own = LaneSpec { pool: 1, ..lane(0.5) };
    let mut scheduler = pooled(vec![lane(0.5), own], &[8, 1], false);
    let first = issues(&mut scheduler, 1_000);
    assert_eq!(first.iter().filter(|(lane, _)| *lane == 1).count(), 1);
    assert_eq!(first.len(), 9);
    for now_ns in (2_000..20_000).step_by(1_000) {
        scheduler.returned(1, now_ns, 1_000);
        assert_eq!(issues(&mut scheduler, now_ns + 5), [(1, now_ns)], "due when its slot became free");
    }
}

#[test]
fn three_workloads_share_the_one_thread_of_a_run_by_their_shares() {
    for shares_fixed in [false, true] {
        let mut scheduler = scheduler([0.9, 0.05, 0.05].map(lane).into(), 1, shares_fixed);
        let mut counts = [0; 3];
        let mut free_ns = 0;
        for now_ns in (1_000..100_001_000).step_by(100_000) {
            let due = issues(&mut scheduler, now_ns);
            let [(lane, due_ns)] = due[..] else { panic!("one in flight, not {}", due.len()) };
            assert_eq!(due_ns, free_ns);
            counts[lane as usize] += 1;
            free_ns = now_ns + 90_000;
            scheduler.returned(lane, free_ns, 90_000);
        }
        assert!((898..=902).contains(&counts[0]) && counts.iter().sum::<i32>() == 1000, "{counts:?}");
    }
}

#[test]
fn a_slot_that_an_open_loop_lane_held_was_not_due_before_it_came_back() {
    // One slot; the open-loop lane has the priority and is due every 50 µs.
    let mut scheduler = scheduler(vec![paced(50_000.0), lane(1.0)], 1, false);
    assert_eq!(issues(&mut scheduler, 0), [(0, 0)]);
    scheduler.returned(0, 10_000, 10_000);
    assert_eq!(issues(&mut scheduler, 10_000), [(1, 10_000)], "there was no room before");
    scheduler.returned(1, 60_000, 50_000);
    assert_eq!(issues(&mut scheduler, 60_000), [(0, 50_000)], "an open loop counts from the time it was due");
    scheduler.returned(0, 70_000, 10_000);
    assert_eq!(issues(&mut scheduler, 70_000), [(1, 70_000)], "its slot was free at 60,000, the room was not");
}

#[test]
fn a_slot_that_waited_for_another_targets_share_was_not_late() {
    // Two targets in step: the second is slow and holds the first back.
    let second = LaneSpec { pool: 1, ..lane(0.5) };
    let mut scheduler = pooled(vec![lane(0.5), second], &[1, 1], true);
    assert_eq!(issues(&mut scheduler, 0), [(0, 0), (1, 0)]);
    scheduler.returned(0, 1_000, 1_000);
    let again = issues(&mut scheduler, 1_100);
    assert_eq!(again, [(0, 1_000)], "both have had one, it is the first's turn");
    scheduler.returned(0, 2_000, 1_000);
    assert_eq!(issues(&mut scheduler, 2_100), [], "the second has not come back");
    scheduler.returned(1, 9_000, 9_000);
    assert_eq!(issues(&mut scheduler, 9_100), [(1, 9_000), (0, 9_000)]);
}

#[test]
fn lanes_that_had_their_last_moment_have_ended() {
    let at = |moments: &[u64]| LaneSpec { schedule: Some(ArrivalSchedule::at(moments.to_vec())), ..lane(1.0) };
    let second = LaneSpec { pool: 1, ..at(&[]) };
    let mut bench = pooled(vec![at(&[1_000, 1_500]), second], &[1, 1], false);
    assert_eq!(bench.next(0), Next::At(1_000));
    assert_eq!(issues(&mut bench, 2_000), [(0, 1_000)], "the second waits for the first one's end");
    bench.returned(0, 3_000, 1_000);
    assert_eq!(issues(&mut bench, 3_000), [(0, 1_500)], "and was due before it");
    assert!(matches!(bench.next(3_100), Next::At(at_ns) if at_ns >= ArrivalSchedule::ENDED_NS));
    bench.returned(0, 4_000, 1_000);
    assert_eq!(bench.next(4_000), Next::Ended);
}
