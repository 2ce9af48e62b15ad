//! Where the operations of a replay come from: a recording with a trace, or another tool's trace.

use crate::SessionError;
use import::ImportOptions;
use plan::replay::{
    LATE_NS, ReplayChanges, ReplayIo, ReplayMapper, ReplayPacing, TracePosition, TracedRequest, VolumeSize,
};
use plan::{Plan, Replay, replay::ReplaySpeed};
use recording::rows::Io;
use recording::{LossName, Reader, Row as _};
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use target::OpenTarget;

/// Rows of other tools' traces that are sorted at a time.
const BLOCK: usize = 32 * 1024;
/// Between a repetition and the next: it begins with a whole second.
const SECOND_NS: u64 = 1_000_000_000;

/// A trace.
#[derive(Clone, Debug)]
pub(crate) struct Tape {
    replay: Replay,
    is_recording: bool,
}

/// What a trace holds.
#[derive(Clone, Debug, Default)]
pub struct TraceSurvey {
    /// I/Os.
    pub ios: u64,
    /// I/Os that change data.
    pub changing: u64,
    /// From the first to the last, ns.
    pub span_ns: u64,
    /// I/Os, and the byte after the last, of each device.
    pub devices: BTreeMap<String, (u64, u64)>,
    /// Are completions known?
    pub has_ends: bool,
}

/// I/Os that a trace does not have and its machine did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostIos {
    /// How many, at least.
    pub ios: u64,
    /// Is the trace damaged? Then more may be missing.
    pub is_damaged: bool,
}

/// What a trace has lost.
///
/// # Errors
/// There is no trace, or it cannot be read.
pub fn lost(replay: &Replay) -> Result<LostIos, SessionError> {
    Tape::open(replay)?.lost()
}

/// Reads a trace once, to know what it holds.
///
/// # Errors
/// There is no trace, or it is damaged.
pub fn survey(replay: &Replay) -> Result<TraceSurvey, SessionError> {
    Tape::open(replay)?.survey()
}

/// What of a trace would be played on targets of these sizes: `(index in the plan, bytes)`.
///
/// # Errors
/// See [`survey`].
pub fn rehearse(
    replay: &Replay,
    survey: &TraceSurvey,
    sizes: &[VolumeSize],
) -> Result<(ReplayChanges, u64), SessionError> {
    let tape = Tape::open(replay)?;
    let mapper = tape.mapper(sizes, survey, tape.speed(sizes, survey)?);
    let mut last_ns = 0;
    let changes = tape.play(mapper, &mut |io, _| {
        last_ns = last_ns.max(io.due_ns);
        ControlFlow::Continue(())
    })?;
    Ok((changes, last_ns))
}

/// Refuses a plan with a replay of nothing. `sizes` finds those of the targets, which is asked where there is a replay, and given
/// back; where one is not known, or where devices lie one after the other, everything has its place.
///
/// # Errors
/// There is no trace, or nothing of it would be played.
pub(super) fn preflight(plan: &Plan, sizes: impl Fn() -> Vec<Option<u64>>) -> Result<Vec<Option<u64>>, SessionError> {
    let mut found: Option<Vec<Option<u64>>> = None;
    for replay in plan.runs.iter().flat_map(|run| &run.workloads).filter_map(|workload| workload.replay.as_deref()) {
        let tape = Tape::open(replay)?;
        let found = found.get_or_insert_with(&sizes);
        let known = |target: usize| found.get(target).copied().flatten().filter(|_| !tape.is_packed());
        let size = |target| VolumeSize { target, bytes: known(target).unwrap_or(1 << 62), block_bytes: 512 };
        let sizes: Vec<VolumeSize> = (0..plan.targets.len()).map(size).collect();
        let mut is_played = false;
        let changes = tape.play(tape.mapper(&sizes, &TraceSurvey::default(), 1.0), &mut |_, _| {
            is_played = true;
            ControlFlow::Break(())
        })?;
        if !is_played {
            return Err(nothing(replay, &changes));
        }
    }
    Ok(found.unwrap_or_default())
}

