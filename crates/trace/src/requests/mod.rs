//! How long servers take for an answer: from the first read of a request on a TCP socket with a watched port to the begin of
//! the next write on it (its end, before Linux 6.16), apart for those during which the thread waited for a CPU.
//!
//! The probe sums in the kernel; [`ServerLatencyTrace::read`] gives what came since it was last asked.

mod sums;

use crate::constants::Constants;
use crate::names::{Cursor, fill};
use crate::program::{Loaded, Misses, Need, ProbeSet, Program};
use crate::table::{entries, is_crowded, take};
use crate::{ProgramSupport, TraceError};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use quantity::clock;
use quantity::histogram::Histogram;
use std::collections::HashMap;
use std::sync::Arc;
use sums::{Key, Sums};

/// What build.rs compiled.
pub(crate) const SET: ProbeSet =
    ProbeSet { object: include_bytes!(concat!(env!("OUT_DIR"), "/requests.bpf.o")), programs: &PROGRAMS };

const NOTHING: &str = "reads and writes of sockets cannot be seen";
const TO_THE_END: &str = "answers are timed to the end of the write, and a task that it wakes may count as preemption (Linux 6.16 has the tracepoint)";
const NO_WAITS: &str = "it is unknown whether a thread waited for a CPU";
const PROGRAMS: [Program; 7] = [
    Program { name: "on_exit", tracepoint: "sched_process_exit", need: Need::Always(NO_WAITS) },
    Program { name: "on_wakeup", tracepoint: "sched_wakeup", need: Need::Always(NO_WAITS) },
    Program { name: "on_switch", tracepoint: "sched_switch", need: Need::Always(NO_WAITS) },
    Program {
        name: "on_state",
        tracepoint: "inet_sock_set_state",
        need: Need::Always("it is unknown when a connection ends"),
    },
    Program { name: "on_send", tracepoint: "sock_send_length", need: Need::AlwaysSince(NOTHING, SINCE) },
    Program { name: "on_piece", tracepoint: "tcp_sendmsg_locked", need: Need::Else(TO_THE_END) },
    Program { name: "on_receive", tracepoint: "sock_recv_length", need: Need::AlwaysSince(NOTHING, SINCE) },
];
/// The Linux that brought the tracepoints of reads and writes.
const SINCE: &str = "6.3";

/// Most ports that can be watched at a time, as in probe.bpf.c.
pub const PORTS_MAX: usize = 256;

/// Answers of a program on a port since the last reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAnswers {
    /// Port of the server.
    pub port: u16,
    /// Name of the process that wrote them, 15 bytes.
    pub comm: Arc<str>,
    /// The thread that wrote was preempted, or had to wait for a CPU when it woke, after the request had been read.
    /// `None` where that is not known: another thread read the request, and this one was not watched yet.
    pub preempted: Option<bool>,
    /// From reading the request to writing, ns; as many as there were answers.
    pub response: Histogram,
}

/// What the probe could not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTraceLosses {
    /// Requests for which a table had no room.
    pub table: u64,
    /// Reads and writes of sockets, of whatever port, at which the kernel left the probe out.
    pub missed: u64,
}

impl RequestTraceLosses {
    /// All.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.table + self.missed
    }
}

/// A running probe; dropping it detaches everything.
pub struct ServerLatencyTrace {
    answered: MapHandle,
    interval: MapHandle,
    lost: MapHandle,
    misses: Misses,
    ports: Vec<u16>,
    /// Number of the interval that is being filled.
    number: u64,
    seen: HashMap<Key, Sums>,
    started_ns: u64,
    loaded: Loaded,
}

impl std::fmt::Debug for ServerLatencyTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerLatencyTrace").field("ports", &self.ports).finish_non_exhaustive()
    }
}

