//! Makes of a damaged recording one of what is whole. Nothing is removed: what was damaged stays beside it under the name
//! `NAME.damaged-N`, and what could not be kept is counted in the manifest.

use crate::checksums::{ChecksummedFile, Summing};
use crate::damage::RecordingDamage;
use crate::journal::{JOURNAL, JournalReader};
use crate::manifest::{COPY, MANIFEST};
use crate::seal::properties;
use crate::sealed::{MANIFEST_KEY, Sealed, SealedFile, files_are_of, files_below, manifest_of};
use crate::{Manifest, RecordingError, RecordingExit, damage, journal, seal};
use output::{Folder, ReplacePolicy};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Repairs the recording in `directory`; what was done, a sentence each without a full stop, nothing for a whole one.
///
/// # Errors
/// It is no recording, is being written, has nothing left of what its manifest said, or cannot be written.
pub fn repair(directory: &Path) -> Result<Vec<String>, RecordingError> {
    let folder = Folder::open(directory).map_err(failed(directory))?;
    let lock = lock(directory, &folder)?;
    let mut notes = Vec::new();
    let (mut manifest, is_manifest_damaged) = match Manifest::find(directory) {
        // It and its copy may both be another's.
        Ok((manifest, _)) if manifest.sealed && files_are_of(directory, &manifest.id) == Some(false) => {
            notes.push(format!("{MANIFEST} is another recording's (id {:?})", manifest.id));
            let Some(manifest) = from_files(directory, &mut notes)? else {
                return Err(RecordingError::NothingLeft(directory.to_path_buf()));
            };
            (manifest, true)
        }
        Ok((manifest, _)) if !manifest.sealed && !journal::is_there(directory) => {
            let Some(manifest) = from_files(directory, &mut notes)? else {
                return Err(RecordingError::NothingLeft(directory.to_path_buf()));
            };
            (manifest, true)
        }
        Ok((manifest, why)) => {
            let is_damaged = why.is_some();
            notes.extend(why.map(|why| format!("{MANIFEST} is written again: {why}")));
            (manifest, is_damaged)
        }
        Err(error @ RecordingError::Newer { .. }) => return Err(error),
        Err(error) => {
            let Some(manifest) = from_files(directory, &mut notes)? else { return Err(error) };
            (manifest, true)
        }
    };
    let before = manifest.clone();
    if !manifest.sealed {
        let found = damage::inspect(JournalReader::open(directory, &manifest)?)?;
        if found.is_some() {
            notes.extend(found.sentences(&manifest));
            // The manifest goes first: sealing replaces it.
            put_aside(&folder, MANIFEST, is_manifest_damaged)?;
            put_aside(&folder, COPY, manifest.is_wrong(directory, COPY))?;
            manifest.exit.get_or_insert(RecordingExit::Killed);
            seal::seal(&folder, &mut manifest)?;
            let kept = put_aside(&folder, JOURNAL, true)?;
            notes.extend(kept.map(|name| format!("the whole frames were sealed, the journal is kept as {name}")));
            drop(lock);
            return Ok(notes);
        }
    } else {
        let found = repair_files(directory, &folder, &mut manifest, &mut notes)?;
        found.keep(&mut manifest);
    }
    if is_manifest_damaged || manifest != before {
        put_aside(&folder, MANIFEST, is_manifest_damaged)?;
        if manifest.sealed {
            put_aside(&folder, COPY, manifest.is_wrong(directory, COPY))?;
            manifest.write_sealed(&folder)?;
        } else {
            manifest.write(&folder)?;
        }
    } else if manifest.sealed && manifest.format_version > 1 && manifest.is_wrong(directory, COPY) {
        put_aside(&folder, COPY, true)?;
        manifest.write_sealed(&folder)?;
        notes.push(format!("{COPY} is written again: it was damaged, missing or another recording's"));
    }
    Ok(notes)
}

/// For `map_err` over what is done with files.
fn failed(directory: &Path) -> impl Fn(output::OutputError) -> RecordingError {
    let path = directory.to_path_buf();
    move |error| RecordingError::Io { action: "repair", path: path.clone(), source: std::io::Error::other(error) }
}

