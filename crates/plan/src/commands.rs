//! Commands as load, whatever asks for them: their names, the variables in them, and a command of the command line as a
//! plan.

use crate::{CommandLine, CommandLoad, ParameterText, Plan, Run, ShellCommand, TextSpan, Workload};
use std::collections::BTreeSet;

/// Longest word that the kernel gives to a program, with room for its end.
pub const WORD_BYTES_MAX: usize = (128 << 10) - 1;
/// Most runs of one plan.
pub const RUNS_MAX: usize = 65_536;
/// Longest name of a workload or a variable.
const NAME_MAX: usize = 40;

/// What a plan that the command line itself asks for is called in messages.
pub const COMMAND_LINE: &str = "<command line>";

/// A line with the variables that it names replaced; `None` when that is longer than [`WORD_BYTES_MAX`]. `${name}` is the
/// shell's, and what names no variable stays.
pub fn substitute(text: &str, variables: &[(String, String)]) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((place, name)) = next_place(rest) {
        let end = place + name.len() + 2;
        match variables.iter().find(|(known, _)| known == name) {
            Some((_, value)) => {
                out.push_str(&rest[..place]);
                out.push_str(value);
                rest = &rest[end..];
            }
            // There may be one inside.
            None => {
                out.push_str(&rest[..=place]);
                rest = &rest[place + 1..];
            }
        }
        if out.len() > WORD_BYTES_MAX {
            return None;
        }
    }
    out.push_str(rest);
    (out.len() <= WORD_BYTES_MAX).then_some(out)
}

/// Does a line name this variable?
pub fn names_variable(text: &str, variable: &str) -> bool {
    let mut rest = text;
    while let Some((place, name)) = next_place(rest) {
        if name == variable {
            return true;
        }
        rest = &rest[place + 1..];
    }
    false
}

/// The first `{name}` that is not the shell's `${name}`: where it begins, and the name.
fn next_place(text: &str) -> Option<(usize, &str)> {
    for (at, _) in text.match_indices('{') {
        let inner = &text[at + 1..];
        let len = inner.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        if len > 0 && inner.as_bytes().get(len) == Some(&b'}') && !text[..at].ends_with('$') {
            return Some((at, &inner[..len]));
        }
    }
    None
}

/// Is it the name of a variable: letters, digits and underscores, not too long, no digit in front?
pub fn is_variable_name(text: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(is_good) && !text.as_bytes()[0].is_ascii_digit()
}

/// What the executions of a line of the shell are called: the base name of its program.
#[must_use]
pub fn shell_stem(line: &str) -> String {
    let is_setting = |word: &&str| word.split_once('=').is_some_and(|(name, _)| is_variable_name(name));
    let word = line.split_whitespace().find(|word| !is_setting(word)).unwrap_or_default();
    let word = word.trim_start_matches(['(', '\'', '"', '!']);
    program_stem(word.split([';', '|', '&', '<', '>', '\'', ')']).next().unwrap_or_default())
}

/// The same of a program's path.
pub fn program_stem(path: &str) -> String {
    let base = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_good = |c: &char| c.is_ascii_alphanumeric() || "_-.+".contains(*c);
    let name: String = base.chars().filter(is_good).take(NAME_MAX).collect();
    if name.is_empty() { "command".to_string() } else { name }
}

/// A name of its own: with a number where the stem is taken. The set has it afterwards.
pub fn unique_name(stem: &str, taken: &mut BTreeSet<String>) -> String {
    let number = |number: u32| if number == 1 { stem.to_string() } else { format!("{stem}{number}") };
    let name = (1..).map(number).find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(name.clone());
    name
}

/// A command that is to be measured by itself, as the command line asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRequest {
    /// Name of the runs; `None`: that of the program.
    pub name: Option<String>,
    /// The program and its arguments; `{name}` stands for the value of a variable.
    pub words: Vec<String>,
    /// Executed by the shell once before the executions of each run; nothing is measured where it fails.
    pub setup: Option<String>,
    /// Executed by the shell before each execution, outside of its time.
    pub prepare: Option<String>,
    /// Executions that end with another exit code than 0 count.
    pub ignores_failure: bool,
    /// Executions that count, at least 1.
    pub times: u64,
    /// Executions before them.
    pub warmups: u32,
    /// Variables with their values, the outermost loop first: a run for each combination.
    pub variables: Vec<(String, Vec<String>)>,
    /// Longest time of a run.
    pub elapsed_ns: Option<u64>,
    /// Length of a reporting interval.
    pub interval_ns: u64,
}

/// A mistake in a [`CommandRequest`], with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandMistake {
    /// There is no program, or it has no name.
    #[error("there is no program behind `--`: iodyno run -- PROGRAM ARGUMENT…")]
    NoProgram,
    /// A name that cannot stand between braces.
    #[error("--vary {0}: a variable has a name of letters, digits and `_`, 40 at most: --vary threads=1,2,4")]
    BadName(String),
    /// Given twice.
    #[error("--vary {0} is given twice: list all of its values in one, --vary {0}=1,2,4")]
    TwiceGiven(String),
    /// A value twice: two runs would have one name.
    #[error("--vary {0} has the value `{1}` twice: list each once, and repeat with --times")]
    TwiceListed(String, String),
    /// No place for its values.
    #[error(
        "--vary {0}: write {{{0}}} in the command, in --setup or in --prepare, where its values belong; the shell leaves it alone between quotes"
    )]
    Unused(String),
    /// Too many combinations.
    #[error("the values of --vary make {0} runs; {RUNS_MAX} are the most: list fewer values")]
    TooMany(usize),
    /// Longer than the kernel takes.
    #[error(
        "a word of the command is longer than {WORD_BYTES_MAX} bytes with its variables: the kernel takes no longer one"
    )]
    TooLong,
    /// Fewer than two intervals.
    #[error("-e: a run is two intervals of {} s long at least: raise it, or lower -i", *.0 as f64 / 1e9)]
    TooShort(u64),
}

