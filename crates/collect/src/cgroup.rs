//! Control groups of version 2 and, where it is mounted, of version 1 (the kernel's `cgroup-v2.rst`, `cgroup-v1/*.rst`).
//!
//! Both may be mounted side by side, each with some of the controllers: groups of the same path are one, and each figure
//! comes from version 2 where that has it. A group may have 15 files of interest, and there may be hundreds of groups, so
//! those that did nothing are known by four files and have no row.

mod files;
#[cfg(test)]
mod tests;

use crate::subject::{Stamp, Verdict};
use files::{Group, Io};
use quantity::clock::{now_ns, thread_cpu_ns};
use recording::rows::{Cgroup, CgroupIo};
use recording::{EventSeverity, Label};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So many groups are looked at, those nearest to the top first.
const MOST: usize = 512;
/// Beside other subjects, looking at groups takes no more than this part of one CPU: after a look that took 2 ms, the next
/// one is 2 s later.
const SHARE: u64 = 1000;
/// Longest time between two looks, however long one takes.
const LONGEST_NS: u64 = 60_000_000_000;
/// A little less than the share asks for, so that a sample each second is not left out every now and then.
const SLACK_NS: u64 = 100_000_000;

/// Where groups are mounted, and the last values of each.
#[derive(Debug)]
pub(crate) struct Cgroups {
    root: PathBuf,
    mounts: Mounts,
    is_paced: bool,
    next_ns: u64,
    known: HashMap<String, Known>,
    said_too_many: bool,
    buffer: Vec<u8>,
}

/// Mount points.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mounts {
    /// Of version 2.
    pub(crate) second: Option<PathBuf>,
    /// Of version 1, by controller.
    pub(crate) first: Vec<(String, PathBuf)>,
}

/// A group at its last row.
#[derive(Debug)]
struct Known {
    activity: [Option<i64>; 3],
    io: BTreeMap<String, Io>,
}

