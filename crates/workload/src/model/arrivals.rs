//! How many I/Os come when, and a few rates that stand for them.

use plan::GapDistribution;
use plan::generate::OperationKind;

/// First length of a bin, and the window of the burstiness that is judged, ns.
pub(super) const BIN_NS: u64 = 100_000_000;
/// Most bins; when more would be needed, pairs become one.
const BINS: usize = 1 << 20;
/// Most steps of a rate.
const STEPS: usize = 60;
/// A rate changes where independent arrivals at one rate would hardly do so: the gain of a step over their variance.
const CHANGE: f64 = 16.0;
/// Most bins that are looked through for changes.
const SEARCHED: usize = 1 << 16;

/// Counts in windows of one length.
#[derive(Clone, Debug)]
struct Windows {
    length_ns: u64,
    current: u64,
    count: f64,
    windows: f64,
    sum: f64,
    squares: f64,
}

impl Windows {
    fn new(length_ns: u64) -> Self {
        Self { length_ns, current: 0, count: 0.0, windows: 0.0, sum: 0.0, squares: 0.0 }
    }

    fn add(&mut self, since_ns: u64) {
        let window = since_ns / self.length_ns;
        if window > self.current {
            self.close(window);
        }
        self.count += 1.0;
    }

    fn close(&mut self, window: u64) {
        self.sum += self.count;
        self.squares += self.count * self.count;
        self.count = 0.0;
        self.current = window;
        self.windows = window as f64;
    }

    /// What is left is a part of a window and does not count.
    fn finish(&mut self, length_ns: u64) {
        let whole = length_ns / self.length_ns;
        if whole > self.current {
            self.close(whole);
        }
    }

    fn dispersion(&self) -> Option<f64> {
        let mean = self.sum / self.windows;
        (self.windows >= 2.0 && mean > 0.0).then(|| (self.squares / self.windows - mean * mean).max(0.0) / mean)
    }
}

/// What came in a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bin {
    /// I/Os.
    ios: u32,
    reads: u32,
    /// Reads and writes.
    moved: u32,
    bytes: u64,
}

impl Bin {
    fn add(&mut self, other: &Self) {
        self.ios = self.ios.saturating_add(other.ios);
        self.reads = self.reads.saturating_add(other.reads);
        self.moved = self.moved.saturating_add(other.moved);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Of all of these.
    fn sum(bins: &[Self]) -> Self {
        let mut sum = Self::default();
        bins.iter().for_each(|bin| sum.add(bin));
        sum
    }

    /// I/Os.
    pub(super) fn ios(&self) -> f64 {
        f64::from(self.ios)
    }

    /// Bytes of reads, writes and trims.
    pub(super) fn bytes(&self) -> f64 {
        self.bytes as f64
    }

    /// Reads ÷ (reads and writes); `None` where there were none.
    pub(super) fn read_share(&self) -> Option<f64> {
        (self.moved > 0).then(|| f64::from(self.reads) / f64::from(self.moved))
    }
}

/// The fold over arrivals.
#[derive(Clone, Debug)]
pub(super) struct ArrivalModel {
    begin_ns: i64,
    length_ns: u64,
    ios: u64,
    pub(super) bin_ns: u64,
    bins: Vec<Bin>,
    windows: Windows,
}

impl ArrivalModel {
    pub(super) fn new(begin_ns: i64) -> Self {
        Self { begin_ns, length_ns: 0, ios: 0, bin_ns: BIN_NS, bins: Vec::new(), windows: Windows::new(BIN_NS) }
    }

    pub(super) fn add(&mut self, t_ns: i64, op: OperationKind, bytes: u32) {
        let since_ns = u64::try_from(t_ns.saturating_sub(self.begin_ns)).unwrap_or(0);
        self.ios += 1;
        self.length_ns = self.length_ns.max(since_ns + 1);
        self.windows.add(since_ns);
        let at = self.place(since_ns);
        let (is_read, is_write) = (op == OperationKind::Read, op == OperationKind::Write);
        let moved = u32::from(is_read || is_write);
        self.bins[at].add(&Bin { ios: 1, reads: u32::from(is_read), moved, bytes: u64::from(bytes) });
    }

    fn place(&mut self, since_ns: u64) -> usize {
        while since_ns / self.bin_ns >= BINS as u64 {
            self.bin_ns *= 2;
            self.bins = self.bins.chunks(2).map(Bin::sum).collect();
        }
        let at = usize::try_from(since_ns / self.bin_ns).unwrap_or(0);
        if self.bins.len() <= at {
            self.bins.resize(at + 1, Bin::default());
        }
        at
    }

    pub(super) fn finish(&mut self, end_ns: i64) {
        let length_ns = u64::try_from(end_ns.saturating_sub(self.begin_ns)).unwrap_or(0);
        self.length_ns = self.length_ns.max(length_ns);
        self.windows.finish(self.length_ns);
        self.place(self.length_ns.saturating_sub(1));
    }

    pub(super) fn ios(&self) -> u64 {
        self.ios
    }

    pub(super) fn begin_ns(&self) -> i64 {
        self.begin_ns
    }

