//! The event clock live: who ran, who waited for whom, and what interrupts took from whom.

use rates::counter::delta_opt;
use recording::rows::{CpuEvent, IrqTime, PreemptedBy, ProcessEvent, Stolen};
use recording::{RecordingError, RowBatch};
use std::collections::{BTreeMap, HashMap};
use view::Unit;
use view::{TableColumn, ViewTable};

/// What a table of the event clock is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuBy {
    /// CPUs.
    Cpu,
    /// Processes.
    Process,
    /// Vectors of interrupts, by CPU.
    Interrupt,
    /// Pairs: who was preempted by whom, or woke and waited behind whom.
    Preempted,
    /// Pairs: from whom which interrupt took time.
    Taken,
}

impl CpuBy {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Cpu, Self::Process, Self::Preempted, Self::Interrupt, Self::Taken];

    /// Heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Cpu => "CPUs",
            Self::Process => "processes",
            Self::Interrupt => "interrupts",
            Self::Preempted => "preempted or behind, and by whom",
            Self::Taken => "taken by interrupts, and from whom",
        }
    }

    /// Name for programs.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Cpu => "cpus",
            Self::Process => "processes",
            Self::Interrupt => "interrupts",
            Self::Preempted => "preempted",
            Self::Taken => "taken",
        }
    }
}

/// Names of a row.
type Key = (String, String);
/// Counters of a row; `None` is not counted here.
type Counters = [Option<i64>; 7];

/// Counters of one table: now, and at the interval's begin.
#[derive(Debug, Default)]
struct Rows {
    now: BTreeMap<Key, Counters>,
    mark: HashMap<Key, Counters>,
}

impl Rows {
    /// Growth since the mark. What was not there then began since.
    fn grown(&self) -> Vec<(&Key, [Option<f64>; 7])> {
        let of = |(key, now): (&'_ Key, &Counters)| {
            let before = self.mark.get(key).copied().unwrap_or([Some(0); 7]);
            std::array::from_fn(|at| delta_opt(now[at], before[at]))
        };
        self.now.iter().map(|entry| (entry.0, of(entry))).collect()
    }
}

/// Tables of an interval, or of all of them.
#[derive(Debug, Default)]
pub struct CpuFold {
    cpus: Rows,
    processes: Rows,
    interrupts: Rows,
    preempted: Rows,
    taken: Rows,
}

fn named(pid: i64, comm: &str) -> String {
    format!("{pid} {comm}")
}

impl CpuFold {
    /// Takes a batch of any table.
    ///
    /// # Errors
    /// A column is of another type than the catalogue says.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        let none = String::new;
        for row in batch.to_rows::<CpuEvent>()? {
            let busy = row.idle_irq_ns.map(|irq| row.run_ns + irq);
            let counters = [
                busy,
                row.irq_ns,
                row.softirq_ns,
                row.stolen_ns,
                Some(row.wait_ns),
                Some(row.switches),
                Some(row.preemptions),
            ];
            self.cpus.now.insert((row.cpu, none()), counters);
        }
        for row in batch.to_rows::<ProcessEvent>()? {
            let (run, wait) = (Some(row.run_ns), Some(row.wait_ns));
            let counters = [run, wait, Some(row.switches), Some(row.preemptions), None, None, None];
            self.processes.now.insert((named(row.pid, &row.comm), none()), counters);
        }
        for row in batch.to_rows::<IrqTime>()? {
            let counters = [Some(row.count), Some(row.ns), None, None, None, None, None];
            self.interrupts.now.insert((format!("{} {}", &*row.kind, &*row.vector), row.cpu.to_string()), counters);
        }
        for row in batch.to_rows::<PreemptedBy>()? {
            let name = |pid: i64, comm: &Option<recording::Label>| named(pid, comm.as_deref().unwrap_or("?"));
            let both_ns = row.wait_ns + row.behind_ns.unwrap_or(0);
            let counters = [Some(row.count), Some(row.wait_ns), row.behind, row.behind_ns, Some(both_ns), None, None];
            self.preempted.now.insert((name(row.pid, &row.comm), name(row.by_pid, &row.by_comm)), counters);
        }
        for row in batch.to_rows::<Stolen>()? {
            let counters = [Some(row.count), Some(row.ns), None, None, None, None, None];
            self.taken.now.insert((named(row.pid, &row.comm), format!("{} {}", &*row.kind, &*row.vector)), counters);
        }
        Ok(())
    }

    /// An interval begins here.
    pub fn mark(&mut self) {
        for rows in [&mut self.cpus, &mut self.processes, &mut self.interrupts, &mut self.preempted, &mut self.taken] {
            rows.mark = rows.now.clone().into_iter().collect();
        }
    }

    /// What grew since the mark, over `seconds`, the first `top` rows.
    #[must_use]
    pub fn table(&self, by: CpuBy, seconds: f64, top: usize) -> ViewTable {
        let (rows, order) = match by {
            CpuBy::Cpu => (&self.cpus, None),
            CpuBy::Process => (&self.processes, Some(0)),
            CpuBy::Interrupt => (&self.interrupts, Some(1)),
            CpuBy::Preempted => (&self.preempted, Some(4)),
            CpuBy::Taken => (&self.taken, Some(1)),
        };
        let mut grown = rows.grown();
        if let Some(order) = order {
            grown.retain(|(_, counters)| counters.iter().flatten().any(|value| *value > 0.0));
            grown.sort_by(|a, b| b.1[order].unwrap_or(0.0).total_cmp(&a.1[order].unwrap_or(0.0)));
        } else {
            grown.sort_by_key(|(key, _)| key.0.parse::<u64>().map_or(0, |number| number + 1));
        }
        let omitted = grown.len().saturating_sub(top);
        grown.truncate(top);
        ViewTable { columns: columns(by, &grown, seconds), omitted }
    }
}

