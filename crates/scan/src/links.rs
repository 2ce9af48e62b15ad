//! Files with several names, so that each counts once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Files of which names are still to come, by device and number.
#[derive(Debug, Default)]
pub(crate) struct HardLinks(Mutex<HashMap<(u64, u64), u32>>);

impl HardLinks {
    /// Is this the first name of a file that has `links` names? It is forgotten with the last one.
    pub(crate) fn is_first(&self, device: u64, number: u64, links: u32) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (device, number);
        let Some(left) = open.get_mut(&key) else {
            open.insert(key, links.saturating_sub(1));
            return true;
        };
        *left = left.saturating_sub(1);
        if *left == 0 {
            open.remove(&key);
        }
        false
    }
}
