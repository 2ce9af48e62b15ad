//! fio's engines for names, and what each does.

use plan::generate::OperationKind;

/// An engine for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryEngine {
    /// fio's name.
    pub(crate) name: &'static str,
    pub(crate) kind: OperationKind,
    pub(crate) are_directories: bool,
}

/// All of them.
const ENGINES: [EntryEngine; 6] = [
    EntryEngine { name: "filecreate", kind: OperationKind::Create, are_directories: false },
    EntryEngine { name: "filestat", kind: OperationKind::Getattr, are_directories: false },
    EntryEngine { name: "filedelete", kind: OperationKind::Delete, are_directories: false },
    EntryEngine { name: "dircreate", kind: OperationKind::Mkdir, are_directories: true },
    EntryEngine { name: "dirstat", kind: OperationKind::Getattr, are_directories: true },
    EntryEngine { name: "dirdelete", kind: OperationKind::Rmdir, are_directories: true },
];

impl EntryEngine {
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        ENGINES.into_iter().find(|engine| engine.name == name)
    }

    /// The one that does this.
    pub(crate) fn of(kind: OperationKind, are_directories: bool) -> Option<Self> {
        ENGINES.into_iter().find(|engine| (engine.kind, engine.are_directories) == (kind, are_directories))
    }

    /// Does it make its entries itself?
    pub(crate) fn makes(self) -> bool {
        matches!(self.kind, OperationKind::Create | OperationKind::Mkdir)
    }
}
