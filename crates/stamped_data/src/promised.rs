//! What a journal says must be on a target, held against what is there.

use super::error::StampedDataError;
use super::identity::{IdentitySource, SampledStamps, TargetIdentity, names};
use super::reader::{AlignedBuffer, GRAIN, TargetReader};
use super::verified::{JournalRequest, JournalVerdict, PromisedDamage, VerifyRequest};
use data_journal::{Crash, JournalError, Recovered, RecoveredTarget};
use quantity::text::format_wall;
use session::{FoundJournal, group_sentence, is_zero_after_trim};
use stamp::DamageClass;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use validation::{
    AreaKind, BlockState, Damage, FoundBy, PieceSurvey, ReadOutcome, Reports, SurveyRules, TargetArea, TargetRules,
    TargetValidation, device_id, look,
};

/// Blocks that are looked at in one go.
const STRIDE: u64 = 1 << 20;
/// Blocks behind the end of the target that are looked at one by one; what a journal says may be of any number.
const BEHIND: u64 = 1 << 16;
/// Groups of damaged blocks that have a sentence.
const GROUPS: usize = 20;

/// What a journal says of a target.
#[derive(Debug)]
pub(super) struct Promised {
    directory: PathBuf,
    target: String,
    sentences: Vec<String>,
    /// What of the journal is lost.
    lost: Vec<String>,
    crash: Crash,
    is_clean: bool,
    validation: TargetValidation,
    reports: Arc<Reports>,
    known: u64,
    far: Far,
    right: AtomicU64,
    unreadable: AtomicU64,
}

/// Blocks so far behind the end of the target that they are only counted.
#[derive(Clone, Copy, Debug)]
struct Far {
    /// They must be there.
    lost: u64,
    /// They may be empty.
    empty: u64,
}

impl Far {
    /// Those from this block on.
    fn of(target: &RecoveredTarget, crash: Crash, from: u64, trims_read_zero: bool) -> Self {
        let mut far = Self { lost: 0, empty: 0 };
        for (_, floor, _) in target.floors(crash).filter(|(block, ..)| *block >= from) {
            match floor.allows_zeroes() {
                true => far.empty += u64::from(trims_read_zero),
                false => far.lost += 1,
            }
        }
        far
    }
}

/// A piece of a target that was read.
pub(super) struct ReadPiece<'a> {
    pub(super) reader: &'a TargetReader,
    pub(super) rules: &'a SurveyRules,
    pub(super) bytes: &'a [u8],
    pub(super) range: Range<u64>,
    pub(super) unread: &'a [Range<u64>],
}

/// Its second reading, and what could not be read then.
type Again = Option<(AlignedBuffer, Vec<Range<u64>>)>;

impl Promised {
    /// Reads the journal, and what it says of the target.
    ///
    /// # Errors
    /// There is none, it is in use, or it does not know this target.
    pub(super) fn read(
        request: &VerifyRequest,
        journal: &JournalRequest,
        reader: &TargetReader,
    ) -> Result<Self, StampedDataError> {
        let directory = &journal.directory;
        if !directory.exists() {
            return Err(StampedDataError::Parameter(format!(
                "there is no journal at {}: name the directory in which it lies (--journal)",
                directory.display()
            )));
        }
        let found = FoundJournal::of(directory, journal.after_crash).map_err(|error| match error {
            JournalError::Io { .. } => StampedDataError::Io(error.to_string()),
            error => StampedDataError::Parameter(error.to_string()),
        })?;
        let recovered = found.recovered();
        let target = known_as(recovered, request).ok_or_else(|| unknown(recovered, request, reader))?;
        let block_bytes = target.block_bytes;
        let reports = Arc::new(Reports::default());
        let size_bytes = reader.size().saturating_add(BEHIND * block_bytes).min(target.size_bytes).max(reader.size());
        let far = Far::of(target, found.crash(), size_bytes / block_bytes, is_zero_after_trim(&reader.opened));
        let rules = TargetRules {
            target: 0,
            device: target.device,
            // Nothing is written: no run has the number 0.
            runs: vec![0],
            size_bytes,
            block_bytes,
            compress_ratio: 1.0,
            // A journal does not know of duplicates.
            copies: None,
            flags: stamp::StampFlags::default(),
            trims_read_zero: is_zero_after_trim(&reader.opened),
            checks_unknown: false,
        };
        let validation = found.apply(TargetValidation::new(rules, reports.clone()));
        let validation = validation.map_err(StampedDataError::Parameter)?;
        Ok(Self {
            directory: directory.clone(),
            target: name_alone(target).to_string(),
            sentences: sentences(&found),
            lost: recovered.lost.clone(),
            crash: found.crash(),
            is_clean: recovered.is_clean,
            known: validation.states().written() + far.lost + far.empty,
            far,
            validation,
            reports,
            right: AtomicU64::new(0),
            unreadable: AtomicU64::new(0),
        })
    }

