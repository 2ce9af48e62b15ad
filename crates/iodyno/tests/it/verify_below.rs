//! What `verify` and `inspect` say of a device below a file system, of names that nothing has, and of each other's places; and the
//! layout of stamps, by a reader that is none of iodyno's.

use crate::support::Scratch;
use crate::support::terminal::bytes_on_a_terminal;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use testkit::{CommandOutput, FileSystem, LoopDevice, MountedFileSystem, TestCommand, lacks, require_root_or_skip};

const MIB: u64 = 1 << 20;

fn run(scratch: &Scratch, arguments: &[&str]) -> CommandOutput {
    scratch.iodyno(arguments).run().unwrap()
}

/// The report of `verify` or `inspect` that ends with this exit code.
fn report(scratch: &Scratch, arguments: &[&str], code: i32) -> Value {
    let output = run(scratch, &[arguments, &["--json"]].concat()).expect_code(code);
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
}

/// A validated load that has written all of a target once.
fn load(scratch: &Scratch, name: &str, target: &Path, (size, transfer): (&str, &str)) {
    let text = format!(
        "sd=sd1,lun={},size={size},openflags=o_direct\nwd=wd1,sd=sd1,xfersize={transfer},rdpct=0,seekpct=eof\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1\n",
        target.display()
    );
    scratch.run(name, &text, &["--no-counters", "--verify"]).expect_code(0);
}

fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
    file.sync_all().unwrap();
}

/// Where data of files begin on a device.
fn of_files(report: &Value) -> Option<u64> {
    let areas = report["areas"].as_array().unwrap();
    areas.iter().find(|area| area["what"] == "of_files")?["address"].as_u64()
}

#[test]
fn data_of_files_below_a_file_system_are_no_damage_until_they_are_damaged() {
    if !require_root_or_skip() {
        return;
    }
    for file_system in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
        if !file_system.is_available() {
            lacks(file_system.name());
            continue;
        }
        let scratch = Scratch::new();
        let device = LoopDevice::new(file_system.min_bytes().max(64 * MIB)).unwrap();
        let path = device.path().to_str().unwrap();
        let mount = MountedFileSystem::make(file_system, device.path()).unwrap();
        load(&scratch, "loaded", &mount.path().join("f"), ("4m", "64k"));
        // A file that ends within a sector.
        let cut = mount.path().join("g");
        load(&scratch, "cut", &cut, ("64k", "64k"));
        OpenOptions::new().write(true).open(&cut).unwrap().set_len(5000).unwrap();
        drop(mount);
        let found = report(&scratch, &["verify", path], 0);
        let bytes = found["bytes"]["of_files"].as_u64().unwrap();
        assert!(bytes >= 4 * MIB, "{}: {found}", file_system.name());
        assert_eq!((&found["damaged_blocks"], &found["bytes"]["damaged"]), (&0.into(), &0.into()));
        let shown = run(&scratch, &["verify", path]).expect_code(0).stdout;
        for words in ["no damage;", "of files, as their stamps say", "  holds ", "files, each under its own name"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        let at = of_files(&found).unwrap();
        let shown = run(&scratch, &["inspect", path, "--at", &at.to_string()]).expect_code(0).stdout;
        assert!(shown.contains("data of a file, write") && shown.contains("in the file"), "{shown}");
        assert!(!shown.contains("NOT HERE") && !shown.contains("ANOTHER"), "{shown}");
        // A bit of the payload, and one of the head.
        flip(device.path(), at + 300);
        flip(device.path(), at + 1024 + 35);
        let found = report(&scratch, &["verify", path], 4);
        assert_eq!(found["classes"], serde_json::json!({"bit_rot": 2}), "{}", file_system.name());
        assert_eq!(found["damages"][0]["address"], at);
        for (place, code) in [(at, 4), (at + 512, 0), (at + 1024, 4)] {
            report(&scratch, &["inspect", path, "--at", &place.to_string()], code);
        }
    }
}

#[test]
fn without_a_file_system_what_went_astray_is_found() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let misdirected = |path: &str, more: &[&str]| {
        let inject = ["inject", "--kind", "misdirected", path, "--random", "2", "--destroy", path];
        run(&scratch, &[&inject[..], more].concat()).expect_code(0);
        assert_eq!(report(&scratch, &["verify", path], 4)["classes"]["misdirected_write"], 2);
    };
    let device = LoopDevice::new(4 * MIB).unwrap();
    load(&scratch, "device", device.path(), ("4m", "4k"));
    misdirected(device.path().to_str().unwrap(), &[]);
    // A device that is the copy of a file has its sectors where the file had them.
    let file = scratch.path("image");
    load(&scratch, "file", &file, ("4m", "4k"));
    let image = LoopDevice::over(&file).unwrap();
    let path = image.path().to_str().unwrap();
    assert_eq!(report(&scratch, &["verify", path], 0)["bytes"]["stamped"], 4 * MIB);
    misdirected(path, &[]);
    drop(image);
    let found = report(&scratch, &["verify", file.to_str().unwrap()], 4);
    assert_eq!(found["classes"]["misdirected_write"], 2);
}

