//! What a command writes goes to new files, and never through a link or over a device.

use crate::support::Scratch;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use testkit::{LoopDevice, TestCommand, sha256};

/// Files that create, replace or remove something by themselves, each with its reason.
const BY_HAND: [(&str, &str); 9] = [
    (
        "tree_load/src/",
        "files and directories of a tree, which are a load's targets: below an anchor that was inspected, following no link",
    ),
    ("output/src/", "this is the one place"),
    ("query/src/shell.rs", "the history of the user's own shell, through rustyline"),
    ("target/src/file.rs", "targets of a load: O_EXCL and O_NOFOLLOW after the inspection"),
    (
        "target/src/node.rs",
        "missing directories in a target file's own name: below one that is held, following no link",
    ),
    ("target/src/registry.rs", "the registry of target files, whose folder must belong to the user alone"),
    ("target/src/opened.rs", "unlink=1 removes the target file that this run made, when its name still leads to it"),
    (
        "tree/src/numbered.rs",
        "files and directories of a job that are its load's targets: in a directory that is held, with names that were looked at, following no link",
    ),
    ("trace/src/block/ftrace/instance.rs", "directories and files of tracefs, which are the kernel's"),
];

/// What makes, replaces or removes files.
const WRITES: [&str; 17] = [
    "File::create",
    "File::options",
    "OpenOptions",
    "fs::write",
    "fs::copy",
    "fs::rename",
    "fs::hard_link",
    "fs::remove_",
    "fs::create_dir",
    "fs::set_permissions",
    "create_dir_all",
    "DirBuilder",
    "unix::fs::symlink",
    "OFlags::CREATE",
    "renameat",
    "unlinkat",
    "mkdirat",
];

/// Sources below a folder, without their unit tests.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.find("\n#[cfg(test)]\nmod ").map_or(text.as_str(), |tests| &text[..tests]).to_string();
            found.push((path.to_string_lossy().into_owned(), code));
        }
    }
}

#[test]
fn files_are_made_in_one_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for package in std::fs::read_dir(&crates).unwrap().flatten() {
        sources(&package.path().join("src"), &mut found);
    }
    assert!(found.len() > 300, "only {} sources found", found.len());
    let prefix = format!("{}/", crates.display());
    // Modules that are tests as a whole, and reading with flags.
    let is_test = |path: &str| {
        path.ends_with("tests.rs") || path.contains("/tests/") || path.ends_with("trace/src/other_kernels.rs")
    };
    let only_reads = ["collect/src/kernel_log.rs", "trace/src/profile/user.rs"];
    let mut by_hand = Vec::new();
    for (path, code) in &found {
        let path = path.strip_prefix(prefix.as_str()).unwrap();
        if is_test(path) || only_reads.contains(&path) {
            continue;
        }
        let code = code.replace("OutputFile::create", "");
        let uses: Vec<&str> = WRITES.into_iter().filter(|word| code.contains(word)).collect();
        if uses.is_empty() {
            continue;
        }
        let reason = BY_HAND.iter().find(|(allowed, _)| path.starts_with(allowed));
        assert!(reason.is_some(), "{path} makes files by hand ({}): use the crate `output`", uses.join(", "));
        by_hand.push(path);
    }
    assert!(by_hand.contains(&"output/src/folder.rs"), "the words are not found where they must be: {by_hand:?}");
}

/// A recording of a second, and a job file.
fn inputs(scratch: &Scratch) {
    let record = ["record", "-o", "r", "-i", "100ms", "--clock", "tick", "--for", "1s"];
    scratch.iodyno(&record).run().unwrap().expect_code(0);
    scratch.write(
        "a.vdb",
        "sd=sd1,lun=/nowhere/x,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=100,elapsed=4,interval=1\n",
    );
}

/// Every command whose `-o` is a file, without it.
const COMMANDS: [&[&str]; 5] = [
    &["export", "r", "cpu"],
    &["report", "r"],
    &["compare", "r", "r"],
    &["chart", "r", "run.cpu"],
    &["convert", "a.vdb", "--to", "fio"],
];

