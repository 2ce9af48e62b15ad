//! How a target is opened for a workload.

use crate::{EngineError, RunInput};
use plan::OpenFlags;
use std::os::fd::OwnedFd;
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
    let fd = opened.view(flags).fd.try_clone_to_owned().map_err(EngineError::system("duplicate a file descriptor"))?;
    Ok(Some(Arc::new(fd)))
}
