//! Views of rounds that were to become steady (`iodyno run pts:…`, docs/pts.md).

use crate::steady_rounds::RecordedRounds;
use crate::{HistogramSummary, RecordingFacts, ReportFigure, RunFacts};
use objectives::CUT_SHORT;
use plan::SteadyMeasure;
use rates::{OperationTimes, variables};
use recording::REQUESTED;
use std::collections::BTreeSet;
use view::{Axis, Body, Drawing, LineStyle, Panel, Point, PointLine, Scale, TableColumn, Tone, Unit, ViewTable, axis};

/// What a recording of such a test says of itself; `None` of others.
pub(crate) fn caveat(facts: &RecordingFacts) -> Option<&'static str> {
    let is_test = facts.manifest.sources.iter().any(|(name, _)| name.starts_with("pts:"));
    is_test.then_some(plan::pts::CAVEAT)
}

/// Whether the rounds became steady, as a sentence and a figure for the head of a report; `None` where there are no rounds.
pub(crate) fn steady_state(facts: &RecordingFacts) -> Option<(String, ReportFigure)> {
    verdict_of(&RecordedRounds::all(&facts.manifest))
}

fn verdict_of(all: &[RecordedRounds]) -> Option<(String, ReportFigure)> {
    let rounds = |count: usize| if count == 1 { "1 round".to_string() } else { format!("{count} rounds") };
    let of = |one: &RecordedRounds| format!("{} after {}", one.rule.name, rounds(one.rounds()));
    let open: Vec<String> = all.iter().filter(|one| !one.is_steady()).map(of).collect();
    let last = all.iter().map(RecordedRounds::rounds).max()?;
    let figure = |value: &str, detail: String, tone| ReportFigure {
        label: "Steady state".to_string(),
        value: value.to_string(),
        detail,
        tone,
    };
    if open.is_empty() {
        let words = format!("Steady: the rounds were alike in the end, after {}.", rounds(last));
        return Some((words, figure("reached", format!("after {}", rounds(last)), Tone::Good)));
    }
    let words = format!("NOT STEADY: {}. No figure here is one of the steady state.", open.join(", "));
    Some((words, figure("not reached", open.join(", "), Tone::Error)))
}

/// A run of a round with its repetitions.
struct RoundPoint<'a> {
    /// Loop variables.
    detail: String,
    /// Of each round in order.
    runs: Vec<&'a RunFacts>,
}

/// The rounds of one rule with their runs.
struct Rounds<'a> {
    recorded: RecordedRounds,
    points: Vec<RoundPoint<'a>>,
}

impl<'a> Rounds<'a> {
    fn all(facts: &'a RecordingFacts) -> Vec<Self> {
        let requested = facts.manifest.extra.get(REQUESTED).and_then(serde_json::Value::as_array);
        let of = |recorded: RecordedRounds| {
            let names = recorded.rule.places().filter_map(|place| {
                let asked = requested?.get(place)?;
                Some((asked["run"].as_str()?.to_string(), asked["detail"].as_str()?.to_string()))
            });
            let points = names.map(|(title, detail)| RoundPoint { runs: runs_of(facts, &title, &detail), detail });
            let points = points.collect();
            Self { recorded, points }
        };
        RecordedRounds::all(&facts.manifest).into_iter().map(of).collect()
    }

    /// The point that a tracked number stands for.
    fn tracked(&self, number: usize) -> Option<&RoundPoint<'a>> {
        let place = self.recorded.rule.tracked.get(number)?;
        self.points.get(place.checked_sub(self.recorded.rule.first)?)
    }

    fn name(&self, number: usize) -> String {
        let detail = self.tracked(number).map_or("", |point| point.detail.as_str());
        format!("{} {detail}", self.recorded.rule.name)
    }

    fn unit(&self) -> Unit {
        match self.recorded.rule.measure {
            SteadyMeasure::Operations => Unit::OpsPerSecond,
            SteadyMeasure::Bytes => Unit::BytesPerSecond,
            SteadyMeasure::Service => Unit::Nanoseconds,
        }
    }
}

