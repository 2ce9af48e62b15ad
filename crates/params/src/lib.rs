//! Reads Vdbench parameter files and fio job files into a [`plan::Plan`], and prints them; finds every mistake, with
//! line and column.
//!
//! [`read_vdbench`] and [`read_fio`] never stop at the first mistake and never panic on any input: they give a plan when
//! there was no error, and all that was found in any case. What the language can say and this version cannot execute is
//! in the plan, with one sentence each in [`plan::Plan::unsupported`].
//!
//! [`PERSONALITIES`] are parameter files that are part of the program.
//!
//! This is the crate that the others import. The languages have crates of their own, `vdbench_files` and `fio_jobs`, which
//! share `parameter_text`; the tests of all four are here.

mod personalities;
mod simulate;

pub use fio_jobs::{
    FIO_OPTIONS, FioOption, JobSource, OptionEffect, OptionTask, fio_absent_names, fio_flags_of, fio_options_markdown,
    flags_text, print_fio, read_fio,
};
pub use parameter_text::{
    Diagnostic, DiagnosticSeverity, DiskLoader, FILE_BYTES_MAX, FileLoader, FormatOverride, LoadError, LoadedFile,
    MemoryLoader, ParameterFormat, PlanReading, PrintedPlan, QuickTest, SourceOwner, VdbenchOptions, render, sniff,
};
pub use personalities::{PERSONALITIES, Personality, personality};
pub use simulate::simulate;
pub use vdbench_files::{
    format_override, no_effect_flags, print_vdbench, quick, read_vdbench, repeat, validation_of_flags,
};
