//! Run time by event: what each CPU and each process ran, how long it was ready and did not run, and which process
//! preempted it. The clock's tick does not matter here: what hides from it is seen.
//!
//! The probe sums in the kernel; [`SchedTrace::read`] gives the sums since the probe began, those of tasks that run at
//! that moment included.

mod totals;
mod waits;
mod waker_waitee;

use crate::constants::Constants;
use crate::namespace::sees_all_processes;
use crate::program::{Loaded, Need, ProbeSet, Program};
use crate::table::{Entry, entries, is_crowded, room, set_room, take};
use crate::{ProgramSupport, TraceError};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use quantity::clock;
use quantity::histogram::Histogram;
use rustix::thread::CpuSet;
use std::collections::HashMap;
use std::sync::Arc;
use totals::{Pair, Slot, Sums, Thread, ThreadKey};
use waits::Waits;
use waker_waitee::Pairs;

/// What build.rs compiled.
pub(crate) const SET: ProbeSet =
    ProbeSet { object: include_bytes!(concat!(env!("OUT_DIR"), "/sched.bpf.o")), programs: &PROGRAMS };

const PROGRAMS: [Program; 4] = [
    Program {
        name: "on_rename",
        tracepoint: "task_rename",
        need: Need::Else("threads keep the name that they had at first"),
    },
    Program { name: "on_wakeup", tracepoint: "sched_wakeup", need: Need::Else("waiting for a CPU is not counted") },
    Program { name: "on_wakeup_new", tracepoint: "sched_wakeup_new", need: Need::Else("") },
    Program { name: "on_switch", tracepoint: "sched_switch", need: Need::Always("run times are unknown") },
];

/// Entries of the kernel's tables at least, and for each CPU.
const THREADS: u32 = 1 << 15;
const THREADS_OF_CPU: u32 = 512;
const PAIRS: u32 = 1 << 13;
const PAIRS_OF_CPU: u32 = 128;
/// Who runs for so long at a stretch is seen by the tick; as in probe.bpf.c.
const LONG_NS: u64 = 20_000_000;
/// How often a CPU's sums are read again when they changed meanwhile.
const TRIES: u32 = 100;
/// How long CPUs are waited for at the start.
const ROUND_NS: u64 = 100_000_000;

/// Sums since the probe began.
#[derive(Clone, Debug, Default)]
pub struct SchedSums {
    /// When they were read, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// Every CPU that switched at least once, by number.
    pub cpus: Vec<CpuRun>,
    /// Processes that had no row before, or ran since then.
    pub processes: Vec<ProcessRun>,
    /// Pairs that had no row before, or met since then.
    pub preemptions: Vec<PreemptionCount>,
    /// How long those tasks had been ready that ran since the last reading, ns; `None`: no task had.
    pub waits: Option<Histogram>,
    /// Switches that could not be charged to a thread or pair: a table was full.
    pub lost: u64,
    /// Every process, as `/proc` numbers them, that ran since the last reading or was begun, in ascending order; `None`: not
    /// known, something was lost or this process does not see the processes of the machine.
    pub ran: Option<Vec<u32>>,
}

/// Sums of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuRun {
    /// Its number.
    pub cpu: u32,
    /// Tasks ran on it; interrupts that came meanwhile included.
    pub run_ns: u64,
    /// Of that, at a stretch of 20 ms or more: the clock's tick has seen it, unless a hypervisor stopped the CPU meanwhile.
    pub long_ns: u64,
    /// No task ran on it; the same.
    pub idle_ns: u64,
    /// Time for which tasks that ran on it next had been ready.
    pub wait_ns: u64,
    /// Switches.
    pub switches: u64,
    /// Those that put a task aside that could have gone on.
    pub preemptions: u64,
}

/// Sums of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRun {
    /// Its number.
    pub pid: u32,
    /// When it was started, since boot.
    pub start_ns: u64,
    /// The process that it came from.
    pub parent: u32,
    /// Its name, 15 bytes.
    pub comm: Arc<str>,
    /// Its threads ran, interrupts that came meanwhile included.
    pub run_ns: u64,
    /// They were ready and did not run; counted when they run again.
    pub wait_ns: u64,
    /// They left a CPU by their own will.
    pub switches: u64,
    /// They were preempted.
    pub preemptions: u64,
}

