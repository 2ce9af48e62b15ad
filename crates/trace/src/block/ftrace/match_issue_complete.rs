//! Makes one record of the events of an I/O. BPF knows a request by its address; here it is known by device, operation
//! and sector, and a bio of a driver without requests by where it ends, which stays when its driver advances it.

use crate::block::TraceFilter;
use crate::block::chunk::TraceChunk;
use crate::block::ftrace::devices::Devices;
use crate::block::ftrace::event::{Event, FLUSH, Kind};
use crate::block::ftrace::tasks::{Tasks, text};
use crate::block::records::ProbeStatistics;
use recording::{FLAGS, IoRecord};
use std::collections::{BTreeMap, HashMap};

/// As many may be in flight; so many bios may wait for their requests.
const TABLE: usize = 1 << 16;
/// The kernel has given up an attempt that it has not repeated for so long.
const ATTEMPT_NS: u64 = 60_000_000_000;
/// `EAGAIN`.
const AGAIN: i32 = -11;
/// Requests that are looked at for one that ends at a sector.
const NEIGHBOURS: usize = 64;

/// Device, operation, sector.
type Key = (u32, u8, u64);

/// A bio whose request has not begun.
#[derive(Clone, Copy, Debug)]
struct Bio {
    queue_ns: u64,
    tid: u32,
    comm: [u8; 16],
    sectors: u32,
    is_split: bool,
    /// It came back because it was not to wait, and will come again.
    came_back: bool,
}

/// An I/O that is not over.
#[derive(Clone, Copy, Debug)]
struct Flying {
    io: IoRecord,
    /// What is left of it.
    sectors: u32,
}

/// I/Os in flight by device, operation and sector.
#[derive(Debug, Default)]
struct Table {
    lanes: HashMap<(u32, u8), BTreeMap<u64, Vec<Flying>>>,
    len: usize,
}

impl Table {
    fn put(&mut self, (dev, op, sector): Key, flying: Flying) {
        self.len += 1;
        self.lanes.entry((dev, op)).or_default().entry(sector).or_default().push(flying);
    }

    /// Takes out the one there that is liked best: that with the least of `rank`, the oldest of those.
    fn take<R: Ord>(&mut self, (dev, op, sector): Key, rank: impl Fn(&Flying) -> Option<R>) -> Option<Flying> {
        let lane = self.lanes.get_mut(&(dev, op))?;
        let here = lane.get_mut(&sector)?;
        let ranks = here.iter().enumerate().filter_map(|(at, flying)| Some((rank(flying)?, at)));
        let (_, at) = ranks.min()?;
        let flying = here.remove(at);
        if here.is_empty() {
            lane.remove(&sector);
        }
        self.len -= 1;
        Some(flying)
    }

    /// Where a request begins that ends at a sector.
    fn before(&self, (dev, op, sector): Key) -> Option<u64> {
        let lane = self.lanes.get(&(dev, op))?;
        let ends_here = |flying: &Flying, from: u64| from + u64::from(flying.sectors) == sector;
        let mut near = lane.range(..sector).rev().take(NEIGHBOURS);
        near.find(|(from, here)| here.iter().any(|flying| ends_here(flying, **from))).map(|(from, _)| *from)
    }

    fn all(&self) -> impl Iterator<Item = &Flying> {
        self.lanes.values().flat_map(BTreeMap::values).flatten()
    }
}

/// Pairs events.
#[derive(Debug)]
pub(crate) struct Pairs {
    filter: TraceFilter,
    devices: Devices,
    /// The kernel says when a request begins, before it is inserted or issued.
    has_start: bool,
    tasks: Tasks,
    bios: HashMap<Key, Vec<Bio>>,
    waiting: usize,
    requests: Table,
    /// Bios of drivers without requests, by their end.
    wholes: Table,
    /// When a device's own flush request, which serves those that asked for one, was issued.
    flush_issued: HashMap<u32, u64>,
    /// Ends before this may be among what was lost.
    doubt_ns: u64,
    pub(crate) counts: ProbeStatistics,
    pub(crate) chunk: TraceChunk,
}

