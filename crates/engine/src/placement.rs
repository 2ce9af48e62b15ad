//! Where a worker's thread runs, and how important it is.
#![expect(unsafe_code, reason = "system calls that no library of ours has")]

use crate::EngineError;
use plan::Placement;
use rustix::thread::{CpuSet, sched_setaffinity};

/// `IOPRIO_WHO_PROCESS`: with 0, the calling thread.
const WHO_PROCESS: libc::c_int = 1;

/// Priority among real-time threads; interrupt threads have 50.
const REAL_TIME: libc::c_int = 40;

/// Places the calling thread.
///
/// # Errors
/// What the system refuses, in words.
pub(crate) fn apply(placement: &Placement) -> Result<(), EngineError> {
    let mut of_nodes = Vec::new();
    for node in &placement.nodes {
        let path = format!("/sys/devices/system/node/node{node}/cpulist");
        let list = std::fs::read_to_string(path)
            .map_err(EngineError::system("find the CPUs of a NUMA node (numa_cpu_nodes)"))?;
        of_nodes.extend(cpu_list(list.trim()));
    }
    let cpus = match (&placement.cpus, of_nodes) {
        (cpus, nodes) if nodes.is_empty() => cpus.clone(),
        (cpus, nodes) if cpus.is_empty() => nodes,
        (cpus, nodes) => cpus.iter().copied().filter(|cpu| nodes.contains(cpu)).collect(),
    };
    if !cpus.is_empty() {
        let mut set = CpuSet::new();
        for cpu in cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU) {
            set.set(*cpu as usize);
        }
        sched_setaffinity(None, &set).map_err(|error| EngineError::System {
            action: "bind a thread to its CPUs (cpus_allowed, --cpus)",
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

/// Gives the calling thread real-time priority, below that of the kernel's own threads; threads that it makes have
/// none. False when the system refuses (`CAP_SYS_NICE`, `RLIMIT_RTPRIO`).
pub(crate) fn real_time() -> bool {
    let parameters = libc::sched_param { sched_priority: REAL_TIME };
    // SAFETY: a system call that reads a structure which lives through it; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0 }
}

/// `0-3,8` as numbers.
fn cpu_list(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(low), Ok(high)) = (low.parse::<u32>(), high.parse::<u32>()) {
            cpus.extend(low..=high);
        }
    }
    cpus
}
