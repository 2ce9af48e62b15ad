//! Which disk a device number belongs to, and which are wanted.

use crate::block::TraceFilter;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What sysfs says of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    /// The whole disk's, major << 20 | minor.
    pub(crate) number: u32,
    /// Its driver takes requests; others take bios.
    pub(crate) has_requests: bool,
}

/// A wanted device: a disk, or sectors of one.
#[derive(Clone, Debug)]
struct Wanted {
    disk: u32,
    sectors: std::ops::Range<u64>,
}

/// Knows disks; remembers them.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    known: HashMap<u32, Disk>,
    wanted: Vec<Wanted>,
    /// Numbers that events of wanted I/Os may have.
    numbers: BTreeSet<u32>,
}

impl Devices {
    /// Those that a filter wants.
    pub(crate) fn of(filter: &TraceFilter) -> Self {
        let mut devices = Self::default();
        for device in &filter.devices {
            let directory = directory(device.number);
            let disk = devices.disk(device.number).number;
            let number = |name: &str| read(&directory.join(name))?.parse::<u64>().ok();
            let from = number("start").filter(|_| disk != device.number);
            let sectors = from.map_or(0..u64::MAX, |from| from..from.saturating_add(number("size").unwrap_or(0)));
            devices.wanted.push(Wanted { disk, sectors });
            devices.numbers.extend([disk, device.number]);
            // Bios have the number of the partition that they were sent to.
            if disk == device.number {
                devices.numbers.extend(partitions(&directory));
            }
        }
        devices
    }

    /// The same in the words of the kernel's `filter` files; `None`: all.
    pub(crate) fn kernel_filter(&self) -> Option<String> {
        let terms: Vec<String> = self.numbers.iter().map(|number| format!("dev == {number}")).collect();
        (!terms.is_empty()).then(|| terms.join(" || "))
    }

    /// The disk of a number.
    pub(crate) fn disk(&mut self, number: u32) -> Disk {
        *self.known.entry(number).or_insert_with(|| {
            let own = directory(number);
            let is_partition = own.join("partition").exists();
            let parent = own.parent().map(Path::to_path_buf).filter(|_| is_partition);
            let of_parent = parent.as_ref().and_then(|parent| device_number(parent));
            let disk = parent.unwrap_or(own);
            Disk { number: of_parent.unwrap_or(number), has_requests: disk.join("mq").exists() }
        })
    }

    /// Is an I/O there wanted?
    pub(crate) fn wants(&self, disk: u32, sector: u64, is_flush: bool) -> bool {
        let fits = |wanted: &Wanted| wanted.disk == disk && (is_flush || wanted.sectors.contains(&sector));
        disk != 0 && (self.wanted.is_empty() || self.wanted.iter().any(fits))
    }
}

/// The directory of a device in sysfs, without links.
fn directory(number: u32) -> PathBuf {
    let link = PathBuf::from(format!("/sys/dev/block/{}:{}", number >> 20, number & 0xf_ffff));
    std::fs::canonicalize(&link).unwrap_or(link)
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

/// What stands in a directory's `dev`.
fn device_number(directory: &Path) -> Option<u32> {
    let text = read(&directory.join("dev"))?;
    let (major, minor) = text.split_once(':')?;
    Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
}

/// Numbers of a disk's partitions.
fn partitions(disk: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(disk).into_iter().flatten().flatten();
    let parts = entries.map(|entry| entry.path()).filter(|path| path.join("partition").exists());
    parts.filter_map(|path| device_number(&path)).collect()
}
