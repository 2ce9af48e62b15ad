//! What parameters mean: small texts and the plans that come of them.

use params::{DiagnosticSeverity, MemoryLoader, PlanReading, VdbenchOptions, read_vdbench, render, simulate};
use plan::*;
use std::path::PathBuf;

const SD: &str = "sd=sd1,lun=/tmp/x,size=1g\n";

fn read(files: &MemoryLoader, options: &VdbenchOptions) -> PlanReading {
    read_vdbench(&[PathBuf::from("job.vdb")], options, files)
}

fn good(reading: PlanReading) -> Plan {
    let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
    reading.plan.unwrap_or_else(|| panic!("{}", shown.join("\n\n")))
}

fn plan_with(text: &str, options: &VdbenchOptions) -> Plan {
    good(read(&MemoryLoader::one("job.vdb", text), options))
}

fn plan_of(text: &str) -> Plan {
    plan_with(text, &VdbenchOptions::default())
}

/// The only workload of the only run of `wd=wd1,sd=sd1,REST`.
fn workload(rest: &str) -> Workload {
    let mut plan = plan_of(&format!("{SD}wd=wd1,sd=sd1,{rest}\nrd=rd1,wd=wd1,iorate=max\n"));
    assert_eq!((plan.runs.len(), plan.runs[0].workloads.len()), (1, 1));
    plan.runs.remove(0).workloads.remove(0)
}

/// The only run of `rd=rd1,wd=wd1,REST`.
fn run(rest: &str) -> Run {
    let mut plan = plan_of(&format!("{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,{rest}\n"));
    assert_eq!(plan.runs.len(), 1);
    plan.runs.remove(0)
}

#[test]
fn defaults() {
    let plan = plan_of(&format!("{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max\n"));
    let (target, run) = (&plan.targets[0], &plan.runs[0]);
    assert_eq!((target.depth, target.hit_area_bytes, target.size_bytes), (8, 1 << 20, Some(1 << 30)));
    assert_eq!((target.open, target.skip_first_block), (OpenFlags::default(), false));
    assert_eq!((run.elapsed_ns, run.interval_ns, run.warmup_ns), (Some(30_000_000_000), 1_000_000_000, 0));
    let workload = &run.workloads[0];
    assert_eq!(workload.transfer, TransferSize::Fixed(4096));
    assert_eq!(workload.mix, OpMix::read_write(1.0));
    assert_eq!(workload.address, AddressPattern::default());
    assert_eq!((workload.share, workload.share_fixed, workload.depth), (1.0, false, None));
}

#[test]
fn orders_and_shapes() {
    let order = |text: &str| workload(text).address.order;
    assert_eq!(order("seekpct=0"), AddressOrder::Sequential { once: false, backward: false });
    assert_eq!(order("seekpct=sequential"), AddressOrder::Sequential { once: false, backward: false });
    assert_eq!(order("seekpct=eof"), AddressOrder::Sequential { once: true, backward: false });
    assert_eq!(order("seekpct=random"), AddressOrder::Random(AddressDistribution::Uniform));
    assert_eq!(order("seekpct=25"), AddressOrder::Mixed { seek: 0.25, distribution: AddressDistribution::Uniform });
    assert_eq!(order("seekpct=(poisson,5)"), AddressOrder::Random(AddressDistribution::Poisson(5.0)));
    assert_eq!(order("seekpct=poisson"), AddressOrder::Random(AddressDistribution::Poisson(3.0)));
    assert_eq!(order("coverage=exact"), AddressOrder::Random(AddressDistribution::ExactOnce));
    assert_eq!(order("random_distribution=zipf:1.2"), AddressOrder::Random(AddressDistribution::Zipf(1.2)));
    assert_eq!(order("random_distribution=(pareto,0.2)"), AddressOrder::Random(AddressDistribution::Pareto(0.2)));
    assert_eq!(order("random_distribution=normal:20"), AddressOrder::Random(AddressDistribution::Normal(0.2)));
    assert_eq!(workload("xfersize=(4k,25,8k,75)").transfer, TransferSize::Mix(vec![(4096, 0.25), (8192, 0.75)]));
    let uniform = TransferSize::Uniform { min: 4096, max: 65536, align: 4096 };
    assert_eq!(workload("xfersize=(4k,64k,4k)").transfer, uniform);
    let shape = workload("seekpct=0,streams=4,rhpct=10,whpct=20,wrpct=30,range=(10,50)");
    assert_eq!(shape.address.streams, Some(4));
    assert_eq!(workload("stride=(64k,128k)").address.stride, Some((65536, 131_072)));
    assert_eq!((shape.address.read_hit, shape.address.write_hit), (0.1, 0.2));
    assert_eq!(shape.mix.read, 0.7);
    let range = AddressRange { low: RangeBound::Fraction(0.1), high: RangeBound::Fraction(0.5) };
    assert_eq!(shape.address.range, Some(range));
    let bytes = AddressRange { low: RangeBound::Bytes(1 << 20), high: RangeBound::Bytes(1 << 22) };
    assert_eq!(workload("range=(1m,4m)").address.range, Some(bytes));
    let mix = workload("rdpct=50,trimpct=10,flushpct=10,fsync_every=32,thinktime=10ms");
    assert_eq!((mix.mix.trim, mix.mix.flush, mix.mix.fsync_every, mix.think_ns), (0.1, 0.1, Some(32), 10_000_000));
    assert!((mix.mix.read - 0.4).abs() < 1e-12 && (mix.mix.write - 0.4).abs() < 1e-12);
}

#[test]
fn open_flags_mean_what_linux_means() {
    let flags = |text: &str| workload(&format!("openflags={text}")).open.expect("flags");
    assert!(flags("directio").direct && flags("o_sync").sync && flags("o_rsync").sync && flags("o_dsync").dsync);
    assert!(!flags("o_sync").dsync && flags("(o_direct,fsync)").fsync_at_end);
    let hex = flags("0x1000");
    assert_eq!((hex.dsync, hex.sync, hex.extra), (true, false, 0));
    assert!(flags("0x101000").sync);
    if cfg!(target_arch = "x86_64") {
        assert!(flags("0x4000").direct);
    }
    assert_eq!(flags("0x40000").extra, 0x4_0000);
}

