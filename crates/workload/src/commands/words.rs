//! What is said of executions.

use super::figures::{CommandFigures, SampleFigures, outliers, real_times};
use super::group::{MeasuredCommand, executions_words, has_failed, is_counted, labels};
use quantity::figures::DecimalPlaces;
use recording::rows::CommandExecution;
use recording::{ExecutionEnding, LoadPhase};
use view::{Tone, Unit};

/// Real times below this are mostly those of starting a program, ns.
const SHORT_NS: f64 = 5e6;
/// Commands whose comparison is printed at the end.
const MOST: usize = 20;
/// Commands whose times stand at the head of a page.
const SHOWN: usize = 5;

/// A figure with its label, for the head of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandHeadline {
    /// What it is.
    pub label: String,
    /// Number with unit.
    pub value: String,
    /// A second line.
    pub detail: String,
    /// Is it good, bad or neither?
    pub tone: Tone,
}

/// Nanoseconds of a unit, and its name.
fn unit_of(ns: f64) -> (f64, &'static str) {
    match ns {
        seconds if seconds >= 1e9 => (1e9, "s"),
        millis if millis >= 1e6 => (1e6, "ms"),
        micros if micros >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    }
}

/// Four digits: `1.234 s`, `12.34 ms`, `123.4 ms`.
pub(super) fn precise(ns: f64) -> String {
    as_unit(ns, ns)
}

/// A time in the unit, and with the decimals, of another one.
fn as_unit(ns: f64, of_ns: f64) -> String {
    let (factor, unit) = unit_of(of_ns);
    if of_ns == 0.0 {
        return format!("0 {unit}");
    }
    let decimals = match of_ns / factor {
        hundreds if hundreds >= 100.0 => 1,
        tens if tens >= 10.0 => 2,
        _ => 3,
    };
    format!("{:.decimals$} {unit}", ns / factor)
}

fn bytes(value: i64) -> String {
    Unit::Bytes.format(Some(value as f64))
}

/// ` ± 0.5 %`; empty for a single execution.
pub(super) fn plus_minus(real: &SampleFigures) -> String {
    real.half_percent().map_or(String::new(), |half| format!(" ± {} %", DecimalPlaces::TWO.format(half)))
}

/// How it ended: `exit 0`, `signal 9`, `stopped: the run was over`.
pub(super) fn ending_words(row: &CommandExecution) -> String {
    let code = row.exit_code.map_or("exit code not known".to_string(), |code| format!("exit {code}"));
    match &row.ending {
        ExecutionEnding::Exited | ExecutionEnding::Accepted => code,
        ExecutionEnding::Signalled => row.signal.map_or("signal".to_string(), |number| format!("signal {number}")),
        ExecutionEnding::Stopped if row.phase == LoadPhase::Baseline => "stopped".to_string(),
        ExecutionEnding::Stopped => "stopped: the run was over".to_string(),
        ExecutionEnding::NotStarted if row.error.is_empty() => "not started".to_string(),
        ExecutionEnding::NotStarted => format!("not started: {}", row.error),
        ExecutionEnding::Waiting => "not started: the run was over".to_string(),
        ExecutionEnding::Other(name) => name.to_string(),
    }
}

/// The line of an execution that has ended: `rsync 2 of 3: real 12.34 s, user 1.20 s, system 3.40 s, 1.2 GiB written, exit 0`.
/// `of` is how many there are to be, `at_s` the moment at which it was due, seconds since the measured time began.
#[must_use]
pub fn execution_line(row: &CommandExecution, of: Option<u64>, at_s: Option<f64>) -> String {
    let phase = match &row.phase {
        LoadPhase::Measure => String::new(),
        LoadPhase::Warmup => " warm-up".to_string(),
        LoadPhase::Baseline => " idle".to_string(),
        other => format!(" {other}"),
    };
    let of = of.map_or(String::new(), |count| format!(" of {count}"));
    let at = at_s.map_or(String::new(), |at| format!(" at {}", Unit::Seconds.format(Some(at))));
    let mut parts = Vec::new();
    if let Some(real) = row.real_ns {
        let bound = if row.ending == ExecutionEnding::Stopped { "≥ " } else { "" };
        parts.push(format!("real {bound}{}", precise(real as f64)));
    }
    let time = |name: &str, ns: Option<i64>| Some(format!("{name} {}", precise(ns? as f64)));
    let moved = |value: Option<i64>, what: &str| Some(format!("{} {what}", bytes(value.filter(|bytes| *bytes > 0)?)));
    parts.extend([time("user", row.user_ns), time("system", row.sys_ns)].into_iter().flatten());
    parts.extend([moved(row.read_bytes, "read"), moved(row.write_bytes, "written")].into_iter().flatten());
    parts.push(ending_words(row));
    if let Some(left) = row.left_behind.filter(|left| *left > 0) {
        parts.push(format!("{left} of its processes ended with it"));
    }
    format!("{}{phase} {}{of}{at}: {}", row.workload, row.number, parts.join(", "))
}

