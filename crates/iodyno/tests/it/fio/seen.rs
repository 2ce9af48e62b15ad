//! What the block layer saw of a run, and how far two of them are apart.

use crate::fio::jobs::Job;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use testkit::{BlockOp, BlockRecord};

/// Reads before and behind this are those of udev and blkid.
const EDGE: std::ops::Range<u64> = 4 << 20..60 << 20;
const OPS: [(BlockOp, &str); 4] =
    [(BlockOp::Read, "read"), (BlockOp::Write, "write"), (BlockOp::Trim, "trim"), (BlockOp::Flush, "flush")];

/// A run as a sample.
pub(crate) struct Seen {
    ops: Vec<Of>,
    /// Mean number of requests in the driver while the run lasted.
    depth: f64,
    /// First to last issue.
    seconds: f64,
    /// Share of the gaps between issues that are shorter than a quarter of the mean.
    short_gaps: f64,
    /// Does the first write come after the last read?
    one_after_the_other: bool,
}

/// The operations of one kind.
#[derive(Default)]
struct Of {
    count: usize,
    sizes: Vec<u64>,
    offsets: Vec<u64>,
    /// Share that goes on where one of the streams ended.
    sequential: f64,
    /// Share that goes on nowhere and begins before the one before.
    backward: f64,
    /// Different places ÷ operations.
    unique: f64,
    /// Share of the hottest hundredth and tenth of all places.
    hot: [f64; 2],
    /// Share at multiples of 64 KiB.
    aligned: f64,
    /// Share that had to reach the medium.
    fua: f64,
}

impl Of {
    fn new(records: &[&BlockRecord], streams: usize) -> Self {
        let count = records.len();
        let share = |hits: usize| hits as f64 / count.max(1) as f64;
        let mut heat: HashMap<u64, usize> = HashMap::new();
        records.iter().for_each(|record| *heat.entry(record.offset).or_default() += 1);
        let mut heats: Vec<usize> = heat.values().copied().collect();
        heats.sort_unstable_by(|a, b| b.cmp(a));
        // Of all 4 KiB places of 48 MiB.
        let hottest = |places: usize| share(heats.iter().take(places).sum());
        let (sequential, backward) = order(records, streams);
        let mut sizes: Vec<u64> = records.iter().map(|record| record.bytes).collect();
        let mut offsets: Vec<u64> = records.iter().map(|record| record.offset).collect();
        sizes.sort_unstable();
        offsets.sort_unstable();
        Self {
            count,
            sequential: share(sequential),
            backward: share(backward),
            unique: share(heat.len()),
            hot: [hottest(123), hottest(1229)],
            aligned: share(records.iter().filter(|record| record.offset.is_multiple_of(64 << 10)).count()),
            fua: share(records.iter().filter(|record| record.is_fua).count()),
            sizes,
            offsets,
        }
    }
}

impl Seen {
    pub(crate) fn new(bios: &[BlockRecord], requests: &[BlockRecord], streams: usize) -> Self {
        // The main thread reads to see whose data is there; the workers have other names.
        let looks = |record: &BlockRecord| record.is_by("iodyno") && record.op == BlockOp::Read;
        let ours = |record: &&BlockRecord| {
            let inside = EDGE.contains(&record.offset) && record.offset + record.bytes <= EDGE.end;
            !looks(record) && (inside || record.op == BlockOp::Flush)
        };
        let kept: Vec<&BlockRecord> = bios.iter().filter(ours).collect();
        let of = |op| Of::new(&kept.iter().copied().filter(|record| same(record.op, op)).collect::<Vec<_>>(), streams);
        let data: Vec<&&BlockRecord> = kept.iter().filter(|record| record.op != BlockOp::Flush).collect();
        let times: Vec<u64> = data.iter().map(|record| record.issue_ns).collect();
        let span = times.last().zip(times.first()).map_or(0, |(last, first)| last - first);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
        let short = gaps.iter().filter(|gap| **gap < mean / 4.0).count();
        let busy: u64 = requests.iter().filter(ours).filter_map(BlockRecord::service_ns).sum();
        let time_of = |op| data.iter().filter(move |record| record.op == op).map(|record| record.issue_ns);
        Self {
            ops: OPS.iter().map(|(op, _)| of(*op)).collect(),
            depth: busy as f64 / span.max(1) as f64,
            seconds: span as f64 / 1e9,
            short_gaps: short as f64 / gaps.len().max(1) as f64,
            one_after_the_other: time_of(BlockOp::Read).max() <= time_of(BlockOp::Write).min(),
        }
    }

