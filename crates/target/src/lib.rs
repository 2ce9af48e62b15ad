//! Opens the targets of a plan, after proving that they hold no foreign data.
//!
//! This crate stands between a parameter file and existing data, so it is written to be read. [`open()`] goes through
//! these steps, in this order, and stops at the first that finds something:
//!
//! 1. **Whose path is it?** (`node`, `forbidden_dirs`) Symbolic links are resolved once; the node is then held by an `O_PATH | O_NOFOLLOW`
//!    descriptor, and everything later goes through that descriptor. A path that is exchanged afterwards changes
//!    nothing. Directories, FIFOs, sockets and character devices are no targets, files under `/etc`, `/usr`, … are not
//!    written.
//! 2. **Is it in use?** (`in_use`, `exports`, `mounts`, `lease`) Mounts, swap, stacked devices, loop devices, members of a mounted btrfs, exports, other devices
//!    over the same bytes, and at last `O_EXCL`, which is held until [`OpenTarget`] is dropped. *No flag overrides these.*
//! 3. **Does anything live there?** (`safety_check` asks `device` and `file`; `content`, `signature`, `ownership`) A file must carry iodyno's mark and be as the last run left it (size and time of
//!    change); the content must be zero or iodyno's own, seen by known signatures (for a good message) and by every byte of
//!    the first and last MiB (for safety); of a device also by what stands where partitions may begin and end, and by
//!    samples all over it. What a file was left like is not known after a run that was killed: then all of
//!    it is read. Patterns of the user's are remembered, so that they are known again. `--destroy` with the name of exactly
//!    this device or file overrides these.
//!
//! Only then is a file created or extended. A target that is only read needs none of this and gets a read-only
//! descriptor, unless a file must be made or grow for it, which is a write like any other.

mod content;
mod device;
mod device_key;
mod error;
mod exports;
mod file;
mod footprint;
mod forbidden_dirs;
mod foreign;
mod in_use;
mod lease;
mod loop_devices;
mod magics;
mod mounts;
mod node;
mod open_flags;
mod opened;
mod ownership;
mod pattern;
mod registry;
mod safety_check;
mod signature;
mod survey_offsets;
mod sysfs;
mod verify_own_file;

pub use error::{ErrorKind, TargetError};
pub use file::{as_found, file_bytes};
pub use footprint::share_bytes;
pub use open_flags::{TargetView, block_bytes_at_least};
pub use opened::{OpenTarget, TargetKind, open, open_with, settle};
pub use pattern::UserPattern;
pub use safety_check::{InspectionFinding, inspect, inspect_with};

use plan::TargetSpec;
use std::path::{Path, PathBuf};

/// The directory of the operating system that `directory` is, or lies in; `directory` has no symbolic links. iodyno writes nothing there.
#[must_use]
pub fn system_directory(directory: &Path) -> Option<&'static str> {
    match forbidden_dirs::check(&directory.join("entry")) {
        Err(ErrorKind::SystemPath { directory }) => Some(directory),
        _ => None,
    }
}

/// What the plan does with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetAccess {
    /// Only reads.
    Read,
    /// At least one write or trim.
    Write,
}

/// What the user allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WritePolicy {
    /// Devices and files whose content may be lost (`--destroy PATH`), each named exactly.
    pub destroy: Vec<PathBuf>,
    /// Never create or extend a file (`formatsds=no`).
    pub never_create: bool,
    /// Make trees for which their file system seems to have no room (`--allow-full`).
    pub may_overfill: bool,
}

impl WritePolicy {
    /// May what is in this directory be lost, as far as a load names it? A flag names the directory.
    #[must_use]
    pub fn may_lose(&self, directory: &Path) -> bool {
        let resolved = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        self.may_destroy(directory, &resolved)
    }

    /// Does a flag name exactly this path, directly or after its symbolic links are resolved?
    fn may_destroy(&self, path: &Path, resolved: &Path) -> bool {
        self.destroy.iter().any(|named| {
            named.as_os_str() == path.as_os_str()
                || std::fs::canonicalize(named).is_ok_and(|named| named.as_os_str() == resolved.as_os_str())
        })
    }

    /// The flags that name none of these targets: a slip of the pen in what permits destruction.
    pub fn unmatched<'a>(&'a self, targets: &[TargetSpec]) -> Vec<&'a Path> {
        let is_one = |named: &Path| {
            let place = node::place_of(named);
            targets.iter().any(|target| {
                let path = target.path.as_path();
                path.as_os_str() == named.as_os_str() || place.is_some() && node::place_of(path) == place
            })
        };
        self.destroy.iter().map(PathBuf::as_path).filter(|named| !is_one(named)).collect()
    }
}
