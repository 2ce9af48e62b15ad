//! Puts the events of all CPUs in the order of time.

use crate::block::ftrace::event::{Decoder, Event};
use crate::block::ftrace::instance::Instance;
use crate::block::ftrace::pages::{self, PageLayout};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

/// An event may get into its CPU's buffer so much after its time: an interrupt came between, or the hypervisor.
const LATE_NS: u64 = 20_000_000;
/// Pages that are taken out of one CPU's buffer in one go.
const PAGES: usize = 256;

/// Events that wait for those before them.
#[derive(Debug)]
pub(crate) struct Merge {
    decoders: HashMap<u16, Decoder>,
    page: Vec<u8>,
    waiting: Vec<Event>,
    /// What is before this can be taken.
    horizon_ns: u64,
    missed: u64,
    unknown: u64,
}

/// What came of reading one CPU's buffer.
struct Drained {
    /// There is more.
    has_more: bool,
    /// The last event's time.
    last_ns: u64,
}

impl Merge {
    pub(crate) fn of(instance: &Instance) -> Self {
        let decoders = instance.decoders.iter().map(|decoder| (decoder.id, decoder.clone())).collect();
        let page = vec![0; instance.layout.bytes];
        Self { decoders, page, waiting: Vec::new(), horizon_ns: 0, missed: 0, unknown: 0 }
    }

    /// Reads what is in the buffers; true when there is more. With `all`, nothing is waited for at the end.
    pub(crate) fn fill(&mut self, instance: &Instance, now_ns: u64, all: bool) -> bool {
        let mut has_more = false;
        self.horizon_ns = if all { u64::MAX } else { now_ns.saturating_sub(LATE_NS) };
        for (file, _) in &instance.cpus {
            let drained = self.drain(file, &instance.layout);
            if drained.has_more {
                has_more = true;
                self.horizon_ns = self.horizon_ns.min(drained.last_ns);
            }
        }
        has_more
    }

    fn drain(&mut self, mut file: &File, layout: &PageLayout) -> Drained {
        let mut drained = Drained { has_more: false, last_ns: 0 };
        for _ in 0..PAGES {
            // Empty, or its CPU is off.
            let length = match file.read(&mut self.page) {
                Ok(length) if length > 0 => length,
                _ => return drained,
            };
            let (decoders, waiting, unknown) = (&self.decoders, &mut self.waiting, &mut self.unknown);
            let lost = pages::read(self.page.get(..length).unwrap_or_default(), layout, |ns, data| {
                let id = data.first_chunk().map(|id| u16::from_ne_bytes(*id));
                let event = id.and_then(|id| decoders.get(&id)).and_then(|decoder| decoder.event(ns, data));
                *unknown += u64::from(event.is_none());
                waiting.extend(event);
                drained.last_ns = ns;
            });
            self.missed += if lost.any { lost.events.max(1) } else { 0 };
        }
        Drained { has_more: true, ..drained }
    }

    /// Gives what can be taken, in order.
    pub(crate) fn take(&mut self, each: impl FnMut(&Event)) {
        self.waiting.sort_by_key(|event| event.ns);
        let count = self.waiting.partition_point(|event| event.ns < self.horizon_ns);
        self.waiting.drain(..count).as_slice().iter().for_each(each);
    }

    /// What is before this has been given, once [`Self::take`] returns.
    pub(crate) fn taken_until_ns(&self) -> u64 {
        self.horizon_ns
    }

    /// Events that pages say are missing, so far.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }

    /// Events that were not understood, since this was asked last.
    pub(crate) fn unknown(&mut self) -> u64 {
        std::mem::take(&mut self.unknown)
    }
}
