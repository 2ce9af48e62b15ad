//! `iodyno compare`, and what `ab` has in common with it.

use crate::exit::{Failure, OBJECTIVE, PARAMETERS};
use crate::objectives;
use crate::open::{Lack, lack_of};
use crate::output_args::tell;
use crate::view_args::{CompareArgs, JudgeArgs, QuestionArgs};
use ::objectives::{ComparedCondition, ConditionError, SelectableNames};
use output::OverwritePolicy;
use plan::{Objective, TextSpan};
use session::{JunitCase, JunitSuite};
use std::path::PathBuf;
use views::{Comparison, ComparisonQuestion};

/// Compares recordings; gives the exit code.
pub(crate) fn run(args: &CompareArgs) -> Result<u8, Failure> {
    let question = question(&args.question)?;
    let conditions = conditions(&args.judge)?;
    let directories: Vec<PathBuf> = std::iter::once(&args.first).chain(&args.others).cloned().collect();
    let parts = recordings(&directories)?;
    if parts.len() == 1 {
        let message = format!("{} is one recording: name another one to compare it with", args.first.display());
        return Err(Failure::new(PARAMETERS, message));
    }
    let lack = lack_of(parts.iter().map(PathBuf::as_path))?;
    let mut comparison = show(&directories, args.run.as_deref(), question, &args.judge)?;
    let code = judge(&mut comparison, (&args.judge, args.force.force()), &conditions, (&lack, None))?;
    // The page tells what came of the conditions as well.
    if let Some(path) = &args.output {
        session::comparison_file(&comparison, path, args.force.force())?;
        if !args.judge.json {
            outln!("");
            tell(path);
        }
    }
    Ok(code)
}

/// Compares, and shows the tables, or JSON.
pub(crate) fn show(
    directories: &[PathBuf],
    run: Option<&str>,
    question: ComparisonQuestion,
    judge: &JudgeArgs,
) -> Result<Comparison, Failure> {
    let mut comparison = session::comparison(directories, run)?;
    comparison.ask(question);
    if judge.json {
        comparison.differences().iter().for_each(|line| crate::out::json(session::json_difference(line)));
    } else {
        let look = session::terminal_look();
        session::comparison_lines(&comparison, look.width).iter().for_each(|line| crate::out::painted(line, look));
    }
    Ok(comparison)
}

/// Judges conditions, says what came of them and writes the JUnit file; gives the exit code. Of recordings that `lack` rows
/// nothing is judged; `trouble` is how making them went wrong, and a failure in the file.
pub(crate) fn judge(
    comparison: &mut Comparison,
    (args, force): (&JudgeArgs, OverwritePolicy),
    conditions: &[ComparedCondition],
    (lack, trouble): (&Lack, Option<&str>),
) -> Result<u8, Failure> {
    let name = comparison.labels().join(" | ");
    let write = |mut suite: JunitSuite| {
        suite.cases.extend(trouble.map(|words| JunitCase::command_ended("error", words)));
        args.junit.as_deref().map_or(Ok(()), |path| session::junit_file(&[suite], path, force))
    };
    if conditions.is_empty() || lack.is_some() {
        if !conditions.is_empty() {
            say!("iodyno: nothing is judged, because rows are missing");
        }
        // What an earlier comparison left there must not be read as what came of this one.
        let texts: Vec<String> = conditions.iter().map(|condition| condition.text().to_string()).collect();
        write(JunitSuite::not_judged(&name, &texts, &lack.why()))?;
        return Ok(lack.code);
    }
    check_names(conditions, &comparison.names())?;
    let verdicts = comparison.judge(conditions);
    if !args.json {
        outln!("");
    }
    let failed = objectives::tell("", args.json, verdicts);
    let texts: Vec<&str> = conditions.iter().map(ComparedCondition::text).collect();
    let silent = objectives::never_judged(verdicts, &texts);
    silent.iter().for_each(|text| say!("iodyno: {}", session::never_judged(text)));
    write(JunitSuite::new(&name, comparison.objectives(), &silent))?;
    Ok(if failed || !silent.is_empty() { OBJECTIVE } else { 0 })
}

/// The conditions that were given, or the mistake in the first wrong one.
pub(crate) fn conditions(args: &JudgeArgs) -> Result<Vec<ComparedCondition>, Failure> {
    let read = |text: &String| {
        ComparedCondition::parse(text)
            .map_err(|error| mistake(text, &error, "a mistake in a condition; nothing was compared"))
    };
    args.fail_if.iter().map(read).collect()
}

/// Labels that name none of the runs are mistakes.
pub(crate) fn check_names(conditions: &[ComparedCondition], known: &SelectableNames) -> Result<(), Failure> {
    conditions.iter().try_for_each(|condition| {
        let named = condition.check_names(known);
        named.map_err(|error| mistake(condition.text(), &error, "no run of that name is compared"))
    })
}

/// Shows a mistake in a condition of the command line with its place.
fn mistake(text: &str, error: &ConditionError, words: &str) -> Failure {
    let span = TextSpan { source: 0, start: 0, len: u32::try_from(text.len()).unwrap_or(u32::MAX) };
    objectives::show(&[objectives::source(text)], &Objective { text: text.to_string(), span }, error);
    Failure::new(PARAMETERS, words)
}

/// The recordings that are read of these directories: of one of `iodyno ab` its half-rounds.
pub(crate) fn recordings(directories: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for directory in directories {
        let halves = session::half_rounds(directory)?;
        if halves.is_empty() { all.push(directory.clone()) } else { all.extend(halves) }
    }
    Ok(all)
}

/// What was asked, or the mistake in it.
pub(crate) fn question(args: &QuestionArgs) -> Result<ComparisonQuestion, Failure> {
    let number = args.within.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    let within = number.filter(|percent| (0.1..=100.0).contains(percent)).ok_or_else(|| {
        Failure::new(PARAMETERS, format!("--within {}: give per cent between 0.1 and 100, as 5%", args.within))
    })?;
    let primary = args.primary.as_ref().map(|name| {
        let known =
            rates::measure::measure_of(name).filter(|measure| measure.kind != views::calibration::MeasureKind::Plain);
        known.ok_or_else(|| {
            let help = "iops, bytes_per_s, response_ns_ or service_ns_ and mean, p50, p90, p99 or p999";
            Failure::new(PARAMETERS, format!("--primary {name}: no such figure is judged; there are {help}"))
        })
    });
    Ok(ComparisonQuestion { within: within / 100.0, primary: primary.transpose()?, ..ComparisonQuestion::default() })
}
