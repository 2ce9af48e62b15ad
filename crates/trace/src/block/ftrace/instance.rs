//! Our own instance of the kernel's tracer: no other program uses its buffers and switches, and it is removed at the
//! end.

use crate::TraceError;
use crate::block::ftrace::event::{Decoder, EVENTS, Kind};
use crate::block::ftrace::pages::PageLayout;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Where tracefs is.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// What our instances are called, before the process's number.
const NAME: &str = "iodyno-";
/// The least of a CPU's buffer.
const CPU_KIB_MIN: u64 = 16;

/// An instance under way; dropping it removes it.
#[derive(Debug)]
pub(crate) struct Instance {
    directory: PathBuf,
    /// Holds its lock, by which others see that it is in use.
    _lock: OwnedFd,
    pub(crate) decoders: Vec<Decoder>,
    pub(crate) layout: PageLayout,
    /// Of each CPU: where its pages come from, and its counters.
    pub(crate) cpus: Vec<(File, PathBuf)>,
    /// Events that this kernel does not have.
    pub(crate) missing: Vec<(&'static str, Option<&'static str>)>,
}

/// Processes of threads, as the kernel remembers them.
pub(crate) fn saved_processes() -> PathBuf {
    root().join("saved_tgids")
}

fn root() -> &'static Path {
    let found = PLACES.iter().find(|place| Path::new(place).join("instances").is_dir());
    Path::new(found.unwrap_or(&PLACES[0]))
}

