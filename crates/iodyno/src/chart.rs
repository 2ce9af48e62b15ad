//! `iodyno chart`.

use crate::args::{Cli, Command};
use crate::exit::{Failure, PARAMETERS, RECORDING, recording_code};
use crate::open::{open, open_for_data, say_for_data};
use crate::output_checks;
use crate::picture::{again, pattern, write};
use crate::time_args::time;
use crate::view_args::ChartArgs;
use clap::Parser;
use output::OutputFile;
use recording::Reader;
use std::path::{Path, PathBuf};
use view::{Selection, TableReadError, TimeOfRecording, TimeWindow, ViewData};

/// Draws a view, or lists the views; gives the exit code.
pub(crate) fn run(args: &ChartArgs, command_line: &[String]) -> Result<u8, Failure> {
    if let Some(file) = &args.batch {
        return batch(file);
    }
    if args.trend {
        return crate::growth::run(args, command_line);
    }
    let recording = args.recording.clone().unwrap_or_default();
    let id = args.view.as_deref().unwrap_or_default();
    let halves = session::half_rounds(&recording)?;
    if !halves.is_empty() && !args.list {
        let damaged = say_for_data(halves.iter().map(PathBuf::as_path))?;
        let path = output_path(args, id)?;
        write(&beside(args)?, args, &path)?;
        tell_both(command_line, args, &path);
        return Ok(damaged.max(say_for_data(args.with.iter().map(PathBuf::as_path))?));
    }
    if args.list {
        if halves.is_empty() {
            open(&recording)?;
        }
        for view in views::views() {
            outln!("{:<24} {}: {}", view.id, view.title, view.explanation);
        }
        return Ok(0);
    }
    let (reader, damaged) = open_for_data(&recording)?;
    if views::view(id).is_ok_and(views::View::is_of_a_trace) {
        crate::trace::say_incomplete(reader.manifest());
    }
    let path = output_path(args, id)?;
    let view = view(args, &reader, id)?;
    write(&view, args, &path)?;
    tell_both(command_line, args, &path);
    Ok(damaged.max(say_for_data(args.with.iter().map(PathBuf::as_path))?))
}

/// Where the picture goes.
fn output_path(args: &ChartArgs, id: &str) -> Result<PathBuf, Failure> {
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.svg")));
    OutputFile::check(&path, args.force.force())?;
    Ok(path)
}

/// Says where it is, and how it is made again.
fn tell_both(command_line: &[String], args: &ChartArgs, path: &Path) {
    if output::is_standard_output(path) {
        return;
    }
    outln!("{}", path.display());
    outln!("{}", again(command_line, args, path));
}

/// Draws what a file of commands asks for; the first that fails is named by its line, and nothing after it is drawn.
fn batch(file: &Path) -> Result<u8, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(PARAMETERS, format!("failed to read {}: {error}", file.display())))?;
    let mut code = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let at = |code: u8, why: String| Failure::new(code, format!("{}:{number}: {why}", file.display()));
        let words = words(line).map_err(|why| at(PARAMETERS, why))?;
        if words.is_empty() {
            continue;
        }
        let parsed = Cli::try_parse_from(&words).map_err(|error| {
            let message = error.to_string();
            at(PARAMETERS, message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string())
        })?;
        match &parsed.command {
            Command::Chart(chart) if chart.batch.is_none() => {
                let ready = output_checks::check(&parsed.command);
                ready.map_err(|failure| at(failure.code, failure.message))?;
                code = code.max(run(chart, &words).map_err(|failure| at(failure.code, failure.message))?);
            }
            _ => return Err(at(PARAMETERS, "is no chart command of one picture".to_string())),
        }
    }
    Ok(code)
}

/// Words of a shell's line: quotes of both kinds, `\` outside of single ones, `#` at the beginning of a word.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote): (Option<String>, Option<char>) = (None, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(letters.next()),
            ('#', None) if word.is_none() => break,
            (space, None) if space.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_string());
    }
    words.extend(word);
    Ok(words)
}

/// What is to be drawn: of the recording, or of it beside others. Where each of these has a picture, the last one's.
fn view(args: &ChartArgs, reader: &Reader, id: &str) -> Result<ViewData, Failure> {
    if args.with.is_empty() {
        return views::compute(reader, id, &selection(args)?).map_err(failure);
    }
    beside(args)
}

fn failure(error: TableReadError) -> Failure {
    Failure::new(code_of(&error), error.to_string())
}

/// What is to be drawn of recordings beside each other.
fn beside(args: &ChartArgs) -> Result<ViewData, Failure> {
    let id = args.view.as_deref().unwrap_or_default();
    for (flag, given) in [("--select", &args.select), ("--workload", &args.workload), ("--target", &args.target)] {
        if given.is_some() {
            let message = format!("{flag} does not apply when recordings are compared (--with)");
            return Err(Failure::new(PARAMETERS, message));
        }
    }
    let directories: Vec<PathBuf> = args.recording.iter().chain(&args.with).cloned().collect();
    let comparison = session::comparison(&directories, args.run.as_deref())?;
    let mut drawn = comparison.draw(id).map_err(failure)?;
    let mut last = drawn.pop().ok_or_else(|| Failure::new(PARAMETERS, format!("{id} shows nothing")))?;
    last.cut(&window(args)?, None).map_err(failure)?;
    Ok(last)
}

/// Which part of the recording was asked for.
fn selection(args: &ChartArgs) -> Result<Selection, Failure> {
    let (run, workload, target) = (args.run.clone(), args.workload.clone(), args.target.clone());
    let names = args.select.as_deref().map(pattern).transpose()?;
    Ok(Selection { run, workload, target, names, window: window(args)? })
}

/// Which stretch of time was asked for.
fn window(args: &ChartArgs) -> Result<TimeWindow, Failure> {
    let moment = |text: Option<&str>, flag: &str| {
        let parse = |text: &str| {
            TimeOfRecording::parse(text).map_err(|why| Failure::new(PARAMETERS, format!("{flag} {text}: {why}")))
        };
        text.map(parse).transpose()
    };
    Ok(TimeWindow {
        last_s: time(args.last.as_deref(), "--last")?.map(|ns| ns as f64 / 1e9),
        from: moment(args.from.as_deref(), "--from")?,
        to: moment(args.to.as_deref(), "--to")?,
    })
}

/// A wrong name is a wrong parameter; anything else is the recording's fault.
pub(crate) fn code_of(error: &TableReadError) -> u8 {
    match error {
        TableReadError::Recording(error) => recording_code(error),
        error if error.is_parameter() => PARAMETERS,
        _ => RECORDING,
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_as_a_shell_reads_them() {
        let check = |line: &str, expect: &[&str]| assert_eq!(words(line).unwrap(), expect, "{line}");
        check(
            "iodyno chart 'my run' run.iops -o a\\ b.png # remark",
            &["iodyno", "chart", "my run", "run.iops", "-o", "a b.png"],
        );
        check("  # nothing but this", &[]);
        check(r#"a'b'\''c' "x 'y'" ''"#, &["ab'c", "x 'y'", ""]);
        assert!(words("a 'b").is_err());
    }
}
