//! What a replay was to do so far, as the coordinator counts it.

use crate::waiting::{Arrival, Source, Waiting};
use plan::generate::OperationKind;
use plan::replay::ReplayIo;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Operations in the order in which they are to be looked at.
pub type ReplayChunk = Arc<[ReplayIo]>;

/// Counts what became due: the coordinator's copy of what the thread plays.
#[derive(Debug)]
pub(crate) struct Played {
    chunks: Receiver<ReplayChunk>,
    due: Vec<ReplayChunk>,
    at: usize,
    waiting: Waiting<Unseen>,
}

/// The thread takes a chunk when it plays its first operation, so that never more than one of them waits: all are kept.
#[derive(Clone, Debug)]
pub(crate) struct Unseen;

impl Source for Unseen {
    fn next(&mut self) -> Option<Arrival> {
        None
    }
}

impl Played {
    /// What comes of these chunks.
    pub(crate) fn new(chunks: Receiver<ReplayChunk>) -> Self {
        Self { chunks, due: Vec::new(), at: 0, waiting: Waiting::default() }
    }

    /// So many operations were submitted.
    pub(crate) fn submitted(&mut self, count: u64) {
        self.waiting.submitted(count);
    }

    /// Gives everything that was due and not submitted, and forgets it.
    pub(crate) fn take_waiting(&mut self, each: impl FnMut(Arrival)) {
        self.waiting.take(each);
    }

    /// Gives target and kind of everything that was due before `until_ns`.
    pub(crate) fn advance(&mut self, until_ns: u64, mut each: impl FnMut((usize, usize), OperationKind)) {
        self.due.extend(self.chunks.try_iter());
        let mut over = 0;
        'chunks: for chunk in &self.due {
            for io in &chunk[self.at..] {
                if io.due_ns >= until_ns {
                    break 'chunks;
                }
                let lane = (0, io.target as usize);
                each(lane, io.op);
                self.waiting.arrived(Arrival { lane, op: io.op, due_ns: io.due_ns }, None);
                self.at += 1;
            }
            (over, self.at) = (over + 1, 0);
        }
        self.due.drain(..over);
    }
}