impl Pairs {
    pub(crate) fn new(filter: &TraceFilter, devices: Devices, tasks: Tasks, has_start: bool) -> Self {
        Self {
            filter: filter.clone(),
            devices,
            has_start,
            tasks,
            bios: HashMap::new(),
            waiting: 0,
            requests: Table::default(),
            wholes: Table::default(),
            flush_issued: HashMap::new(),
            doubt_ns: 0,
            counts: ProbeStatistics::default(),
            chunk: TraceChunk::default(),
        }
    }

    /// Takes an event; they come in the order of time.
    pub(crate) fn take(&mut self, event: &Event) {
        let disk = self.devices.disk(event.dev);
        if !self.devices.wants(disk.number, event.sector, event.op == FLUSH) {
            return;
        }
        let event = Event { dev: disk.number, ..*event };
        let key = (event.dev, event.op, event.sector);
        match event.kind {
            Kind::BioQueue if disk.has_requests => self.queued(key, &event),
            Kind::BioQueue => {
                let end = (event.dev, event.op, event.sector + u64::from(event.sectors));
                let bio = self.bio_of(&event);
                self.begin(end, &event, &bio, true, false);
            }
            Kind::Start => self.started(key, &event, false),
            Kind::Insert if !self.has_start && !self.is_flying(key) => self.started(key, &event, false),
            Kind::Insert => {}
            Kind::Issue => self.issued(key, &event),
            Kind::Complete => self.completed(key, &event),
            Kind::Requeue => self.change(
                key,
                |io| io.issue_ns > 0,
                |io| {
                    io.requeues = io.requeues.saturating_add(1);
                    io.issue_ns = 0;
                },
            ),
            Kind::Merge => self.merged_away(key, &event),
            Kind::BioComplete => self.bio_completed(key, &event, disk.has_requests),
            Kind::Split => self.split(&event),
            Kind::BackMerge | Kind::FrontMerge => self.merged(key, &event),
        }
    }

    /// Some events have been lost up to now.
    pub(crate) fn lost(&mut self, now_ns: u64) {
        self.doubt_ns = now_ns;
    }

    /// Names are sent anew.
    pub(crate) fn forget_names(&mut self) {
        self.tasks.forget();
    }

    /// Those in flight now.
    pub(crate) fn in_flight(&self) -> Vec<IoRecord> {
        let flying = self.requests.all().chain(self.wholes.all());
        flying.map(|flying| flying.io).filter(|io| self.is_wanted_size(io)).collect()
    }

    /// The trace is over: what is left goes out without an end. What can have ended among what was lost is not called
    /// unfinished.
    pub(crate) fn end(&mut self) {
        let (requests, wholes) = (std::mem::take(&mut self.requests), std::mem::take(&mut self.wholes));
        let mut left: Vec<IoRecord> = requests.all().chain(wholes.all()).map(|flying| flying.io).collect();
        left.sort_by_key(|io| io.queue_ns);
        for io in left {
            if io.queue_ns < self.doubt_ns {
                self.counts.lost_end += 1;
                self.emit(&io);
            } else if self.is_wanted_size(&io) {
                self.counts.unfinished += 1;
                self.chunk.ios.push(io.unfinished().to_raw());
            } else {
                self.counts.passed_over += 1;
            }
        }
    }

    fn is_wanted_size(&self, io: &IoRecord) -> bool {
        (self.filter.bytes_min..=self.filter.bytes_max).contains(&io.bytes)
    }

    fn bio_of(&self, event: &Event) -> Bio {
        let (queue_ns, tid, comm, sectors) = (event.ns, event.tid, event.comm, event.sectors);
        Bio { queue_ns, tid, comm, sectors, is_split: false, came_back: false }
    }

    fn queued(&mut self, key: Key, event: &Event) {
        let mut bio = self.bio_of(event);
        if self.waiting >= TABLE {
            // Of requests whose start was lost.
            self.bios.clear();
            self.waiting = 0;
        }
        let here = self.bios.entry(key).or_default();
        let again = here.iter().position(|old| old.came_back && old.sectors == bio.sectors);
        if let Some(old) = again.map(|at| here.remove(at)) {
            self.waiting -= 1;
            if event.ns.saturating_sub(old.queue_ns) < ATTEMPT_NS {
                bio.queue_ns = old.queue_ns;
            }
        }
        // A thread queues one after another.
        if let Some(at) = here.iter().position(|old| old.tid == bio.tid && !old.came_back) {
            here.remove(at);
            self.waiting -= 1;
        }
        here.push(bio);
        self.waiting += 1;
    }

