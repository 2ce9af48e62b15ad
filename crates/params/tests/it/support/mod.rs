//! Shared by the tests and by `examples/fuzz.rs`.

pub(crate) mod check;
pub(crate) mod corpus;
pub(crate) mod mutate;
