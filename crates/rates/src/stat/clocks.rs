//! CPU time by two clocks in one view: the tick, which charges whole ticks to whom it finds running, and events, which say
//! exactly when a task ran. What works between two ticks and sleeps across them is seen by the second one only.

use super::FigureDigits::Fixed;
use super::seen_keys::{KNOWN, began_since, forget};
use super::{CounterSubject, StatBlock, StatColumn, StatRow, Stream, columns};
use crate::counter::{CounterStep, share_percent};
use crate::cpu_time::CpuEventDelta;
use crate::irq_time::IrqDelta;
use recording::rows::{Cpu, CpuEvent, Process, ProcessEvent, Stolen};
use recording::{RecordingError, RowBatch};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Shares of the time that passed on a CPU; of `all`, of the time of all CPUs.
pub(super) const CPU: &[StatColumn] = columns! {
    "tick_busy_percent" "~%busy" Fixed(2), "busy as the tick sees it: all but idle and iowait";
    "event_busy_percent" "%busy" Fixed(2), "busy by event: tasks, and interrupts that came while none ran";
    "difference_points" "diff" Fixed(2), "event − tick, in points: what the tick did not see";
    "run_percent" "%run" Fixed(2), "tasks by event, interrupts that came meanwhile included";
    "irq_percent" "%irq" Fixed(2), "handlers of interrupts by event";
    "softirq_percent" "%soft" Fixed(2), "soft interrupts by event";
    "stolen_percent" "%stolen" Fixed(2), "of both: taken from a task that was running";
    "wait_percent" "%wait" Fixed(2), "time that ready tasks waited before they ran here; several wait at once";
    "switches_per_s" "cswch/s" Fixed(0), "switches from one task to another per second";
    "preemptions_per_s" "preempt/s" Fixed(0), "preempted tasks per second";
};

/// Of one CPU each.
pub(super) const PROCESS: &[StatColumn] = columns! {
    "pid" "PID" Fixed(0), "number of the process";
    "proc_percent" "%/proc" Fixed(2), "user mode and kernel as /proc tells it, in steps of 10 ms; ? when it was never found there";
    "event_percent" "%CPU" Fixed(2), "run time by event";
    "difference_points" "diff" Fixed(2), "event − /proc, in points";
    "wait_percent" "%wait" Fixed(2), "ready to run, and on no CPU; threads add up";
    "stolen_percent" "%stolen" Fixed(2), "of the run time: taken by interrupts";
    "switches_per_s" "cswch/s" Fixed(0), "times per second that a thread left its CPU by its own will";
    "preemptions_per_s" "nvcswch/s" Fixed(0), "times per second that a thread was preempted";
};

/// `cpu` and `cpu_event`, CPU by CPU.
#[derive(Default)]
pub(super) struct Cpus {
    tick: Pair<Cpu>,
    event: Pair<CpuEvent>,
}

/// The samples before and now, by name.
struct Pair<R> {
    before: HashMap<String, R>,
    now: Vec<R>,
}

impl<R> Default for Pair<R> {
    fn default() -> Self {
        Self { before: HashMap::new(), now: Vec::new() }
    }
}

impl<R: Clone> Pair<R> {
    /// What has both ends, with its figures; the newer ends become the older ones.
    fn steps<T>(&mut self, name: fn(&R) -> &str, of: impl Fn(&CounterStep<'_, R>) -> T) -> BTreeMap<String, T> {
        let mut out = BTreeMap::new();
        for row in &self.now {
            if let Some(before) = self.before.get(name(row)) {
                out.insert(name(row).to_string(), of(&CounterStep { before: Some(before), now: row, seconds: 0.0 }));
            }
        }
        self.before = self.now.drain(..).map(|row| (name(&row).to_string(), row)).collect();
        out
    }
}

impl Stream for Cpus {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.tick.now.extend(batch.to_rows::<Cpu>()?);
        self.event.now.extend(batch.to_rows::<CpuEvent>()?);
        Ok(())
    }

