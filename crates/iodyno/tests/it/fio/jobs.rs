//! The job files, each with a change that must be seen.

/// One job file and what of it can be compared.
pub(crate) struct Job {
    pub(crate) options: &'static str,
    pub(crate) changed: &'static str,
    /// The number of operations is exact.
    pub(crate) is_counted: bool,
    /// Rate and length follow from the options.
    pub(crate) is_timed: bool,
    /// The depth in the driver is compared.
    pub(crate) has_depth: bool,
    /// Hot places are scattered, each program in its own way: how hot they are is compared, not where.
    pub(crate) is_scattered: bool,
    /// How many of the gaps between operations are short is compared.
    pub(crate) has_gaps: bool,
    /// How the jobs take turns depends on the CPUs that they get.
    pub(crate) has_turns: bool,
    /// So many operations follow from one choice of an offset: the sample of offsets is smaller by that.
    pub(crate) run: f64,
}

fn job(options: &'static str, changed: &'static str) -> Job {
    Job {
        options,
        changed,
        is_counted: true,
        is_timed: false,
        has_depth: false,
        is_scattered: false,
        has_gaps: false,
        has_turns: false,
        run: 1.0,
    }
}

fn timed(options: &'static str, changed: &'static str) -> Job {
    Job { is_counted: false, is_timed: true, ..job(options, changed) }
}

