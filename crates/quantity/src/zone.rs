//! Local time from a time zone file (RFC 9636, `/etc/localtime`): how far it is from UTC at a moment. No I/O.

/// Ten minutes: by less a line that stands in the wrong place, as in a log of several programs, does not tell that clocks
/// were set back.
pub const DISORDER_NS: i64 = 600_000_000_000;

/// A time zone. Without one, local time is UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// From this second on (UTC since 1970), so many seconds ahead of UTC; ascending.
    steps: Vec<(i64, i64)>,
    /// Before the first step.
    before: i64,
    /// After the last one.
    rule: Option<Rule>,
}

/// What holds after the last step: a POSIX `TZ` string.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    standard: i64,
    /// Offset of summer time, its begin and its end.
    summer: Option<(i64, Change, Change)>,
}

/// A day of the year, with the local time at which the clocks are set, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    day: Day,
    at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    /// `Mm.w.d`: weekday d (0 is Sunday) of week w (5 is the last) of month m.
    Weekday(i64, i64, i64),
    /// `Jn`: 1 to 365, 29 February never counted.
    Julian(i64),
    /// `n`: 0 to 365.
    Zero(i64),
}

impl Zone {
    /// A zone that is always so many seconds ahead of UTC.
    #[must_use]
    pub fn fixed(ahead_s: i64) -> Self {
        Self { before: ahead_s, ..Self::default() }
    }

