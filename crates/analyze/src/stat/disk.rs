//! Block devices as `iostat -x` shows them (sysstat's formulas from `/proc/diskstats`).

use super::Digits::Fixed;
use super::{StatColumn, Step, columns, percent, ratio};
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
};

pub(super) struct Figures;

impl super::Figures<Disk> for Figures {
    fn key(&self, row: &Disk) -> String {
        row.device.clone()
    }

    fn values(&self, step: &Step<'_, Disk>) -> Vec<Option<f64>> {
        let kind = |ios: fn(&Disk) -> Option<i64>,
                    merges: fn(&Disk) -> Option<i64>,
                    sectors: fn(&Disk) -> Option<i64>,
                    ticks_ms: fn(&Disk) -> Option<i64>| {
            let (done, merged) = (step.delta_some(ios), step.delta_some(merges));
            let kib = step.delta_some(sectors).map(|sectors| sectors / 2.0);
            let all = done.zip(merged).map(|(done, merged)| done + merged);
            [
                step.rate_some(ios),
                step.rate_some(sectors).map(|sectors| sectors / 2.0),
                step.rate_some(merges),
                percent(merged, all),
                ratio(step.delta_some(ticks_ms), done),
                ratio(kib, done),
            ]
        };
        let mut values = Vec::with_capacity(COLUMNS.len());
        values.extend(kind(|row| row.read_ios, |row| row.read_merges, |row| row.read_sectors, |row| row.read_ticks_ms));
        values.extend(kind(
            |row| row.write_ios,
            |row| row.write_merges,
            |row| row.write_sectors,
            |row| row.write_ticks_ms,
        ));
        values.extend(kind(
            |row| row.discard_ios,
            |row| row.discard_merges,
            |row| row.discard_sectors,
            |row| row.discard_ticks_ms,
        ));
        values.extend([
            step.rate_some(|row| row.flush_ios),
            ratio(step.delta_some(|row| row.flush_ticks_ms), step.delta_some(|row| row.flush_ios)),
            step.rate_some(|row| row.weighted_ticks_ms).map(|ms| ms / 1e3),
            step.rate_some(|row| row.io_ticks_ms).map(|ms| (ms / 10.0).min(100.0)),
            step.now.in_flight.map(|count| count as f64),
        ]);
        values
    }
}
