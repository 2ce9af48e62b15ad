//! Looking for a file or directory to which an operation can be done.

use super::need::Need;
use super::thread::TreeThread;
use std::sync::atomic::Ordering;
use tree::{FileState, Tree};

/// So many choices by chance before all are looked at in order.
const CHANCES: u32 = 64;

/// What was found, taken for this thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Number of the file or directory.
    pub(crate) at: u32,
    /// The directory that was taken because something is made in it.
    pub(crate) parent: Option<u32>,
    /// The same in the tree where files go; the file there is taken too.
    pub(crate) target_parent: Option<u32>,
}

/// What looking for one without waiting came to.
#[derive(Debug)]
pub(crate) enum Find {
    Found(Found),
    /// Perhaps in a moment.
    NotNow,
    /// The lane is over, or this thread's part of it.
    Over,
}

/// What one look at a file or directory says.
enum Look {
    Fits(Found),
    /// Another thread has it.
    Busy,
    Unfit,
}

impl TreeThread<'_> {
    /// One that no other thread has, taken for this one; `None`: its lane or the run is over. While there is none now, it waits.
    pub(crate) fn find(&mut self, due_ns: Option<u64>) -> Option<Found> {
        let mut stuck = false;
        loop {
            match self.find_now(due_ns, &mut stuck) {
                Find::Found(found) => return Some(found),
                Find::Over => return None,
                Find::NotNow if !self.pause() => return None,
                Find::NotNow => {}
            }
        }
    }

    /// The same without waiting; `stuck`: there was none the last time.
    pub(crate) fn find_now(&mut self, due_ns: Option<u64>, stuck: &mut bool) -> Find {
        let changes = self.all.changes.load(Ordering::Acquire);
        let mut is_busy = false;
        match self.look_round(&mut is_busy) {
            Round::Found(found) => {
                self.is_stuck(stuck, false);
                return Find::Found(found);
            }
            Round::Through => {
                // Other threads may still be at theirs.
                self.lane.used_up(due_ns);
                self.lane.note(self.through());
                return Find::Over;
            }
            Round::Nothing => {}
        }
        let are_all_stuck = self.is_stuck(stuck, !is_busy);
        if !is_busy && are_all_stuck && self.goes_on() && self.all.is_hopeless(self.lane, changes) {
            self.end_lane(self.nothing_left());
            return Find::Over;
        }
        Find::NotNow
    }

    /// Notes whether this thread finds nothing now; says whether none of its lane does. What one thread of a flow needs another one may
    /// be about to make or to remove.
    fn is_stuck(&self, was: &mut bool, is: bool) -> bool {
        let stuck = &self.lane.stuck;
        match (std::mem::replace(was, is), is) {
            (false, true) => stuck.fetch_add(1, Ordering::AcqRel),
            (true, false) => stuck.fetch_sub(1, Ordering::AcqRel),
            _ => 0,
        };
        !self.lane.helps_itself || stuck.load(Ordering::Acquire) >= self.lane.left.load(Ordering::Acquire)
    }

    /// What has become due until now waits, and is never done.
    fn end_lane(&self, why: String) {
        let is_first = !self.lane.is_over.load(Ordering::Acquire);
        self.lane.end(self.now_ns());
        if is_first {
            self.lane.note(why);
        }
    }

    fn through(&self) -> String {
        let (op, anchor) = (self.lane.kinds.of(0).name(), self.tree().path().display());
        format!("{op} in {anchor} is through: it has used every file once")
    }

    fn nothing_left(&self) -> String {
        let op = self.lane.kinds.of(0).name();
        let what = match self.need {
            Need::Existing => "no file exists any more",
            Need::Filled => "no file with data exists",
            Need::Missing => "all files exist, or their directories do not",
            Need::Writable => "the files' directories do not exist; make them with format=yes",
            Need::Writing => "no file exists; make them with format=yes",
            Need::Makeable => "no file can be used or made",
            Need::NewDirectory => "all directories exist",
            Need::EmptyDirectory => "no empty directory exists",
        };
        format!("{op} in {} has nothing left to do: {what}", self.tree().path().display())
    }

    fn count(&self) -> u32 {
        match self.need {
            Need::NewDirectory | Need::EmptyDirectory => self.tree().layout().directories(),
            _ => self.tree().working_set().len(),
        }
    }

    /// Number in the tree of what is at this position: files of the working set, directories from the top, or from the bottom where
    /// they are removed.
    fn number(&self, at: u32) -> u32 {
        match self.need {
            Need::NewDirectory => at,
            Need::EmptyDirectory => self.tree().layout().directories().saturating_sub(at + 1),
            _ => self.tree().working_set().get(at),
        }
    }

    fn look_round(&mut self, is_busy: &mut bool) -> Round {
        let count = self.count();
        let chances = if self.lane.is_random() { count.min(CHANCES) } else { count };
        let mut tried = 0;
        if let Some(found) = self.look_at_recent(&[Need::Missing]) {
            return Round::Found(found);
        }
        while tried < chances {
            if tried == CHANCES
                && let Some(found) = self.look_at_recent(&[Need::Existing, Need::Filled])
            {
                return Round::Found(found);
            }
            tried += 1;
            let Some(at) = self.lane.pick(count) else { return Round::Through };
            let mut look = self.look(self.number(at));
            while self.lane.is_once() && matches!(look, Look::Busy) {
                // Its turn comes once only.
                if !self.pause() {
                    return Round::Nothing;
                }
                look = self.look(self.number(at));
            }
            match look {
                Look::Fits(found) => return Round::Found(found),
                Look::Busy => *is_busy = true,
                Look::Unfit => {}
            }
            if tried.is_multiple_of(1024) && !self.goes_on() {
                return Round::Nothing;
            }
        }
        if self.lane.is_once() || (*is_busy && !self.lane.is_random()) {
            return Round::Nothing;
        }
        if let Some(found) = self.look_at_recent(&[Need::Existing, Need::Filled]) {
            return Round::Found(found);
        }
        // None was met; that there is none is certain only after a look at all.
        let from = u32::try_from((u64::from(count) * (self.seed >> 40)) >> 24).unwrap_or(0);
        for at in (from..count).chain(0..from) {
            match self.look(self.number(at)) {
                Look::Fits(found) => return Round::Found(found),
                Look::Busy => *is_busy = true,
                Look::Unfit => {}
            }
        }
        Round::Nothing
    }

    /// In a flow: what this thread removed, or made, last, where one of these is needed. Few of many files may be left to make or to
    /// remove: this one need not be looked for.
    fn look_at_recent(&mut self, needs: &[Need]) -> Option<Found> {
        if !needs.contains(&self.need) || self.lane.is_once() {
            return None;
        }
        loop {
            let recent = if self.need == Need::Missing { &mut self.recent.removed } else { &mut self.recent.made };
            let file = recent.pop()?;
            if let Look::Fits(found) = self.look(file) {
                return Some(found);
            }
        }
    }

    /// Looks at one, and takes it where it fits.
    fn look(&self, at: u32) -> Look {
        let (lane, need) = (self.lane, self.need);
        if matches!(need, Need::NewDirectory | Need::EmptyDirectory) {
            return self.look_at_directory(at);
        }
        let (state, layout) = (lane.tree.state(), lane.tree.layout());
        let fits = |state: FileState| match need {
            Need::Existing => state.exists,
            Need::Filled => state.bytes > 0,
            Need::Missing => !state.exists,
            Need::Makeable => true,
            Need::Writing => state.exists && layout.asked_bytes(at) > 0,
            _ => layout.asked_bytes(at) > 0,
        };
        if !fits(state.file(at)) {
            // What another thread makes or removes now may fit in a moment.
            let is_idle = state.take_file(at);
            if is_idle {
                state.release_file(at);
            }
            return if is_idle { Look::Unfit } else { Look::Busy };
        }
        if !lane.take_file(at) {
            return Look::Busy;
        }
        let release = |look: Look| {
            lane.release_file(at);
            look
        };
        let known = state.file(at);
        if !fits(known) {
            return release(Look::Unfit);
        }
        let parent = match self.parent_for(&lane.tree, at, !known.exists, lane.guards[0]) {
            Ok(parent) => parent,
            Err(look) => return release(look),
        };
        let mut found = Found { at, parent, target_parent: None };
        if let Some(destination) = lane.destination.as_deref() {
            if !destination.state().take_file(at) {
                return release(Look::Busy);
            }
            match self.parent_for(destination, at, true, lane.guards[1]) {
                Ok(parent) => found.target_parent = parent,
                Err(look) => {
                    destination.state().release_file(at);
                    return release(look);
                }
            }
        }
        Look::Fits(found)
    }

    /// The directory of a file that is made: it must exist, and is taken where it may be removed.
    fn parent_for(&self, tree: &Tree, file: u32, is_made: bool, guards: bool) -> Result<Option<u32>, Look> {
        if !is_made {
            return Ok(None);
        }
        self.parent_taken(tree, tree.layout().directory_of(file), guards)
    }

    fn parent_taken(&self, tree: &Tree, directory: u32, guards: bool) -> Result<Option<u32>, Look> {
        let state = tree.state();
        if guards && !state.take_directory(directory) {
            return Err(Look::Busy);
        }
        if !state.has_directory(directory) {
            // Another thread may be making it.
            let is_idle = guards || state.take_directory(directory);
            if is_idle {
                state.release_directory(directory);
            }
            return Err(if is_idle { Look::Unfit } else { Look::Busy });
        }
        Ok(guards.then_some(directory))
    }

    fn look_at_directory(&self, at: u32) -> Look {
        let (state, layout) = (self.lane.tree.state(), self.lane.tree.layout());
        let is_new = self.need == Need::NewDirectory;
        if !state.take_directory(at) {
            return Look::Busy;
        }
        let fits = state.has_directory(at) != is_new && state.entries(at) == 0;
        let above = layout.parent(at).filter(|_| is_new && fits);
        let parent = match above {
            _ if !fits => Err(Look::Unfit),
            Some(above) => self.parent_taken(&self.lane.tree, above, self.lane.guards[0]),
            None => Ok(None),
        };
        match parent {
            Ok(parent) => Look::Fits(Found { at, parent, target_parent: None }),
            Err(look) => {
                state.release_directory(at);
                look
            }
        }
    }

    /// Gives the directories back in which something was made.
    pub(crate) fn release_parents(&self, found: &Found) {
        found.parent.into_iter().for_each(|parent| self.lane.tree.state().release_directory(parent));
        if let Some((parent, tree)) = found.target_parent.zip(self.lane.destination.as_deref()) {
            tree.state().release_directory(parent);
        }
    }

    /// Gives back everything that was found.
    pub(crate) fn release(&self, found: &Found) {
        self.release_parents(found);
        match self.need {
            Need::NewDirectory | Need::EmptyDirectory => self.lane.tree.state().release_directory(found.at),
            _ => self.lane.release_file(found.at),
        }
        self.lane.destination.iter().for_each(|tree| tree.state().release_file(found.at));
    }
}

enum Round {
    Found(Found),
    /// Each was once.
    Through,
    Nothing,
}
