//! What starts when, where and how large: a value made from a seed. No I/O.
//!
//! A [`Plan`] is the meeting point of everything that can describe a load (Vdbench parameter files, fio job files,
//! flags, a replayed trace, a model) and of the engine that executes it. [`spec`] is the value; [`generate`] turns
//! one workload of it into the stream of operations and due times that the engine issues.

pub mod command_template;
pub mod commands;
mod floor;
pub mod generate;
mod op;
pub mod pts;
pub mod replay;
pub mod spec;

pub use spec::*;