fn columns(by: CpuBy, grown: &[(&Key, [Option<f64>; 7])], seconds: f64) -> Vec<TableColumn> {
    let first = |name: &str| TableColumn::text(name, grown.iter().map(|(key, _)| key.0.clone()).collect());
    let second = |name: &str| TableColumn::text(name, grown.iter().map(|(key, _)| key.1.clone()).collect());
    let per_s = |name: &str, at: usize| {
        let rate = |value: Option<f64>| value.filter(|_| seconds > 0.0).map(|value| value / seconds);
        TableColumn::numbers(name, Unit::OpsPerSecond, grown.iter().map(|(_, counters)| rate(counters[at])))
    };
    let share = |name: &str, at: usize| {
        // Of all CPUs, each has its own time.
        let cpus = |key: &Key| if key.0 == "all" { grown.len().saturating_sub(1).max(1) as f64 } else { 1.0 };
        let of = |key: &Key, ns: Option<f64>| ns.filter(|_| seconds > 0.0).map(|ns| ns / seconds / 1e7 / cpus(key));
        TableColumn::numbers(name, Unit::Percent, grown.iter().map(|(key, counters)| of(key, counters[at])))
    };
    let mean = |name: &str, at: usize| {
        let of = |counters: &[Option<f64>; 7]| counters[at].zip(counters[at + 1]).filter(|(count, _)| *count > 0.0);
        let cells = grown.iter().map(|(_, counters)| of(counters).map(|(count, ns)| ns / count));
        TableColumn::numbers(name, Unit::Nanoseconds, cells)
    };
    match by {
        CpuBy::Cpu => vec![
            first("CPU"),
            share("busy", 0),
            share("irq", 1),
            share("softirq", 2),
            share("stolen", 3),
            share("waited for", 4),
            per_s("switches", 5),
            per_s("preempted", 6),
        ],
        CpuBy::Process => {
            vec![first("process"), share("runs", 0), share("waits", 1), per_s("switches", 2), per_s("preempted", 3)]
        }
        CpuBy::Interrupt => {
            vec![first("interrupt"), second("CPU"), per_s("count", 0), share("takes", 1), mean("mean", 0)]
        }
        CpuBy::Preempted => vec![
            first("process"),
            second("by"),
            per_s("count", 0),
            share("waits", 1),
            mean("mean", 0),
            per_s("behind", 2),
            share("waits behind", 3),
            mean("mean behind", 2),
        ],
        CpuBy::Taken => vec![first("process"), second("by"), per_s("count", 0), share("loses", 1), mean("mean", 0)],
    }
}
