//! Conditions on a comparison: `response_ns_p99 worse than 5 %`, `iops changed`, `iops{run=rd1} not same within 5 %`.
//!
//! They ask for what a comparison can say: a verdict, which rests on an interval. A number beside a sign would ask for the ratio alone,
//! which moves between equal loads.

use super::SelectableNames;
use super::parse::{ConditionError, Over, Parser, error};
use super::syntax::fits;
use super::token::Kind;
use quantity::suggest::{by_distance, question};
use rates::measure::{self, BetterDirection, LoadMeasure, MEASURES, measure_of};

/// What such a condition looks like.
const EXAMPLES: &str = "`response_ns_p99 worse than 5%`, `iops changed`, `iops not same within 5%`";

/// What must not be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ComparedDemand {
    /// That it is surely worse, by more than this part; 0: by whatever counts as a difference.
    Worse(f64),
    /// That it surely changed, whichever way.
    Changed,
    /// That it is not surely the same within this part.
    NotSame(f64),
}

/// A condition on recordings side by side that was read and can be judged.
#[derive(Clone, Debug)]
pub struct ComparedCondition {
    text: String,
    /// As written, with its labels.
    measured: String,
    measure: &'static LoadMeasure,
    demand: ComparedDemand,
    /// The runs that it is about; all must fit.
    runs: Vec<String>,
    named: Vec<(&'static str, String, usize, usize)>,
}

impl ComparedCondition {
    /// Reads a condition on a comparison.
    ///
    /// # Errors
    /// The first mistake, with its place and what to do.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let mut parser = Parser::new(text, Over::Comparison)?;
        let token = parser.peek().clone();
        let Kind::Word(word) = &token.kind else {
            let message = format!("expected the name of a figure, found {}", parser.shown());
            return Err(parser.wrong(message, format!("a condition on a comparison looks like {EXAMPLES}")));
        };
        parser.next();
        let measure = measure_named(word, (token.start, token.end))?;
        if parser.take(&["{"]).is_some() {
            parser.selector(word, true)?;
        }
        let measured = text[token.start..parser.behind()].to_string();
        let demand = demand(&mut parser, measure)?;
        if parser.peek().kind != Kind::End {
            let help = match &parser.peek().kind {
                Kind::Word(word) if ["and", "or"].contains(&word.as_str()) => {
                    "one verdict each: give --fail-if several times".to_string()
                }
                _ => format!("a condition on a comparison looks like {EXAMPLES}"),
            };
            return Err(parser.wrong(format!("did not expect {}", parser.shown()), help));
        }
        let (runs, named) = (std::mem::take(&mut parser.runs), std::mem::take(&mut parser.named));
        Ok(Self { text: text.trim().to_string(), measured, measure, demand, runs, named })
    }

    /// As written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The figure as written, with its labels.
    pub fn measured(&self) -> &str {
        &self.measured
    }

    /// The figure.
    pub fn measure(&self) -> &'static LoadMeasure {
        self.measure
    }

    /// What must not be.
    pub fn demand(&self) -> ComparedDemand {
        self.demand
    }

    /// Is it about the runs of this name (with their loop variables) and place?
    pub fn is_about(&self, name: &str, place: usize) -> bool {
        self.runs.iter().all(|wanted| is_of(wanted, name) || wanted.parse() == Ok(place))
    }

    /// Looks for labels that name none of the runs that are compared.
    ///
    /// # Errors
    /// The first of them, with its place and the nearest name that there is.
    pub fn check_names(&self, known: &SelectableNames) -> Result<(), ConditionError> {
        for (_, value, start, len) in &self.named {
            let is_number = value.parse::<usize>().is_ok_and(|number| number < known.runs.len());
            if is_number || known.runs.iter().any(|name| is_of(value, name)) {
                continue;
            }
            let near = by_distance(value, known.runs.iter().map(String::as_str));
            let help = near.first().map_or(String::new(), |name| format!("{} a name may end in `*`", question(name)));
            return Err(error((*start, start + len), format!("there is no run `{value}`"), help));
        }
        Ok(())
    }
}

/// Is it the name of these runs, with or without their loop variables? Single runs of several names are joined by a slash.
fn is_of(wanted: &str, name: &str) -> bool {
    let is_one = |name: &str| fits(wanted, name) || name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(' '));
    is_one(name) || name.split(" / ").any(is_one)
}

/// A figure that is judged.
fn measure_named(word: &str, at: (usize, usize)) -> Result<&'static LoadMeasure, ConditionError> {
    let judged = || MEASURES.iter().filter(|measure| measure.kind != measure::MeasureKind::Plain);
    match measure_of(word) {
        Some(measure) if measure.kind != measure::MeasureKind::Plain => Ok(measure),
        Some(measure) => {
            let message = format!("`{word}` has no interval in a comparison, so nothing can be said of its difference");
            let near = if measure.key.contains("_ns_") {
                "response_ns_p99 and response_ns_p999 have"
            } else {
                "rates and times have"
            };
            Err(error(at, message, near))
        }
        None => {
            let all: Vec<&str> = judged().map(|measure| measure.key).collect();
            let near = by_distance(word, all.iter().copied()).first().copied().unwrap_or("iops");
            let help = format!("{} there are {}", question(near), all.join(", "));
            Err(error(at, format!("no figure `{word}` is compared"), help))
        }
    }
}

