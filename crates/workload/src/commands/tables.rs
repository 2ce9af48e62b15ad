//! Executions as tables.

use super::figures::{CommandFigures, SampleFigures};
use super::group::{MeasuredCommand, labels};
use super::words::{ending_words, execution_tone};
use quantity::histogram::Histogram;
use rates::IntervalFacts;
use recording::rows::CommandExecution;
use recording::{ExecutionEnding, LoadPhase};
use std::collections::BTreeMap;
use view::{Body, Scale};
use view::{Drawing, TableColumn, Tone, Unit, ViewTable, axis};

fn drawing(columns: Vec<TableColumn>) -> Option<Drawing> {
    let table = ViewTable { columns, omitted: 0 };
    let none = axis("", Unit::None, Scale::Category);
    (table.rows() > 0).then(|| Drawing { x: none.clone(), y: none, body: Body::Table(table), marks: Vec::new() })
}

fn float(value: Option<i64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// `0`, `0 × 4, 1`, `signal 9`: how all measured executions ended.
fn endings(command: &MeasuredCommand) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in command.executions.iter().filter(|row| row.phase == LoadPhase::Measure) {
        let word = match &row.ending {
            ExecutionEnding::Exited | ExecutionEnding::Accepted => {
                row.exit_code.map_or("?".to_string(), |code| code.to_string())
            }
            ExecutionEnding::Signalled => format!("signal {}", row.signal.unwrap_or(0)),
            other => other.as_str().replace('_', " "),
        };
        *counts.entry(word).or_default() += 1;
    }
    let of = |(word, count): (String, usize)| if count > 1 { format!("{word} × {count}") } else { word };
    counts.into_iter().map(of).collect::<Vec<String>>().join(", ")
}

/// Columns that name commands: run and variables only where there are some.
fn names<'a>(commands: impl Iterator<Item = &'a MeasuredCommand> + Clone) -> Vec<TableColumn> {
    let text = |name: &str, of: fn(&MeasuredCommand) -> &String| {
        let cells: Vec<String> = commands.clone().map(|command| of(command).clone()).collect();
        cells.iter().any(|cell| !cell.is_empty()).then(|| TableColumn::text(name, cells))
    };
    let columns = [
        text("command", |command| &command.name),
        text("parameters", |command| &command.detail),
        text("run", |command| &command.run),
    ];
    columns.into_iter().flatten().collect()
}

/// One row per command and setting: the times of those that count, and what the others came to.
#[must_use]
pub fn summary(commands: &[MeasuredCommand]) -> Option<Drawing> {
    let figures: Vec<CommandFigures> = commands.iter().map(CommandFigures::of).collect();
    let numbers = |name: &str, unit, of: &dyn Fn(&CommandFigures) -> Option<f64>| {
        TableColumn::numbers(name, unit, figures.iter().map(of))
    };
    let count = |name: &str, of: fn(&CommandFigures) -> usize| {
        TableColumn::numbers(name, Unit::Count, figures.iter().map(|figures| Some(of(figures) as f64)))
    };
    let real = |name: &str, of: fn(&SampleFigures) -> Option<f64>| {
        let cells = figures.iter().map(|figures| figures.real.as_ref().and_then(of));
        TableColumn::numbers(name, Unit::Nanoseconds, cells).under("real time")
    };
    let tones = figures.iter().map(|figures| if figures.failed > 0 { Tone::Error } else { Tone::Plain });
    let mut columns = names(commands.iter());
    columns.extend([
        count("executions", |figures| figures.count),
        count("failed", |figures| figures.failed).toned(tones.collect()),
        real("mean", |real| Some(real.mean)),
        real("±", |real| real.half),
        real("std. dev.", |real| real.deviation),
        real("min", |real| Some(real.min)),
        real("median", |real| Some(real.median)),
        real("max", |real| Some(real.max)),
        numbers("user", Unit::Nanoseconds, &|figures| figures.user_ns).under("CPU time"),
        numbers("system", Unit::Nanoseconds, &|figures| figures.sys_ns).under("CPU time"),
        numbers("of a CPU", Unit::Percent, &CommandFigures::cpu_percent).under("CPU time"),
        numbers("memory", Unit::Bytes, &|figures| figures.max_rss_bytes),
        numbers("read", Unit::Bytes, &|figures| figures.read_bytes),
        numbers("written", Unit::Bytes, &|figures| figures.write_bytes),
        TableColumn::text("exit codes", commands.iter().map(endings).collect()),
    ]);
    for (name, of) in [
        ("stopped", (|figures| figures.stopped) as fn(&CommandFigures) -> usize),
        ("not begun", |figures| figures.waiting),
    ] {
        columns.extend(figures.iter().any(|figures| of(figures) > 0).then(|| count(name, of)));
    }
    columns.push(TableColumn::text("command line", commands.iter().map(|command| command.line.clone()).collect()));
    drawing(columns)
}

