//! From symptoms to findings.

use super::interval_samples::{Before, IntervalSamples};
use super::rules::rules;
use super::window::Window;
use super::{Finding, Rule, RuleId, Symptom, Thresholds};
use recording::rows::Event;
use recording::{EventClass, IOS_ARE_IN, RecordingError, RowBatch, Sink};
use std::collections::HashMap;
use view::Unit;

/// Most findings of one rule that are open at once; further ones are counted.
const OPEN_MAX: usize = 8;

/// Judges counters sample by sample. Give it batches with [`Sink::accept`], and end each sample with [`Sink::commit`].
pub struct RuleEngine {
    thresholds: Thresholds,
    rules: Vec<Box<dyn Rule>>,
    moments: IntervalSamples,
    window: Window,
    /// Open ones, by rule and subject: the place among `findings`, and what it explains.
    open: HashMap<(RuleId, String), Open>,
    findings: Vec<Finding>,
    left_out: usize,
    judged_s: f64,
    gaps: usize,
    /// The last moment was behind a gap.
    in_gap: bool,
}

struct Open {
    at: usize,
    explains: Vec<(RuleId, Option<String>)>,
    sentence: String,
    clear_s: f64,
}

impl std::fmt::Debug for RuleEngine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").field("findings", &self.findings).finish_non_exhaustive()
    }
}

