//! What is needed to choose places.

use super::GeneratorPart;
use super::mix::Sizes;
use super::space::Space;
use crate::spec::Workload;

/// What is needed to choose places.
pub(crate) struct Setting<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) sizes: &'a Sizes,
    pub(crate) align: Option<u64>,
    pub(crate) block: u64,
    pub(crate) part: GeneratorPart,
    /// The same for all parts.
    pub(crate) seed: u64,
    /// These are places of the hit area.
    pub(crate) hits: bool,
    /// The pieces of all sequential streams, where they are not made of the space.
    pub(crate) streams: Option<&'a [Space]>,
}
