//! `iodyno model`: a trace into a small parameter file that behaves like it, and how alike it is.
//!
//! What is judged is the file itself: its text is read again, and what it would do is generated without I/O.

use crate::SessionError;
use crate::error::TRACE_YEARS_MAX;
use import::ImportError;
use import::ImportOptions;
use params::{MemoryLoader, VdbenchOptions};
use plan::Plan;
use recording::{Reader, rows};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use workload::model::{self, FigureLikeness, IoOwner, LoadCourse, ObservedIo, ProcessNames, WorkloadModel};

/// Lines of a model.
const LINES_MAX: usize = 60;
/// Widths at which lines are folded: the first at which the file is no longer than it may be.
const WIDTHS: [usize; 4] = [100, 140, 200, usize::MAX];
/// Parts shorter than this are not judged.
const HALF_IOS: u64 = 100;

/// What to make a model of.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    /// A recording with the table `io`, or a trace that can be imported.
    pub input: PathBuf,
    /// The trace's format; `None`: by its content.
    pub format: Option<String>,
    /// Only these devices; none: all.
    pub devices: Vec<String>,
    /// From so long after the beginning, ns.
    pub from_ns: u64,
    /// For so long, ns; `None`: to the end.
    pub for_ns: Option<u64>,
    /// Devices or files that the model is for, the busiest first; missing ones become variables.
    pub targets: Vec<PathBuf>,
    /// Processes are not modelled separately.
    pub by_device: bool,
    /// Other traces to hold against this one: of a replay of it, of a run of its model.
    pub others: Vec<PathBuf>,
}

/// A model.
#[derive(Clone, Debug)]
pub struct ModelOutcome {
    /// The parameter file.
    pub text: String,
    /// I/Os of the trace.
    pub ios: u64,
    /// Its length, ns.
    pub length_ns: u64,
    /// The model against what it was made from.
    pub likeness: Vec<FigureLikeness>,
    /// How far both go together in time.
    pub course: LoadCourse,
    /// A model of the first half against the second half, which it has not seen.
    pub unseen: Option<Vec<FigureLikeness>>,
    /// Other traces against this one, by name.
    pub others: Vec<(String, Vec<FigureLikeness>)>,
    /// What was left out, in words.
    pub notes: Vec<String>,
}

/// Makes a model.
///
/// # Errors
/// The trace cannot be read, or has no I/Os of what was asked for.
pub fn model(request: &ModelRequest) -> Result<ModelOutcome, SessionError> {
    let (whole, mut notes) = whole(request, traced_ns(request)?, None)?;
    let (begin_ns, end_ns) = whole.span_ns();
    let made = Made::of(&whole, &request.targets)?;
    let driven = made.drive(&whole)?;
    let unseen = if is_again_readable(&request.input) {
        unseen(request, begin_ns, end_ns)?
    } else {
        notes.push(
            "the trace was read from a pipe, once: nothing is known of a part that the model has not seen".into(),
        );
        None
    };
    let mut others = Vec::with_capacity(request.others.len());
    for path in &request.others {
        let other = ModelRequest { input: path.clone(), ..ModelRequest::default() };
        // What came between the beginning of its tracing and its first I/O is no part of a replay, or of a run.
        let (other, said) = self::whole(&other, None, Some(whole.place_bytes()))?;
        notes.extend(said.into_iter().map(|note| format!("{}: {note}", path.display())));
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        others.push((name, model::compare(&whole, &other)));
    }
    Ok(ModelOutcome {
        text: made.text,
        ios: whole.ios(),
        length_ns: whole.length_ns(),
        likeness: model::compare(&whole, &driven),
        course: model::course(&whole, &driven),
        unseen,
        others,
        notes,
    })
}

/// No trace is longer, ns.
const LENGTH_NS_MAX: i64 = TRACE_YEARS_MAX * 366 * 86_400_000_000_000;

/// From when to when was traced of what was asked for, where the recording knows; `None`: from the first I/O to the last.
fn traced_ns(request: &ModelRequest) -> Result<Option<(i64, i64)>, SessionError> {
    if request.format.is_some() || !recording::is_recording(&request.input) {
        return Ok(None);
    }
    let span_ns = workload::traced::ends::traced_span_ns(Reader::open(&request.input)?.manifest());
    Ok(span_ns.map(|(began_ns, ended_ns)| {
        let from_ns = began_ns.saturating_add(whole_ns(request.from_ns));
        let until_ns = request.for_ns.map_or(i64::MAX, |ns| from_ns.saturating_add(whole_ns(ns)));
        (from_ns, until_ns.min(ended_ns))
    }))
}

