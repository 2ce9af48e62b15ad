//! What was measured in an interval or a run, added up for one selector, and the figures read off it.

use super::names::{Clock, Quantity, Statistic};
use quantity::histogram::Histogram;
use rates::{DataOps, KnownSum, OpCount};
use rates::{FigureBounds, OperationTimes};

/// Counts and times of the lanes of one selector.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Was there any lane at all?
    pub(super) present: bool,
    /// Length of the time that it is about.
    pub(super) seconds: f64,
    pub(super) count: OpCount,
    /// Operations that read and that wrote data.
    pub(super) data: DataOps,
    pub(super) response: OperationTimes,
    pub(super) service: OperationTimes,
    pub(super) wait: OperationTimes,
    /// Mean number in flight.
    pub(super) in_flight: Option<f64>,
    pub(super) backlog: KnownSum<i64>,
    /// Longest time without a completion, ns.
    pub(super) stall_ns: i64,
    /// There was time in which nothing came back, and nothing tells whether anything was due.
    pub(super) has_silence: bool,
    /// Fraction of all CPUs.
    pub(super) cpu: Option<f64>,
    /// How long the oldest operation that is in flight has been so, ns.
    pub(super) oldest_ns: u64,
}

impl Sample {
    pub(super) fn add(&mut self, op: &str, count: OpCount, response: &Histogram, service: &Histogram) {
        self.present = true;
        self.count += count;
        self.data.add(op, count.ops);
        self.response.ended.merge(response);
        self.service.ended.merge(service);
    }

    /// Nothing came back, well or failed, although something was waiting all the time.
    pub(super) fn is_stalled(&self) -> bool {
        self.present && rates::is_stalled(&self.count, self.in_flight.into(), self.backlog)
    }

    /// Nothing came back, well or failed, although something was due or in flight at some time.
    pub(super) fn is_silent(&self) -> bool {
        self.count.ops == 0
            && !self.count.errors.is_positive()
            && (self.in_flight.is_some_and(|depth| depth > 0.0)
                || self.backlog.is_positive()
                || self.count.arrivals.is_positive())
    }

    /// Nothing came back, and nothing that is known says whether that was a stall: neither what was due nor what was in flight.
    pub(super) fn may_be_stalled(&self) -> bool {
        let is_known =
            self.in_flight.is_some() || self.backlog.known().is_some() || self.count.arrivals.known().is_some();
        self.present && self.count.ops == 0 && !self.count.errors.is_positive() && !is_known
    }

    /// The figure in base units; `None` when it was not measured.
    pub(super) fn value(&self, quantity: Quantity) -> Option<FigureBounds> {
        if let Quantity::Time(clock, statistic) = quantity {
            let times = match clock {
                Clock::Response => &self.response,
                Clock::Service => &self.service,
                Clock::Wait => &self.wait,
            };
            return match statistic {
                Statistic::Min => times.min(),
                Statistic::Max => times.max(),
                Statistic::Mean => times.mean(),
                Statistic::Percentile(quantile) => times.percentile(quantile),
            };
        }
        self.counted(quantity).map(FigureBounds::exact)
    }

    /// A figure that is no time of an operation.
    fn counted(&self, quantity: Quantity) -> Option<f64> {
        let per_second = |value: i64| (self.present && self.seconds > 0.0).then(|| value as f64 / self.seconds);
        let counted = |value: i64| self.present.then_some(value as f64);
        match quantity {
            Quantity::Arrivals => counted(self.count.arrivals.known()?),
            Quantity::Operations => counted(self.count.ops),
            Quantity::Bytes => counted(self.count.bytes),
            Quantity::Errors => counted(self.count.errors.known()?),
            Quantity::Offered => per_second(self.count.arrivals.known()?),
            Quantity::Achieved => per_second(self.count.ops),
            Quantity::Throughput => per_second(self.count.bytes),
            Quantity::ReadShare => self.data.read_share(),
            Quantity::InFlight => self.in_flight.filter(|_| self.present),
            Quantity::Backlog => counted(self.backlog.known()?),
            // Silence that may have been a stall (what was due is not recorded) is no stall of length 0.
            Quantity::LongestStall => counted(self.stall_ns).filter(|_| !self.has_silence || self.stall_ns > 0),
            Quantity::Cpu => self.cpu,
            Quantity::Longest => {
                let oldest = Some(self.oldest_ns).filter(|ns| *ns > 0);
                self.response.ended.max().max(oldest).map(|ns| ns as f64)
            }
            // Of a whole run only, see its record.
            Quantity::DamagedBlocks | Quantity::Time(..) => None,
        }
    }
}