/// Nothing of a trace is played, and why.
pub(crate) fn nothing(replay: &Replay, changes: &ReplayChanges) -> SessionError {
    let whereabouts = changes.whereabouts();
    let why = if whereabouts.is_empty() {
        "there is no I/O in it".to_string()
    } else {
        format!("of its I/Os are {}", whereabouts.join("; "))
    };
    SessionError::NothingToPlay { trace: replay.trace.clone(), why }
}

/// Sizes of opened targets.
pub(crate) fn sizes(plan: &Plan, targets: &[Option<OpenTarget>]) -> Vec<VolumeSize> {
    let size = |(target, opened): (usize, &Option<OpenTarget>)| {
        let opened = opened.as_ref()?;
        let block_bytes = u64::from(opened.logical_block_bytes).max(if opened.direct { 512 } else { 1 });
        let asked = plan.targets.get(target).and_then(|spec| spec.size_bytes);
        let bytes = asked.map_or(opened.size_bytes, |bytes| bytes.min(opened.size_bytes));
        Some(VolumeSize { target, bytes, block_bytes })
    };
    targets.iter().enumerate().filter_map(size).collect()
}

/// Gives what it is given to `take` in the order of queueing, a block in memory.
struct Sorter<'a> {
    rows: Vec<Io>,
    take: &'a mut dyn FnMut(&TracedRequest<'_>) -> ControlFlow<()>,
}

impl Sorter<'_> {
    fn push(&mut self, io: Io) -> ControlFlow<()> {
        self.rows.push(io);
        if self.rows.len() >= 2 * BLOCK { self.give(BLOCK) } else { ControlFlow::Continue(()) }
    }

    fn give(&mut self, count: usize) -> ControlFlow<()> {
        self.rows.sort_by_key(|io| io.queue_ns);
        for io in self.rows.drain(..count) {
            let text = |label: &Option<recording::Label>| label.clone();
            let (flags, comm, file) = (text(&io.flags), text(&io.comm), text(&io.file));
            (self.take)(&TracedRequest {
                queue_ns: io.queue_ns,
                complete_ns: io.complete_ns,
                device: &io.dev,
                op: &io.op,
                flags: flags.as_deref().unwrap_or(""),
                offset: u64::try_from(io.sector).unwrap_or(0).saturating_mul(512),
                bytes: u64::try_from(io.bytes).unwrap_or(0),
                pid: io.pid.unwrap_or(-1),
                tid: io.tid.unwrap_or(-1),
                comm: comm.as_deref().unwrap_or(""),
                file: file.as_deref().unwrap_or(""),
            })?;
        }
        ControlFlow::Continue(())
    }
}

