//! Commands as load: `cmd=` of a run definition and what belongs to it. An addition to Vdbench's language.

use super::keys::{self, Section};
use super::param::{Param, Text};
use super::run::{Definition, Loop};
use super::value::{self, Unit, plain};
use crate::commands::{is_variable_name, names_variable, shell_stem, substitute, unique_name};
use crate::context::Context;
use crate::diagnostic::Diagnostic;
use plan::{CommandLine, CommandLoad, TextSpan, Workload};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Most executions of a kind.
const EXECUTIONS_MAX: u32 = 1_000_000;

/// How often a command is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExecutionCount {
    Number(u64),
    /// As often as the run has time for.
    Max,
}

/// What a run definition says of commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandParams {
    /// `cmd=`, variables still in their places.
    pub(crate) lines: Vec<Text>,
    pub(crate) prepare: Option<Text>,
    times: Option<(ExecutionCount, TextSpan)>,
    warmups: u32,
    /// Moments, ns.
    at: Vec<(u64, TextSpan)>,
    at_span: TextSpan,
    baselines: Option<u32>,
    /// What this very definition gives besides `cmd=`, the first.
    given: Option<(&'static str, TextSpan)>,
    /// Has this very definition a `cmd=`?
    has_lines: bool,
}

impl CommandParams {
    /// As the next definition begins with it.
    pub(crate) fn inherited(&self) -> Self {
        Self { given: None, has_lines: false, ..self.clone() }
    }

    /// What a copy costs, in units of work.
    pub(crate) fn weight(&self) -> usize {
        let texts = self.lines.iter().chain(&self.prepare);
        texts.map(|text| 16 + text.text.len() / 8).sum::<usize>() + self.at.len() * self.lines.len().max(1)
    }

    /// Takes one of the parameters.
    pub(crate) fn set(&mut self, context: &mut Context, name: &'static str, param: &Param) {
        if name != "cmd" {
            self.given = self.given.or(Some((name, param.key_span)));
        }
        let count = |context: &mut Context, low: u32| value::count(context, name, param, low..=EXECUTIONS_MAX);
        match name {
            "cmd" => self.set_lines(context, param),
            "prepare" => self.prepare = value::text(context, name, param).filter(|text| is_line(context, name, text)),
            "times" => {
                let is_max = matches!(&param.values[..], [text] if text.text.eq_ignore_ascii_case("max"));
                let times = match is_max {
                    true => Some(ExecutionCount::Max),
                    false => count(context, 1).map(|number| ExecutionCount::Number(u64::from(number))),
                };
                self.times = times.map(|times| (times, param.span)).or(self.times);
            }
            "warmups" => self.warmups = count(context, 0).unwrap_or(self.warmups),
            "baseline" => {
                let is_no = matches!(&param.values[..], [text] if text.text.eq_ignore_ascii_case("no"));
                self.baselines = if is_no { Some(0) } else { count(context, 0).or(self.baselines) };
            }
            _ => self.set_moments(context, param),
        }
    }

    fn set_lines(&mut self, context: &mut Context, param: &Param) {
        if self.has_lines {
            let found = Diagnostic::error("duplicate", param.key_span, "a second cmd= in one run definition");
            context.push(found.help("write cmd=(\"FIRST\",\"SECOND\"): each is executed by itself"));
            return;
        }
        self.has_lines = true;
        self.lines.clone_from(&param.values);
        self.lines.retain(|text| is_line(context, "cmd", text));
    }

    fn set_moments(&mut self, context: &mut Context, param: &Param) {
        let Some(numbers) = value::numbers(context, "at", param, Unit::Time) else { return };
        (self.at, self.at_span) = (Vec::with_capacity(numbers.len()), param.span);
        for number in &numbers {
            let Some(seconds) = value::check_bounds(context, "at", number, 0.0..=1e9) else { return };
            let at_ns = value::to_u64(seconds * 1e9);
            if let Some((before, _)) = self.at.last().filter(|(before, _)| *before >= at_ns) {
                let message = format!("at={} comes behind {} and is not later", plain(seconds), seconds_of(*before));
                let found = Diagnostic::error("at", number.span, message);
                context.push(found.help("write the moments in their order, each once: at=(15,30,45)"));
                return;
            }
            self.at.push((at_ns, number.span));
        }
    }
}

