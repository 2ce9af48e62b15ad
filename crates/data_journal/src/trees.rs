//! What the records about files add up to: which names stand for which files, and what these hold.
//!
//! A name and the file behind it are durable by different syncs, so both are kept apart: an [`Entry`] says what its name may stand for,
//! an [`Inode`] what a file holds, whatever its names. Each has what a sync has left, what was done since, and what is there while the
//! machine runs.

pub(crate) mod answers;
mod content;
mod entry;

use crate::floor::Floor;
use crate::header::{Crash, JournalTarget, NameRule, SegmentHeader, SessionHeader};
use crate::record::{Kind, Record};
use content::{Change, Inode, Place};
use entry::{Entry, Occupant};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The anchor among the numbers of directories.
pub const ANCHOR: u32 = u32::MAX;
/// A directory of which nothing is known.
const NOWHERE: u32 = u32::MAX - 1;
/// All directories that exist are this one.
const DIRECTORY: u64 = 0;
/// No chain of directories is longer.
const LEVELS_MAX: usize = 4096;

/// All trees of a journal.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    /// By device.
    trees: BTreeMap<u64, TreeReplay>,
    inodes: HashMap<u64, Inode>,
    made: u64,
    place: Place,
    session: u16,
    /// Power was cut before this session.
    is_after_power_cut: bool,
    /// A file that gets another name, of which the next record says the new one: the tree and file, what it was, and whether it is
    /// done.
    renaming: Option<(u64, u32, Vec<Occupant>, bool)>,
}

/// One tree, known by its device.
#[derive(Debug)]
pub(crate) struct TreeReplay {
    pub(crate) target: JournalTarget,
    slots: BTreeMap<u32, Entry>,
    directories: BTreeMap<u32, Entry>,
    /// Everything was synced since the first session began: directories that were there before are durable.
    is_whole_synced: bool,
    /// A sync of names failed: directories of which nothing is known may be among what it lost.
    has_lost_names: bool,
    under_way: Vec<Sync>,
    /// Number of the next write when the checkpoint that is being read began.
    dump_sequence: u64,
    pub(crate) acknowledged: Option<u32>,
    /// The last session that changed a file or a name.
    pub(crate) changed_in: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    File { file: u32, inode: u64, names_too: bool },
    Directory(u32),
}

#[derive(Clone, Copy, Debug)]
struct Sync {
    kind: Kind,
    /// File or directory.
    first: u64,
    epoch: u64,
    scope: Scope,
    submitted: Place,
}

impl TreeReplay {
    fn new(target: &JournalTarget) -> Self {
        Self {
            target: target.clone(),
            slots: BTreeMap::new(),
            directories: BTreeMap::new(),
            is_whole_synced: false,
            has_lost_names: false,
            under_way: Vec::new(),
            dump_sequence: 0,
            acknowledged: None,
            changed_in: None,
        }
    }

    fn forget(&mut self) {
        *self = Self { changed_in: self.changed_in, ..Self::new(&self.target) };
    }

    fn slot(&mut self, file: u32) -> &mut Entry {
        self.slots.entry(file).or_insert_with(|| Entry::unknown(NOWHERE))
    }

    fn directory(&mut self, directory: u32) -> &mut Entry {
        self.directories.entry(directory).or_insert_with(|| Entry::unknown(ANCHOR))
    }

    fn file_blocks(&self) -> u64 {
        self.target.tree.as_ref().map_or(1, |tree| tree.file_blocks.max(1))
    }

    fn names(&self) -> NameRule {
        self.target.tree.as_ref().map_or(NameRule::Directory, |tree| tree.names)
    }

    /// Are all directories above a file there for certain?
    fn is_directory_sure(&self, file: u32, is_power_cut: bool) -> bool {
        let is_older = !is_power_cut || (self.is_whole_synced && !self.has_lost_names);
        self.above(file).iter().all(|directory| match self.directories.get(directory) {
            None => is_older,
            Some(entry) => entry.possible(is_power_cut).iter().all(|one| match one {
                Occupant::Is(_) => true,
                Occupant::Absent => false,
                Occupant::Unknown => is_older,
            }),
        })
    }

