//! Job files made by seed: what fio's options may ask for, alone and together, on a device and on files.
//!
//! A job says by itself how exactly it follows from its options ([`Alike`]). What fio 3.33 does against its own words is made
//! seldom, with its reason ([`fios_own_defects`]), and left out of all other jobs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Bytes of the device.
pub(crate) const DEVICE_BYTES: u64 = 96 << 20;
/// Sizes of the files `f0` to `f4`.
pub(crate) const FILES: [u64; 5] = [16 << 20, 12 << 20, 8 << 20, 6 << 20, 4 << 20];
/// The shortest file.
const SHORTEST: u64 = FILES[4];

/// Small and good enough (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        // Low bits of consecutive states are alike: the high ones.
        (self.next() >> 11) % below.max(1)
    }

    fn from(&mut self, low: u64, high: u64) -> u64 {
        low + self.roll(high.saturating_sub(low) + 1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.roll(n) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }

    /// Log-uniform multiple of `grain`.
    fn block(&mut self, grain: u64, most: u64) -> u64 {
        let blocks = 1 << self.roll(u64::from((most / grain).ilog2()) + 1);
        ((blocks + self.roll(blocks)) * grain).min(most)
    }
}

/// How exactly what a job does follows from its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Alike {
    /// The same operations in the same order.
    #[default]
    Sequence,
    /// Each kind of operation in the same order.
    PerKind,
    /// The same operations in any order.
    Bag,
    /// As many, with the same bounds, sizes and shares.
    Chance,
}

/// Jobs that run at the same time, and what is to be compared.
#[derive(Default)]
pub(crate) struct Made {
    /// Options of each.
    pub(crate) sections: Vec<String>,
    pub(crate) alike: Alike,
    /// Time ends it: what both did must be the same.
    pub(crate) is_timed: bool,
    /// The number of operations follows from the options.
    pub(crate) is_counted: bool,
    /// Bytes that the last operations may reach beyond what was asked for.
    pub(crate) slack: u64,
    /// Places are scattered by a hash: where they are says nothing.
    pub(crate) is_scattered: bool,
    /// Of these, fio's hash throws several onto one: it has fewer.
    pub(crate) falls_together: bool,
    /// Flushes count.
    pub(crate) has_flushes: bool,
    /// fio's own log tells what it did: it writes past `direct=1`.
    pub(crate) is_logged: bool,
    /// What follows another operation may reach the end of the part by chance, and ends the job there.
    pub(crate) may_end: bool,
    /// No place comes more often than so many times.
    pub(crate) most_visits: Option<usize>,
    /// fio does not do what its words say.
    pub(crate) defect: Option<&'static str>,
}

impl Made {
    fn new(text: String, alike: Alike) -> Self {
        Self { sections: vec![text], alike, is_counted: true, ..Self::default() }
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        self.sections.iter().map(|text| text.trim().replace('\n', " ")).collect::<Vec<_>>().join("  +  ")
    }
}

