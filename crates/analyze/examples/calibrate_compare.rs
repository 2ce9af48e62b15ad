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

use analyze::calibration::{Better, Clock, Flow, Kind, Pair, Round, Step};
use analyze::{Conclusion, Judged, Question};
use quantity::histogram::{Recorder, STORED_SUB_BITS};
use quantity::output::Output;
use std::io::Write;

/// Operations a second.
const RATE: u32 = 400;
/// Standard deviation of the logarithm of the level.
const LEVEL: f64 = 0.05;
/// The change that should be found.
const CHANGE: f64 = 1.05;

/// xoshiro256++ (Blackman and Vigna), seeded by splitmix64.
struct Draw([u64; 4]);

impl Draw {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self([next(), next(), next(), next()])
    }

    fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Above 0, to 1.
    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    /// Normal, mean 0, deviation 1 (Box–Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// How times are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Lognormal,
    Narrow,
    Bimodal,
    Stalls,
    Shifts,
    /// Not among those that the thresholds were found with.
    Gamma,
}

const SHAPES: [(Shape, &str); 6] = [
    (Shape::Lognormal, "lognormal"),
    (Shape::Narrow, "narrow"),
    (Shape::Bimodal, "bimodal"),
    (Shape::Stalls, "stalls"),
    (Shape::Shifts, "level shifts"),
    (Shape::Gamma, "gamma"),
];

impl Shape {
    /// A time of level 1, ms.
    fn draw(self, draw: &mut Draw) -> f64 {
        match self {
            Self::Lognormal | Self::Stalls | Self::Shifts => (0.5 * draw.normal()).exp(),
            Self::Narrow => (0.003 * draw.normal()).exp(),
            Self::Bimodal if draw.uniform() < 0.2 => 8.0 * (0.2 * draw.normal()).exp(),
            Self::Bimodal => (0.2 * draw.normal()).exp(),
            // Of shape 2: the sum of two exponential ones.
            Self::Gamma => -0.5 * (draw.uniform() * draw.uniform()).ln(),
        }
    }
}

/// Draws of each shape, made once: an operation takes one of them.
fn table(shape: Shape) -> Vec<f64> {
    let mut draw = Draw::new(7);
    (0..1 << 17).map(|_| shape.draw(&mut draw)).collect()
}

/// A load in the making: what goes on from one second to the next.
struct Load<'a> {
    shape: Shape,
    table: &'a [f64],
    rho: f64,
    level: f64,
    shift: f64,
    /// Operations of each second; `None`: as many as there is time for.
    asked: Option<f64>,
    recorder: Recorder,
}

