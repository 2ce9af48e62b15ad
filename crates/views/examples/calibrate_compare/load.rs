//! Simulated loads: what `calibrate_compare` and the tests of calibration have in common.

use quantity::histogram::{HistogramRecorder, STORED_SUB_BITS};
use views::calibration::{LoadRound, RoundStep};

/// Operations a second.
pub(crate) const RATE: u32 = 400;
/// Standard deviation of the logarithm of the level.
const LEVEL: f64 = 0.05;
/// xoshiro256++ (Blackman and Vigna), seeded by splitmix64.
pub(crate) struct Draw([u64; 4]);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
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
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    /// Normal, mean 0, deviation 1 (Box–Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// How times are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Lognormal,
    Narrow,
    Bimodal,
    Stalls,
    Shifts,
    /// Not among those that the thresholds were found with.
    Gamma,
}

pub(crate) const SHAPES: [(Shape, &str); 6] = [
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
pub(crate) fn table(shape: Shape) -> Vec<f64> {
    let mut draw = Draw::new(7);
    (0..1 << 17).map(|_| shape.draw(&mut draw)).collect()
}

/// A load in the making: what goes on from one second to the next.
pub(crate) struct Load<'a> {
    shape: Shape,
    table: &'a [f64],
    rho: f64,
    level: f64,
    shift: f64,
    /// Operations of each second; `None`: as many as there is time for.
    asked: Option<f64>,
    recorder: HistogramRecorder,
    /// Operations a second at level 1.
    pub(crate) rate: f64,
}

impl<'a> Load<'a> {
    pub(crate) fn new((shape, table): (Shape, &'a [f64]), tau_s: f64, draw: &mut Draw) -> Self {
        let rho = if tau_s > 0.0 { (-1.0 / tau_s).exp() } else { 0.0 };
        // Begun in its stationary state.
        Self {
            shape,
            table,
            rho,
            level: draw.normal(),
            shift: 0.0,
            asked: None,
            recorder: HistogramRecorder::new(),
            rate: f64::from(RATE),
        }
    }

    /// The next second, times `factor`.
    pub(crate) fn second(&mut self, factor: f64, draw: &mut Draw, whole: &mut HistogramRecorder) -> RoundStep {
        self.level = self.rho * self.level + (1.0 - self.rho * self.rho).sqrt() * draw.normal();
        // A shift every two minutes, of 3 %.
        if self.shape == Shape::Shifts && draw.uniform() < 1.0 / 120.0 {
            self.shift = 0.03 * draw.normal();
        }
        let level = factor * (LEVEL * self.level + self.shift).exp();
        // A stall in one second of fifty, in which a tenth of the operations wait.
        let is_stalled = self.shape == Shape::Stalls && draw.uniform() < 0.02;
        // At full speed, a slower device does less.
        let free = (self.rate / level + self.rate.sqrt() * draw.normal() * 0.2).round().max(0.0);
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
        RoundStep { length_s: 1.0, ops, bytes: 4096.0 * ops, response, ..RoundStep::default() }
    }

    /// What a trace saw, or its replay: as many operations in each second as the other has.
    pub(crate) fn played(&mut self, bursts: &[f64], factor: f64, draw: &mut Draw) -> LoadRound {
        let mut whole = HistogramRecorder::new();
        let mut steps = Vec::new();
        for ops in bursts {
            self.asked = Some(*ops);
            steps.push(self.second(factor * (1.0 + ops / f64::from(4 * RATE)), draw, &mut whole));
        }
        let mut round = LoadRound { steps, ..LoadRound::default() };
        round.response.ended = whole.snapshot();
        round
    }

    /// So many seconds.
    pub(crate) fn round(&mut self, seconds: usize, factor: f64, draw: &mut Draw) -> LoadRound {
        let mut whole = HistogramRecorder::new();
        let steps = (0..seconds).map(|_| self.second(factor, draw, &mut whole)).collect();
        let mut round = LoadRound { steps, ..LoadRound::default() };
        round.response.ended = whole.snapshot();
        round
    }
}

/// In which order the rounds of two loads run.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    Alternating,
    OneAfterTheOther,
}

/// So many rounds of two loads on one machine, whose level goes on through all of them and drifts by so much in all.
pub(crate) fn rounds(
    table: &[f64],
    (order, count, drift): (Order, usize, f64),
    tau_s: f64,
    factor: f64,
    draw: &mut Draw,
) -> (Vec<LoadRound>, Vec<LoadRound>) {
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
        (0..3).for_each(|_| drop(load.second(1.0, draw, &mut HistogramRecorder::new())));
        if is_b { b.push(round) } else { a.push(round) }
    }
    (a, b)
}

/// Operations of each second of a day's work: a slow wave, and bursts of ten times as many.
pub(crate) fn bursts(seconds: usize, draw: &mut Draw) -> Vec<f64> {
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
