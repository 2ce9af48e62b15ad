//! Executed commands: which executions count, their figures, tables, words and how those of two recordings differ.
//!
//! Only executions of the measured phase that ended by themselves with exit code 0 are in figures of time. Failed ones are
//! counted apart: a program that gives up early is no measurement.

mod compared;
mod figures;
mod group;
mod pictures;
mod tables;
mod words;

pub use compared::{COMMAND_MEASURES, CommandDifference, CommandMeasure, CommandPair, paired};
pub use figures::{CommandFigures, SampleFigures, outliers};
pub use group::{MeasuredCommand, executed_commands, executions_words, has_failed, is_counted, labels};
pub use pictures::{by_variable, marks};
pub use tables::{LoadBeside, executions, moment_s, moments, summary};
pub use words::{
    CommandHeadline, cautions, execution_line, execution_tone, headline, sentence, sentence_of, summary_lines,
};
