//! One piece of a target.

use super::of_file::{examine_of_file, is_whole};
use crate::words::{found_words, write_words};
use stamp::{
    BlockFinding, DamageClass, Expected, Reading, SECTOR_BYTES, SECTOR_MAGIC, STAMP_MARK, SectorFinding, SectorStamp,
    StampFlags, Version, examine, is_intact, is_right,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Writers of a run that are told apart.
const WRITERS_KEPT: usize = 64;
/// Older writes of a torn block that are named.
const PARTS_MAX: usize = 3;
/// Bits of mark and magic that may have flipped where a sector is taken for one that had a stamp.
const MARK_BITS: u32 = 4;
/// Runs and devices of a piece that are told apart: every sector of a hostile one may be of another.
const NAMES_KEPT: usize = 4096;

/// Sectors that are judged together: those of a unit were written together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurveyUnit {
    /// Blocks are at least so long: one that is zero or foreign in part is damaged, and one of several writes may be right.
    AtLeast(u64),
    /// All blocks are so long: one of several writes is torn.
    Exactly(u64),
}

impl SurveyUnit {
    /// Its bytes: a multiple of 512.
    #[must_use]
    pub fn bytes(self) -> u64 {
        let (Self::AtLeast(bytes) | Self::Exactly(bytes)) = self;
        bytes.next_multiple_of(SECTOR_BYTES as u64).max(SECTOR_BYTES as u64)
    }
}

/// By what a target is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyRules {
    /// Whose data must be here ([`device_id`](crate::device_id)); `None`: anyone's.
    pub device: Option<u64>,
    /// What was written together.
    pub unit: SurveyUnit,
    /// It has a file system, which decides where sectors of files are: that these are whole is all that shows.
    pub holds_files: bool,
}

/// What stands in a part of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AreaKind {
    /// Stamped, and right as far as it shows.
    Stamped,
    /// What a journal says must be there.
    Promised,
    /// Damaged.
    Damaged,
    /// iodyno's, without a stamp.
    Unstamped,
    /// Stamped data of files, of which the file system decides where they are.
    OfFiles,
    /// Zeroes.
    Zeroes,
    /// A hole of a file, which was not read.
    Hole,
    /// Nothing that iodyno wrote.
    Foreign,
    /// It could not be read.
    Unreadable,
    /// What is left of the last sector.
    Tail,
}

impl AreaKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 10] = [
        Self::Stamped,
        Self::Promised,
        Self::Damaged,
        Self::Unstamped,
        Self::OfFiles,
        Self::Zeroes,
        Self::Hole,
        Self::Foreign,
        Self::Unreadable,
        Self::Tail,
    ];

    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stamped => "stamped",
            Self::Promised => "promised",
            Self::Damaged => "damaged",
            Self::Unstamped => "unstamped",
            Self::OfFiles => "of_files",
            Self::Zeroes => "zeroes",
            Self::Hole => "hole",
            Self::Foreign => "foreign",
            Self::Unreadable => "unreadable",
            Self::Tail => "tail",
        }
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Stamped => "stamped and right",
            Self::Promised => "what the journal says",
            Self::Damaged => "DAMAGED",
            Self::Unstamped => "iodyno's, without stamps",
            Self::OfFiles => "stamped data of files",
            Self::Zeroes => "zeroes",
            Self::Hole => "holes, not read",
            Self::Foreign => "not written by iodyno",
            Self::Unreadable => "NOT READABLE",
            Self::Tail => "the part of a sector at the end",
        }
    }
}

/// A part of a target in which the same stands everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetArea {
    /// Where it begins, bytes.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// What stands there.
    pub kind: AreaKind,
}

/// What one run wrote of what is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTally {
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// When the oldest of them was written, seconds since 1970.
    pub first_s: u32,
    /// When the newest was.
    pub last_s: u32,
    /// The lowest number of a write.
    pub first_write: u64,
    /// The highest.
    pub last_write: u64,
    /// The lowest flush epoch.
    pub first_epoch: u32,
    /// The highest.
    pub last_epoch: u32,
    /// Who wrote; the first 64.
    pub writers: BTreeSet<u16>,
}

