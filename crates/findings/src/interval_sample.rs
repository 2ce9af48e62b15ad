//! What happened between two samples, from the raw counters of both.

use rates::disk::DiskDelta;
use recording::rows::{BtrfsDevice, Event, Exited, IoInterval, Listener};

/// Everything that rules look at, of one interval. What was not recorded is empty or `None`, never 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntervalSample {
    /// End, ns.
    pub(crate) t_ns: i64,
    /// Length.
    pub(crate) seconds: f64,
    /// All CPUs together.
    pub(crate) all: Option<CpuUse>,
    /// Each CPU.
    pub(crate) cpus: Vec<CpuUse>,
    /// Processes that did something; `None`: processes were not recorded.
    pub(crate) processes: Option<Vec<TaskUse>>,
    /// Threads of processes that have several and use much CPU.
    pub(crate) threads: Vec<ThreadUse>,
    /// Whole block devices.
    pub(crate) disks: Vec<DiskUse>,
    /// Network interfaces.
    pub(crate) links: Vec<LinkUse>,
    /// TCP.
    pub(crate) tcp: Option<TcpUse>,
    /// Interrupts and input queues.
    pub(crate) system: Option<SystemUse>,
    /// Memory and paging.
    pub(crate) memory: Option<MemoryUse>,
    /// The cache of ZFS.
    pub(crate) arc: Option<ArcUse>,
    /// Errors that devices of ZFS pools counted since they were looked at before.
    pub(crate) zfs: Vec<ZfsErrors>,
    /// Control groups with a limit of memory of their own that did something; they may be looked at more rarely than the rest.
    pub(crate) groups: Vec<GroupUse>,
    /// Block I/O by device, operation, process and file, where the probe of it ran.
    pub(crate) ios: Vec<IoInterval>,
    /// The load that iodyno itself made.
    pub(crate) load: Option<LoadUse>,
    /// Interrupts by vector and CPU; those that hardly came are left out. `None`: they were not recorded.
    pub(crate) interrupts: Option<Vec<InterruptUse>>,
    /// TCP sockets that listen and have a queue.
    pub(crate) listeners: Vec<Listener>,
    /// Of each of them, how many connection requests it dropped since the moment before.
    pub(crate) listen_drops: Vec<f64>,
    /// Devices of btrfs file systems whose errors grew.
    pub(crate) btrfs: Vec<BtrfsErrors>,
    /// Tasks that ended after a short life, by name; `None`: none did, or they were not recorded.
    pub(crate) exited: Option<Vec<Exited>>,
    /// Each CPU by event; empty where there is no event clock, or interrupts are not timed.
    pub(crate) cpu_events: Vec<CpuEventUse>,
    /// Processes that ran, by event; `None`: there is no event clock.
    pub(crate) runs: Option<Vec<RunUse>>,
    /// Which process preempted which, or made it wait when it woke.
    pub(crate) preempted: Vec<PreemptedUse>,
    /// Time that interrupts took; `None`: interrupts are not timed.
    pub(crate) stolen: Option<Vec<StolenUse>>,
    /// What happened.
    pub(crate) events: Vec<Event>,
    /// I/Os that failed.
    pub(crate) failures: Vec<IoFailure>,
}

/// I/Os of a device that failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IoFailure {
    pub(crate) device: String,
    pub(crate) op: String,
    /// `None`: it is not known with which error.
    pub(crate) errno: Option<i32>,
    pub(crate) count: f64,
    /// With its number.
    pub(crate) process: Option<String>,
    pub(crate) file: Option<String>,
    /// First sector of the first one.
    pub(crate) sector: Option<i64>,
    /// When the first one of its kind failed, ns; `None`: it is not known.
    pub(crate) first_ns: Option<i64>,
}

/// One CPU by event; in per cent of its time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CpuEventUse {
    pub(crate) cpu: String,
    /// Tasks ran, or interrupts came.
    pub(crate) busy: f64,
    /// Of that, tasks that ran for less than 20 ms at a stretch, and interrupts: what the tick may not have seen.
    pub(crate) brief: f64,
    /// Interrupts and soft interrupts, wherever they came.
    pub(crate) irq: f64,
    /// Switches from one task to another.
    pub(crate) switches_per_s: Option<f64>,
}

