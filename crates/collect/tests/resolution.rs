//! Paths are resolved to the devices under them: stacks that this kernel lacks as trees of files, the others for real.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use collect::{CounterSampler, DeviceResolver, ResolvedPath, hardware, hardware_of};
use recording::rows::{Cpu, Disk, Event, NfsMount};
use recording::{EventSeverity, Row, RowBatch};
use std::fs::{create_dir_all, write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use testkit::{FileSystem, LoopDevice, MountedFileSystem, ScratchPlace, require_root_or_skip, scratch_dir};

const MIB: u64 = 1 << 20;

/// A machine: disks sda (with sda1, sda2) and sdb, md0 over sda2 and sdb, dm-0 over md0, file systems on all of them.
fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    let device = |path: &str, number: &str| {
        let directory = at("sys/devices").join(path);
        create_dir_all(directory.join("slaves")).unwrap();
        create_dir_all(directory.join("queue")).unwrap();
        write(directory.join("dev"), format!("{number}\n")).unwrap();
        create_dir_all(at("sys/dev/block")).unwrap();
        symlink(&directory, at("sys/dev/block").join(number)).unwrap();
        directory
    };
    let (sda, sdb) = (device("pci0/sda", "8:0"), device("pci0/sdb", "8:16"));
    let (sda1, sda2) = (device("pci0/sda/sda1", "8:1"), device("pci0/sda/sda2", "8:2"));
    for (directory, number) in [(&sda1, "1"), (&sda2, "2")] {
        write(directory.join("partition"), number).unwrap();
    }
    write(sda.join("queue/rotational"), "1\n").unwrap();
    write(sda.join("queue/scheduler"), "mq-deadline kyber [bfq] none\n").unwrap();
    write(sda.join("size"), "2048\n").unwrap();
    create_dir_all(sda.join("device")).unwrap();
    write(sda.join("device/model"), "SPINNER 9000    \n").unwrap();
    write(at("sys/devices/pci0/current_link_speed"), "8.0 GT/s PCIe\n").unwrap();
    write(at("sys/devices/pci0/current_link_width"), "4\n").unwrap();
    let (md, dm) = (device("virtual/md0", "9:0"), device("virtual/dm-0", "253:0"));
    symlink(&sda2, md.join("slaves/sda2")).unwrap();
    symlink(&sdb, md.join("slaves/sdb")).unwrap();
    symlink(&md, dm.join("slaves/md0")).unwrap();
    create_dir_all(dm.join("dm")).unwrap();
    write(dm.join("dm/name"), "vg-data\n").unwrap();
    let pool = at("sys/fs/btrfs/f00d/devices");
    create_dir_all(&pool).unwrap();
    symlink(&sda1, pool.join("sda1")).unwrap();
    symlink(&sdb, pool.join("sdb")).unwrap();
    create_dir_all(at("proc/self")).unwrap();
    write(
        at("proc/self/mountinfo"),
        "20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
         21 20 253:0 / /nowhere/vg\\040data rw,noatime - xfs /dev/mapper/vg-data rw,logbufs=8\n\
         22 20 0:40 / /nowhere/pool rw - btrfs /dev/sda1 rw,subvol=/\n\
         23 20 0:41 / /nowhere/nfs rw - nfs4 server:/export/data rw,vers=4.2\n\
         24 20 0:42 / /nowhere/memory rw - tmpfs tmpfs rw\n\
         25 20 0:43 / /nowhere/layers rw - overlay overlay rw,upperdir=/x\n",
    )
    .unwrap();
    write(at("proc/stat"), include_str!("fixtures/stat")).unwrap();
    write(
        at("proc/diskstats"),
        "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n8 1 sda1 1 2 3 4 5 6 7 8 9 10 11\n\
         8 2 sda2 1 2 3 4 5 6 7 8 9 10 11\n8 16 sdb 1 2 3 4 5 6 7 8 9 10 11\n9 0 md0 1 2 3 4 5 6 7 8 9 10 11\n",
    )
    .unwrap();
    let stats = include_str!("fixtures/mountstats").replace("/mnt/data", "/nowhere/nfs");
    write(at("proc/self/mountstats"), stats).unwrap();
    write(at("proc/cpuinfo"), "processor : 0\nmodel name : Fast CPU\nphysical id : 0\ncore id : 0\n\nprocessor : 1\nmodel name : Fast CPU\nphysical id : 0\ncore id : 0\n").unwrap();
    write(at("proc/meminfo"), "MemTotal:       1024 kB\n").unwrap();
    root
}

