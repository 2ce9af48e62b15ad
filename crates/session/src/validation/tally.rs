//! What was found wrong: rows while a run lasts, sentences at its end, a verdict behind the last.

use super::left_out::LeftOut;
use super::words;
use crate::SessionError;
use crate::batch_sink::Spine;
use crate::run_context::RunContext;
use monitor::signed;
use plan::Plan;
use quantity::clock;
use quantity::text::format_bytes;
use recording::rows::{DataCheck, DataError, DataVerdict};
use recording::{EventKind, EventSeverity, Label};
use stamp::DamageClass;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use validation::{
    BlockState, CheckCounts, Damage, DamageCause, DamageGroup, DamageOverview, DamagePlace, DamageRange, FoundFiles,
    JudgedDamage, TargetValidation, Validation,
};

/// Damaged blocks of a run that are described in full while it lasts.
const SHOWN: usize = 5;
/// Addresses that the sentence about a class names.
const ADDRESSES: usize = 3;

/// Damaged blocks of one class on one target.
#[derive(Clone, Debug, Default)]
struct ClassTally {
    blocks: u64,
    transient: u64,
    first: Vec<String>,
}

/// What a run found wrong.
#[derive(Debug, Default)]
pub(crate) struct DataTally {
    classes: BTreeMap<(usize, DamageClass), ClassTally>,
    shown: usize,
    files: FoundFiles,
    /// All damaged blocks when it began.
    damaged_before: u64,
}

impl DataTally {
    /// Of a run that is about to begin.
    pub(crate) fn begin(validation: Option<&Validation>) -> Self {
        Self { damaged_before: validation.map_or(0, |validation| validation.reports.count()), ..Self::default() }
    }

    /// Records what was found since this was last called; the first few are described at once.
    pub(crate) fn take(&mut self, spine: &mut Spine<'_>, context: &RunContext<'_>) -> Result<(), SessionError> {
        let Some(validation) = context.validation else { return Ok(()) };
        let found = validation.reports.take();
        if found.is_empty() {
            return Ok(());
        }
        let row =
            |damage: &Damage| Some(row_of(spine, context, damage, (validation, validation.cells(damage.target)?)));
        let rows: Vec<DataError> = found.iter().filter_map(row).collect();
        spine.damaged_blocks(validation.reports.count());
        spine.rows(&rows)?;
        for damage in &found {
            let Some(cells) = validation.cells(damage.target) else { continue };
            let name = context.plan.place_name(damage.target);
            let path = path_of(validation, damage.target, damage.file);
            let tally = self.classes.entry((damage.target, damage.finding.class)).or_default();
            tally.blocks += 1;
            tally.transient += u64::from(damage.finding.is_transient);
            if tally.first.len() < ADDRESSES {
                tally.first.push(place_text(path.as_deref(), damage.finding.class, damage.address));
            }
            if self.shown < SHOWN {
                self.shown += 1;
                let device = damage.found_device();
                let found = device.and_then(|device| self.files.name(context.plan, validation, device));
                let of = (path.as_deref().unwrap_or(name), path.is_some());
                let sentence = words::sentence(damage, cells.rules().block_bytes, of, found.as_deref());
                let sentence = format!("{}: {sentence}", context.title);
                spine.say(EventSeverity::Error, EventKind::Data, Some(context.title), Some(name), &sentence)?;
            }
        }
        Ok(())
    }

    /// The end of the run: what is proved of each target so far, and a sentence per class and target of what was wrong. The verdict
    /// says it of all runs, as an error.
    pub(crate) fn conclude(&mut self, spine: &mut Spine<'_>, context: &RunContext<'_>) -> Result<(), SessionError> {
        let Some(validation) = context.validation else { return Ok(()) };
        self.take(spine, context)?;
        let checks = Coverage::each(validation).map(|(cells, part)| Self::check_of(spine, context, cells, part));
        let checks: Vec<DataCheck> = checks.collect();
        if !checks.is_empty() {
            spine.rows(&checks)?;
        }
        for ((target, class), tally) in &self.classes {
            let name = context.plan.place_name(*target);
            let more = if tally.blocks > tally.first.len() as u64 { ", …" } else { "" };
            let sentence = format!(
                "{}: {name}: {} {}: {}; at {}{more}",
                context.title,
                words::counted(tally.blocks, *class),
                class.name(),
                words::class_words(*class, is_tree(validation, *target)),
                tally.first.join(", ")
            );
            spine.say(EventSeverity::Info, EventKind::Data, Some(context.title), Some(name), &sentence)?;
        }
        let kept: u64 = self.classes.values().map(|tally| tally.blocks).sum();
        let unkept = (validation.reports.count() - self.damaged_before).saturating_sub(kept);
        if unkept > 0 {
            let sentence = format!("{}: {} damaged besides, and only counted", context.title, words::are(unkept));
            spine.say(EventSeverity::Info, EventKind::Data, Some(context.title), None, &sentence)?;
        }
        Ok(())
    }

