//! The last moments, as rules see them.

use super::interval_sample::IntervalSample;
use std::collections::VecDeque;

/// So much is kept at least; no rule's window is longer.
const KEPT_S: f64 = 120.0;

/// Moments without a gap between them, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Window {
    moments: VecDeque<IntervalSample>,
    seconds: f64,
}

impl Window {
    /// Adds a moment, and forgets those that no rule asks for any more.
    pub(crate) fn push(&mut self, moment: IntervalSample) {
        self.seconds += moment.seconds;
        self.moments.push_back(moment);
        while let Some(first) = self.moments.front()
            && self.seconds - first.seconds >= KEPT_S
        {
            self.seconds -= first.seconds;
            self.moments.pop_front();
        }
    }

    /// Samples were lost: what comes does not join.
    pub(crate) fn clear(&mut self) {
        self.moments.clear();
        self.seconds = 0.0;
    }

    /// The newest.
    pub(crate) fn now(&self) -> Option<&IntervalSample> {
        self.moments.back()
    }

    /// The one before the newest; `None`: there is none, or there is a gap between them.
    pub(crate) fn before(&self) -> Option<&IntervalSample> {
        self.moments.iter().nth_back(1)
    }

    /// The moments that ended within the last `seconds`, from the oldest; fewer while there are not so many.
    pub(crate) fn within(&self, seconds: f64) -> impl DoubleEndedIterator<Item = &IntervalSample> + Clone {
        let mut length = 0.0;
        let count = self.moments.iter().rev().take_while(|moment| {
            let fits = length < seconds * 0.95;
            length += moment.seconds;
            fits
        });
        self.moments.range(self.moments.len() - count.count()..)
    }

    /// The newest moments that together last `seconds`, to within a twentieth (samples come a little early or late);
    /// `None` when there are not so many yet.
    pub(crate) fn last(&self, seconds: f64) -> Option<WindowSlice<'_>> {
        let mut length = 0.0;
        for (count, moment) in self.moments.iter().rev().enumerate() {
            length += moment.seconds;
            if length >= seconds * 0.95 {
                let to = self.moments.len();
                return Some(WindowSlice { moments: &self.moments, skip: to - count - 1, to });
            }
        }
        None
    }

    /// The newest moments that began at this time or later, and no more than the last `seconds`; `None` when there are none.
    pub(crate) fn since(&self, from_ns: i64, seconds: f64) -> Option<WindowSlice<'_>> {
        // Begins are reckoned from lengths and are off by a nanosecond: its middle says on which side a moment is.
        let is_within = |moment: &&IntervalSample| (moment.start_ns() / 2 + moment.t_ns / 2) > from_ns;
        let count = self.within(seconds).rev().take_while(is_within).count();
        let to = self.moments.len();
        (count > 0).then(|| WindowSlice { moments: &self.moments, skip: to - count, to })
    }
}

/// Some moments of a window, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowSlice<'a> {
    moments: &'a VecDeque<IntervalSample>,
    skip: usize,
    /// Behind the last one.
    to: usize,
}

impl<'a> WindowSlice<'a> {
    /// From the oldest.
    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = &'a IntervalSample> + Clone {
        self.moments.range(self.skip..self.to)
    }

    /// Each moment by itself, from the oldest.
    pub(crate) fn each(self) -> impl DoubleEndedIterator<Item = Self> {
        (self.skip..self.to).map(move |at| Self { skip: at, to: at + 1, ..self })
    }

    /// When it began, ns.
    pub(crate) fn start_ns(self) -> i64 {
        self.iter().next().map_or(0, IntervalSample::start_ns)
    }

    /// How long it is.
    pub(crate) fn seconds(self) -> f64 {
        self.iter().map(|moment| moment.seconds).sum()
    }

    /// The mean over the stretch; `None` when one moment does not know.
    pub(crate) fn mean(self, of: impl Fn(&IntervalSample) -> Option<f64>) -> Option<f64> {
        super::mean(self.iter(), of)
    }
}
