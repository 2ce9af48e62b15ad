//! What a run would do, without doing any of it.

use crate::dry_run_text::{folded, share};
use crate::dry_run_trees::{self, TreeFinding};
use crate::non_defaults::departures;
use crate::sync::access_of;
use plan::{CommandLoad, DataLimit, Load, OfferedRate, Plan, Run, SteadyRounds, Workload};
use quantity::text::{format_bytes, format_ns};
use serde::Serialize;
use std::ops::Range;
use target::{TargetAccess, WritePolicy};

/// The plan's future, in lines for people.
#[derive(Debug)]
pub struct DryRun {
    /// Lines to print, in order.
    pub lines: Vec<String>,
    /// Would a target be refused to protect data?
    pub refused: bool,
    /// Why nothing would be started: what is not supported, CPUs that are not there. In sentences.
    pub obstacles: Vec<String>,
    /// Greatest duration of all runs together; `None` when a run ends by itself.
    pub duration_ns: Option<u64>,
    /// What was found at each target, in the plan's order.
    pub targets: Vec<TargetFinding>,
}

/// What the inspection of one target found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetFinding {
    /// Name in the plan.
    pub name: String,
    /// `read` or `write`: what it would be opened for.
    pub access: &'static str,
    /// What is there, in a sentence; `None` when it would be refused.
    pub found: Option<String>,
    /// Why it would be refused or could not be opened, in a sentence.
    pub refusal: Option<String>,
    /// Bytes that would be used of it.
    #[serde(skip)]
    pub size_bytes: Option<u64>,
    /// Would data of others be written to, as a flag allows?
    #[serde(skip)]
    pub changes_foreign: bool,
}

/// A dry run as one JSON object (`iodyno run FILE --dry-run --json`, docs/json.md).
#[derive(Serialize)]
struct PlanObject<'a> {
    schema: &'static str,
    plan: &'a Plan,
    targets: &'a [TargetFinding],
    refused: bool,
    obstacles: &'a [String],
    duration_ns: Option<u64>,
}

impl DryRun {
    /// The whole plan and what was found at its targets as one line of JSON, schema `iodyno.plan/1`.
    ///
    /// # Errors
    ///
    /// A path of the plan is not UTF-8.
    pub fn json(&self, plan: &Plan) -> Result<String, serde_json::Error> {
        serde_json::to_string(&PlanObject {
            schema: "iodyno.plan/1",
            plan,
            targets: &self.targets,
            refused: self.refused,
            obstacles: &self.obstacles,
            duration_ns: self.duration_ns,
        })
    }
}

/// Fields of a target, a run and a workload that have lines or places of their own.
// Which folders would be made where they were missing is no news where nothing is missing.
const TARGET_SAID: &[&str] = &["name", "path", "layout.folders"];
const RUN_SAID: &[&str] = &[
    "name",
    "title",
    "loops",
    "workloads",
    "rate",
    "told_rate",
    "elapsed_ns",
    "warmup_ns",
    "stop.total",
    "stop.read",
    "stop.written",
    "objectives",
    "start_commands",
    "end_commands",
];
const WORKLOAD_SAID: &[&str] = &["name", "targets", "share"];

