//! The files of one control group.

use super::Mounts;
use crate::pressure::total_ns;
use crate::text::{Source, counter, lines, named, words};
use recording::Label;
use recording::rows::{Cgroup, CgroupIo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Controllers of version 1 that count something for us.
pub(super) const CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "memory", "blkio", "pids"];

/// Version 1 writes "no limit" as the largest number of bytes that makes whole pages.
const NO_LIMIT_BYTES: i64 = 1 << 62;

/// Files of one group.
#[derive(Debug)]
pub(super) struct Group<'a> {
    mounts: &'a Mounts,
    /// Below each mount point.
    path: &'a str,
}

/// What was done on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Io {
    bytes: [Option<i64>; 3],
    ios: [Option<i64>; 3],
}

impl Io {
    pub(super) fn did_anything(&self) -> bool {
        self.bytes.iter().chain(&self.ios).flatten().any(|value| *value > 0)
    }

    /// The row of a device; its time comes later.
    pub(super) fn row(&self, path: &Label, device: &Label) -> CgroupIo {
        let ([read_bytes, write_bytes, discard_bytes], [read_ios, write_ios, discard_ios]) = (self.bytes, self.ios);
        CgroupIo {
            t_ns: 0,
            t_s: 0.0,
            path: path.clone(),
            device: device.clone(),
            read_bytes,
            write_bytes,
            read_ios,
            write_ios,
            discard_bytes,
            discard_ios,
        }
    }
}

impl<'a> Group<'a> {
    /// The group of this path, which begins with `/`.
    pub(super) fn new(mounts: &'a Mounts, path: &'a str) -> Self {
        Self { mounts, path: &path[1..] }
    }

    /// Shows whether the group did anything: CPU time (or memory, where the kernel does not count CPU time), waiting,
    /// I/O by device.
    pub(super) fn activity(&self, row: &mut Cgroup, buffer: &mut Vec<u8>) -> Option<BTreeMap<String, Io>> {
        if let Some(text) = self.second("cpu.stat", buffer) {
            let ns = |name: &str| named(text, name)?.checked_mul(1000);
            (row.usage_ns, row.user_ns, row.system_ns) = (ns("usage_usec"), ns("user_usec"), ns("system_usec"));
            (row.periods, row.throttled_periods) = (named(text, "nr_periods"), named(text, "nr_throttled"));
            row.throttled_ns = ns("throttled_usec");
        }
        if row.usage_ns.is_none() {
            let mut number = |file: &str| self.first("cpuacct", file, buffer).and_then(first_number);
            row.usage_ns = number("cpuacct.usage");
            row.user_ns = number("cpuacct.usage_user");
            row.system_ns = number("cpuacct.usage_sys");
        }
        if row.usage_ns.is_none() {
            self.memory(row, buffer);
        }
        if let Some(text) = self.second("memory.pressure", buffer) {
            (row.memory_some_ns, row.memory_full_ns) = (total_ns(text, "some"), total_ns(text, "full"));
        }
        if let Some(text) = self.second("io.pressure", buffer) {
            (row.io_some_ns, row.io_full_ns) = (total_ns(text, "some"), total_ns(text, "full"));
        }
        let io = self.io(buffer)?;
        let sum = |of: fn(&Io) -> Option<i64>| io.values().map(|io| of(io).unwrap_or(0)).sum::<i64>();
        (row.read_bytes, row.write_bytes) = (Some(sum(|io| io.bytes[0])), Some(sum(|io| io.bytes[1])));
        (row.read_ios, row.write_ios) = (Some(sum(|io| io.ios[0])), Some(sum(|io| io.ios[1])));
        Some(io)
    }

    /// Everything else.
    pub(super) fn rest(&self, row: &mut Cgroup, buffer: &mut Vec<u8>) {
        if row.periods.is_none()
            && let Some(text) = self.first("cpu", "cpu.stat", buffer)
        {
            (row.periods, row.throttled_periods) = (named(text, "nr_periods"), named(text, "nr_throttled"));
            row.throttled_ns = named(text, "throttled_time");
        }
        row.cpu_limit = self.cpu_limit(buffer);
        if let Some(text) = self.second("cpu.pressure", buffer) {
            (row.cpu_some_ns, row.cpu_full_ns) = (total_ns(text, "some"), total_ns(text, "full"));
        }
        self.memory(row, buffer);
        row.tasks = match self.second("pids.current", buffer).and_then(first_number) {
            Some(tasks) => Some(tasks),
            None => self.first("pids", "pids.current", buffer).and_then(first_number),
        };
    }

    /// CPUs' time that it may use: quota ÷ period.
    fn cpu_limit(&self, buffer: &mut Vec<u8>) -> Option<f64> {
        let ratio = |quota: i64, period: i64| (period > 0).then(|| quota as f64 / period as f64);
        if let Some(text) = self.second("cpu.max", buffer) {
            let mut words = words(text);
            return ratio(words.next().and_then(counter)?, words.next().and_then(counter)?);
        }
        // Without a limit, the quota is -1.
        let quota = self.first("cpu", "cpu.cfs_quota_us", buffer).and_then(first_number)?;
        ratio(quota, self.first("cpu", "cpu.cfs_period_us", buffer).and_then(first_number)?)
    }

