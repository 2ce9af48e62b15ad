//! A way of opening a target: its flags, its descriptor, and what I/O through it has to be aligned to.

use crate::ErrorKind;
use crate::node::{self, Node, Place};
use plan::{OpenFlags, TargetSpec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, OFlags, StatxFlags, ioctl_blksszget, major, minor, statx};
use rustix::io::Errno;

/// A target as it is opened with one set of flags.
#[derive(Clone, Copy, Debug)]
pub struct TargetView<'a> {
    /// The descriptor.
    pub fd: BorrowedFd<'a>,
    /// Does it bypass the page cache?
    pub direct: bool,
    /// Offsets and lengths must be multiples of this: 512 or 4096 on devices and with direct I/O, otherwise 1.
    pub logical_block_bytes: u32,
    /// Addresses of buffers must be multiples of this.
    pub memory_align: u32,
}

/// A further descriptor of an open target: each set of flags that its workloads ask for has one of its own.
#[derive(Debug)]
pub(crate) struct Further {
    pub(crate) flags: OFlags,
    io: OwnedFd,
    pub(crate) logical_block_bytes: u32,
    memory_align: u32,
}

impl Further {
    /// Of a node that was opened with these flags.
    pub(crate) fn new(node: &Node, io: OwnedFd, flags: OFlags) -> Result<Self, ErrorKind> {
        let (logical_block_bytes, memory_align) = alignment(node, io.as_fd(), flags.contains(OFlags::DIRECT))?;
        Ok(Self { flags, io, logical_block_bytes, memory_align })
    }

    pub(crate) fn view(&self) -> TargetView<'_> {
        TargetView {
            fd: self.io.as_fd(),
            direct: self.flags.contains(OFlags::DIRECT),
            logical_block_bytes: self.logical_block_bytes,
            memory_align: self.memory_align,
        }
    }
}

/// Flags for open(2) without the direction. Only such extra bits are let through as cannot harm: `O_TRUNC` would empty
/// a file before a single check of the engine's.
pub(crate) fn open_flags(flags: OpenFlags) -> Result<OFlags, ErrorKind> {
    let allowed = OFlags::NOATIME | OFlags::NONBLOCK | OFlags::DIRECT | OFlags::SYNC | OFlags::DSYNC | OFlags::CLOEXEC;
    let extra = OFlags::from_bits_retain(flags.extra);
    if !allowed.contains(extra) {
        return Err(ErrorKind::Flags { flags: extra.difference(allowed).bits() });
    }
    let mut all = extra;
    // `OFlags::DSYNC` of rustix 1.1 is `O_SYNC` on Linux, which flushes what `O_DSYNC` does not: the kernel's own bit.
    let dsync = OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned());
    all.set(OFlags::DIRECT, flags.direct || extra.contains(OFlags::DIRECT));
    if flags.dsync {
        all |= dsync;
    }
    if flags.sync {
        all |= OFlags::SYNC;
    }
    Ok(all)
}

/// Opens without touching the time of last access, where that is allowed (the owner may): it costs 15 ns per read, and
/// a measurement should leave no trace on what it only reads.
pub(crate) fn open_node(node: &Node, flags: OFlags) -> Result<OwnedFd, ErrorKind> {
    let opened = match node.reopen(flags | OFlags::NOATIME) {
        Err(Errno::PERM) => node.reopen(flags),
        opened => opened,
    };
    opened.map_err(|error| match error {
        Errno::INVAL if flags.contains(OFlags::DIRECT) => ErrorKind::NoDirect { file_system: file_system(node) },
        _ => ErrorKind::from_io("open", &node.path, error),
    })
}

/// What offsets and lengths, and what addresses of buffers, must be multiples of, through a descriptor that is direct or not.
pub(crate) fn alignment(node: &Node, io: BorrowedFd<'_>, direct: bool) -> Result<(u32, u32), ErrorKind> {
    match node.file_type() {
        FileType::BlockDevice => {
            let block = ioctl_blksszget(io).map_err(|error| ErrorKind::from_io("measure", &node.path, error))?;
            let memory = direct_alignment(io).map_or(block, |(memory, _)| memory);
            Ok((block, memory.max(1)))
        }
        FileType::CharacterDevice => Ok((1, 1)),
        _ if !direct => Ok((1, 1)),
        _ => match direct_alignment(io) {
            Some((0, _)) => Err(ErrorKind::NoDirect { file_system: file_system(node) }),
            Some((memory, block)) => Ok((block, memory)),
            // The file system does not tell (NFS, FUSE, kernels before 6.1). Only btrfs is known to need whole pages.
            None if file_system(node) == "btrfs" => Ok((4096, 4096)),
            None => Ok((device_block(node).unwrap_or(512), 512)),
        },
    }
}

/// Alignment of buffers and of offsets that direct I/O needs, where the kernel tells; zeroes: it cannot be done.
pub(crate) fn direct_alignment(fd: BorrowedFd<'_>) -> Option<(u32, u32)> {
    let stat = statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    (stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0).then_some((stat.stx_dio_mem_align, stat.stx_dio_offset_align))
}

/// What addresses and lengths on a target will have to be multiples of, as far as it can be known before it is open: of a
/// block device exactly, otherwise at least.
#[must_use]
pub fn block_bytes_at_least(spec: &TargetSpec, open: OpenFlags) -> u32 {
    let least = if open.direct { 512 } else { 1 };
    match node::find(&spec.path) {
        Ok(Place::Present(node)) if node.file_type() == rustix::fs::FileType::BlockDevice => {
            let (major, minor) = node.device();
            block_of(major, minor).unwrap_or(least)
        }
        _ => least,
    }
}

/// Logical block size of the device that a file lies on.
fn device_block(node: &Node) -> Option<u32> {
    block_of(major(node.stat.st_dev), minor(node.stat.st_dev))
}

/// Logical block size of a block device.
fn block_of(major: u32, minor: u32) -> Option<u32> {
    let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    // A partition has no queue of its own.
    let text = ["queue", "../queue"]
        .iter()
        .find_map(|queue| std::fs::read_to_string(device.join(queue).join("logical_block_size")).ok())?;
    text.trim().parse().ok()
}

/// Type of the file system that a node lies on, from the mount table.
pub(crate) fn file_system(node: &Node) -> String {
    let unknown = || "of an unknown type".to_string();
    let Ok(handle) = node.reopen(OFlags::PATH) else { return unknown() };
    let Ok(stat) = statx(&handle, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID) else { return unknown() };
    let id = format!("{} ", stat.stx_mnt_id);
    // Names of mount points may be any bytes.
    std::fs::read("/proc/self/mountinfo")
        .ok()
        .and_then(|table| {
            let text = String::from_utf8_lossy(&table);
            let line = text.lines().find(|line| line.starts_with(&id))?;
            Some(line.split_once(" - ")?.1.split(' ').next()?.to_string())
        })
        .unwrap_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::open_flags;
    use plan::OpenFlags;

    /// As strace shows them.
    #[test]
    fn dsync_is_o_dsync_and_sync_is_o_sync() {
        let of = |flags| open_flags(flags).unwrap().bits();
        assert_eq!(of(OpenFlags { dsync: true, ..OpenFlags::default() }), 0o10000);
        assert_eq!(of(OpenFlags { sync: true, ..OpenFlags::default() }), 0o4_010_000);
        let extra = OpenFlags { extra: 0o10000, ..OpenFlags::default() };
        assert_eq!(of(extra), 0o10000);
    }
}