impl RunTally {
    fn of(stamp: &SectorStamp) -> Self {
        Self {
            sectors: 1,
            first_s: stamp.written_s,
            last_s: stamp.written_s,
            first_write: stamp.sequence,
            last_write: stamp.sequence,
            first_epoch: stamp.epoch,
            last_epoch: stamp.epoch,
            writers: BTreeSet::from([stamp.writer]),
        }
    }

    /// Adds another part of the same run.
    pub(super) fn add(&mut self, other: &Self) {
        self.sectors += other.sectors;
        self.first_s = self.first_s.min(other.first_s);
        self.last_s = self.last_s.max(other.last_s);
        self.first_write = self.first_write.min(other.first_write);
        self.last_write = self.last_write.max(other.last_write);
        self.first_epoch = self.first_epoch.min(other.first_epoch);
        self.last_epoch = self.last_epoch.max(other.last_epoch);
        for writer in &other.writers {
            if self.writers.len() < WRITERS_KEPT {
                self.writers.insert(*writer);
            }
        }
    }
}

/// A damaged block, or as much of one as is known to belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyDamage {
    /// Where it begins, bytes.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// What happened.
    pub class: DamageClass,
    /// Sectors of it that are wrong.
    pub wrong_sectors: u64,
    /// The first of them.
    pub first_wrong: SectorFinding,
    /// What is there, in words.
    pub found: String,
}

/// What one piece holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PieceSurvey {
    /// What is where, in order, without gaps.
    pub areas: Vec<TargetArea>,
    /// Damaged blocks, in order.
    pub damages: Vec<SurveyDamage>,
    /// By run: what is right.
    pub runs: BTreeMap<u64, RunTally>,
    /// Sectors of runs that had no place in `runs`.
    pub sectors_of_others: u64,
    /// By device: intact sectors that are where their stamps say.
    pub devices: BTreeMap<u64, u64>,
    /// Sectors that are right, of sets of equal blocks: where each belongs is not known.
    pub copied_sectors: u64,
    /// Units whose sectors belong to several writes.
    pub mixed_units: u64,
    /// … of which some are of different runs.
    pub units_of_runs: u64,
    /// The first unit of several writes.
    pub first_mixed: Option<u64>,
    /// Bytes of zeroes in the middle of what one write wrote: trimmed, or lost.
    pub zeroes_in_writes: u64,
}

impl PieceSurvey {
    /// Who wrote what is there, and nothing of whether it is right: that is judged by more than the stamps.
    #[must_use]
    pub fn names(self) -> Self {
        let Self { runs, sectors_of_others, devices, .. } = self;
        Self { runs, sectors_of_others, devices, ..Self::default() }
    }

    /// Adds an area behind the others.
    pub fn add_area(&mut self, area: TargetArea) {
        push(&mut self.areas, area);
    }
}

/// A sector at first sight.
#[derive(Clone, Copy, Debug)]
enum Sight {
    Right(SectorStamp),
    /// One of a set of equal blocks: where it belongs is not known without the load.
    Copy(SectorStamp),
    /// It has, or had, a stamp, and may not be here.
    Wrong,
    Plain,
    OfFiles,
    /// A file's, and damaged.
    WrongOfFile,
    Zero,
    Foreign,
    Unread,
}

/// Judges a piece of a target that begins at `address`, a multiple of the unit. What could not be read (`unread`, in order) is not
/// looked at.
#[must_use]
pub fn look(bytes: &[u8], address: u64, unread: &[Range<u64>], rules: &SurveyRules) -> PieceSurvey {
    let (sectors, tail) = bytes.as_chunks::<SECTOR_BYTES>();
    let place = |at: usize| address.saturating_add((at * SECTOR_BYTES) as u64);
    let sights: Vec<Sight> = sectors
        .iter()
        .enumerate()
        .map(|(at, sector)| {
            let here = place(at);
            let end = here.saturating_add(SECTOR_BYTES as u64);
            let is_unread = unread.iter().any(|range| range.start < end && here < range.end);
            if is_unread { Sight::Unread } else { sight(sector, here, rules) }
        })
        .collect();
    let mut piece = PieceSurvey::default();
    tally(&mut piece, sectors, &sights);
    let mut kinds: Vec<AreaKind> = sights.iter().map(kind_of).collect();
    let written = covered(&sights, address);
    let unit = usize::try_from(rules.unit.bytes()).unwrap_or(usize::MAX) / SECTOR_BYTES;
    for first in (0..sights.len()).step_by(unit.max(1)) {
        let range = first..sights.len().min(first.saturating_add(unit));
        let unit = Unit { sectors, sights: &sights, written: &written, address, range, rules };
        unit.judge(&mut piece, &mut kinds);
    }
    for (at, kind) in kinds.into_iter().enumerate() {
        push(&mut piece.areas, TargetArea { address: place(at), bytes: SECTOR_BYTES as u64, kind });
    }
    if !tail.is_empty() {
        let area = TargetArea { address: place(sectors.len()), bytes: tail.len() as u64, kind: AreaKind::Tail };
        push(&mut piece.areas, area);
    }
    piece
}