#[test]
fn times_rates_and_limits() {
    let one = run("io=1000,el=2m,in=10,wa=1m,pa=5,dist=u,maxdata=5,maxdataread=10g,maxdatawritten=1t,maxops=77");
    assert_eq!((one.elapsed_ns, one.interval_ns), (Some(120_000_000_000), 10_000_000_000));
    assert_eq!((one.warmup_ns, one.pause_ns), (60_000_000_000, 5_000_000_000));
    assert_eq!((one.rate, one.arrivals.gaps), (OfferedRate::PerSecond(1000.0), GapDistribution::Uniform));
    assert_eq!(one.stop.total, Some(DataLimit::TargetSizes(5.0)));
    assert_eq!(one.stop.read, Some(DataLimit::Bytes(10 << 30)));
    assert_eq!((one.stop.written, one.stop.operations), (Some(DataLimit::Bytes(1 << 40)), Some(77)));
    assert_eq!(run("iorate=-50").rate, OfferedRate::FractionOfLastMax(0.5));
    assert_eq!(run("iorate=50%").rate, OfferedRate::FractionOfLastMax(0.5));
    assert_eq!(run("iorate=max,interval=0.5,elapsed=1").interval_ns, 500_000_000);
    let burst = run("iorate=(100,2,300,6),distribution=(deterministic,variable)");
    assert_eq!((burst.rate, burst.arrivals.gaps), (OfferedRate::PerSecond(250.0), GapDistribution::Deterministic));
    let steps = vec![(100.0, 2_000_000_000), (300.0, 6_000_000_000)];
    assert_eq!(burst.arrivals.burst, Some(BurstPattern { steps, spike: false }));
    assert!(run("iorate=100,distribution=spike").arrivals.burst.expect("a burst").spike);
}

