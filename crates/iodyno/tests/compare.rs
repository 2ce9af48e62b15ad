//! `compare`: recordings side by side, on the terminal, as a page, as pictures.
#![allow(clippy::unwrap_used, clippy::allow_attributes, clippy::print_stdout, reason = "helpers of tests")]

mod support;

use support::Scratch;

fn load(scratch: &Scratch, name: &str, runs: &str) {
    let text = format!(
        "sd=sd1,lun={},size=8m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\n{runs}",
        scratch.path(name).with_extension("dat").display()
    );
    scratch.run(name, &text, &[]).expect_code(0);
}

/// The line of a table that begins with this.
fn row<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no line {name} in\n{text}"))
}

#[test]
fn twice_the_rate_is_told_with_its_interval_and_the_same_is_noise() {
    let scratch = Scratch::new();
    load(&scratch, "slow", "rd=rd1,wd=wd1,iorate=200,elapsed=6,interval=1\n");
    load(&scratch, "fast", "rd=rd1,wd=wd1,iorate=400,elapsed=6,interval=1\n");
    let out = scratch.iodyno(&["compare", "slow", "fast", "-o", "page.html"]).run().unwrap().expect_code(0).stdout;
    let words: Vec<&str> = row(&out, "IOPS").split_whitespace().collect();
    // IOPS 200 op/s 400 op/s 2.00 1.97 – 2.03 2.00 times
    let dash = words.iter().position(|word| *word == "–").unwrap();
    let at = |place: usize| -> f64 { words[place].parse().unwrap() };
    let (ratio, low, high) = (at(dash - 2), at(dash - 1), at(dash + 1));
    assert!((1.9..2.1).contains(&ratio) && low <= ratio && ratio <= high && low > 1.5 && high < 2.7, "{out}");
    assert!(!row(&out, "IOPS").contains("noise"), "{out}");
    assert!(row(&out, "bytes per operation").contains("1.00"), "{out}");
    let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
    for view in ["compare.figures", "compare.iops", "compare.response_p99", "compare.percentiles", "compare.cpu"] {
        assert!(page.contains(&format!("\"id\":\"{view}\"")), "{view}");
    }
    assert_eq!(page.matches("\"id\":\"compare.heatmap\"").count(), 2, "a heat map of each");
    let same = scratch.iodyno(&["compare", "fast", "fast"]).run().unwrap().expect_code(0).stdout;
    assert!(row(&same, "IOPS").ends_with("within the noise"), "{same}");
    assert!(!same.contains("Counters that changed most"), "nothing differs from itself: {same}");
    // A picture of it, and the command that makes it again.
    let chart = ["chart", "slow", "compare.iops", "--with", "fast", "-o", "iops.png"];
    let said = scratch.iodyno(&chart).run().unwrap().expect_code(0).stdout;
    assert!(said.contains("chart slow compare.iops --with fast -o iops.png"), "{said}");
    assert!(std::fs::read(scratch.path("iops.png")).unwrap().starts_with(b"\x89PNG"));
    let alone = scratch.iodyno(&["chart", "slow", "compare.iops"]).run().unwrap().expect_code(2);
    assert!(alone.stderr.contains("--with"), "{}", alone.stderr);
    let wrong = scratch.iodyno(&["compare", "slow", "fast", "--run", "nosuch"]).run().unwrap().expect_code(2);
    assert!(wrong.stderr.contains("nosuch"), "{}", wrong.stderr);
}

#[test]
fn runs_are_paired_by_name() {
    let scratch = Scratch::new();
    load(
        &scratch,
        "a",
        "rd=one,wd=wd1,iorate=100,elapsed=2,interval=1\nrd=two,wd=wd1,iorate=200,elapsed=2,interval=1\n",
    );
    load(
        &scratch,
        "b",
        "rd=two,wd=wd1,iorate=300,elapsed=2,interval=1\nrd=three,wd=wd1,iorate=50,elapsed=2,interval=1\n",
    );
    let out = scratch.iodyno(&["compare", "a", "b", "-o", "page.html"]).run().unwrap().expect_code(0).stdout;
    assert!(row(&out, "two").contains("% more"), "{out}");
    assert!(row(&out, "one").contains('?') && row(&out, "three").contains('?'), "{out}");
    // Two seconds tell nothing of the spread, and it is said.
    assert!(row(&out, "two").contains("too short to be sure"), "{out}");
    assert!(out.contains("b has no run one."), "{out}");
}
