//! Response times of a device over the last seconds: columns are moments, rows are buckets on a logarithmic scale.

use super::resources::await_ms;
use super::{Moment, Scene};
use quantity::histogram::Histogram;

/// Powers of two between two rows, most of them; a device that answers between 1 µs and 100 s fits nine rows.
const STEP_MAX: u32 = 4;

/// A heat map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heat {
    /// Of which device.
    pub device: String,
    /// Lower edges of the rows, ns, upwards.
    pub lower_ns: Vec<f64>,
    /// Ratio of the edges of one row.
    pub ratio: f64,
    /// Oldest first.
    pub columns: Vec<HeatColumn>,
    /// Why there are means instead of distributions.
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

impl Moment {
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

impl Scene<'_> {
    /// The heat map of a device in so many rows and at most so many columns.
    #[must_use]
    pub fn heat(&self, device: &str, rows: usize, columns: usize) -> Heat {
        let first = self.moments.len().saturating_sub(columns);
        let is_followed = |moment: &Moment| !moment.ios.is_empty() || self.no_blocks.is_none();
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
        let (low, step) = scale(&times, rows);
        let row_of = |ns: f64| {
            let octave = ns.max(1.0).log2();
            let row = ((octave - f64::from(low)) / f64::from(step)).floor().clamp(0.0, rows.saturating_sub(1) as f64);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the rows")]
            let row = row as usize;
            row
        };
        let column = |times: &Times| match times {
            Times::Nothing => HeatColumn::Mean(None),
            Times::Mean(ns) => HeatColumn::Mean(Some(row_of(*ns))),
            Times::Distribution(response) => {
                let mut counts = vec![0; rows];
                for (low_ns, high_ns, count) in response.buckets() {
                    let middle = (low_ns + high_ns) as f64 / 2.0;
                    if let Some(cell) = counts.get_mut(row_of(middle)) {
                        *cell += count;
                    }
                }
                HeatColumn::Counts(counts)
            }
        };
        let has_means = times.iter().any(|times| matches!(times, Times::Mean(_)));
        Heat {
            device: device.to_string(),
            lower_ns: (0..rows).map(|row| (f64::from(low) + (row as f64) * f64::from(step)).exp2()).collect(),
            ratio: f64::from(step).exp2(),
            columns: times.iter().map(column).collect(),
            note: has_means.then(|| format!("means only (m): {}", self.no_blocks.unwrap_or("I/Os were not followed"))),
        }
    }
}

/// The lowest edge and the step between rows, as powers of two, that hold everything.
fn scale(times: &[Times], rows: usize) -> (u32, u32) {
    let (mut low, mut high) = (u64::MAX, 0);
    for times in times {
        let (least, most) = match times {
            Times::Distribution(response) => (response.min(), response.max()),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time of a counter")]
            Times::Mean(ns) => (Some(ns.max(1.0) as u64), Some(ns.max(1.0) as u64)),
            Times::Nothing => (None, None),
        };
        low = low.min(least.unwrap_or(u64::MAX));
        high = high.max(most.unwrap_or(0));
    }
    // Nothing yet: 30 µs and up.
    let low = if low == u64::MAX { 15 } else { low.max(1).ilog2() };
    let high = high.max(1).ilog2().max(low);
    let rows = u32::try_from(rows.max(1)).unwrap_or(1);
    let step = (high - low + 1).div_ceil(rows).clamp(1, STEP_MAX * 2);
    // What room there is goes above: that is where trouble will be.
    (low, step)
}
