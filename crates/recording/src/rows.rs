//! The tables: one row type each.

use crate::catalogue::tables;
use crate::label::Label;
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
        /// Operations that became due; null when the source of an import did not count them.
        arrivals: Option<i64>, "op", Gauge;
        /// Operations completed.
        ops: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Operations that failed, not in `ops`; null when the source of an import did not count them.
        errors: Option<i64>, "op", Gauge;
        /// Completion − arrival.
        response: Histogram, "ns", Histogram;
        /// Completion − submission.
        service: Histogram, "ns", Histogram;
        /// Mean number in flight, by integral over the interval.
        in_flight_mean: Option<f64>, "op", Gauge;
        /// Arrived and not submitted at the end of the interval.
        backlog: Option<i64>, "op", Gauge;
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
        /// Operations that became due; null when the source of an import did not count them.
        arrivals: Option<i64>, "op", Gauge;
        /// Operations completed.
        ops: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Operations that failed, not in `ops`; null when the source of an import did not count them.
        errors: Option<i64>, "op", Gauge;
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

    /// What a run had to achieve, and what came of it.
    Objective = "objective" from "the session" since 1 {
        /// When it was judged: at the end of the run.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// The condition that must not come true (docs/objectives.md).
        condition: String, "", Text;
        /// `met`, `missed` or `not judged`.
        verdict: String, "", Name;
        /// What was measured, in a sentence.
        sentence: String, "", Text;
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
        nice_ns: Option<i64>, "ns", Counter;
        /// Kernel.
        system_ns: i64, "ns", Counter;
        /// Nothing to do.
        idle_ns: i64, "ns", Counter;
        /// Nothing to do while a task waited for I/O; idle time.
        iowait_ns: Option<i64>, "ns", Counter;
        /// Interrupts; 0 where the kernel does not account for it.
        irq_ns: Option<i64>, "ns", Counter;
        /// Soft interrupts.
        softirq_ns: Option<i64>, "ns", Counter;
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

    /// Counters of one network interface since it came up, with its queueing discipline.
    Net = "net" from "`/proc/net/dev`, `/sys/class/net`, rtnetlink" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Name.
        interface: String, "", Name;
        /// Bytes received.
        rx_bytes: i64, "bytes", Counter;
        /// Packets received.
        rx_packets: Option<i64>, "packets", Counter;
        /// Bad packets received.
        rx_errors: Option<i64>, "packets", Counter;
        /// Received and dropped.
        rx_drops: Option<i64>, "packets", Counter;
        /// Receive queue overruns.
        rx_fifo: Option<i64>, "packets", Counter;
        /// Framing errors.
        rx_frame: Option<i64>, "packets", Counter;
        /// Multicast packets received.
        rx_multicast: Option<i64>, "packets", Counter;
        /// Bytes sent.
        tx_bytes: i64, "bytes", Counter;
        /// Packets sent.
        tx_packets: Option<i64>, "packets", Counter;
        /// Packets that could not be sent.
        tx_errors: Option<i64>, "packets", Counter;
        /// Dropped before they were sent.
        tx_drops: Option<i64>, "packets", Counter;
        /// Send queue overruns.
        tx_fifo: Option<i64>, "packets", Counter;
        /// Collisions.
        tx_collisions: Option<i64>, "packets", Counter;
        /// Carrier losses.
        tx_carrier: Option<i64>, "packets", Counter;
        /// Speed of the link; null where the driver does not know it.
        speed_bits_per_s: Option<i64>, "bit/s", Gauge;
        /// Both directions at once at full speed?
        full_duplex: Option<bool>, "", Gauge;
        /// Is the link up?
        up: Option<bool>, "", Gauge;
        /// Bytes that wait in the root queueing discipline.
        qdisc_backlog_bytes: Option<i64>, "bytes", Gauge;
        /// Packets that it dropped.
        qdisc_drops: Option<i64>, "packets", Counter;
        /// Times that it held a packet back to keep a rate.
        qdisc_overlimits: Option<i64>, "", Counter;
        /// Packets put back because the driver was busy.
        qdisc_requeues: Option<i64>, "packets", Counter;
        /// Kind of the root queueing discipline: `fq_codel`, `tbf`, …
        qdisc: Option<String>, "", Name;
        /// Rate to which it shapes what is sent; null where it does not, or does not say.
        qdisc_rate_bits_per_s: Option<i64>, "bit/s", Gauge;
        /// Largest packet.
        mtu_bytes: Option<i64>, "bytes", Gauge;
        /// The bond, bridge or team that it is a member of.
        master: Option<String>, "", Name;
    }

    /// TCP of this network namespace since boot.
    Tcp = "tcp" from "`/proc/net/snmp`, `/proc/net/netstat`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Segments received.
        in_segments: Option<i64>, "segments", Counter;
        /// Segments sent, those sent again not included.
        out_segments: Option<i64>, "segments", Counter;
        /// Segments sent again.
        retransmits: Option<i64>, "segments", Counter;
        /// Segments received with errors.
        in_errors: Option<i64>, "segments", Counter;
        /// Connections opened from here.
        active_opens: Option<i64>, "", Counter;
        /// Connections accepted.
        passive_opens: Option<i64>, "", Counter;
        /// Attempts to connect that failed.
        attempt_fails: Option<i64>, "", Counter;
        /// Established connections that were reset.
        established_resets: Option<i64>, "", Counter;
        /// Resets sent.
        resets_sent: Option<i64>, "", Counter;
        /// Connections established at that moment.
        established: Option<i64>, "", Gauge;
        /// Connections that found the accept queue of their listener full.
        listen_overflows: Option<i64>, "", Counter;
        /// Connection requests dropped by listeners for any reason; overflows are among them.
        listen_drops: Option<i64>, "", Counter;
        /// Retransmission timers that expired.
        timeouts: Option<i64>, "", Counter;
        /// Connection requests sent again.
        syn_retransmits: Option<i64>, "", Counter;
        /// Connection requests dropped because a listener's queue of half-open connections was full.
        request_queue_drops: Option<i64>, "", Counter;
        /// Of those, answered by a cookie instead.
        request_queue_cookies: Option<i64>, "", Counter;
    }

    /// UDP of this network namespace since boot.
    Udp = "udp" from "`/proc/net/snmp`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Datagrams delivered.
        in_datagrams: Option<i64>, "datagrams", Counter;
        /// Datagrams sent.
        out_datagrams: Option<i64>, "datagrams", Counter;
        /// Datagrams for a port where nobody listens.
        no_ports: Option<i64>, "datagrams", Counter;
        /// Datagrams not delivered for other reasons.
        in_errors: Option<i64>, "datagrams", Counter;
        /// Of those, for lack of room in a socket's buffer.
        receive_buffer_errors: Option<i64>, "datagrams", Counter;
        /// Not sent for lack of room.
        send_buffer_errors: Option<i64>, "datagrams", Counter;
    }

    /// Memory and paging of the machine.
    Memory = "memory" from "`/proc/meminfo`, `/proc/vmstat`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Usable memory.
        total_bytes: Option<i64>, "bytes", Gauge;
        /// Used by nobody.
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
    Pressure = "pressure" from "`/proc/pressure`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `cpu`, `memory`, `io` or `irq`.
        resource: String, "", Name;
        /// Time in which at least one task waited for it.
        some_ns: Option<i64>, "ns", Counter;
        /// Time in which all tasks that were not idle waited for it.
        full_ns: Option<i64>, "ns", Counter;
    }

    /// Scheduling and interrupts of the whole machine since boot.
    System = "system" from "`/proc/stat`, `/proc/loadavg`, `/proc/net/softnet_stat`" since 1 {
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

    /// A TCP socket that listens. A row when it is first seen, and at every sample in which its queue is not empty.
    Listener = "listener" from "sock_diag (netlink), `/proc/PID/fd`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Address that it listens on; IPv6 in brackets.
        address: String, "", Name;
        /// Port.
        port: i64, "", Gauge;
        /// Connections that wait to be accepted.
        queue: i64, "", Gauge;
        /// What the program asked for in `listen(2)`, or the system's limit if that is less. The kernel admits one more.
        backlog: i64, "", Gauge;
        /// The system's limit (`net.core.somaxconn`).
        limit: Option<i64>, "", Gauge;
        /// A process that holds it; looked for only when the queue is long, and null without the privilege to look.
        pid: Option<i64>, "", Gauge;
        /// Its name.
        comm: Option<String>, "", Name;
    }

    /// Interrupts or soft interrupts of one kind on one CPU since boot. A row when it grew by 100 or more since its last row.
    Interrupt = "interrupt" from "`/proc/interrupts`, `/proc/softirqs`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `irq` or `softirq`.
        kind: Label, "", Name;
        /// Number or short name, with what raises it: `36 virtio1-req.0`, `LOC`, `NET_RX`.
        vector: Label, "", Name;
        /// Number of the CPU.
        cpu: i32, "", Gauge;
        /// How often.
        count: i64, "", Counter;
    }

    /// The input queue for packets of one CPU since boot.
    Softnet = "softnet" from "`/proc/net/softnet_stat`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Number of the CPU.
        cpu: i32, "", Gauge;
        /// Packets handled.
        packets: i64, "packets", Counter;
        /// Packets dropped because the queue was full.
        drops: i64, "packets", Counter;
        /// Times that packets were left for later because time was up.
        squeezed: i64, "", Counter;
        /// Packets that other CPUs passed on to this one (RPS).
        received_rps: Option<i64>, "packets", Counter;
    }

    /// Errors of one device of a btrfs file system since they were last reset. A row at first, and when they change.
    BtrfsDevice = "btrfs_device" from "`/sys/fs/btrfs/UUID/devinfo`" since 1 {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// The file system: its label, else its UUID.
        file_system: String, "", Name;
        /// Number of the device in it.
        device: i64, "", Gauge;
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

    /// A figure that another tool printed and that no other table has a place for, as it was printed.
    Figure = "figure" from "an import of other tools' text (docs/import.md)" since 1 {
        /// End of the interval that it is of, or the moment.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Length of the interval; null for a value of that moment, or since some start.
        interval_ns: Option<i64>, "ns", Gauge;
        /// Format that it was read from.
        tool: Label, "", Name;
        /// What it is of: a device, a CPU, a process, a pool; empty for the whole machine.
        thing: Label, "", Name;
        /// Heading of its column, as printed.
        name: Label, "", Name;
        /// Value, in the unit of the heading; null when it is no number.
        value: Option<f64>, "", Gauge;
        /// What was printed, when it is no number.
        text: Option<Label>, "", Text;
    }

    /// One line of the comparison of a replay with its trace (docs/replay.md).
    Fidelity = "fidelity" from "a replay" since 1 {
        /// When it was compared.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// What is compared.
        measure: String, "", Name;
        /// Unit of the figures; `r` is a correlation.
        unit: String, "", Name;
        /// In the trace; null where it has none.
        source: Option<f64>, "", Gauge;
        /// In the replay.
        replay: Option<f64>, "", Gauge;
        /// Difference, distance or error.
        error: Option<f64>, "", Gauge;
        /// How large that may be (a correlation: how small).
        limit: Option<f64>, "", Gauge;
        /// Was it kept? Null: not judged.
        kept: Option<bool>, "", Gauge;
    }

    /// One second of a replay beside its trace, both by the kernel's account (docs/replay.md).
    FidelityInterval = "fidelity_interval" from "a replay" since 1 {
        /// End of the second.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Length: a second.
        interval_ns: i64, "ns", Gauge;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// I/Os that the trace has here, at the replay's speed.
        source_ios: i64, "", Gauge;
        /// I/Os that the replay had.
        replay_ios: i64, "", Gauge;
        /// Bytes that the trace has here.
        source_bytes: i64, "bytes", Gauge;
        /// Bytes that the replay had.
        replay_bytes: i64, "bytes", Gauge;
        /// Of I/Os due here: the kernel's queueing − due.
        late: Histogram, "ns", Histogram;
        /// Response times in the trace.
        source_response: Histogram, "ns", Histogram;
        /// Response times in the replay.
        replay_response: Histogram, "ns", Histogram;
    }

    /// One block I/O of a traced device, in the order of completion (where that is not known, of queueing).
    Io = "io" from "the tracer (block tracepoints), or an import (docs/import.md), which has what its format tells" since 1 {
        /// The bio was handed to the block layer; in imports the first time that is known.
        queue_ns: i64, "ns", Time;
        /// The driver got the request (of a flush: the flush that served it); null when that did not happen.
        issue_ns: Option<i64>, "ns", Time;
        /// It was completed; null where that was not seen, or an import does not tell.
        complete_ns: Option<i64>, "ns", Time;
        /// Kernel name of the whole device; of imports, what their format calls it.
        dev: Label, "", Name;
        /// `read`, `write`, `flush`, `discard`, `write_zeroes`, `zone_append`, …; `unknown` in imports that do not tell.
        op: Label, "", Name;
        /// What it was marked with: `sync`, `meta`, `fua`, `preflush`, `readahead`, `background`, `split`, `direct` (a program's own memory), `device` (page cache of the device: metadata), with `+` between; null in imports that do not tell.
        flags: Option<Label>, "", Name;
        /// First sector of the whole device, 512 B each.
        sector: i64, "sectors", Gauge;
        /// Size.
        bytes: i64, "bytes", Gauge;
        /// Process that issued it; null when its name was lost, or not told.
        pid: Option<i32>, "", Gauge;
        /// Its thread.
        tid: Option<i32>, "", Gauge;
        /// Name of the thread, 15 characters.
        comm: Option<Label>, "", Name;
        /// Control group of the thread, below the root of cgroup 2.
        cgroup: Option<Label>, "", Name;
        /// Inode whose data it moved.
        inode: Option<i64>, "", Gauge;
        /// Path of that inode when it was first seen.
        file: Option<Label>, "", Name;
        /// Of write-back: process that wrote the data into the page cache last.
        owner_pid: Option<i32>, "", Gauge;
        /// Name of its thread.
        owner_comm: Option<Label>, "", Name;
        /// Error number (errno); null when it succeeded.
        error: Option<i32>, "", Gauge;
        /// Bios in the request: more than one after merges; 255 stands for more. Null in imports that do not tell.
        bios: Option<i32>, "", Gauge;
        /// How often the driver gave it back; null in imports that do not tell.
        requeues: Option<i32>, "", Gauge;
    }

    /// What a process did with a file in one interval: as programs asked for it (logical), and what the page cache had to get for it (physical). A row for each pair that did anything.
    FileInterval = "file_interval" from "the probe of files" since 1 {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Where the file's file system is mounted; null when it is not, or not here.
        mount: Option<Label>, "", Name;
        /// Inode of the file.
        inode: Option<i64>, "", Gauge;
        /// Path when the file was first seen; `/dev/…` for a block device; null when it has no name in memory.
        file: Option<Label>, "", Name;
        /// Process; null when its name was lost.
        pid: Option<i32>, "", Gauge;
        /// Its name, 15 characters.
        comm: Option<Label>, "", Name;
        /// Reads through the page cache that gave something.
        reads: i64, "op", Gauge;
        /// Bytes that they gave.
        read_bytes: i64, "bytes", Gauge;
        /// Bytes of the pages that they touched, whole pages, each read by itself.
        touched_bytes: i64, "bytes", Gauge;
        /// Bytes of pages that were touched for the first time through a mapping.
        mapped_bytes: i64, "bytes", Gauge;
        /// Bytes of pages that were brought into the page cache to be read, read-ahead included.
        filled_bytes: i64, "bytes", Gauge;
        /// Reads past the page cache.
        direct_reads: i64, "op", Gauge;
        /// Their bytes.
        direct_read_bytes: i64, "bytes", Gauge;
        /// Writes into the page cache.
        writes: i64, "op", Gauge;
        /// Their bytes.
        write_bytes: i64, "bytes", Gauge;
        /// Bytes of pages that were made in the page cache to be written.
        made_bytes: i64, "bytes", Gauge;
        /// Writes past the page cache.
        direct_writes: i64, "op", Gauge;
        /// Their bytes.
        direct_write_bytes: i64, "bytes", Gauge;
    }

    /// What a trace saw, lost and cost in one interval.
    TraceInterval = "trace_interval" from "the tracer" since 1 {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Rows written to `io`.
        ios: i64, "op", Gauge;
        /// Reads among them.
        reads: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Those that failed.
        errors: i64, "op", Gauge;
        /// I/Os that began and passed the filters, before sampling.
        started: i64, "op", Gauge;
        /// Lost because the buffer between kernel and consumer was full.
        lost_buffer: i64, "op", Gauge;
        /// Lost because the table of I/Os in flight was full.
        lost_table: i64, "op", Gauge;
        /// Their completion was not seen: rows without its time.
        lost_end: i64, "op", Gauge;
        /// Lost because their start was not seen: at most so many, and of devices that were not asked for as well.
        lost_start: i64, "op", Gauge;
        /// Names lost: so often an I/O has no issuer or file.
        lost_names: i64, "", Gauge;
        /// Bios merged into a request.
        merges: i64, "op", Gauge;
        /// Bios split.
        splits: i64, "op", Gauge;
        /// Completion − queueing.
        response: Histogram, "ns", Histogram;
        /// CPU time of the consumer.
        consumer_cpu_ns: i64, "ns", Gauge;
    }
}
