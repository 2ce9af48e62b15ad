//! A collector's directory: who it belongs to, and what the collector knows from one start to the next.
//!
//! | name | what it is |
//! | --- | --- |
//! | `.iodyno-collector` | the collector's identity, and the name of its work folder; made once |
//! | `.iodyno-collector-state` | the next number of a recording, the time that has passed, what went by age lately |
//! | `.iodyno-work-…` | an unguessable name, and a mark inside: where recordings are thinned and removed |
//! | `.lock` | held by the collector that runs |

use super::evidence::{Evidence, Step};
use super::retention_policy::{Budget, DAY_NS, share};
use super::service_clock::ServiceClock;
use crate::MonitorError;
use output::{EntryKind, FileAccess, Folder, OutputError, ReplacePolicy};
use quantity::text::format_ns;
use recording::{CollectorMark, Inventory, MARK, Manifest, RecordingError, Writer, discard, manifest_in};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Name of the file that one collector holds locked.
const LOCK: &str = ".lock";
const IDENTITY: &str = ".iodyno-collector";
const STATE: &str = ".iodyno-collector-state";
/// Beginning of the work folder's name.
const WORK: &str = ".iodyno-work-";
/// What is being made in the work folder begins so.
pub(crate) const NEW: &str = "new-";
/// Made by `mkfs`.
const LOST_FOUND: &str = "lost+found";
/// Version of both files; newer ones are refused.
const FORMAT: u32 = 1;
/// A longer file is none of ours.
const FILE_BYTES: u64 = 64 << 10;
/// The most foreign names in one message.
const NAMES: usize = 4;

#[derive(Debug, Serialize, Deserialize)]
struct Identity {
    format: u32,
    /// 32 hexadecimal digits.
    collector: String,
    work: String,
    program: String,
}

/// What went by age, and became coarser, since this much time with the machine on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Spent {
    since_ns: i64,
    removals: u64,
    thinnings: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    format: u32,
    next: u64,
    evidence: Evidence,
    spent: Spent,
}

/// May others be able to write in a collector's directory?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderSharing {
    /// Such a directory is refused.
    Refused,
    /// The user says that it is all right.
    Allowed,
}

/// The directory of a collector, held by this one.
#[derive(Debug)]
pub struct ArchiveFolder {
    folder: Folder,
    work: Folder,
    work_name: String,
    id: String,
    /// Random, of this process: what it makes in the work folder has it in its name.
    process: String,
    /// Recordings of this process have this number or a higher one.
    first: u64,
    known: Mutex<Known>,
    _lock: DirectoryLock,
}

impl ArchiveFolder {
    /// Takes a directory in which no other user can write: see [`open_as`](Self::open_as).
    ///
    /// # Errors
    /// Others can write there, and all that [`open_as`](Self::open_as) refuses.
    pub fn open(directory: &Path, clock: &dyn ServiceClock) -> Result<Self, MonitorError> {
        Self::open_as(directory, clock, FolderSharing::Refused)
    }

    /// Takes a directory for a collector: its own one, a new or an empty one, or one of an older version of this program, whose
    /// recordings are left alone from then on.
    ///
    /// # Errors
    /// Another collector works there, something else is there that no collector made, or it cannot be written to.
    pub fn open_as(directory: &Path, clock: &dyn ServiceClock, sharing: FolderSharing) -> Result<Self, MonitorError> {
        let folder = Folder::open_or_create(directory, FileAccess::of_recordings())?;
        if sharing == FolderSharing::Refused {
            refuse_shared(&folder)?;
        }
        if folder.kind(IDENTITY)?.is_none() {
            refuse_strangers(&folder)?;
        }
        let lock = lock(&folder)?;
        let (identity, work) = match read_identity(&folder)? {
            Some(identity) => match open_work(&folder, &identity)? {
                Some(work) => (identity, work),
                None => settle(&folder, identity.collector)?,
            },
            None => {
                // Others may have come before the lock.
                refuse_strangers(&folder)?;
                settle(&folder, random())?
            }
        };
        let id = identity.collector;
        let now = clock.moment();
        let newest = newest(&folder, &id)?;
        let mut known = read_state(&folder).unwrap_or_else(|| Known {
            format: FORMAT,
            next: 1,
            evidence: newest.map_or_else(|| Evidence::begin(&now), |(_, passed_ns)| Evidence::resume(&now, passed_ns)),
            spent: Spent::default(),
        });
        known.next = known.next.max(newest.map_or(1, |(number, _)| number.saturating_add(1)));
        let first = known.next;
        let (work_name, process, known) = (identity.work, random(), Mutex::new(known));
        Ok(Self { folder, work, work_name, id, process, first, known, _lock: lock })
    }

