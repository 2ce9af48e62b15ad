//! Recordings made up for tests and pictures: a storage with a service time that grows with its load, noise, a warm-up
//! and a stall. Every random choice comes from a fixed seed.
#![allow(
    clippy::allow_attributes,
    clippy::unwrap_used,
    clippy::too_many_lines,
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    dead_code,
    unused_imports,
    reason = "test data; each user needs a part of it"
)]

mod machine;

pub(crate) use machine::{idle_machine, machine, machine_with_zram};

use quantity::histogram::Histogram;
use recording::rows::{Cpu, Disk, EngineInterval, Event, OpInterval, Phase, RunTotal};
use recording::{Manifest, RowBatch, Sink, Writer};
use std::collections::BTreeMap;
use std::path::Path;

const SECOND: i64 = 1_000_000_000;

/// A run to make up.
pub(crate) struct Script {
    pub(crate) title: String,
    pub(crate) detail: String,
    pub(crate) offered: Option<f64>,
    pub(crate) seconds: i64,
    pub(crate) warmup: i64,
    /// Seconds without a completion.
    pub(crate) stall: std::ops::Range<i64>,
    pub(crate) targets: usize,
    pub(crate) reads: f64,
    pub(crate) mean_service_us: f64,
    /// The program dies before it has written the run's totals.
    pub(crate) cut: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            title: "rd1".to_string(),
            detail: String::new(),
            offered: Some(20_000.0),
            seconds: 60,
            warmup: 5,
            stall: 0..0,
            targets: 2,
            reads: 0.7,
            mean_service_us: 180.0,
            cut: false,
        }
    }
}

/// Steele and Vigna's SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next()).ln()
    }
}

type Totals = BTreeMap<(String, String, String), RunTotal>;

pub(crate) struct Maker {
    writer: Writer,
    origin: i64,
    t_ns: i64,
    random: Random,
    counters: (i64, i64, i64, i64, i64),
    index: i32,
    /// Counters of a machine have devices without a controller.
    has_virtual: bool,
}

impl Maker {
    pub(crate) fn new(directory: &Path) -> Self {
        let mut manifest = Manifest::new(&["iodyno", "run", "oltp.vdb", "-o", "results/monday"].map(String::from));
        manifest.id = "0123456789abcdef".to_string();
        manifest.host = "db7".to_string();
        manifest.kernel = "6.12.43 #1 SMP PREEMPT_DYNAMIC".to_string();
        manifest.sources = vec![(
            "jobs/oltp.vdb".to_string(),
            "sd=sd1,lun=/dev/nvme0n1,threads=32\nsd=sd2,lun=/dev/nvme1n1,threads=32\nwd=wd1,sd=sd*,xfersize=8k,rdpct=70\n\
             rd=rd1,wd=wd1,iorate=20000,elapsed=60,interval=1,warmup=5\n* </script><b>not markup</b>\n"
                .to_string(),
        )];
        manifest.started_wall_ns = 1_795_171_447_000_000_000;
        manifest.hardware = serde_json::json!({
            "cpu": {"model": "AMD EPYC 9354P", "cores": 32, "threads": 64},
            "memory_bytes": 274_877_906_944_u64,
            "devices": [
                {"name": "nvme0n1", "model": "SAMSUNG MZQL21T9", "size_bytes": 1_920_383_410_176_u64, "scheduler": "none", "nr_requests": 1023},
                {"name": "nvme1n1", "model": "SAMSUNG MZQL21T9", "size_bytes": 1_920_383_410_176_u64, "scheduler": "none", "nr_requests": 1023},
            ],
        });
        manifest.extra.insert("engine_own_cost_ns_per_io".to_string(), serde_json::json!(94.2));
        let writer = Writer::create(directory, manifest).unwrap();
        let origin = i64::try_from(writer.started_t_ns()).unwrap();
        let mut maker = Self {
            writer,
            origin,
            t_ns: origin + SECOND / 20,
            random: Random(7),
            counters: (0, 0, 0, 0, 0),
            index: 0,
            has_virtual: false,
        };
        maker.event("info", "engine", None, "io_uring, 2 workers, 64 operations in flight at most");
        maker.counters();
        maker
    }

    fn publish<R: recording::Row>(&mut self, rows: &[R]) {
        self.writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
    }

