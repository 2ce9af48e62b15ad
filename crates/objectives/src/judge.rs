//! Rows in, verdicts out: the same for a live run and for a recording.

use super::names::{Clock, Quantity};
use super::plan_progress::{PendingRun, PlanEnd, RunHalt, add_names};
use super::samples::Sample;
use super::sentence::{ConditionSpan, World, first, holds, in_words};
use super::syntax::{Comparison, Measured, Selector, Truth};
use super::{Condition, Judgement, ObjectiveVerdict, SelectableNames, recorded};
use quantity::histogram::Histogram;
use rates::base_title;
use rates::open_times;
use rates::{CpuPoint, DamageFound, OpCount, Stall, UnfinishedOperations};
use rates::{FigureBounds, OperationTimes};
use recording::rows::{Cpu, DataCheck, EngineInterval, Objective, OpInterval, Phase, RunEnd, RunTotal};
use recording::{LoadPhase, Manifest, PhaseEdge, Reader, RecordingError, RowBatch};
use std::collections::{BTreeMap, BTreeSet};
use view::{TableReadError, Unit};

/// The phase that conditions are about: warm-up, drain and filling are left out.
const PHASE: LoadPhase = LoadPhase::Measure;

/// Judges conditions over runs.
#[derive(Debug)]
pub struct ConditionJudge {
    conditions: Vec<Condition>,
    /// Of each condition, where its selectors begin among all.
    bases: Vec<usize>,
    selectors: Vec<Selector>,
    /// What single intervals are asked for: measure and selector among all.
    asked: Vec<(Measured, usize)>,
    runs: BTreeMap<i32, Record>,
    cpu: Vec<CpuPoint>,
    last_cpu: Option<Cpu>,
    damage: DamageFound,
}

/// What is known of one run.
#[derive(Debug, Default)]
struct Record {
    title: String,
    detail: String,
    /// Start of its first phase.
    start_ns: Option<i64>,
    /// Starts and ends of its measured phase, which pauses divide; the end is `i64::MAX` while it lasts.
    measured: Vec<(i64, i64)>,
    /// The same of the phases in which iodyno itself did not run.
    paused: Vec<(i64, i64)>,
    intervals: BTreeMap<i64, Interval>,
    /// The interval that rows of operations are being added to.
    open: Option<(i64, Vec<Sample>)>,
    /// Sums over all closed intervals, by selector.
    sums: Vec<Sum>,
    /// Exact totals, by selector; empty until they come.
    totals: Vec<Sample>,
    wait: Histogram,
    end: End,
    /// Damaged blocks that it found; `None`: it compared nothing.
    damaged: Option<i64>,
    /// What is written when a run has ended is there.
    is_over: bool,
    /// It ended before its time.
    cut: Option<RunHalt>,
}

/// What of a run came back after its load had ended, or not at all.
#[derive(Debug, Default)]
struct End {
    /// The phase in which the load ended; `None` when nothing is known of the end.
    phase: Option<LoadPhase>,
    /// By selector.
    drained: Vec<Sample>,
    /// By selector.
    open: Vec<Sample>,
    wait: OperationTimes,
    unfinished: UnfinishedOperations,
}

/// One interval, reduced to what conditions ask of it.
#[derive(Debug, Default)]
struct Interval {
    length_ns: i64,
    /// By [`ConditionJudge::asked`].
    values: Vec<Option<f64>>,
    /// Nothing completed although something was waiting at some time.
    silent: bool,
    wait: Histogram,
}

/// One selector over the intervals of a run.
#[derive(Clone, Debug, Default)]
struct Sum {
    sample: Sample,
    in_flight_ns: f64,
    stall: Option<Stall>,
}

