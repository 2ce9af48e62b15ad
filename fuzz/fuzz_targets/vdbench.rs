//! Coverage-guided fuzzing of Vdbench's language: `cargo +nightly fuzz run vdbench ../fixtures/vdbench`, or with a stable
//! compiler `RUSTC_BOOTSTRAP=1 cargo fuzz run vdbench`. `make fuzz` needs neither and holds the same promises.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/params/tests/it/support/check.rs"]
mod check;

fuzz_target!(|input: (u64, Vec<u8>)| {
    let _ = check::check(&input.1, input.0);
});
