//! `iodyno probe stacks`: fed with batches of the table `profile`.

use crate::ProbeLook;
use crate::probe::{Clock, SCHEMA, WIDTH, began, write};
use analyze::{Seen, StackFold};
use quantity::text::{format_count, format_ns};
use recording::{Batch, RecordingError, Sink};
use serde_json::json;
use std::io::Write;

/// Stacks of each interval, and of all.
pub struct StackLines<W> {
    out: W,
    look: ProbeLook,
    /// Nothing but folded lines, at the end.
    is_folded: bool,
    now: StackFold,
    all: StackFold,
    clock: Clock,
}

impl<W: Write> StackLines<W> {
    /// Writes to `out`; folded: lines for tools that draw flame graphs, at the end.
    pub fn new(out: W, look: ProbeLook, is_folded: bool) -> Self {
        let (now, all) = (StackFold::default(), StackFold::default());
        Self { out, look, is_folded, now, all, clock: Clock::default() }
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
        let of_cpu = |seen: Seen| if length_s > 0.0 { seen.cpu_ns as f64 / length_s / 1e7 } else { 0.0 };
        if self.look.json {
            let row = |(of, seen): (&analyze::StackOf, Seen)| {
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
        let looks = format_count(fold.all().samples as f64);
        let mut lines = vec![format!("{when} {}: somebody ran at {looks} looks", format_ns(self.clock.elapsed_ns()))];
        for group in fold.groups(self.look.top) {
            let share = |part: Seen| 100.0 * part.samples as f64 / group.all.samples.max(1) as f64;
            lines.push(String::new());
            lines.push(format!(
                "{} {}: {:.1} % of one CPU, {:.0} % of that in the kernel",
                group.pid,
                group.comm,
                of_cpu(group.all),
                share(group.kernel)
            ));
            for (of, seen) in &group.stacks {
                let begin = format!("{:>7.1} %  ", share(*seen));
                let room = WIDTH - begin.chars().count();
                lines.push(begin + &ending(&of.frames(), room));
            }
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
    fn accept(&mut self, batch: &Batch) -> Result<(), RecordingError> {
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
    use super::ending;

    #[test]
    fn the_leaf_stays() {
        assert_eq!(ending("main;work", 9), "main;work");
        assert_eq!(ending("main;work", 6), "…;work");
    }
}
