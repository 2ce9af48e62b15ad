//! Keeps the operations of a job in flight apart.

use crate::issue::Issue;
use plan::generate::Operation;

/// Keeps operations apart that overlap.
#[derive(Debug, Default)]
pub(super) struct OverlapSerializer {
    /// In flight: lane, first byte, and the first behind.
    pub(super) flying: Vec<(u32, u64, u64)>,
    /// The next operation, which overlaps one of them.
    pub(super) held: Option<Issue>,
    /// When one of them came back last, ns of the run.
    pub(super) freed_ns: u64,
}

impl OverlapSerializer {
    pub(super) fn overlaps(&self, issue: &Issue) -> bool {
        let Operation { offset, bytes, .. } = issue.operation;
        let end = offset + u64::from(bytes);
        self.flying.iter().any(|(lane, from, to)| *lane == issue.lane && *from < end && offset < *to)
    }

    /// Does the next operation wait?
    pub(super) fn is_held(&self) -> bool {
        self.held.as_ref().is_some_and(|held| self.overlaps(held))
    }

    /// Lets an operation go, or keeps it until it may.
    pub(super) fn pass(&mut self, issue: Issue) -> Option<Issue> {
        if self.overlaps(&issue) {
            self.held = Some(issue);
            return None;
        }
        let Operation { offset, bytes, .. } = issue.operation;
        // A flush has no place: it is none that a write at the beginning could be taken for.
        if bytes > 0 {
            self.flying.push((issue.lane, offset, offset + u64::from(bytes)));
        }
        Some(issue)
    }

    pub(super) fn came_back(&mut self, lane: u32, offset: u64, now_ns: u64) {
        if let Some(at) = self.flying.iter().position(|(own, from, _)| (*own, *from) == (lane, offset)) {
            self.flying.swap_remove(at);
            self.freed_ns = now_ns;
        }
    }
}