/// How the line of an execution is coloured.
#[must_use]
pub fn execution_tone(row: &CommandExecution) -> Tone {
    match row.ending {
        _ if has_failed(row) => Tone::Error,
        ExecutionEnding::Stopped | ExecutionEnding::Waiting => Tone::Warning,
        _ if is_counted(row) => Tone::Plain,
        _ => Tone::Info,
    }
}

/// How the failed ones ended: `exit 1 × 2, signal 9`.
fn failures<'a>(rows: impl Iterator<Item = &'a CommandExecution>) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for row in rows.filter(|row| has_failed(row)) {
        let words = ending_words(row);
        match counts.iter_mut().find(|known| known.0 == words) {
            Some(known) => known.1 += 1,
            None => counts.push((words, 1)),
        }
    }
    let of = |(words, count): (String, usize)| if count > 1 { format!("{words} × {count}") } else { words };
    counts.into_iter().map(of).collect::<Vec<String>>().join(", ")
}

/// What must be known of a command's figures: sentences with a full stop; `label` is its name.
#[must_use]
pub fn cautions(command: &MeasuredCommand, label: &str) -> Vec<(Tone, String)> {
    let figures = CommandFigures::of(command);
    let mut found = Vec::new();
    let is_counting = |row: &&CommandExecution| !matches!(row.phase, LoadPhase::Warmup | LoadPhase::Baseline);
    for (is_wanted, what) in [(true, ""), (false, " that do not count")] {
        let rows = || command.executions.iter().filter(|row| is_counting(row) == is_wanted);
        let failed = rows().filter(|row| has_failed(row)).count();
        if failed > 0 {
            let (all, words) = (rows().count(), failures(rows()));
            found.push((
                Tone::Error,
                format!("{label}: {failed} of {all}{what} failed ({words}); no time counts them."),
            ));
        }
    }
    let paused = command.executions.iter().filter(|row| row.phase == LoadPhase::Paused).count();
    if paused > 0 {
        let words = executions_words(paused);
        found.push((Tone::Warning, format!("{label}: {words} while iodyno itself did not run; no time counts them.")));
    }
    let left: i64 = command.executions.iter().filter_map(|row| row.left_behind).sum();
    if left > 0 {
        let what = if left == 1 { "1 process".to_string() } else { format!("{left} processes") };
        found.push((Tone::Info, format!("{label}: {what} outlived an execution and had to be ended.")));
    }
    let times = real_times(command);
    match outliers(&times).as_slice() {
        [] => {}
        [0, ..] if times[0] > times[1..].iter().copied().fold(0.0, f64::max) => found.push((
            Tone::Warning,
            format!(
                "{label}: the first execution took much longer than the others ({}): a cache was cold? `--warmups 1` leaves it out.",
                precise(times[0])
            ),
        )),
        places => {
            let words = places.iter().take(3).map(|at| precise(times[*at])).collect::<Vec<String>>().join(", ");
            let text = format!(
                "{label}: {} far from all others ({words}): another program, or caches, disturbed them; a quiet machine and more executions help.",
                if places.len() == 1 { "1 execution is".to_string() } else { format!("{} executions are", places.len()) }
            );
            found.push((Tone::Warning, text));
        }
    }
    if figures.real.is_some_and(|real| real.mean < SHORT_NS) {
        found.push((Tone::Info, format!("{label}: executions below 5 ms are mostly the start of a program.")));
    }
    found
}

