//! `manifest.json`: what a recording is, where and when it was made, and what is missing from it.

use crate::checksums::{ChecksummedFile, sum};
use crate::{RecordingError, RecordingExit, regular};
use output::{Folder, ReplacePolicy};
use quantity::clock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// In [`Manifest::extra`]: what each planned run was asked to do, in order, among other things its title (`run`) and its loop
/// variables (`detail`).
pub const REQUESTED: &str = "requested";

/// Format version that this program writes, and the newest that it reads. Since 2, everything has checksums: the manifest, sealed
/// files, the numbered frames of the journal.
pub const FORMAT_VERSION: u32 = 2;

/// A longer manifest is none.
pub(crate) const BYTES_MAX: u64 = 64 << 20;
/// Name of the file.
pub(crate) const MANIFEST: &str = "manifest.json";
/// A second one, made when the recording is sealed; until then the journal has what the manifest has.
pub(crate) const COPY: &str = "manifest.json.copy";
/// Stands before the checksum of all that stands before it, at the end of the file.
const CHECKSUM: &str = ",\n  \"checksum\": \"xxh64:";

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
    pub exit: Option<RecordingExit>,
    /// Rows per table, known when sealed.
    #[serde(default)]
    pub rows: BTreeMap<String, u64>,
    /// The sealed files with their checksums, in the order of their paths; none in recordings of format 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ChecksummedFile>,
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
            parts: Vec::new(),
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
        Self::read_file(directory, MANIFEST)
    }

    /// Is the file of this name missing, not what was written, or of another recording?
    pub(crate) fn is_wrong(&self, directory: &Path, name: &str) -> bool {
        Self::read_file(directory, name).map_or(true, |there| there.id != self.id)
    }

    /// The one of this name in `directory`.
    pub(crate) fn read_file(directory: &Path, name: &str) -> Result<Self, RecordingError> {
        let path = directory.join(name);
        let not = |why: String| RecordingError::NotARecording { path: directory.to_path_buf(), why };
        let text = regular::read(&path, BYTES_MAX).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => denied(directory, name),
            _ => not(format!("{name}: {error}")),
        })?;
        Self::parse(&text, directory, name)
    }

    /// Reads the text of the manifest of this name in `directory`.
    pub(crate) fn parse(text: &[u8], directory: &Path, name: &str) -> Result<Self, RecordingError> {
        let not = |why: String| RecordingError::NotARecording { path: directory.to_path_buf(), why };
        let damaged =
            |why: &str| RecordingError::Damaged { path: directory.to_path_buf(), why: format!("{name} {why}") };
        let value: serde_json::Value =
            serde_json::from_slice(text).map_err(|error| damaged(&format!("cannot be read: {error}")))?;
        // The version first: a newer manifest may not fit this structure.
        let found = value["format_version"].as_u64().and_then(|version| u32::try_from(version).ok());
        let found = found.ok_or_else(|| not(format!("{name} has no format_version")))?;
        let checksum = checksum(text);
        if found > FORMAT_VERSION && checksum != Some(false) {
            return Err(RecordingError::Newer { path: directory.to_path_buf(), found, known: FORMAT_VERSION });
        }
        match checksum {
            Some(true) => {}
            None if found == 1 => {}
            Some(false) => return Err(damaged("is not what was written (its checksum differs)")),
            None => return Err(damaged("has no checksum")),
        }
        let manifest: Self =
            serde_json::from_value(value).map_err(|error| damaged(&format!("cannot be read: {error}")))?;
        let path = directory.join(name);
        manifest.rows.keys().try_for_each(|name| RecordingError::check_table_name(name, &path))?;
        Ok(manifest)
    }

    /// Writes it in one step: a reader sees the old or the new one.
    pub(crate) fn write(&self, folder: &Folder) -> Result<(), RecordingError> {
        self.write_as(folder, MANIFEST)
    }

    /// The same of a sealed recording, of which the journal goes away: twice, in this order, so that one is always whole.
    pub(crate) fn write_sealed(&self, folder: &Folder) -> Result<(), RecordingError> {
        let written = self.write_as(folder, COPY).and_then(|()| self.write(folder));
        if written.is_err() {
            let _ = folder.remove_file(COPY);
        }
        written
    }

    fn write_as(&self, folder: &Folder, name: &str) -> Result<(), RecordingError> {
        let text = self.to_text()?;
        Ok(folder.replace(name, ReplacePolicy::File, |file| file.write_all(&text))?)
    }

    /// The text of the file, its checksum last.
    fn to_text(&self) -> Result<Vec<u8>, RecordingError> {
        let mut text = serde_json::to_vec_pretty(self).map_err(RecordingError::format(MANIFEST))?;
        // Less the closing brace and its line, which come behind the checksum.
        text.truncate(text.len().saturating_sub(2));
        let sum = sum(&text);
        text.extend_from_slice(format!("{CHECKSUM}{sum:016x}\"\n}}\n").as_bytes());
        Ok(text)
    }
}

