//! Which events are of the same I/O. An I/O is a request: it has the bios that lie in it, and ends with its last
//! completion. Where requests are not to be seen (drivers that take bios) it is a bio.

use super::{Event, Marks, Step, device_name};
use crate::traces::context::{Context, bare};
use recording::Label;
use recording::rows::Io;
use std::collections::{HashMap, VecDeque};

/// A write with a flush after it completes its data first; the flush ends within this time, or there was none.
const FLUSH_AFTER_NS: i64 = 1_000_000_000;
/// More open bios than this, and those that are older than a minute are given up.
const OPEN_MAX: usize = 1 << 20;
const GIVEN_UP_NS: i64 = 60_000_000_000;

/// Which steps a trace has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    queue: bool,
    issue: bool,
    complete: bool,
}

impl Seen {
    pub(super) fn look(&mut self, event: &Event) {
        self.queue |= event.step == Step::Queue;
        self.issue |= event.step == Step::Issue;
        self.complete |= event.step == Step::Complete;
    }
}

/// A bio that was queued, or what a split has left of it.
#[derive(Clone, Debug)]
struct Bio {
    t_ns: i64,
    issue_ns: Option<i64>,
    marks: Marks,
    sector: i64,
    bytes: i64,
    tid: i32,
    comm: Option<Label>,
    is_rest: bool,
}

/// A request that the driver has.
#[derive(Clone, Debug)]
struct Request {
    first: Bio,
    issue_ns: i64,
    /// Where it began, and its length.
    sector: i64,
    bytes: i64,
    /// What has not been completed.
    left: i64,
    /// `None`: its bios were queued before the trace began.
    bios: Option<i32>,
    requeues: i32,
    is_back: bool,
}

/// Bios or requests by the sector at which they begin, the earliest first.
type Places<T> = HashMap<i64, VecDeque<T>>;

fn put<T>(places: &mut Places<T>, sector: i64, one: T) {
    places.entry(sector).or_default().push_back(one);
}

/// Takes the first that fits at this sector, else the first there.
fn take<T>(places: &mut Places<T>, sector: i64, fits: impl Fn(&T) -> bool) -> Option<T> {
    let there = places.get_mut(&sector)?;
    let at = there.iter().position(fits).unwrap_or(0);
    let taken = there.remove(at);
    if there.is_empty() {
        places.remove(&sector);
    }
    taken
}

/// What is in flight on one device.
#[derive(Debug, Default)]
struct Device {
    name: Option<Label>,
    bios: Places<Bio>,
    open: usize,
    requests: Places<Request>,
    flushes: VecDeque<Bio>,
    /// Data written, and perhaps a flush still to come: until when it is waited for.
    ending: VecDeque<(i64, Io)>,
}

/// The state of the pass.
#[derive(Debug)]
pub(super) struct Pairs {
    seen: Seen,
    /// Name of the files: that of the device, unless the user of blktrace set another (`-o`).
    base: String,
    devices: HashMap<u32, Device>,
    ready: VecDeque<Io>,
}

impl Pairs {
    pub(super) fn new(seen: Seen, base: String) -> Self {
        Self { seen, base, devices: HashMap::new(), ready: VecDeque::new() }
    }

    /// The next I/O that is complete.
    pub(super) fn pop(&mut self) -> Option<Io> {
        let io = self.ready.pop_front()?;
        // Without issue events the number of requeues is unknown.
        let requeues = io.requeues.filter(|_| self.seen.issue);
        Some(Io { requeues, ..io })
    }

    pub(super) fn add(&mut self, event: &Event, context: &mut Context) {
        if event.step == Step::Other {
            return;
        }
        let is_first = self.devices.is_empty();
        let device = self.devices.entry(event.device).or_default();
        if device.name.is_none() {
            let of_file = || (is_first && !self.base.is_empty()).then(|| self.base.clone());
            let numbers = || format!("{},{}", event.device >> 20, event.device & 0xf_ffff);
            let name = device_name(event.device).or_else(of_file).unwrap_or_else(numbers);
            device.name = Some(context.label(name.as_bytes()));
            context.devices.insert(name, event.device);
        }
        while device.ending.front().is_some_and(|(until_ns, _)| *until_ns < event.t_ns) {
            self.ready.extend(device.ending.pop_front().map(|(_, io)| io));
        }
        match event.step {
            Step::Queue if !self.seen.complete && !self.seen.issue => {
                let io = device.row(&Bio::of(event), context);
                self.ready.push_back(io);
            }
            Step::Queue => device.queue(event, context),
            Step::Issue if !self.seen.complete => {
                if let Some(request) = device.request(event, self.seen.queue, context) {
                    let io = device.row_of(&request, None, context);
                    self.ready.push_back(io);
                }
            }
            Step::Issue => {
                if let Some(request) = device.request(event, self.seen.queue, context) {
                    put(&mut device.requests, request.sector, request);
                }
            }
            Step::Requeue => device.requeue(event),
            Step::Complete => self.ready.extend(device.complete(event, context)),
            Step::Other => {}
        }
    }

