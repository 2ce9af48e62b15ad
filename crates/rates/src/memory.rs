//! Figures of a machine's memory that take more than one column. A part that is said to be larger than its whole (in a
//! container, `SwapFree` may be the host's) is a mistake of the source: what is left of the whole is not known then.

use recording::rows::Memory;

/// `whole - part`, bytes; `None` where the part is no part of it.
#[must_use]
pub fn remainder(whole: i64, part: i64) -> Option<i64> {
    (0..=whole).contains(&part).then(|| whole - part)
}

/// What new programs could have, bytes.
#[must_use]
pub fn available(row: &Memory) -> Option<i64> {
    row.available_bytes.filter(|part| row.total_bytes.is_none_or(|total| remainder(total, *part).is_some()))
}

/// What programs and the kernel have and would not give back, bytes: all but what is available. The kernel tells what is available since
/// Linux 3.14.
#[must_use]
pub fn used(row: &Memory) -> Option<i64> {
    remainder(row.total_bytes?, row.available_bytes?)
}

/// What is neither free nor page cache, bytes, where the source does not tell what is available: not all of the cache can be given back, so
/// it is another figure than [`used`].
#[must_use]
pub fn neither_free_nor_cached(row: &Memory) -> Option<i64> {
    let rest = row.free_bytes?.checked_add(row.cached_bytes?)?;
    remainder(row.total_bytes?, rest).filter(|_| row.available_bytes.is_none())
}

/// Swap in use, bytes.
#[must_use]
pub fn swap_used(row: &Memory) -> Option<i64> {
    remainder(row.swap_total_bytes?, row.swap_free_bytes?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(available_bytes: Option<i64>) -> Memory {
        Memory {
            total_bytes: Some(100),
            free_bytes: Some(10),
            cached_bytes: Some(40),
            available_bytes,
            ..Memory::default()
        }
    }

    #[test]
    fn memory_that_is_used_is_what_is_not_available() {
        let row = memory(Some(60));
        assert_eq!((available(&row), used(&row), neither_free_nor_cached(&row)), (Some(60), Some(40), None));
        // As old kernels and some imports tell it: the same name for another formula would mislead.
        let row = memory(None);
        assert_eq!((available(&row), used(&row), neither_free_nor_cached(&row)), (None, None, Some(50)));
        let row = Memory { total_bytes: None, ..memory(Some(60)) };
        assert_eq!((available(&row), used(&row)), (Some(60), None), "not known is not 0");
    }

    #[test]
    fn more_available_or_free_than_there_is_is_not_known_and_neither_0_nor_negative() {
        let row = memory(Some(125));
        assert_eq!((available(&row), used(&row), neither_free_nor_cached(&row)), (None, None, None));
        let swap =
            |total, free| swap_used(&Memory { swap_total_bytes: total, swap_free_bytes: free, ..Memory::default() });
        assert_eq!((swap(Some(512), Some(1024)), swap(Some(512), Some(-1))), (None, None));
        assert_eq!(
            (swap(Some(512), Some(500)), swap(Some(0), Some(0)), swap(Some(512), None)),
            (Some(12), Some(0), None)
        );
        assert_eq!(neither_free_nor_cached(&Memory { free_bytes: Some(i64::MAX), ..memory(None) }), None);
    }
}
