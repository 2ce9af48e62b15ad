//! Reads and writes of files as programs ask for them, and what of them the page cache did not have.
//!
//! The probe sums in the kernel, per file and process; [`FileTrace::read`] takes what was added since it was last asked.

mod totals;

pub use totals::{FileActivity, FileCounts, FileTraceLosses};

use crate::constants::Constants;
use crate::kernel_ring::KernelRing;
use crate::names::{Actor, Name, fill_who};
use crate::paths::{File, Mounts};
use crate::program::{Loaded, Need, ProbeSet, Program};
use crate::{ProgramSupport, TraceError};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use quantity::clock;
use std::collections::HashMap;
use std::sync::Arc;
use totals::{KEY_BYTES, key_of};

/// What build.rs compiled.
pub(crate) const SET: ProbeSet =
    ProbeSet { object: include_bytes!(concat!(env!("OUT_DIR"), "/files.bpf.o")), programs: &PROGRAMS };

const PROGRAMS: [Program; 7] = [
    Program { name: "on_dirty_folio", tracepoint: "writeback_dirty_folio", need: Need::Else(MADE_IS_UNKNOWN) },
    Program {
        name: "on_dirty_page",
        tracepoint: "writeback_dirty_page",
        need: Need::Instead("writeback_dirty_folio", MADE_IS_UNKNOWN),
    },
    Program {
        name: "on_added",
        tracepoint: "mm_filemap_add_to_page_cache",
        need: Need::Always("what the page cache did not have is unknown"),
    },
    Program {
        name: "on_fault",
        tracepoint: "mm_filemap_fault",
        need: Need::Else("reads through mappings of files are not counted (Linux 6.10 has the tracepoint)"),
    },
    Program { name: "on_map_pages", tracepoint: "mm_filemap_map_pages", need: Need::Else("") },
    Program {
        name: "on_ring_complete",
        tracepoint: "io_uring_complete",
        need: Need::Else("reads and writes through io_uring are not counted"),
    },
    Program { name: "on_sys_exit", tracepoint: "sys_exit", need: Need::Always("reads and writes are unknown") },
];
const MADE_IS_UNKNOWN: &str = "pages that writes make count as read in";

/// Entries of the kernel's table of sums, as in probe.bpf.c.
const TABLE_ENTRIES: usize = 1 << 16;

/// Whose reads and writes; empty lists take everybody's.
#[derive(Clone, Debug, Default)]
pub struct FileTraceOptions {
    /// Processes.
    pub pids: Vec<u32>,
    /// Tasks of these names (the kernel's 15 characters).
    pub comms: Vec<String>,
    /// Tasks in these control groups, by the inode of their directories.
    pub cgroups: Vec<u64>,
}

/// Bytes of a page.
#[must_use]
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// A running probe of files; dropping it detaches everything.
pub struct FileTrace {
    sums: MapHandle,
    counters: MapHandle,
    ring: KernelRing,
    actors: HashMap<u32, Actor>,
    files: HashMap<u32, Named>,
    mounts: Mounts,
    seen: HashMap<[u8; KEY_BYTES], FileCounts>,
    started_ns: u64,
    loaded: Loaded,
}

impl std::fmt::Debug for FileTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileTrace").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

/// A file with its path.
#[derive(Debug)]
struct Named {
    mount: Option<Arc<str>>,
    inode: u64,
    path: Option<Arc<str>>,
}

