//! What a sector was before it was damaged: the write that differs from it least.

use crate::expected::{Expected, Version};
use crate::sector::{HEAD_BYTES, SECTOR_BYTES, SECTOR_MAGIC, STAMP_MARK, SectorStamp};
use crate::syndrome;

/// More bits than this are not named one by one.
pub(crate) const BITS_MAX: u32 = 64;
/// The head and so many bytes behind it are right by no chance.
const PROOF_BYTES: usize = HEAD_BYTES + 16;
/// So many words of eight bytes are alike by no chance.
const PROOF_WORDS: usize = 4;

/// How a sector differs from a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Likeness {
    /// The write.
    pub(crate) stamp: SectorStamp,
    /// Bits that differ.
    pub(crate) bits: u32,
    /// One part of the sector is the write and all the rest is not.
    pub(crate) is_cut: bool,
    /// Bytes that are alike, and by no chance.
    pub(crate) is_like: bool,
}

/// A sector whose checksum is wrong, with all that may help.
pub(crate) struct Damaged<'a> {
    pub(crate) sector: &'a [u8; SECTOR_BYTES],
    /// Where it is.
    pub(crate) address: u64,
    pub(crate) expected: &'a Expected<'a>,
    /// What other sectors of the block say of this one.
    pub(crate) neighbours: &'a [SectorStamp],
}

