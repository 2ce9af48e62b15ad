//! The options of one job, read and typed; what a job does not say it has from `[global]`.

use crate::catalogue::{self, OPTIONS, OptionEffect};
use crate::ends::EndOptions;
use crate::entry_engine::EntryEngine;
use crate::replay_options::{ReplayOptions, kinds};
use crate::source::Line;
use crate::unsupported;
use crate::value::{Amount, MICROSECOND_NS, PerOp, Units, names, per_op};
use crate::verify_options::VerifyOptions;
use crate::words::{
    PrioritySplit, ascending, below_hundred, block, checked, every, in_range, list, narrow, number, pattern_bytes,
    percent, priority_split, range_of, split, steady, switch, turn, unquoted, zones_of,
};
use parameter_text::{Diagnostic, ReadingContext};
use plan::{
    AddressDistribution, GapDistribution, LayoutKind, ReadHint, StatCall, SteadyMeasure, TargetOrder, TransferSize,
};
use quantity::suggest;
use std::collections::BTreeMap;

const SECOND_NS: u64 = 1_000_000_000;

/// What a job does, in kinds of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Read,
    Write,
    Trim,
    ReadWrite,
    TrimWrite,
}

impl Pattern {
    /// Reads, writes, trims?
    pub(crate) fn ops(self) -> PerOp<bool> {
        match self {
            Self::Read => [true, false, false],
            Self::Write => [false, true, false],
            Self::Trim => [false, false, true],
            Self::ReadWrite => [true, true, false],
            Self::TrimWrite => [false, true, true],
        }
    }
}