impl RuleEngine {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            moments: IntervalSamples::new(thresholds.general.lost_after_intervals),
            thresholds,
            rules: rules(),
            window: Window::default(),
            open: HashMap::new(),
            findings: Vec::new(),
            left_out: 0,
            judged_s: 0.0,
            gaps: 0,
            in_gap: false,
        }
    }

    /// As [`RuleEngine::new`], for a stream that begins in the middle of a recording: a counter that had no row yet may
    /// have grown for long before.
    #[must_use]
    pub fn joining(thresholds: Thresholds) -> Self {
        let mut engine = Self::new(thresholds);
        engine.moments.join();
        engine
    }

    /// Sets the machine's inventory, as a manifest has it: without a hypervisor, no CPU time is stolen.
    #[must_use]
    pub fn of_machine(mut self, hardware: &serde_json::Value) -> Self {
        self.moments.is_guest = hardware["cpu"]["hypervisor"].as_bool();
        self
    }

    /// Nothing seen yet, with the same thresholds and of the same machine.
    #[must_use]
    pub fn anew(&self) -> Self {
        let mut engine = Self::new(self.thresholds.clone());
        engine.moments.is_guest = self.moments.is_guest;
        engine
    }

    /// All findings so far in the order of opening; those that still hold have no end.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What it compares with.
    #[must_use]
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// Were there counters of this network link?
    #[must_use]
    pub fn knows_link(&self, interface: &str) -> bool {
        self.moments.knows_link(interface)
    }

    /// Symptoms that got no finding because their rule had too many open.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// So much time was judged, s.
    #[must_use]
    pub fn judged_s(&self) -> f64 {
        self.judged_s
    }

    /// So often samples were lost, and windows began anew.
    #[must_use]
    pub fn gaps(&self) -> usize {
        self.gaps
    }

    /// One sample is complete.
    fn judge(&mut self) {
        let Some((moment, before)) = self.moments.take() else { return };
        if before != Before::Nothing {
            // The moment that is too long, and the word of it that comes with the next one, are one gap.
            let is_loss = before == Before::Loss;
            self.gaps += usize::from(is_loss && !self.in_gap);
            self.in_gap = is_loss;
            self.window.clear();
            self.rules.iter_mut().for_each(|rule| rule.lost());
            return;
        }
        self.in_gap = false;
        let now_ns = moment.t_ns;
        for event in moment.events.iter().filter(|event| EventClass::of(event) == Some(EventClass::FlightDump)) {
            self.link(event);
        }
        self.judged_s += moment.seconds;
        self.window.push(moment);
        let mut symptoms: Vec<Symptom> = Vec::new();
        for rule in &mut self.rules {
            symptoms.extend(rule.look(&self.window, &self.thresholds));
        }
        for symptom in symptoms {
            self.take(symptom, now_ns);
        }
        self.explain();
        self.close(now_ns);
    }

    /// Opens a finding, or goes on with the one that is open.
    fn take(&mut self, symptom: Symptom, now_ns: i64) {
        let Symptom { rule, subject, severity, confidence, since_ns, sentence, evidence, next, explains, clear_s } =
            symptom;
        let clear_s = clear_s.unwrap_or(self.thresholds.general.clear_s);
        let key = (rule, subject);
        let is_of_same_state = |open: &Open| self.findings.get(open.at).is_none_or(|found| found.severity == severity);
        if rule.tells_states() && self.open.get(&key).is_some_and(|open| !is_of_same_state(open)) {
            self.end(&key);
        }
        if !self.open.contains_key(&key) {
            if self.open.keys().filter(|(open, _)| *open == rule).count() >= OPEN_MAX {
                self.left_out += 1;
                return;
            }
            self.findings.push(Finding {
                id: self.findings.len() + 1,
                rule,
                subject: key.1.clone(),
                severity,
                confidence,
                start_ns: since_ns,
                end_ns: None,
                last_ns: now_ns,
                sentence: String::new(),
                evidence: Vec::new(),
                next: String::new(),
                explained_by: None,
                ios: None,
            });
            let at = self.findings.len() - 1;
            self.open.insert(key.clone(), Open { at, explains: Vec::new(), sentence: String::new(), clear_s });
        }
        let Some(open) = self.open.get_mut(&key) else { return };
        let Some(finding) = self.findings.get_mut(open.at) else { return };
        (open.explains, open.sentence, open.clear_s) = (explains, sentence, clear_s);
        finding.severity = finding.severity.max(severity);
        finding.confidence = finding.confidence.max(confidence);
        (finding.evidence, finding.next, finding.last_ns) = (evidence, next, now_ns);
        finding.sentence = open.sentence.replace("{for}", &lasted(finding.seconds()));
    }

    /// What was open ended when it last held.
    fn end(&mut self, key: &(RuleId, String)) {
        let Some(open) = self.open.remove(key) else { return };
        if let Some(finding) = self.findings.get_mut(open.at) {
            finding.end_ns = Some(finding.last_ns);
        }
    }

    /// A flight recorder has written the I/Os around a finding.
    fn link(&mut self, event: &Event) {
        // The sentence stands before the path for those who read the events.
        let path = event.message.strip_prefix(IOS_ARE_IN).unwrap_or(&event.message);
        let findings = self.findings.iter_mut().rev();
        let of = |finding: &&mut Finding| event.target.as_deref() == Some(&*finding.key());
        if let Some(finding) = findings.into_iter().find(of) {
            finding.ios = Some(path.to_string());
        }
    }

    /// A finding that another open finding explains is not reported as a cause of its own.
    fn explain(&mut self) {
        let mut links = Vec::new();
        for ((rule, subject), open) in &self.open {
            for (other, wanted) in &open.explains {
                let explained = self.open.iter().filter(|((candidate, name), _)| {
                    candidate == other
                        && (candidate, name) != (rule, subject)
                        && wanted.as_ref().is_none_or(|wanted| wanted == name)
                });
                links.extend(explained.map(|(_, dependant)| (dependant.at, open.at)));
            }
        }
        links.sort_unstable();
        for (dependant, cause) in links {
            let id = self.findings[cause].id;
            // Never in a circle: a cause is not explained by what it explains.
            if self.findings[cause].explained_by != Some(self.findings[dependant].id) {
                self.findings[dependant].explained_by.get_or_insert(id);
            }
        }
    }

    fn close(&mut self, now_ns: i64) {
        let findings = &mut self.findings;
        self.open.retain(|_, open| {
            let Some(finding) = findings.get_mut(open.at) else { return false };
            let quiet_s = (now_ns - finding.last_ns) as f64 / 1e9;
            // What held at this moment stays open, whatever the time, unless that was its last word.
            let stays = (quiet_s <= 0.0 && open.clear_s >= 0.0) || quiet_s < open.clear_s;
            if !stays {
                finding.end_ns = Some(finding.last_ns);
            }
            stays
        });
    }
}

/// Whole seconds, minutes and hours.
fn lasted(seconds: f64) -> String {
    let seconds = seconds.round();
    if seconds < 60.0 { format!("{seconds:.0} s") } else { Unit::Seconds.format(Some(seconds)) }
}

impl Sink for RuleEngine {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.moments.accept(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        self.judge();
        Ok(())
    }
}
