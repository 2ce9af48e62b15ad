//! What a recovery finds, and what it cannot see, has consequences: damage prevents the load, and nothing is called right unread.

use crate::support::Scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use testkit::CommandOutput;

/// Bytes of a transfer.
const BLOCK: u64 = 8192;

/// Storages of 1 MiB each at these paths, each used by a workload with so many per cent of reads; `None`: by none.
fn load(storages: &[(&Path, Option<u32>)]) -> String {
    let mut text = String::new();
    for (number, (lun, _)) in (1..).zip(storages) {
        text += &format!("sd=sd{number},lun={},size=1m\n", lun.display());
    }
    for (number, (_, reads)) in (1..).zip(storages) {
        if let Some(reads) = reads {
            text += &format!("wd=wd{number},sd=sd{number},xfersize=8k,rdpct={reads}\n");
        }
    }
    text + "rd=rd1,wd=wd*,iorate=300,elapsed=2,interval=1\n"
}

struct Place {
    scratch: Scratch,
    /// On another device.
    memory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { scratch: Scratch::new(), memory: tempfile::tempdir_in("/dev/shm").unwrap() }
    }

    fn data(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn run(&self, name: &str, text: &str, more: &[&str]) -> CommandOutput {
        let journal = self.memory.path().join("j");
        let fixed = ["--no-counters", "--no-report", "--verify", "--journal", journal.to_str().unwrap()];
        self.scratch.run(name, text, &[&fixed[..], more].concat())
    }

    fn writes(&self, name: &str) -> bool {
        self.scratch.table(name, "run_total").iter().any(|row| row["op"] == "write")
    }

    /// How much of what is known the recording says was read at the end, of both in blocks; `None`: not known.
    fn coverage(&self, name: &str) -> Option<(i64, i64)> {
        let rows = self.scratch.table(name, "data_check");
        let newest: BTreeMap<&str, &Value> = rows.iter().map(|row| (row["target"].as_str().unwrap(), row)).collect();
        let sum = |column: &str| newest.values().map(|row| row[column].as_i64()).sum::<Option<i64>>();
        sum("swept_blocks").zip(sum("known_blocks"))
    }

    fn addresses(&self, name: &str) -> Vec<u64> {
        self.scratch.table(name, "data_error").iter().map(|row| row["address"].as_u64().unwrap()).collect()
    }
}

fn says(output: &CommandOutput, words: &str) {
    assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
}

fn never_says(output: &CommandOutput, words: &[&str]) {
    assert!(words.iter().all(|words| !output.stderr.contains(words)), "{words:?}: {}", output.stderr);
}

/// Empties a block, and leaves the file iodyno's own as far as its time of change says.
fn empty(path: &Path, address: u64) {
    put(path, address, &vec![0; usize::try_from(BLOCK).unwrap()]);
}

/// Writes there, as secretly.
fn put(path: &Path, address: u64, bytes: &[u8]) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(bytes, address).unwrap();
    file.set_modified(modified).unwrap();
}

const ALL_RIGHT: [&str; 2] = ["all that the journal says must be there is there", "no byte was lost"];

#[test]
fn damage_that_a_recovery_finds_prevents_the_load() {
    let place = Place::new();
    let data = place.data("data");
    let text = load(&[(&data, Some(50))]);
    place.run("first", &text, &[]).expect_code(0);
    for block in [3, 70, 71] {
        empty(&data, block * BLOCK);
    }
    let before = std::fs::read(&data).unwrap();
    // The second time, too: what was found once is not forgotten.
    for name in ["second", "third"] {
        let output = place.run(name, &text, &["--recover"]).expect_code(4);
        says(&output, "3 blocks are damaged: the load did not begin");
        says(&output, "data_errors=51");
        says(&output, "coverage 100 %: 3 blocks are damaged: 3 zeroes");
        assert_eq!(place.addresses(name), [3 * BLOCK, 70 * BLOCK, 71 * BLOCK]);
        assert!(!place.writes(name) && std::fs::read(&data).unwrap() == before, "{}", output.stderr);
    }
    // Who says how many are borne goes on.
    let output = place.run("fourth", &format!("data_errors=60\n{text}"), &["--recover"]).expect_code(4);
    never_says(&output, &["did not begin"]);
    assert!(place.writes("fourth") && std::fs::read(&data).unwrap() != before);
}