    fn seconds(&self) -> f64 {
        (self.t_ns - self.origin) as f64 / 1e9
    }

    pub(crate) fn event(&mut self, severity: &str, kind: &str, run: Option<&str>, message: &str) {
        let row = Event {
            t_ns: self.t_ns,
            t_s: self.seconds(),
            severity: severity.into(),
            kind: kind.into(),
            run: run.map(String::from),
            message: message.to_string(),
            count: 1,
            ..Event::default()
        };
        self.publish(&[row]);
    }

    fn counters(&mut self) {
        let (user, system, ios, sectors, ticks) = self.counters;
        let idle = (self.t_ns - self.origin) * 64 - user - system;
        let cpu = |name: &str, part: i64| Cpu {
            t_ns: self.t_ns,
            t_s: self.seconds(),
            cpu: name.to_string(),
            user_ns: user / part,
            nice_ns: Some(0),
            system_ns: system / part,
            idle_ns: idle / part,
            iowait_ns: Some(0),
            irq_ns: Some(0),
            softirq_ns: Some(0),
            steal_ns: Some(0),
            clock: "tick".to_string(),
        };
        let disk = |name: &str, share: i64| Disk {
            t_ns: self.t_ns,
            t_s: self.seconds(),
            device: name.to_string(),
            target: "sd1".to_string(),
            read_ios: Some(ios * 7 / 10 / share),
            read_merges: Some(0),
            read_sectors: Some(sectors * 7 / 10 / share),
            read_ticks_ms: Some(ticks * 6 / 10 / share),
            write_ios: Some(ios * 3 / 10 / share),
            write_merges: Some(0),
            write_sectors: Some(sectors * 3 / 10 / share),
            write_ticks_ms: Some(ticks * 4 / 10 / share),
            in_flight: Some(2),
            io_ticks_ms: Some((self.t_ns - self.origin) / 1_100_000),
            weighted_ticks_ms: Some(ticks / share),
            ..Disk::default()
        };
        let (cpus, disks) = ([cpu("all", 1), cpu("0", 64), cpu("1", 60)], [disk("nvme0n1", 2), disk("nvme1n1", 3)]);
        self.publish(&cpus);
        self.publish(&disks);
    }

    fn phase(&mut self, script: &Script, phase: &str, event: &str) {
        let row = Phase {
            t_ns: self.t_ns,
            t_s: self.seconds(),
            run: script.title.clone(),
            run_index: self.index,
            phase: phase.into(),
            event: event.into(),
            offered_rate: script.offered,
            detail: script.detail.clone(),
        };
        self.publish(&[row]);
    }

    pub(crate) fn run(&mut self, script: &Script) {
        let mut totals = Totals::new();
        let mut waiting = 0_i64;
        if script.warmup > 0 {
            self.phase(script, "warmup", "start");
        } else {
            self.phase(script, "measure", "start");
        }
        for second in 0..script.warmup + script.seconds {
            if second == script.warmup && script.warmup > 0 {
                self.phase(script, "warmup", "end");
                self.phase(script, "measure", "start");
            }
            let phase = if second < script.warmup { "warmup" } else { "measure" };
            self.t_ns += SECOND;
            self.interval(script, phase, second, &mut waiting, &mut totals);
        }
        if script.cut {
            return;
        }
        self.phase(script, "measure", "end");
        let totals: Vec<RunTotal> = totals.into_values().collect();
        self.publish(&totals);
        self.writer.commit().unwrap();
        self.index += 1;
        self.t_ns += SECOND / 2;
    }

    /// Response and service time of one operation, ns.
    fn times(&mut self, script: &Script, late_ns: f64) -> (u64, u64) {
        let mut service = script.mean_service_us * 1e3 * (0.35 + self.random.exponential(0.65));
        if self.random.next() < 0.004 {
            service += self.random.exponential(4e6);
        }
        let lag = self.random.exponential(6e3) + late_ns;
        ((service + lag) as u64, service as u64)
    }

