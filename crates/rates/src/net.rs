//! What a network interface did between two samples.

use crate::counter::{CounterStep, sum_known};
use recording::rows::Net;

/// Bytes that a link carries with each frame besides it: preamble, check sum and gap.
const FRAME_BYTES: f64 = 24.0;

/// One direction of an interface between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetDirection {
    /// Bytes.
    pub bytes: Option<f64>,
    /// Packets.
    pub packets: Option<f64>,
    /// Packets with an error.
    pub errors: Option<f64>,
    /// Packets dropped.
    pub drops: Option<f64>,
}

/// An interface between two samples. What its source does not count, and what was reset, is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetDelta {
    /// Length of the interval.
    pub seconds: f64,
    /// Received.
    pub rx: NetDirection,
    /// Sent.
    pub tx: NetDirection,
    /// Packets that the interface missed because its queue was full.
    pub rx_fifo: Option<f64>,
    /// Collisions.
    pub collisions: Option<f64>,
    /// Errors, drops, overruns, collisions and carrier losses together, as far as the source counts them.
    pub lost: Option<f64>,
    /// Dropped by the queueing discipline.
    pub qdisc_drops: Option<f64>,
    /// Put back by the queueing discipline.
    pub qdisc_requeues: Option<f64>,
    /// How often the queueing discipline held a packet back.
    pub qdisc_overlimits: Option<f64>,
}

impl NetDelta {
    /// From one sample to the next.
    pub fn of(now: &Net, before: &Net) -> Self {
        Self::of_step(&CounterStep::between(now, before, |row| row.t_ns))
    }

    /// Of a step; without an earlier sample, since boot.
    pub fn of_step(step: &CounterStep<'_, Net>) -> Self {
        let lost: [fn(&Net) -> Option<i64>; 7] = [
            |row| row.rx_errors,
            |row| row.rx_drops,
            |row| row.tx_errors,
            |row| row.tx_drops,
            |row| row.tx_fifo,
            |row| row.tx_collisions,
            |row| row.tx_carrier,
        ];
        // Of what the source counts; imports may lack some.
        let counts = |part: fn(&Net) -> Option<i64>| {
            [Some(step.now), step.before].into_iter().flatten().any(|row| part(row).is_some())
        };
        let lost = lost.into_iter().filter(|part| counts(*part)).map(|part| step.delta_opt(part));
        Self {
            seconds: step.seconds,
            rx: NetDirection {
                bytes: step.delta(|row| row.rx_bytes),
                packets: step.delta_opt(|row| row.rx_packets),
                errors: step.delta_opt(|row| row.rx_errors),
                drops: step.delta_opt(|row| row.rx_drops),
            },
            tx: NetDirection {
                bytes: step.delta(|row| row.tx_bytes),
                packets: step.delta_opt(|row| row.tx_packets),
                errors: step.delta_opt(|row| row.tx_errors),
                drops: step.delta_opt(|row| row.tx_drops),
            },
            rx_fifo: step.delta_opt(|row| row.rx_fifo),
            collisions: step.delta_opt(|row| row.tx_collisions),
            lost: sum_known(lost),
            // The kernel keeps those of a queueing discipline in 32 bits.
            qdisc_drops: step.delta_of_32_bits(|row| row.qdisc_drops),
            qdisc_requeues: step.delta_of_32_bits(|row| row.qdisc_requeues),
            qdisc_overlimits: step.delta_of_32_bits(|row| row.qdisc_overlimits),
        }
    }

    /// `value` per second.
    pub fn per_s(&self, value: Option<f64>) -> Option<f64> {
        value.filter(|_| self.seconds > 0.0).map(|value| value / self.seconds)
    }

    /// Bits per second of one direction, with what the link carries besides the frames.
    pub fn wire_bits_per_s(&self, direction: &NetDirection) -> Option<f64> {
        self.per_s(Some((direction.bytes? + FRAME_BYTES * direction.packets.unwrap_or(0.0)) * 8.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(t_s: i64, rx_bytes: i64, qdisc_drops: i64) -> Net {
        Net {
            t_ns: t_s * 1_000_000_000,
            rx_bytes,
            rx_packets: Some(rx_bytes / 100),
            qdisc_drops: Some(qdisc_drops),
            ..Net::default()
        }
    }

    #[test]
    fn a_discipline_wraps_at_32_bits_and_an_interface_is_reset() {
        let delta = NetDelta::of(&row(3, 2_000, 6), &row(1, 1_000, (1 << 32) - 4));
        assert_eq!((delta.per_s(delta.rx.bytes), delta.per_s(delta.qdisc_drops)), (Some(500.0), Some(5.0)));
        assert_eq!(delta.wire_bits_per_s(&delta.rx), Some((1_000.0 + 24.0 * 10.0) * 4.0));
        let delta = NetDelta::of(&row(3, 900, 2), &row(1, 1_000, 4));
        assert_eq!((delta.rx.bytes, delta.qdisc_drops), (None, None), "it was replaced");
        assert_eq!((delta.rx.errors, delta.lost), (None, None), "not counted is not 0");
        let delta = NetDelta::of(&row(1, 2_000, 0), &row(1, 1_000, 0));
        assert_eq!((delta.rx.bytes, delta.per_s(delta.rx.bytes)), (Some(1_000.0), None), "no time passed");
    }
}
