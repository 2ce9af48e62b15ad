//! Reads a recording once and keeps what every view needs: one entry per run and interval, never one per row.

mod ending;
mod fold;

use rates::{
    CpuPoint, DiskPoint, IntervalFacts, MemoryPoint, NetPoint, OpCount, PhaseSpan, PoolPoint, PressurePoint, Stall,
    StepFacts, TasksPoint, TotalFacts, UnfinishedOperations, WaitPoint, base_title,
};
use recording::{LoadPhase, Manifest, PhaseEdge, Reader, RecordingState, Row, rows};
use std::collections::BTreeMap;
use view::{NamePattern, Selection, TableReadError};
use workload::commands::{MeasuredCommand, executed_commands};
use workload::validated::ValidatedData;

/// Everything that the views are computed from.
#[derive(Debug)]
pub struct RecordingFacts {
    /// The recording's manifest.
    pub manifest: Manifest,
    /// Is it sealed, open or cut short?
    pub state: RecordingState,
    /// What of it is damaged, as sentences without a full stop.
    pub damage: Vec<String>,
    /// Runs in the order of execution.
    pub runs: Vec<RunFacts>,
    /// Use of all CPUs between successive samples, ascending in time.
    pub cpu: Vec<CpuPoint>,
    /// Rates of each device between successive samples, ascending in time.
    pub disks: BTreeMap<String, Vec<DiskPoint>>,
    /// Rates of each interface between successive samples, ascending in time.
    pub nets: BTreeMap<String, Vec<NetPoint>>,
    /// Rates of each pool between successive samples, ascending in time.
    pub pools: BTreeMap<String, Vec<PoolPoint>>,
    /// Memory, ascending in time.
    pub memory: Vec<MemoryPoint>,
    /// Runnable and blocked tasks, ascending in time.
    pub tasks: Vec<TasksPoint>,
    /// Waits for a CPU by event, ascending in time.
    pub waits: Vec<WaitPoint>,
    /// Pressure by resource between successive samples, ascending in time.
    pub pressure: BTreeMap<String, Vec<PressurePoint>>,
    /// What happened.
    pub events: Vec<rows::Event>,
    /// Executions of commands, of the runs that were asked for and of `record`.
    pub commands: Vec<rows::CommandExecution>,
    /// What came of the objectives that the recording was made with.
    pub objectives: Vec<objectives::ObjectiveVerdict>,
    /// What was proved of the data.
    pub data: ValidatedData,
    /// Only these controllers.
    pub(crate) controllers: Option<NamePattern>,
    /// Is what stands for a run all of a recording without one?
    pub(crate) is_without_runs: bool,
}

/// One run.
#[derive(Debug, Default)]
pub struct RunFacts {
    /// Position in the order of execution.
    pub index: i32,
    /// Title.
    pub title: String,
    /// Loop variables, `name=value name=value`.
    pub detail: String,
    /// Arrivals per second that were asked for; `None` at full speed.
    pub offered: Option<f64>,
    /// Phases in order.
    pub phases: Vec<PhaseSpan>,
    /// `CLOCK_MONOTONIC` at its start, ns.
    pub start_ns: i64,
    /// Intervals, ascending in time.
    pub intervals: Vec<IntervalFacts>,
    /// Totals by phase, workload, target and operation.
    pub totals: Vec<TotalFacts>,
    /// Totals of the steps that operations in trees needed besides, by phase and kind.
    pub steps: Vec<StepFacts>,
    /// Times without a completion although something was waiting, over all lanes.
    pub stalls: Vec<Stall>,
    /// The longest stall of each target.
    pub target_stalls: BTreeMap<String, Stall>,
    /// Of a replay: how it compares with its trace.
    pub fidelity: Vec<rows::Fidelity>,
    /// Of a replay: its seconds beside those of the trace.
    pub seconds: Vec<rows::FidelityInterval>,
    /// What had no end; `None` where that was not recorded.
    pub unfinished: Option<UnfinishedOperations>,
    /// Rows of its end, until they are part of its totals.
    pub(crate) ends: Vec<rows::RunEnd>,
    /// When it began, ns of the wall clock; 0 where nothing asked for it.
    pub(crate) began_ns: i64,
    /// What other programs did while it was measured; `None` where nothing asked for it.
    pub(crate) others: Option<crate::other_load::Others>,
    /// Damaged blocks that it found; `None`: no data was validated, or it compared none.
    pub damaged: Option<i64>,
    /// Executions of its commands, which are in none of its intervals and totals.
    pub commands: Vec<rows::CommandExecution>,
    /// Its totals were written at its end; otherwise they are added up from its intervals.
    pub complete: bool,
}

