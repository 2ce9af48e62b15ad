//! Flows, which are not Vdbench's: `flow=` of `fwd=`, and the operations that Vdbench does not have.

use crate::file_systems::{FILE_BYTES_MAX, shown};
use crate::keys::{FILE_OPERATIONS, OWN_OPERATIONS};
use crate::param::{Param, Text};
use crate::value::{self, Number, Unit};
use crate::workload::TRANSFER_MAX;
use parameter_text::shortest::bytes;
use parameter_text::{Diagnostic, ReadingContext};
use plan::generate::OperationKind;
use plan::{FlowStep, TextSpan, TreeTask};
use std::ops::RangeInclusive;

/// The most operations of a flow.
const STEPS_MAX: usize = 256;
/// The largest value of an extended attribute that Linux allows.
const ATTRIBUTE_MAX: u64 = 65_536;
/// Another file is next; no operation.
const NEXT: &str = "next";

/// One of the operations of file workloads. Vdbench's may be shortened as if there were no others.
pub(crate) fn operation(context: &mut ReadingContext, name: &str, text: &Text) -> Option<OperationKind> {
    let words = [FILE_OPERATIONS, OWN_OPERATIONS].concat();
    let known = |text: &str| value::fitting(text, FILE_OPERATIONS).or_else(|| value::fitting(text, &words));
    if let Some(word) = text.text.split_once(':').and_then(|(word, _)| known(word)) {
        let message = format!("`{name}` takes no size behind `{word}`");
        let found = Diagnostic::error("size", text.span, message);
        context
            .push(found.help(format!("write flow={}, or xfersize=", text.text.chars().take(40).collect::<String>())));
        return None;
    }
    let word = known(&text.text).or_else(|| value::word(context, name, text, &words));
    word.and_then(OperationKind::of_name)
}

/// Is it none of Vdbench's, so that it is done as a flow?
pub(crate) fn is_own(kind: OperationKind) -> bool {
    OWN_OPERATIONS.contains(&kind.name())
}

/// What a workload does where this is its operation.
pub(crate) fn task(kind: OperationKind) -> TreeTask {
    let step = FlowStep { op: kind, bytes: None, is_next: false };
    match kind {
        // There and back.
        OperationKind::Rename => TreeTask::Flow(vec![step, step]),
        _ if is_own(kind) => TreeTask::Flow(vec![step]),
        _ => TreeTask::One(kind),
    }
}

/// What stood before an operation of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Operation,
    Next,
}

/// `flow=(name,name:size,name:from-to,next,…)`; `None`, with errors, when it is none.
pub(crate) fn read(context: &mut ReadingContext, param: &Param) -> Option<Vec<FlowStep>> {
    let (mut steps, mut spans, mut before, mut good) = (Vec::new(), Vec::new(), Before::Nothing, true);
    for text in &param.values {
        if !text.text.eq_ignore_ascii_case(NEXT) {
            match step(context, text) {
                Some((op, bytes)) => steps.push(FlowStep { op, bytes, is_next: before == Before::Next }),
                None => good = false,
            }
            spans.push(text.span);
            before = Before::Operation;
            continue;
        }
        let help = match before {
            Before::Operation => None,
            Before::Nothing => Some(("`flow` begins with `next`", "each flow begins on another file anyway")),
            Before::Next => Some(("`flow` has `next` twice in a row", "one is another file")),
        };
        if let Some((message, help)) = help {
            context.push(Diagnostic::error("flow", text.span, message).help(format!("take it out: {help}")));
            good = false;
        }
        before = Before::Next;
    }
    if let (Before::Next, Some(last), true) = (before, param.values.last(), good) {
        let found = Diagnostic::error("flow", last.span, "`flow` ends with `next`");
        context.push(found.help("take it out: each flow begins on another file anyway"));
        good = false;
    }
    if steps.len() > STEPS_MAX {
        let message = format!("`flow` has {} operations", steps.len());
        context.push(Diagnostic::error("too-much", param.span, message).help(format!("allowed: up to {STEPS_MAX}")));
        good = false;
    }
    (good && !steps.is_empty() && check_order(context, &steps, &spans)).then_some(steps)
}

