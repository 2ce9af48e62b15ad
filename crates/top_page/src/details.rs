//! What stands below the rows of resources, and on the pages behind them.

use super::clock::{ByEvent, ms_cell};
use super::resources::{milliseconds, percent};
use super::{DrillTarget, Grid, PageInterval, PageScene, PageSheet, is_open, short_or};
use quantity::figures::short;
use quantity::histogram::Histogram;
use rates::stat::{CounterSubject, StatBlock, StatRow};
use recording::rows;
use recording::rows::{FileInterval, IoInterval};
use std::collections::BTreeMap;

/// What counts as a file's or a process's I/O on a device.
#[derive(Default)]
struct IoSum {
    ios: i64,
    reads: i64,
    bytes: i64,
    response: Option<Histogram>,
}

impl IoSum {
    fn add(&mut self, row: &IoInterval) {
        self.ios += row.ios;
        self.reads += if &*row.op == "read" { row.ios } else { 0 };
        self.bytes += row.bytes;
        match &mut self.response {
            Some(all) => all.merge(&row.response),
            None => self.response = Some(row.response.clone()),
        }
    }
}

/// What was done with a file.
#[derive(Default)]
pub(super) struct FileSum {
    pub(super) reads: i64,
    pub(super) writes: i64,
    pub(super) read_bytes: i64,
    pub(super) written_bytes: i64,
    touched: i64,
    filled: i64,
    direct: i64,
}

impl FileSum {
    pub(super) fn add(&mut self, row: &FileInterval) {
        self.reads += row.reads + row.direct_reads;
        self.writes += row.writes + row.direct_writes;
        self.read_bytes += row.read_bytes + row.direct_read_bytes;
        self.written_bytes += row.write_bytes + row.direct_write_bytes;
        self.touched += row.touched_bytes + row.mapped_bytes;
        self.filled += row.filled_bytes;
        self.direct += row.direct_read_bytes;
    }

    /// Of what was read, the share that came from a device; read-ahead counts, so that it can be more than all.
    pub(super) fn physical(&self) -> Option<f64> {
        let all = self.touched + self.direct;
        (all > 0).then(|| 100.0 * (self.filled + self.direct) as f64 / all as f64)
    }

    /// Bytes that came from devices for it.
    pub(super) fn physical_bytes(&self) -> i64 {
        self.filled + self.direct
    }

    /// Nothing was done with it.
    pub(super) fn is_idle(&self) -> bool {
        self.reads + self.writes + self.filled + self.direct == 0
    }
}

