//! `vdb_control.file`: what Vdbench keeps in an anchor about the tree there, so that the next run knows it without looking.
//!
//! Lines of ASCII: `when`, `depth`, `width`, `files`, `dist`, `size` (as many as the parameter has values), `directory status N` with
//! a `y` or `n` for each directory, `file status N` with `n` (not there), `f` (complete) or the size of each file, where `= N` repeats
//! the line before; at last the sum of all characters before it. What it says is believed only when it was written at the end of a run.

use crate::names::CONTROL_FILE;
use crate::{FileState, TreeError, TreeLayout, TreeState};
use plan::{FilePlace, FileSizes, TreeShape};
use quantity::text::civil;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// No line is longer, bytes.
const LINE_MAX: u64 = 4096;
/// The lines before the status are not more.
const HEAD_MAX: usize = 1024;

/// When a control file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before a run: what it says is not believed afterwards.
    Start,
    /// After a run.
    End,
}

impl Moment {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::End => "end",
        }
    }
}

/// What is known of a tree by its control file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing: the directories are to be listed.
    Nothing,
    /// What exists.
    All,
}

pub(crate) fn sum_of(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte != b'\n').map(|byte| u64::from(*byte)).sum()
}

/// `Sat Nov 28 12:36:32 UTC 2026`.
pub(crate) fn java_date(wall_ns: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let ((year, month, day), (hour, minute, second)) = civil(wall_ns);
    let days = wall_ns.div_euclid(86_400_000_000_000).rem_euclid(7);
    let of =
        |names: &[&'static str], at: i64| usize::try_from(at).ok().and_then(|at| names.get(at).copied()).unwrap_or("?");
    let (weekday, month) = (of(&DAYS, days), of(&MONTHS, month - 1));
    format!("{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} UTC {year}")
}

pub(crate) fn dist(shape: &TreeShape) -> &'static str {
    match shape.place {
        FilePlace::Bottom => "bottom",
        FilePlace::All => "all",
    }
}

/// The values of `sizes=`; percentages are cut to whole numbers there.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "percentages")]
pub(crate) fn sizes(sizes: &FileSizes) -> Vec<u64> {
    match sizes {
        FileSizes::Fixed(bytes) => vec![*bytes],
        FileSizes::Around(bytes) => vec![*bytes, 0],
        // It has no control file.
        FileSizes::Listed(_) => Vec::new(),
        FileSizes::Mix(mix) => mix.iter().flat_map(|(bytes, percent)| [*bytes, *percent as u64]).collect(),
    }
}

/// Reads the control file of an anchor, which must be of a tree of this shape, and marks in `state` what it says, where it may be believed.
pub(crate) fn read(
    anchor: BorrowedFd<'_>,
    path: &Path,
    shape: &TreeShape,
    layout: &TreeLayout,
    state: Option<&TreeState>,
) -> Result<Known, TreeError> {
    let path = path.join(CONTROL_FILE);
    // Neither a link nor a pipe is waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(anchor, CONTROL_FILE, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Known::Nothing),
        Err(Errno::LOOP | Errno::NXIO) => return Err(Reader::at(&path).damaged("it is no regular file")),
        other => other.map_err(TreeError::system("open", &path))?,
    };
    let stat = rustix::fs::fstat(&fd).map_err(TreeError::system("look at", &path))?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(Reader::at(&path).damaged("it is no regular file"));
    }
    let most = 64 * 1024 + 16 * u64::from(layout.directories()) + 32 * u64::from(layout.files());
    if u64::try_from(stat.st_size).unwrap_or(0) > most {
        return Err(Reader::at(&path).damaged("it is larger than any of such a tree"));
    }
    let mut file = File::from(fd);
    Reader::of(&path, &file, most).check_sum()?;
    file.rewind().map_err(TreeError::system("read", &path))?;
    Reader::of(&path, &file, most).fill(shape, layout, state)
}

/// Reads lines, and says where something is wrong.
struct Reader<R> {
    path: PathBuf,
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl Reader<()> {
    fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), input: (), line: Vec::new(), number: 0 }
    }
}

