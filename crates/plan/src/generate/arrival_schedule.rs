//! When operations are due.
//!
//! **Exponential gaps at an exact rate.** The count of a plain Poisson process varies by its square root: 20,000/s for
//! 10 s would come out as anything within ±0.7 %. The process is therefore conditioned on its count: time is divided
//! into windows of whole seconds with at least [`WINDOW_ARRIVALS`] arrivals in each, a window gets exactly
//! `rate × length` of them (fractions are carried over), and they lie in it as uniform order statistics, which is
//! what a Poisson process does given its count. The gaps stay exponential (within 1 ÷ arrivals per window, far below
//! what a test of a real run could tell); bursts and lulls up to the length of the window stay as they are in a Poisson
//! process, only the slow wander beyond it is gone. The next order statistic follows from the one before and the number
//! left (`1 − u^(1/n)` of what remains), so nothing is stored.
//!
//! Parts divide the count so that at every whole window the union of all parts has `floor(rate × time)` arrivals.
//!
//! Parts that are slower than [`WINDOW_ARRIVALS`] per second would have windows of many seconds, and each would be anywhere
//! within them: the union of 1,000 parts with 5 arrivals per second would be 0.9 % off after two seconds. There the
//! windows are those of the union; its arrivals, uniform in their window, are dealt to the parts by a permutation of a
//! block of windows, in which each part gets its exact share (`Dealt`).
//!
//! **Uniform gaps** are scaled in blocks of at most [`BLOCK_GAPS`] and some ten seconds to the exact mean; the parts begin
//! at places of their blocks that are spread evenly, as if all had gone on for ever. **Deterministic** parts are shifted
//! against each other so that their union is evenly spaced. Nothing accumulates rounding: each window, block and
//! arrival is placed from its number.

use super::permutation::Permutation;
use super::rng::{Rng, derive};
use super::{GenerateError, GeneratorPart};
use crate::floor::floor_u64;
use crate::spec::{Arrivals, BurstPattern, GapDistribution};
use std::sync::Arc;

/// A window of the exponential schedule holds at least this many arrivals of its part.
pub const WINDOW_ARRIVALS: u32 = 32;

/// At most so many uniform gaps are scaled together.
pub const BLOCK_GAPS: u32 = 1024;

/// At least so many: their distribution stays what it is.
const BLOCK_GAPS_MIN: u32 = 32;

/// A block of uniform gaps is about as long as this where the two above allow it, s.
const BLOCK_S: f64 = 10.0;

const SECOND_NS: u64 = 1_000_000_000;

/// Far behind the end of every run, and far below what sums of times overflow at.
const NEVER_NS: u64 = u64::MAX / 4;

/// Due times for ever; see the module's description for what is exact.
#[derive(Clone, Debug)]
pub struct ArrivalSchedule {
    process: Process,
    shape: Option<Shape>,
    spike: bool,
    last_ns: u64,
    /// Arrivals at each moment, and how many of those at the last one are left.
    each: u32,
    left: u32,
}

#[derive(Clone, Debug)]
enum Process {
    Never,
    At { moments_ns: Arc<[u64]>, next: usize },
    Even { next: u64, step: u64, period_ns: f64 },
    Uniform(Box<Blocks>),
    Exponential(Box<Windows>),
    Dealt(Box<Dealt>),
}

impl ArrivalSchedule {
    /// Arrivals at `rate_per_s` over all parts together, of which this part yields its share.
    ///
    /// With `arrivals.burst`, its steps give the shape of the rate over time, scaled such that the mean over one cycle
    /// of steps is `rate_per_s`.
    ///
    /// # Errors
    /// When the rate is not a number between 10^-6 and 10^9 per second, or the steps of a burst have no arrivals.
    pub fn new(rate_per_s: f64, arrivals: &Arrivals, seed: u64, part: GeneratorPart) -> Result<Self, GenerateError> {
        let part = part.check()?;
        if !(1e-6..=1e9).contains(&rate_per_s) {
            let what = "the rate per second";
            let allowed = "between 0.000001 and 1000000000";
            return Err(GenerateError::Value { of: "schedule".into(), what, value: rate_per_s, allowed });
        }
        let rng = Rng::new(derive(derive(seed, 0x5c4e_d01e), u64::from(part.index)));
        let part_rate = rate_per_s / f64::from(part.count);
        let process = match arrivals.gaps {
            GapDistribution::Deterministic => Process::Even {
                next: u64::from(part.index),
                step: u64::from(part.count),
                period_ns: SECOND_NS as f64 / rate_per_s,
            },
            GapDistribution::Uniform => Process::Uniform(Box::new(Blocks::new(part_rate, part, rng))),
            GapDistribution::Exponential if part.count > 1 && part_rate < f64::from(WINDOW_ARRIVALS) => {
                Process::Dealt(Box::new(Dealt::new(rate_per_s, part, derive(seed, 0xdea1_7000))))
            }
            GapDistribution::Exponential => Process::Exponential(Box::new(Windows::new(part_rate, part, rng))),
        };
        let shape = match &arrivals.burst {
            Some(burst) if !burst.steps.is_empty() => Some(Shape::new(burst)?),
            _ => None,
        };
        let spike = arrivals.burst.as_ref().is_some_and(|burst| burst.spike);
        Ok(Self { process, shape, spike, last_ns: 0, each: 1, left: 0 })
    }

