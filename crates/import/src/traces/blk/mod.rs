//! blktrace's events, as its binary records or as blkparse's text, and the I/Os that they are parts of.

mod binary;
mod match_issue_complete;
mod text;

use super::context::Context;
use super::{Records, Source};
use crate::ImportError;
use crate::source::Lines;
use binary::Streams;
use match_issue_complete::{Pairs, Seen};
use recording::Label;
use recording::rows::Io;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use text::Texts;

/// Events by which it is known what a trace has.
const LOOKED_AT: usize = 1 << 16;

/// What happened to a bio or a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Queue,
    Issue,
    Complete,
    Requeue,
    /// Says nothing that is needed here.
    Other,
}

/// What an I/O is and how it was marked, as blktrace tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks {
    /// Name of the operation; `""`: none, as of a flush without data.
    op: &'static str,
    sync: bool,
    meta: bool,
    fua: bool,
    preflush: bool,
    readahead: bool,
}

impl Marks {
    /// The operation of an I/O of so many bytes.
    fn operation(&self, bytes: i64) -> &'static str {
        match self.op {
            "" | "write" if self.preflush && bytes == 0 => "flush",
            "" => "other",
            op => op,
        }
    }

    /// Flags as the table has them.
    fn words(&self) -> String {
        let all = [
            ("sync", self.sync),
            ("meta", self.meta),
            ("fua", self.fua),
            // Of a bare flush it is what it does, not a mark.
            ("preflush", self.preflush && !self.op.is_empty()),
            ("readahead", self.readahead),
        ];
        let set: Vec<&str> = all.iter().filter(|(_, is_set)| *is_set).map(|(word, _)| *word).collect();
        set.join("+")
    }
}

/// One event.
#[derive(Clone, Debug)]
struct Event {
    t_ns: i64,
    /// Major << 20 | minor.
    device: u32,
    step: Step,
    marks: Marks,
    sector: i64,
    bytes: i64,
    /// Thread; 0: none.
    tid: i32,
    comm: Option<Label>,
    /// Error number, positive.
    error: i32,
}

/// Events in the order of time.
trait Events {
    fn next(&mut self, context: &mut Context) -> Result<Option<Event>, ImportError>;
}

struct Paired {
    /// Those that were looked at.
    first: VecDeque<Event>,
    events: Box<dyn Events>,
    /// `None` before the first.
    pairs: Option<Pairs>,
    base: String,
    has_ended: bool,
}

impl Records for Paired {
    fn next(&mut self, context: &mut Context) -> Result<Option<Io>, ImportError> {
        if self.pairs.is_none() {
            self.look(context)?;
        }
        let Some(pairs) = &mut self.pairs else { return Ok(None) };
        loop {
            if let Some(io) = pairs.pop() {
                return Ok(Some(io));
            }
            if self.has_ended {
                return Ok(None);
            }
            let event = match self.first.pop_front() {
                Some(event) => Some(event),
                None => self.events.next(context)?,
            };
            match event {
                Some(event) => pairs.add(&event, context),
                None => {
                    pairs.finish(context);
                    self.has_ended = true;
                }
            }
        }
    }
}

impl Paired {
    fn boxed(events: Box<dyn Events>, base: String) -> Box<dyn Records> {
        Box::new(Self { first: VecDeque::new(), events, pairs: None, base, has_ended: false })
    }

    /// Finds out which steps the trace has.
    fn look(&mut self, context: &mut Context) -> Result<(), ImportError> {
        let mut seen = Seen::default();
        while self.first.len() < LOOKED_AT
            && let Some(event) = self.events.next(context)?
        {
            seen.look(&event);
            self.first.push_back(event);
        }
        self.pairs = Some(Pairs::new(seen, std::mem::take(&mut self.base)));
        Ok(())
    }
}

