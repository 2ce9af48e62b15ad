//! What stands in the folder of a recording: the files that iodyno wrote, and what others have put there or changed.
//!
//! A name alone is no evidence: a file counts as written by iodyno when its name and its length (of a sealed recording, as the
//! manifest has them), its beginning (of a journal) or its end (of a page) say so, and before it is removed its checksum as well.
//!
//! Nothing is removed by walking through folders: what goes, goes by a name of this list, through descriptors of the folders
//! that it is in, and a folder goes when it is empty.

use crate::Manifest;
use crate::checksums::ChecksummedFile;
use crate::journal::{self, JOURNAL};
use crate::manifest::{BYTES_MAX, COPY, MANIFEST};
use crate::mark::{MARK, small_file};
use crate::page_checksum::{self, PAGE};
use crate::sealed::{PART, host_folder, is_part_of};
use output::{EntryKind, Folder, FoundEntry, KeepReason, OutputError};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// An error lists at most so many names that are in the way.
const NAMES: usize = 5;
/// Since this version the manifest of a sealed recording has the length and the checksums of its files.
const HAS_PARTS: u32 = 2;

/// The folder of a table for one host.
#[derive(Debug)]
struct Host {
    name: OsString,
    files: Vec<OsString>,
}

#[derive(Debug)]
struct TableFolder {
    name: OsString,
    hosts: Vec<Host>,
}

/// Why a recording cannot go, or be replaced, for something in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Obstacle {
    /// It belongs to no recording: a note, a link.
    Foreign,
    /// It has the name of a file of the recording, and not its content.
    Changed,
    /// It cannot be removed: immutable or append-only.
    Fixed,
    /// Something is mounted on it.
    Mounted,
}

impl Obstacle {
    fn of(held: KeepReason) -> Self {
        match held {
            KeepReason::Fixed => Self::Fixed,
            KeepReason::Mounted => Self::Mounted,
        }
    }

    fn sentence(self, names: &str) -> String {
        match self {
            Self::Foreign => format!("it holds {names}, not part of the recording"),
            Self::Changed => format!("{names}: not what iodyno wrote there (replaced, changed or damaged)"),
            Self::Fixed => format!("{names}: immutable or append-only, cannot be removed (`chattr -i -a` permits it)"),
            Self::Mounted => format!("{names}: something is mounted there"),
        }
    }
}

/// The files of a recording.
#[derive(Debug, Default)]
pub struct Inventory {
    /// Files beside the tables.
    files: Vec<OsString>,
    tables: Vec<TableFolder>,
    /// What is in the way: the first names, control characters escaped, and how many there are.
    obstacles: BTreeMap<Obstacle, (Vec<String>, usize)>,
    /// Bytes of all files of ours.
    pub bytes: u64,
}

