//! Who gets which part of a run's rate: `skew=`, and `iorate=` with `priority=`.

use crate::value::plain;
use crate::workload::Work;
use parameter_text::{Diagnostic, ReadingContext};
use plan::TextSpan;
use std::collections::BTreeMap;

/// A workload's part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    pub(crate) share: f64,
    pub(crate) fixed: bool,
}

/// The parts of all workloads of one run.
pub(crate) fn shares(context: &mut ReadingContext, span: TextSpan, works: &[&Work]) -> Option<Vec<Share>> {
    if works.iter().any(|work| work.rate.is_some() || work.priority.is_some()) {
        priorities(context, works)?;
    }
    let sharing: Vec<&&Work> = works.iter().filter(|work| work.rate.is_none()).collect();
    let parts: Vec<SharePart> = sharing.iter().map(|work| SharePart { asked: work.skew, units: 1.0 }).collect();
    let mut divided = divide(context, span, &parts)?.into_iter();
    let share_of = |work: &&Work| match work.rate {
        Some(_) => Some(Share { share: 0.0, fixed: false }),
        None => divided.next(),
    };
    works.iter().map(share_of).collect()
}

/// What divides a rate with others.
pub(crate) struct SharePart {
    /// The fraction that `skew=` asks for.
    pub(crate) asked: Option<(f64, TextSpan)>,
    /// How many equal parts it counts as of what the others leave.
    pub(crate) units: f64,
}

/// Divides a whole; `None`, with an error, where more than that is asked for, or less by all.
pub(crate) fn divide(context: &mut ReadingContext, span: TextSpan, parts: &[SharePart]) -> Option<Vec<Share>> {
    let asked: f64 = parts.iter().filter_map(|part| part.asked.map(|(share, _)| share)).sum();
    let open: f64 = parts.iter().filter(|part| part.asked.is_none()).map(|part| part.units).sum();
    let fixed = parts.iter().any(|part| part.asked.is_some());
    let first = parts.iter().find_map(|part| part.asked).map_or(span, |(_, span)| span);
    // Vdbench allows 0.0001 %.
    let wrong = match (fixed, open > 0.0) {
        (false, _) => None,
        (true, false) if (asked - 1.0).abs() > 1.000_001e-6 => {
            Some(("must be 100", "the skew of all workloads of a run is 100 together"))
        }
        (true, true) if asked >= 1.0 => {
            Some(("leaves nothing for the others", "workloads without skew= share what the others leave"))
        }
        _ => None,
    };
    if let Some((what, help)) = wrong {
        let message = format!("the skew of this run's workloads is {} together; it {what}", plain(asked * 100.0));
        context.push(Diagnostic::error("skew", first, message).help(help));
        return None;
    }
    let unit = if open > 0.0 { (1.0 - asked) / open } else { 0.0 };
    let share_of = |part: &SharePart| match part.asked {
        Some((share, _)) => Share { share, fixed },
        None => Share { share: unit * part.units, fixed },
    };
    Some(parts.iter().map(share_of).collect())
}

/// With a rate or priority in one workload, all need priorities: 1 to their number, those with a rate first.
fn priorities(context: &mut ReadingContext, works: &[&Work]) -> Option<()> {
    let mut seen: BTreeMap<u32, &str> = BTreeMap::new();
    for work in works {
        let shown = |name: &str| name.chars().take(40).collect::<String>();
        let Some((priority, span)) = work.priority else {
            let message = format!(
                "wd={} has no priority=, and another workload of its run has a rate or priority",
                shown(&work.name)
            );
            context.push(
                Diagnostic::error("priority", work.span, message)
                    .help("give all workloads of the run different priorities"),
            );
            return None;
        };
        if let Some(other) = seen.insert(priority, &work.name) {
            let message = format!("wd={} has the same priority as wd={}", shown(&work.name), shown(other));
            context.push(
                Diagnostic::error("priority", span, message).help("give all workloads of the run different priorities"),
            );
            return None;
        }
    }
    for (at, (priority, name)) in seen.iter().enumerate() {
        if usize::try_from(*priority) != Ok(at + 1) {
            let message = format!("the priorities of a run are 1, 2, 3, … without a gap: wd={name} has {priority}");
            let span =
                works.iter().find(|work| work.name == **name).and_then(|work| work.priority).map(|(_, span)| span);
            let found = Diagnostic::error("priority", span.unwrap_or_default(), message);
            context.push(found.help(format!("write priority={} there", at + 1)));
            return None;
        }
    }
    let number = |work: &&&Work| work.priority.map_or(0, |(priority, _)| priority);
    let last = works.iter().filter(|work| work.rate.is_some()).max_by_key(number);
    let first = works.iter().filter(|work| work.rate.is_none()).min_by_key(number);
    if let (Some(last), Some(first)) = (last, first)
        && number(&last) > number(&first)
    {
        let message = format!("wd={} has iorate= and comes behind wd={}, which has none", last.name, first.name);
        let found = Diagnostic::error("priority", last.priority.map_or(last.span, |(_, span)| span), message);
        context.push(found.help("workloads with iorate= have the lowest numbers of priority="));
        return None;
    }
    Some(())
}
