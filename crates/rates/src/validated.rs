//! What data validation has proved of a recording, added up once for every face.

use recording::rows::DataCheck;
use std::collections::BTreeMap;

/// What was proved of all targets together until a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataFigures {
    /// Bytes that were stamped and written.
    pub stamped_bytes: i64,
    /// Bytes that were read and had to be what was known of them.
    pub checked_bytes: i64,
    /// Bytes that were read and of which nothing was known.
    pub unknown_bytes: i64,
    /// Blocks of which something is known.
    pub known_blocks: i64,
    /// Of those, blocks that were read at the end; `None` without such a reading.
    pub swept_blocks: Option<i64>,
    /// Damaged blocks, each once until it is written again.
    pub damaged_blocks: i64,
}

impl DataFigures {
    /// Of the rows of a recording in their order: all figures of a row count from the start, so the last one of a target has all.
    /// `None`: nothing was validated.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a DataCheck>) -> Option<Self> {
        let newest: BTreeMap<&str, &DataCheck> = rows.into_iter().map(|row| (&*row.target, row)).collect();
        let swept = newest.values().map(|row| row.swept_blocks).sum();
        let sum = |of: fn(&DataCheck) -> i64| newest.values().map(|row| of(row)).sum();
        (!newest.is_empty()).then(|| Self {
            stamped_bytes: sum(|row| row.stamped_bytes),
            checked_bytes: sum(|row| row.checked_bytes),
            unknown_bytes: sum(|row| row.unknown_bytes),
            known_blocks: sum(|row| row.known_blocks),
            swept_blocks: swept,
            damaged_blocks: sum(|row| row.damaged_blocks),
        })
    }

    /// Was nothing proved: neither was anything compared with what was known, nor is anything damaged?
    #[must_use]
    pub fn is_unproved(&self) -> bool {
        self.damaged_blocks == 0 && self.checked_bytes == 0
    }

    /// How much of what is known was read at the end, per cent, 100 only where nothing is missing; `None` where nothing was read then
    /// or nothing is known.
    #[must_use]
    pub fn coverage_percent(&self) -> Option<f64> {
        let swept = self.swept_blocks?;
        match self.known_blocks {
            ..=0 => None,
            known if swept >= known => Some(100.0),
            known => Some((100.0 * swept as f64 / known as f64).min(99.99)),
        }
    }

    /// The verdict in a word, for programs: `damaged`, `right` or `unproved`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.damaged_blocks {
            1.. => "damaged",
            _ if self.is_unproved() => "unproved",
            _ => "right",
        }
    }
}

/// Follows the rows of a recording: how much of each belongs to its own run.
#[derive(Clone, Debug, Default)]
pub struct DamageFound(BTreeMap<String, (i64, i64)>);

impl DamageFound {
    /// Damaged blocks that the row's run found on its target; `None` when the run compared nothing there.
    pub fn since(&mut self, row: &DataCheck) -> Option<i64> {
        let now = (row.damaged_blocks, row.checked_bytes);
        let before = self.0.insert(row.target.to_string(), now).unwrap_or_default();
        let (damaged, checked) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
        (damaged > 0 || checked > 0).then_some(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(target: &str, [checked, known, damaged]: [i64; 3], swept: Option<i64>) -> DataCheck {
        DataCheck {
            t_ns: 0,
            t_s: 0.0,
            run: String::new(),
            run_index: 0,
            target: target.into(),
            block_bytes: 4096,
            stamped_bytes: 0,
            checked_bytes: checked,
            unknown_bytes: 0,
            known_blocks: known,
            swept_blocks: swept,
            unpromised_blocks: None,
            damaged_blocks: damaged,
            extra_reads: 0,
            deferred: 0,
        }
    }

    #[test]
    fn the_last_row_of_a_target_has_all() {
        assert_eq!(DataFigures::of([]), None);
        let rows = [row("a", [10, 4, 1], None), row("b", [0, 4, 0], None), row("a", [20, 4, 3], Some(3))];
        let all = DataFigures::of(&rows).unwrap();
        assert_eq!((all.checked_bytes, all.damaged_blocks, all.known_blocks), (20, 3, 8));
        assert_eq!((all.coverage_percent(), all.word()), (None, "damaged"), "of b nothing was read at the end");
        let of = |rows: &[DataCheck]| DataFigures::of(rows).map(|all| (all.word(), all.coverage_percent()));
        assert_eq!(of(&rows[1..2]), Some(("unproved", None)));
        assert_eq!(of(&[row("a", [9, 100_000, 0], Some(99_999))]), Some(("right", Some(99.99))));
        assert_eq!(of(&[row("a", [9, 100, 0], Some(100))]), Some(("right", Some(100.0))));
    }

    #[test]
    fn a_run_has_what_it_found_itself_and_nothing_where_it_compared_nothing() {
        let mut found = DamageFound::default();
        assert_eq!(found.since(&row("a", [0, 9, 0], None)), None, "written only");
        assert_eq!(found.since(&row("a", [10, 9, 2], None)), Some(2));
        assert_eq!(found.since(&row("a", [20, 9, 2], None)), Some(0), "the next one found nothing");
        assert_eq!(found.since(&row("a", [20, 9, 2], None)), None);
        assert_eq!(found.since(&row("b", [5, 9, 1], None)), Some(1));
    }
}
