//! What the running kernel (or one whose BTF is at hand) offers.

use crate::TraceError;
use libbpf_rs::btf::{Btf, BtfType};
use std::path::{Path, PathBuf};

/// Where the running kernel describes its types.
const VMLINUX: &str = "/sys/kernel/btf/vmlinux";

/// A kernel, seen through its BTF.
#[derive(Debug)]
pub struct Kernel {
    btf: Btf<'static>,
    /// Set for another kernel than the running one.
    path: Option<PathBuf>,
}

impl Kernel {
    /// The running kernel.
    ///
    /// # Errors
    /// It has no BTF.
    pub fn running() -> Result<Self, TraceError> {
        let btf =
            Btf::from_path(VMLINUX).map_err(|why| TraceError::NoBtf { path: VMLINUX.into(), why: why.to_string() })?;
        Ok(Self { btf, path: None })
    }

    /// A kernel whose BTF is in a file.
    ///
    /// # Errors
    /// The file is not BTF.
    pub fn of_file(path: &Path) -> Result<Self, TraceError> {
        let btf =
            Btf::from_path(path).map_err(|why| TraceError::NoBtf { path: path.to_path_buf(), why: why.to_string() })?;
        Ok(Self { btf, path: Some(path.to_path_buf()) })
    }

    /// The file with its BTF, when it is not the running kernel.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Is there a tracepoint of this name that programs with types can attach to?
    #[must_use]
    pub fn has_tracepoint(&self, name: &str) -> bool {
        self.btf.type_by_name::<BtfType<'_>>(&format!("btf_trace_{name}")).is_some()
    }
}
