//! Storage definitions: `sd=`.

use crate::param::{Param, Text};
use crate::shared::{self, DedupParams};
use crate::statement::{self, Statement};
use crate::value::{self, Unit};
use parameter_text::{Diagnostic, ReadingContext};
use plan::{AddressRange, OpenFlags, TextSpan};

/// Most targets of one plan.
pub(crate) const TARGETS_MAX: usize = 16_384;

/// A storage definition, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    pub(crate) name: String,
    pub(crate) lun: Option<Text>,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) threads: u32,
    pub(crate) hit_area_bytes: u64,
    pub(crate) hit_area_span: Option<TextSpan>,
    pub(crate) offset_bytes: u64,
    pub(crate) align_bytes: Option<u64>,
    pub(crate) range: Option<AddressRange>,
    pub(crate) open: Option<OpenFlags>,
    pub(crate) dedup: DedupParams,
    /// Devices of a trace, or groups of them, that go here.
    pub(crate) replay: Vec<Text>,
    /// Where the journal is, should there be one.
    pub(crate) journal: Option<Text>,
    pub(crate) span: TextSpan,
    count: Option<(u64, u64, TextSpan)>,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            name: String::new(),
            lun: None,
            size_bytes: None,
            threads: 8,
            hit_area_bytes: 1 << 20,
            hit_area_span: None,
            offset_bytes: 0,
            align_bytes: None,
            range: None,
            open: None,
            dedup: DedupParams::default(),
            replay: Vec::new(),
            journal: None,
            span: TextSpan::default(),
            count: None,
        }
    }
}

impl Storage {
    /// A raw device by its name: block 0 is left alone, and direct I/O is meant.
    pub(crate) fn raw(&self) -> bool {
        self.lun.as_ref().is_some_and(|lun| lun.text.starts_with("/dev/") && !lun.text.starts_with("/dev/shm/"))
    }
}

/// Reads all storage definitions, in order.
pub(crate) fn read(context: &mut ReadingContext, statements: &[Statement], general: &DedupParams) -> Vec<Storage> {
    let mut template = Storage { dedup: general.clone(), ..Storage::default() };
    let mut out: Vec<Storage> = Vec::new();
    let mut names = std::collections::BTreeMap::new();
    for statement in statements {
        let default = statement.name.text == "default";
        let mut storage = Storage { span: statement.span, ..template.clone() };
        let named = statement::check_name(context, statement);
        storage.name = statement.name.text.clone();
        statement::each(context, statement, |context, name, param| set(context, &mut storage, name, param, default));
        if default {
            template = storage;
            continue;
        }
        if storage.name == "concat" {
            context
                .push(Diagnostic::error("name", statement.span, "sd=concat is reserved").help("choose another name"));
        }
        if storage.lun.is_none() {
            let found = Diagnostic::error("no-lun", statement.span, format!("sd={} has no lun=", shown(&storage.name)));
            context.push(found.help("add lun=/dev/… or lun=/path/of/a/file"));
        }
        if !named {
            continue;
        }
        warn_of_cache(context, &mut storage);
        for one in copies(context, &storage) {
            if out.len() >= TARGETS_MAX {
                let message = format!("more than {TARGETS_MAX} targets");
                context.note_once("targets", Diagnostic::error("too-much", statement.span, message));
                return out;
            }
            match names.insert(one.name.clone(), one.span) {
                Some(_) => {
                    let message = format!("sd={} is defined twice", shown(&one.name));
                    context
                        .push(Diagnostic::error("duplicate", statement.span, message).help("give each its own name"));
                }
                None => out.push(one),
            }
        }
    }
    out
}

fn shown(name: &str) -> String {
    name.chars().take(40).collect()
}

fn set(context: &mut ReadingContext, storage: &mut Storage, name: &'static str, param: &Param, default: bool) {
    match name {
        "lun" if default => {
            let found = Diagnostic::error("default", param.key_span, "lun= is not allowed in sd=default");
            context.push(found.help("give each sd= its own lun="));
        }
        "lun" => storage.lun = shared::path_text(context, name, param).or(storage.lun.take()),
        "count" => count(context, storage, param),
        // The second value divides by the number of hosts, which is one.
        "size" => storage.size_bytes = divided(context, name, param, 512..=value::BYTES_MAX).or(storage.size_bytes),
        "threads" => {
            if let Some(threads) = divided(context, name, param, 1..=65_536) {
                storage.threads = u32::try_from(threads).unwrap_or(u32::MAX);
            }
        }
        "hitarea" => {
            if let Some(bytes) = value::bytes(context, name, param, 512..=value::BYTES_MAX) {
                (storage.hit_area_bytes, storage.hit_area_span) = (bytes, Some(param.span));
            }
        }
        "offset" => storage.offset_bytes = blocks(context, name, param, 0).unwrap_or(0),
        "align" => storage.align_bytes = blocks(context, name, param, 512),
        "range" => storage.range = shared::range(context, name, param).or(storage.range),
        "openflags" => storage.open = Some(shared::open_flags(context, param)),
        "journal" => storage.journal = shared::path_text(context, name, param).or(storage.journal.take()),
        "replay" => storage.replay.clone_from(&param.values),
        "host" => shared::hosts(context, param),
        _ => storage.dedup.set(context, name, param),
    }
}