/// What `inspect` says of all sectors of a file, as `verify` has it.
fn agree(scratch: &Scratch, path: &str, more: &[&str]) -> u64 {
    let verified = run(scratch, &[&["verify", path, "--json"], more].concat());
    let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
    let mut damaged = 0;
    for area in verified["areas"].as_array().unwrap() {
        let (at, bytes) = (area["address"].as_u64().unwrap(), area["bytes"].as_u64().unwrap());
        let (at, bytes) = (at.to_string(), bytes.min(MIB).to_string());
        let is_damaged = area["what"] == "damaged";
        let place = [&["inspect", path, "--at", &at, "--bytes", &bytes], more].concat();
        let seen = report(scratch, &place, if is_damaged { 4 } else { 0 });
        let sectors = seen["sectors"].as_array().unwrap();
        for sector in sectors.iter().filter(|sector| sector["asked"] == true) {
            assert_eq!(sector["what"], area["what"], "{sector}");
            damaged += u64::from(is_damaged);
        }
    }
    damaged * 512
}

#[test]
fn inspect_says_of_every_place_what_verify_says() {
    let scratch = Scratch::new();
    let target = scratch.path("data");
    load(&scratch, "loaded", &target, ("2m", "64k"));
    let path = target.to_str().unwrap();
    assert_eq!(agree(&scratch, path, &[]), 0);
    let kinds = ["foreign", "zeroes", "torn", "swapped", "bit_rot", "misdirected", "other_device"];
    for (kind, seed) in kinds.iter().zip(3..) {
        let seed = seed.to_string();
        let inject = ["inject", "--kind", kind, path, "--random", "1", "--seed", &seed, "--destroy", path];
        run(&scratch, &inject).expect_code(0);
    }
    let bytes = agree(&scratch, path, &[]);
    assert_eq!(report(&scratch, &["verify", path], 4)["bytes"]["damaged"], bytes);
    assert!(bytes > 0);
    agree(&scratch, path, &["--block", "4k"]);
    // The place that verify names is damaged there, too.
    for more in [&[][..], &["--block", "4096"]] {
        let said = run(&scratch, &[&["verify", path], more].concat()).expect_code(4).stdout;
        let hint = said.lines().find_map(|line| line.split_once("iodyno inspect ")).unwrap().1;
        let arguments: Vec<&str> = std::iter::once("inspect").chain(hint.split(' ')).collect();
        let shown = run(&scratch, &arguments).expect_code(4).stdout;
        assert!(shown.contains("; its block, 4 KiB from "), "{shown}");
    }
}

