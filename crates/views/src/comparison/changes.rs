//! Which counters of the machine differ most between recordings, whatever their table.
//!
//! A counter is judged as the rate of a load is, second by second. So many are looked at that one in twenty of equal ones would seem to
//! differ: the intervals are those with which all together give a false alarm in one of twenty comparisons.

use super::conclusion::{ComparisonQuestion, Conclusion, FLOOR_S, JudgedFigure, LoadPair, MISSING};
use super::per_second::{LoadRound, RoundStep, steps};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use rates::counter::delta_f64;
use rates::measure::{BetterDirection, MeasureKind, RateFlow};
use recording::{ColumnKind, ColumnSchema, Reader, TableSchema, rows};
use std::collections::{BTreeMap, BTreeSet};
use view::{TableReadError, Unit};

/// Tables of counters whose rows are few: those of each process, vector or thread would drown the rest.
const TABLES: [&str; 8] = [
    rows::Cpu::NAME,
    rows::System::NAME,
    rows::Memory::NAME,
    rows::Pressure::NAME,
    rows::Disk::NAME,
    rows::Net::NAME,
    rows::Tcp::NAME,
    rows::Udp::NAME,
];
/// Most steps of a counter: there are hundreds of them.
const MOST_STEPS: f64 = 300.0;
/// Stretches in each of which something must have happened for a counter that was 0 on the other side.
const STRETCHES: usize = 10;
/// Changes that are shown.
const MOST: usize = 25;
/// Below this much, a change is not worth a line.
const WORTH: f64 = 1.1;
/// A time between samples so many times as long as the usual one around it is a gap, as in the findings.
const GAP_STEPS: f64 = 2.5;
/// So many times between samples on each side say what is usual: a thinned recording has longer ones from some time on.
const AROUND: usize = 7;
/// Counters that are named where several are left out.
const NAMED: usize = 4;

/// Which counter: table, column, names of the row.
type Key = (&'static str, &'static str, String);

/// A counter over time.
#[derive(Clone, Debug)]
struct Rates {
    unit: Unit,
    help: &'static str,
    /// Of each recording: how much in each step, as if it were operations.
    rounds: Vec<LoadRound>,
}

/// The counters of a recording while its load ran.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    known: BTreeMap<Key, Rates>,
    /// Those that ran backwards: their growth is not known.
    fell: BTreeSet<Key>,
}

/// A counter that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterChange {
    /// `disk sda`.
    pub of: String,
    /// Name of the column.
    pub column: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// In the first recording.
    pub was: f64,
    /// In the other.
    pub is: f64,
    /// How many times as much; `None` when one of them is 0.
    pub judged: Option<JudgedFigure>,
}

/// The counters that differ most.
#[derive(Debug)]
pub(crate) struct Changes {
    /// The greatest first.
    pub(crate) changes: Vec<CounterChange>,
    /// How many more there are.
    pub(crate) more: usize,
    /// How many were looked at.
    looked_at: usize,
    /// Is the time enough to know of any?
    is_enough: bool,
    /// Names of those that ran backwards on one side.
    fell: Vec<String>,
    /// Names of those without samples for most of the time on one side.
    with_gaps: Vec<String>,
}

impl Changes {
    /// What was looked at and what was left out, sentences with full stops; `None` when both have no counters.
    pub(crate) fn words(&self) -> Option<String> {
        let found = self.changes.len() + self.more;
        let compared = match (self.looked_at, self.is_enough) {
            (0, _) => None,
            (_, false) => Some(format!("counters of the machine are not compared: {FLOOR_S:.0} s are needed.")),
            (looked_at, true) => Some(format!(
                "{looked_at} counters of the machine were compared, {found} changed (by a tenth or more, and surely: one false alarm \
                 among all of them in 20 such comparisons)."
            )),
        };
        let fell = left_out(&self.fell, "ran backwards: a reset or a replaced device");
        let why = format!("no sample for more than {:.0} % of the time", 100.0 * MISSING);
        let sentences = [compared, fell, left_out(&self.with_gaps, &why)];
        let sentences: Vec<String> = sentences.into_iter().flatten().collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }
}

