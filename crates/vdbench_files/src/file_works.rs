//! File workload definitions: `fwd=`.

use crate::file_systems::shown;
use crate::flows;
use crate::keys::FILE_OPERATIONS;
use crate::names::Names;
use crate::param::{Param, Text};
use crate::shared;
use crate::statement::{self, Statement};
use crate::value::{self, Number, Unit, plain};
use crate::workload::{DEFINITIONS_MAX, TRANSFER_MAX};
use parameter_text::{Diagnostic, ReadingContext};
use plan::generate::OperationKind;
use plan::{FileOrder, FileSelect, FlowStep, OpenFlags, StopAfter, SyncEvery, TextSpan, TransferSize};
use std::collections::BTreeSet;

/// Vdbench's midpoint where none is given.
const MIDPOINT: f64 = 3.0;
const FORMAT_TRANSFER: u64 = 128 << 10;

/// A file workload definition.
#[derive(Clone, Debug)]
pub(crate) struct FileWork {
    pub(crate) name: String,
    pub(crate) systems: Vec<Text>,
    pub(crate) target: Option<Text>,
    pub(crate) operation: OperationKind,
    /// These in place of it (`flow=`).
    pub(crate) flow: Option<Vec<FlowStep>>,
    /// Fraction of reads, where reads and writes are mixed.
    pub(crate) read: Option<f64>,
    read_span: TextSpan,
    select: Select,
    pub(crate) access: FileOrder,
    pub(crate) access_span: TextSpan,
    pub(crate) stop_after: Option<StopAfter>,
    pub(crate) sync: Option<SyncEvery>,
    pub(crate) transfer: TransferSize,
    pub(crate) skew: Option<(f64, TextSpan)>,
    pub(crate) threads: u32,
    pub(crate) open: Option<OpenFlags>,
    said: Said,
    pub(crate) span: TextSpan,
}

/// Where a definition itself says what is done, not `fwd=default`.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    flow: Option<TextSpan>,
    operation: Option<TextSpan>,
    read: Option<TextSpan>,
    stop_after: Option<TextSpan>,
    /// `fsync=` or `fdatasync=`.
    sync: Option<TextSpan>,
}

/// What `fileselect=` says, word by word; Vdbench keeps each of these when another is set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Select {
    random: bool,
    once: bool,
    /// Of `poisson`; 0: uniform.
    midpoint: f64,
}

impl Default for FileWork {
    fn default() -> Self {
        Self {
            name: "default".to_string(),
            systems: Vec::new(),
            target: None,
            operation: OperationKind::Read,
            flow: None,
            read: None,
            read_span: TextSpan::default(),
            select: Select::default(),
            access: FileOrder::Sequential,
            access_span: TextSpan::default(),
            stop_after: None,
            sync: None,
            transfer: TransferSize::Fixed(4096),
            skew: None,
            threads: 1,
            open: None,
            said: Said::default(),
            span: TextSpan::default(),
        }
    }
}

impl FileWork {
    /// Which file is next. `once` goes through the files in order, also where Vdbench takes them by chance.
    pub(crate) fn selection(&self) -> FileSelect {
        match self.select {
            Select { once: true, .. } => FileSelect::Once,
            Select { random: false, .. } => FileSelect::Sequential,
            Select { midpoint, .. } if midpoint > 0.0 => {
                FileSelect::Poisson { midpoint: (midpoint.to_bits() != MIDPOINT.to_bits()).then_some(midpoint) }
            }
            Select { .. } => FileSelect::Random,
        }
    }

    /// Where it says itself after how many writes they are made durable.
    pub(crate) fn sync_span(&self) -> Option<TextSpan> {
        self.said.sync
    }

    /// What a copy costs, in units of work.
    pub(crate) fn weight(&self) -> usize {
        let mix = if let TransferSize::Mix(mix) = &self.transfer { mix.len() / 8 } else { 0 };
        16 + mix + self.systems.len() * 4 + self.flow.as_ref().map_or(0, |flow| flow.len() / 4)
    }
}

/// How trees are made: `fwd=format`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatWork {
    pub(crate) threads: u32,
    pub(crate) transfer_bytes: u64,
    pub(crate) open: Option<OpenFlags>,
}

/// All file workload definitions.
#[derive(Debug)]
pub(crate) struct FileWorks {
    pub(crate) list: Vec<FileWork>,
    /// `fwd=default` behind the last of them.
    pub(crate) default: FileWork,
    pub(crate) format: FormatWork,
}

impl FileWorks {
    /// The names, for lists of them.
    pub(crate) fn names(&self) -> Names {
        Names::new("fwd", self.list.iter().map(|work| work.name.clone()))
    }
}

