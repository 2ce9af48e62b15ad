//! What the operations of a flow are and need, into which parts it falls, and what is remembered of its files.

use super::need::Need;
use plan::generate::OperationKind;
use plan::{FlowStep, TransferSize, TreeLoad, TreeTask};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// So many files that were made or removed last are remembered by a thread.
pub(crate) const RECENT: usize = 64;
/// Room for the largest value of an attribute, and for the longest list of names.
const XATTR_BYTES: u64 = 1 << 16;

/// Files that a thread made and removed last in flows.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    pub(crate) made: Vec<u32>,
    pub(crate) removed: Vec<u32>,
}

impl Recent {
    /// A file came or went.
    pub(crate) fn note(&mut self, file: u32, is_made: bool) {
        let recent = if is_made { &mut self.made } else { &mut self.removed };
        if recent.len() < RECENT {
            recent.push(file);
        }
    }
}

/// What flows remember of each file of a tree, by its number, where one of their operations needs it.
#[derive(Debug)]
pub(crate) struct FlowMemory {
    /// How far it was read by `tail`.
    pub(crate) tails: Option<Box<[AtomicU64]>>,
    /// Has it the attribute that `getxattr` and `removexattr` ask for?
    pub(crate) marks: Option<Box<[AtomicBool]>>,
}

impl FlowMemory {
    /// For a load on so many files.
    pub(crate) fn new(load: &TreeLoad, files: u32) -> Self {
        let steps = if let TreeTask::Flow(steps) = &load.task { steps.as_slice() } else { &[] };
        let any = |fits: fn(OperationKind) -> bool| steps.iter().any(|step| fits(step.op));
        let tails = any(|op| op == OperationKind::Tail).then(|| (0..files).map(|_| AtomicU64::new(0)).collect());
        let marks = any(needs_xattr).then(|| (0..files).map(|_| AtomicBool::new(false)).collect());
        Self { tails, marks }
    }
}

/// Operations of a flow that work on one file.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) steps: &'a [FlowStep],
    /// What the file must be; `None`: there is no file, they ask for the file system only.
    pub(crate) need: Option<Need>,
    /// Is anything written through an open file?
    pub(crate) writes: bool,
    /// Does it use the file's name more than once, so that its directory is worth to be held open?
    pub(crate) uses_directory: bool,
    /// Is it the only operation of its flow?
    pub(crate) is_alone: bool,
}

impl<'a> Part<'a> {
    fn new(steps: &'a [FlowStep]) -> Self {
        let writes = steps.iter().any(|step| writes_through(step.op));
        let names: u32 = steps.iter().map(|step| names_of(step.op)).sum();
        let opens = |op| matches!(op, OperationKind::Create | OperationKind::Open | OperationKind::Tmpfile);
        let is_opened_before = steps.first().is_some_and(|step| opens(step.op));
        let is_opened = !is_opened_before && steps.iter().any(|step| needs_open(step.op));
        Self { steps, need: need_of(steps), writes, uses_directory: names + u32::from(is_opened) > 1, is_alone: false }
    }
}

/// The parts of a flow.
pub(crate) fn parts(steps: &[FlowStep]) -> Vec<Part<'_>> {
    let mut rest = steps;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().skip(1).position(|step| step.is_next).map_or(rest.len(), |at| at + 1);
        let (part, behind) = rest.split_at(end);
        parts.push(Part { is_alone: steps.len() == 1, ..Part::new(part) });
        rest = behind;
    }
    parts
}

/// What must be true of a file before these can be done to it, by the first that says so.
fn need_of(steps: &[FlowStep]) -> Option<Need> {
    use OperationKind as Op;
    let mut need = None;
    for step in steps {
        match step.op {
            Op::Statfs => {}
            Op::Create | Op::Tmpfile => return need.or(Some(Need::Missing)),
            Op::Temp if need.is_none() && !steps.iter().any(|step| copies(step.op)) => return Some(Need::Makeable),
            Op::WriteFile => return need.or(Some(Need::Makeable)),
            Op::Read | Op::ReadFile | Op::MmapRead | Op::CopyRange | Op::Reflink => return Some(Need::Filled),
            Op::Write | Op::Append | Op::MmapWrite | Op::Truncate | Op::Fallocate | Op::Delete => {
                return Some(Need::Existing);
            }
            _ => need = Some(Need::Existing),
        }
    }
    need
}

/// What the parts of a flow need; of any other task `need`, what its lane needs.
pub(crate) fn needs_of(task: &TreeTask, need: Need) -> Vec<Need> {
    match task {
        TreeTask::Flow(steps) => parts(steps).iter().filter_map(|part| part.need).collect(),
        _ => vec![need],
    }
}

pub(crate) fn copies(op: OperationKind) -> bool {
    matches!(op, OperationKind::CopyRange | OperationKind::Reflink)
}

fn needs_xattr(op: OperationKind) -> bool {
    matches!(op, OperationKind::Getxattr | OperationKind::Removexattr)
}

