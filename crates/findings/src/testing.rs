//! Hand-made counters for the tests of rules: each step says what happened in an interval, and the counters grow by it.

mod by_event;
mod storage;

use super::{Finding, FindingSeverity, RuleEngine, RuleId, Thresholds};
use recording::rows::{
    BtrfsDevice, Cgroup, Cpu, CpuEvent, Disk, Event, Exited, Figure, Interrupt, IoError, IoInterval, Listener, Memory,
    Net, OpInterval, PreemptedBy, Process, ProcessEvent, Stolen, System, Tcp, Thread, ZfsArc,
};
use recording::{EventSeverity, Row, RowBatch, Sink};
use std::collections::BTreeMap;

/// A machine whose counters a test writes.
pub(crate) struct Bench {
    engine: RuleEngine,
    t_s: f64,
    cpus: BTreeMap<String, Cpu>,
    processes: BTreeMap<i64, Process>,
    threads: BTreeMap<i64, Thread>,
    disks: BTreeMap<String, Disk>,
    links: BTreeMap<String, Net>,
    tcp: Option<Tcp>,
    system: Option<System>,
    memory: Option<Memory>,
    arc: Option<ZfsArc>,
    errors: BTreeMap<(String, &'static str), Figure>,
    groups: Vec<Cgroup>,
    /// How often groups were held back, and for how long they waited for memory, ns.
    held: BTreeMap<String, (i64, i64)>,
    ios: Vec<IoInterval>,
    load: Vec<OpInterval>,
    interrupts: BTreeMap<(bool, String, i32), Interrupt>,
    listeners: Vec<Listener>,
    btrfs: Vec<BtrfsDevice>,
    exited: Vec<Exited>,
    cpu_events: BTreeMap<usize, CpuEvent>,
    runs: BTreeMap<i64, ProcessEvent>,
    preempted: BTreeMap<(i64, i64), PreemptedBy>,
    stolen: BTreeMap<(i64, String), Stolen>,
    events: Vec<Event>,
    io_errors: BTreeMap<(String, String, i32), IoError>,
}

/// One interval of a process by event: per cent of one CPU, and per second.
#[derive(Clone, Copy)]
pub(crate) struct RunStep {
    pub(crate) run: f64,
    pub(crate) wait: f64,
    pub(crate) switches: f64,
    pub(crate) preemptions: f64,
}

/// One interval of a device.
#[derive(Clone, Copy, Default)]
pub(crate) struct DiskStep {
    pub(crate) reads_per_s: f64,
    pub(crate) writes_per_s: f64,
    pub(crate) bytes_per_s: f64,
    pub(crate) response_ms: f64,
    pub(crate) queue: f64,
    pub(crate) busy_percent: f64,
    pub(crate) in_flight: i64,
}

/// One interval of an interface, sending.
#[derive(Clone, Copy, Default)]
pub(crate) struct LinkStep {
    pub(crate) tx_bytes_per_s: f64,
    pub(crate) tx_packets_per_s: f64,
    pub(crate) rx_bytes_per_s: f64,
    pub(crate) rx_packets_per_s: f64,
    pub(crate) overlimits_per_s: f64,
}

fn ns(seconds: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "tests are short")]
    let ns = (seconds * 1e9).round() as i64;
    ns
}

