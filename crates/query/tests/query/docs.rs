//! Every example in docs/query.md and every query in the README is run, and the page is as the lists say.

use crate::support::{query, results};
use query::reference::{EXAMPLES, FUNCTIONS, markdown};
use query::{Database, QuerySources};
use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The `iodyno query …` commands in the fenced blocks of a page; a command goes on until its quotes are closed.
fn commands(page: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        if is_open {
            let command = commands.last_mut().unwrap();
            command.push('\n');
            command.push_str(line);
        } else if line.starts_with("iodyno query ") {
            commands.push(line.to_string());
        } else {
            continue;
        }
        is_open = commands.last().unwrap().matches('"').count() % 2 == 1;
    }
    commands
}

/// Runs a command line in a shell, `...` filled in. Without a statement it reads its standard input, which is empty here.
fn run(command: &str, at: &Path) {
    let command =
        command.replace("select ...", "select count(*) from op_interval").replacen("iodyno query", "\"$BIN\"", 1);
    std::fs::write(at.join("questions.sql"), "select count(*) from disk; select count(*) from cpu;").unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", &command.replace("-o FILE", "-o file.parquet")])
        .env("BIN", env!("CARGO_BIN_EXE_iodyno-query"))
        .current_dir(at)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_command_of_the_documentation_runs() {
    let (_keep, at) = results();
    let page = std::fs::read_to_string(root().join("docs/query.md")).unwrap();
    let of_page = commands(&page);
    assert!(of_page.len() >= EXAMPLES.len() + 3, "{of_page:?}");
    let readme = commands(&std::fs::read_to_string(root().join("README.md")).unwrap());
    assert!(!readme.is_empty(), "the README shows no query");
    of_page.iter().chain(&readme).for_each(|command| run(command, &at));
}

#[test]
fn every_example_has_an_answer() {
    let (_keep, at) = results();
    for example in EXAMPLES {
        let recordings: &[&str] =
            if example.of_many { &["results/monday", "results/tuesday"] } else { &["results/monday"] };
        let output = query(&at, &[recordings, &["--json", example.sql]].concat());
        assert!(output.status.success(), "{}\n{}", example.sql, String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "no rows: {}", example.sql);
        assert!(!String::from_utf8_lossy(&output.stdout).contains("\"time\":null"));
    }
}

#[test]
fn the_page_is_what_the_lists_say() {
    let page = std::fs::read_to_string(root().join("docs/query.md")).unwrap();
    assert!(page == markdown(), "docs/query.md is stale; run `make docs`");
}

#[test]
fn the_list_of_functions_is_that_of_the_engine() {
    let (_keep, at) = results();
    let database = Database::new(QuerySources::open(&[at.join("results/monday")]).unwrap()).unwrap();
    let engine = database.functions();
    for function in FUNCTIONS {
        assert!(engine.contains(function.name), "{} is in the list only", function.name);
    }
    for name in engine.iter().filter(|name| name.starts_with("hist_") || *name == "percentile") {
        assert!(FUNCTIONS.iter().any(|function| function.name == name), "{name} is not in the list");
    }
}