impl Tape {
    /// The trace that a wish names.
    ///
    /// # Errors
    /// There is nothing there, something that can be read only once, or a recording without a trace.
    pub(crate) fn open(replay: &Replay) -> Result<Self, SessionError> {
        if std::fs::metadata(&replay.trace).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
            return Err(SessionError::ReadOnce(replay.trace.clone()));
        }
        let is_recording = replay.format.is_none() && recording::is_recording(&replay.trace);
        if is_recording {
            let reader = Reader::open(&replay.trace)?;
            if !reader.tables()?.iter().any(|table| table == Io::NAME) {
                return Err(SessionError::NoTrace(replay.trace.clone()));
            }
        }
        Ok(Self { replay: replay.clone(), is_recording })
    }

    /// I/Os that the recording says it lost, and those that are in its damaged parts.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn lost(&self) -> Result<LostIos, SessionError> {
        if !self.is_recording {
            return Ok(LostIos::default());
        }
        let reader = Reader::open(&self.replay.trace)?;
        let losses = reader.manifest().losses.iter();
        let losses = losses.filter(|(name, _)| LossName::from(name.as_str()).is_of_traced_ios());
        let missed: u64 = losses.map(|(_, count)| count).sum();
        let damaged = reader.damage()?.least_rows_of(Io::TABLE.name);
        Ok(LostIos { ios: missed.saturating_add(damaged.unwrap_or(0)), is_damaged: damaged.is_some() })
    }

    /// Every I/O of the trace, in the order of queueing, until `take` has enough: the rest is not read.
    fn each(&self, take: &mut dyn FnMut(&TracedRequest<'_>) -> ControlFlow<()>) -> Result<(), SessionError> {
        if !self.is_recording {
            let options = ImportOptions { format: self.replay.format.clone(), ..ImportOptions::default() };
            let mut sorter = Sorter { rows: Vec::with_capacity(2 * BLOCK), take };
            let mut flow = ControlFlow::Continue(());
            import::read_trace_until(&self.replay.trace, &options, &mut |io| {
                flow = sorter.push(io);
                flow
            })?;
            if flow.is_continue() {
                let _ = sorter.give(sorter.rows.len());
            }
            return Ok(());
        }
        workload::traced::rows::each_traced_until(&Reader::open(&self.replay.trace)?, |io| {
            take(&TracedRequest {
                queue_ns: io.queue_ns,
                complete_ns: io.complete_ns,
                device: io.dev,
                op: io.op,
                flags: io.flags,
                offset: u64::try_from(io.sector).unwrap_or(0).saturating_mul(512),
                bytes: u64::try_from(io.bytes).unwrap_or(0),
                pid: io.pid,
                tid: io.tid,
                comm: io.comm,
                file: io.file,
            })
        })
        .map_err(SessionError::from)
    }

    /// One pass over the trace, to the end of the stretch that was asked for.
    pub(crate) fn survey(&self) -> Result<TraceSurvey, SessionError> {
        let mut survey = TraceSurvey::default();
        let mut first_ns = None;
        // Where packed devices lie does not depend on the stretch.
        let stretch = self.replay.for_ns.filter(|_| !self.is_packed());
        let until_ns = stretch.map_or(u64::MAX, |ns| ns.saturating_add(self.replay.from_ns).saturating_add(LATE_NS));
        self.each(&mut |io| {
            let first_ns = *first_ns.get_or_insert(io.queue_ns);
            if u64::try_from(io.queue_ns.saturating_sub(first_ns)).is_ok_and(|since_ns| since_ns >= until_ns) {
                return ControlFlow::Break(());
            }
            survey.ios += 1;
            survey.changing += u64::from(!matches!(io.op, "read" | "flush"));
            survey.span_ns = survey.span_ns.max(u64::try_from(io.queue_ns.saturating_sub(first_ns)).unwrap_or(0));
            survey.has_ends |= io.complete_ns.is_some();
            let end = io.offset.saturating_add(io.bytes);
            match survey.devices.get_mut(io.device) {
                Some((ios, reach)) => (*ios, *reach) = (*ios + 1, end.max(*reach)),
                None => drop(survey.devices.insert(io.device.to_string(), (1, end))),
            }
            ControlFlow::Continue(())
        })?;
        Ok(survey)
    }

    /// Do devices lie one after the other, as far as their addresses reach? That needs a pass over the trace first.
    pub(crate) fn is_packed(&self) -> bool {
        self.replay.maps.iter().any(|map| map.packed)
    }

    /// What maps the trace to targets of these sizes, at this speed.
    pub(crate) fn mapper(&self, sizes: &[VolumeSize], survey: &TraceSurvey, speed: f64) -> ReplayMapper {
        let reach = |device: &str| survey.devices.get(device).map_or(0, |(_, reach)| *reach);
        ReplayMapper::new(&self.replay, sizes, reach, speed)
    }

    /// Traced time ÷ replayed time. Where a rate was asked for, of all that is played, which takes a pass over the trace.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn speed(&self, sizes: &[VolumeSize], survey: &TraceSurvey) -> Result<f64, SessionError> {
        let rate = match self.replay.speed {
            ReplaySpeed::Factor(factor) => return Ok(factor),
            ReplaySpeed::PerSecond(_) if self.replay.pacing == ReplayPacing::Asap => return Ok(1.0),
            ReplaySpeed::PerSecond(rate) => rate,
        };
        let mut mapper = self.mapper(sizes, survey, 1.0);
        let mut last_ns = 0;
        self.each(&mut |io| {
            if mapper.is_over(io.queue_ns) {
                return ControlFlow::Break(());
            }
            mapper.map(io, &mut |_, source| last_ns = last_ns.max(source.since_ns));
            ControlFlow::Continue(())
        })?;
        let ios = mapper.changes.played.saturating_mul(u64::from(self.replay.copies.max(1)));
        Ok(if last_ns > 0 && ios > 0 { rate * last_ns as f64 / 1e9 / ios as f64 } else { 1.0 })
    }

    /// Everything that is to be played, in the order of due times, until `take` has enough.
    pub(crate) fn play(
        &self,
        mut mapper: ReplayMapper,
        take: &mut dyn FnMut(ReplayIo, TracePosition) -> ControlFlow<()>,
    ) -> Result<ReplayChanges, SessionError> {
        let copies = u64::from(self.replay.copies.max(1));
        let most = if self.replay.duplicate { self.replay.maps.len() as u64 } else { 1 };
        let spread_ns = most.saturating_sub(1) * self.replay.stagger_ns;
        let (waiting, stagger_ns) = (BinaryHeap::new(), self.replay.stagger_ns);
        let mut copier = Copier { copies, stagger_ns, spread_ns, waiting, number: 0 };
        let mut flow = ControlFlow::Continue(());
        for round in 0..self.replay.repeat.max(1) {
            if round > 0 {
                let shift_ns = (mapper.last_due_ns() / SECOND_NS + 1) * SECOND_NS;
                mapper.again(shift_ns);
            }
            self.each(&mut |io| {
                if mapper.is_over(io.queue_ns) {
                    return ControlFlow::Break(());
                }
                mapper.map(io, &mut |one, source| {
                    if flow.is_continue() {
                        flow = copier.push(one, source, take);
                    }
                });
                flow
            })?;
            if flow.is_break() {
                break;
            }
        }
        if flow.is_continue() {
            let _ = copier.give(u64::MAX, take);
        }
        Ok(mapper.changes)
    }
}

