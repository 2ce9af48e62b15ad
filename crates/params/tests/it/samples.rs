//! Vdbench's own files: all of them parse, and the runs are those that Vdbench itself makes.

use params::{DiagnosticSeverity, MemoryLoader, PlanReading, VdbenchOptions, read_vdbench, render, simulate};
use std::path::PathBuf;

#[expect(clippy::unwrap_used, reason = "a missing fixture ends the test")]
fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../fixtures/vdbench/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn read_text(text: &str, options: &VdbenchOptions) -> PlanReading {
    read_vdbench(&[PathBuf::from("job.vdb")], options, &MemoryLoader::one("job.vdb", text))
}

/// The plan of a text that must have no error.
fn plan_of(text: &str) -> plan::Plan {
    let reading = read_text(text, &VdbenchOptions::default());
    let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
    reading.plan.unwrap_or_else(|| panic!("{}", shown.join("\n\n")))
}

#[test]
fn runs_equal_those_of_vdbench() {
    let expect = fixture("grammar_test.expected_runs");
    let lines = simulate(&plan_of(&fixture("grammar_test")));
    assert_eq!(lines.len(), 70);
    assert_eq!(lines.join("\n"), expect.trim_end());
}

#[test]
fn all_files_of_vdbench_parse() {
    for name in [
        "000-vdbench-amberroad.parm",
        "grammar_test",
        "quick_t",
        "quick_t1",
        "quick_t2",
        "quick_tf",
        "usage_example1",
        "usage_example2",
    ] {
        let reading = read_text(&fixture(name), &VdbenchOptions::default());
        let plan = reading.plan.unwrap_or_else(|| panic!("{name}: {:?}", reading.diagnostics));
        assert!(!plan.runs.is_empty(), "{name}");
        assert!(plan.unsupported.is_empty(), "{name}: {:?}", plan.unsupported);
        let files = name.contains("amberroad") || name == "quick_tf";
        assert_eq!(plan.runs.iter().all(plan::Run::is_of_trees), files, "{name}");
        // Only the examples with raw devices lack openflags=.
        let warned = reading.diagnostics.iter().any(|found| found.severity == DiagnosticSeverity::Warning);
        assert_eq!(warned, name.starts_with("usage"), "{name}: {:?}", reading.diagnostics);
    }
}
