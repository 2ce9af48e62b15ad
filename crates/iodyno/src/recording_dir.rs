//! Where a recording goes: as asked, or named by the time; taken before anything else happens.

use crate::exit::{Failure, PARAMETERS};
use output::{EntryKind, FileAccess, OutputError, ReservedFolder};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The greatest number of `NAME+`.
const NUMBER_MAX: u32 = 999;

/// Names in their order: the first that is free is taken.
#[derive(Debug)]
enum Names {
    /// As asked.
    One(PathBuf),
    /// `NAME+`: this and a number of three digits.
    Numbered(OsString),
    /// Named by the time: this, then with -2, -3 … before the ending.
    Timed(OsString, &'static str),
}

impl Names {
    fn of(asked: Option<&OsStr>, prefix: &str) -> Self {
        let stamp = quantity::text::format_stamp(quantity::clock::wall_ns());
        let Some(asked) = asked else { return Self::Timed(format!("{prefix}-{stamp}").into(), ".iodyno") };
        if let Some(base) = asked.as_bytes().strip_suffix(b".tod") {
            let mut name = OsStr::from_bytes(base).to_os_string();
            name.push(format!(".{stamp}"));
            return Self::Timed(name, "");
        }
        match asked.as_bytes().strip_suffix(b"+") {
            Some(base) => Self::Numbered(OsStr::from_bytes(base).to_os_string()),
            None => Self::One(PathBuf::from(asked)),
        }
    }

    /// The name of this number, from 1; `None` when there are no more.
    fn name(&self, number: u32) -> Option<PathBuf> {
        let with = |base: &OsString, end: String| {
            let mut name = base.clone();
            name.push(end);
            PathBuf::from(name)
        };
        match self {
            Self::One(path) => (number == 1).then(|| path.clone()),
            Self::Numbered(base) => (number <= NUMBER_MAX).then(|| with(base, format!("{number:03}"))),
            Self::Timed(base, end) if number == 1 => Some(with(base, (*end).to_string())),
            Self::Timed(base, end) => Some(with(base, format!("-{number}{end}"))),
        }
    }

    fn all(&self) -> impl Iterator<Item = PathBuf> {
        (1..).map_while(|number| self.name(number))
    }

    /// All are taken.
    fn taken(&self) -> Failure {
        match self {
            Self::Numbered(base) => {
                let base = base.to_string_lossy();
                Failure::new(PARAMETERS, format!("{base}001 to {base}{NUMBER_MAX} all exist"))
            }
            Self::One(path) => exists(path),
            Self::Timed(base, _) => exists(Path::new(base)),
        }
    }
}

/// The sentence for a name that is taken. A device's, FIFO's or socket's name does not become a good one by a number.
pub(crate) fn exists(path: &Path) -> Failure {
    use std::os::unix::fs::MetadataExt as _;
    let kind = std::fs::symlink_metadata(path).map_or(EntryKind::Directory, |found| EntryKind::of_mode(found.mode()));
    let path = path.display();
    let message = match kind {
        EntryKind::File | EntryKind::Directory | EntryKind::Link => format!(
            "{path} exists; a recording never goes into an existing directory: name another, or `{path}+` to count up"
        ),
        kind => format!("{path} is {kind}; a recording is a new directory: name another"),
    };
    Failure::new(PARAMETERS, message)
}

/// Takes the directory of a recording: as asked (`dir+` counts up, `dir.tod` adds the time), or named by the time. Two commands
/// at once get two names, or the second a sentence.
pub(crate) fn take(asked: Option<&OsStr>, prefix: &str) -> Result<ReservedFolder, Failure> {
    let names = Names::of(asked, prefix);
    if let Names::One(path) = &names
        && path.exists()
    {
        return Err(exists(path));
    }
    for path in names.all() {
        match ReservedFolder::create(&path, FileAccess::of_recordings()) {
            Err(OutputError::Taken { .. }) => {}
            made => return Ok(made?),
        }
    }
    Err(names.taken())
}

/// The name that [`take`] would take now.
pub(crate) fn name(asked: Option<&OsStr>, prefix: &str) -> Result<PathBuf, Failure> {
    let names = Names::of(asked, prefix);
    names.all().find(|path| path.symlink_metadata().is_err()).ok_or_else(|| names.taken())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_same_second_count_up() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name).into_os_string();
        let numbered = [take(Some(&at("n+")), "run").unwrap(), take(Some(&at("n+")), "run").unwrap()];
        let ends = ["n001", "n002"];
        assert!(numbered.iter().zip(ends).all(|(taken, end)| taken.path().ends_with(end)), "{numbered:?}");
        let one = take(Some(&at("one")), "run").unwrap();
        let refused = take(Some(&at("one")), "run").unwrap_err();
        assert_eq!(refused.code, PARAMETERS);
        assert!(refused.message.contains("one+` to count up"), "{}", refused.message);
        drop(one);
        assert!(!Path::new(&at("one")).exists());
        let refused = take(Some(OsStr::new("/dev/null")), "run").unwrap_err();
        assert_eq!(refused.message, "/dev/null is a character device; a recording is a new directory: name another");
        let timed = Names::of(None, "run");
        let (first, third) = (timed.name(1).unwrap(), timed.name(3).unwrap());
        let stem = first.to_str().unwrap().strip_suffix(".iodyno").unwrap().to_string();
        assert!(stem.starts_with("run-"), "{stem}");
        assert_eq!(third, PathBuf::from(format!("{stem}-3.iodyno")));
        let strange = OsStr::from_bytes(b"/tmp/\xff.tod");
        let named = Names::of(Some(strange), "run").name(2).unwrap();
        assert!(named.as_os_str().as_bytes().starts_with(b"/tmp/\xff.2"), "{named:?}");
        assert!(named.as_os_str().as_bytes().ends_with(b"-2"), "{named:?}");
    }
}
