//! Files and trees: which must be there after a crash, how long, and with what in them. The file system is a model in memory that loses
//! as much as POSIX allows it to; one that lies about its syncs is judged by a second one that keeps its word.

mod fs;
mod judge;

use crate::load::Random;
use data_journal::{
    Crash, FileIntent, FileSource, FileThere, Journal, JournalOptions, JournalTarget, JournalTree, NameRule, Recovered,
    SessionHeader, recover,
};
use fs::{ANCHOR, BLOCK, Change, DIRECTORIES, FILE_BLOCKS, FILES, Fs, Scope, Value, directory_of, parent_of};
use judge::{Alarm, alarms, expected};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const DEVICE: u64 = 99;

/// What a case is like.
#[derive(Clone, Copy, Debug)]
struct Shape {
    rule: NameRule,
    /// Of a hundred syncs, so many keep nothing and say that they did.
    lies: u64,
    /// Operations that fail, are under way, or are not in the journal any more.
    is_rough: bool,
    checkpoints: u64,
}

fn header(run: u64, shape: Shape) -> SessionHeader {
    let tree =
        JournalTree { files: FILES, file_blocks: FILE_BLOCKS, names: shape.rule, layout: "twelve files".to_string() };
    let target = JournalTarget {
        name: "/anchor".to_string(),
        device: DEVICE,
        size_bytes: u64::from(FILES) * FILE_BLOCKS * BLOCK,
        block_bytes: BLOCK,
        runs: [].into(),
        is_synchronous: false,
        is_trimmed: false,
        tree: Some(tree),
    };
    SessionHeader::new(run, vec![target])
}

/// A session at work. The same is done to a file system that keeps its word, and to the one that is there.
struct World {
    shape: Shape,
    /// Of the journal.
    place: PathBuf,
    journal: Journal,
    honest: Fs,
    real: Fs,
    session: usize,
    sequence: u64,
    epoch: u32,
    writes: u64,
    under_way: Vec<(Scope, u32, u64)>,
    /// By file, of what is written.
    devices: Vec<u64>,
    /// The last segment when all before was durable, and its length.
    durable: Option<(PathBuf, u64)>,
}

struct Source<'a>(&'a World);

impl FileSource for Source<'_> {
    fn target(&self) -> u16 {
        0
    }

    fn sequence(&self) -> u64 {
        self.0.sequence
    }

    fn files(&self) -> u32 {
        FILES
    }

    fn file(&self, file: u32) -> Option<FileThere> {
        let inode = self.0.honest.inode(file).map(|inode| &self.0.honest.inodes[inode]);
        let device = Some(self.0.devices[file as usize]).filter(|device| *device != u64::from(file) + 1);
        let (directory, bytes) = (directory_of(file), inode.map(|inode| inode.now.bytes));
        Some(FileThere { directory, bytes, blocks: FILE_BLOCKS, device })
    }

    fn states(&self, file: u32, first: u64, count: usize, states: &mut Vec<u16>) {
        let inode = self.0.honest.inode(file).unwrap();
        // What a file held whose stamps have another name is not known to a session.
        let of_stamps = self.0.devices[file as usize];
        let state = |block| match self.0.honest.inodes[inode].now.get(block) {
            Value::Write { version, device, .. } if device == of_stamps => version,
            _ => 0,
        };
        states.extend((first..first + count as u64).map(state));
    }
}

impl World {
    fn both(&mut self, mut act: impl FnMut(&mut Fs)) {
        act(&mut self.honest);
        act(&mut self.real);
    }

    fn announce(&mut self, all: &[(u32, FileIntent)]) {
        let all: Vec<_> = all.iter().map(|(file, intent)| (0, *file, *intent)).collect();
        self.journal.announce(&all);
        self.note_durable();
    }

    /// Nothing before is lost from the journal.
    fn note_durable(&mut self) {
        if self.shape.is_rough {
            self.journal.sync().unwrap();
            let segments = segments(&self.place);
            let last = segments.last().unwrap();
            self.durable = Some((last.clone(), last.metadata().unwrap().len()));
        }
    }

    /// A file that is there (or not), in a directory that is.
    fn any(&self, random: &mut Random, is_there: bool) -> Option<u32> {
        let is_it = |file: &u32| {
            self.honest.has_directory(directory_of(*file)) && self.honest.inode(*file).is_some() == is_there
        };
        let all: Vec<u32> = (0..FILES).filter(is_it).collect();
        (!all.is_empty()).then(|| random.one(&all))
    }

