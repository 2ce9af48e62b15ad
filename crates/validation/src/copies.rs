//! Validated data of which some blocks are equal to others.
//!
//! A copy has, in place of what its block and its write would put there, what all blocks of its set have: it is written as if it were
//! the block of that number of a target of its own, by one write. Which blocks are copies, and of which set, follows from the
//! place and the version of each ([`plan::generate::PlacedCopies`]), so that a reader knows the bytes that must be there.

use crate::rules::{TargetCopies, TargetRules};
use crate::states::BlockState;
use stamp::{
    BlockFinding, BlockWriter, DamageClass, Expected, MustBe, Reading, SECTOR_BYTES, SectorFault, SectorFinding,
    SectorStamp, StampFlags, Version, WriteStamp, examine, is_intact, is_right,
};

/// The version in the stamp of every copy.
const COPY_VERSION: u16 = 4;
/// So many versions back, a copy is known for an earlier write.
const VERSIONS_BACK: usize = 16;

impl TargetCopies {
    /// Where the copy stands in the target of all copies; `None`: the block is none.
    #[inline]
    fn home(&self, address: u64, block_bytes: u64, version: u16) -> Option<u64> {
        let set = self.placed.set_of(address, block_bytes, version)?;
        let unit = self.placed.unit_bytes();
        Some(set * unit + address % unit)
    }

    fn write(&self, rules: &TargetRules) -> WriteStamp {
        WriteStamp {
            flags: StampFlags(rules.flags.0 | StampFlags::COPY.0),
            run: rules.runs.first().copied().unwrap_or(0),
            device: self.domain,
            sequence: 0,
            writer: 0,
            epoch: 0,
            written_s: 0,
        }
    }

    /// Puts a copy where one belongs; the block has been filled as one that is alone.
    #[inline]
    pub(crate) fn fill(
        &self,
        writer: &BlockWriter,
        block: &mut [u8],
        (address, version): (u64, u16),
        rules: &TargetRules,
    ) {
        if let Some(home) = self.home(address, rules.block_bytes, version) {
            writer.fill(block, (home, rules.block_bytes), &self.write(rules), |_| COPY_VERSION);
        }
    }

