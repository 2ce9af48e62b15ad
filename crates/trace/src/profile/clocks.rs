//! The clocks by which CPUs are looked at: one of the kernel's per CPU, which any machine has, virtual ones included.

use crate::TraceError;
use libbpf_sys::{PERF_COUNT_SW_CPU_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_TYPE_SOFTWARE, perf_event_attr};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Opens one per CPU that is on, `hz` times a second; not while it idles.
///
/// # Errors
/// The kernel refuses.
pub(super) fn open(hz: u32) -> Result<Vec<OwnedFd>, TraceError> {
    let cpus = libbpf_rs::num_possible_cpus().unwrap_or(1);
    let mut clocks = Vec::with_capacity(cpus);
    for cpu in 0..cpus {
        match open_one(i32::try_from(cpu).unwrap_or(i32::MAX), hz) {
            Ok(clock) => clocks.push(clock),
            // It is off, or does not exist.
            Err(why) if why.raw_os_error() == Some(libc::ENODEV) => {}
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) => {
                let words = format!("{hz} looks a second are more than kernel.perf_event_max_sample_rate allows");
                return Err(TraceError::Parameter(words));
            }
            Err(why) => return Err(TraceError::Forbidden { why: format!("perf_event_open: {why}") }),
        }
    }
    Ok(clocks)
}

fn open_one(cpu: i32, hz: u32) -> io::Result<OwnedFd> {
    let mut what = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: u32::try_from(size_of::<perf_event_attr>()).unwrap_or(0),
        config: u64::from(PERF_COUNT_SW_CPU_CLOCK),
        ..perf_event_attr::default()
    };
    what.__bindgen_anon_1.sample_freq = u64::from(hz);
    what.set_freq(1);
    what.set_exclude_idle(1);
    #[expect(unsafe_code, reason = "nobody has a safe call for it")]
    // SAFETY: the kernel reads `size` bytes behind the pointer during the call and gives a descriptor that is ours, or a
    // negative error; the other arguments are numbers: every process, that CPU, no group.
    let fd = unsafe {
        let (every, alone): (libc::pid_t, libc::c_int) = (-1, -1);
        let flags = libc::c_ulong::from(PERF_FLAG_FD_CLOEXEC);
        let fd = libc::syscall(libc::SYS_perf_event_open, &raw const what, every, cpu, alone, flags);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(i32::MAX))
    };
    Ok(fd)
}
