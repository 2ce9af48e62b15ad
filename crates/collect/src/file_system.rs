//! Mounted file systems: what they hold and what is free, from `/proc/self/mountinfo` and statvfs(3).
//!
//! A server that does not answer blocks whoever asks it, for ever. Such file systems are asked by a thread of its own, which
//! is waited for a little; while it hangs, their figures are missing, and that is said once.

use crate::devices::{DeviceMap, Mount};
use crate::nfs;
use crate::sampler::nfs_row;
use crate::subject::{Stamp, Subject, Verdict};
use crate::text::small;
use recording::rows::{FileSystem, NfsMount};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Beside other subjects they are looked at so often: sizes change slowly.
const EVERY_NS: u64 = 10_000_000_000;
/// So many are looked at, those with the shortest paths.
const MOST: usize = 512;
/// Servers are waited for so long.
const PATIENCE: Duration = Duration::from_millis(200);
/// Kinds whose figures come from somebody who may not answer.
const REMOTE: [&str; 16] = [
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
    "virtiofs",
];

/// What statvfs says, bytes and inodes.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    total: i64,
    free: i64,
    available: i64,
    inodes: i64,
    inodes_free: i64,
}

/// Paths to ask, and what they said.
type Asked = BTreeMap<PathBuf, Option<Sizes>>;

/// The thread that asks those who may not answer.
#[derive(Debug)]
struct Patient {
    questions: Sender<Vec<PathBuf>>,
    answers: Receiver<Asked>,
    /// The last question was not answered yet.
    hangs: bool,
}