/// What the journal says of the manifest: all of it in its first frame, then the fields that changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(serde_json::Map<String, serde_json::Value>);

/// In place of all anchors of the clock, which come one a minute: those that came to them.
const MORE_ANCHORS: &str = "clock_anchors_more";
const ANCHORS: &str = "clock_anchors";

impl Changes {
    /// What is to be said since the last time.
    pub(crate) fn of(
        &mut self,
        manifest: &Manifest,
    ) -> Result<serde_json::Map<String, serde_json::Value>, RecordingError> {
        let now = serde_json::to_value(manifest).map_err(RecordingError::format(MANIFEST))?;
        let serde_json::Value::Object(now) = now else { return Ok(serde_json::Map::new()) };
        let mut changes = serde_json::Map::new();
        for (name, value) in now.iter().filter(|(name, value)| self.0.get(*name) != Some(*value)) {
            let before = self.0.get(name).and_then(serde_json::Value::as_array).filter(|_| name == ANCHORS);
            let more = before.zip(value.as_array()).and_then(|(before, all)| all.strip_prefix(before.as_slice()));
            match more {
                Some(more) => changes.insert(MORE_ANCHORS.to_string(), more.into()),
                None => changes.insert(name.clone(), value.clone()),
            };
        }
        self.0 = now;
        Ok(changes)
    }

    /// Takes in what was said.
    pub(crate) fn add(&mut self, said: serde_json::Map<String, serde_json::Value>) {
        for (name, value) in said {
            match (self.0.get_mut(ANCHORS).and_then(serde_json::Value::as_array_mut), value) {
                (Some(anchors), serde_json::Value::Array(more)) if name == MORE_ANCHORS => anchors.extend(more),
                (_, value) => drop(self.0.insert(name, value)),
            }
        }
    }

    /// All that was said.
    pub(crate) fn manifest(self) -> Option<Manifest> {
        serde_json::from_value(serde_json::Value::Object(self.0)).ok()
    }
}

/// Is the text of a manifest what was written? `None` where it has no checksum.
fn checksum(text: &[u8]) -> Option<bool> {
    let end = b"\"\n}\n";
    let length = CHECKSUM.len() + 16 + end.len();
    let (before, trailer) = text.split_at(text.len().saturating_sub(length));
    let Some(digits) = trailer.strip_prefix(CHECKSUM.as_bytes()).and_then(|rest| rest.strip_suffix(end)) else {
        // Elsewhere than at the end it has been changed.
        let is_there = text.windows(CHECKSUM.len()).any(|window| window == CHECKSUM.as_bytes());
        return is_there.then_some(false);
    };
    Some(digits == format!("{:016x}", sum(before)).as_bytes())
}

/// The name of a user, or `user 1000` where `/etc/passwd` has none.
#[must_use]
pub fn user_name(uid: u32) -> String {
    let number = uid.to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(number.as_str())).then(|| name.to_string())
    });
    name.unwrap_or(format!("user {number}"))
}

/// The error for a recording of another user, with the name of that user where it is known.
fn denied(directory: &Path, file: &str) -> RecordingError {
    let owner = std::fs::metadata(directory).ok().map(|found| user_name(found.uid()));
    RecordingError::Denied { path: directory.to_path_buf(), file: file.to_string(), owner }
}
