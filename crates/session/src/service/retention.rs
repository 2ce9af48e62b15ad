//! What becomes of old recordings: sealed, when their collector was killed; thinned by age; removed by age, by the room that all
//! take, and by the room that is left on the disk.

use quantity::text::{format_bytes, format_ns};
use recording::{Reader, State, seal_abandoned, thin, thinned_to_ns};
use std::path::{Path, PathBuf};

/// Beginnings of names of what is under way; nothing of a recording begins with a dot.
const FRESH: &str = ".thin-";
const OLD: &str = ".old-";

/// Recordings that ended so long ago have samples so far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Age of the end, ns.
    pub after_ns: i64,
    /// Time between two samples, ns.
    pub step_ns: i64,
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Recordings that ended longer ago are removed, ns.
    pub keep_ns: Option<i64>,
    /// All recordings together take no more; the oldest go first.
    pub max_bytes: Option<u64>,
    /// So much stays free on the disk; the oldest go first.
    pub min_free_bytes: Option<u64>,
    /// Older ones are thinned.
    pub tiers: Vec<Tier>,
}

impl Default for Retention {
    /// 90 days; 10 s after two days, 5 minutes after two weeks; 1 GB stays free.
    fn default() -> Self {
        const DAY_NS: i64 = 86_400_000_000_000;
        Self {
            keep_ns: Some(90 * DAY_NS),
            max_bytes: None,
            min_free_bytes: Some(1_000_000_000),
            tiers: vec![
                Tier { after_ns: 2 * DAY_NS, step_ns: 10_000_000_000 },
                Tier { after_ns: 14 * DAY_NS, step_ns: 300_000_000_000 },
            ],
        }
    }
}

/// An old recording.
struct Kept {
    path: PathBuf,
    end_ns: i64,
    bytes: u64,
    step_ns: i64,
}

/// Looks after a directory; `open` is being written and left alone. Gives what was done, and what could not be.
pub(super) fn tidy(directory: &Path, retention: &Retention, wall_ns: i64, open: Option<&Path>) -> Vec<String> {
    let mut said = Vec::new();
    clean(directory);
    let mut kept = recordings(directory, open, &mut said);
    kept.sort_by_key(|recording| recording.end_ns);
    let mut remove = |recording: &Kept, why: &str| match std::fs::remove_dir_all(&recording.path) {
        Ok(()) => {
            said.push(format!("removed {}: {why}", recording.path.display()));
            true
        }
        Err(error) => {
            said.push(format!("failed to remove {}: {error}", recording.path.display()));
            false
        }
    };
    if let Some(keep_ns) = retention.keep_ns {
        let age = format!("it ended more than {} ago", format_ns(keep_ns.unsigned_abs()));
        kept.retain(|recording| wall_ns.saturating_sub(recording.end_ns) <= keep_ns || !remove(recording, &age));
    }
    let mut all: u64 = kept.iter().map(|recording| recording.bytes).sum::<u64>() + open.map_or(0, size_of);
    if let Some(max) = retention.max_bytes {
        let why = format!("all together took more than {}", format_bytes(max));
        kept.retain(|recording| {
            let stays = all <= max || !remove(recording, &why);
            all -= if stays { 0 } else { recording.bytes };
            stays
        });
    }
    if let Some(least) = retention.min_free_bytes {
        let why = format!("less than {} was free on the disk", format_bytes(least));
        kept.retain(|recording| free_bytes(directory).is_none_or(|free| free >= least) || !remove(recording, &why));
    }
    for recording in &kept {
        let age_ns = wall_ns.saturating_sub(recording.end_ns);
        let due = retention.tiers.iter().filter(|tier| age_ns > tier.after_ns).map(|tier| tier.step_ns).max();
        if let Some(step_ns) = due.filter(|step_ns| *step_ns > recording.step_ns) {
            said.extend(replace(directory, recording, step_ns).err());
        }
    }
    said
}

/// Takes away what a collector that was killed had begun; what it had not finished to put in place is put back.
fn clean(directory: &Path) {
    for path in folders(directory) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(FRESH) {
            let _ = std::fs::remove_dir_all(&path);
        } else if let Some(original) = name.strip_prefix(OLD) {
            let place = directory.join(original);
            let _ = if place.exists() { std::fs::remove_dir_all(&path) } else { std::fs::rename(&path, &place) };
        }
    }
}

fn folders(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let mut folders: Vec<PathBuf> = entries.unwrap_or_default();
    folders.retain(|path| path.is_dir() && !path.is_symlink());
    folders
}

/// All recordings that nobody writes, sealed.
fn recordings(directory: &Path, open: Option<&Path>, said: &mut Vec<String>) -> Vec<Kept> {
    let mut kept = Vec::new();
    for path in folders(directory) {
        if open == Some(path.as_path()) || path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
        {
            continue;
        }
        match seal_abandoned(&path) {
            Ok(true) => said.push(format!("sealed {}, whose collector did not", path.display())),
            Ok(false) => {}
            // Not a recording, or no room: it is none of ours, or the next time will do.
            Err(_) => {}
        }
        let Ok(reader) = Reader::open(&path) else { continue };
        if reader.state() != State::Sealed {
            continue;
        }
        let manifest = reader.manifest();
        let last = manifest.clock_anchors.last().map_or(manifest.started_wall_ns, |anchor| anchor.wall_ns);
        let step_ns = thinned_to_ns(manifest).unwrap_or(0);
        kept.push(Kept { bytes: size_of(&path), end_ns: last.max(manifest.started_wall_ns), step_ns, path });
    }
    kept
}

/// Makes a recording coarser, in its place: the old one stays until the new one is whole.
fn replace(directory: &Path, recording: &Kept, step_ns: i64) -> Result<(), String> {
    let path = &recording.path;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (fresh, old) = (directory.join(format!("{FRESH}{name}")), directory.join(format!("{OLD}{name}")));
    let failed = |error: &dyn std::fmt::Display| format!("failed to thin {}: {error}", path.display());
    let reader = Reader::open(path).map_err(|error| failed(&error))?;
    thin(&reader, &fresh, step_ns).map_err(|error| failed(&error))?;
    std::fs::rename(path, &old).map_err(|error| failed(&error))?;
    std::fs::rename(&fresh, path).map_err(|error| failed(&error))?;
    // What stays of it is removed the next time.
    let _ = std::fs::remove_dir_all(&old);
    Ok(())
}

/// Bytes of all files below.
fn size_of(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size_of(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}

/// What is free for everybody on the disk.
fn free_bytes(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}
