//! Bytes of a damaged block, beside what must be there.

use crate::damage::{BlockFinding, MustBe};
use crate::diagnosis::{SectorFault, SectorFinding};
use crate::expected::Version;
use crate::sector::{SECTOR_BYTES, SECTOR_MAGIC, STAMP_MARK};
use std::fmt::Write as _;

/// A view has at most so many lines.
pub const VIEW_LINES: usize = 16;
/// Of what is shown, the last line may say what is not.
const ROWS_MAX: usize = (VIEW_LINES - 1) / 2;
const ROW_BYTES: usize = 16;

/// The first rows of 16 bytes that differ from what must be there, each with its address and, below, those bytes that must be others.
/// Where nothing is known of what must be there, the rows as they are. Plain text of at most [`VIEW_LINES`] lines; `block` is what the
/// finding is about.
#[must_use]
pub fn hex_view(block: &[u8], finding: &BlockFinding) -> String {
    let (bytes, _) = block.as_chunks::<SECTOR_BYTES>();
    let mut text = String::new();
    let (mut rows, mut more) = (0, 0_u64);
    for (sector, bytes) in finding.sectors.iter().zip(bytes).filter(|(sector, _)| !sector.is_right) {
        let must = must_bytes(sector, &finding.must);
        let (found, _) = bytes.as_chunks::<ROW_BYTES>();
        let (wanted, _) = must.as_chunks::<ROW_BYTES>();
        for (row, (found, must)) in found.iter().zip(wanted).enumerate() {
            let at = sector.address.wrapping_add((row * ROW_BYTES) as u64);
            let differs = found.iter().zip(must).any(|(is, must)| must.is_some_and(|must| must != *is));
            if !differs {
                continue;
            }
            if rows == ROWS_MAX {
                more += 1;
                continue;
            }
            rows += 1;
            write_row(&mut text, at, found, must);
        }
    }
    if more > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "… and {more} more row{} of 16 bytes", if more == 1 { "" } else { "s" });
    }
    text
}

/// What must be in a sector, byte by byte, as far as it is known.
fn must_bytes(sector: &SectorFinding, must: &MustBe) -> [Option<u8>; SECTOR_BYTES] {
    let mut known = [None; SECTOR_BYTES];
    if must.version == Version::Zeroes {
        return [Some(0); SECTOR_BYTES];
    }
    if let Some(stamp) = sector.must {
        let mut was = [0; SECTOR_BYTES];
        stamp.write(&mut was);
        return was.map(Some);
    }
    let mut set = |at: usize, bytes: &[u8]| {
        for (known, byte) in known.iter_mut().skip(at).zip(bytes) {
            *known = Some(*byte);
        }
    };
    set(0, &SECTOR_MAGIC);
    set(8, &STAMP_MARK);
    if let Version::Is(version) = must.version {
        set(14, &version.to_le_bytes());
    }
    if let Some(run) = must.run {
        set(16, &run.to_le_bytes());
    }
    set(24, &must.device.to_le_bytes());
    set(32, &sector.address.to_le_bytes());
    if let (Some(SectorFault::Cut | SectorFault::Corrupt), Some(origin)) = (sector.fault, sector.origin) {
        let mut was = [0; SECTOR_BYTES];
        origin.write(&mut was);
        set(64, &was[64..]);
    }
    known
}

fn write_row(text: &mut String, address: u64, found: &[u8; ROW_BYTES], must: &[Option<u8>; ROW_BYTES]) {
    let mut bytes = String::new();
    let mut below = String::new();
    for (at, (is, must)) in found.iter().zip(must).enumerate() {
        let gap = if at == ROW_BYTES / 2 { "  " } else { " " };
        let _ = write!(bytes, "{gap}{is:02x}");
        match must {
            Some(must) if must != is => {
                let _ = write!(below, "{gap}{must:02x}");
            }
            _ => {
                let _ = write!(below, "{gap}  ");
            }
        }
    }
    let letter = |byte: &u8| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' };
    let letters: String = found.iter().map(letter).collect();
    let _ = writeln!(text, "{address:#014x} {bytes}  {letters}");
    let _ = writeln!(text, "{:>14} {}", "must be", below.trim_end());
}
