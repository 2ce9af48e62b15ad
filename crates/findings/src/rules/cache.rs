//! R6: the page cache fills, and what was measured before that is not what comes after.

use super::memory_high;
use crate::interval_sample::{DiskUse, IntervalSample};
use crate::window::Window;
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds, figure, thresholds};
use recording::Label;
use std::collections::{BTreeMap, VecDeque};

/// So much of the past is kept: what lies before and after the moment when a cache was full, and a little more.
const KEPT_NS: i64 = 480_000_000_000;
/// A control group that had no row for so long is forgotten: the collector reads a group at least once a minute when it
/// does anything.
const FORGET_NS: i64 = 180_000_000_000;
/// So many control groups are remembered.
const GROUPS: usize = 64;
/// The change is looked for among samples from so long before the cache was full …
const BEFORE_NS: i64 = 120_000_000_000;
/// … and for so long after.
const AFTER_NS: i64 = 300_000_000_000;
/// Least number of samples before and after the change.
const LEAST: usize = 10;

/// Remembers how the caches grew and what they did for the load: that of the machine, and those of control groups with a
/// limit of their own, whose pages go when the group is full, however much room the machine has.
#[derive(Default)]
pub(crate) struct CacheRule {
    machine: Cache,
    /// That of ZFS.
    arc: Cache,
    groups: BTreeMap<Label, Group>,
}

/// A group that had a row.
struct Group {
    /// When, and how it stood.
    last_ns: i64,
    room: CacheSpace,
    cache: Cache,
}

/// Bytes of a cache, and what it could grow by; of all reads, those that found what they wanted in it, per cent.
#[derive(Clone, Copy)]
struct CacheSpace {
    cached: f64,
    free: f64,
    hits: Option<f64>,
}

/// Whose cache it is.
#[derive(Clone, Copy)]
enum Whose<'a> {
    Machine,
    Group(&'a Label),
    Zfs,
}

impl Whose<'_> {
    /// What it is called.
    fn name(self) -> String {
        match self {
            Self::Machine => "page cache".to_string(),
            Self::Group(path) => format!("page cache of control group {path}"),
            Self::Zfs => "cache of ZFS (ARC)".to_string(),
        }
    }
}

/// One cache.
#[derive(Default)]
struct Cache {
    samples: VecDeque<Sample>,
    /// When it became full, having been less so before.
    full_ns: Option<i64>,
    /// It was seen with room.
    had_room: bool,
    change: Option<Change>,
}

#[derive(Clone, Copy)]
struct Sample {
    t_ns: i64,
    cached: f64,
    free: f64,
    hits: Option<f64>,
    refaults: Option<f64>,
    reads: Option<f64>,
    response_ns: Option<f64>,
    rate: Option<f64>,
}

impl Sample {
    fn of(moment: &IntervalSample, CacheSpace { cached, free, hits }: CacheSpace) -> Self {
        let reads = |disk: &DiskUse| disk.reads_per_s.unwrap_or(0.0);
        // What the load waited; without a load of iodyno's own, what the busiest device took.
        let busiest = moment.disks.iter().max_by(|a, b| reads(a).total_cmp(&reads(b)));
        let response_ns = match &moment.load {
            Some(load) => load.response_ns_p50,
            None => busiest.and_then(|disk| disk.response_ns),
        };
        Self {
            t_ns: moment.t_ns,
            cached,
            free,
            hits,
            // Of the whole machine: counting them by group is not cheap.
            refaults: moment.memory.as_ref().and_then(|memory| memory.refaults_per_s),
            reads: moment
                .disks
                .iter()
                .map(|disk| disk.reads_per_s)
                .sum::<Option<f64>>()
                .filter(|_| !moment.disks.is_empty()),
            response_ns,
            rate: moment.load.as_ref().map(|load| load.ops_per_s),
        }
    }

    /// What the cache has of what it can have without giving anything up.
    fn filled_percent(&self) -> f64 {
        100.0 * self.cached / (self.cached + self.free)
    }
}

/// Medians before and after.
#[derive(Clone, Copy)]
struct Change {
    t_ns: i64,
    cached: f64,
    hits: Option<[f64; 2]>,
    refaults: Option<[f64; 2]>,
    reads: [f64; 2],
    response_ns: [f64; 2],
    rate: [Option<f64>; 2],
}

