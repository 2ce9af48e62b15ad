//! Vdbench's file systems and file workloads: what they mean, and what is refused.

use params::{FormatOverride, MemoryLoader, PlanReading, VdbenchOptions, read_vdbench, render, simulate};
use plan::{
    FileOrder, FilePlace, FileSelect, FileSizes, FormatTask, OfferedRate, OpenFlags, Plan, Run, StopAfter,
    TransferSize, TreeLoad, TreeTask,
};
use std::fmt::Write as _;
use std::path::PathBuf;

fn read_with(text: &str, options: &VdbenchOptions) -> PlanReading {
    read_vdbench(&[PathBuf::from("job.vdb")], options, &MemoryLoader::one("job.vdb", text))
}

fn plan_with(text: &str, options: &VdbenchOptions) -> Plan {
    let reading = read_with(text, options);
    let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
    reading.plan.unwrap_or_else(|| panic!("{text}\n{}", shown.join("\n\n")))
}

fn plan_of(text: &str) -> Plan {
    plan_with(text, &VdbenchOptions::default())
}

/// What a text is refused with.
fn refusal(text: &str) -> String {
    let reading = read_with(text, &VdbenchOptions::default());
    assert!(reading.plan.is_none(), "{text}");
    reading.diagnostics.iter().map(|found| found.message.clone()).collect::<Vec<_>>().join("; ")
}

const FSD: &str = "fsd=fsd1,anchor=/t/a,depth=2,width=3,files=5\n";
const RD: &str = "rd=rd1,fwd=fwd*,fwdrate=max,elapsed=10\n";

fn load(run: &Run, at: usize) -> &TreeLoad {
    run.workloads[at].load.tree().expect("a workload in trees")
}

#[test]
fn defaults_are_those_of_vdbench() {
    let plan = plan_of(&format!("fsd=fsd1,anchor=/t/a\nfwd=fwd1,fsd=fsd1\n{RD}"));
    assert_eq!((plan.targets.len(), plan.trees.len(), plan.runs.len()), (0, 1, 1));
    assert!(plan.unsupported.is_empty() && !plan.trees[0].makes_parents);
    let load = load(&plan.runs[0], 0);
    let shape = &load.uses[0].shape;
    assert_eq!((shape.depth, shape.width, shape.files, shape.place), (1, 1, 10, FilePlace::Bottom));
    assert_eq!((&shape.sizes, shape.total_bytes, shape.working_set_bytes), (&FileSizes::Fixed(4096), None, None));
    assert_eq!(load.task, TreeTask::One(plan::generate::OperationKind::Read));
    assert_eq!((load.threads, load.select, load.access), (1, FileSelect::Sequential, FileOrder::Sequential));
    assert_eq!((load.stop_after, &load.transfer), (None, &TransferSize::Fixed(4096)));
    assert_eq!((plan.runs[0].rate, plan.runs[0].workloads[0].share), (OfferedRate::Max, 1.0));
}

#[test]
fn shapes_and_words_may_be_short() {
    let text = "create_anchors=yes\nfsd=default,de=3,wi=2,di=all,si=(6.6k,25,8k,75.9),sh=yes\nfsd=fsd,an=/t/a,co=(5,2),to=(2m,4),ws=100k,journal=/j,log=yes\n\
                fwd=fwd1,fsd=(fsd5-fsd6),op=getattr,filesel=once,fileio=(seq,delete),st=20%,xf=(1000,50,8k,50),th=7,sk=100,openflags=fsync\n\
                rd=rd1,fwd=fwd1,fwdr=5,format=restart\n";
    let plan = plan_of(text);
    let anchors: Vec<String> = plan.trees.iter().map(|tree| tree.anchor.display().to_string()).collect();
    assert_eq!(anchors, ["/t/a5", "/t/a6"]);
    assert!(plan.trees.iter().all(|tree| tree.makes_parents));
    let load = load(&plan.runs[1], 0);
    let shape = &load.uses[1].shape;
    assert_eq!((shape.depth, shape.width, shape.place, shape.shared), (3, 2, FilePlace::All, true));
    assert_eq!(shape.sizes, FileSizes::Mix(vec![(6758, 25.0), (8192, 75.9)]));
    assert_eq!((shape.total_bytes, shape.working_set_bytes), (Some(1 << 19), Some(100 << 10)));
    assert_eq!((load.select, load.access), (FileSelect::Once, FileOrder::SequentialDelete));
    assert_eq!((load.stop_after, load.threads), (Some(StopAfter::Fraction(0.2)), 3));
    assert_eq!(load.transfer, TransferSize::Mix(vec![(1000, 0.5), (8192, 0.5)]));
    assert!(load.open.fsync_at_end && plan.runs[1].workloads[0].share_fixed);
    let around = plan_of(&format!("fsd=fsd1,anchor=/t/a,sizes=(10m,0)\nfwd=fwd1,fsd=fsd1\n{RD}"));
    assert_eq!(around.runs[0].tree_uses()[0].shape.sizes, FileSizes::Around(10 << 20));
}

