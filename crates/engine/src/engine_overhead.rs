//! What the engine itself costs: the same worker on requests that do nothing.

use crate::blocks::FileSlot;
use crate::blocks::{BlockLane, BlockPlace, Blocks};
use crate::budget::Budget;
use crate::group_spec::{GroupSpec, LaneSpec};
use crate::shared::{Control, Status};
use crate::stats::Slot;
use crate::uring_worker::Worker;
use crate::work::Group;
use crate::work::Work;
use plan::generate::{GeneratorPart, Operations, TargetGeometry};
use plan::{AddressPattern, OpMix, OpenFlags, TargetSpec, TextSpan, TransferSize, Workload, WriteContent};
use quantity::clock;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Operations of the measurement: some 30 ms. A build with checks is no measure of anything; there, they would be most of a short run's CPU time.
const OPERATIONS: u64 = if cfg!(debug_assertions) { 10_000 } else { 300_000 };
/// Its queue depth.
const DEPTH: u32 = 128;

/// CPU time that the engine adds to each I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineOverhead {
    /// ns per I/O on a no-op target with everything recorded; `None` where io_uring cannot be had.
    pub ns_per_io: Option<f64>,
}

impl fmt::Display for EngineOverhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ns_per_io {
            Some(ns) => write!(
                f,
                "the engine's own cost is {ns:.0} ns per I/O (no-op target, depth {DEPTH}, everything recorded)"
            ),
            None => write!(f, "the engine's own cost was not measured: io_uring cannot be had here"),
        }
    }
}

/// Measures it, in some tens of milliseconds.
#[must_use]
pub fn own_cost() -> EngineOverhead {
    // The better of two: the first one also warms up caches and the allocator.
    let best =
        (0..2).filter_map(|_| measure()).fold(None, |best: Option<f64>, ns| Some(best.map_or(ns, |best| best.min(ns))));
    EngineOverhead { ns_per_io: best }
}

fn measure() -> Option<f64> {
    let (workload, target) = (workload(), target());
    let geometry = TargetGeometry { size_bytes: 1 << 30, block_bytes: 512 };
    let operations = Operations::new(&workload, &target, geometry, 1, GeneratorPart::WHOLE).ok()?;
    let spec = GroupSpec {
        lanes: vec![lane()],
        pools: vec![DEPTH],
        transfer_max: 4096,
        memory_align: 4096,
        ..GroupSpec::empty()
    };
    let mut group = Group { spec, lanes: Vec::new(), work: Blocks::default() };
    group.lanes.push(BlockLane { operations, content: None, cached: None, checks: None });
    group.work.places.push(BlockPlace { nothing: true, ..BlockPlace::default() });
    group.work.files.push(FileSlot { plan_index: 0, flags: OpenFlags::default(), fd: None, holder: None });
    let stats = Arc::new(Slot::new(1, Blocks::KINDS));
    let worker = std::thread::spawn(move || {
        let worker = Worker::new(
            group,
            Arc::new(Budget::of_operations(OPERATIONS)),
            stats,
            Arc::new(Control::default()),
            Arc::new(Status::default()),
        )
        .ok()?;
        let before_ns = clock::thread_cpu_ns();
        worker.run(clock::now_ns()).ok()?;
        Some((clock::thread_cpu_ns() - before_ns) as f64 / OPERATIONS as f64)
    });
    worker.join().ok()?
}

/// A lane without limits.
pub(crate) fn lane() -> LaneSpec {
    LaneSpec { workload: 0, target: 0, pool: 0, schedule: None, share: 1.0, priority: 0, think_ns: 0 }
}

pub(crate) fn target() -> TargetSpec {
    TargetSpec { depth: DEPTH, hit_area_bytes: 1 << 20, ..TargetSpec::whole("no-op".to_string(), PathBuf::new()) }
}

pub(crate) fn workload() -> Workload {
    Workload {
        name: "no-op".to_string(),
        targets: vec![0],
        share: 1.0,
        share_fixed: false,
        rate: None,
        priority: None,
        depth: None,
        mix: OpMix::read_write(1.0),
        transfer: TransferSize::Fixed(4096),
        write_transfer: None,
        trim_transfer: None,
        address: AddressPattern::default(),
        content: WriteContent::default(),
        think_ns: 0,
        open: None,
        job: None,
        replay: None,
        load: plan::Load::Blocks,
        span: TextSpan::default(),
    }
}
