//! Units of a condition's numbers: what may be compared with what.

use view::Unit;

/// Powers of seconds, operations and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    seconds: i8,
    operations: i8,
    bytes: i8,
    /// A fraction that people read as per cent.
    percent: bool,
}

impl Dimension {
    pub(super) const NUMBER: Self = Self { seconds: 0, operations: 0, bytes: 0, percent: false };
    /// Held in ns.
    pub(super) const TIME: Self = Self { seconds: 1, ..Self::NUMBER };
    pub(super) const OPERATIONS: Self = Self { operations: 1, ..Self::NUMBER };
    pub(super) const BYTES: Self = Self { bytes: 1, ..Self::NUMBER };
    pub(super) const RATE: Self = Self { seconds: -1, ..Self::OPERATIONS };
    pub(super) const BYTE_RATE: Self = Self { seconds: -1, ..Self::BYTES };
    /// Held as a fraction.
    pub(super) const PERCENT: Self = Self { percent: true, ..Self::NUMBER };

    /// Is it a number without a unit, per cent or not?
    pub(super) fn is_plain(self) -> bool {
        self.without_percent() == Self::NUMBER
    }

    pub(super) fn is_percent(self) -> bool {
        self.percent
    }

    fn without_percent(self) -> Self {
        Self { percent: false, ..self }
    }

    /// Dimension of a product; `None` when the product has no meaning.
    pub(super) fn times(self, other: Self) -> Option<Self> {
        self.combined(other, 1)
    }

    /// Of a quotient.
    pub(super) fn over(self, other: Self) -> Option<Self> {
        self.combined(other, -1)
    }

    fn combined(self, other: Self, sign: i8) -> Option<Self> {
        let result = Self {
            seconds: self.seconds + sign * other.seconds,
            operations: self.operations + sign * other.operations,
            bytes: self.bytes + sign * other.bytes,
            // A multiple of a share is a share; a share of anything else is that.
            percent: self.percent && other == Self::NUMBER || other.percent && self == Self::NUMBER && sign > 0,
        };
        // Bytes per operation are read as a size.
        if (result.seconds, result.operations, result.bytes) == (0, -1, 1) {
            return Some(Self::BYTES);
        }
        let known = [Self::NUMBER, Self::TIME, Self::OPERATIONS, Self::BYTES, Self::RATE, Self::BYTE_RATE];
        known.contains(&result.without_percent()).then_some(result)
    }

    /// The factor that a product or quotient needs because times are held in ns and rates per second.
    pub(super) fn scale_of_product(self, other: Self, divide: bool) -> f64 {
        let nanos = |dimension: Self| i32::from(dimension.seconds == 1);
        let sign = if divide { -1 } else { 1 };
        let held = nanos(self) + sign * nanos(other);
        let seconds = self.seconds + if divide { -other.seconds } else { other.seconds };
        // What is left of the powers of 1e9 beyond those that the result is held in.
        1e-9_f64.powi(held - i32::from(seconds == 1))
    }

    /// What may stand beside it in a comparison, a sum or a difference.
    pub(super) fn fits(self, other: Self) -> bool {
        let (a, b) = (self.without_percent(), other.without_percent());
        let counts = |dimension: Self| dimension == Self::NUMBER;
        // Counts and rates need no unit to be understood; times do, and shares a `%`.
        a == b || (counts(a) && b != Self::TIME) || (counts(b) && a != Self::TIME)
    }

    /// Of a sum of two that fit.
    pub(super) fn joined(self, other: Self) -> Self {
        if self.without_percent() == Self::NUMBER && !self.percent { other } else { self }
    }