/// `2 counters were left out (why): net eth0 rx_bytes, net eth0 tx_bytes.`; `None` when there are none.
fn left_out(names: &[String], why: &str) -> Option<String> {
    let shown = names.get(..NAMED.min(names.len()))?.join(", ");
    let count = match names.len() {
        0 => return None,
        1 => "1 counter was".to_string(),
        several => format!("{several} counters were"),
    };
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{count} left out ({why}): {shown}{more}."))
}

/// Unit of a rate or of a value, and what it is multiplied by.
fn unit_of(column: &ColumnSchema) -> (Unit, f64) {
    let rate = column.kind == ColumnKind::Counter;
    match (column.unit, rate) {
        // Nanoseconds per second, as per cent of one CPU, or of the time.
        ("ns", true) => (Unit::Percent, 1e-7),
        ("ms", true) => (Unit::Percent, 0.1),
        ("ns", false) => (Unit::Nanoseconds, 1.0),
        ("ms", false) => (Unit::Nanoseconds, 1e6),
        ("sectors", true) => (Unit::BytesPerSecond, 512.0),
        ("bytes", true) => (Unit::BytesPerSecond, 1.0),
        ("bytes", false) => (Unit::Bytes, 1.0),
        (_, true) => (Unit::OpsPerSecond, 1.0),
        (_, false) => (Unit::Count, 1.0),
    }
}

fn numbers(values: &ArrayRef) -> Option<Vec<Option<f64>>> {
    if let Some(values) = values.as_primitive_opt::<Int64Type>() {
        return Some(values.iter().map(|value| value.map(|value| value as f64)).collect());
    }
    Some(values.as_primitive_opt::<Float64Type>()?.iter().collect())
}

/// Values of one counter over time.
type Series = Vec<(i64, f64)>;

impl Samples {
    /// Reads the counters of `[from, to]` ns; of everything when `span` is `None`. Several recordings are rounds of each counter.
    pub(crate) fn read(readers: &[&Reader], span: Option<(i64, i64)>) -> Result<Self, TableReadError> {
        let mut samples = Self::default();
        for reader in readers {
            let mut one = Self::read_one(reader, span)?;
            samples.fell.append(&mut one.fell);
            for (key, mut rates) in one.known {
                match samples.known.get_mut(&key) {
                    Some(known) => known.rounds.append(&mut rates.rounds),
                    None => {
                        samples.known.insert(key, rates);
                    }
                }
            }
        }
        Ok(samples)
    }

    fn read_one(reader: &Reader, span: Option<(i64, i64)>) -> Result<Self, TableReadError> {
        // Counters are read once per interval: the sample before the load is its beginning.
        let (from_ns, to_ns) = span.map_or((i64::MIN, i64::MAX), |(from, to)| (from - 300_000_000, to + 300_000_000));
        let mut samples = Self::default();
        for table in TABLES.into_iter().filter_map(recording::table) {
            let mut series: BTreeMap<(usize, String), Series> = BTreeMap::new();
            for batch in reader.batches(table.name)? {
                collect(table, &batch?, (from_ns, to_ns), &mut series);
            }
            for ((column, names), series) in series {
                samples.insert(table, &table.columns[column], names, &series);
            }
        }
        Ok(samples)
    }

    fn insert(&mut self, table: &TableSchema, column: &ColumnSchema, names: String, series: &[(i64, f64)]) {
        let key = (table.name, column.name, names);
        if column.kind == ColumnKind::Counter && series.windows(2).any(|pair| delta_f64(pair[1].1, pair[0].1).is_none())
        {
            self.fell.insert(key);
        } else if let Some(rates) = rates(column, series) {
            self.known.insert(key, rates);
        }
    }

