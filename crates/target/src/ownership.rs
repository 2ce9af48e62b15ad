//! How iodyno knows its own files and devices again: a mark in an extended attribute, or a line in a registry where there
//! are none.
//!
//! A mark alone proves little, because it stays when another program writes into the file. So it says of which file it was
//! written and, from the end of a run until the next one begins, when that file was last changed ([`Settled`]). While a run
//! writes, and after one that was killed, it says nothing of that; then the content is the only evidence.

use crate::ErrorKind;
use crate::device_key;
use crate::foreign::Foreign;
use crate::pattern::{Known, UserPattern};
use crate::registry::Registry;
use crate::survey_offsets::MAX_REMEMBERED;
use crate::sysfs::Number;
use rustix::fd::BorrowedFd;
use rustix::fs::{
    AtFlags, Statx, StatxFlags, Timespec, Timestamps, UTIME_OMIT, XattrFlags, fgetxattr, fsetxattr, futimens, statx,
};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;

/// The extended attribute that iodyno's own files carry.
pub(crate) const XATTR: &str = "user.iodyno";
/// A longer mark was not written by iodyno.
const MAX_MARK_BYTES: usize = 2048;
/// Patterns of one target that are remembered; the oldest are forgotten.
const MAX_PATTERNS: usize = 16;

/// What the mark says about a file (or, without `filled_bytes` and `settled`, the registry about a device).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnershipTag {
    /// The file was written once from its start up to here; reads beyond make no sense yet. `None` in marks of older
    /// versions, which left it to the file system (`SEEK_HOLE`): that takes what was read for written.
    pub(crate) filled_bytes: Option<u64>,
    /// Names in the registry of the patterns that may stand in it.
    pub(crate) patterns: Vec<String>,
    /// The file at the end of the last run; `None` while one writes, when it was killed, or when it left what is not ours.
    pub(crate) settled: Option<Settled>,
    /// Sectors may hold what iodyno wrote and no longer knows by its content: parts of sectors, forgotten patterns. Marks of
    /// earlier versions do not tell, so that it is assumed of them.
    pub(crate) pieces: bool,
    /// A flag gave the content up, and it was not seen since that all of it was overwritten.
    pub(crate) overwritten_by_consent: bool,
}

/// A file as iodyno left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    size_bytes: u64,
    modified: Time,
    inode: u64,
    /// Time of birth, where the file system tells it.
    born: Option<Time>,
    /// A later write cannot give the file the same time, however coarse the file system's times are.
    is_apart: bool,
}

/// File systems round times down to this at most (FAT).
const COARSEST_SECONDS: i64 = 2;
/// A file system whose times have fractions rounds them to this at most (exFAT).
const FRACTION_NS: u32 = 10_000_000;
/// How long the clock is waited for, at most.
const WAIT: std::time::Duration = std::time::Duration::from_millis(30);

/// What a mark proves about the file that it was found on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagStatus {
    /// Nothing but iodyno has written to it.
    Untouched,
    /// Another program has changed it since.
    Changed,
    /// Not known: a run was killed, or this is a copy. Its content must tell.
    Unknown,
}

/// Seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Time(i64, u32);

impl Time {
    fn decode(text: &str) -> Option<Self> {
        let (seconds, nanoseconds) = text.split_once('.')?;
        Some(Self(seconds.parse().ok()?, nanoseconds.parse().ok()?))
    }

    /// Is this what a file system with coarser times (ext3, FAT, CIFS) makes of `exact` when it is mounted again?
    fn is_rounded(self, exact: Self) -> bool {
        [100, 1_000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000].into_iter().any(|unit: i128| {
            let ns = |time: Self| i128::from(time.0) * 1_000_000_000 + i128::from(time.1);
            ns(exact).div_euclid(unit) * unit == ns(self)
        })
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{:09}", self.0, self.1)
    }
}

