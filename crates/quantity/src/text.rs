//! Text forms of durations, sizes, rates and counts: always with their unit.

use crate::figures::{DecimalPlaces, UnitScale, long_time};
use std::borrow::Cow;

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a number with a known unit.
    #[error("`{text}` is not {what}")]
    Malformed {
        /// What was written.
        text: String,
        /// What was expected, with an example.
        what: &'static str,
    },
    /// Too large to be held.
    #[error("`{0}` is too large")]
    TooLarge(String),
}

/// A word as a shell takes it: in quotes, unless all its characters are plain.
#[must_use]
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:,=%+@".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")).into(),
    }
}

/// A field of CSV, in quotes where it needs them (RFC 4180).
#[must_use]
pub fn csv_field(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))),
        false => Cow::Borrowed(text),
    }
}

/// Splits a number from what follows it.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

fn scaled(text: &str, number: f64, factor: f64) -> Result<u64, QuantityError> {
    let value = number * factor;
    if !(0.0..9.0e18).contains(&value) {
        return Err(QuantityError::TooLarge(text.to_string()));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
    Ok(value.round() as u64)
}

/// Nanoseconds of `500us`, `10ms`, `30s`, `5m`, `2h`, `1d`; a bare number means `bare` nanoseconds each.
fn duration(text: &str, bare: f64) -> Result<u64, QuantityError> {
    let malformed =
        || QuantityError::Malformed { text: text.to_string(), what: "a time such as 500us, 10ms, 30s, 5m, 2h" };
    let (number, unit) = split(text).ok_or_else(malformed)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" => bare,
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "d" => 86_400e9,
        _ => return Err(malformed()),
    };
    scaled(text, number, factor)
}

/// Nanoseconds of a time with its unit; a bare number is seconds.
///
/// # Errors
/// Another text.
pub fn parse_duration_s(text: &str) -> Result<u64, QuantityError> {
    duration(text, 1e9)
}

/// Bytes of `4096`, `4k`, `4Ki`, `4KiB`, `1g`: k, m, g, t are powers of 1024, as storage tools have it; `kB`, `MB`,
/// `GB`, `TB` are powers of 1000.
///
/// # Errors
/// Another text.
pub fn parse_bytes(text: &str) -> Result<u64, QuantityError> {
    let malformed = || QuantityError::Malformed { text: text.to_string(), what: "a size such as 512, 4k, 1MiB, 2g" };
    let (number, unit) = split(text).ok_or_else(malformed)?;
    let factor = match unit {
        "" | "b" | "B" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        _ => match unit.to_ascii_lowercase().as_str() {
            "k" | "ki" | "kib" | "kb" => 1024.0,
            "m" | "mi" | "mib" | "mb" => 1_048_576.0,
            "g" | "gi" | "gib" | "gb" => 1_073_741_824.0,
            "t" | "ti" | "tib" | "tb" => 1_099_511_627_776.0,
            _ => return Err(malformed()),
        },
    };
    scaled(text, number, factor)
}

/// A time: `850 ns`, `1.23 µs`, `45.6 ms`, `2.50 s`, `1 min 30 s`, `2 h 5 min`.
#[must_use]
pub fn format_ns(ns: u64) -> String {
    if ns >= 59_950_000_000 {
        return long_time(ns.saturating_add(500_000_000) / 1_000_000_000, true);
    }
    match UnitScale::TIME.of(ns as f64) {
        (_, "ns") => format!("{ns} ns"),
        (value, unit) => format!("{} {unit}", DecimalPlaces::THREE.format(value)),
    }
}

/// A size in binary units: `512 B`, `4.00 KiB`, `1.50 GiB`.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (value, unit) = UnitScale::BINARY_BYTES.of(bytes as f64);
    if value.fract() == 0.0 {
        format!("{value} {unit}")
    } else {
        format!("{} {unit}", DecimalPlaces::THREE.format(value))
    }
}

/// A number in decimal units: `950`, `20.1 k`, `1.25 M`.
#[must_use]
pub fn format_count(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_string();
    }
    match UnitScale::DECIMAL.of(value) {
        (value, "") if value.fract() == 0.0 => format!("{value:.0}"),
        (value, "") => DecimalPlaces::THREE.format(value),
        (value, prefix) => format!("{} {prefix}", DecimalPlaces::THREE.format(value)),
    }
}

/// Bytes per second in decimal megabytes, as the field quotes it: `812 MB/s`.
#[must_use]
pub fn format_throughput(bytes_per_second: f64) -> String {
    if !bytes_per_second.is_finite() {
        return "?".to_string();
    }
    let (value, unit) = match bytes_per_second {
        0.0 => (0.0, "MB/s"),
        some if some >= 999.5e6 => (some / 1e9, "GB/s"),
        some if some >= 999.5e3 => (some / 1e6, "MB/s"),
        little => (little / 1e3, "kB/s"),
    };
    format!("{} {unit}", DecimalPlaces::THREE.format(value))
}

