//! What may be found under a name.

use super::content::Place;

/// What a name may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occupant {
    /// Anything, or nothing.
    Unknown,
    /// Nothing.
    Absent,
    /// This file. Directories are all the same one.
    Is(u64),
}

/// A name of a file or directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The directory in which it is.
    pub(crate) parent: u32,
    /// What a sync has left: one of these.
    durable: Vec<Occupant>,
    /// What it became since, in order.
    pending: Vec<(Place, Vec<Occupant>)>,
    /// What it is while its machine runs: one of these.
    now: Vec<Occupant>,
    /// What an operation may make of it that was announced.
    announced: Vec<Occupant>,
}

fn add(set: &mut Vec<Occupant>, more: &[Occupant]) {
    for one in more {
        if !set.contains(one) {
            set.push(*one);
        }
    }
}

impl Entry {
    /// A name of which nothing is known.
    pub(crate) fn unknown(parent: u32) -> Self {
        let unknown = vec![Occupant::Unknown];
        Self { parent, durable: unknown.clone(), pending: Vec::new(), now: unknown, announced: Vec::new() }
    }

    pub(crate) fn now(&self) -> &[Occupant] {
        &self.now
    }

    /// The file that it is for certain.
    pub(crate) fn inode(&self) -> Option<u64> {
        match self.now.as_slice() {
            [Occupant::Is(inode)] => Some(*inode),
            _ => None,
        }
    }

    /// An operation is about to be submitted.
    pub(crate) fn announce(&mut self, what: Occupant) {
        add(&mut self.announced, &[what]);
    }

    /// It came back: the name stands for one of these now.
    pub(crate) fn become_one_of(&mut self, place: Place, set: Vec<Occupant>) {
        self.announced.clear();
        self.pending.push((place, set.clone()));
        self.now = set;
    }

    /// It failed: what was there before, or this.
    pub(crate) fn may_be(&mut self, place: Place, what: Occupant) {
        let mut set = self.now.clone();
        add(&mut set, &[what]);
        if set == self.now { self.announced.clear() } else { self.become_one_of(place, set) }
    }

    /// A sync that was submitted at this place was acknowledged.
    pub(crate) fn cover(&mut self, submitted: Place) {
        let covered = self.pending.partition_point(|(place, _)| *place < submitted);
        if let Some((_, set)) = self.pending.drain(..covered).next_back() {
            self.durable = set;
        }
    }

    /// The same by a sync of the file itself, where that is what the name stood for.
    pub(crate) fn cover_of(&mut self, inode: u64, submitted: Place) {
        let covered = self.pending.partition_point(|(place, _)| *place < submitted);
        let last = covered.checked_sub(1).and_then(|at| self.pending.get(at));
        if last.is_some_and(|(_, set)| *set == [Occupant::Is(inode)]) {
            self.cover(submitted);
        }
    }

    /// What is of an unknown age was there before.
    pub(crate) fn was_there(&mut self, inode: u64) {
        if self.durable == [Occupant::Unknown] {
            self.durable = vec![Occupant::Is(inode)];
            if self.now == [Occupant::Unknown] {
                self.now.clone_from(&self.durable);
            }
        }
    }

    /// No later sync speaks for what was done up to now.
    pub(crate) fn loosen(&mut self) {
        for (_, set) in std::mem::take(&mut self.pending) {
            add(&mut self.durable, &set);
        }
    }

    /// What may be there after a crash.
    pub(crate) fn possible(&self, is_power_cut: bool) -> Vec<Occupant> {
        let mut set = if is_power_cut { self.durable.clone() } else { self.now.clone() };
        if is_power_cut {
            self.pending.iter().for_each(|(_, more)| add(&mut set, more));
        }
        add(&mut set, &self.announced);
        set
    }

    /// Another session begins behind a crash of this kind.
    pub(crate) fn crashed(&mut self, place: Place, is_power_cut: bool) {
        let set = self.possible(is_power_cut);
        if is_power_cut {
            self.pending.clear();
            self.announced.clear();
            (self.durable, self.now) = (set.clone(), set);
        } else if !self.announced.is_empty() {
            self.become_one_of(place, set);
        }
    }
}