impl Patient {
    fn start() -> Option<Self> {
        let (questions, asked) = channel::<Vec<PathBuf>>();
        let (answer, answers) = channel();
        let work = move || {
            while let Ok(paths) = asked.recv() {
                let told = paths.into_iter().map(|path| (path.clone(), sizes(&path))).collect();
                if answer.send(told).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("file systems".to_string()).spawn(work).ok()?;
        Some(Self { questions, answers, hangs: false })
    }

    /// `None`: they do not answer.
    fn ask(&mut self, paths: Vec<PathBuf>) -> Option<Asked> {
        if self.hangs {
            // An old answer is of an old question; who has come back is asked again.
            match self.answers.try_recv() {
                Ok(_) => self.hangs = false,
                Err(_) => return None,
            }
        }
        self.questions.send(paths).ok()?;
        match self.answers.recv_timeout(PATIENCE) {
            Ok(told) => Some(told),
            Err(_) => {
                self.hangs = true;
                None
            }
        }
    }
}

/// Reads mounts.
#[derive(Debug)]
pub(crate) struct FileSystems {
    root: PathBuf,
    every_ns: u64,
    due_ns: u64,
    patient: Option<Patient>,
    said: bool,
}

impl FileSystems {
    /// Under `root`; `at_once`: at every sample.
    pub(crate) fn new(root: &Path, at_once: bool) -> Self {
        Self {
            root: root.to_path_buf(),
            every_ns: if at_once { 0 } else { EVERY_NS },
            due_ns: 0,
            patient: None,
            said: false,
        }
    }

    /// Every file system once, when a look is due.
    pub(crate) fn sample(&mut self, t_ns: u64, stamp: Stamp, verdicts: &mut Vec<Verdict>) -> Vec<FileSystem> {
        if t_ns < self.due_ns {
            return Vec::new();
        }
        self.due_ns = t_ns.saturating_add(self.every_ns);
        let map = DeviceMap::new(&self.root);
        let mounts = once_each(map.mounts());
        let root = self.root.clone();
        let place = |mount: &Mount| root.join(mount.mount_point.trim_start_matches('/'));
        let is_remote = |mount: &&Mount| REMOTE.contains(&&*mount.file_system) || mount.file_system.starts_with("fuse");
        let (remote, local): (Vec<&Mount>, Vec<&Mount>) = mounts.iter().partition(is_remote);
        let mut rows: Vec<FileSystem> =
            local.into_iter().filter_map(|mount| self.row(&map, mount, Some(sizes(&place(mount))?), stamp)).collect();
        if !remote.is_empty() {
            let paths: Vec<PathBuf> = remote.iter().map(|mount| place(mount)).collect();
            let patient = match self.patient.take() {
                Some(patient) => Some(patient),
                None => Patient::start(),
            };
            let (told, patient) = match patient {
                Some(mut patient) => (patient.ask(paths), Some(patient)),
                None => (None, None),
            };
            self.patient = patient;
            self.say(told.is_none(), &remote, verdicts);
            let told = told.unwrap_or_default();
            rows.extend(remote.into_iter().filter_map(|mount| {
                let sizes = told.get(&place(mount)).copied().flatten();
                self.row(&map, mount, sizes, stamp)
            }));
        }
        rows.sort_by(|a, b| a.mount.cmp(&b.mount));
        rows
    }

    fn say(&mut self, hangs: bool, remote: &[&Mount], verdicts: &mut Vec<Verdict>) {
        if hangs == std::mem::replace(&mut self.said, hangs) {
            return;
        }
        let names: Vec<&str> = remote.iter().map(|mount| mount.mount_point.as_str()).collect();
        let names = names.join(", ");
        let (severity, message) = if hangs {
            ("warning", format!("no sizes of file systems: one of these does not answer: {names}"))
        } else {
            ("info", format!("sizes of file systems are back: {names}"))
        };
        verdicts.push(Verdict { severity, target: None, message });
    }

    /// `None` for those that hold nothing, as `/proc`.
    fn row(&self, map: &DeviceMap, mount: &Mount, sizes: Option<Sizes>, stamp: Stamp) -> Option<FileSystem> {
        if sizes.is_some_and(|sizes| sizes.total == 0) {
            return None;
        }
        let (volume, member) = if mount.file_system == "btrfs" { self.btrfs(mount) } else { (None, None) };
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
    fn btrfs(&self, mount: &Mount) -> (Option<String>, Option<String>) {
        let Some(name) = Path::new(&mount.source).file_name() else { return (None, None) };
        let entries = std::fs::read_dir(self.root.join("sys/fs/btrfs"));
        let mut folders = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let Some(folder) = folders.find(|folder| folder.join("devices").join(name).exists()) else {
            return (None, None);
        };
        let count = std::fs::read_dir(folder.join("devices")).map_or(0, Iterator::count);
        let uuid = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let device = (count == 1).then(|| name.to_string_lossy().into_owned());
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

/// Each file system once, by the shortest of its mount points; what another mount covers is not there.
fn once_each(mounts: &[Mount]) -> Vec<Mount> {
    let mut places: BTreeMap<&str, &Mount> = BTreeMap::new();
    for mount in mounts.iter().filter(|mount| mount.file_system != "autofs") {
        places.insert(&mount.mount_point, mount);
    }
    let mut found: Vec<&Mount> = places.into_values().collect();
    found.sort_by_key(|mount| mount.mount_point.len());
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|mount| seen.insert(mount.number));
    found.into_iter().take(MOST).cloned().collect()
}

fn sizes(path: &Path) -> Option<Sizes> {
    let told = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| i64::try_from(blocks.saturating_mul(told.f_frsize)).ok();
    Some(Sizes {
        total: bytes(told.f_blocks)?,
        free: bytes(told.f_bfree)?,
        available: bytes(told.f_bavail)?,
        inodes: i64::try_from(told.f_files).ok()?,
        inodes_free: i64::try_from(told.f_ffree).ok()?,
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
        std::fs::create_dir_all(root.path().join("sys/fs/btrfs/0b1c/devices/vdz1")).unwrap();
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
    fn this_machine() {
        let rows = FileSystems::new(Path::new("/"), true).sample(1, Stamp::at(0, 0), &mut Vec::new());
        assert!(rows.iter().any(|row| row.mount == "/" && row.total_bytes > Some(0)), "{rows:?}");
        assert!(rows.iter().all(|row| row.kind != "proc" && row.kind != "sysfs"), "{rows:?}");
    }
}