fn names(resolution: &ResolvedPath) -> Vec<&str> {
    resolution.devices.iter().map(|device| device.name.as_str()).collect()
}

#[test]
fn stacks_of_files() {
    let root = machine();
    let map = DeviceResolver::new(root.path());
    let resolve = |path: &str| map.resolve(Path::new(path));
    assert_eq!(names(&resolve("/nowhere/else/file")), ["sda1", "sda"]);
    let volume = resolve("/nowhere/vg data/file");
    assert_eq!(names(&volume), ["dm-0", "md0", "sda2", "sda", "sdb"]);
    assert_eq!(volume.devices[3].chain, "/nowhere/vg data/file → dm-0 → md0 → sda2 → sda");
    let mount = volume.mount.unwrap();
    assert_eq!((mount.file_system.as_str(), mount.mount_point.as_str()), ("xfs", "/nowhere/vg data"));
    assert!(mount.options.contains("noatime") && mount.options.contains("logbufs=8"));
    assert_eq!(names(&resolve("/nowhere/pool/file")), ["sda1", "sda", "sdb"]);
    let nfs = resolve("/nowhere/nfs/file");
    assert_eq!((nfs.devices.len(), nfs.nfs_mounts), (0, vec!["/nowhere/nfs".to_string()]));
    for (path, words) in [("/nowhere/memory/x", "lives in memory"), ("/nowhere/layers/x", "overlay does not tell")] {
        let found = resolve(path);
        assert!(found.devices.is_empty() && found.reasons[0].contains(words), "{:?}", found.reasons);
    }
}

fn rows<R: Row>(batches: &[RowBatch]) -> Vec<R> {
    batches.iter().flat_map(|batch| batch.to_rows::<R>().unwrap()).collect()
}

#[test]
fn samples_of_a_tree() {
    let root = machine();
    let target = |name: &str, path: &str| (name.to_string(), PathBuf::from(path));
    let targets = [
        target("sd1", "/nowhere/else/file"),
        target("sd2", "/nowhere/vg data/file"),
        target("sd3", "/nowhere/nfs/file"),
        target("sd4", "/nowhere/memory/file"),
    ];
    let mut sampler = CounterSampler::with_root(root.path(), &targets);
    let future = u64::MAX / 4;
    let batches = sampler.sample(future, future - 1_500_000_000);
    let cpus: Vec<Cpu> = rows(&batches);
    assert_eq!(cpus.iter().map(|cpu| cpu.cpu.as_str()).collect::<Vec<_>>(), ["all", "0", "1"]);
    assert_eq!((cpus[0].t_ns, cpus[0].t_s, cpus[0].clock.as_str()), (i64::try_from(future).unwrap(), 1.5, "tick"));
    let ticks = i64::try_from(rustix::param::clock_ticks_per_second()).unwrap();
    assert_eq!(cpus[0].user_ns, 11637 * (1_000_000_000 / ticks));
    let disks: Vec<Disk> = rows(&batches);
    let under: Vec<(&str, &str)> = disks.iter().map(|disk| (disk.device.as_str(), disk.target.as_str())).collect();
    assert_eq!(under, [("sda", "sd1,sd2"), ("sda1", "sd1"), ("sda2", "sd2"), ("sdb", "sd2"), ("md0", "sd2")]);
    assert_eq!((disks[0].write_ios, disks[0].discard_ios, disks[0].flush_ticks_ms), (Some(5), Some(12), Some(17)));
    assert_eq!((disks[1].weighted_ticks_ms, disks[1].discard_ios, disks[1].flush_ios), (Some(11), None, None));
    let mounts: Vec<NfsMount> = rows(&batches);
    assert_eq!(mounts.len(), 1);
    assert_eq!((mounts[0].target.as_str(), mounts[0].write_ops, mounts[0].retransmits), ("sd3", Some(64), Some(1)));
    assert_eq!((mounts[0].read_bytes, mounts[0].read_ticks_ms), (Some(1_048_576), Some(40)));
    let said: Vec<String> = rows::<Event>(&batches).into_iter().map(|event| event.message).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().any(|text| text.contains("lives in memory")));
    assert!(said.iter().any(|text| text.contains("no counters of dm-0")));
    assert!(sampler.last_times().end_ns >= sampler.last_times().begin_ns);

    // Once said, silence; then a device comes and one goes, and NFS is unmounted.
    assert!(rows::<Event>(&sampler.sample(future + 1, 0)).is_empty());
    write(root.path().join("proc/diskstats"), "253 0 dm-0 1 2 3 4 5 6 7 8 9 10 11\n").unwrap();
    write(root.path().join("proc/self/mountstats"), "device tmpfs mounted on /x with fstype tmpfs\n").unwrap();
    let batches = sampler.sample(future + 2, 0);
    assert_eq!(rows::<Disk>(&batches).len(), 1);
    assert!(rows::<NfsMount>(&batches).is_empty());
    let said: Vec<String> = rows::<Event>(&batches).into_iter().map(|event| event.message).collect();
    assert!(said.contains(&"counters of dm-0 are back".to_string()), "{said:?}");
    assert!(said.iter().any(|text| text.contains("no counters of /nowhere/nfs")), "{said:?}");
    assert_eq!(said.iter().filter(|text| text.starts_with("no counters of")).count(), 6, "{said:?}");
}

