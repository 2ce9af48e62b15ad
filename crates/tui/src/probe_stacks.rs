//! `iodyno probe stacks`: fed with batches of the table `profile`.

use crate::ProbeLook;
use crate::probe::{Clock, SCHEMA, WIDTH, began, write};
use quantity::output::VisibleOutput;
use quantity::text::{format_count, format_ns};
use quantity::visible::visible;
use recording::{RecordingError, RowBatch, Sink};
use serde_json::json;
use std::io::Write;
use workload::probe::{StackFold, StackSamples};

/// Stacks of each interval, and of all.
pub struct StackLines<W: Write> {
    out: VisibleOutput<W>,
    look: ProbeLook,
    /// Nothing but folded lines, at the end.
    is_folded: bool,
    now: StackFold,
    all: StackFold,
    clock: Clock,
}

impl<W: Write> StackLines<W> {
    /// Writes to `out`; folded: lines for tools that draw flame graphs, at the end.
    pub fn new(out: VisibleOutput<W>, look: ProbeLook, is_folded: bool) -> Self {
        let (now, all) = (StackFold::default(), StackFold::default());
        Self { out: look.form(out), look, is_folded, now, all, clock: Clock::default() }
    }

    /// Everything, when there was more than one interval, or folded.
    ///
    /// # Errors
    /// It could not be written.
    pub fn finish(&mut self) -> Result<(), RecordingError> {
        if self.is_folded {
            return write(&mut self.out, &self.all.folded());
        }
        if self.clock.intervals < 2 && !self.look.json {
            return Ok(());
        }
        let lines = self.lines(&self.all, self.clock.elapsed_ns() as f64 / 1e9, true);
        write(&mut self.out, &lines)
    }

    fn lines(&self, fold: &StackFold, length_s: f64, is_total: bool) -> Vec<String> {
        let of_cpu = |seen: StackSamples| if length_s > 0.0 { seen.cpu_ns as f64 / length_s / 1e7 } else { 0.0 };
        if self.look.json {
            let row = |(of, seen): (&workload::probe::StackOf, StackSamples)| {
                json!({"pid": of.pid, "comm": &*of.comm, "user": of.user.as_deref(), "kernel": of.kernel.as_deref(),
                    "samples": seen.samples, "cpu_percent": of_cpu(seen)})
            };
            let stacks: Vec<_> = fold.stacks().into_iter().map(row).collect();
            let elapsed_s = self.clock.elapsed_ns() as f64 / 1e9;
            let mut object = json!({"schema": SCHEMA, "probe": "stacks", "elapsed_s": elapsed_s, "interval_s": length_s,
                "samples": fold.all().samples, "stacks": stacks});
            if is_total {
                object["total"] = true.into();
            }
            return vec![object.to_string()];
        }
        let when = if is_total { "all of" } else { "elapsed" };
        let samples = format_count(fold.all().samples as f64);
        let mut lines =
            vec![format!("{when} {}: {samples} samples hit a running task", format_ns(self.clock.elapsed_ns()))];
        let groups = fold.groups(self.look.top);
        let (shown, others) = groups.split_at(self.look.top.min(groups.len()));
        for group in shown {
            let share = |part: StackSamples| 100.0 * part.samples as f64 / group.all.samples.max(1) as f64;
            lines.push(String::new());
            lines.push(format!(
                "{} {}: {:.1} % of one CPU, {:.0} % of that in the kernel",
                group.pid,
                visible(&group.comm),
                of_cpu(group.all),
                share(group.kernel)
            ));
            for (of, seen) in &group.stacks {
                let begin = format!("{:>7.1} %  ", share(*seen));
                let room = WIDTH - begin.chars().count();
                lines.push(begin + &ending(&visible(&of.frames()), room));
            }
        }
        if !others.is_empty() {
            let mut rest = StackSamples::default();
            others.iter().for_each(|group| rest.add(group.all));
            let processes = if others.len() == 1 { "process" } else { "processes" };
            lines.push(String::new());
            lines.push(format!("and {} other {processes}: {:.1} % of one CPU", others.len(), of_cpu(rest)));
        }
        lines.push(String::new());
        lines
    }
}

/// The end of a stack is where the program is: what has no room is left out before it.
fn ending(stack: &str, room: usize) -> String {
    let length = stack.chars().count();
    if length <= room {
        return stack.to_string();
    }
    let rest: String = stack.chars().skip(length + 1 - room).collect();
    format!("…{rest}")
}

impl<W: Write> Sink for StackLines<W> {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.accept(batch)?;
        self.all.accept(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        let lap = self.clock.lap();
        let shown = lap.filter(|_| !self.is_folded).map(|length_s| self.lines(&self.now, length_s, false));
        self.now.clear();
        match (shown, lap) {
            (Some(lines), _) => write(&mut self.out, &lines),
            (None, None) if !self.is_folded => began(&mut self.out, self.look),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{StackLines, ending};
    use crate::ProbeLook;
    use quantity::output::VisibleOutput;
    use recording::RowBatch;
    use recording::rows::Profile;
    use workload::probe::StackFold;

    #[test]
    fn processes_are_chosen_by_all_of_theirs_and_the_others_are_summed() {
        // One with many small stacks, and three with a large one each.
        let row = |pid: i64, user: String, samples: i64| Profile {
            t_ns: 1,
            t_s: 0.0,
            interval_ns: 1,
            pid,
            comm: format!("p{pid}").as_str().into(),
            user: Some(user.as_str().into()),
            samples,
            cpu_ns: samples * 10_000_000,
            ..Profile::default()
        };
        let mut rows: Vec<Profile> = (0..50).map(|at| row(1, format!("small{at}"), 1)).collect();
        rows.extend([(2, 30), (3, 20), (4, 10)].map(|(pid, samples)| row(pid, format!("large{pid}"), samples)));
        let mut fold = StackFold::default();
        fold.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        let shown = |top: usize| {
            let look = ProbeLook { json: false, top };
            StackLines::new(VisibleOutput::new(Vec::new()), look, false).lines(&fold, 1.0, false).join("\n")
        };
        let text = shown(2);
        assert!(text.contains("1 p1: 50.0 % of one CPU") && text.contains("2.0 %  small0"), "{text}");
        assert!(text.contains("2 p2: 30.0 % of one CPU") && !text.contains("p3"), "{text}");
        assert!(text.ends_with("and 2 other processes: 30.0 % of one CPU\n"), "{text}");
        assert!(shown(3).contains("and 1 other process: 10.0 % of one CPU"));
        assert!(!shown(4).contains("other"));
    }

    #[test]
    fn the_leaf_stays() {
        assert_eq!(ending("main;work", 9), "main;work");
        assert_eq!(ending("main;work", 6), "…;work");
    }
}
