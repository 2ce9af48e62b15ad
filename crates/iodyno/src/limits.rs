//! Limits of the system that would end the process without a word.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Linux' number of the signal that a write beyond `ulimit -f` sends.
const SIGXFSZ: i32 = 25;

/// Makes a write beyond the file size limit an error (EFBIG), reported like a full disk's; by default the kernel
/// ends the process. A handler and not `SIG_IGN`, which commands that are started here would inherit.
pub(crate) fn survive_them() {
    // Where it cannot be had, a write beyond the limit ends the process as it does any other.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
