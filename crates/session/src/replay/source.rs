//! Where the operations of a replay come from: a recording with a trace, or another tool's trace.

use crate::SessionError;
use convert::import::{self, Options};
use plan::replay::{Changes, Mapper, ReplayIo, Source, Traced, VolumeSize};
use plan::{Plan, Replay, replay::Speed};
use recording::Reader;
use recording::rows::Io;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use target::Opened;

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
pub struct Survey {
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

/// Reads a trace once, to know what it holds.
///
/// # Errors
/// There is no trace, or it is damaged.
pub fn survey(replay: &Replay) -> Result<Survey, SessionError> {
    Tape::open(replay)?.survey()
}

/// What of a trace would be played on targets of these sizes: `(index in the plan, bytes)`.
///
/// # Errors
/// See [`survey`].
pub fn rehearse(replay: &Replay, survey: &Survey, sizes: &[VolumeSize]) -> Result<(Changes, u64), SessionError> {
    let tape = Tape::open(replay)?;
    let reach = |device: &str| survey.devices.get(device).map_or(0, |(_, reach)| *reach);
    let mapper = Mapper::new(replay, sizes, reach, tape.speed(survey));
    let mut last_ns = 0;
    let changes = tape.play(mapper, &mut |io, _| {
        last_ns = last_ns.max(io.due_ns);
        ControlFlow::Continue(())
    })?;
    Ok((changes, last_ns))
}

/// Gives what it is given to `take` in the order of queueing, a block in memory.
struct Sorter<'a> {
    rows: Vec<Io>,
    take: &'a mut dyn FnMut(&Traced<'_>),
}

impl Sorter<'_> {
    fn push(&mut self, io: Io) {
        self.rows.push(io);
        if self.rows.len() >= 2 * BLOCK {
            self.give(BLOCK);
        }
    }

    fn give(&mut self, count: usize) {
        self.rows.sort_by_key(|io| io.queue_ns);
        for io in self.rows.drain(..count) {
            let text = |label: &Option<recording::Label>| label.clone();
            let (flags, comm, file) = (text(&io.flags), text(&io.comm), text(&io.file));
            (self.take)(&Traced {
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
            });
        }
    }
}

impl Tape {
    /// The trace that a wish names.
    ///
    /// # Errors
    /// There is nothing there, or a recording without a trace.
    pub(crate) fn open(replay: &Replay) -> Result<Self, SessionError> {
        let is_recording = replay.format.is_none() && replay.trace.join("manifest.json").exists();
        if is_recording {
            let reader = Reader::open(&replay.trace)?;
            if !reader.tables()?.iter().any(|table| table == "io") {
                return Err(SessionError::NoTrace(replay.trace.clone()));
            }
        }
        Ok(Self { replay: replay.clone(), is_recording })
    }

    /// What the recording says that it lost.
    pub(crate) fn losses(&self) -> u64 {
        if !self.is_recording {
            return 0;
        }
        let losses = Reader::open(&self.replay.trace).map(|reader| reader.manifest().losses.clone());
        let counts = |name: &String| name.starts_with("trace_") && name != "trace_names";
        losses.map_or(0, |losses| losses.iter().filter(|(name, _)| counts(name)).map(|(_, count)| count).sum())
    }

    /// Every I/O of the trace, in the order of queueing.
    fn each(&self, take: &mut dyn FnMut(&Traced<'_>)) -> Result<(), SessionError> {
        if !self.is_recording {
            let options = Options { format: self.replay.format.clone(), ..Options::default() };
            let mut sorter = Sorter { rows: Vec::with_capacity(2 * BLOCK), take };
            import::read_trace(&self.replay.trace, &options, &mut |io| sorter.push(io))?;
            sorter.give(sorter.rows.len());
            return Ok(());
        }
        analyze::each_traced(&Reader::open(&self.replay.trace)?, |io| {
            take(&Traced {
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
            });
        })
        .map_err(SessionError::from)
    }

    /// One pass over the trace.
    pub(crate) fn survey(&self) -> Result<Survey, SessionError> {
        let mut survey = Survey::default();
        let mut first_ns = None;
        self.each(&mut |io| {
            let first_ns = *first_ns.get_or_insert(io.queue_ns);
            survey.ios += 1;
            survey.changing += u64::from(!matches!(io.op, "read" | "flush"));
            survey.span_ns = survey.span_ns.max(u64::try_from(io.queue_ns.saturating_sub(first_ns)).unwrap_or(0));
            survey.has_ends |= io.complete_ns.is_some();
            let end = io.offset.saturating_add(io.bytes);
            match survey.devices.get_mut(io.device) {
                Some((ios, reach)) => (*ios, *reach) = (*ios + 1, end.max(*reach)),
                None => drop(survey.devices.insert(io.device.to_string(), (1, end))),
            }
        })?;
        Ok(survey)
    }

    /// Is a pass over the trace needed before it can be played?
    pub(crate) fn needs_survey(&self) -> bool {
        matches!(self.replay.speed, Speed::PerSecond(_)) || self.replay.maps.iter().any(|map| map.packed)
    }

    /// What maps the trace to `targets`.
    pub(crate) fn mapper(&self, plan: &Plan, targets: &[Option<Opened>], survey: &Survey) -> Mapper {
        let sizes: Vec<VolumeSize> = targets
            .iter()
            .enumerate()
            .filter_map(|(target, opened)| {
                let opened = opened.as_ref()?;
                let block_bytes = u64::from(opened.logical_block_bytes).max(if opened.direct { 512 } else { 1 });
                let bytes = plan.targets.get(target).and_then(|spec| spec.size_bytes);
                Some(VolumeSize {
                    target,
                    bytes: bytes.map_or(opened.size_bytes, |b| b.min(opened.size_bytes)),
                    block_bytes,
                })
            })
            .collect();
        let reach = |device: &str| survey.devices.get(device).map_or(0, |(_, reach)| *reach);
        Mapper::new(&self.replay, &sizes, reach, self.speed(survey))
    }

    /// Traced time ÷ replayed time.
    pub(crate) fn speed(&self, survey: &Survey) -> f64 {
        match self.replay.speed {
            Speed::Factor(factor) => factor,
            Speed::PerSecond(rate) if survey.span_ns > 0 => rate * survey.span_ns as f64 / 1e9 / survey.ios as f64,
            Speed::PerSecond(_) => 1.0,
        }
    }

    /// Everything that is to be played, in the order of due times, until `take` has enough.
    pub(crate) fn play(
        &self,
        mut mapper: Mapper,
        take: &mut dyn FnMut(ReplayIo, Source) -> ControlFlow<()>,
    ) -> Result<Changes, SessionError> {
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
                if flow.is_continue() && !mapper.is_over(io.queue_ns) {
                    mapper.map(io, &mut |one, source| {
                        if flow.is_continue() {
                            flow = copier.push(one, source, take);
                        }
                    });
                }
            })?;
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
struct Later(u64, u64, ReplayIo, Source);

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
        source: Source,
        take: &mut dyn FnMut(ReplayIo, Source) -> ControlFlow<()>,
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
    fn give(&mut self, until_ns: u64, take: &mut dyn FnMut(ReplayIo, Source) -> ControlFlow<()>) -> ControlFlow<()> {
        while self.waiting.peek().is_some_and(|later| later.0 <= until_ns) {
            if let Some(Later(_, _, io, source)) = self.waiting.pop() {
                take(io, source)?;
            }
        }
        ControlFlow::Continue(())
    }
}
