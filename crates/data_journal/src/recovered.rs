//! What a journal says after a crash.

use crate::error::JournalError;
use crate::floor::{Floor, SESSIONS_MAX};
use crate::header::{Crash, JournalTarget, SegmentHeader, SessionHeader, boot_id};
use crate::reader::{DAMAGED, JournalDamage, Segment, SegmentEnd, headless, is_held, segment_name, segments};
use crate::record::{Kind, Record};
use crate::replay::{Coverage, Replay, TargetReplay};
use crate::runs::AllRuns;
use crate::trees::Trees;
use crate::trees::answers::RecoveredFile;
use output::Folder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a journal says.
#[derive(Debug)]
pub struct Recovered {
    path: PathBuf,
    journal: u64,
    last_segment: u64,
    /// So many bytes of it were used.
    last_bytes: u64,
    /// The sessions, the first one first.
    pub sessions: Vec<Arc<SessionHeader>>,
    /// The targets, in the order of their devices.
    pub targets: Vec<RecoveredTarget>,
    /// Parts that could not be used.
    pub damage: Vec<JournalDamage>,
    /// Other things that a reader has to know, each a sentence.
    pub notes: Vec<String>,
    /// What of it is lost, besides the torn end that a crash leaves, so that it may have said more: parts of sentences.
    pub lost: Vec<String>,
    /// Records that were used.
    pub records: u64,
    /// The last session ended by itself, with nothing under way.
    pub is_clean: bool,
    /// The machine has not been started again since the last session began.
    pub is_same_boot: bool,
    /// By session, its run.
    session_runs: Arc<[u64]>,
    /// The first session from which on all ended by themselves: what was done from there on is exactly known.
    exact_from: usize,
    /// A flush failed since the machine was started, or power was last cut: what it was to keep may be read and not be durable.
    has_failed_flush: bool,
    trees: Trees,
}

/// One tree of files of a journal.
#[derive(Clone, Copy, Debug)]
pub struct RecoveredTree<'a> {
    /// As the last session named it, with its lengths.
    pub target: &'a JournalTarget,
    /// The epoch of the last sync of any of its files that was acknowledged in the last session.
    pub acknowledged_epoch: Option<u32>,
    recovered: &'a Recovered,
}

impl RecoveredTree<'_> {
    /// By number of the session: its run.
    #[must_use]
    pub fn session_runs(&self) -> &[u64] {
        &self.recovered.session_runs
    }

    /// When the last session that changed it began, as [`RecoveredTarget::last_change_ns`].
    #[must_use]
    pub fn last_change_ns(&self) -> i64 {
        let tree = self.recovered.trees.tree(self.target.device);
        changed_ns(&self.recovered.sessions, tree.and_then(|tree| tree.changed_in))
    }

    /// The files of which something was written down, in order of their numbers.
    pub fn files(&self) -> impl Iterator<Item = u32> {
        self.recovered.trees.files(self.target.device)
    }

    /// What must be found of a file after a crash of this kind.
    #[must_use]
    pub fn file(&self, file: u32, crash: Crash) -> RecoveredFile {
        self.recovered.trees.file(self.target.device, file, crash)
    }

    /// Must a block with this floor have exactly its version, because nothing newer was ever submitted?
    #[must_use]
    pub fn is_exact(&self, floor: Floor) -> bool {
        floor.session() >= self.recovered.exact_from && !floor.may_be_newer()
    }
}

/// One target of a journal.
#[derive(Debug)]
pub struct RecoveredTarget {
    /// The number in its stamps.
    pub device: u64,
    /// As the last session named it.
    pub name: String,
    /// Its length then, bytes.
    pub size_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Executions whose data may be there, the newest first: those of the sessions, and those that they accepted.
    pub runs: Arc<[u64]>,
    /// By number of the session: its run.
    pub session_runs: Arc<[u64]>,
    /// When the last session that changed it began, or the first one of the journal, ns since 1970: an execution that wrote there later
    /// and is none of the runs is not in the journal. One that only looked, as a recovery that found damage, changes nothing of that.
    pub last_change_ns: i64,
    /// The epoch of the last flush that was acknowledged in the last session.
    pub acknowledged_epoch: Option<u32>,
    /// The first session from which on all ended by themselves: what was done from there on is exactly known.
    exact_from: usize,
    replay: TargetReplay,
}