    /// Bytes of a block.
    pub(super) fn block_bytes(&self) -> u64 {
        self.validation.rules().block_bytes
    }

    /// Whose data must be there.
    pub(super) fn identity(&self) -> TargetIdentity {
        TargetIdentity {
            device: Some(self.validation.rules().device),
            source: IdentitySource::Journal,
            name: Some(self.target.clone()),
            misnamed: None,
        }
    }

    /// What is to be read of a target of this size: its data, and what the journal knows, which may be lost and a hole.
    pub(super) fn ranges(&self, data: Vec<Range<u64>>, size: u64) -> Vec<Range<u64>> {
        let mut all = data;
        let mut from = 0;
        while let Some((first, count)) = self.validation.states().next_written(from, STRIDE) {
            from = first + count;
            let (start, end) = (first * self.block_bytes(), from * self.block_bytes());
            if start >= size {
                break;
            }
            let (start, end) = (start / GRAIN * GRAIN, end.next_multiple_of(GRAIN).min(size));
            match all.last_mut() {
                Some(last) if last.end >= start && last.start <= start => last.end = last.end.max(end),
                _ => all.push(start..end),
            }
        }
        all.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::with_capacity(all.len());
        for range in all {
            match merged.last_mut() {
                Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }

    /// Is it known what stands in the block there, all of which is on a target that ends at `end`?
    fn knows(&self, address: u64, end: u64) -> bool {
        let block = self.block_bytes();
        address + block <= end && self.validation.states().get(address / block) != BlockState::Unknown
    }

    /// Judges a piece, which begins with a block: by what the journal says where it says something, otherwise by the stamps.
    pub(super) fn judge(&self, piece: &ReadPiece<'_>) -> Vec<PieceSurvey> {
        let (mut parts, mut again, mut at) = (Vec::new(), None, piece.range.start);
        while at < piece.range.end {
            let knows = self.knows(at, piece.range.end);
            let mut end = at;
            while end < piece.range.end && self.knows(end, piece.range.end) == knows {
                end = (end + self.block_bytes()).min(piece.range.end);
            }
            let survey = look(piece.part(at..end), at, piece.unread, piece.rules);
            parts.push(if knows { self.judge_known(piece, at..end, survey.names(), &mut again) } else { survey });
            at = end;
        }
        parts
    }

    fn judge_known(
        &self,
        piece: &ReadPiece<'_>,
        part: Range<u64>,
        mut survey: PieceSurvey,
        again: &mut Again,
    ) -> PieceSurvey {
        let block = self.block_bytes();
        let is_right = |range: &Range<u64>| {
            let bytes = piece.part(range.clone());
            self.validation.check(range.start, bytes) == ReadOutcome::Right
        };
        if !overlaps(piece.unread, &part) && is_right(&part) {
            self.right.fetch_add((part.end - part.start) / block, Ordering::Relaxed);
            survey.add_area(area(&part, AreaKind::Promised));
            return survey;
        }
        for address in part.step_by(usize::try_from(block).unwrap_or(usize::MAX)) {
            let range = address..address + block;
            let kind = if overlaps(piece.unread, &range) {
                self.unreadable.fetch_add(1, Ordering::Relaxed);
                AreaKind::Unreadable
            } else if is_right(&range) || self.report(piece, &range, again) == 0 {
                self.right.fetch_add(1, Ordering::Relaxed);
                AreaKind::Promised
            } else {
                AreaKind::Damaged
            };
            survey.add_area(area(&range, kind));
        }
        survey
    }

    /// Reads the piece once more, and reports what is wrong with a block of it; gives 1 where something is.
    fn report(&self, piece: &ReadPiece<'_>, block: &Range<u64>, again: &mut Again) -> u64 {
        let (buffer, unread) = again.get_or_insert_with(|| {
            piece.reader.forget_pages();
            let mut buffer = AlignedBuffer::new(piece.bytes.len());
            let unread = piece.reader.read(buffer.bytes(), piece.range.start, piece.bytes.len());
            (buffer, unread)
        });
        let second = piece.within(block).filter(|_| !overlaps(unread, block));
        let second = second.and_then(|within| buffer.bytes().get(within));
        self.validation.report(block.start, piece.part(block.clone()), second, FoundBy::Sweep)
    }

    /// Reports what must be there and is not, because the target ends before it.
    pub(super) fn beyond(&self, size: u64) {
        let block = self.block_bytes();
        let length = usize::try_from(block).unwrap_or(0);
        let (zeroes, mut unread) = (vec![0; length], vec![0; length]);
        stamp::poison(&mut unread);
        let mut from = size / block;
        while let Some((first, count)) = self.validation.states().next_written(from, STRIDE) {
            from = first + count;
            for address in (first..from).map(|number| number * block) {
                // A trimmed block is nowhere as well as it is empty.
                if self.validation.check(address, &zeroes) == ReadOutcome::Right {
                    self.right.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.validation.report(address, &unread, None, FoundBy::Sweep);
                }
            }
        }
        self.right.fetch_add(self.far.empty, Ordering::Relaxed);
        self.reports.count_beyond(DamageClass::ShortRead, self.far.lost);
    }

    /// Damaged blocks that were found since this was last asked.
    pub(super) fn take(&self) -> Vec<PromisedDamage> {
        self.reports.take().into_iter().map(PromisedDamage::of).collect()
    }

    /// What it came to, with the damaged blocks that were taken.
    pub(super) fn verdict(&self, mut damages: Vec<PromisedDamage>) -> JournalVerdict {
        let overview = self.reports.judge(|_, address| self.validation.right_version(address));
        let mut counts = overview.beyond.clone();
        let classes: BTreeMap<u64, DamageClass> =
            overview.damages.iter().map(|damage| (damage.address, damage.class)).collect();
        overview.damages.iter().for_each(|damage| *counts.entry(damage.class).or_default() += 1);
        for damage in &mut damages {
            damage.class = classes.get(&damage.address).copied().unwrap_or(damage.class);
        }
        damages.sort_by_key(|damage| damage.address);
        let described = overview.groups.iter().take(GROUPS).map(|group| group_sentence(&self.target, group));
        let mut groups: Vec<String> = described.collect();
        let beyond: u64 = overview.beyond.values().sum();
        if beyond > 0 {
            groups.push(format!("{beyond} blocks are damaged besides, and only counted: where they are is not kept"));
        }
        JournalVerdict {
            directory: self.directory.clone(),
            target: self.target.clone(),
            block_bytes: self.block_bytes(),
            sentences: self.sentences.clone(),
            lost: self.lost.clone(),
            is_power_cut: self.crash == Crash::PowerCut,
            is_clean: self.is_clean,
            known_blocks: self.known,
            unpromised_blocks: self.validation.unpromised().unwrap_or(0),
            right_blocks: self.right.load(Ordering::Relaxed),
            unreadable_blocks: self.unreadable.load(Ordering::Relaxed),
            counts,
            damages,
            groups,
        }
    }
}

impl ReadPiece<'_> {
    /// Where a part of it stands in its buffer.
    fn within(&self, part: &Range<u64>) -> Option<Range<usize>> {
        let at = |address: u64| usize::try_from(address.checked_sub(self.range.start)?).ok();
        Some(at(part.start)?..at(part.end)?)
    }

    fn part(&self, part: Range<u64>) -> &[u8] {
        self.within(&part).and_then(|within| self.bytes.get(within)).unwrap_or(&[])
    }
}

impl PromisedDamage {
    fn of(damage: Damage) -> Self {
        let finding = &damage.finding;
        Self {
            t_ns: damage.t_ns,
            address: damage.address,
            bytes: damage.read.len() as u64,
            class: finding.class,
            is_transient: finding.is_transient,
            wrong_sectors: finding.wrong_sectors(),
            first_wrong: finding.first_wrong().cloned(),
            expected: damage.expected_words(),
            found: damage.found_words(),
            view: damage.hex_view(),
        }
    }
}

fn area(range: &Range<u64>, kind: AreaKind) -> TargetArea {
    TargetArea { address: range.start, bytes: range.end - range.start, kind }
}

fn overlaps(ranges: &[Range<u64>], range: &Range<u64>) -> bool {
    ranges.iter().any(|other| other.start < range.end && range.start < other.end)
}

/// What the user has to know of the journal.
fn sentences(found: &FoundJournal) -> Vec<String> {
    let recovered = found.recovered();
    let mut all = found.sentences();
    let is_whole = recovered.damage.is_empty() && recovered.notes.is_empty();
    let begun = recovered.sessions.last().map(|session| format_wall(session.wall_ns));
    let begun = begun.map_or_else(String::new, |begun| format!("; its last session began {begun}"));
    let read = if is_whole { "it could be read up to its end" } else { "it could be read in part, as said above" };
    // Before the last sentence, which says what is promised.
    all.insert(all.len().saturating_sub(1), format!("{read}{begun}"));
    all
}

/// The target of a journal that is meant: by the number that its name has, or as the journal names it.
fn known_as<'a>(recovered: &'a Recovered, request: &VerifyRequest) -> Option<&'a RecoveredTarget> {
    let name = request.written_as.as_deref().unwrap_or(&request.path);
    let by_number = names(name).into_iter().find_map(|name| recovered.target(device_id(&name)));
    by_number.or_else(|| recovered.targets.iter().find(|target| Path::new(name_alone(target)) == name))
}

