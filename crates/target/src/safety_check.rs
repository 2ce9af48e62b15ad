//! What a target is and what may be done with it, found out without changing anything.

use crate::device::{self, Device, ProbeMode};
use crate::file::{self, Existing, used};
use crate::foreign::Foreign;
use crate::node::{self, Node, Place, Vacancy};
use crate::open_flags::{direct_alignment, file_system, open_flags, open_node};
use crate::sysfs::Number;
use crate::{ErrorKind, TargetAccess, TargetError, WritePolicy};
use plan::{OpenFlags, TargetSpec};
use quantity::text::format_bytes;
use rustix::fd::AsFd as _;
use rustix::fs::{FileType, OFlags};

/// `/dev/zero`, the one character device that may be read from.
const DEV_ZERO: Number = (1, 5);
/// `/dev/null`: nothing is read or written.
const DEV_NULL: Number = (1, 3);

/// A target that may be used as asked.
#[derive(Debug)]
pub(crate) enum Examined {
    /// A block device.
    Device(Node, Device),
    /// A file that is there.
    File(Node, Existing),
    /// A file of so many bytes that will be made.
    Vacant(Vacancy, u64),
    /// `/dev/zero` of so many bytes.
    Zeroes(Node, u64),
    /// `/dev/null` of so many bytes.
    Nothing(Node, u64),
}

/// What `open` would do with a target. Its text form is a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InspectionFinding {
    /// Make a file of this size.
    Create {
        /// Size.
        bytes: u64,
    },
    /// Do nothing, as if there were so many bytes.
    Nothing {
        /// Size.
        bytes: u64,
    },
    /// Extend a file that iodyno made (or that a flag gives up).
    Extend {
        /// Size now.
        from_bytes: u64,
        /// Size then.
        to_bytes: u64,
    },
    /// Extend a file that iodyno did not make, as a flag allows.
    ExtendForeign {
        /// Size now.
        from_bytes: u64,
        /// Size then.
        to_bytes: u64,
    },
    /// Write to a file that iodyno made.
    OverwriteOwn {
        /// Size.
        bytes: u64,
    },
    /// Write to what a flag gives up.
    Destroy {
        /// Size.
        bytes: u64,
        /// What is lost.
        what: String,
    },
    /// Write to a device on which nothing was found.
    WriteDevice {
        /// Size.
        bytes: u64,
    },
    /// Only read.
    Read {
        /// Size.
        bytes: u64,
    },
}

impl InspectionFinding {
    /// Size of the target in the run, in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Create { bytes }
            | Self::OverwriteOwn { bytes }
            | Self::Destroy { bytes, .. }
            | Self::WriteDevice { bytes }
            | Self::Nothing { bytes }
            | Self::Read { bytes } => *bytes,
            Self::Extend { to_bytes, .. } | Self::ExtendForeign { to_bytes, .. } => *to_bytes,
        }
    }

    /// Is data of others written to, as a flag allows?
    #[must_use]
    pub fn changes_foreign(&self) -> bool {
        matches!(self, Self::Destroy { .. } | Self::ExtendForeign { .. })
    }
}

impl std::fmt::Display for InspectionFinding {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Create { bytes } => write!(out, "creates a file of {}", format_bytes(*bytes)),
            Self::Extend { from_bytes, to_bytes } => {
                write!(out, "extends the file from {} to {}", format_bytes(*from_bytes), format_bytes(*to_bytes))
            }
            Self::ExtendForeign { from_bytes, to_bytes } => write!(
                out,
                "extends a file that iodyno did not make from {} to {}, as --destroy allows, and fills the new part and all \
                 behind its first hole",
                format_bytes(*from_bytes),
                format_bytes(*to_bytes)
            ),
            Self::OverwriteOwn { bytes } => write!(out, "overwrites iodyno's own file of {}", format_bytes(*bytes)),
            Self::Destroy { bytes, what } => {
                write!(out, "DESTROYS {what}, as --destroy allows, in {}", format_bytes(*bytes))
            }
            Self::WriteDevice { bytes } => {
                write!(out, "overwrites {} (no existing data found)", format_bytes(*bytes))
            }
            Self::Read { bytes } => write!(out, "reads {}", format_bytes(*bytes)),
            Self::Nothing { bytes } => {
                write!(out, "does nothing, as on {}: only the generator is measured", format_bytes(*bytes))
            }
        }
    }
}

/// Finds out what `open` would do. Nothing is changed; a device is claimed for a moment to see whether it can
/// be.
///
/// # Errors
/// The same as `open` would give, except for what only shows when a file is made.
pub fn inspect(
    spec: &TargetSpec,
    access: TargetAccess,
    policy: &WritePolicy,
) -> Result<InspectionFinding, TargetError> {
    inspect_with(spec, &[spec.open], access, policy)
}

