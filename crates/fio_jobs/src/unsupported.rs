//! fio's options that change the load and are not here, each with the sentence that says so: this distinguishes them
//! from mistakes in spelling, in files and on the command line.

/// Options that are not here for one reason.
pub(crate) struct Absent {
    /// All names that fio has for them, aliases included.
    pub(crate) names: &'static [&'static str],
    /// Why, and what there is instead: a sentence, lower case, without a full stop.
    pub(crate) why: &'static str,
}

const ZONED: &str = "zoned block devices (zonemode=zbd) are not driven here: leave it out";
const NETWORK: &str = "it belongs to fio's engines for networks, which iodyno does not have: it measures storage";
const STORES: &str = "it belongs to an engine of fio's for one kind of store (ceph, gluster, hdfs, nfs, http, …), which iodyno does not have: \
                      mount the store, or map it as a block device, and name the file or device";
const MEMORY: &str = "it belongs to fio's engines for persistent memory or GPUs, which iodyno does not have";
const COMMANDS: &str = "it belongs to fio's engines that send commands of their own to a device (sg, io_uring_cmd, xnvme, mtd), which iodyno does not have";
const PROCESSOR: &str =
    "it belongs to fio's engines cpuio and exec, which iodyno does not have: it makes no load but I/O";
const FILES: &str =
    "it belongs to an engine of fio's that works on files and not on their data (e4defrag), which iodyno does not have";
const CONTROL: &str = "control groups and users are not set here: start iodyno in them (systemd-run, sudo -u)";
const HINTS: &str = "requests carry no such hint here: leave it out";
const DEPRECATED: &str = "fio does not have it any more either: leave it out";
const SERVER: &str = "iodyno runs on the machine that it was started on: start it there, or by ssh";
const TRIGGERS: &str = "there are no triggers here: leave it out";
const OWN_HELP: &str = "`iodyno run --help` and docs/fio-options.md list all options";