/// Every option that is part of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) units: Units,
    pub(crate) filename: Vec<String>,
    pub(crate) directory: Vec<String>,
    pub(crate) filename_format: String,
    pub(crate) nrfiles: u64,
    /// As given; 0: all.
    pub(crate) open_files: u64,
    /// Are there zones?
    pub(crate) zone_mode: Option<bool>,
    pub(crate) zone_bytes: u64,
    pub(crate) zone_range_bytes: u64,
    pub(crate) zone_skip_bytes: u64,
    pub(crate) filesize: Option<(u64, u64)>,
    pub(crate) size: Option<Amount>,
    pub(crate) io_size: Option<Amount>,
    pub(crate) offset: Amount,
    pub(crate) offset_increment: Amount,
    pub(crate) turn: TargetOrder,
    pub(crate) unlink: bool,
    pub(crate) readonly: bool,
    pub(crate) allow_create: bool,
    pub(crate) pattern: Pattern,
    pub(crate) random: bool,
    /// Behind the colon of `rw=`.
    pub(crate) step: Option<i64>,
    pub(crate) read_percent: f64,
    pub(crate) sizes: PerOp<TransferSize>,
    /// 0: of the smallest transfer of the direction.
    pub(crate) align: PerOp<u64>,
    pub(crate) unaligned: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) distribution: Option<AddressDistribution>,
    /// `(share, end)`, as amounts one after the other.
    pub(crate) zones: Vec<(f64, Amount)>,
    pub(crate) random_percent: f64,
    pub(crate) map: bool,
    /// The generator that visits all places once, whatever the map says.
    pub(crate) lfsr: bool,
    pub(crate) fallocate: LayoutKind,
    pub(crate) overwrite: bool,
    pub(crate) invalidate: bool,
    /// Do all passes make the same random choices?
    pub(crate) repeats_choices: bool,
    /// `None`: as the pattern is.
    pub(crate) hint: Option<ReadHint>,
    pub(crate) create_on_open: bool,
    pub(crate) fsync: Option<u32>,
    pub(crate) fdatasync: Option<u32>,
    pub(crate) end_fsync: bool,
    pub(crate) sync: bool,
    pub(crate) dsync: bool,
    pub(crate) direct: bool,
    pub(crate) literal: Vec<u8>,
    pub(crate) refills: bool,
    pub(crate) scrambles: bool,
    pub(crate) compress_percent: f64,
    pub(crate) dedupe_percent: f64,
    /// Copies are of a working set of so many percent of the size, and not of the block before.
    pub(crate) has_working_set: bool,
    pub(crate) working_set_percent: f64,
    pub(crate) is_dedupe_global: bool,
    /// One operation at a time.
    pub(crate) one_at_a_time: bool,
    /// Files are memory.
    pub(crate) mapped: bool,
    /// Nothing is done.
    pub(crate) null: bool,
    /// It works on names, and on no data.
    pub(crate) entries: Option<EntryEngine>,
    pub(crate) stat: StatCall,
    pub(crate) depth: u32,
    pub(crate) depth_low: Option<u32>,
    pub(crate) copies: u32,
    pub(crate) stonewall: bool,
    pub(crate) wait_for: Option<String>,
    pub(crate) rate: PerOp<Option<u64>>,
    pub(crate) rate_iops: PerOp<Option<u64>>,
    pub(crate) gaps: GapDistribution,
    pub(crate) rate_min: PerOp<Option<u64>>,
    pub(crate) rate_iops_min: PerOp<Option<u64>>,
    pub(crate) think_ns: u64,
    pub(crate) think_every: Option<u32>,
    pub(crate) think_busy_ns: Option<u64>,
    pub(crate) latency_target_ns: Option<u64>,
    pub(crate) latency_window_ns: Option<u64>,
    pub(crate) latency_percent: f64,
    pub(crate) latency_run: bool,
    pub(crate) flow: Option<f64>,
    pub(crate) flow_id: u32,
    pub(crate) runtime_ns: Option<u64>,
    pub(crate) time_based: bool,
    pub(crate) ramp_ns: u64,
    pub(crate) delay_ns: (u64, u64),
    pub(crate) loops: u64,
    pub(crate) number_ios: Option<u64>,
    pub(crate) steady: Option<(SteadyMeasure, bool, f64, bool)>,
    pub(crate) steady_ns: u64,
    pub(crate) steady_ramp_ns: u64,
    pub(crate) cpus: Vec<u32>,
    pub(crate) cpus_split: bool,
    pub(crate) nodes: Vec<u32>,
    pub(crate) prio: Option<u16>,
    pub(crate) prio_class: u16,
    pub(crate) nice: i32,
    pub(crate) cmdprio_percent: PerOp<Option<u64>>,
    pub(crate) cmdprio_class: PerOp<Option<u64>>,
    pub(crate) cmdprio: PerOp<Option<u64>>,
    pub(crate) cmdprio_split: PerOp<Option<PrioritySplit>>,
    pub(crate) replay: ReplayOptions,
    pub(crate) ends: EndOptions,
    pub(crate) verify: VerifyOptions,
    pub(crate) fail_if: Vec<(String, plan::TextSpan)>,
    pub(crate) prerun: Option<String>,
    pub(crate) postrun: Option<String>,
    /// Where each option that was given stands.
    pub(crate) spans: BTreeMap<&'static str, plan::TextSpan>,
}

