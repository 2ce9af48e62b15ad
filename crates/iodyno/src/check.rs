//! `iodyno check`.

use crate::args::CheckArgs;
use crate::exit::{DATA, Failure, OBJECTIVE, PARAMETERS, RECORDING};
use crate::objectives;
use crate::open::{over, verified_in_words};
use ::objectives::{Condition, ObjectiveVerdict};
use output::OverwritePolicy;
use plan::{Objective, TextSpan};
use rates::DataFigures;
use recording::rows::{CommandExecution, DataCheck, OpInterval, Phase, RunTotal};
use recording::{Reader, RecordingExit};
use session::{JunitCase, JunitSuite};

/// Judges recordings; gives the exit code.
pub(crate) fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let conditions = args.fail_if.iter().map(|text| read(text)).collect::<Result<Vec<Condition>, Failure>>()?;
    let (mut code, mut worst, mut suites, mut is_data_wrong) = (0, 0, Vec::new(), false);
    for path in &args.recordings {
        let prefix = if args.recordings.len() > 1 { format!("{}: ", path.display()) } else { String::new() };
        let (reader, lack) = verified_in_words(path)?;
        if lack.is_some() {
            say!("iodyno: {} is not judged, because rows of it are missing", path.display());
            worst = lack.code;
            let all = if args.fail_if.is_empty() { vec!["all objectives".to_string()] } else { args.fail_if.clone() };
            suites.push(JunitSuite::not_judged(&path.display().to_string(), &all, &lack.why()));
            continue;
        }
        let damaged = damaged(&reader)?;
        let verdicts = verdicts(&reader, &conditions, &args.fail_if, damaged.is_some())?;
        if objectives::tell(&prefix, args.json, &verdicts) {
            code = OBJECTIVE;
        }
        let silent = never_judged(&verdicts, &conditions);
        for condition in &silent {
            say!("iodyno: {prefix}{}", session::never_judged(condition));
            code = OBJECTIVE;
        }
        // Behind the objectives, which may all be met beside it.
        if let Some(damaged) = damaged {
            is_data_wrong |= tell_data(&prefix, damaged, verdicts.is_empty());
        }
        let mut suite = JunitSuite::new(&path.display().to_string(), &verdicts, &silent);
        suite.cases.extend(damaged.map(JunitCase::data_validation));
        suites.push(suite);
    }
    if let Some(path) = &args.junit {
        session::junit_file(&suites, path, OverwritePolicy::No)?;
    }
    Ok(over(if is_data_wrong { DATA } else { code }, worst))
}

/// Damaged blocks that the data validation of a recording found; `None`: there was none, or it broke off before it found any.
fn damaged(reader: &Reader) -> Result<Option<u64>, Failure> {
    let rows = reader.table::<DataCheck>().map_err(session::SessionError::from)?;
    let Some(all) = DataFigures::of(&rows).filter(|all| !all.is_unproved()) else { return Ok(None) };
    // What broke off could have found more.
    let is_told = all.damaged_blocks > 0 || reader.manifest().exit == Some(RecordingExit::Complete);
    Ok(is_told.then(|| u64::try_from(all.damaged_blocks).unwrap_or(0)))
}

/// Says what data validation found; true: data was wrong.
fn tell_data(prefix: &str, damaged: u64, is_alone: bool) -> bool {
    match damaged {
        0 if is_alone => say!("iodyno: {prefix}no data was wrong, and it has no objectives of its own"),
        0 => {}
        damaged => {
            let blocks = if damaged == 1 { "1 block is".to_string() } else { format!("{damaged} blocks are") };
            say!("iodyno: {prefix}data was wrong: {blocks} damaged (table `data_error`, or `iodyno report`)");
        }
    }
    damaged > 0
}

/// Reads a condition of the command line, or shows its mistake.
fn read(text: &str) -> Result<Condition, Failure> {
    Condition::parse(text).map_err(|error| {
        let span = TextSpan { source: 0, start: 0, len: u32::try_from(text.len()).unwrap_or(u32::MAX) };
        objectives::show(&[objectives::source(text)], &Objective { text: text.to_string(), span }, &error);
        Failure::new(PARAMETERS, "a mistake in a condition; nothing was judged")
    })
}

/// The verdicts over a recording. `has_data`: its data is judged as well, and may be all that is.
fn verdicts(
    reader: &Reader,
    conditions: &[Condition],
    texts: &[String],
    has_data: bool,
) -> Result<Vec<ObjectiveVerdict>, Failure> {
    let unreadable = |error: view::TableReadError| Failure::from(session::SessionError::from(error));
    let path = reader.directory();
    if conditions.is_empty() {
        let verdicts = ::objectives::objectives(reader).map_err(unreadable)?;
        let listed = reader.manifest().extra.get(::objectives::OBJECTIVES).and_then(|listed| listed.as_array());
        if verdicts.is_empty() && listed.is_some_and(|listed| !listed.is_empty()) {
            let help = "ended before any of its objectives could be judged";
            return Err(Failure::new(RECORDING, format!("{} {help}", path.display())));
        }
        if verdicts.is_empty() && !has_data {
            check_for_commands(reader)?;
            let help = "has no objectives of its own, and nothing was judged: name some, iodyno check";
            let condition = "--fail-if 'errors > 0'";
            let others = "two recordings are compared by `iodyno compare`, and `iodyno diagnose` looks for trouble";
            let path = path.display();
            return Err(Failure::new(PARAMETERS, format!("{path} {help} {path} {condition}; {others}")));
        }
        return Ok(verdicts);
    }
    check_for_commands(reader)?;
    let names = ::objectives::names_of(reader).map_err(unreadable)?;
    for (condition, text) in conditions.iter().zip(texts) {
        if let Err(error) = condition.check_names(&names) {
            let span = TextSpan { source: 0, start: 0, len: u32::try_from(text.len()).unwrap_or(u32::MAX) };
            objectives::show(&[objectives::source(text)], &Objective { text: text.clone(), span }, &error);
            return Err(Failure::new(PARAMETERS, format!("{} has nothing of that name", path.display())));
        }
    }
    ::objectives::verdicts(reader, conditions.to_vec()).map_err(unreadable)
}

/// Runs of commands alone have nothing that a condition could judge. (`record -- COMMAND` has no runs: its devices are judged.)
fn check_for_commands(reader: &Reader) -> Result<(), Failure> {
    let tables = reader.tables().map_err(session::SessionError::from)?;
    let has = |name: &str| tables.iter().any(|table| table == name);
    if has(CommandExecution::NAME) && has(Phase::NAME) && !has(OpInterval::NAME) && !has(RunTotal::NAME) {
        return Err(Failure::new(PARAMETERS, format!("{}: {}", reader.directory().display(), objectives::OF_COMMANDS)));
    }
    Ok(())
}

/// Conditions that were judged in no run: of the command line, or without any those of the recording.
fn never_judged(verdicts: &[ObjectiveVerdict], conditions: &[Condition]) -> Vec<String> {
    let texts: Vec<&str> = match conditions {
        [] => verdicts.iter().map(|verdict| verdict.condition.as_str()).collect(),
        some => some.iter().map(Condition::text).collect(),
    };
    objectives::never_judged(verdicts, &texts)
}
