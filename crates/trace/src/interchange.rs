//! A trace in the formats of other tools: blktrace's binary stream, blkparse's text, fio's iolog.
//!
//! A row has three times; the formats want one event after the other. Rows come in the order of completion, so an event
//! can be written once no later row can begin before it: a first pass finds by how much. The rows that began longest
//! before what stands around them are taken out of their places beforehand, so that the others need not wait for them;
//! and there is a limit to what waits.

use crate::TraceError;
use recording::rows::Io;
use recording::{Reader, Row};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::{self, Write};

/// A format to write a trace in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterchangeFormat {
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

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenTrace {
    /// I/Os.
    pub ios: u64,
    /// Those without a known end: no completion was written of them.
    pub unended: u64,
    /// Events that stand behind later ones, because their I/Os stand in the recording so far behind that there was no
    /// memory to put them where they belong.
    pub out_of_order: u64,
}

/// How many rows may be in memory.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Of those that began longest before what stands around them.
    late: usize,
    /// Of the others.
    window: usize,
}

/// Some 100 MB.
const LIMITS: Limits = Limits { late: 1 << 15, window: 1 << 18 };
/// What began less before what stands around it is not late.
const LATE_NS: i64 = 100_000_000;

/// Writes the table `io` of a recording. An I/O without an end is queued and issued, and never completed.
///
/// # Errors
/// The recording has no trace or cannot be read; `out` refuses.
pub fn write(reader: &Reader, format: InterchangeFormat, out: &mut dyn Write) -> Result<WrittenTrace, TraceError> {
    write_within(reader, format, out, LIMITS)
}

fn write_within(
    reader: &Reader,
    format: InterchangeFormat,
    out: &mut dyn Write,
    limits: Limits,
) -> Result<WrittenTrace, TraceError> {
    let Survey { span_ns, origin_ns, mut written, late } = survey(reader, limits.late)?;
    if written.ios == 0 {
        return Err(TraceError::Parameter(format!("{} holds no traced I/O", reader.directory().display())));
    }
    let mut writer =
        Formatter { out, format, origin_ns, sequence: 0, names: HashMap::new(), devices: devices(reader), last: None };
    writer.begin(reader.manifest().wall_ns_at(origin_ns)).map_err(failed)?;
    let mut queue = Queue::default();
    let late: HashSet<u64> = late.into_iter().map(|(number, io)| queue.push(number, io)).collect();
    let (mut number, mut newest_ns) = (0_u64, i64::MIN);
    for batch in reader.batches(Io::TABLE.name)? {
        for io in Io::from_batch(&batch?)? {
            newest_ns = newest_ns.max(last_ns(&io));
            if !late.contains(&number) {
                queue.push(number, io);
            }
            number += 1;
            let until_ns = newest_ns.saturating_sub(span_ns);
            while queue.first_ns().is_some_and(|t_ns| t_ns < until_ns) || queue.rows() > limits.late + limits.window {
                queue.next(&mut writer).map_err(failed)?;
            }
        }
    }
    while queue.first_ns().is_some() {
        queue.next(&mut writer).map_err(failed)?;
    }
    writer.end().map_err(failed)?;
    written.out_of_order = queue.out_of_order;
    Ok(written)
}

/// Events that wait for those before them.
#[derive(Debug)]
struct Queue {
    waiting: BinaryHeap<Reverse<Event>>,
    /// Rows with the number of their events that wait.
    open: HashMap<u64, (Io, u8)>,
    written_ns: i64,
    out_of_order: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self { waiting: BinaryHeap::new(), open: HashMap::new(), written_ns: i64::MIN, out_of_order: 0 }
    }
}

impl Queue {
    /// Takes a row; gives its number.
    fn push(&mut self, number: u64, io: Io) -> u64 {
        let times = [(Some(io.queue_ns), Step::Queue), (io.issue_ns, Step::Issue), (io.complete_ns, Step::Complete)];
        let mut steps = 0;
        for (t_ns, step) in times {
            let Some(t_ns) = t_ns else { continue };
            steps += 1;
            self.waiting.push(Reverse((t_ns, number, step)));
        }
        self.open.insert(number, (io, steps));
        number
    }

