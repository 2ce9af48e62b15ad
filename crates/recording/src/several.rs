//! Several recordings read as one: the hosts of one test, the days of one host.

use crate::{Reader, RecordingError, Row};
use arrow_array::RecordBatch;
use std::collections::BTreeSet;
use std::path::Path;

/// Recordings in the order in which they were named. Each row comes with the index of its recording. `time`, which
/// every batch carries, orders rows across hosts.
#[derive(Debug)]
pub struct Recordings {
    readers: Vec<Reader>,
}

impl Recordings {
    /// Opens the recordings in `directories`.
    ///
    /// # Errors
    /// One of them is not a recording, or of a newer format.
    pub fn open<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>) -> Result<Self, RecordingError> {
        Ok(Self { readers: directories.into_iter().map(Reader::open).collect::<Result<_, _>>()? })
    }

    /// Each by itself.
    #[must_use]
    pub fn readers(&self) -> &[Reader] {
        &self.readers
    }

    /// Names of the tables that have rows in any of them, in alphabetical order.
    ///
    /// # Errors
    /// A journal cannot be read.
    pub fn tables(&self) -> Result<Vec<String>, RecordingError> {
        let mut names = BTreeSet::new();
        for reader in &self.readers {
            names.extend(reader.tables()?);
        }
        Ok(names.into_iter().collect())
    }

    /// All batches of a table, each with `time` and the index of its recording.
    pub fn batches(&self, table: &str) -> impl Iterator<Item = Result<(usize, RecordBatch), RecordingError>> {
        self.readers.iter().enumerate().flat_map(move |(index, reader)| {
            let (batches, failed) = match reader.batches(table) {
                Ok(batches) => (Some(batches), None),
                Err(error) => (None, Some(Err(error))),
            };
            let timed = move |batch: Result<RecordBatch, _>| Ok((index, reader.add_time(&batch?, table)?));
            failed.into_iter().chain(batches.into_iter().flatten().map(timed))
        })
    }

    /// All rows of a table, each with the index of its recording.
    pub fn rows<R: Row>(&self) -> impl Iterator<Item = Result<(usize, R), RecordingError>> {
        self.readers.iter().enumerate().flat_map(|(index, reader)| {
            let (rows, failed) = match reader.rows::<R>() {
                Ok(rows) => (Some(rows), None),
                Err(error) => (None, Some(Err(error))),
            };
            failed.into_iter().chain(rows.into_iter().flatten().map(move |row| Ok((index, row?))))
        })
    }
}
