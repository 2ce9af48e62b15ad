//! `iodyno scan` from end to end.

use crate::support::Scratch;
use crate::support::terminal::bytes_on_a_terminal;
use quantity::visible::is_hidden;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::{File, create_dir, create_dir_all};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use testkit::TestCommand;

fn file(scratch: &Scratch, name: &str, bytes: u64) {
    File::create(scratch.path(name)).unwrap().set_len(bytes).unwrap();
}

/// Two levels: 1 + 2 directories, five files, a link in a loop, a file with two names.
fn small(scratch: &Scratch) {
    create_dir_all(scratch.path("tree/secret/inner")).unwrap();
    create_dir(scratch.path("tree/other")).unwrap();
    for (name, bytes) in
        [("tree/a", 0), ("tree/secret/b", 4096), ("tree/secret/inner/c", 4096), ("tree/other/d", 1 << 20)]
    {
        file(scratch, name, bytes);
    }
    std::fs::hard_link(scratch.path("tree/a"), scratch.path("tree/other/e")).unwrap();
    symlink("..", scratch.path("tree/secret/loop")).unwrap();
}

fn scan(scratch: &Scratch, arguments: &[&str]) -> testkit::CommandOutput {
    scratch.iodyno(&[&["scan"], arguments].concat()).run().unwrap()
}