impl PageScene<'_> {
    /// Processes by CPU time, with those that lived too briefly to be sampled, summed by name.
    #[must_use]
    pub fn processes(&self) -> Grid {
        let mut grid = Grid::new("PROCESS", &PROCESS);
        let Some(now) = self.now() else { return grid };
        let mut ranked: Vec<(f64, Vec<String>, DrillTarget)> = Vec::new();
        if let Some(block) = now.block(CounterSubject::Process) {
            let by_event = ByEvent::of(now);
            ranked.extend(block.rows.iter().map(|row| process_row(block, row, &by_event)));
        }
        for ended in &now.ended {
            let name = format!("{}×{} (exited)", ended.comm, ended.processes.max(1));
            let about = if ended.is_estimate { "~" } else { "" };
            let mut cells = vec![name, format!("{about}{}", percent_cell(Some(ended.cpu_percent)))];
            cells.resize(grid.columns.len(), String::new());
            ranked.push((ended.cpu_percent, cells, DrillTarget::Nothing));
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.into_iter().for_each(|(_, cells, drill)| grid.push(cells, drill));
        self.say_missing(&mut grid, rows::Process::NAME);
        grid
    }

    /// Of a table without rows, why it has none.
    pub(super) fn say_missing(&self, grid: &mut Grid, table: &str) {
        if grid.rows.is_empty() && grid.note.is_none() {
            grid.note = self.verdicts.of_table(table).map(str::to_string);
        }
    }

    /// Each CPU's busy share, in order.
    #[must_use]
    pub fn cpus(&self) -> Vec<(String, Option<f64>)> {
        let Some(now) = self.now() else { return Vec::new() };
        now.busy().0.into_iter().map(|(name, percent)| (name.to_string(), percent)).collect()
    }

    /// The tables of a page.
    #[must_use]
    pub fn sheet(&self, sheet: &PageSheet) -> Vec<Grid> {
        match sheet {
            PageSheet::Cpu => {
                vec![self.cpu_list(), self.stat_grid(CounterSubject::System, "scheduling", SYSTEM), self.processes()]
            }
            PageSheet::OneCpu(cpu) => self.one_cpu(*cpu),
            PageSheet::Disks => {
                let worst = self.worst_disk().map(|device| self.operations(&device));
                std::iter::once(self.disk_grid()).chain(worst).collect()
            }
            PageSheet::Disk(device) => vec![
                self.operations(device),
                self.on_device(device, true),
                self.on_device(device, false),
                self.disk_grid(),
            ],
            PageSheet::Net => self.network(),
            PageSheet::Memory => vec![
                self.stat_grid(CounterSubject::Memory, "memory, MiB", MEMORY),
                self.stat_grid(CounterSubject::Memory, "paging", PAGING),
                self.stat_grid(CounterSubject::Pressure, "pressure", PRESSURE),
                self.by_memory(),
            ],
            PageSheet::Interrupts => vec![self.interrupts(), self.victims()],
            PageSheet::Files => vec![self.page_cache(), self.files()],
            PageSheet::File(name) => self.file(name),
            PageSheet::Processes => vec![self.processes()],
            PageSheet::Process(pid) => self.process(*pid),
            PageSheet::Stack(pid, frames) => self.stack(*pid, frames),
            PageSheet::Ports => vec![self.ports()],
            PageSheet::Requests(port) => self.requests(*port),
            PageSheet::Findings => vec![self.all_findings()],
            // Made when both windows are known.
            PageSheet::Compared => Vec::new(),
        }
    }

    /// A subject as `stat` shows it, some of its columns.
    pub(super) fn stat_grid(&self, subject: CounterSubject, title: &str, keys: &[&str]) -> Grid {
        let columns: Vec<_> =
            keys.iter().filter_map(|key| subject.columns().iter().find(|column| column.key == *key)).collect();
        let mut grid = Grid::new(title, &[subject.row_title()]);
        grid.columns.extend(columns.iter().map(|column| column.title.to_string()));
        let Some(block) = self.now().and_then(|now| now.block(subject)) else {
            grid.note = self.missing(subject).map(str::to_string);
            return grid;
        };
        for row in &block.rows {
            let mut cells = vec![row.name.clone()];
            cells.extend(columns.iter().map(|column| column.digits.format(block.value(row, column.key))));
            let drill = match subject {
                CounterSubject::Disk => DrillTarget::Sheet(PageSheet::Disk(row.name.clone())),
                // The mean of all of them is no CPU.
                CounterSubject::Cpu => {
                    row.name.parse().map_or(DrillTarget::Nothing, |cpu| DrillTarget::Sheet(PageSheet::OneCpu(cpu)))
                }
                _ => DrillTarget::Nothing,
            };
            grid.push(cells, drill);
        }
        grid
    }

    fn disk_grid(&self) -> Grid {
        let mut grid = self.stat_grid(CounterSubject::Disk, "block devices, busiest first", DISK);
        let order = self.disks();
        let rank = |name: &String| order.iter().position(|disk| disk == name).unwrap_or(usize::MAX);
        grid.rows.sort_by_key(|row| row.cells.first().map_or(usize::MAX, rank));
        grid
    }

    /// Files or processes with I/O on a device over the last ten seconds.
    fn on_device(&self, device: &str, by_file: bool) -> Grid {
        let heading = if by_file { "file" } else { "process" };
        let mut grid = Grid::new(
            format!("{} on {device}, last 10 s", if by_file { "files" } else { "processes" }),
            &[heading, "IO/s", "read%", "B/s", "p50", "p99", "max"],
        );
        let mut sums: BTreeMap<String, (IoSum, DrillTarget)> = BTreeMap::new();
        for row in self.lately().flat_map(|moment| &moment.ios).filter(|row| &*row.dev == device) {
            let (name, drill) = if by_file { named_file(row) } else { named_process(row) };
            sums.entry(name).or_insert_with(|| (IoSum::default(), drill)).0.add(row);
        }
        push_sums(&mut grid, sums, self.lately().map(|moment| moment.seconds).sum());
        grid.note = self.no_blocks.map(str::to_string);
        grid
    }

    /// Who reads and writes a file, through the page cache and on devices.
    fn file(&self, name: &str) -> Vec<Grid> {
        let mut logical = Grid::new(
            format!("{name}: asked for by"),
            &["process", "reads/s", "writes/s", "read B/s", "written B/s", "phys"],
        );
        let mut sums: BTreeMap<(String, Option<i32>), FileSum> = BTreeMap::new();
        for row in self.lately().flat_map(|moment| &moment.files).filter(|row| file_name(row) == name) {
            let comm = row.comm.as_deref().unwrap_or("(unknown)").to_string();
            sums.entry((comm, row.pid)).or_default().add(row);
        }
        let seconds = self.lately().map(|moment| moment.seconds).sum::<f64>().max(1e-9);
        let mut ranked: Vec<_> = sums.into_iter().collect();
        ranked.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.reads + sum.writes));
        for ((comm, pid), sum) in ranked {
            let rate = |count: i64| short_or(Some(count as f64 / seconds));
            let physical = sum.physical().map_or("-".to_string(), |share| format!("{share:.0}%"));
            let cells = vec![
                with_pid(&comm, pid),
                rate(sum.reads),
                rate(sum.writes),
                rate(sum.read_bytes),
                rate(sum.written_bytes),
                physical,
            ];
            logical.push(
                cells,
                pid.map_or(DrillTarget::Nothing, |pid| DrillTarget::Sheet(PageSheet::Process(i64::from(pid)))),
            );
        }
        logical.note = self.no_files.map(str::to_string);
        let mut physical =
            Grid::new("on devices, last 10 s", &["process", "IO/s", "read%", "B/s", "p50", "p99", "max"]);
        let mut sums: BTreeMap<String, (IoSum, DrillTarget)> = BTreeMap::new();
        for row in self.lately().flat_map(|moment| &moment.ios).filter(|row| row.file.as_deref() == Some(name)) {
            let (process, drill) = named_process(row);
            sums.entry(format!("{process} on {}", &*row.dev)).or_insert_with(|| (IoSum::default(), drill)).0.add(row);
        }
        push_sums(&mut physical, sums, seconds);
        physical.note = self.no_blocks.map(str::to_string);
        vec![logical, physical]
    }

    /// One process, second by second, where it is, and its files.
    fn process(&self, pid: i64) -> Vec<Grid> {
        let is_it = |block: &StatBlock, row: &StatRow| block.value(row, "pid") == Some(pid as f64);
        let mut grid = Grid::new("", &["s ago"]);
        grid.columns.extend(PROCESS[1..].iter().map(|title| (*title).to_string()));
        grid.columns.insert(2, "usr%".to_string());
        grid.columns.push("threads".to_string());
        let mut name = None;
        let now_ns = self.now().map_or(0, |now| now.t_ns);
        for moment in self.moments.iter().rev().take(10) {
            let Some(block) = moment.block(CounterSubject::Process) else { continue };
            let ago = format!("{:.0}", (now_ns - moment.t_ns) as f64 / 1e9);
            let Some(row) = block.rows.iter().find(|row| is_it(block, row)) else {
                grid.push(vec![ago, "0".to_string()], DrillTarget::Nothing);
                continue;
            };
            name = name.or(Some(row.name.clone()));
            let (_, mut cells, _) = process_row(block, row, &ByEvent::of(moment));
            cells.splice(0..1, [ago]);
            cells.insert(2, percent_cell(block.value(row, "user_percent")));
            cells.push(short_or(block.value(row, "threads")));
            grid.push(cells, DrillTarget::Nothing);
        }
        grid.title = format!(
            "{} {pid}: a second without a figure is one in which it did nothing",
            name.as_deref().unwrap_or("process")
        );
        let mut files = Grid::new("its files, last 10 s", &["file", "IO/s", "read%", "B/s", "p50", "p99", "max"]);
        let mut sums: BTreeMap<String, (IoSum, DrillTarget)> = BTreeMap::new();
        for row in self.lately().flat_map(|moment| &moment.ios).filter(|row| row.pid.map(i64::from) == Some(pid)) {
            let (file, drill) = named_file(row);
            sums.entry(format!("{file} on {}", &*row.dev)).or_insert_with(|| (IoSum::default(), drill)).0.add(row);
        }
        push_sums(&mut files, sums, self.lately().map(|moment| moment.seconds).sum());
        files.note = self.no_blocks.map(str::to_string);
        vec![grid, self.stacks(pid), files]
    }

    fn by_memory(&self) -> Grid {
        let mut grid = Grid::new("processes that did something, largest first", &["process", "RSS", "majflt", "cpu%"]);
        let Some((now, block)) = self.now().and_then(|now| Some((now, now.block(CounterSubject::Process)?))) else {
            self.say_missing(&mut grid, rows::Process::NAME);
            return grid;
        };
        let by_event = ByEvent::of(now);
        let mut rows: Vec<&StatRow> = block.rows.iter().collect();
        let resident = |row: &StatRow| block.value(row, "resident_mib").unwrap_or(0.0);
        rows.sort_by(|a, b| resident(b).total_cmp(&resident(a)));
        for row in rows {
            let (_, cells, drill) = process_row(block, row, &by_event);
            let of = |title: &str| {
                let at = PROCESS.iter().position(|one| *one == title);
                at.and_then(|at| cells.get(at)).cloned().unwrap_or_default()
            };
            grid.push(vec![of("process"), of("RSS"), of("majflt"), of("cpu%")], drill);
        }
        grid
    }

    /// All findings up to the moment shown, newest first.
    fn all_findings(&self) -> Grid {
        let mut grid = Grid::new("findings: ● open, ○ closed, · note", &["", "lasted", "what"]);
        let now_ns = self.now().map_or(i64::MAX, |now| now.t_ns);
        for finding in self.findings.iter().rev().filter(|finding| finding.start_ns <= now_ns) {
            let mark = match (is_open(finding, now_ns), finding.counts()) {
                (true, true) => "●",
                (true, false) => "·",
                (false, _) => "○",
            };
            let lasted = view::Unit::Seconds.format(Some(finding.seconds().round()));
            let cells = vec![format!("{mark} {}", finding.rule.name()), lasted, finding.sentence.clone()];
            grid.push(cells, DrillTarget::Finding(finding.id));
        }
        if grid.rows.is_empty() {
            grid.note = Some("none so far".to_string());
        }
        grid
    }

    /// The moments of the last ten seconds.
    pub(super) fn lately(&self) -> impl Iterator<Item = &PageInterval> + Clone {
        let now_ns = self.now().map_or(0, |now| now.t_ns);
        self.moments.iter().filter(move |moment| now_ns - moment.t_ns < 10_000_000_000)
    }
}

