use super::*;
use crate::{Opening, Tree};
use plan::{FilePlace, TreeShape};
use std::fs;

fn shape() -> TreeShape {
    TreeShape { place: FilePlace::All, ..TreeShape::regular(2, 2, 2, 10) }
}

/// A folder with a whole tree in it.
fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tree = Tree::at(folder.path(), &shape(), Opening::Empty).unwrap();
    let (layout, mut path) = (tree.layout(), Vec::new());
    for directory in 0..layout.directories() {
        layout.directory_path(directory, &mut path);
        fs::create_dir(folder.path().join(OsStr::from_bytes(&path))).unwrap();
    }
    for file in 0..layout.files() {
        layout.file_path(file, &mut path);
        fs::write(folder.path().join(OsStr::from_bytes(&path)), "0123456789").unwrap();
    }
    folder
}

fn inspect(path: &Path) -> Inspection {
    Anchor::open(path).unwrap().unwrap().inspect().unwrap()
}

#[test]
fn a_tree_is_its_own_and_its_state_is_listed() {
    let folder = made();
    let found = inspect(folder.path());
    assert_eq!((found.directories, found.files, found.bytes, found.foreign), (6, 12, 120, 0), "{found:?}");
    assert!(!found.has_control_file);
    let tree = Tree::at(folder.path(), &shape(), Opening::Existing).unwrap();
    assert!((0..6).all(|at| tree.state().has_directory(at)));
    assert!((0..12).all(|at| tree.state().file(at).exists && tree.state().file(at).bytes == 10));
    tree.write_control_file(crate::Moment::End).unwrap();
    fs::write(folder.path().join(".vdb_control.file.0123456789abcdef.new"), "").unwrap();
    let found = inspect(folder.path());
    assert!(found.has_control_file && found.foreign == 0, "{found:?}");
    // What the control file says is believed, and listing sees what is there.
    fs::remove_file(folder.path().join("vdb.1_1.dir/vdb_f0001.file")).unwrap();
    let known = |how| Tree::at(folder.path(), &shape(), how).unwrap().state().file(0).exists;
    assert!(known(Opening::Existing) && !known(Opening::Listed) && !known(Opening::Empty));
    assert!(Anchor::open(&folder.path().join("none")).unwrap().is_none());
    assert!(Anchor::open(&folder.path().join("vdb_control.file")).is_err());
}

#[test]
fn everything_foreign_is_found_wherever_it_is() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "kept").unwrap();
    let link = |to: &Path, at: PathBuf| std::os::unix::fs::symlink(to, at).unwrap();
    let fifo = |at: PathBuf| {
        rustix::fs::mknodat(rustix::fs::CWD, &at, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    };
    type Put<'a> = Box<dyn Fn(&Path) + 'a>;
    let cases: Vec<(&str, &str, Put<'_>)> = vec![
        ("notes.txt", "its name is not one of a tree", Box::new(|at| fs::write(at, "x").unwrap())),
        ("vdb.1_1.dir/vdb.2_2.dir/x", "its name is not", Box::new(|at| fs::write(at, "x").unwrap())),
        ("vdb.1_3.dir", "it is a symbolic link", Box::new(|at| link(outside.path(), at.to_owned()))),
        (
            "vdb.1_1.dir/vdb_f0009.file",
            "it is a symbolic link",
            Box::new(|at| link(Path::new("/etc/passwd"), at.to_owned())),
        ),
        ("vdb.1_1.dir/vdb_f0009.file", "it is a FIFO", Box::new(|at| fifo(at.to_owned()))),
        ("vdb.1_1.dir/vdb_f0009.file", "it is a directory", Box::new(|at| fs::create_dir(at).unwrap())),
        ("vdb.1_9.dir", "it is a regular file", Box::new(|at| fs::write(at, "x").unwrap())),
        (
            "vdb.1_1.dir/vdb_f0009.file",
            "it is one of 2 names",
            Box::new(|at| fs::hard_link(outside.path().join("kept"), at).unwrap()),
        ),
        ("vdb_f0001.file", "no tree has that name", Box::new(|at| fs::write(at, "x").unwrap())),
        ("vdb.1_1.dir/vdb_control.file", "no tree has that name", Box::new(|at| fs::write(at, "x").unwrap())),
        ("vdb.2_1.dir", "no tree has that name", Box::new(|at| fs::create_dir(at).unwrap())),
        ("lost+found", "its name is not", Box::new(|at| fs::create_dir(at).unwrap())),
        ("\u{1b}[2J", "its name is not", Box::new(|at| fs::create_dir(at).unwrap())),
    ];
    for (name, why, put) in cases {
        let folder = made();
        put(&folder.path().join(name));
        let found = inspect(folder.path());
        assert_eq!(found.foreign, 1, "{name}: {found:?}");
        let (path, said) = found.first_foreign.first_key_value().unwrap();
        assert!(path == Path::new(name) && said.contains(why), "{name}: {found:?}");
        let error = Anchor::open(folder.path()).unwrap().unwrap().require_own().unwrap_err();
        assert!(error.to_string().contains(why) && error.is_refusal(), "{error}");
    }
    assert_eq!(fs::read(outside.path().join("kept")).unwrap(), b"kept");
}