impl RecoveredTarget {
    /// Every block of which something must be there after a crash of this kind: its number, the oldest operation whose effect may be
    /// found, and the version of that write.
    pub fn floors(&self, crash: Crash) -> impl Iterator<Item = (u64, Floor, u16)> {
        self.replay.floors(crash)
    }

    /// Blocks that were written and of which nothing must be there after a crash of this kind: no flush covered them.
    #[must_use]
    pub fn unpromised(&self, crash: Crash) -> u64 {
        self.replay.unpromised(crash)
    }

    /// Blocks in which something must be there after a crash of this kind, of those that do not end within the first so many bytes.
    #[must_use]
    pub fn promised_behind(&self, crash: Crash, bytes: u64) -> u64 {
        let blocks = bytes / self.block_bytes.max(1);
        self.floors(crash).filter(|(block, floor, _)| *block >= blocks && !floor.allows_zeroes()).count() as u64
    }

    /// Must a block with this floor have exactly its version, because nothing newer was ever submitted?
    #[must_use]
    pub fn is_exact(&self, floor: Floor) -> bool {
        floor.session() >= self.exact_from && !floor.may_be_newer()
    }

    /// Number of a session of this run.
    #[must_use]
    pub fn session_of(&self, run: u64) -> Option<usize> {
        self.session_runs.iter().position(|of_session| *of_session == run)
    }
}

impl Recovered {
    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn journal(&self) -> u64 {
        self.journal
    }

    pub(crate) fn has_failed_flush(&self) -> bool {
        self.has_failed_flush
    }

    pub(crate) fn last_segment(&self) -> u64 {
        self.last_segment
    }

    pub(crate) fn last_bytes(&self) -> u64 {
        self.last_bytes
    }

    /// Does it know of blocks or files that a session does not have? A checkpoint of that session would forget them.
    pub(crate) fn knows_more_than(&self, session: &SessionHeader) -> bool {
        let of = |device: u64| session.targets.iter().find(|target| target.device == device);
        let has_blocks = |known: &RecoveredTarget| {
            let blocks = of(known.device).map_or(0, |target| target.size_bytes / target.block_bytes.max(1));
            known.replay.end() <= blocks
        };
        let has_files = |known: RecoveredTree<'_>| {
            let files = of(known.target.device).and_then(|target| target.tree.as_ref()).map_or(0, |tree| tree.files);
            known.files().all(|file| file < files)
        };
        !(self.targets.iter().all(has_blocks) && self.trees().all(has_files))
    }

    /// Did each session end by itself?
    #[must_use]
    pub fn have_all_ended(&self) -> bool {
        self.is_clean && self.exact_from == 0
    }

    /// A target by the number in its stamps.
    #[must_use]
    pub fn target(&self, device: u64) -> Option<&RecoveredTarget> {
        let at = self.targets.binary_search_by_key(&device, |target| target.device).ok()?;
        self.targets.get(at)
    }

    /// A tree of files by the number in its header.
    #[must_use]
    pub fn tree(&self, device: u64) -> Option<RecoveredTree<'_>> {
        let tree = self.trees.tree(device)?;
        Some(RecoveredTree { target: &tree.target, acknowledged_epoch: tree.acknowledged, recovered: self })
    }

    /// All trees of files.
    pub fn trees(&self) -> impl Iterator<Item = RecoveredTree<'_>> {
        self.trees.devices().filter_map(|device| self.tree(device))
    }

    /// How the last session ended: by its own word, or its program died, or, after another start of the machine, power may have been cut.
    #[must_use]
    pub fn crash(&self) -> Crash {
        if self.is_same_boot { Crash::ProcessDied } else { Crash::PowerCut }
    }

    /// What the user has to know, a sentence each: how it ended, and what was lost of the journal itself.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let (sessions, records) = (self.sessions.len(), self.records);
        let end = match (self.is_clean, self.crash()) {
            (true, Crash::ProcessDied) => "the last one ended by itself",
            (true, Crash::PowerCut) => "the last one ended by itself, and the machine was started again since",
            (false, Crash::ProcessDied) => "the last one died, and the machine runs since",
            (false, Crash::PowerCut) => "the last one did not end, and the machine was started again since",
        };
        let first = match sessions {
            // Nothing tells in which boot it was written.
            0 => format!("journal {}: nothing of it can be read", self.path.display()),
            _ => format!(
                "journal {}: {records} records of {sessions} session{}; {end}",
                self.path.display(),
                if sessions == 1 { "" } else { "s" }
            ),
        };
        let mut all = vec![first];
        all.extend(self.damage.iter().map(|damage| format!("journal {}: {damage}", self.path.display())));
        all.extend(self.notes.iter().map(|note| format!("journal {}: {note}", self.path.display())));
        all
    }
}