/// Inspects every target and lists every run; changes nothing.
pub fn dry_run(plan: &Plan, policy: &WritePolicy) -> DryRun {
    let policy = &crate::validation::policy_for(plan, policy);
    let only_recovers = crate::recovering::only_recovers(plan);
    let (findings, mut refused) = inspect_all(plan, policy);
    let TreeFinding { mut lines, is_refused, obstacle } = dry_run_trees::inspect(plan, policy);
    refused |= is_refused;
    lines.extend((!plan.targets.is_empty()).then(|| format!("targets ({}):", plan.targets.len())));
    for (spec, finding) in plan.targets.iter().zip(&findings) {
        let what = if finding.access == "read" && !finding.changes_foreign { "read only" } else { "read and written" };
        let said = match (&finding.found, &finding.refusal) {
            (Some(found), _) => format!("{what}: {found}"),
            (None, refusal) => format!("WOULD BE REFUSED: {}", refusal.as_deref().unwrap_or("no reason known")),
        };
        lines.push(format!("  {}  {}  {said}", spec.name, spec.path.display()));
        lines.push(format!("    {}", departures(&spec, TARGET_SAID)));
    }
    lines.extend((!plan.trees.is_empty()).then(|| format!("trees ({}):", plan.trees.len())));
    lines.extend(plan.trees.iter().map(dry_run_trees::describe_tree));
    lines.push(describe_settings(plan));
    lines.extend(crate::validation::described(
        plan,
        &findings.iter().map(|finding| finding.size_bytes).collect::<Vec<_>>(),
    ));
    let duration_ns = duration_at_most(plan, 0..plan.runs.len()).filter(|_| !only_recovers);
    if only_recovers {
        lines.push("runs: none but the reading of what the journal says (recovery)".to_string());
    } else {
        lines.extend(describe_runs(plan, &findings, duration_ns));
    }
    let mut obstacles: Vec<String> = plan.unsupported.iter().map(|what| what.sentence.clone()).collect();
    obstacles.extend(obstacle);
    obstacles.extend(crate::rates::check(&plan.runs).err().map(|error| error.to_string()));
    obstacles.extend(crate::validation::mistakes(plan));
    obstacles.extend(crate::validation::foreseen(plan));
    obstacles.extend(engine::check_placement(plan).err().map(|error| error.to_string()));
    let sizes: Vec<Option<u64>> = findings.iter().map(|finding| finding.size_bytes).collect();
    obstacles.extend(engine::check(plan, &sizes).iter().map(ToString::to_string));
    lines.extend(obstacles.iter().map(|why| format!("cannot run: {why}")));
    DryRun { lines, refused, obstacles, duration_ns, targets: findings }
}

/// The runs with their commands and objectives, and how long they take.
fn describe_runs(plan: &Plan, findings: &[TargetFinding], duration_ns: Option<u64>) -> Vec<String> {
    let mut lines = Vec::new();
    for (label, commands) in [("before", &plan.settings.start_commands), ("after", &plan.settings.end_commands)] {
        for command in commands {
            lines.push(format!("command {label} all runs, with your rights: {}", command.line));
        }
    }
    lines.push(format!("runs ({}):", plan.runs.len()));
    for run in &plan.runs {
        lines.extend(folded(&format!("  {}", describe_run(run, size_of(run, findings)))));
        let said = Some(departures(run, RUN_SAID)).filter(|said| !said.is_empty());
        lines.extend(said.iter().flat_map(|said| folded(&format!("    {said}"))));
        for workload in &run.workloads {
            match &workload.load {
                Load::Command(load) => lines.extend(describe_command(&workload.name, load)),
                Load::Tree(load) => lines.extend(folded(&dry_run_trees::describe_load(plan, &workload.name, load))),
                Load::Blocks => lines.extend(folded(&describe_blocks(plan, workload))),
            }
        }
        let uses = run.tree_uses().into_iter().map(|one| dry_run_trees::describe_use(plan, one));
        lines.extend(uses.flat_map(|line| folded(&line)));
        for (label, commands) in [("before", &run.start_commands), ("after", &run.end_commands)] {
            for command in commands {
                lines.push(format!("    command {label} this run, with your rights: {}", command.line));
            }
        }
        lines.extend(run.objectives.iter().map(|objective| format!("    fails if: {}", objective.text)));
    }
    lines.extend(plan.rounds.iter().flat_map(|rule| describe_rounds(plan, rule)));
    for objective in &plan.objectives {
        lines.push(format!("every run fails if: {}", objective.text));
    }
    lines.extend(folded(&describe_time(plan, duration_ns)));
    lines
}

/// Settings of the whole plan that are not the defaults.
fn describe_settings(plan: &Plan) -> String {
    let settings = departures(
        &plan.settings,
        &["start_commands", "end_commands", "seed", "is_data_seeded", "is_seed_fresh", "validation"],
    );
    format!(
        "settings: seed {}{}{}{settings}",
        plan.settings.seed,
        match (plan.settings.is_data_seeded, plan.settings.is_seed_fresh) {
            (true, _) => ", also of the data that is written",
            (_, true) => "; jobs with randrepeat=0 have one of each execution's own",
            _ => "",
        },
        if settings.is_empty() { "" } else { "; " }
    )
}

/// Which runs are repeated, until when.
fn describe_rounds(plan: &Plan, rule: &SteadyRounds) -> Vec<String> {
    let named = |run: &Run| {
        let loops = run.loops.iter().map(|(name, value)| format!(" {name}={value}"));
        format!("{}{}", run.title, loops.collect::<String>())
    };
    let tracked = rule.tracked.iter().filter_map(|place| plan.runs.get(*place)).map(named);
    let places = rule.places();
    let mut lines = folded(&format!(
        "rounds of {}: runs {} to {} of the list again and again, {} times at most, until over {} rounds these range over no more than \
         {} % of their average and rise or fall by no more than {} % of it: {}",
        rule.name,
        places.start + 1,
        places.end,
        rule.rounds_max,
        rule.window,
        rule.range * 100.0,
        rule.slope * 100.0,
        tracked.collect::<Vec<String>>().join(", ")
    ));
    lines.extend(
        rule.before
            .iter()
            .map(|command| format!("  command before the first round, with your rights: {}", command.line)),
    );
    lines
}

