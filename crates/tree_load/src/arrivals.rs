//! What became due in a tree, for who counts it.

use crate::lane::TreeLanes;
use plan::generate::{Operation, OperationKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The arrivals of a lane: which kind each is of.
#[derive(Clone, Debug)]
pub struct TreeArrivals {
    lanes: Arc<TreeLanes>,
    at: usize,
    number: u64,
    /// Of a flow, those of this kind alone: in which order its kinds are done is known of one thread only.
    only: Option<OperationKind>,
}

impl TreeArrivals {
    pub(crate) fn new(lanes: &Arc<TreeLanes>, at: usize, only: Option<OperationKind>) -> Self {
        Self { lanes: Arc::clone(lanes), at, number: 0, only }
    }

    /// Workload and place.
    #[must_use]
    pub fn lane(&self) -> (usize, usize) {
        self.lanes.lanes[self.at].place()
    }

    /// The kind of the next one, and what it is taken to move.
    pub fn next_operation(&mut self) -> Operation {
        let op = self.only.unwrap_or_else(|| self.lanes.lanes[self.at].kinds.of(self.number));
        self.number += 1;
        // How much it will move depends on the file: a limit in bytes ends the lane, which says when.
        Operation { op, offset: 0, bytes: 0 }
    }

    /// The only kind, where other arrivals have the others of the same lane.
    #[must_use]
    pub fn only(&self) -> Option<OperationKind> {
        self.only
    }

    /// When the lane ended of its own accord, time of the run, ns.
    #[must_use]
    pub fn ended_ns(&self) -> Option<u64> {
        Some(self.lanes.lanes[self.at].ends_ns.load(Ordering::Acquire)).filter(|end_ns| *end_ns != u64::MAX)
    }
}