    fn commit(&mut self) -> Option<StatBlock> {
        let t_ns = self.tick.now.iter().map(|row| row.t_ns).chain(self.event.now.iter().map(|row| row.t_ns)).max()?;
        let length = |now: i64, before: i64| (now - before) as f64 / 1e9;
        let ticks = self.tick.steps(
            |row| &row.cpu,
            |step| {
                let seconds = step.before.map_or(0.0, |before| length(step.now.t_ns, before.t_ns));
                // The column of all that is busy stands last.
                (super::Figures::values(&super::cpu::Figures, step).last().copied().flatten(), seconds)
            },
        );
        let events = self.event.steps(|row| &row.cpu, event_values);
        let mut names: Vec<&String> = ticks.keys().chain(events.keys()).collect();
        names.sort_by_key(|name| (name.parse::<u32>().map_or(0, |number| u64::from(number) + 1), (*name).clone()));
        names.dedup();
        let seconds = ticks.values().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
        let row = |name: &String| {
            let tick = ticks.get(name).and_then(|(busy, _)| *busy);
            let mut values = vec![tick];
            let event = events.get(name).cloned().unwrap_or_else(|| vec![None; CPU.len() - 2]);
            let difference = event.first().copied().flatten().zip(tick).map(|(event, tick)| event - tick);
            values.extend(event.first().copied());
            values.push(difference);
            values.extend(event.into_iter().skip(1));
            StatRow { name: name.clone(), values, texts: Vec::new() }
        };
        let rows: Vec<StatRow> = names.into_iter().map(row).collect();
        (!rows.is_empty()).then_some(StatBlock {
            subject: CounterSubject::CpuClock,
            t_ns,
            seconds,
            since_boot: false,
            rows,
        })
    }
}

/// Busy, and what stands behind the difference.
fn event_values(step: &CounterStep<'_, CpuEvent>) -> Vec<Option<f64>> {
    let delta = step.before.map_or_else(CpuEventDelta::default, |before| CpuEventDelta::of(step.now, before));
    vec![
        delta.percent(delta.busy()),
        delta.percent(delta.run),
        delta.percent(delta.irq),
        delta.percent(delta.softirq),
        delta.percent(delta.stolen),
        delta.percent(delta.wait),
        delta.per_s(delta.switches),
        delta.per_s(delta.preemptions),
    ]
}

/// `process`, `process_event` and `stolen`, process by process, the busiest by event first.
#[derive(Default)]
pub(super) struct Processes {
    now: [Vec<Used>; 2],
    /// How often, and how long, by process and vector.
    stolen: Vec<(i64, String, (i64, i64))>,
    before: [HashMap<(i64, i64), Used>; 2],
    /// With the time of its last row.
    stolen_before: HashMap<(i64, String), ((i64, i64), i64)>,
    /// Something was forgotten: what is not known may be old.
    forgot: [bool; 3],
    /// Processes that were ever found in `/proc`.
    found: HashSet<i64>,
    has_irq: bool,
    has_events: bool,
    before_ns: Option<i64>,
    newest_ns: Option<i64>,
}

/// Counters of a process by either clock.
#[derive(Clone, Debug)]
struct Used {
    pid: i64,
    start_ns: i64,
    comm: String,
    cpu_ns: Option<i64>,
    wait_ns: Option<i64>,
    switches: Option<i64>,
    preemptions: Option<i64>,
    t_ns: i64,
}

/// Growth of CPU time, of waiting time (ns), of switches and preemptions; `None` where it is not known.
type Growth = [Option<f64>; 4];

const STOLEN: usize = 2;
const TICK: usize = 0;
const EVENT: usize = 1;

impl Processes {
    /// `joins`: what comes is not the beginning of a recording: of a process that is first met it is not known what it used
    /// before.
    pub(super) fn new(joins: bool) -> Self {
        Self { forgot: [joins; 3], ..Self::default() }
    }
}

