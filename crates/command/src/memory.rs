//! Whose memory counts as a program's before it has its own.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::write;
use rustix::mm::{Advice, madvise};
use std::fs::read_to_string;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The kernel keeps counts of memory apart by CPU, and is off by so much.
const UNCERTAIN_BYTES: u64 = 1 << 20;

/// Memory that the kernel counts as a program's and that was this process's: of a process that executes a program it keeps the
/// greatest size that it had before (`exec_mmap` in fs/exec.c). Up to so much, a program's memory is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InheritedMemory(u64);

impl InheritedMemory {
    /// Of a program that is started by `posix_spawn` now: all of this process's, which it shares until it executes.
    pub(crate) fn shared() -> Self {
        Self::of("VmHWM")
    }

    /// A line of the status; where it is not known, nothing is.
    fn of(field: &str) -> Self {
        let status = read_to_string("/proc/self/status").unwrap_or_default();
        Self(bytes_of(&status, field).map_or(u64::MAX, |bytes| bytes.saturating_add(UNCERTAIN_BYTES)))
    }

    /// What was measured, where it is more than what was inherited.
    pub(crate) fn above(self, max_rss_bytes: u64) -> Option<u64> {
        (max_rss_bytes > self.0).then_some(max_rss_bytes)
    }
}

/// A line of a file of `/proc`, bytes.
fn bytes_of(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Has the program started by `fork` when it is spawned now: it inherits a copy of this process's own memory in place of all
/// that it maps. That costs some 0.1 ms, which are in its time; `posix_spawn` does not.
pub fn fork_for(command: &mut Command) -> InheritedMemory {
    // SAFETY: the closure does nothing, so nothing happens between fork and exec that a process with threads may not do.
    #[expect(unsafe_code, reason = "whoever asks for something between fork and exec gets a fork")]
    unsafe {
        command.pre_exec(|| Ok(()));
    }
    InheritedMemory::of("RssAnon")
}

/// Makes this process small: pages of files that it only reads are read again when they are needed. What its programs inherit
/// is then little more than its own memory.
pub(crate) fn give_back() {
    let maps = read_to_string("/proc/self/smaps").unwrap_or_default();
    for (address, length) in unchanged_mappings(&maps) {
        // SAFETY: the mapping is of a file, cannot be written to and has no page of its own, so that each of its pages is
        // read from the file again, as it was, when it is next used; no reference sees a change.
        #[expect(unsafe_code, reason = "the kernel's advice takes an address")]
        let _ = unsafe { madvise(std::ptr::with_exposed_provenance_mut(address), length, Advice::LinuxDontNeed) };
    }
    // The greatest size so far is forgotten (proc(5), clear_refs). Where that fails, memory is known from that size on.
    if let Ok(file) = open("/proc/self/clear_refs", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = write(&file, b"5");
    }
}

/// Address and length of the mappings of files that are read only and of which no page was changed (relocated data was).
fn unchanged_mappings(maps: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut mapping = None;
    for line in maps.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            [range, permissions, _, _, inode, ..] if range.contains('-') => {
                let is_file = *inode != "0" && permissions.starts_with("r-") && permissions.ends_with('p');
                mapping = range.split_once('-').filter(|_| is_file).and_then(|(from, to)| {
                    let from = usize::from_str_radix(from, 16).ok()?;
                    Some((from, usize::from_str_radix(to, 16).ok()?.checked_sub(from)?))
                });
            }
            ["Anonymous:", "0", "kB"] => found.extend(mapping.take()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_status_are_bytes() {
        let status = "VmHWM:\t    8 kB\nRssAnon:\t  12 kB\n";
        assert_eq!((bytes_of(status, "VmHWM"), bytes_of(status, "RssAnon")), (Some(8 << 10), Some(12 << 10)));
        assert_eq!(bytes_of(status, "Rss"), None);
    }

    #[test]
    fn only_unchanged_files_are_given_back() {
        let of = |range: &str, permissions: &str, inode: u32, anonymous: u32| {
            format!("{range} {permissions} 00000000 fe:00 {inode}   /bin/x y\nSize: 8 kB\nAnonymous: {anonymous} kB\n")
        };
        let maps = [
            of("1000-3000", "r-xp", 7, 0),
            of("3000-4000", "r--p", 7, 0),
            of("4000-5000", "r--p", 7, 4),
            of("5000-6000", "rw-p", 7, 0),
            of("6000-7000", "r--s", 7, 0),
            of("7000-8000", "r-xp", 0, 0),
        ];
        assert_eq!(unchanged_mappings(&maps.concat()), [(0x1000, 0x2000), (0x3000, 0x1000)]);
    }

    #[test]
    fn what_is_given_back_comes_again() {
        let text = |number: u32| format!("{number:?} {:?} {}", f64::from(number).sqrt(), number.leading_zeros());
        let before: Vec<String> = (0..100).map(text).collect();
        give_back();
        assert_eq!((0..100).map(text).collect::<Vec<_>>(), before);
    }
}