impl ConditionJudge {
    /// Will judge these.
    pub fn new(conditions: Vec<Condition>) -> Self {
        let (mut bases, mut selectors, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        for condition in &conditions {
            let base = selectors.len();
            bases.push(base);
            selectors.extend(condition.selectors.iter().cloned());
            if condition.truth.has_duration() {
                asked.extend(
                    condition.measures().into_iter().map(|measured| (measured.clone(), base + measured.selector)),
                );
            }
        }
        // Of everything together, to tell a stall from silence.
        selectors.push(Selector::default());
        let (runs, cpu, damage) = (BTreeMap::new(), Vec::new(), DamageFound::default());
        Self { conditions, bases, selectors, asked, runs, cpu, last_cpu: None, damage }
    }

    /// Adds a batch; tables that say nothing about a run are passed over.
    ///
    /// # Errors
    /// A batch whose columns are not those of its table.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        if self.conditions.is_empty() {
            return Ok(());
        }
        match batch.table.name {
            Phase::NAME => batch.to_rows::<Phase>()?.iter().for_each(|row| self.phase(row)),
            OpInterval::NAME => batch.to_rows::<OpInterval>()?.iter().for_each(|row| self.operation(row)),
            EngineInterval::NAME => batch.to_rows::<EngineInterval>()?.iter().for_each(|row| self.engine(row)),
            RunTotal::NAME => batch.to_rows::<RunTotal>()?.iter().for_each(|row| self.total(row)),
            RunEnd::NAME => batch.to_rows::<RunEnd>()?.iter().for_each(|row| self.end(row)),
            DataCheck::NAME => batch.to_rows::<DataCheck>()?.iter().for_each(|row| self.data(row)),
            Cpu::NAME => batch.to_rows::<Cpu>()?.into_iter().for_each(|row| self.cpu(row)),
            _ => {}
        }
        Ok(())
    }

    fn record(&mut self, index: i32, title: &str) -> &mut Record {
        let record = self.runs.entry(index).or_default();
        if record.title.is_empty() {
            record.title = title.to_string();
        }
        record
    }

    fn phase(&mut self, row: &Phase) {
        let record = self.record(row.run_index, &row.run);
        record.start_ns = Some(record.start_ns.map_or(row.t_ns, |start| start.min(row.t_ns)));
        if record.detail.is_empty() {
            record.detail.clone_from(&row.detail);
        }
        let spans = match &row.phase {
            LoadPhase::Measure => &mut record.measured,
            LoadPhase::Paused => &mut record.paused,
            _ => return,
        };
        match (&row.event, spans.last_mut()) {
            (PhaseEdge::Start, _) => spans.push((row.t_ns, i64::MAX)),
            (PhaseEdge::End, Some(span)) => span.1 = row.t_ns,
            _ => {}
        }
        if row.phase == PHASE && row.event == PhaseEdge::Start {
            // What was waited for in a pause is no part of the end.
            record.end.wait = OperationTimes::default();
        }
    }

    fn operation(&mut self, row: &OpInterval) {
        if row.phase != PHASE {
            return;
        }
        let selectors = self.selectors.len();
        let asked = self.asked.len();
        let record = self.runs.entry(row.run_index).or_default();
        if record.title.is_empty() {
            record.title.clone_from(&row.run);
        }
        if record.open.as_ref().is_none_or(|open| open.0 != row.t_ns) {
            record.close(&self.asked);
            let fresh = || Interval { values: vec![None; asked], ..Interval::default() };
            record.intervals.entry(row.t_ns).or_insert_with(fresh).length_ns = row.interval_ns;
            record.open = Some((row.t_ns, vec![Sample::default(); selectors]));
        }
        let Some((_, samples)) = &mut record.open else { return };
        let count =
            OpCount { arrivals: row.arrivals.into(), ops: row.ops, bytes: row.bytes, errors: row.errors.into() };
        for (sample, selector) in samples.iter_mut().zip(&self.selectors) {
            if selector.admits(&row.workload, &row.target, &row.op) {
                sample.add(&row.op, count, &row.response, &row.service);
                sample.in_flight = row.in_flight_mean.map(|depth| sample.in_flight.unwrap_or(0.0) + depth);
                sample.backlog += row.backlog;
            }
        }
    }

    fn engine(&mut self, row: &EngineInterval) {
        let asked = self.asked.len();
        let record = self.record(row.run_index, &row.run);
        let measured = record.measured.iter().any(|(from, to)| row.t_ns > *from && row.t_ns <= *to);
        if !measured && !record.intervals.contains_key(&row.t_ns) {
            if record.measured.last().is_some_and(|(_, to)| row.t_ns > *to) {
                record.end.wait.ended.merge(&row.wait);
            }
            return;
        }
        // Also tells of intervals in which nothing happened at all.
        let fresh = || Interval { values: vec![None; asked], ..Interval::default() };
        let interval = record.intervals.entry(row.t_ns).or_insert_with(fresh);
        interval.length_ns = row.interval_ns;
        interval.wait.merge(&row.wait);
        record.wait.merge(&row.wait);
    }

    fn total(&mut self, row: &RunTotal) {
        let selectors = self.selectors.clone();
        let record = self.record(row.run_index, &row.run);
        record.is_over = true;
        let samples = match &row.phase {
            LoadPhase::Measure => &mut record.totals,
            LoadPhase::Drain => &mut record.end.drained,
            _ => return,
        };
        samples.resize(selectors.len(), Sample::default());
        let count =
            OpCount { arrivals: row.arrivals.into(), ops: row.ops, bytes: row.bytes, errors: row.errors.into() };
        for (sample, selector) in samples.iter_mut().zip(&selectors) {
            if selector.admits(&row.workload, &row.target, &row.op) {
                sample.add(&row.op, count, &row.response, &row.service);
            }
        }
    }

    fn end(&mut self, row: &RunEnd) {
        let selectors = self.selectors.clone();
        let record = self.record(row.run_index, &row.run);
        record.is_over = true;
        let end = &mut record.end;
        end.phase = Some(row.phase.clone());
        end.unfinished.add(row);
        end.wait.open.merge(&row.waiting_age);
        end.open.resize(selectors.len(), Sample::default());
        if row.in_flight + row.waiting == 0 {
            return;
        }
        let (response, service) = open_times(row);
        for (sample, selector) in end.open.iter_mut().zip(&selectors) {
            if selector.admits(&row.workload, &row.target, &row.op) {
                sample.present = true;
                sample.response.merge(&response);
                sample.service.merge(&service);
            }
        }
    }

    fn data(&mut self, row: &DataCheck) {
        let found = self.damage.since(row);
        let record = self.record(row.run_index, &row.run);
        record.damaged = found.map(|found| record.damaged.unwrap_or(0).saturating_add(found)).or(record.damaged);
    }

    fn cpu(&mut self, row: Cpu) {
        if row.cpu == "all" {
            self.cpu.extend(self.last_cpu.as_ref().and_then(|before| rates::cpu_shares(&row, before)));
            self.last_cpu = Some(row);
        }
    }

    /// A run ended before its time: it has met nothing.
    pub fn cut_short(&mut self, run_index: i32, halt: RunHalt) {
        if let Some(record) = self.runs.get_mut(&run_index) {
            record.cut = Some(halt);
        }
    }

    /// Judges the conditions at `which` over a run that has not begun.
    #[must_use]
    pub fn of_pending(
        &self,
        pending: &PendingRun,
        run_index: i32,
        halt: RunHalt,
        which: &[usize],
    ) -> Vec<ObjectiveVerdict> {
        let conditions = which.iter().filter_map(|index| self.conditions.get(*index));
        let verdict = |condition: &Condition| ObjectiveVerdict {
            condition: condition.text.clone(),
            run: pending.title.clone(),
            run_index,
            detail: pending.detail.clone(),
            judgement: Judgement::Undecided,
            sentence: halt.of_pending(&pending.title),
            evidence: Vec::new(),
            held_s: None,
            compared: None,
        };
        conditions.filter(|condition| condition.is_about(&pending.title, run_index)).map(verdict).collect()
    }

    /// Judges the conditions at `which` over a run that has ended; the run is forgotten.
    pub fn verdicts(&mut self, run_index: i32, which: &[usize]) -> Vec<ObjectiveVerdict> {
        let Some(mut record) = self.runs.remove(&run_index) else { return Vec::new() };
        record.close(&self.asked);
        if !record.intervals.is_empty() {
            record.sums.resize(self.selectors.len(), Sum::default());
            // A run in which nothing happened did nothing, which is known; whether a part of it was to do anything is not.
            let all = record.sums.iter_mut().zip(&self.selectors).filter(|(_, of)| **of == Selector::default());
            all.for_each(|(sum, _)| sum.sample.present = true);
        }
        record.finish(&self.cpu, &self.asked);
        if let Some((_, to_ns)) = record.measured.last().copied() {
            self.cpu.retain(|point| point.t_ns >= to_ns);
        }
        which
            .iter()
            .filter_map(|index| Some((self.conditions.get(*index)?, *index)))
            .filter(|(condition, _)| condition.is_about(&record.title, run_index))
            .map(|(condition, index)| self.verdict(condition, index, run_index, &record))
            .collect()
    }

    fn verdict(&self, condition: &Condition, index: usize, run_index: i32, record: &Record) -> ObjectiveVerdict {
        let base = self.bases[index];
        let whole = |measured: &Measured| match measured.quantity {
            Quantity::DamagedBlocks => record.damaged.map(|blocks| FigureBounds::exact(blocks as f64)),
            quantity => record.sums.get(base + measured.selector)?.sample.value(quantity),
        };
        let longest = |truth: &Truth| record.longest(truth, base, &self.asked);
        let start_ns = record.start_ns.or(record.intervals.keys().next().copied()).unwrap_or(0);
        let world = World { whole: &whole, longest: &longest, start_ns };
        let mut judgement = world.judgement(&condition.truth);
        let measures = condition.measures();
        let mut reasons = Vec::new();
        match judgement {
            Judgement::Unknown => reasons.push(unknown(&measures, record, &whole)),
            Judgement::Undecided => reasons.push(undecided(&measures, record, &whole)),
            known => world.reasons(&condition.truth, known == Judgement::Missed, &mut reasons),
        }
        reasons.extend(record.pauses());
        let mut sentence = reasons.join("; ");
        if let Some(halt) = record.cut.filter(|_| judgement != Judgement::Missed) {
            // What came true stays true; the rest of the run could have made it so.
            judgement = Judgement::Undecided;
            sentence = format!("{}; until then {sentence}", halt.of_run());
        }
        let held = held(&condition.truth, &longest).filter(|stretch| stretch.length_ns() > 0);
        let seconds = |t_ns: i64| (t_ns - start_ns) as f64 / 1e9;
        ObjectiveVerdict {
            condition: condition.text.clone(),
            run: record.title.clone(),
            run_index,
            detail: record.detail.clone(),
            judgement,
            sentence,
            evidence: world.evidence(&measures),
            held_s: held.map(|stretch| (seconds(stretch.from_ns), seconds(stretch.to_ns))),
            compared: None,
        }
    }
}

