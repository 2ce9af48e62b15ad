//! Which files and devices a job uses, and which part of them.

use crate::jobs::JobSection;
use crate::options::Options;
use crate::value::Amount;
use parameter_text::{Diagnostic, ReadingContext};
use plan::{FileLayout, FileLength, FileUse, LayoutKind, OpenFlags, TargetSpec, TransferSize, TreeSpec};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Targets of all jobs together, far above any real file.
const TARGETS_MAX: usize = 100_000;

/// A size without a bound: a pebibyte.
const UNBOUNDED: u64 = 1 << 50;

/// Where one copy of a job goes.
pub(crate) struct Place {
    pub(crate) targets: Vec<usize>,
    pub(crate) files: FileUse,
    /// Bytes of all its files together, when they were asked for.
    pub(crate) size_bytes: Option<u64>,
}

/// What a job has to do with its files.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) open: OpenFlags,
    /// Operations in flight over all of them.
    pub(crate) depth: u32,
    /// The smallest transfer that it makes.
    pub(crate) smallest: u64,
}

/// The targets of a plan, collected from all jobs.
#[derive(Default)]
pub(crate) struct Targets {
    pub(crate) specs: Vec<TargetSpec>,
    /// Directories of jobs that work on names.
    pub(crate) trees: Vec<TreeSpec>,
    by_path: HashMap<(PathBuf, OpenFlags), usize>,
    names: HashMap<String, u32>,
    /// Depths of the run under way.
    depths: HashMap<usize, u32>,
    /// How long the jobs so far need each file to be.
    needs: HashMap<PathBuf, u64>,
    /// May files be created? False when any job forbids it.
    pub(crate) never_create: bool,
}

impl Targets {
    /// A new run begins: depths of different runs do not add up.
    pub(crate) fn next_run(&mut self) {
        self.depths.clear();
    }

    /// The targets of copy number `copy` of a job, and which part of them it uses.
    pub(crate) fn place(
        &mut self,
        context: &mut ReadingContext,
        section: &JobSection,
        copy: u32,
        of: Use,
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
        if (1..count).contains(&options.open_files) {
            let message = format!(
                "`openfiles={}` with {count} files: all of them are open from the beginning",
                options.open_files
            );
            let help = "leave it out: with fewer open files the order in which they come would be another one";
            context.push(Diagnostic::error("openfiles", span("openfiles"), message).help(help));
            return None;
        }
        if let (Some(Amount::Bytes(bytes)), None) = (options.size, options.filesize)
            && bytes / count < of.smallest
        {
            let bytes = bytes / count;
            let message = format!("{bytes} bytes per file are less than one transfer of {} bytes", of.smallest);
            context.push(Diagnostic::error("size", span("size"), message).help("use a larger size or a smaller bs"));
            return None;
        }
        let mut files = part(options, copy, &paths);
        if files.offset_fraction >= 1.0 {
            let why = "the offset is beyond the end of the target";
            context.push(Diagnostic::error("offset", span("offset"), why.to_string()));
            return None;
        }
        self.never_create |= !options.allow_create;
        let mut targets = Vec::with_capacity(paths.len());
        for (member, path) in paths.into_iter().enumerate() {
            let at = self.target(section, &path, of.open);
            let needs = self.needs.entry(path).or_default();
            let before = *needs;
            let all = before.max(files.needs_bytes(member).unwrap_or(0));
            let fills = options.ends.fills_device;
            // How far a job comes that fills a device is not known: it makes no file longer for those behind it.
            if !fills {
                *needs = all;
            }
            files.file_bytes.push(all);
            let spec = &mut self.specs[at];
            spec.unlink |= options.unlink;
            if all > 0 {
                let how = match all > before {
                    _ if fills => LayoutKind::Unbounded,
                    true => options.layout(),
                    false => LayoutKind::Untouched,
                };
                let folders = own_folders(options, copy, &spec.path);
                spec.layout = Some(grown(spec.layout, FileLayout { at_least_bytes: all, how, folders }));
            }
            let used = self.depths.entry(at).or_default();
            *used = used.saturating_add(of.depth);
            spec.depth = spec.depth.max(*used);
            targets.push(at);
        }
        let size_bytes = if let Some(Amount::Bytes(bytes)) = options.size { Some(bytes) } else { None };
        Some(Place { targets, files, size_bytes })
    }

