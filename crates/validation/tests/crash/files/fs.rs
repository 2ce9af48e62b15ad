//! A file system in memory: what a sync has made durable, and what may be lost.

use crate::load::Random;
use data_journal::NameRule;
use std::collections::BTreeMap;

pub(super) const BLOCK: u64 = 4096;
pub(super) const FILE_BLOCKS: u64 = 8;
pub(super) const FILES: u32 = 12;
pub(super) const DIRECTORIES: u32 = 3;
pub(super) const ANCHOR: u32 = data_journal::ANCHOR;

/// The directory of a file.
pub(super) fn directory_of(file: u32) -> u32 {
    [ANCHOR, 0, 1, 2][file as usize % 4]
}

/// The directory of a directory.
pub(super) fn parent_of(directory: u32) -> u32 {
    [ANCHOR, ANCHOR, 1][directory as usize]
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Zero,
    Write {
        session: usize,
        sequence: u64,
        version: u16,
        inode: usize,
        device: u64,
    },
    /// Parts of it were cut off.
    Mixed,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    pub(super) bytes: u64,
    pub(super) blocks: BTreeMap<u64, Value>,
}

impl Data {
    pub(super) fn get(&self, block: u64) -> Value {
        self.blocks.get(&block).copied().unwrap_or(Value::Zero)
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Write { block, value } => {
                self.blocks.insert(block, value);
                self.bytes = self.bytes.max((block + 1) * BLOCK);
            }
            Change::Resize(bytes) => {
                self.blocks.retain(|block, _| block * BLOCK < bytes);
                if !bytes.is_multiple_of(BLOCK) {
                    self.blocks.insert(bytes / BLOCK, Value::Mixed);
                }
                self.bytes = bytes;
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Write { block: u64, value: Value },
    Resize(u64),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Inode {
    pub(super) now: Data,
    pub(super) durable: Data,
    pub(super) pending: Vec<(u64, Change)>,
    pub(super) is_synced: bool,
    /// Session, and number of the next write then.
    pub(super) made: (usize, u64),
}

/// A name: of a file, or of a directory, whose inode is 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Name {
    pub(super) now: Option<usize>,
    pub(super) durable: Option<usize>,
    pub(super) pending: Vec<(u64, Option<usize>)>,
}

impl Name {
    fn set(&mut self, at: u64, to: Option<usize>) {
        self.now = to;
        self.pending.push((at, to));
    }

    fn cover(&mut self, mark: u64) {
        let covered = self.pending.iter().take_while(|(at, _)| *at < mark).count();
        if let Some((_, last)) = self.pending.drain(..covered).next_back() {
            self.durable = last;
        }
    }

    pub(super) fn possible(&self) -> Vec<Option<usize>> {
        std::iter::once(self.durable).chain(self.pending.iter().map(|(_, to)| *to)).collect()
    }
}

/// What is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    File { file: u32, inode: usize, is_data_only: bool },
    Directory(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Fs {
    rule: NameRule,
    at: u64,
    pub(super) files: Vec<Name>,
    pub(super) directories: Vec<Name>,
    pub(super) inodes: Vec<Inode>,
}

impl Fs {
    pub(super) fn new(rule: NameRule) -> Self {
        Self {
            rule,
            at: 0,
            files: vec![Name::default(); FILES as usize],
            directories: vec![Name::default(); DIRECTORIES as usize],
            inodes: vec![Inode::default()],
        }
    }

    /// What is done from here on is not covered by a sync that is submitted now.
    pub(super) fn mark(&mut self) -> u64 {
        self.at += 1;
        self.at
    }

    pub(super) fn has_directory(&self, directory: u32) -> bool {
        directory == ANCHOR || self.directories[directory as usize].now.is_some()
    }

    pub(super) fn is_empty(&self, directory: u32) -> bool {
        (0..FILES).all(|file| directory_of(file) != directory || self.inode(file).is_none())
            && (0..DIRECTORIES).all(|inner| parent_of(inner) != directory || !self.has_directory(inner))
    }

    pub(super) fn inode(&self, file: u32) -> Option<usize> {
        self.files[file as usize].now
    }

    pub(super) fn make(&mut self, file: u32, made: (usize, u64)) {
        let at = self.mark();
        self.inodes.push(Inode { made, ..Inode::default() });
        self.files[file as usize].set(at, Some(self.inodes.len() - 1));
    }

    pub(super) fn remove(&mut self, file: u32) {
        let at = self.mark();
        self.files[file as usize].set(at, None);
    }

    pub(super) fn rename(&mut self, from: u32, to: u32) {
        let (at, inode) = (self.mark(), self.inode(from));
        self.files[from as usize].set(at, None);
        self.files[to as usize].set(at, inode);
    }

    pub(super) fn directory(&mut self, directory: u32, is_made: bool) {
        let at = self.mark();
        self.directories[directory as usize].set(at, is_made.then_some(0));
    }

    pub(super) fn change(&mut self, file: u32, change: Change) {
        let at = self.mark();
        let inode = self.inode(file).unwrap();
        self.inodes[inode].now.apply(change);
        self.inodes[inode].pending.push((at, change));
    }

    /// Everything in this scope, with what it names.
    fn each(&mut self, scope: Scope, mut name: impl FnMut(&mut Name), mut inode: impl FnMut(&mut Inode)) {
        match scope {
            Scope::All => {
                self.files.iter_mut().chain(&mut self.directories).for_each(name);
                self.inodes.iter_mut().for_each(inode);
            }
            Scope::Directory(directory) => {
                (0..FILES)
                    .filter(|at| directory_of(*at) == directory)
                    .for_each(|at| name(&mut self.files[at as usize]));
                let inner = (0..DIRECTORIES).filter(|at| parent_of(*at) == directory);
                inner.for_each(|at| name(&mut self.directories[at as usize]));
            }
            Scope::File { inode: at, .. } => inode(&mut self.inodes[at]),
        }
    }

    pub(super) fn synced(&mut self, scope: Scope, mark: u64) {
        self.each(
            scope,
            |name| name.cover(mark),
            |inode| {
                let covered = inode.pending.iter().take_while(|(at, _)| *at < mark).count();
                let covered: Vec<_> = inode.pending.drain(..covered).collect();
                covered.into_iter().for_each(|(_, change)| inode.durable.apply(change));
                inode.is_synced = true;
            },
        );
        let Scope::File { file, inode, is_data_only: false } = scope else { return };
        if self.rule == NameRule::Directory {
            return;
        }
        let name = &mut self.files[file as usize];
        if name.pending.iter().take_while(|(at, _)| *at < mark).last().is_some_and(|(_, to)| *to == Some(inode)) {
            name.cover(mark);
        }
        let mut above = directory_of(file);
        while above != ANCHOR {
            let name = &mut self.directories[above as usize];
            if name.pending.iter().take_while(|(at, _)| *at < mark).last().is_some_and(|(_, to)| to.is_some()) {
                name.cover(mark);
            }
            above = parent_of(above);
        }
    }

    /// A sync that failed: what was to be kept is kept or not, and nothing will tell.
    pub(super) fn sync_failed(&mut self, scope: Scope, random: &mut Random) {
        let mut of_names = Random::new(random.below(1 << 40));
        self.each(
            scope,
            |name| {
                name.durable = of_names.one(&name.possible());
                name.pending.clear();
            },
            |inode| {
                inode.durable = some_of(inode, random, 50);
                inode.pending.clear();
            },
        );
    }

    /// The machine loses power: some of what was not synced is there.
    pub(super) fn cut(&mut self, random: &mut Random) {
        let keep = random.one(&[0, 30, 70, 95]);
        let mut cut = |name: &mut Name| {
            for (_, to) in std::mem::take(&mut name.pending) {
                if random.below(100) < keep {
                    name.durable = to;
                }
            }
            name.now = name.durable;
        };
        self.files.iter_mut().chain(&mut self.directories).for_each(&mut cut);
        for inode in &mut self.inodes {
            inode.durable = some_of(inode, random, keep);
            inode.now = inode.durable.clone();
            inode.pending.clear();
        }
        // A rename of which both ends were kept: the file is there twice.
        let mut seen = std::collections::BTreeSet::new();
        for name in &mut self.files {
            if let Some(inode) = name.now.filter(|inode| !seen.insert(*inode)) {
                self.inodes.push(self.inodes[inode].clone());
                (name.now, name.durable) = (Some(self.inodes.len() - 1), Some(self.inodes.len() - 1));
            }
        }
        // What a directory held is gone with it.
        for directory in 0..DIRECTORIES {
            if parent_of(directory) != ANCHOR && !self.has_directory(parent_of(directory)) {
                self.directories[directory as usize] = Name::default();
            }
        }
        for file in 0..FILES {
            if !self.has_directory(directory_of(file)) {
                self.files[file as usize] = Name::default();
            }
        }
    }
}

fn some_of(inode: &Inode, random: &mut Random, keep: u64) -> Data {
    let mut data = inode.durable.clone();
    for (_, change) in &inode.pending {
        match *change {
            _ if random.below(100) < keep => data.apply(*change),
            // Its length alone.
            Change::Write { block, .. } if random.below(100) < keep => data.bytes = data.bytes.max((block + 1) * BLOCK),
            _ => {}
        }
    }
    data
}
