//! Job files as text: sections, options with their places, includes and environment variables.

use crate::catalogue;
use parameter_text::{Diagnostic, FileLoader, LoadedFile, ReadingContext, SourceOwner};
use plan::{ParameterText, TextSpan};
use std::path::{Path, PathBuf};

/// Includes inside of includes.
const NESTING_MAX: usize = 16;
/// Bytes of all texts together.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// One `name=value` line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) key: String,
    pub(crate) key_span: TextSpan,
    /// What stands behind the `=`, variables resolved; `None` for a bare name.
    pub(crate) value: Option<String>,
    /// Of the value; of the name when there is none.
    pub(crate) span: TextSpan,
}

/// `[name]` with its options.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) span: TextSpan,
    pub(crate) lines: Vec<Line>,
    /// The first section of a further job file waits for the files before it.
    pub(crate) first_of_file: bool,
}

impl Section {
    pub(crate) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// Reads job files into sections.
pub(crate) struct Reader<'a> {
    loader: &'a dyn FileLoader,
    environment: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) sections: Vec<Section>,
    /// Only these sections are read, beside `[global]`; empty: all.
    wanted: &'a [String],
    /// Those that were not.
    pub(crate) skipped: Vec<String>,
    /// The section that is being read is not wanted.
    is_skipping: bool,
    /// It stands in a file: jobs of flags are all wanted.
    pub(crate) is_file: bool,
    /// `;` and `#` begin comments: not in what stands on a command line.
    pub(crate) has_comments: bool,
    files: usize,
    bytes: usize,
}

/// A text, and whose file it is.
type OwnedText = (String, Option<SourceOwner>);

impl<'a> Reader<'a> {
    pub(crate) fn new(
        loader: &'a dyn FileLoader,
        environment: &'a dyn Fn(&str) -> Option<String>,
        wanted: &'a [String],
    ) -> Self {
        let (sections, skipped) = (Vec::new(), Vec::new());
        Self {
            loader,
            environment,
            sections,
            wanted,
            skipped,
            is_skipping: false,
            is_file: true,
            has_comments: true,
            files: 0,
            bytes: 0,
        }
    }

    /// Reads one file of the command line.
    pub(crate) fn file(&mut self, context: &mut ReadingContext, path: &Path) {
        let name = if path == Path::new("-") { "<standard input>".to_string() } else { path.display().to_string() };
        match self.load(path) {
            Ok((text, owner)) => self.source(context, &name, path, (text, owner)),
            Err(why) => {
                let span = whole(context);
                context.sources.push(ParameterText { name, text: String::new() });
                let found = Diagnostic::error("cannot-read", span, format!("failed to read the job file: {why}"));
                context.push(found);
            }
        }
    }

    /// Reads a text that is no file.
    pub(crate) fn text(&mut self, context: &mut ReadingContext, name: &str, path: &Path, text: String) {
        self.source(context, name, path, (text, None));
    }

    fn source(&mut self, context: &mut ReadingContext, name: &str, path: &Path, (text, owner): OwnedText) {
        let source = context.add_file(name.to_string(), text.clone(), owner);
        let sections_before = self.sections.len();
        self.is_skipping = false;
        self.lines(context, source, path, &text, &mut vec![path.to_path_buf()]);
        let mut new = self.sections.iter_mut().skip(sections_before);
        let first = new.find(|section| !section.is_global());
        if let Some(first) = first.filter(|_| self.files > 0) {
            first.first_of_file = true;
        }
        self.files += 1;
    }

    /// Adds options to every job there is so far.
    pub(crate) fn addition(&mut self, context: &mut ReadingContext, name: &str, text: String) {
        let sections = std::mem::take(&mut self.sections);
        let any = TextSpan { source: u32::try_from(context.sources.len()).unwrap_or(u32::MAX), start: 0, len: 0 };
        self.sections.push(Section { name: String::new(), span: any, lines: Vec::new(), first_of_file: false });
        self.text(context, name, Path::new(""), text);
        let lines = self.sections.pop().map(|section| section.lines).unwrap_or_default();
        self.sections = sections;
        for section in self.sections.iter_mut().filter(|section| !section.is_global()) {
            section.lines.extend(lines.iter().cloned());
        }
    }

