//! Names that recordings hold are enums, and readers take nothing from sentences that iodyno itself writes.

use crate::modules::{attributes_of, crates, is_test, sources};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens;
use recording::{AvailabilityKind, EventKind, EventSeverity, LoadPhase, LossName, PhaseEdge, RecordingExit};
use std::collections::BTreeSet;

/// Fields that hold such names.
const FIELDS: [&str; 5] = ["event", "exit", "kind", "phase", "severity"];
/// Methods that look for a text in another.
const SEARCHES: [&str; 7] =
    ["contains", "ends_with", "find", "split_once", "starts_with", "strip_prefix", "strip_suffix"];
/// Files that define the names, and read the sentences of older recordings.
const OWNERS: [&str; 2] = ["recording/src/stored_names.rs", "recording/src/event_class.rs"];
/// A sentence has a space, and so many bytes.
const SENTENCE_BYTES: usize = 8;

/// Texts that stand in a sentence of ours as well: where they are looked for, and why that is right.
const OF_OTHERS: [(&str, &str, &str); 4] = [
    ("findings/src/rules/path_words.rs", "link is ", "messages of the kernel"),
    ("top_page/src/fold.rs", "I/O error", "messages of the kernel"),
    ("tree/src/control_file.rs", "file status ", "the control file of a tree, in Vdbench's words"),
    ("trace/src/other_kernels.rs", "to the end of the write", "a test"),
];
/// Reads what other tools wrote, and `tool_output` writes in their words.
const READER_OF_OTHERS: &str = "/import/src/";

/// The value of a string literal.
fn text_of(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    match syn::Lit::new(literal.clone()) {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == mark)
}

fn is_word(token: &TokenTree, words: &[&str]) -> bool {
    matches!(token, TokenTree::Ident(name) if words.contains(&name.to_string().as_str()))
}

/// Is one of the fields named here, outside of parentheses?
fn names_field(tokens: &[TokenTree]) -> bool {
    tokens.iter().any(|token| is_word(token, &FIELDS))
}

/// What stands before `==`, as far as it is one operand.
fn operand(before: &[TokenTree]) -> &[TokenTree] {
    let is_within = |token: &TokenTree| match token {
        TokenTree::Punct(mark) => ['.', '*', '&', ':'].contains(&mark.as_char()),
        TokenTree::Ident(name) => !["if", "return", "in", "match", "else"].contains(&name.to_string().as_str()),
        TokenTree::Group(group) => group.delimiter() != Delimiter::Brace,
        TokenTree::Literal(_) => false,
    };
    let begin = before.iter().rposition(|token| !is_within(token)).map_or(0, |at| at + 1);
    &before[begin..]
}

/// Literals that a field of [`FIELDS`] is compared with, and those that are looked for in texts.
#[derive(Default)]
struct Found {
    compared: Vec<String>,
    searched: Vec<String>,
    /// All literals.
    all: Vec<String>,
}

impl Found {
    fn look(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            self.all.extend(text_of(token));
            let is_comparison = at >= 2 && is_mark(tokens.get(at - 1), '=') && {
                is_mark(tokens.get(at - 2), '=') || is_mark(tokens.get(at - 2), '!')
            };
            if is_comparison && names_field(operand(&tokens[..at - 2])) {
                self.compared.extend(text_of(token));
            }
            if let TokenTree::Group(group) = token {
                // Comments of items are attributes.
                if at > 0 && (is_mark(tokens.get(at - 1), '#') || at > 1 && is_mark(tokens.get(at - 2), '#')) {
                    continue;
                }
                self.patterns(&tokens[..at], group);
                if at > 0 && is_word(&tokens[at - 1], &SEARCHES) {
                    let arguments: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.searched.extend(arguments.first().and_then(text_of).filter(|_| arguments.len() == 1));
                }
                self.look(group.stream());
            }
        }
    }

    /// Literals in the arms of a `match` over a field, and in a `matches!` of one.
    fn patterns(&mut self, before: &[TokenTree], group: &Group) {
        let inside: Vec<TokenTree> = group.stream().into_iter().collect();
        if group.delimiter() == Delimiter::Brace {
            let Some(begin) = before.iter().rposition(|token| is_word(token, &["match"])) else { return };
            if names_field(&before[begin..]) {
                let is_pattern = |next: Option<&TokenTree>| {
                    is_mark(next, '|') || is_mark(next, '=') || next.is_some_and(|next| is_word(next, &["if"]))
                };
                let arms = inside.iter().enumerate().filter(|(at, _)| is_pattern(inside.get(at + 1)));
                self.compared.extend(arms.filter_map(|(_, token)| text_of(token)));
            }
        } else if before.len() >= 2 && is_word(&before[before.len() - 2], &["matches"]) {
            let comma = inside.iter().position(|token| is_mark(Some(token), ',')).unwrap_or(inside.len());
            if names_field(&inside[..comma]) {
                self.compared.extend(inside[comma..].iter().filter_map(text_of));
            }
        }
    }
}

