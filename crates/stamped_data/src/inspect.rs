//! `iodyno inspect`: one place of a target, field by field.

use super::error::StampedDataError;
use super::identity::{TargetIdentity, sampled_devices};
use super::reader::{AlignedBuffer, TargetReader};
use super::verify::never_written;
use super::verify_text::{stamp_json, when};
use monitor::StopFlag;
use quantity::figures::grouped;
use serde_json::{Value, json};
use stamp::{
    BlockFinding, Expected, Reading, SECTOR_BYTES, SectorStamp, StampFlags, Version, examine, is_intact, is_right,
};
use std::ops::Range;
use std::path::PathBuf;
use target::TargetAccess;
use validation::{found_words, write_words};

/// At most so many bytes are shown.
const SHOWN_MAX: u64 = 1 << 20;

/// What is to be shown.
#[derive(Clone, Debug)]
pub struct InspectRequest {
    /// Device or file.
    pub path: PathBuf,
    /// Name under which it was written, where it is another one.
    pub written_as: Option<PathBuf>,
    /// Where, bytes.
    pub address: u64,
    /// How much: all sectors of which a byte is in it.
    pub bytes: u64,
}

/// What is there.
#[derive(Clone, Debug)]
pub struct InspectedPlace {
    path: PathBuf,
    identity: TargetIdentity,
    is_device: bool,
    size: u64,
    /// Sectors that were asked for, and one before and one behind.
    sectors: Vec<InspectedSector>,
    asked: Range<u64>,
    /// A file system or the like that is known by what stands in one of the sectors: its name, and where that is.
    signature: Option<(String, u64)>,
}

#[derive(Clone, Debug)]
struct InspectedSector {
    address: u64,
    /// `None`: it could not be read.
    bytes: Option<Vec<u8>>,
}

/// Reads a place of a target; nothing on it is changed.
///
/// # Errors
/// When the target cannot be opened, or has no such place.
pub fn inspect_place(request: &InspectRequest) -> Result<InspectedPlace, StampedDataError> {
    let reader = TargetReader::open(&request.path, TargetAccess::Read, &never_written())?;
    let (size, sector) = (reader.size(), SECTOR_BYTES as u64);
    let place = request.path.display();
    if request.address >= size {
        let message = format!("--at {:#x}: {place} ends at {size:#x} ({size} bytes)", request.address);
        return Err(StampedDataError::Parameter(message));
    }
    if request.bytes == 0 || request.bytes > SHOWN_MAX {
        let message = format!("--bytes {}: at least 1 and at most {SHOWN_MAX} are shown at once", request.bytes);
        return Err(StampedDataError::Parameter(message));
    }
    let first = request.address / sector * sector;
    let end = request.address.saturating_add(request.bytes).next_multiple_of(sector).min(size);
    let devices = sampled_devices(&reader, &reader.data_ranges(), &StopFlag::default());
    let identity = TargetIdentity::of(&request.path, request.written_as.as_deref(), &devices);
    let block = reader.block().max(4096);
    let window = first.saturating_sub(sector) / block * block..end.saturating_add(sector).min(size);
    let length = usize::try_from(window.end - window.start).unwrap_or(usize::MAX);
    let mut buffer = AlignedBuffer::new(length);
    let unread = reader.read(buffer.bytes(), window.start, length);
    let is_unread = |from: u64, to: u64| unread.iter().any(|range| range.start < to && from < range.end);
    let sectors = buffer.bytes()[..length].chunks(SECTOR_BYTES).zip((window.start..).step_by(SECTOR_BYTES));
    let sectors =
        sectors.filter(|(_, address)| address + sector >= first && *address <= end).map(|(bytes, address)| {
            InspectedSector {
                address,
                bytes: (!is_unread(address, address + bytes.len() as u64)).then(|| bytes.to_vec()),
            }
        });
    let signature = reader.opened.signature().filter(|(_, at)| (first..end).contains(at));
    Ok(InspectedPlace {
        path: request.path.clone(),
        identity,
        is_device: reader.is_device(),
        size,
        sectors: sectors.collect(),
        asked: first..end,
        signature,
    })
}

/// What a sector is.
enum SectorNature {
    Unreadable,
    Tail(usize),
    /// Right, as far as it shows.
    Right(SectorStamp),
    Damaged(Option<SectorStamp>, Box<BlockFinding>),
    OfFile(SectorStamp),
    Plain,
    Zeroes,
    Foreign,
}