impl<'a> Load<'a> {
    fn new((shape, table): (Shape, &'a [f64]), tau_s: f64, draw: &mut Draw) -> Self {
        let rho = if tau_s > 0.0 { (-1.0 / tau_s).exp() } else { 0.0 };
        // Begun in its stationary state.
        Self { shape, table, rho, level: draw.normal(), shift: 0.0, asked: None, recorder: Recorder::new() }
    }

    /// The next second, times `factor`.
    fn second(&mut self, factor: f64, draw: &mut Draw, whole: &mut Recorder) -> Step {
        self.level = self.rho * self.level + (1.0 - self.rho * self.rho).sqrt() * draw.normal();
        // A shift every two minutes, of 3 %.
        if self.shape == Shape::Shifts && draw.uniform() < 1.0 / 120.0 {
            self.shift = 0.03 * draw.normal();
        }
        let level = factor * (LEVEL * self.level + self.shift).exp();
        // A stall in one second of fifty, in which a tenth of the operations wait.
        let is_stalled = self.shape == Shape::Stalls && draw.uniform() < 0.02;
        // At full speed, a slower device does less.
        let free = (f64::from(RATE) / level + f64::from(RATE).sqrt() * draw.normal() * 0.2).round().max(0.0);
        let ops = self.asked.unwrap_or(free);
        self.recorder.clear();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
        for _ in 0..ops as u32 {
            let mut ms = level * self.table[(draw.bits() >> 47) as usize];
            if is_stalled && draw.uniform() < 0.1 {
                ms += 200.0 * factor * draw.uniform();
            }
            let ns = (1e6 * ms) as u64;
            self.recorder.record(ns);
            whole.record(ns);
        }
        let response = self.recorder.snapshot().collapse(STORED_SUB_BITS);
        Step { length_s: 1.0, ops, bytes: 4096.0 * ops, response, ..Step::default() }
    }

    /// What a trace saw, or its replay: as many operations in each second as the other has.
    fn played(&mut self, bursts: &[f64], factor: f64, draw: &mut Draw) -> Round {
        let mut whole = Recorder::new();
        let mut steps = Vec::new();
        for ops in bursts {
            self.asked = Some(*ops);
            steps.push(self.second(factor * (1.0 + ops / f64::from(4 * RATE)), draw, &mut whole));
        }
        let mut round = Round { steps, ..Round::default() };
        round.response.ended = whole.snapshot();
        round
    }

    /// So many seconds.
    fn round(&mut self, seconds: usize, factor: f64, draw: &mut Draw) -> Round {
        let mut whole = Recorder::new();
        let steps = (0..seconds).map(|_| self.second(factor, draw, &mut whole)).collect();
        let mut round = Round { steps, ..Round::default() };
        round.response.ended = whole.snapshot();
        round
    }
}

const FIGURES: [(&str, Kind); 5] = [
    ("rate", Kind::Rate(Flow::Operations)),
    ("mean", Kind::Mean(Clock::Response)),
    ("p50", Kind::Quantile(Clock::Response, 0.5)),
    ("p99", Kind::Quantile(Clock::Response, 0.99)),
    ("p99.9", Kind::Quantile(Clock::Response, 0.999)),
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
    fn add(&mut self, judged: Option<Judged>, slower: bool) {
        match judged {
            Some(Judged { conclusion: Conclusion::Different { better }, .. }) if slower && better == Some(true) => {
                self.wrong_way += 1;
            }
            Some(Judged { conclusion: Conclusion::Different { .. }, .. }) => self.different += 1,
            Some(Judged { conclusion: Conclusion::Same { .. }, .. }) => self.same += 1,
            _ => self.open += 1,
        }
    }

    fn percent(&self, of: u32) -> String {
        let all = self.different + self.same + self.open + self.wrong_way;
        format!("{:.0}", 100.0 * f64::from(of) / f64::from(all.max(1)))
    }
}

fn judge(a: &[Round], b: &[Round], counts: &mut [Count], is_slower: bool) {
    tally(&Pair::new(a, b, Question::default()), counts, is_slower);
}

fn tally(pair: &Pair<'_>, counts: &mut [Count], is_slower: bool) {
    for ((_, kind), count) in FIGURES.iter().zip(counts) {
        let better = if matches!(kind, Kind::Rate(_)) { Better::More } else { Better::Less };
        count.add(pair.judge(*kind, better, true), is_slower);
    }
}

/// In which order the rounds of two loads run.
#[derive(Clone, Copy)]
enum Order {
    Alternating,
    OneAfterTheOther,
}

/// So many rounds of two loads on one machine, whose level goes on through all of them and drifts by so much in all.
fn rounds(
    table: &[f64],
    (order, count, drift): (Order, usize, f64),
    tau_s: f64,
    factor: f64,
    draw: &mut Draw,
) -> (Vec<Round>, Vec<Round>) {
    let mut load = Load::new((Shape::Lognormal, table), tau_s, draw);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for place in 0..2 * count {
        let is_b = match order {
            // A B B A A B B A …
            Order::Alternating => place % 4 == 1 || place % 4 == 2,
            Order::OneAfterTheOther => place >= count,
        };
        let drift = 1.0 + drift * place as f64 / (2 * count) as f64;
        let mut round = load.round(30, drift * if is_b { factor } else { 1.0 }, draw);
        round.began_ns = i64::try_from(place).unwrap_or(0);
        // Between two rounds, targets are opened: the level goes on.
        (0..3).for_each(|_| drop(load.second(1.0, draw, &mut Recorder::new())));
        if is_b { b.push(round) } else { a.push(round) }
    }
    (a, b)
}

/// Operations of each second of a day's work: a slow wave, and bursts of ten times as many.
fn bursts(seconds: usize, draw: &mut Draw) -> Vec<f64> {
    let (mut left, begin) = (0, draw.uniform());
    let of = |second: usize| {
        if left == 0 && draw.uniform() < 0.03 {
            left = 4;
        }
        left = usize::saturating_sub(left, 1);
        let wave = 1.0 + 0.5 * (std::f64::consts::TAU * (second as f64 / 200.0 + begin)).sin();
        (f64::from(RATE) / 4.0 * wave * if left > 0 { 10.0 } else { 1.0 }).round()
    };
    (0..seconds).map(of).collect()
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
                let pair = Pair::paired(&trace, &replay, Question::default());
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
    let mut out = Output::new(std::io::stdout());
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
