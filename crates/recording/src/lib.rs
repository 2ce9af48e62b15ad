//! The schema catalogue and the bus; writes and reads recordings. The only crate that knows the files.