#[test]
fn without_files_there_are_reasons_and_no_zeroes() {
    let root = tempfile::tempdir().unwrap();
    let mut sampler = CounterSampler::with_root(root.path(), &[("sd1".to_string(), PathBuf::from("/x"))]);
    let batches = sampler.sample(1, 0);
    assert!(rows::<Cpu>(&batches).is_empty() && rows::<Disk>(&batches).is_empty());
    let said: Vec<Event> = rows(&batches);
    assert!(
        said.iter().any(|event| event.message.contains("proc/stat") && event.severity == EventSeverity::Warning),
        "{said:?}"
    );
    assert!(said.iter().any(|event| event.target.as_deref() == Some("sd1")), "{said:?}");
    let inventory = hardware_of(root.path(), &[]);
    assert!(inventory["cpu"]["model"].is_null() && inventory["memory_bytes"].is_null());
}

#[test]
fn inventory_of_a_tree() {
    let root = machine();
    let inventory = hardware_of(root.path(), &[("sd1".to_string(), PathBuf::from("/nowhere/vg data/file"))]);
    assert_eq!(inventory["cpu"]["model"], "Fast CPU");
    assert_eq!((inventory["cpu"]["online"].as_u64(), inventory["cpu"]["cores"].as_u64()), (Some(2), Some(1)));
    assert!(inventory["cpu"]["hypervisor"].is_null(), "this processor does not tell");
    for (flags, expect) in [("fpu hypervisor lahf_lm", true), ("fpu vmx hypervisors", false)] {
        write(root.path().join("proc/cpuinfo"), format!("processor : 0\nflags\t\t: {flags}\n")).unwrap();
        assert_eq!(hardware_of(root.path(), &[])["cpu"]["hypervisor"], expect);
    }
    assert_eq!(inventory["memory_bytes"], 1 << 20);
    let sda = &inventory["devices"]["sda"];
    assert_eq!((sda["model"].as_str(), sda["scheduler"].as_str()), (Some("SPINNER 9000"), Some("bfq")));
    assert_eq!((sda["rotational"].as_bool(), sda["size_bytes"].as_u64()), (Some(true), Some(MIB)));
    assert_eq!((sda["link"]["speed"].as_str(), sda["link"]["width"].as_str()), (Some("8.0 GT/s PCIe"), Some("4")));
    // A lane of generation 3 is 985 MB/s: 8 GT/s, 128 of 130 bits.
    assert_eq!(sda["path_bytes_per_s"], 3_938_461_538_u64);
    assert_eq!(sda["path"], "carries at most 3.94 GB/s (PCIe 8.0 GT/s x4)");
    assert!(sda["serial"].is_null());
    // A partition shows its disk's queue.
    assert_eq!(inventory["devices"]["sda2"]["scheduler"], "bfq");
    assert_eq!(inventory["devices"]["dm-0"]["mapped_name"], "vg-data");
    assert_eq!(inventory["targets"][0]["mount"]["file_system"], "xfs");
    assert_eq!(inventory["targets"][0]["devices"].as_array().unwrap().len(), 5);
}

#[test]
fn disks_by_controller() {
    let root = tempfile::tempdir().unwrap();
    let block = root.path().join("sys/block");
    std::fs::create_dir_all(&block).unwrap();
    let devices = [
        ("sda", "pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda"),
        ("sdb", "pci0000:00/0000:00:03.0/0000:05:00.0/host0/rport-0:0-1/target0:0:1/0:0:1:0/block/sdb"),
        ("nvme0n1", "pci0000:00/0000:00:1d.0/0000:02:00.0/nvme/nvme0/nvme0n1"),
        ("vda", "pci0000:00/0000:00:02.0/virtio1/block/vda"),
        ("loop0", "virtual/block/loop0"),
    ];
    for (name, place) in devices {
        let place = root.path().join("sys/devices").join(place);
        std::fs::create_dir_all(&place).unwrap();
        std::os::unix::fs::symlink(&place, block.join(name)).unwrap();
    }
    let expect = serde_json::json!({
        "sda": "0000:00:1f.2 ata3",
        "sdb": "0000:05:00.0 host0",
        "nvme0n1": "0000:02:00.0",
        "vda": "0000:00:02.0",
    });
    assert_eq!(hardware_of(root.path(), &[])["controllers"], expect);
}

