//! The passes over the tables: each row is looked at once, its histograms are added up in their stored form.

use super::RunFacts;
use arrow_array::{Array, ArrowPrimitiveType, BinaryArray, PrimitiveArray, RecordBatch};
use quantity::histogram::{Histogram, HistogramMerger};
use rates::OperationTimes;
use rates::{BatchColumns, NameNumbers};
use rates::{IntervalFacts, KnownSum, OpCount, Stall, StepFacts, TotalFacts};
use recording::{LoadPhase, Reader, rows};
use std::collections::BTreeMap;
use view::{Selection, TableReadError};

type Runs = BTreeMap<i32, RunFacts>;

fn run_of<'a>(runs: &'a mut Runs, index: i32, title: &str) -> &'a mut RunFacts {
    let run = runs.entry(index).or_insert_with(|| RunFacts { index, ..RunFacts::default() });
    if run.title.is_empty() {
        run.title = title.to_string();
    }
    run
}

/// Titles, rates and phases.
pub(crate) fn phases(reader: &Reader, runs: &mut Runs) -> Result<(), TableReadError> {
    for row in reader.table::<rows::Phase>()? {
        let run = run_of(runs, row.run_index, &row.run);
        run.offered = run.offered.or(row.offered_rate);
        if run.detail.is_empty() {
            run.detail = row.detail;
        }
        run.follow(row.phase, &row.event, row.t_ns);
    }
    Ok(())
}

/// Exact totals at full resolution.
pub(crate) fn totals(reader: &Reader, selection: &Selection, runs: &mut Runs) -> Result<(), TableReadError> {
    for row in reader.table::<rows::RunTotal>()? {
        let run = run_of(runs, row.run_index, &row.run);
        run.complete = true;
        if selection.admits(&row.workload, &row.target) {
            run.totals.push(TotalFacts {
                phase: row.phase,
                workload: row.workload,
                target: row.target,
                op: row.op,
                count: OpCount {
                    arrivals: row.arrivals.into(),
                    ops: row.ops,
                    bytes: row.bytes,
                    errors: row.errors.into(),
                },
                response: OperationTimes::ended(row.response),
                service: OperationTimes::ended(row.service),
            });
        }
    }
    Ok(())
}

/// Totals of steps; of a run that was cut short they are added up from its intervals.
pub(crate) fn steps(reader: &Reader, selection: &Selection, runs: &mut Runs) -> Result<(), TableReadError> {
    let mut add = |index, run: &str, [workload, target]: [&str; 2], step: StepFacts, is_total| {
        let run = run_of(runs, index, run);
        if !selection.admits(workload, target) || run.complete != is_total {
            return;
        }
        match run.steps.iter_mut().find(|known| (&known.phase, &known.op) == (&step.phase, &step.op)) {
            Some(known) => {
                known.count += step.count;
                known.service.merge(&step.service);
            }
            None => run.steps.push(step),
        }
    };
    let count = |ops, bytes, errors| OpCount { ops, bytes, errors: KnownSum::of(errors), ..OpCount::default() };
    for row in reader.rows::<rows::StepTotal>()? {
        let row = row?;
        let count = count(row.ops, row.bytes, row.errors);
        let step = StepFacts { phase: row.phase, op: row.op, count, service: row.service };
        add(row.run_index, &row.run, [&row.workload, &row.target], step, true);
    }
    for row in reader.rows::<rows::StepInterval>()? {
        let row = row?;
        let count = count(row.ops, row.bytes, row.errors);
        let step = StepFacts { phase: row.phase, op: row.op, count, service: row.service };
        add(row.run_index, &row.run, [&row.workload, &row.target], step, false);
    }
    Ok(())
}

/// What had no end.
pub(crate) fn ends(reader: &Reader, selection: &Selection, runs: &mut Runs) -> Result<(), TableReadError> {
    for row in reader.table::<rows::RunEnd>()? {
        let run = run_of(runs, row.run_index, &row.run);
        if selection.admits(&row.workload, &row.target) {
            run.ends.push(row);
        }
    }
    Ok(())
}

/// What is being added up: one interval of one run.
struct Open {
    run_index: i32,
    /// Its run has no totals: they are added up from the intervals.
    incomplete: bool,
    facts: IntervalFacts,
}

/// What is known of one target in an interval: counts, mean in flight, backlog.
type OfTarget = (OpCount, KnownSum<f64>, KnownSum<i64>);

/// State of the fold over `op_interval`.
struct Fold<'a> {
    runs: &'a mut Runs,
    names: NameNumbers,
    open: Option<Open>,
    response: HistogramMerger,
    service: HistogramMerger,
    /// Of each target by its number, when it is in this interval: counts, in flight, backlog.
    targets: Vec<Option<OfTarget>>,
    touched: Vec<usize>,
    /// Stalls under way, by target.
    stalled: BTreeMap<(i32, usize), Stall>,
    /// Totals of runs whose totals were never written: the recording was cut short.
    rest: BTreeMap<(i32, [usize; 4]), TotalFacts>,
}

