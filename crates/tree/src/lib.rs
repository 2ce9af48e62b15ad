//! Directory trees of loads (Vdbench's `fsd=`): names, sizes, what is there, and whose it is.
//!
//! [`TreeLayout`] is arithmetic: it knows the path and the asked size of every file by its number, so that no name is ever kept.
//! [`TreeState`] is what is known to exist, shared by all threads of a run, eight bytes for a file. `control_file` reads and writes
//! what Vdbench leaves in an anchor about it; `inspection` proves that nothing in an anchor is foreign before anything is deleted.
//! The operations themselves are the engine's.

mod control_file;
mod control_file_write;
mod error;
mod file_set;
mod inspection;
mod java_random;
mod layout;
mod listed;
mod listing;
mod names;
mod numbered;
mod regular;
mod shape_file;
mod sizes;
mod state;
mod tree;

pub use control_file::Moment;
pub use error::TreeError;
pub use file_set::FileSet;
pub use inspection::{Anchor, Inspection};
pub use java_random::JavaRandom;
pub use layout::TreeLayout;
pub use listed::{Holds, ListedTree};
pub use names::{CONTROL_FILE, LINK, MOVED, NameKind, SUFFIXES, SYM, TEMP, is_link_name, name_kind, own_names};
pub use numbered::{LackingEntries, MadeEntries, NewEntries};
pub use state::{FileState, TreeState};
pub use tree::{Opening, Tree};