/// The plan that measures a command: a run for each combination of its variables.
///
/// # Errors
/// What is wrong with the request.
pub fn command_plan(request: &CommandRequest) -> Result<Plan, CommandMistake> {
    let program = request.words.first().filter(|word| !word.is_empty()).ok_or(CommandMistake::NoProgram)?;
    check_variables(request)?;
    if request.elapsed_ns.is_some_and(|elapsed_ns| elapsed_ns < request.interval_ns.saturating_mul(2)) {
        return Err(CommandMistake::TooShort(request.interval_ns));
    }
    let workload = program_stem(program);
    let name = request.name.clone().unwrap_or_else(|| workload.clone());
    let text = CommandLine::Program(request.words.clone()).to_string();
    let span = TextSpan { source: 0, start: 0, len: u32::try_from(text.len()).unwrap_or(u32::MAX) };
    let count = request.variables.iter().map(|(_, values)| values.len()).product();
    let runs = (0..count).map(|number| {
        let loops = combination(&request.variables, number);
        let filled = |word: &String| substitute(word, &loops).ok_or(CommandMistake::TooLong);
        let words = request.words.iter().map(filled).collect::<Result<Vec<String>, CommandMistake>>()?;
        let prepare = request.prepare.as_ref().map(filled).transpose()?.map(CommandLine::Shell);
        let setup = request.setup.as_ref().map(filled).transpose()?;
        let load = CommandLoad {
            line: CommandLine::Program(words),
            prepare,
            warmups: request.warmups,
            executions: Some(request.times),
            at_ns: Vec::new(),
            ignores_failure: request.ignores_failure,
            baselines: 0,
        };
        let workloads = vec![Workload::of_commands(workload.clone(), load, span)];
        Ok(run_of(request, &name, loops, (setup, workloads), span))
    });
    let runs = runs.collect::<Result<Vec<Run>, CommandMistake>>()?;
    let sources = vec![ParameterText { name: COMMAND_LINE.to_string(), text }];
    Ok(Plan { sources, runs, ..Plan::default() })
}

fn run_of(
    request: &CommandRequest,
    name: &str,
    loops: Vec<(String, String)>,
    (setup, workloads): (Option<String>, Vec<Workload>),
    span: TextSpan,
) -> Run {
    let setup = setup.map(|line| ShellCommand { line, output: "log".to_string(), abort: true, span });
    let start_commands = setup.into_iter().collect();
    Run {
        loops,
        elapsed_ns: request.elapsed_ns,
        start_commands,
        span,
        ..Run::new(name, workloads, request.interval_ns)
    }
}

fn check_variables(request: &CommandRequest) -> Result<(), CommandMistake> {
    let mut names = BTreeSet::new();
    let mut count = 1_usize;
    for (name, values) in &request.variables {
        if !is_variable_name(name) {
            return Err(CommandMistake::BadName(name.clone()));
        }
        if !names.insert(name) {
            return Err(CommandMistake::TwiceGiven(name.clone()));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = values.iter().find(|value| !seen.insert(*value)) {
            return Err(CommandMistake::TwiceListed(name.clone(), twice.clone()));
        }
        if !request.words.iter().chain(&request.setup).chain(&request.prepare).any(|text| names_variable(text, name)) {
            return Err(CommandMistake::Unused(name.clone()));
        }
        count = count.saturating_mul(values.len());
    }
    if count > RUNS_MAX { Err(CommandMistake::TooMany(count)) } else { Ok(()) }
}

/// The values of the combination with this number, the last variable fastest.
fn combination(variables: &[(String, Vec<String>)], mut number: usize) -> Vec<(String, String)> {
    let mut out = Vec::with_capacity(variables.len());
    for (name, values) in variables.iter().rev() {
        let count = values.len().max(1);
        out.push((name.clone(), values.get(number % count).cloned().unwrap_or_default()));
        number /= count;
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_the_shells_own_stay() {
        let variables = [("n".to_string(), "4".to_string()), ("m".to_string(), "{n}".to_string())];
        let filled = |text: &str| substitute(text, &variables).unwrap_or_default();
        assert_eq!(filled("a {n} ${n} {x} {{n}} {m}{n"), "a 4 ${n} {x} {4} {n}{n");
        assert_eq!(filled("é{n}{n}"), "é44");
        assert!(names_variable("{ {x}{n}", "n") && !names_variable("${n} {nn} n", "n"));
        let long = [("n".to_string(), "x".repeat(70_000))];
        assert_eq!(substitute("{n}{n}", &long), None);
    }

    #[test]
    fn executions_are_called_by_their_program() {
        for (line, name) in [
            ("rsync --delete -a /mail /copy", "rsync"),
            ("LANG=C A=b /usr/bin/sort x", "sort"),
            ("(cd /x; make)", "cd"),
            ("sync; echo 3 > /proc/sys/vm/drop_caches", "sync"),
            ("sync;echo", "sync"),
            ("'my prog' x", "my"),
            ("{tool} x", "tool"),
            ("  ", "command"),
            ("日本", "command"),
        ] {
            assert_eq!(shell_stem(line), name, "{line}");
        }
        let mut taken = BTreeSet::from(["a".to_string()]);
        assert_eq!(["a", "a", "b"].map(|stem| unique_name(stem, &mut taken)), ["a2", "a3", "b"]);
    }
}
