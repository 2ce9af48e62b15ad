//! The catalogue of operations: everything that work can do and that has a time.

/// Makes the kinds and what is known of each from one table.
macro_rules! catalogue {
    ($($(#[$doc:meta])* $kind:ident: $name:literal, moves_data: $moves:literal, changes_data: $changes:literal;)*) => {
        /// What an operation does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum OperationKind {
            $($(#[$doc])* $kind,)*
        }

        impl OperationKind {
            /// Every kind, in the order of [`OperationKind::index`].
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Name in tables and on screens.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Does it carry bytes between memory and its place, so that it has failed where it carried fewer than asked?
            #[must_use]
            pub const fn moves_data(self) -> bool {
                match self {
                    $(Self::$kind => $moves,)*
                }
            }

            /// Is what its place holds another thing afterwards, as far as the engine knows?
            #[must_use]
            pub const fn changes_data(self) -> bool {
                match self {
                    $(Self::$kind => $changes,)*
                }
            }
        }
    };
}

catalogue! {
    /// Reads bytes.
    Read: "read", moves_data: true, changes_data: false;
    /// Writes bytes.
    Write: "write", moves_data: true, changes_data: true;
    /// Discards bytes.
    Trim: "trim", moves_data: false, changes_data: true;
    /// Makes earlier writes durable; has no address.
    Flush: "flush", moves_data: false, changes_data: false;
    /// Executes a program, which may do anything; has no address.
    Command: "command", moves_data: false, changes_data: false;
    /// Makes a directory of a tree.
    Mkdir: "mkdir", moves_data: false, changes_data: true;
    /// Removes an empty directory of a tree.
    Rmdir: "rmdir", moves_data: false, changes_data: true;
    /// Makes an empty file of a tree.
    Create: "create", moves_data: false, changes_data: true;
    /// Removes a file of a tree.
    Delete: "delete", moves_data: false, changes_data: true;
    /// Copies a file of a tree to the same place in another tree.
    Copy: "copy", moves_data: true, changes_data: true;
    /// Moves a file of a tree to the same place in another tree.
    Move: "move", moves_data: false, changes_data: true;
    /// Asks for the attributes of a file.
    Getattr: "getattr", moves_data: false, changes_data: false;
    /// Sets the times of a file.
    Setattr: "setattr", moves_data: false, changes_data: true;
    /// Asks whether a file may be used.
    Access: "access", moves_data: false, changes_data: false;
    /// Opens a file.
    Open: "open", moves_data: false, changes_data: false;
    /// Closes a file.
    Close: "close", moves_data: false, changes_data: false;
    /// Gives a file another name in its directory.
    Rename: "rename", moves_data: false, changes_data: true;
    /// Gives a file a second name (a hard link).
    Link: "link", moves_data: false, changes_data: true;
    /// Makes a symbolic link to a file.
    Symlink: "symlink", moves_data: false, changes_data: true;
    /// Reads where a symbolic link points.
    Readlink: "readlink", moves_data: false, changes_data: false;
    /// Cuts a file to a size, or makes it longer.
    Truncate: "truncate", moves_data: false, changes_data: true;
    /// Has blocks allocated for a file.
    Fallocate: "fallocate", moves_data: false, changes_data: true;
    /// Gives a part of a file's blocks back: it reads as zeros.
    Punch: "punch", moves_data: false, changes_data: true;
    /// Lists a directory.
    Readdir: "readdir", moves_data: false, changes_data: false;
    /// Reads an extended attribute.
    Getxattr: "getxattr", moves_data: false, changes_data: false;
    /// Sets an extended attribute.
    Setxattr: "setxattr", moves_data: false, changes_data: true;
    /// Lists the names of extended attributes.
    Listxattr: "listxattr", moves_data: false, changes_data: false;
    /// Removes an extended attribute.
    Removexattr: "removexattr", moves_data: false, changes_data: true;
    /// Makes a file's data and attributes durable.
    Fsync: "fsync", moves_data: false, changes_data: false;
    /// Makes a file's data durable.
    Fdatasync: "fdatasync", moves_data: false, changes_data: false;
    /// Writes behind the end of a file.
    Append: "append", moves_data: true, changes_data: true;
    /// Reads a file from its beginning to its end.
    ReadFile: "readfile", moves_data: true, changes_data: false;
    /// Writes a file from its beginning to the size that it is to have.
    WriteFile: "writefile", moves_data: true, changes_data: true;
    /// Reads from a file that is mapped into memory.
    MmapRead: "mmapread", moves_data: true, changes_data: false;
    /// Writes into a file that is mapped into memory.
    MmapWrite: "mmapwrite", moves_data: true, changes_data: true;
    /// Makes a file that has no name (`O_TMPFILE`).
    Tmpfile: "tmpfile", moves_data: false, changes_data: true;
    /// Makes a file with a temporary name.
    Temp: "temp", moves_data: false, changes_data: true;
    /// Asks for the attributes of the file system.
    Statfs: "statfs", moves_data: false, changes_data: false;
    /// Locks a file.
    Flock: "flock", moves_data: false, changes_data: false;
    /// Has the system copy a file's data into another file.
    CopyRange: "copyrange", moves_data: true, changes_data: true;
    /// Makes another file that shares a file's blocks.
    Reflink: "reflink", moves_data: false, changes_data: true;
    /// Reads what has come to the end of a file since the last time.
    Tail: "tail", moves_data: false, changes_data: false;
}

/// How many kinds blocks have: the length of what is kept by kind where no other kinds occur.
pub const BLOCK_KINDS: usize = OperationKind::BLOCKS.len();

/// Of the kinds of blocks, those of which the next operation must not be.
pub type HeldKinds = [bool; BLOCK_KINDS];

impl OperationKind {
    /// The kinds that work on blocks, the first of the catalogue: arrays of [`BLOCK_KINDS`] have these indices.
    pub const BLOCKS: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    /// Executions of programs.
    pub const COMMANDS: [Self; 1] = [Self::Command];

    /// The kinds that work in trees: reads and writes, and all of files and directories. The others between them stay empty.
    pub const TREES: &'static [Self] = Self::ALL;

    /// Does it make, change or delete something in a tree?
    #[must_use]
    pub const fn changes_tree(self) -> bool {
        self.changes_data() && !matches!(self, Self::Trim)
    }

    /// Does it work on a file or directory as a whole, so that it has neither an offset nor bytes of its own?
    #[must_use]
    pub const fn works_on_names(self) -> bool {
        !matches!(self, Self::Read | Self::Write | Self::Trim | Self::Flush | Self::Command)
    }

    /// The kind with this name, as Vdbench's `operation=` and our tables have it.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Position in the catalogue.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_by_kind_of_blocks_have_the_indices_of_the_catalogue() {
        assert!(OperationKind::ALL.iter().enumerate().all(|(at, kind)| kind.index() == at));
        assert_eq!(OperationKind::ALL[..BLOCK_KINDS], OperationKind::BLOCKS);
    }
}
