//! What a file-system workload refuses before it begins: exit codes, sentences, and that not one byte is changed.

use crate::support::Scratch;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use testkit::CommandOutput;

const REFUSED: i32 = 7;
const TARGET: i32 = 3;
const PARAMETERS: i32 = 2;

/// All below a directory: kind, length, content, links and times of change.
fn everything(path: &Path) -> BTreeMap<PathBuf, (u32, u64, Vec<u8>, i64, i64)> {
    let (mut found, mut left) = (BTreeMap::new(), vec![path.to_owned()]);
    while let Some(path) = left.pop() {
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let content = if metadata.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let state = (metadata.mode(), metadata.nlink(), content, metadata.ctime(), metadata.ctime_nsec());
        found.insert(path, state);
    }
    found
}

/// One load on a tree.
struct Load<'a> {
    scratch: &'a Scratch,
    anchor: PathBuf,
    shape: &'a str,
    work: &'a str,
    format: &'a str,
}

impl Load<'_> {
    fn run(&self, name: &str) -> CommandOutput {
        let Self { scratch, anchor, shape, work, format } = self;
        let text = format!(
            "fsd=fsd1,anchor={},{shape}\nfwd=fwd1,fsd=fsd1,{work}\n\
             rd=rd1,fwd=fwd1,fwdrate=200,format={format},elapsed=2,interval=1\n",
            anchor.display()
        );
        scratch.run(name, &text, &["--no-report"])
    }

    /// Ends with this code and these words; nothing at or below `kept` is changed, and there is no recording.
    #[track_caller]
    fn is_refused(&self, code: i32, words: &[&str], kept: &Path) {
        let before = everything(kept);
        let output = self.run("refused").expect_code(code);
        words.iter().for_each(|word| assert!(output.stderr.contains(word), "{word}: {}", output.stderr));
        assert!(everything(kept) == before, "something was changed: {}", output.stderr);
        assert!(!self.scratch.path("refused").exists());
    }
}

fn load(scratch: &Scratch) -> Load<'_> {
    let anchor = scratch.path("kept/tree");
    Load { scratch, anchor, shape: "depth=2,width=2,files=3,size=8k", work: "operation=read", format: "yes" }
}

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("kept")).unwrap();
    scratch
}

