//! Regular files, and what is none.

use crate::{Flag, destroy, open_for, own_sectors, refused, spec};
use plan::OpenFlags;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use target::{ErrorKind, InspectionFinding, TargetAccess, TargetKind, UserPattern, WritePolicy, inspect, open};
use testkit::{LoopDevice, MountedFileSystem, ScratchPlace, Swap, require_root_or_skip, scratch_dir};

const MIB: u64 = 1 << 20;

#[test]
fn makes_marks_fills_and_extends_its_own() {
    for place in [ScratchPlace::Disk, ScratchPlace::Memory] {
        let scratch = scratch_dir(place).unwrap();
        let path = scratch.path().join("file");
        let asked = spec(&path, Some(4 * MIB));
        assert_eq!(
            inspect(&asked, TargetAccess::Write, &WritePolicy::default()).unwrap(),
            InspectionFinding::Create { bytes: 4 * MIB }
        );
        assert!(!path.exists(), "inspect made it");
        let opened = open_for(&path, Some(4 * MIB), TargetAccess::Write).unwrap();
        assert_eq!((opened.size_bytes, opened.fill.clone()), (4 * MIB, Some(0..4 * MIB)));
        assert!(opened.notes.is_empty(), "{:?}", opened.notes);
        assert!(matches!(&opened.kind, TargetKind::File { file_system, .. } if !file_system.contains(' ')));
        // Half of it written: the rest is still to be filled, and a reader gets the means to do so.
        rustix::io::pwrite(&opened, &own_sectors(2 << 20), 0).unwrap();
        opened.mark_filled(2 * MIB).unwrap();
        drop(opened);
        // For the file system what was read is written.
        std::fs::read(&path).unwrap();
        let opened = open_for(&path, None, TargetAccess::Read).unwrap();
        assert_eq!((opened.fill.clone(), opened.writable), (Some(2 * MIB..4 * MIB), true));
        rustix::io::pwrite(&opened, &own_sectors(2 << 20), 2 * MIB).unwrap();
        opened.mark_filled(4 * MIB).unwrap();
        // What a load trims stays as it is.
        let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&opened, punch, MIB, MIB).unwrap();
        drop(opened);
        let opened = open_for(&path, None, TargetAccess::Read).unwrap();
        assert_eq!((opened.fill.clone(), opened.writable), (None, false));
        drop(opened);
        let finding = inspect(&spec(&path, None), TargetAccess::Write, &WritePolicy::default()).unwrap();
        assert_eq!(finding, InspectionFinding::OverwriteOwn { bytes: 4 * MIB });
        let finding = inspect(&spec(&path, Some(6 * MIB)), TargetAccess::Read, &WritePolicy::default()).unwrap();
        assert_eq!(finding, InspectionFinding::Extend { from_bytes: 4 * MIB, to_bytes: 6 * MIB });
        let opened = open_for(&path, Some(6 * MIB), TargetAccess::Read).unwrap();
        assert_eq!(opened.fill, Some(4 * MIB..6 * MIB));
        assert_eq!(path.metadata().unwrap().len(), 6 * MIB);
    }
}