/// Why a condition could not be judged.
fn unknown(measures: &[&Measured], record: &Record, whole: &dyn Fn(&Measured) -> Option<FigureBounds>) -> String {
    let is_of_data = |measured: &&Measured| measured.quantity == Quantity::DamagedBlocks;
    if record.intervals.is_empty() && !measures.iter().any(is_of_data) {
        return "nothing was measured".to_string();
    }
    let why = |measured: &&Measured| match is_of_data(measured) {
        true => "no data was compared in it (docs/validation.md)",
        false => "no such operation completed",
    };
    let missing: Vec<String> = measures
        .iter()
        .filter(|measured| whole(measured).is_none())
        .map(|measured| format!("{} was not measured: {}", measured.text, why(measured)))
        .collect();
    if missing.is_empty() { "a divisor was 0".to_string() } else { missing.join("; ") }
}

/// What leaves a condition open.
fn undecided(measures: &[&Measured], record: &Record, whole: &dyn Fn(&Measured) -> Option<FigureBounds>) -> String {
    let open = measures.iter().filter_map(|measured| {
        let figure = whole(measured).filter(|figure| !figure.is_exact())?;
        Some(format!("{} was {}", measured.text, in_words(figure, measured.dimension)))
    });
    let mut words: Vec<String> = open.collect();
    words.dedup();
    words.extend(record.end.unfinished.words());
    words.join("; ")
}