/// Keeps a writer, and a second repair, away.
fn lock(directory: &Path, folder: &Folder) -> Result<Option<File>, RecordingError> {
    if folder.kind(JOURNAL).map_err(failed(directory))?.is_none() {
        return Ok(None);
    }
    let file = folder.open_file(JOURNAL).map_err(failed(directory))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(RecordingError::BeingWritten(directory.to_path_buf())),
        _ => Ok(Some(file)),
    }
}

/// Gives a damaged file another name, the first that is free; returns it.
fn put_aside(folder: &Folder, name: &str, is_damaged: bool) -> Result<Option<String>, RecordingError> {
    let of = failed(folder.path());
    if !is_damaged || folder.kind(name).map_err(&of)?.is_none() {
        return Ok(None);
    }
    let mut number = 1;
    let free = loop {
        let free = format!("{name}.damaged-{number}");
        if folder.kind(&free).map_err(&of)?.is_none() {
            break free;
        }
        number += 1;
    };
    folder.rename(name, &free, ReplacePolicy::Nothing).map_err(&of)?;
    Ok(Some(free))
}

/// Takes out of the damaged files what is whole; what is lost.
fn repair_files(
    directory: &Path,
    folder: &Folder,
    manifest: &mut Manifest,
    notes: &mut Vec<String>,
) -> Result<RecordingDamage, RecordingError> {
    let sealed = Sealed::new(directory, manifest)?;
    let mut damage = RecordingDamage::default();
    let mut parts = Vec::new();
    for (part, file) in manifest.parts.clone().into_iter().zip(sealed.all()) {
        let Err(error) = file.check() else {
            parts.push(part);
            continue;
        };
        let table = part.table().unwrap_or_default().to_string();
        let host = host_folder(folder, &part)?;
        let (file, tail) = file.without_tail().map_or((file, 0), |(file, tail)| (file, tail));
        let saved = host.as_ref().map(|host| salvage(host, &file, &part, manifest)).transpose()?.flatten();
        let rows = saved.as_ref().map_or(0, |saved| saved.rows);
        let kept = match &host {
            Some(host) => put_aside(host, file_name(&part), true)?,
            None => None,
        };
        let kept = kept.map_or(String::new(), |name| format!(", the damaged file is kept as {name}"));
        let what = error.what();
        let dropped = if tail > 0 { format!("; {tail} bytes behind its end are left out") } else { String::new() };
        let unproved = if rows > 0 && rows < part.rows {
            "; row groups in a damaged MiB are left out whole, because which of their rows are hit cannot be proved"
        } else {
            ""
        };
        notes.push(format!("{what}{dropped}; {rows} of its {} rows are proved whole{unproved}{kept}", part.rows));
        let lost = part.rows.saturating_sub(rows);
        if lost > 0 {
            *damage.rows_lost.entry(table.clone()).or_default() += lost;
        }
        if let Some(all) = manifest.rows.get_mut(&table) {
            *all = all.saturating_sub(lost);
        }
        parts.extend(saved);
    }
    manifest.rows.retain(|table, rows| *rows > 0 || !damage.rows_lost.contains_key(table));
    manifest.parts = parts;
    Ok(damage)
}

fn file_name(part: &ChecksummedFile) -> &str {
    part.path.rsplit('/').next().unwrap_or_default()
}

/// The folder of a part; `None` where it is gone.
fn host_folder(folder: &Folder, part: &ChecksummedFile) -> Result<Option<Folder>, RecordingError> {
    let of = failed(folder.path());
    let mut names = part.path.split('/');
    let (Some(table), Some(host)) = (names.next(), names.next()) else { return Ok(None) };
    if folder.kind(table).map_err(&of)?.is_none() {
        return Ok(None);
    }
    let table = folder.subfolder(table).map_err(&of)?;
    if table.kind(host).map_err(&of)?.is_none() {
        return Ok(None);
    }
    table.subfolder(host).map(Some).map_err(&of)
}

