//! Reads and writes of several threads of a lane, carried out by one thread of the system with a queue of transfers.
//!
//! Each of the lane's threads is a [`TreeThread`] as where it has a thread of the system to itself: with its own file, choices and place in the
//! statistics, and the same steps by plain calls. Only what it would wait for, a transfer, a due time, a file that may become
//! free, is a state here, in which the others go on.

use super::direct::through;
use super::find::Find;
use super::lane::TreeLanes;
use super::queue::{Transfer, TransferQueue, is_for_a_call, let_wait};
use super::thread::{FAILURES_IN_A_ROW, Failure, NAP_NS, PAUSE, Performed, ThreadPlace, TreeThread};
use super::tickets::Ticket;
use super::transfers::{OpenFile, whole};
use crate::run::Begun;
use plan::generate::{ContentGenerator, OperationKind};
use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

/// So many changes of its state, as files that it opens and closes, and another thread has its turn.
const CHANGES: u32 = 8;

/// A transfer, or why the file for it could not be opened.
type Planned = Result<(u64, u32), Failure>;

/// What a thread of a lane is at.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Looks for its next operation.
    Next,
    /// Looks for it again at this time of the run, ns.
    Paused(u64),
    /// Has one that may be due later.
    Waits(Ticket, Planned),
    /// Has a transfer that is due, for which there is room in the run.
    Ready(Ticket, (u64, u32)),
    UnderWay(Begun, (u64, u32)),
    /// Nothing more is due in the time of the run.
    Lasts,
    Ended,
}

/// A thread of a lane.
struct Queued<'a> {
    this: TreeThread<'a>,
    open: Option<OpenFile>,
    state: State,
    /// It found nothing that it could use.
    is_stuck: bool,
    /// Blocks of a file that it has.
    taken: Option<(u32, (u64, u32))>,
}

impl TreeLanes {
    /// Does the parts of several threads of a lane, whose transfers go through a queue with a place for each, until the lane or the run is over.
    /// The lane allows it ([`TreeLane::why_not_queued`](crate::TreeLane::why_not_queued)).
    ///
    /// # Errors
    /// The queue takes nothing any more; what is under way then does not end.
    pub fn run_queued<'a>(
        &'a self,
        lane: usize,
        threads: Vec<(ThreadPlace<'a>, Option<ContentGenerator>)>,
        queue: &mut dyn TransferQueue,
    ) -> io::Result<()> {
        let of = |(place, content): (ThreadPlace<'a>, _)| {
            let mut this = TreeThread::new(self, &self.lanes[lane], place, content);
            // The queue has it.
            this.memory = Vec::new();
            Queued { this, open: None, state: State::Next, is_stuck: false, taken: None }
        };
        let mut crew = Crew { idle: (0..threads.len()).collect(), under_way: 0, threads: Vec::new() };
        crew.threads = threads.into_iter().map(of).collect();
        let outcome = crew.turns(self, lane, queue);
        let left = crew.threads.iter().filter(|thread| !matches!(thread.state, State::Ended)).count();
        drop(crew);
        (0..left).for_each(|_| self.left(lane));
        outcome
    }
}

/// The threads of a lane that have a queue in common.
struct Crew<'a> {
    threads: Vec<Queued<'a>>,
    /// Those that have nothing under way and have not ended.
    idle: Vec<usize>,
    under_way: usize,
}