#[test]
fn a_shape_file_says_all_of_the_form_and_nothing_else_does() {
    let plan =
        plan_of(&format!("fsd=default,depth=3\nfsd=fsd1,anchor=/t/a,shape=/t/x.shape,wss=1m\nfwd=fwd1,fsd=fsd1\n{RD}"));
    let shape = &plan.runs[0].tree_uses()[0].shape;
    assert_eq!((&shape.sizes, shape.working_set_bytes), (&FileSizes::Listed("/t/x.shape".into()), Some(1 << 20)));
    assert!(shape.is_listed());
    let both = refusal(&format!("fsd=fsd1,anchor=/t/a,files=3,shape=x.shape\nfwd=fwd1,fsd=fsd1\n{RD}"));
    assert!(both.contains("has shape= and `files` as well"), "{both}");
    let looped = refusal(&format!(
        "fsd=fsd1,anchor=/t/a,shape=x.shape\nfwd=fwd1,fsd=fsd1\n{}",
        RD.replace('\n', ",fordepth=(1,2)\n")
    ));
    assert!(looped.contains("loop over depth"), "{looped}");
}

#[test]
fn words_of_fileselect_change_one_thing_each() {
    let select =
        |words: &str| load(&plan_of(&format!("{FSD}fwd=fwd1,fsd=fsd1,fileselect={words}\n{RD}")).runs[0], 0).select;
    for (words, expect) in [
        ("r", FileSelect::Random),
        ("seq", FileSelect::Sequential),
        ("(random,once)", FileSelect::Once),
        ("poisson", FileSelect::Poisson { midpoint: None }),
        ("(poisson,5)", FileSelect::Poisson { midpoint: Some(5.0) }),
        ("(skewed,midpoint=3)", FileSelect::Poisson { midpoint: None }),
        ("(seq,5)", FileSelect::Sequential),
        ("(random,0)", FileSelect::Random),
    ] {
        assert_eq!(select(words), expect, "{words}");
    }
}

#[test]
fn threads_and_shares_are_divided_as_there() {
    let fsd = "fsd=fsd,anchor=/t/a,count=(1,3)\n";
    let plan = plan_of(&format!("{fsd}fwd=fwd1,fsd=fsd*,threads=14\nfwd=fwd2,fsd=fsd1,threads=1\n{RD}"));
    let shares: Vec<f64> = plan.runs[0].workloads.iter().map(|workload| workload.share).collect();
    assert_eq!((load(&plan.runs[0], 0).threads, shares), (4, vec![0.75, 0.25]));
    let run = "rd=rd1,fwd=fwd*,fwdrate=9,operations=(read,getattr),forthreads=(12,1)\n";
    let plan = plan_of(&format!("{fsd}fwd=fwd1,fsd=fsd*,threads=14\n{run}"));
    let names: Vec<&str> = plan.runs[0].workloads.iter().map(|workload| workload.name.as_str()).collect();
    assert_eq!(names, ["fwd1_read", "fwd1_getattr"]);
    assert_eq!((load(&plan.runs[0], 1).threads, load(&plan.runs[1], 1).threads), (2, 1));
    let plan = plan_of(&format!("{fsd}fwd=fwd1,fsd=fsd*,skew=90\nfwd=fwd2,fsd=(fsd1,fsd2)\nfwd=fwd3,fsd=fsd1\n{RD}"));
    let shares: Vec<f64> = plan.runs[0].workloads.iter().map(|workload| (workload.share * 1e6).round() / 1e6).collect();
    assert_eq!(shares, [0.9, 0.066_667, 0.033_333]);
    assert!(plan.runs[0].workloads.iter().all(|workload| workload.share_fixed));
}

fn titles(plan: &Plan) -> Vec<String> {
    simulate(plan)
}