fn refuse(scratch: &Scratch, name: &str, code: i32, words: &str) {
    for command in COMMANDS {
        for force in [&[][..], &["--force"]] {
            if !force.is_empty() && code == 2 {
                continue;
            }
            let arguments = [command, &["-o", name], force].concat();
            let output = scratch.iodyno(&arguments).run().unwrap().expect_code(code);
            assert!(output.stderr.contains(words), "{arguments:?}: {}", output.stderr);
        }
    }
}

/// Everything in a folder, so that what is left behind is seen.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_output_never_overwrites_a_file_a_link_or_a_fifo() {
    let scratch = Scratch::new();
    inputs(&scratch);
    scratch.write("victim", "precious");
    scratch.write("there.svg", "precious");
    symlink("victim", scratch.path("link.svg")).unwrap();
    symlink("nothing", scratch.path("dangling.svg")).unwrap();
    // What an earlier version wrote through.
    symlink("victim", scratch.path("new.svg.new")).unwrap();
    std::fs::create_dir(scratch.path("folder.svg")).unwrap();
    TestCommand::new("mkfifo").arg(scratch.path("fifo.svg")).run().unwrap().expect_code(0);
    let before = names(&scratch.path(""));
    refuse(&scratch, "there.svg", 2, "there.svg exists; name another file, or add --force");
    refuse(&scratch, "link.svg", 7, "link.svg is a symbolic link to victim");
    refuse(&scratch, "dangling.svg", 7, "dangling.svg is a symbolic link to nothing");
    refuse(&scratch, "folder.svg", 7, "folder.svg is a directory");
    refuse(&scratch, "fifo.svg", 7, "fifo.svg is a FIFO");
    assert_eq!(names(&scratch.path("")), before);
    let read = |name: &str| std::fs::read_to_string(scratch.path(name)).unwrap();
    assert_eq!((read("victim"), read("there.svg")), ("precious".into(), "precious".into()));
    // A new name, and a file that is given up with --force, are written, and nothing is left beside them.
    for command in COMMANDS {
        scratch.iodyno(&[command, &["-o", "new.svg"]].concat()).run().unwrap().expect_code(0);
        scratch.iodyno(&[command, &["-o", "new.svg", "--force"]].concat()).run().unwrap().expect_code(0);
        assert!(read("new.svg").len() > 20 && read("victim") == "precious", "{command:?}");
        std::fs::remove_file(scratch.path("new.svg")).unwrap();
        assert_eq!(names(&scratch.path("")), before, "{command:?}");
    }
    // Standard output, and nothing about it on it.
    let out = scratch.iodyno(&["report", "r", "-o", "-"]).run().unwrap().expect_code(0).stdout;
    assert!(out.starts_with("<!doctype html>") && out.trim_end().ends_with("</html>"));
    scratch.iodyno(&["export", "r", "cpu", "-o", "/dev/null"]).run().unwrap().expect_code(0);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    // A part that fails leaves no half file.
    scratch.iodyno(&["export", "r", "nosuch", "-o", "half.csv"]).run().unwrap();
    assert!(!scratch.path("half.csv").exists());
}

#[test]
fn an_output_never_goes_to_a_device_nor_in_its_place() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    inputs(&scratch);
    let device = LoopDevice::new(1 << 20).unwrap();
    std::fs::write(device.backing(), vec![0x5a; 1 << 20]).unwrap();
    let before = sha256(device.backing()).unwrap();
    let number = std::fs::metadata(device.path()).unwrap().rdev();
    let (major, minor) = (rustix::fs::major(number).to_string(), rustix::fs::minor(number).to_string());
    // Another node of the same device, because a chart wants its ending.
    let node = scratch.path("disk.svg");
    TestCommand::new("mknod").arg(&node).args(["b", &major, &minor]).run().unwrap().expect_code(0);
    refuse(&scratch, "disk.svg", 7, "disk.svg is a block device");
    refuse(&scratch, "/dev/iodyno-no-such-disk.svg", 7, "is in a directory of devices and does not exist");
    let refused = scratch.iodyno(&["export", "r", "cpu", "-o", device.path().to_str().unwrap(), "--force"]).run();
    assert!(refused.unwrap().expect_code(7).stderr.contains("is a block device"));
    assert!(std::fs::symlink_metadata(&node).unwrap().file_type().is_block_device());
    assert!(std::fs::symlink_metadata(device.path()).unwrap().file_type().is_block_device());
    assert_eq!(sha256(device.backing()).unwrap(), before);
}

