//! Names of recordings that belong together.

use std::path::{Path, PathBuf};

/// The name of a recording among several: the second has `-2` before the extension.
pub(crate) fn numbered(directory: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return directory.to_path_buf();
    }
    let mut name = directory.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{number}"));
    if let Some(end) = directory.extension() {
        name.push(".");
        name.push(end);
    }
    directory.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::numbered;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    #[test]
    fn later_dumps_have_a_number_in_their_name() {
        let name = |text: &str, number| numbered(Path::new(text), number).display().to_string();
        assert_eq!(name("a/night.iodyno", 1), "a/night.iodyno");
        assert_eq!(name("a/night.iodyno", 2), "a/night-2.iodyno");
        assert_eq!(name("night", 12), "night-12");
        // Bytes that are no text stay what they are.
        let strange = |bytes: &'static [u8]| Path::new(OsStr::from_bytes(bytes));
        assert_eq!(numbered(strange(b"a/\xff.\xfe"), 2), strange(b"a/\xff-2.\xfe"));
    }
}