/// UTC date and time of nanoseconds since 1970, fit for a file name: `2026-11-20T10-44-07`.
#[must_use]
pub fn format_stamp(wall_ns: i64) -> String {
    let (date, time) = civil(wall_ns);
    format!("{:04}-{:02}-{:02}T{:02}-{:02}-{:02}", date.0, date.1, date.2, time.0, time.1, time.2)
}

/// UTC date and time of nanoseconds since 1970, for people: `2026-11-20 10:44:07 UTC`.
#[must_use]
pub fn format_wall(wall_ns: i64) -> String {
    let (date, time) = civil(wall_ns);
    format!("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", date.0, date.1, date.2, time.0, time.1, time.2)
}

/// `((year, month, day), (hour, minute, second))` of UTC, by the days-to-civil algorithm for the proleptic Gregorian
/// calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
#[must_use]
pub fn civil(wall_ns: i64) -> ((i64, i64, i64), (i64, i64, i64)) {
    let seconds = wall_ns.div_euclid(1_000_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    ((year, month, day), (second / 3600, second / 60 % 60, second % 60))
}

/// Nanoseconds since 1970 of a UTC date and time, the inverse of [`civil`]; `None` when there is no such moment.
#[must_use]
pub fn wall_ns_of((year, month, day): (i64, i64, i64), (hour, minute, second): (i64, i64, i64)) -> Option<i64> {
    let known = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second)
        && (1678..=2261).contains(&year);
    if !known {
        return None;
    }
    let shifted = year - i64::from(month <= 2);
    let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let wall_ns = (((days * 24 + hour) * 60 + minute) * 60 + second).checked_mul(1_000_000_000)?;
    // The 31st of a shorter month is another day than was written.
    (civil(wall_ns).0 == (year, month, day) || second == 60).then_some(wall_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_take_words_whole() {
        let words = [
            ("a-b_c.1/x:y,z=%+@", "a-b_c.1/x:y,z=%+@"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$x", "'$x'"),
        ];
        for (word, expected) in words {
            assert_eq!(shell_word(word), expected);
        }
    }

    #[test]
    fn a_field_with_a_separator_or_an_end_of_line_is_quoted() {
        for (text, field) in [
            ("sda; b", "sda; b"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
            ("a\rb", "\"a\rb\""),
            ("", ""),
        ] {
            assert_eq!(csv_field(text), field);
        }
    }

    #[test]
    fn times_are_read_and_written() {
        for (text, ns) in [
            ("30", 30_000_000_000),
            ("1.5s", 1_500_000_000),
            ("10ms", 10_000_000),
            ("2h", 7_200_000_000_000),
            ("500us", 500_000),
        ] {
            assert_eq!(parse_duration_s(text), Ok(ns), "{text}");
        }
        for bad in ["", "s", "-3", "3x", "1e400", "99999999999h"] {
            assert!(parse_duration_s(bad).is_err(), "{bad}");
        }
        for (ns, text) in [
            (850, "850 ns"),
            (1_234, "1.23 µs"),
            (9_999, "10.0 µs"),
            (999_600, "1.00 ms"),
            (45_600_000, "45.6 ms"),
            (2_500_000_000, "2.50 s"),
            (59_990_000_000, "1 min"),
            (90_000_000_000, "1 min 30 s"),
            (7_500_000_000_000, "2 h 5 min"),
        ] {
            assert_eq!(format_ns(ns), text);
        }
    }

    #[test]
    fn sizes_and_rates_are_read_and_written() {
        for (text, bytes) in [("512", 512), ("4k", 4096), ("1MiB", 1 << 20), ("2g", 2 << 30), ("1MB", 1_000_000)] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        assert!(parse_bytes("4x").is_err());
        assert_eq!(format_bytes(4096), "4 KiB");
        assert_eq!(format_bytes(1_610_612_736), "1.50 GiB");
        assert_eq!(format_count(20_123.0), "20.1 k");
        assert_eq!(format_count(999.7), "1.00 k");
        assert_eq!(format_throughput(812_000_000.0), "812 MB/s");
    }

    #[test]
    fn dates_are_right_over_leap_years() {
        assert_eq!(format_stamp(0), "1970-01-01T00-00-00");
        assert_eq!(format_stamp(951_782_400_000_000_000), "2000-02-29T00-00-00");
        for seconds in (-5_000_000_000..9_000_000_000_i64).step_by(12_345_677) {
            let (date, time) = civil(seconds * 1_000_000_000);
            assert_eq!(wall_ns_of(date, time), Some(seconds * 1_000_000_000));
        }
        assert_eq!(wall_ns_of((2023, 2, 29), (0, 0, 0)), None);
        assert_eq!(format_wall(1_795_171_447_000_000_000), "2026-11-20 10:44:07 UTC");
    }
}