    /// No arrivals: what is due is due in some hundred years.
    #[must_use]
    pub fn never() -> Self {
        Self { process: Process::Never, shape: None, spike: false, last_ns: 0, each: 1, left: 0 }
    }

    /// Arrivals at these moments, ns since the start of the run, ascending; [`ENDED_NS`](Self::ENDED_NS) behind the last.
    #[must_use]
    pub fn at(moments_ns: Vec<u64>) -> Self {
        let process = Process::At { moments_ns: moments_ns.into(), next: 0 };
        Self { process, shape: None, spike: false, last_ns: 0, each: 1, left: 0 }
    }

    /// So many arrivals, 1 at least, at each moment: `rate_per_s` was that of moments.
    #[must_use]
    pub fn in_groups_of(self, each: u32) -> Self {
        Self { each: each.max(1), ..self }
    }

    /// The next due time where there is none any more: behind the end of every run, and behind those of
    /// [`ArrivalSchedule::never`], whose lane waits.
    pub const ENDED_NS: u64 = u64::MAX / 2;

    /// The next due time in nanoseconds since the start of the run; never before the one before.
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        if self.left > 0 {
            self.left -= 1;
            return self.last_ns;
        }
        self.left = self.each - 1;
        let mut at = match &mut self.process {
            Process::Even { next, step, period_ns } => {
                let at = floor_u64(*next as f64 * *period_ns);
                *next += *step;
                at
            }
            Process::Never => NEVER_NS,
            Process::At { moments_ns, next } => {
                let at_ns = moments_ns.get(*next).copied();
                *next += 1;
                at_ns.unwrap_or(Self::ENDED_NS)
            }
            Process::Uniform(blocks) => blocks.next_ns(),
            Process::Exponential(windows) => windows.next_ns(),
            Process::Dealt(dealt) => dealt.next_ns(),
        };
        if let Some(shape) = &self.shape {
            at = shape.warp(at);
        }
        if self.spike {
            at -= at % SECOND_NS;
        }
        self.last_ns = self.last_ns.max(at);
        self.last_ns
    }
}

/// Order statistics in windows of a fixed number of arrivals.
#[derive(Clone, Debug)]
struct Windows {
    rng: Rng,
    rate: f64,
    phase: f64,
    seconds: u64,
    /// Number of the current window, counted from 1; 0 before the first.
    window: u64,
    start_ns: u64,
    length_ns: f64,
    /// Position in the window.
    at_ns: f64,
    left: u64,
}

impl Windows {
    fn new(rate: f64, part: GeneratorPart, rng: Rng) -> Self {
        let seconds = floor_u64((f64::from(WINDOW_ARRIVALS) / rate).ceil()).clamp(1, 100_000_000);
        Self {
            rng,
            rate,
            phase: (f64::from(part.index) + 0.5) / f64::from(part.count),
            seconds,
            window: 0,
            start_ns: 0,
            length_ns: (seconds * SECOND_NS) as f64,
            at_ns: 0.0,
            left: 0,
        }
    }

    /// Arrivals in the first `windows` windows.
    fn upto(&self, windows: u64) -> u64 {
        floor_u64(self.rate * (windows * self.seconds) as f64 + self.phase)
    }

    #[cold]
    fn advance(&mut self) {
        while self.left == 0 {
            self.start_ns = (self.window * self.seconds).saturating_mul(SECOND_NS);
            self.window += 1;
            self.left = self.upto(self.window) - self.upto(self.window - 1);
            self.at_ns = 0.0;
        }
    }

