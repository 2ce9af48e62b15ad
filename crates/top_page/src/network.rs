//! The page of the network: interfaces, their queues, TCP and UDP, and who listens.

use super::details::with_pid;
use super::{DrillTarget, Grid, PageScene, PageSheet, short_or};
use rates::stat::CounterSubject;
use recording::rows;
use recording::rows::Listener;
use std::collections::BTreeMap;

/// So long ago a driver's counters may have been looked at: that is done every ten seconds.
const QUEUES_NS: i64 = 25_000_000_000;

/// What happened on one queue of an interface, per second.
#[derive(Default)]
struct QueueSum {
    packets: Option<f64>,
    bytes: Option<f64>,
    drops: Option<f64>,
}

/// A counter of one queue: direction, number, and what it counts; drivers write `rx_queue_0_packets`, `rx0_bytes`,
/// `rx-0.packets`, `queue_0_tx_cnt`. `None` for counters of something else.
fn of_queue(name: &str) -> Option<(&'static str, u32, &'static str)> {
    let words = name.split(['_', '-', '.', ' ', '[', ']', ':']).filter(|word| !word.is_empty());
    let (mut way, mut number, mut what) = (None, None, None);
    for word in words {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &word[letters.len()..];
        if !digits.is_empty() && number.replace(digits.parse::<u32>().ok()?).is_some() {
            return None;
        }
        match letters.to_ascii_lowercase().as_str() {
            "" | "queue" | "q" | "ring" => {}
            "rx" => way = Some("rx"),
            "tx" => way = Some("tx"),
            "packets" | "pkts" | "cnt" if digits.is_empty() => what = Some("packets"),
            "bytes" if digits.is_empty() => what = Some("bytes"),
            "drops" | "drop" | "dropped" if digits.is_empty() => what = Some("drops"),
            _ => return None,
        }
    }
    Some((way?, number?, what?))
}

impl PageScene<'_> {
    /// The tables of the page of the network.
    pub(super) fn network(&self) -> Vec<Grid> {
        let mut grids = vec![self.stat_grid(CounterSubject::Net, "interfaces", NET)];
        grids.extend(self.queues());
        grids.push(self.listeners());
        grids.push(self.stat_grid(CounterSubject::Tcp, "TCP", TCP));
        grids.push(self.stat_grid(CounterSubject::Udp, "UDP", UDP));
        grids
    }

    /// Queues of interfaces whose driver counts them, the busiest first.
    fn queues(&self) -> Option<Grid> {
        let now_ns = self.now()?.t_ns;
        let lately = self.moments.iter().filter(|moment| now_ns - moment.t_ns < QUEUES_NS);
        let mut sums: BTreeMap<(&str, &str, u32), QueueSum> = BTreeMap::new();
        for nic in lately.flat_map(|moment| &moment.nics) {
            let Some((way, number, what)) = of_queue(&nic.name) else { continue };
            let sum = sums.entry((&nic.interface, way, number)).or_default();
            // The latest is the one that counts.
            match what {
                "packets" => sum.packets = Some(nic.per_s),
                "bytes" => sum.bytes = Some(nic.per_s),
                _ => sum.drops = Some(nic.per_s),
            }
        }
        if sums.is_empty() {
            return None;
        }
        let mut all: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for ((interface, way, _), sum) in &sums {
            *all.entry((interface, way)).or_default() += sum.packets.unwrap_or(0.0);
        }
        let mut grid = Grid::new(
            "queues of interfaces, as their drivers count (looked at every 10 s)",
            &["queue", "packets/s", "B/s", "drops/s", "share of its direction"],
        );
        let mut ranked: Vec<_> = sums.into_iter().collect();
        let packets = |sum: &QueueSum| sum.packets.unwrap_or(-1.0);
        ranked.sort_by(|a, b| packets(&b.1).total_cmp(&packets(&a.1)).then_with(|| a.0.cmp(&b.0)));
        // What did not change has no row, so that where others have one it is 0.
        let cell = |value: Option<f64>| value.map_or("-".to_string(), |value| short_or(Some(value)));
        for ((interface, way, number), sum) in ranked {
            let whole = all.get(&(interface, way)).copied().filter(|whole| *whole > 0.0);
            let share = sum.packets.zip(whole).map(|(packets, whole)| 100.0 * packets / whole);
            let cells = vec![
                format!("{interface} {way} {number}"),
                cell(sum.packets),
                cell(sum.bytes),
                cell(sum.drops),
                share.map_or("-".to_string(), |share| format!("{share:.0}%")),
            ];
            grid.push(cells, DrillTarget::Nothing);
        }
        Some(grid)
    }

    /// Who listens, the longest queue first; with an empty queue too, where that is known.
    fn listeners(&self) -> Grid {
        let mut grid = Grid::new(
            "listeners (Recv-Q: connections that wait to be accepted; drops: requests for one that it dropped since it listens)",
            &["address", "Recv-Q", "most 60 s", "backlog", "limit", "drops", "process"],
        );
        let Some(now) = self.now() else { return grid };
        let mut known: BTreeMap<(&str, i64), (i64, i64, &Listener)> = BTreeMap::new();
        for row in self.servers.listening.into_iter().flatten() {
            known.insert((&row.address, row.port), (row.queue, row.queue, row));
        }
        let is_listed = self.servers.listening.is_some();
        for moment in self.last_minute() {
            for row in &moment.listeners {
                let is_now = moment.t_ns == now.t_ns;
                let seen = known.entry((&row.address, row.port)).or_insert((0, 0, row));
                // There is a row at every sample at which the queue is not empty.
                let queue = if is_now {
                    row.queue
                } else if is_listed {
                    seen.0
                } else {
                    0
                };
                *seen = (queue, seen.1.max(row.queue), row);
            }
        }
        let mut ranked: Vec<_> = known.into_values().collect();
        ranked.sort_by(|a, b| {
            let order = (b.0, b.1).cmp(&(a.0, a.1));
            order.then_with(|| (a.2.port, &a.2.address).cmp(&(b.2.port, &b.2.address)))
        });
        for (queue, most, row) in ranked {
            let process = with_pid(row.comm.as_deref().unwrap_or("?"), row.pid.and_then(|pid| i32::try_from(pid).ok()));
            let cells = vec![
                format!("{}:{}", row.address, row.port),
                queue.to_string(),
                most.to_string(),
                row.backlog.to_string(),
                row.limit.map_or("?".to_string(), |limit| limit.to_string()),
                row.drops.map_or("?".to_string(), |drops| drops.to_string()),
                process,
            ];
            grid.push(cells, row.pid.map_or(DrillTarget::Nothing, |pid| DrillTarget::Sheet(PageSheet::Process(pid))));
        }
        self.say_missing(&mut grid, rows::Listener::NAME);
        if !is_listed && grid.note.is_none() {
            grid.note = Some(
                "listeners have rows when new and while connections wait: others have none in this time".to_string(),
            );
        }
        grid
    }
}

