//! All figures of all pairs as a list, for programs.

use super::{Comparison, JudgedFigure};
use rates::measure::{LoadMeasure, MEASURES};
use workload::commands::COMMAND_MEASURES;

/// One figure of one recording beside that of the first.
#[derive(Clone, Debug)]
pub struct FigureDifference<'a> {
    /// Name of the runs, with their loop variables.
    pub run: &'a str,
    /// Their place among the pairs.
    pub run_index: usize,
    /// The recording.
    pub recording: &'a str,
    /// The first one.
    pub against: &'a str,
    /// Name of the figure, as conditions know it.
    pub measure: &'static str,
    /// Is it the one that decides?
    pub is_primary: bool,
    /// What it was in the first, in base units (ns, bytes, per second, per cent), and what it is; lower bounds where operations had no end.
    pub values: (f64, f64),
    /// What is said of it.
    pub judged: &'a JudgedFigure,
}

impl Comparison {
    /// Every figure that both recordings of a pair have.
    #[must_use]
    pub fn differences(&self) -> Vec<FigureDifference<'_>> {
        let mut all = Vec::new();
        for pair in 0..self.pairs.len() {
            let primary = self.primary(pair).key;
            let Some((0, first, base)) = self.of(pair).next() else { continue };
            let was = base.whole();
            for (at, side, load) in self.of(pair).filter(|(at, ..)| *at > 0) {
                let is = load.whole();
                let of = |measure: &'static LoadMeasure| {
                    let values = ((measure.value)(&was)?.low, (measure.value)(&is)?.low);
                    let judged = self.judged(at, pair, measure)?;
                    Some(FigureDifference {
                        run: self.pair_name(pair),
                        run_index: pair,
                        recording: &side.label,
                        against: &first.label,
                        measure: measure.key,
                        is_primary: measure.key == primary,
                        values,
                        judged,
                    })
                };
                all.extend(MEASURES.iter().filter_map(of));
            }
        }
        all.extend(of_commands(self));
        all
    }
}

/// Every figure of commands that both recordings have.
fn of_commands(comparison: &Comparison) -> impl Iterator<Item = FigureDifference<'_>> {
    comparison.commands.iter().enumerate().flat_map(move |(run_index, command)| {
        let sides = command.judged.iter().enumerate().skip(1);
        sides.flat_map(move |(side, judged)| {
            COMMAND_MEASURES.iter().zip(judged).filter_map(move |(measure, judged)| {
                let (difference, judged) = judged.as_ref()?;
                Some(FigureDifference {
                    run: &command.pair.name,
                    run_index,
                    recording: comparison.label(side),
                    against: comparison.label(0),
                    measure: measure.key,
                    is_primary: measure.key == COMMAND_MEASURES[0].key,
                    values: (difference.was, difference.is),
                    judged,
                })
            })
        })
    })
}
