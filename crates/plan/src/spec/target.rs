//! What is read or written.

use super::files::FileLayout;
use super::range::AddressRange;
use super::source::TextSpan;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One device or file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetSpec {
    /// Name in the parameter file (`sd1`) or made from the path.
    pub name: String,
    /// Device or file.
    pub path: PathBuf,
    /// Size to use; a file that is shorter is created or extended to it. `None`: all that is there.
    pub size_bytes: Option<u64>,
    /// How a file comes to its length, when no part of it is cut off by that as `size_bytes` does.
    #[serde(default)]
    pub layout: Option<FileLayout>,
    /// Greatest number of operations in flight on this target (Vdbench's `threads=`), where the run has no [`Run::depth`](crate::Run::depth).
    pub depth: u32,
    /// How to open it.
    pub open: OpenFlags,
    /// Part of the target that is used.
    pub range: Option<AddressRange>,
    /// Size of the area that "hits" go to.
    pub hit_area_bytes: u64,
    /// Added to every address.
    pub offset_bytes: u64,
    /// Addresses are multiples of this; `None`: of the transfer size.
    pub align_bytes: Option<u64>,
    /// Leave the first block alone, as Vdbench does on raw devices.
    pub skip_first_block: bool,
    /// Both ends of what a workload uses are rounded down to multiples of this, its addresses count from the lower end,
    /// and the first block ([`Self::skip_first_block`]) is as large: for Vdbench, the greatest transfer that any run
    /// has on this target. `None`: ends are what they are, and addresses are multiples of the transfer (fio).
    #[serde(default)]
    pub grain_bytes: Option<u64>,
    /// Remove the file at the end, if this run created it.
    pub unlink: bool,
    /// Where it was defined.
    pub span: TextSpan,
}

impl TargetSpec {
    /// All of a device or file, one operation at a time, opened plainly, of which nothing else was said.
    #[must_use]
    pub fn whole(name: String, path: PathBuf) -> Self {
        Self {
            name,
            path,
            size_bytes: None,
            layout: None,
            depth: 1,
            open: OpenFlags::default(),
            range: None,
            hit_area_bytes: 0,
            offset_bytes: 0,
            align_bytes: None,
            skip_first_block: false,
            grain_bytes: None,
            unlink: false,
            span: TextSpan::default(),
        }
    }

    /// The same, named as the file is.
    #[must_use]
    pub fn of_path(path: &Path) -> Self {
        let name =
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        Self::whole(name, path.to_owned())
    }
}

/// How a target is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OpenFlags {
    /// `O_DIRECT`: past the page cache.
    pub direct: bool,
    /// `O_SYNC`: every write is durable with its metadata when it completes.
    pub sync: bool,
    /// `O_DSYNC`: every write is durable when it completes.
    pub dsync: bool,
    /// `fsync` at the end of each run.
    pub fsync_at_end: bool,
    /// Further bits for `open(2)` as the user wrote them (`openflags=0x…`).
    pub extra: u32,
}
