//! All pieces of a target together.

use super::pieces::{AreaKind, PieceSurvey, RunTally, SurveyDamage, TargetArea, push};
use stamp::DamageClass;
use std::collections::BTreeMap;

/// Damaged blocks that are kept; all are counted.
pub const DAMAGES_KEPT: usize = 10_000;
/// Areas that are kept; all are counted.
const AREAS_KEPT: usize = 1000;
/// Runs and devices that are told apart.
const NAMES_KEPT: usize = 10_000;

/// The areas of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AreaSpan {
    /// How many there are.
    pub areas: u64,
    /// Where the first begins, bytes.
    pub start: u64,
    /// Where the last ends, bytes.
    pub end: u64,
}

/// What a target says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetSurvey {
    /// What is where: the first thousand, in order.
    pub areas: Vec<TargetArea>,
    /// How many there are.
    pub area_count: u64,
    /// Bytes of each kind.
    pub bytes: BTreeMap<AreaKind, u64>,
    /// Areas of each kind.
    pub spans: BTreeMap<AreaKind, AreaSpan>,
    /// Damaged blocks: the first ten thousand, in order.
    pub damages: Vec<SurveyDamage>,
    /// Damaged blocks of each class.
    pub counts: BTreeMap<DamageClass, u64>,
    /// By run: what is right.
    pub runs: BTreeMap<u64, RunTally>,
    /// Sectors of further runs, whose names are too many.
    pub sectors_of_others: u64,
    /// By device: intact sectors.
    pub devices: BTreeMap<u64, u64>,
    /// Sectors that are right, of sets of equal blocks: where each belongs is not known.
    pub copied_sectors: u64,
    /// Units whose sectors belong to several writes.
    pub mixed_units: u64,
    /// … of which some are of different runs.
    pub units_of_runs: u64,
    /// The first unit of several writes.
    pub first_mixed: Option<u64>,
    /// Bytes of zeroes in the middle of what one write wrote: trimmed, or lost.
    pub zeroes_in_writes: u64,
    /// The last area, which the next piece may go on with.
    open: Option<TargetArea>,
}

impl TargetSurvey {
    /// Adds the next piece.
    pub fn add(&mut self, piece: PieceSurvey) {
        piece.areas.iter().for_each(|area| self.add_area(*area));
        for damage in piece.damages {
            *self.counts.entry(damage.class).or_default() += 1;
            if self.damages.len() < DAMAGES_KEPT {
                self.damages.push(damage);
            }
        }
        self.sectors_of_others += piece.sectors_of_others;
        for (run, part) in piece.runs {
            let is_full = self.runs.len() >= NAMES_KEPT;
            match self.runs.get_mut(&run) {
                Some(tally) => tally.add(&part),
                None if is_full => self.sectors_of_others += part.sectors,
                None => _ = self.runs.insert(run, part),
            }
        }
        for (device, sectors) in piece.devices {
            if self.devices.len() < NAMES_KEPT || self.devices.contains_key(&device) {
                *self.devices.entry(device).or_default() += sectors;
            }
        }
        self.copied_sectors += piece.copied_sectors;
        self.mixed_units += piece.mixed_units;
        self.units_of_runs += piece.units_of_runs;
        self.first_mixed = self.first_mixed.or(piece.first_mixed);
        self.zeroes_in_writes += piece.zeroes_in_writes;
    }

    /// Adds a part that is not looked at: a hole.
    pub fn add_area(&mut self, area: TargetArea) {
        if area.bytes == 0 {
            return;
        }
        *self.bytes.entry(area.kind).or_default() += area.bytes;
        let end = area.address.saturating_add(area.bytes);
        let span = self.spans.entry(area.kind).or_insert(AreaSpan { start: area.address, ..AreaSpan::default() });
        span.end = end;
        match &mut self.open {
            Some(open) if open.kind == area.kind && open.address.saturating_add(open.bytes) == area.address => {
                open.bytes += area.bytes;
            }
            open => {
                self.area_count += 1;
                span.areas += 1;
                *open = Some(area);
            }
        }
        if self.area_count <= AREAS_KEPT as u64 {
            push(&mut self.areas, area);
        }
    }

    /// Bytes of a kind.
    #[must_use]
    pub fn bytes_of(&self, kind: AreaKind) -> u64 {
        self.bytes.get(&kind).copied().unwrap_or(0)
    }

    /// Damaged blocks, also those that were not kept.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The device of most of the intact sectors; of several with as many, the one with the lowest number.
    #[must_use]
    pub fn most_of(&self) -> Option<u64> {
        let most = self.devices.iter().max_by_key(|(device, sectors)| (**sectors, std::cmp::Reverse(**device)));
        most.map(|(device, _)| *device)
    }

    /// Did anything here have a stamp?
    #[must_use]
    pub fn has_stamps(&self) -> bool {
        self.bytes_of(AreaKind::Stamped) + self.bytes_of(AreaKind::Damaged) + self.bytes_of(AreaKind::OfFiles) > 0
    }
}
