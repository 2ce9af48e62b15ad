//! What names.h writes: tasks and files by short numbers, read without trust.

use crate::TraceError;
use crate::paths::File;
use crate::program::Loaded;
use libbpf_rs::{MapCore, MapFlags};

/// Bytes of a task's name.
const ACTOR_BYTES: usize = 40;
/// A file's name goes out with at least so many bytes.
const FILE_BYTES_MIN: usize = 72;
/// Where its names begin.
const FILE_HEADER_BYTES: usize = 24;

/// What a number stands for.
#[derive(Debug)]
pub(crate) enum Name {
    Actor(u32, Actor),
    File(u32, File),
}

impl Name {
    /// `None` for what the probe does not write.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        match bytes.len() {
            ACTOR_BYTES => {
                let mut at = Cursor::new(bytes);
                let id = at.u32();
                let _ = at.u32();
                Some(Self::Actor(id, Actor { pid: at.u32(), tid: at.u32(), cgroup: at.u64(), comm: at.text(16) }))
            }
            FILE_BYTES_MIN.. => file(bytes),
            _ => None,
        }
    }
}

/// A task as it was when it issued something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    /// Inode of its control group's directory.
    pub(crate) cgroup: u64,
    pub(crate) comm: String,
}

/// A file and its number.
fn file(bytes: &[u8]) -> Option<Name> {
    let mut at = Cursor::new(bytes);
    let (id, dev, inode) = (at.u32(), at.u32(), at.u64());
    let length = usize::try_from(at.u32()).ok()?;
    let (whole, deleted, device) = (at.u8() != 0, at.u8() != 0, at.u8() != 0);
    let names = bytes.get(FILE_HEADER_BYTES..)?.get(..length)?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Some(Name::File(id, File { dev, inode, names, whole, deleted, device }))
}

/// Tells the probe whose doings are wanted; empty lists want everybody's.
///
/// # Errors
/// More values than the probe has room for.
pub(crate) fn fill_who(loaded: &Loaded, pids: &[u32], comms: &[String], cgroups: &[u64]) -> Result<(), TraceError> {
    fill(loaded, "pids", pids.iter().map(|pid| pid.to_ne_bytes().to_vec()))?;
    fill(loaded, "cgroups", cgroups.iter().map(|cgroup| cgroup.to_ne_bytes().to_vec()))?;
    let comms = comms.iter().map(|comm| {
        // The kernel keeps 15 bytes of a name.
        let mut key = vec![0; 16];
        key.iter_mut().take(15).zip(comm.bytes()).for_each(|(to, from)| *to = from);
        key
    });
    fill(loaded, "comms", comms)
}

/// Puts keys into one of the sets that a probe compares with.
///
/// # Errors
/// There is no room.
pub(crate) fn fill(loaded: &Loaded, name: &str, keys: impl Iterator<Item = Vec<u8>>) -> Result<(), TraceError> {
    let map = loaded.map(name)?;
    for key in keys {
        map.update(&key, &[1], MapFlags::ANY)
            .map_err(|why| TraceError::Parameter(format!("too many values for the filter {name}: {why}")))?;
    }
    Ok(())
}

/// Reads numbers of this machine's byte order one after the other; zeros beyond the end.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        if let Some(bytes) = self.bytes.get(self.at..self.at + N) {
            out.copy_from_slice(bytes);
        }
        self.at += N;
        out
    }

    pub(crate) fn u8(&mut self) -> u8 {
        u8::from_ne_bytes(self.take())
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    /// A C string in a field of `length` bytes.
    pub(crate) fn text(&mut self, length: usize) -> String {
        let bytes = self.bytes.get(self.at..self.at + length).unwrap_or_default();
        self.at += length;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probe's layout of a file's name.
    fn named(id: u32, names: &[u8], length: u32) -> Vec<u8> {
        let mut bytes = [id.to_ne_bytes(), 7_u32.to_ne_bytes()].concat();
        bytes.extend_from_slice(&99_u64.to_ne_bytes());
        bytes.extend_from_slice(&length.to_ne_bytes());
        bytes.extend_from_slice(&[1, 0, 0, 0]);
        bytes.extend_from_slice(names);
        bytes.resize(bytes.len().max(FILE_BYTES_MIN), 0);
        bytes
    }

    #[test]
    fn names_of_files_are_read_from_the_file_up() {
        let bytes = named(5, b"b\0a\0", 4);
        let Some(Name::File(5, file)) = Name::of(&bytes) else { panic!("no file") };
        assert_eq!((file.dev, file.inode, file.whole, file.deleted), (7, 99, true, false));
        assert_eq!(file.names, ["b", "a"]);
        let bytes = named(5, b"", 0);
        assert!(matches!(Name::of(&bytes), Some(Name::File(5, file)) if file.names.is_empty()));
    }

    #[test]
    fn what_the_probe_does_not_write_is_unknown() {
        assert!(Name::of(&named(5, b"x", 4000)).is_none(), "longer than the record");
        for length in [0, 1, 39, 41, 63, 64, 65, 71] {
            assert!(Name::of(&vec![0xff; length]).is_none(), "{length}");
        }
    }
}
