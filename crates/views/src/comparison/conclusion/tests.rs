//! Verdicts over rounds made by hand.

use super::*;
use crate::comparison::per_second::RoundStep;
use quantity::histogram::Histogram;
use rates::OperationTimes;

/// White noise of mean 0 and deviation 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let sum: f64 = (0..12)
            .map(|_| {
                self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (self.0 >> 11) as f64 / (1_u64 << 53) as f64
            })
            .sum();
        sum - 6.0
    }
}

/// So many seconds of 100 operations a second, whose times move by 2 % a second around `mean_ns`, slowly when `rho` is near 1.
fn round(seconds: usize, mean_ns: f64, rho: f64, seed: u64) -> LoadRound {
    let mut noise = Noise(seed);
    let mut level = 0.0;
    (0..500).for_each(|_| level = rho * level + (1.0 - rho * rho).sqrt() * noise.next());
    let mut round = LoadRound::default();
    for _ in 0..seconds {
        level = rho * level + (1.0 - rho * rho).sqrt() * noise.next();
        let mut times = Histogram::default();
        for place in 0..100 {
            let spread = 0.5 + f64::from(place) / 100.0;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive time")]
            times.record((mean_ns * spread * (1.0 + 0.02 * level)) as u64);
        }
        round.response.ended.merge(&times);
        let response = times.collapse(5);
        round.steps.push(RoundStep { length_s: 1.0, ops: 100.0, bytes: 409_600.0, response, ..RoundStep::default() });
    }
    round
}

/// Of one run each.
fn mean_of_one(a: &LoadRound, b: &LoadRound) -> JudgedFigure {
    mean_of(std::slice::from_ref(a), std::slice::from_ref(b))
}

fn mean_of(a: &[LoadRound], b: &[LoadRound]) -> JudgedFigure {
    LoadPair::new(a, b, ComparisonQuestion::default())
        .judge(MeasureKind::Mean(TimeKind::Response), BetterDirection::Less, true)
        .unwrap()
}

#[test]
fn two_single_runs_differ_or_are_the_same() {
    let (a, b) = (round(300, 1e6, 0.3, 1), round(300, 1e6, 0.3, 2));
    let same = mean_of_one(&a, &b);
    assert_eq!(same.conclusion, Conclusion::Same { within: 0.05 }, "{same:?}");
    assert!(same.resolvable().unwrap() < 0.01 && same.independent.unwrap() > 6.0, "{same:?}");
    let slower = mean_of_one(&a, &round(300, 1.05e6, 0.3, 3));
    assert_eq!(slower.conclusion, Conclusion::Different { better: Some(false) }, "{slower:?}");
    let faster = mean_of_one(&a, &round(300, 0.9e6, 0.3, 4));
    assert_eq!(faster.conclusion, Conclusion::Different { better: Some(true) }, "{faster:?}");
    // What takes as many operations as was asked for has no spread: the threshold of 1 % decides.
    let pair = (vec![a], vec![b]);
    let rate = LoadPair::new(&pair.0, &pair.1, ComparisonQuestion::default());
    let rate =
        rate.judge(MeasureKind::Rate(rates::measure::RateFlow::Operations), BetterDirection::More, true).unwrap();
    assert_eq!((rate.conclusion, rate.interval), (Conclusion::Same { within: 0.05 }, Some((1.0, 1.0))));
}

#[test]
fn the_verdict_on_a_run_that_is_too_short_or_too_slow_says_how_long_it_should_be() {
    let needs = |judged: &JudgedFigure| match &judged.conclusion {
        Conclusion::NotResolved { needs_s, .. } => *needs_s,
        other => panic!("{other:?}"),
    };
    let short = mean_of(&[round(20, 1e6, 0.0, 1)], &[round(20, 2e6, 0.0, 2)]);
    assert!(short.interval.is_none() && needs(&short) >= VERDICT_S, "{short:?}");
    let longer = mean_of(&[round(90, 1e6, 0.0, 1)], &[round(90, 1.2e6, 0.0, 2)]);
    assert!(longer.interval.is_some() && needs(&longer) >= VERDICT_S, "{longer:?}");
    // A time constant of 100 s: 2,000 s would do.
    let slow = mean_of(&[round(300, 1e6, 0.99, 1)], &[round(300, 1.02e6, 0.99, 2)]);
    assert!(needs(&slow) > 500.0 && slow.independent.unwrap() < INDEPENDENT, "{slow:?}");
    // Twice as slow is resolved all the same.
    let twice = mean_of(&[round(300, 1e6, 0.99, 1)], &[round(300, 2e6, 0.99, 2)]);
    assert_eq!(twice.conclusion, Conclusion::Different { better: Some(false) }, "{twice:?}");
}