#[test]
fn foreign_files() {
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let path = scratch.path().join("thesis.txt");
    std::fs::write(&path, "years of work").unwrap();
    let what = ["a file of 13 B is there that iodyno did not make", "user.iodyno"];
    refused(&path, Some(&path), &what, Flag::Destroy);
    // size= never authorises one, neither to write nor to extend it for reading.
    for (size, access) in
        [(Some(13), TargetAccess::Write), (Some(MIB), TargetAccess::Write), (Some(MIB), TargetAccess::Read)]
    {
        let error = open_for(&path, size, access).unwrap_err();
        match access {
            TargetAccess::Write => assert!(matches!(error.kind, ErrorKind::ForeignFile { .. }), "{error}"),
            // A smaller size reads it.
            TargetAccess::Read => assert!(matches!(error.kind, ErrorKind::ForeignExtension { .. }), "{error}"),
        }
        assert!(error.is_refusal() && error.to_string().contains("--destroy"), "{error}");
    }
    let finding = inspect(&spec(&path, Some(MIB)), TargetAccess::Read, &destroy(&path)).unwrap();
    assert_eq!(finding, InspectionFinding::ExtendForeign { from_bytes: 13, to_bytes: MIB });
    assert_eq!(std::fs::read(&path).unwrap(), b"years of work");
    let link = scratch.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    refused(&link, Some(&path), &what, Flag::Destroy);
    assert_eq!(open_for(&path, None, TargetAccess::Read).unwrap().size_bytes, 13);
    // An empty one belongs to another program as well.
    let empty = scratch.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let error = open_for(&empty, Some(MIB), TargetAccess::Write).unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains("--destroy"), "{error}");
    // With the flag it becomes iodyno's.
    drop(open(&spec(&path, Some(MIB)), OpenFlags::default(), TargetAccess::Write, &destroy(&path)).unwrap());
    assert_eq!(path.metadata().unwrap().len(), MIB);
    let error = open_for(&path, None, TargetAccess::Write).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::ForeignContent { offset: 0, .. }), "still the thesis: {error}");
}

#[test]
fn own_file_with_something_else_in_it() {
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let (path, copy) = (scratch.path().join("file"), scratch.path().join("copy"));
    drop(open_for(&path, Some(4 * MIB), TargetAccess::Write).unwrap());
    std::fs::write(&copy, vec![b'x'; 5 << 20]).unwrap();
    // Copying over it keeps the mark.
    std::fs::copy(&copy, &path).unwrap();
    refused(&path, Some(&path), &["data that iodyno did not write (78 78"], Flag::Destroy);
    // A user's pattern is remembered.
    std::fs::remove_file(&path).unwrap();
    let opened = open_for(&path, Some(4 * MIB), TargetAccess::Write).unwrap();
    opened.remember(&UserPattern { bytes: vec![b'x'], anew: true }).unwrap();
    rustix::io::pwrite(&opened, &[b'x'; 4096], 0).unwrap();
    drop(opened);
    assert!(open_for(&path, None, TargetAccess::Write).is_ok());
}

#[test]
fn paths_of_the_system() {
    for (path, directory) in [
        ("/etc/iodyno-test", "/etc"),
        ("/usr/share/iodyno-test", "/usr"),
        ("/bin/iodyno-test", "/usr"),
        ("/lib/iodyno-test", "/usr"),
        ("/boot/iodyno-test", "/boot"),
        ("/dev/iodyno-test", "/dev"),
        ("/proc/iodyno-test", "/proc"),
        ("/sys/iodyno-test", "/sys"),
    ] {
        for policy in [WritePolicy::default(), destroy(Path::new(path))] {
            for access in [TargetAccess::Read, TargetAccess::Write] {
                let error = open(&spec(Path::new(path), Some(MIB)), OpenFlags::default(), access, &policy).unwrap_err();
                let text = error.to_string();
                match directory {
                    "/dev" => assert!(text.contains("there is no such device"), "{text}"),
                    _ => assert!(matches!(error.kind, ErrorKind::SystemPath { .. }), "{text}"),
                }
                assert!(error.is_refusal(), "{text}");
                assert!(text.contains(directory) || text.contains(&path[..4]), "{text}");
                assert!(text.contains("no flag overrides this"), "{text}");
                assert!(!Path::new(path).exists());
            }
        }
    }
    refused(Path::new("/etc/hostname"), Some(Path::new("/etc/hostname")), &["under /etc"], Flag::None);
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let (file, directory) = (scratch.path().join("file"), scratch.path().join("directory"));
    std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
    std::os::unix::fs::symlink("/etc", &directory).unwrap();
    refused(&file, Some(Path::new("/etc/hostname")), &["under /etc"], Flag::None);
    let error = open_for(&directory.join("iodyno-test"), Some(MIB), TargetAccess::Write).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::SystemPath { .. }), "{error}");
    if require_root_or_skip() {
        let bound = MountedFileSystem::mount(&["--bind", "/etc"]).unwrap();
        let error = open_for(&bound.path().join("iodyno-test"), Some(MIB), TargetAccess::Write).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::SystemPath { .. }), "{error}");
        // A part of it, and a folder of the test's own that is bound the same way.
        let part = std::fs::read_dir("/etc").unwrap().flatten().find(|entry| entry.path().is_dir()).unwrap().path();
        for (source, is_system) in [(part.as_path(), true), (scratch.path(), false)] {
            let bound = MountedFileSystem::mount(&["--bind", &source.display().to_string()]).unwrap();
            let result =
                inspect(&spec(&bound.path().join("new"), Some(MIB)), TargetAccess::Write, &destroy(Path::new("/")));
            assert_eq!(
                matches!(&result, Err(error) if error.is_refusal()),
                is_system,
                "{}: {result:?}",
                source.display()
            );
        }
    }
}

