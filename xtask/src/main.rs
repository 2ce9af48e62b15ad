//! Generates what is derived from the sources.

fn main() {}
