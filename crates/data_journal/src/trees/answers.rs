//! What must be found of files after a crash.

use super::Trees;
use super::content::Content;
use super::entry::Occupant;
use crate::floor::Floor;
use crate::header::Crash;

/// What must be found of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It must be there.
    Must,
    /// It must not be there.
    MustNot,
    /// Nothing is promised.
    May,
}

/// A file after a crash.
#[derive(Clone, Debug)]
pub struct RecoveredFile {
    /// Is it there?
    pub existence: Existence,
    /// Where it is there, it has at least so many bytes.
    pub bytes_min: u64,
    /// What it may be; nothing where one of these is not known.
    contents: Vec<(Content, bool)>,
    /// The device in its stamps; `None`: that of its own name. A session that goes on with it writes with this one.
    pub device: Option<u64>,
    is_power_cut: bool,
}

impl RecoveredFile {
    /// The oldest operation whose effect may be found in a block of it, with the version of that write; `None`: nothing is promised.
    #[must_use]
    pub fn floor(&self, block: u64) -> Option<(Floor, u16)> {
        let mut merged: Option<(Floor, u16)> = None;
        for (content, is_last) in &self.contents {
            let (mut floor, version) = content.get(block)?;
            if self.is_power_cut {
                floor.set_flushed();
                if !is_last {
                    // What was done behind it may be there.
                    floor.is_followed();
                }
            }
            merged = Some(match merged {
                None => (floor, version),
                Some(other) => Floor::either(other, (floor, version))?,
            });
        }
        merged
    }
}

impl Trees {
    /// The files of a tree of which something was written down.
    pub(crate) fn files(&self, device: u64) -> impl Iterator<Item = u32> {
        self.trees.get(&device).into_iter().flat_map(|tree| tree.slots.keys().copied())
    }

    /// What must be found of a file after a crash of this kind.
    pub(crate) fn file(&self, device: u64, file: u32, crash: Crash) -> RecoveredFile {
        let is_power_cut = crash == Crash::PowerCut;
        let nothing =
            RecoveredFile { existence: Existence::May, bytes_min: 0, contents: Vec::new(), device: None, is_power_cut };
        let Some(tree) = self.trees.get(&device) else { return nothing };
        let Some(entry) = tree.slots.get(&file) else { return nothing };
        let possible = entry.possible(is_power_cut);
        let block_bytes = tree.target.block_bytes.max(1);
        let (mut contents, mut is_known, mut is_synced) = (Vec::new(), true, true);
        for one in &possible {
            match one {
                Occupant::Absent => {}
                Occupant::Unknown => is_known = false,
                Occupant::Is(inode) => match self.inodes.get(inode) {
                    None => is_known = false,
                    Some(inode) => {
                        is_synced &= inode.is_synced;
                        contents.push(match is_power_cut {
                            true => inode.after_power_cut(block_bytes),
                            false => (inode.now.clone(), true),
                        });
                    }
                },
            }
        }
        let is_sure = tree.is_directory_sure(file, is_power_cut) && (is_synced || !is_power_cut);
        let is_there = is_known && is_sure && !possible.contains(&Occupant::Absent);
        let existence = match possible.as_slice() {
            [Occupant::Absent] => Existence::MustNot,
            _ if is_there => Existence::Must,
            _ => Existence::May,
        };
        if !is_known {
            contents.clear();
        }
        let device = self.device(&possible);
        let bytes_min = contents.iter().map(|(content, _)| content.bytes_min).min().unwrap_or(0);
        if device.is_none() {
            // Files with different stamps: whose they are is not known.
            contents.clear();
        }
        RecoveredFile { existence, bytes_min, contents, device: device.flatten(), is_power_cut }
    }
}
