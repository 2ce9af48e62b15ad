//! Job files made by seed, run by fio and by us on the same device, bio by bio.
//!
//! What the options alone decide must be the same sequence; of what is chosen by chance, number, bytes, bounds and grain.
//! What fio 3.33 does against its own words is left out of what is made, with its reason ([`fios_own_defects`]).
//! `FIO_SEED=N` makes other files.

use super::fio_faces::{Bench, Bio, places};
use std::fmt::Write as _;
use testkit::BlockOp;

/// Jobs of one file.
const BATCH: usize = 16;

/// Small and good enough (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % below.max(1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.roll(n) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }

    /// Log-uniform multiple of 512.
    fn block(&mut self, most: u64) -> u64 {
        let sectors = 1 << self.roll((most / 512).ilog2().into());
        (sectors + self.roll(sectors)) * 512
    }
}

/// A job, and how exactly it follows from its options.
struct Made {
    text: String,
    is_exact: bool,
    /// Bytes that the last operation may reach beyond what was asked for.
    slack: u64,
    /// Operations and bytes follow from the options.
    is_counted: bool,
}

/// What fio 3.33 does against its words, and so is not made. The words behind each are the condition.
fn fios_own_defects() -> [(&'static str, &'static str); 4] {
    [
        ("a gap below −bs begins with the first block and never reads the last one", "gap < -bs"),
        ("a gap that leads behind the end of the device goes on at twice the offset", "gap > 0, offset > 0, no size"),
        (
            "random places behind the end of the device end the job at the first of them",
            "random, offset + size > device",
        ),
        ("number_ios of a trimwrite doubles with every pass", "trimwrite, number_ios, loops"),
    ]
}

/// Which part of the device, and how much of it; `bs`: the largest transfer.
fn part(dice: &mut Dice, bs: u64, is_random: bool, text: &mut String) {
    let (mut offset, mut filesize) = (0, 96 << 20);
    match dice.roll(4) {
        0 => {
            offset = dice.roll(60 << 11) * 512;
            let _ = writeln!(text, "offset={offset}");
        }
        1 => {
            let percent = 1 + dice.roll(60);
            offset = (percent + 1) << 20;
            let _ = writeln!(text, "offset={percent}%");
        }
        _ => {}
    }
    if dice.one_in(5) {
        filesize = offset + ((1 + dice.roll(20)) << 20);
        let _ = match dice.roll(2) {
            0 => writeln!(text, "filesize={filesize}"),
            _ => writeln!(text, "filesize={filesize}-{filesize}"),
        };
    }
    let most = (filesize - offset).min(150 * bs);
    // Less than a percent of the device would be nothing.
    if dice.one_in(4) && bs >= 32 << 10 && bs <= 256 << 10 {
        let _ = writeln!(text, "size={}%", 1 + dice.roll(3));
    } else {
        let size = bs + dice.roll(most - bs + 1);
        let size = if is_random { size - size % 512 } else { size };
        let _ = writeln!(text, "size={size}");
        if dice.one_in(4) && !text.contains("filesize") {
            let _ = writeln!(text, "io_size={}", size / 2 + dice.roll(2 * size));
        }
    }
    // Behind a pass that ends inside of a `filesize=`, fio goes on where it was: not looked into yet.
    if dice.one_in(4) && !text.contains("filesize") {
        let _ = writeln!(text, "loops={}", 1 + dice.roll(3));
    }
    if dice.one_in(4) {
        let _ = writeln!(text, "number_ios={}", 1 + dice.roll(200));
    }
}

fn sequential(dice: &mut Dice) -> Made {
    let bs = dice.block(256 << 10);
    // The kernel cuts a trim where the device's own grain does not fit, and sends the rest behind the next one.
    let rw = dice.pick(&["read", "write"]);
    let gap = match dice.roll(3) {
        0 => format!(":{}", 512 * (1 + dice.roll(64))),
        1 if bs > 512 => format!(":-{}", 512 * (1 + dice.roll(bs / 512 - 1))),
        _ => String::new(),
    };
    let mut text = format!("rw={rw}{gap}\nbs={bs}\n");
    part(dice, bs, false, &mut text);
    if dice.one_in(6) {
        let _ = writeln!(text, "blockalign={}", dice.block(64 << 10));
    }
    Made { text, is_exact: true, slack: 0, is_counted: true }
}

