//! Conditions on a comparison, judged.
//!
//! Each rests on an interval: `worse` and `changed` come true only where all of it lies beyond the bound, `not same within` fails to
//! come true only where all of it lies within. What is in between is *met* of the former, which look for harm that is sure, and
//! *undecided* of the latter, which asks for a proof.

use super::conclusion::{ComparisonQuestion, Conclusion, JudgedFigure};
use super::failures::why_unknown;
use super::words::{change, interval, length, percent, times};
use super::{Comparison, Load, figure, is_replay_of, pair_of};
use objectives::{ComparedCondition, ComparedDemand, ComparedRecordings};
use objectives::{Judgement, ObjectiveVerdict, SelectableNames, VerdictEvidence};
use rates::measure::{BetterDirection, LoadMeasure};

impl Comparison {
    /// What the labels of conditions may name.
    #[must_use]
    pub fn names(&self) -> SelectableNames {
        SelectableNames { runs: self.pairs.clone(), ..SelectableNames::default() }
    }

    /// Judges conditions, each of every other recording in every run that it is about, and remembers what came of them for the page.
    ///
    /// Of those that would fail by a false alarm (`worse`, `changed`), all together give one in one of twenty comparisons of equal
    /// loads: with several, their intervals are wider than those of the tables (Bonferroni).
    pub fn judge(&mut self, conditions: &[ComparedCondition]) -> &[ObjectiveVerdict] {
        let mut wanted = Vec::new();
        for condition in conditions {
            let pairs = (0..self.pairs.len()).filter(|pair| condition.is_about(self.pair_name(*pair), *pair));
            wanted.extend(pairs.flat_map(|pair| (1..self.sides.len()).map(move |side| (condition, side, pair))));
        }
        let is_alarm = |condition: &ComparedCondition| !matches!(condition.demand(), ComparedDemand::NotSame(_));
        let alarms = wanted
            .iter()
            .filter(|(condition, side, pair)| is_alarm(condition) && self.is_judged(*side, *pair, condition.measure()));
        let tests = alarms.count().max(1);
        let judged = |(condition, side, pair): (&ComparedCondition, usize, usize)| {
            let tests = if is_alarm(condition) { tests } else { 1 };
            let judged = self.judged_as_one_of(tests, side, pair, condition.measure());
            self.verdict((condition, side, pair), judged.as_ref(), tests)
        };
        let verdicts: Vec<ObjectiveVerdict> = wanted.into_iter().map(judged).collect();
        self.objectives = verdicts;
        &self.objectives
    }

    /// What came of the conditions that were judged last.
    #[must_use]
    pub fn objectives(&self) -> &[ObjectiveVerdict] {
        &self.objectives
    }

    /// Short names of the recordings.
    #[must_use]
    pub fn labels(&self) -> Vec<&str> {
        self.sides.iter().map(|side| side.label.as_str()).collect()
    }

    fn is_judged(&self, side: usize, pair: usize, measure: &LoadMeasure) -> bool {
        self.judged(side, pair, measure).is_some_and(|judged| judged.grounds.difference.is_some())
    }

    /// A figure whose interval is as wide as that of one among so many.
    fn judged_as_one_of(&self, tests: usize, side: usize, pair: usize, measure: &LoadMeasure) -> Option<JudgedFigure> {
        let usual = self.judged(side, pair, measure)?;
        if tests == self.question.tests || usual.grounds.difference.is_none() {
            return Some(usual.clone());
        }
        let (first, other) = (self.sides.first()?, self.sides.get(side)?);
        let (base, load) = (first.loads.get(pair)?.as_ref()?, other.loads.get(pair)?.as_ref()?);
        let question = ComparisonQuestion { tests, ..self.question };
        let judges = pair_of(base, load, question, self.traced && is_replay_of(first, other));
        figure(&judges, (base, load), (&base.whole(), &load.whole()), measure)
    }