/// The kernel gives `header_page` to the first read only, and cuts it to that.
fn at_once(path: &Path) -> std::io::Result<String> {
    let mut bytes = vec![0; 16 << 10];
    let length = File::open(path)?.read(&mut bytes)?;
    bytes.truncate(length);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn refused(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> TraceError {
    move |why| TraceError::NoFtrace { action, path: path.to_path_buf(), why: why.to_string() }
}

impl Instance {
    /// Makes one that traces nothing yet. `bytes` are shared by all CPUs.
    ///
    /// # Errors
    /// There is no tracefs, or this process may not.
    pub(crate) fn create(bytes: u64, filter: Option<&str>) -> Result<Self, TraceError> {
        let root = root();
        remove_stale(root);
        let (directory, lock) = make(root)?;
        let path = root.join("events/header_page");
        let layout = at_once(&path).map_err(refused("read", &path)).map(|text| PageLayout::parse(&text));
        // From here on it is removed whatever happens.
        let mut instance = Self {
            directory,
            _lock: lock,
            decoders: Vec::new(),
            layout: PageLayout::default(),
            cpus: Vec::new(),
            missing: Vec::new(),
        };
        let unknown = || TraceError::NoFtrace { action: "understand", path, why: "its fields are others".to_string() };
        instance.layout = layout?.ok_or_else(unknown)?;
        instance.set_up(bytes)?;
        instance.find_events(filter)?;
        Ok(instance)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), TraceError> {
        let path = self.directory.join(name);
        std::fs::write(&path, text).map_err(refused("write to", &path))
    }

    fn set_up(&mut self, bytes: u64) -> Result<(), TraceError> {
        self.write("tracing_on", "0")?;
        self.write("trace_clock", "mono")?;
        // What does not fit is counted, and what is there stays: as with the ring of the probe.
        self.write("options/overwrite", "0")?;
        // Kept in mind for threads that will have gone when they are asked for; newer than Linux 4.13.
        let _ = self.write("options/record-tgid", "1");
        let subbuf = std::fs::read_to_string(self.directory.join("buffer_subbuf_size_kb")).ok();
        if let Some(kib) = subbuf.and_then(|text| text.trim().parse::<usize>().ok()).filter(|kib| *kib <= 1 << 14) {
            self.layout = self.layout.sized(kib << 10);
        }
        let per_cpu = self.directory.join("per_cpu");
        let entries = std::fs::read_dir(&per_cpu).map_err(refused("list", &per_cpu))?;
        let mut directories: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        directories.sort();
        let cpus = directories.len().max(1) as u64;
        self.write("buffer_size_kb", &(bytes / cpus / 1024).max(CPU_KIB_MIN).to_string())?;
        for directory in directories {
            let path = directory.join("trace_pipe_raw");
            let file = open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
            let file = file.map_err(|why| refused("open", &path)(why.into()))?;
            self.cpus.push((File::from(file), directory.join("stats")));
        }
        Ok(())
    }

    /// Reads how the events lie; filters and switches on.
    fn find_events(&mut self, filter: Option<&str>) -> Result<(), TraceError> {
        let format =
            |name: &str| std::fs::read_to_string(self.directory.join("events/block").join(name).join("format"));
        let has_start = format("block_io_start").is_ok();
        let mut decoders = Vec::new();
        let mut missing = Vec::new();
        for (name, kind, loss) in EVENTS {
            if kind == Kind::Insert && has_start {
                continue;
            }
            match format(name).ok().and_then(|text| Decoder::of(kind, &text)) {
                Some(decoder) => decoders.push(decoder),
                None if loss.is_some() => missing.push((name, loss)),
                None => {
                    let path = self.directory.join("events/block").join(name);
                    return Err(refused("read", &path)(std::io::Error::from(std::io::ErrorKind::NotFound)));
                }
            }
            if missing.last().is_some_and(|(last, _)| *last == name) {
                continue;
            }
            if let Some(filter) = filter {
                self.write(&format!("events/block/{name}/filter"), filter)?;
            }
            self.write(&format!("events/block/{name}/enable"), "1")?;
        }
        (self.decoders, self.missing) = (decoders, missing);
        Ok(())
    }

    /// From now on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn start(&self) -> Result<(), TraceError> {
        self.write("tracing_on", "1")
    }

    /// Until now; what is in the buffers stays.
    pub(crate) fn stop(&self) {
        let _ = self.write("tracing_on", "0");
    }

    /// Events that found no room, by the kernel's count.
    pub(crate) fn lost(&self) -> u64 {
        let of = |path: &PathBuf| lost(&std::fs::read_to_string(path).unwrap_or_default());
        self.cpus.iter().map(|(_, stats)| of(stats)).sum()
    }
}

/// Out of a CPU's `stats`.
fn lost(stats: &str) -> u64 {
    let counts = stats.lines().filter_map(|line| {
        let (name, count) = line.split_once(':')?;
        matches!(name, "overrun" | "commit overrun" | "dropped events").then(|| count.trim().parse::<u64>().ok())?
    });
    counts.sum()
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.stop();
        // An instance that is being read stays.
        self.cpus.clear();
        for _ in 0..50 {
            if std::fs::remove_dir(&self.directory).is_ok() || !self.directory.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A new directory of ours, locked. One that was taken for a leftover before it had its lock is made anew under another name.
fn make(root: &Path) -> Result<(PathBuf, OwnedFd), TraceError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let mut tries = 0;
    loop {
        let number = match NUMBER.fetch_add(1, Ordering::Relaxed) {
            0 => String::new(),
            number => format!("-{number}"),
        };
        let directory = root.join("instances").join(format!("{NAME}{}{number}", std::process::id()));
        std::fs::create_dir(&directory).map_err(refused("make", &directory))?;
        match locked(&directory, FlockOperation::LockExclusive) {
            Ok(lock) => return Ok((directory, lock)),
            Err(_) if tries < 10 => tries += 1,
            Err(why) => return Err(refused("lock", &directory)(why.into())),
        }
    }
}

/// The lock of an instance that is still there behind it.
fn locked(directory: &Path, how: FlockOperation) -> rustix::io::Result<OwnedFd> {
    let file = open(directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    flock(&file, how)?;
    let (held, named) = (fstat(&file)?, stat(directory)?);
    if (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino) { Ok(file) } else { Err(rustix::io::Errno::NOENT) }
}

/// Removes what killed processes have left. One of another PID namespace, or under another name, looks dead, but holds its
/// lock: removing an instance that is being set up has crashed a kernel (Linux 6.18).
fn remove_stale(root: &Path) {
    let own = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    for entry in std::fs::read_dir(root.join("instances")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(NAME) else { continue };
        let pid = rest.split('-').next().unwrap_or_default();
        let is_ours = pid.parse::<u32>().is_ok();
        let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if is_ours
            && (comm.is_empty() || comm != own)
            && let Ok(_lock) = locked(&entry.path(), FlockOperation::NonBlockingLockExclusive)
        {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Instance, lost, remove_stale, root};

    #[test]
    fn an_instance_in_use_is_no_leftover_to_a_program_of_another_name() {
        let Ok(instance) = Instance::create(64 << 10, None) else {
            testkit::lacks("tracefs, or the privilege to use it");
            return;
        };
        // To this process it is its own; under a number that no process has, it looks dead.
        let directory = instance.directory.clone();
        let dead = directory.with_file_name("iodyno-4194999");
        std::fs::create_dir(&dead).unwrap();
        let lock = super::locked(&dead, rustix::fs::FlockOperation::LockExclusive).unwrap();
        remove_stale(root());
        assert!(directory.is_dir() && dead.is_dir());
        drop(lock);
        remove_stale(root());
        assert!(directory.is_dir() && !dead.is_dir());
        drop(instance);
        assert!(!directory.exists());
    }

    #[test]
    fn what_the_kernel_lost_is_the_sum_of_its_three_counts() {
        let stats = "entries: 12\noverrun: 3\ncommit overrun: 4\nbytes: 99\noldest event ts: 1.2\nnow ts: 3.4\ndropped events: 5\nread events: 6\n";
        assert_eq!(lost(stats), 12);
        assert_eq!(lost("nonsense"), 0);
    }
}
