//! The whole machine: every subject that was asked for, once per interval.

use crate::disk::DiskSelection;
use crate::process::{Processes, RequestedProcesses};
use crate::qdisc::{Asker, Qdisc};
use crate::sampler::{cpu_row, disk_row};
use crate::sparse_subjects::Rare;
use crate::subject::{SampleTimes, Stamp, Subject, Verdict, push};
use crate::threads::Threads;
use crate::what::SubjectName;
use crate::{cpu, memory, net, pressure, protocols, system};
use quantity::clock::now_ns;
use recording::rows::{Cpu, Disk, Event, Net, Pressure};
use recording::{EventSeverity, RowBatch};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// How often links are asked for their speed: it changes rarely, and some drivers wake their hardware to answer.
const LINK_EVERY_NS: u64 = 10_000_000_000;

/// Reads the counters of a machine. What cannot be read is said once, as an `event`, and is missing after that.
#[derive(Debug)]
pub struct MachineReader {
    root: PathBuf,
    wanted: BTreeSet<SubjectName>,
    stat: Subject,
    loadavg: Subject,
    softnet: Subject,
    meminfo: Subject,
    vmstat: Subject,
    pressure: Vec<(&'static str, Subject)>,
    disk: Subject,
    disk_selection: DiskSelection,
    net: Subject,
    snmp: Subject,
    netstat: Subject,
    processes: Processes,
    processes_failed: bool,
    threads: Threads,
    rare: Rare,
    /// `None`: no netlink here, which was said.
    asker: Option<Asker>,
    links: HashMap<String, (net::Link, Option<u32>)>,
    links_at_ns: Option<u64>,
    tick_ns: i64,
    buffers: [Vec<u8>; 3],
    verdicts: Vec<Verdict>,
    last: SampleTimes,
}

impl MachineReader {
    /// Prepares to sample `wanted` of this machine.
    #[must_use]
    pub fn new(wanted: &[SubjectName]) -> Self {
        Self::with_root(Path::new("/"), wanted)
    }

    /// As [`MachineReader::new`] with the `/proc` and `/sys` under `root`. Queueing disciplines are always this machine's, so
    /// they are asked for only when `root` is `/`.
    #[must_use]
    pub fn with_root(root: &Path, wanted: &[SubjectName]) -> Self {
        let wanted: BTreeSet<SubjectName> = wanted.iter().copied().collect();
        let file = |path: &str| Subject::new(root.join(path), true);
        let mut verdicts = Vec::new();
        let asker = if root == Path::new("/") && wanted.contains(&SubjectName::Net) {
            Asker::new().map_err(|error| verdicts.push(no_disciplines(&error))).ok()
        } else {
            None
        };
        let ticks = i64::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100).max(1);
        let tick_ns = 1_000_000_000 / ticks;
        Self {
            stat: file("proc/stat"),
            loadavg: file("proc/loadavg"),
            softnet: file("proc/net/softnet_stat"),
            meminfo: file("proc/meminfo"),
            vmstat: file("proc/vmstat"),
            // A kernel without PSI, or without that of interrupts, is common; the folder tells, and nothing need be said.
            pressure: pressure::RESOURCES
                .into_iter()
                .map(|resource| (resource, root.join("proc/pressure").join(resource)))
                .filter(|(_, path)| path.exists())
                .map(|(resource, path)| (resource, Subject::new(path, true)))
                .collect(),
            disk: file("proc/diskstats"),
            disk_selection: DiskSelection::default(),
            net: file("proc/net/dev"),
            snmp: file("proc/net/snmp"),
            netstat: file("proc/net/netstat"),
            processes: Processes::new(root.to_path_buf(), tick_ns),
            processes_failed: false,
            threads: Threads::new(root.to_path_buf(), tick_ns),
            rare: Rare::new(root, &wanted, &mut verdicts),
            asker,
            links: HashMap::new(),
            links_at_ns: None,
            tick_ns,
            buffers: Default::default(),
            verdicts,
            last: SampleTimes::default(),
            root: root.to_path_buf(),
            wanted,
        }
    }

    /// Tells of these block devices and processes in every sample, however idle they are; of a program by its name.
    pub fn tell_of(&mut self, devices: &[String], processes: &RequestedProcesses) {
        self.disk_selection.ask(devices);
        self.processes.ask(processes);
    }

    /// When the last sample was taken, and which subject took longest to read.
    #[must_use]
    pub fn last_times(&self) -> SampleTimes {
        self.last
    }

    /// Reads everything that is wanted; `t_ns` is when it was due and `t0_ns` the recording's start. Rows carry the
    /// middle of the time that reading their subject took, or `t_ns` if that is later.
    pub fn sample(&mut self, t_ns: u64, t0_ns: u64) -> Vec<RowBatch> {
        self.sample_those_that_ran((t_ns, t0_ns), &mut || None)
    }

