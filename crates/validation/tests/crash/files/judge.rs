//! What is found behind a crash, and what has to be found.

use super::fs::{ANCHOR, BLOCK, Change, FILE_BLOCKS, FILES, Fs, Value, directory_of, parent_of};
use super::{DEVICE, Tally};
use crate::load::Random;
use data_journal::{Crash, Existence, Floor, Recovered, RecoveredFile};
use std::collections::BTreeSet;
use validation::{FileDamage, check_file};

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    Missing,
    Back,
    Short,
    Block(u64),
}

type Alarms = BTreeSet<(u32, Alarm)>;

/// The blocks of a file, as far as it goes.
fn blocks(bytes: u64) -> std::ops::Range<u64> {
    0..bytes.div_ceil(BLOCK).min(FILE_BLOCKS)
}

fn is_right(value: Value, (floor, version): (Floor, u16), must_device: u64) -> bool {
    match value {
        Value::Zero => floor.allows_zeroes(),
        Value::Mixed => true,
        Value::Write { session, sequence, version: found, device, .. } => {
            let is_version = found == version || (floor.may_be_newer() && found > version);
            device == must_device
                && match session.cmp(&floor.session()) {
                    std::cmp::Ordering::Greater => true,
                    std::cmp::Ordering::Equal => floor.allows_write(sequence, is_version),
                    std::cmp::Ordering::Less => floor.is_of_checkpoint() && is_version,
                }
        }
    }
}

/// By what the journal says.
pub(super) fn alarms(recovered: &Recovered, crash: Crash, fs: &Fs, tally: &mut Tally) -> Alarms {
    let tree = recovered.tree(DEVICE).unwrap();
    let mut all = Alarms::new();
    for file in 0..FILES {
        let must: RecoveredFile = tree.file(file, crash);
        tally.must_exist += u64::from(must.existence == Existence::Must);
        tally.must_not += u64::from(must.existence == Existence::MustNot);
        let inode = fs.inode(file).map(|inode| &fs.inodes[inode]);
        if let Some(finding) = check_file(&must, crash, inode.map(|inode| inode.now.bytes)) {
            let alarm = match finding.damage {
                FileDamage::Missing => Alarm::Missing,
                FileDamage::Back => Alarm::Back,
                FileDamage::Short => Alarm::Short,
            };
            all.insert((file, alarm));
        }
        let Some(inode) = inode.filter(|_| must.existence != Existence::MustNot) else { continue };
        for block in blocks(inode.now.bytes) {
            let Some(floor) = must.floor(block) else { continue };
            tally.blocks += 1;
            if !is_right(inode.now.get(block), floor, must.device.unwrap_or(u64::from(file) + 1)) {
                all.insert((file, Alarm::Block(block)));
            }
        }
    }
    all
}

/// By a file system that kept its word: what must be found in another one, and what may be.
pub(super) fn expected(honest: &Fs, found: &Fs) -> (Alarms, Alarms) {
    let (mut must, mut may) = (Alarms::new(), Alarms::new());
    for file in 0..FILES {
        let possible = honest.files[file as usize].possible();
        let inodes: Vec<usize> = possible.iter().flatten().copied().collect();
        let Some(inode) = found.inode(file) else {
            let is_sure =
                inodes.iter().all(|inode| honest.inodes[*inode].is_synced) && is_in_sure_directory(honest, file);
            if !possible.contains(&None) && is_sure {
                must.insert((file, Alarm::Missing));
            }
            continue;
        };
        let data = &found.inodes[inode].now;
        if inodes.is_empty() {
            // Of names that were never used nothing is said, and nothing is ever there.
            must.insert((file, Alarm::Back));
            continue;
        }
        if data.bytes < inodes.iter().map(|inode| bytes_min(honest, *inode)).min().unwrap() {
            must.insert((file, Alarm::Short));
        }
        for block in blocks(data.bytes) {
            let alarm = (file, Alarm::Block(block));
            let value = data.get(block);
            let allowed: Vec<Value> = inodes.iter().flat_map(|inode| allowed(honest, *inode, block)).collect();
            if value == Value::Mixed || allowed.contains(&Value::Mixed) || allowed.contains(&value) {
                continue;
            }
            may.insert(alarm);
            // Where the name may stand for several files, whose stamps may differ, less is promised.
            let is_one = inodes.iter().all(|inode| *inode == inodes[0]);
            let is_old = match value {
                Value::Write { session, sequence, inode: of, .. } => {
                    of == inodes[0] || (session, sequence) < honest.inodes[inodes[0]].made
                }
                _ => true,
            };
            if is_one && is_old {
                must.insert(alarm);
            }
        }
    }
    may.extend(must.iter().copied());
    (must, may)
}

