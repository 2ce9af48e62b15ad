//! Readers of traces against good, real, malformed and mutated files.

use crate::ImportError;
use crate::{ImportOptions, import};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use recording::Reader;
use recording::rows::{Event, Io};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where the real ones are.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces").join(name)
}

/// Imports files of one folder, or the only one.
fn import_files(files: &[(&str, &[u8])], format: Option<&str>) -> Result<(Reader, String, TempDir), ImportError> {
    let scratch = tempfile::tempdir().expect("a folder");
    let input = scratch.path().join("in");
    std::fs::create_dir(&input).expect("a folder");
    for (name, bytes) in files {
        std::fs::write(input.join(name), bytes).expect("written");
    }
    let path = if let [(name, _)] = files { input.join(name) } else { input };
    let found = imported(&path, &scratch.path().join("out"), format);
    assert_eq!(scratch.path().join("out").exists(), found.is_ok(), "nothing is left of what fails");
    found.map(|(reader, format)| (reader, format, scratch))
}

fn imported(path: &Path, out: &Path, format: Option<&str>) -> Result<(Reader, String), ImportError> {
    let options = ImportOptions { format: format.map(ToString::to_string), ..ImportOptions::default() };
    imported_with(path, out, &options)
}

fn imported_with(path: &Path, out: &Path, options: &ImportOptions) -> Result<(Reader, String), ImportError> {
    let imported = import(path, out, options, &[])?;
    Ok((Reader::open(&imported.directory)?, imported.format.to_string()))
}

fn rows(reader: &Reader) -> Vec<Io> {
    reader.table::<Io>().expect("rows")
}

fn notes(reader: &Reader) -> Vec<String> {
    reader.table::<Event>().expect("events").into_iter().map(|event| event.message).skip(1).collect()
}

/// Every column that is not null, of every row, in a line.
fn lines(reader: &Reader) -> String {
    let some = |name: &str, value: Option<String>| value.map_or(String::new(), |value| format!(" {name}={value}"));
    let mut lines: Vec<String> = rows(reader)
        .iter()
        .map(|io| {
            let mut line = format!("{} {} {} {}+{}", io.queue_ns, io.dev, io.op, io.sector, io.bytes);
            line += &some("issue", io.issue_ns.map(|ns| ns.to_string()));
            line += &some("complete", io.complete_ns.map(|ns| ns.to_string()));
            line += &some("flags", io.flags.as_ref().map(|flags| format!("[{flags}]")));
            line += &some("pid", io.pid.map(|pid| pid.to_string()));
            line += &some("tid", io.tid.map(|tid| tid.to_string()));
            line += &some("comm", io.comm.as_ref().map(ToString::to_string));
            line += &some("error", io.error.map(|error| error.to_string()));
            line += &some("bios", io.bios.map(|bios| bios.to_string()));
            line + &some("requeues", io.requeues.map(|requeues| requeues.to_string()))
        })
        .collect();
    lines.push(format!("began {}", quantity::text::format_wall(reader.manifest().started_wall_ns)));
    lines.extend(notes(reader).into_iter().map(|note| format!("note: {note}")));
    lines.join("\n")
}

/// The text of a fixture.
fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).expect("a fixture")
}

/// Small ones, made by hand: format, `--format`, file.
const SMALL: [(&str, Option<&str>, &str); 12] = [
    ("msr", None, "msr.csv"),
    ("alibaba", None, "alibaba.csv"),
    ("tencent", None, "tencent.csv"),
    ("systor17", None, "systor17.csv"),
    ("fiu", None, "fiu.blkparse"),
    ("fio-iolog", None, "small.v3.iolog"),
    ("fio-iolog", None, "small.v2.iolog"),
    ("fio-iolog-waits", Some("fio-iolog-waits"), "small.v2.iolog"),
    ("vdbench-flat", None, "vdbench-flat.bin"),
    ("blkparse", None, "blkparse.txt"),
    ("blktrace", None, "v7-big-endian.blktrace"),
    ("blktrace", None, "v8-cut-off.blktrace"),
];