    fn load(&mut self, path: &Path) -> Result<OwnedText, String> {
        let LoadedFile { bytes, owner } = self.loader.load_with_owner(path).map_err(|why| why.to_string())?;
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > TEXT_BYTES_MAX {
            return Err(parameter_text::LoadError::TooLarge.to_string());
        }
        if bytes.contains(&0) {
            return Err("it is binary (it has bytes of zero), not a job file".to_string());
        }
        String::from_utf8(bytes).map(|text| (text, owner)).map_err(|why| {
            let line = why.as_bytes()[..why.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            format!("line {} is not UTF-8", line + 1)
        })
    }

    fn lines(&mut self, context: &mut ReadingContext, source: u32, path: &Path, text: &str, open: &mut Vec<PathBuf>) {
        let is_included = open.len() > 1;
        let mut start = 0;
        for raw in text.split_inclusive('\n') {
            let at = start + (raw.len() - raw.trim_start().len());
            start += raw.len();
            let line = self.without_comment(raw).trim();
            if line.is_empty() || context.full() {
                continue;
            }
            let span = |from: usize, len: usize| TextSpan {
                source,
                start: u32::try_from(at + from).unwrap_or(u32::MAX),
                len: u32::try_from(len).unwrap_or(0),
            };
            if line.starts_with('[') {
                self.section(context, line, span(0, line.len()), is_included);
                continue;
            }
            if self.is_skipping {
                continue;
            }
            if let Some(rest) = line.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t', '='])) {
                let name = rest.trim_start_matches(['=', ' ', '\t']);
                self.include(context, path, name, span(line.len() - name.len(), name.len()), open);
                continue;
            }
            let (key, value) = match line.split_once('=') {
                Some((key, value)) => (key.trim_end(), Some(value.trim())),
                None => (line, None),
            };
            let value_span = match value {
                Some(value) => span(line.len() - value.len(), value.len()),
                None => span(0, key.len()),
            };
            if key.is_empty() || key.contains(char::is_whitespace) && value.is_none() {
                let found = Diagnostic::error("not-an-option", span(0, line.len()), "this is no option");
                context.push(found.help("one option per line: name=value; comments begin with ; or #"));
                continue;
            }
            let value = match value.map(|value| self.resolve(context, value, value_span)) {
                Some(None) => continue,
                resolved => resolved.flatten(),
            };
            let one = Line { key: catalogue::canonical(key), key_span: span(0, key.len()), value, span: value_span };
            match self.sections.last_mut() {
                Some(section) => section.lines.push(one),
                None => {
                    let message = format!("the option `{key}` stands before the first section");
                    let found = Diagnostic::error("outside-of-section", one.key_span, message);
                    context.push(found.help("write [global] above it, or the [name] of its job"));
                    // Once is enough for all lines of a headless file.
                    self.sections.push(Section {
                        name: "global".to_string(),
                        span: one.key_span,
                        lines: vec![one],
                        first_of_file: false,
                    });
                }
            }
        }
    }

