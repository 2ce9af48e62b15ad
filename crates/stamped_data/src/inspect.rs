//! `iodyno inspect`: one place of a target, field by field.

use super::error::StampedDataError;
use super::identity::{IdentitySource, SampledStamps, TargetIdentity};
use super::reader::{AlignedBuffer, TargetReader};
use super::verify::{never_written, piece_bytes, unit_of};
use super::verify_text::{stamp_json, when};
use monitor::StopFlag;
use quantity::figures::grouped;
use quantity::text::format_bytes;
use serde_json::{Value, json};
use stamp::{
    BlockFinding, DamageClass, Expected, Reading, SECTOR_BYTES, SectorStamp, StampFlags, Version, examine, is_intact,
};
use std::ops::Range;
use std::path::PathBuf;
use target::TargetAccess;
use validation::{AreaKind, SurveyDamage, SurveyRules, examine_of_file, found_words, look, write_words};

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
    /// How much: all sectors of which a byte is in it; `None`: the sector there.
    pub bytes: Option<u64>,
    /// Bytes of the blocks that were written, where they are known.
    pub block_bytes: Option<u64>,
}

/// What is there.
#[derive(Clone, Debug)]
pub struct InspectedPlace {
    path: PathBuf,
    identity: TargetIdentity,
    holds_files: bool,
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
    /// What it is among its neighbours: only they show that a sector without a stamp had one.
    kind: AreaKind,
    /// The damaged block in which it is.
    block: Option<DamagedBlock>,
}

#[derive(Clone, Copy, Debug)]
struct DamagedBlock {
    address: u64,
    bytes: u64,
    class: DamageClass,
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
    let bytes = request.bytes.unwrap_or(sector - request.address % sector);
    if bytes == 0 || bytes > SHOWN_MAX {
        let message = format!("--bytes {bytes}: at least 1 and at most {SHOWN_MAX} are shown at once");
        return Err(StampedDataError::Parameter(message));
    }
    let unit = unit_of(request.block_bytes)?;
    let first = request.address / sector * sector;
    let end = request.address.saturating_add(bytes).next_multiple_of(sector).min(size);
    let sampled = SampledStamps::of(&reader, &reader.data_ranges(), &StopFlag::default());
    let identity = TargetIdentity::of(&request.path, request.written_as.as_deref(), &sampled.devices);
    let holds_files = sampled.holds_files(reader.is_device(), identity.device);
    let rules = SurveyRules { device: identity.device, unit, holds_files };
    let window = first.saturating_sub(sector)..end.saturating_add(sector).min(size);
    let signature = reader.opened.signature().filter(|(_, at)| (first..end).contains(at));
    Ok(InspectedPlace {
        path: request.path.clone(),
        identity,
        holds_files,
        size,
        sectors: judged(&reader, &rules, window),
        asked: first..end,
        signature,
    })
}

