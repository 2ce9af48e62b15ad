//! Keeps one derivation: outside of `rates`, no expression subtracts one cumulative counter from another.
//!
//! The catalogue says which columns are counters. The check reads tokens, so that it sees closures and macros as well, and
//! follows a counter into names that `let`, `for`, tuples and closures give it. It cannot follow one into a field of
//! another name; such fields belong into `rates`.

use crate::modules::{attributes_of, crates, is_test, sources};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use recording::ColumnKind;
use std::collections::{BTreeMap, BTreeSet};

/// Methods that subtract.
const SUBTRACT: [&str; 6] = ["sub", "checked_sub", "saturating_sub", "wrapping_sub", "overflowing_sub", "abs_diff"];

/// Functions that hand on the value that they get; other functions make something else of it.
const HAND_ON: [&str; 2] = ["from", "unsigned"];

/// Methods whose result is no counter any more.
const MEASURE: [&str; 4] = ["len", "count", "is_some", "is_none"];

/// Words after which an expression begins.
const BEFORE: [&str; 12] =
    ["let", "return", "in", "if", "else", "match", "mut", "move", "ref", "while", "break", "for"];

/// Files that subtract counters below `rates`, or before they are columns, each with the reason.
const COLLECTORS: [(&str, &str); 7] = [
    ("collect/src/process.rs", "decides which processes are busy enough for their threads to be read"),
    ("engine/src/cpu.rs", "makes the gauges of `engine_interval`: what a worker cost in an interval"),
    ("monitor/src/event_cpu_time.rs", "decides which sums of the probes changed enough for a row"),
    ("monitor/src/io_errors.rs", "makes the counter: it counts from where a recording begins"),
    ("monitor/src/probe.rs", "what the kernel says that a BPF program cost; in no table"),
    ("recording/src/thin.rs", "decides which samples of a thinned recording stay; below `rates`"),
    ("trace/src/sched/totals.rs", "makes the counters: sums of threads, those that ended among them"),
];

/// Names of the catalogue that the check looks for.
struct CounterNames {
    /// Columns of the kind counter, each with the row types that have it.
    columns: BTreeMap<&'static str, BTreeSet<String>>,
    /// Columns that are times.
    times: BTreeSet<&'static str>,
}

impl CounterNames {
    fn of_catalogue() -> Self {
        let mut columns: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
        let mut times = BTreeSet::new();
        for table in recording::catalogue() {
            for column in table.columns {
                match column.kind {
                    ColumnKind::Counter => {
                        columns.entry(column.name).or_default().insert(row_type(table.name));
                    }
                    ColumnKind::Time => {
                        times.insert(column.name);
                    }
                    _ => {}
                }
            }
        }
        Self { columns, times }
    }

    /// The counters that a file may mean. A name of one word, such as `count`, may be anything in a file that names none
    /// of the rows that have it.
    fn within(&self, named: &BTreeSet<String>) -> BTreeSet<&'static str> {
        let may = |(name, rows): &(&&'static str, &BTreeSet<String>)| name.contains('_') || !rows.is_disjoint(named);
        self.columns.iter().filter(may).map(|(name, _)| *name).collect()
    }
}

/// `irq_time` becomes `IrqTime`.
fn row_type(table: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    table.split('_').map(capital).collect()
}

/// Names that hold values of counters, or give them when they are called, where the scan stands.
type Known = BTreeSet<String>;

/// Looks for subtractions of counters in a file.
struct Scan<'a> {
    columns: BTreeSet<&'static str>,
    times: &'a BTreeSet<&'static str>,
    rows: BTreeSet<String>,
    found: Vec<String>,
}

fn tokens(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(name)) => Some(name.to_string()),
        _ => None,
    }
}

