//! Trees on a real file system, made by seed, with a walk of our own as witness.

use crate::{Measured, ScanLines, ScanRequest, TreeChoice, scan};
use plan::{FilePlace, FileSizes, TreeShape};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, create_dir, hard_link};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;
use tree::{JavaRandom, TreeLayout};

/// On a disk: holes are no matter of tmpfs.
pub(crate) fn folder() -> TempDir {
    TempDir::new_in("/var/tmp").unwrap()
}

fn measure(path: &Path, threads: usize) -> Measured {
    scan(&ScanRequest { path, cross_mounts: false, names: true, threads: Some(threads) }).unwrap()
}

fn file(path: &Path, bytes: u64) {
    File::create(path).unwrap().set_len(bytes).unwrap();
}

/// What the witness counts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Witness {
    directories: u64,
    sizes: Vec<u64>,
    symbolic_links: u64,
    others: u64,
    further_names: u64,
    allocated: u128,
    sparse: u64,
    /// Directories and names of files by level.
    levels: Vec<(u64, u64)>,
    subdirectories: Vec<u64>,
    files: Vec<u64>,
    names: Vec<u64>,
    seen: BTreeSet<u64>,
}

impl Witness {
    fn walk(&mut self, path: &Path, level: usize) {
        let (mut subdirectories, mut files) = (0, 0);
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            self.names.push(entry.file_name().len() as u64);
            let facts = entry.path().symlink_metadata().unwrap();
            if self.levels.len() <= level + 1 {
                self.levels.resize(level + 2, (0, 0));
            }
            if facts.is_dir() {
                subdirectories += 1;
                self.directories += 1;
                self.levels[level + 1].0 += 1;
                self.walk(&entry.path(), level + 1);
            } else if facts.is_file() {
                files += 1;
                self.levels[level + 1].1 += 1;
                if facts.nlink() > 1 && !self.seen.insert(facts.ino()) {
                    self.further_names += 1;
                    continue;
                }
                self.sizes.push(facts.len());
                self.allocated += u128::from(facts.blocks()) * 512;
                self.sparse += u64::from(facts.blocks() * 512 < facts.len());
            } else if facts.is_symlink() {
                self.symbolic_links += 1;
            } else {
                self.others += 1;
            }
        }
        self.subdirectories.push(subdirectories);
        self.files.push(files);
    }
}

fn check(path: &Path, threads: usize) {
    let found = measure(path, threads);
    let mut witness = Witness::default();
    witness.walk(path, 0);
    assert_eq!(found.directories, witness.directories);
    assert_eq!(found.files, witness.sizes.len() as u64);
    assert_eq!(
        (found.symbolic_links, found.others, found.further_names, found.hard_linked),
        (witness.symbolic_links, witness.others, witness.further_names, witness.seen.len() as u64)
    );
    assert_eq!((found.allocated, found.sparse), (witness.allocated, witness.sparse));
    while witness.levels.last() == Some(&(0, 0)) {
        witness.levels.pop();
    }
    let levels: Vec<(u64, u64)> = found.levels.iter().skip(1).map(|level| (level.directories, level.files)).collect();
    assert_eq!(levels, witness.levels.get(1..).unwrap_or_default());
    for (of, values) in [
        (&found.sizes, &mut witness.sizes),
        (&found.subdirectories, &mut witness.subdirectories),
        (&found.directory_files, &mut witness.files),
        (&found.name_lengths, &mut witness.names),
    ] {
        values.sort_unstable();
        assert_eq!((of.count(), of.sum()), (values.len() as u64, values.iter().map(|value| u128::from(*value)).sum()));
        assert_eq!((of.min(), of.max()), (values.first().copied(), values.last().copied()));
        let middle = values.get((values.len().max(1) - 1) / 2).copied();
        let near = |one: u64, other: u64| one.abs_diff(other) <= other / 128;
        assert!(of.percentile(0.5).zip(middle).is_none_or(|(one, other)| near(one, other)), "{middle:?}");
    }
    assert_eq!((found.unread, found.changed, found.mounts), (0, 0, 0));
}

