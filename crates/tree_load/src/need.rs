//! What an operation needs of a file or directory.

/// What a lane needs of a file or directory before it can do its operation to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A file that exists.
    Existing,
    /// One that has data as well.
    Filled,
    /// One that does not exist, in a directory that does.
    Missing,
    /// One that is to have data, and exists or can be made.
    Writable,
    /// One that is to have data, and exists.
    Writing,
    /// A file that exists, or can be made.
    Makeable,
    /// The same, of a directory that does not exist, and above which all do.
    NewDirectory,
    /// A directory that exists and is empty.
    EmptyDirectory,
}
