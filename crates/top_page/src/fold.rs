//! From samples to moments.

use quantity::histogram::Histogram;
use rates::counter::{delta, delta_opt};
use rates::io_errors::{EOPNOTSUPP, failed_since, is_lacking};
use rates::irq_time::IrqDelta;
use rates::stat::{CounterSubject, StatBlock, StatFold, StatOptions, StatRow};
use recording::rows::{
    self, Cpu, Event, Exited, FileInterval, Interrupt, IoError, IoInterval, IoPlace, IrqTime, Listener, Memory,
    NicCounter, Profile, RequestInterval, RunQueue, Stolen,
};
use recording::{EventClass, EventKind, RecordingError, Row, RowBatch, Sink};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What the page has figures of.
const SUBJECTS: [CounterSubject; 12] = [
    CounterSubject::Cpu,
    CounterSubject::System,
    CounterSubject::Memory,
    CounterSubject::Pressure,
    CounterSubject::Disk,
    CounterSubject::Net,
    CounterSubject::Tcp,
    CounterSubject::Udp,
    CounterSubject::Process,
    CounterSubject::CpuClock,
    CounterSubject::ProcessClock,
    CounterSubject::Cgroup,
];

/// After so many moments in a row without CPU time by event, the probes are gone: what comes later is of probes that
/// were loaded anew. One alone may be without, where its rows are of the moment beside it.
const UNTIMED_MAX: u32 = 2;

/// Processes and vectors that are remembered.
const VICTIMS_MAX: usize = 20_000;

/// Everything that the page shows of one sample.
#[derive(Clone, Debug, Default)]
pub struct PageInterval {
    /// When it was taken, `CLOCK_MONOTONIC`.
    pub t_ns: i64,
    /// Since the sample before.
    pub seconds: f64,
    blocks: Vec<StatBlock>,
    /// Tasks that ended in it, by name.
    pub ended: Vec<EndedTasks>,
    /// Interrupts that are frequent.
    pub interrupts: Vec<InterruptRate>,
    /// Time in their handlers by event, where that is measured.
    pub handlers: Vec<HandlerTime>,
    /// Time that interrupts took from processes by event, where that is measured.
    pub victims: Vec<InterruptVictim>,
    /// Counters of interfaces' drivers.
    pub nics: Vec<NicRate>,
    /// Block I/O by device, operation, process and file.
    pub ios: Vec<IoInterval>,
    /// Where on devices it was.
    pub places: Vec<IoPlace>,
    /// Reads and writes of files.
    pub files: Vec<FileInterval>,
    /// What programs were at.
    pub stacks: Vec<Profile>,
    /// How long servers took for answers, on ports that were watched.
    pub requests: Vec<RequestInterval>,
    /// How long tasks were ready before they ran, where that is measured.
    pub run_waits: Option<Histogram>,
    /// TCP sockets with a queue.
    pub listeners: Vec<Listener>,
    /// Processes killed for lack of memory in it.
    pub oom_kills: Option<f64>,
    /// Usable memory, MiB.
    pub memory_mib: Option<f64>,
    /// How CPU time was measured: `tick`, `event`.
    pub clock: Option<String>,
    /// I/O errors in the kernel log; `None`: the log cannot be read.
    pub io_errors: Option<i64>,
    /// I/Os that failed, by device, counted one by one.
    pub failures: BTreeMap<String, i64>,
    /// Devices on which something went wrong, and not only what they cannot do.
    pub failing: BTreeSet<String>,
    /// Single I/Os are followed, and those that fail are counted.
    pub counts_failures: bool,
    /// What was lost, missed or could not be counted.
    pub lost: i64,
    /// What was said.
    pub events: Vec<Event>,
}

/// Tasks of one name that ended within an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTasks {
    /// Name.
    pub comm: String,
    /// How many processes.
    pub processes: i64,
    /// CPU time that they used in it, of one CPU.
    pub cpu_percent: f64,
    /// They had begun before it: of the CPU time of their lives, it has the share that it has of their lives.
    pub is_estimate: bool,
}

