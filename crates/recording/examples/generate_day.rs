//! Makes a recording as a collector leaves it at midnight, by a fake clock: `generate_day DIRECTORY [SECONDS]`.
//!
//! A sample a second: 16 CPUs, six disks, four interfaces, pressure, interrupts, 60 processes that are active at a time. The
//! load has a day's curve; a disk is the limit in the small hours, a listener refuses connections at noon.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench: it prints, and what fails ends it")]

use quantity::clock;
use recording::rows::{Cpu, Disk, Event, Interrupt, Memory, Net, Pressure, Process, System, Tcp, Udp};
use recording::{ClockAnchor, EventKind, EventSeverity, Label, Manifest, Row, RowBatch, Sink as _, Writer};
use std::path::Path;

const CPUS: usize = 16;
const DISKS: [&str; 6] = ["nvme0n1", "nvme1n1", "sda", "sdb", "sdc", "dm-0"];
const NETS: [&str; 4] = ["lo", "eth0", "eth1", "bond0"];
/// Processes that there are, and those of them that do something in a second.
const PROCESSES: usize = 600;
const ACTIVE: usize = 60;
/// Samples of a batch; a batch of each table is what the journal takes at a time.
const BATCH: i64 = 60;
const SECOND: i64 = 1_000_000_000;
/// 2026-11-20 00:00 UTC.
const MIDNIGHT_NS: i64 = 1_795_132_800 * SECOND;
/// The host had been up for a week.
const STARTED_NS: i64 = 7 * 86_400 * SECOND;

/// xorshift64*.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 2;
        i64::try_from(drawn).unwrap() % limit.max(1)
    }

    /// About `mean`: from a half to one and a half of it.
    fn about(&mut self, mean: i64) -> i64 {
        mean / 2 + self.below(mean + 1)
    }
}

/// Counters that go on from second to second.
struct Day {
    dice: Dice,
    cpus: Vec<[i64; 4]>,
    disks: Vec<[i64; 8]>,
    nets: Vec<[i64; 4]>,
    processes: Vec<[i64; 4]>,
    pressure: [i64; 4],
    interrupts: Vec<i64>,
    refused: i64,
    others: i64,
}

#[derive(Default)]
struct Rows {
    cpu: Vec<Cpu>,
    disk: Vec<Disk>,
    net: Vec<Net>,
    process: Vec<Process>,
    pressure: Vec<Pressure>,
    interrupt: Vec<Interrupt>,
    memory: Vec<Memory>,
    system: Vec<System>,
    tcp: Vec<Tcp>,
    udp: Vec<Udp>,
    event: Vec<Event>,
}

/// When a row was read.
#[derive(Clone, Copy)]
struct At {
    t_ns: i64,
    t_s: f64,
    /// Load of the day, per thousand.
    load: i64,
    /// Does the backup run?
    backup: bool,
    /// Are connections refused?
    crowd: bool,
}

impl At {
    #[expect(clippy::cast_possible_truncation, reason = "per thousand")]
    fn new(second: i64) -> Self {
        let t_ns = STARTED_NS + second * SECOND;
        let hour = (second % 86_400) as f64 / 3600.0;
        let load = (350.0 - 300.0 * (hour / 12.0 * std::f64::consts::PI).cos()) as i64;
        let backup = (7200..9000).contains(&(second % 86_400));
        Self { t_ns, t_s: second as f64, load, backup, crowd: (43_200..43_260).contains(&(second % 86_400)) }
    }
}

impl Day {
    fn new() -> Self {
        Self {
            dice: Dice(88_172_645_463_325_252),
            cpus: vec![[0; 4]; CPUS],
            disks: vec![[0; 8]; DISKS.len()],
            nets: vec![[0; 4]; NETS.len()],
            processes: vec![[0; 4]; PROCESSES],
            pressure: [0; 4],
            interrupts: vec![0; CPUS * 3],
            refused: 0,
            others: 0,
        }
    }

