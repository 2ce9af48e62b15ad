//! From figures per second to counters: the values of one thing, section by section, step by step in time.
//!
//! A rate times the length of its interval is what the counter grew by. Sums are kept with their fractions and rounded when
//! a row is made, so that no rounding adds up: a difference of two rows is off by less than one, and the whole by less
//! than one.

use super::columns::{How, Spec, Subject};
use super::parsed_file::{Section, Series};
use super::resolve_times::Placed;
use std::collections::{BTreeMap, BTreeSet};

/// Cumulative values of a thing, by column of its table; a column without values is not in it.
pub(super) type Sums = BTreeMap<&'static str, f64>;

/// What a table holds: nearly 2⁶³. Above 2⁵³ sums have a step of up to 1,024, which is 1,024 ns of a century of CPU time;
/// held below that, a day of 128 busy CPUs would not fit.
pub(super) const COUNTER_MAX: f64 = 9.2e18;

/// Requests per second at which their time in ms and the length of the queue are equally fine.
const EVEN_RATE: f64 = 1000.0;

/// What one section tells of a thing.
pub(super) struct Lane<'a> {
    section: &'a Section,
    series: &'a Series,
    times: &'a [i64],
    step_ns: i64,
    /// Columns that this lane fills: column, meaning.
    specs: Vec<(usize, &'static Spec)>,
    /// Of rates that are per cent of all CPUs.
    scale: f64,
    leaves_out_idle: bool,
    subject: Subject,
}

/// One step of a lane.
#[derive(Clone, Copy, Debug)]
struct Step {
    t_ns: i64,
    /// Length of the interval; 0 for a moment with no interval before it.
    interval_ns: i64,
    /// Row of the series; none: nothing happened.
    row: Option<usize>,
    /// What happened before is not known: counters begin anew, lower than they were, as after a restart.
    is_anew: bool,
}

impl<'a> Lane<'a> {
    pub(super) fn new(file: &'a Placed, at: usize, thing: &str, taken: &mut BTreeSet<&'static str>) -> Option<Self> {
        let section = &file.parsed.sections[at];
        let subject = section.subject?;
        let series = section.series.get(thing)?;
        let width = section.columns.len().max(1);
        let has_values = |column: usize| series.cells.iter().skip(column).step_by(width).any(|value| !value.is_nan());
        let specs: Vec<(usize, &'static Spec)> = section
            .columns
            .iter()
            .enumerate()
            .flat_map(|(column, of)| of.specs.iter().map(move |spec| (column, *spec)))
            .filter(|(column, spec)| spec.how.fills() && !taken.contains(spec.key) && has_values(*column))
            .collect();
        taken.extend(specs.iter().map(|(_, spec)| spec.key));
        let of_all = subject == Subject::Cpu && thing == "all";
        Some(Self {
            section,
            series,
            times: &file.times[at],
            step_ns: file.steps[at],
            specs,
            scale: if of_all { file.parsed.cpus.unwrap_or(1.0) } else { 1.0 },
            leaves_out_idle: file.parsed.leaves_out_idle || section.leaves_out_idle(),
            subject,
        })
    }

    /// Its steps in time.
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::with_capacity(self.series.blocks.len() + 1);
        let blocks = &self.section.blocks;
        let is_only = blocks.len() == 1;
        let anew = |t_ns: i64, row: Option<usize>| Step { t_ns, interval_ns: 0, row, is_anew: true };
        let length =
            |block: usize, row| Step { t_ns: self.times[block], interval_ns: self.length(block), row, is_anew: false };
        let idle = |block: usize| {
            if blocks[block].is_start { anew(self.times[block], None) } else { length(block, None) }
        };
        // Idle things have rows where nothing is left out; of processes, a row says that they did something.
        let fills_in = self.leaves_out_idle && self.subject != Subject::Process;
        if self.counters().next().is_none() {
            // Values of moments, and counters that count from elsewhere.
            let moment = |(row, block): (usize, &u32)| Step {
                t_ns: self.times[*block as usize],
                interval_ns: 0,
                row: Some(row),
                is_anew: false,
            };
            return self.series.blocks.iter().enumerate().map(moment).collect();
        }
        let mut next = 0;
        for (row, block) in self.series.blocks.iter().enumerate() {
            let block = *block as usize;
            if fills_in {
                steps.extend((next..block).map(idle));
            }
            if blocks[block].is_start && !is_only {
                steps.push(anew(self.times[block], Some(row)));
                next = block + 1;
                continue;
            }
            match block.checked_sub(1) {
                None => steps.push(anew(self.times[0].saturating_sub(self.step_ns), None)),
                Some(_) if fills_in || (next > 0 && next == block) => {}
                Some(before) if self.subject != Subject::Process || blocks[before].is_start => {
                    steps.push(anew(self.times[before], None));
                }
                Some(_) => {}
            }
            steps.push(length(block, Some(row)));
            next = block + 1;
        }
        if fills_in {
            steps.extend((next..blocks.len()).map(idle));
        }
        steps
    }

