//! What becomes of old recordings on the disk: those of a killed collector are sealed; others are removed and made coarser as
//! the policy says. Touched are only recordings of this collector without a foreign file.
//!
//! A recording is this collector's when the mark in its folder and the one in its manifest agree, have the collector's identity
//! and the folder's name, and when it holds nothing but files that iodyno wrote there, by name, length and checksum, all of which
//! can be removed. The collector leaves all else alone, and reports it.
//!
//! What goes is first moved to the work folder, in one step, so that half a recording never stands under its name. A collector
//! that was killed meanwhile has left it there, and the next one goes on: `gone-…`, `fresh-…` and `new-…` are removed, `old-…` is put
//! back where its name is free.

use super::home::{ArchiveFolder, NEW, length_ns, random};
use super::retention_policy::{Budget, DiskSpace, Now, RecordingEntry, RecordingStore, RetentionPolicy, retain};
use crate::StopFlag;
use crate::manifest_keys::FLIGHT_CONDITION;
use output::{EntryKind, Folder, OutputError};
use quantity::text::{format_bytes, format_ns};
use recording::{
    CollectorMark, EventSeverity, Inventory, MARK, Manifest, Reader, copy_page, discard, manifest_in, seal_unfinished,
    thin, thinned_to_ns,
};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::ffi::OsStr;

/// Names in the work folder begin so.
const GONE: &str = "gone-";
const FRESH: &str = "fresh-";
const OLD: &str = "old-";
/// The most names in one message about what is left alone.
const NAMES: usize = 4;

/// Something to say, and to note in the recording under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogMessage {
    pub(crate) severity: EventSeverity,
    pub(crate) message: String,
}

/// Looks after a directory; leaves recording number `open` alone, as it is being written. `reported` has the keys
/// of earlier messages.
pub(crate) fn enforce_retention(
    home: &ArchiveFolder,
    retention: &RetentionPolicy,
    open: Option<u64>,
    reported: &mut BTreeSet<String>,
    stop: &StopFlag,
) -> Vec<LogMessage> {
    let mut files = Files { home, reported, stop, said: Vec::new(), alone: Vec::new() };
    files.clean();
    let (kept, open) = files.survey(open);
    files.say_alone();
    let passed_ns = home.passed_ns();
    let now = Now {
        passed_ns,
        open_begun_ns: open.as_ref().map(|open| open.begun_ns),
        open_bytes: open.as_ref().map_or(0, |open| open.bytes),
    };
    let budget = home.budget(kept.len(), retention.keep_ns);
    let left = retain(kept, now, retention, budget, &mut files);
    home.spend(Budget { removals: budget.removals - left.removals, thinnings: budget.thinnings - left.thinnings });
    home.save();
    files.said
}

/// What a folder is.
enum Found {
    /// A recording of this collector.
    Ours(Box<Ours>),
    /// One that this process is beginning.
    Begun,
    /// One that was begun and had nothing in it; it is gone.
    Gone,
    /// No recording of a collector of this version.
    Strange,
    /// A recording that is left alone, and why.
    Alone(String),
}

struct Ours {
    folder: Folder,
    mark: CollectorMark,
    manifest: Manifest,
    inventory: Inventory,
}

/// The recordings in a collector's directory.
struct Files<'a> {
    home: &'a ArchiveFolder,
    reported: &'a mut BTreeSet<String>,
    stop: &'a StopFlag,
    said: Vec<LogMessage>,
    /// What no collector made, by name.
    alone: Vec<String>,
}