impl Default for Options {
    #[expect(clippy::too_many_lines, reason = "one line per option")]
    fn default() -> Self {
        let size = TransferSize::Fixed(4096);
        Self {
            units: Units { base: 1024 },
            filename: Vec::new(),
            directory: Vec::new(),
            filename_format: "$jobname.$jobnum.$filenum".to_string(),
            nrfiles: 1,
            open_files: 0,
            zone_mode: None,
            zone_bytes: 0,
            zone_range_bytes: 0,
            zone_skip_bytes: 0,
            filesize: None,
            size: None,
            io_size: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            turn: TargetOrder::RoundRobin { each: 1 },
            unlink: false,
            readonly: false,
            allow_create: true,
            pattern: Pattern::Read,
            random: false,
            step: None,
            read_percent: 50.0,
            sizes: [size.clone(), size.clone(), size],
            align: [0; 3],
            unaligned: false,
            seed: None,
            distribution: None,
            zones: Vec::new(),
            random_percent: 100.0,
            map: true,
            lfsr: false,
            fallocate: LayoutKind::Allocated,
            overwrite: false,
            invalidate: true,
            repeats_choices: true,
            hint: None,
            create_on_open: false,
            fsync: None,
            fdatasync: None,
            end_fsync: false,
            sync: false,
            dsync: false,
            direct: false,
            literal: Vec::new(),
            refills: false,
            scrambles: true,
            compress_percent: 0.0,
            dedupe_percent: 0.0,
            has_working_set: false,
            working_set_percent: 5.0,
            is_dedupe_global: false,
            one_at_a_time: true,
            mapped: false,
            null: false,
            entries: None,
            stat: StatCall::Stat,
            depth: 1,
            depth_low: None,
            copies: 1,
            stonewall: false,
            wait_for: None,
            rate: [None; 3],
            rate_iops: [None; 3],
            gaps: GapDistribution::Deterministic,
            rate_min: [None; 3],
            rate_iops_min: [None; 3],
            think_ns: 0,
            think_every: None,
            think_busy_ns: None,
            latency_target_ns: None,
            latency_window_ns: None,
            latency_percent: 100.0,
            latency_run: false,
            flow: None,
            flow_id: 0,
            runtime_ns: None,
            time_based: false,
            ramp_ns: 0,
            delay_ns: (0, 0),
            loops: 1,
            number_ios: None,
            steady: None,
            steady_ns: 0,
            steady_ramp_ns: 0,
            cpus: Vec::new(),
            cpus_split: false,
            nodes: Vec::new(),
            prio: None,
            prio_class: 0,
            nice: 0,
            cmdprio_percent: [None; 3],
            cmdprio_class: [None; 3],
            cmdprio: [None; 3],
            cmdprio_split: [None, None, None],
            replay: ReplayOptions::default(),
            ends: EndOptions::default(),
            verify: VerifyOptions::default(),
            fail_if: Vec::new(),
            prerun: None,
            postrun: None,
            spans: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Takes one line in; reports every mistake.
    pub(crate) fn take(&mut self, context: &mut ReadingContext, line: &Line) {
        let Some(option) = catalogue::find(&line.key) else {
            if !context.full()
                && let Some(found) = unknown(line)
            {
                context.push(found);
            }
            return;
        };
        self.spans.insert(option.name, line.span);
        // A switch that is switched off asks for nothing.
        let is_off = option.value.is_empty() && matches!(line.value.as_deref(), Some("0" | "false"));
        match option.effect {
            OptionEffect::Plan if option.name == "fail_if" => {
                let text = line.value.as_deref().map_or("", |text| unquoted(text));
                self.fail_if.push((text.to_string(), line.span));
            }
            OptionEffect::Plan => {
                if let Err(why) = self.set(option.name, line.value.as_deref(), option.value.is_empty()) {
                    let message = format!("`{}`: {why}", line.key);
                    let found = Diagnostic::error("value", line.span, message);
                    context
                        .push(found.help(format!("{}; for example {}={}", option.help, option.name, option.example)));
                }
            }
            OptionEffect::Output(_) => {}
            OptionEffect::Note(_) if is_off || is_as_always(option.name) => {}
            OptionEffect::Note(why) => {
                let found = Diagnostic::note("no-effect", line.key_span, format!("`{}` has no effect here", line.key));
                context.note_once(option.name, found.help(why));
            }
            OptionEffect::Refused(_) if is_off || line.value.as_deref() == Some("none") => {}
            OptionEffect::Refused(why) => {
                let message = format!("`{}` cannot be had", line.key);
                context.push(Diagnostic::error("refused", line.key_span, message).help(why));
            }
        }
    }

    /// A mistake is returned as "what is wrong".
    fn set(&mut self, name: &str, value: Option<&str>, is_switch: bool) -> Result<(), String> {
        if is_switch {
            let on = switch(value)?;
            match name {
                "unlink" => self.unlink = on,
                "readonly" => self.readonly = on,
                "bs_unaligned" => self.unaligned = on,
                "norandommap" => self.map = !on,
                "end_fsync" | "fsync_on_close" => self.end_fsync = on,
                "direct" => self.direct = on,
                "zero_buffers" => self.literal = if on { vec![0] } else { Vec::new() },
                "invalidate" => self.invalidate = on,
                "refill_buffers" => self.refills = on,
                "scramble_buffers" => self.scrambles = on,
                "dedupe_global" => self.is_dedupe_global = on,
                "randrepeat" => self.repeats_choices = on,
                "overwrite" => self.overwrite = on,
                "create_on_open" => self.create_on_open = on,
                "stonewall" => self.stonewall = on,
                "latency_run" => self.latency_run = on,
                "time_based" => self.time_based = on,
                "replay_no_stall" => self.replay.no_stall = on,
                _ if self.ends.switch(name, on) || self.verify.switch(name, on) => {}
                _ => return Err("this option is not read".to_string()),
            }
            return Ok(());
        }
        let text = value.filter(|text| !text.is_empty()).ok_or("it needs a value")?;
        let takers =
            [Self::set_target, Self::set_shape, Self::set_load, Self::set_pace, Self::set_time, Self::set_replay];
        // Its place is all that counts of it.
        if name == "verify_pattern"
            || self.ends.set(self.units, name, text)?
            || self.verify.set(self.units, name, text)?
        {
            return Ok(());
        }
        for taker in takers {
            if taker(self, name, text)? {
                return Ok(());
            }
        }
        Err("this option is not read".to_string())
    }

    /// What is read or written. False: it is none of these.
    fn set_target(&mut self, name: &str, text: &str) -> Result<bool, String> {
        let units = self.units;
        match name {
            "filename" => self.filename = names(text),
            "directory" => self.directory = names(text),
            "filename_format" => self.filename_format = text.to_string(),
            "nrfiles" => self.nrfiles = in_range(units.count(text)?, 1, 100_000)?,
            "openfiles" => self.open_files = units.count(text)?,
            "zonemode" => {
                self.zone_mode = match text {
                    "none" => Some(false),
                    "strided" => Some(true),
                    "zbd" => return Err("zoned block devices are not driven here".to_string()),
                    _ => return Err(format!("`{text}` is none of none, strided")),
                }
            }
            "zonesize" => self.zone_bytes = units.bytes(text)?,
            "zonerange" => self.zone_range_bytes = units.bytes(text)?,
            "zoneskip" => self.zone_skip_bytes = units.bytes(text)?,
            "filesize" => {
                let (low, high) = range_of(text);
                let (low, high) = (units.bytes(low)?, units.bytes(high)?);
                // In either order, and 0 is as if it were not there.
                self.filesize = Some((low.min(high), low.max(high))).filter(|(low, _)| *low > 0);
            }
            "size" => self.size = Some(units.amount(text)?),
            "io_size" => self.io_size = Some(units.amount(text)?),
            "offset" => self.offset = units.amount(text)?,
            "offset_increment" => self.offset_increment = units.amount(text)?,
            "file_service_type" => self.turn = turn(units, text)?,
            "fadvise_hint" => {
                self.hint = match text {
                    "1" => None,
                    "0" => Some(ReadHint::Unset),
                    "random" => Some(ReadHint::Random),
                    "sequential" => Some(ReadHint::Sequential),
                    _ => return Err(format!("`{text}` is none of 0, 1, random, sequential")),
                }
            }
            "fallocate" => {
                self.fallocate = match text {
                    "none" | "0" => LayoutKind::Untouched,
                    "native" | "posix" | "1" => LayoutKind::Allocated,
                    "keep" => LayoutKind::Kept,
                    "truncate" => LayoutKind::Sparse,
                    _ => return Err(format!("`{text}` is none of none, native, posix, keep, truncate")),
                }
            }
            "allow_file_create" => self.allow_create = switch(Some(text))?,
            "kb_base" => {
                self.units.base = match text {
                    "1024" => 1024,
                    "1000" => 1000,
                    _ => return Err(format!("`{text}` is neither 1024 nor 1000")),
                }
            }
            "exec_prerun" => self.prerun = Some(unquoted(text).to_string()),
            "exec_postrun" => self.postrun = Some(unquoted(text).to_string()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Which operations, with which data. False: it is none of these.
    fn set_shape(&mut self, name: &str, text: &str) -> Result<bool, String> {
        let units = self.units;
        match name {
            "rw" => self.set_pattern(text)?,
            "rwmixread" => self.read_percent = percent(text)?,
            "rwmixwrite" => self.read_percent = 100.0 - percent(text)?,
            "bs" | "bsrange" | "bssplit" => self.set_sizes(name, text)?,
            "blockalign" => {
                self.align =
                    per_op(text, &self.align.map(Some), |one| units.bytes(one))?.map(Option::unwrap_or_default);
            }
            "randseed" => self.seed = Some(units.count(text)?),
            "random_distribution" => self.set_distribution(text)?,
            "random_generator" => {
                self.lfsr = match text {
                    "lfsr" => true,
                    "tausworthe" | "tausworthe64" => false,
                    _ => return Err(format!("`{text}` is none of tausworthe, tausworthe64, lfsr")),
                }
            }
            "percentage_random" => {
                let all: Vec<f64> = text.split(',').map(|one| percent(one.trim())).collect::<Result<_, _>>()?;
                let first = all.first().copied().unwrap_or(100.0);
                if all.iter().any(|one| one.to_bits() != first.to_bits()) {
                    return Err("it must be the same for reads, writes and trims".to_string());
                }
                self.random_percent = first;
            }
            "fsync" => self.fsync = every(units.count(text)?)?,
            "fdatasync" => self.fdatasync = every(units.count(text)?)?,
            "sync" => {
                (self.sync, self.dsync) = match text {
                    "0" | "none" => (false, false),
                    "1" | "sync" => (true, false),
                    "dsync" => (false, true),
                    _ => return Err(format!("`{text}` is none of 0, none, 1, sync, dsync")),
                }
            }
            "buffered" => self.direct = !switch(Some(text))?,
            "buffer_pattern" => self.literal = pattern_bytes(text)?,
            "buffer_compress_percentage" => self.compress_percent = below_hundred(text)?,
            "dedupe_percentage" => self.dedupe_percent = below_hundred(text)?,
            "dedupe_mode" => {
                self.has_working_set = match text {
                    "repeat" => false,
                    "working_set" => true,
                    _ => return Err(format!("`{text}` is neither repeat nor working_set")),
                }
            }
            "dedupe_working_set_percentage" => self.working_set_percent = percent(text)?.floor(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// By how many, and where. False: it is none of these.
    fn set_load(&mut self, name: &str, text: &str) -> Result<bool, String> {
        let units = self.units;
        match name {
            "ioengine" => self.set_engine(text)?,
            "stat_type" => {
                self.stat = match text {
                    "stat" => StatCall::Stat,
                    "lstat" => StatCall::Lstat,
                    "statx" => StatCall::Statx,
                    _ => return Err(format!("`{text}` is none of stat, lstat, statx")),
                }
            }
            "iodepth" => self.depth = narrow(in_range(units.count(text)?, 1, 32_768)?),
            "iodepth_low" => self.depth_low = Some(narrow(in_range(units.count(text)?, 0, 32_768)?)),
            "numjobs" => self.copies = narrow(in_range(units.count(text)?, 1, 4096)?),
            "wait_for" => self.wait_for = Some(text.to_string()),
            "cpus_allowed" => self.cpus = list(text)?,
            "cpus_allowed_policy" => {
                self.cpus_split = match text {
                    "shared" => false,
                    "split" => true,
                    _ => return Err(format!("`{text}` is neither shared nor split")),
                }
            }
            "numa_cpu_nodes" => self.nodes = if text == "all" { Vec::new() } else { list(text)? },
            "prio" => self.prio = Some(u16::try_from(in_range(units.count(text)?, 0, 7)?).unwrap_or(0)),
            "prioclass" => self.prio_class = u16::try_from(in_range(units.count(text)?, 0, 3)?).unwrap_or(0),
            "cmdprio_percentage" => {
                self.cmdprio_percent = per_op(text, &self.cmdprio_percent, |one| in_range(units.count(one)?, 0, 100))?;
            }
            "cmdprio_class" => {
                self.cmdprio_class = per_op(text, &self.cmdprio_class, |one| in_range(units.count(one)?, 1, 3))?;
            }
            "cmdprio" => self.cmdprio = per_op(text, &self.cmdprio, |one| in_range(units.count(one)?, 0, 7))?,
            "cmdprio_bssplit" => {
                self.cmdprio_split = per_op(text, &self.cmdprio_split, |one| priority_split(units, one))?;
            }
            "nice" => {
                let nice: i32 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
                if !(-20..=19).contains(&nice) {
                    return Err(format!("{nice} is not between -20 and 19"));
                }
                self.nice = nice;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// How fast. False: it is none of these.
    fn set_pace(&mut self, name: &str, text: &str) -> Result<bool, String> {
        let units = self.units;
        let second = |text: &str| units.time_ns(text, SECOND_NS);
        let micro = |text: &str| units.time_ns(text, MICROSECOND_NS);
        match name {
            "rate" => self.rate = per_op(text, &self.rate, |one| units.bytes(one))?,
            "rate_iops" => self.rate_iops = per_op(text, &self.rate_iops, |one| units.count(one))?,
            "rate_min" => self.rate_min = per_op(text, &self.rate_min, |one| units.bytes(one))?,
            "rate_iops_min" => self.rate_iops_min = per_op(text, &self.rate_iops_min, |one| units.count(one))?,
            "rate_process" => {
                self.gaps = match text {
                    "linear" => GapDistribution::Deterministic,
                    "poisson" => GapDistribution::Exponential,
                    _ => return Err(format!("`{text}` is neither linear nor poisson")),
                }
            }
            "thinktime" => self.think_ns = micro(text)?,
            "thinktime_blocks" => self.think_every = every(units.count(text)?)?,
            "thinktime_iotime" => self.think_busy_ns = Some(second(text)?).filter(|ns| *ns > 0),
            "latency_target" => self.latency_target_ns = Some(micro(text)?).filter(|ns| *ns > 0),
            "latency_window" => self.latency_window_ns = Some(micro(text)?).filter(|ns| *ns > 0),
            "latency_percentile" => self.latency_percent = percent(text)?,
            "flow" => self.flow = Some(number(text)?).filter(|weight| *weight > 0.0),
            "flow_id" => self.flow_id = narrow(in_range(units.count(text)?, 0, u64::from(u32::MAX))?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// When it begins and ends. False: it is none of these.
    fn set_time(&mut self, name: &str, text: &str) -> Result<bool, String> {
        let units = self.units;
        let second = |text: &str| units.time_ns(text, SECOND_NS);
        match name {
            "runtime" => self.runtime_ns = Some(second(text)?).filter(|ns| *ns > 0),
            "ramp_time" => self.ramp_ns = second(text)?,
            "startdelay" => {
                let range = text.split_once('-').unwrap_or((text, text));
                self.delay_ns = ascending(second(range.0)?, second(range.1)?)?;
            }
            "loops" => self.loops = in_range(units.count(text)?, 1, 1 << 40)?,
            "number_ios" => self.number_ios = Some(units.count(text)?).filter(|count| *count > 0),
            "steadystate" => self.steady = Some(steady(units, text)?),
            "steadystate_duration" => self.steady_ns = second(text)?,
            "steadystate_ramp_time" => self.steady_ramp_ns = second(text)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Which trace is played, and how. False: it is none of these.
    fn set_replay(&mut self, name: &str, text: &str) -> Result<bool, String> {
        let units = self.units;
        match name {
            "read_iolog" => self.replay.iolog = Some(text.to_string()),
            "replay_redirect" => self.replay.redirect = Some(text.to_string()),
            "replay_scale" => self.replay.scale = in_range(units.count(text)?, 1, 1 << 30)?,
            "replay_align" => self.replay.align = Some(units.bytes(text)?).filter(|bytes| *bytes > 0),
            "replay_time_scale" => {
                let allowed = |percent: f64| (0.01..=1_000_000.0).contains(&percent);
                self.replay.time_percent = checked(number(text)?, allowed, "between 0.01 and 1000000")?;
            }
            "replay_skip" => self.replay.skip = kinds(text)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_pattern(&mut self, text: &str) -> Result<(), String> {
        let (name, step) = text.split_once(':').map_or((text, None), |(name, step)| (name, Some(step)));
        (self.pattern, self.random) = match name {
            "read" => (Pattern::Read, false),
            "write" => (Pattern::Write, false),
            "trim" => (Pattern::Trim, false),
            "randread" => (Pattern::Read, true),
            "randwrite" => (Pattern::Write, true),
            "randtrim" => (Pattern::Trim, true),
            "rw" | "readwrite" => (Pattern::ReadWrite, false),
            "randrw" => (Pattern::ReadWrite, true),
            "trimwrite" => (Pattern::TrimWrite, false),
            "randtrimwrite" => (Pattern::TrimWrite, true),
            _ => {
                let known = [
                    "read",
                    "write",
                    "trim",
                    "randread",
                    "randwrite",
                    "randtrim",
                    "rw",
                    "randrw",
                    "trimwrite",
                    "randtrimwrite",
                ];
                let hint = suggest::did_you_mean(name, known).map_or(String::new(), |question| format!("; {question}"));
                return Err(format!("`{name}` is no pattern{hint}"));
            }
        };
        self.step = match step {
            None => None,
            // A plain number: fio reads the digits that it begins with, and `4k` is 4.
            Some(step) if self.random => {
                let digits = step.find(|c: char| !c.is_ascii_digit()).map_or(step, |end| &step[..end]);
                let count = digits.parse::<i64>().map_err(|_| format!("`{step}` is no number of operations"))?;
                Some(count).filter(|count| *count > 0)
            }
            Some(step) => {
                let (digits, sign) = step.strip_prefix('-').map_or((step, 1), |digits| (digits, -1));
                let bytes =
                    i64::try_from(self.units.bytes(digits)?).map_err(|_| format!("`{step}` is out of range"))?;
                Some(bytes * sign).filter(|step| *step != 0)
            }
        };
        Ok(())
    }

    fn set_sizes(&mut self, name: &str, text: &str) -> Result<(), String> {
        let units = self.units;
        let before = self.sizes.clone().map(Some);
        let sizes = per_op(text, &before, |one| match name {
            "bs" => Ok(TransferSize::Fixed(block(units.bytes(one)?)?)),
            "bsrange" => {
                let (low, high) = range_of(one);
                let (low, high) = (block(units.bytes(low)?)?, block(units.bytes(high)?)?);
                let (min, max) = (low.min(high), low.max(high));
                Ok(if min == max { TransferSize::Fixed(min) } else { TransferSize::Uniform { min, max, align: min } })
            }
            _ => split(units, one),
        })?;
        let [read, write, trim] = sizes;
        for (slot, size) in self.sizes.iter_mut().zip([read, write, trim]) {
            if let Some(size) = size {
                *slot = size;
            }
        }
        Ok(())
    }

    fn set_engine(&mut self, text: &str) -> Result<(), String> {
        (self.null, self.mapped) = (text == "null", text == "mmap");
        self.entries = EntryEngine::of_name(text);
        self.one_at_a_time = match text {
            _ if self.entries.is_some() => true,
            "io_uring" | "libaio" | "posixaio" | "null" => false,
            "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap" => true,
            _ => return Err(format!("the engine `{text}` cannot be had; use io_uring, libaio or psync")),
        };
        Ok(())
    }

    fn set_distribution(&mut self, text: &str) -> Result<(), String> {
        self.zones = Vec::new();
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let parameter = |default: f64| {
            // Scattered places have no centre: behind a hash fio's only moves what is scattered anyway.
            let (value, centre) = rest.map_or((None, None), |rest| {
                rest.split_once(':').map_or((Some(rest), None), |(value, centre)| (Some(value), Some(centre)))
            });
            if let Some(centre) = centre {
                checked(number(centre)?, |x| (0.0..=1.0).contains(&x), "between 0 and 1")?;
                if name == "normal" {
                    return Err("a centre other than the middle is not built yet".to_string());
                }
            }
            value.map_or(Ok(default), number)
        };
        self.distribution = match name {
            "random" => None,
            "zipf" => Some(AddressDistribution::Zipf(checked(
                parameter(1.1)?,
                |x| x > 0.0 && x.to_bits() != 1.0_f64.to_bits(),
                "above 0 and not 1",
            )?)),
            "pareto" => {
                Some(AddressDistribution::Pareto(checked(parameter(0.2)?, |x| x > 0.0 && x < 1.0, "between 0 and 1")?))
            }
            "normal" => {
                let deviation = checked(parameter(0.0)?, |x| (0.0..100.0).contains(&x), "between 0 and 100")?;
                Some(AddressDistribution::Normal(spread(deviation / 100.0)))
            }
            "zoned" | "zoned_abs" => {
                let zones = rest.ok_or("it needs zones: zoned:60/10:40/90")?;
                if zones.contains(',') {
                    return Err("it must be the same for reads, writes and trims".to_string());
                }
                self.zones = zones_of(self.units, zones, name == "zoned_abs")?;
                None
            }
            _ => return Err(format!("`{name}` is none of random, zipf, pareto, normal, zoned, zoned_abs")),
        };
        Ok(())
    }
}

impl Options {
    /// Does the job check data? Where nothing is done there is nothing to check.
    pub(crate) fn is_checked(&self) -> bool {
        // As in fio, a pattern of its own is reason enough.
        let by_pattern = self.spans.contains_key("verify_pattern") && !self.spans.contains_key("verify");
        (self.verify.is_on || by_pattern) && !self.null && self.entries.is_none()
    }

    /// Does it check what another execution wrote? Then nothing may be written over it before, not even into holes. (Jobs that write as
    /// well read places of which nothing is known, and expect nothing there; so do those that play a trace.)
    pub(crate) fn is_of_earlier(&self) -> bool {
        self.pattern == Pattern::Read && self.replay.iolog.is_none() && self.is_checked()
    }

    /// How a file is extended that is shorter than the job needs: what is read, or written over, is written before.
    pub(crate) fn layout(&self) -> LayoutKind {
        let [reads, writes, _] = self.pattern.ops();
        if self.is_of_earlier() {
            LayoutKind::Sparse
        } else if reads || (writes && (self.overwrite || self.mapped)) {
            LayoutKind::Filled
        } else if self.create_on_open {
            LayoutKind::Untouched
        } else {
            self.fallocate
        }
    }
}

/// The standard deviation, as a fraction of the range, of what fio makes of `normal:`: the mean of twelve uniform numbers plus one
/// as wide as was asked, half the range at most (`lib/gauss.c`).
pub(crate) fn spread(asked: f64) -> f64 {
    (1.0 / 144.0 + asked.min(0.5).powi(2) / 12.0).sqrt()
}

/// Does the option ask for nothing but what is done anyway?
fn is_as_always(name: &str) -> bool {
    matches!(name, "name" | "description")
}

/// What there is to say of a name that is none of [`OPTIONS`]; `None`: the line asks for nothing.
fn unknown(line: &Line) -> Option<Diagnostic> {
    if let Some(why) = unsupported::why(&line.key) {
        if matches!(line.value.as_deref(), Some("0" | "false" | "none")) {
            return None;
        }
        let message = format!("iodyno does not have fio's option `{}`, and it would change the load", line.key);
        return Some(Diagnostic::error("absent", line.key_span, message).help(why));
    }
    let names = OPTIONS.iter().flat_map(|option| option.aliases.iter().copied().chain([option.name]));
    let near = suggest::did_you_mean(&line.key, names);
    let found = Diagnostic::error("unknown-option", line.key_span, format!("`{}` is no option", line.key));
    Some(found.help(near.unwrap_or_else(|| "docs/fio.md lists all options".to_string())))
}
