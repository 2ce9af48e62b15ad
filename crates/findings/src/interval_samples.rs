//! From rows of counters to moments.

use super::by_event::ByEvent;
use super::failures::Failures;
use super::groups::Groups;
use super::interval_sample::{
    ArcUse, BtrfsErrors, CpuUse, DiskUse, InterruptUse, IntervalSample, LinkUse, LoadUse, MemoryUse, SystemUse,
    TaskUse, TcpUse, ThreadUse, ZfsErrors,
};
use super::listen_drops::ListenDrops;
use super::samples::{FORGET_NS, KNOWN, Samples, Sparse};
use quantity::histogram::Histogram;
use rates::counter::{CounterStep, delta_f64, delta_opt};
use rates::cpu_shares;
use rates::disk::{DiskDelta, is_partition};
use rates::net::{NetDelta, NetDirection};
use rates::process::ProcessDelta;
use rates::zfs::arc_hit_percent;
use recording::rows::{
    self, BtrfsDevice, Cpu, Disk, Event, Exited, Figure, Interrupt, IoInterval, Listener, Memory, Net, OpInterval,
    Phase, Process, System, Tcp, Thread, TraceInterval, ZfsArc,
};
use recording::{EventKind, LoadPhase, PhaseEdge, RecordingError, Row, RowBatch};
use std::collections::{HashMap, HashSet, VecDeque};

/// What stands between a moment and the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing.
    Nothing,
    /// Time in which nothing was to be measured: between two runs of a load.
    Pause,
    /// Samples that were due and did not come.
    Loss,
}

/// Makes moments of batches.
#[derive(Debug)]
pub(crate) struct IntervalSamples {
    cpu: Samples<Cpu>,
    process: Processes,
    threads: Sparse<Thread>,
    disk: Samples<Disk>,
    net: Samples<Net>,
    known_links: HashSet<String>,
    tcp: Samples<Tcp>,
    system: Samples<System>,
    memory: Samples<Memory>,
    arc: Samples<ZfsArc>,
    checksums: Samples<Figure>,
    interrupts: Sparse<Interrupt>,
    btrfs: Sparse<BtrfsDevice>,
    listeners: ListenDrops,
    exited: Vec<Exited>,
    groups: Groups,
    ios: Vec<IoInterval>,
    by_event: ByEvent,
    failures: Failures,
    load: Vec<OpInterval>,
    events: Vec<Event>,
    /// Rows of counters since the last moment, and the time of the newest.
    newest_ns: Option<i64>,
    last_ns: Option<i64>,
    /// Lengths of the last moments.
    lengths: VecDeque<f64>,
    lost_after_intervals: f64,
    /// The machine is a hypervisor's; `None`: it may be.
    pub(super) is_guest: Option<bool>,
    has_counters: bool,
    /// No run of a load is under way since then, and one was before.
    run_ended_ns: Option<i64>,
    /// Another run has begun since the last sample.
    is_after_pause: bool,
}

/// So many lengths tell what is usual.
const LENGTHS: usize = 9;

impl IntervalSamples {
    pub(crate) fn new(lost_after_intervals: f64) -> Self {
        Self {
            is_guest: None,
            cpu: Samples::default(),
            process: Processes::default(),
            threads: Sparse::of_beginners(|row| (row.start_ns.unwrap_or(0), row.t_ns)),
            disk: Samples::default(),
            net: Samples::default(),
            known_links: HashSet::new(),
            tcp: Samples::default(),
            system: Samples::default(),
            memory: Samples::default(),
            arc: Samples::default(),
            checksums: Samples::default(),
            interrupts: Sparse::default(),
            btrfs: Sparse::default(),
            listeners: ListenDrops::default(),
            exited: Vec::new(),
            groups: Groups::default(),
            ios: Vec::new(),
            by_event: ByEvent::default(),
            failures: Failures::default(),
            load: Vec::new(),
            events: Vec::new(),
            newest_ns: None,
            last_ns: None,
            lengths: VecDeque::new(),
            lost_after_intervals,
            has_counters: false,
            run_ended_ns: None,
            is_after_pause: false,
        }
    }

    /// What comes is not the beginning of a recording.
    pub(crate) fn join(&mut self) {
        (self.interrupts.joins, self.btrfs.joins) = (true, true);
        self.by_event.join();
        (self.failures.joins, self.listeners.joins) = (true, true);
    }

    /// Were there rows of this network link?
    pub(super) fn knows_link(&self, interface: &str) -> bool {
        self.known_links.contains(interface)
    }

