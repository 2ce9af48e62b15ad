//! Commands as `cmd=` again: the places of the variables are found by comparing what they became in the runs of a block.

use super::keys::{self, Section};
use super::print::{list, quoted, seconds};
use super::print_runs::Block;
use crate::commands::{shell_stem, substitute, unique_name};
use plan::{CommandLine, CommandLoad, Run, Workload};
use std::collections::BTreeSet;

/// Steps of the search for the places of variables, and places in all texts together that are looked at.
const STEPS_MAX: usize = 200_000;
const PLACES_MAX: usize = 4 << 20;

/// The parameters of a block's commands; what cannot be said is listed.
pub(super) fn print(block: &Block<'_>, add: &mut impl FnMut(&str, String), unsaid: &mut Vec<String>) {
    let commands: Vec<&CommandLoad> = of(block.first).map(|(_, load)| load).collect();
    let Some(first) = commands.first() else { return };
    let title = &block.first.title;
    let settings = |load: &CommandLoad| (load.warmups, load.executions, load.at_ns.clone(), load.baselines);
    if commands.iter().any(|load| settings(load) != settings(first)) {
        unsaid.push(format!("{title}: commands that are executed at different times"));
    }
    let Some((lines, prepare)) = templates(block.runs) else {
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
pub(super) fn vary(name: &str, values: &[String]) -> Option<String> {
    if keys::exact_name(Section::Run, name).is_some() {
        return None;
    }
    let texts: Vec<String> =
        values.iter().map(|text| if text.is_empty() { "\"\"".into() } else { quoted(text) }).collect();
    Some(format!("({name},{})", texts.join(",")))
}

/// A workload without what variables say of it.
pub(super) fn blank(workload: &mut Workload) {
    if let plan::Load::Command(load) = &mut workload.load {
        load.line = CommandLine::Shell(String::new());
        load.prepare = load.prepare.as_ref().map(|_| CommandLine::Shell(String::new()));
    }
}

fn of(run: &Run) -> impl Iterator<Item = (&Workload, &CommandLoad)> {
    run.workloads.iter().filter_map(|workload| Some((workload, workload.load.command()?)))
}

/// The lines of runs with their variables in them, and what prepares them; `None` where there are none from which these runs come.
pub(super) fn templates(runs: &[Run]) -> Option<(Vec<String>, Option<String>)> {
    let first = runs.first()?;
    let mut taken: BTreeSet<String> = first.block_workloads().map(|workload| workload.name.clone()).collect();
    let mut lines = Vec::new();
    let mut prepare: Option<Option<String>> = None;
    for (number, (workload, _)) in of(first).enumerate() {
        let loads = || runs.iter().map(|run| of(run).nth(number).map(|(_, load)| load));
        let texts = loads().map(|load| text_of(&load?.line)).collect::<Option<Vec<&str>>>()?;
        let is_named = |text: &str| unique_name(&shell_stem(text), &mut taken.clone()) == workload.name;
        lines.push(template(runs, &texts, is_named)?);
        taken.insert(workload.name.clone());
        let before = loads().map(|load| Some(load?.prepare.as_ref())).collect::<Option<Vec<_>>>()?;
        let own = match before.iter().filter(|one| one.is_some()).count() {
            0 => None,
            count if count == runs.len() => {
                let texts = before.into_iter().flatten().map(text_of).collect::<Option<Vec<&str>>>()?;
                Some(template(runs, &texts, |_| true)?)
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

/// A text that becomes each of `texts` with the variables of its run, and that is good; with all variables in it where that goes.
fn template(runs: &[Run], texts: &[&str], is_good: impl Fn(&str) -> bool) -> Option<String> {
    let loops: Vec<&[(String, String)]> = runs.iter().map(|run| run.loops.as_slice()).collect();
    let becomes = |text: &str| {
        let same = |(loops, wanted): (&&[(String, String)], &&str)| substitute(text, loops).as_deref() == Some(*wanted);
        loops.iter().zip(texts).all(same) && is_good(text)
    };
    let places: usize = texts.iter().map(|text| text.len()).sum();
    let names = loops.first()?.len();
    if names == 0 || places > PLACES_MAX || loops.iter().any(|one| one.len() != names) {
        return texts.first().filter(|text| becomes(text)).map(|text| (*text).to_string());
    }
    let mut search = Search { loops: &loops, texts, path: Vec::new(), uses: vec![0; names], steps: 0 };
    let all = search.find(&|text, uses| uses.iter().all(|count| *count > 0) && becomes(text));
    all.or_else(|| {
        search.steps = 0;
        search.find(&|text, _| becomes(text))
    })
}

/// A step of the search: a variable, or characters that are the same in all texts.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Variable(usize),
    Letter(char),
}

/// A depth-first search through all texts at once.
struct Search<'a> {
    loops: &'a [&'a [(String, String)]],
    texts: &'a [&'a str],
    path: Vec<Piece>,
    uses: Vec<u32>,
    steps: usize,
}

impl Search<'_> {
    fn find(&mut self, is_good: &dyn Fn(&str, &[u32]) -> bool) -> Option<String> {
        self.path.clear();
        self.uses.fill(0);
        // Where each text is, and which way is tried next.
        let mut stack: Vec<(Vec<u32>, usize)> = vec![(vec![0; self.texts.len()], 0)];
        while let Some((places, way)) = stack.last_mut() {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return None;
            }
            let is_end = places.iter().zip(self.texts).all(|(at, text)| *at as usize == text.len());
            if is_end && *way == 0 && is_good(&self.text(), &self.uses) {
                return Some(self.text());
            }
            let names = self.uses.len();
            let mut next = None;
            while *way <= 2 * names && next.is_none() {
                next = self.step(places, *way);
                *way += 1;
            }
            match next {
                Some((piece, places)) => {
                    self.path.push(piece);
                    if let Piece::Variable(k) = piece {
                        self.uses[k] += 1;
                    }
                    stack.push((places, 0));
                }
                None => {
                    stack.pop();
                    if let Some(Piece::Variable(k)) = self.path.pop() {
                        self.uses[k] -= 1;
                    }
                }
            }
        }
        None
    }

    /// Variables that were not used yet first, then the others, then a letter.
    fn step(&self, places: &[u32], way: usize) -> Option<(Piece, Vec<u32>)> {
        let names = self.uses.len();
        let rests = || places.iter().zip(self.texts).map(|(at, text)| &text[*at as usize..]);
        if way == 2 * names {
            let letter = rests().next()?.chars().next()?;
            let are_all = rests().all(|rest| rest.starts_with(letter));
            let step = u32::try_from(letter.len_utf8()).unwrap_or(1);
            return are_all.then(|| (Piece::Letter(letter), places.iter().map(|at| at + step).collect()));
        }
        let (k, is_first) = (way % names, way < names);
        if (self.uses[k] == 0) != is_first {
            return None;
        }
        let values = || self.loops.iter().map(|one| one[k].1.as_str());
        let are_all = rests().zip(values()).all(|(rest, value)| rest.starts_with(value));
        let moves = values().any(|value| !value.is_empty());
        let step = |(at, value): (&u32, &str)| at + u32::try_from(value.len()).unwrap_or(0);
        (are_all && moves).then(|| (Piece::Variable(k), places.iter().zip(values()).map(step).collect()))
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for piece in &self.path {
            match piece {
                Piece::Variable(k) => {
                    let name = self.loops.first().map_or("", |one| one[*k].0.as_str());
                    out.extend(["{", name, "}"]);
                }
                Piece::Letter(letter) => out.push(*letter),
            }
        }
        out
    }
}
