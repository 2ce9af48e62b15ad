//! What programs are at: the probe `profile` as rows.

use crate::counters::verdict;
use crate::event_cpu_time::{event, push};
use crate::numbers::signed;
use quantity::clock;
use recording::rows::Profile;
use recording::{AvailabilityKind, EventSeverity, Label, LossName, RecordingError, RowBatch};
use std::sync::Arc;
use trace::profile::ProfileTrace;
use trace::{ProbeCost, TraceError};

/// What is not in the rows, by the manifest's name.
pub(crate) type Losses = Vec<(LossName, u64)>;

/// What was lost since `before`, of the same things.
pub(crate) fn lost_since(before: &Losses, now: &Losses) -> Losses {
    let mut out = now.clone();
    out.iter_mut().zip(before).for_each(|((_, lost), (_, before))| *lost = lost.saturating_sub(*before));
    out
}

/// The probe, with what was said of it.
pub(crate) struct Profiler {
    /// Given up when it cannot be read.
    trace: Option<ProfileTrace>,
    /// Whether it is measured, and why not.
    verdict: String,
    /// The only one that is looked at.
    cpu: Option<u32>,
    period_ns: u64,
    /// End of the last interval.
    last_ns: u64,
    lost: u64,
    lost_stacks: u64,
    /// Said with the next sample.
    said: Vec<(EventSeverity, String)>,
}

impl Profiler {
    /// Begins to look, so often a second at each CPU.
    ///
    /// # Errors
    /// The kernel or a privilege does not allow it.
    pub(crate) fn start(hz: u32) -> Result<Self, TraceError> {
        Self::start_on(hz, None)
    }

    /// The same; where a CPU is named, no other is looked at.
    ///
    /// # Errors
    /// The kernel or a privilege does not allow it.
    pub(crate) fn start_on(hz: u32, cpu: Option<u32>) -> Result<Self, TraceError> {
        let trace = ProfileTrace::start_on(hz, cpu)?;
        let said = trace.words().map(|words| (EventSeverity::Info, words.to_string())).into_iter().collect();
        let (period_ns, last_ns) = (trace.period_ns(), clock::now_ns());
        let verdict = verdict(Ok(&trace));
        Ok(Self { trace: Some(trace), verdict, cpu, period_ns, last_ns, lost: 0, lost_stacks: 0, said })
    }

    /// The same for who has more to do: where it cannot be, the next sample says so.
    pub(crate) fn if_possible(hz: u32) -> Self {
        Self::start(hz).unwrap_or_else(|error| {
            let said = vec![(EventSeverity::Warning, format!("what programs are at is not recorded: {error}"))];
            let verdict = verdict::<()>(Err(&error));
            Self {
                trace: None,
                verdict,
                cpu: None,
                period_ns: 0,
                last_ns: clock::now_ns(),
                lost: 0,
                lost_stacks: 0,
                said,
            }
        })
    }

    /// For the manifest: its table, and whether that is measured.
    pub(crate) fn verdict(&self) -> (&'static str, String) {
        ("profile", self.verdict.clone())
    }

    /// Does it still look?
    pub(crate) fn is_on(&self) -> bool {
        self.trace.is_some()
    }

    /// When it began, and later the end of the last interval.
    pub(crate) fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// Looks that are in no row.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// For the manifest: what is not in the rows, or not whole there.
    pub(crate) fn losses(&self) -> Losses {
        vec![(LossName::ProfileTableFull, self.lost), (LossName::ProfileStacksFull, self.lost_stacks)]
    }

    /// What the program in the kernel costs so far, while BPF statistics are enabled.
    pub(crate) fn cost(&self) -> ProbeCost {
        self.trace.as_ref().map(ProfileTrace::cost).unwrap_or_default()
    }

