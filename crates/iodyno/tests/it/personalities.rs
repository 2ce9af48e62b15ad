//! Personalities: they are found by name, their variables are named where one is missing, and each does what it says it does.

use crate::support::{Scratch, sum};
use serde_json::Value;
use std::collections::BTreeMap;
use testkit::{CommandOutput, ScratchPlace, scratch_dir};

/// What a workload does in one turn of its personality.
type Turn = (&'static str, &'static [(&'static str, i64)]);

/// A personality, small, and what it does in one turn of its loop, as published or as its program was seen to do.
struct Expected {
    name: &'static str,
    /// Variables that make it small.
    small: &'static [&'static str],
    /// Operations after which the run ends.
    operations: i64,
    /// Of each workload how many operations of each kind.
    turn: &'static [Turn],
    /// The most threads of a workload, each of which may be in the middle of a turn at the end.
    threads: i64,
}

/// In the order in which they are listed. The numbers of operations are whole turns, and at least ten of what is rarest.
const EXPECTED: [Expected; 12] = [
    // Filebench, varmail.f: 13 flowops.
    Expected {
        name: "varmail",
        small: &["files=40", "threads=2", "size=4k"],
        operations: 10_400,
        turn: &[(
            "varmail",
            &[("delete", 1), ("create", 1), ("append", 2), ("fsync", 2), ("close", 3), ("open", 2), ("readfile", 2)],
        )],
        threads: 2,
    },
    // fileserver.f: 11.
    Expected {
        name: "fileserver",
        small: &["width=3", "files=5", "threads=2", "size=8k"],
        operations: 8_800,
        turn: &[(
            "fileserver",
            &[
                ("create", 1),
                ("writefile", 1),
                ("close", 3),
                ("open", 2),
                ("append", 1),
                ("readfile", 1),
                ("delete", 1),
                ("getattr", 1),
            ],
        )],
        threads: 2,
    },
    // webserver.f: ten times open, read, close; one append.
    Expected {
        name: "webserver",
        small: &["width=3", "files=10", "threads=2", "append=1k"],
        operations: 12_400,
        turn: &[("pages", &[("open", 10), ("readfile", 10), ("close", 10)]), ("log", &[("append", 1)])],
        threads: 2,
    },
    // webproxy.f: 19 without opslimit.
    Expected {
        name: "webproxy",
        small: &["files=50", "threads=2", "size=4k"],
        operations: 7_600,
        turn: &[(
            "webproxy",
            &[("delete", 1), ("create", 1), ("append", 1), ("close", 6), ("open", 5), ("readfile", 5)],
        )],
        threads: 2,
    },
    // videoserver.f: 96 MiB/s by 256 KiB for 10 s, and one video replaced.
    Expected {
        name: "videoserver",
        small: &["active=4", "passive=3", "threads=1", "size=512k", "rate=max"],
        operations: 38_440,
        turn: &[
            ("viewers", &[("read", 3840)]),
            ("writer", &[("delete", 1), ("create", 1), ("writefile", 1), ("close", 1)]),
        ],
        threads: 1,
    },
    // oltp.f: as many writes as reads, and a log write for each 3,200 reads.
    Expected {
        name: "oltp",
        small: &["files=2", "size=1m", "logsize=1m", "threads=3", "writers=2"],
        operations: 64_010,
        turn: &[("readers", &[("read", 3200)]), ("writers", &[("write", 3200)]), ("logwriter", &[("write", 1)])],
        threads: 1,
    },
    // mongo.f: 7, until the second set of files is empty.
    Expected {
        name: "mongo",
        small: &["width=10", "files=20", "size=4k"],
        operations: 1_400,
        turn: &[("users", &[("open", 2), ("append", 1), ("close", 2), ("readfile", 1)]), ("deletes", &[("delete", 1)])],
        threads: 1,
    },
    Expected {
        name: "gitcheckout",
        small: &["width=3", "files=10"],
        operations: 9_600,
        turn: &[
            ("checkout", &[("getattr", 2), ("delete", 1), ("create", 1), ("writefile", 1), ("close", 1)]),
            ("refresh", &[("getattr", 6)]),
        ],
        threads: 4,
    },
    Expected {
        name: "maildirbackup",
        small: &["folders=3", "files=10", "size=8k"],
        operations: 40_030,
        turn: &[
            ("mails", &[("getattr", 2001), ("open", 667), ("readfile", 667), ("close", 667)]),
            ("folders", &[("readdir", 1)]),
        ],
        threads: 1,
    },
    Expected {
        name: "containerimage",
        small: &["width=5", "files=100", "size=4k"],
        operations: 12_100,
        turn: &[("unpack", &[("create", 20), ("writefile", 20), ("setattr", 60), ("close", 20), ("symlink", 1)])],
        threads: 1,
    },
    Expected {
        name: "packagebuild",
        small: &["width=3", "files=20", "objects=20", "threads=2"],
        operations: 44_400,
        turn: &[
            ("sources", &[("open", 109), ("getattr", 109), ("readfile", 109), ("close", 109)]),
            (
                "objects",
                &[
                    ("delete", 1),
                    ("create", 1),
                    ("writefile", 1),
                    ("close", 2),
                    ("open", 1),
                    ("getattr", 1),
                    ("readfile", 1),
                ],
            ),
        ],
        threads: 2,
    },
    // unet3d_h100.yaml: 168 files in an epoch, a checkpoint every two.
    Expected {
        name: "aitraining",
        small: &["files=10", "size=64k", "checkpoint=1m", "threads=2"],
        operations: 20_260,
        turn: &[
            ("samples", &[("open", 336), ("readfile", 336), ("close", 336)]),
            ("checkpoints", &[("temp", 1), ("writefile", 1), ("fsync", 1), ("close", 1), ("rename", 1)]),
        ],
        threads: 2,
    },
];

fn iodyno(scratch: &Scratch, arguments: &[&str]) -> CommandOutput {
    scratch.iodyno(arguments).run().expect("iodyno runs")
}

/// Runs it until it has done so many operations, and compares what was counted with what it is to do: within 1 % of each kind, and the
/// turns that the end interrupts.
fn check_mix(name: &str) {
    let Expected { small, operations, turn, threads, .. } = EXPECTED.iter().find(|one| one.name == name).unwrap();
    let (scratch, folder) = (Scratch::new(), scratch_dir(ScratchPlace::Memory).unwrap());
    let (what, limit) = (format!("personality:{name}"), format!("maxops={operations}"));
    let anchor = format!("anchor={}", folder.path().join("tree").display());
    let mut arguments = vec!["run", &what, &anchor, "elapsed=600", "-o", "out", "--json"];
    arguments.extend(small.iter());
    arguments.extend(["+", &limit]);
    iodyno(&scratch, &arguments).expect_code(0);

    let totals = scratch.table("out", "run_total");
    let of_run = |row: &Value| row["run"] == name;
    assert_eq!(sum(&totals, "errors", of_run), 0, "{totals:?}");
    let mut done: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for row in totals.iter().filter(|row| of_run(row)) {
        let [workload, op] = ["workload", "op"].map(|column| row[column].as_str().unwrap());
        *done.entry((workload, op)).or_default() += row["ops"].as_i64().unwrap();
    }
    done.retain(|_, count| *count > 0);
    let intervals = sum(&scratch.table("out", "op_interval"), "ops", of_run);
    assert_eq!((done.values().sum::<i64>(), intervals), (*operations, *operations), "{done:?}");

    let wanted = |(workload, ops): &Turn| ops.iter().map(|(op, count)| ((*workload, *op), *count)).collect::<Vec<_>>();
    let wanted: BTreeMap<(&str, &str), i64> = turn.iter().flat_map(wanted).collect();
    assert!(done.keys().eq(wanted.keys()), "{done:?}");
    let of_turn: i64 = wanted.values().sum();
    assert_eq!(operations % of_turn, 0);
    for (kind, count) in wanted {
        let (is, wanted) = (done[&kind] as f64, (operations * count / of_turn) as f64);
        let allowed = (wanted * 0.01).max(*threads as f64);
        assert!((is - wanted).abs() <= allowed, "{name}, {kind:?}: {is}, not {wanted}; {done:?}");
    }
}

macro_rules! mixes {
    ($($name:ident)*) => {
        /// Those that have a test.
        const TESTED: &[&str] = &[$(stringify!($name)),*];
        mod mix {
            $(#[test]
            fn $name() {
                super::check_mix(stringify!($name));
            })*
        }
    };
}

mixes!(varmail fileserver webserver webproxy videoserver oltp mongo gitcheckout maildirbackup containerimage packagebuild
    aitraining);

/// However many files it has, it ends when those of its second set are gone, and not before.
#[test]
fn mongo_ends_with_its_files() {
    for (files, ops) in [("files=5", 7 * 50 * 5), ("files=30", 7 * 50 * 30)] {
        let (scratch, folder) = (Scratch::new(), scratch_dir(ScratchPlace::Memory).unwrap());
        let anchor = format!("anchor={}", folder.path().join("tree").display());
        iodyno(&scratch, &["run", "personality:mongo", &anchor, files, "size=4k", "-o", "out"]).expect_code(0);
        let totals = scratch.table("out", "run_total");
        let of =
            |op: Option<&str>| sum(&totals, "ops", |row| row["run"] == "mongo" && op.is_none_or(|op| row["op"] == op));
        assert_eq!(of(None), ops, "{totals:?}");
        // The end may come within a turn.
        assert!(of(Some("delete")).abs_diff(ops / 7) <= 1, "{totals:?}");
    }
}

#[test]
fn twelve_are_listed_and_the_nearest_is_named() {
    let scratch = Scratch::new();
    for (name, hint) in [("", "needs a name"), ("varmial", "did you mean `varmail`?"), ("nothing", "no personality")] {
        let output = iodyno(&scratch, &["run", &format!("personality:{name}")]).expect_code(2);
        assert!(output.stderr.contains(hint), "{}", output.stderr);
        let listed: Vec<&str> = output.stderr.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert_eq!(listed.len(), 12, "{}", output.stderr);
        for (line, expected) in listed.iter().zip(&EXPECTED) {
            let (first, about) = line.split_once("  ").unwrap();
            assert_eq!(first, expected.name);
            assert!(about.trim().len() > 20, "{line}");
        }
    }
    let names: Vec<&str> = EXPECTED.iter().map(|one| one.name).collect();
    assert_eq!(TESTED, names);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/personalities.md")).unwrap();
    for name in names {
        assert!(page.contains(&format!("| `{name}` |")), "docs/personalities.md does not know {name}");
    }
}

#[test]
fn what_is_missing_or_mistyped_is_said_with_the_line_to_type() {
    let scratch = Scratch::new();
    for Expected { name, .. } in &EXPECTED {
        let output = iodyno(&scratch, &["run", &format!("personality:{name}"), "--dry-run"]).expect_code(2);
        let help = format!("iodyno run personality:{name} anchor=/mnt/test");
        assert!(output.stderr.contains(&help), "{}", output.stderr);
        assert!(output.stderr.contains("1 mistake"), "{}", output.stderr);
    }
    let output = iodyno(&scratch, &["run", "personality:varmail", "anchor=/x", "thread=4"]).expect_code(2);
    assert!(output.stderr.contains("did you mean `threads`?"), "{}", output.stderr);
}

#[test]
fn fio_has_no_words_for_one_and_no_file_is_written() {
    let scratch = Scratch::new();
    let refused =
        iodyno(&scratch, &["convert", "personality:varmail", "anchor=/mnt/test", "-o", "m.fio"]).expect_code(2);
    for words in ["varmail works in trees of files (fsd=, fwd=)", "nothing of personality:varmail can be said in fio's"]
    {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!(!scratch.path("m.fio").exists());
}

#[test]
fn each_is_shown_and_a_copy_of_its_text_means_the_same() {
    let scratch = Scratch::new();
    let anchor = format!("anchor={}", scratch.path("tree").display());
    for Expected { name, small, .. } in &EXPECTED {
        let (what, copy) = (format!("personality:{name}"), format!("{name}.vdb"));
        iodyno(&scratch, &["convert", &what, "-o", &copy]).expect_code(0);
        let text = std::fs::read_to_string(scratch.path(&copy)).unwrap();
        assert!(text.starts_with(&format!("* {name}: ")), "{text}");
        for part in ["* Models: ", "* Mix, of ", "* Source", "* Published: ", "variable=anchor"] {
            assert!(text.contains(part), "{name}: {part}");
        }
        let shown = |file: &str| {
            let arguments = [&["run", file, &anchor, "--dry-run"], *small].concat();
            iodyno(&scratch, &arguments).expect_code(0).stdout
        };
        let dry_run = shown(&what);
        assert_eq!(dry_run, shown(&copy));
        assert!(dry_run.contains(&format!("RD={name}")) && dry_run.contains("format_for_"), "{dry_run}");
    }
}
