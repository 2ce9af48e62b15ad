//! `iodyno verify DIRECTORY`: every file below it, each by its own stamps.

use monitor::StopFlag;
use quantity::figures::grouped;
use quantity::text::format_bytes;
use serde_json::{Value, json};
use stamped_data::{IdentitySource, LOST_WRITES, StampedDataError, VerifyOutcome, VerifyRequest, verify};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use validation::{AreaKind, device_id};

/// Damaged files, moved ones and failures that are kept; all are counted.
const KEPT: usize = 1000;
/// Of those, so many are shown in lines.
const SHOWN: usize = 20;

/// What is to be verified.
#[derive(Clone, Debug)]
pub(crate) struct TreeVerifyRequest {
    /// A directory.
    pub(crate) path: PathBuf,
    /// Bytes of the blocks that were written, where they are known.
    pub(crate) block_bytes: Option<u64>,
    /// Ends it before its time.
    pub(crate) stop: StopFlag,
}

/// What was found in the files of a directory and those below it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeVerifyOutcome {
    /// The directory, as it was given.
    pub(crate) path: PathBuf,
    /// Regular files.
    pub(crate) files: u64,
    /// Of those, files with data of a validated load.
    pub(crate) stamped_files: u64,
    /// Bytes of all files.
    pub(crate) bytes: u64,
    /// Bytes that were looked at.
    pub(crate) done_bytes: u64,
    /// Bytes with a stamp that are right.
    pub(crate) right_bytes: u64,
    /// Bytes that could not be read.
    pub(crate) unreadable_bytes: u64,
    /// Damaged files: the first thousand.
    pub(crate) damaged: Vec<VerifyOutcome>,
    /// Number of damaged files.
    pub(crate) damaged_files: u64,
    /// Damaged blocks by class.
    pub(crate) classes: BTreeMap<&'static str, u64>,
    /// Files whose data was written under another name: they were moved, or have another file's data. The first thousand.
    pub(crate) moved: Vec<PathBuf>,
    /// How many these are.
    pub(crate) moved_files: u64,
    /// Directories and files that could not be looked at, and why: the first thousand.
    pub(crate) failures: Vec<String>,
    /// How many these are.
    pub(crate) failed: u64,
    /// All of it was looked at.
    pub(crate) is_complete: bool,
}