#[test]
fn what_is_no_target() {
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    refused(scratch.path(), None, &["a directory"], Flag::None);
    let fifo = scratch.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    refused(&fifo, None, &["a FIFO"], Flag::None);
    let socket = scratch.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    refused(&socket, None, &["a socket"], Flag::None);
    refused(Path::new("/dev/null"), None, &["a character device"], Flag::None);
    refused(Path::new("/dev/zero"), None, &["a character device"], Flag::None);
    assert_eq!(open_for(Path::new("/dev/zero"), Some(MIB), TargetAccess::Read).unwrap().kind, TargetKind::Zeroes);
    let dangling = scratch.path().join("dangling");
    std::os::unix::fs::symlink(scratch.path().join("nowhere"), &dangling).unwrap();
    refused(&dangling, None, &["a symbolic link to nothing"], Flag::None);
    assert!(!scratch.path().join("nowhere").exists());
}

#[test]
fn what_cannot_be_made() {
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let path = scratch.path().join("file");
    let kind = |path: &Path, size| open_for(path, size, TargetAccess::Write).unwrap_err().kind;
    assert!(matches!(kind(&path, None), ErrorKind::NotFound));
    assert!(matches!(kind(&scratch.path().join("no/file"), Some(MIB)), ErrorKind::NoParent { .. }));
    let error = open_for(&path, Some(1 << 60), TargetAccess::Write).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::NoSpace { .. }) && !error.is_refusal(), "{error}");
    assert!(error.to_string().contains("1152921504606846976 bytes"), "{error}");
    let never = WritePolicy { never_create: true, ..WritePolicy::default() };
    let error = open(&spec(&path, Some(MIB)), OpenFlags::default(), TargetAccess::Write, &never).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::CreationOff { .. }), "{error}");
    assert!(!path.exists());
}

#[test]
fn behind_a_loop_device_and_swap_file() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let path = scratch.path().join("image");
    drop(open_for(&path, Some(16 * MIB), TargetAccess::Write).unwrap());
    {
        let device = LoopDevice::over(&path).unwrap();
        let name = device.path().display().to_string();
        refused(&path, Some(&path), &["behind the active loop device", &name], Flag::None);
        let hard_link = scratch.path().join("hard-link");
        std::fs::hard_link(&path, &hard_link).unwrap();
        refused(&hard_link, Some(&path), &["behind the active loop device", &name], Flag::None);
    }
    // Swap wants a file without holes.
    OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&vec![0; 16 << 20], 0).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    {
        let _swap = Swap::on(&path).unwrap();
        refused(&path, Some(&path), &["in use as swap"], Flag::None);
    }
    refused(&path, Some(&path), &["swap space"], Flag::Destroy);
}

