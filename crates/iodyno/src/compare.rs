//! `iodyno compare`.

use crate::exit::{Failure, PARAMETERS};
use crate::open::say_of;
use crate::output_args::tell;
use crate::view_args::{CompareArgs, QuestionArgs};
use analyze::{Comparison, Question};
use std::path::PathBuf;

/// Holds recordings against each other; gives the exit code.
pub(crate) fn run(args: &CompareArgs) -> Result<u8, Failure> {
    let question = question(&args.question)?;
    let directories: Vec<PathBuf> = std::iter::once(&args.first).chain(&args.others).cloned().collect();
    let parts = recordings(&directories)?;
    if parts.len() == 1 {
        let message = format!("{} is one recording: name the one to hold against it as well", args.first.display());
        return Err(Failure::new(PARAMETERS, message));
    }
    let damaged = say_of(parts.iter().map(PathBuf::as_path))?;
    let comparison = show(&directories, args.run.as_deref(), question)?;
    if let Some(path) = &args.output {
        session::comparison_file(&comparison, path, args.force.force())?;
        outln!("");
        tell(path);
    }
    Ok(damaged)
}

/// Compares, and shows the tables.
pub(crate) fn show(directories: &[PathBuf], run: Option<&str>, question: Question) -> Result<Comparison, Failure> {
    let mut comparison = session::comparison(directories, run)?;
    comparison.ask(question);
    let look = session::terminal_look();
    session::comparison_lines(&comparison, look.width).iter().for_each(|line| crate::out::painted(line, look));
    Ok(comparison)
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
pub(crate) fn question(args: &QuestionArgs) -> Result<Question, Failure> {
    let number = args.within.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    let within = number.filter(|percent| (0.1..=100.0).contains(percent)).ok_or_else(|| {
        Failure::new(PARAMETERS, format!("--within {}: give per cent between 0.1 and 100, as 5%", args.within))
    })?;
    let primary = args.primary.as_ref().map(|name| {
        let known = analyze::measure_of(name).filter(|measure| measure.kind != analyze::calibration::Kind::Plain);
        known.ok_or_else(|| {
            let help = "iops, bytes_per_s, response_ns_ or service_ns_ and mean, p50, p90, p99 or p999";
            Failure::new(PARAMETERS, format!("--primary {name}: no such figure is judged; there are {help}"))
        })
    });
    Ok(Question { within: within / 100.0, primary: primary.transpose()?, ..Question::default() })
}
