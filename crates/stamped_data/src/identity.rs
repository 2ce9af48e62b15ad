//! Whose data a target should hold.

use super::reader::{AlignedBuffer, TargetReader};
use monitor::StopFlag;
use stamp::{SECTOR_BYTES, SectorStamp, is_intact};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use validation::device_id;

/// Places at which a target is asked for the name of its data, …
const SAMPLES: u64 = 64;
/// … bytes at each.
const SAMPLE_BYTES: usize = 64 << 10;

/// Where the name of a target's data comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentitySource {
    /// `--as` named it.
    Asked,
    /// A journal knows it.
    Journal,
    /// Most of what is there says so, and it is what this target is called.
    OwnName,
    /// Most of what is there says so, and it was written under another name.
    Majority,
    /// Nothing there says anything.
    Unknown,
}

/// Whose data a target should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetIdentity {
    /// The number in the stamps; `None`: there are none.
    pub device: Option<u64>,
    /// How it is known.
    pub source: IdentitySource,
    /// The name that has this number, where that is known.
    pub name: Option<String>,
}

/// The names by which a target can be known in stamps: of what a path leads to, and as it is typed.
pub(super) fn names(path: &Path) -> Vec<String> {
    let resolved = std::fs::canonicalize(path).ok().map(|path| path.to_string_lossy().into_owned());
    let typed = path.to_string_lossy().into_owned();
    let mut names: Vec<String> = resolved.into_iter().chain([typed]).collect();
    names.dedup();
    names
}

impl TargetIdentity {
    /// By a name that was asked for, or by what most of `devices` (intact sectors by device) is.
    pub(super) fn of(path: &Path, asked: Option<&Path>, devices: &BTreeMap<u64, u64>) -> Self {
        if let Some(asked) = asked {
            let names = names(asked);
            let count = |name: &&String| devices.get(&device_id(name)).copied().unwrap_or(0);
            // The first of those with as many.
            let best = names.iter().rev().max_by_key(count).cloned();
            return Self { device: best.as_deref().map(device_id), source: IdentitySource::Asked, name: best };
        }
        let most = devices.iter().max_by_key(|(device, sectors)| (**sectors, std::cmp::Reverse(**device)));
        let Some((device, _)) = most else {
            return Self { device: None, source: IdentitySource::Unknown, name: None };
        };
        let own = names(path).into_iter().find(|name| device_id(name) == *device);
        let source = if own.is_some() { IdentitySource::OwnName } else { IdentitySource::Majority };
        Self { device: Some(*device), source, name: own }
    }

    /// In words, for a table.
    pub(super) fn words(&self) -> String {
        let number = self.device.map_or_else(|| "?".to_string(), |device| format!("{device:016x}"));
        let name = self.name.as_deref().unwrap_or("?");
        match self.source {
            IdentitySource::Asked => format!("{number}, that of {name} (--as)"),
            IdentitySource::Journal => format!("{number}, which the journal knows as {name}"),
            IdentitySource::OwnName => format!("{number}, that of {name}, by most of the sectors"),
            IdentitySource::Majority => {
                format!(
                    "{number}, by most of the sectors; written under another name than this (check it by --as NAME)"
                )
            }
            IdentitySource::Unknown => "none: nothing here has a stamp".to_string(),
        }
    }

    /// The name in JSON.
    pub(super) fn source_name(&self) -> &'static str {
        match self.source {
            IdentitySource::Asked => "asked",
            IdentitySource::Journal => "journal",
            IdentitySource::OwnName => "own_name",
            IdentitySource::Majority => "majority",
            IdentitySource::Unknown => "unknown",
        }
    }
}

/// Intact sectors by device, at places all over the parts of a target that hold data.
pub(super) fn sampled_devices(reader: &TargetReader, ranges: &[Range<u64>], stop: &StopFlag) -> BTreeMap<u64, u64> {
    let mut devices = BTreeMap::new();
    let mut buffer = AlignedBuffer::new(SAMPLE_BYTES);
    let all: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let step = (all / SAMPLES).max(SAMPLE_BYTES as u64);
    let (mut next, mut before) = (0, 0);
    for range in ranges {
        while next < before + (range.end - range.start) && !stop.is_requested() {
            let address = (range.start + next - before) / SAMPLE_BYTES as u64 * SAMPLE_BYTES as u64;
            let length = usize::try_from(range.end - address).unwrap_or(usize::MAX).min(SAMPLE_BYTES);
            count(reader, &mut buffer, (address, length), &mut devices);
            next += step;
        }
        before += range.end - range.start;
    }
    devices
}

fn count(
    reader: &TargetReader,
    buffer: &mut AlignedBuffer,
    (address, length): (u64, usize),
    devices: &mut BTreeMap<u64, u64>,
) {
    let unread = reader.read(buffer.bytes(), address, length);
    if !unread.is_empty() {
        return;
    }
    let (sectors, _) = buffer.bytes()[..length].as_chunks::<SECTOR_BYTES>();
    for (at, sector) in sectors.iter().enumerate() {
        let here = address + (at * SECTOR_BYTES) as u64;
        if let Some(stamp) = SectorStamp::read(sector)
            && stamp.address == here
            && is_intact(sector)
        {
            *devices.entry(stamp.device).or_default() += 1;
        }
    }
}