pub(super) fn open_binary(source: &Source) -> Result<Box<dyn Records>, ImportError> {
    let base = per_cpu(source.path().as_os_str()).and_then(|(base, _)| Path::new(base).file_name());
    let base = base.map_or(String::new(), |name| name.to_string_lossy().into_owned());
    Ok(Paired::boxed(Box::new(Streams::open(&source.paths)?), base))
}

pub(super) fn open_text(source: &Source) -> Result<Box<dyn Records>, ImportError> {
    Ok(Paired::boxed(Box::new(Texts::new(Lines::open(source.path())?)), String::new()))
}

pub(super) fn sniff_binary(head: &[u8]) -> bool {
    binary::is_magic(head)
}

pub(super) fn sniff_text(head: &[u8]) -> bool {
    text::sniff(head)
}

/// Between the name of a device and the number of a CPU.
const OF_CPU: &[u8] = b".blktrace.";

/// `BASE.blktrace.CPU`, also compressed; its base may be no text.
fn per_cpu(name: &OsStr) -> Option<(&OsStr, u32)> {
    let name = name.as_bytes();
    let name = name.strip_suffix(b".gz").unwrap_or(name);
    let at = name.windows(OF_CPU.len()).rposition(|part| part == OF_CPU)?;
    let cpu = std::str::from_utf8(&name[at + OF_CPU.len()..]).ok()?;
    Some((OsStr::from_bytes(&name[..at]), cpu.parse().ok()?))
}

/// Files of one device as one source.
pub(super) fn together(paths: &[PathBuf]) -> Vec<Source> {
    let mut sources: Vec<(&OsStr, Source)> = Vec::new();
    for path in paths {
        let base = per_cpu(path.as_os_str()).map_or(path.as_os_str(), |(base, _)| base);
        match sources.iter_mut().find(|source| source.0 == base) {
            Some((_, source)) => source.paths.push(path.clone()),
            None => sources.push((base, Source::one(path.clone()))),
        }
    }
    sources.into_iter().map(|(_, source)| source).collect()
}

/// The files of all CPUs, where `path` is that of one, or the name before `.blktrace.`, as blkparse wants it.
pub(super) fn of_all_cpus(path: &Path) -> Option<Vec<PathBuf>> {
    let name = path.file_name()?;
    let base = match per_cpu(name) {
        Some((base, _)) => base,
        None if path.exists() => return None,
        None => name,
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let (found, cpu) = per_cpu(&name)?;
            (found == base).then(|| (cpu, folder.join(&name)))
        })
        .collect();
    found.sort();
    (!found.is_empty()).then(|| found.into_iter().map(|(_, path)| path).collect())
}

/// Name of a device by its number, where the number alone says it (Documentation/admin-guide/devices.txt).
pub(super) fn device_name(device: u32) -> Option<String> {
    let (major, minor) = (device >> 20, device & 0xf_ffff);
    match major {
        7 => Some(format!("loop{minor}")),
        8 => {
            let letter = char::from(b'a' + u8::try_from(minor / 16).ok()?);
            let part = if minor % 16 == 0 { String::new() } else { (minor % 16).to_string() };
            Some(format!("sd{letter}{part}"))
        }
        9 => Some(format!("md{minor}")),
        _ => None,
    }
}

/// A positive error number of one that was negative and is now 16 bits without a sign.
fn errno(raw: i32) -> i32 {
    if raw > 0x7fff { (0x1_0000 - raw).max(0) } else { raw }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_that_are_not_utf8_stay_distinct() {
        let path = |name: &'static [u8]| PathBuf::from(OsStr::from_bytes(name));
        let paths = [b"d/\xff.blktrace.0".as_slice(), b"d/\xfe.blktrace.0.gz", b"d/\xff.blktrace.1"].map(path);
        let sources: Vec<Vec<PathBuf>> = together(&paths).into_iter().map(|source| source.paths).collect();
        let [first, other, second] = paths;
        assert_eq!(sources, [vec![first, second], vec![other]]);
    }
}