fn measured(scratch: &Scratch, arguments: &[&str]) -> Value {
    let output = scan(scratch, &[arguments, &["--json"]].concat()).expect_code(0);
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn the_json_of_a_small_tree_is_this() {
    let scratch = Scratch::new();
    small(&scratch);
    let mut found = measured(&scratch, &["tree"]);
    assert!(found.as_object_mut().unwrap().remove("allocated_bytes").unwrap().is_u64());
    let lines = &found["lines"];
    assert!(
        lines["fsd"].as_str().unwrap().starts_with("fsd=scan,anchor=$anchor,depth=1,width=3,files=1,"),
        "{lines:#}"
    );
    assert_eq!(
        (&lines["depth"], &lines["distribution"], &lines["made"]["files"]),
        (&json!(1), &json!("bottom"), &json!(3))
    );
    // Three files of four, the bytes of three of four, but for rounding.
    assert!(lines["made"]["bytes"].as_u64().unwrap().abs_diff(1_056_768 * 3 / 4) <= 2, "{lines:#}");
    found.as_object_mut().unwrap().remove("lines");
    let expected = json!({
        "schema": "iodyno.scan/1", "directories": 3, "files": 4, "symbolic_links": 1, "others": 0,
        "hard_linked_files": 1, "further_names": 1, "depth": 2, "mean_level": 1.0,
        "levels": [{"level": 0, "directories": 1, "files": 0}, {"level": 1, "directories": 2, "files": 1},
            {"level": 2, "directories": 1, "files": 3}, {"level": 3, "directories": 0, "files": 1}],
        "subdirectories_per_directory": {"count": 4, "sum": 3, "mean": 0.75, "min": 0, "p50": 0, "p90": 2, "p99": 2, "max": 2},
        "files_per_directory": {"count": 4, "sum": 5, "mean": 1.25, "min": 1, "p50": 1, "p90": 2, "p99": 2, "max": 2},
        "name_bytes": {"count": 9, "sum": 25, "mean": 25.0 / 9.0, "min": 1, "p50": 1, "p90": 6, "p99": 6, "max": 6},
        "size_bytes": {"count": 4, "sum": 1_056_768, "mean": 264_192.0, "min": 0, "p50": 4096, "p90": 1_048_576,
            "p99": 1_048_576, "max": 1_048_576},
        "sizes": [{"from_bytes": 0, "files": 1, "bytes": 0}, {"from_bytes": 4096, "files": 2, "bytes": 8192},
            {"from_bytes": 1_048_576, "files": 1, "bytes": 1_048_576}],
        "sparse": {"files": 3, "bytes": 1_056_768, "allocated_bytes": 0},
        "unread": {"entries": 0, "reasons": {}, "first": []}, "changed": 0, "other_file_systems": 0, "access_times": 0,
        "largest_file": null, "fullest_directory": null,
    });
    assert_eq!(found, expected, "{found:#}");
    let named = measured(&scratch, &["tree", "--names"]);
    assert_eq!(named["largest_file"], json!({"value": 1_048_576, "name": "other/d"}));
    assert_eq!(named["fullest_directory"], json!({"value": 3, "name": "."}));
}

#[test]
fn counts_are_those_of_find_and_du() {
    let scratch = Scratch::new();
    let of = "/usr/share";
    let count = |arguments: &[&str]| -> u64 {
        let arguments = [&[of, "-xdev", "-mindepth", "1"], arguments].concat();
        let output = TestCommand::new("find").args(arguments).run().unwrap().expect_code(0);
        output.stdout.lines().count() as u64
    };
    let found = measured(&scratch, &[of]);
    for (figure, kind) in [("directories", "d"), ("symbolic_links", "l")] {
        assert_eq!(found[figure], count(&["-type", kind, "-printf", "x\n"]), "{figure}");
    }
    let files = found["files"].as_u64().unwrap() + found["further_names"].as_u64().unwrap();
    assert_eq!(files, count(&["-type", "f", "-printf", "x\n"]));
    let deepest = TestCommand::new("find").args([of, "-xdev", "-type", "d", "-printf", "%d\n"]).run().unwrap();
    let deepest: u64 = deepest.stdout.lines().map(|line| line.parse().unwrap()).max().unwrap();
    assert_eq!(found["depth"], deepest);
}

#[test]
fn the_file_has_the_lines_no_names_and_replaces_nothing() {
    let scratch = Scratch::new();
    small(&scratch);
    let output = scan(&scratch, &["tree", "-o", "tree.vdb"]).expect_code(0);
    let text = std::fs::read_to_string(scratch.path("tree.vdb")).unwrap();
    for words in [
        "fsd=scan,anchor=$anchor,depth=1,width=3,files=1,",
        "fwd=fwd1,fsd=scan",
        "format=yes",
        "* Measured: 3 directories in 2 levels, 4 files",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    for words in
        ["3 directories in 2 levels, 4 files", "1 files with several names (1 further names)", "fsd=scan", "tree.vdb"]
    {
        assert!(output.stdout.contains(words), "{words} in {}", output.stdout);
    }
    assert!(output.stdout.lines().count() <= 40, "{}", output.stdout);
    for shown in [&text, &output.stdout] {
        assert!(!shown.contains("secret") && !shown.contains("inner"), "{shown}");
    }
    let refused = scan(&scratch, &["tree", "-o", "tree.vdb"]).expect_code(2);
    assert!(refused.stderr.contains("tree.vdb exists"), "{}", refused.stderr);
    scan(&scratch, &["tree", "-o", "tree.vdb", "--force"]).expect_code(0);
    let both = scan(&scratch, &["tree", "-o", "-"]).expect_code(0);
    assert_eq!(both.stdout, text);
    assert!(both.stderr.contains("3 directories"), "{}", both.stderr);
    scan(&scratch, &["tree", "-o", "-", "--json"]).expect_code(2);
}

#[test]
fn what_is_no_directory_is_refused_and_a_link_is_not_followed() {
    let scratch = Scratch::new();
    small(&scratch);
    symlink("tree", scratch.path("link")).unwrap();
    let refused = scan(&scratch, &["link"]).expect_code(2);
    assert!(refused.stderr.contains("write link/ for the directory"), "{}", refused.stderr);
    assert_eq!(measured(&scratch, &["link/"])["directories"], 3);
    for (name, words) in [("tree/a", "tree/a"), ("missing", "missing")] {
        let refused = scan(&scratch, &[name]).expect_code(2);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
}

#[test]
fn an_empty_directory_and_one_without_files_have_lines() {
    let scratch = Scratch::new();
    create_dir(scratch.path("empty")).unwrap();
    let text = scan(&scratch, &["empty", "-o", "-"]).expect_code(0).stdout;
    assert!(text.contains("depth=1,width=1,files=1,distribution=bottom,sizes=1\n"), "{text}");
    assert!(text.contains("no tree without files"), "{text}");
    let found = measured(&scratch, &["empty"]);
    assert_eq!((&found["size_bytes"]["p50"], &found["size_bytes"]["mean"]), (&Value::Null, &Value::Null));
}

/// `run` refuses a size of 0: empty files are made with a byte, and the lines say so.
#[test]
fn the_lines_of_empty_files_are_taken_by_run() {
    let anchored = |scratch: &Scratch| format!("anchor={}", scratch.path("made").display());
    for sizes in
        [vec![0_u64; 12], (0..120).map(|at| if at % 2 == 0 { 0 } else { 6 }).collect(), vec![], vec![0, 1 << 20]]
    {
        let scratch = Scratch::new();
        create_dir_all(scratch.path("tree/below")).unwrap();
        for (at, bytes) in sizes.iter().enumerate() {
            file(&scratch, &format!("tree/below/{at}"), *bytes);
        }
        let shown = scan(&scratch, &["tree", "-o", "tree.vdb"]).expect_code(0).stdout;
        let text = std::fs::read_to_string(scratch.path("tree.vdb")).unwrap();
        for place in [&shown, &text] {
            assert_eq!(place.contains("empty files get 1 byte or more"), sizes.contains(&0), "{place}");
        }
        let run = scratch.iodyno(&["run", "tree.vdb", &anchored(&scratch), "--dry-run"]).run().unwrap();
        assert_eq!(run.code, Some(0), "{text}{}", run.stderr);
    }
}

#[test]
fn the_screen_of_an_exact_shape_is_what_was_written() {
    let scratch = Scratch::new();
    small(&scratch);
    let shown = scan(&scratch, &["tree", "-o", "tree.vdb", "--exact"]).expect_code(0).stdout;
    let text = std::fs::read_to_string(scratch.path("tree.vdb")).unwrap();
    for words in
        ["fsd=scan,anchor=$anchor,shape=tree.shape\n", "The tree is made as it was: ", "Vdbench does not know shape="]
    {
        assert!(shown.contains(words) && text.contains(words), "{words} in {shown} and {text}");
    }
    assert!(!shown.contains("asked") && !shown.contains("depth="), "{shown}");
    // A recording of the tree that is made says by itself which it was.
    let anchor = format!("anchor={}", scratch.path("made").display());
    let line = ["run", "tree.vdb", &anchor, "-e", "2", "-o", "out", "--no-report"];
    scratch.iodyno(&line).run().unwrap().expect_code(0);
    let text = std::fs::read_to_string(scratch.path("out/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let shape = std::fs::read_to_string(scratch.path("tree.shape")).unwrap();
    assert!(manifest["sources"].as_array().unwrap().contains(&json!(["tree.shape", shape])), "{}", manifest["sources"]);
}

#[test]
fn what_another_user_may_not_read_is_counted_and_the_exit_code_is_6() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    small(&scratch);
    let mode =
        |name: &str, mode| std::fs::set_permissions(scratch.path(name), PermissionsExt::from_mode(mode)).unwrap();
    mode("", 0o755);
    mode("tree/secret", 0o700);
    // May be listed; nothing in it may be looked at.
    mode("tree/other", 0o744);
    let program = scratch.path("iodyno");
    testkit::copy_program(env!("CARGO_BIN_EXE_iodyno"), &program).unwrap();
    let other = |arguments: &[&str]| {
        TestCommand::new(&program).args(arguments).dir(scratch.path("")).user(65_534).run().unwrap()
    };
    let output = other(&["scan", "tree", "--json"]).expect_code(6);
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&found["directories"], &found["files"]), (&json!(2), &json!(1)), "{found:#}");
    assert_eq!(found["unread"]["entries"], 3);
    assert_eq!(found["unread"]["reasons"], json!({"Permission denied (os error 13)": 3}));
    assert_eq!(found["access_times"], 2);
    assert!(!(output.stdout + &output.stderr).contains("secret"));
    let named = other(&["scan", "tree", "--names"]).expect_code(6);
    for words in [
        "3 entries could not be read: 3 Permission denied (os error 13)",
        "level 1: Permission denied (os error 13): secret",
        "other/d",
    ] {
        assert!(named.stderr.contains(words), "{words} in {}", named.stderr);
    }
    let refused = other(&["scan", "tree/secret"]).expect_code(8);
    assert!(refused.stderr.contains("tree/secret: Permission denied"), "{}", refused.stderr);
}

#[test]
fn a_mounted_file_system_is_not_entered_unless_asked() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    small(&scratch);
    let line = "mount -t tmpfs none tree/other && mkdir tree/other/of_it && mkdir tree/same && mount --bind tree tree/same \
                && \"$0\" scan tree --json && \"$0\" scan tree --json --cross-mounts";
    let command = TestCommand::new("unshare").args(["-m", "sh", "-c", line, env!("CARGO_BIN_EXE_iodyno")]);
    let output = command.dir(scratch.path("")).run().unwrap().expect_code(0);
    let [one, all] = &output.ndjson()[..] else { panic!("{}", output.stdout) };
    assert_eq!(
        (&one["directories"], &one["other_file_systems"], &one["files"]),
        (&json!(4), &json!(2), &json!(3)),
        "{one:#}"
    );
    // Through the second mount everything is there once more, without what is mounted on the first.
    assert_eq!(all["other_file_systems"], 0);
    assert_eq!((&all["directories"], &all["depth"]), (&json!(9), &json!(3)), "{all:#}");
}

#[test]
fn hostile_names_are_shown_visible() {
    let scratch = Scratch::new();
    let name = b"\x1b]0;OWNED\x07\xff\xe2\x80\xae\nforged";
    let folder = scratch.path("tree").join(OsStr::from_bytes(name));
    create_dir_all(&folder).unwrap();
    File::create(folder.join(OsStr::from_bytes(&[b'\n'; 255]))).unwrap().set_len(5).unwrap();
    for more in [&[][..], &["--json"], &["-o", "-"]] {
        let arguments = [&["scan", "tree", "--names"], more].concat();
        let (bytes, code) = bytes_on_a_terminal(&scratch.path(""), &arguments, &[]);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(code, 0, "{text}");
        let bad = text.replace("\r\n", "\n").chars().find(|c| is_hidden(*c) && !matches!(c, '\n' | '\t'));
        assert_eq!(bad, None, "{text:?}");
        assert!(text.contains("OWNED"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("forged")), "{text}");
    }
}

#[test]
fn many_entries_fit_in_little_memory() {
    let scratch = Scratch::new();
    create_dir_all(scratch.path("tree/many")).unwrap();
    for number in 0..5_000 {
        create_dir(scratch.path(&format!("tree/many/{number:0>200}"))).unwrap();
    }
    // 32 MiB is the least that can be asked for.
    let found = measured(&scratch, &["tree", "--memory", "32m"]);
    assert_eq!((&found["directories"], &found["name_bytes"]["max"]), (&json!(5_001), &json!(200)));
}

/// The exact shape of a tree, made by a run and measured again: by byte.
#[test]
fn a_run_of_an_exact_shape_makes_the_tree_and_a_scan_of_it_the_same_shape_file() {
    let scratch = Scratch::new();
    small(&scratch);
    let output = scan(&scratch, &["tree", "-o", "tree.vdb", "--exact"]).expect_code(0);
    assert!(output.stdout.contains("tree.shape"), "{}", output.stdout);
    let shape = std::fs::read_to_string(scratch.path("tree.shape")).unwrap();
    // Shorter names first: `other` before `secret`.
    let expected = "iodyno tree shape 1\ndirectories 4\nfiles 4\nbytes 1056768\nd 1 0\nd 2 1\ns 0\nd 0 1\ns 1048576\n\
        d 1 1\ns 4096\nd 0 1\ns 4096\nend ";
    assert!(shape.starts_with(expected), "{shape}");
    let dry = scratch.iodyno(&["run", "tree.vdb", "anchor=made", "--dry-run"]).run().unwrap().expect_code(0);
    assert!(dry.stdout.contains("4 directories in 3 levels, 4 files"), "{}", dry.stdout);
    let arguments = ["run", "tree.vdb", "anchor=made", "-o", "rec", "-e", "2"];
    scratch.iodyno(&arguments).run().unwrap().expect_code(0);
    assert_eq!(scratch.path("made/vdb.1_1.dir/vdb_f0001.file").metadata().unwrap().len(), 0);
    let inner = "made/vdb.1_1.dir/vdb.2_2.dir/vdb.3_1.dir/vdb_f0001.file";
    assert_eq!(scratch.path(inner).metadata().unwrap().len(), 4096);
    assert!(!scratch.path("made/vdb_control.file").exists());
    scan(&scratch, &["made", "-o", "again.vdb", "--exact"]).expect_code(0);
    assert_eq!(std::fs::read_to_string(scratch.path("again.shape")).unwrap(), shape);
    // Damaged, it is refused before anything is made.
    std::fs::write(scratch.path("tree.shape"), shape.replace("s 1048576", "s 1048577")).unwrap();
    let arguments = ["run", "tree.vdb", "anchor=other", "-o", "rec2"];
    let output = scratch.iodyno(&arguments).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("shape file") && output.stderr.contains("its sum should be"), "{}", output.stderr);
    // And so it is where it is missing.
    std::fs::remove_file(scratch.path("tree.shape")).unwrap();
    let output = scratch.iodyno(&arguments).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("the shape file tree.shape: "), "{}", output.stderr);
    assert!(output.stderr.contains("counts from the directory in which iodyno is called"), "{}", output.stderr);
    assert!(!scratch.path("other").exists());
}
