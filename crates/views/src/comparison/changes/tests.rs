//! What is said of counters that were sampled with gaps, or that ran backwards.

use super::*;
use rates::measure::{BetterDirection, MeasureKind, RateFlow};

const SECONDS: usize = 133;

/// Bytes that `eth1` received, read every second: about `rate` a second, give or take 3 %.
fn received(rate: f64, seed: u64) -> Series {
    let mut state = seed;
    let mut noise = || {
        let sum: f64 = (0..12)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1_u64 << 53) as f64
            })
            .sum();
        sum - 6.0
    };
    // The first numbers of neighbouring seeds resemble each other.
    for _ in 0..100 {
        noise();
    }
    let mut counter = 0.0;
    let mut series = vec![(0, counter)];
    for second in 1..SECONDS {
        counter += (rate * (1.0 + 0.03 * noise())).round();
        series.push((i64::try_from(second).unwrap() * 1_000_000_000, counter));
    }
    series
}

fn samples(series: &[(i64, f64)]) -> Samples {
    let table = recording::table(rows::Net::NAME).unwrap();
    let column = table.columns.iter().find(|column| column.name == "rx_bytes").unwrap();
    let mut samples = Samples::default();
    samples.insert(table, column, "eth1".to_string(), series);
    samples
}

/// Without the samples of these seconds.
fn without(mut series: Series, gap: std::ops::Range<usize>) -> Series {
    series.drain(gap);
    series
}

/// Half of the interval of the ratio to twice as much, which has no gap.
fn half_width(series: &[(i64, f64)], seed: u64) -> f64 {
    let (a, b) = (samples(&received(2e7, seed + 1000)), samples(series));
    let of = |samples: &Samples| samples.known.values().next().unwrap().clone();
    let (was, is) = (of(&a), of(&b));
    let pair = LoadPair::new(&was.rounds, &is.rounds, ComparisonQuestion::default());
    let judged = pair.judge(MeasureKind::Rate(RateFlow::Operations), BetterDirection::Neither, true).unwrap();
    let (low, high) = judged.interval.unwrap_or_else(|| panic!("{judged:?}"));
    0.5 * (high / low).ln()
}

#[test]
fn a_gap_in_the_samples_does_not_make_the_interval_of_a_counter_narrower() {
    let mean = |gap: std::ops::Range<usize>| {
        let widths = (1..=400).map(|seed| half_width(&without(received(1e7, seed), gap.clone()), seed).powi(2));
        (widths.sum::<f64>() / 400.0).sqrt()
    };
    let (whole, with_gap) = (mean(0..0), mean(60..84));
    // One side has 107 of 132 s: (132/107 + 1) ÷ 2 of the variance. As one step, the 25 s made it narrower.
    let expected = ((132.0 / 107.0 + 1.0) / 2.0_f64).sqrt();
    assert!((with_gap / whole / expected - 1.0).abs() < 0.04, "{with_gap} ÷ {whole}, expected {expected}");
}

#[test]
fn what_a_counter_grew_by_in_a_gap_counts_in_its_rate() {
    let series: Series = (0..SECONDS).map(|at| (i64::try_from(at).unwrap() * 1_000_000_000, 1e6 * at as f64)).collect();
    let mut series = without(series, 60..70);
    series[60..].iter_mut().for_each(|sample| sample.1 += 132e6);
    let samples = samples(&series);
    let rates = samples.known.values().next().unwrap();
    assert_eq!(rates.mean(), 2e6, "264 MB in 132 s");
    assert_eq!(rates.missing(), 11.0 / 132.0);
    // A recording whose beginning was thinned to every tenth second has no gap, although most of its intervals are shorter.
    let thinned: Series =
        (0..20).map(|at| 10 * at).chain(191..291).map(|s: i64| (s * 1_000_000_000, s as f64)).collect();
    assert_eq!(self::samples(&thinned).known.values().next().unwrap().missing(), 0.0);
}

#[test]
fn counters_that_were_left_out_are_named_with_the_reason() {
    let base = samples(&received(1e7, 1));
    let words = |series: &[(i64, f64)]| samples(series).changes(&base).words().unwrap();
    assert!(words(&received(2e7, 2)).starts_with("1 counters of the machine were compared, 1 changed"));
    let mut reset = received(2e7, 2);
    let at_60 = reset[60].1;
    reset[60..].iter_mut().for_each(|sample| sample.1 -= at_60);
    assert_eq!(
        words(&reset),
        "1 counter was left out (ran backwards: a reset or a replaced device): net eth1 rx_bytes."
    );
    assert_eq!(
        words(&without(received(2e7, 2), 20..110)),
        "1 counter was left out (no sample for more than 20 % of the time): net eth1 rx_bytes."
    );
    let names: Vec<String> = (0..7).map(|at| format!("net eth{at} rx_bytes")).collect();
    assert_eq!(
        left_out(&names, "why").unwrap(),
        "7 counters were left out (why): net eth0 rx_bytes, net eth1 rx_bytes, net eth2 rx_bytes, net eth3 rx_bytes and 3 more."
    );
    assert_eq!(left_out(&[], "why"), None);
}