/// What must be known of executions that the end of the run met; each has an event of its own in the recording, too.
fn unfinished(command: &MeasuredCommand, label: &str) -> Vec<(Tone, String)> {
    let figures = CommandFigures::of(command);
    let mut found = Vec::new();
    if figures.stopped > 0 {
        let words = executions_words(figures.stopped);
        found.push((
            Tone::Warning,
            format!("{label}: {words} ended by iodyno, as the run was over; no time counts them."),
        ));
    }
    if figures.waiting > 0 {
        let words = executions_words(figures.waiting);
        found.push((Tone::Warning, format!("{label}: {words} due that did not start before the run was over.")));
    }
    found
}

/// The fastest of these, by their mean.
fn fastest(all: &[(String, SampleFigures)]) -> Option<&(String, SampleFigures)> {
    all.iter().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
}

/// The real times of each command that has some.
fn timed(commands: &[MeasuredCommand], labels: Vec<String>) -> Vec<(String, SampleFigures)> {
    let real = commands.iter().map(|command| CommandFigures::of(command).real);
    labels.into_iter().zip(real).filter_map(|(label, real)| Some((label, real?))).collect()
}

/// The last lines of a command on the terminal: each command's times, and how many times as fast the fastest is.
#[must_use]
pub fn summary_lines(commands: &[MeasuredCommand]) -> Vec<String> {
    let names = labels(commands);
    let mut lines = Vec::new();
    for (command, label) in commands.iter().zip(&names) {
        let figures = CommandFigures::of(command);
        lines.push(format!("{label}: {}", command.line));
        if let Some(real) = &figures.real {
            lines.extend(time_lines(real, &figures));
        } else {
            lines.push("  no execution counts".to_string());
        }
        let idle = CommandFigures::idle(command).real.filter(|idle| idle.mean > 0.0);
        if let Some((idle, real)) = idle.zip(figures.real) {
            let times = DecimalPlaces::THREE.format(real.mean / idle.mean);
            lines.push(format!("  idle machine:       {}; under load {times} times as long", precise(idle.mean)));
        }
        let known = cautions(command, "").into_iter().chain(unfinished(command, ""));
        lines.extend(known.map(|(tone, text)| {
            let word = if tone == Tone::Error { "error" } else { "warning" };
            format!("  {word}: {}", text.trim_start_matches(": "))
        }));
    }
    lines.extend(faster_lines(commands));
    lines
}

fn time_lines(real: &SampleFigures, figures: &CommandFigures) -> Vec<String> {
    let cpu = |ns: Option<f64>| ns.map_or("?".to_string(), precise);
    let used = format!(
        "[user {}, system {}{}]",
        cpu(figures.user_ns),
        cpu(figures.sys_ns),
        figures.cpu_percent().map_or(String::new(), |percent| format!(", {percent:.0} % of a CPU"))
    );
    let Some(deviation) = real.deviation else {
        return vec![format!("  time:               {}    {used}", precise(real.mean))];
    };
    let half = real.half.map_or(String::new(), |half| format!(" (95 % of the mean: ± {})", as_unit(half, real.mean)));
    vec![
        format!("  time (mean ± σ):    {} ± {}    {used}", precise(real.mean), as_unit(deviation, real.mean)),
        format!(
            "  range (min … max):  {} … {}    {}{half}",
            as_unit(real.min, real.mean),
            as_unit(real.max, real.mean),
            executions_words(real.count)
        ),
    ]
}

/// `threads=4 ran` … `1.52 ± 0.03 times faster than threads=1`, of each command that has several settings.
fn faster_lines(commands: &[MeasuredCommand]) -> Vec<String> {
    let names = labels(commands);
    let mut lines = Vec::new();
    for (at, first) in commands.iter().enumerate() {
        if commands[..at].iter().any(|before| is_same(before, first)) {
            continue;
        }
        let of_it = || commands.iter().zip(&names).filter(|(command, _)| is_same(command, first));
        let settings: Vec<MeasuredCommand> = of_it().map(|(command, _)| command.clone()).collect();
        lines.extend(faster_settings(&timed(&settings, of_it().map(|(_, name)| name.clone()).collect())));
    }
    lines
}

