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
    pending: Vec<Became>,
    /// What it is while its machine runs: one of these.
    now: Vec<Occupant>,
    /// What an operation may make of it that was announced.
    announced: Vec<Occupant>,
    /// A sync failed since it became what it is: no later one speaks for that.
    has_lost: bool,
}

/// It stands for one of these from a place on, for certain or perhaps.
#[derive(Clone, Debug)]
struct Became {
    place: Place,
    set: Vec<Occupant>,
    is_certain: bool,
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
        let (durable, now) = (unknown.clone(), unknown);
        Self { parent, durable, pending: Vec::new(), now, announced: Vec::new(), has_lost: false }
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

    fn push(&mut self, place: Place, set: Vec<Occupant>, is_certain: bool) {
        self.pending.push(Became { place, set: set.clone(), is_certain });
        self.now = set;
    }

    /// An operation came back: the name stands for one of these now.
    pub(crate) fn become_one_of(&mut self, place: Place, set: Vec<Occupant>) {
        self.has_lost = false;
        self.announced.clear();
        self.push(place, set, true);
    }

    /// It turned out to stand for this.
    pub(crate) fn turned_out(&mut self, place: Place, what: Occupant) {
        self.push(place, vec![what], !self.has_lost);
    }

    /// It was found on the device behind a power cut.
    pub(crate) fn is_on_device(&mut self, what: Occupant) {
        self.pending.clear();
        (self.durable, self.now) = (vec![what], vec![what]);
    }

    /// An operation failed: what was there before, or this.
    pub(crate) fn may_be(&mut self, place: Place, what: Occupant) {
        let mut set = self.now.clone();
        add(&mut set, &[what]);
        self.announced.clear();
        self.push(place, set, false);
    }

    /// A sync that was submitted at this place was acknowledged.
    pub(crate) fn cover(&mut self, submitted: Place) {
        let covered = self.pending.partition_point(|became| became.place < submitted);
        for became in self.pending.drain(..covered) {
            match became.is_certain {
                true => self.durable = became.set,
                false => add(&mut self.durable, &became.set),
            }
        }
    }

    /// The same by a sync of the file itself, where that is what the name stood for.
    pub(crate) fn cover_of(&mut self, inode: u64, submitted: Place) {
        let covered = self.pending.partition_point(|became| became.place < submitted);
        let last = covered.checked_sub(1).and_then(|at| self.pending.get(at));
        if last.is_some_and(|became| became.set == [Occupant::Is(inode)]) {
            self.cover(submitted);
        }
    }

    /// It was made: it was not there before, whatever is known.
    pub(crate) fn was_not_there(&mut self) {
        if self.durable == [Occupant::Unknown] {
            self.durable.push(Occupant::Absent);
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
        for became in std::mem::take(&mut self.pending) {
            add(&mut self.durable, &became.set);
        }
        self.has_lost = true;
    }

    /// One file that it may stand for is another one.
    pub(crate) fn replace(&mut self, old: u64, new: u64) {
        for one in self.durable.iter_mut().chain(&mut self.now).filter(|one| **one == Occupant::Is(old)) {
            *one = Occupant::Is(new);
        }
    }

    /// It may have gone with its directory, whatever was kept of it.
    pub(crate) fn may_be_gone(&mut self) {
        add(&mut self.durable, &[Occupant::Absent]);
        add(&mut self.now, &[Occupant::Absent]);
    }

    /// What may be there after a crash.
    pub(crate) fn possible(&self, is_power_cut: bool) -> Vec<Occupant> {
        let mut set = if is_power_cut { self.durable.clone() } else { self.now.clone() };
        if is_power_cut {
            self.pending.iter().for_each(|became| add(&mut set, &became.set));
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
            self.announced.clear();
            self.push(place, set, false);
        }
    }
}
