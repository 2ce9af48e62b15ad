//! Which part of a recording a view is about: a run, names of devices, a stretch of time.

use crate::{Body, Scale, ViewData, WallClock};
use crate::{TableReadError, Values};
use quantity::text::{civil, parse_duration_s, wall_ns_of};
use regex::Regex;

/// Which part of a recording a view is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Title of a run, or its position in the order of execution; `None`: the first that is not a filling run.
    pub run: Option<String>,
    /// Only this workload.
    pub workload: Option<String>,
    /// Only this target.
    pub target: Option<String>,
    /// Only devices, interfaces, controllers, CPUs, pools, servers or resources with such a name.
    pub names: Option<NamePattern>,
    /// Only this stretch of time.
    pub window: TimeWindow,
}

impl Selection {
    /// Does a row of this workload and target belong to it?
    pub fn admits(&self, workload: &str, target: &str) -> bool {
        self.workload.as_deref().is_none_or(|wanted| wanted == workload)
            && self.target.as_deref().is_none_or(|wanted| wanted == target)
    }
}

/// Names, as a regular expression that the whole of each must match.
#[derive(Clone, Debug)]
pub struct NamePattern {
    text: String,
    whole: Regex,
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl NamePattern {
    /// From a regular expression.
    ///
    /// # Errors
    /// It is none: why.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Alone first, so that a parenthesis that closes nothing is not closed by ours.
        Regex::new(text).map_err(|error| last_line(&error.to_string()))?;
        let whole = Regex::new(&format!("^(?:{text})$")).map_err(|error| last_line(&error.to_string()))?;
        Ok(Self { text: text.to_string(), whole })
    }

    /// Is it a name of these?
    #[must_use]
    pub fn admits(&self, name: &str) -> bool {
        // A name that is no valid expression for itself, such as `a(b`, is meant as it stands.
        self.whole.is_match(name) || self.text == name
    }

    /// As it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// What the expression's reader says is in the last line, under a drawing of where.
fn last_line(message: &str) -> String {
    message.lines().last().unwrap_or(message).trim_start_matches("error: ").to_string()
}

/// A moment of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeOfRecording {
    /// Seconds since the view's time begins.
    Elapsed(f64),
    /// Seconds since midnight: the first such time of day that there is.
    OfDay(i64),
    /// Local date and time, ns since 1970 counted as if it were UTC.
    Date(i64),
}

impl TimeOfRecording {
    /// From `90s`, `1h` (elapsed), `14:30`, `14:30:07` (time of day), `2026-11-20T14:30` (date and time).
    ///
    /// # Errors
    /// Anything else: what it must be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let malformed = || {
            "must be a time since the beginning (90s, 5m, 2h), a time of day (14:30) or a date and time (2026-11-20T14:30)"
                .to_string()
        };
        let numbers = |text: &str, separator: char| -> Option<Vec<i64>> {
            let digits = |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
            text.split(separator).map(|part| part.parse().ok().filter(|_| digits(part))).collect()
        };
        let time = |text: &str| match *numbers(text, ':')?.as_slice() {
            [hour @ 0..=24, minute @ 0..60] => Some((hour, minute, 0)),
            [hour @ 0..=24, minute @ 0..60, second @ 0..60] => Some((hour, minute, second)),
            _ => None,
        };
        if let Some((date, clock)) = text.split_once(['T', ' ']) {
            let date = numbers(date, '-').ok_or_else(malformed)?;
            let [year, month, day] = *date.as_slice() else { return Err(malformed()) };
            let at = time(clock).and_then(|clock| wall_ns_of((year, month, day), clock));
            return at.map(Self::Date).ok_or_else(malformed);
        }
        if text.contains(':') {
            let (hour, minute, second) = time(text).ok_or_else(malformed)?;
            return Ok(Self::OfDay(hour * 3600 + minute * 60 + second));
        }
        parse_duration_s(text).map(|ns| Self::Elapsed(ns as f64 / 1e9)).map_err(|_| malformed())
    }

    /// Seconds on an axis that begins at `clock`.
    fn seconds(self, clock: Option<&WallClock>) -> Result<f64, String> {
        let known =
            || clock.ok_or_else(|| "there is no time of day to go by; give the time since the beginning".to_string());
        Ok(match self {
            Self::Elapsed(seconds) => seconds,
            Self::OfDay(second) => (second as f64 - known()?.local_s(0.0)).rem_euclid(86_400.0),
            Self::Date(ns) => ns as f64 / 1e9 - known()?.local_s(0.0),
        })
    }
}