    /// Takes a batch of any table.
    pub(crate) fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        match batch.table.name {
            Cpu::NAME => self.cpu.accept(batch)?,
            Process::NAME => self.process.now.extend(batch.to_rows::<Process>()?),
            Thread::NAME => self.threads.now.extend(batch.to_rows::<Thread>()?),
            Disk::NAME => self.disk.accept(batch)?,
            Net::NAME => self.net.accept(batch)?,
            Tcp::NAME => self.tcp.accept(batch)?,
            System::NAME => self.system.accept(batch)?,
            Memory::NAME => self.memory.accept(batch)?,
            ZfsArc::NAME => self.arc.accept(batch)?,
            Figure::NAME => self.figures(batch)?,
            Interrupt::NAME => self.interrupts.now.extend(batch.to_rows::<Interrupt>()?),
            BtrfsDevice::NAME => self.btrfs.now.extend(batch.to_rows::<BtrfsDevice>()?),
            Listener::NAME => self.listeners.accept(batch.to_rows()?),
            Exited::NAME => self.exited.extend(batch.to_rows::<Exited>()?),
            rows::Cgroup::NAME => self.groups.accept(batch)?,
            IoInterval::NAME => self.ios.extend(batch.to_rows::<IoInterval>()?),
            OpInterval::NAME => self.load.extend(batch.to_rows::<OpInterval>()?),
            Phase::NAME => batch.to_rows::<Phase>()?.iter().for_each(|phase| self.phase(phase)),
            Event::NAME => self.events.extend(batch.to_rows::<Event>()?),
            rows::IoError::NAME => self.failures.accept(batch)?,
            TraceInterval::NAME => self.trace_intervals(batch)?,
            _ => self.by_event.accept(batch)?,
        }
        let times = [
            self.cpu.now.last().map(|row| row.t_ns),
            self.process.now.last().map(|row| row.t_ns),
            self.disk.now.last().map(|row| row.t_ns),
            self.net.now.last().map(|row| row.t_ns),
            self.tcp.now.last().map(|row| row.t_ns),
            self.system.now.last().map(|row| row.t_ns),
            self.memory.now.last().map(|row| row.t_ns),
            self.arc.now.last().map(|row| row.t_ns),
            self.checksums.now.last().map(|row| row.t_ns),
        ];
        self.newest_ns = self.newest_ns.max(times.into_iter().flatten().max());
        Ok(())
    }

    /// The moment that ends with the rows taken since the last one, and what stands before it. `None` for the first sample,
    /// and when there were no counters.
    pub(crate) fn take(&mut self) -> Option<(IntervalSample, Before)> {
        let counted_ns = self.newest_ns.take();
        self.has_counters |= counted_ns.is_some();
        // Where nothing was counted, as in another machine's log, what happened marks the time.
        let event_ns = self.events.iter().map(|event| event.t_ns).max().filter(|_| !self.has_counters);
        let t_ns = counted_ns.or(event_ns)?;
        let last_ns = self.last_ns.replace(t_ns);
        let seconds = last_ns.map_or(0.0, |last_ns| (t_ns - last_ns) as f64 / 1e9);
        let mut moment =
            IntervalSample { t_ns, seconds, events: std::mem::take(&mut self.events), ..IntervalSample::default() };
        self.cpus(&mut moment);
        moment.processes = self.process.take(seconds);
        moment.threads = self.threads.with_previous(thread_use).0;
        if self.threads.before.len() > KNOWN {
            self.threads.forget(|row| t_ns - row.t_ns < FORGET_NS);
        }
        moment.disks = self.disk.pairs(disk_use);
        drop_partitions(&mut moment.disks);
        moment.links = self.net.pairs(link_use);
        let unknown = moment.links.iter().map(|link| &link.interface).filter(|name| !self.known_links.contains(*name));
        let unknown: Vec<String> = unknown.cloned().collect();
        self.known_links.extend(unknown);
        moment.tcp = self.tcp.pairs(|row, was| Some(tcp_use(row, was))).pop();
        moment.system = self.system.pairs(system_use).pop();
        moment.memory = self.memory.pairs(memory_use).pop();
        moment.arc = self.arc.pairs(arc_use).pop();
        moment.zfs = self.checksums.pairs(zfs_errors);
        moment.groups = self.groups.take();
        moment.ios = std::mem::take(&mut self.ios);
        moment.interrupts = self.interrupts(seconds);
        moment.btrfs = self.btrfs.with_previous(btrfs_errors).0;
        (moment.listeners, moment.listen_drops) = self.listeners.take(last_ns.is_none());
        moment.exited = Some(std::mem::take(&mut self.exited)).filter(|rows| !rows.is_empty());
        self.by_event.fill(&mut moment);
        self.failures.fill(&mut moment);
        moment.load = load_use(&std::mem::take(&mut self.load));
        if last_ns.is_none() || seconds <= 0.0 {
            // What happened in the meantime belongs to the first interval.
            self.events = moment.events;
            self.failures.give_back(moment.failures);
            return None;
        }
        let is_after_pause = std::mem::take(&mut self.is_after_pause);
        let is_first = self.lengths.is_empty();
        let is_long = counted_ns.is_some() && self.is_long(seconds);
        let has_gap = moment.events.iter().any(|event| event.kind == EventKind::Gap);
        // Where the counters stand before the next run is read before its load begins: the pause is over there.
        let is_between = is_long && self.run_ended_ns.is_some_and(|ended_ns| moment.t_ns > ended_ns);
        if is_between {
            self.run_ended_ns = None;
        }
        let is_after_pause = is_after_pause || is_between;
        let before = if is_after_pause && !has_gap && (is_long || is_first) {
            Before::Pause
        } else if has_gap || is_long {
            Before::Loss
        } else {
            Before::Nothing
        };
        if is_after_pause {
            // The next run has its own.
            self.lengths.clear();
        }
        Some((moment, before))
    }

    /// Of what other tools printed and no table has a place for, the errors that `zpool status` counts.
    fn figures(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        let rows = batch.to_rows::<Figure>()?;
        let is_errors = |row: &Figure| &*row.tool == ZPOOL_STATUS && ["READ", "WRITE", "CKSUM"].contains(&&*row.name);
        self.checksums.now.extend(rows.into_iter().filter(is_errors));
        Ok(())
    }

    /// A trace has no counters: its intervals mark the time, the first of them as well, for it tells how long it was.
    fn trace_intervals(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        for row in batch.to_rows::<TraceInterval>()? {
            self.newest_ns = self.newest_ns.max(Some(row.t_ns));
            self.last_ns.get_or_insert(row.t_ns.saturating_sub(row.interval_ns));
        }
        Ok(())
    }

    fn cpus(&mut self, moment: &mut IntervalSample) {
        let is_guest = self.is_guest;
        let uses = self.cpu.pairs(|row, was| {
            let mut shares = cpu_shares(row, was)?;
            // Without a hypervisor no time is stolen, whatever the kernel counts.
            if is_guest == Some(false) {
                shares.steal = Some(0.0);
            }
            let (user, system, irq, stolen) = (shares.user, shares.system, shares.irq, shares.steal);
            Some(CpuUse { cpu: row.cpu.clone(), user, system, irq, busy: shares.busy(), stolen })
        });
        let (all, cpus): (Vec<CpuUse>, Vec<CpuUse>) = uses.into_iter().partition(|one| one.cpu == "all");
        moment.all = all.into_iter().next();
        moment.cpus = cpus;
    }

    fn interrupts(&mut self, seconds: f64) -> Option<Vec<InterruptUse>> {
        let (uses, is_known) = self.interrupts.with_previous(|row, was| {
            let per_s = CounterStep { now: row, before: was, seconds }.rate(|row| row.count)?;
            let (is_soft, vector) = (&*row.kind == "softirq", row.vector.clone());
            Some(InterruptUse { is_soft, vector, cpu: row.cpu, per_s })
        });
        is_known.then_some(uses)
    }

    /// A warm-up that ends where the measuring begins is no end.
    fn phase(&mut self, phase: &Phase) {
        if phase.event == PhaseEdge::End {
            self.run_ended_ns = Some(phase.t_ns);
        } else {
            self.is_after_pause |= self.run_ended_ns.take().is_some_and(|ended_ns| phase.t_ns > ended_ns);
        }
    }

    /// Is this length out of the usual?
    fn is_long(&mut self, seconds: f64) -> bool {
        let mut sorted: Vec<f64> = self.lengths.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        self.lengths.push_back(seconds);
        if self.lengths.len() > LENGTHS {
            self.lengths.pop_front();
        }
        sorted.get(sorted.len() / 2).is_some_and(|usual| seconds > usual * self.lost_after_intervals)
    }
}

