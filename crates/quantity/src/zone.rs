//! Local time from a time zone file (RFC 9636, `/etc/localtime`): how far it is from UTC at a moment. No I/O.

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// Ten minutes: by less a line that stands in the wrong place, as in a log of several programs, does not tell that clocks
/// were set back.
pub const DISORDER_NS: i64 = 600_000_000_000;

/// A time zone. Without one, local time is UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalZone(TimeZone);

impl Default for LocalZone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl LocalZone {
    /// A zone that is always so many seconds ahead of UTC, less than 26 hours.
    #[must_use]
    pub fn fixed(ahead_s: i64) -> Self {
        let ahead = i32::try_from(ahead_s).ok().and_then(|seconds| Offset::from_seconds(seconds).ok());
        ahead.map_or_else(Self::default, |ahead| Self(ahead.to_time_zone()))
    }

    /// Reads the bytes of a time zone file; `None` when they are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        TimeZone::tzif("", bytes).ok().map(Self)
    }

    /// Seconds that local time is ahead of UTC at a moment (seconds since 1970, UTC).
    #[must_use]
    pub fn offset_s(&self, utc_s: i64) -> i64 {
        let moment = Timestamp::from_second(utc_s).unwrap_or(if utc_s < 0 { Timestamp::MIN } else { Timestamp::MAX });
        i64::from(self.0.to_offset(moment).seconds())
    }

    /// The moment (UTC ns since 1970) at which clocks show `local_ns`: local time, counted as if it were UTC.
    ///
    /// A time that clocks show twice, as at the end of summer time, is the first of both, unless that is more than
    /// [`DISORDER_NS`] before `not_before_ns` and the second one is not. A time that they never show, as at its beginning, is taken for a clock
    /// that was not set yet: 02:30 is half an hour after 02:00, which is 03:30.
    #[must_use]
    pub fn utc_ns(&self, local_ns: i64, not_before_ns: Option<i64>) -> i64 {
        let at = |ahead: Offset| local_ns.saturating_sub(i64::from(ahead.seconds()).saturating_mul(1_000_000_000));
        let Ok(shown) = Timestamp::from_nanosecond(i128::from(local_ns)) else { return local_ns };
        match self.0.to_ambiguous_timestamp(Offset::UTC.to_datetime(shown)).offset() {
            AmbiguousOffset::Unambiguous { offset } => at(offset),
            AmbiguousOffset::Gap { before, .. } => at(before),
            AmbiguousOffset::Fold { before, after } => {
                let (first, second) = (at(before), at(after));
                let comes_after = |ns: i64, earliest: i64| ns.saturating_add(DISORDER_NS) >= earliest;
                let is_second = not_before_ns
                    .is_some_and(|earliest| !comes_after(first, earliest) && comes_after(second, earliest));
                if is_second { second } else { first }
            }
        }
    }

    /// The local day of a moment (UTC ns since 1970), as days since 1970-01-01.
    #[must_use]
    pub fn day(&self, wall_ns: i64) -> i64 {
        let utc_s = wall_ns.div_euclid(1_000_000_000);
        utc_s.saturating_add(self.offset_s(utc_s)).div_euclid(86_400)
    }
}