#[test]
fn the_first_of_many_are_named_and_all_are_counted() {
    let folder = made();
    for number in 0..30 {
        fs::write(folder.path().join(format!("note{number:02}")), "").unwrap();
    }
    let said = Anchor::open(folder.path()).unwrap().unwrap().require_own().unwrap_err().to_string();
    assert!(said.contains("note00") && said.contains("note02") && !said.contains("note03"), "{said}");
    assert!(said.contains("and 27 more"), "{said}");
}

#[test]
fn an_anchor_is_taken_once_for_changes_and_often_for_reading() {
    let folder = made();
    let open = || Anchor::open(folder.path()).unwrap().unwrap();
    let (one, two, three) = (open(), open(), open());
    one.take(false).unwrap();
    two.take(false).unwrap();
    assert!(three.take(true).unwrap_err().is_refusal());
    drop((one, two));
    three.take(true).unwrap();
    assert!(open().take(false).unwrap_err().to_string().contains(&folder.path().display().to_string()));
}

/// Unmounts in the end.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}

#[test]
fn a_mount_inside_is_foreign_even_of_the_same_file_system() {
    let folder = made();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("vdb.1_1.dir/vdb.2_9.dir")).unwrap();
    // Without the right to mount there is nothing to see.
    let bind = |from: &str, to: &str| rustix::mount::mount_bind(at(from), at(to)).map(|()| Mounted(at(to)));
    let Ok(directory) = bind("vdb.1_2.dir", "vdb.1_1.dir/vdb.2_9.dir") else { return };
    let found = inspect(folder.path());
    let said: Vec<_> = found.first_foreign.iter().collect();
    assert_eq!(found.foreign, 1, "{found:?}");
    assert_eq!(said[0].0, Path::new("vdb.1_1.dir/vdb.2_9.dir"));
    assert!(said[0].1.contains("something is mounted there"), "{found:?}");
    drop(directory);
    assert_eq!(inspect(folder.path()).foreign, 0);
    let file = bind("vdb.1_2.dir/vdb_f0001.file", "vdb.1_1.dir/vdb_f0002.file").unwrap();
    let found = inspect(folder.path());
    assert!(
        found.foreign == 1 && found.first_foreign.contains_key(Path::new("vdb.1_1.dir/vdb_f0002.file")),
        "{found:?}"
    );
    drop(file);
}

#[test]
fn lost_and_found_belongs_to_the_file_system_that_is_mounted_at_the_anchor() {
    let folder = tempfile::tempdir().unwrap();
    let flags = rustix::mount::MountFlags::NOSUID;
    if rustix::mount::mount("none", folder.path(), "tmpfs", flags, None).is_err() {
        return;
    }
    let mounted = Mounted(folder.path().to_owned());
    fs::create_dir(folder.path().join("lost+found")).unwrap();
    assert_eq!(inspect(folder.path()).foreign, 0);
    fs::create_dir(folder.path().join("found")).unwrap();
    assert_eq!(inspect(folder.path()).foreign, 1);
    drop(mounted);
}
