//! One row per resource: how much of it is used, how much waits for it, what failed; each with its worst element.

use super::fold::is_io_error;
use super::{DrillTarget, PageInterval, PageScene, PageSheet, count_or, short_or};
use quantity::figures::{DecimalPlaces, short, short_time};
use rates::counter::ratio;
use rates::disk::is_partition;
use rates::is_loopback;
use rates::stat::CounterSubject;
use recording::EventKind;
use recording::rows::{self, Event};

/// A resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// CPUs.
    Cpu,
    /// Memory.
    Memory,
    /// A block device.
    Disk,
    /// A network interface.
    Net,
    /// TCP.
    Tcp,
}

/// How bad it looks; a mark goes with each colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceLevel {
    /// Nothing to see.
    #[default]
    Fine,
    /// Busy.
    Busy,
    /// At its limit, or failing.
    Full,
}

impl ResourceLevel {
    fn of_percent(percent: Option<f64>) -> Self {
        match percent {
            Some(percent) if percent >= 95.0 => Self::Full,
            Some(percent) if percent >= 70.0 => Self::Busy,
            _ => Self::Fine,
        }
    }

    fn of_trouble(per_s: Option<f64>) -> Self {
        if per_s.is_some_and(|per_s| per_s > 0.0) { Self::Full } else { Self::Fine }
    }
}

/// One resource at one moment. Where a text has several figures, two blanks stand between them, the least important last:
/// what has no room is left out, and no figure is cut.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceRow {
    /// Which.
    pub resource: Resource,
    /// Its name, with the instance where there are several.
    pub name: String,
    /// Used.
    pub utilisation: (String, ResourceLevel),
    /// Waiting.
    pub saturation: (String, ResourceLevel),
    /// Failing.
    pub errors: (String, ResourceLevel),
    /// Share of the last 10 s in which some, and in which all tasks waited for it, per cent.
    pub pressure: [Option<f64>; 2],
    /// Used share of the last moments, 0 to 1, oldest first.
    pub curve: Vec<Option<f64>>,
    /// Is the curve a share of its own greatest value, because the maximum is not known (TCP, links without a speed)?
    /// Then a high value is no trouble.
    pub is_relative: bool,
    /// Where Enter leads.
    pub drill: DrillTarget,
    /// Stands in the place of the figures: why there are none.
    pub verdict: Option<String>,
}

impl ResourceRow {
    /// One without figures.
    fn missing(resource: Resource, name: &str, sheet: PageSheet, verdict: &str) -> Self {
        let nothing = || (String::new(), ResourceLevel::Fine);
        Self {
            resource,
            name: name.to_string(),
            utilisation: nothing(),
            saturation: nothing(),
            errors: nothing(),
            pressure: [None; 2],
            curve: Vec::new(),
            is_relative: false,
            drill: DrillTarget::Sheet(sheet),
            verdict: Some(verdict.to_string()),
        }
    }
}