fn disk_use(row: &Disk, was: &Disk) -> Option<DiskUse> {
    let delta = DiskDelta::of(row, was)?;
    Some(DiskUse {
        device: row.device.clone(),
        completions: delta.completions()?,
        reads_per_s: delta.per_s(delta.read.ios),
        ops_per_s: delta.per_s(delta.ops())?,
        bytes_per_s: delta.per_s(delta.bytes()),
        response_ns: delta.mean_await_ns(),
        queue: delta.mean_queue_depth(),
        busy: delta.busy_percent(),
        in_flight: row.in_flight,
        rotational: None,
        delta,
    })
}

/// A partition's figures are its disk's once more.
fn drop_partitions(disks: &mut Vec<DiskUse>) {
    let names: Vec<String> = disks.iter().map(|disk| disk.device.clone()).collect();
    disks.retain(|disk| !names.iter().any(|whole| is_partition(&disk.device, whole)));
}

fn link_use(row: &Net, was: &Net) -> Option<LinkUse> {
    let delta = NetDelta::of(row, was);
    let both = |of: fn(&NetDelta, &NetDirection) -> Option<f64>| Some([of(&delta, &delta.rx)?, of(&delta, &delta.tx)?]);
    Some(LinkUse {
        interface: row.interface.clone(),
        wire_bits_per_s: both(NetDelta::wire_bits_per_s)?,
        bytes_per_s: both(|delta, direction| delta.per_s(direction.bytes))?,
        packets_per_s: [delta.per_s(delta.rx.packets), delta.per_s(delta.tx.packets)],
        rx_drops_per_s: delta.per_s(delta.rx.drops.map(|drops| drops + delta.rx_fifo.unwrap_or(0.0))),
        speed_bits_per_s: row.speed_bits_per_s.map(|bits| bits as f64),
        full_duplex: row.full_duplex,
        mtu_bytes: row.mtu_bytes.map(|bytes| bytes as f64),
        master: row.master.clone(),
        qdisc: row.qdisc.clone(),
        shaped_bits_per_s: row.qdisc_rate_bits_per_s.map(|bits| bits as f64),
        qdisc_backlog_bytes: row.qdisc_backlog_bytes.map(|bytes| bytes as f64),
        qdisc_drops_per_s: delta.per_s(delta.qdisc_drops),
        qdisc_overlimits_per_s: delta.per_s(delta.qdisc_overlimits),
    })
}

