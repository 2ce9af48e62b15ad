//! Shared by the tests and by `examples/fuzz_params.rs`.

pub(crate) mod check;
pub(crate) mod corpus;
pub(crate) mod mutate;
