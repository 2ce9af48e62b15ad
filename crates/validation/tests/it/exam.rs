//! The catch table on a disk that goes wrong: what it did is reported, all of it and nothing else, and by its right name.

use crate::arbitrary::Random;
use crate::disk::{DEVICE, Disk, OLD_RUN, RUN, Shape, validation};
use crate::oracle::Tally;
use stamp::DamageClass as Class;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use validation::{FoundBy, Reports};

/// What disks are told to do wrong, one by one; `RATE` is a share of operations.
const KINDS: &[&str] = &[
    "lost-write rate RATE",
    "torn rate RATE",
    "misdirect rate RATE",
    "duplicate rate RATE",
    "swap rate RATE",
    "zero rate RATE",
    "foreign IMAGE rate RATE",
    "bitrot rate RATE",
    "stale-read rate RATE",
    "misdirect-read rate RATE",
    "trim-kept rate RATE",
    "lie flush",
    "short LENGTH read rate RATE",
    "eio read write trim rate RATE\nshort LENGTH write rate RATE",
];

/// What is no damage: operations that fail or are cut short.
const HARMLESS: &str = "eio read write trim rate 0.02\nshort 512 write rate 0.02\nenospc after 400k range 0-200k";

fn shape(random: &mut Random) -> Shape {
    let block_bytes = [512, 1024, 4096, 4096, 8192, 16_384][random.below(6) as usize];
    let ratio = [1.0, 1.0, 2.0, 4.0][random.below(4) as usize];
    let blocks = 96 + random.below(96) as usize;
    Shape { block_bytes, blocks, ratio, copies: random.below(3) == 0 }
}

/// An image of a disk's size: chance, another device's data, or an older run's.
fn image(disk: &mut Disk, path: &Path, random: &mut Random) {
    let mut bytes = vec![0; disk.truth.len()];
    let class = [Class::Foreign, Class::OtherDevice, Class::OlderRun][random.below(3) as usize];
    let (run, device) = if class == Class::OlderRun { (OLD_RUN, DEVICE) } else { (RUN, DEVICE + 1) };
    if class == Class::Foreign {
        bytes.iter_mut().for_each(|byte| *byte = random.next() as u8);
    } else {
        let other = validation(disk.shape, run, device, &Arc::new(Reports::default()));
        for (at, block) in bytes.chunks_mut(disk.shape.block_bytes).enumerate() {
            other.stamp((at * disk.shape.block_bytes) as u64, block, 2);
        }
    }
    std::fs::write(path, bytes).unwrap();
    disk.foreign = Some(class);
}

/// One disk: written whole, then at random with faults, read in between and at the end.
fn one(seed: u64, is_faulty: bool) -> Option<Tally> {
    let mut random = Random(seed);
    let mut disk = Disk::new(shape(&mut random), seed)?;
    for block in 0..disk.shape.blocks {
        disk.write(((block * disk.shape.block_bytes) as u64, disk.shape.block_bytes));
    }
    let path = disk.directory.path().join("image");
    image(&mut disk, &path, &mut random);
    let rate = 0.005 + random.below(450) as f64 / 10_000.0;
    let mut rules = String::new();
    let mut lies = false;
    let only = random.below(KINDS.len() as u64 + 4) as usize;
    for (at, kind) in KINDS.iter().enumerate() {
        let is_mixed = only >= KINDS.len() && *kind != "lie flush";
        if at == only || is_mixed {
            // In a mixture, all together have the rate.
            let rate = if is_mixed { rate / 4.0 } else { rate };
            let length = random.below((disk.shape.block_bytes * 2 / 512) as u64) * 512;
            let rule = kind.replace("RATE", &rate.to_string()).replace("IMAGE", path.to_str().unwrap());
            rules.push_str(&rule.replace("LENGTH", &length.to_string()));
            rules.push('\n');
            lies |= *kind == "lie flush";
        }
    }
    disk.handle.control(if is_faulty { &rules } else { HARMLESS }).unwrap();
    let trims = 1 + 7 * u64::from(rules.contains("trim-kept"));
    load(&mut disk, &mut random, trims, lies && is_faulty);
    // What rots in the second reading of a block is found in the next.
    for rules in ["", "quiet"] {
        disk.handle.control(rules).unwrap();
        disk.sweep(&mut random);
    }
    disk.judge_end();
    let tally = std::mem::take(&mut disk.tally);
    Some(if disk.shape.copies { tally.of_copies() } else { tally })
}

fn load(disk: &mut Disk, random: &mut Random, trims: u64, lies: bool) {
    for _ in 0..disk.shape.blocks * 2 {
        let first = random.below(disk.shape.blocks as u64) as usize;
        let range = disk.some(random, first);
        match random.below(20) {
            trim if trim < trims && !lies => disk.trim(range),
            // The cache is told of before: what was read right must not be lost.
            8..=15 if !lies => disk.read(range, FoundBy::Read),
            _ => disk.write(range),
        }
    }
    if lies {
        let file: &File = &disk.file;
        file.sync_all().unwrap();
        disk.handle.control("cut keep 0.9\nlie flush off\ncache off").unwrap();
    }
}

/// Seeds from 0 on (`IODYNO_VALIDATION_FROM`), as many as `IODYNO_VALIDATION_SEEDS` says; without it, as usual.
fn all(is_faulty: bool, usual: u64) -> Option<Tally> {
    let text = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (seeds, from) = (text("IODYNO_VALIDATION_SEEDS").unwrap_or(usual), text("IODYNO_VALIDATION_FROM").unwrap_or(0));
    let mut tally = Tally::default();
    for seed in from..from + seeds {
        let mut one = one(seed, is_faulty)?;
        for list in [&mut one.missed, &mut one.alarms, &mut one.misnamed] {
            list.iter_mut().for_each(|line| line.insert_str(0, &format!("seed {seed}: ")));
        }
        tally.add(one);
    }
    tally.misnamed.iter().for_each(|line| println!("{line}"));
    println!("{seeds} disks; damaged blocks and how many of them had the right name:\n{}", tally.lines());
    Some(tally)
}

fn has_passed(tally: &Tally) {
    let first = |lines: &[String]| lines.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(tally.missed.is_empty(), "missed:\n{}", first(&tally.missed));
    assert!(tally.alarms.is_empty(), "false alarms:\n{}", first(&tally.alarms));
    let (damaged, named) = (tally.all_damaged(), tally.all_named());
    assert!(named * 100 >= damaged * 99, "{named} of {damaged}:\n{}\n{}", first(&tally.misnamed), tally.lines());
    let (copies, right) = tally.copies;
    assert!(right * 10 >= copies * 8, "copies: {right} of {copies}");
    assert!(tally.judged.1 * 100 >= tally.judged.0 * 99, "{}\n{}", first(&tally.misnamed), tally.lines());
}

#[test]
fn all_that_a_disk_does_wrong_is_reported_by_its_name() {
    let Some(tally) = all(true, 60) else { return };
    has_passed(&tally);
    assert!(tally.all_damaged() > 200, "too little went wrong:\n{}", tally.lines());
}

#[test]
#[ignore = "minutes: make soak"]
fn soak_a_thousand_disks_that_go_wrong() {
    let Some(tally) = all(true, 1000) else { return };
    has_passed(&tally);
}

#[test]
fn nothing_is_reported_of_a_disk_that_only_fails() {
    let Some(tally) = all(false, 10) else { return };
    has_passed(&tally);
    assert_eq!(tally.all_damaged() + tally.several.0 + tally.copies.0, 0, "{}", tally.lines());
    assert!(tally.blocks > 2000);
}
