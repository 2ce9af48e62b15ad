//! A sealed recording opens in DuckDB, Polars and pandas without anything of ours, and they find the same numbers.

use crate::support::{answer, results};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python with the three engines, made once and kept under `target`; why not, when that is not possible.
fn python() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers-venv");
    let (python, ready) = (home.join("bin/python"), home.join("ready"));
    if ready.exists() {
        return Ok(python);
    }
    let run = |command: &mut Command| match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
            Err(said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    // Without its own pip first: Debian has that in a package apart.
    let made = run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
    made.map_err(|error| format!("python3 -m venv: {error}"))?;
    let packages = ["duckdb", "polars", "pandas", "pyarrow"];
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"];
    run(Command::new(&python).args(pip).args(packages)).map_err(|error| format!("pip install: {error}"))?;
    std::fs::write(ready, packages.join(" ")).map_err(|error| error.to_string())?;
    Ok(python)
}

#[test]
fn duckdb_polars_and_pandas_find_the_same_numbers() {
    let python = match python() {
        Ok(python) => python,
        Err(why) => {
            testkit::lacks(&format!("a Python with duckdb, polars and pandas: {why}"));
            return;
        }
    };
    let (_keep, at) = results();
    let ours = answer(
        &at,
        &[
            "results/monday",
            "--json",
            "select workload, count(*) as n, sum(ops) as ops, sum(bytes) as bytes, sum(response_ns_p50) as p50, \
         sum(response_ns_p99) as p99, sum(response_ns_p999) as p999, sum(service_ns_mean) as mean, max(response_ns_max) as max \
         from op_interval group by 1 order by 1",
        ],
    );
    let columns = ["workload", "n", "ops", "bytes", "p50", "p99", "p999", "mean", "max"];
    let ours: Vec<Value> = ours
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|row| columns.iter().map(|column| row[*column].clone()).collect())
        .collect();
    assert_eq!(ours.len(), 2);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/query/peers.py");
    let output = Command::new(python).arg(script).arg("results/monday").current_dir(&at).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut engines = Vec::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let theirs: Value = serde_json::from_str(line).unwrap();
        assert_eq!(theirs["rows"], Value::from(ours.clone()), "{}", theirs["engine"]);
        engines.push(theirs["engine"].as_str().unwrap().to_string());
    }
    assert_eq!(engines, ["duckdb", "polars", "pandas"]);
}
