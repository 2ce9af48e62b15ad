//! Tests that see the whole machine: findings, traces, comparisons of times. `make test` runs them one after the other with nothing beside
//! them.

mod cpu_clock;
mod diagnose;
mod diagnose_cpu;
mod fio_files;
mod fio_orders;
mod io_errors;
mod known_order;
mod probe;
mod probe_requests;
mod top_findings;
mod trace;
mod trace_ftrace;
mod trace_honest;