impl<R> Reader<R> {
    fn damaged(&self, what: &str) -> TreeError {
        let place = if self.number == 0 { String::new() } else { format!("line {}: ", self.number) };
        TreeError::Damaged { path: self.path.clone(), what: format!("{place}{what}") }
    }
}

impl<'a> Reader<BufReader<std::io::Take<&'a File>>> {
    fn of(path: &Path, file: &'a File, most: u64) -> Self {
        let input = BufReader::with_capacity(1 << 16, file.take(most));
        Self { path: path.to_owned(), input, line: Vec::new(), number: 0 }
    }

    /// The next line, without its end; `None`: there is none.
    fn next(&mut self) -> Result<Option<&str>, TreeError> {
        self.line.clear();
        let count = self.input.by_ref().take(LINE_MAX).read_until(b'\n', &mut self.line);
        let count = count.map_err(TreeError::system("read", &self.path))?;
        if count == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if count as u64 == LINE_MAX {
            return Err(self.damaged("it is too long"));
        }
        if !self.line.is_ascii() {
            return Err(self.damaged("it has other characters than ASCII"));
        }
        Ok(std::str::from_utf8(&self.line).ok())
    }

    fn check_sum(&mut self) -> Result<(), TreeError> {
        let mut sum = 0_u64;
        while let Some(line) = self.next()? {
            if let Some(rest) = line.strip_prefix("checksum:") {
                let said = rest.trim().parse::<u64>();
                return match said {
                    Ok(said) if said == sum => Ok(()),
                    _ => Err(self.damaged(&format!("its checksum should be {sum}"))),
                };
            }
            sum += sum_of(line.as_bytes());
        }
        self.number = 0;
        Err(self.damaged("it has no checksum, so its end is missing"))
    }

    fn fill(&mut self, shape: &TreeShape, layout: &TreeLayout, state: Option<&TreeState>) -> Result<Known, TreeError> {
        let (found, directories) = self.head()?;
        let differences = found.differences(shape);
        if !differences.is_empty() {
            return Err(TreeError::OtherShape { path: self.path.clone(), differences: differences.join(", ") });
        }
        let Some(state) = state.filter(|_| found.is_of_end) else { return Ok(Known::Nothing) };
        if directories != u64::from(layout.directories()) {
            return Err(self.damaged(&format!("there should be {} directories", layout.directories())));
        }
        for directory in 0..layout.directories() {
            match self.next()?.and_then(|line| line.as_bytes().first().copied()) {
                Some(b'y') => state.set_directory(layout, directory, true),
                Some(b'n') => {}
                _ => return Err(self.damaged(&format!("a `y` or `n` is missing for directory {directory}"))),
            }
        }
        let count = self.next()?.and_then(|line| line.strip_prefix("file status ")?.trim().parse::<u64>().ok());
        if count != Some(u64::from(layout.files())) {
            return Err(self.damaged(&format!("`file status {}` is missing", layout.files())));
        }
        self.files(layout, state)?;
        Ok(Known::All)
    }

    fn files(&mut self, layout: &TreeLayout, state: &TreeState) -> Result<(), TreeError> {
        let (mut file, mut status) = (0_u32, Status::Missing);
        let all = layout.files();
        while file < all {
            let words = self.next()?.filter(|line| !line.starts_with("checksum:")).map(parse_status);
            let repeats = match words {
                Some(Some(Words::One(new))) => {
                    status = new;
                    1
                }
                Some(Some(Words::Repeat(count))) => count,
                Some(None) => return Err(self.damaged("it is no state of a file")),
                None => return Err(self.damaged(&format!("states of {} files are missing", all - file))),
            };
            let end = u64::from(file) + repeats.min(u64::from(u32::MAX));
            let Some(end) = u32::try_from(end).ok().filter(|end| *end <= all) else {
                return Err(self.damaged("it is about more files than there are"));
            };
            for at in file..end {
                set(layout, state, at, status);
            }
            file = end;
        }
        match self.next()? {
            Some(line) if line.starts_with("checksum:") => Ok(()),
            _ => Err(self.damaged("it is about more files than there are")),
        }
    }