fn is_group(token: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

fn is_brace(token: Option<&TokenTree>) -> bool {
    is_group(token, Delimiter::Brace)
}

/// Does a call, or the arguments of one, stand here?
fn is_call(token: Option<&TokenTree>) -> bool {
    is_group(token, Delimiter::Parenthesis)
}

/// Is this token part of a chain such as `self.before[0].map(f)? * 2`?
fn is_of_operand(all: &[TokenTree], at: usize) -> bool {
    match &all[at] {
        TokenTree::Ident(name) => !BEFORE.contains(&name.to_string().as_str()),
        TokenTree::Literal(_) => true,
        TokenTree::Group(group) => group.delimiter() != Delimiter::Brace,
        TokenTree::Punct(mark) => {
            let is_double = is_mark(all.get(at + 1), mark.as_char())
                || at.checked_sub(1).is_some_and(|at| is_mark(all.get(at), mark.as_char()));
            match mark.as_char() {
                '.' | '?' | '*' | '/' => true,
                ':' => is_double,
                '&' => !is_double,
                _ => false,
            }
        }
    }
}

/// `=`, and neither `==` nor `=>` nor `<=`.
fn is_assignment(all: &[TokenTree], at: usize) -> bool {
    let is_joint = |at: usize| matches!(all.get(at), Some(TokenTree::Punct(mark)) if mark.spacing() == Spacing::Joint);
    is_mark(all.get(at), '=') && !is_joint(at) && !at.checked_sub(1).is_some_and(is_joint)
}

/// Names that a pattern gives.
fn names_in(all: &[TokenTree]) -> Vec<String> {
    let mut found = Vec::new();
    for token in all {
        match token {
            TokenTree::Ident(name) => found.push(name.to_string()),
            TokenTree::Group(group) => found.extend(names_in(&tokens(group.stream()))),
            _ => {}
        }
    }
    found.retain(|name| name.starts_with(char::is_lowercase) && name != "mut" && name != "ref");
    found
}

/// Where the parameters of a closure stand among arguments, without the bars.
fn closure_parameters(all: &[TokenTree]) -> Option<std::ops::Range<usize>> {
    let mut bars = (0..all.len()).filter(|at| is_mark(all.get(*at), '|'));
    Some(bars.next()? + 1..bars.next()?)
}

/// All idents, those in groups too.
fn idents(stream: TokenStream, found: &mut BTreeSet<String>) {
    for token in stream {
        match token {
            TokenTree::Ident(name) => {
                found.insert(name.to_string());
            }
            TokenTree::Group(group) => idents(group.stream(), found),
            _ => {}
        }
    }
}

impl Scan<'_> {
    /// Does an expression give the value of a counter, or of several?
    fn gives_counter(&self, all: &[TokenTree], known: &Known) -> bool {
        let is_measure = |at: usize| {
            is_mark(all.get(at), '.')
                && ident(all.get(at + 1)).is_some_and(|name| MEASURE.contains(&name.as_str()))
                && is_call(all.get(at + 2))
        };
        if (0..all.len()).any(is_measure) {
            return false;
        }
        let mut at = 0;
        while at < all.len() {
            match &all[at] {
                TokenTree::Ident(name) => {
                    let name = name.to_string();
                    let is_call = is_call(all.get(at + 1));
                    let is_field = at > 0 && is_mark(all.get(at - 1), '.');
                    if is_field && !is_call && self.columns.contains(name.as_str()) {
                        return true;
                    }
                    // A field of it is something else; a part of a tuple is not.
                    let has_field = is_mark(all.get(at + 1), '.')
                        && ident(all.get(at + 2)).is_some()
                        && !is_group(all.get(at + 3), Delimiter::Parenthesis);
                    if !is_field && known.contains(&name) && !has_field {
                        return true;
                    }
                    let hands_on = name.starts_with(char::is_uppercase) || HAND_ON.contains(&name.as_str());
                    if !is_field && is_call && !hands_on {
                        at += 1;
                    }
                }
                TokenTree::Literal(text) => {
                    let text = text.to_string();
                    if self.columns.contains(text.trim_matches('"')) && text.starts_with('"') {
                        return true;
                    }
                }
                TokenTree::Group(group)
                    if group.delimiter() != Delimiter::Brace && self.gives_counter(&tokens(group.stream()), known) =>
                {
                    return true;
                }
                _ => {}
            }
            at += 1;
        }
        false
    }

    /// Scans the tokens of an item, a block or arguments.
    fn scan(&mut self, all: &[TokenTree], known: &Known) {
        let mut known = known.clone();
        let mut parameters = (0, Known::new());
        for (at, token) in all.iter().enumerate() {
            if let Some((body, stream)) = function(all, at) {
                parameters = (body, Known::new());
                (0..stream.len()).for_each(|at| self.learn(&stream, at, &mut parameters.1));
            }
            self.learn(all, at, &mut known);
            self.judge(all, at, &known);
            if let TokenTree::Group(group) = token {
                let stream = tokens(group.stream());
                let mut inner = known.clone();
                inner.extend(parameters.1.iter().filter(|_| parameters.0 == at).cloned());
                if let Some(parameters) = closure_parameters(&stream).filter(|_| self.is_of_counter(all, at, &known)) {
                    inner.extend(names_in(&stream[parameters]));
                }
                self.scan(&stream, &inner);
            }
        }
    }

    /// Takes in what `let`, `for` and parameters name at this place.
    fn learn(&self, all: &[TokenTree], at: usize, known: &mut Known) {
        let find = |from: usize, is: &dyn Fn(usize) -> bool| (from..all.len()).find(|at| is(*at));
        match ident(all.get(at)).as_deref() {
            Some("let") => {
                let Some(equals) = find(at, &|at| is_assignment(all, at)) else { return };
                let is_end = |at: usize| {
                    is_mark(all.get(at), ';') || is_brace(all.get(at)) || ident(all.get(at)).as_deref() == Some("else")
                };
                let end = find(equals, &is_end).unwrap_or(all.len());
                self.bind(&all[at + 1..equals], &all[equals + 1..end], known);
                let statement = find(equals, &|at| is_mark(all.get(at), ';')).unwrap_or(all.len());
                if self.is_closure_of_counter(&all[equals + 1..statement]) {
                    known.extend(names_in(&all[at + 1..equals]));
                }
            }
            Some("for") => {
                let Some(within) = find(at, &|at| ident(all.get(at)).as_deref() == Some("in")) else { return };
                let end = find(within, &|at| is_brace(all.get(at))).unwrap_or(all.len());
                self.bind(&all[at + 1..within], &all[within + 1..end], known);
            }
            // `of: fn(&Disk) -> i64`, and `of: fn(&R) -> i64` of any row: what it gives is a counter.
            Some("fn" | "Fn" | "FnMut") => {
                let is_named = ident(all.get(at + 1)).is_some();
                let Some(TokenTree::Group(parameters)) = all.get(at + 1 + usize::from(is_named)) else { return };
                let colon = at.checked_sub(1).filter(|at| is_mark(all.get(*at), ':'));
                let colon = colon.or(at.checked_sub(2).filter(|at| is_mark(all.get(*at), ':')));
                let name = colon.and_then(|colon| ident(all.get(colon.checked_sub(1)?)));
                let is_of_any =
                    tokens(parameters.stream()).iter().any(|token| ident(Some(token)).as_deref() == Some("R"));
                let is_of_row = is_of_any || self.names_row(parameters.stream());
                let end = find(at, &|at| is_mark(all.get(at), ',')).unwrap_or(all.len());
                let mut gives = BTreeSet::new();
                idents(all[at..end].iter().cloned().collect(), &mut gives);
                let is_of_row = is_of_row && gives.contains("i64");
                if let Some(name) = name.filter(|name| !is_named && is_of_row && !self.times.contains(name.as_str())) {
                    known.insert(name);
                }
            }
            _ => {}
        }
    }

    /// Names of a pattern get what an expression gives, part by part where both are tuples.
    fn bind(&self, pattern: &[TokenTree], value: &[TokenTree], known: &mut Known) {
        let (names, values) = (parts(pattern), parts(value));
        if let Some((names, values)) = names.zip(values).filter(|(names, values)| names.len() == values.len()) {
            let gives: Vec<bool> = values.iter().map(|value| self.gives_counter(value, known)).collect();
            for (names, gives) in names.iter().zip(gives) {
                put(names, gives, known);
            }
        } else {
            put(pattern, self.gives_counter(value, known), known);
        }
        // A row that is taken apart: `Disk { read_ios, .. }`.
        let is_of_row = |token: &TokenTree| ident(Some(token)).is_some_and(|name| self.rows.contains(&name));
        if pattern.iter().any(is_of_row) {
            known.extend(names_in(pattern).into_iter().filter(|name| self.columns.contains(name.as_str())));
        }
    }

    fn names_row(&self, stream: TokenStream) -> bool {
        let mut named = BTreeSet::new();
        idents(stream, &mut named);
        !named.is_disjoint(&self.rows)
    }

    /// `|row: &Disk| …` that names a counter.
    fn is_closure_of_counter(&self, all: &[TokenTree]) -> bool {
        let is_closure = is_mark(all.first(), '|') || ident(all.first()).as_deref() == Some("move");
        let Some(parameters) = closure_parameters(all).filter(|_| is_closure) else { return false };
        let body = all[parameters.end + 1..].iter().cloned().collect();
        self.names_row(all[parameters].iter().cloned().collect()) && self.has_counter(body)
    }

    /// Is a counter named anywhere, in blocks too?
    fn has_counter(&self, stream: TokenStream) -> bool {
        let all = tokens(stream);
        let inside = |token: &TokenTree| matches!(token, TokenTree::Group(group) if self.has_counter(group.stream()));
        self.gives_counter(&all, &Known::new()) || all.iter().any(inside)
    }

    /// Notes the subtraction at this place where it is one of counters.
    fn judge(&mut self, all: &[TokenTree], at: usize, known: &Known) {
        let is_method =
            ident(all.get(at)).is_some_and(|name| SUBTRACT.contains(&name.as_str())) && is_call(all.get(at + 1));
        let is_minus = is_mark(all.get(at), '-') && !is_mark(all.get(at + 1), '>');
        if !is_method && !is_minus {
            return;
        }
        let from = at + 1 + usize::from(is_mark(all.get(at + 1), '='));
        let left = (0..at).rev().find(|at| !is_of_operand(all, *at)).map_or(0, |before| before + 1);
        let right = (from..all.len()).find(|at| !is_of_operand(all, *at)).unwrap_or(all.len());
        let sides = [&all[left..at], &all[from..right]];
        // A sign is no subtraction, and what is taken from a time is a time.
        let is_time = |side: &&[TokenTree]| {
            let field = side.iter().rev().find_map(|token| ident(Some(token)));
            field.is_some_and(|field| self.times.contains(field.as_str()))
        };
        if (is_minus && sides[0].is_empty()) || sides.iter().any(is_time) {
            return;
        }
        if sides.iter().any(|side| self.gives_counter(side, known) || calls(side, known)) {
            let text: TokenStream = all[left..right].iter().cloned().collect();
            self.found.push(text.to_string());
        }
    }

    /// Is the list of arguments at this place one of a method of counters: `row.drops.map(|drops| …)`?
    fn is_of_counter(&self, all: &[TokenTree], at: usize, known: &Known) -> bool {
        let from = (0..at).rev().find(|at| !is_of_operand(all, *at)).map_or(0, |before| before + 1);
        from + 2 < at && is_mark(all.get(at - 2), '.') && self.gives_counter(&all[from..at - 2], known)
    }
}