    fn verdict(
        &self,
        (condition, side, pair): (&ComparedCondition, usize, usize),
        judged: Option<&JudgedFigure>,
        tests: usize,
    ) -> ObjectiveVerdict {
        let measure = condition.measure();
        let found = judged.map_or(Judgement::Unknown, |judged| judgement(condition.demand(), measure, judged));
        let load = |side: usize| self.sides.get(side)?.loads.get(pair)?.as_ref();
        let is_empty = |load: Option<&Load>| load.is_some_and(|load| load.succeeded() == 0.0);
        let has_both = load(0).is_some() && load(side).is_some();
        // A run in which nothing succeeded must not pass for want of figures.
        let judgement = match found {
            Judgement::Unknown if has_both && (is_empty(load(0)) || is_empty(load(side))) => Judgement::Undecided,
            other => other,
        };
        let (label, base) = (self.label(side), self.label(0));
        let sentence = match judged {
            None => {
                let hint = match measure.key.strip_prefix("response_") {
                    Some(rest) if self.judged(side, pair, measure.by_service()).is_some() => {
                        format!("; service_{rest} is")
                    }
                    _ => String::new(),
                };
                format!("{}{hint}", why_unknown(self, (side, pair), measure))
            }
            Some(judged) => {
                let size = size(measure, (label, base), judged.ratio);
                format!("{size}{}{}", within(judged, tests), conclusion(condition.demand(), found, judged))
            }
        };
        let text = judged.map_or("?".to_string(), |judged| {
            let ends = interval(Some(judged));
            let ends = if ends.is_empty() { ends } else { format!(" ({ends})") };
            match judged.ratio.is_finite() {
                true => format!("{:.3} ×{ends}", judged.ratio),
                false => change(judged.ratio),
            }
        });
        let evidence = VerdictEvidence {
            measure: condition.measured().to_string(),
            value: judged.map(|judged| judged.ratio).filter(|ratio| ratio.is_finite()),
            at_least: false,
            text,
        };
        ObjectiveVerdict {
            condition: condition.text().to_string(),
            run: self.pair_name(pair).to_string(),
            run_index: i32::try_from(pair).unwrap_or(i32::MAX),
            detail: String::new(),
            judgement,
            sentence,
            evidence: vec![evidence],
            held_s: None,
            compared: Some(ComparedRecordings { recording: label.to_string(), against: base.to_string() }),
        }
    }
}

/// `IOPS of tuesday is 5.1 % higher than that of monday`.
fn size(measure: &LoadMeasure, (label, base): (&str, &str), ratio: f64) -> String {
    if ratio == 0.0 {
        return format!("{} of {label} is 0, that of {base} is not", measure.title);
    }
    if ratio.is_infinite() {
        return format!("{} of {label} is not 0, that of {base} is", measure.title);
    }
    match times(ratio) {
        Some(times) => format!("{} of {label} is {times} times that of {base}", measure.title),
        None => format!("{} of {label} is {} than that of {base}", measure.title, change(ratio)),
    }
}

fn within(judged: &JudgedFigure, tests: usize) -> String {
    let ends = interval(Some(judged));
    let of = if tests > 1 { format!(" for {tests} verdicts together") } else { String::new() };
    match ends.is_empty() {
        true if judged.ratio == 0.0 || judged.ratio.is_infinite() => String::new(),
        true => format!(" (ratio {:.3})", judged.ratio),
        false => format!(" (ratio {:.3}, 95 % interval{of} {ends})", judged.ratio),
    }
}

/// What comes of a demand.
fn judgement(demand: ComparedDemand, measure: &LoadMeasure, judged: &JudgedFigure) -> Judgement {
    match demand {
        ComparedDemand::Worse(bound) => {
            let Some((low, high)) = judged.grounds.difference else { return Judgement::Unknown };
            let is_beyond = match measure.better {
                BetterDirection::More => high < 1.0 - bound,
                BetterDirection::Less | BetterDirection::Neither => low > 1.0 + bound,
            };
            let is_worse = matches!(judged.conclusion, Conclusion::Different { better: Some(false) });
            if is_worse && is_beyond { Judgement::Missed } else { Judgement::Met }
        }
        ComparedDemand::Changed => match judged.conclusion {
            _ if judged.grounds.difference.is_none() => Judgement::Unknown,
            Conclusion::Different { .. } => Judgement::Missed,
            _ => Judgement::Met,
        },
        ComparedDemand::NotSame(bound) => {
            // Like the bound of the tables, the same way up and down.
            let (least, most) = (1.0 / (1.0 + bound), 1.0 + bound);
            let grounds = judged.grounds;
            match judged.conclusion {
                Conclusion::NotJudged { .. } => Judgement::Unknown,
                _ if grounds.sameness.is_some_and(|(low, high)| low > least && high < most) => Judgement::Met,
                _ if grounds.difference.is_some_and(|(low, high)| low > most || high < least) => Judgement::Missed,
                _ => Judgement::Undecided,
            }
        }
    }
}

