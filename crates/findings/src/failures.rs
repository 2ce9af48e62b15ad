//! I/Os that failed, from the tables that count them.

use super::interval_sample::{IntervalSample, IoFailure};
use rates::io_errors::failed_since;
use recording::rows::{IoError, IoInterval};
use recording::{Label, RecordingError, RowBatch};
use std::collections::HashMap;

/// Device, operation, error number, process, file.
type Key = (Label, Label, i32, Option<i32>, Option<Label>, Option<i64>);

/// What failed since the last moment.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// The last count of each.
    counted: HashMap<Key, i64>,
    since: Vec<IoFailure>,
    /// What comes is not the beginning of a recording.
    pub(super) joins: bool,
    /// When the first moment was.
    began_ns: Option<i64>,
}

impl Failures {
    /// Takes a batch of any table.
    pub(super) fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        for row in batch.to_rows::<IoError>()? {
            let key = (row.dev.clone(), row.op.clone(), row.error, row.pid, row.file.clone(), row.inode);
            let before = self.counted.insert(key, row.count);
            let Some(count) = failed_since(&row, before, self.joins, self.began_ns) else { continue };
            let process = row.comm.as_deref().map(|comm| named(comm, row.pid));
            self.since.push(IoFailure {
                device: row.dev.to_string(),
                op: row.op.to_string(),
                errno: Some(row.error),
                count: count as f64,
                process,
                file: row.file.as_deref().map(str::to_string),
                sector: row.sector,
                first_ns: Some(row.first_ns),
            });
        }
        Ok(())
    }

    /// Puts into the moment what failed since the last one, by event; else as sums of single I/Os tell it.
    pub(super) fn fill(&mut self, moment: &mut IntervalSample) {
        self.began_ns.get_or_insert(moment.t_ns);
        moment.failures = std::mem::take(&mut self.since);
        if self.counted.is_empty() {
            moment.failures.extend(moment.ios.iter().filter_map(of_interval));
        }
    }

    /// There is no moment yet: it belongs to the next one.
    pub(super) fn give_back(&mut self, failures: Vec<IoFailure>) {
        if !self.counted.is_empty() {
            self.since = failures;
        }
    }
}

fn of_interval(row: &IoInterval) -> Option<IoFailure> {
    let count = row.errors.filter(|errors| *errors > 0)? as f64;
    Some(IoFailure {
        device: row.dev.to_string(),
        op: row.op.to_string(),
        errno: None,
        count,
        process: row.comm.as_deref().map(|comm| named(comm, row.pid)),
        file: row.file.as_deref().map(str::to_string),
        sector: None,
        first_ns: None,
    })
}

/// `dd[12]`.
fn named(comm: &str, pid: Option<i32>) -> String {
    pid.map_or_else(|| comm.to_string(), |pid| format!("{comm}[{pid}]"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::failed_reads as row;
    use super::*;

    /// What each moment has of each device.
    fn moments(joins: bool) -> Vec<Vec<(String, f64)>> {
        let mut failures = Failures { joins, ..Failures::default() };
        let rows = [vec![row("sda", 5, 7)], vec![row("sda", 5, 9), row("sdb", 12, 1)], vec![row("sdb", 12, 150)]];
        let mut moment = |(rows, t_ns): (Vec<IoError>, i64)| {
            failures.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
            let mut moment = IntervalSample { t_ns, ..IntervalSample::default() };
            failures.fill(&mut moment);
            moment.failures.into_iter().map(|failure| (failure.device, failure.count)).collect()
        };
        rows.into_iter().zip([10, 20, 30]).map(&mut moment).collect()
    }

    #[test]
    fn a_device_that_begins_to_fail_behind_the_first_moment_counts_whole() {
        let counted = |all: &[(&str, f64)]| all.iter().map(|(device, count)| (device.to_string(), *count)).collect();
        let later: [Vec<_>; 2] = [counted(&[("sda", 2.0), ("sdb", 1.0)]), counted(&[("sdb", 149.0)])];
        assert_eq!(moments(true), [vec![], later[0].clone(), later[1].clone()]);
        assert_eq!(moments(false), [counted(&[("sda", 7.0)]), later[0].clone(), later[1].clone()]);
    }
}
