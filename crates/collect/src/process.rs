//! Processes from `/proc/PID/stat` and `/proc/PID/io` (proc(5)).

use crate::subject::Stamp;
use crate::text::{counter, named, small, words};
use recording::rows::Process;
use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Reads all processes, and tells of those that did something.
#[derive(Debug)]
pub(crate) struct Processes {
    root: PathBuf,
    tick_ns: i64,
    page_bytes: i64,
    buffer: Vec<u8>,
    /// By number: what it had used up at its last row, and in which round it was last seen.
    known: HashMap<i64, Known>,
    round: u64,
    last_ns: Option<i64>,
    /// Those of several threads that used half a CPU or more between the last two samples.
    hot: Vec<i64>,
    /// `/proc/PID/stat` that are open, and how many may be: opening costs as much as reading.
    open: usize,
    open_most: usize,
    /// Samples since all were listed; `None`: never.
    since_listed: Option<u32>,
    /// Does the kernel measure how long they wait for block I/O?
    has_delays: bool,
    asked: RequestedProcesses,
}

/// Processes that have rows however idle they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedProcesses {
    /// By number.
    pub pids: Vec<i64>,
    /// By name.
    pub names: Vec<String>,
}

/// Does it? The sysctl came with Linux 5.14; before, it was a word of the kernel's command line.
fn has_delays(root: &Path) -> bool {
    match small(&root.join("proc/sys/kernel/task_delayacct")) {
        Some(word) => word != "0",
        None => {
            !small(&root.join("proc/cmdline")).is_some_and(|line| line.split(' ').any(|word| word == "nodelayacct"))
        }
    }
}

/// Lists all processes at least once in so many samples, whatever the caller knows of those that ran: this finds
/// processes whose start or end was not reported.
const LISTED_EVERY: u32 = 16;

/// A process that used so much of one CPU has its threads looked at.
const HOT_PERCENT: i64 = 50;

#[derive(Debug)]
struct Known {
    start_ns: Option<i64>,
    used: [Option<i64>; 4],
    round: u64,
    /// Of its file when that was last read; `None`: it has to be looked at in any case.
    print: Option<u64>,
    /// Of its end, reading tells.
    stat: Option<File>,
}

/// A number that two texts have in common only when they are the same, but for one case in 2⁶⁴.
fn print_of(text: &[u8]) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    hasher.write(text);
    Some(hasher.finish())
}

/// Half of the files that may be open; none of a `/proc` that is not the kernel's, whose files may be replaced.
fn open_most(root: &Path) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(1 << 20);
    if root == Path::new("/") { usize::try_from(limit / 2).unwrap_or(0).min(1 << 16) } else { 0 }
}

impl Processes {
    /// With the `/proc` under `root`.
    pub(crate) fn new(root: PathBuf, tick_ns: i64) -> Self {
        let page_bytes = i64::try_from(rustix::param::page_size()).unwrap_or(4096);
        Self {
            open: 0,
            open_most: open_most(&root),
            root,
            tick_ns,
            page_bytes,
            buffer: vec![0; 4096],
            known: HashMap::new(),
            round: 0,
            last_ns: None,
            hot: Vec::new(),
            since_listed: None,
            has_delays: false,
            asked: RequestedProcesses::default(),
        }
    }

    /// From now on these have rows in every sample.
    pub(crate) fn ask(&mut self, asked: &RequestedProcesses) {
        self.asked = asked.clone();
    }

