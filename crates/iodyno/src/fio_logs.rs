//! fio's logs at the end of a run: `write_bw_log` and its kin.

use crate::exit::{Failure, PARAMETERS};
use output::{OutputFile, OverwritePolicy};
use plan::{JobTexts, Plan, RunRepeat};
use recording::Reader;
use session::SessionError;
use std::path::{Path, PathBuf};
use tool_output::fio_out;

/// Rounds whose names are looked at before the run.
const ROUNDS_MAX: usize = 1000;

/// Refuses before the run what could not be written behind it; the names of all logs that the jobs ask for.
pub(crate) fn check(jobs: &JobTexts, plan: &Plan) -> Result<Vec<PathBuf>, Failure> {
    // How many rounds come until a time or Ctrl-C is not known: names of later ones are seen to when they are written.
    let rounds =
        if let RunRepeat::Times(times) = plan.settings.repeat { usize::try_from(times).unwrap_or(1) } else { 1 };
    let names = fio_out::log_names(jobs, rounds.min(ROUNDS_MAX)).map_err(|why| Failure::new(PARAMETERS, why))?;
    for name in &names {
        let force = if fio_out::replaces_log(name) == OverwritePolicy::Yes {
            OverwritePolicy::Yes
        } else {
            OverwritePolicy::Never
        };
        OutputFile::check(name, force)?;
    }
    let replayed = plan.runs.iter().flat_map(|run| run.workloads.iter().map(move |workload| (run, workload)));
    for (run, workload) in replayed.filter(|(_, workload)| workload.replay.is_some()) {
        let text = jobs.jobs.iter().find(|text| text.run == run.title && text.workload == workload.name);
        if text.and_then(|text| jobs.logs(text).ok()).is_some_and(|logs| logs.needs_each()) {
            let help = "logs with a line of each I/O cannot be had of a trace that is played: give log_avg_msec, or leave them out";
            return Err(Failure::new(PARAMETERS, format!("job {}: {help}", workload.name)));
        }
    }
    Ok(names)
}

/// Writes them from the recording, and says what is not in them.
pub(crate) fn write(recording: &Path) -> Result<(), Failure> {
    let reader = Reader::open(recording).map_err(SessionError::from)?;
    let written = fio_out::write_logs(&reader, None, OverwritePolicy::No).map_err(SessionError::from)?;
    written.notes.iter().for_each(|note| say!("iodyno: {note}"));
    if let Some(first) = written.files.first() {
        let more = written.files.len() - 1;
        let more = if more == 0 { String::new() } else { format!(" and {more} more beside it") };
        say!("iodyno: log {}{more}", first.display());
    }
    Ok(())
}
