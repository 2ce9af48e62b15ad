//! Coverage-guided fuzzing of what is read back: `cargo +nightly fuzz run stamp`, or with a stable compiler
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run stamp`. `make fuzz` needs neither and holds the same promises.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/validation/tests/it/support/arbitrary.rs"]
mod arbitrary;

fuzz_target!(|input: (u64, Vec<u8>)| {
    arbitrary::check(&input.1, input.0);
});