/// Does it change a file through its descriptor?
fn writes_through(op: OperationKind) -> bool {
    use OperationKind as Op;
    let is_data = matches!(op, Op::Write | Op::Append | Op::WriteFile | Op::MmapWrite);
    is_data || matches!(op, Op::Truncate | Op::Fallocate | Op::Punch)
}

/// Does it work on an open file?
pub(crate) fn needs_open(op: OperationKind) -> bool {
    use OperationKind as Op;
    let reads = matches!(op, Op::Read | Op::ReadFile | Op::MmapRead | Op::Tail);
    reads || writes_through(op) || matches!(op, Op::Fsync | Op::Fdatasync | Op::Flock | Op::Close)
}

/// Is it a transfer behind the one before?
pub(crate) fn is_at_next_place(op: OperationKind) -> bool {
    use OperationKind as Op;
    matches!(op, Op::Read | Op::Write | Op::MmapRead | Op::MmapWrite)
}

/// How often it uses a name in the file's directory, with what is undone at the end.
fn names_of(op: OperationKind) -> u32 {
    use OperationKind as Op;
    match op {
        Op::Temp | Op::Rename | Op::Link | Op::Symlink | Op::Readlink | Op::Setattr => 2,
        Op::CopyRange | Op::Reflink => 3,
        Op::Create | Op::Open | Op::Tmpfile | Op::Getattr | Op::Access | Op::Readdir | Op::Delete => 1,
        Op::Getxattr | Op::Setxattr | Op::Listxattr | Op::Removexattr => 2,
        _ => 0,
    }
}

/// May several threads do it in the same file at a time?
pub(crate) fn may_share(task: &TreeTask) -> bool {
    use OperationKind as Op;
    let TreeTask::Flow(steps) = task else { return true };
    steps.iter().all(|step| {
        let is_plain = matches!(step.op, Op::Open | Op::Getattr | Op::Setattr | Op::Access | Op::Statfs | Op::Readdir);
        is_plain || (needs_open(step.op) && !matches!(step.op, Op::WriteFile | Op::Truncate | Op::Tail))
    })
}

/// Does it make files of the tree?
pub(crate) fn makes_files(task: &TreeTask) -> bool {
    use OperationKind as Op;
    let makes = |step: &FlowStep| matches!(step.op, Op::Create | Op::Tmpfile | Op::Temp | Op::WriteFile);
    matches!(task, TreeTask::Flow(steps) if steps.iter().any(makes))
}

/// Does it put data into files?
pub(crate) fn writes(task: &TreeTask) -> bool {
    match task {
        TreeTask::Flow(steps) => steps.iter().any(|step| writes_through(step.op)),
        task => *task == TreeTask::One(OperationKind::Write),
    }
}

/// Bytes of memory that the operations of a flow need.
pub(crate) fn memory(steps: &[FlowStep], transfer: &TransferSize) -> usize {
    use OperationKind as Op;
    let each = steps.iter().map(|step| match step.op {
        Op::Getxattr | Op::Setxattr | Op::Listxattr | Op::Removexattr => XATTR_BYTES,
        Op::Tail => step.bytes.map_or(transfer.max_bytes(), |(_, most)| most),
        op if op.moves_data() && !copies(op) => step.bytes.map_or(transfer.max_bytes(), |(_, most)| most),
        _ => 0,
    });
    usize::try_from(each.max().unwrap_or(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use OperationKind as Op;

    fn flow(ops: &[Op]) -> Vec<FlowStep> {
        ops.iter().map(|op| FlowStep { op: *op, bytes: None, is_next: false }).collect()
    }

    #[test]
    fn the_first_operation_that_says_so_says_which_file_fits() {
        for (ops, need) in [
            (&[Op::Open, Op::Read, Op::Close][..], Some(Need::Filled)),
            (&[Op::Open, Op::Append, Op::Read], Some(Need::Existing)),
            (&[Op::Create, Op::Append, Op::Read], Some(Need::Missing)),
            (&[Op::Delete, Op::Create], Some(Need::Existing)),
            (&[Op::Statfs], None),
            (&[Op::Statfs, Op::Temp, Op::Append, Op::Rename], Some(Need::Makeable)),
            (&[Op::Temp, Op::Reflink], Some(Need::Filled)),
            (&[Op::WriteFile], Some(Need::Makeable)),
            (&[Op::Getattr, Op::WriteFile], Some(Need::Existing)),
            (&[Op::Tail], Some(Need::Existing)),
        ] {
            assert_eq!(need_of(&flow(ops)), need, "{ops:?}");
        }
    }

    #[test]
    fn a_flow_falls_into_its_parts() {
        let mut steps = flow(&[Op::Create, Op::Close, Op::Delete, Op::Open]);
        (steps[0].is_next, steps[2].is_next, steps[3].is_next) = (true, true, true);
        let parts: Vec<usize> = parts(&steps).iter().map(|part| part.steps.len()).collect();
        assert_eq!(parts, [2, 1, 1]);
    }
}
