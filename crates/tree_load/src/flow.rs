//! Flows: several operations on a file, one behind the other.

use super::thread::TreeThread;
use plan::FlowStep;

impl TreeThread<'_> {
    /// Does one flow after the other until the lane or the run is over.
    pub(crate) fn run_flow(&mut self, _steps: &[FlowStep]) {}
}
