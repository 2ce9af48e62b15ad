//! Damage on purpose: what a right block becomes.

use crate::states::BlockState;
use stamp::{DamageClass, HEAD_BYTES, SECTOR_BYTES, SectorStamp, payload};

/// What data at rest can be made to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedDamage {
    /// So many bits of one sector flip.
    BitRot(u32),
    /// Every other word of eight bytes of one sector is others.
    Corrupt,
    /// The second half of the block is an earlier write.
    TornWrite,
    /// All of the block is an earlier write.
    LostWrite,
    /// The block holds what belongs to another one, which has lost it.
    MisdirectedWrite,
    /// The block holds what belongs to another one, which has it too.
    DuplicatedWrite,
    /// Two sectors change places.
    SwappedSectors,
    /// The block was written to another device.
    OtherDevice,
    /// The block was written by an earlier run.
    OlderRun,
    /// Random bytes.
    Foreign,
    /// Zeroes.
    Zeroes,
}

/// Random choices that follow from a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectionChance(u64);

impl InjectionChance {
    /// Of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(payload::scatter(seed ^ 0x6461_6d61_6765))
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        payload::scatter(self.0)
    }

    /// A number below `end`; 0 where that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        let scaled = (u128::from(self.next_number()) * u128::from(end)) >> 64;
        u64::try_from(scaled).unwrap_or(0)
    }

    /// An index below `end`.
    fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).unwrap_or(0)
    }
}

impl InjectedDamage {
    /// By what name a check finds it, where it knows enough.
    #[must_use]
    pub fn class(self) -> DamageClass {
        match self {
            Self::BitRot(_) => DamageClass::BitRot,
            Self::Corrupt => DamageClass::Corrupt,
            Self::TornWrite => DamageClass::TornWrite,
            Self::LostWrite => DamageClass::LostWrite,
            Self::MisdirectedWrite => DamageClass::MisdirectedWrite,
            Self::DuplicatedWrite => DamageClass::DuplicatedWrite,
            Self::SwappedSectors => DamageClass::SwappedSectors,
            Self::OtherDevice => DamageClass::OtherDevice,
            Self::OlderRun => DamageClass::OlderRun,
            Self::Foreign => DamageClass::Foreign,
            Self::Zeroes => DamageClass::Zeroes,
        }
    }

    /// Does it need two sectors at least?
    #[must_use]
    pub fn needs_sectors(self) -> bool {
        matches!(self, Self::TornWrite | Self::SwappedSectors)
    }

    /// Does it need another block, whose data come here?
    #[must_use]
    pub fn needs_another(self) -> bool {
        matches!(self, Self::MisdirectedWrite | Self::DuplicatedWrite)
    }
}

/// What a block of whole, stamped sectors becomes; `other` is the block whose data come here.
#[must_use]
pub fn damaged(kind: InjectedDamage, block: &[u8], other: &[u8], chance: &mut InjectionChance) -> Vec<u8> {
    let mut after = block.to_vec();
    let (sectors, _) = after.as_chunks_mut::<SECTOR_BYTES>();
    let count = sectors.len();
    match kind {
        InjectedDamage::BitRot(bits) => {
            let at = chance.index(count);
            if let Some(sector) = sectors.get_mut(at) {
                flip(sector, bits, chance);
            }
        }
        InjectedDamage::Corrupt => {
            let at = chance.index(count);
            if let Some(sector) = sectors.get_mut(at) {
                let (words, _) = sector.as_chunks_mut::<8>();
                for word in words.iter_mut().skip(HEAD_BYTES / 8 + 1).step_by(2) {
                    *word = chance.next_number().to_le_bytes();
                }
            }
        }
        InjectedDamage::TornWrite => anew(&mut sectors[count / 2..], |stamp, _| earlier(stamp)),
        InjectedDamage::LostWrite => {
            anew(sectors, |stamp, at| {
                earlier(stamp);
                // The write before need not have been as long: it was of this block alone.
                stamp.place = u16::try_from(at).unwrap_or(0);
                stamp.write_sectors = u32::try_from(count).unwrap_or(1);
            });
        }
        InjectedDamage::MisdirectedWrite | InjectedDamage::DuplicatedWrite => {
            for (to, from) in after.iter_mut().zip(other) {
                *to = *from;
            }
        }
        InjectedDamage::SwappedSectors => {
            let first = chance.index(count);
            let second = (first + 1 + chance.index(count.saturating_sub(1))) % count.max(1);
            if first < count && second < count {
                sectors.swap(first, second);
            }
        }
        InjectedDamage::OtherDevice => {
            let from = chance.next_number();
            anew(sectors, |stamp, _| stamp.device ^= from | 1);
        }
        InjectedDamage::OlderRun => {
            let run = chance.next_number();
            anew(sectors, |stamp, _| {
                stamp.run ^= run | 1;
                stamp.written_s = stamp.written_s.saturating_sub(86_400);
            });
        }
        InjectedDamage::Foreign => {
            for sector in sectors {
                payload::fill(sector, chance.next_number());
            }
        }
        InjectedDamage::Zeroes => after.fill(0),
    }
    after
}