impl RecordingFacts {
    /// Reads what `selection` asks for.
    ///
    /// # Errors
    /// A recording that cannot be read, or a run that it does not have.
    pub fn read(reader: &Reader, selection: &Selection) -> Result<Self, TableReadError> {
        let mut runs: BTreeMap<i32, RunFacts> = BTreeMap::new();
        fold::phases(reader, &mut runs)?;
        fold::totals(reader, selection, &mut runs)?;
        fold::steps(reader, selection, &mut runs)?;
        fold::ends(reader, selection, &mut runs)?;
        fold::intervals(reader, selection, &mut runs)?;
        fold::engine(reader, &mut runs)?;
        fold::fidelity(reader, &mut runs)?;
        let mut commands = fold::commands(reader, selection, &mut runs)?;
        let mut runs: Vec<RunFacts> = runs.into_values().collect();
        let data = ValidatedData::read(reader)?;
        let damaged = data.damaged_by_run();
        for run in &mut runs {
            run.finish();
            run.damaged = damaged.get(&run.index).copied();
        }
        if let Some(wanted) = &selection.run {
            let known: Vec<String> = runs.iter().map(RunFacts::full_title).collect();
            let number: Option<i32> = wanted.parse().ok();
            let title = runs.iter().any(|run| run.title == *wanted);
            let full_title = !title && known.contains(wanted);
            // A run that fills the targets is never meant by its place.
            let mut measured = runs.iter().filter(|run| !run.is_format()).map(|run| run.index);
            let number = match wanted.as_str() {
                "first" => measured.next(),
                "last" => measured.next_back(),
                _ => number,
            };
            runs.retain(|run| match (title, full_title) {
                (true, _) => run.title == *wanted,
                (_, true) => run.full_title() == *wanted,
                _ => Some(run.index) == number,
            });
            if runs.is_empty() {
                return Err(TableReadError::UnknownRun { run: wanted.clone(), known: known.join(", ") });
            }
            commands.retain(|row| runs.iter().any(|run| run.index == row.run_index && !row.run.is_empty()));
        }
        let disks = with_rows(reader, |rows| rates::disks(rows))?;
        let printed = with_rows(reader, |rows| rates::printed_pools(rows))?;
        Ok(Self {
            manifest: reader.manifest().clone(),
            state: reader.state(),
            damage: reader.damage()?.sentences(reader.manifest()),
            cpu: with_rows(reader, |rows| rates::cpu(rows, selection.names.as_ref()))?,
            pools: with_rows(reader, |rows| rates::pools(rows, &disks, &printed))?,
            disks,
            nets: with_rows(reader, |rows| rates::nets(rows))?,
            memory: with_rows(reader, |rows| rates::memory(rows))?,
            tasks: with_rows(reader, |rows| rates::tasks(rows))?,
            waits: with_rows(reader, |rows| rates::waits(rows))?,
            pressure: with_rows(reader, |rows| rates::pressure(rows))?,
            events: reader.table::<rows::Event>()?,
            objectives: objectives::objectives(reader)?,
            data,
            commands,
            controllers: None,
            is_without_runs: false,
            runs,
        })
    }
}

