//! The loader of every probe set: which programs of its object fit this kernel, what is lost without the others, load, and
//! attach.

use crate::constants::Constants;
use crate::kernel::Kernel;
use crate::{TraceError, capability};
use libbpf_rs::{ErrorKind, Link, MapCore, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
use std::sync::Mutex;

/// The first Linux with everything that probes need besides tracepoints that are younger.
const OLDEST: &str = "5.12";

/// One program of a probe set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// Name of its function.
    pub(crate) name: &'static str,
    /// Tracepoint that it needs.
    pub(crate) tracepoint: &'static str,
    /// What it is for.
    pub(crate) need: Need,
}

/// How much a program matters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    /// Nothing works without it; what that is.
    Always(&'static str),
    /// The same of a tracepoint that came with this version of Linux.
    AlwaysSince(&'static str, &'static str),
    /// What is lost without it; empty where another program says it.
    Else(&'static str),
    /// Stands in where the first tracepoint is missing; what is lost by that.
    Instead(&'static str, &'static str),
    /// It hangs on something else than a tracepoint ([`Loaded::attach_to`]).
    ByHand,
}

/// A probe set: what build.rs compiled of it, and its programs in the order in which they are attached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeSet {
    pub(crate) object: &'static [u8],
    pub(crate) programs: &'static [Program],
}

/// What became of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramState {
    /// Attached.
    Used,
    /// The kernel does not have its tracepoint.
    Missing,
    /// Something better is there, or it was not asked for.
    NotNeeded,
    /// It is there, and this process may not see it: the loss says what helps.
    Hidden,
}

/// What the kernel offers for one program; part of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramSupport {
    /// Tracepoint.
    pub tracepoint: &'static str,
    /// What became of it.
    pub state: ProgramState,
    /// What is lost, when something is.
    pub loss: Option<&'static str>,
}

impl ProgramSupport {
    /// In words; empty when all is well.
    #[must_use]
    pub fn words(&self) -> String {
        match (self.state, self.loss.filter(|loss| !loss.is_empty())) {
            (ProgramState::Used, Some(loss)) => format!("{} stands in for a newer tracepoint: {loss}", self.tracepoint),
            (ProgramState::Missing, Some(loss)) => format!("this kernel has no {}: {loss}", self.tracepoint),
            (ProgramState::Hidden, Some(loss)) => format!("{} is hidden: {loss}", self.tracepoint),
            _ => String::new(),
        }
    }
}

/// The last lines of libbpf and of the verifier; libbpf offers one callback per process.
static LOG: Mutex<String> = Mutex::new(String::new());
/// As many characters of them are kept.
const LOG_MAX: usize = 4000;

fn keep_log(_level: PrintLevel, message: String) {
    let Ok(mut log) = LOG.lock() else { return };
    log.push_str(&message);
    if log.len() > LOG_MAX {
        let cut = log.len() - LOG_MAX;
        let cut = (cut..log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(0);
        log.drain(..cut);
    }
}

fn take_log() -> String {
    LOG.lock().map(|mut log| std::mem::take(&mut *log)).unwrap_or_default()
}

impl ProbeSet {
    /// Decides for each program whether it is to be loaded.
    ///
    /// # Errors
    /// One that nothing replaces is missing.
    pub(crate) fn verdicts(&self, kernel: &Kernel) -> Result<Vec<ProgramSupport>, TraceError> {
        let judge = |program: &Program| {
            let here = kernel.has_tracepoint(program.tracepoint);
            let (state, loss) = match program.need {
                Need::Always(loss) | Need::AlwaysSince(loss, _) if !here => {
                    let since = if let Need::AlwaysSince(_, since) = program.need { since } else { OLDEST };
                    return Err(TraceError::NoTracepoint { tracepoint: program.tracepoint, loss, since });
                }
                Need::Always(_) | Need::AlwaysSince(..) | Need::ByHand => (ProgramState::Used, None),
                Need::Else(_) if here => (ProgramState::Used, None),
                Need::Else(loss) => (ProgramState::Missing, Some(loss)),
                Need::Instead(better, _) if kernel.has_tracepoint(better) => (ProgramState::NotNeeded, None),
                Need::Instead(_, loss) if here => (ProgramState::Used, Some(loss)),
                Need::Instead(_, loss) => (ProgramState::Missing, Some(loss)),
            };
            Ok(ProgramSupport { tracepoint: program.tracepoint, state, loss })
        };
        self.programs.iter().map(judge).collect()
    }

    /// Loads what fits the running kernel; `prepare` sizes the maps. Nothing runs yet.
    ///
    /// # Errors
    /// Missing capabilities or kernel features; the kernel refuses.
    pub(crate) fn load(
        &self,
        constants: &Constants,
        prepare: impl FnOnce(&mut OpenObject) -> Result<(), libbpf_rs::Error>,
    ) -> Result<Loaded, TraceError> {
        let kernel = Kernel::running()?;
        self.load_judged(&kernel, self.verdicts(&kernel)?, constants, prepare)
    }

    /// The same with verdicts that are known.
    ///
    /// # Errors
    /// Missing capabilities; the kernel refuses.
    pub(crate) fn load_judged(
        &self,
        kernel: &Kernel,
        verdicts: Vec<ProgramSupport>,
        constants: &Constants,
        prepare: impl FnOnce(&mut OpenObject) -> Result<(), libbpf_rs::Error>,
    ) -> Result<Loaded, TraceError> {
        capability::check()?;
        check_age(&rustix::system::uname().release().to_string_lossy())?;
        libbpf_rs::set_print(Some((PrintLevel::Warn, keep_log)));
        let _ = take_log();
        let mut builder = ObjectBuilder::default();
        if let Some(path) = kernel.path() {
            builder.btf_custom_path(path).map_err(refusal)?;
        }
        let mut open = builder.open_memory(self.object).map_err(refusal)?;
        for mut program in open.progs_mut() {
            let name = program.name().to_string_lossy().into_owned();
            let mut judged = self.programs.iter().zip(&verdicts);
            let fits = judged.any(|(known, verdict)| known.name == name && verdict.state == ProgramState::Used);
            program.set_autoload(fits);
        }
        constants.apply(self.object, &mut open)?;
        prepare(&mut open).map_err(refusal)?;
        let object = open.load().map_err(refusal)?;
        Ok(Loaded { links: Vec::new(), object, programs: self.programs, verdicts })
    }
}

/// A probe set in the kernel; dropping it takes everything out again.
#[derive(Debug)]
pub(crate) struct Loaded {
    links: Vec<Link>,
    pub(crate) object: Object,
    programs: &'static [Program],
    verdicts: Vec<ProgramSupport>,
}

/// Storage of tasks for tracing programs came with 5.11, memory as an argument of global functions with 5.12.
fn check_age(release: &str) -> Result<(), TraceError> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map_while(|word| word.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(u32::MAX));
    if version < (5, 12) { Err(TraceError::TooOld { release: release.to_string() }) } else { Ok(()) }
}