    /// Damaged blocks that this run has found so far.
    pub(crate) fn found(&self, validation: Option<&Validation>) -> u64 {
        validation.map_or(0, |validation| validation.reports.count().saturating_sub(self.damaged_before))
    }

    fn check_of(
        spine: &Spine<'_>,
        context: &RunContext<'_>,
        target: &TargetValidation,
        coverage: Coverage,
    ) -> DataCheck {
        let (rules, counts) = (target.rules(), target.counts());
        let (t_ns, count) = (clock::now_ns(), |count: &AtomicU64| signed(count.load(Ordering::Relaxed)));
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
            known_blocks: signed(coverage.known),
            swept_blocks: context.sweeps.then(|| signed(coverage.swept)),
            unpromised_blocks: target.unpromised().map(signed),
            damaged_blocks: count(&counts.damaged_blocks),
            extra_reads: count(&counts.extra_reads),
            deferred: count(&counts.deferred),
        }
    }
}

/// What stands for a target in the row of [`left_out_row`]; no target of a plan has such a name.
const LEFT_OUT: &str = "(left out)";

/// How much of what is known a sweep has read, blocks and files of trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    pub(crate) swept: u64,
    pub(crate) known: u64,
}

impl Coverage {
    /// Of what was read in the last sweep.
    pub(crate) fn of(validation: &Validation) -> Self {
        Self::each(validation).fold(Self::default(), |all, (_, part)| Self {
            swept: all.swept + part.swept,
            known: all.known + part.known,
        })
    }

    /// The same of each target and tree.
    fn each(validation: &Validation) -> impl Iterator<Item = (&TargetValidation, Self)> {
        let of_blocks = |cells: &TargetValidation| Self {
            swept: cells.counts().swept_blocks.load(Ordering::Relaxed),
            known: cells.states().written() - untold(cells),
        };
        let targets = validation.each().map(move |target| (&**target, of_blocks(target)));
        let trees = validation.trees.iter().flatten().map(move |tree| {
            let Self { swept, known } = of_blocks(tree.cells());
            (&**tree.cells(), Self { swept: swept + tree.swept_files(), known: known + tree.known_files() })
        });
        targets.chain(trees)
    }

    /// In per cent: 100 only where nothing is missing.
    fn percent(self) -> String {
        if self.swept >= self.known {
            return "100 %".to_string();
        }
        let percent = 100.0 * self.swept as f64 / self.known as f64;
        format!("{:.2} %", percent.min(99.99))
    }
}

/// Trimmed blocks that may read as anything: no read could tell whether they are right.
fn untold(target: &TargetValidation) -> u64 {
    if target.rules().trims_read_zero {
        return 0;
    }
    let states = target.states();
    let (mut from, mut count) = (0, 0);
    while let Some((first, length)) = states.next_written(from, 1 << 20) {
        from = first + length;
        count += (first..from).filter(|block| states.get(*block) == BlockState::Trimmed).count() as u64;
    }
    count
}

/// What a journal knows and no run reads, as the row of a target: without it the recording would say that more is proved than the
/// verdict does. `None`: there is nothing.
pub(crate) fn left_out_row(
    left_out: &LeftOut,
    (run, run_index): (&str, i32),
    (t_ns, t_s): (u64, f64),
) -> Option<DataCheck> {
    let known = left_out.blocks.saturating_add(left_out.lost_blocks);
    (known > 0 || left_out.unknown.is_some()).then(|| DataCheck {
        t_ns: signed(t_ns),
        t_s,
        run: run.to_string(),
        run_index,
        target: LEFT_OUT.into(),
        block_bytes: 0,
        stamped_bytes: 0,
        checked_bytes: 0,
        unknown_bytes: 0,
        known_blocks: signed(known),
        // Where more may be known than can be read of the journal, no share is known either.
        swept_blocks: left_out.unknown.is_none().then_some(0),
        unpromised_blocks: None,
        damaged_blocks: 0,
        extra_reads: 0,
        deferred: 0,
    })
}