#[test]
fn loops_nest_in_the_order_written_and_rates_are_innermost() {
    let plan = plan_of(&format!(
        "{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,io=(1,max),forrdpct=(0,100),threads=(1,2),forrdpct=(10,20)\n"
    ));
    let loops: Vec<String> = plan
        .runs
        .iter()
        .map(|run| run.loops.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
        .collect();
    let expect = [
        "threads=1 rdpct=10 iorate=1",
        "threads=1 rdpct=10 iorate=max",
        "threads=1 rdpct=20 iorate=1",
        "threads=1 rdpct=20 iorate=max",
        "threads=2 rdpct=10 iorate=1",
        "threads=2 rdpct=10 iorate=max",
        "threads=2 rdpct=20 iorate=1",
        "threads=2 rdpct=20 iorate=max",
    ];
    assert_eq!(loops, expect);
    assert_eq!((plan.runs[4].depth, plan.runs[4].workloads[0].depth), (Some(2), None));
    assert_eq!(plan.runs[5].rate, OfferedRate::Max);
    assert_eq!(plan.runs[7].workloads[0].mix.read, 0.2);
}

#[test]
fn threads_of_the_run_win_and_change_no_other_run() {
    let text = |wd2: &str| {
        format!(
            "sd=sd1,lun=/tmp/x,threads=4,size=1g\nsd=sd2,lun=/tmp/y,threads=2,size=1g\nwd=wd1,sd=sd*\n{wd2}rd=rd1,wd=wd*,iorate=max\nrd=rd2,wd=wd*,iorate=max,threads=32\n"
        )
    };
    // Slots of a workload's own, and those that it shares, on each of its targets.
    let depths = |plan: &Plan, run: &Run| -> Vec<(Option<u32>, Vec<u32>)> {
        let shared = |at: &usize| run.depth_of(&plan.targets[*at]);
        run.workloads.iter().map(|one| (one.depth, one.targets.iter().map(shared).collect())).collect()
    };
    for (wd2, own) in [("", None), ("wd=wd2,sd=sd1\n", None), ("wd=wd2,sd=sd1,threads=3\n", Some(3))] {
        let plan = plan_of(&text(wd2));
        assert_eq!((plan.targets[0].depth, plan.targets[1].depth), (4, 2), "those of the targets stay");
        let both = |one: Vec<u32>, two: u32, own: Option<u32>| match wd2 {
            "" => vec![(None, one)],
            _ => vec![(None, one), (own, vec![two])],
        };
        assert_eq!(depths(&plan, &plan.runs[0]), both(vec![4, 2], 4, own));
        assert_eq!(depths(&plan, &plan.runs[1]), both(vec![32, 32], 32, None));
    }
}

#[test]
fn shares_are_what_was_asked() {
    let shares = |wds: &str| -> Vec<(f64, bool)> {
        let plan = plan_of(&format!("{SD}{wds}rd=rd1,wd=wd*,iorate=max\n"));
        plan.runs[0].workloads.iter().map(|one| (one.share, one.share_fixed)).collect()
    };
    assert_eq!(shares("wd=wd1,sd=sd1\nwd=wd2,sd=sd1\n"), [(0.5, false), (0.5, false)]);
    let mixed = shares("wd=wd1,sd=sd1,skew=40\nwd=wd2,sd=sd1\nwd=wd3,sd=sd1\n");
    assert!(mixed.iter().all(|(_, fixed)| *fixed) && mixed[0].0 == 0.4 && (mixed[2].0 - 0.3).abs() < 1e-12);
    let plan =
        plan_of(&format!("{SD}wd=wd1,sd=sd1,iorate=50,priority=1\nwd=wd2,sd=sd1,priority=2\nrd=rd1,wd=*,iorate=100\n"));
    let one = &plan.runs[0].workloads;
    assert_eq!((one[0].rate, one[0].priority, one[1].rate, one[1].priority), (Some(50.0), Some(1), None, Some(2)));
    assert_eq!((one[0].share, one[1].share), (0.0, 1.0));
}

#[test]
fn curves_begin_at_full_speed() {
    let plan = plan_of(&format!("{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=curve,stopcurve=5\n"));
    let titles: Vec<&str> = plan.runs.iter().map(|run| run.title.as_str()).collect();
    assert_eq!(titles, ["rd1", "rd1_(10%)", "rd1_(50%)", "rd1_(70%)", "rd1_(80%)", "rd1_(90%)", "rd1_(100%)"]);
    assert_eq!(plan.runs[0].rate, OfferedRate::CurveMax);
    assert_eq!(plan.runs[1].rate, OfferedRate::CurvePoint { fraction: 0.1, stop_response_ns: Some(5_000_000) });
}

#[test]
fn targets_by_count_default_and_sets() {
    let text = "sd=default,threads=3,openflags=o_direct\nsd=a%02d,lun=/dev/vd*1,count=(9,3)\nsd=raw,lun=/dev/sdz\nwd=wd1,sd=(a09-a11)\nrd=rd1,wd=wd1,iorate=max\n";
    let plan = plan_of(text);
    let shown: Vec<String> =
        plan.targets.iter().map(|one| format!("{} {} {}", one.name, one.path.display(), one.depth)).collect();
    assert_eq!(shown, ["a09 /dev/vd91 3", "a10 /dev/vd101 3", "a11 /dev/vd111 3", "raw /dev/sdz 3"]);
    assert!(plan.targets[3].skip_first_block && plan.targets[3].open.direct);
    assert_eq!(plan.runs[0].workloads[0].targets, [0, 1, 2]);
    let titles = |word: &str| -> Vec<(String, usize)> {
        let plan = plan_of(&format!(
            "sd=sd,lun=/tmp/x,count=(1,3),size=1g\nrd=rd1,sd={word},iorate=max,xfersize=8k,rdpct=0\n"
        ));
        plan.runs.iter().map(|run| (run.title.clone(), run.workloads[0].targets.len())).collect()
    };
    let names =
        |list: &[(&str, usize)]| list.iter().map(|(name, many)| ((*name).to_string(), *many)).collect::<Vec<_>>();
    assert_eq!(titles("single"), names(&[("rd1_sd1", 1), ("rd1_sd2", 1), ("rd1_sd3", 1)]));
    assert_eq!(titles("range"), names(&[("rd1_sd1-sd1", 1), ("rd1_sd1-sd2", 2), ("rd1_sd1-sd3", 3)]));
    assert_eq!(titles("setsof2").iter().map(|(_, many)| *many).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(titles("sd*"), names(&[("rd1", 3)]));
}

#[test]
fn sd_of_a_run_replaces_that_of_its_workloads() {
    let plan = plan_of(
        "sd=sd,lun=/tmp/x,count=(1,3),size=1g\nwd=wd1,sd=sd1\nwd=wd2\nwd=wd3,sd=nowhere\n\
         rd=rd1,wd=wd1,sd=sd2,iorate=max\nrd=rd2,wd=(wd2,wd3),sd=(sd3,sd1),iorate=max\n",
    );
    assert_eq!(plan.runs[0].workloads[0].targets, [1]);
    assert_eq!(plan.runs[1].workloads[0].targets, [2, 0]);
    assert_eq!(plan.runs[1].workloads[1].targets, [2, 0]);
}

#[test]
fn sd_single_runs_every_sd_of_the_file() {
    let sds = "sd=sd,lun=/tmp/x,count=(1,3),size=1g\nwd=wd1,sd=sd2\nwd=wd2,sd=sd1\n";
    let runs = |rest: &str| -> Vec<(String, Vec<usize>)> {
        let plan = plan_of(&format!("{sds}rd=rd1,wd=*,{rest},iorate=max\n"));
        plan.runs.iter().map(|run| (run.title.clone(), run.workloads[1].targets.clone())).collect()
    };
    let named = |list: &[(&str, &[usize])]| -> Vec<(String, Vec<usize>)> {
        list.iter().map(|(title, targets)| ((*title).to_string(), targets.to_vec())).collect()
    };
    assert_eq!(runs("sd=single"), named(&[("rd1_sd1", &[0]), ("rd1_sd2", &[1]), ("rd1_sd3", &[2])]));
    let ranges = [("rd1_sd1-sd1", &[0][..]), ("rd1_sd1-sd2", &[0, 1]), ("rd1_sd1-sd3", &[0, 1, 2])];
    assert_eq!(runs("sd=range"), named(&ranges));
    assert_eq!(runs("sd=setsof1"), runs("sd=single"));
    let sets = runs("sd=setsof2");
    assert!(
        sets.len() == 2 && sets[0].0.matches("_sd").count() == 2 && sets[1].0.matches("_sd").count() == 1,
        "{sets:?}"
    );
}

#[test]
fn a_run_without_wd_uses_the_last_default() {
    let plan = plan_of(&format!(
        "{SD}wd=default,xfersize=8k\nwd=wd1,sd=sd1\nwd=default,rdpct=20,seekpct=0\nrd=rd1,sd=sd1,iorate=max\n"
    ));
    let workload = &plan.runs[0].workloads[0];
    assert_eq!((workload.name.as_str(), &workload.transfer), ("rd1", &TransferSize::Fixed(8192)));
    assert_eq!(workload.mix.read, 0.2);
    assert_eq!(workload.address.order, AddressOrder::Sequential { once: false, backward: false });
}

#[test]
fn words_of_seekpct_may_be_short_and_stand_in_lists() {
    let sequential = |once: bool| AddressOrder::Sequential { once, backward: false };
    for (text, expect, random_start) in [
        ("seq", sequential(false), false),
        ("sequ", sequential(false), false),
        ("s", sequential(false), false),
        ("seqnz", sequential(false), true),
        ("eo", sequential(true), false),
        ("-5", sequential(true), false),
        ("150", AddressOrder::Random(AddressDistribution::Uniform), false),
        ("po", AddressOrder::Random(AddressDistribution::Poisson(3.0)), false),
        ("(p,0.5)", AddressOrder::Random(AddressDistribution::Poisson(0.5)), false),
        ("(seqnz,eof)", sequential(true), true),
        ("(eof,random)", AddressOrder::Random(AddressDistribution::Uniform), false),
    ] {
        let address = workload(&format!("seekpct={text}")).address;
        assert_eq!((address.order, address.random_start), (expect, random_start), "seekpct={text}");
    }
    let half = plan_of(&format!("{SD}wd=wd1,sd=sd1,seekpct=poisson\nrd=rd1,wd=wd1,iorate=max,forseekpct=(50,0,100)\n"));
    let orders: Vec<AddressOrder> = half.runs.iter().map(|run| run.workloads[0].address.order).collect();
    let poisson = AddressDistribution::Poisson(3.0);
    assert_eq!(
        orders,
        [AddressOrder::Mixed { seek: 0.5, distribution: poisson }, sequential(false), AddressOrder::Random(poisson)]
    );
}

#[test]
fn each_bound_of_a_range_is_percent_or_bytes_for_itself() {
    let bounds = |text: &str| workload(&format!("range={text}")).address.range.map(|range| (range.low, range.high));
    let percent = |percent: f64| RangeBound::Fraction(percent / 100.0);
    for (text, low, high) in [
        ("(10,1g)", percent(10.0), RangeBound::Bytes(1 << 30)),
        ("(90,110)", percent(90.0), percent(110.0)),
        ("(1m,4m)", RangeBound::Bytes(1 << 20), RangeBound::Bytes(4 << 20)),
        ("(100,201)", percent(100.0), RangeBound::Bytes(201)),
    ] {
        assert_eq!(bounds(text), Some((low, high)), "range={text}");
    }
    assert_eq!(bounds("(80,110),seekpct=eof"), Some((percent(80.0), percent(100.0))));
    let reading =
        read(&MemoryLoader::one("job.vdb", format!("{SD}wd=wd1,sd=sd1,range=(10,110)\n")), &VdbenchOptions::default());
    assert!(reading.diagnostics.iter().any(|found| found.code == "range"));
}

#[test]
fn the_later_of_range_and_hotband_is_the_window() {
    let window = |low: f64, high: f64| {
        Some(AddressRange { low: RangeBound::Fraction(low / 100.0), high: RangeBound::Fraction(high / 100.0) })
    };
    let address = |text: &str| workload(text).address;
    let band = address("range=(0,50),hotband=(10,20)");
    assert_eq!((band.range, band.hot_band), (None, window(10.0, 20.0)));
    let band = address("hotband=(10,20),range=(0,50)");
    assert_eq!((band.range, band.hot_band), (None, window(0.0, 50.0)));
    assert_eq!(address("ho=(10,20)").hot_band, window(10.0, 20.0));
    assert_eq!(
        address("hotband=(10,20),seekpct=30").order,
        AddressOrder::Mixed { seek: 0.3, distribution: AddressDistribution::Uniform }
    );
}

#[test]
fn a_stride_is_for_operations_that_seek() {
    let codes = |wd: &str, rd: &str| -> Vec<&'static str> {
        let text = format!("{SD}wd=wd1,sd=sd1,{wd}\nrd=rd1,wd=wd1,iorate=max{rd}\n");
        read(&MemoryLoader::one("job.vdb", text), &VdbenchOptions::default())
            .diagnostics
            .iter()
            .map(|found| found.code)
            .collect()
    };
    assert_eq!(codes("stride=(0,64k)", ""), [""; 0]);
    assert_eq!(codes("seekpct=30,stride=(4k,4k)", ""), [""; 0]);
    assert_eq!(codes("seekpct=0,stride=(4k,64k)", ""), ["conflict"]);
    assert_eq!(codes("stride=(4k,64k)", ",forseekpct=(100,0)"), ["conflict"]);
    assert_eq!(codes("stride=64k", ""), ["stride"]);
}

#[test]
fn sizes_from_min_to_max_need_not_be_multiples_of_the_step() {
    let uniform = |min, max, align| TransferSize::Uniform { min, max, align };
    assert_eq!(workload("xfersize=(512,64k,4k)").transfer, uniform(512, 65536, 4096));
    assert_eq!(workload("xfersize=(4k,64k,64k)").transfer, uniform(4096, 65536, 65536));
    let TransferSize::Mix(mix) = workload("xfersize=(4k,33.3,8k,33.3,16k,33.3)").transfer else { panic!("no mix") };
    assert!((mix.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12 && (mix[2].1 - 0.334).abs() < 1e-9);
}

#[test]
fn priorities_and_times_are_as_strict_as_there() {
    let codes = |wds: &str, rd: &str| -> Vec<&'static str> {
        let text = format!("{SD}{wds}rd=rd1,wd=*,{rd}\n");
        read(&MemoryLoader::one("job.vdb", text), &VdbenchOptions::default())
            .diagnostics
            .iter()
            .map(|found| found.code)
            .collect()
    };
    let two = |one: &str, other: &str| format!("wd=wd1,sd=sd1,{one}\nwd=wd2,sd=sd1,{other}\n");
    assert_eq!(codes(&two("iorate=9,priority=1", "priority=2"), "iorate=99"), [""; 0]);
    assert_eq!(codes(&two("iorate=9,priority=2", "priority=1"), "iorate=99"), ["priority"]);
    assert_eq!(codes(&two("iorate=9,priority=1", "priority=3"), "iorate=99"), ["priority"]);
    let one = "wd=wd1,sd=sd1\n";
    assert_eq!(codes(one, "iorate=9,elapsed=10,interval=3"), ["elapsed"]);
    assert_eq!(codes(one, "iorate=9,elapsed=10,warmup=3,interval=2"), ["elapsed"]);
    assert_eq!(codes(one, "iorate=9,wd=wd1"), ["duplicate"]);
    assert_eq!(codes(one, "iorate=9\nrd=rd1,wd=wd1,iorate=5"), ["duplicate"]);
    assert_eq!(codes("wd=wd1,sd=(sd1,sd*)\n", "iorate=9"), ["duplicate"]);
}

#[test]
fn a_host_of_a_storage_or_workload_is_one_that_is_defined() {
    let text = |sd: &str, wd: &str| {
        format!(
            "hd=h1,system=localhost\nsd=sd1,hd={sd},lun=/tmp/x,size=1m\nwd=wd1,sd=sd1,hd={wd}\nrd=rd1,wd=wd1,iorate=9\n"
        )
    };
    assert_eq!(plan_of(&text("h1", "h*")).runs.len(), 1);
    let reading = read(&MemoryLoader::one("job.vdb", text("h2", "h1")), &VdbenchOptions::default());
    assert_eq!(reading.diagnostics.iter().map(|found| found.code).collect::<Vec<_>>(), ["unknown-name"]);
}

#[test]
fn a_skew_of_zero_is_none_and_a_rate_of_zero_too() {
    let plan = plan_of(&format!("{SD}wd=wd1,sd=sd1,skew=0,iorate=0\nwd=wd2,sd=sd1\nrd=rd1,wd=*,iorate=max\n"));
    let shares: Vec<_> = plan.runs[0].workloads.iter().map(|one| (one.share, one.share_fixed, one.rate)).collect();
    assert_eq!(shares, [(0.5, false, None); 2]);
}

#[test]
fn titles_are_those_that_scripts_parse() {
    let lines = |rest: &str| simulate(&plan_of(&format!("{SD}wd=wd1,sd=sd1\nwd=wd2,sd=sd1\nrd=rd1,wd=wd1,{rest}\n")));
    let line = |rest: &str| lines(rest).swap_remove(0).replace("Simulating RD=", "").replace("elapsed=30; ", "");
    assert_eq!(line("iorate=1000,compratio=1.5"), "rd1; I/O rate: 1000; For loops: comp=1");
    assert_eq!(
        line("iorate=1000.7,threads=1536,rdpct=33.3"),
        "rd1; I/O rate: 1001; For loops: threads=1.500k rdpct=33"
    );
    // Small halves go up, others to the even number.
    for (rate, printed) in
        [("0.5", "1"), ("1.5", "2"), ("2.5", "3"), ("0.4", "0"), ("1000.5", "1000"), ("1001.5", "1002")]
    {
        assert_eq!(line(&format!("iorate={rate}")), format!("rd1; I/O rate: {printed}; For loops: None"));
    }
    assert_eq!(line("iorate=max,seekpct=-1"), "rd1; I/O rate: Uncontrolled MAX; For loops: seekpct=1%");
    assert_eq!(line("iorate=50%"), "rd1; I/O rate: 5000; For loops: None");
    let uneven = lines("iorate=(max,1000)");
    assert!(uneven[0].contains("I/O rate: Uncontrolled MAX") && uneven[1].contains("I/O rate: Controlled MAX"));
    assert_eq!(lines("iorate=(50%,1000)")[1].split("; ").nth(3), Some("For loops: iorate=1000"));
    assert_eq!(lines("iorate=curve,curve=(10.5,50)")[1].split("; ").next(), Some("Simulating RD=rd1_(10%)"));
    let relative = plan_of(&format!("{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=50%\n"));
    assert_eq!(relative.runs[0].title, "rd1_(50%)");
    let prioritised = plan_of(&format!("{SD}wd=wd1,sd=sd1,priority=1\nrd=rd1,wd=wd1,iorate=max\n"));
    assert!(simulate(&prioritised)[0].contains("I/O rate: Controlled MAX"));
}

#[test]
fn a_list_of_rates_stays_whatever_rate_comes_after_it() {
    let text = |rest: &str| format!("{SD}wd=wd1,sd=sd1\nrd=default,iorate=(100,200)\nrd=rd1,wd=wd1,{rest}\n");
    let reading = |rest: &str| read(&MemoryLoader::one("job.vdb", text(rest)), &VdbenchOptions::default());
    let codes = |reading: &PlanReading| reading.diagnostics.iter().map(|found| found.code).collect::<Vec<_>>();
    let rates = |plan: &Plan| plan.runs.iter().map(|run| run.rate).collect::<Vec<_>>();
    let listed = [OfferedRate::PerSecond(100.0), OfferedRate::PerSecond(200.0)];
    for (rest, warned, title, printed) in [
        ("threads=2", false, "rd1", "100"),
        ("iorate=2500", true, "rd1", "2500"),
        ("iorate=max", true, "rd1", "Controlled MAX"),
        ("iorate=50%", true, "rd1_(50%)", "5000"),
    ] {
        let reading = reading(rest);
        assert_eq!(codes(&reading), vec!["iorate"; usize::from(warned)], "{rest}");
        let plan = good(reading);
        assert_eq!((rates(&plan), plan.runs[1].title.as_str()), (listed.to_vec(), title), "{rest}");
        let line = simulate(&plan).swap_remove(1);
        let expect = format!("Simulating RD=rd1; I/O rate: {printed}; elapsed=30; For loops: ");
        assert!(line.starts_with(&expect) && line.ends_with("iorate=200"), "{line}");
    }
    assert_eq!(rates(&plan_of(&text("iorate=(7,8)"))), [OfferedRate::PerSecond(7.0), OfferedRate::PerSecond(8.0)]);
    assert_eq!(codes(&reading("iorate=curve")), ["conflict"]);
    // The command line is meant.
    let options = VdbenchOptions { run_addition: Some("iorate=77".into()), ..VdbenchOptions::default() };
    assert_eq!(rates(&plan_with(&text("iorate=(7,8)"), &options)), [OfferedRate::PerSecond(77.0)]);
    // What stands behind `curve` is nothing to Vdbench.
    let reading = read(
        &MemoryLoader::one("job.vdb", format!("{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=(curve,100),curve=50\n")),
        &VdbenchOptions::default(),
    );
    assert_eq!(codes(&reading), ["curve"]);
    assert_eq!(good(reading).runs.len(), 2);
}

#[test]
fn a_range_of_names_rises() {
    for list in ["(sd2-sd1)", "(sd1-sd1)", "sd1-sd1"] {
        let text = format!("{SD}sd=sd2,lun=/tmp/y,size=1g\nwd=wd1,sd={list}\nrd=rd1,wd=wd1,iorate=max\n");
        let reading = read(&MemoryLoader::one("job.vdb", text), &VdbenchOptions::default());
        assert!(
            reading
                .diagnostics
                .iter()
                .any(|found| found.code == "range" && found.severity == DiagnosticSeverity::Error),
            "{list}"
        );
    }
}

#[test]
fn variables_take_the_longest_name() {
    let options = VdbenchOptions {
        variables: vec![
            ("lun".into(), "/tmp/a".into()),
            ("lun1".into(), "/tmp/b".into()),
            ("rate".into(), "(1,2)".into()),
        ],
        ..VdbenchOptions::default()
    };
    let plan = plan_with("sd=sd1,lun=$lun,size=1m\nsd=sd2,lun=!lun1.x,size=1m\nrd=rd1,sd=*,iorate=$rate\n", &options);
    assert_eq!(plan.targets[0].path, PathBuf::from("/tmp/a"));
    assert_eq!(plan.targets[1].path, PathBuf::from("/tmp/b.x"));
    assert_eq!(plan.runs.len(), 2);
    let unused = read(&MemoryLoader::one("job.vdb", format!("{SD}rd=rd1,sd=*,iorate=1\n")), &options);
    let codes: Vec<&str> = unused.diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["unused-variable"; 3]);
}