    /// Where the recordings are.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Where recordings are thinned and removed.
    pub(crate) fn work(&self) -> &Folder {
        &self.work
    }

    /// Is a recording marked with this collector's identity?
    pub(crate) fn is_mine(&self, mark: &CollectorMark) -> bool {
        mark.collector == self.id
    }

    /// Was it begun by an earlier process?
    pub(crate) fn is_of_before(&self, mark: &CollectorMark) -> bool {
        mark.number < self.first
    }

    /// Is this a name of the collector's own files in its directory, or of the file system's?
    pub(crate) fn is_furniture(&self, name: &OsStr) -> bool {
        [LOCK, IDENTITY, STATE, LOST_FOUND, self.work_name.as_str()].iter().any(|own| name == *own)
            || is_temporary(name)
    }

    /// Begins a recording with this name in its directory. Its folder is made in the work folder and moved to its place with its
    /// mark in it, so that a collector that is killed meanwhile leaves nothing that the next one does not know.
    ///
    /// # Errors
    /// The name is taken ([`RecordingError::Exists`]), or there is no room; nothing is left of it then.
    pub(crate) fn begin(&self, name: &str, manifest: Manifest) -> Result<(Writer, u64), RecordingError> {
        let path = self.folder.path().join(name);
        if self.folder.kind(name)?.is_some() {
            return Err(RecordingError::Exists(path));
        }
        let mark = self.next_mark(name);
        let fresh = format!("{NEW}{}-{}", self.process, mark.number);
        let folder = self.work.create_folder(&fresh)?;
        if let Err(error) = mark.write(&folder).and_then(|()| Ok(self.work.move_to(&fresh, &self.folder, name)?)) {
            discard(folder.path());
            return Err(match error {
                RecordingError::Output(OutputError::Taken { .. }) => RecordingError::Exists(path),
                other => other,
            });
        }
        self.folder.sync()?;
        Ok((Writer::begin_marked(self.folder.subfolder(name)?, manifest, &mark)?, mark.number))
    }

    /// Is this what this process is making in the work folder now?
    pub(crate) fn is_being_made(&self, name: &OsStr) -> bool {
        name.to_string_lossy().strip_prefix(NEW).is_some_and(|rest| rest.starts_with(&self.process))
    }

    /// Has its directory, or its work folder, been removed by others?
    pub(crate) fn is_removed(&self) -> bool {
        self.folder.is_removed() || self.work.is_removed()
    }

    /// The mark of the next recording.
    pub(crate) fn next_mark(&self, name: &str) -> CollectorMark {
        let mut known = self.known();
        let number = known.next;
        known.next += 1;
        CollectorMark {
            collector: self.id.clone(),
            number,
            name: name.to_string(),
            begun_ns: known.evidence.passed_ns(),
        }
    }

    /// The scale of ages now, ns.
    pub(crate) fn passed_ns(&self) -> i64 {
        self.known().evidence.passed_ns()
    }

    /// Takes in the present moment; gives what there is to say of a clock that stepped.
    pub(crate) fn see(&self, clock: &dyn ServiceClock) -> Option<String> {
        let step = self.known().evidence.see(&clock.moment(), &|| clock.is_synchronised())?;
        let far = |ns: i64| format_ns(ns.unsigned_abs());
        Some(match step {
            Step::Believed(ns) => {
                format!(
                    "the clock is {} ahead of the time that has passed, and trusted: recordings are older by that",
                    far(ns)
                )
            }
            Step::Withheld(ns) => format!(
                "the clock is {} ahead of the time that has passed: recordings are not taken for older until it is \
                 synchronised, or as much time has passed",
                far(ns)
            ),
            Step::TakenBack(ns) => {
                format!("the clock was {} ahead by mistake: recordings are younger by that again", far(ns))
            }
        })
    }

    /// How many of `count` recordings may go by age now.
    pub(crate) fn budget(&self, count: usize, keep_ns: Option<i64>) -> Budget {
        let mut known = self.known();
        let lived_ns = known.evidence.lived_ns();
        if known.spent == Spent::default() || lived_ns.saturating_sub(known.spent.since_ns) >= DAY_NS {
            known.spent = Spent { since_ns: lived_ns, ..Spent::default() };
        }
        let share = share(count, keep_ns);
        Budget {
            removals: share.saturating_sub(known.spent.removals),
            thinnings: share.saturating_sub(known.spent.thinnings),
        }
    }

    /// Notes what went.
    pub(crate) fn spend(&self, spent: Budget) {
        let mut known = self.known();
        known.spent.removals += spent.removals;
        known.spent.thinnings += spent.thinnings;
    }

