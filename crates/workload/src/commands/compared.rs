//! Commands of several recordings side by side.

use super::group::MeasuredCommand;
use rates::measure::BetterDirection;
use rates::samples::{DifferenceEstimate, welch};
use recording::rows::CommandExecution;
use view::Unit;

/// One figure of executions that is compared.
#[derive(Clone, Copy, Debug)]
pub struct CommandMeasure {
    /// As programs call it.
    pub key: &'static str,
    /// As tables call it.
    pub title: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Is more of it better?
    pub better: BetterDirection,
    /// Its value in an execution.
    pub value: fn(&CommandExecution) -> Option<f64>,
}

const fn measure(
    (key, title): (&'static str, &'static str),
    unit: Unit,
    better: BetterDirection,
    value: fn(&CommandExecution) -> Option<f64>,
) -> CommandMeasure {
    CommandMeasure { key, title, unit, better, value }
}

fn float(value: Option<i64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// CPU time ÷ real time, per cent of one CPU.
fn cpu_percent(row: &CommandExecution) -> Option<f64> {
    let real_ns = row.real_ns.filter(|real_ns| *real_ns > 0)?;
    Some(100.0 * (row.user_ns? + row.sys_ns?) as f64 / real_ns as f64)
}

/// All of them; the first decides.
pub static COMMAND_MEASURES: [CommandMeasure; 7] = [
    measure(("real_ns", "real time"), Unit::Nanoseconds, BetterDirection::Less, |row| float(row.real_ns)),
    measure(("user_ns", "user CPU"), Unit::Nanoseconds, BetterDirection::Less, |row| float(row.user_ns)),
    measure(("sys_ns", "system CPU"), Unit::Nanoseconds, BetterDirection::Less, |row| float(row.sys_ns)),
    measure(("cpu_percent", "CPU share"), Unit::Percent, BetterDirection::Neither, cpu_percent),
    measure(("max_rss_bytes", "memory"), Unit::Bytes, BetterDirection::Less, |row| float(row.max_rss_bytes)),
    measure(("read_bytes", "read"), Unit::Bytes, BetterDirection::Neither, |row| float(row.read_bytes)),
    measure(("write_bytes", "written"), Unit::Bytes, BetterDirection::Neither, |row| float(row.write_bytes)),
];

/// A command of several recordings.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandPair {
    /// What is compared: the name that all have, or all names.
    pub name: String,
    /// Are they paired although their names or lines differ, because each recording has one command only?
    pub is_by_position: bool,
    /// The command of each recording; `None` where it has none of that name.
    pub sides: Vec<Option<MeasuredCommand>>,
}

/// How a figure of one recording differs from that of the first.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandDifference {
    /// Mean in the first.
    pub was: f64,
    /// Mean in the other.
    pub is: f64,
    /// Executions that count of both.
    pub counts: (usize, usize),
    /// Difference of the means of the logarithms with its interval (Welch's t); `None` where one of them has one execution
    /// only, or values of 0.
    pub estimate: Option<DifferenceEstimate>,
}

/// Commands of the same run, variables and name; where each recording has one command only, these, whatever their names.
#[must_use]
pub fn paired(sides: &[Vec<MeasuredCommand>]) -> Vec<CommandPair> {
    if sides.iter().all(|commands| commands.len() == 1) {
        let all: Vec<&MeasuredCommand> = sides.iter().flatten().collect();
        let mut names: Vec<String> = all.iter().map(|command| command.full_name()).collect();
        names.dedup();
        let is_by_position = all.windows(2).any(|pair| {
            // Of `record` the name is taken from the line, which may be all that differs.
            pair[0].full_name() != pair[1].full_name() || pair[0].line != pair[1].line
        });
        let sides = all.into_iter().map(|command| Some(command.clone())).collect();
        return vec![CommandPair { name: names.join(" / "), is_by_position, sides }];
    }
    let mut names: Vec<String> = Vec::new();
    for name in sides.iter().flatten().map(MeasuredCommand::full_name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |name: String| {
        let found = |commands: &Vec<MeasuredCommand>| commands.iter().find(|one| one.full_name() == name).cloned();
        CommandPair { sides: sides.iter().map(found).collect(), is_by_position: false, name }
    };
    names.into_iter().map(of).collect()
}

impl CommandPair {
    /// How a figure of a side differs from that of the first; `None` where one of them does not have it.
    #[must_use]
    pub fn difference(&self, side: usize, measure: &CommandMeasure) -> Option<CommandDifference> {
        let values = |side: usize| {
            let command = self.sides.get(side)?.as_ref()?;
            let values = command.counted().map(measure.value).collect::<Option<Vec<f64>>>();
            values.filter(|values| !values.is_empty())
        };
        let (was, is) = (values(0)?, values(side)?);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let is_known = was.len() > 1 && is.len() > 1 && was.iter().chain(&is).all(|value| *value > 0.0);
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        Some(CommandDifference {
            was: mean(&was),
            is: mean(&is),
            counts: (was.len(), is.len()),
            estimate: is_known.then(|| welch(&logs(&was), &logs(&is), 0.975)),
        })
    }
}

impl CommandDifference {
    /// Second ÷ first: of the geometric means where there is an interval, else of the means; `None` of 0.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let plain = (self.was > 0.0).then(|| self.is / self.was);
        self.estimate.map(|estimate| estimate.d.exp()).or(plain)
    }

    /// Ends of the 95 % interval of the ratio.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.estimate.map(|estimate| (estimate.interval.low.exp(), estimate.interval.high.exp()))
    }

    /// Why there is no interval.
    #[must_use]
    pub fn lack(&self) -> &'static str {
        match self.counts {
            _ if self.estimate.is_some() => "",
            (1, 1) => "one execution each",
            (1, _) | (_, 1) => "one execution of one of them",
            _ => "some are 0",
        }
    }
}
