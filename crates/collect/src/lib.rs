//! Samples system counters, one subject per file; every reader takes a root.
