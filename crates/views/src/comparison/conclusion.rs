//! What is said of a difference: different, the same, not resolved, or not judged.

use super::length_check::{ABOVE, INDEPENDENT, TAIL_S, autoregression, autoregression_freedom, gate_figures};
use super::length_check::{independent, independent_of, tail};
use super::per_second::LoadRound;
use super::rounds::{self, FEWEST, SHORTEST_S};
use super::two_run_test::{COSINES, freedom, interval, is_between_modes, series, theta, variance, whole, woodruff};
use rates::measure::{BetterDirection, LoadMeasure, MeasureKind, TimeKind};
use rates::samples::LogInterval;
use rates::student::student;
use std::borrow::Cow;
use view::Unit;

/// Below this there is no interval, s.
pub(crate) const FLOOR_S: f64 = 60.0;
/// Below this there is no verdict of two single runs, s.
pub(crate) const VERDICT_S: f64 = 120.0;
/// A difference below this is none (ratio).
pub(crate) const SMALLEST: f64 = 1.01;
/// Most of the time that may be missing.
pub(super) const MISSING: f64 = 0.2;
/// How much more than an interval's half a difference must be where the gate says no.
const DOUBT: f64 = 4.0;
/// A clock's slip makes no run too short.
pub(super) const SLIP: f64 = 0.98;

/// What is said of a difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The two recordings differ; better or worse where that can be said.
    Different {
        /// Is the second better?
        better: Option<bool>,
    },
    /// They are the same within a bound.
    Same {
        /// The bound, a fraction: 0.05 for 5 %.
        within: f64,
    },
    /// Neither can be said.
    NotResolved {
        /// Measured time of each recording with which it could about be, s.
        needs_s: f64,
        /// Why not; empty where the interval is simply too wide.
        why: String,
    },
    /// It is not judged at all.
    NotJudged {
        /// Why not.
        why: String,
    },
}

/// What a figure was judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgingMethod {
    /// By nothing.
    None,
    /// One run against another: by their slow movements.
    Single,
    /// So many rounds of each side: by their spread.
    Rounds(usize),
    /// A trace and its replay: by the slow movements of their difference.
    Paired,
}

/// The intervals of a ratio that verdicts may rest on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RatioIntervals {
    /// For a difference; wider than the interval where the runs are short for their own slowness, `None` where they are too short for
    /// any verdict.
    pub difference: Option<(f64, f64)>,
    /// For being the same; `None` where the runs are short for their own slowness as well.
    pub sameness: Option<(f64, f64)>,
}

/// One figure of one recording against that of the first.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedFigure {
    /// Second ÷ first.
    pub ratio: f64,
    /// Ends of the 95 % interval of the ratio.
    pub interval: Option<(f64, f64)>,
    /// What is said of it.
    pub conclusion: Conclusion,
    /// What can be said of other bounds than those that were asked for.
    pub grounds: RatioIntervals,
    /// By what.
    pub method: JudgingMethod,
    /// How many independent stretches, or rounds, each side is worth.
    pub independent: Option<f64>,
    /// Of a quantile: from how many seconds the operations above it come, of the side with fewer.
    pub tail_s: Option<f64>,
}

impl JudgedFigure {
    /// The smallest change that could be resolved, a fraction: about half of the interval.
    #[must_use]
    pub fn resolvable(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (0.5 * (high / low).ln()).exp() - 1.0)
    }

    pub(super) fn unjudged(ratio: f64, why: &str) -> Self {
        let conclusion = Conclusion::NotJudged { why: why.to_string() };
        let (grounds, method) = (RatioIntervals::default(), JudgingMethod::None);
        Self { ratio, interval: None, conclusion, grounds, method, independent: None, tail_s: None }
    }

    /// A ratio without an interval and without a verdict.
    #[must_use]
    pub fn plain(ratio: f64) -> Self {
        Self::unjudged(ratio, "")
    }
}

