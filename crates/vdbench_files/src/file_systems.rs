//! File system definitions: `fsd=`.

use crate::names::Names;
use crate::param::{Param, Text};
use crate::shared;
use crate::statement::{self, Statement};
use crate::storage::TARGETS_MAX;
use crate::value::{self, Number, Unit, plain};
use parameter_text::{Diagnostic, ReadingContext};
use plan::{FilePlace, FileSizes, OpenFlags, TextSpan, TreeShape};
use std::collections::BTreeSet;
use std::path::Path;

/// The deepest tree: a path in it still fits into 4,096 bytes.
pub(crate) const DEPTH_MAX: u32 = 300;
/// The largest file.
pub(crate) const FILE_BYTES_MAX: u64 = (1 << 48) - 1;
/// The largest mean of `sizes=(n,0)`, Java's largest number.
const MEAN_MAX: u64 = (1 << 31) - 1;
/// Vdbench allows more files in one directory only where their number ends so.
const FILES_MAX: u32 = 10_000_000;

/// A file system definition.
#[derive(Clone, Debug)]
pub(crate) struct FileSystem {
    pub(crate) name: String,
    anchor: Option<Text>,
    /// Where the journal is, should there be one.
    pub(crate) journal: Option<Text>,
    /// `shape=FILE`, a parameter of our own.
    listed: Option<Text>,
    /// A parameter of this definition that says which directories and files there are.
    form: Option<(&'static str, TextSpan)>,
    pub(crate) shape: TreeShape,
    pub(crate) open: OpenFlags,
    /// First number, how many.
    count: Option<(u64, u64)>,
    pub(crate) span: TextSpan,
}

impl Default for FileSystem {
    fn default() -> Self {
        Self {
            name: String::new(),
            anchor: None,
            journal: None,
            listed: None,
            form: None,
            shape: TreeShape::regular(1, 1, 10, 4096),
            open: OpenFlags::default(),
            count: None,
            span: TextSpan::default(),
        }
    }
}

impl FileSystem {
    /// The directory that holds the tree.
    pub(crate) fn anchor(&self) -> &Path {
        Path::new(self.anchor.as_ref().map_or("", |text| text.text.as_str()))
    }