fn random(dice: &mut Dice) -> Made {
    let rw = dice.pick(&["randread", "randwrite"]);
    let (low, high) = (dice.block(16 << 10), dice.block(32 << 10));
    let (min, max) = (low.min(high), low.max(high));
    let mut text = format!("rw={rw}\n");
    let is_fixed = dice.one_in(2);
    let largest = if is_fixed { low } else { max };
    let _ = match (is_fixed, dice.roll(3)) {
        (true, _) => writeln!(text, "bs={low}"),
        (false, 0) => writeln!(text, "bsrange={max}:{min}"),
        (false, 1) => writeln!(text, "bsrange={min}-{max}"),
        (false, _) => writeln!(text, "bssplit={min}/30:{max}/70"),
    };
    if !is_fixed || dice.one_in(2) {
        text += dice.pick(&["norandommap\n", "norandommap\nrandom_generator=lfsr\n"]);
    }
    if is_fixed && dice.one_in(4) {
        let _ = writeln!(text, "blockalign={}", dice.block(16 << 10));
    }
    part(dice, largest.max(4096), true, &mut text);
    let is_counted = !text.contains("lfsr");
    Made { text, is_exact: false, slack: if is_fixed { 0 } else { largest }, is_counted }
}

fn bytes(job: &[Bio]) -> u64 {
    job.iter().map(|bio| bio.2).sum()
}

/// What is different, in words.
fn difference(made: &Made, fio: &[Bio], ours: &[Bio]) -> Option<String> {
    let kind = |job: &[Bio]| job.first().map_or(BlockOp::Other, |bio| bio.0);
    if made.is_exact || fio.is_empty() || ours.is_empty() {
        let first = fio.iter().zip(ours).position(|(a, b)| a != b).unwrap_or(fio.len().min(ours.len()));
        let at = |job: &[Bio]| job.get(first).map_or("the end".to_string(), |bio| format!("{bio:?}"));
        let counts = format!("{} and {} operations", fio.len(), ours.len());
        return (fio != ours).then(|| format!("{counts}; number {first}: fio {}, ours {}", at(fio), at(ours)));
    }
    let (a, b) = (places(fio), places(ours));
    let enough = fio.len().min(ours.len()) >= 60;
    let edge = (a.1 - a.0) / 4;
    let is_same = kind(fio) == kind(ours)
        && (!made.is_counted || bytes(fio).abs_diff(bytes(ours)) <= made.slack)
        && (!enough || (a.2 == b.2 && a.0.abs_diff(b.0) <= edge && a.1.abs_diff(b.1) <= edge));
    let seen = |job: &[Bio]| format!("{} operations of {} bytes at {:?}", job.len(), bytes(job), places(job));
    (!is_same).then(|| format!("fio {}, ours {}", seen(fio), seen(ours)))
}

/// So many jobs, beginning with this seed.
fn compare(jobs: usize, seed: u64) {
    let Some(bench) = Bench::new() else { return };
    assert!(fios_own_defects().iter().all(|(what, when)| !what.is_empty() && !when.is_empty()));
    let mut failures = Vec::new();
    for batch in 0..jobs.div_ceil(BATCH) {
        let mut dice = Dice(seed + batch as u64);
        let made: Vec<Made> =
            (0..BATCH).map(|_| if dice.one_in(3) { random(&mut dice) } else { sequential(&mut dice) }).collect();
        let texts: Vec<&str> = made.iter().map(|made| made.text.as_str()).collect();
        let [fio, ours] = bench.both(&format!("random{batch}"), &texts);
        for (made, (fio, ours)) in made.iter().zip(fio.iter().zip(&ours)) {
            failures.extend(difference(made, fio, ours).map(|what| format!("{}{what}", made.text)));
        }
    }
    assert!(failures.is_empty(), "seed {seed}: {} of {jobs} jobs differ:\n{}", failures.len(), failures.join("\n\n"));
}

fn seed() -> u64 {
    std::env::var("FIO_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(21)
}

#[test]
fn random_jobs_do_what_fio_does() {
    compare(BATCH, seed());
}

#[test]
#[ignore = "times: make exam"]
fn five_hundred_random_jobs_do_what_fio_does() {
    compare(500, seed().wrapping_add(1000));
}
