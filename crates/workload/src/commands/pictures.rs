//! Executions as pictures.

use super::figures::{CommandFigures, SampleFigures};
use super::group::{MeasuredCommand, has_failed};
use super::words::{ending_words, precise};
use rates::variables;
use recording::rows::CommandExecution;
use view::{Body, Drawing, LineStyle, MarkKind, Panel, Point, PointLine, Scale, TimeMark, Unit, axis};

/// Most small charts of one view; further ones are counted.
const PANELS: usize = 48;
/// Most executions that are marked in a chart; all are in the table.
const MARKED: usize = 200;

/// Mean real time over the values of a swept variable: `threads` where it varies, else the variable with most values. Each
/// command is a line; the values of further variables, and further runs, make charts.
#[must_use]
pub fn by_variable(commands: &[MeasuredCommand]) -> Option<Drawing> {
    let names = variables::swept(commands.iter().map(|command| command.detail.as_str()));
    let of_name = names.iter().find(|(name, _)| *name == "threads");
    let (across, values) = of_name.or_else(|| names.iter().max_by_key(|(_, values)| values.len()))?;
    let several = commands.windows(2).any(|pair| pair[0].run != pair[1].run);
    let title_of = |command: &MeasuredCommand| {
        let rest = names.iter().filter(|(name, _)| name != across);
        let rest = rest.filter_map(|(name, _)| Some(format!("{name}={}", variables::value_of(&command.detail, name)?)));
        let run = several.then(|| command.run.clone());
        run.into_iter().chain(rest).collect::<Vec<String>>().join(" ")
    };
    let mut panels: Vec<Panel> = Vec::new();
    for command in commands {
        let Some(real) = CommandFigures::of(command).real else { continue };
        let place = variables::value_of(&command.detail, across)
            .and_then(|value| values.iter().position(|known| *known == value));
        let Some(place) = place else { continue };
        let title = title_of(command);
        let at = panels.iter().position(|panel| panel.title == title).unwrap_or_else(|| {
            panels.push(Panel { title, lines: Vec::new(), knee: None });
            panels.len() - 1
        });
        let lines = &mut panels[at].lines;
        let line = lines.iter().position(|line| line.name == command.name).unwrap_or_else(|| {
            let style = LineStyle::category(lines.len());
            lines.push(PointLine { name: command.name.clone(), style, points: Vec::new() });
            lines.len() - 1
        });
        lines[line].points.push(point(place as f64, &real, command));
    }
    panels.iter_mut().flat_map(|panel| &mut panel.lines).for_each(|line| {
        line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    });
    panels.retain(|panel| panel.lines.iter().any(|line| line.points.len() > 1));
    if panels.is_empty() {
        return None;
    }
    let omitted = panels.len().saturating_sub(PANELS);
    panels.truncate(PANELS);
    Some(Drawing {
        x: axis(across, Unit::None, Scale::Category),
        y: axis("real time", Unit::Nanoseconds, Scale::Linear),
        body: Body::Panels { ticks: values.iter().map(ToString::to_string).collect(), panels, omitted },
        marks: Vec::new(),
    })
}

fn point(x: f64, real: &SampleFigures, command: &MeasuredCommand) -> Point {
    let label = format!("{} {}", command.name, command.detail).trim_end().to_string();
    Point { x, y: real.mean, label, within: real.half.map(|half| (real.mean - half, real.mean + half)) }
}

/// The executions as stretches of a time axis that begins at `start_ns`, without those that ended before.
#[must_use]
pub fn marks(rows: &[CommandExecution], start_ns: i64) -> Vec<TimeMark> {
    let seconds = |ns: i64| (ns - start_ns) as f64 / 1e9;
    let of = |row: &CommandExecution| {
        let what = match row.real_ns {
            _ if has_failed(row) => ending_words(row),
            Some(ns) => precise(ns as f64),
            None => return None,
        };
        Some(TimeMark {
            from: seconds(row.start_t_ns?),
            to: seconds(row.t_ns),
            kind: MarkKind::Command,
            label: format!("{} {}: {what}", row.workload, row.number),
        })
    };
    rows.iter().filter(|row| row.t_ns > start_ns).filter_map(of).take(MARKED).collect()
}
