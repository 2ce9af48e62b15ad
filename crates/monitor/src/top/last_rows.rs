//! The rows before a window of what has a row only when it changed. A process without a row did nothing, so its counters
//! stand where its last row left them, however long ago that was.

use super::WINDOW_SAMPLES;
use crate::MonitorError;
use recording::rows::{Cgroup, Interrupt, Process, ProcessEvent};
use recording::{Label, Row, RowBatch};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::Range;

/// So many samples before a window are looked through at most: an hour of samples a second apart, which takes a fraction of
/// a second. What slept for longer is not known in the first interval in which it woke.
const LOOK_BACK_SAMPLES: usize = 15 * WINDOW_SAMPLES;

/// A row of a table that has rows of a thing only when it changed.
trait SparseRow: Row {
    type Thing: Eq + Hash;
    /// What the row is of.
    fn thing(&self) -> Self::Thing;
    /// When it was read.
    fn read_ns(&self) -> i64;
    /// When the thing began, where the row tells.
    fn began_ns(&self) -> Option<i64> {
        None
    }
}

impl SparseRow for Process {
    type Thing = (i64, Option<i64>);
    fn thing(&self) -> Self::Thing {
        (self.pid, self.start_ns)
    }
    fn read_ns(&self) -> i64 {
        self.t_ns
    }
    fn began_ns(&self) -> Option<i64> {
        self.start_ns
    }
}

impl SparseRow for ProcessEvent {
    type Thing = (i64, i64);
    fn thing(&self) -> Self::Thing {
        (self.pid, self.start_ns)
    }
    fn read_ns(&self) -> i64 {
        self.t_ns
    }
    fn began_ns(&self) -> Option<i64> {
        Some(self.start_ns)
    }
}

impl SparseRow for Interrupt {
    type Thing = (Label, Label, i32);
    fn thing(&self) -> Self::Thing {
        (self.kind.clone(), self.vector.clone(), self.cpu)
    }
    fn read_ns(&self) -> i64 {
        self.t_ns
    }
}

impl SparseRow for Cgroup {
    type Thing = Label;
    fn thing(&self) -> Self::Thing {
        self.path.clone()
    }
    fn read_ns(&self) -> i64 {
        self.t_ns
    }
}

/// Where the window begins, and how far before it one may look.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookBack {
    /// First sample of all.
    pub(super) first_ns: i64,
    /// What is read begins here.
    pub(super) from_ns: i64,
    /// Time between samples.
    pub(super) interval_ns: i64,
}

impl LookBack {
    /// The last rows before the window of what has its first row in it behind the window's first sample; `read` gives the
    /// batches of some tables in a stretch of time.
    pub(super) fn last_rows(
        self,
        window: &[RowBatch],
        read: impl Fn(&[&str], Range<i64>) -> Result<Vec<RowBatch>, MonitorError>,
    ) -> Result<Vec<RowBatch>, MonitorError> {
        let Some(second_ns) = top_page::sample_times(window).get(1).copied() else { return Ok(Vec::new()) };
        let found = [
            self.last_of::<Process>(window, second_ns, &read)?,
            self.last_of::<ProcessEvent>(window, second_ns, &read)?,
            self.last_of::<Interrupt>(window, second_ns, &read)?,
            self.last_of::<Cgroup>(window, second_ns, &read)?,
        ];
        Ok(found.into_iter().flatten().collect())
    }

    fn last_of<R: SparseRow>(
        self,
        window: &[RowBatch],
        second_ns: i64,
        read: impl Fn(&[&str], Range<i64>) -> Result<Vec<RowBatch>, MonitorError>,
    ) -> Result<Option<RowBatch>, MonitorError> {
        let table = R::TABLE.name;
        let mut sought = self.without_row::<R>(window, second_ns)?;
        let mut found = Vec::new();
        let window_ns = self.interval_ns.max(1).saturating_mul(i64::try_from(WINDOW_SAMPLES).unwrap_or(0));
        let most_ns = self.interval_ns.max(1).saturating_mul(i64::try_from(LOOK_BACK_SAMPLES).unwrap_or(0));
        let earliest_ns = self.first_ns.max(self.from_ns.saturating_sub(most_ns));
        let (mut end_ns, mut length_ns) = (self.from_ns, window_ns);
        while !sought.is_empty() && end_ns > earliest_ns {
            let start_ns = end_ns.saturating_sub(length_ns).max(earliest_ns);
            let mut latest: HashMap<R::Thing, R> = HashMap::new();
            for batch in read(&[table], start_ns..end_ns)? {
                for row in batch.to_rows::<R>()?.into_iter().filter(|row| sought.contains(&row.thing())) {
                    let is_later = latest.get(&row.thing()).is_none_or(|known| known.read_ns() <= row.read_ns());
                    if is_later {
                        latest.insert(row.thing(), row);
                    }
                }
            }
            sought.retain(|thing| !latest.contains_key(thing));
            found.extend(latest.into_values());
            (end_ns, length_ns) = (start_ns, length_ns.saturating_mul(2));
        }
        Ok(if found.is_empty() { None } else { Some(RowBatch::from_rows(&found)?) })
    }

    /// Things of which the first sample of a window has no row, and a later one has, unless they began in it.
    fn without_row<R: SparseRow>(self, window: &[RowBatch], second_ns: i64) -> Result<HashSet<R::Thing>, MonitorError> {
        let (mut known, mut sought) = (HashSet::new(), HashSet::new());
        for batch in window.iter().filter(|batch| batch.table.name == R::TABLE.name) {
            for row in batch.to_rows::<R>()? {
                if row.read_ns() < second_ns {
                    known.insert(row.thing());
                } else if row.began_ns().is_none_or(|began_ns| began_ns < self.from_ns) {
                    sought.insert(row.thing());
                }
            }
        }
        sought.retain(|thing| !known.contains(thing));
        Ok(sought)
    }
}
