//! Units of numbers that people read, and how such numbers are written.

use quantity::figures::{self, DecimalPlaces};
use serde::{Deserialize, Serialize};

/// Unit of an axis, a column or a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// No unit: names.
    #[serde(rename = "")]
    None,
    /// Seconds, elapsed time.
    #[serde(rename = "s")]
    Seconds,
    /// Nanoseconds, written as ns, µs, ms or s.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Operations per second.
    #[serde(rename = "op/s")]
    OpsPerSecond,
    /// Bytes per second, k = 1000.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Bytes, k = 1000.
    #[serde(rename = "B")]
    Bytes,
    /// Operations.
    #[serde(rename = "op")]
    Operations,
    /// Per cent.
    #[serde(rename = "%")]
    Percent,
    /// A count of anything.
    #[serde(rename = "count")]
    Count,
    /// 1 ÷ (1 − q) of a percentile q: a logarithmic axis of nines.
    #[serde(rename = "nines")]
    Nines,
}

/// Three significant digits, no exponent.
fn three(value: f64) -> String {
    DecimalPlaces::THREE_OR_LITTLE.format(value)
}

/// Elapsed time for people: `850 ms`, `12.5 s`, `2 min 5 s`, `3 h 20 min`.
fn elapsed(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0 s".to_string();
    }
    if seconds.abs() < 60.0 {
        return figures::time(seconds * 1e9);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an amount; times are far from the bound"
    )]
    let whole = seconds.abs().round() as u64;
    let sign = if seconds < 0.0 { "-" } else { "" };
    format!("{sign}{}", figures::long_time(whole, false))
}

impl Unit {
    /// The number with its unit, three significant digits; `?` when it is missing.
    pub fn format(self, value: Option<f64>) -> String {
        let Some(value) = value.filter(|value| value.is_finite()) else { return "?".to_string() };
        match self {
            Self::None => three(value),
            Self::Seconds => elapsed(value),
            Self::Nanoseconds => figures::time(value),
            Self::OpsPerSecond => figures::prefixed(value, "op/s"),
            Self::BytesPerSecond => figures::prefixed(value, "B/s"),
            Self::Bytes => figures::prefixed(value, "B"),
            Self::Operations => figures::grouped(value),
            Self::Percent => format!("{} %", three(value)),
            Self::Count => {
                if value.fract() == 0.0 {
                    figures::grouped(value)
                } else {
                    three(value)
                }
            }
            Self::Nines => format!("p{}", percentile_name(value)),
        }
    }

    /// Is it of things that there are no parts of?
    #[must_use]
    pub fn is_counted(self) -> bool {
        !matches!(self, Self::None | Self::Seconds | Self::Percent | Self::Nines)
    }

    /// As in a table whose heading carries the unit: whole operations per second, everything else as [`Unit::format`].
    pub fn format_cell(self, value: Option<f64>) -> String {
        let Some(value) = value.filter(|value| value.is_finite()) else { return "?".to_string() };
        match self {
            Self::OpsPerSecond if value >= 100.0 => figures::grouped(value),
            Self::OpsPerSecond | Self::Percent => three(value),
            _ => self.format(Some(value)),
        }
    }

    /// What stands in a heading when cells are written by [`Unit::format_cell`]; empty when cells carry their unit.
    pub fn heading(self) -> &'static str {
        match self {
            Self::OpsPerSecond => "op/s",
            Self::Percent => "%",
            _ => "",
        }
    }
}

/// `99.9` of `1000.0` (= 1 ÷ (1 − 0.999)).
fn percentile_name(nines: f64) -> String {
    let percent = 100.0 - 100.0 / nines.max(1.0);
    let text = format!("{percent:.6}");
    figures::without_zeros(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::Unit;

    fn check(unit: Unit, value: f64, expect: &str) {
        assert_eq!(unit.format(Some(value)), expect);
    }

    #[test]
    fn numbers_carry_their_unit_and_three_digits() {
        check(Unit::Nanoseconds, 850.0, "850 ns");
        check(Unit::Nanoseconds, 1234.0, "1.23 µs");
        check(Unit::Nanoseconds, 999_600.0, "1.00 ms");
        check(Unit::Nanoseconds, 2.034e9, "2.03 s");
        check(Unit::OpsPerSecond, 20134.0, "20.1 kop/s");
        check(Unit::OpsPerSecond, 0.0, "0 op/s");
        check(Unit::BytesPerSecond, 1.91e9, "1.91 GB/s");
        check(Unit::Operations, 1_234_567.0, "1,234,567");
        check(Unit::Seconds, 0.0, "0 s");
        check(Unit::Seconds, 125.0, "2 min 5 s");
        check(Unit::Seconds, 10_800.0, "3 h");
        check(Unit::Seconds, 10_920.0, "3 h 2 min");
        check(Unit::Percent, 63.44, "63.4 %");
        check(Unit::Nines, 1000.0, "p99.9");
        check(Unit::Nines, 2.0, "p50");
        assert_eq!(Unit::Nanoseconds.format(None), "?");
        assert_eq!(Unit::OpsPerSecond.format_cell(Some(20134.4)), "20,134");
    }
}