/// Reads all file workload definitions, in order.
pub(crate) fn read(context: &mut ReadingContext, statements: &[Statement]) -> FileWorks {
    let format = FormatWork { threads: 8, transfer_bytes: FORMAT_TRANSFER, open: None };
    let mut out = FileWorks { list: Vec::new(), default: FileWork::default(), format };
    let mut names = BTreeSet::new();
    for statement in statements {
        if !context.work(out.default.weight(), statement.span) {
            break;
        }
        let named = statement::check_name(context, statement);
        let name = statement.name.text.clone();
        let mut work = FileWork { span: statement.span, name, said: Said::default(), ..out.default.clone() };
        if work.name == "format" {
            // Vdbench's own, not that of fwd=default; the threads are those of fwd=default.
            work.transfer = TransferSize::Fixed(FORMAT_TRANSFER);
        }
        statement::each(context, statement, |context, name, param| set(context, &mut work, name, param));
        if !["format", "journal_recovery"].contains(&work.name.as_str()) {
            settle(context, &mut work);
        }
        match work.name.as_str() {
            "default" => out.default = work,
            "journal_recovery" => {}
            "format" => {
                let transfer_bytes = match &work.transfer {
                    TransferSize::Fixed(bytes) => *bytes,
                    // The first counts.
                    TransferSize::Mix(mix) => mix.first().map_or(FORMAT_TRANSFER, |(bytes, _)| *bytes),
                    TransferSize::Uniform { min, .. } => *min,
                };
                out.format = FormatWork { threads: work.threads, transfer_bytes, open: work.open };
            }
            _ if !named => {}
            _ => add(context, &mut out.list, &mut names, work),
        }
    }
    out
}

fn add(context: &mut ReadingContext, list: &mut Vec<FileWork>, names: &mut BTreeSet<String>, work: FileWork) {
    let name = shown(&work.name);
    check(context, &work);
    if is_operation(&work.name) {
        let message = format!("fwd={name} has the name of an operation");
        context.push(Diagnostic::error("name", work.span, message).help("as in Vdbench: give it another name"));
    } else if list.len() >= DEFINITIONS_MAX {
        let message = format!("more than {DEFINITIONS_MAX} file workloads");
        context.note_once("file-works", Diagnostic::error("too-much", work.span, message));
    } else if names.insert(work.name.clone()) {
        list.push(work);
    } else {
        let message = format!("fwd={name} is defined twice");
        context.push(Diagnostic::error("duplicate", work.span, message).help("give each its own name"));
    }
}

/// Can no definition have this name?
pub(crate) fn is_reserved(name: &str) -> bool {
    ["default", "format", "journal_recovery"].contains(&name) || is_operation(name)
}

fn is_operation(name: &str) -> bool {
    FILE_OPERATIONS.iter().any(|word| word.eq_ignore_ascii_case(name))
}

fn set(context: &mut ReadingContext, work: &mut FileWork, name: &'static str, param: &Param) {
    match name {
        "fsd" => work.systems.clone_from(&param.values),
        "target" => work.target = value::text(context, name, param).or(work.target.take()),
        "operation" => {
            let kind = value::text(context, name, param).and_then(|text| flows::operation(context, name, &text));
            work.operation = kind.unwrap_or(work.operation);
            work.said.operation = Some(param.span);
        }
        "flow" => {
            work.flow = flows::read(context, param).or(work.flow.take());
            work.said.flow = Some(param.span);
        }
        "rdpct" => {
            if let Some(read) = value::fraction(context, name, param) {
                (work.read, work.read_span, work.said.read) = (Some(read), param.span, Some(param.span));
            }
        }
        "fileselect" => select(context, work, param),
        "fileio" => access(context, work, param),
        "stopafter" => {
            work.stop_after = stop_after(context, param).or(work.stop_after);
            work.said.stop_after = Some(param.span);
        }
        "fsync" | "fdatasync" => sync(context, work, name, param),
        "xfersizes" => work.transfer = transfer(context, param).unwrap_or_else(|| work.transfer.clone()),
        "threads" => work.threads = value::count(context, name, param, 1..=65_536).unwrap_or(work.threads),
        "skew" => skew(context, work, param),
        "openflags" => work.open = Some(shared::open_flags(context, param)),
        "host" => shared::hosts(context, param),
        _ => {}
    }
}

/// `skew=`: to Vdbench 0 is as if it were not there.
fn skew(context: &mut ReadingContext, work: &mut FileWork, param: &Param) {
    let share = value::fraction(context, "skew", param);
    if share == Some(0.0) {
        let found = Diagnostic::warning("skew", param.span, "skew=0 is as no skew= at all, as in Vdbench");
        context.push(
            found.help("the workload gets an equal part of what the others leave; take it out of fwd= of the run"),
        );
    }
    work.skew = share.filter(|share| *share > 0.0).map(|share| (share, param.span));
}

