//! Rows of counters, each beside the one before.

use rates::stat::seen_keys::began_since;
use recording::{RecordingError, Row, RowBatch};
use std::collections::HashMap;

/// Above so many processes or threads that were ever seen, the rule forgets those that had no row for so long.
pub(super) const KNOWN: usize = 20_000;
pub(super) const FORGET_NS: i64 = 3_600_000_000_000;

/// Rows of one table as they came, and those of the sample before by what they are of.
#[derive(Debug)]
pub(super) struct Samples<R: Row> {
    before: HashMap<R::Key, R>,
    pub(super) now: Vec<R>,
}

impl<R: Row> Default for Samples<R> {
    fn default() -> Self {
        Self { before: HashMap::new(), now: Vec::new() }
    }
}

impl<R: Row> Samples<R> {
    pub(super) fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.extend(batch.to_rows::<R>()?);
        Ok(())
    }

    /// Pairs each row with that of the sample before, gives what `of` makes of it, and puts the row in that place.
    pub(super) fn pairs<T>(&mut self, of: impl Fn(&R, &R) -> Option<T>) -> Vec<T> {
        let fresh: HashMap<R::Key, R> = HashMap::with_capacity(self.now.len());
        let before = std::mem::replace(&mut self.before, fresh);
        let mut found = Vec::with_capacity(self.now.len());
        for row in self.now.drain(..) {
            let key = row.key();
            // What is new has its row of the sample before in the same commit.
            let was = before.get(&key).or_else(|| self.before.get(&key));
            found.extend(was.and_then(|was| of(&row, was)));
            self.before.insert(key, row);
        }
        found
    }
}

/// When what a row is of began, and when the row is of, ns.
type Times<R> = fn(&R) -> (i64, i64);

/// The same of a table that has rows only of what changed.
#[derive(Debug)]
pub(super) struct Sparse<R: Row> {
    pub(super) before: HashMap<R::Key, R>,
    pub(super) now: Vec<R>,
    /// The first sample was seen, which tells of everything.
    seen: bool,
    /// The stream does not start at the beginning: a counter that had no row yet may have grown for long.
    pub(super) joins: bool,
    /// When a thing began and when a row is of, where rows say so: what began since the last row is new even so.
    times: Option<Times<R>>,
    /// The newest row taken.
    newest_ns: i64,
}

impl<R: Row> Default for Sparse<R> {
    fn default() -> Self {
        Self { before: HashMap::new(), now: Vec::new(), seen: false, joins: false, times: None, newest_ns: 0 }
    }
}

impl<R: Row> Sparse<R> {
    /// Of things whose rows say when they began; `times`: when one began, when a row is of.
    pub(super) fn of_beginners(times: Times<R>) -> Self {
        Self { times: Some(times), ..Self::default() }
    }
}

impl<R: Row> Sparse<R> {
    pub(super) fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.extend(batch.to_rows::<R>()?);
        Ok(())
    }

    /// Keeps those that pass. What is forgotten is not new when it comes again: it is as if this had joined then, and
    /// only what began since, by its own row, is new.
    pub(super) fn forget(&mut self, keeps: impl Fn(&R) -> bool) {
        let known = self.before.len();
        self.before.retain(|_, row| keeps(row));
        self.joins |= self.before.len() < known;
    }

    /// What `of` makes of each row and the one before, if there was one; false when no row ever came.
    pub(super) fn with_previous<T>(&mut self, of: impl Fn(&R, Option<&R>) -> Option<T>) -> (Vec<T>, bool) {
        let mut found = Vec::with_capacity(self.now.len());
        let is_first = !self.seen;
        self.seen |= !self.now.is_empty();
        let since_ns = self.newest_ns;
        for row in self.now.drain(..) {
            let (key, times) = (row.key(), self.times.map(|times| times(&row)));
            let was = self.before.get(&key);
            let is_new = times.is_some_and(|(began_ns, _)| began_since(began_ns, since_ns));
            if !is_first && (was.is_some() || is_new || !self.joins) {
                found.extend(of(&row, was));
            }
            self.newest_ns = self.newest_ns.max(times.map_or(0, |(_, t_ns)| t_ns));
            self.before.insert(key, row);
        }
        (found, self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::Sparse;
    use recording::Label;
    use recording::rows::ProcessEvent;

    /// The row of a process that began then.
    fn ran(pid: i64, start_ns: i64, t_ns: i64, run_ns: i64) -> ProcessEvent {
        ProcessEvent {
            t_ns,
            t_s: 0.0,
            pid,
            start_ns,
            parent: 1,
            comm: Label::from("p"),
            run_ns,
            wait_ns: 0,
            switches: 0,
            preemptions: 0,
        }
    }

    #[test]
    fn what_began_is_new_even_after_something_was_forgotten() {
        const S: i64 = 1_000_000_000;
        let mut runs: Sparse<ProcessEvent> = Sparse::of_beginners(|row| (row.start_ns, row.t_ns));
        let mut growth = |rows: Vec<ProcessEvent>, forgets: bool| -> Vec<(i64, i64)> {
            runs.now = rows;
            let grown = |row: &ProcessEvent, was: Option<&ProcessEvent>| {
                Some((row.pid, row.run_ns - was.map_or(0, |was| was.run_ns)))
            };
            let found = runs.with_previous(grown).0;
            if forgets {
                runs.forget(|row| row.pid != 1);
            }
            found
        };
        assert_eq!(growth(vec![ran(1, 0, S, 7), ran(2, 0, S, 5)], false), [], "the beginning");
        assert_eq!(growth(vec![ran(1, 0, 2 * S, 9), ran(3, 0, 2 * S, 4)], true), [(1, 2), (3, 4)]);
        // 1 was forgotten; 4 began since.
        let rows = vec![ran(1, 0, 3 * S, 30), ran(2, 0, 3 * S, 6), ran(4, 2 * S + S / 2, 3 * S, 3)];
        assert_eq!(growth(rows, false), [(2, 1), (4, 3)]);
        assert_eq!(growth(vec![ran(1, 0, 4 * S, 31)], false), [(1, 1)]);
    }
}
