use super::*;
use crate::{JavaRandom, Opening};
use plan::{FilePlace, FileSizes};
use rustix::fs::{FileType, Mode};
use std::fs::File;
use std::path::Path;

fn shape(depth: u32, width: u32, files: u64, place: FilePlace, sizes: FileSizes) -> TreeShape {
    TreeShape { place, sizes, ..TreeShape::regular(depth, width, files, 0) }
}

fn open(path: &Path, shape: &TreeShape) -> Result<Tree, TreeError> {
    Tree::at(path, shape, Opening::Existing)
}

fn any_shape(random: &mut JavaRandom) -> TreeShape {
    let sizes = match random.below(3) {
        0 => FileSizes::Fixed(u64::from(random.below(3)) * 4096),
        1 => FileSizes::Mix(vec![(1024, 33.3), (5 << 30, 33.3), (0, 33.4)]),
        _ => FileSizes::Around(100_000),
    };
    let place = if random.below(2) == 0 { FilePlace::Bottom } else { FilePlace::All };
    shape(1 + random.below(3), 1 + random.below(3), u64::from(random.below(5)), place, sizes)
}

fn any_state(tree: &Tree, random: &mut JavaRandom) {
    let (layout, state) = (tree.layout(), tree.state());
    for directory in 0..layout.directories() {
        state.set_directory(layout, directory, random.below(4) > 0);
    }
    for file in 0..layout.files() {
        if state.has_directory(layout.directory_of(file)) && random.below(4) > 0 {
            let bytes = if random.below(4) > 0 { layout.asked_bytes(file) } else { u64::from(random.below(3)) };
            state.set_file(layout, file, FileState { exists: true, bytes });
        }
    }
}

fn state_of(tree: &Tree) -> (Vec<(bool, u64)>, Vec<FileState>) {
    let (layout, state) = (tree.layout(), tree.state());
    let directories = (0..layout.directories()).map(|at| (state.has_directory(at), state.entries(at)));
    (directories.collect(), (0..layout.files()).map(|at| state.file(at)).collect())
}

#[test]
fn it_is_written_as_vdbench_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let shape = shape(1, 2, 4, FilePlace::Bottom, FileSizes::Fixed(100));
    let tree = open(folder.path(), &shape).unwrap();
    let (layout, state) = (tree.layout(), tree.state());
    state.set_directory(layout, 0, true);
    for (file, bytes) in [(0, 100), (1, 100), (2, 100), (3, 7)] {
        state.set_file(layout, file, FileState { exists: true, bytes });
    }
    let mut out = Summed { out: Vec::new(), sum: 0 };
    put(&mut out, &tree, Moment::End, 1_795_869_392_000_000_000).unwrap();
    let expected = "when  end Sat Nov 28 12:36:32 UTC 2026\ndepth 1\nwidth 2\nfiles 4\ndist  bottom\nsize  100\n\
                    directory status 2\ny\nn\nfile status 8\nf\n= 2\n7\nn\n= 2\nn\n";
    assert_eq!(String::from_utf8(out.out).unwrap(), expected);
    tree.write_control_file(Moment::End).unwrap();
    let text = std::fs::read_to_string(folder.path().join(CONTROL_FILE)).unwrap();
    // Vdbench sums the characters of all lines.
    let (body, last) = text.split_at(text.find("checksum").unwrap());
    let sum: u64 = body.lines().flat_map(str::chars).map(|char| u64::from(u32::from(char))).sum();
    assert_eq!(last, format!("checksum: {sum} \n"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_was_written_reads_back_the_same() {
    for seed in 0..200 {
        let mut random = JavaRandom::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let shape = any_shape(&mut random);
        let tree = open(folder.path(), &shape).unwrap();
        any_state(&tree, &mut random);
        tree.write_control_file(Moment::End).unwrap();
        let again = open(folder.path(), &shape).unwrap();
        assert_eq!(state_of(&again), state_of(&tree), "seed {seed}: {shape:?}");
        // What was written at the start of a run is not believed: nothing is there.
        tree.write_control_file(Moment::Start).unwrap();
        let nothing = state_of(&open(folder.path(), &shape).unwrap());
        assert!(nothing.0.iter().all(|known| *known == (false, 0)) && nothing.1.iter().all(|file| !file.exists));
    }
}

#[test]
fn arbitrary_bytes_are_an_error_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(CONTROL_FILE);
    let shape = shape(2, 2, 3, FilePlace::All, FileSizes::Mix(vec![(10, 50.0), (20, 50.0)]));
    let tree = open(folder.path(), &shape).unwrap();
    any_state(&tree, &mut JavaRandom::new(7));
    tree.write_control_file(Moment::End).unwrap();
    let good = std::fs::read(&path).unwrap();
    for seed in 0..2000_u32 {
        let mut random = JavaRandom::new(u64::from(seed));
        let mut bytes = good.clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(u32::try_from(bytes.len()).unwrap()) as usize;
            match random.below(5) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
                2 => drop(bytes.splice(at..at, *b"= 4294967295\n")),
                3 => drop(bytes.splice(at..at, *b"99999999999999999999\n")),
                _ => drop(bytes.remove(at)),
            }
            if bytes.len() < 2 {
                break;
            }
        }
        // Half of them with a checksum that fits, so that what is behind it is reached.
        if random.below(2) == 0 {
            let end = bytes.windows(9).position(|part| part == b"checksum:").unwrap_or(bytes.len());
            bytes.truncate(end);
            let sum = sum_of(&bytes);
            bytes.extend_from_slice(format!("\nchecksum: {sum} \n").as_bytes());
        }
        std::fs::write(&path, &bytes).unwrap();
        match open(folder.path(), &shape) {
            Ok(_) | Err(TreeError::Damaged { .. } | TreeError::OtherShape { .. }) => {}
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
    let said = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        open(folder.path(), &shape).unwrap_err().to_string()
    };
    assert!(said(b"").contains("it has no checksum"), "{}", said(b""));
    assert!(said(&good[..good.len() / 2]).contains("it has no checksum"));
    assert!(said(&vec![b'x'; 5000]).contains("line 1: it is too long"));
    let file = File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    assert!(open(folder.path(), &shape).unwrap_err().to_string().contains("it is larger than any"));
}

#[test]
fn another_shape_is_refused_with_both_values() {
    let folder = tempfile::tempdir().unwrap();
    let one = shape(2, 2, 3, FilePlace::Bottom, FileSizes::Fixed(4096));
    open(folder.path(), &one).unwrap().write_control_file(Moment::Start).unwrap();
    let other = shape(2, 5, 3, FilePlace::All, FileSizes::Around(1000));
    let said = open(folder.path(), &other).unwrap_err().to_string();
    for part in [
        "width is 2 there and 5 here",
        "distribution is bottom there and all here",
        "sizes are (4096) there and (1000,0) here",
        "format=yes",
        "vdb_control.file",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("depth"));
    // A tree that is made anew or shared asks nothing of it.
    assert!(Tree::at(folder.path(), &other, Opening::Empty).is_ok());
    assert!(open(folder.path(), &TreeShape { shared: true, ..other }).is_ok());
}

#[test]
fn what_is_no_regular_file_is_not_read() {
    let shape = shape(1, 1, 1, FilePlace::Bottom, FileSizes::Fixed(1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(CONTROL_FILE);
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(open(folder.path(), &shape), Err(TreeError::Damaged { .. })));
    std::fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    assert!(matches!(open(folder.path(), &shape), Err(TreeError::Damaged { .. })));
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert!(matches!(open(folder.path(), &shape), Err(TreeError::Damaged { .. })));
}