fn whole_ns(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// What was asked for of a trace, and what is to be said of it; `traced_ns`: the time that it is over.
fn whole(
    request: &ModelRequest,
    traced_ns: Option<(i64, i64)>,
    place_bytes: Option<u64>,
) -> Result<(WorkloadModel, Vec<String>), SessionError> {
    let mut observed: Option<WorkloadModel> = None;
    // A manifest that was written by others may tell of times that no trace has.
    let possible = |from_ns: i64, to_ns: i64| to_ns.checked_sub(from_ns).is_some_and(|ns| ns <= LENGTH_NS_MAX);
    let mut end_ns = 0;
    let notes = each(request, &mut |device, seen| {
        end_ns = end_ns.max(seen.t_ns + 1);
        let begin = || {
            let traced_ns = traced_ns.filter(|(from_ns, to_ns)| possible(*from_ns, seen.t_ns.max(*to_ns)));
            end_ns = end_ns.max(traced_ns.map_or(0, |(_, to_ns)| to_ns));
            WorkloadModel::new(traced_ns.map_or(seen.t_ns, |(from_ns, _)| from_ns.min(seen.t_ns)), place_bytes)
        };
        observed.get_or_insert_with(begin).add(device, &seen);
    })?;
    let Some(mut observed) = observed else {
        let what = "there is nothing in it that could be driven".to_string();
        return Err(ImportError::NothingSelected { path: request.input.clone(), what }.into());
    };
    observed.finish(end_ns);
    Ok((observed, notes))
}

/// Gives every I/O that was asked for to `take`; what is to be said of the trace.
fn each(request: &ModelRequest, take: &mut dyn FnMut(&str, ObservedIo)) -> Result<Vec<String>, SessionError> {
    let (mut first_ns, mut strange_ns) = (None, None);
    let mut take = |device: &str, seen: ObservedIo| {
        let since_ns = seen.t_ns.saturating_sub(*first_ns.get_or_insert(seen.t_ns));
        if since_ns.saturating_abs() > LENGTH_NS_MAX || seen.t_ns.checked_sub(LENGTH_NS_MAX).is_none() {
            strange_ns.get_or_insert(seen.t_ns);
        } else {
            take(device, if request.by_device { seen.by(IoOwner::default()) } else { seen });
        }
    };
    let words = |others: u64| {
        let word = format!("I/Os of kinds that a parameter file cannot ask for were left out: {others}");
        if others > 0 { vec![word] } else { Vec::new() }
    };
    if request.format.is_none() && recording::is_recording(&request.input) {
        let reader = Reader::open(&request.input)?;
        if !reader.tables()?.iter().any(|table| table == rows::Io::NAME) {
            return Err(SessionError::NoTrace(request.input.clone()));
        }
        let began_ns = workload::traced::ends::traced_span_ns(reader.manifest()).map(|span_ns| span_ns.0);
        let mut begin_ns = None;
        let from_ns = whole_ns(request.from_ns);
        let until_ns = request.for_ns.map_or(i64::MAX, |ns| from_ns.saturating_add(whole_ns(ns)));
        let others = model::seen(&reader, |device, seen| {
            let since_ns =
                seen.t_ns.saturating_sub(*begin_ns.get_or_insert(began_ns.map_or(seen.t_ns, |ns| ns.min(seen.t_ns))));
            let is_wanted = request.devices.is_empty() || request.devices.iter().any(|name| name == device);
            if is_wanted && (from_ns..until_ns).contains(&since_ns) {
                take(device, seen);
            }
        });
        let others = others.map_err(report::ReportError::from)?;
        return possible(request, strange_ns).map(|()| words(others));
    }
    let options = ImportOptions {
        format: request.format.clone(),
        devices: request.devices.clone(),
        from_ns: request.from_ns,
        for_ns: request.for_ns,
        ..ImportOptions::default()
    };
    let (mut others, mut people) = (0, ProcessNames::default());
    let mut notes = import::read_trace(&request.input, &options, &mut |io| match model::op_of(&io.op, io.bytes) {
        Some(op) => {
            let (name, pid) = match &io.owner_comm {
                Some(owner) => (Some(owner), io.owner_pid),
                None => (io.comm.as_ref(), io.pid),
            };
            let who = name.map_or_else(IoOwner::default, |name| people.who(name, pid));
            take(&io.dev, ObservedIo::new(io.queue_ns, io.complete_ns, op, io.sector, io.bytes).by(who));
        }
        None => others += 1,
    })?;
    notes.extend(words(others));
    possible(request, strange_ns).map(|()| notes)
}

/// Is there no I/O at a time that cannot be?
fn possible(request: &ModelRequest, strange_ns: Option<i64>) -> Result<(), SessionError> {
    strange_ns.map_or(Ok(()), |t_ns| Err(SessionError::Time { trace: request.input.clone(), t_ns }))
}

/// A pipe is read once.
fn is_again_readable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.is_file() || facts.is_dir())
}

