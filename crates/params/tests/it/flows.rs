//! Flows and the operations that Vdbench does not have: what they mean, what is refused, and that they come back from print.

use crate::same::{first_difference, placeless};
use crate::support::mutate::Random;
use params::{Diagnostic, MemoryLoader, PlanReading, VdbenchOptions, print_vdbench, read_vdbench, render};
use plan::generate::OperationKind as Kind;
use plan::{FileOrder, FlowStep, Plan, StopAfter, SyncEvery, TransferSize, TreeLoad, TreeTask};
use proptest::prelude::*;
use std::path::PathBuf;

const FSD: &str = "fsd=fsd1,anchor=/t/a,depth=2,width=3,files=5\nfsd=fsd2,anchor=/t/b,depth=2,width=3,files=5\n";
const RD: &str = "rd=rd1,fwd=fwd*,fwdrate=max,elapsed=10\n";

/// Those that may stand in a flow, and those of them behind which a size may stand.
const IN_FLOW: &str = "create open close read write append readfile writefile mmapread mmapwrite fsync fdatasync \
    truncate fallocate punch delete getattr setattr access rename link symlink readlink readdir getxattr setxattr \
    listxattr removexattr tmpfile temp statfs flock copyrange reflink tail";
const SIZED: &str = "read write append readfile writefile mmapread mmapwrite truncate fallocate punch setxattr tail";
/// Those that Vdbench has.
const THEIRS: &str = "read write mkdir rmdir copy move create delete getattr setattr access open close";

fn read(text: &str) -> PlanReading {
    read_vdbench(&[PathBuf::from("job.vdb")], &VdbenchOptions::default(), &MemoryLoader::one("job.vdb", text))
}

fn plan_of(text: &str) -> Plan {
    let reading = read(text);
    let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
    reading.plan.unwrap_or_else(|| panic!("{text}\n{}", shown.join("\n\n")))
}

/// The first workload of a file with these parameters of `fwd=fwd1,fsd=fsd1`.
fn load(params: &str) -> TreeLoad {
    loads(&format!("{FSD}fwd=fwd1,fsd=fsd1{params}\n{RD}")).remove(0)
}

/// All workloads in trees, run by run.
fn loads(text: &str) -> Vec<TreeLoad> {
    let plan = plan_of(text);
    plan.runs.iter().flat_map(|run| &run.workloads).filter_map(|one| one.load.tree()).cloned().collect()
}

fn step(op: Kind) -> FlowStep {
    FlowStep { op, bytes: None, is_next: false }
}

