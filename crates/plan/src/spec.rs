//! The plan as a value: targets, runs and workloads with every default resolved and every for-loop expanded.
//!
//! All times are nanoseconds, all sizes bytes, all shares fractions of 1. Nothing in here knows which language the
//! plan was written in; [`TextSpan`]s point back into the text so that a later conflict can still name its line.

mod address;
mod command;
mod content;
mod entry_job;
mod files;
mod job;
mod job_end;
mod job_texts;
mod objective;
mod op_mix;
mod plan;
mod range;
mod rate;
pub(crate) mod replay;
mod replaying;
mod rounds;
mod run;
mod settings;
mod source;
mod stop;
mod target;
mod transfer_size;
mod tree;
mod validation;
mod workload;

pub use address::{AddressDistribution, AddressOrder, AddressPattern};
pub use command::{CommandLine, CommandLoad, Load};
pub use content::{DedupContent, DedupSets, WriteContent};
pub use entry_job::{CountedAs, EntryJob, StatCall};
pub use files::*;
pub use job::*;
pub use job_end::*;
pub use job_texts::{JobLogs, JobText, JobTexts, is_fio_log};
pub use objective::Objective;
pub use op_mix::OpMix;
pub use plan::{Plan, UnsupportedRequest};
pub use range::{AddressRange, RangeBound};
pub use rate::{Arrivals, BurstPattern, GapDistribution, OfferedRate};
pub use replay::Replay;
pub use rounds::SteadyRounds;
pub use run::Run;
pub use settings::{HistogramEdges, PlanSettings, RunRepeat, ShellCommand};
pub use source::{ParameterText, TextSpan};
pub use stop::{DataLimit, ErrorRule, SteadyMeasure, SteadyRule, StopCondition};
pub use target::{OpenFlags, TargetSpec};
pub use transfer_size::TransferSize;
pub use tree::*;
pub use validation::{JournalSettings, ValidationSettings};
pub use workload::Workload;

pub(crate) use content::copied_share;
pub(crate) use files::part_of;