#[test]
fn variables_have_defaults() {
    let text = "variable=(rate,(1,2))  two runs\nVariable=(lun,/tmp/a)\nvariable=(rate,9)\nvariable=(size,1m)\n\
                sd=sd1,lun=$lun,size=$size\nrd=rd1,sd=*,iorate=$rate\n";
    let given = |pairs: &[(&str, &str)]| VdbenchOptions {
        variables: pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        ..VdbenchOptions::default()
    };
    // The first default counts, and the command line before all.
    let plan = plan_with(text, &given(&[]));
    assert_eq!((plan.runs.len(), plan.targets[0].path.clone()), (2, PathBuf::from("/tmp/a")));
    let plan = plan_with(text, &given(&[("rate", "7"), ("lun", "/tmp/b")]));
    assert_eq!((plan.runs.len(), plan.targets[0].path.clone()), (1, PathBuf::from("/tmp/b")));
    // What no file uses, and what is no default.
    let read = |text: &str, options| -> Vec<&str> {
        let reading = read(&MemoryLoader::one("job.vdb", text.to_string()), &options);
        reading.diagnostics.iter().map(|found| found.code).collect()
    };
    assert_eq!(read(text, given(&[("rates", "7")])), ["unused-variable"]);
    assert_eq!(read(&format!("variable=rate\n{text}"), given(&[])), ["missing-variable"]);
    assert!(read(&format!("variable=rate\n{text}"), given(&[("rate", "7")])).is_empty());
    for wrong in ["variable=", "variable=(rate)", "variable=rate,7", "variable=(1,2)", "variable=(a b,2)"] {
        assert_eq!(read(&format!("{wrong}\n{text}"), given(&[])), ["variable"], "{wrong}");
    }
}