impl Damaged<'_> {
    /// The write that it is most like; `None`: it is like none.
    pub(crate) fn explain(&self) -> Option<Likeness> {
        if let Some(stamp) = syndrome::without_one(self.sector) {
            return Some(self.likeness(&stamp));
        }
        if self.neighbours.is_empty() && !self.has_head() {
            return None;
        }
        let all: Vec<Likeness> = self.candidates().iter().map(|stamp| self.likeness(stamp)).collect();
        let best = all.iter().min_by_key(|likeness| likeness.bits);
        // What is alike to the checksum is proved.
        let is_proved = |best: &&Likeness| best.bits <= BITS_MAX && self.has_checksum_of(&best.stamp);
        if best.filter(is_proved).is_none()
            && self.may_lack_two()
            && let Some(stamp) = syndrome::without_two(self.sector)
        {
            return Some(self.likeness(&stamp));
        }
        if let Some(best) = best.filter(|best| best.bits <= BITS_MAX) {
            return Some(*best);
        }
        let like = all.iter().filter(|likeness| likeness.is_like);
        like.min_by_key(|likeness| (!likeness.is_cut, likeness.bits)).copied()
    }

    /// Writes that it may have been, the likeliest first.
    fn candidates(&self) -> Vec<SectorStamp> {
        let lenient = self.lenient();
        let mut all = vec![lenient];
        let mut add = |stamp: SectorStamp| {
            if !all.contains(&stamp) {
                all.push(stamp);
            }
        };
        let (address, device) = (self.address, self.expected.device);
        let version = if let Version::Is(version) = self.expected.version { version } else { lenient.version };
        add(SectorStamp { address, ..lenient });
        add(SectorStamp { device, ..lenient });
        add(SectorStamp { version, ..lenient });
        // The executions that may have written it are few; the first is this one.
        for run in self.expected.runs.iter().take(4).copied() {
            add(SectorStamp { run, ..lenient });
            add(SectorStamp { run, device, address, version, ..lenient });
        }
        add(SectorStamp { device, address, version, ..lenient });
        for neighbour in self.neighbours {
            add(SectorStamp { kept_words: lenient.kept_words, ..*neighbour });
            add(*neighbour);
        }
        let kept_words = self.own_words();
        let known = all.clone();
        let by_length = known.iter().map(|stamp| SectorStamp { kept_words, ..*stamp });
        // A write of which the end is missing looks like a shorter one, but for its checksum.
        all.extend(by_length.filter(|stamp| !known.contains(stamp) && self.has_checksum_of(stamp)));
        all
    }

    /// Is its mark there, but for two bits at most? Then it is worth the search.
    fn may_lack_two(&self) -> bool {
        self.mark_bits() <= 2
    }

    /// Bits of the mark that are not there; of chance, 48.
    fn mark_bits(&self) -> u32 {
        let mark = SECTOR_MAGIC.iter().chain(&STAMP_MARK);
        self.sector.iter().zip(mark).map(|(is, must)| (is ^ must).count_ones()).sum()
    }

    /// Is there anything of the head that it must have? Without it, nothing says which write to look for.
    fn has_head(&self) -> bool {
        let (device, address) = (self.expected.device.to_le_bytes(), self.address.to_le_bytes());
        self.mark_bits() < 24 || self.sector[24..32] == device || self.sector[32..40] == address
    }

    fn has_checksum_of(&self, stamp: &SectorStamp) -> bool {
        let mut was = [0; SECTOR_BYTES];
        stamp.write(&mut was);
        self.sector[60..64] == was[60..64]
    }

    /// Its head, whatever it says, with what no write has put right.
    fn lenient(&self) -> SectorStamp {
        let mut bytes = *self.sector;
        bytes[..8].copy_from_slice(&SECTOR_MAGIC);
        bytes[8..12].copy_from_slice(&STAMP_MARK);
        let of = |bytes: &[u8; SECTOR_BYTES]| SectorStamp::read(bytes);
        if of(&bytes).is_none() {
            let kept = bytes[13];
            bytes[13] = self.own_words();
            if of(&bytes).is_none() {
                bytes[13] = kept;
                bytes[52..56].fill(0);
            }
            if of(&bytes).is_none() {
                bytes[13] = self.own_words();
            }
        }
        of(&bytes).unwrap_or_else(|| unreadable(self.address, self.expected))
    }

    /// Words behind the head up to the last that is not zero.
    fn own_words(&self) -> u8 {
        let (words, _) = self.sector[HEAD_BYTES..].as_chunks::<8>();
        let kept = words.iter().rposition(|word| *word != [0; 8]).map_or(0, |last| last + 1);
        u8::try_from(kept).unwrap_or(0)
    }

    /// Compares it with what a write was.
    fn likeness(&self, stamp: &SectorStamp) -> Likeness {
        let mut was = [0; SECTOR_BYTES];
        stamp.write(&mut was);
        let (is, _) = self.sector.as_chunks::<8>();
        let (was_words, _) = was.as_chunks::<8>();
        let differing =
            |(is, was): (&[u8; 8], &[u8; 8])| (u64::from_le_bytes(*is) ^ u64::from_le_bytes(*was)).count_ones();
        let bits = is.iter().zip(was_words).map(differing).sum();
        let payload = HEAD_BYTES / 8;
        let same = |(is, was): &(&[u8; 8], &[u8; 8])| is == was && **was != [0; 8];
        let alike = is.iter().zip(was_words).skip(payload).filter(same).count();
        if alike == 0 {
            return Likeness { stamp: *stamp, bits, is_cut: false, is_like: false };
        }
        let first = self.sector.iter().zip(&was).position(|(is, was)| is != was).unwrap_or(SECTOR_BYTES);
        let last = self.sector.iter().zip(&was).rposition(|(is, was)| is != was).unwrap_or(0);
        // Words of which not one is alike; zeroes are alike in all writes that compress.
        let differ = |from: usize, to: usize| {
            let (is, was) = (is.get(from..to).unwrap_or(&[]), was_words.get(from..to).unwrap_or(&[]));
            !is.iter().zip(was).any(|pair| same(&pair))
        };
        let begins = first >= PROOF_BYTES && differ(first.div_ceil(8), is.len());
        let ends = last < SECTOR_BYTES - 1
            && alike >= PROOF_WORDS
            && differ(payload, last / 8)
            && SectorStamp::read(self.sector).is_some_and(|own| own.address == self.address && !own.is_of(stamp));
        Likeness { stamp: *stamp, bits, is_cut: begins || ends, is_like: begins || alike >= PROOF_WORDS }
    }
}

impl SectorStamp {
    /// Is it of the same write as the other?
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        let key = |stamp: &Self| (stamp.device, stamp.run, stamp.sequence, stamp.version);
        key(self) == key(other)
    }

    /// The stamp of the sector so many sectors behind it in the same block.
    pub(crate) fn moved(&self, sectors: i64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "places wrap, too")]
        let place = self.place.wrapping_add_signed(sectors as i16);
        let bytes = sectors.wrapping_mul((SECTOR_BYTES as u64).cast_signed());
        Self { address: self.address.wrapping_add_signed(bytes), place, ..*self }
    }
}

/// A head of which nothing could be read.
fn unreadable(address: u64, expected: &Expected<'_>) -> SectorStamp {
    SectorStamp {
        flags: crate::StampFlags::default(),
        kept_words: 0,
        version: 0,
        run: expected.runs.first().copied().unwrap_or(0),
        device: expected.device,
        address,
        sequence: 0,
        writer: 0,
        epoch: 0,
        place: 0,
        write_sectors: 1,
        written_s: 0,
    }
}
