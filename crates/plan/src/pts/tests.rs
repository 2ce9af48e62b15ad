//! The runs of each test: which, how many, in which order.

use super::*;
use crate::OfferedRate;

fn plan(test: PtsTest) -> Plan {
    pts_plan(&PtsRequest::of(test, "/dev/none".into())).unwrap_or_else(|mistake| panic!("{mistake}"))
}

fn points(plan: &Plan, rule: &SteadyRounds) -> Vec<(u64, u32)> {
    let point = |run: &Run| {
        let (mix, read): (u32, f64) = (run.loops[1].1.parse().expect("a number"), run.workloads[0].mix.read);
        assert!((read - f64::from(mix) / 100.0).abs() < 1e-12, "{read} is not {mix} %");
        (run.workloads[0].transfer.max_bytes(), mix)
    };
    plan.runs[rule.places()].iter().map(point).collect()
}

fn tracked(plan: &Plan, rule: &SteadyRounds) -> Vec<(u64, u32)> {
    let all = points(plan, rule);
    rule.tracked.iter().map(|place| all[place - rule.first]).collect()
}

#[test]
fn iops_are_56_points_of_a_minute_behind_two_passes_of_writes() {
    let plan = plan(PtsTest::Iops);
    let [rule] = plan.rounds.as_slice() else { panic!("one rule") };
    assert_eq!((plan.runs.len(), rule.first, rule.count, rule.window, rule.rounds_max), (57, 1, 56, 5, 25));
    let before = &plan.runs[0];
    assert!(before.format && before.elapsed_ns.is_none() && before.workloads[0].address.order == SEQUENTIAL);
    assert_eq!(before.stop.written, Some(DataLimit::TargetSizes(2.0)));
    assert_eq!(before.workloads[0].transfer, TransferSize::Fixed(128 << 10));
    let points = points(&plan, rule);
    assert_eq!(
        points[..9],
        [1024, 128, 64, 32, 16, 8, 4]
            .map(|k| (k << 10, 100))
            .into_iter()
            .chain([(512, 100), (1 << 20, 95)])
            .collect::<Vec<_>>()
    );
    let mixes: Vec<u32> = points.iter().step_by(8).map(|point| point.1).collect();
    assert_eq!(mixes, [100, 95, 65, 50, 35, 5, 0]);
    assert_eq!(tracked(&plan, rule), [(4 << 10, 0)]);
    assert!((rule.range - 0.2).abs() < 1e-12 && (rule.slope - 0.1).abs() < 1e-12);
    for run in &plan.runs[rule.places()] {
        assert_eq!(
            (run.elapsed_ns, run.rate, run.depth_of(&plan.targets[0])),
            (Some(60 * SECOND_NS), OfferedRate::Max, 32)
        );
        assert!(run.workloads[0].address.order == RANDOM && !run.format && plan.targets[0].open.direct);
    }
}

#[test]
fn throughput_is_two_tests_each_behind_its_own_purge() {
    let request =
        PtsRequest { purge: Some("purge it".into()), ..PtsRequest::of(PtsTest::Throughput, "/dev/none".into()) };
    let plan = pts_plan(&request).expect("a plan");
    let names: Vec<&str> = plan.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["precondition", "throughput", "throughput", "precondition", "throughput", "throughput"]);
    let commands: Vec<usize> = plan.runs.iter().map(|run| run.start_commands.len()).collect();
    assert_eq!(commands, [1, 0, 0, 1, 0, 0], "a purge before each preconditioning, and none between the rounds");
    let [large, small] = plan.rounds.as_slice() else { panic!("two rules") };
    assert_eq!(
        (points(&plan, large), points(&plan, small)),
        (vec![(1 << 20, 100), (1 << 20, 0)], vec![(128 << 10, 100), (128 << 10, 0)])
    );
    assert_eq!(
        (tracked(&plan, large).len(), large.measure, large.name.as_str()),
        (2, SteadyMeasure::Bytes, "throughput 1m")
    );
    assert!(plan.runs.iter().all(|run| run.workloads[0].address.order == SEQUENTIAL));
}

#[test]
fn latency_has_one_operation_at_a_time() {
    let plan = plan(PtsTest::Latency);
    let [rule] = plan.rounds.as_slice() else { panic!("one rule") };
    let expect: Vec<(u64, u32)> =
        [100, 65, 0].iter().flat_map(|mix| [8192, 4096, 512].map(|size| (size, *mix))).collect();
    assert_eq!(points(&plan, rule), expect);
    assert_eq!(
        (plan.targets[0].depth, rule.measure, tracked(&plan, rule)),
        (1, SteadyMeasure::Service, vec![(4096, 0)])
    );
}

#[test]
fn write_saturation_is_one_run_from_a_fresh_device_on() {
    let plan = plan(PtsTest::WriteSaturation);
    let [run] = plan.runs.as_slice() else { panic!("one run") };
    assert!(plan.rounds.is_empty() && !run.workloads[0].mix.read.is_normal());
    assert_eq!((run.elapsed_ns, run.stop.total), (Some(SATURATION_NS), Some(DataLimit::TargetSizes(4.0))));
    assert_eq!(run.interval_ns, 60 * SECOND_NS);
}

#[test]
fn what_is_asked_for_in_place_of_the_specification() {
    let request = PtsRequest {
        sizes: vec![8192, 16_384],
        mixes: vec![70, 30],
        capacity: Some(PtsCapacity::Fraction(0.25)),
        purge: Some("purge it".into()),
        precondition: Some(Preconditioning::Command("fill it".into())),
        ..PtsRequest::of(PtsTest::Iops, "/dev/none".into())
    };
    let plan = pts_plan(&request).expect("a plan");
    let [rule] = plan.rounds.as_slice() else { panic!("one rule") };
    assert_eq!((rule.first, plan.runs.len(), tracked(&plan, rule)), (0, 4, vec![(8192, 30)]));
    assert_eq!(rule.before.iter().map(|command| command.line.as_str()).collect::<Vec<_>>(), ["purge it", "fill it"]);
    assert!(rule.before.iter().all(|command| command.abort));
    let again = PtsRequest { precondition: Some(Preconditioning::Times(3.0)), ..request };
    let plan = pts_plan(&again).expect("a plan");
    assert_eq!(plan.runs[0].stop.written, Some(DataLimit::TargetSizes(0.75)), "three times a quarter");
    for text in ["purge it", "docs/pts.md", "25 %", "xfersize=8k rdpct=30", "25 rounds at most"] {
        assert!(plan.sources[0].text.contains(text), "{text} is missing: {}", plan.sources[0].text);
    }
}

#[test]
fn mistakes_say_what_to_do() {
    let good = || PtsRequest::of(PtsTest::Iops, "/dev/none".into());
    for (request, says) in [
        (PtsRequest { rounds_max: Some(4), ..good() }, "rounds=5 or more"),
        (PtsRequest { point_ns: Some(1_000_000), ..good() }, "raise it"),
        (PtsRequest { depth: Some(0), ..good() }, "depth=0"),
        (PtsRequest { mixes: vec![101], ..good() }, "mixes="),
        (PtsRequest { capacity: Some(PtsCapacity::Fraction(1.5)), ..good() }, "capacity="),
        (PtsRequest { precondition: Some(Preconditioning::Times(-1.0)), ..good() }, "precondition="),
    ] {
        let mistake = pts_plan(&request).expect_err("a mistake").to_string();
        assert!(mistake.contains(says), "{mistake}");
    }
}
