//! The page cache of what a job reads and writes, by fio's rules: the job drops it where it begins with a file, and
//! advises the kernel how it will read the file.
//!
//! A drop that fails leaves a load that is faster than asked for, and nothing else: like fio we go on.

use crate::RunInput;
use crate::discard::{drop_buffers, is_device};
use crate::opening::flags_of;
use plan::{FilePart, FileUse, ReadHint};
use rustix::fs::{Advice, fadvise};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use target::{OpenTarget, TargetKind};

/// What is dropped when a pass over a file begins anew.
#[derive(Clone, Debug)]
pub(crate) struct Cached {
    fd: Arc<OwnedFd>,
    part: FilePart,
    is_device: bool,
    /// Past the cache: only another pass opens the file again, not its own return to the start.
    direct: bool,
}

impl Cached {
    /// Of a target, when its cache is to be dropped.
    pub(crate) fn of(
        files: &FileUse,
        member: usize,
        real_bytes: u64,
        opened: &OpenTarget,
        fd: &Arc<OwnedFd>,
    ) -> Option<Self> {
        let part = files.part(member, real_bytes).filter(|_| files.drops_cache)?;
        Some(Self { fd: Arc::clone(fd), part, is_device: is_device(opened), direct: opened.direct })
    }

    /// A pass begins.
    pub(crate) fn begin_pass(&self) {
        forget(self.fd.as_fd(), self.part, self.is_device);
    }

    /// The file was through and begins anew by itself.
    pub(crate) fn rewind(&self) {
        if !self.direct {
            self.begin_pass();
        }
    }
}

/// Before a run: what its jobs want dropped and said.
pub fn prepare(input: &RunInput<'_>) {
    for workload in &input.run.workloads {
        let Some(files) = &workload.address.files else { continue };
        for (member, target) in workload.targets.iter().enumerate() {
            let Some(opened) = input.targets.get(*target).and_then(Option::as_ref) else { continue };
            if !matches!(opened.kind, TargetKind::File { .. } | TargetKind::BlockDevice { .. }) {
                continue;
            }
            let Some(part) = files.part(member, files.seen_bytes(member, opened.found_bytes).min(opened.size_bytes))
            else {
                continue;
            };
            if files.drops_cache {
                forget(opened.as_fd(), part, is_device(opened));
            }
            let advice = match files.hint {
                ReadHint::Unset => continue,
                ReadHint::Random => Advice::Random,
                ReadHint::Sequential => Advice::Sequential,
            };
            let _ = fadvise(opened.as_fd(), part.start, NonZeroU64::new(part.bytes), advice);
        }
    }
}

/// Before a run, and behind [`prepare`]: reads what its jobs want read before (fio's `pre_read`), until `is_stopped`. Gives
/// the bytes, and the targets (their numbers in the plan) of which a part could not be read.
pub fn pre_read(input: &RunInput<'_>, is_stopped: &dyn Fn() -> bool) -> (u64, Vec<(usize, std::io::Error)>) {
    let (mut bytes, mut failed) = (0, Vec::new());
    for (at, workload) in input.run.workloads.iter().enumerate() {
        let Some(files) = &workload.address.files else { continue };
        let Some(transfer) = files.pre_read_bytes.and_then(|transfer| usize::try_from(transfer).ok()) else { continue };
        for (member, target) in workload.targets.iter().enumerate() {
            let Some(opened) = input.targets.get(*target).and_then(Option::as_ref) else { continue };
            if !matches!(opened.kind, TargetKind::File { .. } | TargetKind::BlockDevice { .. }) {
                continue;
            }
            let seen = files.seen_bytes(member, opened.found_bytes).min(opened.size_bytes);
            let Some(part) = files.part(member, seen) else { continue };
            let view = opened.view(flags_of(input, at, *target));
            match read_all(view.fd, part, transfer, view.memory_align as usize, is_stopped) {
                Ok(read) => bytes += read,
                Err(error) => failed.push((*target, error)),
            }
        }
    }
    (bytes, failed)
}

/// Reads a part of a file from start to end, as far as it goes.
fn read_all(
    fd: BorrowedFd<'_>,
    part: FilePart,
    transfer: usize,
    align: usize,
    is_stopped: &dyn Fn() -> bool,
) -> std::io::Result<u64> {
    let align = align.max(1);
    let mut buffer = vec![0; transfer + align];
    let skip = buffer.as_ptr().align_offset(align);
    let mut done = 0;
    while done < part.bytes && !is_stopped() {
        let left = usize::try_from(part.bytes - done).unwrap_or(usize::MAX).min(transfer);
        let read = rustix::io::pread(fd, &mut buffer[skip..skip + left], part.start + done)?;
        if read == 0 {
            break;
        }
        done += read as u64;
    }
    Ok(done)
}

/// Drops the cache of a part of a file, or of a whole device. What is dirty stays, but for a device, which is written first.
fn forget(fd: BorrowedFd<'_>, part: FilePart, is_device: bool) {
    if is_device && drop_buffers(fd).is_ok() {
        return;
    }
    let _ = fadvise(fd, part.start, NonZeroU64::new(part.bytes), Advice::DontNeed);
}