    fn rows(&self) -> usize {
        self.open.len()
    }

    fn first_ns(&self) -> Option<i64> {
        self.waiting.peek().map(|Reverse((t_ns, ..))| *t_ns)
    }

    /// Writes the earliest.
    fn next(&mut self, writer: &mut Formatter<'_>) -> io::Result<()> {
        let Some(Reverse((t_ns, number, step))) = self.waiting.pop() else { return Ok(()) };
        let Some((io, left)) = self.open.get_mut(&number) else { return Ok(()) };
        self.out_of_order += u64::from(t_ns < self.written_ns);
        self.written_ns = self.written_ns.max(t_ns);
        writer.event(t_ns, step, io)?;
        *left -= 1;
        if *left == 0 {
            self.open.remove(&number);
        }
        Ok(())
    }
}

/// The last time that is known of it.
fn last_ns(io: &Io) -> i64 {
    io.complete_ns.or(io.issue_ns).unwrap_or(io.queue_ns)
}

fn failed(source: io::Error) -> TraceError {
    TraceError::Recording(recording::RecordingError::Face { face: "the export", source })
}

/// What a first pass finds.
struct Survey {
    /// By how much a row, but for the late ones, may begin before the newest time so far.
    span_ns: i64,
    /// The first time.
    origin_ns: i64,
    written: WrittenTrace,
    /// Those that begin longest before the newest time so far, with their numbers: what took long, and at the end what
    /// had no end. All others would have to wait in memory for them.
    late: HashMap<u64, Io>,
}

fn survey(reader: &Reader, most: usize) -> Result<Survey, TraceError> {
    let mut found =
        Survey { span_ns: LATE_NS, origin_ns: i64::MAX, written: WrittenTrace::default(), late: HashMap::new() };
    let mut by_lateness: BinaryHeap<Reverse<(i64, u64)>> = BinaryHeap::new();
    let mut newest_ns = i64::MIN;
    for batch in reader.batches(Io::TABLE.name)? {
        for io in Io::from_batch(&batch?)? {
            let number = found.written.ios;
            found.written.ios += 1;
            found.written.unended += u64::from(io.complete_ns.is_none());
            found.origin_ns = found.origin_ns.min(io.queue_ns);
            newest_ns = newest_ns.max(last_ns(&io));
            let late_ns = newest_ns.saturating_sub(io.queue_ns);
            if late_ns <= found.span_ns {
                continue;
            }
            by_lateness.push(Reverse((late_ns, number)));
            found.late.insert(number, io);
            if by_lateness.len() > most
                && let Some(Reverse((late_ns, number))) = by_lateness.pop()
            {
                found.late.remove(&number);
                found.span_ns = late_ns;
            }
        }
    }
    Ok(found)
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
    format: InterchangeFormat,
    origin_ns: i64,
    sequence: u32,
    /// Thread names that the output for blktrace's readers already has.
    names: HashMap<i32, String>,
    devices: HashMap<String, (u32, u32)>,
    /// Devices that the iolog has opened, and its last time.
    last: Option<(Vec<String>, i64)>,
}

