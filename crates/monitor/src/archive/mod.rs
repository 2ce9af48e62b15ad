//! The recordings that a collector keeps: whose the directory is, how old each recording is, which are thinned or removed.

pub(crate) mod apply_retention;
pub(crate) mod evidence;
pub(crate) mod home;
#[cfg(test)]
pub(crate) mod kill_steps;
pub(crate) mod retention_policy;
pub(crate) mod service_clock;