/// One pass over `op_interval`.
pub(crate) fn intervals(reader: &Reader, selection: &Selection, runs: &mut Runs) -> Result<(), TableReadError> {
    let mut fold = Fold {
        runs,
        names: NameNumbers::default(),
        open: None,
        response: HistogramMerger::new(),
        service: HistogramMerger::new(),
        targets: Vec::new(),
        touched: Vec::new(),
        stalled: BTreeMap::new(),
        rest: BTreeMap::new(),
    };
    for batch in reader.batches(rows::OpInterval::NAME)? {
        fold.batch(&batch?, selection)?;
    }
    fold.close();
    for ((run, _), total) in std::mem::take(&mut fold.rest) {
        run_of(fold.runs, run, "").totals.push(total);
    }
    Ok(())
}

impl Fold<'_> {
    fn batch(&mut self, batch: &RecordBatch, selection: &Selection) -> Result<(), TableReadError> {
        let columns = BatchColumns { table: rows::OpInterval::NAME, batch };
        let (t_ns, lengths, run_indices) =
            (columns.longs("t_ns")?, columns.longs("interval_ns")?, columns.ints("run_index")?);
        let titles = columns.texts("run", &mut self.names)?;
        let phases = columns.texts("phase", &mut self.names)?;
        let workloads = columns.texts("workload", &mut self.names)?;
        let targets = columns.texts("target", &mut self.names)?;
        let ops = columns.texts("op", &mut self.names)?;
        let counts = ["arrivals", "ops", "bytes", "errors"].map(|column| columns.longs(column));
        let [arrivals, completed, bytes, errors] = counts;
        let (arrivals, completed, bytes, errors) = (arrivals?, completed?, bytes?, errors?);
        let (in_flight, backlog) = (columns.doubles("in_flight_mean")?, columns.longs("backlog")?);
        let (response, service) = (columns.bytes("response")?, columns.bytes("service")?);
        self.targets.resize(self.names.len(), None);
        let op_at: Vec<usize> = (0..self.names.len()).map(|number| rates::op_place(self.names.name(number))).collect();
        for row in 0..batch.num_rows() {
            let (run_index, end_ns) = (run_indices.value(row), t_ns.value(row));
            if !self.open.as_ref().is_some_and(|open| open.run_index == run_index && open.facts.t_ns == end_ns) {
                self.close();
                self.begin(run_index, titles[row], phases[row], (end_ns, lengths.value(row)));
            }
            if !selection.admits(self.names.name(workloads[row]), self.names.name(targets[row])) {
                continue;
            }
            let count = OpCount {
                arrivals: known(arrivals, row).into(),
                ops: completed.value(row),
                bytes: bytes.value(row),
                errors: known(errors, row).into(),
            };
            let waiting = (known(in_flight, row).into(), known(backlog, row).into());
            self.add(op_at[ops[row]], targets[row], count, waiting);
            if count.ops > 0 || count.errors.is_positive() {
                add("response", &mut self.response, response, row)?;
                add("service", &mut self.service, service, row)?;
            }
            if self.open.as_ref().is_some_and(|open| open.incomplete) {
                let key = [phases[row], workloads[row], targets[row], ops[row]];
                self.rest(run_index, key, count, (response.value(row), service.value(row)))?;
            }
        }
        Ok(())
    }

    /// Starts an interval.
    fn begin(&mut self, run_index: i32, title: usize, phase: usize, (t_ns, interval_ns): (i64, i64)) {
        let run = run_of(self.runs, run_index, self.names.name(title));
        let incomplete = !run.complete;
        let phase = LoadPhase::from(self.names.name(phase));
        self.open = Some(Open {
            run_index,
            incomplete,
            facts: IntervalFacts { t_ns, interval_ns, phase, ..IntervalFacts::default() },
        });
    }

    fn add(&mut self, op: usize, target: usize, count: OpCount, (in_flight, backlog): (KnownSum<f64>, KnownSum<i64>)) {
        let Some(open) = &mut self.open else { return };
        open.facts.ops.add(op, count);
        open.facts.in_flight += in_flight;
        open.facts.backlog += backlog;
        let active = count.ops > 0 || count.arrivals.is_positive() || in_flight.is_positive() || backlog.is_positive();
        if active {
            if self.targets[target].is_none() {
                self.touched.push(target);
            }
            let sum = self.targets[target].get_or_insert_default();
            sum.0 += count;
            sum.1 += in_flight;
            sum.2 += backlog;
        }
    }

    /// Ends the interval under way.
    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        open.facts.response = self.response.take();
        open.facts.service = self.service.take();
        let (to_ns, from_ns) = (open.facts.t_ns, open.facts.t_ns - open.facts.interval_ns);
        let run = run_of(self.runs, open.run_index, "");
        for target in self.touched.drain(..) {
            let key = (open.run_index, target);
            let sum = self.targets[target].take();
            if !sum.is_some_and(|(count, in_flight, backlog)| rates::is_stalled(&count, in_flight, backlog)) {
                self.stalled.remove(&key);
                continue;
            }
            let stall = self.stalled.entry(key).or_insert(Stall { from_ns, to_ns });
            stall.to_ns = to_ns;
            let longest = run.target_stalls.entry(self.names.name(target).to_string()).or_insert(*stall);
            if stall.length_ns() > longest.length_ns() {
                *longest = *stall;
            }
        }
        match run.intervals.iter_mut().rfind(|known| known.t_ns == open.facts.t_ns) {
            // Rows of one interval in several places of the table: a repaired journal.
            Some(known) => join(known, &open.facts),
            None => run.intervals.push(open.facts),
        }
    }

    fn rest(
        &mut self,
        run: i32,
        key: [usize; 4],
        count: OpCount,
        (response, service): (&[u8], &[u8]),
    ) -> Result<(), TableReadError> {
        let name = |index: usize| self.names.name(key[index]).to_string();
        let total = self.rest.entry((run, key)).or_insert_with(|| TotalFacts {
            phase: LoadPhase::from(self.names.name(key[0])),
            workload: name(1),
            target: name(2),
            op: name(3),
            count: OpCount::default(),
            response: OperationTimes::default(),
            service: OperationTimes::default(),
        });
        total.count += count;
        total.response.ended.merge(&decoded("response", response)?);
        total.service.ended.merge(&decoded("service", service)?);
        Ok(())
    }
}

