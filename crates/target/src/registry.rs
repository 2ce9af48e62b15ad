//! What iodyno remembers outside of its targets: marks of files whose file system has no extended attributes, patterns
//! that were written, and which devices they were written to.
//!
//! Everything in here makes iodyno *know* something as its own, so what is damaged, too large, or could have been written
//! by another user counts as not there: the target is then refused, and nothing is lost.

use crate::pattern::{MAX_BYTES, UserPattern};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, flock, fstat, futimens,
    mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The lines are made fewer when their file is longer than this …
const COMPACT_BYTES: u64 = 256 << 10;
/// … and then take at most this, the oldest being forgotten.
const KEPT_BYTES: usize = 128 << 10;
/// A longer file was not written by iodyno.
const MAX_READ_BYTES: u64 = 4 << 20;
/// Patterns that are kept at most.
const MAX_PATTERNS: usize = 256;
/// Bytes of all patterns that are kept at most.
const MAX_PATTERNS_BYTES: u64 = 64 << 20;
/// First line of a pattern's file, up to its flag.
const PATTERN_HEAD: &str = "iodyno pattern 1 anew=";
/// A longer file is no pattern of ours.
const MAX_PATTERN_FILE_BYTES: u64 = MAX_BYTES as u64 + 64;
/// Name of the file of lines.
const LINES: &str = "files";
/// Name of the folder of patterns.
const PATTERNS: &str = "patterns";
/// How a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A folder of iodyno's state that only this user may write to.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    folder: PathBuf,
}