fn demand(parser: &mut Parser<'_>, measure: &LoadMeasure) -> Result<ComparedDemand, ConditionError> {
    if parser.take_word("changed") {
        return Ok(ComparedDemand::Changed);
    }
    if parser.take_word("worse") {
        if !parser.take_word("than") {
            return Ok(ComparedDemand::Worse(0.0));
        }
        // A rate cannot fall by more than all of it.
        let most = if measure.better == BetterDirection::More { 99.0 } else { 1000.0 };
        return Ok(ComparedDemand::Worse(share(parser, most)?));
    }
    if parser.take_word("not") {
        if !parser.take_word("same") {
            return Err(
                parser.wrong(format!("expected `same`, found {}", parser.shown()), "write `not same within 5%`")
            );
        }
        if !parser.take_word("within") {
            let help = "no two runs are equal: write `not same within 5%`";
            return Err(parser.wrong(format!("expected `within`, found {}", parser.shown()), help));
        }
        return Ok(ComparedDemand::NotSame(share(parser, 100.0)?));
    }
    let message = format!("expected `worse`, `changed` or `not same within`, found {}", parser.shown());
    let help = match parser.peek().kind {
        Kind::Sign(_) => {
            format!("a comparison has verdicts: {EXAMPLES}; `iodyno check` judges the figures of one recording")
        }
        _ => format!("write {EXAMPLES}"),
    };
    Err(parser.wrong(message, help))
}

/// `5%` as a fraction, more than 0 and at most `most` per cent.
fn share(parser: &mut Parser<'_>, most: f64) -> Result<f64, ConditionError> {
    let token = parser.peek().clone();
    let at = (token.start, token.end);
    match &token.kind {
        Kind::Number(value, unit) if unit == "%" && *value > 0.0 && *value <= most => {
            parser.next();
            Ok(value / 100.0)
        }
        Kind::Number(_, unit) if unit == "%" => Err(error(
            at,
            format!("`{}` is out of range", &parser.text[at.0..at.1]),
            format!("more than 0% and at most {most}%"),
        )),
        Kind::Number(value, unit) if unit.is_empty() => {
            Err(error(at, format!("`{value}` needs a unit here"), format!("write `{value}%`")))
        }
        _ => Err(parser.wrong(format!("expected per cent, found {}", parser.shown()), "write `5%`")),
    }
}

#[cfg(test)]
mod tests {
    use super::{ComparedCondition, ComparedDemand};
    use crate::SelectableNames;

    #[test]
    fn conditions_on_a_comparison_are_read() {
        for (text, key, demand) in [
            ("iops worse", "iops", ComparedDemand::Worse(0.0)),
            ("achieved worse than 5%", "iops", ComparedDemand::Worse(0.05)),
            ("response_ns_p99 worse than 2.5 %", "response_ns_p99", ComparedDemand::Worse(0.025)),
            ("throughput changed", "bytes_per_s", ComparedDemand::Changed),
            ("  service_ns_mean{run=rd1, } NOT same WITHIN 3 % ", "service_ns_mean", ComparedDemand::NotSame(0.03)),
        ] {
            let condition = ComparedCondition::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
            assert_eq!((condition.measure().key, condition.demand()), (key, demand), "{text}");
            assert_eq!(condition.text(), text.trim());
        }
    }

    #[test]
    fn labels_choose_runs_by_name_and_by_number() {
        let of = |label: &str| ComparedCondition::parse(&format!("iops{{run={label}}} changed")).unwrap();
        let names = SelectableNames {
            runs: vec!["rd1 threads=2".to_string(), "a / b".to_string()],
            ..SelectableNames::default()
        };
        for (label, first, second) in [
            ("rd1", true, false),
            ("rd1*", true, false),
            ("'rd1 threads=2'", true, false),
            ("b", false, true),
            ("1", false, true),
        ] {
            let condition = of(label);
            assert_eq!(
                (condition.is_about(&names.runs[0], 0), condition.is_about(&names.runs[1], 1)),
                (first, second),
                "{label}"
            );
            condition.check_names(&names).unwrap();
        }
        for label in ["rd", "rd2", "2"] {
            let error = of(label).check_names(&names).unwrap_err();
            assert_eq!((error.start, error.message), (9, format!("there is no run `{label}`")));
        }
        assert!(ComparedCondition::parse("iops changed").unwrap().is_about("anything", 7));
    }

    #[test]
    fn mistakes_are_shown_at_their_place() {
        for (text, start, words) in [
            ("", 0, "expected the name of a figure"),
            ("iops", 4, "expected `worse`, `changed`"),
            ("iops < 500", 5, "expected `worse`, `changed`"),
            ("iops worse than 5", 16, "needs a unit"),
            ("iops worse than 100%", 16, "out of range"),
            ("iops not same", 13, "expected `within`"),
            ("iops worse and iops changed", 11, "did not expect `and`"),
            ("response_ns_max worse", 0, "has no interval"),
            ("response_ns_p98 worse", 0, "no figure `response_ns_p98`"),
            ("iops{op=read} worse", 5, "there is no label `op`"),
        ] {
            let error = ComparedCondition::parse(text).unwrap_err();
            assert!(error.start == start && error.message.contains(words), "{text}: {error:?}");
            assert!(error.help.is_some(), "{text}");
        }
    }
}
