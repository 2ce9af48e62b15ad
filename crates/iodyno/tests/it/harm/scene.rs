//! One target that a user could name by mistake, and everything that no command may change.

use std::any::Any;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use testkit::LoopDevice;

/// 1 MiB.
pub(crate) const MIB: u64 = 1 << 20;

/// What a command that writes to the target has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Refuse with exit code 7 and name `--destroy`.
    NeedsDestroy,
    /// Refuse with exit code 7, with `--destroy` too.
    Never,
    /// Not write: any error, no flag helps (what is no target, what cannot be opened).
    Fail,
    /// Write.
    Allowed,
}

/// A target with what it stands on. Guards are dropped in the order of their making reversed.
pub(crate) struct Scene {
    /// What the user names.
    pub(crate) path: PathBuf,
    /// Files and devices whose content may not change.
    pub(crate) kept: Vec<PathBuf>,
    /// A folder whose names, types, sizes and contents may not change; files under `work` excepted.
    pub(crate) folder: PathBuf,
    guards: Vec<Box<dyn Any>>,
}

impl Scene {
    /// In a new folder on the disk.
    pub(crate) fn new() -> Self {
        let folder = testkit::scratch_dir(testkit::ScratchPlace::Disk).unwrap();
        let path = folder.path().to_path_buf();
        Self { path: path.clone(), kept: Vec::new(), folder: path, guards: vec![Box::new(folder)] }
    }

    /// Keeps a guard until the scene ends.
    pub(crate) fn hold<T: 'static>(&mut self, guard: T) {
        self.guards.push(Box::new(guard));
    }

    /// A path in the folder.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The target is `path`, and its content may not change.
    #[must_use]
    pub(crate) fn target(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.kept.push(path.clone());
        self.path = path;
        self
    }

    /// Makes a sparse image, lets `write` put something on it, and attaches a loop device, which is the target.
    pub(crate) fn device(bytes: u64, write: impl FnOnce(&Path)) -> Self {
        let mut scene = Self::new();
        let image = scene.at("image");
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        write(&image);
        let device = LoopDevice::over(&image).unwrap();
        let path = device.path().to_path_buf();
        scene.hold(device);
        scene.target(path)
    }

    /// A device of 16 MiB with these bytes at these offsets.
    pub(crate) fn bytes_on_device(pieces: &[(u64, &[u8])]) -> Self {
        Self::device(16 * MIB, |image| put(image, pieces))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        while let Some(guard) = self.guards.pop() {
            drop(guard);
        }
    }
}

/// Writes pieces into a file in place.
pub(crate) fn put(path: &Path, pieces: &[(u64, &[u8])]) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    for (offset, bytes) in pieces {
        file.write_all_at(bytes, *offset).unwrap();
    }
}

/// Runs a tool, which must succeed.
#[track_caller]
pub(crate) fn tool(program: &str, arguments: &[&str]) {
    let output = testkit::TestCommand::new(program).args(arguments).run().unwrap();
    output.expect_code(0);
}

/// What a folder and some devices hold: one line per thing, to be compared as a whole.
pub(crate) fn state(scene: &Scene) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    walk(&scene.folder, &mut found);
    for path in &scene.kept {
        let digest = match path.metadata() {
            Ok(metadata) if metadata.is_file() || metadata.file_type().is_block_device() => {
                testkit::sha256(path).unwrap_or_else(|error| format!("unreadable: {error}"))
            }
            Ok(metadata) => format!("{:?} {:?}", metadata.file_type(), metadata.rdev()),
            Err(error) => error.kind().to_string(),
        };
        found.insert(format!("kept {}", path.display()), digest);
    }
    found
}

fn walk(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let metadata = path.symlink_metadata().unwrap();
        let kind = metadata.file_type();
        let content = if kind.is_symlink() {
            format!("→ {}", std::fs::read_link(&path).unwrap().display())
        } else if kind.is_file() {
            testkit::sha256(&path).unwrap_or_default()
        } else {
            String::new()
        };
        let line = format!("{:o} {} {} {content}", metadata.mode(), metadata.rdev(), metadata.ino());
        found.insert(path.display().to_string(), line);
        if kind.is_dir() {
            walk(&path, found);
        }
    }
}

/// A scratch folder for what commands themselves write.
pub(crate) fn work() -> TempDir {
    testkit::scratch_dir(testkit::ScratchPlace::Disk).unwrap()
}
