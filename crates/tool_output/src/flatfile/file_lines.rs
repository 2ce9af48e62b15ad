//! The lines of `summary.html` and `totals.html` about runs in trees of files, in the columns that Vdbench has for these.

use super::facts::{Facts, Run};
use super::figures::{CpuShare, Figures};
use super::file_figures::{FORMAT_RUN, FileFigures, KINDS};
use super::{date, time_of_day};
use std::fmt::Write as _;

/// Kinds that have columns only when the recording has some.
const SELDOM: [&str; 5] = ["getattr", "setattr", "access", "copy", "move"];

/// A column of `summary.html`: a heading over one or two columns of numbers, each with its own heading, width and digits.
struct SummaryColumn {
    heading: &'static str,
    parts: &'static [(&'static str, usize, usize)],
}

const RATE_AND_TIME: &[(&str, usize, usize)] = &[("rate", 5, 1), ("resp", 6, 3)];
const WIDE_RATE_AND_TIME: &[(&str, usize, usize)] = &[("rate", 6, 1), ("resp", 6, 3)];

/// The columns of this recording.
fn summary_columns(facts: &Facts) -> Vec<SummaryColumn> {
    let column = |heading, parts| SummaryColumn { heading, parts };
    let mut columns = vec![
        column("Interval", &[("", 10, 0)]),
        column("ReqstdOps.", WIDE_RATE_AND_TIME),
        column("cpu%", &[("total", 5, 1), ("sys", 4, 2)]),
        column(" read", &[("pct", 5, 1)]),
        column("read", WIDE_RATE_AND_TIME),
        column("write", WIDE_RATE_AND_TIME),
        column("mb/sec", &[("read", 5, 2), ("write", 5, 2)]),
        column("mb/sec", &[("total", 6, 2)]),
        column("xfer", &[("size", 7, 0)]),
    ];
    let shown = KINDS[2..].iter().filter(|kind| !SELDOM.contains(kind) || facts.file_kinds.contains(**kind));
    columns.extend(shown.map(|kind| column(kind, RATE_AND_TIME)));
    columns
}

/// The two lines of the heading.
pub(super) fn heading(facts: &Facts, t_ns: i64) -> String {
    let mut lines = [format!("\n{:<12}", date(facts.manifest.wall_ns_at(t_ns))), " ".repeat(12)];
    for column in summary_columns(facts) {
        let width = column.parts.iter().map(|(_, width, _)| width).sum::<usize>() + column.parts.len() - 1;
        let extra = width.saturating_sub(column.heading.len());
        let _ = write!(lines[0], " {}{}{}", ".".repeat(extra / 2), column.heading, ".".repeat(extra - extra / 2));
        for (name, width, _) in column.parts {
            let _ = write!(lines[1], " {name:>width$}");
        }
    }
    format!("{}\n{}\n", lines[0], lines[1])
}

/// One line of `summary.html` or `totals.html`.
pub(super) fn row(facts: &Facts, t_ns: i64, interval: &str, figures: &Figures, files: &FileFigures) -> String {
    let per_s = |value: f64| figures.per_second(value);
    let share = |of: fn(&CpuShare) -> f64| figures.cpu.as_ref().map_or(f64::NAN, of);
    let (read, write) = (per_s(files.mib("read")), per_s(files.mib("write")));
    let mut values = vec![
        per_s(files.asked_ops()),
        files.asked_mean_ms(),
        share(CpuShare::used),
        share(|cpu| cpu.kernel),
        files.read_percent(),
    ];
    for op in ["read", "write"] {
        values.extend([per_s(files.ops(op)), files.mean_ms(op)]);
    }
    values.extend([read, write, read + write, files.transfer_bytes()]);
    let columns = summary_columns(facts);
    for kind in columns.iter().map(|column| column.heading).filter(|heading| KINDS[2..].contains(heading)) {
        values.extend([per_s(files.ops(kind)), files.mean_ms(kind)]);
    }
    let mut line = format!("{} {interval:>10}", time_of_day(facts.manifest.wall_ns_at(t_ns)));
    for ((_, width, digits), value) in columns[1..].iter().flat_map(|column| column.parts).zip(values) {
        let _ = write!(line, " {:>width$}", fitted(value, *width, *digits));
    }
    line + "\n"
}

/// With so many digits behind the point, or as many fewer as make it fit, as Vdbench does.
fn fitted(value: f64, width: usize, digits: usize) -> String {
    let text = |digits: usize| format!("{value:.digits$}");
    (0..=digits).rev().map(text).find(|text| text.len() <= width).unwrap_or_else(|| text(0))
}

/// The line that a run begins with, behind its time.
pub(super) fn begin_words(run: &Run, name: &str, loops: &str) -> String {
    if run.name.starts_with(FORMAT_RUN) {
        return format!("Starting RD={name}");
    }
    let elapsed = run.requested.elapsed_s.map_or(String::new(), |seconds| format!(" elapsed={seconds};"));
    let rate = match run.offered {
        None if run.requested.curve => "curve.".to_string(),
        None => "max.".to_string(),
        Some(rate) => format!("{:.0};", rate.floor()),
    };
    format!("Starting RD={name};{elapsed} fwdrate={rate} For loops: {loops}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lose_digits_where_they_have_no_room() {
        assert_eq!(fitted(12.3456, 6, 3), "12.346");
        assert_eq!(fitted(123.456, 6, 3), "123.46");
        assert_eq!(fitted(123_456.7, 6, 3), "123457");
        assert_eq!(fitted(1_234_567.0, 6, 1), "1234567");
        assert_eq!(fitted(f64::NAN, 5, 1), "NaN");
    }
}