#[test]
fn four_rounds_are_samples_and_three_are_not() {
    let side = |mean_ns: f64, seed: u64, count: u64| -> Vec<LoadRound> {
        (0..count).map(|at| LoadRound { began_ns: 0, ..round(30, mean_ns, 0.9, 100 * seed + at) }).collect()
    };
    let (a, b) = (side(1e6, 1, 6), side(1.1e6, 2, 6));
    let judged = mean_of(&a, &b);
    assert_eq!((judged.method, judged.independent), (JudgingMethod::Rounds(6), Some(6.0)));
    assert_eq!(judged.conclusion, Conclusion::Different { better: Some(false) });
    assert_eq!(mean_of(&a[..3], &b[..3]).method, JudgingMethod::Single);
    // One with errors takes its partner away; with four left they are still samples.
    let mut faulty = a.clone();
    faulty[2].fault = Some("3 operations failed".to_string());
    assert_eq!(mean_of(&faulty, &b).method, JudgingMethod::Rounds(5));
    let pair = LoadPair::new(&faulty, &b, ComparisonQuestion::default());
    assert_eq!(pair.left_out, Some((1, "3 operations failed".to_string())));
    // Of rounds that all have a fault nothing is said, however few they are.
    for count in [2, 6] {
        let all_faulty: Vec<LoadRound> =
            b[..count].iter().map(|one| LoadRound { fault: Some("errors".to_string()), ..one.clone() }).collect();
        let why = "no round is without a fault: errors".to_string();
        assert_eq!(mean_of(&a[..count], &all_faulty).conclusion, Conclusion::NotJudged { why });
    }
    let short: Vec<LoadRound> = (0..4).map(|at| round(10, 1e6, 0.0, at)).collect();
    let judged = mean_of(&short, &short);
    assert!(matches!(&judged.conclusion, Conclusion::NotResolved { why, .. } if why.contains("30 s")), "{judged:?}");
}

#[test]
fn what_cannot_be_judged_says_why() {
    let a = round(300, 1e6, 0.0, 1);
    let why = |judged: JudgedFigure| match judged.conclusion {
        Conclusion::NotJudged { why } | Conclusion::NotResolved { why, .. } => why,
        other => panic!("{other:?}"),
    };
    let mut holes = a.clone();
    holes.missing_s = 100.0;
    assert_eq!(why(mean_of_one(&holes, &a)), "25 % of the time is missing");
    let quantile = |a: &LoadRound, b: &LoadRound, p: f64| {
        let (a, b) = ([a.clone()], [b.clone()]);
        let pair = LoadPair::new(&a, &b, ComparisonQuestion::default());
        pair.judge(MeasureKind::Quantile(TimeKind::Response, p), BetterDirection::Less, true).unwrap()
    };
    assert_eq!(why(quantile(&a, &a, 0.9999)), "3 operations above it; 20 are needed");
    // Half of the operations take a hundred times as long, as many in every second give or take a few.
    let mut noise = Noise(5);
    let mut modes = LoadRound::default();
    for _ in 0..300 {
        #[expect(clippy::cast_possible_truncation, reason = "a small number")]
        let slow = (50.0 + 5.0 * noise.next()).round() as i64;
        let mut times = Histogram::default();
        (0..100).for_each(|at| times.record(if at < slow { 100_000_000 } else { 1_000_000 }));
        modes.response.ended.merge(&times);
        modes.steps.push(RoundStep { length_s: 1.0, ops: 100.0, response: times, ..RoundStep::default() });
    }
    assert_eq!(why(quantile(&modes, &modes, 0.5)), "between two modes");
    // All that was slow came from two seconds.
    let mut stalls = a.clone();
    for second in [100, 200] {
        let step = &mut stalls.steps[second];
        step.response = Histogram::default();
        (0..300).for_each(|_| step.response.record(50_000_000));
    }
    stalls.response = OperationTimes::default();
    stalls.steps.iter().for_each(|step| stalls.response.ended.merge(&step.response));
    assert!(
        why(quantile(&stalls, &stalls, 0.99)).contains("come from 2.0 s"),
        "{:?}",
        quantile(&stalls, &stalls, 0.99)
    );
    let lower = LoadPair::new(std::slice::from_ref(&a), std::slice::from_ref(&a), ComparisonQuestion::default());
    let lower = lower.judge(MeasureKind::Mean(TimeKind::Response), BetterDirection::Less, false).unwrap();
    assert_eq!(why(lower), "a lower bound: operations had no end");
}
