//! What is to be verified, and what was found.

use super::identity::TargetIdentity;
use monitor::StopFlag;
use stamp::{DamageClass, SectorFinding};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use validation::{AreaKind, SurveyUnit, TargetSurvey};

/// What is to be verified.
#[derive(Clone, Debug)]
pub struct VerifyRequest {
    /// Device or file.
    pub path: PathBuf,
    /// Name under which it was written, where it is another one.
    pub written_as: Option<PathBuf>,
    /// Bytes of the blocks that were written, where they are known.
    pub block_bytes: Option<u64>,
    /// The journal that says what must be there.
    pub journal: Option<JournalRequest>,
    /// Where what is found is recorded; `None`: nowhere.
    pub recording: Option<VerifyRecording>,
    /// Ends it before its time.
    pub stop: StopFlag,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct VerifyOutcome {
    /// Device or file.
    pub path: PathBuf,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// Whose data it should hold.
    pub identity: TargetIdentity,
    /// A partition table, a file system or the like that is known by its signature, and where that stands.
    pub signature: Option<(String, u64)>,
    /// Bytes that were judged together.
    pub unit: SurveyUnit,
    /// Reads bypassed the page cache.
    pub is_direct: bool,
    /// All of it was looked at.
    pub is_complete: bool,
    /// Bytes that were looked at, holes among them.
    pub done_bytes: u64,
    /// What is where.
    pub survey: TargetSurvey,
    /// Parts that could not be read: the first thousand.
    pub unreadable: Vec<Range<u64>>,
    /// What became of what the journal says; `survey` has the damage of all other blocks then.
    pub journal: Option<JournalVerdict>,
}

impl VerifyOutcome {
    /// Damaged blocks: those that are not what the journal says, and all others.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.survey.damaged() + self.journal.as_ref().map_or(0, JournalVerdict::damaged)
    }

    /// Blocks of which the journal says what they must be.
    #[must_use]
    pub fn known_blocks(&self) -> u64 {
        self.journal.as_ref().map_or(0, |journal| journal.known_blocks)
    }

    /// Bytes that could not be read.
    #[must_use]
    pub fn unreadable_bytes(&self) -> u64 {
        self.survey.bytes_of(AreaKind::Unreadable)
    }

    /// Did anything there have a stamp?
    #[must_use]
    pub fn has_stamps(&self) -> bool {
        self.survey.has_stamps()
    }
}

/// Where the journal of a target lies.
#[derive(Clone, Debug)]
pub struct JournalRequest {
    /// Its directory.
    pub directory: PathBuf,
    /// Power was cut, although this machine was not started again.
    pub after_crash: bool,
}

/// A damaged block of which the journal knows what it had to be.
#[derive(Clone, Debug)]
pub struct PromisedDamage {
    /// When it was found, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// Where it begins, bytes.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// What happened, by all that was found.
    pub class: DamageClass,
    /// It was right when it was read again.
    pub is_transient: bool,
    /// Sectors of it that are wrong.
    pub wrong_sectors: u64,
    /// The first of them.
    pub first_wrong: Option<SectorFinding>,
    /// What had to be there, in words.
    pub expected: String,
    /// What is there, in words.
    pub found: String,
    /// The first bytes that differ.
    pub view: String,
}

/// What became of what a journal says of a target.
#[derive(Clone, Debug)]
pub struct JournalVerdict {
    /// Its directory.
    pub directory: PathBuf,
    /// The target, as the journal names it.
    pub target: String,
    /// Bytes of its blocks.
    pub block_bytes: u64,
    /// How it ended, up to where it could be read, and what it promises.
    pub sentences: Vec<String>,
    /// What of it is lost, so that it may have said more.
    pub lost: Vec<String>,
    /// Power was cut.
    pub is_power_cut: bool,
    /// Its last session ended by itself.
    pub is_clean: bool,
    /// Blocks of which it says something.
    pub known_blocks: u64,
    /// Blocks that it knows to be written, and of which it promises nothing: no flush covered them before a power cut.
    pub unpromised_blocks: u64,
    /// Of the blocks of which it says something, those that are so.
    pub right_blocks: u64,
    /// … that cannot be read.
    pub unreadable_blocks: u64,
    /// … that are not what it says, by what happened to them.
    pub counts: BTreeMap<DamageClass, u64>,
    /// … of those the first ten thousand, in order.
    pub damages: Vec<PromisedDamage>,
    /// What happened to which of them, in sentences.
    pub groups: Vec<String>,
}

impl JournalVerdict {
    /// Blocks that are not what the journal says.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Where a recording of what is found is to be made.
#[derive(Clone, Debug)]
pub struct VerifyRecording {
    /// Its directory.
    pub directory: PathBuf,
    /// The command line, for the manifest.
    pub command_line: Vec<String>,
}
