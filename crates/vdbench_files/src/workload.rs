//! Workload definitions: `wd=`.

use crate::keys::Section;
use crate::param::{Param, Text};
use crate::shared;
use crate::statement::{self, Statement};
use crate::value::{self, Number, Unit};
use parameter_text::{Diagnostic, ReadingContext};
use plan::{AddressDistribution, AddressOrder, AddressRange, OpenFlags, TextSpan, TransferSize};

/// Largest transfer.
pub(crate) const TRANSFER_MAX: u64 = 1 << 30;
/// Most definitions of one kind.
pub(crate) const DEFINITIONS_MAX: usize = 4096;

/// A workload definition.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) name: String,
    pub(crate) targets: Vec<Text>,
    pub(crate) transfer: TransferSize,
    pub(crate) transfer_span: TextSpan,
    pub(crate) read: f64,
    pub(crate) seek: Seek,
    pub(crate) order_span: TextSpan,
    pub(crate) read_hit: f64,
    pub(crate) write_hit: f64,
    pub(crate) range: Option<AddressRange>,
    pub(crate) hot_band: Option<AddressRange>,
    pub(crate) hot_band_span: TextSpan,
    pub(crate) stride: Option<(u64, u64)>,
    pub(crate) stride_span: TextSpan,
    pub(crate) streams: Option<u32>,
    pub(crate) skew: Option<(f64, TextSpan)>,
    pub(crate) rate: Option<f64>,
    pub(crate) priority: Option<(u32, TextSpan)>,
    pub(crate) threads: Option<u32>,
    pub(crate) open: Option<OpenFlags>,
    pub(crate) trim: f64,
    pub(crate) flush: f64,
    pub(crate) fsync_every: Option<u32>,
    pub(crate) fdatasync_every: Option<u32>,
    pub(crate) think_ns: u64,
    /// `random_distribution=` or `coverage=`, which take the place of uniform.
    pub(crate) spread: Option<(AddressDistribution, TextSpan)>,
    pub(crate) span: TextSpan,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            name: String::new(),
            targets: Vec::new(),
            transfer: TransferSize::Fixed(4096),
            transfer_span: TextSpan::default(),
            read: 1.0,
            seek: Seek::default(),
            order_span: TextSpan::default(),
            read_hit: 0.0,
            write_hit: 0.0,
            range: None,
            hot_band: None,
            hot_band_span: TextSpan::default(),
            stride: None,
            stride_span: TextSpan::default(),
            streams: None,
            skew: None,
            rate: None,
            priority: None,
            threads: None,
            open: None,
            trim: 0.0,
            flush: 0.0,
            fsync_every: None,
            fdatasync_every: None,
            think_ns: 0,
            spread: None,
            span: TextSpan::default(),
        }
    }
}

/// What `seekpct=` says, word by word; Vdbench keeps each of these when another is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seek {
    /// Percent of the operations that seek: 0 sequential, negative sequential up to the end once, 100 or more random.
    pub(crate) percent: f64,
    /// Of `poisson`; 0: uniform.
    pub(crate) midpoint: f64,
    /// `seqnz`: sequential order begins at a random place.
    pub(crate) random_start: bool,
}

impl Default for Seek {
    fn default() -> Self {
        Self { percent: 100.0, midpoint: 0.0, random_start: false }
    }
}

impl Seek {
    /// The order of addresses; `spread` takes the place of uniform.
    pub(crate) fn order(self, spread: Option<AddressDistribution>) -> AddressOrder {
        let distribution = match spread {
            _ if self.midpoint > 0.0 => AddressDistribution::Poisson(self.midpoint),
            other => other.unwrap_or_default(),
        };
        match self.percent / 100.0 {
            seek if seek >= 1.0 => AddressOrder::Random(distribution),
            seek if seek > 0.0 => AddressOrder::Mixed { seek, distribution },
            seek => AddressOrder::Sequential { once: seek < 0.0, backward: false },
        }
    }
}