impl Inventory {
    /// Looks through the folder of a recording. `manifest` says which tables it has, and how long their files are; without one,
    /// it may have all that this version knows. A link, a FIFO, a device, and whatever another file system is mounted on are
    /// foreign, whatever their name.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn of(folder: &Folder, manifest: Option<&Manifest>) -> Result<Self, OutputError> {
        let mut inventory = Self::default();
        if folder.is_fixed() {
            inventory.note(Obstacle::Fixed, Path::new("its folder"));
        }
        for name in folder.names()? {
            let Some(found) = folder.find(&name)? else { continue };
            match found.kind {
                EntryKind::File if is_file_of_ours(&name) => match obstacle(folder, &name, found, manifest) {
                    None => {
                        inventory.bytes += found.bytes;
                        inventory.files.push(name);
                    }
                    Some(obstacle) => inventory.note(obstacle, Path::new(&name)),
                },
                EntryKind::Directory if is_table(&name, manifest) => inventory.table(folder, name, manifest)?,
                EntryKind::File if name == PAGE && found.held.is_none() && page_checksum::is_signed(folder) => {
                    inventory.bytes += found.bytes;
                    inventory.files.push(name);
                }
                _ => inventory.note(Obstacle::Foreign, Path::new(&name)),
            }
        }
        // Removed last are what it is known by: the manifest, and then the mark.
        inventory.files.sort_by_key(|name| (name == MARK, name == MANIFEST));
        Ok(inventory)
    }

    /// Reads the files that the manifest has checksums of: what is not what was written is in the way as well. To be asked before
    /// something is removed or replaced.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn verify(&mut self, folder: &Folder, manifest: &Manifest) -> Result<(), OutputError> {
        let mut changed = Vec::new();
        for table in &self.tables {
            let hosts = folder.subfolder(&table.name)?;
            for host in &table.hosts {
                let files = hosts.subfolder(&host.name)?;
                for name in &host.files {
                    let path = Path::new(&table.name).join(&host.name).join(name);
                    let part = part(manifest, &path);
                    let is_whole = |part: &ChecksummedFile| files.open_file(name).is_ok_and(|file| part.is_in(&file));
                    if part.is_some_and(|part| !is_whole(part)) {
                        changed.push(path);
                    }
                }
            }
        }
        changed.iter().for_each(|path| self.note(Obstacle::Changed, path));
        if self.has_page() && !page_checksum::is_as_written(folder) {
            self.note(Obstacle::Foreign, Path::new(PAGE));
        }
        Ok(())
    }

    /// Is everything there iodyno's, and can go?
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Is there a journal?
    #[must_use]
    pub fn has_journal(&self) -> bool {
        self.files.iter().any(|name| name == JOURNAL)
    }

    /// Is there a page that iodyno wrote?
    #[must_use]
    pub fn has_page(&self) -> bool {
        self.files.iter().any(|name| name == PAGE)
    }

    /// Was it only begun? No manifest and no table; a journal may have what the manifest would have said, and rows.
    #[must_use]
    pub fn is_unbegun(&self) -> bool {
        self.tables.is_empty() && !self.files.iter().any(|name| name == MANIFEST || name == COPY)
    }

    /// Is every table that the manifest of a sealed recording names there?
    #[must_use]
    pub fn has_tables_of(&self, manifest: &Manifest) -> bool {
        let has_part = |table: &TableFolder| table.hosts.iter().any(|host| host.files.iter().any(|file| file == PART));
        let is_there = |name: &String| self.tables.iter().any(|table| table.name == name.as_str() && has_part(table));
        manifest.rows.keys().all(is_there)
    }

    /// What is in the way, in words: `it holds notes.txt, cpu/x and 3 more, not part of the recording`.
    #[must_use]
    pub fn why_not(&self) -> String {
        let sentences: Vec<String> = self
            .obstacles
            .iter()
            .map(|(obstacle, (names, count))| {
                let more = count - names.len();
                let names = names.join(", ");
                obstacle.sentence(&if more > 0 { format!("{names} and {more} more") } else { names })
            })
            .collect();
        sentences.join("; ")
    }

    /// Removes the files of this list and the folders that are empty then, but not the recording's own. Before each,
    /// `before` is called.
    ///
    /// # Errors
    /// One cannot be removed, or a folder has got something else in it; the others are as they are then.
    pub fn remove(&self, folder: &Folder, before: &mut dyn FnMut()) -> Result<(), OutputError> {
        for table in &self.tables {
            let hosts = folder.subfolder(&table.name)?;
            for host in &table.hosts {
                let files = hosts.subfolder(&host.name)?;
                for name in &host.files {
                    before();
                    files.remove_file(name)?;
                }
                before();
                hosts.remove_folder(&host.name)?;
            }
            before();
            folder.remove_folder(&table.name)?;
        }
        for name in &self.files {
            before();
            folder.remove_file(name)?;
        }
        Ok(())
    }

    fn note(&mut self, obstacle: Obstacle, name: &Path) {
        let (names, count) = self.obstacles.entry(obstacle).or_default();
        *count += 1;
        if names.len() < NAMES {
            names.push(name.to_string_lossy().escape_debug().to_string());
        }
    }

    /// Notes what holds a folder in its place; is there anything?
    fn is_held(&mut self, found: FoundEntry, path: &Path) -> bool {
        if let Some(held) = found.held {
            self.note(Obstacle::of(held), path);
        }
        found.held.is_some()
    }

    fn table(&mut self, folder: &Folder, name: OsString, manifest: Option<&Manifest>) -> Result<(), OutputError> {
        let path = PathBuf::from(&name);
        let Some(found) = folder.find(&name)? else { return Ok(()) };
        if self.is_held(found, &path) {
            return Ok(());
        }
        let hosts = folder.subfolder(&name)?;
        let mut table = TableFolder { name, hosts: Vec::new() };
        for name in hosts.names()? {
            let path = path.join(&name);
            let Some(found) = hosts.find(&name)? else { continue };
            if found.kind != EntryKind::Directory || !is_host(&name, manifest) {
                self.note(Obstacle::Foreign, &path);
            } else if !self.is_held(found, &path) {
                let files = self.parts(&hosts.subfolder(&name)?, &path, manifest)?;
                table.hosts.push(Host { name, files });
            }
        }
        self.tables.push(table);
        Ok(())
    }

    fn parts(
        &mut self,
        folder: &Folder,
        path: &Path,
        manifest: Option<&Manifest>,
    ) -> Result<Vec<OsString>, OutputError> {
        let mut files = Vec::new();
        for name in folder.names()? {
            let path = path.join(&name);
            let Some(found) = folder.find(&name)? else { continue };
            let obstacle = if found.kind == EntryKind::File && is_temporary(&name, &[PART]) {
                found.held.map(Obstacle::of)
            } else {
                obstacle_of_part(folder, &path, found, manifest)
            };
            match obstacle {
                Some(obstacle) => self.note(obstacle, &path),
                None => {
                    self.bytes += found.bytes;
                    files.push(name);
                }
            }
        }
        Ok(files)
    }
}

