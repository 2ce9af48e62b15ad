//! SQL over recordings, on an embedded engine: every table of one or many recordings, open ones too, with functions
//! that merge histograms. Apart from the other crates, so that a build without it does not compile the engine.

mod column_help;
mod database;
mod error;
mod functions;
mod output;
pub mod reference;
mod source;
mod table;
mod time_columns;
mod units;

pub use self::output::{AnswerFormat, write};
pub use column_help::column_help;
pub use database::{Database, QueryAnswer};
pub use error::{QueryError, StatementMistake};
pub use source::{QuerySources, type_word};
