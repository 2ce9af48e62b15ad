//! Slopes that are known.

use super::{DailyLevels, LimitReach, Trend, TrendFigure};

/// Levels of `count` days: `start + per_day × day`, with what `noise` adds.
fn days(count: u32, start: f64, per_day: f64, noise: impl Fn(u32) -> f64) -> DailyLevels {
    DailyLevels {
        figure: TrendFigure::DiskThroughput,
        thing: "sda".to_string(),
        first_wall_ns: quantity::text::wall_ns_of((2026, 11, 1), (0, 0, 0)).expect("a date"),
        levels: (0..count).map(|day| (f64::from(day), start + per_day * f64::from(day) + noise(day))).collect(),
        left_out: 0,
        step_ns: 300_000_000_000,
        limit: None,
        limit_from: "",
    }
}

/// From −1 to 1, the same each time, without a pattern.
fn dice(day: u32) -> f64 {
    // The finaliser of splitmix64.
    let mut mixed = u64::from(day).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed % 2001) as f64 / 1000.0 - 1.0
}

#[test]
fn a_known_slope_and_its_date() {
    // 100 MB/s and 2 MB/s more each day: 200 MB/s after 50 days, on 21 December.
    let trend = Trend::of(&days(30, 100e6, 2e6, |day| 1e6 * dice(day)), Some(200e6));
    let slope = trend.slope.expect("a slope");
    assert!((slope.per_day - 2e6).abs() < 0.05e6 && slope.low <= 2e6 && 2e6 <= slope.high, "{slope:?}");
    assert!(slope.high - slope.low < 0.3e6, "{slope:?}");
    let LimitReach::On { day, earliest, latest } = trend.reach else { panic!("{:?}", trend.reach) };
    let latest = latest.expect("an end");
    assert!((day - 50.0).abs() < 1.5 && earliest <= 50.0 && 50.0 <= latest && latest - earliest < 8.0, "{day}");
    let text = trend.sentences().join("\n");
    assert!(text.contains("reaches 200 MB/s (--limit) on 2026-12-2"), "{text}");
    assert!(text.contains("30 days from 2026-11-01 to 2026-11-30"), "{text}");
}

#[test]
fn days_that_were_wild_do_not_turn_it() {
    let wild = |day: u32| if day.is_multiple_of(5) { 900e6 } else { 1e6 * dice(day) };
    let slope = Trend::of(&days(30, 100e6, 2e6, wild), None).slope.expect("a slope");
    assert!((slope.per_day - 2e6).abs() < 0.5e6, "{slope:?}");
}

#[test]
fn what_does_not_grow_has_no_date() {
    let trend = Trend::of(&days(60, 100e6, 0.0, |day| 5e6 * dice(day)), Some(200e6));
    let LimitReach::NoDate { why, .. } = &trend.reach else { panic!("{:?}", trend.reach) };
    assert!(why.contains("chance"), "{why}");
    let falls = Trend::of(&days(30, 100e6, -1e6, |day| 1e5 * dice(day)), Some(200e6));
    let LimitReach::NoDate { why, not_before } = &falls.reach else { panic!("{:?}", falls.reach) };
    assert!(why.contains("falls") && not_before.is_none(), "{why}");
}

#[test]
fn the_interval_covers_what_is_true() {
    // 200 series of 30 days without growth: about one in twenty may say otherwise.
    let mut wrong = 0;
    for series in 0..200_u32 {
        let noise = |day: u32| dice(series * 31 + day) + dice(series * 77 + day * 3 + 5);
        let slope = Trend::of(&days(30, 100.0, 0.0, noise), None).slope.expect("a slope");
        wrong += u32::from(slope.low > 0.0 || slope.high < 0.0);
    }
    assert!(wrong <= 24, "{wrong} of 200 intervals miss the truth");
}

#[test]
fn too_little_is_refused() {
    let few = Trend::of(&days(9, 100e6, 2e6, |_| 0.0), Some(200e6));
    let LimitReach::NoDate { why, .. } = &few.reach else { panic!("{:?}", few.reach) };
    assert!(why.contains("9 days within 9") && few.slope.is_none(), "{why}");
    // Growth that is certain, and a limit that is a year away.
    let far = Trend::of(&days(30, 100e6, 1e6, |day| 1e4 * dice(day)), Some(500e6));
    let LimitReach::NoDate { why, not_before } = &far.reach else { panic!("{:?}", far.reach) };
    assert!(why.contains("58 days") && not_before.is_none(), "{why} {not_before:?}");
    assert_eq!(Trend::of(&days(30, 100e6, 1e6, dice), Some(50e6)).reach, LimitReach::Reached);
    assert_eq!(Trend::of(&days(30, 100e6, 1e6, dice), None).reach, LimitReach::NoLimit);
}

/// Each value so much of the one before, and chance.
fn hanging_together(series: u32, days: u32, by: f64) -> Vec<f64> {
    let mut value = 0.0;
    let chance = |day: u32| dice(series * 977 + day) + dice(series * 977 + day + 500) + dice(series * 977 + day + 800);
    let next = |day: u32| {
        value = value * by + chance(day);
        value
    };
    (0..days + 50).map(next).skip(50).collect()
}

#[test]
fn days_that_hang_together_are_not_taken_for_growth() {
    // Of 200 series without growth, how many are said to grow or fall: one in twenty, in fourteen days one in ten.
    for (by, count, most) in [(0.3, 14, 24), (0.3, 30, 16), (0.6, 30, 24), (0.8, 30, 26), (1.0, 60, 10)] {
        let mut wrong = 0;
        for series in 0..200 {
            let values = hanging_together(series, count, by);
            let trend = Trend::of(&days(count, 100.0, 0.0, |day| values[day as usize]), None);
            wrong += u32::from(trend.slope.is_some_and(|slope| slope.low > 0.0 || slope.high < 0.0));
        }
        assert!(wrong <= most, "{wrong} of 200 series of {count} days that follow each other by {by}");
    }
    // A wave of ten days: neighbours hardly differ, and that is said.
    let wave = |day: u32| 5.0 * (f64::from(day) / 10.0 * std::f64::consts::TAU).sin();
    let LimitReach::NoDate { why, .. } = Trend::of(&days(40, 100.0, 0.1, wave), Some(200.0)).reach else { panic!() };
    assert!(why.contains("alike (correlation 0."), "{why}");
    assert!(Trend::of(&days(40, 100.0, 0.1, |day| wave(day * 7 % 40)), None).slope.is_some());
}

#[test]
fn growth_and_fall_are_mirror_images() {
    let noise = |day: u32| 3.0 * dice(day);
    let up = Trend::of(&days(25, 100.0, 0.3, noise), None).slope.expect("a slope");
    let down = Trend::of(&days(25, 100.0, -0.3, |day| -noise(day)), None).slope.expect("a slope");
    assert!((up.low + down.high).abs() < 1e-9 && (up.high + down.low).abs() < 1e-9, "{up:?} {down:?}");
}
