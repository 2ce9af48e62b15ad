//! Jobs of fio's engines for names, as a job file says them.

use crate::entry_engine::EntryEngine;
use crate::to_plan::base_name;
use crate::words_out::{Lines, time};
use parameter_text::shortest::bytes;
use plan::generate::OperationKind;
use plan::{EntryJob, FileSizes, LayoutKind, Plan, Run, StatCall, TreeLoad, TreeNames, TreeTask, Workload};

/// The job of a workload that is one of these.
pub(crate) fn entry_job(workload: &Workload) -> Option<(&TreeLoad, &EntryJob)> {
    let load = workload.load.tree()?;
    Some((load, load.entries.as_ref()?))
}

/// One job; false: it is none of these.
pub(crate) fn section(plan: &Plan, run: &Run, workload: &Workload, lines: &mut Lines) -> bool {
    let Some((load, job)) = entry_job(workload) else { return false };
    let TreeTask::One(kind) = load.task else { return false };
    let Some(engine) = EntryEngine::of(kind, job.are_directories) else { return false };
    let Some(used) = load.uses.first() else { return false };
    let (Some(spec), TreeNames::Numbered { before, after }) = (plan.trees.get(used.tree), &used.shape.names) else {
        return false;
    };
    lines.add("ioengine", engine.name);
    let directory = spec.anchor.display().to_string();
    lines.add_if(directory != ".", "directory", || directory.replace(':', "\\:"));
    lines.add_if(!has_usual_names(plan, run, workload), "filename_format", || format!("{before}$filenum{after}"));
    lines.add_if(used.shape.files != 1, "nrfiles", || used.shape.files.to_string());
    let counted = job.counted;
    let bs = counted.bytes / counted.ios.max(1);
    let asked = match used.shape.sizes {
        FileSizes::Fixed(bytes) if bytes > 0 => Some(bytes),
        // Directories have none, but what fio counts goes by it.
        _ if counted.ios > 1 => Some(counted.bytes),
        _ => None,
    };
    asked.into_iter().for_each(|asked| lines.add("filesize", &bytes(asked)));
    let writes = counted.op == OperationKind::Write;
    lines.add_if(writes, "rw", || "write".to_string());
    lines.add_if(bs != 4096, "bs", || bytes(bs));
    lines.add_if(job.is_random, "file_service_type", || "random".to_string());
    match job.stat {
        StatCall::Stat => {}
        StatCall::Lstat => lines.add("stat_type", "lstat"),
        StatCall::Statx => lines.add("stat_type", "statx"),
    }
    made(job, engine, asked.is_some(), lines);
    lines.add_if(job.unlinks, "unlink", || "1".to_string());
    if let Some(rate) = workload.rate {
        match rate.fract() == 0.0 {
            true => lines.add("rate_iops", &rate.to_string()),
            false => lines.add("rate", &(rate * bs as f64).round().to_string()),
        }
    }
    let runtime_ns = job.elapsed_ns.map(|elapsed_ns| elapsed_ns.saturating_sub(run.warmup_ns));
    runtime_ns.into_iter().for_each(|runtime_ns| lines.add("runtime", &time(runtime_ns)));
    lines.add_if(run.warmup_ns > 0, "ramp_time", || time(run.warmup_ns));
    match job.operations {
        None => lines.add("time_based", "1"),
        Some(count) if used.shape.files > 0 && count % used.shape.files == 0 && count > 0 => {
            lines.add_if(count != used.shape.files, "loops", || (count / used.shape.files).to_string());
        }
        Some(count) if count < used.shape.files => lines.add("number_ios", &count.to_string()),
        Some(count) => lines.add("io_size", &bytes(count.saturating_mul(bs))),
    }
    true
}

/// What makes the reader make entries before the first run as they are made.
fn made(job: &EntryJob, engine: EntryEngine, has_size: bool, lines: &mut Lines) {
    if engine.are_directories || engine.kind == OperationKind::Create {
        return;
    }
    let writes = job.counted.op == OperationKind::Write;
    match job.made {
        None => lines.add_if(has_size, "create_on_open", || "1".to_string()),
        Some(LayoutKind::Filled) => lines.add_if(writes, "overwrite", || "1".to_string()),
        Some(LayoutKind::Kept) => lines.add("fallocate", "keep"),
        Some(LayoutKind::Sparse) => lines.add("fallocate", "truncate"),
        Some(LayoutKind::Untouched | LayoutKind::Unbounded) => lines.add("fallocate", "none"),
        Some(LayoutKind::Allocated) => {}
    }
}

/// Are the names those that a job of this name has anyway? Copies are one section only where they have the same directory.
fn has_usual_names(plan: &Plan, run: &Run, workload: &Workload) -> bool {
    let names = |one: &Workload| {
        let used = entry_job(one)?.0.uses.first()?;
        match &used.shape.names {
            TreeNames::Numbered { before, after } if after.is_empty() => {
                Some((before.clone(), plan.trees.get(used.tree)?.anchor.clone()))
            }
            _ => None,
        }
    };
    let Some((before, anchor)) = names(workload) else { return false };
    if before == format!("{}.0.", workload.name) {
        return true;
    }
    let base = base_name(&workload.name);
    let copies = run.workloads.iter().filter(|other| base_name(&other.name) == base).enumerate();
    base != workload.name
        && copies.into_iter().all(|(number, other)| {
            let name = format!("{base}.{number}");
            other.name == name && names(other) == Some((format!("{name}."), anchor.clone()))
        })
}
