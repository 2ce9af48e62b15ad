//! What the thread that empties the ring hands on at a time.

use crate::names::Actor;
use crate::paths::File;
use recording::{IoRecord, RawIo};
use std::collections::HashSet;

/// Records in the order of completion, and the names that are first used among them.
#[derive(Debug, Default)]
pub struct TraceChunk {
    pub(crate) ios: Vec<RawIo>,
    pub(crate) actors: Vec<(u32, Actor)>,
    pub(crate) files: Vec<(u32, File)>,
}

impl TraceChunk {
    /// Its I/Os in numbers.
    pub fn ios(&self) -> impl Iterator<Item = IoRecord> + '_ {
        self.ios.iter().map(IoRecord::of)
    }

    /// One with these records and no names.
    pub(crate) fn of_records(ios: Vec<RawIo>) -> Self {
        Self { ios, ..Self::default() }
    }

    /// Takes those of the I/Os out that are in another chunk as well, with their ends: they ended while these were listed.
    pub fn remove(&mut self, ended: &Self) {
        if self.ios.is_empty() {
            return;
        }
        let key = |io: &IoRecord| (io.queue_ns, io.dev, io.sector);
        let ended: HashSet<_> = ended.ios().map(|io| key(&io)).collect();
        self.ios.retain(|raw| !ended.contains(&key(&IoRecord::of(raw))));
    }

    /// I/Os in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ios.len()
    }

    /// Is nothing in it?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ios.is_empty() && self.actors.is_empty() && self.files.is_empty()
    }
}