    fn cpu(&mut self, at: At, rows: &mut Vec<Cpu>) {
        let first = rows.len();
        let mut all = [0; 4];
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            let busy = self.dice.about(at.load * 1_000_000).min(SECOND);
            let iowait = if at.backup { self.dice.below(SECOND - busy + 1) } else { 0 };
            let grown = [busy * 7 / 10, busy * 3 / 10, SECOND - busy - iowait, iowait];
            cpu.iter_mut().zip(grown).for_each(|(counter, grown)| *counter += grown);
            all.iter_mut().zip(*cpu).for_each(|(all, one)| *all += one);
            rows.push(cpu_row(at, number.to_string(), *cpu));
        }
        rows.insert(first, cpu_row(at, "all".to_string(), all));
    }

    fn disk(&mut self, at: At, rows: &mut Vec<Disk>) {
        for (number, device) in DISKS.into_iter().enumerate() {
            let is_backup = at.backup && device == "sda";
            let ios = if is_backup { 600 } else { at.load * (6 - i64::try_from(number).unwrap()) / 10 };
            let (reads, writes) = (self.dice.about(ios), self.dice.about(ios / 3));
            let each_us = if is_backup { 25_000 } else { 300 };
            let ticks = |ios: i64| ios * each_us / 1000;
            let busy = (ticks(reads + writes) / 4).min(1000);
            let grown = [
                reads,
                reads * 32,
                ticks(reads),
                writes,
                writes * 24,
                ticks(writes),
                busy,
                ticks(reads) + ticks(writes),
            ];
            let now = &mut self.disks[number];
            now.iter_mut().zip(grown).for_each(|(counter, grown)| *counter += grown);
            rows.push(disk_row(at, device, *now, if is_backup { 15 } else { 0 }));
        }
    }

    fn net(&mut self, at: At, rows: &mut Vec<Net>) {
        for (number, interface) in NETS.into_iter().enumerate() {
            let packets = self.dice.about(at.load * 20);
            let now = &mut self.nets[number];
            let grown = [packets * 700, packets, packets * 900, packets];
            now.iter_mut().zip(grown).for_each(|(counter, grown)| *counter += grown);
            rows.push(net_row(at, interface, *now));
        }
    }

    fn process(&mut self, at: At, rows: &mut Vec<Process>) {
        // All of them in the first second, and then those that did something.
        let all = at.t_ns == STARTED_NS;
        let count = if all { PROCESSES } else { ACTIVE };
        for turn in 0..count {
            let others = usize::try_from(at.t_ns / SECOND).unwrap() * 20 % (PROCESSES - 40);
            let number = if all || turn < 40 { turn } else { 40 + others + turn - 40 };
            let user = self.dice.about(at.load * 60_000);
            let (read, written) = (self.dice.below(1 << 18), self.dice.below(1 << 17));
            let now = &mut self.processes[number];
            now.iter_mut().zip([user, user / 3, read, written]).for_each(|(counter, grown)| *counter += grown);
            rows.push(process_row(at, number, *now));
        }
    }

    fn others(&mut self, at: At, rows: &mut Rows) {
        let waited = if at.backup { 400_000_000 } else { at.load * 20_000 };
        for (number, resource) in ["cpu", "io", "irq", "memory"].into_iter().enumerate() {
            self.pressure[number] += if resource == "io" { self.dice.about(waited) } else { at.load * 1000 };
            let some = Some(self.pressure[number]);
            let (t_ns, t_s) = (at.t_ns + 2000, at.t_s);
            let full_ns = some.map(|ns| ns / 3);
            rows.pressure.push(Pressure { t_ns, t_s, resource: resource.to_string(), some_ns: some, full_ns });
        }
        for (number, count) in self.interrupts.iter_mut().enumerate() {
            *count += 100 + self.dice.below(1000);
            let (kind, vector) = [("irq", "LOC"), ("softirq", "NET_RX"), ("softirq", "TIMER")][number % 3];
            let (kind, vector) = (Label::from(kind), Label::from(vector));
            let cpu = i32::try_from(number / 3).unwrap();
            rows.interrupt.push(Interrupt { t_ns: at.t_ns, t_s: at.t_s, kind, vector, cpu, count: *count });
        }
        self.refused += if at.crowd { self.dice.about(27) } else { 0 };
        self.others += at.load;
        rows.memory.push(memory_row(at, self.others));
        rows.system.push(system_row(at, self.others));
        rows.tcp.push(tcp_row(at, self.others, self.refused));
        rows.udp.push(udp_row(at, self.others));
    }

    fn second(&mut self, second: i64, rows: &mut Rows) {
        let at = At::new(second);
        self.cpu(at, &mut rows.cpu);
        self.disk(at, &mut rows.disk);
        self.net(at, &mut rows.net);
        self.process(at, &mut rows.process);
        self.others(at, rows);
        if second % 3600 == 1800 {
            rows.event.push(Event {
                t_ns: at.t_ns,
                t_s: at.t_s,
                severity: EventSeverity::Info,
                kind: EventKind::Kernel,
                message: "cron: the half hour".to_string(),
                count: 1,
                ..Event::default()
            });
        }
    }
}

