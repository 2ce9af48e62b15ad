//! Trees of directories and files whose data is proved.

use super::FoundJournal;
use super::blocks::{SECTOR, STATE_BYTES};
use crate::trees::{is_same_tree, resolved_anchor};
use plan::{Plan, TreeShape, ValidationSettings};
use quantity::text::format_bytes;
use stamp::StampFlags;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tree::{Tree, TreeLayout};
use tree_load::TreeFileNames;
use validation::{
    FILE_STATE_BYTES, Reports, TargetRules, TreeValidation, device_id, tree_block_bytes, tree_load_mistake, tree_loads,
    tree_uses,
};

/// Why data in trees cannot be proved, sentences.
pub(super) fn mistakes(plan: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    if plan.trees.is_empty() {
        return found;
    }
    let name = plan.trees.first().map_or("", |tree| tree.name.as_str());
    if tree_block_bytes(plan).is_none() {
        found.push(format!(
            "{name}: data is validated by sectors of 512 bytes: use transfers (xfersize=) that are multiples of 512"
        ));
    }
    for (workload, load) in tree_loads(plan) {
        found.extend(tree_load_mistake(workload, load));
    }
    found.extend(of_shapes(plan));
    found
}

/// A tree has one shape and one anchor as long as what is known of it counts, and files of whole sectors.
fn of_shapes(plan: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    let mut shapes: BTreeMap<usize, &TreeShape> = BTreeMap::new();
    let mut anchors: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for one in tree_uses(plan) {
        let Some(spec) = plan.trees.get(one.tree) else { continue };
        let name = &spec.name;
        if let Some(other) = shapes.get(&one.tree) {
            if !is_same_tree(other, &one.shape) {
                found.push(format!("{name}: it has several shapes in this plan, and only one can be validated"));
            }
            continue;
        }
        shapes.insert(one.tree, &one.shape);
        let anchor = resolved_anchor(&spec.anchor).unwrap_or_else(|| spec.anchor.clone());
        if let Some(other) = anchors.insert(anchor, one.tree).and_then(|other| plan.trees.get(other)) {
            found.push(format!(
                "{} and {name} have the same anchor, and neither would know what is written through the other: use one for both",
                other.name
            ));
        }
        if one.shape.shared {
            found
                .push(format!("{name}: what other processes write (shared=yes) cannot be validated: leave shared out"));
        }
        // What stands in the way of the tree itself is said elsewhere.
        let layout = Tree::check(&one.shape).ok().map(|(layout, _, _)| layout);
        let is_odd =
            |layout: &TreeLayout| (0..layout.files()).any(|file| !layout.asked_bytes(file).is_multiple_of(SECTOR));
        if layout.is_some_and(|layout| is_odd(&layout)) {
            found.push(format!(
                "{name}: files are validated by sectors of 512 bytes: use sizes= that are multiples of 512"
            ));
        }
    }
    found
}

/// The validation of the plan's trees by index; `None`: no run uses it.
///
/// # Errors
/// A tree cannot be, which is said.
pub(super) fn of_plan(
    plan: &Plan,
    settings: &ValidationSettings,
    run: u64,
    reports: &Arc<Reports>,
    journal: Option<&FoundJournal>,
) -> Result<Vec<Option<TreeValidation>>, Vec<String>> {
    let mut found: Vec<Option<TreeValidation>> = plan.trees.iter().map(|_| None).collect();
    let Some(block_bytes) = tree_block_bytes(plan) else { return Ok(found) };
    for one in tree_uses(plan) {
        let (Some(spec), Some(slot)) = (plan.trees.get(one.tree), found.get_mut(one.tree)) else { continue };
        if slot.is_some() {
            continue;
        }
        let (layout, _, _) = Tree::check(&one.shape).map_err(|error| vec![format!("{}: {error}", spec.name)])?;
        let anchor = resolved_anchor(&spec.anchor).unwrap_or_else(|| spec.anchor.clone());
        let content =
            tree_loads(plan).find(|(_, load)| load.changes() && load.uses.iter().any(|used| used.tree == one.tree));
        let rules = TargetRules {
            target: plan.place_of_tree(one.tree),
            device: device_id(&anchor.to_string_lossy()),
            runs: vec![run],
            size_bytes: 0,
            block_bytes,
            compress_ratio: content.map_or(1.0, |(workload, _)| workload.content.compress_ratio),
            copies: None,
            flags: StampFlags::FILE,
            trims_read_zero: true,
            checks_unknown: settings.checks_unknown,
        };
        let names = TreeFileNames::new(anchor.to_string_lossy().into_owned(), layout);
        let tree = TreeValidation::new(rules, Box::new(names), reports.clone());
        *slot = Some(match journal {
            Some(journal) => tree.with_recovered(journal.recovered(), journal.crash()).map_err(|why| vec![why])?,
            None => tree,
        });
    }
    Ok(found)
}

/// How trees are proved, in lines for people.
pub(super) fn described(plan: &Plan) -> Vec<String> {
    let Some(block_bytes) = tree_block_bytes(plan) else { return Vec::new() };
    let mut lines: BTreeMap<usize, String> = BTreeMap::new();
    for one in tree_uses(plan) {
        let (Some(spec), Ok((layout, _, _))) = (plan.trees.get(one.tree), Tree::check(&one.shape)) else { continue };
        let states = (layout.total_bytes() / block_bytes).saturating_mul(STATE_BYTES);
        let bytes = states.saturating_add(u64::from(layout.files()).saturating_mul(FILE_STATE_BYTES));
        lines.entry(one.tree).or_insert_with(|| {
            format!(
                "  {}: blocks of {}, {} of memory for their states and those of the files when all are written",
                spec.name,
                format_bytes(block_bytes),
                format_bytes(bytes)
            )
        });
    }
    lines.into_values().collect()
}
