//! One CPU: what its time goes into second by second, what programs are at on it, and its interrupts.

use super::clock::EVENT;
use super::{DrillTarget, Grid, PageInterval, PageScene, PageSheet, short_or};
use rates::stat::CounterSubject;
use recording::rows;
use std::collections::{BTreeMap, HashMap};
use workload::probe::{StackOf, StackSamples};

/// Rows of seconds.
const SECONDS: usize = 10;
/// Stacks on the page; the rest stands for little.
const STACKS_MAX: usize = 20;

/// Figures by the kernel's tick.
const TICK: [(&str, &str); 7] = [
    ("usr", "user_percent"),
    ("sys", "system_percent"),
    ("iowait", "iowait_percent"),
    ("irq", "irq_percent"),
    ("soft", "softirq_percent"),
    ("steal", "steal_percent"),
    ("idle", "idle_percent"),
];

/// Of an interrupt's handlers, where a probe times them: share of the CPU's time, the longest in ns.
type Timed = Option<(f64, i64)>;

impl PageScene<'_> {
    /// The tables of the page of a CPU.
    pub(super) fn one_cpu(&self, cpu: u32) -> Vec<Grid> {
        vec![self.cpu_seconds(cpu), self.cpu_stacks(cpu), self.cpu_interrupts(cpu)]
    }

    /// Where its time went, second by second.
    fn cpu_seconds(&self, cpu: u32) -> Grid {
        let mut grid = Grid::new(
            format!("CPU {cpu}, % of its time (ev: by event; pinned: taken from tasks by interrupts)"),
            &["s ago"],
        );
        grid.columns.extend(TICK.iter().chain(&EVENT).map(|(title, _)| (*title).to_string()));
        let name = cpu.to_string();
        let now_ns = self.now().map_or(0, |now| now.t_ns);
        for moment in self.moments.iter().rev().take(SECONDS) {
            let mut cells = vec![format!("{:.0}", (now_ns - moment.t_ns) as f64 / 1e9)];
            let figures = TICK.iter().map(|figure| (CounterSubject::Cpu, figure.1));
            for (subject, key) in figures.chain(EVENT.iter().map(|figure| (CounterSubject::CpuClock, figure.1))) {
                // An empty name would be the first CPU.
                let value = moment.figure(subject, &name, key);
                cells.push(value.map_or_else(|| "?".to_string(), |percent| format!("{percent:.1}")));
            }
            grid.push(cells, DrillTarget::Nothing);
        }
        let by_event = |moment: &PageInterval| moment.figure(CounterSubject::CpuClock, &name, EVENT[0].1);
        let is_timed = self.moments.iter().rev().take(SECONDS).any(|moment| by_event(moment).is_some());
        if !is_timed {
            let none = "no figures by event in this time";
            grid.note =
                Some(self.missing(CounterSubject::CpuClock).map_or(none.to_string(), |why| format!("by event: {why}")));
        }
        grid
    }

    /// Who was seen on it in the last ten seconds and where, those seen most first.
    fn cpu_stacks(&self, cpu: u32) -> Grid {
        let mut grid = Grid::new("what runs on it, last 10 s (process: innermost ← caller)", &["", "cpu%", "looks"]);
        let wanted = i32::try_from(cpu).ok();
        let mut sums: HashMap<(i64, String, String), StackSamples> = HashMap::new();
        let seconds = self.each_look(wanted, |row| {
            let of =
                StackOf { pid: row.pid, comm: row.comm.clone(), user: row.user.clone(), kernel: row.kernel.clone() };
            let seen = StackSamples { samples: row.samples, cpu_ns: row.cpu_ns };
            sums.entry((row.pid, row.comm.to_string(), of.frames())).or_default().add(seen);
        });
        let mut ranked: Vec<_> = sums.into_iter().collect();
        ranked.sort_by(|a, b| b.1.samples.cmp(&a.1.samples).then_with(|| a.0.cmp(&b.0)));
        for ((pid, comm, frames), seen) in ranked.into_iter().take(STACKS_MAX) {
            let inside_out: Vec<&str> = frames.rsplit(';').collect();
            let cells = vec![
                format!("{comm} {pid}: {}", inside_out.join(" ← ")),
                super::stacks::cpu_percent(seen, seconds),
                seen.samples.to_string(),
            ];
            grid.push(cells, DrillTarget::Sheet(PageSheet::Process(pid)));
        }
        if grid.rows.is_empty() {
            let all_together = self.lately().flat_map(|moment| &moment.stacks).any(|row| row.cpu.is_none());
            // The profiler was off, or began while the CPU idled: the rows do not say which.
            let idle =
                if seconds > 0.0 { "no sample hit a task on it in this time" } else { "it was idle, or not looked at" };
            grid.note = Some(match self.no_stacks {
                _ if all_together => "CPUs were looked at together: which of them it was is not recorded".to_string(),
                why => why.unwrap_or(idle).to_string(),
            });
        }
        grid
    }

    /// Its interrupts, the most time first, else the most frequent.
    fn cpu_interrupts(&self, cpu: u32) -> Grid {
        let mut grid = Grid::new(
            "interrupts on it (% and longest: time in their handlers, by event)",
            &["vector", "kind", "per s", "%", "longest"],
        );
        let wanted = i32::try_from(cpu).unwrap_or(-1);
        // What is rare has no row in each sample: of each the latest one, so that lines stay where they are.
        let mut vectors: BTreeMap<(&str, &str), (Option<f64>, Timed)> = BTreeMap::new();
        for handler in self.lately().flat_map(|moment| &moment.handlers).filter(|handler| handler.cpu == wanted) {
            let timed = Some((handler.percent, handler.max_ns));
            vectors.insert((&handler.vector, &handler.kind), (Some(handler.per_s), timed));
        }
        // The counts of /proc/interrupts are there also where no probe times handlers.
        for rate in self.lately().flat_map(|moment| &moment.interrupts).filter(|rate| rate.cpu == wanted) {
            let (per_s, _) = vectors.entry((&rate.vector, &rate.kind)).or_default();
            *per_s = rate.per_s.or(*per_s);
        }
        let mut ranked: Vec<_> = vectors.into_iter().collect();
        let percent = |timed: Timed| timed.map_or(-1.0, |(percent, _)| percent);
        let rate = |per_s: Option<f64>| per_s.unwrap_or(-1.0);
        ranked.sort_by(|a, b| percent(b.1.1).total_cmp(&percent(a.1.1)).then(rate(b.1.0).total_cmp(&rate(a.1.0))));
        for ((vector, kind), (per_s, timed)) in ranked {
            grid.push(
                vec![
                    vector.to_string(),
                    kind.to_string(),
                    short_or(per_s),
                    timed.map_or("?".to_string(), |(percent, _)| format!("{percent:.2}")),
                    timed.map_or("?".to_string(), |(_, ns)| super::resources::milliseconds(ns as f64)),
                ],
                DrillTarget::Nothing,
            );
        }
        self.say_missing(&mut grid, rows::Interrupt::NAME);
        grid
    }
}

