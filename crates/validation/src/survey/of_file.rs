//! Sectors of files on the device below their file system: which file's, and where in it, only the file system knows.

use stamp::{BlockFinding, Expected, Reading, SECTOR_BYTES, SectorStamp, Version, examine, is_intact};

/// Is it what its stamp says? Where a file ends in the midst of a sector, its file system has cleared the rest.
pub(super) fn is_whole(sector: &[u8; SECTOR_BYTES], stamp: &SectorStamp) -> bool {
    is_intact(sector) || is_end(sector, stamp)
}

/// Is it as it was written up to some byte, and zeroes from there on? A single bit that is gone ends no file.
fn is_end(sector: &[u8; SECTOR_BYTES], stamp: &SectorStamp) -> bool {
    let mut was = [0; SECTOR_BYTES];
    stamp.write(&mut was);
    let end = sector.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let cleared: u32 = was[end..].iter().map(|byte| byte.count_ones()).sum();
    sector[..end] == was[..end] && cleared > 1
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