impl Registry {
    /// `$IODYNO_STATE_DIR`; without it `/var/lib/iodyno-state` for root (`/var/lib/iodyno` holds the collector's recordings
    /// and nothing else), otherwise `${XDG_STATE_HOME:-~/.local/state}/iodyno`. `None` when there is no home.
    pub(crate) fn find() -> Option<Self> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(folder) = absolute("IODYNO_STATE_DIR") {
            return Some(Self { folder });
        }
        if rustix::process::geteuid().is_root() {
            return Some(Self { folder: PathBuf::from("/var/lib/iodyno-state") });
        }
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
        Some(Self { folder: state.join("iodyno") })
    }

    #[cfg(test)]
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn lines_path(&self) -> PathBuf {
        self.folder.join(LINES)
    }

    fn patterns_path(&self) -> PathBuf {
        self.folder.join(PATTERNS)
    }

    /// The newest value of a key.
    pub(crate) fn last(&self, key: &str) -> Option<String> {
        let text = self.lines()?;
        text.lines().rev().filter_map(parse).find(|(found, _)| *found == key).map(|(_, value)| value.to_string())
    }

    /// Remembers a value of a key, whatever there was before.
    ///
    /// # Errors
    /// A sentence when it cannot be written.
    pub(crate) fn append(&self, key: &str, value: &str) -> Result<(), String> {
        let path = self.lines_path();
        let failed = |error: std::io::Error| format!("failed to write the registry {}: {error}", path.display());
        let folder = self.make().map_err(failed)?;
        let mut file = locked(&folder).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        // A file of this name that iodyno did not make gets no line, and loses none.
        if len > 0 && !self.lines().is_some_and(|text| is_ours(&text)) {
            let why = "iodyno did not write it; move it away, or name another folder with IODYNO_STATE_DIR";
            return Err(format!("failed to write the registry {}: {why}", path.display()));
        }
        let mut text = line(key, value);
        if len > COMPACT_BYTES {
            text = self.compacted() + &text;
            return replace(&folder, LINES, text.as_bytes()).map_err(failed);
        }
        // What a power cut tore off must not take this line with it.
        text.insert(0, '\n');
        file.write_all(text.as_bytes()).map_err(failed)
    }

    /// Remembers a pattern; gives the name under which it is found again.
    ///
    /// # Errors
    /// A sentence when it is too long or cannot be written.
    pub(crate) fn keep(&self, pattern: &UserPattern) -> Result<String, String> {
        if pattern.bytes.len() > MAX_BYTES {
            return Err(format!("it is longer than {} MiB", MAX_BYTES >> 20));
        }
        let text = encode(pattern);
        let id = format!("{:016x}", digest(&text));
        if let Some(known) = self.pattern(&id) {
            let _ = self.patterns().and_then(|folder| open(&folder, &id)).map(|file| futimens(&file, &now()));
            let same = known == *pattern;
            return same.then_some(id).ok_or_else(|| "another pattern has the same checksum".to_string());
        }
        let written = self.make_patterns().and_then(|folder| {
            may_replace(&folder, &id)?;
            forget_patterns(&folder);
            replace(&folder, &id, &text)
        });
        let path = self.patterns_path().join(&id);
        written.map_err(|error| format!("failed to write {}: {error}", path.display()))?;
        Ok(id)
    }

    /// The pattern of this name.
    pub(crate) fn pattern(&self, id: &str) -> Option<UserPattern> {
        pattern_in(&self.patterns().ok()?, id)
    }

    /// All lines; `None` when there are none that can be believed.
    fn lines(&self) -> Option<String> {
        let text = read(&self.state().ok()?, LINES, MAX_READ_BYTES)?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// The newest line of each key, as many as are kept.
    fn compacted(&self) -> String {
        let text = self.lines().unwrap_or_default();
        let mut newest: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        for (index, (key, value)) in text.lines().filter_map(parse).enumerate() {
            newest.insert(key, (index, value));
        }
        let mut lines: Vec<(usize, String)> =
            newest.into_iter().map(|(key, (index, value))| (index, line(key, value))).collect();
        lines.sort();
        let mut bytes = 0;
        let fits = |(_, line): &&(usize, String)| {
            bytes += line.len();
            bytes <= KEPT_BYTES
        };
        let mut kept: Vec<&str> = lines.iter().rev().take_while(fits).map(|(_, line)| line.as_str()).collect();
        kept.reverse();
        kept.concat()
    }

    /// The folder, held open: what its name leads to later does not matter.
    fn state(&self) -> std::io::Result<OwnedFd> {
        Ok(openat(CWD, &self.folder, FOLDER, Mode::empty())?)
    }

    /// The folder of patterns; a link in its place is not followed.
    fn patterns(&self) -> std::io::Result<OwnedFd> {
        Ok(openat(self.state()?, PATTERNS, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
    }

    /// Makes the folder for this user alone, and sees that a folder that is there is such a one.
    fn make(&self) -> std::io::Result<OwnedFd> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        private(self.state()?, &self.folder)
    }

    /// The same for the folder of patterns.
    fn make_patterns(&self) -> std::io::Result<OwnedFd> {
        match mkdirat(self.make()?, PATTERNS, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => private(self.patterns()?, &self.patterns_path()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Sees that only this user may write to a folder.
fn private(fd: OwnedFd, path: &Path) -> std::io::Result<OwnedFd> {
    if is_private(&fstat(&fd)?) {
        return Ok(fd);
    }
    let why = format!("{} can be written by other users; take that right away (chmod go-w)", path.display());
    Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, why))
}

/// The file of lines for appending, which no other iodyno writes to before it is closed.
fn locked(folder: &OwnedFd) -> std::io::Result<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    for _ in 0..200 {
        let fd = openat(folder, LINES, flags, Mode::from_raw_mode(0o600))?;
        checked(&fd)?;
        match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // Another iodyno may have put a shorter one in its place meanwhile.
                let (opened, named) = (fstat(&fd)?, statat(folder, LINES, AtFlags::SYMLINK_NOFOLLOW));
                if named.is_ok_and(|named| (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)) {
                    return Ok(File::from(fd));
                }
            }
            Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error.into()),
        }
    }
    Err(std::io::Error::new(std::io::ErrorKind::WouldBlock, "another program holds its lock"))
}

/// Writes a file of our folder anew: the old one is there until the new one is whole.
fn replace(folder: &OwnedFd, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // What has a name already (of a process with our number that was killed, or of others) stays.
    let begin = || {
        for attempt in 0..100 {
            let new = format!("{name}.new{}-{attempt}", std::process::id());
            match openat(folder, &new, flags, Mode::from_raw_mode(0o600)) {
                Err(Errno::EXIST) => {}
                opened => return Ok((File::from(opened?), new)),
            }
        }
        Err(std::io::Error::from(Errno::EXIST))
    };
    let (mut file, new) = begin()?;
    let written = file.write_all(bytes).and_then(|()| Ok(renameat(folder, &new, folder, name)?));
    if written.is_err() {
        let _ = unlinkat(folder, &new, AtFlags::empty());
    }
    written
}