/// The tasks as text: `create append:16384-16384 | delete`.
fn words(task: &TreeTask) -> String {
    let TreeTask::Flow(steps) = task else { return format!("{task:?}") };
    let word = |one: &FlowStep| {
        let size = one.bytes.map_or(String::new(), |(from, to)| format!(":{from}-{to}"));
        format!("{}{}{size}", if one.is_next { "| " } else { "" }, one.op.name())
    };
    steps.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Reads, prints, reads: nothing is unsaid, and the plans are equal. The printed text.
fn comes_back(text: &str) -> String {
    let plan = plan_of(text);
    let printed = print_vdbench(&plan);
    assert!(printed.unsaid.is_empty(), "{text}\n->\n{}\n{:?}", printed.text, printed.unsaid);
    let again = placeless(plan_of(&printed.text));
    let plan = placeless(plan);
    assert!(plan == again, "{text}\n->\n{}\n{}", printed.text, first_difference(&plan, &again));
    printed.text
}

#[test]
fn a_flow_is_its_operations_in_order() {
    for (flow, expect) in [
        ("append", "append"),
        ("(open,append:16k,fsync,close,next,delete)", "open append:16384-16384 fsync close | delete"),
        ("(create,append:4k-64k,close)", "create append:4096-65536 close"),
        ("(Create,WRITE:1,Next,READFILE:1M)", "create write:1-1 | readfile:1048576-1048576"),
        (
            "(truncate:0,fallocate:1g,punch:1.5k,setxattr:64)",
            "truncate:0-0 fallocate:1073741824-1073741824 punch:1536-1536 setxattr:64-64",
        ),
        ("(truncate:0-10m,truncate)", "truncate:0-10485760 truncate"),
        ("(delete,create,write,delete,create)", "delete create write delete create"),
        ("(open,delete,write,fsync,close,next,stat)", "open delete write fsync close | statfs"),
        ("(tmpfile,append,link,getattr)", "tmpfile append link getattr"),
        ("(temp,append,fsync,rename,open)", "temp append fsync rename open"),
        ("(copyrange,delete,getattr,delete,temp,setattr)", "copyrange delete getattr delete temp setattr"),
        // Vdbench's words may be short as if there were no others, ours where no other begins so.
        ("(re,wr,o,acc,readf,symlink,fs,fda)", "read write open access readfile symlink fsync fdatasync"),
        ("(create,\n  append:8k,\n  close)", "create append:8192-8192 close"),
    ] {
        assert_eq!(words(&load(&format!(",flow={flow}")).task), expect, "{flow}");
        comes_back(&format!("{FSD}fwd=fwd1,fsd=fsd1,flow={flow}\n{RD}"));
    }
    assert_eq!(load(",flow=(open,read,append,fsync),fileio=(random,shared)").access, FileOrder::RandomShared);
    let load = load(",flow=(create,append,close),xf=8k,th=3,filesel=random,fileio=random,openflags=o_direct,skew=100");
    assert_eq!((load.group(), load.threads, load.transfer), (3, 3, TransferSize::Fixed(8192)));
    assert!(load.open.direct && load.stop_after.is_none() && load.sync_every.is_none());
}

#[test]
fn each_operation_may_stand_alone() {
    for name in IN_FLOW.split_whitespace() {
        let kind = Kind::of_name(name).expect("an operation");
        let is_theirs = THEIRS.split_whitespace().any(|word| word == name);
        let one = match kind {
            Kind::Rename => TreeTask::Flow(vec![step(kind), step(kind)]),
            _ if is_theirs => TreeTask::One(kind),
            _ => TreeTask::Flow(vec![step(kind)]),
        };
        assert_eq!(load(&format!(",operation={name}")).task, one, "{name}");
        assert_eq!(load(&format!(",flow={name}")).task, TreeTask::Flow(vec![step(kind)]), "{name}");
        comes_back(&format!("{FSD}fwd=fwd1,fsd=fsd1,operation={name}\n{RD}"));
        let sized = format!("{FSD}fwd=fwd1,fsd=fsd1,flow=({name}:4k)\n{RD}");
        match SIZED.split_whitespace().any(|word| word == name) {
            true => drop(comes_back(&sized)),
            false => assert!(refusal(&sized).0.contains("takes no size"), "{name}"),
        }
        let other = if name == "open" { "close" } else { "open" };
        // As one of several of a run, and one behind the other.
        let run = |word: &str| {
            format!("{FSD}fwd=fwd1,fsd=fsd1,threads=2\nrd=rd1,fwd=fwd1,fwdrate=5,{word}=({name},{other})\n")
        };
        let of_run = loads(&run("operations"));
        assert_eq!((of_run.len(), &of_run[0].task, of_run[0].threads), (2, &one, 1), "{name}");
        let of_loop = loads(&run("foroperations"));
        assert_eq!((of_loop.len(), &of_loop[0].task), (2, &one), "{name}");
        comes_back(&run("operations"));
        comes_back(&run("foroperations"));
    }
    let plan = plan_of(&format!("{FSD}fwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1,fwdrate=5,operations=(rename,append)\n"));
    let names: Vec<&str> = plan.runs[0].workloads.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["fwd1_rename", "fwd1_append"]);
}

