//! Which files and devices a job uses, and which part of them.

use super::expand::JobSection;
use super::value::Amount;
use crate::context::Context;
use crate::diagnostic::Diagnostic;
use plan::{AddressRange, Bound, OpenFlags, TargetSpec};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Targets of all jobs together, far above any real file.
const TARGETS_MAX: usize = 100_000;

/// Where one copy of a job goes.
pub(super) struct Place {
    pub(super) targets: Vec<usize>,
    pub(super) range: Option<AddressRange>,
    pub(super) base_bytes: u64,
}

/// The targets of a plan, collected from all jobs.
#[derive(Default)]
pub(super) struct Targets {
    pub(super) specs: Vec<TargetSpec>,
    by_path: HashMap<(PathBuf, OpenFlags), usize>,
    names: HashMap<String, u32>,
    /// Depths of the run under way.
    depths: HashMap<usize, u32>,
    /// May files be created? False when any job forbids it.
    pub(super) never_create: bool,
}

impl Targets {
    /// A new run begins: depths of different runs do not add up.
    pub(super) fn next_run(&mut self) {
        self.depths.clear();
    }

    /// The targets of copy number `copy` of a job, which opens them so, has so much in flight and so small transfers.
    pub(super) fn place(
        &mut self,
        context: &mut Context,
        section: &JobSection,
        copy: u32,
        (open, depth, smallest): (OpenFlags, u32, u64),
    ) -> Option<Place> {
        let options = &section.options;
        let span = |name: &str| options.spans.get(name).copied().unwrap_or(section.span);
        let paths = paths(section, copy);
        if self.specs.len() + paths.len() > TARGETS_MAX {
            let found = Diagnostic::error("too-much", span("nrfiles"), format!("more than {TARGETS_MAX} files"));
            context.push(found.help("use fewer files or copies"));
            return None;
        }
        let count = paths.len() as u64;
        let from = bound(options.offset, options.offset_increment, copy);
        let each = match (options.size, options.filesize) {
            (_, Some((low, high))) => Each::Between(low, high),
            (Some(Amount::Bytes(bytes)), None) => Each::Bytes(bytes / count),
            (Some(Amount::Part(part)), None) => Each::Part(part),
            (None, None) => Each::All,
        };
        if let Each::Bytes(bytes) = each
            && bytes < smallest
        {
            let message = format!("{bytes} bytes per file are less than one transfer of {smallest} bytes");
            context.push(Diagnostic::error("size", span("size"), message).help("use a larger size or a smaller bs"));
            return None;
        }
        let (range, base_bytes) = match area(from, each, smallest) {
            Ok(area) => area,
            Err(why) => {
                context.push(Diagnostic::error("offset", span("offset"), why.to_string()));
                return None;
            }
        };
        self.never_create |= !options.allow_create;
        let mut targets = Vec::with_capacity(paths.len());
        for (number, path) in paths.into_iter().enumerate() {
            let end_bytes = match each {
                Each::Bytes(bytes) => Some(base_bytes.saturating_add(bytes - bytes % smallest.max(1))),
                Each::Between(low, high) => Some(between(low, high, smallest, u64::from(copy) << 32 | number as u64)),
                Each::Part(_) | Each::All => None,
            };
            let key = (path.clone(), open);
            let at = match self.by_path.get(&key) {
                Some(at) => *at,
                None => {
                    let name = self.name(&path);
                    self.specs.push(TargetSpec {
                        name,
                        path,
                        size_bytes: None,
                        depth: 0,
                        open,
                        range: None,
                        hit_area_bytes: 1 << 20,
                        offset_bytes: 0,
                        align_bytes: None,
                        skip_first_block: false,
                        grain_bytes: None,
                        unlink: false,
                        span: section.span,
                    });
                    self.by_path.insert(key, self.specs.len() - 1);
                    self.specs.len() - 1
                }
            };
            let spec = &mut self.specs[at];
            spec.unlink |= options.unlink;
            spec.size_bytes = spec.size_bytes.max(end_bytes);
            let used = self.depths.entry(at).or_default();
            *used = used.saturating_add(depth);
            spec.depth = spec.depth.max(*used);
            targets.push(at);
        }
        Some(Place { targets, range, base_bytes })
    }

