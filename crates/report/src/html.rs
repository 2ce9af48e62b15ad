//! The report page: readable without a script, and with one alive.

use crate::ReportError;
use crate::svg::{PictureSize, Theme, escape, svg};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use quantity::visible::visible_lines;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use view::{Body, Cells, Tone, ViewData, ViewTable};
use views::ReportModel;

/// Views drawn for readers without a script, for a report of one run.
const STILL: [&str; 4] = ["run.iops", "run.response", "run.response_heatmap", "run.percentiles"];

/// Tables that stand in the page without a script.
const STILL_TABLES: [&str; 3] = ["run.operations", "run.workloads", "compare.figures"];

/// Most runs whose tables stand in the page without a script.
const STATIC_RUNS: usize = 100;
/// Remarks on single runs at the top of a page.
const RUN_REMARKS: usize = 12;

const SCRIPT: &str = include_str!("../../../web/dist/report.js");
const STYLE: &str = include_str!("../../../web/dist/report.css");

/// In the first 1024 bytes of every page that iodyno writes: how it knows its own again.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"iodyno ";

/// The whole page; it needs no network and no other file.
///
/// # Errors
/// A model that cannot be written as JSON.
pub fn html(model: &ReportModel) -> Result<String, ReportError> {
    let mut data = serde_json::to_value(model)?;
    show_hidden(&mut data);
    // `<` never stands in the data as itself, so nothing in it can end the element.
    let json = serde_json::to_string(&data)?.replace('<', "\\u003c");
    let mut page = String::with_capacity(json.len() + 200_000);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         {GENERATOR}{}\">\n<title>{} – iodyno</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>{}{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#run\">Skip to the details</a>\n<main>\n",
        env!("CARGO_PKG_VERSION"),
        escape(&model.title),
        fonts()
    );
    header(&mut page, model);
    page.push_str("<section id=\"overview\" aria-label=\"All runs\"></section>\n<section id=\"run\" aria-label=\"One run\"></section>\n");
    still(&mut page, model);
    appendix(&mut page, model);
    let _ = write!(
        page,
        "<footer>iodyno {} · recording {} · response time = completion − arrival, service time = completion − submission; \
         percentiles are read off merged histograms, never averaged.</footer>\n</main>\n\
         <script type=\"application/json\" id=\"model\">{json}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        escape(&model.recording.id)
    );
    Ok(page)
}

/// Makes what is hidden in the texts of the model visible: the script puts them on the page as they are.
fn show_hidden(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(shown) = visible_lines(text) {
                *text = shown;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(show_hidden),
        Value::Object(fields) => fields.values_mut().for_each(show_hidden),
        _ => {}
    }
}

/// The two weights of the page's font, inside the page.
fn fonts() -> String {
    let regular = BASE64_STANDARD.encode(include_bytes!("../assets/Inter-Regular.woff2"));
    let bold = BASE64_STANDARD.encode(include_bytes!("../assets/Inter-SemiBold.woff2"));
    let face = |weight: u32, data: &str| {
        format!(
            "@font-face{{font-family:Inter;font-weight:{weight};src:url(data:font/woff2;base64,{data})format(\"woff2\")}}"
        )
    };
    face(400, &regular) + &face(600, &bold)
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Info => "info",
        Tone::Warning => "warning",
        Tone::Error => "error",
    }
}

fn header(page: &mut String, model: &ReportModel) {
    let recording = &model.recording;
    let _ = write!(
        page,
        "<header>\n<div class=\"top\"><h1>{}</h1><button id=\"theme\" type=\"button\" hidden>Theme</button></div>\n<p class=\"lead\">{}</p>\n<p class=\"facts\">",
        escape(&model.title),
        escape(&model.sentence)
    );
    let state_class = if recording.state == "sealed" { "state sealed" } else { "state" };
    let mut facts = vec![
        format!("<span>{}</span>", escape(&recording.host)),
        format!("<span>{}</span>", escape(&recording.kernel)),
        format!("<span>{}</span>", escape(&recording.started)),
        format!("<span class=\"{state_class}\">recording {}</span>", escape(&recording.state)),
    ];
    if !recording.exit.is_empty() {
        facts.push(format!("<span>{}</span>", escape(&recording.exit)));
    }
    facts.extend(recording.losses.iter().map(|loss| format!("<span class=\"state\">{}</span>", escape(loss))));
    page.push_str(&facts.concat());
    page.push_str("</p>\n<dl class=\"figures\">\n");
    for figure in &model.figures {
        let _ = write!(
            page,
            "<div class=\"figure {}\"><dt>{}</dt><dd class=\"value\">{}</dd>",
            tone(figure.tone),
            escape(&figure.label),
            escape(&figure.value)
        );
        if !figure.detail.is_empty() {
            let _ = write!(page, "<dd class=\"detail\">{}</dd>", escape(&figure.detail));
        }
        page.push_str("</div>\n");
    }
    page.push_str("</dl>\n");
    remarks(page, model);
    page.push_str("</header>\n");
}