impl Stream for Processes {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        for row in batch.to_rows::<Process>()? {
            self.newest_ns = self.newest_ns.max(Some(row.t_ns));
            self.found.insert(row.pid);
            self.now[TICK].push(Used {
                pid: row.pid,
                start_ns: row.start_ns.unwrap_or(0),
                comm: row.comm,
                cpu_ns: row.user_ns.zip(row.system_ns).map(|(user_ns, system_ns)| user_ns + system_ns),
                wait_ns: None,
                switches: None,
                preemptions: None,
                t_ns: row.t_ns,
            });
        }
        for row in batch.to_rows::<ProcessEvent>()? {
            self.newest_ns = self.newest_ns.max(Some(row.t_ns));
            self.now[EVENT].push(Used {
                pid: row.pid,
                start_ns: row.start_ns,
                comm: row.comm.to_string(),
                cpu_ns: Some(row.run_ns),
                wait_ns: Some(row.wait_ns),
                switches: Some(row.switches),
                preemptions: Some(row.preemptions),
                t_ns: row.t_ns,
            });
        }
        for row in batch.to_rows::<Stolen>()? {
            self.stolen.push((row.pid, format!("{} {}", &*row.kind, &*row.vector), (row.count, row.ns)));
        }
        for row in batch.to_rows::<CpuEvent>()? {
            self.has_events = true;
            self.has_irq = row.stolen_ns.is_some();
        }
        Ok(())
    }

    fn commit(&mut self) -> Option<StatBlock> {
        let t_ns = self.newest_ns.take()?;
        let since_ns = self.before_ns.replace(t_ns);
        let is_first = since_ns.is_none();
        let seconds = since_ns.map_or(0.0, |since_ns| (t_ns - since_ns) as f64 / 1e9);
        let mut found: BTreeMap<i64, (String, [Option<Growth>; 2])> = BTreeMap::new();
        for clock in [TICK, EVENT] {
            for row in self.now[clock].drain(..) {
                let is_new = since_ns.is_some_and(|since_ns| began_since(row.start_ns, since_ns));
                // One that began since then has used in this interval all that it has used.
                let grown = match self.before[clock].insert((row.pid, row.start_ns), row.clone()) {
                    Some(before) => row.since(Some(&before)),
                    None if is_new || !self.forgot[clock] => row.since(None),
                    None => [None; 4],
                };
                let entry = found.entry(row.pid).or_default();
                entry.0 = row.comm;
                entry.1[clock] = Some(grown);
            }
        }
        let stolen = self.take_stolen(t_ns);
        self.forget();
        if is_first || seconds <= 0.0 {
            return None;
        }
        let mut rows: Vec<StatRow> =
            found.into_iter().map(|(pid, (name, used))| self.row(pid, name, &used, &stolen, seconds)).collect();
        let busy = |row: &StatRow| row.values[2].or(row.values[1]).unwrap_or(0.0);
        rows.sort_by(|a, b| busy(b).total_cmp(&busy(a)));
        let block = StatBlock { subject: CounterSubject::ProcessClock, t_ns, seconds, since_boot: false, rows };
        (!block.rows.is_empty()).then_some(block)
    }
}

impl Processes {
    /// By process; `None` where it is not known.
    fn take_stolen(&mut self, t_ns: i64) -> HashMap<i64, Option<f64>> {
        let mut grown: HashMap<i64, Option<f64>> = HashMap::new();
        for (pid, vector, now) in self.stolen.drain(..) {
            let before = self.stolen_before.insert((pid, vector), (now, t_ns)).map(|(before, _)| before);
            let before = if self.forgot[STOLEN] { before } else { Some(before.unwrap_or_default()) };
            let taken_ns = before.map(|before| IrqDelta::or_restart(now, before).time_ns as f64);
            let sum = grown.entry(pid).or_insert(Some(0.0));
            *sum = sum.zip(taken_ns).map(|(sum, taken_ns)| sum + taken_ns);
        }
        grown
    }

    fn forget(&mut self) {
        for (before, forgot) in self.before.iter_mut().zip(&mut self.forgot) {
            *forgot |= forget(before, |used| used.t_ns);
        }
        self.forgot[STOLEN] |= forget(&mut self.stolen_before, |(_, t_ns)| *t_ns);
        if self.found.len() > KNOWN {
            self.found = self.before[TICK].keys().map(|(pid, _)| *pid).collect();
        }
    }

    fn row(
        &self,
        pid: i64,
        name: String,
        used: &[Option<Growth>; 2],
        stolen: &HashMap<i64, Option<f64>>,
        seconds: f64,
    ) -> StatRow {
        let nothing = |is_known: bool| is_known.then_some(0.0);
        let share = |ns: Option<f64>| share_percent(ns?, seconds);
        let tick = match &used[TICK] {
            Some([cpu, ..]) => share(*cpu),
            None => nothing(self.found.contains(&pid)),
        };
        let of = |at: usize| match &used[EVENT] {
            Some(growth) => growth[at],
            None => nothing(self.has_events),
        };
        let per_s = |count: Option<f64>| count.map(|count| count / seconds);
        let event = share(of(0));
        let values = vec![
            Some(pid as f64),
            tick,
            event,
            event.zip(tick).map(|(event, tick)| event - tick),
            share(of(1)),
            share(stolen.get(&pid).copied().unwrap_or(Some(0.0)).filter(|_| self.has_irq)),
            per_s(of(2)),
            per_s(of(3)),
        ];
        StatRow { name, values, texts: Vec::new() }
    }
}

impl Used {
    /// What it used since; without a row before, it began since.
    fn since(&self, before: Option<&Self>) -> Growth {
        let step = CounterStep { now: self, before, seconds: 0.0 };
        [
            step.delta_opt(|used| used.cpu_ns),
            step.delta_opt(|used| used.wait_ns),
            step.delta_opt(|used| used.switches),
            step.delta_opt(|used| used.preemptions),
        ]
    }
}