/// Plays each operation several times, at staggered times.
struct Copier {
    copies: u64,
    stagger_ns: u64,
    /// An operation that is given may be due so much after one that comes later.
    spread_ns: u64,
    waiting: BinaryHeap<Later>,
    number: u64,
}

/// By due time, then by number, the earliest first.
struct Later(u64, u64, ReplayIo, TracePosition);

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for Later {}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Later {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.0, other.1).cmp(&(self.0, self.1))
    }
}

impl Copier {
    fn push(
        &mut self,
        io: ReplayIo,
        source: TracePosition,
        take: &mut dyn FnMut(ReplayIo, TracePosition) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.copies == 1 && self.spread_ns == 0 {
            return take(io, source);
        }
        for copy in 0..self.copies {
            self.number += 1;
            let due_ns = io.due_ns + copy * self.stagger_ns;
            self.waiting.push(Later(due_ns, self.number, ReplayIo { due_ns, ..io }, source));
        }
        // Those to come may be due as early as this.
        let until_ns = io.due_ns.checked_sub(self.spread_ns);
        until_ns.map_or(ControlFlow::Continue(()), |until_ns| self.give(until_ns, take))
    }

    /// Gives everything that is due by then.
    fn give(
        &mut self,
        until_ns: u64,
        take: &mut dyn FnMut(ReplayIo, TracePosition) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while self.waiting.peek().is_some_and(|later| later.0 <= until_ns) {
            if let Some(Later(_, _, io, source)) = self.waiting.pop() {
                take(io, source)?;
            }
        }
        ControlFlow::Continue(())
    }
}
