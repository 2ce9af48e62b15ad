//! What is wrong with a block that is not right.

use crate::expected::{Expected, Version, is_right, is_zero};
use crate::sector::{POISON, SECTOR_BYTES, SectorStamp, is_intact};

/// What happened to a block, as far as it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DamageClass {
    /// Single bits differ from what was written.
    BitRot,
    /// Some sectors are of the last write and others of an earlier one.
    TornWrite,
    /// All of it is an earlier write, and stays so.
    LostWrite,
    /// It was an earlier write, and the last one when it was read again.
    StaleRead,
    /// It was written for another address: a write went astray, or was done twice.
    MisdirectedWrite,
    /// Its last write is not here but at another address.
    WriteWentAstray,
    /// A write for another address is also here.
    DuplicatedWrite,
    /// It was the data of another address, and right when it was read again.
    MisdirectedRead,
    /// Its sectors are right, but in another order.
    SwappedSectors,
    /// It was written to another device.
    OtherDevice,
    /// An earlier execution wrote it.
    OlderRun,
    /// Nothing that iodyno wrote.
    Foreign,
    /// Zeroes.
    Zeroes,
    /// Trimmed, and its data came back.
    TrimmedData,
    /// Fewer bytes were read than should have been.
    ShortRead,
    /// Bytes behind the head differ so much that no single bits can be named.
    Corrupt,
    /// A flush behind its last write was acknowledged, and the write is not there after a crash.
    LostAfterFlush,
    /// A write from behind a flush is there after a crash, and one from before it is not.
    ReorderedAcrossFlush,
}

impl DamageClass {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::BitRot,
        Self::TornWrite,
        Self::LostWrite,
        Self::StaleRead,
        Self::MisdirectedWrite,
        Self::WriteWentAstray,
        Self::DuplicatedWrite,
        Self::MisdirectedRead,
        Self::SwappedSectors,
        Self::OtherDevice,
        Self::OlderRun,
        Self::Foreign,
        Self::Zeroes,
        Self::TrimmedData,
        Self::ShortRead,
        Self::Corrupt,
        Self::LostAfterFlush,
        Self::ReorderedAcrossFlush,
    ];

    /// The name in recordings, `inject --kind` and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BitRot => "bit_rot",
            Self::TornWrite => "torn_write",
            Self::LostWrite => "lost_write",
            Self::StaleRead => "stale_read",
            Self::MisdirectedWrite => "misdirected_write",
            Self::WriteWentAstray => "write_went_astray",
            Self::DuplicatedWrite => "duplicated_write",
            Self::MisdirectedRead => "misdirected_read",
            Self::SwappedSectors => "swapped_sectors",
            Self::OtherDevice => "other_device",
            Self::OlderRun => "older_run",
            Self::Foreign => "foreign",
            Self::Zeroes => "zeroes",
            Self::TrimmedData => "trimmed_data",
            Self::ShortRead => "short_read",
            Self::Corrupt => "corrupt",
            Self::LostAfterFlush => "lost_after_flush",
            Self::ReorderedAcrossFlush => "reordered_across_flush",
        }
    }
}

/// What was read of a block.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// What came first, and was not right.
    pub first: &'a [u8],
    /// What came when it was read again, past all caches; `None`: it was not, or could not be.
    pub again: Option<&'a [u8]>,
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
    /// Bits that differ from what its stamp says was written, by their number in the sector, the first few; empty where that is not known.
    pub bits: Vec<u16>,
}

/// One damaged block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFinding {
    /// What happened.
    pub class: DamageClass,
    /// All its sectors.
    pub sectors: Vec<SectorFinding>,
    /// It was right when it was read again.
    pub is_transient: bool,
}

/// Says what is wrong with a block that [`is_right`] refused.
#[must_use]
pub fn examine(reading: &Reading<'_>, expected: &Expected<'_>) -> BlockFinding {
    let sectors: Vec<SectorFinding> = sectors_of(reading.first, expected);
    let is_transient = reading.again.is_some_and(|again| is_right(again, expected));
    let class = class_of(&sectors, expected, is_transient);
    BlockFinding { class, sectors, is_transient }
}

fn sectors_of(block: &[u8], expected: &Expected<'_>) -> Vec<SectorFinding> {
    let (sectors, _) = block.as_chunks::<SECTOR_BYTES>();
    let each = sectors.iter().enumerate().map(|(place, sector)| {
        let address = expected.address.wrapping_add((place * SECTOR_BYTES) as u64);
        SectorFinding {
            address,
            stamp: SectorStamp::read(sector),
            is_intact: is_intact(sector),
            is_right: is_right(sector, &Expected { address, ..*expected }),
            is_zero: is_zero(sector),
            is_unread: sector.starts_with(&POISON),
            bits: Vec::new(),
        }
    });
    each.collect()
}

/// The first reason that holds for a wrong sector, in the order of the checks.
fn class_of(sectors: &[SectorFinding], expected: &Expected<'_>, is_transient: bool) -> DamageClass {
    let wrong = || sectors.iter().filter(|sector| !sector.is_right);
    let Some(first) = wrong().next() else { return DamageClass::ShortRead };
    if wrong().all(|sector| sector.is_unread) {
        return DamageClass::ShortRead;
    }
    if wrong().all(|sector| sector.is_zero) {
        return DamageClass::Zeroes;
    }
    let Some(stamp) = first.stamp else { return DamageClass::Foreign };
    if !first.is_intact {
        return DamageClass::BitRot;
    }
    if expected.version == Version::Zeroes {
        return DamageClass::TrimmedData;
    }
    if stamp.device != expected.device {
        return DamageClass::OtherDevice;
    }
    if !expected.runs.is_empty() && !expected.runs.contains(&stamp.run) {
        return DamageClass::OlderRun;
    }
    if stamp.address != first.address {
        return if is_transient { DamageClass::MisdirectedRead } else { DamageClass::MisdirectedWrite };
    }
    match (sectors.iter().any(|sector| sector.is_right), is_transient) {
        (true, _) => DamageClass::TornWrite,
        (false, true) => DamageClass::StaleRead,
        (false, false) => DamageClass::LostWrite,
    }
}
