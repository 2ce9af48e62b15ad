//! What the readers and printers of all parameter languages share.
//!
//! A reader gets its texts from a [`FileLoader`], keeps them with what it finds in a [`ReadingContext`], and makes a
//! [`PlanReading`] of it at the end. A [`Diagnostic`] points into the texts, and [`render`] shows it with its line. The
//! crates `fio_jobs` and `vdbench_files` have one language each; others import both through `params`.

mod context;
mod diagnostic;
mod loader;
mod printed;
mod reading;
pub mod shortest;
mod sniff;

pub use context::ReadingContext;
pub use diagnostic::{Diagnostic, DiagnosticSeverity, render};
pub use loader::{DiskLoader, FILE_BYTES_MAX, FileLoader, LoadError, LoadedFile, MemoryLoader, SourceOwner};
pub use printed::{PrintedPlan, without_replays};
pub use reading::{FormatOverride, PlanReading, QuickTest, VdbenchOptions};
pub use sniff::{ParameterFormat, sniff};