/// What is asked of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonQuestion {
    /// Up to which difference two figures are the same, a fraction.
    pub within: f64,
    /// The figure that was named beforehand as the one that decides; `None`: the usual one of such a load.
    pub primary: Option<&'static LoadMeasure>,
    /// How many figures are looked at, of which all together may give a false alarm in one of twenty comparisons (Bonferroni).
    pub tests: usize,
}

impl Default for ComparisonQuestion {
    fn default() -> Self {
        Self { within: 0.05, primary: None, tests: 1 }
    }
}

impl ComparisonQuestion {
    /// The quantile of Student's t that its intervals end at.
    fn level(&self) -> f64 {
        1.0 - 0.025 / self.tests.max(1) as f64
    }
}

/// How much a figure of two runs moved.
struct Spread {
    /// Variances by the cosines.
    variances: (f64, f64),
    /// The factor of the interval with them.
    factor: f64,
    /// Variances by autoregressions.
    ar: (f64, f64),
    /// The factor with these.
    ar_factor: f64,
}

/// Two loads, ready to be judged.
#[derive(Debug)]
pub struct LoadPair<'a> {
    question: ComparisonQuestion,
    is_paired: bool,
    rounds: Option<(Vec<&'a LoadRound>, Vec<&'a LoadRound>)>,
    single: (Cow<'a, LoadRound>, Cow<'a, LoadRound>),
    /// Rounds that were left out of each side, and what was wrong with the first of them.
    pub left_out: Option<(usize, String)>,
    /// What was wrong with the first of several rounds of which none is whole: nothing is judged.
    faulty: Option<String>,
    /// Independent stretches by the clocks.
    independent: [f64; 2],
}

/// All rounds of a side as one.
fn joined<'a>(rounds: &[&'a LoadRound]) -> Cow<'a, LoadRound> {
    match rounds {
        [one] => Cow::Borrowed(one),
        several => Cow::Owned(LoadRound::joined(several)),
    }
}

fn all(rounds: &[LoadRound]) -> Cow<'_, LoadRound> {
    joined(&rounds.iter().collect::<Vec<_>>())
}

impl<'a> LoadPair<'a> {
    /// By rounds where both sides have four or more sound ones, else as single runs.
    #[must_use]
    pub fn new(a: &'a [LoadRound], b: &'a [LoadRound], question: ComparisonQuestion) -> Self {
        let (good_a, good_b) = rounds::sound(a, b);
        let by_rounds = good_a.len() >= FEWEST && good_b.len() >= FEWEST;
        let left = (a.len() - good_a.len()).max(b.len() - good_b.len());
        let fault = a.iter().chain(b).find_map(|round| round.fault.clone());
        // A run by itself is judged as it is; of several, those that are sound, and nothing where none is.
        let are_several = a.len().max(b.len()) > 1;
        let has_sound = !good_a.is_empty() && !good_b.is_empty() && are_several;
        let faulty = fault.clone().filter(|_| are_several && !has_sound);
        let left_out = fault.filter(|_| has_sound).map(|fault| (left, fault));
        let nothing = || Cow::Owned(LoadRound::default());
        let (rounds, single) = match (by_rounds, has_sound) {
            (true, _) => (Some((good_a, good_b)), (nothing(), nothing())),
            (false, true) => (None, (joined(&good_a), joined(&good_b))),
            (false, false) => (None, (all(a), all(b))),
        };
        let independent = [TimeKind::Response, TimeKind::Service].map(|clock| independent(&single.0, &single.1, clock));
        Self { question, is_paired: false, rounds, single, left_out, faulty, independent }
    }

    /// A trace and its replay: what both do in the same second, as a burst, is no spread of their difference.
    #[must_use]
    pub fn paired(a: &'a LoadRound, b: &'a LoadRound, question: ComparisonQuestion) -> Self {
        let mut pair = Self::new(std::slice::from_ref(a), std::slice::from_ref(b), question);
        let (a_steps, b_steps) = (a.steps.len(), b.steps.len());
        // Seconds that do not correspond are not held against each other.
        pair.is_paired = a_steps.abs_diff(b_steps) <= a_steps.max(b_steps) / 20;
        if pair.is_paired {
            pair.independent = [TimeKind::Response, TimeKind::Service].map(|clock| independent_together(a, b, clock));
        }
        pair
    }

