//! Which operation of a replay is next, and when. No I/O and no clock in here.

use crate::replay_progress::ReplayChunk;
use plan::replay::{ReplayIo, ReplayPacing};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

/// Operations that may wait for the completion of others.
const WAITING_MAX: usize = 1 << 16;
/// Completions that are remembered.
const REMEMBERED: usize = 1 << 17;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplayStep {
    /// An operation, due then.
    At(u64),
    /// The trace could not be read as fast as it is played.
    Starved,
    /// Everything waits for completions.
    Blocked,
    /// Nothing is left.
    Ended,
}

/// An operation that is to be issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Played {
    pub(crate) io: ReplayIo,
    pub(crate) due_ns: u64,
    pub(crate) number: u64,
}

/// The operations of a feed in the order of their due times.
pub(crate) struct Sequence {
    feed: Receiver<ReplayChunk>,
    /// For the coordinator, who counts what became due.
    tell: Sender<ReplayChunk>,
    chunk: ReplayChunk,
    at: usize,
    /// Taken from the feed so far.
    number: u64,
    pacing: ReplayPacing,
    chains: Chains,
}

#[derive(Default)]
struct Chains {
    /// Due time and number.
    ready: BinaryHeap<Reverse<(u64, u64)>>,
    ios: HashMap<u64, ReplayIo>,
    /// By what they wait for.
    parked: HashMap<u64, Vec<u64>>,
    /// Taken and not completed.
    open: HashSet<u64>,
    done: HashMap<u64, u64>,
    done_order: VecDeque<u64>,
}

impl Sequence {
    pub(crate) fn new(feed: Receiver<ReplayChunk>, tell: Sender<ReplayChunk>, pacing: ReplayPacing) -> Self {
        Self { feed, tell, chunk: [].into(), at: 0, number: 0, pacing, chains: Chains::default() }
    }

    fn is_chained(&self) -> bool {
        matches!(self.pacing, ReplayPacing::Closed | ReplayPacing::Dependencies)
    }

    /// The next of the feed; `Err`: none at the moment, or none any more.
    #[inline]
    fn peek(&mut self) -> Result<ReplayIo, ReplayStep> {
        while self.at >= self.chunk.len() {
            self.chunk = match self.feed.try_recv() {
                Ok(chunk) => chunk,
                Err(TryRecvError::Empty) => return Err(ReplayStep::Starved),
                Err(TryRecvError::Disconnected) => return Err(ReplayStep::Ended),
            };
            self.at = 0;
            if self.pacing == ReplayPacing::OnTime {
                let _ = self.tell.send(ReplayChunk::clone(&self.chunk));
            }
        }
        Ok(self.chunk[self.at])
    }

    /// When the next operation is due.
    #[inline]
    pub(crate) fn next(&mut self, now_ns: u64) -> ReplayStep {
        if self.is_chained() {
            return self.next_chained(now_ns);
        }
        match self.peek() {
            Ok(io) if self.pacing == ReplayPacing::OnTime => ReplayStep::At(io.due_ns),
            Ok(_) => ReplayStep::At(0),
            Err(other) => other,
        }
    }

    /// The operation that [`Sequence::next`] returned.
    #[inline]
    pub(crate) fn upcoming(&self) -> Option<&ReplayIo> {
        if self.is_chained() {
            return self.chains.ready.peek().and_then(|Reverse((_, number))| self.chains.ios.get(number));
        }
        self.chunk.get(self.at)
    }

    /// Takes the operation that [`Sequence::next`] returned.
    #[inline]
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<Played> {
        if self.is_chained() {
            let Reverse((due_ns, number)) = self.chains.ready.pop()?;
            let io = self.chains.ios.remove(&number)?;
            return Some(Played { io, due_ns, number });
        }
        let io = *self.chunk.get(self.at)?;
        self.at += 1;
        self.number += 1;
        let due_ns = if self.pacing == ReplayPacing::OnTime { io.due_ns } else { now_ns };
        Some(Played { io, due_ns, number: self.number })
    }

    fn next_chained(&mut self, now_ns: u64) -> ReplayStep {
        let mut end = ReplayStep::Blocked;
        while self.chains.ios.len() < WAITING_MAX {
            let io = match self.peek() {
                Ok(io) => io,
                Err(other) => {
                    end = other;
                    break;
                }
            };
            // In time order, those of the future can wait in the feed.
            if self.pacing == ReplayPacing::Dependencies && io.due_ns > now_ns {
                end = ReplayStep::At(io.due_ns);
                if self.chains.ready.is_empty() {
                    return self.enter(io, end);
                }
                break;
            }
            self.enter(io, ReplayStep::Blocked);
        }
        match self.chains.ready.peek() {
            Some(Reverse((due_ns, _))) => ReplayStep::At(*due_ns),
            None if end == ReplayStep::Ended && !self.chains.ios.is_empty() => ReplayStep::Blocked,
            None => end,
        }
    }

