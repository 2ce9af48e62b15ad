//! What a loop device stands on, by identity instead of by path.

use rustix::fd::BorrowedFd;
use rustix::io;
use rustix::ioctl::{Getter, Opcode, ioctl};

const LOOP_GET_STATUS64: Opcode = 0x4c05;
/// `struct loop_info64` in 64-bit words; all of it is numbers and bytes.
type Info = [u64; 29];

/// What a loop device stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopBacking {
    /// Number of the file system of the backing file, as `st_dev` of stat(2) gives it.
    pub device: u64,
    /// Inode of the backing file.
    pub inode: u64,
    /// The device that it is (`st_rdev`), if it is a block device, otherwise 0.
    pub block_device: u64,
    /// Where in the backing file the loop device begins, in bytes.
    pub offset_bytes: u64,
    /// Size of the loop device in bytes; 0: up to the end of the file.
    pub limit_bytes: u64,
}

/// Asks a loop device, opened in any way, what it stands on.
///
/// # Errors
/// `ENXIO` when nothing is attached to it, `ENOTTY` and others when it is no loop device.
pub fn loop_status(device: BorrowedFd<'_>) -> io::Result<LoopBacking> {
    // SAFETY: this request writes a `struct loop_info64`, whose 232 bytes `Info` has, aligned as it needs.
    #[expect(unsafe_code, reason = "an ioctl that no library of ours has")]
    let info = unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, Info>::new()) }?;
    let [device, inode, block_device, offset_bytes, limit_bytes, ..] = info;
    Ok(LoopBacking { device, inode, block_device, offset_bytes, limit_bytes })
}
