//! `iodyno query` hands its arguments over to `iodyno-query`, or says how to get it.

use std::path::Path;
use std::process::Command;

/// A copy of `iodyno` in a directory where nothing else is.
fn alone(directory: &Path) -> Command {
    let program = directory.join("iodyno");
    testkit::copy_program(env!("CARGO_BIN_EXE_iodyno"), &program).unwrap();
    let mut command = Command::new(program);
    command.env("PATH", directory.join("bin")).args(["query", "r", "--csv", "--help", "select 1"]);
    command
}

fn script(path: &Path, says: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = path.with_extension("text");
    std::fs::write(&text, format!("#!/bin/sh\nprintf '%s|' {says} \"$@\"\nexit 5\n")).unwrap();
    testkit::copy_program(&text, path).unwrap();
}

#[test]
fn query_becomes_the_program_beside_it_or_in_path_with_the_same_arguments_and_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let output = alone(directory.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("iodyno: iodyno-query is neither beside iodyno nor in PATH"), "{said}");
    assert!(said.contains("make query"), "{said}");

    for (place, name) in [("bin/iodyno-query", "path"), ("iodyno-query", "beside")] {
        script(&directory.path().join(place), name);
        let output = alone(directory.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{name}|r|--csv|--help|select 1|"));
        assert_eq!(output.status.code(), Some(5));
    }
}