/// What fio 3.33 does against its words: why, and a job that shows it.
pub(crate) fn fios_own_defects() -> [(&'static str, &'static str); 10] {
    [
        (
            "a gap below −bs begins with the first block and never reads the last one (io_u.c:369)",
            "rw=read:-16k\nbs=8k\nsize=1m",
        ),
        (
            "a gap below 0 with an offset begins at the size, not at the offset (io_u.c:369)",
            "rw=read:-4k\nbs=8k\noffset=8m\nsize=1m",
        ),
        (
            "a gap that leads behind the end of the device goes on at twice the offset (io_u.c:388)",
            "rw=read:8m\nbs=64k\noffset=1m\nnumber_ios=40",
        ),
        (
            "random places behind the end of the device end the job at the first of them (io_u.c:66)",
            "rw=randread\nbs=64k\noffset=48m\nsize=90m\nnumber_ios=200",
        ),
        (
            "number_ios of a trimwrite doubles with every pass (backend.c:979)",
            "rw=trimwrite\nbs=8k\nsize=64k\nnumber_ios=4\nloops=3",
        ),
        ("randtrimwrite writes at twice the offset (io_u.c:423)", "rw=randtrimwrite\nbs=8k\noffset=8m\nsize=1m"),
        (
            "lfsr counts places in the smallest transfer of all directions: larger ones go beyond the end, where the job ends (filesetup.c:1546)",
            "rw=randread\nbs=32k,4k\nrandom_generator=lfsr\nsize=8m",
        ),
        (
            "lfsr counts places in transfers, whatever blockalign says (filesetup.c:1546)",
            "rw=randread\nbs=4k\nblockalign=64k\nrandom_generator=lfsr\nsize=8m",
        ),
        (
            "zipf, pareto and normal count places in the smaller of reads and writes: larger ones end the job (filesetup.c:1440)",
            "rw=randread\nbs=32k,4k\nrandom_distribution=zipf:1.2\nsize=16m\nnumber_ios=300",
        ),
        (
            "random_generator=lfsr knows no zones: places beyond the end end the job (io_u.c:103)",
            "rw=randread\nbs=32k\nrandom_generator=lfsr\nrandom_distribution=zoned:50/10:50/90\nsize=16m\nnumber_ios=200",
        ),
    ]
}

/// The part of a file that a job uses.
struct Part {
    offset: u64,
    bytes: u64,
    has_filesize: bool,
    has_percent: bool,
}

/// Where a job goes: lines that say so, and how long it is.
fn place(dice: &mut Dice, on_files: bool, text: &mut String) -> u64 {
    if !on_files {
        return DEVICE_BYTES;
    }
    let at = usize::try_from(dice.roll(5)).unwrap();
    let _ = writeln!(text, "filename=f{at}");
    FILES[at]
}

/// Which part of something `real` bytes long, and how much of it; `bs`: the largest transfer.
fn part(dice: &mut Dice, (real, grain): (u64, u64), bs: u64, text: &mut String) -> Part {
    let (mut offset, mut end, mut has_percent) = (0, real, false);
    match dice.roll(4) {
        0 => {
            offset = dice.roll(real / grain / 2) * grain;
            let _ = writeln!(text, "offset={offset}");
        }
        1 => {
            let percent = 1 + dice.roll(50);
            // Percents begin at the next multiple of the smallest transfer.
            offset = (real / 100 * percent).next_multiple_of(bs) + bs;
            has_percent = true;
            let _ = writeln!(text, "offset={percent}%");
        }
        _ => {}
    }
    let has_filesize = dice.one_in(4) && real - offset > 4 * bs;
    if has_filesize {
        end = offset + 2 * bs + dice.roll((real - offset) / grain - 2 * bs / grain) * grain;
        let _ = match dice.roll(3) {
            0 => writeln!(text, "filesize={end}-{end}"),
            // A range that the file is not in, of one size all the same.
            1 => writeln!(text, "filesize={end}:{end}"),
            _ => writeln!(text, "filesize={end}"),
        };
    }
    let most = (end - offset).min(150 * bs);
    let percent = most * 100 / real;
    if dice.one_in(4) && percent >= 1 && real / 100 >= bs {
        has_percent = true;
        let _ = writeln!(text, "size={}%", 1 + dice.roll(percent.min(20)));
        return Part { offset, bytes: most, has_filesize, has_percent };
    }
    let bytes = bs + dice.roll((most - bs) / grain + 1) * grain;
    let _ = writeln!(text, "size={bytes}");
    Part { offset, bytes, has_filesize, has_percent }
}

/// When it ends, other than with its size. True: a pass may be cut short.
fn ends(dice: &mut Dice, part: &Part, text: &mut String) -> bool {
    let mut is_cut = part.has_filesize;
    if dice.one_in(4) && !part.has_percent {
        let _ = writeln!(text, "io_size={}", part.bytes / 2 + dice.roll(2 * part.bytes));
        is_cut = true;
    }
    if dice.one_in(4) {
        let _ = writeln!(text, "loops={}", 1 + dice.roll(3));
    }
    if dice.one_in(4) {
        let _ = writeln!(text, "number_ios={}", 1 + dice.roll(200));
        is_cut = true;
    }
    is_cut
}

