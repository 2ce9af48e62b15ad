//! A load on a file, validated, with a journal.

use data_journal::{Crash, Journal, JournalOptions, Recovered, SessionHeader};
use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use stamp::StampFlags;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::direct;
use validation::{
    FoundBy, ReadOutcome, RecoveredStates, Reports, TargetJournal, TargetRules, TargetValidation, Validation,
};

/// Numbers that follow from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

/// How often what is done, of a hundred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) block_bytes: u64,
    pub(crate) blocks: u64,
    pub(crate) longest: u64,
    pub(crate) flushes: u64,
    pub(crate) trims: u64,
    pub(crate) failures: u64,
    pub(crate) threads: usize,
}

pub(crate) const DEVICE: u64 = 77;

impl Shape {
    pub(crate) fn random(random: &mut Random) -> Self {
        let block_bytes = random.one(&[512, 4096, 4096, 16384]);
        Self {
            block_bytes,
            blocks: random.one(&[16, 64, 200]),
            longest: random.one(&[1, 1, 4]),
            flushes: random.one(&[0, 1, 5, 20]),
            trims: random.one(&[0, 0, 3]),
            failures: random.one(&[0, 0, 2]),
            threads: random.one(&[1, 1, 2]),
        }
    }

    fn rules(&self, run: u64) -> TargetRules {
        TargetRules {
            target: 0,
            device: DEVICE,
            runs: vec![run],
            size_bytes: self.blocks * self.block_bytes,
            block_bytes: self.block_bytes,
            compress_ratio: 1.0,
            copies: None,
            flags: StampFlags::default(),
            trims_read_zero: true,
            checks_unknown: false,
        }
    }
}

/// A session: its validation, with or without what a journal said before.
pub(crate) struct Session {
    pub(crate) shape: Shape,
    pub(crate) validation: Validation,
    pub(crate) target: Arc<TargetValidation>,
}

impl Session {
    /// Of a new journal, or the next one of one that was recovered.
    pub(crate) fn begin(directory: &Path, shape: Shape, run: u64, before: Option<(&Recovered, Crash)>) -> Self {
        let reports = Arc::new(Reports::default());
        let mut target = TargetValidation::new(shape.rules(run), reports.clone());
        if let Some((recovered, crash)) = before
            && let Some(states) = RecoveredStates::of(recovered, crash, DEVICE, shape.block_bytes).unwrap()
        {
            target = target.with_recovered(&states);
        }
        let header = SessionHeader::new(run, vec![target.journal_target("sd1", false, shape.trims > 0)]);
        let options = JournalOptions { checkpoint_bytes: 16 << 10 };
        let journal = match before {
            None => Journal::create(directory, header, options),
            Some((recovered, crash)) => Journal::resume(recovered, crash, header, options),
        };
        let journal = TargetJournal { journal: Arc::new(journal.unwrap()), target: 0 };
        let target = Arc::new(target.with_journal(journal));
        let settings = plan::ValidationSettings::default();
        let validation = Validation { settings, run, targets: vec![Some(target.clone())], trees: Vec::new(), reports };
        Self { shape, validation, target }
    }

    /// Reads everything; gives the addresses of damaged blocks with their classes.
    pub(crate) fn sweep(&self, file: &File) -> Vec<(u64, stamp::DamageClass)> {
        let bytes = usize::try_from(self.shape.block_bytes).unwrap();
        for block in 0..self.shape.blocks {
            let offset = block * self.shape.block_bytes;
            assert!(self.target.take(offset, self.shape.block_bytes));
            let read = direct::read(file, offset, bytes).unwrap();
            if self.target.check(offset, &read) == ReadOutcome::Suspect {
                let again = direct::read(file, offset, bytes).unwrap();
                self.target.report(offset, &read, Some(&again), FoundBy::Sweep);
            }
            self.target.release(offset, self.shape.block_bytes);
        }
        let found = self.validation.reports.take();
        found.into_iter().map(|damage| (damage.address, damage.finding.class)).collect()
    }

    /// So many operations on each thread, or fewer where `stop` is set meanwhile.
    pub(crate) fn load(&self, file: &File, operations: u64, seed: u64, stop: &AtomicBool) {
        std::thread::scope(|scope| {
            for thread in 0..self.shape.threads as u64 {
                scope.spawn(move || {
                    let mut random = Random::new(seed * 31 + thread);
                    for _ in 0..operations {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        self.act(file, &mut random);
                    }
                });
            }
        });
    }

    fn act(&self, file: &File, random: &mut Random) {
        let (shape, target) = (self.shape, &self.target);
        let what = random.below(100);
        if what < shape.flushes {
            let epoch = target.flushing();
            let is_done = fdatasync(file).is_ok();
            target.flushed(epoch, is_done);
            return;
        }
        for index in self.validation.checkpoint(false).unwrap() {
            assert_eq!(index, 0);
            let epoch = target.flushing();
            target.flushed(epoch, fdatasync(file).is_ok());
        }
        let count = (1 + random.below(shape.longest)).min(shape.blocks);
        let offset = random.below(shape.blocks - count + 1) * shape.block_bytes;
        let bytes = count * shape.block_bytes;
        if !target.take(offset, bytes) {
            return;
        }
        if what < shape.flushes + shape.trims {
            target.trimming(offset, bytes);
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let is_done = fallocate(file, how, offset, bytes).is_ok();
            target.trimmed(offset, bytes, is_done);
        } else if what < 20 {
            let read = direct::read(file, offset, usize::try_from(bytes).unwrap()).unwrap();
            assert_eq!(target.check(offset, &read), ReadOutcome::Right, "while it runs, {offset:#x}");
            target.release(offset, bytes);
        } else {
            let mut data = vec![0; usize::try_from(bytes).unwrap()];
            let hold = target.stamp(offset, &mut data, 1);
            // A write that fails may have written any part of it.
            let is_failed = what >= 100 - shape.failures;
            let written = if is_failed { data.len() / 512 / 2 * 512 } else { data.len() };
            let is_done = written == 0 || direct::write(file, offset, &data[..written]).unwrap() == written;
            target.written(offset, bytes, hold, is_done && !is_failed);
        }
    }

    /// Operations that a crash finds under way: submitted, and whole, in part or not done.
    pub(crate) fn leave_under_way(&self, file: &File, random: &mut Random) {
        let shape = self.shape;
        for _ in 0..random.below(4) {
            let offset = random.below(shape.blocks) * shape.block_bytes;
            if !self.target.take(offset, shape.block_bytes) {
                continue;
            }
            if shape.trims > 0 && random.below(2) == 0 {
                self.target.trimming(offset, shape.block_bytes);
                let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(file, how, offset, shape.block_bytes).unwrap();
                continue;
            }
            let mut data = vec![0; usize::try_from(shape.block_bytes).unwrap()];
            self.target.stamp(offset, &mut data, 1);
            let sectors = usize::try_from(random.below(shape.block_bytes / 512 + 1)).unwrap();
            if sectors > 0 {
                direct::write(file, offset, &data[..sectors * 512]).unwrap();
            }
        }
    }
}
