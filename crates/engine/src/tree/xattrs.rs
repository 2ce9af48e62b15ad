//! Extended attributes of a file in a directory that is open, or of one that is open itself.
//!
//! By name they are reached since Linux 6.13 only (`getxattrat(2)` and its like); where that is missing, the file must be open.
#![expect(unsafe_code, reason = "the system calls that take a directory have no safe form yet")]

use plan::generate::OperationKind;
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::sync::OnceLock;

/// The attribute that flows use.
const NAME: &CStr = c"user.iodyno";
/// Their numbers, the same on all architectures that Rust's Linux targets with 64 bits have.
const SETXATTRAT: libc::c_long = 463;
const GETXATTRAT: libc::c_long = 464;
const LISTXATTRAT: libc::c_long = 465;
const REMOVEXATTRAT: libc::c_long = 466;

/// Whose attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attributed<'a> {
    Open(BorrowedFd<'a>),
    /// A name in a directory; a link is not followed.
    Named(BorrowedFd<'a>, &'a CStr),
}

/// `struct xattr_args` of the kernel.
#[repr(C, align(8))]
struct Value {
    value: u64,
    size: u32,
    flags: u32,
}

/// Must a file be open?
pub(crate) fn are_names_missing() -> bool {
    static ARE_MISSING: OnceLock<bool> = OnceLock::new();
    *ARE_MISSING.get_or_init(|| {
        // SAFETY: pointers to a text and to a buffer of no length; nothing is written.
        let asked = unsafe {
            libc::syscall(LISTXATTRAT, libc::AT_FDCWD, c".".as_ptr(), 0, std::ptr::null_mut::<u8>(), 0_usize)
        };
        asked < 0 && matches!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
    })
}

/// Reads the attribute or the list of them into the buffer, sets it to all of the buffer, or removes it.
///
/// # Errors
/// Those of `getxattr(2)` and its like.
pub(crate) fn call(op: OperationKind, whose: Attributed<'_>, buffer: &mut [u8]) -> Result<(), Errno> {
    match whose {
        Attributed::Open(fd) => match op {
            OperationKind::Setxattr => rustix::fs::fsetxattr(fd, NAME, buffer, XattrFlags::empty()),
            OperationKind::Getxattr => rustix::fs::fgetxattr(fd, NAME, buffer).map(drop),
            OperationKind::Listxattr => rustix::fs::flistxattr(fd, buffer).map(drop),
            _ => rustix::fs::fremovexattr(fd, NAME),
        },
        Attributed::Named(at, name) => by_name(op, (at, name), buffer),
    }
}

fn by_name(op: OperationKind, (at, name): (BorrowedFd<'_>, &CStr), buffer: &mut [u8]) -> Result<(), Errno> {
    let (at, name, flags) = (at.as_raw_fd(), name.as_ptr(), libc::AT_SYMLINK_NOFOLLOW);
    let size = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
    let value = Value { value: buffer.as_mut_ptr() as u64, size, flags: 0 };
    let bytes = size_of::<Value>();
    // SAFETY: texts end with a zero, and the buffer has the length that is said; the kernel keeps none of the pointers.
    let result = unsafe {
        match op {
            OperationKind::Setxattr => {
                libc::syscall(SETXATTRAT, at, name, flags, NAME.as_ptr(), &raw const value, bytes)
            }
            OperationKind::Getxattr => {
                libc::syscall(GETXATTRAT, at, name, flags, NAME.as_ptr(), &raw const value, bytes)
            }
            OperationKind::Listxattr => libc::syscall(LISTXATTRAT, at, name, flags, buffer.as_mut_ptr(), buffer.len()),
            _ => libc::syscall(REMOVEXATTRAT, at, name, flags, NAME.as_ptr()),
        }
    };
    if result >= 0 {
        return Ok(());
    }
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    Err(Errno::from_raw_os_error(errno))
}
