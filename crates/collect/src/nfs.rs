//! Counters of NFS mounts from `/proc/self/mountstats` (`net/sunrpc/stats.c`, `fs/nfs/super.c`).

use crate::text::{counter, lines, words};

/// Cumulative counters of one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Requests.
    pub(crate) ops: Option<i64>,
    /// Requests sent, retransmissions included.
    pub(crate) transmissions: Option<i64>,
    /// Major time-outs.
    pub(crate) timeouts: Option<i64>,
    /// Bytes sent, headers included.
    pub(crate) bytes_sent: Option<i64>,
    /// Bytes received, headers included.
    pub(crate) bytes_received: Option<i64>,
    /// Milliseconds before sending.
    pub(crate) queue_ms: Option<i64>,
    /// Milliseconds between sending and reply.
    pub(crate) rtt_ms: Option<i64>,
    /// Milliseconds from request to completion.
    pub(crate) execute_ms: Option<i64>,
    /// Replies with an error (Linux 5.3).
    pub(crate) errors: Option<i64>,
}

/// Cumulative counters of one mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NfsCounters {
    /// Mount point.
    pub(crate) mount: String,
    /// Bytes that the server sent for reads.
    pub(crate) server_read_bytes: Option<i64>,
    /// Bytes that the server took for writes.
    pub(crate) server_write_bytes: Option<i64>,
    /// READ.
    pub(crate) read: Operation,
    /// WRITE.
    pub(crate) write: Operation,
    /// COMMIT.
    pub(crate) commit: Operation,
}

/// Reads the NFS mounts for which `wanted` is true.
pub(crate) fn parse(text: &[u8], wanted: impl Fn(&str) -> bool) -> Vec<NfsCounters> {
    let mut mounts: Vec<NfsCounters> = Vec::new();
    let mut inside = false;
    for line in lines(text) {
        if line.starts_with(b"device ") {
            let mount = mount_point(line).filter(|mount| wanted(mount));
            inside = mount.is_some();
            mounts.extend(mount.map(|mount| NfsCounters { mount, ..NfsCounters::default() }));
            continue;
        }
        let Some(mount) = mounts.last_mut().filter(|_| inside) else { continue };
        let mut words = words(line);
        match words.next() {
            // normal read, write, direct read, write, then what the server read and wrote.
            Some(b"bytes:") => {
                mount.server_read_bytes = words.nth(4).and_then(counter);
                mount.server_write_bytes = words.next().and_then(counter);
            }
            Some(b"READ:") => mount.read = operation(words),
            Some(b"WRITE:") => mount.write = operation(words),
            Some(b"COMMIT:") => mount.commit = operation(words),
            _ => {}
        }
    }
    mounts
}

/// `device server:/export mounted on /mnt with fstype nfs4 statvers=1.1`
fn mount_point(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let (_, rest) = text.split_once(" mounted on ")?;
    let (mount, kind) = rest.rsplit_once(" with fstype ")?;
    kind.starts_with("nfs").then(|| crate::devices::unescape(mount))
}

fn operation<'a>(words: impl Iterator<Item = &'a [u8]>) -> Operation {
    let mut values = words.map(counter);
    let mut next = || values.next().flatten();
    Operation {
        ops: next(),
        transmissions: next(),
        timeouts: next(),
        bytes_sent: next(),
        bytes_received: next(),
        queue_ms: next(),
        rtt_ms: next(),
        execute_ms: next(),
        errors: next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts() {
        let text = include_bytes!("../tests/fixtures/mountstats");
        let all = parse(text, |_| true);
        assert_eq!(all.iter().map(|mount| mount.mount.as_str()).collect::<Vec<_>>(), ["/mnt/data", "/mnt/old one"]);
        let data = &all[0];
        assert_eq!((data.server_read_bytes, data.server_write_bytes), (Some(1_048_576), Some(4_194_304)));
        assert_eq!((data.read.ops, data.read.rtt_ms, data.read.errors), (Some(16), Some(33), Some(0)));
        assert_eq!((data.write.ops, data.write.transmissions, data.write.timeouts), (Some(64), Some(65), Some(1)));
        assert_eq!(data.commit.ops, Some(2));
        // An older kernel: no column for errors, no COMMIT.
        assert_eq!((all[1].read.ops, all[1].read.errors, all[1].commit.ops), (Some(7), None, None));
        let one = parse(text, |mount| mount == "/mnt/old one");
        assert_eq!(one.len(), 1);
        assert_eq!(one[0], all[1]);
    }
}
