//! What the reader must know before believing a number.

use super::several;
use crate::model::{ReportWarning, RunModel};
use crate::{RecordingFacts, RunFacts};
use objectives::Judgement;
use rates::Availability;
use recording::rows::Event;
use recording::{EventKind, EventSeverity, Manifest, RecordingState};
use view::Tone;
use view::Unit;
use workload::traced::ends::unseen;

/// A shortfall of the achieved rate that is worth a sentence.
const SHORTFALL: f64 = 0.01;

/// Most events that are repeated as warnings.
const EVENTS: usize = 20;

pub(super) fn warnings(facts: &RecordingFacts, runs: &[RunModel]) -> Vec<ReportWarning> {
    let mut found: Vec<ReportWarning> = data(facts).into_iter().collect();
    found.extend(recording(facts));
    found.extend(super::commands::warnings(facts));
    for (position, (run, model)) in facts.runs.iter().zip(runs).enumerate() {
        let mut say = |tone, text| found.push(ReportWarning { tone, text, run: Some(position) });
        errors(model, &mut say);
        unfinished(run, &mut say);
        stalls(model, &mut say);
        rate(run, model, &mut say);
        generator(run, model, &mut say);
    }
    objectives(facts, &mut found);
    events(facts, &mut found);
    found.sort_by_key(|warning| std::cmp::Reverse(warning.tone));
    found
}

/// What is to be said of a recording that was not brought to an end, behind its name; `None` of one that was.
#[must_use]
pub fn unended(state: RecordingState, is_damaged: bool) -> Option<&'static str> {
    match state {
        RecordingState::Sealed => None,
        RecordingState::Open => Some("is still being written; this is what it held a moment ago."),
        RecordingState::CutShort if is_damaged => Some("was cut short: the program that wrote it was killed."),
        RecordingState::CutShort => {
            Some("was cut short: the program that wrote it was killed. Everything up to the last interval is here.")
        }
    }
}

/// With this the verdict of data validation begins.
const VERDICT: &str = "validation: ";

/// What came of the data, where that is no good news.
fn data(facts: &RecordingFacts) -> Option<ReportWarning> {
    let verdict = facts.events.iter().rfind(|event| event.message.starts_with(VERDICT));
    let verdict = verdict.map(|event| event.message.strip_prefix(VERDICT).unwrap_or_default().to_string());
    let (tone, text) = match facts.data.damage_words() {
        Some(words) => (Tone::Error, format!("Data was wrong: {}.", verdict.unwrap_or(words))),
        None if facts.data.figures()?.is_unproved() => {
            let text = "No data was compared with what was written: nothing was proved of it.";
            (Tone::Warning, text.to_string())
        }
        None => return None,
    };
    Some(ReportWarning { tone, text, run: None })
}

fn recording(facts: &RecordingFacts) -> Vec<ReportWarning> {
    let mut found = Vec::new();
    let mut say = |tone, text: String| found.push(ReportWarning { tone, text, run: None });
    if let Some(caveat) = crate::pts::caveat(facts) {
        say(Tone::Info, caveat.to_string());
    }
    for sentence in &facts.damage {
        say(Tone::Error, format!("The recording is damaged: {sentence}."));
    }
    if let Some(words) = unended(facts.state, !facts.damage.is_empty()) {
        let tone = if facts.state == RecordingState::Open { Tone::Info } else { Tone::Warning };
        say(tone, format!("The recording {words}"));
    }
    for (name, count) in facts.manifest.losses.iter().filter(|loss| *loss.1 > 0) {
        say(Tone::Warning, format!("Lost: {count} {}.", name.replace('_', " ")));
    }
    for words in unseen(&facts.manifest) {
        say(Tone::Info, format!("{words}; no response time counts them."));
    }
    if let Some(text) = missed_ends(&facts.manifest) {
        say(Tone::Info, text);
    }
    for (subject, words) in Availability::of(&facts.manifest).troubles() {
        say(Tone::Info, format!("Not measured: {}: {words}.", subject.replace('_', " ")));
    }
    found
}