/// A distance from UTC as it is written behind a time: `Z`, `+02`, `+0200` or `+02:00`, in seconds ahead; `None` when it is
/// none. Hours have two digits: `+1` may be cut off.
#[must_use]
pub fn ahead_s(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => rest.split_at_checked(2)?,
        5 => rest.split_once(':')?,
        _ => return None,
    };
    let two = |text: &str, below: i64| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<i64>().ok()).flatten().filter(|value| *value < below)
    };
    Some(sign * (two(hours, 24)? * 3600 + two(minutes, 60)? * 60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::wall_ns_of;

    /// A file of version 2 with only a rule, as slim files of zones without history are.
    fn file(rule: &str) -> Vec<u8> {
        let mut block = b"TZif2".to_vec();
        block.extend([0; 15]);
        for count in [0_u32, 0, 0, 0, 1, 4] {
            block.extend(count.to_be_bytes());
        }
        block.extend([0, 0, 0, 0, 0, 0]);
        block.extend(b"UTC\0");
        let mut bytes = block.repeat(2);
        bytes.extend(format!("\n{rule}\n").bytes());
        bytes
    }

    fn hours(zone: &LocalZone, date: (i64, i64, i64), time: (i64, i64, i64)) -> i64 {
        zone.offset_s(wall_ns_of(date, time).expect("a moment") / 1_000_000_000) / 3600
    }

    #[test]
    fn summer_time_begins_and_ends() {
        let berlin = LocalZone::parse(&file("CET-1CEST,M3.5.0,M10.5.0/3")).expect("a zone");
        // 29 March and 25 October 2026, 01:00 UTC.
        assert_eq!(hours(&berlin, (2026, 3, 29), (0, 59, 59)), 1);
        assert_eq!(hours(&berlin, (2026, 3, 29), (1, 0, 0)), 2);
        assert_eq!(hours(&berlin, (2026, 10, 25), (0, 59, 59)), 2);
        assert_eq!(hours(&berlin, (2026, 10, 25), (1, 0, 0)), 1);
        let santiago = LocalZone::parse(&file("<-04>4<-03>,M9.1.6/24,M4.1.6/24")).expect("a zone");
        assert_eq!((hours(&santiago, (2026, 1, 1), (0, 0, 0)), hours(&santiago, (2026, 7, 1), (0, 0, 0))), (-3, -4));
        let kolkata = LocalZone::parse(&file("IST-5:30")).expect("a zone");
        assert_eq!(kolkata.offset_s(0), 19_800);
        let leap = LocalZone::parse(&file("AAA0BBB,J60/0,300/0")).expect("a zone");
        assert_eq!((hours(&leap, (2024, 2, 29), (12, 0, 0)), hours(&leap, (2024, 3, 1), (12, 0, 0))), (0, 1));
    }

    #[test]
    fn days_end_at_local_midnight() {
        let tokyo = LocalZone::parse(&file("JST-9")).expect("a zone");
        let at = |hour, minute| wall_ns_of((2026, 11, 20), (hour, minute, 0)).expect("a moment");
        assert_eq!(tokyo.day(at(15, 0)) - tokyo.day(at(14, 59)), 1);
        assert_eq!(LocalZone::default().day(at(15, 0)), LocalZone::default().day(at(14, 59)));
    }

    #[test]
    fn the_moment_of_a_local_time() {
        let berlin = LocalZone::parse(&file("CET-1CEST,M3.5.0,M10.5.0/3")).expect("a zone");
        let at = |day: (i64, i64, i64), hour, minute| wall_ns_of(day, (hour, minute, 0)).expect("a moment");
        let (spring, autumn) = ((2026, 3, 29), (2026, 10, 25));
        let of = |day, hour, minute| berlin.utc_ns(at(day, hour, minute), None);
        assert_eq!((of(spring, 1, 59), of(spring, 3, 0)), (at(spring, 0, 59), at(spring, 1, 0)));
        assert_eq!(of(spring, 2, 30), at(spring, 1, 30), "which clocks never show");
        assert_eq!((of(autumn, 1, 59), of(autumn, 3, 0)), (at((2026, 10, 24), 23, 59), at(autumn, 2, 0)));
        // 02:30 comes twice.
        let again = |not_before| berlin.utc_ns(at(autumn, 2, 30), Some(not_before));
        assert_eq!(of(autumn, 2, 30), at(autumn, 0, 30));
        assert_eq!((again(at(autumn, 0, 30)), again(at(autumn, 0, 41))), (at(autumn, 0, 30), at(autumn, 1, 30)));
        // Lines of a log that changed places, in both hours.
        assert_eq!((again(at(autumn, 0, 31)), again(at(autumn, 1, 31))), (at(autumn, 0, 30), at(autumn, 1, 30)));
        assert_eq!(again(at(autumn, 5, 0)), at(autumn, 0, 30), "neither is late enough");
        assert_eq!(LocalZone::fixed(-5 * 3600).utc_ns(at(spring, 2, 30), None), at(spring, 7, 30));
        assert_eq!(LocalZone::default().utc_ns(-1, Some(7)), -1);
        for seconds in (0..400 * 86_400).step_by(1800) {
            let utc_ns = at((2026, 1, 1), 0, 0) + seconds * 1_000_000_000;
            let local_ns = utc_ns + berlin.offset_s(utc_ns / 1_000_000_000) * 1_000_000_000;
            assert_eq!(berlin.utc_ns(local_ns, Some(utc_ns)), utc_ns);
        }
    }

    #[test]
    fn distances_from_utc() {
        let good = [("Z", 0), ("+00:00", 0), ("+02:00", 7200), ("-0530", -19_800), ("+14", 50_400), ("-00:30", -1800)];
        for (text, seconds) in good {
            assert_eq!(ahead_s(text), Some(seconds), "{text}");
        }
        for wrong in
            ["", "+", "+1", "1", "02:00", "+1:00", "+02:0", "+24", "+02:60", "+020", "Zulu", "z", "+02 00", "+é1", "é"]
        {
            assert_eq!(ahead_s(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_zone_file_is_none() {
        for bytes in [&b""[..], b"TZif", b"TZif2\0\0\0", &[0; 100]] {
            assert_eq!(LocalZone::parse(bytes), None);
        }
        for rule in ["CET", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "1", "C-1", "CET-1CEST,M3.5.0,M10.5.0,1"] {
            assert_eq!(LocalZone::parse(&file(rule)), None, "{rule}");
        }
        let good = file("CET-1CEST,M3.5.0,M10.5.0/3");
        for length in 0..good.len() {
            // Only without its rule is a part of a file whole.
            let _ = LocalZone::parse(&good[..length]);
        }
    }

    /// Whatever bit is flipped in a file, it is none or a zone.
    #[test]
    fn no_flipped_bit_of_a_file_is_a_panic() {
        let whole = file("CET-1CEST,M3.5.0,M10.5.0/3");
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Some(zone) = LocalZone::parse(&flipped) {
                for second in [i64::MIN, -1, 0, 1_774_746_000, i64::MAX] {
                    let _ = (zone.offset_s(second), zone.utc_ns(second, Some(0)));
                }
            }
        }
    }
}
