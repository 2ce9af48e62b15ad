//! `verify`, `inspect` and `inject` on files and devices that hold stamped data.

use crate::support::{FaultyDisk, Scratch};
use serde_json::Value;
use stamp::{BlockWriter, StampFlags, WriteStamp};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;
use testkit::{CommandOutput, FileSystem, LoopDevice, MountedFileSystem, require_root_or_skip, sha256};

const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;
const RUN: u64 = 0x0123_4567_89ab_cdef;

/// Writes blocks of 4 KiB to a part of a target, each with a write of its own, as the target of this name.
fn fill_as(path: &Path, name: &str, part: std::ops::Range<u64>, run: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let mut buffer = vec![0; usize::try_from(BLOCK).unwrap()];
    for at in part.step_by(usize::try_from(BLOCK).unwrap()) {
        let write = WriteStamp {
            flags: StampFlags::default(),
            run,
            device: validation::device_id(name),
            sequence: 100 + at / BLOCK,
            writer: 2,
            epoch: 5,
            written_s: 1_764_331_200,
        };
        BlockWriter::new(1.0).fill(&mut buffer, (at, BLOCK), &write, |_| 9);
        file.write_all_at(&buffer, at).unwrap();
    }
    file.sync_all().unwrap();
}

fn name_of(path: &Path) -> String {
    path.canonicalize().unwrap().to_string_lossy().into_owned()
}

/// The same under its own name.
fn fill(path: &Path, part: std::ops::Range<u64>) {
    fill_as(path, &name_of(path), part, RUN);
}

/// A file of so many bytes, of which the first whole blocks are stamped.
fn stamped(scratch: &Scratch, name: &str, bytes: u64) -> String {
    let path = scratch.path(name);
    File::create(&path).unwrap().set_len(bytes).unwrap();
    fill(&path, 0..bytes / BLOCK * BLOCK);
    if !bytes.is_multiple_of(BLOCK) {
        // The end is no hole.
        OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&[1], bytes - 1).unwrap();
    }
    path.to_str().unwrap().to_string()
}

fn run(scratch: &Scratch, arguments: &[&str]) -> CommandOutput {
    scratch.iodyno(arguments).run().unwrap()
}

/// The report of `verify` that ends with this exit code.
fn verify(scratch: &Scratch, path: &str, more: &[&str], code: i32) -> Value {
    let output = run(scratch, &[&["verify", path, "--json"], more].concat()).expect_code(code);
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
}

/// Class and address of every damage of a report.
fn damages(report: &Value) -> Vec<(String, u64)> {
    let list = report["damages"].as_array().unwrap();
    let one = |damage: &Value| (damage["class"].as_str().unwrap().to_string(), damage["address"].as_u64().unwrap());
    let found: Vec<_> = list.iter().map(one).collect();
    assert_eq!(report["damaged_blocks"].as_u64().unwrap(), found.len() as u64);
    found
}

#[test]
fn clean_targets_of_any_size_are_right_and_say_who_wrote_them() {
    let scratch = Scratch::new();
    for bytes in [4096, 4097, 8191, 3 * MIB, 3 * MIB + 512, 5 * MIB + 100] {
        let path = stamped(&scratch, "data", bytes);
        let report = verify(&scratch, &path, &[], 0);
        let whole = bytes / BLOCK * BLOCK;
        assert_eq!(report["bytes"]["stamped"], whole, "{bytes}");
        let of_all: u64 = report["bytes"].as_object().unwrap().values().map(|bytes| bytes.as_u64().unwrap()).sum();
        assert_eq!((of_all, report["bytes"]["tail"].as_u64().unwrap()), (bytes, bytes % 512), "{bytes}");
        assert_eq!((&report["complete"], &report["device_from"]), (&Value::Bool(true), &"own_name".into()));
        let only = &report["runs"].as_array().unwrap()[..];
        assert_eq!(only.len(), 1);
        assert_eq!((only[0]["run"].as_str(), only[0]["bytes"].as_u64()), (Some("0123456789abcdef"), Some(whole)));
        assert_eq!(
            (only[0]["first_write"].as_u64(), only[0]["last_write"].as_u64()),
            (Some(100), Some(99 + whole / BLOCK))
        );
    }
    let output = run(&scratch, &["verify", "data"]).expect_code(0);
    for words in ["no damage; 5 MiB stamped and right", "2025-11-28 12:00:00 UTC", "0123456789abcdef", "100 … 1,379"]
    {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
    // Nothing is changed by looking.
    let before = sha256(scratch.path("data")).unwrap();
    run(&scratch, &["inspect", "data", "--at", "4096"]).expect_code(0);
    assert_eq!(sha256(scratch.path("data")).unwrap(), before);
}

#[test]
fn what_was_never_stamped_is_no_success() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("text"), "a text\n".repeat(10_000)).unwrap();
    let output = run(&scratch, &["verify", "text"]).expect_code(2);
    assert!(output.stderr.contains("nothing was verified"), "{}", output.stderr);
    run(&scratch, &["verify", "nowhere"]).expect_code(3);
    std::fs::write(scratch.path("short"), "short").unwrap();
    run(&scratch, &["verify", "short"]).expect_code(2);
    std::fs::write(scratch.path("empty"), "").unwrap();
    assert_eq!(run(&scratch, &["verify", "empty"]).code, Some(3));
    run(&scratch, &["verify", "."]).expect_code(2);
    run(&scratch, &["verify", "text", "--block", "700"]).expect_code(2);
}

