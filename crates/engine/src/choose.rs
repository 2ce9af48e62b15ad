//! Which engine a run gets, and how many workers.
//!
//! What io_uring cannot start without waiting it hands to threads of the kernel: `fsync`, `fallocate`, I/O on file systems
//! that do not know how not to wait, buffered writes that must be durable. That costs a thread all the same, and of writes
//! to one regular file the kernel lets a ring do one after the other, unless the file was opened for direct I/O and its file
//! system says that they may be parallel (`io_prep_async_work` in `io_uring/io_uring.c`; ext4 and XFS say so). Where that
//! leaves fewer in flight than were asked, threads of our own do what was asked.
//!
//! FUSE waits for its server in the call that submits unless the server asked for `FUSE_ASYNC_DIO` and does not take direct I/O
//! into its own hands (`FOPEN_DIRECT_IO`): a client cannot see which it is, so threads do it always.

use crate::discard;
use crate::pool::{self, RATE_PER_WORKER, used_targets};
use crate::uring_queue::Ring;
use crate::{EngineChoice, EngineError, EngineOptions, ResolvedRate, RunInput};
use plan::{OpenFlags, Workload};
use target::TargetKind;

/// A synchronous run has at most this many threads.
const SYNC_THREADS_MAX: u32 = 4096;

/// The choice with its reason.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) is_uring: bool,
    pub(crate) name: &'static str,
    pub(crate) groups: usize,
    pub(crate) reason: String,
    /// Are there operations that io_uring hands to threads of the kernel?
    pub(crate) punts: bool,
}

/// Chooses.
pub(crate) fn choose(input: &RunInput<'_>, options: &EngineOptions) -> Result<Chosen, EngineError> {
    let cores = options
        .workers
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
        .max(1);
    let used = used_targets(input);
    let depth = pool::depth(input);
    let punts = used.iter().any(|at| punts(input, *at));
    let pools = pool::pools(input).len();
    let sync = |reason: String| Chosen { is_uring: false, name: "sync", groups: pools.clamp(1, 64), reason, punts };
    let uring = |reason: String| {
        let wanted = match input.rate {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
            ResolvedRate::PerSecond(rate) => (input.run.offered_rate(rate) / RATE_PER_WORKER).ceil() as usize,
            ResolvedRate::Max => cores,
        };
        let groups = wanted.clamp(1, cores).min(depth.max(1) as usize);
        Chosen { is_uring: true, name: "io_uring", groups, reason, punts }
    };
    let no_discard = used.iter().find_map(|at| cannot_trim(input, *at));
    let on_fuse = used.iter().find_map(|at| on_fuse(input, *at));
    let in_a_row = used.iter().find_map(|at| in_a_row(input, *at));
    if let Some(chosen) = by_jobs(input, options.choice, no_discard.clone(), &sync, &uring) {
        return chosen;
    }
    match options.choice {
        EngineChoice::Uring if no_discard.is_some() => Err(EngineError::NoUring(no_discard.unwrap_or_default())),
        EngineChoice::Sync if depth > SYNC_THREADS_MAX => Err(EngineError::NoUring(format!(
            "the depth of {depth} would need as many threads, more than {SYNC_THREADS_MAX}"
        ))),
        EngineChoice::Sync => Ok(sync("asked for".to_string())),
        EngineChoice::Uring => match Ring::new(1) {
            Ok(_) => Ok(uring(match (in_a_row, on_fuse) {
                (Some(what), _) => format!("asked for, though each worker has {what} in flight one at a time only"),
                (None, Some(why)) => format!("asked for, though {why}"),
                (None, None) => "asked for".to_string(),
            })),
            Err(error) => Err(EngineError::NoUring(format!("this system does not give it: {error}"))),
        },
        EngineChoice::Auto if no_discard.is_some() && depth > SYNC_THREADS_MAX => {
            Err(too_many_threads(no_discard.unwrap_or_default(), depth))
        }
        EngineChoice::Auto => {
            let mut ring = match Ring::new(1) {
                Ok(ring) => ring,
                Err(error) if depth > SYNC_THREADS_MAX => {
                    return Err(EngineError::NoUring(format!(
                        "it cannot be had here ({error}), and a depth of {depth} would need as many threads, more than {SYNC_THREADS_MAX}"
                    )));
                }
                Err(error) => return Ok(sync(format!("io_uring cannot be had here ({error})"))),
            };
            let can_widen = !punts || ring.widen(1);
            let chosen = uring("asynchronous I/O with registered files and buffers".to_string());
            let why = no_discard
                .or(on_fuse)
                .or_else(|| in_a_row.and_then(|what| fewer(&chosen, depth, &what)))
                .or_else(|| (!can_widen).then(|| unwidened(&chosen, depth)).flatten());
            let why = why.or_else(|| used.iter().find_map(|at| flushes(input, *at)));
            if let Some(why) = why.filter(|_| depth <= SYNC_THREADS_MAX) {
                return Ok(sync(why));
            }
            match used.iter().find_map(|at| is_inline(input, *at)) {
                Some(why) if depth as usize <= 2 * cores => {
                    Ok(sync(format!("{why}, where a thread is cheaper at depth {depth}")))
                }
                _ => Ok(chosen),
            }
        }
    }
}