    /// The target of a path that is opened so, a new one at first.
    fn target(&mut self, section: &JobSection, path: &Path, open: OpenFlags) -> usize {
        let key = (path.to_path_buf(), open);
        if let Some(at) = self.by_path.get(&key) {
            return *at;
        }
        let name = self.name(path);
        self.specs.push(TargetSpec {
            name,
            path: path.to_path_buf(),
            size_bytes: None,
            layout: None,
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

    /// The file's name, with a number when it is taken.
    fn name(&mut self, path: &Path) -> String {
        let base =
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let count = self.names.entry(base.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { base } else { format!("{base}-{count}") }
    }
}

/// A file's layout when another job comes that needs it longer: what one of them reads must be there, and otherwise the
/// first to need it decides.
fn grown(before: Option<FileLayout>, now: FileLayout) -> FileLayout {
    // What is read must be there before a job that fills comes to it, and how far that one comes is not known.
    match before {
        Some(layout) if (layout.how, now.how) == (LayoutKind::Filled, LayoutKind::Unbounded) => return layout,
        Some(layout) if (layout.how, now.how) == (LayoutKind::Unbounded, LayoutKind::Filled) => return now,
        _ => {}
    }
    let at_least_bytes = now.at_least_bytes.max(before.map_or(0, |layout| layout.at_least_bytes));
    let how = match before {
        Some(layout) if layout.how == LayoutKind::Unbounded => layout.how,
        _ if now.how == LayoutKind::Unbounded => now.how,
        Some(layout) if now.how != LayoutKind::Filled => layout.how,
        _ => now.how,
    };
    FileLayout { at_least_bytes, how, folders: now.folders.max(before.map_or(0, |layout| layout.folders)) }
}

/// The part that copy number `copy` of a job uses of each of its files.
fn part(options: &Options, copy: u32, paths: &[PathBuf]) -> FileUse {
    let (copy, count) = (u64::from(copy), paths.len() as u64);
    // Of what never comes as well.
    let smallest_bytes = options.sizes.iter().map(TransferSize::min_bytes).min().unwrap_or(4096).max(1);
    let mut files = FileUse { smallest_bytes, ..FileUse::default() };
    for (amount, times) in [(options.offset, 1), (options.offset_increment, copy)] {
        match amount {
            Amount::Bytes(bytes) => files.offset_bytes = files.offset_bytes.saturating_add(bytes.saturating_mul(times)),
            Amount::Part(part) => files.offset_fraction += part * times as f64,
        }
    }
    // Percents ask for whole transfers, even where they come to nothing.
    let is_rounded =
        [options.offset, options.offset_increment].iter().any(|one| matches!(one, Amount::Part(part) if *part > 0.0));
    if is_rounded && files.offset_fraction == 0.0 {
        files.offset_bytes = files.offset_bytes.checked_next_multiple_of(smallest_bytes).unwrap_or(u64::MAX);
    }
    // As given in percent, not as it comes out of adding.
    files.offset_fraction = (files.offset_fraction * 1e10).round() / 1e10;
    if let Some(Amount::Part(part)) = options.size {
        files.fraction = part;
    }
    let size = match options.size {
        None if options.ends.fills_device => Some(Amount::Bytes(UNBOUNDED)),
        size => size,
    };
    files.lengths = match (options.filesize, size) {
        (Some((low, high)), _) => {
            // By name, so that all jobs of a file agree.
            let salt = |path: &PathBuf| {
                path.as_os_str()
                    .as_encoded_bytes()
                    .iter()
                    .fold(0_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
            };
            let whole = |path| FileLength::Whole { low, high, bytes: between(low, high, smallest_bytes, salt(path)) };
            paths.iter().map(whole).collect()
        }
        (None, Some(Amount::Bytes(bytes))) => {
            let each = bytes / count;
            // What does not divide makes the first files longer.
            let longer = (bytes - each * count) / smallest_bytes;
            (0..count).map(|number| FileLength::Bytes(each + u64::from(number < longer) * smallest_bytes)).collect()
        }
        (None, Some(Amount::Part(_)) | None) => Vec::new(),
    };
    files
}

/// A size in the range, the same one in every execution.
fn between(low: u64, high: u64, smallest: u64, salt: u64) -> u64 {
    let mut x = salt.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    if low == high {
        return low;
    }
    let size = low + (x ^ (x >> 31)) % (high - low + 1);
    (size - size % smallest.max(1)).max(smallest)
}

/// The copy's `directory=`.
pub(crate) fn folder(options: &Options, copy: u32) -> Option<&Path> {
    match &options.directory[..] {
        [] => None,
        all => Some(Path::new(&all[copy as usize % all.len()])),
    }
}

/// How many folders stand in the file's own name: fio makes these, and no `directory=`.
fn own_folders(options: &Options, copy: u32, path: &Path) -> usize {
    let own = folder(options, copy).and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
    if own.components().any(|part| part == Component::ParentDir) {
        return 0;
    }
    own.components().filter(|part| matches!(part, Component::Normal(_))).count().saturating_sub(1)
}

/// The paths of a copy's files.
fn paths(section: &JobSection, copy: u32) -> Vec<PathBuf> {
    let options = &section.options;
    let folder = folder(options, copy);
    let inside = |name: &str| match folder {
        Some(folder) => folder.join(name),
        None => PathBuf::from(name),
    };
    if options.null {
        return vec![PathBuf::from("/dev/null")];
    }
    // A job that is called after a device is one of that device.
    if options.filename.is_empty() && section.name.starts_with("/dev/") {
        return vec![PathBuf::from(&section.name)];
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
pub(crate) fn label(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if plain { name.to_string() } else { format!("\"{name}\"") }
}
