//! Sequential or random: which I/Os continue others of their device.

use super::rows::NumberedIo;

/// Streams that are followed on each device.
const STREAMS: usize = 32;

/// Where a device's streams ended, sectors, the last used first (docs/trace-analysis.md).
#[derive(Debug, Default)]
pub struct SequentialStreams(Vec<i64>);

impl SequentialStreams {
    /// Does an I/O with data continue a stream? It is the end of one from now on.
    pub fn continues(&mut self, row: &NumberedIo) -> bool {
        let found = self.0.iter().position(|end| *end == row.sector);
        match found {
            Some(at) => self.0[..=at].rotate_right(1),
            None if self.0.len() < STREAMS => self.0.insert(0, 0),
            None => self.0.rotate_right(1),
        }
        self.0[0] = row.end();
        found.is_some()
    }
}
