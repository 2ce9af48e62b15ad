//! What must have been reported, and as what: by the bytes that were read and by what the disk says it did.

use crate::disk::Disk;
use faultfs::{Fault, InjectedFault};
use stamp::{BlockFinding, DamageClass as Class, SectorStamp, StampFlags};
use std::collections::{BTreeMap, BTreeSet};
use validation::{BlockState, Damage};

/// What came of one or many disks.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Damaged blocks that were read, by the disk's name of what it did.
    pub damaged: BTreeMap<&'static str, u64>,
    /// Of those, blocks of the right class.
    pub named: BTreeMap<&'static str, u64>,
    /// Blocks to which several things happened, and those that were given one of their names.
    pub several: (u64, u64),
    /// Of disks with blocks that are equal to others: damaged blocks, and those of the right class.
    pub copies: (u64, u64),
    /// Damages that were judged at the end, and those judged right.
    pub judged: (u64, u64),
    /// Blocks that were read.
    pub blocks: u64,
    /// Damaged, and not reported.
    pub missed: Vec<String>,
    /// Reported, and not damaged.
    pub alarms: Vec<String>,
    /// Reported as something else.
    pub misnamed: Vec<String>,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        other.damaged.iter().for_each(|(kind, count)| *self.damaged.entry(kind).or_default() += count);
        other.named.iter().for_each(|(kind, count)| *self.named.entry(kind).or_default() += count);
        self.several = (self.several.0 + other.several.0, self.several.1 + other.several.1);
        self.copies = (self.copies.0 + other.copies.0, self.copies.1 + other.copies.1);
        self.judged = (self.judged.0 + other.judged.0, self.judged.1 + other.judged.1);
        self.blocks += other.blocks;
        self.missed.extend(other.missed);
        self.alarms.extend(other.alarms);
        self.misnamed.extend(other.misnamed);
    }

    /// Of a disk with few sets of equal blocks, whose data say little of where they belong: every damage must be found there, too,
    /// and names are counted apart.
    pub fn of_copies(mut self) -> Self {
        self.copies = (self.all_damaged() + self.several.0, self.all_named() + self.several.1);
        self.damaged.clear();
        self.named.clear();
        self.misnamed.clear();
        self.several = (0, 0);
        self
    }

    pub fn all_damaged(&self) -> u64 {
        self.damaged.values().sum()
    }

    pub fn all_named(&self) -> u64 {
        self.named.values().sum()
    }

    pub fn lines(&self) -> String {
        let mut lines: Vec<String> = self
            .damaged
            .iter()
            .map(|(kind, count)| format!("{kind:>16} {count:>7} {:>7}", self.named.get(kind).unwrap_or(&0)))
            .collect();
        lines.push(format!("{:>16} {:>7} {:>7}", "several at once", self.several.0, self.several.1));
        lines.push(format!("{:>16} {:>7} {:>7}", "of equal blocks", self.copies.0, self.copies.1));
        lines.push(format!("{:>16} {:>7} {:>7}", "judged", self.judged.0, self.judged.1));
        lines.push(format!(
            "{} blocks read, {} missed, {} false alarms",
            self.blocks,
            self.missed.len(),
            self.alarms.len()
        ));
        lines.join("\n")
    }
}

/// What is remembered of a disk's reports.
#[derive(Default)]
pub struct Oracle {
    /// Bytes of damages that last, by block, as they were last reported.
    pub lasting: BTreeMap<usize, Vec<u8>>,
    /// Blocks that were never right in two readings, although nothing lasting is wrong with them.
    pub unlucky: BTreeSet<usize>,
    /// Reads that the disk did wrong and that left nothing: the number of the first one that is not known yet.
    pub reads_known: usize,
}

