//! Reads a recording once and keeps one line per interval.

use super::figures::{CpuShare, Figures, Side, Times, is_measured, known};
use super::file_figures::{self, FileRun, FileRuns};
use super::{REQUESTED, RequestedLoad};
use crate::ToolOutputError;
use quantity::histogram::Histogram;
use quantity::text::format_ns;
use rates::CpuPoint;
use rates::base_title;
use recording::rows::{Cpu, EngineInterval, OpInterval, Phase, RunEnd, RunTotal};
use recording::{LoadPhase, Manifest, PhaseEdge, Reader, RecordingError, Row};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that the files say.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) manifest: Manifest,
    pub(super) runs: Vec<Run>,
    /// Targets and workloads, in alphabetical order.
    pub(super) targets: Vec<String>,
    pub(super) workloads: Vec<String>,
    /// Kinds of operations that only trees of files have, of those that were asked for.
    pub(super) file_kinds: BTreeSet<String>,
    /// What the runs did in trees; `None` when the recording knows of none.
    pub(super) files: Option<FileRuns>,
}

/// One run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) index: i32,
    /// One word, as Vdbench prints it.
    pub(super) name: String,
    /// Loop variables.
    pub(super) detail: String,
    /// Arrivals per second that were asked for; `None` at full speed.
    pub(super) offered: Option<f64>,
    pub(super) requested: RequestedLoad,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) lines: Vec<Line>,
    /// The measured intervals together, with the number of the first and the last.
    pub(super) average: Option<(usize, usize, Figures)>,
    /// Response times of reads and writes in the measured phase.
    pub(super) totals: [Histogram; 2],
    /// Phases with their begin and end.
    phases: Vec<(LoadPhase, i64, i64)>,
    /// End of the warm-up, when there was one.
    pub(super) warm_ns: Option<i64>,
    /// What of the averages is a lower bound, in words; `None` when nothing is.
    pub(super) remark: Option<String>,
}

/// What of a run had no end.
#[derive(Debug, Default)]
struct End {
    /// The phase in which its load ended, where that is known.
    phase: LoadPhase,
    count: i64,
    oldest_ns: u64,
    /// Ages of reads and writes.
    ages: [Histogram; 2],
}

impl End {
    fn add(&mut self, row: &RunEnd) {
        self.phase.clone_from(&row.phase);
        self.count += row.in_flight + row.waiting;
        for ages in [&row.in_flight_age, &row.waiting_age] {
            self.oldest_ns = self.oldest_ns.max(ages.max().unwrap_or(0));
            if let Some(side) = side_of(&row.op) {
                self.ages[side].merge(ages);
            }
        }
    }

    fn remark(&self) -> Option<String> {
        (self.count > 0).then(|| {
            format!(
                "{} operation(s) had no end when the run did, the oldest was due for {}: response times of the average are lower \
                 bounds",
                self.count,
                format_ns(self.oldest_ns)
            )
        })
    }
}

/// One interval.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) t_ns: i64,
    measured: bool,
    pub(super) figures: Figures,
}

/// What is being added up.
struct Open {
    run_index: i32,
    t_ns: i64,
    interval_ns: i64,
    phase: LoadPhase,
    depth: Option<f64>,
    sides: [(Side, Histogram); 2],
}

impl Facts {
    pub(super) fn read(reader: &Reader) -> Result<Self, ToolOutputError> {
        let mut facts = Self {
            manifest: reader.manifest().clone(),
            runs: Vec::new(),
            targets: Vec::new(),
            workloads: Vec::new(),
            file_kinds: BTreeSet::new(),
            files: None,
        };
        let mut runs: BTreeMap<i32, Run> = BTreeMap::new();
        for row in reader.table::<Phase>()? {
            let run = runs.entry(row.run_index).or_default();
            run.name.clone_from(&row.run);
            run.detail = row.detail;
            run.offered = row.offered_rate;
            if run.start_ns == 0 || row.t_ns < run.start_ns {
                run.start_ns = row.t_ns;
            }
            run.end_ns = run.end_ns.max(row.t_ns);
            if row.phase == LoadPhase::Warmup && row.event == PhaseEdge::End {
                run.warm_ns = Some(row.t_ns);
            }
            match &row.event {
                PhaseEdge::Start => run.phases.push((row.phase, row.t_ns, i64::MAX)),
                _ => run.phases.iter_mut().rev().take(1).for_each(|phase| phase.2 = row.t_ns),
            }
        }
        let all = reader.rows::<Cpu>()?.filter(|row| row.as_ref().map_or(true, |row| row.cpu == "all"));
        let cpu = all.collect::<Result<Vec<Cpu>, RecordingError>>()?;
        facts.intervals(reader, &mut runs, &cpu)?;
        facts.files = file_figures::read(reader, !facts.file_kinds.is_empty())?;
        idle_intervals(reader, &mut runs, &cpu)?;
        let mut ends: BTreeMap<i32, End> = BTreeMap::new();
        for row in reader.table::<RunEnd>()? {
            ends.entry(row.run_index).or_default().add(&row);
        }
        ends.retain(|_, end| is_measured(&end.phase));
        let mut exact = exact_totals(reader, &ends)?;
        let shares = rates::cpu(cpu.into_iter(), None);
        let requested = requested(&facts.manifest);
        for (index, run) in &mut runs {
            run.index = *index;
            run.finish(exact.remove(index), &shares);
            run.remark = ends.get(index).and_then(End::remark);
            let base = base_title(&run.name);
            let found = requested.iter().find(|found| found.run == base && found.detail == run.detail);
            run.requested = found.cloned().unwrap_or_default();
            run.offered = run.offered.filter(|_| !run.requested.max);
            run.name = name_of(&run.name);
        }
        facts.runs = runs.into_values().collect();
        Ok(facts)
    }

