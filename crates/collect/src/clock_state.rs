//! Whether the kernel takes the wall clock for right, and which boot this is.

use std::path::Path;
use std::sync::OnceLock;

/// The kernel does not know how far the clock is off.
const STA_UNSYNC: i32 = 0x40;

/// Identity of this boot; empty where the kernel does not tell.
#[must_use]
pub fn boot_id() -> String {
    static ID: OnceLock<String> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_string();
    ID.get_or_init(read).clone()
}

/// Is the wall clock synchronised with others, according to what chrony, ntpd, ptp4l or systemd-timesyncd reported to
/// the kernel? Where the kernel may not be asked (systemd's `ProtectClock=`), only systemd-timesyncd's own word counts.
/// False where it is not known.
#[must_use]
pub fn is_clock_synchronised() -> bool {
    kernel_says().unwrap_or_else(|| Path::new("/run/systemd/timesync/synchronized").exists())
}

/// What `adjtimex` says; `None` where it may not be called.
#[expect(unsafe_code, reason = "a system call that no library of ours has")]
fn kernel_says() -> Option<bool> {
    // SAFETY: `timex` is a plain C structure of integers, for which zeros are valid; with `modes` 0 nothing is set.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel reads and writes a `struct timex`, which this is.
    let clock = unsafe { libc::adjtimex(&raw mut state) };
    (clock >= 0).then_some(clock != libc::TIME_ERROR && state.status & STA_UNSYNC == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_of_its_clock_and_its_boot() {
        assert_eq!(boot_id().len(), 36, "{}", boot_id());
        assert_eq!(boot_id(), boot_id());
        // Asking changes nothing, and the answer is one of the two wherever it may be asked.
        let before = kernel_says();
        assert_eq!(kernel_says(), before);
        assert!(!is_clock_synchronised() || before != Some(false));
    }
}