    /// The directories above a file, from its own up to the anchor, which is not among them.
    fn above(&self, file: u32) -> Vec<u32> {
        let mut all = Vec::new();
        let mut next = self.slots.get(&file).map_or(NOWHERE, |entry| entry.parent);
        while next < NOWHERE && all.len() < LEVELS_MAX {
            all.push(next);
            next = self.directories.get(&next).map_or(ANCHOR, |entry| entry.parent);
        }
        all
    }
}

impl Trees {
    /// Another session begins.
    pub(crate) fn session(&mut self, number: u16, header: &SessionHeader) {
        self.session = number;
        self.place += 1;
        self.renaming = None;
        self.is_after_power_cut = header.after == Some(Crash::PowerCut);
        self.crashed(self.is_after_power_cut);
        for target in header.targets.iter().filter(|target| target.tree.is_some()) {
            let tree = self.trees.entry(target.device).or_insert_with(|| TreeReplay::new(target));
            let is_same = |of: &JournalTarget| of.tree.as_ref().map(|tree| (tree.files, tree.layout.clone()));
            if is_same(&tree.target) != is_same(target) {
                tree.forget();
            }
            if tree.target.block_bytes != target.block_bytes {
                for inode in tree.slots.values().flat_map(Entry::now) {
                    if let Occupant::Is(inode) = inode
                        && let Some(inode) = self.inodes.get_mut(inode)
                    {
                        inode.forget_blocks();
                    }
                }
            }
            tree.target = target.clone();
        }
    }

    /// The session before ended like this.
    fn crashed(&mut self, is_power_cut: bool) {
        if is_power_cut {
            let lengths: Vec<u64> = self.trees.values().map(|tree| tree.target.block_bytes).collect();
            // All trees of a session have blocks of their own length; a file that went from one to another is cut by the shortest.
            let block_bytes = lengths.into_iter().min().unwrap_or(1).max(1);
            self.inodes.values_mut().for_each(|inode| inode.power_cut(block_bytes));
        }
        for tree in self.trees.values_mut() {
            tree.under_way.clear();
            tree.acknowledged = None;
            let files = tree.slots.keys().copied().filter(|_| is_power_cut);
            let unsure: Vec<u32> = files.filter(|file| !tree.is_directory_sure(*file, true)).collect();
            for entry in tree.slots.values_mut().chain(tree.directories.values_mut()) {
                entry.crashed(self.place, is_power_cut);
            }
            for (file, entry) in &mut tree.slots {
                let is_synced = |one: &Occupant| match one {
                    Occupant::Is(inode) => self.inodes.get(inode).is_some_and(|inode| inode.is_synced),
                    Occupant::Absent | Occupant::Unknown => true,
                };
                if is_power_cut && (unsure.binary_search(file).is_ok() || !entry.now().iter().all(is_synced)) {
                    entry.may_be_gone();
                }
            }
        }
        if is_power_cut {
            self.part();
        }
    }

    /// A file that got another name may be there under both, and from now on these are two.
    fn part(&mut self) {
        let mut seen = HashSet::new();
        for entry in self.trees.values_mut().flat_map(|tree| tree.slots.values_mut()) {
            for one in entry.now().to_vec() {
                let Occupant::Is(old) = one else { continue };
                if !seen.insert(old)
                    && let Some(copy) = self.inodes.get(&old).cloned()
                {
                    self.made += 1;
                    self.inodes.insert(self.made, copy);
                    entry.replace(old, self.made);
                }
            }
        }
    }

    /// A session wrote of which nothing is known.
    pub(crate) fn forget(&mut self) {
        self.renaming = None;
        self.trees.values_mut().for_each(TreeReplay::forget);
    }

