//! `read_iolog=`: a job that plays a trace.

use crate::jobs::JobSection;
use crate::options::Options;
use crate::targets::{Targets, Use};
use parameter_text::{Diagnostic, ReadingContext};
use plan::replay::{
    AddressRules, DEPTH, DeviceMapping, ReplayFilter, ReplayOp, ReplayPacing, ReplaySpeed, ReplayVolume,
};
use plan::{OpMix, OpenFlags, Replay, Run, StopCondition, Workload, WriteContent};
use std::path::PathBuf;

/// Smallest piece of a trace.
const SECTOR: u64 = 512;

/// The run of a group in which a job plays a trace; `None`: no job does, or it could not be set up, which `context`
/// then reports.
pub(crate) fn run(
    context: &mut ReadingContext,
    group: &[&JobSection],
    targets: &mut Targets,
    (name, interval_ns): (&str, u64),
) -> Option<Run> {
    let job = group.iter().find(|job| job.options.replay.iolog.is_some())?;
    let options = &job.options;
    let span = |name: &str| options.spans.get(name).copied().unwrap_or(job.span);
    let mut refuse = |name: &str, message: String, help: &str| {
        context.push(Diagnostic::error("replay", span(name), message).help(help.to_string()));
        None
    };
    if group.len() > 1 || options.copies > 1 {
        let name = if options.copies > 1 { "numjobs" } else { "read_iolog" };
        let message = format!("job `{}` plays a trace beside other jobs", job.name);
        return refuse(name, message, "a trace is played alone: give the job, and the one behind it, stonewall");
    }
    if options.replay.redirect.is_none() && options.filename.is_empty() {
        let message = "it is not said where the trace is to be played".to_string();
        let help = "add replay_redirect=DEVICE; the devices that the trace names are never written to unasked";
        return refuse("read_iolog", message, help);
    }
    let takes: Vec<ReplayOp> = [ReplayOp::Read, ReplayOp::Write, ReplayOp::Trim, ReplayOp::Flush]
        .into_iter()
        .filter(|kind| !options.replay.skip.contains(kind))
        .collect();
    if takes.is_empty() {
        return refuse("replay_skip", "nothing is left of the trace".to_string(), "leave one kind out of replay_skip");
    }
    let changes = takes.iter().any(|kind| matches!(kind, ReplayOp::Write | ReplayOp::Trim));
    if options.readonly && changes {
        let message = "a trace may write and trim, and `readonly` forbids it".to_string();
        return refuse("readonly", message, "add replay_skip=write,trim");
    }
    for name in ["number_ios", "ramp_time"].into_iter().filter(|name| options.spans.contains_key(name)) {
        let found =
            Diagnostic::warning("replay", span(name), format!("`{name}` is not heeded while a trace is played"));
        context.push(found.help("leave it out"));
    }
    let replay = replay(context, job, takes)?;
    let mut placed = options.clone();
    if let Some(device) = &options.replay.redirect {
        (placed.filename, placed.directory) = (vec![device.clone()], Vec::new());
    }
    let open = OpenFlags { direct: options.direct, sync: options.sync, dsync: options.dsync, ..OpenFlags::default() };
    let section = JobSection { name: job.name.clone(), options: placed, ..**job };
    let place = targets.place(context, &section, 0, Use { open, depth: replay.depth, smallest: SECTOR })?;
    // A trace is mapped to what was asked for, and no further.
    for at in &place.targets {
        let spec = &mut targets.specs[*at];
        spec.size_bytes = spec.layout.take().map(|layout| layout.at_least_bytes);
    }
    let volumes = vec![ReplayVolume { targets: place.targets.clone() }];
    let workload = Workload {
        targets: place.targets,
        depth: Some(replay.depth),
        mix: OpMix::read_write(if changes { 0.5 } else { 1.0 }),
        content: WriteContent { literal: options.literal.clone(), ..WriteContent::default() },
        open: Some(open),
        ..Workload::replaying(Replay { volumes, ..replay }, job.span)
    };
    let stop = StopCondition { errors: Some(options.ends.replay_errors()), ..StopCondition::default() };
    Some(Run { interval_ns, stop, ..Run::of_replay(name, workload) })
}

fn replay(context: &mut ReadingContext, job: &JobSection, takes: Vec<ReplayOp>) -> Option<Replay> {
    let options: &Options = &job.options;
    let of = &options.replay;
    let speed = of.time_percent / 100.0;
    let runtime_ns = options.runtime_ns.filter(|_| !of.no_stall);
    if options.runtime_ns.is_some() && of.no_stall {
        let at = options.spans.get("runtime").copied().unwrap_or(job.span);
        let found = Diagnostic::warning(
            "replay",
            at,
            "`runtime` is not heeded with replay_no_stall: the trace is played to its end",
        );
        context.push(found.help("leave one of the two out"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time")]
    let traced_ns = |ns: u64| (ns as f64 * speed) as u64;
    let map = DeviceMapping { device: "*".to_string(), volume: 0, base_bytes: 0, packed: false };
    Some(Replay {
        maps: vec![map],
        pacing: if of.no_stall { ReplayPacing::Asap } else { ReplayPacing::OnTime },
        speed: ReplaySpeed::Factor(speed),
        // Without waiting, the depth is what is asked for; on time it is what the trace needs.
        depth: if of.no_stall { options.depth } else { options.depth.max(DEPTH) },
        cpus: options.cpus.clone(),
        for_ns: runtime_ns.map(traced_ns),
        filter: ReplayFilter { ops: if of.skip.is_empty() { Vec::new() } else { takes }, ..ReplayFilter::default() },
        addresses: AddressRules { scale: 1.0 / of.scale as f64, align_bytes: of.align, ..AddressRules::default() },
        repeat: u32::try_from(options.loops).unwrap_or(u32::MAX),
        ..Replay::new(PathBuf::from(of.iolog.as_deref()?))
    })
}