#[test]
fn what_a_definition_says_takes_the_place_of_the_default() {
    let of = |default: &str, own: &str| {
        let default = format!("{FSD}fwd=default,fsd=fsd1,{default}\n");
        loads(&format!("{default}fwd=fwd1,{own}\nrd=rd1,fwd=fwd1,fwdrate=max\n")).remove(0)
    };
    assert_eq!(words(&of("flow=(create,close),xfersize=8k", "threads=2").task), "create close");
    assert_eq!(of("flow=(create,close)", "operation=getattr").task, TreeTask::One(Kind::Getattr));
    assert_eq!(of("flow=(create,close)", "rdpct=50,fileio=random").task, TreeTask::Mixed { read: 0.5 });
    assert_eq!(words(&of("flow=(create,close)", "operation=append").task), "append");
    assert_eq!(words(&of("operation=append", "flow=delete").task), "delete");
    let flow = of("rdpct=50,fileio=random,stopafter=5,fsync=7", "flow=(open,read)");
    assert_eq!(
        (words(&flow.task).as_str(), flow.stop_after, flow.sync_every),
        ("open read", None, Some(SyncEvery { writes: 7, data_only: false }))
    );
    assert_eq!(words(&of("rdpct=50,fileio=random", "operation=append").task), "append");
    assert_eq!(of("operation=append", "rdpct=50,fileio=random").task, TreeTask::Mixed { read: 0.5 });
    // To Vdbench rdpct= wins over its operations.
    assert_eq!(of("rdpct=50,fileio=random", "operation=getattr").task, TreeTask::Mixed { read: 0.5 });
    let write = of("stopafter=5,fsync=7", "operation=write");
    assert_eq!(write.stop_after, Some(StopAfter::Transfers(5)));
    assert_eq!(write.sync_every, Some(SyncEvery { writes: 7, data_only: false }));
    assert_eq!(of("fsync=7", "fdatasync=9").sync_every, Some(SyncEvery { writes: 9, data_only: true }));
    // A run of fwd=default alone.
    let alone = loads(&format!("{FSD}fwd=default,flow=(create,close)\nrd=rd1,fsd=fsd1,fwdrate=max\n"));
    assert_eq!(words(&alone[0].task), "create close");
}

#[test]
fn writes_are_made_durable_after_so_many() {
    let text = format!(
        "{FSD}fwd=fwd1,fsd=fsd1,operation=write,fsync=1k\nfwd=fwd2,fsd=fsd1,rdpct=20,fileio=random,fdatasync=3\n\
         fwd=fwd3,fsd=fsd1,flow=(open,append,append,close),fsync=2\n{RD}"
    );
    let syncs: Vec<Option<SyncEvery>> = loads(&text).iter().map(|load| load.sync_every).collect();
    let sync = |writes, data_only| Some(SyncEvery { writes, data_only });
    assert_eq!(syncs, [sync(1024, false), sync(3, true), sync(2, false)]);
    let printed = comes_back(&text);
    assert!(printed.contains(",fsync=1k") || printed.contains(",fsync=1024"), "{printed}");
    assert!(printed.contains(",fdatasync=3"), "{printed}");
    let reading = read(&format!("{FSD}fwd=fwd1,fsd=fsd1,operation=getattr,fsync=5\n{RD}"));
    let said: Vec<&str> = reading.diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert!(reading.plan.is_some() && said.iter().any(|said| said.contains("writes nothing that fsync=")), "{said:?}");
}

/// Message, help and what is marked in the text of the first error; there is no plan.
fn refusal(text: &str) -> (String, String, String) {
    let reading = read(text);
    assert!(reading.plan.is_none(), "{text}");
    let Diagnostic { message, help, span, .. } = reading.diagnostics.first().expect("a finding").clone();
    let (start, end) = (span.start as usize, span.start as usize + span.len as usize);
    let marked = reading.sources[span.source as usize].text.get(start..end).unwrap_or_default();
    let shown = render(&reading.diagnostics[0], &reading.sources);
    let line = text[..start].matches('\n').count() + 1;
    assert!(shown.contains(&format!("job.vdb:{line}:")), "{shown}");
    (message, help.unwrap_or_default(), marked.to_string())
}