impl Work {
    /// What a copy costs, in units of work.
    pub(crate) fn weight(&self) -> usize {
        let mix = if let TransferSize::Mix(mix) = &self.transfer { mix.len() / 8 } else { 0 };
        16 + self.name.len() / 16 + mix + self.targets.len() * 4
    }
}

/// Reads all workload definitions, in order; gives also `wd=default` as it is behind the last of them.
pub(crate) fn read(context: &mut ReadingContext, statements: &[Statement]) -> (Vec<Work>, Work) {
    let mut template = Work::default();
    let mut out: Vec<Work> = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for statement in statements {
        debug_assert_eq!(statement.section, Section::Workload);
        if !context.work(template.weight(), statement.span) {
            break;
        }
        let mut work = Work { span: statement.span, name: statement.name.text.clone(), ..template.clone() };
        let named = statement::check_name(context, statement);
        statement::each(context, statement, |context, name, param| set(context, &mut work, name, param));
        if work.name == "default" {
            template = work;
            continue;
        }
        check(context, &work);
        if !named {
            continue;
        }
        if out.len() >= DEFINITIONS_MAX {
            let message = format!("more than {DEFINITIONS_MAX} workloads");
            context.note_once("works", Diagnostic::error("too-much", statement.span, message));
        } else if names.insert(work.name.clone()) {
            out.push(work);
        } else {
            let shown: String = work.name.chars().take(40).collect();
            let found = Diagnostic::error("duplicate", statement.span, format!("wd={shown} is defined twice"));
            context.push(found.help("give each its own name"));
        }
    }
    (out, template)
}

fn set(context: &mut ReadingContext, work: &mut Work, name: &'static str, param: &Param) {
    match name {
        "sd" => work.targets.clone_from(&param.values),
        "xfersize" => {
            if let Some(transfer) = transfer(context, param) {
                (work.transfer, work.transfer_span) = (transfer, param.span);
            }
        }
        "rdpct" => work.read = value::fraction(context, name, param).unwrap_or(work.read),
        "wrpct" => work.read = value::fraction(context, name, param).map_or(work.read, |write| 1.0 - write),
        "seekpct" => {
            if let Some(seek) = seek(context, param, work.seek) {
                (work.seek, work.order_span) = (seek, param.span);
            }
        }
        "rhpct" => work.read_hit = value::fraction(context, name, param).unwrap_or(work.read_hit),
        "whpct" => work.write_hit = value::fraction(context, name, param).unwrap_or(work.write_hit),
        // Both set the same two numbers of Vdbench's, and hotband= is never taken back.
        "range" if work.hot_band.is_some() => {
            work.hot_band = shared::range(context, name, param).or(work.hot_band);
        }
        "range" => work.range = shared::range(context, name, param).or(work.range),
        "hotband" => {
            work.hot_band = shared::range(context, name, param).or(work.hot_band);
            (work.range, work.hot_band_span) = (None, param.span);
        }
        "stride" => {
            if let Some(stride) = stride(context, param) {
                (work.stride, work.stride_span) = (Some(stride), param.span);
            }
        }
        "streams" => work.streams = value::count(context, name, param, 2..=65_536).or(work.streams),
        "skew" => skew(context, work, param),
        // 0 is none.
        "iorate" => {
            let rate = value::bounded(context, name, param, Unit::Plain, 0.0..=1e9);
            work.rate = rate.map_or(work.rate, |rate| (rate > 0.0).then_some(rate));
        }
        "priority" => {
            work.priority = value::count(context, name, param, 1..=1_000_000).map(|number| (number, param.span));
        }
        "threads" => work.threads = value::count(context, name, param, 1..=65_536).or(work.threads),
        "openflags" => work.open = Some(shared::open_flags(context, param)),
        "user" => context.unsupported(param.key_span, "workloads written in Java (user=) cannot run here"),
        "host" => shared::hosts(context, param),
        _ => extension(context, work, name, param),
    }
}