#[test]
fn a_report_replaces_only_a_report_of_iodyno() {
    let scratch = Scratch::new();
    inputs(&scratch);
    let victim = scratch.write("victim", "precious");
    let (report, old_name) = (scratch.path("r/report.html"), scratch.path("r/report.html.new"));
    symlink(&victim, &old_name).unwrap();
    // Made twice without --force: the second time over its own.
    for _ in 0..2 {
        scratch.iodyno(&["report", "r"]).run().unwrap().expect_code(0);
    }
    assert!(std::fs::read_to_string(&report).unwrap().starts_with("<!doctype html>"));
    std::fs::remove_file(&report).unwrap();
    symlink(&victim, &report).unwrap();
    let refused = scratch.iodyno(&["report", "r", "--force"]).run().unwrap().expect_code(7);
    assert!(refused.stderr.contains("report.html is a symbolic link"), "{}", refused.stderr);
    std::fs::remove_file(&report).unwrap();
    std::fs::write(&report, "<html>my own notes</html>").unwrap();
    let refused = scratch.iodyno(&["report", "r"]).run().unwrap().expect_code(7);
    assert!(refused.stderr.contains("report.html was not written by iodyno"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&report).unwrap(), "<html>my own notes</html>");
    scratch.iodyno(&["report", "r", "--force"]).run().unwrap().expect_code(0);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    // Vdbench's files: none is written when one of them is taken.
    std::fs::create_dir(scratch.path("flat")).unwrap();
    scratch.write("flat/totals.html", "mine");
    let export = ["export", "r", "--flatfile", "-o", "flat"];
    let refused = scratch.iodyno(&export).run().unwrap().expect_code(2);
    assert!(refused.stderr.contains("totals.html exists"), "{}", refused.stderr);
    assert_eq!(names(&scratch.path("flat")), ["totals.html"]);
    scratch.iodyno(&[&export[..], &["--force"]].concat()).run().unwrap().expect_code(0);
    assert_eq!(names(&scratch.path("flat")).len(), 5);
}

/// Every file and folder of a recording.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_path_buf()];
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(everything(&entry.path()))
        } else {
            found.push(entry.path())
        }
    }
    found
}

#[test]
fn a_recording_is_for_its_owner_unless_mode_and_group_say_otherwise() {
    let scratch = Scratch::new();
    let group = std::fs::metadata(scratch.path("")).unwrap().gid().to_string();
    let check = |name: &str, more: &[&str], file_mode: u32, folder_mode: u32| {
        let record = ["record", "-o", name, "-i", "100ms", "--clock", "tick", "--for", "300ms"];
        scratch.iodyno(&[&record[..], more].concat()).run().unwrap().expect_code(0);
        // What is added later has the permissions of the recording.
        scratch.iodyno(&["report", name]).run().unwrap().expect_code(0);
        let all = everything(&scratch.path(name));
        assert!(all.len() > 5);
        for path in all {
            let found = std::fs::metadata(&path).unwrap();
            let wanted = if found.is_dir() { folder_mode } else { file_mode };
            assert_eq!(found.mode() & 0o777, wanted, "{}: {:o}", path.display(), found.mode());
        }
    };
    check("private", &[], 0o600, 0o700);
    check("everybody", &["--mode", "0644"], 0o644, 0o755);
    check("group", &["--group", &group], 0o640, 0o750);
    for (wrong, words) in [
        (["--mode", "0755"], "--mode 0755: write octal permission bits"),
        (["--mode", "rw"], "--mode rw: write octal permission bits"),
        (["--group", "no-such-group"], "/etc/group has no such group"),
    ] {
        let record = ["record", "-o", "wrong", "--for", "1s", wrong[0], wrong[1]];
        let refused = scratch.iodyno(&record).run().unwrap().expect_code(2);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!(!scratch.path("wrong").exists());
}
