//! The tables of the catalogue.

use crate::comparison::conclusion::SMALLEST;
use crate::comparison::rounds::FEWEST;
use crate::model::SummaryFigure;
use crate::repeats::{Group, groups};
use crate::run_summary::run_summary;
use crate::series::summaries;
use crate::{HistogramSummary, RecordingFacts, RunFacts, RunSummary};
use rates::OperationTimes;
use rates::samples::{RepeatEstimate, welch};
use rates::{DataOps, OpCount, StepFacts, TotalFacts};
use recording::LoadPhase;
use std::collections::BTreeMap;
use view::Drawing;
use view::Unit;
use view::axis;
use view::{Body, Scale, TableColumn, ViewTable};

/// Most rows of a table in a report; further ones are counted.
const ROWS: usize = 5_000;

pub(crate) fn drawing(mut table: ViewTable) -> Option<Drawing> {
    let rows = table.rows();
    if rows == 0 {
        return None;
    }
    if rows > ROWS {
        table.omitted = rows - ROWS;
        for column in &mut table.columns {
            match &mut column.cells {
                view::Cells::Text(cells) => cells.truncate(ROWS),
                view::Cells::Numbers(cells) => cells.0.truncate(ROWS),
            }
        }
    }
    let none = axis("", Unit::None, Scale::Category);
    Some(Drawing { x: none.clone(), y: none, body: Body::Table(table), marks: Vec::new() })
}

/// What rules found.
pub(crate) fn findings(engine: &findings::RuleEngine, t0_ns: i64) -> Option<Drawing> {
    drawing(findings::table(engine, t0_ns))
}

/// Lanes added up.
#[derive(Clone, Debug, Default)]
struct Sum {
    count: OpCount,
    data: DataOps,
    response: OperationTimes,
    service: OperationTimes,
    is_step: bool,
}

impl Sum {
    fn add(&mut self, total: &TotalFacts) {
        self.count += total.count;
        self.data.add(&total.op, total.count.ops);
        self.response.merge(&total.response);
        self.service.merge(&total.service);
    }
}

/// Columns of percentiles of a time.
fn fold_columns(group: &str, folds: &[HistogramSummary]) -> Vec<TableColumn> {
    let parts = [
        SummaryFigure::Mean,
        SummaryFigure::P50,
        SummaryFigure::P90,
        SummaryFigure::P99,
        SummaryFigure::P999,
        SummaryFigure::Max,
    ];
    parts.map(|part| time_column(part.name(), folds, part).under(group)).into()
}

/// One column of times: numbers, or text where some are lower bounds (`≥ 1.2 s`).
fn time_column(name: &str, folds: &[HistogramSummary], part: SummaryFigure) -> TableColumn {
    if folds.iter().any(|fold| fold.is_at_least(part)) {
        return TableColumn::text(name, folds.iter().map(|fold| fold.text(part)).collect());
    }
    TableColumn::numbers(name, Unit::Nanoseconds, folds.iter().map(|fold| fold.value(part)))
}

/// What part of all operations each row is. Steps are no part of them.
fn share_column(rows: &[(String, Sum)], all: i64) -> TableColumn {
    let share = |sum: &Sum| (all > 0 && !sum.is_step).then(|| 100.0 * sum.count.ops as f64 / all as f64);
    if !rows.iter().any(|(_, sum)| sum.is_step) {
        return TableColumn::numbers("share", Unit::Percent, rows.iter().map(|(_, sum)| share(sum)));
    }
    // A number that is missing would look as if it were not known.
    let cell = |sum: &Sum| if sum.is_step { "–".to_string() } else { Unit::Percent.format(share(sum)) };
    TableColumn::text("share", rows.iter().map(|(_, sum)| cell(sum)).collect())
}

