//! The tables: one row type each.

mod load;
mod machine;
mod network;
mod tasks;
mod traced;
mod validated;

pub use load::*;
pub use machine::*;
pub use network::*;
pub use tasks::*;
pub use traced::*;
pub use validated::*;

use crate::schema::TableSchema;
use std::sync::LazyLock;

/// All tables.
pub(crate) static ALL: LazyLock<Vec<&'static TableSchema>> =
    LazyLock::new(|| [load::ALL, machine::ALL, network::ALL, tasks::ALL, traced::ALL, validated::ALL].concat());