fn whole(value: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "tests use small numbers")]
    let value = value.round() as i64;
    value
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(Thresholds::default())
    }

    pub(crate) fn with(thresholds: Thresholds) -> Self {
        Self {
            engine: RuleEngine::new(thresholds),
            // Nothing begins at the boot of a machine.
            t_s: 1000.0,
            cpus: BTreeMap::new(),
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
            disks: BTreeMap::new(),
            links: BTreeMap::new(),
            tcp: None,
            system: None,
            memory: None,
            arc: None,
            errors: BTreeMap::new(),
            groups: Vec::new(),
            held: BTreeMap::new(),
            ios: Vec::new(),
            load: Vec::new(),
            interrupts: BTreeMap::new(),
            listeners: Vec::new(),
            btrfs: Vec::new(),
            exited: Vec::new(),
            cpu_events: BTreeMap::new(),
            runs: BTreeMap::new(),
            preempted: BTreeMap::new(),
            stolen: BTreeMap::new(),
            events: Vec::new(),
            io_errors: BTreeMap::new(),
        }
    }

    /// Of a machine with this inventory.
    pub(crate) fn of_machine(mut self, hardware: &serde_json::Value) -> Self {
        self.engine = self.engine.of_machine(hardware);
        self
    }

    /// `count` intervals of `seconds` in which `what` happens; before the first of all, counters stand at what `what`
    /// makes them in no time.
    pub(crate) fn steps(&mut self, count: usize, seconds: f64, what: impl Fn(&mut Step<'_>)) {
        if self.cpus.is_empty() && self.disks.is_empty() && self.tcp.is_none() && self.memory.is_none() {
            self.step(0.0, &what);
        }
        for _ in 0..count {
            self.step(seconds, &what);
        }
    }

    fn step(&mut self, seconds: f64, what: &impl Fn(&mut Step<'_>)) {
        self.t_s += seconds;
        what(&mut Step { bench: self, seconds });
        let t_ns = ns(self.t_s);
        fn give<R: Row>(engine: &mut RuleEngine, rows: &[R]) {
            if !rows.is_empty() {
                engine.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
            }
        }
        macro_rules! all {
            ($($rows:expr),*) => { $( {
                let mut rows: Vec<_> = $rows.cloned().collect();
                rows.iter_mut().for_each(|row| row.t_ns = t_ns);
                give(&mut self.engine, &rows);
            } )* };
        }
        all!(
            self.cpus.values(),
            self.processes.values(),
            self.threads.values(),
            self.disks.values(),
            self.links.values(),
            self.tcp.iter(),
            self.system.iter(),
            self.memory.iter(),
            self.arc.iter(),
            self.errors.values(),
            self.groups.iter(),
            self.ios.iter(),
            self.load.iter(),
            self.interrupts.values(),
            self.listeners.iter(),
            self.btrfs.iter(),
            self.exited.iter(),
            self.cpu_events.values(),
            self.runs.values(),
            self.preempted.values(),
            self.stolen.values(),
            self.events.iter(),
            self.io_errors.values()
        );
        self.load.clear();
        self.groups.clear();
        self.ios.clear();
        self.listeners.clear();
        self.btrfs.clear();
        self.exited.clear();
        self.events.clear();
        self.engine.commit().unwrap();
    }

    /// From here on there is no such network interface.
    pub(crate) fn unplug(&mut self, interface: &str) {
        self.links.remove(interface);
    }

    pub(crate) fn now_s(&self) -> f64 {
        self.t_s
    }

    pub(crate) fn engine(&self) -> &RuleEngine {
        &self.engine
    }

    /// Trouble by `rule`.
    pub(crate) fn found(&self, rule: RuleId) -> Vec<&Finding> {
        let findings = self.engine.findings().iter();
        findings.filter(|finding| finding.rule == rule && finding.severity == FindingSeverity::Finding).collect()
    }

    /// The only finding of all rules.
    pub(crate) fn only(&self, rule: RuleId) -> &Finding {
        let all: Vec<&Finding> = self.engine.findings().iter().filter(|finding| finding.counts()).collect();
        assert_eq!(all.len(), 1, "{all:#?}");
        assert_eq!(all[0].rule, rule, "{all:#?}");
        all[0]
    }

    /// No trouble by any rule.
    pub(crate) fn is_silent(&self) {
        let all: Vec<&Finding> =
            self.engine.findings().iter().filter(|one| one.severity == FindingSeverity::Finding).collect();
        assert!(all.is_empty(), "{all:#?}");
    }
}

/// An interval under way.
pub(crate) struct Step<'a> {
    bench: &'a mut Bench,
    pub(crate) seconds: f64,
}

