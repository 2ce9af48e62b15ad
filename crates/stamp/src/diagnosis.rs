//! What is wrong with each sector of a block.

use crate::expected::{Expected, Version, is_right, is_zero};
use crate::explain::{BITS_MAX, Damaged};
use crate::sector::{HEAD_BYTES, POISON, SECTOR_BYTES, SECTOR_MAGIC, STAMP_MARK, SectorStamp, is_intact};

/// What is wrong with a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectorFault {
    /// It was not transferred.
    Unread,
    /// Zeroes that must not be there; with some bits set ([`SectorFinding::bits`]) they are no less.
    Zeroes,
    /// Single bits differ from what must be there ([`SectorFinding::bits`]).
    Bits,
    /// A part of it is of one write, and the rest is not.
    Cut,
    /// It was written to another device.
    Device,
    /// An execution wrote it that must not have.
    Run,
    /// It was written to another address.
    Address,
    /// It is another write to its block.
    Version,
    /// Data of iodyno begin in its midst.
    Shifted,
    /// It is of iodyno, and damaged beyond single bits.
    Corrupt,
    /// Nothing shows that iodyno wrote it.
    Foreign,
}

/// One sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectorFinding {
    /// Its address, bytes.
    pub address: u64,
    /// What it says of itself, where it has a stamp.
    pub stamp: Option<SectorStamp>,
    /// Does its checksum agree?
    pub is_intact: bool,
    /// May it be there?
    pub is_right: bool,
    /// Only zeroes.
    pub is_zero: bool,
    /// It was not transferred.
    pub is_unread: bool,
    /// What is wrong; `None`: nothing.
    pub fault: Option<SectorFault>,
    /// The write whose data it is, also where damage hides it; `None`: that does not show.
    pub origin: Option<SectorStamp>,
    /// What must be here, where that shows.
    pub must: Option<SectorStamp>,
    /// Bits that differ from what its origin wrote (from zeroes without one), by their number in the sector, the first 64.
    pub bits: Vec<u16>,
    /// How many differ.
    pub bit_count: u32,
}

/// All sectors of a block.
pub(crate) struct Block {
    pub(crate) sectors: Vec<SectorFinding>,
    /// See [`crate::BlockFinding`].
    pub(crate) shift: Option<i64>,
}

/// Of at most so many writes in one block it is asked whether a damaged sector was theirs.
const WRITES_MAX: usize = 4;

impl Block {
    pub(crate) fn diagnose(block: &[u8], expected: &Expected<'_>) -> Self {
        let (bytes, _) = block.as_chunks::<SECTOR_BYTES>();
        let mut sectors: Vec<SectorFinding> = bytes
            .iter()
            .enumerate()
            .map(|(place, sector)| at_first_sight(sector, expected.address.wrapping_add(bytes_of(place)), expected))
            .collect();
        let writes = writes_of(&sectors);
        let of_right = sectors.iter().enumerate().find(|(_, sector)| sector.is_right);
        let of_right = of_right.and_then(|(place, sector)| Some((place, sector.stamp?)));
        let mut shift = None;
        for (place, (sector, bytes)) in sectors.iter_mut().zip(bytes).enumerate() {
            let from = |(other, stamp): (usize, SectorStamp)| stamp.moved(distance(other, place));
            if sector.fault == Some(SectorFault::Corrupt) {
                let neighbours: Vec<SectorStamp> = writes.iter().copied().map(from).collect();
                sector.look_closer(bytes, expected, &neighbours);
            }
            if !sector.is_right && sector.must.is_none() && expected.version != Version::Zeroes {
                sector.must = of_right.map(from);
            }
            if sector.fault == Some(SectorFault::Foreign)
                && let Some((at, stamp)) = stamp_within(block, place)
            {
                sector.fault = Some(SectorFault::Shifted);
                sector.origin = Some(stamp);
                let is = expected.address.wrapping_add(at as u64);
                shift = shift.or(Some(is.wrapping_sub(stamp.address).cast_signed()));
            }
        }
        Self { sectors, shift }
    }

