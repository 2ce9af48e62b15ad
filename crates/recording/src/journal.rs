//! The journal: one append-only file of framed record batches, readable after any crash.
//!
//! A frame is `magic (8 bytes), length (u32 LE), crc32 (u32 LE), payload`; the payload is a table's name (a length byte
//! and the bytes) and one batch as an Arrow IPC stream, compressed ([`crate::squeeze`]) where that makes it shorter, or I/Os
//! of a trace packed ([`crate::packed`]), so that each frame stands for itself. All batches of a commit go out with one
//! write; only I/Os go out before it when there are many. A reader stops at nothing: what is torn or damaged is skipped to
//! the next magic whose frame has a right checksum, and counted.
//!
//! What is written survives the process at once (`kill -9`); it survives the machine after the next sync, which happens
//! beside the writer every 5 s and, waited for, at phase ends and before sealing.
//!
//! Cost (tests/cost.rs, one core of a small virtual machine): a commit of 2,000 rows of `op_interval` takes 1.8 ms (p99
//! 3.3), rows to batch another 1.4 ms; 392 B per row, of which sealing leaves 122.

use crate::packed::{self, IoNames, RawIo};
use crate::rows::Io;
use crate::squeeze::{Squeezer, Unsqueezer};
use crate::sync::Syncer;
use crate::{Batch, RecordingError, Row};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
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

/// Begins every frame; not text, and not to be found in Arrow's padding.
const MAGIC: [u8; 8] = *b"\x93ioJrnl\x01";
/// Magic, length, checksum.
const HEADER: usize = 16;
/// From behind a header to its beginning.
const BACK: i64 = -16;
/// A frame longer than this is damage, not data.
const FRAME_MAX: u32 = 1 << 30;
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
    /// Length of the file up to the last whole commit.
    whole: u64,
    synced_ns: u64,
    /// `None` where no thread is to be had: then the writer itself waits.
    syncer: Option<Syncer>,
}

impl JournalWriter {
    /// Creates the journal and locks it for the writer's life: a reader can tell a living writer from a dead one.
    pub(crate) fn create(folder: &Folder) -> Result<Self, RecordingError> {
        let path = folder.path().join(JOURNAL);
        let file = folder.create_new_log(JOURNAL)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // Without locks (some network file systems) a recording under way looks cut short; it is whole all the same.
            Ok(()) | Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(RecordingError::io("lock", &path)(error.into())),
        }
        // A descriptor of its own: a duplicate would keep the writer's lock.
        let syncer = folder.open_file(JOURNAL).ok().and_then(|file| Syncer::start(file).ok());
        Ok(Self {
            file,
            path,
            pending: Vec::new(),
            squeezer: Squeezer::default(),
            whole: 0,
            synced_ns: quantity::clock::now_ns(),
            syncer,
        })
    }

    /// Adds a batch to the commit under way; nothing is written yet.
    pub(crate) fn add(&mut self, batch: &Batch) -> Result<(), RecordingError> {
        let name = batch.table.name;
        let mut squeezer = std::mem::take(&mut self.squeezer);
        let added = self.add_frame(name, |pending| {
            squeezer
                .squeeze(pending, |plain| {
                    StreamWriter::try_new(plain, &batch.rows.schema())
                        .and_then(|mut writer| writer.write(&batch.rows).and_then(|()| writer.finish()))
                })
                .map_err(RecordingError::format(name))
        });
        self.squeezer = squeezer;
        added
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
        let ended = encode(&mut self.pending).and_then(|()| end_frame(name, &mut self.pending[start..]));
        if ended.is_err() {
            self.pending.truncate(start);
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
            // What arrived of it must not stand before later frames.
            if self.file.set_len(self.whole).is_err() {
                // Then it stays, and a reader steps over it. Nothing before it may ever be cut off for it.
                self.whole = self.file.metadata().map_or(u64::MAX, |file| file.len());
            }
            return Err(RecordingError::io("write", &self.path)(error));
        }
        self.whole = self.whole.saturating_add(frames.len() as u64);
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
    let mut frame = vec![0; HEADER];
    frame.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    frame.extend_from_slice(name.as_bytes());
    frame
}

