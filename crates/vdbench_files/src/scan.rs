//! Lines into parameters: `keyword=value`, `keyword=(value,value,…)`.

use crate::keys;
use crate::line::{COMMAND_LINE, Line};
use crate::param::{Param, Text};
use parameter_text::{Diagnostic, ReadingContext};
use plan::TextSpan;

/// Most values in a list as written; what ranges make of them has its own limits.
const VALUES_MAX: usize = 16_384;

/// Most values of all parameters together.
const ALL_VALUES_MAX: usize = 500_000;

/// Takes lines, makes parameters.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    pub(crate) params: Vec<Param>,
    /// A list that the line before left open with a comma.
    open: Option<(Param, usize)>,
    values: usize,
}

/// Characters of one line with the place of reading.
struct Cursor<'a> {
    line: &'a Line,
    at: usize,
    /// Where the line ends: at its first blank outside quotes.
    end: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        (self.at < self.end).then(|| self.line.text.as_bytes()[self.at])
    }

    fn take(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.at += usize::from(hit);
        hit
    }

    fn span(&self, from: usize) -> TextSpan {
        self.line.span(from, self.at.max(from + 1))
    }

    /// Text up to one of `stops` outside quotes.
    fn until(&mut self, context: &mut ReadingContext, stops: &[u8]) -> Text {
        let from = self.at;
        let (mut text, mut quote) = (Vec::new(), None);
        let mut quoted = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    quote = if quote.is_some() { None } else { Some(self.at) };
                    quoted = true;
                }
                _ if quote.is_none() && stops.contains(&byte) => break,
                _ => text.push(byte),
            }
            self.at += 1;
        }
        if let Some(start) = quote {
            let found = Diagnostic::error("quote", self.line.span(start, start + 1), "the quote is never closed");
            context.push(found.help("put a second `\"` at the end of the text, on the same line"));
        }
        // Stops are ASCII, so what was collected are whole characters.
        let text = String::from_utf8_lossy(&text).into_owned();
        Text { text, span: self.span(from), quoted }
    }
}

impl Scanner {
    /// Reads one line.
    pub(crate) fn line(&mut self, context: &mut ReadingContext, line: &Line) {
        let end = end_of(&line.text);
        let mut cursor = Cursor { line, at: 0, end };
        warn_of_lost_text(context, line, end);
        if let Some((param, depth)) = self.open.take() {
            if begins_parameter(&line.text[..end]) {
                unclosed(context, &param, None);
                self.add(param);
            } else {
                self.list(context, &mut cursor, param, depth);
            }
        }
        let mut first = cursor.at == 0;
        while cursor.peek().is_some() {
            if cursor.take(b',') {
                continue;
            }
            if self.values > ALL_VALUES_MAX {
                let message = format!("more than {ALL_VALUES_MAX} values in all");
                let found = Diagnostic::error("too-much", line.span(cursor.at, cursor.at + 1), message);
                context.note_once("values", found.help("use ranges and count="));
                return;
            }
            self.param(context, &mut cursor, first);
            first = false;
        }
    }

    /// The end of all lines.
    pub(crate) fn finish(&mut self, context: &mut ReadingContext) {
        if let Some((param, _)) = self.open.take() {
            unclosed(context, &param, None);
            self.add(param);
        }
    }

    fn add(&mut self, param: Param) {
        self.values += 1 + param.values.len();
        self.params.push(param);
    }

