//! Reading the kernel's text files, over and over, at little cost.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// First size of a buffer; it grows to what the largest file needs and stays there.
const BUFFER_BYTES: usize = 16 << 10;

/// A file of `/proc` that stays open between samples: reading from its start again makes the kernel write it anew.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    path: PathBuf,
}

impl Source {
    /// Opens a file.
    pub(crate) fn open(path: PathBuf) -> Result<Self, String> {
        match File::open(&path) {
            Ok(file) => Ok(Self { file, path }),
            Err(error) => Err(format!("failed to open {}: {error}", path.display())),
        }
    }

    /// Reads all of it into a buffer that several sources share; returns the part that was filled.
    pub(crate) fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], String> {
        if buffer.is_empty() {
            buffer.resize(BUFFER_BYTES, 0);
        }
        let mut filled = 0;
        loop {
            if filled == buffer.len() {
                buffer.resize(buffer.len() * 2, 0);
            }
            match self.file.read_at(&mut buffer[filled..], filled as u64) {
                Ok(0) => return Ok(&buffer[..filled]),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("failed to read {}: {error}", self.path.display())),
            }
        }
    }
}

/// The lines of a text, without their ends.
#[inline]
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// The words of a line.
#[inline]
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

/// A counter; `None` for what is no number. Counters beyond 63 bits do not exist in practice and become `None` too.
#[inline]
pub(crate) fn counter(word: &[u8]) -> Option<i64> {
    let mut value = 0_i64;
    for byte in word {
        let digit = i64::from(byte.checked_sub(b'0').filter(|digit| *digit < 10)?);
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    (!word.is_empty()).then_some(value)
}

/// The number behind a name in a file of `name value` or `name: value` lines (`/proc/meminfo`, `/proc/vmstat`).
pub(crate) fn named(text: &[u8], name: &str) -> Option<i64> {
    lines(text).find_map(|line| {
        let mut words = words(line);
        let found = words.next()?;
        let found = found.strip_suffix(b":").unwrap_or(found);
        (found == name.as_bytes()).then(|| words.next().and_then(counter)).flatten()
    })
}

/// A small file's content without white space around it; `None` when it is missing or empty.
pub(crate) fn small(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_string();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters() {
        for (text, expect) in
            [("0", Some(0)), ("9223372036854775807", Some(i64::MAX)), ("", None), ("-1", None), ("1x", None)]
        {
            assert_eq!(counter(text.as_bytes()), expect, "{text}");
        }
        assert_eq!(counter(b"18446744073709551615"), None);
    }

    #[test]
    fn named_values() {
        let text = b"MemTotal:  24 kB\npswpin 7\npswpinx 8\nbad x\n";
        assert_eq!(named(text, "MemTotal"), Some(24));
        assert_eq!(named(text, "pswpin"), Some(7));
        assert_eq!((named(text, "bad"), named(text, "none")), (None, None));
    }

    #[test]
    fn a_source_is_read_anew_and_grows_its_buffer() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        std::fs::write(&path, "one").unwrap();
        let source = Source::open(path.clone()).unwrap();
        let mut buffer = Vec::new();
        assert_eq!(source.read(&mut buffer).unwrap(), b"one");
        let large = vec![b'x'; 3 * BUFFER_BYTES];
        std::fs::write(&path, &large).unwrap();
        assert_eq!(source.read(&mut buffer).unwrap(), large);
        std::fs::write(&path, "less").unwrap();
        assert_eq!(source.read(&mut buffer).unwrap(), b"less");
        assert!(Source::open(scratch.path().join("none")).unwrap_err().contains("none"));
    }
}
