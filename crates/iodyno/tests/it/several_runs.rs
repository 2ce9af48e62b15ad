//! A recording of several runs, one of which only filled the target: which run is drawn, how many there were, and what
//! is said about objectives.

use crate::support::Scratch;

/// Two measured runs; the new file is filled before, which is a run of its own.
fn plan(scratch: &Scratch, fail_if: &str) -> String {
    format!(
        "sd=sd1,lun={},size=4m\nwd=wd1,sd=sd1,rdpct=0,xfersize=4k\n\
         rd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1,fail_if=\"errors > 0\"\n\
         rd=rd2,wd=wd1,iorate=200,elapsed=2,interval=1,fail_if=\"{fail_if}\"\n",
        scratch.path("data").display()
    )
}

#[test]
fn first_and_last_are_those_that_measured() {
    let scratch = Scratch::new();
    let file = scratch.write("a.vdb", &plan(&scratch, "errors > 0"));
    let ran = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out"]).run().unwrap().expect_code(0);
    assert!(ran.stdout.contains("objectives: all 2 met"), "a table of objectives that are all met: {}", ran.stdout);

    let title = |run: &str| {
        scratch
            .iodyno(&["chart", "out", "run.iops", "--run", run, "-o", "a.svg", "--force"])
            .run()
            .unwrap()
            .expect_code(0);
        let page = std::fs::read_to_string(scratch.path("a.svg")).unwrap();
        let found: Vec<&str> = ["rd1", "rd2"].into_iter().filter(|title| page.contains(*title)).collect();
        found.join(" ")
    };
    assert_eq!(["first", "last", "rd2", "1"].map(title), ["rd1", "rd2", "rd2", "rd1"]);
    let unknown = scratch.iodyno(&["chart", "out", "run.iops", "--run", "rd3", "-o", "b.svg"]).run().unwrap();
    assert_ne!(unknown.code, Some(0));
    assert!(unknown.stderr.contains("no run `rd3`; it has format, rd1, rd2"), "{}", unknown.stderr);

    // Every number of runs is of the same runs, or says of which.
    let report = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
    assert!(report.contains("2 measured runs on sd1"), "the sentence");
    assert!(report.contains("Measured runs") && report.contains("beside 1 run that filled"), "the figure");
}

#[test]
fn objectives_are_listed_when_one_was_missed() {
    let scratch = Scratch::new();
    let file = scratch.write("a.vdb", &plan(&scratch, "achieved > 10/s"));
    let ran = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out"]).run().unwrap().expect_code(5);
    let after = ran.stdout.split("\nobjectives\n").nth(1).expect("a table of objectives");
    assert!(after.contains("missed") && after.contains("met") && after.contains("rd2"), "{after}");
}

#[test]
fn nothing_is_lost_between_two_runs() {
    let scratch = Scratch::new();
    let text = plan(&scratch, "errors > 0").replace("rd=rd1,", "rd=rd1,pause=5,");
    let file = scratch.write("a.vdb", &text);
    scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out", "--no-report"]).run().unwrap().expect_code(0);
    let judged = scratch.iodyno(&["diagnose", "out"]).run().unwrap();
    assert!(judged.stdout.contains(" of out") && !judged.stdout.contains("samples lost"), "{}", judged.stdout);
}