/// The stretch of the first `for` of a tree.
fn held(truth: &Truth, longest: &dyn Fn(&Truth) -> Option<ConditionSpan>) -> Option<ConditionSpan> {
    match truth {
        Truth::Compare(..) => None,
        Truth::And(a, b) | Truth::Or(a, b) => held(a, longest).or_else(|| held(b, longest)),
        Truth::Not(inner) => held(inner, longest),
        Truth::For(inner, ..) => longest(inner),
    }
}

impl Record {
    /// What was left out because iodyno itself did not run, in words.
    fn pauses(&self) -> Option<String> {
        let ended = self.paused.iter().filter(|(_, to)| *to != i64::MAX);
        let length_ns: i64 = ended.map(|(from, to)| to - from).sum();
        (length_ns > 0).then(|| {
            let length = Unit::Seconds.format(Some(length_ns as f64 / 1e9));
            format!("{length} of the run are left out, in which iodyno itself did not run")
        })
    }

    /// Ends the interval under way: its histograms go into the sums, what was asked of it is kept.
    fn close(&mut self, asked: &[(Measured, usize)]) {
        let Some((t_ns, mut samples)) = self.open.take() else { return };
        let Some(interval) = self.intervals.get_mut(&t_ns) else { return };
        let length_ns = interval.length_ns;
        for sample in &mut samples {
            sample.seconds = length_ns as f64 / 1e9;
            sample.stall_ns = if sample.is_stalled() { length_ns } else { 0 };
            sample.has_silence = sample.may_be_stalled();
        }
        // The last selector is that of everything together.
        interval.silent = samples.last().is_some_and(Sample::is_silent);
        for (value, (measured, selector)) in interval.values.iter_mut().zip(asked) {
            *value = samples[*selector].value(measured.quantity).map(|figure| figure.low).or(*value);
        }
        self.sums.resize(samples.len(), Sum::default());
        for (sum, sample) in self.sums.iter_mut().zip(&samples) {
            sum.add(sample, t_ns, length_ns);
        }
    }