    fn memory(&self, row: &mut Cgroup, buffer: &mut Vec<u8>) {
        if let Some(text) = self.second("memory.stat", buffer) {
            (row.anonymous_bytes, row.file_bytes) = (named(text, "anon"), named(text, "file"));
            row.memory_bytes = self.second("memory.current", buffer).and_then(first_number);
            row.memory_max_bytes = self.second("memory.max", buffer).and_then(first_number);
            row.memory_high_bytes = self.second("memory.high", buffer).and_then(first_number);
            let Some(text) = self.second("memory.events", buffer) else { return };
            (row.memory_high_events, row.memory_max_events) = (named(text, "high"), named(text, "max"));
            (row.oom_events, row.oom_kills) = (named(text, "oom"), named(text, "oom_kill"));
            return;
        }
        let mut number = |file: &str| self.first("memory", file, buffer).and_then(first_number);
        row.memory_bytes = number("memory.usage_in_bytes");
        row.memory_max_bytes = number("memory.limit_in_bytes").filter(|bytes| *bytes < NO_LIMIT_BYTES);
        row.memory_max_events = number("memory.failcnt");
        // Those that begin with `total_` include subgroups.
        if let Some(text) = self.first("memory", "memory.stat", buffer) {
            (row.anonymous_bytes, row.file_bytes) = (named(text, "total_rss"), named(text, "total_cache"));
        }
        row.oom_kills = self.first("memory", "memory.oom_control", buffer).and_then(|text| named(text, "oom_kill"));
    }

    /// I/O by number of the device; `None` when the kernel does not count it.
    fn io(&self, buffer: &mut Vec<u8>) -> Option<BTreeMap<String, Io>> {
        if let Some(text) = self.second("io.stat", buffer) {
            return Some(io_second(text));
        }
        let mut io = BTreeMap::new();
        let mut is_counted = false;
        for (names, is_bytes) in [
            (["blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes"], true),
            (["blkio.throttle.io_serviced_recursive", "blkio.throttle.io_serviced"], false),
        ] {
            for name in names {
                if let Some(text) = self.first("blkio", name, buffer) {
                    is_counted = true;
                    io_first(text, is_bytes, &mut io);
                    break;
                }
            }
        }
        is_counted.then_some(io)
    }

    /// A file of version 2.
    fn second<'b>(&self, file: &str, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]> {
        let mount = self.mounts.second.as_deref()?;
        read(mount.join(self.path).join(file), buffer)
    }

    /// A file of a controller of version 1.
    fn first<'b>(&self, controller: &str, file: &str, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]> {
        let mount: &Path = self.mounts.first.iter().find(|(name, _)| name == controller).map(|(_, path)| path)?;
        read(mount.join(self.path).join(file), buffer)
    }
}

/// A file that is missing has a controller that is not there.
fn read(path: PathBuf, buffer: &mut Vec<u8>) -> Option<&[u8]> {
    Source::open(path).ok()?.read(buffer).ok()
}

fn first_number(text: &[u8]) -> Option<i64> {
    words(text).next().and_then(counter)
}

/// `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`
fn io_second(text: &[u8]) -> BTreeMap<String, Io> {
    let mut all = BTreeMap::new();
    for line in lines(text) {
        let mut words = words(line);
        let Some(device) = words.next() else { continue };
        let mut io = Io::default();
        for word in words {
            let Some(at) = word.iter().position(|byte| *byte == b'=') else { continue };
            let (name, value) = (&word[..at], counter(&word[at + 1..]));
            match name {
                b"rbytes" => io.bytes[0] = value,
                b"wbytes" => io.bytes[1] = value,
                b"dbytes" => io.bytes[2] = value,
                b"rios" => io.ios[0] = value,
                b"wios" => io.ios[1] = value,
                b"dios" => io.ios[2] = value,
                _ => {}
            }
        }
        all.insert(String::from_utf8_lossy(device).into_owned(), io);
    }
    all
}

/// `8:0 Read 1`, one line per device and kind.
fn io_first(text: &[u8], is_bytes: bool, all: &mut BTreeMap<String, Io>) {
    for line in lines(text) {
        let mut words = words(line);
        let (Some(device), Some(kind), Some(value)) = (words.next(), words.next(), words.next()) else { continue };
        let place = match kind {
            b"Read" => 0,
            b"Write" => 1,
            b"Discard" => 2,
            // Sync, Async and Total tell the same another way.
            _ => continue,
        };
        let io = all.entry(String::from_utf8_lossy(device).into_owned()).or_default();
        let values = if is_bytes { &mut io.bytes } else { &mut io.ios };
        values[place] = counter(value);
    }
}

/// The row of a group of which nothing is known yet.
pub(super) fn empty(path: &str) -> Cgroup {
    Cgroup { path: Label::from(path), ..Cgroup::default() }
}
