//! Data validation in fio's words: `verify=` and what belongs to it.

use crate::jobs::JobSection;
use crate::options::Pattern;
use parameter_text::{Diagnostic, ReadingContext};
use plan::{PlanSettings, TransferSize, ValidationSettings};

/// So many damaged blocks do not end a plan: the most that `data_errors=` may say.
pub(crate) const UNENDING: u64 = 1 << 40;

/// Bytes of a sector, which has a stamp.
const SECTOR: u64 = 512;

/// Does the job check data? Where nothing is done there is nothing to check.
fn is_checked(job: &JobSection) -> bool {
    job.options.is_checked()
}

/// Jobs that only read what another execution wrote: `verify_only` makes these of jobs that write.
pub(crate) fn read_only(context: &mut ReadingContext, jobs: &mut [JobSection]) {
    for job in jobs.iter_mut().filter(|job| job.options.verify.only) {
        let span = job.options.spans.get("verify_only").copied().unwrap_or(job.span);
        if !is_checked(job) {
            let found = Diagnostic::error("verify", span, "`verify_only` needs a `verify`");
            context.push(found.help("add verify=crc32c, or leave it out"));
        } else if job.options.replay.iolog.is_some() {
            let found =
                Diagnostic::error("verify", span, "`verify_only` does not go with `read_iolog`: a trace writes");
            context.push(found.help("read with rw=read and verify=crc32c what the trace wrote, or leave it out"));
        } else if job.options.time_based {
            let found = Diagnostic::error("verify", span, "`verify_only` does not go with `time_based`, as in fio");
            context.push(found.help("leave time_based out: what was written is read once"));
        } else if job.options.pattern == Pattern::Write {
            job.options.pattern = Pattern::Read;
        } else if job.options.pattern != Pattern::Read {
            let message = "`verify_only` is for jobs that only write here: rw=write or randwrite";
            let found = Diagnostic::error("verify", span, message);
            context.push(found.help("read with rw=read and verify=crc32c what an earlier run wrote"));
        }
    }
}

/// What the jobs ask to be proved, of the whole plan; `flags` ask for more (`-v`, `-j`).
pub(crate) fn settings(
    context: &mut ReadingContext,
    jobs: &[JobSection],
    flags: Option<&ValidationSettings>,
    settings: &mut PlanSettings,
) {
    let checked: Vec<&JobSection> = jobs.iter().filter(|job| is_checked(job)).collect();
    alone(context, jobs);
    if checked.is_empty() {
        settings.validation = flags.cloned();
    } else {
        let mut asked = of_jobs(&checked);
        if let Some(flags) = flags {
            asked.reads_before_write |= flags.reads_before_write;
            asked.reads_after_write |= flags.reads_after_write;
            asked.sweeps |= flags.sweeps;
            asked.keeps_times |= flags.keeps_times;
            asked.journal.clone_from(&flags.journal);
        }
        settings.validation = Some(asked);
        if checked.iter().any(|job| job.options.verify.is_fatal) {
            settings.errors_max = 0;
        } else if jobs.iter().any(|job| job.options.ends.passes_damage()) {
            settings.errors_max = UNENDING;
        }
    }
    if settings.validation.is_some() {
        jobs.iter().for_each(|job| conflicts(context, job));
    }
}

/// What has no effect without `verify`.
fn alone(context: &mut ReadingContext, jobs: &[JobSection]) {
    let names = ["do_verify", "verify_backlog", "verify_fatal", "trim_verify_zero", "trim_percentage", "trim_backlog"];
    for job in jobs.iter().filter(|job| !is_checked(job)) {
        let why = match () {
            () if job.options.null && job.options.verify.is_on => {
                "on ioengine=null nothing is done, so there is nothing to check"
            }
            () if job.options.entries.is_some() && job.options.verify.is_on => {
                "the engine works on names, and writes no data"
            }
            () => "it belongs to verify=, which is off",
        };
        let is_on = job.options.verify.is_on;
        let names = names.iter().copied().chain(is_on.then_some("verify"));
        for (name, span) in names.filter_map(|name| Some((name, *job.options.spans.get(name)?))) {
            let found = Diagnostic::note("no-effect", span, format!("`{name}` has no effect here"));
            context.note_once(name, found.help(why));
        }
    }
}

