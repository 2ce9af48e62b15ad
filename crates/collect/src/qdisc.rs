//! Statistics of queueing disciplines over rtnetlink (`RTM_GETQDISC`, `TCA_STATS2`; linux/rtnetlink.h, linux/gen_stats.h).
//!
//! An interface's own counters say nothing of a shaped or overloaded link: packets wait and are dropped here.

use crate::netlink::{DUMP, Netlink, REQUEST, attribute, u32_at, u64_at};
use std::collections::HashMap;
use std::io;

const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
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
const TCMSG: usize = 20;

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
pub(crate) struct Asker(Netlink);

impl Asker {
    /// Needs no privilege.
    pub(crate) fn new() -> io::Result<Self> {
        Netlink::new(None).map(Self)
    }

    /// Root disciplines by interface index.
    pub(crate) fn ask(&mut self) -> io::Result<HashMap<u32, Qdisc>> {
        let mut found = HashMap::new();
        let body = [0; TCMSG];
        self.0.ask((RTM_GETQDISC, REQUEST | DUMP), &body, Some(RTM_NEWQDISC), &mut |message| {
            discipline(message, &mut found);
        })?;
        Ok(found)
    }
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
        let mut messages = |data: &[u8]| {
            crate::netlink::messages(data, Some(RTM_NEWQDISC), &mut |message| discipline(message, &mut found))
        };
        assert!(messages(&[0xff; 40]).is_err());
        let mut short = vec![0; 20];
        short[0] = 20;
        short[4..6].copy_from_slice(&RTM_NEWQDISC.to_ne_bytes());
        assert!(!messages(&short).unwrap());
        let mut zero = vec![0_u8; 16];
        zero[0] = 4;
        assert!(messages(&zero).is_err(), "a length that goes nowhere must not hang");
        assert!(found.is_empty() && attribute(&[4, 0, 9, 0], 7).is_none() && attribute(&[0; 8], 7).is_none());
    }

    #[test]
    fn rates_of_shapers() {
        use crate::netlink::put_attribute;
        let mut parms = vec![0_u8; 36];
        parms[8..12].copy_from_slice(&25_000_000_u32.to_ne_bytes());
        let mut options = Vec::new();
        put_attribute(&mut options, TCA_TBF_PARMS, &parms);
        assert_eq!(rate("tbf", &options), Some(200_000_000));
        put_attribute(&mut options, TCA_TBF_RATE64, &12_500_000_000_u64.to_ne_bytes());
        assert_eq!(rate("tbf", &options), Some(100_000_000_000));
        assert_eq!((rate("fq_codel", &options), rate("tbf", &[])), (None, None));
    }
}
