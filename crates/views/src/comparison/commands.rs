//! Commands of the recordings side by side: what is said of their differences.

use super::conclusion::SMALLEST;
use super::words::{self, change, interval, tone, verdict};
use super::{Comparison, ComparisonQuestion, Conclusion, JudgedFigure, JudgingMethod};
use quantity::figures::DecimalPlaces;
use rates::measure::BetterDirection;
use view::{Body, Drawing, Scale, TableColumn, Unit, ViewTable, axis};
use workload::commands::SampleFigures;
use workload::commands::{COMMAND_MEASURES, CommandDifference, CommandFigures, CommandMeasure, CommandPair};

/// Most commands of which each has a sentence.
const SENTENCES: usize = 4;

/// A command of the recordings, and what is said of its figures.
#[derive(Debug)]
pub(crate) struct ComparedCommand {
    pub(crate) pair: CommandPair,
    /// Of each recording, each of [`COMMAND_MEASURES`] against that of the first; `None` where one of them lacks it.
    pub(super) judged: Vec<Vec<Option<(CommandDifference, JudgedFigure)>>>,
}

impl ComparedCommand {
    pub(crate) fn new(pair: CommandPair, question: ComparisonQuestion) -> Self {
        let of = |side: usize, measure: &CommandMeasure| {
            let difference = pair.difference(side, measure).filter(|_| side > 0)?;
            let judged = judged(&difference, measure.better, question)?;
            Some((difference, judged))
        };
        let sides = 0..pair.sides.len();
        let judged = sides.map(|side| COMMAND_MEASURES.iter().map(|measure| of(side, measure)).collect()).collect();
        Self { pair, judged }
    }

    fn figure(&self, side: usize, place: usize) -> Option<&JudgedFigure> {
        self.judged.get(side)?.get(place)?.as_ref().map(|(_, judged)| judged)
    }

    /// The others that have it as the first has.
    fn others(&self) -> impl Iterator<Item = usize> {
        let is_there =
            |side: &usize| self.pair.sides.first().is_some_and(Option::is_some) && self.pair.sides[*side].is_some();
        (1..self.pair.sides.len()).filter(is_there)
    }
}

fn judged(of: &CommandDifference, better: BetterDirection, question: ComparisonQuestion) -> Option<JudgedFigure> {
    let mut judged = JudgedFigure::plain(of.ratio()?);
    let open = |why: &str| Conclusion::NotResolved { needs_s: f64::NAN, why: why.to_string() };
    judged.interval = of.interval();
    judged.conclusion = match of.estimate {
        None => open(of.lack()),
        Some(found) if found.interval.excludes_zero() && found.d.abs() > SMALLEST.ln() => Conclusion::Different {
            better: match better {
                BetterDirection::More => Some(found.d > 0.0),
                BetterDirection::Less => Some(found.d < 0.0),
                BetterDirection::Neither => None,
            },
        },
        Some(found) if found.interval.low.abs().max(found.interval.high.abs()) <= question.within.ln_1p() => {
            Conclusion::Same { within: question.within }
        }
        Some(_) => open(""),
    };
    if of.estimate.is_some() {
        judged.method = JudgingMethod::Rounds(of.counts.0.min(of.counts.1));
    }
    Some(judged)
}

