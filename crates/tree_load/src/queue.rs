//! Transfers that the kernel does while the thread that asked for them goes on.

use super::lane::TreeLane;
use super::thread::Failure;
use super::transfers::flags_of;
use crate::below::open_below;
use plan::generate::OperationKind;
use plan::{FileOrder, StopAfter, TreeTask};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// So many files are looked at for one that a trial may read.
const SAMPLES: u32 = 1000;

/// With fewer transfers in a file than this, opening it decides: files are opened one behind the other by the thread that has the queue.
const TRANSFERS_OF_A_FILE: f64 = 8.0;

/// A read or write in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Does it write?
    pub is_write: bool,
    /// Where it begins, bytes.
    pub offset: u64,
    /// Bytes.
    pub bytes: u32,
}

/// A queue of transfers. Each has a place, with memory of its own, and is the only one there until it has come back.
pub trait TransferQueue {
    /// The first `bytes` of a place's memory; the place has no transfer under way.
    fn memory(&mut self, place: usize, bytes: u32) -> &mut [u8];
    /// Queues a transfer in this place. The file stays open until it has come back.
    fn push(&mut self, place: usize, file: BorrowedFd<'_>, transfer: Transfer);
    /// Hands over what is queued, and waits until one has come back, at most so long, ns; `None` does not wait.
    ///
    /// # Errors
    /// The kernel takes nothing any more.
    fn enter(&mut self, wait_ns: Option<u64>) -> io::Result<()>;
    /// Takes what has come back: places and results, a negative errno or how many bytes were moved.
    fn take(&mut self, came_back: &mut Vec<(usize, i32)>);
}

impl TreeLane {
    /// Why no queue may do the transfers of its threads; `None`: one may.
    #[must_use]
    pub fn why_not_queued(&self) -> Option<&'static str> {
        let load = &self.load;
        let reads_or_writes = match &load.task {
            TreeTask::Mixed { .. } => true,
            TreeTask::One(kind) => matches!(kind, OperationKind::Read | OperationKind::Write),
            TreeTask::Flow(_) | TreeTask::Format(_) => false,
        };
        match () {
            () if !reads_or_writes || load.entries.is_some() => Some("only reads and writes go through a queue"),
            () if self.sweep().is_some() => Some("what was written is read again by threads"),
            () if self.checks.as_ref().is_some_and(|checks| checks.before || checks.after) => {
                Some("reads before and behind writes are calls")
            }
            () if self.turns.is_some() => Some("shares at full speed are kept by threads that wait for their turn"),
            () if self.is_once() => Some("with fileselect=once a thread waits for a file that another one has"),
            () if load.sync_every.is_some() || (load.open.fsync_at_end && self.writes_data()) => {
                Some("making files durable waits, which several threads do at the same time")
            }
            () => None,
        }
    }

    /// Past the page cache?
    #[must_use]
    pub fn is_direct(&self) -> bool {
        flags_of(self.load.open).contains(OFlags::DIRECT)
    }

    /// May a queue cost less than threads? What waits in the call that submits, or goes to threads of the kernel, costs more: whatever goes
    /// through the page cache, is durable at once, or makes files longer. A trial would also fill the page cache with a file.
    #[must_use]
    pub fn may_gain_by_queue(&self) -> bool {
        let flags = flags_of(self.load.open);
        let is_write = self.writes_data();
        let is_plain = !is_write || !flags.intersects(OFlags::SYNC | OFlags::DSYNC);
        let makes_files = is_write && self.load.access == FileOrder::SequentialDelete;
        let files = f64::from(self.tree.layout().files().max(1));
        let each = self.tree.layout().total_bytes() as f64 / files / self.load.transfer.max_bytes().max(1) as f64;
        let of_a_file = match self.load.stop_after {
            Some(StopAfter::Transfers(count)) => count as f64,
            Some(StopAfter::Fraction(part)) => each * part,
            None => each,
        };
        self.is_direct() && is_plain && !makes_files && of_a_file >= TRANSFERS_OF_A_FILE
    }

    /// A file with room for a transfer, opened for reading as this lane opens files, and its size; `None`: there is none.
    #[must_use]
    pub fn open_sample(&self) -> Option<(OwnedFd, u64)> {
        let (set, state) = (self.tree.working_set(), self.tree.state());
        let least = self.load.transfer.max_bytes();
        let fits = |file: &u32| state.file(*file).bytes >= least;
        let file = (0..set.len().min(SAMPLES)).map(|at| set.get(at)).find(fits)?;
        let mut path = Vec::new();
        self.tree.layout().file_path(file, &mut path);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | flags_of(self.load.open);
        let fd = open_below(self.tree.anchor(), &path, flags, Mode::empty()).ok()?;
        let_wait(fd.as_fd()).ok()?;
        let stat = rustix::fs::fstat(&fd).ok()?;
        let bytes = u64::try_from(stat.st_size).ok()?;
        let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        (is_regular && bytes >= least).then_some((fd, bytes))
    }
}

/// The flag with which files are opened lets a queue give up where a call would have waited.
pub(crate) fn let_wait(fd: BorrowedFd<'_>) -> Result<(), Failure> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags - OFlags::NONBLOCK)?)
}

/// Is this the answer of a queue that does less than a call?
pub(crate) fn is_for_a_call(result: i32) -> bool {
    [Errno::INVAL, Errno::AGAIN, Errno::INTR].iter().any(|errno| result == -errno.raw_os_error())
}