/// Directories, files, links and names of all kinds below `at`, by chance.
pub(crate) fn grow(at: &Path, level: u32, random: &mut JavaRandom, files: &mut Vec<std::path::PathBuf>) {
    const NAMES: [&[u8]; 4] = [b"\x1b]0;x\x07", b"new\nline", b"no\xfftext", b"-rf *"];
    for number in 0..random.below(6) {
        let mut name = NAMES[random.below(4) as usize].to_vec();
        name.extend_from_slice(number.to_string().as_bytes());
        if random.below(5) == 0 {
            name.resize(255, b'n');
        }
        let path = at.join(OsStr::from_bytes(&name));
        match random.below(10) {
            0..=3 if level < 6 => {
                create_dir(&path).unwrap();
                grow(&path, level + 1, random, files);
            }
            4 => symlink("..", &path).unwrap(),
            5 => symlink(&path, &path).unwrap(),
            6 if !files.is_empty() => {
                hard_link(&files[random.below(u32::try_from(files.len()).unwrap()) as usize], &path).unwrap()
            }
            7 => rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap(),
            8 => std::fs::write(&path, vec![7; random.below(9000) as usize]).unwrap(),
            _ => {
                file(&path, u64::from(random.below(1 << 20)) << random.below(20));
                files.push(path);
            }
        }
    }
}

#[test]
fn every_figure_is_that_of_a_walk_with_the_standard_library() {
    for seed in 0..25 {
        let folder = folder();
        let (mut random, mut files) = (JavaRandom::new(seed), Vec::new());
        for number in 0..5 {
            let path = folder.path().join(number.to_string());
            create_dir(&path).unwrap();
            grow(&path, 1, &mut random, &mut files);
        }
        // What was written is on the disk, so that no block is allocated between the two looks.
        rustix::fs::syncfs(File::open(folder.path()).unwrap()).unwrap();
        for threads in [1, 3, 8] {
            check(folder.path(), threads);
        }
    }
}

#[test]
fn a_tree_deeper_than_open_files_may_be_is_read_on_all_levels() {
    let folder = folder();
    let mut path = folder.path().to_path_buf();
    for level in 0..300 {
        for side in ["a", "z"] {
            create_dir(path.join(side)).unwrap();
            file(&path.join(side).join("file"), level);
        }
        path.push("m");
        create_dir(&path).unwrap();
    }
    for threads in [1, 4] {
        let found = measure(folder.path(), threads);
        assert_eq!((found.directories, found.files, found.depth()), (900, 600, 300));
        check(folder.path(), threads);
    }
}

#[test]
fn a_directory_with_many_entries_takes_no_memory_for_each() {
    let folder = folder();
    let many = folder.path().join("many");
    create_dir(&many).unwrap();
    file(&many.join("0"), 10);
    // Names of a few files: the same entries for less work.
    for number in 1..100_000 {
        let of = if number % 30_000 == 0 {
            file(&many.join(format!("of{number}")), 1);
            continue;
        } else {
            number / 30_000 * 30_000
        };
        let of = if of == 0 { "0".to_string() } else { format!("of{of}") };
        hard_link(many.join(of), many.join(number.to_string())).unwrap();
    }
    // More names of subdirectories than are kept at a time.
    for number in 0..10_000 {
        create_dir(many.join(format!("a_subdirectory_{number}"))).unwrap();
    }
    let found = measure(folder.path(), 2);
    assert_eq!((found.directories, found.files, found.hard_linked, found.further_names), (10_001, 4, 4, 99_996));
    assert_eq!((found.directory_files.max(), found.subdirectories.max()), (Some(100_000), Some(10_000)));
    assert_eq!(found.fullest.map(|of| (of.value, of.name)), Some((110_000, b"many".to_vec())));
}

fn shape(depth: u32, width: u32, files: u64, place: FilePlace, sizes: FileSizes) -> TreeShape {
    TreeShape { place, sizes, ..TreeShape::regular(depth, width, files, 0) }
}

