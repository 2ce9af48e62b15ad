//! Run definitions: `rd=`.

use crate::command_params::{self, CommandParams};
use crate::file_systems::{DEPTH_MAX, files_of, size_of};
use crate::file_works::file_transfer_bytes;
use crate::flows;
use crate::format_flags::FormatFlags;
use crate::param::{Param, Text};
use crate::replay_params::{self, ReplayParams};
use crate::shared;
use crate::statement::{self, Statement};
use crate::value::{self, Number, Unit, plain};
use crate::workload::{DEFINITIONS_MAX, SEEK_WORDS, seek_percent, transfer_bytes};
use parameter_text::{Diagnostic, FormatOverride, ReadingContext};
use plan::generate::OperationKind;
use plan::{DataLimit, GapDistribution, Objective, OpenFlags, ShellCommand, StopCondition, TextSpan};
use std::borrow::Cow;

/// A rate in a list of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RateValue {
    Number(f64),
    Max,
    /// A fraction of the last maximum.
    Relative(f64),
}

/// `iorate=`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RateParam {
    /// Numbers as written; a list is a loop, or the steps of a burst.
    List {
        values: Vec<RateValue>,
        list: bool,
    },
    Curve,
}

/// How the rate changes within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BurstKind {
    Variable,
    Spike,
}

/// What a loop varies; the names are those of its titles.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loop {
    pub(crate) name: Cow<'static, str>,
    /// `(number, text in the title)`.
    pub(crate) values: Vec<(f64, String)>,
    /// Is it a variable of commands (`vary=`), whose values are texts?
    pub(crate) is_text: bool,
    pub(crate) span: TextSpan,
}

/// A run definition.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) works: Vec<Text>,
    pub(crate) targets: Vec<Text>,
    pub(crate) targets_span: TextSpan,
    pub(crate) file_works: Vec<Text>,
    /// They take the place of those of the file workloads.
    pub(crate) systems: Vec<Text>,
    /// They take the place of that of each file workload, together.
    pub(crate) operations: Vec<OperationKind>,
    pub(crate) rate: Option<(RateParam, TextSpan)>,
    /// The last list of rates: Vdbench runs it whatever single rate comes after it.
    pub(crate) rate_list: Option<Vec<RateValue>>,
    /// Was it given and could not be read?
    pub(crate) rate_wrong: bool,
    /// Was it given in this definition, not in `rd=default`?
    pub(crate) is_rate_own: bool,
    /// Was it called `fwdrate`?
    pub(crate) file_rate: bool,
    /// Are there file systems and no storages?
    pub(crate) is_of_files: bool,
    pub(crate) curve: Vec<(f64, bool)>,
    pub(crate) stop_response_ns: Option<u64>,
    pub(crate) elapsed_ns: u64,
    /// Was `elapsed` given?
    pub(crate) is_time_given: bool,
    pub(crate) interval_ns: u64,
    pub(crate) warmup_ns: u64,
    pub(crate) pause_ns: u64,
    pub(crate) gaps: GapDistribution,
    pub(crate) burst: Option<BurstKind>,
    pub(crate) stop: StopCondition,
    pub(crate) start_commands: Vec<ShellCommand>,
    pub(crate) end_commands: Vec<ShellCommand>,
    pub(crate) objectives: Vec<Objective>,
    pub(crate) open: Option<OpenFlags>,
    pub(crate) format: FormatFlags,
    pub(crate) replay: Option<ReplayParams>,
    pub(crate) commands: CommandParams,
    pub(crate) loops: Vec<Loop>,
    pub(crate) time_span: TextSpan,
    pub(crate) span: TextSpan,
}

impl Default for Definition {
    fn default() -> Self {
        Self {
            name: String::new(),
            works: Vec::new(),
            targets: Vec::new(),
            targets_span: TextSpan::default(),
            file_works: Vec::new(),
            systems: Vec::new(),
            operations: Vec::new(),
            rate: None,
            rate_list: None,
            rate_wrong: false,
            is_rate_own: false,
            file_rate: false,
            is_of_files: false,
            curve: [10.0, 50.0, 70.0, 80.0, 90.0, 100.0].map(|percent| (percent, false)).to_vec(),
            stop_response_ns: None,
            elapsed_ns: 30_000_000_000,
            is_time_given: false,
            interval_ns: 1_000_000_000,
            warmup_ns: 0,
            pause_ns: 0,
            gaps: GapDistribution::Exponential,
            burst: None,
            stop: StopCondition::default(),
            start_commands: Vec::new(),
            end_commands: Vec::new(),
            objectives: Vec::new(),
            open: None,
            format: FormatFlags::default(),
            replay: None,
            commands: CommandParams::default(),
            loops: Vec::new(),
            time_span: TextSpan::default(),
            span: TextSpan::default(),
        }
    }
}