impl Loaded {
    /// A handle of one of the probe's maps.
    ///
    /// # Errors
    /// There is none of this name.
    pub(crate) fn map(&self, name: &str) -> Result<MapHandle, TraceError> {
        let found = self.object.maps().find(|map| map.name() == name);
        let found = found.ok_or_else(|| TraceError::Consumer(format!("finds no map {name} in the probe")))?;
        MapHandle::try_from(&found).map_err(|why| TraceError::Consumer(format!("cannot use the map {name}: {why}")))
    }

    /// What the kernel offers, program by program.
    pub(crate) fn verdicts(&self) -> &[ProgramSupport] {
        &self.verdicts
    }

    /// Attaches every loaded program to its tracepoint.
    ///
    /// # Errors
    /// The kernel refuses; nothing stays attached.
    pub(crate) fn attach(&mut self) -> Result<(), TraceError> {
        // In the order of the declaration, so that ends are watched before starts.
        for (known, _) in
            self.programs.iter().zip(&self.verdicts).filter(|(_, verdict)| verdict.state == ProgramState::Used)
        {
            let program = self.object.progs_mut().find(|program| program.name() == known.name);
            let Some(program) = program else { continue };
            self.links.push(program.attach().map_err(refusal)?);
        }
        Ok(())
    }

    /// Attaches one program to these events of `perf_event_open`.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn attach_to(&mut self, name: &str, events: Vec<OwnedFd>) -> Result<(), TraceError> {
        let Some(program) = self.object.progs_mut().find(|program| program.name() == name) else { return Ok(()) };
        for event in events {
            let link = program.attach_perf_event(event.as_raw_fd()).map_err(refusal)?;
            // The link closes it.
            let _ = event.into_raw_fd();
            self.links.push(link);
        }
        Ok(())
    }

    /// What its programs cost so far.
    pub(crate) fn cost(&self) -> ProbeCost {
        let info = |fd: i32| std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
        let of = |text: &str, name: &str| fdinfo_number(text, name).unwrap_or(0);
        let texts = self.object.progs().map(|program| info(program.as_fd().as_raw_fd()));
        texts.fold(ProbeCost::default(), |sum, text| {
            sum.and(ProbeCost { run_ns: of(&text, "run_time_ns:"), runs: of(&text, "run_cnt:") })
        })
    }

    /// Detaches everything; maps stay readable.
    pub(crate) fn detach(&mut self) {
        // Starts first: what begins now would never end.
        while self.links.pop().is_some() {}
    }
}

/// What programs in the kernel cost; counted while [`CostCounting`] lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeCost {
    /// Time in them.
    pub run_ns: u64,
    /// How often they ran.
    pub runs: u64,
}

impl ProbeCost {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { run_ns: self.run_ns + other.run_ns, runs: self.runs + other.runs }
    }
}

