//! Which engine a run gets, and how many workers.

use crate::discard;
use crate::pool::{self, used_targets};
use crate::ring::Ring;
use crate::{EngineChoice, EngineError, Input, Options, Pace};
use target::Kind;

/// Arrivals per second that one worker serves easily; fewer workers wake up less often.
pub(crate) const RATE_PER_WORKER: f64 = 100_000.0;
/// A synchronous run has at most this many threads.
const SYNC_THREADS_MAX: u32 = 4096;

/// The choice with its reason.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) is_uring: bool,
    pub(crate) name: &'static str,
    pub(crate) groups: usize,
    pub(crate) reason: String,
}

/// Chooses.
pub(crate) fn choose(input: &Input<'_>, options: &Options) -> Result<Chosen, EngineError> {
    let cores = options
        .workers
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
        .max(1);
    let used = used_targets(input);
    let depth = pool::depth(input);
    let sync = |reason: String| Chosen { is_uring: false, name: "sync", groups: used.len().clamp(1, 64), reason };
    let uring = |reason: String| {
        let wanted = match input.rate {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
            Pace::PerSecond(rate) => (input.run.offered_rate(rate) / RATE_PER_WORKER).ceil() as usize,
            Pace::Max => cores,
        };
        let groups = wanted.clamp(1, cores).min(depth.max(1) as usize);
        Chosen { is_uring: true, name: "io_uring", groups, reason }
    };
    let no_discard = used.iter().find_map(|at| cannot_discard(input, *at));
    match options.choice {
        EngineChoice::Uring if no_discard.is_some() => Err(EngineError::NoUring(no_discard.unwrap_or_default())),
        EngineChoice::Sync if depth > SYNC_THREADS_MAX => Err(EngineError::NoUring(format!(
            "the depth of {depth} would need as many threads, more than {SYNC_THREADS_MAX}"
        ))),
        EngineChoice::Sync => Ok(sync("asked for".to_string())),
        EngineChoice::Uring => match Ring::new(1) {
            Ok(_) => Ok(uring("asked for".to_string())),
            Err(error) => Err(EngineError::NoUring(format!("this system does not give it: {error}"))),
        },
        EngineChoice::Auto => {
            if let Err(error) = Ring::new(1) {
                if depth > SYNC_THREADS_MAX {
                    return Err(EngineError::NoUring(format!(
                        "it cannot be had here ({error}), and a depth of {depth} would need as many threads, more than {SYNC_THREADS_MAX}"
                    )));
                }
                return Ok(sync(format!("io_uring cannot be had here ({error})")));
            }
            if let Some(why) = no_discard.filter(|_| depth <= SYNC_THREADS_MAX) {
                return Ok(sync(why));
            }
            match used.iter().find_map(|at| punts(input, *at)) {
                Some(why) if depth as usize <= 2 * cores => {
                    Ok(sync(format!("{why}, where a thread is cheaper at depth {depth}")))
                }
                _ => Ok(uring("asynchronous I/O with registered files and buffers".to_string())),
            }
        }
    }
}

/// Why trims of a target need threads; `None` when there are none, or io_uring has them.
fn cannot_discard(input: &Input<'_>, at: usize) -> Option<String> {
    let opened = input.targets.get(at)?.as_ref()?;
    let trims =
        input.run.workloads.iter().any(|workload| {
            workload.targets.contains(&at) && (workload.mix.trim > 0.0 || workload.mix.trim_then_write)
        });
    (trims && discard::is_device(opened) && !discard::has_uring())
        .then(|| format!("io_uring discards on {} from Linux 6.12 on only", opened.name))
}

/// Why threads are cheaper than io_uring for a target at small depth; `None` when they are not.
fn punts(input: &Input<'_>, at: usize) -> Option<String> {
    let opened = input.targets.get(at)?.as_ref()?;
    match &opened.kind {
        Kind::File { file_system, .. }
            if matches!(file_system.as_str(), "tmpfs" | "ramfs" | "overlay") || file_system.starts_with("fuse") =>
        {
            Some(format!("{} lies on {file_system}", opened.name))
        }
        Kind::BlockDevice { major, .. } if is_memory_device(*major) => {
            Some(format!("{} is a disk in memory", opened.name))
        }
        Kind::Zeroes => Some(format!("{} is /dev/zero", opened.name)),
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
