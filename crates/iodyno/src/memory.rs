//! How much memory a command may take: `--memory`, or a share of what is free.

use crate::allocator;
use crate::args::Command;
use crate::exit::{Failure, PARAMETERS};
use quantity::text::{format_bytes, parse_bytes};
use std::path::Path;

/// Every command that reads gets so much, also where little is free.
const DEFAULT_MIN_BYTES: u64 = 1 << 30;
/// With less, no command gets anywhere.
const ASKED_MIN_BYTES: u64 = 32 << 20;

/// Limits the memory of `command`: by what was asked for; by default, of those that read, to half of what is free. Those that
/// put a load on the machine or record it have no default: they end by themselves only where the system refuses memory.
pub(crate) fn limit(asked: Option<&str>, command: &Command) -> Result<(), Failure> {
    allocator::panics_without_memory_end_it();
    match (asked, command) {
        // Theirs is an option of their own: what their I/Os in memory may take.
        (_, Command::Record(_) | Command::Trace(_)) => {}
        (Some(text), _) => allocator::limit(parse(text)?),
        (None, Command::Run(_) | Command::Ab(_) | Command::Replay(_) | Command::Probe(_)) => {}
        (None, _) => allocator::limit(half_of_free(Path::new("/"))),
    }
    Ok(())
}

fn parse(text: &str) -> Result<u64, Failure> {
    let wrong = |why: &str| Failure::new(PARAMETERS, format!("--memory {text}: {why}"));
    let bytes = parse_bytes(text).map_err(|error| wrong(&error.to_string()))?;
    if bytes < ASKED_MIN_BYTES {
        return Err(wrong(&format!("{} is the least that a command needs", format_bytes(ASKED_MIN_BYTES))));
    }
    Ok(bytes)
}

/// Half of the memory that is free on this machine and in this control group, at least 1 GiB.
fn half_of_free(root: &Path) -> u64 {
    let free = [available(root), group_limit(root)].into_iter().flatten().min();
    // Without /proc there is nothing to go by.
    free.map_or(u64::MAX, |bytes| (bytes / 2).max(DEFAULT_MIN_BYTES))
}

/// `MemAvailable`, bytes.
fn available(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The least `memory.max` of the process's control group and those above it, bytes.
fn group_limit(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let group = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let top = root.join("sys/fs/cgroup");
    let limits = top.join(group);
    let limits = limits
        .ancestors()
        .take_while(|folder| folder.starts_with(&top))
        .filter_map(|folder| std::fs::read_to_string(folder.join("memory.max")).ok()?.trim().parse().ok());
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        assert_eq!(parse("2g").ok(), Some(2 << 30));
        for (wrong, why) in [("0", "32 MiB"), ("31m", "32 MiB"), ("much", "--memory much")] {
            let message = parse(wrong).expect_err(wrong).message;
            assert!(message.contains(why), "{message}");
        }
    }

    #[test]
    fn half_of_what_is_free_here_and_in_the_group_but_enough() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(half_of_free(root.path()), u64::MAX);
        write("proc/meminfo", "MemTotal: 99999999 kB\nMemAvailable:   16777216 kB\n");
        assert_eq!(half_of_free(root.path()), 8 << 30);
        write("proc/self/cgroup", "1:name=x:/y\n0::/a/b\n");
        write("sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(half_of_free(root.path()), 8 << 30);
        write("sys/fs/cgroup/a/memory.max", "4294967296\n");
        assert_eq!(half_of_free(root.path()), 2 << 30);
        write("sys/fs/cgroup/a/b/memory.max", "1048576\n");
        assert_eq!(half_of_free(root.path()), 1 << 30);
    }
}