#[test]
fn a_plan_that_only_reads_checks_what_the_journal_knows() {
    let place = Place::new();
    let data = place.data("data");
    place.run("first", &load(&[(&data, Some(0))]), &[]).expect_code(0);
    let reading = load(&[(&data, Some(100))]);
    let output = place.run("right", &reading, &["--recover"]).expect_code(0);
    ALL_RIGHT.iter().for_each(|words| says(&output, words));
    let runs = place.scratch.table("right", "data_check");
    // Of each pass over everything, and not of all passes.
    let swept: Vec<i64> = runs.iter().filter_map(|row| row["swept_blocks"].as_i64()).collect();
    assert!(swept.iter().all(|blocks| *blocks == 128) && swept.len() == 2, "{swept:?}");
    empty(&data, 5 * BLOCK);
    let output = place.run("wrong", &reading, &["--recover"]).expect_code(4);
    says(&output, "1 block is damaged: the load did not begin");
    assert_eq!(place.addresses("wrong"), [5 * BLOCK]);
}

#[test]
fn targets_of_the_journal_are_checked_or_named() {
    let place = Place::new();
    let (one, two) = (place.data("one"), place.data("two"));
    place.run("first", &load(&[(&one, Some(50)), (&two, Some(50))]), &[]).expect_code(0);
    empty(&two, 9 * BLOCK);
    for (name, reads) in [("unused", None), ("read", Some(100))] {
        for flag in ["--recover", "--recover-only"] {
            let name = format!("{name}{flag}");
            let output = place.run(&name, &load(&[(&one, Some(50)), (&two, reads)]), &[flag]).expect_code(4);
            says(&output, "2 MiB checked, coverage 100 %: 1 block is damaged: 1 zeroes");
            assert_eq!(place.addresses(&name), [9 * BLOCK], "{}", output.stderr);
        }
    }
    let left =
        format!("not checked, although the journal says what must be there: 1 MiB of sd2 ({}), which", two.display());
    for flag in ["--recover", "--recover-only"] {
        let output = place.run(&format!("without{flag}"), &load(&[(&one, Some(50))]), &[flag]).expect_code(0);
        never_says(&output, &ALL_RIGHT);
        never_says(&output, &["coverage 100 %"]);
        says(
            &output,
            &format!(
                "coverage 50.00 %: what was read was right; the rest is not proved; {left} this load does not have"
            ),
        );
        assert_eq!(output.stderr.matches(&left).count(), if flag == "--recover" { 2 } else { 1 }, "{}", output.stderr);
    }
    std::fs::remove_file(&two).unwrap();
    let output = place.run("gone", &load(&[(&one, Some(50)), (&two, None)]), &["--recover"]).expect_code(0);
    says(&output, &format!("{left} cannot be read here"));
    never_says(&output, &ALL_RIGHT);
    assert!(!two.exists());
}

#[test]
fn blocks_behind_the_end_are_lost_or_named() {
    let place = Place::new();
    let data = place.data("data");
    let text = load(&[(&data, Some(50))]);
    place.run("first", &text, &[]).expect_code(0);
    empty(&data, 100 * BLOCK);
    let half = text.replace("size=1m", "size=512k");
    for flag in ["--recover", "--recover-only"] {
        let output = place.run(&format!("half{flag}"), &half, &[flag]).expect_code(0);
        never_says(&output, &ALL_RIGHT);
        says(&output, "512 KiB of sd1 (");
        says(&output, "behind the 512 KiB that this load uses");
        says(&output, "coverage 50.00 %: what was read was right");
        assert_eq!(place.coverage(&format!("half{flag}")), Some((64, 128)), "the verdict and the recording agree");
    }
    // Half of it is gone.
    std::fs::File::options().write(true).open(&data).unwrap().set_len(512 << 10).unwrap();
    let output = place.run("shrunk", &text.replace(",size=1m", ""), &["--recover-only"]).expect_code(4);
    says(&output, "ends at 512 KiB, and the journal knows 512 KiB of it behind that: they are lost");
    says(&output, "coverage 50.00 %: 64 blocks are damaged: 64 short_read");
    let lost: Vec<u64> = (64..128).map(|block| block * BLOCK).collect();
    assert_eq!(place.addresses("shrunk"), lost);
    assert_eq!(place.coverage("shrunk"), Some((64, 128)), "what is lost is known, too");
}

