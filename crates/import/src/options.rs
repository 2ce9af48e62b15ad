//! What an import takes and gives.

use quantity::zone::LocalZone;
use std::path::PathBuf;

/// What to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Name of the format; `None`: by the content.
    pub format: Option<String>,
    /// Of a trace: only these devices, by the names that the import gives them; none: all.
    pub devices: Vec<String>,
    /// Of a trace: from so long after its beginning, ns.
    pub from_ns: u64,
    /// Of a trace: for so long, ns; `None`: to its end.
    pub for_ns: Option<u64>,
    /// Of text without dates: when it begins, ns since 1970 as clocks in `zone` show it (of text that tells the time of day,
    /// only the day counts).
    pub start_ns: Option<i64>,
    /// Of text without times: how far its samples are apart, ns.
    pub interval_ns: Option<i64>,
    /// Of text and of Vdbench's results: what times without a distance from UTC are of; `None`: they are taken for UTC.
    pub zone: Option<LocalZone>,
    /// Of text: it is cut out of a longer one, so that its first sample is an interval like the others, not the mean since boot.
    pub is_excerpt: bool,
    /// Of text in which only some CPUs are printed: how many there are; those that are not printed are idle.
    pub cpus: Option<u32>,
    /// Of text: only what this machine printed, by the name that the text has for it.
    pub host: Option<String>,
}

impl ImportOptions {
    /// When text without times begins, UTC ns since 1970.
    pub(crate) fn start_utc_ns(&self) -> Option<i64> {
        self.start_ns.map(|start_ns| self.zone.as_ref().map_or(start_ns, |zone| zone.utc_ns(start_ns, None)))
    }

    /// What was said about times that this source tells by itself, or has not.
    pub(crate) fn note_of_unused(&self, uses_zone: bool) -> Option<String> {
        let said = [
            (self.start_ns.is_some(), "--start"),
            (self.interval_ns.is_some(), "--interval"),
            (self.zone.is_some() && !uses_zone, "--zone"),
            (self.host.is_some(), "--host"),
        ];
        let unused: Vec<&str> = said.iter().filter(|(unused, _)| *unused).map(|(_, name)| *name).collect();
        (!unused.is_empty())
            .then(|| format!("{}: not used, the times are taken as the source tells them", unused.join(", ")))
    }

    pub(crate) fn is_selective(&self) -> bool {
        !self.devices.is_empty() || self.from_ns > 0 || self.for_ns.is_some()
    }
}

/// What an import made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportSummary {
    /// The recording.
    pub directory: PathBuf,
    /// Name of the format.
    pub format: &'static str,
    /// What was passed over or is not in the source, in words.
    pub notes: Vec<String>,
}