    /// Some operation; `comes_back`: otherwise it is under way when the machine fails, and has taken effect or not.
    fn act(&mut self, random: &mut Random, comes_back: bool) {
        let is_done = !self.shape.is_rough || random.below(30) > 0;
        let has_effect = if comes_back && is_done { true } else { random.below(2) == 0 };
        let result = comes_back.then_some(is_done);
        match random.below(100) {
            0..14 => self.make(random, has_effect, result),
            14..21 => {
                let Some(file) = self.any(random, true) else { return };
                self.announce(&[(file, FileIntent::Remove)]);
                self.both(|fs| {
                    if has_effect {
                        fs.remove(file)
                    }
                });
                if let Some(is_done) = result {
                    self.journal.file_removed(0, (file, directory_of(file)), is_done);
                }
            }
            21..27 => self.rename(random, has_effect, result),
            27..60 => self.write(random, has_effect, result),
            60..66 => {
                let Some(file) = self.any(random, true) else { return };
                let bytes = random.below(FILE_BLOCKS * 2 + 1) * BLOCK / 2;
                self.announce(&[(file, FileIntent::Resize(bytes))]);
                self.both(|fs| {
                    if has_effect {
                        fs.change(file, Change::Resize(bytes))
                    }
                });
                if let Some(is_done) = result {
                    self.journal.file_resized((0, file), bytes, is_done);
                }
            }
            66..80 => self.sync_begins(random),
            80..94 => self.sync_ends(random),
            94..98 => self.directory(random),
            _ if random.below(100) < self.shape.checkpoints => {
                self.journal.checkpoint_of(&[], &[&Source(self)]).unwrap();
                self.note_durable();
            }
            _ => {}
        }
    }

    fn make(&mut self, random: &mut Random, has_effect: bool, result: Option<bool>) {
        let Some(file) = self.any(random, false) else { return };
        self.announce(&[(file, FileIntent::Make)]);
        let made = (self.session, self.sequence);
        self.both(|fs| {
            if has_effect {
                fs.make(file, made)
            }
        });
        self.devices[file as usize] = u64::from(file) + 1;
        if let Some(is_done) = result {
            self.journal.file_made(0, (file, directory_of(file)), made.1, is_done);
        }
    }

    fn rename(&mut self, random: &mut Random, has_effect: bool, result: Option<bool>) {
        let to_there = random.below(2) == 0;
        let (Some(from), Some(to)) = (self.any(random, true), self.any(random, to_there)) else { return };
        if from == to {
            return;
        }
        self.announce(&[(from, FileIntent::Remove), (to, FileIntent::Make)]);
        let device = self.devices[from as usize];
        self.both(|fs| {
            if has_effect {
                fs.rename(from, to)
            }
        });
        match result {
            Some(true) => self.devices[to as usize] = device,
            Some(false) => self.devices[to as usize] = u64::from(to) + 1,
            None => {}
        }
        if let Some(is_done) = result {
            let (from, to) = ((0, from, directory_of(from)), (0, to, directory_of(to)));
            self.journal.file_renamed(from, to, device, is_done);
        }
    }

    fn write(&mut self, random: &mut Random, has_effect: bool, result: Option<bool>) {
        let Some(file) = self.any(random, true) else { return };
        let inode = self.honest.inode(file).unwrap();
        let bytes = self.honest.inodes[inode].now.bytes;
        // At most one block behind the end.
        let first = random.below(bytes.div_ceil(BLOCK).min(FILE_BLOCKS - 1) + 1);
        let count = 1 + random.below((FILE_BLOCKS - first).min(3));
        let (session, sequence) = (self.session, self.sequence);
        self.sequence += 1;
        self.writes += 1;
        let version = 4 + u16::try_from(self.writes).unwrap();
        let value = Value::Write { session, sequence, version, inode, device: self.devices[file as usize] };
        for block in first..first + count {
            self.both(|fs| {
                if has_effect {
                    fs.change(file, Change::Write { block, value })
                }
            });
        }
        let end = (first + count) * BLOCK;
        match result {
            None => {}
            Some(true) => {
                let grown = (end > bytes).then_some(end);
                self.journal.file_written((0, file), (first, count), sequence, grown, |_| Some(version));
            }
            Some(false) => self.journal.file_failed((0, file), (first, count)),
        }
    }

    fn directory(&mut self, random: &mut Random) {
        let directory = u32::try_from(random.below(u64::from(DIRECTORIES))).unwrap();
        let parent = parent_of(directory);
        if !self.honest.has_directory(directory) && self.honest.has_directory(parent) {
            self.both(|fs| fs.directory(directory, true));
            self.journal.directory_made(0, (directory, parent), true);
        } else if self.honest.has_directory(directory) && self.honest.is_empty(directory) && random.below(3) == 0 {
            self.both(|fs| fs.directory(directory, false));
            self.journal.directory_removed(0, (directory, parent), true);
        }
        if self.shape.is_rough {
            self.note_durable();
        }
    }