/// Writes the row groups of a file that are whole to a new one beside it; `None` where there are none.
fn salvage(
    host: &Folder,
    file: &SealedFile,
    part: &ChecksummedFile,
    manifest: &Manifest,
) -> Result<Option<ChecksummedFile>, RecordingError> {
    let table = part.table().unwrap_or_default();
    let Ok(builder) = file.builder(table) else { return Ok(None) };
    let (schema, groups) = (builder.schema().clone(), builder.metadata().num_row_groups());
    let of = failed(host.path());
    let mut number = 2;
    let name = loop {
        let name = format!("{number:06}.parquet");
        if host.kind(&name).map_err(&of)?.is_none() {
            break name;
        }
        number += 1;
    };
    let out = host.create_new(&name).map_err(&of)?;
    let path = host.path().join(&name);
    let wrong = |error: parquet::errors::ParquetError| RecordingError::format(table)(error);
    let properties = properties(&schema);
    let mut writer = ArrowWriter::try_new(Summing::new(out), schema, Some(properties)).map_err(wrong)?;
    let mut rows = 0;
    for group in 0..groups {
        let batches = file.builder(table).and_then(|builder| file.read(table, builder.with_row_groups(vec![group])));
        // All of it or nothing: rows of half a row group would end somewhere.
        let Ok(batches) = batches.and_then(Iterator::collect::<Result<Vec<_>, _>>) else { continue };
        for batch in batches {
            writer.write(&batch).map_err(wrong)?;
            rows += batch.num_rows() as u64;
        }
    }
    writer.append_key_value_metadata(KeyValue::new(MANIFEST_KEY.to_string(), seal::in_metadata(manifest, true)?));
    let summing = writer.into_inner().map_err(wrong)?;
    summing.get_ref().sync_all().map_err(RecordingError::io("sync", &path))?;
    host.sync().map_err(&of)?;
    if rows == 0 {
        host.remove_file(&name).map_err(&of)?;
        return Ok(None);
    }
    let folder = part.path.strip_suffix(file_name(part)).unwrap_or_default();
    Ok(Some(summing.part(format!("{folder}{name}"), rows)))
}

/// The manifest as sealed files have it, when nothing else has: checksums stood nowhere else, so that what is in the files
/// can be read but not checked, and that is kept as damage.
fn from_files(directory: &Path, notes: &mut Vec<String>) -> Result<Option<Manifest>, RecordingError> {
    let mut found: Vec<(String, Manifest, u64)> = Vec::new();
    let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
    for path in files_below(directory).map_err(failed(directory))? {
        let file = SealedFile::unknown(directory, path.clone());
        let Ok(builder) = file.builder("") else {
            notes.push(format!("{path} cannot be read and is left out"));
            continue;
        };
        let Some(said) = manifest_of(&builder) else { continue };
        *by_id.entry(said.id.clone()).or_default() += 1;
        let read = file.read("", builder).and_then(|rows| {
            rows.map(|batch| batch.map(|batch| batch.num_rows() as u64)).sum::<Result<u64, RecordingError>>()
        });
        match read {
            Ok(rows) => found.push((path, said, rows)),
            Err(_) => notes.push(format!("{path} cannot be read and is left out")),
        }
    }
    // Files of others may lie between its own.
    let id = by_id.into_iter().max_by_key(|(_, files)| *files).map(|(id, _)| id);
    let (found, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, said, _)| Some(&said.id) == id.as_ref());
    notes.extend(others.iter().map(|(path, ..)| format!("{path} is of another recording and is left out")));
    let mut manifest: Option<Manifest> = None;
    for (_, said, _) in &found {
        let known = manifest.get_or_insert_with(|| said.clone());
        if !said.hardware.is_null() {
            (known.hardware, known.sources) = (said.hardware.clone(), said.sources.clone());
        }
    }
    let Some(mut manifest) = manifest else { return Ok(None) };
    notes.push(format!("{MANIFEST} is written again from what the sealed files have of it"));
    let mut damage = RecordingDamage::default();
    let mut rows: BTreeMap<String, u64> = BTreeMap::new();
    for (path, _, count) in found {
        let part = ChecksummedFile::of(directory, path, count)?;
        *rows.entry(part.table().unwrap_or_default().to_string()).or_default() += count;
        manifest.parts.push(part);
    }
    for (table, expected) in &manifest.rows {
        let lost = expected.saturating_sub(rows.get(table).copied().unwrap_or(0));
        if lost > 0 {
            damage.rows_lost.insert(table.clone(), lost);
        }
    }
    manifest.rows = rows;
    damage
        .files
        .push("the checksums of its files were lost with the manifest: their rows could be read, not checked".into());
    damage.keep(&mut manifest);
    Ok(Some(manifest))
}
