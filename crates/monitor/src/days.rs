//! When a day is over: local midnight, whatever is done to the clock.

use quantity::zone::LocalZone;

/// A clock that is set back by no more than this over midnight stays in the new day: the end of summer time at midnight
/// sets it back by an hour.
const BACK_NS: i64 = 3_660_000_000_000;
const DAY_NS: i64 = 86_400_000_000_000;
/// Time zone files by name.
const ZONES: &str = "/usr/share/zoneinfo";

/// Follows the day.
#[derive(Debug)]
pub(crate) struct Days {
    zone: LocalZone,
    /// The day under way, since 1970.
    day: i64,
    before: i64,
}

impl Days {
    pub(crate) fn new(zone: LocalZone, wall_ns: i64) -> Self {
        let day = zone.day(wall_ns);
        Self { zone, day, before: day }
    }

    /// Does this moment belong to another day? A clock that is set back into the day before by no more than an hour does not
    /// make another one of it.
    pub(crate) fn is_over(&self, wall_ns: i64) -> bool {
        let day = self.zone.day(wall_ns);
        let still = self.zone.day(wall_ns.saturating_add(BACK_NS)) >= self.day;
        day > self.day || (day < self.day && !still)
    }

    /// The day of this moment begins; gives it.
    pub(crate) fn begin(&mut self, wall_ns: i64) -> i64 {
        self.before = std::mem::replace(&mut self.day, self.zone.day(wall_ns));
        self.day
    }

    /// It could not begin: the day before goes on.
    pub(crate) fn go_on(&mut self) {
        self.day = self.before;
    }
}

/// Name of a day's recording.
pub(crate) fn name_of(day: i64) -> String {
    let ((year, month, day), _) = quantity::text::civil(day.saturating_mul(DAY_NS));
    format!("{year:04}-{month:02}-{day:02}")
}

/// The time zone of a name such as `Europe/Berlin`.
///
/// # Errors
/// This machine knows no zone of that name: the file that it was looked for in, and why it was not read.
pub fn named_zone(name: &str) -> Result<LocalZone, String> {
    let path = format!("{ZONES}/{name}");
    let is_name = !name.is_empty() && !name.starts_with('/') && !name.contains("..");
    let bytes = if is_name { std::fs::read(&path) } else { Err(std::io::ErrorKind::InvalidInput.into()) };
    let bytes = bytes.map_err(|error| format!("{path}: {error}"))?;
    LocalZone::parse(&bytes).ok_or_else(|| format!("{path} is no time zone file"))
}

/// The time zone of this machine; UTC if it is unknown.
#[must_use]
pub fn local_zone() -> LocalZone {
    let name = std::env::var("TZ").ok().filter(|name| !name.is_empty());
    let path = match name.as_deref().map(|name| name.trim_start_matches(':')) {
        Some(path) if path.starts_with('/') => path.to_string(),
        Some(name) if !name.contains("..") => format!("{ZONES}/{name}"),
        _ => "/etc/localtime".to_string(),
    };
    std::fs::read(path).ok().and_then(|bytes| LocalZone::parse(&bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quantity::text::wall_ns_of;

    fn at(day: i64, hour: i64, minute: i64) -> i64 {
        wall_ns_of((2026, 11, day), (hour, minute, 0)).expect("a moment")
    }

    #[test]
    fn midnight_once_and_clocks_that_are_set() {
        let mut days = Days::new(LocalZone::default(), at(20, 12, 0));
        assert!(!days.is_over(at(20, 23, 59)));
        assert!(days.is_over(at(21, 0, 0)));
        assert_eq!(name_of(days.begin(at(21, 0, 0))), "2026-11-21");
        // Set back over midnight, by a little and by an hour: the same day goes on.
        assert!(!days.is_over(at(20, 23, 59)) && !days.is_over(at(20, 23, 0)));
        // By a day: another one.
        assert!(days.is_over(at(20, 12, 0)));
        // Set ahead by days: that day.
        assert!(days.is_over(at(25, 1, 0)));
        assert_eq!(name_of(days.begin(at(25, 1, 0))), "2026-11-25");
        days.go_on();
        assert!(days.is_over(at(25, 1, 0)));
    }
}
