//! Work in trees of directories and files: metadata calls and transfers, by threads that wait in their calls.
//!
//! Unlike the crew of `sync`, these threads share no scheduler: each takes a ticket (a due time) of its lane, waits until it is
//! due, does the operation and notes it in the statistics that a few of them have in common. A lane is a workload in one
//! tree ([`lane`]); what its threads look for are files and directories that no other thread has (`find`). `transfers` has reads and
//! writes, `entries` the operations on whole files and directories (`numbered` those of fio's jobs), `format` and `clean` the making and
//! deleting of trees.
//!
//! What an operation needs besides, as the open before a read, is a step: it has a service time and is no operation.

mod below;
mod clean;
mod entries;
mod find;
mod flow;
mod format;
mod lane;
mod lanes;
mod numbered;
mod phases;
mod thread;
mod tickets;
mod transfers;

pub(crate) use lanes::{TreeArrivals, TreeCrew};
