//! Names of programs' functions by address: through the process's map of its memory into the files' symbol tables.

use super::elf::Functions;
use std::collections::{HashMap, HashSet};
use std::fs::{File, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// Files whose tables are kept, and the memory that these take.
const FILES_MAX: usize = 512;
const BYTES_MAX: usize = 1 << 28;
/// Behind the path of a file that has none any more; others may end so as well.
const DELETED: &str = " (deleted)";

/// Device and inode, as a process's map has them.
type FileId = (String, u64);

/// A piece of a process's memory that is a file's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    begin: u64,
    end: u64,
    offset: u64,
    file: FileId,
    path: String,
}

/// Processes and files that were asked for.
#[derive(Debug, Default)]
pub(super) struct UserNames {
    /// Of this round: a program may be another one in the next.
    processes: HashMap<u32, Vec<Mapping>>,
    files: Files,
}

impl UserNames {
    /// A new round of questions.
    pub(super) fn begin(&mut self) {
        self.processes.clear();
        self.files.begin();
    }

    /// Functions so far that have no name because their file could not be read, which may be otherwise in the next round.
    pub(super) fn failures(&self) -> u64 {
        self.files.failures
    }

    /// The function at an address of a process, or the file and the place in it.
    pub(super) fn name(&mut self, pid: u32, address: u64) -> String {
        let maps = self.processes.entry(pid).or_insert_with(|| {
            // Of one that has ended nothing is known any more.
            std::fs::read_to_string(format!("/proc/{pid}/maps")).map(|text| mappings(&text)).unwrap_or_default()
        });
        let Some(mapping) = maps.iter().find(|mapping| mapping.begin <= address && address < mapping.end) else {
            return "[unknown]".to_string();
        };
        if !mapping.path.starts_with('/') {
            return if mapping.path.is_empty() { "[anonymous]".to_string() } else { mapping.path.clone() };
        }
        let offset = address - mapping.begin + mapping.offset;
        let name = self.files.functions(pid, mapping).and_then(|functions| functions.name(offset));
        name.unwrap_or_else(|| {
            let path = mapping.path.trim_end_matches(DELETED);
            let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
            format!("{}+{offset:#x}", name.unwrap_or_default())
        })
    }
}

/// Tables of files.
#[derive(Debug, Default)]
struct Files {
    known: HashMap<FileId, Known>,
    round: u64,
    /// Those that could not be opened in this round, by process: another one may have a way to it.
    closed: HashSet<(u32, FileId)>,
    failures: u64,
}

/// A file's table, and the state of the file that it is of.
#[derive(Debug)]
struct Known {
    functions: Arc<Functions>,
    stamp: Stamp,
    /// In which the file was last looked at.
    round: u64,
}

/// Differs when the file was written, or is another one with the same number: bytes, and times of change.
type Stamp = (u64, [i64; 4]);

fn stamp(file: &Metadata) -> Stamp {
    (file.size(), [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()])
}

impl Files {
    fn begin(&mut self) {
        self.round += 1;
        self.closed.clear();
    }

    /// `None` when the file cannot be opened now.
    fn functions(&mut self, pid: u32, mapping: &Mapping) -> Option<Arc<Functions>> {
        let round = self.round;
        if let Some(known) = self.known.get(&mapping.file).filter(|known| known.round == round) {
            return Some(Arc::clone(&known.functions));
        }
        let place = (pid, mapping.file.clone());
        let found = if self.closed.contains(&place) { None } else { self.look(pid, mapping) };
        if found.is_none() {
            self.failures += 1;
            self.closed.insert(place);
        }
        found
    }

    fn look(&mut self, pid: u32, mapping: &Mapping) -> Option<Arc<Functions>> {
        let (file, now) = find(pid, mapping)?;
        let stamp = stamp(&now);
        if let Some(known) = self.known.get_mut(&mapping.file).filter(|known| known.stamp == stamp) {
            known.round = self.round;
            return Some(Arc::clone(&known.functions));
        }
        let functions = Arc::new(Functions::of(&readable(&file)?));
        let known = Known { functions: Arc::clone(&functions), stamp, round: self.round };
        self.known.insert(mapping.file.clone(), known);
        self.make_room(BYTES_MAX);
        Some(functions)
    }