    /// Takes the bio that waits there, of this thread before others.
    fn take_bio(&mut self, key: Key, tid: u32) -> Option<Bio> {
        let here = self.bios.get_mut(&key)?;
        let own = here.iter().position(|bio| bio.tid == tid && !bio.came_back);
        let at = own.or_else(|| here.iter().position(|bio| !bio.came_back))?;
        let bio = here.remove(at);
        if here.is_empty() {
            self.bios.remove(&key);
        }
        self.waiting -= 1;
        Some(bio)
    }

    fn split(&mut self, event: &Event) {
        self.counts.splits += 1;
        // The event does not say whether it is empty, and what is split is not.
        let Some(mut bio) = self.take_bio((event.dev, event.op, event.sector), event.tid) else { return };
        bio.is_split = true;
        for sector in [event.sector, event.rest_sector] {
            self.bios.entry((event.dev, event.op, sector)).or_default().push(bio);
            self.waiting += 1;
        }
    }

    fn is_flying(&self, (dev, op, sector): Key) -> bool {
        let here = self.requests.lanes.get(&(dev, op)).and_then(|lane| lane.get(&sector));
        here.is_some_and(|here| here.iter().any(|flying| flying.io.issue_ns == 0))
    }

    fn started(&mut self, key: Key, event: &Event, is_issued: bool) {
        let bio = self.take_bio(key, event.tid).unwrap_or_else(|| self.bio_of(event));
        self.begin(key, event, &bio, is_issued, true);
    }

    /// Enters an I/O that begins now, if it is wanted.
    fn begin(&mut self, key: Key, event: &Event, bio: &Bio, is_issued: bool, is_request: bool) {
        if self.filter.ops & 1 << event.op.min(31) == 0 || !self.is_wanted(bio) {
            return;
        }
        self.counts.started += 1;
        if !self.is_sampled(event.sector, bio.queue_ns) {
            return;
        }
        self.counts.taken += 1;
        let doubt_ns = self.doubt_ns;
        let table = if is_request { &mut self.requests } else { &mut self.wholes };
        let stale = table.take(key, |flying| (flying.io.queue_ns < doubt_ns).then_some(()));
        if let Some(stale) = stale {
            self.counts.lost_end += 1;
            self.emit(&stale.io);
        }
        if self.requests.len + self.wholes.len >= TABLE {
            self.counts.lost_table += 1;
            return;
        }
        let chunk = &mut self.chunk;
        let issuer = self.tasks.number(bio.tid, &bio.comm, |number, actor| chunk.actors.push((number, actor)));
        let split = FLAGS.iter().position(|name| *name == "split").map_or(0, |bit| 1 << bit);
        let io = IoRecord {
            queue_ns: bio.queue_ns,
            complete_ns: 0,
            issue_ns: if is_issued { event.ns } else { 0 },
            sector: event.sector,
            bytes: event.sectors.saturating_mul(512),
            dev: event.dev,
            issuer,
            owner: 0,
            file: 0,
            flags: event.flags | if bio.is_split { split } else { 0 },
            op: event.op,
            bios: 1,
            requeues: 0,
            status: 0,
        };
        let table = if is_request { &mut self.requests } else { &mut self.wholes };
        table.put(key, Flying { io, sectors: event.sectors });
    }

    fn is_wanted(&mut self, bio: &Bio) -> bool {
        let filter = &self.filter;
        let same = |name: &String| name.bytes().take(15).eq(text(&bio.comm).bytes());
        (filter.comms.is_empty() || filter.comms.iter().any(same))
            && (filter.pids.is_empty() || filter.pids.contains(&self.tasks.process(bio.tid, &bio.comm)))
    }

