//! Operations that failed: with `continue_on_error` fio's JSON has their number, of each job.

use super::known;
use recording::rows::{OpInterval, RunTotal};
use serde_json::Value;

/// The only kind of operation that a job of this `rw` has.
fn only_op(rw: &str) -> Option<&'static str> {
    match rw.split(':').next()? {
        "read" | "randread" => Some("read"),
        "write" | "randwrite" => Some("write"),
        "trim" | "randtrim" => Some("trim"),
        _ => None,
    }
}

/// Puts a job's count of failed operations into its rows, if fio's output shows which rows they belong to; else
/// returns a note.
pub(super) fn take_over(
    job: &Value,
    rw: Option<&str>,
    totals: &mut [RunTotal],
    intervals: &mut [OpInterval],
) -> Option<String> {
    let failed = known(&job["total_err"])?;
    let first = job["first_error"].as_i64().and_then(|number| i32::try_from(number).ok()).filter(|number| *number != 0);
    if failed == 0 {
        // A job that an error ended may have counted none (libaio): what it did not count is not 0.
        if job["error"].as_i64() != Some(0) {
            return None;
        }
        totals.iter_mut().for_each(|row| row.errors = Some(0));
        intervals.iter_mut().for_each(|row| row.errors = Some(0));
        return None;
    }
    match totals {
        [total] if rw.and_then(only_op) == Some(total.op.as_str()) && total.ops >= failed => {
            // fio counts operations when it submits them: those that failed are among them.
            total.ops -= failed;
            (total.errors, total.first_error) = (Some(failed), first);
            if let [interval] = intervals {
                (interval.ops, interval.errors) = (total.ops, Some(failed));
            }
            None
        }
        _ => Some(format!(
            "{failed} of its operations failed{}; fio does not say of which kind: they are among the operations, errors are null",
            first.map_or(String::new(), |number| format!(" (the first with error {number})"))
        )),
    }
}
