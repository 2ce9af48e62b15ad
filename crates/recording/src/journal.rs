//! The journal: one append-only file of framed record batches, readable after any crash.
//!
//! A frame is a header ([`crate::frame`]) and a payload: a table's name (a length byte and the bytes) and one batch as an
//! Arrow IPC stream, compressed ([`crate::squeeze`]) where that makes it shorter, or I/Os of a trace packed
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

use crate::frame::{self, FRAME_MAX, HEADER_MAX, Header, Layout, MAGIC_BYTES, Order};
use crate::ipc;
use crate::manifest::Changes;
use crate::packed::{self, IoNames, RawIo};
use crate::rows::Io;
use crate::squeeze::{Squeezer, Unsqueezer};
use crate::sums::sum;
use crate::sync::Syncer;
use crate::{Batch, Manifest, RecordingError, Row, regular};
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use output::Folder;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the file.
pub(crate) const JOURNAL: &str = "journal";

/// What the manifest calls bytes that belonged to no whole frame.
pub(crate) const UNREADABLE: &str = "journal_bytes_unreadable";

/// In place of a table's name: what the manifest says, or what has changed of it.
const OF_MANIFEST: &str = "manifest.json";
/// Longest batch that is written, bytes before compression; longer ones become several frames.
const BATCH_BYTES: usize = 64 << 20;
/// Longest batch that is read: earlier versions did not divide any, and no sample of a machine came near it. What is longer
/// was made to fill the reader's memory.
const BATCH_BYTES_MAX: usize = 256 << 20;
/// So many bytes of I/Os do not wait for the commit.
const LARGE_BYTES: usize = 256 * 1024;
/// How often the journal is forced to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// The writing end.
#[derive(Debug)]
pub(crate) struct JournalWriter {
    file: File,
    path: PathBuf,
    /// Frames of the commit under way.
    pending: Vec<u8>,
    squeezer: Squeezer,
    /// Hash of the recording's identity.
    recording: u64,
    /// Number of the next frame, and of the next after the last whole commit.
    number: u64,
    whole_number: u64,
    /// What the frames say of the manifest.
    told: Changes,
    /// Length of the file up to the last whole commit.
    whole: u64,
    synced_ns: u64,
    /// `None` where no thread is to be had: then the writer itself waits.
    syncer: Option<Syncer>,
}