/// `skew=`: to Vdbench 0 is as if it were not there.
fn skew(context: &mut ReadingContext, work: &mut Work, param: &Param) {
    let share = value::fraction(context, "skew", param);
    if share == Some(0.0) {
        let found = Diagnostic::warning("skew", param.span, "skew=0 is as no skew= at all, as in Vdbench");
        context.push(
            found.help("the workload gets an equal part of what the others leave; take it out of wd= of the run"),
        );
    }
    work.skew = share.filter(|share| *share > 0.0).map(|share| (share, param.span));
}

/// Parameters that Vdbench does not have.
fn extension(context: &mut ReadingContext, work: &mut Work, name: &'static str, param: &Param) {
    match name {
        "trimpct" => work.trim = value::fraction(context, name, param).unwrap_or(0.0),
        "flushpct" => work.flush = value::fraction(context, name, param).unwrap_or(0.0),
        "fsync_every" => work.fsync_every = value::count(context, name, param, 1..=u32::MAX),
        "fdatasync_every" => work.fdatasync_every = value::count(context, name, param, 1..=u32::MAX),
        "thinktime" => work.think_ns = value::time_ns(context, name, param, 0.0).unwrap_or(0),
        "random_distribution" => {
            if let Some(spread) = spread(context, param) {
                work.spread = Some((spread, param.span));
            }
        }
        _ => {
            let exact = value::text(context, name, param)
                .and_then(|text| value::word(context, name, &text, &["exact", "random"]));
            work.spread = match exact {
                Some("exact") => Some((AddressDistribution::ExactOnce, param.span)),
                _ => None,
            };
        }
    }
}

/// `random_distribution=zipf:1.2`, `(pareto,0.2)`, `(normal,20)`, `random`.
fn spread(context: &mut ReadingContext, param: &Param) -> Option<AddressDistribution> {
    let first = param.values.first()?;
    let (word, number) = match (first.text.split_once(':'), param.values.get(1)) {
        (Some((word, number)), None) => (word, Some(Text { text: number.to_string(), ..first.clone() })),
        (None, second) => (first.text.as_str(), second.cloned()),
        (Some(_), Some(second)) => {
            context.push(Diagnostic::error("one-value", second.span, "`random_distribution` has two numbers"));
            return None;
        }
    };
    let text = Text { text: word.to_string(), ..first.clone() };
    let word = value::word(context, "random_distribution", &text, &["random", "zipf", "pareto", "normal"])?;
    if word == "random" {
        return Some(AddressDistribution::Uniform);
    }
    let Some(number) = number else {
        let found = Diagnostic::error("random-distribution", first.span, format!("`{word}` needs a number"));
        context.push(found.help("write zipf:1.2, pareto:0.2 or normal:20 (percent of the range)"));
        return None;
    };
    let values = std::slice::from_ref(&number);
    let number = *value::list(context, "random_distribution", &Param::default(), values, Unit::Plain, &[])?.first()?;
    match word {
        "zipf" => value::check_bounds(context, "zipf", &number, 0.01..=10.0).map(AddressDistribution::Zipf),
        "pareto" => value::check_bounds(context, "pareto", &number, 0.01..=0.99).map(AddressDistribution::Pareto),
        _ => value::check_bounds(context, "normal", &Number { percent: false, ..number }, 0.01..=100.0)
            .map(|percent| AddressDistribution::Normal(percent / 100.0)),
    }
}

