//! Recordings made to fill a reader's memory, and systems that have none left: a sentence and an exit code, and no more memory
//! than was permitted.

use crate::support::Scratch;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use recording::rows::Event;
use recording::{EventSeverity, IO_RECORD_BYTES, IoNames, IoRecord, Manifest, RawIo, RowBatch, Sink as _, Writer};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use testkit::{CommandOutput, TestCommand};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");
/// What the process has beside what is counted: its code, stacks, what the allocator keeps.
const BESIDE_MIB: u64 = 48;

/// Runs `iodyno ARGUMENTS`; gives what it said, and the most memory that it had, MiB.
fn peak(arguments: &[&str]) -> (CommandOutput, u64) {
    let program = "import resource,subprocess,sys\n\
        code=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL).returncode\n\
        sys.stdout.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))\n\
        sys.exit(code)";
    let command = TestCommand::new("python3").args(["-c", program, IODYNO]).args(arguments);
    let output = command.limit(Duration::from_secs(600)).run().unwrap();
    let peak_kib: u64 = output.stdout.trim().parse().unwrap();
    (output, peak_kib / 1024)
}

fn event(message: &str) -> Event {
    Event {
        t_ns: 1,
        t_s: 0.0,
        severity: EventSeverity::Info,
        kind: "test".into(),
        message: message.to_string(),
        count: 1,
        ..Event::default()
    }
}

/// A sealed recording with one event.
fn recording(scratch: &Scratch, name: &str) -> PathBuf {
    let directory = scratch.path(name);
    let mut writer = Writer::create(&directory, Manifest::new(&["test".into()])).unwrap();
    writer.accept(&RowBatch::from_rows(&[event("one")]).unwrap()).unwrap();
    writer.commit().unwrap();
    writer.seal().unwrap()
}

