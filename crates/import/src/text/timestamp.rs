//! Times as tools print them: of day, of the year, or not at all; over midnight, and through clocks that were set back.

use quantity::text::wall_ns_of;
use quantity::zone::{LocalZone, ahead_s};
use std::rc::Rc;

pub(super) const SECOND_NS: i64 = 1_000_000_000;
pub(super) const DAY_NS: i64 = 86_400 * SECOND_NS;
/// A time of day that is earlier than the one before by more than this is that of another day; by less, the clock was set
/// back (the end of daylight saving time is the most that does so).
const SET_BACK_NS: i64 = 3_700 * SECOND_NS;

/// When something was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// ns since midnight.
    OfDay(i64),
    /// UTC ns since 1970.
    Wall(i64),
    /// Date and time without a zone, as if in UTC, ns since 1970; and so long before.
    Local(i64, i64),
    /// The tool printed no time: one interval after the block before.
    Next,
}

/// What the times of a section are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Epoch {
    /// Numbers of samples.
    #[default]
    Sample,
    /// ns since the midnight before the first.
    Day,
    /// ns since 1970, UTC.
    Wall,
}

/// Brings times into order.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    pub(super) epoch: Epoch,
    /// What local times are of; `None`: they are taken for UTC.
    zone: Option<Rc<LocalZone>>,
    last: Option<i64>,
    /// Whole days, and what the clock was set back by.
    shift_ns: i64,
    /// How often the clock was set back.
    pub(super) set_back: u32,
    /// From this time on, all that it was set back by until then.
    set_back_ns: Vec<(i64, i64)>,
}

impl Timeline {
    /// Of local times in this zone.
    pub(super) fn of_zone(zone: Option<&Rc<LocalZone>>) -> Self {
        Self { zone: zone.cloned(), ..Self::default() }
    }

    /// The time on this timeline. The first one decides what it is counted from; a time of another kind is the next one.
    pub(super) fn at(&mut self, when: When) -> i64 {
        let (epoch, value) = match when {
            When::OfDay(ns) => (Epoch::Day, ns),
            When::Wall(ns) => (Epoch::Wall, ns),
            When::Local(ns, before_ns) => {
                let last = self.last.filter(|_| self.epoch == Epoch::Wall);
                let utc_ns = self.zone.as_ref().map_or(ns, |zone| zone.utc_ns(ns, last));
                (Epoch::Wall, utc_ns.saturating_sub(before_ns))
            }
            When::Next => (Epoch::Sample, self.last.map_or(0, |last| last.saturating_add(1))),
        };
        if self.last.is_none() {
            self.epoch = epoch;
        }
        let at = match (self.epoch, epoch) {
            (Epoch::Day, Epoch::Day) => self.of_day(value),
            (mine, given) if mine == given => value,
            (Epoch::Sample, _) => self.last.map_or(0, |last| last.saturating_add(1)),
            _ => self.last.map_or(value, |last| last.saturating_add(SECOND_NS)),
        };
        self.last = Some(at);
        at
    }

    fn of_day(&mut self, ns: i64) -> i64 {
        let at = ns.saturating_add(self.shift_ns);
        let Some(last) = self.last.filter(|last| at < *last) else { return at };
        let back_ns = last - at;
        if back_ns <= SET_BACK_NS {
            self.set_back += 1;
            // Goes on where it was; how long the interval was is not known.
            self.shift_ns = self.shift_ns.saturating_add(back_ns + SECOND_NS);
            let before = self.set_back_ns.last().map_or(0, |(_, ns)| *ns);
            self.set_back_ns.push((ns.saturating_add(self.shift_ns), before.saturating_add(back_ns + SECOND_NS)));
        } else {
            self.shift_ns = self.shift_ns.saturating_add((back_ns / DAY_NS + 1).saturating_mul(DAY_NS));
        }
        ns.saturating_add(self.shift_ns)
    }

