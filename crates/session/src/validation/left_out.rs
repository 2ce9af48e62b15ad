//! What a journal knows and no run reads: targets that the load does not have, and blocks behind the end of those that it has.

use super::known_name;
use data_journal::{Crash, Existence, Recovered, RecoveredTarget};
use plan::Plan;
use quantity::clock;
use quantity::text::format_bytes;
use rustix::fd::AsFd as _;
use rustix::fs::{SeekFrom, fstat, seek};
use stamp::{DamageClass, Expected, Reading, Version, examine};
use std::sync::atomic::Ordering;
use target::{OpenTarget, TargetKind};
use validation::{Damage, FoundBy, KnownTimes, TargetValidation, Validation, device_id};

/// What a journal knows and no run reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    /// Blocks that are there, or may be there, and are not checked.
    pub(super) blocks: u64,
    /// Blocks that lie behind the end of a target: damage that no run reads.
    pub(super) lost_blocks: u64,
    /// Why it is not known what more must be there; a part of a sentence.
    pub(super) unknown: Option<&'static str>,
    /// Which, and why; parts of a sentence.
    unchecked: Vec<String>,
    /// What is behind the end of a target, so that it is lost; sentences.
    pub(super) lost: Vec<String>,
}

impl LeftOut {
    /// Of a journal and the targets of a load. Blocks behind the end of a target are reported as damaged.
    pub(super) fn of(
        (recovered, crash): (&Recovered, Crash),
        plan: &Plan,
        validation: &Validation,
        opened: &[Option<OpenTarget>],
    ) -> Self {
        let mut left = Self::default();
        let is_there =
            |device: u64| validation.trees.iter().flatten().any(|tree| tree.cells().rules().device == device);
        for tree in recovered.trees().filter(|tree| !is_there(tree.target.device)) {
            let files = tree.files().filter(|file| tree.file(*file, crash).existence != Existence::May).count();
            left.blocks = left.blocks.saturating_add(files as u64);
            left.unchecked.push(format!("{files} files of {}, which this load does not have", tree.target.name));
        }
        for known in &recovered.targets {
            match validation.targets.iter().flatten().find(|target| target.rules().device == known.device) {
                Some(target) => left.behind((known, crash), validation, (target, opened)),
                None => {
                    let why = match plan.targets.iter().any(|spec| device_id(&known_name(&spec.path)) == known.device) {
                        true => "which cannot be read here",
                        false => "which this load does not have",
                    };
                    let blocks = known.floors(crash).count() as u64;
                    left.add(known, blocks, &format!("of {}, {why}", known.name));
                }
            }
        }
        left
    }

    /// Of a target that the load has: what is behind the end that the load gives it, or behind its own.
    fn behind(
        &mut self,
        (known, crash): (&RecoveredTarget, Crash),
        validation: &Validation,
        (target, opened): (&TargetValidation, &[Option<OpenTarget>]),
    ) {
        let (rules, blocks) = (target.rules(), target.states().blocks());
        let opened = opened.get(rules.target).and_then(Option::as_ref);
        let end_bytes = opened.and_then(end_of).unwrap_or(rules.size_bytes).max(rules.size_bytes);
        let end = end_bytes / rules.block_bytes.max(1);
        let (mut unchecked, mut lost, mut beyond) = (0, 0, 0);
        for (block, floor, version) in known.floors(crash).filter(|(block, ..)| *block >= blocks) {
            if block < end {
                unchecked += 1;
            } else if !floor.allows_zeroes() {
                // What was trimmed, or may have been, left nothing that could be missing.
                lost += 1;
                match validation.reports.is_full() {
                    true => beyond += 1,
                    false => report(validation, target, block, version),
                }
            }
        }
        validation.reports.count_beyond(DamageClass::ShortRead, beyond);
        target.counts().damaged_blocks.fetch_add(beyond, Ordering::Relaxed);
        self.lost_blocks = self.lost_blocks.saturating_add(lost);
        self.add(
            known,
            unchecked,
            &format!("of {} behind the {} that this load uses", known.name, format_bytes(rules.size_bytes)),
        );
        if lost > 0 {
            self.lost.push(format!(
                "{} ends at {}, and the journal knows {} of it behind that: they are lost",
                known.name,
                format_bytes(end_bytes),
                format_bytes(known.block_bytes.saturating_mul(lost))
            ));
        }
    }

    fn add(&mut self, known: &RecoveredTarget, blocks: u64, what: &str) {
        if blocks > 0 {
            self.blocks = self.blocks.saturating_add(blocks);
            self.unchecked.push(format!("{} {what}", format_bytes(known.block_bytes.saturating_mul(blocks))));
        }
    }

    /// What is not checked, as the end of a sentence; empty: nothing.
    pub(crate) fn words(&self) -> String {
        let mut words = match self.unchecked.is_empty() {
            true => String::new(),
            false => {
                format!("; not checked, although the journal says what must be there: {}", self.unchecked.join("; "))
            }
        };
        if let Some(why) = self.unknown {
            words += "; ";
            words += why;
        }
        words
    }
}

/// Where a target ends by itself, whatever part of it a load uses.
fn end_of(opened: &OpenTarget) -> Option<u64> {
    match opened.kind {
        TargetKind::File { .. } => u64::try_from(fstat(opened.as_fd()).ok()?.st_size).ok(),
        TargetKind::BlockDevice { .. } => seek(opened.as_fd(), SeekFrom::End(0)).ok(),
        TargetKind::Zeroes | TargetKind::Nothing => None,
    }
}

/// Reports a block that lies behind the end of its target: of a read there nothing comes back.
fn report(validation: &Validation, target: &TargetValidation, block: u64, version: u16) {
    let rules = target.rules();
    let (address, expected) = (block.saturating_mul(rules.block_bytes), Version::AtLeast(version));
    let must = Expected { device: rules.device, runs: &rules.runs, address, version: expected };
    let finding = examine(&Reading { first: &[], again: None }, &must);
    // As long as the block, for those who count bytes.
    let read = vec![0; usize::try_from(rules.block_bytes).unwrap_or(0)];
    let (t_ns, index) = (clock::now_ns(), rules.target);
    validation.reports.add(Damage {
        t_ns,
        target: index,
        file: None,
        address,
        found_by: FoundBy::Sweep,
        expected,
        finding,
        read,
        words: None,
        known: KnownTimes::default(),
    });
    target.counts().damaged_blocks.fetch_add(1, Ordering::Relaxed);
}
