//! A trace in the formats of other tools: blktrace's binary stream, blkparse's text, fio's iolog.
//!
//! A row has three times; the formats want one event after the other. Rows come in the order of completion, so an event
//! can be written once no later row can begin before it: a first pass finds by how much, and memory holds no more than
//! that window.

use crate::TraceError;
use recording::rows::Io;
use recording::{Reader, Row};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Write};

/// A format to write a trace in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// blktrace's binary records, version 7, as one merged stream (`blkparse -i -`, btt, `fio --read_iolog`).
    Blktrace,
    /// blkparse's default text.
    Blkparse,
    /// fio's iolog, version 3.
    Iolog,
}

/// What happened to an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Queue,
    Issue,
    Complete,
}

/// Ordered by time, then by row and step.
type Event = (i64, u64, Step);

/// Writes the table `io` of a recording; returns its I/Os.
///
/// # Errors
/// The recording has no trace or cannot be read; `out` refuses.
pub fn write(reader: &Reader, format: Format, out: &mut dyn Write) -> Result<u64, TraceError> {
    let (span_ns, origin_ns, rows) = survey(reader)?;
    if rows == 0 {
        return Err(TraceError::Parameter(format!("{} holds no traced I/O", reader.directory().display())));
    }
    let mut writer =
        Formatter { out, format, origin_ns, sequence: 0, names: HashMap::new(), devices: devices(reader), last: None };
    writer.begin(reader.manifest().wall_ns_at(origin_ns)).map_err(failed)?;
    let mut waiting: BinaryHeap<Reverse<Event>> = BinaryHeap::new();
    let mut open: HashMap<u64, (Io, u8)> = HashMap::new();
    let (mut number, mut newest_ns) = (0_u64, i64::MIN);
    for batch in reader.batches(Io::TABLE.name)? {
        for io in Io::from_batch(&batch?)? {
            newest_ns = newest_ns.max(last_ns(&io));
            let times =
                [(Some(io.queue_ns), Step::Queue), (io.issue_ns, Step::Issue), (io.complete_ns, Step::Complete)];
            let mut steps = 0;
            for (t_ns, step) in times {
                let Some(t_ns) = t_ns else { continue };
                steps += 1;
                waiting.push(Reverse((t_ns, number, step)));
            }
            open.insert(number, (io, steps));
            number += 1;
            while waiting.peek().is_some_and(|Reverse((t_ns, ..))| *t_ns < newest_ns.saturating_sub(span_ns)) {
                writer.next(&mut waiting, &mut open).map_err(failed)?;
            }
        }
    }
    while !waiting.is_empty() {
        writer.next(&mut waiting, &mut open).map_err(failed)?;
    }
    writer.end().map_err(failed)?;
    Ok(number)
}

/// The last time that is known of it.
fn last_ns(io: &Io) -> i64 {
    io.complete_ns.or(io.issue_ns).unwrap_or(io.queue_ns)
}

fn failed(source: io::Error) -> TraceError {
    TraceError::Recording(recording::RecordingError::Face { face: "the export", source })
}

/// By how much a row may begin before the newest completion so far; the first time; the number of rows.
fn survey(reader: &Reader) -> Result<(i64, i64, u64), TraceError> {
    let (mut span_ns, mut first_ns, mut newest_ns, mut rows) = (0, i64::MAX, i64::MIN, 0);
    for batch in reader.batches(Io::TABLE.name)? {
        for io in Io::from_batch(&batch?)? {
            newest_ns = newest_ns.max(last_ns(&io));
            span_ns = span_ns.max(newest_ns.saturating_sub(io.queue_ns));
            first_ns = first_ns.min(io.queue_ns);
            rows += 1;
        }
    }
    Ok((span_ns, first_ns, rows))
}

/// Numbers of the devices, as the trace found them.
fn devices(reader: &Reader) -> HashMap<String, (u32, u32)> {
    let Some(known) = reader.manifest().extra.get("trace_devices").and_then(|value| value.as_object()) else {
        return HashMap::new();
    };
    let number = |value: &serde_json::Value| {
        let number = u32::try_from(value.as_u64()?).ok()?;
        Some((number >> 20, number & 0xf_ffff))
    };
    known.iter().filter_map(|(name, value)| Some((name.clone(), number(value)?))).collect()
}