    /// Nothing was recorded of the machine.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The counters that differ most from those of `base`, surely and by at least a tenth.
    pub(crate) fn changes(&self, base: &Self) -> Changes {
        let both = base.known.iter().filter_map(|(key, was)| Some((key, was, self.known.get(key)?)));
        let (both, with_gaps): (Vec<_>, Vec<_>) =
            both.partition(|(_, was, is)| was.missing().max(is.missing()) <= MISSING);
        let looked_at = both.iter().filter(|(_, was, is)| was.mean() != 0.0 || is.mean() != 0.0).count();
        let question = ComparisonQuestion { tests: looked_at, ..ComparisonQuestion::default() };
        let mut changes: Vec<(f64, CounterChange)> = Vec::new();
        for (key, was, is) in &both {
            let judged = judged(was, is, question);
            let score = match &judged {
                Some(judged) if matches!(judged.conclusion, Conclusion::Different { .. }) => judged.ratio.ln().abs(),
                Some(_) => continue,
                // From or to nothing; what hardly ever happened is left out.
                None if (was.mean() == 0.0) != (is.mean() == 0.0) && (was.is_steady() || is.is_steady()) => f64::MAX,
                None => continue,
            };
            if score < WORTH.ln() {
                continue;
            }
            let (of, column, help, unit) = (of_what(key), key.1, is.help, is.unit);
            changes.push((score, CounterChange { of, column, help, unit, was: was.mean(), is: is.mean(), judged }));
        }
        changes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let more = changes.len().saturating_sub(MOST);
        changes.truncate(MOST);
        let is_enough = both.iter().any(|(_, was, is)| was.is_long() && is.is_long());
        let with_gaps = with_gaps.iter().map(|(key, ..)| name(key)).collect();
        let changes = changes.into_iter().map(|change| change.1).collect();
        Changes { changes, more, looked_at, is_enough, fell: self.fell(base), with_gaps }
    }

    /// Counters that both sides have, and that are not compared because they ran backwards on one of them.
    fn fell(&self, base: &Self) -> Vec<String> {
        let has = |side: &Self, key: &Key| side.known.contains_key(key) || side.fell.contains(key);
        let is_compared = |key: &Key| self.known.contains_key(key) && base.known.contains_key(key);
        let fell = self.fell.union(&base.fell).filter(|key| has(self, key) && has(base, key) && !is_compared(key));
        fell.map(name).collect()
    }
}

/// `net eth0`.
fn of_what(key: &Key) -> String {
    format!("{} {}", key.0, key.2).trim_end().to_string()
}

/// `net eth0 rx_bytes`.
fn name(key: &Key) -> String {
    format!("{} {}", of_what(key), key.1)
}

/// What is said of a counter; `None` when it is 0 on one side.
fn judged(was: &Rates, is: &Rates, question: ComparisonQuestion) -> Option<JudgedFigure> {
    LoadPair::new(&was.rounds, &is.rounds, question).judge(
        MeasureKind::Rate(RateFlow::Operations),
        BetterDirection::Neither,
        true,
    )
}

impl Rates {
    fn steps(&self) -> impl Iterator<Item = &RoundStep> {
        self.rounds.iter().flat_map(|round| &round.steps)
    }

    /// Over all the time, that of gaps too: what a counter grew by in one is known.
    fn mean(&self) -> f64 {
        let all = self.steps().chain(self.rounds.iter().map(|round| &round.over_gaps));
        let (amount, seconds) = all.fold((0.0, 0.0), |(amount, s), step| (amount + step.ops, s + step.length_s));
        if seconds > 0.0 { amount / seconds } else { 0.0 }
    }

    /// Part of the time that has no samples.
    fn missing(&self) -> f64 {
        let missing_s: f64 = self.rounds.iter().map(|round| round.missing_s).sum();
        let measured_s: f64 = self.steps().map(|step| step.length_s).sum();
        if missing_s > 0.0 { missing_s / (missing_s + measured_s) } else { 0.0 }
    }

    /// Long enough to be compared?
    fn is_long(&self) -> bool {
        self.steps().map(|step| step.length_s).sum::<f64>() >= 0.98 * FLOOR_S
    }

