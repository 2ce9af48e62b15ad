//! Which lanes of a run have their data proved, and how.

use crate::RunInput;
use crate::blocks::Blocks;
use crate::shared::Control;
use crate::validating::{Checked, Checks, LaneChecks, Sweep};
use crate::work::Group;
use std::collections::BTreeMap;
use std::sync::Arc;
use validation::{FoundBy, TargetValidation};

/// Has the lanes of these groups checked whose targets are; gives those targets, and the trees of the run that are.
pub(crate) fn attach(
    input: &RunInput<'_>,
    groups: &mut [Group<Blocks>],
    control: &Arc<Control>,
) -> Vec<Arc<TargetValidation>> {
    let Some(validation) = input.validation else { return Vec::new() };
    let mut sweeps: BTreeMap<usize, Arc<Sweep>> = BTreeMap::new();
    let mut targets: BTreeMap<usize, Arc<TargetValidation>> = BTreeMap::new();
    for Group { spec, lanes, work } in groups {
        let mut checked: Vec<Option<Checked>> = Vec::with_capacity(lanes.len());
        for ((spec, lane), place) in spec.lanes.iter().zip(lanes.iter_mut()).zip(&work.places) {
            let Some(target) = validation.target(spec.target) else {
                checked.push(None);
                continue;
            };
            targets.insert(spec.target, Arc::clone(target));
            let workload = &input.run.workloads[spec.workload];
            let transfer = workload.transfer_max_bytes();
            let sweep =
                || Arc::clone(sweeps.entry(spec.target).or_insert_with(|| Arc::new(Sweep::new(target, transfer))));
            let sweep = input.sweeps.then(sweep);
            let is_direct = work.files.get(place.file as usize).is_some_and(|file| file.flags.direct);
            let one = Checked {
                target: Arc::clone(target),
                writer: u16::try_from(spec.workload).unwrap_or(u16::MAX),
                reads: if sweep.is_some() { FoundBy::Sweep } else { FoundBy::Read },
                before: validation.settings.reads_before_write,
                after: validation.settings.reads_after_write,
                expects_unknown: sweep.is_none() && workload.job.as_ref().is_none_or(|job| job.checks_unknown),
                is_buffered: !is_direct,
            };
            lane.content = None;
            lane.checks = Some(Box::new(LaneChecks::new(one.clone(), sweep)));
            checked.push(Some(one));
        }
        if checked.iter().any(Option::is_some) {
            // Blocks have one operation at a time anyhow.
            spec.jobs.iter_mut().for_each(|job| job.job.keeps_apart &= !is_whole(&checked, &job.lanes));
            work.checks = Some(Box::new(Checks::new(checked, spec.depth(), Arc::clone(control))));
        }
    }
    let trees = input.run.tree_uses();
    let trees = trees.iter().filter_map(|used| validation.trees.get(used.tree)?.as_ref());
    targets.into_values().chain(trees.map(|tree| Arc::clone(tree.cells()))).collect()
}

/// Are all of these lanes checked?
fn is_whole(checked: &[Option<Checked>], lanes: &std::ops::Range<usize>) -> bool {
    checked.get(lanes.clone()).is_some_and(|lanes| lanes.iter().all(Option::is_some))
}
