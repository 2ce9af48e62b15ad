//! Traces with one I/O per line: MSR Cambridge, Alibaba, Tencent, SYSTOR'17, FIU.

use super::blk::device_name;
use super::context::Context;
use super::fields::{blanks, commas, seconds, shown, small, times, whole};
use super::{Records, Source};
use crate::ImportError;
use crate::source::Lines;
use recording::rows::Io;
use std::path::Path;

/// What a line says; `None`: nothing (a heading).
type Parse = fn(&[u8], &mut Context) -> Result<Option<Io>, String>;

/// 1601-01-01, where Windows' file times begin, to 1970-01-01, in units of 100 ns.
const FILETIME_OF_1970: i64 = 116_444_736_000_000_000;
const SYSTOR_HEADING: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size";

struct LineRecords {
    lines: Lines,
    parse: Parse,
}

impl Records for LineRecords {
    fn next(&mut self, context: &mut Context) -> Result<Option<Io>, ImportError> {
        while self.lines.advance()? {
            match (self.parse)(self.lines.text(), context) {
                Ok(Some(io)) => return Ok(Some(io)),
                Ok(None) => {}
                Err(_) if self.lines.may_be_cut() => {
                    context.tally("last lines that are cut off (left out)");
                    return Ok(None);
                }
                Err(what) => return Err(self.lines.malformed(what)),
            }
        }
        Ok(None)
    }
}

fn open(source: &Source, parse: Parse) -> Result<Box<dyn Records>, ImportError> {
    Ok(Box::new(LineRecords { lines: Lines::open(source.path())?, parse }))
}

/// Alibaba's capacities of its devices.
pub(super) fn capacities(path: &Path, context: &mut Context) -> Result<(), ImportError> {
    let mut lines = Lines::open(path)?;
    while lines.advance()? {
        let found = commas::<2>(lines.text(), "device_id,capacity").and_then(|[device, bytes]| {
            small::<u32>(device, "device_id")?;
            Ok((String::from_utf8_lossy(device).into_owned(), whole(bytes, "capacity")?))
        });
        let (device, bytes) = found.map_err(|what| lines.malformed(what))?;
        context.capacities.insert(device, bytes);
    }
    Ok(())
}

/// Is the first line one of this format?
fn sniff(head: &[u8], parse: Parse) -> bool {
    let line = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    line.is_some_and(|line| parse(line, &mut Context::default()).is_ok())
}

/// Names a reader and its sniffer.
macro_rules! reader {
    ($open:ident, $sniff:ident, $parse:ident) => {
        pub(super) fn $open(source: &Source) -> Result<Box<dyn Records>, ImportError> {
            open(source, $parse)
        }
        pub(super) fn $sniff(head: &[u8]) -> bool {
            sniff(head, $parse)
        }
    };
}
reader!(open_msr, sniff_msr, msr);
reader!(open_alibaba, sniff_alibaba, alibaba);
reader!(open_tencent, sniff_tencent, tencent);
reader!(open_systor, sniff_systor, systor);
reader!(open_fiu, sniff_fiu, fiu);

/// `read` or `write` by the format's words for them.
fn operation(field: &[u8], read: &str, write: &str) -> Result<&'static str, String> {
    match field {
        _ if field.eq_ignore_ascii_case(read.as_bytes()) => Ok("read"),
        _ if field.eq_ignore_ascii_case(write.as_bytes()) => Ok("write"),
        _ => Err(format!("type {} is neither `{read}` nor `{write}`", shown(field))),
    }
}

/// A time so long after another.
pub(super) fn after(queue_ns: i64, response_ns: i64) -> Result<i64, String> {
    queue_ns.checked_add(response_ns).ok_or_else(|| format!("a response time of {response_ns} ns is too large"))
}

