//! What was found in a parameter file, and how it is shown.

use plan::{ParameterText, TextSpan};
use quantity::visible::is_hidden;
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosticSeverity {
    /// There is no plan.
    Error,
    /// There is a plan, probably not the one that was meant.
    Warning,
    /// Understood, and without effect.
    Note,
}

impl DiagnosticSeverity {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One finding with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable name of the kind of finding, `unknown-keyword`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: DiagnosticSeverity,
    /// What is the matter: a sentence, lower case, without a full stop.
    pub message: String,
    /// What is marked in the text; may be empty.
    pub label: String,
    /// Where. The empty span at the start of a source without text means the file as a whole.
    pub span: TextSpan,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding without label and help.
    pub fn new(severity: DiagnosticSeverity, code: &'static str, span: TextSpan, message: impl Into<String>) -> Self {
        Self { code, severity, message: message.into(), label: String::new(), span, help: None }
    }

    /// An error: there is no plan. Without label and help.
    pub fn error(code: &'static str, span: TextSpan, message: impl Into<String>) -> Self {
        Self::new(DiagnosticSeverity::Error, code, span, message)
    }

    /// A warning: the plan is probably not the one that was meant. Without label and help.
    pub fn warning(code: &'static str, span: TextSpan, message: impl Into<String>) -> Self {
        Self::new(DiagnosticSeverity::Warning, code, span, message)
    }

    /// A note on what has no effect. Without label and help.
    pub fn note(code: &'static str, span: TextSpan, message: impl Into<String>) -> Self {
        Self::new(DiagnosticSeverity::Note, code, span, message)
    }

    /// The same with what is marked in the text.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same with what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with what to do, if there is something and nothing was said before.
    pub fn help_if(mut self, help: Option<String>) -> Self {
        self.help = self.help.or(help);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            DiagnosticSeverity::Error => miette::Severity::Error,
            DiagnosticSeverity::Warning => miette::Severity::Warning,
            DiagnosticSeverity::Note => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let label = (!self.label.is_empty()).then(|| self.label.clone());
        let span = miette::LabeledSpan::new(label, self.span.start as usize, self.span.len as usize);
        Some(Box::new(std::iter::once(span)))
    }
}

/// Columns of a source line that are shown; longer lines are cut around the marked part.
const SHOWN_MAX: usize = 140;

/// A finding as plain text: `file:line:column: error[code]: message`, the source line, a line that marks the place,
/// and what to do. Without a newline at the end.
pub fn render(found: &Diagnostic, sources: &[ParameterText]) -> String {
    let kind = format!("{}[{}]: {}", found.severity.word(), found.code, found.message);
    let source = usize::try_from(found.span.source).ok().and_then(|index| sources.get(index));
    let mut out = match source {
        None => kind,
        // A file as a whole.
        Some(source) if source.text.is_empty() || found.span.start + found.span.len == 0 => {
            format!("{}: {kind}", source.name)
        }
        Some(source) => with_line(found, source, &kind),
    };
    if let Some(help) = &found.help {
        out.push_str("\n  = help: ");
        out.push_str(help);
    }
    out
}

fn with_line(found: &Diagnostic, source: &ParameterText, kind: &str) -> String {
    let text = source.text.as_str();
    let start = floor_boundary(text, found.span.start as usize);
    let end = floor_boundary(text, start.saturating_add(found.span.len as usize));
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let number = text[..start].bytes().filter(|byte| *byte == b'\n').count() + 1;
    let line: Vec<char> = text[line_start..line_end].chars().map(drawn).collect();
    let column = text[line_start..start].chars().count();
    let marked = text[start..end.clamp(start, line_end)].chars().count().max(1);
    let from = if line.len() <= SHOWN_MAX { 0 } else { column.saturating_sub(SHOWN_MAX / 2) };
    let shown: String = line.iter().skip(from).take(SHOWN_MAX).collect();
    let carets = marked.min(SHOWN_MAX.saturating_sub(column - from)).max(1);
    let (head, gutter) = (number.to_string(), " ".repeat(number.to_string().len()));
    let lead = if from > 0 { "…" } else { "" };
    let pad = " ".repeat(column - from + lead.chars().count());
    let label = if found.label.is_empty() { String::new() } else { format!(" {}", found.label) };
    format!(
        "{}:{number}:{}: {kind}\n{gutter} |\n{head} | {lead}{}\n{gutter} | {pad}{}{label}",
        source.name,
        column + 1,
        shown.trim_end(),
        "^".repeat(carets),
    )
}

/// One column for each character, so that the marks stand below what they mean: what is not drawn is shown as `�`.
fn drawn(c: char) -> char {
    match c {
        '\t' | '\r' => ' ',
        c if is_hidden(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// The nearest start of a character at or before `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
