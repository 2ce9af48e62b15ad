//! Where a process is when it has the CPU: the last step from device to file to process to function.

use super::{DrillTarget, Grid, PageScene, PageSheet};
use rates::stat::CounterSubject;
use recording::rows::Profile;
use std::collections::HashMap;
use workload::probe::{StackOf, StackSamples};

/// A first row that covers less of its moment than this began within it, when the profiler was started.
const WHOLE: f64 = 0.9;
/// Stacks on the page of a process; the rest stands for little.
const STACKS_MAX: usize = 40;

impl PageScene<'_> {
    /// The stacks of a process in the last ten seconds, those seen most first, each with its innermost function in front.
    pub(super) fn stacks(&self, pid: i64) -> Grid {
        let mut grid =
            Grid::new("where it is when it has a CPU, last 10 s (innermost ← caller)", &["", "cpu%", "looks"]);
        let (sums, seconds) = self.seen(pid);
        let mut ranked: Vec<(&String, &StackSamples)> = sums.iter().collect();
        ranked.sort_by(|a, b| b.1.samples.cmp(&a.1.samples).then_with(|| a.0.cmp(b.0)));
        for (frames, seen) in ranked.into_iter().take(STACKS_MAX) {
            let inside_out: Vec<&str> = frames.rsplit(';').collect();
            let cells = vec![inside_out.join(" ← "), cpu_percent(*seen, seconds), seen.samples.to_string()];
            grid.push(cells, DrillTarget::Sheet(PageSheet::Stack(pid, frames.clone())));
        }
        if grid.rows.is_empty() {
            let idle = "not seen on a CPU in this time";
            grid.note = Some(self.no_stacks.unwrap_or(idle).to_string());
        }
        grid
    }

    /// One stack, function by function.
    pub(super) fn stack(&self, pid: i64, frames: &str) -> Vec<Grid> {
        let (sums, seconds) = self.seen(pid);
        let seen = sums.get(frames).copied().unwrap_or_default();
        let block = self.now().and_then(|now| now.block(CounterSubject::Process));
        let is_it = |row: &&rates::stat::StatRow| block.and_then(|block| block.value(row, "pid")) == Some(pid as f64);
        let name = block.and_then(|block| block.rows.iter().find(is_it)).map_or("process", |row| row.name.as_str());
        let title = format!("{name} {pid}: {} % of a CPU here in the last 10 s", cpu_percent(seen, seconds));
        let mut grid = Grid::new(title, &["function, innermost first", "of"]);
        for frame in frames.rsplit(';') {
            let (function, of) = frame.strip_suffix("_[k]").map_or((frame, "program"), |function| (function, "kernel"));
            grid.push(vec![function.to_string(), of.to_string()], DrillTarget::Nothing);
        }
        vec![grid]
    }

    /// A process's stacks in the last ten seconds, outermost function first, and the seconds that were looked at.
    fn seen(&self, pid: i64) -> (HashMap<String, StackSamples>, f64) {
        let mut sums: HashMap<String, StackSamples> = HashMap::new();
        let seconds = self.each_look(None, |row| {
            if row.pid == pid {
                let of = StackOf { pid, comm: row.comm.clone(), user: row.user.clone(), kernel: row.kernel.clone() };
                let seen = StackSamples { samples: row.samples, cpu_ns: row.cpu_ns };
                sums.entry(of.frames()).or_default().add(seen);
            }
        });
        (sums, seconds)
    }

    /// Gives to `take` what was seen in the last ten seconds while only this CPU, or for `None` every one, was looked at;
    /// gives the seconds of that.
    pub(super) fn each_look(&self, cpu: Option<i32>, mut take: impl FnMut(&Profile)) -> f64 {
        let from_ns = self.lately().next().map_or(i64::MAX, |first| first.t_ns);
        let mut looked = None;
        // `unseen_s`: since the last row. No sample hit a task, or the profiler was off: the next row shows which.
        let (mut seconds, mut unseen_s) = (0.0, 0.0);
        for moment in self.moments {
            let is_late = moment.t_ns >= from_ns;
            let Some(first) = moment.stacks.first() else {
                if is_late && looked == Some(cpu) {
                    unseen_s += moment.seconds;
                }
                continue;
            };
            let interval_s = first.interval_ns as f64 / 1e9;
            let begins = looked.replace(first.cpu) != Some(first.cpu) || interval_s < WHOLE * moment.seconds;
            let before_s = std::mem::take(&mut unseen_s);
            if is_late && first.cpu == cpu {
                seconds += if begins { interval_s } else { before_s + moment.seconds };
                moment.stacks.iter().filter(|row| row.cpu == cpu).for_each(&mut take);
            }
        }
        seconds + unseen_s
    }
}