#[cfg(test)]
mod tests {
    use crate::{DrillTarget, HandlerTime, InterruptRate, PageFold, PageInterval, PageScene, PageSheet};
    use recording::rows::{Cpu, CpuEvent, IrqTime, Profile};
    use recording::{Label, RowBatch, Sink as _};

    const SECOND_NS: i64 = 1_000_000_000;

    fn look(cpu: Option<i32>, comm: &str, pid: i64, user: &str, samples: i64) -> Profile {
        Profile {
            t_ns: 0,
            t_s: 0.0,
            interval_ns: SECOND_NS,
            pid,
            comm: comm.into(),
            user: Some(user.into()),
            kernel: None,
            samples,
            cpu_ns: samples * 10_000_000,
            cpu,
        }
    }

    fn moment(second: i64, stacks: Vec<Profile>) -> PageInterval {
        let mut moment = PageInterval::default();
        (moment.t_ns, moment.seconds, moment.stacks) = (second * SECOND_NS, 1.0, stacks);
        moment
    }

    fn with<T>(moments: &[PageInterval], no_stacks: Option<&str>, of: impl FnOnce(&PageScene<'_>) -> T) -> T {
        let verdicts = rates::Availability::default();
        of(&PageScene { no_stacks, ..PageScene::of(moments, &verdicts) })
    }

    #[test]
    fn the_page_shows_the_tasks_of_a_cpu_only_where_the_profiler_sampled_that_cpu_alone() {
        let moments = [
            // All CPUs, for the page of a process.
            moment(1, vec![look(None, "db", 7, "main;old", 99)]),
            moment(2, vec![look(Some(3), "db", 7, "main;work", 40), look(Some(3), "gzip", 8, "deflate", 60)]),
            moment(3, vec![look(Some(3), "db", 7, "main;work", 40)]),
        ];
        with(&moments, None, |scene| {
            let grid = scene.cpu_stacks(3);
            let cells: Vec<_> = grid.rows.iter().map(|row| row.cells.join("|")).collect();
            assert_eq!(cells, ["db 7: work ← main|40.0|80", "gzip 8: deflate|30.0|60"]);
            assert_eq!(grid.rows[0].drill, DrillTarget::Sheet(PageSheet::Process(7)));
        });
        let note = |moments: &[PageInterval], why| with(moments, why, |scene| scene.cpu_stacks(2).note);
        assert!(note(&moments[..1], None).expect("words").contains("together"));
        assert_eq!(note(&moments[1..], None).as_deref(), Some("it was idle, or not looked at"), "another was");
        assert_eq!(note(&[moment(1, Vec::new())], Some("needs root")).as_deref(), Some("needs root"));
    }

    fn cpu(n: i64) -> Cpu {
        Cpu {
            t_ns: n * SECOND_NS,
            t_s: n as f64,
            cpu: "3".to_string(),
            user_ns: n * 600_000_000,
            nice_ns: Some(0),
            system_ns: n * 100_000_000,
            idle_ns: n * 300_000_000,
            iowait_ns: Some(0),
            irq_ns: None,
            softirq_ns: Some(0),
            steal_ns: Some(0),
            clock: "tick".to_string(),
        }
    }

    fn event(n: i64) -> CpuEvent {
        CpuEvent {
            t_ns: n * SECOND_NS,
            t_s: n as f64,
            cpu: "3".to_string(),
            run_ns: n * 800_000_000,
            long_ns: None,
            idle_ns: n * 200_000_000,
            idle_irq_ns: Some(0),
            irq_ns: Some(n * 20_000_000),
            softirq_ns: Some(n * 50_000_000),
            stolen_ns: Some(n * 60_000_000),
            wait_ns: 0,
            switches: 0,
            preemptions: 0,
        }
    }

    fn timed(n: i64) -> IrqTime {
        counted(n, n)
    }

    /// By the probe, which was loaded so many seconds ago.
    fn counted(n: i64, since: i64) -> IrqTime {
        IrqTime {
            t_ns: n * SECOND_NS,
            t_s: n as f64,
            kind: Label::from("softirq"),
            vector: Label::from("NET_RX"),
            cpu: 3,
            count: since * 1000,
            ns: since * 50_000_000,
            max_ns: 400_000,
        }
    }

    #[test]
    fn its_seconds_are_by_tick_and_by_event() {
        let fold = |is_timed: bool| {
            let mut fold = PageFold::default();
            for n in 1..=3 {
                fold.accept(&RowBatch::from_rows(&[cpu(n)]).expect("a batch")).expect("its columns");
                if is_timed {
                    fold.accept(&RowBatch::from_rows(&[event(n)]).expect("a batch")).expect("its columns");
                    fold.accept(&RowBatch::from_rows(&[timed(n)]).expect("a batch")).expect("its columns");
                }
                fold.commit().expect("a sample");
            }
            fold.take()
        };
        with(&fold(true), None, |scene| {
            let grid = scene.cpu_seconds(3);
            assert_eq!(grid.rows.len(), 2);
            assert_eq!(grid.rows[0].cells.join("|"), "0|60.0|10.0|0.0|?|0.0|0.0|30.0|80.0|2.0|5.0|6.0");
            assert_eq!(grid.note, None);
            let interrupts = scene.cpu_interrupts(3);
            assert_eq!(interrupts.rows[0].cells.join("|"), "NET_RX|softirq|1.0k|5.00|400 µs");
            assert!(scene.cpu_interrupts(2).rows.is_empty());
        });
        with(&fold(false), None, |scene| {
            let grid = scene.cpu_seconds(3);
            assert!(grid.rows[0].cells.ends_with(&["?".to_string(), "?".to_string()]));
            assert_eq!(grid.note.as_deref(), Some("no figures by event in this time"));
        });
    }

    #[test]
    fn handlers_have_no_figures_across_a_time_without_a_probe() {
        let mut fold = PageFold::default();
        // The page is open for two seconds, left, and open again for longer than before.
        let seconds = [(1, Some(1)), (2, Some(2)), (3, None), (4, None), (5, None), (6, Some(3)), (7, Some(4))];
        for (n, since) in seconds {
            fold.accept(&RowBatch::from_rows(&[cpu(n)]).expect("a batch")).expect("its columns");
            if let Some(since) = since {
                fold.accept(&RowBatch::from_rows(&[counted(n, since)]).expect("a batch")).expect("its columns");
            }
            fold.commit().expect("a sample");
        }
        let moments = fold.take();
        let percents: Vec<Option<f64>> = moments.iter().map(|of| of.handlers.first().map(|of| of.percent)).collect();
        assert_eq!(percents, [Some(5.0), None, None, None, None, Some(5.0)]);
        with(&moments[..5], None, |scene| {
            let cells = scene.cpu_interrupts(3).rows[0].cells.join("|");
            assert_eq!(cells, "NET_RX|softirq|1.0k|5.00|400 µs", "the latest that is known of it");
        });
    }

    #[test]
    fn the_page_counts_interrupts_whose_handlers_no_probe_times() {
        let mut now = moment(1, Vec::new());
        now.interrupts.push(InterruptRate { kind: "irq".into(), vector: "LOC".into(), cpu: 3, per_s: Some(250.0) });
        now.interrupts.push(InterruptRate { kind: "irq".into(), vector: "RES".into(), cpu: 1, per_s: Some(9.0) });
        let rows = |now: &PageInterval| {
            with(std::slice::from_ref(now), None, |scene| {
                scene.cpu_interrupts(3).rows.iter().map(|row| row.cells.join("|")).collect::<Vec<_>>()
            })
        };
        assert_eq!(rows(&now), ["LOC|irq|250|?|?"]);
        now.handlers.push(HandlerTime {
            kind: "irq".into(),
            vector: "36 virtio".into(),
            cpu: 3,
            per_s: 10.0,
            percent: 0.5,
            max_ns: 20_000,
        });
        assert_eq!(rows(&now), ["36 virtio|irq|10|0.50|20.0 µs", "LOC|irq|250|?|?"]);
    }
}
