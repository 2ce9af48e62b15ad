//! Data validation as options of jobs.

use crate::verify::UNENDING;
use crate::words_out::Lines;
use plan::{EILSEQ, Plan, Workload};

/// The options of a job whose other lines are there already. A job that only reads has them where what earlier runs wrote is checked.
pub(crate) fn section(plan: &Plan, workload: &Workload, lines: &mut Lines) {
    // Also of a job on what has no data: it expects some.
    let is_later = workload.job.as_ref().is_some_and(|job| job.checks_unknown);
    let settings = plan.settings.validation.as_ref().filter(|_| is_later || is_checked(plan, workload));
    let Some(settings) = settings else { return };
    let pattern = lines.value("rw").unwrap_or_default().split(':').next().unwrap_or_default();
    let reads_only = matches!(pattern, "read" | "randread");
    let writes = !reads_only && !matches!(pattern, "trim" | "randtrim");
    let expects_unknown = workload.job.as_ref().is_none_or(|job| job.checks_unknown);
    if reads_only && !(settings.checks_unknown && expects_unknown) {
        return;
    }
    lines.add("verify", "crc32c");
    lines.add_if(!reads_only && !settings.sweeps, "do_verify", || "0".to_string());
    lines.add_if(writes && settings.reads_after_write, "verify_backlog", || "1".to_string());
    lines.add_if(settings.trims_read_zero == Some(true), "trim_verify_zero", || "1".to_string());
    lines.add_if(plan.settings.errors_max == 0, "verify_fatal", || "1".to_string());
}

/// Is there data to check?
fn is_checked(plan: &Plan, workload: &Workload) -> bool {
    let is_nothing = |at: &usize| plan.targets.get(*at).is_some_and(|spec| spec.path.as_os_str() == "/dev/null");
    workload.load.is_blocks() && !workload.targets.is_empty() && !workload.targets.iter().all(is_nothing)
}

/// What no option says; `is_printed`: a job has its options ([`section`]).
pub(crate) fn unsaid(plan: &Plan, is_printed: bool, unsaid: &mut Vec<String>) {
    let default = plan::PlanSettings::default().errors_max;
    let limit = plan.settings.errors_max;
    let Some(settings) = &plan.settings.validation else {
        if limit != default {
            unsaid.push("the number of errors that ends a run (data_errors)".to_string());
        }
        return;
    };
    let mut passed = plan.runs.iter().flat_map(|run| &run.workloads).filter_map(|one| one.job.as_ref()?.end.as_ref());
    let is_said = match limit {
        0 => true,
        UNENDING => passed.any(|end| end.passed_over[2].contains(&EILSEQ)),
        other => other == default,
    };
    if !is_said {
        unsaid.push("the number of errors that ends a run (data_errors)".to_string());
    }
    if !is_printed {
        unsaid.push("data validation (verify): no job writes, or reads what an earlier run wrote".to_string());
    }
    let flags =
        [(settings.reads_before_write, "-v"), (settings.keeps_times, "-vt"), (settings.journal.is_some(), "-j")];
    for (_, flag) in flags.into_iter().filter(|(is_set, _)| *is_set) {
        unsaid.push(format!("a part of data validation: use {flag}"));
    }
    if settings.trims_read_zero == Some(false) {
        unsaid.push("that trimmed blocks may read as anything".to_string());
    }
}