#[test]
fn a_default_may_be_a_product_of_other_variables() {
    let of = |default: &str, given: &[(&str, &str)]| {
        let options = VdbenchOptions {
            variables: given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            ..VdbenchOptions::default()
        };
        let text = format!(
            "variable=(width,50)\nvariable=(files,20)\nvariable=(lun,{default})\nsd=sd1,lun=/tmp/$lun,size=1m\n\
                            rd=rd1,sd=*,iorate=1\n"
        );
        plan_with(&text, &options).targets[0].path.display().to_string()
    };
    assert_eq!(of("7*$width*$files", &[]), "/tmp/7000");
    assert_eq!(of("7*$width*$files", &[("files", "5")]), "/tmp/1750");
    assert_eq!(of("7*$width*$files", &[("files", "5"), ("lun", "2*3")]), "/tmp/2*3", "what is given stays as it is");
    // Nothing but whole numbers is multiplied.
    for other in ["a*3", "2*", "*", "2*1k", "2*-3", "2.5*2", "9999999999*9999999999", "12"] {
        assert_eq!(of(other, &[]), format!("/tmp/{other}"));
    }
}

#[test]
fn the_command_line_overrides() {
    let options = VdbenchOptions {
        elapsed_ns: Some(7_000_000_000),
        interval_ns: Some(500_000_000),
        warmup_ns: Some(1_000_000_000),
        run_addition: Some("iorate=max, threads=(1,2)".into()),
        repeat: Some(RunRepeat::Times(3)),
        seed: Some(9),
        ..VdbenchOptions::default()
    };
    let plan = plan_with(&format!("{SD}wd=wd1,sd=sd1\nrd=default,elapsed=20\nrd=rd1,\nwd=wd1,iorate=5\n"), &options);
    assert_eq!((plan.runs.len(), plan.runs[0].rate), (2, OfferedRate::Max));
    let run = &plan.runs[0];
    assert_eq!((run.elapsed_ns, run.interval_ns, run.warmup_ns), (Some(7_000_000_000), 500_000_000, 1_000_000_000));
    assert_eq!((plan.settings.repeat, plan.settings.seed), (RunRepeat::Times(3), 9));
    assert_eq!(
        simulate(&plan)[1],
        "Simulating RD=rd1; I/O rate: Uncontrolled MAX; elapsed=7 warmup=1; For loops: threads=2"
    );
}

