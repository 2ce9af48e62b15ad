//! Whose data was found, by the number in its stamps.

use crate::Validation;
use crate::target::device_id;
use plan::Plan;
use std::collections::BTreeMap;

/// The files of validated trees by the device in the stamps of their data, made when one is first asked for.
#[derive(Debug, Default)]
pub struct FoundFiles(Option<BTreeMap<u64, (usize, u32)>>);

impl FoundFiles {
    /// The path of the file, or the name of the target, whose data has this device in its stamps.
    pub fn name(&mut self, plan: &Plan, validation: &Validation, device: u64) -> Option<String> {
        let target = validation.targets.iter().flatten().find(|target| target.rules().device == device);
        if let Some(target) = target {
            return Some(plan.place_name(target.rules().target).to_string());
        }
        let known = self.0.get_or_insert_with(|| {
            let trees = validation.trees.iter().enumerate().filter_map(|(at, tree)| Some((at, tree.as_ref()?)));
            let files = trees.flat_map(|(at, tree)| (0..tree.file_count()).map(move |file| (at, tree, file)));
            files.map(|(at, tree, file)| (device_id(&tree.path(file)), (at, file))).collect()
        });
        let (tree, file) = known.get(&device)?;
        Some(validation.trees.get(*tree)?.as_ref()?.path(*file))
    }
}