    /// All before the states, and the number of directories.
    fn head(&mut self) -> Result<(Head, u64), TreeError> {
        let mut head = Head::default();
        for _ in 0..HEAD_MAX {
            let Some(line) = self.next()? else { break };
            let mut words = line.split_ascii_whitespace();
            let (key, value) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if key == "directory" {
                let Some(count) = words.next().and_then(|count| count.parse().ok()) else {
                    return Err(self.damaged("it is not `directory status` and a number"));
                };
                self.number = 0;
                let is_whole = head.has_when && head.depth.is_some() && head.width.is_some();
                if !is_whole || head.files.is_none() || head.dist.is_none() {
                    return Err(self.damaged("when, depth, width, files or dist is missing"));
                }
                return Ok((head, count));
            }
            if !head.take(key, value) {
                return Err(self.damaged("it is no line of a control file"));
            }
        }
        self.number = 0;
        Err(self.damaged("`directory status` is missing"))
    }
}

fn set(layout: &TreeLayout, state: &TreeState, file: u32, status: Status) {
    let bytes = match status {
        Status::Missing => return,
        Status::Full => layout.asked_bytes(file),
        Status::Bytes(bytes) => bytes,
    };
    // Vdbench takes no file for there whose directory is not.
    if state.has_directory(layout.directory_of(file)) {
        state.set_file(layout, file, FileState { exists: true, bytes });
    }
}

/// What a line says of a file.
#[derive(Clone, Copy)]
enum Status {
    Missing,
    Full,
    Bytes(u64),
}

enum Words {
    One(Status),
    /// The one before so many times more.
    Repeat(u64),
}

fn parse_status(line: &str) -> Option<Words> {
    // Vdbench writes number and path behind it when it is debugged.
    let mut words = line.split_ascii_whitespace();
    Some(match words.next()? {
        "=" => Words::Repeat(words.next()?.parse().ok()?),
        "n" => Words::One(Status::Missing),
        "f" => Words::One(Status::Full),
        bytes => Words::One(Status::Bytes(bytes.parse().ok()?)),
    })
}

/// What is said of the tree as a whole.
#[derive(Default)]
struct Head {
    has_when: bool,
    is_of_end: bool,
    depth: Option<u64>,
    width: Option<u64>,
    files: Option<u64>,
    dist: Option<String>,
    sizes: Vec<u64>,
}

impl Head {
    fn take(&mut self, key: &str, value: &str) -> bool {
        let number = || value.parse::<u64>().ok();
        match key {
            "when" => {
                self.has_when = ["start", "end"].contains(&value);
                self.is_of_end = value == "end";
                self.has_when
            }
            "depth" => (self.depth = number(), self.depth.is_some()).1,
            "width" => (self.width = number(), self.width.is_some()).1,
            "files" => (self.files = number(), self.files.is_some()).1,
            "dist" => {
                self.dist = Some(value.to_string());
                !value.is_empty()
            }
            "size" => {
                self.sizes.extend(number());
                number().is_some()
            }
            _ => false,
        }
    }

    /// What differs from a shape.
    fn differences(&self, shape: &TreeShape) -> Vec<String> {
        let mut found = Vec::new();
        let numbers = [
            ("depth", self.depth, u64::from(shape.depth)),
            ("width", self.width, u64::from(shape.width)),
            ("files", self.files, shape.files),
        ];
        for (name, there, here) in numbers.into_iter().filter(|(_, there, here)| *there != Some(*here)) {
            found.push(format!("{name} is {} there and {here} here", there.unwrap_or(0)));
        }
        let (there, here) = (self.dist.as_deref().unwrap_or_default(), dist(shape));
        if there != here {
            let there: String = there.chars().take(20).collect();
            found.push(format!("distribution is {there} there and {here} here"));
        }
        let here = sizes(&shape.sizes);
        if self.sizes != here {
            found.push(format!("sizes are ({}) there and ({}) here", list(&self.sizes), list(&here)));
        }
        found
    }
}

/// Not more than a few.
fn list(sizes: &[u64]) -> String {
    let mut words: Vec<String> = sizes.iter().take(8).map(u64::to_string).collect();
    if sizes.len() > 8 {
        words.push("…".to_string());
    }
    words.join(",")
}