#[test]
fn locked_by_another() {
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let path = scratch.path().join("file");
    drop(open_for(&path, Some(MIB), TargetAccess::Write).unwrap());
    let other = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    other.lock().unwrap();
    refused(&path, Some(&path), &["locked by another program"], Flag::None);
    drop(other);
    let opened = open_for(&path, None, TargetAccess::Write).unwrap();
    assert!(OpenOptions::new().read(true).write(true).open(&path).unwrap().try_lock().is_err());
    drop(opened);
}

#[test]
fn direct_io_where_it_is_not_to_be_had() {
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    let path = scratch.path().join("file");
    let direct = OpenFlags { direct: true, ..OpenFlags::default() };
    let opened = open(&spec(&path, Some(MIB)), direct, TargetAccess::Write, &WritePolicy::default()).unwrap();
    assert!(opened.direct && opened.logical_block_bytes.is_power_of_two() && opened.logical_block_bytes >= 512);
    // procfs has none; reading from it is fine otherwise, as far as it has a size.
    let path = Path::new("/proc/self/mountinfo");
    let error = open(&spec(path, None), direct, TargetAccess::Read, &WritePolicy::default()).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Empty | ErrorKind::NoDirect { .. }), "{error}");
}

#[test]
fn a_user_without_rights() {
    if !require_root_or_skip() {
        return;
    }
    // The user for a file of root's, a device, and a directory that is not its own.
    let scratch = scratch_dir(ScratchPlace::Disk).unwrap();
    std::fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let own = scratch.path().join("own");
    drop(open_for(&own, Some(MIB), TargetAccess::Write).unwrap());
    let secret = scratch.path().join("secret");
    std::fs::write(&secret, "x").unwrap();
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let device = LoopDevice::new(4 * MIB).unwrap();
    let new = scratch.path().join("new");
    let before = scratch.path().metadata().unwrap().mtime_nsec();
    for (path, words) in [(&own, "write"), (&secret, "read"), (&device.path().to_owned(), "write"), (&new, "create")] {
        // A process of its own: credentials belong to the process. A copy, since a user without rights may not enter
        // the build folder.
        let program = scratch.path().join("program");
        testkit::copy_program(std::env::current_exe().unwrap(), &program).unwrap();
        let output = testkit::TestCommand::new(&program)
            .args(["--exact", "files::as_a_user_without_rights", "--nocapture", "--ignored"])
            .env("IODYNO_TEST_PATH", path)
            .user(65534)
            .run()
            .unwrap();
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(text.contains(&format!("no permission to {words} it as user 65534")), "{}: {text}", path.display());
        assert!(text.contains("privilege true"), "{text}");
        std::fs::remove_file(&program).unwrap();
    }
    let _ = before;
    assert!(!new.exists());
}

/// Not a test of its own: what [`a_user_without_rights`] runs as another user.
#[test]
#[ignore = "started by a_user_without_rights"]
fn as_a_user_without_rights() {
    let Some(path) = std::env::var_os("IODYNO_TEST_PATH") else { return };
    for result in [
        open_for(Path::new(&path), Some(MIB), TargetAccess::Write).map(drop),
        inspect(&spec(Path::new(&path), Some(MIB)), TargetAccess::Write, &WritePolicy::default()).map(drop),
    ] {
        let error = result.unwrap_err();
        println!("{error}; privilege {}", error.is_privilege());
    }
}

#[test]
fn registry_where_there_are_no_attributes() {
    if !require_root_or_skip() {
        return;
    }
    // vfat and proc have none; ramfs has none either and needs no tool.
    let Ok(mounted) = MountedFileSystem::mount(&["-t", "ramfs", "ramfs"]) else {
        testkit::lacks("ramfs");
        return;
    };
    let path = mounted.path().join("file");
    let state = scratch_dir(ScratchPlace::Disk).unwrap();
    // Root's registry lies in /var/lib; the mark's own tests cover its lines, this one that no mark means refusal.
    drop(state);
    std::fs::write(&path, "x").unwrap();
    refused(&path, Some(&path), &["iodyno did not make"], Flag::Destroy);
}