/// Reads a journal. Damage of its content is no error: what stands before it is used, and [`Recovered::damage`] says what was lost.
///
/// # Errors
/// There is none, it is being written, or its files cannot be read.
pub fn recover(path: &Path) -> Result<Recovered, JournalError> {
    let folder = Folder::open(path)?;
    let numbers = segments(&folder)?;
    let Some(&last_segment) = numbers.last() else { return Err(JournalError::Missing(path.to_path_buf())) };
    let mut opened = Vec::new();
    for number in numbers {
        opened.push((number, Segment::open(&folder, number)?));
    }
    if let Some((_, Ok(last))) = opened.last()
        && is_held(last)
    {
        return Err(JournalError::InUse { path: path.to_path_buf(), pid: last.header.session.pid });
    }
    let journal = opened.iter().find_map(|(_, segment)| Some(segment.as_ref().ok()?.header.journal)).unwrap_or(0);
    for (number, segment) in &mut opened {
        if segment.as_ref().is_ok_and(|segment| segment.header.journal != journal) {
            *segment = Err(headless(*number, 0, "belongs to another journal"));
        }
    }
    let failed = |number: u64| JournalError::io("read", &path.join(segment_name(number)));
    let mut read = Pass::default();
    let mut coverage = Coverage::default();
    for (number, segment) in &opened {
        read.first(segment, &mut coverage).map_err(failed(*number))?;
    }
    if read.sessions.len() > SESSIONS_MAX {
        let sessions = read.sessions.len();
        return Err(JournalError::Limit(format!(
            "journal {} has {sessions} sessions; at most {SESSIONS_MAX} can be read: begin a new one",
            path.display()
        )));
    }
    let mut replay = Replay::new(coverage);
    let mut second = Pass::default();
    for (number, segment) in &opened {
        second.second(segment, &mut replay).map_err(failed(*number))?;
        if replay.is_too_large {
            return Err(JournalError::Limit(format!(
                "journal {} tells of more blocks than half of this machine's memory has room for: read it on a larger one, or give \
                 it up (delete its directory) and begin a new one",
                path.display()
            )));
        }
    }
    replay.finish();
    Ok(read.into_recovered(path, (journal, last_segment), replay))
}

/// What is found on the way through the segments.
#[derive(Debug, Default)]
struct Pass {
    sessions: Vec<Arc<SessionHeader>>,
    /// By session: it ended by itself.
    ends: Vec<bool>,
    damage: Vec<JournalDamage>,
    notes: Vec<String>,
    lost: Vec<String>,
    /// Segments that are named and not there.
    missing: Vec<u64>,
    records: u64,
    /// The segment before, how it ended, and how many bytes of it were used.
    before: Option<(u64, SegmentEnd, u64)>,
    has_checkpoint: bool,
    has_failed_flush: bool,
}