fn good() -> Vec<(&'static str, Option<&'static str>, Vec<u8>)> {
    SMALL.map(|(name, format, file)| (name, format, std::fs::read(fixture(file)).expect("a fixture"))).to_vec()
}

#[test]
fn each_format_gives_what_it_tells_and_nothing_else() {
    let mut shown = Vec::new();
    for (name, format, bytes) in good() {
        let (reader, found, _folder) = import_files(&[("trace", &bytes)], format).expect("it is good");
        assert_eq!(found, name);
        shown.push(format!("== {name}\n{}", lines(&reader)));
    }
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn compressed_files_are_the_same() {
    for (name, format, bytes) in good() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        let middle = bytes.len() / 2;
        gzip.write_all(&bytes[..middle]).expect("compressed");
        let mut compressed = gzip.finish().expect("compressed");
        // Two members, as Vdbench's .jz1 has.
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&bytes[middle..]).expect("compressed");
        compressed.extend(gzip.finish().expect("compressed"));
        let (plain, _, _other) = import_files(&[("trace", &bytes)], format).expect("it is good");
        let (reader, found, _folder) = import_files(&[("trace", &compressed)], format).expect("it is good");
        assert_eq!((found.as_str(), lines(&reader)), (name, lines(&plain)));
    }
}

#[test]
fn files_of_a_folder_are_one_trace_in_the_order_of_time() {
    let (early, late) = (text("msr.csv").replace("hostx", "a"), text("msr.csv").replace("12816637200", "12816637209"));
    let files: [(&str, &[u8]); 4] =
        [("a.csv", late.as_bytes()), ("b.csv", early.as_bytes()), ("c.csv", b""), ("readme", b"hello\n")];
    let (reader, _, _folder) = import_files(&files, None).expect("it is good");
    let rows = rows(&reader);
    assert_eq!(rows.len(), 8);
    assert!(rows.is_sorted_by_key(|io| io.complete_ns), "{rows:?}");
    assert_eq!(rows.iter().filter(|io| &*io.dev == "a_0").count(), 3);
    let left_out: Vec<String> = notes(&reader).into_iter().filter(|note| note.contains("was left out")).collect();
    assert_eq!(left_out.len(), 1, "{left_out:?}");
}

#[test]
fn a_folder_of_several_formats_needs_the_format_option() {
    let (msr, fiu) = (text("msr.csv"), text("fiu.blkparse"));
    let files: [(&str, &[u8]); 2] = [("a", msr.as_bytes()), ("b", fiu.as_bytes())];
    let error = import_files(&files, None).map(|_| ()).expect_err("which?").to_string();
    assert!(error.ends_with("in holds traces of several formats (msr, fiu …): --format NAME chooses one"), "{error}");
    let (reader, found, _folder) = import_files(&files, Some("fiu")).expect("it is good");
    assert_eq!((found.as_str(), rows(&reader).len()), ("fiu", 3));
    assert!(notes(&reader).iter().any(|note| note.ends_with("in/a is not of this format and was left out")));
}

#[test]
fn what_exists_is_not_written_to() {
    let scratch = tempfile::tempdir().expect("a folder");
    let error = imported(&fixture("msr.csv"), scratch.path(), None).map(|_| ()).expect_err("it exists").to_string();
    assert!(error.contains("exists"), "{error}");
    assert!(scratch.path().read_dir().expect("still there").next().is_none());
}

