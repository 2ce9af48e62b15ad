//! Block devices: what may stand on them, and who may be using them.

use crate::harm::scene::{MIB, Rule, Scene, put, tool};
use rustix::fs::{Mode, OFlags};
use std::path::Path;
use testkit::{FileSystem, LoopDevice, MountedFileSystem, Swap};

/// A row of the table: name, rule, maker (`None` where this machine cannot make it).
pub(crate) type Row = (&'static str, Rule, fn() -> Option<Scene>);

/// A row that is ready to be made.
pub(crate) type Made = (String, Rule, Box<dyn Fn() -> Option<Scene> + Sync>);

/// A signature or other bytes at an offset of an otherwise empty device of 16 MiB.
pub(crate) const BYTES: &[(&str, u64, &[u8])] = &[
    ("LUKS", 0, b"LUKS\xba\xbe\0\x02"),
    ("LUKS2 backup header", 0x4000, b"SKUL\xba\xbe\0\x02"),
    ("LVM2 label", 512, b"LABELONE\x01\0\0\0\0\0\0\0"),
    ("md 1.1", 0, b"\xfc\x4e\x2b\xa9\x01\0\0\0"),
    ("md 1.2", 4096, b"\xfc\x4e\x2b\xa9\x01\0\0\0"),
    ("md 1.0", 16 * MIB - 8192, b"\xfc\x4e\x2b\xa9\x01\0\0\0"),
    ("md 0.90", 16 * MIB - 65536, b"\xfc\x4e\x2b\xa9\0\0\0\0"),
    ("ZFS label", 16 << 10, b"\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\x24\0\0\0\x20\0\0\0\x07version"),
    ("ZFS uberblock", 128 << 10, b"\x0c\xb1\xba\0\0\0\0\0"),
    ("swap", 4086, b"SWAPSPACE2"),
    ("hibernation image", 4086, b"S1SUSPEND\0"),
    ("NTFS", 3, b"NTFS    "),
    ("exFAT", 3, b"EXFAT   "),
    ("FAT32", 0x52, b"FAT32   "),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("ISO 9660", 32769, b"CD001"),
    ("SquashFS", 0, b"hsqs"),
    ("F2FS", 1024, b"\x10\x20\xf5\xf2"),
    ("EROFS", 1024, b"\xe2\xe1\xf5\xe0"),
    ("Ceph BlueStore", 0, b"bluestore block device"),
    ("Oracle ASM", 32, b"ORCLDISK"),
    ("bcache", 4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    ("DRBD", 16 * MIB - 4096 + 60, b"\x83\x74\x02\x6d"),
    ("QCOW2", 0, b"QFI\xfb\0\0\0\x03"),
    ("APFS", 32, b"NXSB"),
    ("Sun label", 508, b"\xda\xbe"),
    ("Intel RAID", 16 * MIB - 1024, b"Intel Raid ISM Cfg Sig. "),
    ("backup GPT only", 16 * MIB - 512, b"EFI PART"),
    ("first byte", 0, b"x"),
    ("last byte", 16 * MIB - 1, b"x"),
    ("64 KiB in the middle", 7 * MIB + 4096, &[0x5a; 65536]),
    ("64 KiB at an odd place", 5 * MIB + 12_345, &[0xa5; 65536]),
];

/// Places where partitions usually begin, in bytes, from which a file system is left after its table was zapped.
const PARTITION_STARTS: &[(&str, u64)] = &[
    ("ext4 from sector 63, table zapped", 63 * 512),
    ("ext4 from 4 KiB, table zapped", 4096),
    ("ext4 from sector 2048, table zapped", 2048 * 512),
    ("ext4 from 2 MiB, table zapped", 2 * MIB),
    ("ext4 from 17 MiB, table zapped", 17 * MIB),
    ("ext4 from 33 MiB, table zapped", 33 * MIB),
];

fn mkfs(file_system: FileSystem) -> Option<Scene> {
    file_system.is_available().then(|| Scene::device(file_system.min_bytes(), |image| file_system.make(image).unwrap()))
}

fn partition(start: u64) -> Option<Scene> {
    if !FileSystem::Ext4.is_available() {
        return None;
    }
    Some(Scene::device(64 * MIB, |image| {
        let part = image.with_file_name("part");
        std::fs::File::create(&part).unwrap().set_len(24 * MIB).unwrap();
        FileSystem::Ext4.make(&part).unwrap();
        put(image, &[(start, &std::fs::read(&part).unwrap())]);
        std::fs::remove_file(&part).unwrap();
    }))
}

/// A device whose file system is mounted, by `how`.
fn mounted(how: &str) -> Option<Scene> {
    if !FileSystem::Ext4.is_available() {
        return None;
    }
    let mut scene = Scene::device(24 * MIB, |image| FileSystem::Ext4.make(image).unwrap());
    // A file system that is mounted for writing changes by itself: only for reading here.
    let device = scene.path.display().to_string();
    match how {
        "here" => {
            let guard = MountedFileSystem::mount(&["-o", "ro,noload", &device]).unwrap();
            scene.hold(guard);
        }
        "elsewhere" => {
            let line =
                format!("mount --make-rprivate / && mount -o ro,noload {device} /mnt && echo ready && exec sleep 300");
            let mut child = testkit::TestCommand::new("unshare").args(["-m", "sh", "-c", &line]).spawn().unwrap();
            assert!(child.wait_for_stdout("ready", std::time::Duration::from_secs(60)), "{}", child.stderr());
            scene.hold(child);
        }
        other => unreachable!("{other}"),
    }
    Some(scene)
}

/// A file behind a loop device whose file system is mounted; `name` makes the other name of the file that the user types.
fn backing(name: fn(&mut Scene, &Path)) -> Option<Scene> {
    if !FileSystem::Ext4.is_available() {
        return None;
    }
    let mut scene = Scene::new();
    let image = scene.at("disk.img");
    std::fs::File::create(&image).unwrap().set_len(24 * MIB).unwrap();
    FileSystem::Ext4.make(&image).unwrap();
    let device = LoopDevice::over(&image).unwrap();
    let node = device.path().display().to_string();
    scene.hold(device);
    let guard = MountedFileSystem::mount(&["-o", "ro,noload", &node]).unwrap();
    scene.hold(guard);
    name(&mut scene, &image);
    scene.kept.push(image);
    Some(scene)
}

/// A device of 16 MiB with pieces of what iodyno wrote, and then `pieces` over it.
fn own_device(pieces: &[(u64, &[u8])]) -> Option<Scene> {
    let own: Vec<u8> = (0..16 * MIB / 512)
        .flat_map(|sector| {
            let mut bytes = [0x77_u8; 512];
            bytes[..8].copy_from_slice(b"iodyno\0\x01");
            bytes[8..16].copy_from_slice(&sector.to_le_bytes());
            bytes
        })
        .collect();
    Some(Scene::device(16 * MIB, |image| {
        put(image, &[(0, &own)]);
        put(image, pieces);
    }))
}

fn exclusively_open() -> Option<Scene> {
    let mut scene = Scene::bytes_on_device(&[]);
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let held = rustix::fs::open(&scene.path, flags, Mode::empty()).unwrap();
    scene.hold(held);
    Some(scene)
}

fn below_a_loop() -> Option<Scene> {
    let mut scene = Scene::bytes_on_device(&[]);
    let above = LoopDevice::over(&scene.path).unwrap();
    scene.hold(above);
    Some(scene)
}

fn read_only() -> Option<Scene> {
    let mut scene = Scene::new();
    let image = scene.at("image");
    std::fs::File::create(&image).unwrap().set_len(16 * MIB).unwrap();
    let device = LoopDevice::with_options(&image, &["--read-only"]).unwrap();
    let path = device.path().to_path_buf();
    scene.hold(device);
    Some(scene.target(path))
}

fn swapping() -> Option<Scene> {
    let mut scene = Scene::bytes_on_device(&[]);
    let swap = Swap::on(&scene.path).unwrap();
    scene.hold(swap);
    Some(scene)
}

fn partitioned(label: &str) -> Scene {
    Scene::device(64 * MIB, |image| {
        let line = format!("echo 2048,,L | sfdisk -q --label {label} {}", image.display());
        tool("sh", &["-c", &line]);
    })
}

fn symlink_to_device() -> Option<Scene> {
    let mut scene = Scene::bytes_on_device(&[(0, b"foreign data")]);
    let link = scene.at("disk");
    std::os::unix::fs::symlink(&scene.path, &link).unwrap();
    scene.path = link;
    Some(scene)
}

/// Another node of the same device.
fn second_node() -> Option<Scene> {
    let mut scene = Scene::bytes_on_device(&[(0, b"foreign data")]);
    let number = scene.path.metadata().ok().map(|metadata| std::os::unix::fs::MetadataExt::rdev(&metadata))?;
    let node = scene.at("node");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &node, rustix::fs::FileType::BlockDevice, mode, number).ok()?;
    scene.path = node;
    Some(scene)
}

/// All rows about devices; those of [`BYTES`] and of partitions come beside.
pub(crate) const ROWS: &[Row] = &[
    ("ext4", Rule::NeedsDestroy, || mkfs(FileSystem::Ext4)),
    ("xfs", Rule::NeedsDestroy, || mkfs(FileSystem::Xfs)),
    ("btrfs", Rule::NeedsDestroy, || mkfs(FileSystem::Btrfs)),
    ("GPT", Rule::NeedsDestroy, || Some(partitioned("gpt"))),
    ("MBR", Rule::NeedsDestroy, || Some(partitioned("dos"))),
    ("mounted", Rule::Never, || mounted("here")),
    ("mounted in another namespace", Rule::Never, || mounted("elsewhere")),
    ("swap in use", Rule::Never, swapping),
    ("opened exclusively", Rule::Never, exclusively_open),
    ("below a loop device", Rule::Never, below_a_loop),
    ("read-only", Rule::Fail, read_only),
    ("by a symbolic link", Rule::NeedsDestroy, symlink_to_device),
    ("by a second node", Rule::NeedsDestroy, second_node),
    ("ours", Rule::Allowed, || own_device(&[])),
    ("ours, then mkfs", Rule::NeedsDestroy, || {
        let scene = own_device(&[])?;
        FileSystem::Ext4.make(&scene.path).ok()?;
        rustix::fs::sync();
        Some(scene)
    }),
    ("ours, and two sectors of ext4's superblock", Rule::NeedsDestroy, || {
        let mut block = [0; 1024];
        block[0x38..0x3a].copy_from_slice(b"\x53\xef");
        own_device(&[(1024, &block)])
    }),
    ("ours, a foreign sector in the first MiB", Rule::NeedsDestroy, || own_device(&[(700 * 512, &[7; 512])])),
    ("ours, a foreign MiB in the middle", Rule::NeedsDestroy, || own_device(&[(7 * MIB, &[7; 1 << 20])])),
    ("empty", Rule::Allowed, || Some(Scene::bytes_on_device(&[]))),
    ("file behind a mounted loop", Rule::Never, || backing(|scene, image| scene.path = image.to_path_buf())),
    ("hard link of a file behind a mounted loop", Rule::Never, || {
        backing(|scene, image| {
            let link = scene.at("other.img");
            std::fs::hard_link(image, &link).unwrap();
            scene.path = link;
        })
    }),
    ("bind mount of a file behind a mounted loop", Rule::Never, || {
        backing(|scene, image| {
            let guard = MountedFileSystem::mount(&["--bind", &image.parent().unwrap().display().to_string()]).unwrap();
            scene.path = guard.path().join("disk.img");
            scene.hold(guard);
        })
    }),
    ("file behind a loop mounted from another name", Rule::Never, || {
        backing(|scene, image| {
            let moved = scene.at("moved.img");
            std::fs::rename(image, &moved).unwrap();
            std::fs::hard_link(&moved, image).unwrap();
            scene.path = moved;
        })
    }),
];

/// Every device of the table.
pub(crate) fn all() -> Vec<Made> {
    let mut rows: Vec<Made> = Vec::new();
    for (name, rule, make) in ROWS {
        rows.push(((*name).to_string(), *rule, Box::new(make)));
    }
    for (name, offset, bytes) in BYTES {
        rows.push((
            (*name).to_string(),
            Rule::NeedsDestroy,
            Box::new(|| Some(Scene::bytes_on_device(&[(*offset, bytes)]))),
        ));
    }
    for (name, start) in PARTITION_STARTS {
        rows.push(((*name).to_string(), Rule::NeedsDestroy, Box::new(|| partition(*start))));
    }
    rows
}
