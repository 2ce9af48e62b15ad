//! How figures become text for people: the decimals, the unit and the separators, by the size of a number.
//!
//! Faces differ in how many digits they have room for; each says so with a [`DecimalPlaces`] and a [`UnitScale`].

/// How many decimals a number gets: below each bound (of its amount) so many, above all of them none.
///
/// The bounds are where rounding would give one digit more: 9.996 is `10.0` and not `10.00`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecimalPlaces(pub &'static [(f64, usize)]);

impl DecimalPlaces {
    /// Three digits: `0.00`, `1.23`, `12.3`, `123`, `1234`.
    pub const THREE: Self = Self(&[(9.995, 2), (99.95, 1)]);
    /// Three digits, four decimals of little, and a bare `0`: `0`, `0.0012`, `1.23`, `12.3`, `123`.
    pub const THREE_OR_LITTLE: Self = Self(&[(f64::MIN_POSITIVE, 0), (0.01, 4), (9.995, 2), (99.95, 1)]);
    /// Two digits: `0.0`, `1.2`, `12`, `123`.
    pub const TWO: Self = Self(&[(9.95, 1)]);
    /// Two digits and a bare `0`: `0`, `1.2`, `12`, `123`.
    pub const TWO_OR_ZERO: Self = Self(&[(f64::MIN_POSITIVE, 0), (9.95, 1)]);
    /// A decimal below 100: `0.0`, `1.2`, `12.3`, `123`.
    pub const ONE_BELOW_100: Self = Self(&[(99.95, 1)]);

    /// The number with its decimals.
    #[must_use]
    pub fn format(self, value: f64) -> String {
        let fits = |(bound, _): &&(f64, usize)| value.abs() < *bound;
        let decimals = self.0.iter().find(fits).map_or(0, |(_, decimals)| *decimals);
        format!("{value:.decimals$}")
    }
}

/// Units of which each is so many of the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitScale {
    units: &'static [&'static str],
    step: f64,
    /// From here on (of the amount) a number is written in the next unit.
    limit: f64,
}

impl UnitScale {
    /// Prefixes of 1000: none, `k`, `M`, `G`, `T`, `P`.
    pub const DECIMAL: Self = Self { units: &["", "k", "M", "G", "T", "P"], step: 1000.0, limit: 999.5 };
    /// Bytes by 1024: `B`, `KiB`, …
    pub const BINARY_BYTES: Self =
        Self { units: &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], step: 1024.0, limit: 1023.5 };
    /// Prefixes of 1024, each from a whole one on: none, `Ki`, `Mi`, `Gi`, `Ti`.
    pub const BINARY: Self = Self { units: &["", "Ki", "Mi", "Gi", "Ti"], step: 1024.0, limit: 1024.0 };
    /// Times from nanoseconds on: `ns`, `µs`, `ms`, `s`.
    pub const TIME: Self = Self { units: &["ns", "µs", "ms", "s"], step: 1000.0, limit: 999.5 };
    /// The same, each unit from a whole one on: edges of buckets.
    pub const TIME_EDGES: Self = Self { limit: 1000.0, ..Self::TIME };

    /// The number in the unit that suits its size, and that unit.
    #[must_use]
    pub fn of(self, value: f64) -> (f64, &'static str) {
        let (mut scaled, mut at) = (value, 0);
        while scaled.abs() >= self.limit && at + 1 < self.units.len() {
            scaled /= self.step;
            at += 1;
        }
        (scaled, self.units[at])
    }
}

/// Groups the digits of a whole number by thousands: `1,234,567`.
#[must_use]
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("−{text}") } else { text }
}

/// A number in at most five characters, for narrow columns: `0`, `0.4`, `12`, `547`, `9.1k`, `31M`.
#[must_use]
pub fn short(value: f64) -> String {
    let (scaled, prefix) = UnitScale::DECIMAL.of(value);
    format!("{}{prefix}", DecimalPlaces::TWO_OR_ZERO.format(scaled))
}

/// A time in at most five characters: `88ms`, `8.4ms`, `900µs`.
#[must_use]
pub fn short_time(ns: f64) -> String {
    let (scaled, unit) = UnitScale::TIME.of(ns);
    format!("{}{unit}", DecimalPlaces::TWO_OR_ZERO.format(scaled))
}

