//! What must hold for every text that is read.

use params::{
    DiagnosticSeverity, JobSource, MemoryLoader, QuickTest, VdbenchOptions, print_fio, read_fio, read_vdbench, render,
    simulate,
};
use plan::{OfferedRate, Plan};
use std::path::PathBuf;

/// Reads a text and holds what comes out against the promises of plans and findings; gives the number of runs.
pub(crate) fn check(text: &[u8], choice: u64) -> Option<usize> {
    let mut files = MemoryLoader::one("job.vdb", text);
    files.0.insert(PathBuf::from("other"), b"sd=sd9,lun=/tmp/other,size=1m\ninclude=job.vdb\n".to_vec());
    let reading = read_vdbench(&[PathBuf::from("job.vdb")], &options(choice), &files);
    for found in &reading.diagnostics {
        let shown = render(found, &reading.sources);
        assert!(shown.len() < 20_000, "{} bytes", shown.len());
        assert!(!found.message.is_empty() && !found.message.ends_with('.'), "{shown}");
        let source = reading.sources.get(found.span.source as usize);
        let end = found.span.start as usize + found.span.len as usize;
        assert!(source.is_none_or(|source| end <= source.text.len().max(80)), "{found:?}");
    }
    let errors = reading.diagnostics.iter().any(|found| found.severity == DiagnosticSeverity::Error);
    assert!(reading.plan.is_some() || errors, "no plan and no reason");
    let plan = reading.plan?;
    assert!(!errors, "a plan and errors");
    hold(&plan);
    if plan.runs.len() <= 1000 {
        assert_eq!(simulate(&plan).len(), plan.runs.len());
    }
    Some(plan.runs.len())
}

/// The same for a job file; a plan that comes out can be printed and read again.
pub(crate) fn check_fio(text: &[u8], choice: u64) -> Option<usize> {
    let mut files = MemoryLoader::one("job.fio", text);
    files.0.insert(PathBuf::from("other"), b"bs=8k\ninclude other\n".to_vec());
    let source = JobSource::File(PathBuf::from("job.fio"));
    let home = |name: &str| (name == "HOME").then(|| "/root".to_string());
    let reading = read_fio(&[source], &options(choice), &files, &home);
    for found in &reading.diagnostics {
        let shown = render(found, &reading.sources);
        assert!(shown.len() < 20_000, "{} bytes", shown.len());
        assert!(!found.message.is_empty() && !found.message.ends_with('.'), "{shown}");
    }
    assert_eq!(reading.plan.is_none(), reading.errors() > 0, "a plan or errors");
    let plan = reading.plan?;
    assert!(!plan.runs.is_empty() && !plan.targets.is_empty());
    for run in &plan.runs {
        assert!(!run.workloads.is_empty() && run.interval_ns > 0);
        for workload in &run.workloads {
            assert!(workload.job.as_ref().is_some_and(|job| job.depth > 0 && job.depth_low < job.depth));
            assert!(workload.targets.iter().all(|at| *at < plan.targets.len()) && !workload.targets.is_empty());
            assert!(workload.rate.is_none_or(|rate| rate > 0.0 && rate.is_finite()), "{:?}", workload.rate);
        }
    }
    if plan.runs.len() < 50 {
        let printed = print_fio(&plan);
        let again = read_fio(
            &[JobSource::Text("<again>".to_string(), printed.text.clone())],
            &VdbenchOptions::default(),
            &files,
            &home,
        );
        assert!(again.plan.is_some(), "{}\n{:?}", printed.text, again.diagnostics);
    }
    Some(plan.runs.len())
}

fn options(choice: u64) -> VdbenchOptions {
    let mut options = VdbenchOptions::default();
    if choice.is_multiple_of(7) {
        options.variables = vec![("x".to_string(), "sd1".to_string()), ("xy".to_string(), "a,b=(".to_string())];
    }
    if choice.is_multiple_of(11) {
        options.run_addition = Some("iorate=max,elapsed=3".to_string());
    }
    if choice.is_multiple_of(13) {
        (options.elapsed_ns, options.interval_ns) = (Some(5_000_000_000), Some(500_000_000));
    }
    if choice.is_multiple_of(101) {
        options.quick = Some(QuickTest::Mixed);
    }
    options
}

