//! Who may read what iodyno records.

use crate::OutputError;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Gid, Mode, fchmod, fchown, fstat};
use rustix::process::{getegid, geteuid, getgroups};
use std::path::Path;
use std::sync::OnceLock;

/// Permission bits of a recorded file, unless the user wants others: a recording holds names of processes, files and users.
pub const DEFAULT_MODE: u32 = 0o600;

/// The bits that a mode may have: a recording is never executed.
const MODE_BITS: u32 = 0o666;

/// What the command line said, for all recordings of this process.
static OF_RECORDINGS: OnceLock<FileAccess> = OnceLock::new();

/// Permission bits and group of new files and folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// Exactly these bits for files, whatever the umask is; folders may be searched by those who may read. `group`: a
    /// number, or `None` for the group that the system gives.
    Exactly {
        /// Permission bits of files.
        mode: u32,
        /// Number of the group.
        group: Option<u32>,
    },
    /// What the umask leaves of 0666 and 0777: for files that the user names one by one, like a shell's `>`.
    Umask,
}

impl FileAccess {
    /// Only the owner: 0600 for files, 0700 for folders.
    pub const PRIVATE: Self = Self::Exactly { mode: DEFAULT_MODE, group: None };

    /// For recordings and what stands in them: what `--mode` and `--group` said, [`FileAccess::PRIVATE`] without them.
    #[must_use]
    pub fn of_recordings() -> Self {
        OF_RECORDINGS.get().copied().unwrap_or(Self::PRIVATE)
    }

    /// Sets what [`FileAccess::of_recordings`] gives in this process; only the first call counts.
    pub fn set_of_recordings(self) {
        let _ = OF_RECORDINGS.set(self);
    }

    /// For files that are added to a directory: readable for those who may read the directory, writable for its owner.
    pub(crate) fn like_folder(folder: BorrowedFd<'_>) -> Self {
        let Ok(stat) = fstat(folder) else { return Self::PRIVATE };
        let others = stat.st_mode & 0o044;
        let is_member = || getegid().as_raw() == stat.st_gid || is_supplementary(stat.st_gid);
        match others & 0o040 {
            0 => Self::Exactly { mode: DEFAULT_MODE | others, group: None },
            _ if geteuid().is_root() || is_member() => {
                Self::Exactly { mode: DEFAULT_MODE | others, group: Some(stat.st_gid) }
            }
            // The group of the new file would be another one.
            _ => Self::Exactly { mode: DEFAULT_MODE | (others & 0o004), group: None },
        }
    }

    /// Reads `--mode` (octal, 0600 to 0666, readable and writable for the owner) and `--group` (a name in `/etc/group`, or a
    /// number).
    ///
    /// # Errors
    /// A sentence with the flag, the value and what is allowed.
    pub fn parse(mode: Option<&str>, group: Option<&str>) -> Result<Self, OutputError> {
        let bits = mode.map(parse_mode).transpose()?;
        let group = group.map(|name| parse_group(name, Path::new("/etc/group"))).transpose()?;
        // A group that may not read makes no sense.
        let usual = if group.is_some() { 0o640 } else { DEFAULT_MODE };
        Ok(Self::Exactly { mode: bits.unwrap_or(usual), group })
    }

    /// Bits to create a file with: never more than wanted, also before the group is right.
    pub(crate) fn at_creation(self) -> Mode {
        match self {
            Self::Exactly { mode, .. } => Mode::from_raw_mode(mode & 0o600),
            Self::Umask => Mode::from_raw_mode(0o666),
        }
    }

    /// Bits to create a folder with.
    pub(crate) fn of_folder_at_creation(self) -> Mode {
        match self {
            Self::Exactly { .. } => Mode::from_raw_mode(0o700),
            Self::Umask => Mode::from_raw_mode(0o777),
        }
    }

    /// Gives a file that was just created its group and its bits.
    pub(crate) fn apply(self, file: impl AsFd, path: &Path) -> Result<(), OutputError> {
        self.apply_bits(file, path, |mode| mode)
    }

    /// Gives a folder that was just created its group and its bits.
    pub(crate) fn apply_to_folder(self, folder: impl AsFd, path: &Path) -> Result<(), OutputError> {
        self.apply_bits(folder, path, folder_mode)
    }

    fn apply_bits(self, file: impl AsFd, path: &Path, bits: fn(u32) -> u32) -> Result<(), OutputError> {
        let Self::Exactly { mode, group } = self else { return Ok(()) };
        if let Some(group) = group {
            fchown(&file, None, Some(Gid::from_raw(group))).map_err(OutputError::io("set the group of", path))?;
        }
        if mode == DEFAULT_MODE {
            // Created so; a file system without permissions has nothing to set.
            return Ok(());
        }
        fchmod(&file, Mode::from_raw_mode(bits(mode))).map_err(OutputError::io("set the mode of", path))
    }
}

/// Who may read the files of a folder may search it; who may write them may not make others.
fn folder_mode(mode: u32) -> u32 {
    0o700 | ((mode & 0o044) >> 2) | (mode & 0o044)
}

fn is_supplementary(group: u32) -> bool {
    getgroups().is_ok_and(|groups| groups.iter().any(|member| member.as_raw() == group))
}

fn parse_mode(text: &str) -> Result<u32, OutputError> {
    let wrong =
        || OutputError::Access(format!("--mode {text}: write octal permission bits from 0600 to 0666, like 0640"));
    let mode = u32::from_str_radix(text, 8).map_err(|_| wrong())?;
    if mode & !MODE_BITS != 0 || mode & 0o600 != 0o600 { Err(wrong()) } else { Ok(mode) }
}

fn parse_group(name: &str, file: &Path) -> Result<u32, OutputError> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let text = std::fs::read_to_string(file).map_err(OutputError::io("read", file))?;
    let number = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok())?
    });
    number.ok_or_else(|| {
        OutputError::Access(format!("--group {name}: {} has no such group; write its number", file.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_octal_and_never_shut_the_owner_out() {
        for (text, mode) in [("0600", 0o600), ("640", 0o640), ("0660", 0o660), ("644", 0o644)] {
            assert_eq!(FileAccess::parse(Some(text), None).unwrap(), FileAccess::Exactly { mode, group: None });
        }
        for wrong in ["", "rw", "0", "0400", "0755", "4640", "888", "0o640", "-1"] {
            let said = FileAccess::parse(Some(wrong), None).unwrap_err().to_string();
            assert!(said.starts_with(&format!("--mode {wrong}: ")), "{said}");
        }
        assert_eq!(FileAccess::parse(None, None).unwrap(), FileAccess::PRIVATE);
        assert_eq!(FileAccess::parse(None, Some("4")).unwrap(), FileAccess::Exactly { mode: 0o640, group: Some(4) });
    }

    #[test]
    fn folders_can_be_searched_by_those_who_may_read() {
        for (file, folder) in [(0o600, 0o700), (0o640, 0o750), (0o660, 0o750), (0o644, 0o755), (0o666, 0o755)] {
            assert_eq!(folder_mode(file), folder, "{file:o}");
        }
    }

    #[test]
    fn groups_come_from_the_file_or_are_numbers() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "root:x:0:\nadm:x:4:syslog\nbroken\nwrong:x:y:\n").unwrap();
        assert_eq!(parse_group("adm", file.path()).unwrap(), 4);
        assert_eq!(parse_group("77", file.path()).unwrap(), 77);
        for wrong in ["ad", "wrong", "broken", "", "-1"] {
            assert!(parse_group(wrong, file.path()).is_err(), "{wrong}");
        }
    }
}
