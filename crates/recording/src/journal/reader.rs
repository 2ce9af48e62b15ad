//! The reading end of a journal.

use super::{BATCH_BYTES_MAX, JOURNAL, OF_MANIFEST, recording_of};
use crate::compress::BatchDecompressor;
use crate::frame::{HEADER_MAX, Header, Layout, MAGIC_BYTES, Order};
use crate::ipc;
use crate::manifest::Changes;
use crate::packed;
use crate::{Manifest, RecordingError, regular};
use arrow_array::RecordBatch;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The reading end: whole frames in order, up to the length that the file had when it was opened.
#[derive(Debug)]
pub(crate) struct JournalReader {
    file: std::io::BufReader<File>,
    path: PathBuf,
    at: u64,
    end: u64,
    decompressor: BatchDecompressor,
    layout: Layout,
    /// Hash of the recording's identity; `None`: that of the first frame.
    recording: Option<u64>,
    /// What frames were there.
    pub(crate) order: Order,
    /// What the frames say of the manifest, where that is asked for.
    pub(super) of_manifest: Option<Changes>,
    /// A writer appends to it: an incomplete frame at its end will be completed.
    pub(crate) waits: bool,
    /// Bytes that belonged to no whole frame.
    pub(crate) skipped: u64,
    /// Those of them that only began a frame: its writer died while it wrote it.
    pub(crate) torn: u64,
    /// Those of them in frames that stand a second time, before others, or are of another recording.
    pub(crate) strange: u64,
}

/// What stands at a place of the journal.
pub(super) enum Step {
    Frame(String, Vec<u8>),
    Skipped,
    End,
}

impl JournalReader {
    /// Opens the journal of the recording with this manifest.
    pub(crate) fn open(directory: &Path, manifest: &Manifest) -> Result<Self, RecordingError> {
        Self::begin(directory, Layout::of(manifest.format_version), Some(recording_of(manifest)))
    }

    pub(super) fn begin(directory: &Path, layout: Layout, recording: Option<u64>) -> Result<Self, RecordingError> {
        let path = directory.join(JOURNAL);
        let file = regular::open(&path).map_err(RecordingError::io("open", &path))?;
        let end = file.metadata().map_err(RecordingError::io("read", &path))?.len();
        let file = std::io::BufReader::with_capacity(1 << 18, file);
        Ok(Self {
            file,
            path,
            at: 0,
            end,
            decompressor: BatchDecompressor::default(),
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
    pub(super) fn step(&mut self) -> Result<Step, RecordingError> {
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
        let plain = self.decompressor.plain(stream, BATCH_BYTES_MAX);
        match plain.and_then(|plain| serde_json::from_slice(&plain).ok()) {
            Some(said) => changes.add(said),
            None => self.order.lost += 1,
        }
    }

    /// Fills `bytes`; false where the file has become shorter: its writer took a commit back that did not fit the disk.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> Result<bool, RecordingError> {
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
        ipc::batch(self.decompressor.plain(stream, BATCH_BYTES_MAX)?)
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
