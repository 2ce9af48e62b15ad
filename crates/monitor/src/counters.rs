//! Counters of the machine beside a load.
//!
//! CPU and the devices under the targets are read at the end of every interval; everything else (memory, pressure, network,
//! processes, …) at most once a second, since it costs milliseconds.

use collect::{CounterSampler, MachineReader, SubjectName};
use recording::{AvailabilityKind, RowBatch};
use std::path::{Path, PathBuf};
use trace::TraceError;

/// Shortest time between two samples of the rest, ns; a little less than a second, so that intervals of one have one each.
const REST_NS: u64 = 900_000_000;

/// Readers of counters.
#[derive(Debug)]
pub struct CounterReaders {
    sampler: CounterSampler,
    /// `None`: only what the load itself needs is wanted.
    machine: Option<MachineReader>,
    rest_at_ns: Option<u64>,
}

impl CounterReaders {
    /// For targets (name, path); `all`: of the whole machine.
    pub fn new(targets: &[(String, PathBuf)], all: bool) -> Self {
        let rest: Vec<SubjectName> = SubjectName::ALL
            .into_iter()
            .filter(|what| !matches!(what, SubjectName::Cpu | SubjectName::Disk | SubjectName::NfsMounts))
            .collect();
        Self {
            sampler: CounterSampler::new(targets),
            machine: all.then(|| MachineReader::new(&rest)),
            rest_at_ns: None,
        }
    }

    /// Where the counters stand before the first interval of a run.
    pub fn baseline(&mut self, t_ns: u64, t0_ns: u64) -> Vec<RowBatch> {
        self.rest_at_ns = None;
        self.sample(t_ns, t0_ns)
    }

    /// Reads what is due at `t_ns`; `t0_ns` is the recording's start.
    pub fn sample(&mut self, t_ns: u64, t0_ns: u64) -> Vec<RowBatch> {
        let mut batches = self.sampler.sample(t_ns, t0_ns);
        let is_due = self.rest_at_ns.is_none_or(|at_ns| t_ns.saturating_sub(at_ns) >= REST_NS);
        if let Some(machine) = self.machine.as_mut().filter(|_| is_due) {
            self.rest_at_ns = Some(t_ns);
            batches.extend(machine.sample(t_ns, t0_ns));
        }
        batches
    }
}

/// In the manifest: for each subject, whether this machine lets it be measured, and why not.
pub use rates::SUBJECTS;

/// The verdicts of now, for a manifest; with those of the `probes` that were wanted.
pub fn subjects(probes: impl IntoIterator<Item = (&'static str, String)>) -> serde_json::Value {
    let mut verdicts = collect::verdicts(Path::new("/"));
    verdicts.extend(probes.into_iter().map(|(subject, words)| (subject.to_string(), words)));
    serde_json::json!(verdicts)
}

/// The verdict of a probe that began, or did not.
pub(crate) fn verdict<T>(probe: Result<&T, &TraceError>) -> String {
    match probe {
        Ok(_) => AvailabilityKind::Works.to_string(),
        Err(error) => AvailabilityKind::Unsupported.because(error.to_string().lines().next().unwrap_or("?")),
    }
}

#[cfg(test)]
mod tests {
    use super::CounterReaders;
    use std::collections::BTreeSet;

    #[test]
    fn short_intervals_read_the_rest_once_a_second() {
        let tables = |counters: &mut CounterReaders, t_ns: u64| -> BTreeSet<&'static str> {
            counters.sample(t_ns, 0).iter().map(|batch| batch.table.name).collect()
        };
        let second = |tenths: u64| (1 << 60) + tenths * 100_000_000;
        let mut counters = CounterReaders::new(&[], true);
        assert!(!counters.baseline(second(0), 0).is_empty());
        for tenth in 1..9 {
            assert_eq!(tables(&mut counters, second(tenth)), BTreeSet::from(["cpu"]), "{tenth}");
        }
        assert!(tables(&mut counters, second(10)).is_superset(&["cpu", "memory", "net", "tcp"].into()));
        let mut few = CounterReaders::new(&[], false);
        assert_eq!(tables(&mut few, second(0)), BTreeSet::from(["cpu"]));
    }
}