/// `n`, `(n,pct,n,pct,…)` or `(min,max,align)`.
fn transfer(context: &mut ReadingContext, param: &Param) -> Option<TransferSize> {
    let numbers = value::numbers(context, "xfersize", param, Unit::Plain)?;
    let bytes = |context: &mut ReadingContext, number: &Number| transfer_bytes(context, number);
    match numbers.as_slice() {
        [one] => bytes(context, one).map(TransferSize::Fixed),
        [min, max, align] => {
            let (min, max, align) = (bytes(context, min)?, bytes(context, max)?, bytes(context, align)?);
            if min <= max {
                return Some(TransferSize::Uniform { min, max, align });
            }
            let message = format!("xfersize from {min} to {max} is empty");
            let help = "three values mean (min,max,align) with min ≤ max; a mix is (size,pct,size,pct)";
            context.push(Diagnostic::error("xfersize", param.span, message).help(help));
            None
        }
        pairs if pairs.len() % 2 == 0 => {
            let mut mix = Vec::with_capacity(pairs.len() / 2);
            for pair in pairs.chunks_exact(2) {
                mix.push((bytes(context, &pair[0])?, value::fraction_of(context, "xfersize", &pair[1])?));
            }
            let sum: f64 = mix.iter().map(|(_, weight)| weight).sum();
            // Vdbench rounds the sum to whole percents, and the last size gets what the others leave.
            if !(99.5..100.5).contains(&(sum * 100.0)) {
                let message = format!("the percentages of xfersize add up to {:.4}", sum * 100.0);
                context.push(Diagnostic::error("percentages", param.span, message).help("they must add up to 100"));
                return None;
            }
            let mut before = 0.0_f64;
            let last = mix.len() - 1;
            for (at, (_, weight)) in mix.iter_mut().enumerate() {
                *weight = if at == last { 1.0 - before } else { weight.min(1.0 - before) };
                before += *weight;
            }
            mix.retain(|(_, weight)| *weight > 1e-12);
            Some(TransferSize::Mix(mix))
        }
        other => {
            let message = format!("`xfersize` cannot have {} values", other.len());
            let help = "one size, (min,max,align), or pairs (size,pct,size,pct)";
            context.push(Diagnostic::error("xfersize", param.span, message).help(help));
            None
        }
    }
}

/// A transfer size: a multiple of 512.
pub(crate) fn transfer_bytes(context: &mut ReadingContext, number: &Number) -> Option<u64> {
    let bytes = value::bytes_of(context, "xfersize", number, 512..=TRANSFER_MAX)?;
    if bytes % 512 == 0 {
        return Some(bytes);
    }
    let message = format!("`xfersize` must be a multiple of 512, found {bytes}");
    let help = format!("the next is {}", bytes.next_multiple_of(512));
    context.push(Diagnostic::error("alignment", number.span, message).help(help));
    None
}

/// Words of `forseekpct=` that stand for numbers.
pub(crate) const SEEK_WORDS: [(&str, f64); 5] =
    [("random", 100.0), ("sequential", 0.0), ("seq", 0.0), ("rand", 100.0), ("eof", -1.0)];

/// `seekpct=`: its words and numbers one after the other, each changing one thing of what holds until then.
fn seek(context: &mut ReadingContext, param: &Param, before: Seek) -> Option<Seek> {
    let mut seek = before;
    let (mut is_poisson, mut is_number) = (before.midpoint <= 0.0, false);
    for text in &param.values {
        let word = text.text.to_lowercase();
        let begins = |whole: &str| !word.is_empty() && whole.starts_with(&word);
        if word.starts_with("seq") || begins("sequential") {
            seek.percent = 0.0;
            seek.random_start |= word.contains("nz");
        } else if begins("eof") {
            seek.percent = -1.0;
        } else if begins("random") {
            seek.percent = 100.0;
        } else if begins("poisson") {
            (seek.percent, seek.midpoint, is_poisson) = (100.0, 3.0, true);
        } else if word.starts_with(|c: char| c.is_alphabetic()) {
            let _ = value::word(context, "seekpct", text, &["random", "sequential", "seqnz", "eof", "poisson"]);
            return None;
        } else {
            let numbers =
                value::list(context, "seekpct", &Param::default(), std::slice::from_ref(text), Unit::Plain, &[])?;
            let number = numbers.first()?;
            if seek.midpoint > 0.0 {
                if !is_poisson {
                    warn_of_midpoint(context, text);
                }
                let midpoint = if number.value == 0.0 { Some(0.0) } else { None };
                let bounds = 0.1..=1000.0;
                seek.midpoint =
                    midpoint.or_else(|| value::check_bounds(context, "the midpoint of poisson", number, bounds))?;
            } else if std::mem::replace(&mut is_number, true) {
                // To Vdbench the last one counts.
                let found = Diagnostic::error("one-value", param.span, "`seekpct` wants one number");
                context.push(found.help("a list of them is a loop and belongs to rd=: forseekpct=(0,100)"));
                return None;
            } else {
                seek.percent = seek_percent(context, number)?;
            }
        }
    }
    Some(seek)
}