    pub(super) fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// I/Os per second over the whole length.
    pub(super) fn rate(&self) -> f64 {
        self.ios as f64 * 1e9 / self.length_ns.max(1) as f64
    }

    /// Variance ÷ mean of the counts in 100 ms.
    pub(super) fn dispersion(&self) -> Option<f64> {
        self.windows.dispersion()
    }

    /// Bins in a second.
    fn per_second(&self) -> usize {
        usize::try_from(1_000_000_000 / self.bin_ns).unwrap_or(1).max(1)
    }

    /// What came in whole seconds (in bins that are longer).
    pub(super) fn seconds(&self) -> Vec<Bin> {
        self.whole().chunks_exact(self.per_second()).map(Bin::sum).collect()
    }

    /// Bins that lie in the length as a whole.
    fn whole(&self) -> &[Bin] {
        &self.bins[..usize::try_from(self.length_ns / self.bin_ns).unwrap_or(0).min(self.bins.len())]
    }

    /// Counts of seconds that begin with every bin, so that it does not matter when the first one begins.
    pub(super) fn sliding(&self) -> Vec<f64> {
        self.whole().windows(self.per_second()).map(|bins| bins.iter().map(Bin::ios).sum()).collect()
    }

    /// A few rates, each for some time, that stand for these arrivals.
    pub(super) fn steps(&self) -> Steps {
        let counts: Vec<f64> = self.whole().iter().map(Bin::ios).collect();
        let constant =
            Steps { steps: vec![(self.rate(), self.length_ns)], digest: false, gaps: GapDistribution::Exponential };
        if counts.len() < 2 || counts.iter().sum::<f64>() <= 0.0 {
            return constant;
        }
        let (edges, residual) = if counts.len() <= SEARCHED { changes(&counts) } else { (Vec::new(), f64::INFINITY) };
        let gaps = if residual < 0.3 { GapDistribution::Deterministic } else { GapDistribution::Exponential };
        let bound = self.dispersion().map_or(1.5, |all| (1.0 + 0.15 * (all - 1.0)).max(1.5));
        if residual > bound {
            let mut digest = digest(&counts, self.per_second(), self.bin_ns);
            // Groups of seconds are not all equally large.
            let (ios, time) =
                digest.iter().fold((0.0, 0.0), |(ios, time), (rate, ns)| (ios + rate * *ns as f64, time + *ns as f64));
            let scale = if ios > 0.0 { self.rate() * time / ios } else { 1.0 };
            digest.iter_mut().for_each(|step| step.0 *= scale);
            return if digest.is_empty() { constant } else { Steps { steps: digest, digest: true, gaps } };
        }
        if edges.len() <= 2 {
            return Steps { gaps, ..constant };
        }
        let bin_s = self.bin_ns as f64 / 1e9;
        let step = |pair: &[usize]| {
            let length = pair[1] - pair[0];
            (mean(&counts[pair[0]..pair[1]]) / bin_s, length as u64 * self.bin_ns)
        };
        let mut steps: Vec<(f64, u64)> = edges.windows(2).map(step).collect();
        // The last bin is hardly ever whole, and a cycle that is too short begins again before the end.
        if let Some(last) = steps.last_mut().filter(|_| self.length_ns > counts.len() as u64 * self.bin_ns) {
            last.1 += self.bin_ns;
        }
        Steps { steps, digest: false, gaps }
    }
}

/// Rates by time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Steps {
    /// I/Os per second, ns.
    pub(super) steps: Vec<(f64, u64)>,
    /// They are not the course of time, but have its distribution.
    pub(super) digest: bool,
    pub(super) gaps: GapDistribution,
}

fn mean(counts: &[f64]) -> f64 {
    counts.iter().sum::<f64>() / counts.len().max(1) as f64
}

/// A stretch with the place where a change explains most.
#[derive(Clone, Copy, Debug)]
struct ArrivalSpan {
    from: usize,
    to: usize,
    at: usize,
    gain: f64,
}

/// Where the rate changes (both ends included), and the variance ÷ mean that is left between these places.
fn changes(counts: &[f64]) -> (Vec<usize>, f64) {
    let mut upto = Vec::with_capacity(counts.len() + 1);
    let mut sum = 0.0;
    upto.push(sum);
    for count in counts {
        sum += count;
        upto.push(sum);
    }
    let stretch = |from: usize, to: usize| {
        let length = (to - from) as f64;
        let all = upto[to] - upto[from];
        let mut best = ArrivalSpan { from, to, at: from, gain: 0.0 };
        for at in from + 1..to {
            let (left, part) = ((at - from) as f64, upto[at] - upto[from]);
            let difference = part / left - (all - part) / (length - left);
            let gain = difference * difference * left * (length - left) / length;
            if gain > best.gain {
                best = ArrivalSpan { at, gain, ..best };
            }
        }
        // In units of what independent arrivals would vary by.
        best.gain /= (all / length).max(0.5);
        best
    };
    let mut stretches = vec![stretch(0, counts.len())];
    while stretches.len() < STEPS {
        let widest =
            (0..stretches.len()).max_by(|a, b| weight(&stretches[*a], &upto).total_cmp(&weight(&stretches[*b], &upto)));
        let Some(chosen) = widest.filter(|at| stretches[*at].gain > CHANGE) else { break };
        let ArrivalSpan { from, to, at, .. } = stretches[chosen];
        stretches[chosen] = stretch(from, at);
        stretches.insert(chosen + 1, stretch(at, to));
    }
    let squares: f64 = stretches
        .iter()
        .map(|one| {
            let middle = mean(&counts[one.from..one.to]);
            counts[one.from..one.to].iter().map(|count| (count - middle) * (count - middle)).sum::<f64>()
        })
        .sum();
    let mut edges: Vec<usize> = stretches.iter().map(|one| one.from).collect();
    edges.push(counts.len());
    (edges, squares / sum.max(1.0))
}

