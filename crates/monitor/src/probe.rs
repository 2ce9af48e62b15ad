//! One `probe` command's life: rows of the kernel's probe to a face, and into a recording when asked for.

use crate::event_cpu_time::{CpuClock, EventCpuTime};
use crate::events::lost_row;
use crate::file_rows::row_of;
use crate::profile::Profiler;
use crate::requests::rows as request_rows;
use crate::trace::{RecordingEnd, interval_row, known};
use crate::{MonitorError, StopFlag};
use quantity::clock;
use quantity::text::format_count;
use recording::rows::{Event, FileInterval};
use recording::{LossName, Manifest, RecordingError, RecordingExit, RowBatch, Sink, Writer};
use std::path::PathBuf;
use std::time::Duration;
use trace::block::{BlockTrace, ProbeStatistics, TraceNames};
use trace::files::{FileTrace, FileTraceLosses};
use trace::requests::ServerLatencyTrace;
use trace::{CostCounting, ProbeCost, ProgramSupport, TraceError, block, files};

/// How long a stop request may go unnoticed.
const NAP: Duration = Duration::from_millis(50);

/// What to look at.
#[derive(Clone, Debug)]
pub enum ProbeOf {
    /// Every block I/O: the table `io`.
    Io(block::TraceOptions),
    /// Reads and writes of files: the table `file_interval`.
    Files(files::FileTraceOptions),
    /// CPU time by event: the tables `cpu_event`, `process_event`, `preempted_by`, `irq_time`, `stolen`.
    Cpu {
        /// Count what the probes cost, and say it at the end.
        cost: bool,
    },
    /// What programs are at: the table `profile`.
    Stacks {
        /// Looks a second at each CPU.
        hz: u32,
        /// As above.
        cost: bool,
    },
    /// How long servers take for an answer: the table `request_interval`.
    Requests {
        /// On these TCP ports.
        ports: Vec<u16>,
        /// As above.
        cost: bool,
    },
}

/// Everything that a `probe` command needs to know.
#[derive(Debug)]
pub struct ProbeRequest {
    /// What.
    pub of: ProbeOf,
    /// Length of an interval.
    pub interval_ns: u64,
    /// How many; `None`: until a stop is requested.
    pub count: Option<u64>,
    /// Where a recording goes; `None`: nothing is kept.
    pub directory: Option<PathBuf>,
    /// The command line, for the manifest.
    pub command_line: Vec<String>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct ProbeOutcome {
    /// I/Os, reads or writes that are not in the figures.
    pub lost: u64,
    /// Did standard output fail, other than by a reader that went away?
    pub is_cut: bool,
    /// Sentences for the user.
    pub messages: Vec<String>,
}

/// A probe in the kernel.
enum Running {
    Io(Box<(BlockTrace, TraceNames)>),
    Files(Box<FileTrace>),
    Cpu(Box<Cpu>),
    Stacks(Box<Stacks>),
    Requests(Box<(ServerLatencyTrace, Option<Counted>)>),
}

/// What the programs in the kernel cost, counted since the probe began.
struct Counted {
    _counting: CostCounting,
    before: ProbeCost,
    started_ns: u64,
}

impl Counted {
    /// Counts for `probe`, which is started meanwhile, when that is wanted.
    fn around<P>(
        wanted: bool,
        start: impl FnOnce() -> Result<P, TraceError>,
        cost: impl FnOnce(&P) -> ProbeCost,
    ) -> Result<(P, Option<Self>), TraceError> {
        let counting = wanted.then(CostCounting::begin).transpose()?;
        let probe = start()?;
        let started_ns = clock::now_ns();
        let counted = counting.map(|counting| Self { _counting: counting, before: cost(&probe), started_ns });
        Ok((probe, counted))
    }