/// How long all runs take at most, or why that is not known.
fn describe_time(plan: &Plan, duration_ns: Option<u64>) -> String {
    let is_open_by_data = plan.runs.iter().any(|run| run.elapsed_ns.is_none() && !run.is_of_commands());
    match duration_ns {
        Some(ns) => format!("time: {} at most", format_ns(ns)),
        None if is_open_by_data => {
            let rounds = longest_rounds(plan).map(|ns| format!("; the rounds take {} at most", format_ns(ns)));
            let end = rounds.unwrap_or_default();
            format!("time: open, at least one run ends with its data and not with the clock{end}")
        }
        None => "time: open, at least one run ends with its commands and not with the clock".to_string(),
    }
}

/// How long all rounds of all rules take at most; `None` where there are none, or one has no end by the clock.
fn longest_rounds(plan: &Plan) -> Option<u64> {
    let all = plan.rounds.iter().map(|rule| duration_at_most(plan, rule.places()));
    all.reduce(|sum, one| Some(sum?.saturating_add(one?))).flatten()
}

/// What a workload on targets departs from the defaults in.
fn describe_blocks(plan: &Plan, workload: &Workload) -> String {
    let names: Vec<&str> =
        workload.targets.iter().filter_map(|&at| plan.targets.get(at)).map(|spec| spec.name.as_str()).collect();
    format!("    {} on {}: {}", workload.name, names.join(", "), departures(workload, WORKLOAD_SAID))
}

/// Looks at every target; second: would one be refused to protect data?
pub(crate) fn inspect_all(plan: &Plan, policy: &WritePolicy) -> (Vec<TargetFinding>, bool) {
    let mut refused = false;
    let findings = plan.targets.iter().enumerate().map(|(index, spec)| {
        let access = access_of(plan, index);
        let sets = crate::sync::all_flags_of(plan, index);
        let inspected = target::inspect_with(spec, &sets, access, policy);
        let changes_foreign = inspected.as_ref().is_ok_and(target::InspectionFinding::changes_foreign);
        let (found, refusal, size_bytes) = match inspected {
            Ok(finding) => (Some(finding.to_string()), None, Some(finding.size_bytes())),
            Err(error) => {
                refused |= error.is_refusal();
                (None, Some(error.to_string()), None)
            }
        };
        let access = match access {
            TargetAccess::Read => "read",
            TargetAccess::Write => "write",
        };
        TargetFinding { name: spec.name.clone(), access, found, refusal, size_bytes, changes_foreign }
    });
    let findings = findings.collect();
    (findings, refused)
}

/// Warm-up, measured time and rest of a run; `None` when it ends by itself.
pub(crate) fn duration_of(run: &Run) -> Option<u64> {
    let commands = run.workloads.iter().filter_map(|workload| workload.load.command());
    // Each execution on the idle machine takes as long as the run at most.
    let baselines: u64 = commands.map(|load| u64::from(load.baselines)).sum();
    run.elapsed_ns.map(|elapsed| {
        run.warmup_ns.saturating_add(elapsed.saturating_mul(baselines.saturating_add(1))).saturating_add(run.pause_ns)
    })
}

/// How long the runs at these places take at most, all their rounds from the place in front on; `None` when one ends by itself.
pub(crate) fn duration_at_most(plan: &Plan, places: Range<usize>) -> Option<u64> {
    let of = |place: usize, run: &Run| {
        let rule = plan.rounds.iter().find(|rule| rule.places().contains(&place));
        Some(duration_of(run)?.saturating_mul(rule.map_or(1, |rule| rule.rounds_max)))
    };
    let runs = plan.runs.iter().enumerate().filter(|(place, _)| places.contains(place));
    runs.map(|(place, run)| of(place, run)).try_fold(0_u64, |sum, run| Some(sum.saturating_add(run?)))
}

