//! Several files as one trace, in the order of time; a file is open only while the trace is inside it.

use super::context::Context;
use super::{Records, Source, TraceFormat};
use crate::ImportError;
use recording::rows::Io;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// From so many files on the usual limit of open files may be too low.
const MANY: usize = 200;

/// Raises the limit of open files as far as this process may; where it may not, the file that was one too many is named.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// A file that has been begun: its next row, and what follows it.
struct Begun {
    records: Box<dyn Records>,
    next: Io,
}

/// The merge.
pub(super) struct Merge<'a> {
    format: &'a TraceFormat,
    /// Not begun, the last to begin first: first time and file.
    waiting: Vec<(i64, &'a Source)>,
    /// By number.
    begun: HashMap<usize, Begun>,
    order: BinaryHeap<Reverse<(i64, usize)>>,
    number: usize,
}

impl<'a> Merge<'a> {
    /// Looks at the first row of each file.
    pub(super) fn new(format: &'a TraceFormat, sources: &'a [Source]) -> Result<Self, ImportError> {
        let mut waiting = Vec::new();
        if sources.len() > MANY {
            allow_many_files();
        }
        if let [source] = sources {
            waiting.push((i64::MIN, source));
        } else {
            for source in sources {
                // What is passed over before it is counted when the file is read.
                if let Some(io) = (format.open)(source)?.next(&mut Context::default())? {
                    waiting.push((io.queue_ns, source));
                }
            }
            waiting.sort_by_key(|(first_ns, _)| Reverse(*first_ns));
        }
        Ok(Self { format, waiting, begun: HashMap::new(), order: BinaryHeap::new(), number: 0 })
    }

    /// The next row of all.
    pub(super) fn next(&mut self, context: &mut Context) -> Result<Option<Io>, ImportError> {
        while let Some((first_ns, source)) = self.waiting.last().copied() {
            if self.order.peek().is_some_and(|Reverse((t_ns, _))| *t_ns < first_ns) {
                break;
            }
            self.waiting.pop();
            let mut records = (self.format.open)(source)?;
            if let Some(next) = records.next(context)? {
                self.order.push(Reverse((next.queue_ns, self.number)));
                self.begun.insert(self.number, Begun { records, next });
                self.number += 1;
            }
        }
        let Some(Reverse((_, number))) = self.order.pop() else { return Ok(None) };
        let Some(begun) = self.begun.get_mut(&number) else { return Ok(None) };
        let Some(following) = begun.records.next(context)? else {
            return Ok(self.begun.remove(&number).map(|begun| begun.next));
        };
        self.order.push(Reverse((following.queue_ns, number)));
        Ok(Some(std::mem::replace(&mut begun.next, following)))
    }
}
