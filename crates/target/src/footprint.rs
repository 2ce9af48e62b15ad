//! Which bytes of which disks and files a device stands on.
//!
//! Two devices may stand on the same bytes without one being above the other: two loop devices over one file, two
//! device-mapper devices over one range of a disk. The kernel's exclusive claim on one of them says nothing about the
//! other, so that what is mounted on one is found out here before the other is written.

use crate::loop_devices;
use crate::sysfs::{Number, directory, entries, node_name, number_of, partitions, value};
use ::backing::{MapSection, MapperControl};
use rustix::fs::{major, minor};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Stacks that are higher than this are not followed; the device below counts then as a whole.
const MOST_LEVELS: usize = 16;
const SECTOR: u64 = 512;

/// What does not stand on anything else that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    /// A block device.
    Device(Number),
    /// A file: its file system and inode.
    File(u64, u64),
    /// A volume of a thin pool, whose blocks the pool keeps apart from those of others.
    Thin(Number, u64),
}

/// A piece of what a device stands on.
#[derive(Clone, Debug)]
struct Extent {
    ground: Ground,
    bytes: Range<u64>,
    /// False when only the devices below are known, and not which part of them.
    is_exact: bool,
}

/// A device over the same bytes as another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sibling {
    pub(crate) number: Number,
    /// Its node.
    pub(crate) node: PathBuf,
}

/// The tables of device-mapper devices: the kernel's, or a test's.
pub(crate) type Tables<'a> = &'a dyn Fn(Number) -> Option<Vec<MapSection>>;

/// The kernel's tables; none without privileges, and none for a tree that a test made.
pub(crate) fn kernel_tables(root: &Path) -> impl Fn(Number) -> Option<Vec<MapSection>> {
    let is_real = root == Path::new("/");
    let control = std::cell::OnceCell::new();
    move |(major, minor)| {
        let control: &Option<MapperControl> =
            control.get_or_init(|| is_real.then(|| MapperControl::open().ok()).flatten());
        control.as_ref()?.table(major, minor).ok()
    }
}

/// Do two devices or files share bytes without being the same, as far as that is certain: a disk and its partition, two loop
/// devices over one file, a loop device and its file? Nothing is said of what cannot be asked.
#[must_use]
pub fn share_bytes(one: &Path, other: &Path) -> bool {
    let root = Path::new("/");
    let tables = kernel_tables(root);
    let (one, other) = (extents_of(root, one, &tables), extents_of(root, other, &tables));
    let is_certain = |one: &Extent, other: &Extent| one.is_exact && other.is_exact && overlap(one, other, false);
    one.iter().any(|one| other.iter().any(|other| is_certain(one, other)))
}

/// What a device or a file stands on; nothing of what is neither.
fn extents_of(root: &Path, path: &Path, tables: Tables<'_>) -> Vec<Extent> {
    let Ok(facts) = std::fs::metadata(path) else { return Vec::new() };
    if facts.file_type().is_block_device() {
        return of(root, (major(facts.rdev()), minor(facts.rdev())), tables).0;
    }
    let ground = Ground::File(facts.dev(), facts.ino());
    if facts.is_file() { vec![Extent { ground, bytes: 0..u64::MAX, is_exact: true }] } else { Vec::new() }
}