    /// The run has ended: exact totals take the place of sums, what is known by time only is added.
    fn finish(&mut self, cpu: &[CpuPoint], asked: &[(Measured, usize)]) {
        let seconds: f64 = self.intervals.values().map(|interval| interval.length_ns as f64 / 1e9).sum();
        let totals = self.whole_totals();
        let selectors = self.sums.len().max(totals.len());
        self.sums.resize(selectors, Sum::default());
        for (place, sum) in self.sums.iter_mut().enumerate() {
            let sample = &mut sum.sample;
            if let Some(exact) = totals.get(place).filter(|exact| exact.present) {
                let rough = std::mem::replace(sample, exact.clone());
                sample.backlog = rough.backlog;
                sample.stall_ns = rough.stall_ns;
                sample.has_silence = rough.has_silence || sample.may_be_stalled();
            }
            sample.seconds = seconds;
            sample.in_flight = (seconds > 0.0).then(|| sum.in_flight_ns / (seconds * 1e9));
            sample.wait = OperationTimes::ended(self.wait.clone());
            if self.end.phase == Some(PHASE) {
                sample.wait.merge(&self.end.wait);
            }
        }
        let share = |point: &CpuPoint| point.used() / 100.0;
        for (t_ns, interval) in &mut self.intervals {
            // Counters are read just after the interval's end.
            let near = cpu.iter().find(|point| point.t_ns >= *t_ns && point.t_ns < t_ns + interval.length_ns / 2);
            let wait = OperationTimes::ended(std::mem::take(&mut interval.wait));
            let sample = Sample { wait, cpu: near.map(share), ..Sample::default() };
            for (value, (measured, _)) in interval.values.iter_mut().zip(asked) {
                if matches!(measured.quantity, Quantity::Cpu | Quantity::Time(Clock::Wait, _)) {
                    *value = sample.value(measured.quantity).map(|figure| figure.low);
                }
            }
        }
        self.fill_idle(asked);
        let window = self.intervals.keys().next().zip(self.intervals.last_key_value());
        if let Some((from_ns, (to_ns, last))) = window {
            let until_ns = to_ns + last.length_ns / 2;
            let within: Vec<f64> =
                cpu.iter().filter(|point| point.t_ns >= *from_ns && point.t_ns < until_ns).map(share).collect();
            let mean = (!within.is_empty()).then(|| within.iter().sum::<f64>() / within.len() as f64);
            self.sums.iter_mut().for_each(|sum| sum.sample.cpu = mean);
        }
    }

