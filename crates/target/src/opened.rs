//! Targets that are open for a run.

use crate::content;
use crate::device::{Claim, ProbeMode};
use crate::file::{self, Created, Existing, used};
use crate::foreign::ScannedBlocks;
use crate::node::Node;
use crate::open_flags::{Further, TargetView, alignment, file_system, open_flags, open_node};
use crate::ownership::{self, OwnershipTag, Settled};
use crate::pattern::{Known, UserPattern};
use crate::registry::Registry;
use crate::safety_check::{Examined, check_direct, check_safety};
use crate::signature;
use crate::verify_own_file::{self, Effort, Left};
use crate::{ErrorKind, TargetAccess, TargetError, WritePolicy};
use plan::{LayoutKind, OpenFlags, TargetSpec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Advice, FileType, OFlags, fadvise, fcntl_getfl, fdatasync, fstat, major, minor};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Once};

/// Files that are looked at, at the same time, after a run.
const SETTLING_THREADS: usize = 16;

/// What a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A block device.
    BlockDevice {
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32,
    },
    /// A regular file.
    File {
        /// Type of its file system, as in the mount table.
        file_system: String,
        /// Major number of the device that it lies on (0: no single one).
        major: u32,
        /// Minor number of that device.
        minor: u32,
    },
    /// `/dev/zero`.
    Zeroes,
    /// `/dev/null`: nothing is done, which costs what the generator itself costs.
    Nothing,
}

/// An open target. While it lives, no other program can mount a device, or open it exclusively.
#[derive(Debug)]
pub struct OpenTarget {
    /// Name in the plan.
    pub name: String,
    /// Path in the plan.
    pub path: PathBuf,
    /// Size to be used in bytes.
    pub size_bytes: u64,
    /// Size as it was found: 0 of a file that was made, less than `size_bytes` of one that was extended.
    pub found_bytes: u64,
    /// Offsets and lengths must be multiples of this: 512 or 4096 on devices and with direct I/O, otherwise 1.
    pub logical_block_bytes: u32,
    /// Addresses of buffers must be multiples of this.
    pub memory_align: u32,
    /// What it is.
    pub kind: TargetKind,
    /// Is the descriptor open for writing?
    pub writable: bool,
    /// Does the descriptor bypass the page cache?
    pub direct: bool,
    /// Bytes that were never written and that must be before reads make sense.
    pub fill: Option<Range<u64>>,
    /// Was the file made by opening it?
    pub created: bool,
    /// What the user should know, as sentences.
    pub notes: Vec<String>,
    io: OwnedFd,
    further: Vec<Further>,
    is_marked: bool,
    _claim: Option<Arc<Claim>>,
}

impl AsFd for OpenTarget {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl OpenTarget {
    /// Notes that the file was written from its start up to here; harmless on devices.
    ///
    /// # Errors
    /// A sentence when the mark could not be changed; the file will then be filled again by the next run.
    pub fn mark_filled(&self, up_to: u64) -> Result<(), String> {
        self.change_mark(|mark| mark.filled_bytes = Some(mark.filled_bytes.unwrap_or(0).max(up_to)))
    }

    /// The descriptor that holds a device against other programs. With it a discard also drops what is cached of its range; with
    /// any other one that fails (`EBUSY`) where part of it is in use at that moment. `None` of anything else, and of a device that
    /// is not held for writing.
    #[must_use]
    pub fn holder(&self) -> Option<BorrowedFd<'_>> {
        let fd = self._claim.as_ref()?.fd();
        let is_device = matches!(self.kind, TargetKind::BlockDevice { .. });
        let writes = || fcntl_getfl(fd).is_ok_and(|flags| flags.contains(OFlags::RDWR));
        (is_device && writes()).then_some(fd)
    }

