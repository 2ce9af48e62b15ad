//! Trouble of file systems under a file-system workload: counted, said clearly, no hang, and what is not ours stays as it is.

use crate::support::{Scratch, sum};
use crate::trees::files_below;
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;
use testkit::{CommandOutput, MountedFileSystem};

/// Runs a load on a tree below `anchor`.
fn run(scratch: &Scratch, name: &str, anchor: &Path, (shape, work, run): (&str, &str, &str)) -> CommandOutput {
    let text = format!(
        "fsd=fsd1,anchor={},{shape}\nfwd=fwd1,fsd=fsd1,{work}\nrd=rd1,fwd=fwd1,{run},interval=1\n",
        anchor.display()
    );
    scratch.run(name, &text, &[])
}

const SMALL: &str = "depth=1,width=2,files=10,size=16k";

#[test]
fn a_full_file_system_ends_the_format_with_a_clear_sentence() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let (scratch, small) = (Scratch::new(), MountedFileSystem::tmpfs(1 << 20).unwrap());
    let anchor = small.path().join("tree");
    let text = format!(
        "fsd=fsd1,anchor={},depth=1,width=1,files=40,size=64k\nfwd=fwd1,fsd=fsd1,operation=read\n\
         rd=rd1,fwd=fwd1,fwdrate=100,format=yes,elapsed=2,interval=1\n",
        anchor.display()
    );
    let refused = scratch.run("refused", &text, &[]);
    assert!(refused.code != Some(0) && refused.stderr.contains("--allow-full"), "{}", refused.stderr);
    assert!(refused.stderr.contains("needs 2.50 MiB") && !anchor.exists(), "{}", refused.stderr);
    let dry = scratch.iodyno(&["run", "refused.vdb", "--dry-run"]).run().unwrap().expect_code(0);
    assert!(dry.stdout.contains("would not begin") && dry.stdout.contains("--allow-full"), "{}", dry.stdout);
    let output = scratch.run("out", &text, &["--allow-full"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(output.stderr.contains("No space left on device"), "{}", output.stderr);
    let errors = sum(&scratch.table("out", "run_total"), "errors", |row| row["phase"] == "format");
    assert!(errors > 0);
}

/// A file with holes gives back no room when a format deletes it.
#[test]
fn holes_of_an_old_tree_are_no_room() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let (scratch, small) = (Scratch::new(), MountedFileSystem::tmpfs(1 << 20).unwrap());
    let anchor = small.path().join("tree");
    let load = ("depth=1,width=1,files=10,size=64k", "operation=read", "fwdrate=100,format=(yes,only),elapsed=2");
    run(&scratch, "first", &anchor, load).expect_code(0);
    // With blocks the tree is room for its like, however full the rest is.
    std::fs::write(small.path().join("other"), vec![1; 300 << 10]).unwrap();
    run(&scratch, "full", &anchor, load).expect_code(0);
    for path in files_below(&anchor).keys() {
        std::fs::File::create(anchor.join(path)).unwrap().set_len(64 << 10).unwrap();
    }
    std::fs::write(small.path().join("more"), vec![1; 500 << 10]).unwrap();
    let refused = run(&scratch, "sparse", &anchor, load);
    assert!(refused.code != Some(0) && refused.stderr.contains("needs 640 KiB"), "{}", refused.stderr);
}

/// Vdbench's `-s` looks at no tree; the dry run does, and says what it finds.
#[test]
fn a_dry_run_says_what_is_not_there_yet_and_that_threads_are_many() {
    let scratch = Scratch::new();
    let text = |threads: u32| {
        format!(
            "fsd=fsd1,anchor={},{SMALL}\nfwd=fwd1,fsd=fsd1,operation=read,threads={threads}\n\
             rd=rd1,fwd=fwd1,fwdrate=100,format=no,elapsed=2,interval=1\n",
            scratch.path("tree").display()
        )
    };
    for (name, flag) in [("a.vdb", "--dry-run"), ("b.vdb", "-s")] {
        scratch.write(name, &text(2));
        let output = scratch.iodyno(&["run", name, flag]).run().unwrap().expect_code(0);
        assert!(
            output.stdout.contains("it would not begin") && output.stdout.contains("is missing"),
            "{}",
            output.stdout
        );
        assert!(!output.stdout.contains("threads in trees"), "{}", output.stdout);
    }
    assert_ne!(scratch.iodyno(&["run", "a.vdb", "-o", "none"]).run().unwrap().code, Some(0));
    scratch.write("many.vdb", &text(65_000));
    let output = scratch.iodyno(&["run", "many.vdb", "--dry-run"]).run().unwrap().expect_code(0);
    assert!(output.stdout.contains("run rd1 has 65,000 threads in trees"), "{}", output.stdout);
}

#[test]
fn foreign_files_in_an_anchor_stop_the_run_and_stay() {
    let scratch = Scratch::new();
    let anchor = scratch.path("tree");
    for (name, is_link) in [("notes.txt", false), ("vdb_f1.file", false), ("vdb.1_1.dir", true)] {
        std::fs::create_dir_all(&anchor).unwrap();
        let precious = scratch.path("precious");
        std::fs::create_dir_all(&precious).unwrap();
        std::fs::write(precious.join("vdb_f0001.file"), "precious").unwrap();
        if is_link {
            std::os::unix::fs::symlink(&precious, anchor.join(name)).unwrap();
        } else {
            std::fs::write(anchor.join(name), "precious").unwrap();
        }
        let output = run(
            &scratch,
            &format!("out-{name}"),
            &anchor,
            (SMALL, "operation=read", "fwdrate=100,format=yes,elapsed=2"),
        );
        assert_eq!(output.code, Some(7), "{name}: {}", output.stderr);
        assert!(output.stderr.contains(name), "{}", output.stderr);
        assert_eq!(std::fs::read_to_string(precious.join("vdb_f0001.file")).unwrap(), "precious");
        assert_eq!(std::fs::read_dir(&anchor).unwrap().count(), 1, "{name}: nothing was made");
        std::fs::remove_dir_all(&anchor).unwrap();
    }
}

