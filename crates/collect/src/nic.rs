//! Counters that drivers of interfaces keep, by `SIOCETHTOOL` (linux/ethtool.h), as `ethtool -S` shows them: queues, rings, errors of
//! the hardware that no file of `/proc` tells. Netlink has standard ones only.

use crate::net;
use crate::netlink::{u32_at, u64_at};
use crate::subject::Stamp;
use recording::Label;
use recording::rows::NicCounter;
use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::io;
use std::os::fd::OwnedFd;

const SIOCETHTOOL: Opcode = 0x8946;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETH_SS_STATS: u32 = 1;
/// Bytes of a name.
const NAME: usize = 32;
/// Time between two looks: some drivers ask their firmware, which takes milliseconds.
const EVERY_NS: u64 = 10_000_000_000;
/// So many interfaces are asked, the first ones; hosts of containers have thousands.
const MOST_INTERFACES: usize = 256;
/// No driver has more; what says so is mistaken.
const MOST_COUNTERS: usize = 1 << 16;

/// `struct ifreq` of 64-bit machines; on others it is shorter, and the kernel reads less.
#[repr(C)]
struct Request {
    name: [u8; 16],
    data: *mut c_void,
    rest: [u64; 2],
}

/// Asks, and remembers the last answer.
#[derive(Debug)]
pub(crate) struct NicCounters {
    socket: OwnedFd,
    known: HashMap<String, Known>,
    next_ns: u64,
}

/// Names and values of one interface at its last rows.
#[derive(Debug, Default)]
struct Known {
    text: Vec<u8>,
    names: Vec<Label>,
    values: Vec<u64>,
}

impl NicCounters {
    /// Needs no privilege.
    pub(crate) fn new() -> io::Result<Self> {
        // Any family takes it; a service may be kept from those of the network.
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket, known: HashMap::new(), next_ns: 0 })
    }

    /// Is it time to look again?
    pub(crate) fn is_due(&self, t_ns: u64) -> bool {
        t_ns >= self.next_ns
    }

    /// Rows of counters that are not 0 and new or changed, of the interfaces in `/proc/net/dev`.
    pub(crate) fn sample(&mut self, net_dev: &[u8], t_ns: u64, stamp: Stamp) -> Vec<NicCounter> {
        self.next_ns = t_ns.saturating_add(EVERY_NS);
        let names: Vec<String> =
            net::parse(net_dev).into_iter().map(|counters| counters.interface).take(MOST_INTERFACES).collect();
        let mut rows = Vec::new();
        for interface in &names {
            // A driver without counters refuses, and so does an interface that is gone: neither is an error.
            if let Ok(Some((text, values))) = self.ask(interface) {
                self.tell(interface, text, values, stamp, &mut rows);
            }
        }
        let names: HashSet<String> = names.into_iter().collect();
        self.known.retain(|name, _| names.contains(name));
        rows
    }

    fn tell(&mut self, interface: &str, text: Vec<u8>, values: Vec<u64>, stamp: Stamp, rows: &mut Vec<NicCounter>) {
        let known = self.known.entry(interface.to_string()).or_default();
        if known.text != text {
            let names = text.chunks(NAME).map(|name| name.split(|byte| *byte == 0).next().unwrap_or_default());
            let names = names.map(|name| Label::from(String::from_utf8_lossy(name).trim())).collect();
            *known = Known { text, names, values: Vec::new() };
        }
        let shared = Label::from(interface);
        for (at, (name, value)) in known.names.iter().zip(&values).enumerate() {
            let was = known.values.get(at).copied().unwrap_or(0);
            let Some(changed) = i64::try_from(*value).ok().filter(|_| *value != was && !name.is_empty()) else {
                continue;
            };
            rows.push(NicCounter {
                t_ns: stamp.t_ns,
                t_s: stamp.t_s,
                interface: shared.clone(),
                name: name.clone(),
                value: changed,
            });
        }
        known.values = values;
    }

    /// Names, 32 bytes each, and values; `None` when there are none.
    fn ask(&self, interface: &str) -> io::Result<Option<(Vec<u8>, Vec<u64>)>> {
        // struct ethtool_sset_info: cmd, reserved, sset_mask (64 bits), data[1].
        let mut info = words_of(&[ETHTOOL_GSSET_INFO, 0]);
        info.extend_from_slice(&(1_u64 << ETH_SS_STATS).to_ne_bytes());
        info.resize(24, 0);
        self.call(interface, &mut info)?;
        let count = if u64_at(&info, 8) == Some(0) { 0 } else { word(&info, 4) };
        let many = usize::try_from(count).unwrap_or(usize::MAX);
        if many == 0 || many > MOST_COUNTERS {
            return Ok(None);
        }
        // struct ethtool_gstrings: cmd, string_set, len, data[].
        let mut strings = words_of(&[ETHTOOL_GSTRINGS, ETH_SS_STATS, count]);
        strings.resize(12 + room(many) * NAME, 0);
        self.call(interface, &mut strings)?;
        // struct ethtool_stats: cmd, n_stats, data[] (64 bits each).
        let mut stats = words_of(&[ETHTOOL_GSTATS, count]);
        stats.resize(8 + room(many) * 8, 0);
        self.call(interface, &mut stats)?;
        // Queues were added or taken away meanwhile: the next look has them.
        if word(&strings, 2) != count || word(&stats, 1) != count {
            return Ok(None);
        }
        strings.drain(..12);
        strings.truncate(many * NAME);
        let values = stats[8..].chunks_exact(8).take(many);
        let values = values.filter_map(|value| Some(u64::from_ne_bytes(value.try_into().ok()?))).collect();
        Ok(Some((strings, values)))
    }

    /// Hands a command to the interface's driver, which answers in its place.
    #[expect(unsafe_code, reason = "an ioctl that no library of ours has")]
    fn call(&self, interface: &str, command: &mut [u8]) -> io::Result<()> {
        let mut request = Request { name: [0; 16], data: command.as_mut_ptr().cast(), rest: [0; 2] };
        let name = interface.as_bytes();
        // The last byte stays 0.
        if name.len() >= request.name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        request.name[..name.len()].copy_from_slice(name);
        // SAFETY: `SIOCETHTOOL` reads and writes a `struct ifreq`, which `Request` is or is longer than. The kernel writes to
        // `command` what its first word asks for: for these three, a head and as many entries as the driver has at that moment.
        // There is room for four times as many as it said it had (`room`), so also for those of queues that are added meanwhile.
        unsafe { ioctl(&self.socket, Updater::<SIOCETHTOOL, Request>::new(&mut request)) }?;
        Ok(())
    }
}

