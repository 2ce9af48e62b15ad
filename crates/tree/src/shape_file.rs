//! Shape files: the exact shape of a tree as text, for `shape=FILE` of a tree.
//!
//! Lines of ASCII: `iodyno tree shape 1`, `directories N`, `files N` and `bytes N`; then, for the anchor and behind it every directory, by
//! level and in a level by their parents, `d D F`: it holds D directories and F files, with the sizes of the F files behind it in lines
//! `s BYTES BYTES …`; at last `end` and the FNV-1a sum (64 bits, hexadecimal) of all bytes before this line. There are no names. Nothing
//! is longer in memory than four times the text, so that a damaged or hostile file cannot ask for more.

use crate::TreeError;
use crate::listed::{Holds, ListedTree};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::path::Path;

/// No line is longer, bytes.
const LINE_MAX: u64 = 4096;
/// No shape file is longer, bytes.
const FILE_MAX: u64 = 16 << 30;
/// Sizes in a line.
const SIZES_IN_LINE: usize = 16;
const FIRST: &str = "iodyno tree shape 1";

/// Reads the shape file at a path; the parent directory of a run, or a link to a file.
pub(crate) fn read(path: &Path) -> Result<ListedTree, TreeError> {
    let damaged = |what: String| TreeError::ShapeFile { path: path.to_owned(), what };
    // No pipe is waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let missing = |error: rustix::io::Errno| TreeError::NoShapeFile { path: path.to_owned(), source: error.into() };
    let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(missing)?;
    let stat = rustix::fs::fstat(&fd).map_err(TreeError::system("look at the shape file", path))?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(damaged("it is no regular file".to_string()));
    }
    let input = BufReader::with_capacity(1 << 16, File::from(fd).take(FILE_MAX));
    parse(input).map_err(|error| match error {
        Wrong::System(source) => TreeError::system("read the shape file", path)(source),
        Wrong::Text(what) => damaged(what),
    })
}

impl ListedTree {
    /// Reads the text of a shape file.
    ///
    /// # Errors
    /// Says what is wrong, with the number of the line.
    pub fn parse(text: impl BufRead) -> Result<Self, String> {
        parse(text).map_err(|error| match error {
            Wrong::System(source) => source.to_string(),
            Wrong::Text(what) => what,
        })
    }

    /// Writes the text of a shape file.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write(&self, out: impl Write) -> std::io::Result<()> {
        let mut out = Summed { out, sum: Fnv::default() };
        writeln!(out, "{FIRST}\ndirectories {}\nfiles {}", self.directories(), self.files())?;
        writeln!(out, "bytes {}", self.total_bytes())?;
        let mut sizes = self.sizes();
        for one in self.holds() {
            writeln!(out, "d {} {}", one.directories, one.files)?;
            let (own, rest) = sizes.split_at_checked(one.files as usize).unwrap_or((sizes, &[]));
            sizes = rest;
            for line in own.chunks(SIZES_IN_LINE) {
                out.write_all(b"s")?;
                line.iter().try_for_each(|bytes| write!(out, " {bytes}"))?;
                out.write_all(b"\n")?;
            }
        }
        let sum = out.sum.0;
        writeln!(out.out, "end {sum:016x}")?;
        out.out.flush()
    }
}

/// A sum that tells texts apart that were cut or changed by accident.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

struct Summed<W> {
    out: W,
    sum: Fnv,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.sum.add(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

enum Wrong {
    System(std::io::Error),
    Text(String),
}

/// Reads lines, and says where something is wrong.
struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    /// Of all lines before this one.
    sum: Fnv,
}

impl<R: BufRead> Lines<R> {
    fn wrong(&self, what: &str) -> Wrong {
        Wrong::Text(format!("line {}: {what}", self.number))
    }

    /// The next line, without its end.
    fn next(&mut self) -> Result<&str, Wrong> {
        self.sum.add(&self.line);
        self.line.clear();
        self.number += 1;
        let read = self.input.by_ref().take(LINE_MAX).read_until(b'\n', &mut self.line);
        read.map_err(Wrong::System)?;
        if self.line.last() != Some(&b'\n') {
            return Err(self.wrong(if self.line.len() as u64 == LINE_MAX {
                "it is too long"
            } else {
                "the file ends here, before its `end`"
            }));
        }
        let text = self.line.strip_suffix(b"\n").filter(|line| line.is_ascii());
        text.and_then(|line| std::str::from_utf8(line).ok())
            .ok_or(Wrong::Text(format!("line {}: it is no text", self.number)))
    }

    /// The value of a line of the head.
    fn head(&mut self, key: &str) -> Result<u64, Wrong> {
        let value = self.next()?.strip_prefix(key).and_then(|rest| number(rest.strip_prefix(' ')?));
        value.ok_or_else(|| self.wrong(&format!("`{key}` and a number should be here")))
    }
}

/// As it is written: no sign, no zeros before it.
fn number(word: &str) -> Option<u64> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit()) && (word.len() == 1 || !word.starts_with('0'));
    is_plain.then(|| word.parse().ok()).flatten()
}

fn parse(input: impl BufRead) -> Result<ListedTree, Wrong> {
    let mut lines = Lines { input, line: Vec::new(), number: 0, sum: Fnv::default() };
    if lines.next()? != FIRST {
        return Err(lines.wrong(&format!("`{FIRST}` should be here: is it a shape file, of this version?")));
    }
    let (directories, files, bytes) = (lines.head("directories")?, lines.head("files")?, lines.head("bytes")?);
    let (mut holds, mut sizes) = (Vec::<Holds>::new(), Vec::<u64>::new());
    let mut missing = 0_u64;
    loop {
        let line = lines.next()?;
        if let Some(rest) = line.strip_prefix("s ") {
            let before = sizes.len();
            for word in rest.split(' ') {
                let Some(size) = number(word) else { return Err(lines.wrong("it is no list of sizes")) };
                sizes.push(size);
            }
            let found = (sizes.len() - before) as u64;
            missing = missing.checked_sub(found).ok_or_else(|| lines.wrong("it has more sizes than files"))?;
            continue;
        }
        if missing > 0 {
            return Err(lines.wrong(&format!("sizes of {missing} files are missing before it")));
        }
        if let Some(rest) = line.strip_prefix("d ") {
            let word = |word: &str| number(word).and_then(|count| u32::try_from(count).ok());
            let counts = rest.split_once(' ').and_then(|(one, other)| Some((word(one)?, word(other)?)));
            let Some((directories, files)) = counts else { return Err(lines.wrong("it is no directory")) };
            holds.push(Holds { directories, files });
            missing = u64::from(files);
            continue;
        }
        let Some(said) = line.strip_prefix("end ").map(str::to_string) else {
            return Err(lines.wrong("it begins with neither `d`, `s` nor `end`"));
        };
        let sum = format!("{:016x}", lines.sum.0);
        if said != sum {
            return Err(lines.wrong(&format!("its sum should be {sum}: was the file changed?")));
        }
        break;
    }
    if !lines.input.fill_buf().map_err(Wrong::System)?.is_empty() {
        return Err(lines.wrong("something follows behind it"));
    }
    let listed = ListedTree::new(&holds, sizes).map_err(Wrong::Text)?;
    let there = (u64::from(listed.directories()), u64::from(listed.files()), listed.total_bytes());
    if there != (directories, files, bytes) {
        return Err(Wrong::Text("what it says at its beginning is not what it lists".to_string()));
    }
    Ok(listed)
}

#[cfg(test)]
mod tests;