/// While it lives, the kernel counts what programs cost, which costs some as well: it reads the clock twice for each.
#[derive(Debug)]
pub struct CostCounting {
    _fd: OwnedFd,
}

impl CostCounting {
    /// From now on.
    ///
    /// # Errors
    /// The kernel refuses (before Linux 5.8, or without privilege).
    pub fn begin() -> Result<Self, TraceError> {
        #[expect(unsafe_code, reason = "libbpf-rs has no call for it")]
        // SAFETY: the call takes a number and gives a descriptor that is ours, or a negative error.
        let fd = unsafe {
            let fd = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
            (fd >= 0).then(|| std::os::fd::FromRawFd::from_raw_fd(fd))
        };
        let refused = || TraceError::Consumer("cannot make the kernel count what probes cost".to_string());
        fd.map(|fd| Self { _fd: fd }).ok_or_else(refused)
    }
}

/// How often the kernel left programs out: one does not run on a CPU that it has interrupted itself on.
#[derive(Debug)]
pub(crate) struct Misses(Vec<OwnedFd>);

impl Misses {
    /// Watches those of the loaded programs that have one of these names.
    pub(crate) fn of(loaded: &Loaded, names: &[&str]) -> Self {
        let watched = loaded.object.progs().filter(|program| names.iter().any(|name| program.name() == *name));
        Self(watched.filter_map(|program| program.as_fd().try_clone_to_owned().ok()).collect())
    }

    /// So often until now.
    pub(crate) fn count(&self) -> u64 {
        let info = |fd: &OwnedFd| std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd()));
        self.0.iter().filter_map(|fd| recursion_misses(&info(fd).ok()?)).sum()
    }
}

/// A program that is called and not attached.
#[derive(Debug)]
pub(crate) struct Callable(OwnedFd);

impl Callable {
    /// The loaded program of this name.
    ///
    /// # Errors
    /// It is not loaded.
    pub(crate) fn of(loaded: &Loaded, name: &str) -> Result<Self, TraceError> {
        let found = loaded.object.progs().find(|program| program.name() == name);
        let fd = found.and_then(|program| program.as_fd().try_clone_to_owned().ok());
        fd.map(Self).ok_or_else(|| TraceError::Consumer(format!("finds no program {name} in the probe")))
    }

    /// Runs it once with `context`, which it may change.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn call(&self, context: &mut [u8]) -> Result<(), TraceError> {
        #[expect(unsafe_code, reason = "libbpf has no safe call for a program by its descriptor")]
        // SAFETY: all zeroes are valid options; the kernel reads and writes no more than the slice's length behind its
        // pointer, and only during the call; the descriptor is open.
        let result = unsafe {
            let mut options: libbpf_sys::bpf_test_run_opts = std::mem::zeroed();
            options.sz = size_of_val(&options) as _;
            options.ctx_in = context.as_ptr().cast();
            options.ctx_size_in = u32::try_from(context.len()).unwrap_or(0);
            libbpf_sys::bpf_prog_test_run_opts(self.0.as_raw_fd(), &raw mut options)
        };
        if result == 0 { Ok(()) } else { Err(TraceError::Consumer(format!("cannot call a program: error {result}"))) }
    }
}

/// Out of a program's `fdinfo` (Linux 5.12).
fn recursion_misses(info: &str) -> Option<u64> {
    fdinfo_number(info, "recursion_misses:")
}

fn fdinfo_number(info: &str, name: &str) -> Option<u64> {
    info.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

/// From the loader's error to ours, with the verifier's last lines.
fn refusal(error: libbpf_rs::Error) -> TraceError {
    let log = take_log();
    // The verifier says the same word of what it finds unsafe, but it explains itself.
    if error.kind() == ErrorKind::PermissionDenied && !log.contains("PROG LOAD LOG") {
        return TraceError::Forbidden { why: error.to_string() };
    }
    TraceError::Refused { why: format!("{error:#}"), log }
}

#[cfg(test)]
mod tests {
    use super::{check_age, recursion_misses};

    #[test]
    fn the_error_on_an_old_kernel_says_that_it_is_too_old() {
        for new in ["5.12.0", "6.1.0-50-cloud-amd64", "6.18.0", "10.0", "odd"] {
            assert!(check_age(new).is_ok(), "{new}");
        }
        for old in ["5.11.22", "5.10.0-32-cloud-amd64", "4.19"] {
            assert!(check_age(old).is_err(), "{old}");
        }
    }

    #[test]
    fn misses_are_found_in_fdinfo() {
        let info = "pos:\t0\nprog_type:\t26\nrun_cnt:\t7\nrecursion_misses:\t3\nverified_insns:\t1\n";
        assert_eq!(recursion_misses(info), Some(3));
        assert_eq!(recursion_misses("pos:\t0\n"), None, "before Linux 5.12");
    }
}