/// A model of the first half against the second; `None` when one of them has hardly any I/Os.
fn unseen(request: &ModelRequest, begin_ns: i64, end_ns: i64) -> Result<Option<Vec<FigureLikeness>>, SessionError> {
    let middle_ns = begin_ns + (end_ns - begin_ns) / 2;
    let (mut first, mut second) = (WorkloadModel::new(begin_ns, None), WorkloadModel::new(middle_ns, None));
    each(request, &mut |device, seen| {
        if seen.t_ns < middle_ns {
            first.add(device, &seen);
        } else {
            second.add(device, &seen);
        }
    })?;
    first.finish(middle_ns);
    second.finish(end_ns);
    if first.ios() < HALF_IOS || second.ios() < HALF_IOS {
        return Ok(None);
    }
    let driven = Made::of(&first, &request.targets)?.drive(&second)?;
    Ok(Some(model::compare(&second, &driven)))
}

/// A parameter file and what it means.
struct Made {
    text: String,
    plan: Plan,
}

impl Made {
    fn of(observed: &WorkloadModel, targets: &[PathBuf]) -> Result<Self, SessionError> {
        let model = model::fit(observed, targets);
        let printed = params::print_vdbench(&model.plan);
        let text = WIDTHS
            .iter()
            .map(|width| page(&printed.text, &model.comments, observed, *width))
            .find(|text| text.lines().count() <= LINES_MAX)
            .unwrap_or_else(|| printed.text.clone());
        let plan = read(&text, &model.plan)?;
        Ok(Self { text, plan })
    }

    /// What it does in the time of `like`.
    fn drive(&self, like: &WorkloadModel) -> Result<WorkloadModel, SessionError> {
        Ok(model::model_of_plan(&self.plan, like).map_err(engine::EngineError::from)?)
    }
}

/// Reads a model again.
fn read(text: &str, plan: &Plan) -> Result<Plan, SessionError> {
    let path = PathBuf::from("model.vdb");
    let memory = MemoryLoader::one(&path, text);
    let variable = |target: &plan::TargetSpec| {
        let name = target.path.to_str()?.strip_prefix('$')?;
        Some((name.to_string(), format!("/nowhere/{name}")))
    };
    let variables = plan.targets.iter().filter_map(variable).collect();
    let reading = params::read_vdbench(&[path], &VdbenchOptions { variables, ..VdbenchOptions::default() }, &memory);
    let words = |found: &params::Diagnostic| params::render(found, &reading.sources);
    let first = reading.diagnostics.first().map(words).unwrap_or_default();
    reading.plan.ok_or(SessionError::Model(first))
}

/// The parameter file with its comments, lines folded at `width`.
fn page(printed: &str, comments: &[(String, String)], observed: &WorkloadModel, width: usize) -> String {
    let length = quantity::text::format_ns(observed.length_ns());
    let mut out = format!(
        "* Behaves like a trace of {} I/Os in {length} on {}; made by `iodyno model` (docs/model.md).\n",
        observed.ios(),
        if observed.devices() == 1 { "one device".to_string() } else { format!("{} devices", observed.devices()) },
    );
    let variables: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("sd=")?.split(',').find_map(|word| word.strip_prefix("lun=$")))
        .collect();
    let given: String = variables.iter().map(|name| format!(" {name}=DEVICE")).collect();
    out.push_str(&format!("* What is on the targets is overwritten. Run it: iodyno run THIS_FILE{given}\n"));
    for line in printed.lines() {
        if line.starts_with("wd=") && !out.contains("\nwd=") {
            out.push_str("* Parts of all I/Os (skew); seekpct=100, or none, is random, 0 a scan, between them runs from random places.\n");
        }
        let comment = comments.iter().find(|(beginning, _)| line.starts_with(beginning.as_str()));
        if let Some((_, comment)) = comment {
            out.push_str(&format!("* {comment}\n"));
        }
        fold(line, width, &mut out);
    }
    out
}

