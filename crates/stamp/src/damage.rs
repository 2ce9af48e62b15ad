//! What is wrong with a block that is not right.

use crate::diagnosis::{Block, SectorFault, SectorFinding};
use crate::expected::{Expected, Version, is_right};

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
    /// An execution wrote it that began later, and is not known here. Who knows when the known ones began says so: a sector alone
    /// shows only that it is of another one.
    OtherRun,
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
    /// A file that must be there is not.
    MissingFile,
    /// A file is shorter or longer than it must be.
    WrongSize,
    /// A file that was deleted is there.
    DeletedFile,
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
        Self::OtherRun,
        Self::Foreign,
        Self::Zeroes,
        Self::TrimmedData,
        Self::ShortRead,
        Self::Corrupt,
        Self::LostAfterFlush,
        Self::ReorderedAcrossFlush,
        Self::MissingFile,
        Self::WrongSize,
        Self::DeletedFile,
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
            Self::OtherRun => "other_run",
            Self::Foreign => "foreign",
            Self::Zeroes => "zeroes",
            Self::TrimmedData => "trimmed_data",
            Self::ShortRead => "short_read",
            Self::Corrupt => "corrupt",
            Self::LostAfterFlush => "lost_after_flush",
            Self::ReorderedAcrossFlush => "reordered_across_flush",
            Self::MissingFile => "missing_file",
            Self::WrongSize => "wrong_size",
            Self::DeletedFile => "deleted_file",
        }
    }

    /// What happened to a block of this class, as a part of a sentence: `sd1 at 0x1000: lost_write: …`.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::BitRot => "bits differ from what was written",
            Self::TornWrite => "parts of it are the last write, others are older",
            Self::LostWrite => "it is an earlier write, and stays so",
            Self::StaleRead => "it was an earlier write, and the last one when it was read again",
            Self::MisdirectedWrite => "it was written for another address",
            Self::WriteWentAstray => "its last write is not here but at another address",
            Self::DuplicatedWrite => "a write for another address is also here",
            Self::MisdirectedRead => "it was the data of another address, and right when it was read again",
            Self::SwappedSectors => "its sectors are right, but in another order",
            Self::OtherDevice => "it was written to another device",
            Self::OlderRun => "an earlier execution wrote it, and the write that must be there is not",
            Self::OtherRun => "a later execution wrote it, of which this one and its journal know nothing",
            Self::Foreign => "it has no stamp of iodyno's",
            Self::Zeroes => "it is zeroes",
            Self::TrimmedData => "it was trimmed, and is no zeroes",
            Self::ShortRead => "fewer bytes came back than were asked for",
            Self::Corrupt => "its bytes differ so much that no single bits can be named",
            Self::LostAfterFlush => "a flush behind its last write was acknowledged, and the write is not there",
            Self::ReorderedAcrossFlush => "a write from behind a flush is there, and one from before it is not",
            Self::MissingFile => "a file that must be there is not",
            Self::WrongSize => "a file is shorter or longer than it must be",
            Self::DeletedFile => "a file that was deleted is there",
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

/// What had to be there, as far as it is known without the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MustBe {
    /// Hash of the target's name.
    pub device: u64,
    /// The execution; `None`: any, or one of several.
    pub run: Option<u64>,
    /// Address of the block, bytes.
    pub address: u64,
    /// Which of its writes.
    pub version: Version,
}

/// One damaged block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFinding {
    /// What happened.
    pub class: DamageClass,
    /// All its whole sectors.
    pub sectors: Vec<SectorFinding>,
    /// It was right when it was read again.
    pub is_transient: bool,
    /// It was wrong in another way when it was read again; this is about what came then, which lasts.
    pub is_of_again: bool,
    /// Its data begin so many bytes behind where they belong, no multiple of 512; below 0: before it.
    pub shift: Option<i64>,
    /// What had to be there.
    pub must: MustBe,
}

impl BlockFinding {
    /// Of something that is no matter of blocks.
    #[must_use]
    pub fn of_file(class: DamageClass, must: MustBe) -> Self {
        Self { class, sectors: Vec::new(), is_transient: false, is_of_again: false, shift: None, must }
    }

