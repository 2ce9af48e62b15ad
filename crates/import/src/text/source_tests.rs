//! The source documents: every output of a tool among them is imported; what is not imported is listed with the reason.

use crate::{ImportOptions, import};
use recording::Reader;
use recording::rows::{Figure, Process, Tcp};
use std::path::{Path, PathBuf};

/// What is no output of a tool, and why.
const PROSE: &[(&str, &str)] = &[
    ("000-gather.ksh", "a script that starts tools"),
    ("000-rsync-tables.txt", "tables of an author's own, by hand"),
    ("000-vdbench-amberroad.parm", "a parameter file of Vdbench: it is run, not imported"),
    ("000-zpool-create.txt", "a command"),
    ("001-zreplicate-session.txt", "a session of commands, with sizes of file systems that no figure rests on"),
    ("002-lockstatI-raw.rb", "the program that makes 002-lockstatI.txt"),
    ("002-lsync-raw.txt", "a session of commands with the author's words between them"),
    ("003-flashcache-table.txt", "a table of an author's own, without a heading"),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tools").join(name)
}

fn options() -> ImportOptions {
    ImportOptions { start_ns: quantity::text::wall_ns_of((2026, 11, 20), (10, 0, 0)), ..ImportOptions::default() }
}

fn names(name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder(name)).expect("fixtures").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn imported(
    path: &Path,
    options: &ImportOptions,
) -> Result<(tempfile::TempDir, Reader, Vec<String>), crate::ImportError> {
    let scratch = tempfile::tempdir().expect("a folder");
    let imported = import(path, &scratch.path().join("r"), options, &[])?;
    let reader = Reader::open(&imported.directory).expect("a recording");
    Ok((scratch, reader, imported.notes))
}