    /// What must be there where it is a copy.
    fn expected<'a>(&self, home: u64, rules: &'a TargetRules) -> Expected<'a> {
        Expected { device: self.domain, runs: &rules.runs, address: home, version: Version::Is(COPY_VERSION) }
    }

    /// May this block be there? `alone`: what must be there where it is none.
    pub(crate) fn is_right(&self, block: &[u8], alone: &Expected<'_>, rules: &TargetRules) -> bool {
        match alone.version {
            Version::Zeroes => is_right(block, alone),
            Version::Is(version) => match self.home(alone.address, rules.block_bytes, version) {
                Some(home) => is_right(block, &self.expected(home, rules)),
                None => is_right(block, alone),
            },
            // Which versions there may be is not known, and so are the copies: it must be one of them, at its place.
            Version::AtLeast(_) => each_is(block, alone, |sector, address| self.is_copy(sector, address, rules)),
            Version::Any => is_of_any(block, alone),
        }
    }

    /// Any copy that has its place here?
    fn is_copy(&self, sector: &[u8; SECTOR_BYTES], address: u64, rules: &TargetRules) -> bool {
        let unit = self.placed.unit_bytes();
        SectorStamp::read(sector).is_some_and(|stamp| {
            let is_set = stamp.address / unit < self.placed.sets() && stamp.address % unit == address % unit;
            is_set && is_right(sector, &self.expected(stamp.address, rules))
        })
    }

    /// Says what is wrong with a block that is not right.
    pub(crate) fn examine(&self, reading: &Reading<'_>, alone: &Expected<'_>, rules: &TargetRules) -> BlockFinding {
        let is_right_again = reading.again.is_some_and(|again| self.is_right(again, alone, rules));
        let home = match alone.version {
            Version::Is(version) => self.home(alone.address, rules.block_bytes, version),
            _ => None,
        };
        let mut finding = match home {
            Some(home) => self.examine_copy(reading, (home, alone), rules),
            None => examine(reading, alone),
        };
        finding.is_transient = is_right_again;
        self.refine(&mut finding, alone, rules);
        finding
    }

    /// What must be there is a copy, of which every byte is known.
    fn examine_copy(
        &self,
        reading: &Reading<'_>,
        (home, alone): (u64, &Expected<'_>),
        rules: &TargetRules,
    ) -> BlockFinding {
        let mut finding = examine(reading, &self.expected(home, rules));
        let stamps = self.stamps(home, finding.sectors.len(), rules);
        for (place, (sector, stamp)) in finding.sectors.iter_mut().zip(stamps).enumerate() {
            sector.address = alone.address + (place * SECTOR_BYTES) as u64;
            sector.must = stamp;
        }
        finding.must = MustBe {
            device: alone.device,
            run: if let [only] = alone.runs { Some(*only) } else { None },
            address: alone.address,
            version: alone.version,
        };
        finding
    }

    /// The stamps of a copy's first sectors.
    fn stamps(&self, home: u64, sectors: usize, rules: &TargetRules) -> Vec<Option<SectorStamp>> {
        let mut block = vec![0; sectors * SECTOR_BYTES];
        let writer = BlockWriter::new(rules.compress_ratio);
        writer.fill(&mut block, (home, rules.block_bytes), &self.write(rules), |_| COPY_VERSION);
        block.as_chunks::<SECTOR_BYTES>().0.iter().map(SectorStamp::read).collect()
    }

    /// Names what a copy, or its absence, hides: an earlier write to the block, and data for another place of this target.
    fn refine(&self, finding: &mut BlockFinding, alone: &Expected<'_>, rules: &TargetRules) {
        use DamageClass as Class;
        let Some(class) = self.class_of(finding, alone, rules) else { return };
        finding.class = class;
        for sector in finding.sectors.iter_mut().filter(|sector| sector.fault == Some(SectorFault::Device)) {
            sector.fault = Some(match class {
                Class::StaleRead | Class::LostWrite | Class::TornWrite | Class::TrimmedData => SectorFault::Version,
                Class::OlderRun => SectorFault::Run,
                _ => SectorFault::Address,
            });
        }
    }

    /// `None`: the class is right.
    fn class_of(&self, finding: &BlockFinding, alone: &Expected<'_>, rules: &TargetRules) -> Option<DamageClass> {
        use DamageClass as Class;
        let is_open = matches!(
            finding.class,
            Class::OtherDevice | Class::MisdirectedWrite | Class::MisdirectedRead | Class::SwappedSectors
        );
        let wrong = || finding.sectors.iter().filter(|sector| !sector.is_right);
        let is_of = |is_it: &dyn Fn(&SectorStamp) -> bool| {
            wrong().all(|sector| sector.origin.is_some_and(|origin| is_it(&origin)))
        };
        let is_from_here = is_of(&|origin| origin.device == rules.device || origin.device == self.domain);
        let version = match alone.version {
            _ if !is_open => return None,
            Version::Is(version) => version,
            Version::Zeroes => return is_from_here.then_some(Class::TrimmedData),
            Version::AtLeast(_) | Version::Any => return None,
        };
        let is_earlier = wrong().all(|sector| {
            sector.origin.is_some_and(|origin| self.is_earlier(sector, &origin, (alone, version), rules))
        });
        let is_all = wrong().count() == finding.sectors.len();
        let is_of_run = is_of(&|origin| rules.runs.contains(&origin.run));
        match (is_earlier, finding.is_transient) {
            (true, _) if !is_all => Some(Class::TornWrite),
            (true, true) => Some(Class::StaleRead),
            (true, false) => Some(Class::LostWrite),
            (false, _) if finding.class != Class::OtherDevice || !is_from_here => None,
            (false, _) if !is_of_run => Some(Class::OlderRun),
            (false, true) => Some(Class::MisdirectedRead),
            (false, false) => Some(Class::MisdirectedWrite),
        }
    }

    /// Is this sector of an earlier write to its block, as far as that shows?
    fn is_earlier(
        &self,
        sector: &SectorFinding,
        origin: &SectorStamp,
        (alone, version): (&Expected<'_>, u16),
        rules: &TargetRules,
    ) -> bool {
        let within = sector.address.wrapping_sub(alone.address);
        let before = std::iter::successors(Some(version), |version| Some(BlockState::version_before(*version)));
        let mut homes = before
            .skip(1)
            .take(VERSIONS_BACK)
            .filter_map(|version| self.home(alone.address, rules.block_bytes, version));
        let is_own = origin.device == rules.device && origin.address == sector.address && origin.version != version;
        let is_copy = origin.device == self.domain && homes.any(|home| home.wrapping_add(within) == origin.address);
        (is_own || is_copy) && rules.runs.contains(&origin.run)
    }
}

/// May a block be there of which only its stamps say what it is? Copies, which may be of an earlier execution with other settings, are
/// right anywhere.
pub(crate) fn is_of_any(block: &[u8], alone: &Expected<'_>) -> bool {
    each_is(block, alone, |sector, _| {
        SectorStamp::read(sector).is_some_and(|stamp| stamp.flags.has(StampFlags::COPY)) && is_intact(sector)
    })
}

/// Is each sector right as one that is alone, or by `is_copy`, which gets its address, too?
fn each_is(block: &[u8], alone: &Expected<'_>, is_copy: impl Fn(&[u8; SECTOR_BYTES], u64) -> bool) -> bool {
    let (sectors, rest) = block.as_chunks::<SECTOR_BYTES>();
    let all = sectors.iter().enumerate().all(|(place, sector)| {
        let address = alone.address + (place * SECTOR_BYTES) as u64;
        is_right(sector, &Expected { address, ..*alone }) || is_copy(sector, address)
    });
    all && rest.is_empty()
}
