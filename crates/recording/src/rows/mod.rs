//! The tables: one row type each.

mod load;
mod machine;
mod network;
mod tasks;
mod traced;

pub use load::*;
pub use machine::*;
pub use network::*;
pub use tasks::*;
pub use traced::*;

use crate::schema::TableSchema;
use std::sync::LazyLock;

/// All tables.
pub(crate) static ALL: LazyLock<Vec<&'static TableSchema>> =
    LazyLock::new(|| [load::ALL, machine::ALL, network::ALL, tasks::ALL, traced::ALL].concat());
