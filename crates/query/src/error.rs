//! What can go wrong with a query, said so that the user can put it right.

use datafusion::common::{Column, DataFusionError, Diagnostic, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;
use quantity::suggest::did_you_mean;
use recording::RecordingError;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// A query that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// A path that is no recording, or cannot be opened.
    #[error("{error}{}", hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default())]
    Recording {
        /// Why.
        error: RecordingError,
        /// What may have been meant.
        hint: Option<String>,
    },
    /// Several paths, and none is a recording.
    #[error("none of these is a recording:\n  {}", .0.join("\n  "))]
    NoRecording(Vec<String>),
    /// A recording that cannot be read.
    #[error(transparent)]
    Read(#[from] RecordingError),
    /// Two recordings disagree about a column.
    #[error("column {column} of table {table} is {} elsewhere and {} in {recording}; ask that recording alone", types.0, types.1)]
    ColumnTypes {
        /// Table.
        table: String,
        /// Column.
        column: String,
        /// The recording that is different.
        recording: String,
        /// Both types.
        types: (String, String),
    },
    /// A mistake in the statement.
    #[error("{0}")]
    Statement(StatementMistake),
    /// A statement that would change something.
    #[error("recordings are only read here: SELECT, WITH, VALUES, EXPLAIN, DESCRIBE and SHOW work")]
    ReadOnly,
    /// The command line lacks something.
    #[error("{0}")]
    Usage(&'static str),
    /// The engine failed.
    #[error("{0}")]
    Engine(String),
    /// The output stands in the way of another file, or cannot be written.
    #[error(transparent)]
    Output(#[from] ::output::OutputError),
    /// A file could not be read or written.
    #[error("failed to {action} {path}: {source}", path = path.display())]
    File {
        /// `write`, `read`, …
        action: &'static str,
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A mistake in a statement, and where it is.
#[derive(Debug)]
pub struct StatementMistake {
    message: String,
    /// The line of the statement, with the column (from 0) and the number of characters that are wrong.
    place: Option<(String, usize, usize)>,
    help: Option<String>,
}

impl fmt::Display for StatementMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some((line, column, width)) = &self.place {
            write!(f, "\n  {line}\n  {}{}", " ".repeat(*column), "^".repeat((*width).max(1)))?;
        }
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "\n{help}"))
    }
}

impl From<DataFusionError> for QueryError {
    fn from(error: DataFusionError) -> Self {
        match error {
            // A value that a function does not take, a division by zero: the statement's, found underway.
            DataFusionError::Execution(message) => {
                Self::Statement(StatementMistake { message: first_paragraph(&message), place: None, help: None })
            }
            DataFusionError::ArrowError(error, _) => {
                Self::Statement(StatementMistake { message: error.to_string(), place: None, help: None })
            }
            DataFusionError::Context(_, inner) => Self::from(*inner),
            DataFusionError::External(inner) => match inner.downcast::<Self>() {
                Ok(ours) => *ours,
                Err(other) => match other.downcast::<RecordingError>() {
                    Ok(ours) => Self::Read(*ours),
                    Err(other) => Self::Engine(other.to_string()),
                },
            },
            other => Self::Engine(engine_text(&other)),
        }
    }
}

impl QueryError {
    /// Is it the question, rather than something having failed?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        match self {
            Self::Recording { error, .. } => error.is_parameter(),
            Self::Output(error) => error.is_parameter(),
            Self::NoRecording(_) | Self::Statement(_) | Self::ReadOnly | Self::Usage(_) => true,
            _ => false,
        }
    }

    /// An unknown table.
    pub(crate) fn unknown_table<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Self {
        let help = did_you_mean(name, known.clone())
            .unwrap_or_else(|| format!("tables: {}", known.collect::<Vec<_>>().join(", ")));
        Self::Statement(StatementMistake {
            message: format!("there is no table `{name}`"),
            place: None,
            help: Some(help),
        })
    }

    /// The same, with a caret under a word of the statement.
    pub(crate) fn at_word(self, sql: &str, word: &str) -> Self {
        match self {
            Self::Statement(mistake) => {
                Self::Statement(StatementMistake { place: place_of_word(sql, word), ..mistake })
            }
            other => other,
        }
    }

    /// What the engine says about a statement, in the user's terms. `functions` gives the names of those that it knows.
    pub(crate) fn explain(error: DataFusionError, sql: &str, functions: &dyn Fn() -> BTreeSet<String>) -> Self {
        let statement = |message: String, place, help| Self::Statement(StatementMistake { message, place, help });
        match error {
            DataFusionError::SQL(error, _) => syntax(&error, sql),
            DataFusionError::Diagnostic(diagnostic, inner) => {
                let place = place_of_diagnostic(&diagnostic, sql);
                match Self::explain(*inner, sql, functions) {
                    Self::Statement(mistake) => {
                        Self::Statement(StatementMistake { place: mistake.place.or(place), ..mistake })
                    }
                    other => other,
                }
            }
            DataFusionError::SchemaError(error, _) => match *error {
                SchemaError::FieldNotFound { field, valid_fields } => unknown_column(&field, &valid_fields, sql),
                SchemaError::AmbiguousReference { field } => {
                    let help = "write which table's it is: TABLE.COLUMN".to_string();
                    statement(
                        format!("column `{}` is ambiguous", field.name),
                        place_of_word(sql, &field.name),
                        Some(help),
                    )
                }
                other => statement(other.to_string(), None, None),
            },
            DataFusionError::Context(_, inner) => Self::explain(*inner, sql, functions),
            DataFusionError::Collection(mut errors) if !errors.is_empty() => {
                Self::explain(errors.swap_remove(0), sql, functions)
            }
            DataFusionError::Plan(message) => match unknown_function(&message) {
                Some(name) => {
                    let functions = functions();
                    let known = functions.iter().map(String::as_str);
                    let help = did_you_mean(&name, known).unwrap_or_else(|| ".help lists the functions".to_string());
                    statement(format!("there is no function `{name}`"), place_of_word(sql, &name), Some(help))
                }
                None => statement(first_paragraph(&message), None, None),
            },
            DataFusionError::NotImplemented(message) => {
                statement(format!("the SQL engine cannot do this: {message}"), None, None)
            }
            other => other.into(),
        }
    }
}

