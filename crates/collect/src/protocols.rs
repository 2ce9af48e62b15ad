//! TCP and UDP from `/proc/net/snmp` and `/proc/net/netstat`: pairs of lines, names above values.
//!
//! Columns are found by name. Tools that rely on their order report zeros when a kernel adds or drops one.

use crate::subject::Stamp;
use crate::text::{counter, lines, words};
use recording::rows::{Tcp, Udp};

/// The value under a name of one protocol's pair of lines.
pub(crate) fn value(text: &[u8], protocol: &str, name: &str) -> Option<i64> {
    let mut pair = lines(text)
        .filter(|line| line.strip_prefix(protocol.as_bytes()).is_some_and(|rest| rest.first() == Some(&b':')));
    let (names, values) = (pair.next()?, pair.next()?);
    let at = words(names).position(|word| word == name.as_bytes())?;
    words(values).nth(at).and_then(counter)
}

/// The row of TCP; `None` where the kernel has none.
pub(crate) fn tcp(snmp: &[u8], netstat: Option<&[u8]>, stamp: Stamp) -> Option<Tcp> {
    let of = |name| value(snmp, "Tcp", name);
    let more = |name| netstat.and_then(|text| value(text, "TcpExt", name));
    Some(Tcp {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        in_segments: Some(of("InSegs")?),
        out_segments: of("OutSegs"),
        retransmits: of("RetransSegs"),
        in_errors: of("InErrs"),
        active_opens: of("ActiveOpens"),
        passive_opens: of("PassiveOpens"),
        attempt_fails: of("AttemptFails"),
        established_resets: of("EstabResets"),
        resets_sent: of("OutRsts"),
        established: of("CurrEstab"),
        listen_overflows: more("ListenOverflows"),
        listen_drops: more("ListenDrops"),
        timeouts: more("TCPTimeouts"),
        syn_retransmits: more("TCPSynRetrans"),
        request_queue_drops: more("TCPReqQFullDrop"),
        request_queue_cookies: more("TCPReqQFullDoCookies"),
    })
}

/// The row of UDP; `None` where the kernel has none.
pub(crate) fn udp(snmp: &[u8], stamp: Stamp) -> Option<Udp> {
    let of = |name| value(snmp, "Udp", name);
    Some(Udp {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        in_datagrams: Some(of("InDatagrams")?),
        out_datagrams: of("OutDatagrams"),
        no_ports: of("NoPorts"),
        in_errors: of("InErrors"),
        receive_buffer_errors: of("RcvbufErrors"),
        send_buffer_errors: of("SndbufErrors"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name_whatever_the_order() {
        let text = b"Tcp: A B MaxConn InSegs\nTcp: 1 2 -1 4\nUdpLite: InErrors\nUdpLite: 9\nUdp: InErrors\nUdp: 7\n";
        assert_eq!(value(text, "Tcp", "InSegs"), Some(4));
        assert_eq!(value(text, "Tcp", "MaxConn"), None, "-1 is no counter");
        assert_eq!(value(text, "Udp", "InErrors"), Some(7));
        assert_eq!(value(text, "Udp", "None"), None);
        assert_eq!(value(b"Tcp: A\n", "Tcp", "A"), None);
    }

    #[test]
    fn this_machine() {
        let stamp = Stamp::at(0, 0);
        let snmp = std::fs::read("/proc/net/snmp").unwrap();
        let netstat = std::fs::read("/proc/net/netstat").unwrap();
        let tcp = tcp(&snmp, Some(&netstat), stamp).unwrap();
        assert!(tcp.listen_drops.is_some() && tcp.listen_overflows.is_some() && tcp.syn_retransmits.is_some());
        assert!(udp(&snmp, stamp).is_some());
    }
}
