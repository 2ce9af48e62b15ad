//! The end of a run: what came back after its load had ended, and what did not, belongs to the phase in which it was due.

use super::RunFacts;
use rates::OperationTimes;
use rates::{KnownSum, OpCount, TotalFacts};
use rates::{UnfinishedOperations, open_times};
use recording::LoadPhase;

impl RunFacts {
    /// Adds the end to the totals of the phase in which the load ended. Without rows of it (recordings of other tools, older
    /// ones, and those that were cut short) nothing is known of the end, and nothing is added.
    pub(super) fn join_end(&mut self) {
        let ends = std::mem::take(&mut self.ends);
        let Some(phase) = ends.first().map(|row| row.phase.clone()) else { return };
        let mut unfinished = UnfinishedOperations::default();
        ends.iter().for_each(|row| unfinished.add(row));
        self.unfinished = Some(unfinished);
        let drained: Vec<TotalFacts> =
            self.totals.iter().filter(|total| total.phase == LoadPhase::Drain).cloned().collect();
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

    fn total_of(&mut self, phase: &LoadPhase, [workload, target, op]: [&str; 3]) -> &mut TotalFacts {
        let is_it = |total: &TotalFacts| {
            total.phase == *phase && total.workload == workload && total.target == target && total.op == op
        };
        let place = self.totals.iter().position(is_it).unwrap_or_else(|| {
            self.totals.push(TotalFacts {
                phase: phase.clone(),
                workload: workload.to_string(),
                target: target.to_string(),
                op: op.to_string(),
                count: OpCount { arrivals: KnownSum::of(0), errors: KnownSum::of(0), ..OpCount::default() },
                response: OperationTimes::default(),
                service: OperationTimes::default(),
            });
            self.totals.len() - 1
        });
        &mut self.totals[place]
    }
}