/// One process by event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunUse {
    pub(crate) pid: i64,
    pub(crate) comm: String,
    /// A thread of the kernel: it works for others.
    pub(crate) is_kernel: bool,
    pub(crate) run_s: f64,
    /// Ready, and on no CPU.
    pub(crate) wait_s: f64,
    /// Left a CPU by its own will.
    pub(crate) switches: f64,
    /// How often another task preempted it.
    pub(crate) preemptions: f64,
}

/// How often, and how long, one process waited for another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PreemptedUse {
    pub(crate) pid: i64,
    pub(crate) by_pid: i64,
    pub(crate) by_comm: String,
    /// How often that process preempted it.
    pub(crate) count: f64,
    pub(crate) wait_s: f64,
    /// It woke while the other one ran.
    pub(crate) behind: f64,
    pub(crate) behind_s: f64,
}

/// What one vector took from one process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StolenUse {
    pub(crate) pid: i64,
    pub(crate) comm: String,
    /// Kind and name.
    pub(crate) vector: String,
    pub(crate) stolen_s: f64,
}

/// One interrupt on one CPU.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InterruptUse {
    pub(crate) is_soft: bool,
    pub(crate) vector: recording::Label,
    pub(crate) cpu: i32,
    pub(crate) per_s: f64,
}

/// What grew on one device of a btrfs file system, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BtrfsErrors {
    pub(crate) row: BtrfsDevice,
    pub(crate) corruption: f64,
    /// Reads, writes and flushes that failed.
    pub(crate) io: f64,
}

/// What grew on one device of a ZFS pool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ZfsErrors {
    pub(crate) device: String,
    /// Blocks whose check sum was wrong; else reads or writes that failed.
    pub(crate) is_checksum: bool,
    pub(crate) grown: f64,
}

/// The cache of ZFS.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArcUse {
    pub(crate) size_bytes: f64,
    /// The most that it may have.
    pub(crate) max_bytes: f64,
    /// Reads that found their block in it, of all; `None`: there were none.
    pub(crate) hit_percent: Option<f64>,
}

/// One CPU; all in per cent of its time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CpuUse {
    pub(crate) cpu: String,
    pub(crate) user: f64,
    pub(crate) system: f64,
    /// Interrupts and soft interrupts.
    pub(crate) irq: f64,
    /// Not idle, time stolen by the hypervisor included as far as the kernel reports it.
    pub(crate) busy: f64,
    /// Time that the hypervisor gave to others, of an idle CPU too; `None`: the kernel does not tell, and there may be one.
    pub(crate) stolen: Option<f64>,
}

/// One process; CPU in per cent of one CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskUse {
    pub(crate) pid: i64,
    /// With the number it names a process for good, where it is known.
    pub(crate) start_ns: Option<i64>,
    pub(crate) comm: String,
    pub(crate) threads: Option<i64>,
    pub(crate) user: f64,
    pub(crate) system: f64,
    /// Waits for I/O without being interruptible.
    pub(crate) blocked: bool,
    pub(crate) read_bytes_per_s: Option<f64>,
    pub(crate) write_bytes_per_s: Option<f64>,
}

/// One thread of a process of several; CPU in per cent of one CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ThreadUse {
    pub(crate) pid: i64,
    pub(crate) tid: i64,
    pub(crate) comm: String,
    pub(crate) user: f64,
    pub(crate) system: f64,
}

/// One block device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DiskUse {
    pub(crate) device: String,
    /// Requests completed, of any kind.
    pub(crate) completions: f64,
    pub(crate) reads_per_s: Option<f64>,
    pub(crate) ops_per_s: f64,
    pub(crate) bytes_per_s: Option<f64>,
    /// Mean time of a request in queue and device; `None` when none completed.
    pub(crate) response_ns: Option<f64>,
    /// Mean number of requests in queue and device.
    pub(crate) queue: Option<f64>,
    /// Part of the time with a request in flight.
    pub(crate) busy: Option<f64>,
    /// In flight at the end.
    pub(crate) in_flight: Option<i64>,
    /// Does it turn?
    pub(crate) rotational: Option<bool>,
    /// What all of that was made of.
    pub(crate) delta: DiskDelta,
}

