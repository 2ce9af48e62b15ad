//! fio's options as flags of `iodyno run`, made from the same list that job files are read by.

use clap::{Arg, ArgAction, ArgMatches, Command};
use params::{Effect, FIO_OPTIONS, FioOption};

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
            .filter(|option| option.name != "fail_if")
            .fold(run, |run, option| run.arg(flag(option)))
    })
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
        Effect::Plan | Effect::Output(_) => format!("{} [{example}]", option.help),
        Effect::Note(_) if option.name == "name" => format!("Begins a job of this name [{example}]"),
        Effect::Note(why) => format!("No effect: {why}"),
        Effect::Refused(why) => format!("Refused: {why}"),
        Effect::NotBuilt(why) => format!("Not yet: {why}"),
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
        .hide(!matches!(option.effect, Effect::Plan | Effect::Output(_)) && option.name != "name");
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
    for option in FIO_OPTIONS.iter().filter(|option| option.name != "fail_if") {
        let id = id(option);
        let (Some(values), Some(places)) = (run.get_many::<String>(&id), run.indices_of(&id)) else { continue };
        found.extend(places.zip(values).map(|(at, value)| (at, option.name.to_string(), value.clone())));
    }
    found.sort();
    found.into_iter().map(|(_, name, value)| (name, Some(value))).collect()
}