/// Every execution, in the order of the recording; `started_ns` is the recording's start.
#[must_use]
pub fn executions(commands: &[MeasuredCommand], started_ns: i64) -> Option<Drawing> {
    let mut rows: Vec<(&MeasuredCommand, &CommandExecution)> =
        commands.iter().flat_map(|command| command.executions.iter().map(move |row| (command, row))).collect();
    rows.sort_by_key(|(_, row)| row.start_t_ns.unwrap_or(row.t_ns));
    let numbers = |name: &str, unit, of: &dyn Fn(&CommandExecution) -> Option<i64>| {
        TableColumn::numbers(name, unit, rows.iter().map(|(_, row)| float(of(row))))
    };
    let seconds = |ns: i64| (ns - started_ns) as f64 / 1e9;
    let mut columns = names(rows.iter().map(|(command, _)| *command));
    columns.extend([
        TableColumn::text("phase", rows.iter().map(|(_, row)| row.phase.to_string()).collect()),
        numbers("number", Unit::Count, &|row| Some(row.number)),
        TableColumn::numbers("started", Unit::Seconds, rows.iter().map(|(_, row)| row.start_t_ns.map(seconds))),
        numbers("late", Unit::Nanoseconds, &|row| Some(row.start_t_ns? - row.due_t_ns)),
        numbers("real", Unit::Nanoseconds, &|row| row.real_ns),
        numbers("user", Unit::Nanoseconds, &|row| row.user_ns),
        numbers("system", Unit::Nanoseconds, &|row| row.sys_ns),
        numbers("memory", Unit::Bytes, &|row| row.max_rss_bytes),
        numbers("read", Unit::Bytes, &|row| row.read_bytes).under("storage"),
        numbers("written", Unit::Bytes, &|row| row.write_bytes).under("storage"),
        numbers("output", Unit::Bytes, &|row| row.output_bytes),
        TableColumn::text("ending", rows.iter().map(|(_, row)| ending_words(row)).collect())
            .toned(rows.iter().map(|(_, row)| execution_tone(row)).collect()),
    ]);
    drawing(columns)
}

/// The load of the run during an execution.
#[derive(Clone, Copy, Debug)]
pub struct LoadBeside<'a> {
    /// Intervals of the run, ascending in time.
    pub intervals: &'a [IntervalFacts],
    /// When the measured time began, ns.
    pub measured_ns: i64,
}

impl LoadBeside<'_> {
    /// Operations per second and p99 of the response time, ns, over the intervals that lie mostly within this time.
    fn during(&self, from_ns: i64, to_ns: i64) -> (Option<f64>, Option<f64>) {
        let (mut ops, mut length_ns, mut times) = (0, 0, Histogram::default());
        for interval in self.intervals {
            let within_ns = interval.t_ns.min(to_ns) - (interval.t_ns - interval.interval_ns).max(from_ns);
            if 2 * within_ns > interval.interval_ns {
                ops += interval.completed();
                length_ns += interval.interval_ns;
                times.merge(&interval.response);
            }
        }
        let rate = (length_ns > 0).then(|| ops as f64 * 1e9 / length_ns as f64);
        (rate, times.percentile(0.99).map(|ns| ns as f64))
    }
}

/// The moment at which an execution was due, s: to a millisecond, because the phase begins a little later than it is to.
#[must_use]
pub fn moment_s(due_ns: i64, measured_ns: i64) -> f64 {
    // No negative zero.
    (((due_ns - measured_ns) as f64 / 1e6).round() / 1e3).max(0.0) + 0.0
}

/// A row of the table of moments.
struct Moment<'a> {
    command: &'a MeasuredCommand,
    name: &'a str,
    /// `None` for the idle machine.
    row: Option<&'a CommandExecution>,
    /// Mean figures of the idle machine.
    idle: CommandFigures,
}

