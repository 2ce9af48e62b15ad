//! What a run may issue in all (`StopCondition`), shared by all workers.

use crate::RunInput;
use crate::pool::used_targets;
use plan::DataLimit;
use plan::generate::{Operation, OperationKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Operations and bytes that the run may still issue. Charged before an operation is issued, so that a limit is exact
/// for operations, and to one transfer for bytes: the one that reaches it is the last.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    operations: Option<AtomicU64>,
    /// Of reads and writes together, reads, writes.
    bytes: [Option<Meter>; 3],
    /// Both count from here on: the warm-up does not.
    from_ns: u64,
    /// Operations due from here on (time of the run) do not belong to the run: its length does not depend on when a
    /// thread checks.
    end_ns: Option<u64>,
    spent: AtomicBool,
}

/// Bytes charged of a limit.
#[derive(Debug)]
struct Meter {
    charged: AtomicU64,
    limit: u64,
}

impl Budget {
    /// The budget of a run.
    pub(crate) fn new(input: &RunInput<'_>) -> Self {
        let stop = &input.run.stop;
        let limit = |limit: DataLimit| Meter { charged: AtomicU64::new(0), limit: limit_bytes(input, limit) };
        let warmup_ns = if input.run.format { 0 } else { input.run.warmup_ns };
        Self {
            bytes: [stop.total, stop.read, stop.written].map(|given| given.map(limit)),
            from_ns: warmup_ns,
            end_ns: input.run.elapsed_ns.map(|elapsed| warmup_ns.saturating_add(elapsed)),
            operations: stop.operations.map(AtomicU64::new),
            spent: AtomicBool::new(false),
        }
    }

    /// The time of a run, and all that it has time for: what commands may do.
    pub(crate) fn of_time(input: &RunInput<'_>) -> Self {
        Self { end_ns: Self::new(input).end_ns, ..Self::default() }
    }

    /// So many operations.
    pub(crate) fn of_operations(operations: u64) -> Self {
        Self { operations: Some(AtomicU64::new(operations)), ..Self::default() }
    }

    /// When nothing is granted any more, ns of the run.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        self.end_ns
    }

    /// Is there a limit of operations or bytes?
    pub(crate) fn is_limited(&self) -> bool {
        self.operations.is_some() || self.bytes.iter().any(Option::is_some)
    }

    /// Was an operation refused? Then none is granted any more.
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed)
    }

    /// Takes an operation out that was due at this time of the run; false when it may not be issued.
    #[inline]
    pub(crate) fn take(&self, operation: &Operation, due_ns: u64) -> bool {
        let in_time = self.end_ns.is_none_or(|end_ns| due_ns < end_ns);
        if in_time && !self.is_limited() {
            return true;
        }
        let granted = in_time && self.take_limited(operation, due_ns);
        if !granted {
            self.spent.store(true, Ordering::Relaxed);
        }
        granted
    }

    fn take_limited(&self, operation: &Operation, due_ns: u64) -> bool {
        let is_warmup = due_ns < self.from_ns;
        let concerned = match operation.op {
            _ if is_warmup => [false; 3],
            OperationKind::Read | OperationKind::ReadFile | OperationKind::MmapRead => [true, true, false],
            OperationKind::Write | OperationKind::Append | OperationKind::WriteFile | OperationKind::MmapWrite => {
                [true, false, true]
            }
            _ => [false; 3],
        };
        for (meter, concerned) in self.bytes.iter().zip(concerned) {
            let Some(Meter { charged, limit }) = meter else { continue };
            let bytes = if concerned { u64::from(operation.bytes) } else { 0 };
            let charge = |charged: u64| (charged < *limit).then(|| charged + bytes);
            if charged.fetch_update(Ordering::Relaxed, Ordering::Relaxed, charge).is_err() {
                return false;
            }
        }
        let Some(left) = self.operations.as_ref().filter(|_| !is_warmup) else { return true };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// A limit in bytes; sizes are those of the targets that the run uses.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a multiple of sizes; saturates")]
fn limit_bytes(input: &RunInput<'_>, limit: DataLimit) -> u64 {
    match limit {
        DataLimit::Bytes(bytes) => bytes,
        DataLimit::TargetSizes(times) => {
            let opened = |at: usize| input.targets.get(at).and_then(Option::as_ref);
            let sizes: u64 = used_targets(input).into_iter().filter_map(opened).map(|target| target.size_bytes).sum();
            let trees: Vec<usize> = input.run.tree_uses().into_iter().map(|used| used.tree).collect();
            let opened = trees.into_iter().filter_map(|at| input.trees.get(at).and_then(Option::as_ref));
            let sizes = opened.map(|tree| tree.layout().total_bytes()).fold(sizes, u64::saturating_add);
            (sizes as f64 * times) as u64
        }
    }
}