#[test]
fn everything_after_plus_is_parameters() {
    let text = format!("{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=5,elapsed=9\n");
    let reading = |addition: &str| {
        let options = VdbenchOptions { run_addition: Some(addition.into()), ..VdbenchOptions::default() };
        read(&MemoryLoader::one("job.vdb", text.clone()), &options)
    };
    // A quote makes a blank behind it no comment: a flag there must not be lost.
    for (addition, code) in [
        ("elapsed=3 --dry-run", "syntax"),
        ("startcmd=\"echo hi\" --dry-run", "syntax"),
        ("fail_if=\"errors > 0\" --dry-run", "syntax"),
        ("startcmd=(\"echo hi\",\"echo ho\") --dry-run", "syntax"),
        ("startcmd=\"echo hi\" -v", "syntax"),
        ("include=\"x\" --dry-run", "include"),
        ("* startcmd=\"echo hi\" --dry-run", "addition"),
        ("# --dry-run", "addition"),
        ("eof --dry-run", "addition"),
    ] {
        let reading = reading(addition);
        let codes: Vec<&str> = reading.diagnostics.iter().map(|found| found.code).collect();
        assert_eq!((reading.errors(), codes), (1, vec![code]), "{addition}");
    }
    for addition in
        ["startcmd=\"echo hi\" elapsed=3", "elapsed=3, startcmd=\"echo hi\"", "startcmd=\"echo hi\"\nelapsed=3"]
    {
        let run = good(reading(addition)).runs.remove(0);
        assert_eq!(run.elapsed_ns, Some(3_000_000_000), "{addition}");
        assert!(format!("{:?}", run.start_commands).contains("\"echo hi\""), "{:?}", run.start_commands);
    }
}

#[test]
fn hosts_replicate_and_includes_are_found_beside() {
    let text = "hd=h1,system=localhost\nhd=h2,system=localhost\nsd=sd_$host,lun=/tmp/$host.#host.#hosts,size=1m\nwd=wd1,sd=sd*\nrd=rd1,wd=wd1,iorate=1\n";
    let plan = plan_of(text);
    assert_eq!(plan.targets[1].name, "sd_h2");
    assert_eq!(plan.targets[1].path, PathBuf::from("/tmp/h2.1.2"));
    let mut files = MemoryLoader::one("job.vdb", "include=sub/a\nrd=rd1,sd=*,iorate=1\neof\nnonsense\n");
    files.0.insert("sub/a".into(), b"include=b\nsd=sd1,lun=/tmp/x,size=1m\n".to_vec());
    files.0.insert("b".into(), b"compratio=3\n".to_vec());
    let plan = good(read(&files, &VdbenchOptions::default()));
    assert_eq!(plan.runs[0].workloads[0].content.compress_ratio, 3.0);
    let names: Vec<&str> = plan.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["job.vdb", "sub/a", "b"]);
}