/// The table: each figure of each command, of every recording, and how they differ.
pub(crate) fn table(comparison: &Comparison, _: usize) -> Option<Drawing> {
    let all = &comparison.commands;
    let several = all.len() > 1;
    let sample = |command: &ComparedCommand, side: usize, measure: &CommandMeasure| {
        let rows = command.pair.sides.get(side)?.as_ref()?.counted();
        let values: Option<Vec<f64>> = rows.map(measure.value).collect();
        SampleFigures::of(&values?)
    };
    let mean = |command: &ComparedCommand, side: usize, measure: &CommandMeasure| {
        sample(command, side, measure).map_or(String::new(), |found| {
            let half = found.half_percent().map(|half| format!(" ± {} %", DecimalPlaces::TWO.format(half)));
            format!("{}{}", measure.unit.format(Some(found.mean)), half.unwrap_or_default())
        })
    };
    let count = |command: &ComparedCommand, side: usize| {
        command.pair.sides.get(side).and_then(Option::as_ref).map_or(String::new(), |command| {
            let figures = CommandFigures::of(command);
            let failed = if figures.failed > 0 { format!(", {} failed", figures.failed) } else { String::new() };
            format!("{}{failed}", figures.count)
        })
    };
    let is_known = |command: &ComparedCommand, place: usize| {
        COMMAND_MEASURES
            .get(place)
            .is_none_or(|measure| (0..comparison.sides.len()).any(|side| sample(command, side, measure).is_some()))
    };
    let rows: Vec<(&ComparedCommand, usize)> = all
        .iter()
        .flat_map(|command| (0..=COMMAND_MEASURES.len()).map(move |place| (command, place)))
        .filter(|(command, place)| is_known(command, *place))
        .collect();
    let rows = || rows.iter().copied();
    let text = |name: &str, of: &dyn Fn(&ComparedCommand, usize) -> String| {
        TableColumn::text(name, rows().map(|(command, place)| of(command, place)).collect())
    };
    let titled = |_: &ComparedCommand, place: usize| match COMMAND_MEASURES.get(place) {
        Some(measure) if place == 0 => format!("{} *", measure.title),
        Some(measure) => measure.title.to_string(),
        None => "executions".to_string(),
    };
    let mut columns = Vec::new();
    if several {
        columns.push(text("command", &|command, _| command.pair.name.clone()));
    }
    columns.push(text("figure", &titled));
    for (side, of) in comparison.sides.iter().enumerate() {
        let cell = |command: &ComparedCommand, place: usize| match COMMAND_MEASURES.get(place) {
            Some(measure) => mean(command, side, measure),
            None => count(command, side),
        };
        columns.push(text(&of.label, &cell));
    }
    for (side, of) in comparison.sides.iter().enumerate().skip(1) {
        let under = if comparison.sides.len() > 2 { of.label.as_str() } else { "" };
        let ratios = rows().map(|(command, place)| command.figure(side, place).map(|judged| judged.ratio));
        let tones = rows().map(|(command, place)| tone(command.figure(side, place)));
        columns.extend([
            TableColumn::numbers("ratio", Unit::None, ratios).under(under),
            text("95 % interval", &|command, place| interval(command.figure(side, place))).under(under),
            text("verdict", &|command, place| verdict(command.figure(side, place))).under(under).toned(tones.collect()),
        ]);
    }
    let none = || axis("", Unit::None, Scale::Category);
    let body = Body::Table(ViewTable { columns, omitted: 0 });
    (!all.is_empty()).then(|| Drawing { x: none(), y: none(), body, marks: Vec::new() })
}

fn sentence_of(comparison: &Comparison, command: &ComparedCommand, side: usize) -> String {
    let (base, label, name) = (comparison.label(0), comparison.label(side), &command.pair.name);
    let Some(judged) = command.figure(side, 0) else {
        return format!("{name}: {label} cannot be compared with {base}: no execution counts in one of them.");
    };
    let within = judged.interval.map_or(String::new(), |(low, high)| format!(", 95 % interval {low:.3} – {high:.3}"));
    let size = format!("{} (ratio {:.3}{within})", change(judged.ratio), judged.ratio);
    format!("{name}: real time of {label} against {base} {size}: {}.", verdict(Some(judged)))
}

/// What is said of all commands: a sentence each, or how many of many differ.
fn sentence(comparison: &Comparison) -> String {
    let all = &comparison.commands;
    let each: Vec<(&ComparedCommand, usize)> =
        all.iter().flat_map(|command| command.others().map(move |side| (command, side))).collect();
    match each.len() {
        0 if all.is_empty() => String::new(),
        0 => "No command is in both recordings.".to_string(),
        few if few <= SENTENCES => {
            let words = each.iter().map(|(command, side)| sentence_of(comparison, command, *side));
            words.collect::<Vec<String>>().join(" ")
        }
        many => {
            let of = |sign: char| {
                let has =
                    |(command, side): &&(&ComparedCommand, usize)| verdict(command.figure(*side, 0)).starts_with(sign);
                each.iter().filter(has).count()
            };
            let (better, worse, same) = (of('▲'), of('▼'), of('='));
            let open = many - better - worse - same;
            format!(
                "Real time of {many} commands: {better} ▲ better, {worse} ▼ worse, {same} the same, {open} not resolved."
            )
        }
    }
}

/// What is said of all loads and commands.
pub(crate) fn headline(comparison: &Comparison) -> String {
    let commands = sentence(comparison);
    match comparison.pairs.is_empty() && !commands.is_empty() {
        true => commands,
        false => format!("{} {commands}", words::headline(comparison)).trim_end().to_string(),
    }
}

/// What must be known of how commands were paired.
pub(crate) fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    for command in &comparison.commands {
        if command.pair.is_by_position {
            let lines = comparison.sides.iter().zip(&command.pair.sides);
            let lines =
                lines.filter_map(|(side, command)| Some(format!("{}: `{}`", side.label, command.as_ref()?.line)));
            let lines = lines.collect::<Vec<String>>().join("; ");
            notes.push(format!("One command of each recording is compared, and they differ: {lines}."));
        }
        let missing = comparison.sides.iter().zip(&command.pair.sides).filter(|(_, command)| command.is_none());
        notes.extend(missing.map(|(side, _)| format!("{} has no command {}.", side.label, command.pair.name)));
    }
    notes.truncate(8);
    notes
}
