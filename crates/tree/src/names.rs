//! Which names in an anchor are those of a tree: exactly those that Vdbench makes.

use std::io::Write as _;

/// What a name in an anchor stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A directory of a tree: `vdb.<level>_<number>.dir`.
    Directory,
    /// A file of a tree: `vdb_f<number>.file`, with at least four digits.
    File,
    /// What Vdbench keeps about a tree, in the anchor only: `vdb_control.file`.
    Control,
}

/// Name of the control file.
pub const CONTROL_FILE: &str = "vdb_control.file";

/// What a name stands for; `None`: it is foreign. Other spellings of the same numbers (`vdb.01_1.dir`) are foreign too.
#[must_use]
pub fn name_kind(name: &[u8]) -> Option<NameKind> {
    if name == CONTROL_FILE.as_bytes() {
        Some(NameKind::Control)
    } else if directory_numbers(name).is_some() {
        Some(NameKind::Directory)
    } else {
        file_number(name).map(|_| NameKind::File)
    }
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
    // Writing to memory never fails.
    let _ = write!(out, "vdb.{level}_{number}.dir");
}

/// Adds the name of a file: `vdb_f0001.file`.
pub(crate) fn push_file(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(b"vdb_f");
    push_padded(out, number);
    out.extend_from_slice(b".file");
}

/// With four digits at least.
fn push_padded(out: &mut Vec<u8>, number: u64) {
    let mut digits = [b'0'; 20];
    let (mut at, mut left) = (digits.len(), number);
    while left > 0 || at > digits.len() - 4 {
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
        let foreign = [
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