/// A time in three digits: `850 ns`, `1.23 µs`, `2.03 s`.
#[must_use]
pub fn time(ns: f64) -> String {
    let (scaled, unit) = UnitScale::TIME.of(ns);
    format!("{} {unit}", DecimalPlaces::THREE_OR_LITTLE.format(scaled))
}

/// A number in three digits, with prefix and unit: `(1234.0, "op/s")` → `1.23 kop/s`.
#[must_use]
pub fn prefixed(value: f64, unit: &str) -> String {
    let (scaled, prefix) = UnitScale::DECIMAL.of(value);
    format!("{} {prefix}{unit}", DecimalPlaces::THREE_OR_LITTLE.format(scaled)).trim_end().to_string()
}

/// A time of a minute and more in its two largest units: `2 min 5 s`, `3 h 20 min`, `2 d 5 h`; without days `53 h`.
#[must_use]
pub fn long_time(seconds: u64, has_days: bool) -> String {
    let days = if has_days { seconds / 86_400 } else { 0 };
    let rest_s = seconds - days * 86_400;
    let (hours, minutes, rest) = (rest_s / 3600, rest_s / 60 % 60, rest_s % 60);
    let two = |a: u64, a_unit: &str, b: u64, b_unit: &str| {
        if b == 0 { format!("{a} {a_unit}") } else { format!("{a} {a_unit} {b} {b_unit}") }
    };
    if days > 0 {
        two(days, "d", hours, "h")
    } else if hours > 0 {
        two(hours, "h", minutes, "min")
    } else {
        two(minutes, "min", rest, "s")
    }
}

/// A number without the zeros at its end: `5` of `5.00`, `12.5` of `12.50`, `100` of `100`.
#[must_use]
pub fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_follow_the_size() {
        let all = |places: DecimalPlaces| {
            [0.0, 0.004, 1.234, 9.97, -12.34, 99.94, 99.96, 1234.0].map(|value| places.format(value))
        };
        assert_eq!(all(DecimalPlaces::THREE), ["0.00", "0.00", "1.23", "9.97", "-12.3", "99.9", "100", "1234"]);
        assert_eq!(
            all(DecimalPlaces::THREE_OR_LITTLE),
            ["0", "0.0040", "1.23", "9.97", "-12.3", "99.9", "100", "1234"]
        );
        assert_eq!(all(DecimalPlaces::TWO), ["0.0", "0.0", "1.2", "10", "-12", "100", "100", "1234"]);
        assert_eq!(all(DecimalPlaces::TWO_OR_ZERO), ["0", "0.0", "1.2", "10", "-12", "100", "100", "1234"]);
        assert_eq!(all(DecimalPlaces::ONE_BELOW_100), ["0.0", "0.0", "1.2", "10.0", "-12.3", "99.9", "100", "1234"]);
    }

    #[test]
    fn units_follow_the_size() {
        assert_eq!([0.0, 0.4, 547.0, 999.6, 31e6, 5e18].map(short), ["0", "0.4", "547", "1.0k", "31M", "5000P"]);
        assert_eq!([0.0, 9e5, 8.4e6, 2e12].map(short_time), ["0ns", "900µs", "8.4ms", "2000s"]);
        assert_eq!([850.0, 999_600.0, 2.034e9].map(time), ["850 ns", "1.00 ms", "2.03 s"]);
        assert_eq!(prefixed(-20_134.0, "op/s"), "-20.1 kop/s");
        assert_eq!(UnitScale::TIME_EDGES.of(999.6), (999.6, "ns"));
        assert_eq!(UnitScale::BINARY.of(1536.0), (1.5, "Ki"));
        assert_eq!([125, 10_800, 190_800].map(|seconds| long_time(seconds, true)), ["2 min 5 s", "3 h", "2 d 5 h"]);
        assert_eq!(long_time(190_800, false), "53 h");
    }

    #[test]
    fn thousands_are_told_apart_and_zeros_left_out() {
        assert_eq!([0.0, 999.0, 1000.0, -1_234_567.0].map(grouped), ["0", "999", "1,000", "−1,234,567"]);
        assert_eq!(["5.00", "12.50", "100", "0.0"].map(without_zeros), ["5", "12.5", "100", "0"]);
    }
}
