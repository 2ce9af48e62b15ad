//! Asks the kernel what loop devices and device-mapper devices stand on.
//!
//! Two ioctls that no library of ours has, in a crate of their own: `target`, which decides with their answers what may
//! be written, has no `unsafe` code. Nothing here changes anything.

mod dm;
mod loop_devices;

pub use dm::{MapSection, MapperControl};
pub use loop_devices::{LoopBacking, loop_status};