fn tcp_use(row: &Tcp, was: &Tcp) -> TcpUse {
    TcpUse {
        overflows: delta_opt(row.listen_overflows, was.listen_overflows),
        drops: delta_opt(row.listen_drops, was.listen_drops),
        half_open_drops: delta_opt(row.request_queue_drops, was.request_queue_drops)
            .map(|drops| drops + delta_opt(row.request_queue_cookies, was.request_queue_cookies).unwrap_or(0.0)),
    }
}

fn system_use(row: &System, was: &System) -> Option<SystemUse> {
    let step = CounterStep::between(row, was, |row| row.t_ns);
    (step.seconds > 0.0).then(|| SystemUse {
        interrupts_per_s: step.rate_opt(|row| row.interrupts),
        blocked: row.blocked.map(|tasks| tasks as f64),
        softnet_drops_per_s: step.rate_opt(|row| row.softnet_drops),
        softnet_squeezed_per_s: step.rate_opt(|row| row.softnet_squeezed),
    })
}

fn memory_use(row: &Memory, was: &Memory) -> Option<MemoryUse> {
    let step = CounterStep::between(row, was, |row| row.t_ns);
    (step.seconds > 0.0).then_some(())?;
    Some(MemoryUse {
        cached_bytes: row.cached_bytes? as f64,
        free_bytes: row.free_bytes? as f64,
        refaults_per_s: step.rate_opt(|row| row.file_refaults),
    })
}

/// Name of the import's format.
const ZPOOL_STATUS: &str = "zpool-status";

fn zfs_errors(row: &Figure, was: &Figure) -> Option<ZfsErrors> {
    let grown = delta_f64(row.value?, was.value?)?;
    let is_checksum = &*row.name == "CKSUM";
    (grown > 0.0).then(|| ZfsErrors { device: row.thing.to_string(), is_checksum, grown })
}

fn arc_use(row: &ZfsArc, was: &ZfsArc) -> Option<ArcUse> {
    Some(ArcUse {
        size_bytes: row.size_bytes? as f64,
        max_bytes: row.max_bytes? as f64,
        hit_percent: arc_hit_percent(&CounterStep::between(row, was, |row| row.t_ns)),
    })
}