    /// What a copy costs, in units of work.
    fn weight(&self) -> usize {
        let sizes = if let FileSizes::Mix(mix) = &self.shape.sizes { mix.len() / 4 } else { 0 };
        16 + sizes + self.anchor.as_ref().map_or(0, |text| text.text.len() / 16)
    }
}

/// Reads all file system definitions, in order.
pub(crate) fn read(context: &mut ReadingContext, statements: &[Statement]) -> Vec<FileSystem> {
    let mut template = FileSystem::default();
    let mut out: Vec<FileSystem> = Vec::new();
    let mut names = BTreeSet::new();
    for statement in statements {
        if !context.work(template.weight(), statement.span) {
            break;
        }
        let named = statement::check_name(context, statement);
        let name = statement.name.text.clone();
        let mut system = FileSystem { span: statement.span, name, form: None, ..template.clone() };
        statement::each(context, statement, |context, name, param| set(context, &mut system, name, param));
        list(context, &mut system);
        if system.name == "default" {
            template = system;
            continue;
        }
        if system.anchor.is_none() {
            let message = format!("fsd={} has no anchor=", shown(&system.name));
            context.push(Diagnostic::error("no-anchor", statement.span, message).help("add anchor=/a/directory"));
        }
        if !named {
            continue;
        }
        for one in copies(context, system) {
            if out.len() >= TARGETS_MAX {
                let message = format!("more than {TARGETS_MAX} file systems");
                context.note_once("systems", Diagnostic::error("too-much", statement.span, message));
                return out;
            }
            if names.insert(one.name.clone()) {
                out.push(one);
            } else {
                let message = format!("fsd={} is defined twice", shown(&one.name));
                let found = Diagnostic::error("duplicate", statement.span, message);
                context.push(found.help("give each its own name"));
            }
        }
    }
    check_anchors(context, &out);
    out
}

/// A tree with a shape file: nothing else says which directories and files it has.
fn list(context: &mut ReadingContext, system: &mut FileSystem) {
    let Some(file) = &system.listed else { return };
    if let Some((name, span)) = system.form {
        let message = format!("fsd={} has shape= and `{name}` as well", shown(&system.name));
        let found = Diagnostic::error("shape", span, message);
        context.push(found.help("a shape file says which directories and files there are: leave one of them out"));
    }
    let (depth, width, files, place) = (1, 1, 1, FilePlace::Bottom);
    let sizes = FileSizes::Listed(file.text.clone().into());
    system.shape = TreeShape { depth, width, files, place, sizes, ..system.shape.clone() };
}

pub(crate) fn shown(name: &str) -> String {
    name.chars().take(40).collect()
}

fn set(context: &mut ReadingContext, system: &mut FileSystem, name: &'static str, param: &Param) {
    if ["depth", "width", "files", "sizes", "distribution"].contains(&name) {
        system.form = Some((name, param.span));
    }
    let shape = &mut system.shape;
    match name {
        "anchor" => system.anchor = shared::path_text(context, name, param).or(system.anchor.take()),
        "journal" => system.journal = shared::path_text(context, name, param).or(system.journal.take()),
        "shape" => system.listed = shared::path_text(context, name, param).or(system.listed.take()),
        "depth" => shape.depth = value::count(context, name, param, 1..=DEPTH_MAX).unwrap_or(shape.depth),
        "width" => shape.width = value::count(context, name, param, 1..=u32::MAX).unwrap_or(shape.width),
        "files" => {
            let count = value::one(context, name, param, Unit::Plain).and_then(|number| files_of(context, &number));
            shape.files = count.map_or(shape.files, u64::from);
        }
        "sizes" => {
            if let Some(sizes) = sizes(context, param) {
                shape.sizes = sizes;
            }
        }
        // 0 is none.
        "wss" => {
            if let Some(bytes) = divided(context, name, param) {
                shape.working_set_bytes = (bytes > 0).then_some(bytes);
            }
        }
        "totalsize" => shape.total_bytes = total(context, param).or(shape.total_bytes),
        "shared" => shape.shared = value::yes_no(context, name, param).unwrap_or(shape.shared),
        "distribution" => {
            let word = value::text(context, name, param)
                .and_then(|text| value::word(context, name, &text, &["bottom", "all"]));
            shape.place = match word {
                Some("all") => FilePlace::All,
                Some(_) => FilePlace::Bottom,
                None => shape.place,
            };
        }
        "openflags" => system.open = shared::open_flags(context, param),
        "count" => count(context, system, param),
        _ => {}
    }
}

/// Files in a directory.
pub(crate) fn files_of(context: &mut ReadingContext, number: &Number) -> Option<u32> {
    let files = value::count_of(context, "files", number, 1..=u32::MAX)?;
    if files <= FILES_MAX || files % 1_000_000 == 777 {
        return Some(files);
    }
    let message = format!("files={files} is more than 10 million in one directory");
    let help = "as in Vdbench: use width= and depth= for more directories, or a number that ends in 000777";
    context.push(Diagnostic::error("out-of-range", number.span, message).help(help));
    None
}

/// `n`, `(n,0)`, or `(n,pct,n,pct,…)`.
fn sizes(context: &mut ReadingContext, param: &Param) -> Option<FileSizes> {
    let numbers = value::numbers(context, "sizes", param, Unit::Plain)?;
    match numbers.as_slice() {
        [one] => size_of(context, one).map(FileSizes::Fixed),
        [mean, zero] if zero.value == 0.0 => {
            let whole = Number { value: mean.value.trunc(), ..*mean };
            value::bytes_of(context, "the mean of sizes=(n,0)", &whole, 1..=MEAN_MAX).map(FileSizes::Around)
        }
        pairs if pairs.len() % 2 == 0 && pairs.len() <= 2 * usize::from(u8::MAX) => {
            let mut mix = Vec::with_capacity(pairs.len() / 2);
            for pair in pairs.chunks_exact(2) {
                let _ = value::fraction_of(context, "sizes", &pair[1])?;
                mix.push((size_of(context, &pair[0])?, pair[1].value));
            }
            let sum: f64 = pairs.chunks_exact(2).map(|pair| pair[1].value).sum();
            // Vdbench cuts the sum to a whole number.
            if (100.0..101.0).contains(&sum) {
                return Some(FileSizes::Mix(mix));
            }
            let message = format!("the percentages of sizes add up to {}", plain(sum));
            context.push(Diagnostic::error("percentages", param.span, message).help("they must add up to 100"));
            None
        }
        other => {
            let message = format!("`sizes` cannot have {} values", other.len());
            let help = "one size, (mean,0), or up to 255 pairs (size,pct,size,pct)";
            context.push(Diagnostic::error("sizes", param.span, message).help(help));
            None
        }
    }
}

/// Bytes of a file; Vdbench cuts fractions off (`6.6m`).
pub(crate) fn size_of(context: &mut ReadingContext, number: &Number) -> Option<u64> {
    let whole = Number { value: number.value.trunc(), ..*number };
    value::bytes_of(context, "sizes", &whole, 1..=FILE_BYTES_MAX)
}

/// `totalsize=n` or `(n,divisor)`.
fn total(context: &mut ReadingContext, param: &Param) -> Option<u64> {
    let numbers = value::numbers(context, "totalsize", param, Unit::Plain)?;
    if let Some(number) = numbers.first().filter(|number| number.percent || number.value < 0.0) {
        let found = Diagnostic::error("out-of-range", number.span, "`totalsize` of an fsd= is no percentage");
        context.push(found.help("write bytes; only rd= knows a percentage, which is one of these bytes"));
        return None;
    }
    let bytes = divided(context, "totalsize", param)?;
    if bytes == 0 {
        context.push(Diagnostic::error("out-of-range", param.span, "`totalsize` is 0").help("allowed: 1 or more"));
        return None;
    }
    Some(bytes)
}

/// `n`, or `(n,divisor)`.
fn divided(context: &mut ReadingContext, name: &'static str, param: &Param) -> Option<u64> {
    let numbers = value::numbers(context, name, param, Unit::Plain)?;
    let (number, divisor) = match numbers.as_slice() {
        [one] => (one, 1),
        [one, divisor] => (one, value::bytes_of(context, name, divisor, 1..=1_000_000_000)?),
        other => {
            let message = format!("`{name}` wants one value, found {}", other.len());
            context.push(Diagnostic::error("one-value", param.span, message).help("or (SIZE,DIVISOR)"));
            return None;
        }
    };
    let whole = Number { value: number.value.trunc(), ..*number };
    Some(value::bytes_of(context, name, &whole, 0..=value::BYTES_MAX)? / divisor)
}

fn count(context: &mut ReadingContext, system: &mut FileSystem, param: &Param) {
    let Some(numbers) = value::numbers(context, "count", param, Unit::Plain) else { return };
    let [start, many] = numbers.as_slice() else {
        let message = format!("`count` wants two values, found {}", numbers.len());
        context.push(Diagnostic::error("count", param.span, message).help("count=(START,HOW_MANY)"));
        return;
    };
    let start = value::bytes_of(context, "count", start, 0..=1_000_000_000);
    let many = value::bytes_of(context, "count", many, 1..=TARGETS_MAX as u64);
    system.count = start.zip(many).or(system.count);
}

/// One for each number, which stands behind name and anchor.
fn copies(context: &mut ReadingContext, system: FileSystem) -> Vec<FileSystem> {
    let Some((start, many)) = system.count else { return vec![system] };
    let weight = usize::try_from(many).unwrap_or(usize::MAX).saturating_mul(system.weight());
    if !context.work(weight, system.span) {
        return Vec::new();
    }
    let numbered = |number: u64| {
        let anchor = system.anchor.clone().map(|text| Text { text: format!("{}{number}", text.text), ..text });
        FileSystem { name: format!("{}{number}", system.name), anchor, count: None, ..system.clone() }
    };
    (start..start + many).map(numbered).collect()
}

/// An anchor inside of another one would be taken for a part of its tree. The same anchor may be there twice, as in Vdbench.
fn check_anchors(context: &mut ReadingContext, systems: &[FileSystem]) {
    let mut sorted: Vec<&FileSystem> = systems.iter().filter(|system| system.anchor.is_some()).collect();
    // By their parts, so that what is inside stands behind what it is in.
    sorted.sort_by(|a, b| a.anchor().cmp(b.anchor()));
    for pair in sorted.windows(2) {
        let [outer, inner] = pair else { continue };
        if outer.anchor() != inner.anchor() && inner.anchor().starts_with(outer.anchor()) {
            let message = format!(
                "the anchor of fsd={} is inside of the anchor of fsd={}: {}",
                shown(&inner.name),
                shown(&outer.name),
                outer.anchor().display().to_string().chars().take(80).collect::<String>()
            );
            let span = inner.anchor.as_ref().map_or(inner.span, |text| text.span);
            context.push(Diagnostic::error("anchor", span, message).help("put them beside each other"));
        }
    }
}

/// The names, for lists of them.
pub(crate) fn names(systems: &[FileSystem]) -> Names {
    Names::new("fsd", systems.iter().map(|system| system.name.clone()))
}