impl Step<'_> {
    /// One CPU, per cent: user, system, interrupts; the rest is idle.
    pub(crate) fn cpu(&mut self, number: usize, parts: [f64; 3]) {
        self.cpu_stolen(number, parts, 0.0);
    }

    /// The same, and what the hypervisor gave to others.
    pub(crate) fn cpu_stolen(&mut self, number: usize, [user, system, irq]: [f64; 3], steal: f64) {
        let seconds = self.seconds;
        let mut add = |name: String| {
            let row = self.bench.cpus.entry(name.clone()).or_insert_with(|| Cpu {
                t_ns: 0,
                t_s: 0.0,
                cpu: name,
                user_ns: 0,
                nice_ns: Some(0),
                system_ns: 0,
                idle_ns: 0,
                iowait_ns: Some(0),
                irq_ns: Some(0),
                softirq_ns: Some(0),
                steal_ns: Some(0),
                clock: "tick".into(),
            });
            let part = |percent: f64| ns(percent / 100.0 * seconds);
            row.user_ns += part(user);
            row.system_ns += part(system);
            row.softirq_ns = row.softirq_ns.map(|ns| ns + part(irq));
            row.steal_ns = row.steal_ns.map(|ns| ns + part(steal));
            row.idle_ns += part(100.0 - user - system - irq - steal);
        };
        add(number.to_string());
        add("all".to_string());
    }

    /// The kernel does not report the time stolen from a CPU.
    pub(crate) fn cpu_steal_unknown(&mut self, number: usize) {
        self.bench.cpus.get_mut(&number.to_string()).unwrap().steal_ns = None;
    }

    /// A process with what it uses, per cent of one CPU.
    pub(crate) fn process(&mut self, pid: i64, comm: &str, threads: i64, [user, system]: [f64; 2]) -> &mut Process {
        let row = self.bench.processes.entry(pid).or_insert_with(|| Process {
            t_ns: 0,
            t_s: 0.0,
            pid,
            start_ns: Some(pid * 1000),
            parent: Some(1),
            comm: comm.into(),
            state: Some("R".into()),
            threads: Some(threads),
            user_ns: Some(0),
            system_ns: Some(0),
            resident_bytes: Some(0),
            major_faults: Some(0),
            minor_faults: None,
            io_delay_ns: None,
            read_bytes: Some(0),
            write_bytes: Some(0),
        });
        row.user_ns = row.user_ns.map(|was| was + ns(user / 100.0 * self.seconds));
        row.system_ns = row.system_ns.map(|was| was + ns(system / 100.0 * self.seconds));
        row
    }

    /// A thread in user mode, per cent of one CPU.
    pub(crate) fn thread(&mut self, pid: i64, tid: i64, comm: &str, user: f64) {
        let row = self.bench.threads.entry(tid).or_insert_with(|| Thread {
            t_ns: 0,
            t_s: 0.0,
            pid,
            tid,
            start_ns: Some(tid * 1000),
            comm: comm.into(),
            cpu: Some(0),
            user_ns: 0,
            system_ns: 0,
        });
        row.user_ns += ns(user / 100.0 * self.seconds);
    }

    fn disk_row(&mut self, device: &str) -> &mut Disk {
        let zero = Some(0);
        self.bench.disks.entry(device.to_string()).or_insert_with(|| Disk {
            t_ns: 0,
            t_s: 0.0,
            device: device.into(),
            target: String::new(),
            read_ios: zero,
            read_merges: zero,
            read_sectors: zero,
            read_ticks_ms: zero,
            write_ios: zero,
            write_merges: zero,
            write_sectors: zero,
            write_ticks_ms: zero,
            in_flight: zero,
            io_ticks_ms: zero,
            weighted_ticks_ms: zero,
            discard_ios: None,
            discard_merges: None,
            discard_sectors: None,
            discard_ticks_ms: None,
            flush_ios: None,
            flush_ticks_ms: None,
            any_ios: None,
            any_sectors: None,
        })
    }

    /// All counters of a device.
    pub(crate) fn counters(&mut self, device: &str) -> [&mut Option<i64>; 16] {
        let row = self.disk_row(device);
        [
            &mut row.read_ios,
            &mut row.read_sectors,
            &mut row.read_ticks_ms,
            &mut row.write_ios,
            &mut row.write_sectors,
            &mut row.write_ticks_ms,
            &mut row.discard_ios,
            &mut row.discard_sectors,
            &mut row.discard_ticks_ms,
            &mut row.flush_ios,
            &mut row.flush_ticks_ms,
            &mut row.io_ticks_ms,
            &mut row.weighted_ticks_ms,
            &mut row.in_flight,
            &mut row.any_ios,
            &mut row.any_sectors,
        ]
    }

    pub(crate) fn disk(&mut self, device: &str, step: DiskStep) {
        let seconds = self.seconds;
        let row = self.disk_row(device);
        let grow = |counter: &mut Option<i64>, by: f64| *counter = counter.map(|value| value + whole(by));
        grow(&mut row.read_ios, step.reads_per_s * seconds);
        grow(&mut row.write_ios, step.writes_per_s * seconds);
        let sectors = step.bytes_per_s * seconds / 512.0;
        let reads = step.reads_per_s / (step.reads_per_s + step.writes_per_s).max(1e-9);
        grow(&mut row.read_sectors, sectors * reads);
        grow(&mut row.write_sectors, sectors * (1.0 - reads));
        grow(&mut row.read_ticks_ms, step.reads_per_s * seconds * step.response_ms);
        grow(&mut row.write_ticks_ms, step.writes_per_s * seconds * step.response_ms);
        grow(&mut row.io_ticks_ms, step.busy_percent * 10.0 * seconds);
        grow(&mut row.weighted_ticks_ms, step.queue * 1000.0 * seconds);
        row.in_flight = Some(step.in_flight);
    }

    pub(crate) fn link(&mut self, interface: &str, step: LinkStep) -> &mut Net {
        let seconds = self.seconds;
        let zero = Some(0);
        let row = self.bench.links.entry(interface.to_string()).or_insert_with(|| Net {
            t_ns: 0,
            t_s: 0.0,
            interface: interface.into(),
            rx_bytes: 0,
            rx_packets: zero,
            rx_errors: zero,
            rx_drops: zero,
            rx_fifo: zero,
            rx_frame: zero,
            rx_multicast: zero,
            tx_bytes: 0,
            tx_packets: zero,
            tx_errors: zero,
            tx_drops: zero,
            tx_fifo: zero,
            tx_collisions: zero,
            tx_carrier: zero,
            speed_bits_per_s: Some(1_000_000_000),
            full_duplex: Some(true),
            up: Some(true),
            qdisc_backlog_bytes: zero,
            qdisc_drops: zero,
            qdisc_overlimits: zero,
            qdisc_requeues: zero,
            qdisc: None,
            qdisc_rate_bits_per_s: None,
            mtu_bytes: Some(1500),
            master: None,
        });
        let grow = |counter: &mut Option<i64>, by: f64| *counter = counter.map(|value| value + whole(by));
        row.tx_bytes += whole(step.tx_bytes_per_s * seconds);
        row.rx_bytes += whole(step.rx_bytes_per_s * seconds);
        grow(&mut row.tx_packets, step.tx_packets_per_s * seconds);
        grow(&mut row.rx_packets, step.rx_packets_per_s * seconds);
        grow(&mut row.qdisc_overlimits, step.overlimits_per_s * seconds);
        row
    }

    /// Connections refused in the interval, and connection requests dropped.
    pub(crate) fn tcp(&mut self, overflows: Option<i64>, drops: i64) -> &mut Tcp {
        let row = self.bench.tcp.get_or_insert_with(|| Tcp {
            t_ns: 0,
            t_s: 0.0,
            in_segments: None,
            out_segments: None,
            retransmits: None,
            in_errors: None,
            active_opens: None,
            passive_opens: None,
            attempt_fails: None,
            established_resets: None,
            resets_sent: None,
            established: None,
            listen_overflows: overflows.map(|_| 0),
            listen_drops: Some(0),
            timeouts: None,
            syn_retransmits: None,
            request_queue_drops: Some(0),
            request_queue_cookies: Some(0),
        });
        row.listen_overflows = row.listen_overflows.zip(overflows).map(|(was, more)| was + more);
        row.listen_drops = row.listen_drops.map(|was| was + drops);
        row
    }

    /// Interrupts per second, packets dropped and times squeezed per second.
    pub(crate) fn system(&mut self, interrupts: f64, drops: f64, squeezed: f64) {
        let seconds = self.seconds;
        let row = self.bench.system.get_or_insert(System {
            t_ns: 0,
            t_s: 0.0,
            context_switches: Some(0),
            interrupts: Some(0),
            forks: Some(0),
            runnable: Some(1),
            blocked: Some(0),
            load_1m: None,
            softnet_drops: Some(0),
            softnet_squeezed: Some(0),
        });
        let grow = |counter: &mut Option<i64>, by: f64| *counter = counter.map(|value| value + whole(by * seconds));
        grow(&mut row.interrupts, interrupts);
        grow(&mut row.softnet_drops, drops);
        grow(&mut row.softnet_squeezed, squeezed);
    }

    /// An interrupt on a CPU, per second.
    pub(crate) fn interrupt(&mut self, is_soft: bool, vector: &str, cpu: i32, per_s: f64) {
        let key = (is_soft, vector.to_string(), cpu);
        let row = self.bench.interrupts.entry(key).or_insert_with(|| Interrupt {
            t_ns: 0,
            t_s: 0.0,
            kind: if is_soft { "softirq".into() } else { "irq".into() },
            vector: vector.into(),
            cpu,
            count: 0,
        });
        row.count += whole(per_s * self.seconds);
    }

    /// A listener of `tnslsnr` with a queue.
    pub(crate) fn listener(&mut self, port: i64, queue: i64, backlog: i64) {
        self.listener_that_dropped(port, queue, backlog, None);
    }

    /// The same, which has dropped so many requests since it listens.
    pub(crate) fn listener_that_dropped(&mut self, port: i64, queue: i64, backlog: i64, drops: Option<i64>) {
        self.bench.listeners.push(Listener {
            t_ns: 0,
            t_s: 0.0,
            address: "0.0.0.0".into(),
            port,
            queue,
            backlog,
            limit: Some(4096),
            drops,
            pid: Some(911),
            comm: Some("tnslsnr".into()),
            inode: None,
            gone: None,
        });
    }

    /// One of the sockets that share port 80, which has dropped so many requests since it listens.
    pub(crate) fn shared_listener(&mut self, inode: i64, queue: i64, drops: i64) {
        self.listener_that_dropped(80, queue, 5, Some(drops));
        if let Some(row) = self.bench.listeners.last_mut() {
            (row.inode, row.pid) = (Some(inode), Some(inode * 100));
        }
    }

    /// So many processes per second of that name ended, each having used so much CPU time and lived twice as long.
    pub(crate) fn exited(&mut self, comm: &str, per_s: i64, cpu_ms: f64) {
        let count = whole(per_s as f64 * self.seconds);
        self.bench.exited.push(Exited {
            t_ns: 0,
            t_s: 0.0,
            comm: comm.into(),
            tasks: count,
            processes: count,
            cpu_ns: whole(count as f64 * cpu_ms * 1e6),
            lived_ns: whole(count as f64 * cpu_ms * 2e6),
        });
    }

    /// So many I/Os failed.
    pub(crate) fn io_error(&mut self, device: &str, op: &str, error: i32, count: i64) {
        let key = (device.to_string(), op.to_string(), error);
        let row = self.bench.io_errors.entry(key).or_insert_with(|| IoError {
            op: op.into(),
            error,
            file: Some("/data/a".into()),
            sector: Some(8),
            ..failed_reads(device, 0, 0)
        });
        row.count += count;
    }

    /// Something happened.
    pub(crate) fn event(&mut self, kind: &str, message: &str) {
        self.event_times(kind, message, 1);
    }

    /// Something happened so often.
    pub(crate) fn event_times(&mut self, kind: &str, message: &str, count: i64) {
        self.bench.events.push(Event {
            t_ns: 0,
            t_s: 0.0,
            severity: EventSeverity::Warning,
            kind: kind.into(),
            class: None,
            run: None,
            target: None,
            message: message.into(),
            count,
        });
    }
}

/// So many reads of a device failed, the first one then.
pub(crate) fn failed_reads(device: &str, first_ns: i64, count: i64) -> IoError {
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