/// What is to be said of the recording, and the first of what is to be said of single runs.
fn remarks(page: &mut String, model: &ReportModel) {
    let several = model.runs.len() > 1;
    let global =
        model.warnings.iter().filter(|warning| warning.run.is_none() || !several || warning.tone >= Tone::Warning);
    let (mut shown, mut left) = (0, 0);
    for warning in global {
        let run = warning.run.filter(|_| several).and_then(|run| model.runs.get(run));
        // What is said of the recording as a whole stands nowhere else.
        if run.is_some() {
            if shown == RUN_REMARKS {
                left += 1;
                continue;
            }
            shown += 1;
        }
        let whose =
            run.map_or(String::new(), |run| format!("{}: ", format!("{} {}", run.title, run.detail).trim_end()));
        let _ = writeln!(
            page,
            "<p class=\"warning tone-{}\">{}{}</p>",
            tone(warning.tone),
            escape(&whose),
            escape(&warning.text)
        );
    }
    if left > 0 {
        let _ = writeln!(page, "<p class=\"note\">{left} further remarks stand with their runs.</p>");
    }
}

/// What is seen without a script; the script removes it.
fn still(page: &mut String, model: &ReportModel) {
    page.push_str("<section id=\"static\">\n");
    for view in &model.overview {
        still_view(page, view);
    }
    for run in model.runs.iter().take(STATIC_RUNS) {
        let _ =
            writeln!(page, "<h2>{} {}</h2>\n<p>{}</p>", escape(&run.title), escape(&run.detail), escape(&run.sentence));
        for view in run.views.iter().filter(|view| STILL_TABLES.contains(&view.id.as_str())) {
            still_view(page, view);
        }
        if model.runs.len() == 1 {
            for view in run.views.iter().filter(|view| STILL.contains(&view.id.as_str())) {
                still_view(page, view);
            }
        }
    }
    if model.runs.len() > STATIC_RUNS {
        let _ = writeln!(page, "<p>{} further runs are shown with a script.</p>", model.runs.len() - STATIC_RUNS);
    }
    page.push_str("</section>\n");
}

fn still_view(page: &mut String, view: &ViewData) {
    if let Body::Table(table) = &view.body {
        let _ = write!(
            page,
            "<figure class=\"card wide\"><figcaption><h3>{}</h3></figcaption><div class=\"scroll\">",
            escape(&view.title)
        );
        still_table(page, table);
        page.push_str("</div></figure>\n");
    } else {
        let picture = svg(view, Theme::Light, PictureSize { width: 1120, height: 340 });
        let _ = writeln!(page, "<noscript><figure class=\"card wide\">{picture}</figure></noscript>");
    }
}

fn still_table(page: &mut String, table: &ViewTable) {
    page.push_str("<table><thead><tr>");
    for column in &table.columns {
        let class = if matches!(column.cells, Cells::Numbers(_)) { " class=\"number\"" } else { "" };
        let name = format!("{} {} {}", column.group, column.name, column.unit.heading());
        let _ = write!(page, "<th scope=\"col\"{class}>{}</th>", escape(name.trim()));
    }
    page.push_str("</tr></thead><tbody>\n");
    for row in 0..table.rows() {
        page.push_str("<tr>");
        for column in &table.columns {
            let class = match (&column.cells, column.tone(row)) {
                (Cells::Numbers(_), Tone::Plain) => " class=\"number\"".to_string(),
                (Cells::Text(_), Tone::Plain) => String::new(),
                (_, toned) => format!(" class=\"tone-{}\"", tone(toned)),
            };
            let _ = write!(page, "<td{class}>{}</td>", escape(&column.cell(row)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table>");
}

fn appendix(page: &mut String, model: &ReportModel) {
    page.push_str("<section id=\"appendix\" aria-label=\"Appendix\">\n<h2>Appendix</h2>\n");
    let appendix = &model.appendix;
    let _ = writeln!(
        page,
        "<details><summary>Command line</summary><pre>{}</pre></details>",
        escape(&model.recording.command_line)
    );
    for source in &appendix.sources {
        let _ = writeln!(
            page,
            "<details><summary>Parameters: {}</summary><pre>{}</pre></details>",
            escape(&source.name),
            escape(&source.text)
        );
    }
    if !appendix.hardware.is_empty() {
        page.push_str("<details><summary>Hardware and software</summary>\n");
        for group in &appendix.hardware {
            let _ = write!(page, "<h3>{}</h3><table><tbody>", escape(&group.title));
            for (name, value) in &group.rows {
                let _ = write!(page, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape(name), escape(value));
            }
            page.push_str("</tbody></table>\n");
        }
        page.push_str("</details>\n");
    }
    for (title, lines) in [("Load generator", &appendix.engine), ("Events", &appendix.events)] {
        if lines.is_empty() {
            continue;
        }
        let _ = write!(page, "<details><summary>{title}</summary><pre>");
        for line in lines {
            let _ = writeln!(page, "{}", escape(line));
        }
        page.push_str("</pre></details>\n");
    }
    page.push_str("</section>\n");
}