/// What `make` makes of the rows of a table, which it gets one after the other: on a machine with many CPUs, a day of them
/// does not fit the memory.
fn with_rows<R: Row, T>(
    reader: &Reader,
    make: impl FnOnce(&mut dyn Iterator<Item = R>) -> T,
) -> Result<T, TableReadError> {
    let mut failed = None;
    let made = make(&mut reader.rows::<R>()?.map_while(|row| row.map_err(|error| failed = Some(error)).ok()));
    failed.map_or(Ok(made), |error| Err(error.into()))
}

impl RecordingFacts {
    /// When the machine's counters were sampled, of one subject after the other.
    fn sampled_ns(&self) -> impl Iterator<Item = i64> {
        let ends = self.cpu.iter().map(|point| point.t_ns);
        let ends = ends.chain(self.disks.values().flatten().map(|point| point.t_ns));
        let ends = ends.chain(self.nets.values().flatten().map(|point| point.t_ns));
        let ends = ends.chain(self.memory.iter().map(|point| point.t_ns));
        let ends = ends.chain(self.tasks.iter().map(|point| point.t_ns));
        let ends = ends.chain(self.waits.iter().map(|point| point.t_ns));
        ends.chain(self.pressure.values().flatten().map(|point| point.t_ns))
    }

    /// Did nothing run while the machine's counters were sampled (`record`, imports)?
    pub(crate) fn has_counters_only(&self) -> bool {
        self.runs.is_empty() && self.sampled_ns().next().is_some()
    }

    /// A recording of counters alone has no runs: for charts, all of it is one.
    pub(crate) fn without_runs(&mut self) {
        let span = self.sampled_ns().fold(None, |span: Option<(i64, i64)>, t_ns| {
            span.map_or(Some((t_ns, t_ns)), |(from, to)| Some((from.min(t_ns), to.max(t_ns))))
        });
        let Some((first_ns, to_ns)) = span.filter(|_| self.runs.is_empty()) else { return };
        // A point stands at the end of its interval.
        let from_ns = self.manifest.started_t_ns.min(first_ns - 1);
        let phases = vec![PhaseSpan { phase: LoadPhase::Measure, from_ns, to_ns }];
        self.runs.push(RunFacts { start_ns: from_ns, phases, ..RunFacts::default() });
        self.is_without_runs = true;
    }

    /// Executions by command and setting.
    pub fn executed(&self) -> Vec<MeasuredCommand> {
        let of = |index: i32| self.runs.iter().find(|run| run.index == index && !self.is_without_runs);
        executed_commands(&self.commands, &|index| of(index).map_or(String::new(), |run| run.detail.clone()))
    }

    /// Does all of a recording without a run stand for one?
    pub(crate) fn is_without_runs(&self) -> bool {
        self.is_without_runs
    }

    /// Keeps the counters of what has such a name, for a view that shows these by name.
    ///
    /// # Errors
    /// Nothing has: what there is.
    pub(crate) fn only(&mut self, view: &str, names: &NamePattern) -> Result<(), String> {
        fn retain<P>(all: &mut BTreeMap<String, P>, names: &NamePattern) -> Result<(), String> {
            let known: Vec<&str> = all.keys().map(String::as_str).collect();
            if !known.iter().any(|name| names.admits(name)) {
                let known = if known.is_empty() {
                    "none was recorded".into()
                } else {
                    format!("there are: {}", known.join(", "))
                };
                return Err(format!("nothing is called `{}`; {known}", names.as_str()));
            }
            all.retain(|name, _| names.admits(name));
            Ok(())
        }
        match view.split_once('.').unwrap_or_default() {
            ("disk", _) => retain(&mut self.disks, names),
            ("net", _) => retain(&mut self.nets, names),
            ("pool", _) => retain(&mut self.pools, names),
            ("pressure", _) => retain(&mut self.pressure, names),
            ("controller", _) => {
                let all = self.manifest.hardware["controllers"].as_object().into_iter().flat_map(|all| all.values());
                let mut all = all.filter_map(|name| Some((name.as_str()?.to_string(), ()))).collect();
                retain(&mut all, names)?;
                self.controllers = Some(names.clone());
                Ok(())
            }
            ("run", "cpu") if self.cpu.is_empty() => Err(format!("no CPU is called `{}`", names.as_str())),
            _ => Ok(()),
        }
    }