/// The promises of a plan.
fn hold(plan: &Plan) {
    assert!(!plan.runs.is_empty());
    let mut curve = false;
    for run in &plan.runs {
        assert!(run.interval_ns > 0 && run.elapsed_ns.is_none_or(|elapsed| elapsed >= 2 * run.interval_ns));
        assert!(run.elapsed_ns.is_some() || run.is_of_commands() || run.format, "{}", run.title);
        match run.rate {
            OfferedRate::PerSecond(rate) => assert!(rate > 0.0 && rate <= 1e9, "{rate}"),
            OfferedRate::CurveMax => curve = true,
            OfferedRate::CurvePoint { fraction, .. } => assert!(curve && fraction > 0.0),
            OfferedRate::FractionOfLastMax(fraction) => assert!(fraction > 0.0),
            OfferedRate::Max => {}
        }
        if run.workloads.is_empty() {
            assert!(!plan.unsupported.is_empty(), "{} does nothing", run.title);
            continue;
        }
        for load in run.workloads.iter().filter_map(|workload| workload.load.command()) {
            let elapsed_ns = run.elapsed_ns.unwrap_or(0);
            assert!(load.at_ns.is_sorted_by(|a, b| a < b) && load.at_ns.iter().all(|at| *at < elapsed_ns));
            assert!(load.executions.is_none_or(|count| count > 0), "{load:?}");
            assert!(load.executions.is_some() || run.elapsed_ns.is_some(), "it ends: {load:?}");
        }
        if run.is_of_commands() {
            continue;
        }
        let sum: f64 = run.workloads.iter().map(|workload| workload.share).sum();
        let all_rated = run.block_workloads().all(|workload| workload.rate.is_some());
        assert!(all_rated || (sum - 1.0).abs() < 1e-6, "{}: shares are {sum}", run.title);
        for workload in run.workloads.iter() {
            hold_trees(plan, run, workload);
        }
        for workload in run.block_workloads() {
            assert!(!workload.targets.is_empty());
            assert!(workload.targets.iter().all(|at| *at < plan.targets.len()));
            assert!(workload.depth.is_none_or(|depth| depth > 0 && run.depth.is_none()), "{}", run.title);
            assert!(workload.targets.iter().all(|at| run.depth_of(&plan.targets[*at]) > 0), "{}", run.title);
            let mix = &workload.mix;
            assert!((mix.read + mix.write + mix.trim + mix.flush - 1.0).abs() < 1e-6, "{mix:?}");
            assert!(workload.transfer.min_bytes() >= 512 && workload.transfer.min_bytes() % 512 == 0);
            assert!(workload.content.compress_ratio >= 1.0);
        }
    }
}

/// The promises of a workload in trees.
fn hold_trees(plan: &Plan, run: &plan::Run, workload: &plan::Workload) {
    let Some(load) = workload.load.tree() else { return };
    assert!(!load.uses.is_empty() && load.threads > 0 && workload.targets.is_empty(), "{}", run.title);
    assert_eq!(run.format, matches!(load.task, plan::TreeTask::Format(_)), "{}", run.title);
    for one in load.uses.iter().chain(&load.destination) {
        assert!(one.tree < plan.trees.len());
        let probe = plan::TreeShape { sizes: plan::FileSizes::Fixed(1), ..one.shape.clone() };
        assert!(tree::TreeLayout::new(&probe).is_ok(), "{:?}", one.shape);
    }
    for one in run.tree_uses() {
        let uses = run.workloads.iter().filter_map(|workload| workload.load.tree());
        let mut same = uses.flat_map(|load| load.uses.iter().chain(&load.destination));
        assert!(same.all(|other| other.tree != one.tree || other == one), "one shape of a tree in {}", run.title);
    }
}
