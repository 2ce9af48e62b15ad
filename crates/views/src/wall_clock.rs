//! The time of day of a recording.

use recording::Manifest;
use view::WallClock;

/// Where a manifest keeps how many seconds local time was ahead of UTC when the recording began.
pub const ZONE_AHEAD_S: &str = "zone_ahead_s";

/// The clock on the wall of the machine that recorded, with zero at a monotonic time. Recordings that do not tell their
/// zone are shown in UTC.
pub(crate) fn wall_clock(manifest: &Manifest, zero_ns: i64) -> WallClock {
    let ahead_s = manifest.extra.get(ZONE_AHEAD_S).and_then(serde_json::Value::as_i64).unwrap_or(0);
    WallClock { utc_s: manifest.wall_ns_at(zero_ns) as f64 / 1e9, ahead_s }
}
