//! Tests that see the whole machine: findings, traces, comparisons of times. `make test` runs them one after the other with nothing beside
//! them.

mod cpu_clock;
mod diagnose;
mod diagnose_cpu;
mod fio_beside;
mod fio_faces;
mod fio_files;
mod fio_orders;
mod fio_random;
mod io_errors;
mod known_workload;
mod probe;
mod probe_requests;
mod top_findings;
mod trace;
mod trace_ftrace;
mod trace_honest;
