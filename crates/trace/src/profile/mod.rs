//! What programs are at: samples every CPU so many times a second, and counts the call stacks of the tasks that run
//! there, those of the kernel and those of the program.
//!
//! The probe counts in the kernel; [`ProfileTrace::read`] gives what was counted since it was last asked, with names.

mod clocks;
mod elf;
mod kernel;
mod names;
mod user;

use crate::TraceError;
use crate::constants::Constants;
use crate::names::Cursor;
use crate::program::{Loaded, Need, ProbeSet, Program};
use crate::table::{entries, take};
use clocks::Clocks;
use kernel::KernelNames;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use user::UserNames;

const PROGRAMS: [Program; 1] = [Program { name: "on_sample", tracepoint: "perf_event", need: Need::ByHand }];
/// What build.rs compiled.
pub(crate) const SET: ProbeSet =
    ProbeSet { object: include_bytes!(concat!(env!("OUT_DIR"), "/profile.bpf.o")), programs: &PROGRAMS };

/// Entries of the kernel's tables, as in probe.bpf.c.
const STACKS: u64 = 1 << 13;
const COUNTS: usize = 1 << 14;
/// Of a stack, as in probe.bpf.c.
const FRAMES: usize = 127;
/// Stands for the callers of a stack that has no end.
const CUT: &str = "[…]";

/// Looks a second at each CPU: not in step with what runs every 10 ms.
pub const HZ: u32 = 99;
/// Most of them.
pub const HZ_MAX: u32 = 10_000;

/// What was seen since the last reading.
#[derive(Clone, Debug, Default)]
pub struct ProfileSamples {
    /// Each process, thread name and pair of stacks, in no order.
    pub stacks: Vec<StackCount>,
    /// Samples since the probe began that hit a running task.
    pub samples: u64,
    /// Of them: not counted, for want of room.
    pub lost: u64,
    /// Stacks that found no room; such a sample is counted without it.
    pub lost_stacks: u64,
}

/// How many samples hit this stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackCount {
    /// The process.
    pub pid: u32,
    /// Name of its thread.
    pub comm: Arc<str>,
    /// Functions of the program, the outermost first, with `;` between them; `None`: a thread of the kernel, or not known.
    pub user: Option<Arc<str>>,
    /// Functions of the kernel; `None`: it was in the program.
    pub kernel: Option<Arc<str>>,
    /// Looks.
    pub count: u64,
}

/// In step with probe.bpf.c.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    kernel: u64,
    user: u64,
    pid: u32,
    comm: String,
}

impl Key {
    fn of(bytes: &[u8]) -> Self {
        let mut at = Cursor::new(bytes);
        let (kernel, user, pid, _pad) = (at.u64(), at.u64(), at.u32(), at.u32());
        Self { kernel, user, pid, comm: at.text(16) }
    }
}

/// Over all CPUs; in step with probe.bpf.c.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    samples: u64,
    lost: u64,
    lost_stacks: u64,
    new_stacks: u64,
}

/// What became of the samples.
#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    /// In rows.
    booked: u64,
    /// Neither in a row nor known to be lost, when this was last looked at.
    missing: u64,
    lost: u64,
}

impl Ledger {
    /// Books `more` samples; returns those that are lost in all, the kernel's own included.
    fn book(&mut self, counters: &Counters, more: u64) -> u64 {
        self.booked += more;
        let missing = counters.samples.saturating_sub(counters.lost).saturating_sub(self.booked);
        // A sample that was under way comes with the next reading.
        self.lost = self.lost.max(missing.min(self.missing));
        self.missing = missing;
        counters.lost + self.lost
    }
}

