//! Takes the end of a child: its status and what it used.

use crate::memory::InheritedMemory;
use crate::usage::{CommandIo, CommandUsage};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// A child that has ended and was taken from the kernel's list.
#[derive(Clone, Copy, Debug)]
pub struct ReapedChild {
    /// How it ended.
    pub status: ExitStatus,
    /// What it used.
    pub usage: CommandUsage,
}

/// Takes the end of a child that this process started, and that inherited this memory; `None`: it has not ended yet. A
/// `std::process::Child` of the same number must not be waited for afterwards.
///
/// # Errors
/// There is no such child (any more).
pub fn reap_ended(pid: u32, inherited: InheritedMemory) -> io::Result<Option<ReapedChild>> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)?;
    if !has_ended(raw)? {
        return Ok(None);
    }
    // A zombie still has its counters.
    let io = CommandIo::of(raw);
    let (status, usage) = wait_for(raw, inherited)?;
    Ok(Some(ReapedChild { status, usage: CommandUsage { io, ..usage } }))
}

/// Has this child ended? It stays a zombie, so that its number remains its own.
pub(crate) fn has_ended(pid: Pid) -> io::Result<bool> {
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), how) {
            Err(Errno::INTR) => {}
            other => return Ok(other?.is_some()),
        }
    }
}

/// A child of this process in the group of `leader` that has ended and was not reaped.
pub(crate) fn ended_in_group(leader: Pid) -> Option<Pid> {
    // SAFETY: all of `siginfo_t` is numbers and addresses, for which zero is a value.
    #[expect(unsafe_code, reason = "a plain structure")]
    let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is that of a variable of the type that waitid(2) writes, and the number of the process is read from
    // what it wrote, or is still zero.
    #[expect(unsafe_code, reason = "the safe wait does not give the number of the child")]
    let pid = unsafe {
        let id = leader.as_raw_nonzero().get().unsigned_abs();
        if libc::waitid(libc::P_PGID, id, &raw mut found, how) == 0 { found.si_pid() } else { 0 }
    };
    Pid::from_raw(pid)
}

/// wait4(2) of a child that has ended.
fn wait_for(pid: Pid, inherited: InheritedMemory) -> io::Result<(ExitStatus, CommandUsage)> {
    let mut status = 0;
    // SAFETY: all of `rusage` is numbers, for which zero is a value.
    #[expect(unsafe_code, reason = "a plain structure of numbers")]
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are those of variables of the types that wait4(2) writes.
        #[expect(unsafe_code, reason = "no safe wait gives the usage of a child")]
        let got = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, libc::WNOHANG, &raw mut used) };
        if got > 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if got == 0 || error.kind() != io::ErrorKind::Interrupted {
            return Err(if got == 0 { Errno::CHILD.into() } else { error });
        }
    }
    let time = |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000;
    let usage = CommandUsage {
        user_ns: time(used.ru_utime),
        sys_ns: time(used.ru_stime),
        max_rss_bytes: inherited.above(used.ru_maxrss.unsigned_abs() << 10),
        minor_faults: used.ru_minflt.unsigned_abs(),
        major_faults: used.ru_majflt.unsigned_abs(),
        voluntary_switches: used.ru_nvcsw.unsigned_abs(),
        involuntary_switches: used.ru_nivcsw.unsigned_abs(),
        io: None,
    };
    Ok((ExitStatus::from_raw(status), usage))
}