/// Entries that there is room for, for a driver that says that it has so many.
fn room(count: usize) -> usize {
    (count * 4).max(8192)
}

fn words_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn word(data: &[u8], at: usize) -> u32 {
    u32_at(data, at * 4).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{counter, words};
    use std::process::Command;

    /// Two ends of a wire in this machine, removed at the end.
    struct Pair(String, String);

    impl Pair {
        fn new() -> Option<Self> {
            let id = std::process::id() % 100_000;
            let pair = Self(format!("iodyA{id}"), format!("iodyB{id}"));
            let add = ["link", "add", &pair.0, "type", "veth", "peer", "name", &pair.1];
            let made = Command::new("ip").args(add).output().is_ok_and(|output| output.status.success());
            made.then_some(pair)
        }
    }

    impl Drop for Pair {
        fn drop(&mut self) {
            let _ = Command::new("ip").args(["link", "del", &self.0]).output();
        }
    }

    #[test]
    fn a_driver_with_counters_and_one_without() {
        let Some(pair) = Pair::new() else {
            testkit::lacks("a virtual wire (ip link add type veth)");
            return;
        };
        let mut nics = NicCounters::new().unwrap();
        let mut look = |t_s: u64| {
            let text = std::fs::read("/proc/net/dev").unwrap();
            nics.is_due(t_s << 30).then(|| nics.sample(&text, t_s << 30, Stamp::at(t_s << 30, 0)))
        };
        let rows = look(100).unwrap();
        assert!(rows.iter().all(|row| &*row.interface != "lo" && row.value != 0 && !row.name.is_empty()), "{rows:?}");
        // The one counter of veth that does not depend on traffic: the number of the other end.
        for (this, other) in [(&pair.0, &pair.1), (&pair.1, &pair.0)] {
            let index = std::fs::read(format!("/sys/class/net/{other}/ifindex")).unwrap();
            let expect = words(&index).next().and_then(counter);
            let row = rows.iter().find(|row| *row.interface == **this && &*row.name == "peer_ifindex");
            assert_eq!(row.map(|row| row.value), expect, "{rows:?}");
        }
        assert!(look(101).is_none(), "it is not due");
        let again = look(120).unwrap();
        assert!(
            again.iter().all(|row| &*row.name != "peer_ifindex"),
            "a counter that did not change has no second row: {again:?}"
        );
        drop(pair);
        look(140);
        assert!(nics.known.keys().all(|name| !name.starts_with("iody")), "what is gone is forgotten");
    }

    #[test]
    fn names_that_no_interface_has() {
        let nics = NicCounters::new().unwrap();
        assert!(nics.ask("a-name-that-is-too-long").is_err());
        assert!(nics.ask("none").is_err());
        assert!(!matches!(nics.ask("lo"), Ok(Some(_))), "lo has none");
    }
}
