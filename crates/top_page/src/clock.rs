//! CPU time by event where that is measured, by the kernel's tick elsewhere, and which of both it was.

use super::{DrillTarget, Grid, PageInterval, PageScene, PageSheet, count_or, short_or};
use rates::counter::sum_known;
use rates::stat::{CounterSubject, StatBlock, StatRow};
use recording::rows;
use std::collections::{BTreeMap, HashMap};

/// Figures of processes by event, by their number.
pub(super) struct ByEvent<'a> {
    block: Option<&'a StatBlock>,
    rows: HashMap<i64, &'a StatRow>,
}

impl<'a> ByEvent<'a> {
    pub(super) fn of(moment: &'a PageInterval) -> Self {
        let block = moment.block(CounterSubject::ProcessClock);
        #[expect(clippy::cast_possible_truncation, reason = "a process number")]
        let rows = block
            .into_iter()
            .flat_map(|block| block.rows.iter().filter_map(move |row| Some((block.value(row, "pid")? as i64, row))));
        Self { block, rows: rows.collect() }
    }

    /// A figure of a process; of one CPU, per cent.
    pub(super) fn figure(&self, pid: Option<f64>, key: &str) -> Option<f64> {
        #[expect(clippy::cast_possible_truncation, reason = "a process number")]
        let row = self.rows.get(&(pid? as i64))?;
        self.block?.value(row, key)
    }
}

/// A share of one CPU as milliseconds per second.
pub(super) fn ms_cell(percent: Option<f64>) -> String {
    count_or(percent.map(|percent| percent * 10.0))
}

impl PageInterval {
    /// Is CPU time measured by event?
    pub(super) fn is_by_event(&self) -> bool {
        self.figure(CounterSubject::CpuClock, "all", "event_busy_percent").is_some()
    }

    /// Each CPU's busy share in order, and that of all of them.
    pub(super) fn busy(&self) -> (Vec<(&str, Option<f64>)>, Option<f64>) {
        let by_event: HashMap<&str, f64> = self
            .each(CounterSubject::CpuClock, "event_busy_percent")
            .filter_map(|(row, percent)| Some((row.name.as_str(), percent?)))
            .collect();
        let each = self.each(CounterSubject::Cpu, "busy_percent");
        let each = each.map(|(row, tick)| (row.name.as_str(), by_event.get(row.name.as_str()).copied().or(tick)));
        let (all, each): (Vec<_>, Vec<_>) = each.partition(|(name, _)| *name == "all");
        (each, all.first().and_then(|(_, percent)| *percent))
    }

    /// By which clock CPU time and interrupts are measured, in words.
    #[must_use]
    pub fn clock_words(&self) -> String {
        let event = |key| self.figure(CounterSubject::CpuClock, "all", key).is_some();
        let irq = if self.figure(CounterSubject::Cpu, "all", "irq_percent").is_some() { "irq" } else { "irq n/a" };
        if event("event_busy_percent") {
            return "event(cpu irq)".to_string();
        }
        let tick = self.clock.as_deref().unwrap_or("?");
        // Without interrupts, run time alone is a lower bound.
        if event("run_percent") { format!("{tick}(cpu {irq}) event(tasks)") } else { format!("{tick}(cpu {irq})") }
    }

    /// Time that tasks waited for a CPU, all together, ns per second; not known where no CPU has a row of its own.
    pub(super) fn waited_ns_per_s(&self) -> Option<f64> {
        let each = self.each(CounterSubject::CpuClock, "wait_percent").filter(|(row, _)| row.name != "all");
        sum_known(each.map(|(_, percent)| percent.map(|percent| percent * 1e7)))
    }
}