impl Rule for CacheRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.cache;
        let Some(now) = window.now() else { return Vec::new() };
        let room = now.memory.as_ref().map(|memory| CacheSpace {
            cached: memory.cached_bytes,
            free: memory.free_bytes,
            hits: None,
        });
        let machine = room.and_then(|room| self.machine.look(Sample::of(now, room), Whose::Machine, limit));
        let mut found: Vec<Symptom> = machine.into_iter().collect();
        if let Some(arc) = &now.arc {
            let free = (arc.max_bytes - arc.size_bytes).max(0.0);
            let room = CacheSpace { cached: arc.size_bytes, free, hits: arc.hit_percent };
            found.extend(self.arc.look(Sample::of(now, room), Whose::Zfs, limit));
        }
        for group in &now.groups {
            if self.groups.len() < GROUPS || self.groups.contains_key(&group.path) {
                let room = CacheSpace { cached: group.cached_bytes, free: group.free_bytes, hits: None };
                let known = self.groups.entry(group.path.clone());
                let known = known.or_insert_with(|| Group { last_ns: 0, room, cache: Cache::default() });
                (known.last_ns, known.room) = (now.t_ns, room);
            }
        }
        self.groups.retain(|_, group| now.t_ns - group.last_ns <= FORGET_NS);
        for (path, group) in &mut self.groups {
            // One that did nothing since stands as it did.
            found.extend(group.cache.look(Sample::of(now, group.room), Whose::Group(path), limit));
        }
        found
    }

    fn lost(&mut self) {
        *self = Self::default();
    }
}

impl Cache {
    fn look(&mut self, sample: Sample, whose: Whose<'_>, limit: &thresholds::Cache) -> Option<Symptom> {
        #[expect(clippy::cast_possible_truncation, reason = "a threshold in seconds is far below 2^63 ns")]
        let kept_ns = KEPT_NS.max((limit.forecast_s * 1.1e9) as i64);
        self.samples.push_back(sample);
        while self.samples.front().is_some_and(|first| sample.t_ns - first.t_ns > kept_ns) {
            self.samples.pop_front();
        }
        if sample.filled_percent() < limit.full_percent {
            (self.had_room, self.full_ns, self.change) = (true, None, None);
            return self.forecast(&sample, whose, limit);
        }
        if !self.had_room {
            return None;
        }
        let full_ns = *self.full_ns.get_or_insert(sample.t_ns);
        if self.change.is_none() && sample.t_ns - full_ns <= AFTER_NS {
            self.change = self.find(full_ns, limit);
        }
        let change = self.change.as_ref()?;
        let still = sample.response_ns.is_some_and(|now| now >= change.response_ns[0] * limit.response_ratio);
        still.then(|| knee(change, whose))
    }

    /// A straight line through the growth of the last minute, as far as it is straight.
    fn forecast(&self, now: &Sample, whose: Whose<'_>, limit: &thresholds::Cache) -> Option<Symptom> {
        let age = |sample: &&Sample| (now.t_ns - sample.t_ns) as f64 / 1e9;
        let recent: Vec<&Sample> =
            self.samples.iter().rev().take_while(|sample| age(sample) <= limit.forecast_s * 1.02).collect();
        let oldest = recent.last()?;
        if age(oldest) < limit.forecast_s * 0.95 || recent.len() < LEAST {
            return None;
        }
        let points: Vec<(f64, f64)> = recent.iter().map(|sample| (-age(sample), sample.cached)).collect();
        let (bytes_per_s, r2) = line(&points)?;
        let seconds = now.free / bytes_per_s;
        let grown_percent = 100.0 * bytes_per_s * limit.forecast_s / (now.cached + now.free);
        if bytes_per_s <= 0.0
            || r2 < limit.forecast_r2
            || seconds > limit.within_s
            || grown_percent < limit.forecast_growth_percent
        {
            return None;
        }
        Some(Symptom {
            rule: RuleId::R6,
            subject: format!("{}, forecast", whose.name()),
            severity: FindingSeverity::Note,
            confidence: RuleConfidence::Likely,
            since_ns: oldest.t_ns,
            sentence: format!(
                "The {} has grown by {} for {{for}}: at this rate it is full in {} (at {}). Figures until then are not steady state.",
                whose.name(),
                figure(Some(bytes_per_s), "B/s"),
                figure(Some(seconds), "s"),
                figure(Some(now.cached + now.free), "B"),
            ),
            evidence: vec![
                FindingEvidence::new("page cache", now.cached, "B"),
                FindingEvidence::new("free memory", now.free, "B"),
                FindingEvidence::new("growth", bytes_per_s, "B/s"),
                FindingEvidence::new("R² of the line", r2, ""),
                FindingEvidence::new("full in", seconds, "s"),
            ],
            next: "Let a measurement run until well after the cache is full, or make the working set far larger or far smaller than memory.".to_string(),
            explains: Vec::new(),
            clear_s: None,
        })
    }

