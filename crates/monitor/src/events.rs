//! Rows of the table `event` that several commands write.

use crate::numbers::signed;
use quantity::clock;
use recording::rows::Event;
use recording::{EventKind, EventSeverity};

/// Says that so many things were in no figure by the sample at `t_ns` of what began at `origin_ns`.
pub(crate) fn lost_row((t_ns, origin_ns): (u64, u64), count: u64, what: &str) -> Event {
    Event {
        t_ns: signed(t_ns),
        t_s: t_ns.saturating_sub(origin_ns) as f64 / 1e9,
        severity: EventSeverity::Error,
        kind: EventKind::ProbeLost,
        class: None,
        run: None,
        target: None,
        message: format!("{count} {what} could not be counted"),
        count: signed(count),
    }
}

/// The event of a wall clock that was set.
pub fn clock_step(step_ns: i64, origin_ns: u64) -> Event {
    let t_ns = clock::now_ns();
    let length = quantity::text::format_ns(step_ns.unsigned_abs());
    let direction = if step_ns < 0 { "back" } else { "forward" };
    Event {
        t_ns: signed(t_ns),
        t_s: t_ns.saturating_sub(origin_ns) as f64 / 1e9,
        severity: EventSeverity::Warning,
        kind: EventKind::ClockStep,
        class: None,
        run: None,
        target: None,
        message: format!(
            "the wall clock went {length} {direction}; intervals and rates are of another clock, not affected"
        ),
        count: 1,
    }
}
