//! From trees and figures to truth and words.

use super::dimension::Dimension;
use super::syntax::{Comparison, Measured, Number, Side, Truth};
use super::{Judgement, VerdictEvidence};
use rates::FigureBounds;
use view::Unit;

/// A time in which a condition held, ns, and the most telling value of its first comparison in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ConditionSpan {
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    pub(super) worst: Option<f64>,
}

impl ConditionSpan {
    pub(super) fn length_ns(&self) -> i64 {
        self.to_ns - self.from_ns
    }
}

/// What a tree is judged with.
pub(super) struct World<'a> {
    /// A figure over the whole run.
    pub(super) whole: &'a dyn Fn(&Measured) -> Option<FigureBounds>,
    /// The longest stretch in which a part held.
    pub(super) longest: &'a dyn Fn(&Truth) -> Option<ConditionSpan>,
    /// `CLOCK_MONOTONIC` at the run's start.
    pub(super) start_ns: i64,
}

/// Value of a number.
pub(super) fn number(of: &Number, figure: &dyn Fn(&Measured) -> Option<FigureBounds>) -> Option<FigureBounds> {
    Some(match of {
        Number::Constant(value) => FigureBounds::exact(*value),
        Number::Measured(measured) => figure(measured)?,
        Number::Negated(inner) => -number(inner, figure)?,
        Number::Sum(a, b) => number(a, figure)? + number(b, figure)?,
        Number::Difference(a, b) => number(a, figure)? - number(b, figure)?,
        Number::Product(a, b, scale) => number(a, figure)?.times(number(b, figure)?).times(FigureBounds::exact(*scale)),
        Number::Quotient(a, b, scale) => {
            number(a, figure)?.divided_by(number(b, figure)?)?.times(FigureBounds::exact(*scale))
        }
    })
}

/// Truth of a tree without `for`; `None` when it depends on something that was not measured, or is not known well enough.
pub(super) fn holds(truth: &Truth, figure: &dyn Fn(&Measured) -> Option<FigureBounds>) -> Option<bool> {
    match truth {
        Truth::Compare(comparison, left, right) => {
            comparison.holds(number(&left.number, figure)?, number(&right.number, figure)?)
        }
        Truth::And(a, b) => both(holds(a, figure), holds(b, figure)),
        Truth::Or(a, b) => both(holds(a, figure).map(|a| !a), holds(b, figure).map(|b| !b)).map(|neither| !neither),
        Truth::Not(inner) => holds(inner, figure).map(|held| !held),
        Truth::For(..) => None,
    }
}

/// Three-valued: one that is false decides, whatever the other is.
pub(super) fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// The first comparison of a tree.
pub(super) fn first(truth: &Truth) -> Option<(Comparison, &Side, &Side)> {
    match truth {
        Truth::Compare(comparison, left, right) => Some((*comparison, left, right)),
        Truth::And(a, b) | Truth::Or(a, b) => first(a).or_else(|| first(b)),
        Truth::Not(inner) | Truth::For(inner, ..) => first(inner),
    }
}

/// Rounding of clocks: intervals of a second are together ten seconds when a thousandth is missing.
pub(super) const TOLERANCE: f64 = 0.005;

#[expect(clippy::cast_precision_loss, reason = "a length of time")]
fn long_enough(stretch: &ConditionSpan, ns: u64) -> bool {
    stretch.length_ns() as f64 >= ns as f64 * (1.0 - TOLERANCE)
}

