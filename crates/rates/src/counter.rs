//! Cumulative counters: the only place where a later value of one is taken from an earlier one, so that no two faces
//! can disagree about the same rows.
//!
//! A *counter* is a column of the kind [`recording::ColumnKind::Counter`]: it starts at 0 (at boot, when a probe is
//! loaded, when a process, a socket or a control group begins) and counts up. What it means is in its growth between
//! two samples of the same thing. Decided here, once:
//!
//! * **A decrease is a reset.** A device was replaced, a driver or a probe was loaded anew, a number of a process
//!   was used again. What the counter counted in between is not known, so the growth is `None`, never 0 and never
//!   a guess ([`delta`]).
//! * **A reset that is known to start from 0**, because another thing has taken over the name, has counted at least
//!   what it shows now ([`IrqDelta::or_restart`](crate::irq_time::IrqDelta::or_restart)).
//! * **A wrap is no reset.** Only counters that the kernel is known to keep in 32 bits wrap within a recording:
//!   [`delta_of_32_bits`].
//! * **A missing value** in either sample makes the growth unknown ([`delta_opt`]). A source that does not count something
//!   is not a source that counted 0.
//! * **No earlier sample** means 0 only where the thing is known to have begun since then, or where the mean since boot
//!   is asked for. The caller decides this, by [`CounterStep::before`].
//! * **A gap** needs no rule: the growth is that of the whole time between the two samples, and a rate is its mean. Who shows
//!   intervals decides which length is a gap.
//! * **A sum of counters** grows by the sum of their growth, which is not known where that of one is not ([`sum_known`]).
//!   Only where one source resets all of them together is the sum a counter itself.
//!
//! Values are `i64` as in the rows (a counter of the kernel above 2⁶³ does not occur), growth is `f64`, because it becomes
//! a rate, a share or a mean.

/// Growth of a counter from `before` to `now`; `None` when it ran backwards.
#[must_use]
pub fn delta(now: i64, before: i64) -> Option<f64> {
    delta_i64(now, before).map(|grown| grown as f64)
}

/// The same for those that count on.
#[must_use]
pub fn delta_i64(now: i64, before: i64) -> Option<i64> {
    now.checked_sub(before).filter(|grown| *grown >= 0)
}

/// Growth of a counter that is known as a printed number only.
#[must_use]
pub fn delta_f64(now: f64, before: f64) -> Option<f64> {
    Some(now - before).filter(|grown| *grown >= 0.0)
}

/// Growth of a counter that the source may lack; `None` as well where one of the samples does not have it.
#[must_use]
pub fn delta_opt(now: Option<i64>, before: Option<i64>) -> Option<f64> {
    delta(now?, before?)
}

/// Growth of a counter that the kernel keeps in 32 bits: one that fell from the last sixteenth of them by nearly all of them
/// went round; any other that fell was reset.
#[must_use]
pub fn delta_of_32_bits(now: Option<i64>, before: Option<i64>) -> Option<f64> {
    let (now, before) = (now?, before?);
    delta(now, before).or_else(|| {
        let grown = now.checked_sub(before)?.checked_add(1 << 32)?;
        ((0..1 << 28).contains(&grown) && before < 1 << 32).then_some(grown as f64)
    })
}

/// The sum of figures; `None` where one of them is not known, and where there are none.
pub fn sum_known(figures: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    figures.into_iter().reduce(|a, b| Some(a? + b?))?
}

/// `part ÷ whole`; `None` where that is no number: nothing of nothing, or something of nothing.
#[must_use]
pub fn ratio(part: f64, whole: f64) -> Option<f64> {
    Some(part / whole).filter(|quotient| whole > 0.0 && quotient.is_finite())
}

/// Time by a counter of ns as a share of `seconds`, per cent; more than 100 where several count at once.
#[must_use]
pub fn share_percent(ns: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| ns / 1e7 / seconds)
}

/// Two samples of one thing.
#[derive(Debug)]
pub struct CounterStep<'a, R> {
    /// The later sample.
    pub now: &'a R,
    /// The earlier one; `None`: all counters were 0 then, because the thing began since.
    pub before: Option<&'a R>,
    /// Time between them; 0 where it is not known, which makes all rates unknown.
    pub seconds: f64,
}

