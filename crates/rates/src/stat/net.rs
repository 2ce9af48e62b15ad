//! Network interfaces as nicstat shows them, with what it gets wrong put right.
//!
//! Utilisation is of the known speed, and unknown when that is unknown. Saturation counts what was dropped, refused or
//! delayed anywhere on the way: by the interface, and by its queueing discipline, which nicstat does not see.

use super::FigureDigits::{Fixed, Percent, Scaled};
use super::{StatColumn, columns, ratio};
use crate::counter::{CounterStep, delta, sum_known};
use crate::net::NetDelta;
use recording::rows::{Net, System};
use recording::{RecordingError, RowBatch};

pub(super) const COLUMNS: &[StatColumn] = columns! {
    "rx_kib_per_s" "rKB/s" Scaled, "KiB received per second";
    "tx_kib_per_s" "wKB/s" Scaled, "KiB sent per second";
    "rx_packets_per_s" "rPk/s" Scaled, "packets received per second";
    "tx_packets_per_s" "wPk/s" Scaled, "packets sent per second";
    "rx_packet_bytes" "rAvs" Scaled, "mean size of a received packet, bytes";
    "tx_packet_bytes" "wAvs" Scaled, "mean size of a sent packet, bytes";
    "util_percent" "%Util" Percent, "of the link's speed: the busier direction (full duplex) or both together (half duplex)";
    "saturation_per_s" "Sat" Percent, "errors, drops, overruns, collisions, carrier losses, and the queueing discipline's drops, requeues and overlimits, and, where something was received, what the CPUs' input queues dropped of all interfaces, per second";
    "rx_util_percent" "%rUtil" Percent, "of the link's speed, receiving";
    "tx_util_percent" "%wUtil" Percent, "of the link's speed, sending";
    "rx_errors_per_s" "IErr" Percent, "bad packets received per second";
    "tx_errors_per_s" "OErr" Percent, "packets that could not be sent, per second";
    "collisions_per_s" "Coll" Percent, "collisions per second";
    "rx_drops_per_s" "IDrop" Percent, "received and dropped per second";
    "tx_drops_per_s" "ODrop" Percent, "dropped before they were sent, per second";
    "qdisc_drops_per_s" "qDrop" Percent, "dropped by the queueing discipline per second";
    "qdisc_overlimits_per_s" "qOver" Percent, "times per second that the queueing discipline held a packet back";
    "qdisc_backlog_kib" "qKB" Scaled, "KiB waiting in the queueing discipline at the end of the interval";
    "speed_mbit_per_s" "Mbit/s" Fixed(0), "speed of the link";
    "softnet_drops_per_s" "softDrop" Percent, "packets per second that the CPUs' input queues dropped, of all interfaces together";
};

/// What a user knows of a link's speed.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedOverride {
    /// Name of the interface.
    pub interface: String,
    /// Bits per second.
    pub bits_per_s: f64,
    /// Directions.
    pub duplex: LinkDuplex,
}

/// Directions of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDuplex {
    /// Both at once.
    Full,
    /// One at a time.
    Half,
}

/// Knows what the user said of links.
pub(super) struct Figures {
    speeds: Vec<SpeedOverride>,
    /// Packets that the CPUs' input queues dropped: the newest sample, and the one before, with their times.
    softnet: [Option<(i64, i64)>; 2],
}

impl Figures {
    pub(super) fn new(speeds: &[SpeedOverride]) -> Self {
        Self { speeds: speeds.to_vec(), softnet: [None; 2] }
    }

    /// Are drops of input queues counted? Recordings of the past, and imports, may lack them.
    fn counts_softnet(&self) -> bool {
        self.softnet.iter().any(Option::is_some)
    }

    /// Packets per second that input queues dropped; `None` where it is not known.
    fn softnet(&self) -> Option<f64> {
        let [Some((now_ns, now)), Some((before_ns, before))] = self.softnet else { return None };
        delta(now, before).filter(|_| now_ns > before_ns).map(|drops| drops * 1e9 / (now_ns - before_ns) as f64)
    }

    /// Bits per second, and whether in both directions at once; unknown directions count as both, as all links of this
    /// century are.
    fn link(&self, row: &Net) -> (Option<f64>, bool) {
        match self.speeds.iter().find(|known| known.interface == row.interface) {
            Some(known) => (Some(known.bits_per_s), known.duplex == LinkDuplex::Full),
            None => (row.speed_bits_per_s.map(|bits| bits as f64), row.full_duplex.unwrap_or(true)),
        }
    }
}

impl super::Figures<Net> for Figures {
    fn key(&self, row: &Net) -> String {
        row.interface.clone()
    }

    fn observe(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        for row in batch.to_rows::<System>()? {
            self.softnet = [row.softnet_drops.map(|drops| (row.t_ns, drops)), self.softnet[0]];
        }
        Ok(())
    }

    fn values(&self, step: &CounterStep<'_, Net>) -> Vec<Option<f64>> {
        let (speed, is_full) = self.link(step.now);
        let delta = NetDelta::of_step(step);
        let (rx, tx) = (delta.per_s(delta.rx.bytes), delta.per_s(delta.tx.bytes));
        let used = |bytes: Option<f64>| Some((bytes? * 800.0 / speed?).min(100.0));
        let util = if is_full {
            used(rx).zip(used(tx)).map(|(rx, tx)| rx.max(tx))
        } else {
            used(rx.zip(tx).map(|(rx, tx)| rx + tx))
        };
        let own = delta.per_s(delta.lost);
        let [drops, requeues, overlimits] =
            [delta.qdisc_drops, delta.qdisc_requeues, delta.qdisc_overlimits].map(|count| delta.per_s(count));
        // An interface of which no discipline is known has what it counts itself.
        let has_discipline = step.now.qdisc_drops.is_some();
        let discipline = if has_discipline { sum_known([drops, requeues, overlimits]) } else { Some(0.0) };
        // Whose packets they were the kernel does not tell: of all that received some.
        let has_softnet = step.before.is_some() && self.counts_softnet() && rx.is_some_and(|rx| rx > 0.0);
        let softnet = if has_softnet { self.softnet() } else { Some(0.0) };
        let kib = |bytes: f64| bytes / 1024.0;
        vec![
            rx.map(kib),
            tx.map(kib),
            delta.per_s(delta.rx.packets),
            delta.per_s(delta.tx.packets),
            ratio(delta.rx.bytes, delta.rx.packets),
            ratio(delta.tx.bytes, delta.tx.packets),
            util,
            sum_known([own, discipline, softnet]),
            used(rx),
            used(tx),
            delta.per_s(delta.rx.errors),
            delta.per_s(delta.tx.errors),
            delta.per_s(delta.collisions),
            delta.per_s(delta.rx.drops),
            delta.per_s(delta.tx.drops),
            drops,
            overlimits,
            step.now.qdisc_backlog_bytes.map(|bytes| bytes as f64 / 1024.0),
            speed.map(|bits| bits / 1e6),
            self.softnet(),
        ]
    }
}
