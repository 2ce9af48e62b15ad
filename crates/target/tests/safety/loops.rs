//! What loop devices stand on is known by identity, under any name and in any namespace.

use crate::{Flag, open_for, refused};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use target::{TargetAccess, inspect};
use testkit::{FileSystem, LoopDevice, MountedFileSystem, ScratchPlace, lacks, require_root_or_skip, scratch_dir};

const MIB: u64 = 1 << 20;

/// A shell in a mount namespace of its own.
struct Elsewhere {
    shell: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Elsewhere {
    fn new() -> Self {
        let mut shell = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh"])
            .envs([testkit::mark()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(shell.stdout.take().unwrap());
        Self { shell, answers }
    }

    /// Runs a command there; returns the line that it prints.
    #[track_caller]
    fn run(&mut self, command: &str) -> String {
        let input = self.shell.stdin.as_mut().unwrap();
        writeln!(input, "{command} && echo || echo FAILED").unwrap();
        let mut text = String::new();
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "{command}: the shell is gone");
            assert_ne!(line, "FAILED\n", "{command}");
            if line == "\n" {
                return text.trim().to_string();
            }
            text += &line;
        }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// Waits until something holds: what was just closed here may be open for a moment longer in a child that another test
/// has forked and that has not begun its program.
#[track_caller]
fn eventually(holds: impl Fn() -> bool) {
    let is_done = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        holds()
    });
    assert!(is_done, "it does not hold after 10 s");
}

/// Detaches a loop device that was made elsewhere.
struct Detach(String);

impl Drop for Detach {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A file of iodyno's own, so that nothing but its use can be the reason of a refusal. Where another mount namespace uses it, its
/// name is all that the kernel shows when that is gone: [`testkit::own_name`].
fn own_file(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    drop(open_for(&path, Some(16 * MIB), TargetAccess::Write).unwrap());
    path
}

/// The case of the issue: seen from here, the path that the kernel has for the backing file leads nowhere.
#[test]
fn a_backing_file_that_another_mount_namespace_attached_is_refused() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let name = testkit::own_name("image");
    let path = own_file(scratch.path(), &name);
    let mut elsewhere = Elsewhere::new();
    elsewhere.run("mount -t tmpfs none /mnt && mkdir /mnt/hidden");
    elsewhere.run(&format!("mount --bind {} /mnt/hidden", scratch.path().display()));
    let device = elsewhere.run(&format!("losetup --find --show /mnt/hidden/{name}"));
    let detach = Detach(device.clone());
    refused(&path, Some(&path), &["behind the active loop device", &device], Flag::None);
    // Read-only ones count as well: their readers would see it change.
    drop(detach);
    let device = elsewhere.run(&format!("losetup --read-only --find --show /mnt/hidden/{name}"));
    let detach = Detach(device.clone());
    refused(&path, Some(&path), &["behind the active loop device", &device], Flag::None);
    drop(detach);
    assert!(open_for(&path, None, TargetAccess::Write).is_ok());
}

#[test]
fn a_hard_link_and_a_bind_mount_of_a_backing_file_are_refused() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let path = own_file(scratch.path(), "image");
    let link = scratch.path().join("link");
    std::fs::hard_link(&path, &link).unwrap();
    let device = LoopDevice::over(&path).unwrap();
    let name = device.path().display().to_string();
    let bound = scratch.path().join("bound");
    std::fs::create_dir(&bound).unwrap();
    let mounted = Command::new("mount").arg("--bind").args([scratch.path(), &bound]).status().unwrap();
    assert!(mounted.success());
    for other in [&link, &bound.join("image"), &bound.join("link")] {
        refused(other, Some(&path), &["behind the active loop device", &name], Flag::None);
    }
    eventually(|| Command::new("umount").arg(&bound).status().unwrap().success());
    // The name that the kernel has is gone; the file is not.
    std::fs::remove_file(&path).unwrap();
    refused(&link, Some(&link), &["behind the active loop device", &name], Flag::None);
    drop(device);
    assert!(open_for(&link, None, TargetAccess::Write).is_ok());
}