impl JournalWriter {
    /// Creates the journal and locks it for the writer's life: a reader can tell a living writer from a dead one.
    pub(crate) fn create(folder: &Folder, manifest: &Manifest) -> Result<Self, RecordingError> {
        let path = folder.path().join(JOURNAL);
        let file = folder.create_new_log(JOURNAL)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // Without locks (some network file systems) a recording under way looks cut short; it is whole all the same.
            Ok(()) | Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(RecordingError::io("lock", &path)(error.into())),
        }
        // A descriptor of its own: a duplicate would keep the writer's lock.
        let syncer = folder.open_file(JOURNAL).ok().and_then(|file| Syncer::start(file).ok());
        let mut journal = Self {
            file,
            path,
            pending: Vec::new(),
            squeezer: Squeezer::default(),
            recording: recording_of(manifest),
            number: 0,
            whole_number: 0,
            told: Changes::default(),
            whole: 0,
            synced_ns: quantity::clock::now_ns(),
            syncer,
        };
        journal.tell(manifest)?;
        journal.commit()?;
        Ok(journal)
    }

    /// Is it still the file of its name in the recording's folder?
    pub(crate) fn has_its_name(&self, folder: &Folder) -> bool {
        folder.has(JOURNAL, &self.file)
    }

    /// Removes it, sealed as it is.
    pub(crate) fn remove(&self, folder: &Folder) -> Result<(), RecordingError> {
        remove_journal(folder, &self.file)
    }

    /// Adds to the commit under way what has changed of the manifest.
    pub(crate) fn tell(&mut self, manifest: &Manifest) -> Result<(), RecordingError> {
        let changes = self.told.of(manifest)?;
        if changes.is_empty() {
            return Ok(());
        }
        let fits = self.add_squeezed(OF_MANIFEST, BATCH_BYTES_MAX, |plain| {
            serde_json::to_writer(plain, &changes).map_err(|error| ArrowError::JsonError(error.to_string()))
        })?;
        if fits { Ok(()) } else { Err(RecordingError::format(OF_MANIFEST)("more than 256 MiB")) }
    }

    /// Adds a batch to the commit under way; nothing is written yet.
    pub(crate) fn add(&mut self, batch: &Batch) -> Result<(), RecordingError> {
        self.add_rows(batch.table.name, &batch.rows, BATCH_BYTES)
    }

    /// Adds rows as frames of at most `most` bytes before compression.
    fn add_rows(&mut self, name: &str, rows: &RecordBatch, most: usize) -> Result<(), RecordingError> {
        let fits = self.add_squeezed(name, most, |plain| {
            StreamWriter::try_new(plain, &rows.schema())
                .and_then(|mut writer| writer.write(rows).and_then(|()| writer.finish()))
        })?;
        if fits {
            return Ok(());
        }
        let half = rows.num_rows() / 2;
        if half == 0 {
            return Err(RecordingError::format(name)(format!("one row of more than {most} bytes")));
        }
        self.add_rows(name, &rows.slice(0, half), most)?;
        self.add_rows(name, &rows.slice(half, rows.num_rows() - half), most)
    }

    /// Adds a frame of what `write` gives; adds nothing and is false where that is longer than `most` bytes.
    fn add_squeezed(
        &mut self,
        name: &str,
        most: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), ArrowError>,
    ) -> Result<bool, RecordingError> {
        let (before, number) = (self.pending.len(), self.number);
        let mut squeezer = std::mem::take(&mut self.squeezer);
        let mut fits = true;
        let added = self.add_frame(name, |pending| {
            fits = squeezer.squeeze(pending, most, write).map_err(RecordingError::format(name))?;
            Ok(())
        });
        self.squeezer = squeezer;
        added?;
        if !fits {
            self.pending.truncate(before);
            self.number = number;
        }
        Ok(fits)
    }

    /// Adds I/Os packed; they are rows for whoever reads. Many go out at once.
    pub(crate) fn add_ios(&mut self, names: &IoNames, records: &[RawIo]) -> Result<(), RecordingError> {
        self.add_frame(Io::TABLE.name, |pending| packed::pack(names, records, pending))?;
        if self.pending.len() < LARGE_BYTES { Ok(()) } else { self.commit() }
    }

    fn add_frame(
        &mut self,
        name: &str,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        let start = self.pending.len();
        self.pending.extend_from_slice(&begin_frame(name));
        let (number, recording) = (self.number, self.recording);
        let ended =
            encode(&mut self.pending).and_then(|()| end_frame(name, &mut self.pending[start..], number, recording));
        match ended {
            Ok(()) => self.number += 1,
            Err(_) => self.pending.truncate(start),
        }
        ended
    }

    /// Writes the commit with one call, and syncs when the last time was long ago.
    pub(crate) fn commit(&mut self) -> Result<(), RecordingError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        let written = self.write(&pending);
        pending.clear();
        self.pending = pending;
        written
    }

    /// Writes whole frames.
    fn write(&mut self, frames: &[u8]) -> Result<(), RecordingError> {
        if let Err(error) = self.file.write_all(frames) {
            // Some of it may have been about the manifest: all of that is told again.
            self.told = Changes::default();
            // What arrived of it must not stand before later frames. Its writer hears of it: later frames take its numbers.
            if self.file.set_len(self.whole).is_ok() {
                self.number = self.whole_number;
            } else {
                // Then it stays, and a reader steps over it. Nothing before it may ever be cut off for it.
                self.whole = self.file.metadata().map_or(u64::MAX, |file| file.len());
            }
            return Err(RecordingError::io("write", &self.path)(error));
        }
        self.whole = self.whole.saturating_add(frames.len() as u64);
        self.whole_number = self.number;
        let now_ns = quantity::clock::now_ns();
        if u128::from(now_ns.saturating_sub(self.synced_ns)) < SYNC_EVERY.as_nanos() {
            return Ok(());
        }
        let Some(syncer) = &self.syncer else { return self.sync() };
        self.synced_ns = now_ns;
        syncer.ask().map_err(RecordingError::io("sync", &self.path))
    }

    /// Forces everything to the disk, and waits for it.
    pub(crate) fn sync(&mut self) -> Result<(), RecordingError> {
        self.synced_ns = quantity::clock::now_ns();
        self.file.sync_data().map_err(RecordingError::io("sync", &self.path))
    }
}

