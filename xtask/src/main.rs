//! Generates what is derived from the sources: `docs/tables.md`, `docs/query.md`, `docs/stat-columns.md`, `docs/findings-rules.md`, `docs/fio-options.md` and the man pages in `docs/man`.
//!
//! `generate` rewrites them, `check` fails when one is stale.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool of the build")]

// The list of SQL functions alone, so that the engine need not be built for the documentation.
#[path = "../../crates/query/src/reference.rs"]
#[expect(dead_code, unreachable_pub, reason = "the query crate uses all of it")]
mod reference;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let files = match generated() {
        Ok(files) => files,
        Err(error) => {
            eprintln!("xtask: failed to generate: {error}");
            return ExitCode::FAILURE;
        }
    };
    match task.as_str() {
        "generate" => generate(&files),
        "check" => check(&files),
        _ => {
            eprintln!("usage: xtask generate | check");
            ExitCode::from(2)
        }
    }
}

/// Root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every generated file with its text.
fn generated() -> std::io::Result<Vec<(PathBuf, String)>> {
    let mut files = vec![
        (root().join("docs/tables.md"), recording::catalogue_markdown()),
        (root().join("docs/stat-columns.md"), rates::stat::columns_markdown()),
        (root().join("docs/findings-rules.md"), findings::rules_markdown()),
        (root().join("docs/query.md"), reference::markdown()),
        (root().join("docs/fio-options.md"), params::fio_options_markdown()),
    ];
    let mut command = iodyno::command();
    command.build();
    let pages = std::iter::once(command.clone())
        .chain(command.get_subcommands().filter(|sub| sub.get_name() != "help").cloned());
    for page in pages {
        let name = page.get_display_name().unwrap_or(page.get_name()).replace(' ', "-");
        let mut text = Vec::new();
        clap_mangen::Man::new(page).date("").render(&mut text)?;
        files.push((root().join(format!("docs/man/{name}.1")), String::from_utf8_lossy(&text).into_owned()));
    }
    Ok(files)
}

fn generate(files: &[(PathBuf, String)]) -> ExitCode {
    for (path, text) in files {
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, text));
        if let Err(error) = written {
            eprintln!("xtask: failed to write {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
        println!("{}", path.display());
    }
    ExitCode::SUCCESS
}

fn check(files: &[(PathBuf, String)]) -> ExitCode {
    let stale: Vec<_> =
        files.iter().filter(|(path, text)| std::fs::read_to_string(path).ok().as_ref() != Some(text)).collect();
    for (path, _) in &stale {
        eprintln!("xtask: {} is stale; run `make docs`", path.display());
    }
    if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
