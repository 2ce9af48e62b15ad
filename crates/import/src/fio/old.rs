//! fio 2's JSON in the shape of fio 3's: its `io_bytes` are KiB, its `lat` and `clat` µs without their number.

use super::{OPS, jobs_of, known};
use serde_json::{Value, json};

/// The first number of `fio-2.16`.
fn major(document: &Value) -> Option<u32> {
    document["fio version"].as_str()?.trim_start_matches("fio-").split('.').next()?.parse().ok()
}

/// Gives a document of fio 2 the keys and units of fio 3; true when it was one.
///
/// # Errors
/// Its units are not known, in words.
pub(super) fn renewed(document: &mut Value) -> Result<bool, String> {
    let version = document["fio version"].to_string();
    let has = |keys: &[&str]| {
        let of = |job: &Value| OPS.iter().any(|(op, _)| keys.iter().any(|key| !job[*op][*key].is_null()));
        jobs_of(document).iter().any(of)
    };
    match major(document) {
        Some(3..) => return Ok(false),
        Some(2) | None if has(&["io_kbytes"]) => return Ok(false),
        None if !has(&["clat", "lat"]) => return Ok(false),
        Some(2) | None if !has(&["clat_ns", "lat_ns"]) => {}
        _ => return Err(format!("the units of {version} are not known: fio 2 and later are read")),
    }
    let key = if document["jobs"].is_array() { "jobs" } else { "client_stats" };
    for job in document[key].as_array_mut().into_iter().flatten() {
        for (op, _) in OPS {
            let Some(stats) = job.get_mut(op).filter(|stats| stats.is_object()) else { continue };
            if let Some(kib) = known(&stats["io_bytes"]) {
                stats["io_bytes"] = json!(kib.saturating_mul(1024));
            }
            for (old, new) in [("clat", "clat_ns"), ("lat", "lat_ns")] {
                let times = &stats[old];
                // Without times of its own (disable_clat) all of them are 0.
                let Some(max) = known(&times["max"]).filter(|max| *max > 0) else { continue };
                let ns = |us: f64| json!(us * 1000.0);
                stats[new] = json!({
                    "N": known(&stats["total_ios"]),
                    "min": ns(times["min"].as_f64().unwrap_or(0.0)),
                    "max": json!(max.saturating_mul(1000)),
                    "mean": ns(times["mean"].as_f64().unwrap_or(0.0)),
                });
            }
        }
    }
    Ok(true)
}
