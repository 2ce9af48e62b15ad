//! Logs with times of their own onto intervals that all jobs and operations share.

use super::text::{Figure, Kind, Line, Log, OPS};
use crate::ImportError;
use crate::printed::{summary, whole};
use quantity::histogram::Histogram;
use std::collections::BTreeMap;

/// Interval when nothing but lines per I/O is there, ms.
const USUAL_MS: u64 = 1000;
/// Most intervals of a log, a month of seconds: a time beyond is no time of a run.
const INTERVALS_MAX: u64 = 2_700_000;

/// The logs of one job.
pub(super) type JobLogs = BTreeMap<Kind, Log>;

/// One operation of one job in one interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Completed, with fractions while it is put together.
    pub(super) ops: f64,
    pub(super) bytes: Option<f64>,
    /// Times from submission; the whole distribution, or as much as is known.
    pub(super) service: Option<Histogram>,
}

/// Of one job, by operation.
pub(super) type Lanes = [Vec<Cell>; OPS.len()];

/// What is needed to bring the lines of several jobs together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Length of an interval, ms.
    pub(super) period_ms: u64,
    /// Time of day of time zero, ms; 0 when the times are not of day.
    pub(super) origin_ms: u64,
}

/// The value that held from the line before to this one.
#[derive(Clone, Copy, Debug)]
struct Step {
    from_ms: u64,
    to_ms: u64,
    value: u64,
}

/// Averages of one log, by operation.
type Steps = [Vec<Step>; OPS.len()];

