//! The iodyno command.

fn main() {}