fn push_sums(grid: &mut Grid, sums: BTreeMap<String, (IoSum, DrillTarget)>, seconds: f64) {
    let seconds = seconds.max(1e-9);
    let mut ranked: Vec<(String, (IoSum, DrillTarget))> = sums.into_iter().collect();
    ranked.sort_by_key(|(_, (sum, _))| std::cmp::Reverse(sum.ios));
    for (name, (sum, drill)) in ranked {
        let at = |quantile: f64| sum.response.as_ref().and_then(|all| all.percentile(quantile));
        let time = |ns: Option<u64>| ns.map_or("?".to_string(), |ns| milliseconds(ns as f64));
        let cells = vec![
            name,
            short_or(Some(sum.ios as f64 / seconds)),
            format!("{:.0}", 100.0 * sum.reads as f64 / sum.ios.max(1) as f64),
            short_or(Some(sum.bytes as f64 / seconds)),
            time(at(0.5)),
            time(at(0.99)),
            time(sum.response.as_ref().and_then(Histogram::max)),
        ];
        grid.push(cells, drill);
    }
}

/// What the page tells of a process. `pin ms`: taken by interrupts while it ran; `runq ms`: ready, and on no CPU; both per second.
const PROCESS: [&str; 11] =
    ["process", "cpu%", "sys%", "pin ms", "runq ms", "io-wait", "rd B/s", "wr B/s", "majflt", "RSS", "minflt"];

