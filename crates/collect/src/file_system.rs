//! Mounted file systems: what they hold and what is free, from `/proc/self/mountinfo` and statvfs(3).
//!
//! A server that does not answer blocks the thread that asks it for ever. Each such file system has a thread of its
//! own; the caller waits for it for a short time. While that thread hangs, the figures are missing, and one message
//! says so.

use crate::devices::{DeviceResolver, MountPoint};
use crate::nfs;
use crate::sampler::nfs_row;
use crate::subject::{Stamp, Subject, Verdict};
use crate::text::small;
use quantity::clock::now_ns;
use recording::EventSeverity;
use recording::rows::{FileSystem, NfsMount};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Beside other subjects they are looked at so often: sizes change slowly.
const EVERY_NS: u64 = 10_000_000_000;
/// So many are looked at, those with the shortest paths.
const MOST: usize = 512;
/// Servers are waited for so long.
const PATIENCE_NS: u64 = 200_000_000;
/// Kinds whose figures come from a server, which may not answer.
const REMOTE: [&str; 19] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "coda",
    "glusterfs",
    "lustre",
    "gpfs",
    "ocfs2",
    "gfs2",
    "orangefs",
    "pvfs2",
    "beegfs",
    "vboxsf",
    "virtiofs",
];
/// Kinds that answer out of their own memory; others may have to read, or ask one below.
const PROMPT: [&str; 7] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "f2fs"];
/// Kinds that hold nothing.
const EMPTY: [&str; 22] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "resctrl",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];
/// So many threads ask at most.
const LANES_MOST: usize = 64;

/// What statvfs says, bytes and inodes.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    total: i64,
    free: i64,
    available: i64,
    inodes: i64,
    inodes_free: i64,
}

/// A thread that asks those who may not answer, in their order.
#[derive(Debug)]
struct Lane {
    questions: Sender<PathBuf>,
    answers: Receiver<(PathBuf, Option<Sizes>)>,
    /// Not answered yet.
    open: BTreeSet<PathBuf>,
}

