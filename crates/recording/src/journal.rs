//! The journal: one append-only file of framed record batches, readable after any crash.
//!
//! A frame is a header ([`crate::frame`]) and a payload: a table's name (a length byte and the bytes) and one batch as an
//! Arrow IPC stream, compressed ([`crate::compress`]) where that makes it shorter, or I/Os of a trace packed
//! ([`crate::packed`]), so that each frame stands for itself. The first frame has the manifest, later ones what changed of it.
//! All batches of a commit go out with one write; only I/Os go out before it when there are many. A reader stops at
//! nothing: what is damaged is skipped to the next whole frame, and counted, by numbers. A frame that only began at the end
//! is no damage: its writer died, or is at it.
//!
//! What is written survives the process at once (`kill -9`); it survives the machine after the next sync, which happens
//! beside the writer every 5 s and, waited for, at phase ends and before sealing.
//!
//! Cost (tests/it/cost.rs, one core of a small virtual machine): a commit of 2,000 rows of `op_interval` takes 1.8 ms (p99
//! 3.3), rows to batch another 1.4 ms; 392 B per row, of which sealing leaves 122.

mod reader;
mod writer;

pub(crate) use reader::JournalReader;
pub(crate) use writer::JournalWriter;

use crate::checksums::sum;
use crate::frame::{Layout, MAGIC_BYTES};
use crate::manifest::Changes;
use crate::{Manifest, RecordingError, regular};
use output::Folder;
use reader::Step;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::Path;

/// Name of the file.
pub(crate) const JOURNAL: &str = "journal";

/// In place of a table's name: what the manifest says, or what has changed of it.
const OF_MANIFEST: &str = "manifest.json";
/// Longest batch that is read: earlier versions did not divide any, and no sample of a machine came near it. What is longer
/// was made to fill the reader's memory.
const BATCH_BYTES_MAX: usize = 256 << 20;
/// Removes the journal that is open as `file`: another file that has its name by now stays.
pub(crate) fn remove_journal(folder: &Folder, file: &File) -> Result<(), RecordingError> {
    if !folder.has(JOURNAL, file) {
        return Err(RecordingError::ForeignJournal(folder.path().join(JOURNAL)));
    }
    Ok(folder.remove_file(JOURNAL)?)
}

/// What tells frames of this recording from those of others.
fn recording_of(manifest: &Manifest) -> u64 {
    sum(manifest.id.as_bytes())
}

/// The manifest as the journal has it; `None` where there is no journal, or that does not have all of it.
pub(crate) fn manifest(directory: &Path) -> Option<Manifest> {
    let mut journal = JournalReader::begin(directory, Layout::Two, None).ok()?;
    let mut begin = [0; MAGIC_BYTES];
    if !journal.read(&mut begin).ok()? || begin != Layout::Two.magic() {
        // Some other file of that name, perhaps a long one.
        return None;
    }
    journal.go_to(0).ok()?;
    journal.of_manifest = Some(Changes::default());
    while journal.next_frame().ok()?.is_some() {}
    journal.of_manifest?.manifest()
}

/// Is there a journal with something in it? Its first frame is written before the manifest: an empty one was emptied.
pub(crate) fn is_there(directory: &Path) -> bool {
    regular::open(&directory.join(JOURNAL)).and_then(|file| file.metadata()).is_ok_and(|of| of.len() > 0)
}

/// Has the journal frames of the recording with this manifest? `None` where there is no journal, or no whole frame in it.
pub(crate) fn belongs_to(directory: &Path, manifest: &Manifest) -> Option<bool> {
    let mut journal = JournalReader::begin(directory, Layout::Two, Some(recording_of(manifest))).ok()?;
    loop {
        match journal.step().ok()? {
            Step::Frame(..) => return Some(true),
            Step::Skipped => {}
            Step::End => return (journal.order.misplaced > 0).then_some(false),
        }
    }
}

/// Is this file a journal of the recording with this manifest, by its beginning? What was only begun is, and what has nothing
/// but zeros in it: a file system that lost its power leaves those.
pub(crate) fn is_of(file: &mut File, manifest: &Manifest) -> io::Result<bool> {
    let layout = Layout::of(manifest.format_version);
    let mut begin = Vec::new();
    file.rewind()?;
    Read::by_ref(file).take(layout.bytes() as u64).read_to_end(&mut begin)?;
    let is_begun = begin.len() < layout.bytes() && layout.magic().starts_with(&begin[..begin.len().min(MAGIC_BYTES)]);
    let is_ours = layout
        .read(&begin)
        .is_some_and(|header| header.place.is_none_or(|(_, recording)| recording == recording_of(manifest)));
    Ok(is_begun || is_ours || is_zero(file)?)
}

/// Has a file nothing but zeros in it?
fn is_zero(file: &mut File) -> io::Result<bool> {
    file.rewind()?;
    let mut buffer = [0; 4096];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(true),
            read if buffer[..read].iter().any(|byte| *byte != 0) => return Ok(false),
            _ => {}
        }
    }
}

/// Has the journal in `directory` a whole frame of the recording with this manifest, wherever it stands?
pub(crate) fn has_frame_of(directory: &Path, manifest: &Manifest) -> bool {
    JournalReader::open(directory, manifest)
        .and_then(|mut journal| journal.next_frame())
        .is_ok_and(|frame| frame.is_some())
}

/// Does a process write this journal now?
pub(crate) fn is_alive(directory: &Path) -> bool {
    let Ok(file) = regular::open(&directory.join(JOURNAL)) else { return false };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            let _ = flock(&file, FlockOperation::Unlock);
            false
        }
        Err(error) => error == Errno::WOULDBLOCK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Pressure;
    use crate::{Row as _, RowBatch};

    #[test]
    fn a_batch_that_is_too_long_becomes_several_frames() {
        let folder = tempfile::tempdir().unwrap();
        let row = |n: i64| Pressure { t_ns: n, t_s: 0.0, resource: "x".repeat(50), some_ns: Some(n), full_ns: None };
        let rows = RowBatch::from_rows(&(0..100).map(row).collect::<Vec<Pressure>>()).unwrap().rows;
        let manifest = Manifest::new(&[]);
        let mut writer = JournalWriter::create(&Folder::open(folder.path()).unwrap(), &manifest).unwrap();
        writer.add_rows("pressure", &rows, 4000).unwrap();
        // Not even one row fits: an error, and nothing of it is written.
        assert!(writer.add_rows("pressure", &rows.slice(0, 1), 100).is_err());
        writer.commit().unwrap();
        let mut journal = JournalReader::open(folder.path(), &manifest).unwrap();
        let (mut frames, mut times) = (0, Vec::new());
        while let Some((_, batch)) = journal.next_batch(None).unwrap() {
            frames += 1;
            times.extend(Pressure::from_batch(&batch).unwrap().iter().map(|row| row.t_ns));
        }
        assert!(frames > 2, "{frames}");
        assert_eq!(times, (0..100).collect::<Vec<i64>>());
        // The frames that did not fit have left no gap in the numbers.
        assert_eq!((journal.skipped, journal.order.lost), (0, 0));
    }
}
