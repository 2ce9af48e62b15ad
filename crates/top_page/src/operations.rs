//! What a disk was asked to do: a line per operation.

use super::maps::binary;
use super::resources::milliseconds;
use super::{DrillTarget, Grid, PageScene, short_or};
use quantity::histogram::Histogram;
use recording::rows::IoInterval;

/// Those that come first, in this order.
const ORDER: [&str; 4] = ["read", "write", "discard", "flush"];

/// I/Os of one operation.
#[derive(Default)]
struct Sum {
    ios: i64,
    bytes: i64,
    response: Histogram,
    sizes: Histogram,
    asynchronous: i64,
    /// I/Os without flags: whether a task waits for them is unknown.
    unflagged: i64,
}

impl Sum {
    fn add(&mut self, row: &IoInterval) {
        self.ios += row.ios;
        self.bytes += row.bytes;
        self.response.merge(&row.response);
        self.sizes.merge(&row.sizes.0);
        match row.asynchronous {
            Some(asynchronous) => self.asynchronous += asynchronous,
            None => self.unflagged += row.ios,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.response.merge(&other.response);
        self.sizes.merge(&other.sizes);
        self.asynchronous += other.asynchronous;
        self.unflagged += other.unflagged;
    }

    fn cells(&self, name: &str, seconds: f64) -> Vec<String> {
        let size = |quantile| match lower_quantile(&self.sizes, quantile) {
            Some(bytes) => binary(bytes as f64),
            None if self.bytes == 0 => "-".to_string(),
            None => "?".to_string(),
        };
        let time =
            |quantile| self.response.percentile(quantile).map_or_else(|| "?".to_string(), |ns| milliseconds(ns as f64));
        let asynchronous = match self.unflagged {
            0 => format!("{:.0}%", 100.0 * self.asynchronous as f64 / self.ios.max(1) as f64),
            _ => "?".to_string(),
        };
        let rate = |count: i64| short_or(Some(count as f64 / seconds));
        vec![
            name.to_string(),
            rate(self.ios),
            rate(self.bytes),
            size(0.5),
            size(0.99),
            time(0.5),
            time(0.99),
            asynchronous,
        ]
    }
}

/// The lower end of the bucket in which a quantile lies, never below the least value. Sizes are round numbers, which begin
/// buckets: what is shown is the size itself, where the upper end would be a size that did not occur.
fn lower_quantile(sizes: &Histogram, quantile: f64) -> Option<u64> {
    let upper = sizes.percentile(quantile)?;
    let bucket = sizes.buckets().find(|(low, high, _)| (*low..*high).contains(&upper));
    bucket.map(|(low, _, _)| low.max(sizes.min().unwrap_or(low)))
}

impl PageScene<'_> {
    /// Operations on a device over the last ten seconds. `async` is the share for which no task waits, as `probe io`
    /// has it: writes without `sync` (write-back), and read-ahead.
    pub(super) fn operations(&self, device: &str) -> Grid {
        let mut grid = Grid::new(
            format!("operations on {device}, last 10 s (async: no task waits for them)"),
            &["", "IO/s", "B/s", "size p50", "size p99", "resp p50", "resp p99", "async"],
        );
        let mut sums: Vec<(String, Sum)> = Vec::new();
        for row in self.lately().flat_map(|moment| &moment.ios).filter(|row| &*row.dev == device && row.ios > 0) {
            match sums.iter_mut().find(|(op, _)| **op == *row.op) {
                Some((_, sum)) => sum.add(row),
                None => {
                    let mut sum = Sum::default();
                    sum.add(row);
                    sums.push((row.op.to_string(), sum));
                }
            }
        }
        let rank = |op: &str| ORDER.iter().position(|known| *known == op).unwrap_or(ORDER.len());
        sums.sort_by(|a, b| rank(&a.0).cmp(&rank(&b.0)).then_with(|| a.0.cmp(&b.0)));
        let seconds = self.lately().map(|moment| moment.seconds).sum::<f64>().max(1e-9);
        for (op, sum) in &sums {
            grid.push(sum.cells(op, seconds), DrillTarget::Nothing);
        }
        if sums.len() > 1 {
            let mut all = Sum::default();
            sums.iter().for_each(|(_, sum)| all.merge(sum));
            grid.push(all.cells("all", seconds), DrillTarget::Nothing);
        }
        if sums.is_empty() {
            grid.note = Some(self.why_empty(device, self.lately()));
        }
        grid
    }
}