/// Adds an area behind the others.
pub(super) fn push(areas: &mut Vec<TargetArea>, area: TargetArea) {
    match areas.last_mut() {
        Some(last) if last.kind == area.kind && last.address.saturating_add(last.bytes) == area.address => {
            last.bytes += area.bytes;
        }
        _ => areas.push(area),
    }
}

fn kind_of(sight: &Sight) -> AreaKind {
    match sight {
        Sight::Right(_) | Sight::Copy(_) => AreaKind::Stamped,
        Sight::Wrong | Sight::WrongOfFile => AreaKind::Damaged,
        Sight::Plain => AreaKind::Unstamped,
        Sight::OfFiles => AreaKind::OfFiles,
        Sight::Zero => AreaKind::Zeroes,
        Sight::Foreign => AreaKind::Foreign,
        Sight::Unread => AreaKind::Unreadable,
    }
}

fn sight(sector: &[u8; SECTOR_BYTES], address: u64, rules: &SurveyRules) -> Sight {
    if let Some(stamp) = SectorStamp::read(sector) {
        if rules.holds_files && stamp.flags.has(StampFlags::FILE) {
            return if is_whole(sector, &stamp) { Sight::OfFiles } else { Sight::WrongOfFile };
        }
        if stamp.flags.has(StampFlags::COPY) {
            let (device, address) = (stamp.device, stamp.address);
            let expected = Expected { device, runs: &[], address, version: Version::Any };
            return if is_right(sector, &expected) { Sight::Copy(stamp) } else { Sight::Wrong };
        }
        let device = rules.device.unwrap_or(stamp.device);
        let expected = Expected { device, runs: &[], address, version: Version::Any };
        return if is_right(sector, &expected) { Sight::Right(stamp) } else { Sight::Wrong };
    }
    if sector.iter().all(|byte| *byte == 0) {
        return Sight::Zero;
    }
    if had_a_stamp(sector, address, rules) {
        return Sight::Wrong;
    }
    if sector.starts_with(&SECTOR_MAGIC) { Sight::Plain } else { Sight::Foreign }
}

/// Is it a stamped sector whose mark or fields were damaged? Where the mark is not whole, all the rest must prove it.
fn had_a_stamp(sector: &[u8; SECTOR_BYTES], address: u64, rules: &SurveyRules) -> bool {
    let mark = SECTOR_MAGIC.iter().chain(&STAMP_MARK);
    let flipped: u32 = sector.iter().zip(mark).map(|(found, right)| (found ^ right).count_ones()).sum();
    if flipped == 0 || flipped > MARK_BITS {
        // Fields that no write has, or no mark.
        return flipped == 0;
    }
    let device = rules.device.unwrap_or(0);
    let expected = Expected { device, runs: &[], address, version: Version::Any };
    examine(&Reading { first: sector, again: None }, &expected).class == DamageClass::BitRot
}

/// Counts the right sectors by run, and the intact ones by device.
fn tally(piece: &mut PieceSurvey, sectors: &[[u8; SECTOR_BYTES]], sights: &[Sight]) {
    for (sector, sight) in sectors.iter().zip(sights) {
        let stamp = match sight {
            Sight::Right(stamp) | Sight::Copy(stamp) => *stamp,
            Sight::Wrong => match SectorStamp::read(sector) {
                Some(stamp) if is_intact(sector) => stamp,
                _ => continue,
            },
            _ => continue,
        };
        let is_copy = matches!(sight, Sight::Copy(_));
        if is_copy {
            piece.copied_sectors += 1;
            continue;
        }
        if piece.devices.len() < NAMES_KEPT || piece.devices.contains_key(&stamp.device) {
            *piece.devices.entry(stamp.device).or_default() += 1;
        }
        if !matches!(sight, Sight::Right(_)) {
            continue;
        }
        let one = RunTally::of(&stamp);
        let is_full = piece.runs.len() >= NAMES_KEPT;
        match piece.runs.get_mut(&stamp.run) {
            Some(run) => run.add(&one),
            None if is_full => piece.sectors_of_others += 1,
            None => _ = piece.runs.insert(stamp.run, one),
        }
    }
}

