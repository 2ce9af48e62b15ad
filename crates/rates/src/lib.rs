//! From counters and intervals to figures: rates, shares, means and percentiles, with their units, wraps, resets and gaps decided
//! once. Everything that shows a figure takes it from here, so that no two faces can disagree about the same rows.

mod availability;
mod columns;
pub mod counter;
pub mod cpu_share;
pub mod cpu_time;
pub mod disk;
mod ending;
mod interval;
pub mod io_errors;
pub mod irq_time;
mod known_sum;
mod machine_rates;
pub mod measure;
pub mod memory;
pub mod net;
mod op_count;
mod part;
pub mod process;
pub mod samples;
mod stall;
pub mod stat;
pub mod steady;
pub mod student;
mod times;
mod validated;
pub mod variables;
pub mod zfs;

pub use availability::{Availability, SUBJECTS};
pub use columns::{BatchColumns, NameNumbers, column_texts};
pub use ending::{UnfinishedOperations, open_times};
pub use interval::{IntervalFacts, PhaseSpan, StepFacts, TotalFacts, base_title, split_round};
pub use known_sum::KnownSum;
pub use machine_rates::{
    CpuPoint, DiskPoint, MemoryPoint, NetPoint, PoolPoint, PressurePoint, TasksPoint, WaitPoint, cpu, disks,
    is_loopback, memory, nets, pools, pressure, printed_pools, shares as cpu_shares, tasks, waits,
};
pub use op_count::{
    DataOps, OPS, OpCount, OpCounts, is_of_trees, moves_data, op_name, op_place, reads_data, writes_data,
};
pub use part::{LoadPart, LoadSlice};
pub use stall::{Stall, is_stalled};
pub use times::{FigureBounds, OperationTimes};
pub use validated::{DamageFound, DataFigures};
