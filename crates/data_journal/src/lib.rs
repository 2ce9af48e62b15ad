//! The journal of validated data: what was written, trimmed and flushed, and what of it must be there after a crash.
//!
//! Sectors say what they are by themselves (crate `stamp`), so no write has to be announced: the [header](SessionHeader) of a
//! session, which is durable before its first write, announces all of them. Behind it stand records of 32 bytes, each with a
//! checksum: an operation that was done, and flushes, with what was done before they were submitted. Nothing is ever written
//! over ([`Journal`]).
//!
//! [`recover`] reads all of it, up to the damage where there is one, and gives for every block the oldest write that may be found
//! there ([`Floor`]). What docs/journal.md promises, and what it cannot, is decided here.

mod error;
mod file_source;
mod floor;
mod header;
mod header_text;
mod place;
mod reader;
mod record;
mod recovered;
mod replay;
mod runs;
mod trees;
mod writer;

pub use error::JournalError;
pub use file_source::{FileIntent, FileSource, FileThere};
pub use floor::Floor;
pub use header::{Crash, JournalTarget, JournalTree, NameRule, SessionHeader, boot_id};
pub use place::common_device;
pub use reader::JournalDamage;
pub use recovered::{Recovered, RecoveredTarget, RecoveredTree, recover};
pub use trees::ANCHOR;
pub use trees::answers::{Existence, RecoveredFile};
pub use writer::{Journal, JournalCounts, JournalOptions, StateSource};