    /// Writes down what is known. On a full disk the old state stays: after a kill, the time since then is made up for by the
    /// kernel's clock, and the numbers by the recordings.
    pub(crate) fn save(&self) {
        let Ok(mut text) = serde_json::to_vec_pretty(&*self.known()) else { return };
        text.push(b'\n');
        let _ = self.folder.replace(STATE, ReplacePolicy::File, |file| file.write_all(&text));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time that a recording covers by the monotonic clock, ns.
pub(crate) fn length_ns(manifest: &Manifest) -> i64 {
    manifest.clock_anchors.last().map_or(0, |last| last.t_ns.saturating_sub(manifest.started_t_ns))
}

/// 128 bits of the system's random source, as 32 hexadecimal digits.
pub(crate) fn random() -> String {
    let part = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", part(), part())
}

/// What `Folder::replace` leaves of the collector's own files when it is killed.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let of_ours = [IDENTITY, STATE].iter().any(|of| name.strip_prefix('.').is_some_and(|rest| rest.starts_with(of)));
    of_ours && name.ends_with(".new")
}

/// Holds the directory for one collector.
fn lock(folder: &Folder) -> Result<DirectoryLock, MonitorError> {
    let path = folder.path().join(LOCK);
    let mut file = folder.append(LOCK)?;
    let mut holder = String::new();
    let is_text = (&mut file).take(FILE_BYTES).read_to_string(&mut holder).is_ok();
    let holder = holder.trim().to_string();
    if !is_text || !holder.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(MonitorError::Strange { path, why: "is not the lock of a collector".to_string() });
    }
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(MonitorError::Occupied { directory: folder.path().to_path_buf(), holder });
    }
    // For people; the lock itself is the kernel's, and goes with the process.
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(DirectoryLock(file))
}

/// The lock of a directory. Dropping it unlocks explicitly: between `fork` and `exec` a child has a copy of the descriptor,
/// which would hold the lock on after this one is closed.
#[derive(Debug)]
struct DirectoryLock(File);

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

fn read_identity(folder: &Folder) -> Result<Option<Identity>, MonitorError> {
    if folder.kind(IDENTITY)?.is_none() {
        return Ok(None);
    }
    let path = folder.path().join(IDENTITY);
    let strange = |why: String| MonitorError::Strange { path: path.clone(), why };
    let mut text = Vec::new();
    let file = folder.open_file(IDENTITY)?;
    file.take(FILE_BYTES).read_to_end(&mut text).map_err(OutputError::io("read", &path))?;
    let identity: Identity = serde_json::from_slice(&text)
        .map_err(|error| strange(format!("does not tell whose directory this is ({error})")))?;
    if identity.format > FORMAT {
        return Err(strange(format!("has format {}, this program reads up to {FORMAT}", identity.format)));
    }
    let is_random = |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_random(&identity.collector) || !identity.work.strip_prefix(WORK).is_some_and(is_random) {
        return Err(strange("does not tell whose directory this is".to_string()));
    }
    Ok(Some(identity))
}

/// Writes the identity, and makes the work folder that it names.
fn settle(folder: &Folder, collector: String) -> Result<(Identity, Folder), MonitorError> {
    let program = format!("iodyno {}", env!("CARGO_PKG_VERSION"));
    let identity = Identity { format: FORMAT, collector, work: format!("{WORK}{}", random()), program };
    let mut text = serde_json::to_vec_pretty(&identity).map_err(|error| MonitorError::Strange {
        path: folder.path().join(IDENTITY),
        why: format!("cannot be written ({error})"),
    })?;
    text.push(b'\n');
    folder.replace(IDENTITY, ReplacePolicy::File, |file| file.write_all(&text))?;
    let work = folder.create_folder(&identity.work)?;
    work_mark(&identity).write(&work)?;
    Ok((identity, work))
}

fn work_mark(identity: &Identity) -> CollectorMark {
    CollectorMark { collector: identity.collector.clone(), number: 0, name: identity.work.clone(), begun_ns: 0 }
}

/// The work folder; `None` where it is gone or not ours any more, so that another one is needed.
fn open_work(folder: &Folder, identity: &Identity) -> Result<Option<Folder>, MonitorError> {
    if folder.kind(&identity.work)? != Some(EntryKind::Directory) {
        return Ok(None);
    }
    let work = folder.subfolder(&identity.work)?;
    if is_unmarked(&work) {
        // Its name cannot be guessed: a collector that was killed has made it, and nothing came into it since.
        work_mark(identity).write(&work)?;
    }
    let is_ours =
        CollectorMark::read(&work).is_some_and(|mark| mark == work_mark(identity)) && work.is_on_mount_of(folder)?;
    Ok(is_ours.then_some(work))
}

