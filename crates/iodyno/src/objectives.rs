//! Conditions of the command line and of parameter files: read before any I/O, their mistakes shown with their place.

use crate::exit::{Failure, PARAMETERS};
use objectives::{ConditionError, Judgement, ObjectiveVerdict};
use params::{Diagnostic, DiagnosticSeverity};
use plan::{Objective, ParameterText, Plan, TextSpan};

/// Said where conditions meet commands without any I/O.
pub(crate) const OF_COMMANDS: &str = "conditions (--fail-if) judge I/O, and there are commands only: a failed execution \
                                      ends with exit code 3 by itself, and `iodyno compare` judges times";

/// Adds conditions of the command line to what every run must achieve.
pub(crate) fn add(plan: &mut Plan, conditions: &[String]) {
    for text in conditions {
        let source = source(text);
        let span = TextSpan { source: index(plan.sources.len()), start: 0, len: index(text.len()) };
        plan.sources.push(source);
        plan.objectives.push(Objective { text: text.clone(), span });
    }
}

/// A condition of the command line as a parameter text.
pub(crate) fn source(text: &str) -> ParameterText {
    ParameterText { name: "<--fail-if>".to_string(), text: text.to_string() }
}

/// Shows every mistake in the objectives of a plan.
///
/// # Errors
/// There is one; nothing may be run.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    let mistakes = session::objective_mistakes(plan);
    for (objective, error) in &mistakes {
        show(&plan.sources, objective, error);
    }
    if mistakes.is_empty() {
        return Ok(());
    }
    Err(Failure::new(PARAMETERS, format!("{} mistake(s) in the objectives; nothing was run", mistakes.len())))
}

/// Shows a mistake with its line and column.
pub(crate) fn show(sources: &[ParameterText], objective: &Objective, error: &ConditionError) {
    let span = place(sources, objective, error);
    let mut found = Diagnostic::new(DiagnosticSeverity::Error, "fail-if", span, error.message.clone());
    found.help.clone_from(&error.help);
    say_lines!("{}", params::render(&found, sources));
}

/// Where in the parameter text a mistake is; all of the condition when quotes or variables have changed it.
fn place(sources: &[ParameterText], objective: &Objective, error: &ConditionError) -> TextSpan {
    let span = objective.span;
    let text = usize::try_from(span.source).ok().and_then(|index| sources.get(index)).map_or("", |source| &source.text);
    let (start, len) = (span.start as usize, span.len as usize);
    let written = start.checked_add(len).and_then(|end| text.get(start..end)).unwrap_or("");
    match written.find(&objective.text) {
        Some(at) if !objective.text.is_empty() => {
            TextSpan { start: span.start + index(at + error.start), len: index(error.len), ..span }
        }
        _ => span,
    }
}

fn index(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The conditions of a plan, each once or more.
pub(crate) fn texts(plan: &Plan) -> Vec<&str> {
    let all = plan.objectives.iter().chain(plan.runs.iter().flat_map(|run| &run.objectives));
    all.map(|objective| objective.text.trim()).collect()
}

/// Says verdicts, as JSON or in sentences that begin with `prefix`: those that fail on standard error. Did one fail?
pub(crate) fn tell(prefix: &str, is_json: bool, verdicts: &[ObjectiveVerdict]) -> bool {
    for verdict in verdicts {
        if is_json {
            crate::out::json(session::json_verdict(verdict));
        } else if verdict.judgement.fails() {
            say!("iodyno: {prefix}{}", verdict.summary());
        } else {
            outln!("{prefix}{}", verdict.summary());
        }
    }
    verdicts.iter().any(|verdict| verdict.judgement.fails())
}

/// The conditions among these that were judged in no run, each once.
pub(crate) fn never_judged(verdicts: &[ObjectiveVerdict], texts: &[&str]) -> Vec<String> {
    let judged = |text: &str| {
        verdicts.iter().any(|verdict| verdict.condition == text && verdict.judgement != Judgement::Unknown)
    };
    let mut silent: Vec<String> = texts.iter().filter(|text| !judged(text)).map(|text| (*text).to_string()).collect();
    silent.sort_unstable();
    silent.dedup();
    silent
}
