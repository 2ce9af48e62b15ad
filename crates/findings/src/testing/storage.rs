//! Steps of memory, caches, control groups, file systems, and I/O by who does it.

use super::{Step, ns, whole};
use recording::LoadPhase;
use recording::rows::{BtrfsDevice, Cgroup, Figure, IoInterval, Memory, OpInterval, ZfsArc};

/// A cache without figures.
fn empty_arc() -> ZfsArc {
    ZfsArc {
        t_ns: 0,
        t_s: 0.0,
        hits: None,
        misses: None,
        demand_data_hits: None,
        demand_data_misses: None,
        demand_metadata_hits: None,
        demand_metadata_misses: None,
        prefetch_data_hits: None,
        prefetch_data_misses: None,
        prefetch_metadata_hits: None,
        prefetch_metadata_misses: None,
        mru_hits: None,
        mfu_hits: None,
        mru_ghost_hits: None,
        mfu_ghost_hits: None,
        size_bytes: None,
        target_bytes: None,
        min_bytes: None,
        max_bytes: None,
        metadata_bytes: None,
        compressed_bytes: None,
        uncompressed_bytes: None,
        memory_throttles: None,
        l2_hits: None,
        l2_misses: None,
        l2_read_bytes: None,
        l2_write_bytes: None,
        l2_size_bytes: None,
        l2_io_errors: None,
        l2_checksum_errors: None,
    }
}