impl InspectedPlace {
    fn nature(&self, sector: &InspectedSector) -> SectorNature {
        let Some(bytes) = &sector.bytes else { return SectorNature::Unreadable };
        let Some((whole, _)) = bytes.split_first_chunk::<SECTOR_BYTES>() else {
            return SectorNature::Tail(bytes.len());
        };
        let stamp = SectorStamp::read(whole);
        let rules = validation::SurveyRules {
            device: self.identity.device,
            unit: validation::SurveyUnit::Exactly(SECTOR_BYTES as u64),
            is_device: self.is_device,
        };
        let device = self.identity.device.or(stamp.map(|stamp| stamp.device)).unwrap_or(0);
        let expected = Expected { device, runs: &[], address: sector.address, version: Version::Any };
        let piece = validation::look(bytes, sector.address, &[], &rules);
        let kind = piece.areas.first().map(|area| area.kind);
        let is_of_file = kind == Some(validation::AreaKind::OfFiles);
        match kind {
            Some(validation::AreaKind::Zeroes) => SectorNature::Zeroes,
            Some(validation::AreaKind::Unstamped) => SectorNature::Plain,
            Some(validation::AreaKind::Foreign) => SectorNature::Foreign,
            _ => match stamp {
                Some(stamp) if is_of_file => SectorNature::OfFile(stamp),
                Some(stamp) if is_right(bytes, &expected) => SectorNature::Right(stamp),
                stamp => {
                    let finding = examine(&Reading { first: bytes, again: None }, &expected);
                    SectorNature::Damaged(stamp, Box::new(finding))
                }
            },
        }
    }

    /// Sectors that were asked for and are damaged.
    #[must_use]
    pub fn damaged(&self) -> usize {
        let is_damaged = |sector: &&InspectedSector| matches!(self.nature(sector), SectorNature::Damaged(..));
        self.asked_sectors().filter(is_damaged).count()
    }

    /// Could one of those that were asked for not be read?
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.asked_sectors().any(|sector| sector.bytes.is_none())
    }

    fn asked_sectors(&self) -> impl Iterator<Item = &InspectedSector> {
        self.sectors.iter().filter(|sector| self.asked.contains(&sector.address))
    }

    /// What is there, for people; with the bytes.
    #[must_use]
    pub fn lines(&self, hex: bool) -> Vec<String> {
        let mut lines = vec![format!("{}, written as {}", self.path.display(), self.identity.words())];
        for sector in &self.sectors {
            let neighbour = match sector.address {
                address if address < self.asked.start => "before",
                address if address >= self.asked.end => "behind",
                _ => {
                    lines.push(String::new());
                    self.sector_lines(sector, hex, &mut lines);
                    continue;
                }
            };
            if neighbour == "behind" {
                lines.push(String::new());
            }
            lines.push(format!("{neighbour} {:#x}: {}", sector.address, self.one_line(sector)));
        }
        if self.asked.end >= self.size {
            lines.push(format!("behind it {} ends, at {:#x}", self.path.display(), self.size));
        }
        lines
    }

    /// A sector in a few words.
    fn one_line(&self, sector: &InspectedSector) -> String {
        match self.nature(sector) {
            SectorNature::Unreadable => "cannot be read".to_string(),
            SectorNature::Tail(bytes) => format!("{bytes} bytes, less than a sector"),
            SectorNature::Right(stamp) => format!("right, {}", write_words(&stamp)),
            SectorNature::Damaged(_, finding) => format!("{}: {}", finding.class.name(), found_words(&finding)),
            SectorNature::OfFile(stamp) => format!("data of a file, {}", write_words(&stamp)),
            SectorNature::Plain => "written by iodyno, without a stamp".to_string(),
            SectorNature::Zeroes => "zeroes".to_string(),
            SectorNature::Foreign => {
                let named = self.signature.as_ref().filter(|(_, at)| at / 512 == sector.address / 512);
                named.map_or_else(
                    || "nothing that iodyno wrote".to_string(),
                    |(what, at)| format!("nothing that iodyno wrote: {what} at {at:#x}"),
                )
            }
        }
    }

    fn sector_lines(&self, sector: &InspectedSector, hex: bool, lines: &mut Vec<String>) {
        let number = grouped((sector.address / 512) as f64);
        lines.push(format!("{:#x}, sector {number}: {}", sector.address, self.one_line(sector)));
        let nature = self.nature(sector);
        match &nature {
            SectorNature::Right(stamp) | SectorNature::OfFile(stamp) => self.fields(stamp, sector, lines),
            SectorNature::Damaged(Some(stamp), _) => self.fields(stamp, sector, lines),
            _ => {}
        }
        if let (true, Some(bytes)) = (hex, &sector.bytes) {
            let must = match &nature {
                // What it was where that shows, otherwise what its head says.
                SectorNature::Damaged(stamp, finding) => {
                    let first = finding.sectors.first();
                    first.and_then(|first| first.must.or(first.origin)).or(*stamp).as_ref().map(written)
                }
                _ => None,
            };
            lines.extend(hex_lines(sector.address, bytes, must.as_ref().map(|must| &must[..])));
        }
    }

    fn fields(&self, stamp: &SectorStamp, sector: &InspectedSector, lines: &mut Vec<String>) {
        let is_device = self.identity.device == Some(stamp.device);
        let device = if is_device { "this target's" } else { "ANOTHER TARGET'S" };
        let place = if stamp.address == sector.address { "here" } else { "NOT HERE" };
        let start = stamp.address.saturating_sub(u64::from(stamp.place) * 512);
        let end = start.saturating_add(u64::from(stamp.write_sectors) * 512);
        let whole = sector.bytes.as_ref().and_then(|bytes| bytes.first_chunk::<SECTOR_BYTES>());
        let checksum = if whole.is_some_and(is_intact) { "right" } else { "WRONG" };
        let rows = [
            ("run", format!("{:016x}", stamp.run)),
            ("device", format!("{:016x}, {device}", stamp.device)),
            ("address", format!("{:#x} ({} bytes), {place}", stamp.address, grouped(stamp.address as f64))),
            ("write", format!("{} of its run to this target", grouped(stamp.sequence as f64))),
            ("version", format!("{} of its block", stamp.version)),
            (
                "place",
                format!(
                    "sector {} of {} of the write, which went to {start:#x} … {end:#x}",
                    u32::from(stamp.place) + 1,
                    stamp.write_sectors
                ),
            ),
            ("written", when(stamp.written_s)),
            ("writer", stamp.writer.to_string()),
            ("epoch", format!("{}: flushes submitted before", stamp.epoch)),
            ("flags", flag_words(stamp.flags)),
            ("payload", format!("{} of 56 words are not zero", stamp.kept_words)),
            ("checksum", checksum.to_string()),
        ];
        lines.extend(rows.iter().map(|(name, words)| format!("  {name:<9} {words}")));
    }

    /// What is there, for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let sector = |sector: &InspectedSector| {
            let (what, stamp, class) = match self.nature(sector) {
                SectorNature::Unreadable => ("unreadable", None, None),
                SectorNature::Tail(_) => ("tail", None, None),
                SectorNature::Right(stamp) => ("stamped", Some(stamp), None),
                SectorNature::Damaged(stamp, finding) => ("damaged", stamp, Some(finding)),
                SectorNature::OfFile(stamp) => ("of_files", Some(stamp), None),
                SectorNature::Plain => ("unstamped", None, None),
                SectorNature::Zeroes => ("zeroes", None, None),
                SectorNature::Foreign => ("foreign", None, None),
            };
            let bits = class.as_ref().and_then(|finding| finding.sectors.first()).map(|first| first.bits.clone());
            json!({
                "address": sector.address, "what": what, "class": class.map(|finding| finding.class.name()), "bits": bits,
                "stamp": stamp.as_ref().map(stamp_json),
                "asked": self.asked.contains(&sector.address), "words": self.one_line(sector),
            })
        };
        json!({
            "target": self.path.to_string_lossy(), "size_bytes": self.size,
            "device": self.identity.device.map(|device| format!("{device:016x}")),
            "device_from": self.identity.source_name(), "device_name": self.identity.name,
            "sectors": self.sectors.iter().map(sector).collect::<Vec<_>>(),
        })
    }
}

