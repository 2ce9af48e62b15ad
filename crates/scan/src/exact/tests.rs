//! Random trees on a real file system: what is kept of them, and whether a tree that is made of it has the same shape again.

use crate::tests::{folder, grow};
use crate::{ExactShape, ScanRequest, exact};
use std::collections::BTreeMap;
use std::fs::{File, create_dir};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use tree::{JavaRandom, ListedTree, TreeLayout};

fn shape_of(path: &Path) -> ExactShape {
    exact(&ScanRequest { path, cross_mounts: false, names: false, threads: None }).unwrap()
}

/// Makes a tree with the standard library.
fn make(tree: &ListedTree, at: &Path) {
    let layout = TreeLayout::of_listed(tree.clone());
    let mut path = Vec::new();
    let mut full = |put: &dyn Fn(&mut Vec<u8>)| {
        put(&mut path);
        at.join(std::ffi::OsStr::from_bytes(&path))
    };
    for directory in 0..layout.directories() {
        create_dir(full(&|out| layout.directory_path(directory, out))).unwrap();
    }
    for number in 0..layout.files() {
        let file = File::create(full(&|out| layout.file_path(number, out))).unwrap();
        file.set_len(layout.asked_bytes(number)).unwrap();
    }
}

/// What a directory holds, without names: the sizes of its files and the same of its directories, both sorted.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Nested {
    files: Vec<u64>,
    directories: Vec<Nested>,
}

fn nested(path: &Path, seen: &mut BTreeMap<u64, PathBuf>) -> Nested {
    use std::os::unix::fs::MetadataExt as _;
    let mut here = Nested::default();
    let mut entries: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    for entry in &entries {
        let facts = entry.symlink_metadata().unwrap();
        if facts.is_file() && (facts.nlink() == 1 || seen.insert(facts.ino(), entry.clone()).is_none()) {
            here.files.push(facts.len());
        }
    }
    for entry in entries.iter().filter(|entry| entry.symlink_metadata().unwrap().is_dir()) {
        here.directories.push(nested(entry, seen));
    }
    here.files.sort_unstable();
    here.directories.sort();
    here
}

#[test]
fn a_tree_made_of_an_exact_shape_nests_alike_and_has_the_same_shape_again() {
    for seed in 0..20 {
        let (real, made) = (folder(), folder());
        let (mut random, mut files) = (JavaRandom::new(seed), Vec::new());
        // Some have files at the top and some have not.
        for number in 0..seed % 4 {
            let path = real.path().join(number.to_string());
            create_dir(&path).unwrap();
            grow(&path, 1, &mut random, &mut files);
        }
        if seed % 3 == 0 {
            grow(real.path(), 1, &mut random, &mut files);
        }
        let found = shape_of(real.path());
        assert_eq!(found.missing, 0);
        make(&found.tree, made.path());
        std::fs::write(made.path().join(tree::CONTROL_FILE), "not of the tree").unwrap();
        let again = shape_of(made.path());
        assert_eq!(again.tree, found.tree, "seed {seed}");
        std::fs::remove_file(made.path().join(tree::CONTROL_FILE)).unwrap();
        let (real, mut made) = (nested(real.path(), &mut BTreeMap::new()), nested(made.path(), &mut BTreeMap::new()));
        if !real.files.is_empty() || real.directories.is_empty() {
            // The directory itself is the only one in the anchor.
            made = made.directories.pop().unwrap();
        }
        assert_eq!(made, real, "seed {seed}");
    }
}

#[test]
fn a_tree_that_is_too_deep_is_refused() {
    let folder = folder();
    let mut path = folder.path().to_path_buf();
    for _ in 0..260 {
        path.push("d");
        create_dir(&path).unwrap();
    }
    let request = ScanRequest { path: folder.path(), cross_mounts: false, names: false, threads: None };
    assert!(exact(&request).unwrap_err().to_string().contains("256 levels"));
}