fn is_in_sure_directory(fs: &Fs, file: u32) -> bool {
    let mut above = directory_of(file);
    while above != ANCHOR {
        if fs.directories[above as usize].possible().contains(&None) {
            return false;
        }
        above = parent_of(above);
    }
    true
}

fn bytes_min(fs: &Fs, inode: usize) -> u64 {
    let inode = &fs.inodes[inode];
    let cut = inode.pending.iter().filter_map(|(_, change)| match change {
        Change::Resize(bytes) => Some(*bytes),
        Change::Write { .. } => None,
    });
    cut.fold(inode.durable.bytes, u64::min)
}

/// What a block of a file may hold after a power cut.
fn allowed(fs: &Fs, inode: usize, block: u64) -> Vec<Value> {
    let inode = &fs.inodes[inode];
    let mut all = vec![inode.durable.get(block)];
    for (_, change) in &inode.pending {
        match *change {
            Change::Write { block: of, value } if of == block => all.push(value),
            Change::Resize(bytes) if bytes / BLOCK == block && !bytes.is_multiple_of(BLOCK) => all.push(Value::Mixed),
            Change::Resize(bytes) if bytes <= block * BLOCK => all.push(Value::Zero),
            _ => {}
        }
    }
    all
}

/// Breaks promises: a file disappears, comes back, is cut, or a block is put back to an earlier write. Gives what must be found.
pub(super) fn inject(fs: &mut Fs, recovered: &Recovered, crash: Crash, random: &mut Random) -> Alarms {
    let tree = recovered.tree(DEVICE).unwrap();
    let mut all = Alarms::new();
    for file in 0..FILES {
        if random.below(2) == 0 {
            continue;
        }
        let must = tree.file(file, crash);
        match (fs.inode(file), must.existence) {
            (Some(_), Existence::Must) if random.below(2) == 0 => {
                fs.remove(file);
                all.insert((file, Alarm::Missing));
            }
            (Some(inode), _) if must.bytes_min > 0 && random.below(2) == 0 => {
                fs.inodes[inode].now.bytes = random.below(must.bytes_min);
                all.insert((file, Alarm::Short));
            }
            (Some(inode), _) => {
                let is_write = |block: &u64| must.floor(*block).is_some_and(|(floor, _)| is_sure_write(floor));
                for block in blocks(fs.inodes[inode].now.bytes).filter(is_write) {
                    let (floor, version) = must.floor(block).unwrap();
                    let (session, sequence) = (floor.session(), floor.0 % (1 << 48));
                    let device = must.device.unwrap_or(u64::from(file) + 1);
                    let old = Value::Write { session, sequence: sequence - 1, version: version - 1, inode, device };
                    fs.inodes[inode].now.blocks.insert(block, random.one(&[old, Value::Zero]));
                    all.insert((file, Alarm::Block(block)));
                }
            }
            (None, Existence::MustNot) => {
                fs.make(file, (0, 0));
                all.insert((file, Alarm::Back));
            }
            _ => {}
        }
    }
    all
}

fn is_sure_write(floor: Floor) -> bool {
    !floor.allows_zeroes() && !floor.is_of_checkpoint() && !floor.0.is_multiple_of(1 << 48)
}