    fn param(&mut self, context: &mut ReadingContext, cursor: &mut Cursor<'_>, first: bool) {
        let from = cursor.at;
        let word = cursor.until(context, b"=,()");
        let key_span = cursor.span(from);
        if !cursor.take(b'=') {
            self.no_keyword(context, cursor, &word, key_span);
            return;
        }
        if word.text.chars().count() < 2 {
            let message = format!("a keyword has two letters or more, found `{}=`", word.text);
            context.push(Diagnostic::error("syntax", key_span, message).help("write keyword=value"));
        }
        let mut param = Param {
            key: word.text.to_lowercase(),
            key_span,
            span: cursor.line.span(cursor.at, cursor.at),
            line: cursor.line.number,
            first,
            ..Param::default()
        };
        if cursor.take(b'(') {
            param.list = true;
            param.span = cursor.span(cursor.at - 1);
            self.list(context, cursor, param, 1);
            return;
        }
        let value_from = cursor.at;
        let value = cursor.until(context, b",()=");
        param.span = cursor.span(value_from);
        if let Some(byte @ (b'=' | b'(' | b')')) = cursor.peek() {
            let span = cursor.line.span(cursor.at, cursor.at + 1);
            let message = format!("`{}` in the middle of a value", char::from(byte));
            let help = match byte {
                b'=' => "put a comma between parameters, or the value between quotes",
                _ => "lists are written keyword=(a,b,c); put a value that has parentheses between quotes",
            };
            context.push(Diagnostic::error("syntax", span, message).help(help));
            cursor.until(context, b",");
        } else if value.text.is_empty() && !value.quoted {
            let message = format!("`{}=` has no value", param.key);
            let help = "write keyword=value without blanks; a blank begins a comment";
            context.push(Diagnostic::error("no-value", key_span, message).help(help));
            return;
        }
        check_command(context, cursor, &param.key, value_from);
        param.values.push(value);
        self.add(param);
    }

    /// A word that is not followed by `=`.
    fn no_keyword(&mut self, context: &mut ReadingContext, cursor: &mut Cursor<'_>, word: &Text, span: TextSpan) {
        let shown: String = word.text.chars().take(40).collect();
        let found = Diagnostic::error("syntax", span, format!("expected keyword=value, found `{shown}`"));
        let after = cursor.line.text[cursor.end..].trim_start();
        let is_flag = word.text.starts_with('-');
        let found = if is_flag && context.sources[cursor.line.source as usize].name == COMMAND_LINE {
            found.help("everything after `+` is parameters; put flags before it")
        } else if after.starts_with('=') {
            found.help("no blanks around `=`: a blank begins a comment")
        } else if matches!(cursor.peek(), Some(b'(' | b')')) {
            found.help("lists are written keyword=(a,b,c)")
        } else if let Some(before) = self.params.last().filter(|param| param.line == cursor.line.number) {
            found.help(format!("put lists in parentheses: {}=(…,{shown})", before.key))
        } else {
            found.help("begin comment lines with `*`, `#` or `/`")
        };
        context.push(found);
        // What follows on this line would only repeat the complaint.
        if matches!(cursor.peek(), Some(b'(' | b')')) {
            cursor.at += 1;
        }
        cursor.until(context, b",");
    }

    /// The rest of a list, from its `(` or from the beginning of a further line.
    fn list(&mut self, context: &mut ReadingContext, cursor: &mut Cursor<'_>, mut param: Param, mut depth: usize) {
        while let Some(byte) = cursor.peek() {
            match byte {
                b',' => cursor.at += 1,
                b'(' => {
                    if !param.key.starts_with("dedup") || depth > 8 {
                        let span = cursor.line.span(cursor.at, cursor.at + 1);
                        context.push(
                            Diagnostic::error("syntax", span, "a list inside a list")
                                .help("take out the inner parenthesis"),
                        );
                    }
                    depth += 1;
                    cursor.at += 1;
                }
                b')' => {
                    depth -= 1;
                    cursor.at += 1;
                    if depth == 0 {
                        self.close(context, cursor, param);
                        return;
                    }
                }
                _ => {
                    let from = cursor.at;
                    let value = cursor.until(context, b",()");
                    check_command(context, cursor, &param.key, from);
                    param.span = join(param.span, value.span);
                    if param.values.len() < VALUES_MAX {
                        param.values.push(value);
                    } else if param.values.len() == VALUES_MAX {
                        let message = format!("more than {VALUES_MAX} values in one list");
                        context.push(Diagnostic::error("too-much", value.span, message).help("use ranges: (1-1000,1)"));
                        param.values.push(Text::default());
                    }
                }
            }
        }
        let after = &cursor.line.text[cursor.end..];
        // A parenthesis that closes what a blank has cut off, not one of a comment of its own.
        let cut = after.find(')').is_some_and(|close| !after[..close].contains('('));
        if cursor.end > 0 && cursor.line.text.as_bytes()[cursor.end - 1] == b',' && !cut {
            self.open = Some((param, depth));
            return;
        }
        unclosed(context, &param, Some(cursor.line.text[cursor.end..].trim()));
        self.add(param);
    }

