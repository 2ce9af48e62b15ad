//! blkparse's default text: `MAJ,MIN CPU SEQUENCE SECONDS TID ACTION RWBS …`.

use super::{Event, Events, Marks, Step, errno};
use crate::ImportError;
use crate::source::Lines;
use crate::traces::context::{BYTES_MAX, Context};
use crate::traces::fields::{seconds, shown, small, times};

pub(super) struct Texts {
    lines: Lines,
    last: usize,
    has_ended: bool,
}

impl Texts {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines, last: 0, has_ended: false }
    }
}

pub(super) fn sniff(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines
        .find(|line| !line.is_empty() && !is_talk(line))
        .is_some_and(|line| event(line, &mut Context::default()).is_ok())
}

/// What blkparse says of itself among the events.
fn is_talk(line: &[u8]) -> bool {
    line.starts_with(b"Input file ")
}

impl Events for Texts {
    fn next(&mut self, context: &mut Context) -> Result<Option<Event>, ImportError> {
        while !self.has_ended && self.lines.advance()? {
            let line = self.lines.text().trim_ascii();
            if is_talk(line) {
                continue;
            }
            // Summaries follow the events: by CPU, or by program after a blank line.
            let after_blank = self.last > 0 && self.lines.number() > self.last + 1;
            self.last = self.lines.number();
            if line.starts_with(b"CPU") || line.starts_with(b"Total") || (after_blank && !line[0].is_ascii_digit()) {
                break;
            }
            match event(line, context) {
                Ok(event) => return Ok(Some(event)),
                Err(_) if self.lines.may_be_cut() => {
                    context.tally("last lines that are cut off (left out)");
                    break;
                }
                Err(what) => return Err(self.lines.malformed(what)),
            }
        }
        self.has_ended = true;
        Ok(None)
    }
}

/// The next word of a line, and what follows it.
fn word<'a>(line: &mut &'a [u8]) -> &'a [u8] {
    let text = line.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    *line = rest;
    word
}

fn event(mut line: &[u8], context: &mut Context) -> Result<Event, String> {
    let mut next = |what: &str| match word(&mut line) {
        b"" => Err(format!("{what} is missing (MAJOR,MINOR CPU SEQUENCE SECONDS PID ACTION RWBS …)")),
        word => Ok(word),
    };
    let device = device(next("the device")?)?;
    small::<u32>(next("the CPU")?, "CPU")?;
    small::<u32>(next("the sequence")?, "sequence")?;
    let t_ns = seconds(next("the time")?, "time")?;
    let tid = small(next("the process")?, "process")?;
    let action = next("the action")?;
    let step = match action {
        b"Q" => Step::Queue,
        b"D" => Step::Issue,
        b"C" => Step::Complete,
        b"R" => Step::Requeue,
        b"m" | b"G" | b"I" | b"M" | b"F" | b"X" | b"A" | b"P" | b"U" | b"UT" | b"S" | b"B" | b"Z" | b"d" | b"a" => {
            Step::Other
        }
        other => return Err(format!("action {} is none of blktrace's", shown(other))),
    };
    let nothing = Marks { op: "", sync: false, meta: false, fua: false, preflush: false, readahead: false };
    let mut event = Event { t_ns, device, step, marks: nothing, sector: 0, bytes: 0, tid, comm: None, error: 0 };
    if step == Step::Other {
        return Ok(event);
    }
    event.marks = marks(next("the kind (RWBS)")?)?;
    tail(line.trim_ascii(), &mut event, context)?;
    Ok(event)
}

/// `SECTOR + SECTORS [COMM]`, `SECTOR + SECTORS (µs) [ERROR]`, `SECTOR [ERROR]` or `[COMM]`.
fn tail(mut line: &[u8], event: &mut Event, context: &mut Context) -> Result<(), String> {
    let open = line.iter().position(|byte| *byte == b'[');
    let named = match (open, line.last()) {
        (Some(open), Some(b']')) => &line[open + 1..line.len() - 1],
        _ => return Err(format!("{} does not end with [process] or [error]", shown(line))),
    };
    line = line[..open.unwrap_or(0)].trim_ascii();
    if line.is_empty() {
        event.sector = 0;
    } else {
        event.sector = times(word(&mut line), 512, "sector")? / 512;
        match word(&mut line) {
            b"+" => {
                event.bytes = times(word(&mut line), 512, "number of sectors")?;
                if event.bytes > BYTES_MAX {
                    return Err(format!("{} sectors: an I/O has at most 4 GiB", event.bytes / 512));
                }
            }
            // A SCSI command or the like in parentheses: no address.
            rest if rest.starts_with(b"(") && event.step != Step::Complete => event.step = Step::Other,
            rest if rest.is_empty() || rest.starts_with(b"(") => {}
            other => return Err(format!("{} after the sector instead of `+`", shown(other))),
        }
    }
    if event.step == Step::Complete {
        let digits = named.strip_prefix(b"-").unwrap_or(named);
        event.error = errno(small(digits, "error")?);
    } else if !matches!(named, b"" | b"(null)" | b"?") {
        event.comm = Some(context.label(named));
    }
    Ok(())
}

fn device(word: &[u8]) -> Result<u32, String> {
    let wrong = || format!("{} is no MAJOR,MINOR of a device", shown(word));
    let comma = word.iter().position(|byte| *byte == b',').ok_or_else(wrong)?;
    let (major, minor): (u32, u32) = (
        small(&word[..comma], "major").map_err(|_| wrong())?,
        small(&word[comma + 1..], "minor").map_err(|_| wrong())?,
    );
    if major > 0xfff || minor > 0xf_ffff {
        return Err(wrong());
    }
    Ok(major << 20 | minor)
}

/// `R`, `WS`, `FWFSM`, `RA`, `DS`, `FN`, `ZA` …
fn marks(word: &[u8]) -> Result<Marks, String> {
    let wrong = || format!("kind {} is none of blkparse's (like R, WS, FWFS, RA, D, FN)", shown(word));
    // A flush before it, or nothing but a flush.
    let (preflush, rest) = match word.strip_prefix(b"F") {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let (op, rest) = match rest {
        [b'Z', b'R', b'A', rest @ ..] => ("zone_reset_all", rest),
        [b'Z', b'A', rest @ ..] => ("zone_append", rest),
        [b'Z', b'R', rest @ ..] => ("zone_reset", rest),
        [b'Z', b'F', rest @ ..] => ("zone_finish", rest),
        [b'Z', b'O', rest @ ..] => ("zone_open", rest),
        [b'Z', b'C', rest @ ..] => ("zone_close", rest),
        [b'W', b'Z', rest @ ..] => ("write_zeroes", rest),
        [b'D', b'E', rest @ ..] => ("secure_erase", rest),
        [b'D', rest @ ..] => ("discard", rest),
        [b'R', rest @ ..] => ("read", rest),
        [b'W', rest @ ..] => ("write", rest),
        [b'N', rest @ ..] => ("", rest),
        rest if preflush => ("", rest),
        _ => return Err(wrong()),
    };
    let mut marks = Marks { op, sync: false, meta: false, fua: false, preflush, readahead: false };
    for letter in rest {
        match letter {
            b'F' => marks.fua = true,
            b'A' => marks.readahead = true,
            b'S' => marks.sync = true,
            b'M' => marks.meta = true,
            // A write that must not be torn.
            b'U' => {}
            _ => return Err(wrong()),
        }
    }
    Ok(marks)
}
