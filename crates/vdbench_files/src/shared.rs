//! Parameters that stand in several sections: open flags, ranges, commands, duplication.

use crate::param::{Param, Text};
use crate::value::{self, Number, Unit};
use parameter_text::{Diagnostic, ReadingContext};
use plan::{AddressRange, DedupContent, DedupSets, Objective, OpenFlags, RangeBound, ShellCommand, TextSpan};
use quantity::suggest::did_you_mean;
use std::path::PathBuf;

/// Bits of `open(2)` on Linux that `openflags=0x…` may carry, with their fields.
const O_DSYNC: u32 = 0x1000;
const O_SYNC: u32 = 0x10_1000;
const O_DIRECT: u32 = if cfg!(target_arch = "aarch64") { 0x1_0000 } else { 0x4000 };
const O_DIRECTORY: u32 = if cfg!(target_arch = "aarch64") { 0x4000 } else { 0x1_0000 };
/// Access mode, create, exclusive, truncate, append, directory, path, temporary file: never the user's to set here.
const FORBIDDEN: u32 = 0x3 | 0x40 | 0x80 | 0x200 | 0x400 | 0x20_0000 | 0x40_0000 | O_DIRECTORY;

/// `openflags=`.
pub(crate) fn open_flags(context: &mut ReadingContext, param: &Param) -> OpenFlags {
    const WORDS: [&str; 6] = ["o_direct", "directio", "o_sync", "o_dsync", "o_rsync", "fsync"];
    let mut flags = OpenFlags::default();
    for text in &param.values {
        match text.text.to_lowercase().as_str() {
            "o_direct" | "directio" => flags.direct = true,
            "o_sync" | "o_rsync" => flags.sync = true,
            "o_dsync" => flags.dsync = true,
            "fsync" => flags.fsync_at_end = true,
            word @ ("directio_off" | "clear_cache") => {
                let message = format!("openflags={word} has no effect here: it belongs to Solaris");
                context.note_once(word, Diagnostic::note("no-effect", text.span, message));
            }
            word => match word.strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16)) {
                Some(Ok(bits)) => hex_flags(context, text, bits, &mut flags),
                _ => {
                    let shown: String = text.text.chars().take(40).collect();
                    let found =
                        Diagnostic::error("unknown-word", text.span, format!("`openflags` does not know `{shown}`"));
                    let help =
                        did_you_mean(word, WORDS).unwrap_or_else(|| format!("one of: {}, 0xHEX", WORDS.join(", ")));
                    context.push(found.help(help));
                }
            },
        }
    }
    flags
}

fn hex_flags(context: &mut ReadingContext, text: &Text, bits: u32, flags: &mut OpenFlags) {
    if bits & FORBIDDEN != 0 {
        let message = format!(
            "openflags={}: {:#x} would change how the target is opened or written",
            text.text,
            bits & FORBIDDEN
        );
        let help = "truncating, appending, creating and the access mode are not for openflags";
        context.push(Diagnostic::error("openflags", text.span, message).help(help));
        return;
    }
    flags.direct |= bits & O_DIRECT != 0;
    match bits & O_SYNC {
        O_SYNC => flags.sync = true,
        O_DSYNC => flags.dsync = true,
        _ => {}
    }
    flags.extra |= bits & !(O_DIRECT | O_SYNC);
}

