//! Holds a replay against its trace, and writes what comes of it.

use super::{Playback, at};
use crate::SessionError;
use crate::batch_sink::Spine;
use crate::run_context::RunContext;
use monitor::signed;
use plan::generate::OperationKind;
use plan::replay::{ReplayChanges, ReplayIo, ReplayPacing};
use quantity::clock;
use quantity::histogram::Histogram;
use rates::counter::ratio;
use rates::cpu_time::CpuDelta;
use recording::rows::{Cpu, EngineInterval, Fidelity, FidelityInterval};
use recording::{EventKind, EventSeverity, Reader};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, sync_channel};
use workload::fidelity::{FidelityComparison, FidelityVerdict, OperationKey, ReplayCircumstances};

/// Operations of the trace that are looked at ahead of the replay: they may come so much too early, …
const AHEAD_NS: u64 = 2_000_000_000;
/// … and so many, which is more than can be in flight. A replay far behind its trace's clock keeps no more in memory.
const AHEAD_IOS: u64 = 1 << 16;
/// Operations that are handed over at once.
const CHUNK: usize = 4096;
/// Sub-buckets per octave of stored intervals, as a power of two.
const STORED: u32 = 5;
const SECOND_NS: u64 = 1_000_000_000;

/// Kinds of [`OperationKey::op`].
const FLUSH: u8 = 3;
/// See [`FLUSH`].
const ZEROES: u8 = 4;

/// What is known of the replay besides its rows.
pub(super) struct Around {
    pub(super) changes: ReplayChanges,
    pub(super) losses: u64,
    pub(super) is_cut: bool,
}

/// What should have been done: key, due, traced response.
type Expected = (OperationKey, u64, Option<u64>);

/// Compares, and writes the comparison into the recording.
pub(super) fn report(
    playback: &Playback,
    context: &RunContext<'_>,
    spine: &mut Spine<'_>,
    around: &Around,
) -> Result<(), SessionError> {
    let reader = Reader::open(spine.directory())?;
    let comparison = match &playback.watched {
        Some(_) => Some(compare(playback, context, &reader, around.is_cut)?),
        None => None,
    };
    let hindrances = &playback.hindrances;
    let lost = playback.tape.lost()?;
    let circumstances = ReplayCircumstances {
        caused: caused(&reader, context.run_index)?,
        // Without times to keep, as many in flight as the cap allows is what was asked for.
        capped: if playback.pacing == ReplayPacing::Asap { 0 } else { hindrances.capped() },
        starved: hindrances.starved(),
        deferred: (context.validation.is_some() && playback.pacing != ReplayPacing::Asap)
            .then(|| hindrances.deferred()),
        errors: playback.errors,
        left_out: around.changes.left_out(),
        source_losses: lost.ios,
        is_source_damaged: lost.is_damaged,
        losses: around.losses,
        on_time: playback.pacing == ReplayPacing::OnTime,
        is_cut: around.is_cut,
        is_ordinary: hindrances.is_ordinary(),
        stolen: stolen(&reader, playback)?,
    };
    let verdict = FidelityVerdict::of(comparison.as_ref(), &circumstances);
    let t_ns = clock::now_ns();
    let rows: Vec<Fidelity> = verdict
        .measures
        .iter()
        .map(|measure| Fidelity {
            t_ns: signed(t_ns),
            t_s: spine.seconds(t_ns),
            run: context.title.to_string(),
            run_index: context.run_index,
            measure: measure.name.to_string(),
            unit: measure.unit.to_string(),
            source: measure.source,
            replay: measure.replay,
            error: measure.error,
            limit: measure.limit,
            kept: measure.is_kept,
        })
        .collect();
    spine.rows(&rows)?;
    if let Some(comparison) = &comparison {
        spine.rows(&seconds(playback, context, spine, comparison))?;
    }
    let severity = if verdict.is_faithful { EventSeverity::Info } else { EventSeverity::Warning };
    let sentence = format!("{}: {}", context.title, verdict.sentence);
    spine.event(severity, EventKind::Fidelity, Some(context.title), None, &sentence)?;
    spine.messages.push(sentence);
    spine.is_faithful &= verdict.is_faithful;
    Ok(())
}

/// The lateness that the player itself caused.
fn caused(reader: &Reader, run_index: i32) -> Result<Histogram, SessionError> {
    let mut sum = Histogram::new(STORED);
    for row in reader.table::<EngineInterval>()?.iter().filter(|row| row.run_index == run_index) {
        sum.merge(&row.wait);
    }
    Ok(sum)
}

/// The part of the time of the player's CPUs that a hypervisor gave to others.
fn stolen(reader: &Reader, playback: &Playback) -> Result<Option<f64>, SessionError> {
    let rows = reader.table::<Cpu>()?;
    let is_ours = |row: &&Cpu| match playback.cpus.as_slice() {
        [] => row.cpu == "all",
        cpus => row.cpu.parse().is_ok_and(|cpu: u32| cpus.contains(&cpu)),
    };
    let mut ours: HashMap<&str, (&Cpu, &Cpu)> = HashMap::new();
    for row in
        rows.iter().filter(is_ours).filter(|row| row.t_ns >= signed(playback.started_ns.saturating_sub(SECOND_NS)))
    {
        ours.entry(&row.cpu).or_insert((row, row)).1 = row;
    }
    let deltas: Vec<CpuDelta> = ours.values().map(|(first, last)| CpuDelta::of(last, first)).collect();
    let stolen_ns: f64 = deltas.iter().filter_map(|delta| delta.steal).sum();
    Ok(ratio(stolen_ns, deltas.iter().map(CpuDelta::whole).sum()))
}

