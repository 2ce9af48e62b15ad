//! The shell: statements line by line, with editing, history and completion.

use crate::statements::{form_of, split};
use futures_util::future::{Either, select};
use quantity::output::{say, say_lines, stdout};
use quantity::visible::is_hidden;
use query::reference::FUNCTIONS;
use query::{AnswerFormat, Database, QueryError, column_help, write};
use recording::ExportFormat;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use tokio::runtime::Runtime;

/// Words of SQL that are completed.
const KEYWORDS: &[&str] = &[
    "and",
    "as",
    "asc",
    "between",
    "by",
    "case",
    "cast",
    "count(*)",
    "desc",
    "describe",
    "distinct",
    "else",
    "end",
    "explain",
    "filter",
    "from",
    "group",
    "having",
    "in",
    "is",
    "join",
    "left",
    "like",
    "limit",
    "not",
    "null",
    "nulls",
    "on",
    "or",
    "order",
    "over",
    "partition",
    "select",
    "then",
    "union",
    "using",
    "values",
    "when",
    "where",
    "with",
];

/// Lines to standard output.
macro_rules! shown {
    ($($words:tt)*) => {{
        // A reader that has gone away ends the shell by itself.
        let _ = stdout().write_all(format!("{}\n", format_args!($($words)*)).as_bytes());
    }};
}

const HELP: &str = "\
A statement ends with a semicolon or an empty line. Tab completes, the arrow keys bring earlier statements back.
  .tables            tables, and what a row of each is
  .schema TABLE      columns of a table
  .help [FUNCTION]   this, or the functions that recordings add to SQL
  .functions         names of all functions
  .recordings        the recordings that are open here
  .mode FORMAT       table, csv or json
  .quit              leave (as Ctrl-D)
Try:  select workload, sum(ops), percentile(response, 0.99) from op_interval group by 1;";

/// Reads and answers statements until the user leaves.
pub(crate) fn run(runtime: &Runtime, database: &Database) -> Result<(), QueryError> {
    let failed = |error: ReadlineError| QueryError::Engine(format!("failed to read from the terminal: {error}"));
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
    let mut editor: Editor<Words, DefaultHistory> = Editor::with_config(config).map_err(failed)?;
    editor.set_helper(Some(Words::of(database)));
    let history = history_file();
    if let Some(file) = &history {
        // None there yet is no mistake.
        let _ = editor.load_history(file);
    }
    let names: Vec<&str> = database.recordings().collect();
    let which = if names.len() > 3 { format!("{} recordings", names.len()) } else { names.join(", ") };
    shown!("{which} · .help helps, .quit leaves");
    let mut format = AnswerFormat::Table;
    loop {
        match editor.readline("sql> ") {
            Ok(line) => match line.trim() {
                "" => {}
                ".quit" | ".exit" | "quit" | "exit" => break,
                command if command.starts_with('.') => answer_command(database, command, &mut format),
                text => split(text).into_iter().for_each(|sql| answer(runtime, database, sql, format)),
            },
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        }
    }
    if let Some(file) = &history {
        let saved = file.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(ReadlineError::Io);
        if let Err(error) = saved.and_then(|()| editor.save_history(file)) {
            say(format_args!("iodyno query: the history was not saved in {}: {error}", file.display()));
        }
    }
    Ok(())
}

/// Answers a statement; Ctrl-C gives it up and comes back to the prompt.
fn answer(runtime: &Runtime, database: &Database, sql: &str, format: AnswerFormat) {
    let mut out = stdout().with_form(form_of(format));
    let asked = Box::pin(async { write(database.ask(sql).await?, format, &mut out).await });
    let outcome = runtime.block_on(async { select(asked, Box::pin(tokio::signal::ctrl_c())).await });
    match outcome {
        Either::Left((Ok(rows), _)) if format == AnswerFormat::Table => {
            shown!("{rows} row{}", if rows == 1 { "" } else { "s" });
        }
        Either::Left((Ok(_), _)) => {}
        Either::Left((Err(error), _)) => say_lines(format_args!("{error}")),
        Either::Right(_) => say(format_args!("given up")),
    }
}