    /// Takes the feed's next: it is ready, or waits for another.
    fn enter(&mut self, io: ReplayIo, next: ReplayStep) -> ReplayStep {
        self.at += 1;
        self.number += 1;
        let (number, chains) = (self.number, &mut self.chains);
        chains.open.insert(number);
        chains.ios.insert(number, io);
        if io.after > 0 && chains.open.contains(&io.after) {
            chains.parked.entry(io.after).or_default().push(number);
            return if next == ReplayStep::At(io.due_ns) { ReplayStep::Blocked } else { next };
        }
        let due_ns = match (self.pacing, chains.done.get(&io.after)) {
            (ReplayPacing::Closed, Some(done_ns)) => done_ns.saturating_add(io.think_ns),
            _ => io.due_ns,
        };
        chains.ready.push(Reverse((due_ns, number)));
        ReplayStep::At(due_ns)
    }

    /// An operation was completed.
    #[inline]
    pub(crate) fn completed(&mut self, number: u64, now_ns: u64) {
        if !self.is_chained() {
            return;
        }
        let chains = &mut self.chains;
        chains.open.remove(&number);
        if self.pacing == ReplayPacing::Closed {
            chains.done.insert(number, now_ns);
            chains.done_order.push_back(number);
            if chains.done_order.len() > REMEMBERED
                && let Some(old) = chains.done_order.pop_front()
            {
                chains.done.remove(&old);
            }
        }
        for waited in chains.parked.remove(&number).unwrap_or_default() {
            let Some(io) = chains.ios.get(&waited) else { continue };
            let due_ns =
                if self.pacing == ReplayPacing::Closed { now_ns.saturating_add(io.think_ns) } else { io.due_ns };
            chains.ready.push(Reverse((due_ns, waited)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::generate::OperationKind;
    use std::sync::mpsc::channel;

    fn sequence(pacing: ReplayPacing, ios: &[(u64, u64, u64)]) -> Sequence {
        let (send, feed) = channel();
        let (tell, _) = channel();
        let io = |(due_ns, after, think_ns): &(u64, u64, u64)| ReplayIo {
            due_ns: *due_ns,
            offset: 0,
            bytes: 512,
            target: 0,
            op: OperationKind::Read,
            durable: false,
            zeroes: false,
            after: *after,
            think_ns: *think_ns,
        };
        for io in ios.iter().map(io) {
            send.send([io].into()).unwrap();
        }
        Sequence::new(feed, tell, pacing)
    }

    #[test]
    fn on_time_nothing_waits_for_anything() {
        let mut sequence = sequence(ReplayPacing::OnTime, &[(5, 0, 0), (7, 1, 0)]);
        assert_eq!(sequence.next(0), ReplayStep::At(5));
        assert_eq!(sequence.take(5).map(|one| (one.due_ns, one.number)), Some((5, 1)));
        assert_eq!(sequence.next(5), ReplayStep::At(7));
        assert_eq!(sequence.take(9).map(|one| one.due_ns), Some(7));
        assert_eq!(sequence.next(9), ReplayStep::Ended);
    }

    #[test]
    fn in_a_closed_loop_think_time_counts_from_the_completion() {
        let mut sequence = sequence(ReplayPacing::Closed, &[(0, 0, 0), (100, 1, 30), (50, 0, 0)]);
        assert_eq!(sequence.next(0), ReplayStep::At(0));
        assert_eq!(sequence.take(0).map(|one| one.number), Some(1));
        assert_eq!(sequence.next(0), ReplayStep::At(50));
        assert_eq!(sequence.take(50).map(|one| one.number), Some(3));
        assert_eq!(sequence.next(60), ReplayStep::Blocked);
        sequence.completed(1, 400);
        assert_eq!(sequence.next(400), ReplayStep::At(430));
        assert_eq!(sequence.take(430).map(|one| one.number), Some(2));
        sequence.completed(2, 500);
        sequence.completed(3, 500);
        assert_eq!(sequence.next(500), ReplayStep::Ended);
    }

    #[test]
    fn with_dependencies_the_due_time_stays_and_others_pass() {
        let mut sequence = sequence(ReplayPacing::Dependencies, &[(0, 0, 0), (10, 1, 5), (20, 0, 0)]);
        assert_eq!(sequence.next(0), ReplayStep::At(0));
        assert_eq!(sequence.take(0).map(|one| one.number), Some(1));
        assert_eq!(sequence.next(25), ReplayStep::At(20));
        assert_eq!(sequence.take(25).map(|one| one.number), Some(3));
        assert_eq!(sequence.next(25), ReplayStep::Blocked);
        sequence.completed(1, 90);
        assert_eq!(sequence.next(90), ReplayStep::At(10));
        assert_eq!(sequence.take(90).map(|one| one.due_ns), Some(10));
    }
}