    /// Forgets those that were not asked for the longest.
    fn make_room(&mut self, bytes_max: usize) {
        let mut bytes: usize = self.known.values().map(|known| known.functions.bytes()).sum();
        while bytes > bytes_max || self.known.len() > FILES_MAX {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.round).map(|(id, _)| id.clone());
            let Some(gone) = oldest.and_then(|id| self.known.remove(&id)) else { return };
            bytes = bytes.saturating_sub(gone.functions.bytes());
        }
    }
}

/// The mapping's file, found and not opened: through the process's own root, for it may live in a container; one that has no
/// path any more, or another file at it, through the map itself.
fn find(pid: u32, mapping: &Mapping) -> Option<(File, Metadata)> {
    let within = (!mapping.path.ends_with(DELETED)).then(|| format!("/proc/{pid}/root{}", mapping.path));
    // Devices are not compared: some file systems (btrfs) have another one in maps.
    let at_path = within.and_then(|path| regular(&path)).filter(|(_, found)| found.ino() == mapping.file.1);
    at_path.or_else(|| regular(&format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.begin, mapping.end)))
}

/// A regular file; others are not touched: to open a FIFO waits for who writes into it, and devices do things.
fn regular(path: &str) -> Option<(File, Metadata)> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path).ok()?;
    let what = file.metadata().ok().filter(Metadata::is_file)?;
    Some((file, what))
}

/// Opens what was found.
fn readable(found: &File) -> Option<File> {
    // Nor waits for who has a lease.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    OpenOptions::new().read(true).custom_flags(flags).open(path).ok()
}

/// The executable pieces.
fn mappings(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(mapping).collect()
}