    /// Do the rounds of both sides alternate? `None` where they are not what is judged by.
    #[must_use]
    pub fn alternates(&self) -> Option<bool> {
        self.rounds.as_ref().map(|(a, b)| rounds::alternate(a, b))
    }

    /// Judges a figure; `None` where one side does not have it. `is_exact`: are both values known, rather than lower bounds?
    #[must_use]
    pub fn judge(&self, kind: MeasureKind, better: BetterDirection, is_exact: bool) -> Option<JudgedFigure> {
        let mut judged = match &self.rounds {
            Some((a, b)) => self.by_rounds(a, b, kind)?,
            None => self.by_seconds(kind)?,
        };
        if let Some(fault) = &self.faulty {
            judged = JudgedFigure::unjudged(judged.ratio, &format!("no round is without a fault: {fault}"));
        }
        if !is_exact {
            judged = JudgedFigure::unjudged(judged.ratio, "a lower bound: operations had no end");
        }
        if let Conclusion::Different { better: known } = &mut judged.conclusion {
            *known = match better {
                BetterDirection::More => Some(judged.ratio > 1.0),
                BetterDirection::Less => Some(judged.ratio < 1.0),
                BetterDirection::Neither => None,
            };
        }
        Some(judged)
    }

    fn by_rounds(&self, a: &[&LoadRound], b: &[&LoadRound], kind: MeasureKind) -> Option<JudgedFigure> {
        let count = a.len().min(b.len());
        let Some(found) = rounds::estimate(a, b, kind, self.question.level()) else {
            let (a, b) = (LoadRound::joined(a), LoadRound::joined(b));
            let ratio = (theta(&b, kind)? - theta(&a, kind)?).exp();
            return Some(JudgedFigure::unjudged(ratio, "too few operations above it"));
        };
        let ends = Some((found.interval.low.exp(), found.interval.high.exp()));
        let mut judged = JudgedFigure {
            ratio: found.d.exp(),
            interval: ends,
            conclusion: self.concluded(found.d, found.interval),
            grounds: RatioIntervals { difference: ends, sameness: ends },
            method: JudgingMethod::Rounds(count),
            independent: Some(count as f64),
            tail_s: None,
        };
        let measured = |rounds: &[&LoadRound]| rounds.iter().map(|round| round.measured_s()).sum::<f64>();
        let measured_s = measured(a).min(measured(b));
        if !(rounds::are_long(a) && rounds::are_long(b)) {
            let shortest = a.iter().chain(b).map(|round| round.measured_s()).fold(f64::INFINITY, f64::min);
            let why = format!("a round of {}; {SHORTEST_S:.0} s are needed", Unit::Seconds.format(Some(shortest)));
            judged.conclusion = Conclusion::NotResolved { needs_s: SHORTEST_S * count as f64, why };
            judged.grounds = RatioIntervals::default();
        } else if let Conclusion::NotResolved { needs_s, .. } = &mut judged.conclusion {
            *needs_s = self.wanted_s(measured_s, found.d, found.interval.half());
        }
        Some(judged)
    }

    /// What an interval says by itself.
    fn concluded(&self, d: f64, interval: LogInterval) -> Conclusion {
        let bound = self.question.within.ln_1p();
        if interval.excludes_zero() && d.abs() > SMALLEST.ln() {
            Conclusion::Different { better: None }
        } else if interval.low > -bound && interval.high < bound {
            Conclusion::Same { within: self.question.within }
        } else {
            Conclusion::NotResolved { needs_s: 0.0, why: String::new() }
        }
    }

    /// With how much measured time the half of an interval would be small enough for one verdict or the other, s.
    fn wanted_s(&self, measured_s: f64, d: f64, half: f64) -> f64 {
        let (to_differ, to_be_same) = (d.abs(), self.question.within.ln_1p() - d.abs());
        let to_differ = if to_differ > SMALLEST.ln() { to_differ } else { 0.0 };
        let target = to_differ.max(to_be_same).max(1e-3);
        // An eighth more: the interval's own length is a guess.
        measured_s * (1.125 * (half / target).powi(2)).max(1.125)
    }

