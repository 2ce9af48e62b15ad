//! `iodyno verify -o`: what was found as a recording.

use super::error::StampedDataError;
use super::verified::{PromisedDamage, VerifyOutcome, VerifyRecording};
use monitor::{SUBJECTS, signed, subjects};
use quantity::clock;
use recording::rows::{DataCheck, DataError, DataVerdict, Event};
use recording::{EventKind, EventSeverity, Label, Manifest, RecordingExit, Row, RowBatch, Sink as _, Writer};
use serde_json::Value;
use stamp::SectorFinding;
use std::path::Path;
use validation::{AreaKind, SurveyDamage};

/// Title of the run in all rows, and how its damaged blocks are found.
const RUN: &str = "verify";
const FOUND_BY: &str = "sweep";
/// In the manifest: what stands in all tables of it, as `verify --json` prints it.
const VERIFIED: &str = "verified";

/// A recording of a look at a target, under way.
#[derive(Debug)]
pub(super) struct Recorder {
    writer: Writer,
    target: String,
}

impl Recorder {
    /// Begins it.
    ///
    /// # Errors
    /// There is something of that name, or it cannot be made.
    pub(super) fn begin(request: &VerifyRecording, target: &Path) -> Result<Self, StampedDataError> {
        let name = target.display().to_string();
        let mut manifest = Manifest::new(&request.command_line);
        manifest.hardware = collect::hardware(&[(name.clone(), target.to_path_buf())]);
        manifest.extra.insert(SUBJECTS.into(), subjects([]));
        Ok(Self { writer: Writer::create(&request.directory, manifest)?, target: name })
    }

    fn seconds(&self, t_ns: u64) -> f64 {
        t_ns.saturating_sub(self.writer.started_t_ns()) as f64 / 1e9
    }

    fn rows<R: Row>(&mut self, rows: &[R]) -> Result<(), StampedDataError> {
        if !rows.is_empty() {
            self.writer.accept(&RowBatch::from_rows(rows)?)?;
            self.writer.commit()?;
        }
        Ok(())
    }