/// What is against a file that has the name of one of ours.
fn obstacle(folder: &Folder, name: &OsStr, found: FoundEntry, manifest: Option<&Manifest>) -> Option<Obstacle> {
    if let Some(held) = found.held {
        return Some(Obstacle::of(held));
    }
    // Without a manifest, what is in them says whose they are.
    let manifest = manifest?;
    if name == JOURNAL {
        let is_ours = is_journal_of(folder, manifest);
        let obstacle = if manifest.sealed { Obstacle::Foreign } else { Obstacle::Changed };
        return (!is_ours).then_some(obstacle);
    }
    let is_other = name == COPY && !is_copy_of(folder, manifest);
    is_other.then_some(Obstacle::Changed)
}

/// Is the journal in a recording's folder that of this manifest? A collector that was killed between sealing and the removal of
/// the journal has left it; then it begins as it did. One that was damaged before it was sealed has a whole frame somewhere.
pub(crate) fn is_journal_of(folder: &Folder, manifest: &Manifest) -> bool {
    let begins = folder.open_file(JOURNAL).is_ok_and(|mut file| journal::is_of(&mut file, manifest).unwrap_or(false));
    begins || (!manifest.sealed && journal::has_frame_of(folder.path(), manifest))
}

/// Is the second manifest one of the same recording?
pub(crate) fn is_copy_of(folder: &Folder, manifest: &Manifest) -> bool {
    let text = small_file(folder, COPY, BYTES_MAX);
    let copy = text.and_then(|text| Manifest::parse(&text, folder.path(), COPY).ok());
    copy.is_some_and(|copy| copy.id == manifest.id)
}

/// What is against something in the folder of a table for one host.
fn obstacle_of_part(folder: &Folder, path: &Path, found: FoundEntry, manifest: Option<&Manifest>) -> Option<Obstacle> {
    let name = path.file_name().unwrap_or_default();
    if found.kind != EntryKind::File {
        return Some(Obstacle::Foreign);
    }
    if let Some(held) = found.held {
        return Some(Obstacle::of(held));
    }
    match manifest {
        Some(manifest) if manifest.sealed && manifest.format_version >= HAS_PARTS => match part(manifest, path) {
            None => Some(Obstacle::Foreign),
            Some(part) => (part.bytes != found.bytes).then_some(Obstacle::Changed),
        },
        _ if name != PART => Some(Obstacle::Foreign),
        Some(manifest) if !manifest.sealed => {
            let is_ours = is_part_of(&folder.path().join(name), manifest);
            (!is_ours).then_some(Obstacle::Changed)
        }
        _ => None,
    }
}