impl Settled {
    /// The file as it is now.
    ///
    /// # Errors
    /// When its state cannot be read.
    pub(crate) fn now(fd: BorrowedFd<'_>) -> rustix::io::Result<Self> {
        // Network file systems write back first, or the server's time comes later than what is noted here.
        let how = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        let stat: Statx = statx(fd, "", how, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
        let born = (stat.stx_mask & StatxFlags::BTIME.bits() != 0)
            .then_some(Time(stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec));
        let modified = Time(stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec);
        Ok(Self { size_bytes: stat.stx_size, modified, inode: stat.stx_ino, born, is_apart: false })
    }

    /// The file as it is now, after seeing to it that a later write gives it another time of change: the clock is waited
    /// for where times have fractions, and where they have none, a file that was just written is set back by two seconds.
    ///
    /// # Errors
    /// When its state cannot be read.
    pub(crate) fn apart(fd: BorrowedFd<'_>) -> rustix::io::Result<Self> {
        let now = Self::now(fd)?;
        if now.modified.1 > 0 {
            return Ok(Self { is_apart: wait_until_past(now.modified), ..now });
        }
        let clock = clock().0;
        if (clock - now.modified.0).abs() > COARSEST_SECONDS {
            return Ok(Self { is_apart: true, ..now });
        }
        let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let earlier = Timespec { tv_sec: now.modified.0.min(clock) - COARSEST_SECONDS, tv_nsec: 0 };
        if futimens(fd, &Timestamps { last_access: omit, last_modification: earlier }).is_err() {
            // Not the owner: nothing tells this second's writes from each other.
            return Ok(now);
        }
        let back = Self::now(fd)?;
        Ok(Self { is_apart: back.modified.0 <= earlier.tv_sec, ..back })
    }

    pub(crate) fn size_bytes(self) -> u64 {
        self.size_bytes
    }

    /// Is this the same state of the same file?
    pub(crate) fn is_same(self, other: Self) -> bool {
        Self { is_apart: false, ..self } == Self { is_apart: false, ..other }
    }

    fn encode(self) -> String {
        let born = self.born.map(|born| format!(" born={born}")).unwrap_or_default();
        let apart = if self.is_apart { " apart=1" } else { "" };
        format!(" size={} mtime={} ino={}{born}{apart}", self.size_bytes, self.modified, self.inode)
    }
}

/// The clock that the kernel takes the times of files from.
fn clock() -> Time {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    Time(now.tv_sec, u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Waits until the clock gives another time than a file that was just written has. Says whether it does.
fn wait_until_past(modified: Time) -> bool {
    let nanoseconds = |time: Time| i128::from(time.0) * 1_000_000_000 + i128::from(time.1);
    let unit = if modified.1.is_multiple_of(FRACTION_NS) { i128::from(FRACTION_NS) } else { 1 };
    let step = std::time::Duration::from_millis(2);
    let mut waited = std::time::Duration::ZERO;
    loop {
        let past = nanoseconds(clock()) - nanoseconds(modified);
        // The clock was set back, or the times are those of another machine: to meet again would be an accident.
        if past >= unit || past < -i128::from(u32::MAX) {
            return true;
        }
        if waited >= WAIT {
            return false;
        }
        std::thread::sleep(step);
        waited += step;
    }
}

impl OwnershipTag {
    /// `2 size=4096 mtime=1.000000002 ino=12 filled=4096 whole=1 pattern=0123456789abcdef`: version, then words that later
    /// versions may add to. Without `size`, `mtime` and `ino` a run is writing, or was killed.
    pub(crate) fn encode(&self) -> String {
        let settled = self.settled.map(Settled::encode).unwrap_or_default();
        let filled = self.filled_bytes.map(|bytes| format!(" filled={bytes}")).unwrap_or_default();
        let patterns: String = self.patterns.iter().map(|id| format!(" pattern={id}")).collect();
        let whole = if self.pieces { "" } else { " whole=1" };
        let overwritten_by_consent = if self.overwritten_by_consent { " given=1" } else { "" };
        format!("2{settled}{filled}{whole}{overwritten_by_consent}{patterns}")
    }

    /// `None` when this is not a mark of a version that this program knows.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        // Version 1 knew neither what its patterns were nor when it ended: what it left must be known by its content.
        let is_first = match words.next() {
            Some("1") => true,
            Some("2") => false,
            _ => return None,
        };
        let mut mark = Self { pieces: true, ..Self::default() };
        let (mut size, mut modified, mut inode, mut born, mut is_apart) = (None, None, None, None, false);
        for word in words {
            match word.split_once('=')? {
                ("filled", bytes) => mark.filled_bytes = Some(bytes.parse().ok()?),
                ("pattern", id) if !is_first => mark.patterns.push(id.to_string()),
                ("size", bytes) => size = Some(bytes.parse().ok()?),
                ("mtime", time) => modified = Some(Time::decode(time)?),
                ("ino", number) => inode = Some(number.parse().ok()?),
                ("born", time) => born = Some(Time::decode(time)?),
                ("apart", yes) => is_apart = yes == "1",
                ("whole", yes) => mark.pieces = yes != "1",
                ("given", yes) => mark.overwritten_by_consent = yes == "1",
                _ => {}
            }
        }
        if let (Some(size_bytes), Some(modified), Some(inode)) = (size, modified, inode) {
            mark.settled = Some(Settled { size_bytes, modified, inode, born, is_apart });
        }
        Some(mark)
    }

    /// What the mark proves about a file that looks like `now`.
    pub(crate) fn standing(&self, now: Settled) -> TagStatus {
        let Some(left) = self.settled else { return TagStatus::Unknown };
        if left.is_same(now) {
            // Of whole seconds: written again within the same one, perhaps.
            let is_sure = left.is_apart || left.modified.1 > 0;
            return if is_sure { TagStatus::Untouched } else { TagStatus::Unknown };
        }
        // A copy (`cp -a`, a move to another file system) keeps the mark and the time of the last change.
        let same_change = left.modified == now.modified || now.modified.is_rounded(left.modified);
        if left.size_bytes == now.size_bytes && same_change { TagStatus::Unknown } else { TagStatus::Changed }
    }

    /// What may stand in the file, apart from marked sectors.
    pub(crate) fn known(&self, registry: Option<&Registry>) -> Known {
        let find = |id: &String| registry?.pattern(id);
        Known { patterns: self.patterns.iter().filter_map(find).collect() }
    }

    /// Is all that iodyno wrote known by its content?
    pub(crate) fn is_known_by_content(&self, known: &Known) -> bool {
        !self.pieces && known.patterns.len() == self.patterns.len()
    }

    /// Adds a pattern; remembers it in the registry.
    fn add_pattern(&mut self, pattern: &UserPattern, registry: Option<&Registry>) -> Result<(), String> {
        let registry = registry.ok_or("there is no home for a registry (HOME or IODYNO_STATE_DIR)")?;
        let id = registry.keep(pattern)?;
        // The newest is the last, also when it had been there.
        self.patterns.retain(|known| *known != id);
        self.patterns.push(id);
        let surplus = self.patterns.len().saturating_sub(MAX_PATTERNS);
        self.patterns.drain(..surplus);
        self.pieces |= surplus > 0;
        Ok(())
    }
}

/// The mark of a file; `None` when iodyno did not make it.
pub(crate) fn mark_of(fd: BorrowedFd<'_>, registry: Option<&Registry>) -> Option<OwnershipTag> {
    let mut value = [0_u8; MAX_MARK_BYTES];
    match fgetxattr(fd, XATTR, &mut value) {
        Ok(len) => OwnershipTag::decode(std::str::from_utf8(value.get(..len)?).ok()?),
        Err(_) => OwnershipTag::decode(&registry?.last(&identity(fd)?)?),
    }
}

/// Marks a file as made by iodyno.
///
/// # Errors
/// A sentence when neither the attribute nor the registry can be written: the file will not be known again.
pub(crate) fn set_mark(fd: BorrowedFd<'_>, mark: &OwnershipTag, registry: Option<&Registry>) -> Result<(), String> {
    match fsetxattr(fd, XATTR, mark.encode().as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(()),
        Err(Errno::NOTSUP | Errno::PERM | Errno::NOSPC | Errno::DQUOT | Errno::NOSYS) => register(fd, mark, registry),
        Err(error) => Err(format!("failed to set the extended attribute {XATTR}: {error}")),
    }
}

/// A file's name in the registry: device, inode and time of birth, since inodes are used again. `None` when the file
/// system does not tell the time of birth: then nothing proves that the file is still the one that was registered.
fn identity(fd: BorrowedFd<'_>) -> Option<String> {
    let stat: Statx = statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::BTIME).ok()?;
    if stat.stx_mask & StatxFlags::BTIME.bits() == 0 {
        return None;
    }
    let (birth, device) = (stat.stx_btime, (stat.stx_dev_major, stat.stx_dev_minor));
    Some(format!("{}:{} {} {}.{:09}", device.0, device.1, stat.stx_ino, birth.tv_sec, birth.tv_nsec))
}

fn register(fd: BorrowedFd<'_>, mark: &OwnershipTag, registry: Option<&Registry>) -> Result<(), String> {
    let unknown = "the file system keeps neither extended attributes nor times of birth";
    let identity = identity(fd).ok_or(unknown)?;
    // An attribute that could be written once, and no longer (a full file system), would be read before the registry.
    if fgetxattr(fd, XATTR, &mut [0_u8; MAX_MARK_BYTES]).is_ok() {
        return Err(format!("failed to change the extended attribute {XATTR}"));
    }
    let registry = registry.ok_or("the file system has no extended attributes and there is no home for a registry")?;
    registry.append(&identity, &mark.encode())
}

/// Notes that a pattern is going to be written to a file.
///
/// # Errors
/// A sentence when it cannot be remembered: the next run will not know the file's content.
pub(crate) fn add_pattern_to_file(
    fd: BorrowedFd<'_>,
    pattern: &UserPattern,
    registry: Option<&Registry>,
) -> Result<(), String> {
    let mut mark = mark_of(fd, registry).unwrap_or_default();
    let before = mark.clone();
    mark.add_pattern(pattern, registry)?;
    if mark == before { Ok(()) } else { set_mark(fd, &mark, registry) }
}

/// Notes that a pattern is going to be written to a device.
///
/// # Errors
/// As [`add_pattern_to_file`].
pub(crate) fn add_pattern_to_device(
    number: Number,
    pattern: &UserPattern,
    registry: Option<&Registry>,
) -> Result<(), String> {
    let key = device_key::find(Path::new("/"), number).ok_or("nothing tells the device from others")?;
    let mut mark = registry.and_then(|registry| OwnershipTag::decode(&registry.last(&key)?)).unwrap_or_default();
    let before = mark.clone();
    mark.add_pattern(pattern, registry)?;
    match registry.filter(|_| mark != before) {
        Some(registry) => registry.append(&key, &mark.encode()),
        None => Ok(()),
    }
}

/// What iodyno may have written to a device, apart from marked sectors.
pub(crate) fn known_on_device(number: Number) -> Known {
    let registry = Registry::find();
    let find = || OwnershipTag::decode(&registry.as_ref()?.last(&device_key::find(Path::new("/"), number)?)?);
    find().map(|mark| mark.known(registry.as_ref())).unwrap_or_default()
}

/// Where something was found on a device that is not iodyno's.
#[derive(Debug)]
pub(crate) struct ForeignPlaces {
    /// The device's name in the registry; `None` without either.
    at: Option<(Registry, String)>,
    /// Bytes from the start of the device, in order.
    places: Vec<u64>,
}

impl ForeignPlaces {
    /// What is remembered of a device.
    pub(crate) fn of(number: Number) -> Self {
        let key = || Some(format!("foreign {}", device_key::find(Path::new("/"), number)?));
        let at = Registry::find().and_then(|registry| Some((registry, key()?)));
        let value = at.as_ref().and_then(|(registry, key)| registry.last(key)).unwrap_or_default();
        let places = value.split_ascii_whitespace().filter_map(|word| word.strip_prefix("at=")?.parse().ok());
        Self { places: places.take(MAX_REMEMBERED).collect(), at }
    }

