//! What a load is like, small enough to be written down: a fold over I/Os in bounded memory, a plan that behaves like
//! them, and how far two loads are from each other. Definitions and permitted distances are in docs/model.md.
//!
//! | file | concern |
//! | --- | --- |
//! | `fold` | I/Os in, counts out |
//! | `processes` | whose I/Os they are; the few processes of a device that are counted separately |
//! | `address_distribution` | how often which place is used; places of equal heat put together |
//! | `arrivals` | how many I/Os come when; a few rates that stand for them |
//! | `group` | what becomes one target: its processes, and where they are |
//! | `fit` | a plan with the same counts |
//! | `generate` | the I/Os that a plan would do, without doing them |
//! | `compare` | distances |

mod address_distribution;
mod arrivals;
mod compare;
mod fit;
mod fold;
mod from_plan;
mod group;
mod members;
mod processes;

#[cfg(test)]
mod tests;

pub use compare::{FigureFormat, FigureLikeness, LoadCourse, compare, course};
pub use fit::{FittedModel, fit};
pub use fold::{ObservedIo, WorkloadModel};
pub use from_plan::model_of_plan;
pub use processes::{IoOwner, NamedProcess, ProcessNames};

use crate::traced::rows;
use plan::generate::OperationKind;
use recording::Reader;
use view::TableReadError;

/// What an operation of the table `io` is to a model; `None`: nothing that could be driven.
pub fn op_of(name: &str, bytes: i64) -> Option<OperationKind> {
    match name {
        "read" if bytes > 0 => Some(OperationKind::Read),
        "write" if bytes > 0 => Some(OperationKind::Write),
        "discard" | "secure_erase" | "write_zeroes" if bytes > 0 => Some(OperationKind::Trim),
        "flush" | "write" => Some(OperationKind::Flush),
        _ => None,
    }
}

/// Gives every I/O of a traced recording to `take`, with the name of its device, in the order of queueing. Write-back is
/// its owner's. Gives how many I/Os are of kinds that a model has not.
///
/// # Errors
/// A recording that cannot be read.
pub fn seen(reader: &Reader, mut take: impl FnMut(&str, ObservedIo)) -> Result<u64, TableReadError> {
    let (mut others, mut people) = (0, ProcessNames::default());
    let mut known: Vec<Option<NamedProcess>> = Vec::new();
    rows::each(reader, |row, names| match op_of(names.name(row.op), row.bytes) {
        Some(op) => {
            if known.len() <= row.process {
                known.resize(row.process + 1, None);
            }
            let name = *known[row.process].get_or_insert_with(|| people.named(names.name(row.process)));
            let who = IoOwner::new(name, Some(row.process_pid));
            take(
                names.name(row.dev),
                ObservedIo::new(row.queue_ns, row.complete_ns, op, row.sector, row.bytes).by(who),
            );
        }
        None => others += 1,
    })?;
    Ok(others)
}
