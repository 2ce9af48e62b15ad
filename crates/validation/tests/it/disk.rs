//! A validated disk that goes wrong, and a copy of what must be on it.

use crate::arbitrary::Random;
use crate::oracle::{Oracle, Tally};
use faultfs::{DiskConfig, DiskHandle, Faultfs};
use plan::generate::{PlacedCopies, WriteVolume};
use plan::{DedupContent, DedupSets};
use stamp::DamageClass;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use tempfile::TempDir;
use validation::{BlockState, FoundBy, ReadOutcome, Reports, TargetCopies, TargetRules, TargetValidation};

pub const RUN: u64 = 0x2026_1128_0000_0001;
pub const OLD_RUN: u64 = 0x2025_0101_0000_0007;
pub const DEVICE: u64 = 77;

/// How a disk is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub block_bytes: usize,
    pub blocks: usize,
    pub ratio: f64,
    /// Some of its blocks are equal to others.
    pub copies: bool,
}

fn copies(shape: Shape, device: u64) -> TargetCopies {
    let sets = DedupSets::Fraction(0.3);
    let dedup = DedupContent { ratio: 2.0, unit_bytes: shape.block_bytes.max(4096) as u64, sets, across: false };
    let volume = WriteVolume::alone(DEVICE, (shape.block_bytes * shape.blocks) as u64);
    TargetCopies { placed: PlacedCopies::new(&dedup, &volume).unwrap(), domain: device + 0xc0 }
}

pub fn validation(shape: Shape, run: u64, device: u64, reports: &Arc<Reports>) -> TargetValidation {
    let rules = TargetRules {
        target: 0,
        device,
        runs: vec![run],
        size_bytes: (shape.block_bytes * shape.blocks) as u64,
        block_bytes: shape.block_bytes as u64,
        compress_ratio: shape.ratio,
        copies: shape.copies.then(|| copies(shape, device)),
        flags: stamp::StampFlags::default(),
        trims_read_zero: true,
        checks_unknown: false,
    };
    TargetValidation::new(rules, Arc::clone(reports))
}

pub struct Disk {
    pub shape: Shape,
    pub handle: DiskHandle,
    pub file: File,
    pub target: TargetValidation,
    pub reports: Arc<Reports>,
    /// What every acknowledged operation has left.
    pub truth: Vec<u8>,
    /// Blocks that were trimmed at some time.
    pub trimmed: Vec<bool>,
    /// What the blocks of the image are that the disk shows instead of its own.
    pub foreign: Option<DamageClass>,
    pub oracle: Oracle,
    pub tally: Tally,
    pub directory: TempDir,
}

impl Disk {
    /// `None`: this machine cannot mount one.
    pub fn new(shape: Shape, seed: u64) -> Option<Self> {
        if !testkit::require_root_or_skip() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let mountpoint = directory.path().join("disk");
        std::fs::create_dir(&mountpoint).unwrap();
        let bytes = shape.block_bytes * shape.blocks;
        let config = DiskConfig { seed, threads: 1, log_entries: 1, ..DiskConfig::new(bytes as u64) };
        let handle = match Faultfs::mount(&mountpoint, config) {
            Ok(handle) => handle,
            Err(error) => {
                testkit::lacks(&format!("FUSE: {error}"));
                return None;
            }
        };
        let file = File::options().read(true).write(true).open(handle.disk()).unwrap();
        let reports = Arc::new(Reports::default());
        Some(Self {
            shape,
            handle,
            file,
            target: validation(shape, RUN, DEVICE, &reports),
            reports,
            truth: vec![0; bytes],
            trimmed: vec![false; shape.blocks],
            foreign: None,
            oracle: Oracle::default(),
            tally: Tally::default(),
            directory,
        })
    }

    /// Offset and length of a block and some behind it.
    pub fn some(&self, random: &mut Random, first: usize) -> (u64, usize) {
        let blocks = (1 + random.below(4) as usize).min(self.shape.blocks - first);
        ((first * self.shape.block_bytes) as u64, blocks * self.shape.block_bytes)
    }

    pub fn write(&mut self, (offset, bytes): (u64, usize)) {
        assert!(self.target.take(offset, bytes as u64), "nothing else is under way");
        let mut buffer = vec![0; bytes];
        let hold = self.target.stamp(offset, &mut buffer, 1);
        let done = self.file.write_at(&buffer, offset).unwrap_or(0);
        let from = offset as usize;
        self.truth[from..from + done].copy_from_slice(&buffer[..done]);
        self.target.written(offset, bytes as u64, hold, done == bytes);
    }

    pub fn trim(&mut self, (offset, bytes): (u64, usize)) {
        use rustix::fs::FallocateFlags as Flags;
        assert!(self.target.take(offset, bytes as u64), "nothing else is under way");
        let flags = Flags::PUNCH_HOLE | Flags::KEEP_SIZE;
        let is_done = rustix::fs::fallocate(&self.file, flags, offset, bytes as u64).is_ok();
        if is_done {
            self.truth[offset as usize..][..bytes].fill(0);
            let first = offset as usize / self.shape.block_bytes;
            self.trimmed[first..first + bytes / self.shape.block_bytes].fill(true);
        }
        self.target.trimmed(offset, bytes as u64, is_done);
    }

    /// Reads, checks and, where something is wrong, reads again and reports, as an engine does.
    pub fn read(&mut self, (offset, bytes): (u64, usize), found_by: FoundBy) {
        assert!(self.target.take(offset, bytes as u64), "nothing else is under way");
        let first = self.read_once(offset, bytes);
        let states: Vec<BlockState> = (0..bytes / self.shape.block_bytes)
            .map(|block| self.target.states().get(offset / self.shape.block_bytes as u64 + block as u64))
            .collect();
        let mut again = None;
        if self.target.check(offset, &first) == ReadOutcome::Suspect {
            again = Some(self.read_once(offset, bytes));
            let count = self.target.report(offset, &first, again.as_deref(), found_by);
            assert!(count > 0, "what was suspect must be reported");
        }
        self.target.release(offset, bytes as u64);
        self.judge_read(offset, &states, &first, again.as_deref());
    }

    /// An engine tries again, too, or counts an error and checks nothing.
    fn read_once(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0x33; bytes];
        for _ in 0..1000 {
            stamp::poison(&mut buffer);
            if self.file.read_at(&mut buffer, offset).is_ok() {
                return buffer;
            }
        }
        panic!("nothing can be read at {offset}");
    }

    /// Reads everything that may have been written.
    pub fn sweep(&mut self, random: &mut Random) {
        let mut at = 0;
        while at < self.shape.blocks {
            let range = self.some(random, at);
            self.read(range, FoundBy::Sweep);
            at += range.1 / self.shape.block_bytes;
        }
    }
}