#[test]
fn loops_nest_as_written_and_rates_among_them() {
    let text = format!(
        "{FSD}fwd=fwd1,fsd=fsd1,fileio=random,fileselect=random\n\
         rd=rd1,fwd=fwd1,elapsed=5,files=(2048,1500),fwdrate=(10,20.7,50%),fordepth=1\n\
         rd=rd2,fwd=fwd1,fwdrate=curve,curve=(10,50),forxfersize=1000,sizes=(1m,1g)\n\
         rd=rd3,fwd=fwd1,fwdrate=33.9,warmup=5,rdpct=(30),wss=0,totalsize=100k,operations=read\n"
    );
    let expect = [
        "Simulating RD=rd1; elapsed=5; fwdrate=10; For loops: files=2k fwdrate=10 depth=1",
        "Simulating RD=rd1; elapsed=5; fwdrate=20; For loops: files=2k fwdrate=20 depth=1",
        "Simulating RD=rd1; elapsed=5; fwdrate=-50; For loops: files=2k fwdrate=50% depth=1",
        "Simulating RD=rd1; elapsed=5; fwdrate=10; For loops: files=1.465k fwdrate=10 depth=1",
        "Simulating RD=rd1; elapsed=5; fwdrate=20; For loops: files=1.465k fwdrate=20 depth=1",
        "Simulating RD=rd1; elapsed=5; fwdrate=-50; For loops: files=1.465k fwdrate=50% depth=1",
        "Simulating RD=rd2; elapsed=30; fwdrate=curve. For loops: xfersize=1000 sizes=1m",
        "Simulating RD=rd2_(10%); elapsed=30; fwdrate=curve. For loops: xfersize=1000 sizes=1m",
        "Simulating RD=rd2_(50%); elapsed=30; fwdrate=curve. For loops: xfersize=1000 sizes=1m",
        "Simulating RD=rd2; elapsed=30; fwdrate=curve. For loops: xfersize=1000 sizes=1g",
        "Simulating RD=rd2_(10%); elapsed=30; fwdrate=curve. For loops: xfersize=1000 sizes=1g",
        "Simulating RD=rd2_(50%); elapsed=30; fwdrate=curve. For loops: xfersize=1000 sizes=1g",
        "Simulating RD=rd3; elapsed=30 warmup=5; fwdrate=33; For loops: rdpct=30 wss=0 totalsize=100k",
    ];
    let plan = plan_of(&text);
    assert_eq!(titles(&plan), expect);
    assert_eq!(plan.runs[1].rate, OfferedRate::PerSecond(20.7));
    assert_eq!(plan.runs[2].rate, OfferedRate::FractionOfLastMax(0.5));
    assert_eq!(load(&plan.runs[3], 0).uses[0].shape.files, 1500);
    assert_eq!(load(&plan.runs[12], 0).task, TreeTask::Mixed { read: 0.3 });
    let part = plan_of(
        "fsd=fsd1,anchor=/t/a,size=1g,totalsize=1g\nfwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1,fwdrate=1,totalsize=(25%,0,9m)\n",
    );
    let totals: Vec<Option<u64>> = part.runs.iter().map(|run| run.tree_uses()[0].shape.total_bytes).collect();
    assert_eq!(totals, [Some(1 << 28), Some(1 << 30), Some(9 << 20)]);
}