/// First byte of the write of a stamp, and the end of it.
fn write_of(stamp: &SectorStamp) -> Range<u64> {
    let start = stamp.address.saturating_sub(u64::from(stamp.place) * SECTOR_BYTES as u64);
    start..start.saturating_add(u64::from(stamp.write_sectors) * SECTOR_BYTES as u64)
}

/// Which sectors were written by a write of which another sector is still here.
fn covered(sights: &[Sight], address: u64) -> Vec<bool> {
    let place = |at: usize| address.saturating_add((at * SECTOR_BYTES) as u64);
    let mut covered = vec![false; sights.len()];
    let (mut until, mut from) = (0, u64::MAX);
    for (at, sight) in sights.iter().enumerate() {
        if let Sight::Right(stamp) = sight {
            until = write_of(stamp).end.max(until);
        }
        covered[at] |= place(at) < until;
    }
    for (at, sight) in sights.iter().enumerate().rev() {
        if let Sight::Right(stamp) = sight {
            from = write_of(stamp).start.min(from);
        }
        covered[at] |= place(at) >= from;
    }
    covered
}

/// Sectors that were written together.
struct Unit<'a> {
    sectors: &'a [[u8; SECTOR_BYTES]],
    sights: &'a [Sight],
    written: &'a [bool],
    address: u64,
    range: Range<usize>,
    rules: &'a SurveyRules,
}