impl Disk {
    /// The faults that touched a block.
    fn touching(&self, block: usize) -> Vec<InjectedFault> {
        let bytes = self.shape.block_bytes as u64;
        let at = block as u64 * bytes;
        let touches = |from: u64, length: u64| from < at + bytes && at < from + length;
        let is_read = |fault: Fault| matches!(fault, Fault::StaleRead | Fault::MisdirectRead);
        let mut injected = self.handle.injected();
        // Of reads, only those since the last look; a read that goes wrong leaves nothing behind.
        let mut at = 0;
        injected.retain(|one| {
            at += 1;
            let is_new = !is_read(one.fault) || at > self.oracle.reads_known;
            let other = one.other.filter(|_| !is_read(one.fault));
            // What rots is one bit of all that was read.
            let is_here = touches(one.offset, one.bytes) || other.is_some_and(|other| touches(other, one.bytes));
            is_new && is_here
        });
        let visible: BTreeSet<u64> = self.handle.visible().unwrap().into_iter().map(|(_, id)| id).collect();
        injected.retain(|one| one.fault != Fault::BitRot || visible.contains(&one.id) && self.is_rotten(block, one.id));
        injected
    }

    fn is_rotten(&self, block: usize, id: u64) -> bool {
        let bytes = self.shape.block_bytes as u64;
        let here = block as u64 * bytes..(block as u64 + 1) * bytes;
        self.handle.visible().unwrap().iter().any(|(at, fault)| *fault == id && here.contains(at))
    }

    /// Holds what was reported of one read against what was read.
    pub fn judge_read(&mut self, offset: u64, states: &[BlockState], first: &[u8], again: Option<&[u8]>) {
        let damages: BTreeMap<u64, Damage> =
            self.reports.take().into_iter().map(|damage| (damage.address, damage)).collect();
        let length = self.shape.block_bytes;
        for (at, state) in states.iter().enumerate() {
            self.tally.blocks += 1;
            let address = offset + (at * length) as u64;
            let block = address as usize / length;
            let truth = &self.truth[block * length..][..length];
            let read = &first[at * length..][..length];
            let is_damaged = read != truth;
            let damage = damages.get(&address);
            let place = || format!("block {block} of {length} bytes, {state:?}, {:?}", self.touching(block));
            match (state, damage) {
                (BlockState::Known(_) | BlockState::Trimmed, None) if is_damaged => self.tally.missed.push(place()),
                (_, Some(damage)) if !is_damaged => {
                    self.tally.alarms.push(format!("{}: {}", place(), damage.found_words()));
                }
                (_, Some(damage)) => {
                    let again = again.map(|again| &again[at * length..][..length]);
                    self.judge_damage(block, damage, read, again);
                }
                (_, None) => {}
            }
        }
        self.oracle.reads_known = self.handle.injected().len();
    }

    fn judge_damage(&mut self, block: usize, damage: &Damage, read: &[u8], again: Option<&[u8]>) {
        let length = self.shape.block_bytes;
        let truth = self.truth[block * length..][..length].to_vec();
        let finding = &damage.finding;
        let is_right_again = again == Some(truth.as_slice());
        let is_visible = self.visible_blocks().contains(&block);
        if finding.is_transient {
            self.oracle.unlucky.remove(&block);
        } else {
            self.oracle.lasting.insert(block, damage.read.clone());
            if !is_visible {
                self.oracle.unlucky.insert(block);
            }
        }
        assert!(!damage.expected_words().is_empty() && !damage.found_words().is_empty());
        assert!(damage.hex_view().lines().count() <= stamp::VIEW_LINES, "{}", damage.hex_view());
        let touching = self.touching(block);
        let is_short = read.chunks(512).any(|sector| sector.starts_with(&stamp::POISON));
        let allowed = |one: &InjectedFault| self.is_name_of(block, one, finding.class, &damage.read);
        let words =
            || format!("block {block} of {length}: {touching:?}\n  {:?}: {}", finding.class, damage.found_words());
        // Wrong for one reason only: its name must be the right one.
        let kind = match touching.as_slice() {
            [] if is_short => Some(("short read", finding.class == Class::ShortRead)),
            [only] if !is_short => Some((only.fault.name(), allowed(only))),
            _ => None,
        };
        let kind = kind.filter(|_| is_right_again || is_visible);
        if let Some((kind, is_named)) = kind {
            let is_named =
                is_named && (finding.class != Class::BitRot || has_these_bits(finding, &damage.read, &truth));
            *self.tally.damaged.entry(kind).or_default() += 1;
            *self.tally.named.entry(kind).or_default() += u64::from(is_named);
            if !is_named {
                self.tally.misnamed.push(words());
            }
        } else {
            // What a disk reads wrong twice looks as if it were there.
            let twice = |fault: Fault| touching.iter().filter(|one| one.fault == fault).count() > 1;
            let is_twice = twice(Fault::StaleRead) && finding.class == Class::LostWrite
                || twice(Fault::MisdirectRead) && finding.class == Class::MisdirectedWrite;
            let is_named = touching.iter().any(allowed) || is_twice || is_short;
            self.tally.several.0 += 1;
            self.tally.several.1 += u64::from(is_named);
            if !is_named {
                self.tally.misnamed.push(words());
            }
        }
    }

