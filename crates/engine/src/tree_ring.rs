//! Transfers in files of trees through io_uring.

use crate::EngineError;
use crate::io_buffers::IoBuffers;
use crate::uring_queue::{Entry, Ring};
use rustix::io_uring::IoringOp;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use tree_load::{Transfer, TransferQueue};

/// A ring with memory for each of its places.
#[derive(Debug)]
pub(crate) struct TreeRing {
    // The ring ends before its memory.
    ring: Ring,
    memory: Option<IoBuffers>,
    /// By place.
    is_under_way: Vec<bool>,
}

impl TreeRing {
    /// For the thread that uses it: so many places, and transfers of at most so many bytes.
    pub(crate) fn new(places: usize, transfer_max: usize) -> Result<Self, EngineError> {
        let entries = u32::try_from(places).unwrap_or(u32::MAX);
        let mut ring = Ring::new(entries).map_err(EngineError::system("set up io_uring"))?;
        let mut memory = IoBuffers::new(places, transfer_max)?;
        ring.register(&[], &mut memory)?;
        ring.register_self();
        // What it cannot start without waiting must not wait for each other; what the kernel refuses is done without.
        let _ = ring.widen(entries);
        Ok(Self { ring, memory: Some(memory), is_under_way: vec![false; places] })
    }
}

impl TransferQueue for TreeRing {
    fn memory(&mut self, place: usize, bytes: u32) -> &mut [u8] {
        assert!(!self.is_under_way[place], "the kernel has the memory of place {place}");
        self.memory.as_mut().map_or(&mut [], |memory| memory.write_place(place, bytes as usize))
    }

    fn push(&mut self, place: usize, file: BorrowedFd<'_>, transfer: Transfer) {
        let Transfer { is_write, offset, bytes } = transfer;
        let address = self.memory(place, bytes).as_mut_ptr() as u64;
        let is_registered = self.memory.as_ref().is_some_and(IoBuffers::is_registered);
        let code = match (is_write, is_registered) {
            (false, true) => IoringOp::ReadFixed,
            (false, false) => IoringOp::Read,
            (true, true) => IoringOp::WriteFixed,
            (true, false) => IoringOp::Write,
        };
        let file = file.as_raw_fd().unsigned_abs();
        let entry = Entry { code: code as u8, file, offset, address, length: bytes, ..Entry::default() };
        self.ring.push(place as u64, &entry);
        self.is_under_way[place] = true;
    }

    fn enter(&mut self, wait_ns: Option<u64>) -> io::Result<()> {
        self.ring.enter(u32::from(wait_ns.is_some()), wait_ns)
    }

    fn take(&mut self, came_back: &mut Vec<(usize, i32)>) {
        let is_under_way = &mut self.is_under_way;
        self.ring.reap(|tag, result| {
            let place = usize::try_from(tag).unwrap_or(usize::MAX);
            if let Some(is_under_way) = is_under_way.get_mut(place) {
                *is_under_way = false;
                came_back.push((place, result));
            }
        });
    }
}

impl Drop for TreeRing {
    fn drop(&mut self) {
        if self.is_under_way.contains(&true) {
            // The kernel still has it.
            self.memory.take().into_iter().for_each(IoBuffers::leak);
        }
    }
}