impl Crew<'_> {
    fn turns(&mut self, all: &TreeLanes, lane: usize, queue: &mut dyn TransferQueue) -> io::Result<()> {
        let mut came_back = Vec::with_capacity(self.threads.len());
        let mut idle = Vec::with_capacity(self.threads.len());
        while !all.run.is_aborted() {
            std::mem::swap(&mut self.idle, &mut idle);
            let mut wait_ns = NAP_NS;
            for at in idle.drain(..) {
                let thread = &mut self.threads[at];
                wait_ns = wait_ns.min(thread.go_on(at, queue));
                match thread.state {
                    State::Ended => {
                        thread.close();
                        all.left(lane);
                    }
                    _ => self.idle.push(at),
                }
            }
            self.hand_over(queue);
            if self.idle.is_empty() && self.under_way == 0 {
                return Ok(());
            }
            match self.under_way {
                0 => std::thread::sleep(Duration::from_nanos(wait_ns)),
                _ => queue.enter(Some(wait_ns).filter(|wait_ns| *wait_ns > 0))?,
            }
            queue.take(&mut came_back);
            self.take_back(&mut came_back, queue);
        }
        Ok(())
    }

    /// Queues the transfers that are due. What they were prepared with is not their service time.
    fn hand_over(&mut self, queue: &mut dyn TransferQueue) {
        let Self { threads, idle, under_way } = self;
        let mut stamp_ns = None;
        idle.retain(|at| {
            let thread = &mut threads[*at];
            let State::Ready(ticket, place) = thread.state else { return true };
            let submitted_ns = *stamp_ns.get_or_insert_with(|| thread.this.now_ns());
            thread.submit(*at, (ticket, place), submitted_ns, queue);
            *under_way += 1;
            false
        });
    }

    fn take_back(&mut self, came_back: &mut Vec<(usize, i32)>, queue: &mut dyn TransferQueue) {
        let mut stamp_ns = None;
        for (at, result) in came_back.drain(..) {
            let Some(thread) = self.threads.get_mut(at) else { continue };
            let t_ns = *stamp_ns.get_or_insert_with(|| thread.this.now_ns());
            thread.came_back(at, result, t_ns, queue);
            self.under_way -= 1;
            self.idle.push(at);
        }
    }
}