    /// Records are missing.
    pub(crate) fn gap(&mut self, header: &SessionHeader) {
        self.renaming = None;
        for target in &header.targets {
            if let Some(tree) = self.trees.get_mut(&target.device) {
                tree.forget();
            }
        }
    }

    pub(crate) fn devices(&self) -> impl Iterator<Item = u64> {
        self.trees.keys().copied()
    }

    pub(crate) fn tree(&self, device: u64) -> Option<&TreeReplay> {
        self.trees.get(&device)
    }

    fn new_inode(&mut self, inode: Inode) -> u64 {
        self.made += 1;
        self.inodes.insert(self.made, inode);
        self.made
    }

    /// The device in the stamps of files, which is the same for all of them; `None`: it is not. Where one of them is not known, that of
    /// their own name.
    fn device(&self, set: &[Occupant]) -> Option<Option<u64>> {
        if set.contains(&Occupant::Unknown) {
            return Some(None);
        }
        let mut devices = set.iter().filter_map(|one| match one {
            Occupant::Is(inode) => self.inodes.get(inode).map(|inode| inode.device),
            Occupant::Absent | Occupant::Unknown => None,
        });
        let first = devices.next().unwrap_or(None);
        devices.all(|other| other == first).then_some(first)
    }

    /// The file that has this name for certain: something was done to it.
    fn inode_at(&mut self, device: u64, file: u32) -> Option<u64> {
        match self.trees.get_mut(&device)?.slot(file).inode() {
            Some(inode) => Some(inode),
            None => self.unknown_inode(device, file),
        }
    }

    /// A name that may stand for several files, or none, and stands for one: which it is, if only one can be it, or one of which nothing
    /// is known but that it has this name.
    fn unknown_inode(&mut self, device: u64, file: u32) -> Option<u64> {
        let now = self.trees.get_mut(&device)?.slot(file).now().to_vec();
        let mut of_files = now.iter().copied().filter(|one| *one != Occupant::Absent);
        let inode = match (of_files.next(), of_files.next()) {
            (Some(Occupant::Is(inode)), None) => inode,
            _ => {
                // What is done to it is done to one of these.
                for one in &now {
                    if let Occupant::Is(inode) = one
                        && let Some(inode) = self.inodes.get_mut(inode)
                    {
                        inode.forget();
                    }
                }
                // As a session goes on with it.
                let of_stamps = self.device(&now).flatten();
                self.new_inode(Inode::unknown(of_stamps))
            }
        };
        let place = self.place;
        self.trees.get_mut(&device)?.slot(file).turned_out(place, Occupant::Is(inode));
        Some(inode)
    }

    /// Something was done to the contents of a file.
    fn change(&mut self, device: u64, file: u32, change: Change) {
        let Some(inode) = self.inode_at(device, file) else { return };
        let Some(tree) = self.trees.get(&device) else { return };
        let (block_bytes, is_durable) = (tree.target.block_bytes.max(1), tree.target.is_synchronous);
        // A length that was set is durable by a sync alone.
        let is_durable = is_durable && !matches!(change, Change::Resizing(_) | Change::Resized { .. });
        let place = self.place;
        if let Some(inode) = self.inodes.get_mut(&inode) {
            if let Change::Wrote { floor, .. } = change {
                inode.wrote(floor);
            }
            inode.change(place, change, block_bytes, is_durable);
        }
    }

    fn next_sequence(&mut self, device: u64, file: u32) -> u64 {
        let inode = self.inode_at(device, file);
        inode
            .and_then(|inode| self.inodes.get(&inode))
            .map_or(0, |inode| inode.next_sequence(usize::from(self.session)))
    }