fn open(folder: &OwnedFd, name: &str) -> std::io::Result<File> {
    // Not waiting for the writer of a FIFO.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = openat(folder, name, flags, Mode::empty())?;
    checked(&fd)?;
    Ok(File::from(fd))
}

/// All of a file of ours.
fn read(folder: &OwnedFd, name: &str, max_bytes: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open(folder, name).ok()?.take(max_bytes + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= max_bytes).then_some(bytes)
}

/// The pattern that a file of this name holds: its name is the checksum of all that it holds.
fn pattern_in(folder: &OwnedFd, id: &str) -> Option<UserPattern> {
    if !is_id(id) {
        return None;
    }
    let text = read(folder, id, MAX_PATTERN_FILE_BYTES)?;
    if format!("{:016x}", digest(&text)) != id {
        return None;
    }
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let flag = std::str::from_utf8(&text[..end]).ok()?.strip_prefix(PATTERN_HEAD)?;
    Some(UserPattern { bytes: text[end + 1..].to_vec(), anew: flag == "1" })
}

/// Does a file look like a pattern of ours? When it was last used, and its size.
fn pattern_file(folder: &OwnedFd, name: &str) -> Option<((i64, i64), u64)> {
    let mut file = open(folder, name).ok()?;
    let metadata = file.metadata().ok().filter(|metadata| metadata.len() <= MAX_PATTERN_FILE_BYTES)?;
    let mut head = [0; PATTERN_HEAD.len()];
    file.read_exact(&mut head).ok()?;
    (head == *PATTERN_HEAD.as_bytes()).then(|| ((metadata.mtime(), metadata.mtime_nsec()), metadata.len()))
}

/// Refuses to put a pattern in the place of a file that is no damaged pattern.
fn may_replace(folder: &OwnedFd, id: &str) -> std::io::Result<()> {
    match statat(folder, id, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        // A power cut may leave a name without content.
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_size == 0 => Ok(()),
        Ok(_) if pattern_file(folder, id).is_some() => Ok(()),
        Ok(_) => Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, "a file of another program has this name")),
        Err(error) => Err(error.into()),
    }
}

/// Makes room for one more pattern: those that were used last stay. Files that are not ours neither count nor go, whatever
/// they are called.
fn forget_patterns(folder: &OwnedFd) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    let names = entries.flatten().filter_map(|entry| entry.file_name().to_str().ok().map(str::to_string));
    let mut found: Vec<_> = names
        .filter(|name| is_id(name))
        .filter_map(|name| {
            let (used, len) = pattern_file(folder, &name)?;
            Some((std::cmp::Reverse(used), len, name))
        })
        .collect();
    found.sort();
    let mut bytes = MAX_BYTES as u64;
    for (index, (_, len, name)) in found.into_iter().enumerate() {
        bytes += len;
        let is_surplus = index + 1 >= MAX_PATTERNS || bytes > MAX_PATTERNS_BYTES;
        if is_surplus && pattern_in(folder, &name).is_some() {
            let _ = unlinkat(folder, &name, AtFlags::empty());
        }
    }
}

/// Refuses a file that other users could have written to, or that is none.
fn checked(fd: &OwnedFd) -> std::io::Result<()> {
    let stat = fstat(fd)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && is_private(&stat) {
        return Ok(());
    }
    let why = "it is no regular file, or other users can write to it";
    Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, why))
}

fn is_private(stat: &rustix::fs::Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o022 == 0
}

/// `key | value | checksum`.
fn line(key: &str, value: &str) -> String {
    let text = format!("{key} | {value}");
    format!("{text} | {:016x}\n", digest(text.as_bytes()))
}

/// Key and value of a line; `None` when it is torn or damaged.
fn parse(line: &str) -> Option<(&str, &str)> {
    let (text, sum) = line.rsplit_once(" | ")?;
    if sum != format!("{:016x}", digest(text.as_bytes())) {
        return None;
    }
    text.split_once(" | ")
}