/// `name`, `name:size`, `name:from-to`.
fn step(context: &mut ReadingContext, text: &Text) -> Option<(OperationKind, Option<(u64, u64)>)> {
    let (name, size) = match text.text.split_once(':') {
        Some((name, size)) => (name, Some(size)),
        None => (text.text.as_str(), None),
    };
    // With quotes, or with what is no character, the places in the text are not those in the file.
    let is_plain = !text.quoted && text.text.len() == text.span.len as usize;
    let part = |text_part: &str, offset: usize| {
        let (start, len) = (u32::try_from(offset), u32::try_from(text_part.len()));
        let span = match (start, len) {
            (Ok(start), Ok(len)) if is_plain && len > 0 => {
                TextSpan { start: text.span.start.saturating_add(start), len, ..text.span }
            }
            _ => text.span,
        };
        Text { text: text_part.to_string(), span, quoted: false }
    };
    let name = part(name, 0);
    let size = size.map(|size| part(size, name.text.len() + 1));
    let word = value::fitting(&name.text, FILE_OPERATIONS).or_else(|| {
        let words = [FILE_OPERATIONS, OWN_OPERATIONS].concat();
        value::fitting(&name.text, &words)
    });
    let Some(kind) = word.and_then(OperationKind::of_name) else {
        unknown(context, &name, size.is_some());
        return None;
    };
    if !may_flow(kind) {
        let found = Diagnostic::error("flow", name.span, format!("`flow` cannot have `{}`", kind.name()));
        context.push(found.help(
            "mkdir, rmdir, copy and move are not done to one file: give them an fwd= of their own, with operation=",
        ));
        return None;
    }
    match size {
        None => Some((kind, None)),
        Some(size) => sizes(context, kind, &size).map(|sizes| (kind, Some(sizes))),
    }
}

/// Complains of a word that is no operation of a flow.
fn unknown(context: &mut ReadingContext, name: &Text, has_size: bool) {
    if has_size && name.text.eq_ignore_ascii_case(NEXT) {
        let found = Diagnostic::error("flow", name.span, "`next` takes no size");
        context.push(found.help("it is no operation: what stands behind it goes to another file"));
        return;
    }
    let all = [FILE_OPERATIONS, OWN_OPERATIONS].concat();
    let may_stand = |word: &&str| OperationKind::of_name(word).is_some_and(may_flow);
    let words: Vec<&str> = all.into_iter().filter(may_stand).chain([NEXT]).collect();
    // It may be short for `next`, which has to be written out, or for several of the others.
    if value::word(context, "flow", name, &words).is_some() {
        let found =
            Diagnostic::error("unknown-word", name.span, format!("`flow` does not know `{}`", shown(&name.text)));
        context.push(found.help("write the word out"));
    }
}

/// May it stand in a flow?
fn may_flow(kind: OperationKind) -> bool {
    use OperationKind::{Copy, Mkdir, Move, Rmdir};
    !matches!(kind, Mkdir | Rmdir | Copy | Move)
}

/// The sizes that may stand behind an operation; `None`: it takes none.
fn bounds(kind: OperationKind) -> Option<RangeInclusive<u64>> {
    use OperationKind::{
        Append, Fallocate, Getxattr, MmapRead, MmapWrite, Punch, Read, ReadFile, Removexattr, Setxattr, Tail, Truncate,
        Write, WriteFile,
    };
    match kind {
        Read | Write | Append | ReadFile | WriteFile | MmapRead | MmapWrite | Tail => Some(1..=TRANSFER_MAX),
        Truncate => Some(0..=FILE_BYTES_MAX),
        Fallocate | Punch => Some(1..=FILE_BYTES_MAX),
        // Of what is set before them where it is missing, too.
        Setxattr | Getxattr | Removexattr => Some(1..=ATTRIBUTE_MAX),
        _ => None,
    }
}