const NET: &[&str] = &[
    "rx_kib_per_s",
    "tx_kib_per_s",
    "rx_packets_per_s",
    "tx_packets_per_s",
    "util_percent",
    "saturation_per_s",
    "rx_drops_per_s",
    "qdisc_drops_per_s",
    "speed_mbit_per_s",
    // Where the terminal is wider.
    "rx_util_percent",
    "tx_util_percent",
    "rx_packet_bytes",
    "tx_packet_bytes",
    "tx_drops_per_s",
    "rx_errors_per_s",
    "tx_errors_per_s",
    "collisions_per_s",
    "qdisc_overlimits_per_s",
    "qdisc_backlog_kib",
];
const TCP: &[&str] = &[
    "in_segments_per_s",
    "out_segments_per_s",
    "resets_per_s",
    "retransmit_percent",
    "passive_opens_per_s",
    "active_opens_per_s",
    "listen_drops_per_s",
    "listen_overflows_per_s",
    "established",
];
const UDP: &[&str] = &["in_datagrams_per_s", "out_datagrams_per_s", "in_errors_per_s", "receive_buffer_errors_per_s"];

#[cfg(test)]
mod tests {
    use super::super::{NicRate, ServerFacts};
    use super::*;
    use crate::PageInterval;
    use rates::Availability;

    #[test]
    fn queues_as_drivers_name_them() {
        for (name, expect) in [
            ("rx_queue_0_packets", Some(("rx", 0, "packets"))),
            ("tx_queue_11_bytes", Some(("tx", 11, "bytes"))),
            ("rx3_packets", Some(("rx", 3, "packets"))),
            ("tx-2.bytes", Some(("tx", 2, "bytes"))),
            ("queue_7_rx_cnt", Some(("rx", 7, "packets"))),
            ("rx_queue_1_drops", Some(("rx", 1, "drops"))),
            ("rx_queue_0_xdp_packets", None),
            ("rx_packets", None),
            ("rx_64_to_127_byte_packets", None),
            ("tx_timeout", None),
        ] {
            assert_eq!(of_queue(name), expect, "{name}");
        }
    }

    fn listener(port: i64, queue: i64) -> Listener {
        Listener {
            t_ns: 1,
            t_s: 0.0,
            address: "0.0.0.0".into(),
            port,
            queue,
            backlog: 5,
            limit: Some(4096),
            drops: Some(port / 80),
            pid: Some(port),
            comm: Some("server".into()),
            inode: None,
            gone: None,
        }
    }

    #[test]
    fn listeners_with_an_empty_queue_and_queues_of_interfaces() {
        let mut before = PageInterval::default();
        (before.t_ns, before.seconds, before.listeners) = (1, 1.0, vec![listener(80, 3)]);
        let nic = |name: &str, per_s: f64| NicRate { interface: "eth0".into(), name: name.into(), per_s };
        let mut now = PageInterval::default();
        (now.t_ns, now.seconds, now.listeners) = (1_000_000_001, 1.0, vec![listener(1521, 6)]);
        now.nics =
            vec![nic("rx0_packets", 10.0), nic("rx1_packets", 30.0), nic("rx1_bytes", 3000.0), nic("rx1_kicks", 1.0)];
        let (moments, verdicts) = ([before, now], Availability::default());
        let listening = [listener(22, 0), listener(80, 0), listener(1521, 5)];
        let mut scene = PageScene::of(&moments, &verdicts);
        scene.servers = ServerFacts { listening: Some(&listening), missing: None };
        let cells = |grid: &Grid| grid.rows.iter().map(|row| row.cells[..4].join("|")).collect::<Vec<_>>();
        assert_eq!(cells(&scene.listeners()), ["0.0.0.0:1521|6|6|5", "0.0.0.0:80|0|3|5", "0.0.0.0:22|0|0|5"]);
        assert_eq!(scene.listeners().rows[0].cells[4..], ["4096", "19", "server 1521"]);
        let queues = scene.queues().expect("queues");
        assert_eq!(cells(&queues), ["eth0 rx 1|30|3.0k|-", "eth0 rx 0|10|-|-"]);
        assert_eq!(queues.rows[0].cells[4], "75%");
        scene.servers = ServerFacts::default();
        assert_eq!(cells(&scene.listeners()), ["0.0.0.0:1521|6|6|5", "0.0.0.0:80|0|3|5"]);
    }
}
