//! What programs are at, live: stacks by how often they were seen.

use recording::rows::Profile;
use recording::{Label, RecordingError, RowBatch};
use std::collections::HashMap;

/// Who was seen where.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackOf {
    /// Process.
    pub pid: i64,
    /// Name of its thread.
    pub comm: Label,
    /// Functions of the program, `;` between them.
    pub user: Option<Label>,
    /// Functions of the kernel.
    pub kernel: Option<Label>,
}

impl StackOf {
    /// Both, the outermost first; functions of the kernel are marked, as tools for flame graphs know it.
    #[must_use]
    pub fn frames(&self) -> String {
        let mut out = self.user.as_deref().unwrap_or_default().to_string();
        for frame in self.kernel.as_deref().unwrap_or_default().split(';').filter(|frame| !frame.is_empty()) {
            if !out.is_empty() {
                out.push(';');
            }
            out.push_str(frame);
            out.push_str("_[k]");
        }
        if out.is_empty() { "[unknown]".to_string() } else { out }
    }
}

/// How often, and the CPU time that stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackSamples {
    /// Looks.
    pub samples: i64,
    /// CPU time, ns.
    pub cpu_ns: i64,
}

impl StackSamples {
    /// Adds both.
    pub fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.cpu_ns += other.cpu_ns;
    }
}

/// A process with its stacks, those seen most first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackGroup {
    /// Process.
    pub pid: i64,
    /// Name of that of its threads that was seen most.
    pub comm: String,
    /// Everything of it.
    pub all: StackSamples,
    /// Of that: in the kernel.
    pub kernel: StackSamples,
    /// Each.
    pub stacks: Vec<(StackOf, StackSamples)>,
}

/// Stacks of an interval, or of all of them.
#[derive(Debug, Default)]
pub struct StackFold {
    stacks: HashMap<StackOf, StackSamples>,
    all: StackSamples,
}

impl StackFold {
    /// Takes a batch of any table.
    ///
    /// # Errors
    /// A column is of another type than the catalogue says.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        for row in batch.to_rows::<Profile>()? {
            let seen = StackSamples { samples: row.samples, cpu_ns: row.cpu_ns };
            let of = StackOf { pid: row.pid, comm: row.comm, user: row.user, kernel: row.kernel };
            self.stacks.entry(of).or_default().add(seen);
            self.all.add(seen);
        }
        Ok(())
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Everything.
    #[must_use]
    pub fn all(&self) -> StackSamples {
        self.all
    }

    /// All stacks, those seen most first.
    #[must_use]
    pub fn stacks(&self) -> Vec<(&StackOf, StackSamples)> {
        let mut out: Vec<_> = self.stacks.iter().map(|(of, seen)| (of, *seen)).collect();
        out.sort_by(|a, b| b.1.samples.cmp(&a.1.samples).then_with(|| a.0.cmp(b.0)));
        out
    }

    /// Every process, the busiest first, with those of the `top` stacks that are its own, one at least.
    #[must_use]
    pub fn groups(&self, top: usize) -> Vec<StackGroup> {
        let mut groups: HashMap<i64, StackGroup> = HashMap::new();
        let mut threads: HashMap<(i64, &Label), i64> = HashMap::new();
        for (at, (of, seen)) in self.stacks().into_iter().enumerate() {
            let group = groups.entry(of.pid).or_insert_with(|| StackGroup { pid: of.pid, ..StackGroup::default() });
            group.all.add(seen);
            *threads.entry((of.pid, &of.comm)).or_default() += seen.samples;
            if of.kernel.is_some() {
                group.kernel.add(seen);
            }
            if at < top || group.stacks.is_empty() {
                group.stacks.push((of.clone(), seen));
            }
        }
        let mut threads: Vec<_> = threads.into_iter().collect();
        // The one that was seen most is the last that its process gets.
        threads.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
        for ((pid, comm), _) in threads {
            groups.entry(pid).and_modify(|group| group.comm = comm.to_string());
        }
        let mut out: Vec<StackGroup> = groups.into_values().collect();
        out.sort_by(|a, b| b.all.samples.cmp(&a.all.samples).then_with(|| a.pid.cmp(&b.pid)));
        out
    }

    /// A line for each: `name;outermost;…;innermost count`.
    #[must_use]
    pub fn folded(&self) -> Vec<String> {
        let mut sums: HashMap<String, i64> = HashMap::new();
        for (of, seen) in &self.stacks {
            // Spaces end a line's stack.
            let comm = of.comm.replace([';', ' '], "_");
            *sums.entry(format!("{comm};{}", of.frames())).or_default() += seen.samples;
        }
        let mut lines: Vec<String> = sums.into_iter().map(|(stack, count)| format!("{stack} {count}")).collect();
        lines.sort_unstable();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::{StackFold, StackOf};
    use recording::RowBatch;
    use recording::rows::Profile;

    fn row(pid: i64, user: Option<&str>, kernel: Option<&str>, samples: i64) -> Profile {
        Profile {
            t_ns: 1,
            t_s: 0.0,
            interval_ns: 1,
            pid,
            comm: "a b".into(),
            user: user.map(Into::into),
            kernel: kernel.map(Into::into),
            samples,
            cpu_ns: samples * 10,
            cpu: None,
        }
    }

    #[test]
    fn stacks_are_summed_and_folded() {
        let rows = [
            row(1, Some("main;work"), None, 30),
            row(1, Some("main;work"), None, 15),
            row(1, Some("main;read"), Some("do_syscall;vfs_read"), 10),
            row(2, None, Some("kthread"), 50),
            row(2, None, None, 1),
        ];
        let mut fold = StackFold::default();
        fold.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        assert_eq!((fold.all().samples, fold.all().cpu_ns), (106, 1060));
        let groups = fold.groups(2);
        assert_eq!(groups.iter().map(|group| group.pid).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((groups[0].all.samples, groups[0].kernel.samples, groups[0].stacks.len()), (55, 10, 1));
        assert_eq!(groups[0].stacks[0].0.frames(), "main;work");
        assert_eq!(
            fold.folded(),
            [
                "a_b;[unknown] 1",
                "a_b;kthread_[k] 50",
                "a_b;main;read;do_syscall_[k];vfs_read_[k] 10",
                "a_b;main;work 45"
            ]
        );
        let one = fold.groups(1);
        assert_eq!(one.iter().map(|group| group.stacks.len()).collect::<Vec<_>>(), [1, 1], "each has one");
        fold.clear();
        assert!(fold.stacks().is_empty());
        let thread = |comm: &str, user, samples| Profile { comm: comm.into(), ..row(3, Some(user), None, samples) };
        // Its stack that was seen most is not that of the thread that was.
        let rows = [thread("main", "a", 5), thread("pool", "b", 4), thread("pool", "c", 4)];
        fold.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        assert_eq!(fold.groups(1)[0].comm, "pool");
        let none = StackOf { pid: 1, comm: "x".into(), user: None, kernel: None };
        assert_eq!(none.frames(), "[unknown]");
    }
}