impl Step<'_> {
    /// Page cache and free memory at the end, and refaults per second.
    pub(crate) fn memory(&mut self, cached: f64, free: f64, refaults: f64) {
        let seconds = self.seconds;
        let row = self.bench.memory.get_or_insert(Memory {
            t_ns: 0,
            t_s: 0.0,
            total_bytes: None,
            free_bytes: None,
            available_bytes: None,
            cached_bytes: None,
            anonymous_bytes: None,
            slab_bytes: None,
            dirty_bytes: None,
            writeback_bytes: None,
            swap_total_bytes: None,
            swap_free_bytes: None,
            page_in_bytes: None,
            page_out_bytes: None,
            swap_in_pages: None,
            swap_out_pages: None,
            faults: None,
            major_faults: None,
            file_refaults: Some(0),
            direct_reclaimed: None,
            oom_kills: None,
        });
        row.cached_bytes = Some(whole(cached));
        row.free_bytes = Some(whole(free));
        row.file_refaults = row.file_refaults.map(|was| was + whole(refaults * seconds));
    }

    /// The cache of ZFS: what it has and may have, and hits in 1,000 reads of the interval, per cent.
    pub(crate) fn arc(&mut self, size: f64, max: f64, hits: f64) {
        let row = self.bench.arc.get_or_insert_with(|| ZfsArc { hits: Some(0), misses: Some(0), ..empty_arc() });
        row.hits = row.hits.map(|was| was + whole(hits * 10.0));
        row.misses = row.misses.map(|was| was + whole((100.0 - hits) * 10.0));
        (row.size_bytes, row.max_bytes) = (Some(whole(size)), Some(whole(max)));
    }

    /// What `zpool status` counts of a device.
    pub(crate) fn zpool_status(&mut self, device: &str, column: &'static str, count: f64) {
        let row = self.bench.errors.entry((device.to_string(), column)).or_insert_with(|| Figure {
            t_ns: 0,
            t_s: 0.0,
            interval_ns: None,
            tool: "zpool-status".into(),
            thing: device.into(),
            name: column.into(),
            value: None,
            text: None,
        });
        row.value = Some(count);
    }

    /// A control group that did something: its page cache, and its limit of memory.
    pub(crate) fn group(&mut self, path: &str, cached: f64, limit: Option<f64>) {
        self.bench.groups.push(Cgroup {
            t_ns: 0,
            t_s: 0.0,
            path: path.into(),
            usage_ns: Some(0),
            user_ns: None,
            system_ns: None,
            cpu_limit: None,
            periods: None,
            throttled_periods: None,
            throttled_ns: None,
            // Programs of its own have 20 MB.
            memory_bytes: Some(whole(cached + 20e6)),
            memory_max_bytes: limit.map(whole),
            memory_high_bytes: None,
            anonymous_bytes: Some(20_000_000),
            file_bytes: Some(whole(cached)),
            memory_high_events: None,
            memory_max_events: None,
            oom_events: None,
            oom_kills: None,
            read_bytes: None,
            write_bytes: None,
            read_ios: None,
            write_ios: None,
            tasks: None,
            cpu_some_ns: None,
            cpu_full_ns: None,
            memory_some_ns: None,
            memory_full_ns: None,
            io_some_ns: None,
            io_full_ns: None,
        });
    }

    /// A control group with a `memory.high` that has so much memory, was made to free memory so often per second, and waited
    /// for memory for so many per cent of the interval, all of its tasks for half as long.
    pub(crate) fn group_at_high(&mut self, path: &str, memory: f64, high: f64, [per_s, wait_percent]: [f64; 2]) {
        let (times, wait_ns) = self.bench.held.entry(path.to_string()).or_default();
        *times += whole(per_s * self.seconds);
        *wait_ns += whole(wait_percent * 1e7 * self.seconds);
        let (times, wait_ns) = (*times, *wait_ns);
        self.group(path, memory - 20e6, None);
        if let Some(row) = self.bench.groups.last_mut() {
            (row.memory_high_bytes, row.memory_high_events) = (Some(whole(high)), Some(times));
            (row.memory_some_ns, row.memory_full_ns) = (Some(wait_ns), Some(wait_ns / 2));
        }
    }

    /// I/Os of a device by a process on a file, as the probe tells of them: so many per second, each of so many bytes and so
    /// many ms, and how many of them are sequential, per cent.
    pub(crate) fn ios(&mut self, device: &str, op: &str, (pid, comm, file): (i32, &str, &str), figures: [f64; 4]) {
        let [per_s, bytes, response_ms, sequential] = figures;
        let count = whole(per_s * self.seconds);
        let mut response = quantity::histogram::Histogram::default();
        (0..count).for_each(|_| response.record(u64::try_from(whole(response_ms * 1e6)).unwrap()));
        self.bench.ios.push(IoInterval {
            t_ns: 0,
            t_s: 0.0,
            interval_ns: ns(self.seconds),
            dev: device.into(),
            op: op.into(),
            pid: Some(pid),
            comm: Some(comm.into()),
            file: Some(file).filter(|file| !file.is_empty()).map(Into::into),
            ios: count,
            bytes: whole(count as f64 * bytes),
            response,
            asynchronous: None,
            sizes: recording::SizeHistogram::default(),
            sequential: Some(whole(count as f64 * sequential / 100.0)),
            errors: Some(0),
        });
    }

    /// iodyno's own load: operations per second that all took so long.
    pub(crate) fn load(&mut self, ops_per_s: f64, response_ms: f64) {
        let mut response = quantity::histogram::Histogram::default();
        response.record(u64::try_from(whole(response_ms * 1e6)).unwrap());
        self.bench.load.push(OpInterval {
            t_ns: 0,
            t_s: 0.0,
            interval_ns: ns(self.seconds),
            run: "r".into(),
            run_index: 0,
            phase: LoadPhase::Measure,
            workload: "w".into(),
            target: "t".into(),
            op: "read".into(),
            arrivals: None,
            ops: whole(ops_per_s * self.seconds),
            bytes: 0,
            errors: Some(0),
            service: response.clone(),
            wait: None,
            response,
            in_flight_mean: None,
            backlog: None,
        });
    }

    /// So many blocks of a device have had a wrong check sum.
    pub(crate) fn btrfs(&mut self, file_system: &str, device: i64, corruption: i64) {
        self.bench.btrfs.push(BtrfsDevice {
            t_ns: 0,
            t_s: 0.0,
            file_system: file_system.into(),
            device,
            write_errors: Some(0),
            read_errors: Some(0),
            flush_errors: Some(0),
            corruption_errors: Some(corruption),
            generation_errors: Some(0),
        });
    }
}