    fn by_seconds(&self, kind: MeasureKind) -> Option<JudgedFigure> {
        let (a, b) = (self.single.0.as_ref(), self.single.1.as_ref());
        let d = theta(b, kind)? - theta(a, kind)?;
        let unjudged = |why: &str| Some(JudgedFigure::unjudged(d.exp(), why));
        let missing = |round: &LoadRound| round.missing_s / (round.missing_s + round.measured_s());
        let most = missing(a).max(missing(b));
        if most > MISSING {
            return unjudged(&format!("{:.0} % of the time is missing", 100.0 * most));
        }
        let (Some(series_a), Some(series_b)) = (series(a, kind), series(b, kind)) else {
            return unjudged("nothing is known of its seconds");
        };
        let measured_s = a.measured_s().min(b.measured_s());
        let independent = self.independent_by(kind);
        let method = if self.is_paired { JudgingMethod::Paired } else { JudgingMethod::Single };
        let mut judged = JudgedFigure { independent: Some(independent), method, ..JudgedFigure::plain(d.exp()) };
        if measured_s < SLIP * FLOOR_S {
            let why = format!("{} measured", Unit::Seconds.format(Some(measured_s)));
            judged.conclusion = Conclusion::NotResolved { needs_s: VERDICT_S, why };
            return Some(judged);
        }
        let spread = self.spread(&series_a, &series_b);
        let (variances, c) = (spread.variances, spread.factor);
        if let MeasureKind::Quantile(clock, p) = kind {
            let tails = (tail(a, clock, p), tail(b, clock, p));
            judged.tail_s = Some(tails.0.1.min(tails.1.1));
            if let Some(conclusion) = thin(measured_s, tails) {
                judged.conclusion = conclusion;
                return Some(judged);
            }
            let times = [(a, variances.0), (b, variances.1)].map(|(round, variance)| {
                let times = whole(round.times(clock));
                woodruff(&times, p, variance, c).is_some_and(|ends| is_between_modes(&times, ends))
            });
            if times.contains(&true) {
                judged.conclusion = Conclusion::NotJudged { why: "between two modes".to_string() };
                return Some(judged);
            }
        }
        let found = interval((a, b), kind, variances, c)?;
        judged.interval = Some((found.low.exp(), found.high.exp()));
        let doubted = (independent < INDEPENDENT).then(|| {
            let other = interval((a, b), kind, spread.ar, spread.ar_factor);
            DOUBT * found.half().max(other.map_or(f64::INFINITY, LogInterval::half))
        });
        judged.conclusion = self.of_single((d, found), measured_s, independent, doubted);
        judged.grounds = self.grounds((d, found), measured_s, doubted);
        if self.is_paired && !matches!(judged.conclusion, Conclusion::NotResolved { .. }) {
            judged.conclusion = Conclusion::NotJudged { why: "a trace beside its replay: not calibrated".to_string() };
        }
        Some(judged)
    }

    fn spread(&self, a: &[f64], b: &[f64]) -> Spread {
        let level = self.question.level();
        if self.is_paired {
            let difference = differences(a, b);
            let (half, ar) = (0.5 * variance(&difference), autoregression(&difference));
            return Spread {
                variances: (half, half),
                factor: student(level, f64::from(COSINES)),
                ar: (0.5 * ar.0, 0.5 * ar.0),
                ar_factor: student(level, ar.1),
            };
        }
        let variances = (variance(a), variance(b));
        let ar = (autoregression(a), autoregression(b));
        Spread {
            variances,
            factor: student(level, freedom(variances)),
            ar: (ar.0.0, ar.1.0),
            ar_factor: student(level, autoregression_freedom(ar)),
        }
    }

