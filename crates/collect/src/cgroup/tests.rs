use super::*;
use crate::text::{counter, named, words};
use std::fs::{create_dir_all, write};
use std::process::Command;

/// A folder with files.
fn folder(root: &Path, path: &str, files: &[(&str, &str)]) {
    create_dir_all(root.join(path)).unwrap();
    for (name, text) in files {
        write(root.join(path).join(name), text).unwrap();
    }
}

const SECOND: &str = "25 24 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const PRESSURE: &str =
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=70\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";

/// As systemd has it, with a service that is held back.
fn version_2() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    folder(root.path(), "proc/self", &[("mountinfo", SECOND)]);
    create_dir_all(root.path().join("sys/dev/block")).unwrap();
    std::os::unix::fs::symlink("../../devices/pci0/block/sda", root.path().join("sys/dev/block/8:0")).unwrap();
    let top = "sys/fs/cgroup";
    folder(root.path(), top, &[("cpu.stat", "usage_usec 9000\nuser_usec 5000\nsystem_usec 4000\n")]);
    folder(
        root.path(),
        &format!("{top}/system.slice/mail one.service"),
        &[
            (
                "cpu.stat",
                "usage_usec 700\nuser_usec 500\nsystem_usec 200\ncore_sched.force_idle_usec 0\nnr_periods 10\n\
                 nr_throttled 8\nthrottled_usec 640\nnr_bursts 0\nburst_usec 0\n",
            ),
            ("cpu.max", "20000 100000\n"),
            ("cpu.pressure", PRESSURE),
            ("memory.pressure", PRESSURE),
            ("io.pressure", PRESSURE),
            ("memory.current", "8192\n"),
            ("memory.max", "1048576\n"),
            ("memory.high", "524288\n"),
            ("memory.stat", "anon 4096\nfile 1024\nkernel 512\nanon_thp 1\n"),
            ("memory.events", "low 0\nhigh 3\nmax 2\noom 1\noom_kill 1\noom_group_kill 0\n"),
            (
                "io.stat",
                "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n\
                 7:3 rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0\n259:1 \n9:9 rbytes=1 wbytes=1 rios=1 wios=1\n",
            ),
            ("pids.current", "7\n"),
        ],
    );
    root
}

fn of<'a>(rows: &'a [Cgroup], path: &str) -> &'a Cgroup {
    rows.iter().find(|row| *row.path == *path).unwrap_or_else(|| panic!("{path} is missing: {rows:?}"))
}

#[test]
fn version_2_with_every_controller() {
    let root = version_2();
    let mut groups = Cgroups::new(root.path(), false).unwrap();
    let (rows, devices) = groups.sample((1, 0), &mut Vec::new());
    // A group without a file of ours (`system.slice` here) tells nothing.
    assert_eq!(rows.len(), 2, "{rows:?}");
    let top = of(&rows, "/");
    assert_eq!((top.usage_ns, top.periods, top.read_bytes), (Some(9_000_000), None, None));
    let row = of(&rows, "/system.slice/mail one.service");
    assert_eq!((row.usage_ns, row.user_ns, row.system_ns), (Some(700_000), Some(500_000), Some(200_000)));
    assert_eq!((row.periods, row.throttled_periods, row.throttled_ns), (Some(10), Some(8), Some(640_000)));
    assert_eq!((row.cpu_limit, row.tasks), (Some(0.2), Some(7)));
    assert_eq!((row.memory_bytes, row.memory_max_bytes), (Some(8192), Some(1 << 20)));
    assert_eq!(row.memory_high_bytes, Some(1 << 19));
    assert_eq!((row.anonymous_bytes, row.file_bytes), (Some(4096), Some(1024)));
    assert_eq!((row.memory_high_events, row.memory_max_events), (Some(3), Some(2)));
    assert_eq!((row.oom_events, row.oom_kills), (Some(1), Some(1)));
    assert_eq!(
        (row.read_bytes, row.write_bytes, row.read_ios, row.write_ios),
        (Some(4097), Some(8193), Some(2), Some(3))
    );
    assert_eq!((row.cpu_some_ns, row.io_full_ns, row.memory_some_ns), (Some(70_000), Some(5000), Some(70_000)));
    // A device that did nothing has no row, and one that is gone has its number.
    let names: Vec<&str> = devices.iter().map(|row| &*row.device).collect();
    assert_eq!(names, ["sda", "9:9"]);
    assert_eq!((devices[0].write_bytes, devices[0].discard_ios, devices[1].discard_ios), (Some(8192), Some(0), None));
}

