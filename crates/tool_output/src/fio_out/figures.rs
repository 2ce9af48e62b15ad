//! fio's figures from histograms: percentiles by its bins, spread, shares of its classes of time; its short numbers.

use quantity::histogram::Histogram;

/// Sub-buckets per octave of fio's histograms, as a power of two (`FIO_IO_U_PLAT_BITS`): ours collapse to the same buckets.
const PLAT_BITS: u32 = 6;
/// The percentiles that fio prints unless `percentile_list` has others.
pub(super) const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Upper ends of the classes of times below 1,000 units; the last ones of milliseconds are 2,000 and all above.
const CLASSES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// What fio says of a set of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    pub(super) count: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// fio's bins: middle of the bucket and count, ascending; empty where only a summary was recorded.
    pub(super) bins: Vec<(u64, u64)>,
}

impl Times {
    /// Of nanoseconds. The spread is that of the middles of the buckets of the finest histogram there is (error below 1 %).
    pub(super) fn of(times: &Histogram) -> Self {
        let (Some(min), Some(max), Some(mean)) = (times.min(), times.max(), times.mean()) else {
            return Self::default();
        };
        let middle = |(low, high): (u64, u64)| (low as f64 + (high.saturating_sub(1)) as f64) / 2.0;
        let squares: f64 = times
            .buckets()
            .map(|(low, high, n)| n as f64 * (middle((low, high)).clamp(min as f64, max as f64) - mean).powi(2))
            .sum();
        let count = times.count();
        let deviation = if count > 1 && !times.is_summary() { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let bins = if times.is_summary() { Vec::new() } else { bins(times) };
        Self { count, min, max, mean, deviation, bins }
    }

    /// Of samples that stand apart, as fio's of bandwidth.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "samples are rates, finite and not negative"
    )]
    pub(super) fn of_samples(samples: &[f64]) -> Self {
        if samples.is_empty() {
            return Self::default();
        }
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        let deviation = if samples.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
        let most = samples.iter().copied().fold(0.0, f64::max);
        Self { count: samples.len() as u64, min: least as u64, max: most as u64, mean, deviation, bins: Vec::new() }
    }

    /// The middle of the first bin at which at least `percent` of all values are reached (fio's `calc_clat_percentiles`).
    pub(super) fn percentile(&self, percent: f64) -> Option<u64> {
        let wanted = percent / 100.0 * self.count as f64;
        let mut sum = 0_u64;
        let reached = |(_, n): &&(u64, u64)| {
            sum += n;
            sum as f64 >= wanted
        };
        self.bins.iter().find(reached).or(self.bins.last()).map(|(middle, _)| *middle)
    }
}

/// fio's bins: of each bucket its middle, rounded down (`plat_idx_to_val`).
fn bins(times: &Histogram) -> Vec<(u64, u64)> {
    // A coarser histogram (5 bits, of an import) keeps its own buckets: finer ones would be invented.
    let plat = if times.sub_bits() > PLAT_BITS { times.collapse(PLAT_BITS) } else { times.clone() };
    plat.buckets().map(|(low, high, n)| (low + (high - low) / 2, n)).collect()
}

/// Shares in percent of the classes of fio's `latency_ns`, `latency_us` (10 each) and `latency_ms` (12), of all I/Os.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Classes {
    pub(super) ns: [f64; 10],
    pub(super) us: [f64; 10],
    pub(super) ms: [f64; 12],
}

impl Classes {
    /// Of completion latencies. `total` is the number of I/Os; a class that has any has at least 0.01 %, as fio's.
    pub(super) fn of(times: &Histogram, total: u64) -> Self {
        let mut counts = ([0_u64; 10], [0_u64; 10], [0_u64; 12]);
        let at = |value: u64| CLASSES.iter().position(|end| value < *end);
        for (low, high, n) in times.buckets().filter(|_| !times.is_summary()) {
            let value = low + (high - low) / 2;
            if let Some(class) = at(value) {
                counts.0[class] += n;
            } else if let Some(class) = at(value / 1_000) {
                counts.1[class] += n;
            } else {
                let ms = value / 1_000_000;
                counts.2[at(ms).unwrap_or(if ms < 2_000 { 10 } else { 11 })] += n;
            }
        }
        let share = |n: u64| if total == 0 || n == 0 { 0.0 } else { (n as f64 / total as f64 * 100.0).max(0.01) };
        Self { ns: counts.0.map(share), us: counts.1.map(share), ms: counts.2.map(share) }
    }
}

/// How often each of fio's seven classes of a small number came up.
pub(super) type Counts = [u64; 7];

/// Of depths: 1, 2 and 3, 4 to 7, …, 64 and more (`io_u_mark_depth`).
pub(super) fn by_depth(depths: &Histogram) -> Counts {
    counts(depths, |depth| depth.max(1).ilog2() as usize)
}

/// Of numbers that went or came together: 0, 1 to 4, 5 to 8, …, 33 to 64, more (`__io_u_mark_map`).
pub(super) fn by_batch(batches: &Histogram) -> Counts {
    counts(batches, |batch| match batch {
        0 => 0,
        1..=4 => 1,
        _ => (batch - 1).ilog2() as usize,
    })
}