/// The mean of the executions on the idle machine, then each execution under the load of the run. Nothing where no command
/// has either.
#[must_use]
pub fn moments(commands: &[MeasuredCommand], beside: LoadBeside<'_>) -> Option<Drawing> {
    let is_load = beside.intervals.iter().any(|interval| interval.completed() > 0);
    let names = labels(commands);
    let mut rows: Vec<Moment<'_>> = Vec::new();
    for (command, name) in commands.iter().zip(&names).filter(|(command, _)| is_load || command.has_baseline()) {
        let idle = CommandFigures::idle(command);
        let of = |row| Moment { command, name, row, idle: idle.clone() };
        if command.has_baseline() {
            rows.push(of(None));
        }
        let measured = command.executions.iter().filter(|row| row.phase == LoadPhase::Measure);
        rows.extend(measured.map(|row| of(Some(row))));
    }
    let mean = |rows: &Moment<'_>| rows.idle.real.map(|real| real.mean);
    let when = |moment: &Moment<'_>| match moment.row {
        None => "idle machine".to_string(),
        Some(row) => Unit::Seconds.format(Some(moment_s(row.due_t_ns, beside.measured_ns))),
    };
    let numbers = |name: &str, unit, of: &dyn Fn(&Moment<'_>) -> Option<f64>| {
        TableColumn::numbers(name, unit, rows.iter().map(of))
    };
    let either =
        |name: &str, unit, of: fn(&CommandExecution) -> Option<i64>, idle: fn(&CommandFigures) -> Option<f64>| {
            numbers(name, unit, &|moment| match moment.row {
                Some(row) => float(of(row)),
                None => idle(&moment.idle),
            })
        };
    let during = |moment: &Moment<'_>| {
        let row = moment.row?;
        Some(beside.during(row.start_t_ns?, row.t_ns))
    };
    let ending = |moment: &Moment<'_>| match moment.row {
        Some(row) => ending_words(row),
        None => match moment.command.executions.iter().filter(|row| row.phase == LoadPhase::Baseline).count() {
            1 => match moment.command.executions.iter().find(|row| row.phase == LoadPhase::Baseline) {
                Some(row) => ending_words(row),
                None => String::new(),
            },
            all => format!("exit 0: {} of {all}", moment.idle.count),
        },
    };
    let tone = |moment: &Moment<'_>| moment.row.map_or(Tone::Plain, execution_tone);
    let real_of = |moment: &Moment<'_>| moment.row.map_or_else(|| mean(moment), |row| float(row.real_ns));
    let ratio = |moment: &Moment<'_>| {
        let row = moment.row.filter(|row| super::group::is_counted(row))?;
        Some(float(row.real_ns)? / mean(moment).filter(|mean| *mean > 0.0)?)
    };
    let mut columns = vec![
        TableColumn::text("command", rows.iter().map(|moment| moment.name.to_string()).collect()),
        TableColumn::text("at", rows.iter().map(when).collect()),
        numbers("late", Unit::Nanoseconds, &|moment| {
            let row = moment.row?;
            Some((row.start_t_ns? - row.due_t_ns) as f64)
        }),
        numbers("real", Unit::Nanoseconds, &real_of),
        numbers("÷ idle", Unit::None, &ratio),
        either("user", Unit::Nanoseconds, |row| row.user_ns, |idle| idle.user_ns),
        either("system", Unit::Nanoseconds, |row| row.sys_ns, |idle| idle.sys_ns),
        either("read", Unit::Bytes, |row| row.read_bytes, |idle| idle.read_bytes),
        either("written", Unit::Bytes, |row| row.write_bytes, |idle| idle.write_bytes),
        TableColumn::text("ending", rows.iter().map(ending).collect()).toned(rows.iter().map(tone).collect()),
    ];
    if is_load {
        columns.extend([
            numbers("rate", Unit::OpsPerSecond, &|moment| during(moment)?.0).under("the load meanwhile"),
            numbers("response p99", Unit::Nanoseconds, &|moment| during(moment)?.1).under("the load meanwhile"),
        ]);
    }
    drawing(columns)
}

#[cfg(test)]
mod tests {
    use super::{LoadBeside, moment_s};
    use rates::IntervalFacts;

    #[test]
    fn the_load_meanwhile_is_of_intervals_that_lie_mostly_within() {
        let interval = |t_ns: i64| IntervalFacts { t_ns, interval_ns: 100, ..IntervalFacts::default() };
        let intervals = [interval(100), interval(200), interval(300)];
        let rate = |from_ns, to_ns| LoadBeside { intervals: &intervals, measured_ns: 0 }.during(from_ns, to_ns).0;
        assert!(rate(49, 60).is_none() && rate(40, 60).is_none() && rate(50, 100).is_none());
        assert!(rate(49, 100).is_some() && rate(120, 171).is_some() && rate(0, 300).is_some());
        assert!(rate(400, 900).is_none());
    }

    #[test]
    fn a_moment_is_what_was_asked_for() {
        let s = 1_000_000_000;
        assert_eq!(moment_s(15 * s + 161_000, 300_000), 15.0);
        assert_eq!(moment_s(0, 161_000).to_string(), "0");
        assert_eq!(moment_s(s / 8, 0), 0.125);
    }
}