/// Of one CPU.
pub(super) fn cpu_percent(seen: StackSamples, seconds: f64) -> String {
    if seconds > 0.0 { format!("{:.1}", seen.cpu_ns as f64 / 1e7 / seconds) } else { "?".to_string() }
}

#[cfg(test)]
mod tests {
    use crate::{DrillTarget, PageInterval, PageScene, PageSheet};
    use recording::rows::Profile;

    fn row(pid: i64, user: Option<&str>, kernel: Option<&str>, samples: i64) -> Profile {
        Profile {
            t_ns: 1,
            t_s: 0.0,
            interval_ns: 1_000_000_000,
            pid,
            comm: "db".into(),
            user: user.map(Into::into),
            kernel: kernel.map(Into::into),
            samples,
            cpu_ns: samples * 10_000_000,
            cpu: None,
        }
    }

    #[test]
    fn stacks_of_ten_seconds_are_summed_by_process_and_lead_to_their_functions() {
        let moment = |t_s: i64, stacks| {
            let mut moment = PageInterval::default();
            (moment.t_ns, moment.seconds, moment.stacks) = (t_s * 1_000_000_000, 1.0, stacks);
            moment
        };
        let read = || row(7, Some("main;read"), Some("vfs_read"), 30);
        let moments = [
            moment(1, vec![row(7, Some("old"), None, 99)]),
            // The profiler ran, and no sample hit a task.
            moment(13, Vec::new()),
            moment(14, vec![read(), row(8, Some("other"), None, 50)]),
            moment(15, vec![read(), row(7, Some("main;work"), None, 20)]),
        ];
        let verdicts = rates::Availability::default();
        let scene = PageScene::of(&moments, &verdicts);
        let grid = scene.stacks(7);
        let cells: Vec<_> = grid.rows.iter().map(|row| row.cells.join("|")).collect();
        assert_eq!(cells, ["vfs_read_[k] ← read ← main|20.0|60", "work ← main|6.7|20"]);
        let DrillTarget::Sheet(PageSheet::Stack(7, frames)) = &grid.rows[0].drill else { panic!("{:?}", grid.rows[0]) };
        let page = scene.stack(7, frames);
        assert!(page[0].title.contains("20.0 % of a CPU"), "{}", page[0].title);
        let functions: Vec<_> = page[0].rows.iter().map(|row| row.cells.join(" ")).collect();
        assert_eq!(functions, ["vfs_read kernel", "read program", "main program"]);
        assert_eq!(scene.stacks(9).note.as_deref(), Some("not seen on a CPU in this time"));
        let fresh = PageScene { moments: &moments[2..], ..scene };
        assert_eq!(fresh.stacks(7).rows[0].cells[1], "30.0", "the time before the profiler ran does not count");
        let mut again = moments.clone();
        again[2].stacks.iter_mut().for_each(|row| row.interval_ns = 400_000_000);
        let away = PageScene { moments: &again, ..scene };
        // 0.6 s in 1.4 s: in the second without rows, and at the beginning of the next one, the profiler was off.
        assert_eq!(away.stacks(7).rows[0].cells[1], "42.9", "the page was left and opened again");
        let missing = PageScene { no_stacks: Some("needs root"), ..scene };
        assert_eq!(missing.stacks(9).note.as_deref(), Some("needs root"));
    }
}