#[test]
fn a_file_that_lacks_what_was_written_is_neither_made_nor_extended() {
    let place = Place::new();
    let data = place.data("data");
    let text = load(&[(&data, Some(0))]);
    place.run("first", &text, &[]).expect_code(0);
    let open = || std::fs::File::options().write(true).open(&data).unwrap();
    // A half, nothing in it, no file.
    for (name, left, lost) in [("half", Some(512 << 10), 64), ("empty", Some(0), 128), ("gone", None, 128)] {
        match left {
            Some(bytes) => open().set_len(bytes).unwrap(),
            None => std::fs::remove_file(&data).unwrap(),
        }
        for flag in ["--recover", "--recover-only", "--recover"] {
            let path = format!("{name}{flag}{}", place.memory.path().join("j").read_dir().unwrap().count());
            let _ = std::fs::remove_dir_all(place.data(&path));
            let output = place.run(&path, &text, &[flag]).expect_code(4);
            says(&output, &format!("{lost} blocks are damaged: {lost} short_read"));
            assert_eq!(output.stderr.contains("the load did not begin"), flag == "--recover", "{}", output.stderr);
            let verdicts = place.scratch.table(&path, "data_verdict");
            assert!(verdicts.len() == lost && verdicts.iter().all(|row| row["class"] == "short_read"));
            assert_eq!(std::fs::metadata(&data).ok().map(|facts| facts.len()), left, "{}", output.stderr);
        }
    }
}
/// A segment of its journal.
fn segment(place: &Place, number: u32) -> std::fs::File {
    let path = place.memory.path().join(format!("j/{number:08}.journal"));
    std::fs::File::options().read(true).write(true).open(path).unwrap()
}

