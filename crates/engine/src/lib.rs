//! Executes a plan against targets and times every operation. Owns io_uring.