    /// One pass over `op_interval`; rows of an interval stand together.
    fn intervals(
        &mut self,
        reader: &Reader,
        runs: &mut BTreeMap<i32, Run>,
        cpu: &[Cpu],
    ) -> Result<(), ToolOutputError> {
        let (mut targets, mut workloads) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        let mut open: Option<Open> = None;
        for batch in reader.batches(OpInterval::TABLE.name)? {
            for row in OpInterval::from_batch(&batch?)? {
                if row.phase == LoadPhase::Drain {
                    continue;
                }
                targets.insert(row.target.clone());
                workloads.insert(row.workload.clone());
                if rates::is_of_trees(&row.op) && !self.file_kinds.contains(&row.op) {
                    self.file_kinds.insert(row.op.clone());
                }
                let same = |open: &Open| open.run_index == row.run_index && open.t_ns == row.t_ns;
                if !open.as_ref().is_some_and(same) {
                    close(open.take(), runs, cpu);
                    let run = runs.entry(row.run_index).or_default();
                    if run.name.is_empty() {
                        run.name.clone_from(&row.run);
                    }
                    open = Some(Open {
                        run_index: row.run_index,
                        t_ns: row.t_ns,
                        interval_ns: row.interval_ns,
                        phase: row.phase.clone(),
                        depth: Some(0.0),
                        sides: Default::default(),
                    });
                }
                let Some(open) = open.as_mut() else { continue };
                open.depth = open.depth.zip(row.in_flight_mean).map(|(sum, depth)| sum + depth);
                if let Some(side) = side_of(&row.op) {
                    let side = &mut open.sides[side];
                    side.0.ops += row.ops;
                    side.0.bytes += row.bytes;
                    side.1.merge(known(&row.response, &row.service));
                }
            }
        }
        close(open, runs, cpu);
        self.targets = targets.into_iter().collect();
        self.workloads = workloads.into_iter().collect();
        Ok(())
    }

    /// What a run did in trees; `None` in a recording without trees.
    pub(super) fn files_of(&self, run: &Run) -> Option<&FileRun> {
        self.files.as_ref()?.get(&run.index)
    }
}

/// Intervals in which nothing arrived and nothing was in flight: `op_interval` has no row of them, the engine has. Those of
/// the drain, which is no phase, are left out.
fn idle_intervals(reader: &Reader, runs: &mut BTreeMap<i32, Run>, cpu: &[Cpu]) -> Result<(), ToolOutputError> {
    let lines = |(index, run): (&i32, &Run)| run.lines.iter().map(|line| (*index, line.t_ns)).collect::<Vec<_>>();
    let mut known: BTreeSet<(i32, i64)> = runs.iter().flat_map(lines).collect();
    for row in reader.rows::<EngineInterval>()? {
        let row = row?;
        let Some(run) = runs.get_mut(&row.run_index) else { continue };
        let span = run.phases.iter().find(|(_, from_ns, to_ns)| row.t_ns > *from_ns && row.t_ns <= *to_ns);
        let Some((phase, ..)) = span else { continue };
        if known.insert((row.run_index, row.t_ns)) {
            let figures = Figures {
                seconds: row.interval_ns as f64 / 1e9,
                depth: Some(0.0),
                cpu: cpu_between(cpu, row.t_ns - row.interval_ns, row.t_ns),
                ..Figures::default()
            };
            let measured = is_measured(phase);
            run.lines.push(Line { t_ns: row.t_ns, measured, figures });
        }
    }
    Ok(())
}

