//! Devices that iodyno has written, by every kind of load, are written again without `--destroy`; what others wrote among
//! it is not.

use crate::support::Scratch;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use testkit::{FileSystem, LoopDevice, require_root_or_skip};

const MIB: u64 = 1 << 20;

/// Options of fio: each load ends by itself after some hundred I/Os.
const LOADS: [&str; 12] = [
    "--rw=randwrite --bs=4k --io_size=2m --iodepth=16 --direct=1",
    "--rw=write --bs=512 --io_size=128k --direct=1",
    "--rw=randwrite --bs=512 --io_size=128k --direct=1",
    "--rw=randwrite --bsrange=512-66048 --blockalign=512 --io_size=16m --direct=1",
    "--rw=write --bs=1536 --io_size=300k --offset=3584 --direct=1",
    "--rw=randwrite --bs=8k --io_size=4m --direct=0",
    "--rw=randtrim --bs=64k --io_size=16m",
    "--rw=trimwrite --bs=64k --io_size=16m --direct=1",
    "--rw=randrw --bs=16k --io_size=16m --buffer_compress_percentage=95 --direct=1",
    "--rw=randwrite --bs=4k --io_size=2m --dedupe_percentage=80 --buffer_compress_percentage=50 --direct=1",
    "--rw=write --bs=1m --io_size=40m --offset=20m --direct=1",
    "--rw=write --bs=256k --direct=1",
];

#[test]
fn devices_that_iodyno_wrote_are_written_again() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    // One that is inspected whole, and one that is sampled; sectors of 512 bytes and of 4096.
    for (bytes, sector) in [(16 * MIB, "4096"), (200 * MIB + 7 * 4096, "512")] {
        let image = scratch.path("disk");
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        let device = LoopDevice::with_options(&image, &["--direct-io=on", &format!("--sector-size={sector}")])
            .or_else(|_| LoopDevice::with_options(&image, &[&format!("--sector-size={sector}")]))
            .unwrap();
        let name = device.path().to_str().unwrap();
        let small = |load: &&&str| sector == "512" || !(load.contains("=512") || load.contains("1536"));
        let jobs: Vec<String> = LOADS
            .iter()
            .filter(small)
            .filter(|load| bytes > 64 * MIB || !load.contains("offset=20m"))
            .enumerate()
            .map(|(index, load)| format!("[load{index}]\nstonewall\n{}\n", load.replace(' ', "\n").replace("--", "")))
            .collect();
        let file = scratch.write("loads.fio", &format!("[global]\nfilename={name}\n{}", jobs.concat()));
        let run = || {
            let output = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out", "--no-report"]).run().unwrap();
            let _ = std::fs::remove_dir_all(scratch.path("out"));
            output
        };
        for time in 1..=2 {
            let output = run();
            assert_eq!(output.code, Some(0), "{bytes} bytes, time {time}: {}", output.stderr);
        }
        let text = format!(
            "compratio=3.7\ndedupratio=2\ndedupunit=4k\nsd=sd1,lun={name}\nwd=wd1,sd=sd1,xfersize=(4k,50,12k,50),rdpct=30\n\
             rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1,maxops=300\n"
        );
        scratch.run("vdbench", &text, &[]).expect_code(0);
        let _ = std::fs::remove_dir_all(scratch.path("vdbench"));
        // Among all that, a foreign sector.
        let file = OpenOptions::new().write(true).open(device.path()).unwrap();
        file.write_all_at(&[0x11; 4096], MIB).unwrap();
        drop(file);
        let output = run();
        assert_eq!(output.code, Some(7), "{}", output.stderr);
        assert!(output.stderr.contains("at byte 1048576"), "{}", output.stderr);
    }
}

