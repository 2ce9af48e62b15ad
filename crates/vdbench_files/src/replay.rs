//! Replays: `replay=` of storage and run definitions, and groups (`rg=`).
//!
//! A device of the trace goes to the storage definition that names it, or to the group of storage definitions that does:
//! its devices lie one after the other on them, as a volume manager would have it.

use crate::expansion_input::ExpansionInput;
use crate::param::Text;
use crate::replay_params::Group;
use crate::run::{Definition, RateParam, RateValue};
use crate::storage::Storage;
use parameter_text::{Diagnostic, ReadingContext};
use plan::replay::{AddressRules, DEPTH, DeviceMapping, ReplayPacing, ReplaySpeed, ReplayVolume};
use plan::{OpMix, Replay, Run, Workload};
use std::path::PathBuf;

/// Devices and groups that a storage definition takes.
fn devices_of<'a>(text: &'a Text, groups: &'a [Group]) -> (Option<&'a Group>, Vec<&'a str>) {
    match groups.iter().find(|group| group.name == text.text) {
        Some(group) => (Some(group), group.devices.iter().map(String::as_str).collect()),
        None => (None, vec![text.text.as_str()]),
    }
}

/// Where the devices go.
fn maps(
    context: &mut ReadingContext,
    storages: &[Storage],
    groups: &[Group],
    used: &[usize],
) -> (Vec<ReplayVolume>, Vec<DeviceMapping>) {
    let (mut volumes, mut maps): (Vec<ReplayVolume>, Vec<DeviceMapping>) = (Vec::new(), Vec::new());
    let mut known: Vec<&str> = Vec::new();
    let of = |at: usize| storages.get(at).map(|storage| (at, storage));
    for (target, storage) in used.iter().copied().filter_map(of) {
        let single: Vec<&Text> = storage.replay.iter().filter(|text| devices_of(text, groups).0.is_none()).collect();
        for text in &single {
            if text.text.parse::<u64>().is_err() {
                let message = format!("`{}` is neither a device number nor a group (rg=)", text.text);
                context.push(Diagnostic::error("replay", text.span, message).help("define rg=NAME,devices=(…) before"));
            }
        }
        if !single.is_empty() {
            let volume = volumes.len();
            volumes.push(ReplayVolume { targets: vec![target] });
            let packed = single.len() > 1;
            let map = |text: &&Text| DeviceMapping { device: text.text.clone(), volume, base_bytes: 0, packed };
            maps.extend(single.iter().map(map));
        }
        for group in storage.replay.iter().filter_map(|text| devices_of(text, groups).0) {
            if known.contains(&group.name.as_str()) {
                continue;
            }
            known.push(&group.name);
            let takes = |one: &Storage| one.replay.iter().any(|text| text.text == group.name);
            let targets = used.iter().copied().filter(|at| takes(&storages[*at])).collect();
            let volume = volumes.len();
            volumes.push(ReplayVolume { targets });
            let map = |device: &String| DeviceMapping { device: device.clone(), volume, base_bytes: 0, packed: true };
            maps.extend(group.devices.iter().map(map));
        }
    }
    (volumes, maps)
}

/// The storages that a replay plays on: those of `sd=`, else those of the workloads, which say nothing else, else all.
fn used(context: &mut ReadingContext, definition: &Definition, material: &ExpansionInput<'_>) -> Vec<usize> {
    let mut used: Vec<usize> = if !definition.targets.is_empty() {
        material.storage_names.select(context, &definition.targets)
    } else if definition.works.is_empty() {
        (0..material.storages.len()).collect()
    } else {
        let works = material.work_names.select(context, &definition.works);
        works.into_iter().flat_map(|at| material.storage_names.select(context, &material.works[at].targets)).collect()
    };
    used.sort_unstable();
    used.dedup();
    used
}

/// The run of a definition with `replay=`.
pub(crate) fn run(context: &mut ReadingContext, definition: &Definition, material: &ExpansionInput<'_>) -> Option<Run> {
    let params = definition.replay.as_ref()?;
    let (storages, groups, contents) = (material.storages, material.groups, material.contents);
    if let Some(one) = definition.loops.first() {
        let message = format!("a replay takes operations from the trace: the loop over {} has no effect", one.name);
        context.push(Diagnostic::warning("no-effect", one.span, message).help("take it out of this rd="));
    }
    let used = used(context, definition, material);
    let (volumes, maps) = maps(context, storages, groups, &used);
    if maps.is_empty() {
        let found = Diagnostic::error("replay", params.span, "no sd= says which devices of the trace it takes");
        context.push(found.help("add replay=NUMBER to an sd=, or rg=NAME,devices=(…) and replay=NAME"));
        return None;
    }
    for (at, map) in maps.iter().enumerate() {
        if !params.duplicate && maps[..at].iter().any(|other| other.device == map.device) {
            let message = format!("device {} goes to more than one place", map.device);
            let found = Diagnostic::error("replay", params.span, message);
            context.push(found.help("add duplication=y to play it on each of them"));
            return None;
        }
    }
    let (pacing, speed) = match &definition.rate {
        Some((RateParam::List { values, .. }, span)) => match values.as_slice() {
            [RateValue::Max] => (ReplayPacing::Asap, ReplaySpeed::Factor(1.0)),
            [RateValue::Number(rate)] if *rate > 0.0 => (ReplayPacing::OnTime, ReplaySpeed::PerSecond(*rate)),
            _ => {
                let found = Diagnostic::error("replay", *span, "a replay has one rate");
                context.push(found.help("write iorate=N, iorate=max, or leave it out for the traced rate"));
                return None;
            }
        },
        Some((RateParam::Curve, span)) => {
            let found = Diagnostic::error("replay", *span, "a replay has no curve");
            context.push(found.help("write iorate=N, iorate=max, or leave it out for the traced rate"));
            return None;
        }
        None => (ReplayPacing::OnTime, ReplaySpeed::Factor(1.0)),
    };
    let mut targets: Vec<usize> = volumes.iter().flat_map(|volume| volume.targets.iter().copied()).collect();
    targets.sort_unstable();
    targets.dedup();
    let threads = targets.iter().map(|at| storages[*at].threads).fold(0, u32::saturating_add);
    let replay = Replay {
        volumes,
        maps,
        pacing,
        speed,
        depth: threads.max(DEPTH),
        repeat: params.repeat,
        duplicate: params.duplicate,
        stagger_ns: params.stagger_ns,
        addresses: AddressRules { skip_first_block: true, ..AddressRules::default() },
        ..Replay::new(PathBuf::from(&params.file))
    };
    let workload = Workload {
        content: targets.first().and_then(|at| contents.get(*at)).cloned().unwrap_or_default(),
        targets,
        depth: Some(replay.depth),
        mix: OpMix::read_write(0.5),
        open: definition.open,
        ..Workload::replaying(replay, definition.span)
    };
    Some(Run {
        interval_ns: definition.interval_ns,
        pause_ns: definition.pause_ns,
        objectives: definition.objectives.clone(),
        start_commands: definition.start_commands.clone(),
        end_commands: definition.end_commands.clone(),
        ..Run::of_replay(&definition.name, workload)
    })
}