/// The parts of a tuple.
fn parts(all: &[TokenTree]) -> Option<Vec<Vec<TokenTree>>> {
    match all {
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => {
            Some(tokens(group.stream()).split(|token| is_mark(Some(token), ',')).map(<[_]>::to_vec).collect())
        }
        _ => None,
    }
}

/// What a pattern names is a counter from here on, or is none.
fn put(pattern: &[TokenTree], gives: bool, known: &mut Known) {
    for name in names_in(pattern) {
        if gives {
            known.insert(name);
        } else {
            known.remove(&name);
        }
    }
}

/// Is something called that gives counters?
fn calls(side: &[TokenTree], known: &Known) -> bool {
    side.windows(2).any(|pair| ident(pair.first()).is_some_and(|name| known.contains(&name)) && is_call(pair.last()))
}

/// Where the body of the function stands that begins at this place, and its parameters.
fn function(all: &[TokenTree], at: usize) -> Option<(usize, Vec<TokenTree>)> {
    let is_function = ident(all.get(at)).as_deref() == Some("fn") && ident(all.get(at + 1)).is_some();
    // Bounds such as `F: Fn(&Disk)` may stand between the name and the parameters.
    let is_parameters =
        |place: &usize| is_call(all.get(*place)) && (*place == at + 2 || is_mark(all.get(place - 1), '>'));
    let parameters = (at + 2..all.len()).find(is_parameters).filter(|_| is_function)?;
    let body = (parameters..all.len()).find(|at| is_brace(all.get(*at)))?;
    match &all[parameters] {
        TokenTree::Group(group) => Some((body, tokens(group.stream()))),
        _ => None,
    }
}