/// One network interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LinkUse {
    pub(crate) interface: String,
    /// Received and sent, with what the link carries besides: preamble, check sum and gap, 24 B per frame.
    pub(crate) wire_bits_per_s: [f64; 2],
    pub(crate) bytes_per_s: [f64; 2],
    pub(crate) packets_per_s: [Option<f64>; 2],
    /// Received and dropped, or missed by the interface.
    pub(crate) rx_drops_per_s: Option<f64>,
    pub(crate) speed_bits_per_s: Option<f64>,
    pub(crate) full_duplex: Option<bool>,
    pub(crate) mtu_bytes: Option<f64>,
    /// The bond that it is a member of.
    pub(crate) master: Option<String>,
    pub(crate) qdisc: Option<String>,
    /// What the queueing discipline shapes to.
    pub(crate) shaped_bits_per_s: Option<f64>,
    pub(crate) qdisc_backlog_bytes: Option<f64>,
    pub(crate) qdisc_drops_per_s: Option<f64>,
    pub(crate) qdisc_overlimits_per_s: Option<f64>,
}

/// TCP of the namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TcpUse {
    /// Connections that found the accept queue full.
    pub(crate) overflows: Option<f64>,
    /// Connection requests dropped by listeners for any reason.
    pub(crate) drops: Option<f64>,
    /// Connection requests that found the queue of half-open connections full, answered by a cookie or not.
    pub(crate) half_open_drops: Option<f64>,
}

/// Counters of the whole machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SystemUse {
    pub(crate) interrupts_per_s: Option<f64>,
    /// Tasks that waited for I/O at the end.
    pub(crate) blocked: Option<f64>,
    pub(crate) softnet_drops_per_s: Option<f64>,
    pub(crate) softnet_squeezed_per_s: Option<f64>,
}

/// Memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MemoryUse {
    pub(crate) cached_bytes: f64,
    pub(crate) free_bytes: f64,
    pub(crate) refaults_per_s: Option<f64>,
}

/// Memory of one control group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GroupUse {
    pub(crate) path: recording::Label,
    /// Since its row before; 0 for the first row.
    pub(crate) seconds: f64,
    pub(crate) memory_bytes: f64,
    pub(crate) cached_bytes: f64,
    /// What its limits leave.
    pub(crate) free_bytes: f64,
    /// Its `memory.high`; `None` without one.
    pub(crate) high_bytes: Option<f64>,
    /// Times that it was made to free memory because of that.
    pub(crate) held: Option<f64>,
    /// For how long at least one of its tasks waited for memory, and for how long all of them did, s.
    pub(crate) some_s: Option<f64>,
    pub(crate) full_s: Option<f64>,
}

/// iodyno's own load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LoadUse {
    pub(crate) ops_per_s: f64,
    pub(crate) response_ns_p50: Option<f64>,
}

impl IntervalSample {
    /// When it began, ns.
    pub(crate) fn start_ns(&self) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "lengths of intervals are far below 2^63 ns")]
        let length_ns = (self.seconds * 1e9) as i64;
        self.t_ns - length_ns
    }

    /// One device.
    pub(crate) fn disk(&self, device: &str) -> Option<&DiskUse> {
        self.disks.iter().find(|disk| disk.device == device)
    }

    /// One interface.
    pub(crate) fn link(&self, interface: &str) -> Option<&LinkUse> {
        self.links.iter().find(|link| link.interface == interface)
    }

    /// For how long the hypervisor stopped one CPU, whichever it stopped for longest, s: what it says that it stole,
    /// and what ran at long stretches without the tick's coming by. A process that waits for that CPU waits for no
    /// other process of this machine.
    pub(crate) fn stopped_s(&self) -> f64 {
        let of = |event: &CpuEventUse| {
            let tick = self.cpu(&event.cpu)?;
            Some(tick.stolen.unwrap_or(0.0).max(0.0) + (event.busy - event.brief - tick.busy).max(0.0))
        };
        self.cpu_events.iter().filter_map(of).fold(0.0, f64::max) / 100.0 * self.seconds
    }

    /// One CPU by event.
    pub(crate) fn cpu_event(&self, cpu: &str) -> Option<&CpuEventUse> {
        self.cpu_events.iter().find(|one| one.cpu == cpu)
    }

    /// One CPU.
    pub(crate) fn cpu(&self, cpu: &str) -> Option<&CpuUse> {
        self.cpus.iter().find(|one| one.cpu == cpu)
    }
}