/// Totals at full resolution, with the times of what was due in the measured phase and came back later, or had no end.
fn exact_totals(
    reader: &Reader,
    ends: &BTreeMap<i32, End>,
) -> Result<BTreeMap<i32, [(Side, Histogram); 2]>, ToolOutputError> {
    let mut exact: BTreeMap<i32, [(Side, Histogram); 2]> = BTreeMap::new();
    for row in reader.table::<RunTotal>()? {
        let is_late = row.phase == LoadPhase::Drain && ends.contains_key(&row.run_index);
        let Some(side) = side_of(&row.op).filter(|_| is_late || is_measured(&row.phase)) else { continue };
        let side = &mut exact.entry(row.run_index).or_default()[side];
        if !is_late {
            side.0.ops += row.ops;
            side.0.bytes += row.bytes;
        }
        side.1.merge(known(&row.response, &row.service));
    }
    for (index, end) in ends {
        for (side, ages) in end.ages.iter().enumerate().filter(|(_, ages)| ages.count() > 0) {
            exact.entry(*index).or_default()[side].1.merge(ages);
        }
    }
    Ok(exact)
}

impl Run {
    /// Puts the lines in order and works out the average.
    fn finish(&mut self, exact: Option<[(Side, Histogram); 2]>, cpu: &[CpuPoint]) {
        self.lines.sort_by_key(|line| line.t_ns);
        if let Some(first) = self.lines.first()
            && self.start_ns == 0
        {
            self.start_ns = first.t_ns - length_ns(&first.figures);
        }
        self.end_ns = self.end_ns.max(self.lines.last().map_or(0, |line| line.t_ns));
        let first = self.lines.iter().position(|line| line.measured);
        let last = self.lines.iter().rposition(|line| line.measured);
        let (Some(first), Some(last)) = (first, last) else { return };
        let mut sum = Figures::default();
        let mut weighted = Some(0.0);
        for line in self.lines[first..=last].iter().filter(|line| line.measured) {
            let figures = &line.figures;
            sum.seconds += figures.seconds;
            weighted = weighted.zip(figures.depth).map(|(sum, depth)| sum + depth * figures.seconds);
            for (sum, side) in [(&mut sum.read, &figures.read), (&mut sum.write, &figures.write)] {
                sum.ops += side.ops;
                sum.bytes += side.bytes;
            }
        }
        sum.depth = weighted.map(|weighted| if sum.seconds > 0.0 { weighted / sum.seconds } else { 0.0 });
        // Of a recording that was cut short the totals are those that its intervals add up to.
        if let Some(exact) = exact {
            let [read, write] = exact;
            (sum.read.ops, sum.read.bytes, sum.write.ops, sum.write.bytes) =
                (read.0.ops, read.0.bytes, write.0.ops, write.0.bytes);
            self.totals = [read.1, write.1];
        }
        sum.read.times = Times::of(&self.totals[0]);
        sum.write.times = Times::of(&self.totals[1]);
        let measured = self.lines[first..=last].iter().filter(|line| line.measured);
        let spans: Vec<(i64, i64)> = measured.map(|line| (line.t_ns, length_ns(&line.figures))).collect();
        sum.cpu = CpuShare::mean(cpu, &spans);
        self.average = Some((first + 1, last + 1, sum));
    }

    /// `_` and a number, as Vdbench names the places that its files link to.
    pub(super) fn anchor(&self) -> String {
        format!("_{}", 1_000_000_000 + i64::from(self.index))
    }

    /// `threads=2 comp=1`, as Vdbench writes them.
    pub(super) fn loops(&self) -> String {
        if self.detail.is_empty() {
            return "None".to_string();
        }
        let one = |word: &str| match word.split_once('=') {
            Some((name, value)) => quantity::loop_elements::vdbench_loop(name, value),
            None => word.to_string(),
        };
        self.detail.split(' ').map(one).collect::<Vec<_>>().join(" ")
    }
}

/// Closes an interval: its histograms become figures.
fn close(open: Option<Open>, runs: &mut BTreeMap<i32, Run>, cpu: &[Cpu]) {
    let Some(open) = open else { return };
    let run = runs.entry(open.run_index).or_default();
    let measured = is_measured(&open.phase);
    let [mut read, mut write] = open.sides;
    read.0.times = Times::of(&read.1);
    write.0.times = Times::of(&write.1);
    if measured {
        run.totals[0].merge(&read.1);
        run.totals[1].merge(&write.1);
    }
    let figures = Figures {
        seconds: open.interval_ns as f64 / 1e9,
        read: read.0,
        write: write.0,
        depth: open.depth,
        cpu: cpu_between(cpu, open.t_ns - open.interval_ns, open.t_ns),
    };
    run.lines.push(Line { t_ns: open.t_ns, measured, figures });
}

