//! The files of a tree, as a journal asks for them.

/// Something that is about to be done to the name or the length of a file: after a crash nothing else says that it may have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileIntent {
    /// To make it, or to give this name to another one. Needed only where the name was used before in the journal.
    Make,
    /// To remove it, or to give it another name.
    Remove,
    /// To cut or extend it to so many bytes, other than by writing.
    Resize(u64),
}

/// A file, for a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileThere {
    /// The directory in which it is, or would be.
    pub directory: u32,
    /// Its length; `None`: it is not there.
    pub bytes: Option<u64>,
    /// So many of its blocks have states.
    pub blocks: u64,
    /// The device in its stamps, where it is not that of its own name.
    pub device: Option<u64>,
}

/// The files of a tree, for a checkpoint.
pub trait FileSource {
    /// Which target of the session.
    fn target(&self) -> u16;
    /// Number of the next write to any of its files.
    fn sequence(&self) -> u64;
    /// How many files there are; their numbers are below this.
    fn files(&self) -> u32;
    /// One of them; `None`: nothing is known of it, or an operation is about to change its name.
    fn file(&self, file: u32) -> Option<FileThere>;
    /// Adds the states of at most `count` blocks of a file, as [`StateSource::states`](crate::StateSource::states) does.
    fn states(&self, file: u32, first: u64, count: usize, states: &mut Vec<u16>);
}