/// A running probe; dropping it detaches everything.
pub struct ProfileTrace {
    counts: MapHandle,
    stacks: MapHandle,
    counters: MapHandle,
    kernel: KernelNames,
    users: UserNames,
    seen: HashMap<Key, u64>,
    ledger: Ledger,
    /// Folded stacks by hash, those of programs by process as well.
    kernel_known: HashMap<u64, Arc<str>>,
    user_known: HashMap<(u32, u64), Arc<str>>,
    /// Stacks that were taken out of the kernel's table at the last reading: a sample may have hit them there just
    /// before.
    left: HashMap<u64, Vec<u64>>,
    /// Stacks that had been put into the table and are not there any more.
    gone: u64,
    hz: u32,
    clocks: Clocks,
    loaded: Loaded,
}

impl std::fmt::Debug for ProfileTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProfileTrace").field("stacks", &self.seen.len()).finish_non_exhaustive()
    }
}

impl ProfileTrace {
    /// Loads the probe and begins to sample each CPU, `hz` times a second.
    ///
    /// # Errors
    /// Missing capabilities or kernel features; more samples than the kernel allows.
    pub fn start(hz: u32) -> Result<Self, TraceError> {
        Self::start_on(hz, None)
    }

    /// The same, but where a CPU is named no other is sampled; one that is off is sampled when it comes back.
    ///
    /// # Errors
    /// As of [`Self::start`].
    pub fn start_on(hz: u32, cpu: Option<u32>) -> Result<Self, TraceError> {
        if !(1..=HZ_MAX).contains(&hz) {
            return Err(TraceError::Parameter(format!("{hz} samples a second: between 1 and {HZ_MAX} are possible")));
        }
        let mut loaded = SET.load(&Constants::default(), |_| Ok(()))?;
        let (counts, stacks, counters) = (loaded.map("counts")?, loaded.map("stacks")?, loaded.map("counters")?);
        // Addresses of the kernel's functions before the first sample, for they take a while.
        let kernel = KernelNames::running();
        let (clocks, events) = Clocks::open(hz, cpu)?;
        loaded.attach_to("on_sample", events)?;
        Ok(Self {
            counts,
            stacks,
            counters,
            kernel,
            users: UserNames::default(),
            seen: HashMap::new(),
            ledger: Ledger::default(),
            kernel_known: HashMap::new(),
            user_known: HashMap::new(),
            left: HashMap::new(),
            gone: 0,
            hz,
            clocks,
            loaded,
        })
    }