    /// Writes out what of the file is still in memory only; nothing where all goes past the page cache.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn write_out(&self) -> std::io::Result<()> {
        if self.direct { Ok(()) } else { Ok(rustix::fs::fsync(&self.io)?) }
    }

    /// Notes that a pattern of the user's is going to be written, which carries no mark: the next run knows it by its
    /// bytes. A pattern of zeroes needs no memory.
    ///
    /// # Errors
    /// A sentence when it could not be remembered; the next run will then want `--destroy`.
    pub fn remember(&self, pattern: &UserPattern) -> Result<(), String> {
        if !self.writable || pattern.bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let registry = Registry::find();
        let noted = match self.kind {
            TargetKind::BlockDevice { major, minor } => {
                ownership::add_pattern_to_device((major, minor), pattern, registry.as_ref())
            }
            TargetKind::File { .. } => ownership::add_pattern_to_file(self.io.as_fd(), pattern, registry.as_ref()),
            TargetKind::Zeroes | TargetKind::Nothing => Ok(()),
        };
        noted.map_err(|why| format!("the pattern is not remembered, and the next run will want --destroy: {why}"))
    }

    /// Notes that sectors of a file are going to be written in parts, which carry no mark: the next run cannot tell them by
    /// their content. To be called for what [`plan::Workload::splits_sectors`].
    ///
    /// # Errors
    /// A sentence when the mark could not be changed.
    pub fn remember_pieces(&self) -> Result<(), String> {
        if self.smallest_block_bytes() >= 512 { Ok(()) } else { self.change_mark(|mark| mark.pieces = true) }
    }

    /// How the run leaves a file, and whether all of it was seen to be ours; `None`: not as it could be known again.
    fn left(&self, effort: Effort) -> rustix::io::Result<Option<(Settled, bool)>> {
        let Some(claim) = &self._claim else { return Ok(None) };
        let registry = Registry::find();
        let mark = ownership::mark_of(self.io.as_fd(), registry.as_ref()).unwrap_or_default();
        let known = mark.known(registry.as_ref());
        let settled = Settled::apart(self.io.as_fd())?;
        let left = verify_own_file::look_after(claim.fd(), settled.size_bytes(), &known, effort);
        if self.is_ever_direct() {
            // Out of the way of a next run's direct I/O.
            let _ = fadvise(claim.fd(), 0, None, Advice::DontNeed);
        }
        let is_believed = match left {
            Left::Ours => true,
            // What a flag gave up and others wrote meanwhile is left to the next run's look, which is a longer one.
            Left::OursInSamples => !mark.overwritten_by_consent,
            Left::Foreign => !mark.overwritten_by_consent && !mark.is_known_by_content(&known),
        };
        let is_still = settled.is_same(Settled::now(self.io.as_fd())?);
        Ok((is_believed && is_still).then_some((settled, left == Left::Ours)))
    }

    fn record_final_state(&self, left: rustix::io::Result<Option<(Settled, bool)>>) -> Result<(), String> {
        let Some((settled, is_ours)) = left.map_err(|error| format!("failed to read its state: {error}"))? else {
            return Ok(());
        };
        self.change_mark(|mark| {
            mark.settled = Some(settled);
            // Written by a load and not by a fill: what is trimmed from now on stays a hole.
            if mark.filled_bytes.is_none()
                && file::first_hole(self.as_fd(), settled.size_bytes()) == settled.size_bytes()
            {
                mark.filled_bytes = Some(settled.size_bytes());
            }
            mark.pieces &= !is_ours;
            mark.overwritten_by_consent &= !is_ours;
        })
    }

    /// Removes the file, if its name still leads to it and not to another that has taken its place.
    ///
    /// # Errors
    /// A sentence when it is another file, or cannot be removed.
    pub fn remove(&self) -> Result<(), String> {
        let stat = fstat(&self.io).map_err(|error| error.to_string())?;
        let named = self.path.symlink_metadata().map_err(|error| error.to_string())?;
        if (named.dev(), named.ino()) != (stat.st_dev, stat.st_ino) {
            return Err("another file has taken its place".to_string());
        }
        std::fs::remove_file(&self.path).map_err(|error| error.to_string())
    }

    /// Changes the mark as it is now: a plan may name one file twice.
    fn change_mark(&self, change: impl FnOnce(&mut OwnershipTag)) -> Result<(), String> {
        if !self.is_marked || !self.writable {
            return Ok(());
        }
        let registry = Registry::find();
        let before = ownership::mark_of(self.io.as_fd(), registry.as_ref());
        let mut mark = before.clone().unwrap_or_default();
        change(&mut mark);
        if before.as_ref() == Some(&mark) {
            return Ok(());
        }
        ownership::set_mark(self.io.as_fd(), &mark, registry.as_ref())
    }

    /// The target as it is opened with these flags: those of one of the sets that it was opened for. With others: as with
    /// the first of them.
    #[must_use]
    pub fn view(&self, flags: OpenFlags) -> TargetView<'_> {
        match self.further.iter().find(|further| open_flags(flags).ok() == Some(further.flags)) {
            Some(further) => further.view(),
            None => TargetView {
                fd: self.as_fd(),
                direct: self.direct,
                logical_block_bytes: self.logical_block_bytes,
                memory_align: self.memory_align,
            },
        }
    }

    /// The first partition table, file system, or member of a volume manager that is known by its signature, with its article, and where that
    /// stands; `None` also where it cannot be read.
    #[must_use]
    pub fn signature(&self) -> Option<(String, u64)> {
        let known = Known::default();
        let edge = 0..self.size_bytes.min(content::EDGE_BYTES);
        let view = ScannedBlocks::read(self.as_fd(), self.size_bytes, &self.path, &known, &[edge]).ok()?;
        let found = signature::find(&view).ok()??;
        Some((found.what, found.offset))
    }

    /// The smallest block of all ways in which it is open.
    pub(crate) fn smallest_block_bytes(&self) -> u32 {
        let further = self.further.iter().map(|further| further.logical_block_bytes);
        further.fold(self.logical_block_bytes, u32::min)
    }

    /// Does any way in which it is open bypass the page cache?
    pub(crate) fn is_ever_direct(&self) -> bool {
        self.direct || self.further.iter().any(|further| further.flags.contains(OFlags::DIRECT))
    }

    /// Writes what the page cache has of it, and empties the cache: what comes next neither finds there what came before
    /// nor pays for it.
    ///
    /// # Errors
    /// What `fdatasync` gives.
    pub fn leave_cache(fd: BorrowedFd<'_>) -> std::io::Result<()> {
        fdatasync(fd)?;
        let _ = fadvise(fd, 0, None, Advice::DontNeed);
        Ok(())
    }

    /// Opens this very thing once more for each set of flags that it is not yet open with.
    pub(crate) fn add_views(&mut self, node: &Node, first: OpenFlags, sets: &[OpenFlags]) -> Result<(), ErrorKind> {
        let first = open_flags(first)?;
        for set in sets {
            let flags = open_flags(*set)?;
            if flags == first || self.further.iter().any(|further| further.flags == flags) {
                continue;
            }
            let direction = if self.writable { OFlags::RDWR } else { OFlags::RDONLY };
            let io = open_node(node, direction | flags)?;
            self.further.push(Further::new(node, io, flags)?);
        }
        Ok(())
    }
}

