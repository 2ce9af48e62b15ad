//! `compare`: recordings side by side, on the terminal, as a page, as pictures.

use crate::support::Scratch;

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
fn twice_the_rate_is_shown_and_six_seconds_are_no_verdict() {
    let scratch = Scratch::new();
    let mut out = String::new();
    let ratio = || -> f64 {
        for (name, rate) in [("slow", 200), ("fast", 400)] {
            let _ = std::fs::remove_dir_all(scratch.path(name));
            load(&scratch, name, &format!("rd=rd1,wd=wd1,iorate={rate},elapsed=6,interval=1\n"));
        }
        let _ = std::fs::remove_file(scratch.path("page.html"));
        out = scratch.iodyno(&["compare", "slow", "fast", "-o", "page.html"]).run().unwrap().expect_code(0).stdout;
        let words: Vec<&str> = row(&out, "IOPS").split_whitespace().collect();
        // IOPS 200 op/s 400 op/s 2.00 ? not resolved, that would take 120 s
        words[words.iter().position(|word| *word == "?").unwrap() - 1].parse().unwrap()
    };
    // What a busy machine has still to do at the end of one is missing.
    testkit::until_enough(ratio, |ratio| (1.9..2.1).contains(ratio));
    assert!(row(&out, "IOPS").ends_with("? not resolved, that would take 120 s"), "{out}");
    assert!(row(&out, "bytes per operation").contains("1.00"), "{out}");
    // What arrives by a schedule is judged by its times; both are named.
    assert!(row(&out, "mean response *").contains('?'), "{out}");
    assert!(out.starts_with("rd1: whether fast differs from slow is not resolved"), "{out}");
    let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
    for view in ["compare.figures", "compare.iops", "compare.response_p99", "compare.percentiles", "compare.cpu"] {
        assert!(page.contains(&format!("\"id\":\"{view}\"")), "{view}");
    }
    assert_eq!(page.matches("\"id\":\"compare.heatmap\"").count(), 2, "a heat map of each");
    let same = scratch.iodyno(&["compare", "fast", "fast"]).run().unwrap().expect_code(0).stdout;
    assert!(!same.contains("Counters that changed most"), "nothing differs from itself: {same}");
    // A picture of it, and the command that makes it again.
    let chart = ["chart", "slow", "compare.iops", "--with", "fast", "-o", "iops.png"];
    let said = scratch.iodyno(&chart).run().unwrap().expect_code(0).stdout;
    assert!(said.contains("chart slow compare.iops --with fast -o iops.png"), "{said}");
    assert!(std::fs::read(scratch.path("iops.png")).unwrap().starts_with(b"\x89PNG"));
    let alone = scratch.iodyno(&["chart", "slow", "compare.iops"]).run().unwrap().expect_code(2);
    assert!(alone.stderr.contains("--with"), "{}", alone.stderr);
    let wrong = scratch.iodyno(&["compare", "slow", "fast", "--run", "nosuch"]).run().unwrap().expect_code(2);
    assert!(wrong.stderr.contains("no recording has a run `nosuch`; there are: rd1"), "{}", wrong.stderr);
}

#[test]
fn runs_are_paired_by_name_and_each_is_named() {
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
    assert!(out.starts_with("b against a: the only run that both have is not resolved (two)."), "{out}");
    assert!(out.contains("\ntwo: whether b differs from a is not resolved (2.00 s measured)"), "{out}");
    assert!(out.contains("\nOnly a has run one.\n") && out.contains("\nNo other recording has run three.\n"), "{out}");
    let table = &out[out.find("Runs side by side").unwrap()..];
    assert!(row(table, "one").contains('?') && row(table, "three").contains('?'), "{out}");
    assert!(row(table, "two").contains("not resolved"), "{out}");
    assert!(out.contains("b has no run one."), "{out}");
}