/// Times are of the request; the response time is Windows' of 2007.
fn msr(line: &[u8], context: &mut Context) -> Result<Option<Io>, String> {
    let names = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
    let [at, host, disk, kind, offset, size, response] = commas::<7>(line, names)?;
    let ticks = whole(at, "Timestamp")?.checked_sub(FILETIME_OF_1970).filter(|ticks| *ticks >= 0);
    let queue_ns = ticks.and_then(|ticks| ticks.checked_mul(100));
    let queue_ns = queue_ns.ok_or_else(|| format!("Timestamp {} is no Windows file time after 1970", shown(at)))?;
    let op = operation(kind, "Read", "Write")?;
    let (offset, size) = (whole(offset, "Offset")?, whole(size, "Size")?);
    whole(disk, "DiskNumber")?;
    let dev = context.label(&[host, b"_", disk].concat());
    let complete_ns = Some(after(queue_ns, times(response, 100, "ResponseTime")?)?);
    Ok(Some(Io { complete_ns, ..context.io(queue_ns, dev, op, offset, size)? }))
}

fn alibaba(line: &[u8], context: &mut Context) -> Result<Option<Io>, String> {
    let [device, kind, offset, length, at] = commas::<5>(line, "device_id,opcode,offset,length,timestamp")?;
    small::<u32>(device, "device_id")?;
    let (op, dev) = (operation(kind, "R", "W")?, context.label(device));
    let queue_ns = times(at, 1000, "timestamp")?;
    context.io(queue_ns, dev, op, whole(offset, "offset")?, whole(length, "length")?).map(Some)
}

fn tencent(line: &[u8], context: &mut Context) -> Result<Option<Io>, String> {
    let [at, offset, size, kind, volume] = commas::<5>(line, "Timestamp,Offset,Size,IOType,VolumeID")?;
    let (op, dev) = (operation(kind, "0", "1")?, context.label(volume));
    whole(volume, "VolumeID")?;
    let (queue_ns, sector) = (times(at, 1_000_000_000, "Timestamp")?, times(offset, 512, "Offset")?);
    context.io(queue_ns, dev, op, sector, times(size, 512, "Size")?).map(Some)
}

/// A blank type: the trace has no response for this request, so neither its kind nor its end is known.
fn systor(line: &[u8], context: &mut Context) -> Result<Option<Io>, String> {
    if line == SYSTOR_HEADING {
        return Ok(None);
    }
    let [at, response, kind, lun, offset, size] = commas::<6>(line, "Timestamp,Response,IOType,LUN,Offset,Size")?;
    let queue_ns = seconds(at, "Timestamp")?;
    let complete_ns = if response.is_empty() { None } else { Some(after(queue_ns, seconds(response, "Response")?)?) };
    let op = if kind.is_empty() { "unknown" } else { operation(kind, "R", "W")? };
    if kind.is_empty() {
        context.tally("I/Os without a type, for no response was seen (here `unknown`)");
    }
    whole(lun, "LUN")?;
    let dev = context.label(&[b"lun", lun].concat());
    Ok(Some(Io { complete_ns, ..context.io(queue_ns, dev, op, whole(offset, "Offset")?, whole(size, "Size")?)? }))
}

fn fiu(line: &[u8], context: &mut Context) -> Result<Option<Io>, String> {
    let names = "time pid process lba size type major minor md5";
    let [at, pid, process, lba, size, kind, major, minor, hash] = blanks::<9>(line, names)?;
    if hash.len() != 32 || !hash.iter().all(u8::is_ascii_hexdigit) {
        return Err(format!("md5 {} is not 32 hexadecimal digits", shown(hash)));
    }
    let op = operation(kind, "R", "W")?;
    let (major, minor): (u32, u32) = (small(major, "major")?, small(minor, "minor")?);
    if major > 0xfff || minor > 0xf_ffff {
        return Err(format!("{major},{minor} is no number of a device"));
    }
    let name = device_name(major << 20 | minor).unwrap_or_else(|| format!("{major},{minor}"));
    let dev = context.label(name.as_bytes());
    context.devices.entry(name).or_insert(major << 20 | minor);
    let (pid, comm) = (small(pid, "pid")?, Some(context.label(process)));
    let (queue_ns, offset) = (whole(at, "time")?, times(lba, 512, "lba")?);
    Ok(Some(Io { pid: Some(pid), comm, ..context.io(queue_ns, dev, op, offset, times(size, 512, "size")?)? }))
}