impl PageScene<'_> {
    /// The rows; `pick` names the device and the interface that are wanted instead of the worst ones.
    #[must_use]
    pub fn resources(&self, disk: Option<&str>, net: Option<&str>) -> Vec<ResourceRow> {
        let Some(now) = self.now() else { return Vec::new() };
        let missing = |resource, name: &str, sheet, subject| {
            Some(ResourceRow::missing(resource, name, sheet, self.missing(subject)?))
        };
        let disk = disk.map(str::to_string).or_else(|| self.worst_disk());
        let net = net.map(str::to_string).or_else(|| self.worst_link());
        let rows = [
            missing(Resource::Cpu, "cpu", PageSheet::Cpu, CounterSubject::Cpu).or_else(|| Some(self.cpu(now))),
            missing(Resource::Memory, "memory", PageSheet::Memory, CounterSubject::Memory)
                .or_else(|| Some(self.memory(now))),
            missing(Resource::Disk, "disk", PageSheet::Disks, CounterSubject::Disk)
                .or_else(|| Some(self.disk(now, disk.as_deref()?))),
            missing(Resource::Net, "net", PageSheet::Net, CounterSubject::Net)
                .or_else(|| Some(self.link(now, net.as_deref()?))),
            missing(Resource::Tcp, "tcp", PageSheet::Net, CounterSubject::Tcp)
                .or_else(|| now.block(CounterSubject::Tcp).map(|_| self.tcp(now))),
        ];
        rows.into_iter().flatten().collect()
    }

    /// Why there are no figures of a subject now, when there are none.
    #[must_use]
    pub fn missing(&self, subject: CounterSubject) -> Option<&str> {
        let has_figures = self.now().is_some_and(|now| now.block(subject).is_some());
        self.verdicts.of_subject(subject).filter(|_| !has_figures)
    }

    /// Names of the block devices that are whole: those on which I/Os failed in the last minute first, then the busiest of
    /// the last ten seconds.
    #[must_use]
    pub fn disks(&self) -> Vec<String> {
        let Some(now) = self.now() else { return Vec::new() };
        let names: Vec<&str> =
            now.each(CounterSubject::Disk, "util_percent").map(|(row, _)| row.name.as_str()).collect();
        let whole = names.iter().filter(|name| !names.iter().any(|whole| is_partition(name, whole)));
        let mut ranked: Vec<(bool, f64, f64, &str)> = whole
            .map(|name| {
                let mean = |key: &'static str| {
                    self.mean_10s(|moment| moment.figure(CounterSubject::Disk, name, key)).unwrap_or(0.0)
                };
                (self.is_failing(name), mean("util_percent"), mean("queue_size"), *name)
            })
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(b.2.total_cmp(&a.2)).then(a.3.cmp(b.3)));
        ranked.into_iter().map(|(.., name)| name.to_string()).collect()
    }

    /// Did I/Os of a device fail in the last minute, by count or by the kernel's messages?
    fn is_failing(&self, device: &str) -> bool {
        let is_counted = self.last_minute().iter().any(|moment| moment.failing.contains(device));
        is_counted || self.logged_errors(device).any(|event| !event.message.contains("operation not supported"))
    }

    /// The kernel's messages of the last minute about failures of a device.
    fn logged_errors(&self, device: &str) -> impl Iterator<Item = &Event> {
        let logged =
            self.last_minute().iter().flat_map(|moment| &moment.events).filter(|event| event.kind == EventKind::Kernel);
        logged.filter(move |event| is_io_error(&event.message) && names_device(&event.message, device))
    }

    /// A device on which I/Os fail, else the one with the longest use; among equals the one with the longest queue.
    #[must_use]
    pub fn worst_disk(&self) -> Option<String> {
        self.disks().into_iter().next()
    }

    /// Names of the interfaces, busiest first: by the share of their speed where that is known, else by bytes.
    #[must_use]
    pub fn links(&self) -> Vec<String> {
        let Some(now) = self.now() else { return Vec::new() };
        let mut ranked: Vec<(f64, f64, &str)> = now
            .each(CounterSubject::Net, "util_percent")
            .map(|(row, _)| {
                let mean = |key: &'static str| {
                    self.mean_10s(|moment| moment.figure(CounterSubject::Net, &row.name, key)).unwrap_or(0.0)
                };
                let bytes = mean("rx_kib_per_s") + mean("tx_kib_per_s");
                // The loopback is no link.
                let real = if is_loopback(&row.name) { 0.0 } else { 1.0 };
                (real * (mean("util_percent") + f64::from(bytes > 0.0)), bytes, row.name.as_str())
            })
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(b.2)));
        ranked.into_iter().map(|(_, _, name)| name.to_string()).collect()
    }

    fn worst_link(&self) -> Option<String> {
        self.links().into_iter().next()
    }

    fn pressure(&self, resource: &str) -> [Option<f64>; 2] {
        ["some_percent", "full_percent"]
            .map(|key| self.mean_10s(|moment| moment.figure(CounterSubject::Pressure, resource, key)))
    }

    fn curve(&self, of: impl Fn(&PageInterval) -> Option<f64>) -> Vec<Option<f64>> {
        self.last_minute().iter().map(|moment| of(moment).map(|percent| (percent / 100.0).clamp(0.0, 1.0))).collect()
    }

    fn cpu(&self, now: &PageInterval) -> ResourceRow {
        let (each, busy) = now.busy();
        let count = each.len();
        let worst = busiest(each.into_iter());
        // What only the tick samples is marked.
        let about = if now.is_by_event() { "" } else { "~" };
        let figure = |key| now.figure(CounterSubject::System, "", key);
        let runnable = figure("runnable");
        let max = worst.map_or(String::new(), |(name, percent)| format!("  max {percent:.0} @{name}"));
        // Imports may have rows of all CPUs together only.
        let cpus = if count > 0 { count.to_string() } else { "?".to_string() };
        let run = format!("run {} of {cpus}", count_or(runnable));
        let p99 = now.run_waits.as_ref().and_then(|waits| waits.percentile(0.99)).map(|ns| ns as f64);
        // In recordings from before single waits were counted, of all of them together.
        let wait = match (p99, now.waited_ns_per_s()) {
            (Some(ns), _) => format!("  wait p99 {}", short_time(ns)),
            (None, Some(ns)) => format!("  wait {}/s", short_time(ns)),
            (None, None) => String::new(),
        };
        let waits = match runnable {
            Some(runnable) if count > 0 && runnable > 2.0 * count as f64 => ResourceLevel::Full,
            Some(runnable) if count > 0 && runnable > count as f64 => ResourceLevel::Busy,
            _ => ResourceLevel::Fine,
        };
        let steal = now.figure(CounterSubject::Cpu, "all", "steal_percent").filter(|percent| *percent >= 0.5);
        let most = worst.map(|(_, percent)| percent).into_iter().chain(busy).reduce(f64::max);
        ResourceRow {
            resource: Resource::Cpu,
            name: "cpu".to_string(),
            utilisation: (format!("{about}{}{max}", percent(busy)), ResourceLevel::of_percent(most)),
            saturation: (format!("{run}{wait}  blk {}", count_or(figure("blocked"))), waits),
            errors: steal.map_or(("-".to_string(), ResourceLevel::Fine), |steal| {
                (format!("steal {steal:.0}%"), ResourceLevel::Busy)
            }),
            pressure: self.pressure("cpu"),
            is_relative: false,
            curve: self.curve(|moment| busiest(moment.busy().0.into_iter()).map(|(_, percent)| percent)),
            drill: DrillTarget::Sheet(PageSheet::Cpu),
            verdict: None,
        }
    }

    fn memory(&self, now: &PageInterval) -> ResourceRow {
        let figure = |key| now.figure(CounterSubject::Memory, "", key);
        let used = |moment: &PageInterval| {
            let total = moment.memory_mib.filter(|total| *total > 0.0)?;
            Some(100.0 * (1.0 - moment.figure(CounterSubject::Memory, "", "available_mib")? / total))
        };
        let swap = figure("swap_in_per_s").zip(figure("swap_out_per_s")).map(|(into, out)| into + out);
        let refaults = figure("file_refaults_per_s");
        let cache = figure("cached_mib").map_or("?".to_string(), |mib| short(mib * f64::from(1 << 20)));
        let waits = if swap.is_some_and(|pages| pages >= 1.0) { ResourceLevel::Busy } else { ResourceLevel::Fine };
        ResourceRow {
            resource: Resource::Memory,
            name: "memory".to_string(),
            utilisation: (format!("{}  cache {cache}", percent(used(now))), ResourceLevel::of_percent(used(now))),
            saturation: (format!("refault {}  swap {}/s", short_or(refaults), short_or(swap)), waits),
            errors: (format!("oom {}", count_or(now.oom_kills)), ResourceLevel::of_trouble(now.oom_kills)),
            pressure: self.pressure("memory"),
            is_relative: false,
            curve: self.curve(used),
            drill: DrillTarget::Sheet(PageSheet::Memory),
            verdict: None,
        }
    }

    fn disk(&self, now: &PageInterval, name: &str) -> ResourceRow {
        let figure = |key| now.figure(CounterSubject::Disk, name, key);
        let bytes = figure("kib_per_s").map(|kib| kib * 1024.0);
        let p99 = now.response_of(name).and_then(|response| response.percentile(0.99)).map(|ns| ns as f64);
        let time = match p99 {
            Some(ns) => format!("p99 {}", short_time(ns)),
            None => format!("mean {}", await_ms(now, name).map_or("?".to_string(), |ms| short_time(ms * 1e6))),
        };
        let util = figure("util_percent");
        ResourceRow {
            resource: Resource::Disk,
            name: format!("disk {name}"),
            utilisation: (
                format!("{}  {}/s  {}B/s", percent(util), short_or(figure("ops_per_s")), short_or(bytes)),
                ResourceLevel::of_percent(util).min(ResourceLevel::Busy),
            ),
            saturation: (format!("queue {}  {time}", short_or(figure("queue_size"))), ResourceLevel::Fine),
            errors: self.disk_errors(now, name),
            pressure: self.pressure("io"),
            is_relative: false,
            curve: self.curve(|moment| moment.figure(CounterSubject::Disk, name, "util_percent")),
            drill: DrillTarget::Sheet(PageSheet::Disk(name.to_string())),
            verdict: None,
        }
    }

    /// I/Os of the last minute that failed, and how many of all they were: counted one by one, or else as far as the kernel
    /// tells of them, which is ten in five seconds.
    fn disk_errors(&self, now: &PageInterval, name: &str) -> (String, ResourceLevel) {
        let minute = self.last_minute();
        let counted: i64 = minute.iter().map(|moment| moment.failed(name)).sum();
        if counted > 0
            || self.verdicts.is_measured(rows::IoError::NAME)
            || minute.iter().any(|moment| moment.counts_failures)
        {
            // A moment without a row of the device is one in which it did nothing.
            let ops =
                |moment: &PageInterval| Some(moment.figure(CounterSubject::Disk, name, "ops_per_s")? * moment.seconds);
            let ops: f64 = minute.iter().filter_map(ops).sum();
            let share = ratio(100.0 * counted as f64, ops).filter(|_| counted > 0);
            let share = share.map_or(String::new(), |share| format!("  {}", percent(Some(share.min(100.0)))));
            let count = counted as f64;
            return (format!("{}/min{share}", count_or(Some(count))), ResourceLevel::of_trouble(Some(count)));
        }
        // Another tool's figures say nothing of errors, and neither does a log that cannot be read.
        let is_unknown = now.io_errors.is_none() || now.figure(CounterSubject::Disk, name, "in_flight").is_none();
        match self.logged_errors(name).map(|event| event.count).sum() {
            0 if is_unknown => ("?".to_string(), ResourceLevel::Fine),
            0 => ("0/min".to_string(), ResourceLevel::Fine),
            logged => (format!(">={logged}/min"), ResourceLevel::Full),
        }
    }

    fn link(&self, now: &PageInterval, name: &str) -> ResourceRow {
        let figure = |key| now.figure(CounterSubject::Net, name, key);
        let way = |util: &'static str, kib: &'static str| match figure(util) {
            Some(percent) => format!("{percent:.0}%"),
            // The speed is not known, so a share of it is not either.
            None => figure(kib).map_or("?".to_string(), |kib| format!("{}B/s", short(kib * 1024.0))),
        };
        let util = figure("util_percent");
        let drops = figure("rx_drops_per_s").zip(figure("tx_drops_per_s")).map(|(rx, tx)| rx + tx);
        // An interface of which no queueing discipline is known has what it counts itself. Where one is known, its queue is
        // known as well, and its drops are unknown when their counter ran backwards.
        let discipline = figure("qdisc_drops_per_s").or(figure("qdisc_backlog_kib").is_none().then_some(0.0));
        let drops = drops.zip(discipline).map(|(drops, discipline)| drops + discipline);
        let errors = figure("rx_errors_per_s").zip(figure("tx_errors_per_s")).map(|(rx, tx)| rx + tx);
        let backlog = figure("qdisc_backlog_kib").map(|kib| kib * 1024.0);
        let rates = |moment: &PageInterval| {
            let of = |key| moment.figure(CounterSubject::Net, name, key);
            of("util_percent").or_else(|| Some(of("rx_kib_per_s")? + of("tx_kib_per_s")?))
        };
        ResourceRow {
            resource: Resource::Net,
            name: format!("net {name}"),
            utilisation: (
                format!("r {}  w {}", way("rx_util_percent", "rx_kib_per_s"), way("tx_util_percent", "tx_kib_per_s")),
                ResourceLevel::of_percent(util),
            ),
            saturation: (
                format!("queue {}B  drop {}/s", short_or(backlog), count_or(drops)),
                if drops.is_some_and(|drops| drops > 0.0) { ResourceLevel::Busy } else { ResourceLevel::Fine },
            ),
            errors: (format!("{}/s", short_or(errors)), ResourceLevel::of_trouble(errors)),
            pressure: [None; 2],
            is_relative: util.is_none(),
            curve: if util.is_some() { self.curve(rates) } else { relative(self.last_minute().iter().map(rates)) },
            drill: DrillTarget::Sheet(PageSheet::Net),
            verdict: None,
        }
    }

    fn tcp(&self, now: &PageInterval) -> ResourceRow {
        let figure = |key| now.figure(CounterSubject::Tcp, "", key);
        let drops = figure("listen_drops_per_s");
        let segments = |moment: &PageInterval| {
            let of = |key| moment.figure(CounterSubject::Tcp, "", key);
            Some(of("in_segments_per_s")? + of("out_segments_per_s")?)
        };
        let resent = figure("retransmit_percent");
        ResourceRow {
            resource: Resource::Tcp,
            name: "tcp".to_string(),
            utilisation: (
                format!("{} est  in {}/s", count_or(figure("established")), count_or(figure("passive_opens_per_s"))),
                ResourceLevel::Fine,
            ),
            saturation: (
                format!("drop {}/s  retr {}%", count_or(drops), short_or(resent)),
                ResourceLevel::of_trouble(drops).max(if resent.is_some_and(|share| share >= 1.0) {
                    ResourceLevel::Busy
                } else {
                    ResourceLevel::Fine
                }),
            ),
            errors: (format!("rst {}/s", count_or(figure("resets_per_s"))), ResourceLevel::Fine),
            pressure: [None; 2],
            is_relative: true,
            curve: relative(self.last_minute().iter().map(segments)),
            drill: DrillTarget::Sheet(PageSheet::Net),
            verdict: None,
        }
    }
}

