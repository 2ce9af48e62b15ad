//! How full pools of ZFS are: only `zpool list` tells (zpool-list(8)). It is run rarely, in a thread of its own, and given up after
//! a while: where a pool's disks do not answer, `zpool` does not either.

use crate::text::{counter, lines};
use rustix::fs::{MemfdFlags, memfd_create};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

/// Time between two runs.
const EVERY_NS: u64 = 60_000_000_000;
/// An answer counts for so long; after that the space is not known.
const OLD_NS: u64 = 3 * EVERY_NS;
/// It is waited for so many naps of this length.
const NAP: Duration = Duration::from_millis(20);
const NAPS: u32 = 500;
/// Where it is looked for.
const FOLDERS: [&str; 5] = ["sbin", "usr/sbin", "usr/local/sbin", "usr/bin", "bin"];
const ARGUMENTS: [&str; 4] = ["list", "-Hp", "-o", "name,size,allocated,free,fragmentation,health"];

/// What `zpool list` says of a pool; `None` where it has `-`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Space {
    pub(crate) size_bytes: Option<i64>,
    pub(crate) allocated_bytes: Option<i64>,
    pub(crate) free_bytes: Option<i64>,
    pub(crate) fragmentation_percent: Option<i64>,
    pub(crate) health: Option<String>,
}

type Spaces = HashMap<String, Space>;

/// Asks for the space of pools, and keeps the last answer.
#[derive(Debug)]
pub(crate) struct Asker {
    program: Option<PathBuf>,
    naps: u32,
    due_ns: u64,
    /// A run under way.
    under_way: Option<Receiver<Option<Spaces>>>,
    known: Spaces,
    known_ns: u64,
}

/// The program, under `root`.
pub(crate) fn program(root: &Path) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| root.join(folder).join("zpool")).find(|path| path.is_file())
}

impl Asker {
    /// With the `zpool` under `root`, if there is one.
    pub(crate) fn new(root: &Path) -> Self {
        let (under_way, known) = (None, Spaces::new());
        Self { program: program(root), naps: NAPS, due_ns: 0, under_way, known, known_ns: 0 }
    }

    /// Takes in an answer that has come, and asks again when it is time; waits for nothing.
    pub(crate) fn look(&mut self, t_ns: u64) {
        let answer = match self.under_way.as_ref().map(Receiver::try_recv) {
            Some(Ok(answer)) => Some(answer),
            Some(Err(TryRecvError::Disconnected)) => Some(None),
            // One that does not answer is not asked a second time meanwhile.
            Some(Err(TryRecvError::Empty)) | None => None,
        };
        if let Some(answer) = answer {
            self.under_way = None;
            if let Some(spaces) = answer {
                (self.known, self.known_ns) = (spaces, t_ns);
            }
        }
        if t_ns.saturating_sub(self.known_ns) > OLD_NS {
            self.known.clear();
        }
        if let Some(program) = self.program.clone().filter(|_| self.under_way.is_none() && t_ns >= self.due_ns) {
            self.due_ns = t_ns.saturating_add(EVERY_NS);
            let (sender, receiver) = channel();
            let naps = self.naps;
            let started = std::thread::Builder::new().name("zpool".to_string()).spawn(move || {
                // No receiver is left when the collector has ended.
                let _ = sender.send(ask(&program, naps));
            });
            self.under_way = started.is_ok().then_some(receiver);
        }
    }

    /// The last known space of a pool.
    pub(crate) fn of(&self, pool: &str) -> Space {
        self.known.get(pool).cloned().unwrap_or_default()
    }
}

/// Runs the program; `None` when it fails, or does not end in time.
fn ask(program: &Path, naps: u32) -> Option<Spaces> {
    // Not a pipe: one that is full would hold it up, and it is not read before it has ended.
    let mut answer = File::from(memfd_create("zpool", MemfdFlags::CLOEXEC).ok()?);
    let mut command = Command::new(program);
    command.args(ARGUMENTS).stdin(Stdio::null()).stdout(answer.try_clone().ok()?).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    for _ in 0..naps {
        match child.try_wait() {
            Ok(Some(status)) => {
                let mut output = Vec::new();
                answer.rewind().and_then(|()| answer.read_to_end(&mut output)).ok()?;
                return status.success().then(|| parse(&output));
            }
            Ok(None) => std::thread::sleep(NAP),
            Err(_) => break,
        }
    }
    // A process that waits in the kernel ends when the kernel lets it: only this thread waits for it.
    let _ = child.kill().and_then(|()| child.wait());
    None
}

