//! A trace as a load, to be held against another.

use super::Load;
use super::per_second::{LoadRound, MOST_STEPS, RoundStep, steps};
use crate::TracedFacts;
use crate::other_load::Others;
use rates::{DataOps, LoadSlice, OperationTimes};

impl TracedFacts {
    /// What the kernel saw, over time.
    pub(crate) fn load(&self) -> Load {
        let slices = self.bins.iter().zip(&self.times).zip(&self.spans).map(|((bin, times), (from_s, length_s))| {
            let length_ns = length_s * 1e9;
            LoadSlice {
                from_s: *from_s,
                length_s: *length_s,
                ops: bin.ios.iter().sum::<u64>() as f64,
                data: DataOps { reads: bin.ios[0].cast_signed(), writes: bin.ios[1].cast_signed() },
                bytes: bin.bytes.iter().sum::<u64>() as f64,
                in_flight: (self.has_times() && length_ns > 0.0).then(|| bin.in_flight_ns / length_ns),
                response: times.response.clone(),
            }
        });
        let slices: Vec<LoadSlice> = slices.collect();
        let step = |slice: &LoadSlice| RoundStep {
            length_s: slice.length_s,
            ops: slice.ops,
            bytes: slice.bytes,
            response: slice.response.clone(),
            ..RoundStep::default()
        };
        let response = OperationTimes::ended(self.responses());
        let all: Vec<RoundStep> = slices.iter().map(step).collect();
        let steps = steps(&all, MOST_STEPS);
        let round = LoadRound { steps, response: response.clone(), began_ns: self.origin_ns, ..LoadRound::default() };
        Load {
            errors: None,
            slices,
            response,
            service: OperationTimes::default(),
            span_ns: (self.origin_ns, self.end_ns),
            is_open: true,
            rounds: vec![round],
            others: Others::default(),
        }
    }
}