/// Are these settings of one command, so that one of them can be faster?
fn is_same(one: &MeasuredCommand, other: &MeasuredCommand) -> bool {
    (&one.run, &one.name) == (&other.run, &other.name)
}

/// Do their means differ by more than 1 %, and by more than their 95 % intervals?
fn differ(one: &SampleFigures, other: &SampleFigures) -> bool {
    let apart = (one.mean - other.mean).abs();
    let known = one.half.zip(other.half).is_none_or(|(a, b)| apart > a.hypot(b));
    known && apart > 0.01 * one.mean.min(other.mean)
}

fn faster_settings(all: &[(String, SampleFigures)]) -> Vec<String> {
    let Some((name, best)) = fastest(all).filter(|best| all.len() > 1 && best.1.mean > 0.0) else {
        return Vec::new();
    };
    let mut others: Vec<&(String, SampleFigures)> = all.iter().filter(|other| other.0 != *name).collect();
    others.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let more = others.len().saturating_sub(MOST);
    let part = |sample: &SampleFigures| sample.deviation.map(|deviation| deviation / sample.mean);
    let line = |(other, sample): &(String, SampleFigures)| {
        if !differ(best, sample) {
            return format!("  no differently from {other}, as far as these executions show");
        }
        let ratio = sample.mean / best.mean;
        let spread = part(sample).zip(part(best)).map(|(a, b)| format!(" ± {:.2}", ratio * a.hypot(b)));
        format!("  {ratio:.2}{} times faster than {other}", spread.unwrap_or_default())
    };
    let mut lines = vec![String::new(), format!("{name} ran")];
    lines.extend(others.into_iter().take(MOST).map(line));
    lines.extend((more > 0).then(|| format!("  and {more} more")));
    lines
}

/// One command in a sentence without a full stop: `1.234 s ± 0.5 %, 5 executions, 198 % of a CPU`.
#[must_use]
pub fn sentence_of(command: &MeasuredCommand) -> String {
    let figures = CommandFigures::of(command);
    let Some(real) = &figures.real else {
        return match figures.measured() {
            0 => "it was not executed".to_string(),
            all => format!("none of {} counts", executions_words(all)),
        };
    };
    let cpu = figures.cpu_percent().map_or(String::new(), |percent| format!(", {percent:.0} % of a CPU"));
    let failed = if figures.failed > 0 { format!(", {} failed", figures.failed) } else { String::new() };
    format!("{}{}, {}{cpu}{failed}", precise(real.mean), plus_minus(real), executions_words(figures.count))
}

/// What commands a recording has, and how long they took: a sentence with a full stop.
#[must_use]
pub fn sentence(commands: &[MeasuredCommand]) -> String {
    if let [only] = commands {
        return format!("{}: {}.", only.line, sentence_of(only));
    }
    let figures: Vec<CommandFigures> = commands.iter().map(CommandFigures::of).collect();
    let counts: Vec<usize> = figures.iter().map(|figures| figures.count).collect();
    let all: usize = counts.iter().sum();
    let is_even = counts.windows(2).all(|pair| pair[0] == pair[1]);
    let is_one = commands.windows(2).all(|pair| pair[0].name == pair[1].name && pair[0].run == pair[1].run);
    let what = match (commands.first(), is_one) {
        (Some(first), true) => format!("{}: {} settings", first.name, commands.len()),
        _ => format!("{} commands", commands.len()),
    };
    let each = match counts.first().filter(|_| is_even) {
        Some(count) => format!(" × {}", executions_words(*count)),
        None => format!(", {}", executions_words(all)),
    };
    let names = commands.iter().zip(labels(commands));
    let names = names.map(|(command, label)| if is_one { command.detail.clone() } else { label });
    let all = timed(commands, names.collect());
    let is_alike = |best: &SampleFigures| all.len() > 1 && !all.iter().any(|(_, other)| differ(best, other));
    let best = match fastest(&all).filter(|_| is_one) {
        None => String::new(),
        Some((_, real)) if is_alike(real) => {
            format!("; no difference shown: {}{}", precise(real.mean), plus_minus(real))
        }
        Some((name, real)) => format!("; fastest {name}: {}{}", precise(real.mean), plus_minus(real)),
    };
    let failed: usize = figures.iter().map(|figures| figures.failed).sum();
    let failed = if failed > 0 { format!("; {failed} failed") } else { String::new() };
    format!("{what}{each}{best}{failed}.")
}

