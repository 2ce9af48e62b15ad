//! The probe's table of I/Os in flight, as it is at this moment.
#![expect(unsafe_code, reason = "a map of the kernel's is looked at where it lies")]

use crate::TraceError;
use crate::block::records::InFlight;
use crate::mapped::Mapped;
use crate::program::Loaded;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustix::mm::ProtFlags;
use std::os::fd::AsFd;

/// Bytes of a place: the I/O's address, 0 when it is free, and what is known of it.
const PLACE_BYTES: usize = 64;

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
    pub(crate) fn ios(&self) -> impl Iterator<Item = InFlight> + '_ {
        let placed = (0..self.places).filter_map(|place| self.at(place));
        let entries = self.displaced.keys().filter_map(|key| self.displaced.lookup(&key, MapFlags::ANY).ok().flatten());
        placed.chain(entries.filter_map(|entry| InFlight::of(&entry)))
    }

    fn at(&self, place: usize) -> Option<InFlight> {
        const WORDS: usize = PLACE_BYTES / 8;
        // SAFETY: below the mapping's end; the kernel writes whole words.
        let word = |at: usize| unsafe { self.mapped.start().cast::<u64>().add(place * WORDS + at).read_volatile() };
        if word(0) == 0 {
            return None;
        }
        let mut bytes = [0; PLACE_BYTES - 8];
        for (at, out) in bytes.chunks_exact_mut(8).enumerate() {
            out.copy_from_slice(&word(at + 1).to_ne_bytes());
        }
        InFlight::of(&bytes)
    }
}