impl PageScene<'_> {
    /// CPUs one below the other, by tick and, where that is measured, by event.
    pub(super) fn cpu_list(&self) -> Grid {
        let mut grid = self.stat_grid(
            CounterSubject::Cpu,
            "CPU time, % (by tick; ev: by event; pinned: taken from tasks by interrupts)",
            CPU,
        );
        grid.columns.extend(EVENT.iter().map(|(title, _)| (*title).to_string()));
        let Some(now) = self.now() else { return grid };
        for row in &mut grid.rows {
            let name = row.cells.first().cloned().unwrap_or_default();
            row.cells.extend(EVENT.iter().map(|(_, key)| {
                let value = now.figure(CounterSubject::CpuClock, &name, key);
                value.map_or_else(|| "?".to_string(), |percent| format!("{percent:.1}"))
            }));
        }
        if !now.is_by_event() && grid.note.is_none() {
            grid.note = self.missing(CounterSubject::CpuClock).map(|why| format!("by event: {why}"));
        }
        grid
    }

    /// Vectors by rate, with the CPU that has most of them.
    pub(super) fn interrupts(&self) -> Grid {
        let mut grid =
            Grid::new("interrupts per second (100 or more since their last row)", &["vector", "kind", "all"]);
        let Some(now) = self.now() else { return grid };
        let mut cpus: Vec<i32> = now.interrupts.iter().map(|rate| rate.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        grid.columns.extend(cpus.iter().map(|cpu| format!("cpu{cpu}")));
        let mut vectors: BTreeMap<(&str, &str), BTreeMap<i32, Option<f64>>> = BTreeMap::new();
        for rate in &now.interrupts {
            let on_cpu = vectors.entry((&rate.vector, &rate.kind)).or_default().entry(rate.cpu).or_insert(Some(0.0));
            *on_cpu = sum_known([*on_cpu, rate.per_s]);
        }
        let mut ranked: Vec<_> = vectors.into_iter().collect();
        let sum = |rates: &BTreeMap<i32, Option<f64>>| sum_known(rates.values().copied());
        // Of a vector with a CPU whose rate is not known, the rest is a lower bound, which tells where it stands.
        let known = |rates: &BTreeMap<i32, Option<f64>>| rates.values().flatten().sum::<f64>();
        ranked.sort_by(|a, b| known(&b.1).total_cmp(&known(&a.1)));
        for ((vector, kind), rates) in ranked {
            let mut cells = vec![vector.to_string(), kind.to_string(), short_or(sum(&rates))];
            cells.extend(cpus.iter().map(|cpu| rates.get(cpu).map_or("-".to_string(), |rate| short_or(*rate))));
            // To the CPU that has most of them.
            let rate = |rate: &Option<f64>| rate.unwrap_or(0.0);
            let most = rates.iter().max_by(|a, b| rate(a.1).total_cmp(&rate(b.1)));
            let most = most.and_then(|(cpu, _)| u32::try_from(*cpu).ok());
            grid.push(cells, most.map_or(DrillTarget::Nothing, |cpu| DrillTarget::Sheet(PageSheet::OneCpu(cpu))));
        }
        self.say_missing(&mut grid, rows::Interrupt::NAME);
        grid
    }

    /// From whom interrupts took time in the last ten seconds, the most first.
    pub(super) fn victims(&self) -> Grid {
        let mut grid = Grid::new(
            "taken from processes by interrupts, last 10 s, by event",
            &["process", "pinned ms/s", "per s", "most by", "ms/s of it"],
        );
        let seconds = self.lately().map(|moment| moment.seconds).sum::<f64>().max(1e-9);
        let mut sums: BTreeMap<(i64, &str), Taken<'_>> = BTreeMap::new();
        for victim in self.lately().flat_map(|moment| &moment.victims) {
            let by = sums.entry((victim.pid, &victim.comm)).or_default();
            let sum = by.entry((&victim.kind, &victim.vector)).or_default();
            *sum = (sum.0 + victim.count, sum.1 + victim.ns);
        }
        let all = |by: &Taken<'_>| by.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mut ranked: Vec<_> = sums.into_iter().collect();
        ranked.sort_by_key(|(who, by)| (std::cmp::Reverse(all(by).1), *who));
        let ms = |ns: i64| short_or(Some(ns as f64 / 1e6 / seconds));
        for ((pid, comm), by) in ranked.into_iter().take(VICTIMS_SHOWN) {
            let (count, ns) = all(&by);
            let most = by.iter().max_by_key(|(_, sum)| sum.1);
            let cells = vec![
                format!("{comm} {pid}"),
                ms(ns),
                short_or(Some(count as f64 / seconds)),
                most.map_or("?".to_string(), |((kind, vector), _)| format!("{vector} ({kind})")),
                most.map_or("?".to_string(), |(_, sum)| ms(sum.1)),
            ];
            grid.push(cells, DrillTarget::Sheet(PageSheet::Process(pid)));
        }
        if grid.rows.is_empty() {
            let is_timed = self.lately().any(PageInterval::is_by_event);
            grid.note = Some(match (is_timed, self.verdicts.of_table(rows::Stolen::NAME)) {
                (true, _) => "no process lost 1 ms or more".to_string(),
                (false, why) => why.unwrap_or("interrupts were not timed by event in this time").to_string(),
            });
        }
        grid
    }
}

