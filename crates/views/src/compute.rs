//! One view of a recording, of the part that was asked for.

use crate::catalogue::{ViewKind, view};
use crate::wall_clock::wall_clock;
use crate::{RecordingFacts, RequestFacts, TracedFacts, View};
use rates::Availability;
use recording::Reader;
use view::Selection;
use view::TableReadError;
use view::ViewData;
use workload::probe::FileFold;

/// Computes one view of a recording.
///
/// # Errors
/// No such view or run, a selection that chooses nothing of it, a recording that cannot be read, or nothing to show.
pub fn compute(reader: &Reader, id: &str, selection: &Selection) -> Result<ViewData, TableReadError> {
    let view = view(id)?;
    check(view, selection)?;
    let manifest = reader.manifest();
    let clock = wall_clock(manifest, manifest.started_t_ns);
    let empty = |reason: &str| TableReadError::Empty { id: id.to_string(), reason: reason.to_string() };
    let mut drawn = if view.is_of_a_trace() {
        let traced = TracedFacts::read(reader)?.ok_or_else(|| empty("the recording holds no traced I/O"))?;
        let names: Vec<String> = traced.device_names().map(String::from).collect();
        let device = chosen(id, "device", &names, selection)?;
        let drawn = view.draw_trace(&traced, device.as_deref());
        let reason = if traced.is_sample() {
            "the trace is a sample (--sample), and has nothing of what it shows or not enough of it"
        } else {
            "the trace has nothing of what it shows"
        };
        drawn.ok_or_else(|| empty(reason))?
    } else if view.is_of_files() {
        let files = FileFold::read(reader)?.ok_or_else(|| empty("the recording holds nothing about files"))?;
        view.draw_files(&files).ok_or_else(|| empty("no file has anything of what it shows"))?
    } else if view.is_of_requests() {
        let requests = RequestFacts::read(reader)?;
        let requests = requests.ok_or_else(|| empty("the recording holds nothing about requests to servers"))?;
        let names: Vec<String> = requests.names().collect();
        let server = chosen(id, "server", &names, selection)?.or_else(|| names.first().cloned());
        let servers: Vec<String> = server.into_iter().collect();
        view.draw_requests(&requests, &servers).pop().ok_or_else(|| empty("no request was answered"))?
    } else if view.is_of_findings() {
        let engine = findings::findings(reader, findings::Thresholds::default())?;
        let drawn = view.draw_findings(&engine, manifest.started_t_ns);
        drawn.ok_or_else(|| empty("no rule found anything in what was recorded"))?
    } else if view.is_of_a_comparison() {
        return Err(empty("it shows recordings side by side; name the others with --with"));
    } else {
        return of_facts(reader, view, selection);
    };
    drawn.cut(&selection.window, Some(&clock))?;
    Ok(drawn)
}

/// A view of runs, or of the machine's counters.
fn of_facts(reader: &Reader, view: &View, selection: &Selection) -> Result<ViewData, TableReadError> {
    let empty = |reason: &str| TableReadError::Empty { id: view.id.to_string(), reason: reason.to_string() };
    let unfit = |reason: String| TableReadError::Unfit { id: view.id.to_string(), reason };
    let mut facts = RecordingFacts::read(reader, selection)?;
    facts.without_runs();
    if facts.is_without_runs() && view.is_of_a_run() && Availability::table_of(view.id).is_none() {
        let words = "no run was recorded, only the machine's counters: see run.cpu, cpu.*, disk.*, net.*, memory.use, system.tasks";
        return Err(empty(words));
    }
    if let Some(names) = &selection.names {
        facts.only(view.id, names).map_err(unfit)?;
    }
    let mut stretch = None;
    if selection.window.is_set()
        && let Some(run) = view.run_of(&facts).filter(|_| view.is_of_a_run())
    {
        let clock = wall_clock(&facts.manifest, run.start_ns);
        let (start_ns, end_s) = (run.start_ns, run.seconds(run.end_ns()));
        let ends = selection.window.ends((0.0, end_s), Some(&clock)).map_err(unfit)?;
        // So that the busiest devices are those of the stretch.
        facts.only_between(start_ns, ends);
        stretch = Some(ends);
    }
    let verdicts = Availability::of(reader.manifest());
    let reason = verdicts.of_view(view.id).unwrap_or("nothing of what it shows was recorded for this selection");
    let mut drawn = view.draw(&facts, None).ok_or_else(|| empty(reason))?;
    match stretch.filter(|_| drawn.is_over_time()) {
        Some(ends) => drawn.cut_to(ends),
        None => drawn.cut(&selection.window, None)?,
    }
    if let Some(names) = &selection.names {
        let only = format!("only {}", names.as_str());
        if view.id == "run.cpu" {
            drawn.y.label = "% of these CPUs".to_string();
        }
        drawn.subject = if drawn.subject.is_empty() { only } else { format!("{}, {only}", drawn.subject) };
    }
    Ok(drawn)
}