/// The greatest of some figures, with whose it is.
fn busiest<'a>(figures: impl Iterator<Item = (&'a str, Option<f64>)>) -> Option<(&'a str, f64)> {
    figures.filter_map(|(name, value)| Some((name, value?))).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Shares of the greatest.
fn relative(values: impl Iterator<Item = Option<f64>>) -> Vec<Option<f64>> {
    let values: Vec<Option<f64>> = values.collect();
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    values.into_iter().map(|value| value.map(|value| if most > 0.0 { value / most } else { 0.0 })).collect()
}

/// Does the kernel's message name this device, and not only one whose name begins alike?
fn names_device(message: &str, device: &str) -> bool {
    message.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').any(|word| word == device)
}

/// Mean time of the I/Os of a device, from its counters; `None` where there were none.
pub(crate) fn await_ms(moment: &PageInterval, device: &str) -> Option<f64> {
    let figure = |key| moment.figure(CounterSubject::Disk, device, key);
    figure("await_ms").filter(|_| figure("ops_per_s").is_some_and(|ops| ops > 0.0))
}

pub(crate) fn percent(value: Option<f64>) -> String {
    match value {
        None => "?%".to_string(),
        Some(value) => format!("{}%", DecimalPlaces::TWO.format(value)),
    }
}

/// `22 ms`, `0.1 ms`, `1.2 s`.
pub(crate) fn milliseconds(ns: f64) -> String {
    view::Unit::Nanoseconds.format(Some(ns))
}

#[cfg(test)]
mod tests {
    use super::is_io_error;
    use crate::{PageFold, PageScene};
    use rates::Availability;
    use recording::rows::{Disk, IoError};
    use recording::{Label, RowBatch, Sink};

    /// What a disk has done by this second, in which it was busy for so many ms of each.
    fn disk(n: i64, device: &str, reads_per_s: i64, busy_ms: i64) -> Disk {
        Disk {
            t_ns: n * 1_000_000_000,
            t_s: n as f64,
            device: device.to_string(),
            target: String::new(),
            read_ios: Some(n * reads_per_s),
            read_merges: None,
            read_sectors: Some(n * reads_per_s * 8),
            read_ticks_ms: Some(n * busy_ms),
            write_ios: Some(0),
            write_merges: None,
            write_sectors: Some(0),
            write_ticks_ms: Some(0),
            in_flight: Some(0),
            io_ticks_ms: Some(n * busy_ms),
            weighted_ticks_ms: Some(n * busy_ms),
            discard_ios: None,
            discard_merges: None,
            discard_sectors: None,
            discard_ticks_ms: None,
            flush_ios: None,
            flush_ticks_ms: None,
            any_ios: None,
            any_sectors: None,
        }
    }

    fn failed(n: i64, device: &str, op: &str, error: i32, count: i64) -> IoError {
        let t_ns = n * 1_000_000_000;
        IoError {
            t_ns,
            t_s: n as f64,
            dev: Label::from(device),
            op: Label::from(op),
            error,
            pid: None,
            comm: None,
            file: None,
            inode: None,
            count,
            first_ns: t_ns - 1,
            last_ns: t_ns - 1,
            sector: None,
        }
    }

    #[test]
    fn a_disk_on_which_io_fails_comes_before_a_busy_one() {
        let mut fold = PageFold::new(false);
        for n in 1..=22 {
            let disks = [disk(n, "loop0", 50, 500), disk(n, "sda", 9000, 990), disk(n, "sdb", 10, 1)];
            fold.accept(&RowBatch::from_rows(&disks).unwrap()).unwrap();
            if n == 11 {
                // What a device cannot do is no trouble.
                let rows = [failed(n, "sdb", "read", 5, 2), failed(n, "loop0", "write_zeroes", 95, 1)];
                fold.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
            }
            fold.commit().unwrap();
        }
        let (moments, verdicts) = (fold.take(), Availability::default());
        let scene = PageScene::of(&moments, &verdicts);
        assert_eq!(scene.disks(), ["sdb", "sda", "loop0"]);
        let shown =
            scene.resources(None, None).into_iter().find(|row| row.name == "disk sdb").expect("the failing one");
        // Of all reads of the minute, also of the seconds in which none failed: 2 of 200.
        assert_eq!(shown.errors.0, "2/min  1.0%");
        let before = PageScene::of(&moments[..5], &verdicts);
        assert_eq!(before.disks(), ["sda", "loop0", "sdb"]);
    }

    #[test]
    fn the_kernel_reports_failed_requests_in_several_wordings() {
        for message in [
            "I/O error, dev sda, sector 8 op 0x0:(READ)",
            "Buffer I/O error on dev dm-0, logical block 0, async page read",
            "critical medium error, dev sda, sector 9928 op 0x0:(READ)",
            "blk_update_request: critical target error, dev nvme0n1, sector 0",
        ] {
            assert!(is_io_error(message), "{message}");
        }
        assert!(!is_io_error("EDAC MC0: 1 CE memory read error on CPU_SrcID#0") && !is_io_error("sda: error"));
    }
}