/// How often, and how long, ns, by kind and vector.
type Taken<'a> = BTreeMap<(&'a str, &'a str), (i64, i64)>;

/// Those that lost most.
const VICTIMS_SHOWN: usize = 12;

const CPU: &[&str] = &[
    "user_percent",
    "nice_percent",
    "system_percent",
    "iowait_percent",
    "irq_percent",
    "softirq_percent",
    "steal_percent",
    "idle_percent",
    "busy_percent",
];

/// Figures of CPUs by event.
pub(super) const EVENT: [(&str, &str); 4] = [
    ("ev busy", "event_busy_percent"),
    ("ev irq", "irq_percent"),
    ("ev soft", "softirq_percent"),
    ("pinned", "stolen_percent"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PageFold, Resource};
    use rates::Availability;
    use recording::rows::{Cpu, CpuEvent, Process, ProcessEvent, Stolen};
    use recording::{Label, Row, RowBatch, Sink as _};

    const SECOND_NS: i64 = 1_000_000_000;

    fn batch<R: Row>(rows: &[R]) -> RowBatch {
        RowBatch::from_rows(rows).expect("a batch")
    }

    /// By the tick idle, by event 40 % busy.
    fn sample(n: i64, cpu: &str, is_timed: bool) -> Vec<RowBatch> {
        let (t_ns, t_s) = (n * SECOND_NS, n as f64);
        let tick = Cpu {
            t_ns,
            t_s,
            cpu: cpu.to_string(),
            user_ns: n * 10_000_000,
            nice_ns: Some(0),
            system_ns: 0,
            idle_ns: n * 990_000_000,
            iowait_ns: Some(0),
            irq_ns: None,
            softirq_ns: None,
            steal_ns: Some(0),
            clock: "tick".to_string(),
        };
        let event = CpuEvent {
            t_ns,
            t_s,
            cpu: cpu.to_string(),
            run_ns: n * 390_000_000,
            long_ns: Some(0),
            idle_ns: n * 610_000_000,
            idle_irq_ns: Some(n * 10_000_000),
            irq_ns: Some(n * 5_000_000),
            softirq_ns: Some(n * 30_000_000),
            stolen_ns: Some(n * 25_000_000),
            wait_ns: n * 12_000_000,
            switches: n * 1000,
            preemptions: 0,
        };
        if is_timed { vec![batch(&[tick]), batch(&[event])] } else { vec![batch(&[tick])] }
    }

    fn process(n: i64) -> Vec<RowBatch> {
        let (t_ns, t_s) = (n * SECOND_NS, n as f64);
        let found = Process {
            t_ns,
            t_s,
            pid: 7,
            start_ns: Some(1),
            parent: None,
            comm: "hide".to_string(),
            state: None,
            threads: Some(1),
            user_ns: Some(n * 10_000_000),
            system_ns: Some(0),
            resident_bytes: None,
            major_faults: None,
            minor_faults: None,
            io_delay_ns: None,
            read_bytes: None,
            write_bytes: None,
        };
        let timed = ProcessEvent {
            t_ns,
            t_s,
            pid: 7,
            start_ns: 1,
            parent: 1,
            comm: Label::from("hide"),
            run_ns: 90_000_000_000 + n * 390_000_000,
            wait_ns: n * 8_300_000,
            switches: n,
            preemptions: 0,
        };
        let stolen = |vector: &str, ns: i64| Stolen {
            t_ns,
            t_s,
            pid: 7,
            comm: Label::from("hide"),
            kind: Label::from("softirq"),
            vector: Label::from(vector),
            count: n * 10,
            ns: 70_000_000_000 + n * ns,
        };
        vec![batch(&[found]), batch(&[timed]), batch(&[stolen("NET_RX", 20_000_000), stolen("TIMER", 5_000_000)])]
    }

    fn moments(is_timed: bool) -> Vec<PageInterval> {
        // In the middle of a recording: what was before is not this second's.
        let mut fold = PageFold::new(true);
        for n in 1..=3 {
            let mut batches = sample(n, "all", is_timed);
            batches.extend(sample(n, "0", is_timed));
            batches.extend(process(n).into_iter().take(if is_timed { 3 } else { 1 }));
            batches.iter().for_each(|batch| fold.accept(batch).expect("a batch"));
            fold.commit().expect("a sample");
        }
        fold.take()
    }

    #[test]
    fn figures_are_by_event_where_that_is_measured_and_marked_where_not() {
        let verdicts = Availability::default();
        let row = |moments: &[PageInterval]| {
            let rows = PageScene::of(moments, &verdicts).resources(None, None);
            let row = rows.into_iter().find(|row| row.resource == Resource::Cpu).expect("a row");
            (row.utilisation.0, row.saturation.0)
        };
        let timed = moments(true);
        let (used, waits) = row(&timed);
        assert_eq!(used, "40%  max 40 @0");
        assert!(waits.contains("wait 12ms/s"), "{waits}");
        assert_eq!(timed[1].clock_words(), "event(cpu irq)");
        let list = PageScene::of(&timed, &verdicts).cpu_list();
        assert!(list.rows[1].cells.join("|").ends_with("|40.0|0.5|3.0|2.5"), "{:?}", list.rows);
        let tick = moments(false);
        assert_eq!(row(&tick).0, "~1.0%  max 1 @0");
        assert_eq!(tick[1].clock_words(), "tick(cpu irq n/a)");
    }

    #[test]
    fn processes_tell_what_interrupts_took_and_how_long_they_waited() {
        let (verdicts, timed) = (Availability::default(), moments(true));
        let scene = PageScene::of(&timed, &verdicts);
        let first = |grid: Grid| grid.rows[0].cells.join("|");
        assert!(first(scene.processes()).starts_with("hide 7|39|0.0|25|8.3|"), "{}", first(scene.processes()));
        // Two seconds are in it.
        assert_eq!(first(scene.victims()), "hide 7|25|20|NET_RX (softirq)|20");
        assert_eq!(scene.victims().rows[0].drill, DrillTarget::Sheet(PageSheet::Process(7)));
        let tick = moments(false);
        let scene = PageScene::of(&tick, &verdicts);
        assert!(first(scene.processes()).starts_with("hide 7|1.0|0.0|?|?|"), "{}", first(scene.processes()));
        assert_eq!(scene.victims().note.as_deref(), Some("interrupts were not timed by event in this time"));
    }

    #[test]
    fn the_kernels_part_is_no_more_than_all_of_it() {
        let mut fold = PageFold::new(true);
        for n in 1..=2 {
            let mut batches = sample(n, "all", true);
            batches.extend(process(n));
            let ticked = batches.iter_mut().find(|batch| batch.table.name == "process").expect("by the tick");
            let mut rows: Vec<Process> = ticked.to_rows().expect("rows");
            // The tick found it there more often than it was.
            rows[0].system_ns = Some(n * 600_000_000);
            *ticked = batch(&rows);
            batches.iter().for_each(|batch| fold.accept(batch).expect("a batch"));
            fold.commit().expect("a sample");
        }
        let (moments, verdicts) = (fold.take(), Availability::default());
        let first = PageScene::of(&moments, &verdicts).processes().rows[0].cells.join("|");
        assert!(first.starts_with("hide 7|39|39|"), "{first}");
    }
}
