//! Operations that failed: what is said where some did, and how a load is judged in which none succeeded.
//!
//! Times and rates are of operations that succeeded. Of a load without one there is no time at all, and a rate of 0, which has no
//! logarithm: the statistics of the others cannot judge it, and need not.

use super::conclusion::{MISSING, SLIP, VERDICT_S};
use super::length_check::ABOVE;
use super::{Comparison, Conclusion, JudgedFigure, Load, RatioIntervals};
use rates::measure::{BetterDirection, LoadMeasure, MeasureKind, RateFlow};
use view::Unit;

impl Load {
    /// How many operations succeeded.
    pub(crate) fn succeeded(&self) -> f64 {
        self.slices.iter().map(|slice| slice.ops).sum()
    }

    fn measured_s(&self) -> f64 {
        self.slices.iter().map(|slice| slice.length_s).sum()
    }

    fn has_failed(&self) -> bool {
        self.errors.is_some_and(|errors| errors > 0.0)
    }

    /// Why there is no time of an operation: `all of its 150 operations failed`; `None` where there may be one.
    pub(crate) fn why_no_times(&self) -> Option<String> {
        (self.succeeded() == 0.0).then(|| match self.errors {
            Some(failed) if failed > 0.0 => format!("all of its {} operations failed", counted(failed)),
            Some(_) => "it completed no operation".to_string(),
            None => "it completed no operation, and failures were not counted".to_string(),
        })
    }
}

/// A rate where nothing succeeded on one side and something did on the other; `None` where that is not so.
///
/// That all failed is no matter of chance, however short the run; that nothing came back in a short one may be.
pub(crate) fn rate_of_nothing(base: &Load, load: &Load, measure: &LoadMeasure) -> Option<JudgedFigure> {
    let MeasureKind::Rate(flow) = measure.kind else { return None };
    let amount = |load: &Load| match flow {
        RateFlow::Operations => load.succeeded(),
        RateFlow::Bytes => load.slices.iter().map(|slice| slice.bytes).sum(),
    };
    let (empty, other, ratio) = match (base.succeeded() == 0.0, load.succeeded() == 0.0) {
        (false, true) => (load, base, 0.0),
        (true, false) => (base, load, f64::INFINITY),
        _ => return None,
    };
    if amount(other) == 0.0 || other.measured_s() <= 0.0 {
        return None;
    }
    let missing_s: f64 = empty.rounds.iter().map(|round| round.missing_s).sum();
    let missing = missing_s / (missing_s + empty.measured_s());
    if missing > MISSING {
        return Some(JudgedFigure::unjudged(ratio, &format!("{:.0} % of the time is missing", 100.0 * missing)));
    }
    let expected = other.succeeded() / other.measured_s() * empty.measured_s();
    let is_long = empty.has_failed() || empty.measured_s().min(other.measured_s()) >= SLIP * VERDICT_S;
    if expected < ABOVE || !is_long {
        let why = format!("nothing completed in {}", Unit::Seconds.format(Some(empty.measured_s())));
        let conclusion = Conclusion::NotResolved { needs_s: VERDICT_S, why };
        return Some(JudgedFigure { conclusion, ..JudgedFigure::plain(ratio) });
    }
    let better = match measure.better {
        BetterDirection::More => Some(ratio > 1.0),
        BetterDirection::Less => Some(ratio < 1.0),
        BetterDirection::Neither => None,
    };
    let grounds = RatioIntervals { difference: Some((ratio, ratio)), sameness: None };
    Some(JudgedFigure { conclusion: Conclusion::Different { better }, grounds, ..JudgedFigure::plain(ratio) })
}

/// Why a figure has no verdict in a pair that both have, without a full stop.
pub(crate) fn why_unknown(comparison: &Comparison, (side, pair): (usize, usize), measure: &LoadMeasure) -> String {
    let load = |side: usize| comparison.sides.get(side)?.loads.get(pair)?.as_ref();
    let (label, base) = (comparison.label(side), comparison.label(0));
    let (Some(was), Some(is)) = (load(0), load(side)) else {
        return format!("{} is not known of both {label} and {base}", measure.title);
    };
    if let (MeasureKind::Rate(_), Some(was), Some(is)) = (measure.kind, was.why_no_times(), is.why_no_times()) {
        return format!("{} is 0 of both {label} ({is}) and {base} ({was})", measure.title);
    }
    let empty: Vec<String> = [(label, is), (base, was)]
        .into_iter()
        .filter_map(|(label, load)| Some(format!("of {label} there is none, {}", load.why_no_times()?)))
        .collect();
    let is_known = |load: &Load| (measure.value)(&load.whole()).is_some();
    match (empty.is_empty(), is_known(was), is_known(is)) {
        (false, ..) => format!("{}: {}", measure.title, empty.join("; ")),
        (_, false, false) => format!("{} is known neither of {label} nor of {base}", measure.title),
        (_, true, false) => format!("{} is not known of {label}", measure.title),
        (_, false, true) => format!("{} is not known of {base}", measure.title),
        (_, true, true) => format!("{} is not judged", measure.title),
    }
}

/// That operations failed in a pair of single runs, a sentence with a full stop; of rounds, those with failures are left out.
pub(crate) fn caution(comparison: &Comparison, pair: usize) -> Option<String> {
    let loads: Vec<(&str, &Load)> = comparison.of(pair).map(|(_, side, load)| (side.label.as_str(), load)).collect();
    let are_single = loads.iter().all(|(_, load)| load.rounds.len() <= 1);
    if loads.len() < 2 || !are_single || !loads.iter().any(|(_, load)| load.has_failed()) {
        return None;
    }
    let of_side = |(label, load): &(&str, &Load)| match load.errors {
        None => format!("of {label} they were not counted"),
        Some(failed) => {
            let all = load.succeeded() + failed;
            let share = if failed > 0.0 { format!(" ({})", share(failed / all)) } else { String::new() };
            format!("{} of {} of {label}{share}", counted(failed), counted(all))
        }
    };
    let words = loads.iter().map(of_side).collect::<Vec<String>>().join(", ");
    let begun = match comparison.pairs.len() {
        1 => "Failed operations".to_string(),
        _ => format!("{}: failed operations", comparison.pair_name(pair)),
    };
    Some(format!("{begun}: {words}; times and rates are of those that succeeded."))
}

fn counted(operations: f64) -> String {
    Unit::Operations.format(Some(operations))
}

fn share(part: f64) -> String {
    match 100.0 * part {
        little if little < 0.05 => "less than 0.1 %".to_string(),
        some if some < 9.95 => format!("{some:.1} %"),
        much => format!("{much:.0} %"),
    }
}