/// An engine for one operation at a time. True: it is one of those that queue.
fn engine(dice: &mut Dice, text: &mut String) -> bool {
    let queues = dice.one_in(3);
    let engine = dice.pick(if queues { &["libaio", "io_uring"] } else { &["psync", "sync", "pvsync", "psync"] });
    let _ = writeln!(text, "ioengine={engine}");
    queues
}

fn sequential(dice: &mut Dice, on_files: bool) -> Made {
    let rw =
        if on_files { dice.pick(&["read", "write"]) } else { dice.pick(&["read", "write", "write", "read", "trim"]) };
    let grain = if rw == "trim" { 4096 } else { 512 };
    let bs = dice.block(grain, 256 << 10);
    let mut body = format!("bs={bs}\n");
    if dice.one_in(6) {
        // Of kinds that never come: percents are whole transfers of the smallest of all.
        body = match rw {
            "read" => format!("bs={bs},{},{}\n", dice.block(grain, bs), dice.block(grain, bs)),
            "write" => format!("bs={},{bs}\n", dice.block(grain, bs)),
            _ => format!("bs={},,{bs}\n", dice.block(grain, bs)),
        };
    }
    let real = place(dice, on_files, &mut body);
    let part = part(dice, (real, grain), bs, &mut body);
    let mut gap = String::new();
    if dice.one_in(2) && !(on_files && part.has_percent) {
        let ahead = grain * (1 + dice.roll(64));
        let wraps = part.offset > 0 && part.bytes + ahead + bs >= real;
        if dice.one_in(3) && bs > grain && part.offset == 0 {
            gap = format!(":-{}", grain * (1 + dice.roll(bs / grain - 1)));
        } else if !wraps {
            gap = format!(":{ahead}");
        }
    }
    if dice.one_in(6) {
        let _ = writeln!(body, "blockalign={}", dice.block(512, 64 << 10));
    }
    engine(dice, &mut body);
    let mut made = Made::new(String::new(), Alike::Sequence);
    if dice.one_in(10) {
        body += "runtime=300ms\ntime_based\n";
        made.is_timed = true;
    } else {
        ends(dice, &part, &mut body);
    }
    if rw == "write" && !on_files && dice.one_in(3) {
        made.has_flushes = true;
        let _ = match dice.roll(4) {
            0 => writeln!(body, "fsync={}", 1 + dice.roll(12)),
            1 => writeln!(body, "fdatasync={}", 1 + dice.roll(12)),
            2 => writeln!(body, "fsync={}\nfdatasync={}", 1 + dice.roll(9), 1 + dice.roll(9)),
            _ => writeln!(body, "sync={}", dice.pick(&["1", "sync", "dsync", "0"])),
        };
    }
    if dice.one_in(12) {
        let _ = writeln!(body, "rate_iops={}", 2000 + dice.roll(4000));
    }
    made.sections = vec![format!("rw={rw}{gap}\n{body}")];
    made
}

/// Several files of one job.
fn of_files(dice: &mut Dice) -> Made {
    let rw = dice.pick(&["read", "write"]);
    let bs = dice.block(512, 128 << 10);
    let count = 2 + dice.roll(4);
    let mut text = format!("rw={rw}\nbs={bs}\nnrfiles={count}\nfilename_format=f$filenum\n");
    let least = count * bs;
    let most = (count * SHORTEST / 2).min(150 * bs).max(least);
    let bytes = least + dice.roll((most - least) / 512 + 1) * 512;
    let _ = writeln!(text, "size={bytes}");
    if dice.one_in(3) {
        let _ = writeln!(text, "offset={}", dice.roll(2048) * 512);
    }
    let service = dice.pick(&["roundrobin", "roundrobin:3", "sequential", "random", "random:4", "roundrobin:7"]);
    let _ = writeln!(text, "file_service_type={service}");
    engine(dice, &mut text);
    let part = Part { offset: 0, bytes, has_filesize: false, has_percent: false };
    ends(dice, &part, &mut text);
    let by_chance = service.starts_with("random");
    Made::new(text, if by_chance { Alike::Chance } else { Alike::Sequence })
}

