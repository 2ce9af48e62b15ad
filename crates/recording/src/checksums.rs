//! Checksums of sealed files, block by block, in the manifest: Parquet pages have none here, and a flipped bit gives
//! other numbers that look like any others. A block is checked when something of it is first read, so that a face that
//! looks at a minute of a long trace reads no more than before, and nothing that was not checked is decoded.

use crate::{RecordingError, regular};
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs::File;
use std::hash::Hasher as _;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use twox_hash::XxHash64;

/// Bytes that share a checksum.
const BLOCK_BYTES: u64 = 1 << 20;
/// A checksum in the manifest.
const DIGITS: usize = 16;

/// A sealed file of a recording, as the manifest knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecksummedFile {
    /// Below the recording's directory: `TABLE/host=HOST/000001.parquet`.
    pub path: String,
    /// Rows in it.
    pub rows: u64,
    /// Its length.
    pub bytes: u64,
    /// Bytes that share a checksum; the last block may be shorter.
    pub block_bytes: u64,
    /// XXH64 of each block, 16 hexadecimal digits each, one behind the other.
    pub sums: String,
}

impl ChecksummedFile {
    /// The table that it holds rows of; `None` where the path is not of a recording's file: such a one is never opened.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        Self::is_path(&self.path).then(|| self.path.split('/').next()).flatten()
    }

    /// Is it `TABLE/host=HOST/NAME.parquet`, and leads nowhere else?
    pub(crate) fn is_path(path: &str) -> bool {
        let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        match path.split('/').collect::<Vec<&str>>()[..] {
            [table, host, file] => {
                is_plain && !table.is_empty() && host.starts_with("host=") && file.ends_with(".parquet")
            }
            _ => false,
        }
    }

    /// Is this file what was written? All of it is read.
    pub(crate) fn is_in(&self, file: &File) -> bool {
        let has_length = file.metadata().is_ok_and(|found| found.len() == self.bytes);
        let expected = Expected::new(Path::new(""), self);
        has_length && expected.is_ok_and(|expected| expected.check(file, 0, self.bytes).is_ok())
    }

    /// The file at `path` below `directory` as it is now.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn of(directory: &Path, path: String, rows: u64) -> Result<Self, RecordingError> {
        let full = directory.join(&path);
        let opened = regular::open_below(directory, Path::new(&path));
        let mut file = opened.map_err(RecordingError::io("open", &full))?;
        let mut summing = Summing::new(io::sink());
        io::copy(&mut file, &mut summing).map_err(RecordingError::io("read", &full))?;
        Ok(summing.part(path, rows))
    }
}

/// Passes on what is written, and sums it up.
#[derive(Debug)]
pub(crate) struct Summing<W> {
    out: W,
    hasher: XxHash64,
    in_block: u64,
    bytes: u64,
    sums: String,
}

impl<W> Summing<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, hasher: XxHash64::with_seed(0), in_block: 0, bytes: 0, sums: String::new() }
    }

    pub(crate) fn get_ref(&self) -> &W {
        &self.out
    }

    /// What was written, as the manifest keeps it.
    pub(crate) fn part(self, path: String, rows: u64) -> ChecksummedFile {
        self.end(path, rows).1
    }

    /// Where it was written, and what.
    pub(crate) fn end(mut self, path: String, rows: u64) -> (W, ChecksummedFile) {
        if self.in_block > 0 {
            self.end_block();
        }
        (self.out, ChecksummedFile { path, rows, bytes: self.bytes, block_bytes: BLOCK_BYTES, sums: self.sums })
    }

    fn end_block(&mut self) {
        let _ = write!(self.sums, "{:016x}", self.hasher.finish());
        (self.hasher, self.in_block) = (XxHash64::with_seed(0), 0);
    }

    fn add(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = usize::try_from(BLOCK_BYTES - self.in_block).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(room);
            self.hasher.write(now);
            self.in_block += now.len() as u64;
            if self.in_block == BLOCK_BYTES {
                self.end_block();
            }
            bytes = later;
        }
    }
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// XXH64 of some bytes.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

