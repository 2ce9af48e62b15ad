//! What was found and what had to be there, in words.

use stamp::{BlockFinding, SectorFault, SectorFinding, SectorStamp, StampFlags, Version};
use std::fmt::Write as _;

/// Of at most so many parts of a block it is said what they are.
const PARTS_MAX: usize = 4;
/// At most so many bytes of which bits differ are named.
const BYTES_MAX: usize = 4;

/// Which write a stamp is of: `write 4711 of run 3f0c8a1b5d6e7f01, version 17, written 2026-11-28 12:03:11 UTC`.
#[must_use]
pub fn write_words(stamp: &SectorStamp) -> String {
    if stamp.flags.has(StampFlags::COPY) {
        return format!("one of the equal blocks ({:#x} among those of run {:016x})", stamp.address, stamp.run);
    }
    let written = quantity::text::format_wall(i64::from(stamp.written_s) * 1_000_000_000);
    format!("write {} of run {:016x}, version {}, written {written}", stamp.sequence, stamp.run, stamp.version)
}

/// What had to be there, in one sentence without a full stop.
#[must_use]
pub fn expected_words(finding: &BlockFinding) -> String {
    let must = &finding.must;
    let known = finding.sectors.iter().find_map(|sector| sector.must.filter(|_| !sector.is_right));
    match (known, must.version) {
        (_, Version::Zeroes) => "zeroes: it was trimmed".to_owned(),
        (Some(stamp), _) => write_words(&stamp),
        (None, Version::Is(version)) => format!("version {version} of {:#x}", must.address),
        (None, Version::AtLeast(version)) => format!("version {version} of {:#x}, or a newer one", must.address),
        (None, Version::Any) => format!("any write to {:#x} of this target", must.address),
    }
}

/// What was found, in one sentence without a full stop.
#[must_use]
pub fn found_words(finding: &BlockFinding) -> String {
    let sectors = &finding.sectors;
    let mut text = String::new();
    let (mut from, mut parts) = (0, 0);
    while let Some(first) = sectors.get(from) {
        let of_part = |sector: &&SectorFinding| is_same_part(first, sector);
        let count = sectors.get(from..).unwrap_or(&[]).iter().take_while(of_part).count().max(1);
        if parts == PARTS_MAX {
            // Writing to a String cannot fail.
            let _ = write!(text, "; and more behind it");
            break;
        }
        if parts > 0 {
            text.push_str("; ");
        }
        match count {
            count if count == sectors.len() => {}
            1 => {
                let _ = write!(text, "sector {from}: ");
            }
            count => {
                let _ = write!(text, "sectors {from}–{}: ", from + count - 1);
            }
        }
        text.push_str(&part_words(first, finding.shift));
        parts += 1;
        from += count;
    }
    if sectors.is_empty() {
        text.push_str("less than a sector");
    }
    match (finding.is_transient, finding.is_of_again) {
        (true, _) => text.push_str("; right when it was read again"),
        (false, true) => text.push_str("; and otherwise wrong when it was first read"),
        (false, false) => {}
    }
    text
}

/// May both be told of in one breath?
fn is_same_part(one: &SectorFinding, other: &SectorFinding) -> bool {
    let write = |sector: &SectorFinding| {
        let moved = |stamp: SectorStamp| stamp.address.wrapping_sub(sector.address);
        sector.origin.map(|stamp| (stamp.run, stamp.device, stamp.sequence, stamp.version, moved(stamp)))
    };
    one.fault == other.fault && one.bits.is_empty() && other.bits.is_empty() && write(one) == write(other)
}

fn part_words(sector: &SectorFinding, shift: Option<i64>) -> String {
    let write = sector.origin.as_ref().map(write_words).unwrap_or_default();
    let is_copy = sector.origin.is_some_and(|stamp| stamp.flags.has(StampFlags::COPY));
    let origin_address = sector.origin.map_or(0, |stamp| stamp.address);
    let mut text = match sector.fault {
        None if sector.is_zero => "zeroes, as they must be".to_owned(),
        None => format!("right, {write}"),
        Some(SectorFault::Unread) => "not read".to_owned(),
        Some(SectorFault::Zeroes) => "zeroes".to_owned(),
        Some(SectorFault::Bits) if sector.origin.is_none() => "zeroes".to_owned(),
        Some(SectorFault::Bits | SectorFault::Version) => write,
        Some(SectorFault::Address | SectorFault::Device) if is_copy => write,
        Some(SectorFault::Run) if origin_address == sector.address => format!("another execution's data: {write}"),
        Some(SectorFault::Run) => format!("another execution's data for {origin_address:#x}: {write}"),
        Some(SectorFault::Cut) => format!("only a part of it is of {write}"),
        Some(SectorFault::Device) => {
            let device = sector.origin.map_or(0, |stamp| stamp.device);
            format!("data of the target {device:016x} for {origin_address:#x}: {write}")
        }
        Some(SectorFault::Address) => format!("data for {origin_address:#x}: {write}"),
        Some(SectorFault::Shifted) => {
            format!("data for {origin_address:#x}, {} bytes from where they belong: {write}", shift.unwrap_or(0))
        }
        Some(SectorFault::Corrupt) if sector.origin.is_some() => {
            format!("{write}, of which {} bits differ", sector.bit_count)
        }
        Some(SectorFault::Corrupt) => "a stamp of iodyno, and nothing that follows from it".to_owned(),
        Some(SectorFault::Foreign) => "nothing that iodyno has stamped".to_owned(),
    };
    let names_bits = !matches!(sector.fault, Some(SectorFault::Corrupt | SectorFault::Cut) | None);
    if names_bits && !sector.bits.is_empty() {
        text.push_str("; ");
        text.push_str(&bits_words(sector));
    }
    text
}

/// `bits 3 and 9 …`: the bits that differ, byte by byte.
fn bits_words(sector: &SectorFinding) -> String {
    let mut text = String::new();
    let mut bytes = 0;
    let mut rest = sector.bits.as_slice();
    while let Some(first) = rest.first() {
        let byte = first / 8;
        let count = rest.iter().take_while(|bit| **bit / 8 == byte).count().max(1);
        let (of_byte, behind) = rest.split_at(count.min(rest.len()));
        if bytes == BYTES_MAX {
            let named = sector.bits.len() - rest.len();
            let _ = write!(text, " and {} more bits", (sector.bit_count as usize).saturating_sub(named));
            break;
        }
        let bits: Vec<String> = of_byte.iter().map(|bit| (bit % 8).to_string()).collect();
        let gap = if bytes > 0 { ", " } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        let at = sector.address.wrapping_add(u64::from(byte));
        let _ = write!(text, "{gap}bit{plural} {} of the byte at {at:#x}", bits.join(","));
        (bytes, rest) = (bytes + 1, behind);
    }
    text.push_str(if sector.bit_count == 1 { " differs" } else { " differ" });
    text
}