fn row_of(
    spine: &Spine<'_>,
    context: &RunContext<'_>,
    damage: &Damage,
    (validation, target): (&Validation, &TargetValidation),
) -> DataError {
    let rules = target.rules();
    let first = damage.finding.first_wrong();
    let stamp = first.and_then(|sector| sector.stamp);
    DataError {
        t_ns: signed(damage.t_ns),
        t_s: spine.seconds(damage.t_ns),
        run: context.title.to_string(),
        run_index: context.run_index,
        target: context.plan.place_name(damage.target).into(),
        file: path_of(validation, damage.target, damage.file),
        address: signed(damage.address),
        bytes: if damage.words.is_some() { 0 } else { signed(rules.block_bytes) },
        class: Label::from(damage.finding.class.name()),
        found_by: Label::from(damage.found_by.name()),
        transient: damage.finding.is_transient,
        wrong_sectors: signed(damage.finding.wrong_sectors()),
        first_wrong: signed(first.map_or(damage.address, |sector| sector.address)),
        expected: damage.expected_words(),
        found: damage.found_words(),
        found_run: stamp.map(|stamp| format!("{:016x}", stamp.run)),
        found_address: stamp.map(|stamp| signed(stamp.address)),
        found_write: stamp.map(|stamp| signed(stamp.sequence)),
        found_written_s: stamp.map(|stamp| i64::from(stamp.written_s)),
        last_good_ns: damage.known.good_ns.map(signed),
        last_write_ns: damage.known.written_ns.map(signed),
        bytes_found: damage.hex_view(),
    }
}

/// What a validated execution has proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// For the user: what happened to which blocks, then what was proved.
    pub(crate) sentences: Vec<String>,
    /// Data that was read is not what was written.
    pub(crate) is_wrong: bool,
    /// The damaged blocks, with their final classes.
    pub(crate) damages: Vec<JudgedDamage>,
}

/// The row of a damaged block that was judged by all that was found.
pub(crate) fn verdict_row(damage: &JudgedDamage, (target, file): (&str, Option<String>), t_s: f64) -> DataVerdict {
    DataVerdict {
        t_ns: signed(damage.t_ns),
        t_s,
        target: target.into(),
        file,
        address: signed(damage.address),
        bytes: signed(damage.bytes),
        class: Label::from(damage.class.name()),
        transient: damage.is_transient,
        other: damage.other.map(signed),
    }
}

/// Of so many groups of damaged blocks it is said where they are.
const GROUPS: usize = 20;

impl Verdict {
    /// Of an execution behind its last run; `swept`: what the sweep read, or why there was none; `left_out`: what a journal knows besides.
    pub(crate) fn of(
        plan: &Plan,
        validation: &Validation,
        swept: Result<Coverage, &'static str>,
        left_out: &LeftOut,
    ) -> Self {
        let more = left_out.blocks.saturating_add(left_out.lost_blocks);
        let with_rest = |coverage: Coverage| Coverage { known: coverage.known.saturating_add(more), ..coverage };
        let (swept, rest) = (swept.map(with_rest), left_out.words());
        let sum = |of: fn(&CheckCounts) -> &AtomicU64| {
            validation.all_cells().map(|target| of(target.counts()).load(Ordering::Relaxed)).sum::<u64>()
        };
        let (written, checked) = (sum(|counts| &counts.written_bytes), sum(|counts| &counts.checked_bytes));
        let damaged = validation.reports.count();
        let figures = format!("{} written, {} checked", format_bytes(written), format_bytes(checked));
        let coverage = match swept {
            Ok(_) if left_out.unknown.is_some() => ", coverage unknown".to_string(),
            Ok(coverage) if coverage.known == 0 => String::new(),
            Ok(coverage) => format!(", coverage {}", coverage.percent()),
            Err(why) => format!(", {why}"),
        };
        let is_whole = left_out.unknown.is_none() && swept.is_ok_and(|coverage| coverage.swept >= coverage.known);
        let held = |place: DamagePlace, address: u64| validation.right_version(place, address);
        let judgement = if damaged > 0 { validation.reports.judge(held) } else { DamageOverview::default() };
        let counts = class_counts(&judgement);
        let found = match counts.values().sum::<u64>() {
            0 if checked == 0 => "nothing was proved".to_string(),
            0 if is_whole => "no byte was lost".to_string(),
            0 => "what was read was right; the rest is not proved".to_string(),
            count => {
                let classes: Vec<String> =
                    counts.iter().map(|(class, count)| format!("{count} {}", class.name())).collect();
                let what =
                    format!("{} damaged: {}", words::are_of(count, words::files_of(&counts)), classes.join(", "));
                // Where the reading at the end was asked for and did not come to its end.
                let is_cut = validation.settings.sweeps && swept.is_err();
                if is_cut { format!("at least {what}; the rest is not proved") } else { what }
            }
        };
        let mut files = FoundFiles::default();
        let mut sentences: Vec<String> = judgement
            .groups
            .iter()
            .take(GROUPS)
            .map(|group| {
                let is_of_tree = is_tree(validation, group.target);
                let place = |range: &DamageRange| range_text(validation, group, range);
                let whose = |device: u64| files.name(plan, validation, device);
                described(plan.place_name(group.target), group, is_of_tree, (&place, whose))
            })
            .collect();
        sentences.extend(beyond_sentence(&judgement));
        let unpromised = words::unpromised(validation.each().filter_map(|target| target.unpromised()).sum());
        sentences.push(format!("validation: {figures}{coverage}: {found}{rest}{unpromised}"));
        Self { sentences, is_wrong: damaged > 0, damages: judgement.damages }
    }
}

