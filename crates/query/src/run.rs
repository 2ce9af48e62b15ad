//! One statement, many from standard input, or the shell.

use crate::args::Args;
use output::{Force, OutputFile};
use quantity::output::{Form, say, stdout};
use query::{Database, Format, QueryError, Sources, write};
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
    paths.iter().for_each(|path| recording::keep(path));
    if let Some(path) = &args.output {
        OutputFile::check(path, Force::from(args.force))?;
    }
    let sources = Sources::open(&paths)?;
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
        Format::Export(ExportFormat::Csv)
    } else if args.json {
        Format::Export(ExportFormat::Json)
    } else if args.parquet {
        Format::Export(ExportFormat::Parquet)
    } else {
        Format::Table
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
        Some(path) => {
            to_file(path, Force::from(args.force), |out| answer_all(&runtime, &database, &statements, format, out))
        }
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

/// What an answer is for standard output.
pub(crate) fn form_of(format: Format) -> Form {
    match format {
        Format::Table => Form::Text,
        Format::Export(ExportFormat::Json) => Form::Json,
        Format::Export(_) => Form::Data,
    }
}

fn answer_all(
    runtime: &tokio::runtime::Runtime,
    database: &Database,
    statements: &[&str],
    format: Format,
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
    force: Force,
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

/// Statements between semicolons that stand in no quotes and no comment.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let (mut start, mut quote, mut in_comment) = (0, None, false);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            _ if in_comment => in_comment = character != '\n',
            (Some(open), _) => quote = Some(open).filter(|open| *open != character),
            (None, '\'' | '"') => quote = Some(character),
            (None, '-') if characters.peek().is_some_and(|next| next.1 == '-') => in_comment = true,
            (None, ';') => {
                statements.push(text[start..at].trim());
                start = at + 1;
            }
            (None, _) => {}
        }
    }
    statements.push(text[start..].trim());
    statements.retain(|statement| !statement.is_empty());
    statements
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn statements_end_at_semicolons_outside_quotes_and_comments() {
        assert_eq!(
            split("select 1; select ';' as \"a;b\" ; -- no; end\n select 3;;\n"),
            ["select 1", "select ';' as \"a;b\"", "-- no; end\n select 3",]
        );
        assert_eq!(split(" ; "), Vec::<&str>::new());
    }
}