    /// The file's name, with a number when it is taken.
    fn name(&mut self, path: &Path) -> String {
        let base =
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let count = self.names.entry(base.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { base } else { format!("{base}-{count}") }
    }
}

/// How much of each file.
#[derive(Clone, Copy)]
enum Each {
    Bytes(u64),
    Part(f64),
    Between(u64, u64),
    All,
}

/// Where a copy of a job begins.
fn bound(offset: Amount, increment: Amount, copy: u32) -> Result<Amount, &'static str> {
    match (offset, increment) {
        (Amount::Bytes(offset), Amount::Bytes(increment)) => {
            Ok(Amount::Bytes(offset.saturating_add(increment.saturating_mul(u64::from(copy)))))
        }
        (Amount::Part(offset), Amount::Part(increment)) => Ok(Amount::Part(offset + increment * f64::from(copy))),
        (Amount::Part(offset), Amount::Bytes(0)) => Ok(Amount::Part(offset)),
        (Amount::Bytes(0), Amount::Part(increment)) => Ok(Amount::Part(increment * f64::from(copy))),
        _ => Err("an offset in bytes and an increment in percent (or the other way round) cannot be added"),
    }
}

/// The part of a target: a range, and the bytes before it.
fn area(
    from: Result<Amount, &'static str>,
    each: Each,
    smallest: u64,
) -> Result<(Option<AddressRange>, u64), &'static str> {
    let fraction = |low: f64, high: f64| {
        let range = AddressRange { low: Bound::Fraction(low), high: Bound::Fraction(high.min(1.0)) };
        (low > 0.0 || high < 1.0).then_some(range)
    };
    match (from?, each) {
        (Amount::Part(low), _) if low >= 1.0 => Err("the offset is beyond the end of the target"),
        (Amount::Bytes(base), Each::Bytes(bytes)) => {
            let whole = bytes - bytes % smallest.max(1);
            Ok((Some(AddressRange { low: Bound::Bytes(0), high: Bound::Bytes(whole) }), base))
        }
        (Amount::Bytes(base), Each::All | Each::Between(..)) => Ok((None, base)),
        (Amount::Bytes(0), Each::Part(part)) => Ok((fraction(0.0, part), 0)),
        (Amount::Bytes(_), Each::Part(_)) => {
            Err("an offset in bytes does not go with a size in percent: give both in the same unit")
        }
        (Amount::Part(low), Each::Part(part)) => Ok((fraction(low, low + part), 0)),
        (Amount::Part(low), Each::All | Each::Between(..)) => Ok((fraction(low, 1.0), 0)),
        (Amount::Part(0.0), Each::Bytes(bytes)) => area(Ok(Amount::Bytes(0)), Each::Bytes(bytes), smallest),
        (Amount::Part(_), Each::Bytes(_)) => {
            Err("an offset in percent does not go with a size in bytes: give both in the same unit")
        }
    }
}

/// A size in the range, the same one in every execution.
fn between(low: u64, high: u64, smallest: u64, salt: u64) -> u64 {
    let mut x = salt.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let size = low + (x ^ (x >> 31)) % (high - low + 1);
    (size - size % smallest.max(1)).max(smallest)
}

/// The paths of a copy's files.
fn paths(section: &JobSection, copy: u32) -> Vec<PathBuf> {
    let options = &section.options;
    let folder = match &options.directory[..] {
        [] => None,
        all => Some(Path::new(&all[copy as usize % all.len()])),
    };
    let inside = |name: &str| match folder {
        Some(folder) => folder.join(name),
        None => PathBuf::from(name),
    };
    if options.null {
        return vec![PathBuf::from("/dev/null")];
    }
    if !options.filename.is_empty() {
        return options.filename.iter().map(|name| inside(name)).collect();
    }
    (0..options.nrfiles)
        .map(|number| {
            let name = options
                .filename_format
                .replace("$jobname", &section.name)
                .replace("$clientuid", "localhost")
                .replace("$jobnum", &copy.to_string())
                .replace("$filenum", &number.to_string());
            inside(&name)
        })
        .collect()
}

/// The name of a workload as a condition has it.
pub(super) fn label(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if plain { name.to_string() } else { format!("\"{name}\"") }
}