    #[inline]
    fn next_ns(&mut self) -> u64 {
        if self.left == 0 {
            self.advance();
        }
        let fraction = one_minus_exp(self.rng.exponential() / self.left as f64);
        self.at_ns += (self.length_ns - self.at_ns) * fraction;
        self.left -= 1;
        self.start_ns + floor_u64(self.at_ns.min(self.length_ns - 1.0))
    }
}

/// One of many slow parts: the arrivals of all together, dealt to the parts.
///
/// Everything follows from numbers, so that each part knows its own arrivals without the others: arrival `k` of a block
/// lies in the window of the union whose turn it is at `k`, at a place that is a hash of `k`. A part owns every
/// `count`-th index of a permutation of the block, beginning where the block before has left off.
#[derive(Clone, Debug)]
struct Dealt {
    seed: u64,
    /// Of all parts together, per second.
    rate: f64,
    part: GeneratorPart,
    /// Length of a window of the union, s.
    window_s: u64,
    /// Windows in a block: at least [`WINDOW_ARRIVALS`] arrivals of each part.
    windows: u64,
    /// Blocks begun.
    block: u64,
    /// What is left of this part's arrivals in the block, the latest first.
    times_ns: Vec<u64>,
}

impl Dealt {
    fn new(rate: f64, part: GeneratorPart, seed: u64) -> Self {
        let seconds_for = |rate: f64| floor_u64((f64::from(WINDOW_ARRIVALS) / rate).ceil()).clamp(1, 100_000_000);
        let window_s = seconds_for(rate);
        let windows = seconds_for(rate / f64::from(part.count)).div_ceil(window_s);
        Self { seed, rate, part, window_s, windows, block: 0, times_ns: Vec::new() }
    }

    /// Arrivals of all parts in the first `windows` windows.
    fn upto(&self, windows: u64) -> u64 {
        floor_u64(self.rate * (windows * self.window_s) as f64 + 0.5)
    }

    #[cold]
    fn advance(&mut self) {
        while self.times_ns.is_empty() {
            let first = self.block * self.windows;
            let (before, until) = (self.upto(first), self.upto(first + self.windows));
            let key = derive(self.seed, self.block);
            self.block += 1;
            if until == before {
                continue;
            }
            let permutation = Permutation::new(until - before, key);
            let (index, count) = (u64::from(self.part.index), u64::from(self.part.count));
            let mut at = (index + count - before % count) % count;
            while at < until - before {
                let number = before + permutation.apply(at);
                let window = self.window_of(number);
                let length_ns = self.window_s * SECOND_NS;
                let within = (u128::from(derive(key, number)) * u128::from(length_ns)) >> 64;
                let start_ns = window.saturating_mul(length_ns);
                self.times_ns.push(start_ns.saturating_add(u64::try_from(within).unwrap_or(0)));
                at += count;
            }
            self.times_ns.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The window in which the union's arrival with this number lies.
    fn window_of(&self, number: u64) -> u64 {
        let mut window = floor_u64(number as f64 / (self.rate * self.window_s as f64));
        // What rounding is off.
        while self.upto(window) > number {
            window -= 1;
        }
        while self.upto(window + 1) <= number {
            window += 1;
        }
        window
    }

    #[inline]
    fn next_ns(&mut self) -> u64 {
        if self.times_ns.is_empty() {
            self.advance();
        }
        self.times_ns.pop().unwrap_or(u64::MAX)
    }
}

/// `1 − e^−x` for `x` ≥ 0; the series is exact to 10^-12 where it is used.
#[inline]
fn one_minus_exp(x: f64) -> f64 {
    if x < 0.01 {
        x * (1.0 - x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x * (1.0 / 120.0)))))
    } else {
        -(-x).exp_m1()
    }
}

/// Uniform gaps, scaled per block: the block's sum is taken from a copy of the generator before its gaps are used.
#[derive(Clone, Debug)]
struct Blocks {
    rng: Rng,
    mean_ns: f64,
    /// Gaps of a block.
    gaps: u32,
    /// How far before the start the first block began, ns.
    ahead_ns: f64,
    /// Blocks begun.
    block: u64,
    sum: f64,
    scale: f64,
    left: u32,
}