    fn interval(&mut self, script: &Script, phase: &str, second: i64, waiting: &mut i64, totals: &mut Totals) {
        let stalled = script.stall.contains(&second);
        let just_over = second == script.stall.end && !script.stall.is_empty();
        let rate = script.offered.unwrap_or(41_000.0) * (0.985 + 0.03 * self.random.next());
        let mut rows = Vec::new();
        for target in 0..script.targets {
            for (op, share) in [("read", script.reads), ("write", 1.0 - script.reads)] {
                if share <= 0.0 {
                    continue;
                }
                let arrivals = (rate * share / script.targets as f64) as i64;
                let backlog = if stalled { (*waiting as f64 * share) as i64 / script.targets as i64 } else { 0 };
                let late = if just_over { (script.stall.end - script.stall.start) * arrivals } else { 0 };
                let ops = if stalled { 0 } else { arrivals + late };
                let (mut response, mut service) = (Histogram::default(), Histogram::default());
                for at in 0..ops {
                    let waited = if at < late {
                        (late - at) as f64 / late as f64 * (script.stall.end - script.stall.start) as f64 * 1e9
                    } else {
                        0.0
                    };
                    let times = self.times(script, waited);
                    response.record(times.0);
                    service.record(times.1);
                }
                let name = format!("sd{}", target + 1);
                let key = (name.clone(), op.to_string(), phase.to_string());
                let total = totals.entry(key).or_insert_with(|| RunTotal {
                    t_ns: 0,
                    t_s: 0.0,
                    start_t_ns: self.t_ns - SECOND,
                    run: script.title.clone(),
                    run_index: self.index,
                    phase: phase.into(),
                    workload: "wd1".to_string(),
                    target: name.clone(),
                    op: op.to_string(),
                    arrivals: Some(0),
                    ops: 0,
                    bytes: 0,
                    errors: Some(0),
                    response: Histogram::default(),
                    service: Histogram::default(),
                    ..RunTotal::default()
                });
                (total.t_ns, total.t_s) = (self.t_ns, (self.t_ns - self.origin) as f64 / 1e9);
                total.arrivals = total.arrivals.map(|sum| sum + arrivals);
                total.ops += ops;
                total.bytes += ops * 8192;
                total.response.merge(&response);
                total.service.merge(&service);
                let in_flight = if stalled { 32.0 } else { ops as f64 * script.mean_service_us / 1e6 };
                self.counters.2 += ops;
                self.counters.3 += ops * 16;
                self.counters.4 += (in_flight * 1000.0) as i64;
                rows.push(OpInterval {
                    t_ns: self.t_ns,
                    t_s: (self.t_ns - self.origin) as f64 / 1e9,
                    interval_ns: SECOND,
                    run: script.title.clone(),
                    run_index: self.index,
                    phase: phase.into(),
                    workload: "wd1".to_string(),
                    target: name,
                    op: op.to_string(),
                    arrivals: Some(arrivals),
                    ops,
                    bytes: ops * 8192,
                    errors: Some(0),
                    response: response.collapse(5),
                    service: service.collapse(5),
                    wait: None,
                    in_flight_mean: Some(in_flight),
                    backlog: Some(backlog),
                });
            }
        }
        *waiting = if stalled { *waiting + rate as i64 } else { 0 };
        let done: i64 = rows.iter().map(|row| row.ops).sum();
        self.publish(&rows);
        self.engine(script, done);
        self.counters.0 += done * 4_000 + 300_000_000;
        self.counters.1 += done * 21_000 + 500_000_000;
        self.counters();
        self.writer.commit().unwrap();
    }

    fn engine(&mut self, script: &Script, done: i64) {
        let rows: Vec<EngineInterval> = (0..2)
            .map(|worker| {
                let mut wait = Histogram::new(5);
                for _ in 0..(done / 40).min(500) {
                    wait.record(self.random.exponential(6e3) as u64);
                }
                EngineInterval {
                    t_ns: self.t_ns,
                    t_s: (self.t_ns - self.origin) as f64 / 1e9,
                    interval_ns: SECOND,
                    run: script.title.clone(),
                    run_index: self.index,
                    worker,
                    engine: "io_uring".to_string(),
                    cpu_user_ns: done * 300,
                    cpu_sys_ns: done * 2_600,
                    wait,
                    timestamp_age_ns_max: 4_100,
                    submit_calls: done / 3,
                    wakeups: done / 9,
                    limited: false,
                    ..EngineInterval::default()
                }
            })
            .collect();
        self.publish(&rows);
    }