    /// Times on this timeline, counted from a local midnight, as UTC; and how often the clock was set back for another reason
    /// than the zone's.
    pub(super) fn of_days(&self, day_ns: i64, times: impl Iterator<Item = i64>, zone: &LocalZone) -> (Vec<i64>, u32) {
        let (mut found, mut known_ns, mut unexplained_ns, mut set_back) = (Vec::<i64>::new(), 0, 0, 0);
        for at in times {
            let back_ns = self.set_back_ns.iter().rev().find(|(from, _)| *from <= at).map_or(0, |(_, ns)| *ns);
            let last = found.last().copied();
            let utc = |unexplained_ns: i64| {
                let shown = day_ns.saturating_add(at).saturating_sub(back_ns).saturating_add(unexplained_ns);
                zone.utc_ns(shown, last)
            };
            let mut utc_ns = utc(unexplained_ns);
            if back_ns > known_ns && last.is_some_and(|last| utc_ns <= last) {
                // Goes on where it was, as without a zone.
                unexplained_ns += back_ns - known_ns;
                set_back += 1;
                utc_ns = utc(unexplained_ns);
            }
            known_ns = back_ns;
            found.push(utc_ns);
        }
        (found, set_back)
    }
}

/// Day (UTC midnight) and time of day, with a distance from UTC behind the time or none.
pub(super) fn at(day_ns: i64, time: &str) -> Option<When> {
    let zone = time.find(['+', '-', 'Z']).unwrap_or(time.len());
    let ns = day_ns.checked_add(of_day(time.get(..zone)?, None)?)?;
    let zone = &time[zone..];
    if zone.is_empty() {
        Some(When::Local(ns, 0))
    } else {
        Some(When::Wall(ns.saturating_sub(ahead_s(zone)? * SECOND_NS)))
    }
}

/// `HH:MM:SS`, with fractions or `AM`/`PM` behind it as `half`; ns since midnight.
pub(super) fn of_day(text: &str, half: Option<&str>) -> Option<i64> {
    let mut parts = text.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let two = |text: &str| {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<i64>().ok()).flatten()
    };
    let (whole, fraction) = second.split_once('.').unwrap_or((second, ""));
    if parts.next().is_some() || fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
    let hour = match (two(hour)?, half) {
        (12, Some("AM")) => 0,
        (hour @ 1..=11, Some("PM")) => hour + 12,
        (hour, Some("AM" | "PM") | None) => hour,
        _ => return None,
    };
    let (minute, second) = (two(minute)?, two(whole)?);
    ((0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second))
        .then(|| ((hour * 60 + minute) * 60 + second) * SECOND_NS + fraction)
}

/// Days that a date may mean, as UTC midnights: one, or two when month and day can be mistaken for each other.
pub(super) fn dates(text: &str) -> Vec<i64> {
    let numbers: Option<Vec<i64>> = text.split(['-', '/', '.']).map(|part| part.parse::<i64>().ok()).collect();
    let Some([a, b, c]) = numbers.as_deref().and_then(|numbers| <[i64; 3]>::try_from(numbers).ok()) else {
        return Vec::new();
    };
    let midnight = |year: i64, month: i64, day: i64| wall_ns_of((year, month, day), (0, 0, 0));
    if text.find(['-', '/', '.']) == Some(4) {
        return midnight(a, b, c).into_iter().collect();
    }
    let year = if c < 100 { 2000 + c } else { c };
    // With dots, the day stands first; with strokes that is so in some countries.
    let month_first = if text.contains('.') { None } else { midnight(year, a, b) };
    let mut found: Vec<i64> = month_first.into_iter().chain(midnight(year, b, a)).collect();
    found.dedup();
    found
}