/// The engine's own words, without the layers around them.
fn engine_text(error: &DataFusionError) -> String {
    match error {
        DataFusionError::Execution(message) | DataFusionError::Plan(message) => first_paragraph(message),
        DataFusionError::ResourcesExhausted(message) => {
            format!("the query needs more memory than there is: {message}\ngroup by less, or leave rows out with WHERE")
        }
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => engine_text(inner),
        DataFusionError::Shared(inner) => engine_text(inner),
        other => other.strip_backtrace(),
    }
}

/// What the engine says first, without its lists of alternatives; what a function of ours says, without what is around it.
fn first_paragraph(message: &str) -> String {
    let text = message.split_once("coercion failed with: ").map_or(message, |(_, ours)| ours);
    let text = text.strip_prefix("Execution error: ").unwrap_or(text);
    let text = text.strip_prefix("Error during planning: ").unwrap_or(text);
    let ends = ["\n\nbacktrace", "\n\tCandidate functions", ". No function matches"];
    ends.iter().fold(text, |text, end| text.split(end).next().unwrap_or(text)).trim().to_string()
}

/// The name in `Invalid function 'NAME'`.
fn unknown_function(message: &str) -> Option<String> {
    let rest = message.split("Invalid function '").nth(1)?;
    Some(rest.split('\'').next()?.to_string())
}

fn syntax(error: &ParserError, sql: &str) -> QueryError {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.clone(),
        ParserError::RecursionLimitExceeded => "the statement is nested too deeply".to_string(),
    };
    let (message, place) = match text.split_once(" at Line: ") {
        Some((message, place)) => {
            let number = |part: Option<&str>| {
                let digits: String = part?.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<usize>().ok()
            };
            let column = number(place.split("Column: ").nth(1));
            (message, number(Some(place)).zip(column).and_then(|(line, column)| place_at(sql, line, column, None)))
        }
        None => (text.as_str(), None),
    };
    let (expected, found) = message.split_once(", found: ").unwrap_or((message, ""));
    let message = match (expected.strip_prefix("Expected: "), found) {
        (Some(expected), "EOF" | "") => format!("the statement ends where {expected} should follow"),
        (Some(expected), found) => format!("expected {expected}, found `{found}`"),
        (None, _) => message.to_string(),
    };
    let place = place.or_else(|| {
        let line = sql.trim_end().lines().last()?.to_string();
        let column = line.chars().count();
        (found == "EOF").then_some((line, column, 1))
    });
    QueryError::Statement(StatementMistake { message: format!("syntax: {message}"), place, help: None })
}

fn unknown_column(field: &Column, valid: &[Column], sql: &str) -> QueryError {
    let known: Vec<&str> = valid.iter().map(|column| column.name.as_str()).collect();
    let help = did_you_mean(&field.name, known.iter().copied())
        .or_else(|| (!known.is_empty()).then(|| format!("columns: {}", known.join(", "))));
    QueryError::Statement(StatementMistake {
        message: format!("there is no column `{}`", field.name),
        place: place_of_word(sql, &field.name),
        help,
    })
}

/// Line and column counted from 1, as the parser does.
fn place_at(sql: &str, line: usize, column: usize, width: Option<usize>) -> Option<(String, usize, usize)> {
    let text = sql.lines().nth(line.checked_sub(1)?)?.to_string();
    let column = column.checked_sub(1)?.min(text.chars().count());
    let word = || text.chars().skip(column).take_while(|c| c.is_alphanumeric() || *c == '_').count();
    let width = width.unwrap_or_else(word);
    Some((text, column, width))
}

fn place_of_diagnostic(diagnostic: &Diagnostic, sql: &str) -> Option<(String, usize, usize)> {
    let span = diagnostic.span?;
    let number = |value: u64| usize::try_from(value).ok();
    let width = (span.start.line == span.end.line).then(|| span.end.column.saturating_sub(span.start.column));
    place_at(sql, number(span.start.line)?, number(span.start.column)?, width.and_then(number))
}

/// Where a whole word first stands in the statement.
fn place_of_word(sql: &str, word: &str) -> Option<(String, usize, usize)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let word = word.to_lowercase();
    sql.lines().find_map(|line| {
        let lower = line.to_lowercase();
        let at = lower.match_indices(&word).map(|(at, _)| at).find(|at| {
            let (before, after) = (&lower[..*at], &lower[at + word.len()..]);
            !before.chars().next_back().is_some_and(is_part) && !after.chars().next().is_some_and(is_part)
        })?;
        Some((line.to_string(), lower[..at].chars().count(), word.chars().count()))
    })
}