#[test]
fn a_name_that_nothing_has_is_told_from_damage() {
    let scratch = Scratch::new();
    let target = scratch.path("data");
    load(&scratch, "loaded", &target, ("1m", "4k"));
    let path = target.to_str().unwrap();
    let output = run(&scratch, &["verify", path, "--as", "/dev/iodyno-mistyped"]).expect_code(2);
    for words in ["nothing here was written as /dev/iodyno-mistyped; no damage", ": leave out --as"] {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
    assert!(output.stderr.contains(&format!("they were written as {path}: leave out --as")), "{}", output.stderr);
    let found = report(&scratch, &["verify", path, "--as", "/dev/iodyno-mistyped"], 2);
    assert_eq!((&found["device_from"], &found["damaged_blocks"]), (&"misnamed".into(), &0.into()));
}

#[test]
fn damage_under_a_wrong_name_and_a_name_that_little_has_are_damage() {
    let scratch = Scratch::new();
    let (target, other) = (scratch.path("data"), scratch.path("other"));
    load(&scratch, "loaded", &target, ("1m", "4k"));
    load(&scratch, "loaded2", &other, ("64k", "4k"));
    let (path, other_path) = (target.to_str().unwrap(), other.to_str().unwrap());
    // Some of what stands there is of the other one, which is the lesser part.
    let bytes = std::fs::read(&other).unwrap();
    OpenOptions::new().write(true).open(&target).unwrap().write_all_at(&bytes, 0).unwrap();
    let output = run(&scratch, &["verify", path, "--as", other_path]).expect_code(4);
    let words = format!("most of the sectors were written as {path}: 960 KiB; as {other_path}: 64 KiB");
    assert!(output.stdout.contains(&words), "{}", output.stdout);
    assert!(output.stdout.contains(&format!("--as {other_path}")), "{}", output.stdout);
    // Real damage is not hidden by a mistyped name.
    run(&scratch, &["verify", path, "--as", "/dev/iodyno-mistyped"]).expect_code(4);
    let inject = ["inject", "--kind", "zeroes", path, "--as", "/dev/x", "--random", "1", "--destroy", path];
    let refused = run(&scratch, &inject).expect_code(7);
    assert!(refused.stderr.contains("none was written as /dev/x"), "{}", refused.stderr);
}

#[test]
fn a_place_within_a_sector_is_that_sector() {
    let scratch = Scratch::new();
    let target = scratch.path("data");
    load(&scratch, "loaded", &target, ("64k", "4k"));
    let path = target.to_str().unwrap();
    let asked = |more: &[&str]| {
        let seen = report(&scratch, &[&["inspect", path], more].concat(), 0);
        let sectors = seen["sectors"].as_array().unwrap();
        let asked = sectors.iter().filter(|sector| sector["asked"] == true);
        asked.map(|sector| sector["address"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(asked(&["--at", "700"]), [512]);
    assert_eq!(asked(&["--at", "1023"]), [512]);
    assert_eq!(asked(&["--at", "700", "--bytes", "512"]), [512, 1024]);
    let refused = run(&scratch, &["inspect", path, "--at", "-5"]).expect_code(2).stderr;
    assert!(refused.contains("--at -5: a number of bytes") && !refused.contains("-- -5"), "{refused}");
}

#[test]
fn a_fragmented_target_is_told_by_kinds_and_fits_a_terminal() {
    let scratch = Scratch::new();
    let target = scratch.path("data");
    load(&scratch, "loaded", &target, ("1m", "4k"));
    let file = OpenOptions::new().write(true).open(&target).unwrap();
    (0..64).for_each(|block| file.write_all_at(&[0; 4096], block * 8192).unwrap());
    file.write_all_at(&[1; 512], MIB - 512).unwrap();
    let shown = run(&scratch, &["verify", target.to_str().unwrap()]).expect_code(4).stdout;
    let areas: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("Where")).take(4).collect();
    assert_eq!(areas[0], "Where (129 areas)");
    let rows: Vec<Vec<&str>> = areas[1..].iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["stamped", "and", "right", "64", "areas", "0x1000", "…", "0xffe00"]);
    assert_eq!(rows[1], ["DAMAGED", "1", "area", "0xffe00", "…", "0x100000"]);
    assert_eq!(rows[2], ["zeroes", "64", "areas", "0x0", "…", "0x7f000"]);
    let (bytes, code) = bytes_on_a_terminal(target.parent().unwrap(), &["verify", "data"], &[]);
    assert_eq!(code, 4);
    let text = String::from_utf8(bytes).unwrap();
    for line in text.lines().map(|line| line.rsplit('\r').next().unwrap_or(line).trim_end()) {
        // A word that is longer stays whole: a path may.
        assert!(line.chars().count() <= 80 || !line.trim().contains(' '), "{line}");
    }
}

#[test]
fn the_page_about_stamps_reads_what_a_load_wrote() {
    let Ok(page) = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/stamp.md")) else {
        panic!("docs/stamp.md is gone")
    };
    let reader = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let scratch = Scratch::new();
    let target = scratch.path("data");
    let text = format!(
        "compratio=3\nsd=sd1,lun={},size=512k\nwd=wd1,sd=sd1,xfersize=16k,rdpct=0,seekpct=eof\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1\n",
        target.display()
    );
    scratch.run("load", &text, &["--no-counters", "--verify"]).expect_code(0);
    let read = || {
        let python = TestCommand::new("python3").args(["-c", reader, target.to_str().unwrap()]).run();
        python.unwrap().expect_code(0).stdout
    };
    assert_eq!(read(), "1024 stamped, 0 wrong\n");
    // Its payload, its padding, a field, the checksum.
    let places = [(3, 100), (9, 511), (20, 33), (40, 61)];
    places.iter().for_each(|(sector, byte)| flip(&target, sector * 512 + byte));
    let wrong: String =
        places.iter().map(|(sector, _)| format!("{:#x}: not what its head says\n", sector * 512)).collect();
    assert_eq!(read(), format!("{wrong}1024 stamped, 4 wrong\n"));
    let table = File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../stamp/src/sector.rs"));
    let source = std::io::read_to_string(table.unwrap()).unwrap();
    // The page and the source have the same offsets.
    let offsets = |text: &str| -> Vec<String> {
        let rows = text.lines().map(|line| line.trim_start_matches("//! "));
        let cells = rows.filter_map(|line| line.strip_prefix("| ")?.split(" |").next().map(str::to_string));
        cells.filter(|cell| cell.starts_with(|letter: char| letter.is_ascii_digit())).collect()
    };
    assert_eq!(offsets(&page), offsets(&source));
}
