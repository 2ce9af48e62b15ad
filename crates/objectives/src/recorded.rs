//! Conditions on a recording in which nothing was run (`iodyno record`, a collector): what is counted there by event is how many
//! I/Os of each device failed.

use super::names::Quantity;
use super::sentence::World;
use super::syntax::{Measured, Truth};
use super::{Condition, Judgement, ObjectiveVerdict, SelectableNames};
use rates::column_texts;
use rates::io_errors::is_lacking;
use rates::{Availability, DataFigures, FigureBounds};
use recording::rows::{self, DataCheck, Event, IoError, OpInterval, Phase, RunTotal};
use recording::{EventClass, Label, Reader};
use std::collections::{BTreeMap, BTreeSet};
use view::TableReadError;

/// The table of I/Os that failed.
const FAILURES: &str = IoError::NAME;
/// What stands in the place of a run's title.
const SUBJECT: &str = "the machine";
/// The same where stamped data was read without a load (`iodyno verify -o`).
const READING: &str = "verify";

/// How many I/Os failed by device and operation.
struct Failures {
    counts: BTreeMap<(Label, Label), i64>,
    /// Some may have been missed.
    is_bound: bool,
}

/// Was nothing run in this recording?
///
/// # Errors
/// A recording that cannot be read.
pub(super) fn is_without_runs(reader: &Reader) -> Result<bool, TableReadError> {
    // Of a plan that was stopped before its first run, the runs never began.
    if super::plan_progress::is_planned(reader.manifest()) {
        return Ok(false);
    }
    let is_empty = reader.rows::<Phase>()?.next().is_none() && reader.rows::<OpInterval>()?.next().is_none();
    Ok(is_empty && reader.rows::<RunTotal>()?.next().is_none())
}

/// Devices, as targets.
///
/// # Errors
/// A recording that cannot be read.
pub(super) fn names(reader: &Reader) -> Result<SelectableNames, TableReadError> {
    let mut devices = BTreeSet::new();
    for batch in reader.columns(rows::Disk::NAME, &["device"])? {
        let batch = batch?;
        for name in column_texts(&batch, "device").unwrap_or_default() {
            if !devices.contains(name) {
                devices.insert(name.to_string());
            }
        }
    }
    devices.extend(reader.table::<IoError>()?.into_iter().map(|row| row.dev.to_string()));
    Ok(SelectableNames { targets: devices.into_iter().collect(), ..SelectableNames::default() })
}

/// Judges conditions over the whole recording.
///
/// # Errors
/// A recording that cannot be read.
pub(super) fn verdicts(reader: &Reader, conditions: &[Condition]) -> Result<Vec<ObjectiveVerdict>, TableReadError> {
    let failures = Failures::of(reader)?;
    let why = Availability::of(reader.manifest()).of_table(FAILURES).map(str::to_string);
    let data = DataFigures::of(&reader.table::<DataCheck>()?);
    Ok(conditions.iter().map(|condition| verdict(condition, (failures.as_ref(), data), why.as_deref())).collect())
}

impl Failures {
    /// `None` when they were not counted.
    fn of(reader: &Reader) -> Result<Option<Self>, TableReadError> {
        // Of each file, a row tells how many since the recording began.
        let mut newest: BTreeMap<(Label, Label, i32, Option<i64>), i64> = BTreeMap::new();
        for row in reader.table::<IoError>()?.into_iter().filter(|row| !is_lacking(&row.op, Some(row.error))) {
            newest.insert((row.dev, row.op, row.error, row.inode), row.count);
        }
        if newest.is_empty() && !Availability::of(reader.manifest()).is_measured(FAILURES) {
            return Ok(None);
        }
        let mut counts = BTreeMap::new();
        for ((dev, op, ..), count) in newest {
            *counts.entry((dev, op)).or_default() += count;
        }
        let is_lost = |row: &Event| EventClass::of(row) == Some(EventClass::FailuresUncounted);
        let is_bound = reader.table::<Event>()?.iter().any(is_lost);
        Ok(Some(Self { counts, is_bound }))
    }

    /// How many there were of what a condition chooses.
    fn count(&self, condition: &Condition, measured: &Measured) -> Option<FigureBounds> {
        let selector = condition.selectors.get(measured.selector)?;
        // A device calls discard what a workload calls trim.
        let is_chosen = |dev: &str, op: &str| selector.admits("", dev, if op == "discard" { "trim" } else { op });
        let chosen = self.counts.iter().filter(|((dev, op), _)| is_chosen(dev, op));
        let low = chosen.map(|(_, count)| *count).sum::<i64>() as f64;
        Some(FigureBounds { low, high: if self.is_bound { f64::INFINITY } else { low } })
    }
}

fn verdict(
    condition: &Condition,
    (failures, data): (Option<&Failures>, Option<DataFigures>),
    why: Option<&str>,
) -> ObjectiveVerdict {
    let measures = condition.measures();
    let data = data.filter(|data| !data.is_unproved());
    let whole = |measured: &Measured| match measured.quantity {
        Quantity::Errors => failures?.count(condition, measured),
        Quantity::DamagedBlocks => data.map(|data| FigureBounds::exact(data.damaged_blocks as f64)),
        _ => None,
    };
    let world = World { whole: &whole, longest: &|_: &Truth| None, start_ns: 0 };
    let judgement = world.judgement(&condition.truth);
    let mut reasons = Vec::new();
    match judgement {
        Judgement::Unknown => reasons.push(unknown(condition, &measures, failures.is_some(), why)),
        Judgement::Undecided => reasons.push("I/Os that failed were not all counted".to_string()),
        known => world.reasons(&condition.truth, known == Judgement::Missed, &mut reasons),
    }
    ObjectiveVerdict {
        condition: condition.text.clone(),
        run: data.map_or(SUBJECT, |_| READING).to_string(),
        run_index: 0,
        detail: String::new(),
        judgement,
        sentence: reasons.join("; "),
        evidence: world.evidence(&measures),
        held_s: None,
        compared: None,
    }
}

/// Why a condition could not be judged, and what to use.
fn unknown(condition: &Condition, measures: &[&Measured], is_counted: bool, why: Option<&str>) -> String {
    let is_of_data = |measured: &&&Measured| measured.quantity == Quantity::DamagedBlocks;
    if let Some(measured) = measures.iter().find(is_of_data) {
        return format!("{} was not measured: no data was compared in this recording", measured.text);
    }
    let other = measures.iter().find(|measured| measured.quantity != Quantity::Errors);
    match other {
        Some(measured) => format!(
            "nothing was run in this recording, so that {} is not known; `errors` is (I/Os of devices that failed), \
             `iodyno diagnose` judges the rest, and `iodyno query` computes it",
            measured.text
        ),
        None if !is_counted => {
            let why = why.map_or(String::new(), |why| format!(" ({why})"));
            format!(
                "I/Os that failed were not counted in this recording{why}; `iodyno diagnose` looks at the kernel's messages"
            )
        }
        None if condition.truth.has_duration() => {
            "nothing was run in this recording: `errors` is of all of it, without `for`".to_string()
        }
        None => "a divisor was 0".to_string(),
    }
}