impl Files<'_> {
    fn say(&mut self, severity: EventSeverity, message: String) {
        self.said.push(LogMessage { severity, message });
    }

    /// All recordings that are not being written, sealed; and the one that is.
    fn survey(&mut self, open: Option<u64>) -> (Vec<RecordingEntry>, Option<RecordingEntry>) {
        let (mut kept, mut under_way) = (Vec::new(), None);
        for name in self.home.folder().names().unwrap_or_default() {
            if self.home.is_furniture(&name) {
                continue;
            }
            let shown = name.to_string_lossy().escape_debug().to_string();
            match self.look(&name) {
                Ok(Found::Ours(ours)) if Some(ours.mark.number) == open => under_way = Some(kept_of(&ours)),
                Ok(Found::Ours(ours)) => kept.extend(self.sealed(*ours)),
                Ok(Found::Begun) => {}
                Ok(Found::Gone) => {
                    self.say(EventSeverity::Info, format!("removed {shown}: its collector was killed before a sample"))
                }
                Ok(Found::Strange) => self.alone.push(shown),
                Ok(Found::Alone(why)) => {
                    self.say_once(&format!("{shown} {why}"), format!("{shown} is left alone: {why}"))
                }
                Err(error) => self.say_once(&format!("{shown} {error}"), format!("{shown} is left alone: {error}")),
            }
        }
        (kept, under_way)
    }

    /// Counts the entries that no collector made, and reports them once.
    fn say_alone(&mut self) {
        if self.alone.is_empty() {
            return;
        }
        let count = self.alone.len();
        let names = self.alone[..count.min(NAMES)].join(", ");
        let more = if count > NAMES { format!(" and {} more", count - NAMES) } else { String::new() };
        let said = format!(
            "not made by this collector, and left alone: {names}{more}. Recordings of older versions are among these; remove \
             what is not needed"
        );
        self.say_once(&format!("alone {names}{more}"), said);
    }

    /// Whose is it?
    fn look(&self, name: &OsStr) -> Result<Found, OutputError> {
        let home = self.home.folder();
        if home.kind(name)? != Some(EntryKind::Directory) {
            return Ok(Found::Strange);
        }
        let folder = home.subfolder(name)?;
        let Some(mark) = CollectorMark::read(&folder) else { return Ok(Found::Strange) };
        let alone = |why: &str| Ok(Found::Alone(why.to_string()));
        if !self.home.is_mine(&mark) {
            return alone("another collector made it");
        }
        if name != mark.name.as_str() {
            return alone(&format!("it is a copy of {}, or was renamed", mark.name.escape_debug()));
        }
        if !folder.is_on_mount_of(home)? {
            return alone("it is on another mount");
        }
        let Some(manifest) = manifest_in(&folder) else {
            return if self.home.is_of_before(&mark) { self.unbegun(name, &folder) } else { Ok(Found::Begun) };
        };
        if CollectorMark::of_manifest(&manifest).as_ref() != Some(&mark) {
            return alone("its manifest and its mark do not agree");
        }
        let inventory = Inventory::of(&folder, Some(&manifest))?;
        if !inventory.is_ours() {
            return alone(&inventory.why_not());
        }
        Ok(Found::Ours(Box::new(Ours { folder, mark, manifest, inventory })))
    }

    /// A collector was killed before it had written a manifest: nothing was recorded.
    fn unbegun(&self, name: &OsStr, folder: &Folder) -> Result<Found, OutputError> {
        let alone = |why: &str| Ok(Found::Alone(why.to_string()));
        let inventory = Inventory::of(folder, None)?;
        if !inventory.is_ours() || !is_empty(folder, &inventory) {
            return alone("it has no manifest that can be read; `iodyno repair` may find what it said");
        }
        inventory.remove(folder, &mut step)?;
        self.home.folder().remove_folder(name)?;
        Ok(Found::Gone)
    }

    /// Seals what its collector could not; `None` while it is being written, and where there is no room to seal it.
    fn sealed(&mut self, mut ours: Ours) -> Option<RecordingEntry> {
        if ours.inventory.has_journal() {
            if is_written(&ours.folder) {
                return None;
            }
            let path = self.home.path().join(&ours.mark.name);
            match seal_unfinished(&path) {
                Ok(true) => {
                    self.say(EventSeverity::Info, format!("sealed {}, whose collector did not", ours.mark.name))
                }
                // Being written, or no room: the next time will do.
                Ok(false) => return None,
                Err(error) => {
                    self.say_once(
                        &format!("seal {}", ours.mark.name),
                        format!("failed to seal {}: {error}", ours.mark.name),
                    );
                    return None;
                }
            }
            ours.manifest = manifest_in(&ours.folder)?;
            ours.inventory = Inventory::of(&ours.folder, Some(&ours.manifest)).ok()?;
        }
        ours.manifest.sealed.then(|| kept_of(&ours))
    }

    /// Looks at a recording once more, for something of others since the survey.
    fn again(&mut self, recording: &RecordingEntry) -> Option<Ours> {
        match self.look(OsStr::new(&recording.name)) {
            Ok(Found::Ours(ours)) if ours.mark.number == recording.number => self.verified(*ours),
            Ok(Found::Alone(why)) => {
                self.say_once(&format!("{} {why}", recording.name), format!("{} is left alone: {why}", recording.name));
                None
            }
            Ok(_) => None,
            Err(error) => {
                self.say(EventSeverity::Warning, format!("failed to look at {}: {error}", recording.name));
                None
            }
        }
    }

    /// Reads what is to be removed or replaced: a file that others have changed keeps its recording.
    fn verified(&mut self, mut ours: Ours) -> Option<Ours> {
        let name = ours.mark.name.clone();
        let checked = ours.inventory.verify(&ours.folder, &ours.manifest);
        let why = match checked {
            Ok(()) if ours.inventory.is_ours() => return Some(ours),
            Ok(()) => ours.inventory.why_not(),
            Err(error) => error.to_string(),
        };
        self.say_once(&format!("{name} {why}"), format!("{name} is left alone: {why}"));
        None
    }

    /// Moves a recording to the work folder and removes it there; false when it stays.
    fn take(&mut self, recording: &RecordingEntry) -> Result<bool, OutputError> {
        let Some(ours) = self.again(recording) else { return Ok(false) };
        let (home, work) = (self.home.folder(), self.home.work());
        let name = format!("{GONE}{}-{}", recording.number, random());
        step();
        home.move_to(&recording.name, work, &name)?;
        step();
        let _ = home.sync();
        // Something of others may have come in the meantime, and it may have been another folder.
        let moved = work.subfolder(&name)?;
        let inventory = Inventory::of(&moved, Some(&ours.manifest))?;
        if !moved.is_same(&ours.folder)? || !inventory.is_ours() {
            work.move_to(&name, home, &recording.name)?;
            return Ok(false);
        }
        let removed = inventory.remove(&moved, &mut step).and_then(|()| work.remove_folder(&name));
        if removed.is_err() {
            // What came while it was being removed, or cannot be removed, stays where its owner finds it.
            work.move_to(&name, home, &recording.name)?;
        }
        removed.map(|()| true)
    }

    /// Makes a recording coarser, in its place: the old one stays until the new one is whole.
    fn replace(&mut self, recording: &RecordingEntry, step_ns: i64) -> Result<bool, Box<dyn std::error::Error>> {
        let Some(ours) = self.again(recording) else { return Ok(false) };
        let (home, work) = (self.home.folder(), self.home.work());
        let name = format!("{FRESH}{}-{}", recording.number, random());
        let path = work.path().join(&name);
        let reader = Reader::open(home.path().join(&recording.name))?;
        thin(&reader, &path, step_ns)?;
        step();
        let fresh = work.subfolder(&name)?;
        let page = |()| if ours.inventory.has_page() { copy_page(&ours.folder, &fresh) } else { Ok(()) };
        if let Err(error) = ours.mark.write(&fresh).and_then(page) {
            discard(&path);
            return Err(error.into());
        }
        step();
        // It took a while; something of others may have come.
        let Some(ours) = self.again(recording).filter(|now| now.folder.is_same(&ours.folder).unwrap_or(false)) else {
            discard(&path);
            return Ok(false);
        };
        let old = if can_exchange() && home.exchange(&recording.name, work, &name)? {
            name
        } else {
            let old = format!("{OLD}{}-{}", recording.number, random());
            home.move_to(&recording.name, work, &old)?;
            step();
            work.move_to(&name, home, &recording.name)?;
            old
        };
        step();
        let _ = home.sync();
        let moved = work.subfolder(&old)?;
        let inventory = Inventory::of(&moved, Some(&ours.manifest))?;
        if !moved.is_same(&ours.folder)? || !inventory.is_ours() {
            // The last moment: the old one goes back to its place, with what has come into it.
            self.put_back(recording, &old)?;
            return Ok(false);
        }
        inventory.remove(&moved, &mut step)?;
        work.remove_folder(&old)?;
        Ok(true)
    }

    /// Puts a recording back into its place, which its coarser copy has.
    fn put_back(&mut self, recording: &RecordingEntry, old: &str) -> Result<(), OutputError> {
        let (home, work) = (self.home.folder(), self.home.work());
        let fresh = format!("{FRESH}{}-{}", recording.number, random());
        home.move_to(&recording.name, work, &fresh)?;
        work.move_to(old, home, &recording.name)?;
        discard(&work.path().join(fresh));
        Ok(())
    }

    /// Goes on with what a collector that was killed had begun in the work folder.
    fn clean(&mut self) {
        for name in self.home.work().names().unwrap_or_default() {
            if name != MARK
                && let Err(error) = self.finish(&name)
            {
                let shown = name.to_string_lossy().escape_debug().to_string();
                self.say_once(&format!("work {shown} {error}"), format!("failed to clean up {shown}: {error}"));
            }
        }
    }

    /// Is a recording with this mark in its place?
    fn has_copy(&self, mark: &CollectorMark) -> bool {
        matches!(self.look(OsStr::new(&mark.name)), Ok(Found::Ours(ours)) if ours.mark == *mark)
    }

    fn finish(&mut self, name: &OsStr) -> Result<(), OutputError> {
        let (home, work) = (self.home.folder(), self.home.work());
        let text = name.to_string_lossy();
        if self.home.is_being_made(name) {
            return Ok(());
        }
        let is_mine = [GONE, FRESH, OLD, NEW].iter().any(|begin| text.starts_with(begin));
        if !is_mine || work.kind(name)? != Some(EntryKind::Directory) {
            self.alone.push(format!("{}/{}", work.path().display(), text.escape_debug()));
            return Ok(());
        }
        let folder = work.subfolder(name)?;
        let manifest = manifest_in(&folder);
        let inventory = Inventory::of(&folder, manifest.as_ref())?;
        let marks = [CollectorMark::read(&folder), manifest.as_ref().and_then(CollectorMark::of_manifest)];
        let mut marked = marks.iter().flatten().peekable();
        let is_known = if marked.peek().is_some() {
            marked.all(|mark| self.home.is_mine(mark))
        } else {
            is_empty(&folder, &inventory)
        };
        if !is_known || !folder.is_on_mount_of(work)? {
            self.alone.push(format!("{}/{}", work.path().display(), text.escape_debug()));
            return Ok(());
        }
        if !inventory.is_ours() {
            self.return_to_place(name, marks[0].as_ref(), &inventory.why_not());
            return Ok(());
        }
        // Out of its place: it is put back, and goes only where its coarser copy has taken the place.
        if text.starts_with(OLD) {
            let mark = marks[0].as_ref().filter(|mark| marks[1].as_ref() == Some(*mark));
            match mark.map(|mark| (mark, home.kind(&mark.name))) {
                Some((mark, Ok(None))) if manifest.as_ref().is_some_and(|found| inventory.has_tables_of(found)) => {
                    return work.move_to(name, home, &mark.name);
                }
                // What is left of one that was being removed.
                Some((_, Ok(None))) => {}
                Some((mark, _)) if !self.has_copy(mark) => {
                    self.alone.push(format!("{}/{}", work.path().display(), text.escape_debug()));
                    return Ok(());
                }
                _ => {}
            }
        }
        let removed = inventory.remove(&folder, &mut step).and_then(|()| work.remove_folder(name));
        if let Err(error) = &removed {
            self.return_to_place(name, marks[0].as_ref(), &error.to_string());
        }
        Ok(())
    }

    /// What cannot be removed from the work folder goes back to where its owner looks for it, when that name is free.
    fn return_to_place(&mut self, name: &OsStr, mark: Option<&CollectorMark>, why: &str) {
        let (home, work) = (self.home.folder(), self.home.work());
        let shown = format!("{}/{}", work.path().display(), name.to_string_lossy().escape_debug());
        // A coarser copy, or one that was only begun, is none of its owner's.
        let text = name.to_string_lossy();
        let is_original = [GONE, OLD].iter().any(|begin| text.starts_with(begin));
        let back = mark.filter(|mark| is_original && work.move_to(name, home, &mark.name).is_ok());
        let said = match back {
            Some(mark) => format!("{} was being removed, and is put back with what is left of it: {why}", mark.name),
            None => format!("{shown} was being removed, and is left alone: {why}"),
        };
        self.say_once(&format!("back {shown} {why}"), said);
    }
}

