//! The end of a run: what came back after its load had ended, and what did not, belongs to the phase in which it was due.

use super::{OPS, OpCount, RunFacts, Tally, TotalFacts};
use crate::times::Times;
use recording::rows::RunEnd;

/// Operations of a run that had no end when it was given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Submitted, and not back.
    pub in_flight: i64,
    /// Due, and never submitted.
    pub waiting: i64,
    /// How long the oldest of them had been due, ns.
    pub oldest_ns: u64,
}

impl Unfinished {
    /// All of them.
    #[must_use]
    pub fn count(&self) -> i64 {
        self.in_flight + self.waiting
    }

    /// Adds a lane's.
    pub fn add(&mut self, row: &RunEnd) {
        self.in_flight += row.in_flight;
        self.waiting += row.waiting;
        let oldest = row.in_flight_age.max().max(row.waiting_age.max());
        self.oldest_ns = self.oldest_ns.max(oldest.unwrap_or(0));
    }

    /// `3 operations had not come back and 120 were still waiting for submission when the run ended, the oldest due for 1.2 s`;
    /// `None` when there are none.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let several = |count: i64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{} {many}", crate::Unit::Operations.format(Some(count as f64)))),
        };
        let in_flight = several(self.in_flight, "operation had not come back", "operations had not come back");
        let waiting = match in_flight {
            None => several(self.waiting, "operation was still", "operations were still"),
            Some(_) => several(self.waiting, "was still", "were still"),
        };
        let waiting = waiting.map(|waiting| format!("{waiting} waiting for submission"));
        let parts: Vec<String> = in_flight.into_iter().chain(waiting).collect();
        let oldest = crate::Unit::Nanoseconds.format(Some(self.oldest_ns as f64));
        (!parts.is_empty()).then(|| format!("{} when the run ended, the oldest due for {oldest}", parts.join(" and ")))
    }
}

/// Response and service times of what a row tells of.
pub(crate) fn open_times(row: &RunEnd) -> (Times, Times) {
    let mut response = row.in_flight_age.clone();
    response.merge(&row.waiting_age);
    let open = |open| Times { open, ..Times::default() };
    (open(response), open(row.in_flight_service_age.clone()))
}

impl RunFacts {
    /// Adds the end to the totals of the phase in which the load ended. Without rows of it (recordings of other tools, older
    /// ones, and those that were cut short) nothing is known of the end, and nothing is added.
    pub(super) fn join_end(&mut self) {
        let ends = std::mem::take(&mut self.ends);
        let Some(phase) = ends.first().map(|row| row.phase.clone()) else { return };
        let mut unfinished = Unfinished::default();
        ends.iter().for_each(|row| unfinished.add(row));
        self.unfinished = Some(unfinished);
        let drained: Vec<TotalFacts> = self.totals.iter().filter(|total| total.phase == "drain").cloned().collect();
        for total in drained {
            let main = self.total_of(&phase, [&total.workload, &total.target, &total.op]);
            main.response.merge(&total.response);
            main.service.merge(&total.service);
            main.count.errors += total.count.errors;
        }
        for row in ends.iter().filter(|row| row.in_flight + row.waiting > 0) {
            let (response, service) = open_times(row);
            let main = self.total_of(&phase, [&row.workload, &row.target, &row.op]);
            main.response.merge(&response);
            main.service.merge(&service);
        }
    }

    fn total_of(&mut self, phase: &str, [workload, target, op]: [&str; 3]) -> &mut TotalFacts {
        let is_it = |total: &TotalFacts| {
            total.phase == phase && total.workload == workload && total.target == target && total.op == op
        };
        let place = self.totals.iter().position(is_it).unwrap_or_else(|| {
            debug_assert!(OPS.contains(&op));
            self.totals.push(TotalFacts {
                phase: phase.to_string(),
                workload: workload.to_string(),
                target: target.to_string(),
                op: op.to_string(),
                count: OpCount { arrivals: Tally::of(0), errors: Tally::of(0), ..OpCount::default() },
                response: Times::default(),
                service: Times::default(),
            });
            self.totals.len() - 1
        });
        &mut self.totals[place]
    }
}

#[cfg(test)]
mod tests {
    use super::Unfinished;

    #[test]
    fn what_has_no_end_is_said_in_a_sentence() {
        let words = |in_flight, waiting| Unfinished { in_flight, waiting, oldest_ns: 1_200_000_000 }.words();
        let end = "when the run ended, the oldest due for 1.20 s";
        for (found, expect) in [
            (words(0, 0), None),
            (words(1, 0), Some("1 operation had not come back")),
            (words(0, 1), Some("1 operation was still waiting for submission")),
            (words(0, 120), Some("120 operations were still waiting for submission")),
            (words(3, 120), Some("3 operations had not come back and 120 were still waiting for submission")),
        ] {
            assert_eq!(found, expect.map(|expect| format!("{expect} {end}")));
        }
    }
}