fn answer_command(database: &Database, command: &str, format: &mut AnswerFormat) {
    let (name, argument) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    match (name, argument.trim().trim_end_matches(';')) {
        (".help" | ".h" | ".?", "") => shown!("{HELP}"),
        (".help", function) => help(database, function),
        (".tables", _) => {
            for name in database.tables() {
                let help = match name {
                    "recordings" => "One recording: where it is, how complete, when and by what it was made.",
                    name => recording::table(name).map_or("", |table| table.help.trim()),
                };
                shown!("{name:<18} {help}");
            }
        }
        (".schema", "") => say(format_args!(".schema TABLE; .tables lists them")),
        (".schema", table) => schema(database, table),
        (".functions", _) => shown!("{}", database.functions().into_iter().collect::<Vec<_>>().join(" ")),
        (".recordings", _) => database.recordings().for_each(|name| shown!("{name}")),
        (".mode", "table") => *format = AnswerFormat::Table,
        (".mode", "csv") => *format = AnswerFormat::Export(ExportFormat::Csv),
        (".mode", "json") => *format = AnswerFormat::Export(ExportFormat::Json),
        (".mode", _) => say(format_args!(".mode table, .mode csv or .mode json")),
        (other, _) => {
            let hint = quantity::suggest::did_you_mean(other, COMMANDS.iter().copied());
            say(format_args!(
                "there is no command {other}; {}",
                hint.unwrap_or_else(|| ".help lists them".to_string())
            ));
        }
    }
}

const COMMANDS: &[&str] = &[".tables", ".schema", ".help", ".functions", ".recordings", ".mode", ".quit"];

fn help(database: &Database, name: &str) {
    let name = name.trim_end_matches("()");
    match FUNCTIONS.iter().find(|function| function.name == name) {
        Some(function) => shown!("{}\n  {}", function.signature, function.help),
        None if database.functions().contains(name) => {
            shown!("{name} is the engine's own: https://datafusion.apache.org/user-guide/sql/");
        }
        None => {
            let functions = database.functions();
            let hint = quantity::suggest::did_you_mean(name, functions.iter().map(String::as_str));
            say(format_args!(
                "there is no function {name}; {}",
                hint.unwrap_or_else(|| ".functions lists them".to_string())
            ));
        }
    }
}

fn schema(database: &Database, table: &str) {
    match database.schema(table) {
        Ok(schema) => {
            for field in schema.fields() {
                let unit = field.metadata().get("unit").map_or("", String::as_str);
                let help = column_help(table, field.name()).unwrap_or_default();
                shown!("{:<22} {:<10} {unit:<8} {help}", field.name(), query::type_word(field.data_type()));
            }
        }
        Err(error) => say_lines(format_args!("{error}")),
    }
}

/// Where earlier statements are kept, by the XDG rules.
fn history_file() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("iodyno/query_history"))
}

/// The words that can be completed.
pub(crate) struct Words {
    /// Columns of each table.
    tables: BTreeMap<String, Vec<String>>,
    functions: BTreeSet<String>,
}

impl Words {
    pub(crate) fn of(database: &Database) -> Self {
        let columns = |table: &str| {
            let schema = database.schema(table).ok();
            schema.map(|schema| schema.fields().iter().map(|field| field.name().clone()).collect()).unwrap_or_default()
        };
        let tables = database.tables().map(|table| (table.to_string(), columns(table))).collect();
        Self { tables, functions: database.functions() }
    }

