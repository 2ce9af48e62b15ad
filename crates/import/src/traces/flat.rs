//! The flatfile that Vdbench replays and Swat wrote: big-endian records of 7 words of 8 bytes.

use super::context::Context;
use super::csv::after;
use super::{Records, Source};
use crate::ImportError;
use crate::source::Binary;
use recording::rows::Io;

/// First word: mark, type 5, version 0, 7 words.
const FIRST: u64 = 0xeeee_0500_0000_0007;
const BYTES: usize = 56;

struct Flat(Binary);

pub(super) fn open(source: &Source) -> Result<Box<dyn Records>, ImportError> {
    Ok(Box::new(Flat(Binary::open(source.path())?)))
}

pub(super) fn sniff(head: &[u8]) -> bool {
    head.starts_with(&FIRST.to_be_bytes())
}

impl Records for Flat {
    fn next(&mut self, context: &mut Context) -> Result<Option<Io>, ImportError> {
        let mut bytes = [0; BYTES];
        self.0.begin();
        match self.0.read(&mut bytes)? {
            0 => return Ok(None),
            BYTES => {}
            _ => {
                context.tally("last records that are cut off (left out)");
                return Ok(None);
            }
        }
        record(&bytes, context).map(Some).map_err(|what| self.0.malformed(what))
    }
}

fn record(bytes: &[u8; BYTES], context: &mut Context) -> Result<Io, String> {
    let word = |at: usize| bytes[at * 8..at * 8 + 8].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    if word(0) != FIRST {
        return Err(format!("{:016x} is not the first word of a record of an I/O ({FIRST:016x})", word(0)));
    }
    let time = |at: usize, what: &str| {
        let ns = i64::try_from(word(at)).ok().and_then(|us| us.checked_mul(1000));
        ns.ok_or_else(|| format!("{what} {} µs is too large", word(at)))
    };
    let (start_ns, response_ns) = (time(1, "start")?, time(2, "response time")?);
    let (device, copy) = (word(3) & 0xffff_ffff_ffff, word(3) >> 48);
    let name = if copy == 0 { device.to_string() } else { format!("{device}.{copy}") };
    let offset = i64::try_from(word(4)).map_err(|_| format!("address {} is too large", word(4)))?;
    let signed = |at: usize| i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (size, pid) = (signed(40), signed(44));
    if size < 0 {
        return Err(format!("size {size} is negative"));
    }
    let op = match bytes[48] {
        0 => "write",
        1 => "read",
        other => return Err(format!("flag {other} is neither 0 (write) nor 1 (read)")),
    };
    let dev = context.label(name.as_bytes());
    let complete_ns = Some(after(start_ns, response_ns)?);
    let io = context.io(start_ns, dev, op, offset, i64::from(size))?;
    Ok(Io { complete_ns, pid: (pid > 0).then_some(pid), ..io })
}
