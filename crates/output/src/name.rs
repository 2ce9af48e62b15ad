//! Names that came out of a file, and names that others cannot guess.

use crate::error::{OutputError, TABLE_NAME_MAX};
use std::ffi::OsStr;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::ffi::OsStrExt as _;

/// Longest name that every file system has, bytes.
const NAME_MAX: usize = 255;

/// Checks that a name is one component of a path: of 1 to 255 bytes, without `/` and NUL, and neither `.` nor `..`.
///
/// # Errors
/// A sentence with the name.
pub fn component(name: &OsStr) -> Result<&OsStr, OutputError> {
    let bytes = name.as_bytes();
    let why = match bytes {
        [] => "it is empty",
        b"." | b".." => "it is another directory",
        _ if bytes.contains(&b'/') => "it has a slash",
        _ if bytes.contains(&0) => "it has a NUL byte",
        _ if bytes.len() > NAME_MAX => "it has more than 255 bytes",
        _ => return Ok(name),
    };
    Err(OutputError::name(name, why))
}

/// Checks a table's name: 1 to [`TABLE_NAME_MAX`] of the characters `a-z`, `0-9` and `_`. A name out of a recording is a
/// part of a path only after this.
///
/// # Errors
/// A sentence with the name.
pub fn table_name(name: &str) -> Result<&str, OutputError> {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if (1..=TABLE_NAME_MAX).contains(&name.len()) && name.bytes().all(is_good) {
        return Ok(name);
    }
    let shown: String = name.chars().take(TABLE_NAME_MAX + 1).flat_map(char::escape_debug).collect();
    Err(OutputError::TableName { name: shown })
}

/// A name for something temporary, hidden: `.PREFIX.0123456789abcdef.new`. A long prefix is cut.
#[must_use]
pub fn unguessable(prefix: &str) -> String {
    // Keys of the system's random source. A name that is guessed all the same is refused by O_EXCL.
    let random = RandomState::new().hash_one(std::process::id());
    let mut end = prefix.len().min(200);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    format!(".{}.{random:016x}.new", &prefix[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_component_of_a_path() {
        for good in ["a", "host=x", "...", ".hidden", "ä", "a b", "a\nb"] {
            assert!(component(OsStr::new(good)).is_ok(), "{good}");
        }
        let long = "x".repeat(256);
        for bad in ["", ".", "..", "/", "a/b", "../a", "a/", "a\0b", &long] {
            assert!(component(OsStr::new(bad)).is_err(), "{bad}");
        }
        let said = component(OsStr::new("a/\u{1b}]0;b")).unwrap_err().to_string();
        assert!(!said.contains('\u{1b}'), "{said}");
    }

    #[test]
    fn a_table_cannot_be_called_like_a_path() {
        for good in ["cpu", "op_interval", "a1", &"x".repeat(64)] {
            assert!(table_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", ".", "..", "../../x", "/etc/cron.d/x", "a/b", "Cpu", "a b", "a-b", "ä", "a\0", "a\u{1b}", &long]
        {
            let said = table_name(bad).unwrap_err().to_string();
            assert!(said.contains("is no name of a table") && !said.contains('\u{1b}'), "{said}");
        }
    }

    #[test]
    fn temporary_names_differ_and_are_names() {
        let names: std::collections::BTreeSet<String> = (0..100).map(|_| unguessable("report.html")).collect();
        assert_eq!(names.len(), 100);
        assert!(names.iter().all(|name| name.starts_with(".report.html.") && name.ends_with(".new")));
        assert!(component(OsStr::new(&unguessable(&"ä".repeat(200)))).is_ok());
    }
}
