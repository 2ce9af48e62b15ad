//! Traces of one I/O in N: counts, rates, bytes and numbers in flight are multiplied; what needs every I/O in its order is
//! not shown.

use super::TracedFacts;
use super::groups::Total;
use super::reuse::Region;
use super::timeline::Bin;
use recording::Manifest;

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
    let of_trace = |name: &str| name.starts_with("trace_") || name.starts_with("flight_");
    let losses = manifest.losses.iter().filter(|(name, count)| **count > 0 && of_trace(name));
    let losses: Vec<String> = losses.map(|(name, count)| format!("{count} {}", name.replace('_', " "))).collect();
    let lost = (!losses.is_empty()).then(|| format!("the trace is not complete, lost are: {}", losses.join(", ")));
    lost.into_iter().chain(sample_words(manifest)).collect()
}

impl Total {
    fn scale(&mut self, by: u64) {
        let counts = [
            &mut self.reads,
            &mut self.writes,
            &mut self.others,
            &mut self.bytes,
            &mut self.failed,
            &mut self.with_data,
            &mut self.sequential,
            &mut self.timed,
            &mut self.issued,
        ];
        counts.into_iter().for_each(|count| *count = count.saturating_mul(by));
        let sums = [&mut self.response_ns, &mut self.wait_ns, &mut self.device_ns];
        sums.into_iter().for_each(|sum| *sum *= by as f64);
    }
}

impl Bin {
    fn scale(&mut self, by: u64) {
        let counts =
            self.ios.iter_mut().chain(&mut self.bytes).chain(&mut self.sequential).chain([&mut self.with_data]);
        counts.for_each(|count| *count = count.saturating_mul(by));
        self.in_flight_ns *= by as f64;
        self.at_device_ns *= by as f64;
    }
}

impl Region {
    fn scale(&mut self, by: u64) {
        [&mut self.reads, &mut self.writes, &mut self.bytes]
            .into_iter()
            .for_each(|count| *count = count.saturating_mul(by));
    }
}

impl TracedFacts {
    /// As if all had been traced of which these are one in `sample`.
    pub(super) fn scaled(mut self, sample: u64) -> Self {
        self.sample = sample;
        if !self.is_sample() {
            return self;
        }
        self.unended = self.unended.saturating_mul(sample);
        self.ios.iter_mut().for_each(|count| *count = count.saturating_mul(sample));
        self.bins.iter_mut().for_each(|bin| bin.scale(sample));
        let named = [&mut self.devices, &mut self.processes, &mut self.files, &mut self.cgroups, &mut self.kinds];
        named.into_iter().flatten().for_each(|(_, total)| total.scale(sample));
        self.sizes.iter_mut().for_each(|(_, total)| total.scale(sample));
        self.regions.iter_mut().for_each(|region| region.2.scale(sample));
        self
    }

    /// Was only a part of the I/Os traced? Then nothing is known of what depends on which came after which.
    pub(crate) fn is_sample(&self) -> bool {
        self.sample > 1
    }

    /// What a count of traced I/Os is multiplied by.
    pub(super) fn weight(&self) -> f64 {
        self.sample as f64
    }

    /// What the reader of a sample's figures must know.
    pub(crate) fn sample_note(&self) -> Option<String> {
        self.is_sample().then(|| {
            format!(
                "The trace is a sample of one I/O in {}: counts, rates, bytes and numbers in flight are estimates for all of \
                 them; response times are those of the sample, and rare slow I/Os may be missing. What needs every I/O is not \
                 shown: sequential shares, arrivals and bursts, working set, re-use, hot spots, what was around the slowest.",
                self.sample
            )
        })
    }
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

    #[test]
    fn totals_are_multiplied_and_extremes_are_not() {
        let mut total = Total::default();
        (total.reads, total.timed, total.response_ns, total.longest_ns) = (2, 2, 10.0, 7);
        total.scale(8);
        assert_eq!((total.ios(), total.timed, total.longest_ns), (16, 16, 7));
        assert!((total.response_ns / total.timed as f64 - 5.0).abs() < 1e-9, "the mean is that of the sample");
    }
}
