//! With which instructions of the processor sectors are made and checked.

use crate::crc;
use crate::head::{Head, SECTOR_BYTES, WriteHeads, lay_out};
use crate::lanes::fill_rows;
use crate::wanted::WantedHeads;
#[cfg(target_arch = "x86_64")]
use crate::{avx2, avx512};
use std::sync::LazyLock;

/// With which instructions of the processor sectors are made and checked; all ways come to the same bytes. Only those that this
/// processor has can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What every processor has; the checksum by a library that knows many.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Token),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Token),
}

impl Way {
    /// What every processor has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// The fastest of this processor.
    #[inline]
    #[must_use]
    pub fn best() -> Self {
        static BEST: LazyLock<Way> = LazyLock::new(|| Way::all().pop().unwrap_or(Way::PORTABLE));
        *BEST
    }

    /// All of this processor, the slowest first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let fast = [avx2::Token::new().map(Kind::Avx2), avx512::Token::new().map(Kind::Avx512)];
        #[cfg(not(target_arch = "x86_64"))]
        let fast: [Option<Kind>; 0] = [];
        [Self::PORTABLE].into_iter().chain(fast.into_iter().flatten().map(Self)).collect()
    }

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(_) => "AVX-512",
        }
    }

    /// [`crate::payload::fill`].
    #[inline]
    pub(crate) fn fill(self, bytes: &mut [u8], seed: u64) {
        match self.0 {
            Kind::Portable => fill_rows(bytes, seed),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(token) => token.fill(bytes, seed),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(token) => token.fill(bytes, seed),
        }
    }

    /// The whole sector with this head, its checksum included.
    pub(crate) fn stamp(self, sector: &mut [u8; SECTOR_BYTES], head: &Head) {
        match self.0 {
            Kind::Portable => stamp(sector, head),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(token) => token.stamp(sector, head),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(token) => token.stamp(sector, head),
        }
    }

    /// All sectors of a write.
    pub(crate) fn stamp_all(self, sectors: &mut [[u8; SECTOR_BYTES]], mut heads: WriteHeads<'_>) {
        match self.0 {
            Kind::Portable => sectors.iter_mut().for_each(|sector| stamp(sector, &heads.next())),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(token) => token.stamp_all(sectors, heads),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(token) => token.stamp_all(sectors, heads),
        }
    }

    /// The checksum that a sector should have.
    pub(crate) fn crc(self, sector: &[u8; SECTOR_BYTES]) -> u32 {
        match self.0 {
            Kind::Portable => crc::of_sector(sector),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(token) => token.crc(sector),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(token) => token.crc(sector),
        }
    }

    /// Are all sectors of a block what they should be?
    pub(crate) fn is_right(self, block: &[u8], wanted: &WantedHeads<'_>) -> bool {
        match self.0 {
            Kind::Portable => wanted.hold(block, crc::of_sector),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(token) => token.is_right(block, wanted),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(token) => token.is_right(block, wanted),
        }
    }
}

fn stamp(sector: &mut [u8; SECTOR_BYTES], head: &Head) {
    lay_out(sector, head);
    let crc = crc::of_sector(sector);
    sector[60..64].copy_from_slice(&crc.to_le_bytes());
}

#[cfg(test)]
mod tests;