fn flag_words(flags: StampFlags) -> String {
    let all = [
        (StampFlags::COPY, "one of a set of equal blocks"),
        (StampFlags::FILE, "in a file of a tree"),
        (StampFlags::REPLAY, "written by a replay"),
    ];
    let set: Vec<&str> = all.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, words)| *words).collect();
    let unknown = flags.0 & !7;
    match (set.is_empty(), unknown) {
        (true, 0) => "none".to_string(),
        (_, 0) => set.join(", "),
        (_, unknown) => format!("{} unknown {unknown:#x}", set.join(", ")).trim_start().to_string(),
    }
}

/// What a write with this stamp wrote.
fn written(stamp: &SectorStamp) -> [u8; SECTOR_BYTES] {
    let mut sector = [0; SECTOR_BYTES];
    stamp.write(&mut sector);
    sector
}

/// Rows of 16 bytes; below those that differ from `must`, what must be there.
fn hex_lines(address: u64, bytes: &[u8], must: Option<&[u8]>) -> Vec<String> {
    let mut lines = Vec::new();
    for (row, found) in bytes.chunks(16).enumerate() {
        let words = |bytes: &[u8], show: &dyn Fn(usize) -> bool| {
            let cells = bytes.iter().enumerate().map(|(at, byte)| {
                let gap = if at == 8 { " " } else { "" };
                if show(at) { format!("{gap}{byte:02x}") } else { format!("{gap}  ") }
            });
            cells.collect::<Vec<_>>().join(" ")
        };
        let letters: String =
            found.iter().map(|byte| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' }).collect();
        lines.push(format!("  {:#012x}  {}  {letters}", address + row as u64 * 16, words(found, &|_| true)));
        if let Some(wanted) = must.and_then(|must| must.chunks(16).nth(row))
            && wanted != found
        {
            let differs = |at: usize| found.get(at) != wanted.get(at);
            lines.push(format!("  {:>12}  {}", "was written", words(wanted, &differs).trim_end()));
        }
    }
    lines
}
