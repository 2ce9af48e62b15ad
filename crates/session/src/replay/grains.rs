//! Of what all addresses and lengths of traces are multiples, where they are played: known before anything is.

use super::source::Tape;
use crate::SessionError;
use crate::sync::flags_of;
use plan::generate::OperationKind;
use plan::replay::{ReplayIo, VolumeSize};
use plan::{Plan, Replay, Workload};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Bytes of a sector.
const SECTOR: u64 = stamp::SECTOR_BYTES as u64;

/// What replays do to a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TracedGrain {
    /// The largest number of which all addresses and lengths are multiples; 0: there are none.
    pub(crate) bytes: u64,
    /// Address and length of an I/O that does not begin and end between sectors.
    odd: Option<(u64, u64)>,
}

impl TracedGrain {
    fn add(&mut self, io: &ReplayIo) {
        let (offset, bytes) = (io.offset, u64::from(io.bytes));
        // Most of a trace changes nothing.
        if self.bytes > 0 && offset.is_multiple_of(self.bytes) && bytes.is_multiple_of(self.bytes) {
            return;
        }
        self.bytes = common(common(self.bytes, offset), bytes);
        if !self.bytes.is_multiple_of(SECTOR) {
            self.odd.get_or_insert((offset, bytes));
        }
    }

    /// Why the data of a target with this name cannot be validated; `None`: it can.
    pub(crate) fn mistake(&self, target: &str) -> Option<String> {
        let (offset, bytes) = self.odd?;
        Some(format!(
            "{target}: data is validated by sectors of 512 bytes, and the trace has an I/O of {bytes} bytes at {offset}: play it past the \
             page cache (without --buffered, with openflags=o_direct, with direct=1), where I/Os are rounded to whole sectors"
        ))
    }
}

fn common(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// By target, what the replays of a plan do on targets of these sizes. Takes a pass over each trace.
///
/// # Errors
/// There is no trace, or it cannot be read.
pub(crate) fn grains(plan: &Plan, sizes: &[VolumeSize]) -> Result<BTreeMap<usize, TracedGrain>, SessionError> {
    let mut all: BTreeMap<usize, TracedGrain> = BTreeMap::new();
    for replay in replays(plan).filter_map(|workload| workload.replay.as_deref()) {
        // Where an I/O goes does not depend on when.
        let once = Replay { repeat: 1, copies: 1, ..replay.clone() };
        let tape = Tape::open(&once)?;
        let survey = if tape.is_packed() { tape.survey()? } else { Default::default() };
        tape.play(tape.mapper(sizes, &survey, 1.0), &mut |io, _| {
            if io.op == OperationKind::Flush {
                return ControlFlow::Continue(());
            }
            let grain = all.entry(io.target as usize).or_default();
            grain.add(&io);
            // Nothing that follows makes it better.
            if grain.odd.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    Ok(all)
}

fn replays(plan: &Plan) -> impl Iterator<Item = &Workload> {
    plan.runs.iter().flat_map(|run| &run.workloads).filter(|workload| workload.replay.is_some())
}

/// Does any replay use a target through the page cache, where I/Os of any length are played as they are?
fn is_cached(plan: &Plan, target: usize) -> bool {
    let mut uses = replays(plan).filter(|workload| workload.targets.contains(&target));
    plan.targets.get(target).is_some_and(|spec| uses.any(|workload| !flags_of(spec, workload).direct))
}

/// The targets of a plan's replays as they are before they are opened; `bytes`: of each, where that is known.
pub(crate) fn expected_sizes(plan: &Plan, bytes: impl Fn(usize) -> Option<u64>) -> Vec<VolumeSize> {
    let size = |target: usize| {
        let block_bytes = if is_cached(plan, target) { 1 } else { SECTOR };
        VolumeSize { target, bytes: bytes(target).unwrap_or(1 << 62), block_bytes }
    };
    let is_used = |target: &usize| replays(plan).any(|workload| workload.targets.contains(target));
    (0..plan.targets.len()).filter(is_used).map(size).collect()
}

/// Why traces cannot be validated that are to be, as far as that is known before anything is opened.
///
/// # Errors
/// There is no trace, or it cannot be read.
pub(crate) fn mistakes(plan: &Plan, bytes: impl Fn(usize) -> Option<u64>) -> Result<Vec<String>, SessionError> {
    // Otherwise all is rounded.
    if plan.settings.validation.is_none() || !(0..plan.targets.len()).any(|target| is_cached(plan, target)) {
        return Ok(Vec::new());
    }
    let grains = grains(plan, &expected_sizes(plan, bytes))?;
    Ok(grains.iter().filter_map(|(target, grain)| grain.mistake(plan.place_name(*target))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grain_divides_every_place_and_length() {
        let io = |offset, bytes| ReplayIo {
            due_ns: 0,
            offset,
            bytes,
            target: 0,
            op: OperationKind::Write,
            durable: false,
            zeroes: false,
            after: 0,
            think_ns: 0,
        };
        let of = |ios: &[(u64, u32)]| {
            let mut grain = TracedGrain::default();
            ios.iter().for_each(|(offset, bytes)| grain.add(&io(*offset, *bytes)));
            grain
        };
        assert_eq!(of(&[(0, 65_536)]).bytes, 65_536);
        assert_eq!(of(&[(0, 65_536), (8192, 4096), (65_536, 65_536)]).bytes, 4096);
        assert_eq!(of(&[(0, 4096), (1536, 1024)]), TracedGrain { bytes: 512, odd: None });
        let odd = of(&[(0, 4096), (4096, 700), (3, 512)]);
        assert_eq!(odd.odd, Some((4096, 700)), "the first");
        assert!(odd.mistake("sd1").is_some_and(|why| why.contains("700 bytes at 4096")));
    }
}
