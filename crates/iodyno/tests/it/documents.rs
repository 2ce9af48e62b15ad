//! Keeps the pages readable: short lines, and no words that hide who does what.

use std::path::{Path, PathBuf};

/// The widest line of prose, in characters; tables, code and headings are as wide as they must be.
const WIDTH: usize = 100;

/// Words in whose place the subject or the fact is named.
const VAGUE: [&str; 5] = ["told", "nobody", "somebody", "whoever", "anybody"];

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Adds the files of a folder that end so; with the folders below it, unless it is the root itself.
fn add(folder: &Path, ending: &str, is_deep: bool, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if is_deep {
                add(&path, ending, true, pages);
            }
        } else if path.extension().is_some_and(|extension| extension == ending) {
            pages.push(path);
        }
    }
}

/// All pages in Markdown, in a fixed order.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    add(&root(), "md", false, &mut pages);
    add(&root().join("docs"), "md", true, &mut pages);
    pages.sort();
    assert!(pages.len() > 35, "{pages:?}");
    pages
}

/// Number and text of each line of a page that is no code.
fn outside_of_code(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.map(|(at, line)| (at + 1, line)).collect()
}

/// Each of these words in a line, but for what stands between backquotes.
fn vague<'a>(line: &'a str, is_quoted: &mut bool) -> Vec<&'a str> {
    if line.trim().is_empty() {
        *is_quoted = false;
    }
    let mut found = Vec::new();
    for (at, part) in line.split('`').enumerate() {
        *is_quoted ^= at > 0;
        if !*is_quoted {
            let words = part.split(|letter: char| !letter.is_alphanumeric());
            found.extend(words.filter(|word| VAGUE.contains(&word.to_lowercase().as_str())));
        }
    }
    found
}

/// Fails with every place at once.
fn check(what: &str, places: &[String]) {
    assert!(places.is_empty(), "{} {what}:\n{}", places.len(), places.join("\n"));
}

/// A place as compilers print it.
fn place(page: &Path, line: usize) -> String {
    let root = root();
    format!("{}:{line}", page.strip_prefix(&root).unwrap_or(page).display())
}

#[test]
fn prose_is_at_most_100_columns_wide() {
    let mut places = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for (at, line) in outside_of_code(&text) {
            let is_free = line.trim_start().starts_with(['|', '#']);
            let width = line.chars().count();
            if !is_free && width > WIDTH {
                places.push(format!("{}: {width} columns", place(&page, at)));
            }
        }
    }
    check("lines are too wide", &places);
}

#[test]
fn pages_name_the_subject() {
    let mut pages = pages();
    add(&root().join("docs/man"), "1", false, &mut pages);
    let mut places = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        let mut is_quoted = false;
        for (at, line) in outside_of_code(&text) {
            let words = vague(line, &mut is_quoted);
            places.extend(words.into_iter().map(|word| format!("{}: `{word}`", place(&page, at))));
        }
    }
    check("words hide who does what", &places);
}

#[test]
fn what_is_quoted_is_no_prose() {
    let mut is_quoted = false;
    let [one, other, ..] = VAGUE;
    let capitals = one.to_uppercase();
    let line = format!("{other} is `{one}` here, {capitals} is");
    assert_eq!(vague(&line, &mut is_quoted), [other, capitals.as_str()]);
    assert_eq!(vague("a quotation that `begins", &mut is_quoted), [""; 0]);
    assert_eq!(vague(&format!("{one}` ends: {other}"), &mut is_quoted), [other]);
}
