//! What was found wrong: rows while a run lasts, sentences at its end, a verdict behind the last.

use super::words;
use crate::SessionError;
use crate::batch_sink::Spine;
use crate::run_context::RunContext;
use monitor::signed;
use plan::Plan;
use quantity::clock;
use quantity::text::format_bytes;
use recording::rows::{DataCheck, DataError};
use recording::{EventKind, EventSeverity, Label};
use stamp::DamageClass;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use validation::{Damage, TargetValidation, Validation};

/// Damaged blocks of a run that are told in full while it lasts.
const SHOWN: usize = 5;
/// Addresses that the sentence about a class names.
const ADDRESSES: usize = 3;

/// Damaged blocks of one class on one target.
#[derive(Clone, Debug, Default)]
struct ClassTally {
    blocks: u64,
    transient: u64,
    first: Vec<u64>,
}

/// What a run found wrong.
#[derive(Debug, Default)]
pub(crate) struct DataTally {
    classes: BTreeMap<(usize, DamageClass), ClassTally>,
    shown: usize,
    /// By target: bytes that had been read when the run began.
    read_before: Vec<u64>,
    /// All damaged blocks when it began.
    damaged_before: u64,
}

fn read_bytes(target: &TargetValidation) -> u64 {
    let counts = target.counts();
    counts.checked_bytes.load(Ordering::Relaxed) + counts.unknown_bytes.load(Ordering::Relaxed)
}

impl DataTally {
    /// Of a run that is about to begin.
    pub(crate) fn begin(validation: Option<&Validation>) -> Self {
        let Some(validation) = validation else { return Self::default() };
        let read = |target: &Option<Arc<TargetValidation>>| target.as_deref().map_or(0, read_bytes);
        let read_before = validation.targets.iter().map(read).collect();
        Self { read_before, damaged_before: validation.reports.count(), ..Self::default() }
    }

    /// Records what was found since this was last called; the first few are told at once.
    pub(crate) fn take(&mut self, spine: &mut Spine<'_>, context: &RunContext<'_>) -> Result<(), SessionError> {
        let Some(validation) = context.validation else { return Ok(()) };
        let found = validation.reports.take();
        if found.is_empty() {
            return Ok(());
        }
        let row = |damage: &Damage| Some(row_of(spine, context, damage, validation.target(damage.target)?));
        let rows: Vec<DataError> = found.iter().filter_map(row).collect();
        spine.rows(&rows)?;
        for damage in &found {
            let Some(target) = validation.target(damage.target) else { continue };
            let name = context.plan.place_name(damage.target);
            let tally = self.classes.entry((damage.target, damage.finding.class)).or_default();
            tally.blocks += 1;
            tally.transient += u64::from(damage.finding.is_transient);
            if tally.first.len() < ADDRESSES {
                tally.first.push(damage.address);
            }
            if self.shown < SHOWN {
                self.shown += 1;
                let sentence = words::sentence(damage, target.rules(), name);
                let sentence = format!("{}: {sentence}", context.title);
                spine.say(EventSeverity::Error, EventKind::Data, Some(context.title), Some(name), &sentence)?;
            }
        }
        Ok(())
    }

    /// The end of the run: what is proved of each target so far, and a sentence per class and target of what was wrong.
    pub(crate) fn conclude(&mut self, spine: &mut Spine<'_>, context: &RunContext<'_>) -> Result<(), SessionError> {
        let Some(validation) = context.validation else { return Ok(()) };
        self.take(spine, context)?;
        let checks = validation.targets.iter().flatten().map(|target| self.check_of(spine, context, target));
        let checks: Vec<DataCheck> = checks.collect();
        if !checks.is_empty() {
            spine.rows(&checks)?;
        }
        for ((target, class), tally) in &self.classes {
            let name = context.plan.place_name(*target);
            let addresses: Vec<String> = tally.first.iter().map(|address| format!("{address:#x}")).collect();
            let more = if tally.blocks > tally.first.len() as u64 { ", …" } else { "" };
            let sentence = format!(
                "{}: {name}: {} {}: {}; at {}{more}",
                context.title,
                words::blocks(tally.blocks),
                class.name(),
                words::class_words(*class),
                addresses.join(", ")
            );
            spine.event(EventSeverity::Error, EventKind::Data, Some(context.title), Some(name), &sentence)?;
            spine.messages.push(sentence);
        }
        let kept: u64 = self.classes.values().map(|tally| tally.blocks).sum();
        let unkept = (validation.reports.count() - self.damaged_before).saturating_sub(kept);
        if unkept > 0 {
            let sentence = format!("{}: {} damaged besides, and only counted", context.title, words::are(unkept));
            spine.event(EventSeverity::Error, EventKind::Data, Some(context.title), None, &sentence)?;
            spine.messages.push(sentence);
        }
        Ok(())
    }

