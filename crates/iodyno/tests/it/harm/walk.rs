//! A random walk: things are made, written, formatted, mounted, copied, linked, zapped and loaded in any order. What
//! iodyno did not make never changes.

use crate::harm::scene::MIB;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use testkit::{LoopDevice, MountedFileSystem, TestCommand};

/// Size of each thing.
const BYTES: u64 = 4 * MIB;
/// Sectors that iodyno writes begin with it.
const MAGIC: [u8; 8] = *b"iodyno\0\x01";

/// What loads of this walk write instead of marked sectors, as a flag's value and as bytes.
const PATTERNS: [(&str, &[u8]); 3] =
    [("0xdeadbeef", &[0xde, 0xad, 0xbe, 0xef]), ("0x55", &[0x55]), ("\"iodyno\"", b"iodyno")];

/// Does a sector hold nothing but one of the patterns, which begin anew with every transfer? Copied elsewhere, it is still
/// iodyno's.
fn is_pattern(sector: &[u8]) -> bool {
    PATTERNS.iter().any(|(_, bytes)| {
        (0..bytes.len()).any(|phase| sector.iter().eq(bytes.iter().cycle().skip(phase).take(sector.len())))
    })
}

/// Numbers by seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A file, or a loop device over one.
struct Thing {
    file: PathBuf,
    device: Option<LoopDevice>,
    mounted: Option<MountedFileSystem>,
    /// Others' data in it, by first sector, length in sectors.
    foreign: BTreeMap<u64, u64>,
    /// The file was not made by iodyno.
    is_foreign_file: bool,
}

impl Thing {
    fn name(&self) -> PathBuf {
        self.device.as_ref().map_or_else(|| self.file.clone(), |device| device.path().to_path_buf())
    }

    /// May a load that writes change it?
    fn is_protected(&self) -> bool {
        self.mounted.is_some()
            || !self.foreign.is_empty()
            || (self.device.is_none() && self.is_foreign_file && self.file.exists())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let path = self.name();
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file.sync_all().unwrap();
    }

    /// Others' data are the sectors that are not zero, marked, or all pattern.
    fn look(&mut self) {
        self.foreign.clear();
        let Ok(content) = std::fs::read(&self.file) else { return };
        for (at, sector) in content.chunks(512).enumerate() {
            if sector.iter().any(|byte| *byte != 0) && !sector.starts_with(&MAGIC) && !is_pattern(sector) {
                self.foreign.insert(at as u64, 1);
            }
        }
    }
}