/// Room for a frame's header, and the table's name.
fn begin_frame(name: &str) -> Vec<u8> {
    let mut frame = vec![0; HEADER_MAX];
    frame.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    frame.extend_from_slice(name.as_bytes());
    frame
}

/// Writes the header of a frame.
fn end_frame(name: &str, frame: &mut [u8], number: u64, recording: u64) -> Result<(), RecordingError> {
    let (header, payload) = frame.split_at_mut(HEADER_MAX);
    let length = u32::try_from(payload.len()).ok().filter(|length| *length <= FRAME_MAX);
    let length = length.ok_or_else(|| RecordingError::format(name)("a batch of more than 1 GiB"))?;
    header.copy_from_slice(&frame::header(length, payload, number, recording));
    Ok(())
}

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

/// Is somebody writing this journal now?
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

/// The reading end: whole frames in order, up to the length that the file had when it was opened.
#[derive(Debug)]
pub(crate) struct JournalReader {
    file: std::io::BufReader<File>,
    path: PathBuf,
    at: u64,
    end: u64,
    unsqueezer: Unsqueezer,
    layout: Layout,
    /// Hash of the recording's identity; `None`: that of the first frame.
    recording: Option<u64>,
    /// What frames were there.
    pub(crate) order: Order,
    /// What the frames say of the manifest, where that is asked for.
    of_manifest: Option<Changes>,
    /// Somebody writes it: what is not whole at its end will be.
    pub(crate) waits: bool,
    /// Bytes that belonged to no whole frame.
    pub(crate) skipped: u64,
    /// Those of them that only began a frame: its writer died while it wrote it.
    pub(crate) torn: u64,
    /// Those of them in frames that stand a second time, before others, or are of another recording.
    pub(crate) strange: u64,
}

/// What stands at a place of the journal.
enum Step {
    Frame(String, Vec<u8>),
    Skipped,
    End,
}

impl JournalReader {
    /// Opens the journal of the recording with this manifest.
    pub(crate) fn open(directory: &Path, manifest: &Manifest) -> Result<Self, RecordingError> {
        Self::begin(directory, Layout::of(manifest.format_version), Some(recording_of(manifest)))
    }

    fn begin(directory: &Path, layout: Layout, recording: Option<u64>) -> Result<Self, RecordingError> {
        let path = directory.join(JOURNAL);
        let file = regular::open(&path).map_err(RecordingError::io("open", &path))?;
        let end = file.metadata().map_err(RecordingError::io("read", &path))?.len();
        let file = std::io::BufReader::with_capacity(1 << 18, file);
        Ok(Self {
            file,
            path,
            at: 0,
            end,
            unsqueezer: Unsqueezer::default(),
            layout,
            recording,
            order: Order::from_the_start(),
            of_manifest: None,
            waits: false,
            skipped: 0,
            torn: 0,
            strange: 0,
        })
    }

    /// Where the file ended when it was last looked at.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Where the next frame is looked for.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Where the frame began that was read last.
    pub(crate) fn start_of(&self, name: &str, stream: &[u8]) -> u64 {
        self.at.saturating_sub((self.layout.bytes() + 1 + name.len() + stream.len()) as u64)
    }

    /// Do the frames have numbers?
    pub(crate) fn is_numbered(&self) -> bool {
        self.layout == Layout::Two
    }