    fn check_of(&self, spine: &Spine<'_>, context: &RunContext<'_>, target: &TargetValidation) -> DataCheck {
        let (rules, counts) = (target.rules(), target.counts());
        let (t_ns, count) = (clock::now_ns(), |count: &std::sync::atomic::AtomicU64| signed(count.load(Ordering::Relaxed)));
        let swept = context.sweeps.then(|| {
            let before = self.read_before.get(rules.target).copied().unwrap_or(0);
            signed((read_bytes(target) - before) / rules.block_bytes)
        });
        DataCheck {
            t_ns: signed(t_ns),
            t_s: spine.seconds(t_ns),
            run: context.title.to_string(),
            run_index: context.run_index,
            target: context.plan.place_name(rules.target).into(),
            block_bytes: signed(rules.block_bytes),
            stamped_bytes: count(&counts.written_bytes),
            checked_bytes: count(&counts.checked_bytes),
            unknown_bytes: count(&counts.unknown_bytes),
            known_blocks: signed(target.states().written()),
            swept_blocks: swept,
            damaged_blocks: count(&counts.damaged_blocks),
            extra_reads: count(&counts.extra_reads),
            deferred: count(&counts.deferred),
        }
    }

    /// Blocks that a sweep has read, and those that it was to read.
    pub(crate) fn coverage(&self, validation: &Validation) -> Coverage {
        let mut coverage = Coverage::default();
        for target in validation.targets.iter().flatten() {
            let before = self.read_before.get(target.rules().target).copied().unwrap_or(0);
            coverage.swept += (read_bytes(target) - before) / target.rules().block_bytes;
            coverage.known += target.states().written();
        }
        coverage
    }
}

/// How much of what is known a sweep has read, blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    pub(crate) swept: u64,
    pub(crate) known: u64,
}

impl Coverage {
    /// In per cent: 100 only where nothing is missing.
    fn percent(self) -> String {
        if self.swept >= self.known {
            return "100 %".to_string();
        }
        let percent = 100.0 * self.swept as f64 / self.known as f64;
        format!("{:.2} %", percent.min(99.99))
    }
}

fn row_of(spine: &Spine<'_>, context: &RunContext<'_>, damage: &Damage, target: &TargetValidation) -> DataError {
    let rules = target.rules();
    let first = words::first_wrong(damage);
    let stamp = first.and_then(|sector| sector.stamp);
    DataError {
        t_ns: signed(damage.t_ns),
        t_s: spine.seconds(damage.t_ns),
        run: context.title.to_string(),
        run_index: context.run_index,
        target: context.plan.place_name(damage.target).into(),
        address: signed(damage.address),
        bytes: signed(rules.block_bytes),
        class: Label::from(damage.finding.class.name()),
        found_by: Label::from(damage.found_by.name()),
        transient: damage.finding.is_transient,
        wrong_sectors: signed(damage.finding.sectors.iter().filter(|sector| !sector.is_right).count() as u64),
        first_wrong: signed(first.map_or(damage.address, |sector| sector.address)),
        expected: words::expected_words(damage.expected),
        found: words::found_words(damage, rules),
        found_run: stamp.map(|stamp| format!("{:016x}", stamp.run)),
        found_address: stamp.map(|stamp| signed(stamp.address)),
        found_write: stamp.map(|stamp| signed(stamp.sequence)),
        found_written_s: stamp.map(|stamp| i64::from(stamp.written_s)),
        last_good_ns: None,
        last_write_ns: None,
        bytes_found: words::first_bytes(damage),
    }
}

/// What a validated execution has proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// For the user.
    pub(crate) sentence: String,
    /// Data that was read is not what was written.
    pub(crate) is_wrong: bool,
}

impl Verdict {
    /// Of an execution behind its last run; `swept`: what the sweep read, or why there was none.
    pub(crate) fn of(plan: &Plan, validation: &Validation, swept: Result<Coverage, &'static str>) -> Self {
        let targets = || validation.targets.iter().flatten();
        let sum = |of: fn(&TargetValidation) -> u64| targets().map(|target| of(target)).sum::<u64>();
        let written = sum(|target| target.counts().written_bytes.load(Ordering::Relaxed));
        let checked = sum(|target| target.counts().checked_bytes.load(Ordering::Relaxed));
        let damaged = validation.reports.count();
        let figures = format!("{} written, {} checked", format_bytes(written), format_bytes(checked));
        let coverage = match swept {
            Ok(coverage) => format!(", coverage {}", coverage.percent()),
            Err(why) => format!(", {why}"),
        };
        let is_whole = swept.is_ok_and(|coverage| coverage.swept >= coverage.known);
        let found = match damaged {
            0 if written + checked == 0 => "nothing was written, so nothing was proved".to_string(),
            0 if is_whole => "no byte was lost".to_string(),
            0 => "what was read was right".to_string(),
            damaged => format!("{} damaged: {}", words::are(damaged), counted(plan, validation)),
        };
        Self { sentence: format!("validation: {figures}{coverage}: {found}"), is_wrong: damaged > 0 }
    }
}

/// How many blocks of which class, and where most of them are.
fn counted(plan: &Plan, validation: &Validation) -> String {
    let counts = validation.reports.counts();
    let classes: Vec<String> = counts.iter().map(|(class, count)| format!("{count} {}", class.name())).collect();
    let damaged = |target: &&Arc<TargetValidation>| target.counts().damaged_blocks.load(Ordering::Relaxed) > 0;
    let names: Vec<&str> = validation
        .targets
        .iter()
        .flatten()
        .filter(damaged)
        .map(|target| plan.place_name(target.rules().target))
        .collect();
    format!("{} on {}", classes.join(", "), names.join(", "))
}
