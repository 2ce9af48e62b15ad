//! A recording becomes a report, and every number in the summary is the recording's.

use quantity::histogram::Histogram;
use recording::{LoadPhase, Reader, rows};
use report::{PictureSize, Theme};
use view::{Body, Cells, Selection, Tone, Unit};

fn reader(make: fn(&std::path::Path)) -> (tempfile::TempDir, Reader) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.iodyno");
    make(&path);
    let reader = Reader::open(&path).unwrap();
    (directory, reader)
}

/// Totals of the measured phase, straight from the table.
fn expected(reader: &Reader, run_index: i32, op: Option<&str>) -> (i64, i64, i64, Histogram, Histogram) {
    let (mut response, mut service) = (Histogram::default(), Histogram::default());
    let (mut ops, mut bytes, mut errors) = (0, 0, 0);
    for row in reader.table::<rows::RunTotal>().unwrap() {
        if row.run_index == run_index && row.phase == LoadPhase::Measure && op.is_none_or(|op| op == row.op) {
            ops += row.ops;
            bytes += row.bytes;
            errors += row.errors.unwrap();
            response.merge(&row.response);
            service.merge(&row.service);
        }
    }
    (ops, bytes, errors, response, service)
}

#[test]
fn every_number_of_the_summary_is_the_recordings() {
    let (_directory, reader) = reader(crate::sample::single);
    let model = views::report_model(&reader).unwrap();
    let (ops, bytes, errors, response, service) = expected(&reader, 0, None);
    let summary = &model.runs[0].summary;
    assert_eq!((summary.ops, summary.bytes, summary.errors), (ops as f64, bytes as f64, Some(errors as f64)));
    assert_eq!(summary.measured_s, 60.0);
    assert_eq!(summary.iops, Some(ops as f64 / 60.0));
    for (fold, histogram) in [(summary.response, &response), (summary.service, &service)] {
        let at = |quantile| histogram.percentile(quantile).map(|ns| ns as f64);
        assert_eq!([fold.p50, fold.p90, fold.p99, fold.p999], [at(0.5), at(0.9), at(0.99), at(0.999)]);
        assert_eq!(
            (fold.mean, fold.min, fold.max),
            (histogram.mean(), histogram.min().map(|ns| ns as f64), histogram.max().map(|ns| ns as f64))
        );
    }
    // The intervals of the measured phase add up to the same.
    let from_intervals: i64 = reader
        .table::<rows::OpInterval>()
        .unwrap()
        .iter()
        .filter(|row| row.phase == LoadPhase::Measure)
        .map(|row| row.ops)
        .sum();
    assert_eq!(from_intervals, ops);
    let table = model.runs[0].views.iter().find(|view| view.id == "run.operations").unwrap();
    let Body::Table(table) = &table.body else { panic!("a table") };
    let column = |group: &str, name: &str| {
        let found = table.columns.iter().find(|column| column.name == name && column.group == group).unwrap();
        let Cells::Numbers(values) = &found.cells else { panic!("numbers") };
        values.0.clone()
    };
    let each = [Some("read"), Some("write"), None].map(|op| expected(&reader, 0, op));
    assert_eq!(column("", "operations"), each.each_ref().map(|sum| sum.0 as f64));
    assert_eq!(column("response time", "p99"), each.each_ref().map(|sum| sum.3.percentile(0.99).unwrap() as f64));
    assert_eq!(column("service time", "max"), each.each_ref().map(|sum| sum.4.max().unwrap() as f64));
    let page = report::html(&model).unwrap();
    for number in [
        Unit::Operations.format(Some(ops as f64)),
        Unit::Nanoseconds.format(response.percentile(0.99).map(|ns| ns as f64)),
    ] {
        assert!(page.contains(&number), "{number}");
    }
}

