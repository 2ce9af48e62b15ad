//! Trees whose data is proved: what is written carries stamps, what is read is checked, and what happens to whole files is noted
//! (`validation::TreeValidation`).

use super::direct::through;
use rustix::fs::{Advice, fadvise};
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use validation::{FoundBy, ReadOutcome, TreeValidation, Validation, WriteHold};

/// How a lane's data is proved.
#[derive(Clone, Debug)]
pub(crate) struct TreeChecks {
    pub(crate) tree: Arc<TreeValidation>,
    /// Where copied and moved files go.
    pub(crate) destination: Option<Arc<TreeValidation>>,
    /// In its stamps.
    writer: u16,
    /// Blocks of which something is known are read before they are written.
    pub(crate) before: bool,
    /// … and right behind it.
    pub(crate) after: bool,
    /// It reads all that must be there, in place of its task.
    pub(crate) sweeps: bool,
}

impl TreeChecks {
    /// Of a lane in the tree with this number among targets and trees.
    pub(crate) fn new(
        validation: &Validation,
        (place, destination): (usize, Option<usize>),
        workload: usize,
        sweeps: bool,
    ) -> Option<Self> {
        Some(Self {
            tree: Arc::clone(validation.tree_at(place)?),
            destination: destination.and_then(|place| validation.tree_at(place)).map(Arc::clone),
            writer: u16::try_from(workload).unwrap_or(u16::MAX),
            before: validation.settings.reads_before_write,
            after: validation.settings.reads_after_write,
            sweeps,
        })
    }

    /// Fills a buffer with what a write to taken blocks of a tree carries.
    pub(crate) fn stamp(&self, of: &TreeValidation, file: u32, offset: u64, buffer: &mut [u8]) -> WriteHold {
        of.stamp(file, offset, buffer, self.writer)
    }

    /// Checks what was read of taken blocks; what is wrong is reported behind a second look at it, past the page cache. Gives how many
    /// blocks are damaged.
    #[inline]
    pub(crate) fn check(
        &self,
        (file, offset): (u32, u64),
        (fd, is_buffered): (BorrowedFd<'_>, &AtomicBool),
        buffer: &mut [u8],
        found_by: FoundBy,
    ) -> u64 {
        if self.tree.check(file, offset, buffer) == ReadOutcome::Right {
            return 0;
        }
        let first = buffer.to_vec();
        // What is dirty stays.
        let _ = fadvise(fd, offset, NonZeroU64::new(buffer.len() as u64), Advice::DontNeed);
        stamp::poison(buffer);
        let again = through(fd, is_buffered, |fd| rustix::io::pread(fd, &mut *buffer, offset));
        let again = (again == Ok(buffer.len())).then_some(&*buffer);
        self.tree.report(file, offset, (&first, again), found_by)
    }
}