/// What a judgement says, behind the figure.
fn conclusion(demand: ComparedDemand, judgement: Judgement, judged: &JudgedFigure) -> String {
    let (needs, why) = match &judged.conclusion {
        Conclusion::NotResolved { needs_s, why } => (format!("that would take {}", length(*needs_s)), why.as_str()),
        Conclusion::NotJudged { why } => (String::new(), why.as_str()),
        _ => (String::new(), ""),
    };
    let joined = |first: &str| {
        let parts = [first, why, needs.as_str()].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<&str>>().join(", ")
    };
    let is_better = matches!(judged.conclusion, Conclusion::Different { better: Some(true) });
    let sure = if judgement == Judgement::Missed { "surely" } else { "not surely" };
    match (demand, judgement) {
        (_, Judgement::Unknown) => joined(": not judged"),
        (ComparedDemand::Worse(_), _) if is_better => ", surely better".to_string(),
        (ComparedDemand::Worse(bound), _) if bound > 0.0 => format!(", {sure} more than {} worse", percent(bound)),
        (ComparedDemand::Worse(_), _) => format!(", {sure} worse"),
        (ComparedDemand::Changed, _) => format!(", {sure} different"),
        (ComparedDemand::NotSame(bound), Judgement::Met) => format!(", surely the same within {}", percent(bound)),
        (ComparedDemand::NotSame(bound), Judgement::Missed) => format!(", surely more than {} apart", percent(bound)),
        (ComparedDemand::NotSame(bound), Judgement::Undecided) => {
            joined(&format!(": whether it is the same within {} is not resolved", percent(bound)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::conclusion::RatioIntervals;
    use rates::measure::measure_of;

    /// A figure with such an interval, which was long enough, or too slow for its length.
    fn figure(low: f64, high: f64, is_slow: bool) -> JudgedFigure {
        let ratio = (low * high).sqrt();
        let wide = (ratio * (low / ratio).powi(4), ratio * (high / ratio).powi(4));
        let grounds = match is_slow {
            true => RatioIntervals { difference: Some(wide), sameness: None },
            false => RatioIntervals { difference: Some((low, high)), sameness: Some((low, high)) },
        };
        let differs =
            grounds.difference.is_some_and(|(low, high)| low > 1.0 || high < 1.0) && (ratio - 1.0).abs() > 0.01;
        let conclusion = match differs {
            true => Conclusion::Different { better: Some(ratio < 1.0) },
            false => Conclusion::NotResolved { needs_s: 500.0, why: String::new() },
        };
        JudgedFigure { interval: Some((low, high)), grounds, conclusion, ..JudgedFigure::plain(ratio) }
    }

    #[test]
    fn a_condition_comes_true_only_where_all_of_the_interval_does() {
        use Judgement::{Met, Missed, Undecided};
        let time = measure_of("response_ns_p99").unwrap();
        // By the interval: worse · worse than 5 % · changed · not same within 5 %.
        for (low, high, is_slow, expected) in [
            (0.99, 1.02, false, [Met, Met, Met, Met]),
            (1.01, 1.08, false, [Missed, Met, Missed, Undecided]),
            (1.011, 1.03, false, [Missed, Met, Missed, Met]),
            (1.06, 1.12, false, [Missed, Missed, Missed, Missed]),
            (0.80, 0.90, false, [Met, Met, Missed, Missed]),
            (0.80, 1.20, false, [Met, Met, Met, Undecided]),
            // Slow: four times as far, and never the same.
            (0.99, 1.02, true, [Met, Met, Met, Undecided]),
            (1.06, 1.12, true, [Met, Met, Met, Undecided]),
            (1.48, 1.52, true, [Missed, Missed, Missed, Missed]),
        ] {
            let figure = figure(low, high, is_slow);
            let demands = [
                ComparedDemand::Worse(0.0),
                ComparedDemand::Worse(0.05),
                ComparedDemand::Changed,
                ComparedDemand::NotSame(0.05),
            ];
            let found = demands.map(|demand| judgement(demand, time, &figure));
            assert_eq!(found, expected, "{low} – {high}, slow: {is_slow}");
        }
    }

    #[test]
    fn less_of_a_rate_is_worse_and_a_percentage_is_that_of_the_first() {
        let rate = measure_of("iops").unwrap();
        let mut fewer = figure(0.94, 0.949, false);
        fewer.conclusion = Conclusion::Different { better: Some(false) };
        assert_eq!(judgement(ComparedDemand::Worse(0.05), rate, &fewer), Judgement::Missed);
        let mut little = figure(0.945, 0.951, false);
        little.conclusion = Conclusion::Different { better: Some(false) };
        assert_eq!(judgement(ComparedDemand::Worse(0.05), rate, &little), Judgement::Met);
        let mut more = figure(1.2, 1.3, false);
        more.conclusion = Conclusion::Different { better: Some(true) };
        assert_eq!(judgement(ComparedDemand::Worse(0.0), rate, &more), Judgement::Met);
    }

    #[test]
    fn what_was_too_short_is_not_judged_by_an_alarm_and_undecided_by_a_proof() {
        let time = measure_of("response_ns_mean").unwrap();
        let short = JudgedFigure {
            conclusion: Conclusion::NotResolved { needs_s: 120.0, why: "6.00 s measured".to_string() },
            ..JudgedFigure::plain(2.0)
        };
        let of = |demand| judgement(demand, time, &short);
        assert_eq!(
            (of(ComparedDemand::Worse(0.0)), of(ComparedDemand::Changed)),
            (Judgement::Unknown, Judgement::Unknown)
        );
        assert_eq!(of(ComparedDemand::NotSame(0.05)), Judgement::Undecided);
        let words = conclusion(ComparedDemand::Worse(0.0), Judgement::Unknown, &short);
        assert_eq!(words, ": not judged, 6.00 s measured, that would take 120 s");
        // A lower bound, a percentile between two modes: not judged at all.
        assert_eq!(judgement(ComparedDemand::NotSame(0.05), time, &JudgedFigure::plain(1.0)), Judgement::Unknown);
    }
}
