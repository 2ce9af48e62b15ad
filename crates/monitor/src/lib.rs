//! Watches a machine without loading it.
//!
//! One entry for each command: [`watch`] samples counters, [`probe`] and [`trace`] follow the kernel, [`flight`] writes a trace
//! only when there is trouble, [`serve`] collects for months, [`top`] shows a page. A command that runs a load takes its counters
//! and the rows that it has in common with these from here.

mod archive;
mod block_latency;
mod command_row;
mod counters;
mod days;
mod endpoint;
mod error;
mod event_cpu_time;
mod events;
mod file_rows;
mod finding_flight;
mod flight;
mod gather;
mod io_errors;
mod manifest_keys;
mod numbers;
mod probe;
mod profile;
mod recording_names;
mod requests;
mod service;
mod stop;
mod top;
mod trace;
mod watch;

pub use archive::evidence::ClockReadings;
pub use archive::home::{ArchiveFolder, FolderSharing};
pub use archive::retention_policy::{RetentionPolicy, RetentionTier};
pub use archive::service_clock::{MachineClock, ServiceClock};
pub use command_row::{command_usage, recorded_command};
pub use counters::{CounterReaders, SUBJECTS, subjects};
pub use days::{local_zone, named_zone};
pub use endpoint::Endpoint;
pub use error::MonitorError;
pub use event_cpu_time::EventCpuTime;
pub use events::clock_step;
pub use finding_flight::{FindingFlight, FlightPlan};
pub use flight::{DumpTrigger, FlightDump, FlightNews, FlightOutcome, FlightRequest, ReportedTrouble, flight};
pub use gather::GatheredTools;
pub use numbers::signed;
pub use probe::{ProbeOf, ProbeOutcome, ProbeRequest, probe};
pub use service::{ServiceOutcome, ServiceRequest, serve};
pub use stop::StopFlag;
pub use top::{LiveRequest, TopOf, TopRequest, top};
pub use trace::{RecordingEnd, RotationLimits, TraceNews, TraceOutcome, TraceRequest, interval_row, trace};
pub use watch::{AlwaysShown, SampleConsumers, WatchOutcome, WatchRequest, WatchedCommand, live_wall, watch};
