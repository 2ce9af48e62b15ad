//! Which I/O of a trace waited for which: one that began after another of the same thread had completed.

use std::collections::HashMap;

/// I/Os of a thread whose completion may still be waited for.
const OPEN_MAX: usize = 1024;
/// Threads that are remembered; all are forgotten when there are more.
const THREADS_MAX: usize = 1 << 16;

#[derive(Debug, Default)]
struct Thread {
    /// Completed last before what was asked for: when, and its number.
    last: Option<(u64, u64)>,
    /// Completion and number of those that may not have been completed.
    open: Vec<(u64, u64)>,
}

/// Follows the threads of a trace.
#[derive(Debug, Default)]
pub struct ThreadChains(HashMap<u64, Thread>);

impl ThreadChains {
    /// The I/O of this thread that completed last before `queue_ns`: its number, and how long before. For one that stands
    /// in the trace after I/Os that began later, none: it cannot have waited for those.
    pub fn before(&mut self, thread: u64, queue_ns: u64) -> Option<(u64, u64)> {
        let thread = self.0.get_mut(&thread)?;
        let last = &mut thread.last;
        thread.open.retain(|one| {
            let is_over = one.0 <= queue_ns;
            if is_over && last.is_none_or(|last| last.0 <= one.0) {
                *last = Some(*one);
            }
            !is_over
        });
        thread.last.and_then(|(complete_ns, number)| Some((number, queue_ns.checked_sub(complete_ns)?)))
    }

    /// Takes note of one that is played as number `number` (from 1).
    pub fn add(&mut self, thread: u64, number: u64, complete_ns: u64) {
        if self.0.len() >= THREADS_MAX && !self.0.contains_key(&thread) {
            self.0.clear();
        }
        let thread = self.0.entry(thread).or_default();
        if thread.open.len() >= OPEN_MAX {
            thread.open.remove(0);
        }
        thread.open.push((complete_ns, number));
    }
}
