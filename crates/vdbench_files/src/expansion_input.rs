//! What run definitions are expanded from.

use crate::file_systems::FileSystem;
use crate::file_works::FileWorks;
use crate::names::Names;
use crate::replay_params::Group;
use crate::storage::Storage;
use crate::workload::Work;
use plan::WriteContent;

/// What the definitions are expanded from.
pub(crate) struct ExpansionInput<'a> {
    pub(crate) storages: &'a [Storage],
    pub(crate) storage_names: &'a Names,
    pub(crate) works: &'a [Work],
    /// `wd=default` behind the last definition.
    pub(crate) default_work: &'a Work,
    pub(crate) work_names: &'a Names,
    pub(crate) systems: &'a [FileSystem],
    pub(crate) system_names: &'a Names,
    pub(crate) file_works: &'a FileWorks,
    pub(crate) file_work_names: &'a Names,
    /// What is written to files.
    pub(crate) file_content: &'a WriteContent,
    /// Content of each target by index.
    pub(crate) contents: &'a [WriteContent],
    /// Of devices of a trace.
    pub(crate) groups: &'a [Group],
    pub(crate) seed: u64,
}