/// As [`inspect`], for a target that is opened with each of these sets of flags.
///
/// # Errors
/// The same as `open_with` would give, except for what only shows when a file is made.
pub fn inspect_with(
    spec: &TargetSpec,
    sets: &[OpenFlags],
    access: TargetAccess,
    policy: &WritePolicy,
) -> Result<InspectionFinding, TargetError> {
    let find = || -> Result<InspectionFinding, ErrorKind> {
        let examined = check_safety(spec, access, policy, ProbeMode::ReadOnly)?;
        sets.iter().try_for_each(|flags| check_direct(*flags, &examined))?;
        Ok(describe(spec, access, examined))
    };
    find().map_err(|kind| TargetError { target: spec.name.clone(), path: spec.path.clone(), kind })
}

/// All checks, in the order that the crate's head comment gives.
pub(crate) fn check_safety(
    spec: &TargetSpec,
    access: TargetAccess,
    policy: &WritePolicy,
    mode: ProbeMode,
) -> Result<Examined, ErrorKind> {
    let folders = spec.layout.map_or(0, |layout| layout.folders);
    let node = match node::find_below(&spec.path, folders)? {
        Place::Present(node) => node,
        Place::Absent(vacancy) => {
            let bytes = file::examine_vacancy(spec, &vacancy, policy)?;
            return Ok(Examined::Vacant(vacancy, bytes));
        }
    };
    let refused = |what| Err(ErrorKind::NotATarget { what });
    match node.file_type() {
        FileType::BlockDevice => {
            let may_destroy = policy.may_destroy(&spec.path, &node.path);
            let device = device::examine(&node, access, mode, may_destroy, &spec.path)?;
            if let Some(asked_bytes) = spec.size_bytes.filter(|asked| *asked > device.size_bytes) {
                return Err(ErrorKind::TooSmall { actual_bytes: device.size_bytes, asked_bytes });
            }
            Ok(Examined::Device(node, device))
        }
        FileType::RegularFile => {
            let existing = file::examine(spec, &node, access, policy, mode)?;
            Ok(Examined::File(node, existing))
        }
        FileType::CharacterDevice => match (access, file::wanted_bytes(spec)) {
            (TargetAccess::Read, Some(bytes)) if node.device() == DEV_ZERO && bytes > 0 => {
                Ok(Examined::Zeroes(node, bytes))
            }
            (_, Some(bytes)) if node.device() == DEV_NULL && bytes > 0 => Ok(Examined::Nothing(node, bytes)),
            _ => refused(
                "a character device (only /dev/zero and /dev/null are possible, with a size; /dev/zero to read)",
            ),
        },
        FileType::Directory => refused("a directory"),
        FileType::Fifo => refused("a FIFO"),
        FileType::Socket => refused("a socket"),
        FileType::Symlink | FileType::Unknown => refused("of an unknown kind"),
    }
}

/// Refuses direct I/O where it is not to be had; nothing is opened for writing.
pub(crate) fn check_direct(flags: OpenFlags, examined: &Examined) -> Result<(), ErrorKind> {
    let (Examined::File(node, _) | Examined::Device(node, _)) = examined else { return Ok(()) };
    if !open_flags(flags)?.contains(OFlags::DIRECT) {
        return Ok(());
    }
    let fd = open_node(node, OFlags::RDONLY | OFlags::DIRECT)?;
    match direct_alignment(fd.as_fd()) {
        Some((0, _)) => Err(ErrorKind::NoDirect { file_system: file_system(node) }),
        _ => Ok(()),
    }
}

fn describe(spec: &TargetSpec, access: TargetAccess, examined: Examined) -> InspectionFinding {
    match examined {
        Examined::Vacant(_, bytes) => InspectionFinding::Create { bytes },
        Examined::Zeroes(_, bytes) => InspectionFinding::Read { bytes },
        Examined::Nothing(_, bytes) => InspectionFinding::Nothing { bytes },
        Examined::Device(_, device) => {
            let bytes = used(spec, device.size_bytes);
            match (device.claim, device.overwritten_by_consent) {
                (None, _) => InspectionFinding::Read { bytes },
                (Some(_), Some(Foreign { what, offset })) => {
                    InspectionFinding::Destroy { bytes, what: format!("{what} at byte {offset}") }
                }
                (Some(_), None) => InspectionFinding::WriteDevice { bytes },
            }
        }
        Examined::File(_, file) => {
            let bytes = file.grow_to.unwrap_or_else(|| used(spec, file.size_bytes));
            match (file.claim, file.overwritten_by_consent, file.mark, file.grow_to) {
                (None, ..) => InspectionFinding::Read { bytes },
                (Some(_), _, None, Some(to_bytes)) if access == TargetAccess::Read => {
                    InspectionFinding::ExtendForeign { from_bytes: file.size_bytes, to_bytes }
                }
                (Some(_), Some(what), ..) => InspectionFinding::Destroy { bytes, what },
                (Some(_), None, None, _) => InspectionFinding::Destroy {
                    bytes,
                    what: "the content of a file that iodyno did not make".to_string(),
                },
                (Some(_), None, Some(_), Some(to_bytes)) => {
                    InspectionFinding::Extend { from_bytes: file.size_bytes, to_bytes }
                }
                (Some(_), None, Some(_), None) => InspectionFinding::OverwriteOwn { bytes },
            }
        }
    }
}