    /// In a sentence.
    fn words(&self, now: ProbeCost) -> String {
        let (runs, run_ns) = (now.runs - self.before.runs, now.run_ns - self.before.run_ns);
        let elapsed_ns = clock::now_ns().saturating_sub(self.started_ns).max(1);
        format!(
            "the probes ran {} times, {:.0} ns each: {:.2} % of one CPU",
            format_count(runs as f64),
            run_ns as f64 / runs.max(1) as f64,
            100.0 * run_ns as f64 / elapsed_ns as f64
        )
    }
}

/// The event clock, with what it costs.
struct Cpu {
    clock: CpuClock,
    cost: Option<Counted>,
    started_ns: u64,
}

impl Cpu {
    fn start(cost: bool) -> Result<Self, TraceError> {
        let start = || {
            let clock = CpuClock::start(EventCpuTime::Needed)?;
            clock.ok_or_else(|| TraceError::Consumer("was not started".to_string()))
        };
        let (clock, cost) = Counted::around(cost, start, CpuClock::cost)?;
        Ok(Self { clock, cost, started_ns: clock::now_ns() })
    }
}

/// Looks at stacks, with what they cost.
struct Stacks {
    profiler: Profiler,
    cost: Option<Counted>,
}

impl Running {
    fn start(of: &ProbeOf) -> Result<Self, TraceError> {
        Ok(match of {
            ProbeOf::Io(options) => Self::Io(Box::new((BlockTrace::start(options)?, TraceNames::default()))),
            ProbeOf::Files(options) => Self::Files(Box::new(FileTrace::start(options)?)),
            ProbeOf::Cpu { cost } => Self::Cpu(Box::new(Cpu::start(*cost)?)),
            ProbeOf::Stacks { hz, cost } => {
                let (profiler, cost) = Counted::around(*cost, || Profiler::start(*hz), Profiler::cost)?;
                Self::Stacks(Box::new(Stacks { profiler, cost }))
            }
            ProbeOf::Requests { ports, cost } => Self::Requests(Box::new(Counted::around(
                *cost,
                || ServerLatencyTrace::start(ports),
                ServerLatencyTrace::cost,
            )?)),
        })
    }

    fn verdicts(&self) -> &[ProgramSupport] {
        match self {
            Self::Io(io) => io.0.verdicts(),
            Self::Files(files) => files.verdicts(),
            Self::Requests(requests) => requests.0.verdicts(),
            // They come as events.
            Self::Cpu(_) | Self::Stacks(_) => &[],
        }
    }

    fn started_ns(&self) -> u64 {
        match self {
            Self::Io(io) => io.0.started_ns(),
            Self::Files(files) => files.started_ns(),
            Self::Requests(requests) => requests.0.started_ns(),
            Self::Cpu(cpu) => cpu.started_ns,
            Self::Stacks(stacks) => stacks.profiler.last_ns(),
        }
    }
}

struct Life<'a> {
    running: Running,
    writer: Option<Writer>,
    face: Option<&'a mut dyn Sink>,
    origin_ns: u64,
    /// End of the last interval.
    interval_ns: u64,
    lost: u64,
    seen: ProbeStatistics,
    seen_cpu_ns: u64,
    outcome: ProbeOutcome,
}

/// Probes until the count is reached or a stop is requested. The face gets a commit when the probe runs, and then the
/// batches of each interval and a commit.
///
/// # Errors
/// The probe cannot be loaded (nothing is written then), or the recording cannot be written.
pub fn probe(request: &ProbeRequest, face: &mut dyn Sink, stop: &StopFlag) -> Result<ProbeOutcome, MonitorError> {
    let running = Running::start(&request.of)?;
    let mut writer = None;
    let verdicts: Vec<String> = match &running {
        Running::Io(io) => known(&io.0, io.0.verdicts()),
        other => other.verdicts().iter().map(ProgramSupport::words).filter(|words| !words.is_empty()).collect(),
    };
    if let Some(directory) = &request.directory {
        let mut manifest = Manifest::new(&request.command_line);
        manifest.hardware = collect::hardware(&[]);
        manifest.extra.insert("probe_verdicts".into(), verdicts.clone().into());
        writer = Some(Writer::create(directory, manifest)?);
    }
    let started_ns = running.started_ns();
    let mut life = Life {
        origin_ns: writer.as_ref().map_or(started_ns, Writer::started_t_ns),
        running,
        writer,
        face: Some(face),
        interval_ns: started_ns,
        lost: 0,
        seen: ProbeStatistics::default(),
        seen_cpu_ns: 0,
        outcome: ProbeOutcome { lost: 0, is_cut: false, messages: verdicts },
    };
    life.begin()?;
    let is_stopped = life.live(request, started_ns, stop)?;
    life.finish(is_stopped)
}

