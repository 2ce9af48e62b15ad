//! fio's iolog, versions 2 and 3 (`write_iolog=`, `read_iolog=`).

use super::context::Context;
use super::fields::{shown, times, whole};
use super::{Records, Source};
use crate::ImportError;
use crate::source::Lines;
use recording::rows::Io;

/// What `wait` of version 2 means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Until so many ms after fio's start: what fio does.
    UntilMs,
    /// So many µs after the line before: what fio's manual says.
    ForUs,
}

struct Iolog {
    lines: Lines,
    state: State,
}

struct State {
    /// 0 before the first line.
    version: u8,
    wait: Wait,
    t_ns: i64,
    has_times: bool,
}

pub(super) fn open(source: &Source) -> Result<Box<dyn Records>, ImportError> {
    open_with(source, Wait::UntilMs)
}

pub(super) fn open_waits(source: &Source) -> Result<Box<dyn Records>, ImportError> {
    open_with(source, Wait::ForUs)
}

fn open_with(source: &Source, wait: Wait) -> Result<Box<dyn Records>, ImportError> {
    let lines = Lines::open(source.path())?;
    Ok(Box::new(Iolog { lines, state: State { version: 0, wait, t_ns: 0, has_times: false } }))
}

pub(super) fn sniff(head: &[u8]) -> bool {
    head.starts_with(b"fio version ")
        && head.split(|byte| *byte == b'\n').next().is_some_and(|line| version(line).is_ok())
}

/// Only with `--format`: nothing in the file says that its waits are meant so.
pub(super) fn sniff_never(_: &[u8]) -> bool {
    false
}

fn version(line: &[u8]) -> Result<u8, String> {
    match line.trim_ascii() {
        b"fio version 2 iolog" => Ok(2),
        b"fio version 3 iolog" => Ok(3),
        other => Err(format!("{} is not `fio version 2 iolog` or `fio version 3 iolog`", shown(other))),
    }
}

impl Records for Iolog {
    fn next(&mut self, context: &mut Context) -> Result<Option<Io>, ImportError> {
        while self.lines.advance()? {
            match self.state.line(self.lines.text(), context) {
                Ok(Some(io)) => return Ok(Some(io)),
                Ok(None) => {}
                Err(_) if self.lines.may_be_cut() => {
                    context.tally("last lines that are cut off (left out)");
                    break;
                }
                Err(what) => return Err(self.lines.malformed(what)),
            }
        }
        if !self.state.has_times {
            let note = "this log has no times: all I/Os are queued at 0, in their order";
            context.notes.push(note.to_string());
            self.state.has_times = true;
        }
        Ok(None)
    }
}

impl State {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Result<Option<Io>, String> {
        if self.version == 0 {
            self.version = version(line)?;
            self.has_times = self.version == 3;
            return Ok(None);
        }
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let mut next = |what: &str| fields.next().ok_or_else(|| format!("{what} is missing"));
        if self.version == 3 {
            let t_ns = times(next("time")?, 1000, "time")?;
            if t_ns < self.t_ns {
                context.tally("lines that go back in time (placed without a pause, as fio plays them)");
            }
            self.t_ns = self.t_ns.max(t_ns);
        }
        let (file, action) = (next("file")?, next("action")?);
        let op = match action {
            b"add" | b"open" | b"close" => return Ok(None),
            b"read" => "read",
            b"write" => "write",
            b"trim" => "discard",
            b"sync" | b"datasync" => "flush",
            b"wait" if self.version == 2 => {
                self.pass(next("time")?)?;
                return Ok(None);
            }
            other => {
                return Err(format!(
                    "action {} is none of add, open, close, read, write, sync, datasync, trim{}",
                    shown(other),
                    if self.version == 2 { ", wait" } else { "" }
                ));
            }
        };
        // Of a sync nothing is moved, whatever stands there.
        let (offset, bytes) = match (op, fields.next(), fields.next()) {
            ("flush", ..) => (0, 0),
            (_, Some(offset), Some(bytes)) => (whole(offset, "offset")?, whole(bytes, "length")?),
            _ => return Err(format!("{} without offset and length", shown(action))),
        };
        if let Some(more) = fields.next() {
            return Err(format!("{} after the length", shown(more)));
        }
        let dev = context.label(file.strip_prefix(b"/dev/").unwrap_or(file));
        context.io(self.t_ns, dev, op, offset, bytes).map(Some)
    }

    fn pass(&mut self, field: &[u8]) -> Result<(), String> {
        self.has_times = true;
        self.t_ns = match self.wait {
            Wait::UntilMs => times(field, 1_000_000, "time")?.max(self.t_ns),
            Wait::ForUs => {
                let sum = times(field, 1000, "time")?.checked_add(self.t_ns);
                sum.ok_or_else(|| format!("time {} is too large", shown(field)))?
            }
        };
        Ok(())
    }
}