impl Blocks {
    fn new(rate: f64, part: GeneratorPart, rng: Rng) -> Self {
        let mean_ns = SECOND_NS as f64 / rate;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the bounds")]
        let gaps = (rate * BLOCK_S).clamp(f64::from(BLOCK_GAPS_MIN), f64::from(BLOCK_GAPS)) as u32;
        let phase = (f64::from(part.index) + 0.5) / f64::from(part.count);
        let ahead_ns = phase * f64::from(gaps) * mean_ns;
        Self { rng, mean_ns, gaps, ahead_ns, block: 0, sum: 0.0, scale: 0.0, left: 0 }
    }

    #[cold]
    fn advance(&mut self) {
        let mut ahead = self.rng.clone();
        let sum: f64 = (0..self.gaps).map(|_| ahead.unit_above_zero()).sum();
        self.scale = f64::from(self.gaps) / sum;
        self.sum = 0.0;
        self.left = self.gaps;
        self.block += 1;
    }

    #[inline]
    fn next_ns(&mut self) -> u64 {
        loop {
            if self.left == 0 {
                self.advance();
            }
            self.left -= 1;
            self.sum += self.rng.unit_above_zero();
            let before = (self.block - 1) as f64 * f64::from(self.gaps);
            let at_ns = (before + self.sum * self.scale) * self.mean_ns - self.ahead_ns;
            if at_ns >= 0.0 {
                return floor_u64(at_ns);
            }
        }
    }
}

/// A rate that changes in steps: stretches evenly flowing time so that each step gets its share of the arrivals.
#[derive(Clone, Debug)]
struct Shape {
    cycle_ns: f64,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// End of the step in evenly flowing time, and its start.
    from_ns: f64,
    upto_ns: f64,
    start_ns: f64,
    /// Real time per evenly flowing time.
    stretch: f64,
}

impl Shape {
    fn new(burst: &BurstPattern) -> Result<Self, GenerateError> {
        let error = |what, value, allowed| GenerateError::Value { of: "schedule".into(), what, value, allowed };
        if let Some((rate, _)) = burst.steps.iter().find(|(rate, _)| !(0.0..=1e9).contains(rate)) {
            return Err(error("the rate of a burst", *rate, "between 0 and 1000000000 per second"));
        }
        let cycle_ns: f64 = burst.steps.iter().map(|(_, ns)| *ns as f64).sum();
        let arrivals: f64 = burst.steps.iter().map(|(rate, ns)| rate * *ns as f64).sum();
        if arrivals <= 0.0 {
            return Err(error("the number of arrivals in a cycle of bursts", arrivals, "above 0"));
        }
        let (mut from_ns, mut start_ns, mut steps) = (0.0, 0.0, Vec::with_capacity(burst.steps.len()));
        for &(rate, ns) in &burst.steps {
            let ns = ns as f64;
            let share_ns = rate * ns / arrivals * cycle_ns;
            if share_ns > 0.0 {
                let upto_ns = from_ns + share_ns;
                steps.push(Step { from_ns, upto_ns, start_ns, stretch: ns / share_ns });
                from_ns = upto_ns;
            }
            start_ns += ns;
        }
        Ok(Self { cycle_ns, steps })
    }

