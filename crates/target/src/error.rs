//! Why a target was refused or could not be opened.

use crate::lease::{LEASE_WAIT, lease_holder};
use quantity::text::format_bytes;
use rustix::fs::StatxAttributes;
use std::path::{Path, PathBuf};

/// A target that was refused or could not be opened; nothing on it was changed.
#[derive(Debug, thiserror::Error)]
#[error("target {target}, {}: {kind}", path.display())]
pub struct TargetError {
    /// Name in the plan.
    pub target: String,
    /// Path in the plan.
    pub path: PathBuf,
    /// What was found.
    #[source]
    pub kind: ErrorKind,
}

impl TargetError {
    /// True when existing data or a system in use was protected (exit code 7).
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        use ErrorKind as K;
        match &self.kind {
            K::Mounted { .. }
            | K::Swap { .. }
            | K::Held { .. }
            | K::BacksLoop { .. }
            | K::MayBackLoop { .. }
            | K::NoSysfs { .. }
            | K::NoDevice
            | K::ForeignExtension { .. }
            | K::Exclusive { .. }
            | K::ExclusiveBeside { .. }
            | K::Exported { .. }
            | K::Locked
            | K::Leased { .. }
            | K::Changed { .. }
            | K::SystemPath { .. }
            | K::NotATarget { .. }
            | K::ForeignFile { .. }
            | K::ForeignContent { .. }
            | K::Unprovable { .. } => true,
            K::ReadOnly
            | K::Immutable { .. }
            | K::NotFound
            | K::Empty
            | K::NoParent { .. }
            | K::CreationOff { .. }
            | K::Permission { .. }
            | K::NoSpace { .. }
            | K::NoDirect { .. }
            | K::TooSmall { .. }
            | K::Flags { .. }
            | K::TooManyFiles { .. }
            | K::Io { .. } => false,
        }
    }

    /// True when a privilege is missing (exit code 8).
    #[must_use]
    pub fn is_privilege(&self) -> bool {
        matches!(self.kind, ErrorKind::Permission { .. })
    }
}

