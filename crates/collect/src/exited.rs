//! Tasks that ended, by name, over taskstats (the kernel's `accounting/taskstats.rst`, linux/taskstats.h).
//!
//! A program that lives for less than a sample is in no list of processes, whatever it costs.

use crate::netlink::{ACK, Netlink, REQUEST, attribute, put_attribute, u16_at, u32_at, u64_at};
use crate::subject::Stamp;
use recording::Label;
use recording::rows::Exited;
use rustix::net::netlink::GENERIC;
use std::collections::BTreeMap;
use std::io;

/// The family that knows families, and what is asked of it.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const TASKSTATS_TYPE_STATS: u16 = 3;
const TASKSTATS_TYPE_AGGR_PID: u16 = 4;
/// `struct genlmsghdr`.
const GENL_HEADER: usize = 4;
/// Flag of the last task of a process (`AGROUP`, version 11 of the structure).
const LAST_OF_PROCESS: u8 = 0x20;
const FLAG_VERSION: u16 = 11;
/// Longer lives are seen by samples of processes, and their CPU time is not of one interval.
const SHORT_NS: i64 = 10_000_000_000;

/// Of what ended between two samples, 1.3 kB each: a shell's loop alone ends 2,000 programs a second, and by default there
/// is room for 166. Used only as far as something waits.
const ROOM: usize = 32 << 20;

/// Listens for ends.
#[derive(Debug)]
pub(crate) struct Ends(Netlink);

/// What is known of one task that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Task {
    comm: String,
    is_last: bool,
    cpu_ns: i64,
    lived_ns: i64,
}

impl Ends {
    /// Of all CPUs. Needs `CAP_NET_ADMIN`, and a kernel with taskstats.
    pub(crate) fn new() -> io::Result<Self> {
        let mut netlink = Netlink::new(Some(GENERIC))?;
        netlink.make_room(ROOM);
        let mut body = vec![CTRL_CMD_GETFAMILY, 1, 0, 0];
        put_attribute(&mut body, CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0");
        let mut family = None;
        netlink.ask((GENL_ID_CTRL, REQUEST | ACK), &body, Some(GENL_ID_CTRL), &mut |message| {
            let attributes = message.get(GENL_HEADER..).unwrap_or(&[]);
            family = attribute(attributes, CTRL_ATTR_FAMILY_ID).and_then(|id| u16_at(id, 0));
        })?;
        let family = family.ok_or_else(|| io::Error::other("the kernel did not tell the number of TASKSTATS"))?;
        let mut body = vec![TASKSTATS_CMD_GET, 1, 0, 0];
        let cpus = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
        put_attribute(&mut body, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, format!("{}\0", cpus.trim()).as_bytes());
        netlink.ask((family, REQUEST | ACK), &body, None, &mut |_| {}).map_err(|error| {
            // EINVAL: kernel/taskstats.c, taskstats_user_cmd.
            match error.kind() {
                io::ErrorKind::InvalidInput => {
                    io::Error::new(error.kind(), "taskstats answers only in the first PID and user namespace")
                }
                _ => error,
            }
        })?;
        Ok(Self(netlink))
    }

    /// Those that ended since the last sample, and whether some were lost.
    pub(crate) fn sample(&mut self, stamp: Stamp) -> io::Result<(Vec<Exited>, bool)> {
        let mut found: BTreeMap<String, Exited> = BTreeMap::new();
        let is_whole = self.0.drain(&mut |message| {
            let Some(task) = task(message).filter(|task| task.lived_ns < SHORT_NS) else { return };
            let row = found.entry(task.comm.clone()).or_insert_with(|| Exited {
                t_ns: stamp.t_ns,
                t_s: stamp.t_s,
                comm: Label::from(task.comm.as_str()),
                tasks: 0,
                processes: 0,
                cpu_ns: 0,
                lived_ns: 0,
            });
            row.tasks += 1;
            row.processes += i64::from(task.is_last);
            row.cpu_ns += task.cpu_ns;
            row.lived_ns += task.lived_ns;
        })?;
        Ok((found.into_values().collect(), !is_whole))
    }
}

/// Reads the figures of one task; messages about whole processes repeat them and are left out.
fn task(message: &[u8]) -> Option<Task> {
    let aggregate = attribute(message.get(GENL_HEADER..)?, TASKSTATS_TYPE_AGGR_PID)?;
    let stats = attribute(aggregate, TASKSTATS_TYPE_STATS)?;
    // struct taskstats: version 0, ac_flag 8, cpu_run_virtual_total 72 (ns), ac_comm 80, ac_pid 128, ac_etime 144 (µs).
    let comm = stats.get(80..112)?.split(|byte| *byte == 0).next()?;
    let signed = |value: u64| i64::try_from(value).ok();
    // A task without a number is padding.
    u32_at(stats, 128).filter(|pid| *pid > 0)?;
    Some(Task {
        comm: String::from_utf8_lossy(comm).into_owned(),
        is_last: u16_at(stats, 0)? >= FLAG_VERSION && stats.get(8)? & LAST_OF_PROCESS != 0,
        cpu_ns: signed(u64_at(stats, 72)?)?,
        lived_ns: signed(u64_at(stats, 144)?)?.checked_mul(1000)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_ends_between_two_samples_are_counted_with_their_cpu_time() {
        let mut ends = match Ends::new() {
            Ok(ends) => ends,
            Err(error) => {
                assert!(!testkit::is_root() || error.kind() == io::ErrorKind::NotFound, "{error}");
                testkit::lacks(&format!("taskstats ({error})"));
                return;
            }
        };
        // A unique name, so that the test counts no other processes' ends.
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("iodyno-ends-abc");
        testkit::copy_program("/bin/true", &program).unwrap();
        for _ in 0..1000 {
            assert!(std::process::Command::new(&program).status().unwrap().success());
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        let (rows, _) = ends.sample(Stamp::at(0, 0)).unwrap();
        let mine = rows.iter().find(|row| &*row.comm == "iodyno-ends-abc").unwrap();
        assert_eq!((mine.tasks, mine.processes), (1000, 1000));
        assert!(mine.cpu_ns > 1000 * 5000 && mine.cpu_ns < mine.lived_ns, "{mine:?}");
    }

    #[test]
    fn short_messages_are_skipped() {
        let mut stats = Vec::new();
        put_attribute(&mut stats, TASKSTATS_TYPE_STATS, &[1; 100]);
        let mut message = vec![0; GENL_HEADER];
        put_attribute(&mut message, TASKSTATS_TYPE_AGGR_PID, &stats);
        assert_eq!(task(&message), None);
        assert_eq!(task(&[]), None);
    }
}