/// A number behind an inherited `poisson` is its midpoint to Vdbench.
fn warn_of_midpoint(context: &mut ReadingContext, text: &Text) {
    let message = format!("`{}` is the midpoint of the poisson that wd=default asks for", text.text);
    let found = Diagnostic::warning("seekpct", text.span, message);
    context.push(found.help("as in Vdbench; ask for poisson only where it is meant"));
}

/// A number of `seekpct=`: percent; any negative one is `eof`, above 100 is random.
pub(crate) fn seek_percent(context: &mut ReadingContext, number: &Number) -> Option<f64> {
    value::check_bounds(context, "seekpct", number, -1e9..=1e9).map(|percent| percent.clamp(-1.0, 100.0)).map(
        |percent| {
            if percent < 0.0 { -1.0 } else { percent }
        },
    )
}

fn stride(context: &mut ReadingContext, param: &Param) -> Option<(u64, u64)> {
    let numbers = value::numbers(context, "stride", param, Unit::Plain)?;
    let [min, max] = numbers.as_slice() else {
        let message = format!("`stride` wants (min,max), found {} values", numbers.len());
        context.push(Diagnostic::error("stride", param.span, message).help("a fixed skip is stride=(64k,64k)"));
        return None;
    };
    let min = value::bytes_of(context, "stride", min, 0..=value::BYTES_MAX)?;
    let max = value::bytes_of(context, "stride", max, 0..=value::BYTES_MAX)?;
    if min > max || min % 512 != 0 || max % 512 != 0 {
        let message = format!("a stride from {min} to {max} bytes is not possible");
        context.push(Diagnostic::error("stride", param.span, message).help("min ≤ max, both multiples of 512"));
        return None;
    }
    Some((min, max))
}

/// A stride is for operations that seek; complains at the definition, and again for the loops of a run.
pub(crate) fn check_stride(context: &mut ReadingContext, work: &Work) {
    if work.stride.is_none() {
        return;
    }
    let help = if work.streams.is_some() {
        "streams= are sequential: take one of the two out"
    } else if work.seek.percent <= 0.0 {
        "sequential order has no stride; write seekpct=100, or the percentage of operations that skip"
    } else {
        return;
    };
    let found = Diagnostic::error("conflict", work.stride_span, "stride= is for operations that seek");
    context.push(found.help(help));
}

/// What contradicts itself inside one definition.
pub(crate) fn check(context: &mut ReadingContext, work: &Work) {
    if work.trim + work.flush > 1.0 {
        let message = format!("trimpct and flushpct together are {}", (work.trim + work.flush) * 100.0);
        context.push(
            Diagnostic::error("percentages", work.span, message).help("at most 100; reads and writes share the rest"),
        );
    }
    let is_random = work.seek.percent >= 100.0 && work.seek.midpoint <= 0.0;
    if let Some((_, span)) = work.spread.filter(|_| !is_random) {
        let found = Diagnostic::error("conflict", span, "a distribution of random addresses needs seekpct=100");
        context.push(found.help("take one of the two out"));
    }
    let other = work.spread.is_some_and(|(spread, _)| spread != AddressDistribution::Uniform) || work.streams.is_some();
    if work.hot_band.is_some() && other {
        let found =
            Diagnostic::error("conflict", work.hot_band_span, "hotband= has its own distribution of random addresses");
        context.push(found.help("leave streams=, random_distribution= and coverage= out"));
    }
    if let (Some(_), Some((_, skew))) = (work.rate, work.skew) {
        let shown: String = work.name.chars().take(40).collect();
        let found = Diagnostic::error("conflict", skew, format!("wd={shown} has skew= and iorate="));
        context.push(found.help("take one of the two out"));
    }
    check_stride(context, work);
}
