//! The rest of the process keeps off the CPU of a thread that has to be on time.

use crate::placement::real_time;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// While it lives, all threads of this process but those with CPUs of their own keep off some CPUs.
///
/// A thread with real-time priority that looks at the clock most of the time goes first on its CPU; but where an ordinary
/// thread has waited there for long, the kernel gives it up to 50 ms in each second at one go (its *fair server*), and
/// the scheduler does move ordinary threads there when the other CPUs are busy.
#[derive(Debug)]
pub struct CpuReservation {
    cpus: Vec<u32>,
    /// What we may use, and the rest of it without `cpus`.
    moved: Option<(CpuSet, CpuSet)>,
    /// That others like this one see which CPUs are taken.
    _claims: Vec<UnixDatagram>,
}

impl CpuReservation {
    /// Keeps off `asked`; where nothing is asked, off the quietest CPU that this process may use and no other one like it
    /// has taken, if it may use several and gives real-time priority: an ordinary thread is better off wherever there is
    /// room.
    #[must_use]
    pub fn of(asked: &[u32]) -> Self {
        let mut claims: Vec<UnixDatagram> = asked.iter().filter_map(|cpu| claim(*cpu)).collect();
        let Ok(ours) = sched_getaffinity(None) else {
            return Self { cpus: asked.to_vec(), moved: None, _claims: claims };
        };
        let mut cpus = asked.to_vec();
        if cpus.is_empty() && ours.count() > 1 && is_allowed() {
            let interrupts = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
            let quiet = by_quiet(&interrupts, numbers(&ours));
            // One CPU that no other replay has claimed stays free for all other threads, or two replays would starve
            // each other's helpers.
            let mut free: Vec<(u32, UnixDatagram)> =
                quiet.iter().filter_map(|cpu| Some((*cpu, claim(*cpu)?))).take(2).collect();
            free.truncate(if free.len() == 2 { 1 } else { 0 });
            cpus.extend(free.first().map(|(cpu, _)| *cpu).or(quiet.first().copied()));
            claims.extend(free.into_iter().map(|(_, claim)| claim));
        }
        let mut rest = ours;
        cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU).for_each(|cpu| rest.unset(*cpu as usize));
        let moved = (rest.count() > 0 && rest.count() < ours.count()).then_some((ours, rest));
        if let Some((ours, rest)) = &moved {
            move_all(ours, rest);
        }
        Self { cpus, moved, _claims: claims }
    }

    /// The CPUs that are kept free; empty: none.
    #[must_use]
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }
}

impl Drop for CpuReservation {
    fn drop(&mut self) {
        if let Some((ours, rest)) = &self.moved {
            move_all(rest, ours);
        }
    }
}

/// May a thread of ours have real-time priority?
fn is_allowed() -> bool {
    let asking = std::thread::Builder::new().spawn(real_time);
    asking.is_ok_and(|asking| asking.join().unwrap_or(false))
}

/// Takes a CPU for as long as the socket is open, by a name that only one in a network namespace can have; `None`: another
/// process has it. The kernel gives it back however a process ends.
fn claim(cpu: u32) -> Option<UnixDatagram> {
    let name = SocketAddr::from_abstract_name(format!("iodyno-cpu-{cpu}")).ok()?;
    UnixDatagram::bind_addr(&name).ok()
}

/// Those CPUs on which devices have interrupted least since the machine started go first, by the text of
/// `/proc/interrupts`; of those that are alike, the last. What is played comes back as interrupts, and real-time priority
/// does not hold these off.
fn by_quiet(interrupts: &str, cpus: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut lines = interrupts.lines();
    // "CPU0 CPU1 …": those that are online.
    let columns: Vec<u32> = lines
        .next()
        .unwrap_or("")
        .split_whitespace()
        .filter_map(|name| name.strip_prefix("CPU")?.parse().ok())
        .collect();
    let mut counts: HashMap<u32, u64> = HashMap::new();
    for line in lines {
        let Some((name, rest)) = line.split_once(':') else { continue };
        // Those with a name instead of a number are the processor's own: timers, calls between CPUs.
        if name.trim().parse::<u32>().is_ok() {
            for (cpu, count) in columns.iter().zip(rest.split_whitespace().map_while(|word| word.parse::<u64>().ok())) {
                *counts.entry(*cpu).or_default() += count;
            }
        }
    }
    let mut cpus: Vec<u32> = cpus.collect();
    cpus.sort_by_key(|cpu| (counts.get(cpu).copied().unwrap_or(0), Reverse(*cpu)));
    cpus
}

