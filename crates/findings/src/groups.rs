//! From rows of control groups to what rules look at.

use super::interval_sample::GroupUse;
use super::samples::{FORGET_NS, KNOWN};
use rates::counter::CounterStep;
use recording::rows::Cgroup;
use recording::{Label, RecordingError, RowBatch};
use std::collections::HashMap;

/// Rows since the last moment, and the last one of each group. There are rows only of groups that did something, and those
/// may be looked at more rarely than the rest, so each is compared with its own last row.
#[derive(Debug, Default)]
pub(super) struct Groups {
    before: HashMap<Label, Cgroup>,
    now: Vec<Cgroup>,
}

impl Groups {
    /// Takes a batch of the table.
    pub(super) fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.extend(batch.to_rows::<Cgroup>()?);
        Ok(())
    }

    /// What came since the last call.
    pub(super) fn take(&mut self) -> Vec<GroupUse> {
        let newest_ns = self.now.iter().map(|row| row.t_ns).max().unwrap_or(0);
        let mut found = Vec::new();
        for row in self.now.drain(..) {
            let was = self.before.insert(row.path.clone(), row.clone());
            found.extend(group_use(row, was.as_ref()));
        }
        if self.before.len() > KNOWN {
            self.before.retain(|_, row| newest_ns - row.t_ns < FORGET_NS);
        }
        found
    }
}

/// `None` without a limit of its own. Above `memory.high` a group is made to free memory, so its page cache has no more room
/// than below `memory.max`.
fn group_use(row: Cgroup, was: Option<&Cgroup>) -> Option<GroupUse> {
    let limit_bytes = [row.memory_max_bytes, row.memory_high_bytes].into_iter().flatten().min()?;
    let memory_bytes = row.memory_bytes?;
    let step = was.map(|was| CounterStep::between(&row, was, |row| row.t_ns));
    let since = |of: fn(&Cgroup) -> Option<i64>| step.as_ref()?.delta_opt(of);
    Some(GroupUse {
        seconds: step.as_ref().map_or(0.0, |step| step.seconds),
        memory_bytes: memory_bytes as f64,
        cached_bytes: row.file_bytes? as f64,
        free_bytes: (limit_bytes - memory_bytes).max(0) as f64,
        high_bytes: row.memory_high_bytes.map(|bytes| bytes as f64),
        held: since(|row| row.memory_high_events),
        some_s: since(|row| row.memory_some_ns).map(|ns| ns / 1e9),
        full_s: since(|row| row.memory_full_ns).map(|ns| ns / 1e9),
        path: row.path.clone(),
    })
}
