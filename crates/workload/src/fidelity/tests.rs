use super::*;
use quantity::histogram::Histogram;

fn key(offset: u64) -> OperationKey {
    OperationKey { target: 0, op: 0, offset, bytes: 4096 }
}

fn pair(late: impl Fn(u64) -> i64) -> FidelityComparison {
    let mut comparison = FidelityComparison::default();
    for at in 0..1000 {
        comparison.expect(key(at % 7), at * 1_000_000, Some(100_000));
        comparison.observe(key(at % 7), (at * 1_000_000).cast_signed() + late(at), Some(100_000));
    }
    comparison
}

fn on_time() -> ReplayCircumstances {
    let mut caused = Histogram::new(7);
    (0..1000).for_each(|_| caused.record(300));
    ReplayCircumstances { caused, on_time: true, ..ReplayCircumstances::default() }
}

#[test]
fn a_replay_that_is_a_little_late_throughout_is_faithful() {
    let comparison = pair(|at| 30_000 + (at % 10).cast_signed() * 1000);
    let verdict = FidelityVerdict::of(Some(&comparison), &on_time());
    assert!(verdict.is_faithful, "{verdict:#?}");
    assert!(verdict.sentence.starts_with("faithful"));
}

#[test]
fn one_that_drifts_is_not_and_says_where_the_delay_arose() {
    let comparison = pair(|at| at.cast_signed() * 10_000);
    let verdict = FidelityVerdict::of(Some(&comparison), &on_time());
    assert!(!verdict.is_faithful);
    assert!(verdict.sentence.contains("came to the device late"), "{}", verdict.sentence);
    let length = verdict.measures.iter().find(|one| one.name.starts_with("length")).unwrap();
    assert!((length.error.unwrap() - 0.01).abs() < 1e-6 && length.is_kept == Some(false));
}

#[test]
fn what_is_missing_or_more_is_counted_whatever_its_time() {
    let mut comparison = pair(|_| 0);
    comparison.expect(key(99), 5_000, None);
    comparison.observe(key(98), 6_000, None);
    assert_eq!((comparison.missing(), comparison.extra(), comparison.matched), (1, 1, 1000));
    assert!(!FidelityVerdict::of(Some(&comparison), &on_time()).is_faithful);
}

#[test]
fn an_end_that_was_not_seen_is_no_difference() {
    let mut comparison = FidelityComparison::default();
    for at in 0..1000 {
        comparison.expect(key(at % 7), at * 1_000_000, Some(100_000));
        let response_ns = (at % 300 != 1).then_some(100_000);
        comparison.observe(key(at % 7), (at * 1_000_000).cast_signed(), response_ns);
    }
    let verdict = FidelityVerdict::of(Some(&comparison), &on_time());
    assert!(verdict.is_faithful, "{verdict:#?}");
    let line = verdict.measures.iter().find(|one| one.name.starts_with("without an end")).unwrap();
    assert_eq!((line.source, line.replay, line.is_kept), (Some(0.0), Some(4.0), None));
}

#[test]
fn neighbours_that_change_places_are_seen() {
    let mut comparison = FidelityComparison::default();
    for at in 0..4 {
        comparison.expect(key(at), at, None);
    }
    for at in [0, 2, 1, 3] {
        comparison.observe(key(at), at.cast_signed(), None);
    }
    assert_eq!(comparison.inversions, 1);
}

#[test]
fn the_cap_is_the_reason_and_not_its_effects() {
    let comparison = pair(|at| at.cast_signed() * 10_000);
    let mut around = on_time();
    around.capped = 500;
    (0..9000).for_each(|_| around.caused.record(900_000));
    let verdict = FidelityVerdict::of(Some(&comparison), &around);
    assert!(verdict.sentence.contains("waited for the cap"), "{}", verdict.sentence);
    assert!(!verdict.sentence.contains("core"), "{}", verdict.sentence);
}

#[test]
fn ios_that_waited_for_others_are_the_reason_where_data_is_proved() {
    let mut around = on_time();
    let of = |around: &ReplayCircumstances| FidelityVerdict::of(Some(&pair(|_| 0)), around);
    let has_line =
        |verdict: &FidelityVerdict| verdict.measures.iter().any(|one| one.name.starts_with("waited for others"));
    assert!(!has_line(&of(&around)), "nothing is proved");
    around.deferred = Some(0);
    assert!(has_line(&of(&around)) && of(&around).is_faithful);
    around.deferred = Some(7);
    (0..9000).for_each(|_| around.caused.record(900_000));
    let verdict = of(&around);
    assert!(!verdict.is_faithful && verdict.sentence.contains("7 I/Os ("), "{}", verdict.sentence);
    assert!(!verdict.sentence.contains("core"), "that is why they came late: {}", verdict.sentence);
}

#[test]
fn what_made_the_player_late_is_named() {
    let mut around = on_time();
    (0..9000).for_each(|_| around.caused.record(900_000));
    let said = |around: &ReplayCircumstances| FidelityVerdict::of(Some(&pair(|_| 0)), around).sentence;
    assert!(said(&around).contains("its core was not idle"), "{}", said(&around));
    around.stolen = Some(0.0005);
    assert!(said(&around).contains("its core was not idle"), "{}", said(&around));
    around.stolen = Some(0.1234);
    assert!(said(&around).contains(": the hypervisor took 12.3 % of its CPU"), "{}", said(&around));
    around.is_ordinary = true;
    let both = "it had no real-time priority (CAP_SYS_NICE), and the hypervisor took 12.3 % of its CPU";
    assert!(said(&around).contains(both), "{}", said(&around));
}

#[test]
fn distances_of_distributions_are_those_of_their_curves() {
    let histogram = |values: &[u64]| {
        let mut made = Histogram::new(7);
        values.iter().for_each(|value| made.record(*value));
        made
    };
    let (one, other) = (histogram(&[1, 2, 3, 4]), histogram(&[3, 4, 5, 6]));
    assert_eq!(distance(&one, &one.clone()), Some(0.0));
    assert_eq!(distance(&one, &other), Some(0.5));
    assert_eq!(distance(&one, &Histogram::new(7)), None);
    let series = |k: f64| (0..10).map(|at| f64::from(at) * k + 1.0).collect::<Vec<_>>();
    assert!((correlation(&series(1.0), &series(3.0)).unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(correlation(&series(0.0), &series(1.0)), None);
}