    pub fn visible_blocks(&self) -> BTreeSet<usize> {
        let sectors = self.handle.visible().unwrap();
        sectors.into_iter().map(|(at, _)| at as usize / self.shape.block_bytes).collect()
    }

    /// Is this a right name for what a fault left of a block?
    fn is_name_of(&self, block: usize, one: &InjectedFault, class: Class, read: &[u8]) -> bool {
        let length = self.shape.block_bytes;
        let at = (block * length) as u64;
        let is_origin = one.offset <= at && at < one.offset + one.bytes;
        let truth = &self.truth[block * length..][..length];
        let is_wholly_old = read.chunks(512).zip(truth.chunks(512)).all(|(is, was)| is != was);
        // Before a write that was lost, a block may have been trimmed.
        if self.trimmed[block] && class == Class::Zeroes && read.iter().all(|byte| *byte == 0) {
            return true;
        }
        match one.fault {
            Fault::LostWrite => class == Class::LostWrite,
            Fault::Torn | Fault::LostFlush if is_wholly_old && length > 512 => class == Class::LostWrite,
            // All of its only sector, which lies in the second half of what was written.
            Fault::Torn if one.bytes > 512 && length == 512 => class == Class::LostWrite,
            Fault::LostFlush if length == 512 => class == Class::LostWrite,
            Fault::Torn | Fault::LostFlush => class == Class::TornWrite,
            Fault::Misdirect if is_origin => class == Class::LostWrite,
            Fault::Misdirect | Fault::Duplicate => class == Class::MisdirectedWrite,
            // One sector alone does not show that it belongs to the same write.
            Fault::Swap if length == 512 => class == Class::MisdirectedWrite,
            Fault::Swap => class == Class::SwappedSectors,
            Fault::Zero => class == Class::Zeroes,
            Fault::Foreign => {
                matches!(class, Class::Foreign | Class::OtherDevice | Class::OlderRun) && self.foreign == Some(class)
            }
            Fault::BitRot => class == Class::BitRot,
            Fault::StaleRead => {
                class == Class::StaleRead || truth.iter().all(|byte| *byte == 0) && class == Class::TrimmedData
            }
            Fault::MisdirectRead => {
                let is_zeroes = read.iter().all(|byte| *byte == 0);
                class == if is_zeroes { Class::Zeroes } else { Class::MisdirectedRead }
            }
            Fault::TrimKept => class == Class::TrimmedData,
            Fault::Eio | Fault::Enospc | Fault::Short => false,
        }
    }