#[test]
fn lines_end_at_blanks_and_go_on_after_commas() {
    let plan = plan_of(
        "/ comment\n# comment\n\u{feff}SD=sd1,lun=\"/tmp/a b\",  comment\r\n size=1m\nwd=wd1,sd=sd1,XF=(4k,\n* between\n50,8k,50)\nrdpct=70\nrd=rd1,wd=wd1,io=5\n",
    );
    assert_eq!(plan.targets[0].path, PathBuf::from("/tmp/a b"));
    let workload = &plan.runs[0].workloads[0];
    assert_eq!(workload.mix.read, 0.7);
    assert_eq!(workload.transfer, TransferSize::Mix(vec![(4096, 0.5), (8192, 0.5)]));
}

#[test]
fn concatenated_targets_are_one_job() {
    let text = "concatenatesds=yes\nsd=sd1,lun=/tmp/x,size=1g,threads=3\nsd=sd2,lun=/tmp/y,size=1g,threads=5\n\
                wd=wd1,sd=sd*,skew=30\nwd=wd2,sd=sd2,threads=2,skew=70\nrd=rd1,wd=wd*,iorate=max\nrd=rd2,wd=wd*,iorate=9\n";
    let plan = plan_of(text);
    let jobs = |run: usize| {
        let jobs = plan.runs[run].workloads.iter().map(|workload| workload.job.clone().unwrap());
        jobs.map(|job| (job.depth, job.turn, job.flow.map(|flow| flow.weight))).collect::<Vec<_>>()
    };
    assert_eq!(jobs(0), [(8, TargetOrder::Joined, Some(0.3)), (2, TargetOrder::Joined, Some(0.7))]);
    assert_eq!(jobs(1), [(8, TargetOrder::Joined, None), (2, TargetOrder::Joined, None)]);
    assert_eq!(plan.runs[0].workloads[0].targets, [0, 1]);
}

#[test]
fn duplication_is_of_all_targets_or_of_each() {
    let dedup = |general: &str, own: &str| {
        let text = format!("{general}sd=sd1,lun=/tmp/x,size=1g{own}\nrd=rd1,sd=sd1,iorate=max\n");
        plan_of(&text).runs[0].workloads[0].content.dedup
    };
    let two = DedupContent { ratio: 2.0, unit_bytes: 4096, sets: DedupSets::Fraction(0.05), across: true };
    assert_eq!(dedup("dedupratio=2\ndedupunit=4k\n", ""), Some(two));
    assert_eq!(dedup("dedupratio=1\ndedupunit=4k\n", ""), None);
    assert_eq!(
        dedup("dedupratio=2\ndedupunit=4k\n", ",dedupratio=50,dedupacross=no"),
        Some(DedupContent { ratio: 50.0, sets: DedupSets::Fraction(0.01), across: false, ..two })
    );
    assert_eq!(
        dedup("dedupratio=2\ndedupunit=8k\ndedupsets=100\ndedupflipflop=no\n", ""),
        Some(DedupContent { unit_bytes: 8192, sets: DedupSets::Count(100), ..two })
    );
    assert_eq!(dedup("dedupratio=30\ndedupunit=4k\ndedupsets=2%\n", "").unwrap().sets, DedupSets::Fraction(0.02));
}

#[test]
fn what_is_not_built_has_one_sentence_each() {
    let sentences = |text: &str| plan_of(text).unsupported.iter().map(|one| one.sentence.clone()).collect::<Vec<_>>();
    let run = "wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max\n";
    assert_eq!(
        sentences(&format!("hd=far,system=db7\n{SD}{run}")),
        ["running on other hosts (hd=, here db7) is not built yet"]
    );
    let hosts = sentences(&format!("dedupratio=2\ndedupunit=4k\ndeduphotsets=(1,9)\ndedupflipflop=hot\n{SD}{run}"));
    assert_eq!(hosts.len(), 2, "{hosts:?}");
}

#[test]
fn what_has_no_effect_is_noted_once() {
    let text = format!(
        "misc=(fifo=1)\ndebug=27\npsrset=(1,2)\nreport=host_detail\ndebug=86\n{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max\n"
    );
    let reading = read(&MemoryLoader::one("job.vdb", text), &VdbenchOptions::default());
    assert!(reading.diagnostics.iter().all(|found| found.severity == DiagnosticSeverity::Note));
    assert_eq!(reading.diagnostics.len(), 4, "{:?}", reading.diagnostics);
    assert!(params::no_effect_flags().len() > 15);
}

#[test]
fn commands_and_histograms() {
    let text = format!(
        "startcmd=(\"echo a, b\",cons)\nendcmd=/bin/true\nhistogram=(default,20,100-300,100,1m,2s,suppress)\ndata_errors=7\nabort_failed_skew=5\n{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max,startcmd=(\"ls $HOME\",sum,master)\n"
    );
    let plan = plan_of(&text);
    let settings = &plan.settings;
    assert_eq!(
        (settings.start_commands[0].line.as_str(), settings.start_commands[0].output.as_str()),
        ("echo a, b", "cons")
    );
    assert_eq!(
        (settings.end_commands[0].line.as_str(), settings.end_commands[0].output.as_str()),
        ("/bin/true", "log")
    );
    assert_eq!(plan.runs[0].start_commands[0].line, "ls $HOME");
    let text = format!(
        "{SD}wd=wd1,sd=sd1\nrd=default,wd=wd1,start_cmd=(a,b)\nrd=default,startcmd=\"c d\",iorate=max\n\
         rd=rd1,start_cmd=(\"logger x\",abort,localhost),start=e,end_cmd=f\n"
    );
    let run = &plan_of(&text).runs[0];
    let lines: Vec<_> = run.start_commands.iter().map(|one| (one.line.as_str(), one.abort)).collect();
    assert_eq!(lines, [("c d", true), ("logger x", true), ("e", false)]);
    assert_eq!(run.end_commands.len(), 1);
    assert_eq!(settings.histograms[0].edges_ns, [20_000, 100_000, 200_000, 300_000, 1_000_000, 2_000_000_000]);
    assert!(settings.histograms[0].suppress);
    assert_eq!((settings.errors_max, settings.skew_tolerance), (7, Some(0.05)));
}

#[test]
fn spans_point_into_the_text() {
    let plan = plan_of(&format!("* first\n{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max\n"));
    let part = |span: TextSpan| {
        &plan.sources[span.source as usize].text[span.start as usize..(span.start + span.len) as usize]
    };
    assert_eq!((part(plan.targets[0].span), part(plan.runs[0].span)), ("sd=sd1", "rd=rd1"));
}

