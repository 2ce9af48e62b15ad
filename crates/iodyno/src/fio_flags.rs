//! fio's options as flags of `iodyno run`, made from the same list that job files are read by.

use crate::validation_args;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _};
use params::{FIO_OPTIONS, FioOption, OptionEffect};
use std::collections::BTreeSet;

/// What an option is called inside of clap, apart from flags of our own.
fn id(option: &FioOption) -> String {
    format!("fio.{}", option.name)
}

/// Adds the flags to `run`.
pub(crate) fn augment(command: Command) -> Command {
    command.mut_subcommand("run", |run| {
        FIO_OPTIONS
            .iter()
            // There is a flag of that name already, for both languages.
            .filter(|option| !OWN.contains(&option.name))
            .fold(absent_flags().fold(run, |run, name| run.arg(absent(name))), |run, option| run.arg(flag(option)))
    })
}

/// Options of fio's whose flag is one of `run`'s own.
const OWN: [&str; 2] = ["fail_if", "verify"];

/// Names of options of fio's that are not here, each once however it may be written.
fn absent_flags() -> impl Iterator<Item = &'static str> {
    let mut seen = BTreeSet::new();
    params::fio_absent_names().filter(move |name| seen.insert(name.replace('_', "-")))
}

/// A flag that fio has and iodyno does not: the message then does not call it a spelling mistake.
fn absent(name: &'static str) -> Arg {
    let long = name.replace('_', "-");
    let alias = (long != name).then_some(name);
    Arg::new(format!("fio.{name}"))
        .long(long)
        .aliases(alias)
        .hide(true)
        .action(ArgAction::Append)
        .num_args(0..=1)
        .default_missing_value("1")
}

/// Names of fio's flags, as `--NAME`, each with the name that all of its own have in common.
fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let options = FIO_OPTIONS
        .iter()
        .flat_map(|option| option.aliases.iter().copied().chain([option.name]).map(|name| (name, option.name)));
    options.chain(params::fio_absent_names().map(|name| (name, name))).chain(COMMAND_FLAGS.map(|name| (name, name)))
}

/// Flags of fio's command line that are about no job.
const COMMAND_FLAGS: [&str; 10] = [
    "append-terse",
    "minimal",
    "output",
    "output-format",
    "parse-only",
    "section",
    "showcmd",
    "status-interval",
    "terse-version",
    "warnings-fatal",
];

/// Letters that an abbreviation behind a single dash has at least: shorter ones are Vdbench's.
const LETTERS_MIN: usize = 3;

/// A flag as fio permits it, `-rw=read`, `-runt 10`, `--time_b`, with two dashes and its whole name; `None` when it is written
/// so already, or is none of fio's, or could be several.
pub(crate) fn in_full(word: &str) -> Option<String> {
    let (flag, value) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
    let (name, is_long) = match flag.strip_prefix("--") {
        Some(name) => (name, true),
        None => (flag.strip_prefix('-')?, false),
    };
    let name = name.replace('_', "-");
    let in_words = |full: &str| match value {
        Some(value) => format!("--{full}={value}"),
        None => format!("--{full}"),
    };
    let is_own = |arg: &Arg| {
        arg.get_long_and_visible_aliases().is_some_and(|all| all.iter().any(|long| long.starts_with(&name)))
    };
    if names().any(|(full, _)| full.replace('_', "-") == name) {
        return (!is_long).then(|| in_words(&name));
    }
    // `-dry-run` is no `-d` of Vdbench's with a value behind it.
    if is_own_name(&name) {
        return (!is_long || flag[2..] != name).then(|| in_words(&name));
    }
    // Other commands have a flag of that name, which says nothing like `force_async`.
    if name == "force" {
        return None;
    }
    if name.len() < if is_long { 1 } else { LETTERS_MIN } {
        return None;
    }
    let mut meant: Vec<&str> =
        names().filter(|(full, _)| full.replace('_', "-").starts_with(&name)).map(|(_, of)| of).collect();
    meant.sort_unstable();
    meant.dedup();
    let [only] = meant[..] else { return None };
    let run = crate::args::Cli::command();
    let own = run
        .find_subcommand("run")?
        .get_arguments()
        .any(|arg| !COMMAND_FLAGS.contains(&arg.get_long().unwrap_or("")) && is_own(arg));
    (!own).then(|| in_words(&only.replace('_', "-")))
}