/// Bytes in multiples of 512.
pub(crate) fn blocks(context: &mut ReadingContext, name: &str, param: &Param, min: u64) -> Option<u64> {
    let bytes = value::bytes(context, name, param, min..=value::BYTES_MAX)?;
    if bytes % 512 != 0 {
        let message = format!("`{name}` must be a multiple of 512, found {bytes}");
        let help = format!("the next is {}", bytes.next_multiple_of(512));
        context.push(Diagnostic::error("alignment", param.span, message).help(help));
        return None;
    }
    Some(bytes)
}

/// `n`, `(n,divisor)` as in `size=(1t,#hosts)`, or `(n,div)`, where the divisor is the number of hosts.
fn divided(
    context: &mut ReadingContext,
    name: &str,
    param: &Param,
    bounds: std::ops::RangeInclusive<u64>,
) -> Option<u64> {
    let mut param = param.clone();
    let mut divisor = 1;
    if param.list && param.values.len() == 2 {
        let second = param.values.remove(1);
        if !second.text.to_lowercase().starts_with("div") {
            let numbers = value::list(context, name, &Param::default(), &[second], Unit::Plain, &[])?;
            divisor = value::bytes_of(context, name, numbers.first()?, 1..=1_000_000)?;
        }
    }
    let (low, high) = bounds.into_inner();
    let bytes = value::bytes(context, name, &param, low..=high)?;
    Some((bytes / divisor).max(low))
}

fn count(context: &mut ReadingContext, storage: &mut Storage, param: &Param) {
    let Some(numbers) = value::numbers(context, "count", param, Unit::Plain) else { return };
    let [start, many] = numbers.as_slice() else {
        let message = format!("`count` wants two values, found {}", numbers.len());
        context.push(Diagnostic::error("count", param.span, message).help("count=(START,HOW_MANY)"));
        return;
    };
    let start = value::bytes_of(context, "count", start, 0..=1_000_000_000);
    let many = value::bytes_of(context, "count", many, 1..=TARGETS_MAX as u64);
    storage.count = start.zip(many).map(|(start, many)| (start, many, param.span));
}

/// What `count=` makes of a definition.
fn copies(context: &mut ReadingContext, storage: &Storage) -> Vec<Storage> {
    let Some((start, many, span)) = storage.count else { return vec![storage.clone()] };
    let mut out = Vec::new();
    for number in start..start + many {
        // Long names times many copies are work as well.
        let long = storage.name.len() + storage.lun.as_ref().map_or(0, |lun| lun.text.len());
        if !context.work(1 + long / 16, span) {
            break;
        }
        let lun = storage.lun.as_ref().map(|lun| Text { text: numbered(&lun.text, number), ..lun.clone() });
        out.push(Storage { name: numbered(&storage.name, number), lun, count: None, ..storage.clone() });
    }
    out
}

/// Puts a number where the name says so (`%d`, `%03d`, `*`), else at its end.
fn numbered(text: &str, number: u64) -> String {
    if let Some((head, tail)) = text.split_once('*') {
        return format!("{head}{number}{tail}");
    }
    for (at, _) in text.match_indices('%') {
        let after = &text[at + 1..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if after[digits..].starts_with('d') && digits <= 3 {
            let width: usize = after[..digits].parse().unwrap_or(0);
            let (head, tail) = (&text[..at], &after[digits + 1..]);
            let width = width.min(20);
            return if after.starts_with('0') {
                format!("{head}{number:0width$}{tail}")
            } else {
                format!("{head}{number:width$}{tail}")
            };
        }
    }
    format!("{text}{number}")
}

/// A raw device without openflags= is refused by Vdbench on Linux; direct I/O is what everybody means.
fn warn_of_cache(context: &mut ReadingContext, storage: &mut Storage) {
    let Some(lun) = storage.lun.as_ref().filter(|_| storage.raw() && storage.open.is_none()) else { return };
    let message = format!("sd={} is a raw device without openflags=; o_direct is used", shown(&storage.name));
    let found = Diagnostic::warning("raw-openflags", lun.span, message);
    context.push(found.help("add openflags=o_direct (Vdbench on Linux wants openflags for raw devices), or openflags=o_dsync to go through the page cache"));
    storage.open = Some(OpenFlags { direct: true, ..OpenFlags::default() });
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn numbers_go_where_the_name_says() {
        for (text, expect) in [
            ("/tmp/x", "/tmp/x7"),
            ("/dev/disk*p1", "/dev/disk7p1"),
            ("/dev/d%d", "/dev/d7"),
            ("/dev/d%03d-x", "/dev/d007-x"),
            ("/a%b", "/a%b7"),
        ] {
            assert_eq!(numbered(text, 7), expect);
        }
    }
}