#[test]
fn without_targets_every_disk_and_interface_is_described() {
    let root = machine();
    let at = |path: &str| root.path().join(path);
    create_dir_all(at("sys/block")).unwrap();
    for (name, place) in [("sda", "pci0/sda"), ("sdb", "pci0/sdb"), ("dm-0", "virtual/dm-0")] {
        symlink(at("sys/devices").join(place), at("sys/block").join(name)).unwrap();
    }
    // A loop device without a file holds nothing.
    create_dir_all(at("sys/devices/virtual/loop0/queue")).unwrap();
    write(at("sys/devices/virtual/loop0/size"), "0\n").unwrap();
    symlink(at("sys/devices/virtual/loop0"), at("sys/block/loop0")).unwrap();
    write(at("sys/devices/pci0/sda/queue/nr_requests"), "256\n").unwrap();
    write(at("sys/devices/pci0/sda/queue/logical_block_size"), "512\n").unwrap();
    let card = at("sys/devices/pci0/0000:03:00.0");
    create_dir_all(card.join("driver_of")).unwrap();
    symlink(card.join("driver_of"), card.join("driver")).unwrap();
    for (name, speed) in [("eth0", "100000"), ("veth7", "10000")] {
        let folder = at("sys/class/net").join(name);
        create_dir_all(&folder).unwrap();
        write(folder.join("speed"), speed).unwrap();
        write(folder.join("duplex"), "full").unwrap();
        write(folder.join("mtu"), "9000").unwrap();
    }
    symlink(&card, at("sys/class/net/eth0/device")).unwrap();
    let inventory = hardware_of(root.path(), &[]);
    let names: Vec<&String> = inventory["devices"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["dm-0", "sda", "sdb"]);
    assert_eq!(inventory["over"], serde_json::json!({"dm-0": ["md0", "sda2", "sda", "sdb"]}), "disks stand on nothing");
    let sda = &inventory["devices"]["sda"];
    assert_eq!((sda["nr_requests"].as_u64(), sda["logical_block_bytes"].as_u64()), (Some(256), Some(512)));
    assert_eq!((sda["rotational"].as_bool(), sda["model"].as_str()), (Some(true), Some("SPINNER 9000")));
    let names: Vec<&String> = inventory["interfaces"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["eth0"], "what has no hardware is no path");
    let eth0 = &inventory["interfaces"]["eth0"];
    assert_eq!((eth0["driver"].as_str(), eth0["duplex"].as_str()), (Some("driver_of"), Some("full")));
    assert_eq!((eth0["mbit_per_s"].as_u64(), eth0["mtu_bytes"].as_u64()), (Some(100_000), Some(9000)));
    // The port carries 12.5 GB/s, its four lanes of generation 3 do not.
    assert_eq!(eth0["path"], "carries at most 3.94 GB/s (PCIe 8.0 GT/s x4)");
}

#[test]
fn this_machine() {
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let targets = [("sd1".to_string(), scratch.path().join("not-there-yet"))];
    let mut sampler = CounterSampler::new(&targets);
    let batches = sampler.sample(0, 0);
    let cpus: Vec<Cpu> = rows(&batches);
    assert!(cpus.len() > 1 && cpus[0].user_ns > 0);
    let times = sampler.last_times();
    let read = u64::try_from(cpus[0].t_ns).unwrap();
    assert!((times.begin_ns..=times.end_ns).contains(&read), "rows carry the moment of reading");
    let inventory = hardware(&targets);
    assert!(inventory["memory_bytes"].as_u64() > Some(MIB));
    assert!(inventory["cpu"]["online"].as_u64() >= Some(1));
    assert!(inventory["targets"][0]["mount"]["mount_point"].is_string());
}

