//! What programs are at: every CPU is looked at so many times a second, and the functions through which whoever runs there
//! came to where it is are counted, those of the kernel and those of the program.
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
use crate::program::{Loaded, Need, ProbeSet, Program, entries};
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

/// Looks a second at each CPU: not in step with what runs every 10 ms.
pub const HZ: u32 = 99;
/// Most of them.
pub const HZ_MAX: u32 = 10_000;

/// What was seen since the last reading.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Each process, thread name and pair of stacks, in no order.
    pub stacks: Vec<StackCount>,
    /// Looks since the probe began at which somebody ran.
    pub samples: u64,
    /// Of them: not counted, for want of room.
    pub lost: u64,
    /// Stacks that found no room; such a look is counted without it.
    pub lost_stacks: u64,
}

/// How often somebody was seen there.
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

/// A running probe; dropping it detaches everything.
pub struct ProfileTrace {
    counts: MapHandle,
    stacks: MapHandle,
    counters: MapHandle,
    kernel: KernelNames,
    users: UserNames,
    seen: HashMap<Key, u64>,
    /// Folded stacks by hash, those of programs by process as well.
    kernel_known: HashMap<u64, Arc<str>>,
    user_known: HashMap<(u32, u64), Arc<str>>,
    /// Stacks that were taken out of the kernel's table.
    deleted: u64,
    hz: u32,
    loaded: Loaded,
}

impl std::fmt::Debug for ProfileTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProfileTrace").field("stacks", &self.seen.len()).finish_non_exhaustive()
    }
}

impl ProfileTrace {
    /// Loads the probe and begins to look, `hz` times a second at each CPU.
    ///
    /// # Errors
    /// Missing capabilities or kernel features; more looks than the kernel allows.
    pub fn start(hz: u32) -> Result<Self, TraceError> {
        if !(1..=HZ_MAX).contains(&hz) {
            return Err(TraceError::Parameter(format!("{hz} looks a second: between 1 and {HZ_MAX} are possible")));
        }
        let mut loaded = SET.load(&Constants::default(), |_| Ok(()))?;
        let (counts, stacks, counters) = (loaded.map("counts")?, loaded.map("stacks")?, loaded.map("counters")?);
        // Addresses of the kernel's functions before the first look, for they take a while.
        let kernel = KernelNames::running();
        loaded.attach_to("on_sample", clocks::open(hz)?)?;
        Ok(Self {
            counts,
            stacks,
            counters,
            kernel,
            users: UserNames::default(),
            seen: HashMap::new(),
            kernel_known: HashMap::new(),
            user_known: HashMap::new(),
            deleted: 0,
            hz,
            loaded,
        })
    }

    /// CPU time that a look stands for, ns.
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
    pub fn read(&mut self) -> Result<Profile, TraceError> {
        let all = entries(&self.counts).map_err(|why| unreadable(&why))?;
        let is_crowded = all.len() > COUNTS * 3 / 4;
        let mut present = HashSet::with_capacity(all.len());
        let mut profile = Profile::default();
        self.users.begin();
        for (raw, value) in all {
            let (key, now) = (Key::of(&raw), Cursor::new(&value).u64());
            let before = self.seen.get(&key).copied().unwrap_or(0);
            if now == before && is_crowded {
                // Nobody was there since: room for others.
                let _ = self.counts.delete(&raw);
                continue;
            }
            if now > before {
                profile.stacks.push(self.named(&key, now - before)?);
            }
            self.seen.insert(key.clone(), now);
            present.insert(key);
        }
        self.seen.retain(|key, _| present.contains(key));
        let counters = self.counted()?;
        (profile.samples, profile.lost, profile.lost_stacks) = (counters.samples, counters.lost, counters.lost_stacks);
        self.make_room(&counters, &present)?;
        Ok(profile)
    }

    fn named(&mut self, key: &Key, count: u64) -> Result<StackCount, TraceError> {
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
                let folded: Arc<str> = folded(&frames, |address| self.users.name(key.pid, address)).into();
                self.user_known.insert(place, Arc::clone(&folded));
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
        Ok(bytes.map(|bytes| {
            let mut at = Cursor::new(&bytes);
            (0..bytes.len() / 8).map(|_| at.u64()).take_while(|address| *address != 0).collect()
        }))
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

    /// Stacks have their names by now: a table that fills is emptied, and what comes again finds its place again.
    fn make_room(&mut self, counters: &Counters, present: &HashSet<Key>) -> Result<(), TraceError> {
        let kept = counters.new_stacks.saturating_sub(self.deleted);
        if kept < STACKS / 2 {
            return Ok(());
        }
        // Those that came while this was being read have no name yet.
        let keys: Vec<Vec<u8>> = self.stacks.keys().collect();
        let users: HashSet<u64> = self.user_known.keys().map(|(_, hash)| *hash).collect();
        for key in keys {
            let hash = Cursor::new(&key).u64();
            let is_named = self.kernel_known.contains_key(&hash) || users.contains(&hash);
            if is_named && self.stacks.delete(&key).is_ok() {
                self.deleted += 1;
            }
        }
        let kernel: HashSet<u64> = present.iter().map(|key| key.kernel).collect();
        let user: HashSet<(u32, u64)> = present.iter().map(|key| (key.pid, key.user)).collect();
        self.kernel_known.retain(|hash, _| kernel.contains(hash));
        self.user_known.retain(|place, _| user.contains(place));
        Ok(())
    }
}

/// Names from the outermost to the innermost, with `;` between them.
fn folded(frames: &[u64], mut name: impl FnMut(u64) -> String) -> String {
    let mut names: Vec<String> = Vec::with_capacity(frames.len());
    for (at, address) in frames.iter().enumerate() {
        // Those that called are where they go on: behind the call, which may be another function's begin.
        let address = if at == 0 { *address } else { address.saturating_sub(1) };
        names.push(name(address).replace([';', '\n'], ":"));
    }
    names.reverse();
    names.join(";")
}

fn unreadable(why: &libbpf_rs::Error) -> TraceError {
    TraceError::Consumer(format!("cannot read the counts of stacks: {why}"))
}

#[cfg(test)]
mod tests {
    use super::{Key, folded};

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
}
