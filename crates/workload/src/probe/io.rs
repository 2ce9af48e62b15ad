//! The table `io` live: rates, sizes, response times and addresses per device, process, file or operation.

use crate::traced::rows::{NumberedIo, append};
use quantity::histogram::{Histogram, HistogramMerger};
use quantity::text::{format_bytes, format_ns};
use rates::NameNumbers;
use recording::RowBatch;
use std::collections::{BTreeMap, HashMap};
use view::{TableColumn, ViewTable};
use view::{TableReadError, Unit};

/// Most different sizes that are counted one by one; rarer ones join the power of two below.
const SIZES: usize = 4096;
/// Most groups with distributions of their own; what comes later is added up as one.
const GROUPS: usize = 10_000;

/// What I/Os are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoBy {
    /// The device.
    #[default]
    Device,
    /// The process: the owner of write-back, or the issuer.
    Process,
    /// The file.
    File,
    /// The operation.
    Operation,
}

impl IoBy {
    /// Heading of the column.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Process => "process",
            Self::File => "file",
            Self::Operation => "operation",
        }
    }

    fn unnamed(self) -> &'static str {
        match self {
            Self::File => "(no file)",
            _ => "(unknown)",
        }
    }
}

/// I/Os of one name.
#[derive(Debug, Default)]
pub struct IoGroup {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes, discards and all others.
    pub others: u64,
    /// Those of all for which no task waits: writes without `sync`, and read-ahead.
    pub asynchronous: u64,
    /// Bytes.
    pub bytes: u64,
    /// Failed.
    pub failed: u64,
    /// Queue to completion, summed.
    response_sum_ns: f64,
    response: Option<Box<HistogramMerger>>,
    /// What was taken out of `response`.
    taken: Histogram,
    /// Reads and writes by bytes.
    pub sizes: [BTreeMap<u64, u64>; 2],
    /// I/Os with data by the power of two of their first byte's address; the first one counts address 0.
    pub addresses: BTreeMap<u32, u64>,
}

impl IoGroup {
    /// All I/Os.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Response times.
    pub fn response(&mut self) -> Histogram {
        if let Some(merger) = &mut self.response {
            self.taken.merge(&merger.take());
        }
        self.taken.clone()
    }

    fn add(&mut self, row: &NumberedIo, is_sync: bool, is_ahead: bool) {
        match row.class {
            0 => self.reads += 1,
            1 => self.writes += 1,
            _ => self.others += 1,
        }
        self.asynchronous += u64::from((row.class == 1 && !is_sync) || (row.class == 0 && is_ahead));
        let bytes = u64::try_from(row.bytes).unwrap_or(0);
        self.bytes += bytes;
        self.failed += u64::from(row.failed);
        if let Some(response_ns) = row.response_ns() {
            self.response_sum_ns += response_ns as f64;
            self.response.get_or_insert_with(Box::default).record(response_ns);
        }
        if let Some(sizes) = self.sizes.get_mut(row.class).filter(|_| bytes > 0) {
            let key = if sizes.len() < SIZES || sizes.contains_key(&bytes) { bytes } else { 1 << bytes.ilog2() };
            *sizes.entry(key).or_default() += 1;
        }
        if bytes > 0 {
            let at = u64::try_from(row.sector).unwrap_or(0) * 512;
            *self.addresses.entry(at.checked_ilog2().map_or(0, |octave| octave + 1)).or_default() += 1;
        }
    }
}

/// I/Os of an interval, or of all of them.
#[derive(Debug)]
pub struct IoFold {
    by: IoBy,
    names: NameNumbers,
    groups: HashMap<usize, IoGroup>,
    waiting: Vec<NumberedIo>,
    /// By the number of a row's flags: `sync`, read-ahead.
    marks: HashMap<usize, (bool, bool)>,
}

impl IoFold {
    /// None yet.
    #[must_use]
    pub fn new(by: IoBy) -> Self {
        Self { by, names: NameNumbers::default(), groups: HashMap::new(), waiting: Vec::new(), marks: HashMap::new() }
    }

