//! Flipped bits, cut ends and swapped frames in recordings of each kind: every one is found, or no figure is another.

use crate::support::Scratch;
use recording::{
    EventSeverity, ExportFormat, IoNames, IoRecord, IoTask, Manifest, RawIo, Reader, RecordingError, RowBatch,
    Sink as _, Writer, export,
};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Flips over all kinds in the usual test; the soak does 5,000.
const FLIPS: usize = 300;

/// Repeatable random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap()
    }
}

fn io(n: u64) -> RawIo {
    let io = IoRecord {
        queue_ns: 1_000_000_000 + n * 1000,
        complete_ns: 1_000_000_500 + n * 1000,
        issue_ns: 1_000_000_100 + n * 1000,
        sector: n * 8,
        bytes: 4096,
        dev: 0,
        issuer: 5,
        owner: 0,
        file: 0,
        flags: 0,
        op: u8::from(n.is_multiple_of(3)),
        bios: 1,
        requeues: 0,
        status: 0,
    };
    io.to_raw()
}

/// I/Os as a trace writes them, between events.
fn traced(directory: &Path) -> Writer {
    let task = IoTask { pid: 50, tid: 51, comm: "fio".into(), cgroup: None };
    let names = IoNames { devices: vec![(0, "sda".into())], tasks: vec![(5, task)], files: Vec::new() };
    let mut writer = Writer::create(directory, Manifest::new(&["iodyno".into(), "trace".into()])).unwrap();
    for second in 0..10_u64 {
        let event = recording::rows::Event {
            t_ns: i64::try_from(second).unwrap() * 1_000_000_000,
            t_s: second as f64,
            severity: EventSeverity::Info,
            kind: "test".into(),
            message: format!("second {second}"),
            count: 1,
            ..recording::rows::Event::default()
        };
        writer.accept(&RowBatch::from_rows(&[event]).unwrap()).unwrap();
        let ios: Vec<RawIo> = (second * 500..second * 500 + 500).map(io).collect();
        writer.accept_ios(&names, &ios).unwrap();
        writer.commit().unwrap();
    }
    writer
}

/// Recordings of each kind: a run, sealed and killed, a collection, a trace, sealed and killed, an import.
fn kinds(scratch: &Scratch) -> Vec<PathBuf> {
    let text = format!(
        "sd=sd1,lun={},size=4m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\nrd=rd1,wd=wd1,iorate=500,elapsed=1,interval=1\n",
        scratch.path("data").display()
    );
    let file = scratch.write("a.vdb", &text);
    let file = file.to_str().unwrap();
    let run = ["run", file, "-i", "100ms", "--engine", "sync", "--json", "-o"];
    scratch.iodyno(&[run.as_slice(), &["run"]].concat()).run().unwrap().expect_code(0);
    let mut killed = scratch.iodyno(&[run.as_slice(), &["killed", "-e", "60"]].concat()).spawn().unwrap();
    assert!(killed.wait_for_stdout("t_ns", Duration::from_secs(60)));
    killed.signal(Signal::KILL);
    killed.wait().unwrap();
    scratch.iodyno(&["record", "--for", "1s", "-o", "recorded"]).run().unwrap().expect_code(0);
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tools/iostat-x.json");
    scratch.iodyno(&["import", trace.to_str().unwrap(), "-o", "imported"]).run().unwrap().expect_code(0);
    traced(&scratch.path("traced")).seal().unwrap();
    drop(traced(&scratch.path("tracing")));
    ["run", "killed", "recorded", "imported", "traced", "tracing"].map(|name| scratch.path(name)).to_vec()
}

/// Every table as CSV.
fn exports(reader: &Reader) -> Result<BTreeMap<String, Vec<u8>>, RecordingError> {
    let mut found = BTreeMap::new();
    for table in reader.tables()? {
        let mut out = Vec::new();
        export(reader, &table, ExportFormat::Csv, &mut out)?;
        found.insert(table, out);
    }
    Ok(found)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
    found.sort();
}

/// Is the damage found? Otherwise all exports must be those of the undamaged recording.
fn is_found(directory: &Path, whole: &BTreeMap<String, Vec<u8>>, what: &str) -> bool {
    let Ok(reader) = Reader::open(directory) else { return true };
    let damage = reader.verify().unwrap();
    let exported = exports(&reader);
    if damage.costs_rows() || exported.is_err() {
        // What is read block by block is found by reading as by checking.
        assert!(damage.costs_rows(), "{what}: {:?}", exported.err());
        return true;
    }
    assert!(exported.unwrap() == *whole, "{what}: other figures, and nothing was found");
    damage.is_some()
}