#[test]
fn what_cannot_stand_in_a_flow_is_named_with_its_place() {
    for (params, message, help, marked) in [
        ("flow=(open,mkdir)", "`flow` cannot have `mkdir`", "an fwd= of their own", "mkdir"),
        ("flow=(open,copy:4k)", "`flow` cannot have `copy`", "operation=", "copy"),
        ("flow=rmdir", "`flow` cannot have `rmdir`", "operation=", "rmdir"),
        ("flow=(move)", "`flow` cannot have `move`", "operation=", "move"),
        ("flow=(next,open)", "`flow` begins with `next`", "take it out", "next"),
        ("flow=(open,next)", "`flow` ends with `next`", "take it out", "next"),
        ("flow=next", "`flow` begins with `next`", "take it out", "next"),
        ("flow=(open,next,next,close)", "`next` twice", "take it out", "next"),
        ("flow=(open,next:4k,close)", "`next` takes no size", "no operation", "next"),
        ("flow=(open,ne,close)", "`flow` does not know `ne`", "write the word out", "ne"),
        ("flow=(open,apend:4k)", "`flow` does not know `apend`", "did you mean `append`?", "apend"),
        ("flow=(open,trim)", "`flow` does not know `trim`", "did you mean", "trim"),
        ("flow=(open,zzzzzz)", "`flow` does not know `zzzzzz`", "one of: read, write, create", "zzzzzz"),
        ("flow=(open,flush)", "`flow` does not know `flush`", "", "flush"),
        ("flow=(fsync:4k)", "`fsync` takes no size", "write fsync; a size may stand behind", "4k"),
        ("flow=(create:4k,close)", "`create` takes no size", "truncate", "4k"),
        ("flow=(append:64k-4k)", "the sizes of `append` go from 64k to 4k", "append:4k-64k", "64k-4k"),
        ("flow=(append:0)", "`append:` is 0", "allowed: 1 to", "0"),
        ("flow=(append:0-4k)", "`append:` is 0", "allowed: 1 to", "0-4k"),
        ("flow=(fallocate:0)", "`fallocate:` is 0", "allowed: 1", "0"),
        ("flow=(append:2g)", "`append:` is 2147483648", "allowed: 1 to 1073741824", "2g"),
        ("flow=(setxattr:65k)", "`setxattr:` is 66560", "allowed: 1 to 65536", "65k"),
        ("flow=(append:)", "`append:` wants a size, found ``", "append:4k-64k", "append:"),
        ("flow=(append:x)", "`append:` wants a size, found `x`", "append:4k-64k", "x"),
        ("flow=(append:4k-)", "`append:` wants a size, found `4k-`", "append:4k-64k", "4k-"),
        ("flow=(append:50%)", "without %", "", "50%"),
        ("flow=(append:1.0001)", "must be a whole number", "", "1.0001"),
        ("flow=(open,write,create)", "`create` of a file that exists", "`next` before it", "create"),
        ("flow=(create,close,create)", "`create` of a file that exists", "`delete`", "create"),
        ("flow=(open,close,delete,write)", "`write` of a file that the flow has deleted", "`next` before it", "write"),
        ("flow=(delete,getattr,next,open)", "`getattr` of a file that the flow has deleted", "`create`", "getattr"),
        ("flow=(delete,delete)", "`delete` of a file that the flow has deleted", "`next` before it", "delete"),
        ("operation=append:4k", "`operation` takes no size behind `append`", "write flow=append:4k", "append:4k"),
        ("operation=apend", "`operation` does not know `apend`", "did you mean `append`?", "apend"),
        ("flow=(open,close),operation=read", "has flow= and operation=", "stand in it", "read"),
        ("operation=append,flow=(open,close)", "has flow= and operation=", "stand in it", "append"),
        ("flow=(open,close),rdpct=50,fileio=random", "has flow= and rdpct=", "take rdpct= out", "50"),
        ("operation=append,rdpct=50,fileio=random", "has operation=append and rdpct=", "take rdpct= out", "50"),
        ("flow=(open,close),stopafter=5", "has flow= and stopafter=", "at `next`", "5"),
        ("operation=append,stopafter=5", "has operation=append and stopafter=", "at `next`", "5"),
        ("flow=(open,close),target=fsd2", "has target= and flow=", "operation=copy", "fsd2"),
        ("flow=(open,truncate),fileio=(random,shared)", "has fileio=(random,shared) and flow=", "", "(random,shared)"),
        ("flow=(open,write),fileio=(seq,delete)", "has fileio=(sequential,delete) and flow=", "", "(seq,delete)"),
        ("fsync=0", "`fsync` is 0", "allowed: 1 or more", "0"),
        ("operation=write,fsync=1,fdatasync=2", "says twice", "keep one", "fdatasync"),
    ] {
        let text = format!("{FSD}fwd=fwd1,fsd=fsd1,{params}\n{RD}");
        let found = refusal(&text);
        assert!(found.0.contains(message) && found.1.contains(help), "{params}: {found:?}");
        assert_eq!(found.2, marked, "{params}");
    }
    let many = format!("{FSD}fwd=fwd1,fsd=fsd1,flow=({})\n{RD}", vec!["read"; 257].join(","));
    assert!(refusal(&many).0.contains("257 operations"));
}