    /// As the probe decides it.
    fn is_sampled(&self, sector: u64, queue_ns: u64) -> bool {
        let limit = u32::MAX / self.filter.sample.max(1);
        let hash = (queue_ns ^ sector.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash >> 32 <= u64::from(limit)
    }

    fn issued(&mut self, key: Key, event: &Event) {
        let is_empty = event.sectors == 0;
        let found =
            self.requests.take(key, |flying| (flying.io.issue_ns == 0).then_some(flying.sectors != event.sectors));
        if let Some(mut flying) = found {
            flying.io.issue_ns = event.ns;
            (flying.sectors, flying.io.bytes) = (event.sectors, event.sectors.saturating_mul(512));
            self.requests.put(key, flying);
            return;
        }
        if event.op == FLUSH && is_empty {
            self.flush_issued.insert(event.dev, event.ns);
            return;
        }
        let filter = &self.filter;
        if !self.has_start || (filter.sample <= 1 && filter.pids.is_empty() && filter.comms.is_empty()) {
            self.started(key, event, true);
        }
    }

    fn completed(&mut self, key: Key, event: &Event) {
        let doubt_ns = self.doubt_ns;
        let flush_ns = self.flush_issued.get(&event.dev).copied();
        let rank = |flying: &Flying| {
            Some((flying.io.queue_ns < doubt_ns, flying.io.issue_ns == 0, flying.sectors != event.sectors))
        };
        let Some(mut flying) = self.requests.take(key, rank) else { return };
        if event.error != 0 {
            flying.io.status = status(event.error);
        }
        if event.sectors < flying.sectors {
            // In parts: the last one counts.
            flying.sectors -= event.sectors;
            self.requests.put((key.0, key.1, key.2 + u64::from(event.sectors)), flying);
            return;
        }
        if flying.io.issue_ns == 0 {
            flying.io.issue_ns = flush_ns.filter(|ns| *ns >= flying.io.queue_ns).unwrap_or(0);
        }
        flying.io.complete_ns = event.ns;
        self.emit(&flying.io);
    }

    fn bio_completed(&mut self, (dev, op, sector): Key, event: &Event, has_requests: bool) {
        if has_requests {
            let came_back = event.error == AGAIN;
            let bio = self.bios.get_mut(&(dev, op, sector)).filter(|_| came_back);
            bio.and_then(|here| here.last_mut()).into_iter().for_each(|bio| bio.came_back = true);
            return;
        }
        let end = (dev, op, sector + u64::from(event.sectors));
        let doubt_ns = self.doubt_ns;
        let rank = |flying: &Flying| Some((flying.io.queue_ns < doubt_ns, flying.sectors != event.sectors));
        let Some(mut flying) = self.wholes.take(end, rank) else { return };
        flying.io.status = status(event.error);
        flying.io.complete_ns = event.ns;
        self.emit(&flying.io);
    }

    /// Changes one request where it is.
    fn change(&mut self, key: Key, is_it: impl Fn(&IoRecord) -> bool, change: impl FnOnce(&mut IoRecord)) {
        if let Some(mut flying) = self.requests.take(key, |flying| is_it(&flying.io).then_some(())) {
            change(&mut flying.io);
            self.requests.put(key, flying);
        }
    }

    /// A bio became part of a request.
    fn merged(&mut self, key: Key, event: &Event) {
        self.counts.merged += 1;
        let _ = self.take_bio(key, event.tid);
        let end = event.sector + u64::from(event.sectors);
        let from = if event.kind == Kind::FrontMerge { Some(end) } else { self.requests.before(key) };
        self.grow((key.0, key.1), from, event.kind == Kind::FrontMerge, event.sectors, 1);
    }

    /// A request became part of that before it.
    fn merged_away(&mut self, key: Key, event: &Event) {
        let found =
            self.requests.take(key, |flying| (flying.io.issue_ns == 0).then_some(flying.sectors != event.sectors));
        let Some(gone) = found else { return };
        self.counts.merged_away += 1;
        self.grow((key.0, key.1), self.requests.before(key), false, event.sectors, gone.io.bios);
    }

    /// The request that begins at `from` takes more, at its front or its end.
    fn grow(&mut self, (dev, op): (u32, u8), from: Option<u64>, at_front: bool, sectors: u32, bios: u8) {
        let Some(from) = from else { return };
        let Some(mut flying) = self.requests.take((dev, op, from), |flying| (flying.io.issue_ns == 0).then_some(()))
        else {
            return;
        };
        flying.sectors = flying.sectors.saturating_add(sectors);
        flying.io.bytes = flying.sectors.saturating_mul(512);
        flying.io.bios = flying.io.bios.saturating_add(bios);
        if at_front {
            flying.io.sector = from.saturating_sub(u64::from(sectors));
        }
        self.requests.put((dev, op, flying.io.sector), flying);
    }

    fn emit(&mut self, io: &IoRecord) {
        if !self.is_wanted_size(io) {
            self.counts.passed_over += 1;
            return;
        }
        self.counts.emitted += 1;
        self.chunk.ios.push(io.to_raw());
    }
}

/// An errno as a record has it.
fn status(error: i32) -> u8 {
    match u8::try_from(error.unsigned_abs()) {
        _ if error == 0 => 0,
        Ok(errno @ 1..0x80) => errno | 0x80,
        _ => 5 | 0x80,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that is not there: its driver takes bios.
    const DEV: u32 = 4000 << 20;

    fn event(ns: u64, kind: Kind, sector: u64, sectors: u32) -> Event {
        Event { ns, kind, tid: 1, comm: [0; 16], dev: DEV, sector, sectors, rest_sector: 0, error: 0, op: 1, flags: 1 }
    }

    fn pairs(filter: &TraceFilter) -> Pairs {
        Pairs::new(filter, Devices::default(), Tasks::new("/nowhere".into()), true)
    }

    /// Queueing, issue, end, sector and whether it is called unfinished.
    fn rows(pairs: &Pairs) -> Vec<(u64, u64, u64, u64, bool)> {
        let is_open = |io: &IoRecord| io.unfinished() == *io;
        let ios = pairs.chunk.ios();
        ios.map(|io| (io.queue_ns, io.issue_ns, io.complete_ns, io.sector, is_open(&io))).collect()
    }

    fn begun(filter: &TraceFilter) -> Pairs {
        let mut pairs = pairs(filter);
        for event in [
            event(10, Kind::Start, 0, 8),
            event(20, Kind::Start, 100, 8),
            event(25, Kind::Issue, 100, 8),
            event(30, Kind::BioQueue, 200, 16),
            event(40, Kind::Start, 300, 8),
            event(41, Kind::Issue, 300, 8),
            event(50, Kind::Complete, 300, 8),
            event(60, Kind::Start, 400, 16),
            event(61, Kind::Issue, 400, 16),
            event(62, Kind::Requeue, 400, 16),
        ] {
            pairs.take(&event);
        }
        pairs
    }

    #[test]
    fn an_io_in_flight_at_the_end_is_reported_without_an_end() {
        let mut pairs = begun(&TraceFilter::default());
        assert_eq!(pairs.in_flight().len(), 4);
        pairs.end();
        let open = [(10, 0, 0, 0, true), (20, 25, 0, 100, true), (30, 30, 0, 200, true), (60, 0, 0, 400, true)];
        assert_eq!(rows(&pairs), [&[(40, 41, 50, 300, false)][..], &open].concat());
        assert_eq!((pairs.counts.unfinished, pairs.counts.emitted, pairs.counts.unaccounted()), (4, 1, 0));
        assert!(pairs.in_flight().is_empty());
    }

    #[test]
    fn what_may_have_ended_among_what_was_lost_is_not_called_unfinished() {
        let mut pairs = begun(&TraceFilter::default());
        pairs.lost(55);
        pairs.end();
        let open: Vec<_> = rows(&pairs).into_iter().filter(|io| io.2 == 0).map(|io| (io.0, io.4)).collect();
        assert_eq!(open, [(10, false), (20, false), (30, false), (60, true)]);
        assert_eq!((pairs.counts.unfinished, pairs.counts.lost_end, pairs.counts.unaccounted()), (1, 3, 0));
    }

    #[test]
    fn an_io_of_an_unwanted_size_is_left_out_at_the_end_too() {
        let mut pairs = begun(&TraceFilter { bytes_max: 4096, ..TraceFilter::default() });
        pairs.end();
        assert_eq!(rows(&pairs).iter().map(|io| io.0).collect::<Vec<_>>(), [40, 10, 20]);
        assert_eq!((pairs.counts.unfinished, pairs.counts.passed_over, pairs.counts.unaccounted()), (2, 2, 0));
    }
}