/// A value; `None` where it is null.
fn known<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

fn decoded(column: &'static str, bytes: &[u8]) -> Result<Histogram, TableReadError> {
    if bytes.is_empty() {
        return Ok(Histogram::default());
    }
    Histogram::decode(bytes).map_err(|error| TableReadError::Histogram {
        table: rows::OpInterval::NAME,
        column,
        reason: error.to_string(),
    })
}

fn add(
    column: &'static str,
    merger: &mut HistogramMerger,
    array: &BinaryArray,
    row: usize,
) -> Result<(), TableReadError> {
    if array.is_null(row) {
        return Ok(());
    }
    merger.add(array.value(row)).map_err(|error| TableReadError::Histogram {
        table: rows::OpInterval::NAME,
        column,
        reason: error.to_string(),
    })
}

fn join(known: &mut IntervalFacts, more: &IntervalFacts) {
    known.ops.merge(&more.ops);
    known.in_flight += more.in_flight;
    known.backlog += more.backlog;
    known.response.merge(&more.response);
    known.service.merge(&more.service);
}

/// What a replay was compared with.
pub(crate) fn fidelity(reader: &Reader, runs: &mut Runs) -> Result<(), TableReadError> {
    for row in reader.rows::<rows::Fidelity>()? {
        let row = row?;
        if let Some(run) = runs.get_mut(&row.run_index) {
            run.fidelity.push(row);
        }
    }
    for row in reader.rows::<rows::FidelityInterval>()? {
        let row = row?;
        if let Some(run) = runs.get_mut(&row.run_index) {
            run.seconds.push(row);
        }
    }
    Ok(())
}

/// What the engine said about itself; also tells of intervals in which nothing happened at all.
pub(crate) fn engine(reader: &Reader, runs: &mut Runs) -> Result<(), TableReadError> {
    let mut at: BTreeMap<(i32, i64), usize> = BTreeMap::new();
    for run in runs.values() {
        at.extend(run.intervals.iter().enumerate().map(|(place, interval)| ((run.index, interval.t_ns), place)));
    }
    for row in reader.table::<rows::EngineInterval>()? {
        let run = run_of(runs, row.run_index, &row.run);
        let place = *at.entry((row.run_index, row.t_ns)).or_insert_with(|| {
            run.intervals.push(run.idle_interval(row.t_ns, row.interval_ns));
            run.intervals.len() - 1
        });
        let interval = &mut run.intervals[place];
        interval.workers += 1;
        interval.engine_user_ns += row.cpu_user_ns;
        interval.engine_system_ns += row.cpu_sys_ns;
        interval.engine_busiest_ns = interval.engine_busiest_ns.max(row.cpu_user_ns + row.cpu_sys_ns);
        interval.limited |= row.limited;
        interval.wait.merge(&row.wait);
        interval.timestamp_age_ns_max = interval.timestamp_age_ns_max.max(Some(row.timestamp_age_ns_max));
    }
    Ok(())
}

/// Executions of commands, those of runs with their run too.
pub(crate) fn commands(
    reader: &Reader,
    selection: &Selection,
    runs: &mut Runs,
) -> Result<Vec<rows::CommandExecution>, TableReadError> {
    let mut all = reader.table::<rows::CommandExecution>()?;
    all.retain(|row| selection.workload.as_deref().is_none_or(|wanted| wanted == &*row.workload));
    for row in all.iter().filter(|row| !row.run.is_empty()) {
        run_of(runs, row.run_index, &row.run).commands.push(row.clone());
    }
    Ok(all)
}
