//! Files into lines: comments, includes, `eof`, variables; every byte keeps the place that it came from.

use crate::line::{Line, index_u32};
use crate::param::Param;
use crate::scan::Scanner;
use crate::variables::Variables;
use parameter_text::{Diagnostic, FileLoader, LoadError, LoadedFile, ParameterFormat, ReadingContext, sniff};
use plan::{ParameterText, TextSpan};
use quantity::suggest::did_you_mean;
use std::path::{Path, PathBuf};

/// Vdbench's limit of lines, all files together.
const LINES_MAX: u32 = 32_768;
/// Longest line, after variables were replaced.
const LINE_BYTES_MAX: usize = 1 << 20;
/// All texts together.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// How deep includes may nest (in Vdbench not at all).
const DEPTH_MAX: usize = 16;

/// Reads files and everything that they include into one stream of parameters.
pub(crate) struct SourceReader<'a> {
    loader: &'a dyn FileLoader,
    variables: Variables,
    scanner: Scanner,
    lines: u32,
    bytes: usize,
    /// Paths being read now, outermost first.
    open: Vec<PathBuf>,
    /// Texts that were read, by path.
    known: Vec<(PathBuf, u32)>,
    full: bool,
}

impl<'a> SourceReader<'a> {
    pub(crate) fn new(loader: &'a dyn FileLoader, variables: &[(String, String)]) -> Self {
        Self {
            loader,
            variables: Variables::new(variables),
            scanner: Scanner::default(),
            lines: 0,
            bytes: 0,
            open: Vec::new(),
            known: Vec::new(),
            full: false,
        }
    }

    /// Reads one file of the command line.
    pub(crate) fn file(&mut self, context: &mut ReadingContext, path: &Path) {
        match self.source_of(context, path) {
            Ok(source) if sniff(&context.sources[source as usize].text) == ParameterFormat::Fio => {
                let found =
                    Diagnostic::error("not-vdbench", TextSpan { source, start: 0, len: 0 }, "this is a fio job file");
                context.push(found.help("only Vdbench's parameter files are read so far; fio's are to come"));
            }
            Ok(source) => self.nest(context, path, source),
            Err(why) => {
                let name = path.display().to_string();
                let span = TextSpan { source: index_u32(context.sources.len()), start: 0, len: 0 };
                context.sources.push(ParameterText { name, text: String::new() });
                let found = Diagnostic::error("cannot-read", span, format!("failed to read the parameter file: {why}"));
                context.push(found);
            }
        }
    }

    /// Reads a text that is no file.
    pub(crate) fn text(&mut self, context: &mut ReadingContext, name: &str, text: &str) {
        let source = index_u32(context.sources.len());
        context.sources.push(ParameterText { name: name.to_string(), text: text.to_string() });
        self.lines_of(context, Path::new("."), source);
    }

    /// Ends the last parameter and gives all of them.
    pub(crate) fn finish(mut self, context: &mut ReadingContext) -> Vec<Param> {
        self.scanner.finish(context);
        self.variables.check_used(context);
        self.scanner.params
    }