    /// What could stand at the end of `before`: where the word begins, and what it could become.
    pub(crate) fn candidates(&self, before: &str, whole: &str) -> (usize, Vec<String>) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let start =
            before.char_indices().rev().take_while(|(_, c)| is_part(*c)).last().map_or(before.len(), |(at, _)| at);
        let word = before[start..].to_lowercase();
        let matching = |names: &mut dyn Iterator<Item = String>| -> Vec<String> {
            // The editor prints them as they are.
            let is_it = |name: &String| name.to_lowercase().starts_with(&word) && !name.contains(is_hidden);
            let names: BTreeSet<String> = names.filter(is_it).collect();
            names.into_iter().collect()
        };
        if before.trim_start().starts_with('.') {
            let (command, argument) = before.trim_start().split_once(' ').unwrap_or((before.trim_start(), ""));
            return match (command, argument.contains(' ')) {
                (".schema", false) if before.contains(' ') => (start, matching(&mut self.tables.keys().cloned())),
                (".help", false) if before.contains(' ') => (start, matching(&mut self.functions.iter().cloned())),
                _ => {
                    let at = before.len() - command.len();
                    (at, COMMANDS.iter().filter(|name| name.starts_with(command)).map(ToString::to_string).collect())
                }
            };
        }
        let earlier = before[..start].trim_end();
        let last_word = earlier.rsplit(|c: char| !is_part(c)).next().unwrap_or("").to_lowercase();
        if ["from", "join", "describe"].contains(&last_word.as_str()) {
            return (start, matching(&mut self.tables.keys().cloned()));
        }
        let mentioned: Vec<&Vec<String>> =
            whole.split(|c: char| !is_part(c)).filter_map(|word| self.tables.get(&word.to_lowercase())).collect();
        let columns = if mentioned.is_empty() { self.tables.values().collect() } else { mentioned };
        let mut columns = columns.into_iter().flatten().cloned();
        if earlier.ends_with('.') {
            return (start, matching(&mut columns));
        }
        // No list of all functions and keywords before the user has typed a letter.
        let mut functions = self.functions.iter().filter(|_| !word.is_empty()).map(|name| format!("{name}("));
        let mut keywords = KEYWORDS.iter().filter(|_| !word.is_empty()).map(ToString::to_string);
        (start, matching(&mut columns.by_ref().chain(functions.by_ref()).chain(keywords.by_ref())))
    }
}

impl Completer for Words {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(&line[..pos], line))
    }
}

impl Validator for Words {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_complete(context.input()) { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

/// Does Enter send it, rather than begin another line?
fn is_complete(input: &str) -> bool {
    let text = input.trim();
    text.is_empty()
        || text.starts_with('.')
        || text.ends_with(';')
        || ["quit", "exit"].contains(&text)
        || input.lines().next_back().is_some_and(|last| last.trim().is_empty())
        || input.ends_with('\n')
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        let table =
            |name: &str, columns: &[&str]| (name.to_string(), columns.iter().map(ToString::to_string).collect());
        Words {
            tables: BTreeMap::from([
                table("op_interval", &["t_s", "ops", "response", "response_ns_p99"]),
                table("disk", &["t_s", "device", "read_ios"]),
            ]),
            functions: ["percentile", "sum", "hist_bins"].map(String::from).into(),
        }
    }

    fn check(text: &str, expect: &[&str]) {
        // `|` is where the cursor stands.
        let (before, after) = text.split_once('|').expect("a cursor");
        let (_, found) = words().candidates(before, &format!("{before}{after}"));
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn tables_follow_from_and_columns_are_those_of_the_tables_that_are_named() {
        check("select * from op|", &["op_interval"]);
        check("select * from |", &["disk", "op_interval"]);
        check("select re| from op_interval", &["response", "response_ns_p99"]);
        check("select re| from disk", &["read_ios"]);
        check("select d.re| from disk d", &["read_ios"]);
        check("select PER|", &["percentile("]);
        check("sel|", &["select"]);
    }

    #[test]
    fn commands_complete_with_their_arguments() {
        check(".s|", &[".schema"]);
        check(".schema d|", &["disk"]);
        check(".help per|", &["percentile"]);
    }

    #[test]
    fn a_statement_goes_on_until_a_semicolon_or_an_empty_line() {
        for (input, expect) in [
            ("select 1", false),
            ("select 1;", true),
            ("select 1\n", true),
            ("select 1\nfrom disk", false),
            ("select 1\nfrom disk\n  ", true),
            (".tables", true),
            ("", true),
        ] {
            assert_eq!(is_complete(input), expect, "{input:?}");
        }
    }
}