impl ServerLatencyTrace {
    /// Loads the probe and begins to watch servers on these ports.
    ///
    /// # Errors
    /// No port, or too many; missing capabilities or kernel features.
    pub fn start(ports: &[u16]) -> Result<Self, TraceError> {
        let mut ports = ports.to_vec();
        ports.sort_unstable();
        ports.dedup();
        if ports.is_empty() || ports.len() > PORTS_MAX || ports.contains(&0) {
            return Err(TraceError::Parameter(format!("one to {PORTS_MAX} ports between 1 and 65535 can be watched")));
        }
        let mut loaded = SET.load(&Constants::default(), |_| Ok(()))?;
        fill(&loaded, "ports", ports.iter().map(|port| u32::from(*port).to_ne_bytes().to_vec()))?;
        let (answered, interval, lost) = (loaded.map("answered")?, loaded.map("interval")?, loaded.map("lost")?);
        begin(&interval, 1)?;
        loaded.attach()?;
        let misses = Misses::of(&loaded, &["on_receive", "on_send"]);
        let (seen, started_ns) = (HashMap::new(), clock::now_ns());
        Ok(Self { answered, interval, lost, misses, ports, number: 1, seen, started_ns, loaded })
    }

    /// The ports that are watched, ascending.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Answers since the last call, by port and program.
    ///
    /// # Errors
    /// The kernel's tables cannot be read.
    pub fn read(&mut self) -> Result<Vec<ServerAnswers>, TraceError> {
        let number = self.number;
        self.number += 1;
        // What is answered from here on has its extremes in the next interval.
        begin(&self.interval, self.number)?;
        let all = entries(&self.answered).map_err(|why| unreadable(&why))?;
        let crowded = is_crowded(&self.answered, all.len());
        let (nothing, mut out) = (Sums::default(), Vec::new());
        for (raw, value) in all {
            let (key, now) = (Key::of(&raw), Sums::of(&value));
            let before = self.seen.get(&key).unwrap_or(&nothing);
            let mut response = now.since(before, number);
            // It answered no request for an interval: room for others. What it has answered since then comes with it.
            let last = if response.is_none() && crowded { take(&self.answered, &raw) } else { None };
            match last {
                Some(last) => {
                    response = Sums::of(&last).since(before, self.number);
                    self.seen.remove(&key);
                }
                None if response.is_some() => {
                    self.seen.insert(key.clone(), now);
                }
                None => {}
            }
            if let Some(response) = response {
                out.push(ServerAnswers {
                    port: key.port,
                    comm: key.comm.as_str().into(),
                    preempted: key.waited,
                    response,
                });
            }
        }
        out.sort_by(|a, b| (a.port, &a.comm, a.preempted).cmp(&(b.port, &b.comm, b.preempted)));
        Ok(out)
    }

    /// What could not be counted so far.
    ///
    /// # Errors
    /// The kernel's table cannot be read.
    pub fn losses(&self) -> Result<RequestTraceLosses, TraceError> {
        let cpus = self.lost.lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(|why| unreadable(&why))?;
        let of = |cpu: &Vec<u8>| {
            let mut at = Cursor::new(cpu);
            at.u64() + at.u64()
        };
        Ok(RequestTraceLosses { table: cpus.unwrap_or_default().iter().map(of).sum(), missed: self.misses.count() })
    }

    /// What the kernel offers, program by program.
    #[must_use]
    pub fn verdicts(&self) -> &[ProgramSupport] {
        self.loaded.verdicts()
    }

    /// When everything was attached, `CLOCK_MONOTONIC`, ns.
    #[must_use]
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// What the probe's programs cost so far.
    #[must_use]
    pub fn cost(&self) -> crate::ProbeCost {
        self.loaded.cost()
    }
}

/// Tells the probe the number of the interval.
fn begin(interval: &MapHandle, number: u64) -> Result<(), TraceError> {
    interval.update(&0_u32.to_ne_bytes(), &number.to_ne_bytes(), MapFlags::ANY).map_err(|why| unreadable(&why))
}

fn unreadable(why: &libbpf_rs::Error) -> TraceError {
    TraceError::Consumer(format!("cannot read the sums of requests: {why}"))
}
