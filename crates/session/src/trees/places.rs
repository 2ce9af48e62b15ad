//! Where an anchor is, and the error that names its tree.

use super::error::{TreeUseError, TreeUseErrorKind};
use plan::TreeSpec;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// A tree cannot be used, for this reason.
pub(super) fn fails(spec: &TreeSpec, kind: impl Into<TreeUseErrorKind>) -> TreeUseError {
    TreeUseError { name: spec.name.clone(), kind: kind.into() }
}

/// Where an anchor is, by the name that it has in stamps; `None`: that cannot be found out.
pub(crate) fn resolved_anchor(path: &Path) -> Option<PathBuf> {
    resolved(path).ok()
}

/// Without links and `..`, also where the last directories are missing.
pub(super) fn resolved(path: &Path) -> Result<PathBuf, TreeUseErrorKind> {
    let action = |source| tree::TreeError::System { action: "find the anchor", path: path.to_owned(), source };
    for ancestor in path.ancestors() {
        let here = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        match std::fs::canonicalize(here) {
            Ok(real) => {
                let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
                if rest.components().any(|part| part == Component::ParentDir) {
                    return Err(TreeUseErrorKind::GoesBack { path: path.to_owned() });
                }
                // A join with nothing would add a slash.
                return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(action(error).into()),
        }
    }
    Err(action(std::io::Error::from(ErrorKind::NotFound)).into())
}
