//! What `replay=` of a run definition and `rg=` say.

use crate::param::Param;
use crate::statement::{self, Statement};
use crate::value::{self, Unit};
use parameter_text::{Diagnostic, ReadingContext};
use plan::TextSpan;

/// `replay=(file,…)` of a run definition.
#[derive(Clone, Debug)]
pub(crate) struct ReplayParams {
    pub(crate) file: String,
    pub(crate) repeat: u32,
    pub(crate) duplicate: bool,
    pub(crate) stagger_ns: u64,
    pub(crate) span: TextSpan,
}

/// `rg=name,devices=(…)`.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) devices: Vec<String>,
    pub(crate) span: TextSpan,
}

/// Reads the groups.
pub(crate) fn groups(context: &mut ReadingContext, statements: &[Statement]) -> Vec<Group> {
    let mut out: Vec<Group> = Vec::new();
    for statement in statements {
        let named = statement::check_name(context, statement);
        let mut group = Group { name: statement.name.text.clone(), devices: Vec::new(), span: statement.span };
        statement::each(context, statement, |context, name, param| {
            if value::numbers(context, name, param, Unit::Plain).is_some() {
                group.devices = param.values.iter().map(|text| text.text.clone()).collect();
            }
        });
        if group.devices.is_empty() {
            let found = Diagnostic::error("no-devices", group.span, format!("rg={} has no devices=", group.name));
            context.push(found.help("add devices=(NUMBER,…): the devices of the trace"));
        }
        if out.iter().any(|other| other.name == group.name) {
            let found = Diagnostic::error("duplicate", group.span, format!("rg={} is defined twice", group.name));
            context.push(found.help("give all its devices in one devices=(…)"));
        }
        if named {
            out.push(group);
        }
    }
    out
}

/// Reads `replay=` of a run definition.
pub(crate) fn params(context: &mut ReadingContext, param: &Param) -> Option<ReplayParams> {
    let (file, more) = param.values.split_first()?;
    let mut out =
        ReplayParams { file: file.text.clone(), repeat: 1, duplicate: false, stagger_ns: 0, span: param.span };
    for text in more {
        let wrong = |what: &str| Diagnostic::error("replay", text.span, format!("`{}`: {what}", text.text));
        let help = "replay=(FILE,split=DIR,repeat=N,duplication=y,stagger=MS,compress=y)";
        let Some((key, given)) = text.text.split_once('=') else {
            context.push(wrong("a name, an equals sign and a value are expected").help(help));
            continue;
        };
        let number = given.parse::<u32>().ok();
        match (key, number) {
            // Nothing is split here: the trace is read as it is played.
            ("split" | "compress", _) => {}
            ("repeat", Some(times @ 1..)) => out.repeat = times,
            ("duplication", _) => out.duplicate = given.starts_with('y'),
            ("stagger", Some(ms)) => out.stagger_ns = u64::from(ms) * 1_000_000,
            ("repeat" | "stagger", _) => context.push(wrong("a whole number is expected").help(help)),
            _ => context.push(wrong("there is no such parameter").help(help)),
        }
    }
    Some(out)
}