/// `size`, `from-to`.
fn sizes(context: &mut ReadingContext, kind: OperationKind, text: &Text) -> Option<(u64, u64)> {
    let name = kind.name();
    let Some(bounds) = bounds(kind) else {
        let takers: Vec<&str> =
            OperationKind::ALL.iter().filter(|kind| self::bounds(**kind).is_some()).map(|kind| kind.name()).collect();
        let found = Diagnostic::error("size", text.span, format!("`{name}` takes no size"));
        context.push(found.help(format!("write {name}; a size may stand behind {}", takers.join(", "))));
        return None;
    };
    let range = value::range_of(text, Unit::Plain).map(|(from, to)| [(from, false), (to, false)]);
    let Some(ends) = range.or_else(|| value::parse(&text.text, Unit::Plain).map(|one| [one, one])) else {
        let message = format!("`{name}:` wants a size, found `{}`", shown(&text.text));
        let found = Diagnostic::error("not-a-number", text.span, message);
        context.push(found.help(format!("write {name}:16k, or {name}:4k-64k for any size from 4k to 64k")));
        return None;
    };
    let mut of = |(value, percent)| {
        value::bytes_of(context, &format!("{name}:"), &Number { value, percent, span: text.span }, bounds.clone())
    };
    let (from, to) = (of(ends[0])?, of(ends[1])?);
    if from > to {
        let message = format!("the sizes of `{name}` go from {} to {}", bytes(from), bytes(to));
        let found = Diagnostic::error("range", text.span, message);
        context.push(found.help(format!("the smaller one comes first: {name}:{}-{}", bytes(to), bytes(from))));
        return None;
    }
    Some((from, to))
}

/// What is known of the file of a flow.
#[derive(Clone, Copy, Default)]
struct FlowFile {
    /// `None`: it depends.
    is_there: Option<bool>,
    is_open: bool,
    has_tmpfile: bool,
    has_temp: bool,
}

/// Refuses what fails whatever files there are: a `create` of a file that is there, and what is done to one that was deleted.
fn check_order(context: &mut ReadingContext, steps: &[FlowStep], spans: &[TextSpan]) -> bool {
    let mut file = FlowFile::default();
    for (step, span) in steps.iter().zip(spans) {
        if step.is_next {
            file = FlowFile::default();
        }
        let name = step.op.name();
        let (message, help) = match file.after(step.op) {
            Ok(after) => {
                file = after;
                continue;
            }
            Err(true) => (
                format!("`{name}` of a file that exists: the flow has used it before"),
                "put `next` before it for another file, or `delete`".to_string(),
            ),
            Err(false) => (
                format!("`{name}` of a file that the flow has deleted before"),
                format!("put `next` before it for another file, or `create`; or `{name}` before `delete`"),
            ),
        };
        context.push(Diagnostic::error("flow", *span, message).help(help));
        return false;
    }
    true
}

impl FlowFile {
    /// After an operation; the error says whether it fails because the file is there, or because it is not.
    fn after(self, kind: OperationKind) -> Result<Self, bool> {
        use OperationKind::{
            Access, Close, CopyRange, Create, Delete, Getattr, Getxattr, Link, Listxattr, Open, Readdir, Reflink,
            Removexattr, Rename, Setattr, Setxattr, Statfs, Symlink, Temp, Tmpfile, WriteFile,
        };
        let is_gone = self.is_there == Some(false) && !self.has_tmpfile && !self.has_temp;
        Ok(match kind {
            Create if self.is_there == Some(true) => return Err(true),
            Create | WriteFile => Self { is_there: Some(true), is_open: true, ..self },
            Tmpfile => Self { is_open: true, has_tmpfile: true, ..self },
            Temp => Self { is_open: true, has_temp: true, ..self },
            Link if self.has_tmpfile => Self { is_there: Some(true), has_tmpfile: false, ..self },
            Rename if self.has_temp => Self { is_there: Some(true), has_temp: false, ..self },
            Delete if self.has_temp => Self { has_temp: false, ..self },
            Readdir | Statfs => self,
            Close => Self { is_open: false, ..self },
            // These need its name, the others the file, open or not.
            Delete | Getattr | Setattr | Access | Open | Rename | Link | Symlink | Getxattr | Setxattr | Listxattr
            | Removexattr
                if is_gone =>
            {
                return Err(false);
            }
            Delete => Self { is_there: Some(false), ..self },
            _ if is_gone && !self.is_open => return Err(false),
            _ if self.has_tmpfile || self.has_temp => self,
            CopyRange | Reflink => Self { is_there: Some(true), has_temp: true, ..self },
            Open => Self { is_there: Some(true), is_open: true, ..self },
            // Of a file that was deleted while it was open nothing is known by its name.
            _ if self.is_there == Some(false) => self,
            _ => Self { is_there: Some(true), ..self },
        })
    }
}
