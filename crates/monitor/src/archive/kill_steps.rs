//! Tests end a collector at any step of what it does to old recordings.

use std::cell::Cell;

thread_local! {
    /// The collector is killed after so many steps.
    pub(crate) static STEPS: Cell<Option<u32>> = const { Cell::new(None) };
    pub(crate) static CAN_EXCHANGE: Cell<bool> = const { Cell::new(true) };
}

/// One step of what is done to old recordings.
pub(crate) fn step() {
    let left = STEPS.get();
    STEPS.set(left.map(|left| left.saturating_sub(1)));
    if left == Some(0) {
        // As a kill: nothing is tidied up, and nothing is said.
        std::panic::resume_unwind(Box::new("killed"));
    }
}

/// Can this file system exchange two names?
pub(crate) fn can_exchange() -> bool {
    CAN_EXCHANGE.get()
}