/// Is this the file of lines, or what a power cut left of it?
fn is_ours(text: &str) -> bool {
    text.trim_matches(['\0', '\n']).is_empty() || text.lines().any(|line| parse(line).is_some())
}

fn encode(pattern: &UserPattern) -> Vec<u8> {
    let mut text = format!("{PATTERN_HEAD}{}\n", u8::from(pattern.anew)).into_bytes();
    text.extend_from_slice(&pattern.bytes);
    text
}

fn is_id(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// FNV-1a of 64 bits: finds damage, not malice; others cannot write here.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn now() -> Timestamps {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn registry() -> (tempfile::TempDir, Registry) {
        let scratch = tempfile::tempdir().unwrap();
        let registry = Registry::at(&scratch.path().join("state/iodyno"));
        (scratch, registry)
    }

    #[test]
    fn the_newest_value_counts_and_only_this_user_may_read_it() {
        let (_scratch, registry) = registry();
        assert_eq!(registry.last("a"), None);
        for (key, value) in [("a", "1"), ("b", "x | y"), ("a", "2")] {
            registry.append(key, value).unwrap();
        }
        assert_eq!((registry.last("a").unwrap(), registry.last("b").unwrap()), ("2".into(), "x | y".into()));
        assert_eq!(registry.last("x"), None);
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        assert_eq!((mode(&registry.lines_path()), mode(&registry.folder)), (0o600, 0o700));
    }

    #[test]
    fn damaged_lines_are_not_believed_and_take_no_other_with_them() {
        let (_scratch, registry) = registry();
        registry.append("a", "1").unwrap();
        let path = registry.lines_path();
        let mut text = std::fs::read(&path).unwrap();
        for at in 0..text.len() {
            let mut damaged = text.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            assert!(matches!(registry.last("a").as_deref(), None | Some("1")), "byte {at}");
        }
        // Torn off in the middle, and a line of noise: the next line is whole all the same.
        text.extend_from_slice(b"a | 2 | 00\xff\xfe\0");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(registry.last("a").unwrap(), "1");
        registry.append("b", "3").unwrap();
        assert_eq!((registry.last("a").unwrap(), registry.last("b").unwrap()), ("1".into(), "3".into()));
    }

    #[test]
    fn what_others_could_have_written_is_not_believed() {
        let (scratch, registry) = registry();
        registry.append("a", "1").unwrap();
        let path = registry.lines_path();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(registry.last("a"), None);
        assert!(registry.append("a", "2").unwrap_err().contains("other users can write"));
        // A link to a foreign file is not followed.
        let victim = scratch.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(registry.append("a", "1").is_err() && registry.last("a").is_none());
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        std::fs::remove_file(&path).unwrap();
        std::fs::set_permissions(&registry.folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(registry.append("a", "1").unwrap_err().contains("chmod go-w"));
    }

    #[test]
    fn stays_small_and_loses_no_line_while_many_write() {
        let (_scratch, registry) = registry();
        let long = "v".repeat(900);
        let mut number = 0;
        while registry.lines_path().metadata().map_or(0, |metadata| metadata.len()) <= COMPACT_BYTES {
            registry.append(&format!("old {number}"), &long).unwrap();
            number += 1;
        }
        // The first of these finds the file too long.
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let registry = &registry;
                scope.spawn(move || {
                    for number in 0..40 {
                        registry.append(&format!("{writer}-{number}"), "1").unwrap();
                    }
                });
            }
        });
        for writer in 0..4 {
            for number in 0..40 {
                assert!(registry.last(&format!("{writer}-{number}")).is_some(), "{writer}-{number} was lost");
            }
        }
        assert!(registry.lines_path().metadata().unwrap().len() < COMPACT_BYTES);
        assert_eq!(registry.last("old 0"), None, "the oldest is forgotten");
        assert!(registry.last(&format!("old {}", number - 1)).is_some());
    }

    #[test]
    fn patterns_are_kept_checked_and_bounded() {
        let (_scratch, registry) = registry();
        let pattern = UserPattern { bytes: b"\nabc\0".to_vec(), anew: true };
        let id = registry.keep(&pattern).unwrap();
        assert_eq!(registry.keep(&pattern).unwrap(), id);
        assert_eq!(registry.pattern(&id).unwrap(), pattern);
        assert_ne!(registry.keep(&UserPattern { anew: false, ..pattern.clone() }).unwrap(), id);
        let path = registry.patterns_path().join(&id);
        let mut text = std::fs::read(&path).unwrap();
        *text.last_mut().unwrap() ^= 1;
        std::fs::write(&path, text).unwrap();
        assert_eq!(registry.pattern(&id), None, "damaged");
        assert_eq!(registry.keep(&pattern).unwrap(), id, "a damaged one is written anew");
        assert_eq!(registry.pattern(&id).unwrap(), pattern);
        for id in ["../files", "", "0123456789ABCDEF", "0123456789abcdef"] {
            assert_eq!(registry.pattern(id), None, "{id}");
        }
        assert!(registry.keep(&UserPattern { bytes: vec![1; MAX_BYTES + 1], anew: false }).is_err());
        for number in 0..MAX_PATTERNS + 10 {
            registry.keep(&UserPattern { bytes: number.to_le_bytes().to_vec(), anew: false }).unwrap();
        }
        let folder = registry.folder.join("patterns");
        assert!(std::fs::read_dir(folder).unwrap().count() <= MAX_PATTERNS);
    }

    /// Fills all the room for patterns; each is older than the next one.
    fn many_patterns(registry: &Registry) {
        for number in 0..MAX_PATTERNS + 10 {
            registry.keep(&UserPattern { bytes: number.to_le_bytes().to_vec(), anew: false }).unwrap();
        }
    }

    /// Files of others, with names as patterns have them, and what they hold.
    fn strangers(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let made = (0..300_u64).map(|number| {
            let content = match number % 3 {
                0 => format!("a page of a cache, number {number}").into_bytes(),
                1 => format!("{PATTERN_HEAD}1\nnot what its name says").into_bytes(),
                _ => Vec::new(),
            };
            let path = folder.join(format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            std::fs::write(&path, &content).unwrap();
            (path, content)
        });
        made.collect()
    }

    #[test]
    fn files_of_others_among_the_patterns_stay_and_take_no_room() {
        let (_scratch, registry) = registry();
        many_patterns(&registry);
        let folder = registry.patterns_path();
        let own = std::fs::read_dir(&folder).unwrap().count();
        let others = strangers(&folder);
        many_patterns(&registry);
        for (path, content) in &others {
            assert!(std::fs::read(path).unwrap() == *content, "{}", path.display());
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), own + others.len());
        // One that has the name of the pattern that is to be kept.
        let pattern = UserPattern { bytes: b"new".to_vec(), anew: true };
        let path = folder.join(format!("{:016x}", digest(&encode(&pattern))));
        std::fs::write(&path, "theirs").unwrap();
        assert!(registry.keep(&pattern).unwrap_err().contains("another program"));
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn a_link_in_the_place_of_the_patterns_is_not_followed() {
        let (scratch, registry) = registry();
        registry.append("a", "1").unwrap();
        let cache = scratch.path().join("cache");
        std::fs::create_dir(&cache).unwrap();
        std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink(&cache, registry.patterns_path()).unwrap();
        let others = strangers(&cache);
        let pattern = UserPattern { bytes: b"new".to_vec(), anew: true };
        assert!(registry.keep(&pattern).is_err());
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), others.len());
        let id = format!("{:016x}", digest(&encode(&pattern)));
        std::fs::write(cache.join(&id), encode(&pattern)).unwrap();
        assert_eq!(registry.pattern(&id), None);
    }

    #[test]
    fn a_file_of_others_gets_no_lines_and_loses_none() {
        let (_scratch, registry) = registry();
        std::fs::create_dir_all(&registry.folder).unwrap();
        std::fs::set_permissions(&registry.folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        let text = "a list of theirs\n".repeat(20_000);
        std::fs::write(registry.lines_path(), &text).unwrap();
        assert!(registry.append("a", "1").unwrap_err().contains("IODYNO_STATE_DIR"));
        assert!(std::fs::read_to_string(registry.lines_path()).unwrap() == text);
    }
}
