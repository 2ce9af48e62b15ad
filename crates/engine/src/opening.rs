//! How a target is opened for a workload.

use crate::{EngineError, RunInput};
use plan::OpenFlags;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use target::{OpenTarget, TargetKind};

/// How a workload of the run has a target opened.
pub(crate) fn flags_of(input: &RunInput<'_>, at: usize, target: usize) -> OpenFlags {
    let flags = input.run.workloads[at].open.unwrap_or(input.plan.targets[target].open);
    // A descriptor is the same with and without it.
    OpenFlags { fsync_at_end: false, ..flags }
}

/// A descriptor of a target's own that is opened so; none for `/dev/null`, on which nothing is done.
pub(crate) fn descriptor(opened: &OpenTarget, flags: OpenFlags) -> Result<Option<Arc<OwnedFd>>, EngineError> {
    if opened.kind == TargetKind::Nothing {
        return Ok(None);
    }
    owned(opened.view(flags).fd)
}

/// A descriptor of a device that holds it, by which threads discard; none where nothing is held.
pub(crate) fn holder(opened: &OpenTarget) -> Result<Option<Arc<OwnedFd>>, EngineError> {
    opened.holder().map_or(Ok(None), owned)
}

fn owned(fd: BorrowedFd<'_>) -> Result<Option<Arc<OwnedFd>>, EngineError> {
    let fd = fd.try_clone_to_owned().map_err(EngineError::system("duplicate a file descriptor"))?;
    Ok(Some(Arc::new(fd)))
}