/// Functions of a file that give a counter of a row: `fn used(row: &Process) -> i64`.
fn functions_of_counters(scan: &Scan<'_>, stream: TokenStream, found: &mut Known) {
    let all = tokens(stream);
    for (at, token) in all.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            functions_of_counters(scan, group.stream(), found);
        }
        let (Some(name), Some((body, parameters))) = (ident(all.get(at + 1)), function(&all, at)) else { continue };
        let mut gives = BTreeSet::new();
        idents(all[at + 3..body].iter().cloned().collect(), &mut gives);
        let TokenTree::Group(block) = &all[body] else { continue };
        let takes_row = scan.names_row(parameters.into_iter().collect());
        if gives.contains("i64") && takes_row && scan.has_counter(block.stream()) {
            found.insert(name);
        }
    }
}

/// The subtractions of counters in a source text, tests left out.
fn subtractions(text: &str, names: &CounterNames) -> Vec<String> {
    let parsed = syn::parse_file(text).expect("Rust");
    let items = parsed.items.iter().filter(|item| !is_test(attributes_of(item)));
    let items: Vec<TokenStream> = items.map(ToTokens::to_token_stream).collect();
    let mut named = BTreeSet::new();
    items.iter().for_each(|item| idents(item.clone(), &mut named));
    let rows: BTreeSet<String> = names.columns.values().flatten().cloned().collect();
    let mut scan = Scan { columns: names.within(&named), times: &names.times, rows, found: Vec::new() };
    let mut known = Known::new();
    items.iter().for_each(|item| functions_of_counters(&scan, item.clone(), &mut known));
    items.iter().for_each(|item| scan.scan(&tokens(item.clone()), &known));
    scan.found
}