/// What a view shows by name, in the plural; `None` where it has no names of its own.
fn things(view: &View) -> Option<&'static str> {
    match view.id.split_once('.')? {
        ("run", "cpu") => Some("CPUs"),
        ("disk", _) | ("trace", "addresses") => Some("devices"),
        ("controller", _) => Some("controllers"),
        ("net", _) => Some("interfaces"),
        ("pool", _) => Some("pools"),
        ("pressure", _) => Some("resources"),
        ("requests", "response" | "response_heatmap" | "histogram") => Some("servers"),
        _ => None,
    }
}

/// Refuses what would choose nothing: a picture of everything would be taken for one of what was asked for.
fn check(view: &View, selection: &Selection) -> Result<(), TableReadError> {
    let unfit = |reason: String| Err(TableReadError::Unfit { id: view.id.to_string(), reason });
    let (things, is_of_counters) = (things(view), Availability::table_of(view.id).is_some());
    let of_run = view.is_of_a_run() && !is_of_counters;
    let of_runs = of_run || view.id.starts_with("sweep.") || view.id.starts_with("command.");
    // A trace's device and a server were called targets before there was --select.
    let is_named = matches!(things, Some("servers")) || view.id == "trace.addresses";
    if selection.names.is_some() && things.is_none() {
        let other = if of_runs { "; --workload and --target choose among what runs did" } else { "" };
        return unfit(format!("it shows nothing by name: --select chooses nothing of it{other}"));
    }
    if selection.target.is_some() && !of_runs && !is_named {
        let other = things.map_or(String::new(), |things| format!("; --select chooses among its {things}"));
        return unfit(format!("--target chooses nothing of it{other}"));
    }
    if selection.workload.is_some() && !of_runs {
        return unfit("--workload chooses nothing of it".to_string());
    }
    if selection.window.is_set() && !matches!(view.kind, ViewKind::TimeSeries | ViewKind::HeatMap) {
        return unfit("it is not over time: --last, --from and --to choose nothing of it".to_string());
    }
    if selection.run.is_some() && !view.is_of_a_run() && !of_runs {
        return unfit("it is not of one run: --run chooses nothing of it".to_string());
    }
    Ok(())
}

/// The first that was asked for, in the order of what they did.
fn chosen(id: &str, thing: &str, names: &[String], selection: &Selection) -> Result<Option<String>, TableReadError> {
    let none = |wanted: &str| {
        let known =
            if names.is_empty() { "there are none".to_string() } else { format!("there are: {}", names.join(", ")) };
        TableReadError::Unfit { id: id.to_string(), reason: format!("no {thing} is called `{wanted}`; {known}") }
    };
    if let Some(target) = &selection.target {
        return if names.contains(target) { Ok(Some(target.clone())) } else { Err(none(target)) };
    }
    let Some(wanted) = &selection.names else { return Ok(None) };
    let found = names.iter().find(|name| wanted.admits(name)).cloned();
    found.map(Some).ok_or_else(|| none(wanted.as_str()))
}