/// The choice where jobs leave none: memory mappings are used by threads, priorities of single requests by io_uring.
fn by_jobs(
    input: &RunInput<'_>,
    choice: EngineChoice,
    no_discard: Option<String>,
    sync: &dyn Fn(String) -> Chosen,
    uring: &dyn Fn(String) -> Chosen,
) -> Option<Result<Chosen, EngineError>> {
    let jobs = || input.run.workloads.iter().filter_map(|workload| workload.job.as_ref());
    let (is_mapped, has_priorities) = (jobs().any(|job| job.mapped), jobs().any(|job| job.priorities.is_some()));
    let what = "priorities of single requests (cmdprio_percentage, cmdprio_bssplit)";
    let why = "memory mappings (ioengine=mmap) are used by threads".to_string();
    match (is_mapped, has_priorities) {
        (false, false) => None,
        (true, true) => Some(Err(EngineError::OnlyUring("priorities of single requests beside ioengine=mmap"))),
        (true, false) if choice == EngineChoice::Uring => Some(Err(EngineError::NoUring(why))),
        (true, false) if pool::depth(input) > SYNC_THREADS_MAX => Some(Err(too_many_threads(why, pool::depth(input)))),
        (true, false) => Some(Ok(sync(why))),
        (false, true) if choice == EngineChoice::Sync || Ring::new(1).is_err() => {
            Some(Err(EngineError::OnlyUring(what)))
        }
        (false, true) => Some(match no_discard {
            Some(why) => Err(EngineError::NoUring(why)),
            None => Ok(uring(format!("{what} need it"))),
        }),
    }
}

fn too_many_threads(why: String, depth: u32) -> EngineError {
    EngineError::TooManyThreads { why, depth, most: SYNC_THREADS_MAX }
}

/// Why io_uring would have too few in flight when each worker has one of these; `None` when that is enough.
fn fewer(chosen: &Chosen, depth: u32, what: &str) -> Option<String> {
    let most = chosen.groups;
    (depth as usize > most).then(|| format!("io_uring would have {most} of {depth} in flight: {what} go one at a time"))
}

/// Why io_uring would have too few in flight with four threads of the kernel per CPU and worker; `None` when that is enough.
fn unwidened(chosen: &Chosen, depth: u32) -> Option<String> {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let most = chosen.groups * 4 * cpus;
    (depth as usize > most).then(|| format!("io_uring would have at most {most} of {depth} in flight on this kernel"))
}

/// The workloads on a target, with the flags that it is opened with for them.
fn uses<'a>(input: &RunInput<'a>, at: usize) -> impl Iterator<Item = (&'a Workload, OpenFlags)> {
    let own = input.plan.targets[at].open;
    let workloads = input.run.workloads.iter().filter(move |workload| workload.targets.contains(&at));
    workloads.map(move |workload| (workload, workload.open.unwrap_or(own)))
}

/// Past the page cache?
fn is_direct(flags: OpenFlags) -> bool {
    flags.direct || flags.extra & libc::O_DIRECT.cast_unsigned() != 0
}

/// Durable with every write?
fn is_durable(flags: OpenFlags) -> bool {
    flags.sync || flags.dsync || flags.extra & libc::O_DSYNC.cast_unsigned() != 0
}

/// Why a target may have fewer in flight through io_uring than were asked, whatever is done to it; `None` when it may not.
fn on_fuse(input: &RunInput<'_>, at: usize) -> Option<String> {
    let opened = input.targets.get(at)?.as_ref()?;
    let TargetKind::File { file_system, .. } = &opened.kind else { return None };
    let is_fuse = file_system.starts_with("fuse");
    is_fuse.then(|| format!("{} lies on {file_system}, where a worker may have one in flight at a time", opened.name))
}

/// What io_uring has on a target one at a time in each ring; `None`: nothing.
fn in_a_row(input: &RunInput<'_>, at: usize) -> Option<String> {
    let opened = input.targets.get(at)?.as_ref()?;
    let TargetKind::File { file_system, .. } = &opened.kind else { return None };
    if is_in_memory(file_system) {
        return None;
    }
    uses(input, at).find_map(|(workload, flags)| {
        let mix = &workload.mix;
        if mix.trim > 0.0 || mix.trim_then_write {
            return Some(format!("trims of the file {}", opened.name));
        }
        if mix.write > 0.0 && !is_direct(flags) && is_durable(flags) {
            return Some(format!("durable writes through the page cache ({})", opened.name));
        }
        // Btrfs copies on write: what goes past the page cache waits, and is not said to be parallel.
        if mix.write > 0.0 && is_direct(flags) && file_system == "btrfs" {
            return Some(format!("direct writes on btrfs ({})", opened.name));
        }
        let is_parallel = matches!(file_system.as_str(), "ext4" | "xfs" | "btrfs");
        (mix.write > 0.0 && !is_parallel).then(|| format!("writes on {file_system} ({})", opened.name))
    })
}

