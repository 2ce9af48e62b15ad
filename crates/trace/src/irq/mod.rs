//! Time in interrupts and soft interrupts by event, per CPU and vector, and what of it was taken from which process.
//!
//! The probe sums in the kernel; [`IrqTrace::read`] gives the sums since it began.

mod victims;

use crate::constants::Constants;
use crate::names::Cursor;
use crate::namespace::{is_there, sees_all_processes};
use crate::program::{Loaded, Need, ProbeSet, Program};
use crate::table::{entries, is_crowded, room, set_room, take};
use crate::{ProgramSupport, TraceError};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::collections::HashMap;
use std::sync::Arc;
use victims::Victims;

/// What build.rs compiled.
pub(crate) const SET: ProbeSet =
    ProbeSet { object: include_bytes!(concat!(env!("OUT_DIR"), "/irq.bpf.o")), programs: &PROGRAMS };

/// Programs for interrupts of the processor itself, which only this kind of machine has tracepoints for.
const LOCAL: &str = "interrupts of the processor itself (timer, other CPUs' calls) are not in the interrupt time";
const PROGRAMS: [Program; 14] = [
    Program { name: "on_irq_exit", tracepoint: "irq_handler_exit", need: Need::Always("interrupt time is unknown") },
    Program {
        name: "on_softirq_exit",
        tracepoint: "softirq_exit",
        need: Need::Always("the time of soft interrupts is unknown"),
    },
    Program { name: "on_timer_exit", tracepoint: "local_timer_exit", need: Need::Else(LOCAL) },
    Program { name: "on_reschedule_exit", tracepoint: "reschedule_exit", need: Need::Else("") },
    Program { name: "on_call_exit", tracepoint: "call_function_exit", need: Need::Else("") },
    Program { name: "on_call_one_exit", tracepoint: "call_function_single_exit", need: Need::Else("") },
    Program { name: "on_work_exit", tracepoint: "irq_work_exit", need: Need::Else("") },
    Program { name: "on_irq_entry", tracepoint: "irq_handler_entry", need: Need::Always("interrupt time is unknown") },
    Program {
        name: "on_softirq_entry",
        tracepoint: "softirq_entry",
        need: Need::Always("the time of soft interrupts is unknown"),
    },
    Program { name: "on_timer_entry", tracepoint: "local_timer_entry", need: Need::Else("") },
    Program { name: "on_reschedule_entry", tracepoint: "reschedule_entry", need: Need::Else("") },
    Program { name: "on_call_entry", tracepoint: "call_function_entry", need: Need::Else("") },
    Program { name: "on_call_one_entry", tracepoint: "call_function_single_entry", need: Need::Else("") },
    Program { name: "on_work_entry", tracepoint: "irq_work_entry", need: Need::Else("") },
];

/// Entries of the kernel's table at least, and for each CPU.
const VICTIMS: u32 = 1 << 14;
const VICTIMS_OF_CPU: u32 = 256;
/// Names of soft interrupts, as in `/proc/softirqs`.
const SOFT: [&str; 10] = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
/// Names of the processor's own, as in `/proc/interrupts`.
const OWN: [&str; 5] = ["LOC", "RES", "CAL", "CAL", "IWI"];

/// Sums since the probe began.
#[derive(Clone, Debug, Default)]
pub struct IrqSums {
    /// By number of the CPU.
    pub cpus: Vec<CpuIrq>,
    /// Every vector that came, by CPU.
    pub vectors: Vec<VectorTime>,
    /// Processes that lost time.
    pub victims: Vec<InterruptedTask>,
    /// Interrupts whose vector or victim had no room in a table.
    pub lost: u64,
}

/// Interrupt time of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuIrq {
    /// In handlers of interrupts.
    pub irq_ns: u64,
    /// In soft interrupts, interrupts meanwhile not included.
    pub softirq_ns: u64,
    /// Of both, when no task was running.
    pub idle_ns: u64,
    /// Of both, taken from a task; what the kernel's threads for soft interrupts do is theirs.
    pub stolen_ns: u64,
}

/// A vector on a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorTime {
    /// `irq` or `softirq`.
    pub kind: &'static str,
    /// As `/proc/interrupts` and `/proc/softirqs` name it, with the device's name behind a number.
    pub vector: Arc<str>,
    /// Number of the CPU.
    pub cpu: u32,
    /// How often.
    pub count: u64,
    /// Time.
    pub ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// What a vector took from a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptedTask {
    /// The process.
    pub pid: u32,
    /// Its name when that happened first.
    pub comm: Arc<str>,
    /// `irq` or `softirq`.
    pub kind: &'static str,
    /// Vector.
    pub vector: Arc<str>,
    /// How often.
    pub count: u64,
    /// Time.
    pub ns: u64,
}