/// Interrupts of one kind on one CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct InterruptRate {
    /// `irq` or `softirq`.
    pub kind: String,
    /// Number and name.
    pub vector: String,
    /// CPU.
    pub cpu: i32,
    /// Per second, since its last row; `None` when the counter ran backwards.
    pub per_s: Option<f64>,
}

/// Time in the handlers of one vector on one CPU, since its last row.
#[derive(Clone, Debug, PartialEq)]
pub struct HandlerTime {
    /// `irq` or `softirq`.
    pub kind: String,
    /// Number and name.
    pub vector: String,
    /// CPU.
    pub cpu: i32,
    /// How often per second.
    pub per_s: f64,
    /// Of the CPU's time.
    pub percent: f64,
    /// The longest since the probe began, ns.
    pub max_ns: i64,
}

/// Time that one vector took from one process.
#[derive(Clone, Debug, PartialEq)]
pub struct InterruptVictim {
    /// Process.
    pub pid: i64,
    /// Its name.
    pub comm: String,
    /// `irq` or `softirq`.
    pub kind: String,
    /// Number and name.
    pub vector: String,
    /// How often since its last row.
    pub count: i64,
    /// Time since its last row, ns.
    pub ns: i64,
}

/// A counter of an interface's driver.
#[derive(Clone, Debug, PartialEq)]
pub struct NicRate {
    /// Interface.
    pub interface: String,
    /// What its driver calls it.
    pub name: String,
    /// Per second, since its last row.
    pub per_s: f64,
}

impl PageInterval {
    /// I/Os of a device that failed, counted one by one.
    pub(super) fn failed(&self, device: &str) -> i64 {
        let counted = self.failures.get(device).copied();
        let of_it = || self.ios.iter().filter(|row| *row.dev == *device).filter_map(|row| row.errors).sum();
        counted.unwrap_or_else(of_it)
    }

    /// Figures of a subject.
    #[must_use]
    pub fn block(&self, subject: CounterSubject) -> Option<&StatBlock> {
        self.blocks.iter().find(|block| block.subject == subject)
    }

    /// A figure of the thing of this name; an empty name is the first thing.
    #[must_use]
    pub fn figure(&self, subject: CounterSubject, name: &str, key: &str) -> Option<f64> {
        let block = self.block(subject)?;
        let row = block.rows.iter().find(|row| name.is_empty() || row.name == name)?;
        block.value(row, key)
    }

    /// Things of a subject with one of their figures.
    pub(crate) fn each<'a>(
        &'a self,
        subject: CounterSubject,
        key: &'static str,
    ) -> impl Iterator<Item = (&'a StatRow, Option<f64>)> {
        let block = self.block(subject);
        block.into_iter().flat_map(move |block| block.rows.iter().map(move |row| (row, block.value(row, key))))
    }
}

/// Makes moments: give it batches with [`Sink::accept`], and end each sample with [`Sink::commit`].
#[derive(Debug)]
pub struct PageFold {
    stat: StatFold,
    next: PageInterval,
    newest_ns: Option<i64>,
    before_ns: Option<i64>,
    /// When the first moment was.
    began_ns: Option<i64>,
    interrupts: HashMap<<Interrupt as Row>::Key, (i64, i64)>,
    /// Time, count and duration of the last row.
    handlers: HashMap<<IrqTime as Row>::Key, (i64, i64, i64)>,
    /// Time, count and duration of the last row.
    stolen: HashMap<<Stolen as Row>::Key, (i64, i64, i64)>,
    /// What a process lost before it was first met is not known.
    joins: bool,
    nics: HashMap<<NicCounter as Row>::Key, (i64, i64)>,
    /// When drivers' counters were last looked at, and now.
    nics_ns: (Option<i64>, Option<i64>),
    /// Moments in a row without CPU time by event, and whether the next one has it.
    untimed: u32,
    is_timed: bool,
    oom_kills: Option<i64>,
    /// By device, operation, error, process and file: failures in the last row.
    failed: HashMap<<IoError as Row>::Key, i64>,
    reads_log: bool,
    done: Vec<PageInterval>,
}