struct Walk {
    folder: tempfile::TempDir,
    things: Vec<Thing>,
    chance: Chance,
    log: Vec<String>,
    allowed: u64,
    refused: u64,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let folder = testkit::scratch_dir(testkit::ScratchPlace::Disk).unwrap();
        let mut things = Vec::new();
        for number in 0..6 {
            let file = folder.path().join(format!("thing{number}"));
            let device = (number < 3).then(|| {
                std::fs::File::create(&file).unwrap().set_len(BYTES).unwrap();
                LoopDevice::over(&file).unwrap()
            });
            things.push(Thing { file, device, mounted: None, foreign: BTreeMap::new(), is_foreign_file: false });
        }
        Self { folder, things, chance: Chance(seed), log: Vec::new(), allowed: 0, refused: 0 }
    }

    fn step(&mut self) {
        let at = usize::try_from(self.chance.below(6)).unwrap();
        match self.chance.below(16) {
            0 => self.scribble(at),
            1 => self.make_file_system(at),
            2 => self.mount(at),
            3 => self.zap(at),
            4 => self.copy(at),
            5 => self.empty(at),
            _ => self.load(at),
        }
    }

    fn note(&mut self, line: String) {
        self.log.push(line);
    }

    /// Another program writes into it.
    fn scribble(&mut self, at: usize) {
        let (kib, place) = (64 + self.chance.below(448), self.chance.below(BYTES / 512 - 1024) * 512);
        let thing = &mut self.things[at];
        if thing.mounted.is_some() || !thing.file.exists() {
            return;
        }
        thing.write(place, &vec![0xb7; usize::try_from(kib << 10).unwrap()]);
        thing.look();
        self.note(format!("{at}: another program writes {kib} KiB at {place}"));
    }

    fn make_file_system(&mut self, at: usize) {
        let thing = &mut self.things[at];
        if thing.mounted.is_some() {
            return;
        }
        if !thing.file.exists() {
            std::fs::File::create(&thing.file).unwrap().set_len(BYTES).unwrap();
            thing.is_foreign_file = true;
        }
        testkit::FileSystem::Ext4.make(thing.name()).unwrap();
        rustix::fs::sync();
        thing.look();
        self.note(format!("{at}: mkfs.ext4"));
    }

    fn mount(&mut self, at: usize) {
        let thing = &mut self.things[at];
        let Some(device) = &thing.device else { return };
        if thing.mounted.take().is_none() {
            thing.mounted = MountedFileSystem::mount(&["-o", "ro,noload", &device.path().display().to_string()]).ok();
        }
        let line = format!("{at}: mounted: {}", thing.mounted.is_some());
        self.note(line);
    }

    /// The first and last quarter of a MiB are wiped, as partitioners do.
    fn zap(&mut self, at: usize) {
        let thing = &mut self.things[at];
        if thing.mounted.is_some() || !thing.file.exists() {
            return;
        }
        thing.write(0, &[0; 256 << 10]);
        thing.write(BYTES - (256 << 10), &[0; 256 << 10]);
        thing.look();
        self.note(format!("{at}: both ends zapped"));
    }

    /// One file over or beside another.
    fn copy(&mut self, at: usize) {
        let from = (at + 1 + usize::try_from(self.chance.below(5)).unwrap()) % 6;
        let (source, target) = (self.things[from].name(), self.things[at].name());
        if !source.exists() || self.things[at].mounted.is_some() {
            return;
        }
        let was_there = target.exists();
        let option = if self.things[at].device.is_some() { "conv=notrunc,fsync" } else { "conv=fsync" };
        let line = format!("dd if={} of={} bs=256k {option} status=none", source.display(), target.display());
        TestCommand::new("sh").args(["-c", &line]).run().unwrap().expect_code(0);
        let thing = &mut self.things[at];
        thing.is_foreign_file |= !was_there;
        thing.look();
        self.note(format!("{at}: dd from {from}"));
    }

    /// It is gone, or wiped.
    fn empty(&mut self, at: usize) {
        let thing = &mut self.things[at];
        thing.mounted = None;
        if thing.device.is_some() {
            thing.write(0, &vec![0; usize::try_from(BYTES).unwrap()]);
        } else {
            let _ = std::fs::remove_file(&thing.file);
            thing.is_foreign_file = false;
        }
        thing.look();
        self.note(format!("{at}: emptied"));
    }

    /// A load with random flags, by any name of the thing; everything protected is compared before and after.
    fn load(&mut self, at: usize) {
        let name = self.name_of(at);
        let mut arguments: Vec<String> =
            ["run", "--name", "j", "--size", "4m", "--number_ios", "24", "--no-report", "--no-counters"]
                .map(String::from)
                .to_vec();
        arguments.extend(["--filename".to_string(), name.display().to_string()]);
        let mut add = |chance: &mut Chance, flag: &str, choices: &[&str]| {
            let choice = choices[usize::try_from(chance.below(choices.len() as u64)).unwrap()];
            arguments.extend([flag.to_string(), choice.to_string()]);
        };
        let chance = &mut self.chance;
        add(chance, "--rw", &["randwrite", "write", "randrw", "rw", "randread", "randtrim"]);
        add(chance, "--bs", &["512", "4k", "8k", "64k", "512-16k"]);
        add(chance, "--iodepth", &["1", "4", "16"]);
        add(chance, "--direct", &["0", "1"]);
        if chance.below(5) == 0 {
            add(chance, "--buffer_pattern", &PATTERNS.map(|(value, _)| value));
        }
        let folder = testkit::scratch_dir(testkit::ScratchPlace::Disk).unwrap();
        let before: Vec<Option<Vec<u8>>> = self.things.iter().map(|thing| std::fs::read(&thing.file).ok()).collect();
        let protected: Vec<bool> =
            self.things.iter().enumerate().map(|(index, thing)| index != at || thing.is_protected()).collect();
        let output = TestCommand::new(env!("CARGO_BIN_EXE_iodyno"))
            .args(&arguments)
            .args(["-o", "out"])
            .dir(folder.path())
            .run()
            .unwrap();
        for (index, before) in before.iter().enumerate().filter(|(index, _)| protected[*index]) {
            let after = std::fs::read(&self.things[index].file).ok();
            assert!(
                *before == after,
                "thing {index} changed (exit code {:?}) by {arguments:?}; it went so:\n{}\n{}",
                output.code,
                self.log.join("\n"),
                output.stderr
            );
        }
        assert!(output.code.is_some_and(|code| code != 1), "{arguments:?}: {:?} {}", output.code, output.stderr);
        if output.code == Some(0) {
            self.allowed += 1;
            // Made by iodyno where it was not there.
            self.things[at].look();
        } else if output.code == Some(7) {
            self.refused += 1;
        }
        self.note(format!("{at}: {} → {:?}", arguments.join(" "), output.code));
    }

    /// The thing's own name, a symbolic or a hard link to it.
    fn name_of(&mut self, at: usize) -> PathBuf {
        let own = self.things[at].name();
        let link = self.folder.path().join(format!("link{at}"));
        let _ = std::fs::remove_file(&link);
        match self.chance.below(4) {
            0 if std::os::unix::fs::symlink(&own, &link).is_ok() => link,
            1 if self.things[at].device.is_none() && std::fs::hard_link(&own, &link).is_ok() => link,
            _ => own,
        }
    }
}

fn walk(seed: u64, steps: u64) {
    if !testkit::require_root_or_skip() || !testkit::FileSystem::Ext4.is_available() {
        return;
    }
    let mut walk = Walk::new(seed);
    for _ in 0..steps {
        walk.step();
    }
    println!("{} loads did something, {} were refused", walk.allowed, walk.refused);
    assert!(walk.allowed >= steps / 12 && walk.refused >= steps / 12, "{} and {}", walk.allowed, walk.refused);
    assert!(Path::new(walk.folder.path()).exists());
}

#[test]
fn nothing_foreign_changes_in_a_short_walk() {
    walk(19, 150);
}

#[test]
#[ignore = "ten minutes: make soak"]
fn soak_nothing_foreign_changes_in_2000_steps() {
    walk(2026, 2000);
}