    /// Counters that it fills.
    fn counters(&self) -> impl Iterator<Item = &'static str> {
        self.specs
            .iter()
            .filter(|(_, spec)| !matches!(spec.how, How::Gauge(_) | How::Total(_)))
            .map(|(_, spec)| spec.key)
    }

    /// Length of a block's interval, ns.
    fn length(&self, block: usize) -> i64 {
        match block.checked_sub(1) {
            Some(before) => self.times[block].saturating_sub(self.times[before]),
            None => self.step_ns,
        }
    }

    /// A figure of a row, where it is known.
    fn cell(&self, row: usize, column: usize) -> Option<f64> {
        let width = self.section.columns.len();
        self.series.cells.get(row * width + column).copied().filter(|value| !value.is_nan())
    }

    /// In how many of its rows is something not known that would make a counter grow?
    fn unknown_rows(&self) -> usize {
        let is_unknown = |row: usize| self.specs.iter().any(|(column, _)| self.cell(row, *column).is_none());
        (0..self.series.blocks.len()).filter(|row| is_unknown(*row)).count()
    }

    /// Adds what a step tells. True when something is beyond what a table holds: it stays there. And the counters of which
    /// the row does not say what they grew by.
    fn apply(&self, step: Step, sums: &mut Sums) -> (bool, Vec<&'static str>) {
        let Some(row) = step.row else { return (false, Vec::new()) };
        let mut is_clipped = false;
        let cell = |column: usize| self.cell(row, column);
        let seconds = step.interval_ns as f64 / 1e9;
        let mut grown: Sums = BTreeMap::new();
        let mut gauges: Sums = BTreeMap::new();
        let (mut wait_ms, mut queue, mut rounding) = (None, None, 0.0);
        for (column, spec) in &self.specs {
            let Some(value) = cell(*column) else { continue };
            let add = |sum: Option<f64>, value: f64| Some(sum.unwrap_or(0.0) + value);
            match spec.how {
                How::Rate(scale) => *grown.entry(spec.key).or_default() += value * scale * self.scale * seconds,
                How::Total(scale) | How::Gauge(scale) => *gauges.entry(spec.key).or_default() += value * scale,
                How::Wait => wait_ms = add(wait_ms, value),
                How::InQueue(half_a_digit) => {
                    queue = add(queue, value);
                    rounding += half_a_digit;
                }
                How::PerOp(..) | How::Redundant => {}
            }
        }
        for (column, spec) in &self.specs {
            if let (How::PerOp(of, scale), Some(value)) = (spec.how, cell(*column)) {
                *grown.entry(spec.key).or_default() += value * scale * grown.get(of).copied().unwrap_or(0.0);
            }
        }
        // Little's law, where it gives more digits of the printed queue. Both are printed with the same digits: below 1,000
        // requests per second the time of a request (ms) times their rate is the finer. Where it says something else than
        // was printed (the queue holds flushes and what has not ended as well), what was printed holds. And where the
        // tool prints times by kind, the queue is needed for nothing else.
        let is_by_kind = grown.contains_key("read_ticks_ms") || grown.contains_key("write_ticks_ms");
        let of = |key: &str| grown.get(key).copied();
        let by_kind = [of("read_ios"), of("write_ios"), of("discard_ios")].into_iter().flatten().reduce(|a, b| a + b);
        let ios = of("any_ios").or(by_kind);
        let in_queue_ms = match (wait_ms, queue) {
            (Some(wait_ms), None) => ios.map(|ios| wait_ms * ios),
            (Some(wait_ms), Some(queue))
                if !is_by_kind && ios.is_some_and(|ios| ios > 0.0 && ios < EVEN_RATE * seconds) =>
            {
                let finer_ms = ios.map(|ios| wait_ms * ios);
                let is_printed = |ms: &f64| (ms / (seconds * 1e3) - queue).abs() <= rounding;
                finer_ms.filter(is_printed).or(Some(queue * seconds * 1e3))
            }
            (_, Some(queue)) => Some(queue * seconds * 1e3),
            (None, None) => None,
        };
        grown.extend(in_queue_ms.map(|ms| ("weighted_ticks_ms", ms)));
        let mut unknown: Vec<&'static str> = self.counters().filter(|key| !grown.contains_key(key)).collect();
        unknown.dedup();
        for (key, value) in grown {
            let sum = sums.entry(key).or_default();
            *sum = (*sum + value).max(0.0);
            is_clipped |= *sum > COUNTER_MAX;
            *sum = sum.min(COUNTER_MAX);
        }
        is_clipped |= gauges.values().any(|value| *value > COUNTER_MAX);
        // What was known before is not what holds now.
        let of_moments = self.specs.iter().filter(|(_, spec)| matches!(spec.how, How::Gauge(_) | How::Total(_)));
        of_moments.for_each(|(_, spec)| {
            sums.remove(spec.key);
        });
        sums.extend(gauges);
        (is_clipped, unknown)
    }
}

