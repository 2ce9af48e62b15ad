//! Processes, threads and control groups, and CPU time by event.

use crate::label::Label;
use crate::schema::tables;
use quantity::histogram::Histogram;

tables! {
    /// One process; rows of processes that did nothing since the sample before are left out.
    Process = "process" from "`/proc/PID/stat`, `/proc/PID/io`" since 1 rows OnChange with in_every_sample, unscraped {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Process.
        pid: i64, "", Number in key;
        /// When it was started, since boot: with the number, it names a process for good.
        start_ns: Option<i64>, "ns", Gauge in key;
        /// Its parent.
        parent: Option<i64>, "", Number;
        /// Name of the program, 15 bytes.
        comm: String, "", Name;
        /// `R`unning, `S`leeping, `D` waiting for I/O, `Z`ombie, s`T`opped, `I`dle.
        state: Option<String>, "", Name;
        /// Threads.
        threads: Option<i64>, "", Gauge;
        /// User mode.
        user_ns: Option<i64>, "ns", Counter;
        /// Kernel.
        system_ns: Option<i64>, "ns", Counter;
        /// Memory in use, shared pages included.
        resident_bytes: Option<i64>, "bytes", Gauge;
        /// Page faults that waited for a device.
        major_faults: Option<i64>, "", Counter;
        /// Page faults that waited for none. Null in recordings from before it was read.
        minor_faults: Option<i64>, "", Counter;
        /// Time spent waiting for block I/O; counted with `kernel.task_delayacct=1` only.
        io_delay_ns: Option<i64>, "ns", Counter;
        /// Bytes that it caused to be read from devices; null without the privilege to know.
        read_bytes: Option<i64>, "bytes", Counter;
        /// Bytes that it caused to be written to devices.
        write_bytes: Option<i64>, "bytes", Counter;
    }

    /// One thread of a process that has several and used half a CPU or more since the sample before; rows of threads that did nothing since are left out.
    Thread = "thread" from "`/proc/PID/task/TID/stat`" since 1 rows OnChange with unscraped, kept_whole {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Its process.
        pid: i64, "", Number in key;
        /// Thread.
        tid: i64, "", Number in key;
        /// When it was started, since boot.
        start_ns: Option<i64>, "ns", Gauge in key;
        /// Its name, 15 bytes.
        comm: String, "", Name;
        /// The CPU that it ran on last.
        cpu: Option<i32>, "", Gauge;
        /// User mode.
        user_ns: i64, "ns", Counter;
        /// Kernel.
        system_ns: i64, "ns", Counter;
    }

    /// Tasks that ended in one interval, by name; only those that lived less than 10 s, which samples of processes do not see or see in part.
    Exited = "exited" from "taskstats (netlink)" since 1 rows PerInterval with unscraped {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Name, 15 bytes.
        comm: Label, "", Name in key;
        /// Tasks (threads) that ended.
        tasks: i64, "", Gauge;
        /// Processes among them.
        processes: i64, "", Gauge;
        /// CPU time that they had used, as the scheduler measured it.
        cpu_ns: i64, "ns", Gauge;
        /// How long they had lived, together.
        lived_ns: i64, "ns", Gauge;
    }

    /// One control group, its subgroups included (but for the time that it was held back, which is its own). A row at first and of every sample in which it used CPU time, did I/O or waited for memory or I/O; the topmost group has one in every sample. What no controller counts is null.
    Cgroup = "cgroup" from "`cpu.stat`, `memory.stat`, `io.stat`, `*.pressure`, … of cgroup 2; `cpuacct`, `cpu`, `memory`, `blkio`, `pids` of cgroup 1" since 1 rows OnChange with vanishing {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Its path below the place where control groups are mounted; `/` is the topmost one.
        path: Label, "", Name in key;
        /// CPU time.
        usage_ns: Option<i64>, "ns", Counter;
        /// Of that, user mode.
        user_ns: Option<i64>, "ns", Counter;
        /// Of that, kernel.
        system_ns: Option<i64>, "ns", Counter;
        /// How many CPUs' time it may use; null without a limit of its own.
        cpu_limit: Option<f64>, "CPUs", Gauge;
        /// Periods of that limit in which it had something to do.
        periods: Option<i64>, "", Counter;
        /// Of those, periods in which it was held back because its time was up.
        throttled_periods: Option<i64>, "", Counter;
        /// For how long it was held back, added up over CPUs.
        throttled_ns: Option<i64>, "ns", Counter;
        /// Memory charged to it.
        memory_bytes: Option<i64>, "bytes", Gauge;
        /// How much it may have; null without a limit of its own.
        memory_max_bytes: Option<i64>, "bytes", Gauge;
        /// Above so much it is held back and made to free memory (`memory.high` of cgroup 2); null without such a bound, and in recordings made before there was this column.
        memory_high_bytes: Option<i64>, "bytes", Gauge;
        /// Of `memory_bytes`: memory of programs that has no file behind it.
        anonymous_bytes: Option<i64>, "bytes", Gauge;
        /// Of `memory_bytes`: page cache.
        file_bytes: Option<i64>, "bytes", Gauge;
        /// Times that it was made to free memory because it was above `memory.high`.
        memory_high_events: Option<i64>, "", Counter;
        /// Times that it met its limit.
        memory_max_events: Option<i64>, "", Counter;
        /// Times that it had too little memory to go on.
        oom_events: Option<i64>, "", Counter;
        /// Processes killed for lack of memory.
        oom_kills: Option<i64>, "", Counter;
        /// Bytes read from all devices.
        read_bytes: Option<i64>, "bytes", Counter;
        /// Bytes written to them.
        write_bytes: Option<i64>, "bytes", Counter;
        /// Reads.
        read_ios: Option<i64>, "op", Counter;
        /// Writes.
        write_ios: Option<i64>, "op", Counter;
        /// Processes and threads in it.
        tasks: Option<i64>, "", Gauge;
        /// Time in which at least one of its tasks waited for a CPU.
        cpu_some_ns: Option<i64>, "ns", Counter;
        /// Time in which all of its tasks that were not idle did.
        cpu_full_ns: Option<i64>, "ns", Counter;
        /// Time in which at least one of its tasks waited for memory.
        memory_some_ns: Option<i64>, "ns", Counter;
        /// Time in which all of its tasks that were not idle did.
        memory_full_ns: Option<i64>, "ns", Counter;
        /// Time in which at least one of its tasks waited for I/O.
        io_some_ns: Option<i64>, "ns", Counter;
        /// Time in which all of its tasks that were not idle did.
        io_full_ns: Option<i64>, "ns", Counter;
    }

    /// I/O of one control group, its subgroups included, on one device. A row at first and when it did something since its last row.
    CgroupIo = "cgroup_io" from "`io.stat` of cgroup 2, `blkio` of cgroup 1" since 1 rows OnChange of "cgroup" with vanishing {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// The group, as in `cgroup`.
        path: Label, "", Name in key;
        /// Kernel name of the device; its number when it has none any more.
        device: Label, "", Name in key;
        /// Bytes read.
        read_bytes: Option<i64>, "bytes", Counter;
        /// Bytes written.
        write_bytes: Option<i64>, "bytes", Counter;
        /// Reads.
        read_ios: Option<i64>, "op", Counter;
        /// Writes.
        write_ios: Option<i64>, "op", Counter;
        /// Bytes discarded.
        discard_bytes: Option<i64>, "bytes", Counter;
        /// Discards.
        discard_ios: Option<i64>, "op", Counter;
    }

    /// CPU time by event since the probes began: what the switches between tasks and the handlers of interrupts say themselves, not the clock's tick. Counted for each CPU from its first switch on, so that `run_ns + idle_ns` is all its time.
    CpuEvent = "cpu_event" from "the probes `sched` and `irq` (tracepoints)" since 1 rows EverySample {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `all` (sums), or the number of one CPU.
        cpu: String, "", Name in key;
        /// Tasks ran on it, interrupts that came meanwhile included.
        run_ns: i64, "ns", Counter;
        /// Of `run_ns`: at a stretch of 20 ms or more, which the clock's tick has seen, unless a hypervisor stopped the CPU meanwhile. Null in recordings from before it was counted.
        long_ns: Option<i64>, "ns", Counter;
        /// No task ran on it, interrupts that came meanwhile included.
        idle_ns: i64, "ns", Counter;
        /// Of `idle_ns`: in interrupts. Busy is `run_ns + idle_irq_ns`. Null where the kernel does not let interrupts be timed.
        idle_irq_ns: Option<i64>, "ns", Counter;
        /// In handlers of interrupts; those of the processor itself (timer, calls of other CPUs) where the kernel has tracepoints for them (x86).
        irq_ns: Option<i64>, "ns", Counter;
        /// In soft interrupts, wherever they ran.
        softirq_ns: Option<i64>, "ns", Counter;
        /// Of both: taken from a task that was running.
        stolen_ns: Option<i64>, "ns", Counter;
        /// Time for which tasks had been ready before they ran here.
        wait_ns: i64, "ns", Counter;
        /// Switches from one task to another.
        switches: i64, "", Counter;
        /// Switches that preempted a task.
        preemptions: i64, "", Counter;
    }

    /// How long tasks were ready before they ran, of all CPUs together; no row for an interval in which none was.
    RunQueue = "run_queue" from "the probe `sched`" since 1 rows PerInterval of "cpu_event" with summed {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// From waking, or from being preempted, to running: 4 buckets to an octave; minimum and maximum are the bounds of their buckets.
        wait: Histogram, "ns", Histogram;
    }

    /// What a process ran by event since the probes began. A row when it ran or waited for a millisecond or more since its last row, and its last word when it ended; what has no row did less.
    ProcessEvent = "process_event" from "the probe `sched`" since 1 rows OnChange of "cpu_event" with unscraped {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Process.
        pid: i64, "", Number in key;
        /// When it was started, since boot: with the number, it names a process for good.
        start_ns: i64, "ns", Gauge in key;
        /// The process that it came from, when it was first seen.
        parent: i64, "", Number;
        /// Name of the program, 15 bytes.
        comm: Label, "", Name;
        /// Its threads ran, interrupts that came meanwhile included.
        run_ns: i64, "ns", Counter;
        /// They were ready and had no CPU; counted when they run again.
        wait_ns: i64, "ns", Counter;
        /// They left a CPU by their own will.
        switches: i64, "", Counter;
        /// How often they were preempted.
        preemptions: i64, "", Counter;
    }

    /// How often a process waited for a CPU because of another since the probes began: was preempted by it, or woke and waited behind it. A row when it was ten times or more, or 100 ms or more, since its last row.
    PreemptedBy = "preempted_by" from "the probe `sched`" since 1 rows OnChange of "cpu_event" with unscraped {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// The process that was ready.
        pid: i64, "", Number in key;
        /// Its name; null when that is not known any more.
        comm: Option<Label>, "", Name;
        /// The process that ran.
        by_pid: i64, "", Number in key;
        /// Its name.
        by_comm: Option<Label>, "", Name;
        /// How often the second one preempted the first.
        count: i64, "", Counter;
        /// Until the first one ran again.
        wait_ns: i64, "ns", Counter;
        /// How often the first one woke and waited for 10 µs or more, for most of which the second ran on that CPU, until that left. Null in recordings from before it was counted.
        behind: Option<i64>, "", Counter;
        /// How long it waited then.
        behind_ns: Option<i64>, "ns", Counter;
    }

    /// Samples of the functions that run on every CPU, at equal times: how often in this interval a sample found a thread of this name in this pair of call stacks, of the program and of the kernel. A row for each pair that was seen. Only with `record --profile` and `probe stacks`.
    Profile = "profile" from "the probe `profile` (perf events)" since 1 rows PerInterval with unscraped {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Its length.
        interval_ns: i64, "ns", Gauge;
        /// Process.
        pid: i64, "", Number in key;
        /// Name of the thread, 15 bytes.
        comm: Label, "", Name in key;
        /// Functions of the program, the outermost first, with `;` between them; without a symbol, the file and the place in it. Null for threads of the kernel, and where there was no room.
        user: Option<Label>, "", Name in key;
        /// Functions of the kernel that it was in; null when it was in the program itself.
        kernel: Option<Label>, "", Name in key;
        /// Samples that found it there.
        samples: i64, "", Gauge;
        /// CPU time that they stand for.
        cpu_ns: i64, "ns", Gauge;
        /// The CPU, where only one was sampled; null: all of them were.
        cpu: Option<i32>, "", Gauge in key;
    }

    /// Time in one vector of interrupts on one CPU by event since the probes began. A row when it grew by 100 times or a millisecond.
    IrqTime = "irq_time" from "the probe `irq`" since 1 rows OnChange {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `irq` or `softirq`.
        kind: Label, "", Name in key;
        /// As in the table `interrupt`: `NET_RX`, `36 virtio1-req.0`, `LOC`, …
        vector: Label, "", Name in key;
        /// CPU.
        cpu: i32, "", Number in key;
        /// How often.
        count: i64, "", Counter;
        /// Time in its handlers.
        ns: i64, "ns", Counter;
        /// The longest since the probes began.
        max_ns: i64, "ns", Gauge;
    }

    /// Time that interrupts took from a process, by vector, since the probes began. A row when it grew by a millisecond.
    Stolen = "stolen" from "the probe `irq`" since 1 rows OnChange of "irq_time" with unscraped {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// The process that was running.
        pid: i64, "", Number in key;
        /// Its name.
        comm: Label, "", Name;
        /// `irq` or `softirq`.
        kind: Label, "", Name in key;
        /// As in the table `irq_time`.
        vector: Label, "", Name in key;
        /// How often.
        count: i64, "", Counter;
        /// Time.
        ns: i64, "ns", Counter;
    }
}
