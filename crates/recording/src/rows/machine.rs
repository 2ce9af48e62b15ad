//! Counters of the whole machine and of its devices.

use crate::label::Label;
use crate::schema::tables;

tables! {
    /// CPU time since boot, as the kernel counts it.
    Cpu = "cpu" from "`/proc/stat`" since 1 rows EverySample {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `all`, or the number of one CPU.
        cpu: String, "", Name in key;
        /// User mode, nice not included.
        user_ns: i64, "ns", Counter;
        /// User mode at low priority.
        nice_ns: Option<i64>, "ns", Counter;
        /// Kernel.
        system_ns: i64, "ns", Counter;
        /// Nothing to do.
        idle_ns: i64, "ns", Counter;
        /// Nothing to do while a task waited for I/O; idle time.
        iowait_ns: Option<i64>, "ns", Counter;
        /// Interrupts; null where the kernel does not account for it, in older recordings 0.
        irq_ns: Option<i64>, "ns", Counter;
        /// Soft interrupts.
        softirq_ns: Option<i64>, "ns", Counter;
        /// Taken by the hypervisor.
        steal_ns: Option<i64>, "ns", Counter;
        /// `tick`: sampled by the timer interrupt.
        clock: String, "", Name;
    }

    /// One sample: when its counters were read. A rate of two samples is wrong by as much, at most, as the time in which its counter may have been read is of the time between them.
    Sample = "sample" from "the clock of the collector" since 1 rows EverySample {
        /// Before the first counter was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// From there until the last one was.
        length_ns: i64, "ns", Gauge;
        /// The subject that took longest to read.
        slowest: Label, "", Name;
        /// How long that took.
        slowest_ns: i64, "ns", Gauge;
    }

    /// Memory and paging of the machine.
    Memory = "memory" from "`/proc/meminfo`, `/proc/vmstat`" since 1 rows EverySample {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Usable memory.
        total_bytes: Option<i64>, "bytes", Gauge;
        /// Unused.
        free_bytes: Option<i64>, "bytes", Gauge;
        /// What new programs could have without swapping (Linux 3.14).
        available_bytes: Option<i64>, "bytes", Gauge;
        /// Page cache with buffers of block devices.
        cached_bytes: Option<i64>, "bytes", Gauge;
        /// Memory of programs that has no file behind it.
        anonymous_bytes: Option<i64>, "bytes", Gauge;
        /// The kernel's own objects.
        slab_bytes: Option<i64>, "bytes", Gauge;
        /// Changed and not yet on its way to the disk.
        dirty_bytes: Option<i64>, "bytes", Gauge;
        /// On its way to the disk.
        writeback_bytes: Option<i64>, "bytes", Gauge;
        /// Swap there is.
        swap_total_bytes: Option<i64>, "bytes", Gauge;
        /// Swap not used.
        swap_free_bytes: Option<i64>, "bytes", Gauge;
        /// Read from block devices by the page cache and swap.
        page_in_bytes: Option<i64>, "bytes", Counter;
        /// Written to them.
        page_out_bytes: Option<i64>, "bytes", Counter;
        /// Pages brought in from swap.
        swap_in_pages: Option<i64>, "pages", Counter;
        /// Pages moved out to swap.
        swap_out_pages: Option<i64>, "pages", Counter;
        /// Page faults.
        faults: Option<i64>, "", Counter;
        /// Page faults that waited for a device.
        major_faults: Option<i64>, "", Counter;
        /// Pages of files that were needed again soon after they were given up (Linux 5.9).
        file_refaults: Option<i64>, "pages", Counter;
        /// Pages that programs had to free for themselves.
        direct_reclaimed: Option<i64>, "pages", Counter;
        /// Processes killed for lack of memory (Linux 4.13).
        oom_kills: Option<i64>, "", Counter;
    }

    /// Time lost because a resource was short (PSI, Linux 4.20).
    Pressure = "pressure" from "`/proc/pressure`" since 1 rows EverySample {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `cpu`, `memory`, `io` or `irq`.
        resource: String, "", Name in key;
        /// Time in which at least one task waited for it.
        some_ns: Option<i64>, "ns", Counter;
        /// Time in which all tasks that were not idle waited for it.
        full_ns: Option<i64>, "ns", Counter;
    }

    /// Scheduling and interrupts of the whole machine since boot.
    System = "system" from "`/proc/stat`, `/proc/loadavg`, `/proc/net/softnet_stat`" since 1 rows EverySample of "cpu" {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Switches from one task to another.
        context_switches: Option<i64>, "", Counter;
        /// Interrupts.
        interrupts: Option<i64>, "", Counter;
        /// Processes and threads started.
        forks: Option<i64>, "", Counter;
        /// Tasks that ran or could have run at that moment.
        runnable: Option<i64>, "", Gauge;
        /// Tasks that waited for I/O without being interruptible at that moment.
        blocked: Option<i64>, "", Gauge;
        /// Mean number of runnable and blocked tasks over a minute.
        load_1m: Option<f64>, "", Gauge;
        /// Packets dropped because a CPU's input queue was full.
        softnet_drops: Option<i64>, "packets", Counter;
        /// Times that a CPU left packets for later because its time was up.
        softnet_squeezed: Option<i64>, "", Counter;
    }

    /// Interrupts or soft interrupts of one kind on one CPU since boot. A row when it grew by 100 or more since its last row.
    Interrupt = "interrupt" from "`/proc/interrupts`, `/proc/softirqs`" since 1 rows OnChange {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `irq` or `softirq`.
        kind: Label, "", Name in key;
        /// Number or short name, with what raises it: `36 virtio1-req.0`, `LOC`, `NET_RX`.
        vector: Label, "", Name in key;
        /// Number of the CPU.
        cpu: i32, "", Number in key;
        /// How often.
        count: i64, "", Counter;
    }

    /// Counters of one block device since boot.
    Disk = "disk" from "`/proc/diskstats`" since 1 rows EverySample {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Kernel name.
        device: String, "", Name in key;
        /// The plan's targets that lie on it, with commas between.
        target: String, "", Name;
        /// Reads completed.
        read_ios: Option<i64>, "op", Counter;
        /// Reads merged before they were issued.
        read_merges: Option<i64>, "op", Counter;
        /// Sectors read, 512 B each.
        read_sectors: Option<i64>, "sectors", Counter;
        /// Time spent by all reads.
        read_ticks_ms: Option<i64>, "ms", Counter;
        /// Writes completed.
        write_ios: Option<i64>, "op", Counter;
        /// Writes merged before they were issued.
        write_merges: Option<i64>, "op", Counter;
        /// Sectors written, 512 B each.
        write_sectors: Option<i64>, "sectors", Counter;
        /// Time spent by all writes.
        write_ticks_ms: Option<i64>, "ms", Counter;
        /// Requests in flight at that moment.
        in_flight: Option<i64>, "op", Gauge;
        /// Time with at least one request in flight.
        io_ticks_ms: Option<i64>, "ms", Counter;
        /// Time × requests in flight.
        weighted_ticks_ms: Option<i64>, "ms", Counter;
        /// Discards completed (Linux 4.18).
        discard_ios: Option<i64>, "op", Counter;
        /// Discards merged.
        discard_merges: Option<i64>, "op", Counter;
        /// Sectors discarded, 512 B each.
        discard_sectors: Option<i64>, "sectors", Counter;
        /// Time spent by all discards.
        discard_ticks_ms: Option<i64>, "ms", Counter;
        /// Flushes completed (Linux 5.5).
        flush_ios: Option<i64>, "op", Counter;
        /// Time spent by all flushes.
        flush_ticks_ms: Option<i64>, "ms", Counter;
        /// Requests of all kinds; only in imports that do not tell the kinds apart.
        any_ios: Option<i64>, "op", Counter;
        /// Sectors of all kinds, 512 B each; the same.
        any_sectors: Option<i64>, "sectors", Counter;
    }

    /// Errors of one device of a btrfs file system since they were last reset. A row at first, and when they change.
    BtrfsDevice = "btrfs_device" from "`/sys/fs/btrfs/UUID/devinfo`" since 1 rows OnChange with kept_whole {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// The file system: its label, else its UUID.
        file_system: String, "", Name in key;
        /// Number of the device in it.
        device: i64, "", Number in key;
        /// Writes that failed.
        write_errors: Option<i64>, "", Counter;
        /// Reads that failed.
        read_errors: Option<i64>, "", Counter;
        /// Flushes that failed.
        flush_errors: Option<i64>, "", Counter;
        /// Blocks whose check sum was wrong.
        corruption_errors: Option<i64>, "", Counter;
        /// Blocks that were not the newest.
        generation_errors: Option<i64>, "", Counter;
    }

    /// The cache of ZFS (ARC), since the module was loaded.
    ZfsArc = "zfs_arc" from "`/proc/spl/kstat/zfs/arcstats`" since 1 rows EverySample of "zfs" {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Reads that found their block in it.
        hits: Option<i64>, "op", Counter;
        /// Reads that did not.
        misses: Option<i64>, "op", Counter;
        /// Of the hits: data that a program asked for.
        demand_data_hits: Option<i64>, "op", Counter;
        /// Of the misses: the same.
        demand_data_misses: Option<i64>, "op", Counter;
        /// Of the hits: metadata that a program asked for.
        demand_metadata_hits: Option<i64>, "op", Counter;
        /// Of the misses: the same.
        demand_metadata_misses: Option<i64>, "op", Counter;
        /// Of the hits: data read ahead.
        prefetch_data_hits: Option<i64>, "op", Counter;
        /// Of the misses: the same.
        prefetch_data_misses: Option<i64>, "op", Counter;
        /// Of the hits: metadata read ahead.
        prefetch_metadata_hits: Option<i64>, "op", Counter;
        /// Of the misses: the same.
        prefetch_metadata_misses: Option<i64>, "op", Counter;
        /// Hits among blocks that were used once lately.
        mru_hits: Option<i64>, "op", Counter;
        /// Hits among blocks that are used often.
        mfu_hits: Option<i64>, "op", Counter;
        /// Misses of blocks that had been given up shortly before, among those used once.
        mru_ghost_hits: Option<i64>, "op", Counter;
        /// The same among those used often.
        mfu_ghost_hits: Option<i64>, "op", Counter;
        /// Its size.
        size_bytes: Option<i64>, "bytes", Gauge;
        /// The size that it wants to have.
        target_bytes: Option<i64>, "bytes", Gauge;
        /// The least that it may want.
        min_bytes: Option<i64>, "bytes", Gauge;
        /// The most that it may want.
        max_bytes: Option<i64>, "bytes", Gauge;
        /// Of its size: metadata.
        metadata_bytes: Option<i64>, "bytes", Gauge;
        /// What it holds, as it is compressed.
        compressed_bytes: Option<i64>, "bytes", Gauge;
        /// The same without compression.
        uncompressed_bytes: Option<i64>, "bytes", Gauge;
        /// Writes that were held back for lack of memory.
        memory_throttles: Option<i64>, "", Counter;
        /// Misses that the second level (on devices) had.
        l2_hits: Option<i64>, "op", Counter;
        /// Misses that it had not.
        l2_misses: Option<i64>, "op", Counter;
        /// Bytes read from the second level.
        l2_read_bytes: Option<i64>, "bytes", Counter;
        /// Bytes written to it.
        l2_write_bytes: Option<i64>, "bytes", Counter;
        /// What it holds, without compression.
        l2_size_bytes: Option<i64>, "bytes", Gauge;
        /// Its reads that failed.
        l2_io_errors: Option<i64>, "", Counter;
        /// Its blocks whose check sum was wrong.
        l2_checksum_errors: Option<i64>, "", Counter;
    }

    /// A ZFS pool since it was imported. What a version of ZFS does not count is null.
    ZfsPool = "zfs_pool" from "`/proc/spl/kstat/zfs/POOL/state`, `io`, `iostats`; `zpool list`" since 1 rows EverySample of "zfs" {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Its name.
        pool: String, "", Name in key;
        /// `ONLINE`, `DEGRADED`, `FAULTED`, `SUSPENDED`, …
        state: Option<String>, "", Name;
        /// All of it, as `zpool list` tells, which is run once a minute; null where there is none or it does not answer, and in recordings from before it was asked.
        size_bytes: Option<i64>, "bytes", Gauge;
        /// In use.
        allocated_bytes: Option<i64>, "bytes", Gauge;
        /// Not in use.
        free_bytes: Option<i64>, "bytes", Gauge;
        /// How broken up the free space is.
        fragmentation_percent: Option<i64>, "%", Gauge;
        /// Reads of the pool (ZFS before 2.0).
        read_ios: Option<i64>, "op", Counter;
        /// Bytes read.
        read_bytes: Option<i64>, "bytes", Counter;
        /// Writes.
        write_ios: Option<i64>, "op", Counter;
        /// Bytes written.
        write_bytes: Option<i64>, "bytes", Counter;
        /// Time in which I/Os waited.
        wait_ns: Option<i64>, "ns", Counter;
        /// Time × I/Os that waited.
        weighted_wait_ns: Option<i64>, "ns", Counter;
        /// Time in which I/Os were under way.
        run_ns: Option<i64>, "ns", Counter;
        /// Time × I/Os under way.
        weighted_run_ns: Option<i64>, "ns", Counter;
        /// I/Os that wait at that moment.
        waiting: Option<i64>, "op", Gauge;
        /// I/Os under way at that moment.
        running: Option<i64>, "op", Gauge;
        /// Reads through the cache (OpenZFS 2.3).
        arc_read_ios: Option<i64>, "op", Counter;
        /// Their bytes.
        arc_read_bytes: Option<i64>, "bytes", Counter;
        /// Writes through the cache.
        arc_write_ios: Option<i64>, "op", Counter;
        /// Their bytes.
        arc_write_bytes: Option<i64>, "bytes", Counter;
        /// Reads past the cache.
        direct_read_ios: Option<i64>, "op", Counter;
        /// Their bytes.
        direct_read_bytes: Option<i64>, "bytes", Counter;
        /// Writes past the cache.
        direct_write_ios: Option<i64>, "op", Counter;
        /// Their bytes.
        direct_write_bytes: Option<i64>, "bytes", Counter;
    }

    /// A mounted data set or volume of ZFS. A row at first and when it was used since its last row; looked at every 10 s.
    ZfsDataset = "zfs_dataset" from "`/proc/spl/kstat/zfs/POOL/objset-*`" since 1 rows OnChange of "zfs" {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Its pool.
        pool: Label, "", Name;
        /// Its name.
        dataset: Label, "", Name in key;
        /// Reads by programs, those that the cache answered as well.
        read_ios: Option<i64>, "op", Counter;
        /// Their bytes.
        read_bytes: Option<i64>, "bytes", Counter;
        /// Writes by programs.
        write_ios: Option<i64>, "op", Counter;
        /// Their bytes.
        write_bytes: Option<i64>, "bytes", Counter;
        /// Files that were deleted.
        unlinks: Option<i64>, "", Counter;
        /// Those whose room is free again.
        unlinked: Option<i64>, "", Counter;
    }

    /// A mounted file system that holds something, by the shortest of its mount points. All of them every 10 s.
    FileSystem = "file_system" from "`/proc/self/mountinfo`, statvfs(3)" since 1 rows EverySample {
        /// When it was asked.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Where it is mounted.
        mount: String, "", Name in key;
        /// What is mounted.
        source: String, "", Name;
        /// Its type.
        kind: String, "", Name;
        /// Kernel name of the device that it lies on, as in the table `disk`; null where it is none, or several.
        device: Option<String>, "", Name;
        /// A btrfs's name in the table `btrfs_device`.
        volume: Option<String>, "", Name;
        /// Its capacity; null while its server does not answer, and below an automount, which a query would keep mounted.
        total_bytes: Option<i64>, "bytes", Gauge;
        /// Not in use.
        free_bytes: Option<i64>, "bytes", Gauge;
        /// Of that, what programs without privilege can have.
        available_bytes: Option<i64>, "bytes", Gauge;
        /// Inodes that it has; null where it makes them as it needs them.
        inodes: Option<i64>, "", Gauge;
        /// Of them, not in use.
        inodes_free: Option<i64>, "", Gauge;
    }

    /// Counters of one NFS mount since it was mounted.
    NfsMount = "nfs_mount" from "`/proc/self/mountstats`" since 1 rows EverySample {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Mount point.
        mount: String, "", Name in key;
        /// The plan's targets that lie on it, with commas between.
        target: String, "", Name;
        /// READ calls.
        read_ops: Option<i64>, "op", Counter;
        /// WRITE calls.
        write_ops: Option<i64>, "op", Counter;
        /// Bytes read from the server.
        read_bytes: Option<i64>, "bytes", Counter;
        /// Bytes written to the server.
        write_bytes: Option<i64>, "bytes", Counter;
        /// Time from queueing to answer of all READ calls.
        read_ticks_ms: Option<i64>, "ms", Counter;
        /// The same of all WRITE calls.
        write_ticks_ms: Option<i64>, "ms", Counter;
        /// Calls sent again.
        retransmits: Option<i64>, "op", Counter;
    }

    /// A figure that another tool printed and that no other table has a place for, as it was printed.
    Figure = "figure" from "an import of other tools' text (docs/import.md)" since 1 rows PerInterval with unscraped {
        /// End of the interval that it is of, or the moment.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Length of the interval; null for a value of that moment, or since some start.
        interval_ns: Option<i64>, "ns", Gauge;
        /// Format that it was read from.
        tool: Label, "", Name in key;
        /// What it is of: a device, a CPU, a process, a pool; empty for the whole machine.
        thing: Label, "", Name in key;
        /// Heading of its column, as printed.
        name: Label, "", Name in key;
        /// Value, in the unit of the heading; null when it is no number.
        value: Option<f64>, "", Gauge;
        /// What was printed, when it is no number.
        text: Option<Label>, "", Text;
    }
}
