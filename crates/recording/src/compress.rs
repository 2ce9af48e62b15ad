//! Batches on their way into the journal: each repeats its schema, and most rows of counters are much like the row before, so
//! that what is written shrinks to a quarter (a machine's counters, 20 tables a sample of 1 – 7 kB each).

use arrow_schema::ArrowError;
use zstd::zstd_safe::{self, CCtx, DCtx};

/// Begins what is compressed (RFC 8878); an Arrow stream begins with `ff ff ff ff`.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The quickest but those that hardly find anything: it is the collector's own time.
const LEVEL: i32 = 1;

/// What is compressed stands for so many times its bytes at most: an idle machine with thousands of disks comes to 50. More
/// would be made to keep a reader busy, and is written as it is.
const TIMES_MAX: usize = 256;
/// Shorter batches may shrink to any length.
const ANY_BYTES: usize = 128 << 10;

/// May so many compressed bytes stand for so many?
fn is_possible(compressed: usize, plain: usize) -> bool {
    plain <= ANY_BYTES.max(compressed.saturating_mul(TIMES_MAX))
}

/// Writes batches compressed.
#[derive(Default)]
pub(crate) struct BatchCompressor {
    /// `None` before the first batch, and where there is no memory for it.
    zstd: Option<CCtx<'static>>,
    plain: Vec<u8>,
    compressed: Vec<u8>,
}

impl std::fmt::Debug for BatchCompressor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("BatchCompressor").finish_non_exhaustive()
    }
}

impl BatchCompressor {
    /// Adds to `out` what `write` writes, as it is where compression does not make it shorter; false, and nothing added, where
    /// that is more than `most` bytes.
    pub(crate) fn compress(
        &mut self,
        out: &mut Vec<u8>,
        most: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), ArrowError>,
    ) -> Result<bool, ArrowError> {
        self.plain.clear();
        write(&mut self.plain)?;
        if self.plain.len() > most {
            self.plain = Vec::new();
            return Ok(false);
        }
        self.compressed.clear();
        self.compressed.reserve(zstd_safe::compress_bound(self.plain.len()));
        if self.zstd.is_none() {
            self.zstd = CCtx::try_create();
        }
        let (plain, compressed) = (&self.plain, &mut self.compressed);
        let length = self.zstd.as_mut().and_then(|zstd| zstd.compress(compressed, plain, LEVEL).ok());
        let is_shorter = length.is_some_and(|length| length < plain.len() && is_possible(length, plain.len()));
        let chosen: &[u8] = if is_shorter { compressed } else { plain };
        out.extend_from_slice(chosen);
        Ok(true)
    }
}

/// Reads what [`BatchCompressor`] wrote.
#[derive(Default)]
pub(crate) struct BatchDecompressor {
    zstd: Option<DCtx<'static>>,
}

impl std::fmt::Debug for BatchDecompressor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("BatchDecompressor").finish_non_exhaustive()
    }
}

impl BatchDecompressor {
    /// What was given to be written, of at most `most` bytes; `None` for what is not whole, longer, or stands for more than
    /// [`BatchCompressor`] lets it.
    pub(crate) fn plain(&mut self, bytes: &[u8], most: usize) -> Option<Vec<u8>> {
        if !bytes.starts_with(&MAGIC) {
            return (bytes.len() <= most).then(|| bytes.to_vec());
        }
        // Written with every frame, as its length is known before.
        let length = zstd_safe::get_frame_content_size(bytes).ok()??;
        let length = usize::try_from(length).ok().filter(|length| *length <= most)?;
        is_possible(bytes.len(), length).then_some(())?;
        let mut plain = Vec::with_capacity(length);
        self.zstd.get_or_insert_with(DCtx::create).decompress(&mut plain, bytes).ok()?;
        Some(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn compressed(compressor: &mut BatchCompressor, bytes: &[u8]) -> Vec<u8> {
        let mut out = b"before".to_vec();
        compressor
            .compress(&mut out, usize::MAX, |plain| {
                plain.extend_from_slice(bytes);
                Ok(())
            })
            .unwrap();
        assert!(out.starts_with(b"before"));
        out.split_off(6)
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            first in prop::collection::vec(any::<u8>(), 0..300),
            times in 0_usize..50,
            second in prop::collection::vec(any::<u8>(), 0..3000),
        ) {
            let (mut compressor, mut decompressor) = (BatchCompressor::default(), BatchDecompressor::default());
            for plain in [first.repeat(times), second, Vec::new()] {
                // What begins like something compressed is no Arrow stream.
                prop_assume!(!plain.starts_with(&MAGIC));
                let short = compressed(&mut compressor, &plain);
                prop_assert!(short.len() <= plain.len());
                prop_assert_eq!(decompressor.plain(&short, 1 << 20), Some(plain));
            }
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            let mut damaged = MAGIC.to_vec();
            damaged.extend(&bytes);
            let read = BatchDecompressor::default().plain(&damaged, 1 << 16).map(|plain| plain.len());
            prop_assert!(read.is_none_or(|length| length <= 1 << 16));
        }
    }

    /// A frame of some kB that stood for 250 MB took a reader a fifth of a second, each.
    #[test]
    fn what_stands_for_more_than_is_written_is_refused_and_never_written() {
        let plain = vec![7; 8 << 20];
        let bomb = zstd::bulk::compress(&plain, 19).unwrap();
        assert!(bomb.len() < 4096);
        assert_eq!(BatchDecompressor::default().plain(&bomb, 256 << 20), None);
        let written = compressed(&mut BatchCompressor::default(), &plain);
        assert_eq!(BatchDecompressor::default().plain(&written, 256 << 20), Some(plain));
    }

    #[test]
    fn counters_shrink_and_what_is_too_long_is_refused() {
        let plain: Vec<u8> = (0_u64..4000).flat_map(|at| (1_000_000 + at * 3).to_le_bytes()).collect();
        let short = compressed(&mut BatchCompressor::default(), &plain);
        assert!(short.len() * 3 < plain.len(), "{}", short.len());
        assert_eq!(BatchDecompressor::default().plain(&short, plain.len() - 1), None);
        assert_eq!(BatchDecompressor::default().plain(&short[..short.len() - 1], plain.len()), None);
    }
}