fn process_row(block: &StatBlock, row: &StatRow, by_event: &ByEvent<'_>) -> (f64, Vec<String>, DrillTarget) {
    let figure = |key| block.value(row, key);
    let bytes = |key| short_or(figure(key).map(|kib: f64| kib * 1024.0));
    let pid = figure("pid");
    let cpu = by_event.figure(pid, "event_percent").or(figure("cpu_percent"));
    let cells = vec![
        format!("{} {}", row.name, pid.map_or("?".to_string(), |pid| format!("{pid:.0}"))),
        percent_cell(cpu),
        // By the tick, in steps of 10 ms: never more than all of it, which is by event.
        percent_cell(figure("system_percent").map(|system| cpu.map_or(system, |cpu| system.min(cpu)))),
        ms_cell(by_event.figure(pid, "stolen_percent")),
        ms_cell(by_event.figure(pid, "wait_percent")),
        // Without delay accounting the kernel gives 0 for ever.
        figure("io_delay_percent").map_or("?".to_string(), |share| format!("{share:.0}%")),
        bytes("read_kib_per_s"),
        bytes("write_kib_per_s"),
        short_or(figure("major_faults_per_s")),
        figure("resident_mib").map_or("?".to_string(), |mib| format!("{}B", short(mib * f64::from(1 << 20)))),
        short_or(figure("minor_faults_per_s")),
    ];
    #[expect(clippy::cast_possible_truncation, reason = "a process number")]
    let drill = pid.map_or(DrillTarget::Nothing, |pid| DrillTarget::Sheet(PageSheet::Process(pid as i64)));
    (cpu.unwrap_or(0.0), cells, drill)
}