/// Is this the whole name of one of `run`'s own flags?
fn is_own_name(name: &str) -> bool {
    let cli = crate::args::Cli::command();
    let is_named = |arg: &Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long().into_iter().chain(aliases).any(|long| long == name)
    };
    cli.find_subcommand("run").is_some_and(|run| run.get_arguments().any(is_named))
}

/// A flag that was taken for the value of one of fio's before it: what should only be shown would be run.
pub(crate) fn swallowed(given: &[(String, Option<String>)]) -> Option<String> {
    let is_flag = |value: &str| value == "-s" || value.strip_prefix("--").is_some_and(is_own_name);
    let (name, value) =
        given.iter().find_map(|(name, value)| Some((name, value.as_deref().filter(|value| is_flag(value))?)))?;
    Some(format!(
        "--{name} {value}: {value} stands where the value of --{name} should; give that, or write --{name}={value} if it is meant"
    ))
}

/// Is this the flag of a switch, without a value?
pub(crate) fn is_switch(flag: &str) -> bool {
    let Some(name) = flag.strip_prefix("--").map(|name| name.replace('-', "_")) else { return false };
    let is_meant = |option: &&FioOption| option.name == name || option.aliases.contains(&name.as_str());
    FIO_OPTIONS.iter().find(is_meant).is_some_and(|option| option.value.is_empty())
}

fn flag(option: &FioOption) -> Arg {
    let long = option.name.replace('_', "-");
    let example = if option.value.is_empty() { format!("--{long}") } else { format!("--{long} {}", option.example) };
    let help = match option.effect {
        OptionEffect::Plan | OptionEffect::Output(_) => format!("{} [{example}]", option.help),
        OptionEffect::Note(_) if option.name == "name" => format!("Begins a job of this name [{example}]"),
        OptionEffect::Note(why) => format!("No effect: {why}"),
        OptionEffect::Refused(why) => format!("Refused: {why}"),
    };
    let other_names = option.aliases.iter().copied().chain([option.name]);
    let mut aliases: Vec<String> =
        other_names.flat_map(|name| [name.to_string(), name.replace('_', "-")]).filter(|name| *name != long).collect();
    aliases.sort();
    aliases.dedup();
    let arg = Arg::new(id(option))
        .long(long)
        .aliases(aliases)
        .help(help)
        .help_heading(option.task.heading())
        .action(ArgAction::Append)
        .allow_hyphen_values(true)
        .hide_short_help(true)
        .hide(!matches!(option.effect, OptionEffect::Plan | OptionEffect::Output(_)) && option.name != "name");
    if option.value.is_empty() {
        // `--direct`, `--direct=1`; `--direct 1` has become that before it comes here, or `1` would be a parameter file.
        arg.num_args(0..=1).require_equals(true).default_missing_value("1").value_name("0|1")
    } else {
        arg.num_args(1).value_name(option.value)
    }
}

/// The flags that were given, in their order.
pub(crate) fn given(matches: &ArgMatches) -> Vec<(String, Option<String>)> {
    let Some(run) = matches.subcommand_matches("run") else { return Vec::new() };
    let mut found: Vec<(usize, String, String)> = Vec::new();
    let ours = FIO_OPTIONS.iter().map(|option| option.name).filter(|name| !OWN.contains(name));
    for name in ours.chain(absent_flags()) {
        let id = format!("fio.{name}");
        let (Some(values), Some(places)) = (run.get_many::<String>(&id), run.indices_of(&id)) else { continue };
        found.extend(places.zip(values).map(|(at, value)| (at, name.to_string(), value.clone())));
    }
    // A method of fio's belongs to the job in whose place it stands.
    let methods =
        run.get_many::<String>("verify").into_iter().flatten().zip(run.indices_of("verify").into_iter().flatten());
    let methods = methods.filter(|(value, _)| validation_args::is_method(value));
    found.extend(methods.map(|(value, at)| (at, "verify".to_string(), value.clone())));
    found.sort();
    found.into_iter().map(|(_, name, value)| (name, Some(value))).collect()
}