/// The figures of the only command, or of the fastest of several.
#[must_use]
pub fn headline(commands: &[MeasuredCommand]) -> Vec<CommandHeadline> {
    let all: Vec<(String, CommandFigures)> =
        labels(commands).into_iter().zip(commands.iter().map(CommandFigures::of)).collect();
    if commands.windows(2).any(|pair| !is_same(&pair[0], &pair[1])) {
        return headline_of_several(&all);
    }
    let mean = |figures: &CommandFigures| figures.real.map_or(f64::INFINITY, |real| real.mean);
    let Some((name, best)) = all.iter().min_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1))) else { return Vec::new() };
    let there = if all.len() > 1 { " there" } else { "" };
    let first = if all.len() > 1 { "Fastest" } else { "Real time" };
    let ns = |value: Option<f64>| value.map_or("?".to_string(), precise);
    let size = |value: Option<f64>| Unit::Bytes.format(value);
    let percent = best.cpu_percent().map_or("CPU time not known".to_string(), |cpu| format!("{cpu:.0} % of a CPU"));
    let mut figures = Vec::new();
    if let Some(real) = &best.real {
        let mut detail = vec![executions_words(real.count)];
        if all.len() > 1 {
            detail.insert(0, name.clone());
        }
        if real.count > 1 {
            detail.push(format!("{} … {}", as_unit(real.min, real.mean), as_unit(real.max, real.mean)));
        }
        figures.push(said(first, format!("{}{}", precise(real.mean), plus_minus(real)), detail.join(", ")));
        let user = format!("{percent}, user {}, system {}", ns(best.user_ns), ns(best.sys_ns));
        let cpu = best.user_ns.zip(best.sys_ns).map(|(user, sys)| user + sys);
        figures.push(said(&format!("CPU time{there}"), ns(cpu), user));
        figures.push(said(&format!("Memory{there}"), size(best.max_rss_bytes), "greatest process".to_string()));
        let read = format!("{} read", size(best.read_bytes));
        figures.push(said(&format!("Written{there}"), size(best.write_bytes), read));
    }
    figures.extend(slowest(&all));
    figures.push(failed(&all));
    figures
}

/// Commands that are no settings of one: the time of each of the first.
fn headline_of_several(all: &[(String, CommandFigures)]) -> Vec<CommandHeadline> {
    let known = all.iter().filter_map(|(name, figures)| Some((name, figures.real?)));
    let time = |(name, real): (&String, SampleFigures)| {
        said(name, format!("{}{}", precise(real.mean), plus_minus(&real)), executions_words(real.count))
    };
    known.take(SHOWN).map(time).chain([failed(all)]).collect()
}

fn said(label: &str, value: String, detail: String) -> CommandHeadline {
    CommandHeadline { label: label.to_string(), value, detail, tone: Tone::Plain }
}

fn failed(all: &[(String, CommandFigures)]) -> CommandHeadline {
    let failed: usize = all.iter().map(|command| command.1.failed).sum();
    let measured: usize = all.iter().map(|command| command.1.measured()).sum();
    let tone = if failed > 0 { Tone::Error } else { Tone::Plain };
    CommandHeadline { tone, ..said("Failed", failed.to_string(), format!("of {}", executions_words(measured))) }
}

fn slowest(all: &[(String, CommandFigures)]) -> Option<CommandHeadline> {
    let known = all.iter().filter_map(|(name, figures)| Some((name, figures.real?)));
    let (name, slow) = known.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)).filter(|_| all.len() > 1)?;
    Some(CommandHeadline {
        label: "Slowest".to_string(),
        value: format!("{}{}", precise(slow.mean), plus_minus(&slow)),
        detail: name.clone(),
        tone: Tone::Plain,
    })
}