fn old(name: &str, options: &ImportOptions) -> (tempfile::TempDir, Reader, Vec<String>) {
    imported(&folder("old").join(name), options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_output_of_a_tool_is_imported_and_nothing_else() {
    for name in names("old") {
        let (_scratch, reader, _) = old(&name, &options());
        assert!(
            reader.manifest().rows.iter().any(|(table, rows)| table != "event" && *rows > 0) || name.ends_with(".log"),
            "{name}"
        );
    }
    let prose = names("prose");
    assert_eq!(prose, PROSE.iter().map(|(name, _)| (*name).to_string()).collect::<Vec<String>>());
    for name in prose {
        assert!(imported(&folder("prose").join(&name), &options()).is_err(), "{name} is imported");
    }
}

#[test]
fn figures_of_the_source_documents() {
    for (name, thing, column, expect) in [
        ("001-rfileio.txt", "/media/d001/a/nfs.wsx", "Read IOPS (count), logical", 101.0),
        (
            "001-rfileio.txt",
            "/media/d001/a/0410_komentarz_gieldowy.wmv",
            "Read Bandwidth (bytes), logical",
            96_774_144.0,
        ),
        ("001-rfileio.txt", "", "Total File System miss-rate (%)", 0.0),
        ("002-lockstatI.txt", "disp_getwork[11]", "%", 41.89),
        ("002-lockstatI.txt", "profiling interrupt", "events/sec", 69_559.0),
        ("002-rac-top5.txt", "Local Clients: gc cr block 2-way", "Waits", 57_970_653.0),
        ("002-rac-top5.txt", "Local Clients: gc cr block lost", "Avg wait (ms)", 539.0),
        ("002-rac-top5.txt", "Remote Clients: CPU time", "Time (s)", 69_851.0),
        ("002-rac-top5.txt", "Remote Clients: gc cr block congested", "%Total Call Time", 0.4),
        ("000-netperf.txt", "TCP STREAM TEST to ::ffff:192.168.1.43", "throughput (bit/s)", 9.78e9),
        ("000-netperf.txt", "TCP STREAM TEST to ::ffff:192.168.1.43", "elapsed (s)", 60.56),
        ("002-zfs-selfheal-raw.txt", "/export/zfs/zd0", "CKSUM", 63.0),
        (
            "004-ssh-cipher-timings.txt",
            "Solaris 10 5/08: dd if=/dev/zero bs=1024k count=500 | ssh -c aes128-cbc root@localhost 'cat >/dev/null'",
            "real (s)",
            65.42,
        ),
        ("002-tamp-table.txt", "pigz --fast", "Elapsed (s)", 1.04),
        ("002-poolofthreads-raw.txt", "2048 connections", "tps (1/s)", 1197.0),
        ("002-poolofthreads-raw.txt", "2048 connections", "95%-resp (ms)", 2368.78),
    ] {
        let (_scratch, reader, _) = old(name, &options());
        let figures: Vec<Figure> = reader.table().expect("rows");
        let has = figures.iter().any(|row| {
            &*row.thing == thing
                && &*row.name == column
                && row.value.is_some_and(|value| (value - expect).abs() < 1e-6 * expect.max(1.0))
        });
        let found: Vec<String> =
            figures.iter().map(|row| format!("{} {} {:?}", row.thing, row.name, row.value)).collect();
        assert!(has, "{name}: {thing} {column} {expect}: {found:#?}");
    }
    let (_scratch, reader, _) = old("003-stmsboot-L.txt", &options());
    let names: Vec<Figure> = reader.table().expect("rows");
    assert_eq!(names.len(), 8);
    assert_eq!(names[0].text.as_deref(), Some("/dev/rdsk/c29t60080E5000184350000003614C5EBE23d0"));
}

#[test]
fn counters_by_interval_are_added_up() {
    let (_scratch, reader, notes) = old("004-netstat-listendrop.txt", &options());
    let drops: Vec<Option<i64>> = reader.table::<Tcp>().expect("rows").iter().map(|row| row.listen_drops).collect();
    assert_eq!(drops, [Some(785_829), Some(785_856), Some(785_875)]);
    assert!(notes.iter().any(|note| note.contains("by interval")), "{notes:?}");
}

#[test]
fn users_glued_to_commands_are_put_back() {
    let (_scratch, reader, notes) = old("002-pstime.txt", &options());
    let figures: Vec<Figure> = reader.table().expect("rows");
    let users: Vec<&str> =
        figures.iter().filter(|row| &*row.name == "UID").filter_map(|row| row.text.as_deref()).collect();
    assert_eq!(users, ["mysql"; 3], "{notes:?}");
    let commands: Vec<String> = reader.table::<Process>().expect("rows").into_iter().map(|row| row.comm).collect();
    assert!(commands.iter().any(|comm| comm.ends_with("--defaults-file=/et")), "{commands:?}");
    // Where no user stands by itself, none is known.
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("pstime.txt");
    let text = std::fs::read_to_string(folder("old").join("002-pstime.txt")).expect("a fixture");
    std::fs::write(&path, text.replace("/etmysql", "/etroot")).expect("written");
    let (_other, reader, notes) = imported(&path, &options()).expect("it is good");
    let figures: Vec<Figure> = reader.table().expect("rows");
    assert!(figures.iter().all(|row| row.text.as_deref() != Some("--defaults-file=/etroot")));
    assert!(notes.iter().any(|note| note.contains("glued")), "{notes:?}");
}

#[test]
fn what_is_not_what_it_says_names_its_line() {
    let scratch = tempfile::tempdir().expect("a folder");
    for (name, from, to, words) in [
        ("001-rfileio.txt", "nfs.wsx logical 101", "nfs.wsx logical many", ":2: is not a file"),
        ("002-lockstatI.txt", " 1015005 24.06", " 1015005 lots", ":4: is not a count"),
        ("002-tamp-table.txt", "71.18 1.04", "71.18 fast", ":2: is not a name"),
        ("004-ssh-cipher-timings.txt", "real 0m39.705s", "real 3xm9s", "is no time"),
        ("002-zfs-selfheal-raw.txt", "zd0 ONLINE 0 0 7", "zd0 ONLINE none 0 7", ":1: has no three counts"),
        ("002-poolofthreads-raw.txt", "2048836.50", "2048x36.50", ":1: `2048x36.50` stands"),
        ("003-stmsboot-L.txt", "c6t0d2  ", "c6t0d2 and ", "is not two names"),
    ] {
        let text = std::fs::read_to_string(folder("old").join(name)).expect("a fixture");
        assert!(text.contains(from), "{name}: {from}");
        let path = scratch.path().join(name);
        std::fs::write(&path, text.replacen(from, to, 1)).expect("written");
        let error = imported(&path, &options()).map(|_| ()).expect_err(name).to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
}
