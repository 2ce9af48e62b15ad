//! `manifest.json`: what a recording is, where and when it was made, and what is missing from it.

use crate::RecordingError;
use output::{Folder, Over};
use quantity::clock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// Format version that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// Name of the file.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Ties the monotonic clock to the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockAnchor {
    /// `CLOCK_MONOTONIC`, ns.
    pub t_ns: i64,
    /// UTC since 1970 at the same moment, ns.
    pub wall_ns: i64,
}

impl ClockAnchor {
    /// Both clocks now.
    #[must_use]
    pub fn now() -> Self {
        Self { t_ns: i64::try_from(clock::now_ns()).unwrap_or(i64::MAX), wall_ns: clock::wall_ns() }
    }
}

/// The manifest. Fields are only ever added; a reader ignores those that it does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// See [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Random identity.
    pub id: String,
    /// Name of the host.
    #[serde(default)]
    pub host: String,
    /// Kernel release and version.
    #[serde(default)]
    pub kernel: String,
    /// Version of the program that wrote it.
    #[serde(default)]
    pub program: String,
    /// Command line, program name first.
    #[serde(default)]
    pub command_line: Vec<String>,
    /// Parameter texts: `(name, text)`.
    #[serde(default)]
    pub sources: Vec<(String, String)>,
    /// `CLOCK_MONOTONIC` at the start, ns: zero of every `t_s`.
    #[serde(default)]
    pub started_t_ns: i64,
    /// UTC at the start, ns since 1970.
    #[serde(default)]
    pub started_wall_ns: i64,
    /// Taken at the start, every minute, and at the end.
    #[serde(default)]
    pub clock_anchors: Vec<ClockAnchor>,
    /// Inventory of the machine.
    #[serde(default)]
    pub hardware: serde_json::Value,
    /// What was lost, dropped, clipped or skipped, by name; absent means none.
    #[serde(default)]
    pub losses: BTreeMap<String, u64>,
    /// Are the tables in Parquet (true) or still in the journal?
    #[serde(default)]
    pub sealed: bool,
    /// How the command ended; absent while it runs, and when it was killed.
    #[serde(default)]
    pub exit: Option<String>,
    /// Rows per table, known when sealed.
    #[serde(default)]
    pub rows: BTreeMap<String, u64>,
    /// Further facts by name, for instance the engine's own cost.
    #[serde(default)]
    pub extra: BTreeMap<String, serde_json::Value>,
}

impl Manifest {
    /// A manifest of this host, now.
    #[must_use]
    pub fn new(command_line: &[String]) -> Self {
        let anchor = ClockAnchor::now();
        let system = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        // Unique enough without a random source: two clocks and the process.
        let seed = anchor.wall_ns.unsigned_abs()
            ^ (u64::from(std::process::id()) << 40)
            ^ anchor.t_ns.unsigned_abs().rotate_left(23);
        Self {
            format_version: FORMAT_VERSION,
            id: format!("{:016x}", seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            host: text(system.nodename()),
            kernel: format!("{} {}", text(system.release()), text(system.version())),
            program: format!("iodyno {}", env!("CARGO_PKG_VERSION")),
            command_line: command_line.to_vec(),
            sources: Vec::new(),
            started_t_ns: anchor.t_ns,
            started_wall_ns: anchor.wall_ns,
            clock_anchors: vec![anchor],
            hardware: serde_json::Value::Null,
            losses: BTreeMap::new(),
            sealed: false,
            exit: None,
            rows: BTreeMap::new(),
            extra: BTreeMap::new(),
        }
    }

    /// UTC of a monotonic time, by the last anchor before it.
    #[must_use]
    pub fn wall_ns_at(&self, t_ns: i64) -> i64 {
        let after = self.clock_anchors.partition_point(|anchor| anchor.t_ns <= t_ns);
        match self.clock_anchors.get(after.saturating_sub(1)) {
            Some(anchor) => anchor.wall_ns.saturating_add(t_ns.saturating_sub(anchor.t_ns)),
            None => self.started_wall_ns.saturating_add(t_ns.saturating_sub(self.started_t_ns)),
        }
    }

    /// Reads the manifest in `directory`.
    pub(crate) fn read(directory: &Path) -> Result<Self, RecordingError> {
        let path = directory.join(MANIFEST);
        let not = |why: String| RecordingError::NotARecording { path: directory.to_path_buf(), why };
        let text = fs::read(&path).map_err(|error| not(format!("{MANIFEST}: {error}")))?;
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| not(format!("{MANIFEST}: {error}")))?;
        // The version first: a newer manifest may not fit this structure.
        let found = value["format_version"].as_u64().and_then(|version| u32::try_from(version).ok());
        let found = found.ok_or_else(|| not(format!("{MANIFEST} has no format_version")))?;
        if found > FORMAT_VERSION {
            return Err(RecordingError::Newer { path: directory.to_path_buf(), found, known: FORMAT_VERSION });
        }
        let manifest: Self = serde_json::from_value(value).map_err(|error| not(format!("{MANIFEST}: {error}")))?;
        manifest.rows.keys().try_for_each(|name| RecordingError::check_table_name(name, &path))?;
        Ok(manifest)
    }

    /// Writes it in one step: a reader sees the old or the new one.
    pub(crate) fn write(&self, folder: &Folder) -> Result<(), RecordingError> {
        let mut text = serde_json::to_vec_pretty(self).map_err(RecordingError::format(MANIFEST))?;
        text.push(b'\n');
        Ok(folder.replace(MANIFEST, Over::File, |file| file.write_all(&text))?)
    }
}
