//! Figures of a sample of a trace, as if every I/O had been traced.

use super::TracedFacts;
use super::groups::Total;
use super::timeline::Bin;

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
    pub fn is_sample(&self) -> bool {
        self.sample > 1
    }

    /// What a count of traced I/Os is multiplied by.
    pub(super) fn weight(&self) -> f64 {
        self.sample as f64
    }

    /// What the reader of a sample's figures must know.
    pub fn sample_note(&self) -> Option<String> {
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
    fn totals_are_multiplied_and_extremes_are_not() {
        let mut total = Total::default();
        (total.reads, total.timed, total.response_ns, total.longest_ns) = (2, 2, 10.0, 7);
        total.scale(8);
        assert_eq!((total.ios(), total.timed, total.longest_ns), (16, 16, 7));
        assert!((total.response_ns / total.timed as f64 - 5.0).abs() < 1e-9, "the mean is that of the sample");
    }
}
