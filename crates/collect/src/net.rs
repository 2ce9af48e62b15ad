//! Counters of network interfaces from `/proc/net/dev`, their links from `/sys/class/net`.

use crate::qdisc::Qdisc;
use crate::subject::Stamp;
use crate::text::{counter, lines, small, words};
use recording::rows::Net;
use std::path::Path;

/// Cumulative counters of one interface, in the file's order: received bytes, packets, errors, drops, fifo, frame,
/// compressed, multicast; sent bytes, packets, errors, drops, fifo, collisions, carrier, compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) interface: String,
    pub(crate) values: [i64; 16],
}

/// What is known of an interface's link. The kernel's drivers report nonsense (-1, 65,535) when they do not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) speed_bits_per_s: Option<i64>,
    pub(crate) full_duplex: Option<bool>,
    pub(crate) up: Option<bool>,
    pub(crate) mtu_bytes: Option<i64>,
    /// The bond or bridge that it is a member of.
    pub(crate) master: Option<String>,
}

/// Reads the lines of `/proc/net/dev`. A name may hold colons (`eth0:1`), so numbers are split off from the right.
pub(crate) fn parse(text: &[u8]) -> Vec<Counters> {
    lines(text).skip(2).filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Counters> {
    let colon = line.iter().rposition(|byte| *byte == b':')?;
    let mut values = [0; 16];
    let mut numbers = words(&line[colon + 1..]);
    for value in &mut values {
        *value = counter(numbers.next()?)?;
    }
    let interface = String::from_utf8_lossy(&line[..colon]).trim().to_string();
    Some(Counters { interface, values })
}

/// Asks `/sys/class/net` under `root` about a link.
pub(crate) fn link(root: &Path, interface: &str) -> Link {
    let folder = root.join("sys/class/net").join(interface);
    let speed = small(&folder.join("speed")).and_then(|text| text.parse::<i64>().ok());
    Link {
        speed_bits_per_s: speed
            .filter(|mbit| (1..65_535).contains(mbit) || *mbit > 65_535)
            .map(|mbit| mbit * 1_000_000),
        full_duplex: small(&folder.join("duplex")).and_then(|text| match text.as_str() {
            "full" => Some(true),
            "half" => Some(false),
            _ => None,
        }),
        up: small(&folder.join("carrier")).map(|text| text == "1"),
        mtu_bytes: small(&folder.join("mtu")).and_then(|text| text.parse().ok()),
        master: std::fs::read_link(folder.join("master"))
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
    }
}

/// The kernel's number of an interface.
pub(crate) fn index(root: &Path, interface: &str) -> Option<u32> {
    small(&root.join("sys/class/net").join(interface).join("ifindex"))?.parse().ok()
}

/// The row of an interface.
pub(crate) fn row(counters: &Counters, link: &Link, qdisc: Option<&Qdisc>, stamp: Stamp) -> Net {
    let [
        rx_bytes,
        rx_packets,
        rx_errors,
        rx_drops,
        rx_fifo,
        rx_frame,
        _,
        rx_multicast,
        tx_bytes,
        tx_packets,
        tx_errors,
        tx_drops,
        tx_fifo,
        tx_collisions,
        tx_carrier,
        _,
    ] = counters.values;
    Net {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        interface: counters.interface.clone(),
        rx_bytes,
        rx_packets: Some(rx_packets),
        rx_errors: Some(rx_errors),
        rx_drops: Some(rx_drops),
        rx_fifo: Some(rx_fifo),
        rx_frame: Some(rx_frame),
        rx_multicast: Some(rx_multicast),
        tx_bytes,
        tx_packets: Some(tx_packets),
        tx_errors: Some(tx_errors),
        tx_drops: Some(tx_drops),
        tx_fifo: Some(tx_fifo),
        tx_collisions: Some(tx_collisions),
        tx_carrier: Some(tx_carrier),
        speed_bits_per_s: link.speed_bits_per_s,
        full_duplex: link.full_duplex,
        up: link.up,
        qdisc_backlog_bytes: qdisc.map(|qdisc| i64::from(qdisc.backlog_bytes)),
        qdisc_drops: qdisc.map(|qdisc| i64::from(qdisc.drops)),
        qdisc_overlimits: qdisc.map(|qdisc| i64::from(qdisc.overlimits)),
        qdisc_requeues: qdisc.map(|qdisc| i64::from(qdisc.requeues)),
        qdisc: qdisc.and_then(|qdisc| qdisc.kind.clone()),
        qdisc_rate_bits_per_s: qdisc.and_then(|qdisc| qdisc.rate_bits_per_s),
        mtu_bytes: link.mtu_bytes,
        master: link.master.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs\n";

    #[test]
    fn names_with_colons_and_numbers_that_touch_them() {
        let text = format!(
            "{HEAD}  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth0:1:100 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n lo: 1 2\n"
        );
        let all = parse(text.as_bytes());
        assert_eq!(all.iter().map(|one| one.interface.as_str()).collect::<Vec<_>>(), ["eth0", "eth0:1"]);
        assert_eq!((all[0].values[8], all[1].values[0]), (9, 100));
    }

    #[test]
    fn the_real_file() {
        let text = std::fs::read("/proc/net/dev").unwrap();
        assert!(parse(&text).iter().any(|one| one.interface == "lo"));
    }

    #[test]
    fn an_unknown_speed_stays_unknown() {
        let root = tempfile::tempdir().unwrap();
        for (name, speed, expect) in [
            ("a", "-1", None),
            ("b", "65535", None),
            ("c", "10000", Some(10_000_000_000)),
            ("d", "100000", Some(100_000_000_000)),
        ] {
            let folder = root.path().join("sys/class/net").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("speed"), format!("{speed}\n")).unwrap();
            assert_eq!(link(root.path(), name).speed_bits_per_s, expect, "{speed}");
        }
        assert_eq!(link(root.path(), "none"), Link::default());
    }
}