/// Rows of sums under `name`.
fn sums_table(run: &RunFacts, name: &str, rows: &[(String, Sum)], reads: bool) -> ViewTable {
    let seconds = run.measured_s();
    let rate = |value: i64| (seconds > 0.0).then(|| value as f64 / seconds);
    let all: i64 = run.main_totals().map(|total| total.count.ops).sum();
    let numbers = |title: &str, unit, value: &dyn Fn(&Sum) -> Option<f64>| {
        TableColumn::numbers(title, unit, rows.iter().map(|(_, sum)| value(sum)))
    };
    let mut columns = vec![
        TableColumn::text(name, rows.iter().map(|(name, _)| name.clone()).collect()),
        numbers("operations", Unit::Operations, &|sum| Some(sum.count.ops as f64)),
        share_column(rows, all),
        numbers("rate", Unit::OpsPerSecond, &|sum| rate(sum.count.ops)),
        numbers("throughput", Unit::BytesPerSecond, &|sum| rate(sum.count.bytes)),
    ];
    if reads {
        columns.push(numbers("reads", Unit::Percent, &|sum| sum.data.read_percent()));
    }
    columns.push(numbers("errors", Unit::Count, &|sum| sum.count.errors.known().map(|errors| errors as f64)));
    let folds = |of: fn(&Sum) -> &OperationTimes| {
        rows.iter().map(|(_, sum)| HistogramSummary::of_times(of(sum))).collect::<Vec<HistogramSummary>>()
    };
    columns.extend(fold_columns("response time", &folds(|sum| &sum.response)));
    columns.extend(fold_columns("service time", &folds(|sum| &sum.service)));
    ViewTable { columns, omitted: 0 }
}

/// Totals of the main phase by whatever `key` tells apart; `all` adds a line with everything together.
fn grouped(run: &RunFacts, key: fn(&TotalFacts) -> &str, all: bool) -> Vec<(String, Sum)> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rows: Vec<(String, Sum)> = Vec::new();
    let totals: Vec<&TotalFacts> = run.main_totals().collect();
    for total in &totals {
        let place = *places.entry(key(total)).or_insert_with(|| {
            rows.push((key(total).to_string(), Sum::default()));
            rows.len() - 1
        });
        rows[place].1.add(total);
    }
    if all && rows.len() > 1 {
        let mut sum = Sum::default();
        totals.iter().for_each(|total| sum.add(total));
        rows.push(("all".to_string(), sum));
    }
    rows
}

/// Totals of a run's measured phase by operation, as terminal and report show them.
pub fn totals_table(run: &RunFacts) -> ViewTable {
    let mut rows = grouped(run, |total| &total.op, true);
    let place = |op: &str| rates::OPS.iter().position(|known| *known == op).unwrap_or(usize::MAX);
    rows.sort_by_key(|(name, _)| place(name));
    // What they needed besides is below their sum, and in no share.
    let phase = run.main_phase();
    let mut steps: Vec<&StepFacts> = run.steps.iter().filter(|step| step.phase == phase).collect();
    steps.sort_by_key(|step| place(&step.op));
    rows.extend(steps.into_iter().map(|step| {
        let (count, service) = (step.count, OperationTimes::ended(step.service.clone()));
        (format!("step: {}", step.op), Sum { count, service, is_step: true, ..Sum::default() })
    }));
    let mut table = sums_table(run, "operation", &rows, false);
    // What is known of the whole run stands in the line of all.
    if let Some((damaged, last)) = run.damaged.zip(rows.iter().rposition(|(_, sum)| !sum.is_step)) {
        let cell = |row| if row == last { damaged.to_string() } else { "–".to_string() };
        let column = TableColumn::text("damaged blocks", (0..rows.len()).map(cell).collect());
        let place = table.columns.iter().position(|column| column.name == "errors").map_or(0, |errors| errors + 1);
        table.columns.insert(place, column);
    }
    table
}

pub(crate) fn operations(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    drawing(totals_table(run))
}

pub(crate) fn workloads(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    drawing(sums_table(run, "workload", &grouped(run, |total| &total.workload, false), true))
}