    /// For documents and messages.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::TIME => "time",
            Self::OPERATIONS => "operations",
            Self::BYTES => "bytes",
            Self::RATE => "op/s",
            Self::BYTE_RATE => "B/s",
            Self::PERCENT => "%",
            _ => "number",
        }
    }

    /// An example of a number with its unit.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::TIME => "500us, 5ms, 2s",
            Self::BYTES => "64KiB, 1GB",
            Self::RATE => "20000, 20k",
            Self::BYTE_RATE => "500MB/s, 1GiB/s",
            Self::PERCENT => "70%",
            _ => "100, 20k",
        }
    }

    /// The number as people read it.
    pub(super) fn format(self, value: f64) -> String {
        let (unit, value) = match self {
            Self::TIME => (Unit::Nanoseconds, value),
            Self::OPERATIONS => (Unit::Count, value),
            Self::BYTES => (Unit::Bytes, value),
            Self::RATE => (Unit::OpsPerSecond, value),
            Self::BYTE_RATE => (Unit::BytesPerSecond, value),
            Self::PERCENT => (Unit::Percent, value * 100.0),
            _ => (Unit::Count, value),
        };
        unit.format(Some(value))
    }
}

/// Units that may follow a number: text, factor, dimension. The longest that fits is taken.
static UNITS: [(&str, f64, Dimension); 13] = [
    ("ns", 1.0, Dimension::TIME),
    ("us", 1e3, Dimension::TIME),
    ("µs", 1e3, Dimension::TIME),
    ("ms", 1e6, Dimension::TIME),
    ("s", 1e9, Dimension::TIME),
    ("min", 60e9, Dimension::TIME),
    ("m", 60e9, Dimension::TIME),
    ("h", 3600e9, Dimension::TIME),
    ("d", 86_400e9, Dimension::TIME),
    ("%", 0.01, Dimension::PERCENT),
    ("", 1.0, Dimension::NUMBER),
    ("op/s", 1.0, Dimension::RATE),
    ("/s", 1.0, Dimension::RATE),
];

/// Factor and dimension of a unit as written behind a number; `None` when there is no such unit.
pub(super) fn unit(text: &str) -> Option<(f64, Dimension)> {
    if let Some((_, factor, dimension)) = UNITS.iter().find(|(name, ..)| *name == text) {
        return Some((*factor, *dimension));
    }
    let prefixes = [
        ("Ki", 1024.0),
        ("Mi", 1024.0 * 1024.0),
        ("Gi", 1024.0_f64.powi(3)),
        ("Ti", 1024.0_f64.powi(4)),
        ("k", 1e3),
        ("K", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("", 1.0),
    ];
    prefixes.iter().find_map(|(prefix, factor)| {
        let dimension = match text.strip_prefix(prefix)? {
            "" => Dimension::NUMBER,
            "B" => Dimension::BYTES,
            "B/s" | "Bps" => Dimension::BYTE_RATE,
            "op/s" | "/s" | "IOPS" | "iops" => Dimension::RATE,
            _ => return None,
        };
        Some((*factor, dimension))
    })
}

#[cfg(test)]
mod tests {
    use super::{Dimension, unit};

    #[test]
    fn units_are_read() {
        for (text, expect) in [
            ("ms", Some((1e6, Dimension::TIME))),
            ("m", Some((60e9, Dimension::TIME))),
            ("M", Some((1e6, Dimension::NUMBER))),
            ("MB/s", Some((1e6, Dimension::BYTE_RATE))),
            ("KiB", Some((1024.0, Dimension::BYTES))),
            ("kIOPS", Some((1e3, Dimension::RATE))),
            ("%", Some((0.01, Dimension::PERCENT))),
            ("parsec", None),
        ] {
            assert_eq!(unit(text), expect, "{text}");
        }
    }

    #[test]
    fn a_rate_times_a_time_is_a_count() {
        assert_eq!(Dimension::RATE.times(Dimension::TIME), Some(Dimension::OPERATIONS));
        // 100/s × 2 s = 200.
        assert_eq!((100.0 * 2e9 * Dimension::RATE.scale_of_product(Dimension::TIME, false)).round(), 200.0);
        // 200 ÷ 2 s = 100/s.
        assert_eq!((200.0 / 2e9 * Dimension::OPERATIONS.scale_of_product(Dimension::TIME, true)).round(), 100.0);
        assert_eq!(4e9 / 2e9 * Dimension::TIME.scale_of_product(Dimension::TIME, true), 2.0);
        assert_eq!(3.0 * 2e9 * Dimension::NUMBER.scale_of_product(Dimension::TIME, false), 6e9);
        assert_eq!(Dimension::TIME.times(Dimension::TIME), None);
    }
}