impl<'a, R> CounterStep<'a, R> {
    /// From one row to the next of the same thing, `t_ns` being when a row was read.
    pub fn between(now: &'a R, before: &'a R, t_ns: fn(&R) -> i64) -> Self {
        Self { now, before: Some(before), seconds: (t_ns(now) - t_ns(before)) as f64 / 1e9 }
    }

    /// Growth of a counter.
    pub fn delta(&self, counter: impl Fn(&R) -> i64) -> Option<f64> {
        self.delta_opt(|row| Some(counter(row)))
    }

    /// Growth of a counter that the source may lack.
    pub fn delta_opt(&self, counter: impl Fn(&R) -> Option<i64>) -> Option<f64> {
        let (now, before) = self.ends(counter);
        delta_opt(now, before)
    }

    /// Growth of a counter that the kernel keeps in 32 bits.
    pub fn delta_of_32_bits(&self, counter: impl Fn(&R) -> Option<i64>) -> Option<f64> {
        let (now, before) = self.ends(counter);
        delta_of_32_bits(now, before)
    }

    /// Growth per second.
    pub fn rate(&self, counter: impl Fn(&R) -> i64) -> Option<f64> {
        self.per_s(self.delta(counter))
    }

    /// Growth per second of a counter that the source may lack.
    pub fn rate_opt(&self, counter: impl Fn(&R) -> Option<i64>) -> Option<f64> {
        self.per_s(self.delta_opt(counter))
    }

    /// Growth of a counter of ns as a share of the time, per cent.
    pub fn share_percent(&self, counter: impl Fn(&R) -> Option<i64>) -> Option<f64> {
        share_percent(self.delta_opt(counter)?, self.seconds)
    }

    /// `value` per second.
    #[must_use]
    pub fn per_s(&self, value: Option<f64>) -> Option<f64> {
        value.filter(|_| self.seconds > 0.0).map(|value| value / self.seconds)
    }

    fn ends(&self, counter: impl Fn(&R) -> Option<i64>) -> (Option<i64>, Option<i64>) {
        (counter(self.now), self.before.map_or(Some(0), counter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_not_known_and_a_wrap_is() {
        assert_eq!((delta(9, 7), delta(7, 7), delta(7, 9)), (Some(2.0), Some(0.0), None));
        assert_eq!(delta(i64::MAX, i64::MIN), None, "no overflow, whatever a file says");
        assert_eq!((delta_opt(Some(1), None), delta_opt(None, Some(1))), (None, None), "not counted is not 0");
        let near = (1_i64 << 32) - 10;
        assert_eq!(delta_of_32_bits(Some(5), Some(near)), Some(15.0));
        assert_eq!(delta_of_32_bits(Some(5), Some(9)), None, "a small decrease is a reset");
        assert_eq!(delta_of_32_bits(Some(0), Some(3_000_000_000)), None, "too far from the end to have gone round");
        assert_eq!(delta_of_32_bits(Some(5), Some(near << 8)), None, "it was never one of 32 bits");
        assert_eq!(delta_of_32_bits(Some(i64::MIN), Some(i64::MAX)), None);
    }

    #[test]
    fn a_sum_with_an_unknown_part_is_not_known() {
        assert_eq!(sum_known([Some(1.0), Some(2.0)]), Some(3.0));
        assert_eq!(sum_known([Some(1.0), None, Some(2.0)]), None);
        assert_eq!(sum_known([]), None, "neither 0 nor -0");
    }

    #[test]
    fn without_time_there_are_no_rates_and_without_a_row_before_it_began_at_0() {
        let step = CounterStep { now: &12_i64, before: Some(&2), seconds: 0.0 };
        assert_eq!((step.delta(|row| *row), step.rate(|row| *row)), (Some(10.0), None));
        assert_eq!(step.share_percent(|row| Some(*row)), None);
        let step = CounterStep { now: &12_i64, before: None, seconds: 2.0 };
        assert_eq!(step.rate(|row| *row), Some(6.0));
        assert_eq!(step.rate_opt(|_| None), None);
        assert_eq!((ratio(1.0, 0.0), ratio(0.0, 0.0), ratio(1.0, 4.0)), (None, None, Some(0.25)));
    }
}
