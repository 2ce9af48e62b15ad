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
const SETXATTRAT: isize = 463;
const GETXATTRAT: isize = 464;
const LISTXATTRAT: isize = 465;
const REMOVEXATTRAT: isize = 466;

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
        let asked = unsafe { system_call(LISTXATTRAT, [libc::AT_FDCWD as isize, c".".as_ptr() as isize, 0, 0, 0, 0]) };
        [libc::ENOSYS, libc::EPERM].iter().any(|errno| asked == -(*errno as isize))
    })
}

/// Reads the attribute or the list of them into the buffer, sets it to all of the buffer, or removes it.
///
/// # Errors
/// Those of `getxattr(2)` and its like.
#[inline(always)]
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

#[inline(always)]
fn by_name(op: OperationKind, (at, name): (BorrowedFd<'_>, &CStr), buffer: &mut [u8]) -> Result<(), Errno> {
    let (at, name, flags) = (at.as_raw_fd() as isize, name.as_ptr() as isize, libc::AT_SYMLINK_NOFOLLOW as isize);
    let size = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
    let value = Value { value: buffer.as_mut_ptr() as u64, size, flags: 0 };
    let (value, bytes, own) = (&raw const value as isize, size_of::<Value>().cast_signed(), NAME.as_ptr() as isize);
    // SAFETY: texts end with a zero, and the buffer has the length that is said; the kernel keeps none of the pointers.
    let result = unsafe {
        match op {
            OperationKind::Setxattr => system_call(SETXATTRAT, [at, name, flags, own, value, bytes]),
            OperationKind::Getxattr => system_call(GETXATTRAT, [at, name, flags, own, value, bytes]),
            OperationKind::Listxattr => {
                system_call(LISTXATTRAT, [at, name, flags, buffer.as_mut_ptr() as isize, buffer.len().cast_signed(), 0])
            }
            _ => system_call(REMOVEXATTRAT, [at, name, flags, own, 0, 0]),
        }
    };
    match i32::try_from(result) {
        Ok(result) if result < 0 => Err(Errno::from_raw_os_error(-result)),
        _ => Ok(()),
    }
}

/// A system call in the place where it stands (`TreeThread::perform` says why); its result, negative errno among them.
///
/// # Safety
/// As the call itself.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn system_call(number: isize, [a, b, c, d, e, f]: [isize; 6]) -> isize {
    let result;
    // SAFETY: the caller's; registers as the kernel wants and leaves them.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// The same by the C library.
///
/// # Safety
/// As the call itself.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn system_call(number: isize, [a, b, c, d, e, f]: [isize; 6]) -> isize {
    // SAFETY: the caller's.
    let result = unsafe { libc::syscall(number as libc::c_long, a, b, c, d, e, f) };
    if result >= 0 { 0 } else { -(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize) }
}