/// What a change in a stretch explains of all variance; none when it may be chance.
fn weight(stretch: &ArrivalSpan, upto: &[f64]) -> f64 {
    if stretch.gain <= CHANGE {
        return 0.0;
    }
    let mean = (upto[stretch.to] - upto[stretch.from]) / (stretch.to - stretch.from) as f64;
    stretch.gain * mean.max(0.5)
}

/// A short stretch of time whose seconds have the distribution of all seconds, in the order of a real stretch; where
/// the rate changes within seconds, each has a busy and a quiet part.
fn digest(counts: &[f64], per_second: usize, bin_ns: u64) -> Vec<(f64, u64)> {
    let seconds: Vec<Second> = counts.chunks_exact(per_second).map(Second::of).collect();
    let (squares, chance) = seconds.iter().fold((0.0, 0.0), |(a, b), one| (a + one.squares, b + one.mean));
    let parts = if per_second >= 4 && squares / chance.max(1e-9) > 1.3 { 2 } else { 1 };
    let length = (STEPS / parts).min(seconds.len());
    if length == 0 {
        return Vec::new();
    }
    let start = typical(&seconds, length);
    let mut order: Vec<usize> = (0..length).collect();
    order.sort_by(|a, b| seconds[start + *a].mean.total_cmp(&seconds[start + *b].mean));
    let mut sorted = seconds;
    sorted.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    let mut steps = vec![Vec::new(); length];
    for (rank, at) in order.into_iter().enumerate() {
        let (from, to) = (rank * sorted.len() / length, (rank + 1) * sorted.len() / length);
        steps[at] = Second::join(&sorted[from..to]).steps(parts, per_second, bin_ns);
    }
    steps.concat()
}

/// Where the stretch of this length begins that has most nearly the mean of all.
fn typical(seconds: &[Second], length: usize) -> usize {
    let all = seconds.iter().map(|one| one.mean).sum::<f64>() / seconds.len() as f64;
    let off = |start: usize| {
        let sum: f64 = seconds[start..start + length].iter().map(|one| one.mean).sum();
        (sum / length as f64 - all).abs()
    };
    let starts = (0..=seconds.len() - length).step_by((length / 4).max(1));
    starts.min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap_or(0)
}

/// One second, or several that are alike.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    /// Mean count of a bin.
    mean: f64,
    /// Variance of the counts of its bins.
    squares: f64,
    /// Share of the bins that are above the mean.
    above: f64,
}

impl Second {
    fn of(bins: &[f64]) -> Self {
        let middle = mean(bins);
        let squares = bins.iter().map(|count| (count - middle) * (count - middle)).sum::<f64>();
        let above = bins.iter().filter(|count| **count > middle).count() as f64 / bins.len() as f64;
        Self { mean: middle, squares: squares / (bins.len().max(2) - 1) as f64, above }
    }

    fn join(all: &[Self]) -> Self {
        let count = all.len().max(1) as f64;
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / count;
        Self { mean: mean(|one| one.mean), squares: mean(|one| one.squares), above: mean(|one| one.above) }
    }

    /// One rate, or a high one and a low one that together vary as much as it does beyond chance.
    fn steps(&self, parts: usize, bins: usize, bin_ns: u64) -> Vec<(f64, u64)> {
        let per_s = 1e9 / bin_ns as f64;
        let whole = (self.mean * per_s, bins as u64 * bin_ns);
        let excess = self.squares - self.mean;
        if parts < 2 || excess <= 0.2 * self.mean || self.mean <= 0.0 {
            return vec![whole];
        }
        // With a quiet part of nothing the variance is mean² × (1 − busy) ÷ busy: no more is possible.
        let most = self.mean * self.mean / (excess + self.mean * self.mean);
        let busy = (self.above.min(most) * bins as f64).round().clamp(1.0, (bins - 1) as f64);
        let share = busy / bins as f64;
        let low = (self.mean - (excess * share / (1.0 - share)).sqrt()).max(0.0);
        let high = (self.mean - low * (1.0 - share)) / share;
        let busy_ns = (busy * bin_ns as f64).round();
        let busy_ns = plan_ns(busy_ns);
        vec![(high * per_s, busy_ns), (low * per_s, whole.1 - busy_ns)]
    }
}

/// Whole ns of a number that is one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is below a second")]
fn plan_ns(ns: f64) -> u64 {
    ns as u64
}