/// What was found. Messages that `--destroy` overrides name it; the others say that no flag does.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// A file system on it is mounted.
    #[error(
        "refused to write: {what} is mounted at {mount_point} ({file_system}); unmount it first, no flag overrides this"
    )]
    Mounted {
        /// The device: the target itself, a partition of it, a part of the same file system, what it stands on.
        what: String,
        /// Where.
        mount_point: String,
        /// Type of the file system.
        file_system: String,
    },
    /// It is swapped to.
    #[error("refused to write: {what} is in use as swap; run `swapoff {what}` first, no flag overrides this")]
    Swap {
        /// The device or file.
        what: String,
    },
    /// The kernel stacked another device on it.
    #[error("refused to write: {what} is a member of {} (LVM, dm or md); stop that first, no flag overrides this", holders.join(", "))]
    Held {
        /// The device.
        what: String,
        /// The devices above, e.g. `dm-0 (vg-root)`.
        holders: Vec<String>,
    },
    /// A loop device stands on it.
    #[error(
        "refused to write: {what} is behind the active loop device {device}; run `losetup -d {device}` first, no flag overrides this"
    )]
    BacksLoop {
        /// The file or device.
        what: String,
        /// Path of the loop device.
        device: String,
    },
    /// Another program or the kernel holds the device exclusively.
    #[error("refused to write: the device is opened exclusively by another program or by the kernel{}; end that first, no flag overrides this", .by.as_ref().map(|by| format!(" (open in {by})")).unwrap_or_default())]
    Exclusive {
        /// Processes that have it open, as far as can be seen.
        by: Option<String>,
    },
    /// Another device over the same bytes is held exclusively.
    #[error("refused to write: {what}, which covers the same bytes, is opened exclusively by another program or by the kernel{}; end that first, no flag overrides this", .by.as_ref().map(|by| format!(" (open in {by})")).unwrap_or_default())]
    ExclusiveBeside {
        /// The other device.
        what: String,
        /// Processes that have it open, as far as can be seen.
        by: Option<String>,
    },
    /// It is given to others as a block device.
    #[error(
        "refused to write: {what} is served as a block device by {by}; take it back there first, no flag overrides this"
    )]
    Exported {
        /// The file or device.
        what: String,
        /// By whom.
        by: String,
    },
    /// Another program holds a lock on the file.
    #[error(
        "refused to write: the file is locked by another program (perhaps another iodyno); end that first, no flag overrides this"
    )]
    Locked,
    /// A loop device that cannot be asked may stand on it.
    #[error(
        "refused to write: the active loop device {device} cannot be asked what it stands on, and this file has the size or the name of what the kernel calls {}; detach the device, or run where {device} is there and may be read (as root, outside of the container), no flag overrides this", backing_file.display()
    )]
    MayBackLoop {
        /// The loop device.
        device: String,
        /// Its backing file as the kernel names it.
        backing_file: PathBuf,
    },
    /// Which loop devices there are cannot be seen.
    #[error(
        "refused to write: failed to read /sys/block ({source}), so iodyno cannot check whether this file is mounted by a loop device; mount sysfs (mount -t sysfs sysfs /sys), or name a file that is not there yet, no flag overrides this"
    )]
    NoSysfs {
        /// Why.
        source: std::io::Error,
    },
    /// Another program holds a lease on the file, which makes every open wait.
    #[error(
        "refused to open: another program{} holds a lease on the file and has not given it back within {waited_s} s; end that first, no flag overrides this", .by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default()
    )]
    Leased {
        /// The process, as far as can be seen.
        by: Option<String>,
        /// How long was waited, in seconds.
        waited_s: u64,
    },
    /// The path belongs to the operating system.
    #[error(
        "refused to write: the file lies under {directory}, which belongs to the operating system; choose another place, no flag overrides this"
    )]
    SystemPath {
        /// The protected directory.
        directory: &'static str,
    },
    /// A device that is not there; a file in its place would be taken for it.
    #[error(
        "refused: there is no such device, and no file is made below /dev; name a device that is there (`lsblk` lists them), or a file elsewhere, no flag overrides this"
    )]
    NoDevice,
    /// A directory, FIFO, socket, or character device.
    #[error("refused: it is {what}, and only block devices and regular files can be targets; no flag overrides this")]
    NotATarget {
        /// What it is, with its article.
        what: &'static str,
    },
    /// A file that iodyno did not make.
    #[error("refused to write: a file of {} is there that iodyno did not make (it lacks the mark `{mark}`); if its content may be lost, add `--destroy {}`", format_bytes(*bytes), flag.display())]
    ForeignFile {
        /// Its size.
        bytes: u64,
        /// The missing mark.
        mark: &'static str,
        /// What to name with the flag.
        flag: PathBuf,
    },
    /// A file of others that a job which only reads would have to extend.
    #[error("refused to extend: it is a file of {} that iodyno did not make, and `size=` asks for {}; a `size=` of {size_bytes} bytes or less only reads it, and `--destroy {}` permits to extend it", format_bytes(*size_bytes), format_bytes(*asked_bytes), flag.display())]
    ForeignExtension {
        /// Its size.
        size_bytes: u64,
        /// The size asked for.
        asked_bytes: u64,
        /// What to name with the flag.
        flag: PathBuf,
    },
    /// Data on it that is not ours.
    #[error("refused to write: found {what} at byte {offset}; if what is there may be lost, add `--destroy {}`", flag.display())]
    ForeignContent {
        /// What it is.
        what: String,
        /// Where, from the start of the target.
        offset: u64,
        /// What to name with the flag.
        flag: PathBuf,
    },
    /// A file that iodyno made, and another program has changed since.
    #[error("refused to write: another program has changed the file since iodyno's last run (its size or time of change is not what that run left); if its content may be lost, add `--destroy {}`", flag.display())]
    Changed {
        /// What to name with the flag.
        flag: PathBuf,
    },
    /// It could not be read, so that nothing could be proved.
    #[error("refused to write: failed to read {bytes} bytes at byte {offset} to see whether they hold data ({source}); if what is there may be lost, add `--destroy {}`", flag.display())]
    Unprovable {
        /// Where.
        offset: u64,
        /// How much.
        bytes: usize,
        /// Why.
        source: std::io::Error,
        /// What to name with the flag.
        flag: PathBuf,
    },
    /// Writes are impossible.
    #[error("it is read-only; make it writable, or only read from it")]
    ReadOnly,
    /// An attribute of the file or of its directory forbids it, also to root.
    #[error("failed to {action} it: {} is {attribute} (`lsattr` shows it); take that away with `chattr -{letter}`, or choose another place", at.display())]
    Immutable {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        at: PathBuf,
        /// Its attribute.
        attribute: &'static str,
        /// The attribute's letter.
        letter: char,
    },
    /// It is not there, and nothing says how large to make it.
    #[error("it does not exist; name an existing device or file, or give `size=` to have a file made")]
    NotFound,
    /// Nothing is in it.
    #[error("it is empty; name a device with a medium, or give `size=` to have the file extended")]
    Empty,
    /// The directory that the file should be made in is not there.
    #[error("it does not exist and cannot be made, because {} is not a directory; make the directory first", parent.display())]
    NoParent {
        /// The directory.
        parent: PathBuf,
    },
    /// The plan forbids to create or extend files.
    #[error("it would have to be {action} to {}, which the plan forbids (Vdbench's formatsds=no or fio's allow_file_create=0); allow it, or ask for a smaller `size=`", format_bytes(*bytes))]
    CreationOff {
        /// `created` or `extended`.
        action: &'static str,
        /// The size asked for.
        bytes: u64,
    },
    /// The user may not.
    #[error(
        "no permission to {action} it as user {uid} ({source}); run as root or as a user who may, e.g. its owner or a member of its group"
    )]
    Permission {
        /// What was tried: `read`, `write`, `create`, …
        action: &'static str,
        /// Effective user.
        uid: u32,
        /// Why.
        source: std::io::Error,
    },
    /// The file would not fit.
    #[error("it needs {} ({needed_bytes} bytes) more, but its file system has {} ({available_bytes} bytes) free; free some, or ask for a smaller `size=`", format_bytes(*needed_bytes), format_bytes(*available_bytes))]
    NoSpace {
        /// Bytes to be added.
        needed_bytes: u64,
        /// Bytes free for this user.
        available_bytes: u64,
    },
    /// Direct I/O was asked for and is not to be had.
    #[error(
        "the file system ({file_system}) does not support direct I/O; leave out `openflags=o_direct`, or choose another place"
    )]
    NoDirect {
        /// Its type.
        file_system: String,
    },
    /// It is shorter than `size=` and cannot grow, or it is empty.
    #[error("it holds {} ({actual_bytes} bytes), but {} ({asked_bytes} bytes) are needed; lower `size=`", format_bytes(*actual_bytes), format_bytes(*asked_bytes))]
    TooSmall {
        /// What is there.
        actual_bytes: u64,
        /// What is needed.
        asked_bytes: u64,
    },
    /// Further flags for open(2) that could harm data or change what is measured.
    #[error(
        "open flags {flags:#x} are not allowed; the extra bits may only be O_NOATIME, O_NONBLOCK, O_DIRECT, O_SYNC and O_DSYNC"
    )]
    Flags {
        /// The bits at fault.
        flags: u32,
    },
    /// The process may not open more files.
    #[error(
        "may not have more than {limit} files open: raise the hard limit (ulimit -Hn; LimitNOFILE= of a service) to a few more than there are targets"
    )]
    TooManyFiles {
        /// The hard limit.
        limit: String,
    },
    /// The system refused for another reason.
    #[error("failed to {action} {}: {source}", at.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        at: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl ErrorKind {
    /// Is it an attribute (chattr(1)) that forbids to write this file, or to make one in its directory?
    fn immutable(action: &'static str, at: &Path) -> Option<Self> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
        let parent = at.parent().filter(|_| action == "create");
        let (at, stat) = [Some(at), parent].into_iter().flatten().find_map(|at| {
            statx(CWD, at, AtFlags::empty(), StatxFlags::empty()).ok().map(|stat| (at.to_owned(), stat))
        })?;
        let has = |bit| stat.stx_attributes.contains(bit);
        let (attribute, letter) = if has(StatxAttributes::IMMUTABLE) {
            ("immutable", 'i')
        } else if has(StatxAttributes::APPEND) {
            ("append-only", 'a')
        } else {
            return None;
        };
        Some(Self::Immutable { action, at, attribute, letter })
    }

    /// Sorts a system error: distinguishes permission and read-only media from the rest.
    pub(crate) fn from_io(action: &'static str, at: &Path, source: impl Into<std::io::Error>) -> Self {
        let source = source.into();
        if source.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error())
            && let Some(immutable) = Self::immutable(action, at)
        {
            return immutable;
        }
        match source.kind() {
            std::io::ErrorKind::PermissionDenied => {
                Self::Permission { action, uid: rustix::process::geteuid().as_raw(), source }
            }
            std::io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            std::io::ErrorKind::WouldBlock => Self::Leased { by: lease_holder(at), waited_s: LEASE_WAIT.as_secs() },
            _ if source.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
                let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
                Self::TooManyFiles { limit: limit.map_or("unlimited".to_string(), |limit| limit.to_string()) }
            }
            _ => Self::Io { action, at: at.to_owned(), source },
        }
    }
}
