//! The cells of a strip: the most of a rate in each stretch of time.

use rates::counter::delta;
use std::collections::HashMap;

/// A longer time without a sample, in intervals, is a gap.
const GAP_INTERVALS: f64 = 3.5;

/// One figure over time.
#[derive(Clone, Debug, PartialEq)]
pub struct StripLine {
    /// What it is.
    pub name: &'static str,
    /// Its greatest value, in words.
    pub greatest: String,
    /// Share of the greatest (of 100 % where it is a share), the most in each cell; `None`: nothing was measured.
    pub cells: Vec<Option<f64>>,
}

/// The most of a rate in each cell.
pub(super) struct Cells {
    from_ns: i64,
    to_ns: i64,
    interval_ns: f64,
    pub(super) gap_ns: i64,
    pub(super) values: Vec<Option<f64>>,
}

impl Cells {
    pub(super) fn new(span: (i64, i64), interval_s: f64, count: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "an interval")]
        let gap_ns = (interval_s * GAP_INTERVALS * 1e9) as i64;
        let interval_ns = interval_s * 1e9;
        let to_ns = span.1.max(span.0 + 1);
        // With more cells than samples there would be gaps between them.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of samples")]
        let samples = ((to_ns - span.0) as f64 / interval_ns.max(1.0)).round().max(1.0) as usize;
        Self { from_ns: span.0, to_ns, interval_ns, gap_ns, values: vec![None; count.min(samples)] }
    }

    /// How many.
    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    /// Was nothing measured?
    pub(super) fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }

    /// The cell of a sample of this time.
    pub(super) fn place(&self, t_ns: i64) -> usize {
        let count = self.values.len();
        // The middle of the interval: samples are never exactly on time.
        let since_ns = (t_ns - self.from_ns) as f64 - self.interval_ns / 2.0;
        let place = since_ns / (self.to_ns - self.from_ns) as f64 * count as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the cells")]
        let at = place.clamp(0.0, count.saturating_sub(1) as f64) as usize;
        at
    }

    pub(super) fn put(&mut self, t_ns: i64, value: f64) {
        let at = self.place(t_ns);
        if let Some(cell) = self.values.get_mut(at) {
            *cell = Some(cell.map_or(value, |most| most.max(value)));
        }
    }

    /// Growth per second from one row to the next of the same thing; none over a gap.
    pub(super) fn rate(&mut self, before: &mut HashMap<String, (i64, i64)>, name: &str, now: (i64, i64)) {
        let was = match before.get_mut(name) {
            Some(was) => std::mem::replace(was, now),
            None => {
                before.insert(name.to_string(), now);
                return;
            }
        };
        let passed_ns = now.0 - was.0;
        if let Some(grown) = delta(now.1, was.1).filter(|_| passed_ns > 0 && passed_ns <= self.gap_ns) {
            self.put(now.0, grown * 1e9 / passed_ns as f64);
        }
    }

    /// `whole`: what counts as full; the greatest otherwise.
    pub(super) fn line(self, name: &'static str, whole: Option<f64>, words: impl Fn(f64) -> String) -> StripLine {
        let greatest = self.values.iter().flatten().copied().reduce(f64::max);
        let full = whole.or(greatest).filter(|full| *full > 0.0).unwrap_or(1.0);
        let cells = self.values.iter().map(|value| value.map(|value| (value / full).min(1.0))).collect();
        StripLine { name, greatest: greatest.map_or("?".to_string(), words), cells }
    }
}

impl Cells {
    /// On a logarithmic scale from `least` to the greatest.
    pub(super) fn logarithmic(self, name: &'static str, least: f64, words: impl Fn(f64) -> String) -> StripLine {
        let greatest = self.values.iter().flatten().copied().reduce(f64::max);
        let range = greatest.map_or(0.0, |greatest| (greatest / least).ln()).max(f64::MIN_POSITIVE);
        // Not lower than what can be seen.
        let share = |value: f64| if range < 0.1 { 0.5 } else { ((value / least).ln() / range).clamp(0.0, 1.0) };
        let cells = self.values.iter().map(|value| value.map(|value| share(value.max(least)))).collect();
        StripLine { name, greatest: greatest.map_or("?".to_string(), words), cells }
    }
}