    fn sync_begins(&mut self, random: &mut Random) {
        let scope = match random.below(10) {
            0 => Scope::All,
            1..4 => Scope::Directory(random.one(&[ANCHOR, 0, 1, 2])),
            _ => {
                let Some(file) = self.any(random, true) else { return };
                let inode = self.honest.inode(file).unwrap();
                Scope::File { file, inode, is_data_only: random.below(4) == 0 }
            }
        };
        if self.under_way.len() > 2 {
            self.sync_ends(random);
        }
        self.epoch += 1;
        let epoch = self.epoch;
        match scope {
            Scope::All => self.journal.flush_begun(0, epoch),
            Scope::Directory(directory) => self.journal.directory_sync_begun((0, directory), epoch),
            Scope::File { file, is_data_only, .. } => self.journal.file_sync_begun((0, file), epoch, is_data_only),
        }
        let mark = self.honest.mark();
        self.real.mark();
        self.under_way.push((scope, epoch, mark));
    }

    fn sync_ends(&mut self, random: &mut Random) {
        if self.under_way.is_empty() {
            return;
        }
        let at = usize::try_from(random.below(self.under_way.len() as u64)).unwrap();
        let (scope, epoch, mark) = self.under_way.remove(at);
        let is_done = !self.shape.is_rough || random.below(15) > 0;
        let lies = random.below(100) < self.shape.lies;
        if is_done {
            self.honest.synced(scope, mark);
            if !lies {
                self.real.synced(scope, mark);
            }
        } else {
            // Where operations fail nothing lies: both are the same.
            self.honest.sync_failed(scope, random);
            self.real = self.honest.clone();
        }
        match scope {
            Scope::All => self.journal.flush_ended(0, epoch, is_done),
            Scope::Directory(directory) => self.journal.directory_sync_ended((0, directory), epoch, is_done),
            Scope::File { file, .. } => self.journal.file_sync_ended((0, file), epoch, is_done),
        }
        if !is_done {
            self.note_durable();
        }
    }
}

/// The journal loses what was not durable of it: nothing before this length of its last segment.
fn tear(path: &Path, length: u64, random: &mut Random) {
    let last = segments(path.parent().unwrap()).pop().unwrap();
    if random.below(2) == 0 && last == *path {
        let all = path.metadata().unwrap().len();
        let keep = length + random.below((all - length) / 32 + 1) * 32;
        std::fs::File::options().write(true).open(path).unwrap().set_len(keep).unwrap();
    }
}

fn segments(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "journal"));
    files.sort();
    files
}

/// What a campaign came to.
#[derive(Debug, Default)]
struct Tally {
    crashes: u64,
    lied: u64,
    must_exist: u64,
    must_not: u64,
    blocks: u64,
    injected: u64,
    missing: u64,
    back: u64,
    short: u64,
    old_blocks: u64,
}

impl Tally {
    fn count(&mut self, alarms: &BTreeSet<(u32, Alarm)>) {
        for (_, alarm) in alarms {
            *match alarm {
                Alarm::Missing => &mut self.missing,
                Alarm::Back => &mut self.back,
                Alarm::Short => &mut self.short,
                Alarm::Block(_) => &mut self.old_blocks,
            } += 1;
        }
    }
}

/// How the session before ended.
type Before = Option<(Recovered, Crash)>;

/// Begins a session behind `before`, on files that are as they are in `fs`.
fn begin(directory: &Path, shape: Shape, fs: &Fs, before: &Before, (session, writes): (usize, u64)) -> World {
    let (header, options) = (header(session as u64 + 1, shape), JournalOptions::default());
    let journal = match before {
        None => Journal::create(directory, header, options).unwrap(),
        Some((recovered, crash)) => Journal::resume(recovered, *crash, header, options).unwrap(),
    };
    let device = |file: u32| {
        let before = before.as_ref().and_then(|(recovered, crash)| Some(recovered.tree(DEVICE)?.file(file, *crash)));
        before.and_then(|file| file.device).unwrap_or(u64::from(file) + 1)
    };
    World {
        shape,
        devices: (0..FILES).map(device).collect(),
        place: directory.to_owned(),
        journal,
        honest: fs.clone(),
        real: fs.clone(),
        session,
        sequence: 0,
        epoch: 0,
        writes,
        under_way: Vec::new(),
        durable: None,
    }
}

impl World {
    /// Tells the journal of the files that are there at the start: of all, or of some.
    fn find_files(&mut self, random: &mut Random, is_all: bool) {
        for file in 0..FILES {
            if is_all || random.below(4) > 0 {
                let found = self.honest.inode(file).map(|inode| self.honest.inodes[inode].now.bytes);
                self.journal.file_found(0, (file, directory_of(file)), found);
            }
        }
        self.journal.flush_begun(0, 0);
        self.journal.flush_ended(0, 0, true);
        let mark = self.honest.mark();
        self.real.mark();
        self.both(|fs| fs.synced(Scope::All, mark));
    }
}