    pub(crate) fn record(&mut self, header: &SegmentHeader, record: &Record, states: &[u8]) {
        let Some(target) = header.session.targets.get(usize::from(record.target)) else { return };
        let device = target.device;
        let Some(tree) = self.trees.get_mut(&device) else { return };
        if record.kind.changes() {
            tree.changed_in = Some(self.session);
        }
        let file_blocks = tree.file_blocks();
        self.place += 1;
        if record.kind == Kind::FileRenamedTo {
            self.renamed(device, record);
            return;
        }
        if let Some((device, file, _, _)) = self.renaming.take()
            && let Some(tree) = self.trees.get_mut(&device)
        {
            // Its second half is missing: it may be anywhere.
            tree.slot(file).may_be(self.place, Occupant::Absent);
            return self.record(header, record, states);
        }
        let blocks = (file_blocks, record.first);
        match record.kind {
            Kind::Done | Kind::Failed | Kind::Same | Kind::Packed => self.blocks(device, blocks, record, states),
            Kind::FlushBegun | Kind::FileSyncBegun | Kind::DirectorySyncBegun => self.sync_begun(device, record),
            Kind::FlushEnded | Kind::FileSyncEnded | Kind::DirectorySyncEnded => self.sync_ended(device, record),
            Kind::FileGrown | Kind::FileResizing | Kind::FileResized => self.length(device, record),
            Kind::FileIs | Kind::FileFound => self.looked_at(device, record),
            Kind::FileDevice => {
                let slot = self.trees.get(&device).and_then(|tree| tree.slots.get(&number(record.first)));
                let inode = slot.and_then(Entry::inode);
                if let Some(inode) = inode.and_then(|inode| self.inodes.get_mut(&inode)) {
                    inode.device = Some(record.sequence);
                }
            }
            _ => self.name(device, record),
        }
    }

    fn blocks(&mut self, device: u64, (file_blocks, first): (u64, u64), record: &Record, states: &[u8]) {
        let (file, first) = (number(first / file_blocks), first % file_blocks);
        let (session, count) = (self.session, u64::from(record.count).min(file_blocks - first));
        let wrote = |first, count, floor, version| Change::Wrote { first, count, floor, version };
        match record.kind {
            Kind::Done => {
                let floor = Floor::write(session, record.sequence);
                self.change(device, file, wrote(first, count, floor, record.version));
            }
            Kind::Failed => self.change(device, file, Change::Failed { first, count }),
            Kind::Same => {
                if let Some(tree) = self.trees.get_mut(&device) {
                    tree.dump_sequence = record.sequence;
                }
                if let Some((floor, version)) = Floor::of_state(record.version, session, record.sequence)
                    && count > 0
                {
                    self.change(device, file, wrote(first, count, floor, version));
                }
            }
            _ => {
                let sequence = self.trees.get(&device).map_or(0, |tree| tree.dump_sequence);
                let (states, _) = states.as_chunks::<2>();
                for (block, state) in (first..first + count).zip(states) {
                    if let Some((floor, version)) = Floor::of_state(u16::from_le_bytes(*state), session, sequence) {
                        self.change(device, file, wrote(block, 1, floor, version));
                    }
                }
            }
        }
    }

    fn length(&mut self, device: u64, record: &Record) {
        let (file, bytes) = (number(record.first), record.sequence);
        let change = match (record.kind, record.is_ok) {
            (Kind::FileGrown, _) => Change::Grown(bytes),
            (Kind::FileResized, true) => {
                let floor = Floor::trim(self.session, self.next_sequence(device, file));
                Change::Resized { bytes, floor }
            }
            // Also where it failed.
            _ => Change::Resizing(bytes),
        };
        self.change(device, file, change);
    }