/// Other devices that stand on some of the bytes on which `number` stands, apart from those in `relatives`, which are
/// above or below it or a part of it.
pub(crate) fn siblings(
    root: &Path,
    number: Number,
    relatives: &BTreeMap<Number, String>,
    tables: Tables<'_>,
) -> Vec<Sibling> {
    let (own, below) = of(root, number, tables);
    // A disk or a partition: what stands on it holds it.
    if own.iter().all(|extent| matches!(extent.ground, Ground::Device(ground) if relatives.contains_key(&ground))) {
        let stacked = directory(root, number).is_some_and(|directory| !entries(&directory.join("slaves")).is_empty());
        let is_loop = directory(root, number).is_some_and(|directory| disk_of(&directory).join("loop").exists());
        if !stacked && !is_loop {
            return Vec::new();
        }
    }
    let mut found = Vec::new();
    for disk in entries(&root.join("sys/block")) {
        let is_stacked = disk.join("loop/backing_file").exists() || !entries(&disk.join("slaves")).is_empty();
        // What the device stands on is held by it.
        let is_sibling = |other: &Number| is_stacked && !relatives.contains_key(other) && !below.contains(other);
        let Some(other) = number_of(&disk).filter(is_sibling) else { continue };
        let (theirs, _) = of(root, other, tables);
        let same_group = volume_group(root, number).is_some_and(|group| volume_group(root, other) == Some(group));
        if own.iter().any(|own| theirs.iter().any(|other| overlap(own, other, same_group))) {
            found.push(Sibling { number: other, node: PathBuf::from(node_name(&disk)) });
            let parts = partitions(&disk).into_iter();
            found.extend(parts.map(|(number, path)| Sibling { number, node: PathBuf::from(node_name(&path)) }));
        }
    }
    found
}

/// Do two pieces share bytes? LVM keeps its volumes apart, so what is not known exactly is believed to be apart within
/// one volume group.
fn overlap(one: &Extent, other: &Extent, same_group: bool) -> bool {
    let believed_apart = same_group && !(one.is_exact && other.is_exact);
    let bytes = one.bytes.start < other.bytes.end && other.bytes.start < one.bytes.end;
    one.ground == other.ground && bytes && !believed_apart
}

/// `LVM-` and the 32 characters of a volume group's identifier.
fn volume_group(root: &Path, number: Number) -> Option<String> {
    let name = std::fs::read_to_string(directory(root, number)?.join("dm/uuid")).ok()?;
    name.starts_with("LVM-").then(|| name.get(..36).map(str::to_string)).flatten()
}

/// The disk of a partition, or the device itself.
fn disk_of(directory: &Path) -> &Path {
    if directory.join("partition").exists() { directory.parent().unwrap_or(directory) } else { directory }
}

/// What a device stands on, and the devices in between.
fn of(root: &Path, number: Number, tables: Tables<'_>) -> (Vec<Extent>, BTreeSet<Number>) {
    let mut follow = Follow { root, tables, out: Vec::new(), passed: BTreeSet::new() };
    let whole = directory(root, number).and_then(|directory| value(&directory, "size")).unwrap_or(u64::MAX / SECTOR);
    follow.project(number, 0..whole.saturating_mul(SECTOR), true, 0);
    (follow.out, follow.passed)
}

/// Follows bytes of a device down to the ground.
struct Follow<'a> {
    root: &'a Path,
    tables: Tables<'a>,
    out: Vec<Extent>,
    passed: BTreeSet<Number>,
}