    /// CPU time that a sample stands for, ns.
    #[must_use]
    pub fn period_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz)
    }

    /// What is lost, where something is.
    #[must_use]
    pub fn words(&self) -> Option<&'static str> {
        const HIDDEN: &str =
            "the kernel hides the addresses of its functions (kernel.kptr_restrict): they are shown as numbers";
        self.kernel.is_empty().then_some(HIDDEN)
    }

    /// What the probe's program costs so far.
    #[must_use]
    pub fn cost(&self) -> crate::ProbeCost {
        self.loaded.cost()
    }

    /// What was seen since the last reading.
    ///
    /// # Errors
    /// The kernel's tables cannot be read.
    pub fn read(&mut self) -> Result<ProfileSamples, TraceError> {
        // One that goes off again at this moment is sampled when it comes back.
        let _ = self.loaded.attach_to(PROGRAMS[0].name, self.clocks.follow());
        // Before the counts: of what comes in between there is a row already, and nothing seems lost.
        let counters = self.counted()?;
        let grown = self.grown()?;
        let lost = self.ledger.book(&counters, grown.iter().map(|(_, count)| count).sum());
        let (samples, lost_stacks) = (counters.samples, counters.lost_stacks);
        let mut profile = ProfileSamples { stacks: Vec::with_capacity(grown.len()), samples, lost, lost_stacks };
        self.users.begin();
        self.kernel.begin();
        for (key, count) in grown {
            profile.stacks.push(self.named(&key, count)?);
        }
        self.make_room()?;
        Ok(profile)
    }

    /// Looks by pair of stacks since the last reading. A table that fills gives up those that were idle, with what may have
    /// come just now.
    fn grown(&mut self) -> Result<Vec<(Key, u64)>, TraceError> {
        let all = entries(&self.counts).map_err(|why| unreadable(&why))?;
        let is_crowded = all.len() > COUNTS * 3 / 4;
        let mut seen = HashMap::with_capacity(all.len());
        let mut grown = Vec::new();
        for (raw, value) in all {
            let (key, mut now) = (Key::of(&raw), Cursor::new(&value).u64());
            let before = self.seen.get(&key).copied().unwrap_or(0);
            let last = (is_crowded && now == before).then(|| take(&self.counts, &raw)).flatten();
            if let Some(value) = &last {
                now = Cursor::new(value).u64();
            }
            if now > before {
                grown.push((key.clone(), now - before));
            }
            if last.is_none() {
                seen.insert(key, now);
            }
        }
        self.seen = seen;
        Ok(grown)
    }

    fn named(&mut self, key: &Key, count: u64) -> Result<StackCount, TraceError> {
        if !self.kernel_known.contains_key(&key.kernel) && key.kernel != 0 && self.kernel.follow() {
            self.kernel_known.clear();
        }
        let kernel = match self.kernel_known.get(&key.kernel) {
            Some(known) => Some(Arc::clone(known)),
            None => self.frames(key.kernel)?.map(|frames| {
                let folded: Arc<str> = folded(&frames, |address| self.kernel.name(address)).into();
                self.kernel_known.insert(key.kernel, Arc::clone(&folded));
                folded
            }),
        };
        let place = (key.pid, key.user);
        let user = match self.user_known.get(&place) {
            Some(known) => Some(Arc::clone(known)),
            None => self.frames(key.user)?.map(|frames| {
                let failures = self.users.failures();
                let folded: Arc<str> = folded(&frames, |address| self.users.name(key.pid, address)).into();
                // What could not be read now may be next time.
                if self.users.failures() == failures {
                    self.user_known.insert(place, Arc::clone(&folded));
                }
                folded
            }),
        };
        Ok(StackCount { pid: key.pid, comm: key.comm.as_str().into(), user, kernel, count })
    }

    /// Addresses of a stack, the innermost first; `None` where there is none.
    fn frames(&self, hash: u64) -> Result<Option<Vec<u64>>, TraceError> {
        if hash == 0 {
            return Ok(None);
        }
        let bytes = self.stacks.lookup(&hash.to_ne_bytes(), MapFlags::ANY).map_err(|why| unreadable(&why))?;
        Ok(bytes.map(|bytes| addresses(&bytes)).or_else(|| self.left.get(&hash).cloned()))
    }

    fn counted(&self) -> Result<Counters, TraceError> {
        let cpus = self.counters.lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(|why| unreadable(&why))?;
        Ok(cpus.unwrap_or_default().iter().fold(Counters::default(), |sum, cpu| {
            let mut at = Cursor::new(cpu);
            Counters {
                samples: sum.samples + at.u64(),
                lost: sum.lost + at.u64(),
                lost_stacks: sum.lost_stacks + at.u64(),
                new_stacks: sum.new_stacks + at.u64(),
            }
        }))
    }

    /// Stacks have their names by now: a table that fills is emptied, and what comes again finds its place again. Names of
    /// what is not counted any more are forgotten where they are many.
    fn make_room(&mut self) -> Result<(), TraceError> {
        self.left.clear();
        let new_stacks = self.counted()?.new_stacks;
        if new_stacks.saturating_sub(self.gone) >= STACKS / 2 {
            let keys: Vec<Vec<u8>> = self.stacks.keys().collect();
            let mut kept = 0;
            for key in keys {
                match take(&self.stacks, &key) {
                    Some(bytes) => drop(self.left.insert(Cursor::new(&key).u64(), addresses(&bytes))),
                    None => kept += 1,
                }
            }
            self.gone = new_stacks.saturating_sub(kept);
        }
        if self.kernel_known.len() > COUNTS {
            let counted: HashSet<u64> = self.seen.keys().map(|key| key.kernel).collect();
            self.kernel_known.retain(|hash, _| counted.contains(hash));
        }
        if self.user_known.len() > COUNTS {
            let counted: HashSet<(u32, u64)> = self.seen.keys().map(|key| (key.pid, key.user)).collect();
            self.user_known.retain(|place, _| counted.contains(place));
        }
        Ok(())
    }
}

