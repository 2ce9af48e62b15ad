//! One target opened in several ways: each set of flags that its workloads ask for has a descriptor of its own.

use crate::ErrorKind;
use crate::node::Node;
use crate::opened::{Opened, alignment, open_flags, open_node};
use plan::OpenFlags;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Advice, OFlags, fadvise, fdatasync};

/// A target as it is opened with one set of flags.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The descriptor.
    pub fd: BorrowedFd<'a>,
    /// Does it bypass the page cache?
    pub direct: bool,
    /// Offsets and lengths must be multiples of this: 512 or 4096 on devices and with direct I/O, otherwise 1.
    pub logical_block_bytes: u32,
    /// Addresses of buffers must be multiples of this.
    pub memory_align: u32,
}

/// A further descriptor of an open target.
#[derive(Debug)]
pub(crate) struct Further {
    flags: OFlags,
    io: OwnedFd,
    logical_block_bytes: u32,
    memory_align: u32,
}

/// The flags of a set that `open(2)` sees; sets that differ in nothing else are one.
fn key(flags: OpenFlags) -> Option<OFlags> {
    open_flags(flags).ok()
}

impl Opened {
    /// The target as it is opened with these flags: those of one of the sets that it was opened for. With others: as with
    /// the first of them.
    #[must_use]
    pub fn view(&self, flags: OpenFlags) -> View<'_> {
        match self.further.iter().find(|further| key(flags) == Some(further.flags)) {
            Some(further) => further.view(),
            None => View {
                fd: self.as_fd(),
                direct: self.direct,
                logical_block_bytes: self.logical_block_bytes,
                memory_align: self.memory_align,
            },
        }
    }

    /// The smallest block of all ways in which it is open.
    pub(crate) fn smallest_block_bytes(&self) -> u32 {
        let further = self.further.iter().map(|further| further.logical_block_bytes);
        further.fold(self.logical_block_bytes, u32::min)
    }

    /// Does any way in which it is open bypass the page cache?
    pub(crate) fn is_ever_direct(&self) -> bool {
        self.direct || self.further.iter().any(|further| further.flags.contains(OFlags::DIRECT))
    }

    /// Writes what the page cache has of it, and empties the cache: what comes next neither finds there what came before
    /// nor pays for it.
    ///
    /// # Errors
    /// What `fdatasync` gives.
    pub fn leave_cache(fd: BorrowedFd<'_>) -> std::io::Result<()> {
        fdatasync(fd)?;
        let _ = fadvise(fd, 0, None, Advice::DontNeed);
        Ok(())
    }

    /// Opens this very thing once more for each set of flags that it is not yet open with.
    pub(crate) fn add_views(&mut self, node: &Node, first: OpenFlags, sets: &[OpenFlags]) -> Result<(), ErrorKind> {
        let first = open_flags(first)?;
        for set in sets {
            let flags = open_flags(*set)?;
            if flags == first || self.further.iter().any(|further| further.flags == flags) {
                continue;
            }
            let direction = if self.writable { OFlags::RDWR } else { OFlags::RDONLY };
            let io = open_node(node, direction | flags)?;
            let direct = flags.contains(OFlags::DIRECT);
            let (logical_block_bytes, memory_align) = alignment(node, io.as_fd(), direct)?;
            self.further.push(Further { flags, io, logical_block_bytes, memory_align });
        }
        Ok(())
    }
}

impl Further {
    fn view(&self) -> View<'_> {
        View {
            fd: self.io.as_fd(),
            direct: self.flags.contains(OFlags::DIRECT),
            logical_block_bytes: self.logical_block_bytes,
            memory_align: self.memory_align,
        }
    }
}
