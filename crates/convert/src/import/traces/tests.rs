//! Readers of traces against good, real, malformed and mutated files.

use crate::ConvertError;
use crate::import::import;
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
fn import_files(files: &[(&str, &[u8])], format: Option<&str>) -> Result<(Reader, String, TempDir), ConvertError> {
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

fn imported(path: &Path, out: &Path, format: Option<&str>) -> Result<(Reader, String), ConvertError> {
    let imported = import(path, out, format, &[])?;
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

const MSR: &str = "128166372003061629,hostx,0,Read,7014609920,24576,41286\n\
    128166372003081000,hostx,1,Read,0,512,55000\n\
    128166372003071629,hostx,0,Write,3221266432,4096,1212\n\
    128166372013061629,hostx,0,Write,3221270528,8192,900\n";
const ALIBABA: &str = "419,W,8792731648,16384,1577808144360767\n\
    725,R,59110326272,360448,1577808144360813\n12,R,350868463616,8192,1577808144360852\n";
const TENCENT: &str = "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n1538323201,342884064,256,0,1360\n";
const SYSTOR: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n\
    1456135200.013118000,0.000806000,R,0,899056122368,131072\n\
    1456135200.013944000,0.001203000,W,0,22540288,4096\n1456135200.015001000,,,0,22544384,4096\n\
    1456135201.100000000,0.000200000,R,4,4096,512\n";
const FIU: &str = "89968195792462 20782 gzip 283193184 8 R 6 0 56f1aa00000000000000000000000001\n\
    89968195800000 4892 syslogd 904265560 8 W 6 0 00000000000000000000000000000002\n\
    89968199000000 2559 httpd 104 16 R 8 1 00000000000000000000000000000005\n";
const IOLOG3: &str = "fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdb open\n10 /dev/sdb read 129519616 16384\n\
    1339 /dev/sdb write 1401147392 4096\n1400 /dev/sdb sync 0 0\n1300 /data/img trim 1000 65536\n1500 /dev/sdb close\n";
const IOLOG2: &str = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb read 0 4096\n/dev/sdb wait 4000 0\n\
    /dev/sdb trim 1048576 65536\n/dev/sdb wait 1000 0\n/dev/sdb datasync 0 0\n/dev/sdb close\n";
const BLKPARSE: &str = "  7,3    1        1     0.000000000  8721  Q   R 252968 + 32 [fio]
  7,3    1        2     0.000005000  8721  Q   R 253000 + 32 [fio]
  7,3    1        3     0.000005100  8721  M   R 253000 + 32 [fio]
  7,3    1        4     0.000010400  8721  D   R 252968 + 64 [kworker/0:1H]
  7,3    1        5     0.000011000  8721  m   N cfq say something
  7,3    1        6     0.000187000     0  C   R 252968 + 64 [0]
  7,3    1        7     0.001329000  8724  Q  WS 2736616 + 16 [a b]
  7,3    1        8     0.001329500  8724  X  WS 2736616 / 2736624 [a b]
  7,3    1        9     0.001330000  8724  D  WS 2736616 + 8 [a b]
  7,3    1       10     0.001331000  8724  D  WS 2736624 + 8 [a b]
  7,3    0       11     0.001340000     0  C  WS 2736624 + 8 [0]
  7,3    0       12     0.001341000     0  R  WS 2736616 + 8 [0]
  7,3    0       13     0.001342000  8724  D  WS 2736616 + 8 [a b]
  7,3    0       14     0.001350000     0  C  WS 2736616 + 8 (   21) [65531]
  7,3    1       15     0.002000000  8724  Q FWS [jbd2/loop3-8]
  7,3    1       16     0.002010000   113  D  FN [kworker/1:1H]
  7,3    1       17     0.002500000     0  C  FN 0 [0]
  7,3    1       18     0.002501000     0  C  WS 0 [0]
  7,3    1       19     0.003000000  8724  Q FWFSM 8 + 8 [jbd2/loop3-8]
  7,3    1       20     0.003010000   113  D  FN [kworker/1:1H]
  7,3    1       21     0.003100000     0  C  FN 0 [0]
  7,3    1       22     0.003110000   113  D WSM 8 + 8 [kworker/1:1H]
  7,3    1       23     0.003200000     0  C WSM 8 + 8 [0]
  7,3    1       24     0.003210000   113  D  FN [kworker/1:1H]
  7,3    1       25     0.003300000     0  C  FN 0 [0]
  7,3    1       26     0.003301000     0  C WSM 8 [0]
  7,3    1       27     0.004000000  8721  Q   R 100 + 8 [fio]
  7,3    1       28     0.004001000    77  Q   R 100 + 8 [iou-wrk-8721]
  7,3    1       29     0.004002000    77  D   R 100 + 8 [iou-wrk-8721]
  7,3    1       30     0.004100000     0  C   R 100 + 4 [0]
  7,3    1       31     0.004200000     0  C   R 104 + 4 [0]
253,0    1       32     0.004300000  8721  Q  RA 8 + 8 [(null)]
253,0    1       33     0.004400000  8721  C  RA 8 + 8 [0]
  7,3    1       34     0.004500000     0  C   R 77 + 8 [0]
  7,3    1       35     0.005000000  8721  Q   R 5 + 8 [fio]

CPU1 (loop3):
 Reads Queued:           5,       64KiB
Total (loop3):
";

fn good() -> Vec<(&'static str, Option<&'static str>, Vec<u8>)> {
    let text = |text: &str| text.as_bytes().to_vec();
    let flat = std::fs::read(fixture("vdbench-flat.bin")).expect("a fixture");
    vec![
        ("msr", None, text(MSR)),
        ("alibaba", None, text(ALIBABA)),
        ("tencent", None, text(TENCENT)),
        ("systor17", None, text(SYSTOR)),
        ("fiu", None, text(FIU)),
        ("fio-iolog", None, text(IOLOG3)),
        ("fio-iolog", None, text(IOLOG2)),
        ("fio-iolog-waits", Some("fio-iolog-waits"), text(IOLOG2)),
        ("vdbench-flat", None, flat),
        ("blkparse", None, text(BLKPARSE)),
        ("blktrace", None, blktrace()),
        ("blktrace", None, blktrace_8()),
    ]
}

/// A record of blktrace, version 7, big-endian: t, sector, bytes, category and code, thread, error, payload.
fn record(
    t_ns: u64,
    sector: u64,
    bytes: u32,
    (category, code): (u32, u32),
    tid: u32,
    error: u16,
    pdu: &[u8],
) -> Vec<u8> {
    let mut record = 0x6561_7407_u32.to_be_bytes().to_vec();
    record.extend_from_slice(&1_u32.to_be_bytes());
    record.extend_from_slice(&t_ns.to_be_bytes());
    record.extend_from_slice(&sector.to_be_bytes());
    for word in [bytes, category << 16 | code, tid, 259 << 20 | 5, 0] {
        record.extend_from_slice(&word.to_be_bytes());
    }
    record.extend_from_slice(&error.to_be_bytes());
    record.extend_from_slice(&u16::try_from(pdu.len()).unwrap_or(0).to_be_bytes());
    record.extend_from_slice(pdu);
    record
}

fn blktrace() -> Vec<u8> {
    let wall = [1_600_000_000_u32.to_be_bytes(), 5_u32.to_be_bytes()].concat();
    [
        record(1000, 0, 0, (1 << 10, 1), 0, 0, &wall),
        // With a control group before the name.
        record(1000, 0, 0, (1 << 10, 0x100), 77, 0, b"\0\0\0\0\0\0\0\x09db\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        record(5000, 800, 4096, (1 | 1 << 4 | 1 << 12, 0x101), 77, 0, &[0; 8]),
        record(5000, 800, 4096, (1 | 1 << 4, 15), 77, 0, &[0; 16]),
        record(6000, 800, 4096, (1 | 1 << 6 | 1 << 12, 7), 77, 0, &[]),
        record(9000, 800, 4096, (1 | 1 << 7 | 1 << 12, 8), 0, 0, &[]),
        record(9500, 0, 8192, (2 | 1 << 4 | 1 << 3 | 1 << 15, 1), 78, 0, &[]),
        record(9600, 0, 8192, (2 | 1 << 6 | 1 << 3 | 1 << 15, 7), 78, 0, &[]),
        record(9700, 0, 8192, (2 | 1 << 7 | 1 << 3 | 1 << 15, 8), 0, 65531, &[]),
    ]
    .concat()
}

/// Version 8, little-endian, with a zone append and a cut-off record.
fn blktrace_8() -> Vec<u8> {
    let one = |t_ns: u64, category: u64, code: u64| {
        let mut record = 0x6561_7408_u32.to_le_bytes().to_vec();
        record.extend_from_slice(&1_u32.to_le_bytes());
        record.extend_from_slice(&t_ns.to_le_bytes());
        record.extend_from_slice(&4096_u64.to_le_bytes());
        record.extend_from_slice(&65536_u32.to_le_bytes());
        record.extend_from_slice(&9_u32.to_le_bytes());
        record.extend_from_slice(&(category << 16 | code).to_le_bytes());
        record.extend_from_slice(&(8_u32 << 20 | 17).to_le_bytes());
        record.resize(64, 0);
        record
    };
    let mut all = [one(70, 1 << 16 | 2 | 1 << 4, 1), one(80, 1 << 16 | 2 | 1 << 7, 8), one(90, 1, 1)].concat();
    all.truncate(64 * 2 + 30);
    all
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
    let (early, late) = (MSR.replace("hostx", "a"), MSR.replace("12816637200", "12816637209"));
    let files: [(&str, &[u8]); 4] =
        [("a.csv", late.as_bytes()), ("b.csv", early.as_bytes()), ("c.csv", b""), ("readme", b"hello\n")];
    let (reader, _, _folder) = import_files(&files, None).expect("it is good");
    let rows = rows(&reader);
    assert_eq!(rows.len(), 8);
    assert!(rows.is_sorted_by_key(|io| io.complete_ns), "{rows:?}");
    assert_eq!(rows.iter().filter(|io| &*io.dev == "a_0").count(), 3);
    let left_out: Vec<String> = notes(&reader).into_iter().filter(|note| note.contains("was left out")).collect();
    assert_eq!(left_out.len(), 2, "{left_out:?}");
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
fn what_is_malformed_is_told_with_its_place_and_reason() {
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
    check("msr, before 1970", None, &change(MSR, "128166372003081000", "8166372003081000"));
    check("msr, a type", None, &change(MSR, "Write,3221266432", "Trim,3221266432"));
    check("msr, a field less", None, &change(MSR, ",55000", ""));
    check("msr, huge", None, &change(MSR, "3221266432,4096", "9223372036854775807,4096"));
    check("msr, huge response", None, &change(MSR, "55000", "92233720368547758"));
    check("alibaba, a float", None, &change(ALIBABA, "8192,157", "8192.5,157"));
    check("alibaba, a device", None, &change(ALIBABA, "725", "4294967296"));
    check("tencent, an I/O of 5 GiB", None, &change(TENCENT, "256,0", "10485760,0"));
    check("tencent, a type", None, &change(TENCENT, "8,1,", "8,2,"));
    check("systor, time", None, &change(SYSTOR, "1456135200.015001000", "soon"));
    check("systor, cut off", None, &SYSTOR.as_bytes()[..SYSTOR.len() - 20]);
    check("fiu, md5", None, &change(FIU, "00000000000000000000000000000002", "xyz"));
    check("fiu, blanks", None, &change(FIU, "syslogd", "sys logd"));
    check("iolog, version", None, &change(IOLOG3, "version 3", "version 4"));
    check("iolog, forced version", Some("fio-iolog"), &change(IOLOG3, "version 3", "version 4"));
    check("iolog, action", None, &change(IOLOG3, "trim", "erase"));
    check("iolog, wait in version 3", None, &change(IOLOG3, "trim 1000 65536", "wait 5"));
    check("iolog, no length", None, &change(IOLOG3, "write 1401147392 4096", "write 1401147392"));
    check("iolog, more", None, &change(IOLOG3, "1401147392 4096", "1401147392 4096 7"));
    check("iolog, only files", None, b"fio version 3 iolog\n0 /dev/sdb add\n");
    check("blkparse, device", None, &change(BLKPARSE, "253,0    1       32", "253.0    1       32"));
    check("blkparse, action", None, &change(BLKPARSE, "8724  X  WS", "8724  J  WS"));
    check("blkparse, kind", None, &change(BLKPARSE, "Q FWS [", "Q FWX ["));
    check("blkparse, no end", None, &change(BLKPARSE, "Q   R 5 + 8 [fio]", "Q   R 5 + 8"));
    check("blkparse, no plus", None, &change(BLKPARSE, "Q   R 5 + 8 [fio]", "Q   R 5 - 8 [fio]"));
    check("blkparse, time", None, &change(BLKPARSE, "0.002010000", "-1.0"));
    let mut bytes = blktrace();
    bytes[48 + 8 + 3] ^= 1;
    check("blktrace, magic", None, &bytes);
    let mut bytes = blktrace();
    bytes[48 + 8 + 48 + 24 + 8] = 0xff;
    check("blktrace, time", None, &bytes);
    check("blktrace, only names", None, &blktrace()[..48 + 8 + 48 + 24]);
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
    gzip.write_all(MSR.as_bytes()).expect("compressed");
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
