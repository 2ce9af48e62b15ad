//! Totals by name: device, process, file, control group, kind, size.

use quantity::histogram::{Histogram, HistogramMerger};
use std::collections::HashMap;
use std::hash::Hash;
use workload::traced::rows::NumberedIo;

/// Most names of a kind; later ones are added up as one.
const NAMES: usize = 1 << 16;
/// Names with a distribution of their own; later ones have none.
const DISTRIBUTIONS: usize = 1 << 10;

/// Totals of one name.
#[derive(Clone, Debug, Default)]
pub(super) struct Total {
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) others: u64,
    pub(super) bytes: u64,
    pub(super) failed: u64,
    /// I/Os with data, and those of them that continued a stream.
    pub(super) with_data: u64,
    pub(super) sequential: u64,
    /// I/Os whose completion is known, and the sum of their response times.
    pub(super) timed: u64,
    pub(super) response_ns: f64,
    pub(super) wait_ns: f64,
    pub(super) device_ns: f64,
    /// I/Os that were issued.
    pub(super) issued: u64,
    pub(super) longest_ns: u64,
    /// `None`: too many names.
    response: Option<Box<HistogramMerger>>,
}

impl Total {
    pub(super) fn ios(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Response times; `None` when there were too many names.
    pub(super) fn response(&mut self) -> Option<Histogram> {
        self.response.as_mut().map(|response| response.take())
    }

    fn add(&mut self, row: &NumberedIo, sequential: bool) {
        match row.class {
            0 => self.reads += 1,
            1 => self.writes += 1,
            _ => self.others += 1,
        }
        self.bytes += u64::try_from(row.bytes).unwrap_or(0);
        self.failed += u64::from(row.failed);
        if row.bytes > 0 {
            self.with_data += 1;
            self.sequential += u64::from(sequential);
        }
        if let Some(response_ns) = row.response_ns() {
            self.timed += 1;
            self.response_ns += response_ns as f64;
            self.longest_ns = self.longest_ns.max(response_ns);
            if let Some(response) = &mut self.response {
                response.record(response_ns);
            }
        }
        if let Some((wait_ns, device_ns)) = row.wait_ns().zip(row.device_ns()) {
            self.issued += 1;
            self.wait_ns += wait_ns as f64;
            self.device_ns += device_ns as f64;
        }
    }
}

/// Totals of all names of a kind.
#[derive(Debug)]
pub(super) struct Groups<K> {
    totals: HashMap<K, Total, ahash::RandomState>,
    /// Of the names that found no room.
    rest: Total,
}

impl<K> Default for Groups<K> {
    fn default() -> Self {
        Self { totals: HashMap::default(), rest: Total::default() }
    }
}

impl<K: Hash + Eq + Copy + Ord> Groups<K> {
    pub(super) fn add(&mut self, name: K, row: &NumberedIo, sequential: bool) {
        let count = self.totals.len();
        if let Some(total) = self.totals.get_mut(&name) {
            return total.add(row, sequential);
        }
        if count >= NAMES {
            return self.rest.add(row, sequential);
        }
        let response = (count < DISTRIBUTIONS).then(Box::default);
        self.totals.entry(name).or_insert(Total { response, ..Total::default() }).add(row, sequential);
    }

    /// All of them, most I/Os first; `None` is what found no room.
    pub(super) fn finish(self) -> Vec<(Option<K>, Total)> {
        let mut totals: Vec<(Option<K>, Total)> =
            self.totals.into_iter().map(|(name, total)| (Some(name), total)).collect();
        totals.sort_by_key(|(name, total)| (std::cmp::Reverse(total.ios()), *name));
        if self.rest.ios() > 0 {
            totals.push((None, self.rest));
        }
        totals
    }
}