impl Cgroups {
    /// With the `/proc` and `/sys` under `root`; `is_paced`: not more often than the cost allows.
    ///
    /// # Errors
    /// None are mounted.
    pub(crate) fn new(root: &Path, is_paced: bool) -> io::Result<Self> {
        // Names of mount points may be any bytes.
        let table = std::fs::read(root.join("proc/self/mountinfo"))?;
        let mounts = mounts(root, &String::from_utf8_lossy(&table));
        if mounts == Mounts::default() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "none are mounted"));
        }
        Ok(Self {
            root: root.to_path_buf(),
            mounts,
            is_paced,
            next_ns: 0,
            known: HashMap::new(),
            said_too_many: false,
            buffer: Vec::new(),
        })
    }

    /// Rows of the groups that did something, and of their devices; none before the next look is due.
    pub(crate) fn sample(
        &mut self,
        (t_ns, t0_ns): (u64, u64),
        verdicts: &mut Vec<Verdict>,
    ) -> (Vec<Cgroup>, Vec<CgroupIo>) {
        if self.is_paced && t_ns < self.next_ns {
            return (Vec::new(), Vec::new());
        }
        let (begin_ns, begin_cpu_ns) = (now_ns(), thread_cpu_ns());
        let paths = self.paths(verdicts);
        let (mut rows, mut devices) = (Vec::new(), Vec::new());
        self.known.retain(|path, _| paths.contains(path));
        for path in paths {
            // One that vanished meanwhile tells nothing, and is no error.
            let Some((row, io)) = self.look(&path) else { continue };
            devices.extend(io);
            rows.push(row);
        }
        let stamp = Stamp::between(begin_ns, now_ns(), t_ns, t0_ns);
        for row in &mut rows {
            (row.t_ns, row.t_s) = (stamp.t_ns, stamp.t_s);
        }
        for row in &mut devices {
            (row.t_ns, row.t_s) = (stamp.t_ns, stamp.t_s);
        }
        let pause_ns = (thread_cpu_ns().saturating_sub(begin_cpu_ns) * SHARE).min(LONGEST_NS);
        self.next_ns = t_ns.saturating_add(pause_ns.saturating_sub(SLACK_NS));
        (rows, devices)
    }

    /// What one group did, when that is news.
    fn look(&mut self, path: &str) -> Option<(Cgroup, Vec<CgroupIo>)> {
        let group = Group::new(&self.mounts, path);
        let mut row = files::empty(path);
        let io = group.activity(&mut row, &mut self.buffer);
        let uses = row.usage_ns.or(row.memory_bytes);
        let activity = [uses, row.memory_some_ns, row.io_some_ns];
        if activity == [None; 3] && io.is_none() {
            return None;
        }
        let io = io.unwrap_or_default();
        let known = self.known.get(path);
        // The topmost group makes a row of every look, so that it is known when the others did nothing.
        if path != "/" && known.is_some_and(|known| known.activity == activity && known.io == io) {
            return None;
        }
        group.rest(&mut row, &mut self.buffer);
        let is_news = |device: &str, io: &Io| known.and_then(|known| known.io.get(device)) != Some(io);
        let devices = io.iter().filter(|(device, io)| is_news(device, io) && io.did_anything());
        let devices = devices.map(|(device, io)| io.row(&row.path, &self.device(device))).collect();
        self.known.insert(path.to_string(), Known { activity, io });
        Some((row, devices))
    }

    /// Kernel name of a device by its number.
    fn device(&self, number: &str) -> Label {
        let link = std::fs::read_link(self.root.join("sys/dev/block").join(number)).ok();
        let name = link.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().replace('!', "/"));
        Label::from(name.as_deref().unwrap_or(number))
    }

    /// All groups, those nearest to the top first.
    fn paths(&mut self, verdicts: &mut Vec<Verdict>) -> BTreeSet<String> {
        let mut folders: Vec<&PathBuf> = self.mounts.first.iter().map(|(_, folder)| folder).collect();
        folders.extend(&self.mounts.second);
        folders.sort();
        folders.dedup();
        let mut found: BTreeSet<(usize, String)> = BTreeSet::new();
        let mut is_more = false;
        for folder in folders {
            is_more |= walk(folder, &mut found);
        }
        is_more |= found.len() > MOST;
        if is_more && !self.said_too_many {
            self.said_too_many = true;
            let message = format!("of the control groups, only the {MOST} nearest to the top are looked at");
            verdicts.push(Verdict { severity: EventSeverity::Info, class: None, target: None, message });
        }
        found.into_iter().take(MOST).map(|(_, path)| path).collect()
    }
}

/// Adds the groups of one mount, with their depths; true when there are more than are looked at.
fn walk(mount: &Path, found: &mut BTreeSet<(usize, String)>) -> bool {
    let mut todo = VecDeque::from([(0, String::from("/"))]);
    let mut count = 0;
    while let Some((depth, path)) = todo.pop_front() {
        if count == MOST {
            return true;
        }
        let folder = mount.join(&path[1..]);
        // A folder of the kernel's without folders in it has two links: most need not be opened.
        let Ok(about) = folder.metadata() else { continue };
        count += 1;
        if about.nlink() != 2
            && let Ok(entries) = folder.read_dir()
        {
            let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
            todo.extend(names.map(|name| (depth + 1, format!("{}/{name}", path.trim_end_matches('/')))));
        }
        found.insert((depth, path));
    }
    false
}

/// Where groups are mounted, by `/proc/self/mountinfo` (proc(5)).
fn mounts(root: &Path, text: &str) -> Mounts {
    let mut mounts = Mounts::default();
    for line in text.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let (Some(place), Some(kind)) = (before.split(' ').nth(4), after.split(' ').next()) else { continue };
        let place = root.join(crate::devices::unescape(place).trim_start_matches('/'));
        match kind {
            "cgroup2" if mounts.second.is_none() => mounts.second = Some(place),
            "cgroup" => {
                let options = after.split(' ').nth(2).unwrap_or_default().split(',');
                for option in options.filter(|option| files::CONTROLLERS.contains(option)) {
                    if mounts.first.iter().all(|(known, _)| known != option) {
                        mounts.first.push((option.to_string(), place.clone()));
                    }
                }
            }
            _ => {}
        }
    }
    mounts
}