/// `fileselect=`: its words and numbers one after the other, each changing one thing of what holds until then.
fn select(context: &mut ReadingContext, work: &mut FileWork, param: &Param) {
    const WORDS: [&str; 5] = ["random", "sequential", "once", "poisson", "skewed"];
    for text in &param.values {
        let number = text.text.strip_prefix("midpoint=").unwrap_or(&text.text);
        if value::parse(number, Unit::Plain).is_some() {
            work.select.random |= number.len() < text.text.len();
            let text = Text { text: number.to_string(), ..text.clone() };
            let number = value::list(context, "fileselect", param, &[text], Unit::Plain, &[]);
            let Some([number]) = number.as_deref() else { return };
            let bounds = if number.value == 0.0 { 0.0..=0.0 } else { 0.001..=1e9 };
            let Some(midpoint) = value::check_bounds(context, "the midpoint of poisson", number, bounds) else {
                return;
            };
            work.select.midpoint = midpoint;
            continue;
        }
        match value::word(context, "fileselect", text, &WORDS) {
            Some("random") => work.select.random = true,
            Some("sequential") => work.select.random = false,
            Some("once") => work.select.once = true,
            // To Vdbench both are the same.
            Some(_) => (work.select.random, work.select.midpoint) = (true, MIDPOINT),
            None => return,
        }
    }
}

/// `fileio=random`, `(random,shared)`, `sequential`, `(sequential,delete)`.
fn access(context: &mut ReadingContext, work: &mut FileWork, param: &Param) {
    let Some(first) = param.values.first() else { return };
    let Some(word) = value::word(context, "fileio", first, &["random", "sequential"]) else { return };
    let is_random = word == "random";
    let more = if is_random { "shared" } else { "delete" };
    let second = param.values.get(1).map(|text| value::word(context, "fileio", text, &[more]));
    if let Some(third) = param.values.get(2) {
        let found = Diagnostic::error("fileio", third.span, "`fileio` wants at most two words");
        context.push(found.help("write random, (random,shared), sequential or (sequential,delete)"));
        return;
    }
    work.access_span = param.span;
    work.access = match second {
        Some(None) => return,
        None if is_random => FileOrder::Random,
        None => FileOrder::Sequential,
        Some(Some(_)) if is_random => FileOrder::RandomShared,
        Some(Some(_)) => FileOrder::SequentialDelete,
    };
}

/// `stopafter=n` transfers, `n%` of the file.
fn stop_after(context: &mut ReadingContext, param: &Param) -> Option<StopAfter> {
    let number = value::one(context, "stopafter", param, Unit::Plain)?;
    if number.percent || number.value < 0.0 {
        let percent = Number { value: number.value.abs(), percent: false, ..number };
        let percent = value::check_bounds(context, "stopafter in percent", &percent, 1.0..=1_000_000.0)?;
        return Some(StopAfter::Fraction(percent / 100.0));
    }
    value::bytes_of(context, "stopafter", &number, 1..=1 << 50).map(StopAfter::Transfers)
}

/// `fsync=n`, `fdatasync=n`: one of them, after every n writes to a file.
fn sync(context: &mut ReadingContext, work: &mut FileWork, name: &'static str, param: &Param) {
    let writes = value::bytes(context, name, param, 1..=1 << 50);
    if work.said.sync.is_some() {
        let message = format!("fwd={} says twice after how many writes they are made durable", shown(&work.name));
        let found = Diagnostic::error("conflict", param.key_span, message);
        context.push(found.help("keep one of them: fsync=, or fdatasync= for the data alone"));
    }
    work.sync = writes.map(|writes| SyncEvery { writes, data_only: name == "fdatasync" }).or(work.sync);
    work.said.sync = Some(param.span);
}

