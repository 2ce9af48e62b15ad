//! Which jobs found data that was not what had been written, in fio's words: `EILSEQ`.

use recording::rows::{DataError, Phase};
use recording::{LoadPhase, Reader, RecordingError};
use std::collections::{BTreeMap, BTreeSet};

/// What fio gives a job whose verification found damage: `EILSEQ`.
pub(super) const EILSEQ: i32 = 84;

/// In the manifest: of each validated target by its name, the number by which it is known in stamps, and the bytes of a block. Targets
/// that are the same file or device have the same number.
pub const VALIDATION_TARGETS: &str = "validation_targets";

/// Damaged blocks by where they were found.
#[derive(Debug, Default)]
pub(super) struct DamagedTargets {
    /// By name: what a target is known by.
    numbers: BTreeMap<String, String>,
    /// Position of a run and target: found by the run itself.
    by_runs: BTreeMap<(i32, String), u64>,
    /// Target: found by the reading at the end, which is no job's own.
    at_the_end: BTreeMap<String, u64>,
}

impl DamagedTargets {
    pub(super) fn read(reader: &Reader) -> Result<Self, RecordingError> {
        let rows = reader.table::<DataError>()?;
        if rows.is_empty() {
            return Ok(Self::default());
        }
        let phases = reader.table::<Phase>()?;
        let readings = phases.iter().filter(|row| row.phase == LoadPhase::Verify);
        let readings: BTreeSet<i32> = readings.map(|row| row.run_index).collect();
        let known = reader.manifest().extra.get(VALIDATION_TARGETS).and_then(|known| known.as_object());
        let number =
            |(name, known): (&String, &serde_json::Value)| Some((name.clone(), known["device"].as_str()?.to_string()));
        let mut found = Self { numbers: known.into_iter().flatten().filter_map(number).collect(), ..Self::default() };
        for row in rows {
            let target = found.known_by(&row.target);
            *match readings.contains(&row.run_index) {
                true => found.at_the_end.entry(target).or_default(),
                false => found.by_runs.entry((row.run_index, target)).or_default(),
            } += 1;
        }
        Ok(found)
    }

    fn known_by(&self, name: &str) -> String {
        self.numbers.get(name).map_or(name, String::as_str).to_string()
    }

    /// Damaged blocks on the targets of a job: those that its run found, and where it wrote, those of the reading at the end.
    pub(super) fn of_job(&self, run_index: i32, targets: &BTreeSet<String>, has_written: bool) -> u64 {
        let targets: BTreeSet<String> = targets.iter().map(|target| self.known_by(target)).collect();
        let own = |target: &String| self.by_runs.get(&(run_index, target.clone())).copied().unwrap_or(0);
        let later = |target: &String| self.at_the_end.get(target).copied().filter(|_| has_written).unwrap_or(0);
        targets.iter().map(|target| own(target) + later(target)).sum()
    }
}