/// One line: what a run does and for how long.
fn describe_run(run: &Run, size_bytes: Option<u64>) -> String {
    let per_second = |rate: f64| format!("{} op/s", (rate * 1000.0).round() / 1000.0);
    let at_most = || run.offered(None).map_or("full speed".to_string(), per_second);
    let rate = match run.rate {
        OfferedRate::PerSecond(rate) => per_second(run.offered_rate(rate)),
        OfferedRate::Max => at_most(),
        OfferedRate::CurveMax => format!("{}, the curve's 100 %", at_most()),
        OfferedRate::CurvePoint { fraction, .. } => format!("{:.4} % of the curve's greatest rate", fraction * 100.0),
        OfferedRate::FractionOfLastMax(fraction) => format!("{:.4} % of the last greatest rate", fraction * 100.0),
    };
    let loops: Vec<String> = run.loops.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let workloads: Vec<String> = run
        .workloads
        .iter()
        .map(|workload| {
            if let Load::Command(load) = &workload.load {
                return format!("{} {}", workload.name, describe_executions(load));
            }
            // A rate of its own is no share of what the others divide.
            let load = workload.rate.map_or_else(|| format!("{} of the load", share(workload.share)), per_second);
            if let Load::Tree(tree) = &workload.load {
                return format!(
                    "{} {load} on {} tree(s), {}",
                    workload.name,
                    tree.uses.len(),
                    dry_run_trees::task(tree)
                );
            }
            format!(
                "{} {load} on {} target(s), {} read, {}",
                workload.name,
                workload.targets.len(),
                share(workload.mix.read),
                format_bytes(whole(workload.transfer_mean_bytes())),
            )
        })
        .collect();
    let time = match run.elapsed_ns {
        Some(elapsed) if run.warmup_ns > 0 => {
            format!("{} after {} warm-up", format_ns(elapsed), format_ns(run.warmup_ns))
        }
        Some(elapsed) => format_ns(elapsed),
        None if run.is_of_commands() => "until its commands end".to_string(),
        None => "until its end".to_string(),
    };
    let limits = [("read and written", run.stop.total), ("read", run.stop.read), ("written", run.stop.written)]
        .iter()
        .filter_map(|(what, limit)| {
            limit.map(|limit| format!(", or until {} {what}", describe_limit(limit, size_bytes)))
        })
        .collect::<String>();
    let rate = if run.is_of_commands() { String::new() } else { format!("  {rate}") };
    format!("{} {}{rate}  {time}{limits}  [{}]", run.title, loops.join(" "), workloads.join("; "))
}

/// When a command is executed: `at 15, 30, 45 s, baseline 1`, `5 times, warm-ups 2`.
fn describe_executions(load: &CommandLoad) -> String {
    let seconds = |ns: &u64| format!("{}", *ns as f64 / 1e9);
    let mut words = vec![match load.executions {
        _ if !load.at_ns.is_empty() => {
            format!("at {} s", load.at_ns.iter().map(seconds).collect::<Vec<String>>().join(", "))
        }
        Some(1) => "once".to_string(),
        Some(times) => format!("{times} times"),
        None => "again and again".to_string(),
    }];
    words.extend((load.warmups > 0).then(|| format!("warm-ups {}", load.warmups)));
    words.extend((load.baselines > 0).then(|| format!("baseline {}", load.baselines)));
    words.join(", ")
}

/// What is executed, and when.
fn describe_command(name: &str, load: &CommandLoad) -> Vec<String> {
    let mut lines = vec![format!("    {name} {}, with your rights: {}", describe_executions(load), load.line)];
    let before = |line: &plan::CommandLine| format!("      command before each execution, with your rights: {line}");
    lines.extend(load.prepare.as_ref().map(before));
    lines
}

/// Whole bytes of a mean.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of sizes is not negative")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

fn describe_limit(limit: DataLimit, size_bytes: Option<u64>) -> String {
    match limit {
        DataLimit::Bytes(bytes) => format_bytes(bytes),
        DataLimit::TargetSizes(times) => {
            let sum = size_bytes.map(|bytes| format!(" ({})", format_bytes(whole(bytes as f64 * times))));
            format!("{times} × the targets' size{}", sum.unwrap_or_default())
        }
    }
}

/// The size of a run's targets together; `None` where one of them is not known.
fn size_of(run: &Run, findings: &[TargetFinding]) -> Option<u64> {
    let used = |index: &usize| run.workloads.iter().any(|workload| workload.targets.contains(index));
    let all = findings.iter().enumerate().filter(|(index, _)| used(index));
    all.map(|(_, finding)| finding.size_bytes).sum()
}
