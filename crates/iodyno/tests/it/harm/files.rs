//! Files, and what is none.

use crate::harm::devices::Row;
use crate::harm::scene::{MIB, Rule, Scene, put, tool};
use rustix::fs::{CWD, FileType, FlockOperation, Mode, mknodat};
use std::os::unix::fs::symlink;
use std::path::Path;
use testkit::{FileSystem, MountedFileSystem, Swap};

fn file(bytes: &[u8]) -> Scene {
    let scene = Scene::new();
    let path = scene.at("thesis.dat");
    std::fs::write(&path, bytes).unwrap();
    scene.target(path)
}

/// A foreign file of 4 MiB.
fn foreign() -> Scene {
    file(&vec![b'x'; 4 << 20])
}

/// The target is another name of a foreign file.
fn other_name(make: fn(&Path, &Path)) -> Option<Scene> {
    let mut scene = foreign();
    let link = scene.at("other");
    make(&scene.path, &link);
    scene.path = link;
    Some(scene)
}

/// A file that iodyno itself made and wrote, and what was done to it afterwards.
fn own(then: fn(&Path)) -> Option<Scene> {
    own_with(&[], then)
}

fn own_with(more: &[&str], then: fn(&Path)) -> Option<Scene> {
    let scene = Scene::new();
    let path = scene.at("own.dat");
    let work = crate::harm::scene::work();
    let name = path.display().to_string();
    let arguments =
        ["run", "--filename", &name, "--size", "4m", "--rw", "write", "--bs", "64k", "-o", "made", "--no-report"];
    let output =
        testkit::TestCommand::new(env!("CARGO_BIN_EXE_iodyno")).args(arguments).args(more.iter()).dir(work.path());
    output.run().unwrap().expect_code(0);
    then(&path);
    Some(scene.target(path))
}

fn special(kind: FileType, device: u64) -> Option<Scene> {
    let scene = Scene::new();
    let path = scene.at("special");
    mknodat(CWD, &path, kind, Mode::from_raw_mode(0o600), device).ok()?;
    Some(scene.target(path))
}

fn directory() -> Option<Scene> {
    let scene = Scene::new();
    let path = scene.at("directory");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("notes.txt"), "do not lose me").unwrap();
    Some(scene.target(path))
}