    fn name(&mut self, device: u64, record: &Record) {
        let (place, session) = (self.place, self.session);
        let (first, parent) = (number(record.first), record.count);
        let made = match (record.kind, record.is_ok) {
            (Kind::FileMade, true) => self.new_inode(Inode::made(Floor::trim(session, record.sequence))),
            (Kind::FileRenamedFrom, _) => self.inode_at(device, first).unwrap_or(0),
            _ => 0,
        };
        let Some(tree) = self.trees.get_mut(&device) else { return };
        match record.kind {
            Kind::FileMaking => tree.slot(first).announce(Occupant::Unknown),
            Kind::FileRemoving => tree.slot(first).announce(Occupant::Absent),
            Kind::FileMade => {
                let slot = tree.slot(first);
                slot.parent = parent;
                match record.is_ok {
                    true => slot.become_one_of(place, vec![Occupant::Is(made)]),
                    false => slot.may_be(place, Occupant::Unknown),
                }
            }
            Kind::FileRemoved => {
                let slot = tree.slot(first);
                slot.parent = parent;
                match record.is_ok {
                    true => slot.become_one_of(place, vec![Occupant::Absent]),
                    false => slot.may_be(place, Occupant::Absent),
                }
            }
            Kind::FileRenamedFrom => {
                let slot = tree.slot(first);
                slot.parent = parent;
                self.renaming = Some((device, first, vec![Occupant::Is(made)], record.is_ok));
            }
            Kind::DirectoryMade | Kind::DirectoryRemoved => {
                let entry = tree.directory(first);
                entry.parent = parent;
                let is = if record.kind == Kind::DirectoryMade { Occupant::Is(DIRECTORY) } else { Occupant::Absent };
                if record.kind == Kind::DirectoryMade {
                    entry.was_not_there();
                }
                match record.is_ok {
                    true => entry.become_one_of(place, vec![is]),
                    false => entry.may_be(place, Occupant::Unknown),
                }
            }
            _ => {}
        }
    }

    /// Both names of a file that got another one.
    fn renamed(&mut self, device: u64, record: &Record) {
        let Some((from_device, from, what, is_ok)) = self.renaming.take() else { return };
        if let [Occupant::Is(inode)] = what.as_slice()
            && let Some(inode) = self.inodes.get_mut(inode)
        {
            match is_ok {
                true => inode.device = Some(record.sequence),
                // What is done under the new name may be done to it.
                false => inode.forget(),
            }
        }
        let (place, to) = (self.place, number(record.first));
        if let Some(tree) = self.trees.get_mut(&from_device) {
            match is_ok {
                true => tree.slot(from).become_one_of(place, vec![Occupant::Absent]),
                false => tree.slot(from).may_be(place, Occupant::Absent),
            }
        }
        if let Some(tree) = self.trees.get_mut(&device) {
            let slot = tree.slot(to);
            slot.parent = record.count;
            match is_ok {
                true => slot.become_one_of(place, what),
                false => slot.may_be(place, Occupant::Unknown),
            }
        }
    }

    /// A file as it is in a checkpoint, or was found.
    fn looked_at(&mut self, device: u64, record: &Record) {
        let (place, file, bytes) = (self.place, number(record.first), record.sequence);
        let is_on_device = record.kind == Kind::FileFound && self.is_after_power_cut;
        let Some(tree) = self.trees.get_mut(&device) else { return };
        let slot = tree.slot(file);
        slot.parent = record.count;
        let turns_out = |slot: &mut Entry, what: Occupant| {
            match is_on_device {
                true => slot.is_on_device(what),
                false if slot.now() != [what] => slot.turned_out(place, what),
                false => {}
            };
        };
        if record.version == 0 {
            turns_out(slot, Occupant::Absent);
            return;
        }
        let Some(inode) = self.inode_at(device, file) else { return };
        if let Some(tree) = self.trees.get_mut(&device) {
            turns_out(tree.slot(file), Occupant::Is(inode));
        }
        // It was reported when it was found, and is as it is from here on.
        if self.inodes.get(&inode).is_some_and(|inode| bytes < inode.now.bytes_min) {
            let floor = Floor::trim(self.session, self.next_sequence(device, file));
            self.change(device, file, Change::Resized { bytes, floor });
        }
        let block_bytes = self.trees.get(&device).map_or(1, |tree| tree.target.block_bytes.max(1));
        if let Some(inode) = self.inodes.get_mut(&inode) {
            inode.found(place, bytes, block_bytes, is_on_device);
        }
    }

