//! `summary.html` with every interval and `totals.html` with the averages, and what their pages have in common.

use super::facts::{Facts, Run};
use super::figures::Figures;
use super::file_figures::FileRun;
use super::file_lines;
use super::{date, escaped, time_of_day};
use quantity::loop_elements::vdbench_rate;
use recording::RecordingExit;
use std::fmt::Write as _;

/// Lines after which the heading comes again.
const REPEAT_HEADING: usize = 30;

/// `summary.html`.
pub(super) fn summary(facts: &Facts) -> String {
    let start = facts.manifest.started_wall_ns;
    let mut page = format!(
        "{}\nVdbench summary report, created {} {} UTC\n\n",
        escaped(&facts.manifest.program),
        &time_of_day(start)[..8],
        date(start)
    );
    for (what, file) in [
        ("Run totals:", "totals"),
        ("Vdbench status:", "status"),
        ("Link to flatfile:", "flatfile"),
        ("Link to response time histogram:", "histogram"),
    ] {
        let _ = writeln!(page, "{what:<32} <A HREF=\"{file}.html\">{file}</A>");
    }
    let _ = writeln!(
        page,
        "\n* {}: {}; {}: {}\n",
        if facts.files.is_some() { "FSDs" } else { "SDs" },
        escaped(&facts.targets.join(" ")),
        if facts.files.is_some() { "FWDs" } else { "WDs" },
        escaped(&facts.workloads.join(" "))
    );
    page.push_str(&run_links(facts));
    for run in &facts.runs {
        page.push_str(&heading(facts, run));
        for (number, line) in run.lines.iter().enumerate() {
            if number % REPEAT_HEADING == 0 {
                page.push_str(&columns(facts, line.t_ns));
            }
            let interval = (number + 1).to_string();
            page.push_str(&match facts.files_of(run) {
                Some(files) => file_lines::row(facts, line.t_ns, &interval, &line.figures, &files.line(line.t_ns)),
                None => row(facts, line.t_ns, &interval, &line.figures),
            });
        }
        page.push_str(&average(facts, run));
    }
    if let Some(exit) = &facts.manifest.exit {
        let end = facts.runs.last().map_or(start, |run| facts.manifest.wall_ns_at(run.end_ns));
        let words = if *exit == RecordingExit::Complete {
            "Vdbench execution completed successfully".to_string()
        } else {
            format!("Vdbench terminated: {}", escaped(exit.as_str()))
        };
        let _ = writeln!(page, "{} {words}", time_of_day(end));
    }
    page
}

/// `totals.html`.
pub(super) fn totals(facts: &Facts) -> String {
    let mut page = String::from("Run totals\n\n\n");
    page.push_str(&run_links(facts));
    for (number, run) in facts.runs.iter().enumerate() {
        page.push_str(&heading(facts, run));
        if number == 0 {
            page.push_str(&columns(facts, run.end_ns));
        } else {
            page.push('\n');
        }
        page.push_str(&average(facts, run));
    }
    page
}

/// Links to the runs of a page.
pub(super) fn run_links(facts: &Facts) -> String {
    let mut text = String::new();
    for (number, run) in facts.runs.iter().enumerate() {
        let label = if number == 0 { "Link to Run Definitions:" } else { "" };
        let _ = writeln!(
            text,
            "{label:<32} <A HREF=\"#{}\">{} For loops: {}</A>",
            run.anchor(),
            escaped(&run.name),
            escaped(&run.loops())
        );
    }
    text.push('\n');
    text
}

/// The line that a run begins with.
pub(super) fn heading(facts: &Facts, run: &Run) -> String {
    let at_full_speed = || {
        let controlled = if run.requested.controlled { "Controlled" } else { "Uncontrolled" };
        format!("{controlled} {}", if run.requested.curve { "curve" } else { "MAX" })
    };
    if facts.files.is_some() {
        return format!(
            "\n<a name=\"{}\"></a><i><b>{} {}</b></i>\n",
            run.anchor(),
            time_of_day(facts.manifest.wall_ns_at(run.start_ns)),
            file_lines::begin_words(run, &escaped(&run.name), &escaped(&run.loops()))
        );
    }
    let rate = run.offered.map_or_else(at_full_speed, vdbench_rate);
    let elapsed = run.requested.elapsed_s.map_or("(none)".to_string(), |seconds| format!("{seconds}"));
    let warmup =
        if run.requested.warmup_s > 0.0 { format!(" warmup={}", run.requested.warmup_s) } else { String::new() };
    format!(
        "\n<a name=\"{}\"></a><i><b>{} Starting RD={}; I/O rate: {rate}; elapsed={elapsed}{warmup}; For loops: {}</b></i>\n",
        run.anchor(),
        time_of_day(facts.manifest.wall_ns_at(run.start_ns)),
        escaped(&run.name),
        escaped(&run.loops())
    )
}

fn columns(facts: &Facts, t_ns: i64) -> String {
    if facts.files.is_some() {
        return file_lines::heading(facts, t_ns);
    }
    format!(
        "\n{:<12}  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%\n\
         {:<12}                 rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys\n",
        date(facts.manifest.wall_ns_at(t_ns)),
        ""
    )
}

fn average(facts: &Facts, run: &Run) -> String {
    match &run.average {
        Some((first, last, figures)) => {
            let remark = run.remark.as_ref().map_or(String::new(), |remark| format!("* {remark}\n"));
            let interval = format!("avg_{first}-{last}");
            let line = match facts.files_of(run).map(FileRun::average) {
                Some(files) => file_lines::row(facts, run.end_ns, &interval, figures, &files),
                None => row(facts, run.end_ns, &interval, figures),
            };
            line + &remark
        }
        None => String::new(),
    }
}

fn row(facts: &Facts, t_ns: i64, interval: &str, figures: &Figures) -> String {
    let times = figures.times();
    // What is not known is NaN, as Vdbench prints CPU figures that it does not have.
    let (max, deviation) = (times.max_ms().unwrap_or(f64::NAN), times.deviation_ms().unwrap_or(f64::NAN));
    let (used, kernel) = figures.cpu.map_or((f64::NAN, f64::NAN), |cpu| (cpu.used(), cpu.kernel));
    format!(
        "{}{interval:>10}{:>11.2}{:>9.2}{:>8.0}{:>7.2}{:>9.3}{:>9.3}{:>9.3}{max:>9.3}{deviation:>9.3}{:>6.1}{used:>6.1}{kernel:>6.1}\n",
        time_of_day(facts.manifest.wall_ns_at(t_ns)),
        figures.rate(),
        figures.mib_per_second(),
        figures.bytes_per_op(),
        figures.read_percent(),
        times.mean_ms(),
        figures.read.times.mean_ms(),
        figures.write.times.mean_ms(),
        figures.depth.unwrap_or(f64::NAN),
    )
}