    /// What has no row in an interval did nothing in it: its counts are 0 there, as far as they are known of the run.
    fn fill_idle(&mut self, asked: &[(Measured, usize)]) {
        for interval in self.intervals.values_mut() {
            let seconds = interval.length_ns as f64 / 1e9;
            let idle = Sample { present: true, seconds, in_flight: Some(0.0), ..Sample::default() };
            for (value, (measured, selector)) in interval.values.iter_mut().zip(asked) {
                let of_run = self.sums.get(*selector).and_then(|sum| sum.sample.value(measured.quantity));
                if value.is_none() && of_run.is_some() {
                    *value = idle.value(measured.quantity).map(|figure| figure.low);
                }
            }
        }
    }

    /// The exact totals, with what came back after the load had ended or not at all: it was due in the measured phase.
    fn whole_totals(&mut self) -> Vec<Sample> {
        let mut totals = std::mem::take(&mut self.totals);
        if self.end.phase != Some(PHASE) {
            return totals;
        }
        totals.resize(totals.len().max(self.end.open.len()), Sample::default());
        let End { drained, open, .. } = &self.end;
        for late in [drained, open] {
            for (total, late) in totals.iter_mut().zip(late).filter(|(_, late)| late.present) {
                total.present = true;
                total.response.merge(&late.response);
                total.service.merge(&late.service);
                total.count.errors += late.count.errors;
            }
        }
        totals
    }

    /// The longest stretch of consecutive intervals in which a part of a condition holds.
    ///
    /// An interval in which nothing completed although something was waiting has no times to compare; it goes on with
    /// what held before it, and begins nothing. `None` when the part could be judged in no interval.
    fn longest(&self, truth: &Truth, base: usize, asked: &[(Measured, usize)]) -> Option<ConditionSpan> {
        let telling = first(truth);
        let falls =
            telling.is_some_and(|(comparison, ..)| matches!(comparison, Comparison::Less | Comparison::LessOrEqual));
        let (mut best, mut now, mut known): (ConditionSpan, Option<ConditionSpan>, bool) =
            (ConditionSpan::default(), None, false);
        for (t_ns, interval) in &self.intervals {
            let figure = |measured: &Measured| {
                let wanted = |one: &&(usize, &(Measured, usize))| {
                    one.1.1 == base + measured.selector && one.1.0.quantity == measured.quantity
                };
                let (place, _) = asked.iter().enumerate().find(|one| wanted(&one))?;
                interval.values.get(place).copied().flatten().map(FigureBounds::exact)
            };
            let outcome = holds(truth, &figure);
            known |= outcome.is_some();
            let from_ns = t_ns - interval.length_ns;
            let touches = |stretch: &ConditionSpan| from_ns - stretch.to_ns <= interval.length_ns / 10;
            now = match (outcome, now.filter(touches)) {
                (Some(true), before) => {
                    let mut stretch = before.unwrap_or(ConditionSpan { from_ns, to_ns: from_ns, worst: None });
                    let value = telling.and_then(|(_, left, _)| super::sentence::number(&left.number, &figure));
                    let value = value.map(|figure| figure.low);
                    stretch.worst = match (stretch.worst, value) {
                        (Some(a), Some(b)) => Some(if falls { a.min(b) } else { a.max(b) }),
                        (a, b) => a.or(b),
                    };
                    Some(ConditionSpan { to_ns: *t_ns, ..stretch })
                }
                (None, Some(before)) if interval.silent => Some(ConditionSpan { to_ns: *t_ns, ..before }),
                _ => None,
            };
            if let Some(stretch) = now.filter(|stretch| stretch.length_ns() > best.length_ns()) {
                best = stretch;
            }
        }
        known.then_some(best)
    }
}