/// All of them, newer ones than those of fio 3.33 as well.
#[rustfmt::skip]
pub(crate) const ABSENT: &[Absent] = &[
    // The job's end.
    Absent { names: &["rate_cycle", "ratecycle"], why: "rate_min and rate_iops_min are judged over the whole run: leave it out" },
    Absent { names: &["rate_ignore_thinktime"], why: "what is paced by a rate becomes due during a pause, and is issued behind it: leave it out" },
    // Places.
    Absent {
        names: &[
            "ignore_zone_limits", "job_max_open_zones", "max_open_zones", "read_beyond_wp", "recover_zbd_write_error", "zone_reset_frequency",
            "zone_reset_threshold", "zonecapacity",
        ],
        why: ZONED,
    },
    Absent { names: &["offset_align"], why: "an offset is rounded up to the smallest transfer and to nothing else: give offset= in bytes" },
    Absent { names: &["rw_sequencer"], why: "operations that follow a random place are sequential: leave it out" },
    Absent { names: &["bs_is_seq_rand"], why: "sizes go with reads, writes and trims: leave it out" },
    Absent { names: &["random_sequence_stride", "sprandom", "num_range"], why: "such an order of places cannot be had: use random_distribution=" },
    Absent { names: &["file_append"], why: "a job cannot begin at the end of its files: use offset=" },
    Absent { names: &["opendir", "lockfile"], why: "files are those of filename=, directory= and nrfiles=, and are locked by nothing: leave it out" },
    Absent { names: &["unlink_each_loop"], why: "files are removed at the end only: use unlink=1" },
    // Memory.
    Absent { names: &["lockmem"], why: "memory is not locked here: use a control group or mem= on the kernel's command line" },
    // How requests travel.
    Absent { names: &["nowait"], why: "a request that would have to wait is not given back: leave it out" },
    Absent { names: &["uncached"], why: "there is no RWF_UNCACHED here: use direct=1" },
    Absent { names: &["thp"], why: "with it, what fio writes stays in memory (MAP_PRIVATE): leave it out" },
    Absent { names: &["sync_file_range", "end_syncfs"], why: "data becomes durable by fsync=, fdatasync=, sync= and end_fsync= only" },
    Absent {
        names: &["write_hint", "priohint", "dataplacement", "fdp", "fdp_pli", "plids", "plid_select", "fdp_pli_select", "dp_scheme"],
        why: HINTS,
    },
    Absent { names: &["ioscheduler"], why: "schedulers of devices are not changed here: write to /sys/block/DEVICE/queue/scheduler before" },
    Absent { names: &["cpumask"], why: "name the CPUs: cpus_allowed=0-3" },
    Absent { names: &["cgroup", "cgroup_nodelete", "cgroup_weight", "gid", "uid"], why: CONTROL },
    // Traces.
    Absent { names: &["merge_blktrace_file", "merge_blktrace_iters", "merge_blktrace_scalars"], why: "several traces are not merged: play one, or merge them with fio --merge-blktrace-only" },
    // Time.
    Absent { names: &["job_start_clock_id"], why: "times are those of CLOCK_MONOTONIC: leave it out" },
    Absent { names: &["ramp_size"], why: "a warm-up is a time: use ramp_time=" },
    Absent { names: &["profile"], why: "fio's built-in profiles are not here: write the job that you mean" },
    Absent { names: &["thinkcycles"], why: "pauses cost no CPU time: use thinktime=" },
    Absent { names: &["percentage_sequential", "rwmixcycle"], why: DEPRECATED },
    // Engines.
    Absent {
        names: &[
            "bindname", "hostname", "interface", "listen", "mss", "nodelay", "pingpong", "port", "protocol", "ttl", "verb", "window_size",
        ],
        why: NETWORK,
    },
    Absent {
        names: &[
            "brick", "busy_poll", "chunck_size", "chunk_size", "clientname", "clustername", "conf", "cont", "hdfs_use_direct", "hdfsdirectory",
            "http_host", "http_mode", "http_pass", "http_s3_key", "http_s3_keyid", "http_s3_region", "http_s3_sse_customer_algorithm",
            "http_s3_sse_customer_key", "http_s3_storage_class", "http_swift_auth_token", "http_user", "http_verbose", "https", "initiator",
            "namenode", "nfs_url", "object_class", "pool", "rbdname", "single-instance", "single_instance", "svcl", "touch_objects", "uri", "volume",
        ],
        why: STORES,
    },
    Absent {
        names: &["busy_wait_polling", "cuda_io", "direct_write_to_pmem", "gpu_dev_id", "gpu_dev_ids", "serverip"],
        why: MEMORY,
    },
    Absent {
        names: &[
            "apptag", "apptag_mask", "cmd_type", "md_per_io_size", "no_completion_thread", "pi_act", "pi_chk", "readfua", "sg_write_mode",
            "skip_bad", "stream_id", "uring_cmd", "write_mode", "writefua", "xnvme_admin", "xnvme_async", "xnvme_be", "xnvme_dev_nsid", "xnvme_iovec",
            "xnvme_sync",
        ],
        why: COMMANDS,
    },
    Absent {
        names: &["arguments", "cpuchunks", "cpuload", "cpumode", "exit_on_io_done", "grace_time", "program", "std_redirect"],
        why: PROCESSOR,
    },
    Absent { names: &["donorname", "dummy", "inplace"], why: FILES },
    // What fio's command line has beside the options of jobs.
    Absent { names: &["client", "daemonize", "remote-config", "server"], why: SERVER },
    Absent { names: &["trigger", "trigger-file", "trigger-remote", "trigger-timeout"], why: TRIGGERS },
    Absent { names: &["cmdhelp", "enghelp"], why: OWN_HELP },
    Absent { names: &["latency-log"], why: "fio does not take it any more either: `iodyno export R op_interval` has the intervals" },
    Absent { names: &["cpuclock-test", "crctest", "idle-prof", "inflate-log", "memcpytest", "merge-blktrace-only"], why: "it is a test or tool of fio's own: use fio for it" },
];

/// Why an option of fio's is not here; `None`: there is none of that name.
pub(crate) fn why(name: &str) -> Option<&'static str> {
    ABSENT.iter().find(|absent| absent.names.contains(&name)).map(|absent| absent.why)
}