/// Sizes of transfers: how they are said, smallest, largest, and whether there is only one.
fn sizes(dice: &mut Dice, grain: u64) -> (String, u64, u64, bool) {
    let (low, high) = (dice.block(grain, 16 << 10), dice.block(grain, 32 << 10));
    let (min, max) = (low.min(high), low.max(high));
    match dice.roll(6) {
        _ if min == max => (format!("bs={min}\n"), min, min, true),
        0 => (format!("bsrange={max}:{min}\n"), min, max, false),
        1 => (format!("bsrange={min}-{max}\n"), min, max, false),
        2 => {
            let share = 5 + dice.roll(90);
            (format!("bssplit={min}/{share}:{max}/{}\n", 100 - share), min, max, false)
        }
        // Of a third that is no multiple, whole multiples are drawn.
        3 => (format!("bssplit={min}/20:{max}/:{}/30\n", min * 3), min, max.max(min * 3), false),
        _ => (format!("bs={low}\n"), low, low, true),
    }
}

/// A distribution of places; true: scattered.
fn distribution(dice: &mut Dice, part: &Part, bs: u64, text: &mut String) -> bool {
    let tenths = |dice: &mut Dice, low, high| dice.from(low, high) as f64 / 10.0;
    let room = part.bytes / bs;
    let kind = dice.roll(if part.has_percent || room < 40 { 4 } else { 5 });
    let _ = match kind {
        0 => {
            let centre = dice.pick(&["", "", ":0.3"]);
            let theta = tenths(dice, 11, 24);
            writeln!(text, "random_distribution=zipf:{theta}{centre}")
        }
        1 => writeln!(text, "random_distribution=pareto:{}", tenths(dice, 1, 8)),
        2 => writeln!(text, "random_distribution=normal:{}", 1 + dice.roll(40)),
        3 => {
            let (first, size) = (5 + dice.roll(80), 10 + dice.roll(60));
            writeln!(text, "random_distribution=zoned:{first}/{size}:{}/{}", 100 - first, 100 - size)
        }
        _ => {
            let first = 5 + dice.roll(80);
            let size = (1 + dice.roll(room / 2)) * bs;
            writeln!(
                text,
                "random_distribution=zoned_abs:{first}/{size}:{}/{}",
                100 - first,
                (room * bs - size) / bs * bs
            )
        }
    };
    kind < 3
}

/// Does fio's hash (`hash.h`: one multiplication) leave less than 0.6 of the middle half of so many places, or of one more, apart?
fn falls_together(places: u64) -> bool {
    [places, places + 1].into_iter().any(|all| {
        let middle = all / 4..all * 3 / 4;
        let reached: BTreeSet<u64> = middle.clone().map(|at| at.wrapping_mul(0x61c8_8646_80b5_83eb) % all).collect();
        (reached.len() as f64) < 0.6 * (middle.end - middle.start) as f64
    })
}