impl FileTrace {
    /// Loads the probe and begins to count.
    ///
    /// # Errors
    /// Missing capabilities or kernel features; too many values of a filter.
    pub fn start(options: &FileTraceOptions) -> Result<Self, TraceError> {
        let mut constants = Constants::default();
        constants.u32("o_direct", rustix::fs::OFlags::DIRECT.bits());
        constants.u32("page_shift", rustix::param::page_size().trailing_zeros());
        constants.flag("only_pids", !options.pids.is_empty());
        constants.flag("only_comms", !options.comms.is_empty());
        constants.flag("only_cgroups", !options.cgroups.is_empty());
        let mut loaded = SET.load(&constants, |_| Ok(()))?;
        fill_who(&loaded, &options.pids, &options.comms, &options.cgroups)?;
        let ring = KernelRing::new(&loaded.map("ring")?)?;
        let (sums, counters) = (loaded.map("sums")?, loaded.map("counters")?);
        loaded.attach()?;
        Ok(Self {
            sums,
            counters,
            ring,
            actors: HashMap::new(),
            files: HashMap::new(),
            mounts: Mounts::default(),
            seen: HashMap::new(),
            started_ns: clock::now_ns(),
            loaded,
        })
    }

    /// What was done since the last call, per file and process, in no order; names are looked up in this mount namespace.
    ///
    /// # Errors
    /// The kernel's table cannot be read.
    pub fn read(&mut self) -> Result<Vec<FileActivity>, TraceError> {
        let failed = |why: libbpf_rs::Error| TraceError::Consumer(format!("cannot read the sums of files: {why}"));
        let entries: Vec<_> = self
            .sums
            .keys()
            .filter_map(|key| Some((key_of(&key)?, self.sums.lookup(&key, MapFlags::ANY).transpose()?)))
            .map(|(key, value)| value.map(|value| (key, FileCounts::of(&value))))
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        // After the sums: a name arrives before its number is used.
        self.take_names();
        let is_crowded = entries.len() > TABLE_ENTRIES * 3 / 4;
        let mut out = Vec::new();
        for (key, now) in entries {
            let before = self.seen.insert(key, now).unwrap_or_default();
            let counts = now.since(&before);
            if !counts.is_empty() {
                out.push(self.activity(&key, counts));
            } else if is_crowded {
                // No process has used it for an interval: room for others.
                let _ = self.sums.delete(&key);
                self.seen.remove(&key);
            }
        }
        Ok(out)
    }

    /// What could not be counted so far.
    ///
    /// # Errors
    /// The kernel's table cannot be read.
    pub fn losses(&self) -> Result<FileTraceLosses, TraceError> {
        let cpus = self
            .counters
            .lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(|why| TraceError::Consumer(format!("cannot read the probe's counters: {why}")))?;
        Ok(FileTraceLosses::sum(&cpus.unwrap_or_default()))
    }

    /// What the kernel offers, program by program.
    #[must_use]
    pub fn verdicts(&self) -> &[ProgramSupport] {
        self.loaded.verdicts()
    }

    /// When everything was attached, `CLOCK_MONOTONIC`, ns.
    #[must_use]
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    fn take_names(&mut self) {
        let mut arrived = Vec::new();
        self.ring.consume(|bytes| arrived.extend(Name::of(bytes)));
        for name in arrived {
            match name {
                Name::Actor(id, actor) => {
                    self.actors.insert(id, actor);
                }
                Name::File(id, file) => {
                    let named = self.named(&file);
                    self.files.insert(id, named);
                }
            }
        }
    }

    fn named(&mut self, file: &File) -> Named {
        let mount = if file.device { None } else { self.mounts.point(file.dev).map(Arc::from) };
        Named { mount, inode: file.inode, path: self.mounts.path(file).map(Arc::from) }
    }

    fn activity(&self, key: &[u8; KEY_BYTES], counts: FileCounts) -> FileActivity {
        let (file, actor) = totals::ids_of(key);
        let (file, actor) = (self.files.get(&file), self.actors.get(&actor));
        FileActivity {
            mount: file.and_then(|file| file.mount.clone()),
            inode: file.map(|file| file.inode),
            file: file.and_then(|file| file.path.clone()),
            pid: actor.map(|actor| actor.pid),
            comm: actor.map(|actor| actor.comm.as_str().into()),
            counts,
        }
    }
}