#[test]
fn the_lines_of_a_tree_of_vdbench_are_its_own() {
    let mix = FileSizes::Mix(vec![(4096, 70.0), (65536, 25.0), (1 << 20, 5.0)]);
    let sizes = [FileSizes::Fixed(8192), mix];
    for (depth, width, files, place) in [
        (1, 7, 30, FilePlace::Bottom),
        (3, 4, 5, FilePlace::Bottom),
        (3, 4, 5, FilePlace::All),
        (2, 9, 40, FilePlace::All),
    ] {
        for sizes in &sizes {
            let folder = folder();
            let layout = TreeLayout::new(&shape(depth, width, files, place, sizes.clone())).unwrap();
            let mut name = Vec::new();
            for directory in 0..layout.directories() {
                layout.directory_path(directory, &mut name);
                create_dir(folder.path().join(OsStr::from_bytes(&name))).unwrap();
            }
            for number in 0..layout.files() {
                layout.file_path(number, &mut name);
                file(&folder.path().join(OsStr::from_bytes(&name)), layout.asked_bytes(number));
            }
            // What a load keeps about the tree is no file of it.
            file(&folder.path().join(tree::CONTROL_FILE), 700);
            let measured = measure(folder.path(), 2);
            assert_eq!(measured.files, u64::from(layout.files()));
            let lines = ScanLines::of(&measured);
            assert_eq!(lines.tree, TreeChoice { depth, width, files, place });
            let TreeShape { sizes: made, .. } = shape(depth, width, files, place, lines.sizes.file_sizes());
            let again = TreeLayout::new(&shape(depth, width, files, place, made)).unwrap();
            // The likeness that is said is that of the tree that will be made.
            let said = (lines.likeness.directories.1, lines.likeness.files.1, lines.likeness.bytes.1);
            let of_tree = (again.directories().into(), again.files().into(), again.total_bytes().into());
            assert_eq!(said, of_tree);
            let difference = again.total_bytes().abs_diff(layout.total_bytes());
            assert!(difference <= u64::from(layout.files()), "{difference}: {lines:?}");
        }
    }
}

#[test]
fn a_control_file_is_left_out_only_as_a_regular_file_at_the_top() {
    let folder = folder();
    let control = folder.path().join(tree::CONTROL_FILE);
    file(&control, 700);
    let found = measure(folder.path(), 1);
    assert_eq!((found.files, found.name_lengths.count(), found.directory_files.max()), (0, 0, Some(0)));
    std::fs::remove_file(&control).unwrap();
    create_dir(&control).unwrap();
    file(&control.join(tree::CONTROL_FILE), 700);
    symlink("x", folder.path().join("vdb_control.file2")).unwrap();
    check(folder.path(), 1);
}

#[test]
fn a_tree_that_changes_meanwhile_ends_without_failures() {
    let folder = folder();
    for number in 0..200 {
        let path = folder.path().join(number.to_string());
        create_dir(&path).unwrap();
        file(&path.join("file"), 1);
        create_dir(path.join("below")).unwrap();
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..200).cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                let path = folder.path().join(number.to_string());
                std::fs::rename(&path, folder.path().join("moved")).unwrap();
                std::fs::remove_file(folder.path().join("moved/file")).unwrap();
                std::fs::rename(folder.path().join("moved"), &path).unwrap();
                std::fs::remove_dir(path.join("below")).unwrap();
                // A link in the place of a directory leads nowhere.
                symlink("/", path.join("below")).unwrap();
                std::fs::remove_file(path.join("below")).unwrap();
                create_dir(path.join("below")).unwrap();
                file(&path.join("file"), 1);
            }
        });
        for threads in [1, 2, 4].into_iter().cycle().take(30) {
            let found = measure(folder.path(), threads);
            assert_eq!(found.unread, 0, "{:?}", found.unread_first);
            assert!(found.depth() <= 2 && found.files <= 250, "{found:?}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn access_times_stay() {
    let folder = folder();
    let path = folder.path().join("below");
    create_dir(&path).unwrap();
    file(&path.join("file"), 1);
    let old = rustix::fs::Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
    for path in [folder.path(), &path] {
        let times = rustix::fs::Timestamps {
            last_access: old,
            last_modification: rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
        };
        rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::empty()).unwrap();
    }
    assert_eq!(measure(folder.path(), 2).access_times, 0);
    for path in [folder.path(), &path] {
        assert_eq!(path.metadata().unwrap().atime(), 1_000_000_000);
    }
}