    /// As [`MachineReader::sample`], where the caller may know which processes ran since the last sample, those included that
    /// have ended: `ran` is called right before processes are read, and only where they are wanted. Only they are read
    /// then, and all of them now and then; with `None` all are.
    pub fn sample_those_that_ran(
        &mut self,
        (t_ns, t0_ns): (u64, u64),
        ran: &mut dyn FnMut() -> Option<Vec<i64>>,
    ) -> Vec<RowBatch> {
        let mut batches = Vec::new();
        let begin_ns = now_ns();
        self.last = SampleTimes { begin_ns, end_ns: begin_ns, slowest: None };
        let wants = |this: &Self, what| this.wanted.contains(&what);
        let due = (t_ns, t0_ns);
        if wants(self, SubjectName::Cpu) || wants(self, SubjectName::System) {
            self.stat(due, &mut batches);
            self.last.took("cpu");
        }
        if wants(self, SubjectName::Disk) {
            self.disks(due, &mut batches);
            self.last.took("disk");
        }
        if wants(self, SubjectName::Net) {
            self.net(due, &mut batches);
            self.last.took("net");
        }
        if wants(self, SubjectName::Protocols) {
            self.protocols(due, &mut batches);
            self.last.took("tcp");
        }
        if wants(self, SubjectName::Memory) {
            self.memory(due, &mut batches);
            self.last.took("memory");
        }
        if wants(self, SubjectName::Pressure) {
            self.pressure(due, &mut batches);
            self.last.took("pressure");
        }
        if wants(self, SubjectName::Process) {
            self.processes(due, ran, &mut batches);
            self.last.took("process");
        }
        self.rare.sample(due, &mut batches, &mut self.verdicts, &mut self.last);
        self.last.end_ns = now_ns();
        let stamp = Stamp::at(self.last.end_ns.max(t_ns), t0_ns);
        let events: Vec<Event> = self.verdicts.drain(..).map(|verdict| verdict.row(stamp)).collect();
        push(&mut batches, &events);
        batches
    }

    fn stat(&mut self, (t_ns, t0_ns): (u64, u64), batches: &mut Vec<RowBatch>) {
        let [first, second, third] = &mut self.buffers;
        let begin_ns = now_ns();
        let Some(text) = self.stat.read(first, &mut self.verdicts) else { return };
        let stamp = Stamp::between(begin_ns, now_ns(), t_ns, t0_ns);
        if self.wanted.contains(&SubjectName::Cpu) {
            let rows: Vec<Cpu> =
                cpu::parse(text, self.tick_ns).into_iter().filter_map(|times| cpu_row(times, stamp)).collect();
            push(batches, &rows);
        }
        if self.wanted.contains(&SubjectName::System) {
            let loadavg = self.loadavg.read(second, &mut self.verdicts);
            let softnet = self.softnet.read(third, &mut self.verdicts);
            push(batches, system::row(text, loadavg, softnet, stamp).as_slice());
        }
    }

    fn disks(&mut self, (t_ns, t0_ns): (u64, u64), batches: &mut Vec<RowBatch>) {
        let begin_ns = now_ns();
        let Some(text) = self.disk.read(&mut self.buffers[0], &mut self.verdicts) else { return };
        let stamp = Stamp::between(begin_ns, now_ns(), t_ns, t0_ns);
        let (now, new) = self.disk_selection.choose(text, stamp);
        let new = new.iter().filter_map(|((counters, name), before)| disk_row(counters, name, "", *before));
        // A batch of its own: each has a device once.
        push(batches, &new.collect::<Vec<Disk>>());
        let now = now.iter().filter_map(|(counters, name)| disk_row(counters, name, "", stamp));
        push(batches, &now.collect::<Vec<Disk>>());
    }

    fn net(&mut self, (t_ns, t0_ns): (u64, u64), batches: &mut Vec<RowBatch>) {
        let begin_ns = now_ns();
        let disciplines = self.disciplines();
        let Some(text) = self.net.read(&mut self.buffers[0], &mut self.verdicts) else { return };
        let stamp = Stamp::between(begin_ns, now_ns(), t_ns, t0_ns);
        let stale = self.links_at_ns.is_none_or(|at_ns| t_ns.saturating_sub(at_ns) >= LINK_EVERY_NS);
        if stale {
            self.links.clear();
            self.links_at_ns = Some(t_ns);
        }
        let (root, links) = (&self.root, &mut self.links);
        let rows: Vec<Net> = net::parse(text)
            .iter()
            .map(|counters| {
                let name = &counters.interface;
                let (link, index) =
                    links.entry(name.clone()).or_insert_with(|| (net::link(root, name), net::index(root, name)));
                let qdisc = disciplines.as_ref().zip(*index).and_then(|(all, index)| all.get(&index));
                net::row(counters, link, qdisc, stamp)
            })
            .collect();
        push(batches, &rows);
    }