    pub(crate) fn seal(mut self) {
        self.writer.update_manifest(|manifest| manifest.exit = Some("complete".to_string())).unwrap();
        self.writer.seal().unwrap();
    }
}

/// One run of 60 s with a stall of 2 s.
pub(crate) fn single(directory: &Path) {
    let mut maker = Maker::new(directory);
    maker.run(&Script { stall: 31..33, offered: Some(6_000.0), ..Script::default() });
    maker.seal();
}

/// A curve of ten points.
pub(crate) fn curve(directory: &Path) {
    let mut maker = Maker::new(directory);
    for percent in [10, 20, 30, 40, 50, 60, 70, 80, 90, 97] {
        let load = f64::from(percent) / 100.0;
        maker.run(&Script {
            title: format!("rd1_({percent}%)"),
            offered: Some(20_000.0 * load),
            seconds: 12,
            warmup: 2,
            mean_service_us: 110.0 / (1.02 - load),
            ..Script::default()
        });
    }
    maker.seal();
}

/// A curve of four points after a run at full speed, which found its end.
pub(crate) fn curve_and_full_speed(directory: &Path) {
    let mut maker = Maker::new(directory);
    maker.run(&Script { offered: None, seconds: 6, warmup: 0, mean_service_us: 4_000.0, ..Script::default() });
    for percent in [10, 40, 70, 90] {
        let load = f64::from(percent) / 100.0;
        maker.run(&Script {
            title: format!("rd1_({percent}%)"),
            offered: Some(40_000.0 * load),
            seconds: 6,
            warmup: 0,
            mean_service_us: 110.0 / (1.02 - load),
            ..Script::default()
        });
    }
    maker.seal();
}

/// Four runs that have nothing to do with each other.
pub(crate) fn unrelated(directory: &Path) {
    let mut maker = Maker::new(directory);
    for (title, rate, reads) in
        [("fill", None, 0.0), ("random", Some(2_000.0), 0.7), ("scan", Some(500.0), 1.0), ("mail", Some(900.0), 0.5)]
    {
        let title = title.to_string();
        maker.run(&Script { title, offered: rate, reads, seconds: 5, warmup: 0, ..Script::default() });
    }
    maker.seal();
}

/// Seventy runs over two variables.
pub(crate) fn sweep(directory: &Path) {
    let mut maker = Maker::new(directory);
    for size in ["4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m", "2m"] {
        for threads in [1, 2, 4, 8, 16, 32, 64] {
            let factor = 1.0 + f64::from(threads) / 12.0;
            let rate = 1_500.0 * f64::from(threads) / factor / (1.0 + size.len() as f64 / 4.0);
            maker.run(&Script {
                title: "rd1".to_string(),
                detail: format!("xfersize={size} threads={threads}"),
                offered: Some(rate),
                seconds: 5,
                warmup: 0,
                stall: if threads == 64 && size == "2m" { 3..4 } else { 0..0 },
                mean_service_us: 90.0 * factor,
                ..Script::default()
            });
        }
    }
    maker.seal();
}

/// Four runs, five times each, with noise between the rounds; the last two differ by less than that.
pub(crate) fn repeated(directory: &Path) {
    let mut maker = Maker::new(directory);
    for round in 1..=5_u32 {
        for (threads, rate) in [(1, 900.0), (2, 1_700.0), (4, 2_600.0), (8, 2_605.0)] {
            let noise = 1.0 + 0.012 * (f64::from(round * 7 % 5) - 2.0) * if threads == 8 { -1.0 } else { 1.0 };
            maker.run(&Script {
                title: if round == 1 { "rd1".to_string() } else { format!("rd1 (round {round})") },
                detail: format!("threads={threads}"),
                offered: Some(rate * noise),
                seconds: 4,
                warmup: 0,
                mean_service_us: 90.0 * (1.0 + f64::from(threads) / 4.0) * noise,
                ..Script::default()
            });
        }
    }
    maker.seal();
}

/// A run whose program was killed.
pub(crate) fn cut(directory: &Path) {
    let mut maker = Maker::new(directory);
    maker.run(&Script { cut: true, seconds: 10, ..Script::default() });
}

/// A recording in which nothing ran.
pub(crate) fn empty(directory: &Path) {
    Maker::new(directory).seal();
}