#[test]
fn loop_device_over_a_file() {
    if !require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(64 * MIB).unwrap();
    let below = DeviceResolver::new(Path::new("/")).resolve(device.backing());
    let found = DeviceResolver::new(Path::new("/")).resolve(device.path());
    assert_eq!(found.devices[0].name, device.name());
    assert_eq!(names(&found)[1..], names(&below)[..], "then what its file lies on");
    if !below.devices.is_empty() {
        let chain = &found.devices[1].chain;
        assert!(chain.contains(&device.backing().display().to_string()), "{chain}");
    }
    // A file system on it, and known I/O counted.
    let mounted = MountedFileSystem::make(FileSystem::Ext4, device.path()).unwrap();
    let file = mounted.path().join("file");
    assert_eq!(DeviceResolver::new(Path::new("/")).resolve(&file).devices[0].name, device.name());
    let mut sampler = CounterSampler::new(&[("sd1".to_string(), file.clone())]);
    let row =
        |batches: &[RowBatch]| rows::<Disk>(batches).into_iter().find(|disk| disk.device == device.name()).unwrap();
    let before = row(&sampler.sample(0, 0));
    write(&file, vec![7; 8 << 20]).unwrap();
    std::fs::File::open(&file).unwrap().sync_all().unwrap();
    let after = row(&sampler.sample(0, 0));
    assert!(after.write_sectors.unwrap() - before.write_sectors.unwrap() >= (8 << 20) / 512, "{before:?} {after:?}");
    assert!(after.t_ns > before.t_ns && after.target == "sd1");
    let inventory = hardware(&[("sd1".to_string(), file)]);
    let device = &inventory["devices"][device.name()];
    assert_eq!((device["size_bytes"].as_u64(), device["logical_block_bytes"].as_u64()), (Some(64 * MIB), Some(512)));
    assert!(device["backing_file"].is_string());
}

#[test]
fn all_members_of_a_btrfs() {
    if !require_root_or_skip() || !FileSystem::Btrfs.is_available() && testkit::lacks("btrfs") {
        return;
    }
    let devices = [LoopDevice::new(256 * MIB).unwrap(), LoopDevice::new(256 * MIB).unwrap()];
    let paths = devices.each_ref().map(|device| device.path().display().to_string());
    testkit::mkfs_btrfs(&["-q", "-f", &paths[0], &paths[1]]).unwrap();
    let scanned = std::process::Command::new("btrfs").args(["device", "scan", &paths[0], &paths[1]]).output().unwrap();
    assert!(scanned.status.success());
    let mounted = MountedFileSystem::device(devices[0].path()).unwrap();
    let found = DeviceResolver::new(Path::new("/")).resolve(&mounted.path().join("file"));
    for device in &devices {
        assert!(names(&found).contains(&device.name().as_str()), "{found:?}");
    }
}

#[test]
fn memory_has_a_reason() {
    let scratch = scratch_dir(ScratchPlace::Memory).unwrap();
    let found = DeviceResolver::new(Path::new("/")).resolve(scratch.path());
    assert!(found.devices.is_empty() && found.reasons[0].contains("lives in memory"), "{found:?}");
}

#[test]
fn a_thousand_devices() {
    sample_a_thousand_devices(false);
}

#[test]
#[ignore = "times: make exam"]
fn a_thousand_devices_take_a_small_part_of_an_interval() {
    testkit::while_cpus_are_ours(|| sample_a_thousand_devices(true));
}

/// 1,024 devices among twice as many. On a machine that is `quiet` a sample stays far below an interval.
fn sample_a_thousand_devices(quiet: bool) {
    let root = machine();
    let mut text = String::new();
    for minor in 0..2048 {
        let directory = root.path().join(format!("sys/devices/virtual/loop{minor}"));
        create_dir_all(&directory).unwrap();
        write(directory.join("dev"), format!("7:{minor}\n")).unwrap();
        symlink(&directory, root.path().join(format!("sys/dev/block/7:{minor}"))).unwrap();
        text += &format!("   7 {minor:7} loop{minor} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n");
    }
    let mut mounts = String::new();
    for minor in 0..1024 {
        mounts += &format!("{} 20 7:{minor} / /nowhere/m{minor} rw - ext4 /dev/loop{minor} rw\n", minor + 100);
    }
    write(root.path().join("proc/self/mountinfo"), mounts).unwrap();
    write(root.path().join("proc/diskstats"), text).unwrap();
    let targets: Vec<(String, PathBuf)> =
        (0..1024).map(|index| (format!("sd{index}"), PathBuf::from(format!("/nowhere/m{index}/f")))).collect();
    let mut sampler = CounterSampler::with_root(root.path(), &targets);
    let batches = sampler.sample(0, 0);
    assert_eq!(rows::<Disk>(&batches).len(), 1024);
    let mut best_ns = u64::MAX;
    for _ in 0..5 {
        sampler.sample(0, 0);
        let times = sampler.last_times();
        best_ns = best_ns.min(times.end_ns - times.begin_ns);
    }
    assert!(!quiet || best_ns < 100_000_000, "{best_ns} ns");
}
