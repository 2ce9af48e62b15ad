//! Why stamped data could not be looked at, or was not damaged.

/// Why stamped data could not be looked at, or was not damaged.
#[derive(Debug, thiserror::Error)]
pub enum StampedDataError {
    /// The target was refused or could not be opened.
    #[error(transparent)]
    Target(#[from] target::TargetError),
    /// What was asked makes no sense for this target.
    #[error("{0}")]
    Parameter(String),
    /// Something would have been lost that is not iodyno's, or is not known to be.
    #[error("{0}")]
    Refused(String),
    /// The target failed.
    #[error("{0}")]
    Io(String),
    /// What was found could not be recorded.
    #[error(transparent)]
    Recording(#[from] recording::RecordingError),
}