/// A target's name without the path that a journal has behind it, from which its number follows.
fn name_alone(target: &RecoveredTarget) -> &str {
    let Some(all) = target.name.strip_suffix(')') else { return &target.name };
    let mut parts =
        all.match_indices(" (").filter_map(|(at, open)| Some((all.get(..at)?, all.get(at + open.len()..)?)));
    let named = parts.find(|(_, path)| device_id(path) == target.device);
    named.map_or(&target.name, |(name, _)| name)
}

/// Why a journal is of no use for a target, and what to do.
fn unknown(recovered: &Recovered, request: &VerifyRequest, reader: &TargetReader) -> StampedDataError {
    let journal = recovered.path().display();
    let name = request.written_as.as_deref().unwrap_or(&request.path).display();
    let targets: Vec<&str> = recovered.targets.iter().map(|target| target.name.as_str()).collect();
    if targets.is_empty() {
        let damage: Vec<String> = recovered.damage.iter().map(ToString::to_string).collect();
        let why = match damage.is_empty() {
            true => "it is about trees of files".to_string(),
            false => format!("nothing of it can be read ({})", damage.join("; ")),
        };
        return StampedDataError::Parameter(format!("the journal {journal} knows no target: {why}"));
    }
    let SampledStamps { devices, .. } = SampledStamps::of(reader, &reader.data_ranges(), &request.stop);
    let most = devices.iter().max_by_key(|(_, sectors)| **sectors).and_then(|(device, _)| recovered.target(*device));
    let hint = match most {
        Some(target) => {
            format!("; what stands on {} is of {}: say --as {1}", request.path.display(), name_alone(target))
        }
        None => "; say under which of these names it was written (--as NAME)".to_string(),
    };
    let targets = targets.join(", ");
    StampedDataError::Parameter(format!("the journal {journal} does not know {name}: it knows {targets}{hint}"))
}