#[test]
fn a_mount_point_whose_name_is_no_text_hides_no_group() {
    let root = version_2();
    let other = b"99 24 0:50 / /srv/m\xff rw - tmpfs tmpfs rw\n";
    write(root.path().join("proc/self/mountinfo"), [other, SECOND.as_bytes()].concat()).unwrap();
    let (rows, _) = Cgroups::new(root.path(), false).unwrap().sample((1, 0), &mut Vec::new());
    assert_eq!(rows.len(), 2, "{rows:?}");
}

#[test]
fn only_an_active_group_has_another_row() {
    let root = version_2();
    let service = root.path().join("sys/fs/cgroup/system.slice/mail one.service");
    let mut groups = Cgroups::new(root.path(), false).unwrap();
    let mut sample = || {
        let (rows, devices) = groups.sample((1, 0), &mut Vec::new());
        (rows.iter().map(|row| row.path.to_string()).collect::<Vec<_>>(), devices.len())
    };
    assert_eq!(sample().0.len(), 2);
    assert_eq!(sample(), (vec!["/".to_string()], 0));
    // I/O that it left to the kernel's threads: no CPU time.
    write(service.join("io.stat"), "8:0 rbytes=4096 wbytes=9192 rios=1 wios=3\n9:9 rbytes=1 wbytes=1 rios=1 wios=1\n")
        .unwrap();
    assert_eq!(sample().1, 1, "the other device did nothing");
    // It waits for a device and uses nothing.
    write(service.join("io.pressure"), PRESSURE.replace("total=70", "total=90")).unwrap();
    assert_eq!(sample().0.len(), 2);
    std::fs::remove_dir_all(&service).unwrap();
    assert_eq!(sample(), (vec!["/".to_string()], 0));
}