    fn close(&mut self, context: &mut ReadingContext, cursor: &mut Cursor<'_>, mut param: Param) {
        let end = cursor.line.span(cursor.at - 1, cursor.at);
        param.span = join(param.span, end);
        param.values.truncate(VALUES_MAX);
        if param.values.is_empty() {
            context.push(Diagnostic::error("no-value", param.span, format!("the list of `{}=` is empty", param.key)));
        } else {
            self.add(param);
        }
        if !matches!(cursor.peek(), None | Some(b',')) {
            let from = cursor.at;
            cursor.until(context, b",");
            let found = Diagnostic::error("syntax", cursor.span(from), "expected a comma after the parenthesis");
            context.push(found.help("put a comma between parameters"));
        }
    }
}

/// Is the text of a command, from `from` to where the cursor is, all that was meant? Half of a command must not be executed.
fn check_command(context: &mut ReadingContext, cursor: &Cursor<'_>, key: &str, from: usize) {
    let is_own = matches!(key, "cmd" | "prepare");
    if !is_own && !["startc", "start_c", "endc", "end_c"].iter().any(|begin| key.starts_with(begin)) {
        return;
    }
    let text = &cursor.line.text;
    let (raw, after) = (&text[from..cursor.at], text[cursor.end..].trim_start());
    let follows = if cursor.at == cursor.end { after } else { "" };
    let is_whole = raw.len() > 1 && raw.starts_with('"') && raw[1..].find('"') == Some(raw.len() - 2);
    if raw.contains('"') && (!is_whole || follows.contains('"')) {
        let close = raw.match_indices('"').nth(1).map_or(from, |(at, _)| from + at);
        let command = text[from..close].trim_start_matches('"');
        let message = format!("the quote ends the command `{command}`, and more follows");
        let found = Diagnostic::error("command", cursor.line.span(close, close + 1), message);
        context.push(found.help("inside of a command, write single quotes: \"rm -rf 'a b'\""));
    } else if !raw.contains('"') && !follows.is_empty() && !follows.starts_with(['#', '*', '/']) {
        let span = cursor.line.span(from, cursor.at);
        let message = format!("a blank ends the command `{raw}`: the rest of the line is a comment");
        let found = if is_own {
            Diagnostic::error("command", span, message)
        } else {
            Diagnostic::warning("command", span, message)
        };
        context.push(found.help(format!("put the line between double quotes: {key}=\"{raw} …\"")));
    }
}

fn unclosed(context: &mut ReadingContext, param: &Param, after: Option<&str>) {
    let message = format!("the list of `{}=` is never closed", param.key);
    let help = match after {
        Some(after) if after.contains(')') => "no blanks inside a list: a blank ends the line and begins a comment",
        _ => "close it with `)`; a list that goes on in the next line ends its line with a comma",
    };
    context.push(Diagnostic::error("unclosed-list", param.span, message).help(help));
}

/// From the start of one to the end of the other, when they are in one source; the first otherwise.
fn join(a: TextSpan, b: TextSpan) -> TextSpan {
    let end = b.start.saturating_add(b.len);
    if a.source == b.source && end > a.start { TextSpan { len: end - a.start, ..a } } else { a }
}

/// Does a line begin with a keyword? Then a list that the line before left open was forgotten to be closed.
fn begins_parameter(text: &str) -> bool {
    let key = text.split_once('=').map(|(key, _)| key.to_lowercase());
    key.is_some_and(|key| {
        key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && keys::known_anywhere(&key)
    })
}

/// Where a line ends: at its first blank outside quotes.
fn end_of(text: &str) -> usize {
    let mut quoted = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b' ' | b'\t' | b'\r' if !quoted => return at,
            _ => {}
        }
    }
    text.len()
}

/// A parameter behind a blank is a comment to Vdbench and seldom meant so.
fn warn_of_lost_text(context: &mut ReadingContext, line: &Line, end: usize) {
    let after = &line.text[end..];
    let lead = after.len() - after.trim_start().len();
    let word = after[lead..].split(char::is_whitespace).next().unwrap_or_default();
    let Some((key, _)) = word.trim_start_matches(',').split_once('=') else { return };
    if keys::known_anywhere(&key.to_lowercase()) && line.text.as_bytes()[..end].contains(&b'=') {
        let span = line.span(end + lead, end + lead + word.len());
        let found = Diagnostic::warning("comment", span, "a blank ends the line: the rest is a comment");
        context.push(found.label("not read").help("take the blank out if this is meant as a parameter"));
    }
}
