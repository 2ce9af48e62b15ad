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
    if !plan.trees.is_empty() {
        let name = plan.trees.first().map_or("", |tree| tree.name.as_str());
        add(format!("files in directories cannot be validated yet ({name}): devices and single files can"));
    }
    let workloads = plan.runs.iter().flat_map(|run| &run.workloads).filter(|workload| workload.load.is_blocks());
    workloads.filter_map(of_workload).for_each(&mut add);
    for (index, spec) in plan.targets.iter().enumerate() {
        if block_bytes(plan, index, None, None).is_none() {
            add(no_block(&spec.name));
        }
    }
    same_places(plan).into_iter().for_each(add);
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
    if workload.replay.is_some() {
        return Some(format!("{name}: a replay cannot be validated yet: its trace alone says what is written"));
    }
    if workload.job.as_ref().is_some_and(|job| job.mapped) {
        return Some(format!("{name}: files that are used as memory (mmap) cannot be validated: use another engine"));
    }
    if !workload.mix.changes_data() {
        return None;
    }
    if content.pattern.is_some() || !content.literal.is_empty() {
        return Some(format!("{name}: a pattern has no room for the stamps of data validation: leave the pattern out"));
    }
    if content.dedup.is_some_and(|dedup| dedup.ratio > 1.0) {
        return Some(format!(
            "{name}: stamped blocks are all different, so they cannot be duplicates: leave dedup out"
        ));
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
        if let Some(other) = seen.get(&place) {
            found.push(format!(
                "{} and {} are the same ({}), and neither would know what is written through the other: use one target for both",
                other.name,
                spec.name,
                spec.path.display()
            ));
        } else {
            seen.insert(place, spec);
        }
    }
    found
}