fn cpu_row(at: At, cpu: String, [user_ns, system_ns, idle_ns, iowait_ns]: [i64; 4]) -> Cpu {
    Cpu {
        t_ns: at.t_ns,
        t_s: at.t_s,
        cpu,
        user_ns,
        nice_ns: Some(0),
        system_ns,
        idle_ns,
        iowait_ns: Some(iowait_ns),
        irq_ns: Some(0),
        softirq_ns: Some(system_ns / 10),
        steal_ns: Some(0),
        clock: "tick".to_string(),
    }
}

fn disk_row(at: At, device: &str, now: [i64; 8], in_flight: i64) -> Disk {
    let [read_ios, read_sectors, read_ticks, write_ios, write_sectors, write_ticks, busy, weighted] = now.map(Some);
    Disk {
        t_ns: at.t_ns,
        t_s: at.t_s,
        device: device.to_string(),
        target: String::new(),
        read_ios,
        read_merges: Some(0),
        read_sectors,
        read_ticks_ms: read_ticks,
        write_ios,
        write_merges: write_ios.map(|ios| ios / 5),
        write_sectors,
        write_ticks_ms: write_ticks,
        in_flight: Some(in_flight),
        io_ticks_ms: busy,
        weighted_ticks_ms: weighted,
        discard_ios: Some(0),
        discard_merges: Some(0),
        discard_sectors: Some(0),
        discard_ticks_ms: Some(0),
        flush_ios: Some(0),
        flush_ticks_ms: Some(0),
        ..Disk::default()
    }
}

fn net_row(at: At, interface: &str, [rx_bytes, rx_packets, tx_bytes, tx_packets]: [i64; 4]) -> Net {
    Net {
        t_ns: at.t_ns,
        t_s: at.t_s,
        interface: interface.to_string(),
        rx_bytes,
        rx_packets: Some(rx_packets),
        rx_errors: Some(0),
        rx_drops: Some(0),
        rx_fifo: Some(0),
        rx_frame: Some(0),
        rx_multicast: Some(0),
        tx_bytes,
        tx_packets: Some(tx_packets),
        tx_errors: Some(0),
        tx_drops: Some(0),
        tx_fifo: Some(0),
        tx_collisions: Some(0),
        tx_carrier: Some(0),
        speed_bits_per_s: (interface != "lo").then_some(10_000_000_000),
        full_duplex: (interface != "lo").then_some(true),
        up: Some(true),
        qdisc_backlog_bytes: Some(0),
        qdisc_drops: Some(0),
        qdisc_overlimits: Some(0),
        qdisc_requeues: Some(0),
        qdisc: Some("fq_codel".to_string()),
        qdisc_rate_bits_per_s: None,
        mtu_bytes: Some(1500),
        master: interface.starts_with("eth").then(|| "bond0".to_string()),
    }
}

fn process_row(at: At, number: usize, [user, system, read, written]: [i64; 4]) -> Process {
    let names = ["postgres", "nginx", "java", "python3", "sshd", "kworker/u32:1", "ksoftirqd/3", "node"];
    Process {
        t_ns: at.t_ns + 5000,
        t_s: at.t_s,
        pid: 1000 + i64::try_from(number).unwrap(),
        start_ns: Some(STARTED_NS / 2 + i64::try_from(number).unwrap()),
        parent: Some(1),
        comm: names[number % names.len()].to_string(),
        state: Some("S".to_string()),
        threads: Some(1 + i64::try_from(number % 7).unwrap()),
        user_ns: Some(user),
        system_ns: Some(system),
        resident_bytes: Some(i64::try_from(number + 1).unwrap() << 20),
        major_faults: Some(0),
        minor_faults: None,
        io_delay_ns: Some(0),
        read_bytes: Some(read),
        write_bytes: Some(written),
    }
}