/// A day of a disk that moves so much in the busy half of it, minute by minute.
fn a_day(scratch: &Scratch, day: i64, bytes_per_s: i64) {
    use recording::rows::Disk;
    use recording::{ClockAnchor, Manifest, RowBatch, Sink as _, Writer};
    const SECOND: i64 = 1_000_000_000;
    let midnight = quantity::text::wall_ns_of((2026, 11, 1), (0, 0, 0)).unwrap() + day * 86_400 * SECOND;
    let mut manifest = Manifest::new(&["test".to_string()]);
    (manifest.started_t_ns, manifest.started_wall_ns) = (SECOND, midnight);
    manifest.clock_anchors = vec![ClockAnchor { t_ns: SECOND, wall_ns: midnight }];
    let mut writer = Writer::create(&scratch.path(&format!("days/{day:02}")), manifest).unwrap();
    let mut sectors = 0;
    let row = |minute: i64, device: &str, sectors: i64| Disk {
        t_ns: SECOND + minute * 60 * SECOND,
        t_s: minute as f64 * 60.0,
        device: device.to_string(),
        target: String::new(),
        read_ios: Some(sectors / 8),
        read_merges: Some(0),
        read_sectors: Some(sectors),
        read_ticks_ms: Some(sectors / 100),
        write_ios: Some(0),
        write_merges: Some(0),
        write_sectors: Some(0),
        write_ticks_ms: Some(0),
        in_flight: Some(0),
        io_ticks_ms: Some(sectors / 1000),
        weighted_ticks_ms: Some(sectors / 100),
        ..Disk::default()
    };
    let rows: Vec<Disk> = (0..1440)
        .flat_map(|minute| {
            // A burst every five minutes, so that a level depends on how long its steps are.
            let quarters = if minute % 5 == 0 { 8 } else { 3 };
            sectors += if minute < 720 { 15 * quarters * bytes_per_s / 512 } else { 60 };
            [row(minute, "sda", sectors), row(minute, "sdb", minute)]
        })
        .collect();
    writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
    writer.commit().unwrap();
    writer.seal_past().unwrap();
}