/// A stretch of time; all of it unless something is set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeWindow {
    /// So much at the end, s.
    pub last_s: Option<f64>,
    /// From here.
    pub from: Option<TimeOfRecording>,
    /// To here.
    pub to: Option<TimeOfRecording>,
}

impl TimeWindow {
    /// Was a stretch asked for?
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// Both ends on an axis that goes from `begin` to `end`, s.
    ///
    /// # Errors
    /// Nothing of the axis lies within, or a time of day is asked for where none is known.
    pub fn ends(&self, (begin, end): (f64, f64), clock: Option<&WallClock>) -> Result<(f64, f64), String> {
        let mut to = self.to.map(|moment| moment.seconds(clock)).transpose()?.unwrap_or(end);
        let mut from = self.from.map(|moment| moment.seconds(clock)).transpose()?.unwrap_or(begin);
        if let (Some(TimeOfRecording::OfDay(_)), Some(_)) = (self.to, self.from)
            && to <= from
        {
            // From 23:00 to 01:00 is over midnight.
            to += 86_400.0;
        }
        to = to.min(end);
        if let Some(last_s) = self.last_s {
            from = (to - last_s).max(begin);
        }
        from = from.max(begin);
        if from < to {
            Ok((from, to))
        } else {
            Err("nothing was recorded in the stretch of time that was asked for".to_string())
        }
    }
}

impl ViewData {
    /// Does time go from left to right?
    #[must_use]
    pub fn is_over_time(&self) -> bool {
        self.x.scale == Scale::Time && matches!(self.body, Body::Lines { .. } | Body::Heat { .. })
    }

    /// Only the stretch that was asked for.
    ///
    /// # Errors
    /// The view is not over time, or nothing of it lies within.
    pub fn cut(&mut self, window: &TimeWindow, clock: Option<&WallClock>) -> Result<(), TableReadError> {
        if !window.is_set() {
            return Ok(());
        }
        let wrong = |reason: String| TableReadError::Unfit { id: self.id.clone(), reason };
        if !self.is_over_time() {
            return Err(wrong("it is not over time: --last, --from and --to choose nothing of it".to_string()));
        }
        let known = match &self.body {
            Body::Lines { x, .. } => x.range(),
            Body::Heat { x_edges, .. } => x_edges.range(),
            _ => None,
        };
        let (begin, end) = known.unwrap_or_default();
        let ends = window.ends((begin.min(0.0), end), clock).map_err(wrong)?;
        self.cut_to(ends);
        Ok(())
    }

    /// Only what lies between two times, s.
    pub fn cut_to(&mut self, (from, to): (f64, f64)) {
        // Times are of the ends of intervals, and added up from nanoseconds.
        const ROUNDING_S: f64 = 1e-6;
        let is_within = |at: f64| at >= from - ROUNDING_S && at <= to + ROUNDING_S;
        match &mut self.body {
            Body::Lines { x, lines, right } => {
                let kept: Vec<usize> = (0..x.len()).filter(|place| is_within(x[*place])).collect();
                *x = kept.iter().map(|place| x[*place]).collect();
                for line in lines.iter_mut().chain(right.iter_mut().flat_map(|right| &mut right.lines)) {
                    line.values = kept.iter().map(|place| line.values[*place]).collect();
                }
            }
            Body::Heat { x_edges, y_edges, counts, .. } => {
                let rows = y_edges.len().saturating_sub(1);
                let columns = x_edges.len().saturating_sub(1);
                let middle = |column: usize| f64::midpoint(x_edges[column], x_edges[column + 1]);
                let kept: Vec<usize> = (0..columns).filter(|column| is_within(middle(*column))).collect();
                let last = kept.last().map(|column| x_edges[column + 1]);
                *counts = kept
                    .iter()
                    .flat_map(|column| counts[column * rows..(column + 1) * rows].to_vec())
                    .collect::<Values>();
                *x_edges = kept.iter().map(|column| x_edges[*column]).chain(last).collect();
            }
            _ => {}
        }
        self.marks.retain(|mark| mark.to >= from && mark.from <= to);
        for mark in &mut self.marks {
            (mark.from, mark.to) = (mark.from.max(from), mark.to.min(to));
        }
        self.shown = Some((from, to));
    }
}