    /// Adds a batch; those of other tables are passed over.
    ///
    /// # Errors
    /// It has not the columns of its table.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), TableReadError> {
        if batch.table.name != recording::rows::Io::NAME {
            return Ok(());
        }
        let mut rows = std::mem::take(&mut self.waiting);
        append(&batch.rows, &mut self.names, &mut rows)?;
        for row in &rows {
            let names = &self.names;
            let (is_sync, is_ahead) = *self.marks.entry(row.flags).or_insert_with(|| {
                let has = |mark: &str| names.name(row.flags).split('+').any(|flag| flag == mark);
                (has("sync"), has("readahead"))
            });
            let name = match self.by {
                IoBy::Device => row.dev,
                IoBy::Process => row.process,
                IoBy::File => row.file,
                IoBy::Operation => row.op,
            };
            let is_known = self.groups.contains_key(&name) || self.groups.len() < GROUPS;
            self.groups.entry(if is_known { name } else { usize::MAX }).or_default().add(row, is_sync, is_ahead);
        }
        rows.clear();
        self.waiting = rows;
        Ok(())
    }

    /// Forgets the I/Os, not the names.
    pub fn clear(&mut self) {
        self.groups.clear();
    }

    /// What it is grouped by.
    #[must_use]
    pub fn by(&self) -> IoBy {
        self.by
    }

    /// The groups with their names, most I/Os first.
    pub fn groups(&mut self) -> Vec<(String, &mut IoGroup)> {
        let names = &self.names;
        let unnamed = self.by.unnamed();
        let name = |number: usize| match number {
            usize::MAX => "(all others)",
            number => Some(names.name(number)).filter(|name| !name.is_empty()).unwrap_or(unnamed),
        };
        let mut groups: Vec<(String, &mut IoGroup)> =
            self.groups.iter_mut().map(|(number, group)| (name(*number).to_string(), group)).collect();
        groups.sort_by(|a, b| b.1.ios().cmp(&a.1.ios()).then_with(|| a.0.cmp(&b.0)));
        groups
    }

    /// Rates over `interval_s` seconds, a row per group, the first `top`.
    pub fn table(&mut self, interval_s: f64, top: usize) -> ViewTable {
        let heading = self.by.heading();
        let mut groups = self.groups();
        let omitted = groups.len().saturating_sub(top);
        groups.truncate(top);
        let responses: Vec<Histogram> = groups.iter_mut().map(|(_, group)| group.response()).collect();
        let per_s = |value: f64| (interval_s > 0.0).then(|| value / interval_s);
        let rate = |name: &str, value: fn(&IoGroup) -> u64| {
            TableColumn::numbers(name, Unit::OpsPerSecond, groups.iter().map(|(_, group)| per_s(value(group) as f64)))
        };
        let time = |name: &str, value: &dyn Fn(&Histogram) -> Option<f64>| {
            TableColumn::numbers(name, Unit::Nanoseconds, responses.iter().map(value)).under("response")
        };
        let mut columns = vec![
            TableColumn::text(heading, groups.iter().map(|(name, _)| name.clone()).collect()),
            rate("reads", |group| group.reads),
            rate("writes", |group| group.writes),
            rate("async", |group| group.asynchronous),
            rate("other", |group| group.others),
            TableColumn::numbers(
                "throughput",
                Unit::BytesPerSecond,
                groups.iter().map(|(_, group)| per_s(group.bytes as f64)),
            ),
            TableColumn::numbers(
                "in flight",
                Unit::Count,
                groups.iter().map(|(_, group)| per_s(group.response_sum_ns / 1e9)),
            ),
            time("mean", &Histogram::mean),
            time("p50", &|histogram| histogram.percentile(0.5).map(|ns| ns as f64)),
            time("p99", &|histogram| histogram.percentile(0.99).map(|ns| ns as f64)),
            time("max", &|histogram| histogram.max().map(|ns| ns as f64)),
        ];
        if groups.iter().any(|(_, group)| group.failed > 0) {
            columns.push(TableColumn::numbers(
                "failed",
                Unit::Operations,
                groups.iter().map(|(_, group)| Some(group.failed as f64)),
            ));
        }
        ViewTable { columns, omitted }
    }
}

/// Counts by value: what a histogram in text shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueCounts {
    /// Of what.
    pub title: String,
    /// Lower bound in the unit of `title` (bytes or nanoseconds), its words, and how many.
    pub rows: Vec<(u64, String, u64)>,
}

impl IoGroup {
    /// Sizes one by one, response times and addresses by powers of two; empty ones are left out.
    pub fn distributions(&mut self) -> Vec<ValueCounts> {
        let sizes =
            |of: usize| self.sizes[of].iter().map(|(bytes, count)| (*bytes, format_bytes(*bytes), *count)).collect();
        let mut out = vec![
            ValueCounts { title: "size of reads".to_string(), rows: sizes(0) },
            ValueCounts { title: "size of writes".to_string(), rows: sizes(1) },
        ];
        let response = self.response();
        let mut octaves: BTreeMap<u32, u64> = BTreeMap::new();
        for (low, _, count) in response.buckets() {
            *octaves.entry(low.checked_ilog2().unwrap_or(0)).or_default() += count;
        }
        let octave = |(octave, count): (&u32, &u64)| {
            let low = 1_u64 << octave;
            (low, format!("{} – {}", format_ns(low), format_ns(low.saturating_mul(2))), *count)
        };
        out.push(ValueCounts { title: "response time".to_string(), rows: octaves.iter().map(octave).collect() });
        let address = |(octave, count): (&u32, &u64)| match octave.checked_sub(1) {
            None => (0, "0".to_string(), *count),
            Some(power) => {
                let low = 1_u64 << power;
                (low, format!("{} – {}", format_bytes(low), format_bytes(low.saturating_mul(2))), *count)
            }
        };
        out.push(ValueCounts { title: "address".to_string(), rows: self.addresses.iter().map(address).collect() });
        out.retain(|distribution| !distribution.rows.is_empty());
        out
    }
}
