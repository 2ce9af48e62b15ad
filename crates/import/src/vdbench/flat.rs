//! The lines of a `flatfile.html`, by the names in its header.

use crate::ImportError;
use std::path::Path;

/// A day, ns.
const DAY_NS: i64 = 86_400_000_000_000;

/// The file.
#[derive(Debug, Default)]
pub(super) struct Flat {
    /// Names of the columns in lower case.
    pub(super) columns: Vec<String>,
    lines: Vec<Line>,
    pub(super) notes: Vec<String>,
    /// It has dates with the name of a zone that is not UTC, which may mean several.
    pub(super) is_local: bool,
}

/// One line of figures.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) run: String,
    pub(super) interval: u64,
    /// First and last interval of an `avg_` line.
    pub(super) average: Option<(u64, u64)>,
    /// End of the interval, ns since 1970 as the clock showed it (the zone's name is not understood).
    pub(super) wall_ns: i64,
    /// Figures by column; `n/a` is none.
    figures: Vec<(String, Option<f64>)>,
}

impl Line {
    /// A figure; `None` when the column is not there, or `n/a`.
    pub(super) fn get(&self, column: &str) -> Option<f64> {
        self.figures.iter().find(|(name, _)| name == column)?.1
    }
}

/// The line of names: it begins with `tod` and has a run and an interval.
pub(super) fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace().map(str::to_lowercase);
    words.next().as_deref() == Some("tod") && {
        let rest: Vec<String> = words.collect();
        ["run", "interval", "rate"].iter().all(|name| rest.iter().any(|word| word == name))
    }
}

impl Flat {
    pub(super) fn read(path: &Path, text: &str) -> Result<Self, ImportError> {
        let malformed = |line: usize, what: String| ImportError::Malformed { path: path.to_path_buf(), line, what };
        let mut flat = Self::default();
        let mut days = 0;
        for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('*') || trimmed.starts_with('<') {
                continue;
            }
            if is_header(line) {
                flat.columns = line.split_whitespace().map(str::to_lowercase).collect();
                continue;
            }
            if flat.columns.is_empty() {
                let what = "this is no flatfile.html of Vdbench: a line before the line of column names (tod … Run Interval … rate …)";
                return Err(malformed(number, what.to_string()));
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.len() < flat.columns.len() {
                let (have, want) = (words.len(), flat.columns.len());
                flat.notes.push(format!("line {number} is cut off ({have} of {want} columns) and was left out"));
                continue;
            }
            let line = parse(&flat.columns, &words).map_err(|what| malformed(number, what))?;
            let at = flat.columns.iter().position(|name| name == "timestamp");
            let zone = at.and_then(|at| words[at].splitn(3, '-').nth(2));
            flat.is_local |= at.is_some() && !zone.is_some_and(|zone| ["UTC", "GMT"].contains(&zone));
            flat.push(line, &mut days);
        }
        if flat.columns.is_empty() {
            return Err(malformed(
                text.lines().count().max(1),
                "no line of column names (tod … Run Interval … rate …) was found".to_string(),
            ));
        }
        if flat.lines.is_empty() {
            return Err(malformed(
                text.lines().count().max(1),
                "there are column names and no complete line of figures".to_string(),
            ));
        }
        if !flat.columns.iter().any(|name| name == "timestamp") {
            flat.notes.push("the file has times of day and no date: its first day is 1970-01-01".to_string());
        }
        Ok(flat)
    }

    /// Times of day begin again at midnight; dates do not.
    fn push(&mut self, mut line: Line, days: &mut i64) {
        if line.wall_ns < DAY_NS {
            line.wall_ns += *days * DAY_NS;
            if let Some(last) = self.lines.last()
                && line.wall_ns < last.wall_ns - DAY_NS / 2
            {
                *days += 1;
                line.wall_ns += DAY_NS;
            }
        }
        self.lines.push(line);
    }

    /// UTC of the first interval's start.
    pub(super) fn start_ns(&self) -> i64 {
        let Some(first) = self.lines.first() else { return 0 };
        let same = self.lines.iter().filter(|line| line.average.is_none() && line.run == first.run);
        let mut two = same.take(2).map(|line| line.wall_ns);
        let gap = two.next().zip(two.next()).map_or(0, |(one, other)| other - one);
        let gap = ((gap.clamp(0, DAY_NS) + 500_000_000) / 1_000_000_000).max(1) * 1_000_000_000;
        first.wall_ns - gap
    }