/// The entry of a file in the manifest of a sealed recording.
fn part<'a>(manifest: &'a Manifest, path: &Path) -> Option<&'a ChecksummedFile> {
    manifest.parts.iter().find(|part| Path::new(&part.path) == path)
}

/// The manifest in a recording's folder, without following a link; `None` where it is none that this version reads.
#[must_use]
pub fn manifest_in(folder: &Folder) -> Option<Manifest> {
    let text = small_file(folder, MANIFEST, BYTES_MAX)?;
    Manifest::parse(&text, folder.path(), MANIFEST).ok()
}

/// Notes a recording that a command reads, or the recordings in a directory of them: none of its outputs may become a part of
/// one (see [`output::protect_folder`]). Something else, a trace for instance, is noted as a file.
pub fn protect_input(path: &Path) {
    let Ok(folder) = Folder::open(path) else { return output::protect_file(path) };
    if is_recording(&folder) {
        return keep_recording(path, &folder);
    }
    for name in folder.names().unwrap_or_default() {
        match folder.subfolder(&name) {
            Ok(inner) if is_recording(&inner) => keep_recording(&path.join(&name), &inner),
            Ok(_) => {}
            Err(_) => output::protect_file(&path.join(&name)),
        }
    }
}

fn is_recording(folder: &Folder) -> bool {
    [MANIFEST, COPY, JOURNAL].iter().any(|name| matches!(folder.kind(name), Ok(Some(EntryKind::File))))
}

fn keep_recording(path: &Path, folder: &Folder) {
    let manifest = manifest_in(folder);
    output::protect_folder(
        path,
        Box::new(move |name| {
            let manifest = manifest.as_ref();
            is_file_of_ours(name) || is_table(name, manifest) || is_table(name, None)
        }),
    );
}

/// Removes what of a recording is ours, and its folder when that is empty then: for one that could not be made.
pub fn discard(directory: &Path) {
    let Some((parent, name)) = directory.parent().zip(directory.file_name()) else { return };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let removed = Folder::open(parent).and_then(|parent| {
        let folder = parent.subfolder(name)?;
        let inventory = Inventory::of(&folder, manifest_in(&folder).as_ref())?;
        inventory.remove(&folder, &mut || ())?;
        parent.remove_folder(name)
    });
    // What cannot be removed stays: on a disk that fails, say.
    let _ = removed;
}

/// Also a journal: a collector that was killed between sealing and its removal has left it.
fn is_file_of_ours(name: &OsStr) -> bool {
    [MANIFEST, COPY, MARK, JOURNAL].iter().any(|of| name == *of) || is_temporary(name, &[MANIFEST, COPY, MARK])
}

/// What a writer that was killed has left: `.NAME.0123456789abcdef.new`.
fn is_temporary(name: &OsStr, of: &[&str]) -> bool {
    let Some(name) = name.to_str() else { return false };
    of.iter().any(|of| {
        let random =
            name.strip_prefix('.').and_then(|rest| rest.strip_prefix(of)).and_then(|rest| rest.strip_prefix('.'));
        random.and_then(|rest| rest.strip_suffix(".new")).is_some_and(is_hexadecimal)
    })
}

fn is_hexadecimal(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A sealed recording has the tables that its manifest names; sealing may have begun any.
fn is_table(name: &OsStr, manifest: Option<&Manifest>) -> bool {
    let Some(name) = name.to_str() else { return false };
    match manifest {
        Some(manifest) if manifest.sealed => output::table_name(name).is_ok() && manifest.rows.contains_key(name),
        _ => crate::table(name).is_some(),
    }
}

fn is_host(name: &OsStr, manifest: Option<&Manifest>) -> bool {
    match manifest {
        Some(manifest) => name == OsStr::new(&host_folder(&manifest.host)),
        None => name.to_str().is_some_and(|name| name.starts_with("host=")),
    }
}
