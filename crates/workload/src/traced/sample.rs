//! Traces of one I/O in N: counts, rates, bytes and numbers in flight are multiplied; what needs every I/O in its order is
//! not shown.

use recording::{LossName, Manifest};

/// In the manifest of a trace: one I/O in so many was traced.
pub const TRACE_SAMPLE: &str = "trace_sample";

/// One I/O in so many was traced: 1, unless `--sample` was given.
#[must_use]
pub fn sample(manifest: &Manifest) -> u64 {
    manifest.extra.get(TRACE_SAMPLE).and_then(serde_json::Value::as_u64).unwrap_or(1).max(1)
}

/// That a trace is a sample, as a sentence without a full stop; `None` of one that has every I/O.
#[must_use]
pub fn sample_words(manifest: &Manifest) -> Option<String> {
    let sample = sample(manifest);
    (sample > 1).then(|| format!("the trace is a sample of one I/O in {sample}"))
}

/// Why a trace does not have every I/O that there was, as sentences without a full stop: losses, a sample.
#[must_use]
pub fn incomplete(manifest: &Manifest) -> Vec<String> {
    let losses =
        manifest.losses.iter().filter(|(name, count)| **count > 0 && LossName::from(name.as_str()).is_of_trace());
    let losses: Vec<String> = losses.map(|(name, count)| format!("{count} {}", name.replace('_', " "))).collect();
    let lost = (!losses.is_empty()).then(|| format!("the trace is not complete, lost are: {}", losses.join(", ")));
    lost.into_iter().chain(sample_words(manifest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_says_what_it_does_not_have() {
        let mut manifest = Manifest::new(&[]);
        assert_eq!((sample(&manifest), incomplete(&manifest)), (1, Vec::new()));
        manifest.extra.insert(TRACE_SAMPLE.to_string(), 64.into());
        manifest.losses.insert("trace_buffer_full".to_string(), 3);
        manifest.losses.insert("journal_bytes_unreadable".to_string(), 3);
        let words = incomplete(&manifest).join("; ");
        assert_eq!(
            words,
            "the trace is not complete, lost are: 3 trace buffer full; the trace is a sample of one I/O in 64"
        );
    }
}
