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
fn a_library_is_known_to_the_crates_that_own_it_only() {
    let owners = [
        ("parquet", vec!["recording"]),
        // `engine::uring_memory` and `engine::uring_queue` speak to the ring themselves.
        ("io-uring", vec![]),
        ("clap", vec!["iodyno", "query"]),
        ("datafusion", vec!["query"]),
        ("libbpf-rs", vec!["trace"]),
        ("hyper", vec!["monitor"]),
        ("tokio", vec!["monitor", "query"]),
        // Ours: `params` hands them on.
        ("parameter_text", vec!["fio_jobs", "vdbench_files", "params"]),
        ("fio_jobs", vec!["params"]),
        ("vdbench_files", vec!["params"]),
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

/// Files with `unsafe` below a folder.
fn with_unsafe(folder: &std::path::Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            with_unsafe(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            if text
                .lines()
                .any(|line| line.contains("unsafe {") || line.contains("unsafe impl") || line.contains("unsafe fn"))
            {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
}

#[test]
fn unsafe_code_stands_only_where_the_kernel_is_spoken_to() {
    // ARCHITECTURE.md, invariant 8. A file that comes here needs a reason there.
    let allowed = [
        "backing/src/dm.rs",
        "backing/src/loop_devices.rs",
        "collect/src/clock_state.rs",
        "collect/src/nic.rs",
        "command/src/memory.rs",
        "command/src/reaping.rs",
        "engine/src/discard.rs",
        "engine/src/io_buffers.rs",
        "engine/src/placement.rs",
        "tree_load/src/xattrs.rs",
        "engine/src/uring_memory.rs",
        "engine/src/uring_queue.rs",
        "iodyno/src/allocator.rs",
        "mapping/src/lib.rs",
        "stamp/src/avx2.rs",
        "stamp/src/avx512.rs",
        "trace/src/block/in_flight.rs",
        "trace/src/prefetch.rs",
        "trace/src/kernel_ring.rs",
        "trace/src/mapped.rs",
        "trace/src/profile/clocks.rs",
        "trace/src/program.rs",
        "trace/src/table.rs",
    ];
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for package in std::fs::read_dir(&crates).expect("the crates").flatten() {
        with_unsafe(&package.path().join("src"), &mut found);
    }
    let prefix = format!("{}/", crates.display());
    let found: Vec<&str> = found.iter().filter_map(|path| path.strip_prefix(prefix.as_str())).collect();
    for path in &found {
        assert!(allowed.contains(path), "{path} has unsafe code");
    }
    for path in allowed {
        assert!(found.contains(&path), "{path} has none any more");
    }
}

/// Sources below a folder, without tests of their own.
fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn text_reaches_standard_output_through_one_gate() {
    // `quantity::output` makes visible what others have named; the page of `top` does it cell by cell, and `terminal.rs` asks
    // for the width only. `-o -` of reports, charts and tables is data, whose names were made visible when it was drawn, and
    // the allocator writes its own words where nothing else can be written any more.
    let allowed = [
        "quantity/src/output.rs",
        "output/src/file.rs",
        "iodyno/src/allocator.rs",
        "tui/src/top/screen.rs",
        "tui/src/terminal.rs",
    ];
    // What is only run by a developer, before or after the program itself.
    let own = ["plan/src/generate/speed.rs", "trace/build.rs"];
    let ways = [
        "println!(",
        "eprintln!(",
        "print!(",
        "eprint!(",
        "dbg!(",
        "io::stdout",
        "io::stderr",
        "stdio::stderr",
        "error.print()",
    ];
    let raw = ["/dev/tty", "/dev/stdout", "/dev/stderr"];
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for package in std::fs::read_dir(&crates).expect("the crates").flatten() {
        sources(&package.path().join("src"), &mut found);
    }
    assert!(found.len() > 300, "only {} sources found", found.len());
    let prefix = format!("{}/", crates.display());
    let mut bypasses = Vec::new();
    let mut gates = std::collections::BTreeSet::new();
    for path in &found {
        let text = std::fs::read_to_string(path).expect("a source");
        let name = path.to_string_lossy().replacen(&prefix, "", 1);
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            if ways.iter().chain(&raw).any(|way| line.contains(way)) && !own.contains(&name.as_str()) {
                if allowed.contains(&name.as_str()) {
                    gates.insert(name.clone());
                } else {
                    bypasses.push(format!("{name}: {}", line.trim()));
                }
            }
        }
    }
    assert!(bypasses.is_empty(), "write through quantity::output instead:\n{}", bypasses.join("\n"));
    assert_eq!(gates.len(), allowed.len(), "{gates:?}");
}
