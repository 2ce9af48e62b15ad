//! Several targets as one address space, one behind the other.

use super::operation::Operation;
use super::operations::Operations;
use super::space::Window;
use super::{GenerateError, GeneratorPart, OperationKind, TargetGeometry};
use crate::spec::{AddressPattern, TargetSpec, TransferSize, Workload};
use std::path::PathBuf;

/// The stream of operations of one workload on all its targets joined; see [`JoinedStream::next`].
#[derive(Clone, Debug)]
pub struct JoinedStream {
    operations: Operations,
    pieces: Vec<Piece>,
    /// The member of the last operation: a flush goes there.
    last: usize,
    /// What lies behind a border of the operation before.
    rest: Option<Operation>,
}

/// A part of the joined space that lies on one target.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// First address behind it in the joined space.
    end: u64,
    /// Which target, counted in the workload.
    member: usize,
    /// Where it begins in the joined space and on the target.
    start: u64,
    offset: u64,
}

impl JoinedStream {
    /// The stream of `workload` on `members`, in their order. Its range, hot band and hit area are those of the joined
    /// space; of each member, the part counts that its own range leaves, in multiples of the largest transfer.
    ///
    /// # Errors
    /// As [`Operations::new`].
    pub fn new(
        workload: &Workload,
        members: &[(&TargetSpec, TargetGeometry)],
        seed: u64,
    ) -> Result<Self, GenerateError> {
        let plain = Workload { address: AddressPattern::default(), ..workload.clone() };
        let align = members.iter().filter_map(|(spec, _)| spec.align_bytes).max();
        let align = workload.address.align_bytes.or(align).unwrap_or(1).max(1);
        let unit = workload.transfers().into_iter().map(TransferSize::max_bytes).max().unwrap_or(1).max(1);
        let grain = members.iter().filter_map(|(spec, _)| spec.grain_bytes).max();
        let unit = unit.max(grain.unwrap_or(1)).next_multiple_of(align);
        let (mut pieces, mut bytes) = (Vec::with_capacity(members.len()), 0);
        for (member, (spec, geometry)) in members.iter().enumerate() {
            // Of joined targets with a grain, Vdbench never uses the first block of any, be it a device or a file.
            let spec = TargetSpec { skip_first_block: spec.skip_first_block || grain.is_some(), ..(*spec).clone() };
            let window = Window::of(&plain, &spec, *geometry)?;
            for extent in window.misses.extents() {
                let (from, to) = (extent.start.next_multiple_of(unit), extent.end - extent.end % unit);
                if from < to {
                    let start = bytes;
                    bytes += to - from;
                    pieces.push(Piece { end: bytes, member, start, offset: from + window.shift });
                }
            }
        }
        let whole = TargetSpec {
            name: "concat".to_string(),
            path: PathBuf::new(),
            size_bytes: None,
            layout: None,
            depth: 1,
            open: crate::spec::OpenFlags::default(),
            range: None,
            hit_area_bytes: members.first().map_or(0, |(spec, _)| spec.hit_area_bytes),
            offset_bytes: 0,
            align_bytes: (align > 1).then_some(align),
            skip_first_block: false,
            grain_bytes: grain,
            unlink: false,
            span: workload.span,
        };
        let block_bytes = members.iter().map(|(_, geometry)| geometry.block_bytes).max().unwrap_or(1);
        let geometry = TargetGeometry { size_bytes: bytes, block_bytes };
        let operations = Operations::new(workload, &whole, geometry, seed, GeneratorPart::WHOLE)?;
        Ok(Self { operations, pieces, last: 0, rest: None })
    }

    /// Bytes that the workload may touch of all members together.
    pub fn range_bytes(&self) -> u64 {
        self.operations.range_bytes()
    }