#[test]
fn the_longest_stall_is_named_with_its_time() {
    let (_directory, reader) = reader(crate::sample::single);
    let model = views::report_model(&reader).unwrap();
    let stall = model.runs[0].summary.longest_stall.as_ref().unwrap();
    // Seconds 31 and 32 of the run; the run's clock starts with its first phase.
    assert!((stall.from_s - 31.0).abs() < 0.01 && (stall.to_s - 33.0).abs() < 0.01, "{stall:?}");
    assert_eq!(model.runs[0].summary.stalled_intervals, 2);
    assert!(
        model.warnings.iter().any(|warning| warning.text.contains("Nothing completed for 2.00 s")),
        "{:?}",
        model.warnings
    );
    let targets = views::compute(&reader, "run.targets", &Selection::default()).unwrap();
    let Body::Table(table) = targets.body else { panic!("a table") };
    let column = table.columns.iter().find(|column| column.name == "longest stall").unwrap();
    assert_eq!((column.cell(0), column.cell(1)), ("2.00 s".to_string(), "2.00 s".to_string()));
}

#[test]
fn the_page_is_one_file_and_nothing_in_the_data_ends_the_script() {
    let (_directory, reader) = reader(crate::sample::single);
    let page = report::report(&reader).unwrap();
    assert_eq!(page.matches("</script>").count(), 2, "the model and the script");
    assert!(!page.contains("<b>not markup</b>"));
    for reference in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(reference), "{reference}");
    }
}

#[test]
fn every_view_draws_in_both_themes_and_rasterises() {
    for make in [crate::sample::single as fn(&std::path::Path), crate::sample::curve, crate::sample::sweep] {
        let (_directory, reader) = reader(make);
        let facts = views::RecordingFacts::read(&reader, &Selection::default()).unwrap();
        let mut drawn = 0;
        for view in views::views() {
            let Some(data) = view.draw(&facts, None) else { continue };
            let json = serde_json::to_string(&data).unwrap();
            let back = serde_json::from_str::<view::ViewData>(&json).unwrap();
            assert_eq!((&back.id, &back.marks.len()), (&data.id, &data.marks.len()));
            for theme in [Theme::Light, Theme::Dark] {
                let svg = report::svg(&data, theme, PictureSize { width: 640, height: 300 });
                assert!(!svg.contains("NaN") && !svg.contains("=\"inf") && !svg.contains("=\"-inf"), "{}", view.id);
                drawn += 1;
                if view.id == "run.response" || view.id == "run.operations" {
                    let png = report::png(&svg).unwrap();
                    assert_eq!(&png[1..4], b"PNG");
                }
            }
        }
        assert!(drawn >= 36, "{drawn}");
    }
}

#[test]
fn a_curve_has_its_knee_where_rate_over_mean_response_is_greatest() {
    let (_directory, reader) = reader(crate::sample::curve);
    let view = views::compute(&reader, "sweep.load_response", &Selection::default()).unwrap();
    let Body::Points { knee, lines } = view.body else { panic!("points") };
    let model = views::report_model(&reader).unwrap();
    let best = model
        .runs
        .iter()
        .max_by(|a, b| {
            let power = |run: &views::RunModel| run.summary.iops.unwrap() / run.summary.response.mean.unwrap();
            power(a).total_cmp(&power(b))
        })
        .unwrap();
    assert_eq!(knee.unwrap().x, best.summary.iops.unwrap());
    assert_eq!(lines[0].points.len(), 10);
}

#[test]
fn a_selection_of_a_target_shows_only_its_operations() {
    let (_directory, reader) = reader(crate::sample::single);
    let selection = Selection { target: Some("sd2".to_string()), ..Selection::default() };
    let facts = views::RecordingFacts::read(&reader, &selection).unwrap();
    let expect: i64 =
        reader.table::<rows::OpInterval>().unwrap().iter().filter(|row| row.target == "sd2").map(|row| row.ops).sum();
    assert_eq!(facts.runs[0].intervals.iter().map(rates::IntervalFacts::completed).sum::<i64>(), expect);
    let unknown = Selection { run: Some("rd9".to_string()), ..Selection::default() };
    let error = views::RecordingFacts::read(&reader, &unknown).unwrap_err().to_string();
    assert_eq!(error, "the recording has no run `rd9`; it has rd1");
    let error = views::compute(&reader, "run.respons", &Selection::default()).unwrap_err().to_string();
    assert!(error.contains("did you mean `run.response`?"), "{error}");
}