impl Lane {
    fn start() -> Option<Self> {
        let (questions, asked) = channel::<PathBuf>();
        let (answer, answers) = channel();
        let work = move || {
            while let Ok(path) = asked.recv() {
                let found = sizes(&path);
                if answer.send((path, found)).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("file systems".to_string()).spawn(work).ok()?;
        Some(Self { questions, answers, open: BTreeSet::new() })
    }

    /// Asks for those that are not being asked for already.
    fn ask(&mut self, paths: &[PathBuf]) {
        for path in paths {
            if self.open.insert(path.clone()) {
                let _ = self.questions.send(path.clone());
            }
        }
    }

    /// What has been answered by then.
    fn take(&mut self, until_ns: u64, answers: &mut BTreeMap<PathBuf, Option<Sizes>>) {
        while !self.open.is_empty() {
            let left = Duration::from_nanos(until_ns.saturating_sub(now_ns()));
            let Ok((path, sizes)) = self.answers.recv_timeout(left) else {
                break;
            };
            self.open.remove(&path);
            answers.insert(path, sizes);
        }
    }
}

/// Threads by the mount that each asks for; one for all that are on this machine. They outlive the reader of mounts: a
/// thread that waits for a dead server cannot be ended, and the next reader must not start another one.
static LANES: Mutex<BTreeMap<PathBuf, Lane>> = Mutex::new(BTreeMap::new());

/// Reads mounts.
#[derive(Debug)]
pub(crate) struct FileSystems {
    root: PathBuf,
    every_ns: u64,
    due_ns: u64,
    /// Those who did not answer.
    silent: BTreeSet<PathBuf>,
    said_most: bool,
}

impl FileSystems {
    /// Under `root`; `at_once`: at every sample.
    pub(crate) fn new(root: &Path, at_once: bool) -> Self {
        Self {
            root: root.to_path_buf(),
            every_ns: if at_once { 0 } else { EVERY_NS },
            due_ns: 0,
            silent: BTreeSet::new(),
            said_most: false,
        }
    }

    /// Every file system once, when a look is due.
    pub(crate) fn sample(&mut self, t_ns: u64, stamp: Stamp, verdicts: &mut Vec<Verdict>) -> Vec<FileSystem> {
        if t_ns < self.due_ns {
            return Vec::new();
        }
        self.due_ns = t_ns.saturating_add(self.every_ns);
        let map = DeviceResolver::new(&self.root);
        let (mounts, left_out) = once_each(map.mounts());
        if left_out > 0 && !std::mem::replace(&mut self.said_most, true) {
            let message = format!("{left_out} mounted file systems are not looked at: no more than {MOST} are");
            verdicts.push(Verdict { severity: EventSeverity::Warning, class: None, target: None, message });
        }
        let root = self.root.clone();
        let place = |mount: &MountPoint| root.join(mount.mount_point.trim_start_matches('/'));
        let above = |is: fn(&MountPoint) -> bool| -> Vec<&str> {
            map.mounts().iter().filter(|mount| is(mount)).map(|mount| &*mount.mount_point).collect()
        };
        // Who lies below such a one is reached through it.
        let (remote, automatic) = (above(is_remote), above(|mount| mount.file_system == "autofs"));
        let lies_below =
            |mount: &MountPoint, of: &[&str]| of.iter().any(|above| Path::new(&mount.mount_point).starts_with(above));
        let mut answers = BTreeMap::new();
        let mut asked: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for mount in &mounts {
            let path = place(mount);
            if lies_below(mount, &automatic) && self.every_ns > 0 {
                // Reading it now and then would keep it mounted for ever.
            } else if lies_below(mount, &remote) {
                asked.entry(path.clone()).or_default().push(path);
            } else if PROMPT.contains(&&*mount.file_system) && !lies_below(mount, &automatic) {
                answers.insert(path.clone(), sizes(&path));
            } else {
                asked.entry(PathBuf::new()).or_default().push(path);
            }
        }
        let silent = ask(&asked, &mut answers);
        self.say(&silent, verdicts);
        let mut rows: Vec<FileSystem> = mounts
            .iter()
            .filter_map(|mount| self.row(&map, mount, answers.get(&place(mount)).copied().flatten(), stamp))
            .collect();
        rows.sort_by(|a, b| a.mount.cmp(&b.mount));
        rows
    }

    /// Says who has not answered since the last look.
    fn say(&mut self, silent: &BTreeSet<PathBuf>, verdicts: &mut Vec<Verdict>) {
        let new: Vec<String> = silent.difference(&self.silent).map(|path| path.display().to_string()).collect();
        if !new.is_empty() {
            let message = format!("no sizes of file systems that do not answer: {}", new.join(", "));
            verdicts.push(Verdict { severity: EventSeverity::Warning, class: None, target: None, message });
        }
        self.silent.clone_from(silent);
    }

    /// `None` for those that hold nothing, as `/proc`.
    fn row(&self, map: &DeviceResolver, mount: &MountPoint, sizes: Option<Sizes>, stamp: Stamp) -> Option<FileSystem> {
        if sizes.is_some_and(|sizes| sizes.total == 0) {
            return None;
        }
        let (volume, member) = if mount.file_system == "btrfs" { Self::btrfs(map, mount) } else { (None, None) };
        let own = || (mount.number.0 != 0).then(|| map.name(mount.number)).flatten();
        Some(FileSystem {
            t_ns: stamp.t_ns,
            t_s: stamp.t_s,
            mount: mount.mount_point.clone(),
            source: mount.source.clone(),
            kind: mount.file_system.clone(),
            device: member.or_else(own),
            volume,
            total_bytes: sizes.map(|sizes| sizes.total),
            free_bytes: sizes.map(|sizes| sizes.free),
            available_bytes: sizes.map(|sizes| sizes.available),
            // File systems that make inodes as they need them say 0.
            inodes: sizes.map(|sizes| sizes.inodes).filter(|inodes| *inodes > 0),
            inodes_free: sizes.filter(|sizes| sizes.inodes > 0).map(|sizes| sizes.inodes_free),
        })
    }

    /// Name in the table `btrfs_device`, and the device where there is only one.
    fn btrfs(map: &DeviceResolver, mount: &MountPoint) -> (Option<String>, Option<String>) {
        let Some((folder, members)) = map.btrfs_members(mount) else { return (None, None) };
        let uuid = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let device = if let [one] = members[..] { map.name(one) } else { None };
        (small(&folder.join("label")).or(uuid), device)
    }
}

/// Counters of NFS mounts, each time.
#[derive(Debug)]
pub(crate) struct NfsMounts {
    file: Subject,
}

impl NfsMounts {
    /// Under `root`; a kernel without the file has none.
    pub(crate) fn new(root: &Path) -> Option<Self> {
        let path = root.join("proc/self/mountstats");
        path.exists().then(|| Self { file: Subject::new(path, true) })
    }

    pub(crate) fn sample(&mut self, stamp: Stamp, buffer: &mut Vec<u8>, verdicts: &mut Vec<Verdict>) -> Vec<NfsMount> {
        let Some(text) = self.file.read(buffer, verdicts) else { return Vec::new() };
        nfs::parse(text, |_| true).iter().map(|counters| nfs_row(counters, "", stamp)).collect()
    }
}

/// Another machine or process has to answer for it.
fn is_remote(mount: &MountPoint) -> bool {
    REMOTE.contains(&&*mount.file_system) || mount.file_system.starts_with("fuse")
}

/// Asks all lanes at once, and waits for them a little; who has not answered since he was asked the last time.
fn ask(asked: &BTreeMap<PathBuf, Vec<PathBuf>>, answers: &mut BTreeMap<PathBuf, Option<Sizes>>) -> BTreeSet<PathBuf> {
    let mut silent = BTreeSet::new();
    if asked.is_empty() {
        return silent;
    }
    let mut lanes = LANES.lock().unwrap_or_else(PoisonError::into_inner);
    // Those of mounts that are gone; who hangs is kept, for the mount may come back.
    lanes.retain(|key, lane| asked.contains_key(key) || !lane.open.is_empty());
    for (key, paths) in asked {
        if !lanes.contains_key(key) && lanes.len() < LANES_MOST {
            lanes.extend(Lane::start().map(|lane| (key.clone(), lane)));
        }
        if let Some(lane) = lanes.get_mut(key) {
            // What came late is as good: sizes change slowly.
            lane.take(0, answers);
            silent.extend(lane.open.iter().filter(|path| paths.contains(path)).cloned());
            let fresh: Vec<PathBuf> = paths.iter().filter(|path| !answers.contains_key(*path)).cloned().collect();
            lane.ask(&fresh);
        }
    }
    let until_ns = now_ns() + PATIENCE_NS;
    for lane in asked.keys() {
        if let Some(lane) = lanes.get_mut(lane) {
            lane.take(until_ns, answers);
        }
    }
    silent.retain(|path| !answers.contains_key(path));
    silent
}

/// Each file system once, by the shortest of its mount points, and how many were left out; what another mount covers is not
/// there.
fn once_each(mounts: &[MountPoint]) -> (Vec<MountPoint>, usize) {
    let parents: BTreeMap<u32, u32> = mounts.iter().map(|mount| mount.ids).collect();
    let is_on = |mount: &MountPoint, other: &MountPoint| {
        let mut at = mount.ids.1;
        // No deeper than there are mounts.
        for _ in 0..mounts.len() {
            if at == other.ids.0 {
                return true;
            }
            match parents.get(&at) {
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    let mut places: BTreeMap<&Path, Vec<&MountPoint>> = BTreeMap::new();
    for mount in mounts {
        places.entry(Path::new(&mount.mount_point)).or_default().push(mount);
    }
    let is_covered = |mount: &MountPoint| {
        let path = Path::new(&mount.mount_point);
        let over = path.ancestors().filter_map(|above| places.get(above)).flatten();
        over.filter(|other| other.ids.0 != mount.ids.0).any(|other| {
            // At the same place one is mounted on the other; above it, what this one is not mounted on came later.
            if other.mount_point == mount.mount_point { is_on(other, mount) } else { !is_on(mount, other) }
        })
    };
    let mut found: Vec<&MountPoint> =
        mounts.iter().filter(|mount| !EMPTY.contains(&&*mount.file_system) && !is_covered(mount)).collect();
    found.sort_by_key(|mount| mount.mount_point.len());
    let mut seen = BTreeSet::new();
    found.retain(|mount| seen.insert(mount.number));
    let left_out = found.len().saturating_sub(MOST);
    (found.into_iter().take(MOST).cloned().collect(), left_out)
}

fn sizes(path: &Path) -> Option<Sizes> {
    let stat = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| i64::try_from(blocks.saturating_mul(stat.f_frsize)).ok();
    Some(Sizes {
        total: bytes(stat.f_blocks)?,
        free: bytes(stat.f_bfree)?,
        available: bytes(stat.f_bavail)?,
        inodes: i64::try_from(stat.f_files).ok()?,
        inodes_free: i64::try_from(stat.f_ffree).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(t_s: u64) -> (u64, Stamp) {
        (t_s * 1_000_000_000, Stamp::at(0, 0))
    }

    #[test]
    fn mounts_of_a_root() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::create_dir_all(root.path().join("data/inner")).unwrap();
        let device = root.path().join("sys/devices/vdz1");
        std::fs::create_dir_all(&device).unwrap();
        std::fs::write(device.join("dev"), "254:1\n").unwrap();
        for (folder, name) in [("sys/dev/block", "254:1"), ("sys/fs/btrfs/0b1c/devices", "vdz1")] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
            std::os::unix::fs::symlink(&device, root.path().join(folder).join(name)).unwrap();
        }
        let table = "20 1 7:1 / / rw - ext4 /dev/vdx1 rw\n21 20 0:30 / /data rw - btrfs /dev/vdz1 rw\n\
             22 20 0:30 /sub /data/inner rw - btrfs /dev/vdz1 rw\n23 20 0:5 / /auto rw - autofs none rw\n\
             24 20 0:40 / /gone rw - nfs4 server:/export rw\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), table).unwrap();
        let mut systems = FileSystems::new(root.path(), false);
        let mut verdicts = Vec::new();
        let (t_ns, stamp) = at(1);
        let rows = systems.sample(t_ns, stamp, &mut verdicts);
        let names: Vec<(&str, &str)> = rows.iter().map(|row| (row.mount.as_str(), row.kind.as_str())).collect();
        assert_eq!(
            names,
            [("/", "ext4"), ("/data", "btrfs"), ("/gone", "nfs4")],
            "each once, none that is not mounted yet"
        );
        let data = &rows[1];
        assert_eq!((data.volume.as_deref(), data.device.as_deref()), (Some("0b1c"), Some("vdz1")));
        assert!(data.total_bytes > Some(0) && data.available_bytes <= data.free_bytes, "{data:?}");
        // The server is there, and its folder is not: no figures are no zeroes.
        assert_eq!((rows[2].total_bytes, rows[2].inodes), (None, None));
        let (t_ns, stamp) = at(5);
        assert!(systems.sample(t_ns, stamp, &mut verdicts).is_empty(), "sizes change slowly");
        let (t_ns, stamp) = at(11);
        assert_eq!(systems.sample(t_ns, stamp, &mut verdicts).len(), 3);
        assert!(verdicts.is_empty(), "{verdicts:?}");
    }

    #[test]
    fn what_another_mount_covers_is_not_there() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        // /a/b was there before /a; /c is mounted twice, the later one on the earlier; /d/e lies on /d.
        let table = "20 1 7:1 / / rw - ext4 /dev/vda rw\n21 20 7:2 / /a/b rw - ext4 /dev/vdb rw\n\
             22 20 7:3 / /a rw - ext4 /dev/vdc rw\n23 20 7:4 / /c rw - ext4 /dev/vdd rw\n\
             24 23 7:5 / /c rw - ext4 /dev/vde rw\n25 20 7:6 / /d rw - ext4 /dev/vdf rw\n\
             26 25 7:7 / /d/e rw - ext4 /dev/vdg rw\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), table).unwrap();
        let (found, left_out) = once_each(DeviceResolver::new(root.path()).mounts());
        let sources: Vec<&str> = found.iter().map(|mount| mount.source.as_str()).collect();
        assert_eq!((sources, left_out), (vec!["/dev/vda", "/dev/vdc", "/dev/vde", "/dev/vdf", "/dev/vdg"], 0));
    }

    #[test]
    fn this_machine() {
        let rows = FileSystems::new(Path::new("/"), true).sample(1, Stamp::at(0, 0), &mut Vec::new());
        assert!(rows.iter().any(|row| row.mount == "/" && row.total_bytes > Some(0)), "{rows:?}");
        assert!(rows.iter().all(|row| row.kind != "proc" && row.kind != "sysfs"), "{rows:?}");
    }
}