/// Has a work folder nothing in it, not even its mark?
fn is_unmarked(work: &Folder) -> bool {
    let is_blank = |found: Inventory| found.is_ours() && found.is_unbegun() && !found.has_journal();
    work.kind(MARK).is_ok_and(|kind| kind.is_none()) && Inventory::of(work, None).is_ok_and(is_blank)
}

fn read_state(folder: &Folder) -> Option<Known> {
    let mut text = Vec::new();
    folder.open_file(STATE).ok()?.take(FILE_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok().filter(|known: &Known| known.format <= FORMAT)
}

/// The highest number of this collector's recordings, and the time that it proves to have passed; `None`: there is none.
fn newest(folder: &Folder, id: &str) -> Result<Option<(u64, i64)>, MonitorError> {
    let mut newest: Option<(u64, i64)> = None;
    for name in folder.names()? {
        let is_folder = folder.kind(&name)? == Some(EntryKind::Directory);
        let Some(recording) = is_folder.then(|| folder.subfolder(&name).ok()).flatten() else { continue };
        let Some(mark) = CollectorMark::read(&recording)
            .filter(|mark| mark.collector == id && mark.number > 0 && name == mark.name.as_str())
        else {
            continue;
        };
        if newest.is_none_or(|(number, _)| number < mark.number) {
            let length_ns = manifest_in(&recording).map_or(0, |manifest| length_ns(&manifest));
            // A recording is of a day or so; more is damage.
            newest = Some((mark.number, mark.begun_ns.saturating_add(length_ns.clamp(0, 2 * DAY_NS))));
        }
    }
    Ok(newest)
}

/// Refuses a directory in which others can write: what they put there could be removed, or could stand for a recording.
fn refuse_shared(folder: &Folder) -> Result<(), MonitorError> {
    let failed = || OutputError::io("read", folder.path());
    let (found, above) = (
        rustix::fs::fstat(folder).map_err(failed())?,
        rustix::fs::statat(folder, "..", rustix::fs::AtFlags::empty()).map_err(failed())?,
    );
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // Where a user's new files are writable for a group, it is one of this user alone; root's is not.
    let is_own_group = uid != 0 && found.st_gid == gid;
    let why = if found.st_uid != uid && found.st_uid != 0 {
        format!("it belongs to user {}", found.st_uid)
    } else if found.st_mode & 0o002 != 0 {
        "everybody can write there".to_string()
    } else if found.st_mode & 0o020 != 0 && !is_own_group {
        format!("group {} can write there", found.st_gid)
    } else if above.st_mode & 0o1002 == 0o002 {
        "everybody can put another one in its place".to_string()
    } else {
        return Ok(());
    };
    Err(MonitorError::Shared { directory: folder.path().to_path_buf(), why })
}

/// Refuses a directory with something in it that neither a collector nor `mkfs` makes.
fn refuse_strangers(folder: &Folder) -> Result<(), MonitorError> {
    let names = folder.names()?;
    let mut strange = Vec::new();
    for name in &names {
        let kind = folder.kind(name)?;
        if kind.is_some_and(|kind| !is_of_a_collector(name, kind)) {
            strange.push(name.to_string_lossy().escape_debug().to_string());
        }
    }
    if strange.is_empty() {
        return Ok(());
    }
    let more = strange.len().saturating_sub(NAMES);
    strange.truncate(NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(MonitorError::NotEmpty { directory: folder.path().to_path_buf(), found: strange.join(", ") + &more })
}

/// What an older version of this program left in the directory of a collector, by its names.
fn is_of_a_collector(name: &OsStr, kind: EntryKind) -> bool {
    let Some(name) = name.to_str() else { return false };
    match kind {
        EntryKind::File => name == LOCK || is_temporary(OsStr::new(name)),
        EntryKind::Directory => {
            let recording = name.strip_prefix(".thin-").or_else(|| name.strip_prefix(".old-")).unwrap_or(name);
            name == LOST_FOUND || is_day(recording) || (name.starts_with("flight-") && name.ends_with(".iodyno"))
        }
        _ => false,
    }
}

/// `2026-11-20`, or `2026-11-20-2`.
fn is_day(name: &str) -> bool {
    let mut parts = name.split('-');
    let mut number = |least: usize, most: usize| {
        parts
            .next()
            .is_some_and(|part| (least..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_date = number(4, 6) && number(2, 2) && number(2, 2);
    is_date
        && parts.next().is_none_or(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::is_day;

    #[test]
    fn days_are_known_by_their_names() {
        for day in ["2026-11-20", "2026-11-20-2", "1970-01-01-117"] {
            assert!(is_day(day), "{day}");
        }
        for other in
            ["", "2026", "2026-11", "2026-11-20-", "2026-11-20-x", "2026-11-20-2-3", "photos-11-20", "2026-1-2"]
        {
            assert!(!is_day(other), "{other}");
        }
    }
}