/// How many places, blocks and whole files, are of which class.
fn class_counts(judgement: &DamageOverview) -> BTreeMap<DamageClass, u64> {
    let mut counts: BTreeMap<DamageClass, u64> = judgement.beyond.clone();
    for group in &judgement.groups {
        *counts.entry(group.class).or_default() += group.blocks;
    }
    counts
}

/// Those of which it is not kept where they are, and which are in no group; `None`: of all it is.
fn beyond_sentence(judgement: &DamageOverview) -> Option<String> {
    let count: u64 = judgement.beyond.values().sum();
    (count > 0).then(|| format!("{} damaged besides, and only counted: where they are is not kept", words::are(count)))
}

/// What happened to blocks of a target: where, and whose data was there.
#[must_use]
pub fn group_sentence(target: &str, group: &DamageGroup) -> String {
    let place = |range: &DamageRange| format!("{:#x} ({})", range.address, format_bytes(range.bytes));
    described(target, group, false, (&place, |_| None))
}

/// The same, by the words for places, and for whose the data is that has a device in its stamps.
fn described(
    target: &str,
    group: &DamageGroup,
    is_of_tree: bool,
    (place, mut whose): (&dyn Fn(&DamageRange) -> String, impl FnMut(u64) -> Option<String>),
) -> String {
    let cause = match group.cause {
        Some(DamageCause::Run(run)) => format!(" (run {run:016x})"),
        Some(DamageCause::Device(device)) => match whose(device) {
            Some(name) => format!(" ({name})"),
            None => format!(" (target {device:016x})"),
        },
        None => String::new(),
    };
    let places: Vec<String> = group.ranges.iter().take(ADDRESSES).map(place).collect();
    let more = group.range_count.saturating_sub(places.len() as u64);
    let more = match more {
        0 => String::new(),
        1 => " and 1 other place".to_string(),
        more => format!(" and {more} other places"),
    };
    let again = match group.transient {
        0 => String::new(),
        transient => format!("; {transient} right when read again"),
    };
    format!(
        "{target}: {} {}: {}{cause}; at {}{more}{again}",
        words::counted(group.blocks, group.class),
        group.class.name(),
        words::class_words(group.class, is_of_tree),
        places.join(", ")
    )
}

fn range_text(validation: &Validation, group: &DamageGroup, range: &DamageRange) -> String {
    let path = path_of(validation, group.target, range.file);
    let place = place_text(path.as_deref(), group.class, range.address);
    if words::is_of_file(group.class) { place } else { format!("{place} ({})", format_bytes(range.bytes)) }
}

/// The path of a file of a tree.
pub(crate) fn path_of(validation: &Validation, place: usize, file: Option<u32>) -> Option<String> {
    Some(validation.tree_at(place)?.path(file?))
}

fn is_tree(validation: &Validation, place: usize) -> bool {
    validation.tree_at(place).is_some()
}

/// Where something was found: an address, with the file where it is one of a tree.
fn place_text(path: Option<&str>, class: DamageClass, address: u64) -> String {
    match path {
        None => format!("{address:#x}"),
        Some(path) if words::is_of_file(class) => path.to_string(),
        Some(path) => format!("{path} {address:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_blocks_that_no_group_has_are_counted_in_a_sentence() {
        let of = |beyond: &[(DamageClass, u64)]| {
            beyond_sentence(&DamageOverview { beyond: beyond.iter().copied().collect(), ..DamageOverview::default() })
        };
        assert_eq!(of(&[]), None);
        let said = of(&[(DamageClass::Zeroes, 125_632), (DamageClass::BitRot, 1)]);
        let expected = "125633 blocks are damaged besides, and only counted: where they are is not kept";
        assert_eq!(said.as_deref(), Some(expected));
    }
}
