//! Writes `vdb_control.file`.

use crate::control_file::{Moment, dist, java_date, sizes, sum_of};
use crate::names::CONTROL_FILE;
use crate::{FileState, Tree, TreeError};
use output::{Folder, ReplacePolicy};
use plan::TreeShape;
use quantity::clock;
use std::io::{BufWriter, Write};

impl Tree {
    /// Notes before a run that changes the tree that what is known of it is not to be believed after a crash. Where that cannot be
    /// written, because there is no room, the control file is removed.
    ///
    /// # Errors
    /// When neither is possible.
    pub fn begin_changes(&self) -> Result<(), TreeError> {
        if self.shape().is_listed() {
            // It could not say of such a tree what it is, and one that is there is of another tree.
            return if remove(self) {
                Ok(())
            } else {
                Err(TreeError::StaleControlFile { path: self.path().join(CONTROL_FILE) })
            };
        }
        let Err(error) = self.write_control_file(Moment::Start) else { return Ok(()) };
        if remove(self) { Ok(()) } else { Err(error) }
    }

    /// Writes the control file: at the start of a run, so that nothing is believed after a crash, and at its end. Not where several
    /// processes share the tree, nor of a listed tree.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_control_file(&self, moment: Moment) -> Result<(), TreeError> {
        if self.shape().shared || self.shape().is_listed() {
            return Ok(());
        }
        write(self, moment)
    }
}

/// Writes the control file of a tree, complete or not at all.
fn write(tree: &Tree, moment: Moment) -> Result<(), TreeError> {
    let fd = tree.anchor().try_clone_to_owned().map_err(TreeError::system("open the anchor", tree.path()))?;
    let folder = Folder::of_descriptor(fd, tree.path());
    let mut file = folder.begin(CONTROL_FILE, ReplacePolicy::File)?;
    let path = tree.path().join(CONTROL_FILE);
    let mut out = Summed { out: BufWriter::new(file.file()), sum: 0 };
    let written = put(&mut out, tree, moment, clock::wall_ns()).and_then(|()| {
        let sum = out.sum;
        writeln!(out, "checksum: {sum} ")?;
        out.out.flush()
    });
    written.map_err(TreeError::system("write", &path))?;
    drop(out);
    Ok(file.finish()?)
}

/// Removes the control file of a tree; is there none now?
fn remove(tree: &Tree) -> bool {
    let Ok(fd) = tree.anchor().try_clone_to_owned() else { return false };
    let folder = Folder::of_descriptor(fd, tree.path());
    folder.remove_file(CONTROL_FILE).is_ok() || folder.kind(CONTROL_FILE).is_ok_and(|kind| kind.is_none())
}

/// Sums the characters up, without the ends of lines.
struct Summed<W: Write> {
    out: W,
    sum: u64,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.sum += sum_of(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

fn put(out: &mut impl Write, tree: &Tree, moment: Moment, wall_ns: i64) -> std::io::Result<()> {
    let TreeShape { depth, width, files, .. } = *tree.shape();
    writeln!(out, "when  {} {}", moment.word(), java_date(wall_ns))?;
    write!(out, "depth {depth}\nwidth {width}\nfiles {files}\ndist  {}\n", dist(tree.shape()))?;
    for size in sizes(&tree.shape().sizes) {
        writeln!(out, "size  {size}")?;
    }
    let (layout, state) = (tree.layout(), tree.state());
    writeln!(out, "directory status {}", layout.directories())?;
    for directory in 0..layout.directories() {
        out.write_all(if state.has_directory(directory) { b"y\n" } else { b"n\n" })?;
    }
    writeln!(out, "file status {}", layout.files())?;
    // The last line of all is never part of a repetition.
    let mut before: Option<(FileState, bool)> = None;
    let mut repeats = 0_u64;
    for file in 0..layout.files() {
        let now = state.file(file);
        let is_full = now.bytes == layout.asked_bytes(file);
        let is_last = file + 1 == layout.files();
        if before == Some((now, is_full)) && !is_last {
            repeats += 1;
            continue;
        }
        if repeats > 0 {
            writeln!(out, "= {repeats}")?;
            repeats = 0;
        }
        match (now.exists, is_full) {
            (false, _) => out.write_all(b"n\n")?,
            (true, true) => out.write_all(b"f\n")?,
            (true, false) => writeln!(out, "{}", now.bytes)?,
        }
        before = Some((now, is_full));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