impl Formatter<'_> {
    /// Writes what happened to an I/O.
    fn event(&mut self, t_ns: i64, step: Step, io: &Io) -> io::Result<()> {
        let t_ns = t_ns.saturating_sub(self.origin_ns).max(0);
        match self.format {
            InterchangeFormat::Blktrace => self.blktrace(t_ns.unsigned_abs(), step, io),
            InterchangeFormat::Blkparse => self.blkparse(t_ns, step, io),
            InterchangeFormat::Iolog if step == Step::Queue => self.iolog(t_ns, io),
            InterchangeFormat::Iolog => Ok(()),
        }
    }

    fn begin(&mut self, wall_ns: i64) -> io::Result<()> {
        match self.format {
            InterchangeFormat::Blktrace => {
                // When the trace began: seconds and nanoseconds, 32 bits each.
                let wall_ns = wall_ns.unsigned_abs();
                let parts = [wall_ns / 1_000_000_000, wall_ns % 1_000_000_000];
                let pdu: Vec<u8> =
                    parts.iter().flat_map(|part| u32::try_from(*part).unwrap_or(0).to_ne_bytes()).collect();
                self.record(0, 0, 0, NOTIFY << 16 | 1, 0, 0, 0, &pdu)
            }
            InterchangeFormat::Blkparse => Ok(()),
            InterchangeFormat::Iolog => writeln!(self.out, "fio version 3 iolog"),
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
        let (opened, last_us) = self.last.get_or_insert_default();
        // fio wants no time before another.
        let t_us = (t_ns / 1000).max(*last_us);
        *last_us = t_us;
        if !opened.contains(&name) {
            writeln!(self.out, "{t_us} {name} add\n{t_us} {name} open")?;
            opened.push(name.clone());
        }
        writeln!(self.out, "{t_us} {name} {action} {} {}", io.sector.saturating_mul(512), io.bytes)
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

#[cfg(test)]
mod tests {
    use super::*;
    use recording::{Label, Manifest, RowBatch, Sink, Writer};

    /// A read on `sda` that took 1 ms, queued at this ms.
    fn io(ms: i64) -> Io {
        Io {
            queue_ns: ms * 1_000_000,
            issue_ns: Some(ms * 1_000_000 + 1000),
            complete_ns: Some((ms + 1) * 1_000_000),
            dev: Label::from("sda"),
            op: Label::from("read"),
            sector: 8 * ms,
            bytes: 4096,
            ..Io::default()
        }
    }

    fn written(rows: &[Io], format: InterchangeFormat, limits: Limits) -> (WrittenTrace, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let mut writer = Writer::create(&path, Manifest::new(&[])).unwrap();
        writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
        writer.commit().unwrap();
        let mut out = Vec::new();
        let written = write_within(&Reader::open(&path).unwrap(), format, &mut out, limits).unwrap();
        (written, String::from_utf8(out).unwrap().lines().map(str::to_string).collect())
    }

    /// Seconds of the events of blkparse's text, and their letters.
    fn events(lines: &[String]) -> Vec<(f64, String)> {
        let words = lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>());
        words.map(|words| (words[3].parse().unwrap(), words[5].to_string())).collect()
    }

    /// 2000 I/Os of which one takes a second, and two without an end behind them.
    fn rows() -> Vec<Io> {
        let mut rows: Vec<Io> = (0..2000).map(io).collect();
        rows[500].complete_ns = Some(1_500_000_000);
        rows.sort_by_key(|io| io.complete_ns);
        rows.push(Io { complete_ns: None, ..io(3) });
        rows.push(Io { complete_ns: None, issue_ns: None, ..io(1700) });
        rows
    }

    #[test]
    fn what_has_no_end_is_queued_and_issued_where_it_belongs() {
        let (counts, lines) = written(&rows(), InterchangeFormat::Blkparse, LIMITS);
        assert_eq!(counts, WrittenTrace { ios: 2002, unended: 2, out_of_order: 0 });
        let events = events(&lines);
        assert!(events.is_sorted_by(|one, other| one.0 <= other.0));
        let count = |letter: &str| events.iter().filter(|event| event.1 == letter).count();
        assert_eq!((count("Q"), count("D"), count("C")), (2002, 2001, 2000));
    }

    #[test]
    fn a_window_of_a_few_rows_is_enough_when_the_late_ones_are_taken_out() {
        let (counts, lines) = written(&rows(), InterchangeFormat::Blkparse, Limits { late: 3, window: 110 });
        assert_eq!(counts.out_of_order, 0);
        assert!(events(&lines).is_sorted_by(|one, other| one.0 <= other.0));
    }

    #[test]
    fn memory_has_a_limit_and_what_it_costs_is_counted() {
        let limits = Limits { late: 0, window: 50 };
        let (counts, lines) = written(&rows(), InterchangeFormat::Blkparse, limits);
        assert_eq!((counts.ios, lines.len()), (2002, 2002 + 2001 + 2000));
        // Both events of the first without an end, that of the second, and two of what took a second.
        assert_eq!(counts.out_of_order, 5);
        let (_, lines) = written(&rows(), InterchangeFormat::Iolog, limits);
        let times: Vec<i64> = lines[1..].iter().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
        assert!(times.is_sorted(), "fio takes it");
    }
}
