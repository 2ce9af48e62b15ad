//! What two plans have in common, however they were written.

use plan::{Plan, TextSpan};

/// The plan without texts and places in them.
pub(crate) fn placeless(mut plan: Plan) -> Plan {
    plan.sources.clear();
    plan.targets.iter_mut().for_each(|target| target.span = TextSpan::default());
    plan.trees.iter_mut().for_each(|tree| tree.span = TextSpan::default());
    plan.unsupported.iter_mut().for_each(|what| what.span = TextSpan::default());
    let settings = &mut plan.settings;
    settings.start_commands.iter_mut().chain(&mut settings.end_commands).for_each(|one| one.span = TextSpan::default());
    plan.objectives.iter_mut().for_each(|one| one.span = TextSpan::default());
    for run in &mut plan.runs {
        run.span = TextSpan::default();
        run.objectives.iter_mut().for_each(|one| one.span = TextSpan::default());
        // All must be met: their order says nothing.
        run.objectives.sort_by(|a, b| a.text.cmp(&b.text));
        run.start_commands.iter_mut().chain(&mut run.end_commands).for_each(|one| one.span = TextSpan::default());
        for workload in &mut run.workloads {
            workload.span = TextSpan::default();
            // What is left over for a workload is a sum that depends on how it was written.
            workload.share = (workload.share * 1e12).round() / 1e12;
        }
    }
    plan
}

/// The first lines in which they differ, to be read by people.
pub(crate) fn first_difference(a: &Plan, b: &Plan) -> String {
    let (a, b) = (format!("{a:#?}"), format!("{b:#?}"));
    let mut pairs = a.lines().zip(b.lines());
    pairs.find(|(a, b)| a != b).map_or("one is longer".to_string(), |(a, b)| format!("{}  /  {}", a.trim(), b.trim()))
}