#[test]
fn holes_are_not_read_and_zeroes_are_counted() {
    let scratch = Scratch::new();
    let path = scratch.path("sparse");
    File::create(&path).unwrap().set_len(4 << 30).unwrap();
    fill(&path, 16 * MIB..18 * MIB);
    fill(&path, (1 << 31)..(1 << 31) + MIB);
    let report = verify(&scratch, path.to_str().unwrap(), &[], 0);
    assert_eq!(report["bytes"]["stamped"], 3 * MIB);
    let (holes, zeroes) = (report["bytes"]["hole"].as_u64().unwrap(), report["bytes"]["zeroes"].as_u64().unwrap());
    assert_eq!(holes + zeroes, (4 << 30) - 3 * MIB);
    assert!(holes > 3 << 30, "{holes} bytes of holes");
}

/// Kinds of `inject`, whether `verify` needs `--block` for them, and how it may call them; none: it cannot know.
const KINDS: [(&str, bool, &[&str]); 11] = [
    ("bit_rot", false, &["bit_rot"]),
    ("corrupt", false, &["bit_rot", "corrupt"]),
    ("torn", true, &["torn_write"]),
    ("lost", false, &[]),
    ("misdirected", false, &["misdirected_write"]),
    ("duplicated", false, &["misdirected_write", "duplicated_write"]),
    ("swapped", false, &["swapped_sectors"]),
    ("other_device", false, &["other_device"]),
    ("older_run", false, &[]),
    ("foreign", false, &[]),
    ("zeroes", false, &[]),
];

/// Injects each kind into so many blocks, and looks for it.
fn every_kind(scratch: &Scratch, path: &str, count: &str, destroy: &[&str], refill: &dyn Fn()) {
    for (seed, (kind, needs_block, classes)) in KINDS.into_iter().enumerate() {
        refill();
        let seed = seed.to_string();
        let arguments = ["inject", "--kind", kind, path, "--random", count, "--seed", &seed, "--json"];
        let output = run(scratch, &[&arguments[..], destroy].concat()).expect_code(0);
        let done = output.ndjson();
        let wanted = if kind == "misdirected" { 2 } else { 1 } * count.parse::<usize>().unwrap();
        assert_eq!(done.len(), wanted, "{kind}: {}", output.stdout);
        assert!(done.iter().all(|block| block["changed_bytes"].as_u64().unwrap() > 0), "{kind}: {}", output.stdout);
        let code = if classes.is_empty() { 0 } else { 4 };
        let block: &[&str] = if needs_block { &["--block", "4k"] } else { &[] };
        let report = verify(scratch, path, block, code);
        let found = damages(&report);
        if classes.is_empty() {
            assert!(found.is_empty(), "{kind}: {found:?}");
            continue;
        }
        let mut places: Vec<u64> = done
            .iter()
            .filter(|block| block["kind"] != "write_went_astray")
            .map(|block| block["address"].as_u64().unwrap())
            .collect();
        places.sort_unstable();
        assert_eq!(found.iter().map(|(_, at)| *at).collect::<Vec<_>>(), places, "{kind}");
        assert!(found.iter().all(|(class, _)| classes.contains(&class.as_str())), "{kind}: {found:?}");
        // Each of them, looked at closely.
        let (_, at) = found[0];
        let inspected = run(scratch, &["inspect", path, "--at", &format!("{at:#x}"), "--bytes", "4k", "--hex"]);
        if !needs_block {
            inspected.expect_code(4);
        }
    }
}

