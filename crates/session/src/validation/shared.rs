//! Targets of a plan that are one file or device, opened in different ways: they share what is known of its blocks.

use super::blocks;
use crate::format::Fill;
use crate::replay::TracedGrain;
use plan::{Plan, TargetSpec};
use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target::OpenTarget;
use validation::TargetValidation;

/// Where a target is: two that are the same have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Device(u64),
    File(u64, u64),
    Missing(PathBuf),
}

/// Where a path leads; `None`: to something else than a file or block device.
pub(super) fn place_of(path: &Path) -> Option<Place> {
    match std::fs::metadata(path) {
        Ok(facts) if facts.file_type().is_block_device() => Some(Place::Device(facts.rdev())),
        Ok(facts) if facts.is_file() => Some(Place::File(facts.dev(), facts.ino())),
        Ok(_) => None,
        Err(_) => {
            let (folder, name) = (path.parent()?, path.file_name()?);
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
            Some(Place::Missing(folder.join(name)))
        }
    }
}

/// Are two targets of one place used alike, but for how it is opened, and how many operations are under way?
pub(super) fn differ_in_flags(one: &TargetSpec, other: &TargetSpec) -> bool {
    let length = |spec: &TargetSpec| spec.layout.as_ref().map(|layout| layout.at_least_bytes);
    let alike = TargetSpec {
        name: one.name.clone(),
        path: one.path.clone(),
        open: one.open,
        depth: one.depth,
        span: one.span,
        unlink: one.unlink,
        layout: one.layout,
        ..other.clone()
    };
    *one == alike && length(one) == length(other)
}

/// Which targets are one place.
#[derive(Debug)]
pub(super) struct SharedPlaces {
    /// By index in the plan: the first target that is the same.
    first: Vec<usize>,
}

impl SharedPlaces {
    /// Of those that a run uses.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut first: Vec<usize> = (0..plan.targets.len()).collect();
        let mut seen: BTreeMap<Place, usize> = BTreeMap::new();
        for (index, spec) in plan.targets.iter().enumerate() {
            let is_used = plan.runs.iter().flat_map(|run| &run.workloads).any(|load| load.targets.contains(&index));
            let Some(place) = place_of(&spec.path).filter(|_| is_used) else { continue };
            let before = *seen.entry(place).or_insert(index);
            if plan.targets.get(before).is_some_and(|other| differ_in_flags(other, spec))
                && let Some(slot) = first.get_mut(index)
            {
                *slot = before;
            }
        }
        Self { first }
    }

    /// Is what is known of its blocks kept for it, and not for one before it?
    pub(super) fn is_first(&self, index: usize) -> bool {
        self.first.get(index).is_none_or(|first| *first == index)
    }

    /// All that are the same as this one, which is the first of them, and this one.
    pub(super) fn members(&self, index: usize) -> impl Iterator<Item = usize> {
        let rest = self.first.iter().enumerate().skip(index + 1).filter(move |(_, first)| **first == index);
        std::iter::once(index).chain(rest.map(|(at, _)| at))
    }

    /// The blocks of a place: all that is done there, however it is opened, begins and ends between two of them.
    pub(super) fn block_bytes(
        &self,
        plan: &Plan,
        index: usize,
        opened: &[Option<OpenTarget>],
        traced: &BTreeMap<usize, TracedGrain>,
    ) -> Option<u64> {
        let of = |index: usize| {
            let target = opened.get(index)?.as_ref()?;
            let fill = Fill::of(plan, index, target, plan.settings.format == Some(true)).map(|fill| fill.range);
            let traced = traced.get(&index).copied().unwrap_or_default();
            blocks::block_bytes(plan, index, (Some(target.size_bytes), traced.bytes), fill.as_ref())
        };
        self.members(index).map(of).reduce(|one, other| Some(blocks::common(one?, other?))).flatten()
    }

    /// Hands what is known of a place to all targets that are it.
    pub(super) fn spread(&self, targets: Vec<Option<TargetValidation>>) -> Vec<Option<Arc<TargetValidation>>> {
        let mut all: Vec<Option<Arc<TargetValidation>>> =
            targets.into_iter().map(|target| target.map(Arc::new)).collect();
        for (index, first) in self.first.iter().enumerate() {
            let shared = all.get(*first).cloned().flatten();
            if let Some(slot) = all.get_mut(index).filter(|_| *first != index) {
                *slot = shared;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{OpenFlags, Run, TextSpan, Workload};

    #[test]
    fn a_place_that_is_opened_in_several_ways_is_one() {
        let spec = |name: &str, path: &str| TargetSpec::whole(name.to_string(), path.into());
        let direct = OpenFlags { direct: true, ..OpenFlags::default() };
        let mut plan = Plan {
            targets: vec![
                spec("a", "/nowhere/x"),
                spec("other", "/nowhere/y"),
                TargetSpec { open: direct, depth: 8, ..spec("a-2", "/nowhere/x") },
                TargetSpec { size_bytes: Some(4096), ..spec("a-3", "/nowhere/x") },
                TargetSpec { open: direct, ..spec("unused", "/nowhere/x") },
            ],
            ..Plan::default()
        };
        let load = Workload::of_blocks("w".to_string(), vec![0, 1, 2, 3], TextSpan::default());
        plan.runs.push(Run::new("r", vec![load], 1));
        let places = SharedPlaces::of(&plan);
        let members = |index: usize| places.members(index).collect::<Vec<usize>>();
        assert_eq!((members(0), members(1), members(3), members(4)), (vec![0, 2], vec![1], vec![3], vec![4]));
        assert_eq!((0..5).filter(|index| places.is_first(*index)).collect::<Vec<_>>(), [0, 1, 3, 4]);
        // What is used otherwise than the first is refused.
        assert!(differ_in_flags(&plan.targets[0], &plan.targets[2]));
        assert!(!differ_in_flags(&plan.targets[0], &plan.targets[3]));
    }
}