    /// Was it above 0 in every stretch?
    fn is_steady(&self) -> bool {
        let amounts: Vec<f64> = self.steps().map(|step| step.ops).collect();
        let length = amounts.len().div_ceil(STRETCHES).max(1);
        self.is_long() && amounts.chunks(length).all(|part| part.iter().any(|amount| *amount > 0.0))
    }
}

fn collect(
    table: &TableSchema,
    batch: &RecordBatch,
    (from_ns, to_ns): (i64, i64),
    series: &mut BTreeMap<(usize, String), Series>,
) {
    let Some(times) = batch.column_by_name("t_ns").and_then(numbers) else { return };
    let names: Vec<&ArrayRef> = table.key().filter_map(|column| batch.column_by_name(column.name)).collect();
    let labels: Vec<String> = (0..batch.num_rows())
        .map(|row| {
            let words = names.iter().filter(|names| names.is_valid(row));
            let words = words.filter_map(|names| Some(names.as_string_opt::<i32>()?.value(row)));
            words.filter(|word| !word.is_empty()).collect::<Vec<&str>>().join(" ")
        })
        .collect();
    for (place, column) in table.columns.iter().enumerate() {
        if !matches!(column.kind, ColumnKind::Counter | ColumnKind::Gauge) {
            continue;
        }
        let Some(values) = batch.column_by_name(column.name).and_then(numbers) else { continue };
        for ((value, t_ns), label) in values.iter().zip(&times).zip(&labels) {
            let (Some(value), Some(t_ns)) = (value, t_ns) else { continue };
            #[expect(clippy::cast_possible_truncation, reason = "it was an integer of that size")]
            let t_ns = *t_ns as i64;
            // Of the CPUs one by one there are too many; `all` stands for them.
            if (from_ns..=to_ns).contains(&t_ns) && (table.name != rows::Cpu::NAME || label == "all") {
                series.entry((place, label.clone())).or_default().push((t_ns, *value));
            }
        }
    }
}

/// How much of a counter or a gauge was in each step, times its unit. `None` with fewer than two samples, or when a counter fell.
fn rates(column: &ColumnSchema, series: &[(i64, f64)]) -> Option<Rates> {
    let (unit, scale) = unit_of(column);
    let is_gauge = column.kind == ColumnKind::Gauge;
    let step = |pair: &[(i64, f64)]| {
        let length_s = (pair[1].0 - pair[0].0) as f64 / 1e9;
        let value = if is_gauge { pair[1].1 * length_s } else { delta_f64(pair[1].1, pair[0].1)? };
        let ops = scale * value;
        (length_s > 0.0).then(|| RoundStep { length_s, ops, ..RoundStep::default() })
    };
    let all: Vec<RoundStep> =
        series.windows(2).map(step).collect::<Option<Vec<RoundStep>>>().filter(|all| !all.is_empty())?;
    let mut round = without_gaps(all);
    if is_gauge {
        // What it was in a gap is not known.
        round.over_gaps = RoundStep::default();
    }
    round.began_ns = series[0].0;
    Some(Rates { unit, help: column.help.trim(), rounds: vec![round] })
}

/// Intervals as steps, with those apart that are gaps: one interval of 90 s among those of a second is no sample of how much they move.
/// It would count as one, and being a mean of 90 it hardly moves.
fn without_gaps(intervals: Vec<RoundStep>) -> LoadRound {
    let lengths: Vec<f64> = intervals.iter().map(|interval| interval.length_s).collect();
    let is_gap = |at: usize| {
        let mut around = lengths[at.saturating_sub(AROUND)..lengths.len().min(at + AROUND + 1)].to_vec();
        around.sort_by(f64::total_cmp);
        lengths[at] > GAP_STEPS * around[around.len() / 2]
    };
    let mut round = LoadRound::default();
    let mut sampled = Vec::new();
    for (at, interval) in intervals.into_iter().enumerate() {
        if is_gap(at) {
            round.missing_s += interval.length_s;
            round.over_gaps.length_s += interval.length_s;
            round.over_gaps.ops += interval.ops;
        } else {
            sampled.push(interval);
        }
    }
    round.steps = steps(&sampled, MOST_STEPS);
    round
}

#[cfg(test)]
mod tests;