#[test]
fn what_is_injected_into_a_file_is_found_at_its_place() {
    let scratch = Scratch::new();
    let path = stamped(&scratch, "data", 4 * MIB);
    // A file that iodyno did not make: only when it is given up, as for any load.
    let before = sha256(&path).unwrap();
    let refused = run(&scratch, &["inject", "--kind", "bit_rot", &path, "--random", "1"]).expect_code(7);
    assert!(refused.stderr.contains("--destroy"), "{}", refused.stderr);
    assert_eq!(sha256(&path).unwrap(), before);
    let refill = || fill(Path::new(&path), 0..4 * MIB);
    every_kind(&scratch, &path, "7", &["--destroy", &path], &refill);
    // The same seed, the same damage; the list in a file.
    let mut texts = Vec::new();
    for _ in 0..2 {
        refill();
        let arguments = ["inject", "--kind", "foreign", &path, "--random", "3", "--seed", "9", "--destroy", &path];
        let listed = ["--list", "damage.json", "--force"];
        let output = run(&scratch, &[&arguments[..], &listed].concat()).expect_code(0);
        let list = std::fs::read_to_string(scratch.path("damage.json")).unwrap();
        assert_eq!((list.lines().count(), output.stdout.lines().count()), (3, 3));
        texts.push((list, output.stdout, sha256(&path).unwrap()));
    }
    assert_eq!(texts[0], texts[1]);
    refill();
    let taken = ["inject", "--kind", "zeroes", &path, "--at", "0", "--destroy", &path, "--list", "damage.json"];
    let before = sha256(&path).unwrap();
    run(&scratch, &taken).expect_code(2);
    assert_eq!(sha256(&path).unwrap(), before, "the list could not be written, so nothing was done");
}

#[test]
fn only_right_blocks_of_this_target_are_damaged() {
    let scratch = Scratch::new();
    let path = stamped(&scratch, "data", MIB);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let (zero, foreign, damaged, astray) = (0x10000_u64, 0x20000_u64, 0x30000_u64, 0x40000_u64);
    file.write_all_at(&[0; 4096], zero).unwrap();
    file.write_all_at(b"other data", foreign + 512).unwrap();
    file.write_all_at(&[0x55], damaged + 100).unwrap();
    let mut block = vec![0; 4096];
    File::open(&path).unwrap().read_exact_at(&mut block, 0).unwrap();
    file.write_all_at(&block, astray).unwrap();
    file.sync_all().unwrap();
    let before = sha256(&path).unwrap();
    let inject =
        |more: &[&str]| run(&scratch, &[&["inject", "--kind", "foreign", &path, "--destroy", &path], more].concat());
    for at in [zero, foreign, damaged, astray] {
        // One bad place, and none of the good ones is touched.
        let refused = inject(&["--at", "0x1000", "--at", &at.to_string()]).expect_code(7);
        assert!(refused.stderr.contains("refused to damage") && refused.stdout.is_empty(), "{}", refused.stderr);
    }
    for (arguments, code) in [
        (&["--at", "100"][..], 2),
        (&["--at", "1m"], 2),
        (&["--at", "0x1000", "--block", "1000"], 2),
        (&["--at", "0x1000", "--as", "/dev/other"], 7),
        (&["--random", "300"], 7),
        (&["--random", "0"], 2),
        (&["--random", "1", "--destroy", "elsewhere"], 2),
        (&[], 2),
    ] {
        let refused = inject(arguments).expect_code(code);
        assert!(!refused.stderr.is_empty(), "{arguments:?}");
    }
    assert_eq!(sha256(&path).unwrap(), before);
    // All that are right can be asked for, and no more are.
    let output = inject(&["--random", "252"]).expect_code(0);
    assert_eq!(output.stdout.lines().count(), 252);
    let report = verify(&scratch, &path, &["--as", &name_of(Path::new(&path))], 4);
    assert_eq!(report["bytes"]["zeroes"], 4096);
}