impl Definition {
    /// What a copy costs, in units of work.
    fn weight(&self) -> usize {
        let texts = |one: &Loop| if one.is_text { one.values.iter().map(|(_, text)| text.len() / 16).sum() } else { 0 };
        let loops: usize = self.loops.iter().map(|one| one.values.len() * 4 + texts(one)).sum();
        let rates = self.rate_list.as_ref().map_or(0, |list| list.len() * 4);
        16 + loops
            + rates
            + (self.works.len() + self.targets.len() + self.file_works.len() + self.systems.len()) * 4
            + self.commands_weight()
            + self.commands.weight()
    }

    pub(crate) fn commands_weight(&self) -> usize {
        let commands = self.start_commands.iter().chain(&self.end_commands).map(|command| command.line.len());
        commands.chain(self.objectives.iter().map(|objective| objective.text.len())).map(|bytes| 8 + bytes / 16).sum()
    }
}

/// What is the same for all run definitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunInput<'a> {
    /// It is added to each.
    pub(crate) addition: &'a [Param],
    /// Are there file systems and no storages?
    pub(crate) is_of_files: bool,
    pub(crate) forced_format: Option<FormatOverride>,
}

/// Reads all run definitions, in order.
pub(crate) fn read(context: &mut ReadingContext, statements: &[Statement], input: RunInput<'_>) -> Vec<Definition> {
    let (addition, forced) = (input.addition, input.forced_format);
    let mut template = Definition { is_of_files: input.is_of_files, ..Definition::default() };
    let mut out: Vec<Definition> = Vec::new();
    for statement in statements {
        // journal_recovery overrides a run that is not built yet.
        let special = statement.name.text == "journal_recovery";
        let default = statement.name.text == "default";
        if !context.work(template.weight(), statement.span) {
            break;
        }
        let mut run = Definition {
            span: statement.span,
            name: statement.name.text.clone(),
            is_rate_own: false,
            format: FormatFlags::new(forced),
            commands: template.commands.inherited(),
            ..template.clone()
        };
        let named = statement::check_name(context, statement);
        statement::each(context, statement, |context, name, param| match name {
            "format" if !default => run.format.read(context, param, forced),
            _ => set(context, &mut run, name, param, default),
        });
        if !default && !addition.is_empty() {
            let added = Statement { params: addition.to_vec(), ..statement.clone() };
            // What the command line adds takes the place of what the file says.
            run.commands = run.commands.inherited();
            statement::each(context, &added, |context, name, param| {
                // A rate of the command line takes the place of a list, too.
                run.rate_list = run.rate_list.take().filter(|_| name != "iorate");
                match name {
                    "format" => run.format.read(context, param, forced),
                    _ => set(context, &mut run, name, param, default),
                }
            });
        }
        if default {
            template = run;
        } else if named && !special {
            if out.len() >= DEFINITIONS_MAX {
                let message = format!("more than {DEFINITIONS_MAX} run definitions");
                context.note_once("runs", Diagnostic::error("too-much", statement.span, message));
                break;
            }
            out.push(run);
        }
    }
    out
}