impl Follow<'_> {
    fn project(&mut self, number: Number, bytes: Range<u64>, is_exact: bool, level: usize) {
        self.passed.insert(number);
        let ground = |ground| Extent { ground, bytes: bytes.clone(), is_exact };
        let Some(directory) = directory(self.root, number).filter(|_| level < MOST_LEVELS) else {
            self.out.push(ground(Ground::Device(number)));
            return;
        };
        if directory.join("partition").exists()
            && let (Some(disk), Some(start)) = (directory.parent().and_then(number_of), value(&directory, "start"))
        {
            return self.project(disk, shift(&bytes, start.saturating_mul(SECTOR)), is_exact, level + 1);
        }
        if let Some(backing) = loop_devices::of(self.root, &directory) {
            let bytes = shift(&bytes, backing.offset_bytes);
            match (backing.device, backing.file) {
                (Some(below), _) => self.project(below, bytes, is_exact, level + 1),
                (None, Some((device, inode))) => {
                    self.out.push(Extent { ground: Ground::File(device, inode), bytes, is_exact });
                }
                (None, None) => self.out.push(ground(Ground::Device(number))),
            }
            return;
        }
        let slaves = entries(&directory.join("slaves"));
        if slaves.is_empty() {
            self.out.push(ground(Ground::Device(number)));
            return;
        }
        if directory.join("dm").exists()
            && let Some(table) = (self.tables)(number).filter(|table| !table.is_empty())
        {
            for section in table {
                self.section(&section, &bytes, is_exact, &slaves, level);
            }
            return;
        }
        for slave in &slaves {
            self.member(&directory, slave, level);
        }
    }

    /// A part of a device-mapper device.
    fn section(&mut self, section: &MapSection, bytes: &Range<u64>, is_exact: bool, slaves: &[PathBuf], level: usize) {
        let start = section.start_sector.saturating_mul(SECTOR);
        let length = section.sectors.saturating_mul(SECTOR);
        let part = bytes.start.max(start)..bytes.end.min(start.saturating_add(length));
        if part.is_empty() {
            return;
        }
        // Within the section.
        let part = part.start - start..part.end - start;
        match Parameters::of(section) {
            Some(Parameters::Linear(below, first)) => {
                self.project(below, shift(&part, first.saturating_mul(SECTOR)), is_exact, level + 1);
            }
            // Stripes of it lie everywhere in its share of each device.
            Some(Parameters::Striped(members)) => {
                let each = length.div_ceil((members.len() as u64).max(1));
                for (below, first) in members {
                    self.project(below, shift(&(0..each), first.saturating_mul(SECTOR)), is_exact, level + 1);
                }
            }
            Some(Parameters::Thin(pool, volume)) => {
                self.out.push(Extent { ground: Ground::Thin(pool, volume), bytes: part, is_exact });
            }
            Some(Parameters::Written(below)) => self.whole(below, is_exact, level),
            None => {
                for slave in slaves.iter().filter_map(|slave| number_of(slave)) {
                    self.whole(slave, false, level);
                }
            }
        }
    }

    /// A member of md says which part of it holds data; of others nothing is known.
    fn member(&mut self, directory: &Path, slave: &Path, level: usize) {
        let Some(number) = number_of(slave) else { return };
        let name = slave.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let member = directory.join("md").join(format!("dev-{name}"));
        match (value(&member, "offset"), value(&member, "size")) {
            (Some(first), Some(kib)) => {
                let start = first.saturating_mul(SECTOR);
                self.project(number, start..start.saturating_add(kib.saturating_mul(1024)), true, level + 1);
            }
            _ => self.whole(number, false, level),
        }
    }

    fn whole(&mut self, number: Number, is_exact: bool, level: usize) {
        let size = directory(self.root, number).and_then(|directory| value(&directory, "size"));
        let bytes = 0..size.unwrap_or(u64::MAX / SECTOR).saturating_mul(SECTOR);
        self.project(number, bytes, is_exact, level + 1);
    }
}

fn shift(bytes: &Range<u64>, by: u64) -> Range<u64> {
    bytes.start.saturating_add(by)..bytes.end.saturating_add(by)
}

/// What the parameters of a section say about where its data lie.
#[derive(Debug, PartialEq, Eq)]
enum Parameters {
    /// One after the other on a device, from a sector on (encrypted or not).
    Linear(Number, u64),
    /// In turn on several devices.
    Striped(Vec<(Number, u64)>),
    /// In a thin pool.
    Thin(Number, u64),
    /// Anywhere on a device; others that the section uses are only read.
    Written(Number),
}

