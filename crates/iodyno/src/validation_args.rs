//! `--verify` of `iodyno run`: what is to be proved of the data.

use crate::exit::{Failure, PARAMETERS};
use clap::Args;
use plan::{JournalSettings, Plan, ValidationSettings};
use std::path::PathBuf;

/// What is to be proved of the data, whatever the language of the load.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ValidationArgs {
    /// Prove that what is written comes back (docs/validation.md): what the runs read is checked, and everything written is read
    /// once more at the end (sweep, the default), or not (reads). Exit code 4: data is wrong. Also fio's METHOD.
    #[arg(long, value_name = "sweep|reads", num_args = 0..=1, require_equals = true, default_missing_value = SWEEP)]
    pub(crate) verify: Vec<String>,
    /// The same, and each block is read and checked before it is written.
    #[arg(long)]
    pub(crate) verify_before_write: bool,
    /// The same, and each block is read and checked right behind its write.
    #[arg(long)]
    pub(crate) verify_after_write: bool,
    /// The same, and of each block it is kept when it was last written, and read and right (8 bytes more): of what is
    /// damaged it is then said since when. Vdbench's -vt.
    #[arg(long)]
    pub(crate) verify_times: bool,
    /// Keep a journal of what is written in DIR, on another device, which survives a crash (docs/journal.md).
    #[arg(long = "journal", value_name = "DIR")]
    pub(crate) data_journal: Option<PathBuf>,
    /// Go on with the journal that is there: what it says must be there is read first, then the load goes on.
    #[arg(long, requires = "data_journal")]
    pub(crate) recover: bool,
    /// Only read what the journal says must be there, and write nothing.
    #[arg(long, requires = "data_journal")]
    pub(crate) recover_only: bool,
    /// Power was cut, although this machine was not started again: what was not flushed may be lost.
    #[arg(long)]
    pub(crate) after_crash: bool,
    /// The journal may lie on the device that it is about.
    #[arg(long)]
    pub(crate) journal_same_device: bool,
}

/// Everything is read at the end.
const SWEEP: &str = "sweep";
/// Only what the runs read is checked.
const READS: &str = "reads";

/// fio's methods, which are all the same here: a stamp says more than a checksum.
const METHODS: [&str; 20] = [
    "0",
    "crc16",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc64",
    "crc7",
    "md5",
    "meta",
    "null",
    "pattern",
    "pattern_hdr",
    "sha1",
    "sha256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "sha512",
    "xxhash",
];

/// May this word be the value of a `--verify` that stands before it? Anything else is a file, or a flag.
pub(crate) fn is_value(word: &str) -> bool {
    is_mode(word) || is_method(word)
}

/// Is this a method of fio's?
pub(crate) fn is_method(word: &str) -> bool {
    METHODS.contains(&word)
}

/// Is this a value of `--verify` of our own, and no method of fio's?
pub(crate) fn is_mode(value: &str) -> bool {
    [SWEEP, READS].contains(&value)
}

impl ValidationArgs {
    /// Refuses what is said of a journal where there is none: it would change nothing, and the user would not see that.
    fn check_journal_flags(&self, plan: &Plan) -> Result<(), Failure> {
        let of_plan = plan.settings.validation.as_ref().and_then(|settings| settings.journal.as_ref());
        let has_journal = self.data_journal.is_some() || of_plan.is_some();
        let recovers = self.recover || self.recover_only || of_plan.is_some_and(|journal| journal.recovers);
        let message = match () {
            () if self.journal_same_device && !has_journal => {
                "--journal-same-device is about a journal, and there is none: name its directory (--journal DIR)"
            }
            () if self.after_crash && !has_journal => {
                "--after-crash is about the journal of the session before, and there is none: --journal DIR --recover reads it"
            }
            () if self.after_crash && !recovers => {
                "--after-crash is about the journal of the session before, and this begins one: add --recover, or leave it out"
            }
            () => return Ok(()),
        };
        Err(Failure::new(PARAMETERS, message))
    }

    /// Puts what was asked for into the plan, beside what its files ask for.
    ///
    /// # Errors
    /// A word that is no mode, and no method of fio's.
    pub(crate) fn apply(&self, plan: &mut Plan) -> Result<(), Failure> {
        if let Some(word) = self.verify.iter().find(|word| !is_value(word)) {
            let message = format!(
                "--verify={word}: it is `sweep` (everything is read at the end) or `reads` (what the runs read); with fio's flags or job \
                 files also a method: {}",
                METHODS.join(", ")
            );
            return Err(Failure::new(PARAMETERS, message));
        }
        let mode = self.verify.iter().rfind(|word| is_mode(word));
        self.check_journal_flags(plan)?;
        if let Some(journal) = plan.settings.validation.as_mut().and_then(|settings| settings.journal.as_mut()) {
            journal.after_crash |= self.after_crash;
            journal.allows_same_device |= self.journal_same_device;
        }
        let is_wanted =
            self.verify_before_write || self.verify_after_write || self.verify_times || self.data_journal.is_some();
        if mode.is_none() && !is_wanted {
            return Ok(());
        }
        let settings = plan.settings.validation.get_or_insert_with(ValidationSettings::default);
        settings.sweeps = mode.map_or(settings.sweeps, |mode| mode == SWEEP);
        settings.reads_before_write |= self.verify_before_write;
        settings.reads_after_write |= self.verify_after_write;
        settings.keeps_times |= self.verify_times;
        if let Some(directory) = &self.data_journal {
            let journal = settings.journal.get_or_insert_with(JournalSettings::default);
            journal.directory = Some(directory.clone());
            journal.recovers |= self.recover || self.recover_only;
            journal.recovers_only |= self.recover_only;
            journal.after_crash |= self.after_crash;
            journal.allows_same_device |= self.journal_same_device;
        }
        Ok(())
    }
}