/// A running probe; dropping it detaches everything.
pub struct IrqTrace {
    cpus: MapHandle,
    vectors: MapHandle,
    victims: MapHandle,
    names: MapHandle,
    known: HashMap<u32, Arc<str>>,
    stolen: Victims,
    /// The numbers of processes here are those of the kernel.
    sees_all: bool,
    loaded: Loaded,
}

impl std::fmt::Debug for IrqTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IrqTrace").field("stolen", &self.stolen.len()).finish_non_exhaustive()
    }
}

impl IrqTrace {
    /// Loads the probe and begins to count.
    ///
    /// # Errors
    /// Missing capabilities or kernel features.
    pub fn start() -> Result<Self, TraceError> {
        let mut loaded =
            SET.load(&Constants::default(), |open| set_room(open, "victims", room(VICTIMS, VICTIMS_OF_CPU)))?;
        let (cpus, vectors) = (loaded.map("cpus")?, loaded.map("vectors")?);
        let (victims, names) = (loaded.map("victims")?, loaded.map("names")?);
        loaded.attach()?;
        let (known, stolen) = (HashMap::new(), Victims::default());
        Ok(Self { cpus, vectors, victims, names, known, stolen, sees_all: sees_all_processes(), loaded })
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

    /// Sums until now; of an interrupt when it has ended.
    ///
    /// # Errors
    /// The kernel's tables cannot be read.
    pub fn read(&mut self) -> Result<IrqSums, TraceError> {
        let mut sums = IrqSums::default();
        let cpus = self.cpus.lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(|why| unreadable(&why))?;
        for cpu in cpus.unwrap_or_default() {
            let mut at = Cursor::new(&cpu);
            let of = CpuIrq { irq_ns: at.u64(), softirq_ns: at.u64(), idle_ns: at.u64(), stolen_ns: at.u64() };
            sums.cpus.push(of);
            sums.lost += at.u64();
        }
        let keys: Vec<Vec<u8>> = self.vectors.keys().collect();
        for key in keys {
            let number = Cursor::new(&key).u32();
            let cpus = self.vectors.lookup_percpu(&key, MapFlags::ANY).map_err(|why| unreadable(&why))?;
            let (kind, vector) = name_of(&self.names, &mut self.known, number);
            for (cpu, value) in (0..).zip(cpus.unwrap_or_default()) {
                let mut at = Cursor::new(&value);
                let (count, ns, max_ns) = (at.u64(), at.u64(), at.u64());
                if count > 0 {
                    sums.vectors.push(VectorTime { kind, vector: Arc::clone(&vector), cpu, count, ns, max_ns });
                }
            }
        }
        sums.vectors.sort_by(|a, b| (a.kind, &a.vector, a.cpu).cmp(&(b.kind, &b.vector, b.cpu)));
        sums.victims = self.read_victims()?;
        Ok(sums)
    }

    fn read_victims(&mut self) -> Result<Vec<InterruptedTask>, TraceError> {
        let all = entries(&self.victims).map_err(|why| unreadable(&why))?;
        let crowded = is_crowded(&self.victims, all.len());
        let Self { victims, names, known, stolen, sees_all, .. } = self;
        let is_alive: Option<&dyn Fn(u32) -> bool> = if *sees_all { Some(&is_there) } else { None };
        let mut out = |raw: &[u8]| take(victims, raw);
        Ok(stolen.read(all, crowded, &mut out, is_alive, &mut |number| name_of(names, known, number)))
    }
}

/// Kind and name of a vector.
fn name_of(names: &MapHandle, known: &mut HashMap<u32, Arc<str>>, number: u32) -> (&'static str, Arc<str>) {
    let (kind, index) = (number >> 24, number & 0x00ff_ffff);
    let of = |names: &[&'static str]| names.get(index as usize).map_or_else(|| index.to_string(), ToString::to_string);
    let word = if kind == 1 { "softirq" } else { "irq" };
    if let Some(known) = known.get(&number) {
        return (word, Arc::clone(known));
    }
    let text = match kind {
        1 => of(&SOFT),
        2 => of(&OWN),
        _ => {
            let name = names.lookup(&number.to_ne_bytes(), MapFlags::ANY).ok().flatten();
            let name = name.map(|name| Cursor::new(&name).text(32)).unwrap_or_default();
            format!("{index} {name}").trim_end().to_string()
        }
    };
    let text: Arc<str> = text.into();
    known.insert(number, Arc::clone(&text));
    (word, text)
}

fn unreadable(why: &libbpf_rs::Error) -> TraceError {
    TraceError::Consumer(format!("cannot read the sums of interrupts: {why}"))
}