fn seconds(
    playback: &Playback,
    context: &RunContext<'_>,
    spine: &Spine<'_>,
    comparison: &FidelityComparison,
) -> Vec<FidelityInterval> {
    let row = |(second, both): (&u64, &workload::fidelity::FidelitySecond)| {
        let t_ns = at(playback.started_ns, (second + 1) * SECOND_NS);
        let taken = |merger: &quantity::histogram::HistogramMerger| merger.clone().take().collapse(STORED);
        FidelityInterval {
            t_ns,
            t_s: spine.seconds(t_ns.unsigned_abs()),
            interval_ns: signed(SECOND_NS),
            run: context.title.to_string(),
            run_index: context.run_index,
            source_ios: signed(both.ios[0]),
            replay_ios: signed(both.ios[1]),
            source_bytes: signed(both.bytes[0]),
            replay_bytes: signed(both.bytes[1]),
            late: taken(&both.late),
            source_response: taken(&both.source_response),
            replay_response: taken(&both.response),
        }
    };
    comparison.seconds.iter().map(row).collect()
}

fn kind(io: &ReplayIo) -> u8 {
    match io.op {
        OperationKind::Read => 0,
        OperationKind::Write => 1,
        OperationKind::Trim if io.zeroes => ZEROES,
        OperationKind::Trim => 2,
        // Of blocks, which a trace consists of, the only kind that is left.
        _ => FLUSH,
    }
}

fn kind_of(name: &str) -> Option<u8> {
    Some(match name {
        "read" => 0,
        "write" => 1,
        "discard" | "secure_erase" => 2,
        "flush" => FLUSH,
        "write_zeroes" => ZEROES,
        _ => return None,
    })
}

/// The trace as it should have been played, against the rows of the replay's own tracing.
/// Of one that was stopped, only what had been handed over until then is expected, and no more is read.
fn compare(
    playback: &Playback,
    context: &RunContext<'_>,
    reader: &Reader,
    is_cut: bool,
) -> Result<FidelityComparison, SessionError> {
    let Some(watched) = &playback.watched else { return Ok(FidelityComparison::default()) };
    let sizes = super::source::sizes(context.plan, context.targets);
    let mapper = playback.tape.mapper(&sizes, &playback.survey, playback.speed);
    let (send, receive) = sync_channel::<Vec<Expected>>(4);
    let mut comparison = FidelityComparison::default();
    std::thread::scope(|scope| {
        let tape = &playback.tape;
        let reading = scope.spawn(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            let played = tape.play(mapper, &mut |io, source| {
                let key = OperationKey { target: io.target, op: kind(&io), offset: io.offset, bytes: io.bytes };
                chunk.push((key, io.due_ns, source.response_ns));
                if chunk.len() < CHUNK {
                    return ControlFlow::Continue(());
                }
                match send.send(std::mem::take(&mut chunk)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            let _ = send.send(chunk);
            played.map(|_| ())
        });
        let left = if is_cut { playback.hindrances.handed_over() } else { u64::MAX };
        let mut trace = Ahead { receive, chunk: Vec::new().into_iter(), left };
        let is_on_time = playback.pacing == ReplayPacing::OnTime;
        let started_ns = signed(playback.started_ns);
        let pid = i32::try_from(std::process::id()).unwrap_or(-1);
        let mut late = trace.chunk.next();
        workload::traced::rows::each_traced(reader, |io| {
            let Some(((target, start), op)) = watched.devices.get(io.dev).copied().zip(kind_of(io.op)) else { return };
            if io.pid != pid || io.queue_ns < started_ns {
                return;
            }
            let t_ns = io.queue_ns - started_ns;
            while comparison.source.count() < comparison.replay.count() + AHEAD_IOS {
                let Some(expected) = late.take().or_else(|| trace.next()) else { break };
                if is_on_time && expected.1 > t_ns.unsigned_abs() + AHEAD_NS {
                    late = Some(expected);
                    break;
                }
                comparison.expect(expected.0, expected.1, expected.2);
            }
            let offset = if op == FLUSH {
                0
            } else {
                u64::try_from(io.sector.saturating_mul(512).saturating_sub(start)).unwrap_or(u64::MAX)
            };
            let bytes = u32::try_from(io.bytes).unwrap_or(u32::MAX);
            let response_ns = io.complete_ns.and_then(|end| u64::try_from(end.saturating_sub(io.queue_ns)).ok());
            comparison.observe(OperationKey { target, op, offset, bytes }, t_ns, response_ns);
        })?;
        late.into_iter().chain(&mut trace).for_each(|(key, due_ns, response)| comparison.expect(key, due_ns, response));
        drop(trace);
        reading.join().unwrap_or(Ok(()))
    })?;
    Ok(comparison)
}

/// What was read ahead.
struct Ahead {
    receive: Receiver<Vec<Expected>>,
    chunk: std::vec::IntoIter<Expected>,
    /// No more than so many.
    left: u64,
}

impl Iterator for Ahead {
    type Item = Expected;

    fn next(&mut self) -> Option<Expected> {
        self.left = self.left.checked_sub(1)?;
        loop {
            if let Some(one) = self.chunk.next() {
                return Some(one);
            }
            self.chunk = self.receive.recv().ok()?.into_iter();
        }
    }
}
