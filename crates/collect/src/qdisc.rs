//! Statistics of queueing disciplines over rtnetlink (`RTM_GETQDISC`, `TCA_STATS2`; linux/rtnetlink.h, linux/gen_stats.h).
//!
//! An interface's own counters say nothing of a shaped or overloaded link: packets wait and are dropped here.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;

const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const FLAGS: u16 = 0x1 | 0x300;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
/// Of a token bucket (linux/pkt_sched.h): `struct tc_tbf_qopt`, and its rate where 32 bits are too few.
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
/// Of CAKE: bytes per second.
const TCA_CAKE_BASE_RATE64: u16 = 2;
/// Parent of a root discipline.
const ROOT: u32 = u32::MAX;
const NLMSG_HEADER: usize = 16;
const TCMSG: usize = 20;
const REQUEST_BYTES: u32 = 36;

/// What a discipline did since it was set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Qdisc {
    pub(crate) kind: Option<String>,
    /// What it shapes to; `None` where it does not, or is of a kind that we cannot read.
    pub(crate) rate_bits_per_s: Option<i64>,
    pub(crate) backlog_bytes: u32,
    pub(crate) drops: u32,
    pub(crate) requeues: u32,
    pub(crate) overlimits: u32,
}

/// A socket to ask through.
#[derive(Debug)]
pub(crate) struct Asker {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Asker {
    /// Needs no privilege.
    pub(crate) fn new() -> io::Result<Self> {
        // Protocol 0 is NETLINK_ROUTE.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket, buffer: vec![0; 64 << 10] })
    }

    /// Root disciplines by interface index.
    pub(crate) fn ask(&mut self) -> io::Result<HashMap<u32, Qdisc>> {
        let mut request = [0_u8; REQUEST_BYTES as usize];
        request[..4].copy_from_slice(&REQUEST_BYTES.to_ne_bytes());
        request[4..6].copy_from_slice(&RTM_GETQDISC.to_ne_bytes());
        request[6..8].copy_from_slice(&FLAGS.to_ne_bytes());
        sendto(&self.socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut found = HashMap::new();
        loop {
            let (count, _) = recv(&self.socket, self.buffer.as_mut_slice(), RecvFlags::empty())?;
            if count == 0 || messages(&self.buffer[..count], &mut found)? {
                return Ok(found);
            }
        }
    }
}

/// Takes in the messages of one datagram; true at the end of the answer.
fn messages(mut data: &[u8], found: &mut HashMap<u32, Qdisc>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (u32_at(data, 0), u16_at(data, 4)) {
        let Some(message) = data.get(..length as usize).filter(|message| message.len() >= NLMSG_HEADER) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a netlink message is longer than its datagram"));
        };
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = u32_at(message, NLMSG_HEADER).map_or(0, u32::cast_signed);
                return if code == 0 { Ok(true) } else { Err(io::Error::from_raw_os_error(-code)) };
            }
            RTM_NEWQDISC => discipline(&message[NLMSG_HEADER..], found),
            _ => {}
        }
        data = data.get((length as usize).next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(false)
}

/// One `tcmsg` with its attributes. Only roots count: their figures contain those of their children.
fn discipline(message: &[u8], found: &mut HashMap<u32, Qdisc>) {
    let (Some(interface), Some(parent)) = (u32_at(message, 4), u32_at(message, 12)) else { return };
    let Some(rest) = message.get(TCMSG..) else { return };
    let kind = attribute(rest, TCA_KIND).and_then(|name| Some(name.split(|byte| *byte == 0).next()?.to_vec()));
    let kind = kind.map(|name| String::from_utf8_lossy(&name).into_owned());
    let rate_bits_per_s = kind.as_deref().and_then(|kind| rate(kind, attribute(rest, TCA_OPTIONS)?));
    let Some(stats) = attribute(rest, TCA_STATS2) else { return };
    let Some(queue) = attribute(stats, TCA_STATS_QUEUE) else { return };
    // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits.
    let word = |index: usize| u32_at(queue, index * 4).unwrap_or(0);
    if parent == ROOT {
        let (backlog_bytes, drops, requeues, overlimits) = (word(1), word(2), word(3), word(4));
        found.insert(interface, Qdisc { kind, rate_bits_per_s, backlog_bytes, drops, requeues, overlimits });
    }
}

/// The rate that a discipline shapes to, bit/s.
fn rate(kind: &str, options: &[u8]) -> Option<i64> {
    let bytes_per_s = match kind {
        "tbf" => match attribute(options, TCA_TBF_RATE64) {
            Some(rate) => u64_at(rate, 0)?,
            // `struct tc_tbf_qopt` begins with `struct tc_ratespec`, whose rate stands behind eight bytes.
            None => u64::from(u32_at(attribute(options, TCA_TBF_PARMS)?, 8)?),
        },
        "cake" => u64_at(attribute(options, TCA_CAKE_BASE_RATE64)?, 0)?,
        _ => return None,
    };
    i64::try_from(bytes_per_s.checked_mul(8)?).ok().filter(|bits| *bits > 0)
}

/// The content of the first attribute of a kind.
fn attribute(mut data: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (length, kind) = (usize::from(u16_at(data, 0)?), u16_at(data, 2)?);
        let content = data.get(4..length)?;
        // The top bits are flags (nested, byte order).
        if kind & 0x3fff == wanted {
            return Some(content);
        }
        data = data.get(length.next_multiple_of(4)..)?;
    }
}

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(data.get(at..at + 8)?.try_into().ok()?))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_answers() {
        let mut asker = Asker::new().unwrap();
        // Every interface but those without a queue has a root discipline; twice, since the socket is used again.
        assert_eq!(asker.ask().unwrap().len(), asker.ask().unwrap().len());
    }

    #[test]
    fn damaged_answers_are_refused_or_skipped() {
        let mut found = HashMap::new();
        assert!(messages(&[0xff; 40], &mut found).is_err());
        let mut short = vec![0; 20];
        short[0] = 20;
        short[4..6].copy_from_slice(&RTM_NEWQDISC.to_ne_bytes());
        assert!(!messages(&short, &mut found).unwrap());
        let mut zero = vec![0_u8; 16];
        zero[0] = 4;
        assert!(messages(&zero, &mut found).is_err(), "a length that goes nowhere must not hang");
        assert!(found.is_empty() && attribute(&[4, 0, 9, 0], 7).is_none() && attribute(&[0; 8], 7).is_none());
    }
}
