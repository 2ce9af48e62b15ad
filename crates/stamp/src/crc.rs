//! CRC-32C (Castagnoli) of sectors, on any processor.

use crate::head::SECTOR_BYTES;
use crc_fast::{CrcAlgorithm, checksum};

/// Of a sector, whatever its bytes 60 … 64: they count as zero.
pub(crate) fn of_sector(sector: &[u8; SECTOR_BYTES]) -> u32 {
    let mut bytes = *sector;
    bytes[60..64].fill(0);
    #[expect(clippy::cast_possible_truncation, reason = "a checksum of 32 bits")]
    let crc = checksum(CrcAlgorithm::Crc32Iscsi, &bytes) as u32;
    crc
}