/// Reads all regular files of a directory and those below it on the same file system; links are not followed, and nothing is changed.
/// `progress` gets the bytes that are done, and all.
///
/// # Errors
/// When the directory cannot be listed at all, or the request makes no sense. What cannot be read of it is part of the outcome.
pub(crate) fn verify_tree(
    request: &TreeVerifyRequest,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<TreeVerifyOutcome, StampedDataError> {
    let mut outcome =
        TreeVerifyOutcome { path: request.path.clone(), is_complete: true, ..TreeVerifyOutcome::default() };
    let io = |error: std::io::Error| StampedDataError::Io(format!("{}: {error}", request.path.display()));
    let root = std::fs::canonicalize(&request.path).map_err(io)?;
    std::fs::read_dir(&root).map_err(io)?;
    let files = outcome.list(&root);
    outcome.files = files.len() as u64;
    outcome.bytes = files.iter().map(|(_, bytes)| bytes).sum();
    // By the device of their own names, the files that have another one's data, and that one's device.
    let mut others: BTreeMap<u64, (PathBuf, u64)> = BTreeMap::new();
    let mut before = 0;
    // There is nothing to be read of an empty one.
    for (path, bytes) in files.iter().filter(|(_, bytes)| *bytes > 0) {
        if request.stop.is_requested() {
            outcome.is_complete = false;
            return Ok(outcome);
        }
        let all = outcome.bytes;
        let found = of_file(request, path, None, &mut |done| progress(before + done, all));
        match found {
            Ok(found) => match found.identity.device.filter(|_| found.identity.source == IdentitySource::Majority) {
                Some(device) => drop(others.insert(device_id(&path.to_string_lossy()), (path.clone(), device))),
                None => outcome.add(found),
            },
            Err(StampedDataError::Parameter(why)) => return Err(StampedDataError::Parameter(why)),
            Err(error) => outcome.fail(error.to_string()),
        }
        before += bytes;
    }
    for (own, (path, device)) in &others {
        // A moved file keeps its name in the stamps; no move leaves two files with each other's.
        let are_swapped = others.get(device).is_some_and(|(_, theirs)| theirs == own);
        let written_as = are_swapped.then_some(path.as_path());
        match of_file(request, path, written_as, &mut |_| {}) {
            Ok(found) => outcome.add(found),
            Err(error) => outcome.fail(error.to_string()),
        }
    }
    Ok(outcome)
}

fn of_file(
    request: &TreeVerifyRequest,
    path: &Path,
    written_as: Option<&Path>,
    progress: &mut dyn FnMut(u64),
) -> Result<VerifyOutcome, StampedDataError> {
    let request = VerifyRequest {
        path: path.to_owned(),
        written_as: written_as.map(Path::to_owned),
        block_bytes: request.block_bytes,
        journal: None,
        recording: None,
        stop: request.stop.clone(),
    };
    verify(&request, &mut |done, _| progress(done))
}

impl TreeVerifyOutcome {
    /// All regular files below a directory with their sizes, in the order of their paths.
    fn list(&mut self, root: &Path) -> Vec<(PathBuf, u64)> {
        let device = std::fs::symlink_metadata(root).map(|facts| facts.dev()).ok();
        let (mut files, mut next) = (Vec::new(), vec![root.to_owned()]);
        while let Some(directory) = next.pop() {
            let entries = match std::fs::read_dir(&directory) {
                Ok(entries) => entries,
                Err(error) => {
                    self.fail(format!("{}: {error}", directory.display()));
                    continue;
                }
            };
            for entry in entries {
                let facts = entry.and_then(|entry| Ok((entry.path(), std::fs::symlink_metadata(entry.path())?)));
                match facts {
                    Ok((path, facts)) if facts.is_dir() && Some(facts.dev()) == device => next.push(path),
                    Ok((path, facts)) if facts.is_file() => files.push((path, facts.len())),
                    Ok(_) => {}
                    Err(error) => self.fail(format!("{}: {error}", directory.display())),
                }
            }
        }
        files.sort();
        files
    }

    fn fail(&mut self, sentence: String) {
        self.failed += 1;
        if self.failures.len() < KEPT {
            self.failures.push(sentence);
        }
    }

    fn add(&mut self, found: VerifyOutcome) {
        self.done_bytes += found.done_bytes;
        self.is_complete &= found.is_complete;
        self.stamped_files += u64::from(found.has_stamps());
        self.right_bytes += found.survey.bytes_of(AreaKind::Stamped);
        self.unreadable_bytes += found.unreadable_bytes();
        if found.identity.source == IdentitySource::Majority {
            self.moved_files += 1;
            if self.moved.len() < KEPT {
                self.moved.push(found.path.clone());
            }
        }
        for (class, blocks) in &found.survey.counts {
            *self.classes.entry(class.name()).or_default() += blocks;
        }
        if found.damaged() > 0 {
            self.damaged_files += 1;
            if self.damaged.len() < KEPT {
                self.damaged.push(found);
            }
        }
    }

    /// Damaged blocks.
    #[must_use]
    pub(crate) fn damaged_blocks(&self) -> u64 {
        self.classes.values().sum()
    }

    /// One sentence.
    #[must_use]
    pub(crate) fn verdict(&self) -> String {
        let right = format_bytes(self.right_bytes);
        let (files, stamped) = (grouped(self.files as f64), grouped(self.stamped_files as f64));
        let rest = if self.is_complete { "" } else { "; NOT ALL: ended before its end" };
        let unread = match self.unreadable_bytes {
            0 => String::new(),
            bytes => format!("; {} cannot be read", format_bytes(bytes)),
        };
        match self.damaged_files {
            _ if self.stamped_files == 0 => {
                format!("nothing verified: none of {files} files has a stamp{unread}{rest}")
            }
            0 => {
                format!("no damage in {stamped} of {files} files with stamps; {right} stamped and right{unread}{rest}")
            }
            damaged => format!(
                "DAMAGED: {} blocks in {} of {stamped} files with stamps; {right} stamped and right{unread}{rest}",
                grouped(self.damaged_blocks() as f64),
                grouped(damaged as f64)
            ),
        }
    }

    /// What was found, for people.
    #[must_use]
    pub(crate) fn lines(&self) -> Vec<String> {
        let (path, files, bytes) = (self.path.display(), grouped(self.files as f64), format_bytes(self.bytes));
        let mut lines = vec![format!("{path}, {files} files, {bytes}"), format!("  {}", self.verdict())];
        if self.damaged_files == 0 && self.stamped_files > 0 {
            lines.push(format!("  not shown: {LOST_WRITES}"));
        }
        if self.damaged_files > 0 {
            lines.extend([String::new(), "Damage".to_string()]);
            lines.extend(self.classes.iter().map(|(class, blocks)| format!("  {class}  {blocks}")));
            lines.extend([String::new(), format!("Damaged files{}", first_of(self.damaged_files))]);
            for found in self.damaged.iter().take(SHOWN) {
                let first = found.survey.damages.first();
                let first = first.map_or(String::new(), |damage| {
                    format!("; the first at {:#x}: {}: {}", damage.address, damage.class.name(), damage.found)
                });
                lines.push(format!("  {}: {} blocks{first}", found.path.display(), found.damaged()));
            }
            lines.push("  one file: iodyno verify FILE --as FILE".to_string());
        }
        if self.moved_files > 0 {
            lines.extend([
                String::new(),
                format!(
                    "Written under another name: moved, or not where they belong (iodyno verify FILE --as FILE){}",
                    first_of(self.moved_files)
                ),
            ]);
            lines.extend(self.moved.iter().take(SHOWN).map(|path| format!("  {}", path.display())));
        }
        if self.failed > 0 {
            lines.extend([String::new(), format!("Not looked at{}", first_of(self.failed))]);
            lines.extend(self.failures.iter().take(SHOWN).map(|sentence| format!("  {sentence}")));
        }
        lines
    }

    /// What was found, for programs.
    #[must_use]
    pub(crate) fn json(&self) -> Value {
        let classes: serde_json::Map<String, Value> =
            self.classes.iter().map(|(class, blocks)| ((*class).to_string(), (*blocks).into())).collect();
        json!({
            "target": self.path.to_string_lossy(), "files": self.files, "stamped_files": self.stamped_files,
            "size_bytes": self.bytes, "done_bytes": self.done_bytes, "right_bytes": self.right_bytes,
            "unreadable_bytes": self.unreadable_bytes, "complete": self.is_complete,
            "damaged_files": self.damaged_files, "damaged_blocks": self.damaged_blocks(), "classes": classes,
            "damages": self.damaged.iter().map(VerifyOutcome::json).collect::<Vec<_>>(),
            "moved_files": self.moved_files,
            "moved": self.moved.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            "failed": self.failed, "failures": self.failures,
        })
    }
}

/// ` (the first 20 of 312)`, or nothing where all are shown.
fn first_of(all: u64) -> String {
    if all > SHOWN as u64 { format!(" (the first {SHOWN} of {})", grouped(all as f64)) } else { format!(" ({all})") }
}