    /// What verdicts of two single runs may rest on; `doubted`: how much a difference must exceed where the gate says no.
    fn grounds(&self, (d, found): (f64, LogInterval), measured_s: f64, doubted: Option<f64>) -> RatioIntervals {
        if self.is_paired || measured_s < SLIP * VERDICT_S {
            return RatioIntervals::default();
        }
        let half = doubted.unwrap_or(0.0);
        let difference = Some((found.low.min(d - half).exp(), found.high.max(d + half).exp()));
        RatioIntervals { difference, sameness: difference.filter(|_| doubted.is_none()) }
    }

    /// The verdict of two single runs: of the interval, if they are long enough for their own slowness.
    fn of_single(
        &self,
        (d, found): (f64, LogInterval),
        measured_s: f64,
        independent: f64,
        doubted: Option<f64>,
    ) -> Conclusion {
        let is_slow = doubted.is_some();
        // Of an autoregression, 20 time constants are wanted; n stretches in T seconds say τ ≈ T ÷ 2n.
        let for_slowness_s = if is_slow { 10.0 * measured_s / independent.max(0.1) } else { 0.0 };
        let for_width_s = self.wanted_s(measured_s, d, found.half());
        let unresolved = |why: &str| Conclusion::NotResolved {
            needs_s: for_slowness_s.max(if is_slow { 0.0 } else { for_width_s }).max(VERDICT_S),
            why: why.to_string(),
        };
        if measured_s < SLIP * VERDICT_S {
            return unresolved(&format!("{} measured", Unit::Seconds.format(Some(measured_s))));
        }
        match self.concluded(d, found) {
            Conclusion::Different { .. } if doubted.is_some_and(|doubted| d.abs() <= doubted) => {
                unresolved("both move too slowly for their length")
            }
            Conclusion::Same { .. } if is_slow => unresolved("both move too slowly for their length"),
            Conclusion::NotResolved { .. } if is_slow => unresolved("both move too slowly for their length"),
            Conclusion::NotResolved { .. } => unresolved(""),
            other => other,
        }
    }

    fn independent_by(&self, kind: MeasureKind) -> f64 {
        match kind {
            MeasureKind::Mean(TimeKind::Service) | MeasureKind::Quantile(TimeKind::Service, _) => self.independent[1],
            MeasureKind::Mean(TimeKind::Response) | MeasureKind::Quantile(TimeKind::Response, _) => self.independent[0],
            // A rate has no clock: imports know the service time only.
            MeasureKind::Rate(_) | MeasureKind::Plain => {
                self.independent[usize::from(self.single.0.response.ended.count() == 0)]
            }
        }
    }
}

/// Step by step, over what both have.
fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| b - a).collect()
}

/// How many independent stretches the difference of a trace and its replay is worth.
fn independent_together(a: &LoadRound, b: &LoadRound, clock: TimeKind) -> f64 {
    let known = gate_figures(clock).into_iter().filter_map(|kind| Some((series(a, kind)?, series(b, kind)?)));
    let of = |(a, b): (Vec<f64>, Vec<f64>)| {
        let difference = differences(&a, &b);
        independent_of(&difference, &difference)
    };
    known.map(of).reduce(f64::min).unwrap_or(0.0)
}

/// Why a quantile has no verdict: too few operations above it, or these from too few seconds.
fn thin(measured_s: f64, ((above_a, tail_a), (above_b, tail_b)): ((f64, f64), (f64, f64))) -> Option<Conclusion> {
    let (above, tail_s) = (above_a.min(above_b), tail_a.min(tail_b));
    let more = |part: f64| (measured_s / part.max(0.01)).max(VERDICT_S);
    if above < ABOVE {
        let why = format!("{above:.0} operations above it; {ABOVE:.0} are needed");
        return Some(Conclusion::NotResolved { needs_s: more(above / ABOVE), why });
    }
    (tail_s < TAIL_S).then(|| Conclusion::NotResolved {
        needs_s: more(tail_s / TAIL_S),
        why: format!("the operations above it come from {tail_s:.1} s"),
    })
}

#[cfg(test)]
mod tests;