    /// The trace is over.
    pub(super) fn finish(&mut self, context: &mut Context) {
        for device in self.devices.values_mut() {
            self.ready.extend(device.ending.drain(..).map(|(_, io)| io));
            if !self.seen.complete {
                let flushes = std::mem::take(&mut device.flushes);
                self.ready.extend(flushes.iter().map(|flush| device.row(flush, context)));
            }
            let left: usize = device.bios.values().map(VecDeque::len).sum::<usize>()
                + device.requests.values().map(VecDeque::len).sum::<usize>()
                + device.flushes.len();
            context.unfinished += left as u64;
        }
    }
}

impl Bio {
    fn of(event: &Event) -> Self {
        Self {
            t_ns: event.t_ns,
            issue_ns: None,
            marks: event.marks,
            sector: event.sector,
            bytes: event.bytes,
            tid: event.tid,
            comm: event.comm.clone(),
            is_rest: false,
        }
    }

    /// Of the same operation in the same place?
    fn is_same(&self, other: &Self) -> bool {
        (self.sector, self.bytes, self.marks.op) == (other.sector, other.bytes, other.marks.op)
    }
}

impl Device {
    fn queue(&mut self, event: &Event, context: &mut Context) {
        if event.bytes == 0 {
            // An empty write that asks for nothing is none.
            if event.marks.operation(0) == "flush" {
                self.flushes.push_back(Bio::of(event));
            }
            return;
        }
        let bio = Bio::of(event);
        let is_worker = event.comm.as_deref().is_some_and(|comm| comm.starts_with("iou-wrk"));
        let there = self.bios.get(&event.sector).into_iter().flatten();
        let same: Vec<&Bio> = there.filter(|known| known.is_same(&bio)).collect();
        if same.iter().any(|known| known.is_rest) {
            return;
        }
        if is_worker && !same.is_empty() {
            context.tally("queue events of io_uring's workers that repeat one that would have had to wait (left out)");
            return;
        }
        put(&mut self.bios, event.sector, bio);
        self.open += 1;
        if self.open > OPEN_MAX {
            self.give_up(event.t_ns, context);
        }
    }

    /// Forgets bios that are too old ever to complete.
    fn give_up(&mut self, t_ns: i64, context: &mut Context) {
        self.open = 0;
        for there in self.bios.values_mut() {
            let before = there.len();
            there.retain(|bio| t_ns.saturating_sub(bio.t_ns) < GIVEN_UP_NS);
            (there.len()..before)
                .for_each(|_| context.tally("bios that were queued and not heard of again for a minute (left out)"));
            self.open += there.len();
        }
        self.bios.retain(|_, there| !there.is_empty());
    }

    /// The request that is given to the driver now; `None` for one that it gets again, and for flushes.
    fn request(&mut self, event: &Event, has_queue: bool, context: &mut Context) -> Option<Request> {
        if event.bytes == 0 {
            let waiting = self.flushes.iter_mut().filter(|flush| flush.issue_ns.is_none());
            waiting.for_each(|flush| flush.issue_ns = Some(event.t_ns));
            return None;
        }
        if let Some(there) = self.requests.get_mut(&event.sector)
            && let Some(again) = there.iter_mut().find(|request| request.is_back && request.bytes == event.bytes)
        {
            (again.is_back, again.issue_ns) = (false, event.t_ns);
            return None;
        }
        let end = event.sector + event.bytes / 512;
        let (mut at, mut first, mut count) = (event.sector, None::<Bio>, 0);
        while at < end
            && let Some(bio) = take(&mut self.bios, at, |bio| bio.sector + bio.bytes / 512 == end)
        {
            self.open = self.open.saturating_sub(1);
            let until = bio.sector + bio.bytes / 512;
            if until > end {
                let rest = Bio { sector: end, bytes: (until - end) * 512, is_rest: true, ..bio.clone() };
                // Older kernels tell of its queueing, before or after this.
                let is_queued = self.bios.get(&end).is_some_and(|there| there.iter().any(|bio| bio.is_same(&rest)));
                if !is_queued {
                    put(&mut self.bios, end, rest);
                    self.open += 1;
                }
            }
            at = until.max(at + 1);
            count += 1;
            // The earliest says who waits and since when.
            if first.as_ref().is_none_or(|first| bio.t_ns < first.t_ns) {
                first = Some(bio);
            }
        }
        if first.is_none() && has_queue {
            context.tally("I/Os that were queued before the trace began, or unseen (they begin with their issue)");
        }
        let known = (count > 0).then_some(count);
        // Who issues is often not who asked.
        let first = first.unwrap_or_else(|| Bio { tid: 0, comm: None, ..Bio::of(event) });
        Some(Request {
            first,
            issue_ns: event.t_ns,
            sector: event.sector,
            bytes: event.bytes,
            left: event.bytes,
            bios: known,
            requeues: 0,
            is_back: false,
        })
    }