/// How often one process waited for another: was preempted by it, or woke and waited behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreemptionCount {
    /// The one that was ready.
    pub pid: u32,
    /// Its name; `None` when it is not known any more.
    pub comm: Option<Arc<str>>,
    /// The one that ran.
    pub by_pid: u32,
    /// Its name.
    pub by_comm: Option<Arc<str>>,
    /// It could have gone on, and the other one came instead.
    pub count: u64,
    /// Until the first one ran again.
    pub wait_ns: u64,
    /// It woke, and the other one ran for most of the time that it waited then (10 µs or more).
    pub behind: u64,
    /// That time.
    pub behind_ns: u64,
}

/// A process, with the sums of its last row.
#[derive(Debug)]
struct Known {
    comm: Arc<str>,
    parent: u32,
    sums: Sums,
    last_row: Option<Sums>,
    /// The last reading in which one of its threads lived.
    lived: u64,
}

/// A running probe; dropping it detaches everything.
pub struct SchedTrace {
    slots: MapHandle,
    threads: MapHandle,
    pair_table: MapHandle,
    waits: MapHandle,
    /// As they were last read.
    waited: Waits,
    cpu_count: u32,
    /// Run time that a process has a row for.
    row_after_ns: u64,
    /// As they were last read.
    cpus: HashMap<u32, CpuRun>,
    seen: HashMap<ThreadKey, Sums>,
    processes: HashMap<(u32, u64), Known>,
    pairs: Pairs,
    names: HashMap<u32, Arc<str>>,
    /// Number of the reading.
    round: u64,
    /// What was lost until the last reading.
    lost: u64,
    /// At the last reading threads were taken out of the table, which may have run in that moment.
    was_crowded: bool,
    /// The numbers of processes here are those of the kernel.
    sees_all: bool,
    loaded: Loaded,
}

impl std::fmt::Debug for SchedTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SchedTrace").field("processes", &self.processes.len()).finish_non_exhaustive()
    }
}

impl SchedTrace {
    /// Loads the probe and begins to count. A process has a row when it ran or waited for that many nanoseconds since
    /// its last row; 0: whenever it ran.
    ///
    /// # Errors
    /// Missing capabilities or kernel features.
    pub fn start(row_after_ns: u64) -> Result<Self, TraceError> {
        let cpu_count = u32::try_from(libbpf_rs::num_possible_cpus().unwrap_or(1)).unwrap_or(1);
        let mut loaded = SET.load(&Constants::default(), |open| {
            set_room(open, "slots", cpu_count)?;
            set_room(open, "threads", room(THREADS, THREADS_OF_CPU))?;
            set_room(open, "pairs", room(PAIRS, PAIRS_OF_CPU))
        })?;
        let (slots, threads, pair_table) = (loaded.map("slots")?, loaded.map("threads")?, loaded.map("pairs")?);
        let waits = loaded.map("waits")?;
        loaded.attach()?;
        go_round();
        Ok(Self {
            slots,
            threads,
            pair_table,
            waits,
            waited: Waits::default(),
            cpu_count,
            row_after_ns,
            cpus: HashMap::new(),
            seen: HashMap::new(),
            processes: HashMap::new(),
            pairs: Pairs::default(),
            names: HashMap::new(),
            round: 0,
            lost: 0,
            was_crowded: false,
            sees_all: sees_all_processes(),
            loaded,
        })
    }

    /// What the kernel offers, program by program.
    #[must_use]
    pub fn verdicts(&self) -> &[ProgramSupport] {
        self.loaded.verdicts()
    }

    /// What the probe's programs cost so far.
    #[must_use]
    pub fn cost(&self) -> crate::ProbeCost {
        self.loaded.cost()
    }

    /// Forgets the sums of all last rows, so that the next sums are whole.
    pub fn tell_all(&mut self) {
        self.processes.values_mut().for_each(|known| known.last_row = None);
        self.pairs.tell_all();
    }