#[test]
fn a_format_is_a_run_before_its_run() {
    let text = |format: &str| {
        format!(
            "{FSD}fsd=fsd2,anchor=/t/b,openflags=o_sync\nfwd=default,threads=3,xfersize=1m\nfwd=fwd1,fsd=fsd*\n\
             rd=rd1,fwd=fwd1,fwdrate=5,elapsed=6,fordepth=(1,2),format={format}\n"
        )
    };
    let runs = |format: &str| plan_of(&text(format)).runs;
    let names = |format: &str| runs(format).iter().map(|run| run.title.clone()).collect::<Vec<_>>();
    assert_eq!(names("yes"), ["format_for_rd1", "rd1", "format_for_rd1", "rd1"]);
    assert_eq!(names("(yes,once)"), ["format_for_rd1", "rd1", "rd1"]);
    assert_eq!(names("(once,only)"), ["format_for_rd1"]);
    assert_eq!(names("(restart,only,no)"), ["rd1", "rd1"]);
    for (format, is_whole) in [("(no,complete)", true), ("no", false)] {
        let plan = plan_of(&text(format));
        assert!(plan.runs.iter().flat_map(plan::Run::tree_uses).all(|one| one.is_taken_whole == is_whole), "{format}");
    }
    let task = |format: &str| match load(&runs(format)[0], 0).task {
        TreeTask::Format(task) => task,
        ref other => panic!("{other:?}"),
    };
    let whole = FormatTask { deletes: true, ..FormatTask::default() };
    assert_eq!(task("y"), whole);
    assert_eq!(task("restart"), FormatTask::default());
    assert_eq!(task("d"), FormatTask { only_directories: true, ..whole });
    assert_eq!(task("clean"), FormatTask { only_deletes: true, ..whole });
    assert_eq!(task("(limited,only)"), FormatTask { limited: true, ..whole });
    let first = &runs("yes")[0];
    assert!(first.format && first.elapsed_ns.is_none() && first.rate == OfferedRate::Max);
    assert_eq!(first.workloads.len(), 2);
    let made = load(first, 0);
    assert_eq!((made.threads, &made.transfer, made.open), (8, &TransferSize::Fixed(128 << 10), OpenFlags::default()));
    assert!(load(first, 1).open.sync && made.uses[0].shape.depth == 1);
    assert_eq!(runs("(limited,only)")[0].elapsed_ns, Some(6_000_000_000));
    let own = plan_of(&text("yes").replace("fwd=fwd1", "fwd=format,xfersize=(8k,50,4k,50)\nfwd=fwd1"));
    let made = load(&own.runs[0], 0);
    assert_eq!((made.threads, &made.transfer), (3, &TransferSize::Fixed(8192)));
}