/// What the blocks of a file must be, and which of them were.
#[derive(Debug)]
pub(crate) struct Expected {
    directory: PathBuf,
    /// Below it.
    path: String,
    bytes: u64,
    block_bytes: u64,
    sums: Vec<u64>,
    good: Vec<AtomicBool>,
    damaged: OnceLock<String>,
}

impl Expected {
    /// Of a part of the recording in `directory`.
    ///
    /// # Errors
    /// The manifest does not tell what it must.
    pub(crate) fn new(directory: &Path, part: &ChecksummedFile) -> Result<Self, RecordingError> {
        let wrong = |why: &str| RecordingError::Damaged {
            path: directory.to_path_buf(),
            why: format!("the manifest's entry of {:?} {why}", part.path),
        };
        part.table().ok_or_else(|| wrong("is no file of a recording"))?;
        let digits = part.sums.as_bytes().chunks(DIGITS);
        let read = |digits: &[u8]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let sums = digits.map(read).collect::<Option<Vec<u64>>>().ok_or_else(|| wrong("has no checksums"))?;
        if part.block_bytes == 0 || part.bytes.div_ceil(part.block_bytes) != sums.len() as u64 {
            return Err(wrong("has not one checksum per block"));
        }
        Ok(Self {
            directory: directory.to_path_buf(),
            path: part.path.clone(),
            bytes: part.bytes,
            block_bytes: part.block_bytes,
            good: sums.iter().map(|_| AtomicBool::new(false)).collect(),
            sums,
            damaged: OnceLock::new(),
        })
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The recording's directory, and the path below it.
    pub(crate) fn place(&self) -> (&Path, &str) {
        (&self.directory, &self.path)
    }

    /// Checks the blocks that hold these bytes, unless they were before.
    fn check(&self, file: &File, start: u64, length: u64) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        let last = start.saturating_add(length - 1) / self.block_bytes;
        for at in start / self.block_bytes..=last {
            let index = usize::try_from(at).unwrap_or(usize::MAX);
            let (Some(sum), Some(good)) = (self.sums.get(index), self.good.get(index)) else { break };
            if good.load(Ordering::Relaxed) {
                continue;
            }
            let from = at * self.block_bytes;
            let block = read_at(file, from, self.block_bytes.min(self.bytes - from))?;
            if XxHash64::oneshot(0, &block) != *sum {
                let to = from + block.len() as u64;
                let why = format!("bytes {from} to {to} are not what was written (their checksum differs)");
                let _ = self.damaged.set(why.clone());
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            good.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn read_at(file: &File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

/// Bytes that stand behind the end that a sealed file had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// The file is not what was written.
    IsDamage,
    /// It is read as if they were not there.
    IsLeftOut,
}

/// A sealed file that is checked as it is read; one of an older recording, which has no checksums, is read as it is.
#[derive(Clone, Debug)]
pub(crate) struct CheckedFile {
    file: Arc<File>,
    bytes: u64,
    expected: Option<Arc<Expected>>,
}

impl CheckedFile {
    /// Opens the file at `below` in the recording of this directory. `tail`: what to do with bytes behind its end.
    ///
    /// # Errors
    /// It is not there, or not as long as it was; something on the way is a link.
    pub(crate) fn open(
        directory: &Path,
        below: &str,
        expected: Option<Arc<Expected>>,
        tail: Tail,
    ) -> Result<Self, RecordingError> {
        let path = directory.join(below);
        let file =
            regular::open_below(directory, Path::new(below)).map_err(|error| match (error.kind(), &expected) {
                (io::ErrorKind::NotFound, Some(_)) => {
                    RecordingError::Damaged { path: path.clone(), why: "the file is gone".to_string() }
                }
                _ => RecordingError::io("open", &path)(error),
            })?;
        let found = file.metadata().map_err(RecordingError::io("read", &path))?.len();
        let end = expected.as_ref().filter(|_| tail == Tail::IsLeftOut).map_or(u64::MAX, |known| known.bytes);
        let bytes = found.min(end);
        if let Some(known) = expected.as_ref().filter(|known| known.bytes != bytes) {
            let why = format!("it has {bytes} bytes and had {} when it was sealed", known.bytes);
            return Err(RecordingError::Damaged { path, why });
        }
        Ok(Self { file: Arc::new(file), bytes, expected })
    }

    /// Checks all of it.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn check_all(&self, path: &Path) -> Result<(), RecordingError> {
        let checked = self.check(0, self.bytes);
        checked.map_err(|error| self.why(path).unwrap_or_else(|| RecordingError::io("read", path)(error)))
    }

    /// Why it could not be read, when that is because it is damaged: what passes through decoders comes out as other words.
    pub(crate) fn why(&self, path: &Path) -> Option<RecordingError> {
        let why = self.expected.as_ref()?.damaged.get()?.clone();
        Some(RecordingError::Damaged { path: path.to_path_buf(), why })
    }

    fn check(&self, start: u64, length: u64) -> io::Result<()> {
        self.expected.as_ref().map_or(Ok(()), |expected| expected.check(&self.file, start, length))
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.bytes
    }
}

/// Reads on from a place.
#[derive(Debug)]
pub(crate) struct ReadFrom {
    file: CheckedFile,
    at: u64,
}

impl Read for ReadFrom {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.file.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = bytes.len().min(left);
        self.file.check(self.at, wanted as u64)?;
        let read = self.file.file.read_at(&mut bytes[..wanted], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl ChunkReader for CheckedFile {
    type T = BufReader<ReadFrom>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(ReadFrom { file: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            let bytes = self.bytes;
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are behind the end of {bytes} bytes")));
        }
        self.check(start, length as u64)?;
        Ok(read_at(&self.file, start, length as u64)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_elsewhere_is_no_part() {
        let table = |path: &str| {
            let part =
                ChecksummedFile { path: path.to_string(), rows: 0, bytes: 0, block_bytes: 1, sums: String::new() };
            part.table().map(ToString::to_string)
        };
        assert_eq!(table("io/host=a/000001.parquet").as_deref(), Some("io"));
        for path in ["/etc/host=a/x.parquet", "../host=a/x.parquet", "io/x.parquet", "io/host=a/../x.parquet", "", "io"]
        {
            assert_eq!(table(path), None, "{path}");
        }
    }

    #[test]
    fn every_flipped_bit_of_what_is_read_is_found_and_others_do_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("io/host=a")).unwrap();
        let name = "io/host=a/000001.parquet";
        let path = folder.path().join(name);
        let mut bytes: Vec<u8> = (0..BLOCK_BYTES * 2 + 77).map(|at| (at * 7 % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let part = ChecksummedFile::of(folder.path(), name.to_string(), 1).unwrap();
        assert_eq!((part.bytes, part.sums.len()), (bytes.len() as u64, 3 * DIGITS));
        let open = || {
            CheckedFile::open(
                folder.path(),
                name,
                Some(Arc::new(Expected::new(folder.path(), &part).unwrap())),
                Tail::IsDamage,
            )
        };
        assert!(open().unwrap().check_all(&path).is_ok());
        let place = BLOCK_BYTES + 5;
        bytes[usize::try_from(place).unwrap()] ^= 4;
        std::fs::write(&path, &bytes).unwrap();
        let file = open().unwrap();
        assert_eq!(file.get_bytes(3, 100).unwrap(), bytes[3..103]);
        assert!(file.get_bytes(BLOCK_BYTES - 1, 2).is_err(), "the block was read");
        assert!(matches!(file.why(&path), Some(RecordingError::Damaged { .. })));
        let mut rest = Vec::new();
        assert!(file.get_read(0).unwrap().read_to_end(&mut rest).is_err());
        assert!(rest.len() as u64 <= BLOCK_BYTES, "nothing of a damaged block goes out");
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(matches!(open(), Err(RecordingError::Damaged { .. })), "shorter");
    }
}