struct Formatter<'a> {
    out: &'a mut dyn Write,
    format: Format,
    origin_ns: i64,
    sequence: u32,
    /// Thread names that blktrace's readers have been told.
    names: HashMap<i32, String>,
    devices: HashMap<String, (u32, u32)>,
    /// Devices that the iolog has opened, and its last time.
    last: Option<(Vec<String>, i64)>,
}

impl Formatter<'_> {
    /// Writes the earliest event.
    fn next(&mut self, waiting: &mut BinaryHeap<Reverse<Event>>, open: &mut HashMap<u64, (Io, u8)>) -> io::Result<()> {
        let Some(Reverse((t_ns, number, step))) = waiting.pop() else { return Ok(()) };
        let Some((io, left)) = open.get_mut(&number) else { return Ok(()) };
        *left -= 1;
        let is_last = *left == 0;
        let t_ns = t_ns.saturating_sub(self.origin_ns).max(0);
        match self.format {
            Format::Blktrace => {
                let (t_ns, io) = (t_ns.unsigned_abs(), io.clone());
                self.blktrace(t_ns, step, &io)?;
            }
            Format::Blkparse => {
                let io = io.clone();
                self.blkparse(t_ns, step, &io)?;
            }
            Format::Iolog if step == Step::Queue => {
                let io = io.clone();
                self.iolog(t_ns, &io)?;
            }
            Format::Iolog => {}
        }
        if is_last {
            open.remove(&number);
        }
        Ok(())
    }

    fn begin(&mut self, wall_ns: i64) -> io::Result<()> {
        match self.format {
            Format::Blktrace => {
                // When the trace began: seconds and nanoseconds, 32 bits each.
                let wall_ns = wall_ns.unsigned_abs();
                let parts = [wall_ns / 1_000_000_000, wall_ns % 1_000_000_000];
                let pdu: Vec<u8> =
                    parts.iter().flat_map(|part| u32::try_from(*part).unwrap_or(0).to_ne_bytes()).collect();
                self.record(0, 0, 0, NOTIFY << 16 | 1, 0, 0, 0, &pdu)
            }
            Format::Blkparse => Ok(()),
            Format::Iolog => writeln!(self.out, "fio version 3 iolog"),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        if let Some((opened, t_us)) = self.last.take() {
            for name in opened {
                writeln!(self.out, "{t_us} {name} close")?;
            }
        }
        self.out.flush()
    }

    fn device(&self, io: &Io) -> (u32, u32) {
        self.devices.get(&*io.dev).copied().unwrap_or((0, 0))
    }

    /// One binary record and its payload, in this machine's byte order, as blktrace has it.
    #[expect(clippy::too_many_arguments, reason = "the fields of the record")]
    fn record(
        &mut self,
        t_ns: u64,
        sector: u64,
        bytes: u32,
        action: u32,
        pid: u32,
        device: u32,
        error: u16,
        pdu: &[u8],
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut record = Vec::with_capacity(48 + pdu.len());
        record.extend_from_slice(&0x6561_7407_u32.to_ne_bytes());
        record.extend_from_slice(&self.sequence.to_ne_bytes());
        record.extend_from_slice(&t_ns.to_ne_bytes());
        record.extend_from_slice(&sector.to_ne_bytes());
        // The rest but the error and the payload's length; the CPU is not recorded.
        for word in [bytes, action, pid, device, 0] {
            record.extend_from_slice(&word.to_ne_bytes());
        }
        record.extend_from_slice(&error.to_ne_bytes());
        record.extend_from_slice(&u16::try_from(pdu.len()).unwrap_or(0).to_ne_bytes());
        record.extend_from_slice(pdu);
        self.out.write_all(&record)
    }

    fn blktrace(&mut self, t_ns: u64, step: Step, io: &Io) -> io::Result<()> {
        let pid = io.tid.unwrap_or(0);
        if let Some(comm) = io.comm.as_deref()
            && self.names.get(&pid).is_none_or(|known| known != comm)
        {
            self.names.insert(pid, comm.to_string());
            let mut pdu = [0; 16];
            pdu.iter_mut().take(15).zip(comm.bytes()).for_each(|(to, from)| *to = from);
            self.record(t_ns, 0, 0, NOTIFY << 16, pid.unsigned_abs(), 0, 0, &pdu)?;
        }
        let (code, category) = match step {
            Step::Queue => (1, 1 << 4),
            Step::Issue => (7, 1 << 6),
            Step::Complete => (8, 1 << 7),
        };
        let (major, minor) = self.device(io);
        self.record(
            t_ns,
            io.sector.unsigned_abs(),
            u32::try_from(io.bytes).unwrap_or(u32::MAX),
            (category | categories(io) | 1 << 8) << 16 | code,
            if step == Step::Complete { 0 } else { pid.unsigned_abs() },
            major << 20 | minor & 0xf_ffff,
            if step == Step::Complete { u16::try_from(io.error.unwrap_or(0)).unwrap_or(u16::MAX) } else { 0 },
            &[],
        )
    }

    fn blkparse(&mut self, t_ns: i64, step: Step, io: &Io) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let (major, minor) = self.device(io);
        let (letter, pid) = match step {
            Step::Queue => ('Q', io.tid.unwrap_or(0)),
            Step::Issue => ('D', io.tid.unwrap_or(0)),
            Step::Complete => ('C', 0),
        };
        let place = if io.bytes > 0 { format!("{} + {} ", io.sector, io.bytes / 512) } else { String::new() };
        let tail = match step {
            Step::Complete if io.bytes == 0 => format!("{} [{}]", io.sector, io.error.unwrap_or(0)),
            Step::Complete => format!("{place}[{}]", io.error.unwrap_or(0)),
            _ => format!("{place}[{}]", io.comm.as_deref().unwrap_or("?")),
        };
        writeln!(
            self.out,
            "{major:>3},{minor:<3} {:>2} {:>8} {:>5}.{:09} {pid:>5} {letter:>2} {:>3} {tail}",
            0,
            self.sequence,
            t_ns / 1_000_000_000,
            t_ns % 1_000_000_000,
            marks(io),
        )
    }

    fn iolog(&mut self, t_ns: i64, io: &Io) -> io::Result<()> {
        let action = match &*io.op {
            "read" => "read",
            "write" | "zone_append" => "write",
            "discard" => "trim",
            "flush" => "sync",
            // fio has no word for the others.
            _ => return Ok(()),
        };
        let name = format!("/dev/{}", &*io.dev);
        let t_us = t_ns / 1000;
        let (opened, last_us) = self.last.get_or_insert_default();
        *last_us = t_us;
        if !opened.contains(&name) {
            writeln!(self.out, "{t_us} {name} add\n{t_us} {name} open")?;
            opened.push(name.clone());
        }
        writeln!(self.out, "{t_us} {name} {action} {} {}", io.sector * 512, io.bytes)
    }
}

