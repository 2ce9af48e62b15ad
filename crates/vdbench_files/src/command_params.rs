//! What a run definition says of commands: `cmd=` and its kin, and `vary=`. Additions to Vdbench's language.

use crate::keys::{self, Section};
use crate::param::{Param, Text};
use crate::value::{self, Unit, plain};
use parameter_text::{Diagnostic, ReadingContext};
use plan::TextSpan;
use plan::commands::is_variable_name;
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
    pub(crate) times: Option<(ExecutionCount, TextSpan)>,
    pub(crate) warmups: u32,
    /// Moments, ns.
    pub(crate) at: Vec<(u64, TextSpan)>,
    pub(crate) at_span: TextSpan,
    pub(crate) baselines: Option<u32>,
    /// What this very definition gives besides `cmd=`, the first.
    pub(crate) given: Option<(&'static str, TextSpan)>,
    /// Has this very definition a `cmd=`?
    pub(crate) has_lines: bool,
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
    pub(crate) fn set(&mut self, context: &mut ReadingContext, name: &'static str, param: &Param) {
        if name != "cmd" {
            self.given = self.given.or(Some((name, param.key_span)));
        }
        let count = |context: &mut ReadingContext, low: u32| value::count(context, name, param, low..=EXECUTIONS_MAX);
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

    fn set_lines(&mut self, context: &mut ReadingContext, param: &Param) {
        if self.has_lines {
            let found = Diagnostic::error("duplicate", param.key_span, "a second cmd= in one run definition");
            context.push(found.help("write cmd=(\"FIRST\",\"SECOND\"): each is executed by itself"));
            return;
        }
        self.has_lines = true;
        self.lines.clone_from(&param.values);
        for text in &self.lines {
            is_line(context, "cmd", text);
        }
    }

    fn set_moments(&mut self, context: &mut ReadingContext, param: &Param) {
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

pub(crate) fn seconds_of(ns: u64) -> String {
    plain(ns as f64 / 1e9)
}

/// Is there something to execute?
fn is_line(context: &mut ReadingContext, name: &str, text: &Text) -> bool {
    let is_empty = text.text.trim().is_empty();
    if is_empty {
        let found = Diagnostic::error("no-value", text.span, format!("`{name}=` has an empty command"));
        context.push(found.help(format!("write {name}=\"PROGRAM ARGUMENT…\", or take it out")));
    }
    !is_empty
}

/// `vary=(name,v1,v2,…)`: a loop over texts, its name and its values.
pub(crate) fn vary(context: &mut ReadingContext, param: &Param) -> Option<(String, Vec<String>)> {
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
    Some((name.text.clone(), values.iter().map(|text| text.text.clone()).collect()))
}
