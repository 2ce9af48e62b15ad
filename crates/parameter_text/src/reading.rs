//! What reading parameter files takes and gives, in each language.

use crate::diagnostic::{Diagnostic, DiagnosticSeverity};
use crate::loader::SourceOwner;
use plan::{JobTexts, ParameterText, Plan, RunRepeat, ValidationSettings};

/// One of Vdbench's built-in quick tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickTest {
    /// `-t`: 1 KiB, half reads, 100 per second, 5 s, on a file of 40 MiB.
    Mixed,
    /// `-t1`: the same with `O_SYNC`.
    Sync,
    /// `-t2`: writes at full speed.
    Writes,
    /// `-td`: as `-t2` past the page cache.
    DirectWrites,
    /// `-tf`: files.
    Files,
}

/// What the command line says of `format=` in all run definitions, in place of what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatOverride {
    /// `-c`: the tree in an anchor is deleted before the first run that uses it.
    Clean,
    /// `-co`: trees are made, and nothing else is done.
    Only,
    /// `-cy`: trees are made before every run.
    Yes,
    /// `-cn`: no tree is made.
    No,
}

/// What the command line adds to the parameter files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VdbenchOptions {
    /// `name=value` arguments for `$name` and `!name`; each must be used.
    pub variables: Vec<(String, String)>,
    /// `-e`: measured time of every run.
    pub elapsed_ns: Option<u64>,
    /// `-i`: reporting interval of every run.
    pub interval_ns: Option<u64>,
    /// `-w`: warm-up of every run.
    pub warmup_ns: Option<u64>,
    /// Everything after `+`: added to every `rd=`.
    pub run_addition: Option<String>,
    /// `-l`.
    pub repeat: Option<RunRepeat>,
    /// `-t` and its kin, read in place of files.
    pub quick: Option<QuickTest>,
    /// Seed of every random choice, also of the data that is written.
    pub seed: Option<u64>,
    /// `-r`: runs before the first whose title begins so are left out.
    pub restart: Option<String>,
    /// `-c` and its kin.
    pub format: Option<FormatOverride>,
    /// fio's `--section`: of job files only these sections, beside `[global]`. Empty: all.
    pub sections: Vec<String>,
    /// `-v` and `-j`: what is to be proved of the data, whatever the texts add to it. Vdbench's `validate=no` takes it back.
    pub validation: Option<ValidationSettings>,
}

/// What reading gives.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanReading {
    /// The plan; `None` when there was an error.
    pub plan: Option<Plan>,
    /// All that was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the findings point into.
    pub sources: Vec<ParameterText>,
    /// Whose files those of the sources are that are files, by the index of the source.
    pub owners: Vec<(usize, SourceOwner)>,
    /// fio's jobs as they were given; empty of Vdbench's files.
    pub jobs: JobTexts,
}

impl PlanReading {
    /// How many errors there are.
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|found| found.severity == DiagnosticSeverity::Error).count()
    }
}