    /// Reads the bytes of a time zone file; `None` when they are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let first = Header::parse(bytes)?;
        if first.version < b'2' {
            return first.body(&bytes[Header::LENGTH..], 4).map(|(zone, _)| zone);
        }
        // The second block has 64-bit times, and behind it the rule.
        let second = bytes.get(Header::LENGTH + first.length(4)..)?;
        let header = Header::parse(second)?;
        let (mut zone, rest) = header.body(&second[Header::LENGTH..], 8)?;
        let text = std::str::from_utf8(rest).ok()?.trim_matches('\n');
        zone.rule = if text.is_empty() { None } else { Some(Rule::parse(text)?) };
        Some(zone)
    }

    /// Seconds that local time is ahead of UTC at a moment (seconds since 1970, UTC).
    #[must_use]
    pub fn offset_s(&self, utc_s: i64) -> i64 {
        let after = self.steps.partition_point(|(from, _)| *from <= utc_s);
        match (after.checked_sub(1).map(|last| self.steps[last].1), &self.rule) {
            (_, Some(rule)) if after == self.steps.len() => rule.offset_s(utc_s),
            (Some(offset), _) => offset,
            (None, _) => self.before,
        }
    }

    /// The moment (UTC ns since 1970) at which clocks show `local_ns`: local time, counted as if it were UTC.
    ///
    /// A time that clocks show twice, as at the end of summer time, is the first of both, unless that is more than
    /// [`DISORDER_NS`] before `not_before_ns` and the second one is not. A time that they never show, as at its beginning, is taken for a clock
    /// that was not set yet: 02:30 is half an hour after 02:00, which is 03:30.
    #[must_use]
    pub fn utc_ns(&self, local_ns: i64, not_before_ns: Option<i64>) -> i64 {
        let local_s = local_ns.div_euclid(1_000_000_000);
        let ahead = |utc_s: i64| self.offset_s(utc_s);
        // Zones are less than a day from UTC, and change less often than daily.
        let [before, after] = [-86_400, 86_400].map(|away| ahead(local_s.saturating_add(away)));
        let holds = |offset: i64| ahead(local_s.saturating_sub(offset)) == offset;
        let at = |offset: i64| local_ns.saturating_sub(offset.saturating_mul(1_000_000_000));
        match (holds(before), holds(after)) {
            (true, true) => {
                let (first, second) = (at(before.max(after)), at(before.min(after)));
                let comes_after = |ns: i64, earliest: i64| ns.saturating_add(DISORDER_NS) >= earliest;
                let is_second = not_before_ns
                    .is_some_and(|earliest| !comes_after(first, earliest) && comes_after(second, earliest));
                if is_second { second } else { first }
            }
            (false, true) => at(after),
            (true | false, false) => at(before),
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

struct Header {
    version: u8,
    counts: [usize; 6],
}

impl Header {
    const LENGTH: usize = 44;

    fn parse(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(..Self::LENGTH)?;
        if !head.starts_with(b"TZif") {
            return None;
        }
        let mut counts = [0; 6];
        for (count, word) in counts.iter_mut().zip(head[20..].chunks(4)) {
            *count =
                usize::try_from(u32::from_be_bytes(word.try_into().ok()?)).ok().filter(|count| *count < 1 << 20)?;
        }
        Some(Self { version: head[4], counts })
    }

    /// isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt.
    fn length(&self, time: usize) -> usize {
        let [utc, standard, leap, times, types, characters] = self.counts;
        times * (time + 1) + types * 6 + characters + leap * (time + 4) + standard + utc
    }

    fn body<'a>(&self, bytes: &'a [u8], width: usize) -> Option<(Zone, &'a [u8])> {
        let [_, _, _, times, types, _] = self.counts;
        let rest = bytes.get(self.length(width)..)?;
        let (moments, more) = bytes.split_at_checked(times * width)?;
        let (kinds, more) = more.split_at_checked(times)?;
        let offsets: Vec<i64> = more
            .get(..types * 6)?
            .chunks(6)
            .map(|kind| i64::from(i32::from_be_bytes([kind[0], kind[1], kind[2], kind[3]])))
            .collect();
        let moment = |bytes: &[u8]| match width {
            8 => bytes.try_into().ok().map(i64::from_be_bytes),
            _ => bytes.try_into().ok().map(|word| i64::from(i32::from_be_bytes(word))),
        };
        let mut steps = Vec::with_capacity(times);
        for (bytes, kind) in moments.chunks(width).zip(kinds) {
            steps.push((moment(bytes)?, *offsets.get(usize::from(*kind))?));
        }
        steps.is_sorted().then_some(())?;
        Some((Zone { before: *offsets.first()?, steps, rule: None }, rest))
    }
}

impl Rule {
    /// `CET-1CEST,M3.5.0,M10.5.0/3`; names may stand in angle brackets.
    fn parse(text: &str) -> Option<Self> {
        let rest = skip_name(text)?;
        let (standard, rest) = offset(rest)?;
        // West is positive there.
        let standard = -standard;
        if rest.is_empty() {
            return Some(Self { standard, summer: None });
        }
        let rest = skip_name(rest)?;
        let (summer, rest) = if rest.starts_with(',') {
            (standard + 3600, rest)
        } else {
            let (summer, rest) = offset(rest)?;
            (-summer, rest)
        };
        let mut changes = rest.strip_prefix(',')?.split(',').map(Change::parse);
        let summer = Some((summer, changes.next()??, changes.next()??));
        changes.next().is_none().then_some(Self { standard, summer })
    }

    fn offset_s(&self, utc_s: i64) -> i64 {
        let Some((summer, begins, ends)) = self.summer else { return self.standard };
        let year = crate::text::civil(utc_s.saturating_add(self.standard).saturating_mul(1_000_000_000)).0.0;
        // Each end is told on the clock that runs before it.
        let (from, to) = (begins.moment(year) - self.standard, ends.moment(year) - summer);
        let is_summer = if from < to { (from..to).contains(&utc_s) } else { !(to..from).contains(&utc_s) };
        if is_summer { summer } else { self.standard }
    }
}

impl Change {
    fn parse(text: &str) -> Option<Self> {
        let (day, at) = text.split_once('/').unwrap_or((text, "2"));
        let (at, rest) = offset(at)?;
        let number = |text: &str| text.parse::<i64>().ok();
        let day = if let Some(parts) = day.strip_prefix('M') {
            let mut parts = parts.split('.').map(number);
            let (month, week, weekday) = (parts.next()??, parts.next()??, parts.next()??);
            let good = (1..=12).contains(&month) && (1..=5).contains(&week) && (0..=6).contains(&weekday);
            good.then_some(Day::Weekday(month, week, weekday))?
        } else if let Some(day) = day.strip_prefix('J') {
            Day::Julian(number(day).filter(|day| (1..=365).contains(day))?)
        } else {
            Day::Zero(number(day).filter(|day| (0..=365).contains(day))?)
        };
        rest.is_empty().then_some(Self { day, at })
    }

    /// Local seconds since 1970 at which it comes in a year.
    fn moment(self, year: i64) -> i64 {
        let days = |month: i64, day: i64| {
            crate::text::wall_ns_of((year, month, day), (0, 0, 0)).map_or(0, |ns| ns / 86_400_000_000_000)
        };
        let day = match self.day {
            Day::Weekday(month, week, weekday) => {
                let first = days(month, 1);
                // 1970-01-01 was a Thursday.
                let to_weekday = (weekday - (first + 4)).rem_euclid(7);
                let next = if month == 12 { days(12, 31) + 1 } else { days(month + 1, 1) };
                let wanted = first + to_weekday + 7 * (week - 1);
                if wanted < next { wanted } else { wanted - 7 }
            }
            Day::Julian(day) => {
                let is_leap = days(3, 1) - days(2, 1) == 29;
                days(1, 1) + day - 1 + i64::from(is_leap && day >= 60)
            }
            Day::Zero(day) => days(1, 1) + day,
        };
        day * 86_400 + self.at
    }
}

/// Behind the name of a zone.
fn skip_name(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('<') {
        return rest.split_once('>').map(|(_, rest)| rest);
    }
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    (end >= 3).then(|| &text[end..])
}

/// `[+-]hh[:mm[:ss]]` as seconds, and what is behind it.
fn offset(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-:".contains(c))).unwrap_or(text.len());
    let (told, rest) = text.split_at(end);
    let sign = if told.starts_with('-') { -1 } else { 1 };
    let mut seconds = 0;
    let mut count = 0;
    for (part, unit) in told.trim_start_matches(['+', '-']).split(':').zip([3600, 60, 1]) {
        seconds += part.parse::<i64>().ok().filter(|part| *part <= 167)? * unit;
        count += 1;
    }
    (count > 0).then_some((sign * seconds, rest))
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

    fn hours(zone: &Zone, date: (i64, i64, i64), time: (i64, i64, i64)) -> i64 {
        zone.offset_s(wall_ns_of(date, time).expect("a moment") / 1_000_000_000) / 3600
    }

    #[test]
    fn summer_time_begins_and_ends() {
        let berlin = Zone::parse(&file("CET-1CEST,M3.5.0,M10.5.0/3")).expect("a zone");
        // 29 March and 25 October 2026, 01:00 UTC.
        assert_eq!(hours(&berlin, (2026, 3, 29), (0, 59, 59)), 1);
        assert_eq!(hours(&berlin, (2026, 3, 29), (1, 0, 0)), 2);
        assert_eq!(hours(&berlin, (2026, 10, 25), (0, 59, 59)), 2);
        assert_eq!(hours(&berlin, (2026, 10, 25), (1, 0, 0)), 1);
        let santiago = Zone::parse(&file("<-04>4<-03>,M9.1.6/24,M4.1.6/24")).expect("a zone");
        assert_eq!((hours(&santiago, (2026, 1, 1), (0, 0, 0)), hours(&santiago, (2026, 7, 1), (0, 0, 0))), (-3, -4));
        let kolkata = Zone::parse(&file("IST-5:30")).expect("a zone");
        assert_eq!(kolkata.offset_s(0), 19_800);
        let leap = Zone::parse(&file("AAA0BBB,J60/0,300/0")).expect("a zone");
        assert_eq!((hours(&leap, (2024, 2, 29), (12, 0, 0)), hours(&leap, (2024, 3, 1), (12, 0, 0))), (0, 1));
    }

    #[test]
    fn days_end_at_local_midnight() {
        let tokyo = Zone::parse(&file("JST-9")).expect("a zone");
        let at = |hour, minute| wall_ns_of((2026, 11, 20), (hour, minute, 0)).expect("a moment");
        assert_eq!(tokyo.day(at(15, 0)) - tokyo.day(at(14, 59)), 1);
        assert_eq!(Zone::default().day(at(15, 0)), Zone::default().day(at(14, 59)));
    }

    #[test]
    fn the_moment_of_a_local_time() {
        let berlin = Zone::parse(&file("CET-1CEST,M3.5.0,M10.5.0/3")).expect("a zone");
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
        assert_eq!(Zone::fixed(-5 * 3600).utc_ns(at(spring, 2, 30), None), at(spring, 7, 30));
        assert_eq!(Zone::default().utc_ns(-1, Some(7)), -1);
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
            assert_eq!(Zone::parse(bytes), None);
        }
        for rule in ["CET", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "1", "C-1", "CET-1CEST,M3.5.0,M10.5.0,1"] {
            assert_eq!(Zone::parse(&file(rule)), None, "{rule}");
        }
        let good = file("CET-1CEST,M3.5.0,M10.5.0/3");
        for length in 0..good.len() {
            // Only without its rule is a part of a file whole.
            let _ = Zone::parse(&good[..length]);
        }
    }
}