impl Default for PageFold {
    fn default() -> Self {
        Self::new(false)
    }
}

impl PageFold {
    /// Nothing yet. `joins`: what comes is not the beginning of a recording, so that a process that is first met had a
    /// life before.
    #[must_use]
    pub fn new(joins: bool) -> Self {
        let options = StatOptions { joins, ..StatOptions::default() };
        Self {
            stat: StatFold::new(&SUBJECTS, &options),
            next: PageInterval::default(),
            newest_ns: None,
            before_ns: None,
            began_ns: None,
            interrupts: HashMap::new(),
            handlers: HashMap::new(),
            stolen: HashMap::new(),
            joins,
            nics: HashMap::new(),
            nics_ns: (None, None),
            untimed: 0,
            is_timed: false,
            oom_kills: None,
            failed: HashMap::new(),
            reads_log: true,
            done: Vec::new(),
        }
    }

    /// The moments since the last call.
    pub fn take(&mut self) -> Vec<PageInterval> {
        std::mem::take(&mut self.done)
    }

    fn interrupts(&mut self, rows: Vec<Interrupt>) {
        for row in rows {
            let now = (row.t_ns, row.count);
            let key = row.key();
            if let Some((t_ns, count)) = self.interrupts.insert(key.clone(), now) {
                let seconds = (now.0 - t_ns) as f64 / 1e9;
                if seconds > 0.0 {
                    let (kind, vector, cpu) = key;
                    let per_s = delta(now.1, count).map(|grown| grown / seconds);
                    let (kind, vector) = (kind.to_string(), vector.to_string());
                    self.next.interrupts.push(InterruptRate { kind, vector, cpu, per_s });
                }
            }
        }
    }

    fn handlers(&mut self, rows: Vec<IrqTime>) {
        for row in rows {
            let now = (row.t_ns, row.count, row.ns);
            let key = row.key();
            let Some((t_ns, count, ns)) = self.handlers.insert(key.clone(), now) else { continue };
            let seconds = (now.0 - t_ns) as f64 / 1e9;
            if let Some(delta) = IrqDelta::of((now.1, now.2), (count, ns)).filter(|_| seconds > 0.0) {
                let (kind, vector, cpu) = key;
                self.next.handlers.push(HandlerTime {
                    kind: kind.to_string(),
                    vector: vector.to_string(),
                    cpu,
                    per_s: delta.count as f64 / seconds,
                    percent: delta.time_ns as f64 / 1e7 / seconds,
                    max_ns: row.max_ns,
                });
            }
        }
    }

    fn victims(&mut self, rows: Vec<Stolen>) {
        if self.stolen.len() > VICTIMS_MAX {
            // Those that are met again have a past that is not known any more.
            self.stolen.clear();
            self.joins = true;
        }
        for row in rows {
            let now = (row.t_ns, row.count, row.ns);
            let before = self.stolen.insert(row.key(), now);
            if before.is_none() && self.joins {
                continue;
            }
            let taken = IrqDelta::or_restart((now.1, now.2), before.map_or((0, 0), |(_, count, ns)| (count, ns)));
            self.next.victims.push(InterruptVictim {
                pid: row.pid,
                comm: row.comm.to_string(),
                kind: row.kind.to_string(),
                vector: row.vector.to_string(),
                count: taken.count,
                ns: taken.time_ns,
            });
        }
    }

    /// Rows are of those that changed, and all were looked at when one of them was.
    fn nics(&mut self, rows: Vec<NicCounter>) {
        let Some(now_ns) = rows.iter().map(|row| row.t_ns).max() else { return };
        // Each interface has a time of its own within one look.
        if self.nics_ns.1.is_none_or(|last_ns| now_ns - last_ns > 1_000_000_000) {
            self.nics_ns = (self.nics_ns.1, Some(now_ns));
        }
        for row in rows {
            let before = self.nics.insert(row.key(), (row.t_ns, row.value));
            // One that had no row at the look before did not change until then.
            let since_ns = before.map(|(t_ns, _)| self.nics_ns.0.unwrap_or(t_ns).max(t_ns));
            let (Some((_, value)), Some(since_ns)) = (before, since_ns) else { continue };
            let seconds = (row.t_ns - since_ns) as f64 / 1e9;
            if let Some(grown) = delta(row.value, value).filter(|_| seconds > 0.0) {
                self.next.nics.push(NicRate {
                    interface: row.interface.to_string(),
                    name: row.name.to_string(),
                    per_s: grown / seconds,
                });
            }
        }
    }

