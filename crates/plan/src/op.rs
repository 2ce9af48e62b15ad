//! The kinds of operation.

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum OperationKind {
    /// Reads bytes.
    Read = 0,
    /// Writes bytes.
    Write = 1,
    /// Discards bytes.
    Trim = 2,
    /// Makes earlier writes durable; has no address.
    Flush = 3,
}

impl OperationKind {
    /// Every kind, in the order of [`OperationKind::index`].
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    /// Position in arrays by kind, `0..4`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name in tables and on screens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
        }
    }
}
