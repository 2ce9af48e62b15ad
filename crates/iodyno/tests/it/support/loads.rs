//! Three loads as a machine would show them, made by rules that know nothing of iodyno's generators.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::should_implement_trait,
    clippy::allow_attributes,
    reason = "a helper of tests"
)]

use recording::Label;
use recording::rows::Io;

/// SplitMix64.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// In (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A gap of arrivals that know nothing of each other, s.
    pub fn gap(&mut self, rate: f64) -> f64 {
        -self.unit().ln() / rate
    }
}

/// What is written down of an I/O.
struct Load {
    rows: Vec<Io>,
    chance: Chance,
}

impl Load {
    fn new(seed: u64) -> Self {
        Self { rows: Vec::new(), chance: Chance::new(seed) }
    }

    fn push(&mut self, t_s: f64, dev: &str, op: &str, offset: u64, bytes: u64) {
        let queue_ns = (t_s * 1e9) as i64;
        let length = 80_000 + i64::try_from(self.chance.below(400_000)).unwrap();
        self.rows.push(Io {
            queue_ns,
            issue_ns: Some(queue_ns + 2000),
            complete_ns: Some(queue_ns + length),
            dev: Label::from(dev),
            op: Label::from(op),
            sector: i64::try_from(offset / 512).unwrap(),
            bytes: i64::try_from(bytes).unwrap(),
            pid: Some(4711),
            tid: Some(4712),
            comm: Some(Label::from("secretd")),
            cgroup: Some(Label::from("/tenant/secret")),
            file: Some(Label::from("/srv/secret/payroll.db")),
            bios: Some(1),
            requeues: Some(0),
            ..Io::default()
        });
    }

    /// By completion, as the tracer writes them.
    fn finish(mut self) -> Vec<Io> {
        self.rows.sort_by_key(|io| (io.complete_ns, io.queue_ns, io.sector));
        self.rows
    }
}

/// Pages of 8 KiB by a steep curve, hot ones scattered in extents of 4 MiB over 6 GiB; a log that writes on and on; a
/// checkpoint every five seconds; a rate that swings.
pub fn oltp(seconds: u32) -> Vec<Io> {
    let mut load = Load::new(11);
    let extents: Vec<u64> = shuffled(&mut load.chance, 1536);
    let page = |chance: &mut Chance| {
        let at = chance.unit().powf(3.5) * 1536.0;
        extents[(at as usize).min(1535)] * (4 << 20) + chance.below(512) * 8192
    };
    let (mut t_s, mut log) = (0.0, 0_u64);
    while t_s < f64::from(seconds) {
        let swing = 1.0 + 0.35 * (t_s * std::f64::consts::TAU / 7.0).sin();
        t_s += load.chance.gap(1500.0 * swing);
        let draw = load.chance.unit();
        if draw < 0.66 {
            let at = page(&mut load.chance);
            load.push(t_s, "nvme0n1", "read", at, 8192);
        } else if draw < 0.80 {
            let at = page(&mut load.chance);
            load.push(t_s, "nvme0n1", "write", at, 8192);
        } else {
            let bytes = 4096 * (1 + load.chance.below(4));
            load.push(t_s, "nvme1n1", "write", log, bytes);
            log = (log + bytes) % (192 << 20);
        }
        if t_s.rem_euclid(5.0) < 0.6 && load.chance.unit() < 0.7 {
            let at = page(&mut load.chance) / 16384 * 16384;
            let bytes = [16384, 16384, 32768, 65536][load.chance.below(4) as usize];
            load.push(t_s, "nvme0n1", "write", at, bytes);
        }
    }
    load.finish()
}

/// Two scans of a large table, 256 KiB at a time, that run for some seconds and rest for some; between them a process
/// looks things up.
pub fn scan(seconds: u32) -> Vec<Io> {
    let mut load = Load::new(12);
    let (mut at_s, mut places, mut turn) = (0.0, [0_u64, 9 << 30], 0);
    while at_s < f64::from(seconds) {
        let busy_s = 0.8 + 1.6 * load.chance.unit();
        let mut t_s = at_s;
        while t_s < at_s + busy_s {
            t_s += load.chance.gap(2400.0);
            turn = 1 - turn;
            load.push(t_s, "sda", "read", places[turn], 256 << 10);
            places[turn] += 256 << 10;
        }
        at_s += busy_s + 0.5 + 1.5 * load.chance.unit();
    }
    let mut t_s = 0.0;
    while t_s < at_s {
        t_s += load.chance.gap(120.0);
        let at = (20 << 30) + load.chance.below(1 << 18) * 4096;
        let op = if load.chance.unit() < 0.8 { "read" } else { "write" };
        load.push(t_s, "sda", op, at, 4096);
    }
    let mut rows = load.finish();
    rows.retain(|io| io.queue_ns < i64::from(seconds) * 1_000_000_000);
    rows
}

/// Deliveries: some journal writes, a file of some KiB in pieces at a new place, a flush; they come in flocks. Readers
/// take whole files, mostly young ones. An expunge discards now and then.
pub fn mail(seconds: u32) -> Vec<Io> {
    let mut load = Load::new(13);
    let files: Vec<u64> = shuffled(&mut load.chance, 40_000);
    let place = |number: u64| (1 << 30) + files[(number % 40_000) as usize] * (256 << 10);
    let (mut t_s, mut delivered, mut journal) = (0.0, 10_000_u64, 0_u64);
    while t_s < f64::from(seconds) {
        t_s += load.chance.gap(9.0);
        let flock = 1 + load.chance.below(9);
        let mut within_s = t_s;
        for _ in 0..flock {
            for _ in 0..2 {
                load.push(within_s, "md0", "write", journal, 4096);
                journal = (journal + 4096) % (64 << 20);
                within_s += load.chance.gap(6000.0);
            }
            let pieces = 1 + load.chance.below(6);
            for piece in 0..pieces {
                load.push(within_s, "md0", "write", place(delivered) + piece * 16384, 16384);
                within_s += load.chance.gap(6000.0);
            }
            load.push(within_s, "md0", "flush", 0, 0);
            within_s += load.chance.gap(3000.0);
            delivered += 1;
        }
        for _ in 0..load.chance.below(2 * flock + 1) {
            let age = (load.chance.unit().powf(3.0) * 9_000.0) as u64;
            let (number, pieces) = (delivered - age.min(delivered), 1 + load.chance.below(4));
            for piece in 0..pieces {
                load.push(within_s, "md0", "read", place(number) + piece * 32768, 32768);
                within_s += load.chance.gap(4000.0);
            }
        }
        if load.chance.unit() < 0.05 {
            let number = load.chance.below(10_000);
            load.push(within_s, "md0", "discard", place(number), 256 << 10);
        }
    }
    let mut rows = load.finish();
    rows.retain(|io| io.queue_ns < i64::from(seconds) * 1_000_000_000);
    rows
}

/// `0..n` in some order.
fn shuffled(chance: &mut Chance, n: u64) -> Vec<u64> {
    let mut all: Vec<u64> = (0..n).collect();
    for at in (1..all.len()).rev() {
        let other = usize::try_from(chance.below(at as u64 + 1)).unwrap();
        all.swap(at, other);
    }
    all
}