/// Notes how a run leaves its files, so that the next one sees whether another program has changed them. To be called after
/// the last write has come back; without it all of a file is read before it is written again. So it is for a file in which
/// something is found now that is not iodyno's: what a flag gave up and the run did not overwrite, or what another program
/// wrote meanwhile.
///
/// Returns sentences about marks that could not be changed.
pub fn settle<'a>(targets: impl IntoIterator<Item = &'a OpenTarget>) -> Vec<String> {
    let files: Vec<&OpenTarget> = targets.into_iter().filter(|target| target.is_marked && target.writable).collect();
    let effort = Effort::after_a_run(files.len());
    let look = |files: &[&OpenTarget]| files.iter().map(|file| file.left(effort)).collect::<Vec<_>>();
    let share = files.len().div_ceil(SETTLING_THREADS).max(1);
    let left: Vec<_> = std::thread::scope(|scope| {
        let spawn = |files| std::thread::Builder::new().spawn_scoped(scope, move || look(files)).map_err(|_| files);
        let threads: Vec<_> = files.chunks(share).map(spawn).collect();
        let join = |thread: Result<std::thread::ScopedJoinHandle<'_, Vec<_>>, &[&OpenTarget]>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // A machine that gives no more threads.
            Err(files) => look(files),
        };
        threads.into_iter().flat_map(join).collect()
    });
    // One after the other: a plan may name one file twice.
    let settled = files.iter().zip(left).map(|(file, left)| (file, file.record_final_state(left)));
    settled.filter_map(|(file, result)| Some(format!("{}: {}", file.name, result.err()?))).collect()
}