#[test]
fn files_deleted_from_outside_are_counted_as_failures() {
    let scratch = Scratch::new();
    let anchor = scratch.path("tree");
    run(&scratch, "made", &anchor, (SMALL, "operation=read", "fwdrate=100,format=only,elapsed=2")).expect_code(0);
    std::fs::remove_file(anchor.join("vdb.1_1.dir/vdb_f0003.file")).unwrap();
    let load = (SMALL, "operation=getattr,fileselect=sequential", "fwdrate=200,format=no,elapsed=2");
    let output = run(&scratch, "out", &anchor, load);
    let errors = sum(&scratch.table("out", "run_total"), "errors", |_| true);
    assert!(errors >= 1, "{}", output.stderr);
    let events = scratch.table("out", "event");
    let is_named =
        |event: &serde_json::Value| event["message"].as_str().unwrap().contains("vdb.1_1.dir/vdb_f0003.file");
    assert!(events.iter().any(is_named), "{events:?}");
}

#[test]
fn ctrl_c_ends_a_format_and_a_run_with_their_results() {
    let scratch = Scratch::new();
    let anchor = scratch.path("tree");
    for (name, shape, work) in
        [("format", "depth=2,width=20,files=500,size=4k", "format_for_rd1"), ("run", SMALL, "\"run\":\"rd1\"")]
    {
        let text = format!(
            "fsd=fsd1,anchor={},{shape}\nfwd=fwd1,fsd=fsd1,operation=read,threads=2\nrd=rd1,fwd=fwd1,fwdrate=100,format=yes,elapsed=60,interval=1\n",
            anchor.join(name).display()
        );
        std::fs::create_dir_all(&anchor).unwrap();
        let file = scratch.write(&format!("{name}.vdb"), &text);
        let mut child = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", name, "--json"]).spawn().unwrap();
        assert!(child.wait_until(Duration::from_secs(60), |out| out.contains(work)), "{name} began");
        child.signal(Signal::INT);
        child.wait().unwrap().expect_code(130);
        assert!(sum(&scratch.table(name, "run_total"), "ops", |_| true) > 0, "{name}");
    }
    assert!(!files_below(&anchor).is_empty());
}

#[test]
fn a_directory_that_becomes_a_link_during_a_run_is_not_followed() {
    let scratch = Scratch::new();
    let (anchor, precious) = (scratch.path("tree"), scratch.path("precious"));
    let text = format!(
        "fsd=fsd1,anchor={},depth=2,width=2,files=10,size=4k\nfwd=fwd1,fsd=fsd1,xfersize=4k,fileselect=random,threads=2\n\
         rd=rd1,fwd=fwd1,fwdrate=300,operations=(write,delete,create,setattr),format=yes,elapsed=8,interval=1\n",
        anchor.display()
    );
    let file = scratch.write("a.vdb", &text);
    let mut child = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out", "--json"]).spawn().unwrap();
    assert!(child.wait_until(Duration::from_secs(60), |out| out.contains("\"run\":\"rd1\"")));
    for below in ["vdb.2_1.dir", "vdb.2_2.dir"] {
        std::fs::create_dir_all(precious.join(below)).unwrap();
        for number in 1..=10 {
            std::fs::write(precious.join(below).join(format!("vdb_f{number:04}.file")), "precious").unwrap();
        }
    }
    let moved = anchor.join("vdb.1_1.dir");
    std::fs::rename(&moved, scratch.path("moved")).unwrap();
    std::os::unix::fs::symlink(&precious, &moved).unwrap();
    let output = child.wait().unwrap();
    let files = files_below(&precious);
    assert_eq!(files.len(), 20, "{files:?}");
    for path in files.keys() {
        assert_eq!(std::fs::read_to_string(precious.join(path)).unwrap(), "precious", "{}", path.display());
    }
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(output.stderr.contains("; the first: "), "{}", output.stderr);
}

#[test]
fn a_copy_to_a_tree_without_directories_is_refused() {
    let scratch = Scratch::new();
    let (from, to) = (scratch.path("from"), scratch.path("to"));
    std::fs::create_dir(&to).unwrap();
    let text = format!(
        "fsd=default,depth=1,width=2,files=5,size=4k\nfsd=fsd1,anchor={}\nfsd=fsd2,anchor={}\n\
         fwd=fwd1,fsd=fsd1,operation=copy,target=fsd2\nrd=rd1,fwd=fwd1,fwdrate=10,format=yes,elapsed=2,interval=1\n",
        from.display(),
        to.display()
    );
    let output = scratch.run("out", &text, &[]);
    assert_ne!(output.code, Some(0), "{}", output.stderr);
    assert!(
        output.stderr.contains("target=") && output.stderr.contains("format=(directories,only)"),
        "{}",
        output.stderr
    );
}
