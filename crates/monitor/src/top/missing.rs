//! Why a probe has nothing to show, in a line of the page.

/// Why there are no figures: the user switched probes off.
pub(super) const OFF: &str = "off (--no-probes)";

/// In one line, with what to do.
pub(super) fn brief(error: &trace::TraceError) -> String {
    if error.is_privilege() {
        "needs root".to_string()
    } else {
        error.to_string().lines().next().unwrap_or("?").to_string()
    }
}