/// A line per pool, with tabs between; what is not such a line tells nothing.
fn parse(text: &[u8]) -> Spaces {
    let pool = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, size, allocated, free, fragmentation, health] = fields[..] else { return None };
        let number = |text: &str| counter(text.trim_end_matches('%').as_bytes());
        let space = Space {
            size_bytes: number(size),
            allocated_bytes: number(allocated),
            free_bytes: number(free),
            fragmentation_percent: number(fragmentation),
            health: Some(health.trim().to_string())
                .filter(|health| health.bytes().all(|byte| byte.is_ascii_uppercase())),
        };
        (space.health.is_some() && !name.is_empty()).then(|| (name.to_string(), space))
    };
    lines(text).filter_map(pool).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// The pools of zpool-list(8)'s example, as `-Hp` has them.
    const LISTED: &str = "rpool\t21367462297\t9051143864\t12240656793\t33\tONLINE\n\
         tank\t66035122176\t21474836480\t44560285696\t48\tONLINE\nzion\t-\t-\t-\t-\tFAULTED\n";

    /// A root with a `zpool` that does this.
    fn with(script: &str) -> (tempfile::TempDir, Asker) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("usr/sbin/zpool");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let asker = Asker { naps: 50, ..Asker::new(root.path()) };
        (root, asker)
    }

    /// Looks until the run under way has ended.
    fn answered(asker: &mut Asker, t_ns: u64) {
        asker.look(t_ns);
        for _ in 0..3000 {
            std::thread::sleep(Duration::from_millis(20));
            asker.look(t_ns);
            if asker.under_way.is_none() {
                return;
            }
        }
        panic!("no answer");
    }

    #[test]
    fn what_zpool_lists() {
        let (_root, mut asker) = with(&format!("[ \"$1 $2\" = 'list -Hp' ] && printf '%s' '{LISTED}'"));
        answered(&mut asker, 1);
        let rpool = asker.of("rpool");
        assert_eq!((rpool.size_bytes, rpool.allocated_bytes), (Some(21_367_462_297), Some(9_051_143_864)));
        assert_eq!((rpool.free_bytes, rpool.fragmentation_percent), (Some(12_240_656_793), Some(33)));
        let zion = Space { health: Some("FAULTED".to_string()), ..Space::default() };
        assert_eq!((asker.of("zion"), asker.of("nosuch")), (zion, Space::default()));
        // Not again before it is time; and what is old is not known any more.
        asker.look(EVERY_NS);
        assert!(asker.under_way.is_none());
        asker.program = None;
        asker.look(OLD_NS + 2);
        assert_eq!(asker.of("rpool"), Space::default());
    }

    #[test]
    fn more_pools_than_a_pipe_has_room_for() {
        let line = r"printf 'pool%04d\t1000\t10\t990\t1\tONLINE\n' $i";
        let (_root, mut asker) = with(&format!("i=0; while [ $i -lt 3000 ]; do {line}; i=$((i+1)); done"));
        answered(&mut asker, 1);
        assert_eq!((asker.known.len(), asker.of("pool2999").free_bytes), (3000, Some(990)));
    }

    #[test]
    fn a_zpool_command_that_hangs_blocks_no_sample_and_nonsense_gives_no_figures() {
        let mut hangs = None;
        let took_ns = || {
            let (root, mut asker) = with("exec sleep 1000");
            let began_ns = quantity::clock::now_ns();
            asker.look(1);
            asker.look(2);
            let took_ns = quantity::clock::now_ns() - began_ns;
            assert!(asker.under_way.is_some());
            hangs = Some((root, asker));
            took_ns
        };
        testkit::until_enough(took_ns, |took_ns| *took_ns < 1_000_000_000);
        let (_root, mut asker) = hangs.unwrap();
        answered(&mut asker, 3);
        assert_eq!(asker.of("rpool"), Space::default());
        for script in ["echo 'no pools available'", "printf 'rpool\\t1\\t2\\n\\t\\t\\t\\t\\t\\n\\377\\n'", "exit 1"] {
            let (_root, mut asker) = with(script);
            answered(&mut asker, 1);
            assert!(asker.known.is_empty(), "{script}: {:?}", asker.known);
        }
        let none = tempfile::tempdir().unwrap();
        let mut asker = Asker::new(none.path());
        asker.look(1);
        assert!(asker.under_way.is_none());
    }
}