/// Each number up to 255 has a bucket of its own.
fn counts(numbers: &Histogram, class: fn(u64) -> usize) -> Counts {
    let mut counts = Counts::default();
    numbers.buckets().for_each(|(low, _, count)| counts[class(low).min(6)] += count);
    counts
}

/// Shares in percent of `total` (`stat_calc_dist`): a class that has any has at least 0.1 %.
pub(super) fn shares(counts: Counts, total: u64) -> [f64; 7] {
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        _ => (count as f64 / total as f64 * 100.0).max(0.1),
    })
}

/// fio's `num2str`: at most `digits` digits and a point, with a prefix of 1,024 (`Ki`) or 1,000 (`k`), and a unit.
pub(super) fn short(number: u64, digits: usize, binary: bool, unit: &str) -> String {
    let (thousand, prefixes) = if binary {
        (1024_u64, ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
    } else {
        (1000, ["", "k", "M", "G", "T", "P", "E"])
    };
    let (mut whole, mut rest, mut at) = (number, None, 0);
    while at < prefixes.len() && whole.to_string().len() > digits {
        rest = Some(whole % thousand);
        whole /= thousand;
        at += 1;
    }
    let prefix = prefixes.get(at).copied().unwrap_or_default();
    let Some(rest) = rest else { return format!("{whole}{prefix}{unit}") };
    let room = digits.saturating_sub(whole.to_string().len());
    if room <= 1 {
        return format!("{}{prefix}{unit}", whole + u64::from(rest >= thousand / 2));
    }
    let decimals = format!("{:.*}", room - 1, rest as f64 / thousand as f64);
    let whole = whole + u64::from(decimals.starts_with('1'));
    format!("{whole}.{}{prefix}{unit}", &decimals[2..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from fio 3.33's own output.
    #[test]
    fn short_numbers_are_fios() {
        let check =
            |number, digits, binary, unit, expect: &str| assert_eq!(short(number, digits, binary, unit), expect);
        check(38_619_428, 4, true, "B/s", "36.8MiB/s");
        check(38_619_428, 4, false, "B/s", "38.6MB/s");
        check(9_428, 4, false, "", "9428");
        check(12_345, 4, false, "", "12.3k");
        check(540_672, 4, true, "B", "528KiB");
        check(999_999, 4, false, "B", "1000kB");
        check(0, 4, true, "B", "0B");
        check(4_125_994, 6, false, "", "4126.0k");
    }

    /// The bins of fio's `json+` of one run: 41,872 ns lies in the bin 41,728, and so on (`plat_idx_to_val`).
    #[test]
    fn bins_are_those_of_fio() {
        let mut times = Histogram::new(7);
        for value in [1, 63, 127, 128, 129, 130, 255, 256, 41_872, 4_125_994] {
            times.record(value);
        }
        let expect = [(1, 1), (63, 1), (127, 1), (129, 2), (131, 1), (255, 1), (258, 1), (41_728, 1), (4_112_384, 1)];
        assert_eq!(Times::of(&times).bins, expect);
    }

    #[test]
    fn percentiles_are_the_first_bin_that_reaches_them() {
        let mut times = Histogram::new(7);
        (1..=100).for_each(|value| times.record(value));
        let times = Times::of(&times);
        assert_eq!(
            (times.percentile(1.0), times.percentile(50.0), times.percentile(99.99)),
            (Some(1), Some(50), Some(100))
        );
        assert!((times.mean - 50.5).abs() < 1e-9 && (times.deviation - 29.011).abs() < 0.001, "{times:?}");
    }

    #[test]
    fn depths_and_batches_have_fios_classes() {
        let of = |numbers: &[u64]| {
            let mut histogram = Histogram::default();
            numbers.iter().for_each(|number| histogram.record(*number));
            histogram
        };
        assert_eq!(by_depth(&of(&[1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 65, 4000])), [1, 2, 2, 2, 2, 2, 3]);
        assert_eq!(by_batch(&of(&[0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 4000])), [1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(shares([1, 0, 0, 0, 0, 0, 9_999], 10_000), [0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 99.99]);
        assert_eq!(
            shares([2, 0, 0, 0, 0, 0, 0], 1)[0],
            200.0,
            "a flush after each write is one more in flight, as in fio"
        );
        assert_eq!(shares([3; 7], 0), [0.0; 7]);
    }

    #[test]
    fn classes_end_below_their_names() {
        let mut times = Histogram::new(7);
        for value in [1, 2, 999, 1_000, 1_500, 749_000, 1_000_000, 2_500_000_000] {
            times.record(value);
        }
        let classes = Classes::of(&times, 8);
        assert_eq!((classes.ns[0], classes.ns[1], classes.ns[9]), (12.5, 12.5, 12.5));
        assert_eq!((classes.us[0], classes.us[8]), (25.0, 12.5));
        assert_eq!((classes.ms[0], classes.ms[11]), (12.5, 12.5));
    }
}