#[test]
fn a_trend_gives_the_date_of_a_limit_and_refuses_too_few_days() {
    let scratch = Scratch::new();
    // 100 MB/s on the first day, 2 MB/s more each day, give or take 1 %: 200 MB/s after 50 days, on 21 December.
    for day in 0..21 {
        a_day(&scratch, day, 100_000_000 + day * 2_000_000 + (day * 7 % 5 - 2) * 500_000);
    }
    let trend = |more: &[&str]| {
        let mut all = vec!["chart", "days", "disk.throughput", "--trend"];
        all.extend_from_slice(more);
        scratch.iodyno(&all).run().unwrap().expect_code(0).stdout
    };
    let text = trend(&["--limit", "180MB/s", "-o", "growth.png"]);
    for words in
        ["disk.throughput of sda: 21 days from 2026-11-01 to 2026-11-21", "reaches 180 MB/s (--limit) on 2026-12-1"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(std::fs::read(scratch.path("growth.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(text.contains("chart days disk.throughput --trend --limit 180MB/s -o growth.png"), "the command: {text}");
    let json: serde_json::Value = serde_json::from_str(&trend(&["--limit", "180MB/s", "--json"])).unwrap();
    let per_day = json["slope"]["per_day"].as_f64().unwrap();
    assert!((per_day - 2e6).abs() < 0.1e6, "{json:#}");
    assert!((json["reach"]["day"].as_f64().unwrap() - 40.0).abs() < 2.0, "{json:#}");
    // Old days are thinned, and say the same.
    for day in 0..11 {
        let (whole, thinned) = (scratch.path(&format!("days/{day:02}")), scratch.path("thinned"));
        recording::thin(&recording::Reader::open(&whole).unwrap(), &thinned, 300_000_000_000).unwrap();
        std::fs::remove_dir_all(&whole).unwrap();
        std::fs::rename(&thinned, &whole).unwrap();
    }
    let thinned: serde_json::Value = serde_json::from_str(&trend(&["--limit", "180MB/s", "--json"])).unwrap();
    assert_eq!((thinned["days"].clone(), &thinned["left_out"]), (json["days"].clone(), &serde_json::json!(0)));
    // Another disk, that hardly does anything; a single day.
    assert!(trend(&["--select", "sdb", "--limit", "1GB/s"]).contains("no date for 1.00 GB/s"));
    let one = ["chart", "days/00", "disk.throughput", "--trend", "--limit", "1GB/s"];
    let one = scratch.iodyno(&one).run().unwrap().expect_code(0).stdout;
    assert!(one.contains("1 day within 1 are too few"), "{one}");
    let wrong = ["chart", "days", "disk.speed", "--trend"];
    let wrong = scratch.iodyno(&wrong).run().unwrap().expect_code(2).stderr;
    assert!(wrong.contains("disk.throughput"), "{wrong}");
}

/// Six hours of an interface whose counter wraps at 32 bits and that was replaced at noon, ten seconds by ten.
fn a_wrapping_day(scratch: &Scratch, day: i64, bytes_per_s: i64) {
    use recording::rows::Net;
    use recording::{ClockAnchor, Manifest, RowBatch, Sink as _, Writer};
    const SECOND: i64 = 1_000_000_000;
    let start = quantity::text::wall_ns_of((2026, 11, 1), (9, 0, 0)).unwrap() + day * 86_400 * SECOND;
    let mut manifest = Manifest::new(&["test".to_string()]);
    (manifest.started_t_ns, manifest.started_wall_ns) = (SECOND, start);
    manifest.clock_anchors = vec![ClockAnchor { t_ns: SECOND, wall_ns: start }];
    let mut writer = Writer::create(&scratch.path(&format!("days/{day:02}")), manifest).unwrap();
    let row = |sample: i64| Net {
        t_ns: SECOND + sample * 10 * SECOND,
        t_s: sample as f64 * 10.0,
        interface: "eth0".to_string(),
        rx_bytes: (sample - if sample < 1080 { 0 } else { 1080 }) * 10 * bytes_per_s % (1 << 32),
        tx_bytes: sample,
        ..Net::default()
    };
    let rows: Vec<Net> = (0..2160).map(row).collect();
    writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
    writer.commit().unwrap();
    writer.seal_past().unwrap();
}

#[test]
fn a_trend_is_right_where_counters_wrap_and_are_reset_within_its_steps() {
    let scratch = Scratch::new();
    // 50 to 80 MB/s: every step of five minutes has some wraps.
    (0..16).for_each(|day| a_wrapping_day(&scratch, day, 50_000_000 + day * 2_000_000));
    let trend = ["chart", "days", "net.throughput", "--trend", "--json"];
    let json = scratch.iodyno(&trend).run().unwrap().expect_code(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let level = |day: usize| json["days"][day][1].as_f64().unwrap();
    assert!((level(0) - 50e6).abs() < 1.0 && (level(15) - 80e6).abs() < 1.0, "{json:#}");
    assert_eq!(json["left_out"], 0);
}

/// Two seconds of this machine.
fn watched(scratch: &Scratch) {
    let record = ["record", "-o", "r", "-i", "100ms", "--clock", "tick", "--for", "2s"];
    scratch.iodyno(&record).run().unwrap().expect_code(0);
}

#[test]
fn a_chart_of_some_devices_and_the_last_seconds() {
    let scratch = Scratch::new();
    watched(&scratch);
    let chart = |arguments: &[&str]| scratch.iodyno(&[&["chart", "r"], arguments].concat()).run().unwrap();
    let all = chart(&["run.cpu", "-o", "all.svg"]).expect_code(0);
    // A day has its times of day, and the zone that they are of.
    let picture = |name: &str| std::fs::read_to_string(scratch.path(name)).unwrap();
    assert!(picture("all.svg").contains(">UTC") && !picture("all.svg").contains(">elapsed<"), "{}", all.stdout);
    let last = ["run.cpu", "--select", "0", "--last", "1s", "-o", "last.svg"];
    let said = chart(&last).expect_code(0).stdout;
    assert!(said.contains("chart r run.cpu --select 0 --last 1s -o last.svg"), "{said}");
    assert!(picture("last.svg").contains("only 0") && picture("last.svg") != picture("all.svg"));
    chart(&["memory.use", "--from", "500ms", "--to", "1500ms", "-o", "m.svg"]).expect_code(0);
    for (arguments, why) in [
        (["run.cpu", "--select", "cpu7777", "-o", "no.svg"], "no CPU is called"),
        (["run.cpu", "--select", "(", "-o", "no.svg"], "must be a regular expression"),
        (["disk.response", "--select", "nosuch", "-o", "no.svg"], "nothing is called `nosuch`"),
        (["disk.response", "--target", "loop4", "-o", "no.svg"], "--select chooses among its devices"),
        (["run.cpu", "--workload", "wd1", "-o", "no.svg"], "--workload chooses nothing"),
        (["memory.use", "--select", "sd.*", "-o", "no.svg"], "nothing by name"),
        (["memory.use", "--from", "soon", "-o", "no.svg"], "a time of day (14:30)"),
        (["memory.use", "--from", "9h", "-o", "no.svg"], "nothing was recorded in the stretch"),
        (["recording.events", "--last", "1s", "-o", "no.svg"], "is not over time"),
        (["run.summary", "--run", "0", "-o", "no.svg"], "no run"),
    ] {
        let refused = chart(&arguments).expect_code(2);
        assert!(refused.stderr.contains(why), "{arguments:?}: {}", refused.stderr);
    }
    assert!(!scratch.path("no.svg").exists());
    // A recording without a run has no summary of one.
    let summary = chart(&["run.summary"]).expect_code(2);
    assert!(summary.stderr.contains("no run was recorded, only the machine's counters"), "{}", summary.stderr);
}

#[test]
fn many_charts_by_a_file_of_commands() {
    let scratch = Scratch::new();
    watched(&scratch);
    let one = ["chart", "r", "run.cpu", "--select", "cpu.", "--last", "1s", "--dark", "-o", "one.svg"];
    let said = scratch.iodyno(&one).run().unwrap().expect_code(0).stdout;
    let first = std::fs::read(scratch.path("one.svg")).unwrap();
    std::fs::remove_file(scratch.path("one.svg")).unwrap();
    let again = said.lines().last().unwrap();
    let batch = |text: &str| {
        std::fs::write(scratch.path("pictures.txt"), text).unwrap();
        scratch.iodyno(&["chart", "--batch", "pictures.txt"]).run().unwrap()
    };
    batch(&format!("# of the machine\n{again}\n\niodyno chart r memory.use -o 'two of it.png' # a remark\n"))
        .expect_code(0);
    assert_eq!(std::fs::read(scratch.path("one.svg")).unwrap(), first, "the command that was printed makes it again");
    assert!(std::fs::read(scratch.path("two of it.png")).unwrap().starts_with(b"\x89PNG"));
    // The first that fails is named by its line, and nothing after it is drawn.
    let text =
        "iodyno chart r run.cpu -o three.svg\niodyno chart r run.cpuu -o x.svg\niodyno chart r run.cpu -o four.svg\n";
    let failed = batch(text).expect_code(2);
    assert!(failed.stderr.contains("pictures.txt:2:") && failed.stderr.contains("run.cpu"), "{}", failed.stderr);
    assert!(scratch.path("three.svg").exists() && !scratch.path("four.svg").exists());
    for (wrong, why) in [
        ("iodyno chart r run.cpu --last", "--last"),
        ("iodyno chart r 'run.cpu", "not closed"),
        ("iodyno report r", "is no chart command"),
        ("iodyno chart --batch pictures.txt", "is no chart command"),
    ] {
        let failed = batch(wrong).expect_code(2);
        assert!(failed.stderr.contains("pictures.txt:1:") && failed.stderr.contains(why), "{wrong}: {}", failed.stderr);
    }
}