impl World<'_> {
    /// Truth over the whole run.
    pub(super) fn truth(&self, truth: &Truth) -> Option<bool> {
        match truth {
            Truth::Compare(..) => holds(truth, self.whole),
            Truth::And(a, b) => both(self.truth(a), self.truth(b)),
            Truth::Or(a, b) => both(self.truth(a).map(|a| !a), self.truth(b).map(|b| !b)).map(|neither| !neither),
            Truth::Not(inner) => self.truth(inner).map(|held| !held),
            Truth::For(inner, ns, _) => {
                let stretch = (self.longest)(inner)?;
                Some(long_enough(&stretch, *ns))
            }
        }
    }

    pub(super) fn judgement(&self, truth: &Truth) -> Judgement {
        match self.truth(truth) {
            Some(true) => Judgement::Missed,
            Some(false) => Judgement::Met,
            None if self.is_open(truth) => Judgement::Undecided,
            None => Judgement::Unknown,
        }
    }

    /// Would it be known whether a tree holds, if what has no end had ended just now?
    fn is_open(&self, truth: &Truth) -> bool {
        let whole = |measured: &Measured| (self.whole)(measured).map(|figure| FigureBounds::exact(figure.low));
        World { whole: &whole, longest: self.longest, start_ns: self.start_ns }.truth(truth).is_some()
    }

    /// Why a tree is true or false: the parts that decided it.
    pub(super) fn reasons(&self, truth: &Truth, outcome: bool, out: &mut Vec<String>) {
        match truth {
            Truth::Compare(comparison, left, right) => out.push(self.compared(*comparison, left, right, outcome)),
            Truth::Not(inner) => self.reasons(inner, !outcome, out),
            Truth::For(inner, ns, asked) => out.push(self.lasted(inner, *ns, asked, outcome)),
            Truth::And(a, b) | Truth::Or(a, b) => {
                for part in [a, b] {
                    // Of a conjunction that is false, and of a disjunction that is true, one part is enough.
                    if self.truth(part) == Some(outcome) {
                        self.reasons(part, outcome, out);
                    }
                }
            }
        }
    }

    fn compared(&self, comparison: Comparison, left: &Side, right: &Side, outcome: bool) -> String {
        let (measured, other, comparison) =
            if left.is_constant() { (right, left, comparison.flipped()) } else { (left, right, comparison) };
        let shown = |side: &Side, dimension: Dimension| {
            number(&side.number, self.whole).map_or("?".to_string(), |figure| in_words(figure, dimension))
        };
        // A number without a unit takes that of what it stands beside.
        let dimension = if measured.dimension.is_plain() && !measured.dimension.is_percent() {
            other.dimension
        } else {
            measured.dimension
        };
        let beside = if other.is_constant() { String::new() } else { format!(" ({})", shown(other, dimension)) };
        format!(
            "{} was {}, {} {}{beside}",
            measured.text,
            shown(measured, dimension),
            comparison.words(outcome),
            other.text
        )
    }

    fn lasted(&self, inner: &Truth, ns: u64, asked: &str, outcome: bool) -> String {
        let text = inner_text(inner);
        let Some(stretch) = (self.longest)(inner).filter(|stretch| stretch.length_ns() > 0) else {
            return format!("{text} never held");
        };
        let seconds = |t_ns: i64| Unit::Seconds.format(Some((t_ns - self.start_ns) as f64 / 1e9));
        let length = Unit::Seconds.format(Some(stretch.length_ns() as f64 / 1e9));
        let worst = stretch.worst.zip(first(inner)).map_or(String::new(), |(value, (comparison, left, _))| {
            let kind = if matches!(comparison, Comparison::Less | Comparison::LessOrEqual) { "down" } else { "up" };
            format!(", {kind} to {}", left.dimension.format(value))
        });
        let verdict = if outcome { String::new() } else { format!(", less than {asked}") };
        let most = if outcome { "" } else { " at most" };
        debug_assert!(ns > 0);
        format!(
            "{text} held for {length}{most} (from {} to {} of the run{worst}){verdict}",
            seconds(stretch.from_ns),
            seconds(stretch.to_ns)
        )
    }

    /// The figures of a tree.
    pub(super) fn evidence(&self, measures: &[&Measured]) -> Vec<VerdictEvidence> {
        measures
            .iter()
            .map(|measured| {
                let figure = (self.whole)(measured);
                VerdictEvidence {
                    measure: measured.text.clone(),
                    value: figure.map(|figure| figure.low),
                    at_least: figure.is_some_and(|figure| !figure.is_exact()),
                    text: figure.map_or("?".to_string(), |figure| in_words(figure, measured.dimension)),
                }
            })
            .collect()
    }
}

/// `5 ms`, or `at least 5 ms`.
pub(super) fn in_words(figure: FigureBounds, dimension: Dimension) -> String {
    match figure {
        known if known.is_exact() => dimension.format(known.low),
        FigureBounds { low, .. } if low.is_finite() => format!("at least {}", dimension.format(low)),
        FigureBounds { high, .. } if high.is_finite() => format!("at most {}", dimension.format(high)),
        _ => "?".to_string(),
    }
}

/// A tree without `for` as it was written, near enough.
fn inner_text(truth: &Truth) -> String {
    let sign = |comparison: Comparison| match comparison {
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
        Comparison::Equal => "==",
        Comparison::Unequal => "!=",
    };
    match truth {
        Truth::Compare(comparison, left, right) => format!("{} {} {}", left.text, sign(*comparison), right.text),
        Truth::And(a, b) => format!("({} and {})", inner_text(a), inner_text(b)),
        Truth::Or(a, b) => format!("({} or {})", inner_text(a), inner_text(b)),
        Truth::Not(inner) => format!("not {}", inner_text(inner)),
        Truth::For(inner, _, asked) => format!("{} for {asked}", inner_text(inner)),
    }
}