/// Does io_uring hand operations on a target to threads of the kernel?
fn punts(input: &RunInput<'_>, at: usize) -> bool {
    let Some(opened) = input.targets.get(at).and_then(Option::as_ref) else { return false };
    let is_btrfs = matches!(&opened.kind, TargetKind::File { file_system, .. } if file_system == "btrfs");
    let waits = match &opened.kind {
        TargetKind::File { file_system, .. } => {
            !is_in_memory(file_system) && !matches!(file_system.as_str(), "ext4" | "xfs" | "btrfs")
        }
        TargetKind::BlockDevice { .. } | TargetKind::Zeroes | TargetKind::Nothing => false,
    };
    waits
        || uses(input, at).any(|(workload, flags)| {
            let mix = &workload.mix;
            let flushes = mix.flush > 0.0 || mix.fsync_every.is_some() || mix.fdatasync_every.is_some();
            let waits = if is_direct(flags) { is_btrfs } else { is_durable(flags) };
            // Those of a device; in files they go one at a time.
            let discards = discard::is_device(opened) && (mix.trim > 0.0 || mix.trim_then_write);
            flushes || discards || (mix.write > 0.0 && waits)
        })
}

/// Why trims of a target need threads; `None` when there are none, or io_uring has them.
fn cannot_trim(input: &RunInput<'_>, at: usize) -> Option<String> {
    let trims = uses(input, at).any(|(workload, _)| workload.mix.trim > 0.0 || workload.mix.trim_then_write);
    trims.then(|| cannot_discard(input, at)).flatten()
}

/// Why discards of a target need threads; `None` when it is no device, or io_uring has them.
///
/// A discard through a ring drops what is cached of its range before it begins, and does not keep reads away (`blkdev_cmd_discard` in
/// `block/ioctl.c`, Linux 6.18): what is read ahead meanwhile stays, though it is on the device no more. The call that waits keeps
/// them away.
pub(crate) fn cannot_discard(input: &RunInput<'_>, at: usize) -> Option<String> {
    let opened = input.targets.get(at)?.as_ref().filter(|opened| opened.writable && discard::is_device(opened))?;
    if !discard::has_uring() {
        return Some(format!("io_uring discards on {} from Linux 6.12 on only", opened.name));
    }
    // A device may have several names in a plan, and has one cache.
    let is_same = |at: &usize| input.targets[*at].as_ref().is_some_and(|other| other.kind == opened.kind);
    let is_cached = |at: usize| uses(input, at).any(|(_, flags)| !is_direct(flags));
    (0..input.targets.len()).filter(is_same).any(is_cached).then(|| {
        format!(
            "discards of {}, which is used through the page cache, are right only where a thread waits",
            opened.name
        )
    })
}

/// Which writes of a synchronous fio job the kernel follows with a flush only where the call waits for them: direct ones to a
/// device opened `O_SYNC` or `O_DSYNC`. Through a ring they have FUA alone (`blkdev_write_iter` in `block/fops.c`: what is queued
/// does not come to `generic_write_sync`), and that is another load.
fn flushes(input: &RunInput<'_>, at: usize) -> Option<String> {
    let opened = input.targets.get(at)?.as_ref()?;
    let is_device = matches!(opened.kind, TargetKind::BlockDevice { .. });
    let waits = |workload: &Workload| {
        let files = workload.job.as_ref().and_then(|job| job.files.as_ref());
        workload.mix.write > 0.0 && files.is_some_and(|files| !files.ends_by_bytes)
    };
    let is_flushed =
        |(workload, flags): (&Workload, OpenFlags)| is_direct(flags) && is_durable(flags) && waits(workload);
    (is_device && uses(input, at).any(is_flushed)).then(|| {
        format!("durable writes to {}: the device is flushed behind each one where the call waits for it", opened.name)
    })
}

fn is_in_memory(file_system: &str) -> bool {
    matches!(file_system, "tmpfs" | "ramfs")
}

/// Why threads are cheaper than io_uring for a target at small depth; `None` when they are not.
fn is_inline(input: &RunInput<'_>, at: usize) -> Option<String> {
    let opened = input.targets.get(at)?.as_ref()?;
    match &opened.kind {
        TargetKind::File { file_system, .. } if is_in_memory(file_system) || file_system == "overlay" => {
            Some(format!("{} lies on {file_system}", opened.name))
        }
        TargetKind::BlockDevice { major, .. } if is_memory_device(*major) => {
            Some(format!("{} is a disk in memory", opened.name))
        }
        TargetKind::Zeroes => Some(format!("{} is /dev/zero", opened.name)),
        _ => None,
    }
}

/// RAM disks complete in the submitting call: `brd` has major 1, zram says so in `/proc/devices`.
fn is_memory_device(major: u32) -> bool {
    let devices = std::fs::read_to_string("/proc/devices").unwrap_or_default();
    let is_zram = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some(major.to_string().as_str()) && words.next() == Some("zram")
    };
    major == 1 || devices.lines().any(is_zram)
}