    /// Goes on at the first frame at or behind this place.
    pub(crate) fn go_to(&mut self, at: u64) -> Result<(), RecordingError> {
        self.order.jump(at == 0);
        self.seek(at)
    }

    fn seek(&mut self, at: u64) -> Result<(), RecordingError> {
        self.at = at;
        self.file.seek(SeekFrom::Start(at)).map(drop).map_err(RecordingError::io("read", &self.path))
    }

    /// Takes in what was written since.
    pub(crate) fn look_again(&mut self) -> Result<(), RecordingError> {
        self.end = self.file.get_ref().metadata().map_err(RecordingError::io("read", &self.path))?.len();
        // A commit that did not fit the disk was taken back.
        let at = self.at.min(self.end);
        // What the buffer holds may end in the middle of what was being written.
        self.seek(at)
    }

    /// Is the frame here whole? Damage counts as whole: it is stepped over.
    pub(crate) fn is_whole(&mut self) -> Result<bool, RecordingError> {
        let left = self.end.saturating_sub(self.at);
        let size = self.layout.bytes();
        if left < size as u64 {
            return Ok(false);
        }
        let mut header = [0; HEADER_MAX];
        if !self.read(&mut header[..size])? {
            return Ok(false);
        }
        // Within the buffer, which stays.
        let back = -i64::try_from(size).unwrap_or(0);
        self.file.seek_relative(back).map_err(RecordingError::io("read", &self.path))?;
        let header = self.layout.read(&header);
        Ok(header.is_none_or(|header| left >= size as u64 + u64::from(header.length)))
    }

    /// The next whole frame: table name, and what [`Self::batch_of`] reads.
    pub(crate) fn next_frame(&mut self) -> Result<Option<(String, Vec<u8>)>, RecordingError> {
        loop {
            match self.step()? {
                Step::Frame(name, stream) if name == OF_MANIFEST && self.layout == Layout::Two => self.hear(&stream),
                Step::Frame(name, stream) => {
                    RecordingError::check_table_name(&name, &self.path)?;
                    return Ok(Some((name, stream)));
                }
                Step::Skipped => {}
                Step::End => break,
            }
        }
        if self.waits {
            // The buffer stands behind the header that was looked at.
            self.seek(self.at)?;
        } else {
            self.end_here()?;
        }
        Ok(None)
    }

    /// Takes one step: a frame, or over something that is none.
    fn step(&mut self) -> Result<Step, RecordingError> {
        let size = self.layout.bytes();
        let left = self.end.saturating_sub(self.at);
        let mut header = [0; HEADER_MAX];
        if left < size as u64 || !self.read(&mut header[..size])? {
            return Ok(Step::End);
        }
        let Some(header) = self.layout.read(&header) else {
            if self.layout.is_sure() && !self.waits && self.is_zero_from(self.at)? {
                return Ok(Step::End);
            }
            return self.resynchronise().map(|()| Step::Skipped);
        };
        if size as u64 + u64::from(header.length) > left {
            if self.waits || self.layout.is_sure() {
                return Ok(Step::End);
            }
            return self.resynchronise().map(|()| Step::Skipped);
        }
        let mut payload = vec![0; header.length as usize];
        if !self.read(&mut payload)? {
            return Ok(Step::End);
        }
        self.take(header, payload)
    }

    /// A frame that is all there: whole, and one of this recording, which comes next?
    fn take(&mut self, header: Header, payload: Vec<u8>) -> Result<Step, RecordingError> {
        let bytes = (self.layout.bytes() + payload.len()) as u64;
        let is_foreign = header.place.is_some_and(|(_, of)| *self.recording.get_or_insert(of) != of);
        let named = (crc32fast::hash(&payload) == header.checksum).then(|| split_name(payload)).flatten();
        let Some((name, stream)) = named else {
            return self.step_over(header, bytes, is_foreign).map(|()| Step::Skipped);
        };
        self.at += bytes;
        let number = header.place.map_or(0, |(number, _)| number);
        // A later one that stands before the one that comes next would make all between them late.
        let is_early = match self.order.awaited(number).filter(|_| header.place.is_some()) {
            Some(awaited) => self.is_here(awaited)?,
            None => false,
        };
        match (is_foreign, is_early) {
            (true, _) => self.order.misplaced += 1,
            (false, true) => self.order.came_early(number),
            (false, false) if header.place.is_none() || self.order.take(number) => {
                return Ok(Step::Frame(name, stream));
            }
            (false, false) => {}
        }
        self.skipped += bytes;
        self.strange += bytes;
        Ok(Step::Skipped)
    }