/// `n`, or `(n,pct,n,pct,…)`.
fn transfer(context: &mut ReadingContext, param: &Param) -> Option<TransferSize> {
    let numbers = value::numbers(context, "xfersize", param, Unit::Plain)?;
    match numbers.as_slice() {
        [one] => file_transfer_bytes(context, one).map(TransferSize::Fixed),
        pairs if pairs.len() % 2 == 0 => {
            let mut mix = Vec::with_capacity(pairs.len() / 2);
            for pair in pairs.chunks_exact(2) {
                let share = value::fraction_of(context, "xfersize", &pair[1])?;
                mix.push((file_transfer_bytes(context, &pair[0])?, share));
            }
            let sum: f64 = pairs.chunks_exact(2).map(|pair| pair[1].value).sum();
            if !(100.0 - 1e-9..101.0).contains(&sum) {
                let message = format!("the percentages of xfersize add up to {}", plain(sum));
                context.push(Diagnostic::error("percentages", param.span, message).help("they must add up to 100"));
                return None;
            }
            // The last size gets what the others leave.
            let mut before = 0.0_f64;
            let last = mix.len() - 1;
            for (at, (_, share)) in mix.iter_mut().enumerate() {
                *share = if at == last { 1.0 - before } else { share.min(1.0 - before) };
                before += *share;
            }
            mix.retain(|(_, share)| *share > 1e-12);
            Some(if let [(bytes, _)] = mix[..] { TransferSize::Fixed(bytes) } else { TransferSize::Mix(mix) })
        }
        other => {
            let message = format!("`xfersize` of fwd= cannot have {} values", other.len());
            let help = "one size, or pairs (size,pct,size,pct); (min,max,align) is for wd= only";
            context.push(Diagnostic::error("xfersize", param.span, message).help(help));
            None
        }
    }
}

/// A transfer in files: any number of bytes.
pub(crate) fn file_transfer_bytes(context: &mut ReadingContext, number: &Number) -> Option<u64> {
    value::bytes_of(context, "xfersize", number, 1..=TRANSFER_MAX)
}

/// What a definition itself says of operations takes the place of what `fwd=default` says; it can say one thing only.
fn settle(context: &mut ReadingContext, work: &mut FileWork) {
    let said = work.said;
    if said.flow.is_some() {
        work.read = work.read.filter(|_| said.read.is_some());
    } else if said.operation.is_some() || said.read.is_some() {
        work.flow = None;
        let is_other = said.read.is_none() && flows::is_own(work.operation);
        work.read = work.read.filter(|_| !is_other);
    }
    let is_own = said.operation.is_some() && flows::is_own(work.operation);
    let is_flow = work.flow.is_some() || (flows::is_own(work.operation) && work.read.is_none());
    let (what, flow) = match work.flow {
        Some(_) => ("flow=".to_string(), said.flow),
        None => (format!("operation={}", work.operation.name()), None),
    };
    let no_size = "a flow goes to another file at `next` and at its end";
    let (word, span, help) = match (flow, said) {
        (Some(_), Said { operation: Some(span), .. }) => ("operation=", span, "the operations of a flow stand in it"),
        (Some(_), Said { read: Some(span), .. }) => ("rdpct=", span, "write reads and writes into the flow"),
        (None, Said { read: Some(span), .. }) if is_own => ("rdpct=", span, "rdpct= mixes reads and writes only"),
        (_, Said { stop_after: Some(span), .. }) if is_flow => ("stopafter=", span, no_size),
        _ => return,
    };
    let message = format!("fwd={} has {what} and {word}", shown(&work.name));
    context.push(Diagnostic::error("conflict", span, message).help(format!("take {word} out: {help}")));
}

/// What contradicts itself inside one definition.
fn check(context: &mut ReadingContext, work: &FileWork) {
    let name = shown(&work.name);
    if work.access == FileOrder::RandomShared && work.select.random {
        let message = format!("fwd={name} has fileio=(random,shared) and fileselect=random");
        let found = Diagnostic::error("conflict", work.access_span, message);
        context.push(found.help("several threads in one file take the files in order: fileselect=sequential"));
    }
    if work.access == FileOrder::SequentialDelete && work.read.is_some() {
        let message = format!("fwd={name} has fileio=(sequential,delete) and rdpct=");
        context.push(Diagnostic::error("conflict", work.read_span, message).help("take one of the two out"));
    }
    if let Some(target) = &work.target
        && (work.flow.is_some() || !needs_target(work.operation))
    {
        let what = if work.flow.is_some() { "flow=".into() } else { format!("operation={}", work.operation.name()) };
        let message = format!("fwd={name} has target= and {what}");
        let found = Diagnostic::error("conflict", target.span, message);
        context.push(found.help("target= is for operation=copy and operation=move"));
    }
}

/// Is it done from one tree to another?
pub(crate) fn needs_target(operation: OperationKind) -> bool {
    matches!(operation, OperationKind::Copy | OperationKind::Move)
}

/// `rdpct=` in sequential order, as it stands in the definition: Vdbench refuses it, but not what `forrdpct=` makes of it.
pub(crate) fn check_mix(context: &mut ReadingContext, work: &FileWork) -> bool {
    let is_sequential = matches!(work.access, FileOrder::Sequential | FileOrder::SequentialDelete);
    if !is_sequential || work.read.is_none() {
        return true;
    }
    let message = format!("fwd={} has rdpct= and fileio=sequential, which is the default", shown(&work.name));
    let found = Diagnostic::error("conflict", work.read_span, message);
    context.push(found.help("reads and writes are mixed at random places only: add fileio=random"));
    false
}