impl Parameters {
    fn of(section: &MapSection) -> Option<Self> {
        let words: Vec<&str> = section.parameters.split_ascii_whitespace().collect();
        let device = |at: usize| {
            let (major, minor) = words.get(at)?.split_once(':')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        let number = |at: usize| words.get(at)?.parse().ok();
        match section.kind.as_str() {
            "linear" => Some(Self::Linear(device(0)?, number(1)?)),
            // Cipher, key, offset of the initial vector, device, first sector.
            "crypt" => Some(Self::Linear(device(3)?, number(4)?)),
            // Number, chunk, and for each a device and its first sector.
            "striped" => {
                let count = usize::try_from(number(0)?).ok()?;
                if words.len() < count.checked_mul(2)?.checked_add(2)? {
                    return None;
                }
                (0..count)
                    .map(|index| Some((device(2 + 2 * index)?, number(3 + 2 * index)?)))
                    .collect::<Option<_>>()
                    .map(Self::Striped)
            }
            "thin" => Some(Self::Thin(device(0)?, number(1)?)),
            // A snapshot writes to its store only; what it is a snapshot of may be written, the snapshot keeps the old.
            "snapshot" => Some(Self::Written(device(1)?)),
            "snapshot-origin" => Some(Self::Written(device(0)?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine with the disk sda (8:0) of 1 GiB and device-mapper devices over it, dm-0 (254:0) and so on.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new(uuids: &[&str]) -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            machine.device("sda", (8, 0), 2 << 20);
            for (minor, uuid) in (0_u32..).zip(uuids) {
                let mapped = machine.device(&format!("dm-{minor}"), (254, minor), 2 << 20);
                std::fs::create_dir_all(mapped.join("dm")).unwrap();
                std::fs::write(mapped.join("dm/uuid"), format!("{uuid}\n")).unwrap();
                std::fs::create_dir_all(mapped.join("slaves")).unwrap();
                symlink(machine.0.path().join("sys/devices/sda"), mapped.join("slaves/sda")).unwrap();
            }
            machine
        }

        fn device(&self, name: &str, number: Number, sectors: u64) -> PathBuf {
            let directory = self.0.path().join("sys/devices").join(name);
            for parent in ["sys/dev/block", "sys/block"] {
                std::fs::create_dir_all(self.0.path().join(parent)).unwrap();
            }
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("dev"), format!("{}:{}\n", number.0, number.1)).unwrap();
            std::fs::write(directory.join("size"), format!("{sectors}\n")).unwrap();
            symlink(&directory, self.0.path().join(format!("sys/dev/block/{}:{}", number.0, number.1))).unwrap();
            symlink(&directory, self.0.path().join("sys/block").join(name)).unwrap();
            directory
        }

        /// The siblings of dm-0, with these tables of dm-0, dm-1, …
        fn siblings(&self, tables: &[&str]) -> Vec<String> {
            let parse = |text: &str| -> Vec<MapSection> {
                let section = |line: &str| {
                    let mut words = line.splitn(4, ' ');
                    let mut next = || words.next().unwrap_or_default().to_string();
                    MapSection {
                        start_sector: next().parse().unwrap(),
                        sectors: next().parse().unwrap(),
                        kind: next(),
                        parameters: next(),
                    }
                };
                text.split('|').map(section).collect()
            };
            let tables: Vec<Vec<MapSection>> = tables.iter().map(|text| parse(text)).collect();
            let table = |number: Number| tables.get(usize::try_from(number.1).unwrap()).cloned();
            let relatives = BTreeMap::from([((254, 0), "/dev/dm-0".to_string())]);
            let found = siblings(self.0.path(), (254, 0), &relatives, &table);
            found.into_iter().map(|sibling| sibling.node.display().to_string()).collect()
        }
    }

    const GROUP: &str = "LVM-0123456789abcdefghijABCDEFGHIJ01";
    const NONE: &[&str] = &[];

    #[test]
    fn volumes_on_other_ranges_of_one_disk_are_no_siblings() {
        let machine = Machine::new(&["one", "two"]);
        for (own, other, expect) in [
            ("0 1000 linear 8:0 0", "0 1000 linear 8:0 1000", false),
            ("0 1000 linear 8:0 0", "0 1000 linear 8:0 999", true),
            ("0 1000 linear 8:0 0", "0 1000 linear 8:0 0", true),
            ("0 10 linear 8:0 5000|10 10 linear 8:0 0", "0 10 linear 8:0 9", true),
            ("0 10 linear 8:0 5000|10 10 linear 8:0 0", "0 10 linear 8:0 10", false),
            ("0 100 linear 8:0 50", "0 100 crypt aes-xts-plain64 :64:logon:key 0 8:0 149 1 allow_discards", true),
            ("0 100 linear 8:0 50", "0 100 crypt aes-xts-plain64 :64:logon:key 0 8:0 150", false),
            ("0 100 striped 2 8 8:0 0 8:0 1000", "0 10 linear 8:0 49", true),
            ("0 100 striped 2 8 8:0 0 8:0 1000", "0 10 linear 8:0 50", false),
            ("0 100 striped 2 8 8:0 0 8:0 1000", "0 10 linear 8:0 1049", true),
            ("0 100 thin 254:7 1", "0 100 thin 254:7 2", false),
            ("0 100 thin 254:7 1", "0 100 thin 254:7 1", true),
            ("0 100 thin 254:7 1", "0 100 linear 8:0 0", false),
            // Of what is not understood, everything below counts.
            ("0 100 raid something", "0 10 linear 8:0 5000", true),
            ("0 100 linear x:y", "0 10 linear 8:0 5000", true),
        ] {
            let found = machine.siblings(&[own, other]);
            assert_eq!(found, if expect { &["/dev/dm-1"] } else { NONE }, "{own} / {other}");
        }
    }

    #[test]
    fn without_tables_only_volumes_of_one_group_are_believed_to_be_apart() {
        for (own, other, expect) in [
            ("one".to_string(), "two".to_string(), true),
            (format!("{GROUP}a"), format!("{GROUP}b"), false),
            (format!("{GROUP}a"), "CRYPT-LUKS2-x".to_string(), true),
            (format!("{GROUP}a"), format!("LVM-{}b", "9".repeat(32)), true),
        ] {
            let found = Machine::new(&[&own, &other]).siblings(&[]);
            assert_eq!(found, if expect { &["/dev/dm-1"] } else { NONE }, "{own} / {other}");
        }
    }

    #[test]
    fn members_of_md_are_compared_by_their_data() {
        let machine = Machine::new(&["one"]);
        let array = machine.device("md126", (9, 126), 1000);
        let member = array.join("md/dev-sda");
        std::fs::create_dir_all(&member).unwrap();
        std::fs::create_dir_all(array.join("slaves")).unwrap();
        symlink(machine.0.path().join("sys/devices/sda"), array.join("slaves/sda")).unwrap();
        std::fs::write(member.join("offset"), "2048\n").unwrap();
        std::fs::write(member.join("size"), "500\n").unwrap();
        assert_eq!(machine.siblings(&["0 10 linear 8:0 2038"]), NONE);
        assert_eq!(machine.siblings(&["0 11 linear 8:0 2038"]), ["/dev/md126"]);
        assert_eq!(machine.siblings(&["0 10 linear 8:0 3048"]), NONE);
    }

    #[test]
    fn volumes_over_a_partition_and_over_its_disk_are_compared() {
        let machine = Machine::new(&["one", "two"]);
        let disk = machine.0.path().join("sys/devices/sda");
        let partition = disk.join("sda1");
        std::fs::create_dir_all(&partition).unwrap();
        for (name, text) in [("partition", "1"), ("dev", "8:1"), ("start", "2048"), ("size", "4096")] {
            std::fs::write(partition.join(name), text).unwrap();
        }
        symlink(&partition, machine.0.path().join("sys/dev/block/8:1")).unwrap();
        assert_eq!(machine.siblings(&["0 10 linear 8:1 5", "0 10 linear 8:0 2053"]), ["/dev/dm-1"]);
        assert_eq!(machine.siblings(&["0 10 linear 8:1 5", "0 10 linear 8:0 5"]), NONE);
    }
}