    /// The text of a file as a source; read once however often it is included.
    fn source_of(&mut self, context: &mut ReadingContext, path: &Path) -> Result<u32, String> {
        if let Some((_, source)) = self.known.iter().find(|(known, _)| known == path) {
            return Ok(*source);
        }
        let LoadedFile { bytes, owner } = self.loader.load_with_owner(path).map_err(|why| why.to_string())?;
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > TEXT_BYTES_MAX {
            return Err(LoadError::TooLarge.to_string());
        }
        if bytes.contains(&0) {
            return Err("it is binary (it has bytes of zero), not a parameter file".to_string());
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let source = context.add_file(path.display().to_string(), text, owner);
        self.known.push((path.to_path_buf(), source));
        Ok(source)
    }

    fn nest(&mut self, context: &mut ReadingContext, path: &Path, source: u32) {
        self.open.push(path.to_path_buf());
        self.lines_of(context, path.parent().unwrap_or(Path::new("")), source);
        self.open.pop();
    }

    fn lines_of(&mut self, context: &mut ReadingContext, folder: &Path, source: u32) {
        // Taken out while it is read, so that the context stays free for findings.
        let text = std::mem::take(&mut context.sources[source as usize].text);
        let mut start = 0;
        for raw in text.split('\n') {
            if !self.line(context, folder, source, start, raw) || self.full {
                break;
            }
            start += raw.len() + 1;
        }
        context.sources[source as usize].text = text;
    }

    /// One line; false ends the file.
    fn line(&mut self, context: &mut ReadingContext, folder: &Path, source: u32, start: usize, raw: &str) -> bool {
        let lead = raw.len() - raw.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
        let (at, text) = (start + lead, raw[lead..].trim_end());
        let whole = TextSpan { source, start: index_u32(at), len: index_u32(text.len().min(80)) };
        if self.lines >= LINES_MAX {
            let message = format!("more than {LINES_MAX} lines, all files together");
            context
                .push(Diagnostic::error("too-many-lines", whole, message).help("use lists, ranges and count= instead"));
            self.full = true;
            return false;
        }
        self.lines += 1;
        if text.is_empty() || is_comment(text) {
            return true;
        }
        if is_end(text) {
            return false;
        }
        let Some(line) = self.replace(context, source, at, text) else { return true };
        if self.variables.declare(context, &line, self.open.first().map(PathBuf::as_path)) {
            return true;
        }
        match line.text.get(..8).filter(|word| word.eq_ignore_ascii_case("include=")) {
            Some(_) => self.include(context, folder, &line, whole),
            None => self.scanner.line(context, &line),
        }
        true
    }

    /// Replaces variables; the longest name that fits wins.
    fn replace(&mut self, context: &mut ReadingContext, source: u32, at: usize, text: &str) -> Option<Line> {
        let mut line = Line { source, number: self.lines, ..Line::default() };
        let mut rest = 0;
        while let Some(c) = text[rest..].chars().next() {
            let variable = match c {
                '$' | '!' => self.variables.named_at(&text[rest + 1..]),
                _ => None,
            };
            let (add, taken) = match variable {
                Some(variable) => (variable.value(), 1 + variable.len()),
                None => (&text[rest..rest + c.len_utf8()], c.len_utf8()),
            };
            if line.text.len() + add.len() > LINE_BYTES_MAX {
                let span = TextSpan { source, start: index_u32(at), len: 1 };
                let message = format!("the line is longer than {} KiB", LINE_BYTES_MAX >> 10);
                context.push(
                    Diagnostic::error("long-line", span, message).help("end a line with a comma to go on in the next"),
                );
                return None;
            }
            let origin = (index_u32(at + rest), index_u32(at + rest + taken));
            line.text.push_str(add);
            line.origin.resize(line.text.len(), origin);
            rest += taken;
        }
        Some(line)
    }

    fn include(&mut self, context: &mut ReadingContext, folder: &Path, line: &Line, whole: TextSpan) {
        let name = line.text[8..].split(char::is_whitespace).next().unwrap_or_default();
        let span = line.span(8, 8 + name.len().max(1));
        let name = name.trim_matches('"');
        if name.is_empty() {
            context.push(Diagnostic::error("include", whole, "include= names no file").help("write include=FILE"));
            return;
        }
        let beside = folder.join(name);
        let (path, source) = match self.source_of(context, &beside) {
            Ok(source) => (beside, source),
            Err(why) => match self.source_of(context, Path::new(name)) {
                Ok(source) => (PathBuf::from(name), source),
                Err(_) => {
                    let message = format!("failed to read the included file {}: {why}", beside.display());
                    let help = "a name is looked up beside the including file, then in the current directory";
                    context.push(Diagnostic::error("include", span, message).help(help));
                    return;
                }
            },
        };
        if self.open.contains(&path) {
            let message = format!("{} includes itself", path.display());
            context.push(Diagnostic::error("include-cycle", span, message).help("take this line out"));
        } else if self.open.len() >= DEPTH_MAX {
            let message = format!("includes are nested deeper than {DEPTH_MAX}");
            context.push(Diagnostic::error("include", span, message));
        } else {
            self.nest(context, &path, source);
        }
    }
}

/// Is a line left out, and perhaps all lines after it?
pub(crate) fn is_no_parameter(line: &str) -> bool {
    is_comment(line) || is_end(line)
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['/', '#', '*'])
}

fn is_end(line: &str) -> bool {
    line.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("eof"))
}

/// Complains about `$name` that no variable has replaced, where it can be nothing else.
pub(crate) fn check_variables(
    context: &mut ReadingContext,
    params: &[Param],
    names: &[(String, String)],
    host_allowed: bool,
) {
    const COMMANDS: [&str; 3] = ["startcmd", "endcmd", "heartbeat_error"];
    for param in params {
        if ["cmd", "prepare"].contains(&param.key.as_str()) {
            continue;
        }
        if COMMANDS.iter().any(|command| param.key.len() > 4 && command.starts_with(param.key.as_str())) {
            continue;
        }
        for value in &param.values {
            let Some((mark, name)) = unresolved(&value.text) else { continue };
            if host_allowed && name.starts_with("host") {
                continue;
            }
            let message = format!("the variable `{mark}{name}` has no value");
            let help = did_you_mean(name, names.iter().map(|(name, _)| name.as_str()))
                .unwrap_or_else(|| format!("give it on the command line: {name}=VALUE"));
            context.push(Diagnostic::error("unresolved-variable", value.span, message).help(help));
        }
    }
}

/// The first `$name` in a value, or a `!name` at its beginning.
fn unresolved(text: &str) -> Option<(char, &str)> {
    let from = if text.starts_with('!') { 0 } else { text.find('$')? };
    let mark = text[from..].chars().next()?;
    let name = &text[from + 1..];
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| (mark, &name[..end]))
}
