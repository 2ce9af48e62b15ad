//! The tables: one row type each.

use crate::catalogue::tables;
use quantity::histogram::Histogram;

tables! {
    /// One interval of one workload on one target, per operation.
    OpInterval = "op_interval" from "the load engine" since 1 {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// `format`, `warmup`, `measure` or `drain`.
        phase: String, "", Name;
        /// Workload.
        workload: String, "", Name;
        /// Target.
        target: String, "", Name;
        /// `read`, `write`, `trim` or `flush`.
        op: String, "", Name;
        /// Operations that became due.
        arrivals: i64, "op", Gauge;
        /// Operations completed.
        ops: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Operations that failed; not in `ops`.
        errors: i64, "op", Gauge;
        /// Completion − arrival.
        response: Histogram, "ns", Histogram;
        /// Completion − submission.
        service: Histogram, "ns", Histogram;
        /// Mean number in flight, by integral over the interval.
        in_flight_mean: f64, "op", Gauge;
        /// Arrived and not submitted at the end of the interval.
        backlog: i64, "op", Gauge;
    }

    /// Exact totals of one phase of one run, per workload, target and operation, at full resolution.
    RunTotal = "run_total" from "the load engine" since 1 {
        /// End of the phase's last interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Start of the phase's first interval.
        start_t_ns: i64, "ns", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// `format`, `warmup`, `measure` or `drain`.
        phase: String, "", Name;
        /// Workload.
        workload: String, "", Name;
        /// Target.
        target: String, "", Name;
        /// `read`, `write`, `trim` or `flush`.
        op: String, "", Name;
        /// Operations that became due.
        arrivals: i64, "op", Gauge;
        /// Operations completed.
        ops: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Operations that failed; not in `ops`.
        errors: i64, "op", Gauge;
        /// Completion − arrival.
        response: Histogram, "ns", Histogram;
        /// Completion − submission.
        service: Histogram, "ns", Histogram;
    }

    /// What one worker of the load engine did and cost in one interval.
    EngineInterval = "engine_interval" from "the load engine" since 1 {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// Number of the worker.
        worker: i32, "", Gauge;
        /// `io_uring` or `sync`.
        engine: String, "", Name;
        /// CPU time in user mode.
        cpu_user_ns: i64, "ns", Gauge;
        /// CPU time in the kernel.
        cpu_sys_ns: i64, "ns", Gauge;
        /// Submission − arrival: what the generator added before the kernel had the request.
        wait: Histogram, "ns", Histogram;
        /// Greatest age of a time stamp that served a batch.
        timestamp_age_ns_max: i64, "ns", Gauge;
        /// System calls that submitted or waited.
        submit_calls: i64, "", Gauge;
        /// Times that the worker slept and was woken.
        wakeups: i64, "", Gauge;
        /// Was the generator itself the limit?
        limited: bool, "", Gauge;
    }

    /// Start or end of a phase of a run.
    Phase = "phase" from "the session" since 1 {
        /// When.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// `format`, `warmup` or `measure`.
        phase: String, "", Name;
        /// `start` or `end`.
        event: String, "", Name;
        /// Arrivals per second that are asked for; null at full speed.
        offered_rate: Option<f64>, "op/s", Gauge;
        /// Loop variables, `name=value name=value`.
        detail: String, "", Text;
    }

    /// Something that happened once.
    Event = "event" from "whoever met it" since 1 {
        /// When.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `info`, `warning` or `error`.
        severity: String, "", Name;
        /// Short name of what it was.
        kind: String, "", Name;
        /// Title of the run, when it belongs to one.
        run: Option<String>, "", Name;
        /// Target, when it belongs to one.
        target: Option<String>, "", Name;
        /// In words.
        message: String, "", Text;
        /// How often.
        count: i64, "", Gauge;
    }

    /// CPU time since boot, as the kernel counts it.
    Cpu = "cpu" from "`/proc/stat`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `all`, or the number of one CPU.
        cpu: String, "", Name;
        /// User mode, nice not included.
        user_ns: i64, "ns", Counter;
        /// User mode at low priority.
        nice_ns: i64, "ns", Counter;
        /// Kernel.
        system_ns: i64, "ns", Counter;
        /// Nothing to do.
        idle_ns: i64, "ns", Counter;
        /// Nothing to do while a task waited for I/O; idle time.
        iowait_ns: i64, "ns", Counter;
        /// Interrupts; 0 where the kernel does not account for it.
        irq_ns: i64, "ns", Counter;
        /// Soft interrupts.
        softirq_ns: i64, "ns", Counter;
        /// Taken by the hypervisor.
        steal_ns: Option<i64>, "ns", Counter;
        /// `tick`: sampled by the timer interrupt.
        clock: String, "", Name;
    }

    /// Counters of one block device since boot.
    Disk = "disk" from "`/proc/diskstats`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Kernel name.
        device: String, "", Name;
        /// The plan's targets that lie on it, with commas between.
        target: String, "", Name;
        /// Reads completed.
        read_ios: i64, "op", Counter;
        /// Reads merged before they were issued.
        read_merges: i64, "op", Counter;
        /// Sectors read, 512 B each.
        read_sectors: i64, "sectors", Counter;
        /// Time spent by all reads.
        read_ticks_ms: i64, "ms", Counter;
        /// Writes completed.
        write_ios: i64, "op", Counter;
        /// Writes merged before they were issued.
        write_merges: i64, "op", Counter;
        /// Sectors written, 512 B each.
        write_sectors: i64, "sectors", Counter;
        /// Time spent by all writes.
        write_ticks_ms: i64, "ms", Counter;
        /// Requests in flight at that moment.
        in_flight: i64, "op", Gauge;
        /// Time with at least one request in flight.
        io_ticks_ms: i64, "ms", Counter;
        /// Time × requests in flight.
        weighted_ticks_ms: i64, "ms", Counter;
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
    }

    /// Counters of one NFS mount since it was mounted.
    NfsMount = "nfs_mount" from "`/proc/self/mountstats`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Mount point.
        mount: String, "", Name;
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
}