/// As the kernel's table has them.
fn addresses(stack: &[u8]) -> Vec<u64> {
    let mut at = Cursor::new(stack);
    (0..stack.len() / 8).map(|_| at.u64()).take_while(|address| *address != 0).collect()
}

/// Names from the outermost to the innermost, with `;` between them; a stack that was cut begins with `[…]`.
fn folded(frames: &[u64], mut name: impl FnMut(u64) -> String) -> String {
    let mut names: Vec<String> = Vec::with_capacity(frames.len());
    for (at, address) in frames.iter().enumerate() {
        // Those that called are where they go on: behind the call, which may be another function's begin.
        let address = if at == 0 { *address } else { address.saturating_sub(1) };
        names.push(name(address).replace([';', '\n'], ":"));
    }
    if frames.len() == FRAMES {
        names.push(CUT.to_string());
    }
    names.reverse();
    names.join(";")
}

fn unreadable(why: &libbpf_rs::Error) -> TraceError {
    TraceError::Consumer(format!("cannot read the counts of stacks: {why}"))
}

#[cfg(test)]
mod tests {
    use super::{COUNTS, Counters, FRAMES, Key, Ledger, ProfileTrace, STACKS, folded};
    use crate::names::Cursor;
    use libbpf_rs::{MapCore, MapFlags};

    #[test]
    fn a_key_as_the_kernel_holds_it() {
        let mut bytes: Vec<u8> = [7_u64, 9].iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend_from_slice(&[42_u32.to_ne_bytes(), [0; 4]].concat());
        bytes.extend_from_slice(b"worker\0.........");
        assert_eq!(Key::of(&bytes), Key { kernel: 7, user: 9, pid: 42, comm: "worker".to_string() });
    }

    #[test]
    fn the_leaf_is_last_and_callers_are_asked_for_before_they_go_on() {
        let name = |address: u64| format!("f{address}");
        assert_eq!(folded(&[30, 21, 11], name), "f10;f20;f30");
        assert_eq!(folded(&[5], |_| "operator;x".to_string()), "operator:x");
        assert_eq!(folded(&[], name), "");
    }

    #[test]
    fn a_stack_that_was_cut_says_so() {
        let name = |address: u64| format!("f{address}");
        assert!(folded(&[9; FRAMES], name).starts_with("[…];f8;"));
        assert!(folded(&[9; FRAMES - 1], name).starts_with("f8;"));
    }

    #[test]
    fn looks_that_are_in_no_row_are_lost_once_they_are_not_under_way_any_more() {
        let counters = |samples, lost| Counters { samples, lost, ..Counters::default() };
        let mut ledger = Ledger::default();
        assert_eq!(ledger.book(&counters(100, 0), 99), 0, "one is under way");
        assert_eq!(ledger.book(&counters(200, 0), 101), 0, "it came");
        assert_eq!(ledger.book(&counters(300, 10), 85), 10, "the kernel knows of ten");
        assert_eq!(ledger.book(&counters(400, 10), 100), 15, "five did not come");
        assert_eq!(ledger.book(&counters(500, 10), 105), 15, "what is lost stays so");
    }

    fn started() -> Option<ProfileTrace> {
        if !testkit::is_root() {
            testkit::lacks("root");
            return None;
        }
        Some(ProfileTrace::start(1).unwrap())
    }