/// A thing's rows, one after the other.
pub(super) struct Thing<'a> {
    pub(super) name: String,
    lanes: Vec<Lane<'a>>,
    /// What the counters of each lane began with last; it falls by one each time that they begin anew.
    begins: Vec<f64>,
    /// By time, latest first.
    steps: Vec<(Step, usize)>,
    sums: Sums,
    /// Something of it was beyond what a table holds.
    pub(super) is_clipped: bool,
}

impl<'a> Thing<'a> {
    pub(super) fn new(name: &str, lanes: Vec<Lane<'a>>) -> Self {
        let mut steps: Vec<(Step, usize)> = Vec::new();
        let (mut sums, mut begins) = (Sums::new(), Vec::new());
        for (number, lane) in lanes.iter().enumerate() {
            let of_lane = lane.steps();
            let begin = (of_lane.iter().filter(|step| step.is_anew).count() + lane.unknown_rows()) as f64;
            steps.extend(of_lane.into_iter().map(|step| (step, number)));
            sums.extend(lane.counters().map(|key| (key, begin)));
            begins.push(begin);
        }
        // The same time may end one interval and begin the next: what grew is added first.
        steps.sort_by_key(|(step, number)| std::cmp::Reverse((step.t_ns, step.is_anew, *number)));
        Self { name: name.to_string(), lanes, begins, steps, sums, is_clipped: false }
    }

    /// Time of the next row.
    pub(super) fn next_ns(&self) -> Option<i64> {
        self.steps.last().map(|(step, _)| step.t_ns)
    }

    /// Its time and values.
    pub(super) fn next(&mut self) -> Option<(i64, &Sums)> {
        let t_ns = self.next_ns()?;
        while let Some((step, number)) = self.steps.pop_if(|(step, _)| step.t_ns == t_ns) {
            if step.is_anew {
                self.begins[number] -= 1.0;
                self.sums.extend(self.lanes[number].counters().map(|key| (key, self.begins[number])));
            }
            let (is_clipped, unknown) = self.lanes[number].apply(step, &mut self.sums);
            self.is_clipped |= is_clipped;
            // A counter that stayed where it was would say that nothing happened: it falls, as one that begins anew.
            if !unknown.is_empty() && !step.is_anew {
                self.begins[number] -= 1.0;
                self.sums.extend(unknown.into_iter().map(|key| (key, self.begins[number])));
            }
        }
        Some((t_ns, &self.sums))
    }

    /// A value that holds all the time.
    pub(super) fn set(&mut self, key: &'static str, value: f64) {
        self.sums.insert(key, value);
    }
}