fn seconds_of(ns: u64) -> String {
    plain(ns as f64 / 1e9)
}

/// Is there something to execute?
fn is_line(context: &mut Context, name: &str, text: &Text) -> bool {
    let is_empty = text.text.trim().is_empty();
    if is_empty {
        let found = Diagnostic::error("no-value", text.span, format!("`{name}=` has an empty command"));
        context.push(found.help(format!("write {name}=\"PROGRAM ARGUMENT…\", or take it out")));
    }
    !is_empty
}

/// `vary=(name,v1,v2,…)`: a loop over texts.
pub(crate) fn vary(context: &mut Context, param: &Param) -> Option<Loop> {
    let mut fail = |span: TextSpan, message: String, help: String| {
        context.push(Diagnostic::error("vary", span, message).help(help));
        None
    };
    let [name, values @ ..] = param.values.as_slice() else { return None };
    let shown: String = name.text.chars().take(40).collect();
    if values.is_empty() {
        let help = "write vary=(NAME,VALUE,VALUE,…), and {NAME} in cmd= where its values belong".to_string();
        return fail(param.span, format!("vary= has no values for `{shown}`"), help);
    }
    if !is_variable_name(&name.text) {
        let help = "letters, digits and `_`, 40 at most, no digit in front: vary=(mem,1m,64m)".to_string();
        return fail(name.span, format!("`{shown}` is no name of a variable"), help);
    }
    let lower = name.text.to_lowercase();
    if let Some(key) = keys::exact_name(Section::Run, &lower) {
        let of_loops = keys::exact_name(Section::Run, &format!("for{key}"));
        let help = match of_loops {
            Some(word) => format!("write {word}=(…); {{{key}}} in cmd= stands for its values, too"),
            None => "give the variable another name".to_string(),
        };
        return fail(name.span, format!("`{shown}` is a keyword of rd=, not a name for a variable"), help);
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = values.iter().find(|text| !seen.insert(text.text.as_str())) {
        let value: String = twice.text.chars().take(40).collect();
        let message = format!("vary= has `{value}` twice: two runs would have one name");
        return fail(twice.span, message, "list each value once; times=N repeats".to_string());
    }
    if values.iter().all(|text| text.text.is_empty()) {
        let message = format!("the only value of `{shown}` is empty");
        return fail(param.span, message, "take the variable out".to_string());
    }
    let values = values.iter().map(|text| (0.0, text.text.clone())).collect();
    Some(Loop { name: Cow::Owned(name.text.clone()), values, is_text: true, span: param.span })
}

/// Does the definition execute commands and nothing else?
pub(crate) fn is_alone(definition: &Definition) -> bool {
    !definition.commands.lines.is_empty()
        && definition.works.is_empty()
        && definition.targets.is_empty()
        && definition.file_works.is_empty()
}

/// Do the parameters of a definition go together? Says what does not.
pub(crate) fn check(context: &mut Context, definition: &Definition) -> bool {
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

fn check_moments(context: &mut Context, definition: &Definition) -> bool {
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
fn check_alone(context: &mut Context, definition: &Definition) -> bool {
    if !is_alone(definition) {
        return true;
    }
    let Some((_, span)) = definition.rate.as_ref().filter(|_| definition.is_rate_own) else { return true };
    let message = "a run of commands alone has no rate";
    let help = "take iorate= out, or add wd= for a load beside the commands";
    context.push(Diagnostic::error("conflict", *span, message).help(help));
    false
}

/// Complains about loops (those that `of` wants) whose values have no place in a command.
fn unused(context: &mut Context, definition: &Definition, of: impl Fn(&Loop) -> bool) -> bool {
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
    context: &mut Context,
    definition: &Definition,
    loops: &[(String, String)],
    others: &[Workload],
) -> Option<Vec<Workload>> {
    let params = &definition.commands;
    let mut taken: BTreeSet<String> = match params.lines.is_empty() {
        true => return Some(Vec::new()),
        false => others.iter().map(|other| other.name.clone()).collect(),
    };
    let filled = |context: &mut Context, text: &Text| -> Option<CommandLine> {
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
            baselines: params.baselines.unwrap_or(u32::from(!params.at.is_empty())),
        };
        let name = unique_name(&shell_stem(&text.text), &mut taken);
        out.push(Workload::of_commands(name, load, text.span));
    }
    Some(out)
}