impl RecordingStore for Files<'_> {
    fn remove(&mut self, recording: &RecordingEntry, why: &str) -> bool {
        match self.take(recording) {
            Ok(true) => {
                self.say(
                    EventSeverity::Info,
                    format!("removed {} ({}): {why}", recording.name, format_bytes(recording.bytes)),
                );
                true
            }
            Ok(false) => false,
            Err(error) => {
                self.say_once(&format!("remove {error}"), format!("failed to remove {}: {error}", recording.name));
                false
            }
        }
    }

    fn thin(&mut self, recording: &RecordingEntry, step_ns: i64) -> bool {
        match self.replace(recording, step_ns) {
            Ok(true) => {
                let after = self.again(recording).map_or(0, |ours| ours.inventory.bytes);
                let (from, to) = (format_bytes(recording.bytes), format_bytes(after));
                let apart = format_ns(step_ns.unsigned_abs());
                self.say(
                    EventSeverity::Info,
                    format!("thinned {} to samples {apart} apart ({from}, now {to})", recording.name),
                );
                true
            }
            Ok(false) => false,
            Err(error) => {
                self.say_once(&format!("thin {error}"), format!("failed to thin {}: {error}", recording.name));
                false
            }
        }
    }

    fn room(&mut self) -> Option<DiskSpace> {
        let found = rustix::fs::fstatvfs(self.home.folder()).ok()?;
        let size = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Some(DiskSpace { total: size(found.f_blocks), free: size(found.f_bavail) })
    }

    fn say_once(&mut self, key: &str, said: String) {
        if self.reported.insert(key.to_string()) {
            self.say(EventSeverity::Warning, said);
        }
    }

    fn is_enough(&self) -> bool {
        self.stop.is_requested()
    }
}

