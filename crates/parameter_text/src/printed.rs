//! What a printer of plans gives.

/// A plan in one of the languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedPlan {
    /// The parameter file; reading it gives the plan again, but for what is unsaid.
    pub text: String,
    /// What the language cannot say, one sentence each, lower case, without a full stop.
    pub unsaid: Vec<String>,
}

/// The plan without the runs that play traces, which the other languages say in ways of their own.
pub fn without_replays(plan: &plan::Plan, unsaid: &mut Vec<String>) -> plan::Plan {
    let mut plain = plan.clone();
    plain.runs.retain(|run| {
        let plays = run.workloads.iter().any(|workload| workload.replay.is_some());
        if plays {
            unsaid.push(format!("{} plays a trace", run.title));
        }
        !plays
    });
    plain
}
