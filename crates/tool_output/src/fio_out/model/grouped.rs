//! `group_reporting`: the jobs of a group are reported as one (fio's `sum_thread_stats`).

use super::{Cost, Histogram, Job, JobText, JobTexts, Key, Lane, Times};
use std::collections::BTreeMap;

/// The jobs, those put together that ask to be reported with the one before them in their group; `text_of` knows what each was given.
pub(super) fn grouped<'a>(
    jobs: Vec<Job>,
    lanes: &BTreeMap<Key, Lane>,
    texts: &JobTexts,
    text_of: impl Fn(&Key) -> Option<&'a JobText>,
) -> Vec<Job> {
    let mut sets: Vec<Vec<Job>> = Vec::new();
    for job in jobs {
        match sets.last_mut() {
            Some(set) if job.is_grouped && set.iter().all(|other| other.group == job.group) => set.push(job),
            _ => sets.push(vec![job]),
        }
    }
    let report = |mut set: Vec<Job>| {
        let last = set.pop()?;
        if set.is_empty() {
            return Some(last);
        }
        let mut lane = Lane::default();
        set.iter().chain([&last]).filter_map(|job| lanes.get(&job.key)).for_each(|other| lane.join(other));
        // What was asked of the outputs says the last one, as in fio.
        let sum = lane.job(&last.key, text_of(&last.key), texts, None);
        set.push(last);
        Some(together(&set, sum))
    };
    sets.into_iter().filter_map(report).collect()
}

/// The report of these jobs; `sum`: what follows from all of their operations.
fn together(set: &[Job], mut sum: Job) -> Job {
    for (at, side) in sum.sides.iter_mut().enumerate() {
        let sides = || set.iter().map(|job| &job.sides[at]);
        side.runtime_ms = sides().map(|side| side.runtime_ms).max().unwrap_or(0);
        side.bandwidth = added(sides().map(|side| &side.bandwidth));
        side.iops = added(sides().map(|side| &side.iops));
    }
    let mut flushes = Histogram::default();
    set.iter().for_each(|job| flushes.merge(&job.flushes));
    if let Some(first) = set.first() {
        (sum.name, sum.description) = (first.name.clone(), first.description.clone());
        (sum.key, sum.group, sum.number) = (first.key.clone(), first.group, first.number);
    }
    Job {
        members: set.len(),
        error: set.iter().map(|job| job.error).find(|error| *error != 0).unwrap_or(0),
        errors: set.iter().map(|job| job.errors).sum(),
        first_error: set.last().map_or(0, |job| job.first_error),
        // Percent of processor time are of the times of all jobs.
        runtime_ms: set.iter().map(|job| job.runtime_ms).sum(),
        cost: set.iter().fold(Cost::default(), |cost, job| cost.and(job.cost)),
        depth: set.last().and_then(|job| job.depth),
        steady: set.last().and_then(|job| job.steady.clone()),
        syncs: Times::of(&flushes),
        fsyncs: set.iter().map(|job| job.fsyncs).sum(),
        flushes,
        ..sum
    }
}

/// Samples of rates of several jobs: their sums, not what lies between them.
fn added<'a>(samples: impl Iterator<Item = &'a Times>) -> Times {
    let (mut sum, mut squares) = (Times::default(), 0.0);
    for times in samples.filter(|times| times.count > 0) {
        sum.count += times.count;
        sum.min += times.min;
        sum.max += times.max;
        sum.mean += times.mean;
        squares += times.deviation.powi(2) * (times.count - 1) as f64;
    }
    sum.deviation = if sum.count > 1 { (squares / (sum.count - 1) as f64).sqrt() } else { 0.0 };
    sum
}

impl Lane {
    /// Adds the operations of another job.
    fn join(&mut self, other: &Self) {
        self.counted = self.counted.or(other.counted);
        for (sum, more) in self.sides.iter_mut().zip(&other.sides) {
            sum.ops += more.ops;
            sum.bytes += more.bytes;
            sum.errors += more.errors;
            sum.short += more.short;
            sum.response.merge(&more.response);
            sum.service.merge(&more.service);
            if let Some(wait) = &more.wait {
                sum.wait.get_or_insert_default().merge(wait);
            }
        }
        if let Some(counts) = &other.counts {
            let pairs = self.counts.get_or_insert_default().iter_mut().flatten().zip(counts.iter().flatten());
            pairs.for_each(|(sum, count)| *sum += count);
        }
    }
}

impl Cost {
    fn and(self, other: Self) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            _ => Some(one.unwrap_or(0) + other.unwrap_or(0)),
        };
        Self {
            user_ms: self.user_ms + other.user_ms,
            system_ms: self.system_ms + other.system_ms,
            switches: both(self.switches, other.switches),
            major_faults: both(self.major_faults, other.major_faults),
            minor_faults: both(self.minor_faults, other.minor_faults),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_jobs_of_a_group_are_added_up() {
        let sum = added([Times::of_samples(&[1.0, 3.0]), Times::default(), Times::of_samples(&[10.0])].iter());
        assert_eq!((sum.count, sum.min, sum.max), (3, 11, 13));
        assert!((sum.mean - 12.0).abs() < 1e-9 && (sum.deviation - 1.0).abs() < 1e-9, "{sum:?}");
    }
}
