//! Processes and threads, and CPU time by event.

use crate::catalogue::tables;
use crate::label::Label;

tables! {
    /// One process; rows of processes that did nothing since the sample before are left out.
    Process = "process" from "`/proc/PID/stat`, `/proc/PID/io`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Process.
        pid: i64, "", Gauge;
        /// When it was started, since boot: with the number, it names a process for good.
        start_ns: Option<i64>, "ns", Gauge;
        /// Its parent.
        parent: Option<i64>, "", Gauge;
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
        /// Time spent waiting for block I/O; counted with `kernel.task_delayacct=1` only.
        io_delay_ns: Option<i64>, "ns", Counter;
        /// Bytes that it caused to be read from devices; null without the privilege to know.
        read_bytes: Option<i64>, "bytes", Counter;
        /// Bytes that it caused to be written to devices.
        write_bytes: Option<i64>, "bytes", Counter;
    }

    /// One thread of a process that has several and used half a CPU or more since the sample before; rows of threads that did nothing since are left out.
    Thread = "thread" from "`/proc/PID/task/TID/stat`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Its process.
        pid: i64, "", Gauge;
        /// Thread.
        tid: i64, "", Gauge;
        /// When it was started, since boot.
        start_ns: Option<i64>, "ns", Gauge;
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
    Exited = "exited" from "taskstats (netlink)" since 1 {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Name, 15 bytes.
        comm: Label, "", Name;
        /// Tasks (threads) that ended.
        tasks: i64, "", Gauge;
        /// Processes among them.
        processes: i64, "", Gauge;
        /// CPU time that they had used, as the scheduler measured it.
        cpu_ns: i64, "ns", Gauge;
        /// How long they had lived, together.
        lived_ns: i64, "ns", Gauge;
    }

    /// CPU time by event since the probes began: what the switches between tasks and the handlers of interrupts say themselves, not the clock's tick. Counted for each CPU from its first switch on, so that `run_ns + idle_ns` is all its time.
    CpuEvent = "cpu_event" from "the probes `sched` and `irq` (tracepoints)" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `all` (sums), or the number of one CPU.
        cpu: String, "", Name;
        /// Tasks ran on it, interrupts that came meanwhile included.
        run_ns: i64, "ns", Counter;
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
        /// Those that put a task aside that could have gone on.
        preemptions: i64, "", Counter;
    }

    /// What a process ran by event since the probes began. A row when it ran or waited for a millisecond or more since its last row, and its last word when it ended; what has no row did less.
    ProcessEvent = "process_event" from "the probe `sched`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Process.
        pid: i64, "", Gauge;
        /// When it was started, since boot: with the number, it names a process for good.
        start_ns: i64, "ns", Gauge;
        /// The process that it came from, when it was first seen.
        parent: i64, "", Gauge;
        /// Name of the program, 15 bytes.
        comm: Label, "", Name;
        /// Its threads ran, interrupts that came meanwhile included.
        run_ns: i64, "ns", Counter;
        /// They were ready and had no CPU; counted when they run again.
        wait_ns: i64, "ns", Counter;
        /// They left a CPU by their own will.
        switches: i64, "", Counter;
        /// They were put aside although they could have gone on.
        preemptions: i64, "", Counter;
    }

    /// How often a process was put aside for another since the probes began. A row when it was ten times or more since its last row.
    PreemptedBy = "preempted_by" from "the probe `sched`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// The process that could have gone on.
        pid: i64, "", Gauge;
        /// Its name; null when that is not known any more.
        comm: Option<Label>, "", Name;
        /// The process that came instead.
        by_pid: i64, "", Gauge;
        /// Its name.
        by_comm: Option<Label>, "", Name;
        /// How often.
        count: i64, "", Counter;
        /// Until the first one ran again.
        wait_ns: i64, "ns", Counter;
    }

    /// Time in one vector of interrupts on one CPU by event since the probes began. A row when it grew by 100 times or a millisecond.
    IrqTime = "irq_time" from "the probe `irq`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `irq` or `softirq`.
        kind: Label, "", Name;
        /// As in the table `interrupt`: `NET_RX`, `36 virtio1-req.0`, `LOC`, …
        vector: Label, "", Name;
        /// CPU.
        cpu: i32, "", Gauge;
        /// How often.
        count: i64, "", Counter;
        /// Time in its handlers.
        ns: i64, "ns", Counter;
        /// The longest since the probes began.
        max_ns: i64, "ns", Gauge;
    }

    /// Time that interrupts took from a process, by vector, since the probes began. A row when it grew by a millisecond.
    Stolen = "stolen" from "the probe `irq`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// The process that was running.
        pid: i64, "", Gauge;
        /// Its name.
        comm: Label, "", Name;
        /// `irq` or `softirq`.
        kind: Label, "", Name;
        /// As in the table `irq_time`.
        vector: Label, "", Name;
        /// How often.
        count: i64, "", Counter;
        /// Time.
        ns: i64, "ns", Counter;
    }
}