impl Sum {
    fn add(&mut self, sample: &Sample, t_ns: i64, length_ns: i64) {
        let total = &mut self.sample;
        total.present |= sample.present;
        total.count += sample.count;
        total.data += sample.data;
        total.response.merge(&sample.response);
        total.service.merge(&sample.service);
        total.backlog = total.backlog.known().zip(sample.backlog.known()).map(|(most, now)| most.max(now)).into();
        total.has_silence |= sample.has_silence;
        self.in_flight_ns += sample.in_flight.unwrap_or(0.0) * length_ns as f64;
        if !sample.is_stalled() {
            return;
        }
        let from_ns = t_ns - length_ns;
        let stall = match self.stall {
            Some(stall) if from_ns - stall.to_ns <= length_ns / 10 => Stall { to_ns: t_ns, ..stall },
            _ => Stall { from_ns, to_ns: t_ns },
        };
        total.stall_ns = total.stall_ns.max(stall.length_ns());
        self.stall = Some(stall);
    }
}

/// Judges `conditions` over every run of a recording, and of its plan: what never began is undecided. Runs that only filled the
/// targets are left out. Where nothing was run, over the machine.
///
/// # Errors
/// A recording that cannot be read.
pub fn verdicts(reader: &Reader, conditions: Vec<Condition>) -> Result<Vec<ObjectiveVerdict>, TableReadError> {
    if recorded::is_without_runs(reader)? {
        return recorded::verdicts(reader, &conditions);
    }
    let all: Vec<usize> = (0..conditions.len()).collect();
    judged(reader, conditions, |_, _| all.clone())
}

/// Judges the objectives that a recording was made with, each over the runs that it was set for, begun or not.
///
/// # Errors
/// A recording that cannot be read.
pub fn objectives(reader: &Reader) -> Result<Vec<ObjectiveVerdict>, TableReadError> {
    let (mut conditions, mut places): (Vec<Condition>, BTreeMap<i32, Vec<usize>>) = (Vec::new(), BTreeMap::new());
    for row in reader.table::<Objective>()? {
        // What an older or newer version wrote may not be understood here; its verdict then stays in its table.
        let Ok(condition) = Condition::parse(&row.condition) else { continue };
        let place = conditions.iter().position(|known| *known == condition).unwrap_or_else(|| {
            conditions.push(condition);
            conditions.len() - 1
        });
        let run = places.entry(row.run_index).or_default();
        if !run.contains(&place) {
            run.push(place);
        }
    }
    // A run that was killed has judged nothing.
    let stated: Vec<(usize, Option<String>)> = manifest_conditions(reader.manifest())
        .into_iter()
        .map(|(condition, run)| {
            let place = conditions.iter().position(|known| *known == condition).unwrap_or_else(|| {
                conditions.push(condition);
                conditions.len() - 1
            });
            (place, run)
        })
        .collect();
    if conditions.is_empty() {
        return Ok(Vec::new());
    }
    judged(reader, conditions, |run, title| {
        // Later rounds of a run have its title and their number.
        let is_of = |wanted: &str| title == wanted || base_title(title) == wanted;
        let is_meant = |wanted: &Option<String>| wanted.as_deref().is_none_or(is_of);
        let of_manifest = || stated.iter().filter(|(_, wanted)| is_meant(wanted)).map(|(place, _)| *place).collect();
        places.get(&run).cloned().unwrap_or_else(of_manifest)
    })
}

/// In the manifest: the conditions that a run was to meet, each with the title of the run where it is for one only.
pub const OBJECTIVES: &str = "objectives";
/// What older versions called a condition of the command line among the texts of a run.
const FAIL_IF: &str = "<--fail-if>";

/// The conditions that a recording was made with, by its manifest.
fn manifest_conditions(manifest: &Manifest) -> Vec<(Condition, Option<String>)> {
    let condition = |text: &str| Condition::parse(text).ok();
    let Some(stated) = manifest.extra.get(OBJECTIVES).and_then(|stated| stated.as_array()) else {
        let texts = manifest.sources.iter().filter(|(name, _)| name == FAIL_IF);
        return texts.filter_map(|(_, text)| Some((condition(text)?, None))).collect();
    };
    let one = |entry: &serde_json::Value| {
        Some((condition(entry["condition"].as_str()?)?, entry["run"].as_str().map(str::to_string)))
    };
    stated.iter().filter_map(one).collect()
}

