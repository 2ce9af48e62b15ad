//! Whose data a target should hold.

use super::reader::{AlignedBuffer, TargetReader};
use monitor::StopFlag;
use stamp::{SECTOR_BYTES, SectorStamp, StampFlags, is_intact};
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
    /// The same; `--as` named another one, under which nothing there was written.
    Misnamed,
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
    /// The name that was asked for, where nothing has it.
    pub misnamed: Option<String>,
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
        let most = devices.iter().max_by_key(|(device, sectors)| (**sectors, std::cmp::Reverse(**device)));
        if let Some(asked) = asked {
            let names = names(asked);
            let count = |name: &&String| devices.get(&device_id(name)).copied().unwrap_or(0);
            // The first of those with as many.
            let best = names.iter().rev().max_by_key(count).cloned();
            // What is called so may be asked whether it has another one's data.
            let is_own = names.iter().any(|name| self::names(path).contains(name));
            match most.filter(|_| !is_own && best.as_ref().is_none_or(|best| count(&best) == 0)) {
                None => {
                    let device = best.as_deref().map(device_id);
                    return Self { device, source: IdentitySource::Asked, name: best, misnamed: None };
                }
                Some(_) => {
                    let known = Self::of(path, None, devices);
                    return Self { source: IdentitySource::Misnamed, misnamed: best, ..known };
                }
            }
        }
        let Some((device, _)) = most else {
            return Self { device: None, source: IdentitySource::Unknown, name: None, misnamed: None };
        };
        let own = names(path).into_iter().find(|name| device_id(name) == *device);
        let source = if own.is_some() { IdentitySource::OwnName } else { IdentitySource::Majority };
        Self { device: Some(*device), source, name: own, misnamed: None }
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
            IdentitySource::Misnamed => format!("{number}, by most of the sectors{}", self.misnamed_words()),
            IdentitySource::Unknown => "none: nothing here has a stamp".to_string(),
        }
    }

    /// What to do about a name that nothing has; empty where all is well.
    #[must_use]
    pub fn misnamed_words(&self) -> String {
        let Some(asked) = &self.misnamed else { return String::new() };
        let what = match &self.name {
            Some(own) => format!("they were written as {own}: leave out --as"),
            None => "they were written under another name: correct --as, or leave it out".to_string(),
        };
        format!("; none was written as {asked} (--as); {what}")
    }

    /// The name in JSON.
    pub(super) fn source_name(&self) -> &'static str {
        match self.source {
            IdentitySource::Asked => "asked",
            IdentitySource::Journal => "journal",
            IdentitySource::OwnName => "own_name",
            IdentitySource::Majority => "majority",
            IdentitySource::Misnamed => "misnamed",
            IdentitySource::Unknown => "unknown",
        }
    }
}

/// What was seen at places all over the parts of a target that hold data.
#[derive(Debug, Default)]
pub(super) struct SampledStamps {
    /// By device, intact sectors that are where their stamps say.
    pub(super) devices: BTreeMap<u64, u64>,
    /// Of those, sectors of files.
    of_files: BTreeMap<u64, u64>,
    /// Intact sectors of files that are somewhere else.
    astray: u64,
}

impl SampledStamps {
    /// Reads them.
    pub(super) fn of(reader: &TargetReader, ranges: &[Range<u64>], stop: &StopFlag) -> Self {
        let mut sampled = Self::default();
        let mut buffer = AlignedBuffer::new(SAMPLE_BYTES);
        let all: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let step = (all / SAMPLES).max(SAMPLE_BYTES as u64);
        let (mut next, mut before) = (0, 0);
        for range in ranges {
            while next < before + (range.end - range.start) && !stop.is_requested() {
                let address = (range.start + next - before) / SAMPLE_BYTES as u64 * SAMPLE_BYTES as u64;
                let length = usize::try_from(range.end - address).unwrap_or(usize::MAX).min(SAMPLE_BYTES);
                if reader.read(buffer.bytes(), address, length).is_empty() {
                    sampled.count(&buffer.bytes()[..length], address);
                }
                next += step;
            }
            before += range.end - range.start;
        }
        sampled
    }

    fn count(&mut self, bytes: &[u8], address: u64) {
        let (sectors, _) = bytes.as_chunks::<SECTOR_BYTES>();
        for (sector, here) in sectors.iter().zip((address..).step_by(SECTOR_BYTES)) {
            let Some(stamp) = SectorStamp::read(sector).filter(|_| is_intact(sector)) else { continue };
            let is_of_file = stamp.flags.has(StampFlags::FILE);
            if stamp.address == here {
                *self.devices.entry(stamp.device).or_default() += 1;
                *self.of_files.entry(stamp.device).or_default() += u64::from(is_of_file);
            } else {
                self.astray += u64::from(is_of_file);
            }
        }
    }

    /// Does a file system decide where sectors of files are? Not in a file, and not on a device that is the copy of one: there they
    /// are where the file had them.
    pub(super) fn holds_files(&self, is_device: bool, device: Option<u64>) -> bool {
        let at_home = device.and_then(|device| self.of_files.get(&device)).copied().unwrap_or(0);
        is_device && at_home <= self.astray
    }
}
