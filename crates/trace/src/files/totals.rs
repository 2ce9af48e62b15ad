//! What probe.bpf.c sums: the same layouts, read without trust.

use crate::names::Cursor;
use std::sync::Arc;

/// Bytes of a key: the numbers of a file and of a task.
pub(super) const KEY_BYTES: usize = 8;

/// `None` when it is not one.
pub(super) fn key_of(bytes: &[u8]) -> Option<[u8; KEY_BYTES]> {
    bytes.try_into().ok()
}

/// The numbers of file and task.
pub(super) fn ids_of(key: &[u8; KEY_BYTES]) -> (u32, u32) {
    let mut at = Cursor::new(key);
    (at.u32(), at.u32())
}

/// What was done with a file. Logical is what programs asked for; physical what the page cache had to get, and what went past it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    /// Reads through the page cache that gave something.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Pages of the page cache that they touched, each read by itself.
    pub read_pages: u64,
    /// Direct reads.
    pub direct_reads: u64,
    /// Their bytes.
    pub direct_read_bytes: u64,
    /// Writes into the page cache.
    pub writes: u64,
    /// Their bytes.
    pub write_bytes: u64,
    /// Direct writes.
    pub direct_writes: u64,
    /// Their bytes.
    pub direct_write_bytes: u64,
    /// Pages that were touched through a mapping for the first time.
    pub mapped_pages: u64,
    /// Pages brought into the page cache to be read, read-ahead included.
    pub pages_in: u64,
    /// Pages made in the page cache to be written.
    pub pages_made: u64,
}

impl FileCounts {
    /// As the kernel's table holds them.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut at = Cursor::new(bytes);
        let mut counts = Self::default();
        counts.each(|field| *field = at.u64());
        counts
    }

    fn each(&mut self, mut work: impl FnMut(&mut u64)) {
        for field in [
            &mut self.reads,
            &mut self.read_bytes,
            &mut self.read_pages,
            &mut self.direct_reads,
            &mut self.direct_read_bytes,
            &mut self.writes,
            &mut self.write_bytes,
            &mut self.direct_writes,
            &mut self.direct_write_bytes,
            &mut self.mapped_pages,
            &mut self.pages_in,
            &mut self.pages_made,
        ] {
            work(field);
        }
    }

    fn values(mut self) -> Vec<u64> {
        let mut values = Vec::new();
        self.each(|field| values.push(*field));
        values
    }

    /// What came since `earlier`. A page that turned out to be made for a write is taken back from those read in, at
    /// times an interval later: then less is 0.
    #[must_use]
    pub(super) fn since(mut self, earlier: &Self) -> Self {
        let mut earlier = earlier.values().into_iter();
        self.each(|field| *field = field.saturating_sub(earlier.next().unwrap_or(0)));
        self
    }

    /// Was nothing done?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a process did with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileActivity {
    /// Where the file's file system is mounted; `None` when it is not, or the file's name was lost.
    pub mount: Option<Arc<str>>,
    /// Its inode; a block device's number.
    pub inode: Option<u64>,
    /// Its path when it was first seen; `/dev/…` for a block device.
    pub file: Option<Arc<str>>,
    /// The process.
    pub pid: Option<u32>,
    /// Its name.
    pub comm: Option<Arc<str>>,
    /// What was done.
    pub counts: FileCounts,
}

/// What the probe could not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTraceLosses {
    /// Reads, writes and pages: the table of files and processes was full.
    pub table: u64,
    /// Names without room; what was done is counted, and whose it was is not known.
    pub names: u64,
    /// Operations of calls that submitted more than 64.
    pub operations: u64,
}

impl FileTraceLosses {
    /// Sums the values of all CPUs.
    pub(super) fn sum(cpus: &[Vec<u8>]) -> Self {
        let mut sum = Self::default();
        for cpu in cpus {
            let mut at = Cursor::new(cpu);
            for field in [&mut sum.table, &mut sum.names, &mut sum.operations] {
                *field += at.u64();
            }
        }
        sum
    }

    /// All reads and writes that are not in the sums.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.table + self.operations
    }
}
