//! Making a tree: what is there is deleted where that is asked, then directories are made level by level, then files.

use super::lane::{TreeLane, TreeLanes};
use super::thread::{Failure, Performed, TreeThread};
use super::tickets::Ticket;
use super::transfers::How;
use plan::generate::OperationKind;
use plan::{FormatTask, TreeTask};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use tree::FileState;

impl TreeThread<'_> {
    /// A thread's part of making its lane's tree.
    pub(crate) fn run_format(&mut self, task: FormatTask) {
        let is_clean = if task.deletes { self.delete_all() } else { self.delete_leftovers() };
        if !is_clean || task.only_deletes {
            return;
        }
        let lane = self.lane;
        let layout = lane.tree.layout();
        for level in 1..=layout.levels() {
            let range = layout.level_range(level);
            while self.may_go_on()
                && let Some(directory) = piece_of(lane.phases.piece(), &range)
            {
                if !lane.tree.state().has_directory(directory) && !self.format_directory(directory) {
                    break;
                }
            }
            if !self.pass() {
                return;
            }
        }
        if task.only_directories {
            return;
        }
        let files = lane.tree.members();
        while self.may_go_on()
            && let Some(at) = piece_of(lane.phases.piece(), &(0..files.len()))
        {
            let file = files.get(at);
            let (known, asked) = (lane.tree.state().file(file), layout.asked_bytes(file));
            let is_whole = known.exists && known.bytes >= asked;
            if !is_whole && !self.format_file(file, known, asked) {
                break;
            }
        }
    }

    /// Is there time left, and no order to stop? Formats of which a part failed go on with the others.
    pub(crate) fn may_go_on(&self) -> bool {
        self.goes_on() && !self.all.run.is_stopped()
    }

    /// Waits for the other threads of the lane.
    pub(crate) fn pass(&mut self) -> bool {
        let goes_on = self.lane.phases.pass(|| self.may_go_on());
        self.free_ns = self.now_ns();
        goes_on
    }

    /// An operation of a format: due when the thread is free. `None`: the run is over.
    pub(crate) fn format_step(
        &mut self,
        kind: OperationKind,
        place: (u64, u32),
        call: impl FnOnce(&mut Self) -> Result<u64, Failure>,
    ) -> Option<Result<u64, Failure>> {
        match self.perform(Ticket { kind, due_ns: self.free_ns }, place, call) {
            Performed::Done(moved) => Some(Ok(moved)),
            Performed::Failed(failure) => Some(Err(failure)),
            Performed::Refused => None,
        }
    }

    fn format_directory(&mut self, directory: u32) -> bool {
        let lane = self.lane;
        self.path_of_directory(directory);
        let made = self.format_step(OperationKind::Mkdir, (0, 0), |this| this.make_directory(directory).map(|()| 0));
        if let Some(Err(failure)) = made
            && failure.is(Errno::EXIST)
        {
            lane.tree.state().set_directory(lane.tree.layout(), directory, true);
        }
        made.is_some()
    }

    /// Makes a file, or completes it. False: the run is over.
    fn format_file(&mut self, file: u32, known: FileState, asked: u64) -> bool {
        let lane = self.lane;
        self.tree_path(file);
        let size = self.transfer_size();
        let mut next = if known.exists { known.bytes / size * size } else { 0 };
        let opened = if known.exists {
            Some(self.open_step(&lane.tree, file, How::Write))
        } else {
            let mut opened = None;
            if self.announce(OperationKind::Create, file) {
                self.free_ns = self.now_ns();
            }
            let made = self.format_step(OperationKind::Create, (0, 0), |this| {
                opened = Some(this.open_step_alone(How::Make)?);
                Ok(0)
            });
            if made.is_none() {
                self.proved(&lane.tree).iter().for_each(|proved| proved.not_made(file));
            }
            made.map(|made| {
                self.note_made(&lane.tree, file, made.as_ref().err().copied());
                made.and_then(|_| opened.ok_or(Errno::BADF.into()))
            })
        };
        let fd: OwnedFd = match opened {
            None => return false,
            Some(Ok(fd)) => fd,
            Some(Err(failure)) => {
                self.correct(file, failure);
                return true;
            }
        };
        let mut bytes = known.bytes;
        if !known.exists {
            lane.tree.state().set_file(lane.tree.layout(), file, FileState { exists: true, bytes: 0 });
        }
        let mut goes_on = true;
        while next < asked && goes_on {
            self.transfers += 1;
            let length = u32::try_from(self.transfer_size().min(asked - next)).unwrap_or(u32::MAX);
            self.content.iter_mut().for_each(plan::generate::ContentGenerator::begin_anew);
            let place = (next, length);
            let of = (OperationKind::Write, file, place);
            if lane.checks.as_ref().is_some_and(|checks| !checks.tree.take(file, (next, u64::from(length)))) {
                // It is this thread's file.
                break;
            }
            self.ready(of, fd.as_fd());
            let written = self.format_step(OperationKind::Write, place, |this| this.write_at(fd.as_fd(), place));
            match &written {
                Some(written) => self.settle(of, fd.as_fd(), None, written.is_ok()),
                None => self.give_back(file, place),
            }
            match written {
                None => goes_on = false,
                Some(Ok(moved)) => {
                    next += moved;
                    bytes = bytes.max(next);
                    goes_on = self.may_go_on();
                }
                Some(Err(failure)) => {
                    bytes = bytes.max(next + u64::try_from(failure.result).unwrap_or(0));
                    break;
                }
            }
        }
        if let Err(failure) = self.close_written(&lane.tree, file, fd, true) {
            self.note_failure(failure);
        }
        lane.tree.state().set_file(lane.tree.layout(), file, FileState { exists: true, bytes });
        goes_on
    }

    /// The open of a create, which is an operation of its own.
    fn open_step_alone(&mut self, how: How) -> Result<OwnedFd, Failure> {
        let lane = self.lane;
        self.step(OperationKind::Open, |this| Ok((this.open_now(&lane.tree, how)?, 0)))
    }
}

/// Says what of a tree is not there that was to be made, once its threads have ended. Who stopped a format knows why.
pub(crate) fn note_missing(all: &TreeLanes, lane: &TreeLane) {
    let TreeTask::Format(task) = lane.load.task else { return };
    if task.only_deletes || all.run.is_stopped() || all.run.is_aborted() {
        return;
    }
    let (state, layout, files) = (lane.tree.state(), lane.tree.layout(), lane.tree.members());
    let directories = (0..layout.directories()).filter(|at| state.has_directory(*at)).count() as u64;
    let is_whole = |file: &u32| {
        let known = state.file(*file);
        known.exists && known.bytes >= layout.asked_bytes(*file)
    };
    let asked = (u64::from(layout.directories()), if task.only_directories { 0 } else { u64::from(files.len()) });
    let whole = if task.only_directories { 0 } else { files.iter().filter(is_whole).count() as u64 };
    if (directories, whole) != asked {
        lane.note(format!(
            "the tree in {} is not complete: {directories} of {} directories and {whole} of {} files are there",
            lane.tree.path().display(),
            asked.0,
            asked.1
        ));
    }
}

/// The member of a range that a piece of work is.
fn piece_of(piece: u64, range: &std::ops::Range<u32>) -> Option<u32> {
    let at = u32::try_from(piece).ok()?.checked_add(range.start)?;
    (at < range.end).then_some(at)
}