    /// Rows of the processes that used CPU time or faulted since their last row, and of new ones. A process that starts
    /// and ends between two samples is not seen.
    ///
    /// `ran`: every process that ran since the last sample, also one that has ended meanwhile. Only they are looked at
    /// then, and those that wait for a device; what did not run is as it was. `None`: it is not known who ran.
    pub(crate) fn sample(&mut self, stamp: Stamp, ran: Option<Vec<i64>>) -> Result<Vec<Process>, String> {
        let ran = ran.filter(|_| self.since_listed.is_some_and(|samples| samples < LISTED_EVERY - 1));
        let is_listed = ran.is_none();
        let pids = match ran {
            Some(ran) => self.with_waiting(ran),
            None => {
                // It can be switched on and off at any time, and what is counted before stays.
                self.has_delays = has_delays(&self.root);
                self.list()?
            }
        };
        self.since_listed = if is_listed { Some(0) } else { self.since_listed.map(|samples| samples + 1) };
        self.round += 1;
        self.hot.clear();
        let since_ns = self.last_ns.replace(stamp.t_ns).map(|last_ns| stamp.t_ns - last_ns);
        let mut rows = Vec::new();
        for pid in pids {
            // Gone meanwhile: not an error.
            if let Some((length, opened)) = self.read(pid) {
                rows.extend(self.look(pid, (length, opened), stamp, since_ns));
            } else {
                self.known.remove(&pid);
            }
        }
        if is_listed {
            let round = self.round;
            self.known.retain(|_, known| known.round == round);
        }
        self.open = self.known.values().filter(|known| known.stat.is_some()).count();
        Ok(rows)
    }

    /// Numbers of all processes.
    fn list(&self) -> Result<Vec<i64>, String> {
        let folder = self.root.join("proc");
        let entries =
            std::fs::read_dir(&folder).map_err(|error| format!("failed to read {}: {error}", folder.display()))?;
        let number = |entry: std::fs::DirEntry| counter(entry.file_name().to_str()?.as_bytes());
        Ok(entries.flatten().filter_map(number).collect())
    }

    /// Those that ran, each once, and those that wait for a device, which have rows in each sample.
    fn with_waiting(&self, mut ran: Vec<i64>) -> Vec<i64> {
        ran.extend(self.known.iter().filter(|(_, known)| known.print.is_none()).map(|(pid, _)| *pid));
        ran.sort_unstable();
        ran.dedup();
        ran
    }

    /// What there is to tell of a process whose file is in the buffer.
    fn look(
        &mut self,
        pid: i64,
        (length, opened): (usize, Option<File>),
        stamp: Stamp,
        since_ns: Option<i64>,
    ) -> Option<Process> {
        // The file of a process that did nothing is the same to the byte, and most processes do nothing.
        let print = print_of(&self.buffer[..length]);
        if let Some(known) = self.known.get_mut(&pid).filter(|known| known.print == print && opened.is_none()) {
            known.round = self.round;
            return None;
        }
        let mut row = parse(&self.buffer[..length], stamp, self.tick_ns, self.page_bytes)?;
        if !self.has_delays {
            row.io_delay_ns = None;
        }
        let used = [row.user_ns, row.system_ns, row.major_faults, row.io_delay_ns];
        // A process that uses nothing has a row if it waits for a device (a reader looks for it when a device stalls)
        // or was asked for.
        let is_asked = self.asked.pids.contains(&pid) || self.asked.names.contains(&row.comm);
        let waits = row.state.as_deref() == Some("D") || is_asked;
        let print = if waits { None } else { print };
        let is_news = waits
            | match self.known.get_mut(&pid) {
                Some(known) if known.start_ns == row.start_ns => {
                    known.round = self.round;
                    known.print = print;
                    known.stat = opened.or(known.stat.take());
                    let before = std::mem::replace(&mut known.used, used);
                    let cpu_ns = |used: [Option<i64>; 4]| used[0].unwrap_or(0) + used[1].unwrap_or(0);
                    let is_hot = since_ns.is_some_and(|since_ns| {
                        (cpu_ns(used) - cpu_ns(before)) * 100 >= since_ns * HOT_PERCENT && since_ns > 0
                    });
                    if is_hot && row.threads.is_some_and(|threads| threads > 1) {
                        self.hot.push(pid);
                    }
                    before != used
                }
                _ => {
                    let known = Known { start_ns: row.start_ns, used, round: self.round, print, stat: opened };
                    self.known.insert(pid, known);
                    true
                }
            };
        is_news.then(|| {
            self.read_io(&mut row);
            row
        })
    }

    /// Processes of several threads that used half a CPU or more before the last sample.
    pub(crate) fn hot(&self) -> &[i64] {
        &self.hot
    }

    fn fill(&mut self, pid: i64, name: &str) -> Option<usize> {
        let mut file = File::open(self.root.join(format!("proc/{pid}/{name}"))).ok()?;
        file.read(&mut self.buffer).ok()
    }