    /// Where response times changed (CUSUM of their logarithm), if that was about when the cache became full and
    /// everything else changed with them.
    fn find(&self, full_ns: i64, limit: &thresholds::Cache) -> Option<Change> {
        let near: Vec<&Sample> = self
            .samples
            .iter()
            .filter(|sample| sample.t_ns >= full_ns - BEFORE_NS && sample.response_ns.is_some_and(|ns| ns > 0.0))
            .collect();
        let logs: Vec<f64> = near.iter().filter_map(|sample| Some(sample.response_ns?.ln())).collect();
        let at = change_point(&logs).filter(|at| *at >= LEAST && logs.len() - at >= LEAST)?;
        let t_ns = near.get(at)?.t_ns;
        if (t_ns - full_ns).abs() as f64 / 1e9 > limit.around_s {
            return None;
        }
        let (before, after) = near.split_at(at);
        let both = |of: &dyn Fn(&Sample) -> Option<f64>| Some([median(before, of)?, median(after, of)?]);
        let change = Change {
            t_ns,
            cached: near.get(at)?.cached,
            hits: both(&|sample| sample.hits),
            refaults: both(&|sample| sample.refaults),
            reads: both(&|sample| sample.reads)?,
            response_ns: both(&|sample| sample.response_ns)?,
            rate: [median(before, &|sample| sample.rate), median(after, &|sample| sample.rate)],
        };
        let times = |[before, after]: [f64; 2], ratio: f64| after >= before * ratio && after > 0.0;
        let reads_more = times(change.reads, limit.reads_ratio);
        let missed = match change.hits {
            // What is needed again is counted by the hits; the kernel's refaults are of another cache.
            Some([before, after]) => reads_more || before - after >= limit.hit_points,
            None => {
                let refaults = change.refaults?;
                times(refaults, limit.refault_ratio) && refaults[1] >= limit.refaults_per_s && reads_more
            }
        };
        (missed && times(change.response_ns, limit.response_ratio)).then_some(change)
    }
}

fn knee(change: &Change, whose: Whose<'_>) -> Symptom {
    let [r1, r2] = change.reads.map(|reads| figure(Some(reads), "op/s"));
    let [l1, l2] = change.response_ns.map(|ns| figure(Some(ns), "ns"));
    let rate = match change.rate {
        [Some(before), Some(after)] => {
            format!(", rate {} → {}", figure(Some(before), "op/s"), figure(Some(after), "op/s"))
        }
        _ => String::new(),
    };
    let hits = change.hits.map_or(String::new(), |[before, after]| format!("hits {before:.0} → {after:.0} %, "));
    let part = |of: Option<[f64; 2]>, at: usize| of.map(|of| of[at]);
    Symptom {
        rule: RuleId::R6,
        subject: whose.name(),
        severity: FindingSeverity::Finding,
        // Without a load of our own, what was slower is inferred; so is who reads, where a group is one of many.
        confidence: if rate.is_empty() || matches!(whose, Whose::Group(_)) {
            RuleConfidence::Likely
        } else {
            RuleConfidence::Certain
        },
        since_ns: change.t_ns,
        sentence: format!(
            "The {} ({}) became full, which has been felt for {{for}}: {hits}device reads {r1} → {r2}, response {l1} → {l2}{rate}. Results before that measure the cache.",
            whose.name(),
            figure(Some(change.cached), "B"),
        ),
        evidence: vec![
            FindingEvidence::new("cache", change.cached, "B"),
            FindingEvidence::new("hits before", part(change.hits, 0), "%"),
            FindingEvidence::new("hits after", part(change.hits, 1), "%"),
            FindingEvidence::new("refaults before", part(change.refaults, 0), "pages/s"),
            FindingEvidence::new("refaults after", part(change.refaults, 1), "pages/s"),
            FindingEvidence::new("device reads before", change.reads[0], "op/s"),
            FindingEvidence::new("device reads after", change.reads[1], "op/s"),
            FindingEvidence::new("response time before", change.response_ns[0], "ns"),
            FindingEvidence::new("response time after", change.response_ns[1], "ns"),
            FindingEvidence::new("rate before", change.rate[0], "op/s"),
            FindingEvidence::new("rate after", change.rate[1], "op/s"),
        ],
        next: "Leave out what was measured before; measure long enough after, or with a working set that fits."
            .to_string(),
        explains: match whose {
            // One that reclaims its page cache for what it reads again waits for memory besides.
            Whose::Group(path) => vec![(RuleId::R5, None), (RuleId::R6, Some(memory_high::subject(path)))],
            Whose::Machine | Whose::Zfs => vec![(RuleId::R5, None)],
        },
        clear_s: None,
    }
}