/// What lies between a segment and the one before.
#[derive(Debug, PartialEq, Eq)]
enum Between {
    /// The same session, without a gap.
    Nothing,
    /// The same session; records are missing.
    Gap,
    /// Another session.
    Session,
    /// Another session; records of the one before are missing at its end.
    SessionBehindGap,
}

impl Pass {
    /// Notes that a segment begins.
    fn begin(&mut self, segment: &Segment) -> Between {
        let header = &segment.header;
        if segment.is_copy_damaged {
            let number = segment.number;
            self.notes
                .push(format!("one of two copies of the header of segment {number} is damaged; the other is used"));
        }
        let follows = self.before.as_ref().is_some_and(|(number, ..)| Some(*number) == header.previous);
        if !follows && let Some(previous) = header.previous {
            self.missing.push(previous);
        }
        let is_same = header.of_session > 0 && self.sessions.last().is_some_and(|last| last.run == header.session.run);
        let is_cut = self.note_cut(header, follows, is_same);
        if !is_same {
            self.has_failed_flush &= header.session.after != Some(Crash::PowerCut);
            self.sessions.push(header.session.clone());
            self.ends.push(false);
            return if is_cut { Between::SessionBehindGap } else { Between::Session };
        }
        match &self.before {
            Some((_, SegmentEnd::Next, _)) if follows => Between::Nothing,
            _ => Between::Gap,
        }
    }

    /// Notes that the segment before has lost its end, where it has: a segment follows it, and it neither ended nor goes on, and is
    /// shorter than when this session began, if that is another one. A session that died leaves such an end, too.
    fn note_cut(&mut self, header: &SegmentHeader, follows: bool, is_same: bool) -> bool {
        let Some((number, end, bytes)) = self.before.as_ref().filter(|_| follows) else { return false };
        let is_known = match end {
            SegmentEnd::Next | SegmentEnd::Over => true,
            // Said already.
            SegmentEnd::Damaged(damage) if !damage.is_torn => return true,
            SegmentEnd::Open | SegmentEnd::Damaged(_) => false,
        };
        if is_known || (!is_same && header.previous_bytes.is_some_and(|used| *bytes >= used)) {
            return false;
        }
        let length = header.previous_bytes.map_or_else(String::new, |used| format!(", and had {used}"));
        let note = format!("segment {} has lost its end: it ends behind {bytes} bytes{length}", segment_name(*number));
        self.lost.push(note.clone());
        self.notes.push(note);
        true
    }

    fn end(&mut self, (number, bytes): (u64, u64), end: SegmentEnd) {
        if let SegmentEnd::Damaged(damage) = &end {
            self.damage.push(damage.clone());
            self.lost.extend((!damage.is_torn).then(|| damage.to_string()));
        }
        if let Some(last) = self.ends.last_mut() {
            *last = end == SegmentEnd::Over;
        }
        self.before = Some((number, end, bytes));
    }

    fn first(&mut self, segment: &Result<Segment, JournalDamage>, coverage: &mut Coverage) -> std::io::Result<()> {
        let segment = match segment {
            Ok(segment) => segment,
            Err(damage) => {
                coverage.gap();
                self.end((damage.segment, 0), SegmentEnd::Damaged(damage.clone()));
                return Ok(());
            }
        };
        match self.begin(segment) {
            Between::Nothing => {}
            Between::Gap => coverage.gap(),
            Between::Session => coverage.session(&segment.header.session),
            Between::SessionBehindGap => {
                coverage.gap();
                coverage.session(&segment.header.session);
            }
        }
        let (mut records, mut is_checkpoint, mut has_failed) = (0, false, false);
        let end = segment.read(|record, _| {
            records += 1;
            is_checkpoint |= record.kind == Kind::CheckpointEnd;
            let is_flush = matches!(record.kind, Kind::FlushEnded | Kind::FileSyncEnded | Kind::DirectorySyncEnded);
            has_failed |= is_flush && !record.is_ok;
            coverage.record(&segment.header, record);
        })?;
        self.records += records;
        self.has_failed_flush |= has_failed;
        if is_checkpoint {
            // What came before is superfluous.
            self.has_checkpoint = true;
            self.missing.clear();
        }
        self.end((segment.number, segment.used(&end)), end);
        Ok(())
    }