/// A line goes on in the next after a comma.
fn fold(line: &str, width: usize, out: &mut String) {
    let mut used = 0;
    for word in line.split_inclusive(',') {
        if used > 0 && used + word.len() > width {
            out.push_str("\n  ");
            used = 2;
        }
        out.push_str(word);
        used += word.len();
    }
    out.push('\n');
}

impl ModelOutcome {
    /// A table of all distances.
    pub fn table(&self) -> Vec<String> {
        let mut head = format!(
            "{:<18}{:>12}{:>12}{:>10}{:>11}{:>13}",
            "", "trace", "model", "distance", "permitted", "unseen half"
        );
        for (name, _) in &self.others {
            let short: String = name.chars().take(20).collect();
            let _ = write!(head, "  {short:>12}");
        }
        let mut lines = vec![head];
        for (at, one) in self.likeness.iter().enumerate() {
            let unseen = self.unseen.as_ref().and_then(|unseen| unseen.get(at));
            let number = |one: Option<&FigureLikeness>| match one.map(|one| (one.distance, one.is_within())) {
                None => "–".to_string(),
                Some((None, _)) => "?".to_string(),
                Some((Some(distance), true)) => format!("{distance:.3}"),
                Some((Some(distance), false)) => format!("! {distance:.3}"),
            };
            let mut line = format!(
                "{:<18}{:>12}{:>12}{:>10}{:>11}{:>13}",
                one.figure,
                one.shown(one.trace),
                one.shown(one.model),
                number(Some(one)),
                one.permitted,
                number(unseen),
            );
            for (name, other) in &self.others {
                let width = name.chars().count().clamp(12, 20);
                let _ = write!(line, "  {:>width$}", number(other.get(at)));
            }
            lines.push(line);
        }
        let correlations =
            [("IOPS", self.course.ios), ("bytes", self.course.bytes), ("share of reads", self.course.read_share)];
        let correlations: Vec<String> =
            correlations.iter().filter_map(|(what, of)| Some(format!("{what} {:.2}", of.as_ref()?))).collect();
        if !correlations.is_empty() {
            lines.push(format!("second by second, trace and model have a correlation of {}", correlations.join(", ")));
        }
        if self.course.is_changing() {
            lines.push(format!(
                "! the mix changes in time: from second to second the share of reads by ± {:.2}, the bytes per I/O by ± {:.0} %; \
                 the model has the same mix all the time (docs/model.md)",
                self.course.read_share_deviation,
                100.0 * self.course.size_deviation
            ));
        }
        lines
    }

    /// Everything but the text, for programs.
    pub fn json(&self, file: Option<&Path>) -> serde_json::Value {
        let figures: Vec<serde_json::Value> = (0..self.likeness.len())
            .map(|at| {
                let mut value = serde_json::to_value(&self.likeness[at]).unwrap_or_default();
                value["unseen"] =
                    serde_json::to_value(self.unseen.as_ref().map(|unseen| &unseen[at])).unwrap_or_default();
                value
            })
            .collect();
        serde_json::json!({
            "file": file.map(|file| file.display().to_string()),
            "lines": self.text.lines().count(),
            "ios": self.ios,
            "length_s": self.length_ns as f64 / 1e9,
            "iops_correlation": self.course.ios,
            "bytes_correlation": self.course.bytes,
            "read_share_correlation": self.course.read_share,
            "read_share_deviation": self.course.read_share_deviation,
            "bytes_per_io_deviation": self.course.size_deviation,
            "figures": figures,
            "others": self.others.iter().map(|(name, figures)| {
                serde_json::json!({"name": name, "figures": figures})
            }).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}