    /// Does the frame of this number stand here?
    fn is_here(&mut self, number: u64) -> Result<bool, RecordingError> {
        let (at, size) = (self.at, self.layout.bytes());
        let mut header = [0; HEADER_MAX];
        let is_long_enough = self.end.saturating_sub(at) >= size as u64 && self.read(&mut header[..size])?;
        self.seek(at)?;
        let place = self.layout.read(&header[..size]).filter(|_| is_long_enough).and_then(|header| header.place);
        Ok(place.is_some_and(|(there, of)| there == number && self.recording == Some(of)))
    }

    /// A damaged payload: to where the next frame should begin, or where that cannot be known to the next one that does.
    fn step_over(&mut self, header: Header, bytes: u64, is_foreign: bool) -> Result<(), RecordingError> {
        let Some((number, _)) = header.place else { return self.resynchronise() };
        let mut next = [0; MAGIC_BYTES];
        let behind = self.at + bytes;
        let is_next = behind == self.end
            || (self.end - behind >= MAGIC_BYTES as u64 && self.read(&mut next)? && next == self.layout.magic());
        if !is_next {
            // A frame that was never finished, and others behind it.
            return self.resynchronise();
        }
        if is_foreign || !self.order.lose(number) {
            self.strange += bytes;
        }
        self.skipped += bytes;
        self.seek(behind)
    }

    /// What is left is no frame: one that only began, as far as one can tell, or damage.
    fn end_here(&mut self) -> Result<(), RecordingError> {
        let left = self.end.saturating_sub(self.at);
        self.skipped += left;
        if left > 0 && self.layout.is_sure() && self.has_begun(left)? {
            self.torn += left;
        }
        self.at = self.end;
        Ok(())
    }

    /// Did a frame begin here whose rest was not written? Its header is whole or cut off, or nothing but zeros came to
    /// the disk of it.
    fn has_begun(&mut self, left: u64) -> Result<bool, RecordingError> {
        let at = self.at;
        let mut bytes = [0; HEADER_MAX];
        let there = usize::try_from(left).unwrap_or(HEADER_MAX).min(HEADER_MAX);
        self.seek(at)?;
        if !self.read(&mut bytes[..there])? {
            return Ok(false);
        }
        let begins = there.min(MAGIC_BYTES);
        let begun = if there < HEADER_MAX {
            bytes[..begins] == self.layout.magic()[..begins]
        } else {
            self.layout.read(&bytes).is_some()
        };
        Ok(begun || self.is_zero_from(at)?)
    }

    /// Is there nothing but zeros from here to the end? The file grew, and what was written did not come to the disk.
    fn is_zero_from(&mut self, at: u64) -> Result<bool, RecordingError> {
        self.seek(at)?;
        let mut buffer = [0; 4096];
        let mut left = self.end.saturating_sub(at);
        let mut is_zero = true;
        while is_zero && left > 0 {
            let wanted = usize::try_from(left).unwrap_or(buffer.len()).min(buffer.len());
            is_zero = self.read(&mut buffer[..wanted])? && buffer[..wanted].iter().all(|byte| *byte == 0);
            left = left.saturating_sub(wanted as u64);
        }
        self.seek(at)?;
        Ok(is_zero)
    }

    /// Takes in what a frame says of the manifest.
    fn hear(&mut self, stream: &[u8]) {
        let Some(changes) = &mut self.of_manifest else { return };
        let plain = self.unsqueezer.plain(stream, BATCH_BYTES_MAX);
        match plain.and_then(|plain| serde_json::from_slice(&plain).ok()) {
            Some(said) => changes.add(said),
            None => self.order.lost += 1,
        }
    }