    fn second(&mut self, segment: &Result<Segment, JournalDamage>, replay: &mut Replay) -> std::io::Result<()> {
        let segment = match segment {
            Ok(segment) => segment,
            Err(damage) => {
                replay.forget();
                self.end((damage.segment, 0), SegmentEnd::Damaged(damage.clone()));
                return Ok(());
            }
        };
        let was_damaged = matches!(self.before, Some((_, SegmentEnd::Damaged(_), _)));
        let last = self.sessions.last().cloned();
        match self.begin(segment) {
            Between::Nothing => {}
            Between::Gap => replay.gap(&segment.header.session),
            between @ (Between::Session | Between::SessionBehindGap) => {
                let has_gap = was_damaged || between == Between::SessionBehindGap;
                if let Some(last) = last.filter(|_| has_gap) {
                    replay.gap(&last);
                }
                let number = u16::try_from(self.sessions.len() - 1).unwrap_or(u16::MAX);
                replay.session(number, &segment.header.session);
            }
        }
        let end = segment.read(|record: &Record, states| replay.record(&segment.header, record, states))?;
        // What merely ends early was never finished; what is damaged hides what was.
        if matches!(&end, SegmentEnd::Damaged(damage) if damage.intact_records > 0 || damage.reason == DAMAGED) {
            replay.gap(&segment.header.session);
        }
        self.end((segment.number, segment.used(&end)), end);
        Ok(())
    }

    fn into_recovered(mut self, path: &Path, (journal, last_segment): (u64, u64), replay: Replay) -> Recovered {
        let session_runs: Arc<[u64]> = self.sessions.iter().map(|session| session.run).collect();
        let exact_from = self.ends.iter().rposition(|is_over| !is_over).map_or(0, |at| at + 1);
        let missing = self.missing.iter().map(|number| format!("segment {number} is not there"));
        self.lost.extend(missing.clone());
        self.notes.extend(missing);
        let mut targets = Vec::new();
        let mut runs = AllRuns::new(&self.sessions);
        for (device, replay) in replay.targets {
            if let Some(other) = replay.other_blocks {
                let (name, now) = (&replay.name, replay.block_bytes);
                self.notes.push(format!(
                    "blocks of {name} had {other} bytes in an earlier session, and {now} later: what the earlier one says is not used"
                ));
            }
            targets.push(RecoveredTarget {
                device,
                name: replay.name.clone(),
                size_bytes: replay.size_bytes,
                block_bytes: replay.block_bytes,
                runs: runs.of(device),
                session_runs: session_runs.clone(),
                last_change_ns: changed_ns(&self.sessions, replay.changed_in),
                acknowledged_epoch: replay.acknowledged,
                exact_from,
                replay,
            });
        }
        let boot = self.sessions.last().map_or("", |session| session.boot.as_str());
        Recovered {
            path: path.to_path_buf(),
            journal,
            last_segment,
            last_bytes: self.before.as_ref().map_or(0, |(.., bytes)| *bytes),
            is_clean: self.ends.last().copied().unwrap_or(false),
            is_same_boot: !boot.is_empty() && boot == boot_id(),
            sessions: self.sessions,
            targets,
            damage: self.damage,
            notes: self.notes,
            lost: self.lost,
            records: self.records,
            session_runs,
            exact_from,
            has_failed_flush: self.has_failed_flush,
            trees: replay.trees,
        }
    }
}

/// When the session began that changed a target last, or the first one, ns since 1970.
fn changed_ns(sessions: &[Arc<SessionHeader>], changed_in: Option<u16>) -> i64 {
    let changed = changed_in.and_then(|session| sessions.get(usize::from(session)));
    changed.or(sessions.first()).map_or(i64::MAX, |session| session.wall_ns)
}