fn socket() -> Option<Scene> {
    let mut scene = Scene::new();
    let path = scene.at("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    scene.hold(listener);
    Some(scene.target(path))
}

fn swap_file() -> Option<Scene> {
    let mut scene = file(&vec![0; 8 << 20]);
    rustix::fs::chmod(&scene.path, Mode::from_raw_mode(0o600)).unwrap();
    let swap = Swap::on(&scene.path).ok()?;
    scene.hold(swap);
    Some(scene)
}

fn locked() -> Option<Scene> {
    let mut scene = own(|_| {})?;
    let held = std::fs::File::open(&scene.path).unwrap();
    rustix::fs::flock(&held, FlockOperation::LockExclusive).unwrap();
    scene.hold(held);
    Some(scene)
}

fn immutable() -> Option<Scene> {
    struct Immutable(String);
    impl Drop for Immutable {
        fn drop(&mut self) {
            let _ = testkit::TestCommand::new("chattr").args(["-i", &self.0]).run();
        }
    }
    let mut scene = foreign();
    let name = scene.path.display().to_string();
    let done = testkit::TestCommand::new("chattr").args(["+i", &name]).run().ok()?;
    if done.code != Some(0) {
        return None;
    }
    scene.hold(Immutable(name));
    Some(scene)
}

/// A folder of the operating system under another name.
fn bind_of_system(directory: &str, name: &str) -> Option<Scene> {
    let mut scene = Scene::new();
    let guard = MountedFileSystem::mount(&["--bind", directory]).unwrap();
    scene.path = guard.path().join(name);
    scene.hold(guard);
    scene.kept.push(Path::new(directory).join(name));
    Some(scene)
}

fn read_only_file_system() -> Option<Scene> {
    let mut scene = foreign();
    let parent = scene.folder.display().to_string();
    let guard = MountedFileSystem::mount(&["--bind", "-o", "ro", &parent]).ok()?;
    scene.path = guard.path().join("thesis.dat");
    scene.hold(guard);
    Some(scene)
}

/// A file below an overlay; the target is its name there.
fn overlay(content: fn(&Path)) -> Option<Scene> {
    let mut scene = Scene::new();
    for name in ["lower", "upper", "work"] {
        std::fs::create_dir(scene.at(name)).unwrap();
    }
    let upper = scene.at("upper/thesis.dat");
    content(&upper);
    let [low, up, work] = ["lower", "upper", "work"].map(|name| scene.at(name).display().to_string());
    let options = format!("lowerdir={low},upperdir={up},workdir={work}");
    let guard = MountedFileSystem::mount(&["-t", "overlay", "-o", &options, "overlay"]).ok()?;
    scene.path = guard.path().join("thesis.dat");
    scene.hold(guard);
    scene.kept.push(upper);
    Some(scene)
}

/// Rows about files.
pub(crate) const ROWS: &[Row] = &[
    ("foreign file", Rule::NeedsDestroy, || Some(foreign())),
    ("foreign file of zeroes", Rule::NeedsDestroy, || Some(file(&vec![0; 4 << 20]))),
    ("empty file", Rule::Fail, || Some(file(b""))),
    ("foreign file of text", Rule::NeedsDestroy, || Some(file("years of work\n".repeat(8000).as_bytes()))),
    ("file with a new line in its name", Rule::Fail, || {
        let scene = Scene::new();
        let path = scene.at("a\nb");
        std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        Some(scene.target(path))
    }),
    ("hard link to a foreign file", Rule::NeedsDestroy, || {
        other_name(|path, link| std::fs::hard_link(path, link).unwrap())
    }),
    ("symbolic link to a foreign file", Rule::NeedsDestroy, || other_name(|path, link| symlink(path, link).unwrap())),
    ("two symbolic links to a foreign file", Rule::NeedsDestroy, || {
        other_name(|path, link| {
            symlink(path, link.with_extension("2")).unwrap();
            symlink(link.with_extension("2"), link).unwrap();
        })
    }),
    ("symbolic link to nothing", Rule::Fail, || {
        let mut scene = Scene::new();
        scene.path = scene.at("dangling");
        symlink("/nonexistent/iodyno", &scene.path).unwrap();
        Some(scene)
    }),
    ("symbolic link to itself", Rule::Fail, || {
        let mut scene = Scene::new();
        scene.path = scene.at("loop");
        symlink(&scene.path, &scene.path).unwrap();
        Some(scene)
    }),
    ("ours", Rule::Allowed, || own(|_| {})),
    ("ours with a pattern", Rule::Allowed, || own_with(&["--buffer_pattern", "0xdeadbeef"], |_| {})),
    ("ours, another file copied over it", Rule::NeedsDestroy, || {
        own(|path| {
            let other = path.with_extension("other");
            std::fs::write(&other, vec![b'y'; 4 << 20]).unwrap();
            tool("cp", &[&other.display().to_string(), &path.display().to_string()]);
        })
    }),
    ("ours with a pattern, another file copied over it", Rule::NeedsDestroy, || {
        own_with(&["--buffer_pattern", "0xdeadbeef"], |path| {
            let other = path.with_extension("other");
            std::fs::write(&other, vec![b'y'; 4 << 20]).unwrap();
            tool("cp", &[&other.display().to_string(), &path.display().to_string()]);
        })
    }),
    ("ours, a file system made in it", Rule::NeedsDestroy, || own(|path| FileSystem::Ext4.make(path).unwrap())),
    ("ours with a pattern, a file system made in it", Rule::NeedsDestroy, || {
        own_with(&["--buffer_pattern", "0xdeadbeef"], |path| FileSystem::Ext4.make(path).unwrap())
    }),
    ("ours with a pattern, a MiB of it overwritten", Rule::NeedsDestroy, || {
        own_with(&["--buffer_pattern", "0xdeadbeef"], |path| put(path, &[(2 * MIB, &vec![b'z'; 1 << 20])]))
    }),
    ("ours, truncated and written anew", Rule::NeedsDestroy, || {
        own(|path| std::fs::write(path, vec![b'n'; 4 << 20]).unwrap())
    }),
    ("ours, held by another program's lock", Rule::Never, locked),
    ("directory", Rule::Never, directory),
    ("FIFO", Rule::Never, || special(FileType::Fifo, 0)),
    ("socket", Rule::Never, socket),
    ("character device", Rule::Never, || special(FileType::CharacterDevice, rustix::fs::makedev(1, 7))),
    ("block device without a driver", Rule::Fail, || special(FileType::BlockDevice, rustix::fs::makedev(259, 1000))),
    ("swap file in use", Rule::Never, swap_file),
    ("immutable file", Rule::Fail, immutable),
    ("file in /etc", Rule::Never, || Some(Scene::new().target("/etc/hostname"))),
    ("file in /usr", Rule::Never, || Some(Scene::new().target("/usr/bin/env"))),
    ("file in /proc", Rule::Fail, || Some(Scene::new().target("/proc/version"))),
    ("bind mount of /etc", Rule::Never, || bind_of_system("/etc", "hostname")),
    ("bind mount of /etc/apt", Rule::Never, || bind_of_system("/etc/apt", "sources.list.d/debian.sources")),
    ("file on a read-only mount", Rule::Fail, read_only_file_system),
    ("foreign file in an overlay", Rule::NeedsDestroy, || {
        overlay(|path| std::fs::write(path, vec![b'x'; 1 << 20]).unwrap())
    }),
];