fn numbers(set: &CpuSet) -> impl Iterator<Item = u32> {
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).filter_map(|cpu| u32::try_from(cpu).ok())
}

/// Those threads that may run exactly where `from` says may from now on where `to` says. What the system refuses stays.
fn move_all(from: &CpuSet, to: &CpuSet) {
    // Again, for those that were made meanwhile by one that had not been moved yet.
    for _ in 0..8 {
        let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let numbers = tasks.filter_map(|task| task.file_name().to_str()?.parse::<i32>().ok());
        let moved = numbers.filter_map(Pid::from_raw).filter(|thread| {
            sched_getaffinity(Some(*thread)).is_ok_and(|now| now == *from)
                && sched_setaffinity(Some(*thread), to).is_ok()
        });
        if moved.count() == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuReservation, by_quiet, claim, numbers};
    use rustix::thread::sched_getaffinity;

    #[test]
    fn the_quietest_is_where_devices_interrupt_least() {
        let text = "           CPU0       CPU1       CPU3
 36:         12   15636710          3  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 41:      10666          0      10675  PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx
LOC:          1          2   99999999  Local timer interrupts
ERR:          0
";
        let of = |cpus: &[u32]| by_quiet(text, cpus.iter().copied()).first().copied();
        assert_eq!(of(&[0, 1, 3]), Some(3), "the last of those that are alike");
        assert_eq!(of(&[0, 1]), Some(0));
        assert_eq!(of(&[1]), Some(1));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0, 1, 3, 7]), Some(7), "nothing is known of it, so nothing has interrupted it");
        assert_eq!(by_quiet(text, [0, 1, 3].into_iter()), [3, 0, 1]);
        assert_eq!(by_quiet("", [0, 1].into_iter()), [1, 0], "without the file");
    }

    #[test]
    fn a_cpu_is_taken_once_and_given_back() {
        let cpu = 999_999;
        let first = claim(cpu).unwrap();
        assert!(claim(cpu).is_none() && claim(cpu - 1).is_some());
        drop(first);
        assert!(claim(cpu).is_some());
    }

    #[test]
    fn threads_keep_off_while_it_lives_and_come_back() {
        let ours = sched_getaffinity(None).unwrap();
        let Some(last) = numbers(&ours).last().filter(|_| ours.count() > 1) else {
            testkit::lacks("two CPUs");
            return;
        };
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let waiting = std::thread::spawn(move || {
            let _ = wait.recv();
            sched_getaffinity(None).unwrap()
        });
        let reservation = CpuReservation::of(&[last]);
        assert_eq!(reservation.cpus(), [last]);
        let now = sched_getaffinity(None).unwrap();
        assert!(!now.is_set(last as usize) && now.count() == ours.count() - 1);
        let heir = std::thread::spawn(|| sched_getaffinity(None).unwrap()).join().unwrap();
        assert_eq!(heir, now, "threads made meanwhile keep off as well");
        go.send(()).unwrap();
        assert_eq!(waiting.join().unwrap(), now, "threads made before, too");
        drop(reservation);
        assert_eq!(sched_getaffinity(None).unwrap(), ours);
        // Nothing is asked: one of them, where it helps.
        let chosen = CpuReservation::of(&[]).cpus().to_vec();
        assert_eq!(chosen.len(), usize::from(super::is_allowed()));
        assert!(chosen.iter().all(|cpu| ours.is_set(*cpu as usize)));
        assert_eq!(sched_getaffinity(None).unwrap(), ours);
        // With all of them, no CPU would be left for other threads.
        let all: Vec<u32> = numbers(&ours).collect();
        let reservation = CpuReservation::of(&all);
        assert_eq!(sched_getaffinity(None).unwrap(), ours);
        drop(reservation);
    }
}