    /// Reads the status of a process into the buffer: its length, and the file when that was opened and may stay so.
    fn read(&mut self, pid: i64) -> Option<(usize, Option<File>)> {
        // A file of a process that has ended cannot be read; its number may have been given to another one.
        let open = self.known.get(&pid).and_then(|known| known.stat.as_ref());
        let read = open.and_then(|file| file.read_at(&mut self.buffer, 0).ok()).filter(|length| *length > 0);
        if let Some(length) = read {
            return Some((length, None));
        }
        let file = File::open(self.root.join(format!("proc/{pid}/stat"))).ok()?;
        let length = file.read_at(&mut self.buffer, 0).ok()?;
        let may_stay = self.open < self.open_most;
        self.open += usize::from(may_stay);
        Some((length, may_stay.then_some(file)))
    }

    /// Bytes that went to and came from devices; the kernel tells them to the owner and to root.
    fn read_io(&mut self, row: &mut Process) {
        let Some(length) = self.fill(row.pid, "io") else { return };
        let text = &self.buffer[..length];
        row.read_bytes = named(text, "read_bytes");
        row.write_bytes = named(text, "write_bytes");
    }
}

/// The words of `/proc/PID/stat`, and of the same file of a thread.
#[derive(Debug)]
pub(crate) struct Stat<'a> {
    pub(crate) id: i64,
    pub(crate) comm: String,
    fields: Vec<&'a [u8]>,
}

impl<'a> Stat<'a> {
    /// The name may hold spaces and brackets, so it ends at the last one.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        let open = text.iter().position(|byte| *byte == b'(')?;
        let close = text.iter().rposition(|byte| *byte == b')')?;
        Some(Self {
            id: words(&text[..open]).next().and_then(counter)?,
            comm: String::from_utf8_lossy(text.get(open + 1..close)?).to_string(),
            fields: words(text.get(close + 1..)?).collect(),
        })
    }

    /// Field 3 of proc(5) is the first behind the name.
    pub(crate) fn number(&self, field: usize) -> Option<i64> {
        self.fields.get(field - 3).copied().and_then(counter)
    }

    fn state(&self) -> Option<String> {
        Some(String::from_utf8_lossy(self.fields.first()?).to_string())
    }
}

