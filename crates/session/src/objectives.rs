//! What a plan's runs must achieve: conditions are read before any I/O and judged at the end of each run.

use objectives::{Condition, ConditionError, Judgement, ObjectiveVerdict, SelectableNames};
use plan::{Objective, Plan, Run};

/// The conditions of a plan, each once, and which of them every run has to meet.
#[derive(Debug, Default)]
pub(crate) struct Objectives {
    texts: Vec<String>,
    /// Does it ask for what data validation found?
    of_data: Vec<bool>,
    /// Was it judged in any run?
    judged: Vec<bool>,
}

/// Every objective of a plan with its mistake, if it has one: a wrong word, or a label that names nothing in this plan.
///
/// What the conditions of a run select by `run` is looked for among all runs.
#[must_use]
pub fn objective_mistakes(plan: &Plan) -> Vec<(Objective, ConditionError)> {
    let mut known = SelectableNames {
        workloads: plan.runs.iter().flat_map(|run| &run.workloads).map(|workload| workload.name.clone()).collect(),
        targets: (0..plan.targets.len() + plan.trees.len()).map(|place| plan.place_name(place).to_string()).collect(),
        runs: plan.runs.iter().flat_map(|run| [run.title.clone(), run.name.clone()]).collect(),
    };
    for list in [&mut known.workloads, &mut known.targets, &mut known.runs] {
        list.sort_unstable();
        list.dedup();
    }
    let mut seen: Vec<&Objective> = Vec::new();
    for objective in plan.objectives.iter().chain(plan.runs.iter().flat_map(|run| &run.objectives)) {
        if !seen.contains(&objective) {
            seen.push(objective);
        }
    }
    seen.into_iter()
        .filter_map(|objective| {
            let read = Condition::parse(&objective.text).and_then(|condition| condition.check_names(&known));
            read.err().map(|error| (objective.clone(), error))
        })
        .collect()
}

/// The objectives of a plan for the manifest: a run that is killed has judged nothing, and is judged by them later.
pub(crate) fn for_manifest(plan: &Plan) -> serde_json::Value {
    let of_all = plan.objectives.iter().map(|objective| serde_json::json!({ "condition": objective.text }));
    let of_runs = plan.runs.iter().flat_map(|run| run.objectives.iter().map(move |objective| (run, objective)));
    let of_runs =
        of_runs.map(|(run, objective)| serde_json::json!({ "condition": objective.text, "run": run.title.clone() }));
    of_all.chain(of_runs).collect()
}

impl Objectives {
    /// The objectives of a plan and the conditions to be judged, in the same order.
    ///
    /// # Errors
    /// A condition that cannot be read.
    pub(crate) fn of(plan: &Plan) -> Result<(Self, Vec<Condition>), ConditionError> {
        let mut texts: Vec<String> = Vec::new();
        for objective in plan.objectives.iter().chain(plan.runs.iter().flat_map(|run| &run.objectives)) {
            if !texts.contains(&objective.text) {
                texts.push(objective.text.clone());
            }
        }
        let conditions = texts.iter().map(|text| Condition::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let judged = vec![false; texts.len()];
        let of_data = conditions.iter().map(Condition::asks_of_data).collect();
        Ok((Self { texts, of_data, judged }, conditions))
    }

    /// Those that a run has to meet.
    pub(crate) fn of_run(&self, plan: &Plan, run: &Run) -> Vec<usize> {
        let wanted = || plan.objectives.iter().chain(&run.objectives);
        (0..self.texts.len()).filter(|index| wanted().any(|objective| objective.text == self.texts[*index])).collect()
    }

    /// Those that the reading at the end has to meet: it has no load, and finds damage.
    pub(crate) fn of_reading(&self, plan: &Plan, run: &Run) -> Vec<usize> {
        let is_of_data = |index: &usize| self.of_data.get(*index).is_some_and(|is_of_data| *is_of_data);
        self.of_run(plan, run).into_iter().filter(is_of_data).collect()
    }

    /// Remembers what was judged.
    pub(crate) fn learn(&mut self, verdicts: &[ObjectiveVerdict]) {
        for verdict in verdicts.iter().filter(|verdict| verdict.judgement != Judgement::Unknown) {
            if let Some(index) = self.texts.iter().position(|text| text.trim() == verdict.condition) {
                self.judged[index] = true;
            }
        }
    }

    /// Sentences about those that no run could judge: a silent objective must not look like one that was met.
    pub(crate) fn never_judged(&self) -> Vec<String> {
        let silent = self.texts.iter().zip(&self.judged).filter(|(_, judged)| !**judged);
        silent.map(|(text, _)| never_judged(text)).collect()
    }
}

/// What is said of a condition that was judged in no run.
#[must_use]
pub fn never_judged(condition: &str) -> String {
    format!("objective missed: no run could judge it, for want of what it asks for (fail if {})", condition.trim())
}