fn random(dice: &mut Dice, on_files: bool) -> Made {
    let rw = if on_files {
        dice.pick(&["randread", "randwrite"])
    } else {
        dice.pick(&["randread", "randwrite", "randread", "randtrim"])
    };
    let grain = if rw == "randtrim" { 4096 } else { 512 };
    let (mut body, min, max, is_fixed) = sizes(dice, grain);
    let real = place(dice, on_files, &mut body);
    let part = part(dice, (real, grain.max(if is_fixed { 512 } else { min })), max.max(4096), &mut body);
    let mut made = Made::new(String::new(), Alike::Chance);
    let mut is_once = true;
    let mut follow = String::new();
    match dice.roll(8) {
        0 | 1 => {
            body += "norandommap\n";
            is_once = false;
        }
        2 => body += "norandommap\nrandom_generator=lfsr\n",
        3 if is_fixed => {
            let align = dice.block(grain, 16 << 10);
            let _ = writeln!(body, "blockalign={align}");
            is_once = align == min;
        }
        4 | 5 if is_fixed && part.bytes.is_multiple_of(min) || rw != "randtrim" => {
            made.is_scattered = distribution(dice, &part, max, &mut body);
            made.falls_together = falls_together(part.bytes / min);
            if made.is_scattered && !part.bytes.is_multiple_of(min) {
                made.defect =
                    Some("a last place shorter than a block is one of zipf's, pareto's and normal's, and ends the job");
            }
            is_once = false;
        }
        6 => {
            made.may_end = true;
            follow = match dice.roll(2) {
                0 => format!(":{}", 2 + dice.roll(7)),
                _ => {
                    let _ = writeln!(body, "percentage_random={}", 30 + dice.roll(65));
                    String::new()
                }
            };
            is_once = false;
        }
        _ => {}
    }
    let queues = engine(dice, &mut body);
    let is_cut = ends(dice, &part, &mut body) || part.has_percent;
    let is_lfsr = body.contains("lfsr");
    let passes = 1 + usize::from(body.contains("loops=2")) + 2 * usize::from(body.contains("loops=3"));
    // Where the sizes differ, all blocks or so many bytes end it, whichever comes first.
    made.is_counted = is_fixed && !made.may_end;
    made.slack = if is_fixed { 0 } else { max };
    if !is_fixed && (is_lfsr || is_once) && (is_cut || is_lfsr) {
        // Of every pass what is left over.
        made.slack = if is_lfsr { u64::MAX } else { 4 * max };
    }
    if !is_fixed && body.contains("number_ios") {
        // Of so many operations of different sizes, the bytes are chance.
        made.slack = u64::MAX;
    }
    if is_once && is_fixed {
        made.most_visits = (!body.contains("io_size")).then_some(passes);
        if !is_cut {
            made.alike = Alike::Bag;
        }
    }
    if queues && dice.one_in(2) {
        let _ = writeln!(body, "iodepth={}", 2 + dice.roll(15));
    }
    made.sections = vec![format!("rw={rw}{follow}\n{body}")];
    made
}

/// Reads and writes.
fn mixed(dice: &mut Dice, on_files: bool) -> Made {
    let is_random = dice.one_in(2);
    let (bs, other) = (dice.block(512, 64 << 10), dice.block(512, 64 << 10));
    let is_alike = dice.one_in(2);
    let mut text = format!("rw={}\n", if is_random { "randrw" } else { "rw" });
    let _ = if is_alike { writeln!(text, "bs={bs}") } else { writeln!(text, "bs={bs},{other}") };
    let largest = if is_alike { bs } else { bs.max(other) };
    let real = place(dice, on_files, &mut text);
    // Places of reads and writes of different sizes share fio's map.
    if is_random && (!is_alike || dice.one_in(2)) {
        text += "norandommap\n";
    }
    part(dice, (real, 512), largest.max(4096), &mut text);
    let _ = match dice.roll(3) {
        0 => writeln!(text, "rwmixread={}", 5 + dice.roll(90)),
        1 => writeln!(text, "rwmixwrite={}", 5 + dice.roll(90)),
        _ => Ok(()),
    };
    // Of so many operations of different sizes, the bytes are chance.
    if is_alike && dice.one_in(3) {
        let _ = writeln!(text, "number_ios={}", 1 + dice.roll(200));
    }
    if dice.one_in(5) {
        let _ = writeln!(text, "rate_iops={},{}", 1500 + dice.roll(3000), 1500 + dice.roll(3000));
    }
    engine(dice, &mut text);
    let mut made = Made::new(text, if is_random { Alike::Chance } else { Alike::PerKind });
    made.is_counted = is_alike;
    made.slack = if is_alike { 0 } else { largest };
    made
}