/// The names of all enums.
fn names() -> BTreeSet<String> {
    let kinds = EventKind::ALL.iter().map(EventKind::as_str);
    let severities = EventSeverity::ALL.iter().map(EventSeverity::as_str);
    let phases = LoadPhase::ALL.iter().map(LoadPhase::as_str);
    let edges = PhaseEdge::ALL.iter().map(PhaseEdge::as_str);
    let losses = LossName::ALL.iter().map(LossName::as_str);
    let subjects = AvailabilityKind::ALL.iter().map(AvailabilityKind::as_str);
    let exits = RecordingExit::ALL.iter().map(RecordingExit::as_str);
    let all = kinds.chain(severities).chain(phases).chain(edges).chain(losses).chain(subjects).chain(exits);
    all.map(str::to_string).collect()
}

fn found_in(source: &str) -> Found {
    let parsed = syn::parse_file(source).expect("Rust");
    let mut found = Found::default();
    let items = parsed.items.iter().filter(|item| !is_test(attributes_of(item)));
    items.for_each(|item| found.look(item.to_token_stream()));
    found
}

/// Is this a sentence, or a part of one, that stands in another literal?
fn is_of_ours(searched: &str, literals: &BTreeSet<String>) -> bool {
    let is_sentence = searched.trim().contains(' ') && searched.len() >= SENTENCE_BYTES;
    is_sentence && literals.iter().any(|literal| literal != searched && literal.contains(searched))
}

#[test]
fn names_are_compared_as_enums_and_our_sentences_are_not_read() {
    let names = names();
    let mut files = Vec::new();
    for (_, root) in crates() {
        sources(root.parent().expect("a folder"), &mut files);
    }
    let all: Vec<(String, Found)> = files
        .iter()
        .map(|file| (file.display().to_string(), found_in(&std::fs::read_to_string(file).expect("a source"))))
        .filter(|(file, _)| !OWNERS.iter().any(|owner| file.ends_with(owner)))
        .collect();
    let literals: BTreeSet<String> = all.iter().flat_map(|(_, found)| found.all.iter().cloned()).collect();
    let searched: usize = all.iter().map(|(_, found)| found.searched.len()).sum();
    assert!(literals.len() > 5_000 && searched > 150, "only {} literals, {searched} searches", literals.len());
    let mut wrong = Vec::new();
    for (file, found) in &all {
        let compared = found.compared.iter().filter(|text| names.contains(*text));
        wrong.extend(compared.map(|text| format!("{file}: a field is compared with {text:?}: use its enum")));
        if file.contains(READER_OF_OTHERS) {
            continue;
        }
        let is_known = |text: &str| OF_OTHERS.iter().any(|(place, known, _)| file.ends_with(place) && *known == text);
        let read = found.searched.iter().filter(|text| is_of_ours(text, &literals) && !is_known(text));
        wrong.extend(read.map(|text| format!("{file}: looks for {text:?}, which iodyno itself writes: store it")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_forbidden_is_found() {
    let check = |body: &str, compared: &[&str]| {
        assert_eq!(found_in(&format!("fn f(row: &Event) {{ {body} }}")).compared, compared, "{body}");
    };
    check("rows.iter().filter(|row| row.kind.as_str() == \"gap\")", &["gap"]);
    check("if a == 1 && &*row.severity != \"error\" {}", &["error"]);
    check("match row.phase.as_str() { \"warmup\" | \"drain\" => 1, _ => 2 }", &["warmup", "drain"]);
    check("assert!(matches!(event.kind.as_str(), \"engine\" | \"own_cost\"))", &["engine", "own_cost"]);
    check("match &row.phase { LoadPhase::Drain => \"drain\", _ => \"\" }", &[]);
    check("row.op == \"read\" && row.phase == LoadPhase::Drain", &[]);
    check("row.kind == EventKind::Gap && name == \"gap\"", &[]);
    assert_eq!(found_in("/// could not be read: x\nfn f() { \"said\" }").all, ["said"]);
    let searched = found_in("fn f() { if message.contains(\"could not be read\") {} }").searched;
    assert_eq!(searched, ["could not be read"]);
    let literals = BTreeSet::from(["the log of {} could not be read: {}".to_string(), "I/O error".to_string()]);
    assert!(is_of_ours("could not be read", &literals));
    assert!(!is_of_ours("I/O error", &literals), "that the same text is looked for elsewhere makes it no sentence");
    assert!(!is_of_ours("read", &literals));
}
