//! From when to when a trace saw every I/O, and those whose end it did not see: how it is said, and since when they are on
//! their way.

use recording::Manifest;

/// In the manifest of a trace: when it ended, `CLOCK_MONOTONIC`, ns. What had no end then is at least so old.
pub const TRACE_ENDED: &str = "trace_ended_t_ns";

/// In the manifest of a trace: when it began to see I/Os, `CLOCK_MONOTONIC`, ns.
pub const TRACE_BEGAN: &str = "trace_began_t_ns";

/// From when to when was traced, ns: rates are over this time, however few I/Os came. `None` where the manifest lacks
/// it, as in imported traces: then the time from the first to the last I/O is all that is known.
#[must_use]
pub fn traced_span_ns(manifest: &Manifest) -> Option<(i64, i64)> {
    let began_ns = manifest.extra.get(TRACE_BEGAN)?.as_i64()?;
    let ended_ns = ended_ns(manifest)?;
    // Others may have written the manifest.
    ended_ns.checked_sub(began_ns).filter(|length_ns| *length_ns > 0).map(|_| (began_ns, ended_ns))
}

/// When the trace of a recording ended, if the manifest has it.
pub fn ended_ns(manifest: &Manifest) -> Option<i64> {
    manifest.extra.get(TRACE_ENDED)?.as_i64()
}

/// In words, how many I/Os had no end.
#[must_use]
pub fn unfinished_words(count: u64) -> String {
    let ios = if count == 1 { "I/O" } else { "I/Os" };
    format!("{count} {ios} had not ended when the trace ended")
}

/// What of a manifest is to be known about ends that were not seen, as sentences without a full stop.
pub fn unseen(manifest: &Manifest) -> Vec<String> {
    let count = |name: &str| manifest.extra.get(name).and_then(serde_json::Value::as_u64).filter(|count| *count > 0);
    let mut words: Vec<String> = count("trace_unfinished").map(unfinished_words).into_iter().collect();
    words.extend(count("trace_end_unseen").map(|count| {
        let ios = if count == 1 { "I/O has" } else { "I/Os have" };
        format!("{count} {ios} no time of completion, because the kernel left the probe at their end out")
    }));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_said_by_reason() {
        let mut manifest = Manifest::new(&[]);
        assert_eq!((unseen(&manifest), ended_ns(&manifest)), (Vec::new(), None));
        for (name, value) in [("trace_unfinished", 1), ("trace_end_unseen", 3), (TRACE_ENDED, 77)] {
            manifest.extra.insert(name.to_string(), value.into());
        }
        assert_eq!(ended_ns(&manifest), Some(77));
        let words = unseen(&manifest).join("; ");
        assert!(words.starts_with("1 I/O had not ended when the trace ended; 3 I/Os have no time of"), "{words}");
        manifest.extra.insert("trace_unfinished".to_string(), 0.into());
        assert_eq!(unseen(&manifest).len(), 1);
    }
}
