//! Files after a crash: are they there, and how long are they?

use data_journal::{Crash, Existence, RecoveredFile};
use stamp::DamageClass;

/// What is wrong with a file as such, whatever its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileDamage {
    /// It is not there, and must be.
    Missing,
    /// It is there, and was removed or got another name for certain.
    Back,
    /// It is shorter than it must be at least.
    Short,
}

impl FileDamage {
    /// The class under which it is reported.
    #[must_use]
    pub fn class(self) -> DamageClass {
        match self {
            Self::Missing => DamageClass::MissingFile,
            Self::Back => DamageClass::DeletedFile,
            Self::Short => DamageClass::WrongSize,
        }
    }
}

/// A file that is not as it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFinding {
    /// What is wrong.
    pub damage: FileDamage,
    /// What was found: its length, or nothing.
    pub found: Option<u64>,
    /// It must have at least so many bytes.
    pub bytes_min: u64,
    /// How the session is taken to have ended.
    pub crash: Crash,
}

impl FileFinding {
    /// What must be there, and what was found, in words.
    #[must_use]
    pub fn words(&self) -> [String; 2] {
        let is_power_cut = self.crash == Crash::PowerCut;
        let made = if is_power_cut { "made durable by a sync" } else { "written before the program died" };
        let must = match self.damage {
            FileDamage::Missing => format!("a file of at least {} bytes, {made}", self.bytes_min),
            FileDamage::Short => format!("at least {} bytes, {made}", self.bytes_min),
            FileDamage::Back if is_power_cut => {
                "no file: it was removed or renamed, and a sync made that durable".to_string()
            }
            FileDamage::Back => "no file: it was removed or renamed before the program died".to_string(),
        };
        let found = self.found.map_or("no file".to_string(), |bytes| format!("a file of {bytes} bytes"));
        [must, found]
    }
}

/// Judges a file after a crash of this kind by what was found of it: its length, or `None`: it is not there. Gives `None` where that is
/// right, or nothing is promised.
#[must_use]
pub fn check_file(must: &RecoveredFile, crash: Crash, found: Option<u64>) -> Option<FileFinding> {
    FilePromise::of(must).check(crash, found)
}

/// What a journal promises of a file as such.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilePromise {
    pub(crate) existence: Existence,
    bytes_min: u64,
}

impl FilePromise {
    pub(crate) fn of(file: &RecoveredFile) -> Self {
        Self { existence: file.existence, bytes_min: file.bytes_min }
    }

    pub(crate) fn check(self, crash: Crash, found: Option<u64>) -> Option<FileFinding> {
        let damage = match (found, self.existence) {
            (None, Existence::Must) => FileDamage::Missing,
            (Some(_), Existence::MustNot) => FileDamage::Back,
            (Some(bytes), _) if bytes < self.bytes_min => FileDamage::Short,
            _ => return None,
        };
        Some(FileFinding { damage, found, bytes_min: self.bytes_min, crash })
    }
}
