//! What had no end when a run was given up.

use crate::OperationTimes;
use recording::rows::RunEnd;

/// Operations of a run that had no end when it was given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnfinishedOperations {
    /// Submitted, and not back.
    pub in_flight: i64,
    /// Due, and never submitted.
    pub waiting: i64,
    /// How long the oldest of them had been due, ns.
    pub oldest_ns: u64,
}

impl UnfinishedOperations {
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
            count => Some(format!("{} {many}", view::Unit::Operations.format(Some(count as f64)))),
        };
        let in_flight = several(self.in_flight, "operation had not come back", "operations had not come back");
        let waiting = match in_flight {
            None => several(self.waiting, "operation was still", "operations were still"),
            Some(_) => several(self.waiting, "was still", "were still"),
        };
        let waiting = waiting.map(|waiting| format!("{waiting} waiting for submission"));
        let parts: Vec<String> = in_flight.into_iter().chain(waiting).collect();
        let oldest = view::Unit::Nanoseconds.format(Some(self.oldest_ns as f64));
        (!parts.is_empty()).then(|| format!("{} when the run ended, the oldest due for {oldest}", parts.join(" and ")))
    }
}

/// Response and service times of what a row tells of.
pub fn open_times(row: &RunEnd) -> (OperationTimes, OperationTimes) {
    let mut response = row.in_flight_age.clone();
    response.merge(&row.waiting_age);
    let open = |open| OperationTimes { open, ..OperationTimes::default() };
    (open(response), open(row.in_flight_service_age.clone()))
}

#[cfg(test)]
mod tests {
    use super::UnfinishedOperations;

    #[test]
    fn what_has_no_end_is_said_in_a_sentence() {
        let words = |in_flight, waiting| UnfinishedOperations { in_flight, waiting, oldest_ns: 1_200_000_000 }.words();
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
