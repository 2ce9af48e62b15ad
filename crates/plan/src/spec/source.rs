//! The texts that a plan was read from, and places in them.

use serde::{Deserialize, Serialize};

/// A byte range in one of the parameter texts that a plan was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TextSpan {
    /// Index into [`Plan::sources`](crate::Plan::sources).
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

/// One parameter text, kept for messages and for the recording's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterText {
    /// Path as the user gave it, or a description in angle brackets (`<command line>`).
    pub name: String,
    /// The text as read.
    pub text: String,
}