fn judged(
    reader: &Reader,
    conditions: Vec<Condition>,
    which: impl Fn(i32, &str) -> Vec<usize>,
) -> Result<Vec<ObjectiveVerdict>, TableReadError> {
    let mut judge = ConditionJudge::new(conditions);
    let phases = reader.table::<Phase>()?;
    let of = |phase: LoadPhase| phases.iter().filter(move |row| row.phase == phase).map(|row| row.run_index);
    let fillings: BTreeSet<i32> = of(LoadPhase::Format).collect();
    let readings: BTreeSet<i32> = of(LoadPhase::Verify).collect();
    phases.iter().for_each(|row| judge.phase(row));
    for row in reader.rows::<OpInterval>()? {
        judge.operation(&row?);
    }
    for row in reader.rows::<EngineInterval>()? {
        judge.engine(&row?);
    }
    for row in reader.rows::<RunTotal>()? {
        judge.total(&row?);
    }
    for row in reader.rows::<RunEnd>()? {
        judge.end(&row?);
    }
    for row in reader.rows::<DataCheck>()? {
        judge.data(&row?);
    }
    for row in reader.rows::<Cpu>()? {
        judge.cpu(row?);
    }
    // Of the reading at the end only what it found is judged.
    let of_data: Vec<bool> = judge.conditions.iter().map(Condition::asks_of_data).collect();
    let which = |run: i32, title: &str| -> Vec<usize> {
        let is_reading = readings.contains(&run);
        let wanted = which(run, title).into_iter();
        wanted.filter(|index| !is_reading || of_data.get(*index).is_some_and(|is| *is)).collect()
    };
    let runs: Vec<i32> = judge.runs.keys().copied().filter(|run| !fillings.contains(run)).collect();
    let titles: BTreeMap<i32, &Phase> = phases.iter().map(|row| (row.run_index, row)).collect();
    let plan_end = PlanEnd::of(reader);
    if let Some(end) = &plan_end {
        end.cut.iter().for_each(|(run, halt)| judge.cut_short(*run, *halt));
        // The run that was under way.
        let last = runs.last().filter(|run| judge.runs.get(*run).is_some_and(|record| !record.is_over));
        if let (Some(run), Some(halt)) = (last, end.halt) {
            judge.cut_short(*run, halt);
        }
    }
    let title = |run: i32| titles.get(&run).map_or("", |row| row.run.as_str());
    let mut verdicts: Vec<ObjectiveVerdict> =
        runs.iter().flat_map(|run| judge.verdicts(*run, &which(*run, title(*run)))).collect();
    let Some((mut progress, halt)) = plan_end.and_then(|end| Some((end.progress, end.halt?))) else {
        return Ok(verdicts);
    };
    runs.iter().filter_map(|run| titles.get(run)).for_each(|row| progress.begin(&row.run, &row.detail));
    let behind = titles.last_key_value().map_or(0, |(run, _)| run + 1);
    for (run, pending) in (behind..).zip(progress.pending()) {
        verdicts.extend(judge.of_pending(&pending, run, halt, &which(run, &pending.title)));
    }
    Ok(verdicts)
}

/// What the labels of a condition may name in a recording.
///
/// # Errors
/// A recording that cannot be read.
pub fn names(reader: &Reader) -> Result<SelectableNames, TableReadError> {
    if recorded::is_without_runs(reader)? {
        return recorded::names(reader);
    }
    let mut names = SelectableNames::default();
    let add = |list: &mut Vec<String>, name: String| {
        if !list.contains(&name) {
            list.push(name);
        }
    };
    for row in reader.rows::<OpInterval>()? {
        let row = row?;
        add(&mut names.workloads, row.workload);
        add(&mut names.targets, row.target);
        add(&mut names.runs, row.run);
    }
    add_names(reader.manifest(), &mut names);
    Ok(names)
}
