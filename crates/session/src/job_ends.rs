//! What is said of jobs that did not come to the end of their own limits.

use crate::outcome::CommandEnding;
use engine::{JobFault, JobStatus};
use plan::{Plan, Run};
use quantity::text::format_ns;
use recording::{EventKind, EventSeverity};
use std::io;
use tool_output::fio_out::JobErrors;

/// Jobs that are spoken of one by one; of the others only their number is said.
const JOBS_SHOWN: usize = 10;

/// A sentence about a job.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) severity: EventSeverity,
    pub(crate) kind: EventKind,
    pub(crate) sentence: String,
    /// What it makes of the command's end.
    pub(crate) ending: CommandEnding,
}

/// What errors the jobs of a run met, for outputs that have numbers for it.
pub(crate) fn errors(run: &Run, run_index: i32, statuses: &[JobStatus]) -> Vec<JobErrors> {
    let jobs =
        run.workloads.iter().zip(statuses).filter(|(_, status)| status.fault.is_some() || status.passed_over > 0);
    jobs.map(|(workload, status)| JobErrors {
        run_index,
        workload: workload.name.clone(),
        ended_by: status.fault.map_or(0, |fault| fault.errno),
        passed_over: status.passed_over,
        first_passed_over: status.first_passed_over.unwrap_or(0),
    })
    .collect()
}

/// The sentences about the jobs of a run, those about failures first.
pub(crate) fn said(plan: &Plan, run: &Run, title: &str, statuses: &[JobStatus]) -> Vec<Said> {
    let jobs = || run.workloads.iter().zip(statuses);
    let mut out = Vec::new();
    let faults = jobs().filter_map(|(workload, status)| Some((workload, status.fault?)));
    let failed: Vec<Said> = faults.map(|(workload, fault)| of_fault(plan, title, &workload.name, &fault)).collect();
    let more = failed.len().saturating_sub(JOBS_SHOWN);
    let worst = failed.iter().map(|said| said.ending).max();
    out.extend(failed.into_iter().take(JOBS_SHOWN));
    if let (1.., Some(ending)) = (more, worst) {
        let sentence = format!("{title}: {more} more jobs ended with an error");
        out.push(Said { severity: EventSeverity::Error, kind: EventKind::JobError, sentence, ending });
    }
    let plain = |severity, kind, sentence| Said { severity, kind, sentence, ending: CommandEnding::Fine };
    for (workload, status) in jobs().filter(|(_, status)| status.passed_over > 0).take(JOBS_SHOWN) {
        let first = error(status.first_passed_over.unwrap_or(0));
        let (name, count) = (&workload.name, status.passed_over);
        let sentence = format!("{title}: job {name} went on after {count} failed operations, of the first: {first}");
        out.push(plain(EventSeverity::Warning, EventKind::ErrorsPassed, sentence));
    }
    for (workload, _) in jobs().filter(|(_, status)| status.is_full).take(JOBS_SHOWN) {
        let sentence = format!("{title}: job {} ended because its device is full (fill_device)", workload.name);
        out.push(plain(EventSeverity::Info, EventKind::DeviceFull, sentence));
    }
    for (at, workload) in run.workloads.iter().enumerate() {
        let with: Vec<&str> = jobs()
            .filter(|(_, status)| status.taken_along_by == Some(at))
            .map(|(other, _)| other.name.as_str())
            .collect();
        let others = match with.len() {
            0 => continue,
            1..=JOBS_SHOWN => with.join(", "),
            count => format!("{}, … ({count} jobs)", with[..JOBS_SHOWN].join(", ")),
        };
        let sentence = format!("{title}: job {} ended, and with it {others} (exitall)", workload.name);
        out.push(plain(EventSeverity::Info, EventKind::JobExit, sentence));
    }
    out
}

/// A job that ended with an error.
fn of_fault(plan: &Plan, title: &str, name: &str, fault: &JobFault) -> Said {
    let JobFault { t_ns, op, bytes, offset, .. } = *fault;
    let path = plan.place_path(fault.target).display().to_string();
    let what = format!("{} of {bytes} bytes at offset {offset} of {path}", op.name());
    let after = format_ns(t_ns);
    match fault.service_ns {
        Some(service_ns) => Said {
            severity: EventSeverity::Error,
            kind: EventKind::MaxLatency,
            sentence: format!(
                "{title}: job {name} ended after {after}: a {what} took {}, more than its max_latency: {}",
                format_ns(service_ns),
                error(fault.errno)
            ),
            // Which is an objective, too.
            ending: CommandEnding::ObjectiveMissed,
        },
        None => Said {
            severity: EventSeverity::Error,
            kind: EventKind::JobError,
            sentence: format!("{title}: job {name} ended after {after}: a {what} failed: {}", error(fault.errno)),
            ending: CommandEnding::TargetFailed,
        },
    }
}

/// An error with its number.
fn error(errno: i32) -> String {
    io::Error::from_raw_os_error(errno).to_string()
}
