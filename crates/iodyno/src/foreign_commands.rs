//! Commands in parameter files of other users: they run with the rights of the user who types `iodyno run`, so that user is
//! asked first.

use crate::exit::{Failure, REFUSED};
use params::SourceOwner;
use plan::{Load, Plan, ShellCommand};
use recording::user_name;
use session::DryRun;
use std::collections::BTreeSet;

/// Commands that a refusal names.
const SHOWN: usize = 3;
/// Characters of each.
const SHOWN_CHARS: usize = 100;

/// A file that was read, and whose it is.
pub(crate) type FileOwner = (String, SourceOwner);

/// Every command that a plan would run, each once, in the order of the plan.
pub(crate) fn commands_of(plan: &Plan) -> Vec<String> {
    let settings = &plan.settings;
    let lines = |commands: &[ShellCommand]| commands.iter().map(|one| one.line.clone()).collect::<Vec<String>>();
    let mut all = lines(&settings.start_commands);
    for run in &plan.runs {
        all.extend(lines(&run.start_commands));
        for workload in &run.workloads {
            let Load::Command(load) = &workload.load else { continue };
            all.extend(load.prepare.iter().map(ToString::to_string));
            all.push(load.line.to_string());
        }
        all.extend(lines(&run.end_commands));
    }
    all.extend(lines(&settings.end_commands));
    all.extend(settings.errors_command.clone());
    let mut seen = BTreeSet::new();
    all.retain(|line| seen.insert(line.clone()));
    all
}

/// Why the commands of a plan are asked for, in a sentence without its end: the first file that is not the user's own alone;
/// `None` where there is no command, or no such file. A file without commands counts as well: what it says may stand in the commands of another.
pub(crate) fn reason(plan: &Plan, owners: &[FileOwner]) -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    let foreign = |(_, owner): &&FileOwner| owner.uid != own || owner.is_open_to_all;
    let (name, owner) = owners.iter().find(foreign).filter(|_| !commands_of(plan).is_empty())?;
    Some(if owner.uid == own {
        format!("every user can write to {name}")
    } else {
        format!("{name} belongs to {}, not to {}", user_name(owner.uid), user_name(own))
    })
}

/// The refusal: which file, whose, what it would run, and what to do.
pub(crate) fn refusal(plan: &Plan, reason: &str) -> String {
    let commands = commands_of(plan);
    let cut = |line: &String| match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("`{}…`", &line[..end]),
        None => format!("`{line}`"),
    };
    let mut shown: Vec<String> = commands.iter().take(SHOWN).map(cut).collect();
    let more = commands.len() - shown.len();
    shown.extend((more > 0).then(|| format!("{more} more")));
    format!(
        "{reason}, and commands would run with the rights of {}: {}. Nothing was run: read them (--dry-run lists all), then \
         give --allow-commands, or use a copy of your own",
        user_name(rustix::process::geteuid().as_raw()),
        shown.join(", ")
    )
}

/// Refuses the commands of others' files, unless they are allowed.
pub(crate) fn check(plan: &Plan, owners: &[FileOwner], is_allowed: bool) -> Result<(), Failure> {
    match reason(plan, owners).filter(|_| !is_allowed) {
        Some(reason) => Err(Failure::new(REFUSED, refusal(plan, &reason))),
        None => Ok(()),
    }
}

/// Adds to a dry run with whose rights the commands of its plan run, and whether they would be refused.
pub(crate) fn foresee(future: &mut DryRun, plan: &Plan, owners: &[FileOwner], is_allowed: bool) {
    let count = commands_of(plan).len();
    if count == 0 {
        return;
    }
    let reason = reason(plan, owners);
    let asked = match (&reason, is_allowed) {
        (None, _) => "no flag is needed".to_string(),
        (Some(reason), true) => format!("--allow-commands allows them ({reason})"),
        (Some(reason), false) => format!("WOULD BE REFUSED without --allow-commands: {reason}"),
    };
    if let Some(reason) = reason.filter(|_| !is_allowed) {
        future.refused = true;
        future.obstacles.push(refusal(plan, &reason));
    }
    let noun = if count == 1 { "command" } else { "commands" };
    let rights = user_name(rustix::process::geteuid().as_raw());
    future.lines.push(format!("{count} {noun} with the rights of {rights}: {asked}"));
}