#[test]
fn the_command_line_wins_over_format() {
    let text = |format: &str| {
        format!("{FSD}fwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1,fwdrate=5{format}\nrd=rd2,fwd=fwd1,fwdrate=5\n")
    };
    let names = |format: &str, forced: FormatOverride| {
        let options = VdbenchOptions { format: Some(forced), ..VdbenchOptions::default() };
        plan_with(&text(format), &options).runs.iter().map(|run| run.title.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(",format=yes", FormatOverride::No), ["rd1", "rd2"]);
    assert_eq!(names("", FormatOverride::Yes), ["format_for_rd1", "rd1", "format_for_rd2", "rd2"]);
    assert_eq!(names(",format=no", FormatOverride::Only), ["format_for_rd1", "format_for_rd2"]);
    // It is deleted once, before the first run that uses it.
    assert_eq!(names("", FormatOverride::Clean), ["format_for_rd1", "rd1", "rd2"]);
    assert_eq!(names(",format=restart", FormatOverride::Clean), ["format_for_rd1", "rd1", "rd2"]);
    let options = VdbenchOptions { format: Some(FormatOverride::Clean), ..VdbenchOptions::default() };
    for (format, only_deletes) in [("", true), (",format=restart", false)] {
        let plan = plan_with(&text(format), &options);
        let task = TreeTask::Format(FormatTask { deletes: true, only_deletes, ..FormatTask::default() });
        assert_eq!(load(&plan.runs[0], 0).task, task);
    }
}

#[test]
fn copies_go_to_a_tree_of_the_same_shape() {
    let fsd = "fsd=default,files=7\nfsd=fsd1,anchor=/t/a\nfsd=fsd2,anchor=/t/b\n";
    let plan = plan_of(&format!("{fsd}fwd=fwd1,fsd=fsd1,operation=move,target=fsd2\n{RD}"));
    assert_eq!(load(&plan.runs[0], 0).destination.as_ref().map(|one| one.tree), Some(1));
    assert!(refusal(&format!("{fsd}fwd=fwd1,fsd=fsd1,operation=copy\n{RD}")).contains("has no target="));
    assert!(refusal(&format!("{fsd}fwd=fwd1,fsd=fsd1,operation=copy,target=fsd1\n{RD}")).contains("itself"));
    assert!(
        refusal(&format!("{fsd}fsd=fsd3,anchor=/t/c,files=8\nfwd=fwd1,fsd=fsd1,operation=copy,target=fsd3\n{RD}"))
            .contains("differ")
    );
    assert!(refusal(&format!("{fsd}fwd=fwd1,fsd=fsd1,target=fsd2\n{RD}")).contains("has target= and operation=read"));
}

#[test]
fn what_vdbench_refuses_is_refused_in_a_sentence() {
    let fwd = "fwd=fwd1,fsd=fsd1";
    for (text, part) in [
        (format!("{FSD}fsd=fsd2,anchor=/t/a/b\n{fwd}\n{RD}"), "inside of the anchor of fsd=fsd1"),
        (format!("fsd=fsd1,files=5\n{fwd}\n{RD}"), "has no anchor="),
        (format!("fsd=fsd1,anchor=/t/a,host=h1\n{fwd}\n{RD}"), "`host` is not accepted"),
        (format!("fsd=fsd1,anchor=/t/a,cleanup=yes\n{fwd}\n{RD}"), "`cleanup` is not accepted"),
        (format!("fsd=fsd1,anchor=/t/a,dedupratio=2\n{fwd}\n{RD}"), "`dedupratio` is not accepted"),
        (format!("fsd=fsd1,anchor=/t/a,sizes=(4k,50,8k,40)\n{fwd}\n{RD}"), "add up to 90"),
        (format!("fsd=fsd1,anchor=/t/a,totalsize=50%\n{fwd}\n{RD}"), "is no percentage"),
        (format!("fsd=fsd1,anchor=/t/a,files=10000001\n{fwd}\n{RD}"), "more than 10 million"),
        (format!("fsd=fsd1,anchor=/t/a,depth=300,width=300\n{fwd}\n{RD}"), "make it smaller"),
        (format!("fsd=fsd1,anchor=/t/a,totalsize=41k\n{fwd}\n{RD}"), "totalsize=41984 is more than the 40960 bytes"),
        (format!("fsd=fsd1,anchor=/t/a,sizes=(4k,50,8k,50),wss=81k\n{fwd}\n{RD}"), "wss=82944 is more than"),
        (format!("fsd=fsd1,anchor=/t/a,totalsize=10k,wss=11k\n{fwd}\n{RD}"), "more than totalsize=10240"),
        (format!("{FSD}{fwd},rdpct=50\n{RD}"), "fileio=sequential"),
        (format!("{FSD}{fwd},fileio=(random,shared),fileselect=random\n{RD}"), "fileselect=random"),
        (format!("{FSD}fwd=read,fsd=fsd1\nrd=rd1,fwd=read,fwdrate=1\n"), "name of an operation"),
        (format!("{FSD}{fwd}\nrd=rd1,fwd=fwd1\n"), "has no fwdrate="),
        (format!("{FSD}{fwd}\nrd=rd1,fwd=fwd1,iorate=5\n"), "has no fwdrate="),
        (format!("{FSD}{fwd}\nrd=rd1,fwdrate=5\n"), "has no workload"),
        (format!("{FSD}{fwd}\nrd=rd1,fwd=fwd1,fwdrate=0\n"), "`fwdrate` is 0"),
        (format!("{FSD}{fwd}\nrd=default,format=yes\n{RD}"), "not allowed in rd=default"),
        (format!("{FSD}{fwd}\nrd=rd1,fwd=fwd1,fwdrate=5,format=limited\n"), "needs `only`"),
        (format!("{FSD}{fwd}\nrd=rd1,fwd=fwd1,fwdrate=5,format=(yes,once)\n"), "lists of values"),
        (format!("{FSD}{fwd}\nrd=rd1,fwd=fwd1,fwdrate=5,format=complete\n"), "nothing is to be made"),
        (format!("{FSD}{fwd}\nrd=rd1,fwd=fwd1,fwdrate=5,maxdata=5\n"), "maxdata="),
        (format!("{FSD}{fwd}\nrd=rd1,fwd=fwd1,fwdrate=5,operations=read,foroperations=write\n"), "exclude each other"),
        (format!("{FSD}{fwd},skew=50\n{RD}"), "must be 100"),
        (format!("{FSD}{fwd}\nrd=rd1,fwd=fwd1,fwdrate=5,totalsize=50%\n"), "which has none"),
        (format!("fsd=fsd1,anchor=/t/a,shared=yes\n{fwd}\nrd=rd1,fwd=fwd1,fwdrate=5,format=yes\n"), "shared=yes"),
        (format!("{FSD}fsd=fsd2,anchor=/t/a\nfwd=fwd1,fsd=fsd*\n{RD}"), "the same anchor"),
    ] {
        let found = refusal(&text);
        assert!(found.contains(part), "{text}: {found}");
    }
}

#[test]
fn fsd_of_a_run_takes_the_place_of_those_of_its_workloads() {
    let text = "fsd=fsd,anchor=/t/a,count=(1,3)\nfwd=default,operation=getattr,threads=2\nfwd=fwd1,fsd=fsd1,operation=write\n\
                rd=rd1,fsd=(fsd2,fsd3),fwd=fwd1,fwdrate=5\nrd=rd2,fsd=fsd3,fwdrate=max\n";
    let plan = plan_of(text);
    let trees = |run: &Run| load(run, 0).uses.iter().map(|one| one.tree).collect::<Vec<_>>();
    assert_eq!((trees(&plan.runs[0]), trees(&plan.runs[1])), (vec![1, 2], vec![2]));
    assert_eq!(plan.runs[1].workloads[0].name, "rd2");
    assert_eq!(load(&plan.runs[1], 0).task, TreeTask::One(plan::generate::OperationKind::Getattr));
}

/// Files found in public in their parameters, and some of our own: what Vdbench 5.04.06 makes of them with `-s`, directories,
/// files and bytes of each tree as it is first used, and the runs.
#[test]
fn runs_and_trees_are_those_of_vdbench() {
    let folder = format!("{}/../../fixtures/vdbench/files", env!("CARGO_MANIFEST_DIR"));
    let expected = std::fs::read_to_string(format!("{folder}/expected_runs")).expect("what Vdbench said");
    let mut all = String::new();
    for path in files() {
        let plan = plan_of(&std::fs::read_to_string(&path).expect("a parameter file"));
        assert!(plan.unsupported.is_empty(), "{}: {:?}", path.display(), plan.unsupported);
        let _ = writeln!(all, "== {}", path.file_name().and_then(|name| name.to_str()).unwrap_or_default());
        let mut trees: Vec<(usize, &plan::TreeSpec)> = plan.trees.iter().enumerate().collect();
        trees.sort_by_key(|(_, tree)| &tree.anchor);
        for (at, tree) in trees {
            let first = plan.runs.iter().flat_map(Run::tree_uses).find(|one| one.tree == at);
            if let Some(layout) = first.map(|one| tree::TreeLayout::new(&one.shape).expect("a tree")) {
                let (directories, files, bytes) = (layout.directories(), layout.files(), layout.total_bytes());
                let _ = writeln!(all, "{} {directories} {files} {bytes}", tree.anchor.display());
            }
        }
        simulate(&plan).iter().for_each(|line| {
            let _ = writeln!(all, "{line}");
        });
    }
    let different = all.lines().zip(expected.lines()).find(|(ours, theirs)| ours != theirs);
    assert_eq!(different, None);
    assert_eq!(all.lines().count(), expected.lines().count());
}

fn files() -> Vec<PathBuf> {
    let folder = format!("{}/../../fixtures/vdbench/files", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "parm"));
    paths.sort();
    assert!(paths.len() >= 24, "{}", paths.len());
    paths
}

