//! What cannot be validated, in sentences: before anything is opened.

use super::blocks::block_bytes;
use super::shared::{Place, differ_in_flags, place_of};
use plan::{Plan, TargetSpec, Workload};
use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// What stands in the way of the validation that a plan asks for; nothing of a plan without it.
pub(super) fn mistakes(plan: &Plan) -> Vec<String> {
    if plan.settings.validation.is_none() {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    let mut add = |sentence: String| {
        if !found.contains(&sentence) {
            found.push(sentence);
        }
    };
    super::trees::mistakes(plan).into_iter().for_each(&mut add);
    let workloads = plan.runs.iter().flat_map(|run| &run.workloads).filter(|workload| workload.load.is_blocks());
    workloads.filter_map(of_workload).for_each(&mut add);
    for (index, spec) in plan.targets.iter().enumerate() {
        if block_bytes(plan, index, (None, 0), None).is_none() {
            add(no_block(&spec.name));
        }
    }
    duplicates(plan).into_iter().for_each(&mut add);
    same_places(plan).into_iter().for_each(add);
    found
}

/// What must be in a block that may be equal to others has to follow from its place and its version alone.
fn duplicates(plan: &Plan) -> Vec<String> {
    let of = |workload: &Workload| workload.content.dedup.filter(|dedup| dedup.ratio > 1.0);
    let writing = || {
        let all = plan.runs.iter().flat_map(|run| &run.workloads);
        all.filter(|workload| workload.load.is_blocks() && workload.mix.changes_data())
    };
    let mut found = Vec::new();
    let is_journaled = plan.settings.validation.as_ref().is_some_and(|settings| settings.journal.is_some());
    if let Some(workload) = writing().find(|workload| is_journaled && of(workload).is_some()) {
        found.push(format!(
            "{}: the journal does not know of duplicates yet: leave dedup out, or the journal",
            workload.name
        ));
    }
    for (index, spec) in plan.targets.iter().enumerate() {
        let mut uses = writing().filter(|workload| workload.targets.contains(&index));
        let Some(first) = uses.next() else { continue };
        if let Some(other) = uses.find(|other| of(other) != of(first)) {
            found.push(format!(
                "{}: {} and {} write to it with different duplicates, so that it is not known what must be read: give both the same",
                spec.name, first.name, other.name
            ));
        }
    }
    found
}

/// Of a target whose transfers do not begin and end between sectors.
pub(super) fn no_block(target: &str) -> String {
    format!(
        "{target}: data is validated by sectors of 512 bytes, and what is written and read there may begin or end inside of them: use \
         transfers, alignments, offsets and ranges that are multiples of 512"
    )
}

/// Is it a block device?
pub(super) fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_block_device())
}

fn of_workload(workload: &Workload) -> Option<String> {
    let (name, content) = (&workload.name, &workload.content);
    if workload.job.as_ref().is_some_and(|job| job.mapped) {
        return Some(format!("{name}: files that are used as memory (mmap) cannot be validated: use another engine"));
    }
    if !workload.mix.changes_data() {
        return None;
    }
    if content.pattern.is_some() || !content.literal.is_empty() {
        return Some(format!("{name}: a pattern has no room for the stamps of data validation: leave the pattern out"));
    }
    None
}

/// Each target keeps what is known of its own blocks: two that are one thing would not know of each other's writes, unless they
/// are used alike.
fn same_places(plan: &Plan) -> Vec<String> {
    let is_used = |index: usize| {
        plan.runs.iter().flat_map(|run| &run.workloads).any(|workload| workload.targets.contains(&index))
    };
    let mut seen: BTreeMap<Place, &TargetSpec> = BTreeMap::new();
    let mut found = Vec::new();
    for (_, spec) in plan.targets.iter().enumerate().filter(|(index, _)| is_used(*index)) {
        let Some(place) = place_of(&spec.path) else { continue };
        if seen.get(&place).is_some_and(|other| differ_in_flags(other, spec)) {
            continue;
        }
        let overlapping = || seen.values().copied().find(|other| target::share_bytes(&other.path, &spec.path));
        if let Some(other) = seen.get(&place) {
            found.push(format!(
                "{} and {} are the same ({}), and neither would know what is written through the other: use one target for both",
                other.name,
                spec.name,
                spec.path.display()
            ));
        } else if let Some(other) = overlapping() {
            found.push(format!(
                "{} ({}) and {} ({}) share bytes, and neither would know what is written through the other: validate one of them",
                other.name,
                other.path.display(),
                spec.name,
                spec.path.display()
            ));
        } else {
            seen.insert(place, spec);
        }
    }
    found
}
