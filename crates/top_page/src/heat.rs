//! Response times of a device over the last seconds: columns are moments, rows are buckets on a logarithmic scale.

use super::resources::await_ms;
use super::{PageInterval, PageScene};
use quantity::figures::{DecimalPlaces, UnitScale};
use quantity::histogram::Histogram;

/// Powers of two between two rows, most of them; a device that answers between 1 µs and 100 s fits nine rows.
const STEP_MAX: u32 = 4;

/// A heat map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// Of which device.
    pub device: String,
    /// Lower edges of the rows, ns, upwards.
    pub lower_ns: Vec<f64>,
    /// Ratio of the edges of one row.
    pub ratio: f64,
    /// Oldest first.
    pub columns: Vec<HeatColumn>,
    /// Why there are means instead of distributions, or nothing.
    pub note: Option<String>,
}

/// One moment of it.
#[derive(Clone, Debug, PartialEq)]
pub enum HeatColumn {
    /// Not known.
    Unknown,
    /// I/Os by row.
    Counts(Vec<u64>),
    /// Only the mean is known: the row that it lies in, if there was any I/O.
    Mean(Option<usize>),
}

impl PageInterval {
    /// Response times of a device in this interval; `None` when its I/Os were not followed.
    #[must_use]
    pub fn response_of(&self, device: &str) -> Option<Histogram> {
        let mut all: Option<Histogram> = None;
        for row in self.ios.iter().filter(|row| &*row.dev == device && row.ios > 0) {
            match &mut all {
                Some(all) => all.merge(&row.response),
                None => all = Some(row.response.clone()),
            }
        }
        all
    }
}

/// What is known of one moment.
enum Times {
    Distribution(Histogram),
    Mean(f64),
    Nothing,
}

impl Times {
    /// Least and greatest, ns.
    fn range(&self) -> Option<(u64, u64)> {
        match self {
            Self::Distribution(response) => range_of(response),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time of a counter")]
            Self::Mean(ns) => Some((ns.max(1.0) as u64, ns.max(1.0) as u64)),
            Self::Nothing => None,
        }
    }
}

impl PageScene<'_> {
    /// The heat map of a device in so many rows and at most so many columns.
    #[must_use]
    pub fn heat(&self, device: &str, rows: usize, columns: usize) -> HeatMap {
        let first = self.moments.len().saturating_sub(columns);
        let is_followed = |moment: &PageInterval| !moment.ios.is_empty() || self.no_blocks.is_none();
        let any_followed = self.moments.iter().any(|moment| !moment.ios.is_empty());
        let times: Vec<Times> = self.moments[first..]
            .iter()
            // The kernel counts whole milliseconds: a mean of none is not known.
            .map(|moment| match (moment.response_of(device), await_ms(moment, device).filter(|ms| *ms > 0.0)) {
                (Some(response), _) => Times::Distribution(response),
                (None, Some(ms)) if !(is_followed(moment) && any_followed) => Times::Mean(ms * 1e6),
                _ => Times::Nothing,
            })
            .collect();
        let scale = Scale::of(times.iter().filter_map(Times::range), 15, rows);
        let column = |times: &Times| match times {
            Times::Nothing => HeatColumn::Mean(None),
            Times::Mean(ns) => HeatColumn::Mean(Some(scale.row(*ns, rows))),
            Times::Distribution(response) => HeatColumn::Counts(scale.counts(response, rows)),
        };
        let has_means = times.iter().any(|times| matches!(times, Times::Mean(_)));
        let has_counts = times.iter().any(|times| matches!(times, Times::Distribution(_)));
        let note = if has_means {
            Some(format!("means only (m): {}", self.no_blocks.unwrap_or("I/Os were not followed")))
        } else {
            (!has_counts).then(|| self.why_empty(device, self.moments[first..].iter()))
        };
        HeatMap {
            device: device.to_string(),
            lower_ns: scale.lower(rows),
            ratio: f64::from(scale.step).exp2(),
            columns: times.iter().map(column).collect(),
            note,
        }
    }
}

/// Least and greatest of what was counted; `None`: nothing was.
pub(super) fn range_of(values: &Histogram) -> Option<(u64, u64)> {
    values.min().zip(values.max())
}

/// Rows of a map on a logarithmic scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// The lowest edge, as a power of two.
    low: u32,
    /// Between two rows, as a power of two.
    step: u32,
}

impl Scale {
    /// One that holds everything: least and greatest value of each column. `lowest`: the power of two at the bottom where
    /// there is nothing yet.
    pub(super) fn of(ranges: impl Iterator<Item = (u64, u64)>, lowest: u32, rows: usize) -> Self {
        let all = ranges.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        let (low, high) = all.map_or((lowest, lowest), |(least, most)| (least.max(1).ilog2(), most.max(1).ilog2()));
        let rows = u32::try_from(rows.max(1)).unwrap_or(1);
        let step = (high.max(low) - low + 1).div_ceil(rows).clamp(1, STEP_MAX * 2);
        // What room there is goes above: that is where trouble will be.
        Self { low, step }
    }

    /// The row of a value, of so many.
    fn row(self, value: f64, rows: usize) -> usize {
        let octave = value.max(1.0).log2();
        let row = ((octave - f64::from(self.low)) / f64::from(self.step)).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the rows")]
        let row = row.clamp(0.0, rows.saturating_sub(1) as f64) as usize;
        row
    }

    /// Values by row.
    pub(super) fn counts(self, values: &Histogram, rows: usize) -> Vec<u64> {
        let mut counts = vec![0; rows];
        for (low, high, count) in values.buckets() {
            let middle = (low + high) as f64 / 2.0;
            if let Some(cell) = counts.get_mut(self.row(middle, rows)) {
                *cell += count;
            }
        }
        counts
    }

    /// Lower edges of the rows, upwards.
    pub(super) fn lower(self, rows: usize) -> Vec<f64> {
        (0..rows).map(|row| (f64::from(self.low) + (row as f64) * f64::from(self.step)).exp2()).collect()
    }
}

/// `32µs`, `1ms`, `4s`.
pub(super) fn edge(ns: f64) -> String {
    let (value, unit) = UnitScale::TIME_EDGES.of(ns);
    format!("{}{unit}", DecimalPlaces::TWO.format(value))
}