/// `begin-end r-xp offset dev inode   path`
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let rights = words.next()?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (offset, device, inode) = (hex(words.next()?)?, words.next()?, words.next()?.parse().ok()?);
    let path = words.next().unwrap_or_default().trim_start().to_string();
    let mapping = Mapping { begin: hex(begin)?, end: hex(end)?, offset, file: (device.to_string(), inode), path };
    rights.contains('x').then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const LANDMARK: &str = "iodyno_user_landmark";

    #[inline(never)]
    #[unsafe(no_mangle)]
    #[expect(unsafe_code, reason = "a name that the test knows")]
    extern "C" fn iodyno_user_landmark() -> u32 {
        std::hint::black_box(8)
    }

    /// Of this program, with the landmark's address.
    fn own() -> (Mapping, u64) {
        assert_eq!(iodyno_user_landmark(), 8);
        let address = iodyno_user_landmark as *const () as usize as u64;
        let maps = mappings(&std::fs::read_to_string("/proc/self/maps").unwrap());
        (maps.into_iter().find(|map| map.begin <= address && address < map.end).unwrap(), address)
    }

    /// The same of a copy that no process has.
    fn copied(path: &Path) -> (Mapping, u64) {
        std::fs::copy("/proc/self/exe", path).unwrap();
        let (mapping, address) = own();
        let inode = std::fs::metadata(path).unwrap().ino();
        (
            Mapping {
                file: ("x".to_string(), inode),
                path: path.to_str().unwrap().to_string(),
                begin: 0,
                ..mapping.clone()
            },
            address - mapping.begin,
        )
    }

    fn next_round(names: &mut UserNames, mapping: &Mapping) {
        names.begin();
        names.processes.insert(std::process::id(), vec![mapping.clone()]);
    }

    #[test]
    fn only_what_is_executed() {
        let text = "55d0-55e0 r--p 00000000 fe:00 12     /usr/bin/a b\n55e0-55f0 r-xp 00001000 fe:00 12     /usr/bin/a b\n\
                    7f00-7f10 r-xp 00000000 00:00 0 \n7ffc-7ffe r-xp 00000000 00:00 0                          [vdso]\nodd\n";
        let found = mappings(text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!((found[0].begin, found[0].offset, found[0].path.as_str()), (0x55e0, 0x1000, "/usr/bin/a b"));
        assert_eq!((found[0].file.0.as_str(), found[0].file.1), ("fe:00", 12));
        assert_eq!((found[1].path.as_str(), found[2].path.as_str()), ("", "[vdso]"));
    }

    #[test]
    fn what_is_gone_is_unknown() {
        let mut names = UserNames::default();
        assert_eq!(names.name(u32::MAX, 0x1000), "[unknown]");
        assert_eq!(names.name(std::process::id(), 1), "[unknown]");
    }

    #[test]
    fn the_reader_waits_for_no_fifo_and_takes_no_other_file_for_the_mapping() {
        let folder = tempfile::tempdir().unwrap();
        let (mapping, address) = own();
        let (done, answers) = channel();
        for name in ["x (deleted)", "fifo", "other"] {
            let path = folder.path().join(name);
            match name {
                "other" => std::fs::write(&path, "text").unwrap(),
                _ => rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap(),
            }
            let inode = if name == "other" { mapping.file.1 } else { std::fs::metadata(&path).unwrap().ino() };
            let path = path.to_str().unwrap().to_string();
            // Where there is nothing in the map, either, and where there is.
            let nowhere = Mapping { begin: 0, end: u64::MAX, path, file: (String::new(), inode), ..mapping.clone() };
            let whole = Mapping { begin: mapping.begin, end: mapping.end, ..nowhere.clone() };
            let done = done.clone();
            std::thread::spawn(move || {
                let me = std::process::id();
                let is_found = find(me, &nowhere).is_some();
                let mut names = UserNames::default();
                next_round(&mut names, &whole);
                done.send((is_found, names.name(me, address))).unwrap();
            });
            let (is_found, found) = answers.recv_timeout(Duration::from_secs(60)).unwrap();
            assert!(!is_found, "{name}");
            // The map's own links are root's.
            assert!(!testkit::is_root() || found == LANDMARK, "{name}: {found}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_tried_again_in_the_next_round_only() {
        let folder = tempfile::tempdir().unwrap();
        let (path, away) = (folder.path().join("program"), folder.path().join("away"));
        let (mapping, address) = copied(&path);
        let (mut names, me) = (UserNames::default(), std::process::id());
        std::fs::rename(&path, &away).unwrap();
        next_round(&mut names, &mapping);
        assert!(names.name(me, address).starts_with("program+0x"));
        std::fs::rename(&away, &path).unwrap();
        assert!(names.name(me, address).starts_with("program+0x"), "once a round");
        assert_eq!(names.failures(), 2);
        next_round(&mut names, &mapping);
        assert_eq!((names.name(me, address).as_str(), names.failures()), (LANDMARK, 2));
    }

    #[test]
    fn a_file_that_was_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let (mapping, address) = copied(&path);
        let (mut names, me) = (UserNames::default(), std::process::id());
        for _ in 0..2 {
            next_round(&mut names, &mapping);
            assert_eq!(names.name(me, address), LANDMARK);
        }
        let first = Arc::clone(&names.files.known[&mapping.file].functions);
        next_round(&mut names, &mapping);
        names.name(me, address);
        assert!(Arc::ptr_eq(&first, &names.files.known[&mapping.file].functions), "read once");
        std::fs::write(&path, "no program any more").unwrap();
        next_round(&mut names, &mapping);
        assert!(names.name(me, address).starts_with("program+0x"));
    }

    #[test]
    fn tables_that_take_too_much_go_the_oldest_first() {
        let mut files = Files::default();
        let functions = Arc::new(Functions::of(&File::open("/proc/self/exe").unwrap()));
        let bytes = functions.bytes();
        for round in 0..4 {
            let known = Known { functions: Arc::clone(&functions), stamp: (0, [0; 4]), round };
            files.known.insert((String::new(), round), known);
        }
        files.make_room(bytes * 5 / 2);
        let mut left: Vec<u64> = files.known.keys().map(|(_, inode)| *inode).collect();
        left.sort_unstable();
        assert_eq!((left, bytes > 1000), (vec![2, 3], true));
    }
}