/// `None` for a device that has just come: its errors may be old.
fn btrfs_errors(row: &BtrfsDevice, was: Option<&BtrfsDevice>) -> Option<BtrfsErrors> {
    let was = was?;
    let corruption = delta_opt(row.corruption_errors, was.corruption_errors).unwrap_or(0.0);
    let io = [
        delta_opt(row.read_errors, was.read_errors),
        delta_opt(row.write_errors, was.write_errors),
        delta_opt(row.flush_errors, was.flush_errors),
    ];
    let io = io.into_iter().flatten().sum();
    (corruption + io > 0.0).then(|| BtrfsErrors { row: row.clone(), corruption, io })
}

fn load_use(rows: &[OpInterval]) -> Option<LoadUse> {
    let measured = rows.iter().filter(|row| row.interval_ns > 0 && row.phase != LoadPhase::Drain);
    let mut response = Histogram::default();
    let mut ops_per_s = 0.0;
    let mut any = false;
    for row in measured {
        any = true;
        ops_per_s += row.ops as f64 * 1e9 / row.interval_ns as f64;
        response.merge(&row.response);
    }
    any.then(|| LoadUse { ops_per_s, response_ns_p50: response.percentile(0.5).map(|ns| ns as f64) })
}

/// Processes: rows are left out of those that did nothing, so each is compared with its own last row, and its rate is
/// over the time since the last sample.
#[derive(Debug, Default)]
struct Processes {
    before: HashMap<<Process as Row>::Key, Process>,
    now: Vec<Process>,
    seen: bool,
}

impl Processes {
    fn take(&mut self, seconds: f64) -> Option<Vec<TaskUse>> {
        let newest_ns = self.now.last()?.t_ns;
        let is_first = !std::mem::replace(&mut self.seen, true);
        let mut uses = Vec::new();
        for row in self.now.drain(..) {
            let was = self.before.insert(row.key(), row.clone());
            // An engine that joins late does not know what a process had used before; a start is exact to the tick, by
            // a clock that counts sleep.
            let is_old = was.is_none()
                && row.start_ns.is_some_and(|start_ns| ((newest_ns - start_ns) as f64) > (seconds + 1.0) * 1e9);
            if !is_first && !is_old && seconds > 0.0 {
                uses.extend(task_use(row, was.as_ref(), seconds));
            }
        }
        if self.before.len() > KNOWN {
            self.before.retain(|_, row| newest_ns - row.t_ns < FORGET_NS);
        }
        Some(uses)
    }
}

/// `None` for the first row: what it used before is of no interval. One that was not looked at for a while gets its mean.
fn thread_use(row: &Thread, was: Option<&Thread>) -> Option<ThreadUse> {
    let was = was?;
    let step = CounterStep::between(row, was, |row| row.t_ns);
    Some(ThreadUse {
        pid: row.pid,
        tid: row.tid,
        comm: row.comm.clone(),
        user: step.share_percent(|row| Some(row.user_ns))?,
        system: step.share_percent(|row| Some(row.system_ns))?,
    })
}

/// One that was not known has begun since the last sample, and used all that it has used in this one.
fn task_use(row: Process, was: Option<&Process>, seconds: f64) -> Option<TaskUse> {
    let delta = ProcessDelta::of_step(&CounterStep { now: &row, before: was, seconds });
    Some(TaskUse {
        user: delta.percent(delta.user)?,
        system: delta.percent(delta.system)?,
        read_bytes_per_s: delta.per_s(delta.read),
        write_bytes_per_s: delta.per_s(delta.written),
        pid: row.pid,
        start_ns: row.start_ns,
        threads: row.threads,
        blocked: row.state.as_deref() == Some("D"),
        comm: row.comm,
    })
}

#[cfg(test)]
mod tests {
    use rates::disk::is_partition;

    #[test]
    fn partitions() {
        for (device, whole) in
            [("sda1", "sda"), ("nvme0n1p2", "nvme0n1"), ("loop0p1", "loop0"), ("mmcblk0p1", "mmcblk0")]
        {
            assert!(is_partition(device, whole), "{device}");
        }
        for (device, whole) in
            [("sdaa", "sda"), ("sda", "sda"), ("dm-10", "dm-1"), ("loop10", "loop1"), ("nvme0n12", "nvme0n1")]
        {
            assert!(!is_partition(device, whole), "{device}");
        }
    }
}
