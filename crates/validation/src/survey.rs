//! What a target says of itself, without any knowledge of what was written to it: who wrote what, when, and what of it is damaged.
//!
//! [`look`] judges a piece of a target; the pieces are added up in order ([`TargetSurvey`]). Only what is certain from the bytes
//! alone is a damage: an older write in the place of a newer one looks right here, and that a block was torn shows only to
//! who knows how large the blocks are ([`SurveyRules::unit`]).

mod of_file;
mod pieces;
#[cfg(test)]
mod tests;
mod totals;

pub use of_file::examine_of_file;
pub use pieces::{AreaKind, PieceSurvey, RunTally, SurveyDamage, SurveyRules, SurveyUnit, TargetArea, look};
pub use totals::{AreaSpan, DAMAGES_KEPT, TargetSurvey};
