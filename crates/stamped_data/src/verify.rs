//! `iodyno verify`: reads a whole target and says who wrote what, and what is damaged.

use super::error::StampedDataError;
use super::identity::{IdentitySource, SampledStamps, TargetIdentity};
use super::promised::{Promised, ReadPiece};
use super::reader::{AlignedBuffer, GRAIN, TargetReader};
use super::recorded::Recorder;
use super::verified::{PromisedDamage, VerifyOutcome, VerifyRequest};
use monitor::StopFlag;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use target::{TargetAccess, WritePolicy};
use validation::{AreaKind, PieceSurvey, SurveyRules, SurveyUnit, TargetArea, TargetSurvey, look};

/// Reads in flight.
const THREADS: usize = 6;
/// Pieces of one thread that wait to be added up.
const WAITING: usize = 2;
/// Sectors of so many bytes belong together where --block does not say how many.
const LEAST_UNIT: u64 = 4096;
/// Longer blocks are not written in one piece.
const UNIT_MAX: u64 = 64 << 20;
/// Unreadable parts that are kept; all are counted.
const UNREADABLE_KEPT: usize = 1000;

/// Bytes that are read and judged in one piece: whole units of so many bytes.
pub(super) fn piece_bytes(unit: u64) -> u64 {
    // Direct I/O begins at multiples of the device's block.
    let unit = if unit.is_multiple_of(4096) { unit } else { unit * 8 };
    GRAIN / unit.min(GRAIN) * unit
}

/// The unit of a request.
pub(super) fn unit_of(block_bytes: Option<u64>) -> Result<SurveyUnit, StampedDataError> {
    match block_bytes {
        None => Ok(SurveyUnit::AtLeast(LEAST_UNIT)),
        Some(bytes) if bytes.is_multiple_of(512) && (512..=UNIT_MAX).contains(&bytes) => Ok(SurveyUnit::Exactly(bytes)),
        Some(bytes) => Err(StampedDataError::Parameter(format!(
            "--block {bytes}: blocks have a multiple of 512 bytes, at most {UNIT_MAX}"
        ))),
    }
}

/// Reads all of a target; nothing on it is changed. `progress` gets the bytes that are done, and all.
///
/// # Errors
/// When the target cannot be opened. What cannot be read of it is part of the outcome.
pub fn verify(request: &VerifyRequest, progress: &mut dyn FnMut(u64, u64)) -> Result<VerifyOutcome, StampedDataError> {
    let mut unit = unit_of(request.block_bytes)?;
    let reader = TargetReader::open(&request.path, TargetAccess::Read, &never_written())?;
    let promised = request.journal.as_ref().map(|journal| Promised::read(request, journal, &reader)).transpose()?;
    let mut ranges = reader.data_ranges();
    let asked = request.written_as.as_deref();
    let sampled = SampledStamps::of(&reader, &ranges, &request.stop);
    let mut identity = match &promised {
        Some(promised) => promised.identity(),
        None => TargetIdentity::of(&request.path, asked, &sampled.devices),
    };
    if let Some(promised) = &promised {
        ranges = promised.ranges(ranges, reader.size());
        // Parts that the journal does not know begin and end with its blocks.
        unit = SurveyUnit::AtLeast(LEAST_UNIT.min(promised.block_bytes()));
    }
    let recorder = request.recording.as_ref().map(|recording| Recorder::begin(recording, &request.path)).transpose()?;
    let mut may_repeat = true;
    loop {
        let holds_files = sampled.holds_files(reader.is_device(), identity.device);
        let rules = SurveyRules { device: identity.device, unit, holds_files };
        let pass = Pass { reader: &reader, rules, promised: promised.as_ref(), stop: &request.stop };
        let Sum { survey, unreadable, done: done_bytes, damages, .. } = pass.over(&ranges, progress);
        let is_complete = done_bytes >= reader.size();
        // What was seen at some places may not be what most of it is.
        let found = TargetIdentity::of(&request.path, asked, &survey.devices);
        let is_other = identity.source != IdentitySource::Journal && found.device != identity.device;
        if is_other && is_complete && may_repeat && found.device.is_some() {
            (identity, may_repeat) = (found, false);
            continue;
        }
        let outcome = VerifyOutcome {
            path: request.path.clone(),
            size_bytes: reader.size(),
            identity,
            signature: reader.opened.signature(),
            unit,
            is_direct: reader.is_direct(),
            is_complete,
            done_bytes,
            survey,
            unreadable,
            journal: promised.as_ref().map(|promised| promised.verdict(damages)),
        };
        recorder.map_or(Ok(()), |recorder| recorder.end(&outcome))?;
        return Ok(outcome);
    }
}

/// A target that is only read is never made or extended.
pub(super) fn never_written() -> WritePolicy {
    WritePolicy { never_create: true, ..WritePolicy::default() }
}

/// One reading of all of a target.
struct Pass<'a> {
    reader: &'a TargetReader,
    rules: SurveyRules,
    promised: Option<&'a Promised>,
    stop: &'a StopFlag,
}

/// What a thread made of a piece.
struct JudgedPiece {
    range: Range<u64>,
    parts: Vec<PieceSurvey>,
    unread: Vec<Range<u64>>,
}

