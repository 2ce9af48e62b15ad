//! What stands in the folder of a recording: the files that iodyno wrote, by their names, and what others have put there.
//!
//! Nothing is removed by walking through a folder: what goes, goes by a name of this list, through descriptors of the folders
//! that it is in, and a folder goes when it is empty.

use crate::journal::JOURNAL;
use crate::manifest::{BYTES_MAX, COPY, MANIFEST};
use crate::mark::{MARK, small_file};
use crate::{Manifest, seal};
use output::{Folder, Kind, OutputError};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The one part of a sealed table.
pub(crate) const PART: &str = "000001.parquet";
/// So many foreign names are told.
const NAMES: usize = 5;

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

/// The files of a recording.
#[derive(Debug, Default)]
pub struct Inventory {
    /// Files beside the tables.
    files: Vec<OsString>,
    tables: Vec<TableFolder>,
    /// The first names of what iodyno did not write, control characters escaped.
    pub foreign: Vec<String>,
    /// How many such there are.
    pub foreign_count: usize,
    /// Bytes of all files of ours.
    pub bytes: u64,
}

impl Inventory {
    /// Looks through the folder of a recording. `manifest` says which tables it has; without one, it may have all that this
    /// version knows. A link, a FIFO, a device, and whatever another file system is mounted on are foreign, whatever their
    /// name.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn of(folder: &Folder, manifest: Option<&Manifest>) -> Result<Self, OutputError> {
        let mut found = Self::default();
        for name in folder.names()? {
            match folder.kind(&name)? {
                Some(Kind::File) if is_file_of_ours(&name, manifest) => {
                    found.bytes += bytes_of(folder, &name);
                    found.files.push(name);
                }
                Some(Kind::Directory) if is_table(&name, manifest) => found.table(folder, name, manifest)?,
                None => {}
                Some(_) => found.strange(Path::new(&name)),
            }
        }
        // Removed last are what it is known by: the manifest, and then the mark.
        found.files.sort_by_key(|name| (name == MARK, name == MANIFEST));
        Ok(found)
    }

    /// Is everything there iodyno's?
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.foreign_count == 0
    }

    /// Is there a journal?
    #[must_use]
    pub fn has_journal(&self) -> bool {
        self.files.iter().any(|name| name == JOURNAL)
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

    /// What others have put there, in words: `notes.txt, cpu/x and 3 more`.
    #[must_use]
    pub fn foreign_words(&self) -> String {
        let more = self.foreign_count - self.foreign.len();
        let names = self.foreign.join(", ");
        if more > 0 { format!("{names} and {more} more") } else { names }
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

    fn strange(&mut self, name: &Path) {
        self.foreign_count += 1;
        if self.foreign.len() < NAMES {
            self.foreign.push(name.to_string_lossy().escape_debug().to_string());
        }
    }

    fn table(&mut self, folder: &Folder, name: OsString, manifest: Option<&Manifest>) -> Result<(), OutputError> {
        let hosts = folder.subfolder(&name)?;
        if !hosts.is_on_mount_of(folder)? {
            self.strange(Path::new(&name));
            return Ok(());
        }
        let mut table = TableFolder { name, hosts: Vec::new() };
        for name in hosts.names()? {
            let path = Path::new(&table.name).join(&name);
            match hosts.kind(&name)? {
                Some(Kind::Directory) if is_host(&name, manifest) => {
                    let files = hosts.subfolder(&name)?;
                    if files.is_on_mount_of(folder)? {
                        let files = self.parts(&files, &path)?;
                        table.hosts.push(Host { name, files });
                    } else {
                        self.strange(&path);
                    }
                }
                None => {}
                Some(_) => self.strange(&path),
            }
        }
        self.tables.push(table);
        Ok(())
    }

    fn parts(&mut self, folder: &Folder, path: &Path) -> Result<Vec<OsString>, OutputError> {
        let mut files = Vec::new();
        for name in folder.names()? {
            match folder.kind(&name)? {
                Some(Kind::File) if name == PART || is_temporary(&name, &[PART]) => {
                    self.bytes += bytes_of(folder, &name);
                    files.push(name);
                }
                None => {}
                Some(_) => self.strange(&path.join(&name)),
            }
        }
        Ok(files)
    }
}

/// The manifest in a recording's folder, without following a link; `None` where it is none that this version reads.
#[must_use]
pub fn manifest_in(folder: &Folder) -> Option<Manifest> {
    let text = small_file(folder, MANIFEST, BYTES_MAX)?;
    Manifest::parse(&text, folder.path(), MANIFEST).ok()
}

/// Notes a recording that a command reads, or the recordings in a directory of them: none of its outputs may become a part of
/// one (see [`output::keep_folder`]). Something else, a trace for instance, is noted as a file.
pub fn keep(path: &Path) {
    let Ok(folder) = Folder::open(path) else { return output::keep_file(path) };
    if is_recording(&folder) {
        return keep_recording(path, &folder);
    }
    for name in folder.names().unwrap_or_default() {
        match folder.subfolder(&name) {
            Ok(inner) if is_recording(&inner) => keep_recording(&path.join(&name), &inner),
            Ok(_) => {}
            Err(_) => output::keep_file(&path.join(&name)),
        }
    }
}

fn is_recording(folder: &Folder) -> bool {
    [MANIFEST, COPY, JOURNAL].iter().any(|name| matches!(folder.kind(name), Ok(Some(Kind::File))))
}

fn keep_recording(path: &Path, folder: &Folder) {
    let manifest = manifest_in(folder);
    output::keep_folder(
        path,
        Box::new(move |name| {
            let manifest = manifest.as_ref();
            is_file_of_ours(name, manifest) || is_table(name, manifest) || is_table(name, None)
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

fn bytes_of(folder: &Folder, name: &OsStr) -> u64 {
    folder
        .open_file(name)
        .and_then(|file| file.metadata().map_err(OutputError::io("read", folder.path())))
        .map_or(0, |found| found.len())
}

fn is_file_of_ours(name: &OsStr, manifest: Option<&Manifest>) -> bool {
    let is_sealed = manifest.is_some_and(|manifest| manifest.sealed);
    name == MANIFEST
        || name == COPY
        || name == MARK
        // A collector that was killed between sealing and this has left it.
        || name == JOURNAL
        || (!is_sealed && (name == "manifest.json.new" || name == "manifest.json.copy.new"))
        || is_temporary(name, &[MANIFEST, COPY, MARK])
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
        Some(manifest) => name == OsStr::new(&seal::host_folder(&manifest.host)),
        None => name.to_str().is_some_and(|name| name.starts_with("host=")),
    }
}