    fn requeue(&mut self, event: &Event) {
        let there = self.requests.get_mut(&event.sector);
        if let Some(request) = there.and_then(|there| there.iter_mut().find(|request| !request.is_back)) {
            request.requeues += 1;
            request.is_back = true;
        }
    }

    fn complete(&mut self, event: &Event, context: &mut Context) -> Option<Io> {
        let mut io = self.completed(event, context)?;
        // A damaged time.
        if io.complete_ns.is_some_and(|complete_ns| complete_ns < io.queue_ns) {
            context.tally("I/Os that end before they begin (their completion was left out)");
            (io.issue_ns, io.complete_ns) = (io.issue_ns.filter(|issue_ns| *issue_ns >= io.queue_ns), None);
        }
        Some(io)
    }

    fn completed(&mut self, event: &Event, context: &mut Context) -> Option<Io> {
        if event.bytes == 0 {
            return self.complete_empty(event, context);
        }
        let Some(mut request) = take(&mut self.requests, event.sector, |request| request.left == event.bytes) else {
            return self.complete_bio(event, context);
        };
        if event.bytes < request.left && event.error == 0 {
            // A part of it; the rest completes where this ends.
            request.left -= event.bytes;
            put(&mut self.requests, event.sector + event.bytes / 512, request);
            return None;
        }
        let mut io = self.row_of(&request, Some(event.t_ns), context);
        io.error = (event.error > 0).then_some(event.error);
        if request.first.marks.preflush || request.first.marks.fua {
            self.ending.push_back((event.t_ns.saturating_add(FLUSH_AFTER_NS), io));
            return None;
        }
        Some(io)
    }

    /// The end of a flush, or of a write that had to be flushed.
    fn complete_empty(&mut self, event: &Event, context: &mut Context) -> Option<Io> {
        // A flush by itself ends as what it was queued as; the device's own, which served it, has no data direction.
        let is_bare = event.marks.op.is_empty();
        let ended =
            self.flushes.iter().position(|flush| flush.marks.op.is_empty() == is_bare && flush.issue_ns.is_some());
        let written = (!is_bare).then(|| self.ending.iter().position(|(_, io)| io.sector == event.sector)).flatten();
        if let Some(at) = written
            && (ended.is_none() || event.sector > 0)
            && let Some((_, mut io)) = self.ending.remove(at)
        {
            io.complete_ns = Some(event.t_ns);
            return Some(io);
        }
        // Drivers that take bios are not given flushes by themselves.
        let at = ended.or_else(|| self.flushes.iter().position(|flush| flush.marks.op.is_empty() == is_bare))?;
        let flush = self.flushes.remove(at)?;
        let error = (event.error > 0).then_some(event.error);
        Some(Io { complete_ns: Some(event.t_ns), error, ..self.row(&flush, context) })
    }

    fn complete_bio(&mut self, event: &Event, context: &mut Context) -> Option<Io> {
        let there = self.bios.get(&event.sector);
        if !there.is_some_and(|there| there.iter().any(|bio| bio.bytes == event.bytes)) {
            context.tally("completions of I/Os that began before the trace, or unseen (no rows)");
            return None;
        }
        let bio = take(&mut self.bios, event.sector, |bio| bio.bytes == event.bytes)?;
        self.open = self.open.saturating_sub(1);
        let error = (event.error > 0).then_some(event.error);
        Some(Io { complete_ns: Some(event.t_ns), error, ..self.row(&bio, context) })
    }

    fn row(&self, bio: &Bio, context: &mut Context) -> Io {
        let (op, flags) = (bio.marks.operation(bio.bytes), bio.marks.words());
        let (op, flags) = (context.label(op.as_bytes()), context.label(flags.as_bytes()));
        let dev = self.name.clone().unwrap_or_else(|| Label::from("?"));
        Io {
            issue_ns: bio.issue_ns,
            bytes: bio.bytes,
            flags: Some(flags),
            tid: (bio.tid > 0).then_some(bio.tid),
            comm: bio.comm.clone(),
            bios: Some(1),
            requeues: Some(0),
            ..bare(bio.t_ns, dev, op, bio.sector)
        }
    }

    fn row_of(&self, request: &Request, complete_ns: Option<i64>, context: &mut Context) -> Io {
        Io {
            issue_ns: Some(request.issue_ns),
            complete_ns,
            sector: request.sector,
            bytes: request.bytes,
            bios: request.bios,
            requeues: Some(request.requeues),
            ..self.row(&request.first, context)
        }
    }
}