#[test]
fn counters_are_subtracted_in_one_place() {
    let names = CounterNames::of_catalogue();
    assert!(names.columns.len() > 100, "only {} counters in the catalogue", names.columns.len());
    let (mut found, mut files) = (BTreeMap::new(), 0);
    for (name, root) in crates().into_iter().filter(|(name, _)| name != "rates") {
        let folder = root.parent().expect("a folder");
        let mut of_crate = Vec::new();
        sources(folder, &mut of_crate);
        for file in of_crate {
            files += 1;
            let text = std::fs::read_to_string(&file).expect("a source");
            let path = format!("{name}/src/{}", file.strip_prefix(folder).expect("below").display());
            let subtracted = subtractions(&text, &names);
            if !subtracted.is_empty() {
                found.insert(path, subtracted);
            }
        }
    }
    assert!(files > 400, "only {files} files found");
    for (file, reason) in COLLECTORS {
        assert!(found.remove(file).is_some(), "{file} subtracts no counters any more ({reason}): take it off the list");
    }
    let lines: Vec<String> = found.iter().map(|(file, all)| format!("{file}: {}", all.join("; "))).collect();
    assert!(lines.is_empty(), "use rates::counter (ARCHITECTURE.md, invariant 12):\n{}", lines.join("\n"));
}

#[test]
fn a_subtraction_of_counters_is_found() {
    let names = CounterNames::of_catalogue();
    let count = |body: &str| {
        let text =
            format!("use recording::rows::{{Disk, Listener, Stolen}};\nfn f(row: &Disk, was: &Disk) {{ {body} }}");
        subtractions(&text, &names).len()
    };
    for wrong in [
        "let grown = row.write_sectors - was.write_sectors;",
        "let grown = row.read_ios? - was.read_ios?;",
        "total -= row.any_ios;",
        "row.read_ios.zip(was.read_ios).and_then(|(now, before)| now.checked_sub(before));",
        "let now = row.read_ios.unwrap_or(0); let grown = now.saturating_sub(last);",
        "let (now, t_ns) = (row.io_ticks_ms, row.t_ns); print(format!(\"{}\", now.abs_diff(last)));",
        "let grown = |of: fn(&Disk) -> i64| of(row) - of(was);",
        "} fn reads(row: &Disk) -> Option<i64> { row.read_ios } fn h() { let grown = reads(row)? - reads(was)?;",
        "fn g<R>(of: fn(&R) -> i64, row: &R, was: &R) -> i64 { let now = of(row); now - of(was) }",
        "let all = |row: &Disk| { row.read_ios + row.write_ios }; let grown = all(row) - all(was);",
        "let Disk { read_ios, .. } = row; let grown = read_ios - before;",
        "for stolen in rows { let ns = stolen.ns as f64; sum(1.0 + (ns - last) / 2.0); }",
        "let mut last: Vec<i64> = Vec::new(); let now: Option<i64> = row.read_ios; last.push(now? - 1);",
        "if let Some(drops) = listener.drops && drops - last > 0 {}",
        "let columns = batch.longs(\"read_ios\")?; let grown = columns.value(1) - columns.value(0);",
        "let last = map.insert(key, (row.t_ns, row.read_ios)); let grown = read - last.1;",
    ] {
        assert!(count(wrong) > 0, "not found: {wrong}");
    }
    for right in [
        "let grown = delta(row.read_ios?, was.read_ios?)? - other;",
        "let seconds = row.t_ns - was.t_ns;",
        "let (t_ns, reads) = last; let passed_ns = row.t_ns - t_ns;",
        "let free = row.in_flight? - was.in_flight?;",
        "let sign = [-1, 2]; let write = row.write_ios; let at = rows.len() - 1;",
        "let step: fn(&Disk) -> Option<i64> = |row| row.read_ios; let left = width - 3;",
    ] {
        assert_eq!(count(right), 0, "{right}");
    }
    let other = "fn f(words: &[Word]) -> usize { words[1].count - words[0].count }";
    assert_eq!(subtractions(other, &names).len(), 0, "a count of no row");
    let test = "#[cfg(test)]\nmod tests { fn f(a: Disk, b: Disk) -> i64 { a.read_ios - b.read_ios } }";
    assert_eq!(subtractions(test, &names).len(), 0, "a test");
}