    fn sync_begun(&mut self, device: u64, record: &Record) {
        let scope = match record.kind {
            Kind::FileSyncBegun => {
                let file = number(record.first);
                let Some(inode) = self.inode_at(device, file) else { return };
                Scope::File { file, inode, names_too: record.version == 0 }
            }
            Kind::DirectorySyncBegun => Scope::Directory(number(record.first)),
            _ => Scope::All,
        };
        // What the record itself has made known of the file was there before.
        self.place += 1;
        let submitted = self.place;
        let kind = match record.kind {
            Kind::FileSyncBegun => Kind::FileSyncEnded,
            Kind::DirectorySyncBegun => Kind::DirectorySyncEnded,
            _ => Kind::FlushEnded,
        };
        if let Some(tree) = self.trees.get_mut(&device) {
            tree.under_way.push(Sync { kind, first: record.first, epoch: record.sequence, scope, submitted });
        }
    }

    fn sync_ended(&mut self, device: u64, record: &Record) {
        let Some(tree) = self.trees.get_mut(&device) else { return };
        let is_it = |sync: &Sync| (sync.kind, sync.first, sync.epoch) == (record.kind, record.first, record.sequence);
        let known = tree.under_way.iter().position(is_it).map(|at| tree.under_way.swap_remove(at));
        let sync = match known {
            Some(sync) => sync,
            None if record.is_ok => return,
            // Its beginning is not in the journal any more, so nothing says what it was to keep.
            None => Sync { kind: record.kind, first: 0, epoch: 0, scope: Scope::All, submitted: 0 },
        };
        if record.is_ok {
            let epoch = u32::try_from(record.sequence).unwrap_or(u32::MAX);
            tree.acknowledged = tree.acknowledged.max(Some(epoch));
        }
        tree.has_lost_names |= !record.is_ok && !matches!(sync.scope, Scope::File { .. });
        let block_bytes = tree.target.block_bytes.max(1);
        let inodes = &mut self.inodes;
        let mut contents = |inode: u64| {
            let Some(inode) = inodes.get_mut(&inode) else { return };
            match record.is_ok {
                true => inode.cover(sync.submitted, block_bytes),
                false => inode.sync_failed(block_bytes),
            }
        };
        let name = |entry: &mut Entry| match record.is_ok {
            true => entry.cover(sync.submitted),
            false => entry.loosen(),
        };
        match sync.scope {
            Scope::All => {
                tree.is_whole_synced |= record.is_ok;
                for entry in tree.slots.values_mut() {
                    for one in entry.possible(true).into_iter().chain(entry.possible(false)) {
                        if let Occupant::Is(inode) = one {
                            contents(inode);
                        }
                    }
                    name(entry);
                }
                tree.directories.values_mut().for_each(name);
            }
            Scope::Directory(directory) => {
                tree.slots.values_mut().filter(|entry| entry.parent == directory).for_each(name);
                tree.directories.values_mut().filter(|entry| entry.parent == directory).for_each(name);
            }
            Scope::File { file, inode, names_too } => {
                contents(inode);
                if tree.names() == NameRule::File && names_too && record.is_ok {
                    tree.slot(file).cover_of(inode, sync.submitted);
                    for directory in tree.above(file) {
                        tree.directory(directory).cover_of(DIRECTORY, sync.submitted);
                        tree.directory(directory).was_there(DIRECTORY);
                    }
                }
            }
        }
    }
}

/// Numbers of files and directories have 32 bits.
fn number(of: u64) -> u32 {
    u32::try_from(of).unwrap_or(NOWHERE)
}
