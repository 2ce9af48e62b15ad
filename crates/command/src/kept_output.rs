//! What is kept of a command's output: its beginning and its end.

/// Most bytes of the beginning, and of the end, that are kept.
pub const KEPT_BYTES: usize = 256 << 10;

/// The beginning and the end of what a command wrote to standard output and standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptOutput {
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
}

impl KeptOutput {
    /// What was kept elsewhere, of so many bytes in all.
    pub(crate) fn of(head: Vec<u8>, tail: Vec<u8>, bytes: u64) -> Self {
        Self { head, tail, bytes }
    }

    /// Takes what was written next.
    pub(crate) fn take(&mut self, written: &[u8]) {
        self.bytes += written.len() as u64;
        let room = (KEPT_BYTES - self.head.len()).min(written.len());
        let (first, rest) = written.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        // Seldom, so that most bytes are copied twice at most.
        if self.tail.len() > 4 * KEPT_BYTES {
            self.trim();
        }
    }

    /// Leaves no more of the end than is kept.
    pub(crate) fn trim(&mut self) {
        let more = self.tail.len().saturating_sub(KEPT_BYTES);
        self.tail.drain(..more);
        self.tail.shrink_to_fit();
    }

    /// All bytes that were written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The beginning.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The end, where there is more than the beginning.
    #[must_use]
    pub fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// Bytes between both that are not kept.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.bytes.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept_and_everything_is_counted() {
        let mut output = KeptOutput::default();
        let mut all = Vec::new();
        for at in 0..100_u8 {
            let chunk = vec![at; 10_000 + usize::from(at)];
            output.take(&chunk);
            all.extend(chunk);
        }
        (0..5).for_each(|_| output.take(&all.clone()));
        let all = [all.as_slice(); 6].concat();
        output.trim();
        assert_eq!(output.bytes(), all.len() as u64);
        assert_eq!(output.head(), &all[..KEPT_BYTES]);
        assert_eq!(output.tail(), &all[all.len() - KEPT_BYTES..]);
        assert_eq!(output.left_out(), (all.len() - 2 * KEPT_BYTES) as u64);
        let mut short = KeptOutput::default();
        short.take(b"hello");
        short.trim();
        assert_eq!((short.head(), short.tail(), short.left_out()), (b"hello".as_slice(), b"".as_slice(), 0));
    }
}
