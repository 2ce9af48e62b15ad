//! One statement, many from standard input, or the shell.

use crate::args::Args;
use crate::statements::{form_of, split};
use output::{OutputFile, OverwritePolicy};
use quantity::output::{say, stdout};
use query::{AnswerFormat, Database, QueryError, QuerySources, write};
use recording::{ExportFormat, RecordingError};
use std::io::{self, BufWriter, IsTerminal as _, Read as _, Write};
use std::path::Path;

/// Does what the arguments ask for; false when rows are missing from the answer, because a recording is damaged.
pub(crate) fn run(args: &Args) -> Result<bool, QueryError> {
    let (paths, sql) = args.split();
    if paths.is_empty() {
        return Err(QueryError::Usage(
            "name a recording before the statement: iodyno query results/monday \"select ...\"",
        ));
    }
    paths.iter().for_each(|path| recording::protect_input(path));
    if let Some(path) = &args.output {
        OutputFile::check(path, OverwritePolicy::from(args.force))?;
    }
    let sources = QuerySources::open(&paths)?;
    for left_out in &sources.left_out {
        say(format_args!("iodyno query: left out: {left_out}"));
    }
    for damaged in &sources.damaged {
        say(format_args!("iodyno query: {damaged}"));
    }
    let is_whole = sources.damaged.is_empty();
    // Ctrl-C of the shell comes through the runtime's I/O.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_io().build();
    let runtime = runtime.map_err(|error| QueryError::Engine(format!("failed to start threads: {error}")))?;
    let database = Database::new(sources)?;
    let format = if args.csv {
        AnswerFormat::Export(ExportFormat::Csv)
    } else if args.json {
        AnswerFormat::Export(ExportFormat::Json)
    } else if args.parquet {
        AnswerFormat::Export(ExportFormat::Parquet)
    } else {
        AnswerFormat::Table
    };
    let text;
    let statements = match sql {
        Some(sql) => vec![sql.trim()],
        None if io::stdin().is_terminal() => return crate::shell::run(&runtime, &database).map(|()| is_whole),
        None => {
            text = read_standard_input()?;
            split(&text)
        }
    };
    let answered = match args.output.as_deref().filter(|path| !output::is_standard_output(path)) {
        Some(path) => to_file(path, OverwritePolicy::from(args.force), |out| {
            answer_all(&runtime, &database, &statements, format, out)
        }),
        None => {
            let mut out = BufWriter::new(stdout().with_form(form_of(format)));
            answer_all(&runtime, &database, &statements, format, &mut out)
        }
    };
    match answered {
        // `| head` is not an error.
        Err(QueryError::Read(RecordingError::Face { source, .. })) if source.kind() == io::ErrorKind::BrokenPipe => {
            Ok(is_whole)
        }
        other => other.map(|()| is_whole),
    }
}

fn answer_all(
    runtime: &tokio::runtime::Runtime,
    database: &Database,
    statements: &[&str],
    format: AnswerFormat,
    out: &mut (dyn Write + Send),
) -> Result<(), QueryError> {
    for statement in statements {
        runtime.block_on(async { write(database.ask(statement).await?, format, out).await })?;
    }
    Ok(())
}

/// The file appears when the answer is complete.
fn to_file(
    path: &Path,
    force: OverwritePolicy,
    answer: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let mut out = OutputFile::create(path, force)?;
    answer(&mut out)?;
    Ok(out.finish()?)
}

fn read_standard_input() -> Result<String, QueryError> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|source| QueryError::File {
        action: "read",
        path: "standard input".into(),
        source,
    })?;
    Ok(text)
}