/// One whose end the probe missed stands in its table as one that hangs does.
fn missed_ends(manifest: &Manifest) -> Option<String> {
    let count = |name: &str| manifest.extra.get(name)?.as_u64().filter(|count| *count > 0);
    let (unfinished, misses) = (count("trace_unfinished")?, count("trace_end_misses")?);
    let times = if misses == 1 { "once".to_string() } else { format!("{misses} times") };
    let which = if unfinished == 1 { "the I/O" } else { "some of the I/Os" };
    Some(format!(
        "The kernel left the probe at ends of I/Os out {times}: {which} without an end may have ended unseen."
    ))
}

fn errors(model: &RunModel, say: &mut dyn FnMut(Tone, String)) {
    let (errors, ops) = (model.summary.errors, model.summary.ops);
    if let Some(errors) = errors.filter(|errors| *errors > 0.0) {
        let share = Unit::Percent.format(Some(100.0 * errors / (ops + errors)));
        say(
            Tone::Error,
            format!(
                "{} operations failed ({share}); failed operations are in no percentile.",
                Unit::Operations.format(Some(errors))
            ),
        );
    }
}

/// What had no end, and how it counts.
fn unfinished(run: &RunFacts, say: &mut dyn FnMut(Tone, String)) {
    if let Some(words) = run.unfinished.and_then(|unfinished| unfinished.words()) {
        say(
            Tone::Warning,
            format!("{words}. They count with the time that they had taken so far: figures with ≥ are lower bounds."),
        );
    }
}

fn stalls(model: &RunModel, say: &mut dyn FnMut(Tone, String)) {
    let summary = &model.summary;
    if let Some(stall) = &summary.longest_stall {
        let length = Unit::Seconds.format(Some(stall.to_s - stall.from_s));
        say(
            Tone::Warning,
            format!(
                "Nothing completed for {length} (from {} to {} of the run) although operations were waiting; {} in all {} silent.",
                Unit::Seconds.format(Some(stall.from_s)),
                Unit::Seconds.format(Some(stall.to_s)),
                several(summary.stalled_intervals, "interval"),
                if summary.stalled_intervals == 1 { "was" } else { "were" }
            ),
        );
    }
}

fn rate(run: &RunFacts, model: &RunModel, say: &mut dyn FnMut(Tone, String)) {
    let Some((asked, achieved)) = run.offered.zip(model.summary.iops) else { return };
    // Jobs that began later or were done earlier than others asked for less in all.
    let arrived = model.summary.arrivals.filter(|_| model.summary.measured_s > 0.0);
    let offered = arrived.map_or(asked, |arrivals| asked.min(arrivals / model.summary.measured_s));
    if achieved < offered * (1.0 - SHORTFALL) {
        let backlog = run.main_intervals().last().and_then(|interval| interval.backlog.known());
        say(
            Tone::Warning,
            format!(
                "Achieved {} of {} offered ({}); {} operations were waiting when its time was over. Response times grow with the length of such a run.",
                Unit::OpsPerSecond.format(Some(achieved)),
                Unit::OpsPerSecond.format(Some(offered)),
                Unit::Percent.format(Some(100.0 * achieved / offered)),
                Unit::Operations.format(backlog.map(|backlog| backlog as f64))
            ),
        );
    }
}

/// Did the load generator itself shape the result?
fn generator(run: &RunFacts, model: &RunModel, say: &mut dyn FnMut(Tone, String)) {
    let all = run.main_intervals().count();
    let limited = run.main_intervals().filter(|interval| interval.limited).count();
    if limited > 0 {
        say(
            Tone::Warning,
            format!(
                "The load generator itself was the limit in {limited} of {}: a worker's CPU was used up. The storage may be faster.",
                several(all, "interval")
            ),
        );
    }
    let age = run.main_intervals().filter_map(|interval| interval.timestamp_age_ns_max).max().map(|age| age as f64);
    if let Some((age, p50)) = age.zip(model.summary.service.p50)
        && age > p50 * 0.25
        && age > 20_000.0
    {
        say(
            Tone::Info,
            format!(
                "Times can be wrong by up to {}: the greatest age of a timestamp that served a batch of operations (median service time: {}).",
                Unit::Nanoseconds.format(Some(age)),
                Unit::Nanoseconds.format(Some(p50))
            ),
        );
    }
    if !run.complete && model.summary.ops > 0.0 {
        say(Tone::Info, "The run's exact totals were not written; they are added up from its intervals, with percentiles within 3.1 %.".to_string());
    }
}