#[test]
fn one_leg_is_checked_under_the_name_of_the_volume() {
    let scratch = Scratch::new();
    let path = scratch.path("leg");
    File::create(&path).unwrap().set_len(MIB).unwrap();
    fill_as(&path, "/dev/iodyno-volume", 0..MIB, RUN);
    let leg = path.to_str().unwrap();
    assert_eq!(verify(&scratch, leg, &[], 0)["device_from"], "majority");
    let report = verify(&scratch, leg, &["--as", "/dev/iodyno-volume"], 0);
    assert_eq!((&report["device_from"], &report["device_name"]), (&"asked".into(), &"/dev/iodyno-volume".into()));
    // Its own name is not the one that it was written under.
    let report = verify(&scratch, leg, &["--as", leg], 4);
    assert_eq!(report["classes"], serde_json::json!({"other_device": 256}));
    // Some of another volume among it, and of an earlier run.
    fill_as(&path, "/dev/another", 8192..16384, RUN);
    fill_as(&path, "/dev/iodyno-volume", 32768..36864, 5);
    let report = verify(&scratch, leg, &[], 4);
    assert_eq!(damages(&report), [("other_device".to_string(), 8192), ("other_device".to_string(), 12288)]);
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_place_is_shown_field_by_field() {
    let scratch = Scratch::new();
    let path = stamped(&scratch, "data", MIB);
    let shown = run(&scratch, &["inspect", &path, "--at", "0x2400"]).expect_code(0).stdout;
    for words in [
        "0x2400, sector 18: right",
        "run       0123456789abcdef",
        "this target's",
        "address   0x2400 (9,216 bytes), here",
        "write     102 of its run",
        "version   9 of its block",
        "sector 3 of 8 of the write, which went to 0x2000 … 0x3000",
        "written   2025-11-28 12:00:00 UTC",
        "writer    2",
        "epoch     5",
        "flags     none",
        "checksum  right",
        "before 0x2200: right",
        "behind 0x2600: right",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let file = OpenOptions::new().write(true).read(true).open(&path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 0x2400 + 300).unwrap();
    file.write_all_at(&[byte[0] ^ 4], 0x2400 + 300).unwrap();
    file.write_all_at(&[0; 512], 0x2600).unwrap();
    file.write_all_at(&[7; 512], 0x2800).unwrap();
    let shown = run(&scratch, &["inspect", &path, "--at", "0x2400", "--hex"]).expect_code(4).stdout;
    for words in
        ["bit_rot", "checksum  WRONG", "behind 0x2600: zeroes: zeroes; its block", "0x0000002520", "iodyno..dv.."]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let must: Vec<&str> = shown.lines().filter(|line| line.contains("was written")).collect();
    assert_eq!(must.len(), 1, "{shown}");
    assert!(must[0].ends_with(&format!(" {:02x}", byte[0])), "{shown}");
    let shown = run(&scratch, &["inspect", &path, "--at", "0x2400", "--bytes", "1536", "--json"]).expect_code(4).stdout;
    let json: Value = serde_json::from_str(&shown).unwrap();
    let what: Vec<&str> =
        json["sectors"].as_array().unwrap().iter().map(|sector| sector["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["stamped", "damaged", "damaged", "damaged", "stamped"]);
    assert_eq!(json["sectors"][1]["bits"], serde_json::json!([300 * 8 + 2]));
    // The ends, and behind them.
    let end = run(&scratch, &["inspect", &path, "--at", "0xffe00"]).expect_code(0).stdout;
    assert!(end.contains("ends, at 0x100000"), "{end}");
    run(&scratch, &["inspect", &path, "--at", "1m"]).expect_code(2);
    run(&scratch, &["inspect", &path, "--at", "0", "--bytes", "2m"]).expect_code(2);
}

#[test]
fn a_device_is_damaged_without_a_flag_and_a_mounted_one_never() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let device = LoopDevice::new(8 * MIB).unwrap();
    let path = device.path().to_str().unwrap();
    // Nothing of iodyno's.
    let refused = run(&scratch, &["inject", "--kind", "zeroes", path, "--random", "1"]).expect_code(7);
    assert!(refused.stderr.contains("nothing on it has a stamp"), "{}", refused.stderr);
    let refill = || fill(device.path(), 0..8 * MIB);
    every_kind(&scratch, path, "20", &[], &refill);
    // A file system in its place.
    let available = FileSystem::Ext4.is_available() || !testkit::lacks("ext4");
    if !available {
        return;
    }
    FileSystem::Ext4.make(device.path()).unwrap();
    let before = sha256(device.path()).unwrap();
    let (places, destroy) = (["--random", "1"], ["--destroy", path]);
    let inject = ["inject", "--kind", "zeroes", path];
    run(&scratch, &[&inject[..], &places].concat()).expect_code(7);
    assert_eq!(sha256(device.path()).unwrap(), before);
    let shown = run(&scratch, &["inspect", path, "--at", "1k"]).expect_code(0).stdout;
    assert!(shown.contains("ext2/ext3/ext4"), "{shown}");
    let mount = MountedFileSystem::device(device.path()).unwrap();
    let refused = run(&scratch, &[&inject[..], &places, &destroy].concat()).expect_code(7);
    assert!(refused.stderr.contains("is mounted at"), "{}", refused.stderr);
    // Reading is no harm.
    run(&scratch, &["verify", path]).expect_code(2);
    drop(mount);
}

#[test]
fn what_cannot_be_read_is_told_and_what_lies_behind_is_read() {
    let Some(disk) = FaultyDisk::new() else { return };
    let scratch = Scratch::new();
    let path = disk.device.path().to_str().unwrap();
    fill(disk.device.path(), 0..8 * MIB);
    disk.disk.control("eio read range 2097152-2105344").unwrap();
    let report = verify(&scratch, path, &[], 3);
    assert_eq!(report["unreadable"], serde_json::json!([{"address": 2 * MIB, "bytes": 8192}]));
    assert_eq!(report["bytes"]["stamped"], 8 * MIB - 8192);
    let shown = run(&scratch, &["inspect", path, "--at", "2m"]).expect_code(3).stdout;
    assert!(shown.contains("cannot be read"), "{shown}");
    // It is no damage, and hides none.
    let inject = ["inject", "--kind", "bit_rot", path, "--at"];
    let refused = run(&scratch, &[&inject[..], &["4m"]].concat()).expect_code(7);
    assert!(refused.stderr.contains("to see whether they hold data"), "{}", refused.stderr);
    let refused = run(&scratch, &[&inject[..], &["2m", "--destroy", path]].concat()).expect_code(3);
    assert!(refused.stdout.is_empty(), "{}", refused.stdout);
    run(&scratch, &[&inject[..], &["4m", "--destroy", path]].concat()).expect_code(0);
    let report = verify(&scratch, path, &[], 4);
    assert_eq!(damages(&report), [("bit_rot".to_string(), 4 * MIB)]);
    disk.disk.control("quiet").unwrap();
}

#[test]
fn an_interrupted_look_says_how_far_it_came() {
    let Some(disk) = FaultyDisk::new() else { return };
    let scratch = Scratch::new();
    fill(disk.device.path(), 0..MIB);
    disk.disk.control("delay 1s read").unwrap();
    let before = disk.disk.log().len();
    let child = scratch.iodyno(&["verify", disk.device.path().to_str().unwrap()]).spawn().unwrap();
    let until_ns = testkit::now_ns() + 60_000_000_000;
    while disk.disk.log().len() <= before + 2 && testkit::now_ns() < until_ns {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.signal(rustix::process::Signal::INT);
    let output = child.wait().unwrap();
    disk.disk.control("delay 0ms").unwrap();
    assert_eq!(output.code, Some(130), "{}", output.stderr);
    assert!(output.stderr.contains("ended early") && output.stdout.contains("NOT ALL"), "{}", output.stderr);
}

/// Whatever stands on a target, what is printed is text, and no check breaks down.
#[test]
fn hostile_content_is_shown_and_obeyed_by_nobody() {
    let scratch = Scratch::new();
    let path = stamped(&scratch, "da\u{1b}[2Jta\n", 64 * 1024);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at("\u{1b}]0;x\u{7}\u{202e}".repeat(200).as_bytes(), 5000).unwrap();
    let mut state = 1_u64;
    for block in 4..16 {
        let mut noise = vec![0; 4096];
        for byte in &mut noise {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = state.to_be_bytes()[0];
        }
        // Marks with noise behind them.
        if block % 2 == 0 {
            noise[..8].copy_from_slice(&stamp::SECTOR_MAGIC);
            noise[8..12].copy_from_slice(&stamp::STAMP_MARK);
            noise[13] = 56;
        }
        file.write_all_at(&noise, block * BLOCK).unwrap();
    }
    let at = (0..64_u64).map(|block| (block * 1024).to_string());
    let outputs = std::iter::once(run(&scratch, &["verify", &path]))
        .chain(at.map(|at| run(&scratch, &["inspect", &path, "--at", &at, "--bytes", "1k", "--hex"])));
    for output in outputs {
        assert!(matches!(output.code, Some(0 | 4)), "{:?}: {}", output.code, output.stderr);
        for text in [&output.stdout, &output.stderr] {
            assert!(text.chars().all(|c| c == '\n' || !quantity::visible::is_hidden(c)), "{text:?}");
        }
    }
}
