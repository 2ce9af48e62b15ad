//! Addresses that follow each other: one or several streams, forward or backward, with or without gaps.

use super::OperationKind;
use super::jump::Jump;
use super::rng::Rng;
use super::space::Space;

/// How a sequential workload steps.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    /// Addresses are multiples of this.
    pub(crate) align: u64,
    pub(crate) once: bool,
    pub(crate) backward: bool,
    /// What is left over at both ends of an extent is covered with shorter transfers that end at multiples of this
    /// (1: of anything).
    pub(crate) ragged: Option<u64>,
    /// Gap between the starts of successive transfers, in multiples of `align`.
    pub(crate) stride: Option<(u64, u64)>,
    pub(crate) seek: Option<Seek>,
    /// With seeks that skip: so many bytes, from a smallest to a largest, on from the end of the operation before, in steps
    /// of the alignment or of the transfer.
    pub(crate) skip: Option<((u64, u64), Option<u64>)>,
}

/// Which operations seek, and where to.
#[derive(Clone, Debug)]
pub(crate) struct Seek {
    /// Random numbers up to this do.
    pub(crate) upto: u64,
    /// `None`: they skip.
    pub(crate) jump: Option<Jump>,
}

/// Sequential streams served in turn.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    steps: Steps,
    cursors: Vec<Cursor>,
    turn: usize,
}

#[derive(Clone, Debug)]
struct Cursor {
    space: Space,
    extent: usize,
    /// Where the next transfer starts (forward) or ends (backward); `None`: at the edge of `extent`.
    position: Option<u64>,
    done: bool,
}

impl Streams {
    /// Streams over `segments`; none of them: ends at once. Each begins at a random place for so many bytes, or at its
    /// beginning.
    pub(crate) fn new(steps: Steps, segments: Vec<Space>, start: Option<u64>, rng: &mut Rng) -> Self {
        let mut cursors = Vec::with_capacity(segments.len());
        for space in segments {
            let extent = if steps.backward { space.extents().len().saturating_sub(1) } else { 0 };
            let mut cursor = Cursor { space, extent, position: None, done: space.bytes() == 0 };
            if let Some(bytes) = start {
                cursor.begin(&steps, bytes, rng);
            }
            cursors.push(cursor);
        }
        Self { steps, cursors, turn: 0 }
    }

    /// Address and length of the next transfer of `bytes`; `None` at the end of a once-only order.
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng, op: OperationKind, bytes: u32) -> Option<(u64, u32)> {
        for _ in 0..self.cursors.len() {
            let turn = self.turn;
            self.turn = if turn + 1 >= self.cursors.len() { 0 } else { turn + 1 };
            let cursor = &mut self.cursors[turn];
            if !cursor.done
                && let Some(transfer) = cursor.next(&self.steps, rng, op, bytes)
            {
                return Some(transfer);
            }
        }
        None
    }
}

impl Cursor {
    #[inline]
    fn next(&mut self, steps: &Steps, rng: &mut Rng, op: OperationKind, bytes: u32) -> Option<(u64, u32)> {
        if let Some(seek) = &steps.seek
            && rng.next_u64() <= seek.upto
        {
            match &seek.jump {
                Some(jump) => self.go(jump.next(&self.space, rng, op, bytes), u64::from(bytes), steps.backward),
                None => self.skip(steps, u64::from(bytes), rng),
            }
        }
        // Every extent may turn out too small once, and the first one is then looked at again from its edge.
        for _ in 0..=self.space.extents().len() {
            if let Some((at, len)) = self.fit(steps, bytes) {
                self.leave(steps, rng, at, len);
                return Some((at, len));
            }
            if !self.next_extent(steps) {
                return None;
            }
        }
        None
    }

    /// The next transfer if it lies in the current extent.
    #[inline]
    fn fit(&self, steps: &Steps, bytes: u32) -> Option<(u64, u32)> {
        let extent = self.space.extents()[self.extent];
        let wide = u64::from(bytes);
        if let Some(unit) = steps.ragged {
            let (start, end) = if steps.backward {
                let end = self.position.unwrap_or(extent.end);
                if end <= extent.start {
                    return None;
                }
                let whole = if unit > 1 { (end - 1) % unit + 1 } else { wide };
                (end.saturating_sub(whole.min(wide)).max(extent.start), end)
            } else {
                let start = self.position.unwrap_or(extent.start);
                let whole = if unit > 1 { unit - start % unit } else { wide };
                (start, start.saturating_add(whole.min(wide)).min(extent.end))
            };
            let len = end.saturating_sub(start);
            return if len == 0 { None } else { Some((start, u32::try_from(len).unwrap_or(bytes))) };
        }
        if steps.backward {
            let start = self.position.unwrap_or(extent.end).min(extent.end).checked_sub(wide)?;
            let start = start - start % steps.align;
            (start >= extent.start).then_some((start, bytes))
        } else {
            let start = self.position.unwrap_or(extent.start).checked_next_multiple_of(steps.align)?;
            (start.checked_add(wide)? <= extent.end).then_some((start, bytes))
        }
    }

