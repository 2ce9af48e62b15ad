//! Keeps the load-bearing walls: who may import whom.

use std::collections::BTreeMap;
use std::process::Command;

/// Reads `cargo metadata` of this workspace.
fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

#[test]
fn crates_import_lower_ranks_only() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let ranks: BTreeMap<&str, i64> = packages
        .iter()
        .map(|package| {
            let name = package["name"].as_str().expect("name");
            let rank = package["metadata"]["iodyno"]["rank"].as_i64();
            (name, rank.unwrap_or_else(|| panic!("{name} has no [package.metadata.iodyno] rank")))
        })
        .collect();
    assert!(ranks.len() >= 12, "only {} crates found", ranks.len());
    for package in packages {
        let name = package["name"].as_str().expect("name");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = dependency["name"].as_str().expect("name");
            let Some(to_rank) = ranks.get(to) else { continue };
            let is_test = dependency["kind"].as_str() == Some("dev");
            assert!(
                is_test || to_rank < &ranks[name],
                "{name} (rank {}) must not import {to} (rank {to_rank}): only lower ranks, see ARCHITECTURE.md",
                ranks[name]
            );
        }
    }
}

#[test]
fn only_the_recording_crate_knows_parquet_and_only_the_engine_io_uring() {
    let owners = [
        ("parquet", vec!["recording"]),
        ("io-uring", vec!["engine"]),
        ("clap", vec!["iodyno", "query"]),
        ("datafusion", vec!["query"]),
        ("libbpf-rs", vec!["trace"]),
    ];
    for package in metadata()["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("name");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = dependency["name"].as_str().expect("name");
            for (library, allowed) in &owners {
                let is_test = dependency["kind"].as_str() == Some("dev");
                assert!(is_test || to != *library || allowed.contains(&name), "{name} must not depend on {library}");
            }
        }
    }
}
