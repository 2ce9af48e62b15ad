//! What a load is like: traced I/Os, the files, CPU time and stacks behind them; executed commands; models of traces, and how faithfully a replay
//! played one.

pub mod commands;
pub mod fidelity;
pub mod model;
pub mod probe;
pub mod traced;
pub mod trend;
pub mod validated;
