//! What a run must achieve.

use super::source::TextSpan;
use serde::{Deserialize, Serialize};

/// A condition that must not come true: a run in which it does has missed its objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// The condition as written, `response_ns_p99{op=read} > 5ms` (docs/objectives.md).
    pub text: String,
    /// Where it was written: the whole text, quotes included.
    pub span: TextSpan,
}