/// `range=(low,high)` and `hotband=(low,high)`: a low value up to 100 and a high one up to 200 are percent, others bytes,
/// each for itself: `(10,1g)` begins at 10 %.
pub(crate) fn range(context: &mut ReadingContext, name: &str, param: &Param) -> Option<AddressRange> {
    let numbers = value::numbers(context, name, param, Unit::Plain)?;
    let [low, high] = numbers.as_slice() else {
        let message = format!("`{name}` wants two values, found {}", numbers.len());
        let help = format!("{name}=(LOW,HIGH) in percent or bytes: {name}=(10,50)");
        context.push(Diagnostic::error("range", param.span, message).help(help));
        return None;
    };
    value::check_bounds(context, name, &Number { percent: false, ..*low }, 0.0..=value::BYTES_MAX as f64)?;
    value::check_bounds(context, name, &Number { percent: false, ..*high }, 0.0..=value::BYTES_MAX as f64)?;
    let (is_low_percent, is_high_percent) = (low.value <= 100.0, high.value <= 200.0);
    let beyond = is_high_percent && high.value > 100.0;
    if high.value <= low.value || (beyond && (low.value >= 100.0 || high.value - low.value >= 100.0)) {
        let message = format!("`{name}` from {} to {} is empty or more than all", low.value, high.value);
        let help = "the second value must be larger; above 100 (percent) the range goes on at the beginning: (90,110)";
        context.push(Diagnostic::error("range", param.span, message).help(help));
        return None;
    }
    let bound = |number: &Number, is_percent: bool| match is_percent {
        true => RangeBound::Fraction(number.value / 100.0),
        false => RangeBound::Bytes(value::to_u64(number.value)),
    };
    Some(AddressRange { low: bound(low, is_low_percent), high: bound(high, is_high_percent) })
}

/// Longest path (Linux's limit).
const PATH_MAX: usize = 4096;

/// A path; complains about those that no system call takes.
pub(crate) fn path_text(context: &mut ReadingContext, name: &str, param: &Param) -> Option<Text> {
    let text = value::text(context, name, param)?;
    if (1..PATH_MAX).contains(&text.text.len()) {
        return Some(text);
    }
    let message = format!("the path behind `{name}` has {} bytes", text.text.len());
    context.push(Diagnostic::error("path", text.span, message).help(format!("allowed: 1 to {}", PATH_MAX - 1)));
    None
}

/// See [`path_text`].
pub(crate) fn path(context: &mut ReadingContext, name: &str, param: &Param) -> Option<PathBuf> {
    path_text(context, name, param).map(|text| PathBuf::from(text.text))
}

/// `startcmd=` and `endcmd=`: commands, added to those that are there, and words of where their
/// output goes (for all of them), of what runs them, and of hosts.
pub(crate) fn commands(context: &ReadingContext, param: &Param, out: &mut Vec<ShellCommand>) {
    // To Vdbench whatever begins so is such a word: `logger` with arguments and `sum.sh` are commands here.
    let place = |text: &Text| {
        let is_word = text.text.bytes().all(|byte| byte.is_ascii_alphabetic());
        ["cons", "sum", "log"].into_iter().find(|word| is_word && text.text.to_lowercase().starts_with(word))
    };
    let words = ["master", "slave", "abort"];
    for text in &param.values {
        let is_word = words.iter().any(|word| text.text.eq_ignore_ascii_case(word));
        if !is_word && place(text).is_none() && !context.hosts.contains(&text.text) {
            let output = "log".to_string();
            out.push(ShellCommand { line: text.text.clone(), output, abort: false, span: text.span });
        }
    }
    let output = param.values.iter().rev().find_map(place);
    let abort = param.values.iter().any(|text| text.text.eq_ignore_ascii_case("abort"));
    for command in out {
        if let Some(word) = output {
            command.output = word.to_string();
        }
        command.abort |= abort;
    }
}

/// `host=` of a storage or workload: there is one host, and what is named must be it.
pub(crate) fn hosts(context: &mut ReadingContext, param: &Param) {
    for text in &param.values {
        let stem = text.text.strip_suffix('*');
        let is_known = |label: &String| label == &text.text || stem.is_some_and(|stem| label.starts_with(stem));
        if text.text == "localhost" || context.hosts.iter().any(is_known) {
            continue;
        }
        let shown: String = text.text.chars().take(40).collect();
        let found = Diagnostic::error("unknown-name", text.span, format!("there is no `hd={shown}`"));
        let help = format!("define it: hd={shown},system=localhost, or name one of: {}", context.hosts.join(", "));
        context.push(found.help(help));
    }
}

/// `fail_if="…"` or `fail_if=("…","…")`; what the conditions mean is checked where measurements are known.
pub(crate) fn objectives(param: &Param) -> impl Iterator<Item = Objective> + '_ {
    param.values.iter().map(|text| Objective { text: text.text.clone(), span: text.span })
}

/// Compression ratio, 1 or more.
pub(crate) fn compression_ratio(context: &mut ReadingContext, param: &Param) -> Option<f64> {
    value::bounded(context, "compratio", param, Unit::Plain, 1.0..=1000.0)
}

