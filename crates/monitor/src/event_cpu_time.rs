//! The event clock of CPUs: the probes `sched` and `irq` as rows, beside what the collectors read.

use crate::counters::verdict;
use crate::numbers::signed;
use collect::{MachineReader, SampleTimes};
use recording::rows::{CpuEvent, Event, IrqTime, PreemptedBy, ProcessEvent, RunQueue, Sample, Stolen};
use recording::{AvailabilityKind, EventKind, EventSeverity, Label, LossName, RecordingError, RowBatch};
use std::collections::HashMap;
use std::sync::Arc;
use trace::irq::{IrqSums, IrqTrace};
use trace::sched::{CpuRun, SchedSums, SchedTrace};
use trace::{ProbeCost, TraceError};

/// Time or events after which something has a row of its own again: what is rarer costs no space.
const NEW_ROW_AFTER_NS: u64 = 1_000_000;
const NEW_ROW_AFTER_COUNT: u64 = 100;

/// Is CPU time by event wanted?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventCpuTime {
    /// No.
    #[default]
    Off,
    /// Where it can be had; what is missing is said by an `event` of kind `probe`.
    IfPossible,
    /// It must be: the command fails without it. Everything has rows, however small.
    Needed,
}

/// Both probes, as far as they run.
pub(crate) struct CpuClock {
    sched: Option<SchedTrace>,
    irq: Option<IrqTrace>,
    is_fine: bool,
    /// By kind, vector and CPU: count and time in the last row.
    vectors: HashMap<(&'static str, Arc<str>, u32), (u64, u64)>,
    /// By process, kind and vector: time in the last row.
    stolen: HashMap<(u32, &'static str, Arc<str>), u64>,
    lost: u64,
    /// Processes that ran before the last sample, where that is known.
    ran: Option<Vec<i64>>,
    /// When the last interval ended, ns.
    before_ns: u64,
    /// Of the tables that the probes fill, whether they are measured, and why not.
    verdicts: Vec<(&'static str, String)>,
    /// Said with the next sample.
    said: Vec<(EventSeverity, String)>,
}

impl CpuClock {
    /// Loads the probes; none when the event clock is off.
    ///
    /// # Errors
    /// It is needed, and the kernel or a privilege does not allow it.
    pub(crate) fn start(wanted: EventCpuTime) -> Result<Option<Self>, TraceError> {
        if wanted == EventCpuTime::Off {
            return Ok(None);
        }
        let is_fine = wanted == EventCpuTime::Needed;
        let (mut said, mut verdicts) = (Vec::new(), Vec::new());
        let started = SchedTrace::start(if is_fine { 0 } else { NEW_ROW_AFTER_NS });
        let word = verdict(started.as_ref());
        let sched = match started {
            Ok(sched) => Some(sched),
            Err(error) if is_fine => return Err(error),
            Err(error) => {
                said.push((
                    EventSeverity::Info,
                    format!("CPU time is of the clock's tick only, not by event: {error}"),
                ));
                None
            }
        };
        // Without the first one, the second would ask for the same and say the same.
        let started = sched.as_ref().map(|_| IrqTrace::start());
        verdicts.push((IrqTime::NAME, started.as_ref().map_or(word.clone(), |irq| verdict(irq.as_ref()))));
        verdicts.push((CpuEvent::NAME, word));
        let irq = match started {
            Some(Ok(irq)) => Some(irq),
            Some(Err(error)) => {
                said.push((EventSeverity::Info, format!("interrupts are not timed: {error}")));
                None
            }
            None => None,
        };
        let words = sched.iter().flat_map(SchedTrace::verdicts).chain(irq.iter().flat_map(IrqTrace::verdicts));
        said.extend(
            words
                .map(trace::ProgramSupport::words)
                .filter(|words| !words.is_empty())
                .map(|words| (EventSeverity::Info, words)),
        );
        let (vectors, stolen) = (HashMap::new(), HashMap::new());
        let before_ns = quantity::clock::now_ns();
        Ok(Some(Self { sched, irq, is_fine, vectors, stolen, lost: 0, ran: None, before_ns, verdicts, said }))
    }

    /// For the manifest: the tables that the probes fill, each with whether it is measured, and why not.
    pub(crate) fn verdicts(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.verdicts.iter().cloned()
    }

    /// In one word for the manifest: which clock CPU time has besides the tick.
    pub(crate) fn word(&self) -> &'static str {
        match (&self.sched, &self.irq) {
            (Some(_), Some(_)) => "tick and event",
            (Some(_), None) => "tick and event, interrupts not timed",
            _ => "tick",
        }
    }

    /// The next sample has everything: it is the first of a recording.
    pub(crate) fn tell_all(&mut self) {
        self.sched.iter_mut().for_each(SchedTrace::tell_all);
        self.vectors.clear();
        self.stolen.clear();
    }

    /// What the programs in the kernel cost so far, while BPF statistics are enabled.
    pub(crate) fn cost(&self) -> ProbeCost {
        let costs = self.sched.iter().map(SchedTrace::cost).chain(self.irq.iter().map(IrqTrace::cost));
        costs.fold(ProbeCost::default(), ProbeCost::and)
    }

    /// Events that are in no sum.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// The same for the manifest.
    pub(crate) fn losses(&self) -> (LossName, u64) {
        (LossName::CpuClockTableFull, self.lost)
    }

    /// Rows of one sample; a probe that cannot be read any more is given up, which is said.
    ///
    /// # Errors
    /// Does not happen with rows of the catalogue.
    pub(crate) fn sample(&mut self, due_ns: u64, origin_ns: u64) -> Result<Vec<RowBatch>, RecordingError> {
        let mut batches = Vec::new();
        let irq = match self.irq.as_mut().map(IrqTrace::read) {
            Some(Ok(sums)) => Some(sums),
            Some(Err(error)) => {
                self.irq = None;
                self.give_up(IrqTime::NAME, &error);
                None
            }
            None => None,
        };
        let sched = match self.sched.as_mut().map(SchedTrace::read) {
            Some(Ok(sums)) => Some(sums),
            Some(Err(error)) => {
                self.sched = None;
                self.give_up(CpuEvent::NAME, &error);
                None
            }
            None => None,
        };
        let ran = sched.as_ref().and_then(|sums| sums.ran.as_ref());
        self.ran = ran.map(|ran| ran.iter().copied().map(i64::from).collect());
        let t_ns = sched.as_ref().map_or(due_ns, |sums| sums.t_ns.max(due_ns));
        let at = (signed(t_ns), t_ns.saturating_sub(origin_ns) as f64 / 1e9);
        if let Some(sums) = &sched {
            push(&mut batches, &cpu_rows(sums, irq.as_ref(), at))?;
            push(&mut batches, &process_rows(sums, at))?;
            push(&mut batches, &preempted_rows(sums, at))?;
            let interval_ns = signed(t_ns.saturating_sub(self.before_ns));
            self.before_ns = t_ns;
            push(&mut batches, run_queue_row(sums, at, interval_ns).as_slice())?;
        }
        if let Some(sums) = &irq {
            push(&mut batches, &self.vector_rows(sums, at))?;
            push(&mut batches, &self.stolen_rows(sums, at))?;
        }
        let lost = sched.as_ref().map_or(0, |sums| sums.lost) + irq.as_ref().map_or(0, |sums| sums.lost);
        if lost > self.lost {
            let new = lost - self.lost;
            self.said.push((
                EventSeverity::Error,
                format!("{new} switches and interrupts are in no sum: a table of the probe is full"),
            ));
            self.lost = lost;
        }
        let events: Vec<Event> = self.said.drain(..).map(|(severity, message)| event(severity, message, at)).collect();
        push(&mut batches, &events)?;
        Ok(batches)
    }

    /// Processes that ran between the last two samples, for whom it is asked once; `None`: it is not known.
    fn ran(&mut self) -> Option<Vec<i64>> {
        self.ran.take()
    }

    /// The next manifest and the next sample say that a table has no more rows, and why.
    fn give_up(&mut self, table: &'static str, error: &TraceError) {
        self.verdicts
            .iter_mut()
            .filter(|(name, _)| *name == table)
            .for_each(|(_, word)| *word = AvailabilityKind::Broken.because(error));
        self.said.push((EventSeverity::Warning, error.to_string()));
    }

    fn vector_rows(&mut self, sums: &IrqSums, (t_ns, t_s): (i64, f64)) -> Vec<IrqTime> {
        let (known, is_fine) = (&mut self.vectors, self.is_fine);
        let is_news = |row: &&trace::irq::VectorTime| {
            let (count, ns) = known.entry((row.kind, Arc::clone(&row.vector), row.cpu)).or_insert((0, 0));
            let grown = (row.count.saturating_sub(*count), row.ns.saturating_sub(*ns));
            let is_first = *count == 0;
            let is_news =
                is_first || grown.0 >= if is_fine { 1 } else { NEW_ROW_AFTER_COUNT } || grown.1 >= NEW_ROW_AFTER_NS;
            if is_news {
                (*count, *ns) = (row.count, row.ns);
            }
            is_news
        };
        let news = sums.vectors.iter().filter(is_news);
        news.map(|row| IrqTime {
            t_ns,
            t_s,
            kind: Label::from(row.kind),
            vector: Label(Arc::clone(&row.vector)),
            cpu: i32::try_from(row.cpu).unwrap_or(i32::MAX),
            count: signed(row.count),
            ns: signed(row.ns),
            max_ns: signed(row.max_ns),
        })
        .collect()
    }

    fn stolen_rows(&mut self, sums: &IrqSums, (t_ns, t_s): (i64, f64)) -> Vec<Stolen> {
        let (known, is_fine) = (&mut self.stolen, self.is_fine);
        let is_news = |row: &&trace::irq::InterruptedTask| {
            let last_ns = known.get(&(row.pid, row.kind, Arc::clone(&row.vector))).copied();
            let after_ns = if is_fine { 1 } else { NEW_ROW_AFTER_NS };
            // Less time than in the last row: another process has this number now.
            let is_news = last_ns.is_none_or(|last_ns| row.ns < last_ns || row.ns - last_ns >= after_ns);
            if is_news {
                known.insert((row.pid, row.kind, Arc::clone(&row.vector)), row.ns);
            }
            is_news
        };
        let rows: Vec<Stolen> = sums
            .victims
            .iter()
            .filter(is_news)
            .map(|row| Stolen {
                t_ns,
                t_s,
                pid: i64::from(row.pid),
                comm: Label(Arc::clone(&row.comm)),
                kind: Label::from(row.kind),
                vector: Label(Arc::clone(&row.vector)),
                count: signed(row.count),
                ns: signed(row.ns),
            })
            .collect();
        // Those that the kernel's table has no more.
        let present: std::collections::HashSet<u32> = sums.victims.iter().map(|row| row.pid).collect();
        self.stolen.retain(|(pid, _, _), _| present.contains(pid));
        rows
    }
}

/// One sample of the machine's counters, and one of the event clock where it runs, which tells which processes need be read.
/// The second one fails only as [`CpuClock::sample`] does.
pub(crate) fn sample_both(
    machine: &mut MachineReader,
    mut clock: Option<&mut CpuClock>,
    due_ns: u64,
    origin_ns: u64,
) -> (Vec<RowBatch>, Result<Vec<RowBatch>, RecordingError>) {
    let mut events = None;
    let batches = machine.sample_those_that_ran((due_ns, origin_ns), &mut || {
        let clock = clock.as_mut()?;
        events = Some(clock.sample(due_ns, origin_ns));
        clock.ran()
    });
    // Without the subject `process`, `machine` did not call the closure.
    let events = events.or_else(|| clock.map(|clock| clock.sample(due_ns, origin_ns)));
    let times = sample_row(machine.last_times(), origin_ns).map(|row| RowBatch::from_rows(&[row]));
    let events = events.unwrap_or_else(|| Ok(Vec::new())).and_then(|mut events| {
        events.extend(times.transpose()?);
        Ok(events)
    });
    (batches, events)
}

/// When a sample was taken; nothing where nothing was read.
fn sample_row(times: SampleTimes, origin_ns: u64) -> Option<Sample> {
    let (slowest, slowest_ns) = times.slowest?;
    Some(Sample {
        t_ns: signed(times.begin_ns),
        t_s: times.begin_ns.saturating_sub(origin_ns) as f64 / 1e9,
        length_ns: signed(times.end_ns.saturating_sub(times.begin_ns)),
        slowest: Label::from(slowest),
        slowest_ns: signed(slowest_ns),
    })
}

fn cpu_rows(sums: &SchedSums, irq: Option<&IrqSums>, (t_ns, t_s): (i64, f64)) -> Vec<CpuEvent> {
    let row = |cpu: String, run: &CpuRun, irq: Option<trace::irq::CpuIrq>| CpuEvent {
        t_ns,
        t_s,
        cpu,
        run_ns: signed(run.run_ns),
        long_ns: Some(signed(run.long_ns)),
        idle_ns: signed(run.idle_ns),
        idle_irq_ns: irq.map(|irq| signed(irq.idle_ns)),
        irq_ns: irq.map(|irq| signed(irq.irq_ns)),
        softirq_ns: irq.map(|irq| signed(irq.softirq_ns)),
        stolen_ns: irq.map(|irq| signed(irq.stolen_ns)),
        wait_ns: signed(run.wait_ns),
        switches: signed(run.switches),
        preemptions: signed(run.preemptions),
    };
    let irq_of = |cpu: u32| irq.and_then(|irq| irq.cpus.get(cpu as usize)).copied();
    let mut all = CpuRun::default();
    let mut all_irq = irq.map(|_| trace::irq::CpuIrq::default());
    for run in &sums.cpus {
        all.run_ns += run.run_ns;
        all.long_ns += run.long_ns;
        all.idle_ns += run.idle_ns;
        all.wait_ns += run.wait_ns;
        all.switches += run.switches;
        all.preemptions += run.preemptions;
        if let (Some(all), Some(one)) = (&mut all_irq, irq_of(run.cpu)) {
            all.irq_ns += one.irq_ns;
            all.softirq_ns += one.softirq_ns;
            all.idle_ns += one.idle_ns;
            all.stolen_ns += one.stolen_ns;
        }
    }
    let each = sums.cpus.iter().map(|run| row(run.cpu.to_string(), run, irq_of(run.cpu)));
    std::iter::once(row("all".to_string(), &all, all_irq)).chain(each).collect()
}

fn run_queue_row(sums: &SchedSums, (t_ns, t_s): (i64, f64), interval_ns: i64) -> Option<RunQueue> {
    sums.waits.clone().map(|wait| RunQueue { t_ns, t_s, interval_ns, wait })
}

fn process_rows(sums: &SchedSums, (t_ns, t_s): (i64, f64)) -> Vec<ProcessEvent> {
    let row = |process: &trace::sched::ProcessRun| ProcessEvent {
        t_ns,
        t_s,
        pid: i64::from(process.pid),
        start_ns: signed(process.start_ns),
        parent: i64::from(process.parent),
        comm: Label(Arc::clone(&process.comm)),
        run_ns: signed(process.run_ns),
        wait_ns: signed(process.wait_ns),
        switches: signed(process.switches),
        preemptions: signed(process.preemptions),
    };
    sums.processes.iter().map(row).collect()
}

fn preempted_rows(sums: &SchedSums, (t_ns, t_s): (i64, f64)) -> Vec<PreemptedBy> {
    let label = |name: &Option<Arc<str>>| name.clone().map(Label);
    let row = |pair: &trace::sched::PreemptionCount| PreemptedBy {
        t_ns,
        t_s,
        pid: i64::from(pair.pid),
        comm: label(&pair.comm),
        by_pid: i64::from(pair.by_pid),
        by_comm: label(&pair.by_comm),
        count: signed(pair.count),
        wait_ns: signed(pair.wait_ns),
        behind: Some(signed(pair.behind)),
        behind_ns: Some(signed(pair.behind_ns)),
    };
    sums.preemptions.iter().map(row).collect()
}

pub(crate) fn event(severity: EventSeverity, message: String, (t_ns, t_s): (i64, f64)) -> Event {
    Event { t_ns, t_s, severity, kind: EventKind::Probe, class: None, run: None, target: None, message, count: 1 }
}

pub(crate) fn push<R: recording::Row>(batches: &mut Vec<RowBatch>, rows: &[R]) -> Result<(), RecordingError> {
    if !rows.is_empty() {
        batches.push(RowBatch::from_rows(rows)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use collect::SubjectName;
    use recording::rows::Process;

    #[test]
    fn the_probe_and_the_tick_sample_the_same_processes() {
        if !testkit::require_root_or_skip() {
            return;
        }
        let mut clock = CpuClock::start(EventCpuTime::Needed).expect("the probe loads").expect("it is wanted");
        let (mut machine, mut whole) =
            (MachineReader::new(&[SubjectName::Process]), MachineReader::new(&[SubjectName::Process]));
        let pids = |batches: &[RowBatch]| -> Vec<i64> {
            let rows = batches.iter().filter(|batch| batch.table.name == "process");
            rows.flat_map(|batch| batch.to_rows::<Process>().expect("rows")).map(|row| row.pid).collect()
        };
        let asleep = std::process::Command::new("sleep").arg("1000").spawn().map(Reaped).expect("started");
        asleep.wait_until_asleep();
        let first = pids(&sample_both(&mut machine, Some(&mut clock), 0, 0).0);
        assert!(first.contains(&asleep.pid()), "all at first");
        for _ in 0..20 {
            whole.sample(0, 0);
            let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exec sleep 1000";
            let new = std::process::Command::new("sh").args(["-c", script]).spawn().map(Reaped).expect("started");
            std::thread::sleep(std::time::Duration::from_millis(100));
            let (batches, events) = sample_both(&mut machine, Some(&mut clock), 0, 0);
            let (sampled, all) = (pids(&batches), pids(&whole.sample(0, 0)));
            assert!(sampled.contains(&new.pid()) && all.contains(&new.pid()), "{sampled:?} {all:?}");
            assert!(!sampled.contains(&asleep.pid()) && !all.contains(&asleep.pid()), "{sampled:?} {all:?}");
            assert!(events.expect("rows").iter().any(|batch| batch.table.name == "process_event"));
        }
        // It is not known in a sample in which a CPU's sums never held still.
        let known = (0..20).find_map(|_| {
            clock.sample(0, 0).expect("rows");
            clock.ran()
        });
        let ran = known.expect("known in none of 20 samples");
        assert!(ran.contains(&i64::from(std::process::id())) && !ran.contains(&asleep.pid()), "{ran:?}");
    }

    struct Reaped(std::process::Child);

    impl Reaped {
        fn pid(&self) -> i64 {
            i64::from(self.0.id())
        }

        /// Until it sleeps and has used nothing more for a while.
        fn wait_until_asleep(&self) {
            let path = format!("/proc/{}/stat", self.0.id());
            let look = || std::fs::read_to_string(&path).expect("it is there");
            let until_ns = quantity::clock::now_ns() + 20_000_000_000;
            let mut before = look();
            loop {
                std::thread::sleep(std::time::Duration::from_millis(100));
                let now = look();
                if now.contains("(sleep) S ") && now == before {
                    return;
                }
                assert!(quantity::clock::now_ns() < until_ns, "it does not sleep: {now}");
                before = now;
            }
        }
    }

    impl Drop for Reaped {
        fn drop(&mut self) {
            let _ = self.0.kill().and_then(|()| self.0.wait());
        }
    }
}
