//! One JSON object per interval, for programs (docs/json.md). Units are in the names; missing is null.

use crate::{RunHeader, output_error};
use objectives::ObjectiveVerdict;
use quantity::output::{OutputForm, VisibleOutput};
use rates::{DataFigures, OpCount, UnfinishedOperations};
use recording::rows::{CommandExecution, DataCheck, DataVerdict, RunEnd};
use recording::{RecordingError, RowBatch, Sink};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use views::{Conclusion, FigureDifference, HistogramSummary, IntervalLine, JudgingMethod, LineFold};

/// Name and version of the objects' shape.
const SCHEMA: &str = "iodyno.interval/1";

/// Name and version of the shape of what had no end.
const END_SCHEMA: &str = "iodyno.run_end/1";

/// Name and version of the shape of an execution of a command.
const COMMAND_SCHEMA: &str = "iodyno.command/1";

/// Name and version of a verdict's shape.
const OBJECTIVE_SCHEMA: &str = "iodyno.objective/1";

/// Name and version of the shape of what was proved of the data.
const VALIDATION_SCHEMA: &str = "iodyno.validation/1";
/// Schema of the objects of a comparison.
const DIFFERENCE_SCHEMA: &str = "iodyno.difference/1";

fn fold(fold: &HistogramSummary) -> Value {
    // Times are whole nanoseconds, except the mean.
    let whole = |value: Option<f64>| value.map(|value| json!(whole(value)));
    json!({
        "mean": fold.mean, "min": whole(fold.min), "p50": whole(fold.p50), "p90": whole(fold.p90),
        "p99": whole(fold.p99), "p999": whole(fold.p999), "max": whole(fold.max),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "nanoseconds below 2^53")]
fn whole(value: f64) -> i64 {
    value as i64
}

/// The object of one interval, without a line break; `data_seed` is that of the data that is written, where it is known, and
/// `damaged_blocks` how many were found until then, where data is validated.
pub fn json_line(line: &IntervalLine, data_seed: Option<&str>, damaged_blocks: Option<u64>) -> String {
    let ops: serde_json::Map<String, Value> = line
        .by_op
        .named()
        .filter(|(_, count)| count.ops > 0 || count.arrivals.is_positive() || count.errors.is_positive())
        .map(|(name, count)| {
            let value =
                json!({"arrivals": count.arrivals.known(), "ops": count.ops, "bytes": count.bytes, "errors": count.errors.known()});
            (name.to_string(), value)
        })
        .collect();
    let mut object = json!({
        "schema": SCHEMA,
        "t_ns": line.t_ns,
        "t_s": line.t_s,
        "interval_s": line.interval_s,
        "run": line.run,
        "run_index": line.run_index,
        "phase": line.phase,
        "data_seed": data_seed,
        "arrivals": line.arrivals.known(),
        "ops": line.ops,
        "bytes": line.bytes,
        "errors": line.errors.known(),
        "damaged_blocks": damaged_blocks,
        "offered_per_s": line.offered(),
        "achieved_per_s": line.achieved(),
        "bytes_per_s": line.bytes_per_s(),
        "read_percent": line.read_percent(),
        "response_ns": fold(&line.response),
        "service_ns": fold(&line.service),
        "wait_ns": fold(&line.wait),
        "queue_depth_mean": line.in_flight.known(),
        "backlog": line.backlog.known(),
        "cpu_percent": line.cpu.map(|cpu| json!({
            "user": cpu.user, "system": cpu.system, "irq": cpu.irq, "iowait": cpu.iowait, "steal": cpu.steal,
        })),
        "generator_limited": line.limited,
        "by_op": ops,
    });
    if !line.steps.is_empty() {
        let step = |(op, count, service): &(String, OpCount, HistogramSummary)| {
            let errors = count.errors.known();
            let value = json!({"ops": count.ops, "bytes": count.bytes, "errors": errors, "service_ns": fold(service)});
            (op.clone(), value)
        };
        object["steps"] = line.steps.iter().map(step).collect::<serde_json::Map<String, Value>>().into();
    }
    object.to_string()
}

/// The object of one verdict, without a line break.
pub fn json_verdict(verdict: &ObjectiveVerdict) -> String {
    let evidence: Vec<Value> = verdict
        .evidence
        .iter()
        .map(|one| json!({"measure": one.measure, "value": one.value, "at_least": one.at_least, "text": one.text}))
        .collect();
    let mut object = json!({
        "schema": OBJECTIVE_SCHEMA,
        "run": verdict.run,
        "run_index": verdict.run_index,
        "detail": verdict.detail,
        "fail_if": verdict.condition,
        "verdict": verdict.judgement.word(),
        "sentence": verdict.sentence,
        "evidence": evidence,
        "held_s": verdict.held_s.map(|(from, to)| json!([from, to])),
    });
    if let Some(compared) = &verdict.compared {
        (object["recording"], object["against"]) = (compared.recording.clone().into(), compared.against.clone().into());
    }
    object.to_string()
}

/// The object of one figure of a comparison, without a line break.
pub fn json_difference(difference: &FigureDifference<'_>) -> String {
    let judged = difference.judged;
    let (verdict, why, needs_s) = match &judged.conclusion {
        Conclusion::Different { better: Some(true) } => ("better", "", None),
        Conclusion::Different { better: Some(false) } => ("worse", "", None),
        Conclusion::Different { better: None } => ("different", "", None),
        Conclusion::Same { .. } => ("same", "", None),
        Conclusion::NotResolved { needs_s, why } => ("not resolved", why.as_str(), Some(*needs_s)),
        Conclusion::NotJudged { why } => ("not judged", why.as_str(), None),
    };
    json!({
        "schema": DIFFERENCE_SCHEMA,
        "run": difference.run,
        "run_index": difference.run_index,
        "recording": difference.recording,
        "against": difference.against,
        "measure": difference.measure,
        "decides": difference.is_primary,
        "was": difference.values.0,
        "is": difference.values.1,
        "ratio": judged.ratio,
        "interval": judged.interval.map(|(low, high)| json!([low, high])),
        "verdict": verdict,
        "within": match judged.conclusion { Conclusion::Same { within } => Some(within), _ => None },
        "why": why,
        "needs_s": needs_s,
        "rounds": match judged.method { JudgingMethod::Rounds(count) => Some(count), _ => None },
        "independent": judged.independent,
    })
    .to_string()
}

/// JSON object of a run with unfinished operations, without a line break; `None` when all of them completed.
pub fn json_end(rows: &[RunEnd]) -> Option<String> {
    let first = rows.first()?;
    let mut unfinished = UnfinishedOperations::default();
    rows.iter().for_each(|row| unfinished.add(row));
    let object = json!({
        "schema": END_SCHEMA,
        "run": first.run,
        "run_index": first.run_index,
        "phase": first.phase,
        "in_flight": unfinished.in_flight,
        "waiting": unfinished.waiting,
        "oldest_ns": unfinished.oldest_ns,
    });
    (unfinished.count() > 0).then(|| object.to_string())
}

/// JSON object of an execution of a command that has ended, without a line break.
pub fn json_command(row: &CommandExecution, variables: &[(String, String)]) -> String {
    let variables: serde_json::Map<String, Value> =
        variables.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    json!({
        "schema": COMMAND_SCHEMA,
        "t_ns": row.t_ns,
        "t_s": row.t_s,
        "run": row.run,
        "run_index": row.run_index,
        "phase": row.phase,
        "variables": variables,
        "command": &*row.workload,
        "line": &*row.line,
        "number": row.number,
        "due_t_ns": row.due_t_ns,
        "start_t_ns": row.start_t_ns,
        "ending": row.ending.as_str(),
        "exit_code": row.exit_code,
        "signal": row.signal,
        "real_ns": row.real_ns,
        "user_ns": row.user_ns,
        "sys_ns": row.sys_ns,
        "max_rss_bytes": row.max_rss_bytes,
        "read_bytes": row.read_bytes,
        "write_bytes": row.write_bytes,
        "read_call_bytes": row.read_call_bytes,
        "write_call_bytes": row.write_call_bytes,
        "minor_faults": row.minor_faults,
        "major_faults": row.major_faults,
        "voluntary_switches": row.voluntary_switches,
        "involuntary_switches": row.involuntary_switches,
        "output_bytes": row.output_bytes,
        "left_behind": row.left_behind,
        "counts": workload::commands::is_counted(row),
        "error": row.error,
    })
    .to_string()
}

/// The object of what was proved of the data of a command, without a line break; `classes` has the damaged blocks by what happened to
/// them, as far as that is kept.
pub fn json_validation(figures: &DataFigures, classes: &BTreeMap<String, u64>) -> String {
    json!({
        "schema": VALIDATION_SCHEMA,
        "verdict": figures.word(),
        "damaged_blocks": figures.damaged_blocks,
        "by_class": classes,
        "stamped_bytes": figures.stamped_bytes,
        "checked_bytes": figures.checked_bytes,
        "unknown_bytes": figures.unknown_bytes,
        "known_blocks": figures.known_blocks,
        "swept_blocks": figures.swept_blocks,
        "coverage_percent": figures.coverage_percent(),
    })
    .to_string()
}

/// Writes one object per interval, one per execution of a command, one per verdict, one per run that left operations without an end, one of what was proved of
/// the data, and nothing else.
#[derive(Debug)]
pub struct JsonLines<W: Write> {
    out: VisibleOutput<W>,
    fold: LineFold,
    ends: Vec<RunEnd>,
    executions: Vec<CommandExecution>,
    is_of_commands: bool,
    variables: Vec<(String, String)>,
    data_seed: Option<String>,
    /// Damaged blocks that were found until now; `None`: data is not validated.
    damaged: Option<u64>,
    checks: Vec<DataCheck>,
    classes: BTreeMap<String, u64>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`, a line at a time.
    pub fn new(out: VisibleOutput<W>) -> Self {
        let (fold, ends, executions) = (LineFold::default(), Vec::new(), Vec::new());
        let out = out.with_form(OutputForm::Json);
        let (variables, checks, classes) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self {
            out,
            fold,
            ends,
            executions,
            is_of_commands: false,
            variables,
            data_seed: None,
            damaged: None,
            checks,
            classes,
        }
    }
}

impl<W: Write> JsonLines<W> {
    /// A run begins.
    pub fn run_started(&mut self, header: RunHeader) {
        self.data_seed = Some(header.data_seed);
        if header.is_validated {
            self.damaged.get_or_insert(0);
        }
        self.is_of_commands = header.is_of_commands;
        self.variables = header.variables;
    }

    /// Data validation has found so many damaged blocks since the command began.
    pub fn damaged_blocks(&mut self, count: u64) {
        self.damaged = Some(count);
    }

    /// The command is over: the object of what was proved of its data, where that was validated.
    ///
    /// # Errors
    /// The output cannot be written; see [`crate::is_closed`].
    pub fn finish(&mut self) -> Result<(), RecordingError> {
        if let Some(figures) = DataFigures::of(&std::mem::take(&mut self.checks)) {
            let line = json_validation(&figures, &self.classes);
            self.out.write_all(format!("{line}\n").as_bytes()).map_err(output_error)?;
        }
        self.out.flush().map_err(output_error)
    }

    /// One object per verdict.
    ///
    /// # Errors
    /// The output cannot be written; see [`crate::is_closed`].
    pub fn verdicts(&mut self, verdicts: &[ObjectiveVerdict]) -> Result<(), RecordingError> {
        for verdict in verdicts {
            self.out.write_all(format!("{}\n", json_verdict(verdict)).as_bytes()).map_err(output_error)?;
        }
        self.out.flush().map_err(output_error)
    }
}

impl<W: Write> Sink for JsonLines<W> {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        if batch.table.name == RunEnd::NAME {
            self.ends.extend(batch.to_rows::<RunEnd>()?);
        }
        if batch.table.name == CommandExecution::NAME {
            self.executions.extend(batch.to_rows::<CommandExecution>()?);
        }
        if batch.table.name == DataCheck::NAME {
            self.checks.extend(batch.to_rows::<DataCheck>()?);
        }
        if batch.table.name == DataVerdict::NAME {
            for row in batch.to_rows::<DataVerdict>()? {
                *self.classes.entry(row.class.to_string()).or_default() += 1;
            }
        }
        self.fold.accept(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        for row in std::mem::take(&mut self.executions) {
            self.out
                .write_all(format!("{}\n", json_command(&row, &self.variables)).as_bytes())
                .map_err(output_error)?;
        }
        // A run of commands alone has no intervals of I/O.
        for line in self.fold.commit().into_iter().filter(|_| !self.is_of_commands) {
            // One write per line: a reader never sees half of one.
            self.out
                .write_all(format!("{}\n", json_line(&line, self.data_seed.as_deref(), self.damaged)).as_bytes())
                .map_err(output_error)?;
        }
        if let Some(line) = json_end(&std::mem::take(&mut self.ends)) {
            self.out.write_all(format!("{line}\n").as_bytes()).map_err(output_error)?;
        }
        self.out.flush().map_err(output_error)
    }
}
