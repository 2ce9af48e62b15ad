//! The table: every target with every way of writing to it. Refused or allowed as stated, and everything else unchanged.

use crate::harm::commands::{ALL, Role, Typed};
use crate::harm::devices::Made;
use crate::harm::scene::{state, work};
use crate::harm::{devices, files};
use std::path::Path;

/// A recording to draw and export.
fn recording(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("rec");
    let arguments = ["record", "-o", "rec", "--for", "200ms", "-i", "50ms"];
    let output = testkit::TestCommand::new(env!("CARGO_BIN_EXE_iodyno")).args(arguments).dir(folder).run().unwrap();
    output.expect_code(0);
    path
}

/// Types a command at a row's target; what is wrong with what came of it. Where the kernel wrote to a row's swap meanwhile, it is
/// no witness, and the case is made again.
fn case(row: &Made, typed: &Typed, recording: &Path) -> Option<Result<(), String>> {
    for _ in 1..10 {
        let swapped = testkit::pages_swapped_out();
        let judged = judged(row, typed, recording)?;
        if judged.is_ok() || !row.0.contains("swap") || testkit::pages_swapped_out() == swapped {
            return Some(judged);
        }
    }
    judged(row, typed, recording)
}

fn judged(row: &Made, typed: &Typed, recording: &Path) -> Option<Result<(), String>> {
    let scene = (row.2)()?;
    let before = state(&scene);
    let folder = work();
    let output = typed.run(&scene.path, folder.path(), recording);
    let after = state(&scene);
    let changed: Vec<String> = before
        .iter()
        .filter(|(name, content)| after.get(*name) != Some(*content))
        .map(|(name, _)| name.clone())
        .collect();
    let wrong = typed.judge(row.1, &output, !changed.is_empty());
    Some(wrong.map_or(Ok(()), |wrong| Err(format!("{} × {}: {wrong}; changed: {changed:?}", row.0, typed.name))))
}

/// The commands of some roles over some rows.
#[track_caller]
fn table(rows: &[Made], roles: &[Role], least: usize) {
    if !testkit::require_root_or_skip() {
        return;
    }
    let folder = work();
    let recording = recording(folder.path());
    let cases = |rows: &[Made]| {
        let (mut tried, mut wrong) = (0, Vec::new());
        for row in rows {
            for typed in ALL.iter().filter(|typed| roles.contains(&typed.role)) {
                match case(row, typed, &recording) {
                    Some(Ok(())) => tried += 1,
                    Some(Err(sentence)) => {
                        tried += 1;
                        wrong.push(sentence);
                    }
                    None => {
                        testkit::lacks(&row.0);
                    }
                }
            }
        }
        (tried, wrong)
    };
    // Most of a case is waiting: the rows are shared between two.
    let (first, second) = rows.split_at(rows.len() / 2);
    let (mut tried, mut wrong) = (0, Vec::new());
    std::thread::scope(|scope| {
        for half in [scope.spawn(|| cases(first)), scope.spawn(|| cases(second))] {
            let (more, sentences) = half.join().unwrap();
            tried += more;
            wrong.extend(sentences);
        }
    });
    println!("{tried} cases, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} of {tried} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried >= least, "only {tried} cases could be made here");
}

fn file_rows() -> Vec<Made> {
    files::ROWS.iter().map(|(name, rule, make)| ((*name).to_string(), *rule, Box::new(*make) as Box<_>)).collect()
}

#[test]
#[ignore = "minutes: make soak"]
fn soak_loads_on_devices() {
    table(&devices::all(), &[Role::Target, Role::Destroyed, Role::Source], 200);
}

#[test]
fn loads_on_files() {
    table(&file_rows(), &[Role::Target, Role::Destroyed, Role::Source], 100);
}

/// With `--force` an output may replace a regular file of this machine: none of the system's is tried.
fn is_of_the_system(name: &str) -> bool {
    name.starts_with("file in /") || name.starts_with("bind mount of /")
}

#[test]
#[ignore = "minutes: make soak"]
fn soak_outputs_over_files() {
    let rows: Vec<Made> = file_rows().into_iter().filter(|row| !is_of_the_system(&row.0)).collect();
    table(&rows, &[Role::Output, Role::Forced, Role::Folder], 250);
}

#[test]
fn outputs_over_devices() {
    let chosen =
        ["ext4", "mounted", "swap in use", "ours", "empty", "by a symbolic link", "file behind a mounted loop"];
    let rows: Vec<Made> = devices::all().into_iter().filter(|row| chosen.contains(&row.0.as_str())).collect();
    table(&rows, &[Role::Output, Role::Forced, Role::Folder], 60);
}
