//! Response times of single operations over a recording's whole time: columns are stretches of time, rows are times on a
//! logarithmic scale.

use super::heat::edge;
use super::strip_cells::Cells;
use quantity::histogram::{Histogram, HistogramMerger};
use rates::BatchColumns;
use recording::{Reader, rows};
use view::TableReadError;

/// Tables that have response times of single operations; the first one that has any is shown: of a run, what its load saw.
const TABLES: [&str; 2] = [rows::OpInterval::NAME, rows::IoInterval::NAME];
/// So many powers of two, ns; what takes longer than the last one stands in it.
pub(super) const OCTAVES: usize = 40;

/// Counts of response times by stretch of time and power of two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StripHeat {
    /// The power of two at the bottom, ns.
    low: u32,
    /// In each stretch from `low` upwards; empty where nothing was completed.
    cells: Vec<Vec<u64>>,
}

/// The same in as many rows and columns as there is room for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StripMap {
    /// Lower edge of each row, upwards.
    pub labels: Vec<String>,
    /// Counts of each column, upwards.
    pub columns: Vec<Vec<u64>>,
    /// The greatest count.
    pub most: u64,
}

impl StripHeat {
    /// `cells[i][k]` counts the response times of stretch `i` from 2^(`low` + `k`) ns to twice that.
    #[must_use]
    pub fn new(low: u32, cells: Vec<Vec<u64>>) -> Self {
        Self { low, cells }
    }

    /// `None` where no response times of single operations were recorded.
    pub(super) fn read(reader: &Reader, cells: &Cells) -> Result<Option<Self>, TableReadError> {
        for table in TABLES {
            let mut sums = vec![vec![0; OCTAVES]; cells.count()];
            let mut merger = HistogramMerger::new();
            // Rows come in the order of time, so that those of one stretch are added up in their stored form.
            let mut current = 0;
            for batch in reader.columns(table, &["t_ns", "response"])? {
                let batch = batch?;
                let columns = BatchColumns { table, batch: &batch };
                let (t_ns, response) = (columns.longs("t_ns")?, columns.bytes("response")?);
                for row in 0..batch.num_rows() {
                    let here = cells.place(t_ns.value(row));
                    if here != current {
                        add(&mut sums, current, &merger.take());
                        current = here;
                    }
                    merger.add(response.value(row)).map_err(|error| TableReadError::Histogram {
                        table,
                        column: "response",
                        reason: error.to_string(),
                    })?;
                }
            }
            add(&mut sums, current, &merger.take());
            if let Some(heat) = Self::of(sums) {
                return Ok(Some(heat));
            }
        }
        Ok(None)
    }

    /// Of counts by stretch and power of two; `None`: there are none.
    pub(super) fn of(sums: Vec<Vec<u64>>) -> Option<Self> {
        let used = |octave: &usize| sums.iter().any(|counts| counts.get(*octave).is_some_and(|count| *count > 0));
        let (low, high) = ((0..OCTAVES).find(used)?, (0..OCTAVES).rev().find(used)?);
        let cut = |counts: Vec<u64>| {
            let counts = counts.get(low..=high).unwrap_or_default().to_vec();
            if counts.iter().all(|count| *count == 0) { Vec::new() } else { counts }
        };
        Some(Self { low: u32::try_from(low).unwrap_or(0), cells: sums.into_iter().map(cut).collect() })
    }

    /// In so many rows and columns at most: several powers of two, and several stretches, share one.
    #[must_use]
    pub fn map(&self, rows: usize, columns: usize) -> StripMap {
        let octaves = self.cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let each = octaves.div_ceil(rows.max(1));
        let rows = octaves.div_ceil(each);
        let column = |x: usize| {
            let (from, to) = (x * self.cells.len() / columns, (x + 1) * self.cells.len() / columns);
            let mut counts = vec![0; rows];
            for cell in self.cells.get(from..to.max(from + 1)).unwrap_or_default() {
                for (octave, count) in cell.iter().enumerate() {
                    counts[octave / each] += count;
                }
            }
            counts
        };
        let columns: Vec<Vec<u64>> = (0..columns).map(column).collect();
        let label = |row: usize| edge((f64::from(self.low) + (row * each) as f64).exp2());
        StripMap {
            labels: (0..rows).map(label).collect(),
            most: columns.iter().flatten().copied().max().unwrap_or(0),
            columns,
        }
    }
}

/// Adds a distribution to a stretch.
fn add(sums: &mut [Vec<u64>], at: usize, response: &Histogram) {
    let Some(counts) = sums.get_mut(at) else { return };
    for (low, high, count) in response.buckets() {
        let middle = (low / 2 + high / 2).max(1);
        let octave = usize::try_from(middle.ilog2()).unwrap_or(OCTAVES).min(OCTAVES - 1);
        counts[octave] += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four stretches: 1 ms, 1 ms and 16 ms, nothing, 16 ms.
    fn heat() -> StripHeat {
        let mut sums = vec![vec![0; OCTAVES]; 4];
        for (at, times) in
            [(0, &[(1_000_000, 90)][..]), (1, &[(1_000_000, 10), (16_000_000, 5)]), (3, &[(16_000_000, 7)])]
        {
            let mut response = Histogram::default();
            for (ns, count) in times {
                (0..*count).for_each(|_| response.record(*ns));
            }
            add(&mut sums, at, &response);
        }
        StripHeat::of(sums).expect("there are some")
    }

    #[test]
    fn rows_are_powers_of_two_and_nothing_is_lost_where_they_share_one() {
        let all = heat().map(8, 4);
        assert_eq!(all.labels, ["524µs", "1.0ms", "2.1ms", "4.2ms", "8.4ms"], "from the shortest to the longest");
        let column = |at: usize| (all.columns[at][0], all.columns[at][4]);
        assert_eq!([column(0), column(1), column(2), column(3)], [(90, 0), (10, 5), (0, 0), (0, 7)]);
        assert_eq!(all.most, 90);
        let narrow = heat().map(2, 2);
        assert_eq!(narrow.labels, ["524µs", "4.2ms"]);
        assert_eq!(narrow.columns, [[100, 5], [0, 7]]);
    }

    #[test]
    fn none_where_nothing_was_completed() {
        assert_eq!(StripHeat::of(vec![vec![0; OCTAVES]; 4]), None);
    }
}
