//! What a command used, in a row.

use crate::signed;
use command::{CommandUsage, ReapedChild};
use recording::rows::CommandExecution;
use recording::{ExecutionEnding, Label, LoadPhase};
use std::os::unix::process::ExitStatusExt as _;

/// A row with what an execution used, as far as it is known; all else is to be filled in.
#[must_use]
pub fn command_usage(usage: Option<&CommandUsage>) -> CommandExecution {
    let used = |of: fn(&CommandUsage) -> u64| usage.map(|usage| signed(of(usage)));
    let io = usage.and_then(|usage| usage.io);
    CommandExecution {
        t_ns: 0,
        t_s: 0.0,
        run: String::new(),
        run_index: 0,
        phase: LoadPhase::Measure,
        workload: Label::from(""),
        line: Label::from(""),
        number: 1,
        due_t_ns: 0,
        start_t_ns: None,
        ending: ExecutionEnding::Exited,
        exit_code: None,
        signal: None,
        real_ns: None,
        user_ns: used(|usage| usage.user_ns),
        sys_ns: used(|usage| usage.sys_ns),
        max_rss_bytes: usage.and_then(|usage| usage.max_rss_bytes).map(signed),
        read_bytes: io.map(|io| signed(io.read_bytes)),
        write_bytes: io.map(|io| signed(io.write_bytes)),
        read_call_bytes: io.map(|io| signed(io.read_call_bytes)),
        write_call_bytes: io.map(|io| signed(io.write_call_bytes)),
        minor_faults: used(|usage| usage.minor_faults),
        major_faults: used(|usage| usage.major_faults),
        voluntary_switches: used(|usage| usage.voluntary_switches),
        involuntary_switches: used(|usage| usage.involuntary_switches),
        output_bytes: None,
        left_behind: None,
        error: String::new(),
    }
}

/// The row of a command that was recorded: its name, its line, its times by the clock, and its end. The recording began at `origin_ns`.
#[must_use]
pub fn recorded_command(
    (name, line): (&str, &str),
    (start_ns, end_ns): (u64, u64),
    reaped: &ReapedChild,
    origin_ns: u64,
) -> CommandExecution {
    let signal = reaped.status.signal();
    CommandExecution {
        t_ns: signed(end_ns),
        t_s: end_ns.saturating_sub(origin_ns) as f64 / 1e9,
        workload: Label::from(name),
        line: Label::from(line),
        due_t_ns: signed(start_ns),
        start_t_ns: Some(signed(start_ns)),
        ending: if signal.is_some() { ExecutionEnding::Signalled } else { ExecutionEnding::Exited },
        exit_code: reaped.status.code(),
        signal,
        real_ns: Some(signed(end_ns.saturating_sub(start_ns))),
        ..command_usage(Some(&reaped.usage))
    }
}