/// The executions of a run of the plan, in order.
fn runs_of<'a>(facts: &'a RecordingFacts, title: &str, detail: &str) -> Vec<&'a RunFacts> {
    let cut = facts.manifest.extra.get(CUT_SHORT);
    let is_whole = |run: &&RunFacts| run.complete && cut.and_then(|cut| cut.get(run.index.to_string())).is_none();
    let is_it = |run: &&RunFacts| run.base_title() == title && run.detail == detail;
    facts.runs.iter().filter(is_it).filter(is_whole).collect()
}

fn table(columns: Vec<TableColumn>) -> Option<Drawing> {
    let table = ViewTable { columns, omitted: 0 };
    let none = axis("", Unit::None, Scale::Category);
    (table.rows() > 0).then(|| Drawing { x: none.clone(), y: none, body: Body::Table(table), marks: Vec::new() })
}

/// The best line as people write it.
fn line_words(window: &rates::steady::SteadyWindow, unit: Unit) -> String {
    let sign = if window.slope < 0.0 { '−' } else { '+' };
    format!("{} {sign} {} × n", unit.format(Some(window.intercept())), unit.format(Some(window.slope.abs())))
}

/// Was the measurement window of each tracked run steady, and by how much?
pub(crate) fn steady(facts: &RecordingFacts) -> Option<Drawing> {
    let all = Rounds::all(facts);
    let rows: Vec<(&Rounds<'_>, usize)> =
        all.iter().flat_map(|rounds| (0..rounds.recorded.values.len()).map(move |number| (rounds, number))).collect();
    let unit = all.first()?.unit();
    let windows: Vec<_> = rows.iter().map(|(rounds, number)| rounds.recorded.window(*number)).collect();
    let text = |name: &str, of: &dyn Fn(usize) -> String| TableColumn::text(name, (0..rows.len()).map(of).collect());
    let number = |name: &str, unit: Unit, of: &dyn Fn(&rates::steady::SteadyWindow) -> f64| {
        TableColumn::numbers(name, unit, windows.iter().map(|window| window.as_ref().map(of)))
    };
    let recorded = |row: usize| rows.get(row).map(|(rounds, _)| &rounds.recorded);
    let span = |row: usize| {
        let rounds = recorded(row).filter(|_| windows.get(row).is_some_and(Option::is_some));
        rounds.map_or("?".to_string(), |rounds| {
            let window = rounds.window_rounds();
            format!("{} to {}", window.start + 1, window.end)
        })
    };
    let verdict = |row: usize| {
        let window = windows.get(row).copied().flatten();
        match (window, recorded(row)) {
            (Some(window), Some(rounds)) if window.is_steady(rounds.limits()) => ("yes", Tone::Good),
            (Some(_), _) => ("no", Tone::Error),
            (None, _) => ("too few rounds", Tone::Warning),
        }
    };
    let limit = |name: &str, of: fn(&RecordedRounds) -> f64| {
        TableColumn::numbers(
            name,
            Unit::Percent,
            (0..rows.len()).map(|row| recorded(row).map(|rounds| 100.0 * of(rounds))),
        )
    };
    let line = |row: usize| {
        let window = windows.get(row).copied().flatten();
        window.map_or("?".to_string(), |window| line_words(&window, unit))
    };
    let tones = (0..rows.len()).map(|row| verdict(row).1).collect();
    table(vec![
        text("tracked", &|row| rows.get(row).map_or(String::new(), |(rounds, number)| rounds.name(*number))),
        text("steady", &|row| verdict(row).0.to_string()).toned(tones),
        TableColumn::numbers(
            "rounds done",
            Unit::Count,
            (0..rows.len()).map(|row| Some(recorded(row)?.rounds() as f64)),
        ),
        text("rounds", &span).under("window"),
        number("average", unit, &|window| window.average).under("window"),
        number("smallest", unit, &|window| window.min).under("window"),
        number("greatest", unit, &|window| window.max).under("window"),
        number("is", Unit::Percent, &|window| 100.0 * window.range() / window.average).under("range"),
        limit("at most", |rounds| rounds.rule.range).under("range"),
        number("is", Unit::Percent, &|window| 100.0 * window.excursion() / window.average)
            .under("slope over the window"),
        limit("at most", |rounds| rounds.rule.slope).under("slope over the window"),
        text("best line, n from 0", &line),
    ])
}

/// The tracked runs round by round, with what was allowed in the window and the best line through it.
pub(crate) fn convergence(facts: &RecordingFacts) -> Option<Drawing> {
    let all = Rounds::all(facts);
    let first = all.first()?;
    let y: Axis = match first.recorded.rule.measure {
        SteadyMeasure::Operations => axis("operations per second", first.unit(), Scale::Linear),
        SteadyMeasure::Bytes => axis("throughput", first.unit(), Scale::Linear),
        SteadyMeasure::Service => axis("mean service time", first.unit(), Scale::Linear),
    };
    let panels: Vec<Panel> = all
        .iter()
        .flat_map(|rounds| (0..rounds.recorded.values.len()).filter_map(move |number| panel(rounds, number)))
        .collect();
    let rounds = all.iter().map(|rounds| rounds.recorded.rounds()).max().unwrap_or(0);
    let x = axis("round", Unit::None, Scale::Category);
    let body = Body::Panels { ticks: (1..=rounds).map(|round| round.to_string()).collect(), panels, omitted: 0 };
    let is_empty = matches!(&body, Body::Panels { panels, .. } if panels.is_empty());
    (!is_empty).then(|| Drawing { x, y, body, marks: Vec::new() })
}

fn panel(rounds: &Rounds<'_>, number: usize) -> Option<Panel> {
    let recorded = &rounds.recorded;
    let point =
        |(at, value): (usize, f64)| Point { x: at as f64, y: value, label: format!("round {}", at + 1), within: None };
    let line = |name: &str, style: LineStyle, points: Vec<Point>| PointLine { name: name.to_string(), style, points };
    let values = recorded.values.get(number)?.iter().enumerate();
    let points: Vec<Point> = values.filter_map(|(at, value)| Some(point((at, (*value)?)))).collect();
    if points.is_empty() {
        return None;
    }
    let mut lines = vec![line("each round", LineStyle::Total, points)];
    if let Some(window) = recorded.window(number) {
        let span = recorded.window_rounds();
        let within = |of: &dyn Fn(usize) -> f64| span.clone().map(|at| point((at, of(at)))).collect::<Vec<Point>>();
        let half = window.average * recorded.rule.range / 2.0;
        let percent = format!("{}", 100.0 * recorded.rule.range / 2.0);
        lines.push(line("average", LineStyle::Asked, within(&|_| window.average)));
        lines.push(line("best line", LineStyle::Category1, within(&|at| window.line_at((at - span.start) as f64))));
        lines.push(line(&format!("average + {percent} %"), LineStyle::Rank0, within(&|_| window.average + half)));
        lines.push(line(&format!("average − {percent} %"), LineStyle::Rank0, within(&|_| window.average - half)));
    }
    Some(Panel { title: rounds.name(number), lines, knee: None })
}

/// What a point did over the measurement window.
struct WindowFigure {
    /// Mean over the rounds of operations per second, bytes per second or mean service time.
    average: Option<f64>,
    /// Service times of all rounds together.
    service: HistogramSummary,
    /// 99.999 % of them were as fast.
    nines: Option<f64>,
}

/// A part of it.
type FigureOf = fn(&WindowFigure) -> Option<f64>;

impl WindowFigure {
    fn of(rounds: &Rounds<'_>, point: &RoundPoint<'_>) -> Self {
        let measure = rounds.recorded.rule.measure;
        let runs = rounds.recorded.window_rounds().map(|round| point.runs.get(round).copied());
        let mut service = OperationTimes::default();
        let values: Vec<Option<f64>> = runs
            .map(|run| {
                let run = run?;
                let mut own = OperationTimes::default();
                run.main_totals().for_each(|total| own.merge(&total.service));
                service.merge(&own);
                let seconds = run.measured_s();
                let rate = |sum: i64| (seconds > 0.0).then(|| sum as f64 / seconds);
                match measure {
                    SteadyMeasure::Operations => rate(run.main_totals().map(|total| total.count.ops).sum()),
                    SteadyMeasure::Bytes => rate(run.main_totals().map(|total| total.count.bytes).sum()),
                    SteadyMeasure::Service => own.mean().map(|mean| mean.low),
                }
            })
            .collect();
        let count = values.len() as f64;
        let sum: Option<f64> = values.into_iter().sum();
        let nines = service.percentile(0.99999).map(|bounds| bounds.low);
        Self {
            average: sum.filter(|_| count > 0.0).map(|sum| sum / count),
            service: HistogramSummary::of_times(&service),
            nines,
        }
    }
}

/// The result of a test: averages over the measurement window by transfer size and mix.
pub(crate) fn averages(facts: &RecordingFacts) -> Option<Drawing> {
    let all = Rounds::all(facts);
    let unit = all.first()?.unit();
    let variable =
        |point: &RoundPoint<'_>, name: &str| variables::value_of(&point.detail, name).unwrap_or("?").to_string();
    let mut mixes: Vec<String> = Vec::new();
    let mut sizes: Vec<String> = Vec::new();
    let mut cells: Vec<((String, String), WindowFigure)> = Vec::new();
    for rounds in &all {
        for point in &rounds.points {
            let (size, mix) = (variable(point, "xfersize"), variable(point, "rdpct"));
            mixes.extend((!mixes.contains(&mix)).then(|| mix.clone()));
            sizes.extend((!sizes.contains(&size)).then(|| size.clone()));
            cells.push(((size, mix), WindowFigure::of(rounds, point)));
        }
    }
    let find = |size: &str, mix: &str| cells.iter().find(|((s, m), _)| s == size && m == mix).map(|(_, figure)| figure);
    let mut columns = vec![TableColumn::text("transfer", sizes.clone())];
    let is_of_times = unit == Unit::Nanoseconds;
    for mix in &mixes {
        let writes = mix.parse::<u32>().ok().and_then(|reads| 100_u32.checked_sub(reads));
        let heading = writes.map_or_else(|| mix.clone(), |writes| format!("{mix}/{writes}"));
        let numbers = |name: &str, of: &dyn Fn(&WindowFigure) -> Option<f64>| {
            TableColumn::numbers(name, unit, sizes.iter().map(|size| find(size, mix).and_then(of)))
        };
        if is_of_times {
            let group = format!("reads/writes {heading}");
            let parts: [(&str, FigureOf); 5] = [
                ("average", |figure| figure.average),
                ("p99", |figure| figure.service.p99),
                ("p99.9", |figure| figure.service.p999),
                ("p99.999", |figure| figure.nines),
                ("greatest", |figure| figure.service.max),
            ];
            columns.extend(parts.map(|(name, of)| numbers(name, &of).under(&group)));
        } else {
            columns.push(numbers(&heading, &|figure| figure.average).under("reads/writes"));
        }
    }
    let is_known = cells.iter().any(|(_, figure)| figure.average.is_some());
    let names: BTreeSet<&String> = sizes.iter().collect();
    (is_known && !names.is_empty()).then(|| table(columns)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::SteadyRounds;

    fn rounds(name: &str, values: &[f64]) -> RecordedRounds {
        let (measure, before) = (SteadyMeasure::Operations, Vec::new());
        let rule = SteadyRounds {
            name: name.to_string(),
            first: 0,
            count: 1,
            before,
            tracked: vec![0],
            measure,
            window: 3,
            rounds_max: 9,
            range: 0.2,
            slope: 0.1,
        };
        RecordedRounds { values: vec![values.iter().copied().map(Some).collect()], ..RecordedRounds::of(&rule) }
    }

    #[test]
    fn the_head_of_a_report_says_whether_the_rounds_were_steady() {
        assert_eq!(verdict_of(&[]), None);
        let quiet = rounds("iops", &[100.0; 4]);
        let (words, figure) = verdict_of(std::slice::from_ref(&quiet)).unwrap();
        assert!(words.starts_with("Steady:") && words.contains("4 rounds"), "{words}");
        assert_eq!((figure.value.as_str(), figure.tone), ("reached", Tone::Good));
        // One part that was not is enough; also one that was never begun.
        for (swings, says) in
            [(rounds("throughput 128k", &[1.0, 9.0, 5.0]), "3 rounds"), (rounds("throughput 128k", &[]), "0 rounds")]
        {
            let (words, figure) = verdict_of(&[quiet.clone(), swings]).unwrap();
            let part = format!("NOT STEADY: throughput 128k after {says}.");
            assert!(words.starts_with(&part) && words.contains("No figure here"), "{words}");
            assert_eq!((figure.value.as_str(), figure.tone), ("not reached", Tone::Error));
        }
    }
}
