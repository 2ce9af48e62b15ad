//! Variables of parameter files: values from the command line, and defaults of `variable=` lines.

use crate::line::{COMMAND_LINE, Line, index_u32};
use parameter_text::{Diagnostic, ReadingContext};
use plan::{ParameterText, TextSpan};
use quantity::suggest::did_you_mean;
use std::path::Path;

/// The word that a line begins with which declares one.
const DECLARES: &str = "variable=";

/// `7*50*20`, whole numbers by which a default follows from other variables, is their product; `None`: it is something else, or too
/// large for 64 bits.
fn product(text: &str) -> Option<String> {
    let is_one = text.contains('*') && text.split('*').all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let parts = || text.split('*').map(str::parse::<u64>);
    let whole = parts().try_fold(1, |product: u64, part| product.checked_mul(part.ok()?));
    whole.filter(|_| is_one).map(|whole| whole.to_string())
}

/// A variable and its value.
#[derive(Debug)]
pub(crate) struct Variable {
    name: String,
    value: String,
    /// Some text had it.
    used: bool,
    /// A file says what it is for.
    declared: bool,
}

impl Variable {
    /// What stands for it.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// Its bytes behind the mark.
    pub(crate) fn len(&self) -> usize {
        self.name.len()
    }
}

/// All of a reading; longer names come first.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    all: Vec<Variable>,
}

impl Variables {
    /// Those of the command line.
    pub(crate) fn new(given: &[(String, String)]) -> Self {
        let mut variables = Self::default();
        for (name, value) in given {
            variables.add(Variable { name: name.clone(), value: value.clone(), used: false, declared: false });
        }
        variables
    }

    /// Of the same length, the one that was there first stays in front.
    fn add(&mut self, variable: Variable) {
        let at = self.all.partition_point(|other| other.name.len() >= variable.name.len());
        self.all.insert(at, variable);
    }

    /// The variable whose name the text begins with, the longest; it counts as used.
    pub(crate) fn named_at(&mut self, text: &str) -> Option<&Variable> {
        let found = self.all.iter_mut().find(|one| !one.name.is_empty() && text.starts_with(one.name.as_str()))?;
        found.used = true;
        Some(found)
    }

    /// Reads a line if it declares a variable: `variable=(files,1000)` with a default, `variable=anchor` that must be given. What the
    /// command line, or a line before, has set stays. `file` is what the user named.
    pub(crate) fn declare(&mut self, context: &mut ReadingContext, line: &Line, file: Option<&Path>) -> bool {
        let is_one = line.text.get(..DECLARES.len()).is_some_and(|word| word.eq_ignore_ascii_case(DECLARES));
        if !is_one {
            return false;
        }
        let word = line.text[DECLARES.len()..].split(char::is_whitespace).next().unwrap_or_default();
        let span = line.span(DECLARES.len(), DECLARES.len() + word.len().max(1));
        let inner = word.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
        let (name, default) = match inner.unwrap_or(word).split_once(',') {
            Some((name, value)) => (name, Some(value)),
            None => (inner.unwrap_or(word), None),
        };
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name || default.is_some() != inner.is_some() {
            let found = Diagnostic::error("variable", span, format!("`{word}` declares no variable"));
            context.push(found.help("write variable=(NAME,DEFAULT), or variable=NAME for one that must be given"));
            return true;
        }
        if let Some(known) = self.all.iter_mut().find(|known| known.name == name) {
            known.declared = true;
            return true;
        }
        // What stands for one that is missing lets the other mistakes of the file be found.
        let (example, stands) = if name == "anchor" { ("/mnt/test", "/mnt/test") } else { ("VALUE", "1") };
        if default.is_none() {
            let file = file.unwrap_or(Path::new("FILE")).display();
            let message = format!("the variable `${name}` has no value");
            let found = Diagnostic::error("missing-variable", span, message);
            context.push(found.help(format!("give it on the command line: iodyno run {file} {name}={example}")));
        }
        let value = default.unwrap_or(stands);
        let value = product(value).unwrap_or_else(|| value.to_string());
        self.add(Variable { name: name.to_string(), value, used: true, declared: true });
        true
    }

    /// Complains about those of the command line that no file has.
    pub(crate) fn check_used(&self, context: &mut ReadingContext) {
        let declared: Vec<&str> = self.all.iter().filter(|one| one.declared).map(|one| one.name.as_str()).collect();
        for variable in self.all.iter().filter(|variable| !variable.used) {
            let Variable { name, value, .. } = variable;
            let span = TextSpan { source: index_u32(context.sources.len()), start: 0, len: index_u32(name.len()) };
            context.sources.push(ParameterText { name: COMMAND_LINE.to_string(), text: format!("{name}={value}") });
            let message = format!("the variable `{name}` is used by no parameter file");
            let others = || declared.iter().copied().filter(|other| other != name);
            let help = did_you_mean(name, others()).unwrap_or_else(|| match others().next() {
                Some(_) => format!("the files have these: {}", others().collect::<Vec<_>>().join(", ")),
                None => format!("write ${name} where its value belongs, or leave it out"),
            });
            context.push(Diagnostic::error("unused-variable", span, message).help(help));
        }
    }
}