    /// Rows of what was seen since the last time; a probe that cannot be read any more is given up, which is said.
    ///
    /// # Errors
    /// Does not happen with rows of the catalogue.
    pub(crate) fn sample(&mut self, origin_ns: u64) -> Result<Vec<RowBatch>, RecordingError> {
        let mut batches = Vec::new();
        // Before it is read: names of what is new take a while, in which the next interval runs already.
        let t_ns = clock::now_ns();
        let read = self.trace.as_mut().map(ProfileTrace::read);
        let interval_ns = signed(t_ns.saturating_sub(self.last_ns));
        let at = (signed(t_ns), t_ns.saturating_sub(origin_ns) as f64 / 1e9);
        match read {
            Some(Ok(profile)) => {
                let label = |text: &Option<Arc<str>>| text.clone().map(Label);
                let row = |one: &trace::profile::StackCount| Profile {
                    t_ns: at.0,
                    t_s: at.1,
                    interval_ns,
                    pid: i64::from(one.pid),
                    comm: Label(Arc::clone(&one.comm)),
                    user: label(&one.user),
                    kernel: label(&one.kernel),
                    samples: signed(one.count),
                    cpu_ns: signed(one.count.saturating_mul(self.period_ns)),
                    cpu: self.cpu.and_then(|cpu| i32::try_from(cpu).ok()),
                };
                push(&mut batches, &profile.stacks.iter().map(row).collect::<Vec<_>>())?;
                let (new, new_stacks) = (profile.lost - self.lost, profile.lost_stacks - self.lost_stacks);
                (self.lost, self.lost_stacks) = (profile.lost, profile.lost_stacks);
                if new > 0 {
                    self.said.push((
                        EventSeverity::Error,
                        format!("{new} looks at stacks are in no row: the probe's table is full"),
                    ));
                }
                if new_stacks > 0 {
                    self.said.push((
                        EventSeverity::Warning,
                        format!("{new_stacks} stacks are not known: the probe's table is full"),
                    ));
                }
            }
            Some(Err(error)) => {
                self.trace = None;
                self.verdict = AvailabilityKind::Broken.because(&error);
                self.said.push((EventSeverity::Warning, error.to_string()));
            }
            None => {}
        }
        self.last_ns = t_ns;
        let events: Vec<_> = self.said.drain(..).map(|(severity, message)| event(severity, message, at)).collect();
        push(&mut batches, &events)?;
        Ok(batches)
    }
}

#[cfg(test)]
mod tests {
    use super::{LossName, Profiler, lost_since};
    use quantity::clock;
    use recording::rows::Profile;

    #[test]
    fn each_day_has_its_own_losses() {
        let (a, b) = (|| LossName::ProfileTableFull, || LossName::ProfileStacksFull);
        let (first, second) = (vec![(a(), 5), (b(), 0)], vec![(a(), 7), (b(), 1)]);
        assert_eq!(lost_since(&vec![(a(), 0), (b(), 0)], &first), first);
        assert_eq!(lost_since(&first, &second), [(a(), 2), (b(), 1)]);
    }

    #[test]
    fn an_interval_ends_where_it_is_read() {
        let started = Profiler::start(999);
        if started.is_err() && !rustix::process::geteuid().is_root() {
            testkit::lacks("root");
            return;
        }
        let mut profiler = started.unwrap();
        // Repeated if another task had the CPU between two looks at the clock: one that ended where the names are found
        // would be late each time.
        let mut seen = Vec::new();
        for _ in 0..20 {
            // Of its own time, so that it is looked at.
            let until_ns = clock::thread_cpu_ns() + 300_000_000;
            while clock::thread_cpu_ns() < until_ns {}
            let before_ns = clock::now_ns();
            let batches = profiler.sample(0).unwrap();
            let after_ns = clock::now_ns();
            let rows: Vec<Profile> = batches.iter().flat_map(|batch| batch.to_rows::<Profile>().unwrap()).collect();
            let end_ns = u64::try_from(rows[0].t_ns).unwrap();
            assert!(end_ns >= before_ns && end_ns <= after_ns, "{before_ns} {end_ns} {after_ns}");
            // Names of this program alone take longer than the beginning of the call; they are found once.
            if end_ns - before_ns < (after_ns - before_ns) / 2 {
                return;
            }
            seen.push((before_ns, end_ns, after_ns));
            profiler = Profiler::start(999).unwrap();
        }
        panic!("{seen:?}");
    }
}