/// All of them; what is common (device, direct, iodepth 4, 48 MiB from 8 MiB on, 4 KiB) is in the test.
#[expect(clippy::too_many_lines, reason = "a list")]
pub(crate) fn jobs() -> Vec<Job> {
    vec![
        // Patterns.
        job("rw=read\nnumber_ios=3000", "rw=write\nnumber_ios=3000"),
        job("rw=write\nbs=64k", "rw=write\nbs=32k"),
        job("rw=randread\nnumber_ios=6000", "rw=randread\nnumber_ios=6000\nnorandommap"),
        job("readwrite=randwrite\nblocksize=16k", "rw=randread\nbs=16k"),
        job("rw=rw\nrwmixread=70\nnumber_ios=4000", "rw=rw\nrwmixread=50\nnumber_ios=4000"),
        job("rw=randrw\nrwmixwrite=20\nbs=8k\nnumber_ios=4000", "rw=randrw\nrwmixwrite=30\nbs=8k\nnumber_ios=4000"),
        job("rw=trim\nbs=64k\nioengine=psync", "rw=randtrim\nbs=64k\nioengine=psync"),
        job("rw=randtrim\nbs=128k\nioengine=psync", "rw=randtrim\nbs=128k\nsize=24m\nioengine=psync"),
        // trimwrite is not here: fio opens for it without direct=1, so what it writes goes through the page cache.
        // Sizes; so many operations that chance moves the number of different places by much less than is allowed. With `randrepeat=1`,
        // fio begins its numbers again after each 48 MiB.
        job(
            "rw=randrw\nbs=4k,64k\nnorandommap\nio_size=1g\nrandrepeat=0\nnumber_ios=4800",
            "rw=randrw\nbs=4k,32k\nnorandommap\nio_size=1g\nrandrepeat=0\nnumber_ios=4800",
        ),
        job(
            "rw=randread\nbsrange=4k-64k\nnorandommap\nio_size=1g\nrandrepeat=0\nnumber_ios=4800",
            "rw=randread\nbsrange=4k-32k\nnorandommap\nio_size=1g\nrandrepeat=0\nnumber_ios=4800",
        ),
        job(
            "rw=randwrite\nbssplit=4k/50:16k/30:64k/20\nnorandommap\nio_size=1g\nrandrepeat=0\nnumber_ios=4800",
            "rw=randwrite\nbssplit=4k/40:16k/40:64k/20\nnorandommap\nio_size=1g\nrandrepeat=0\nnumber_ios=4800",
        ),
        job(
            "rw=randrw\nbssplit=4k/60:8k/40,64k/50:32k\nnorandommap\nio_size=1g\nrandrepeat=0\nnumber_ios=4800",
            "rw=randrw\nbssplit=4k/60:8k/40\nnorandommap\nio_size=1g\nrandrepeat=0\nnumber_ios=4800",
        ),
        job("rw=randread\nblockalign=64k\nnorandommap\nnumber_ios=3000", "rw=randread\nnorandommap\nnumber_ios=3000"),
        // Distributions.
        Job {
            is_scattered: true,
            ..job(
                "rw=randread\nrandom_distribution=zipf:1.2\nnorandommap\nnumber_ios=6000",
                "rw=randread\nrandom_distribution=zipf:0.8\nnorandommap\nnumber_ios=6000",
            )
        },
        Job {
            is_scattered: true,
            ..job(
                "rw=randread\nrandom_distribution=pareto:0.3\nnorandommap\nnumber_ios=6000",
                "rw=randread\nrandom_distribution=pareto:0.1\nnorandommap\nnumber_ios=6000",
            )
        },
        Job {
            is_scattered: true,
            ..job(
                "rw=randread\nrandom_distribution=normal:10\nnorandommap\nnumber_ios=4000",
                "rw=randread\nrandom_distribution=normal:40\nnorandommap\nnumber_ios=4000",
            )
        },
        job(
            "rw=randread\nrandom_distribution=zoned:60/10:30/20:10/70\nnorandommap\nnumber_ios=4000",
            "rw=randread\nrandom_distribution=zoned:50/10:40/20:10/70\nnorandommap\nnumber_ios=4000",
        ),
        job(
            "rw=randread\nrandom_distribution=zoned_abs:50/4m:50/44m\nnorandommap\nnumber_ios=4000",
            "rw=randread\nrandom_distribution=zoned_abs:50/8m:50/40m\nnorandommap\nnumber_ios=4000",
        ),
        // Four and eight times as many as elsewhere, so that the offsets are judged as strictly: that is how many neighbours
        // follow from one choice, (2 - 0.4) / 0.4 of them as their spread sees it where the length of a run is left to chance.
        Job {
            run: 4.0,
            ..job(
                "rw=randread\npercentage_random=40\nnorandommap\niodepth=1\nio_size=1g\nrandrepeat=0\nnumber_ios=16000",
                "rw=randread\npercentage_random=60\nnorandommap\niodepth=1\nio_size=1g\nrandrepeat=0\nnumber_ios=16000",
            )
        },
        Job {
            run: 8.0,
            ..job(
                "rw=randread:8\nnorandommap\niodepth=1\nio_size=1g\nrandrepeat=0\nnumber_ios=32000",
                "rw=randread:3\nnorandommap\niodepth=1\nio_size=1g\nrandrepeat=0\nnumber_ios=32000",
            )
        },
        job("rw=read:16k\nnumber_ios=2000", "rw=read:8k\nnumber_ios=2000"),
        job("rw=read:-8k\niodepth=1", "rw=read\niodepth=1"),
        // Durability.
        job("rw=write\nfsync=8\nnumber_ios=1000\niodepth=1", "rw=write\nfsync=4\nnumber_ios=1000\niodepth=1"),
        job(
            "rw=randwrite\nfdatasync=16\nnumber_ios=1000\niodepth=1",
            "rw=randwrite\nfdatasync=4\nnumber_ios=1000\niodepth=1",
        ),
        job("rw=randwrite\nsync=dsync\nnumber_ios=300", "rw=randwrite\nnumber_ios=300"),
        // Depth and copies.
        Job {
            has_depth: true,
            ..job(
                "rw=randread\niodepth=16\nbs=64k\nnorandommap\nnumber_ios=6000",
                "rw=randread\niodepth=4\nbs=64k\nnorandommap\nnumber_ios=6000",
            )
        },
        job(
            "rw=write\nnumjobs=4\nsize=4m\noffset_increment=8m\nioengine=psync",
            "rw=write\nnumjobs=4\nsize=4m\noffset_increment=4m\nioengine=psync",
        ),
        job("rw=randread\noffset=25%\nsize=50%", "rw=randread\noffset=12%\nsize=50%"),
        // Limits.
        job("rw=randread\nsize=8m\nloops=3", "rw=randread\nsize=8m\nloops=2"),
        job("rw=randread\nio_size=10m", "rw=randread\nio_size=12m"),
        // Pace.
        timed(
            "rw=randread\nrate_iops=2000\ntime_based\nruntime=1500ms",
            "rw=randread\nrate_iops=1800\ntime_based\nruntime=1500ms",
        ),
        timed("rw=randrw\nrate=4m,1m\ntime_based\nruntime=2", "rw=randrw\nrate=3m,2m\ntime_based\nruntime=2"),
        timed(
            "rw=randrw\nrwmixread=70\nrate_iops=1000\ntime_based\nruntime=2",
            "rw=randrw\nrwmixread=70\nrate_iops=1000,500\ntime_based\nruntime=2",
        ),
        Job {
            has_gaps: true,
            // fio's count varies by its square root, ours does not.
            is_timed: false,
            ..timed(
                "rw=randread\nrate_iops=200\nrate_process=poisson\ntime_based\nruntime=4\niodepth=16",
                "rw=randread\nrate_iops=200\nrate_process=linear\ntime_based\nruntime=4\niodepth=16",
            )
        },
        timed(
            "rw=randread\nthinktime=50ms\nthinktime_blocks=10\nruntime=2\ntime_based",
            "rw=randread\nthinktime=60ms\nthinktime_blocks=10\nruntime=2\ntime_based",
        ),
        // Order of jobs.
        job(
            "[a]\nrw=read\nnumber_ios=2000\n[b]\nstonewall\nrw=write\nnumber_ios=2000",
            "[a]\nrw=read\nnumber_ios=2000\n[b]\nrw=write\nnumber_ios=2000",
        ),
        job(
            "[a]\nrw=read\nnumber_ios=2000\n[b]\nwait_for=a\nrw=write\nnumber_ios=2000",
            "[a]\nrw=read\nnumber_ios=2000\n[b]\nrw=write\nnumber_ios=2000",
        ),
        timed(
            "[a]\nrw=read\nrate_iops=1000\ntime_based\nruntime=1\n[b]\nstartdelay=2\nrw=write\nrate_iops=1000\ntime_based\nruntime=1",
            "[a]\nrw=read\nrate_iops=1000\ntime_based\nruntime=1\n[b]\nstartdelay=1\nrw=write\nrate_iops=1000\ntime_based\nruntime=1",
        ),
        Job {
            is_counted: false,
            has_turns: true,
            ..job(
                "[a]\nrw=randread\nflow=4\nflow_id=1\nnorandommap\ntime_based\nruntime=1\n[b]\nrw=randwrite\nflow=1\nflow_id=1\nnorandommap\ntime_based\nruntime=1",
                "[a]\nrw=randread\nflow=2\nflow_id=1\nnorandommap\ntime_based\nruntime=1\n[b]\nrw=randwrite\nflow=1\nflow_id=1\nnorandommap\ntime_based\nruntime=1",
            )
        },
    ]
}
