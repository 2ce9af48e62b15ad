//! After which runs no other one begins.

use crate::outcome::CommandEnding;
use crate::run_loop::{Cause, RunResult};
use plan::{ErrorRule, Run};

/// Does a run that came to its end like this end the command? `own`: what it made of the command's end.
pub(super) fn ends_the_command(run: &Run, result: &RunResult, own: CommandEnding, is_sweeping: bool) -> bool {
    match result.cause {
        Cause::Interrupted | Cause::Damage | Cause::Journal => true,
        Cause::Errors | Cause::Done | Cause::Monitor if result.ends_all || result.unfinished > 0 => true,
        // Where each job has its own rule for errors, those behind it run all the same.
        Cause::Errors | Cause::Done | Cause::Monitor if run.stop.errors == Some(ErrorRule::Never) => false,
        // Operations failed, no more than the plan allows. Where a fill misses some, or a pass over all of it does, what comes next
        // would not be what was asked for.
        Cause::Done | Cause::Monitor if is_passed_over(run, result) && !run.format && !is_sweeping => false,
        Cause::Errors | Cause::Done | Cause::Monitor => own >= CommandEnding::Interrupted,
    }
}

/// Did nothing go wrong but operations that failed?
fn is_passed_over(run: &Run, result: &RunResult) -> bool {
    run.stop.errors.is_none() && result.all.errors > 0 && result.is_read_before
}
