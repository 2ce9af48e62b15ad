//! The mount tables of this machine: of our own mount namespace, and of those of other processes.

use crate::ErrorKind;
use crate::sysfs::{Number, entries, in_use_path, unescape};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A line of mountinfo.
#[derive(Debug)]
pub(crate) struct Mount {
    /// Number of the file system.
    pub(crate) number: Number,
    /// Where, with the namespace if it is not ours.
    pub(crate) mount_point: String,
    pub(crate) file_system: String,
    /// The block devices that were named when it was mounted.
    pub(crate) sources: Vec<Number>,
    /// The regular file that was named (EROFS mounts images without a loop device): its file system and inode.
    pub(crate) image: Option<(u64, u64)>,
}

/// What is mounted in our own mount namespace.
///
/// # Errors
/// When the table cannot be read: nothing is proved then.
pub(crate) fn own(root: &Path) -> Result<Vec<Mount>, ErrorKind> {
    let table = root.join("proc/self/mountinfo");
    let text = std::fs::read(&table).map_err(|error| ErrorKind::from_io("read", &table, error))?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(|line| parse(line, Path::new("/"))).collect())
}

/// What is mounted in the other mount namespaces that have a process of which this user may see them; a namespace that
/// is only kept open or bound to a file is not seen.
pub(crate) fn elsewhere(root: &Path) -> Vec<Mount> {
    let tables = namespaces(root).into_iter().filter_map(|process| {
        let text = std::fs::read(process.join("mountinfo")).ok()?;
        let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
        let pid = process.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let suffix = format!(" in the mount namespace of {} ({pid})", name.trim());
        let view = process.join("root");
        let mounts: Vec<Mount> = String::from_utf8_lossy(&text)
            .lines()
            .filter_map(|line| parse(line, &view))
            .map(|mount| Mount { mount_point: mount.mount_point + &suffix, ..mount })
            .collect();
        Some(mounts)
    });
    tables.flatten().collect()
}

/// `/proc/PID` of one process of each mount namespace other than ours.
fn namespaces(root: &Path) -> Vec<PathBuf> {
    let proc = root.join("proc");
    let mut seen: BTreeSet<PathBuf> = std::fs::read_link(proc.join("self/ns/mnt")).into_iter().collect();
    let is_process = |path: &PathBuf| {
        path.file_name().unwrap_or_default().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut found = entries(&proc);
    found.retain(is_process);
    found.retain(|process| std::fs::read_link(process.join("ns/mnt")).is_ok_and(|name| seen.insert(name)));
    found
}

/// The roots from which paths may be meant: ours first, then, only when asked for, one of each other mount namespace.
pub(crate) fn views(root: &Path) -> impl Iterator<Item = PathBuf> {
    let others = root.to_owned();
    let others = std::iter::once_with(move || namespaces(&others)).flatten().map(|process| process.join("root"));
    std::iter::once(root.to_owned()).chain(others)
}

/// A path as it is seen from `view`, the root of a namespace.
pub(crate) fn seen_from(view: &Path, path: &Path) -> PathBuf {
    view.join(path.strip_prefix("/").unwrap_or(path))
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` (proc(5)).
fn parse(line: &str, view: &Path) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ');
    let (major, minor) = left.nth(2)?.split_once(':')?;
    let mount_point = unescape(left.nth(1)?).display().to_string();
    let mut right = right.split(' ');
    let file_system = right.next()?.to_string();
    let source = unescape(right.next().unwrap_or_default());
    let is_path = source.is_absolute();
    // bcachefs names all its devices, separated by colons.
    let names: Vec<PathBuf> = source.to_string_lossy().split(':').map(PathBuf::from).collect();
    let sources = names.iter().filter(|_| is_path).filter_map(|name| in_use_path(&seen_from(view, name)).device);
    // A bind mount of a file shows its file system's source, so a file here is an image.
    let image = is_path.then(|| in_use_path(&seen_from(view, &source)).file).flatten();
    let (sources, number) = (sources.collect(), (major.parse().ok()?, minor.parse().ok()?));
    Some(Mount { number, mount_point, file_system, sources, image })
}
