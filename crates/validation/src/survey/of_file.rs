//! Sectors of files on the device below their file system: which file's, and where in it, only the file system knows.

use super::pieces::{Sight, SurveyDamage};
use crate::words::found_words;
use stamp::{BlockFinding, Expected, Reading, SECTOR_BYTES, SectorStamp, Version, examine, is_intact};

/// Is it what its stamp says? Where a file ends in the midst of a sector, its file system has cleared the rest.
pub(super) fn sight(sector: &[u8; SECTOR_BYTES], stamp: &SectorStamp) -> Sight {
    if is_intact(sector) || is_end(sector, stamp) { Sight::OfFiles } else { Sight::WrongOfFile }
}

/// Is it as it was written up to some byte, and zeroes from there on? A single bit that is gone ends no file.
fn is_end(sector: &[u8; SECTOR_BYTES], stamp: &SectorStamp) -> bool {
    let mut was = [0; SECTOR_BYTES];
    stamp.write(&mut was);
    let end = sector.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let cleared: u32 = was[end..].iter().map(|byte| byte.count_ones()).sum();
    sector[..end] == was[..end] && cleared > 1
}

/// What is wrong with sectors of a file that are side by side on the device; `stamp`: what the first one says of itself.
pub(super) fn damage(sectors: &[[u8; SECTOR_BYTES]], address: u64, stamp: &SectorStamp) -> Option<SurveyDamage> {
    let finding = examine_of_file(sectors.first()?, stamp);
    let mut first_wrong = finding.sectors.first()?.clone();
    first_wrong.address = address;
    Some(SurveyDamage {
        address,
        bytes: (sectors.len() * SECTOR_BYTES) as u64,
        class: finding.class,
        wrong_sectors: sectors.len() as u64,
        first_wrong,
        found: format!("in a file, there at {:#x}: {}", finding.must.address, found_words(&finding)),
    })
}

/// What is wrong with a sector of a file, which belongs where its stamp says, or said before it was damaged.
#[must_use]
pub fn examine_of_file(sector: &[u8; SECTOR_BYTES], stamp: &SectorStamp) -> BlockFinding {
    let of = |stamp: &SectorStamp| {
        let (device, address) = (stamp.device, stamp.address);
        let expected = Expected { device, runs: &[], address, version: Version::Any };
        examine(&Reading { first: sector, again: None }, &expected)
    };
    let finding = of(stamp);
    let origin = finding.sectors.first().and_then(|sector| sector.origin);
    match origin.filter(|origin| (origin.device, origin.address) != (stamp.device, stamp.address)) {
        Some(origin) => of(&origin),
        None => finding,
    }
}