/// Writes the header of a frame.
fn end_frame(name: &str, frame: &mut [u8]) -> Result<(), RecordingError> {
    let payload = &frame[HEADER..];
    let length = u32::try_from(payload.len()).ok().filter(|length| *length <= FRAME_MAX);
    let length = length.ok_or_else(|| RecordingError::format(name)("a batch of more than 1 GiB"))?;
    let checksum = crc32fast::hash(payload);
    frame[..8].copy_from_slice(&MAGIC);
    frame[8..12].copy_from_slice(&length.to_le_bytes());
    frame[12..HEADER].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

/// Is somebody writing this journal now?
pub(crate) fn is_alive(directory: &Path) -> bool {
    let Ok(file) = File::open(directory.join(JOURNAL)) else { return false };
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
    /// Somebody writes it: what is not whole at its end will be.
    pub(crate) waits: bool,
    /// Bytes that belonged to no whole frame.
    pub(crate) skipped: u64,
}

impl JournalReader {
    pub(crate) fn open(directory: &Path) -> Result<Self, RecordingError> {
        let path = directory.join(JOURNAL);
        let file = File::open(&path).map_err(RecordingError::io("open", &path))?;
        let end = file.metadata().map_err(RecordingError::io("read", &path))?.len();
        let file = std::io::BufReader::with_capacity(1 << 18, file);
        Ok(Self { file, path, at: 0, end, unsqueezer: Unsqueezer::default(), waits: false, skipped: 0 })
    }

    /// Where the file ended when it was last looked at.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Where the next frame is looked for.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Goes on at the first frame at or behind this place.
    pub(crate) fn go_to(&mut self, at: u64) -> Result<(), RecordingError> {
        self.at = at;
        self.file.seek(SeekFrom::Start(at)).map(drop).map_err(RecordingError::io("read", &self.path))
    }

    /// Takes in what was written since.
    pub(crate) fn look_again(&mut self) -> Result<(), RecordingError> {
        self.end = self.file.get_ref().metadata().map_err(RecordingError::io("read", &self.path))?.len();
        // A commit that did not fit the disk was taken back.
        let at = self.at.min(self.end);
        // What the buffer holds may end in the middle of what was being written.
        self.go_to(at)
    }

    /// Is the frame here whole? Damage counts as whole: it is stepped over.
    pub(crate) fn is_whole(&mut self) -> Result<bool, RecordingError> {
        let left = self.end.saturating_sub(self.at);
        if left < HEADER as u64 {
            return Ok(false);
        }
        let mut header = [0; HEADER];
        if !self.read(&mut header)? {
            return Ok(false);
        }
        // Within the buffer, which stays.
        self.file.seek_relative(BACK).map_err(RecordingError::io("read", &self.path))?;
        let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        let is_frame = header[..8] == MAGIC && length <= FRAME_MAX;
        Ok(!is_frame || left >= HEADER as u64 + u64::from(length))
    }

    /// The next whole frame: table name, and what [`Self::batch_of`] reads.
    pub(crate) fn next_frame(&mut self) -> Result<Option<(String, Vec<u8>)>, RecordingError> {
        while self.end.saturating_sub(self.at) >= HEADER as u64 {
            let mut header = [0; HEADER];
            if !self.read(&mut header)? {
                break;
            }
            let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            let (length, checksum) = (word(8), word(12));
            let fits = self.at + HEADER as u64 + u64::from(length) <= self.end && length <= FRAME_MAX;
            if self.waits && header[..8] == MAGIC && !fits && length <= FRAME_MAX {
                break;
            }
            if header[..8] == MAGIC && fits {
                let mut payload = vec![0; length as usize];
                if !self.read(&mut payload)? {
                    break;
                }
                if crc32fast::hash(&payload) == checksum
                    && let Some((name, stream)) = split_name(payload)
                {
                    RecordingError::check_table_name(&name, &self.path)?;
                    self.at += HEADER as u64 + u64::from(length);
                    return Ok(Some((name, stream)));
                }
            }
            self.resynchronise()?;
        }
        if self.waits {
            // The buffer stands behind the header that was looked at.
            self.go_to(self.at)?;
        } else {
            self.skipped += self.end.saturating_sub(self.at);
            self.at = self.end;
        }
        Ok(None)
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
        let mut window = [0_u8; 8];
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
            if seen >= 8 && window == MAGIC {
                self.at = position - 8;
                self.skipped += self.at - start;
                self.file.seek(SeekFrom::Start(self.at)).map_err(RecordingError::io("read", &self.path))?;
                return Ok(());
            }
        }
        // A magic may have begun in the last bytes.
        let begun = if self.waits { MAGIC.len() as u64 - 1 } else { 0 };
        self.at = self.end.saturating_sub(begun).max(start + 1).min(self.end);
        self.skipped += self.at - start;
        Ok(())
    }

    /// The batch of a frame; `None` where that cannot be read.
    pub(crate) fn batch_of(&mut self, stream: &[u8]) -> Option<RecordBatch> {
        if packed::is_packed(stream) {
            return packed::unpack(stream);
        }
        let plain = self.unsqueezer.plain(stream, FRAME_MAX as usize)?;
        StreamReader::try_new(plain, None).ok()?.next()?.ok()
    }

    /// The next batch of any table; a frame that cannot be read counts as skipped.
    pub(crate) fn next_batch(&mut self, wanted: Option<&str>) -> Result<Option<(String, RecordBatch)>, RecordingError> {
        while let Some((name, stream)) = self.next_frame()? {
            if wanted.is_some_and(|wanted| wanted != name) {
                continue;
            }
            match self.batch_of(&stream) {
                Some(batch) => return Ok(Some((name, batch))),
                None => self.skipped += stream.len() as u64,
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