/// Trims and writes at the same places.
fn pairs(dice: &mut Dice) -> Made {
    let is_random = dice.one_in(2);
    let mut text = format!("rw={}\n", if is_random { "randtrimwrite" } else { "trimwrite" });
    let bs = dice.block(4096, 128 << 10);
    let mut made = Made::new(String::new(), if is_random { Alike::Chance } else { Alike::Sequence });
    made.is_logged = true;
    let mut largest = bs;
    match dice.roll(3) {
        0 if !is_random => {
            let trim = dice.block(4096, 128 << 10);
            largest = bs.max(trim);
            let _ = writeln!(text, "bs={bs},{bs},{trim}");
        }
        1 => {
            let max = dice.block(4096, 128 << 10).max(bs * 2);
            largest = max;
            let _ = writeln!(text, "bsrange={bs}-{max}");
            (made.alike, made.slack) = (Alike::Chance, 2 * max);
            made.is_counted = false;
        }
        _ => {
            let _ = writeln!(text, "bs={bs}");
        }
    }
    if is_random && dice.one_in(2) {
        text += "norandommap\n";
    }
    if !is_random && dice.one_in(2) {
        let _ = writeln!(text, "offset={}", dice.roll(4000) * 4096);
    }
    let _ = writeln!(text, "size={}", largest + dice.roll(100 * largest / 4096) * 4096);
    if dice.one_in(3) {
        let _ = writeln!(text, "number_ios={}", 1 + dice.roll(60));
    } else if !is_random && dice.one_in(3) {
        let _ = writeln!(text, "loops={}", 1 + dice.roll(2));
    }
    made.sections = vec![text];
    made
}

/// Jobs that run at the same time, on places of their own or the same.
fn several(dice: &mut Dice, on_files: bool) -> Made {
    let mut made = Made::new(String::new(), Alike::Bag);
    made.sections.clear();
    if dice.one_in(2) {
        let (bs, copies) = (dice.block(512, 64 << 10), 2 + dice.roll(3));
        let size = bs + dice.roll((SHORTEST / 8).min(60 * bs) / 512) * 512;
        let by = match dice.roll(3) {
            0 => format!("offset_increment={}\n", dice.roll(SHORTEST / 8 / 512) * 512),
            1 => format!("offset_increment={}%\n", 1 + dice.roll(12)),
            _ => format!("offset={}\n", dice.roll(1000) * 512),
        };
        let file = if on_files { format!("filename=f{}\n", dice.roll(3)) } else { String::new() };
        let rw = dice.pick(&["read", "write", "randread", "randwrite"]);
        made.sections.push(format!("rw={rw}\nbs={bs}\nsize={size}\n{by}{file}numjobs={copies}\n"));
        return made;
    }
    for _ in 0..2 + dice.roll(2) {
        let mut one = sequential(dice, on_files);
        while one.is_timed || one.has_flushes {
            one = sequential(dice, on_files);
        }
        made.sections.append(&mut one.sections);
    }
    made
}

/// In flight together.
fn deep(dice: &mut Dice, on_files: bool) -> Made {
    let mut made = sequential(dice, on_files);
    while made.is_timed || made.has_flushes || made.sections[0].contains("rate") {
        made = sequential(dice, on_files);
    }
    let engine = dice.pick(&["libaio", "io_uring"]);
    let _ = writeln!(made.sections[0], "ioengine={engine}\niodepth={}", 2 + dice.roll(15));
    made.alike = Alike::Bag;
    made
}

/// The next jobs to be made.
pub(crate) fn made(dice: &mut Dice, on_files: bool) -> Made {
    if !on_files && dice.one_in(40) {
        let all = fios_own_defects();
        let (why, text) = all[usize::try_from(dice.roll(all.len() as u64)).unwrap()];
        let mut made = Made::new(text.to_string(), Alike::Sequence);
        made.defect = Some(why);
        made.is_logged = text.contains("trimwrite");
        return made;
    }
    match dice.roll(20) {
        0..7 => sequential(dice, on_files),
        7..12 => random(dice, on_files),
        12..14 => mixed(dice, on_files),
        14..16 => several(dice, on_files),
        16 | 17 if on_files => of_files(dice),
        16 => pairs(dice),
        _ => deep(dice, on_files),
    }
}
