//! One command's life: sources, recording, faces, signals, clean end.
//!
//! [`execute`] takes a plan from inspected targets to a sealed recording with its report. Everything measured goes
//! through the spine: into the journal first, then to the face.

mod ab;
mod archive;
mod commands;
mod counters;
mod cpu_clock;
mod days;
mod departures;
mod dry_run;
mod endpoint;
mod error;
mod events;
mod execute;
mod face;
mod file_rows;
mod finding_flight;
mod flight;
mod format;
mod gather;
mod half_round;
mod io_errors;
mod job_ends;
mod logs;
mod manifest_keys;
mod model;
mod numbers;
mod objectives;
mod outcome;
mod pause;
mod probe;
mod profile;
mod rates;
mod recording_names;
mod replay;
mod requested;
mod requests;
mod responses;
mod rows;
mod run_context;
mod run_loop;
mod service;
mod show;
mod spine;
mod steady;
mod stop;
mod sync;
mod top;
mod trace;
mod watch;

pub use ab::{AbLoad, AbOutcome, AbRequest, ab, order_of};
pub use archive::evidence::Moment;
pub use archive::home::{Home, Sharing};
pub use archive::policy::{Retention, Tier};
pub use archive::service_clock::{MachineClock, ServiceClock};
pub use cpu_clock::EventClock;
pub use days::{local_zone, named_zone};
pub use dry_run::{DryRun, TargetFinding, dry_run};
pub use endpoint::Endpoint;
pub use engine::EngineChoice;
pub use error::SessionError;
pub use execute::{Request, execute};
pub use face::{Face, error_face, json_face, terminal_face};
pub use finding_flight::{FindingFlight, FlightPlan};
pub use flight::{Dump, FlightNews, FlightOutcome, FlightRequest, Trigger, Trouble, flight};
pub use gather::Gather;
pub use half_round::{HalfRound, Side, half_rounds};
pub use model::{ModelOutcome, ModelRequest, model};
pub use objectives::{never_judged, objective_mistakes};
pub use outcome::{Ending, Outcome};
pub use probe::{ProbeOf, ProbeOutcome, ProbeRequest, probe};
pub use replay::{Lost, Survey, lost, rehearse, survey};
pub use report::{Case, Suite};
pub use service::{ServiceOutcome, ServiceRequest, serve};
pub use show::{
    begin_junit_file, check_junit_file, comparison, comparison_file, comparison_lines, end_junit_file, junit_file,
    last_words, report_file, terminal_look,
};
pub use stop::StopFlag;
pub use top::{LiveRequest, TopOf, TopRequest, top};
pub use trace::{Rotate, TraceNews, TraceOutcome, TraceRequest, trace};
pub use tui::{Look, Painted};
pub use tui::{json_difference, json_verdict};
pub use watch::{Company, Idle, WatchOutcome, WatchRequest, Watched, live_wall, watch};
