//! Work in trees of directories and files: metadata calls and transfers, by threads that wait in their calls.
//!
//! Unlike the workers of block loads, these threads share no scheduler: each takes a ticket (a due time) of its lane, waits until it is
//! due, does the operation and notes it in the statistics that a few of them have in common. A lane is a workload in one
//! tree ([`TreeLane`]); what its threads look for are files and directories that no other thread has (`find`). `transfers` has reads and
//! writes (`queued` the same of several threads by one, whose transfers the kernel does meanwhile), `entries` the operations on whole files and directories (`numbered` those of fio's jobs), `flow` those that follow each other on a file, `format` and `clean` the
//! making and deleting of trees.
//!
//! What an operation needs besides, as the open before a read, is a step: it has a service time and is no operation.
//!
//! The engine starts the threads, says when the run ends ([`TreeRun`]) and keeps what they did: each writes that into a log of its own
//! ([`ThreadLog`]), from which it comes into the statistics ([`TreeStats`]).

mod arrivals;
mod below;
mod checked;
mod checks;
mod clean;
mod direct;
mod entries;
mod error;
mod file_names;
mod find;
mod flow;
mod flow_data;
mod flow_file;
mod flow_kinds;
mod flow_names;
mod format;
mod lane;
mod lanes;
mod log;
mod need;
mod numbered;
mod phases;
mod queue;
mod queued;
mod run;
mod sweep;
mod thread;
mod tickets;
mod transfers;
mod xattrs;

pub use arrivals::TreeArrivals;
pub use error::{TreeLoadError, describe};
pub use file_names::TreeFileNames;
pub use lane::{TreeLane, TreeLanes};
pub use lanes::TreeInput;
pub use log::{Logged, ThreadLog};
pub use queue::{Transfer, TransferQueue};
pub use run::{Begun, Done, Failed, TreeRun, TreeStats};
pub use thread::ThreadPlace;