    fn wrong(&self) -> impl Iterator<Item = &SectorFinding> {
        self.sectors.iter().filter(|sector| !sector.is_right)
    }

    /// Is something here that belongs outside of the block? What has only changed places within its write does not count.
    pub(crate) fn is_astray(&self, expected: &Expected<'_>) -> bool {
        let end = expected.address.wrapping_add(bytes_of(self.sectors.len()));
        let is_in_place = |sector: &&SectorFinding| matches!(sector.fault, None | Some(SectorFault::Version));
        let in_place: Vec<&SectorStamp> =
            self.sectors.iter().filter(is_in_place).filter_map(|sector| sector.origin.as_ref()).collect();
        let is_shuffled = |origin: &SectorStamp| {
            let is_of_block = (expected.address..end).contains(&origin.address);
            let is_same = |other: &&SectorStamp| (other.run, other.sequence) == (origin.run, origin.sequence);
            is_of_block && expected.version.allows(origin.version) || in_place.iter().any(is_same)
        };
        self.wrong().any(|sector| match sector.fault {
            Some(SectorFault::Shifted) => true,
            Some(SectorFault::Address) => !sector.origin.as_ref().is_some_and(is_shuffled),
            _ => false,
        })
    }

    /// Right up to some sector and zeroes from there on, or the other way round.
    pub(crate) fn is_half_done(&self) -> bool {
        let changes = self.sectors.windows(2).filter(|pair| matches!(pair, [a, b] if a.is_right != b.is_right));
        changes.count() == 1
    }

    /// Are all its sectors of one and the same write? Damage to some does not count.
    pub(crate) fn is_one_write(&self) -> bool {
        let mut first = None;
        self.sectors.iter().all(|sector| match (sector.fault, sector.origin) {
            (Some(SectorFault::Zeroes), _) => false,
            (_, None) => true,
            (_, Some(origin)) => first.get_or_insert(origin).is_of(&origin),
        })
    }

    /// Were its data written to another address?
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.wrong().any(|sector| sector.origin.is_some_and(|origin| origin.address != sector.address))
    }
}

impl SectorFinding {
    /// A sector whose checksum is wrong: what was it?
    fn look_closer(&mut self, sector: &[u8; SECTOR_BYTES], expected: &Expected<'_>, neighbours: &[SectorStamp]) {
        let damaged = Damaged { sector, address: self.address, expected, neighbours };
        let explained = damaged.explain();
        let set: u32 = sector.iter().map(|byte| byte.count_ones()).sum();
        if set <= BITS_MAX && explained.is_none_or(|likeness| set < likeness.bits) {
            self.note_bits(sector, &[0; SECTOR_BYTES]);
            let may_be_zero = expected.version == Version::Zeroes;
            self.fault = Some(if may_be_zero { SectorFault::Bits } else { SectorFault::Zeroes });
            return;
        }
        let Some(likeness) = explained else {
            if self.stamp.is_none() {
                self.fault = Some(SectorFault::Foreign);
            }
            return;
        };
        let mut was = [0; SECTOR_BYTES];
        likeness.stamp.write(&mut was);
        self.note_bits(sector, &was);
        self.origin = Some(likeness.stamp);
        let wrong = wrong_field(&likeness.stamp, self.address, expected);
        if wrong.is_none() {
            self.must = self.origin;
        }
        self.fault = Some(match wrong {
            _ if likeness.bits > BITS_MAX && likeness.is_cut => SectorFault::Cut,
            _ if likeness.bits > BITS_MAX => SectorFault::Corrupt,
            Some(wrong) => wrong,
            None => SectorFault::Bits,
        });
    }