/// Opens a target for a run; see the crate's head comment for what is proved before.
///
/// # Errors
/// When the target is refused to protect data, is not there, or cannot be used as asked. Nothing was changed then; a
/// file that was made is removed again.
pub fn open(
    spec: &TargetSpec,
    flags: OpenFlags,
    access: TargetAccess,
    policy: &WritePolicy,
) -> Result<OpenTarget, TargetError> {
    open_with(spec, &[flags], access, policy)
}

/// As [`open()`], with a descriptor for each of these sets of flags ([`OpenTarget::view`]); without any, with the target's own.
/// All are of the same thing, which is claimed once.
///
/// # Errors
/// As those of [`open()`].
pub fn open_with(
    spec: &TargetSpec,
    sets: &[OpenFlags],
    access: TargetAccess,
    policy: &WritePolicy,
) -> Result<OpenTarget, TargetError> {
    raise_file_limit();
    let flags = sets.first().copied().unwrap_or(spec.open);
    let open = || -> Result<OpenTarget, ErrorKind> {
        let extra = open_flags(flags)?;
        let examined = check_safety(spec, access, policy, ProbeMode::Claim)?;
        // Before a file grows: direct I/O that is not to be had is found out here.
        sets.iter().try_for_each(|set| check_direct(*set, &examined))?;
        let direct = sets.iter().any(|set| open_flags(*set).is_ok_and(|flags| flags.contains(OFlags::DIRECT)));
        match examined {
            Examined::Device(node, device) => {
                let io = open_node(&node, direction(device.claim.is_some()) | extra)?;
                if direct {
                    // What was just looked at is in the page cache, where direct I/O finds it: it has to invalidate it
                    // first, which io_uring leaves to a worker, out of time and order.
                    let _ = fadvise(&io, 0, None, Advice::DontNeed);
                }
                let size_bytes = used(spec, device.size_bytes);
                let mut opened = describe(spec, &node, io, extra.contains(OFlags::DIRECT), size_bytes)?;
                if let Some(foreign) = device.overwritten_by_consent {
                    opened.notes.push(format!("--destroy gives up {} at byte {}", foreign.what, foreign.offset));
                }
                opened.writable = device.claim.is_some();
                opened._claim = device.claim;
                opened.add_views(&node, flags, sets)?;
                Ok(opened)
            }
            Examined::File(node, existing) => {
                let mut opened = open_file(spec, &node, existing, extra)?;
                opened.add_views(&node, flags, sets)?;
                Ok(opened)
            }
            Examined::Zeroes(node, bytes) => {
                let io = open_node(&node, OFlags::RDONLY | extra.difference(OFlags::DIRECT))?;
                describe(spec, &node, io, false, bytes)
            }
            Examined::Nothing(node, bytes) => {
                let io = open_node(&node, OFlags::RDWR)?;
                Ok(OpenTarget { kind: TargetKind::Nothing, writable: true, ..describe(spec, &node, io, false, bytes)? })
            }
            Examined::Vacant(vacancy, bytes) => {
                let vacancy = vacancy.with_folders()?;
                let mut created = file::create(&vacancy, bytes, layout_of(spec))?;
                let mut opened = open_created(spec, &created, bytes, extra)?;
                opened.add_views(&created.node, flags, sets)?;
                created.keep();
                Ok(opened)
            }
        }
    };
    open().map_err(|kind| TargetError { target: spec.name.clone(), path: spec.path.clone(), kind })
}

fn direction(write: bool) -> OFlags {
    if write { OFlags::RDWR } else { OFlags::RDONLY }
}