    fn disciplines(&mut self) -> Option<HashMap<u32, Qdisc>> {
        let asked = self.asker.as_mut()?.ask();
        if let Err(error) = &asked {
            self.verdicts.push(no_disciplines(error));
            self.asker = None;
        }
        asked.ok()
    }

    fn protocols(&mut self, (t_ns, t0_ns): (u64, u64), batches: &mut Vec<RowBatch>) {
        let [first, second, _] = &mut self.buffers;
        let begin_ns = now_ns();
        let Some(snmp) = self.snmp.read(first, &mut self.verdicts) else { return };
        let netstat = self.netstat.read(second, &mut self.verdicts);
        let stamp = Stamp::between(begin_ns, now_ns(), t_ns, t0_ns);
        push(batches, protocols::tcp(snmp, netstat, stamp).as_slice());
        push(batches, protocols::udp(snmp, stamp).as_slice());
    }

    fn memory(&mut self, (t_ns, t0_ns): (u64, u64), batches: &mut Vec<RowBatch>) {
        let [first, second, _] = &mut self.buffers;
        let begin_ns = now_ns();
        let Some(meminfo) = self.meminfo.read(first, &mut self.verdicts) else { return };
        let vmstat = self.vmstat.read(second, &mut self.verdicts);
        let stamp = Stamp::between(begin_ns, now_ns(), t_ns, t0_ns);
        push(batches, memory::row(meminfo, vmstat, stamp).as_slice());
    }

    fn pressure(&mut self, (t_ns, t0_ns): (u64, u64), batches: &mut Vec<RowBatch>) {
        let mut rows: Vec<Pressure> = Vec::new();
        for (resource, subject) in &mut self.pressure {
            let begin_ns = now_ns();
            let Some(text) = subject.read(&mut self.buffers[0], &mut self.verdicts) else { continue };
            rows.push(pressure::row(resource, text, Stamp::between(begin_ns, now_ns(), t_ns, t0_ns)));
        }
        push(batches, &rows);
    }

    fn processes(
        &mut self,
        (t_ns, t0_ns): (u64, u64),
        ran: &mut dyn FnMut() -> Option<Vec<i64>>,
        batches: &mut Vec<RowBatch>,
    ) {
        // Before it is asked who ran, whose rows are not to be older than these: they are of the same sample.
        let stamp = Stamp::at(now_ns().max(t_ns), t0_ns);
        match self.processes.sample(stamp, ran()) {
            Ok(rows) => {
                push(batches, &rows);
                let stamp = Stamp::at(now_ns().max(t_ns), t0_ns);
                push(batches, &self.threads.sample(self.processes.hot(), stamp));
            }
            Err(reason) if !self.processes_failed => {
                self.processes_failed = true;
                self.verdicts.push(Verdict {
                    severity: EventSeverity::Warning,
                    class: None,
                    target: None,
                    message: format!("no counters: {reason}"),
                });
            }
            Err(_) => {}
        }
    }
}

fn no_disciplines(error: &std::io::Error) -> Verdict {
    let message = format!("no counters of queueing disciplines: failed to ask the kernel over netlink: {error}");
    Verdict { severity: EventSeverity::Warning, class: None, target: None, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_of_this_machine() {
        let mut machine = MachineReader::new(&SubjectName::ALL);
        let tables: BTreeSet<&str> = machine.sample(now_ns(), 0).iter().map(|batch| batch.table.name).collect();
        for table in
            ["cpu", "system", "memory", "disk", "net", "tcp", "udp", "process", "interrupt", "softnet", "file_system"]
        {
            assert!(tables.contains(table), "{table} is missing: {tables:?}");
        }
        assert_eq!(tables.contains("pressure"), Path::new("/proc/pressure").exists());
        let mounted = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert_eq!(tables.contains("cgroup"), mounted.contains(" - cgroup"));
        // Without privilege it is said what is missing.
        assert!(!tables.contains("event") || !testkit::is_root(), "nothing is wrong here");
    }

    #[test]
    fn what_cannot_be_read_is_said_once() {
        let root = tempfile::tempdir().unwrap();
        let mut machine = MachineReader::with_root(root.path(), &SubjectName::ALL);
        let said =
            |batches: &[RowBatch]| batches.iter().map(|batch| batch.to_rows::<Event>().unwrap().len()).sum::<usize>();
        let first = machine.sample(1, 0);
        assert!(said(&first) >= 5, "{first:?}");
        assert_eq!(said(&machine.sample(2, 0)), 0);
    }

    #[test]
    fn only_what_is_wanted() {
        let mut machine = MachineReader::new(&[SubjectName::Pressure, SubjectName::Protocols]);
        let batches = machine.sample(now_ns(), 0);
        assert!(batches.iter().all(|batch| ["pressure", "tcp", "udp"].contains(&batch.table.name)));
    }
}