#[test]
fn what_a_run_says_must_suit_its_flows() {
    for (work, run, message) in [
        ("flow=(open,close)", "operations=read", "has operations=, and fwd=fwd1 has flow="),
        ("flow=(open,close)", "foroperations=(read,write)", "has foroperations=, and fwd=fwd1 has flow="),
        ("flow=(open,close)", "forrdpct=(0,50)", "by rdpct=, and fwd=fwd1 has flow="),
        ("operation=append", "forrdpct=(0,50)", "by rdpct=, and fwd=fwd1 has operation=append"),
        ("operation=read", "operations=append,forrdpct=50", "by rdpct=, and fwd=fwd1 has operation=append"),
        ("rdpct=50,fileio=random", "foroperations=append", "by rdpct=, and fwd=fwd1 has operation=append"),
        ("rdpct=50,fileio=random", "operations=append", "has operations=, and fwd=fwd1 has rdpct="),
        ("fileio=(seq,delete)", "operations=(write,append)", "fileio=(sequential,delete) and operation=append"),
    ] {
        let text = format!("{FSD}fwd=fwd1,fsd=fsd1,{work}\nrd=rd1,fwd=fwd1,fwdrate=5,{run}\n");
        let found = refusal(&text).0;
        assert!(found.contains(message), "{work}, {run}: {found}");
    }
    // What takes the place of an operation is all that counts.
    let tasks = loads(&format!("{FSD}fwd=fwd1,fsd=fsd1,operation=append\nrd=rd1,fwd=fwd1,fwdrate=5,operations=read\n"));
    assert_eq!(tasks[0].task, TreeTask::One(Kind::Read));
}

#[test]
fn new_words_leave_those_of_vdbench_as_they_were() {
    // Each beginning that meant one of Vdbench's operations still means it.
    let theirs: Vec<&str> = THEIRS.split_whitespace().collect();
    for name in &theirs {
        for end in 1..=name.len() {
            let short = &name[..end];
            let meant: Vec<&&str> = theirs.iter().filter(|word| word.starts_with(short)).collect();
            if let [only] = meant[..]
                && !["copy", "move"].contains(only)
            {
                let kind = Kind::of_name(only).expect("an operation");
                assert_eq!(load(&format!(",operation={short}")).task, TreeTask::One(kind), "{short}");
            }
        }
    }
    // A workload may have the name of one of ours, not of one of Vdbench's.
    assert_eq!(
        words(&loads(&format!("{FSD}fwd=append,fsd=fsd1,flow=tail\nrd=rd1,fwd=append,fwdrate=5\n"))[0].task),
        "tail"
    );
    assert!(
        refusal(&format!("{FSD}fwd=read,fsd=fsd1\nrd=rd1,fwd=read,fwdrate=1\n")).0.contains("name of an operation")
    );
}

#[test]
fn flows_are_printed_as_they_are_written() {
    let text = "fsd=fsd1,anchor=/t/a,depth=2,width=3,files=5,sizes=16k\n\
        fwd=fwd1,fsd=fsd1,flow=(create,append:4k-64k,fsync,close,next,open,readfile:1m,close,next,delete),fileselect=random,threads=8\n\
        fwd=fwd2,fsd=fsd1,operation=rename\nrd=rd1,fwd=fwd*,fwdrate=(100,max),format=yes,forxfersize=(4k,8k)\n";
    let printed = comes_back(text);
    assert!(
        printed.contains("flow=(create,append:4k-64k,fsync,close,next,open,readfile:1m,close,next,delete)"),
        "{printed}"
    );
    assert!(printed.contains("flow=(rename,rename)"), "{printed}");
}

