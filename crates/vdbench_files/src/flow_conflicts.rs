//! What a run and a file workload that is, or becomes, a flow say that does not go together.

use crate::file_systems::shown;
use crate::file_works::FileWork;
use crate::flows::is_own;
use crate::run::Definition;
use parameter_text::{Diagnostic, ReadingContext};
use plan::FileOrder;
use plan::generate::OperationKind;

/// Does what a run says of operations go together with a workload that is, or becomes, a flow? Says what does not.
pub(crate) fn check_run(context: &mut ReadingContext, definition: &Definition, work: &FileWork) -> bool {
    let looped = |name: &str| definition.loops.iter().find(|one| one.name == name);
    let loop_operations = looped("operations");
    let is_given = !definition.operations.is_empty() || loop_operations.is_some();
    let (run, name) = (shown(&definition.name), shown(&work.name));
    if work.flow.is_some() && is_given {
        let word = if loop_operations.is_some() { "foroperations" } else { "operations" };
        let message = format!("rd={run} has {word}=, and fwd={name} has flow=");
        let found = Diagnostic::error("conflict", definition.span, message);
        context.push(found.help(format!("take {word}= out, or give the run an fwd= without flow=")));
        return false;
    }
    let of_loop = loop_operations.into_iter().flat_map(|one| &one.values);
    let of_loop = of_loop.filter_map(|(_, text)| OperationKind::of_name(text));
    let of_run = definition.operations.iter().copied().chain(of_loop).find(|kind| is_own(*kind));
    let own = Some(work.operation).filter(|kind| !is_given && work.read.is_none() && is_own(*kind));
    let what = match of_run.or(own) {
        _ if work.flow.is_some() => "flow=".to_string(),
        Some(kind) => format!("operation={}", kind.name()),
        None => return true,
    };
    let may_share = match &work.flow {
        Some(steps) => steps.iter().all(|step| may_share(step.op)),
        None => of_run.or(own).is_none_or(may_share),
    };
    let is_wrong = match work.access {
        FileOrder::SequentialDelete => true,
        FileOrder::RandomShared => !may_share,
        FileOrder::Sequential | FileOrder::Random => false,
    };
    let (message, help, span) = if looped("rdpct").is_some() || work.read.is_some() {
        let message = format!("rd={run} mixes reads and writes by rdpct=, and fwd={name} has {what}");
        (message, "take one of the two out", definition.span)
    } else if is_wrong && work.access == FileOrder::SequentialDelete {
        let message = format!("fwd={name} has fileio=(sequential,delete) and {what}");
        (message, "write delete and create into the flow, and fileio=sequential", work.access_span)
    } else if is_wrong {
        let message = format!("fwd={name} has fileio=(random,shared) and {what}");
        (
            message,
            "threads share files that they only open, read, write or look at: write fileio=random",
            work.access_span,
        )
    } else {
        return true;
    };
    context.push(Diagnostic::error("conflict", span, message).help(help));
    false
}

/// May several threads do it in one file at the same time?
fn may_share(kind: OperationKind) -> bool {
    use OperationKind::{
        Access, Append, Close, Fallocate, Fdatasync, Flock, Fsync, Getattr, MmapRead, MmapWrite, Open, Punch, Read,
        ReadFile, Readdir, Setattr, Statfs, Write,
    };
    let is_asked = matches!(kind, Open | Close | Getattr | Setattr | Access | Statfs | Readdir | Flock);
    let is_data = matches!(kind, Read | ReadFile | Write | Append | MmapRead | MmapWrite | Fallocate | Punch);
    is_asked || is_data || matches!(kind, Fsync | Fdatasync)
}
