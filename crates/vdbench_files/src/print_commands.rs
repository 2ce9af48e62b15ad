//! Commands as `cmd=` again: the places of the variables are found by comparing what they became in the runs of a block.

use crate::keys::{self, Section};
use crate::print_words::{list, quoted, seconds};
use plan::command_template::template_of;
use plan::commands::{shell_stem, unique_name};
use plan::{CommandLine, CommandLoad, Run, Workload};
use std::collections::BTreeSet;

/// The parameters of a block's commands; what cannot be said is listed.
pub(crate) fn print(runs: &[Run], add: &mut impl FnMut(&str, String), unsaid: &mut Vec<String>) {
    let Some(one) = runs.first() else { return };
    let commands: Vec<&CommandLoad> = of(one).map(|(_, load)| load).collect();
    let Some(first) = commands.first() else { return };
    let title = &one.title;
    let settings = |load: &CommandLoad| (load.warmups, load.executions, load.at_ns.clone(), load.baselines);
    if commands.iter().any(|load| settings(load) != settings(first)) {
        unsaid.push(format!("{title}: commands that are executed at different times"));
    }
    let Some((lines, prepare)) = templates(runs) else {
        unsaid.push(format!(
            "{title} executes programs directly, with quotes, or with values of variables that are not in their places"
        ));
        return;
    };
    let quote = |text: &String| format!("\"{text}\"");
    add("cmd", list(&lines.iter().map(quote).collect::<Vec<_>>()));
    if let Some(prepare) = prepare {
        add("prepare", quote(&prepare));
    }
    if first.at_ns.is_empty() {
        match first.executions {
            Some(1) => {}
            Some(times) => add("times", times.to_string()),
            None => add("times", "max".to_string()),
        }
    } else {
        add("at", list(&first.at_ns.iter().map(|ns| seconds(*ns)).collect::<Vec<_>>()));
    }
    if first.warmups > 0 {
        add("warmups", first.warmups.to_string());
    }
    if first.baselines != u32::from(!first.at_ns.is_empty()) {
        add("baseline", first.baselines.to_string());
    }
}

/// `vary=(name,…)` for a loop that is none of Vdbench's.
pub(crate) fn vary(name: &str, values: &[String]) -> Option<String> {
    if keys::exact_name(Section::Run, name).is_some() {
        return None;
    }
    let texts: Vec<String> =
        values.iter().map(|text| if text.is_empty() { "\"\"".into() } else { quoted(text) }).collect();
    Some(format!("({name},{})", texts.join(",")))
}

/// A workload without what variables say of it.
pub(crate) fn blank(workload: &mut Workload) {
    if let plan::Load::Command(load) = &mut workload.load {
        load.line = CommandLine::Shell(String::new());
        load.prepare = load.prepare.as_ref().map(|_| CommandLine::Shell(String::new()));
    }
}

fn of(run: &Run) -> impl Iterator<Item = (&Workload, &CommandLoad)> {
    run.workloads.iter().filter_map(|workload| Some((workload, workload.load.command()?)))
}

/// The lines of runs with their variables in them, and what prepares them; `None` where there are none from which these runs come.
pub(crate) fn templates(runs: &[Run]) -> Option<(Vec<String>, Option<String>)> {
    let first = runs.first()?;
    let mut taken: BTreeSet<String> = first.paced_workloads().map(|workload| workload.name.clone()).collect();
    let mut lines = Vec::new();
    let mut prepare: Option<Option<String>> = None;
    for (number, (workload, _)) in of(first).enumerate() {
        let loads = || runs.iter().map(|run| of(run).nth(number).map(|(_, load)| load));
        let texts = loads().map(|load| text_of(&load?.line)).collect::<Option<Vec<&str>>>()?;
        let is_named = |text: &str| unique_name(&shell_stem(text), &mut taken.clone()) == workload.name;
        lines.push(template(runs, &texts, &is_named)?);
        taken.insert(workload.name.clone());
        let before = loads().map(|load| Some(load?.prepare.as_ref())).collect::<Option<Vec<_>>>()?;
        let own = match before.iter().filter(|one| one.is_some()).count() {
            0 => None,
            count if count == runs.len() => {
                let texts = before.into_iter().flatten().map(text_of).collect::<Option<Vec<&str>>>()?;
                Some(template(runs, &texts, &|_| true)?)
            }
            _ => return None,
        };
        if prepare.as_ref().is_some_and(|one| *one != own) {
            return None;
        }
        prepare = Some(own);
    }
    Some((lines, prepare.flatten()))
}

/// What the language can say of a line.
fn text_of(line: &CommandLine) -> Option<&str> {
    match line {
        CommandLine::Shell(text) if !text.contains(['"', '\n', '\r']) && !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

fn template(runs: &[Run], texts: &[&str], is_good: &dyn Fn(&str) -> bool) -> Option<String> {
    let loops: Vec<&[(String, String)]> = runs.iter().map(|run| run.loops.as_slice()).collect();
    template_of(&loops, texts, is_good)
}