    /// Keeps the counters of a stretch, seconds from `start_ns` on.
    pub(crate) fn only_between(&mut self, start_ns: i64, (from_s, to_s): (f64, f64)) {
        fn retain<P>(points: &mut Vec<P>, t_ns: fn(&P) -> i64, is_within: impl Fn(i64) -> bool) {
            points.retain(|point| is_within(t_ns(point)));
        }
        let is_within = |t_ns: i64| (from_s..=to_s).contains(&((t_ns - start_ns) as f64 / 1e9));
        retain(&mut self.cpu, |point| point.t_ns, is_within);
        retain(&mut self.memory, |point| point.t_ns, is_within);
        retain(&mut self.tasks, |point| point.t_ns, is_within);
        retain(&mut self.waits, |point| point.t_ns, is_within);
        self.disks.values_mut().for_each(|points| retain(points, |point| point.t_ns, is_within));
        self.nets.values_mut().for_each(|points| retain(points, |point| point.t_ns, is_within));
        self.pools.values_mut().for_each(|points| retain(points, |point| point.t_ns, is_within));
        self.pressure.values_mut().for_each(|points| retain(points, |point| point.t_ns, is_within));
    }
}

impl RunFacts {
    /// The title without the number of the repetition.
    pub(crate) fn base_title(&self) -> &str {
        base_title(&self.title)
    }

    /// Did it execute commands, and no I/O of its own? Then it has no rate, and is in no table of rates.
    pub fn is_of_commands(&self) -> bool {
        let is_idle = |count: &OpCount| count.ops == 0 && !count.errors.is_positive() && !count.arrivals.is_positive();
        !self.commands.is_empty()
            && self.totals.iter().all(|total| is_idle(&total.count))
            && self.intervals.iter().all(|interval| interval.ops.iter().all(is_idle))
    }

    /// Did it only fill the targets, make the trees, or read at the end what was written?
    pub fn is_format(&self) -> bool {
        self.title == "format" || matches!(self.main_phase(), LoadPhase::Format | LoadPhase::Verify)
    }

    /// Did it play a trace?
    pub fn is_replay(&self) -> bool {
        !self.fidelity.is_empty()
    }

