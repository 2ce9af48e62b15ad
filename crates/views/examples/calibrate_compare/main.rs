//! How often `compare` says "different" of two equal loads, and how often it finds a true difference of 5 %: simulated, with the
//! modules that `compare` itself uses. Prints the table of docs/compare.md.
//!
//! ```text
//! calibrate_compare [--quick] [--seed N] [--only SHAPE] [--rounds-only]
//! ```
//!
//! A load is 400 operations a second, whose times have a shape and a level. The level's logarithm is an autoregression of the first order
//! with a standard deviation of 5 % and a time constant τ: what devices, caches and neighbours do. Each second is a histogram of the
//! resolution that recordings have. Shapes and seeds are not those that the thresholds were found with.

mod load;

use load::{Draw, Load, Order, SHAPES, Shape, bursts, rounds, table};
use quantity::output::VisibleOutput;
use std::io::Write;
use views::calibration::{BetterDirection, LoadPair, LoadRound, MeasureKind, RateFlow, TimeKind};
use views::{ComparisonQuestion, Conclusion, JudgedFigure};

/// The change that should be found.
const CHANGE: f64 = 1.05;

const FIGURES: [(&str, MeasureKind); 5] = [
    ("rate", MeasureKind::Rate(RateFlow::Operations)),
    ("mean", MeasureKind::Mean(TimeKind::Response)),
    ("p50", MeasureKind::Quantile(TimeKind::Response, 0.5)),
    ("p99", MeasureKind::Quantile(TimeKind::Response, 0.99)),
    ("p99.9", MeasureKind::Quantile(TimeKind::Response, 0.999)),
];

/// How often a figure was called different, the same, and how often there was no verdict.
#[derive(Clone, Copy, Default)]
struct Count {
    different: u32,
    same: u32,
    open: u32,
    wrong_way: u32,
}

impl Count {
    fn add(&mut self, judged: Option<JudgedFigure>, slower: bool) {
        match judged {
            Some(JudgedFigure { conclusion: Conclusion::Different { better }, .. })
                if slower && better == Some(true) =>
            {
                self.wrong_way += 1;
            }
            Some(JudgedFigure { conclusion: Conclusion::Different { .. }, .. }) => self.different += 1,
            Some(JudgedFigure { conclusion: Conclusion::Same { .. }, .. }) => self.same += 1,
            _ => self.open += 1,
        }
    }

    fn percent(&self, of: u32) -> String {
        let all = self.different + self.same + self.open + self.wrong_way;
        format!("{:.0}", 100.0 * f64::from(of) / f64::from(all.max(1)))
    }
}

fn judge(a: &[LoadRound], b: &[LoadRound], counts: &mut [Count], is_slower: bool) {
    tally(&LoadPair::new(a, b, ComparisonQuestion::default()), counts, is_slower);
}

fn tally(pair: &LoadPair<'_>, counts: &mut [Count], is_slower: bool) {
    for ((_, kind), count) in FIGURES.iter().zip(counts) {
        let better = if matches!(kind, MeasureKind::Rate(_)) { BetterDirection::More } else { BetterDirection::Less };
        count.add(pair.judge(*kind, better, true), is_slower);
    }
}

struct Asked {
    pairs: u32,
    slower: u32,
    seed: u64,
    only: Option<String>,
    singles: bool,
}

fn asked() -> Asked {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| all.iter().position(|arg| arg == flag).and_then(|at| all.get(at + 1)).cloned();
    let is_quick = all.iter().any(|arg| arg == "--quick");
    Asked {
        pairs: if is_quick { 100 } else { 500 },
        slower: if is_quick { 50 } else { 250 },
        seed: after("--seed").and_then(|seed| seed.parse().ok()).unwrap_or(20_261_126),
        only: after("--only"),
        singles: !all.iter().any(|arg| arg == "--rounds-only"),
    }
}

/// A row: for each figure false alarms, and found.
fn row(null: &[Count], slower: &[Count]) -> String {
    let of = |(null, slower): (&Count, &Count)| {
        format!("{} · {}", null.percent(null.different), slower.percent(slower.different))
    };
    null.iter().zip(slower).map(of).collect::<Vec<String>>().join(" | ")
}