    /// At the end: what is still visible was reported, and nothing else; both ends of writes that went astray are linked.
    pub fn judge_end(&mut self) {
        let length = self.shape.block_bytes;
        let visible = self.visible_blocks();
        for block in 0..self.shape.blocks {
            let is_reported = match self.target.states().get(block as u64) {
                BlockState::Known(_) | BlockState::Trimmed => false,
                BlockState::Damaged => true,
                BlockState::AtLeast(_) | BlockState::Unknown => continue,
            };
            match (visible.contains(&block), is_reported) {
                (true, false) => {
                    self.tally.missed.push(format!("block {block} at the end: {:?}", self.touching(block)))
                }
                (false, true) if !self.oracle.unlucky.contains(&block) => {
                    self.tally.alarms.push(format!("block {block} at the end: {:?}", self.touching(block)));
                }
                _ => {}
            }
        }
        let judgement = self.reports.judge(|_, address| self.target.right_version(address));
        // Each place once, however often it went wrong.
        assert!(judgement.damages.len() as u64 <= self.reports.count());
        assert!(judgement.damages.is_sorted_by(|one, next| one.address < next.address));
        assert_eq!(judgement.groups.iter().map(|group| group.blocks).sum::<u64>(), judgement.damages.len() as u64);
        let mut last: BTreeMap<usize, (Class, Option<u64>)> = BTreeMap::new();
        for damage in judgement.damages.iter().filter(|damage| !damage.is_transient) {
            last.insert(damage.address as usize / length, (damage.class, damage.other));
        }
        // By bytes: whose data are where?
        for block in visible {
            let (Some((class, other)), Some(bytes)) = (last.get(&block), self.oracle.lasting.get(&block)) else {
                continue;
            };
            // Of copies it does not show where they belong.
            let is_copy = |block: &[u8]| {
                let stamp = block.first_chunk().and_then(SectorStamp::read);
                stamp.is_some_and(|stamp| stamp.flags.has(StampFlags::COPY))
            };
            if is_copy(bytes) || is_copy(&self.truth[block * length..][..length]) {
                continue;
            }
            let home = (0..self.shape.blocks).find(|home| self.truth[home * length..][..length] == bytes[..]);
            let truth = &self.truth[block * length..][..length];
            let victim = self.oracle.lasting.iter().find(|(at, seen)| **at != block && seen.as_slice() == truth);
            let home_state = home.map(|home| self.target.states().get(home as u64));
            let right = match (class, victim, home, home_state) {
                (Class::LostWrite | Class::WriteWentAstray, Some((victim, _)), ..) => Some(
                    *class == Class::WriteWentAstray
                        && other.is_some_and(|other| {
                            let at = other as usize / length;
                            at == *victim || self.oracle.lasting.get(&at).is_some_and(|seen| seen.as_slice() == truth)
                        }),
                ),
                (Class::MisdirectedWrite | Class::DuplicatedWrite, _, Some(home), Some(BlockState::Known(_))) => {
                    Some(*class == Class::DuplicatedWrite && *other == Some((home * length) as u64))
                }
                _ => None,
            };
            if let Some(right) = right {
                self.tally.judged.0 += 1;
                self.tally.judged.1 += u64::from(right);
                if !right {
                    let touching = self.touching(block);
                    self.tally
                        .misnamed
                        .push(format!("judged: block {block} {class:?} {other:?}, home {home:?}: {touching:?}"));
                }
            }
        }
    }
}

/// Are the bits that a finding names those that differ from the truth, all of them?
fn has_these_bits(finding: &BlockFinding, read: &[u8], truth: &[u8]) -> bool {
    let named = finding
        .sectors
        .iter()
        .enumerate()
        .flat_map(|(place, sector)| sector.bits.iter().map(move |bit| place * 4096 + usize::from(*bit)));
    let differing = read.iter().zip(truth).enumerate().flat_map(|(at, (is, was))| {
        let differs = is ^ was;
        (0..8).filter(move |bit| differs >> bit & 1 != 0).map(move |bit| at * 8 + bit)
    });
    named.eq(differing)
}