    /// Writes what was found, and seals it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn end(mut self, outcome: &VerifyOutcome) -> Result<(), StampedDataError> {
        let verified = without_damages(outcome.json());
        self.writer.update_manifest(|manifest| _ = manifest.extra.insert(VERIFIED.into(), verified))?;
        let t_ns = clock::now_ns();
        let promised = outcome.journal.iter().flat_map(|journal| &journal.damages);
        let mut errors: Vec<DataError> = promised.map(|damage| self.promised(damage)).collect();
        errors.extend(outcome.survey.damages.iter().map(|damage| self.surveyed(damage, t_ns)));
        errors.sort_by_key(|row| row.address);
        self.rows(&errors)?;
        let verdicts: Vec<DataVerdict> = errors.iter().map(verdict_of).collect();
        self.rows(&verdicts)?;
        self.rows(&[self.check(outcome, t_ns)])?;
        let events = self.events(outcome, t_ns);
        self.rows(&events)?;
        let exit = match (outcome.damaged(), outcome.is_complete, outcome.unreadable_bytes()) {
            (1.., ..) => RecordingExit::DataWrong,
            (0, false, _) => RecordingExit::Interrupted,
            (0, true, 1..) => RecordingExit::TargetFailed,
            (0, true, 0) => RecordingExit::Complete,
        };
        self.writer.update_manifest(|manifest| manifest.exit = Some(exit))?;
        self.writer.seal()?;
        Ok(())
    }

    fn error(&self, t_ns: u64, address: u64, bytes: u64, first: Option<&SectorFinding>) -> DataError {
        let stamp = first.and_then(|sector| sector.stamp);
        DataError {
            t_ns: signed(t_ns),
            t_s: self.seconds(t_ns),
            run: RUN.to_string(),
            run_index: 0,
            target: self.target.as_str().into(),
            file: None,
            address: signed(address),
            bytes: signed(bytes),
            class: Label::from(""),
            found_by: Label::from(FOUND_BY),
            transient: false,
            wrong_sectors: 0,
            first_wrong: signed(first.map_or(address, |sector| sector.address)),
            expected: String::new(),
            found: String::new(),
            found_run: stamp.map(|stamp| format!("{:016x}", stamp.run)),
            found_address: stamp.map(|stamp| signed(stamp.address)),
            found_write: stamp.map(|stamp| signed(stamp.sequence)),
            found_written_s: stamp.map(|stamp| i64::from(stamp.written_s)),
            last_good_ns: None,
            last_write_ns: None,
            bytes_found: String::new(),
        }
    }

    fn promised(&self, damage: &PromisedDamage) -> DataError {
        DataError {
            class: Label::from(damage.class.name()),
            transient: damage.is_transient,
            wrong_sectors: signed(damage.wrong_sectors),
            expected: damage.expected.clone(),
            found: damage.found.clone(),
            bytes_found: damage.view.clone(),
            ..self.error(damage.t_ns, damage.address, damage.bytes, damage.first_wrong.as_ref())
        }
    }

    fn surveyed(&self, damage: &SurveyDamage, t_ns: u64) -> DataError {
        DataError {
            class: Label::from(damage.class.name()),
            wrong_sectors: signed(damage.wrong_sectors),
            expected: format!("any write to {:#x} of this target", damage.address),
            found: damage.found.clone(),
            ..self.error(t_ns, damage.address, damage.bytes, Some(&damage.first_wrong))
        }
    }

    fn check(&self, outcome: &VerifyOutcome, t_ns: u64) -> DataCheck {
        let of = |kinds: &[AreaKind]| kinds.iter().map(|kind| outcome.survey.bytes_of(*kind)).sum::<u64>();
        let checked = of(&[AreaKind::Stamped, AreaKind::Promised, AreaKind::Damaged]);
        let unknown =
            of(&[AreaKind::Unstamped, AreaKind::OfFiles, AreaKind::Zeroes, AreaKind::Foreign, AreaKind::Tail]);
        let block_bytes = outcome.journal.as_ref().map_or(outcome.unit.bytes(), |journal| journal.block_bytes);
        let (known, swept) = match &outcome.journal {
            Some(journal) => (journal.known_blocks, journal.right_blocks + journal.damaged()),
            None => (checked / block_bytes, checked / block_bytes),
        };
        DataCheck {
            t_ns: signed(t_ns),
            t_s: self.seconds(t_ns),
            run: RUN.to_string(),
            run_index: 0,
            target: self.target.as_str().into(),
            block_bytes: signed(block_bytes),
            stamped_bytes: 0,
            checked_bytes: signed(checked),
            unknown_bytes: signed(unknown),
            known_blocks: signed(known),
            swept_blocks: Some(signed(swept)),
            unpromised_blocks: outcome.journal.as_ref().map(|journal| signed(journal.unpromised_blocks)),
            damaged_blocks: signed(outcome.damaged()),
            extra_reads: 0,
            deferred: 0,
        }
    }

    fn events(&self, outcome: &VerifyOutcome, t_ns: u64) -> Vec<Event> {
        let is_wrong = outcome.damaged() > 0;
        let of_journal = outcome.journal.iter().flat_map(|journal| journal.sentences.iter().chain(&journal.groups));
        let verdict = (outcome.verdict(), if is_wrong { EventSeverity::Error } else { EventSeverity::Info });
        let all = of_journal.map(|sentence| (sentence.clone(), EventSeverity::Info)).chain([verdict]);
        let event = |(message, severity): (String, EventSeverity)| Event {
            t_ns: signed(t_ns),
            t_s: self.seconds(t_ns),
            severity,
            kind: EventKind::Data,
            class: None,
            run: Some(RUN.to_string()),
            target: Some(self.target.clone()),
            message,
            count: 1,
        };
        all.map(event).collect()
    }
}

/// Rows have the damaged blocks.
fn without_damages(mut verified: Value) -> Value {
    if let Some(object) = verified.as_object_mut() {
        object.remove("damages");
        if let Some(journal) = object.get_mut("journal").and_then(Value::as_object_mut) {
            journal.remove("damages");
        }
    }
    verified
}

/// What was found is judged already.
fn verdict_of(row: &DataError) -> DataVerdict {
    DataVerdict {
        t_ns: row.t_ns,
        t_s: row.t_s,
        target: row.target.clone(),
        file: row.file.clone(),
        address: row.address,
        bytes: row.bytes,
        class: row.class.clone(),
        transient: row.transient,
        other: None,
    }
}