    fn failures(&mut self, rows: Vec<IoError>) {
        for row in rows {
            let is_trouble = !is_lacking(&row.op, Some(row.error));
            let before = self.failed.insert(row.key(), row.count);
            if let Some(count) = failed_since(&row, before, self.joins, self.began_ns) {
                *self.next.failures.entry(row.dev.to_string()).or_default() += count;
                if is_trouble {
                    self.next.failing.insert(row.dev.to_string());
                }
            }
        }
    }

    fn ios(&mut self, rows: Vec<IoInterval>) {
        self.next.counts_failures |= rows.iter().any(|row| row.errors.is_some());
        // Here the error is not known.
        let failing = rows
            .iter()
            .filter(|row| row.errors.is_some_and(|errors| errors > 0) && !is_lacking(&row.op, Some(EOPNOTSUPP)));
        self.next.failing.extend(failing.map(|row| row.dev.to_string()));
        self.next.ios.extend(rows);
    }

    fn events(&mut self, rows: Vec<Event>) {
        for row in rows {
            match &row.kind {
                EventKind::Kernel if is_io_error(&row.message) => {
                    self.next.io_errors = Some(self.next.io_errors.unwrap_or(0) + row.count);
                }
                EventKind::Gap | EventKind::ProbeLost | EventKind::TraceLost => self.next.lost += row.count,
                EventKind::Counters if EventClass::of(&row) == Some(EventClass::KernelLogUnread) => {
                    self.reads_log = false;
                }
                _ => {}
            }
            self.next.events.push(row);
        }
    }

    fn memory(&mut self, rows: &[Memory]) {
        let Some(row) = rows.last() else { return };
        self.next.memory_mib = row.total_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
        let before = std::mem::replace(&mut self.oom_kills, row.oom_kills);
        self.next.oom_kills = delta_opt(row.oom_kills, before);
    }

    /// Threads whose process goes on are in its figures already.
    fn ended(&mut self, rows: &[Exited], seconds: f64) {
        let ended = rows.iter().filter(|row| row.processes > 0).map(|row| {
            let lived_s = row.lived_ns as f64 / 1e9 / row.tasks.max(1) as f64;
            let within = (seconds / lived_s.max(1e-9)).min(1.0);
            EndedTasks {
                comm: row.comm.to_string(),
                processes: row.processes,
                cpu_percent: within * row.cpu_ns as f64 / 1e7 / seconds,
                is_estimate: within < 1.0,
            }
        });
        self.next.ended = ended.collect();
    }
}