/// Slope and R² of the line of least squares.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let (x, y) = (points.iter().map(|p| p.0).sum::<f64>() / count, points.iter().map(|p| p.1).sum::<f64>() / count);
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - x, p.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|dx, _| dx * dx), sum(&|dx, dy| dx * dy), sum(&|_, dy| dy * dy));
    (xx > 0.0 && yy > 0.0).then(|| (xy / xx, xy * xy / (xx * yy)))
}

/// The first index of the part that is unlike the one before: where the sum of deviations from the mean is greatest.
fn change_point(values: &[f64]) -> Option<usize> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let mut sum = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for (at, value) in values.iter().enumerate() {
        sum += value - mean;
        if best.is_none_or(|(_, most)| sum.abs() > most) {
            best = Some((at + 1, sum.abs()));
        }
    }
    best.map(|(at, _)| at).filter(|at| *at < values.len())
}

fn median(samples: &[&Sample], of: &dyn Fn(&Sample) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = samples.iter().filter_map(|sample| of(sample)).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, DiskStep, Step};
    use crate::{FindingSeverity, RuleId};

    /// The source's storage server: 60 GB of cache filled at 80 MB/s by 10,000 ops/s; at 700 s it is full and all changes.
    fn server(bench: &mut Bench, changes: bool) -> f64 {
        let start_s = 1000.0;
        for second in 0..900 {
            let after = f64::from(second) - 700.0;
            let is_full = after >= 0.0;
            bench.steps(1, 1.0, |step| {
                let cached = if is_full { 57e9 } else { 1e9 + 80e6 * f64::from(second) };
                step.memory(cached, (60e9 - cached).max(1e9), if is_full && changes { 6000.0 } else { 0.0 });
                let is_bad = is_full && changes;
                // 1 ms becomes 20 ms, quickly at first.
                let response_ms = if is_bad { 20.0 - 19.0 * (-after / 20.0).exp() } else { 1.0 };
                step.load(if is_bad { 6000.0 } else { 10_000.0 }, response_ms);
                let reads_per_s = if is_bad { 1300.0 } else { 150.0 };
                step.disk("sda", DiskStep { reads_per_s, response_ms: 8.0, bytes_per_s: 45e6, ..DiskStep::default() });
            });
        }
        start_s
    }

    #[test]
    fn the_knee_of_the_source() {
        let mut bench = Bench::new();
        let start_s = server(&mut bench, true);
        let found = bench.only(RuleId::R6);
        let t_s = found.start_ns as f64 / 1e9 - start_s;
        assert!((t_s - 700.0).abs() <= 10.0, "{t_s}");
        assert!(found.sentence.contains("device reads 150 op/s → 1.30 kop/s"), "{}", found.sentence);
        assert!(
            found.sentence.contains("rate 10.0 kop/s → 6.00 kop/s. Results before that measure the cache."),
            "{}",
            found.sentence
        );
    }

    #[test]
    fn a_mirror_that_holds_is_silent() {
        let mut bench = Bench::new();
        server(&mut bench, false);
        bench.is_silent();
    }

    #[test]
    fn the_forecast_of_the_source() {
        let mut bench = Bench::new();
        bench.steps(63, 1.0, |_| {});
        let filled = std::cell::Cell::new(0.0);
        bench.steps(62, 1.0, |step| {
            filled.set(filled.get() + 80e6 * step.seconds);
            step.memory(filled.get(), 60e9 - filled.get(), 0.0);
        });
        let all = bench.engine().findings();
        assert_eq!((all.len(), all[0].severity), (1, FindingSeverity::Note), "{all:#?}");
        // 60 GB at 80 MB/s are 750 s; so much of them is left.
        let left_s = all[0].evidence.iter().find(|one| one.name == "full in").unwrap().value.unwrap();
        assert!((left_s + 62.0 - 750.0).abs() < 3.0, "{left_s}");
        // Half as fast, it takes longer than the rule waits for.
        let mut slow = Bench::new();
        slow.steps(90, 1.0, |step| step.memory(30e9, 30e9, 0.0));
        assert!(slow.engine().findings().is_empty());
    }

    #[test]
    fn a_cache_that_was_full_from_the_start_says_nothing() {
        let mut bench = Bench::new();
        for second in 0..120 {
            bench.steps(1, 1.0, |step| {
                let is_bad = second > 60;
                step.memory(57e9, 1e9, if is_bad { 6000.0 } else { 0.0 });
                step.load(1000.0, if is_bad { 20.0 } else { 1.0 });
                step.disk("sda", DiskStep { reads_per_s: if is_bad { 900.0 } else { 10.0 }, ..DiskStep::default() });
            });
        }
        bench.is_silent();
    }

    #[test]
    fn the_cache_of_zfs() {
        let run = |hits: [f64; 2], slow_ms: f64| {
            let mut bench = Bench::new();
            for second in 0..120 {
                let is_full = second >= 60;
                bench.steps(1, 1.0, |step| {
                    step.memory(2e9, 30e9, 0.0);
                    step.arc((0.9e9 * f64::from(second) + 1e9).min(54e9), 55e9, hits[usize::from(is_full)]);
                    step.load(if is_full { 600.0 } else { 1000.0 }, if is_full { slow_ms } else { 1.0 });
                    step.disk("sda", DiskStep { reads_per_s: 100.0, response_ms: 4.0, ..DiskStep::default() });
                });
            }
            bench
        };
        let bench = run([95.0, 60.0], 8.0);
        let found = bench.only(RuleId::R6);
        assert_eq!(found.subject, "cache of ZFS (ARC)");
        assert!(found.sentence.contains("hits 95 → 60 %, device reads 100 op/s"), "{}", found.sentence);
        assert!(!found.sentence.contains("ago"), "{}", found.sentence);
        run([95.0, 90.0], 8.0).is_silent();
        run([95.0, 60.0], 2.0).is_silent();
    }

    /// A group that may have 512 MB fills them in 50 s and stands at `most`; the machine has 30 GB to spare.
    fn group(most: f64, limit: Option<f64>, is_felt: bool) -> Bench {
        group_bench(most, is_felt, |step, cached| step.group("/db", cached, limit))
    }

    fn group_bench(most: f64, is_felt: bool, tell: impl Fn(&mut Step<'_>, f64)) -> Bench {
        let mut bench = Bench::new();
        for second in 0..90 {
            let is_full = f64::from(second) >= 50.0;
            bench.steps(1, 1.0, |step| {
                let is_bad = is_full && is_felt;
                step.memory(20e9, 30e9, if is_bad { 6000.0 } else { 0.0 });
                step.load(100.0, if is_bad { 5.0 } else { 0.02 });
                let reads_per_s = if is_bad { 90.0 } else { 0.0 };
                step.disk("sda", DiskStep { reads_per_s, response_ms: 4.0, ..DiskStep::default() });
                // It is looked at every other second, and says nothing while nothing happens.
                if second % 2 == 0 {
                    tell(step, (10e6 * f64::from(second)).min(most));
                    step.group("/web", 100e6, Some(1e9));
                }
            });
        }
        bench
    }

    #[test]
    fn a_control_group_is_full_while_the_machine_has_room() {
        let bench = group(491e6, Some(512e6), true);
        let found = bench.only(RuleId::R6);
        assert_eq!(found.subject, "page cache of control group /db");
        let t_s = found.start_ns as f64 / 1e9 - 1000.0;
        assert!((t_s - 50.0).abs() <= 5.0, "{t_s}");
        assert!(
            found.sentence.starts_with("The page cache of control group /db (491 MB) became full"),
            "{}",
            found.sentence
        );
        assert!(found.sentence.contains("device reads 0 op/s → 90.0 op/s"), "{}", found.sentence);
    }

    #[test]
    fn a_control_group_is_full_at_its_memory_high() {
        let tell = |step: &mut Step<'_>, cached: f64| step.group_at_high("/db", cached + 20e6, 512e6, [0.0, 0.0]);
        let bench = group_bench(491e6, true, tell);
        assert_eq!(bench.only(RuleId::R6).subject, "page cache of control group /db");
        group_bench(245e6, true, tell).is_silent();
    }

    #[test]
    fn a_control_group_that_stays_half_full_or_has_no_limit_is_silent() {
        group(245e6, Some(512e6), true).is_silent();
        group(491e6, None, true).is_silent();
        group(491e6, Some(512e6), false).is_silent();
    }
}