/// Objectives that were missed; one that a run could not judge is worth knowing.
fn objectives(facts: &RecordingFacts, found: &mut Vec<ReportWarning>) {
    let (mut hidden, mut shown) = (0, 0);
    for verdict in &facts.objectives {
        let (tone, what) = match verdict.judgement {
            Judgement::Met => continue,
            Judgement::Missed => (Tone::Error, "missed"),
            Judgement::Undecided => (Tone::Error, "undecided, so not met"),
            Judgement::Unknown => (Tone::Warning, "not judged"),
        };
        if shown == EVENTS {
            hidden += 1;
            continue;
        }
        shown += 1;
        let run = facts.runs.iter().position(|run| run.index == verdict.run_index);
        let text = format!("Objective {what}: {} (fail if {}).", verdict.sentence, verdict.condition);
        found.push(ReportWarning { tone, text, run });
    }
    if hidden > 0 {
        let text = format!("{} more were missed or not judged; the table has all.", several(hidden, "objective"));
        found.push(ReportWarning { tone: Tone::Error, text, run: None });
    }
}

/// Warnings and errors that were recorded as events; single failures are counted already.
fn events(facts: &RecordingFacts, found: &mut Vec<ReportWarning>) {
    // Where the end is known, the run's figures have it.
    let is_end_known = facts.runs.iter().all(|run| run.unfinished.is_some());
    // The verdict stands first, and a table has the blocks one by one.
    let is_told = |event: &Event| {
        event.kind == EventKind::Data
            && !facts.data.errors.is_empty()
            && (event.run.is_some() || event.message.starts_with(VERDICT))
    };
    let is_elsewhere = |event: &Event| {
        matches!(event.kind, EventKind::IoError | EventKind::IoErrors)
            || is_told(event)
            || (is_end_known && matches!(event.kind, EventKind::Unfinished | EventKind::Backlog))
    };
    let is_trouble = |event: &&Event| matches!(event.severity, EventSeverity::Warning | EventSeverity::Error);
    let shown = facts.events.iter().filter(is_trouble).filter(|event| !is_elsewhere(event));
    for event in shown.take(EVENTS) {
        let tone = if event.severity == EventSeverity::Error { Tone::Error } else { Tone::Warning };
        let run = event.run.as_ref().and_then(|title| facts.runs.iter().position(|run| run.title == *title));
        let text = event.run.as_ref().map_or(event.message.as_str(), |title| {
            event
                .message
                .strip_prefix(title.as_str())
                .map_or(event.message.as_str(), |rest| rest.trim_start_matches(": "))
        });
        found.push(ReportWarning { tone, text: text.to_string(), run });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_may_have_been_missed_is_said_where_it_matters() {
        let words = |unfinished: u64, misses: Option<u64>| {
            let mut manifest = Manifest::new(&[]);
            manifest.extra.insert("trace_unfinished".to_string(), unfinished.into());
            manifest.extra.extend(misses.map(|misses| ("trace_end_misses".to_string(), misses.into())));
            missed_ends(&manifest)
        };
        assert_eq!([words(0, Some(3)), words(2, Some(0)), words(2, None)], [None, None, None]);
        assert!(words(1, Some(1)).unwrap().contains("out once: the I/O without an end may"));
        assert!(words(2, Some(3)).unwrap().contains("out 3 times: some of the I/Os without an end may"));
    }
}