#[test]
fn the_file_below_an_overlay_and_the_one_seen_through_it_are_one() {
    if !require_root_or_skip() {
        return;
    }
    // Upper and lower layer on one file system, and on two: the numbers that an overlay shows differ.
    for lower in [ScratchPlace::Disk, ScratchPlace::Memory] {
        let (upper, lower) = (scratch_dir(ScratchPlace::Disk).unwrap(), scratch_dir(lower).unwrap());
        let merged = upper.path().join("merged");
        for name in ["upper", "work", "merged"] {
            std::fs::create_dir(upper.path().join(name)).unwrap();
        }
        let below = own_file(&upper.path().join("upper"), "image");
        let other = own_file(&upper.path().join("upper"), "other");
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            lower.path().display(),
            upper.path().join("upper").display(),
            upper.path().join("work").display()
        );
        let merged_name = merged.display().to_string();
        let mounted = Command::new("mount").args(["-t", "overlay", "-o", &options, "none", &merged_name]).status();
        if !mounted.unwrap().success() {
            testkit::lacks("overlay file systems");
            return;
        }
        let above = merged.join("image");
        for (attached, written) in [(&above, &below), (&below, &above)] {
            let device = LoopDevice::with_options(attached, &["--direct-io=off"]).unwrap();
            let name = device.path().display().to_string();
            refused(written, Some(&below), &["behind the active loop device", &name], Flag::None);
            refused(attached, Some(&below), &["behind the active loop device", &name], Flag::None);
            // Another file of the same overlay is free.
            assert!(open_for(&other, None, TargetAccess::Write).is_ok());
            drop(device);
            assert!(open_for(written, None, TargetAccess::Write).is_ok());
        }
        eventually(|| Command::new("umount").arg(&merged).status().unwrap().success());
    }
}

/// Two loop devices over one file: the kernel's exclusive claim on one says nothing about the other.
#[test]
fn a_loop_device_over_the_file_of_a_mounted_one_is_refused() {
    let available = FileSystem::Ext4.is_available() || !lacks("ext4");
    if !require_root_or_skip() || !available {
        return;
    }
    let first = LoopDevice::new(64 * MIB).unwrap();
    FileSystem::Ext4.make(first.path()).unwrap();
    let second = LoopDevice::with_options(first.backing(), &["--direct-io=off"]).unwrap();
    // Behind the file system's end: nothing of it stands there.
    let behind = LoopDevice::with_options(first.backing(), &["--direct-io=off", "--offset=67108864"]);
    drop(behind);
    let name = first.path().display().to_string();
    let mounted = MountedFileSystem::mount(&["-o", "ro", &name]).unwrap();
    let place = mounted.path().display().to_string();
    refused(
        second.path(),
        Some(second.path()),
        &[&name, "which covers the same bytes, is mounted at", &place],
        Flag::None,
    );
    drop(mounted);
    // In another mount namespace only the exclusive claim shows it; the message tells where it is.
    let mut elsewhere = Elsewhere::new();
    elsewhere.run(&format!("mount -o ro {name} /mnt"));
    let words = [name.as_str(), "which covers the same bytes, is mounted at /mnt in the mount namespace of"];
    refused(second.path(), Some(second.path()), &words, Flag::None);
    refused(first.path(), Some(first.path()), &["is mounted at /mnt in the mount namespace of"], Flag::None);
    elsewhere.run("umount /mnt");
    // Held by a program.
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let held = rustix::fs::open(first.path(), flags, rustix::fs::Mode::empty()).unwrap();
    refused(second.path(), None, &[&name, "which covers the same bytes, is opened exclusively"], Flag::None);
    drop(held);
    refused(second.path(), Some(second.path()), &["ext2/ext3/ext4 file system at byte 1080"], Flag::Destroy);
}