#[test]
fn version_1_and_both_side_by_side() {
    let root = tempfile::tempdir().unwrap();
    let mountinfo = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                     32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                     35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                     38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                     40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
                     41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    folder(root.path(), "proc/self", &[("mountinfo", mountinfo)]);
    let at = |mount: &str| format!("sys/fs/cgroup/{mount}/docker/c1");
    folder(
        root.path(),
        &at("cpu,cpuacct"),
        &[
            ("cpuacct.usage", "700000\n"),
            ("cpuacct.usage_user", "500000\n"),
            ("cpuacct.usage_sys", "200000\n"),
            ("cpu.stat", "nr_periods 10\nnr_throttled 8\nthrottled_time 640000\n"),
            ("cpu.cfs_quota_us", "50000\n"),
            ("cpu.cfs_period_us", "25000\n"),
        ],
    );
    folder(
        root.path(),
        &at("memory"),
        &[
            ("memory.usage_in_bytes", "8192\n"),
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory.failcnt", "4\n"),
            ("memory.stat", "cache 1\nrss 2\ntotal_cache 1024\ntotal_rss 4096\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        ],
    );
    let recursive =
        "8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 1\n8:0 Async 2\n8:0 Discard 0\n8:0 Total 12288\nTotal 12288\n";
    folder(
        root.path(),
        &at("blkio"),
        &[
            ("blkio.throttle.io_service_bytes_recursive", recursive),
            ("blkio.throttle.io_serviced", "8:0 Read 1\n8:0 Write 2\n8:0 Total 3\nTotal 3\n"),
        ],
    );
    folder(root.path(), "sys/fs/cgroup/unified/docker/c1", &[("io.pressure", PRESSURE)]);
    let mut groups = Cgroups::new(root.path(), false).unwrap();
    let (rows, devices) = groups.sample((1, 0), &mut Vec::new());
    let row = of(&rows, "/docker/c1");
    assert_eq!((row.usage_ns, row.user_ns, row.system_ns), (Some(700_000), Some(500_000), Some(200_000)));
    assert_eq!((row.periods, row.throttled_periods, row.throttled_ns), (Some(10), Some(8), Some(640_000)));
    assert_eq!((row.cpu_limit, row.tasks), (Some(2.0), None));
    assert_eq!((row.memory_bytes, row.memory_max_bytes), (Some(8192), None));
    assert_eq!((row.anonymous_bytes, row.file_bytes), (Some(4096), Some(1024)));
    assert_eq!((row.memory_max_events, row.oom_kills, row.oom_events), (Some(4), Some(2), None));
    assert_eq!((row.read_bytes, row.write_ios, row.io_some_ns), (Some(4096), Some(2), Some(70_000)));
    assert_eq!((&*devices[0].device, devices[0].discard_bytes, devices[0].discard_ios), ("8:0", Some(0), None));
    // Memory of a group whose CPU time the kernel does not count.
    folder(root.path(), "sys/fs/cgroup/memory/alone", &[("memory.usage_in_bytes", "1\n")]);
    let mut again = || groups.sample((2, 0), &mut Vec::new()).0.iter().any(|row| &*row.path == "/alone");
    assert_eq!([again(), again()], [true, false]);
    write(root.path().join("sys/fs/cgroup/memory/alone/memory.usage_in_bytes"), "2\n").unwrap();
    assert!(again());
}

#[test]
fn many_are_cut_off_and_said_once_and_none_at_all_too() {
    let root = tempfile::tempdir().unwrap();
    folder(root.path(), "proc/self", &[("mountinfo", SECOND)]);
    for at in 0..MOST + 10 {
        folder(root.path(), &format!("sys/fs/cgroup/a/{at}"), &[("cpu.stat", "usage_usec 1\n")]);
    }
    folder(root.path(), "sys/fs/cgroup/z", &[("cpu.stat", "usage_usec 1\n")]);
    let mut groups = Cgroups::new(root.path(), false).unwrap();
    let mut verdicts = Vec::new();
    let (rows, _) = groups.sample((1, 0), &mut verdicts);
    assert!(rows.len() > MOST - 5 && rows.len() <= MOST, "{}", rows.len());
    assert!(rows.iter().any(|row| &*row.path == "/z"), "those nearest to the top come first");
    groups.sample((2, 0), &mut verdicts);
    assert_eq!(verdicts.len(), 1);
    write(root.path().join("proc/self/mountinfo"), "1 1 0:1 / / rw - ext4 /dev/sda rw\n").unwrap();
    assert!(Cgroups::new(root.path(), false).is_err());
}

#[test]
fn beside_others_it_takes_no_more_than_its_share() {
    let mut groups = Cgroups::new(Path::new("/"), true).unwrap();
    let (mut looks, mut cost_ns) = (0, 0);
    let start_ns = 1 << 40;
    for tenth in 0..600 {
        let begin_ns = thread_cpu_ns();
        let (rows, _) = groups.sample((start_ns + tenth * 100_000_000, 0), &mut Vec::new());
        looks += i32::from(!rows.is_empty());
        cost_ns += thread_cpu_ns() - begin_ns;
    }
    // One thousandth of a minute, the slack of each look, and a look that came first.
    println!("{looks} looks in a minute took {cost_ns} ns");
    assert!(looks > 1 && cost_ns < 60_000_000 * 2 + 60_000_000_000 / SHARE * 2, "{looks} looks, {cost_ns} ns");
}

/// A real group of version 1 or 2 that is removed again.
struct RealGroup(Vec<PathBuf>);

impl RealGroup {
    /// Where the controller `cpu` is mounted; it needs to be root.
    fn new(name: &str) -> Option<Self> {
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mounts = mounts(Path::new("/"), &text);
        let mut places: Vec<PathBuf> = mounts
            .first
            .iter()
            .filter(|(controller, _)| ["cpu", "cpuacct"].contains(&controller.as_str()))
            .map(|(_, place)| place.clone())
            .collect();
        if let Some(second) = mounts.second.filter(|_| places.is_empty()) {
            let controllers = std::fs::read_to_string(second.join("cgroup.subtree_control")).ok()?;
            controllers.split_whitespace().any(|controller| controller == "cpu").then_some(())?;
            places.push(second);
        }
        places.sort();
        places.dedup();
        if places.is_empty() || !testkit::is_root() {
            return None;
        }
        let folders: Vec<PathBuf> = places.into_iter().map(|place| place.join(name)).collect();
        let made = folders.iter().all(|folder| std::fs::create_dir(folder).is_ok());
        let group = Self(folders);
        made.then_some(group)
    }

    /// The text of a file in whichever folder has it.
    fn text(&self, name: &str) -> Option<Vec<u8>> {
        self.0.iter().find_map(|folder| std::fs::read(folder.join(name)).ok())
    }

    /// It may use a fifth of a CPU; true when the kernel can do that.
    fn limit(&self) -> bool {
        self.0.iter().any(|folder| {
            write(folder.join("cpu.max"), "20000 100000").is_ok()
                || write(folder.join("cpu.cfs_quota_us"), "20000").is_ok()
        })
    }

    /// CPU time and time held back, by the kernel's own files.
    fn now(&self) -> (i64, i64) {
        let throttle = self.0.iter().filter_map(|folder| std::fs::read(folder.join("cpu.stat")).ok());
        let throttled_ns = throttle
            .filter_map(|text| named(&text, "throttled_time").or_else(|| Some(named(&text, "throttled_usec")? * 1000)));
        let usage_ns = match self.text("cpuacct.usage") {
            Some(text) => words(&text).next().and_then(counter).unwrap(),
            None => named(&self.text("cpu.stat").unwrap(), "usage_usec").unwrap() * 1000,
        };
        (usage_ns, throttled_ns.max().unwrap())
    }
}

impl Drop for RealGroup {
    fn drop(&mut self) {
        for folder in &self.0 {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[test]
fn a_real_group_that_is_held_back() {
    let name = format!("iodyno-test-{}", std::process::id());
    let Some(group) = RealGroup::new(&name).filter(RealGroup::limit) else {
        testkit::lacks("control groups with a limit of CPU time");
        return;
    };
    let mut spinner = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    for folder in &group.0 {
        write(folder.join("cgroup.procs"), spinner.id().to_string()).unwrap();
    }
    let mut groups = Cgroups::new(Path::new("/"), false).unwrap();
    let path = format!("/{name}");
    let mut look = || {
        let before = group.now();
        let rows = groups.sample((now_ns(), 0), &mut Vec::new()).0;
        let after = group.now();
        let row = rows.into_iter().find(|row| *row.path == *path);
        (before, row, after)
    };
    std::thread::sleep(std::time::Duration::from_millis(300));
    let (_, first, _) = look();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let (before, then, after) = look();
    let _ = spinner.kill();
    let _ = spinner.wait();
    let (_, last, _) = look();
    drop(group);
    let (_, gone) = (last, groups.sample((now_ns(), 0), &mut Vec::new()).0);
    assert!(gone.iter().all(|row| *row.path != *path), "it is removed");
    let (first, then) = (first.unwrap(), then.unwrap());
    // What was read lies between what the kernel said before and after.
    assert!((before.0..=after.0).contains(&then.usage_ns.unwrap()), "{before:?} {then:?} {after:?}");
    assert!((before.1..=after.1).contains(&then.throttled_ns.unwrap()), "{before:?} {then:?} {after:?}");
    assert!((then.cpu_limit.unwrap() - 0.2).abs() < 1e-9);
    let grown = |of: fn(&Cgroup) -> Option<i64>| of(&then).unwrap() - of(&first).unwrap();
    let used = grown(|row| row.usage_ns) as f64 / (then.t_ns - first.t_ns) as f64;
    // More than its share it cannot get, whatever else runs: a period more or less at either end.
    assert!(used > 0.0 && used < 0.2 + 0.04, "{used}");
    assert!(grown(|row| row.throttled_periods) > 0 && grown(|row| row.throttled_ns) > 0, "{first:?} {then:?}");
    assert!(grown(|row| row.periods) >= grown(|row| row.throttled_periods));
}
