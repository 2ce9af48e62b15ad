//! One command's life: sources, recording, faces, signals, clean end.
//!
//! [`execute`] takes a plan from inspected targets to a sealed recording with its report. Everything measured goes
//! through the spine: into the journal first, then to the face.

mod ab;
mod batch_sink;
mod commands;
mod dry_run;
mod dry_run_text;
mod dry_run_trees;
mod error;
mod execute;
mod executions;
mod format;
mod half_round;
mod job_ends;
mod logs;
mod model;
mod non_defaults;
mod objectives;
mod outcome;
mod pause;
mod rates;
mod recovering;
mod replay;
mod requested;
mod rows;
mod run_context;
mod run_loop;
mod run_observer;
mod show;
mod steady;
mod sync;
mod trees;
mod validation;

pub use ab::{AbLoad, AbOutcome, AbRequest, ab, order_of};
pub use dry_run::{DryRun, TargetFinding, dry_run};
pub use engine::EngineChoice;
pub use error::SessionError;
pub use execute::{RunRequest, execute};
pub use half_round::{HalfRound, RoundSide, half_rounds};
pub use model::{ModelOutcome, ModelRequest, model};
pub use objectives::{never_judged, objective_mistakes};
pub use outcome::{CommandEnding, CommandOutcome};
pub use replay::{LostIos, TraceSurvey, lost, rehearse, survey};
pub use report::{JunitCase, JunitSuite};
pub use run_observer::{RunObserver, error_face, json_face, terminal_face};
pub use show::{
    begin_junit_file, check_junit_file, comparison, comparison_file, comparison_lines, end_junit_file, junit_file,
    last_words, report_file, terminal_look,
};
pub use trees::{TreeUseError, TreeUseErrorKind};
pub use tui::{PaintedLine, TerminalLook};
pub use tui::{json_difference, json_verdict};
pub use validation::{FoundJournal, group_sentence, is_zero_after_trim};