/// Nothing is proved of what a journal with a hole has forgotten, and no load writes over it.
fn proves_only_what_is_left(place: &Place, text: &str, why: &str) {
    let data = place.data("data");
    let before = std::fs::read(&data).unwrap();
    let output = place.run("refused", text, &["--recover"]).expect_code(2);
    says(&output, &format!("a part of what it says of sd1 ({}) cannot be read (", data.display()));
    says(&output, why);
    says(&output, "nothing was read or written; check what is left of it with --recover-only (-jro); to begin anew");
    assert!(std::fs::read(&data).unwrap() == before);
    let output = place.run("only", text, &["--recover-only"]).expect_code(0);
    never_says(&output, &ALL_RIGHT);
    never_says(&output, &["coverage 100 %"]);
    says(&output, "coverage unknown: what was read was right; the rest is not proved; the journal has lost a part");
    says(&output, why);
    assert_eq!(place.coverage("only"), None);
    let journal = place.memory.path().join("j");
    let arguments = ["verify", data.to_str().unwrap(), "--journal", journal.to_str().unwrap()];
    let output = place.scratch.iodyno(&arguments).run().unwrap().expect_code(0);
    for words in ["it has lost a part, and the rest is not proved", "it could be read in part", why] {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
}

/// Two sessions write to a file; then one of its blocks has the write of the first one again. Gives the parameters.
fn with_a_lost_write(place: &Place) -> String {
    let data = place.data("data");
    let text = load(&[(&data, Some(0))]).replace("rdpct=0", "rdpct=0,seekpct=seq");
    place.run("first", &text, &[]).expect_code(0);
    let before = std::fs::read(&data).unwrap();
    let output = place.run("second", &text, &["--recover"]).expect_code(0);
    says(&output, "the last write to every block that the journal has must be there\n");
    let at = usize::try_from(100 * BLOCK).unwrap();
    put(&data, at as u64, &before[at..][..usize::try_from(BLOCK).unwrap()]);
    text
}

#[test]
fn a_journal_with_a_damaged_record_proves_only_what_it_still_knows() {
    let place = Place::new();
    let text = with_a_lost_write(&place);
    // The second session is known to have written ten blocks.
    let (records, at, mut byte) = (segment(&place, 2), 8192 + 10 * 32 + 17, [0]);
    records.read_exact_at(&mut byte, at).unwrap();
    records.write_all_at(&[byte[0] ^ 1], at).unwrap();
    proves_only_what_is_left(&place, &text, "segment 00000002.journal is damaged: ");
    records.write_all_at(&byte, at).unwrap();
    let output = place.run("whole", &text, &["--recover-only"]).expect_code(4);
    says(&output, "coverage 100 %: 1 block is damaged: 1 lost_write");
}

#[test]
fn a_segment_that_lost_its_end_is_no_session_that_died() {
    let place = Place::new();
    let text = with_a_lost_write(&place);
    let reading = text.replace("rdpct=0", "rdpct=100");
    let output = place.run("third", &reading, &["--recover"]).expect_code(4);
    says(&output, "1 block is damaged: 1 lost_write");
    // Between two records: nothing else tells.
    let cut = segment(&place, 2);
    cut.set_len(8192 + 10 * 32).unwrap();
    proves_only_what_is_left(
        &place,
        &text,
        "segment 00000002.journal has lost its end: it ends behind 8512 bytes, and had ",
    );
    // The last segment may end anywhere, as when its command was killed.
    segment(&place, 3).set_len(8192).unwrap();
    std::fs::remove_file(place.memory.path().join("j/00000003.journal")).unwrap();
    let output = place.run("last", &text, &["--recover"]).expect_code(0);
    says(&output, "the last one died, and the machine runs since");
    ALL_RIGHT.iter().for_each(|words| says(&output, words));
    // That it died is known for good.
    let output = place.run("behind", &reading, &["--recover-only"]).expect_code(0);
    says(&output, "coverage 100 %: no byte was lost");
}

#[test]
fn what_a_later_execution_wrote_is_called_so_each_time() {
    let place = Place::new();
    let data = place.data("data");
    let text = load(&[(&data, Some(0))]).replace("rdpct=0", "rdpct=0,seekpct=seq");
    place.run("first", &text, &[]).expect_code(0);
    // Stamps have seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let output = place.scratch.run("beside", &text, &["--no-counters", "--no-report", "--verify"]).expect_code(0);
    never_says(&output, &["journal"]);
    for (name, flag) in [("one", "--recover"), ("two", "--recover"), ("three", "--recover-only")] {
        let output = place.run(name, &text, &[flag]).expect_code(4);
        says(&output, "128 blocks are damaged: 128 other_run");
        never_says(&output, &["older_run"]);
    }
}

/// A journal whose program says that a file has such a size and such blocks, and that it wrote so many of them.
fn false_journal(journal: &Path, data: &Path, (size_bytes, block_bytes): (u64, u64), blocks: u64) {
    let target = data_journal::JournalTarget {
        name: "sd1".to_string(),
        device: validation::device_id(std::fs::canonicalize(data).unwrap().to_str().unwrap()),
        size_bytes,
        block_bytes,
        runs: [1].into(),
        is_synchronous: false,
        is_trimmed: false,
        tree: None,
    };
    let header = data_journal::SessionHeader::new(5, vec![target]);
    let written = data_journal::Journal::create(journal, header, data_journal::JournalOptions::default()).unwrap();
    written.done(0, (0, blocks), 0, |_| Some(4));
    written.end().unwrap();
}

#[test]
fn a_false_size_costs_no_time_for_each_of_its_blocks() {
    let place = Place::new();
    let data = place.data("data");
    std::fs::write(&data, vec![0; 4 << 20]).unwrap();
    let journal = place.memory.path().join("j");
    // 32 GiB in blocks of 8 KiB.
    let (blocks, there) = (1 << 22, 512);
    false_journal(&journal, &data, (blocks * BLOCK, BLOCK), blocks);
    let text = load(&[(&data, Some(50))]).replace(",size=1m", "");
    let output = place.run("only", &text, &["--recover-only"]).expect_code(4);
    says(
        &output,
        &format!("coverage 0.01 %: {blocks} blocks are damaged: {there} zeroes, {} short_read", blocks - there),
    );
    assert!(place.addresses("only").len() <= 200_000);
    let arguments = ["verify", data.to_str().unwrap(), "--journal", journal.to_str().unwrap(), "--json"];
    let output = place.scratch.iodyno(&arguments).run().unwrap().expect_code(4);
    let found: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let classes = serde_json::json!({ "zeroes": there, "short_read": blocks - there });
    assert_eq!((&found["journal"]["known_blocks"], &found["journal"]["classes"]), (&blocks.into(), &classes));
}

/// Gives the targets of a journal's only segment blocks of another length.
fn put_block_bytes(segment: &std::fs::File, block_bytes: u64) {
    let mut copy = vec![0; 4096];
    segment.read_exact_at(&mut copy, 0).unwrap();
    let length = usize::try_from(u32::from_le_bytes(copy[8..12].try_into().unwrap())).unwrap();
    let text = std::str::from_utf8(&copy[32..32 + length]).unwrap();
    let text = text.replace(&format!("\"block_bytes\":{BLOCK},"), &format!("\"block_bytes\":{block_bytes},"));
    let step = |crc: u32, _: u32| if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ 0x82f6_3b78 };
    let crc = !text.bytes().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(byte), step));
    copy.truncate(8);
    copy.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
    copy.extend(crc.to_le_bytes());
    copy.resize(32, 0);
    copy.extend(text.as_bytes());
    copy.resize(4096, 0);
    segment.write_all_at(&copy.repeat(2), 0).unwrap();
}