/// A part of a flow: the word as it is written, and whether it is `next`.
fn part(random: &mut Random) -> String {
    const SIZES: [&str; 8] = ["", "", "", "", ":4k", ":1-64k", ":1m", ":0-4k"];
    let names: Vec<&str> = IN_FLOW.split_whitespace().collect();
    match random.next() % 6 {
        0 => "next".to_string(),
        // Not often what cannot be.
        _ => {
            let name = names[usize::try_from(random.next()).unwrap_or(0) % names.len()];
            let is_sized = SIZED.split_whitespace().any(|word| word == name) || random.next().is_multiple_of(20);
            let size = SIZES[usize::try_from(random.next()).unwrap_or(0) % SIZES.len()];
            format!("{name}{}", if is_sized { size } else { "" })
        }
    }
}

/// Is there a reason to refuse these, of the kinds that this test knows?
fn may_be_refused(parts: &[String]) -> bool {
    let name = |part: &String| part.split(':').next().unwrap_or_default().to_string();
    let names: Vec<String> = parts.iter().map(name).collect();
    let is_next = |at: usize| names.get(at).is_some_and(|name| name == "next");
    let has_bad_next =
        is_next(0) || is_next(names.len() - 1) || (1..names.len()).any(|at| is_next(at) && is_next(at - 1));
    let has_bad_size = parts.iter().any(|part| {
        let (name, size) = part.split_once(':').unwrap_or((part, ""));
        !size.is_empty()
            && (!SIZED.split_whitespace().any(|word| word == name)
                || (size.starts_with("0-") && name != "truncate")
                || (size == "1m" && name == "setxattr"))
    });
    let has_bad_order = names.split(|name| name == "next").any(|names| {
        let deleted = names.iter().position(|name| name == "delete");
        names.iter().skip(1).any(|name| name == "create") || deleted.is_some_and(|at| at + 1 < names.len())
    });
    has_bad_next || has_bad_size || has_bad_order
}

#[test]
fn random_flows_are_read_as_they_stand_or_refused_with_a_reason() {
    let (mut plans, mut refused) = (0, 0);
    for seed in 0..3000 {
        let mut random = Random(seed);
        let count = 1 + random.next() % 9;
        let parts: Vec<String> = (0..count).map(|_| part(&mut random)).collect();
        let text = format!("{FSD}fwd=fwd1,fsd=fsd1,flow=({})\n{RD}", parts.join(","));
        if read(&text).plan.is_none() {
            assert!(may_be_refused(&parts), "{text}");
            let _ = refusal(&text);
            refused += 1;
            continue;
        }
        plans += 1;
        let printed = comes_back(&text);
        let flow = if parts.len() == 1 { parts[0].clone() } else { format!("({})", parts.join(",")) };
        assert!(printed.contains(&format!(",flow={flow},")), "{text}\n->\n{printed}");
    }
    assert!(plans > 800 && refused > 800, "{plans} plans, {refused} refused");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_flows_never_panic(flow in "[(]?[a-z0-9:,.%\"=é-]{0,40}[)]?", choice: u64) {
        let text = format!("{FSD}fwd=fwd1,fsd=fsd1,flow={flow}\n{RD}");
        crate::support::check::check(text.as_bytes(), choice);
    }

    #[test]
    fn flows_of_random_words_never_panic(words in proptest::collection::vec("(append|next|temp|tail|create|delete|open|[a-z]{1,4})(:[0-9]{0,20}[kmgt%.-]{0,2}[0-9]{0,3}k?)?", 1..9), choice: u64) {
        let text = format!("{FSD}fwd=fwd1,fsd=fsd1,flow=({})\n{RD}", words.join(","));
        crate::support::check::check(text.as_bytes(), choice);
    }
}
