//! Where a command writes, and who may read it: options that several commands share, defined once.

use clap::Args;
use output::OverwritePolicy;
use std::path::Path;

/// For commands whose `-o` names a file.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ForceArgs {
    /// Replace the file of -o if it exists and is a regular file; without --force an existing file is refused. Links,
    /// devices, FIFOs and directories are always refused; - is standard output (docs/safety.md).
    #[arg(long)]
    pub(crate) force: bool,
}

impl ForceArgs {
    /// As the crate `output` takes it.
    pub(crate) fn force(self) -> OverwritePolicy {
        OverwritePolicy::from(self.force)
    }
}

/// For commands that make recordings.
#[derive(Clone, Debug, Args)]
pub(crate) struct AccessArgs {
    /// Permissions of the files of a recording, octal: 0600 to 0666; directories get x wherever files get r.
    /// Default: 0600, with --group 0640.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// Group of the recording and of its files: a name in /etc/group, or a number.
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
}

/// Says where an output is, except on standard output itself.
pub(crate) fn tell(path: &Path) {
    if !output::is_standard_output(path) {
        outln!("{}", path.display());
    }
}
