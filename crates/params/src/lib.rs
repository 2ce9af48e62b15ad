//! Reads Vdbench parameter files into a [`plan::Plan`]; finds every mistake, with line and column.
//!
//! [`read_vdbench`] never stops at the first mistake and never panics on any input: it gives a plan when there was no
//! error, and all that it found in any case. What the language can say and this version cannot execute is in the plan,
//! with one sentence each in [`plan::Plan::unsupported`].

mod diagnostic;
mod loader;
mod quick;
mod simulate;
mod sniff;
mod vdbench;

pub use diagnostic::{Diagnostic, Severity, render};
pub use loader::{Disk, FILE_BYTES_MAX, LoadError, Loader, Memory};
use quantity::suggest;
pub use quick::{QuickTest, quick, quick_test};
pub use simulate::simulate;
pub use sniff::{Format, sniff};
pub use vdbench::{Options, Reading, no_effect_flags, read_vdbench, repeat};
