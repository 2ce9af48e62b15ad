//! Lines that know where they came from.

use plan::TextSpan;

/// Name of the source that the words of the command line are.
pub(crate) const COMMAND_LINE: &str = "<command line>";

/// One line with its variables replaced.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// The text.
    pub(crate) text: String,
    /// For every byte of the text, the bytes of the source that it came from, `(start, end)`.
    pub(crate) origin: Vec<(u32, u32)>,
    /// Index of the source.
    pub(crate) source: u32,
    /// Counts over all files.
    pub(crate) number: u32,
}

impl Line {
    /// The place of a range of the text.
    pub(crate) fn span(&self, start: usize, end: usize) -> TextSpan {
        let last = self.origin.len().saturating_sub(1);
        let Some((from, _)) = self.origin.get(start.min(last)) else {
            return TextSpan { source: self.source, start: 0, len: 0 };
        };
        let (from, until) = match start < self.origin.len() {
            true => (*from, self.origin[end.saturating_sub(1).clamp(start, last)].1),
            // Just behind the end.
            false => (self.origin[last].1, self.origin[last].1),
        };
        TextSpan { source: self.source, start: from, len: until.saturating_sub(from) }
    }
}

/// A length or index as 32 bits; all texts together are far smaller.
pub(crate) fn index_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