    /// How its I/Os were paced, when no rate was set.
    pub(crate) fn pace(&self) -> &'static str {
        if self.is_replay() { "as traced" } else { "at full speed" }
    }

    /// Title and loop variables.
    pub fn name(&self) -> String {
        format!("{} {}", self.title, self.detail).trim_end().to_string()
    }

    /// The phase that the summary is about: `measure`, for a filling run `format`, for the one that reads all at the end `verify`, else whatever there is.
    pub fn main_phase(&self) -> LoadPhase {
        [LoadPhase::Measure, LoadPhase::Format, LoadPhase::Verify, LoadPhase::Warmup]
            .into_iter()
            .find(|phase| {
                self.intervals.iter().any(|interval| interval.phase == *phase)
                    || self.totals.iter().any(|total| total.phase == *phase)
            })
            .unwrap_or(LoadPhase::Measure)
    }

    /// Follows the phases: one starts or ends.
    pub(crate) fn follow(&mut self, phase: LoadPhase, event: &PhaseEdge, t_ns: i64) {
        let open = self.phases.iter_mut().rfind(|span| span.phase == phase && span.to_ns == i64::MAX);
        match (event, open) {
            (PhaseEdge::End, Some(open)) => open.to_ns = t_ns,
            (PhaseEdge::Start, _) => self.phases.push(PhaseSpan { phase, from_ns: t_ns, to_ns: i64::MAX }),
            _ => {}
        }
    }

    /// An interval in which nothing arrived and nothing was in flight: `op_interval` has no row of it, its phase is the one that
    /// it lies in.
    pub(crate) fn idle_interval(&self, t_ns: i64, interval_ns: i64) -> IntervalFacts {
        let span = self.phases.iter().find(|span| t_ns > span.from_ns && t_ns <= span.to_ns);
        let phase = span.map_or(LoadPhase::Drain, |span| span.phase.clone());
        IntervalFacts { t_ns, interval_ns, phase, ..IntervalFacts::default() }
    }

    /// Totals of the main phase.
    pub fn main_totals(&self) -> impl Iterator<Item = &TotalFacts> {
        let phase = self.main_phase();
        self.totals.iter().filter(move |total| total.phase == phase)
    }

    /// Intervals of the main phase.
    pub fn main_intervals(&self) -> impl Iterator<Item = &IntervalFacts> {
        let phase = self.main_phase();
        self.intervals.iter().filter(move |interval| interval.phase == phase)
    }

    /// Length of the main phase, s: its intervals together.
    pub fn measured_s(&self) -> f64 {
        self.main_intervals().map(|interval| interval.interval_ns as f64 / 1e9).sum()
    }

    /// Title and variables, which tell it from other runs of its title.
    pub fn full_title(&self) -> String {
        format!("{} {}", self.title, self.detail).trim_end().to_string()
    }

    /// Seconds since the run's start.
    pub fn seconds(&self, t_ns: i64) -> f64 {
        (t_ns - self.start_ns) as f64 / 1e9
    }

    /// End of the last interval or phase, ns.
    pub fn end_ns(&self) -> i64 {
        let phases = self.phases.iter().map(|phase| phase.to_ns).max();
        self.intervals.last().map(|interval| interval.t_ns).max(phases).unwrap_or(self.start_ns)
    }

    /// The longest stall.
    pub fn longest_stall(&self) -> Option<Stall> {
        self.stalls.iter().copied().max_by_key(Stall::length_ns)
    }

    /// Puts intervals in order, fills what the phase table does not know, and finds the stalls.
    pub(crate) fn finish(&mut self) {
        self.join_end();
        self.intervals.sort_by_key(|interval| interval.t_ns);
        let first = self.intervals.first().map(|interval| interval.t_ns - interval.interval_ns);
        let begins = |is_idle: bool| {
            let phases = self.phases.iter().filter(move |phase| (phase.phase == LoadPhase::Baseline) == is_idle);
            phases.map(|phase| phase.from_ns).min()
        };
        // Executions on the idle machine come before the run's time.
        self.start_ns = begins(false).or(first).or(begins(true)).unwrap_or(0);
        let end_ns = self.intervals.last().map_or(self.start_ns, |interval| interval.t_ns);
        for phase in &mut self.phases {
            if phase.to_ns == i64::MAX {
                phase.to_ns = end_ns.max(phase.from_ns);
            }
        }
        for interval in &self.intervals {
            let from_ns = interval.t_ns - interval.interval_ns;
            if !interval.is_stalled() {
                continue;
            }
            match self.stalls.last_mut() {
                // Intervals touch; a gap of less than a tenth of one is rounding.
                Some(last) if from_ns - last.to_ns <= interval.interval_ns / 10 => last.to_ns = interval.t_ns,
                _ => self.stalls.push(Stall { from_ns, to_ns: interval.t_ns }),
            }
        }
        self.totals.sort_by(|a, b| {
            let place = |total: &TotalFacts| rates::op_place(&total.op);
            (&a.phase, &a.workload, &a.target, place(a)).cmp(&(&b.phase, &b.workload, &b.target, place(b)))
        });
    }
}
