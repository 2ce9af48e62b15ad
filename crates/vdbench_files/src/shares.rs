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
    let asked: f64 = sharing.iter().filter_map(|work| work.skew.map(|(share, _)| share)).sum();
    let open = sharing.iter().filter(|work| work.skew.is_none()).count();
    let fixed = open < sharing.len();
    let first = works.iter().find_map(|work| work.skew).map_or(span, |(_, span)| span);
    // Vdbench allows 0.0001 %.
    let wrong = match (fixed, open) {
        (false, _) => None,
        (true, 0) if (asked - 1.0).abs() > 1.000_001e-6 => {
            Some(("must be 100", "the skew of all workloads of a run is 100 together"))
        }
        (true, 1..) if asked >= 1.0 => {
            Some(("leaves nothing for the others", "workloads without skew= share what the others leave"))
        }
        _ => None,
    };
    if let Some((what, help)) = wrong {
        let message = format!("the skew of this run's workloads is {} together; it {what}", plain(asked * 100.0));
        context.push(Diagnostic::error("skew", first, message).help(help));
        return None;
    }
    let rest = if open > 0 { (1.0 - asked) / open as f64 } else { 0.0 };
    let share_of = |work: &&Work| match (work.rate, work.skew) {
        (Some(_), _) => Share { share: 0.0, fixed: false },
        (None, Some((share, _))) => Share { share, fixed },
        (None, None) => Share { share: rest, fixed },
    };
    Some(works.iter().map(share_of).collect())
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