#[test]
fn thousands_of_files_at_the_same_time_are_one_trace() {
    // More than the usual 1,024 open files.
    let names: Vec<String> = (0..1300).map(|at| format!("{at:04}.csv")).collect();
    let texts: Vec<String> = (0..1300_i64)
        .map(|at| {
            format!("{at},R,0,4096,{}\n{at},W,8192,4096,{}\n", 1_577_808_144_000_000 + at, 1_577_808_145_000_000 - at)
        })
        .collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let (reader, _, _folder) = import_files(&files, None).expect("it is good");
    let rows = rows(&reader);
    assert_eq!(rows.len(), 2600);
    assert!(rows.is_sorted_by_key(|io| io.queue_ns));
    assert_eq!(rows[1299].dev.to_string(), "1299");
    assert_eq!(reader.manifest().exit, Some(recording::RecordingExit::Imported));
}

#[test]
fn a_long_trace_out_of_order_comes_into_order() {
    // Each is 1,000 lines later than it should be, every tenth.
    let mut text = String::new();
    for at in 0..400_000_i64 {
        let at = if at % 10 == 0 { at - 1000 } else { at };
        text += &format!("{},h,0,Read,{},4096,10\n", 128_166_372_003_061_629 + at * 50, at.rem_euclid(977) * 4096);
    }
    let (reader, _, _folder) = import_files(&[("trace", text.as_bytes())], None).expect("it is good");
    let rows = rows(&reader);
    assert_eq!(rows.len(), 400_000);
    assert!(rows.is_sorted_by_key(|io| io.queue_ns));
    assert_eq!(rows[0].queue_ns, 0, "time begins with the earliest, not with the first line");
}

#[test]
fn a_part_of_a_trace_is_taken_by_device_and_time() {
    let scratch = tempfile::tempdir().expect("a folder");
    let input = scratch.path().join("trace");
    std::fs::write(&input, text("msr.csv")).expect("written");
    let part = |name: &str, devices: &[&str], from_ns: u64, for_ns: Option<u64>| {
        let devices = devices.iter().map(ToString::to_string).collect();
        let options = ImportOptions { devices, from_ns, for_ns, ..ImportOptions::default() };
        imported_with(&input, &scratch.path().join(name), &options)
            .map(|(reader, _)| rows(&reader).iter().map(|io| (io.dev.to_string(), io.queue_ns)).collect::<Vec<_>>())
    };
    let on = |name: &str, ns: i64| (name.to_string(), ns);
    assert_eq!(part("one", &["hostx_1"], 0, None).expect("it is there"), [on("hostx_1", 1_937_100)]);
    let time = part("time", &[], 1_000_000, Some(900_000_000)).expect("it is there");
    assert_eq!(time, [on("hostx_0", 1_000_000), on("hostx_1", 1_937_100)]);
    let error = part("none", &["hosty"], 0, None).expect_err("there is none").to_string();
    assert!(error.ends_with("in 1.00 s there are 4 I/Os, of the devices hostx_0, hostx_1"), "{error}");
    assert!(!scratch.path().join("none").exists());
}

#[test]
fn alibabas_capacities_are_kept() {
    let trace = text("alibaba.csv");
    let files: [(&str, &[u8]); 2] =
        [("io_traces.csv", trace.as_bytes()), ("device_size.csv", b"419,42949672960\n12,1\n")];
    let (reader, _, _folder) = import_files(&files, None).expect("it is good");
    assert_eq!(reader.manifest().extra["trace_device_bytes"], serde_json::json!({"12": 1, "419": 42_949_672_960_i64}));
    assert_eq!(notes(&reader).len(), 1, "{:?}", notes(&reader));
    let files: [(&str, &[u8]); 2] = [("io_traces.csv", trace.as_bytes()), ("device_size.csv", b"419,many\n")];
    let error = import_files(&files, None).map(|_| ()).expect_err("it is malformed").to_string();
    assert!(error.ends_with("device_size.csv:1: capacity `many` is not a whole number below 2^63"), "{error}");
}

/// Counts of a real trace by operation, with all kinds of merges, splits and flushes in it.
fn counts(reader: &Reader) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for io in rows(reader) {
        assert!(io.complete_ns >= io.issue_ns.or(Some(io.queue_ns)), "{io:?}");
        assert!(io.issue_ns.is_none_or(|issue_ns| issue_ns >= io.queue_ns), "{io:?}");
        *counts.entry(io.op.to_string()).or_default() += 1;
    }
    counts.into_iter().collect()
}