fn set(context: &mut ReadingContext, run: &mut Definition, name: &'static str, param: &Param, default: bool) {
    match name {
        "wd" if !run.works.is_empty() => {
            let found = Diagnostic::error("duplicate", param.key_span, "a second wd= in one run definition");
            context.push(found.help("write wd=(wd1,wd2); one in rd=default counts as the first"));
        }
        "wd" => run.works.clone_from(&param.values),
        "sd" => (run.targets, run.targets_span) = (param.values.clone(), param.span),
        "fwd" => run.file_works.clone_from(&param.values),
        "fsd" => run.systems.clone_from(&param.values),
        "iorate" if run.is_of_files => file_rate(context, run, param),
        "iorate" => {
            run.file_rate = param.key.starts_with("fw");
            let rate = rate(context, param);
            run.rate_wrong = rate.is_none();
            run.is_rate_own = true;
            if let Some(rate) = rate.as_ref().filter(|_| !run.file_rate) {
                keep_list(context, run, rate, param.span);
            }
            run.rate = rate.map(|rate| (rate, param.span));
        }
        "curve" => curve(context, run, param),
        "stopcurve" => {
            let limit = value::bounded(context, name, param, Unit::Plain, 0.001..=3_600_000.0);
            run.stop_response_ns = limit.map(|ms| value::to_u64(ms * 1e6)).or(run.stop_response_ns);
        }
        "elapsed" => {
            run.elapsed_ns = value::time_ns(context, name, param, 0.001).unwrap_or(run.elapsed_ns);
            run.is_time_given = true;
            run.time_span = param.span;
        }
        "interval" => {
            run.interval_ns = value::time_ns(context, name, param, 0.01).unwrap_or(run.interval_ns);
            run.time_span = param.span;
        }
        "warmup" => {
            run.warmup_ns = value::time_ns(context, name, param, 0.0).unwrap_or(run.warmup_ns);
            run.time_span = param.span;
        }
        "pause" => run.pause_ns = value::time_ns(context, name, param, 0.0).unwrap_or(run.pause_ns),
        "distribution" => distribution(context, run, param),
        "maxdata" => run.stop.total = data_limit(context, name, param).or(run.stop.total),
        "maxdataread" => run.stop.read = data_limit(context, name, param).or(run.stop.read),
        "maxdatawritten" => run.stop.written = data_limit(context, name, param).or(run.stop.written),
        "maxops" => run.stop.operations = value::bytes(context, name, param, 1..=1 << 50).or(run.stop.operations),
        "replay" => run.replay = replay_params::params(context, param),
        "mount" => context.unsupported(param.key_span, "mounting file systems (mount=) is not built yet"),
        "startcmd" | "endcmd" => {
            let commands = if name == "startcmd" { &mut run.start_commands } else { &mut run.end_commands };
            // In rd=default they take the place of those before, elsewhere they are added.
            if default {
                commands.clear();
            }
            shared::commands(context, param, commands);
        }
        "fail_if" => run.objectives.extend(shared::objectives(param)),
        "openflags" => run.open = Some(shared::open_flags(context, param)),
        "format" => {
            let found = Diagnostic::error("default", param.key_span, "format= is not allowed in rd=default");
            context.push(found.help("give each rd= its own format="));
        }
        "cmd" | "at" | "times" | "warmups" | "baseline" | "prepare" => run.commands.set(context, name, param),
        "vary" => {
            if let Some((name, texts)) = command_params::vary(context, param) {
                let values = texts.into_iter().map(|text| (0.0, text)).collect();
                put_loop(run, Loop { name: Cow::Owned(name), values, is_text: true, span: param.span });
            }
        }
        "operations" | "foroperations" => operations(context, run, name, param),
        _ => numeric_loop(context, run, name, param),
    }
}

/// A list of rates stays until another list comes.
fn keep_list(context: &mut ReadingContext, run: &mut Definition, rate: &RateParam, span: TextSpan) {
    let found = match rate {
        RateParam::List { values, list: true } => {
            run.rate_list = Some(values.clone());
            return;
        }
        _ if run.rate_list.is_none() => return,
        // Vdbench runs the rates of the list under the names of the curve's points.
        RateParam::Curve => Diagnostic::error("conflict", span, "iorate=curve behind a list of rates, which stays"),
        RateParam::List { .. } => {
            let message = "the list of iorate= before this runs instead of this rate, as in Vdbench";
            Diagnostic::warning("iorate", span, message)
        }
    };
    context.push(found.help("give the list to each rd= that it is for, not to rd=default"));
}

fn rate(context: &mut ReadingContext, param: &Param) -> Option<RateParam> {
    const MAX: f64 = f64::MAX;
    let name = if param.key.starts_with("fw") { "fwdrate" } else { "iorate" };
    if let [text, rest @ ..] = param.values.as_slice()
        && text.text.eq_ignore_ascii_case("curve")
    {
        if let Some(first) = rest.first() {
            value::list(context, name, param, rest, Unit::Plain, &[("max", MAX)])?;
            let message = "what stands behind `curve` does not count, as in Vdbench";
            let help = "the points of a curve are curve=(10,50,100)";
            context.push(Diagnostic::warning("curve", first.span, message).help(help));
        }
        return Some(RateParam::Curve);
    }
    if let [text] = param.values.as_slice() {
        let lower = text.text.to_lowercase();
        if lower.starts_with(|c: char| c.is_alphabetic()) && lower != "max" {
            let _ = value::word(context, name, text, &["max", "curve", "a number"]);
            return None;
        }
    }
    let numbers = value::list(context, name, param, &param.values, Unit::Plain, &[("max", MAX)])?;
    let mut values = Vec::with_capacity(numbers.len());
    for number in &numbers {
        values.push(if number.value == MAX {
            RateValue::Max
        } else if number.percent || number.value < 0.0 {
            let percent = Number { value: number.value.abs(), percent: false, ..*number };
            RateValue::Relative(
                value::check_bounds(context, &format!("{name} in percent"), &percent, 0.001..=1000.0)? / 100.0,
            )
        } else {
            RateValue::Number(value::check_bounds(context, name, number, 0.0..=1e9)?)
        });
    }
    Some(RateParam::List { values, list: numbers.len() > 1 })
}

