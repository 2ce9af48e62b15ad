//! File system definitions and workloads (`fsd=`, `fwd=`): checked, not built yet.

use crate::keys::{Effect, resolve};
use crate::names::Names;
use crate::param::{Param, Text};
use crate::shared::{self, DedupParams};
use crate::statement::{self, Statement};
use crate::storage::TARGETS_MAX;
use crate::value::{self, Unit};
use parameter_text::{Diagnostic, ReadingContext};
use std::collections::BTreeSet;

/// Checks file system definitions; gives their names.
pub(crate) fn systems(context: &mut ReadingContext, statements: &[Statement]) -> Names {
    let mut names: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut anchor_default = false;
    for statement in statements {
        context.unsupported(statement.span, "file system workloads (fsd=, fwd=) are not built yet");
        let named = statement::check_name(context, statement);
        let default = statement.name.text == "default";
        let mut anchor = anchor_default;
        let mut count = None;
        let mut dedup = DedupParams::default();
        for param in &statement.params {
            let Some(key) = resolve(context, statement.section, param) else { continue };
            match key.name {
                "anchor" => anchor = value::text(context, key.name, param).is_some(),
                "count" => count = value::numbers(context, key.name, param, Unit::Plain),
                "openflags" => drop(shared::open_flags(context, param)),
                "journal" => drop(value::text(context, key.name, param)),
                name if name.starts_with("dedup") => dedup.set(context, name, param),
                name => check(context, name, key.effect, param),
            }
        }
        if default {
            anchor_default = anchor;
            continue;
        }
        let name = &statement.name.text;
        if !anchor {
            let found = Diagnostic::error("no-anchor", statement.span, format!("fsd={} has no anchor=", shown(name)));
            context.push(found.help("add anchor=/a/directory"));
        }
        if !named {
            continue;
        }
        for name in copies(context, statement, count.as_deref()) {
            if names.len() >= TARGETS_MAX {
                let message = format!("more than {TARGETS_MAX} file systems");
                context.note_once("systems", Diagnostic::error("too-much", statement.span, message));
                break;
            }
            if seen.insert(name.clone()) {
                names.push(name);
            } else {
                let message = format!("fsd={} is defined twice", shown(&name));
                context.push(Diagnostic::error("duplicate", statement.span, message));
            }
        }
    }
    Names::new("fsd", names)
}

fn shown(name: &str) -> String {
    name.chars().take(40).collect()
}

fn copies(context: &mut ReadingContext, statement: &Statement, count: Option<&[value::Number]>) -> Vec<String> {
    let name = &statement.name.text;
    let Some(numbers) = count else { return vec![name.clone()] };
    let [start, many] = numbers else {
        let found = Diagnostic::error("count", statement.span, "`count` wants two values");
        context.push(found.help("count=(START,HOW_MANY)"));
        return Vec::new();
    };
    let start = value::bytes_of(context, "count", start, 0..=1_000_000_000);
    let many = value::bytes_of(context, "count", many, 1..=16_384);
    let Some((start, many)) = start.zip(many) else { return Vec::new() };
    if !context.work(usize::try_from(many).unwrap_or(usize::MAX), statement.span) {
        return Vec::new();
    }
    (start..start + many).map(|number| format!("{name}{number}")).collect()
}

/// Checks file workloads; gives their names.
pub(crate) fn works(context: &mut ReadingContext, statements: &[Statement], systems: &Names) -> Names {
    let mut names: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut fsd_default = false;
    for statement in statements {
        let named = statement::check_name(context, statement);
        let name = statement.name.text.as_str();
        let mut fsd = fsd_default;
        for param in &statement.params {
            let Some(key) = resolve(context, statement.section, param) else { continue };
            match key.name {
                "fsd" => fsd = !systems.select(context, &param.values).is_empty() || !param.values.is_empty(),
                "target" => drop(systems.select(context, &param.values)),
                "fileselect" => words(context, key.name, param, &["random", "sequential", "once", "poisson", "skewed"]),
                "fileio" => words(context, key.name, param, &["sequential", "random", "shared", "delete"]),
                "openflags" => drop(shared::open_flags(context, param)),
                "readpct" => check(context, key.means, Effect::Number, param),
                "host" => {}
                name => check(context, name, key.effect, param),
            }
        }
        match name {
            "default" => fsd_default = fsd,
            "format" | "journal_recovery" => {}
            _ if !fsd => {
                let message = format!("fwd={} has no fsd=", shown(name));
                context.push(Diagnostic::error("no-fsd", statement.span, message).help("add fsd=NAME"));
            }
            _ if named && seen.insert(name.to_string()) => names.push(name.to_string()),
            _ if named => {
                let message = format!("fwd={} is defined twice", shown(name));
                context.push(Diagnostic::error("duplicate", statement.span, message));
            }
            _ => {}
        }
    }
    Names::new("fwd", names)
}

/// Words, and numbers such as a midpoint behind them.
fn words(context: &mut ReadingContext, name: &str, param: &Param, words: &[&str]) {
    for (at, text) in param.values.iter().enumerate() {
        if at == 0 || value::parse(&text.text, Unit::Plain).is_none() {
            let _ = value::word(context, name, text, words);
        }
    }
}

fn check(context: &mut ReadingContext, name: &str, effect: Effect, param: &Param) {
    match effect {
        Effect::Number => {
            for number in value::numbers(context, name, param, Unit::Plain).unwrap_or_default() {
                if number.value < 0.0 {
                    let message = format!("`{name}` is {}", number.value);
                    context.push(Diagnostic::error("out-of-range", number.span, message).help("allowed: 0 or more"));
                }
            }
        }
        Effect::Word(words) => {
            let texts: Vec<Text> = param.values.clone();
            for text in &texts {
                let _ = value::word(context, name, text, words);
            }
        }
        _ => {}
    }
}