/// Vdbench knows reads and writes: what reads data, and what writes data.
fn side_of(op: &str) -> Option<usize> {
    if rates::reads_data(op) { Some(0) } else { rates::writes_data(op).then_some(1) }
}

#[expect(clippy::cast_possible_truncation, reason = "seconds of an interval, from ns")]
fn length_ns(figures: &Figures) -> i64 {
    (figures.seconds * 1e9) as i64
}

/// Use of the CPUs between two moments, from the samples nearest to them; `None` when there are none near enough.
///
/// An interval shorter than a second may have no sample of its own, and none in which the kernel's clock of CPU times moved on: it gets
/// the share of the time around it, of at most about a second more.
fn cpu_between(samples: &[Cpu], from_ns: i64, to_ns: i64) -> Option<CpuShare> {
    const SECOND: i64 = 1_000_000_000;
    let slack = ((to_ns - from_ns) / 2).max(1);
    let exact = share_between(samples, (from_ns, to_ns), slack);
    if exact.is_some() || to_ns - from_ns >= SECOND {
        return exact;
    }
    let slack = slack.max(SECOND / 2);
    [from_ns, to_ns - SECOND / 4, to_ns - SECOND]
        .into_iter()
        .find_map(|from_ns| share_between(samples, (from_ns, to_ns), slack))
}

/// The same of samples that are at most `slack` from both moments.
fn share_between(samples: &[Cpu], (from_ns, to_ns): (i64, i64), slack: i64) -> Option<CpuShare> {
    let near = |t_ns: i64| {
        let after = samples.partition_point(|sample| sample.t_ns < t_ns);
        samples[after.saturating_sub(1)..samples.len().min(after + 1)]
            .iter()
            .min_by_key(|sample| (sample.t_ns - t_ns).abs())
            .filter(|sample| (sample.t_ns - t_ns).abs() <= slack)
    };
    let (before, after) = (near(from_ns)?, near(to_ns)?);
    (after.t_ns > before.t_ns).then(|| CpuShare::between(before, after))?
}

/// What was asked, from the manifest; nothing in recordings that do not have it.
fn requested(manifest: &Manifest) -> Vec<RequestedLoad> {
    manifest.extra.get(REQUESTED).and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
}

/// One word: columns are separated by blanks. The filling of new targets has Vdbench's name for it.
fn name_of(title: &str) -> String {
    if title == "format" {
        return "SD_format".to_string();
    }
    title.split_whitespace().collect::<Vec<&str>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_interval_without_a_sample_of_its_own_has_the_share_of_the_time_around_it() {
        const S: i64 = 1_000_000_000;
        // Ticks of 10 ms, and a sample at each second and at the end of an interval of 3 ms.
        let sample = |t_ns: i64| Cpu {
            t_ns,
            cpu: "all".to_string(),
            user_ns: (t_ns / 4) / 10_000_000 * 10_000_000,
            idle_ns: (t_ns / 4 * 3) / 10_000_000 * 10_000_000,
            ..Cpu::default()
        };
        let short = 2 * S + 3_000_000;
        let samples = [sample(0), sample(S), sample(2 * S), sample(short)];
        let share = super::cpu_between(&samples, 2 * S, short).expect("a share");
        assert!((share.user - 25.0).abs() < 2.0, "{}", share.user);
        assert!(super::cpu_between(&samples, 20 * S, 20 * S + 3_000_000).is_none());
    }

    #[test]
    fn the_average_of_the_cpu_is_over_the_intervals_that_are_known() {
        const S: i64 = 1_000_000_000;
        // From second to second a tenth more of the time is user time. At 3 s the CPU's counters begin anew.
        let mut user_ns = 0;
        let cpu: Vec<Cpu> = (0..=6)
            .map(|second| {
                user_ns += second * S / 10;
                let [user_ns, idle_ns] =
                    [user_ns, second * S - user_ns].map(|ns| if second < 3 { ns } else { ns - S / 2 });
                Cpu { t_ns: second * S, cpu: "all".to_string(), user_ns, idle_ns, ..Cpu::default() }
            })
            .collect();
        let figures = Figures { seconds: 1.0, ..Figures::default() };
        let lines = (1..=6).map(|second| Line { t_ns: second * S, measured: second > 1, figures }).collect();
        let mut run = Run { lines, ..Run::default() };
        run.finish(None, &rates::cpu(cpu.into_iter(), None));
        let (first, last, average) = run.average.expect("an average");
        let share = average.cpu.expect("a share");
        // 20, 40, 50 and 60 %; the third interval is covered by the fourth, as in the report.
        assert_eq!((first, last), (2, 6));
        assert!((share.used() - 42.0).abs() < 1e-9 && (share.idle - 58.0).abs() < 1e-9, "{share:?}");
    }
}