fn memory_row(at: At, others: i64) -> Memory {
    Memory {
        t_ns: at.t_ns,
        t_s: at.t_s,
        total_bytes: Some(64 << 30),
        free_bytes: Some(2 << 30),
        available_bytes: Some((40 << 30) - at.load * (1 << 23)),
        cached_bytes: Some((36 << 30) - at.load * (1 << 23)),
        anonymous_bytes: Some((20 << 30) + at.load * (1 << 23)),
        slab_bytes: Some(2 << 30),
        dirty_bytes: Some(at.load << 16),
        writeback_bytes: Some(0),
        swap_total_bytes: Some(0),
        swap_free_bytes: Some(0),
        page_in_bytes: Some(others << 14),
        page_out_bytes: Some(others << 13),
        swap_in_pages: Some(0),
        swap_out_pages: Some(0),
        faults: Some(others * 20),
        major_faults: Some(others / 1000),
        file_refaults: Some(0),
        direct_reclaimed: Some(0),
        oom_kills: Some(0),
    }
}

fn system_row(at: At, others: i64) -> System {
    System {
        t_ns: at.t_ns,
        t_s: at.t_s,
        context_switches: Some(others * 50),
        interrupts: Some(others * 30),
        forks: Some(others / 50),
        runnable: Some(at.load / 50),
        blocked: Some(if at.backup { 15 } else { 0 }),
        load_1m: Some(at.load as f64 / 60.0),
        softnet_drops: Some(0),
        softnet_squeezed: Some(0),
    }
}

fn tcp_row(at: At, others: i64, refused: i64) -> Tcp {
    Tcp {
        t_ns: at.t_ns,
        t_s: at.t_s,
        in_segments: Some(others * 40),
        out_segments: Some(others * 40),
        retransmits: Some(others / 100),
        in_errors: Some(0),
        active_opens: Some(others / 20),
        passive_opens: Some(others / 10),
        attempt_fails: Some(0),
        established_resets: Some(0),
        resets_sent: Some(0),
        established: Some(at.load),
        listen_overflows: Some(refused),
        listen_drops: Some(refused),
        timeouts: Some(0),
        syn_retransmits: Some(0),
        request_queue_drops: Some(0),
        request_queue_cookies: Some(0),
    }
}

fn udp_row(at: At, others: i64) -> Udp {
    Udp {
        t_ns: at.t_ns,
        t_s: at.t_s,
        in_datagrams: Some(others),
        out_datagrams: Some(others),
        no_ports: Some(0),
        in_errors: Some(0),
        receive_buffer_errors: Some(0),
        send_buffer_errors: Some(0),
    }
}

fn put<R: Row>(writer: &mut Writer, rows: &mut Vec<R>) {
    writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
    rows.clear();
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "day.iodyno".to_string());
    let seconds: i64 = arguments.next().map_or(86_400, |text| text.parse().unwrap());
    let began_ns = clock::now_ns();
    let mut manifest = Manifest::new(&["iodyno".to_string(), "record".to_string()]);
    (manifest.started_t_ns, manifest.started_wall_ns) = (STARTED_NS, MIDNIGHT_NS);
    manifest.host = "db7".to_string();
    let anchors = (0..=seconds / 60).map(|minute| minute * 60 * SECOND);
    manifest.clock_anchors =
        anchors.map(|ns| ClockAnchor { t_ns: STARTED_NS + ns, wall_ns: MIDNIGHT_NS + ns }).collect();
    manifest.hardware = serde_json::json!({ "cpu": { "online": CPUS }, "memory_bytes": 64_u64 << 30 });
    let mut writer = Writer::create(Path::new(&directory), manifest).unwrap();
    let (mut day, mut rows) = (Day::new(), Rows::default());
    for second in 0..seconds {
        day.second(second, &mut rows);
        if second % BATCH == BATCH - 1 || second == seconds - 1 {
            put(&mut writer, &mut rows.cpu);
            put(&mut writer, &mut rows.system);
            put(&mut writer, &mut rows.interrupt);
            put(&mut writer, &mut rows.memory);
            put(&mut writer, &mut rows.pressure);
            put(&mut writer, &mut rows.disk);
            put(&mut writer, &mut rows.net);
            put(&mut writer, &mut rows.tcp);
            put(&mut writer, &mut rows.udp);
            put(&mut writer, &mut rows.process);
            put(&mut writer, &mut rows.event);
            writer.commit().unwrap();
        }
    }
    writer.update_manifest(|manifest| manifest.exit = Some("fine".to_string())).unwrap();
    writer.seal_past().unwrap();
    println!("{seconds} s, made in {:.1} s", (clock::now_ns() - began_ns) as f64 / 1e9);
}