#[test]
fn a_recording_that_was_cut_short_says_so_and_loses_nothing() {
    let (_directory, reader) = reader(crate::sample::cut);
    let model = views::report_model(&reader).unwrap();
    assert_eq!(model.recording.state, "cut short");
    assert!(model.warnings.iter().any(|warning| warning.text.contains("cut short")), "{:?}", model.warnings);
    let rows = reader.table::<rows::OpInterval>().unwrap();
    let measured = || rows.iter().filter(|row| row.phase == LoadPhase::Measure);
    let summary = &model.runs[0].summary;
    assert_eq!((summary.ops, summary.measured_s), (measured().map(|row| row.ops).sum::<i64>() as f64, 10.0));
    let mut response = Histogram::default();
    measured().for_each(|row| response.merge(&row.response));
    assert_eq!(summary.response.p99, response.percentile(0.99).map(|ns| ns as f64));
    assert!(report::html(&model).unwrap().contains("recording cut short"));
}

#[test]
fn a_recording_without_a_run_gives_a_page_all_the_same() {
    let (_directory, reader) = reader(crate::sample::empty);
    let page = report::report(&reader).unwrap();
    assert!(
        page.contains("Nothing was measured"),
        "{}",
        page.split("<h1").nth(1).unwrap_or_default().get(..300).unwrap_or_default()
    );
    let error = views::compute(&reader, "run.iops", &Selection::default()).unwrap_err().to_string();
    assert!(error.contains("has nothing to show"), "{error}");
}

/// A small view drawn exactly so: looks at the layout as text.
#[test]
fn the_layout_of_a_chart_is_as_it_was() {
    let axis = |label: &str, unit, scale| view::Axis { label: label.to_string(), unit, scale };
    let view = view::ViewData {
        id: "run.response".to_string(),
        title: "Response time".to_string(),
        subject: "rd1".to_string(),
        explanation: "From due time to completion.".to_string(),
        x: axis("elapsed time", Unit::Seconds, view::Scale::Time),
        y: axis("response time", Unit::Nanoseconds, view::Scale::Log),
        body: Body::Lines {
            x: vec![1.0, 2.0, 3.0, 4.0].into(),
            lines: vec![view::Line {
                name: "p50 <&>".to_string(),
                style: view::LineStyle::Rank0,
                values: vec![1e5, 2e5, f64::NAN, 4e6].into(),
            }],
            right: Some(view::RightAxis {
                y: axis("% of the time", Unit::Percent, view::Scale::Linear),
                lines: vec![view::Line {
                    name: "busy".to_string(),
                    style: view::LineStyle::Category0,
                    values: vec![10.0, 50.0, f64::NAN, 95.0].into(),
                }],
            }),
        },
        marks: vec![view::TimeMark {
            from: 2.0,
            to: 3.0,
            kind: view::MarkKind::Stall,
            label: "no completion for 1.00 s".to_string(),
        }],
        clock: None,
        shown: None,
    };
    insta::assert_snapshot!(report::svg(&view, Theme::Light, PictureSize { width: 480, height: 240 }));
}

/// A remark on the recording stands nowhere else, however many there are on runs.
#[test]
fn no_remark_on_the_whole_recording_is_left_out() {
    let (_directory, reader) = reader(crate::sample::curve);
    let mut model = views::report_model(&reader).unwrap();
    let of_run = |at: usize| views::ReportWarning { tone: Tone::Warning, text: format!("stall {at}."), run: Some(0) };
    model.warnings = (0..15).map(of_run).collect();
    model.warnings.push(views::ReportWarning { tone: Tone::Info, text: "neither certified".to_string(), run: None });
    let page = report::html(&model).unwrap();
    let head = page.split("</header>").next().unwrap();
    assert!(head.contains("neither certified") && head.contains("stall 11.") && !head.contains("stall 12."), "{head}");
    assert!(head.contains("3 further remarks stand with their runs"), "{head}");
}

