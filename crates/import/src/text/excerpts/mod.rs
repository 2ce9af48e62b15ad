//! Importers whose only known real input is an excerpt of a printed document (`fixtures/tools/old`): tools of Solaris, and
//! programs and tables of the documents' authors. `source_tests` needs each of them, because every output of a tool in the
//! source documents is imported. How such a tool prints beyond its excerpt is not known: what does not fit is malformed.

pub(super) mod dtrace;
pub(super) mod glued;
pub(super) mod lockstat;
pub(super) mod mpstat_solaris;
pub(super) mod netperf;
pub(super) mod nfsstat;
pub(super) mod oracle;
pub(super) mod prstat;
pub(super) mod rfileio;
pub(super) mod stmsboot;
pub(super) mod time;