#[test]
fn a_real_blktrace_and_its_text_are_the_same_trace() {
    let scratch = tempfile::tempdir().expect("a folder");
    let read = |name: &str| imported(&fixture(name), &scratch.path().join(name), None).expect("it is good");
    let (binary, format) = read("loop0.blktrace.0.gz");
    assert_eq!(format, "blktrace");
    // As many as there are D lines with sectors in its text, and Q lines of flushes without.
    let expected = [("discard", 3), ("flush", 15), ("read", 298), ("write", 263)];
    let found = counts(&binary);
    assert_eq!(found.iter().map(|(op, count)| (op.as_str(), *count)).collect::<Vec<_>>(), expected);
    assert!(rows(&binary).iter().all(|io| &*io.dev == "loop0"));
    assert_eq!(notes(&binary).len(), 1, "nothing is left over: {:?}", notes(&binary));
    assert_eq!(binary.manifest().extra["trace_unfinished"], serde_json::json!(0));
    let (text, format) = read("loop0.blkparse.gz");
    assert_eq!(format, "blkparse");
    let first_ns = rows(&text).iter().map(|io| io.queue_ns).min().unwrap_or(0);
    let moved = rows(&text).into_iter().map(|io| Io {
        queue_ns: io.queue_ns - first_ns,
        issue_ns: io.issue_ns.map(|ns| ns - first_ns),
        complete_ns: io.complete_ns.map(|ns| ns - first_ns),
        ..io
    });
    assert_eq!(moved.collect::<Vec<_>>(), rows(&binary));
}

#[test]
fn splits_are_one_io_each_whether_or_not_the_kernel_tells_their_queueing() {
    let text = |queue: &str| {
        format!(
            "  8,0 0 1 0.000001 9 Q R 0 + 32 [a]\n{queue}  8,0 0 3 0.000010 9 D R 0 + 16 [a]\n{}  8,0 0 5 0.000020 9 D R 16 + 16 [a]\n  \
             8,0 0 6 0.000030 0 C R 16 + 16 [0]\n  8,0 0 7 0.000040 0 C R 0 + 16 [0]\n",
            if queue.is_empty() { "  8,0 0 4 0.000012 9 Q R 16 + 16 [a]\n" } else { "" }
        )
    };
    // Before the first part is issued, after it, never.
    let never = text("  8,0 0 2 0.000002 9 X R 0 / 16 [a]\n");
    for text in [text("  8,0 0 2 0.000002 9 Q R 16 + 16 [a]\n"), text(""), never] {
        let (reader, _, _folder) = import_files(&[("trace", text.as_bytes())], None).expect("it is good");
        let found: Vec<(i64, i64)> = rows(&reader).iter().map(|io| (io.sector, io.bytes)).collect();
        assert_eq!(found, [(16, 8192), (0, 8192)], "{text}");
        assert_eq!(reader.manifest().extra["trace_unfinished"], serde_json::json!(0), "{text}");
    }
}

