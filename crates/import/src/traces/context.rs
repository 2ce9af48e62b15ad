//! What the readers of an import share: names, devices, and what they passed over.

use recording::Label;
use recording::rows::Io;
use std::collections::{BTreeMap, HashMap};

/// Most bytes of one I/O.
pub(super) const BYTES_MAX: i64 = 4 << 30;

/// Everything that is known besides the rows.
#[derive(Debug, Default)]
pub(super) struct Context {
    labels: HashMap<Vec<u8>, Label>,
    /// How often something was passed over or is not what one would think, by what it is.
    tallies: BTreeMap<&'static str, u64>,
    /// Sentences of other kinds.
    pub(super) notes: Vec<String>,
    /// Numbers of devices, major << 20 | minor, by name.
    pub(super) devices: BTreeMap<String, u32>,
    /// Capacities by name, bytes.
    pub(super) capacities: BTreeMap<String, i64>,
    /// A time of the trace and the wall clock at that moment (UTC since 1970), ns.
    pub(super) wall: Option<(i64, i64)>,
    /// I/Os that had not been completed when the trace ended.
    pub(super) unfinished: u64,
}

impl Context {
    /// A name that many rows share.
    pub(super) fn label(&mut self, name: &[u8]) -> Label {
        if let Some(label) = self.labels.get(name) {
            return label.clone();
        }
        let label = Label::from(&*String::from_utf8_lossy(name));
        self.labels.insert(name.to_vec(), label.clone());
        label
    }

    /// Counts one case.
    pub(super) fn tally(&mut self, what: &'static str) {
        *self.tallies.entry(what).or_default() += 1;
    }

    /// Everything that is to be said.
    pub(super) fn words(&self) -> Vec<String> {
        let tallies = self.tallies.iter().map(|(what, count)| format!("{what}: {count}"));
        tallies.chain(self.notes.iter().cloned()).collect()
    }

    /// An I/O of which only this is known. `offset` in bytes; so is `bytes`: what no kernel takes at once is an error.
    pub(super) fn io(&mut self, queue_ns: i64, dev: Label, op: &str, offset: i64, bytes: i64) -> Result<Io, String> {
        if bytes > BYTES_MAX || offset.checked_add(bytes).is_none() {
            return Err(format!("{bytes} bytes at {offset}: an I/O has at most 4 GiB, and ends below 2^63 bytes"));
        }
        if offset % 512 != 0 {
            self.tally("I/Os that begin inside a sector (addresses are rounded down to 512 B)");
        }
        let op = self.label(op.as_bytes());
        Ok(Io { bytes, ..bare(queue_ns, dev, op, offset / 512) })
    }
}

/// An I/O of which nothing else is known.
pub(super) fn bare(queue_ns: i64, dev: Label, op: Label, sector: i64) -> Io {
    Io {
        queue_ns,
        issue_ns: None,
        complete_ns: None,
        dev,
        op,
        flags: None,
        sector,
        bytes: 0,
        pid: None,
        tid: None,
        comm: None,
        cgroup: None,
        inode: None,
        file: None,
        owner_pid: None,
        owner_comm: None,
        error: None,
        bios: None,
        requeues: None,
    }
}
