//! The figures of executions.

use super::group::{MeasuredCommand, has_failed, has_succeeded, is_counted};
use rates::samples::RepeatEstimate;
use recording::rows::CommandExecution;
use recording::{ExecutionEnding, LoadPhase};

/// From this distance from the median on, in median distances, a value is an outlier (ten deviations of a normal distribution).
const OUTLIER: f64 = 14.826;
/// An outlier is at least this part of the median away from it: a steady program has distances of nothing.
const OUTLIER_PART: f64 = 0.05;
/// Fewest values among which outliers are looked for.
const OUTLIERS_OF: usize = 5;

/// A sample of times or sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleFigures {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample, σ; `None` of a single value.
    pub deviation: Option<f64>,
    /// Half of the 95 % confidence interval of the mean (Student's t); `None` of a single value.
    pub half: Option<f64>,
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// How many.
    pub count: usize,
}

impl SampleFigures {
    /// Of values; `None` when there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let RepeatEstimate { mean, half, count } = RepeatEstimate::of(values)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            mean,
            deviation: (count > 1).then(|| (squares / (count as f64 - 1.0)).sqrt()),
            half,
            median: median(values),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            count,
        })
    }

    /// Half of the confidence interval, per cent of the mean.
    #[must_use]
    pub fn half_percent(&self) -> Option<f64> {
        self.half.filter(|_| self.mean > 0.0).map(|half| 100.0 * half / self.mean)
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => 0.5 * (sorted[middle - 1] + sorted[middle]),
    }
}

/// Places of the values that lie far away from all others, by their distance from the median; none of fewer than
/// `OUTLIERS_OF`, of which two may be alike by chance.
#[must_use]
pub fn outliers(values: &[f64]) -> Vec<usize> {
    if values.len() < OUTLIERS_OF {
        return Vec::new();
    }
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let usual = median(&distances).max(f64::EPSILON);
    let is_far = |at: &usize| distances[*at] / usual > OUTLIER && distances[*at] > OUTLIER_PART * middle;
    (0..values.len()).filter(is_far).collect()
}

/// Executions of one command in figures; times in ns, sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandFigures {
    /// Executions that the times count.
    pub count: usize,
    /// Measured ones that ended with another exit code than 0, by a signal, or did not start.
    pub failed: usize,
    /// Measured ones that iodyno ended, because the run was over.
    pub stopped: usize,
    /// Measured ones that were due and did not begin before the run was over.
    pub waiting: usize,
    /// Real time.
    pub real: Option<SampleFigures>,
    /// Mean CPU time in user mode; `None` where one of them is not known.
    pub user_ns: Option<f64>,
    /// Mean CPU time in the kernel.
    pub sys_ns: Option<f64>,
    /// Greatest resident memory of a process of any of them.
    pub max_rss_bytes: Option<f64>,
    /// Mean bytes that storage read for it.
    pub read_bytes: Option<f64>,
    /// Mean bytes that it wrote to storage.
    pub write_bytes: Option<f64>,
}

/// A number of each of these executions; `None` when one of them lacks it.
pub(super) fn values_of(rows: &[&CommandExecution], of: impl Fn(&CommandExecution) -> Option<i64>) -> Option<Vec<f64>> {
    rows.iter().map(|row| of(row).map(|value| value as f64)).collect()
}

impl CommandFigures {
    /// Of a command, over the executions that count.
    #[must_use]
    pub fn of(command: &MeasuredCommand) -> Self {
        let measured = || command.executions.iter().filter(|row| row.phase == LoadPhase::Measure);
        let ended = |ending: ExecutionEnding| measured().filter(|row| row.ending == ending).count();
        Self {
            failed: measured().filter(|row| has_failed(row)).count(),
            stopped: ended(ExecutionEnding::Stopped),
            waiting: ended(ExecutionEnding::Waiting),
            ..Self::over(&command.counted().collect::<Vec<_>>())
        }
    }

    /// Of its executions on the idle machine.
    #[must_use]
    pub fn idle(command: &MeasuredCommand) -> Self {
        Self::over(&command.baselines().collect::<Vec<_>>())
    }

    fn over(rows: &[&CommandExecution]) -> Self {
        debug_assert!(rows.iter().all(|row| has_succeeded(row)));
        let sample = |of: fn(&CommandExecution) -> Option<i64>| SampleFigures::of(&values_of(rows, of)?);
        let mean = |of| sample(of).map(|sample| sample.mean);
        Self {
            count: rows.len(),
            real: sample(|row| row.real_ns),
            user_ns: mean(|row| row.user_ns),
            sys_ns: mean(|row| row.sys_ns),
            max_rss_bytes: sample(|row| row.max_rss_bytes).map(|sample| sample.max),
            read_bytes: mean(|row| row.read_bytes),
            write_bytes: mean(|row| row.write_bytes),
            ..Self::default()
        }
    }

    /// CPU time ÷ real time, per cent of one CPU.
    #[must_use]
    pub fn cpu_percent(&self) -> Option<f64> {
        let real = self.real.filter(|real| real.mean > 0.0)?;
        Some(100.0 * (self.user_ns? + self.sys_ns?) / real.mean)
    }

    /// All that were measured, however they ended.
    #[must_use]
    pub fn measured(&self) -> usize {
        self.count + self.failed + self.stopped + self.waiting
    }
}

/// Real times that count, in their order, ns.
pub(super) fn real_times(command: &MeasuredCommand) -> Vec<f64> {
    command.executions.iter().filter(|row| is_counted(row)).filter_map(|row| row.real_ns).map(|ns| ns as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_by_hand() {
        // 10, 12, 14, 20: mean 14, squares 16 + 4 + 0 + 36 = 56, σ² = 56/3, t(3) = 3.182446305.
        let found = SampleFigures::of(&[12.0, 10.0, 20.0, 14.0]).unwrap();
        assert_eq!((found.mean, found.median, found.min, found.max, found.count), (14.0, 13.0, 10.0, 20.0, 4));
        let deviation = (56.0_f64 / 3.0).sqrt();
        assert!((found.deviation.unwrap() - deviation).abs() < 1e-12);
        assert!((found.half.unwrap() - 3.182_446_305 * deviation / 2.0).abs() < 1e-8);
        let one = SampleFigures::of(&[5.0]).unwrap();
        assert_eq!((one.median, one.deviation, one.half), (5.0, None, None));
        assert_eq!(SampleFigures::of(&[]), None);
    }

    #[test]
    fn far_values_are_outliers_and_near_ones_are_not() {
        assert_eq!(outliers(&[2.0, 1.0, 1.01, 0.99, 1.02]), [0]);
        assert!(outliers(&[1.1, 1.0, 1.05, 0.95, 1.02]).is_empty());
        assert!(outliers(&[1.0, 2.0]).is_empty() && outliers(&[]).is_empty());
    }
}