    /// Sums until now.
    ///
    /// # Errors
    /// The kernel's tables cannot be read.
    pub fn read(&mut self) -> Result<SchedSums, TraceError> {
        // Pairs before threads: the probe adds to them in the other order, so no pair is ahead of its threads.
        let pairs = entries(&self.pair_table).map_err(|why| unreadable(&why))?;
        // Threads before CPUs: a task that leaves its CPU in between has its row next time, and none has two.
        let threads = entries(&self.threads).map_err(|why| unreadable(&why))?;
        let mut sums = SchedSums::default();
        let mut running = Vec::new();
        let mut is_whole = self.sees_all;
        for cpu in 0..self.cpu_count {
            // Stopped by a hypervisor while it was changing them: where it stood the last time.
            let Some((t_ns, slot)) = self.slot(cpu)? else {
                is_whole = false;
                sums.cpus.extend(self.cpus.get(&cpu));
                continue;
            };
            sums.lost += slot.lost;
            sums.t_ns = t_ns;
            if slot.since_ns == 0 {
                continue;
            }
            let now_ns = t_ns.saturating_sub(slot.since_ns);
            running.extend(slot.on_it.map(|key| (key, now_ns)));
            let (run, idle) = if slot.on_it.is_some() { (now_ns, 0) } else { (0, now_ns) };
            let now = CpuRun {
                cpu,
                run_ns: slot.run_ns + run,
                long_ns: slot.long_ns + if run >= LONG_NS { run } else { 0 },
                idle_ns: slot.idle_ns + idle,
                wait_ns: slot.wait_ns,
                switches: slot.switches,
                preemptions: slot.preemptions,
            };
            self.cpus.insert(cpu, now);
            sums.cpus.push(now);
        }
        is_whole &= std::mem::replace(&mut self.lost, sums.lost) == sums.lost;
        is_whole &= !std::mem::replace(&mut self.was_crowded, is_crowded(&self.threads, threads.len()));
        let ran = self.take_threads(threads, &running);
        sums.ran = is_whole.then_some(ran);
        self.take_pairs(pairs);
        sums.waits = self.take_waits()?;
        sums.processes = self.news();
        sums.preemptions = self.pair_news();
        let round = self.round;
        self.processes.retain(|_, known| known.lived == round);
        Ok(sums)
    }

    /// With a time at which it stood so, or had not come so far: what is added until then was not less later. `None` when
    /// it never held still.
    fn slot(&self, cpu: u32) -> Result<Option<(u64, Slot)>, TraceError> {
        for _ in 0..TRIES {
            let t_ns = clock::now_ns();
            let bytes = self.slots.lookup(&cpu.to_ne_bytes(), MapFlags::ANY).map_err(|why| unreadable(&why))?;
            let Some(bytes) = bytes else { return Ok(None) };
            if let Some(slot) = Slot::of(&bytes) {
                return Ok(Some((t_ns, slot)));
            }
        }
        Ok(None)
    }

    /// Adds what threads did since the last time to their processes, and tells which ones did something.
    fn take_threads(&mut self, threads: Vec<Entry>, running: &[(ThreadKey, u64)]) -> Vec<u32> {
        let mut ran = Vec::new();
        let is_crowded = self.was_crowded;
        self.names.clear();
        self.round += 1;
        for (raw, value) in threads {
            let (key, thread) = (ThreadKey::of(&raw), Thread::of(&value));
            let mut now = thread.sums;
            now.run_ns += running.iter().find(|(on_it, _)| *on_it == key).map_or(0, |(_, ns)| *ns);
            let known = self.seen.get(&key).copied();
            let before = known.unwrap_or_default();
            let part = now.since(&before);
            if known.is_none() || part != Sums::default() || thread.is_dead {
                ran.push(thread.tgid);
            }
            let is_leader = key.tid == thread.tgid;
            let known = self.processes.entry((thread.tgid, thread.leader_ns)).or_insert_with(|| Known {
                comm: thread.leader_comm.as_str().into(),
                parent: thread.parent,
                sums: Sums::default(),
                last_row: None,
                lived: 0,
            });
            if is_leader && *known.comm != *thread.comm {
                known.comm = thread.comm.as_str().into();
            }
            known.sums.add(&part);
            if !thread.is_dead {
                known.lived = self.round;
            }
            self.names.insert(thread.tgid, Arc::clone(&known.comm));
            if thread.is_dead || (is_crowded && part == Sums::default()) {
                let _ = self.threads.delete(&raw);
                self.seen.remove(&key);
            } else {
                // A clock that was read earlier than the last time takes nothing back.
                let run_ns = now.run_ns.max(before.run_ns);
                self.seen.insert(key, Sums { run_ns, ..now });
            }
        }
        ran.sort_unstable();
        ran.dedup();
        ran
    }

