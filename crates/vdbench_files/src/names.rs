//! Lists of names: exact, wildcards, and ranges of names with a number at the end.

use crate::param::Text;
use parameter_text::{Diagnostic, DiagnosticSeverity, ReadingContext};
use quantity::suggest::did_you_mean;
use std::collections::{BTreeSet, HashMap};

/// Most names that one range may stand for.
const RANGE_MAX: u64 = 16_384;

/// The definitions that can be named.
#[derive(Debug)]
pub(crate) struct Names {
    /// `sd`, `wd`, … for messages.
    word: &'static str,
    list: Vec<String>,
    index: HashMap<String, usize>,
}

impl Names {
    pub(crate) fn new(word: &'static str, names: impl IntoIterator<Item = String>) -> Self {
        let list: Vec<String> = names.into_iter().collect();
        let index = list.iter().cloned().enumerate().map(|(at, name)| (name, at)).collect();
        Self { word, list, index }
    }

    /// Indices of all that `wanted` names, in the order in which they were named; an error where one is named twice.
    pub(crate) fn select(&self, context: &mut ReadingContext, wanted: &[Text]) -> Vec<usize> {
        self.select_as(context, wanted, DiagnosticSeverity::Error)
    }

    /// As [`Names::select`] for a list that nothing uses: what is wrong is a warning.
    pub(crate) fn look_over(&self, context: &mut ReadingContext, wanted: &[Text]) {
        let _ = self.select_as(context, wanted, DiagnosticSeverity::Warning);
    }

    fn select_as(&self, context: &mut ReadingContext, wanted: &[Text], severity: DiagnosticSeverity) -> Vec<usize> {
        let (mut out, mut seen) = (Vec::new(), BTreeSet::new());
        for text in wanted {
            for at in self.one(context, text, severity) {
                if seen.insert(at) {
                    out.push(at);
                } else if !matches!(self.word, "fwd" | "fsd") {
                    let shown: String = self.list[at].chars().take(40).collect();
                    let message = format!("`{}={shown}` is named twice", self.word);
                    let found = Diagnostic { severity, ..Diagnostic::error("duplicate", text.span, message) };
                    context.push(found.help("name each once"));
                    return out;
                }
            }
        }
        out
    }

    fn one(&self, context: &mut ReadingContext, text: &Text, severity: DiagnosticSeverity) -> Vec<usize> {
        if let Some(at) = self.index.get(&text.text) {
            return if context.work(1, text.span) { vec![*at] } else { Vec::new() };
        }
        if let Some(stem) = text.text.strip_suffix('*') {
            if !context.work(self.list.len(), text.span) {
                return Vec::new();
            }
            let hits: Vec<usize> = (0..self.list.len()).filter(|at| self.list[*at].starts_with(stem)).collect();
            if hits.is_empty() {
                self.missing(context, text, &text.text, severity);
            }
            return hits;
        }
        match range(&text.text) {
            Some((prefix, from, to, width)) => self.range(context, text, (prefix, from..=to, width), severity),
            None => {
                self.missing(context, text, &text.text, severity);
                Vec::new()
            }
        }
    }

    fn range(
        &self,
        context: &mut ReadingContext,
        text: &Text,
        (prefix, numbers, width): (&str, std::ops::RangeInclusive<u64>, usize),
        severity: DiagnosticSeverity,
    ) -> Vec<usize> {
        let many = numbers.end().saturating_sub(*numbers.start());
        if many == 0 || many >= RANGE_MAX {
            let message = format!("the range `{}` must rise, over at most {RANGE_MAX} names", text.text);
            let help = format!("for one, write {prefix}{:0width$}", numbers.start());
            let help = (numbers.start() == numbers.end()).then_some(help);
            context.push(Diagnostic::error("range", text.span, message).help_if(help));
            return Vec::new();
        }
        let mut hits = Vec::new();
        for number in numbers {
            if !context.work(1, text.span) {
                break;
            }
            let name = format!("{prefix}{number:0width$}");
            match self.index.get(&name) {
                Some(at) => hits.push(*at),
                None => {
                    let message = format!("there is no `{}={name}`, which `{}` stands for", self.word, text.text);
                    let found = Diagnostic { severity, ..Diagnostic::error("unknown-name", text.span, message) };
                    context.push(found.help(format!("there is {}", self.some())));
                    break;
                }
            }
        }
        hits
    }

    fn missing(&self, context: &mut ReadingContext, text: &Text, name: &str, severity: DiagnosticSeverity) {
        let shown: String = name.chars().take(40).collect();
        let message = format!("there is no `{}={shown}`", self.word);
        let found = Diagnostic { severity, ..Diagnostic::error("unknown-name", text.span, message) };
        let help = if context.full() {
            None
        } else if self.list.is_empty() {
            Some(format!("define it: {}={shown},…", self.word))
        } else if name.ends_with('*') {
            Some(format!("no {} begins like that; there is {}", self.word, self.some()))
        } else {
            did_you_mean(name, self.list.iter().map(String::as_str))
                .or_else(|| Some(format!("there is {}", self.some())))
        };
        context.push(found.help_if(help));
    }

    /// The first names.
    fn some(&self) -> String {
        let few: Vec<String> = self.list.iter().take(5).map(|name| name.chars().take(40).collect::<String>()).collect();
        let more = if self.list.len() > few.len() { ", …" } else { "" };
        format!("{}{more}", few.join(", "))
    }
}

/// `sd1-sd4` → (`sd`, 1, 4, digits to keep).
fn range(text: &str) -> Option<(&str, u64, u64, usize)> {
    for (at, _) in text.match_indices('-') {
        let (left, right) = (&text[..at], &text[at + 1..]);
        let stem = left.trim_end_matches(|c: char| c.is_ascii_digit());
        let from = &left[stem.len()..];
        let Some(to) = right.strip_prefix(stem) else { continue };
        let (Ok(low), Ok(high)) = (from.parse(), to.parse()) else { continue };
        let padded = from.starts_with('0') && from.len() == to.len();
        return Some((stem, low, high, if padded { from.len() } else { 0 }));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_of_names() {
        assert_eq!(range("sd1-sd4"), Some(("sd", 1, 4, 0)));
        assert_eq!(range("sd01-sd12"), Some(("sd", 1, 12, 2)));
        assert_eq!(range("a-b1-a-b3"), Some(("a-b", 1, 3, 0)));
        assert_eq!(range("sd1-wd4"), None);
        assert_eq!(range("sda-sdd"), None);
        assert_eq!(range("sd1"), None);
    }
}