/// What is known of duplication; complete with ratio and unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DedupParams {
    pub(crate) ratio: Option<f64>,
    pub(crate) unit_bytes: Option<u64>,
    pub(crate) sets: Option<(DedupSets, TextSpan)>,
    /// Sets are those of one target; otherwise of all.
    pub(crate) apart: bool,
    /// The first parameter of all.
    pub(crate) span: Option<TextSpan>,
}

impl DedupParams {
    /// Takes one of the `dedup*=` parameters.
    pub(crate) fn set(&mut self, context: &mut ReadingContext, name: &str, param: &Param) {
        self.span = self.span.or(Some(param.key_span));
        match name {
            "dedupratio" => self.ratio = value::bounded(context, name, param, Unit::Plain, 1.0..=1e6).or(self.ratio),
            "dedupunit" => {
                self.unit_bytes = value::bytes(context, name, param, 512..=1 << 30).or(self.unit_bytes);
                if self.unit_bytes.is_some_and(|unit| unit % 512 != 0) {
                    let message = "`dedupunit` must be a multiple of 512";
                    context.push(Diagnostic::error("alignment", param.span, message));
                }
            }
            "dedupsets" => {
                if let Some(number) = value::one(context, name, param, Unit::Plain) {
                    let sets = if number.percent {
                        value::fraction_of(context, name, &number).map(DedupSets::Fraction)
                    } else {
                        value::bytes_of(context, name, &number, 1..=1 << 40).map(DedupSets::Count)
                    };
                    self.sets = sets.map(|sets| (sets, param.span));
                }
            }
            "deduphotsets" => {
                if value::numbers(context, name, param, Unit::Plain).is_some() {
                    let sentence = "sets of duplicates of different sizes (deduphotsets=) are not built yet";
                    context.unsupported(param.key_span, sentence);
                }
            }
            "dedupflipflop" => {
                let text = value::text(context, name, param);
                let word = text.and_then(|text| value::word(context, name, &text, &["yes", "no", "hot"]));
                if matches!(word, Some("yes" | "hot")) {
                    let sentence =
                        "duplicates that change when they are written again (dedupflipflop=) are not built yet";
                    context.unsupported(param.key_span, sentence);
                }
            }
            "dedupacross" => self.apart = value::yes_no(context, name, param) == Some(false),
            _ => {
                if value::count(context, name, param, 1..=126).is_some() {
                    let message = "`dedupmaxkey` belongs to dedupflipflop= and has no effect without it";
                    context.note_once(name, Diagnostic::note("no-effect", param.key_span, message));
                }
            }
        }
    }

    /// The complete setting; Vdbench's default of sets is 5 % of all blocks, and half of all unique blocks where those
    /// are fewer than 10 %.
    pub(crate) fn complete(&self, context: &mut ReadingContext) -> Option<DedupContent> {
        let span = self.span?;
        let Some(ratio) = self.ratio else {
            let found = Diagnostic::error("dedup", span, "duplication is set without dedupratio=");
            context.push(found.help("add dedupratio=2, or take the other dedup parameters out"));
            return None;
        };
        if ratio <= 1.0 {
            return None;
        }
        let Some(unit_bytes) = self.unit_bytes else {
            let found = Diagnostic::error("dedup", span, "dedupratio= needs dedupunit=");
            context.push(found.help("add dedupunit=4k to the general parameters, at the top of the file"));
            return None;
        };
        let sets = match self.sets {
            None => DedupSets::Fraction((0.5 / ratio).min(0.05)),
            Some((DedupSets::Fraction(fraction), span)) if !DedupContent::allows_sets(ratio, fraction) => {
                let message = format!("with dedupratio={ratio}, {} % of all blocks cannot be sets", fraction * 100.0);
                let help = format!(
                    "each set is a unique block as well, and only {:.3} % of all are: ask for fewer",
                    100.0 / ratio
                );
                context.push(Diagnostic::error("dedup", span, message).help(help));
                return None;
            }
            Some((sets, _)) => sets,
        };
        Some(DedupContent { ratio, unit_bytes, sets, across: !self.apart })
    }
}
