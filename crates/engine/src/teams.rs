//! Threads of a run and where they note what they do: a worker, a crew, or some of the threads in trees.

use crate::EngineError;
use crate::cpu::CostClock;
use crate::group_spec::{GroupSpec, JobSpec};
use crate::harvest::JobInterval;
use crate::job_counts::{DepthCounts, JobSpan, JobStat};
use crate::shared::{Control, Status};
use crate::stats::{Buffer, Slot};
use crate::work::Work;
use plan::generate::OperationKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

/// Names of the engines, of workers and of runs.
pub(crate) const IO_URING: &str = "io_uring";
pub(crate) const SYNC: &str = "sync";

/// What a thread does.
type ThreadBody = Box<dyn FnOnce() -> Result<(), EngineError> + Send>;

/// How long the outcome of a thread is waited for that has come to its end and is given up.
const OUTCOME: Duration = Duration::from_millis(100);

/// A thread of a run.
pub(crate) struct WorkerThread {
    handle: JoinHandle<()>,
    outcome: Receiver<Result<(), EngineError>>,
}

impl WorkerThread {
    /// Starts it.
    pub(crate) fn spawn(name: String, body: ThreadBody) -> Result<Self, EngineError> {
        let (sender, outcome) = mpsc::channel();
        let builder = std::thread::Builder::new().name(name).stack_size(256 << 10);
        let body = move || drop(sender.send(body()));
        let handle = builder.spawn(body).map_err(EngineError::system("start a worker thread"))?;
        Ok(Self { handle, outcome })
    }

    /// What came of it, at its end. A thread whose run was given up is not waited for until the kernel has ended it: that waits for the
    /// threads of its ring, which may hang in a system call.
    pub(crate) fn outcome(self, is_given_up: bool) -> Result<(), EngineError> {
        if !is_given_up {
            let _ = self.handle.join();
        }
        self.outcome.recv_timeout(OUTCOME).unwrap_or(Ok(()))
    }
}

/// One worker, or the crew of a synchronous group.
pub(crate) struct WorkerSet {
    pub(crate) stats: Arc<Slot>,
    pub(crate) spare: Buffer,
    pub(crate) status: Arc<Status>,
    pub(crate) threads: Vec<WorkerThread>,
    /// The group's lanes in the run's terms.
    pub(crate) lanes: Vec<(usize, usize)>,
    /// Its jobs.
    pub(crate) jobs: Vec<TeamJob>,
    /// `io_uring` or `sync`.
    pub(crate) engine: &'static str,
    pub(crate) cost: CostClock,
}

/// A job of a team.
pub(crate) struct TeamJob {
    workload: usize,
    span: Arc<JobSpan>,
    /// Begin and end at the last harvest.
    last_span: (Option<u64>, Option<u64>),
}

impl WorkerSet {
    /// One thread with its lanes.
    pub(crate) fn new(
        stats: Arc<Slot>,
        spare: Buffer,
        status: Arc<Status>,
        threads: Vec<WorkerThread>,
        lanes: Vec<(usize, usize)>,
    ) -> Self {
        let (jobs, cost) = (Vec::new(), CostClock::new(true, true));
        Self { stats, spare, status, threads, lanes, jobs, engine: IO_URING, cost }
    }

    /// The threads to come of a group of this kind of work; their cost is noted by thread or, of crews, by the first one's process.
    pub(crate) fn of<W: Work>(group: &GroupSpec, engine: &'static str, cost: CostClock) -> Self {
        let of_job =
            |job: &JobSpec| TeamJob { workload: job.workload, span: Arc::clone(&job.span), last_span: (None, None) };
        Self {
            stats: Arc::new(Slot::new(group.lanes.len(), W::KINDS)),
            spare: Buffer::new(group.lanes.len(), W::KINDS),
            status: Arc::default(),
            threads: Vec::new(),
            lanes: group.lanes.iter().map(|lane| (lane.workload, lane.target)).collect(),
            jobs: group.jobs.iter().map(of_job).collect(),
            engine,
            cost,
        }
    }

    /// So many threads in trees: all teams have the same lanes.
    pub(crate) fn of_trees(lanes: Vec<(usize, usize)>, threads: usize, engine: &'static str, cost: CostClock) -> Self {
        let buffer = Buffer::new(lanes.len(), OperationKind::TREES);
        let stats = Arc::new(Slot::of_trees(lanes.len(), OperationKind::TREES, threads));
        Self { engine, cost, ..Self::new(stats, buffer, Arc::default(), Vec::new(), lanes) }
    }

    /// Tells of each operation of its that fails.
    pub(crate) fn tell(&mut self, control: &Arc<Control>) {
        self.stats.lock().tell(control);
        self.spare.tell(control);
    }

    /// Has it come to its end?
    pub(crate) fn is_done(&self) -> bool {
        self.status.done.load(Ordering::Acquire)
    }

    /// Adds a thread.
    pub(crate) fn spawn(&mut self, name: String, body: ThreadBody) -> Result<(), EngineError> {
        self.threads.push(WorkerThread::spawn(name, body)?);
        Ok(())
    }
}

impl TeamJob {
    /// What is to be said of it, if anything; the run began at `started_ns` of the clock.
    pub(crate) fn interval(&mut self, stat: Option<&mut JobStat>, started_ns: u64) -> Option<JobInterval> {
        let span = self.span.get();
        let is_new = std::mem::replace(&mut self.last_span, span) != span;
        let of_clock = |t_ns: Option<u64>| t_ns.map(|t_ns| started_ns + t_ns);
        let counted =
            stat.map(|stat| [&mut stat.depth, &mut stat.submitted, &mut stat.completed].map(DepthCounts::take));
        let [depth, submitted, completed] = counted.unwrap_or_default();
        let has_news = is_new || depth.count() > 0 || completed.count() > 0;
        let (began_ns, ended_ns) = (of_clock(span.0), of_clock(span.1));
        has_news.then_some(JobInterval { workload: self.workload, began_ns, ended_ns, depth, submitted, completed })
    }
}
