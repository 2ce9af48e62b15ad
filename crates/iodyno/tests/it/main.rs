//! The command from end to end.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod ab;
mod alone;
mod architecture;
mod bit_flips;
mod bombs;
mod catalogue;
mod command_line;
mod command_plans;
mod commands;
mod compare;
mod content;
mod convert;
mod counters;
mod crash;
mod data_journal;
mod documents;
mod dry_run;
mod ending;
mod faces;
mod fio;
mod fio_beside;
mod fio_faces;
mod fio_logs;
mod fio_names;
mod fio_orders;
mod fio_output;
mod fio_random;
mod fio_run;
mod flight;
mod harm;
mod honest_time;
mod hostile_names;
mod import_fio;
mod import_text;
mod import_traces;
mod journal_files;
mod journal_recovery;
mod journal_targets;
mod known_workload;
mod large;
mod model;
mod modules;
mod no_io_uring;
mod objectives;
mod outputs;
mod own_devices;
mod own_files;
mod peers;
mod personalities;
mod probe_stacks;
mod pts;
mod query;
mod rates;
mod record_service;
mod refusals;
mod repeat;
mod replay;
mod replay_limits;
mod replay_stamped;
mod run;
mod scan;
mod service_time;
mod service_unit;
mod several_runs;
mod stamped_data;
mod stat;
mod stat_subjects;
mod stored_names;
mod support;
mod top;
mod tree_kills;
mod tree_limits;
mod tree_trouble;
mod tree_witness;
mod trees;
mod trees_queue;
mod trees_safety;
mod trouble;
mod unfinished;
mod validation;
mod validation_faces;
mod validation_trees;
mod validation_verdicts;
mod validation_words;
mod verdicts;
mod verify_below;
mod verify_journal;
mod witness;
