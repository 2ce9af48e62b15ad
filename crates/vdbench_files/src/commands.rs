//! Commands as load: run definitions with `cmd=` are held against their own rules, and made workloads.

use crate::command_params::{ExecutionCount, seconds_of};
use crate::param::Text;
use crate::run::{Definition, Loop};
use parameter_text::{Diagnostic, ReadingContext};
use plan::commands::{names_variable, shell_stem, substitute, unique_name};
use plan::{CommandLine, CommandLoad, Workload};
use std::collections::BTreeSet;

/// Does the definition execute commands and nothing else?
pub(crate) fn is_alone(definition: &Definition) -> bool {
    !definition.commands.lines.is_empty()
        && definition.works.is_empty()
        && definition.targets.is_empty()
        && definition.file_works.is_empty()
}

/// Do the parameters of a definition go together? Says what does not.
pub(crate) fn check(context: &mut ReadingContext, definition: &Definition) -> bool {
    let params = &definition.commands;
    let shown: String = definition.name.chars().take(40).collect();
    if params.lines.is_empty() {
        // A cmd= that was not understood is what is to be mended.
        if let Some((name, span)) = params.given.filter(|_| !params.has_lines) {
            let message = format!("`{name}=` is about the commands of a run, and rd={shown} has none");
            context.push(Diagnostic::error("no-command", span, message).help("add cmd=\"PROGRAM ARGUMENT…\""));
            return false;
        }
        return unused(context, definition, |one| one.is_text);
    }
    let first = params.lines[0].span;
    if definition.replay.is_some() {
        let found = Diagnostic::error("conflict", first, format!("rd={shown} has cmd= and replay="));
        context.push(found.help("a replay goes its own way: execute the command in an rd= of its own"));
        return false;
    }
    check_moments(context, definition)
        && check_alone(context, definition)
        && unused(context, definition, |one| one.is_text || is_alone(definition))
}

fn check_moments(context: &mut ReadingContext, definition: &Definition) -> bool {
    let params = &definition.commands;
    let found = if params.at.is_empty() {
        match params.times {
            Some((ExecutionCount::Max, span)) if !definition.is_time_given => {
                let found = Diagnostic::error("elapsed", span, "times=max has no end without elapsed=");
                found.help("add elapsed=60, or write times=5")
            }
            _ => return true,
        }
    } else if let Some((_, span)) = params.times {
        let found = Diagnostic::error("conflict", span, "times= beside at=: each moment is one execution");
        found
            .help("take times= out, or list more moments: at=(15,30,45); baseline=N is how often it is executed before")
    } else if !definition.is_time_given {
        let found = Diagnostic::error("elapsed", params.at_span, "at= without elapsed=: how long is the run?");
        found.help("add elapsed=, longer than the last moment and what the command then takes")
    } else if let Some((at_ns, span)) = params.at.iter().find(|(at_ns, _)| *at_ns >= definition.elapsed_ns) {
        let message = format!("at={} is not within elapsed={}", seconds_of(*at_ns), seconds_of(definition.elapsed_ns));
        let help = "moments count from the end of warmup=: raise elapsed=, or leave the moment out";
        Diagnostic::error("at", *span, message).help(help)
    } else {
        return true;
    };
    context.push(found);
    false
}

/// What a run without a load cannot have.
fn check_alone(context: &mut ReadingContext, definition: &Definition) -> bool {
    if !is_alone(definition) {
        return true;
    }
    if definition.warmup_ns > 0 {
        let message = "warmup= is a time of load: commands alone have none, and begin at once";
        let found = Diagnostic::warning("warmup", definition.commands.lines[0].span, message);
        context.push(found.help("warmups=N are executions that do not count"));
    }
    if definition.commands.baselines.is_some_and(|count| count > 0) {
        let message = "baseline= executes on the idle machine, and this run has no load to compare with it";
        let found = Diagnostic::error("conflict", definition.commands.lines[0].span, message);
        context
            .push(found.help("take baseline= out; times= is how often the command is executed, warmups= before that"));
        return false;
    }
    let Some((_, span)) = definition.rate.as_ref().filter(|_| definition.is_rate_own) else { return true };
    let message = "a run of commands alone has no rate";
    let help = "take iorate= out, or add wd= for a load beside the commands";
    context.push(Diagnostic::error("conflict", *span, message).help(help));
    false
}

/// Complains about loops (those that `of` wants) whose values have no place in a command.
fn unused(context: &mut ReadingContext, definition: &Definition, of: impl Fn(&Loop) -> bool) -> bool {
    let params = &definition.commands;
    let is_used =
        |one: &&Loop| params.lines.iter().chain(&params.prepare).any(|it| names_variable(&it.text, &one.name));
    let Some(one) = definition.loops.iter().filter(|one| of(one)).find(|one| !is_used(one)) else { return true };
    let shown: String = definition.name.chars().take(40).collect();
    let message = format!("nothing in rd={shown} uses the variable `{}`", one.name);
    let help = if params.lines.is_empty() {
        format!("add cmd=\"PROGRAM {{{}}}\", or take it out", one.name)
    } else {
        format!("write {{{}}} in cmd= or prepare= where its values belong", one.name)
    };
    context.push(Diagnostic::error("unused-variable", one.span, message).help(help));
    false
}

/// The commands of one run, behind its other workloads, which are here only for their names; `None` when it is too much.
pub(crate) fn workloads(
    context: &mut ReadingContext,
    definition: &Definition,
    loops: &[(String, String)],
    others: &[Workload],
) -> Option<Vec<Workload>> {
    let params = &definition.commands;
    let mut taken: BTreeSet<String> = match params.lines.is_empty() {
        true => return Some(Vec::new()),
        false => others.iter().map(|other| other.name.clone()).collect(),
    };
    let filled = |context: &mut ReadingContext, text: &Text| -> Option<CommandLine> {
        let Some(line) = substitute(&text.text, loops) else {
            let message = "the command is longer than 128 KiB with its variables";
            let found = Diagnostic::error("too-long", text.span, message);
            context.push(found.help("the kernel takes no longer one: put the text into a file and name that"));
            return None;
        };
        context.work(line.len() / 8 + 8, text.span).then_some(CommandLine::Shell(line))
    };
    let mut out = Vec::with_capacity(params.lines.len());
    for text in &params.lines {
        let line = filled(context, text)?;
        let prepare = match &params.prepare {
            Some(prepare) => Some(filled(context, prepare)?),
            None => None,
        };
        let load = CommandLoad {
            line,
            prepare,
            warmups: params.warmups,
            executions: match params.times {
                _ if !params.at.is_empty() => None,
                None => Some(1),
                Some((ExecutionCount::Number(number), _)) => Some(number),
                Some((ExecutionCount::Max, _)) => None,
            },
            at_ns: params.at.iter().map(|(at_ns, _)| *at_ns).collect(),
            ignores_failure: false,
            baselines: params.baselines.unwrap_or(u32::from(!params.at.is_empty() && !is_alone(definition))),
        };
        let name = unique_name(&shell_stem(&text.text), &mut taken);
        out.push(Workload::of_commands(name, load, text.span));
    }
    Some(out)
}
