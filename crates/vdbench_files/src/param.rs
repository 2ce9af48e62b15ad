//! Parameters with their places.

use plan::TextSpan;

/// One value with its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) span: TextSpan,
    /// Was any part of it between quotes?
    pub(crate) quoted: bool,
}

/// One `keyword=value`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Param {
    /// In lower case, as written otherwise.
    pub(crate) key: String,
    pub(crate) key_span: TextSpan,
    pub(crate) values: Vec<Text>,
    /// Written with parentheses.
    pub(crate) list: bool,
    /// All of the value.
    pub(crate) span: TextSpan,
    /// Number of its line over all files.
    pub(crate) line: u32,
    /// Is it the first on its line?
    pub(crate) first: bool,
}