    fn note_bits(&mut self, is: &[u8; SECTOR_BYTES], was: &[u8; SECTOR_BYTES]) {
        let differing = (0..).zip(is.iter().zip(was)).flat_map(|(at, (is, was))| {
            let differs = is ^ was;
            (0..8).filter(move |bit| differs >> bit & 1 != 0).map(move |bit| at * 8 + bit)
        });
        let all: Vec<u16> = differing.collect();
        self.bit_count = u32::try_from(all.len()).unwrap_or(u32::MAX);
        self.bits = all.into_iter().take(BITS_MAX as usize).collect();
    }
}

/// What a sector alone says. `Corrupt` is to be looked at closer.
fn at_first_sight(sector: &[u8; SECTOR_BYTES], address: u64, expected: &Expected<'_>) -> SectorFinding {
    let stamp = SectorStamp::read(sector);
    let is_right = is_right(sector, &Expected { address, ..*expected });
    let (is_intact, is_zero) = (is_intact(sector), is_zero(sector));
    let is_unread = sector.starts_with(&POISON);
    let fault = match stamp {
        _ if is_right => None,
        _ if is_unread => Some(SectorFault::Unread),
        _ if is_zero => Some(SectorFault::Zeroes),
        Some(stamp) if is_intact => wrong_field(&stamp, address, expected).or(Some(SectorFault::Corrupt)),
        _ => Some(SectorFault::Corrupt),
    };
    SectorFinding {
        address,
        stamp,
        is_intact,
        is_right,
        is_zero,
        is_unread,
        fault,
        origin: stamp.filter(|_| is_intact),
        must: None,
        bits: Vec::new(),
        bit_count: 0,
    }
}

/// Why a sector that is what its stamp says must not be there.
fn wrong_field(stamp: &SectorStamp, address: u64, expected: &Expected<'_>) -> Option<SectorFault> {
    if stamp.device != expected.device {
        Some(SectorFault::Device)
    } else if !expected.runs.is_empty() && !expected.runs.contains(&stamp.run) {
        Some(SectorFault::Run)
    } else if stamp.address != address {
        Some(SectorFault::Address)
    } else {
        (!expected.version.allows(stamp.version)).then_some(SectorFault::Version)
    }
}

/// One sector of each write in a block, with its place, those that are right first.
fn writes_of(sectors: &[SectorFinding]) -> Vec<(usize, SectorStamp)> {
    let mut writes: Vec<(usize, SectorStamp)> = Vec::new();
    let right = sectors.iter().enumerate().filter(|(_, sector)| sector.is_right);
    let wrong = sectors.iter().enumerate().filter(|(_, sector)| !sector.is_right && sector.is_intact);
    for (place, sector) in right.chain(wrong) {
        let Some(stamp) = sector.stamp else { continue };
        if !writes.iter().any(|(_, other)| other.is_of(&stamp)) {
            writes.push((place, stamp));
        }
        if writes.len() == WRITES_MAX {
            break;
        }
    }
    writes
}

/// A stamp that begins within a sector of a block, and whose data follow as far as the block goes.
fn stamp_within(block: &[u8], place: usize) -> Option<(usize, SectorStamp)> {
    let begin = place * SECTOR_BYTES + 1;
    (begin..begin + SECTOR_BYTES - 1).find_map(|at| {
        let rest = block.get(at..)?;
        if !rest.starts_with(&SECTOR_MAGIC) || rest.get(8..12)? != STAMP_MARK || rest.len() < HEAD_BYTES + 8 {
            return None;
        }
        let rest = &rest[..rest.len().min(SECTOR_BYTES)];
        let mut bytes = [0; SECTOR_BYTES];
        bytes[..rest.len()].copy_from_slice(rest);
        let stamp = SectorStamp::read(&bytes)?;
        let mut was = [0; SECTOR_BYTES];
        stamp.write(&mut was);
        was.starts_with(rest).then_some((at, stamp))
    })
}

fn bytes_of(sectors: usize) -> u64 {
    (sectors * SECTOR_BYTES) as u64
}

/// Sectors from one place to another.
fn distance(from: usize, to: usize) -> i64 {
    (to as u64).wrapping_sub(from as u64).cast_signed()
}