    fn warp(&self, even_ns: u64) -> u64 {
        let cycles = (even_ns as f64 / self.cycle_ns).floor();
        let within = even_ns as f64 - cycles * self.cycle_ns;
        let step = self.steps.iter().find(|step| within < step.upto_ns).or(self.steps.last());
        let real = step.map_or(within, |step| step.start_ns + (within - step.from_ns) * step.stretch);
        floor_u64(cycles * self.cycle_ns + real)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(rate: f64, gaps: GapDistribution, part: GeneratorPart) -> ArrivalSchedule {
        ArrivalSchedule::new(rate, &Arrivals { gaps, burst: None }, 11, part).unwrap()
    }

    /// Arrivals of all parts in the first `seconds`, ascending.
    fn arrivals(rate: f64, gaps: GapDistribution, count: u32, seconds: u64) -> Vec<u64> {
        let mut all = Vec::new();
        for index in 0..count {
            let mut schedule = schedule(rate, gaps, GeneratorPart { index, count });
            let due = std::iter::from_fn(|| Some(schedule.next_ns()));
            let before = all.len();
            all.extend(due.take_while(|&ns| ns < seconds * SECOND_NS));
            assert!(all[before..].is_sorted());
        }
        all.sort_unstable();
        all
    }

    const ALL: [GapDistribution; 3] =
        [GapDistribution::Exponential, GapDistribution::Uniform, GapDistribution::Deterministic];

    #[test]
    fn ten_seconds_have_the_asked_count() {
        for gaps in ALL {
            for (rate, count) in [(20_000.0, 1), (20_000.0, 4), (1234.5, 3), (98_765.4, 7)] {
                let found = arrivals(rate, gaps, count, 10).len() as f64;
                let error = (found / (rate * 10.0) - 1.0).abs();
                let few = if gaps == GapDistribution::Uniform { 60.0 / rate } else { 0.0 };
                assert!(error < 0.001 + few, "{gaps:?} {rate}/s in {count} parts: {found}");
            }
        }
    }

    #[test]
    fn at_every_second_the_exponential_count_is_exact() {
        let all = arrivals(1000.3, GapDistribution::Exponential, 4, 20);
        for second in 1..=20 {
            let count = all.partition_point(|&ns| ns < second * SECOND_NS) as f64;
            assert!((count - 1000.3 * second as f64).abs() <= 1.0, "{count} after {second} s");
        }
    }

    #[test]
    fn many_slow_targets_have_their_rate_together_and_each_its_part() {
        for (rate, count) in [(5000.0, 1000), (1250.0, 1000), (100.0, 1000), (37.3, 3), (45.0, 1), (50_000.0, 1000)] {
            for gaps in ALL {
                let all = arrivals(rate, gaps, count, 20);
                for second in [1, 2, 3, 7, 10, 20] {
                    let found = all.partition_point(|&ns| ns < second * SECOND_NS) as f64;
                    // Blocks of uniform gaps of independent parts: the variance of a mean is a third of it, less at the ends.
                    let block = (rate / f64::from(count) * BLOCK_S).clamp(32.0, 1024.0);
                    let spread = if gaps == GapDistribution::Uniform {
                        4.5 * (f64::from(count) * block / 12.0).sqrt()
                    } else {
                        0.0
                    };
                    let off = (found - rate * second as f64).abs();
                    assert!(off <= 1.0 + spread, "{gaps:?}: {found} after {second} s, {rate}/s in {count} parts");
                }
            }
            for index in [0, count / 2, count - 1] {
                let mut one = schedule(rate, GapDistribution::Exponential, GeneratorPart { index, count });
                // 100 windows of the part, whole ones of the union.
                let seconds = 100 * floor_u64((32.0 * f64::from(count) / rate).ceil());
                let due = std::iter::from_fn(|| Some(one.next_ns())).take_while(|&ns| ns < seconds * SECOND_NS);
                let off = (due.count() as f64 - rate / f64::from(count) * seconds as f64).abs();
                assert!(off <= 1.5, "part {index} of {count} at {rate}/s is {off} off after {seconds} s");
            }
        }
    }

    #[test]
    fn gaps_of_many_slow_targets_are_exponential_each_and_together() {
        let exponential = |x: f64| 1.0 - (-x).exp();
        let together = arrivals(5000.0, GapDistribution::Exponential, 1000, 20);
        let found = distance(&together, 2e5, exponential);
        assert!(found < 0.0062, "together: {found}");
        for index in [0, 421, 999] {
            let mut one = schedule(5000.0, GapDistribution::Exponential, GeneratorPart { index, count: 1000 });
            let times: Vec<u64> = (0..20_000).map(|_| one.next_ns()).collect();
            let found = distance(&times, 2e8, exponential);
            assert!(found < 0.0138 + 0.01, "part {index}: {found}");
        }
    }

    #[test]
    fn nothing_drifts_in_an_hour() {
        for gaps in ALL {
            let mut schedule = schedule(3333.3, gaps, GeneratorPart::WHOLE);
            let count = std::iter::from_fn(|| Some(schedule.next_ns())).take_while(|&ns| ns < 3600 * SECOND_NS).count();
            let error = (count as f64 / (3333.3 * 3600.0) - 1.0).abs();
            assert!(error < 1e-4, "{gaps:?}: {count}");
        }
    }

    /// Greatest distance between the distribution of gaps and `expected`, by Kolmogorov and Smirnov.
    fn distance(times: &[u64], mean_ns: f64, expected: impl Fn(f64) -> f64) -> f64 {
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / mean_ns).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let n = gaps.len() as f64;
        gaps.iter().enumerate().map(|(i, gap)| (expected(*gap) - (i as f64 + 0.5) / n).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn gaps_are_distributed_as_asked() {
        // 99.9 % of true samples of 100,000 stay below 1.95 ÷ √n = 0.0062.
        let exponential = |x: f64| 1.0 - (-x).exp();
        for count in [1, 4] {
            let times = arrivals(10_000.0, GapDistribution::Exponential, count, 10);
            let found = distance(&times, 1e5, exponential);
            assert!(found < 0.0062, "exponential in {count} parts: {found}");
        }
        let times = arrivals(10_000.0, GapDistribution::Uniform, 1, 10);
        let found = distance(&times, 1e5, |x| (x / 2.0).min(1.0));
        assert!(found < 0.0062 + 0.01, "uniform: {found}");
        assert!(distance(&times, 1e5, exponential) > 0.1, "the test tells distributions apart");
    }

    #[test]
    fn slow_schedules_stay_exponential() {
        let mut schedule = schedule(0.5, GapDistribution::Exponential, GeneratorPart::WHOLE);
        let times: Vec<u64> = (0..100_000).map(|_| schedule.next_ns()).collect();
        let found = distance(&times, 2e9, |x| 1.0 - (-x).exp());
        assert!(found < 0.02, "{found}");
    }

    #[test]
    fn deterministic_parts_interleave_evenly() {
        let all = arrivals(1000.0, GapDistribution::Deterministic, 4, 2);
        assert!(all.iter().enumerate().all(|(i, &ns)| ns.abs_diff(i as u64 * 1_000_000) <= 1));
    }

    #[test]
    fn bursts_follow_their_steps_and_spikes_the_second() {
        let steps = vec![(100.0, SECOND_NS), (0.0, SECOND_NS), (300.0, 2 * SECOND_NS)];
        for gaps in ALL {
            let burst = Some(BurstPattern { steps: steps.clone(), spike: false });
            let mut schedule = ArrivalSchedule::new(175.0, &Arrivals { gaps, burst }, 1, GeneratorPart::WHOLE).unwrap();
            let mut seconds = [0_u32; 400];
            loop {
                let second = usize::try_from(schedule.next_ns() / SECOND_NS).unwrap();
                let Some(count) = seconds.get_mut(second) else { break };
                *count += 1;
            }
            for (phase, expected) in [(0, 100.0), (1, 0.0), (2, 300.0), (3, 300.0)] {
                let found = f64::from(seconds.iter().skip(phase).step_by(4).sum::<u32>()) / 100.0;
                assert!((found - expected).abs() <= 0.03 * expected, "{gaps:?} {phase}: {found}");
            }
        }
        let spike =
            Arrivals { gaps: GapDistribution::Deterministic, burst: Some(BurstPattern { steps: vec![], spike: true }) };
        let mut schedule = ArrivalSchedule::new(50.0, &spike, 1, GeneratorPart::WHOLE).unwrap();
        assert!((0..500).all(|i| schedule.next_ns() == i / 50 * SECOND_NS));
    }

    #[test]
    fn groups_are_due_together() {
        let mut schedule = schedule(10.0, GapDistribution::Deterministic, GeneratorPart::WHOLE).in_groups_of(3);
        assert!((0..30).all(|at| schedule.next_ns() == at / 3 * (SECOND_NS / 10)));
    }

    #[test]
    fn never_is_behind_the_end_of_every_run() {
        let mut never = ArrivalSchedule::never();
        assert!((0..3).all(|_| never.next_ns() > 100 * 365 * 86_400 * SECOND_NS));
    }

    #[test]
    fn moments_come_once_each_and_a_copy_has_the_same_left() {
        let mut schedule = ArrivalSchedule::at(vec![5, 5, 9]);
        assert_eq!(schedule.next_ns(), 5);
        for mut copy in [schedule.clone(), schedule] {
            let left = [5, 9, ArrivalSchedule::ENDED_NS, ArrivalSchedule::ENDED_NS];
            assert_eq!([(); 4].map(|()| copy.next_ns()), left);
        }
        assert_eq!(ArrivalSchedule::at(Vec::new()).next_ns(), ArrivalSchedule::ENDED_NS);
    }

    #[test]
    fn impossible_rates_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e10] {
            assert!(ArrivalSchedule::new(rate, &Arrivals::default(), 1, GeneratorPart::WHOLE).is_err());
        }
        assert!(ArrivalSchedule::new(1.0, &Arrivals::default(), 1, GeneratorPart { index: 2, count: 2 }).is_err());
    }
}
