//! The probe's table of I/Os in flight, as it is at this moment.
#![expect(unsafe_code, reason = "a map of the kernel's is looked at where it lies")]

use crate::TraceError;
use crate::block::records::started;
use crate::mapped::Mapped;
use crate::program::Loaded;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use recording::IoRecord;
use rustix::mm::ProtFlags;
use std::os::fd::AsFd;
use std::sync::atomic::{Ordering, fence};

/// Bytes of a place: the I/O's address, 0 when it is free, and what is known of it.
const PLACE_BYTES: usize = 64;
const WORDS: usize = PLACE_BYTES / 8;
/// The word with the time of queueing, the first behind the address.
const QUEUE_NS: usize = 1;

/// Every I/O in flight has a place that its address gives, or is in `displaced` because another has that place.
#[derive(Debug)]
pub(crate) struct Table {
    mapped: Mapped,
    places: usize,
    displaced: MapHandle,
}

impl Table {
    /// That of a loaded probe.
    ///
    /// # Errors
    /// It has none, or the kernel does not let it be looked at.
    pub(crate) fn of(loaded: &Loaded) -> Result<Self, TraceError> {
        let map = loaded.map("places")?;
        let places = map.max_entries() as usize;
        let mapped = Mapped::new(map.as_fd(), 0, places * PLACE_BYTES, ProtFlags::READ)?;
        Ok(Self { mapped, places, displaced: loaded.map("in_flight")? })
    }

    /// Those in flight now, in no order. One that begins or ends meanwhile may be there or not.
    pub(crate) fn ios(&self) -> impl Iterator<Item = IoRecord> + '_ {
        let placed = (0..self.places).filter_map(|place| self.at(place));
        let entries = self.displaced.keys().filter_map(|key| self.displaced.lookup(&key, MapFlags::ANY).ok().flatten());
        placed.chain(entries.filter_map(|entry| started(&entry)))
    }

    fn at(&self, place: usize) -> Option<IoRecord> {
        // SAFETY: below the mapping's end; the kernel writes whole words.
        let word = |at: usize| unsafe { self.mapped.start().cast::<u64>().add(place * WORDS + at).read_volatile() };
        copied(word).and_then(|bytes| started(&bytes))
    }
}

/// What a place has behind the address; `None` when it is free, or was given to another I/O while it was copied: that one
/// began just now, and the copy would be half of each.
fn copied(word: impl Fn(usize) -> u64) -> Option<[u8; PLACE_BYTES - 8]> {
    let key = word(0);
    if key == 0 {
        return None;
    }
    let mut bytes = [0; PLACE_BYTES - 8];
    for (at, out) in bytes.chunks_exact_mut(8).enumerate() {
        out.copy_from_slice(&word(at + 1).to_ne_bytes());
    }
    // No processor looks again before it has copied.
    fence(Ordering::Acquire);
    let is_same = word(0) == key && bytes.starts_with(&word(QUEUE_NS).to_ne_bytes());
    is_same.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A copy of a place that has these words, of which the first two are others after so many looks.
    fn copy(after: usize, others: [u64; 2]) -> Option<[u8; PLACE_BYTES - 8]> {
        let looks = Cell::new(0);
        copied(|at| {
            looks.set(looks.get() + 1);
            let word = 10 + at as u64;
            if looks.get() > after { others.get(at).copied().unwrap_or(word) } else { word }
        })
    }

    #[test]
    fn a_place_that_changes_hands_while_it_is_copied_is_left_out() {
        let whole: Vec<u8> = (11..10 + WORDS as u64).flat_map(u64::to_ne_bytes).collect();
        assert_eq!(copy(usize::MAX, [0, 0]).unwrap().to_vec(), whole);
        assert!(copy(0, [0, 11]).is_none(), "it is free");
        for after in 2..=WORDS {
            assert!(copy(after, [0, 11]).is_none(), "it ended");
            assert!(copy(after, [99, 11]).is_none(), "of another address");
            assert!(copy(after, [10, 99]).is_none(), "of the same address, later");
        }
    }
}
