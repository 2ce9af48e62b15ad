//! The bytes of a file, compressed or not, and where in them one is.

use crate::ImportError;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;
/// No line of any format is as long.
const LINE_MAX: usize = 64 << 10;

/// Opens a file; what begins like gzip is decompressed, all members one after the other.
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead>, ImportError> {
    quantity::oom_context::note(&[&path.to_string_lossy()]);
    let failed = || ImportError::io("read", path);
    let mut raw = BufReader::with_capacity(BUFFER, File::open(path).map_err(failed())?);
    let is_gzip = raw.fill_buf().map_err(failed())?.starts_with(&[0x1f, 0x8b]);
    if is_gzip {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw))));
    }
    Ok(Box::new(raw))
}

/// The first bytes, by which a format is known; what cannot be decompressed has none.
pub(crate) fn head(path: &Path, bytes: usize) -> Result<Vec<u8>, ImportError> {
    let mut head = Vec::new();
    match open(path)?.take(bytes as u64).read_to_end(&mut head) {
        Ok(_) => Ok(head),
        Err(error) if is_damage(&error) => Ok(head),
        Err(error) => Err(ImportError::io("read", path)(error)),
    }
}

/// Is it the content, and not the disk, that is at fault?
fn is_damage(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof)
}

/// A text, line by line, in memory that holds one of them.
pub(crate) struct Lines {
    path: PathBuf,
    input: Box<dyn BufRead>,
    number: usize,
    text: Vec<u8>,
    is_whole: bool,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, ImportError> {
        Ok(Self { path: path.to_path_buf(), input: open(path)?, number: 0, text: Vec::new(), is_whole: true })
    }

    /// Goes to the next line that is not blank; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, ImportError> {
        loop {
            self.text.clear();
            self.number += 1;
            let read = self.input.by_ref().take(LINE_MAX as u64).read_until(b'\n', &mut self.text);
            match read {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(error) if is_damage(&error) => {
                    return Err(self.malformed(format!("the file cannot be read from here on: {error}")));
                }
                Err(error) => return Err(ImportError::io("read", &self.path)(error)),
            }
            self.is_whole = self.text.last() == Some(&b'\n');
            if !self.is_whole && self.text.len() >= LINE_MAX {
                return Err(self.malformed(format!("a line of more than {LINE_MAX} bytes: this is no such trace")));
            }
            self.text.truncate(self.text.trim_ascii_end().len());
            if !self.text.is_empty() {
                return Ok(true);
            }
        }
    }

    /// The line, without its end.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The same as text; what came through a web page has blanks of another kind.
    pub(crate) fn line(&self) -> String {
        String::from_utf8_lossy(&self.text).replace('\u{a0}', " ")
    }

    /// Its number, from 1.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Is it the last one, and without an end: perhaps cut off?
    pub(crate) fn may_be_cut(&self) -> bool {
        !self.is_whole
    }

    /// What is wrong with this line.
    pub(crate) fn malformed(&self, what: String) -> ImportError {
        self.malformed_at(self.number, what)
    }

    /// What is wrong with another line.
    pub(crate) fn malformed_at(&self, line: usize, what: String) -> ImportError {
        ImportError::Malformed { path: self.path.clone(), line, what }
    }
}

/// A stream of binary records.
pub(crate) struct Binary {
    path: PathBuf,
    input: Box<dyn BufRead>,
    /// Where the record under way began.
    at: u64,
    next: u64,
}

impl Binary {
    pub(crate) fn open(path: &Path) -> Result<Self, ImportError> {
        Ok(Self { path: path.to_path_buf(), input: open(path)?, at: 0, next: 0 })
    }

    /// A record begins here.
    pub(crate) fn begin(&mut self) {
        self.at = self.next;
    }

    /// Fills `bytes`; gives how many there were: fewer at the end of the file.
    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, ImportError> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.input.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_damage(&error) => {
                    return Err(self.malformed(format!("the file cannot be read from here on: {error}")));
                }
                Err(error) => return Err(ImportError::io("read", &self.path)(error)),
            }
        }
        self.next += filled as u64;
        Ok(filled)
    }

    /// What is wrong with the record under way.
    pub(crate) fn malformed(&self, what: String) -> ImportError {
        ImportError::MalformedRecord { path: self.path.clone(), offset: self.at, what }
    }
}