#[test]
fn the_documentation_lists_what_has_no_effect() {
    let path = format!("{}/../../docs/vdbench.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("docs/vdbench.md");
    for (section, keyword, _) in params::no_effect_flags() {
        let listed = text.lines().any(|line| {
            line.starts_with(&format!("| {section} |")) && line.split(['`', ' ']).any(|word| word == keyword)
        });
        assert!(listed, "{section}: {keyword} is missing under \"No effect\"");
    }
}

#[test]
fn conditions_of_the_file_and_of_a_run_are_kept_with_their_places() {
    let text = "fail_if=\"errors > 0\"\nsd=sd1,lun=/dev/x\nwd=wd1,sd=sd1\n\
        rd=default,wd=wd1,iorate=max,elapsed=3,interval=1,fail_if=(\"response_ns_p99{op=read} > 5ms for 10s\",\"achieved < 100\")\n\
        rd=rd1,xfersize=(4k,8k)\nrd=rd2,fail_if=\"errors > 9\"\n";
    let plan = plan_of(text);
    let texts = |list: &[plan::Objective]| list.iter().map(|one| one.text.clone()).collect::<Vec<String>>();
    assert_eq!(texts(&plan.objectives), ["errors > 0"]);
    let common = ["response_ns_p99{op=read} > 5ms for 10s", "achieved < 100"];
    assert_eq!(plan.runs.len(), 3);
    assert_eq!(texts(&plan.runs[0].objectives), common);
    assert_eq!(texts(&plan.runs[1].objectives), common);
    assert_eq!(texts(&plan.runs[2].objectives), [common[0], common[1], "errors > 9"]);
    let span = plan.runs[0].objectives[0].span;
    let (start, end) = (span.start as usize, (span.start + span.len) as usize);
    assert_eq!(&text[start..end], "\"response_ns_p99{op=read} > 5ms for 10s\"");
}

#[test]
fn a_replay_lays_groups_out_and_takes_its_rate_from_iorate() {
    let text = "rg=g1,devices=(3,4)\nsd=sd1,lun=/tmp/a,size=1g,replay=g1\nsd=sd2,lun=/tmp/b,size=1g,replay=g1\n\
                sd=sd3,lun=/tmp/c,size=1g,replay=7\n";
    let plan = plan_of(&format!("{text}rd=rd1,replay=(t.bin,split=/tmp,repeat=2,compress=y),iorate=500\n"));
    assert!(plan.unsupported.is_empty(), "{:?}", plan.unsupported);
    let workload = &plan.runs[0].workloads[0];
    let replay = workload.replay.as_ref().unwrap();
    assert_eq!(workload.targets, [0, 1, 2]);
    assert_eq!(replay.volumes.iter().map(|volume| volume.targets.clone()).collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
    let maps: Vec<_> = replay.maps.iter().map(|map| (map.device.as_str(), map.volume, map.packed)).collect();
    assert_eq!(maps, [("3", 0, true), ("4", 0, true), ("7", 1, false)]);
    assert_eq!((replay.repeat, replay.speed), (2, plan::replay::ReplaySpeed::PerSecond(500.0)));
    assert_eq!(replay.trace, PathBuf::from("t.bin"));
    let free = plan_of(&format!("{text}rd=rd1,replay=t.bin\n"));
    let replay = free.runs[0].workloads[0].replay.clone().unwrap();
    assert_eq!(
        (replay.speed, replay.pacing),
        (plan::replay::ReplaySpeed::Factor(1.0), plan::replay::ReplayPacing::OnTime)
    );
    // As Vdbench wants it: a workload that says where, and nothing else that counts.
    let by_work = plan_of(&format!(
        "{text}wd=wd1,sd=(sd1,sd2),rdpct=0\nwd=wd2,sd=sd3\nrd=rd1,wd=wd1,replay=t.bin\nrd=rd2,sd=sd3,replay=t.bin,threads=3\n"
    ));
    let targets: Vec<_> = by_work.runs.iter().map(|run| run.workloads[0].targets.clone()).collect();
    assert_eq!(targets, [vec![0, 1], vec![2]]);
    let max = plan_of(&format!("{text}rd=rd1,replay=t.bin,iorate=max\n"));
    assert_eq!(max.runs[0].workloads[0].replay.as_ref().unwrap().pacing, plan::replay::ReplayPacing::Asap);
}

#[test]
fn a_replay_that_cannot_be_is_refused_at_its_place() {
    for (text, part) in [
        ("rd=rd1,replay=t.bin\n", "no sd= says which devices"),
        ("rd=rd1,replay=(t.bin,repeat=x)\n", "a whole number is expected"),
        ("rd=rd1,replay=(t.bin,repeet=2)\n", "there is no such parameter"),
    ] {
        let reading = read(&MemoryLoader::one("job.vdb", format!("{SD}{text}")), &VdbenchOptions::default());
        let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
        assert!(reading.plan.is_none() && shown.join("\n").contains(part), "{text}: {shown:?}");
    }
    let twice = "sd=a,lun=/tmp/a,size=1g,replay=3\nsd=b,lun=/tmp/b,size=1g,replay=3\n";
    let reading =
        read(&MemoryLoader::one("job.vdb", format!("{twice}rd=rd1,replay=t.bin\n")), &VdbenchOptions::default());
    assert!(reading.plan.is_none());
    let plan = plan_of(&format!("{twice}rd=rd1,replay=(t.bin,duplication=y,stagger=20)\n"));
    let replay = plan.runs[0].workloads[0].replay.as_ref().unwrap();
    assert!(replay.duplicate && replay.stagger_ns == 20_000_000);
}

#[test]
fn a_restart_leaves_out_the_runs_before() {
    let restart = |name: &str| {
        let options = VdbenchOptions { restart: Some(name.to_string()), ..VdbenchOptions::default() };
        let text =
            format!("{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9\nrd=rd2,wd=wd1,iorate=(1,2)\nrd=rd3,wd=wd1,iorate=9\n");
        read(&MemoryLoader::one("job.vdb", text), &options)
    };
    let names = |reading: PlanReading| good(reading).runs.into_iter().map(|run| run.name).collect::<Vec<_>>();
    assert_eq!(names(restart("rd2")), ["rd2", "rd2", "rd3"]);
    assert_eq!(names(restart("rd")).len(), 4);
    assert!(
        restart("rd2")
            .diagnostics
            .iter()
            .any(|found| found.message.contains("1 of the runs are left out, rd2 is the first"))
    );
    assert!(restart("rd4").plan.is_none());
}
