//! Creates, replaces and removes files where others could have made something.
//!
//! Every crate writes its files through this one (`crates/iodyno/tests/it/outputs.rs` keeps it so):
//!
//! * A [`Folder`] is a directory held open by a descriptor. Everything in it is reached by one name at a time, relative to the
//!   descriptor and without following a symbolic link. Another user who may write in the folder cannot lead a write out of it.
//! * An [`OutputFile`] is the file of an option like `-o`: a new regular file, which gets its name when it is complete.
//! * [`FileAccess`] says who may read what iodyno records.
//! * [`protect_file`] and [`protect_folder`] note what a command reads: that is never written over.
//! * A [`ReservedFolder`] directory is taken before a command starts that is to be recorded in it.
//! * [`component`] and [`table_name`] check names that came out of a file.
//!
//! What a path that the user typed leads through is the user's: links in it are followed, except the last component of an
//! output file.

mod access;
mod directory;
mod error;
mod file;
mod folder;
mod forbidden_dirs;
mod found;
mod fresh;
mod inputs;
mod moving;
mod name;
mod reserved;

pub use access::{DEFAULT_MODE, FileAccess};
pub use error::{EntryKind, OutputError, TABLE_NAME_MAX, is_path, system_words};
pub use file::{OutputFile, OverwritePolicy, is_standard_output};
pub use folder::Folder;
pub use forbidden_dirs::check_place;
pub use found::{FoundEntry, KeepReason};
pub use fresh::{NewFile, ReplacePolicy};
pub use inputs::{IsPart, protect_file, protect_folder};
pub use name::{component, table_name, unguessable};
pub use reserved::ReservedFolder;
