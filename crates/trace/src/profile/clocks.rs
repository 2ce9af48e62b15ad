//! The clocks that trigger samples of CPUs: one of the kernel per CPU, which all machines have, virtual ones included.

use crate::TraceError;
use libbpf_sys::{PERF_COUNT_SW_CPU_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_TYPE_SOFTWARE, perf_event_attr};
use quantity::numbers::parse_list;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Which CPUs have one.
#[derive(Debug)]
pub(super) struct Clocks {
    hz: u32,
    /// Samples no other CPU.
    only: Option<u32>,
    cpus: BTreeSet<u32>,
}

impl Clocks {
    /// Opens one per CPU that is on, or for `only` this one, `hz` times a second; not while it idles.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn open(hz: u32, only: Option<u32>) -> Result<(Self, Vec<OwnedFd>), TraceError> {
        let possible = u32::try_from(libbpf_rs::num_possible_cpus().unwrap_or(1)).unwrap_or(1);
        let mut clocks = Vec::new();
        let mut cpus = BTreeSet::new();
        for cpu in (0..possible).filter(|cpu| only.is_none_or(|only| only == *cpu)) {
            match open_one(cpu, hz) {
                Ok(clock) => {
                    clocks.push(clock);
                    cpus.insert(cpu);
                }
                // It is off, or does not exist.
                Err(why) if why.raw_os_error() == Some(libc::ENODEV) => {}
                Err(why) if why.raw_os_error() == Some(libc::EINVAL) => {
                    let words = format!("{hz} samples a second are more than kernel.perf_event_max_sample_rate allows");
                    return Err(TraceError::Parameter(words));
                }
                Err(why) => return Err(TraceError::Forbidden { why: format!("perf_event_open: {why}") }),
            }
        }
        Ok((Self { hz, only, cpus }, clocks))
    }

    /// Those of CPUs that were switched on since; one that is switched off loses its clock for good.
    pub(super) fn follow(&mut self) -> Vec<OwnedFd> {
        let online = std::fs::read_to_string(ONLINE).map(|text| listed(&text)).unwrap_or_default();
        let mut clocks = Vec::new();
        for cpu in self.news(&online) {
            // What is switched off again meanwhile has its turn next time.
            if let Ok(clock) = open_one(cpu, self.hz) {
                clocks.push(clock);
                self.cpus.insert(cpu);
            }
        }
        clocks
    }

    /// CPUs without a clock; none where it is not known which are on.
    fn news(&mut self, online: &BTreeSet<u32>) -> Vec<u32> {
        if online.is_empty() {
            return Vec::new();
        }
        self.cpus.retain(|cpu| online.contains(cpu));
        let news = online.difference(&self.cpus).copied();
        news.filter(|cpu| self.only.is_none_or(|only| only == *cpu)).collect()
    }
}

/// CPUs of a list; none where it cannot be read.
fn listed(text: &str) -> BTreeSet<u32> {
    parse_list(text).unwrap_or_default().into_iter().collect()
}

fn open_one(cpu: u32, hz: u32) -> io::Result<OwnedFd> {
    let cpu = i32::try_from(cpu).unwrap_or(i32::MAX);
    let mut what = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: u32::try_from(size_of::<perf_event_attr>()).unwrap_or(0),
        config: u64::from(PERF_COUNT_SW_CPU_CLOCK),
        ..perf_event_attr::default()
    };
    what.__bindgen_anon_1.sample_freq = u64::from(hz);
    what.set_freq(1);
    what.set_exclude_idle(1);
    #[expect(unsafe_code, reason = "no crate has a safe call for it")]
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

#[cfg(test)]
mod tests {
    use super::{Clocks, listed};

    #[test]
    fn cpus_that_come_get_a_clock_also_when_they_come_again() {
        assert_eq!(listed("0-2,5\n").into_iter().collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert!(listed("odd").is_empty());
        let mut clocks = Clocks { hz: 99, only: None, cpus: listed("0-1") };
        assert!(clocks.news(&listed("0-1")).is_empty());
        assert_eq!(clocks.news(&listed("0-3")), [2, 3]);
        assert!(clocks.news(&listed("0")).is_empty());
        assert_eq!(clocks.news(&listed("0-1")), [1], "it lost its clock");
        assert!(clocks.news(&listed("")).is_empty(), "not known");
        let mut one = Clocks { hz: 99, only: Some(2), cpus: listed("2") };
        assert!(one.news(&listed("0-3")).is_empty(), "the others were not asked for");
        assert!(one.news(&listed("0-1")).is_empty());
        assert_eq!(one.news(&listed("0-3")), [2], "it is on again");
    }
}