pub(crate) fn targets(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let rows = grouped(run, |total| &total.target, false);
    let mut table = sums_table(run, "target", &rows, true);
    let stalls = rows.iter().map(|(name, _)| run.target_stalls.get(name).map_or(0.0, |stall| stall.length_ns() as f64));
    let column = TableColumn::numbers("longest stall", Unit::Nanoseconds, stalls.map(Some));
    table.columns.insert(7.min(table.columns.len()), column);
    drawing(table)
}

pub(crate) fn runs(facts: &RecordingFacts) -> Option<Drawing> {
    let rows = facts.runs.iter().filter(|run| !run.is_of_commands());
    let rows: Vec<(&RunFacts, RunSummary)> = rows.map(|run| (run, run_summary(facts, run))).collect();
    if rows.len() < 2 {
        return None;
    }
    let numbers = |title: &str, unit, value: &dyn Fn(&RunSummary) -> Option<f64>| {
        TableColumn::numbers(title, unit, rows.iter().map(|(_, summary)| value(summary)))
    };
    let mut columns = vec![TableColumn::text("run", rows.iter().map(|(run, _)| run.title.clone()).collect())];
    if rows.iter().any(|(run, _)| !run.detail.is_empty()) {
        columns.push(TableColumn::text("parameters", rows.iter().map(|(run, _)| run.detail.clone()).collect()));
    }
    let asked =
        |run: &RunFacts| run.offered.map_or("full speed".to_string(), |rate| Unit::OpsPerSecond.format(Some(rate)));
    columns.push(TableColumn::text("offered", rows.iter().map(|(run, _)| asked(run)).collect()));
    columns.extend([
        numbers("achieved", Unit::OpsPerSecond, &|summary| summary.iops),
        numbers("throughput", Unit::BytesPerSecond, &|summary| summary.bytes_per_s),
        numbers("reads", Unit::Percent, &|summary| summary.read_percent),
    ]);
    let folds = |of: fn(&RunSummary) -> HistogramSummary| {
        rows.iter().map(|(_, summary)| of(summary)).collect::<Vec<HistogramSummary>>()
    };
    columns.extend(fold_columns("response time", &folds(|summary| summary.response)));
    let service = folds(|summary| summary.service);
    columns.extend(
        [SummaryFigure::P50, SummaryFigure::P99]
            .map(|part| time_column(part.name(), &service, part).under("service time")),
    );
    columns.extend([
        numbers("queue depth", Unit::Count, &|summary| summary.queue_depth),
        numbers("CPU", Unit::Percent, &|summary| Some(summary.cpu_user? + summary.cpu_system?)),
        numbers("longest stall", Unit::Seconds, &|summary| {
            Some(summary.longest_stall.as_ref().map_or(0.0, |stall| stall.to_s - stall.from_s))
        }),
        numbers("errors", Unit::Count, &|summary| summary.errors),
    ]);
    if rows.iter().any(|(run, _)| run.damaged.is_some()) {
        let damaged = rows.iter().map(|(run, _)| run.damaged.map(|blocks| blocks as f64));
        let place = columns.iter().position(|column| column.name == "achieved").unwrap_or(0);
        columns.insert(place, TableColumn::numbers("damaged blocks", Unit::Count, damaged));
    }
    drawing(ViewTable { columns, omitted: 0 })
}