/// The sectors of a part of a target, as `verify` judges them: in the same pieces.
fn judged(reader: &TargetReader, rules: &SurveyRules, window: Range<u64>) -> Vec<InspectedSector> {
    let piece = piece_bytes(rules.unit.bytes());
    let mut buffer = AlignedBuffer::new(usize::try_from(piece).unwrap_or(usize::MAX));
    let mut sectors = Vec::new();
    let mut start = window.start / piece * piece;
    while start < window.end {
        let end = start.saturating_add(piece).min(reader.size());
        let length = usize::try_from(end - start).unwrap_or(usize::MAX).min(buffer.bytes().len());
        let unread = reader.read(buffer.bytes(), start, length);
        let bytes = &buffer.bytes()[..length];
        let survey = look(bytes, start, &unread, rules);
        let mut areas = survey.areas.iter().peekable();
        for (bytes, address) in bytes.chunks(SECTOR_BYTES).zip((start..).step_by(SECTOR_BYTES)) {
            while areas.next_if(|area| area.address + area.bytes <= address).is_some() {}
            if address + SECTOR_BYTES as u64 <= window.start || address >= window.end {
                continue;
            }
            let kind = areas.peek().map_or(AreaKind::Unreadable, |area| area.kind);
            let is_in = |damage: &&SurveyDamage| (damage.address..damage.address + damage.bytes).contains(&address);
            let block = survey.damages.iter().find(is_in).filter(|_| kind == AreaKind::Damaged);
            sectors.push(InspectedSector {
                address,
                bytes: (kind != AreaKind::Unreadable).then(|| bytes.to_vec()),
                kind,
                block: block.map(|one| DamagedBlock { address: one.address, bytes: one.bytes, class: one.class }),
            });
        }
        start = end;
    }
    sectors
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
        match (sector.kind, stamp) {
            (AreaKind::Zeroes | AreaKind::Hole, _) => SectorNature::Zeroes,
            (AreaKind::Unstamped, _) => SectorNature::Plain,
            (AreaKind::OfFiles, Some(stamp)) => SectorNature::OfFile(stamp),
            (AreaKind::Damaged, stamp) => SectorNature::Damaged(stamp, Box::new(self.examined(whole, sector, stamp))),
            (_, Some(stamp)) => SectorNature::Right(stamp),
            (_, None) => SectorNature::Foreign,
        }
    }

    /// What is wrong with a damaged sector, as far as it says so itself.
    fn examined(
        &self,
        bytes: &[u8; SECTOR_BYTES],
        sector: &InspectedSector,
        stamp: Option<SectorStamp>,
    ) -> BlockFinding {
        if let Some(stamp) = stamp.filter(|stamp| self.holds_files && stamp.flags.has(StampFlags::FILE)) {
            return examine_of_file(bytes, &stamp);
        }
        let device = self.identity.device.or(stamp.map(|stamp| stamp.device)).unwrap_or(0);
        let expected = Expected { device, runs: &[], address: sector.address, version: Version::Any };
        examine(&Reading { first: bytes, again: None }, &expected)
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
        let is_of_file = |sector: &InspectedSector| matches!(self.nature(sector), SectorNature::OfFile(_));
        let name = match self.identity.source {
            IdentitySource::Unknown if self.sectors.iter().any(is_of_file) => "data of files".to_string(),
            _ => format!("written as {}", self.identity.words()),
        };
        let mut lines = vec![format!("{}, {name}", self.path.display())];
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
            SectorNature::Damaged(_, finding) => self.damaged_line(sector, &finding),
            SectorNature::OfFile(stamp) => format!("data of a file, {}", write_words(&stamp)),
            SectorNature::Plain => "written by iodyno, without a stamp".to_string(),
            SectorNature::Zeroes => "zeroes".to_string(),
            SectorNature::Foreign => format!("nothing that iodyno wrote{}", self.signed(sector)),
        }
    }

    fn damaged_line(&self, sector: &InspectedSector, finding: &BlockFinding) -> String {
        let class = sector_class(sector, finding);
        let of_file = if self.holds_files && is_of_file(finding) {
            format!("in a file, there at {:#x}: ", finding.must.address)
        } else {
            String::new()
        };
        let line = format!("{}: {of_file}{}{}", class.name(), found_words(finding), self.signed(sector));
        match sector.block.filter(|block| block.bytes > SECTOR_BYTES as u64) {
            None => line,
            Some(DamagedBlock { address, bytes, class: whole }) => {
                let what = if whole == class { String::new() } else { format!(": {}", whole.name()) };
                format!("{line}; its block, {} from {address:#x} on, is damaged{what}", format_bytes(bytes))
            }
        }
    }

    /// What is known by its signature in a sector.
    fn signed(&self, sector: &InspectedSector) -> String {
        let here = self.signature.as_ref().filter(|(_, at)| at / 512 == sector.address / 512);
        here.map_or_else(String::new, |(what, at)| format!(": {what} at {at:#x}"))
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
        let is_of_file = self.holds_files && stamp.flags.has(StampFlags::FILE) && !is_device;
        let (device, place) = match (is_of_file, is_device, stamp.address == sector.address) {
            (true, ..) => ("a file's", "in the file"),
            (_, true, true) => ("this target's", "here"),
            (_, true, false) => ("this target's", "NOT HERE"),
            (_, false, true) => ("ANOTHER TARGET'S", "here"),
            (_, false, false) => ("ANOTHER TARGET'S", "NOT HERE"),
        };
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
                "address": sector.address, "what": what, "bits": bits,
                "class": class.map(|finding| sector_class(sector, &finding).name()),
                "block": sector.block.map(|block| json!({
                    "address": block.address, "bytes": block.bytes, "class": block.class.name(),
                })),
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

/// What is wrong with a sector; where that does not show in itself, what is wrong with its block.
fn sector_class(sector: &InspectedSector, finding: &BlockFinding) -> DamageClass {
    let is_right = finding.sectors.iter().all(|sector| sector.is_right);
    sector.block.filter(|_| is_right).map_or(finding.class, |block| block.class)
}

fn is_of_file(finding: &BlockFinding) -> bool {
    let mut stamps = finding.sectors.iter().filter_map(|sector| sector.origin.or(sector.stamp));
    stamps.any(|stamp| stamp.flags.has(StampFlags::FILE))
}

fn flag_words(flags: StampFlags) -> String {
    let all = [
        (StampFlags::COPY, "one of a set of equal blocks"),
        (StampFlags::FILE, "in a file"),
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