impl Queued<'_> {
    /// Goes on as far as it can without waiting. Returns how long it then has nothing to do, ns.
    fn go_on(&mut self, at: usize, queue: &mut dyn TransferQueue) -> u64 {
        for _ in 0..CHANGES {
            self.state = match self.state {
                State::Next => self.next(at, queue),
                State::Paused(until_ns) => match until_ns.saturating_sub(self.this.now_ns()) {
                    0 if self.this.goes_on_after_pause() => self.open_if_none(),
                    0 => State::Ended,
                    left_ns => return left_ns,
                },
                State::Waits(ticket, planned) => match self.until_due_ns(ticket.due_ns) {
                    None => State::Ended,
                    Some(0) => self.due(ticket, planned),
                    Some(left_ns) => return left_ns,
                },
                State::Lasts => match self.this.left_of_the_run_ns() {
                    Some(left_ns) => return left_ns,
                    None => State::Ended,
                },
                State::Ready(..) | State::UnderWay(..) | State::Ended => return NAP_NS,
            };
        }
        if matches!(self.state, State::Ready(..)) { NAP_NS } else { 0 }
    }

    /// What it does next.
    fn next(&mut self, at: usize, queue: &mut dyn TransferQueue) -> State {
        if !self.this.goes_on() {
            return State::Ended;
        }
        let Some((file, place)) = self.open.as_ref().and_then(|file| Some((file, self.this.next_place(file)?))) else {
            self.close();
            return self.open_next();
        };
        let Some(place) = self.this.own_place_now(file, place) else { return self.pause() };
        let file = file.found.at;
        self.taken = self.this.lane.checks.is_some().then_some((file, place));
        let Some(ticket) = self.this.ticket_now() else { return self.no_ticket() };
        if let Some(checks) = &self.this.lane.checks {
            let memory = queue.memory(at, place.1);
            match ticket.kind {
                OperationKind::Write => self.this.hold = Some(checks.stamp(&checks.tree, file, place.0, memory)),
                _ => stamp::poison(memory),
            }
        } else if ticket.kind == OperationKind::Write
            && let Some(mut content) = self.this.content.take()
        {
            content.fill(queue.memory(at, place.1), self.this.address(file, place.0));
            self.this.content = Some(content);
        }
        self.waits(ticket, Ok(place))
    }

    /// An operation was chosen that may be due later.
    fn waits(&mut self, ticket: Ticket, planned: Planned) -> State {
        State::Waits(ticket, planned)
    }

    fn until_due_ns(&self, due_ns: u64) -> Option<u64> {
        if self.this.lane.is_closed() { Some(0) } else { self.this.until_due_ns(due_ns, self.this.now_ns()) }
    }

    fn no_ticket(&mut self) -> State {
        if self.this.lane.is_closed() { State::Ended } else { State::Lasts }
    }

    /// After a pause it had been looking for a file, or goes on in the one that it has.
    fn open_if_none(&mut self) -> State {
        if self.open.is_none() { self.open_next() } else { State::Next }
    }

    fn open_next(&mut self) -> State {
        let found = match self.this.find_now(None, &mut self.is_stuck) {
            Find::Found(found) => found,
            Find::Over => return State::Ended,
            Find::NotNow => return self.pause(),
        };
        self.this.tree_path(found.at);
        let opened = self.this.open_found(found).and_then(|file| {
            let_wait(file.fd.as_fd())?;
            Ok(file)
        });
        match opened {
            Ok(file) => {
                self.open = Some(file);
                State::Next
            }
            Err(failure) => {
                self.this.correct(found.at, failure);
                self.this.release(&found);
                match self.this.ticket_now() {
                    Some(ticket) => self.waits(ticket, Err(failure)),
                    None => self.no_ticket(),
                }
            }
        }
    }

    fn pause(&mut self) -> State {
        State::Paused(self.this.now_ns() + u64::try_from(PAUSE.as_nanos()).unwrap_or(0))
    }

    /// Its operation is due.
    fn due(&mut self, ticket: Ticket, planned: Planned) -> State {
        match planned {
            Ok(place) if self.this.grant(ticket.kind, place, ticket.due_ns) => {
                self.this.make_room();
                State::Ready(ticket, place)
            }
            Ok(_) => State::Ended,
            Err(failure) => match self.this.perform(ticket, (0, 0), |_| Err(failure)) {
                Performed::Refused => State::Ended,
                _ => State::Next,
            },
        }
    }

    fn submit(
        &mut self,
        at: usize,
        (ticket, place): (Ticket, (u64, u32)),
        submitted_ns: u64,
        queue: &mut dyn TransferQueue,
    ) {
        let Some(file) = &self.open else { return };
        let (offset, bytes) = place;
        let begun = self.this.begin(ticket, place, submitted_ns);
        self.this.transfers += 1;
        let is_write = ticket.kind == OperationKind::Write;
        queue.push(at, file.fd.as_fd(), Transfer { is_write, offset, bytes });
        self.state = State::UnderWay(begun, place);
    }

    fn came_back(&mut self, at: usize, result: i32, mut t_ns: u64, queue: &mut dyn TransferQueue) {
        let State::UnderWay(begun, place) = self.state else { return };
        let Some(file) = &mut self.open else { return };
        let (offset, bytes) = place;
        let failed = |result| Failure { result, step: None, is_elsewhere: false };
        let outcome = match usize::try_from(result) {
            Ok(moved) => whole(moved, bytes),
            Err(_) if is_for_a_call(result) => {
                let memory = queue.memory(at, bytes);
                let moved = through(file.fd.as_fd(), &self.this.lane.is_buffered, |fd| match begun.op {
                    OperationKind::Write => rustix::io::pwrite(fd, &*memory, offset),
                    _ => rustix::io::pread(fd, &mut *memory, offset),
                });
                t_ns = self.this.now_ns();
                moved.map_err(Failure::from).and_then(|moved| whole(moved, bytes))
            }
            Err(_) => Err(failed(result)),
        };
        let performed = self.this.ended(begun, place, t_ns, outcome);
        if let Some((number, place)) = self.taken.take() {
            let memory = queue.memory(at, place.1);
            let is_done = matches!(performed, Performed::Done(_));
            self.this.settle((begun.op, number, place), file.fd.as_fd(), Some(memory), is_done);
        }
        self.this.transferred(file, begun.op, place, performed);
        self.state = match self.this.failures_in_a_row > FAILURES_IN_A_ROW {
            true => self.pause(),
            false => State::Next,
        };
    }

    fn close(&mut self) {
        if let Some((file, place)) = self.taken.take() {
            self.this.give_back(file, place);
        }
        self.open.take().into_iter().for_each(|file| self.this.close(file));
    }
}