/// The rows of traces and their replays, which share bursts and not the device's level.
fn replays(asked: &Asked, heading: &str, stream: &mut u64, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "\n| a trace and its replay | τ | {heading} |\n| --- | --- | --- | --- | --- | --- | --- |")?;
    let draws = table(Shape::Lognormal);
    for tau_s in [0.0, 3.0, 10.0, 30.0] {
        *stream = stream.wrapping_add(1);
        let mut draw = Draw::new(*stream);
        let (mut null, mut slower) = ([Count::default(); 5], [Count::default(); 5]);
        for (pairs, factor, counts) in [(asked.pairs, 1.0, &mut null), (asked.slower, CHANGE, &mut slower)] {
            for _ in 0..pairs {
                let bursts = bursts(300, &mut draw);
                let mut one = |factor: f64| {
                    Load::new((Shape::Lognormal, &draws), tau_s, &mut draw).played(&bursts, factor, &mut draw)
                };
                let (trace, replay) = (one(1.0), one(factor));
                let pair = LoadPair::paired(&trace, &replay, ComparisonQuestion::default());
                tally(&pair, counts, factor > 1.0);
            }
        }
        writeln!(out, "| 300 s | {tau_s:.0} s | {} |", row(&null, &slower))?;
        out.flush()?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let asked = asked();
    let mut out = VisibleOutput::new(std::io::stdout());
    let heading = FIGURES.map(|(name, _)| name).join(" | ");
    writeln!(
        out,
        "False alarms in % of {} equal pairs · found in % of {} pairs of which one is 5 % slower; seed {}.\n",
        asked.pairs, asked.slower, asked.seed
    )?;
    if asked.singles {
        writeln!(out, "| single runs | τ | length | {heading} |\n| --- | --- | --- | --- | --- | --- | --- | --- |")?;
    }
    let mut stream = asked.seed;
    for (shape, name) in SHAPES.iter().filter(|_| asked.singles) {
        if asked.only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let draws = table(*shape);
        for tau_s in [0.0, 3.0, 10.0, 30.0] {
            for seconds in [120, 300] {
                stream = stream.wrapping_add(1);
                let mut draw = Draw::new(stream);
                let (mut null, mut slower) = ([Count::default(); 5], [Count::default(); 5]);
                let mut one =
                    |factor: f64| Load::new((*shape, &draws), tau_s, &mut draw).round(seconds, factor, &mut draw);
                (0..asked.pairs).for_each(|_| judge(&[one(1.0)], &[one(1.0)], &mut null, false));
                (0..asked.slower).for_each(|_| judge(&[one(1.0)], &[one(CHANGE)], &mut slower, true));
                writeln!(out, "| {name} | {tau_s:.0} s | {seconds} s | {} |", row(&null, &slower))?;
                out.flush()?;
            }
        }
    }
    replays(&asked, &heading, &mut stream, &mut out)?;
    let draws = table(Shape::Lognormal);
    writeln!(out, "\n| rounds of 30 s | τ | {heading} |\n| --- | --- | --- | --- | --- | --- | --- |")?;
    for (order, count, drift, name) in [
        (Order::Alternating, 4, 0.0, "4, A B B A"),
        (Order::Alternating, 6, 0.0, "6, A B B A"),
        (Order::Alternating, 8, 0.0, "8, A B B A"),
        (Order::Alternating, 6, 0.04, "6, A B B A, 4 % drift"),
        (Order::OneAfterTheOther, 6, 0.04, "6, A … A B … B, 4 % drift"),
    ] {
        for tau_s in [0.0, 3.0, 10.0, 30.0] {
            stream = stream.wrapping_add(1);
            let mut draw = Draw::new(stream);
            let (mut null, mut slower) = ([Count::default(); 5], [Count::default(); 5]);
            for _ in 0..asked.pairs {
                let (a, b) = rounds(&draws, (order, count, drift), tau_s, 1.0, &mut draw);
                judge(&a, &b, &mut null, false);
            }
            for _ in 0..asked.slower {
                let (a, b) = rounds(&draws, (order, count, drift), tau_s, CHANGE, &mut draw);
                judge(&a, &b, &mut slower, true);
            }
            writeln!(out, "| {name} | {tau_s:.0} s | {} |", row(&null, &slower))?;
            out.flush()?;
        }
    }
    Ok(())
}