impl Grid {
    /// The period of the coarsest averages, and the first time of day.
    pub(super) fn of<'a>(jobs: impl Iterator<Item = &'a JobLogs>) -> Result<Self, ImportError> {
        let (mut period_ms, mut origin_ms) = (0, u64::MAX);
        for log in jobs.flat_map(BTreeMap::values) {
            let per_io = log.is_per_io()?;
            let mut last = [None::<u64>; OPS.len()];
            let mut gaps: Vec<u64> = Vec::new();
            log.lines(|line| {
                // The first line of averages ends a period that began one before.
                let gap = last[line.op].map(|last| line.t_ms.saturating_sub(last)).filter(|gap| *gap > 0);
                gaps.extend(gap.filter(|_| !per_io));
                if line.is_of_day() {
                    origin_ms = origin_ms.min(line.t_ms);
                }
                last[line.op] = Some(line.t_ms);
            })?;
            gaps.sort_unstable();
            period_ms = period_ms.max(gaps.get(gaps.len() / 2).copied().unwrap_or(0));
        }
        // fio is some ms late with each line.
        let unit = if period_ms >= 250 { 100 } else { 10 };
        let period_ms = if period_ms == 0 { USUAL_MS } else { ((period_ms + unit / 2) / unit).max(1) * unit };
        let origin_ms = if origin_ms == u64::MAX { 0 } else { origin_ms.saturating_sub(period_ms) };
        Ok(Self { period_ms, origin_ms })
    }

    fn at(&self, t_ms: u64) -> u64 {
        t_ms.saturating_sub(self.origin_ms)
    }

    /// Index of the interval that a time lies in.
    fn index(&self, log: &Log, t_ms: u64) -> Result<usize, ImportError> {
        let index = t_ms / self.period_ms;
        usize::try_from(index).ok().filter(|_| index < INTERVALS_MAX).ok_or_else(|| ImportError::Malformed {
            path: log.path.clone(),
            line: 1,
            what: format!("a time of {t_ms} ms: longer than any run"),
        })
    }

    /// Brings one job's logs together by the best that is there; also the end of its last line, ms, and remarks.
    pub(super) fn lanes(&self, logs: &JobLogs) -> Result<(Lanes, u64, Vec<String>), ImportError> {
        let mut notes = Vec::new();
        let per_io = |kind| match logs.get(&kind) {
            Some(log) => log.is_per_io().map(|is| is.then_some(log)),
            None => Ok(None),
        };
        let single = match per_io(Kind::Completion)? {
            Some(log) => Some(log),
            None => per_io(Kind::Total)?,
        };
        let (mut lanes, end_ms) = match (single, logs.get(&Kind::Histogram), logs.get(&Kind::Iops)) {
            (Some(log), _, _) => self.of_lines(log)?,
            (None, Some(log), _) => self.of_histograms(log)?,
            (None, None, Some(log)) if !logs.contains_key(&Kind::Bandwidth) => {
                notes.push(format!("{} was left out: without write_bw_log= the bytes are unknown", log.path.display()));
                return Ok((Lanes::default(), 0, notes));
            }
            (None, None, Some(log)) => self.of_rates(log, logs)?,
            (None, None, None) => {
                if let Some(log) = logs.values().find(|log| log.kind != Kind::Submission) {
                    notes.push(format!(
                        "{} was left out: averages do not tell how many operations there were; write_iops_log= or \
                         write_hist_log= does",
                        log.path.display()
                    ));
                }
                return Ok((Lanes::default(), 0, notes));
            }
        };
        if single.is_none()
            && let Some(log) = logs.get(&Kind::Bandwidth)
        {
            let steps = self.steps(log)?;
            lanes.iter_mut().flatten().for_each(|cell| cell.bytes = None);
            for (cells, steps) in lanes.iter_mut().zip(&steps) {
                self.spread(log, cells, steps, |cell, kib_per_s, share_s| {
                    *cell.bytes.get_or_insert(0.0) += kib_per_s * 1024.0 * share_s;
                })?;
            }
        }
        Ok((lanes, end_ms, notes))
    }

    /// A line per I/O: everything is known.
    fn of_lines(&self, log: &Log) -> Result<(Lanes, u64), ImportError> {
        let mut lanes = Lanes::default();
        let mut end_ms = 0;
        let mut beyond = Ok(());
        log.lines(|line| {
            let (t_ms, Figure::Value(ns)) = (self.at(line.t_ms), &line.figure) else { return };
            end_ms = end_ms.max(t_ms);
            match self.index(log, t_ms) {
                Ok(index) => {
                    let cell = cell(&mut lanes[line.op], index);
                    cell.ops += 1.0;
                    *cell.bytes.get_or_insert(0.0) += line.size as f64;
                    cell.service.get_or_insert_default().record(*ns);
                }
                Err(error) => beyond = Err(error),
            }
        })?;
        beyond.map(|()| (lanes, end_ms))
    }

    /// Counts per period: a period belongs to the interval in which its middle lies.
    fn of_histograms(&self, log: &Log) -> Result<(Lanes, u64), ImportError> {
        let mut lanes = Lanes::default();
        let (mut end_ms, mut last) = (0, [0; OPS.len()]);
        let mut beyond = Ok(());
        log.lines(|Line { t_ms, op, size, figure }| {
            let Figure::Bins(bins) = figure else { return };
            let t_ms = self.at(t_ms);
            let (from_ms, from_first) = (last[op], self.period_ms / 2);
            let middle = if from_ms == 0 { t_ms.saturating_sub(from_first) } else { u64::midpoint(from_ms, t_ms) };
            (last[op], end_ms) = (t_ms, end_ms.max(t_ms));
            let (Some(histogram), Ok(index)) =
                (of_bins(&bins), self.index(log, middle).map_err(|error| beyond = Err(error)))
            else {
                return;
            };
            let cell = cell(&mut lanes[op], index);
            cell.ops += histogram.count() as f64;
            // The size of the last I/O: right when all are of one size. A bandwidth log knows better.
            *cell.bytes.get_or_insert(0.0) += histogram.count() as f64 * size as f64;
            cell.service.get_or_insert_default().merge(&histogram);
        })?;
        beyond.map(|()| (lanes, end_ms))
    }

    /// Averages: operations from the rates, means of times beside them.
    fn of_rates(&self, log: &Log, logs: &JobLogs) -> Result<(Lanes, u64), ImportError> {
        let mut lanes = Lanes::default();
        let rates = self.steps(log)?;
        let end_ms = rates.iter().flatten().map(|step| step.to_ms).max().unwrap_or(0);
        for (cells, steps) in lanes.iter_mut().zip(&rates) {
            self.spread(log, cells, steps, |cell, per_s, share_s| cell.ops += per_s * share_s)?;
        }
        let Some(times) = logs.get(&Kind::Completion).or_else(|| logs.get(&Kind::Total)) else {
            return Ok((lanes, end_ms));
        };
        for (cells, steps) in lanes.iter_mut().zip(&self.steps(times)?) {
            // Mean over an interval, each average by the time that it held.
            let mut sums: Vec<(f64, f64)> = vec![(0.0, 0.0); cells.len()];
            for step in steps {
                self.parts(step, |index, share_s| {
                    if let Some(sum) = sums.get_mut(index) {
                        *sum = (sum.0 + step.value as f64 * share_s, sum.1 + share_s);
                    }
                });
            }
            for (cell, (sum, seconds)) in cells.iter_mut().zip(sums) {
                let ops = whole(cell.ops);
                cell.service = (seconds > 0.0 && ops > 0).then(|| summary(ops, Some(sum / seconds), None));
            }
        }
        Ok((lanes, end_ms))
    }

    /// The averages of a log; a line holds from the one before.
    fn steps(&self, log: &Log) -> Result<Steps, ImportError> {
        let mut steps = Steps::default();
        log.lines(|line| {
            let (to_ms, Figure::Value(value)) = (self.at(line.t_ms), &line.figure) else { return };
            let steps = &mut steps[line.op];
            let from_ms = steps.last().map_or_else(|| to_ms.saturating_sub(self.period_ms), |step| step.to_ms);
            steps.push(Step {
                from_ms: if steps.is_empty() && from_ms < self.period_ms / 4 { 0 } else { from_ms },
                to_ms,
                value: *value,
            });
        })?;
        Ok(steps)
    }

    /// Gives each interval that a step touches the seconds that it has of it.
    fn parts(&self, step: &Step, mut give: impl FnMut(usize, f64)) {
        let mut from_ms = step.from_ms;
        while from_ms < step.to_ms {
            let index = from_ms / self.period_ms;
            let to_ms = step.to_ms.min((index + 1) * self.period_ms);
            give(usize::try_from(index).unwrap_or(usize::MAX), (to_ms - from_ms) as f64 / 1e3);
            from_ms = to_ms;
        }
    }

    fn spread(
        &self,
        log: &Log,
        cells: &mut Vec<Cell>,
        steps: &[Step],
        mut add: impl FnMut(&mut Cell, f64, f64),
    ) -> Result<(), ImportError> {
        for step in steps {
            self.index(log, step.to_ms)?;
            self.parts(step, |index, share_s| add(cell(cells, index), step.value as f64, share_s));
        }
        Ok(())
    }
}

fn cell(cells: &mut Vec<Cell>, index: usize) -> &mut Cell {
    if cells.len() <= index {
        cells.resize_with(index + 1, Cell::default);
    }
    &mut cells[index]
}

/// A histogram of values in the middle of their bins.
fn of_bins(bins: &[(u64, u64)]) -> Option<Histogram> {
    let sum = bins.iter().map(|(value, count)| u128::from(*value) * u128::from(*count)).sum();
    let (first, last) = (bins.first()?, bins.last()?);
    Histogram::of_buckets(bins, sum, first.0, last.0)
}