#[test]
fn blocks_as_no_load_has_them_are_refused() {
    let place = Place::new();
    let data = place.data("data");
    std::fs::write(&data, vec![0; 4 << 20]).unwrap();
    let text = load(&[(&data, Some(50))]);
    let journal = place.memory.path().join("j");
    for block_bytes in [0, 1, 3, 1 << 21] {
        false_journal(&journal, &data, (4 << 20, BLOCK), 1);
        put_block_bytes(&segment(&place, 1), block_bytes);
        let words = "segment 00000001.journal has a header of a target that cannot be";
        for flag in ["--recover", "--recover-only"] {
            let output = place.run(&format!("run{block_bytes}{flag}"), &text, &[flag]).expect_code(2);
            says(&output, words);
            says(&output, "nothing of it can be read");
        }
        let arguments = ["verify", data.to_str().unwrap(), "--journal", journal.to_str().unwrap()];
        let output = place.scratch.iodyno(&arguments).run().unwrap().expect_code(2);
        says(&output, words);
        std::fs::remove_dir_all(&journal).unwrap();
    }
}

#[test]
fn what_was_never_flushed_is_not_proved_by_the_load_behind_it() {
    let place = Place::new();
    let data = place.data("data");
    std::fs::write(&data, vec![0; 1 << 20]).unwrap();
    // Written, and never flushed.
    false_journal(&place.memory.path().join("j"), &data, (1 << 20, BLOCK), 128);
    let text = load(&[(&data, Some(0))]);
    let arguments = ["--recover", "--after-crash", "--destroy", data.to_str().unwrap()];
    let output = place.run("cut", &text, &arguments).expect_code(0);
    says(&output, "nothing of what lay there was proved");
    says(
        &output,
        "coverage unknown: what was read was right; the rest is not proved; of what lay there before the load nothing is proved; 128 \
         blocks that no flush covered before the power cut may hold anything: only counted",
    );
    assert_eq!(place.coverage("cut"), None);
    never_says(&output, &ALL_RIGHT);
}