/// Flips so many different bits.
fn flip(sector: &mut [u8; SECTOR_BYTES], bits: u32, chance: &mut InjectionChance) {
    let all = SECTOR_BYTES * 8;
    let mut flipped = std::collections::BTreeSet::new();
    let wanted = usize::try_from(bits).unwrap_or(all).clamp(1, all / 2);
    while flipped.len() < wanted {
        flipped.insert(chance.index(all));
    }
    flipped.into_iter().for_each(|bit| sector[bit / 8] ^= 1 << (bit % 8));
}

/// Writes sectors again with other stamps, each with its place.
fn anew(sectors: &mut [[u8; SECTOR_BYTES]], mut change: impl FnMut(&mut SectorStamp, usize)) {
    for (at, sector) in sectors.iter_mut().enumerate() {
        if let Some(mut stamp) = SectorStamp::read(sector) {
            change(&mut stamp, at);
            stamp.write(sector);
        }
    }
}

/// Makes of the stamp of a block that of the write before.
fn earlier(stamp: &mut SectorStamp) {
    stamp.version = BlockState::version_before(stamp.version);
    // The first write of all had none before it: the number of another one then.
    stamp.sequence = stamp.sequence.checked_sub(1).unwrap_or(0xffff_ffff);
    stamp.written_s = stamp.written_s.saturating_sub(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use stamp::{BlockWriter, Expected, StampFlags, Version, WriteStamp, is_right};

    fn block(address: u64, version: u16) -> Vec<u8> {
        let write = WriteStamp {
            flags: StampFlags::default(),
            run: 7,
            device: 9,
            sequence: 3,
            writer: 1,
            epoch: 0,
            written_s: 1_000_000,
        };
        let mut block = vec![0; 4096];
        BlockWriter::new(1.0).fill(&mut block, (address, 4096), &write, |_| version);
        block
    }

    /// Whatever is injected is no longer right, by what can be known of it, and the same seed gives the same.
    #[test]
    fn nothing_injected_is_right() {
        let (here, there) = (block(8192, 5), block(65_536, 5));
        let kinds = [
            InjectedDamage::BitRot(1),
            InjectedDamage::BitRot(9),
            InjectedDamage::Corrupt,
            InjectedDamage::TornWrite,
            InjectedDamage::LostWrite,
            InjectedDamage::MisdirectedWrite,
            InjectedDamage::DuplicatedWrite,
            InjectedDamage::SwappedSectors,
            InjectedDamage::OtherDevice,
            InjectedDamage::OlderRun,
            InjectedDamage::Foreign,
            InjectedDamage::Zeroes,
        ];
        for (kind, seed) in kinds.into_iter().flat_map(|kind| (0..200).map(move |seed| (kind, seed))) {
            let made = damaged(kind, &here, &there, &mut InjectionChance::new(seed));
            let runs = [7];
            let known = Expected { device: 9, runs: &runs, address: 8192, version: Version::Is(5) };
            assert!(made.len() == here.len() && !is_right(&made, &known), "{kind:?}, seed {seed}");
            assert_eq!(made, damaged(kind, &here, &there, &mut InjectionChance::new(seed)));
        }
    }

    #[test]
    fn an_earlier_write_is_right_by_itself() {
        let made = damaged(InjectedDamage::LostWrite, &block(8192, 4), &[], &mut InjectionChance::new(1));
        let any = Expected { device: 9, runs: &[], address: 8192, version: Version::Any };
        assert!(is_right(&made, &any));
    }
}