fn open_file(spec: &TargetSpec, node: &Node, existing: Existing, extra: OFlags) -> Result<OpenTarget, ErrorKind> {
    let io = open_node(node, direction(existing.claim.is_some()) | extra)?;
    let is_filled = layout_of(spec) == LayoutKind::Filled;
    let size_bytes = existing.grow_to.unwrap_or_else(|| used(spec, existing.size_bytes));
    let mut notes = Vec::new();
    let mut mark = existing.mark.clone();
    if existing.claim.is_some() {
        if existing.mark.is_none() {
            // From now on the file is iodyno's.
            notes.push("--destroy gives up what was in the file".to_string());
        }
        // Until the run ends nothing tells when the file was last changed; before it grows, in case the run is killed then.
        let filled_bytes = match &mark {
            // What is written from now on fills parts in any order, which the file system alone knows.
            Some(mark) if !is_filled && (existing.grow_to.is_some() || mark.filled_bytes.is_none()) => None,
            _ => Some(existing.filled_bytes(io.as_fd())),
        };
        let now = OwnershipTag {
            settled: None,
            filled_bytes,
            overwritten_by_consent: existing.needs_verify,
            ..mark.unwrap_or_default()
        };
        if let Err(reason) = ownership::set_mark(io.as_fd(), &now, Registry::find().as_ref()) {
            notes.push(format!("the file cannot be marked as iodyno's own: {reason}"));
        }
        mark = Some(now);
    }
    if let Some(to_bytes) = existing.grow_to {
        file::grow(io.as_fd(), (existing.size_bytes, to_bytes), layout_of(spec), &node.path)?;
    }
    let mut opened = describe(spec, node, io, extra.contains(OFlags::DIRECT), size_bytes)?;
    opened.found_bytes = existing.size_bytes;
    opened.writable = existing.claim.is_some();
    opened._claim = existing.claim;
    opened.notes = notes;
    match mark {
        Some(mark) => {
            if is_filled {
                set_fill(&mut opened, &mark);
            }
            opened.is_marked = true;
        }
        None if file::first_hole(opened.as_fd(), size_bytes) < size_bytes => {
            opened.notes.push("the file has holes; reads of them cost its file system next to nothing".to_string());
        }
        None => {}
    }
    Ok(opened)
}

/// How a file comes to its length.
fn layout_of(spec: &TargetSpec) -> LayoutKind {
    spec.layout.map_or(LayoutKind::Filled, |layout| layout.how)
}

fn open_created(spec: &TargetSpec, created: &Created<'_>, bytes: u64, extra: OFlags) -> Result<OpenTarget, ErrorKind> {
    let io = open_node(&created.node, OFlags::RDWR | extra)?;
    let mut opened = describe(spec, &created.node, io, extra.contains(OFlags::DIRECT), bytes)?;
    opened.created = true;
    opened.found_bytes = 0;
    opened.writable = true;
    opened._claim = Some(Arc::clone(&created.claim));
    if let Some(reason) = &created.unmarked {
        opened
            .notes
            .push(format!("the file cannot be marked as iodyno's own and will want --destroy next time: {reason}"));
    }
    if layout_of(spec) == LayoutKind::Filled {
        set_fill(&mut opened, &file::UNFILLED);
    }
    opened.is_marked = created.unmarked.is_none();
    Ok(opened)
}

/// From the first byte that was never written to the end, beginning at a whole MiB.
fn set_fill(opened: &mut OpenTarget, mark: &OwnershipTag) {
    let first = file::first_unwritten(opened.as_fd(), mark, opened.size_bytes);
    opened.fill = (first < opened.size_bytes).then_some(first >> 20 << 20..opened.size_bytes);
}

/// Everything about an open target that does not depend on whose it is.
fn describe(
    spec: &TargetSpec,
    node: &Node,
    io: OwnedFd,
    direct: bool,
    size_bytes: u64,
) -> Result<OpenTarget, ErrorKind> {
    let (logical_block_bytes, memory_align) = alignment(node, io.as_fd(), direct)?;
    let kind = match node.file_type() {
        FileType::BlockDevice => {
            let (major, minor) = node.device();
            TargetKind::BlockDevice { major, minor }
        }
        FileType::CharacterDevice => TargetKind::Zeroes,
        _ => {
            let (major, minor) = (major(node.stat.st_dev), minor(node.stat.st_dev));
            TargetKind::File { file_system: file_system(node), major, minor }
        }
    };
    Ok(OpenTarget {
        name: spec.name.clone(),
        path: spec.path.clone(),
        size_bytes,
        found_bytes: size_bytes,
        logical_block_bytes,
        memory_align,
        kind,
        writable: false,
        direct,
        fill: None,
        created: false,
        notes: Vec::new(),
        io,
        further: Vec::new(),
        is_marked: false,
        _claim: None,
    })
}

/// Two descriptors per target: 1,024 targets do not fit into the usual soft limit of 1,024.
fn raise_file_limit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let limit = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    });
}
