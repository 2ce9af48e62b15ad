//! Block devices as `iostat -x` shows them, with percentiles of the response times of their reads and writes: the counters of
//! `disk` and the distributions of `io_interval`, in one row.

use super::FigureDigits::Fixed;
use super::disk;
use super::{CounterSubject, Samples, StatBlock, StatColumn, Stream, columns};
use quantity::histogram::HistogramMerger;
use recording::rows::{Disk, IoInterval};
use recording::{RecordingError, RowBatch};
use std::collections::HashMap;
use std::sync::LazyLock;

const PERCENTILES: &[StatColumn] = columns! {
    "read_p50_ms" "r_p50" Fixed(3), "half of the reads took no longer from queue to completion, ms; `-` without reads, `?` where single I/Os are not seen, and of partitions";
    "read_p95_ms" "r_p95" Fixed(3), "95 % of the reads took no longer, ms";
    "read_p99_ms" "r_p99" Fixed(3), "99 % of the reads took no longer, ms";
    "read_p999_ms" "r_p99.9" Fixed(3), "99.9 % of the reads took no longer, ms";
    "read_max_ms" "r_max" Fixed(3), "the longest of the reads, ms";
    "write_p50_ms" "w_p50" Fixed(3), "half of the writes took no longer from queue to completion, ms; `-` without writes, `?` where single I/Os are not seen, and of partitions";
    "write_p95_ms" "w_p95" Fixed(3), "95 % of the writes took no longer, ms";
    "write_p99_ms" "w_p99" Fixed(3), "99 % of the writes took no longer, ms";
    "write_p999_ms" "w_p99.9" Fixed(3), "99.9 % of the writes took no longer, ms";
    "write_max_ms" "w_max" Fixed(3), "the longest of the writes, ms";
};

/// iostat's, and behind them the percentiles.
pub(super) static COLUMNS: LazyLock<Vec<StatColumn>> =
    LazyLock::new(|| disk::COLUMNS.iter().chain(PERCENTILES).cloned().collect());

/// The quantiles of the columns; the last is the maximum.
const QUANTILES: [f64; 5] = [0.5, 0.95, 0.99, 0.999, 1.0];

/// `disk`, and `io_interval` by device.
pub(super) struct Disks {
    disks: Samples<Disk, disk::Figures>,
    /// Reads and writes of this interval.
    sums: HashMap<String, [HistogramMerger; 2]>,
}

impl Disks {
    pub(super) fn new(since_boot: bool) -> Self {
        let disks = Samples {
            subject: CounterSubject::DiskPercentiles,
            figures: disk::Figures,
            before: HashMap::new(),
            now: Vec::new(),
            since_boot,
        };
        Self { disks, sums: HashMap::new() }
    }
}

impl Stream for Disks {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        for row in batch.to_rows::<IoInterval>()? {
            let at = match &*row.op {
                "read" => 0,
                "write" => 1,
                _ => continue,
            };
            let sums = self.sums.entry(row.dev.to_string()).or_default();
            // What it was made of was read a moment ago.
            let _ = sums[at].add(&row.response.encode());
        }
        self.disks.accept(batch)
    }

    fn commit(&mut self) -> Option<StatBlock> {
        // Of a sample without a block (the first), they are of no interval.
        let mut sums = std::mem::take(&mut self.sums);
        let mut block = self.disks.commit()?;
        for row in &mut block.rows {
            // The I/Os since boot were not traced. Those of a partition are its disk's: their addresses do not say
            // whether they were sent to the partition, which is what its counters count.
            let of_device = sums.get_mut(&row.name).filter(|_| !block.since_boot);
            let values = match of_device {
                Some(sums) => sums.each_mut().map(percentiles_ms).concat(),
                None => vec![None; PERCENTILES.len()],
            };
            row.values.extend(values);
        }
        Some(block)
    }
}

fn percentiles_ms(sum: &mut HistogramMerger) -> [Option<f64>; QUANTILES.len()] {
    let histogram = sum.take();
    QUANTILES.map(|quantile| {
        let ns = if quantile < 1.0 { histogram.percentile(quantile) } else { histogram.max() };
        ns.map(|ns| ns as f64 / 1e6)
    })
}