/// A refusal is no lottery: what an inspection found once is looked for again, also by a dry run.
#[test]
fn what_was_found_once_is_found_again() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let (scratch, size) = (Scratch::new(), 20 << 30);
    let image = scratch.path("disk");
    std::fs::File::create(&image).unwrap().set_len(size).unwrap();
    let device = LoopDevice::over(&image).unwrap();
    std::fs::write(device.sysfs().join("queue/rotational"), "0").unwrap();
    // Half of one of the 512 parts of the device, whose sample is at a random place: found by half of the inspections.
    let part = size / 512;
    let (start, bytes) = (101 * part, usize::try_from(part / 2).unwrap());
    let write = |byte: u8| {
        let file = OpenOptions::new().write(true).open(device.path()).unwrap();
        file.write_all_at(&vec![byte; bytes], start).unwrap();
        file.sync_all().unwrap();
    };
    let name = device.path().to_str().unwrap();
    let run = |state: &str, more: &[&str]| {
        let arguments = ["run", "--name", "a", "--filename", name, "--rw", "write", "--bs", "64k", "--io-size", "64k"];
        let options = ["-o", "out", "--no-report", "--no-counters"];
        let command = scratch.iodyno(&arguments).args(options).args(more).env("IODYNO_STATE_DIR", scratch.path(state));
        let output = command.run().unwrap();
        let _ = std::fs::remove_dir_all(scratch.path("out"));
        output.code
    };
    write(b'x');
    let first = (0..60).find(|_| run("state", &["--dry-run"]) == Some(7));
    assert!(first.is_some(), "never found");
    for _ in 0..20 {
        assert_eq!(run("state", &["--dry-run"]), Some(7));
    }
    assert_eq!(run("state", &[]), Some(7));
    // What --destroy does not overwrite is still known.
    run("state", &["--destroy", name]);
    assert_eq!(run("state", &[]), Some(7));
    // Without a folder that can be written, and with a damaged one, it goes on as before.
    assert!(matches!(run("/proc/nowhere", &["--dry-run"]), Some(0 | 7)));
    // Once it is gone, nothing is held against the device.
    write(0);
    for _ in 0..3 {
        assert_eq!(run("state", &[]), Some(0));
    }
}

/// A shell line in a mount namespace without nodes of loop devices, as a container has it.
fn without_nodes(scratch: &Scratch, line: &str) -> testkit::CommandOutput {
    let nodes = "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9";
    let line = format!("{nodes} && {line}");
    testkit::TestCommand::new("unshare").args(["--mount", "sh", "-c", &line]).dir(scratch.path("")).run().unwrap()
}

/// `--destroy` on images of which the name is gone by which they were mounted: the loop device cannot be asked in a
/// container, and by a user who is not root.
#[test]
fn a_mounted_image_is_not_written_where_its_loop_device_cannot_be_asked() {
    let available = FileSystem::Ext4.is_available() || !testkit::lacks("ext4");
    if !require_root_or_skip() || !available {
        return;
    }
    let scratch = Scratch::new();
    let (image, link) = (scratch.path("image"), scratch.path("link"));
    File::create(&image).unwrap().set_len(40 << 20).unwrap();
    FileSystem::Ext4.make(&image).unwrap();
    std::fs::hard_link(&image, &link).unwrap();
    let name = image.display().to_string();
    let iodyno = env!("CARGO_BIN_EXE_iodyno");
    let run = |out: &str, path: &str| {
        format!(
            "{iodyno} run --name a --filename {path} --rw write --bs 64k --io-size 1m --no-report --no-counters -o {out} \
             --destroy {path}"
        )
    };
    let device = LoopDevice::with_options(&link, &["--direct-io=off"]).unwrap();
    let mounted = testkit::MountedFileSystem::mount(&[&device.path().display().to_string()]).unwrap();
    std::fs::remove_file(&link).unwrap();
    let before = testkit::sha256(&image).unwrap();
    let output = without_nodes(&scratch, &run("container", &name)).expect_code(7);
    assert!(output.stderr.contains(&device.path().display().to_string()), "{}", output.stderr);
    assert!(output.stderr.contains("cannot be asked"), "{}", output.stderr);
    // Other files are free there, also of others, and devices of which nothing is mounted.
    std::fs::write(scratch.path("other"), vec![b'x'; 1 << 20]).unwrap();
    without_nodes(&scratch, &run("other.iodyno", "other")).expect_code(0);
    std::fs::write(scratch.path("unseen"), vec![b'x'; 1 << 20]).unwrap();
    let output =
        without_nodes(&scratch, &format!("umount -l /sys && {}", run("unseen.iodyno", "unseen"))).expect_code(7);
    assert!(output.stderr.contains("mount sysfs"), "{}", output.stderr);
    // A user who owns it, and may not open the loop device.
    std::fs::set_permissions(scratch.path(""), std::fs::Permissions::from_mode(0o777)).unwrap();
    std::os::unix::fs::chown(&image, Some(65534), Some(65534)).unwrap();
    let output = testkit::TestCommand::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", &run("user", &name)])
        .dir(scratch.path(""))
        .run()
        .unwrap();
    assert!(
        output.stderr.contains("cannot be asked") || output.stderr.contains("ermission denied"),
        "{}",
        output.stderr
    );
    assert_ne!(output.code, Some(0));
    assert_eq!(testkit::sha256(&image).unwrap(), before, "it was written");
    drop(mounted);
    drop(device);
    without_nodes(&scratch, &run("free.iodyno", &name)).expect_code(0);
}
