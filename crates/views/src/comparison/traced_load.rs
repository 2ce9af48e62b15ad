//! A trace as a load, to be held against another.

use super::Load;
use super::second::{MOST_STEPS, Round, Step, steps};
use crate::TracedFacts;
use crate::other_load::Others;
use rates::Slice;
use rates::Times;

impl TracedFacts {
    /// What the kernel saw, over time.
    pub(crate) fn load(&self) -> Load {
        let slices = self.bins.iter().zip(&self.times).zip(&self.spans).map(|((bin, times), (from_s, length_s))| {
            let length_ns = length_s * 1e9;
            Slice {
                from_s: *from_s,
                length_s: *length_s,
                ops: bin.ios.iter().sum::<u64>() as f64,
                reads: bin.ios[0] as f64,
                bytes: bin.bytes.iter().sum::<u64>() as f64,
                in_flight: (self.has_times() && length_ns > 0.0).then(|| bin.in_flight_ns / length_ns),
                response: times.response.clone(),
            }
        });
        let slices: Vec<Slice> = slices.collect();
        let step = |slice: &Slice| Step {
            length_s: slice.length_s,
            ops: slice.ops,
            bytes: slice.bytes,
            response: slice.response.clone(),
            ..Step::default()
        };
        let response = Times::ended(self.responses());
        let all: Vec<Step> = slices.iter().map(step).collect();
        let steps = steps(&all, MOST_STEPS);
        let round = Round { steps, response: response.clone(), began_ns: self.origin_ns, ..Round::default() };
        Load {
            errors: None,
            slices,
            response,
            service: Times::default(),
            span_ns: (self.origin_ns, self.end_ns),
            is_open: true,
            rounds: vec![round],
            others: Others::default(),
        }
    }
}
