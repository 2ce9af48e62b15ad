//! Shape files of random trees, read again, cut and changed by seed.

use crate::listed::{Holds, ListedTree};
use crate::{JavaRandom, TreeLayout};
use std::collections::BTreeSet;

/// A tree of at most so many directories.
fn any(random: &mut JavaRandom, most: u32) -> ListedTree {
    let (mut holds, mut left) = (Vec::new(), 1 + random.below(most));
    let (mut known, mut at) = (1_u32, 0_u32);
    let mut sizes = Vec::new();
    while at < known {
        let least = u32::from(left > 0 && at + 1 == known);
        let directories = least.max(random.below(4)).min(left);
        (left, known) = (left - directories, known + directories);
        let files = if at == 0 { 0 } else { random.below(40) * random.below(2) };
        sizes.extend((0..files).map(|_| u64::from(random.below(1 << 20)) << random.below(28)));
        holds.push(Holds { directories, files });
        at += 1;
    }
    ListedTree::new(&holds, sizes).unwrap()
}

fn text(tree: &ListedTree) -> Vec<u8> {
    let mut out = Vec::new();
    tree.write(&mut out).unwrap();
    out
}

#[test]
fn what_is_written_is_read_again_and_each_path_leads_back() {
    let mut random = JavaRandom::new(7);
    for _ in 0..60 {
        let tree = any(&mut random, 60);
        assert_eq!(ListedTree::parse(text(&tree).as_slice()).unwrap(), tree);
        let layout = TreeLayout::of_listed(tree.clone());
        let (mut seen, mut path) = (BTreeSet::new(), Vec::new());
        for at in 0..layout.directories() {
            layout.directory_path(at, &mut path);
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap();
            let (level, own) = crate::names::directory_numbers(name).unwrap();
            assert_eq!(layout.child(layout.parent(at), level, own), Some(at));
            assert_eq!((u64::from(layout.level(at)), layout.child(layout.parent(at), level + 1, own)), (level, None));
            assert!(layout.level_range(layout.level(at)).contains(&at));
            assert!(layout.parent(at).is_none_or(|parent| parent < at));
            assert!(layout.files_of(at).all(|file| layout.directory_of(file) == at));
            assert!(seen.insert(path.clone()));
        }
        let levels = (1..=layout.levels()).map(|level| layout.level_range(level).len()).sum::<usize>();
        assert_eq!(levels, layout.directories() as usize);
        for file in 0..layout.files() {
            layout.file_path(file, &mut path);
            let number = crate::names::file_number(path.rsplit(|byte| *byte == b'/').next().unwrap()).unwrap();
            assert_eq!(layout.file_at(layout.directory_of(file), number), Some(file));
            assert_eq!(layout.asked_bytes(file), tree.sizes()[file as usize]);
            assert!(seen.insert(path.clone()));
        }
    }
}

#[test]
fn a_file_that_was_cut_or_changed_is_refused_and_never_a_crash() {
    let mut random = JavaRandom::new(11);
    for _ in 0..40 {
        let whole = text(&any(&mut random, 20));
        let length = u32::try_from(whole.len()).unwrap();
        for _ in 0..60 {
            let mut bytes = whole.clone();
            let at = random.below(length) as usize;
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= u8::try_from(1 + random.below(255)).unwrap(),
                2 => bytes.insert(at, b"0 d9s\n\xff\0"[random.below(8) as usize]),
                _ => drop(bytes.remove(at)),
            }
            assert!(bytes == whole || ListedTree::parse(bytes.as_slice()).is_err(), "{}", bytes.escape_ascii());
        }
    }
}

/// The sum is right, and what is said is not.
#[test]
fn lies_with_a_right_sum_are_refused() {
    let signed = |body: &str| {
        let mut sum = super::Fnv::default();
        sum.add(body.as_bytes());
        format!("{body}end {:016x}\n", sum.0)
    };
    let of =
        |head: &str, body: &str| ListedTree::parse(signed(&format!("iodyno tree shape 1\n{head}{body}")).as_bytes());
    let head =
        |directories: u64, files: u64, bytes: u64| format!("directories {directories}\nfiles {files}\nbytes {bytes}\n");
    assert!(of(&head(1, 2, 12), "d 1 0\nd 0 2\ns 5 7\n").is_ok());
    let deep = (0..257).map(|_| "d 1 0\n").collect::<String>() + "d 0 0\n";
    let huge = (1_u64 << 48).to_string();
    for (body, why) in [
        ("d 0 0\n", "at least one directory"),
        ("d 1 1\ns 5\nd 0 0\n", "the anchor itself"),
        ("d 4294967295 0\nd 0 0\n", "more directories than follow"),
        ("d 1 0\nd 0 4294967295\ns 5\n", "sizes of 4294967294 files are missing"),
        ("d 1 0\nd 0 1\ns 5 6\n", "more sizes"),
        ("d 1 0\nd 0 0\nd 0 0\n", "no directory before it"),
        ("d 1 0\nd 1 0\n", "more directories than follow"),
        ("d 1 0\nd 0 01\ns 5\n", "no directory"),
        ("d 1 0\nd 0 1\ns +5\n", "no list of sizes"),
        (&format!("d 1 0\nd 0 1\ns {huge}\n"), "larger than"),
        (&deep, "levels"),
        ("d 1 0\nd 0 0\n", "at its beginning"),
    ] {
        let error = of(&head(9, 9, 9), body).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
