//! Which of the states of blocks belong to what is read and written.

/// The blocks of a target, or of a file of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Number of the file; `None`: a target.
    pub(crate) file: Option<u32>,
    /// In the stamps.
    pub(crate) device: u64,
    /// Of its first block among all of the target or tree.
    pub(crate) first: u64,
    /// How many there are.
    pub(crate) blocks: u64,
}

impl Extent {
    /// All of a target, however large it is.
    #[inline]
    pub(crate) fn of_target(device: u64) -> Self {
        Self { file: None, device, first: 0, blocks: u64::MAX }
    }

    /// Number of its block among all; `None`: it has no such one.
    #[inline]
    pub(crate) fn block(&self, at: u64) -> Option<u64> {
        (at < self.blocks).then(|| self.first + at)
    }

    /// First block and number of blocks of a range, as far as they belong to it.
    #[inline]
    pub(crate) fn blocks_of(&self, block_bytes: u64, offset: u64, bytes: u64) -> (u64, u64) {
        let first = (offset / block_bytes).min(self.blocks);
        let end = offset.saturating_add(bytes).div_ceil(block_bytes).min(self.blocks);
        (self.first.saturating_add(first), end.saturating_sub(first))
    }
}