#[test]
fn nothing_is_changed_in_an_anchor_with_a_foreign_entry() {
    let scratch = scratch();
    let kept = scratch.path("kept");
    std::fs::create_dir(kept.join("other")).unwrap();
    std::fs::write(kept.join("other/vdb_f0001.file"), "precious").unwrap();
    load(&scratch).run("made").expect_code(0);
    let deep = "tree/vdb.1_2.dir/vdb.2_2.dir/";
    type Put<'a> = Box<dyn Fn(&Path) + 'a>;
    let other = || kept.join("other");
    let cases: [(String, Put<'_>); 5] = [
        ("tree/notes".to_string(), Box::new(|at| std::fs::write(at, "notes").unwrap())),
        (format!("{deep}notes"), Box::new(|at| std::fs::write(at, "notes").unwrap())),
        (format!("{deep}vdb_f0009.file"), Box::new(|at| symlink(other().join("vdb_f0001.file"), at).unwrap())),
        (
            format!("{deep}vdb_f0008.file"),
            Box::new(|at| std::fs::hard_link(other().join("vdb_f0001.file"), at).unwrap()),
        ),
        ("tree/vdb.1_3.dir".to_string(), Box::new(|at| symlink(other(), at).unwrap())),
    ];
    for (name, put) in cases {
        put(&kept.join(&name));
        for (work, format) in [("operation=read", "yes"), ("operation=read", "restart"), ("operation=delete", "no")] {
            let load = Load { work, format, ..load(&scratch) };
            load.is_refused(REFUSED, &[name.strip_prefix("tree/").unwrap(), "no flag overrides this"], &kept);
        }
        std::fs::remove_file(kept.join(&name)).unwrap();
    }
    load(&scratch).run("again").expect_code(0);
    assert_eq!(std::fs::read(kept.join("other/vdb_f0001.file")).unwrap(), b"precious");
}

#[test]
fn anchors_in_wrong_places_are_refused() {
    let scratch = scratch();
    let kept = scratch.path("kept");
    symlink("/etc", kept.join("link")).unwrap();
    for anchor in [Path::new("/"), Path::new("/usr/share/none"), &kept.join("link/none")] {
        let load = Load { anchor: anchor.to_owned(), ..load(&scratch) };
        load.is_refused(REFUSED, &["refused to write"], &kept);
    }
    let around = Load { anchor: scratch.path(""), ..load(&scratch) };
    around.is_refused(REFUSED, &["the recording"], &kept);
    let missing = Load { format: "no", ..load(&scratch) };
    missing.is_refused(TARGET, &["is missing", "format=yes"], &kept);
    let deep = Load { anchor: kept.join("no/tree"), ..load(&scratch) };
    deep.is_refused(TARGET, &["create_anchors=yes"], &kept);
    let text = format!(
        "fsd=default,depth=1,width=1,files=1,size=4k\nfsd=fsd1,anchor={0}\nfsd=fsd2,anchor={0}/in\nfwd=fwd1,fsd=fsd*,operation=read\n\
         rd=rd1,fwd=fwd1,fwdrate=10,format=yes,elapsed=2,interval=1\n",
        kept.join("tree").display()
    );
    let output = scratch.run("nested", &text, &[]);
    assert!([Some(REFUSED), Some(PARAMETERS)].contains(&output.code), "{}", output.stderr);
    assert!(!kept.join("tree").exists());
}

#[test]
fn a_tree_of_another_shape_or_a_damaged_control_file_is_refused_and_made_anew_by_a_format() {
    let scratch = scratch();
    let kept = scratch.path("kept");
    load(&scratch).run("made").expect_code(0);
    let other = Load { shape: "depth=2,width=3,files=3,size=8k", format: "no", ..load(&scratch) };
    other.is_refused(REFUSED, &["width is 2 there and 3 here", "format=yes"], &kept);
    let control = kept.join("tree/vdb_control.file");
    let whole = std::fs::read(&control).unwrap();
    std::fs::write(&control, &whole[..whole.len() - 5]).unwrap();
    let same = Load { format: "no", ..load(&scratch) };
    same.is_refused(REFUSED, &["vdb_control.file", "format=yes"], &kept);
    load(&scratch).run("anew").expect_code(0);
    // Without the file, what is there is looked at.
    std::fs::remove_file(&control).unwrap();
    Load { format: "no", ..load(&scratch) }.run("looked").expect_code(0);
    std::fs::remove_dir_all(kept.join("tree/vdb.1_1.dir")).unwrap();
    std::fs::remove_dir_all(kept.join("tree/vdb.1_2.dir")).unwrap();
    same.is_refused(TARGET, &["none of the 12 files", "format=yes"], &kept);
}

/// A directory of the system, mounted read-only below `/dev/shm`; nothing in it is ever removed.
struct SystemMount(PathBuf);

impl Drop for SystemMount {
    fn drop(&mut self) {
        let _ = testkit::TestCommand::new("umount").arg(&self.0).run();
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_directory_of_the_system_is_refused_where_it_is_mounted_below_dev_shm() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let mount = SystemMount(PathBuf::from(format!("/dev/shm/{}", testkit::own_name("system"))));
    std::fs::create_dir(&mount.0).unwrap();
    let bind = |options: &[&str]| {
        let command = testkit::TestCommand::new("mount").args(options).arg("/usr/share").arg(&mount.0);
        command.run().unwrap().expect_code(0);
    };
    bind(&["--bind", "-o", "ro"]);
    let anchor = mount.0.join("tree");
    let refused = Load { anchor, ..load(&scratch) }.run("refused").expect_code(REFUSED);
    assert!(refused.stderr.contains("/usr"), "{}", refused.stderr);
    // The memory file system itself is for users.
    let anchor = PathBuf::from(format!("/dev/shm/{}", testkit::own_name("tree")));
    let output = Load { anchor: anchor.clone(), ..load(&scratch) }.run("made");
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    std::fs::remove_dir_all(&anchor).unwrap();
}