    /// Where to look again.
    pub(crate) fn places(&self) -> &[u64] {
        &self.places
    }

    /// Remembers what was found this time instead; none: all of it has become zero or iodyno's.
    pub(crate) fn replace(self, found: &[u64]) {
        if self.places == found {
            return;
        }
        let Some((registry, key)) = self.at else { return };
        let value: Vec<String> = found.iter().map(|place| format!("at={place}")).collect();
        // A folder that cannot be written: what is found is refused all the same.
        let _ = registry.append(&key, &if value.is_empty() { "none".to_string() } else { value.join(" ") });
    }
}

/// Refuses content that is not ours.
pub(crate) fn foreign_error(foreign: Foreign, flag: &Path) -> ErrorKind {
    ErrorKind::ForeignContent { what: foreign.what, offset: foreign.offset, flag: flag.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;
    use std::os::unix::fs::FileExt;

    fn settled() -> Settled {
        Settled { size_bytes: 4096, modified: Time(12, 345_678_901), inode: 7, born: Some(Time(-1, 5)), is_apart: true }
    }

    #[test]
    fn marks_survive_a_round_trip() {
        for filled_bytes in [None, Some(0), Some(u64::MAX)] {
            for patterns in [vec![], vec!["0123456789abcdef".to_string(), "f".repeat(16)]] {
                let unborn = Settled { born: None, is_apart: false, ..settled() };
                for settled in [None, Some(settled()), Some(unborn)] {
                    for (pieces, overwritten_by_consent) in [(false, false), (true, false), (false, true), (true, true)]
                    {
                        let mark = OwnershipTag {
                            filled_bytes,
                            patterns: patterns.clone(),
                            settled,
                            pieces,
                            overwritten_by_consent,
                        };
                        assert_eq!(OwnershipTag::decode(&mark.encode()), Some(mark));
                    }
                }
            }
        }
        for other in ["", "3", "1 filled=x", "iodyno", "1 pattern", "2 mtime=1", "2 size=-1"] {
            assert_eq!(OwnershipTag::decode(other), None, "{other}");
        }
        assert!(OwnershipTag::decode("2 later=7").is_some());
    }

    #[test]
    fn the_first_versions_pattern_proves_nothing() {
        let mark = OwnershipTag::decode("1 pattern=1 filled=4096").unwrap();
        assert_eq!(mark, OwnershipTag { filled_bytes: Some(4096), pieces: true, ..OwnershipTag::default() });
        assert_eq!(mark.standing(settled()), TagStatus::Unknown);
    }

    #[test]
    fn what_changed_is_seen_and_a_copy_is_not_proved() {
        let left = settled();
        let mark = OwnershipTag { settled: Some(left), ..OwnershipTag::default() };
        let copy = Settled { inode: 8, born: Some(Time(13, 0)), ..left };
        let unborn = Settled { born: None, ..left };
        let coarse = |modified| Settled { modified, ..left };
        for (now, standing) in [
            (left, TagStatus::Untouched),
            (Settled { size_bytes: 4097, ..left }, TagStatus::Changed),
            (Settled { size_bytes: 4097, ..copy }, TagStatus::Changed),
            (coarse(Time(12, 345_678_902)), TagStatus::Changed),
            (coarse(Time(13, 345_678_901)), TagStatus::Changed),
            (coarse(Time(11, 0)), TagStatus::Changed),
            (copy, TagStatus::Unknown),
            (unborn, TagStatus::Unknown),
            (coarse(Time(12, 345_678_900)), TagStatus::Unknown),
            (coarse(Time(12, 0)), TagStatus::Unknown),
        ] {
            assert_eq!(mark.standing(now), standing, "{now:?}");
        }
    }

    #[test]
    fn whole_seconds_prove_nothing_unless_they_were_set_apart() {
        for (ns, is_apart, standing) in
            [(0, false, TagStatus::Unknown), (0, true, TagStatus::Untouched), (1, false, TagStatus::Untouched)]
        {
            let left = Settled { modified: Time(12, ns), is_apart, ..settled() };
            let mark = OwnershipTag { settled: Some(left), ..OwnershipTag::default() };
            assert_eq!(mark.standing(Settled { is_apart: false, ..left }), standing, "{ns} {is_apart}");
        }
    }

    #[test]
    fn a_file_that_was_just_written_is_set_apart_from_what_comes() {
        let scratch = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(scratch.path().join("file")).unwrap();
        let set = |ago: i64| {
            let time = Timespec { tv_sec: clock().0 - ago, tv_nsec: 0 };
            futimens(&file, &Timestamps { last_access: time, last_modification: time }).unwrap();
            let before = Settled::now(file.as_fd()).unwrap();
            (before, Settled::apart(file.as_fd()).unwrap())
        };
        let (before, apart) = set(0);
        assert!(apart.is_apart && apart.modified.0 <= before.modified.0 - COARSEST_SECONDS, "{before:?} {apart:?}");
        // Long ago, and far ahead: it stays as it is.
        for ago in [1_000, -1_000] {
            let (before, apart) = set(ago);
            assert!(apart.is_apart && apart.is_same(before), "{ago}");
        }
        // Fractions: a write that comes after it is seen.
        for _ in 0..50 {
            file.write_all_at(b"ours", 0).unwrap();
            let apart = Settled::apart(file.as_fd()).unwrap();
            file.write_all_at(b"else", 0).unwrap();
            assert!(apart.is_apart && !apart.is_same(Settled::now(file.as_fd()).unwrap()));
        }
    }

    #[test]
    fn a_file_is_what_it_was_until_it_is_written_to() {
        let scratch = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(scratch.path().join("file")).unwrap();
        file.write_all_at(b"ours", 0).unwrap();
        let mark = OwnershipTag { settled: Some(Settled::now(file.as_fd()).unwrap()), ..OwnershipTag::default() };
        let standing = || mark.standing(Settled::now(file.as_fd()).unwrap());
        set_mark(file.as_fd(), &mark, None).unwrap();
        assert_eq!((standing(), mark_of(file.as_fd(), None)), (TagStatus::Untouched, Some(mark.clone())));
        std::thread::sleep(std::time::Duration::from_millis(20));
        file.write_all_at(b"else", 0).unwrap();
        assert_eq!(standing(), TagStatus::Changed);
    }

    #[test]
    fn registry_knows_a_file_and_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let registry = Registry::at(&scratch.path().join("state/iodyno"));
        let open = |name: &str| std::fs::File::create(scratch.path().join(name)).unwrap();
        let (own, other) = (open("own"), open("other"));
        let registered = |file: &std::fs::File| mark_of(file.as_fd(), Some(&registry));
        assert_eq!(registered(&own), None);
        for filled in [Some(0), Some(4096)] {
            let mark = OwnershipTag { filled_bytes: filled, ..OwnershipTag::default() };
            register(own.as_fd(), &mark, Some(&registry)).unwrap();
            assert_eq!(registered(&own), Some(mark), "the last line counts");
        }
        assert_eq!(registered(&other), None);
        // The same inode, born again, is another file.
        let reborn = identity(own.as_fd()).unwrap().replacen('.', ".9", 1);
        assert_eq!(registry.last(&reborn), None);
        assert!(register(own.as_fd(), &OwnershipTag::default(), None).unwrap_err().contains("no home"));
    }

    #[test]
    fn only_the_newest_patterns_are_remembered() {
        let scratch = tempfile::tempdir().unwrap();
        let registry = Registry::at(&scratch.path().join("iodyno"));
        let mut mark = OwnershipTag::default();
        for number in 0..20_u8 {
            mark.add_pattern(&UserPattern { bytes: vec![number + 1], anew: true }, Some(&registry)).unwrap();
            mark.add_pattern(&UserPattern { bytes: vec![100], anew: true }, Some(&registry)).unwrap();
        }
        let known = mark.known(Some(&registry)).patterns;
        assert_eq!((known.len(), known.last().unwrap().bytes[0]), (MAX_PATTERNS, 100));
        assert!(mark.encode().len() < MAX_MARK_BYTES && mark.known(None).patterns.is_empty());
    }
}