fn percent_cell(value: Option<f64>) -> String {
    percent(value).trim_end_matches('%').to_string()
}

pub(super) fn per(moment: &PageInterval) -> f64 {
    if moment.seconds > 0.0 { moment.seconds } else { 1.0 }
}

pub(super) fn file_name(row: &FileInterval) -> String {
    match (&row.file, row.inode) {
        (Some(file), _) => file.to_string(),
        (None, Some(inode)) => format!("(inode {inode})"),
        (None, None) => "(unknown)".to_string(),
    }
}

fn named_file(row: &IoInterval) -> (String, DrillTarget) {
    match &row.file {
        Some(file) => (file.to_string(), DrillTarget::Sheet(PageSheet::File(file.to_string()))),
        None => ("(no file)".to_string(), DrillTarget::Nothing),
    }
}

fn named_process(row: &IoInterval) -> (String, DrillTarget) {
    let drill = row.pid.map_or(DrillTarget::Nothing, |pid| DrillTarget::Sheet(PageSheet::Process(i64::from(pid))));
    (with_pid(row.comm.as_deref().unwrap_or("(unknown)"), row.pid), drill)
}

pub(super) fn with_pid(comm: &str, pid: Option<i32>) -> String {
    pid.map_or_else(|| comm.to_string(), |pid| format!("{comm} {pid}"))
}

const SYSTEM: &[&str] =
    &["runnable", "blocked", "load_1m", "context_switches_per_s", "interrupts_per_s", "forks_per_s"];
const DISK: &[&str] = &[
    "read_per_s",
    "read_kib_per_s",
    "read_await_ms",
    "write_per_s",
    "write_kib_per_s",
    "write_await_ms",
    "discard_per_s",
    "discard_kib_per_s",
    "ops_per_s",
    "kib_per_s",
    "queue_size",
    "util_percent",
    "in_flight",
];
const MEMORY: &[&str] = &[
    "available_mib",
    "free_mib",
    "cached_mib",
    "anonymous_mib",
    "slab_mib",
    "dirty_mib",
    "writeback_mib",
    "swap_used_mib",
];
const PAGING: &[&str] = &[
    "page_in_kib_per_s",
    "page_out_kib_per_s",
    "swap_in_per_s",
    "swap_out_per_s",
    "faults_per_s",
    "major_faults_per_s",
    "file_refaults_per_s",
    "direct_reclaimed_per_s",
];
const PRESSURE: &[&str] = &["some_percent", "full_percent"];
