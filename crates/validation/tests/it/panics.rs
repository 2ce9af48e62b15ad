//! Nothing panics, whatever a disk holds.

use proptest::prelude::*;

proptest! {
    #[test]
    fn arbitrary_bytes_are_told_of(bytes in proptest::collection::vec(any::<u8>(), 0..3000), choice: u64) {
        crate::arbitrary::check(&bytes, choice);
    }
}
