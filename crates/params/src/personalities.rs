//! The parameter files that iodyno brings along: what well-known programs do to a file system.

/// A parameter file in Vdbench's language that is part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Personality {
    /// Its name, as in `personality:varmail`.
    pub name: &'static str,
    /// The file; its first line is a comment, `* NAME: WHAT`.
    pub text: &'static str,
}

impl Personality {
    /// What it is, in some words.
    #[must_use]
    pub fn about(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.split_once(": ").map_or("", |(_, about)| about)
    }
}

macro_rules! personalities {
    ($($name:literal)*) => {
        /// All of them. The files are in `personalities/`; docs/personalities.md has their table.
        pub const PERSONALITIES: &[Personality] = &[$(Personality {
            name: $name,
            text: include_str!(concat!("../personalities/", $name, ".vdb")),
        }),*];
    };
}

personalities!("varmail" "fileserver" "webserver" "webproxy" "videoserver" "oltp" "mongo" "gitcheckout" "maildirbackup"
    "containerimage" "packagebuild" "aitraining");

/// The one with this name.
#[must_use]
pub fn personality(name: &str) -> Option<&'static Personality> {
    PERSONALITIES.iter().find(|one| one.name == name)
}