/// What each workload of the same files does, in short.
#[test]
fn files_of_others_are_read() {
    let mut all = String::new();
    for path in files() {
        let plan = plan_of(&std::fs::read_to_string(&path).expect("a parameter file"));
        let _ = writeln!(all, "{}", path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default());
        for (run, line) in plan.runs.iter().zip(simulate(&plan)) {
            let _ = writeln!(all, "  {}", line.trim_start_matches("Simulating RD="));
            for workload in &run.workloads {
                let load = workload.load.tree().expect("a workload in trees");
                let share = (workload.share * 1000.0).round() / 10.0;
                let (trees, threads, name) = (load.uses.len(), load.threads, &workload.name);
                let flags = [(load.open.direct, "direct"), (load.open.sync, "sync"), (load.open.dsync, "dsync")];
                let flags: Vec<&str> = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| *word).collect();
                let _ = writeln!(
                    all,
                    "    {name}: {}, {share} %, {threads} threads on each of {trees}, {:?}, {:?}, {:?} {}",
                    task(&load.task),
                    load.select,
                    load.access,
                    load.transfer,
                    flags.join(" ")
                );
            }
        }
    }
    insta::assert_snapshot!("files_of_others", all);
}

fn task(task: &TreeTask) -> String {
    match task {
        TreeTask::One(kind) => kind.name().to_string(),
        TreeTask::Mixed { read } => format!("{} % read", read * 100.0),
        TreeTask::Flow(steps) => steps.iter().map(|step| step.op.name()).collect::<Vec<_>>().join(", "),
        TreeTask::Format(task) => format!(
            "format{}{}{}{}",
            if task.deletes { " deletes" } else { "" },
            if task.only_directories { " only directories" } else { "" },
            if task.only_deletes { " only deletes" } else { "" },
            if task.limited { " limited" } else { "" }
        ),
    }
}