    /// As fio has it, a comment begins anywhere in a file; of flags fio takes one for a comment in the names of files only.
    fn without_comment<'t>(&self, line: &'t str) -> &'t str {
        let has_comment = self.has_comments || line.trim_start().starts_with("filename=");
        if has_comment { line.split([';', '#']).next().unwrap_or("") } else { line }
    }

    fn section(&mut self, context: &mut ReadingContext, line: &str, span: TextSpan, is_included: bool) {
        if is_included {
            let found = Diagnostic::error("section-in-include", span, "an included file must not begin a section");
            context.push(found.help("move the section into the including file; include only its options"));
            return;
        }
        let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            context.push(
                Diagnostic::error("section-open", span, "the name of this section is not closed").help("write [name]"),
            );
            return;
        };
        if name.trim().is_empty() {
            context.push(Diagnostic::error("section-name", span, "this section has no name").help("write [name]"));
            return;
        }
        let section = Section { name: name.trim().to_string(), span, lines: Vec::new(), first_of_file: false };
        self.is_skipping =
            self.is_file && !self.wanted.is_empty() && !section.is_global() && !self.wanted.contains(&section.name);
        if self.is_skipping {
            self.skipped.push(section.name);
        } else {
            self.sections.push(section);
        }
    }

    fn include(
        &mut self,
        context: &mut ReadingContext,
        path: &Path,
        name: &str,
        span: TextSpan,
        open: &mut Vec<PathBuf>,
    ) {
        let error = |message: String| Diagnostic::error("include", span, message);
        if name.is_empty() {
            context.push(error("include needs the name of a file".to_string()));
            return;
        }
        if self.sections.is_empty() {
            context.push(error("include stands before the first section".to_string()).help("write [global] above it"));
            return;
        }
        // As fio has it: as it stands, or relative to the including file.
        let relative = path.parent().unwrap_or(Path::new("")).join(name);
        let (file, loaded) = match self.load(Path::new(name)) {
            Ok(loaded) => (PathBuf::from(name), Ok(loaded)),
            Err(_) if relative != Path::new(name) => (relative.clone(), self.load(&relative)),
            Err(why) => (PathBuf::from(name), Err(why)),
        };
        if open.contains(&file) || open.len() >= NESTING_MAX {
            context.push(error(format!("`{name}` includes itself, or includes are nested too deep")));
            return;
        }
        match loaded {
            Ok((text, owner)) => {
                let source = context.add_file(file.display().to_string(), text.clone(), owner);
                open.push(file.clone());
                self.lines(context, source, &file, &text, open);
                open.pop();
            }
            Err(why) => context.push(error(format!("failed to read the included file `{name}`: {why}"))),
        }
    }

    /// `${NAME}` from the environment, and fio's `$pagesize`, `$mb_memory`, `$ncpus`, with arithmetic beside those; `None` after a
    /// mistake.
    fn resolve(&self, context: &mut ReadingContext, value: &str, span: TextSpan) -> Option<String> {
        let mut out = String::new();
        let mut rest = value;
        while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            let Some(end) = rest[at..].find('}') else {
                context.push(Diagnostic::error("variable", span, "`${` is not closed by `}`"));
                return None;
            };
            let name = &rest[at + 2..at + end];
            match (self.environment)(name) {
                Some(found) => out.push_str(&found),
                None => {
                    let message = format!("the environment variable `{name}` is not set");
                    let help = format!("set it: {name}=… iodyno run …");
                    context.push(Diagnostic::error("variable", span, message).help(help));
                    return None;
                }
            }
            rest = &rest[at + end + 1..];
        }
        out.push_str(rest);
        let mut is_replaced = false;
        for (word, variable) in [("$pagesize", "pagesize"), ("$mb_memory", "mb_memory"), ("$ncpus", "ncpus")] {
            if out.contains(word) {
                out = out.replace(word, &reserved(variable));
                is_replaced = true;
            }
        }
        let reckoned = crate::arithmetic::value(&out).filter(|_| is_replaced);
        Some(reckoned.unwrap_or(out))
    }
}

/// A span for a file as a whole that is about to be added.
fn whole(context: &ReadingContext) -> TextSpan {
    TextSpan { source: u32::try_from(context.sources.len()).unwrap_or(u32::MAX), start: 0, len: 0 }
}

/// What fio's reserved words stand for on this machine.
fn reserved(word: &str) -> String {
    match word {
        "pagesize" => page_bytes().unwrap_or(4096).to_string(),
        // Of the machine, whichever of them this process may use.
        "ncpus" => {
            let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").ok();
            let usable = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
            text.and_then(|text| cpus_in(text.trim())).unwrap_or_else(usable).to_string()
        }
        _ => {
            let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
            let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"));
            let kib: u64 = kib.and_then(|kib| kib.trim().parse().ok()).unwrap_or(0);
            (kib / 1024).to_string()
        }
    }
}

/// The kernel's page size.
fn page_bytes() -> Option<u64> {
    const AT_PAGESZ: u64 = 6;
    let pairs = std::fs::read("/proc/self/auxv").ok()?;
    let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_ne_bytes);
    let pair = pairs.chunks_exact(16).find(|pair| number(&pair[..8]) == Some(AT_PAGESZ))?;
    number(&pair[8..])
}

/// How many CPUs a list such as `0-3,8` has.
fn cpus_in(list: &str) -> Option<u64> {
    let of = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
    };
    list.split(',').map(of).sum()
}