    /// Operations by name.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        // Flushes in the kernel are more than those that were asked for: closing a device makes one.
        OPS.iter().zip(&self.ops).filter(|((op, _), _)| *op != BlockOp::Flush).map(|((_, name), of)| (*name, of.count))
    }

    /// What is different, in words.
    pub(crate) fn differences(&self, other: &Self, job: &Job) -> Vec<String> {
        let mut out = Vec::new();
        let mut tell = |what: String, a: f64, b: f64, allowed: f64| {
            if (a - b).abs() > allowed {
                out.push(format!("{what} {a:.4} and {b:.4}, allowed {allowed:.4}"));
            }
        };
        let all = |seen: &Self| seen.ops[..3].iter().map(|of| of.count).sum::<usize>() as f64;
        if job.is_counted {
            tell("operations".to_string(), all(self), all(other), 0.001 * all(self) + 2.0);
        }
        if job.is_timed {
            tell(
                "op/s".to_string(),
                all(self) / self.seconds,
                all(other) / other.seconds,
                0.06 * all(self) / self.seconds,
            );
            tell("seconds".to_string(), self.seconds, other.seconds, 0.06 * self.seconds + 0.1);
        }
        if job.has_depth {
            tell("depth".to_string(), self.depth, other.depth, 0.3 * self.depth);
        }
        if job.has_gaps {
            tell("short gaps".to_string(), self.short_gaps, other.short_gaps, 0.08);
        }
        for (at, (_, name)) in OPS.iter().enumerate() {
            let (a, b) = (&self.ops[at], &other.ops[at]);
            let (n, m) = (a.count as f64, b.count as f64);
            if at == 3 {
                let per_write = |seen: &Self| seen.ops[3].count as f64 / seen.ops[1].count.max(1) as f64;
                tell("flushes per write".to_string(), per_write(self), per_write(other), 0.02);
                continue;
            }
            // Two samples of the same share: 4.5 standard deviations.
            let p = (n + m) / (all(self) + all(other)).max(1.0);
            let sigma = (p * (1.0 - p) * (1.0 / all(self).max(1.0) + 1.0 / all(other).max(1.0))).sqrt();
            tell(format!("share of {name}s"), n / all(self).max(1.0), m / all(other).max(1.0), 4.5 * sigma + 0.002);
            if n < 30.0 || m < 30.0 {
                continue;
            }
            // Kolmogorov and Smirnov, 99.95 %, and a little for rounding.
            let ks = 2.0 * ((n + m) / (n * m)).sqrt() + 0.005;
            tell(format!("sizes of {name}s (KS)"), 0.0, distance(&a.sizes, &b.sizes), ks);
            if job.is_scattered {
                for (part, a, b) in [("1 %", a.hot[0], b.hot[0]), ("10 %", a.hot[1], b.hot[1])] {
                    tell(format!("share of the hottest {part}"), a, b, 0.08);
                }
            } else {
                // A run of neighbours is one choice of an offset.
                let ks = 2.0 * (job.run * (n + m) / (n * m)).sqrt() + 0.005;
                tell(format!("offsets of {name}s (KS)"), 0.0, distance(&a.offsets, &b.offsets), ks);
            }
            tell(format!("sequential {name}s"), a.sequential, b.sequential, 0.06);
            tell(format!("backward {name}s"), a.backward, b.backward, 0.06);
            let allowed = if job.is_scattered { 0.08 } else { 0.03 };
            // The more operations, the fewer new places.
            if (n - m).abs() < 0.1 * n {
                tell(format!("different places of {name}s"), a.unique, b.unique, allowed);
            }
            if !job.is_scattered {
                let p = (a.aligned * n + b.aligned * m) / (n + m);
                let sigma = (p * (1.0 - p) * (1.0 / n + 1.0 / m)).sqrt();
                tell(format!("{name}s at 64 KiB"), a.aligned, b.aligned, 4.5 * sigma + 0.002);
            }
            tell(format!("FUA {name}s"), a.fua, b.fua, 0.02);
        }
        if self.one_after_the_other != other.one_after_the_other {
            out.push("writes after all reads in one of them only".to_string());
        }
        out
    }
}

/// How many go on where one of the last so many streams ended, and how many of the others begin before the one before.
fn order(records: &[&BlockRecord], streams: usize) -> (usize, usize) {
    let (mut sequential, mut backward) = (0, 0);
    let mut ends: VecDeque<u64> = VecDeque::with_capacity(streams + 1);
    let mut before = 0;
    for record in records {
        if let Some(at) = ends.iter().position(|end| *end == record.offset) {
            ends.remove(at);
            sequential += 1;
        } else if record.offset < before {
            backward += 1;
        }
        before = record.offset;
        ends.push_back(record.offset + record.bytes);
        if ends.len() > streams {
            ends.pop_front();
        }
    }
    (sequential, backward)
}

/// A trim may come as a discard or as zeroes that free the blocks.
fn same(found: BlockOp, wanted: BlockOp) -> bool {
    found == wanted || (wanted == BlockOp::Trim && found == BlockOp::Zeroes)
}

/// Greatest distance between two empirical distributions, both sorted.
fn distance(a: &[u64], b: &[u64]) -> f64 {
    let mut greatest = 0.0_f64;
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let x = a[i].min(b[j]);
        while i < a.len() && a[i] <= x {
            i += 1;
        }
        while j < b.len() && b[j] <= x {
            j += 1;
        }
        greatest = greatest.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    greatest
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} s, depth {:.2}, {:.2} of the gaps short", self.seconds, self.depth, self.short_gaps)?;
        for ((_, name), of) in OPS.iter().zip(&self.ops).filter(|(_, of)| of.count > 0) {
            write!(
                f,
                ", {} {name}s ({:.3} sequential, {:.3} backward, {:.3} unique, hot {:.3} {:.3})",
                of.count, of.sequential, of.backward, of.unique, of.hot[0], of.hot[1]
            )?;
        }
        Ok(())
    }
}