    fn put_stack(trace: &ProfileTrace, hash: u64, frame: u64) {
        let mut stack = frame.to_ne_bytes().to_vec();
        stack.resize(FRAMES * 8, 0);
        trace.stacks.update(&hash.to_ne_bytes(), &stack, MapFlags::ANY).unwrap();
    }

    fn put_count(trace: &ProfileTrace, kernel: u64, count: u64) {
        let mut key: Vec<u8> = [kernel, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        key.extend_from_slice(&[u32::MAX.to_ne_bytes(), [0; 4]].concat());
        key.extend_from_slice(b"test\0...........");
        trace.counts.update(&key, &count.to_ne_bytes(), MapFlags::ANY).unwrap();
    }

    fn put_stacks(trace: &ProfileTrace, from: u64) {
        (from..from + STACKS / 2).for_each(|hash| put_stack(trace, hash, hash));
        let counters = trace.counters.lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
        let more = |mut cpu: Vec<u8>| {
            let new = Cursor::new(&cpu[24..]).u64() + STACKS / 2;
            cpu[24..32].copy_from_slice(&new.to_ne_bytes());
            cpu
        };
        let counters: Vec<Vec<u8>> =
            counters.into_iter().enumerate().map(|(at, cpu)| if at == 0 { more(cpu) } else { cpu }).collect();
        trace.counters.update_percpu(&0_u32.to_ne_bytes(), &counters, MapFlags::ANY).unwrap();
    }

    #[test]
    fn stacks_without_samples_make_room_and_those_just_sampled_keep_their_names() {
        let Some(mut trace) = started() else { return };
        let mine = |profile: super::ProfileSamples| {
            let rows = profile.stacks.into_iter().filter(|row| row.pid == u32::MAX);
            rows.map(|row| (row.kernel.map(|name| name.to_string()), row.count)).collect::<Vec<_>>()
        };
        for round in 0..3 {
            let first = 1000 + round * STACKS;
            // Their counts found no room.
            put_stacks(&trace, first);
            assert_eq!(mine(trace.read().unwrap()), []);
            let left = trace.stacks.keys().count();
            assert!(left < 100, "{left} stacks stay");
            // A sample had hit one there, and is counted only now.
            put_count(&trace, first + 5, 1);
            assert_eq!(mine(trace.read().unwrap()), [(Some(format!("{:#x}", first + 5)), 1)]);
            let kept = trace.counted().unwrap().new_stacks - trace.gone;
            assert!(kept < 100, "{kept}");
        }
    }

    #[test]
    fn idle_entries_leave_a_full_table_and_nothing_is_counted_twice_or_lost() {
        let Some(mut trace) = started() else { return };
        let mine = |profile: super::ProfileSamples| {
            profile.stacks.iter().filter(|row| row.pid == u32::MAX).map(|row| row.count).sum::<u64>()
        };
        let many = COUNTS as u64 * 7 / 8;
        (0..many).for_each(|at| put_count(&trace, 1_000_000 + at, 2));
        assert_eq!(mine(trace.read().unwrap()), 2 * many);
        put_count(&trace, 1_000_000, 5);
        assert_eq!(mine(trace.read().unwrap()), 3, "the others are idle");
        assert!(trace.counts.keys().count() < 100);
        put_count(&trace, 1_000_000, 6);
        put_count(&trace, 1_000_001, 1);
        assert_eq!(mine(trace.read().unwrap()), 2, "one that goes on, and one that begins anew");
    }

    #[test]
    fn names_of_what_is_gone_are_forgotten() {
        let Some(mut trace) = started() else { return };
        for at in 0..=COUNTS as u64 {
            trace.kernel_known.insert(at, "x".into());
            trace.user_known.insert((1, at), "x".into());
        }
        put_stack(&trace, 77, 77);
        put_count(&trace, 77, 1);
        trace.read().unwrap();
        assert!(trace.kernel_known.len() < 100 && trace.user_known.len() < 100);
        assert!(trace.kernel_known.contains_key(&77));
    }
}