/// `300 MB/s` is wider than `40 k`.
#[test]
fn labels_of_small_charts_are_not_cut_off() {
    let line = |top: f64| view::PointLine {
        name: "throughput".to_string(),
        style: view::LineStyle::Total,
        points: vec![view::Point { x: 0.0, y: top, label: String::new(), within: None }],
    };
    let panel = |title: &str| view::Panel { title: title.to_string(), lines: vec![line(245e6)], knee: None };
    let (_directory, reader) = reader(crate::sample::curve);
    let mut view = views::compute(&reader, "run.targets", &Selection::default()).unwrap();
    view.y = view::axis("bytes per second", view::Unit::BytesPerSecond, view::Scale::Linear);
    let ticks = vec!["0".to_string()];
    view.body = Body::Panels { ticks, panels: vec![panel("a"), panel("b"), panel("c")], omitted: 0 };
    let picture = report::svg(&view, Theme::Light, PictureSize { width: 1200, height: 400 });
    let mut found = 0;
    for text in picture.split("<text ").filter(|text| text.contains("MB/s<")) {
        let x = text.split("x=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().parse::<f64>().unwrap();
        // Eight characters of at least 6 units, and what the page cuts off.
        assert!(text.contains("\"end\"") && x >= 8.0 * 6.0 + 8.0, "{x}: {text}");
        found += 1;
    }
    assert!(found >= 6, "{picture}");
}

/// Writes what the tests of `web/` look at, where they ask for it.
#[test]
fn samples_for_the_web_tests() {
    let Some(directory) = std::env::var_os("IODYNO_WEB_SAMPLES") else { return };
    let directory = std::path::PathBuf::from(directory);
    for (name, make) in [
        ("single", crate::sample::single as fn(&std::path::Path)),
        ("curve", crate::sample::curve),
        ("cut", crate::sample::cut),
        ("empty", crate::sample::empty),
    ] {
        let (_keep, reader) = reader(make);
        let model = views::report_model(&reader).unwrap();
        std::fs::write(directory.join(format!("{name}.html")), report::html(&model).unwrap()).unwrap();
        std::fs::write(directory.join(format!("{name}.json")), serde_json::to_string_pretty(&model).unwrap()).unwrap();
    }
    let model = views::comparison_model(&compared());
    std::fs::write(directory.join("compared.html"), report::html(&model).unwrap()).unwrap();
    std::fs::write(directory.join("compared.json"), serde_json::to_string_pretty(&model).unwrap()).unwrap();
}

/// A run beside itself: a minute, which resolves nothing.
fn compared() -> views::Comparison {
    let (_keep, one) = reader(crate::sample::single);
    let (_keep, other) = reader(crate::sample::single);
    views::Comparison::read(&[("one".to_string(), one), ("other".to_string(), other)], None).unwrap()
}

#[test]
fn verdicts_are_coloured_beside_their_sign_on_the_page_without_a_script_and_in_pictures() {
    let comparison = compared();
    let page = report::html(&views::comparison_model(&comparison)).unwrap();
    assert!(page.contains("<td class=\"tone-warning\">? not resolved"), "the table without a script");
    let mut table = comparison.draw("compare.figures").unwrap().remove(0);
    let Body::Table(figures) = &mut table.body else { panic!("a table") };
    let verdicts = figures.columns.iter_mut().find(|column| column.name == "verdict").unwrap();
    let tones = [view::Tone::Good, view::Tone::Error, view::Tone::Plain];
    (verdicts.cells, verdicts.tones) =
        (Cells::Text(["▲ better", "▼ worse", "= same"].map(String::from).to_vec()), tones.to_vec());
    let of = |theme: Theme| report::svg(&table, theme, PictureSize { width: 1400, height: 500 });
    for (theme, good, bad, plain) in
        [(Theme::Light, "#00704f", "#b3261e", "#14181f"), (Theme::Dark, "#3ccb9b", "#ff8f86", "#e8ecf2")]
    {
        let picture = of(theme);
        let fill = |words: &str| {
            let before = picture.split(words).next().unwrap_or_default();
            before.rsplit("fill=\"").next().and_then(|rest| rest.split('"').next()).map(String::from)
        };
        assert_eq!(
            ["▲ better", "▼ worse", "= same"].map(fill),
            [good, bad, plain].map(|colour| Some(colour.to_string()))
        );
    }
}

/// A column of a view that is a table.
fn column_of(view: &view::ViewData, group: &str, name: &str) -> Vec<String> {
    let Body::Table(table) = &view.body else { panic!("a table") };
    let found = table.columns.iter().find(|column| column.name == name && column.group == group).unwrap();
    (0..table.rows()).map(|row| found.cell(row)).collect()
}

#[test]
fn repetitions_become_means_with_intervals_and_rows_that_do_not_differ_are_not_resolved() {
    let (_directory, reader) = reader(crate::sample::repeated);
    let facts = views::RecordingFacts::read(&reader, &Selection::default()).unwrap();
    let table = views::view("sweep.repeats").unwrap().draw(&facts, None).unwrap();
    assert_eq!(column_of(&table, "", "parameters"), ["threads=1", "threads=2", "threads=4", "threads=8"]);
    assert_eq!(column_of(&table, "", "times"), ["5"; 4]);
    // By hand: the mean rate of the five rounds with one thread.
    let rates: Vec<f64> = facts
        .runs
        .iter()
        .filter(|run| run.detail == "threads=1")
        .map(|run| views::run_summary(&facts, run).iops.unwrap())
        .collect();
    assert_eq!(rates.len(), 5);
    let mean = rates.iter().sum::<f64>() / 5.0;
    assert_eq!(column_of(&table, "rate", "mean")[0], Unit::OpsPerSecond.format_cell(Some(mean)));
    let deviation = (rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
    let half = 2.776 * deviation / 5.0_f64.sqrt();
    assert_eq!(column_of(&table, "rate", "±")[0], Unit::OpsPerSecond.format_cell(Some(half)));
    let against = column_of(&table, "against the row above", "rate");
    assert_eq!(against[0], "");
    assert!(against[1].ends_with(", differs") && against[2].ends_with(", differs"), "{against:?}");
    assert!(against[3].ends_with(", not resolved"), "{against:?}");
    // The same intervals are drawn.
    let curve = views::view("sweep.rate_by").unwrap().draw(&facts, None).unwrap();
    let Body::Panels { ticks, panels, omitted: 0 } = &curve.body else { panic!("small charts") };
    assert_eq!((ticks.as_slice(), panels.len()), (["1", "2", "4", "8"].map(String::from).as_slice(), 1));
    let points = &panels[0].lines[0].points;
    assert_eq!(points.len(), 4);
    let (low, high) = points[0].within.unwrap();
    assert!((points[0].y - mean).abs() < 1e-6 && ((high - low) / 2.0 - half).abs() < half * 1e-3);
    // A value without a point is a gap in the line.
    let mut view = views::compute(&reader, "sweep.rate_by", &Selection::default()).unwrap();
    let lines_of = |view: &view::ViewData| {
        let picture = report::svg(view, Theme::Light, PictureSize { width: 640, height: 300 });
        let paths = picture.split("<path d=\"").skip(1).filter(|path| path.contains("stroke-width=\"1.6\""));
        let path: String = paths.map(|path| path.split('"').next().unwrap()).collect();
        (path.matches('M').count(), path.matches('L').count())
    };
    assert_eq!(lines_of(&view), (1, 3));
    if let Body::Panels { panels, .. } = &mut view.body {
        panels[0].lines[0].points.remove(1);
    }
    assert_eq!(lines_of(&view), (2, 1));
    let model = views::report_model(&reader).unwrap();
    assert!(model.figures.iter().any(|figure| figure.label == "Mean of 5" && figure.detail.contains("95 %")));
}

#[test]
fn a_run_at_full_speed_is_a_point_beside_the_curve_and_not_on_it() {
    let (_directory, reader) = reader(crate::sample::curve_and_full_speed);
    let view = views::compute(&reader, "sweep.load_response", &Selection::default()).unwrap();
    let Body::Points { knee, lines } = view.body else { panic!("points") };
    let lengths: Vec<(&str, usize)> = lines.iter().map(|line| (line.name.as_str(), line.points.len())).collect();
    assert_eq!(lengths, [("p50", 4), ("mean", 4), ("p99", 4), ("p99.9", 4), ("mean at full speed", 1)]);
    assert!(lines[4].points[0].x > lines[1].points.iter().map(|point| point.x).fold(0.0, f64::max));
    assert!(lines[1].points.iter().any(|point| point.x == knee.as_ref().unwrap().x), "the knee is on the curve");
    let model = views::report_model(&reader).unwrap();
    assert!(
        model.figures.iter().any(|figure| figure.label == "Knee" && figure.detail.contains("rd1_(")),
        "{:?}",
        model.figures
    );
}

#[test]
fn runs_that_have_nothing_in_common_are_no_curve_and_have_no_knee() {
    let (_directory, reader) = reader(crate::sample::unrelated);
    let view = views::compute(&reader, "sweep.load_response", &Selection::default()).unwrap();
    let Body::Points { knee: None, lines } = view.body else { panic!("points without a knee") };
    assert!(lines.len() == 4 && lines.iter().all(|line| line.points.len() == 1), "{lines:?}");
    assert_eq!(lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["fill", "random", "scan", "mail"]);
    let model = views::report_model(&reader).unwrap();
    assert!(
        !model.figures.iter().any(|figure| figure.label == "Knee") && !model.sentence.contains("knee"),
        "{}",
        model.sentence
    );
}

#[test]
fn the_device_that_moved_most_may_have_no_controller() {
    let (_directory, reader) = reader(crate::sample::machine_with_zram);
    let model = views::report_model(&reader).unwrap();
    assert!(model.sentence.contains("zram0, the device that moved most"), "{}", model.sentence);
    assert!(model.sentence.contains("(dm-0 is on other devices, and counted there)"), "{}", model.sentence);
}

#[test]
fn a_sweep_over_two_parameters_is_a_chart_for_each_value_of_the_second() {
    let (_directory, reader) = reader(crate::sample::sweep);
    let draw = |id: &str| views::compute(&reader, id, &Selection::default()).unwrap();
    for (id, lines) in [("sweep.rate_by", 1), ("sweep.throughput_by", 1), ("sweep.response_by", 4)] {
        let Body::Panels { ticks, panels, omitted: 0 } = draw(id).body else { panic!("{id}: small charts") };
        assert_eq!(ticks, ["1", "2", "4", "8", "16", "32", "64"], "{id}");
        let titles: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
        let sizes = ["4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m", "2m"];
        assert_eq!(titles, sizes.map(|size| format!("xfersize={size}")), "{id}");
        assert!(panels.iter().all(|panel| panel.lines.len() == lines && panel.knee.is_some()), "{id}");
        assert!(panels.iter().flat_map(|panel| &panel.lines).all(|line| line.points.len() == 7), "{id}");
    }
    // More curves than one chart can hold: all are drawn, none is left out.
    let Body::Panels { panels, omitted: 0, .. } = draw("sweep.load_response").body else { panic!("small charts") };
    assert_eq!(panels.iter().flat_map(|panel| &panel.lines).map(|line| line.points.len()).sum::<usize>(), 70);
    let picture = report::svg(&draw("sweep.response_by"), Theme::Light, PictureSize { width: 700, height: 300 });
    let height: u32 = picture.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    assert!(height > 600, "ten charts need room: {height}");
    assert_eq!(picture.matches("xfersize=").count(), 10);
}