impl Life<'_> {
    /// Until the end; true when it came before its time.
    fn live(&mut self, request: &ProbeRequest, started_ns: u64, stop: &StopFlag) -> Result<bool, MonitorError> {
        let interval_ns = request.interval_ns.max(1);
        let mut done = 0;
        let mut due_ns = started_ns + interval_ns;
        while request.count.is_none_or(|count| done < count) {
            let now_ns = clock::now_ns();
            if stop.is_requested() || (self.face.is_none() && self.writer.is_none()) {
                return Ok(true);
            }
            if now_ns >= due_ns {
                self.interval(now_ns)?;
                done += 1;
                due_ns += (now_ns - due_ns) / interval_ns * interval_ns + interval_ns;
                continue;
            }
            let nap = NAP.min(Duration::from_nanos(due_ns - now_ns));
            match &mut self.running {
                Running::Io(io) => {
                    if let Some(chunk) = io.0.next(nap) {
                        let batch = io.1.batch(&chunk)?;
                        io.0.bound_names(&mut io.1);
                        self.publish(&batch)?;
                    }
                }
                Running::Files(_) | Running::Cpu(_) | Running::Stacks(_) | Running::Requests(_) => {
                    std::thread::sleep(nap);
                }
            }
        }
        Ok(false)
    }

    /// To the recording first, then to the face.
    fn publish(&mut self, batch: &RowBatch) -> Result<(), MonitorError> {
        if let Some(writer) = &mut self.writer {
            writer.accept(batch)?;
        }
        let shown = self.face.as_mut().map_or(Ok(()), |face| face.accept(batch));
        self.shown(shown);
        Ok(())
    }

    /// A face that fails is given up; a reader that went away is not worth a word.
    fn shown(&mut self, result: Result<(), RecordingError>) {
        let Err(error) = result else { return };
        self.outcome.is_cut = !tui::is_closed(&error);
        if self.outcome.is_cut || self.writer.is_some() {
            self.outcome.messages.push(format!("standard output was given up ({error})"));
        }
        self.face = None;
    }

    /// Ends an interval: its rows, its losses, its lines.
    fn interval(&mut self, t_ns: u64) -> Result<(), MonitorError> {
        let lost = match &mut self.running {
            Running::Io(io) => {
                let statistics = io.0.statistics()?;
                let cpu_ns = io.0.consumer_cpu_ns();
                let part = statistics.since(&self.seen);
                let span = (self.interval_ns, t_ns, self.origin_ns);
                let row = interval_row(span, &part, &io.1.take_summary(), cpu_ns - self.seen_cpu_ns);
                (self.seen, self.seen_cpu_ns) = (statistics, cpu_ns);
                self.publish(&RowBatch::from_rows(&[row])?)?;
                statistics.lost()
            }
            Running::Files(files) => {
                let rows: Vec<FileInterval> =
                    files.read()?.iter().map(|file| row_of(file, t_ns, self.interval_ns, self.origin_ns)).collect();
                let lost = files.losses()?.lost();
                self.publish(&RowBatch::from_rows(&rows)?)?;
                lost
            }
            Running::Requests(requests) => {
                let rows = request_rows(&mut requests.0, (self.interval_ns, t_ns, self.origin_ns))?;
                let lost = requests.0.losses()?.lost();
                self.publish(&RowBatch::from_rows(&rows)?)?;
                lost
            }
            Running::Cpu(_) | Running::Stacks(_) => self.probes_sample(t_ns)?,
        };
        if lost > self.lost {
            let row = lost_row((t_ns, self.origin_ns), lost - self.lost, self.what());
            self.publish(&RowBatch::from_rows(&[row])?)?;
            self.lost = lost;
        }
        if let Some(writer) = &mut self.writer {
            writer.commit()?;
        }
        self.interval_ns = t_ns;
        self.mark();
        Ok(())
    }

    /// The probe runs. Counters need a first sample, from which the first interval counts.
    fn begin(&mut self) -> Result<(), MonitorError> {
        if let Running::Cpu(_) = self.running {
            self.probes_sample(self.interval_ns)?;
            if let Some(writer) = &mut self.writer {
                writer.commit()?;
            }
        }
        self.mark();
        Ok(())
    }

    /// Rows of the event clock, or of stacks; what is lost so far.
    fn probes_sample(&mut self, t_ns: u64) -> Result<u64, MonitorError> {
        let (batches, lost) = match &mut self.running {
            Running::Cpu(cpu) => (cpu.clock.sample(t_ns, self.origin_ns)?, cpu.clock.lost()),
            Running::Stacks(stacks) => (stacks.profiler.sample(self.origin_ns)?, stacks.profiler.lost()),
            Running::Io(_) | Running::Files(_) | Running::Requests(_) => return Ok(0),
        };
        for batch in &batches {
            self.outcome.messages.extend(batch.to_rows::<Event>()?.into_iter().map(|event| event.message));
            self.publish(batch)?;
        }
        Ok(lost)
    }

    /// What is counted, in a word.
    fn what(&self) -> &'static str {
        match self.running {
            Running::Cpu(_) => "switches and interrupts",
            Running::Stacks(_) => "looks at stacks",
            Running::Requests(_) => "reads and writes of sockets",
            Running::Io(_) | Running::Files(_) => "I/Os",
        }
    }

    /// The boundary of an interval, for the face.
    fn mark(&mut self) {
        let shown = self.face.as_mut().map_or(Ok(()), |face| face.commit());
        self.shown(shown);
    }

    /// The interval under way at a stop request is a last, shorter one. What comes after all intervals that were
    /// asked for goes into the recording only: totals are over those intervals.
    fn finish(mut self, is_stopped: bool) -> Result<ProbeOutcome, MonitorError> {
        let mut has_rest = is_stopped;
        if let Running::Io(io) = &self.running {
            io.0.stop();
            has_rest |= self.writer.is_some();
            if !is_stopped {
                self.face = None;
            }
        }
        while let Running::Io(io) = &mut self.running {
            let Some(chunk) = io.0.rest() else { break };
            let batch = io.1.batch(&chunk)?;
            self.publish(&batch)?;
        }
        if has_rest {
            self.interval(clock::now_ns())?;
        }
        let losses = match &self.running {
            Running::Io(io) => {
                let statistics = io.0.final_statistics()?;
                self.outcome.lost = statistics.lost();
                if let Some(writer) = &mut self.writer {
                    let (began_ns, ended_ns) = (Some(io.0.started_ns()), io.0.ended_ns());
                    let exit = Some(RecordingExit::Fine);
                    let end = RecordingEnd { columns: &io.1, statistics: &statistics, began_ns, ended_ns, exit };
                    writer.update_manifest(|manifest| end.note(manifest, statistics.losses()))?;
                }
                Vec::new()
            }
            Running::Files(files) => {
                let found = files.losses()?;
                self.outcome.lost = found.table + found.operations;
                losses_of_files(&found)
            }
            Running::Cpu(cpu) => {
                self.outcome.lost = cpu.clock.lost();
                self.outcome.messages.extend(cpu.cost.as_ref().map(|cost| cost.words(cpu.clock.cost())));
                vec![cpu.clock.losses()]
            }
            Running::Stacks(stacks) => {
                self.outcome.lost = stacks.profiler.lost();
                self.outcome.messages.extend(stacks.cost.as_ref().map(|cost| cost.words(stacks.profiler.cost())));
                stacks.profiler.losses()
            }
            Running::Requests(requests) => {
                let (probe, cost) = &**requests;
                let losses = probe.losses()?;
                self.outcome.lost = losses.lost();
                self.outcome.messages.extend(cost.as_ref().map(|cost| cost.words(probe.cost())));
                vec![(LossName::ProbeTableFull, losses.table), (LossName::ProbeMissed, losses.missed)]
            }
        };
        if self.outcome.lost > 0 {
            let words = format!(
                "the figures are not complete: {} {} could not be counted",
                format_count(self.outcome.lost as f64),
                self.what()
            );
            self.outcome.messages.push(words);
        }
        if let Some(mut writer) = self.writer {
            writer.update_manifest(|manifest| {
                manifest.exit = Some(RecordingExit::Fine);
                manifest.losses.extend(losses.iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_string(), *n)));
            })?;
            writer.seal()?;
        }
        Ok(self.outcome)
    }
}

/// What of files the probe could not count, for the manifest.
fn losses_of_files(found: &FileTraceLosses) -> Vec<(LossName, u64)> {
    let FileTraceLosses { table, names, operations } = *found;
    vec![(LossName::ProbeTableFull, table), (LossName::ProbeNames, names), (LossName::ProbeOperations, operations)]
}