/// Month of a name.
pub(super) fn month(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    (1..).zip(MONTHS).find(|(_, name)| *name == text).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day() {
        assert_eq!(of_day("10:27:19", None), Some(37_639 * SECOND_NS));
        assert_eq!(of_day("12:00:01", Some("AM")), Some(SECOND_NS));
        assert_eq!(of_day("01:00:00", Some("PM")), Some(13 * 3600 * SECOND_NS));
        assert_eq!(of_day("00:00:01.5", None), Some(1_500_000_000));
        for wrong in ["24:00:00", "1:2", "1:2:3:4", "a:b:c", "10:61:00", "-1:00:00", "", "1:1:1.x"] {
            assert_eq!(of_day(wrong, None), None, "{wrong}");
        }
    }

    #[test]
    fn dates_in_one_or_two_ways() {
        let day = |year, month, day| wall_ns_of((year, month, day), (0, 0, 0)).expect("a day");
        assert_eq!(dates("11/20/26"), [day(2026, 11, 20)]);
        assert_eq!(dates("2026-11-20"), [day(2026, 11, 20)]);
        assert_eq!(dates("20.11.2026"), [day(2026, 11, 20)]);
        assert_eq!(dates("03/04/26"), [day(2026, 3, 4), day(2026, 4, 3)]);
        assert!(dates("13/13/26").is_empty() && dates("x").is_empty());
    }

    #[test]
    fn midnight_and_clocks_set_back() {
        let mut line = Timeline::default();
        let hour = 3600 * SECOND_NS;
        assert_eq!(line.at(When::OfDay(23 * hour)), 23 * hour);
        assert_eq!(line.at(When::OfDay(0)), 24 * hour);
        // Summer time ends: 02:59:59 is followed by 02:00:00.
        assert_eq!(line.at(When::OfDay(3 * hour - SECOND_NS)), 27 * hour - SECOND_NS);
        assert_eq!(line.at(When::OfDay(2 * hour)), 27 * hour);
        assert_eq!(line.at(When::OfDay(2 * hour + SECOND_NS)), 27 * hour + SECOND_NS);
        assert_eq!(line.set_back, 1);
        assert_eq!(Timeline::default().at(When::Next), 0);
    }

    #[test]
    fn distances_from_utc_behind_times() {
        let hour = 3600 * SECOND_NS;
        assert_eq!(at(0, "10:00:00"), Some(When::Local(10 * hour, 0)));
        assert_eq!(at(0, "10:00:00.5+02:00"), Some(When::Wall(8 * hour + SECOND_NS / 2)));
        assert_eq!(
            (at(DAY_NS, "10:00:00-0100"), at(0, "10:00:00Z")),
            (Some(When::Wall(DAY_NS + 11 * hour)), Some(When::Wall(10 * hour)))
        );
        for wrong in ["10:00:00+1", "10:00:00+", "10:00:00 +01:00", "10:00+01:00", "10:00:00Zulu", ""] {
            assert_eq!(at(0, wrong), None, "{wrong}");
        }
    }

    /// From noon of UTC on an hour that clocks show twice.
    fn noon_twice() -> LocalZone {
        // A file of version 1 with one step and two kinds of time: one hour ahead, then none.
        let mut bytes = b"TZif\0".to_vec();
        bytes.extend([0; 15]);
        [0_u32, 0, 0, 1, 2, 4].iter().for_each(|count| bytes.extend(count.to_be_bytes()));
        bytes.extend((12_i32 * 3600).to_be_bytes());
        bytes.extend([1]);
        bytes.extend([0, 0, 0x0e, 0x10, 1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(b"ABC\0");
        LocalZone::parse(&bytes).expect("a zone")
    }

    #[test]
    fn an_hour_that_comes_twice() {
        let zone = Rc::new(noon_twice());
        let minute = 60 * SECOND_NS;
        let shown = [12 * 60, 12 * 60 + 30, 12 * 60, 12 * 60 + 30, 13 * 60].map(|at| at * minute);
        let is = [11 * 60, 11 * 60 + 30, 12 * 60, 12 * 60 + 30, 13 * 60].map(|at| at * minute);
        let mut line = Timeline::of_zone(Some(&zone));
        assert_eq!(shown.map(|ns| line.at(When::Local(ns, 0))), is);
        let mut since = Timeline::of_zone(Some(&zone));
        assert_eq!(
            since.at(When::Local(13 * 60 * minute, 90 * minute)),
            (11 * 60 + 30) * minute,
            "the length is of time"
        );
        // Of day; and the clock is set back once more, for which there is no reason.
        let mut line = Timeline::of_zone(Some(&zone));
        let at: Vec<i64> =
            shown.iter().chain(&[12 * 60 * minute + minute]).map(|ns| line.at(When::OfDay(*ns))).collect();
        let (times, set_back) = line.of_days(0, at.into_iter(), &zone);
        assert_eq!((&times[..5], set_back, times[5]), (&is[..], 1, is[4] + SECOND_NS));
    }
}
