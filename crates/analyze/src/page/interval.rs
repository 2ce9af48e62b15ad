//! From single I/Os to rows of the table `io_interval`.

use crate::AnalyzeError;
use crate::facts::{Columns, Names};
use crate::traced::rows::{Traced, append};
use arrow_array::Array as _;
use quantity::histogram::Merger;
use recording::rows::IoInterval;
use recording::{Batch, Label};
use std::collections::HashMap;

/// Most rows of one interval with a process and a file of their own.
const ROWS: usize = 200;
/// Length of an interval that is made of a trace.
pub const TRACED_EVERY_NS: i64 = 1_000_000_000;

/// Device, operation, process, its name, file; numbers of `Names`.
type Key = (usize, usize, i32, usize, usize);

#[derive(Default)]
struct Sum {
    ios: i64,
    bytes: i64,
    response: Merger,
}

/// Sums I/Os of the table `io` until they are taken.
#[derive(Default)]
pub struct IoIntervals {
    names: Names,
    sums: HashMap<Key, Sum>,
    waiting: Vec<Traced>,
}

impl std::fmt::Debug for IoIntervals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("IoIntervals").field("sums", &self.sums.len()).finish_non_exhaustive()
    }
}

impl IoIntervals {
    /// Adds a batch; those of other tables are passed over.
    ///
    /// # Errors
    /// It has not the columns of its table.
    pub fn accept(&mut self, batch: &Batch) -> Result<(), AnalyzeError> {
        if batch.table.name != "io" {
            return Ok(());
        }
        let mut rows = std::mem::take(&mut self.waiting);
        append(&batch.rows, &mut self.names, &mut rows)?;
        let owners = Columns { table: "io", batch: &batch.rows }.ints("owner_pid")?;
        for (at, row) in rows.iter().enumerate() {
            let pid = if at < owners.len() && owners.is_valid(at) { owners.value(at) } else { row.pid };
            let sum = self.sums.entry((row.dev, row.op, pid, row.process, row.file)).or_default();
            sum.ios += 1;
            sum.bytes += row.bytes;
            if let Some(response_ns) = row.response_ns() {
                sum.response.record(response_ns);
            }
        }
        rows.clear();
        self.waiting = rows;
        Ok(())
    }

    /// The rows of the interval from `from_ns` to `t_ns`; the recording began at `origin_ns`.
    pub fn take(&mut self, from_ns: i64, t_ns: i64, origin_ns: i64) -> Vec<IoInterval> {
        let mut sums: Vec<(Key, Sum)> = self.sums.drain().collect();
        sums.sort_by(|a, b| b.1.ios.cmp(&a.1.ios).then(a.0.cmp(&b.0)));
        let mut rest: HashMap<(usize, usize), Sum> = HashMap::new();
        let mut rows = Vec::with_capacity(sums.len().min(ROWS));
        for (at, (key, mut sum)) in sums.into_iter().enumerate() {
            if at < ROWS {
                rows.push(self.row(key, &mut sum, (from_ns, t_ns, origin_ns)));
                continue;
            }
            let others = rest.entry((key.0, key.1)).or_default();
            others.ios += sum.ios;
            others.bytes += sum.bytes;
            // Both have the same buckets; a histogram of our own making can be read.
            let _ = others.response.add(&sum.response.take().encode());
        }
        let nobody = self.names.number("");
        for ((dev, op), mut sum) in rest {
            rows.push(self.row((dev, op, -1, nobody, nobody), &mut sum, (from_ns, t_ns, origin_ns)));
        }
        // Names of what is long gone are not kept for ever.
        if self.names.len() > 100_000 {
            self.names = Names::default();
        }
        rows
    }

    fn row(&self, key: Key, sum: &mut Sum, (from_ns, t_ns, origin_ns): (i64, i64, i64)) -> IoInterval {
        let (dev, op, pid, process, file) = key;
        let label = |number: usize| Some(self.names.name(number)).filter(|name| !name.is_empty()).map(Label::from);
        IoInterval {
            t_ns,
            t_s: (t_ns - origin_ns) as f64 / 1e9,
            interval_ns: t_ns - from_ns,
            dev: Label::from(self.names.name(dev)),
            op: Label::from(self.names.name(op)),
            pid: (pid >= 0).then_some(pid),
            comm: label(process),
            file: label(file),
            ios: sum.ios,
            bytes: sum.bytes,
            response: sum.response.take(),
        }
    }
}
