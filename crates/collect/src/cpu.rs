//! CPU time from `/proc/stat`, per CPU and for all together.
//!
//! On most kernels this is sampled: at each tick (250 or so per second) the whole tick is charged to whatever runs then.
//! Hence the clock `tick`; short intervals and short bursts are not to be trusted.

use crate::text::{counter, lines, named, words};

/// Cumulative time of one CPU, nanoseconds since boot. `None`: the kernel does not count it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    /// `all`, or the CPU's number.
    pub(crate) cpu: String,
    /// In user mode, guests included.
    pub(crate) user_ns: Option<i64>,
    /// In user mode at low priority.
    pub(crate) nice_ns: Option<i64>,
    /// In the kernel.
    pub(crate) system_ns: Option<i64>,
    /// Idle, nothing waiting for I/O.
    pub(crate) idle_ns: Option<i64>,
    /// Idle while a task of this CPU waited for I/O (Linux 2.5.41); not reliable per CPU.
    pub(crate) iowait_ns: Option<i64>,
    /// In interrupts (2.6.0).
    pub(crate) irq_ns: Option<i64>,
    /// In soft interrupts (2.6.0).
    pub(crate) softirq_ns: Option<i64>,
    /// Taken by the hypervisor (2.6.11).
    pub(crate) steal_ns: Option<i64>,
}

/// So many interrupts take more than a tick of a CPU, be they ever so short: 100,000 of 1 µs are 100 ms.
const INTERRUPTS_SEEN: i64 = 100_000;

/// Reads the `cpu` lines; they stand first. `tick_ns` is the length of one unit of the file. Where the kernel does not
/// measure the time in interrupts, it is not known.
pub(crate) fn parse(text: &[u8], tick_ns: i64) -> Vec<CpuTimes> {
    let cpus = lines(text).take_while(|line| line.starts_with(b"cpu"));
    let mut cpus: Vec<CpuTimes> = cpus.filter_map(|line| parse_line(line, tick_ns)).collect();
    if !measures_interrupts(text) {
        cpus.iter_mut().for_each(|cpu| cpu.irq_ns = None);
    }
    cpus
}

/// Does this `/proc/stat` have a time in interrupts that means something? The tick that counts it comes as an interrupt
/// itself, so that without `CONFIG_IRQ_TIME_ACCOUNTING` (or a CPU that accounts by itself) it is 0 for ever.
pub(crate) fn measures_interrupts(text: &[u8]) -> bool {
    let all = lines(text).next().and_then(|line| parse_line(line, 1));
    let is_zero = all.is_some_and(|all| all.irq_ns == Some(0));
    !(is_zero && named(text, "intr") > Some(INTERRUPTS_SEEN))
}

fn parse_line(line: &[u8], tick_ns: i64) -> Option<CpuTimes> {
    let mut words = words(line);
    let number = std::str::from_utf8(words.next()?.strip_prefix(b"cpu")?).ok()?;
    let cpu = if number.is_empty() { "all".to_string() } else { number.to_string() };
    let mut next = || words.next().and_then(counter)?.checked_mul(tick_ns);
    Some(CpuTimes {
        cpu,
        user_ns: next(),
        nice_ns: next(),
        system_ns: next(),
        idle_ns: next(),
        iowait_ns: next(),
        irq_ns: next(),
        softirq_ns: next(),
        steal_ns: next(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_NS: i64 = 10_000_000;

    #[test]
    fn a_real_file() {
        let times = parse(include_bytes!("../tests/fixtures/stat"), TICK_NS);
        assert_eq!(times.iter().map(|cpu| cpu.cpu.as_str()).collect::<Vec<_>>(), ["all", "0", "1"]);
        assert_eq!(times[0].user_ns, Some(11637 * TICK_NS));
        assert_eq!(times[2].softirq_ns, Some(139 * TICK_NS));
        assert_eq!(times[1].steal_ns, Some(64 * TICK_NS));
        // The parts make the whole, as far as ticks go.
        let sum = times[1].idle_ns.unwrap() + times[2].idle_ns.unwrap();
        assert!((sum - times[0].idle_ns.unwrap()).abs() <= 2 * TICK_NS);
    }

    #[test]
    fn old_kernels_lack_columns() {
        let times = parse(b"cpu  1 2 3 4\ncpu0 1 2 3 4\nintr 5\ncpu1 9 9 9 9\n", TICK_NS);
        assert_eq!(times.len(), 2);
        assert_eq!((times[0].idle_ns, times[0].iowait_ns, times[0].steal_ns), (Some(4 * TICK_NS), None, None));
        assert!(parse(b"", TICK_NS).is_empty());
        assert_eq!(parse(b"cpu x 2\n", TICK_NS)[0].user_ns, None);
    }

    #[test]
    fn unmeasured_interrupt_time_is_not_0() {
        let text = |irq: i64, interrupts: i64| {
            format!("cpu  9 9 9 9 9 {irq} 9 9 0 0\ncpu0 9 9 9 9 9 0 9 9 0 0\nintr {interrupts} 5 6\n")
        };
        let irq = |irq, interrupts| -> Vec<Option<i64>> {
            parse(text(irq, interrupts).as_bytes(), 1).iter().map(|cpu| cpu.irq_ns).collect()
        };
        assert_eq!(irq(0, 100_001), [None, None]);
        assert_eq!(irq(0, 5000), [Some(0), Some(0)], "just booted: it may come yet");
        assert_eq!(irq(3, 100_001), [Some(3), Some(0)], "a CPU without interrupts");
        assert_eq!(parse(b"cpu  1 2 3 4\nintr 999999\n", 1)[0].irq_ns, None);
    }
}
