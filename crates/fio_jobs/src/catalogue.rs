//! Every option of fio's that is known here: the one list from which files are read, flags are made and docs are written.

use crate::unsupported::ABSENT;

/// What an option is for: the headings of `--help` and of docs/fio.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionTask {
    /// What is read or written.
    Target,
    /// Which operations, where, how large.
    Shape,
    /// What writes carry.
    Content,
    /// How I/O is issued, by how many.
    Engine,
    /// How fast.
    Pace,
    /// When it begins and ends.
    Time,
    /// Data validation.
    Verify,
    /// Recorded loads.
    Replay,
    /// CPUs, memory, priorities.
    Placement,
    /// What fio prints.
    Output,
}

impl OptionTask {
    /// All, in the order of the docs.
    pub const ALL: [Self; 10] = [
        Self::Target,
        Self::Shape,
        Self::Content,
        Self::Engine,
        Self::Pace,
        Self::Time,
        Self::Verify,
        Self::Replay,
        Self::Placement,
        Self::Output,
    ];

    /// Heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Target => "Target, in fio's words (--name mix --filename /data/test --size 8g)",
            Self::Shape => "Shape, in fio's words (--rw randrw --rwmixread 70 --bs 8k)",
            Self::Content => "Content, in fio's words (--buffer_compress_percentage 50)",
            Self::Engine => "Engine, in fio's words (--iodepth 32 --numjobs 4 --direct 1)",
            Self::Pace => "Pace, in fio's words (--rate-iops 20000)",
            Self::Time => "Time, in fio's words (--runtime 30s --time-based)",
            Self::Verify => "Data validation, in fio's words (--verify crc32c)",
            Self::Replay => "Replay, in fio's words",
            Self::Placement => "Placement, in fio's words (--cpus-allowed 0-3)",
            Self::Output => "Output of fio's (--write-bw-log mix --log-avg-msec 1000)",
        }
    }
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionEffect {
    /// It is part of the plan.
    Plan,
    /// It changes nothing here; why.
    Note(&'static str),
    /// It changes nothing of the load; what the program makes of it when the run has ended (docs/fio-output.md).
    Output(&'static str),
    /// It would change the load and cannot be had; what to do instead.
    Refused(&'static str),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct FioOption {
    /// fio's name.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// Heading.
    pub task: OptionTask,
    /// What stands behind the `=`; empty: a switch, which may also have 0 or 1.
    pub value: &'static str,
    /// One line.
    pub help: &'static str,
    /// A value that it takes.
    pub example: &'static str,
    /// What becomes of it.
    pub effect: OptionEffect,
}

const fn plan(
    name: &'static str,
    aliases: &'static [&'static str],
    task: OptionTask,
    (value, example): (&'static str, &'static str),
    help: &'static str,
) -> FioOption {
    FioOption { name, aliases, task, value, help, example, effect: OptionEffect::Plan }
}

const fn other(
    name: &'static str,
    aliases: &'static [&'static str],
    task: OptionTask,
    (value, example): (&'static str, &'static str),
    effect: OptionEffect,
) -> FioOption {
    let help = match effect {
        OptionEffect::Note(why) | OptionEffect::Output(why) | OptionEffect::Refused(why) => why,
        OptionEffect::Plan => "",
    };
    FioOption { name, aliases, task, value, help, example, effect }
}

use OptionEffect::{Note, Output as Said, Refused};
use OptionTask::{Content, Engine, Output, Pace, Placement, Replay, Shape, Target, Time, Verify};

const SWITCH: (&str, &str) = ("", "1");
const COMPRESSED: OptionEffect = Note("logs are written as text");
const LATENCIES: OptionEffect = Note("response and service time are always measured; they cost some nanoseconds");
const ALWAYS: OptionEffect = Note("always so here");

/// The list.
#[rustfmt::skip]
pub const OPTIONS: &[FioOption] = &[
    // Target
    plan("filename", &[], Target, ("FILE[:FILE]", "/data/test"), "Files or devices, separated by colons (\\: is a colon)"),
    plan("directory", &[], Target, ("DIR[:DIR]", "/data"), "Where files without a path are; jobs take the directories in turn"),
    plan("filename_format", &[], Target, ("FORMAT", "$jobname.$jobnum.$filenum"), "Names of files that filename does not give: $jobname, $clientuid, $jobnum, $filenum"),
    other("unique_filename", &[], Target, SWITCH, Note("it is about clients of fio over a network")),
    plan("nrfiles", &["nr_files"], Target, ("N", "4"), "Files per job, when filename does not name them"),
    plan("filesize", &[], Target, ("SIZE[-SIZE]", "1g"), "Size of each file; a range gives each file a size of its own"),
    plan("size", &[], Target, ("SIZE|N%", "8g"), "Bytes of a job over all its files, and how much it does in one loop; N% of the target's size"),
    plan("io_size", &["io_limit"], Target, ("SIZE|N%", "1g"), "How much a job does, when that is not its size"),
    plan("offset", &["fileoffset"], Target, ("SIZE|N%", "1m"), "Where in the file a job begins"),
    plan("offset_increment", &[], Target, ("SIZE|N%", "1g"), "Each of a job's copies (numjobs) begins this much further"),
    plan("openfiles", &[], Target, ("N", "8"), "All files are opened before the run, so it must not be less than there are"),
    plan("file_service_type", &[], Target, ("TYPE[:N]", "random:4"), "Which file is next: roundrobin, random or sequential; every N operations"),
    plan("fallocate", &[], Target, ("MODE", "none"), "How a file that is only written gets its length: native or posix (allocated), keep (allocated, its size grows with the writes), truncate (only its size is set), none; default native"),
    plan("unlink", &[], Target, SWITCH, "Remove the files at the end, if this run created them"),
    plan("overwrite", &[], Target, SWITCH, "Write a file that is too short once before the run, as is done for reads"),
    plan("create_on_open", &[], Target, SWITCH, "Leave a file that is only written as long as it is: its writes extend it"),
    plan("create_only", &[], Target, SWITCH, "Only make the job's files, as they would be made for it; nothing else is done"),
    plan("pre_read", &[], Target, SWITCH, "Read the job's part of its files before it begins, and leave the page cache as it is then (invalidate=0)"),
    plan("fill_device", &["fill_fs"], Target, SWITCH, "Write until there is no more room, which is the job's end and no error; without size= it has no other end"),
    other("create_serialize", &[], Target, SWITCH, Note("files are created and filled before the run, outside of the measured time")),
    other("create_fsync", &[], Target, SWITCH, Note("files are created and filled before the run, outside of the measured time")),
    plan("readonly", &[], Target, SWITCH, "Refuse every job that would write or trim"),
    plan("allow_file_create", &[], Target, ("0|1", "0"), "0: files must exist and be long enough"),
    other("allow_mounted_write", &[], Target, SWITCH, Note("a mounted device is never written: unmount it first")),
    plan("invalidate", &[], Target, SWITCH, "Drop the page cache of its files when a job begins with them (default); 0: leave it as it is"),
    plan("fadvise_hint", &[], Target, ("KIND", "random"), "Advice to the kernel about buffered reads: 1 as the pattern is (default), 0 nothing, random or sequential"),
    // Shape
    plan("rw", &["readwrite"], Shape, ("PATTERN[:N]", "randrw"), "read, write, trim, randread, randwrite, randtrim, rw, randrw, trimwrite or randtrimwrite; N: a gap (sequential) or operations per random place"),
    plan("rwmixread", &[], Shape, ("PERCENT", "70"), "Reads among reads and writes, default 50"),
    plan("rwmixwrite", &[], Shape, ("PERCENT", "30"), "Writes among reads and writes"),
    plan("bs", &["blocksize"], Shape, ("SIZE[,SIZE[,SIZE]]", "8k"), "Transfer size, of reads, writes and trims; default 4k"),
    plan("bsrange", &["blocksize_range"], Shape, ("SIZE-SIZE", "4k-64k"), "Transfer sizes between these (with - or :, in either order), in multiples of the smaller"),
    plan("bssplit", &[], Shape, ("SIZE/PERCENT:…", "4k/70:64k/30"), "Transfer sizes with their shares; what has no share divides the rest"),
    plan("blockalign", &["ba"], Shape, ("SIZE[,SIZE[,SIZE]]", "512"), "Random places are multiples of this, and may come again; default the smallest transfer"),
    plan("bs_unaligned", &["blocksize_unaligned"], Shape, SWITCH, "Sizes of a range need not be multiples of the smaller"),
    plan("randrepeat", &["allrandrepeat"], Shape, SWITCH, "Each pass over the files, and each execution, makes the same random choices (default); 0: its own, of a seed that is kept in the recording (--seed N repeats it)"),
    plan("randseed", &[], Shape, ("N", "1234"), "Seed of every random choice"),
    plan("random_distribution", &[], Shape, ("KIND", "zipf:1.2"), "random, zipf:THETA, pareto:H, normal:PERCENT, zoned:SHARE/PERCENT:… or zoned_abs:SHARE/SIZE:…"),
    plan("percentage_random", &[], Shape, ("PERCENT", "60"), "How much of a random pattern is random, the rest follows on"),
    plan("zonemode", &[], Shape, ("MODE", "strided"), "strided: through the file in zones of zonesize=; none (default). Off with several files"),
    plan("zonesize", &[], Shape, ("SIZE", "256k"), "How much is done in a zone before the next one's turn"),
    plan("zonerange", &[], Shape, ("SIZE", "1m"), "Length of a zone, default zonesize; shorter than that: the zone is gone through again"),
    plan("zoneskip", &[], Shape, ("SIZE", "1m"), "Between the end of a zone and the start of the next"),
    plan("norandommap", &[], Shape, SWITCH, "Random places may come again before all have been visited"),
    other("softrandommap", &[], Shape, SWITCH, Note("no map is needed: places are visited exactly once by a permutation that takes no memory")),
    plan("random_generator", &[], Shape, ("NAME", "lfsr"), "lfsr: every place once with norandommap and mixed sizes as well; tausworthe, tausworthe64: no difference here"),
    plan("fsync", &[], Shape, ("N", "32"), "fsync after every N writes"),
    plan("fdatasync", &[], Shape, ("N", "32"), "fdatasync after every N writes"),
    other("write_barrier", &[], Shape, ("N", "8"), Note("no engine of fio's does anything with it")),
    plan("end_fsync", &[], Shape, SWITCH, "fsync at the end of a job"),
    plan("fsync_on_close", &[], Shape, SWITCH, "fsync at the end of a job"),
    plan("sync", &[], Shape, ("MODE", "dsync"), "Writes are durable when they complete: 1 or sync (O_SYNC), dsync (O_DSYNC), 0 or none"),
    plan("direct", &[], Shape, SWITCH, "Past the page cache (O_DIRECT)"),
    plan("buffered", &[], Shape, ("0|1", "0"), "The opposite of direct"),
    other("atomic", &[], Shape, SWITCH, Refused("there are no atomic writes here: leave it out")),
    // Content
    plan("zero_buffers", &[], Content, SWITCH, "Write zeroes"),
    plan("refill_buffers", &[], Content, SWITCH, "Every write has data of its own, as always here"),
    plan("scramble_buffers", &[], Content, SWITCH, "Every write has data of its own, as always here; 0 without refill_buffers is refused: fio then writes the same over and over"),
    plan("buffer_pattern", &[], Content, ("PATTERN", "\"abcd\""), "Write this over and over: \"text\", 0xhex, a decimal number, 'file' (its first 512 bytes)"),
    plan("buffer_compress_percentage", &[], Content, ("PERCENT", "50"), "How much a compressor can save"),
    other("buffer_compress_chunk", &[], Content, ("SIZE", "4k"), Note("the compressible part is spread evenly over every 4 KiB")),
    plan("dedupe_percentage", &[], Content, ("PERCENT", "30"), "How many blocks are copies of others"),
    plan("dedupe_mode", &[], Content, ("MODE", "working_set"), "Of what: repeat (default): of the block before; working_set: of one of the first blocks that were written"),
    plan("dedupe_working_set_percentage", &[], Content, ("PERCENT", "5"), "How many blocks these are, in percent of size="),
    plan("dedupe_global", &[], Content, SWITCH, "All jobs have these in common"),
    // Engine
    plan("ioengine", &[], Engine, ("NAME", "io_uring"), "io_uring or libaio (both io_uring here), psync, sync, vsync, pvsync, pvsync2 (one at a time), mmap (files are memory), null (nothing is done); filecreate, filestat, filedelete, dircreate, dirstat, dirdelete (nrfiles names in directory)"),
    plan("stat_type", &[], Engine, ("CALL", "statx"), "How filestat and dirstat ask for attributes: stat (default), lstat, statx"),
    plan("iodepth", &[], Engine, ("N", "32"), "Operations in flight per job"),
    plan("serialize_overlap", &[], Engine, SWITCH, "An operation waits while one in flight overlaps it"),
    plan("iodepth_low", &[], Engine, ("N", "8"), "When all are in flight, wait until so few are left"),
    other("iodepth_batch", &["iodepth_batch_submit"], Engine, ("N", "8"), Note("due operations are always submitted at once, up to 32 with one system call")),
    other("iodepth_batch_complete_min", &["iodepth_batch_complete"], Engine, ("N", "1"), Note("what has completed is always taken at once")),
    other("iodepth_batch_complete_max", &[], Engine, ("N", "16"), Note("what has completed is always taken at once")),
    other("registerfiles", &[], Engine, SWITCH, ALWAYS),
    other("fixedbufs", &[], Engine, SWITCH, ALWAYS),
    other("sqthread_poll", &[], Engine, SWITCH, Note("submission by a kernel thread is not used; the load is the same")),
    other("sqthread_poll_cpu", &[], Engine, ("N", "1"), Note("submission by a kernel thread is not used; the load is the same")),
    other("hipri", &[], Engine, SWITCH, Note("completions come by interrupt; the load is the same")),
    other("nonvectored", &[], Engine, SWITCH, ALWAYS),
    other("force_async", &[], Engine, ("N", "1"), Note("a request that would wait is given to the kernel's threads by the kernel itself; the load is the same")),
    other("hipri_percentage", &[], Engine, ("PERCENT", "50"), Note("completions come by interrupt; the load is the same")),
    other("userspace_reap", &[], Engine, SWITCH, Note("completions are always taken from shared memory, by io_uring; the load is the same")),
    other("io_submit_mode", &[], Engine, ("MODE", "offload"), Note("submission never waits for completion (as with offload)")),
    plan("numjobs", &[], Engine, ("N", "4"), "Copies of the job, side by side"),
    other("thread", &["threads"], Engine, SWITCH, ALWAYS),
    plan("stonewall", &["wait_for_previous"], Engine, SWITCH, "Begin when all jobs before have ended: a run of its own"),
    plan("wait_for", &[], Engine, ("JOB", "fill"), "Begin when this job has ended"),
    plan("new_group", &[], Engine, SWITCH, "A group begins with this job, for exitall and in fio's outputs. Jobs are always recorded apart"),
    // Pace
    plan("rate", &[], Pace, ("SIZE[,SIZE]", "10m"), "Bytes per second, of reads and of writes, on time whatever the target does"),
    plan("rate_iops", &[], Pace, ("N[,N]", "20000"), "Operations per second, of reads and of writes, on time whatever the target does"),
    plan("rate_process", &[], Pace, ("KIND", "poisson"), "linear: equal gaps (the default), poisson: exponential gaps"),
    plan("rate_min", &["ratemin"], Pace, ("SIZE[,SIZE]", "5m"), "Fail when fewer bytes per second were done (an objective)"),
    plan("rate_iops_min", &[], Pace, ("N[,N]", "1000"), "Fail when fewer operations per second were done (an objective)"),
    plan("thinktime", &[], Pace, ("TIME", "500us"), "Pause after thinktime_blocks operations; plain numbers are µs"),
    plan("thinktime_blocks", &[], Pace, ("N", "8"), "Operations between pauses, default 1"),
    other("thinktime_blocks_type", &[], Pace, ("TYPE", "complete"), Note("a pause begins when everything in flight has completed")),
    plan("thinktime_iotime", &[], Pace, ("TIME", "100ms"), "Time between pauses; plain numbers are seconds"),
    other("thinktime_spin", &[], Pace, ("TIME", "10us"), Note("pauses cost no CPU time")),
    plan("latency_target", &[], Pace, ("TIME", "2ms"), "Look for the greatest depth that keeps this service time; plain numbers are µs"),
    plan("latency_window", &[], Pace, ("TIME", "5s"), "How long each depth is tried; plain numbers are µs"),
    plan("latency_percentile", &[], Pace, ("PERCENT", "99.9"), "How many operations must keep it, default 100"),
    plan("latency_run", &[], Pace, SWITCH, "Go on at the depth that was found"),
    plan("flow", &[], Pace, ("WEIGHT", "8"), "Jobs of one flow_id do operations in proportion to their weights"),
    plan("flow_id", &[], Pace, ("N", "1"), "Which jobs belong together"),
    other("flow_sleep", &[], Pace, ("TIME", "100"), Note("a job that is ahead waits exactly until the others have caught up")),
    other("flow_watermark", &[], Pace, ("N", "1024"), Note("a job that is ahead waits exactly until the others have caught up")),
    plan("max_latency", &[], Pace, ("TIME[,TIME[,TIME]]", "50ms"), "A service time that is longer ends the job, of reads, writes and trims, and fails the run; plain numbers are µs"),
    plan("fail_if", &[], Pace, ("CONDITION", "response_ns_p99 > 5ms"), "iodyno's own: fail with exit code 5 when this comes true (docs/objectives.md)"),
    // Time
    plan("runtime", &["timeout"], Time, ("TIME", "30s"), "End after this time; plain numbers are seconds"),
    plan("time_based", &[], Time, SWITCH, "Go on until runtime is over, over and over the same range"),
    plan("ramp_time", &[], Time, ("TIME", "5s"), "Warm-up before measuring; plain numbers are seconds"),
    plan("startdelay", &[], Time, ("TIME[-TIME]", "10s"), "Delay of the start; plain numbers are seconds"),
    plan("loops", &[], Time, ("N", "3"), "Run the job N times"),
    plan("number_ios", &[], Time, ("N", "100000"), "End after this many operations"),
    plan("steadystate", &["ss"], Time, ("WHAT:LIMIT", "iops:5%"), "End when iops, bw or lat (or iops_slope, …) is steady"),
    plan("steadystate_duration", &["ss_dur"], Time, ("TIME", "60s"), "For how long it must have been steady; plain numbers are seconds"),
    plan("steadystate_ramp_time", &["ss_ramp"], Time, ("TIME", "10s"), "What is left out at the beginning; plain numbers are seconds"),
    plan("continue_on_error", &[], Time, ("KIND", "io"), "Which failed operations (EIO) do not end the job: none (the default: the first one ends it), read, write (and trims), io, verify, all"),
    plan("ignore_error", &[], Time, ("LIST[,LIST[,LIST]]", "EIO:ENOSPC"), "Errors of reads, of writes and of wrong data that do not end the job, instead of EIO and EILSEQ"),
    plan("exitall", &[], Time, SWITCH, "When one job ends, others end too: exit_what says which"),
    plan("exitall_on_error", &[], Time, SWITCH, "The same when this job ended with an error"),
    plan("exit_what", &[], Time, ("WHICH", "all"), "Which jobs end with this one: group (its own, the default), stonewall (all that run), all (no later job begins either)"),
    // Verify
    plan("verify", &[], Verify, ("METHOD", "crc32c"), "Stamp every sector that is written and check what is read (docs/fio.md): any method of fio's is the same here, and 0 or null none. With rw=read or randread: check what an earlier run wrote"),
    plan("do_verify", &[], Verify, SWITCH, "Read everything that was written once at the end (default); 0: leave that to a later run"),
    plan("verify_backlog", &[], Verify, ("N", "1024"), "Above 0: read and check every block right behind its write as well, whatever N is"),
    other("verify_backlog_batch", &[], Verify, ("N", "64"), Note("with verify_backlog every block is read right behind its write")),
    plan("verify_fatal", &[], Verify, SWITCH, "The first damaged block ends the run; without it they are counted, and more than 50 end it (continue_on_error=verify: none does). The exit code is 4 in any case"),
    other("verify_dump", &[], Verify, SWITCH, Note("what was expected and found of damaged blocks is always kept in the recording")),
    other("verify_async", &[], Verify, ("N", "2"), Note("the threads of the load check what they read")),
    other("verify_interval", &[], Verify, ("SIZE", "4k"), Note("every 512 bytes have a stamp")),
    other("verify_state_save", &[], Verify, SWITCH, Note("blocks describe themselves, and -j keeps a journal of what was written")),
    plan("verify_only", &[], Verify, SWITCH, "Do not write: check what the same job (rw=write or randwrite) wrote in an earlier run"),
    plan("verify_pattern", &[], Verify, ("PATTERN", "0xdeadbeef"), "Reason enough to verify, as in fio; the data are those of the stamps and not this pattern, with a warning. verify=pattern is refused"),
    other("verify_pattern_interval", &[], Verify, ("SIZE", "4k"), Note("the data are those of the stamps and no pattern")),
    plan("trim_percentage", &[], Verify, ("PERCENT", "10"), "Refused together with trim_backlog, without which it does nothing in fio either: trim with a job of its own, rw=randtrim"),
    plan("trim_verify_zero", &[], Verify, SWITCH, "What was trimmed must read as zeroes; otherwise that is required of files and loop devices only"),
    plan("trim_backlog", &[], Verify, ("N", "64"), "See trim_percentage"),
    other("trim_backlog_batch", &[], Verify, ("N", "8"), Note("see trim_percentage")),
    other("experimental_verify", &[], Verify, SWITCH, Note("what was written is always known by its place, and not replayed")),
    other("verify_async_cpus", &[], Verify, ("LIST", "0-1"), Note("the threads of the load check what they read")),
    other("verify_offset", &[], Verify, ("SIZE", "8"), Note("a stamp stands at the beginning of its sector")),
    other("verify_state_load", &[], Verify, SWITCH, Note("blocks describe themselves, and -jr goes on with a journal of what was written")),
    other("verify_header_seed", &[], Verify, SWITCH, Note("stamps are always checked whole")),
    other("verify_write_sequence", &[], Verify, SWITCH, Note("which write a block must hold is known of each block, however many jobs write it")),
    other("verify_policy", &[], Verify, ("POLICY", "fsynced"), Note("after a crash, a journal (-j) says what must be there: what an acknowledged flush covers")),
    other("verifysort", &[], Verify, SWITCH, Note("fio does not have it any more either")),
    other("verifysort_nr", &[], Verify, ("N", "1024"), Note("fio does not have it any more either")),
    // Replay
    plan("read_iolog", &[], Replay, ("FILE", "trace.log"), "Play this trace: fio's log, or any that `iodyno import` reads. The job runs alone, and needs replay_redirect or filename"),
    other("read_iolog_chunked", &[], Replay, SWITCH, Note("a trace is always read in parts")),
    plan("replay_no_stall", &[], Replay, SWITCH, "Without the traced times: as many in flight as iodepth says"),
    plan("replay_redirect", &[], Replay, ("DEVICE", "/dev/sdb"), "All devices of the trace go to this device or file"),
    plan("replay_scale", &[], Replay, ("N", "2"), "Divide addresses by this"),
    plan("replay_align", &[], Replay, ("SIZE", "4k"), "Round addresses down to a multiple of this"),
    plan("replay_time_scale", &[], Replay, ("PERCENT", "50"), "Rate of the replay in per cent of the traced one: 200 is twice as fast"),
    plan("replay_skip", &[], Replay, ("OPS", "trim"), "Kinds that are left out: read, write, trim, sync"),
    // Placement
    plan("cpus_allowed", &[], Placement, ("LIST", "0-3"), "CPUs that the job's thread may use"),
    plan("cpus_allowed_policy", &[], Placement, ("POLICY", "split"), "shared: all of them; split: one for each copy of the job"),
    plan("numa_cpu_nodes", &[], Placement, ("LIST", "0"), "NUMA nodes whose CPUs the job's thread may use"),
    other("numa_mem_policy", &[], Placement, ("POLICY", "bind:0"), Note("buffers lie where the thread that uses them first runs")),
    plan("prio", &[], Placement, ("0-7", "4"), "I/O priority within its class, 0 is the highest"),
    plan("prioclass", &[], Placement, ("1-3", "2"), "I/O priority class: 1 real time, 2 best effort, 3 idle"),
    plan("cmdprio_percentage", &[], Placement, ("PERCENT[,PERCENT]", "10"), "So many requests (reads, writes) have the priority of cmdprio_class and cmdprio (io_uring, libaio)"),
    plan("cmdprio_class", &[], Placement, ("1-3[,1-3]", "1"), "Their class, as prioclass; default 1, real time"),
    plan("cmdprio", &[], Placement, ("0-7[,0-7]", "0"), "Their priority within the class, default 0"),
    plan("cmdprio_bssplit", &[], Placement, ("SIZE/PERCENT[/CLASS/LEVEL]:…", "4k/10:64k/50/2/7"), "The same by size of the request, each with a priority of its own or that of cmdprio"),
    plan("nice", &[], Placement, ("N", "5"), "Niceness of the job's thread"),
    other("hugepage-size", &["hugepage_size"], Placement, ("SIZE", "2m"), Note("buffers are one aligned mapping, registered with io_uring")),
    other("iomem", &["mem"], Placement, ("KIND", "malloc"), Note("buffers are one aligned mapping, registered with io_uring")),
    other("iomem_align", &["mem_align"], Placement, ("SIZE", "4k"), Note("buffers are one aligned mapping, registered with io_uring")),
    // Output
    other("name", &[], Output, ("NAME", "mix"), Note("the name of the job")),
    other("description", &[], Output, ("TEXT", "\"nightly\""), Note("kept in the recording with the file's text")),
    other("group_reporting", &[], Output, SWITCH, Note("recordings keep jobs apart; fio's outputs sum up those of a group")),
    other("write_bw_log", &[], Output, ("PREFIX", "mix"), Said("Bandwidth into PREFIX_bw.N.log, KiB/s; a line of each I/O unless log_avg_msec says otherwise. Without a value the job's name")),
    other("write_lat_log", &[], Output, ("PREFIX", "mix"), Said("Times into PREFIX_lat.N.log, PREFIX_slat.N.log and PREFIX_clat.N.log, ns")),
    other("write_iops_log", &[], Output, ("PREFIX", "mix"), Said("Operations per second into PREFIX_iops.N.log")),
    other("write_hist_log", &[], Output, ("PREFIX", "mix"), Said("Histograms of completion times into PREFIX_clat_hist.N.log, each of log_hist_msec")),
    other("write_iolog", &[], Output, ("FILE", "mix.log"), Note("`iodyno trace` records every I/O while the run lasts; `iodyno export --format fio-iolog` writes it")),
    other("log_avg_msec", &[], Output, ("MS", "1000"), Said("A line of the logs is the average of this time in ms; 0 (default): a line per I/O")),
    other("log_hist_msec", &[], Output, ("MS", "1000"), Said("A line of the histogram log covers this time in ms")),
    other("log_hist_coarseness", &[], Output, ("N", "0"), Said("Bins of the histogram log: 2^N of fio's in one, N up to 6")),
    other("log_entries", &[], Output, ("N", "1024"), Note("logs have as many lines as there are")),
    other("log_max_value", &["log_window_value"], Output, SWITCH, Said("The greatest value of the time instead of the average")),
    other("log_offset", &[], Output, SWITCH, Said("The place of each I/O in the logs")),
    other("log_prio", &[], Output, SWITCH, Said("The I/O priority in the logs instead of whether it is real time")),
    other("log_unix_epoch", &["log_alternate_epoch"], Output, SWITCH, Said("Times of the logs are ms since 1970")),
    other("log_compression", &[], Output, ("SIZE", "1m"), COMPRESSED),
    other("log_store_compressed", &[], Output, SWITCH, COMPRESSED),
    other("per_job_logs", &[], Output, SWITCH, Said("0: one file for all jobs instead of one each")),
    other("percentile_list", &[], Output, ("LIST", "99:99.9"), Said("Which percentiles fio's outputs show; all can be asked for later")),
    other("lat_percentiles", &[], Output, SWITCH, Said("Which percentiles fio's outputs show; all can be asked for later")),
    other("clat_percentiles", &[], Output, SWITCH, Said("Which percentiles fio's outputs show; all can be asked for later")),
    other("slat_percentiles", &[], Output, SWITCH, Said("Which percentiles fio's outputs show; all can be asked for later")),
    other("significant_figures", &[], Output, ("N", "4"), Note("normal output has four digits, as fio by default")),
    other("log_alternate_epoch_clock_id", &[], Output, ("N", "0"), Note("the only other clock is that of log_unix_epoch")),
    other("block_error_percentiles", &[], Output, SWITCH, Note("failures are recorded with their places")),
    other("log_compression_cpus", &[], Output, ("LIST", "0-1"), COMPRESSED),
    other("gtod_reduce", &[], Output, SWITCH, LATENCIES),
    other("gtod_cpu", &[], Output, ("N", "0"), LATENCIES),
    other("clocksource", &[], Output, ("NAME", "cpu"), Note("CLOCK_MONOTONIC, as everywhere in a recording")),
    other("disable_lat", &[], Output, SWITCH, Said("No lat among the files of write_lat_log; all times are measured")),
    other("disable_clat", &[], Output, SWITCH, Said("No clat among the files of write_lat_log; all times are measured")),
    other("disable_slat", &[], Output, SWITCH, Said("No slat among the files of write_lat_log; all times are measured")),
    other("disable_bw_measurement", &["disable_bw"], Output, SWITCH, LATENCIES),
    other("eta", &[], Output, ("WHEN", "always"), Note("a line per second, live")),
    other("eta-newline", &["eta_newline"], Output, ("TIME", "1s"), Note("a line per interval, live; -i changes its length")),
    other("eta-interval", &["eta_interval"], Output, ("TIME", "1s"), Note("a line per interval, live; -i changes its length")),
    other("bandwidth-log", &["bandwidth_log"], Output, SWITCH, Note("every interval is in the recording, of all jobs together as well")),
    other("max-jobs", &["max_jobs"], Output, ("N", "100"), Note("there is no such limit")),
    other("alloc-size", &["alloc_size"], Output, ("KIB", "16384"), Note("memory is taken as it is needed")),
    other("aux-path", &["aux_path"], Output, ("DIR", "/tmp"), Note("there are no files of states: see verify_state_save")),
    other("debug", &[], Output, ("TYPES", "io"), Note("`iodyno trace` shows every I/O while the run lasts")),
    other("bwavgtime", &[], Output, ("MS", "500"), Said("write_bw_log has averages of this time in ms, if that is less than log_avg_msec; other intervals: -i")),
    other("iopsavgtime", &[], Output, ("MS", "500"), Said("The same of write_iops_log")),
    other("unified_rw_reporting", &[], Output, ("KIND", "mixed"), Note("reads and writes are always recorded apart, and summed on demand")),
    other("disk_util", &[], Output, SWITCH, Note("the devices' counters are always recorded")),
    other("stats", &[], Output, SWITCH, Note("everything is always recorded")),
    other("error_dump", &[], Output, SWITCH, Note("failures are recorded with their places")),
    plan("exec_prerun", &[], Output, ("COMMAND", "\"sync\""), "Run this before the job"),
    plan("exec_postrun", &[], Output, ("COMMAND", "\"sync\""), "Run this after the job"),
    plan("kb_base", &[], Output, ("1024|1000", "1000"), "1024: k is 1024 and ki is 1000 (fio's default); 1000: k is 1000 and ki is 1024"),
    other("unit_base", &[], Output, ("N", "8"), Note("rates are shown in bytes")),
];

/// docs/fio-options.md: every option by task.
pub fn options_markdown() -> String {
    use std::fmt::Write as _;
    let mut out = String::from(
        "# fio's options\n\nGenerated from the list with which job files and flags are read (`make docs`).\n[fio](fio.md) explains them.\n\
         A flag has the option's name with `-` or `_`: `rate_iops=2000` is `--rate-iops 2000`.\n",
    );
    for task in OptionTask::ALL {
        let name = format!("{task:?}");
        let _ = write!(out, "\n## {name}\n\n| option | value | for example | meaning |\n| --- | --- | --- | --- |\n");
        for option in OPTIONS.iter().filter(|option| option.task == task) {
            let names: Vec<String> = std::iter::once(option.name)
                .chain(option.aliases.iter().copied())
                .map(|name| format!("`{name}`"))
                .collect();
            let value =
                if option.value.is_empty() { "0, 1 or nothing".to_string() } else { format!("`{}`", option.value) };
            let meaning = match option.effect {
                OptionEffect::Plan => option.help.to_string(),
                OptionEffect::Output(what) => what.to_string(),
                OptionEffect::Note(_) if option.name == "name" => "The name of the job".to_string(),
                OptionEffect::Note(why) => format!("*No effect:* {why}"),
                OptionEffect::Refused(why) => format!("**Refused:** {why}"),
            };
            let row = format!("| {} | {value} | `{}={}` | {meaning} |", names.join(", "), option.name, option.example);
            let _ = writeln!(
                out,
                "{}",
                row.replace("0|1", "0\\|1").replace("SIZE|N%", "SIZE\\|N%").replace("1024|1000", "1024\\|1000")
            );
        }
    }
    out.push_str("\n## Not here\n\nThese would change the load and are an error with their place (but for 0, which asks for nothing).\n\n");
    out.push_str("| options | why, and what there is instead |\n| --- | --- |\n");
    for absent in ABSENT {
        let names: Vec<String> = absent.names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(out, "| {} | {} |", names.join(", "), absent.why);
    }
    out
}

/// An option by any of its names.
pub(crate) fn find(name: &str) -> Option<&'static FioOption> {
    OPTIONS.iter().find(|option| option.name == name || option.aliases.contains(&name))
}

/// All names of options that are not here.
pub fn absent_names() -> impl Iterator<Item = &'static str> {
    // One that has come and was forgotten here is no longer absent.
    ABSENT.iter().flat_map(|absent| absent.names.iter().copied()).filter(|name| find(name).is_none())
}

/// The name under which an option is known: of the aliases the first; others as they stand, in lower case.
pub(crate) fn canonical(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    find(&lower).map_or(lower, |option| option.name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<&str> =
            OPTIONS.iter().flat_map(|option| option.aliases.iter().copied().chain([option.name])).collect();
        names.extend(ABSENT.iter().flat_map(|absent| absent.names.iter().copied()));
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        for option in OPTIONS {
            assert!(!option.help.is_empty() && !option.example.is_empty(), "{}", option.name);
            assert!(option.value.is_empty() == (option.example == "1" && option.value.is_empty()), "{}", option.name);
        }
    }
}
