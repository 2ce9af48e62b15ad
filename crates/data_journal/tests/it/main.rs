//! Journals that are written, damaged and read again.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod damage;
mod many_targets;
mod model;
mod places;
mod sessions;
mod trees;

use data_journal::{JournalTarget, SessionHeader, StateSource};
use std::path::{Path, PathBuf};

/// Numbers that follow from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}

pub(crate) fn target(device: u64) -> JournalTarget {
    JournalTarget {
        name: format!("sd{device}"),
        device,
        size_bytes: 1000 * 4096,
        block_bytes: 4096,
        runs: [1].into(),
        is_synchronous: false,
        is_trimmed: true,
        tree: None,
    }
}

pub(crate) fn session(run: u64) -> SessionHeader {
    SessionHeader::new(run, vec![target(7), target(8)])
}

/// States as a session has them.
pub(crate) struct States {
    pub(crate) target: u16,
    pub(crate) sequence: u64,
    pub(crate) states: Vec<u16>,
}

impl StateSource for States {
    fn target(&self) -> u16 {
        self.target
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn blocks(&self) -> u64 {
        self.states.len() as u64
    }

    fn states(&self, first: u64, count: usize, states: &mut Vec<u16>) {
        let from = usize::try_from(first).unwrap();
        states.extend(&self.states[from..self.states.len().min(from + count)]);
    }
}

/// All segments of a journal, in order.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