/// Damages what a right disk has, and demands that all of it is found.
fn inject(seed: u64, real: &Fs, (recovered, crash): (&Recovered, Crash), random: &mut Random, tally: &mut Tally) {
    let mut wrong = real.clone();
    let injected = judge::inject(&mut wrong, recovered, crash, random);
    let found = alarms(recovered, crash, &wrong, &mut Tally::default());
    assert!(injected.is_subset(&found), "seed {seed}, {crash:?}: {injected:?} injected, {found:?} found");
    tally.injected += injected.len() as u64;
    tally.count(&injected);
}

/// One journal with its sessions, each of which ends in a crash.
fn case(seed: u64, crash_of: impl Fn(&mut Random) -> Crash, tally: &mut Tally) {
    let random = &mut Random::new(seed);
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("j");
    let kind = random.below(3);
    let shape = Shape {
        rule: random.one(&[NameRule::Directory, NameRule::File]),
        lies: if kind == 0 { random.one(&[10, 50, 100]) } else { 0 },
        is_rough: kind == 1,
        checkpoints: if kind == 0 { 0 } else { random.one(&[0, 50]) },
    };
    let mut fs = Fs::new(shape.rule);
    let mut before: Before = None;
    let (sessions, mut writes) = (if kind == 0 { 1 } else { 1 + random.below(3) }, 0);
    for session in 0..usize::try_from(sessions).unwrap() {
        let mut world = begin(&directory, shape, &fs, &before, (session, writes));
        // Where it is judged to the last block, it is known what was there before.
        if session > 0 || kind == 0 {
            world.find_files(random, kind == 0);
        }
        world.note_durable();
        for _ in 0..random.below(120) {
            world.act(random, true);
        }
        if kind != 0 && random.below(2) == 0 {
            world.act(random, false);
        }
        writes = world.writes;
        let World { journal, honest, mut real, durable, .. } = world;
        assert!(journal.failure().is_none(), "seed {seed}: {:?}", journal.failure());
        drop(journal);
        if let Some((path, length)) = &durable {
            tear(path, *length, random);
        }
        let crash = crash_of(random);
        if crash == Crash::PowerCut {
            real.cut(random);
        }
        let recovered = recover(&directory).unwrap();
        assert!(recovered.damage.is_empty(), "seed {seed}: {:?}", recovered.sentences());
        tally.crashes += 1;
        tally.lied += u64::from(shape.lies > 0 && crash == Crash::PowerCut);
        let found = alarms(&recovered, crash, &real, tally);
        if shape.lies > 0 && crash == Crash::PowerCut {
            let (must, may) = expected(&honest, &real);
            let context = format!("seed {seed}, {shape:?}: found {found:?}, must be {must:?}, may be {may:?}");
            assert!(must.is_subset(&found) && found.is_subset(&may), "{context}");
            tally.count(&found);
            return;
        }
        assert!(found.is_empty(), "seed {seed}, session {session}, {crash:?}, {shape:?}: {found:?}");
        if random.below(3) == 0 {
            inject(seed, &real, (&recovered, crash), random, tally);
        }
        fs = real;
        before = Some((recovered, crash));
    }
}

fn run(seeds: std::ops::Range<u64>, crash_of: impl Fn(&mut Random) -> Crash) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds.clone() {
        case(seed, &crash_of, &mut tally);
    }
    println!("seeds {seeds:?}: {tally:?}");
    tally
}

fn any_crash(random: &mut Random) -> Crash {
    random.one(&[Crash::PowerCut, Crash::PowerCut, Crash::ProcessDied])
}

#[test]
fn files_are_what_their_journal_says_behind_crashes_and_what_is_lost_is_found() {
    let tally = run(0..300, any_crash);
    assert!(tally.crashes > 300 && tally.must_exist > 500 && tally.must_not > 50 && tally.blocks > 500, "{tally:?}");
    assert!(tally.missing > 20 && tally.back > 5 && tally.short > 5 && tally.old_blocks > 5, "{tally:?}");
}

#[test]
#[ignore = "minutes: make exam"]
fn ten_thousand_crashes_of_files() {
    let first = quantity::clock::now_ns() % 1_000_000 * 1_000_000;
    let power = run(first..first + 8000, |_| Crash::PowerCut);
    let killed = run(first + 8000..first + 9000, |_| Crash::ProcessDied);
    let mixed = run(first + 9000..first + 11_000, any_crash);
    assert!(power.crashes > 10_000 && killed.crashes > 1000 && mixed.lied > 100);
}
