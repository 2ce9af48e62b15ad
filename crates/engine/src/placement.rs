//! Where a worker's thread runs, and how important it is.
#![expect(unsafe_code, reason = "system calls that no library of ours has")]

use crate::EngineError;
use plan::Placement;
use rustix::thread::{CpuSet, sched_setaffinity};

/// `IOPRIO_WHO_PROCESS`: with 0, the calling thread.
const WHO_PROCESS: libc::c_int = 1;

/// Places the calling thread.
///
/// # Errors
/// What the system refuses, in words.
pub(crate) fn apply(placement: &Placement) -> Result<(), EngineError> {
    if !placement.cpus.is_empty() {
        let mut set = CpuSet::new();
        for cpu in placement.cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU) {
            set.set(*cpu as usize);
        }
        sched_setaffinity(None, &set).map_err(|error| EngineError::System {
            action: "bind a worker to its CPUs (cpus_allowed)",
            source: error.into(),
        })?;
    }
    if placement.nice != 0 {
        // SAFETY: a system call on plain numbers; 0 is the calling thread.
        let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, placement.nice) };
        if result != 0 {
            return Err(EngineError::system("set the niceness of a worker (nice)")(std::io::Error::last_os_error()));
        }
    }
    if placement.io_priority != 0 {
        let priority = libc::c_int::from(placement.io_priority.cast_signed());
        // SAFETY: as above.
        let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, priority) };
        if result != 0 {
            return Err(EngineError::system("set the I/O priority of a worker (prio, prioclass)")(
                std::io::Error::last_os_error(),
            ));
        }
    }
    Ok(())
}
