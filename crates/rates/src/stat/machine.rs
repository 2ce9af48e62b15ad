//! Figures of the machine as a whole: scheduling, memory, pressure.

use super::FigureDigits::{Fixed, Scaled};
use super::{Figures, StatColumn, columns};
use crate::counter::CounterStep;
use recording::rows;

pub(super) const SYSTEM: &[StatColumn] = columns! {
    "runnable" "run" Fixed(0), "tasks that ran or could have run at the end of the interval";
    "blocked" "blk" Fixed(0), "tasks waiting for I/O, not interruptible, at the end of the interval";
    "load_1m" "load" Fixed(2), "mean of runnable and blocked tasks over a minute";
    "context_switches_per_s" "csw/s" Scaled, "context switches per second";
    "interrupts_per_s" "intr/s" Scaled, "interrupts per second";
    "forks_per_s" "fork/s" Scaled, "processes and threads started per second";
    "softnet_drops_per_s" "netdrop/s" Scaled, "packets dropped because a CPU's input queue was full, per second";
    "softnet_squeezed_per_s" "squeeze/s" Scaled, "times per second that a CPU left packets for later";
};

pub(super) struct System;

impl Figures<rows::System> for System {
    fn key(&self, _row: &rows::System) -> String {
        "system".to_string()
    }

    fn values(&self, step: &CounterStep<'_, rows::System>) -> Vec<Option<f64>> {
        vec![
            step.now.runnable.map(|count| count as f64),
            step.now.blocked.map(|count| count as f64),
            step.now.load_1m,
            step.rate_opt(|row| row.context_switches),
            step.rate_opt(|row| row.interrupts),
            step.rate_opt(|row| row.forks),
            step.rate_opt(|row| row.softnet_drops),
            step.rate_opt(|row| row.softnet_squeezed),
        ]
    }
}

pub(super) const MEMORY: &[StatColumn] = columns! {
    "available_mib" "avail" Fixed(0), "MiB that new programs could have without swapping";
    "free_mib" "free" Fixed(0), "unused MiB";
    "cached_mib" "cache" Fixed(0), "MiB of page cache";
    "anonymous_mib" "anon" Fixed(0), "MiB of programs without a file behind them";
    "slab_mib" "slab" Fixed(0), "MiB of the kernel's own objects";
    "dirty_mib" "dirty" Scaled, "MiB changed and not on their way to the disk";
    "writeback_mib" "wback" Scaled, "MiB on their way to the disk";
    "swap_used_mib" "swap" Fixed(0), "MiB of swap in use";
    "page_in_kib_per_s" "piKB/s" Scaled, "KiB per second read from devices by cache and swap";
    "page_out_kib_per_s" "poKB/s" Scaled, "KiB per second written to devices";
    "swap_in_per_s" "si/s" Scaled, "pages per second from swap";
    "swap_out_per_s" "so/s" Scaled, "pages per second to swap";
    "faults_per_s" "flt/s" Scaled, "page faults per second";
    "major_faults_per_s" "majf/s" Scaled, "page faults per second that waited for a device";
    "file_refaults_per_s" "refl/s" Scaled, "pages of files per second that were needed again soon after they were given up";
    "direct_reclaimed_per_s" "drcl/s" Scaled, "pages per second that programs had to free for themselves";
};

pub(super) struct Memory;

impl Figures<rows::Memory> for Memory {
    fn key(&self, _row: &rows::Memory) -> String {
        "memory".to_string()
    }

    fn values(&self, step: &CounterStep<'_, rows::Memory>) -> Vec<Option<f64>> {
        let mib = |bytes: i64| bytes as f64 / f64::from(1 << 20);
        let kib = |bytes: f64| bytes / 1024.0;
        let now = step.now;
        vec![
            now.available_bytes.map(mib),
            now.free_bytes.map(mib),
            now.cached_bytes.map(mib),
            now.anonymous_bytes.map(mib),
            now.slab_bytes.map(mib),
            now.dirty_bytes.map(mib),
            now.writeback_bytes.map(mib),
            now.swap_total_bytes.zip(now.swap_free_bytes).map(|(total, free)| mib(total - free)),
            step.rate_opt(|row| row.page_in_bytes).map(kib),
            step.rate_opt(|row| row.page_out_bytes).map(kib),
            step.rate_opt(|row| row.swap_in_pages),
            step.rate_opt(|row| row.swap_out_pages),
            step.rate_opt(|row| row.faults),
            step.rate_opt(|row| row.major_faults),
            step.rate_opt(|row| row.file_refaults),
            step.rate_opt(|row| row.direct_reclaimed),
        ]
    }
}

pub(super) const PRESSURE: &[StatColumn] = columns! {
    "some_percent" "%some" Fixed(2), "share of time in which at least one task waited for it";
    "full_percent" "%full" Fixed(2), "share of time in which all tasks that were not idle waited for it";
};

pub(super) struct Pressure;

impl Figures<rows::Pressure> for Pressure {
    fn key(&self, row: &rows::Pressure) -> String {
        row.resource.clone()
    }

    fn values(&self, step: &CounterStep<'_, rows::Pressure>) -> Vec<Option<f64>> {
        // The kernel brings totals up to date every 2 s, or when they are read.
        let share = |of: fn(&rows::Pressure) -> Option<i64>| step.share_percent(of).map(|percent| percent.min(100.0));
        vec![share(|row| row.some_ns), share(|row| row.full_ns)]
    }
}