/// `curve=(10,50%)`: a point with a percent sign is accepted and named `(-50%)`, as Vdbench does.
fn curve(context: &mut ReadingContext, run: &mut Definition, param: &Param) {
    let Some(numbers) = value::numbers(context, "curve", param, Unit::Plain) else { return };
    let mut points = Vec::with_capacity(numbers.len());
    for number in &numbers {
        let negative = number.percent || number.value < 0.0;
        let percent = Number { value: number.value.abs(), percent: false, ..*number };
        if let Some(percent) = value::check_bounds(context, "a point of the curve", &percent, 0.001..=1000.0) {
            points.push((percent, negative));
        }
    }
    run.curve = points;
}

fn distribution(context: &mut ReadingContext, run: &mut Definition, param: &Param) {
    for text in &param.values {
        match value::word(
            context,
            "distribution",
            text,
            &["exponential", "uniform", "deterministic", "variable", "spike"],
        ) {
            Some("exponential") => run.gaps = GapDistribution::Exponential,
            Some("uniform") => run.gaps = GapDistribution::Uniform,
            Some("deterministic") => run.gaps = GapDistribution::Deterministic,
            Some("variable") => run.burst = Some(BurstKind::Variable),
            Some("spike") => run.burst = Some(BurstKind::Spike),
            _ => {}
        }
    }
}

/// Below 100 it counts multiples of the targets' size.
fn data_limit(context: &mut ReadingContext, name: &str, param: &Param) -> Option<DataLimit> {
    let amount = value::bounded(context, name, param, Unit::Plain, 0.001..=value::BYTES_MAX as f64)?;
    Some(if amount < 100.0 { DataLimit::TargetSizes(amount) } else { DataLimit::Bytes(value::to_u64(amount)) })
}

/// `fwdrate=`: a list of them is a loop like any other, where it was written.
fn file_rate(context: &mut ReadingContext, run: &mut Definition, param: &Param) {
    if param.key.starts_with("io") {
        let found = Diagnostic::warning("iorate", param.key_span, "iorate= has no effect on runs of files");
        context.push(found.help("as in Vdbench: their rate is fwdrate="));
        return;
    }
    let rate = rate(context, param);
    (run.file_rate, run.is_rate_own, run.rate_wrong) = (true, true, rate.is_none());
    let Some(rate) = rate else { return };
    let has_list = run.loops.iter().any(|one| one.name == "fwdrate");
    if has_list && !matches!(rate, RateParam::List { list: true, .. }) {
        let found = match rate {
            RateParam::Curve => {
                Diagnostic::error("conflict", param.span, "fwdrate=curve behind a list of rates, which stays")
            }
            RateParam::List { .. } => {
                let message = "the list of fwdrate= before this runs instead of this rate, as in Vdbench";
                Diagnostic::warning("fwdrate", param.span, message)
            }
        };
        context.push(found.help("give the list to each rd= that it is for, not to rd=default"));
        return;
    }
    if let RateParam::List { values, list: true } = &rate {
        if values.contains(&RateValue::Number(0.0)) {
            let found = Diagnostic::error("out-of-range", param.span, "`fwdrate` is 0");
            context.push(found.help("allowed: above 0, or max"));
        }
        let values = values.iter().map(|value| file_rate_text(*value)).collect();
        put_loop(run, Loop { name: Cow::Borrowed("fwdrate"), values, is_text: false, span: param.span });
    }
    run.rate = Some((rate, param.span));
}

/// A rate as the value of a loop: a maximum is infinite, and percentages are negative.
fn file_rate_text(value: RateValue) -> (f64, String) {
    match value {
        RateValue::Number(number) => (number, format!("{number}")),
        RateValue::Max => (f64::INFINITY, "max".to_string()),
        RateValue::Relative(fraction) => (-fraction, format!("{}%", plain(fraction * 100.0))),
    }
}

