//! From the I/Os of a trace to rows of what failed: a trace has no counters, and its intervals tell only that something did.

use arrow_array::Array as _;
use quantity::histogram::Histogram;
use rates::{BatchColumns, NameNumbers};
use recording::rows::{self, IoError, IoInterval, TraceInterval};
use recording::{Label, Reader, RowBatch, SizeHistogram};
use std::collections::{BTreeMap, HashMap};
use view::TableReadError;
use workload::traced::rows::{NumberedIo, append};
use workload::traced::sample::sample;

/// Device, operation, error number, number and name of the process, file; numbers of `NameNumbers`.
type Key = (usize, usize, i32, i32, usize, usize);

/// Rows of a trace in which something failed.
pub(super) struct TraceErrors {
    /// Each failure, with process and file.
    pub(super) errors: Vec<IoError>,
    /// How many there were of each operation, well or not.
    pub(super) totals: Vec<IoInterval>,
}

#[derive(Default)]
struct Interval {
    totals: HashMap<(usize, usize), i64>,
    /// Count, first and last time, first sector.
    failed: HashMap<Key, (i64, i64, i64, i64)>,
}

impl TraceErrors {
    /// `None` where nothing failed: the I/Os are not read then.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub(super) fn of(reader: &Reader) -> Result<Option<Self>, TableReadError> {
        let (mut ends, mut errors) = (Vec::new(), 0);
        for row in reader.rows::<TraceInterval>()? {
            let row = row?;
            ends.push((row.t_ns, row.interval_ns));
            errors += row.errors;
        }
        if errors == 0 || ends.is_empty() {
            return Ok(None);
        }
        let weight = i64::try_from(sample(reader.manifest())).unwrap_or(1);
        let mut names = NameNumbers::default();
        let mut intervals: Vec<Interval> = ends.iter().map(|_| Interval::default()).collect();
        let mut rows: Vec<NumberedIo> = Vec::new();
        for batch in reader.batches(rows::Io::NAME)? {
            let batch = batch?;
            rows.clear();
            append(&batch, &mut names, &mut rows)?;
            let error = BatchColumns { table: rows::Io::NAME, batch: &batch }.ints("error")?;
            for (at, row) in rows.iter().enumerate() {
                // The last interval ends with the trace; what was counted a moment later is of it.
                let place = ends.partition_point(|(t_ns, _)| *t_ns < row.last_ns()).min(ends.len() - 1);
                let interval = &mut intervals[place];
                *interval.totals.entry((row.dev, row.op)).or_default() += weight;
                if error.is_valid(at) {
                    let key = (row.dev, row.op, error.value(at), row.process_pid, row.process, row.file);
                    let fresh = (0, row.last_ns(), row.last_ns(), row.sector);
                    let failed = interval.failed.entry(key).or_insert(fresh);
                    failed.0 += weight;
                    failed.1 = failed.1.min(row.last_ns());
                    failed.2 = failed.2.max(row.last_ns());
                }
            }
        }
        Ok(Some(Self::rows(&ends, intervals, &names, reader.manifest().started_t_ns)))
    }

    fn rows(ends: &[(i64, i64)], intervals: Vec<Interval>, names: &NameNumbers, origin_ns: i64) -> Self {
        let label = |number: usize| Some(names.name(number)).filter(|name| !name.is_empty()).map(Label::from);
        let (mut errors, mut totals) = (Vec::new(), Vec::new());
        let mut counted: HashMap<Key, (i64, i64, i64)> = HashMap::new();
        for ((t_ns, interval_ns), interval) in ends.iter().copied().zip(intervals) {
            let t_s = (t_ns - origin_ns) as f64 / 1e9;
            let failed: BTreeMap<_, _> = interval.failed.into_iter().collect();
            for (key, (count, first_ns, last_ns, sector)) in failed {
                let (dev, op, error, pid, comm, file) = key;
                let all = counted.entry(key).or_insert((0, first_ns, sector));
                all.0 += count;
                errors.push(IoError {
                    t_ns,
                    t_s,
                    dev: Label::from(names.name(dev)),
                    op: Label::from(names.name(op)),
                    error,
                    pid: (pid >= 0).then_some(pid),
                    comm: label(comm),
                    file: label(file),
                    inode: None,
                    count: all.0,
                    first_ns: all.1,
                    last_ns,
                    sector: Some(all.2),
                });
            }
            for ((dev, op), ios) in interval.totals {
                totals.push(IoInterval {
                    t_ns,
                    t_s,
                    interval_ns,
                    dev: Label::from(names.name(dev)),
                    op: Label::from(names.name(op)),
                    pid: None,
                    comm: None,
                    file: None,
                    ios,
                    bytes: 0,
                    response: Histogram::default(),
                    asynchronous: None,
                    sizes: SizeHistogram(Histogram::default()),
                    sequential: None,
                    errors: None,
                });
            }
        }
        Self { errors, totals }
    }

    /// As batches of their tables; `None`: the table is another one.
    ///
    /// # Errors
    /// Does not happen with rows of the catalogue.
    pub(super) fn batch(&self, table: &str) -> Result<Option<RowBatch>, recording::RecordingError> {
        match table {
            IoError::NAME => RowBatch::from_rows(&self.errors).map(Some),
            IoInterval::NAME => RowBatch::from_rows(&self.totals).map(Some),
            _ => Ok(None),
        }
    }
}