    /// Moves on from a transfer.
    #[inline]
    fn leave(&mut self, steps: &Steps, rng: &mut Rng, at: u64, len: u32) {
        let len = u64::from(len);
        let gap = match steps.stride {
            None => len,
            Some((min, max)) => (min + rng.below(max - min + 1)) * steps.align,
        };
        self.position = Some(match (steps.backward, steps.stride) {
            (false, None) => at + len,
            (false, Some(_)) => at + gap,
            (true, None) => at,
            (true, Some(_)) => (at + len).saturating_sub(gap),
        });
        if steps.backward && self.position <= Some(self.space.extents()[self.extent].start) {
            // Nothing is left below: the next call goes on to the next extent, or stops.
            self.position = Some(self.space.extents()[self.extent].start);
        }
    }

    /// False at the end of a once-only order.
    fn next_extent(&mut self, steps: &Steps) -> bool {
        let last = self.space.extents().len() - 1;
        let at_end = if steps.backward { self.extent == 0 } else { self.extent == last };
        if at_end && steps.once {
            self.done = true;
            return false;
        }
        self.position = None;
        self.extent = match (steps.backward, at_end) {
            (false, false) => self.extent + 1,
            (false, true) => 0,
            (true, false) => self.extent - 1,
            (true, true) => last,
        };
        true
    }

    /// On to the place at `at`.
    #[inline]
    fn go(&mut self, at: u64, bytes: u64, backward: bool) {
        self.extent = self.space.find(at).unwrap_or(0);
        self.position = Some(if backward { at + bytes } else { at });
    }

    /// To a random place for `bytes`, if there is one.
    fn begin(&mut self, steps: &Steps, bytes: u64, rng: &mut Rng) {
        let grid = self.space.places(bytes, None);
        if grid.len() > 0 {
            self.go(grid.at(rng.below(grid.len())), bytes, steps.backward);
        }
    }

    /// Skips from the end of the operation before; the first one is at the beginning, and so is one that would go past the
    /// end.
    #[inline]
    fn skip(&mut self, steps: &Steps, bytes: u64, rng: &mut Rng) {
        let (Some(position), Some(((min, max), align))) = (self.position, steps.skip) else { return };
        let step = align.unwrap_or(bytes);
        let at = position.saturating_add(min).saturating_add(rng.below(((max - min) / step).max(1)) * step);
        if at.saturating_add(bytes) <= self.space.extents()[self.extent].end {
            self.position = Some(at);
        } else {
            self.extent = if self.extent + 1 < self.space.extents().len() { self.extent + 1 } else { 0 };
            self.position = None;
        }
    }
}

/// The segments of `part`, when `space` is divided into `streams` pieces (or more, when there are more parts than
/// streams) at multiples of `unit`, fewer when a piece would not do (`fits`). A part that is left without a piece gets
/// none in a `once`-only order and shares one otherwise.
pub(crate) fn segments(
    space: &Space,
    streams: u32,
    unit: u64,
    fits: impl Fn(&Space) -> bool,
    part: super::GeneratorPart,
    once: bool,
) -> Vec<Space> {
    let (streams, parts) = (u64::from(streams.max(1)), u64::from(part.count));
    let mut pieces = streams.max(streams.saturating_mul(parts.div_ceil(streams)));
    let all = loop {
        let all = cut(space, pieces, unit);
        if pieces == 1 || all.iter().all(&fits) {
            break all;
        }
        pieces = (pieces / 2).min(all.len() as u64).max(1);
    };
    let (index, step) = (part.index as usize, part.count as usize);
    if index >= all.len() && !once {
        return vec![all[index % all.len()]];
    }
    all.into_iter().skip(index).step_by(step).collect()
}

/// `space` in at most `pieces` pieces of whole units; what is left over goes to the first and the last.
fn cut(space: &Space, pieces: u64, unit: u64) -> Vec<Space> {
    let total = space.bytes();
    let head = space.extents().first().map_or(0, |first| first.start.next_multiple_of(unit) - first.start).min(total);
    let units = (total - head) / unit;
    let pieces = pieces.min(units).max(1);
    let edge = |i: u64| match i {
        0 => 0,
        i if i == pieces => total,
        i => {
            let units = u128::from(units) * u128::from(i) / u128::from(pieces);
            head + u64::try_from(units).unwrap_or(0) * unit
        }
    };
    (0..pieces).map(|i| space.slice(edge(i), edge(i + 1))).collect()
}