impl WallClock {
    /// Local seconds since 1970 at a place of the axis.
    #[must_use]
    pub fn local_s(&self, at: f64) -> f64 {
        self.utc_s + self.ahead_s as f64 + at
    }

    /// The day at a place of the axis: `2026-11-20`.
    #[must_use]
    pub fn date(&self, at: f64) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "a day")]
        let ((year, month, day), _) = civil((self.local_s(at) * 1e9) as i64);
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// How far its times are from UTC: `UTC`, `UTC+1`, `UTC−3:30`.
    #[must_use]
    pub fn zone(&self) -> String {
        let minutes = self.ahead_s.abs() / 60;
        let sign = if self.ahead_s < 0 { '−' } else { '+' };
        match (minutes / 60, minutes % 60) {
            (0, 0) => "UTC".to_string(),
            (hours, 0) => format!("UTC{sign}{hours}"),
            (hours, minutes) => format!("UTC{sign}{hours}:{minutes:02}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_matched_as_a_whole() {
        let admits = |text: &str, name: &str| NamePattern::parse(text).unwrap().admits(name);
        assert!(admits("sd.*", "sda") && !admits("sd.*", "nvsd1") && !admits("loop4", "loop40"));
        assert!(admits("sda|sdb", "sdb") && !admits("sda|sdb", "sdab"));
        assert!(admits("0000:00:02.0", "0000:00:02.0"));
        for wrong in ["sd(", "a)|(b", "*"] {
            assert!(NamePattern::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn moments_as_people_write_them() {
        assert_eq!(TimeOfRecording::parse("5m"), Ok(TimeOfRecording::Elapsed(300.0)));
        assert_eq!(TimeOfRecording::parse("90"), Ok(TimeOfRecording::Elapsed(90.0)));
        assert_eq!(TimeOfRecording::parse("14:30"), Ok(TimeOfRecording::OfDay(52_200)));
        assert_eq!(TimeOfRecording::parse("1970-01-02T00:00:05"), Ok(TimeOfRecording::Date(86_405_000_000_000)));
        for wrong in ["", "soon", "25:00", "14:60", "-5m", "2026-13-01T00:00", "2026-11-20T"] {
            assert!(TimeOfRecording::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn stretches_of_a_day() {
        // The axis begins at 22:00 local time.
        let clock = WallClock { utc_s: 20.0 * 3600.0, ahead_s: 7200 };
        let ends = |last_s, from: Option<&str>, to: Option<&str>| {
            let moment = |text: Option<&str>| text.map(|text| TimeOfRecording::parse(text).unwrap());
            TimeWindow { last_s, from: moment(from), to: moment(to) }.ends((0.0, 36_000.0), Some(&clock))
        };
        assert_eq!(ends(Some(300.0), None, None), Ok((35_700.0, 36_000.0)));
        assert_eq!(ends(None, Some("23:00"), Some("01:00")), Ok((3600.0, 10_800.0)));
        assert_eq!(ends(Some(60.0), None, Some("1h")), Ok((3540.0, 3600.0)));
        assert_eq!(ends(None, Some("1970-01-01T23:30"), None), Ok((5400.0, 36_000.0)));
        assert!(ends(None, Some("11h"), None).is_err(), "after the end");
        let no_clock =
            TimeWindow { from: Some(TimeOfRecording::OfDay(0)), ..TimeWindow::default() }.ends((0.0, 9.0), None);
        assert!(no_clock.unwrap_err().contains("time of day"));
        assert_eq!((clock.zone(), clock.date(7200.0)), ("UTC+2".to_string(), "1970-01-02".to_string()));
    }
}
