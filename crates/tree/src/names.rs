//! Which names in an anchor are those of a tree: exactly those that Vdbench makes, and for a while those of flows.

use rustix::fs::AtFlags;
use std::os::fd::BorrowedFd;

/// What a name in an anchor stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A directory of a tree: `vdb.<level>_<number>.dir`.
    Directory,
    /// A file of a tree: `vdb_f<number>.file`, with at least four digits.
    File,
    /// What Vdbench keeps about a tree, in the anchor only: `vdb_control.file`.
    Control,
    /// What a flow that was killed leaves beside a file: the file's name with one of [`SUFFIXES`] behind. [`SYM`] is a symbolic
    /// link, the others are files.
    Leftover,
}

/// Behind the name of a file that a flow has renamed.
pub const MOVED: &str = ".moved";
/// Behind the name of a file, of one that may take its place.
pub const TEMP: &str = ".temp";
/// Behind the name of a file, its second name.
pub const LINK: &str = ".link";
/// Behind the name of a file, a symbolic link to it.
pub const SYM: &str = ".sym";
/// What flows put behind a file's name while they work on it.
pub const SUFFIXES: [&str; 4] = [MOVED, TEMP, LINK, SYM];

/// Name of the control file.
pub const CONTROL_FILE: &str = "vdb_control.file";

/// What a name stands for; `None`: it is foreign. Other spellings of the same numbers (`vdb.01_1.dir`) are foreign too.
#[must_use]
pub fn name_kind(name: &[u8]) -> Option<NameKind> {
    if name == CONTROL_FILE.as_bytes() {
        Some(NameKind::Control)
    } else if directory_numbers(name).is_some() {
        Some(NameKind::Directory)
    } else if file_number(name).is_some() {
        Some(NameKind::File)
    } else {
        file_number(without_suffix(name)?).map(|_| NameKind::Leftover)
    }
}

/// A name without the suffix of a flow; `None`: it has none.
fn without_suffix(name: &[u8]) -> Option<&[u8]> {
    SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix.as_bytes()))
}

/// Is it the name of a symbolic link, among leftovers of flows?
#[must_use]
pub fn is_link_name(name: &[u8]) -> bool {
    name.ends_with(SYM.as_bytes())
}

/// How many names, of those that flows give a file in its directory, and its own, this file has. Where it has no more names than
/// these, nothing foreign is the same file.
#[must_use]
pub fn own_names(directory: BorrowedFd<'_>, name: &[u8]) -> u64 {
    let identity = |name: &[u8]| {
        let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some((stat.st_dev, stat.st_ino))
    };
    let Some(own) = identity(name) else { return 0 };
    let stem = without_suffix(name).unwrap_or(name);
    let others = SUFFIXES.iter().map(|suffix| [stem, suffix.as_bytes()].concat());
    std::iter::once(stem.to_vec()).chain(others).filter(|name| identity(name) == Some(own)).count() as u64
}

/// Level and number in its parent, from 1, of a name of a directory.
pub(crate) fn directory_numbers(name: &[u8]) -> Option<(u64, u64)> {
    let inner = name.strip_prefix(b"vdb.")?.strip_suffix(b".dir")?;
    let at = inner.iter().position(|byte| *byte == b'_')?;
    Some((number(&inner[..at], 1)?, number(&inner[at + 1..], 1)?))
}

/// Number in its directory, from 1, of a name of a file.
pub(crate) fn file_number(name: &[u8]) -> Option<u64> {
    number(name.strip_prefix(b"vdb_f")?.strip_suffix(b".file")?, 4)
}

/// A number from 1 with so many digits at least, filled with zeros to no more than that.
fn number(digits: &[u8], least: usize) -> Option<u64> {
    let fits = digits.len() >= least && (digits.len() == least || digits.first() != Some(&b'0'));
    if !fits || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|number| *number > 0)
}

/// Adds the name of a directory: `vdb.1_2.dir`.
pub(crate) fn push_directory(out: &mut Vec<u8>, level: u32, number: u64) {
    out.extend_from_slice(b"vdb.");
    push_number(out, u64::from(level), 1);
    out.push(b'_');
    push_number(out, number, 1);
    out.extend_from_slice(b".dir");
}

/// Adds the name of a file: `vdb_f0001.file`.
pub(crate) fn push_file(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(b"vdb_f");
    push_number(out, number, 4);
    out.extend_from_slice(b".file");
}

/// Adds a number with so many digits at least, 1 or more.
pub(crate) fn push_number(out: &mut Vec<u8>, number: u64, least: usize) {
    let mut digits = [b'0'; 20];
    let (mut at, mut left) = (digits.len(), number);
    while left > 0 || at > digits.len() - least {
        at -= 1;
        digits[at] = b'0' + u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_vdbench_makes_are_of_a_tree() {
        let of = |name: &str| name_kind(name.as_bytes());
        assert_eq!(of("vdb_control.file"), Some(NameKind::Control));
        for name in ["vdb.1_1.dir", "vdb.12_340.dir", "vdb.1_100.dir"] {
            assert_eq!(of(name), Some(NameKind::Directory), "{name}");
        }
        for name in ["vdb_f0001.file", "vdb_f9999.file", "vdb_f10000.file", "vdb_f0100.file"] {
            assert_eq!(of(name), Some(NameKind::File), "{name}");
        }
        for name in ["vdb_f0001.file.moved", "vdb_f0001.file.temp", "vdb_f10000.file.link", "vdb_f0001.file.sym"] {
            assert_eq!(of(name), Some(NameKind::Leftover), "{name}");
        }
        let foreign = [
            "vdb_f0001.file.temp.temp",
            "vdb_f1.file.temp",
            "vdb.1_1.dir.moved",
            "vdb_control.file.temp",
            ".temp",
            "vdb.1_1.dir2",
            "vdb.1_1",
            "vdb.01_1.dir",
            "vdb.1_01.dir",
            "vdb.0_1.dir",
            "vdb.1_0.dir",
            "vdb.1.dir",
            "vdb._.dir",
            "vdb.1_+1.dir",
            "vdb.1_1_1.dir",
            "vdb.1_99999999999999999999.dir",
            "vdb_f1.file",
            "vdb_f0000.file",
            "vdb_f00001.file",
            "vdb_f0001.file.gz",
            "vdb_f0001.files",
            "vdb_f+001.file",
            "vdb_f 001.file",
            "vdb_control.file2",
            "VDB.1_1.dir",
            "",
            ".",
            "..",
            "vdb",
            "vdb.dir",
            "vdb_f.file",
            "vdb_f\u{661}\u{661}.file",
        ];
        for name in foreign {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