#[test]
fn loop_devices_over_different_parts_of_a_file_are_free_of_each_other() {
    let available = FileSystem::Ext4.is_available() || !lacks("ext4");
    if !require_root_or_skip() || !available {
        return;
    }
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let image = scratch.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(96 * MIB).unwrap();
    let low = LoopDevice::with_options(&image, &["--direct-io=off", "--sizelimit=67108864"]).unwrap();
    let high = LoopDevice::with_options(&image, &["--direct-io=off", "--offset=67108864"]).unwrap();
    let _mounted = MountedFileSystem::make(FileSystem::Ext4, low.path()).unwrap();
    assert!(open_for(high.path(), None, TargetAccess::Write).unwrap().writable);
    let overlapping = LoopDevice::with_options(&image, &["--direct-io=off", "--offset=67107840"]).unwrap();
    refused(overlapping.path(), None, &["which covers the same bytes"], Flag::None);
}

/// While a run lasts, what covers the same bytes cannot be mounted either.
#[test]
fn what_covers_the_same_bytes_is_held_while_a_target_is_open() {
    if !require_root_or_skip() {
        return;
    }
    let first = LoopDevice::new(16 * MIB).unwrap();
    let second = LoopDevice::with_options(first.backing(), &["--direct-io=off"]).unwrap();
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let open_exclusively = |path: &Path| rustix::fs::open(path, flags, rustix::fs::Mode::empty());
    let opened = open_for(second.path(), None, TargetAccess::Write).unwrap();
    assert!(open_exclusively(first.path()).is_err());
    // One plan may name both.
    assert!(open_for(first.path(), None, TargetAccess::Write).is_ok());
    drop(opened);
    eventually(|| open_exclusively(first.path()).is_ok());
    let found = inspect(&crate::spec(second.path(), None), TargetAccess::Write, &target::WritePolicy::default());
    assert!(found.is_ok(), "{found:?}");
    eventually(|| open_exclusively(first.path()).is_ok());
}

/// A loop device over a loop device whose file is swapped to, mounted elsewhere, …: what is below counts.
#[test]
fn a_loop_device_over_one_that_is_in_use_elsewhere_is_refused() {
    let available = FileSystem::Ext4.is_available() || !lacks("ext4");
    if !require_root_or_skip() || !available {
        return;
    }
    let below = LoopDevice::new(64 * MIB).unwrap();
    FileSystem::Ext4.make(below.path()).unwrap();
    let above = LoopDevice::over(below.path()).unwrap();
    let mut elsewhere = Elsewhere::new();
    elsewhere.run(&format!("mount -o ro {} /mnt", below.path().display()));
    refused(above.path(), Some(above.path()), &["is mounted at /mnt in the mount namespace of"], Flag::None);
    elsewhere.run("umount /mnt");
}

/// `/proc/swaps` has the name of the namespace in which a file was turned on.
#[test]
fn a_swap_file_of_another_mount_namespace_is_refused() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let name = testkit::own_name("image");
    let path = own_file(scratch.path(), &name);
    // Swap wants a file without holes.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().write_all(&vec![0; 16 << 20]).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut elsewhere = Elsewhere::new();
    elsewhere.run("mount -t tmpfs none /mnt && mkdir /mnt/hidden");
    elsewhere.run(&format!("mount --bind {} /mnt/hidden", scratch.path().display()));
    elsewhere.run(&format!("mkswap /mnt/hidden/{name} > /dev/null 2>&1 && swapon /mnt/hidden/{name}"));
    refused(&path, None, &[&format!("/mnt/hidden/{name} is in use as swap")], Flag::None);
    elsewhere.run(&format!("swapoff /mnt/hidden/{name}"));
    refused(&path, Some(&path), &["swap space at byte 4086"], Flag::Destroy);
}