    fn take_pairs(&mut self, all: Vec<Entry>) {
        let crowded = is_crowded(&self.pair_table, all.len());
        let Self { pairs, pair_table, names, .. } = self;
        pairs.read(all, crowded, &mut |raw| take(pair_table, raw), &|pid| names.contains_key(&pid));
    }

    fn take_waits(&mut self) -> Result<Option<Histogram>, TraceError> {
        let cpus = self.waits.lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(|why| unreadable(&why))?;
        let now = Waits::of(&cpus.unwrap_or_default());
        let waits = now.since(&self.waited);
        self.waited = now;
        Ok(waits)
    }

    fn news(&mut self) -> Vec<ProcessRun> {
        let after_ns = self.row_after_ns.max(1);
        let mut out = Vec::new();
        for ((pid, start_ns), known) in &mut self.processes {
            let sums = known.sums;
            let new = sums.since(&known.last_row.unwrap_or_default());
            let is_small = new.run_ns < after_ns && new.wait_ns < after_ns;
            // One that has ended always has a last row.
            let is_known =
                known.last_row == Some(sums) || (known.last_row.is_some() && is_small && known.lived == self.round);
            if is_known {
                continue;
            }
            known.last_row = Some(sums);
            out.push(ProcessRun {
                pid: *pid,
                start_ns: *start_ns,
                parent: known.parent,
                comm: Arc::clone(&known.comm),
                run_ns: sums.run_ns,
                wait_ns: sums.wait_ns,
                switches: sums.switches,
                preemptions: sums.preemptions,
            });
        }
        out.sort_by_key(|process| (process.pid, process.start_ns));
        out
    }

    fn pair_news(&mut self) -> Vec<PreemptionCount> {
        let (after, after_ns) =
            if self.row_after_ns > 0 { (ROW_AFTER_WAITS, ROW_AFTER_WAIT_NS) } else { (1, u64::MAX) };
        let is_news = |new: &Pair| new.count + new.behind >= after || new.wait_ns + new.behind_ns >= after_ns;
        let names = &self.names;
        let news = self.pairs.news(&is_news, &|pid| names.contains_key(&pid));
        let mut out: Vec<PreemptionCount> = news
            .into_iter()
            .map(|(key, sums)| PreemptionCount {
                pid: key.victim,
                comm: names.get(&key.victim).cloned(),
                by_pid: key.by,
                by_comm: names.get(&key.by).cloned(),
                count: sums.count,
                wait_ns: sums.wait_ns,
                behind: sums.behind,
                behind_ns: sums.behind_ns,
            })
            .collect();
        out.sort_by_key(|pair| (pair.pid, pair.by_pid));
        out
    }
}

/// A pair has a row when it met so often since its last row, or waited so long, unless the caller asks for everything.
const ROW_AFTER_WAITS: u64 = 10;
const ROW_AFTER_WAIT_NS: u64 = 100_000_000;

fn unreadable(why: &libbpf_rs::Error) -> TraceError {
    TraceError::Consumer(format!("cannot read the sums of run times: {why}"))
}

/// Visits every CPU, so that each has switched once and it is known what runs there. A CPU whose task lets no other
/// task in is not waited for: it is counted from its first switch on.
fn go_round() {
    let visit = || {
        let Ok(mine) = rustix::thread::sched_getaffinity(None) else { return };
        for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| mine.is_set(*cpu)) {
            let mut one = CpuSet::new();
            one.set(cpu);
            let _ = rustix::thread::sched_setaffinity(None, &one);
        }
    };
    let Ok(visitor) = std::thread::Builder::new().name("iodyno-round".to_string()).spawn(visit) else { return };
    let until_ns = clock::now_ns() + ROUND_NS;
    while !visitor.is_finished() && clock::now_ns() < until_ns {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