fn flip(flips: usize, seed: u64) {
    let scratch = Scratch::new();
    let mut random = Random(seed);
    let kinds = kinds(&scratch);
    let (mut found, mut harmless) = (0, 0);
    for directory in &kinds {
        let reader = Reader::open(directory).unwrap();
        assert!(!reader.verify().unwrap().is_some(), "{}", directory.display());
        let whole = exports(&reader).unwrap();
        assert!(whole.values().map(Vec::len).sum::<usize>() > 500, "{}", directory.display());
        let mut all = Vec::new();
        files(directory, &mut all);
        let lengths: Vec<usize> = all.iter().map(|path| std::fs::read(path).unwrap().len()).collect();
        for number in 0..flips / kinds.len() {
            // By turns any file, and any byte of all.
            let mut at = random.below(lengths.iter().sum());
            let by_byte = lengths.iter().position(|length| {
                at < *length || {
                    at -= length;
                    false
                }
            });
            let index = if number % 2 == 0 { random.below(all.len()) } else { by_byte.unwrap() };
            let (path, length) = (&all[index], lengths[index]);
            let bytes = std::fs::read(path).unwrap();
            let bit = random.below(length * 8);
            let mut flipped = bytes.clone();
            if number % 10 == 9 && !path.ends_with("journal") {
                flipped.truncate(bit / 8);
            } else if length > 0 {
                flipped[bit / 8] ^= 1 << (bit % 8);
            }
            std::fs::write(path, &flipped).unwrap();
            match is_found(directory, &whole, &format!("{} bit {bit}", path.display())) {
                true => found += 1,
                false => harmless += 1,
            }
            std::fs::write(path, &bytes).unwrap();
        }
    }
    println!("{found} found, {harmless} without effect on any figure");
    assert!(found > flips / 2, "{found}: the test flipped nothing that counts");
}

#[test]
fn a_flipped_bit_is_found_or_changes_no_figure() {
    flip(FLIPS, 0x1234_5678_9abc_def1);
}

#[test]
#[ignore = "minutes; `cargo test -p iodyno --test it -- --ignored bit_flips::soak`"]
fn soak_5000_flipped_bits_are_found_or_change_no_figure() {
    flip(5000, 0x0dd0_5eed_0dd0_5eed);
}

/// Flips a bit in the middle of a file.
fn damage(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn every_face_of_a_damaged_recording_says_so_and_none_passes_it() {
    let scratch = Scratch::new();
    let kinds = kinds(&scratch);
    let (sealed, killed) = (kinds[0].to_str().unwrap(), kinds[1].to_str().unwrap());
    let run = |arguments: &[&str]| scratch.iodyno(arguments).run().unwrap();
    let lenient = ["--fail-if", "response_ns_max > 1h"];
    run(&[&["check", sealed], lenient.as_slice()].concat()).expect_code(0);
    // A run that was killed has met nothing, whole as its recording may be.
    let undecided = run(&[&["check", killed], lenient.as_slice()].concat()).expect_code(5);
    assert!(
        undecided.stderr.contains("the recording was cut short during the run; until then"),
        "{}",
        undecided.stderr
    );
    damage(&kinds[1].join("journal"));
    let faces: [(&str, &[&str]); 7] = [
        ("check", &lenient),
        ("export", &["op_interval"]),
        ("report", &[]),
        ("chart", &["run.response", "-o", "a.svg", "--force"]),
        ("diagnose", &[]),
        ("compare", &[sealed]),
        ("top", &["--once"]),
    ];
    for (face, more) in faces {
        let output = run(&[&[face, killed], more].concat()).expect_code(6);
        assert!(output.stderr.contains("frames of the journal are unreadable"), "{face}: {}", output.stderr);
    }
    let page = std::fs::read_to_string(kinds[1].join("report.html")).unwrap();
    assert!(page.contains("frames of the journal are unreadable") && !page.contains("Everything up to the last"));

    damage(&Reader::open(&kinds[0]).unwrap().sealed_files("op_interval").unwrap()[0]);
    // What reads nothing of a damaged file has nothing to say of it.
    for (face, more) in faces.into_iter().filter(|(face, _)| *face != "diagnose") {
        let more: &[&str] = if face == "compare" { &[killed] } else { more };
        let output = run(&[&[face, sealed], more].concat()).expect_code(6);
        assert!(output.stderr.contains("checksum differs"), "{face}: {}", output.stderr);
    }

    // What is whole can be kept, and what is lost stays known.
    for recording in [sealed, killed] {
        let output = run(&["repair", recording]).expect_code(6);
        assert!(output.stdout.contains("all that could be kept"), "{}", output.stdout);
        run(&["report", recording]).expect_code(6);
        run(&[&["check", recording], lenient.as_slice()].concat()).expect_code(6);
    }
    std::fs::write(kinds[2].join("manifest.json"), "{").unwrap();
    let recorded = kinds[2].to_str().unwrap();
    let output = run(&["export", recorded, "cpu"]).expect_code(0);
    assert!(output.stderr.contains("manifest.json cannot be read"), "{}", output.stderr);
    run(&["repair", recorded]).expect_code(0);
    assert_eq!(run(&["export", recorded, "cpu"]).expect_code(0).stderr, "");
}