/// How a mean over repetitions stands to the one before it: by Welch's t of the logarithms, as `compare` does with rounds.
fn against(now: Option<Vec<f64>>, before: Option<Vec<f64>>) -> String {
    let Some((now, before)) = now.zip(before).filter(|(now, before)| !now.is_empty() && !before.is_empty()) else {
        return String::new();
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (is, was) = (mean(&now), mean(&before));
    if was <= 0.0 || is <= 0.0 {
        return "?".to_string();
    }
    let change = 100.0 * (is - was) / was;
    let sign = if change < 0.0 { "−" } else { "+" };
    let text = format!("{sign}{}", Unit::Percent.format(Some(change.abs())));
    let count = now.len().min(before.len());
    if count < FEWEST {
        let rounds = if count == 1 { "1 round".to_string() } else { format!("{count} rounds") };
        return format!("{text}, not resolved ({rounds}; {FEWEST} needed)");
    }
    let logs = |values: &[f64]| values.iter().map(|value| value.max(f64::MIN_POSITIVE).ln()).collect::<Vec<f64>>();
    let found = welch(&logs(&before), &logs(&now), 0.975);
    if found.interval.excludes_zero() && found.d.abs() > SMALLEST.ln() {
        format!("{text}, differs")
    } else {
        format!("{text}, not resolved")
    }
}

/// Means over repetitions with their confidence intervals; nothing when no run was repeated.
pub(crate) fn repeats(facts: &RecordingFacts) -> Option<Drawing> {
    let all = groups(summaries(facts));
    if all.iter().all(|group| group.runs.len() < 2) {
        return None;
    }
    let mut columns =
        vec![TableColumn::text("run", all.iter().map(|group| group.first().base_title().to_string()).collect())];
    if all.iter().any(|group| !group.first().detail.is_empty()) {
        columns.push(TableColumn::text("parameters", all.iter().map(|group| group.first().detail.clone()).collect()));
    }
    columns.push(TableColumn::numbers("times", Unit::Count, all.iter().map(|group| Some(group.runs.len() as f64))));
    type Figure = fn(&RunSummary) -> Option<f64>;
    let figures: [(&str, Unit, Figure); 7] = [
        ("rate", Unit::OpsPerSecond, |summary| summary.iops),
        ("throughput", Unit::BytesPerSecond, |summary| summary.bytes_per_s),
        // Of lower bounds there is no mean, and no confidence in it.
        ("response mean", Unit::Nanoseconds, |summary| summary.response.known(SummaryFigure::Mean)),
        ("response p50", Unit::Nanoseconds, |summary| summary.response.known(SummaryFigure::P50)),
        ("response p90", Unit::Nanoseconds, |summary| summary.response.known(SummaryFigure::P90)),
        ("response p99", Unit::Nanoseconds, |summary| summary.response.known(SummaryFigure::P99)),
        ("response p99.9", Unit::Nanoseconds, |summary| summary.response.known(SummaryFigure::P999)),
    ];
    for (group, unit, of) in figures {
        let estimates: Vec<Option<RepeatEstimate>> = all.iter().map(|group| group.estimate(of)).collect();
        let means = estimates.iter().map(|estimate| estimate.map(|estimate| estimate.mean));
        columns.push(TableColumn::numbers("mean", unit, means).under(group));
        let halves = estimates.iter().map(|estimate| estimate.and_then(|estimate| estimate.half));
        columns.push(TableColumn::numbers("±", unit, halves).under(group));
    }
    if all.len() > 1 {
        let compared = |of: Figure| -> Vec<String> {
            let before = std::iter::once(None).chain(all.iter().map(Some));
            let with = |now: &Group<'_>, before: Option<&Group<'_>>| {
                against(now.values(of), before.and_then(|before| before.values(of)))
            };
            all.iter().zip(before).map(|(now, before)| with(now, before)).collect()
        };
        columns.push(TableColumn::text("rate", compared(|summary| summary.iops)).under("against the row above"));
        let response = compared(|summary| summary.response.known(SummaryFigure::Mean));
        columns.push(TableColumn::text("mean response", response).under("against the row above"));
    }
    drawing(ViewTable { columns, omitted: 0 })
}

/// The fastest of the runs that were repeated, by its mean rate.
pub(crate) fn best_repeated(facts: &RecordingFacts) -> Option<(String, RepeatEstimate)> {
    groups(summaries(facts))
        .iter()
        .filter(|group| group.runs.len() > 1)
        .filter_map(|group| Some((group.name(), group.estimate(|summary| summary.iops)?)))
        .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
}

pub(crate) fn summary(facts: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let summary = run_summary(facts, run);
    let rows: Vec<(&str, String)> = vec![
        ("measured", Unit::Seconds.format(Some(summary.measured_s))),
        ("offered", run.offered.map_or("full speed".to_string(), |rate| Unit::OpsPerSecond.format(Some(rate)))),
        ("achieved", Unit::OpsPerSecond.format(summary.iops)),
        ("throughput", Unit::BytesPerSecond.format(summary.bytes_per_s)),
        ("operations", Unit::Operations.format(Some(summary.ops))),
        ("bytes moved", Unit::Bytes.format(Some(summary.bytes))),
        ("reads", Unit::Percent.format(summary.read_percent)),
        ("errors", Unit::Operations.format(summary.errors)),
        ("response time, mean", summary.response.text(SummaryFigure::Mean)),
        ("response time, p50", summary.response.text(SummaryFigure::P50)),
        ("response time, p99", summary.response.text(SummaryFigure::P99)),
        ("response time, p99.9", summary.response.text(SummaryFigure::P999)),
        ("response time, max", summary.response.text(SummaryFigure::Max)),
        ("service time, mean", summary.service.text(SummaryFigure::Mean)),
        ("service time, p50", summary.service.text(SummaryFigure::P50)),
        ("service time, p99", summary.service.text(SummaryFigure::P99)),
        ("service time, max", summary.service.text(SummaryFigure::Max)),
        ("operations without an end", Unit::Operations.format(summary.unfinished)),
        ("queue depth, mean", Unit::Count.format(summary.queue_depth)),
        (
            "CPU, user and system",
            Unit::Percent.format(summary.cpu_user.zip(summary.cpu_system).map(|(user, system)| user + system)),
        ),
        ("intervals without a completion", format!("{} of {}", summary.stalled_intervals, summary.intervals)),
    ];
    drawing(ViewTable {
        columns: vec![
            TableColumn::text("figure", rows.iter().map(|row| row.0.to_string()).collect()),
            TableColumn::text("value", rows.into_iter().map(|row| row.1).collect()),
        ],
        omitted: 0,
    })
}

pub(crate) fn phases(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let of = |phase: &LoadPhase| {
        let mut sum = Sum::default();
        run.totals.iter().filter(|total| total.phase == *phase).for_each(|total| sum.add(total));
        sum
    };
    let mut phases: Vec<(LoadPhase, f64, f64)> = run
        .phases
        .iter()
        .map(|phase| (phase.phase.clone(), run.seconds(phase.from_ns), (phase.to_ns - phase.from_ns) as f64 / 1e9))
        .collect();
    // The drain has no marks of its own, only intervals; before the marks' end they are the fsyncs of jobs that ended early.
    let end_ns = run.phases.iter().map(|phase| phase.to_ns).max().unwrap_or(i64::MIN);
    let (behind, before): (Vec<_>, Vec<_>) = run.intervals.iter().partition(|interval| interval.t_ns > end_ns);
    for interval in behind.into_iter().chain(before) {
        if !phases.iter().any(|phase| phase.0 == interval.phase) {
            let from = run.seconds(interval.t_ns - interval.interval_ns);
            phases.push((interval.phase.clone(), from, interval.interval_ns as f64 / 1e9));
        }
    }
    let sums: Vec<Sum> = phases.iter().map(|phase| of(&phase.0)).collect();
    let folds: Vec<HistogramSummary> = sums.iter().map(|sum| HistogramSummary::of_times(&sum.response)).collect();
    drawing(ViewTable {
        columns: vec![
            TableColumn::text("phase", phases.iter().map(|phase| phase.0.to_string()).collect()),
            TableColumn::numbers("start", Unit::Seconds, phases.iter().map(|phase| Some(phase.1))),
            TableColumn::numbers("length", Unit::Seconds, phases.iter().map(|phase| Some(phase.2))),
            TableColumn::numbers("operations", Unit::Operations, sums.iter().map(|sum| Some(sum.count.ops as f64))),
            TableColumn::numbers(
                "errors",
                Unit::Count,
                sums.iter().map(|sum| sum.count.errors.known().map(|errors| errors as f64)),
            ),
            time_column("response p99", &folds, SummaryFigure::P99),
            time_column("response max", &folds, SummaryFigure::Max),
        ],
        omitted: 0,
    })
}

pub(crate) fn stalls(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let mut stalls = run.stalls.clone();
    stalls.sort_by_key(|stall| -stall.length_ns());
    drawing(ViewTable {
        columns: vec![
            TableColumn::numbers("from", Unit::Seconds, stalls.iter().map(|stall| Some(run.seconds(stall.from_ns)))),
            TableColumn::numbers("to", Unit::Seconds, stalls.iter().map(|stall| Some(run.seconds(stall.to_ns)))),
            TableColumn::numbers(
                "without a completion",
                Unit::Nanoseconds,
                stalls.iter().map(|stall| Some(stall.length_ns() as f64)),
            ),
        ],
        omitted: 0,
    })
}

pub(crate) fn objectives(facts: &RecordingFacts) -> Option<Drawing> {
    let mut verdicts: Vec<&objectives::ObjectiveVerdict> = facts.objectives.iter().collect();
    verdicts.sort_by_key(|verdict| (std::cmp::Reverse(verdict.judgement), verdict.run_index));
    let text = |of: &dyn Fn(&objectives::ObjectiveVerdict) -> String| {
        verdicts.iter().map(|verdict| of(verdict)).collect::<Vec<String>>()
    };
    let run =
        |verdict: &objectives::ObjectiveVerdict| format!("{} {}", verdict.run, verdict.detail).trim_end().to_string();
    drawing(ViewTable {
        columns: vec![
            TableColumn::text("objective", text(&|verdict| verdict.judgement.word().to_string())),
            TableColumn::text("run", text(&run)),
            TableColumn::text("fail if", text(&|verdict| verdict.condition.clone())),
            TableColumn::text("measured", text(&|verdict| verdict.sentence.clone())),
        ],
        omitted: 0,
    })
}

pub(crate) fn events(facts: &RecordingFacts) -> Option<Drawing> {
    let text = |of: &dyn Fn(&recording::rows::Event) -> String| facts.events.iter().map(of).collect::<Vec<String>>();
    drawing(ViewTable {
        columns: vec![
            TableColumn::numbers("time", Unit::Seconds, facts.events.iter().map(|event| Some(event.t_s))),
            TableColumn::text("severity", text(&|event| event.severity.to_string())),
            TableColumn::text("kind", text(&|event| event.kind.to_string())),
            TableColumn::text("run", text(&|event| event.run.clone().unwrap_or_default())),
            TableColumn::text("target", text(&|event| event.target.clone().unwrap_or_default())),
            TableColumn::text("what happened", text(&|event| event.message.clone())),
            TableColumn::numbers("count", Unit::Count, facts.events.iter().map(|event| Some(event.count as f64))),
        ],
        omitted: 0,
    })
}

/// The knee of the recording's only curve.
pub(crate) fn knee_run(facts: &RecordingFacts) -> Option<(String, RunSummary)> {
    let all = groups(summaries(facts));
    let knee = crate::series::knee_of(&all)?;
    let mean = |of: fn(&RunSummary) -> Option<f64>| knee.estimate(of).map(|estimate| estimate.mean);
    let mut summary = knee.runs[0].1.clone();
    summary.iops = mean(|summary| summary.iops);
    summary.response.mean = mean(|summary| summary.response.mean);
    Some((knee.name(), summary))
}