/// Settings are those of the plan: what one job asks for holds for all, as long as that raises no false alarm.
fn of_jobs(checked: &[&JobSection]) -> ValidationSettings {
    // A trace has what it has, whatever `rw` says.
    let plays = |job: &JobSection| job.options.replay.iolog.is_some();
    let writes = |job: &JobSection| plays(job) || job.options.pattern.ops()[1];
    let trims = |job: &JobSection| job.options.pattern.ops()[2];
    ValidationSettings {
        reads_before_write: false,
        reads_after_write: checked.iter().any(|job| writes(job) && job.options.verify.backlog > 0),
        sweeps: checked.iter().any(|job| (writes(job) || trims(job)) && job.options.verify.at_end),
        checks_unknown: checked.iter().any(|job| job.options.is_of_earlier()),
        trims_read_zero: checked.iter().any(|job| job.options.verify.trims_read_zero).then_some(true),
        ..ValidationSettings::default()
    }
}

/// What cannot be had of a job of a plan with checks, whether it asked for them or not.
fn conflicts(context: &mut ReadingContext, job: &JobSection) {
    let options = &job.options;
    if options.null || options.entries.is_some() {
        return;
    }
    let span = |name: &str| options.spans.get(name).copied().unwrap_or(job.span);
    let mut error = |name: &str, message: String, help: &str| {
        context.push(Diagnostic::error("verify", span(name), message).help(help.to_string()));
    };
    let checks = &options.verify;
    if checks.is_on && checks.is_bare {
        let message = "`verify=pattern`: the data would be the pattern and nothing else, without a stamp".to_string();
        error("verify", message, "use verify=crc32c and leave verify_pattern out: every sector has a stamp of its own");
    }
    let [_, writes, trims] = options.pattern.ops();
    if writes && !options.literal.is_empty() {
        let name = if options.spans.contains_key("buffer_pattern") { "buffer_pattern" } else { "zero_buffers" };
        let message = format!("`{name}` beside `verify`: what is written has a stamp in every sector");
        error(name, message, "leave one of the two out; validation is of all jobs, so run the other file on its own");
    }
    if checks.trim_percent > 0 && checks.trim_backlog > 0 && is_checked(job) {
        let message = "`trim_percentage`: what was written is not trimmed in between here".to_string();
        error("trim_percentage", message, "leave it out, or trim with a job of its own: rw=randtrim");
    }
    let used = [options.pattern.ops()[0], writes, trims];
    let sizes = options.sizes.iter().zip(used).filter(|(_, used)| *used).flat_map(|(size, _)| grains(size));
    if let Some(odd) = sizes.chain(options.align).find(|bytes| bytes % SECTOR != 0) {
        let name = ["bssplit", "bsrange", "bs"].into_iter().find(|name| options.spans.contains_key(name));
        let message = format!("data is checked in sectors of {SECTOR} bytes, and {odd} is no multiple of that");
        error(name.unwrap_or("blockalign"), message, "use transfers and alignments of 512, 4k, …");
    } else if options.unaligned && options.sizes.iter().any(|size| !matches!(size, TransferSize::Fixed(_))) {
        let message = format!("data is checked in sectors of {SECTOR} bytes: sizes cannot be unaligned");
        error("bs_unaligned", message, "leave bs_unaligned out");
    }
    if options.mapped {
        error("ioengine", "files that are memory cannot be checked".to_string(), "use ioengine=psync or io_uring");
    }
    if options.spans.contains_key("verify_pattern") && !checks.is_bare && is_checked(job) {
        let message = "`verify_pattern`: between the stamps are data that follow from them, and not this pattern";
        let found = Diagnostic::warning("verify", span("verify_pattern"), message);
        context.push(found.help("they are checked bit by bit all the same; leave it out"));
    }
}

/// Of what all sizes are multiples, one by one.
fn grains(size: &TransferSize) -> Vec<u64> {
    match size {
        TransferSize::Fixed(bytes) => vec![*bytes],
        TransferSize::Uniform { min, align, .. } => vec![*min, *align],
        TransferSize::Mix(mix) => mix.iter().map(|(bytes, _)| *bytes).collect(),
    }
}