#[test]
fn traces_without_some_steps_give_what_they_have() {
    let all = "  8,0 0 1 0.000001 9 Q WS 0 + 8 [a]\n  8,0 0 2 0.000002 9 D WS 0 + 8 [a]\n  8,0 0 3 0.000009 0 C WS 0 + 8 [0]\n  \
        8,0 0 4 0.000011 9 Q FWS [a]\n  8,0 0 5 0.000012 9 D FN [b]\n  8,0 0 6 0.000018 0 C FN 0 [0]\n  8,0 0 7 0.000019 0 C WS 0 [0]\n";
    let with = |steps: &[&str]| -> String {
        let is_wanted = |line: &&str| line.split_whitespace().nth(5).is_some_and(|step| steps.contains(&step));
        let text: Vec<&str> = all.lines().filter(is_wanted).collect();
        let (reader, _, _folder) =
            import_files(&[("trace", (text.join("\n") + "\n").as_bytes())], None).expect("it is good");
        lines(&reader)
            .lines()
            .filter(|line| !line.starts_with("began") && !line.contains("does not record"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let shown: Vec<String> = [&["Q", "D", "C"][..], &["Q", "C"], &["D", "C"], &["Q", "D"], &["Q"], &["D"]]
        .map(|steps| format!("{steps:?}\n{}", with(steps)))
        .to_vec();
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn a_real_iolog_has_all_its_lines() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (reader, _) = imported(&fixture("fio.v3.iolog"), &scratch.path().join("out"), None).expect("it is good");
    let text = std::fs::read_to_string(fixture("fio.v3.iolog")).expect("a fixture");
    let lines = |word: &str| text.lines().filter(|line| line.split(' ').nth(2) == Some(word)).count();
    let rows = rows(&reader);
    let found = |op: &str| rows.iter().filter(|io| &*io.op == op).count();
    assert_eq!((found("read"), found("write")), (lines("read"), lines("write")));
    assert_eq!(rows.len(), found("read") + found("write"));
    assert!(rows.iter().all(|io| &*io.dev == "loop3" && io.complete_ns.is_none() && io.tid.is_none()));
}

/// What a trace says when it is damaged.
fn said(format: Option<&str>, bytes: &[u8]) -> String {
    match import_files(&[("trace", bytes)], format) {
        Ok((reader, _, _folder)) => format!("accepted\n{}", lines(&reader)),
        Err(error) => {
            let text = error.to_string();
            text.find("in/trace").map_or(text.clone(), |at| text[at + 3..].to_string())
        }
    }
}

#[test]
fn the_error_names_the_place_and_reason_in_a_malformed_trace() {
    let mut shown = Vec::new();
    let mut check = |what: &str, format: Option<&str>, text: &[u8]| {
        shown.push(format!("{what}: {}", said(format, text)));
    };
    let change = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1).into_bytes()
    };
    check("nothing", None, b"");
    check("blank lines", Some("msr"), b"\n\n");
    check("another text", None, b"hello\n");
    check("forced", Some("msr"), b"hello\n");
    check("no such format", Some("mrs"), b"hello\n");
    check("msr, before 1970", None, &change(&text("msr.csv"), "128166372003081000", "8166372003081000"));
    check("msr, a type", None, &change(&text("msr.csv"), "Write,3221266432", "Trim,3221266432"));
    check("msr, a field less", None, &change(&text("msr.csv"), ",55000", ""));
    check("msr, huge", None, &change(&text("msr.csv"), "3221266432,4096", "9223372036854775807,4096"));
    check("msr, huge response", None, &change(&text("msr.csv"), "55000", "92233720368547758"));
    check("alibaba, a float", None, &change(&text("alibaba.csv"), "8192,157", "8192.5,157"));
    check("alibaba, a device", None, &change(&text("alibaba.csv"), "725", "4294967296"));
    check("tencent, an I/O of 5 GiB", None, &change(&text("tencent.csv"), "256,0", "10485760,0"));
    check("tencent, a type", None, &change(&text("tencent.csv"), "8,1,", "8,2,"));
    check("systor, time", None, &change(&text("systor17.csv"), "1456135200.015001000", "soon"));
    check("systor, cut off", None, &text("systor17.csv").as_bytes()[..text("systor17.csv").len() - 20]);
    check("fiu, md5", None, &change(&text("fiu.blkparse"), "00000000000000000000000000000002", "xyz"));
    check("fiu, blanks", None, &change(&text("fiu.blkparse"), "syslogd", "sys logd"));
    check("iolog, version", None, &change(&text("small.v3.iolog"), "version 3", "version 4"));
    check("iolog, forced version", Some("fio-iolog"), &change(&text("small.v3.iolog"), "version 3", "version 4"));
    check("iolog, action", None, &change(&text("small.v3.iolog"), "trim", "erase"));
    check("iolog, wait in version 3", None, &change(&text("small.v3.iolog"), "trim 1000 65536", "wait 5"));
    check("iolog, no length", None, &change(&text("small.v3.iolog"), "write 1401147392 4096", "write 1401147392"));
    check("iolog, more", None, &change(&text("small.v3.iolog"), "1401147392 4096", "1401147392 4096 7"));
    check("iolog, only files", None, b"fio version 3 iolog\n0 /dev/sdb add\n");
    check("blkparse, device", None, &change(&text("blkparse.txt"), "253,0    1       32", "253.0    1       32"));
    check("blkparse, action", None, &change(&text("blkparse.txt"), "8724  X  WS", "8724  J  WS"));
    check("blkparse, kind", None, &change(&text("blkparse.txt"), "Q FWS [", "Q FWX ["));
    check("blkparse, no end", None, &change(&text("blkparse.txt"), "Q   R 5 + 8 [fio]", "Q   R 5 + 8"));
    check("blkparse, no plus", None, &change(&text("blkparse.txt"), "Q   R 5 + 8 [fio]", "Q   R 5 - 8 [fio]"));
    check("blkparse, time", None, &change(&text("blkparse.txt"), "0.002010000", "-1.0"));
    let blktrace = std::fs::read(fixture("v7-big-endian.blktrace")).expect("a fixture");
    let mut bytes = blktrace.clone();
    bytes[48 + 8 + 3] ^= 1;
    check("blktrace, magic", None, &bytes);
    let mut bytes = blktrace.clone();
    bytes[48 + 8 + 48 + 24 + 8] = 0xff;
    check("blktrace, time", None, &bytes);
    check("blktrace, only names", None, &blktrace[..48 + 8 + 48 + 24]);
    let flat = std::fs::read(fixture("vdbench-flat.bin")).expect("a fixture");
    let flat_with = |at: usize, byte: u8| {
        let mut bytes = flat.clone();
        bytes[56 + at] = byte;
        bytes
    };
    check("flat, first word", None, &flat_with(2, 9));
    check("flat, flag", None, &flat_with(48, 2));
    check("flat, time", None, &flat_with(8, 0x7f));
    check("flat, size", None, &flat_with(40, 0xff));
    check("flat, cut off", None, &flat[..60]);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text("msr.csv").as_bytes()).expect("compressed");
    let compressed = gzip.finish().expect("compressed");
    let mut archive = vec![0; 512];
    archive[257..262].copy_from_slice(b"ustar");
    check("an archive", None, &archive);
    check("gzip, cut off", Some("msr"), &compressed[..compressed.len() - 12]);
    insta::assert_snapshot!(shown.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn mutations_never_panic_and_leave_nothing_behind(
        which in 0_usize..12,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![
            &b""[..], b"-", b"9", b"99999999999999999999", b"\n", b"\0", b"\xff\xff\xff\xff", b",", b" ", b"F", b"[", b"0.",
        ]), 0_usize..6), 1..8),
    ) {
        let (_, format, mut bytes) = good().swap_remove(which);
        for (at, new, skip) in changes {
            let at = at.index(bytes.len());
            let end = (at + skip).min(bytes.len());
            bytes.splice(at..end, new.iter().copied());
            if bytes.is_empty() { bytes.push(b' '); }
        }
        if let Ok((reader, _, _folder)) = import_files(&[("trace", &bytes)], format) {
            for io in rows(&reader) {
                prop_assert!(io.bytes >= 0 && io.sector >= 0 && io.bytes <= 4 << 30, "{:?}", io);
                prop_assert!(io.complete_ns.is_none_or(|complete_ns| complete_ns >= io.queue_ns), "{:?}", io);
            }
        }
    }
}
