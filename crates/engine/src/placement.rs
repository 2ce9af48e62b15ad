//! Where a worker's thread runs, and how important it is.
#![expect(unsafe_code, reason = "system calls that no library of ours has")]

use crate::EngineError;
use plan::{JobPlacement, Plan};
use quantity::numbers::parse_list;
use rustix::thread::{CpuSet, sched_setaffinity};

/// `IOPRIO_WHO_PROCESS`: with 0, the calling thread.
const WHO_PROCESS: libc::c_int = 1;

/// Priority among real-time threads; interrupt threads have 50.
const REAL_TIME: libc::c_int = 40;

/// Is any of the CPUs and nodes there that the plan binds its threads to? Asked before anything is written.
///
/// # Errors
/// None of them is.
pub fn check_placement(plan: &Plan) -> Result<(), EngineError> {
    let online = |what: &'static str| {
        let text = std::fs::read_to_string(format!("/sys/devices/system/{what}/online")).unwrap_or_default();
        parse_list(&text).unwrap_or_default()
    };
    let check = |what: &'static str, asked: &[u32]| {
        let there = online(what);
        // A list that reaches further than this machine is fine; where the system does not tell, the threads will.
        if asked.is_empty() || there.is_empty() || asked.iter().any(|number| there.contains(number)) {
            return Ok(());
        }
        Err(EngineError::NotThere { what, asked: asked.to_vec(), there })
    };
    for workload in plan.runs.iter().flat_map(|run| &run.workloads) {
        if let Some(job) = &workload.job {
            check("cpu", &job.placement.cpus)?;
            check("node", &job.placement.nodes)?;
        }
        if let Some(replay) = &workload.replay {
            check("cpu", &replay.cpus)?;
        }
    }
    Ok(())
}

/// Gives the calling thread a working directory of its own, the same as before; says whether it has one. Containers may refuse it.
pub(crate) fn own_directory() -> bool {
    // SAFETY: the table of open files stays that of all threads.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FS) }.is_ok()
}

/// Places the calling thread.
///
/// # Errors
/// What the system refuses, in words.
pub(crate) fn apply(placement: &JobPlacement) -> Result<(), EngineError> {
    let mut of_nodes = Vec::new();
    for node in &placement.nodes {
        let path = format!("/sys/devices/system/node/node{node}/cpulist");
        let list = std::fs::read_to_string(path)
            .map_err(EngineError::system("find the CPUs of a NUMA node (numa_cpu_nodes)"))?;
        of_nodes.extend(parse_list(&list).unwrap_or_default());
    }
    let node_cpus = of_nodes.clone();
    let cpus = match (&placement.cpus, of_nodes) {
        (cpus, nodes) if nodes.is_empty() => cpus.clone(),
        (cpus, nodes) if cpus.is_empty() => nodes,
        (cpus, nodes) => cpus.iter().copied().filter(|cpu| nodes.contains(cpu)).collect(),
    };
    if cpus.is_empty() && !placement.cpus.is_empty() {
        return Err(EngineError::NotThere { what: "cpu", asked: placement.cpus.clone(), there: node_cpus });
    }
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

/// Gives the calling thread ordinary priority again, the highest of them that it may have. False when the system refuses.
pub(crate) fn ordinary() -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: system calls as above.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    // SAFETY: as above.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0 }
}