/// blktrace's category of messages that are no I/O.
const NOTIFY: u32 = 1 << 10;

fn has(io: &Io, flag: &str) -> bool {
    io.flags.as_deref().is_some_and(|flags| flags.split('+').any(|one| one == flag))
}

/// blktrace's categories (include/uapi/linux/blktrace_api.h) of an I/O, without that of the step.
fn categories(io: &Io) -> u32 {
    let direction = match &*io.op {
        "read" | "driver_in" => 1,
        "flush" => 1 << 2,
        "discard" | "secure_erase" => 1 << 13 | 1 << 1,
        _ => 1 << 1,
    };
    [("preflush", 1 << 2), ("sync", 1 << 3), ("readahead", 1 << 11), ("meta", 1 << 12), ("fua", 1 << 15)]
        .iter()
        .filter(|(flag, _)| has(io, flag))
        .fold(direction, |all, (_, bit)| all | bit)
}

/// blkparse's letters of an I/O.
fn marks(io: &Io) -> String {
    let mut text = String::new();
    if has(io, "preflush") && &*io.op != "flush" {
        text.push('F');
    }
    text.push(match &*io.op {
        "read" | "driver_in" => 'R',
        "flush" => 'F',
        "discard" | "secure_erase" => 'D',
        _ => 'W',
    });
    for (flag, letter) in [("fua", 'F'), ("readahead", 'A'), ("sync", 'S'), ("meta", 'M')] {
        if has(io, flag) {
            text.push(letter);
        }
    }
    text
}