fn kept_of(ours: &Ours) -> RecordingEntry {
    RecordingEntry {
        name: ours.mark.name.clone(),
        number: ours.mark.number,
        begun_ns: ours.mark.begun_ns,
        end_ns: ours.mark.begun_ns,
        length_ns: length_ns(&ours.manifest),
        is_flight: ours.manifest.extra.contains_key(FLIGHT_CONDITION),
        bytes: ours.inventory.bytes,
        step_ns: thinned_to_ns(&ours.manifest).unwrap_or(0),
    }
}

/// Was a recording only begun, and has it no row? A journal that cannot be read may have some.
fn is_empty(folder: &Folder, inventory: &Inventory) -> bool {
    let has_no_rows = |reader: Reader| Ok(reader.tables()?.is_empty() && reader.unreadable_bytes()? == 0);
    let is_blank = folder.open_file("journal").is_ok_and(|file| file.metadata().is_ok_and(|found| found.len() == 0));
    let is_clean = inventory.is_ours() && inventory.is_unbegun();
    is_clean
        && (!inventory.has_journal() || is_blank || Reader::open(folder.path()).and_then(has_no_rows).unwrap_or(false))
}

/// Does a program hold the lock of its journal?
fn is_written(folder: &Folder) -> bool {
    let Ok(file) = folder.open_file("journal") else { return false };
    flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

/// Tests end the collector at any of these, and take away what some file systems have not.
#[cfg(not(test))]
fn step() {}
#[cfg(not(test))]
fn can_exchange() -> bool {
    true
}
#[cfg(test)]
use super::kill_steps::{can_exchange, step};