    /// The next operation and its member; `None` at the end of a once-only order. What crosses a border is two
    /// operations.
    #[expect(clippy::should_implement_trait, reason = "as `Operations::next`")]
    #[inline]
    pub fn next(&mut self) -> Option<(usize, Operation)> {
        let whole = match self.rest.take() {
            Some(rest) => rest,
            None => self.operations.next()?,
        };
        if whole.op == OperationKind::Flush {
            return Some((self.last, whole));
        }
        let at = self.pieces.partition_point(|piece| piece.end <= whole.offset);
        let piece = self.pieces.get(at)?;
        self.last = piece.member;
        let offset = whole.offset - piece.start + piece.offset;
        let Some(bytes) = u32::try_from(piece.end - whole.offset).ok().filter(|room| *room < whole.bytes) else {
            return Some((piece.member, Operation { offset, ..whole }));
        };
        self.rest = Some(Operation { offset: piece.end, bytes: whole.bytes - bytes, ..whole });
        Some((piece.member, Operation { offset, bytes, ..whole }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{target, workload};
    use super::*;
    use crate::spec::{AddressOrder, AddressRange, RangeBound};

    const SIZES: [u64; 3] = [1 << 20, 3 << 20, (2 << 20) + 4096];

    fn joined(workload: &Workload, targets: &[TargetSpec]) -> JoinedStream {
        let geometry = |size_bytes| TargetGeometry { size_bytes, block_bytes: 512 };
        let members: Vec<_> = targets.iter().zip(SIZES).map(|(spec, size)| (spec, geometry(size))).collect();
        JoinedStream::new(workload, &members, 1).unwrap()
    }

    fn all(joined: &mut JoinedStream, count: usize) -> Vec<(usize, Operation)> {
        std::iter::from_fn(|| joined.next()).take(count).collect()
    }

    #[test]
    fn sequential_order_goes_on_across_the_borders() {
        let mut workload = workload();
        workload.address.order = AddressOrder::Sequential { once: true, backward: false };
        workload.transfer = TransferSize::Fixed(65536);
        let operations = all(&mut joined(&workload, &[target(), target(), target()]), 1000);
        let expect: Vec<(usize, u64)> =
            (0..3).flat_map(|member| (0..SIZES[member] / 65536).map(move |block| (member, block * 65536))).collect();
        let found: Vec<(usize, u64)> = operations.iter().map(|(member, one)| (*member, one.offset)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn random_addresses_reach_all_members_by_their_size() {
        let mut workload = workload();
        let shifted = TargetSpec { offset_bytes: 1 << 19, skip_first_block: true, ..target() };
        let targets = [target(), shifted, target()];
        let mut counts = [0.0_f64; 3];
        for (member, one) in all(&mut joined(&workload, &targets), 60_000) {
            assert!(one.offset + u64::from(one.bytes) <= SIZES[member] && one.offset % 4096 == 0);
            assert!(member != 1 || one.offset >= (1 << 19) + 4096, "{one:?}");
            counts[member] += 1.0;
        }
        let usable = [1 << 20, (3 << 20) - (1 << 19) - 4096, (2 << 20) + 4096].map(|bytes: i32| f64::from(bytes));
        let sum: f64 = usable.iter().sum();
        for (found, bytes) in counts.iter().zip(usable) {
            let share = bytes / sum;
            let bound = 5.0 * (60_000.0 * share * (1.0 - share)).sqrt();
            assert!((found - 60_000.0 * share).abs() < bound, "{counts:?}");
        }
        // A range is one of the whole.
        workload.address.range =
            Some(AddressRange { low: RangeBound::Bytes(2 << 20), high: RangeBound::Bytes(4 << 20) });
        let inside = all(&mut joined(&workload, &[target(), target(), target()]), 5000);
        assert!(inside.iter().all(|(member, one)| *member == 1 && one.offset >= 1 << 20));
    }

    #[test]
    fn what_crosses_a_border_is_two_operations() {
        let mut workload = workload();
        workload.address.order = AddressOrder::Sequential { once: true, backward: false };
        workload.transfer = TransferSize::Mix(vec![(4096, 0.5), (12288, 0.5)]);
        let mut joined = joined(&workload, &[target(), target(), target()]);
        let operations = all(&mut joined, 100_000);
        let mut next = [0_u64; 3];
        for (member, one) in &operations {
            assert_eq!(one.offset, next[*member], "no gap");
            next[*member] += u64::from(one.bytes);
        }
        assert_eq!(next, SIZES.map(|size| size - size % 12288), "each member whole, in the largest transfers");
        assert!(operations.is_sorted_by_key(|(member, _)| *member));
    }
}