    /// Lines by run: another name, or numbers that begin again.
    pub(super) fn runs(&self) -> Vec<Vec<&Line>> {
        let mut runs: Vec<Vec<&Line>> = Vec::new();
        for line in &self.lines {
            let goes_on = runs.last().and_then(|run| run.last()).is_some_and(|last| {
                last.run == line.run
                    && last.average.is_none()
                    && (line.average.is_some() || line.interval > last.interval)
            });
            match runs.last_mut() {
                Some(run) if goes_on => run.push(line),
                _ => runs.push(vec![line]),
            }
        }
        runs
    }

    /// Has the operation with this name ever happened?
    pub(super) fn ever(&self, operation: &str) -> bool {
        let column = format!("{operation}_rate");
        self.lines.iter().any(|line| line.get(&column).is_some_and(|rate| rate > 0.0))
    }
}

fn parse(columns: &[String], words: &[&str]) -> Result<Line, String> {
    if words.len() > columns.len() {
        return Err(format!("{} values for {} columns", words.len(), columns.len()));
    }
    let mut line = Line { run: String::new(), interval: 0, average: None, wall_ns: 0, figures: Vec::new() };
    let mut day_ns = 0;
    for (column, word) in columns.iter().zip(words) {
        let not = |what: &str| format!("`{word}` in column {column} is not {what}");
        match column.as_str() {
            "tod" => day_ns = time_of_day(word).ok_or_else(|| not("a time of day such as 21:16:15.029"))?,
            "timestamp" => {
                let wall_ns = timestamp(word).ok_or_else(|| not("a date such as 05/10/2023-21:16:15-CST"))?;
                line.wall_ns = wall_ns;
            }
            "run" => line.run = (*word).to_string(),
            "interval" => match word.strip_prefix("avg_") {
                Some(range) => {
                    let range = range.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    line.average = Some(range.ok_or_else(|| not("a range such as avg_2-5"))?);
                }
                None => line.interval = word.parse().map_err(|_| not("the number of an interval"))?,
            },
            _ => line.figures.push((column.clone(), figure(word).map_err(|()| not("a number or n/a"))?)),
        }
    }
    // The date's time is cut to seconds, the time of day is not.
    let sub_second = day_ns % 1_000_000_000;
    line.wall_ns = if line.wall_ns == 0 { day_ns } else { line.wall_ns + sub_second };
    Ok(line)
}

/// A number; `n/a` is none, and so is what Java prints of a division by 0.
fn figure(word: &str) -> Result<Option<f64>, ()> {
    if ["n/a", "NaN", "Infinity", "-Infinity"].iter().any(|none| word.eq_ignore_ascii_case(none)) {
        return Ok(None);
    }
    // Some locales print a comma.
    let value: f64 = word.replace(',', ".").parse().map_err(|_| ())?;
    if value.is_finite() { Ok(Some(value)) } else { Err(()) }
}

/// `21:16:15.029` in ns.
fn time_of_day(word: &str) -> Option<i64> {
    let mut parts = word.splitn(3, ':');
    let (hour, minute): (i64, i64) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (second, ms) = parts.next()?.split_once('.')?;
    let (second, ms): (i64, i64) = (second.parse().ok()?, ms.parse().ok()?);
    let known =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0..61).contains(&second) && (0..1000).contains(&ms);
    known.then(|| ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + ms * 1_000_000)
}

/// `05/10/2023-21:16:15-CST`, the zone not looked at.
fn timestamp(word: &str) -> Option<i64> {
    let mut parts = word.splitn(3, '-');
    let (date, time) = (parts.next()?, parts.next()?);
    let three = |text: &str, by: char| {
        let mut numbers = text.split(by).map(|part| part.parse::<i64>().ok());
        Some((numbers.next()??, numbers.next()??, numbers.next()??))
    };
    let (month, day, year) = three(date, '/')?;
    quantity::text::wall_ns_of((year, month, day), three(time, ':')?)
}