impl Pass<'_> {
    /// Bytes of a piece: whole units.
    fn piece_bytes(&self) -> u64 {
        piece_bytes(self.promised.map_or_else(|| self.rules.unit.bytes(), Promised::block_bytes))
    }

    /// The pieces of the parts with data, in order. They begin at multiples of their length, so that units are whole.
    fn pieces(&self, ranges: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> {
        let (bytes, size) = (self.piece_bytes(), self.reader.size());
        let mut next = 0;
        ranges.iter().flat_map(move |range| {
            let first = (range.start / bytes * bytes).max(next);
            let end = range.end.next_multiple_of(bytes).min(size).max(first);
            next = end;
            (first..end).step_by(usize::try_from(bytes).unwrap_or(usize::MAX)).map(move |at| at..(at + bytes).min(size))
        })
    }

    /// Threads read every so manieth piece each, and one after the other is asked for its next: so the pieces come in order, and
    /// none waits for long.
    fn over(&self, ranges: &[Range<u64>], progress: &mut dyn FnMut(u64, u64)) -> Sum {
        let mut total = Sum::default();
        std::thread::scope(|scope| {
            let (mut results, mut others) = (Vec::new(), Vec::new());
            for thread in 0..THREADS {
                let (sender, receiver) = sync_channel(WAITING);
                let work = move || self.work(ranges, thread, &sender);
                let started = std::thread::Builder::new().name("verify".to_string()).spawn_scoped(scope, work);
                others.push(started.is_err().then_some(thread));
                results.push(receiver);
            }
            self.collect(&results, ranges, &others, &mut total, progress);
        });
        let size = self.reader.size();
        if !total.is_stopped {
            total.hole(size);
            if let Some(promised) = self.promised {
                promised.beyond(size);
                total.damages.extend(promised.take());
            }
        }
        progress(total.done, size);
        total
    }

    fn work(&self, ranges: &[Range<u64>], thread: usize, sender: &SyncSender<JudgedPiece>) {
        let mut buffer = AlignedBuffer::new(usize::try_from(self.piece_bytes()).unwrap_or(usize::MAX));
        for range in self.pieces(ranges).skip(thread).step_by(THREADS) {
            if self.stop.is_requested() || sender.send(self.judge(&mut buffer, range)).is_err() {
                return;
            }
        }
    }

    fn judge(&self, buffer: &mut AlignedBuffer, range: Range<u64>) -> JudgedPiece {
        let bytes = buffer.bytes();
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(bytes.len());
        let unread = self.reader.read(bytes, range.start, length);
        let bytes = &bytes[..length];
        let parts = match self.promised {
            None => vec![look(bytes, range.start, &unread, &self.rules)],
            Some(promised) => {
                let (reader, rules, range) = (self.reader, &self.rules, range.clone());
                promised.judge(&ReadPiece { reader, rules, bytes, range, unread: &unread })
            }
        };
        JudgedPiece { range, parts, unread }
    }

    /// Adds the pieces up in order; those of a thread that the system did not give are judged here.
    fn collect(
        &self,
        results: &[Receiver<JudgedPiece>],
        ranges: &[Range<u64>],
        missing: &[Option<usize>],
        total: &mut Sum,
        progress: &mut dyn FnMut(u64, u64),
    ) {
        let mut own = None;
        for (at, range) in self.pieces(ranges).enumerate() {
            let thread = at % THREADS;
            let judged = if missing.get(thread).is_some_and(Option::is_some) {
                let bytes = usize::try_from(self.piece_bytes()).unwrap_or(usize::MAX);
                let buffer = own.get_or_insert_with(|| AlignedBuffer::new(bytes));
                (!self.stop.is_requested()).then(|| self.judge(buffer, range))
            } else {
                results.get(thread).and_then(|receiver| receiver.recv().ok())
            };
            let Some(judged) = judged else {
                total.is_stopped = true;
                return;
            };
            total.add(judged);
            if let Some(promised) = self.promised {
                total.damages.extend(promised.take());
            }
            progress(total.done, self.reader.size());
        }
    }
}

/// What is added up.
#[derive(Default)]
struct Sum {
    survey: TargetSurvey,
    unreadable: Vec<Range<u64>>,
    done: u64,
    is_stopped: bool,
    /// Blocks that are not what the journal says.
    damages: Vec<PromisedDamage>,
}

impl Sum {
    /// All up to here is a hole.
    fn hole(&mut self, until: u64) {
        let bytes = until.saturating_sub(self.done);
        self.survey.add_area(TargetArea { address: self.done, bytes, kind: AreaKind::Hole });
        self.done = self.done.max(until);
    }

    fn add(&mut self, judged: JudgedPiece) {
        self.hole(judged.range.start);
        judged.parts.into_iter().for_each(|part| self.survey.add(part));
        self.done = judged.range.end;
        for range in judged.unread {
            let has_room = self.unreadable.len() < UNREADABLE_KEPT;
            match self.unreadable.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ if has_room => self.unreadable.push(range),
                _ => {}
            }
        }
    }
}

/// The file name of a path, for messages.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
