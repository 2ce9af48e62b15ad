//! Block devices as `iostat -x` shows them (sysstat's formulas from `/proc/diskstats`).

use super::FigureDigits::Fixed;
use super::{StatColumn, columns, percent, ratio};
use crate::counter::CounterStep;
use crate::disk::DiskDelta;
use crate::disk::KindDelta;
use recording::rows::Disk;

pub(super) const COLUMNS: &[StatColumn] = columns! {
    "read_per_s" "r/s" Fixed(2), "reads completed per second";
    "read_kib_per_s" "rkB/s" Fixed(2), "KiB read per second";
    "read_merges_per_s" "rrqm/s" Fixed(2), "reads merged per second";
    "read_merged_percent" "%rrqm" Fixed(2), "merged reads ÷ (merged + completed)";
    "read_await_ms" "r_await" Fixed(2), "mean time of a read from queue to completion, ms";
    "read_size_kib" "rareq-sz" Fixed(2), "mean size of a read, KiB";
    "write_per_s" "w/s" Fixed(2), "writes completed per second";
    "write_kib_per_s" "wkB/s" Fixed(2), "KiB written per second";
    "write_merges_per_s" "wrqm/s" Fixed(2), "writes merged per second";
    "write_merged_percent" "%wrqm" Fixed(2), "merged writes ÷ (merged + completed)";
    "write_await_ms" "w_await" Fixed(2), "mean time of a write from queue to completion, ms";
    "write_size_kib" "wareq-sz" Fixed(2), "mean size of a write, KiB";
    "discard_per_s" "d/s" Fixed(2), "discards completed per second";
    "discard_kib_per_s" "dkB/s" Fixed(2), "KiB discarded per second";
    "discard_merges_per_s" "drqm/s" Fixed(2), "discards merged per second";
    "discard_merged_percent" "%drqm" Fixed(2), "merged discards ÷ (merged + completed)";
    "discard_await_ms" "d_await" Fixed(2), "mean time of a discard from queue to completion, ms";
    "discard_size_kib" "dareq-sz" Fixed(2), "mean size of a discard, KiB";
    "flush_per_s" "f/s" Fixed(2), "flushes completed per second";
    "flush_await_ms" "f_await" Fixed(2), "mean time of a flush, ms";
    "queue_size" "aqu-sz" Fixed(2), "mean number of requests queued and in flight";
    "util_percent" "%util" Fixed(2), "share of time with a request in flight; not the capacity of a device that works in parallel";
    "in_flight" "infl" Fixed(0), "requests in flight at the end of the interval";
    "ops_per_s" "tps" Fixed(2), "reads, writes and discards completed per second; of all kinds where the source does not tell them apart";
    "kib_per_s" "kB/s" Fixed(2), "KiB read, written and discarded per second";
    "await_ms" "await" Fixed(2), "mean time of a read, write or discard from queue to completion, ms";
    "size_kib" "areq-sz" Fixed(2), "mean size of a read, write or discard, KiB";
};

/// The place of `in_flight`, which a sample tells by itself.
const IN_FLIGHT: usize = 22;

pub(super) struct Figures;

impl super::Figures<Disk> for Figures {
    fn key(&self, row: &Disk) -> String {
        row.device.clone()
    }

    fn values(&self, step: &CounterStep<'_, Disk>) -> Vec<Option<f64>> {
        let in_flight = step.now.in_flight.map(|count| count as f64);
        let Some(delta) = DiskDelta::of_step(step) else {
            let mut values = vec![None; COLUMNS.len()];
            values[IN_FLIGHT] = in_flight;
            return values;
        };
        let kib = |bytes: Option<f64>| bytes.map(|bytes| bytes / 1024.0);
        let kind = |kind: &KindDelta| {
            let all = kind.ios.zip(kind.merges).map(|(done, merged)| done + merged);
            [
                delta.per_s(kind.ios),
                delta.per_s(kib(kind.bytes)),
                delta.per_s(kind.merges),
                percent(kind.merges, all),
                ratio(kind.ticks_ms, kind.ios),
                ratio(kib(kind.bytes), kind.ios),
            ]
        };
        let mut values = Vec::with_capacity(COLUMNS.len());
        for of in [&delta.read, &delta.write, &delta.discard] {
            values.extend(kind(of));
        }
        values.extend([
            delta.per_s(delta.flush.ios),
            ratio(delta.flush.ticks_ms, delta.flush.ios),
            delta.mean_queue_depth(),
            delta.busy_percent(),
            in_flight,
            delta.per_s(delta.ops()),
            delta.per_s(kib(delta.bytes())),
            ratio(delta.total_latency_ms(), delta.ops()),
            ratio(kib(delta.bytes()), delta.ops()),
        ]);
        values
    }
}
