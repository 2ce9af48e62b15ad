//! Whether a journal lies on the device that it is about.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Stacks of devices that are higher are not followed.
const MOST_LEVELS: usize = 16;

/// A disk on which both the directory (or the one in which it is to be made) and the target lie, by its name in `/sys/block` or, of
/// a file system without one, its source; `None`: none that is known. What stands on several disks has all of them.
///
/// # Errors
/// One of them cannot be looked at.
pub fn common_device(directory: &Path, target: &Path) -> std::io::Result<Option<String>> {
    let mut place = directory;
    let journal = loop {
        match std::fs::metadata(place) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                place = match place.parent() {
                    Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
                    Some(parent) => parent,
                    None => return Err(error),
                };
            }
            found => break found?.dev(),
        }
    };
    let target = match std::fs::metadata(target) {
        // A new file.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            std::fs::metadata(parent)?.dev()
        }
        found => {
            let found = found?;
            if found.file_type().is_block_device() { found.rdev() } else { found.dev() }
        }
    };
    let (journal, target) = (grounds(journal), grounds(target));
    Ok(journal.intersection(&target).next().cloned())
}

/// The disks that a device or a file system stands on.
fn grounds(device: u64) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    follow(device, MOST_LEVELS, &mut found);
    found
}

fn follow(device: u64, levels: usize, found: &mut BTreeSet<String>) {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let directory = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let Some(below) = levels.checked_sub(1).filter(|_| directory.exists()) else {
        match source(major, minor).and_then(|source| std::fs::metadata(source).ok()) {
            // A file system with a number of its own, as btrfs has.
            Some(source) if levels > 0 && source.file_type().is_block_device() && source.rdev() != device => {
                follow(source.rdev(), levels - 1, found);
            }
            _ => _ = found.insert(file_system(major, minor).unwrap_or_else(|| format!("device {major}:{minor}"))),
        }
        return;
    };
    let Ok(directory) = directory.canonicalize() else { return };
    let number = |directory: &Path| -> Option<u64> {
        let text = std::fs::read_to_string(directory.join("dev")).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
    };
    let is_partition = directory.join("partition").exists();
    if is_partition && let Some(disk) = directory.parent().and_then(number) {
        return follow(disk, below, found);
    }
    if let Ok(file) = std::fs::read_to_string(directory.join("loop/backing_file"))
        && let Ok(file) = std::fs::metadata(file.trim_end_matches('\n'))
    {
        let stands_on = if file.file_type().is_block_device() { file.rdev() } else { file.dev() };
        return follow(stands_on, below, found);
    }
    let slaves = std::fs::read_dir(directory.join("slaves")).into_iter().flatten().flatten();
    let slaves: Vec<u64> = slaves.filter_map(|slave| number(&slave.path())).collect();
    if slaves.is_empty() {
        let name = directory.file_name().map(|name| name.to_string_lossy().into_owned());
        found.insert(name.unwrap_or_else(|| format!("{major}:{minor}")));
    }
    slaves.into_iter().for_each(|slave| follow(slave, below, found));
}

/// What the kernel says of a mounted file system, before and behind the sign that parts both.
fn mount(major: u32, minor: u32) -> Option<(String, String)> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let number = format!("{major}:{minor}");
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&number))?;
    line.split_once(" - ").map(|(before, behind)| (before.to_string(), behind.to_string()))
}

/// The source of a mounted file system.
fn source(major: u32, minor: u32) -> Option<String> {
    mount(major, minor)?.1.split(' ').nth(1).map(str::to_string)
}

/// A file system that stands on no disk, as a user knows it: `the tmpfs at /dev/shm`.
fn file_system(major: u32, minor: u32) -> Option<String> {
    let (before, behind) = mount(major, minor)?;
    Some(format!("the {} at {}", behind.split(' ').next()?, before.split(' ').nth(4)?))
}
