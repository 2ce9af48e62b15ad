//! The files of a tree by their paths, for what is proved of them.

use super::below::open_below;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::io::{Error, ErrorKind};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;
use tree::TreeLayout;
use validation::FileNames;

/// Number of XFS in what the kernel says of a file system.
const XFS: u64 = 0x5846_5342;
/// … of btrfs.
const BTRFS: u64 = 0x9123_683e;
/// … of ext2, ext3 and ext4.
const EXT: u64 = 0xef53;

/// File systems whose servers do not hear of `syncfs`: FUSE, 9p, SMB.
const DEAF: [u64; 4] = [0x6573_5546, 0x0102_1997, 0xfe53_4d42, 0xff53_4d42];

/// The files of a tree by their paths.
#[derive(Debug)]
pub struct TreeFileNames {
    anchor: String,
    layout: TreeLayout,
    /// Open from the first look on: the system tells each descriptor of what it could not write since.
    opened: OnceLock<OwnedFd>,
}

impl TreeFileNames {
    /// Of a tree below this anchor, whose path has no links.
    #[must_use]
    pub fn new(anchor: String, layout: TreeLayout) -> Self {
        Self { anchor, layout, opened: OnceLock::new() }
    }

    fn anchor(&self) -> Result<&OwnedFd, Errno> {
        if self.opened.get().is_none() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let _ = self.opened.set(rustix::fs::open(self.anchor.as_str(), flags, Mode::empty())?);
        }
        self.opened.get().ok_or(Errno::BADF)
    }

    /// Length and kind of what has a file's name.
    fn stat(&self, file: u32) -> Result<rustix::fs::Stat, Errno> {
        let mut path = Vec::new();
        self.layout.file_path(file, &mut path);
        let (above, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
            None => (&b"."[..], &path[..]),
        };
        let directory = open_below(self.anchor()?.as_fd(), above, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
    }
}

impl FileNames for TreeFileNames {
    fn files(&self) -> u32 {
        self.layout.files()
    }

    fn bytes(&self, file: u32) -> u64 {
        self.layout.asked_bytes(file)
    }

    fn path(&self, file: u32) -> String {
        let mut path = Vec::new();
        self.layout.file_path(file, &mut path);
        format!("{}/{}", self.anchor, String::from_utf8_lossy(&path))
    }

    fn directory(&self, file: u32) -> u32 {
        self.layout.directory_of(file)
    }

    fn layout(&self) -> String {
        // Names and sizes of all of it in one number (FNV-1a).
        let mut sum = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |bytes: &[u8]| {
            for byte in bytes {
                sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        let mut path = Vec::new();
        for file in 0..self.layout.files() {
            self.layout.file_path(file, &mut path);
            add(&path);
            add(&self.layout.asked_bytes(file).to_le_bytes());
        }
        let (files, directories) = (self.layout.files(), self.layout.directories());
        format!("{files} files in {directories} directories; names and sizes {sum:016x}")
    }

    fn look(&self, file: u32) -> std::io::Result<Option<u64>> {
        match self.stat(file) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                Ok(Some(u64::try_from(stat.st_size).unwrap_or(0)))
            }
            Ok(_) => Err(Error::new(ErrorKind::InvalidInput, "it is no regular file")),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    fn sync_all(&self) -> std::io::Result<()> {
        let anchor = self.anchor()?;
        rustix::fs::syncfs(anchor)?;
        match DEAF.contains(&kind(&rustix::fs::fstatfs(anchor)?)) {
            true => Err(ErrorKind::Unsupported.into()),
            false => Ok(()),
        }
    }

    fn syncs_names(&self) -> bool {
        // The anchor may not be there yet.
        let mut places = Path::new(&self.anchor).ancestors();
        let Some(place) = places.find(|place| place.exists()) else { return false };
        let Ok(facts) = rustix::fs::statfs(place) else { return false };
        match kind(&facts) {
            XFS | BTRFS => true,
            EXT => is_ext4(place),
            _ => false,
        }
    }
}

/// The number of its kind.
#[expect(clippy::cast_sign_loss, reason = "it is a number, whatever its sign")]
fn kind(facts: &rustix::fs::StatFs) -> u64 {
    facts.f_type as u64 & 0xffff_ffff
}

/// Is it ext4? Older drivers of its family have the same number.
fn is_ext4(place: &Path) -> bool {
    let Ok(stat) = rustix::fs::stat(place) else { return false };
    let device = format!("{}:{}", rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let of_device = mounts.lines().find(|line| line.split(' ').nth(2) == Some(device.as_str()));
    of_device.is_some_and(|line| line.split_once(" - ").is_some_and(|(_, rest)| rest.starts_with("ext4 ")))
}