/// Puts batches in the place of a table, all in one row group; the manifest states `stated_rows` rows.
fn replace(directory: &Path, table: &str, batches: &[RecordBatch], stated_rows: usize) -> u64 {
    let path = directory.join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    // As a recording of format 1, which has no checksums: those with them need not be believed either, but these must not
    // be taken for damaged before their rows are looked at.
    manifest["rows"][table] = stated_rows.into();
    manifest["format_version"] = 1.into();
    for name in ["parts", "checksum"] {
        manifest.as_object_mut().unwrap().remove(name);
    }
    std::fs::write(&path, manifest.to_string()).unwrap();
    // Gone already where this is the second time.
    let _ = std::fs::remove_file(directory.join("manifest.json.copy"));
    let folder = directory.join(table).join(format!("host={}", manifest["host"].as_str().unwrap()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("000001.parquet");
    let properties = WriterProperties::builder()
        .set_compression(parquet::basic::Compression::ZSTD(parquet::basic::ZstdLevel::try_new(1).unwrap()))
        .set_max_row_group_row_count(None)
        .set_dictionary_page_size_limit(64 << 20)
        .build();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    std::fs::metadata(&path).unwrap().len()
}

/// So many rows of a table that has little to say of each.
fn many(rows: usize) -> RecordBatch {
    let same: ArrayRef = Arc::new(Int64Array::from(vec![7; rows]));
    RecordBatch::try_from_iter([("t_ns", Arc::clone(&same)), ("pid", Arc::clone(&same)), ("start_ns", same)]).unwrap()
}

/// Sentences of a command that had no more memory.
fn assert_ended(output: &CommandOutput, words: &[&str]) {
    for word in words {
        assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
    }
    assert!(!output.stderr.contains("panicked") && !output.stderr.contains("memory allocation"), "{}", output.stderr);
}

#[test]
fn a_few_bytes_that_stand_for_many_rows_take_no_more_than_the_limit() {
    let scratch = Scratch::new();
    let directory = recording(&scratch, "bomb");
    let rows = 1_000_000;
    let length = replace(&directory, "process", &[many(rows)], rows);
    assert!(length < 1 << 20, "{length}");
    let path = directory.to_str().unwrap();
    let (output, peak_mib) = peak(&["diagnose", path, "--memory", "96m"]);
    let output = output.expect_code(6);
    assert_ended(&output, &["limit of 96 MiB", "table process", "--memory"]);
    assert!(peak_mib < 96 + BESIDE_MIB, "{peak_mib} MiB");
    // Row by row it fits.
    let (output, peak_mib) = peak(&["export", path, "process", "--csv", "--memory", "64m"]);
    output.expect_code(0);
    assert!(peak_mib < 64 + BESIDE_MIB, "{peak_mib} MiB");
}

#[test]
fn long_text_that_is_repeated_is_read_in_small_batches() {
    let scratch = Scratch::new();
    let directory = recording(&scratch, "bomb");
    let rows = 8192;
    let text = "x".repeat(40 << 10);
    let t_ns: ArrayRef = Arc::new(Int64Array::from(vec![7; rows]));
    let messages: ArrayRef = Arc::new((0..rows).map(|_| Some(&text)).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter([("t_ns", t_ns), ("message", messages)]).unwrap();
    let length = replace(&directory, "event", &[batch], rows);
    assert!(length < 1 << 20, "{length}");
    let path = directory.to_str().unwrap();
    let (output, peak_mib) = peak(&["export", path, "event", "--csv", "--memory", "128m"]);
    output.expect_code(0);
    assert!(peak_mib < 128 + BESIDE_MIB, "{peak_mib} MiB");
}

#[test]
fn rows_that_the_manifest_does_not_tell_are_refused() {
    let scratch = Scratch::new();
    let directory = recording(&scratch, "other");
    replace(&directory, "process", &[many(3)], 4);
    let output = TestCommand::new(IODYNO).args(["export", directory.to_str().unwrap(), "process"]).run().unwrap();
    assert_ended(&output.expect_code(6), &["table process has 3 rows", "manifest.json says 4"]);
    let rows = (1 << 20) + 1;
    replace(&directory, "process", &[many(rows)], rows);
    let output = TestCommand::new(IODYNO).args(["export", directory.to_str().unwrap(), "process"]).run().unwrap();
    assert_ended(&output.expect_code(6), &["row group 0 says that it has 1048577 rows", "1048576 are possible"]);
}

/// A frame of the journal around a payload.
fn frame(table: &str, body: &[u8]) -> Vec<u8> {
    let mut payload = vec![u8::try_from(table.len()).unwrap()];
    payload.extend_from_slice(table.as_bytes());
    payload.extend_from_slice(body);
    let mut frame = b"\x93ioJrnl\x01".to_vec();
    frame.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
    frame.extend_from_slice(&crc32fast::hash(&payload).to_le_bytes());
    frame.extend_from_slice(&payload);
    frame
}

#[test]
fn a_frame_that_inflates_a_thousandfold_is_damage() {
    let scratch = Scratch::new();
    let directory = scratch.path("open");
    let mut writer = Writer::create(&directory, Manifest::new(&["test".into()])).unwrap();
    writer.accept(&RowBatch::from_rows(&[event("one")]).unwrap()).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let bomb = zstd::bulk::compress(&vec![0; 300 << 20], 1).unwrap();
    // Lengths that the bytes do not have: of a message, of its body.
    let lengths = [&[0xff; 4][..], &0x7fff_fff0_u32.to_le_bytes(), &[0x10; 64]].concat();
    let mut journal = std::fs::OpenOptions::new().append(true).open(directory.join("journal")).unwrap();
    for body in [&bomb, &lengths] {
        journal.write_all(&frame("event", body)).unwrap();
    }
    assert!(journal.metadata().unwrap().len() < 1 << 20);
    drop(journal);
    let (output, peak_mib) = peak(&["export", directory.to_str().unwrap(), "event", "--memory", "64m"]);
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    assert!(peak_mib < 64 + BESIDE_MIB, "{peak_mib} MiB");
    let reader = recording::Reader::open(&directory).unwrap();
    assert_eq!(reader.table::<Event>().unwrap().len(), 1);
    assert!(reader.unreadable_bytes().unwrap() > bomb.len() as u64);
}

/// I/Os of a trace, sealed.
fn trace(scratch: &Scratch, count: u64) -> PathBuf {
    let directory = scratch.path("trace");
    let names = IoNames { devices: vec![(8 << 20, "sda".to_string())], ..IoNames::default() };
    let mut writer = Writer::create(&directory, Manifest::new(&["test".into()])).unwrap();
    let started_ns = writer.started_t_ns();
    let io = |number: u64| -> RawIo {
        let mut io = IoRecord::of(&[0; IO_RECORD_BYTES]);
        io.queue_ns = started_ns + number * 10_000;
        (io.issue_ns, io.complete_ns) = (io.queue_ns + 2000, io.queue_ns + 80_000 + number % 97 * 1000);
        (io.sector, io.bytes, io.dev) = (number * 977 % (1 << 30), 4096, 8 << 20);
        io.op = u8::from(number.is_multiple_of(3));
        io.to_raw()
    };
    for first in (0..count).step_by(10_000) {
        let records: Vec<RawIo> = (first..count.min(first + 10_000)).map(io).collect();
        writer.accept_ios(&names, &records).unwrap();
        writer.commit().unwrap();
    }
    writer.seal().unwrap()
}

fn what_is_no_bomb_is_read(count: u64, limit: &str) {
    let scratch = Scratch::new();
    let directory = trace(&scratch, count);
    let path = directory.to_str().unwrap();
    let chart = scratch.path("chart.svg").to_string_lossy().into_owned();
    for arguments in [
        ["export", path, "io", "--csv"].as_slice(),
        &["report", path],
        &["diagnose", path],
        &["chart", path, "trace.histogram", "-o", &chart],
    ] {
        let (output, peak_mib) = peak(&[arguments, &["--memory", limit]].concat());
        // 9: a finding.
        let is_done = output.code == Some(0) || arguments[0] == "diagnose" && output.code == Some(9);
        assert!(is_done, "{arguments:?}: {} ({peak_mib} MiB)", output.stderr);
    }
}

#[test]
fn what_is_no_bomb_is_read_with_a_modest_limit() {
    what_is_no_bomb_is_read(100_000, "128m");
}

#[test]
#[ignore = "two million I/Os: minutes"]
fn soak_what_is_no_bomb_is_read_with_a_modest_limit() {
    what_is_no_bomb_is_read(2_000_000, "256m");
}

/// `ulimit -v`: at whatever point there is no more.
#[test]
fn where_the_system_refuses_memory_a_recording_ends_with_a_sentence() {
    let scratch = Scratch::new();
    let mut refused = 0;
    // How much it takes depends on how it was built, and on the number of processors: less than the last is enough everywhere.
    let (tight, ample) = ([60_000, 120_000, 160_000, 200_000, 400_000], 4_000_000);
    for kib in tight.into_iter().chain([ample]) {
        let name = format!("r{kib}");
        let script = format!("ulimit -v {kib}; exec '{IODYNO}' record -o {name} --for 1s");
        let output = TestCommand::new("sh").args(["-c", &script]).dir(scratch.path("")).run().unwrap();
        match output.code {
            Some(0) => assert!(scratch.path(&name).join("manifest.json").exists(), "{kib}: {}", output.stderr),
            // Before iodyno has begun, the loader says it, or the kernel ends what does not fit.
            Some(127) | None => assert!(kib < 100_000, "{kib}: {}", output.stderr),
            _ => {
                assert!(kib < ample, "{kib}: {}", output.stderr);
                let output = output.expect_code(6);
                // The library that compresses asks the system itself; its refusal comes as an error of the file.
                let is_library =
                    output.stderr.contains("Allocation error") && output.stderr.contains("failed to write");
                let words = if is_library { &[][..] } else { &["the system refuses", "of memory", "ulimit -v"] };
                assert_ended(&output, words);
                refused += 1;
            }
        }
        // What was written is a recording.
        if scratch.path(&name).join("manifest.json").exists() {
            TestCommand::new(IODYNO).args(["export", &name]).dir(scratch.path("")).run().unwrap().expect_code(0);
        }
    }
    assert!(refused > 0, "none of the limits was one");
}
