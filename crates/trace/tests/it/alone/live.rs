//! The event clock on this kernel: figures that are known by other means.

use quantity::clock;
use rustix::time::{ClockId, clock_gettime};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use trace::irq::{IrqSums, IrqTrace};
use trace::profile::{ProfileSamples, ProfileTrace};
use trace::sched::{SchedSums, SchedTrace};

/// `None` where it cannot run, which is said.
fn started(row_after_ns: u64) -> Option<SchedTrace> {
    if !testkit::is_root() {
        testkit::lacks("root");
        return None;
    }
    Some(SchedTrace::start(row_after_ns).unwrap())
}

fn own_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

fn spin(ns: u64) {
    let until_ns = clock::now_ns() + ns;
    while clock::now_ns() < until_ns {}
}

/// A program that the next test ends if this one is killed.
fn marked(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.envs([testkit::mark()]);
    command
}

/// A shell that spins on one CPU, before what else is there; gone with the value.
struct Spinner(Child);

impl Spinner {
    fn on(cpu: usize) -> Self {
        let child = marked("nice")
            .args(["-n", "-20", "taskset", "-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program that works and sleeps in turn, with real-time priority on CPU 0.
fn turns(priority: u32, work_ms: f64, sleep_ms: f64) -> Spinner {
    let program = format!(
        "import time\nwhile True:\n  end=time.monotonic()+{work_ms}/1e3\n  while time.monotonic()<end: pass\n  time.sleep({sleep_ms}/1e3)\n"
    );
    let priority = priority.to_string();
    let args = ["-f", &priority, "taskset", "-c", "0", "python3", "-c", &program];
    Spinner(marked("chrt").args(args).stdin(Stdio::null()).spawn().unwrap())
}

#[test]
#[ignore = "times: make exam"]
fn run_time_is_what_the_process_itself_says() {
    // What the hypervisor steals is the process's by event, and not by its own clock.
    testkit::while_cpus_are_ours(|| {
        let Some(mut trace) = started(0) else { return };
        let (by_event, own) = by_event_and_own(&mut trace);
        // What reading costs is in one of them only; other tests of this process run in both.
        assert!(by_event.abs_diff(own) <= own / 50 + 5_000_000, "{by_event} ns by event, {own} ns by its own clock");
    });
}

/// CPU time of this process over half a second of work and sleep, by event and by its own clock, ns.
fn by_event_and_own(trace: &mut SchedTrace) -> (u64, u64) {
    let me = std::process::id();
    let of = |sums: &SchedSums| sums.processes.iter().find(|process| process.pid == me).cloned();
    spin(50_000_000);
    let (first, first_ns) = (trace.read().unwrap(), own_cpu_ns());
    let before = of(&first).expect("it runs, so it has a row");
    // Half of the time, so that switches are in it.
    for _ in 0..50 {
        spin(4_000_000);
        std::thread::sleep(std::time::Duration::from_millis(4));
    }
    let (then_ns, then) = (own_cpu_ns(), trace.read().unwrap());
    let after = of(&then).expect("it ran again");
    let (by_event, own) = (after.run_ns - before.run_ns, then_ns - first_ns);
    assert!(after.switches >= before.switches + 50, "it slept 50 times: {after:?}");
    assert_eq!((&*after.comm, after.start_ns), (&*before.comm, before.start_ns));
    for (one, other) in first.cpus.iter().zip(&then.cpus) {
        let passed = (other.run_ns + other.idle_ns) - (one.run_ns + one.idle_ns);
        let wall = then.t_ns - first.t_ns;
        assert!(passed.abs_diff(wall) < 1_000_000, "CPU {}: {passed} of {wall} ns", one.cpu);
    }
    assert_eq!(then.lost, 0);
    (by_event, own)
}

#[test]
fn the_probe_names_who_preempted_whom() {
    let Some(mut trace) = started(0) else { return };
    let _alone = testkit::alone();
    let spinners = [Spinner::on(0), Spinner::on(0)];
    let pids = spinners.each_ref().map(|spinner| spinner.0.id());
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let sums = trace.read().unwrap();
    let pair = |pid: u32, by: u32| sums.preemptions.iter().find(|pair| pair.pid == pid && pair.by_pid == by);
    for (pid, by) in [(pids[0], pids[1]), (pids[1], pids[0])] {
        let pair = pair(pid, by).unwrap_or_else(|| panic!("{pid} was never preempted by {by}: {sums:?}"));
        assert!(pair.count >= 10 && pair.wait_ns > 50_000_000, "{pair:?}");
        let process = sums.processes.iter().find(|process| process.pid == pid).unwrap();
        assert!(process.wait_ns >= pair.wait_ns && process.preemptions >= pair.count, "{pair:?} {process:?}");
        assert_eq!(&*process.comm, "sh", "the name after exec");
    }
    no_pair_is_ahead_of_its_process(&mut trace, pids);
    drop(spinners);
    // The last word of those that have ended, and then nothing.
    let last = trace.read().unwrap();
    assert!(pids.iter().all(|pid| last.processes.iter().any(|process| process.pid == *pid)));
    std::thread::sleep(std::time::Duration::from_millis(50));
    let none = trace.read().unwrap();
    assert!(!none.processes.iter().any(|process| pids.contains(&process.pid)), "{none:?}");
}

/// However a reading falls between two switches.
fn no_pair_is_ahead_of_its_process(trace: &mut SchedTrace, pids: [u32; 2]) {
    for _ in 0..500 {
        trace.tell_all();
        let sums = trace.read().unwrap();
        for pair in sums.preemptions.iter().filter(|pair| pids.contains(&pair.pid)) {
            let process = sums.processes.iter().find(|process| process.pid == pair.pid).expect("told all");
            let is_part = pair.count <= process.preemptions && pair.wait_ns + pair.behind_ns <= process.wait_ns;
            assert!(is_part, "{pair:?} {process:?}");
        }
    }
}

#[test]
#[ignore = "times: make exam"]
fn who_woke_and_waited_behind_whom() {
    testkit::while_cpus_are_ours(once_who_woke_and_waited_behind_whom);
}

fn once_who_woke_and_waited_behind_whom() {
    let Some(mut trace) = started(0) else { return };
    let _alone = testkit::alone();
    // The second one is awake for a moment only, mostly between two turns of the first: the first preempts it now and
    // then, and it waits for the first one's end whenever it wakes. It begins before, for it would be preempted while
    // it starts.
    let second = turns(1, 0.2, 1.0);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let first = turns(2, 4.0, 1.0);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let begun = trace.read().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let sums = trace.read().unwrap();
    let grown = |one: &Spinner, other: &Spinner| {
        let of = |sums: &SchedSums| {
            let mut pairs = sums.preemptions.iter();
            let pair = pairs.find(|pair| pair.pid == one.0.id() && pair.by_pid == other.0.id());
            pair.map_or((0, 0, 0), |pair| (pair.behind, pair.behind_ns, pair.wait_ns))
        };
        let (before, now) = (of(&begun), of(&sums));
        // Without news, there is no row.
        (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1), now.2.saturating_sub(before.2))
    };
    let (behind, behind_ns, aside_ns) = grown(&second, &first);
    assert!(behind >= 50 && behind_ns > 300_000_000, "{behind} times, {behind_ns} ns: {sums:?}");
    assert!(behind_ns > aside_ns, "{behind_ns} ns behind, {aside_ns} ns preempted");
    assert!(behind_ns < 1_600_000_000, "no more than there is: {behind_ns} ns");
    let (_, other_ns, _) = grown(&first, &second);
    assert!(other_ns < behind_ns / 10, "the first one hardly waits for the second: {other_ns} ns of {behind_ns}");
}

#[test]
fn small_sums_have_one_row_and_all_sums_when_asked() {
    let Some(mut trace) = started(3_600_000_000_000) else { return };
    let mut child = marked("sleep").arg("30").spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    let has = |sums: &SchedSums, pid: u32| sums.processes.iter().any(|process| process.pid == pid);
    assert!(has(&trace.read().unwrap(), child.id()));
    assert!(!has(&trace.read().unwrap(), child.id()));
    trace.tell_all();
    assert!(has(&trace.read().unwrap(), child.id()));
    let _ = child.kill();
    let _ = child.wait();
    assert!(has(&trace.read().unwrap(), child.id()), "its last word");
}

#[test]
fn what_it_costs_is_counted_when_asked() {
    let Some(trace) = started(0) else { return };
    let counting = trace::CostCounting::begin().unwrap();
    let before = trace.cost();
    for _ in 0..100 {
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    let after = trace.cost();
    let runs = after.runs - before.runs;
    assert!(runs >= 200, "{runs} switches and wake-ups");
    assert!((after.run_ns - before.run_ns) / runs < 20_000, "{before:?} {after:?}");
    drop(counting);
}

/// All CPUs' count of a soft interrupt, as the kernel tells it.
fn proc_count(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/softirqs").unwrap();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.split_whitespace().map(|count| count.parse::<u64>().unwrap()).sum()
}

fn vector(sums: &IrqSums, kind: &str, vector: &str) -> (u64, u64) {
    let rows = sums.vectors.iter().filter(|row| row.kind == kind && &*row.vector == vector);
    rows.fold((0, 0), |sum, row| (sum.0 + row.count, sum.1 + row.ns))
}

#[test]
fn soft_interrupts_are_counted_as_the_kernel_does_and_taken_from_who_ran() {
    if !testkit::is_root() {
        testkit::lacks("root");
        return;
    }
    let mut trace = IrqTrace::start().unwrap();
    let (first, counted) = (trace.read().unwrap(), proc_count("NET_RX"));
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_nonblocking(true).unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut buffer = [0; 64];
    for _ in 0..20_000 {
        sender.send_to(&[7; 32], receiver.local_addr().unwrap()).unwrap();
        while receiver.recv(&mut buffer).is_ok() {}
    }
    let (then, counted_then) = (trace.read().unwrap(), proc_count("NET_RX"));
    let (count, ns) = {
        let (before, after) = (vector(&first, "softirq", "NET_RX"), vector(&then, "softirq", "NET_RX"));
        (after.0 - before.0, after.1 - before.1)
    };
    let kernel = counted_then - counted;
    assert!(kernel >= 10_000, "{kernel}: the test does not do what it says");
    assert!(count.abs_diff(kernel) <= kernel / 50, "{count} counted, {kernel} in /proc/softirqs");
    assert!(ns / count > 100 && ns / count < 1_000_000, "{} ns each", ns / count);
    // They came while this process was sending.
    let me = std::process::id();
    let taken = then.victims.iter().find(|row| row.pid == me && &*row.vector == "NET_RX").unwrap();
    assert!(taken.count >= kernel / 2 && taken.ns > 0, "{taken:?}");
    let total: u64 = then.cpus.iter().map(|cpu| cpu.softirq_ns).sum();
    let softirqs: u64 = then.vectors.iter().filter(|row| row.kind == "softirq").map(|row| row.ns).sum();
    assert!(total.abs_diff(softirqs) <= total / 50 + 1_000_000, "{total} on CPUs, {softirqs} in vectors");
    assert!(then.cpus.iter().all(|cpu| cpu.idle_ns + cpu.stolen_ns <= cpu.irq_ns + cpu.softirq_ns));
    assert_eq!(then.lost, 0);
}

#[test]
fn the_timer_has_its_own_vector_where_there_are_tracepoints() {
    if !testkit::is_root() || !cfg!(target_arch = "x86_64") {
        testkit::lacks("root on x86");
        return;
    }
    let mut trace = IrqTrace::start().unwrap();
    let until_ns = quantity::clock::now_ns() + 300_000_000;
    while quantity::clock::now_ns() < until_ns {}
    let sums = trace.read().unwrap();
    let (count, ns) = vector(&sums, "irq", "LOC");
    // A CPU that works has 100 ticks a second at least.
    assert!(count >= 20 && ns > 0, "{sums:?}");
}

/// Two functions that differ in nothing but how long they work: three parts of the time, and one.
const TWO_PARTS: &str = "
static volatile unsigned long sum;
__attribute__((noinline)) void one_part(long n) { for (long i = 0; i < n; i++) sum += i; }
__attribute__((noinline)) void three_parts(long n) { for (long i = 0; i < 3 * n; i++) sum += i; }
int main(void) { for (;;) { one_part(50000); three_parts(50000); } }
";

#[test]
fn functions_have_the_share_of_looks_that_they_have_of_the_time() {
    if !testkit::is_root() {
        testkit::lacks("root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("parts.c"), folder.path().join("parts"));
    std::fs::write(&source, TWO_PARTS).unwrap();
    let made = Command::new("cc")
        // Optimised, gcc gives leaf functions no frame, and their callers are not seen.
        .args(["-O0", "-fno-omit-frame-pointer", "-o"])
        .arg(&program)
        .arg(&source)
        .status();
    if !made.is_ok_and(|made| made.success()) {
        testkit::lacks("a C compiler");
        return;
    }
    let mut trace = ProfileTrace::start(997).unwrap();
    let child = Spinner(marked(&program).spawn().unwrap());
    let mut seen = ProfileSamples::default();
    // As many samples as it takes, however busy the machine is.
    for _ in 0..60 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let more = trace.read().unwrap();
        seen.stacks.extend(more.stacks.into_iter().filter(|one| one.pid == child.0.id()));
        (seen.samples, seen.lost) = (more.samples, more.lost);
        if seen.stacks.iter().map(|one| one.count).sum::<u64>() > 2000 {
            break;
        }
    }
    let of = |leaf: &str| {
        let is_there = |one: &&trace::profile::StackCount| one.user.as_deref().is_some_and(|user| user.ends_with(leaf));
        seen.stacks.iter().filter(is_there).map(|one| one.count).sum::<u64>() as f64
    };
    let (one, three) = (of("one_part"), of("three_parts"));
    let samples = one + three;
    let all = seen.stacks.iter().map(|one| one.count).sum::<u64>() as f64;
    assert!(samples > 1000.0 && samples > 0.9 * all, "{one} and {three} of {all}: {seen:?}");
    // Four standard deviations of so many samples, and a hundredth for what surrounds the loops.
    let error = 4.0 * (0.75_f64 * 0.25 / samples).sqrt() + 0.01;
    assert!((three / samples - 0.75).abs() < error, "{three} of {samples}, ± {error}");
    let called =
        |one: &&trace::profile::StackCount| one.user.as_deref().is_some_and(|user| user.contains("main;three_parts"));
    assert!(seen.stacks.iter().any(|one| called(&one)), "its caller is known: {seen:?}");
    // A sample may have hit it while it still was a copy of this process.
    assert!(seen.stacks.iter().filter(called).all(|one| one.comm.as_ref() == "parts"), "{seen:?}");
    assert_eq!(seen.lost, 0);
}

#[test]
fn who_is_in_the_kernel_is_seen_there_and_who_sleeps_is_not() {
    if !testkit::is_root() {
        testkit::lacks("root");
        return;
    }
    let mut trace = ProfileTrace::start(997).unwrap();
    let copy = marked("dd").args(["if=/dev/zero", "of=/dev/null", "bs=1M"]).stderr(Stdio::null()).spawn();
    let (copy, sleeper) = (Spinner(copy.unwrap()), Spinner(marked("sleep").arg("30").spawn().unwrap()));
    std::thread::sleep(std::time::Duration::from_millis(300));
    trace.read().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let seen = trace.read().unwrap();
    let of = |spinner: &Spinner| seen.stacks.iter().filter(|one| one.pid == spinner.0.id()).collect::<Vec<_>>();
    let in_kernel: u64 = of(&copy).iter().filter(|one| one.kernel.is_some()).map(|one| one.count).sum();
    assert!(in_kernel > 50, "{in_kernel} samples: {seen:?}");
    if trace.words().is_none() {
        let reads =
            |one: &&trace::profile::StackCount| one.kernel.as_deref().is_some_and(|stack| stack.contains("vfs_read"));
        assert!(of(&copy).iter().any(reads), "{:?}", of(&copy));
    }
    assert!(of(&sleeper).is_empty(), "{:?}", of(&sleeper));
}

#[test]
fn where_one_cpu_is_looked_at_who_runs_on_another_is_not_seen() {
    if !testkit::is_root() {
        testkit::lacks("root");
        return;
    }
    let mine = std::fs::read_to_string("/proc/self/status").unwrap();
    let mine = mine.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_string();
    if !mine.starts_with("0-") && !mine.starts_with("0,1") {
        testkit::lacks("CPUs 0 and 1");
        return;
    }
    // Started on its CPU: before that it is on its way there.
    let on = |cpu: &str| {
        let command = marked("taskset").args(["-c", cpu, "sh", "-c", "while :; do :; done"]).spawn();
        let spinner = Spinner(command.unwrap());
        let is_there = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", spinner.0.id())).unwrap();
            let has = |line: String| status.lines().any(|one| one == line);
            has("Name:\tsh".to_string()) && has(format!("Cpus_allowed_list:\t{cpu}"))
        };
        while !is_there() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        spinner
    };
    let (here, elsewhere) = (on("1"), on("0"));
    let mut trace = ProfileTrace::start_on(997, Some(1)).unwrap();
    let mut samples = |of: &Spinner, other: &Spinner| {
        let seen = trace.read().unwrap();
        let count =
            |one: &Spinner| seen.stacks.iter().filter(|row| row.pid == one.0.id()).map(|row| row.count).sum::<u64>();
        (count(of), count(other))
    };
    let mut sum = (0, 0);
    // As long as it takes, however busy the machine is.
    for _ in 0..40 {
        std::thread::sleep(std::time::Duration::from_millis(250));
        let (one, other) = samples(&here, &elsewhere);
        sum = (sum.0 + one, sum.1 + other);
        if sum.0 > 200 {
            break;
        }
    }
    assert!(sum.0 > 200 && sum.1 == 0, "{sum:?}");
}

#[test]
fn every_look_is_in_one_row_also_where_processes_come_and_go_by_the_thousand() {
    if !testkit::is_root() {
        testkit::lacks("root");
        return;
    }
    let mut trace = ProfileTrace::start(4999).unwrap();
    let storm = marked("sh").args(["-c", "while :; do /bin/true; done"]).spawn();
    let storm = Spinner(storm.unwrap());
    let (mut rows, mut booked, mut last) = (0, 0, ProfileSamples::default());
    let mut longest_ns = 0;
    for turn in 0..1000 {
        if turn >= 16 && rows > 3000 {
            break;
        }
        let began_ns = testkit::now_ns();
        std::thread::sleep(std::time::Duration::from_millis(250));
        last = trace.read().unwrap();
        longest_ns = longest_ns.max(testkit::now_ns() - began_ns);
        rows += last.stacks.len();
        booked += last.stacks.iter().map(|one| one.count).sum::<u64>();
    }
    drop(storm);
    assert!(rows > 3000, "{rows} rows fill the table");
    let counted = last.samples - last.lost;
    // Rows are read behind the sum: samples of the time between are in them as well, until the sum of the next reading.
    let after = trace.read().unwrap();
    let (slack, until) = (50 + counted / 200, after.samples - after.lost);
    let is_right = booked + slack >= counted && booked <= until + slack;
    assert!(is_right, "{booked} in rows, {counted} to {until} counted, {} lost", last.lost);
    // A table has room for so many processes as come in a quarter of a second, and not for those of one that others kept
    // this test from reading.
    let is_late = longest_ns > 400_000_000;
    assert!(is_late || last.lost <= last.samples / 100, "{} of {} lost, {longest_ns} ns", last.lost, last.samples);
}

#[test]
fn what_cannot_be_looked_at_so_often_is_said() {
    for hz in [0, 10_001] {
        assert!(ProfileTrace::start(hz).unwrap_err().to_string().contains("between 1 and 10000"));
    }
}