impl Unit<'_> {
    fn place(&self, at: usize) -> u64 {
        self.address.saturating_add((at * SECTOR_BYTES) as u64)
    }

    fn judge(&self, piece: &mut PieceSurvey, kinds: &mut [AreaKind]) {
        let rights = || {
            self.sights[self.range.clone()].iter().filter_map(|sight| match sight {
                Sight::Right(stamp) => Some(stamp),
                _ => None,
            })
        };
        let here = |at: usize| rights().any(|stamp| write_of(stamp).contains(&self.place(at)));
        // What may not be what it is.
        let suspects: Vec<bool> = self
            .range
            .clone()
            .map(|at| match self.sights[at] {
                Sight::Wrong => true,
                Sight::Zero => here(at),
                Sight::Foreign => self.written[at] || here(at),
                _ => false,
            })
            .collect();
        for (at, suspect) in self.range.clone().zip(&suspects) {
            if matches!(self.sights[at], Sight::Zero) && self.written[at] && !suspect {
                piece.zeroes_in_writes += SECTOR_BYTES as u64;
            }
        }
        let before = piece.damages.len();
        if suspects.contains(&true) {
            self.damages(&suspects, piece, kinds);
        }
        self.damages_of_files(piece);
        let writes: BTreeSet<(u64, u64)> = rights().map(|stamp| (stamp.run, stamp.sequence)).collect();
        if writes.len() < 2 {
            return;
        }
        let runs: BTreeSet<u64> = writes.iter().map(|(run, _)| *run).collect();
        piece.mixed_units += 1;
        piece.units_of_runs += u64::from(runs.len() > 1);
        let address = self.place(self.range.start);
        piece.first_mixed.get_or_insert(address);
        if matches!(self.rules.unit, SurveyUnit::Exactly(_)) && piece.damages.len() == before {
            self.torn(piece, kinds);
        }
    }

    /// Adds what is damaged: parts of the unit without anything that may be there without a stamp.
    fn damages(&self, suspects: &[bool], piece: &mut PieceSurvey, kinds: &mut [AreaKind]) {
        let belongs =
            |at: usize| matches!(self.sights[at], Sight::Right(_) | Sight::Copy(_)) || suspects[at - self.range.start];
        let mut at = self.range.start;
        while at < self.range.end {
            let end = (at..self.range.end).find(|at| !belongs(*at)).unwrap_or(self.range.end);
            if suspects[at - self.range.start..end - self.range.start].contains(&true) {
                let finding = self.examine(at..end);
                let wrong = |at: usize| finding.sectors.get(at).is_none_or(|sector| !sector.is_right);
                for (index, kind) in kinds[at..end].iter_mut().enumerate().filter(|(index, _)| wrong(*index)) {
                    *kind = if suspects[at + index - self.range.start] { AreaKind::Damaged } else { *kind };
                }
                piece.damages.extend(self.damage(at..end, &finding));
            }
            at = end.max(at) + 1;
        }
    }

    /// Adds damaged sectors of files, those in a row as one.
    fn damages_of_files(&self, piece: &mut PieceSurvey) {
        let is_wrong = |at: &usize| matches!(self.sights[*at], Sight::WrongOfFile);
        let mut at = self.range.start;
        while let Some(first) = (at..self.range.end).find(is_wrong) {
            let end = (first..self.range.end).find(|at| !is_wrong(at)).unwrap_or(self.range.end);
            piece.damages.extend(self.damage_of_file(first..end));
            at = end;
        }
    }

    /// What is wrong with sectors of a file, as the first of them has it.
    fn damage_of_file(&self, range: Range<usize>) -> Option<SurveyDamage> {
        let sector = &self.sectors[range.start];
        let finding = examine_of_file(sector, &SectorStamp::read(sector)?);
        let address = self.place(range.start);
        Some(SurveyDamage {
            address,
            bytes: (range.len() * SECTOR_BYTES) as u64,
            class: finding.class,
            wrong_sectors: range.len() as u64,
            first_wrong: SectorFinding { address, ..finding.sectors.first()?.clone() },
            found: format!("in a file, there at {:#x}: {}", finding.must.address, found_words(&finding)),
        })
    }

    fn examine(&self, range: Range<usize>) -> BlockFinding {
        let block = self.sectors[range.clone()].as_flattened();
        let of_the_first = self.sectors[range.clone()].iter().find_map(SectorStamp::read).map(|stamp| stamp.device);
        let device = self.rules.device.or(of_the_first).unwrap_or(0);
        let expected = Expected { device, runs: &[], address: self.place(range.start), version: Version::Any };
        examine(&Reading { first: block, again: None }, &expected)
    }

    fn damage(&self, range: Range<usize>, finding: &BlockFinding) -> Option<SurveyDamage> {
        let mut wrong = finding.sectors.iter().filter(|sector| !sector.is_right);
        let first_wrong = wrong.next()?.clone();
        Some(SurveyDamage {
            address: self.place(range.start),
            bytes: (range.len() * SECTOR_BYTES) as u64,
            class: finding.class,
            wrong_sectors: 1 + wrong.count() as u64,
            first_wrong,
            found: found_words(finding),
        })
    }

    /// All of its sectors are right, and not of one write: those that are not of the newest one are wrong.
    fn torn(&self, piece: &mut PieceSurvey, kinds: &mut [AreaKind]) {
        let stamp = |at: usize| match self.sights[at] {
            Sight::Right(stamp) => Some(stamp),
            _ => None,
        };
        let age = |stamp: &SectorStamp| (stamp.written_s, stamp.sequence);
        let Some(newest) = self.range.clone().filter_map(stamp).max_by_key(age) else { return };
        let is_older =
            |at: &usize| stamp(*at).is_some_and(|own| (own.run, own.sequence) != (newest.run, newest.sequence));
        let wrong: Vec<usize> = self.range.clone().filter(is_older).collect();
        let Some(first) = wrong.first() else { return };
        let finding = self.examine(*first..*first + 1);
        let Some(sector) = finding.sectors.into_iter().next() else { return };
        let mut older: Vec<String> =
            wrong.iter().filter_map(|at| stamp(*at)).map(|stamp| write_words(&stamp)).collect();
        older.dedup();
        older.truncate(PARTS_MAX);
        wrong.iter().for_each(|at| kinds[*at] = AreaKind::Damaged);
        piece.damages.push(SurveyDamage {
            address: self.place(self.range.start),
            bytes: (self.range.len() * SECTOR_BYTES) as u64,
            class: DamageClass::TornWrite,
            wrong_sectors: wrong.len() as u64,
            first_wrong: SectorFinding { is_right: false, ..sector },
            found: format!("sectors of {}; the others of {}", older.join(", of "), write_words(&newest)),
        });
    }
}