fn parse(text: &[u8], stamp: Stamp, tick_ns: i64, page_bytes: i64) -> Option<Process> {
    let stat = Stat::parse(text)?;
    let number = |field| stat.number(field);
    Some(Process {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        pid: stat.id,
        state: Some(stat.state()?),
        parent: number(4),
        major_faults: number(12),
        minor_faults: number(10),
        user_ns: Some(number(14)?.checked_mul(tick_ns)?),
        system_ns: Some(number(15)?.checked_mul(tick_ns)?),
        threads: number(20),
        start_ns: Some(number(22)?.checked_mul(tick_ns)?),
        resident_bytes: Some(number(24)?.checked_mul(page_bytes)?),
        io_delay_ns: number(42).and_then(|ticks| ticks.checked_mul(tick_ns)),
        comm: stat.comm,
        ..Process::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets() {
        let text = b"42 (a) b (c) R 1 42 42 0 -1 4194560 100 0 3 0 7 5 0 0 20 0 2 0 900 1000 25 18446744073709551615";
        let row = parse(text, Stamp::at(0, 0), 10_000_000, 4096).unwrap();
        assert_eq!(
            (row.pid, row.comm.as_str(), row.state.as_deref(), row.threads),
            (42, "a) b (c", Some("R"), Some(2))
        );
        assert_eq!((row.user_ns, row.system_ns, row.major_faults), (Some(70_000_000), Some(50_000_000), Some(3)));
        assert_eq!(row.minor_faults, Some(100));
        assert_eq!((row.start_ns, row.resident_bytes, row.io_delay_ns), (Some(9_000_000_000), Some(25 * 4096), None));
        assert!(parse(b"42 (a", Stamp::at(0, 0), 1, 1).is_none() && parse(b") (", Stamp::at(0, 0), 1, 1).is_none());
    }

    #[test]
    fn files_stay_open_and_a_process_that_ends_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = i64::from(child.id());
        let mut processes = Processes::new("/".into(), 10_000_000);
        let first = processes.sample(Stamp::at(0, 0), None).unwrap();
        assert!(first.iter().any(|row| row.pid == pid));
        assert!(processes.known[&pid].stat.is_some() && processes.open > 0);
        child.kill().unwrap();
        child.wait().unwrap();
        let second = processes.sample(Stamp::at(1, 0), None).unwrap();
        assert!(second.iter().all(|row| row.pid != pid) && !processes.known.contains_key(&pid));
        // With no file to spare all are opened each time, and read alike.
        let mut frugal = Processes { open_most: 0, ..Processes::new("/".into(), 10_000_000) };
        let me = i64::from(std::process::id());
        assert!(frugal.sample(Stamp::at(2, 0), None).unwrap().iter().any(|row| row.pid == me));
        assert!(frugal.known.values().all(|known| known.stat.is_none()));
    }

    /// A `/proc` with processes of this state, user ticks and start.
    fn tree(root: &Path, processes: &[(i64, &str, i64, i64)]) {
        let _ = std::fs::remove_dir_all(root.join("proc"));
        std::fs::create_dir_all(root.join("proc")).unwrap();
        for (pid, state, user, start) in processes {
            std::fs::create_dir_all(root.join(format!("proc/{pid}"))).unwrap();
            let text = format!("{pid} (p{pid}) {state} 1 1 1 0 -1 0 0 0 0 0 {user} 0 0 0 20 0 1 0 {start} 1000 25");
            std::fs::write(root.join(format!("proc/{pid}/stat")), text).unwrap();
        }
    }

    #[test]
    fn where_it_is_known_who_ran_only_they_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let mut processes = Processes::new(root.to_path_buf(), 10_000_000);
        let mut round = 0;
        // Number and user ticks of those that have rows.
        let mut sample = |ran: Option<&[i64]>| -> Vec<(i64, i64)> {
            round += 1;
            let rows = processes.sample(Stamp::at(round, 0), ran.map(<[i64]>::to_vec)).unwrap();
            let ticks = |row: &Process| row.user_ns.unwrap() / 10_000_000;
            let mut listed: Vec<_> = rows.iter().map(|row| (row.pid, ticks(row))).collect();
            listed.sort_unstable();
            listed
        };
        tree(root, &[(1, "S", 5, 10), (2, "S", 6, 11), (3, "S", 7, 12)]);
        assert_eq!(sample(Some(&[])), [(1, 5), (2, 6), (3, 7)], "all at first, whichever ran");
        assert_eq!(sample(Some(&[2])), [], "it ran for less than a tick");
        // 2 ran, 4 is new, 3 has ended; 1 is not looked at.
        tree(root, &[(1, "S", 50, 10), (2, "S", 8, 11), (4, "S", 1, 20)]);
        assert_eq!(sample(Some(&[4, 2, 3, 2, 99])), [(2, 8), (4, 1)], "each once");
        // A process that waits for a device does not run, and has a row each time.
        tree(root, &[(1, "S", 50, 10), (2, "D", 8, 11), (4, "S", 1, 20)]);
        assert_eq!(
            (sample(Some(&[2])), sample(Some(&[])), sample(Some(&[]))),
            (vec![(2, 8)], vec![(2, 8)], vec![(2, 8)])
        );
        tree(root, &[(1, "S", 50, 10), (2, "S", 8, 11), (4, "S", 1, 20)]);
        assert_eq!((sample(Some(&[2])), sample(Some(&[]))), (vec![], vec![]));
        // A number that was given to another process that has used as much.
        tree(root, &[(1, "S", 50, 10), (2, "S", 8, 11), (4, "S", 1, 30)]);
        assert_eq!(sample(Some(&[4])), [(4, 1)]);
        // Where it is not known who ran, all are looked at.
        assert_eq!(sample(None), [(1, 50)]);
        tree(root, &[(1, "S", 51, 10), (5, "S", 2, 40)]);
        for _ in 0..LISTED_EVERY - 1 {
            assert_eq!(sample(Some(&[])), []);
        }
        assert_eq!(sample(Some(&[])), [(1, 51), (5, 2)], "once in so many samples all are");
        assert_eq!(sample(Some(&[])), []);
        assert_eq!(processes.known.len(), 2, "the others are forgotten");
    }

    #[test]
    fn processes_of_this_machine_come_and_go_between_lists() {
        let mut processes = Processes::new("/".into(), 10_000_000);
        processes.sample(Stamp::at(0, 0), None).unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = i64::from(child.id());
        // Others of this machine may wait for a device, and they have rows each time.
        let waiting: Vec<i64> = processes.with_waiting(Vec::new());
        let rows = processes.sample(Stamp::at(1, 0), Some(vec![pid])).unwrap();
        let listed: Vec<i64> = rows.iter().map(|row| row.pid).collect();
        assert!(listed.contains(&pid), "{listed:?}");
        assert!(
            listed.iter().all(|listed| *listed == pid || waiting.contains(listed)),
            "{listed:?}, {waiting:?} waited"
        );
        assert!(processes.known[&pid].stat.is_some() && processes.known.len() > 1);
        child.kill().unwrap();
        child.wait().unwrap();
        let rows = processes.sample(Stamp::at(2, 0), Some(vec![pid])).unwrap();
        assert!(rows.iter().all(|row| row.pid != pid), "{rows:?}");
        assert!(!processes.known.contains_key(&pid));
    }

    #[test]
    fn only_what_did_something() {
        let mut processes = Processes::new("/".into(), 10_000_000);
        let me = i64::from(std::process::id());
        let first = processes.sample(Stamp::at(0, 0), None).unwrap();
        assert!(first.iter().any(|row| row.pid == me && row.read_bytes.is_some()), "at first all");
        // Of its own time: a busy machine may give it none of that which passes.
        let until_ns = quantity::clock::thread_cpu_ns() + 60_000_000;
        while quantity::clock::thread_cpu_ns() < until_ns {}
        let second = processes.sample(Stamp::at(0, 0), None).unwrap();
        assert!(second.len() < first.len());
        let used = |rows: &[Process]| {
            rows.iter()
                .find(|row| row.pid == me)
                .map(|row| row.user_ns.zip(row.system_ns).map(|(user, system)| user + system))
        };
        assert!(used(&second) > used(&first));
    }

    #[test]
    fn waiting_for_devices_that_the_kernel_does_not_measure_is_not_0() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let delay = |word: Option<&str>, line: &str| {
            tree(root, &[]);
            std::fs::create_dir_all(root.join("proc/1")).unwrap();
            let fields =
                "1 (p) S 1 1 1 0 -1 0 0 0 0 0 5 0 0 0 20 0 1 0 9 1000 25 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 7 0 0";
            std::fs::write(root.join("proc/1/stat"), fields).unwrap();
            std::fs::create_dir_all(root.join("proc/sys/kernel")).unwrap();
            std::fs::write(root.join("proc/cmdline"), line).unwrap();
            if let Some(word) = word {
                std::fs::write(root.join("proc/sys/kernel/task_delayacct"), word).unwrap();
            }
            let mut processes = Processes::new(root.to_path_buf(), 10_000_000);
            processes.sample(Stamp::at(0, 0), None).unwrap()[0].io_delay_ns
        };
        assert_eq!(delay(Some("0\n"), ""), None);
        assert_eq!(delay(Some("1\n"), ""), Some(70_000_000));
        // Kernels before the sysctl measured it, unless the command line forbade it.
        assert_eq!((delay(None, "quiet"), delay(None, "quiet nodelayacct ro")), (Some(70_000_000), None));
    }

    #[test]
    fn a_requested_process_has_rows_however_idle() {
        let folder = tempfile::tempdir().unwrap();
        tree(folder.path(), &[(1, "S", 5, 10), (2, "S", 6, 11), (3, "S", 7, 12)]);
        let mut processes = Processes::new(folder.path().to_path_buf(), 10_000_000);
        processes.ask(&RequestedProcesses { pids: vec![2], names: vec!["p3".to_string()] });
        let mut pids = |at| -> Vec<i64> {
            let rows = processes.sample(Stamp::at(at, 0), None).unwrap();
            let mut pids: Vec<i64> = rows.iter().map(|row| row.pid).collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!((pids(0), pids(1), pids(2)), (vec![1, 2, 3], vec![2, 3], vec![2, 3]));
    }
}