fn operations(context: &mut ReadingContext, run: &mut Definition, name: &'static str, param: &Param) {
    let kinds: Vec<OperationKind> =
        param.values.iter().filter_map(|text| flows::operation(context, name, text)).collect();
    let is_loop = name == "foroperations";
    let has_loop = run.loops.iter().any(|one| one.name == "operations");
    if (is_loop && !run.operations.is_empty()) || (!is_loop && has_loop) {
        let found = Diagnostic::error("conflict", param.key_span, "operations= and foroperations= exclude each other");
        context.push(found.help("operations= are done together, foroperations= one behind the other"));
    } else if is_loop && !kinds.is_empty() {
        let values = kinds.iter().map(|kind| (0.0, kind.name().to_string())).collect();
        put_loop(run, Loop { name: Cow::Borrowed("operations"), values, is_text: false, span: param.span });
    } else if !is_loop {
        run.operations = kinds;
    }
}

/// `forX=(…)` or `X=(…)`.
fn numeric_loop(context: &mut ReadingContext, run: &mut Definition, name: &'static str, param: &Param) {
    let words: &[(&str, f64)] = if name == "seekpct" { &SEEK_WORDS } else { &[] };
    let Some(numbers) = value::list(context, name, param, &param.values, Unit::Plain, words) else { return };
    let mut values = Vec::with_capacity(numbers.len());
    for number in &numbers {
        let good = match name {
            "xfersize" if run.is_of_files => {
                file_transfer_bytes(context, number).map(|bytes| (bytes as f64, size_text(bytes as f64)))
            }
            "xfersize" => transfer_bytes(context, number).map(|bytes| (bytes as f64, size_text(bytes as f64))),
            "threads" => {
                value::count_of(context, name, number, 1..=65_536).map(|count| (f64::from(count), count.to_string()))
            }
            "rdpct" | "rhpct" | "whpct" => {
                value::fraction_of(context, name, number).map(|fraction| (fraction, plain(number.value)))
            }
            "seekpct" => seek_percent(context, number).map(|percent| (percent, plain(number.value))),
            "hitarea" => value::bytes_of(context, name, number, 512..=value::BYTES_MAX)
                .map(|bytes| (bytes as f64, size_text(bytes as f64))),
            "compratio" => value::check_bounds(context, name, number, 1.0..=1000.0).map(|ratio| (ratio, plain(ratio))),
            "compression" => {
                value::check_bounds(context, name, number, 0.1..=100.0).map(|percent| {
                    // As a ratio of three digits.
                    let ratio = (100_000.0 / percent).round() / 1000.0;
                    (ratio, plain(ratio))
                })
            }
            _ => shape_value(context, name, number),
        };
        values.extend(good);
    }
    if !values.is_empty() {
        // Vdbench stores the compression as a ratio.
        let name = if name == "compression" { "compratio" } else { name };
        put_loop(run, Loop { name: Cow::Borrowed(name), values, is_text: false, span: param.span });
    }
}

/// A value of a loop over the shape of trees; a `totalsize` in percent is negative.
fn shape_value(context: &mut ReadingContext, name: &'static str, number: &Number) -> Option<(f64, String)> {
    let counted = |count: u32| (f64::from(count), count.to_string());
    match name {
        "depth" => value::count_of(context, name, number, 1..=DEPTH_MAX).map(counted),
        "width" => value::count_of(context, name, number, 1..=u32::MAX).map(counted),
        "files" => files_of(context, number).map(counted),
        "sizes" => size_of(context, number).map(|bytes| (bytes as f64, size_text(bytes as f64))),
        "totalsize" if number.percent || number.value < 0.0 => {
            let percent = Number { value: number.value.abs(), percent: false, ..*number };
            let percent = value::check_bounds(context, "totalsize in percent", &percent, 0.001..=1000.0)?;
            Some((-percent, format!("{percent}%")))
        }
        _ => {
            let whole = Number { value: number.value.trunc(), ..*number };
            let bytes = value::bytes_of(context, name, &whole, 0..=value::BYTES_MAX)?;
            Some((bytes as f64, size_text(bytes as f64)))
        }
    }
}

/// A later loop over the same removes the earlier and stands where it was written: innermost of those so far.
fn put_loop(run: &mut Definition, new: Loop) {
    run.loops.retain(|old| old.name != new.name);
    run.loops.push(new);
}

/// A size with the largest suffix that divides it.
fn size_text(bytes: f64) -> String {
    for (power, suffix) in [(40, "t"), (30, "g"), (20, "m"), (10, "k")] {
        let unit = (1_u64 << power) as f64;
        if bytes >= unit && bytes % unit == 0.0 {
            return format!("{}{suffix}", plain(bytes / unit));
        }
    }
    plain(bytes)
}