    /// Fills `bytes`; false where the file has become shorter: its writer took a commit back that did not fit the disk.
    fn read(&mut self, bytes: &mut [u8]) -> Result<bool, RecordingError> {
        match self.file.read_exact(bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.end = self.at;
                Ok(false)
            }
            read => read.map(|()| true).map_err(RecordingError::io("read", &self.path)),
        }
    }

    /// Moves to the next magic after the current position.
    fn resynchronise(&mut self) -> Result<(), RecordingError> {
        let start = self.at;
        self.at += 1;
        self.file.seek(SeekFrom::Start(self.at)).map_err(RecordingError::io("read", &self.path))?;
        let magic = self.layout.magic();
        let mut window = [0_u8; MAGIC_BYTES];
        let mut seen = 0_usize;
        let mut byte = [0];
        let mut position = self.at;
        while position < self.end {
            if self.file.read(&mut byte).map_err(RecordingError::io("read", &self.path))? == 0 {
                break;
            }
            window.rotate_left(1);
            window[7] = byte[0];
            seen += 1;
            position += 1;
            if seen >= MAGIC_BYTES && window == magic {
                self.at = position - 8;
                self.skipped += self.at - start;
                self.file.seek(SeekFrom::Start(self.at)).map_err(RecordingError::io("read", &self.path))?;
                return Ok(());
            }
        }
        // A magic may have begun in the last bytes.
        let begun = if self.waits { MAGIC_BYTES as u64 - 1 } else { 0 };
        self.at = self.end.saturating_sub(begun).max(start + 1).min(self.end);
        self.skipped += self.at - start;
        Ok(())
    }

    /// The batch of a frame; `None` where that cannot be read.
    pub(crate) fn batch_of(&mut self, stream: &[u8]) -> Option<RecordBatch> {
        if packed::is_packed(stream) {
            return packed::unpack(stream);
        }
        ipc::batch(self.unsqueezer.plain(stream, BATCH_BYTES_MAX)?)
    }

    /// Could [`Self::batch_of`] read this frame? Of I/Os no rows are made for that.
    pub(crate) fn is_readable(&mut self, stream: &[u8]) -> bool {
        if packed::is_packed(stream) { packed::is_whole(stream) } else { self.batch_of(stream).is_some() }
    }

    /// Counts a frame that cannot be read.
    pub(crate) fn leave_out(&mut self, stream: &[u8]) {
        self.skipped += stream.len() as u64;
        self.order.lost += 1;
    }

    /// Bytes that belonged to no whole frame of this recording.
    pub(crate) fn unreadable(&self) -> u64 {
        self.skipped - self.strange
    }

    /// The next batch of any table; a frame that cannot be read counts as skipped.
    pub(crate) fn next_batch(&mut self, wanted: Option<&str>) -> Result<Option<(String, RecordBatch)>, RecordingError> {
        while let Some((name, stream)) = self.next_frame()? {
            if wanted.is_some_and(|wanted| wanted != name) {
                continue;
            }
            match self.batch_of(&stream) {
                Some(batch) => return Ok(Some((name, batch))),
                None => self.leave_out(&stream),
            }
        }
        Ok(None)
    }
}

/// Takes the table's name off a payload.
fn split_name(mut payload: Vec<u8>) -> Option<(String, Vec<u8>)> {
    let length = usize::from(*payload.first()?);
    let name = String::from_utf8(payload.get(1..=length)?.to_vec()).ok()?;
    payload.drain(..=length);
    Some((name, payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Pressure;

    #[test]
    fn a_batch_that_is_too_long_becomes_several_frames() {
        let folder = tempfile::tempdir().unwrap();
        let row = |n: i64| Pressure { t_ns: n, t_s: 0.0, resource: "x".repeat(50), some_ns: Some(n), full_ns: None };
        let rows = Batch::from_rows(&(0..100).map(row).collect::<Vec<Pressure>>()).unwrap().rows;
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