impl Sink for PageFold {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.stat.accept(batch)?;
        match batch.table.name {
            Cpu::NAME => {
                let first: Vec<Cpu> =
                    RowBatch { table: batch.table, rows: batch.rows.slice(0, 1.min(batch.rows.num_rows())) }
                        .to_rows()?;
                self.next.clock = first.into_iter().next().map(|row| row.clock).or(self.next.clock.take());
                self.newest_ns = self.newest_ns.max(crate::samples::last_ns(&batch.rows));
            }
            Memory::NAME => self.memory(&batch.to_rows()?),
            Interrupt::NAME => self.interrupts(batch.to_rows()?),
            rows::CpuEvent::NAME => self.is_timed = true,
            RunQueue::NAME => {
                let rows = batch.to_rows::<RunQueue>()?.into_iter();
                rows.for_each(|row| self.next.run_waits.get_or_insert_default().merge(&row.wait));
            }
            IrqTime::NAME => {
                self.is_timed = true;
                self.handlers(batch.to_rows()?);
            }
            Stolen::NAME => self.victims(batch.to_rows()?),
            NicCounter::NAME => self.nics(batch.to_rows()?),
            Event::NAME => self.events(batch.to_rows()?),
            IoInterval::NAME => self.ios(batch.to_rows()?),
            IoError::NAME => self.failures(batch.to_rows()?),
            IoPlace::NAME => self.next.places.extend(batch.to_rows::<IoPlace>()?),
            FileInterval::NAME => self.next.files.extend(batch.to_rows::<FileInterval>()?),
            Profile::NAME => self.next.stacks.extend(batch.to_rows::<Profile>()?),
            RequestInterval::NAME => self.next.requests.extend(batch.to_rows::<RequestInterval>()?),
            Listener::NAME => {
                let rows = batch.to_rows::<Listener>()?.into_iter();
                self.next.listeners.extend(rows.filter(|row| row.gone != Some(true)));
            }
            Exited::NAME => {
                let seconds = self.before_ns.zip(self.newest_ns).map(|(before, now)| (now - before) as f64 / 1e9);
                self.ended(&batch.to_rows()?, seconds.filter(|seconds| *seconds > 0.0).unwrap_or(1.0));
            }
            _ => {}
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        let mut moment = std::mem::take(&mut self.next);
        moment.blocks = self.stat.commit();
        let newest = moment.blocks.iter().map(|block| block.t_ns).max();
        let others = moment.ios.iter().map(|row| row.t_ns).chain(moment.files.iter().map(|row| row.t_ns));
        let others = others.chain(moment.requests.iter().map(|row| row.t_ns)).max();
        let Some(t_ns) = self.newest_ns.take().or(newest).or(others) else { return Ok(()) };
        moment.t_ns = t_ns;
        self.untimed = if std::mem::take(&mut self.is_timed) { 0 } else { self.untimed + 1 };
        if self.untimed >= UNTIMED_MAX {
            self.handlers.clear();
            self.stolen.clear();
        }
        if moment.io_errors.is_none() && self.reads_log {
            moment.io_errors = Some(0);
        }
        // Where nothing else was recorded, the first interval has its figures as well.
        let first =
            if moment.blocks.is_empty() { moment.requested_ns().map(|length_ns| t_ns - length_ns) } else { None };
        self.began_ns.get_or_insert(t_ns);
        if let Some(before_ns) = self.before_ns.replace(t_ns).or(first) {
            moment.seconds = (t_ns - before_ns) as f64 / 1e9;
            self.done.push(moment);
        }
        Ok(())
    }
}

/// Does the kernel tell of a request that failed? Media errors and others have words of their own, with the device behind.
pub(crate) fn is_io_error(message: &str) -> bool {
    message.contains("I/O error") || message.contains(" error, dev ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::rows::IoError;

    /// So many reads of a device failed, the first one then.
    fn row(device: &str, first_ns: i64, count: i64) -> IoError {
        IoError {
            t_ns: 0,
            t_s: 0.0,
            dev: device.into(),
            op: "read".into(),
            error: 5,
            pid: None,
            comm: None,
            file: None,
            inode: None,
            count,
            first_ns,
            last_ns: first_ns,
            sector: None,
        }
    }

    #[test]
    fn a_device_that_begins_to_fail_behind_the_first_moment_counts_whole() {
        let rows = || vec![row("sda", 5, 7), row("sdb", 12, 3)];
        let mut joined = PageFold { began_ns: Some(10), ..PageFold::new(true) };
        joined.failures(rows());
        assert_eq!(joined.next.failures, BTreeMap::from([("sdb".to_string(), 3)]));
        joined.failures(vec![row("sda", 5, 9)]);
        assert_eq!(joined.next.failures, BTreeMap::from([("sda".to_string(), 2), ("sdb".to_string(), 3)]));
        let mut whole = PageFold::new(false);
        whole.failures(rows());
        assert_eq!(whole.next.failures, BTreeMap::from([("sda".to_string(), 7), ("sdb".to_string(), 3)]));
    }
}