    /// The first sector that is wrong.
    #[must_use]
    pub fn first_wrong(&self) -> Option<&SectorFinding> {
        self.sectors.iter().find(|sector| !sector.is_right)
    }

    /// Sectors that are wrong.
    #[must_use]
    pub fn wrong_sectors(&self) -> u64 {
        self.sectors.iter().filter(|sector| !sector.is_right).count() as u64
    }
}

/// Says what is wrong with a block that [`is_right`] refused. What is wrong in two ways in two readings is judged by the second
/// one, because that is what lasts.
#[must_use]
pub fn examine(reading: &Reading<'_>, expected: &Expected<'_>) -> BlockFinding {
    let is_transient = reading.again.is_some_and(|again| is_right(again, expected));
    let lasting = reading.again.filter(|again| !is_transient && *again != reading.first);
    let judge = |bytes: &[u8]| {
        let block = Block::diagnose(bytes, expected);
        (class_of(&block, expected, is_transient), block)
    };
    // A second reading that is not whole says nothing of the first.
    let second = lasting.map(judge).filter(|(class, _)| *class != DamageClass::ShortRead);
    let is_of_again = second.is_some();
    let (class, block) = second.unwrap_or_else(|| judge(reading.first));
    BlockFinding {
        class,
        shift: block.shift,
        sectors: block.sectors,
        is_transient,
        is_of_again,
        must: MustBe {
            device: expected.device,
            run: if let [only] = expected.runs { Some(*only) } else { None },
            address: expected.address,
            version: expected.version,
        },
    }
}

/// One name for all that is wrong in a block.
fn class_of(block: &Block, expected: &Expected<'_>, is_transient: bool) -> DamageClass {
    use SectorFault as Fault;
    let sectors = &block.sectors;
    let faults = || sectors.iter().filter_map(|sector| sector.fault);
    let judged = || faults().filter(|fault| *fault != Fault::Unread);
    let is_cut_short = faults().any(|fault| fault == Fault::Unread);
    // The end of a transfer may lie within a sector.
    if judged().all(|fault| is_cut_short && fault == Fault::Cut) {
        return DamageClass::ShortRead;
    }
    let all = |wanted: Fault| judged().all(|fault| fault == wanted);
    let any = |wanted: Fault| judged().any(|fault| fault == wanted);
    if all(Fault::Bits) {
        return DamageClass::BitRot;
    }
    if any(Fault::Device) {
        return DamageClass::OtherDevice;
    }
    if block.is_astray(expected) {
        return if is_transient { DamageClass::MisdirectedRead } else { DamageClass::MisdirectedWrite };
    }
    let is_older = any(Fault::Version) || any(Fault::Run);
    if any(Fault::Address) && !is_older {
        return DamageClass::SwappedSectors;
    }
    if expected.version == Version::Zeroes {
        let is_back = any(Fault::Version) || any(Fault::Run) || any(Fault::Cut);
        return match (is_back, any(Fault::Corrupt)) {
            (true, _) => DamageClass::TrimmedData,
            (false, true) => DamageClass::Corrupt,
            (false, false) => DamageClass::Foreign,
        };
    }
    if all(Fault::Zeroes) {
        return if block.is_half_done() { DamageClass::TornWrite } else { DamageClass::Zeroes };
    }
    if any(Fault::Cut) || is_older && !block.is_one_write() {
        return DamageClass::TornWrite;
    }
    match (is_older, is_transient) {
        (true, true) if any(Fault::Run) && block.is_elsewhere() => DamageClass::MisdirectedRead,
        (true, true) => DamageClass::StaleRead,
        (true, false) if any(Fault::Run) => DamageClass::OlderRun,
        (true, false) => DamageClass::LostWrite,
        (false, _) if any(Fault::Corrupt) => DamageClass::Corrupt,
        (false, _) if any(Fault::Foreign) => DamageClass::Foreign,
        // Zeroes, and single bits beside them.
        (false, _) => DamageClass::Zeroes,
    }
}
