//! Counters of the network.

use crate::label::Label;
use crate::schema::tables;
use quantity::histogram::Histogram;

tables! {
    /// Counters of one network interface since it came up, with its queueing discipline.
    Net = "net" from "`/proc/net/dev`, `/sys/class/net`, rtnetlink" since 1 rows EverySample {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Name.
        interface: String, "", Name in key;
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
    Tcp = "tcp" from "`/proc/net/snmp`, `/proc/net/netstat`" since 1 rows EverySample {
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
    Udp = "udp" from "`/proc/net/snmp`" since 1 rows EverySample of "tcp" {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Datagrams delivered.
        in_datagrams: Option<i64>, "datagrams", Counter;
        /// Datagrams sent.
        out_datagrams: Option<i64>, "datagrams", Counter;
        /// Datagrams for a port without a listener.
        no_ports: Option<i64>, "datagrams", Counter;
        /// Datagrams not delivered for other reasons.
        in_errors: Option<i64>, "datagrams", Counter;
        /// Of those, for lack of room in a socket's buffer.
        receive_buffer_errors: Option<i64>, "datagrams", Counter;
        /// Not sent for lack of room.
        send_buffer_errors: Option<i64>, "datagrams", Counter;
    }

    /// The input queue for packets of one CPU since boot.
    Softnet = "softnet" from "`/proc/net/softnet_stat`" since 1 rows EverySample of "interrupt" {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Number of the CPU.
        cpu: i32, "", Number in key;
        /// Packets handled.
        packets: i64, "packets", Counter;
        /// Packets dropped because the queue was full.
        drops: i64, "packets", Counter;
        /// Times that packets were left for later because time was up.
        squeezed: i64, "", Counter;
        /// Packets that other CPUs passed on to this one (RPS).
        received_rps: Option<i64>, "packets", Counter;
    }

    /// A counter that an interface's driver keeps beside those of every interface. A row of each that is not 0 at first, and when it changed; looked at every 10 s.
    NicCounter = "nic_counter" from "`SIOCETHTOOL`, as `ethtool -S`" since 1 rows OnChange of "net" {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Interface.
        interface: Label, "", Name in key;
        /// What its driver calls it.
        name: Label, "", Name in key;
        /// Its value; most count up, and only the driver's documentation tells which.
        value: i64, "", Counter;
    }

    /// A TCP socket that listens. A row when it is first seen, at every sample in which its queue is not empty, when it dropped connection requests or anything else of it is another than before, and one when it is gone.
    Listener = "listener" from "sock_diag (netlink), `/proc/PID/fd`" since 1 rows OnChange of "tcp" with kept_whole {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Address that it listens on; IPv6 in brackets.
        address: String, "", Name in key;
        /// Port.
        port: i64, "", Number in key;
        /// Connections that wait to be accepted.
        queue: i64, "", Gauge;
        /// What the program asked for in `listen(2)`, or the system's limit if that is less. The kernel admits one more.
        backlog: i64, "", Gauge;
        /// The system's limit (`net.core.somaxconn`).
        limit: Option<i64>, "", Gauge;
        /// Connection requests that it dropped since it began to listen, for a full queue or another reason. Null in recordings from before it was read.
        drops: Option<i64>, "", Counter;
        /// A process that holds it; looked for when listeners are first seen, later at most once a minute (every 10 s where a queue is long; at once by `stat listen`), and null without the privilege to look.
        pid: Option<i64>, "", Number not scraped;
        /// Its name.
        comm: Option<String>, "", Name;
        /// Number of the socket, which distinguishes sockets that share an address and a port (`SO_REUSEPORT`). Null in older recordings.
        inode: Option<i64>, "", Number in key not scraped;
        /// It is no longer there: this is its last row, with an empty queue. Null in older recordings.
        gone: Option<bool>, "", Gauge not scraped;
    }

    /// How long a program took to answer requests on a watched port: from the first read of a request on a TCP connection to the begin of the next write on it (to its end before Linux 6.16). A row for each port, program and `preempted` with answers in the interval; a port that was watched and on which nothing was answered has one row, without program and count. Only with `probe requests`, and with `top` until its page of requests is left with Esc.
    RequestInterval = "request_interval" from "the probe `requests`" since 1 rows PerInterval with unscraped {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Its length.
        interval_ns: i64, "ns", Gauge;
        /// Port on the side of the server.
        port: i32, "", Number in key;
        /// Name of the process that answered, 15 bytes; null when no process answered.
        comm: Option<Label>, "", Name in key;
        /// Was the thread that wrote the answer preempted after the request had been read, or did it wait for a CPU when it woke (10 µs or more, behind another task)? Null where that is not known: another thread had read the request, and the one that wrote was not watched yet.
        preempted: Option<bool>, "", Gauge in key;
        /// Answers; null when there were none.
        count: Option<i64>, "op", Gauge;
        /// Reading the request to writing the answer.
        response: Histogram, "ns", Histogram;
    }
}
